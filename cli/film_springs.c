// Springs between points, drawn as thin prisms, and ropes, as prisms of their radius. Broken
// springs are drawn no more.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "film.h"

enum { SIDES = 6, VERTICES = 2 * SIDES, TRIANGLES = 2 * SIDES };

static int prism_count(const hk_model *model)
{
    return hk_model_point_spring_count(model) + hk_model_line_count(model);
}

int film_spring_vertices(const hk_model *model)
{
    return VERTICES * prism_count(model);
}

int film_prism_triangles(int count, int first, int32_t *triangles)
{
    for (int s = 0; s < count && triangles; ++s)
        for (int k = 0; k < SIDES; ++k) {
            int32_t at = first + VERTICES * s, a = at + k, b = at + (k + 1) % SIDES;
            const int32_t two[6] = {a, b, b + SIDES, a, b + SIDES, a + SIDES};
            memcpy(triangles + 6 * ((size_t)SIDES * s + k), two, sizeof two);
        }
    return TRIANGLES * count;
}

int film_spring_triangles(const hk_model *model, int first, int32_t *triangles)
{
    return film_prism_triangles(prism_count(model), first, triangles);
}

// Two unit vectors across a direction; false: that has no length.
static bool across(const double d[3], double u[3], double v[3])
{
    double length = hypot(hypot(d[0], d[1]), d[2]), n[3];
    if (!(length > 0)) return false;
    for (int i = 0; i < 3; ++i) n[i] = d[i] / length;
    int least = fabs(n[0]) < fabs(n[1]) ? 0 : 1;
    if (fabs(n[2]) < fabs(n[least])) least = 2;
    for (int i = 0; i < 3; ++i) u[i] = (i == least) - n[least] * n[i];
    double scale = 1 / hypot(hypot(u[0], u[1]), u[2]);
    for (int i = 0; i < 3; ++i) u[i] *= scale;
    for (int i = 0; i < 3; ++i) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        v[i] = n[j] * u[k] - n[k] * u[j];
    }
    return true;
}

void film_place_prism(const double *const ends[2], double radius, double *x)
{
    const double turn = 2 * acos(-1.0) / SIDES;
    double d[3], u[3] = {0}, v[3] = {0};
    for (int i = 0; i < 3; ++i) d[i] = ends[1][i] - ends[0][i];
    double thick = across(d, u, v) ? radius : 0;
    for (int k = 0; k < VERTICES; ++k, x += 3)
        for (int i = 0; i < 3; ++i)
            x[i] = ends[k / SIDES][i] + thick * (cos(turn * k) * u[i] + sin(turn * k) * v[i]);
}

void film_place_springs(const hk_world *world, double size, double *x)
{
    const hk_model *model = hk_world_model(world);
    for (int s = 0; s < hk_model_point_spring_count(model); ++s, x += 3 * VERTICES) {
        hk_spring_state now;
        if (hk_world_spring_state(world, s, &now) != HK_OK) return;
        film_place_prism((const double *[2]){now.ends[0], now.ends[now.broken ? 0 : 1]},
                         0.0015 * size, x);
    }
    const int32_t *lines = hk_model_lines(model);
    for (int k = 0; k < hk_model_line_count(model); ++k, x += 3 * VERTICES) {
        const double *at = hk_world_positions(world);
        film_place_prism(
            (const double *[2]){at + 3 * (size_t)lines[2 * k], at + 3 * (size_t)lines[2 * k + 1]},
            fmax(hk_model_line_radius(model, k), 0.001 * size), x);
    }
}

// ---------------------------------------------------------------- files

hk_mesh *film_mesh_with_lines(const hk_mesh *mesh, const double *rest, double **more)
{
    int vertices = hk_mesh_vertex_count(mesh), lines = hk_mesh_line_count(mesh);
    int count = hk_mesh_triangle_count(mesh);
    double *x = cli_realloc(NULL, 3 * (size_t)(vertices + VERTICES * lines), sizeof(double));
    int32_t *triangles =
        cli_realloc(NULL, 3 * (size_t)(count + TRIANGLES * lines) + 1, sizeof(int32_t));
    if (count > 0) memcpy(triangles, hk_mesh_triangles(mesh), 3 * sizeof(int32_t) * (size_t)count);
    count += film_prism_triangles(lines, vertices, triangles + 3 * (size_t)count);
    film_place_lines(mesh, hk_mesh_positions(mesh), x);
    *more = cli_realloc(NULL, 3 * (size_t)(vertices + VERTICES * lines), sizeof(double));
    film_place_lines(mesh, rest, *more);
    hk_mesh *made = NULL;
    if (hk_mesh_from_arrays(vertices + VERTICES * lines, x, hk_mesh_tet_count(mesh),
                            hk_mesh_tets(mesh), count, triangles, &made) != HK_OK)
        made = NULL;
    if (made && hk_mesh_middles(mesh) &&
        hk_mesh_set_middles(made, hk_mesh_middles(mesh)) != HK_OK) {
        hk_mesh_free(made);
        made = NULL;
    }
    free(x);
    free(triangles);
    return made;
}

void film_place_lines(const hk_mesh *mesh, const double *from, double *to)
{
    int vertices = hk_mesh_vertex_count(mesh);
    double low[3], high[3], size = 0;
    memcpy(to, from, 3 * sizeof(double) * (size_t)vertices);
    for (int i = 0; i < 3; ++i) {
        low[i] = INFINITY, high[i] = -INFINITY;
        for (int v = 0; v < vertices; ++v) {
            low[i] = fmin(low[i], from[3 * v + i]);
            high[i] = fmax(high[i], from[3 * v + i]);
        }
        size = fmax(size, high[i] - low[i]);
    }
    const int32_t *lines = hk_mesh_lines(mesh);
    for (int k = 0; k < hk_mesh_line_count(mesh); ++k)
        film_place_prism((const double *[2]){from + 3 * (size_t)lines[2 * k],
                                             from + 3 * (size_t)lines[2 * k + 1]},
                         0.003 * size, to + 3 * (size_t)(vertices + VERTICES * k));
}

double *film_spread_lines(const hk_mesh *mesh, const double *from)
{
    size_t vertices = (size_t)hk_mesh_vertex_count(mesh);
    size_t more = VERTICES * (size_t)hk_mesh_line_count(mesh);
    double *to = cli_realloc(NULL, vertices + more, sizeof(double));
    memcpy(to, from, sizeof(double) * vertices);
    for (size_t k = 0; k < more; ++k)
        to[vertices + k] = from[hk_mesh_lines(mesh)[2 * (k / VERTICES) + k % VERTICES / SIDES]];
    return to;
}
