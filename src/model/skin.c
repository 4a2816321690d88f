#include "model/skin.h"

// ---------------------------------------------------------------- binding

// Vertices outside by more than this part of the size of the body were hardly meant to be.
#define SUSPICIOUS 0.1

static double size_of(const hk_mesh *mesh)
{
    double size = 0;
    for (int i = 0; i < 3; i++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t v = 0; v < mesh->vertex_count; v++) {
            low = fmin(low, mesh->positions[3 * v + i]);
            high = fmax(high, mesh->positions[3 * v + i]);
        }
        size = fmax(size, high - low);
    }
    return size;
}

static void tell_outside(const hk_body *body, const hk_mesh *mesh)
{
    double farthest;
    int vertex, count = hk_embedding_outside(body->skin, &farthest, &vertex);
    if (count == 0) return;
    bool far = farthest > SUSPICIOUS * size_of(mesh);
    hk_log(far ? HK_LOG_WARNING : HK_LOG_INFO,
           "body %s: %d of %d vertices of its skin lie outside of its tets, by at most %.3g m "
           "(vertex %d), and follow the nearest%s",
           body->name, count, hk_mesh_vertex_count(hk_embedding_surface(body->skin)), farthest,
           vertex, far ? ": is the skin in the place and in the units of the mesh?" : "");
}

static hk_status bind_skin(hk_body *body, const hk_mesh *mesh, const hk_body_def *def)
{
    hk_mesh *skin;
    if (mesh->tet_count == 0)
        return hk_fail(HK_BAD_INPUT, "only bodies of tets can carry one, and this is a sheet");
    HK_TRY(hk_mesh_copy(def->skin, &skin));
    hk_status status = hk_mesh_transform(skin, &def->transform);
    if (status == HK_OK) status = hk_embedding_create(mesh, skin, 0, &body->skin);
    hk_mesh_free(skin);
    return status;
}

hk_status hk_model_add_skin(hk_body *body, const hk_mesh *mesh, const hk_body_def *def)
{
    if (!def->skin) return HK_OK;
    hk_status status = bind_skin(body, mesh, def);
    if (status != HK_OK) return hk_fail_within(status, "skin");
    tell_outside(body, mesh);
    return HK_OK;
}

const hk_embedding *hk_model_skin(const hk_model *model, int body)
{
    return model && body >= 0 && body < model->body_count ? model->bodies[body].skin : NULL;
}

// ---------------------------------------------------------------- the surface of all bodies

// The surface of one body, in its place.
static hk_status body_surface(const hk_model *m, int number, const double *positions,
                              hk_mesh **surface)
{
    const hk_body *body = &m->bodies[number];
    const double *own = positions + 3 * (int64_t)body->vertex_start;
    hk_mesh *whole;
    if (body->skin) {
        HK_TRY(hk_mesh_copy(body->skin->surface, surface));
        return hk_embedding_apply(body->skin, 3, own, (*surface)->positions);
    }
    HK_TRY(hk_model_body_mesh(m, number, &whole));
    memcpy(whole->positions, own, 3 * sizeof(double) * (size_t)body->vertex_count);
    hk_status status = hk_mesh_outside(whole, surface);
    hk_mesh_free(whole);
    return status;
}

static void append(const hk_mesh *from, hk_mesh *to)
{
    memcpy(to->positions + 3 * (int64_t)to->vertex_count, from->positions,
           3 * sizeof(double) * (size_t)from->vertex_count);
    for (int64_t k = 0; k < 3 * (int64_t)from->triangle_count; k++)
        to->triangles[3 * (int64_t)to->triangle_count + k] = from->triangles[k] + to->vertex_count;
    to->vertex_count += from->vertex_count;
    to->triangle_count += from->triangle_count;
}

static hk_status join(hk_mesh *const *surfaces, int count, hk_mesh **mesh)
{
    int64_t vertices = 0, triangles = 0;
    for (int k = 0; k < count; k++) {
        vertices += surfaces[k] ? surfaces[k]->vertex_count : 0;
        triangles += surfaces[k] ? surfaces[k]->triangle_count : 0;
    }
    if (vertices > INT32_MAX || triangles > INT32_MAX)
        return hk_fail(HK_UNSUPPORTED, "the surface would have %lld vertices and %lld triangles",
                       (long long)vertices, (long long)triangles);
    hk_mesh *made;
    HK_TRY(hk_mesh_new((int)vertices, 0, (int)triangles, &made));
    made->vertex_count = made->triangle_count = 0;
    for (int k = 0; k < count; k++)
        if (surfaces[k]) append(surfaces[k], made);
    *mesh = made;
    return HK_OK;
}

hk_status hk_model_surface(const hk_model *m, const double *positions, bool sheets, hk_mesh **mesh)
{
    if (!m || !positions || !mesh)
        return hk_fail(HK_BAD_INPUT, "hk_model_surface: model, positions and mesh are needed");
    hk_mesh **surfaces = HK_ZEROS(hk_mesh *, m->body_count);
    hk_status status = surfaces ? HK_OK : HK_NO_MEMORY;
    for (int b = 0; b < m->body_count && status == HK_OK; b++)
        if (sheets || m->bodies[b].tet_count > 0)
            status = body_surface(m, b, positions, &surfaces[b]);
    if (status == HK_OK) status = join(surfaces, m->body_count, mesh);
    for (int b = 0; b < m->body_count && surfaces; b++) hk_mesh_free(surfaces[b]);
    hk_free(surfaces);
    return status;
}
