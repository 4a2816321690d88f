#include "contact/inside.h"

#include <math.h>

#include "mesh/winding.h"

// ---------------------------------------------------------------- life

static void release_shape(hk_rest_shape *shape)
{
    hk_sdf_free(shape->sdf);
    hk_winding_tree_free(shape->tree);
    hk_free(shape->triangles);
    *shape = (hk_rest_shape){0};
}

void hk_insides_free(hk_insides *a)
{
    if (!a) return;
    for (int b = 0; a->shapes && b < a->body_count; b++) release_shape(&a->shapes[b]);
    hk_free(a->shapes);
    hk_vertex_hash_release(&a->hash);
    hk_free(a->list);
    hk_free(a->marked);
    hk_free(a);
}

hk_status hk_insides_create(const hk_contacts *c, hk_insides **insides)
{
    hk_insides *a = HK_NEW(hk_insides);
    if (!a) return HK_NO_MEMORY;
    a->body_count = c->settings->body_count;
    a->shapes = HK_ZEROS(hk_rest_shape, a->body_count);
    a->marked = HK_ZEROS(uint8_t, c->body_points);
    hk_status status = a->shapes && a->marked ? hk_vertex_hash_create(c, &a->hash) : HK_NO_MEMORY;
    if (status != HK_OK) {
        hk_insides_free(a);
        return status;
    }
    *insides = a;
    return HK_OK;
}

// ---------------------------------------------------------------- rest shapes

static hk_status make_shape(const hk_contacts *c, int body, hk_rest_shape *to)
{
    int count = 0;
    hk_mesh *mesh = NULL;
    double thin = INFINITY;
    hk_sdf_def def = hk_default_sdf_def();
    for (int i = 0; i < 3; i++) {
        double low = INFINITY, high = -INFINITY;
        for (int p = 0; p < c->body_points; p++)
            if (c->side[p] == body) {
                low = fmin(low, c->rest[3 * (size_t)p + (size_t)i]);
                high = fmax(high, c->rest[3 * (size_t)p + (size_t)i]);
            }
        thin = fmin(thin, high - low);
    }
    def.cells = 16;         // the nearest triangle is found exactly, from near by
    def.band = 0.5 * thin;  // nothing is deeper inside
    def.threads = c->threads;
    to->triangles = HK_ARRAY(int32_t, 3 * (size_t)c->body_triangles);
    if (!to->triangles) return HK_NO_MEMORY;
    for (int t = 0; t < c->body_triangles; t++) {
        const int32_t *from = c->triangles + 3 * (size_t)t;
        if (c->side[from[0]] == body)
            memcpy(to->triangles + 3 * (size_t)count++, from, 3 * sizeof(int32_t));
    }
    HK_TRY(hk_winding_tree_create(c->body_points, c->rest, count, to->triangles, c->threads,
                                  &to->tree));
    HK_TRY(hk_mesh_from_arrays(c->body_points, c->rest, 0, NULL, count, to->triangles, &mesh));
    hk_status status = hk_sdf_create(mesh, &def, &to->sdf);
    hk_mesh_free(mesh);
    return status;
}

// Barycentric coordinates of a point of a triangle.
static void weights_of(const double *a, const double *b, const double *c, const double p[3],
                       double weight[3])
{
    double x[4][3];
    memcpy(x[0], p, sizeof x[0]);
    memcpy(x[1], a, sizeof x[1]);
    memcpy(x[2], b, sizeof x[2]);
    memcpy(x[3], c, sizeof x[3]);
    hk_closest at = closest_vertex_triangle((const double(*)[3])x);
    for (int k = 0; k < 3; k++) weight[k] = -at.c[k + 1];
}

// The place on the surface for a vertex that is inside; false: it is not.
static hk_status find_place(const hk_contacts *c, hk_insides *a, const hk_inside *in,
                            hk_projection *to, bool *found)
{
    const hk_model *m = c->model;
    hk_rest_shape *shape = &a->shapes[in->body];
    double rest[3] = {0}, normal[3], weight[3];
    *found = false;
    if (!shape->sdf) {
        hk_status status = make_shape(c, in->body, shape);
        if (status != HK_OK) release_shape(shape);
        HK_TRY(status);
    }
    for (int k = 0; k < 4; k++) {
        const double *corner = m->rest + 3 * (size_t)m->tets[4 * (size_t)in->tet + (size_t)k];
        for (int i = 0; i < 3; i++) rest[i] += in->weight[k] * corner[i];
    }
    double depth = -hk_sdf_value(shape->sdf, rest, normal, NULL);
    if (!(depth > 0)) return HK_OK;
    for (int i = 0; i < 3; i++) rest[i] += depth * normal[i];
    hk_nearest nearest = hk_winding_nearest(shape->tree, rest, INFINITY, NULL);
    const int32_t *t = shape->triangles + 3 * (size_t)nearest.triangle;
    weights_of(c->rest + 3 * (size_t)t[0], c->rest + 3 * (size_t)t[1], c->rest + 3 * (size_t)t[2],
               nearest.point, weight);
    *to = (hk_projection){.point = {in->point, t[0], t[1], t[2]},
                          .c = {1, -weight[0], -weight[1], -weight[2]}};
    double e[3], f[3];
    closest_minus(c->x + 3 * (size_t)t[1], c->x + 3 * (size_t)t[0], e);
    closest_minus(c->x + 3 * (size_t)t[2], c->x + 3 * (size_t)t[0], f);
    closest_cross(e, f, to->normal);
    double length = sqrt(closest_dot(to->normal, to->normal));
    if (!(length > 0)) return HK_OK;
    for (int i = 0; i < 3; i++) to->normal[i] /= length;
    to->friction = hk_contact_friction(c->settings, c->side[in->point], in->body);
    *found = true;
    return HK_OK;
}

hk_status hk_insides_find(const hk_contacts *c, const double *x, hk_insides *a)
{
    a->count = 0;
    HK_TRY(hk_vertex_hash_find(c, x, &a->hash));
    HK_TRY(hk_reserve((void **)&a->list, 0, sizeof *a->list, &a->capacity, a->hash.count));
    for (size_t k = 0; k < a->hash.count; k++) {
        bool found;
        HK_TRY(find_place(c, a, &a->hash.found[k], &a->list[a->count], &found));
        a->count += found;
    }
    return HK_OK;
}

// ---------------------------------------------------------------- the soft constraint

void hk_insides_clear(hk_contacts *c)
{
    if (c->insides->count > 0) c->reach = -1;
    c->insides->count = 0;
    memset(c->insides->marked, 0, (size_t)c->body_points);
}

hk_status hk_insides_add_presses(hk_contacts *c, const double *x)
{
    const hk_model_contact *s = c->settings;
    if (!c->insides) HK_TRY(hk_insides_create(c, &c->insides));
    hk_insides *a = c->insides;
    size_t before = a->count;
    memset(a->marked, 0, (size_t)c->body_points);
    HK_TRY(hk_insides_find(c, x, a));
    HK_TRY(hk_reserve((void **)&c->slides, c->slide_count, sizeof *c->slides, &c->slide_capacity,
                      c->slide_count + a->count));
    for (size_t k = 0; k < a->count; k++) {
        const hk_projection *in = &a->list[k];
        int32_t p = in->point[0], other = c->side[in->point[1]];
        hk_slide press = {.sides = {c->side[p], other}, .press = true};
        double was = 0;
        memcpy(press.point, in->point, sizeof press.point);
        memcpy(press.friction.c, in->c, sizeof press.friction.c);
        memcpy(press.friction.normal, in->normal, sizeof press.friction.normal);
        for (int u = 0; u < 4; u++)
            was += in->c[u] * closest_dot(in->normal, c->from + 3 * (size_t)in->point[u]);
        press.friction.most = c->area[p] * hk_contacts_modulus(c, c->side[p], other) / s->distance;
        press.friction.slip = s->distance - was;
        a->marked[p] = 1;
        c->slides[c->slide_count++] = press;
    }
    if (a->count + before > 0) c->reach = -1;  // pairs of these vertices would push them farther in
    return HK_OK;
}
