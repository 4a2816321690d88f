// Shadows by depth maps: one for the key light, a few dozen small ones for the light of the sky.
#include "light.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

sphere sphere_around(const float *positions, int count)
{
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < count; ++i)
        for (int k = 0; k < 3; ++k) {
            low[k] = fminf(low[k], positions[3 * i + k]);
            high[k] = fmaxf(high[k], positions[3 * i + k]);
        }
    sphere s = {.radius = 1};
    if (count == 0) return s;
    float square = 0;
    for (int k = 0; k < 3; ++k) {
        s.center[k] = 0.5f * (low[k] + high[k]);
        square += (high[k] - low[k]) * (high[k] - low[k]);
    }
    s.radius = fmaxf(0.5f * sqrtf(square), 1e-4f);
    s.lowest = low[1];
    return s;
}

depth_map depth_map_new(int size)
{
    depth_map map = {.size = size};
    map.depth = cli_realloc(NULL, (size_t)size * (size_t)size, sizeof(float));
    return map;
}

void depth_map_free(depth_map *map)
{
    free(map->depth);
    map->depth = NULL;
}

static float dot3(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// Two unit axes across a unit direction (T. Duff et al., "Building an Orthonormal Basis,
// Revisited", 2017).
static void axes_across(float axis[3][3])
{
    const float *n = axis[2];
    float sign = copysignf(1, n[2]), a = -1 / (sign + n[2]), b = n[0] * n[1] * a;
    memcpy(axis[0], (float[]){1 + sign * n[0] * n[0] * a, sign * b, -sign * n[0]}, 12);
    memcpy(axis[1], (float[]){b, sign + n[1] * n[1] * a, -n[1]}, 12);
}

static void to_map(const depth_map *map, const float point[3], float at[3])
{
    float d[3] = {point[0] - map->center[0], point[1] - map->center[1], point[2] - map->center[2]};
    float middle = 0.5f * (float)map->size;
    at[0] = middle + map->scale * dot3(map->axis[0], d);
    at[1] = middle + map->scale * dot3(map->axis[1], d);
    at[2] = dot3(map->axis[2], d);
}

void depth_map_draw(depth_map *map, const layer *l, const sphere *bounds, const float direction[3])
{
    memcpy(map->axis[2], direction, sizeof map->axis[2]);
    axes_across(map->axis);
    memcpy(map->center, bounds->center, sizeof map->center);
    map->scale = ((float)map->size / 2 - 2) / bounds->radius;
    for (int i = 0; i < map->size * map->size; ++i) map->depth[i] = -INFINITY;
    const shape *s = l->shape;
    float *at = cli_realloc(NULL, 3 * (size_t)s->vertex_count, sizeof(float));
    for (int i = 0; i < s->vertex_count; ++i) to_map(map, l->positions + 3 * i, at + 3 * i);
    raster_target target = {.width = map->size, .end_row = map->size, .depth = map->depth};
    for (int t = 0; t < s->triangle_count; ++t) {
        const int32_t *v = s->triangles + 3 * t;
        raster_triangle(&target, at + 3 * v[0], at + 3 * v[1], at + 3 * v[2], t);
    }
    free(at);
}

// The share of the four texels around (x, y), by their nearness, that lie below `depth`.
static float lit_share(const depth_map *map, float x, float y, float depth)
{
    x -= 0.5f, y -= 0.5f;
    if (!(x >= 0 && y >= 0 && x < (float)(map->size - 1) && y < (float)(map->size - 1))) return 1;
    int i = (int)x, j = (int)y;
    float u = x - (float)i, v = y - (float)j;
    const float *row = map->depth + (size_t)j * (size_t)map->size + i, *next = row + map->size;
    float low = (1 - u) * (float)(row[0] < depth) + u * (float)(row[1] < depth);
    float high = (1 - u) * (float)(next[0] < depth) + u * (float)(next[1] < depth);
    return (1 - v) * low + v * high;
}

float depth_map_light(const depth_map *map, const float point[3], float spread)
{
    // A sunflower: even over the disc.
    enum { TAPS = 12 };
    static const float disc[TAPS][2] = {
        {0.2041f, 0.0000f},   {-0.2607f, 0.2388f}, {0.0399f, -0.4547f}, {0.3286f, 0.4286f},
        {-0.6030f, -0.1067f}, {0.5712f, -0.3634f}, {-0.1911f, 0.7107f}, {-0.3644f, -0.7016f},
        {0.7906f, 0.2887f},   {-0.8224f, 0.3395f}, {0.3965f, -0.8472f}, {0.2930f, 0.9341f},
    };
    float at[3], sum = 0;
    to_map(map, point, at);
    for (int i = 0; i < TAPS; ++i)
        sum += lit_share(map, at[0] + spread * disc[i][0], at[1] + spread * disc[i][1], at[2]);
    return sum / TAPS;
}

// ---------------------------------------------------------------- the sky

enum { SKY_DIRECTIONS = 64, SKY_MAP = 160 };

// Directions spread evenly over the sphere, on a Fibonacci spiral.
static void sky_direction(int i, float direction[3])
{
    float y = 1 - (2 * (float)i + 1) / SKY_DIRECTIONS, r = sqrtf(1 - y * y);
    float turn = 2.39996323f * (float)i;
    direction[0] = r * cosf(turn), direction[1] = y, direction[2] = r * sinf(turn);
}

void sky_light(const layer *l, const sphere *bounds, const float *points, const float *normals,
               int count, float *open)
{
    depth_map map = depth_map_new(SKY_MAP);
    float *weights = cli_realloc(NULL, (size_t)count, sizeof(float));
    for (int i = 0; i < count; ++i) open[i] = weights[i] = 0;
    for (int k = 0; k < SKY_DIRECTIONS; ++k) {
        float direction[3];
        sky_direction(k, direction);
        depth_map_draw(&map, l, bounds, direction);
        float texel = 1 / map.scale;
        for (int i = 0; i < count; ++i) {
            const float *n = normals + 3 * i, *p = points + 3 * i;
            float cosine = dot3(n, direction);
            if (cosine <= 0.2f) continue;  // grazing rays tell little and leave streaks
            // Off the surface, so that it does not shade itself; farther where rays graze it.
            float away = (1.2f + 1.0f / (cosine + 0.25f)) * texel, at[3];
            float moved[3] = {p[0] + away * n[0], p[1] + away * n[1], p[2] + away * n[2]};
            to_map(&map, moved, at);
            open[i] += cosine * cosine * lit_share(&map, at[0], at[1], at[2]);
            weights[i] += cosine * cosine;
        }
    }
    for (int i = 0; i < count; ++i) open[i] = weights[i] > 0 ? open[i] / weights[i] : 1;
    free(weights);
    depth_map_free(&map);
}

// ---------------------------------------------------------------- the ground

// Averages with the neighbours along both axes, which hides the single directions of the sky.
static void soften(float *values)
{
    enum { N = GROUND_SIZE };
    float *copy = cli_realloc(NULL, N * N, sizeof(float));
    for (int stride = 1; stride <= N; stride += N - 1) {
        memcpy(copy, values, N * N * sizeof(float));
        for (int i = 0; i < N; ++i)
            for (int j = 1; j + 1 < N; ++j) {
                int at = stride == 1 ? i * N + j : j * N + i;
                values[at] =
                    0.25f * copy[at - stride] + 0.5f * copy[at] + 0.25f * copy[at + stride];
            }
    }
    free(copy);
}

ground ground_new(const sphere *bounds, float height)
{
    float reach = 2.5f * bounds->radius + fmaxf(bounds->center[1] - height, 0);
    ground g = {.height = height, .cell = 2 * reach / (GROUND_SIZE - 1)};
    g.corner[0] = bounds->center[0] - reach, g.corner[1] = bounds->center[2] - reach;
    // The rays of neighbouring directions, about 0.45 apart, must not leave shadows of their own:
    // the higher the body, the softer. n passes blur by sqrt(n / 2) cells.
    float gap = fmaxf(bounds->lowest - height, 0);
    float cells = 0.2f * (gap + 0.4f * (bounds->center[1] - bounds->lowest)) / g.cell;
    g.blur = 8 + (int)(2 * fminf(cells, 10) * fminf(cells, 10));
    g.light = cli_realloc(NULL, GROUND_SIZE * GROUND_SIZE, sizeof(float));
    return g;
}

void ground_points(const ground *g, float *points, float *normals)
{
    enum { N = GROUND_SIZE };
    for (int i = 0; i < N * N; ++i) {
        float *p = points + 3 * i, *n = normals + 3 * i;
        p[0] = g->corner[0] + g->cell * (float)(i % N), p[1] = g->height;
        p[2] = g->corner[1] + g->cell * (float)(i / N);
        n[0] = n[2] = 0, n[1] = 1;
    }
}

void ground_take_light(ground *g, const float *light)
{
    enum { N = GROUND_SIZE };
    memcpy(g->light, light, N * N * sizeof(float));
    for (int pass = 0; pass < g->blur; ++pass) soften(g->light);
    // Fades out towards the border of the square.
    for (int i = 0; i < N * N; ++i) {
        float u = (float)(2 * (i % N) - N + 1) / (N - 1),
              v = (float)(2 * (i / N) - N + 1) / (N - 1);
        float fade = fminf(fmaxf(2 - 2 * sqrtf(u * u + v * v), 0), 1);
        g->light[i] = 1 - fade * (1 - g->light[i]);
    }
}

void ground_free(ground *g)
{
    free(g->light);
    g->light = NULL;
}

float ground_light(const ground *g, float x, float z)
{
    enum { N = GROUND_SIZE };
    float u = (x - g->corner[0]) / g->cell, v = (z - g->corner[1]) / g->cell;
    if (!(u >= 0 && v >= 0 && u < N - 1 && v < N - 1)) return 1;
    int i = (int)u, j = (int)v;
    u -= (float)i, v -= (float)j;
    const float *row = g->light + j * N + i, *next = row + N;
    return (1 - v) * ((1 - u) * row[0] + u * row[1]) + v * ((1 - u) * next[0] + u * next[1]);
}
