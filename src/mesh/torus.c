// A ring around the y axis, its centre at the origin.
#include "mesh/shapes.h"

#include <math.h>

static void place_in_torus(const void *context, int copy, const double at[3], double position[3])
{
    const double two_pi = 6.2831853071795865;
    const hk_mesh_def *def = context;
    (void)copy;
    double disc[2], angle = two_pi * at[0];
    hk_square_to_disc((double[2]){2 * at[1] - 1, 2 * at[2] - 1}, disc);
    double from_axis = def->radius + def->thickness / 2 * disc[0];
    position[0] = from_axis * cos(angle);
    position[1] = def->thickness / 2 * disc[1];
    position[2] = from_axis * sin(angle);
}

hk_status hk_make_torus(const hk_mesh_def *def, hk_mesh **mesh)
{
    HK_TRY(hk_check_positive("torus.radius", def->radius));
    HK_TRY(hk_check_positive("torus.thickness", def->thickness));
    HK_TRY(hk_check_at_least_one("torus.cells[0]", def->cells[0]));
    HK_TRY(hk_check_at_least("torus.cells[1]", 3, def->cells[1]));
    if (!(def->thickness < 2 * def->radius))
        return hk_fail(HK_BAD_INPUT,
                       "torus.thickness %g is too large: with a radius of %g the tube would meet "
                       "itself at the axis",
                       def->thickness, def->radius);
    hk_lattice lattice = {.shape = "torus",
                          .cells = {def->cells[1], def->cells[0], def->cells[0]},
                          .cut = HK_CUT_SIX,
                          .copies = 1,
                          .closed = true};
    hk_mesh *made;
    HK_TRY(hk_lattice_mesh(&lattice, &made));
    hk_lattice_place(&lattice, place_in_torus, def, made);
    *mesh = made;
    return HK_OK;
}
