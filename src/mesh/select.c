// Selectors: which vertices and tets of a mesh a user means.
#include "mesh/select.h"

#include <math.h>

#include "mesh/quadratic.h"

static const double *position(const hk_mesh *mesh, int vertex)
{
    return mesh->positions + 3 * (int64_t)vertex;
}

static double body_size(const hk_mesh *mesh)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int v = 0; v < mesh->vertex_count; v++)
        for (int i = 0; i < 3; i++) {
            low[i] = fmin(low[i], position(mesh, v)[i]);
            high[i] = fmax(high[i], position(mesh, v)[i]);
        }
    double size = 0;
    for (int i = 0; i < 3; i++) size = fmax(size, high[i] - low[i]);
    return mesh->vertex_count > 0 ? size : 0;
}

static bool in_box(const hk_selector *s, const double *x, double slack)
{
    for (int i = 0; i < 3; i++)
        if (!(x[i] >= s->box[0][i] - slack && x[i] <= s->box[1][i] + slack)) return false;
    return true;
}

static bool in_sphere(const hk_selector *s, const double *x, double slack)
{
    double d[3] = {x[0] - s->center[0], x[1] - s->center[1], x[2] - s->center[2]};
    return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) <= s->radius + slack;
}

// A number that is not one would select nothing, and under a "not" everything.
static hk_status check_numbers(const hk_selector *s)
{
    for (int i = 0; i < 6 && s->kind == HK_SELECT_BOX; i++)
        if (isnan(s->box[i / 3][i % 3]))
            return hk_fail(HK_BAD_INPUT, "selector \"box\": a corner is not a number");
    if (s->kind == HK_SELECT_SPHERE && !(hk_is_finite3(s->center) && s->radius >= 0))
        return hk_fail(HK_BAD_INPUT,
                       "selector \"sphere\": the center must be finite and the radius 0 or more "
                       "(is %g)",
                       s->radius);
    return HK_OK;
}

static hk_status check_list(const char *name, const void *list, int count)
{
    if (count >= 0 && (count == 0 || list)) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "selector \"%s\": the list has a count of %d%s", name, count,
                   list ? "" : " and is NULL");
}

static hk_status select_listed(const hk_mesh *mesh, const hk_selector *s, uint8_t *chosen)
{
    HK_TRY(check_list("vertices", s->vertices, s->vertex_count));
    for (int k = 0; k < s->vertex_count; k++) {
        int32_t v = s->vertices[k];
        if (v < 0 || v >= mesh->vertex_count)
            return hk_fail(HK_BAD_INPUT,
                           "selector \"vertices\": vertex %d is out of range (the mesh has %d)", v,
                           mesh->vertex_count);
        chosen[v] = 1;
    }
    return HK_OK;
}

// One name may stand for elements of several dimensions (Gmsh numbers surfaces and volumes apart).
// Vertices are taken from the lowest dimension, a surface rather than the volume behind it; tets
// from the volume. That there was a choice is told.
static hk_status find_group(const hk_mesh *mesh, const hk_selector *s, bool tets,
                            const hk_group **group)
{
    int count = 0;
    *group = NULL;
    for (int k = 0; k < mesh->group_count && s->group; k++) {
        const hk_group *g = &mesh->groups[k];
        if (strcmp(g->name, s->group) != 0) continue;
        bool better = !*group || (tets ? g->dimension > (*group)->dimension
                                       : g->dimension < (*group)->dimension);
        if (better) *group = g;
        count++;
    }
    static const char *const kinds[] = {"vertices", "lines", "triangles", "tets"};
    if (count > 1)
        hk_log(HK_LOG_WARNING, "%d groups are called \"%s\": the one of %s is taken", count,
               s->group, kinds[(*group)->dimension & 3]);
    if (*group) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "selector \"group\": the mesh has no group \"%s\" (it has %d%s%s)",
                   s->group ? s->group : "(null)", mesh->group_count,
                   mesh->group_count ? ", the first is " : "",
                   mesh->group_count ? mesh->groups[0].name : "");
}

static hk_status select_group(const hk_mesh *mesh, const hk_selector *s, uint8_t *chosen)
{
    const hk_group *group;
    HK_TRY(find_group(mesh, s, false, &group));
    const int32_t *corners = group->dimension == 3 ? mesh->tets : mesh->triangles;
    int corner_count = group->dimension == 3 ? 4 : 3;
    for (int32_t k = 0; k < group->count; k++) {
        int64_t item = group->items[k];
        if (group->dimension == 0) {
            chosen[item] = 1;
            continue;
        }
        for (int c = 0; c < corner_count; c++) chosen[corners[item * corner_count + c]] = 1;
        for (int c = 0; c < HK_MIDDLES && group->dimension == 3 && mesh->middles; c++)
            if (mesh->middles[item * HK_MIDDLES + c] >= 0)
                chosen[mesh->middles[item * HK_MIDDLES + c]] = 1;
    }
    return HK_OK;
}

typedef hk_status select_fn(const hk_mesh *mesh, const hk_selector *s, int depth, uint8_t *chosen);

enum { DEEPEST = 64 };

// any and not, over vertices or tets alike.
static hk_status select_combined(const hk_mesh *mesh, const hk_selector *s, int depth, int count,
                                 select_fn *select, uint8_t *chosen)
{
    if (depth > DEEPEST) return hk_fail(HK_BAD_INPUT, "selector: nested too deeply");
    if (s->kind == HK_SELECT_NOT && s->child_count != 1)
        return hk_fail(HK_BAD_INPUT, "selector \"not\": takes one selector (has %d)",
                       s->child_count);
    HK_TRY(check_list(s->kind == HK_SELECT_NOT ? "not" : "any", s->children, s->child_count));
    uint8_t *child = HK_ARRAY(uint8_t, count);
    if (!child) return HK_NO_MEMORY;
    hk_status status = HK_OK;
    for (int k = 0; k < s->child_count && status == HK_OK; k++) {
        memset(child, 0, (size_t)count);
        status = select(mesh, &s->children[k], depth + 1, child);
        for (int v = 0; v < count; v++)
            chosen[v] |= s->kind == HK_SELECT_NOT ? !child[v] : child[v];
    }
    hk_free(child);
    return status;
}

static hk_status select_vertices(const hk_mesh *mesh, const hk_selector *s, int depth,
                                 uint8_t *chosen)
{
    HK_TRY(check_numbers(s));
    double slack = 1e-9 * body_size(mesh);
    switch (s->kind) {
    case HK_SELECT_NONE: return HK_OK;
    case HK_SELECT_ALL: memset(chosen, 1, (size_t)mesh->vertex_count); return HK_OK;
    case HK_SELECT_BOX:
        for (int v = 0; v < mesh->vertex_count; v++)
            chosen[v] = in_box(s, position(mesh, v), slack);
        return HK_OK;
    case HK_SELECT_SPHERE:
        for (int v = 0; v < mesh->vertex_count; v++)
            chosen[v] = in_sphere(s, position(mesh, v), slack);
        return HK_OK;
    case HK_SELECT_VERTICES: return select_listed(mesh, s, chosen);
    case HK_SELECT_GROUP: return select_group(mesh, s, chosen);
    case HK_SELECT_ANY:
    case HK_SELECT_NOT:
        return select_combined(mesh, s, depth, mesh->vertex_count, select_vertices, chosen);
    }
    return hk_fail(HK_BAD_INPUT, "selector: unknown kind %d", (int)s->kind);
}

static hk_status select_tets(const hk_mesh *mesh, const hk_selector *s, int depth, uint8_t *chosen)
{
    if (s->kind == HK_SELECT_ANY || s->kind == HK_SELECT_NOT)
        return select_combined(mesh, s, depth, mesh->tet_count, select_tets, chosen);
    if (s->kind == HK_SELECT_GROUP) {
        const hk_group *group;
        HK_TRY(find_group(mesh, s, true, &group));
        if (group->dimension == 3) {
            for (int32_t k = 0; k < group->count; k++) chosen[group->items[k]] = 1;
            return HK_OK;
        }
    }
    uint8_t *vertices = HK_ZEROS(uint8_t, mesh->vertex_count);
    if (!vertices) return HK_NO_MEMORY;
    hk_status status = select_vertices(mesh, s, depth, vertices);
    for (int t = 0; t < mesh->tet_count && status == HK_OK; t++) {
        const int32_t *c = mesh->tets + 4 * (int64_t)t;
        chosen[t] = vertices[c[0]] && vertices[c[1]] && vertices[c[2]] && vertices[c[3]];
    }
    hk_free(vertices);
    return status;
}

hk_status hk_select_vertices(const hk_mesh *mesh, const hk_selector *selector, uint8_t *chosen)
{
    memset(chosen, 0, (size_t)mesh->vertex_count);
    return select_vertices(mesh, selector, 0, chosen);
}

hk_status hk_select_tets(const hk_mesh *mesh, const hk_selector *selector, uint8_t *chosen)
{
    memset(chosen, 0, (size_t)mesh->tet_count);
    return select_tets(mesh, selector, 0, chosen);
}

hk_status hk_select_none(const hk_mesh *mesh, const char *what)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int64_t k = 0; k < 3 * (int64_t)mesh->vertex_count; k++) {
        low[k % 3] = fmin(low[k % 3], mesh->positions[k]);
        high[k % 3] = fmax(high[k % 3], mesh->positions[k]);
    }
    return hk_fail(HK_BAD_INPUT, "%s; the body spans (%.6g, %.6g, %.6g) to (%.6g, %.6g, %.6g)",
                   what, low[0], low[1], low[2], high[0], high[1], high[2]);
}
