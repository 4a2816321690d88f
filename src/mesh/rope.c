// A line of segments, straight or through points.
#include "mesh/shapes.h"

#include <math.h>

// How many segments each leg between two points has: in proportion to its length, one at least, so
// that the line has a vertex at every point; `cells` together, where that is enough.
static hk_status divide(const hk_mesh_def *def, int *segments)
{
    int legs = def->point_count - 1, left = def->cells[0];
    double total = 0, gone = 0;
    for (int k = 0; k < legs; k++) {
        const double *p = def->points + 3 * (size_t)k;
        double length = sqrt(pow(p[3] - p[0], 2) + pow(p[4] - p[1], 2) + pow(p[5] - p[2], 2));
        if (!(length > 0 && isfinite(length)))
            return hk_fail(HK_BAD_INPUT, "rope.points: %d and %d are no two places", k, k + 1);
        total += length;
    }
    for (int k = 0; k < legs; k++) {
        const double *p = def->points + 3 * (size_t)k;
        gone += sqrt(pow(p[3] - p[0], 2) + pow(p[4] - p[1], 2) + pow(p[5] - p[2], 2));
        int until = (int)lround(def->cells[0] * (gone / total));
        segments[k] = hk_max_int(1, until - (def->cells[0] - left));
        left -= segments[k];
    }
    return HK_OK;
}

static hk_status run_through(const hk_mesh_def *def, const int *segments, hk_mesh **mesh)
{
    int legs = def->point_count - 1, count = 0, at = 0;
    for (int k = 0; k < legs; k++) count += segments[k];
    HK_TRY(hk_mesh_new(count + 1, 0, 0, mesh));
    double *x = (*mesh)->positions;
    for (int k = 0; k < legs; k++)
        for (int s = 0; s < segments[k]; s++, at++)
            for (int i = 0; i < 3; i++) {
                const double *p = def->points + 3 * (size_t)k + i;
                x[3 * (size_t)at + (size_t)i] = p[0] + (p[3] - p[0]) * ((double)s / segments[k]);
            }
    memcpy(x + 3 * (size_t)at, def->points + 3 * (size_t)legs, 3 * sizeof(double));
    int32_t *lines = HK_ARRAY(int32_t, 2 * (size_t)count);
    if (!lines) return HK_NO_MEMORY;
    for (int k = 0; k < count; k++) {
        lines[2 * k] = k;
        lines[2 * k + 1] = k + 1;
    }
    hk_status status = hk_mesh_set_lines(*mesh, count, lines);
    hk_free(lines);
    return status;
}

static hk_status make(const hk_mesh_def *def, hk_mesh **mesh)
{
    hk_mesh *made = NULL;
    int *segments = HK_ARRAY(int, def->point_count);
    hk_status status = segments ? divide(def, segments) : HK_NO_MEMORY;
    if (status == HK_OK) status = run_through(def, segments, &made);
    hk_free(segments);
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

hk_status hk_make_rope(const hk_mesh_def *def, hk_mesh **mesh)
{
    hk_mesh_def line = *def;
    double ends[6] = {0, 0, 0, def->length, 0, 0};
    HK_TRY(hk_check_at_least_one("rope.cells", def->cells[0]));
    if (!def->points) {
        HK_TRY(hk_check_positive("rope.length", def->length));
        line.points = ends;
        line.point_count = 2;
    }
    HK_TRY(hk_check_at_least("rope.point_count", 2, line.point_count));
    HK_TRY(hk_check_counts("rope", (double)def->cells[0] + line.point_count,
                           (double)def->cells[0] + line.point_count, "lines"));
    return make(&line, mesh);
}
