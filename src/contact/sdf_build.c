// Builds a signed distance field: the grid, the bricks that the band touches, and their splines.
#include <limits.h>
#include <math.h>

#include "contact/sdf_builder.h"

// ---------------------------------------------------------------- the grid

// More bricks than that would take more memory for what is not there than for what is.
enum { MOST_BRICKS = 1 << 24 };
// More of them with splines would take 12 GB while they are made.
enum { MOST_SPLINES = 1 << 20 };

// `room` is what the grid has around the surface beside the band, m. A brick at the border is never
// touched by the band: it begins three cells away.
static hk_status lay_out(hk_sdf *s, const double low[3], const double high[3], double room)
{
    double count = 1, edge = HK_BRICK * s->cell;
    for (int i = 0; i < 3; i++) {
        double margin = s->band + room + edge + 3 * s->cell;
        double bricks = ceil((high[i] - low[i] + 2 * margin) / edge);
        count *= bricks;
        if (!(count <= MOST_BRICKS))
            return hk_fail(HK_BAD_INPUT,
                           "a signed distance field with cells of %g m around a surface of %g × "
                           "%g × %g m, band %g m, would have more than %d bricks of 8 × 8 × 8 "
                           "cells: take larger cells or a narrower band",
                           s->cell, high[0] - low[0], high[1] - low[1], high[2] - low[2], s->band,
                           MOST_BRICKS);
        s->bricks[i] = (int)bricks;
        s->origin[i] = low[i] / 2 + high[i] / 2 - bricks * edge / 2;
        s->low[i] = low[i];
        s->high[i] = high[i];
    }
    return HK_OK;
}

static void forget(hk_sdf_builder *b)
{
    hk_sdf *s = b->sdf;
    hk_free(s->brick);
    hk_free(s->corner);
    hk_free(b->active);
    hk_free(b->fresh);
    hk_free(b->sample_of);
    hk_free(b->samples);
    hk_free(b->corner_winding);
    hk_free(b->corner_margin);
    hk_free(b->lids.corners);
    hk_winding_tree_free(b->outer);
    hk_winding_tree_free(b->lid);
    s->brick = NULL;
    s->corner = b->corner_margin = NULL;
    b->active = NULL;
    b->fresh = b->sample_of = NULL;
    b->samples = NULL;
    b->corner_winding = NULL;
    b->outer = b->lid = NULL;
    b->active_count = b->fresh_count = b->fresh_capacity = b->sample_count = b->sample_capacity = 0;
    b->lids = (hk_sdf_triangles){0};
    b->too_small = false;
}

static hk_status allocate(hk_sdf_builder *b)
{
    hk_sdf *s = b->sdf;
    size_t bricks = hk_sdf_brick_at(s, 0, 0, s->bricks[2]);
    size_t corners = hk_sdf_corner_at(s, 0, 0, s->bricks[2] + 1);
    s->brick = HK_ARRAY(int32_t, bricks);
    s->corner = HK_ARRAY(double, corners);
    b->active = HK_ZEROS(uint8_t, bricks);
    b->sample_of = HK_ARRAY(int32_t, bricks);
    b->corner_winding = HK_ARRAY(float, corners);
    b->corner_margin = HK_ARRAY(double, corners);
    if (!s->brick || !s->corner || !b->active || !b->sample_of || !b->corner_winding ||
        !b->corner_margin)
        return HK_NO_MEMORY;
    memset(b->sample_of, 0xff, bricks * sizeof *b->sample_of);  // −1
    return HK_OK;
}

// ---------------------------------------------------------------- bricks that the band touches

hk_status hk_sdf_activate(hk_sdf_builder *b, int x, int y, int z)
{
    const int *n = b->sdf->bricks;
    if (x <= 0 || y <= 0 || z <= 0 || x >= n[0] - 1 || y >= n[1] - 1 || z >= n[2] - 1) {
        b->too_small = true;
        return HK_OK;
    }
    size_t brick = hk_sdf_brick_at(b->sdf, x, y, z);
    if (b->active[brick]) return HK_OK;
    if (b->active_count == MOST_SPLINES)
        return hk_fail(HK_BAD_INPUT,
                       "a signed distance field with cells of %g m and a band of %g m would have "
                       "more than %d bricks of 8 × 8 × 8 cells in the band: take larger cells or a "
                       "narrower band",
                       b->sdf->cell, b->sdf->band, MOST_SPLINES);
    b->active_count++;
    HK_TRY(hk_reserve((void **)&b->fresh, b->fresh_count, sizeof *b->fresh, &b->fresh_capacity,
                      b->fresh_count + 1));
    b->fresh[b->fresh_count++] = (int32_t)brick;
    b->active[brick] = 1;
    return HK_OK;
}

// Whether the box around p comes within the band; decided on boxes of two cells, so a brick may be
// taken that is up to √3 cells beyond it.
static bool touches(const hk_sdf_builder *b, const hk_winding_tree *tree, const double p[3],
                    double half, hk_nearest *hint)
{
    const hk_sdf *s = b->sdf;
    double reach = s->band + sqrt(3) * half;
    double d = hk_sdf_distance(b, tree, p, reach, hint);
    if (d > reach) return false;
    if (d <= s->band || half <= s->cell) return true;
    for (int k = 0; k < 8; k++) {
        double q[3];
        for (int i = 0; i < 3; i++) q[i] = p[i] + (k >> i & 1 ? half : -half) / 2;
        if (touches(b, tree, q, half / 2, hint)) return true;
    }
    return false;
}

hk_status hk_sdf_activate_near(hk_sdf_builder *b, const hk_winding_tree *tree)
{
    hk_sdf *s = b->sdf;
    const int *n = s->bricks;
    double half = HK_BRICK * s->cell / 2;
    // In s->brick for now: what is to be activated.
#pragma omp parallel for schedule(dynamic) num_threads(b->threads)
    for (int z = 0; z < n[2]; z++) {
        hk_nearest hint = {.triangle = -1};
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++) {
                size_t brick = hk_sdf_brick_at(s, x, y, z);
                double p[3];
                hk_sdf_node_place(s, (int[3]){HK_BRICK * x + 4, HK_BRICK * y + 4, HK_BRICK * z + 4},
                                  p);
                s->brick[brick] = !b->active[brick] && touches(b, tree, p, half, &hint);
            }
    }
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++)
                if (s->brick[hk_sdf_brick_at(s, x, y, z)]) HK_TRY(hk_sdf_activate(b, x, y, z));
    return HK_OK;
}

static bool corner_is_inside(const hk_sdf_builder *b, int x, int y, int z)
{
    return b->corner_winding[hk_sdf_corner_at(b->sdf, x, y, z)] > HK_SDF_LEVEL;
}

// Bricks whose corners are on different sides: a lid passes through them.
static hk_status activate_mixed(hk_sdf_builder *b)
{
    const int *n = b->sdf->bricks;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++) {
                int inside = 0;
                for (int k = 0; k < 8; k++)
                    inside += corner_is_inside(b, x + (k & 1), y + (k >> 1 & 1), z + (k >> 2));
                if (inside % 8 != 0) HK_TRY(hk_sdf_activate(b, x, y, z));
                bool border =
                    x == 0 || y == 0 || z == 0 || x == n[0] - 1 || y == n[1] - 1 || z == n[2] - 1;
                if (border && inside) b->too_small = true;
            }
    return HK_OK;
}

// ---------------------------------------------------------------- triangles of our own

hk_status hk_sdf_add_triangle(hk_sdf_triangles *list, const double corners[9])
{
    HK_TRY(hk_reserve((void **)&list->corners, list->count, 9 * sizeof(double), &list->capacity,
                      list->count + 1));
    memcpy(list->corners + 9 * list->count++, corners, 9 * sizeof(double));
    return HK_OK;
}

hk_status hk_sdf_triangle_tree(const hk_sdf_triangles *list, int threads, hk_winding_tree **tree)
{
    if (list->count > INT_MAX / 3)
        return hk_fail(HK_UNSUPPORTED, "%zu triangles are too many to be numbered", list->count);
    int32_t *numbers = HK_ARRAY(int32_t, 3 * list->count);
    if (!numbers) return HK_NO_MEMORY;
    for (size_t k = 0; k < 3 * list->count; k++) numbers[k] = (int32_t)k;
    hk_status status = hk_winding_tree_create(3 * (int)list->count, list->corners, (int)list->count,
                                              numbers, threads, tree);
    hk_free(numbers);
    return status;
}

// ---------------------------------------------------------------- splines

enum { SAMPLES = HK_SPLINE_WIDTH + 2 };  // along an edge, from node −2 on

static void gather(const hk_sdf_builder *b, const int at[3], double *values)
{
    for (int z = 0; z < SAMPLES; z++)
        for (int y = 0; y < SAMPLES; y++)
            for (int x = 0; x < SAMPLES; x++) {
                int node[3] = {HK_BRICK * at[0] + x - 2, HK_BRICK * at[1] + y - 2,
                               HK_BRICK * at[2] + z - 2};
                int k;
                const hk_sdf_samples *samples = hk_sdf_sample_at(b, node, &k);
                bool inside = samples->winding[k] > HK_SDF_LEVEL;
                *values++ = inside ? -samples->distance[k] : samples->distance[k];
            }
}

// Along one axis, `count` coefficients from count + 2 samples `stride` apart. This
// quasi-interpolant is exact for cubic polynomials (so of order 4) and local: a kink of the
// distance, at an edge or where two places are as near, is felt two cells away and no farther.
static void filter(const double *from, double *to, int count, int stride)
{
    for (int k = 0; k < count; k++) {
        double middle = from[(k + 1) * stride], sides = from[k * stride] + from[(k + 2) * stride];
        to[k * stride] = (8 * middle - sides) / 6;
    }
}

// In place: an entry is written when it has been read for the last time.
static void find_coefficients(double *values, float *coefficients)
{
    enum { N = SAMPLES, W = HK_SPLINE_WIDTH };
    double line[N * N * N];
    for (int z = 0; z < N; z++)
        for (int y = 0; y < N; y++) filter(values + N * (y + N * z), line + N * (y + N * z), W, 1);
    for (int z = 0; z < N; z++)
        for (int x = 0; x < W; x++) filter(line + x + N * N * z, values + x + N * N * z, W, N);
    for (int y = 0; y < W; y++)
        for (int x = 0; x < W; x++) filter(values + x + N * y, line + x + N * y, W, N * N);
    for (int z = 0; z < W; z++)
        for (int y = 0; y < W; y++)
            for (int x = 0; x < W; x++) *coefficients++ = (float)line[x + N * (y + N * z)];
}

static hk_status make_splines(hk_sdf_builder *b)
{
    hk_sdf *s = b->sdf;
    size_t bricks = hk_sdf_brick_at(s, 0, 0, s->bricks[2]);
    int32_t count = 0;
    for (size_t k = 0; k < bricks; k++) s->brick[k] = b->active[k] ? count++ : -1;
    s->coefficients = HK_ARRAY(float, (size_t)count *HK_SPLINE_SIZE);
    if (!s->coefficients) return HK_NO_MEMORY;
    s->report.bricks = count;
#pragma omp parallel for schedule(dynamic, 16) num_threads(b->threads)
    for (size_t k = 0; k < bricks; k++) {
        if (s->brick[k] < 0) continue;
        double values[SAMPLES * SAMPLES * SAMPLES];
        gather(b, b->samples[b->sample_of[k]].at, values);
        find_coefficients(values, s->coefficients + (size_t)s->brick[k] * HK_SPLINE_SIZE);
    }
    return HK_OK;
}

static void note(hk_sdf_report *report, double winding, double *distance)
{
    report->least_winding = fmin(report->least_winding, winding);
    report->greatest_winding = fmax(report->greatest_winding, winding);
    if (!distance) return;
    if (winding > HK_SDF_LEVEL) *distance = -*distance;
    report->least = fmin(report->least, *distance);
    report->greatest = fmax(report->greatest, *distance);
}

// Gives the corners their signs; least and greatest of everything.
static void finish(hk_sdf_builder *b)
{
    hk_sdf *s = b->sdf;
    hk_sdf_report *r = &s->report;
    size_t corners = hk_sdf_corner_at(s, 0, 0, s->bricks[2] + 1);
    r->least = r->least_winding = INFINITY;
    r->greatest = r->greatest_winding = -INFINITY;
    for (size_t k = 0; k < corners; k++) note(r, b->corner_winding[k], &s->corner[k]);
    for (size_t k = 0; k < b->sample_count; k++)
        for (int n = 0; n < HK_BRICK_NODES; n++) {
            if (!(b->samples[k].done[n >> 6] >> (n & 63) & 1)) continue;
            double distance = b->samples[k].distance[n];
            note(r, b->samples[k].winding[n], &distance);
        }
    for (int i = 0; i < 3; i++) {
        r->cells[i] = HK_BRICK * s->bricks[i];
        r->bounds[0][i] = s->origin[i];
        r->bounds[1][i] = s->origin[i] + s->cell * r->cells[i];
    }
    r->cell = s->cell;
    r->band = s->band;
    r->openness = b->openness;
    r->lid_triangles = (int64_t)b->lids.count;
    r->bytes = (int64_t)(sizeof *s + corners * sizeof *s->corner +
                         hk_sdf_brick_at(s, 0, 0, s->bricks[2]) * sizeof *s->brick +
                         (size_t)r->bricks * HK_SPLINE_SIZE * sizeof *s->coefficients);
}

static hk_status build_once(hk_sdf_builder *b)
{
    HK_TRY(allocate(b));
    hk_sdf_sample_corners(b);
    HK_TRY(activate_mixed(b));
    if (b->too_small) return HK_OK;
    HK_TRY(hk_sdf_activate_near(b, b->surface));
    HK_TRY(hk_sdf_close_lids(b));
    if (b->too_small) return HK_OK;
    hk_sdf_find_openness(b);
    HK_TRY(hk_sdf_leave_out_inner(b));
    if (b->outer || b->lid) hk_sdf_sample_again(b);
    HK_TRY(make_splines(b));
    finish(b);
    return HK_OK;
}

// Where the surface winds around points beyond its bounds more than ½ times, the grid must grow.
// That ends: at a distance d it is at most area/(4πd²).
hk_status hk_sdf_build(hk_sdf_builder *b, const double low[3], const double high[3])
{
    double extent = fmax(high[0] - low[0], fmax(high[1] - low[1], high[2] - low[2])), room = 0;
    hk_status status;
    do {
        forget(b);
        status = lay_out(b->sdf, low, high, room);
        if (status == HK_OK) status = build_once(b);
        room += fmax(extent / 4, HK_BRICK * b->sdf->cell);
    } while (status == HK_OK && b->too_small);
    int32_t *brick = b->sdf->brick;
    double *corner = b->sdf->corner;
    b->sdf->brick = NULL;  // what is the field's own stays
    b->sdf->corner = NULL;
    forget(b);
    b->sdf->brick = brick;
    b->sdf->corner = corner;
    return status;
}
