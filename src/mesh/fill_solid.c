// What is inside of a surface that is to be filled, how far its border is, and where it cuts.
#include <math.h>

#include "mesh/fill.h"
#include "mesh/rim.h"

static const double pi = 3.14159265358979323846;

// Inside is where the surface winds around a point more than this, in either sense. A little more
// than ½: a flat sheet comes as near to that as one likes.
static const double LEVEL = 0.501;
static const double TOLERANCE = 5e-4;

// ---------------------------------------------------------------- building

static hk_status build_rim(const hk_fill_surface *in, hk_fill_solid *s)
{
    hk_rim rim;
    HK_TRY(hk_rim_find(in->vertex_count, in->positions, in->count, in->triangles, &rim));
    hk_status status = HK_OK;
    s->rim_length = rim.length;
    if (rim.count > 0)
        status = hk_fill_edge_tree(in->vertex_count, in->positions, rim.count, rim.edges,
                                   s->threads, &s->rim);
    hk_rim_free(&rim);
    return status;
}

hk_status hk_fill_solid_build(const hk_fill_surface *in, double half_thickness, int threads,
                              hk_fill_solid *s)
{
    *s = (hk_fill_solid){.half_thickness = half_thickness, .threads = threads};
    hk_status status = hk_winding_tree_create(in->vertex_count, in->positions, in->count,
                                              in->triangles, threads, &s->surface);
    if (status == HK_OK) status = build_rim(in, s);
    if (status != HK_OK) hk_fill_solid_release(s);
    return status;
}

void hk_fill_solid_release(hk_fill_solid *s)
{
    hk_winding_tree_free(s->surface);
    hk_winding_tree_free(s->rim);
    *s = (hk_fill_solid){0};
}

// ---------------------------------------------------------------- sides

// The winding number without its sign; the error is a bound, or less than what it is from LEVEL.
static hk_winding winding(const hk_fill_solid *s, const double p[3])
{
    hk_winding w = hk_winding_beside(s->surface, p, LEVEL, TOLERANCE);
    if (w.number < 0) {
        w = hk_winding_beside(s->surface, p, -LEVEL, TOLERANCE);
        w.number = -w.number;
    }
    return w;
}

bool hk_fill_inside(const hk_fill_solid *s, const double p[3])
{
    if (!(s->half_thickness > 0)) return winding(s, p).number > LEVEL;
    double most = s->half_thickness;
    return hk_winding_nearest(s->surface, p, most, NULL).distance < most;
}

// Around p the winding number changes at most at a rate of L/(4πD²) at a distance D from the rim
// (rim.h), so it is on the same side within R of p, if R L = 4π m (D − R)² with m what it is from
// the level.
static double clear_of_lids(const hk_fill_solid *s, const double p[3], hk_winding w)
{
    double margin = fabs(w.number - LEVEL) - w.error;
    if (!(margin > 0)) return 0;
    double d = hk_winding_nearest(s->rim, p, INFINITY, NULL).distance;
    double k = 4 * pi * margin / s->rim_length, b = 2 * k * d + 1;
    return (b - sqrt(4 * k * d + 1)) / (2 * k);
}

static double shell_clearance(const hk_fill_solid *s, const double p[3], double reach,
                              hk_nearest *hint, bool *inside)
{
    hk_nearest found = hk_winding_nearest(s->surface, p, reach + s->half_thickness, hint);
    if (found.triangle >= 0) *hint = found;
    double d = fmin(found.distance, reach + s->half_thickness) - s->half_thickness;
    *inside = d < 0;
    return fmin(fabs(d), reach);
}

double hk_fill_clearance(const hk_fill_solid *s, const double p[3], double reach, double sure,
                         hk_nearest *hint, bool *inside)
{
    if (s->half_thickness > 0) return shell_clearance(s, p, reach, hint, inside);
    hk_nearest found = hk_winding_nearest(s->surface, p, reach, hint);
    if (found.triangle >= 0) *hint = found;
    double clear = fmin(found.distance, reach);
    if (clear < sure) return clear;
    hk_winding w = winding(s, p);
    *inside = w.number > LEVEL;
    return s->rim ? fmin(clear, clear_of_lids(s, p, w)) : clear;
}

// ---------------------------------------------------------------- cuts

enum { CROSSINGS = 32 };

static void point_at(const double p[3], const double q[3], double at, double x[3])
{
    for (int i = 0; i < 3; i++) x[i] = p[i] + at * (q[i] - p[i]);
}

static bool inside_at(const hk_fill_solid *s, const double p[3], const double q[3], double at)
{
    double x[3];
    point_at(p, q, at, x);
    return hk_fill_inside(s, x);
}

// In order, those that cannot be told apart once.
static int sort_crossings(double *at, int count)
{
    const double apart = 1e-7;
    int kept = 0;
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && at[j - 1] > at[j]; j--) {
            double moving = at[j];
            at[j] = at[j - 1];
            at[j - 1] = moving;
        }
    for (int i = 0; i < count; i++)
        if (kept == 0 || at[i] - at[kept - 1] > apart) at[kept++] = at[i];
    return kept;
}

double hk_fill_value(const hk_fill_solid *s, const double p[3])
{
    if (!(s->half_thickness > 0)) return LEVEL - winding(s, p).number;
    return hk_winding_nearest(s->surface, p, INFINITY, NULL).distance - s->half_thickness;
}

static double value_at(const hk_fill_solid *s, const double p[3], const double q[3], double at)
{
    double x[3];
    point_at(p, q, at, x);
    return hk_fill_value(s, x);
}

// Between two places on different sides, without a triangle between: a lid, where the winding
// number passes the level, or the border of a shell. The Illinois variant of false position.
static double find_zero(const hk_fill_solid *s, const double p[3], const double q[3], double low,
                        double high)
{
    double nothing = s->half_thickness > 0 ? 1e-6 * s->size : TOLERANCE;
    double a = value_at(s, p, q, low), b = value_at(s, p, q, high), at = (low + high) / 2;
    if ((a < 0) == (b < 0)) return fabs(a) < fabs(b) ? low : high;  // within what is not known
    for (int k = 0; k < 40 && high - low > 1e-5; k++) {
        // Bisection where it does not come on: the number jumps.
        at = k % 8 == 7 ? (low + high) / 2 : low + (high - low) * a / (a - b);
        double f = value_at(s, p, q, at);
        if (fabs(f) <= nothing) break;
        if ((f < 0) != (a < 0)) {
            high = at;
            b = f;
            a /= 2;
        } else {
            low = at;
            a = f;
            b /= 2;
        }
    }
    return at;
}

// The border is at one of the triangles on the way if the sides before and after it differ;
// otherwise it is before or after it.
double hk_fill_cut(const void *solid, const double p[3], const double q[3], double a, double b)
{
    const hk_fill_solid *s = solid;
    double at[CROSSINGS], low = 0, high = 1;
    const double beside = 1e-6;
    bool from_inside = a < b;
    if (s->half_thickness > 0) return find_zero(s, p, q, low, high);
    int count = hk_winding_crossings(s->surface, p, q, at, CROSSINGS);
    if (count > CROSSINGS) return find_zero(s, p, q, low, high);
    count = sort_crossings(at, count);
    if (count == 1 && !s->rim) return at[0];
    for (int first = 0; first < count;) {
        int middle = first + (count - first) / 2;
        double before = fmax(at[middle] - beside, low), after = fmin(at[middle] + beside, high);
        if (before > low && inside_at(s, p, q, before) != from_inside) {
            high = before;
            count = middle;
        } else if (after < high && inside_at(s, p, q, after) == from_inside) {
            low = after;
            first = middle + 1;
        } else {
            return at[middle];
        }
    }
    return find_zero(s, p, q, low, high);
}
