// Where a rest shape meets itself: what is drawn apart may have to be made overlapping, and cannot
// be made.
#include <limits.h>

#include "contact/certificate.h"
#include "design/rest_solver.h"

struct hk_rest_overlaps {
    hk_surface *surface;
    hk_certificate *certificate;
};

void hk_rest_overlaps_free(hk_rest_overlaps *o)
{
    if (!o) return;
    hk_certificate_free(o->certificate);
    hk_surface_free(o->surface);
    hk_free(o);
}

static hk_status build(const hk_model *m, int threads, hk_rest_overlaps *o)
{
    int32_t *bodies = HK_ARRAY(int32_t, m->vertex_count);
    if (!bodies) return HK_NO_MEMORY;
    for (int b = 0; b < m->body_count; b++)
        for (int v = 0; v < m->bodies[b].vertex_count; v++)
            bodies[m->bodies[b].vertex_start + v] = b;
    const hk_surface_def def = {.vertex_count = m->vertex_count,
                                .tet_count = m->tet_count,
                                .tets = m->tets,
                                .triangle_count = m->triangle_count,
                                .triangles = m->triangles,
                                .bodies = bodies};
    hk_status status = hk_surface_create(&def, &o->surface);
    hk_free(bodies);
    HK_TRY(status);
    return hk_certificate_create(o->surface, threads, &o->certificate);
}

hk_status hk_rest_overlaps_create(const hk_model *model, int threads, hk_rest_overlaps **overlaps)
{
    hk_rest_overlaps *o = HK_NEW(hk_rest_overlaps);
    if (!o) return HK_NO_MEMORY;
    hk_status status = build(model, threads, o);
    if (status != HK_OK) {
        hk_rest_overlaps_free(o);
        return status;
    }
    *overlaps = o;
    return HK_OK;
}

static int to_int(int64_t count)
{
    return count < INT_MAX ? (int)count : INT_MAX;
}

hk_status hk_rest_overlaps_find(hk_rest_overlaps *o, const double *positions, hk_rest_report *r)
{
    hk_findings findings;
    HK_TRY(hk_certificate_run(o->certificate, positions, NULL, NULL, &findings));
    r->overlaps = to_int(findings.count);
    r->touching = to_int(findings.touching);
    if (findings.count == 0) return HK_OK;
    hk_intersection first;
    hk_certificate_describe(o->certificate, positions, &findings, 0, &first);
    memcpy(r->overlap_faces, first.faces, sizeof r->overlap_faces);
    memcpy(r->overlap_bodies, first.bodies, sizeof r->overlap_bodies);
    r->overlap_touches = first.touching;
    memcpy(r->overlap_place, first.place, sizeof r->overlap_place);
    return HK_OK;
}
