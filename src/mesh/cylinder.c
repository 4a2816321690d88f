// A cylinder around the x axis, from x = 0 to its length.
#include "mesh/shapes.h"

static void place_in_cylinder(const void *context, int copy, const double at[3], double position[3])
{
    const hk_mesh_def *def = context;
    (void)copy;
    double disc[2];
    hk_square_to_disc((double[2]){2 * at[1] - 1, 2 * at[2] - 1}, disc);
    position[0] = def->length * at[0];
    position[1] = def->radius * disc[0];
    position[2] = def->radius * disc[1];
}

hk_status hk_make_cylinder(const hk_mesh_def *def, hk_mesh **mesh)
{
    HK_TRY(hk_check_positive("cylinder.radius", def->radius));
    HK_TRY(hk_check_positive("cylinder.length", def->length));
    HK_TRY(hk_check_at_least_one("cylinder.cells[0]", def->cells[0]));
    HK_TRY(hk_check_at_least_one("cylinder.cells[1]", def->cells[1]));
    hk_lattice lattice = {.shape = "cylinder",
                          .cells = {def->cells[1], def->cells[0], def->cells[0]},
                          .cut = HK_CUT_SIX,
                          .copies = 1};
    hk_mesh *made;
    HK_TRY(hk_lattice_mesh(&lattice, &made));
    hk_lattice_place(&lattice, place_in_cylinder, def, made);
    *mesh = made;
    return HK_OK;
}
