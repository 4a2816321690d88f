#include "mesh/embed.h"

#include <omp.h>

#include "mesh/quadratic.h"
#include "mesh/tet_locator.h"

// A surface so many sizes of the mesh away is not one that lies with it.
#define FAR_AWAY 1e6
enum { RUN = 256 };  // vertices that a thread takes at a time

// ---------------------------------------------------------------- binding

// In an order in which the vertices of a run look at the same tets.
static void bind_vertices(const hk_tet_locator *l, const int32_t *order, int threads,
                          hk_embedding *e, double *away)
{
    const hk_mesh *s = e->surface;
#pragma omp parallel for schedule(dynamic, RUN) num_threads(threads)
    for (int k = 0; k < s->vertex_count; k++) {
        int tet, v = order[k];
        double p[3];
        hk_tet_locator_to_unit(l, s->positions + 3 * (int64_t)v, p);
        away[v] = fmax(fmax(fabs(p[0]), fabs(p[1])), fabs(p[2]));
        if (!(away[v] < FAR_AWAY)) continue;
        away[v] = hk_tet_locator_find(l, p, &tet);
        hk_tet_locator_weights(l, tet, p, e->weights + 4 * (int64_t)v);
        memcpy(e->corners + 4 * (int64_t)v, l->mesh->tets + 4 * (int64_t)tet, 4 * sizeof(int32_t));
    }
}

static hk_status count_outside(const hk_tet_locator *l, hk_embedding *e, const double *away)
{
    double most = HK_TOUCHING;
    e->farthest_vertex = -1;
    for (int v = 0; v < e->surface->vertex_count; v++) {
        if (!(away[v] < FAR_AWAY)) {
            const double *p = e->surface->positions + 3 * (int64_t)v;
            return hk_fail(HK_BAD_INPUT,
                           "vertex %d of the surface, at (%g, %g, %g), is nowhere near the tets: "
                           "the two must lie together, in the same units",
                           v, p[0], p[1], p[2]);
        }
        e->outside += away[v] > HK_TOUCHING;
        if (!(away[v] > most)) continue;
        most = away[v];
        e->farthest_vertex = v;
    }
    if (e->outside > 0) e->farthest = most * l->size;
    return HK_OK;
}

static hk_status take_surface(const hk_mesh *mesh, hk_mesh **surface)
{
    HK_TRY(hk_mesh_check_indices(mesh, "the surface"));
    if (mesh->tet_count > 0) return hk_mesh_outside(mesh, surface);
    if (mesh->triangle_count == 0) return hk_fail(HK_BAD_INPUT, "the surface has no triangles");
    HK_TRY(hk_mesh_new(mesh->vertex_count, 0, mesh->triangle_count, surface));
    memcpy((*surface)->positions, mesh->positions, 3 * sizeof(double) * (size_t)mesh->vertex_count);
    memcpy((*surface)->triangles, mesh->triangles,
           3 * sizeof(int32_t) * (size_t)mesh->triangle_count);
    return HK_OK;
}

static hk_status build(const hk_mesh *mesh, const hk_mesh *surface, int threads, hk_embedding *e)
{
    HK_TRY(hk_mesh_check_indices(mesh, "the mesh"));
    if (mesh->tet_count == 0)
        return hk_fail(HK_BAD_INPUT, "the mesh has no tets that could carry a surface");
    HK_TRY(take_surface(surface, &e->surface));
    size_t count = (size_t)e->surface->vertex_count;
    hk_tet_locator l = {0};
    e->vertex_count = mesh->vertex_count;
    e->corners = HK_ARRAY(int32_t, 4 * count);
    e->weights = HK_ARRAY(double, 4 * count);
    double *away = HK_ARRAY(double, count);
    int32_t *order = HK_ARRAY(int32_t, count);
    bool complete = e->corners && e->weights && away && order;
    hk_status status = complete ? hk_tet_locator_build(&l, mesh) : HK_NO_MEMORY;
    if (status == HK_OK) status = hk_morton_order((int)count, e->surface->positions, order);
    if (status == HK_OK) bind_vertices(&l, order, threads, e, away);
    if (status == HK_OK) status = count_outside(&l, e, away);
    hk_tet_locator_release(&l);
    hk_free(away);
    hk_free(order);
    return status;
}

enum { MOST_THREADS = 1024 };

hk_status hk_embedding_create(const hk_mesh *mesh, const hk_mesh *surface, int threads,
                              hk_embedding **embedding)
{
    if (!mesh || !surface || !embedding)
        return hk_fail(HK_BAD_INPUT, "hk_embedding_create: mesh, surface and embedding are needed");
    if (threads < 0 || threads > MOST_THREADS)
        return hk_fail(HK_BAD_INPUT, "hk_embedding_create: threads must be 0 to %d (is %d)",
                       MOST_THREADS, threads);
    hk_embedding *e = HK_NEW(hk_embedding);
    if (!e) return HK_NO_MEMORY;
    e->references = 1;
    // A surface follows the middles of edges, too.
    hk_mesh *split = NULL;
    hk_status status = mesh->middles ? hk_mesh_split_quadratic(mesh, &split) : HK_OK;
    if (status == HK_OK)
        status = build(split ? split : mesh, surface, threads ? threads : omp_get_num_procs(), e);
    hk_mesh_free(split);
    if (status != HK_OK) {
        hk_embedding_free(e);
        return status;
    }
    *embedding = e;
    return HK_OK;
}

hk_embedding *hk_embedding_share(const hk_embedding *embedding)
{
    hk_embedding *e = (hk_embedding *)(uintptr_t)embedding;  // only its count changes
    if (e) __atomic_add_fetch(&e->references, 1, __ATOMIC_RELAXED);
    return e;
}

void hk_embedding_free(hk_embedding *e)
{
    if (!e || __atomic_sub_fetch(&e->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    hk_mesh_free(e->surface);
    hk_free(e->corners);
    hk_free(e->weights);
    hk_free(e);
}

// ---------------------------------------------------------------- use

// Differences first: what the four corners have in common does not round.
hk_status hk_embedding_apply(const hk_embedding *e, int components, const double *values,
                             double *carried)
{
    if (!e || !values || !carried || components < 1)
        return hk_fail(HK_BAD_INPUT,
                       "hk_embedding_apply: embedding, values of at least one component and room "
                       "for what is carried are needed");
    for (int64_t v = 0; v < e->surface->vertex_count; v++) {
        const int32_t *c = e->corners + 4 * v;
        const double *w = e->weights + 4 * v, *first = values + components * (int64_t)c[0];
        for (int i = 0; i < components; i++) {
            double sum = 0;
            for (int k = 1; k < 4; k++)
                sum += w[k] * (values[components * (int64_t)c[k] + i] - first[i]);
            carried[components * v + i] = first[i] + sum;
        }
    }
    return HK_OK;
}

const hk_mesh *hk_embedding_surface(const hk_embedding *e)
{
    return e ? e->surface : NULL;
}
int hk_embedding_outside(const hk_embedding *e, double *farthest, int *vertex)
{
    if (farthest) *farthest = e ? e->farthest : 0;
    if (vertex) *vertex = e ? e->farthest_vertex : -1;
    return e ? e->outside : 0;
}
