// Intersections of a mesh with itself, as users ask for them.
#include <omp.h>

#include "contact/certificate.h"
#include "mesh/mesh.h"

// The first group of tets that has this one.
static const char *find_name(const hk_mesh *mesh, int32_t tet)
{
    for (int g = 0; g < mesh->group_count && tet >= 0; g++) {
        const hk_group *group = &mesh->groups[g];
        for (int32_t k = 0; k < group->count && group->dimension == 3; k++)
            if (group->items[k] == tet) return group->name;
    }
    return NULL;
}

static void describe(const hk_mesh *mesh, const hk_certificate *c, const hk_findings *findings,
                     hk_intersection_report *report)
{
    *report = (hk_intersection_report){.count = findings->count,
                                       .touching = findings->touching,
                                       .listed = findings->listed,
                                       .triangles = c->surface->triangle_count};
    for (int k = 0; k < findings->listed; k++) {
        hk_intersection *found = &report->first[k];
        hk_certificate_describe(c, mesh->positions, findings, k, found);
        for (int i = 0; i < 2; i++) {
            int32_t triangle =
                i ? hk_key_second(findings->first[k]) : hk_key_first(findings->first[k]);
            found->names[i] = find_name(mesh, c->surface->triangle_tets[triangle]);
        }
    }
}

static hk_status examine(const hk_mesh *mesh, const hk_surface *surface, int threads,
                         hk_intersection_report *report)
{
    hk_certificate *certificate;
    hk_findings findings;
    HK_TRY(hk_certificate_create(surface, threads, &certificate));
    hk_status status = hk_certificate_run(certificate, mesh->positions, NULL, NULL, &findings);
    if (status == HK_OK) describe(mesh, certificate, &findings, report);
    hk_certificate_free(certificate);
    return status;
}

hk_status hk_mesh_intersections(const hk_mesh *mesh, int threads, hk_intersection_report *report)
{
    enum { MOST_THREADS = 1024 };
    if (!mesh || !report)
        return hk_fail(HK_BAD_INPUT, "hk_mesh_intersections: mesh and report are needed");
    if (threads < 0 || threads > MOST_THREADS)
        return hk_fail(HK_BAD_INPUT, "hk_mesh_intersections: threads must be 0 to %d (is %d)",
                       MOST_THREADS, threads);
    const hk_surface_def def = {.vertex_count = mesh->vertex_count,
                                .tet_count = mesh->tet_count,
                                .tets = mesh->tets,
                                .middles = mesh->middles,
                                .triangle_count = mesh->triangle_count,
                                .triangles = mesh->triangles};
    hk_surface *surface;
    HK_TRY(hk_surface_create(&def, &surface));
    hk_status status = examine(mesh, surface, threads ? threads : omp_get_num_procs(), report);
    hk_surface_free(surface);
    return status;
}
