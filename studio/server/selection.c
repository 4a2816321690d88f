// Which vertices a message means, and which point of a body is grabbed.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulation.h"

// ---------------------------------------------------------------- vertices

static bool select_vertices(const json_t *list, const st_surface *f, uint8_t *flags, st_why *why)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        json_int_t v = json_integer_value(item);
        if (!json_is_integer(item) || v < 0 || v >= f->model_vertex_count)
            return st_fail(why, "\"vertices\": there are %d", f->model_vertex_count);
        flags[v] = 1;
    }
    return true;
}

static bool select_triangles(const json_t *list, const st_surface *f, uint8_t *flags, st_why *why)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        json_int_t k = json_integer_value(item);
        if (!json_is_integer(item) || k < 0 || k >= f->triangle_count)
            return st_fail(why, "\"triangles\": there are %d", f->triangle_count);
        // A skin has no vertices of its own: those of the tets below it are meant.
        bool skin = f->vertices[f->triangles[3 * k]] < 0;
        for (int c = 0; c < 3 && !skin; ++c) flags[f->vertices[f->triangles[3 * k + c]]] = 1;
        for (int c = 0; c < 4 && skin && f->tets[k] >= 0; ++c)
            flags[f->tet_vertices[4 * (int64_t)f->tets[k] + c]] = 1;
    }
    return true;
}

static bool select_box(const json_t *box, const st_surface *f, const double *x, uint8_t *flags,
                       st_why *why)
{
    double a[3], b[3];
    if (!st_read_vector(json_array_get(box, 0), a, 3) ||
        !st_read_vector(json_array_get(box, 1), b, 3))
        return st_fail(why, "\"box\": expected two corners");
    for (int v = 0; v < f->model_vertex_count; ++v) {
        bool inside = true;
        for (int i = 0; i < 3; ++i)
            inside = inside && x[3 * v + i] >= fmin(a[i], b[i]) && x[3 * v + i] <= fmax(a[i], b[i]);
        flags[v] = inside;
    }
    return true;
}

static bool select_sphere(const json_t *sphere, const st_surface *f, const double *x,
                          uint8_t *flags, st_why *why)
{
    double c[3], radius = st_read_real(sphere, "radius", -1);
    if (!st_read_vector(json_object_get(sphere, "center"), c, 3) || !(radius >= 0))
        return st_fail(why, "\"sphere\": expected center and radius");
    for (int v = 0; v < f->model_vertex_count; ++v) {
        double d = 0;
        for (int i = 0; i < 3; ++i) d += (x[3 * v + i] - c[i]) * (x[3 * v + i] - c[i]);
        flags[v] = d <= radius * radius;
    }
    return true;
}

static void grow_by_one_tet(const st_surface *f, uint8_t *flags)
{
    uint8_t *before = st_alloc((size_t)f->model_vertex_count, 1);
    memcpy(before, flags, (size_t)f->model_vertex_count);
    for (int t = 0; t < f->tet_count; ++t) {
        const int32_t *tet = f->tet_vertices + 4 * (int64_t)t;
        if (before[tet[0]] || before[tet[1]] || before[tet[2]] || before[tet[3]])
            for (int i = 0; i < 4; ++i) flags[tet[i]] = 1;
    }
    free(before);
}

// Triangles are those of the topology that the page had: after a tear there are others.
static bool knows_triangles(const st_session *s, const json_t *message, st_why *why)
{
    double of = st_read_real(message, "topology", s->topology);
    return of >= s->surface_since || st_fail(why, "the surface has torn meanwhile");
}

uint8_t *st_select(st_session *s, const json_t *message, const double *x, bool grow, st_why *why)
{
    const st_surface *f = &s->surface;
    const json_t *vertices = json_object_get(message, "vertices");
    const json_t *triangles = json_object_get(message, "triangles");
    const json_t *box = json_object_get(message, "box"),
                 *sphere = json_object_get(message, "sphere");
    const char *of = st_read_text(message, "of");
    const hk_model *model = NULL;
    if (of && strcmp(of, "rest") == 0 && s->mode->world_model(s, &model))
        x = hk_model_rest_positions(model);
    uint8_t *flags = st_alloc((size_t)f->model_vertex_count, 1);
    bool good = false, any = false;
    if (vertices)
        good = select_vertices(vertices, f, flags, why);
    else if (triangles)
        good = knows_triangles(s, message, why) && select_triangles(triangles, f, flags, why);
    else if (box)
        good = select_box(box, f, x, flags, why);
    else if (sphere)
        good = select_sphere(sphere, f, x, flags, why);
    else
        st_fail(why, "expected \"vertices\", \"triangles\", \"box\" or \"sphere\"");
    for (int v = 0; v < f->model_vertex_count && good && !any; ++v) any = flags[v];
    if (good && any) {
        if (grow && !box) grow_by_one_tet(f, flags);
        return flags;
    }
    if (good) st_fail(why, "there is no vertex there");
    free(flags);
    return NULL;
}

int32_t *st_selected_of_body(const st_session *s, const uint8_t *flags, int body, int *count)
{
    const st_part *part = &s->surface.parts[body];
    int32_t *vertices = st_alloc((size_t)part->model_count, sizeof *vertices);
    *count = 0;
    for (int v = 0; v < part->model_count; ++v)
        if (flags[part->model_start + v]) vertices[(*count)++] = v;
    return vertices;
}

int32_t *st_selected(const st_session *s, const uint8_t *flags, int *count)
{
    int n = s->surface.model_vertex_count;
    int32_t *vertices = st_alloc((size_t)n, sizeof *vertices);
    *count = 0;
    for (int v = 0; v < n; ++v)
        if (flags[v]) vertices[(*count)++] = v;
    return vertices;
}

// ---------------------------------------------------------------- a point

void st_point_place(const st_point *point, const double *x, double place[3])
{
    for (int i = 0; i < 3; ++i) {
        place[i] = 0;
        for (int k = 0; k < point->count; ++k)
            place[i] += point->weights[k] * x[3 * (int64_t)point->vertices[k] + i];
    }
}

static bool read_weights(const json_t *message, double weights[3], st_why *why)
{
    const json_t *given = json_object_get(message, "weights");
    double sum = 0;
    for (int i = 0; i < 3; ++i) weights[i] = 1.0 / 3;
    if (given && !st_read_vector(given, weights, 3))
        return st_fail(why, "\"weights\": expected three numbers");
    for (int i = 0; i < 3; ++i) {
        if (weights[i] < -1e-6)
            return st_fail(why, "\"weights\": the point is not in the triangle");
        weights[i] = fmax(weights[i], 0);
        sum += weights[i];
    }
    if (!(fabs(sum - 1) < 1e-3)) return st_fail(why, "\"weights\" do not add up to 1");
    for (int i = 0; i < 3; ++i) weights[i] /= sum;
    return true;
}

// A point of a skin is one of the tet that it lies in at rest.
static bool pick_skin(const st_session *s, const hk_model *model, int body, int triangle,
                      const double weights[3], st_point *point, st_why *why)
{
    const st_part *part = &s->surface.parts[body];
    const hk_mesh *skin = hk_embedding_surface(part->skin);
    const int32_t *corners = hk_mesh_triangles(skin) + 3 * (triangle - part->first_triangle);
    double at[3] = {0};
    for (int c = 0; c < 3; ++c)
        for (int i = 0; i < 3; ++i)
            at[i] += weights[c] * hk_mesh_positions(skin)[3 * (int64_t)corners[c] + i];
    hk_probe probe;
    if (hk_model_probe(model, body, at, &probe) != HK_OK) return st_fail_library(why);
    point->count = probe.count;
    for (int k = 0; k < probe.count; ++k) {
        point->vertices[k] = probe.vertices[k];
        point->weights[k] = probe.weights[k];
    }
    return true;
}

// Corners of tubes are of the same vertex, by twos or threes.
static void add_to_point(st_point *point, int32_t vertex, double weight)
{
    int k = 0;
    while (k < point->count && point->vertices[k] != vertex) ++k;
    if (k == point->count) {
        point->vertices[point->count] = vertex;
        point->weights[point->count++] = 0;
    }
    point->weights[k] += weight;
}

bool st_pick(st_session *s, const json_t *message, const hk_model *model, st_point *point,
             double *size, int *body, st_why *why)
{
    const st_surface *f = &s->surface;
    const json_t *number = json_object_get(message, "triangle");
    json_int_t triangle = json_integer_value(number);
    double weights[3], edge = 0;
    if (!json_is_integer(number) || triangle < 0 || triangle >= f->triangle_count)
        return st_fail(why, "\"triangle\": there are %d", f->triangle_count);
    if (!knows_triangles(s, message, why) || !read_weights(message, weights, why)) return false;
    *body = st_surface_body(f, (int)triangle);
    if (f->parts[*body].skin) {
        if (!pick_skin(s, model, *body, (int)triangle, weights, point, why)) return false;
    } else {
        point->count = 0;
        for (int c = 0; c < 3; ++c)
            add_to_point(point, f->vertices[f->triangles[3 * triangle + c]], weights[c]);
    }
    const double *rest = hk_model_rest_positions(model);
    for (int k = 1; k < point->count; ++k) {
        const double *a = rest + 3 * (int64_t)point->vertices[0];
        const double *b = rest + 3 * (int64_t)point->vertices[k];
        edge += sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                     (a[2] - b[2]) * (a[2] - b[2])) /
                (point->count - 1);
    }
    *size = edge > 0 ? edge : f->size / 10;
    return true;
}
