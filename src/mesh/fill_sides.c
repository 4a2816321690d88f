// Whether an open surface encloses anything: it has the body on one side then, everywhere.
//
// Where a sheet that is not flat bends, it winds around the points of its hollows a little more
// than half a time, so that there is an inside now before and now behind it. That is asked of the
// surface alone, before anything is filled.
#include <math.h>

#include "mesh/fill.h"

// Of the area that bounds the body: as much may have it on the wrong side, as a rim that is rolled.
static const double ASTRAY = 0.2;

typedef struct areas {
    double before, behind, idle;  // m²: the body is there; on neither side
} areas;

// The triangles that hang together with the first one. `list` has room for all.
static areas sides_of_part(const hk_fill_surface *in, const uint8_t *sides, int first,
                           uint8_t *seen, int32_t *list)
{
    areas sum = {0};
    int count = 1;
    list[0] = first;
    seen[first] = 1;
    for (int k = 0; k < count; k++) {
        int t = list[k];
        hk_fill_grid g = hk_fill_grid_of(in, t, INFINITY);
        double area = hk_triangle_area(g.corner[0], g.corner[1], g.corner[2]);
        if (sides[t] == HK_FILL_BEFORE) sum.before += area;
        if (sides[t] == HK_FILL_BEHIND) sum.behind += area;
        if (sides[t] == 0) sum.idle += area;
        for (int e = 0; e < 3; e++) {
            int other = in->neighbours[3 * (size_t)t + (size_t)e];
            if (other < 0 || seen[other]) continue;
            seen[other] = 1;
            list[count++] = other;
        }
    }
    return sum;
}

static hk_status judge(const hk_fill_solid *s, double astray, double border)
{
    if (!(astray > ASTRAY * border)) return HK_OK;
    return hk_fail(HK_BAD_INPUT,
                   "the surface is open (%.4g m of edges lack a neighbour) and encloses nothing: "
                   "what it winds around is now on one side of it and now on the other. Simulate "
                   "it as a sheet (material mass_spring or shell), give it a thickness, or close "
                   "it",
                   s->rim_length);
}

hk_status hk_fill_check_sides(const hk_fill_surface *in, const hk_fill_solid *s)
{
    if (!s->rim || s->half_thickness > 0) return HK_OK;
    uint8_t *sides = HK_ZEROS(uint8_t, in->count), *seen = HK_ZEROS(uint8_t, in->count);
    int32_t *list = HK_ARRAY(int32_t, in->count);
    hk_status status = sides && seen && list ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
#pragma omp parallel for schedule(dynamic, 64) num_threads(s->threads)
        for (int t = 0; t < in->count; t++) {
            double n[3], p[3];
            hk_fill_grid g = hk_fill_grid_of(in, t, INFINITY);
            hk_fill_grid_point(&g, 0, p);
            if (hk_fill_normal(in, t, n)) sides[t] = hk_fill_sides(s, p, n);
        }
        double astray = 0, border = 0;
        for (int t = 0; t < in->count; t++) {
            if (seen[t]) continue;
            areas part = sides_of_part(in, sides, t, seen, list);
            astray += fmin(part.before, part.behind);
            border += part.before + part.behind;
        }
        status = judge(s, astray, border);
    }
    hk_free(sides);
    hk_free(seen);
    hk_free(list);
    return status;
}
