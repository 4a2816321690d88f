// The surface of a whole model with what its parts have to know of it.
#include "contact/contacts.h"
#include "model/model.h"

void hk_part_surface_free(hk_part_surface *s)
{
    if (!s) return;
    void *const arrays[] = {s->vertices,        s->area,      s->end_common,
                            s->edges,           s->edge_area, s->triangles,
                            s->triangle_common, s->edge_home, s->triangle_home};
    for (int k = 0; k < HK_COUNT_OF(arrays); k++) hk_free(arrays[k]);
    hk_free(s);
}

static hk_status allocate(const hk_contacts *c, hk_part_surface *s)
{
    s->point_count = c->body_points;
    s->edge_count = c->body_edges;
    s->triangle_count = c->body_triangles;
    s->vertices = HK_ARRAY(int32_t, s->point_count);
    s->area = HK_ARRAY(double, s->point_count);
    s->end_common = HK_ARRAY(float, s->point_count);
    s->edges = HK_ARRAY(int32_t, 2 * (size_t)s->edge_count);
    s->edge_area = HK_ARRAY(double, s->edge_count);
    s->edge_home = HK_ARRAY(int32_t, s->edge_count);
    s->triangles = HK_ARRAY(int32_t, 3 * (size_t)s->triangle_count);
    s->triangle_common = HK_ARRAY(float, 6 * (size_t)s->triangle_count);
    s->triangle_home = HK_ARRAY(int32_t, s->triangle_count);
    bool complete = s->vertices && s->area && s->end_common && s->edges && s->edge_area &&
                    s->edge_home && s->triangles && s->triangle_common && s->triangle_home;
    return complete ? HK_OK : HK_NO_MEMORY;
}

static void take_points(const hk_contacts *c, hk_part_surface *s)
{
    const hk_model *m = c->model;
    for (int v = 0, n = 0; v < m->vertex_count; v++) {
        int32_t p = c->point_of[m->place[v]];
        if (p < 0) continue;
        s->vertices[n] = v;
        s->area[n] = c->area[p];
        s->end_common[n++] = c->end_common[p];
    }
}

static void take_features(const hk_contacts *c, hk_part_surface *s)
{
    const int32_t *order = c->model->order;
    for (int64_t k = 0; k < 2 * (int64_t)s->edge_count; k++)
        s->edges[k] = order[c->vertex[c->edges[k]]];
    for (int64_t k = 0; k < 3 * (int64_t)s->triangle_count; k++)
        s->triangles[k] = order[c->vertex[c->triangles[k]]];
    for (int k = 0; k < s->edge_count; k++) s->edge_area[k] = c->edge_area[k];
    for (int64_t k = 0; k < 6 * (int64_t)s->triangle_count; k++)
        s->triangle_common[k] = c->triangle_common[k];
}

// A triangle goes where the element behind it goes (cluster/part.h), which has all of its vertices,
// and an edge with the first of its triangles.
static hk_status find_homes(const hk_contacts *c, hk_part_surface *s)
{
    const hk_model *m = c->model;
    hk_surface *made;
    hk_surface_def def = {.vertex_count = m->vertex_count,
                          .tet_count = m->tet_count,
                          .tets = m->tets,
                          .middles = m->middles,
                          .triangle_count = m->triangle_count,
                          .triangles = m->triangles};
    HK_TRY(hk_surface_create(&def, &made));
    for (int t = 0; t < s->triangle_count; t++) {
        int32_t tet = made->triangle_tets[t];
        s->triangle_home[t] =
            tet >= 0 ? m->tets[4 * (int64_t)tet] : made->triangles[3 * (int64_t)t];
    }
    for (int e = 0; e < s->edge_count; e++) s->edge_home[e] = -1;
    for (int64_t k = 0; k < 3 * (int64_t)s->triangle_count; k++) {
        int32_t e = made->triangle_edges[k];
        if (e >= 0 && s->edge_home[e] < 0) s->edge_home[e] = s->triangle_home[k / 3];
    }
    hk_surface_free(made);
    return HK_OK;
}

hk_status hk_part_surface_create(const hk_model *whole, hk_part_surface **surface)
{
    hk_part_surface *s = HK_NEW(hk_part_surface);
    hk_contacts *c = NULL;
    if (!s) return HK_NO_MEMORY;
    hk_status status = hk_contacts_create_surface(whole, &c);
    if (status == HK_OK) status = allocate(c, s);
    if (status == HK_OK) {
        take_points(c, s);
        take_features(c, s);
        s->mean_edge = hk_contacts_mean_edge(c);
        status = find_homes(c, s);
    }
    hk_contacts_free(c);
    if (status != HK_OK) {
        hk_part_surface_free(s);
        return status;
    }
    *surface = s;
    return HK_OK;
}
