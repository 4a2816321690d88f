#include "surface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- bodies

static int body_of(const hk_model *model, int32_t vertex)
{
    int low = 0, high = hk_model_body_count(model) - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (hk_model_body_start(model, middle) <= vertex)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static void count_parts(const hk_model *model, const hk_mesh *mesh, int triangle_count,
                        const int32_t *triangles, const int32_t *tets, st_surface *s)
{
    uint8_t *drawn = st_alloc((size_t)hk_mesh_vertex_count(mesh), 1);
    for (int b = 0; b < s->body_count; ++b) {
        st_part *part = &s->parts[b];
        part->model_start = hk_model_body_start(model, b);
        part->model_count = hk_model_body_start(model, b + 1) - part->model_start;
        part->skin = hk_model_skin(model, b);
    }
    for (int k = 0; k < triangle_count; ++k) {
        st_part *part = &s->parts[body_of(model, triangles[3 * k])];
        if (part->skin) continue;
        part->sheet = tets[k] < 0;
        part->triangle_count++;
        for (int i = 0; i < 3; ++i) {
            int32_t v = triangles[3 * k + i];
            part->vertex_count += !drawn[v];
            drawn[v] = 1;
        }
    }
    for (int k = 0; k < s->tube_count; ++k) {
        st_part *part = &s->parts[body_of(model, s->tubes[k].ends[0])];
        part->rope = true;
        part->vertex_count += st_tube_vertices();
        part->triangle_count += st_tube_triangles(&s->tubes[k]);
    }
    for (int b = 0; b < s->body_count; ++b) {
        st_part *part = &s->parts[b];
        if (part->skin) {
            const hk_mesh *skin = hk_embedding_surface(part->skin);
            part->vertex_count = hk_mesh_vertex_count(skin);
            part->triangle_count = hk_mesh_triangle_count(skin);
        }
        part->first_vertex = s->vertex_count;
        part->first_triangle = s->triangle_count;
        s->vertex_count += part->vertex_count;
        s->triangle_count += part->triangle_count;
    }
    free(drawn);
}

static void fill_skins(st_surface *s)
{
    for (int b = 0; b < s->body_count; ++b) {
        const st_part *part = &s->parts[b];
        if (!part->skin) continue;
        const int32_t *triangles = hk_mesh_triangles(hk_embedding_surface(part->skin));
        for (int v = 0; v < part->vertex_count; ++v) s->vertices[part->first_vertex + v] = -1;
        for (int k = 0; k < part->triangle_count; ++k) {
            s->tets[part->first_triangle + k] = -1;
            for (int i = 0; i < 3; ++i)
                s->triangles[3 * (part->first_triangle + k) + i] =
                    (uint32_t)(part->first_vertex + triangles[3 * k + i]);
        }
    }
}

static void fill_surfaces(const hk_model *model, int triangle_count, const int32_t *triangles,
                          const int32_t *tets, st_surface *s)
{
    size_t bodies = (size_t)s->body_count;
    int *next_vertex = st_alloc(bodies, sizeof *next_vertex);
    int *next_triangle = st_alloc(bodies, sizeof *next_triangle);
    int32_t *place = st_alloc((size_t)s->model_vertex_count, sizeof *place);
    memset(place, -1, sizeof *place * (size_t)s->model_vertex_count);
    for (int k = 0; k < triangle_count; ++k) {
        int b = body_of(model, triangles[3 * k]);
        const st_part *part = &s->parts[b];
        if (part->skin) continue;
        int at = part->first_triangle + next_triangle[b]++;
        s->tets[at] = tets[k];
        for (int i = 0; i < 3; ++i) {
            int32_t v = triangles[3 * k + i];
            if (place[v] < 0) {
                place[v] = part->first_vertex + next_vertex[b]++;
                s->vertices[place[v]] = v;
            }
            s->triangles[3 * at + i] = (uint32_t)place[v];
        }
    }
    free(place);
    free(next_triangle);
    free(next_vertex);
}

static void fill_tubes(const hk_model *model, st_surface *s)
{
    int *vertices = st_alloc((size_t)s->body_count, sizeof *vertices);
    int *triangles = st_alloc((size_t)s->body_count, sizeof *triangles);
    for (int k = 0; k < s->tube_count; ++k) {
        st_tube *tube = &s->tubes[k];
        int b = body_of(model, tube->ends[0]);
        int at = s->parts[b].first_triangle + triangles[b], count = st_tube_triangles(tube);
        tube->first_vertex = s->parts[b].first_vertex + vertices[b];
        st_tube_fill(tube, s->vertices, s->triangles + 3 * (size_t)at);
        for (int i = 0; i < count; ++i) s->tets[at + i] = -1;
        vertices[b] += st_tube_vertices();
        triangles[b] += count;
    }
    free(triangles);
    free(vertices);
}

static double tet_volume(const double *x, const int32_t *tet)
{
    double e[3][3];
    for (int k = 0; k < 3; ++k)
        for (int i = 0; i < 3; ++i) e[k][i] = x[3 * tet[k + 1] + i] - x[3 * tet[0] + i];
    double det = e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) -
                 e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
                 e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0]);
    return fabs(det) / 6;
}

// To the corners of a tet, and to the nodes between them where it is quadratic.
static void add_to_nodes(const st_surface *s, int t, double value, double *vertices)
{
    const int32_t *tet = s->tet_vertices + 4 * (int64_t)t;
    const int32_t *middles = s->tet_middles ? s->tet_middles + 6 * (int64_t)t : NULL;
    for (int i = 0; i < 4; ++i) vertices[tet[i]] += value;
    for (int i = 0; i < 6 && middles; ++i)
        if (middles[i] >= 0) vertices[middles[i]] += value;
}

static void weigh_tets(const hk_model *model, const hk_mesh *mesh, st_surface *s)
{
    const double *rest = hk_model_rest_positions(model);
    s->tet_count = hk_mesh_tet_count(mesh);
    s->tet_vertices = st_alloc(4 * (size_t)s->tet_count, sizeof *s->tet_vertices);
    s->tet_weight = st_alloc((size_t)s->tet_count, sizeof *s->tet_weight);
    s->vertex_weight = st_alloc((size_t)s->model_vertex_count, sizeof *s->vertex_weight);
    if (s->tet_count > 0)
        memcpy(s->tet_vertices, hk_mesh_tets(mesh),
               sizeof *s->tet_vertices * 4 * (size_t)s->tet_count);
    if (hk_mesh_middles(mesh)) {
        s->tet_middles = st_alloc(6 * (size_t)s->tet_count, sizeof *s->tet_middles);
        memcpy(s->tet_middles, hk_mesh_middles(mesh),
               sizeof *s->tet_middles * 6 * (size_t)s->tet_count);
    }
    for (int t = 0; t < s->tet_count; ++t) {
        s->tet_weight[t] = tet_volume(rest, s->tet_vertices + 4 * (int64_t)t);
        add_to_nodes(s, t, s->tet_weight[t], s->vertex_weight);
    }
}

static void find_bounds(const hk_model *model, st_surface *s)
{
    const double *x = hk_model_rest_positions(model);
    double diagonal = 0, farthest = 0;
    for (int i = 0; i < 3; ++i) s->bounds[0][i] = INFINITY, s->bounds[1][i] = -INFINITY;
    for (int v = 0; v < s->model_vertex_count; ++v)
        for (int i = 0; i < 3; ++i) {
            s->bounds[0][i] = fmin(s->bounds[0][i], x[3 * v + i]);
            s->bounds[1][i] = fmax(s->bounds[1][i], x[3 * v + i]);
        }
    for (int i = 0; i < 3; ++i) {
        diagonal += (s->bounds[1][i] - s->bounds[0][i]) * (s->bounds[1][i] - s->bounds[0][i]);
        farthest = fmax(farthest, fmax(fabs(s->bounds[0][i]), fabs(s->bounds[1][i])));
    }
    s->size = sqrt(diagonal);
    // Far away single precision would show.
    for (int i = 0; i < 3; ++i)
        s->origin[i] = farthest > 100 * s->size ? (s->bounds[0][i] + s->bounds[1][i]) / 2 : 0;
}

// ---------------------------------------------------------------- obstacles

static void add_obstacle(const hk_model *model, int number, st_surface *s)
{
    double middle[3];
    hk_mesh *mesh = NULL;
    st_obstacle *obstacle = &s->obstacles[number];
    *obstacle = (st_obstacle){.first_vertex = s->obstacle_vertex_count,
                              .first_triangle = s->obstacle_triangle_count};
    for (int i = 0; i < 3; ++i) middle[i] = (s->bounds[0][i] + s->bounds[1][i]) / 2;
    if (hk_model_obstacle_mesh(model, number, 0, 4 * s->size, middle, &mesh) != HK_OK) return;
    int n = hk_mesh_vertex_count(mesh), m = hk_mesh_triangle_count(mesh);
    const double *x = hk_mesh_positions(mesh);
    const int32_t *triangles = hk_mesh_triangles(mesh);
    s->obstacle_positions = st_realloc(s->obstacle_positions,
                                       3 * (size_t)(s->obstacle_vertex_count + n), sizeof(float));
    s->obstacle_triangles = st_realloc(
        s->obstacle_triangles, 3 * (size_t)(s->obstacle_triangle_count + m), sizeof(uint32_t));
    for (int k = 0; k < 3 * n; ++k)
        s->obstacle_positions[3 * s->obstacle_vertex_count + k] = (float)(x[k] - s->origin[k % 3]);
    for (int k = 0; k < 3 * m; ++k)
        s->obstacle_triangles[3 * s->obstacle_triangle_count + k] =
            (uint32_t)(s->obstacle_vertex_count + triangles[k]);
    obstacle->vertex_count = n;
    obstacle->triangle_count = m;
    s->obstacle_vertex_count += n;
    s->obstacle_triangle_count += m;
    hk_mesh_free(mesh);
}

// ---------------------------------------------------------------- all of it

bool st_surface_create(const hk_model *model, hk_mesh *mesh, st_surface *s, st_why *why)
{
    int count;
    const int32_t *triangles, *tets;
    *s = (st_surface){.body_count = hk_model_body_count(model)};
    if (hk_mesh_surface(mesh, &count, &triangles, &tets) != HK_OK) return st_fail_library(why);
    s->model_vertex_count = hk_model_vertex_count(model);
    s->parts = st_alloc((size_t)s->body_count, sizeof *s->parts);
    st_tubes_find(model, s);
    count_parts(model, mesh, count, triangles, tets, s);
    s->vertices = st_alloc((size_t)s->vertex_count, sizeof *s->vertices);
    s->triangles = st_alloc(3 * (size_t)s->triangle_count, sizeof *s->triangles);
    s->tets = st_alloc((size_t)s->triangle_count, sizeof *s->tets);
    fill_surfaces(model, count, triangles, tets, s);
    fill_skins(s);
    fill_tubes(model, s);
    weigh_tets(model, mesh, s);
    for (int b = 0, start = 0; b < s->body_count; start += hk_model_body_tet_count(model, b++))
        st_skin_find_tets(model, b, start, s);
    find_bounds(model, s);
    s->obstacle_count = hk_model_obstacle_count(model);
    s->obstacles = st_alloc((size_t)s->obstacle_count, sizeof *s->obstacles);
    for (int k = 0; k < s->obstacle_count; ++k) add_obstacle(model, k, s);
    int most = s->model_vertex_count > s->vertex_count ? s->model_vertex_count : s->vertex_count;
    s->scratch = st_alloc(3 * (size_t)most, sizeof *s->scratch);
    return true;
}

void st_surface_free(st_surface *s)
{
    free(s->vertices);
    free(s->triangles);
    free(s->tets);
    free(s->parts);
    free(s->tubes);
    free(s->tet_vertices);
    free(s->tet_middles);
    free(s->tet_weight);
    free(s->vertex_weight);
    free(s->obstacles);
    free(s->obstacle_positions);
    free(s->obstacle_triangles);
    free(s->scratch);
    *s = (st_surface){.vertex_count = 0};
}

void st_surface_positions(const st_surface *s, const double *x, float *drawn)
{
    for (int b = 0; b < s->body_count; ++b) {
        const st_part *part = &s->parts[b];
        float *to = drawn + 3 * (size_t)part->first_vertex;
        const double *from = s->scratch;
        if (part->rope) continue;
        if (part->skin && hk_embedding_apply(part->skin, 3, x + 3 * (size_t)part->model_start,
                                             s->scratch) != HK_OK)
            memset(s->scratch, 0, sizeof(double) * 3 * (size_t)part->vertex_count);
        for (int v = 0; v < part->vertex_count; ++v) {
            if (!part->skin) from = x + 3 * (size_t)s->vertices[part->first_vertex + v] - 3 * v;
            for (int i = 0; i < 3; ++i) to[3 * v + i] = (float)(from[3 * v + i] - s->origin[i]);
        }
    }
    for (int k = 0; k < s->tube_count; ++k) st_tube_place(&s->tubes[k], x, s->origin, drawn);
}

void st_surface_values(const st_surface *s, const double *values, float *drawn)
{
    for (int b = 0; b < s->body_count; ++b) {
        const st_part *part = &s->parts[b];
        float *to = drawn + part->first_vertex;
        if (!part->skin) {
            for (int v = 0; v < part->vertex_count; ++v)
                to[v] = (float)values[s->vertices[part->first_vertex + v]];
            continue;
        }
        if (hk_embedding_apply(part->skin, 1, values + part->model_start, s->scratch) != HK_OK)
            memset(s->scratch, 0, sizeof(double) * (size_t)part->vertex_count);
        for (int v = 0; v < part->vertex_count; ++v) to[v] = (float)s->scratch[v];
    }
}

void st_surface_average(const st_surface *s, const double *tets, double *vertices)
{
    memset(vertices, 0, sizeof *vertices * (size_t)s->model_vertex_count);
    for (int t = 0; t < s->tet_count; ++t) add_to_nodes(s, t, s->tet_weight[t] * tets[t], vertices);
    for (int v = 0; v < s->model_vertex_count; ++v)
        vertices[v] = s->vertex_weight[v] > 0 ? vertices[v] / s->vertex_weight[v] : NAN;
}

int st_surface_body_of(const st_surface *s, int32_t vertex)
{
    for (int b = 0; b < s->body_count; ++b)
        if (vertex < s->parts[b].model_start + s->parts[b].model_count) return b;
    return s->body_count - 1;
}

int st_surface_body(const st_surface *s, int triangle)
{
    for (int b = 0; b < s->body_count; ++b)
        if (triangle < s->parts[b].first_triangle + s->parts[b].triangle_count) return b;
    return s->body_count - 1;
}
