// A block of an arch around the z axis, from z = 0 to its length, its middle over the y axis.
#include "mesh/shapes.h"

#include <math.h>

static void place_in_wedge(const void *context, int copy, const double at[3], double position[3])
{
    const hk_mesh_def *def = context;
    (void)copy;
    // From the left, where x is negative.
    double angle = (at[0] - 0.5) * def->degrees * 0.017453292519943295;
    double from_axis = def->radius + def->thickness * at[1];
    position[0] = from_axis * sin(angle);
    position[1] = from_axis * cos(angle);
    position[2] = def->length * at[2];
}

hk_status hk_make_wedge(const hk_mesh_def *def, hk_mesh **mesh)
{
    static const char *const cells[3] = {"wedge.cells[0]", "wedge.cells[1]", "wedge.cells[2]"};
    hk_lattice lattice = {.shape = "wedge", .cut = HK_CUT_FIVE, .copies = 1};
    HK_TRY(hk_check_positive("wedge.radius", def->radius));
    HK_TRY(hk_check_positive("wedge.thickness", def->thickness));
    HK_TRY(hk_check_positive("wedge.degrees", def->degrees));
    HK_TRY(hk_check_positive("wedge.length", def->length));
    for (int i = 0; i < 3; i++) {
        HK_TRY(hk_check_at_least_one(cells[i], def->cells[i]));
        lattice.cells[i] = def->cells[i];
    }
    if (!(def->degrees < 360 && def->degrees < 180.0 * def->cells[0]))
        return hk_fail(HK_BAD_INPUT,
                       "wedge.degrees must be less than 360, and less than 180 per cell around, "
                       "not %g",
                       def->degrees);
    hk_mesh *made;
    HK_TRY(hk_lattice_mesh(&lattice, &made));
    hk_lattice_place(&lattice, place_in_wedge, def, made);
    *mesh = made;
    return HK_OK;
}
