// Parts of a surface that have inside on both sides, as where two bodies overlap: they are no
// border of the inside, and do not count for distances. (Parts with outside on both sides, as a
// sheet, do: one can run into them.)
//
// A triangle may be such a part here and none there. It is halved until its pieces are as small as
// a cell, and a piece is judged by its middle.
#include <limits.h>
#include <math.h>

#include "contact/sdf_builder.h"

// There is a sheet inside only if there are points around which the surface winds 1½ times, or more
// (numbers that were inherited may be off by 0.2).
static bool may_have_inner(const hk_sdf_builder *b)
{
    const float enough = 1.25F;
    size_t corners = hk_sdf_corner_at(b->sdf, 0, 0, b->sdf->bricks[2] + 1);
    for (size_t k = 0; k < corners; k++)
        if (b->corner_winding[k] > enough) return true;
    for (size_t k = 0; k < b->sample_count; k++)
        for (int n = 0; n < HK_BRICK_NODES; n++)
            if (b->samples[k].done[n >> 6] >> (n & 63) & 1 && b->samples[k].winding[n] > enough)
                return true;
    return false;
}

static void minus(const double a[3], const double b[3], double to[3])
{
    for (int i = 0; i < 3; i++) to[i] = a[i] - b[i];
}

static double square(const double a[3])
{
    return a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
}

// Both sides of the middle, a hundred-thousandth of a cell away from it.
static bool is_inner(const hk_sdf_builder *b, const double t[9])
{
    double e[3], f[3], n[3], p[3], q[3];
    minus(t + 3, t, e);
    minus(t + 6, t, f);
    n[0] = e[1] * f[2] - e[2] * f[1];
    n[1] = e[2] * f[0] - e[0] * f[2];
    n[2] = e[0] * f[1] - e[1] * f[0];
    double length = sqrt(square(n)), step = 1e-5 * b->sdf->cell;
    if (!(length > 0)) return false;
    for (int i = 0; i < 3; i++) {
        double middle = (t[i] + t[3 + i] + t[6 + i]) / 3;
        p[i] = middle + step / length * n[i];
        q[i] = middle - step / length * n[i];
    }
    double level = b->sense * HK_SDF_LEVEL;
    double one = b->sense * hk_winding_beside(b->surface, p, level, HK_SDF_WINDING).number;
    if (!(one > HK_SDF_LEVEL)) return false;
    double other = b->sense * hk_winding_beside(b->surface, q, level, HK_SDF_WINDING).number;
    return other > HK_SDF_LEVEL;
}

// Cuts a triangle through the middle of its longest edge.
static double halve(const double t[9], double parts[2][9])
{
    double longest = -1;
    int at = 0;
    for (int k = 0; k < 3; k++) {
        double e[3];
        minus(t + 3 * ((k + 1) % 3), t + 3 * k, e);
        double here = square(e);
        if (here > longest) {
            longest = here;
            at = k;
        }
    }
    int next = (at + 1) % 3;
    memcpy(parts[0], t, 9 * sizeof(double));
    memcpy(parts[1], t, 9 * sizeof(double));
    for (int i = 0; i < 3; i++)
        parts[0][3 * next + i] = parts[1][3 * at + i] = (t[3 * at + i] + t[3 * next + i]) / 2;
    return longest;
}

enum { DEEPEST = 30 };

// Adds what is outer of a triangle, in as few pieces as may be. *whole: that is all of it, and it
// was not added.
static hk_status sort_out(const hk_sdf_builder *b, const double t[9], int depth,
                          hk_sdf_triangles *list, bool *whole)
{
    double parts[2][9], longest = halve(t, parts);
    if (depth == DEEPEST || longest <= b->sdf->cell * b->sdf->cell) {
        *whole = !is_inner(b, t);
        return HK_OK;
    }
    bool kept[2];
    for (int k = 0; k < 2; k++) HK_TRY(sort_out(b, parts[k], depth + 1, list, &kept[k]));
    *whole = kept[0] && kept[1];
    for (int k = 0; k < 2 && !*whole; k++)
        if (kept[k]) HK_TRY(hk_sdf_add_triangle(list, parts[k]));
    return HK_OK;
}

// ---------------------------------------------------------------- in parallel

// Triangles in runs of fixed length, each with a list of its own: the same order for any number of
// threads.
enum { RUN = 256 };
typedef struct run {
    hk_sdf_triangles outer;
    int64_t inner;  // triangles that are not outer as a whole
    hk_status status;
} run;

static hk_status sort_out_run(const hk_sdf_builder *b, int first, int end, run *r)
{
    for (int t = first; t < end; t++) {
        double corners[9];
        bool whole;
        for (int k = 0; k < 3; k++)
            memcpy(corners + 3 * k,
                   b->positions + 3 * (size_t)b->triangles[3 * (size_t)t + (size_t)k],
                   3 * sizeof(double));
        HK_TRY(sort_out(b, corners, 0, &r->outer, &whole));
        if (whole) HK_TRY(hk_sdf_add_triangle(&r->outer, corners));
        r->inner += !whole;
    }
    return HK_OK;
}

static hk_status join(hk_sdf_builder *b, const run *runs, int count)
{
    hk_sdf_triangles all = {0};
    int64_t inner = 0;
    hk_status status = HK_OK;
    for (int k = 0; k < count; k++) {
        HK_TRY(runs[k].status);
        inner += runs[k].inner;
        all.count += runs[k].outer.count;
    }
    if (inner == 0 || all.count == 0) return HK_OK;
    all.corners = HK_ARRAY(double, 9 * all.count);
    if (!all.corners) return HK_NO_MEMORY;
    double *to = all.corners;
    for (int k = 0; k < count; k++) {
        size_t numbers = 9 * runs[k].outer.count;
        if (numbers) memcpy(to, runs[k].outer.corners, numbers * sizeof(double));
        to += numbers;
    }
    status = hk_sdf_triangle_tree(&all, b->threads, &b->outer);
    hk_free(all.corners);
    b->sdf->report.inner_triangles = inner;
    return status;
}

hk_status hk_sdf_leave_out_inner(hk_sdf_builder *b)
{
    b->sdf->report.inner_triangles = 0;
    if (b->function || !may_have_inner(b)) return HK_OK;
    int count = (b->triangle_count - 1) / RUN + 1;
    run *runs = HK_ZEROS(run, count);
    if (!runs) return HK_NO_MEMORY;
#pragma omp parallel for schedule(dynamic) num_threads(b->threads)
    for (int k = 0; k < count; k++)
        runs[k].status =
            sort_out_run(b, k * RUN, hk_min_int((k + 1) * RUN, b->triangle_count), &runs[k]);
    hk_status status = join(b, runs, count);
    // The message of a thread stays with it.
    if (status == HK_NO_MEMORY) hk_no_memory();
    for (int k = 0; k < count; k++) hk_free(runs[k].outer.corners);
    hk_free(runs);
    return status;
}
