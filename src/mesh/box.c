// A box with its low corner at the origin.
#include "mesh/shapes.h"

static void place_in_box(const void *context, int copy, const double at[3], double position[3])
{
    const double *size = context;
    (void)copy;
    for (int i = 0; i < 3; i++) position[i] = size[i] * at[i];
}

hk_status hk_make_box(const hk_mesh_def *def, hk_mesh **mesh)
{
    static const char *const size_fields[3] = {"box.size[0]", "box.size[1]", "box.size[2]"};
    static const char *const cells_fields[3] = {"box.cells[0]", "box.cells[1]", "box.cells[2]"};
    hk_lattice lattice = {.shape = "box", .cut = HK_CUT_FIVE, .copies = 1};
    for (int i = 0; i < 3; i++) {
        HK_TRY(hk_check_positive(size_fields[i], def->size[i]));
        HK_TRY(hk_check_at_least_one(cells_fields[i], def->cells[i]));
        lattice.cells[i] = def->cells[i];
    }
    hk_mesh *made;
    HK_TRY(hk_lattice_mesh(&lattice, &made));
    hk_lattice_place(&lattice, place_in_box, def->size, made);
    *mesh = made;
    return HK_OK;
}
