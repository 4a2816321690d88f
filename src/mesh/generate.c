// From a definition to a mesh: defaults, checks of fields, and the table of shapes.
#include "mesh/shapes.h"

#include <limits.h>
#include <math.h>

#include "core/def.h"

static const struct {
    const char *name;
    hk_status (*make)(const hk_mesh_def *def, hk_mesh **mesh);
    hk_mesh_def standard;
} shapes[] = {
    [HK_SHAPE_BOX] = {"box", hk_make_box, {.size = {1, 0.2, 0.2}, .cells = {20, 4, 4}}},
    [HK_SHAPE_CYLINDER] = {"cylinder",
                           hk_make_cylinder,
                           {.radius = 0.1, .length = 1, .cells = {8, 20}}},
    [HK_SHAPE_SPHERE] = {"sphere", hk_make_sphere, {.radius = 0.5, .cells = {8}}},
    [HK_SHAPE_HELIX] =
        {"helix",
         hk_make_helix,
         {.radius = 0.3, .pitch = 0.2, .turns = 3, .thickness = 0.08, .strands = 2, .cells = {8}}},
    [HK_SHAPE_SHEET] = {"sheet", hk_make_sheet, {.size = {1, 1}, .cells = {40, 40}}},
    [HK_SHAPE_FIGURE] = {"figure", hk_make_figure, {.height = 1, .cells = {24}}},
    [HK_SHAPE_TORUS] = {"torus",
                        hk_make_torus,
                        {.radius = 0.4, .thickness = 0.2, .cells = {2, 24}}},
    [HK_SHAPE_PYRAMID] = {"pyramid", hk_make_pyramid, {.size = {1, 3, 1}}},
    [HK_SHAPE_WEDGE] =
        {"wedge",
         hk_make_wedge,
         {.radius = 1, .thickness = 0.25, .degrees = 7.2, .length = 0.25, .cells = {1, 2, 2}}},
    [HK_SHAPE_FUNNEL] = {"funnel",
                         hk_make_funnel,
                         {.radius = 1,
                          .neck = 0.2,
                          .height = 1,
                          .length = 0.2,
                          .thickness = 0.05,
                          .cells = {48, 12}}},
    [HK_SHAPE_ROPE] = {"rope", hk_make_rope, {.length = 1, .cells = {40}}},
};

static bool is_known(hk_shape shape)
{
    return (unsigned)shape < (unsigned)HK_COUNT_OF(shapes);
}

void hk_fill_mesh_def(hk_mesh_def *def, size_t size, hk_shape shape)
{
    hk_mesh_def standard = {0};
    if (is_known(shape)) standard = shapes[shape].standard;
    standard.shape = shape;
    hk_def_fill(&hk_def_mesh, &standard, def, size);
}

static hk_status make(const hk_mesh_def *def, hk_mesh **mesh)
{
    if (!is_known(def->shape))
        return hk_fail(HK_BAD_INPUT, "hk_mesh_make: there is no shape %d", (int)def->shape);
    hk_mesh *made;
    HK_TRY(shapes[def->shape].make(def, &made));
    hk_status status = hk_mesh_finish(made, shapes[def->shape].name);
    // Generators wind their tets positively. Where one had to be turned, sizes so extreme that
    // rounding spoils the cells are to blame.
    if (status == HK_OK && made->turned.count)
        status = hk_fail(HK_BAD_INPUT, "%s: %lld tets would be inverted (first: %lld)",
                         shapes[def->shape].name, (long long)made->turned.count,
                         (long long)made->turned.first[0]);
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

hk_status hk_mesh_make(const hk_mesh_def *def, hk_mesh **mesh)
{
    if (!def || !mesh)
        return hk_fail(HK_BAD_INPUT, "hk_mesh_make: %s is NULL", def ? "mesh" : "def");
    hk_mesh_def own = {0};
    HK_TRY(hk_def_take(&hk_def_mesh, def, &own));
    return make(&own, mesh);
}

hk_status hk_check_positive(const char *field, double value)
{
    if (isfinite(value) && value > 0) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "%s must be a positive number, not %g", field, value);
}

hk_status hk_check_at_least(const char *field, int least, int value)
{
    if (value >= least) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "%s must be at least %d, not %d", field, least, value);
}

hk_status hk_check_at_least_one(const char *field, int value)
{
    return hk_check_at_least(field, 1, value);
}

hk_status hk_check_counts(const char *shape, double vertices, double elements, const char *element)
{
    if (vertices <= INT_MAX && elements <= INT_MAX) return HK_OK;
    return hk_fail(HK_BAD_INPUT,
                   "%s.cells would make %.0f %s and %.0f vertices; a mesh can have %d at most",
                   shape, elements, element, vertices, INT_MAX);
}
