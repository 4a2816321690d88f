// A cone with a wall around the y axis that opens upwards, and a pipe below it.
#include "mesh/shapes.h"

#include <math.h>

typedef struct funnel {
    const hk_mesh_def *def;
    double knee;  // where along it the pipe ends and the cone begins, a plane of cells
} funnel;

static void place_in_funnel(const void *context, int copy, const double at[3], double position[3])
{
    const double two_pi = 6.2831853071795865;
    const funnel *f = context;
    const hk_mesh_def *def = f->def;
    (void)copy;
    double up = at[2] < f->knee ? 0 : (at[2] - f->knee) / (1 - f->knee);
    double down = at[2] < f->knee ? 1 - at[2] / f->knee : 0;
    double inner = def->neck + up * (def->radius - def->neck), angle = two_pi * at[0];
    double from_axis = inner + def->thickness * at[1];
    position[0] = from_axis * cos(angle);
    position[1] = up * def->height - down * def->length;
    position[2] = from_axis * sin(angle);
}

// Cells along it are of about one length; the pipe and the cone have one at least.
static double find_knee(const hk_mesh_def *def)
{
    int cells = def->cells[1];
    if (def->length == 0) return 0;
    double cone = hypot(def->height, def->radius - def->neck);
    double pipe = round(cells * def->length / (def->length + cone));
    return fmin(fmax(pipe, 1), cells - 1) / cells;
}

hk_status hk_make_funnel(const hk_mesh_def *def, hk_mesh **mesh)
{
    HK_TRY(hk_check_positive("funnel.radius", def->radius));
    HK_TRY(hk_check_positive("funnel.neck", def->neck));
    HK_TRY(hk_check_positive("funnel.height", def->height));
    HK_TRY(hk_check_positive("funnel.thickness", def->thickness));
    if (def->length != 0) HK_TRY(hk_check_positive("funnel.length", def->length));
    HK_TRY(hk_check_at_least("funnel.cells[0]", 3, def->cells[0]));
    HK_TRY(hk_check_at_least("funnel.cells[1]", def->length > 0 ? 2 : 1, def->cells[1]));
    hk_lattice lattice = {.shape = "funnel",
                          .cells = {def->cells[0], 1, def->cells[1]},
                          .cut = HK_CUT_SIX,
                          .copies = 1,
                          .closed = true};
    funnel f = {.def = def, .knee = find_knee(def)};
    hk_mesh *made;
    HK_TRY(hk_lattice_mesh(&lattice, &made));
    hk_lattice_place(&lattice, place_in_funnel, &f, made);
    *mesh = made;
    return HK_OK;
}
