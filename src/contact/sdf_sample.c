// Distances and winding numbers at the nodes of a signed distance field.
//
// A winding number costs more than a distance, and is hardly ever needed: between two nodes that
// are farther from the surface, together, than from each other, there is no surface (the balls
// around them that it does not enter cover the way), so the number changes at most as the rim makes
// it (rim.h). Nodes inherit that of a neighbour while it stays on the same side of the level.
#include <math.h>

#include "contact/sdf_builder.h"

static const double pi = 3.14159265358979323846;

double hk_sdf_distance(const hk_sdf_builder *b, const hk_winding_tree *tree, const double p[3],
                       double within, hk_nearest *hint)
{
    if (b->function) return fabs(b->function(b->context, p));
    hk_nearest found = hk_winding_nearest(tree, p, within, hint);
    if (found.triangle >= 0) *hint = found;
    return found.distance;
}

// Of a closed surface they are integers.
static hk_winding turned(const hk_sdf_builder *b, hk_winding w)
{
    double number = b->sense * w.number;
    return (hk_winding){b->rim ? number : nearbyint(number) + 0.0, w.error};
}

hk_winding hk_sdf_winding(const hk_sdf_builder *b, const double p[3], double tolerance)
{
    if (b->function) return (hk_winding){b->function(b->context, p) < 0, 0};
    return turned(b, hk_winding_number(b->surface, p, tolerance));
}

static hk_winding winding_beside(const hk_sdf_builder *b, const double p[3])
{
    if (b->function) return (hk_winding){b->function(b->context, p) < 0, 0};
    return turned(b, hk_winding_beside(b->surface, p, b->sense * HK_SDF_LEVEL, HK_SDF_WINDING));
}

// ---------------------------------------------------------------- inheriting

// How much winding numbers change between neighbouring nodes around p, at most: all within `radius`
// of it, `step` apart.
static double most_change(const hk_sdf_builder *b, const double p[3], double radius, double step)
{
    if (!b->rim) return 0;
    double nearest = hk_winding_nearest(b->rim, p, INFINITY, NULL).distance - radius;
    return nearest > 0 ? step * b->rim_length / (4 * pi * nearest * nearest) : INFINITY;
}

typedef struct line_of_nodes {
    const double *distance;
    float *winding;
    double *margin;  // how far the number is from the level, less what is not known of it
    double step;     // m between neighbours
    double change;   // of the number from one to the next
} line_of_nodes;

// Takes the number of node `from` over to node `to`, if that is certain to be right and better than
// what is there.
static void inherit(const line_of_nodes *line, size_t from, size_t to)
{
    double left = line->margin[from] - line->change;
    // A little more than needed: rounding.
    double reach = line->distance[from] + line->distance[to];
    if (!(reach > line->step * (1 + 1e-9)) || !(left > line->margin[to])) return;
    line->margin[to] = left;
    line->winding[to] = line->winding[from];
}

// What the node has not inherited it computes.
static void find_winding(const hk_sdf_builder *b, const line_of_nodes *line, size_t node,
                         const double p[3])
{
    if (line->margin[node] > 0) return;
    hk_winding w = winding_beside(b, p);
    line->winding[node] = (float)w.number;
    // So that what is inherited is not only on the right side, but about right, too.
    const double most_drift = 0.2;
    line->margin[node] = fmin(fabs(w.number - HK_SDF_LEVEL) - w.error, most_drift);
    // Rounding to single precision must not change sides.
    if ((line->winding[node] > HK_SDF_LEVEL) != (w.number > HK_SDF_LEVEL))
        line->winding[node] = w.number > HK_SDF_LEVEL ? 0.5001F : 0.5F;
}

// ---------------------------------------------------------------- corners of bricks

// Returns how far from integers winding numbers are there.
static double sample_corner_plane(hk_sdf_builder *b, int z, double *margin)
{
    hk_sdf *s = b->sdf;
    size_t width = (size_t)s->bricks[0] + 1, first = hk_sdf_corner_at(s, 0, 0, z);
    line_of_nodes line = {s->corner + first, b->corner_winding + first, margin, HK_BRICK * s->cell,
                          0};
    hk_nearest hint = {.triangle = -1};
    double openness = 0;
    for (int y = 0; y <= s->bricks[1]; y++)
        for (int x = 0; x <= s->bricks[0]; x++) {
            double p[3];
            size_t k = (size_t)x + width * (size_t)y;
            hk_sdf_node_place(s, (int[3]){HK_BRICK * x, HK_BRICK * y, HK_BRICK * z}, p);
            s->corner[first + k] = hk_sdf_distance(b, b->surface, p, INFINITY, &hint);
            margin[k] = 0;
            if (b->rim) {  // how far from integers?
                hk_winding w = hk_sdf_winding(b, p, 0.01);
                openness = fmax(openness, fabs(w.number - nearbyint(w.number)) - w.error);
            } else {
                if (x > 0) inherit(&line, k - 1, k);
                if (y > 0) inherit(&line, k - width, k);
            }
            find_winding(b, &line, k, p);
        }
    return openness;
}

void hk_sdf_sample_corners(hk_sdf_builder *b)
{
    hk_sdf *s = b->sdf;
    size_t plane = ((size_t)s->bricks[0] + 1) * ((size_t)s->bricks[1] + 1);
    double openness = 0;
#pragma omp parallel for schedule(dynamic) num_threads(b->threads) reduction(max : openness)
    for (int z = 0; z <= s->bricks[2]; z++) {
        double here = sample_corner_plane(b, z, b->corner_margin + plane * (size_t)z);
        openness = fmax(openness, here);
    }
    b->openness = openness;
}

// ---------------------------------------------------------------- nodes of bricks

static bool has(const uint64_t *bits, int node)
{
    return bits[node >> 6] >> (node & 63) & 1;
}

static void sample_brick(const hk_sdf_builder *b, hk_sdf_samples *samples)
{
    const hk_sdf *s = b->sdf;
    double margin[HK_BRICK_NODES], p[3], half = HK_BRICK * s->cell / 2;
    for (int i = 0; i < 3; i++) p[i] = s->origin[i] + HK_BRICK * s->cell * samples->at[i] + half;
    line_of_nodes line = {samples->distance, samples->winding, margin, s->cell,
                          most_change(b, p, sqrt(3) * half, s->cell)};
    hk_nearest hint = {.triangle = -1};
    for (int k = 0; k < HK_BRICK_NODES; k++) {
        margin[k] = -1;
        if (!has(samples->needed, k)) continue;
        margin[k] = 0;  // nothing is known of what was done before: none inherit from it
        if (has(samples->done, k)) continue;
        int local[3] = {k & 7, k >> 3 & 7, k >> 6}, node[3];
        for (int i = 0; i < 3; i++) node[i] = HK_BRICK * samples->at[i] + local[i];
        hk_sdf_node_place(s, node, p);
        samples->distance[k] = hk_sdf_distance(b, b->surface, p, INFINITY, &hint);
        for (int i = 0, step = 1; i < 3; i++, step *= HK_BRICK)
            if (local[i] > 0) inherit(&line, (size_t)(k - step), (size_t)k);
        find_winding(b, &line, (size_t)k, p);
    }
    memcpy(samples->done, samples->needed, sizeof samples->done);
}

// The bits of the nodes that a brick needs of the neighbour at `side` (−1, 0, 1 along each axis):
// of the lower one the last two layers, of the upper one the first three. (Coefficients reach one
// node beyond the brick's own 0 to 8, and are made from samples one node farther out.)
static void need(hk_sdf_samples *samples, const int side[3])
{
    int from[3], to[3];
    for (int i = 0; i < 3; i++) {
        from[i] = side[i] < 0 ? HK_BRICK - 2 : 0;
        to[i] = side[i] > 0 ? 3 : HK_BRICK;
    }
    uint64_t row = ((uint64_t)1 << to[0]) - ((uint64_t)1 << from[0]), plane = 0;
    for (int y = from[1]; y < to[1]; y++) plane |= row << (8 * y);
    for (int z = from[2]; z < to[2]; z++) samples->needed[z] |= plane;
}

static hk_status add_samples(hk_sdf_builder *b, const int at[3], int32_t *number)
{
    HK_TRY(hk_reserve((void **)&b->samples, b->sample_count, sizeof *b->samples,
                      &b->sample_capacity, b->sample_count + 1));
    hk_sdf_samples *samples = &b->samples[b->sample_count];
    memset(samples, 0, sizeof *samples);
    memcpy(samples->at, at, sizeof samples->at);
    *number = (int32_t)b->sample_count++;
    return HK_OK;
}

static hk_status need_around(hk_sdf_builder *b, size_t brick)
{
    const int *n = b->sdf->bricks;
    int x = (int)(brick % (size_t)n[0]), y = (int)(brick / (size_t)n[0] % (size_t)n[1]);
    int z = (int)(brick / (size_t)n[0] / (size_t)n[1]);
    for (int k = 0; k < 27; k++) {
        int side[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
        int at[3] = {x + side[0], y + side[1], z + side[2]};
        int32_t *number = &b->sample_of[hk_sdf_brick_at(b->sdf, at[0], at[1], at[2])];
        if (*number < 0) HK_TRY(add_samples(b, at, number));
        need(&b->samples[*number], side);
    }
    return HK_OK;
}

hk_status hk_sdf_sample_fresh(hk_sdf_builder *b)
{
    for (size_t k = 0; k < b->fresh_count; k++) HK_TRY(need_around(b, (size_t)b->fresh[k]));
#pragma omp parallel for schedule(dynamic) num_threads(b->threads)
    for (size_t k = 0; k < b->sample_count; k++)
        if (memcmp(b->samples[k].needed, b->samples[k].done, sizeof b->samples[k].done) != 0)
            sample_brick(b, &b->samples[k]);
    return HK_OK;
}

// How far from integers winding numbers are, at the node of each brick that is nearest to the
// surface and not in it: nothing of a hole is hidden there.
void hk_sdf_find_openness(hk_sdf_builder *b)
{
    double openness = b->openness;
    if (!b->rim) return;
#pragma omp parallel for schedule(dynamic) num_threads(b->threads) reduction(max : openness)
    for (size_t k = 0; k < b->sample_count; k++) {
        const hk_sdf_samples *samples = &b->samples[k];
        int best = -1;
        for (int n = 0; n < HK_BRICK_NODES; n++)
            if (has(samples->done, n) && samples->distance[n] > b->sdf->cell / 8 &&
                (best < 0 || samples->distance[n] < samples->distance[best]))
                best = n;
        if (best < 0) continue;
        int node[3] = {best & 7, best >> 3 & 7, best >> 6};
        double p[3];
        for (int i = 0; i < 3; i++) node[i] += HK_BRICK * samples->at[i];
        hk_sdf_node_place(b->sdf, node, p);
        hk_winding w = hk_sdf_winding(b, p, 0.01);
        openness = fmax(openness, fabs(w.number - nearbyint(w.number)) - w.error);
    }
    b->openness = openness;
}

// ---------------------------------------------------------------- again

static double distance_again(const hk_sdf_builder *b, const double p[3], double before,
                             hk_nearest hints[2])
{
    double d = b->outer ? hk_sdf_distance(b, b->outer, p, INFINITY, &hints[0]) : before;
    return b->lid ? fmin(d, hk_sdf_distance(b, b->lid, p, d, &hints[1])) : d;
}

void hk_sdf_sample_again(hk_sdf_builder *b)
{
    hk_sdf *s = b->sdf;
#pragma omp parallel for schedule(dynamic) num_threads(b->threads)
    for (size_t k = 0; k < b->sample_count; k++) {
        hk_sdf_samples *samples = &b->samples[k];
        hk_nearest hints[2] = {{.triangle = -1}, {.triangle = -1}};
        for (int n = 0; n < HK_BRICK_NODES; n++) {
            if (!has(samples->done, n)) continue;
            int node[3] = {n & 7, n >> 3 & 7, n >> 6};
            double p[3];
            for (int i = 0; i < 3; i++) node[i] += HK_BRICK * samples->at[i];
            hk_sdf_node_place(s, node, p);
            samples->distance[n] = distance_again(b, p, samples->distance[n], hints);
        }
    }
#pragma omp parallel for schedule(dynamic) num_threads(b->threads)
    for (int z = 0; z <= s->bricks[2]; z++) {
        hk_nearest hints[2] = {{.triangle = -1}, {.triangle = -1}};
        for (int y = 0; y <= s->bricks[1]; y++)
            for (int x = 0; x <= s->bricks[0]; x++) {
                double p[3], *d = &s->corner[hk_sdf_corner_at(s, x, y, z)];
                hk_sdf_node_place(s, (int[3]){HK_BRICK * x, HK_BRICK * y, HK_BRICK * z}, p);
                *d = distance_again(b, p, *d, hints);
            }
    }
}
