// Parts of a mesh that no faces join: those that are too small to matter are left out.
#include <math.h>

#include "mesh/facets.h"
#include "mesh/fill.h"

// The root of a piece is its first tet.
static void join_tets(void *context, int32_t low, const hk_keyed *run, size_t count)
{
    int32_t *parents = context;
    (void)low;
    for (size_t k = 1; k < count; k++) {
        int32_t a = hk_fill_root(parents, (int32_t)(run[0].item / 4));
        int32_t b = hk_fill_root(parents, (int32_t)(run[k].item / 4));
        parents[a < b ? b : a] = a < b ? a : b;
    }
}

static double volume_of(const hk_mesh *m, int t)
{
    const int32_t *v = m->tets + 4 * (size_t)t;
    return hk_tet_volume6(m->positions + 3 * (size_t)v[0], m->positions + 3 * (size_t)v[1],
                          m->positions + 3 * (size_t)v[2], m->positions + 3 * (size_t)v[3]) /
           6;
}

// A mesh of the tets that are marked.
static hk_status keep_marked(const hk_mesh *m, const uint8_t *kept, int count, int32_t *number,
                             hk_mesh **out)
{
    int vertices = 0;
    hk_mesh *made;
    for (int v = 0; v < m->vertex_count; v++) number[v] = -1;
    for (int t = 0; t < m->tet_count; t++)
        for (int k = 0; k < 4 && kept[t]; k++) number[m->tets[4 * (size_t)t + (size_t)k]] = 0;
    for (int v = 0; v < m->vertex_count; v++)
        if (number[v] == 0) number[v] = vertices++;
    HK_TRY(hk_mesh_new(vertices, count, 0, &made));
    for (int v = 0; v < m->vertex_count; v++)
        if (number[v] >= 0)
            memcpy(made->positions + 3 * (size_t)number[v], m->positions + 3 * (size_t)v,
                   3 * sizeof(double));
    int32_t *tet = made->tets;
    for (int t = 0; t < m->tet_count; t++)
        for (int k = 0; k < 4 && kept[t]; k++) *tet++ = number[m->tets[4 * (size_t)t + (size_t)k]];
    *out = made;
    return HK_OK;
}

typedef struct workspace {
    int32_t *parents;  // [tet_count]
    double *volumes;   // [tet_count] of the piece whose root it is
    uint8_t *kept;     // [tet_count]
    int32_t *number;   // [vertex_count]
} workspace;

static hk_status keep(hk_mesh **mesh, double least_part, hk_filling_report *report, workspace *w)
{
    hk_mesh *m = *mesh, *made;
    double largest = 0;
    int count = 0;
    for (int t = 0; t < m->tet_count; t++) w->parents[t] = t;
    HK_TRY(hk_visit_facets(m->vertex_count, 4 * (int64_t)m->tet_count, m->tets, hk_tet_face,
                           join_tets, w->parents));
    for (int t = 0; t < m->tet_count; t++) {
        int32_t root = hk_fill_root(w->parents, t);
        w->volumes[root] += volume_of(m, t);
        largest = fmax(largest, w->volumes[root]);
    }
    for (int t = 0; t < m->tet_count; t++) {
        int32_t root = hk_fill_root(w->parents, t);
        w->kept[t] = w->volumes[root] >= least_part * largest;
        count += w->kept[t];
        if (root != t) continue;
        report->pieces += w->kept[t];
        if (!w->kept[t]) report->left_out_volume += w->volumes[t];
    }
    report->left_out = m->tet_count - count;
    if (report->left_out == 0) return HK_OK;
    HK_TRY(keep_marked(m, w->kept, count, w->number, &made));
    hk_mesh_free(m);
    *mesh = made;
    return HK_OK;
}

hk_status hk_fill_keep_pieces(hk_mesh **mesh, double least_part, hk_filling_report *report)
{
    size_t count = (size_t)(*mesh)->tet_count;
    workspace w = {.parents = HK_ARRAY(int32_t, count),
                   .volumes = HK_ZEROS(double, count),
                   .kept = HK_ARRAY(uint8_t, count),
                   .number = HK_ARRAY(int32_t, (*mesh)->vertex_count)};
    bool complete = w.parents && w.volumes && w.kept && w.number;
    hk_status status = complete ? keep(mesh, least_part, report, &w) : HK_NO_MEMORY;
    hk_free(w.parents);
    hk_free(w.volumes);
    hk_free(w.kept);
    hk_free(w.number);
    return status;
}
