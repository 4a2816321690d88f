// How good a mesh is that fills a surface: its angles, and how far both are from each other.
#include <math.h>

#include "mesh/fill.h"

static const double pi = 3.14159265358979323846;

// ---------------------------------------------------------------- angles

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void normal_of(const double *a, const double *b, const double *c, double n[3])
{
    double e[3], f[3];
    for (int i = 0; i < 3; i++) {
        e[i] = b[i] - a[i];
        f[i] = c[i] - a[i];
    }
    n[0] = e[1] * f[2] - e[2] * f[1];
    n[1] = e[2] * f[0] - e[0] * f[2];
    n[2] = e[0] * f[1] - e[1] * f[0];
}

bool hk_fill_normal_of(const double *a, const double *b, const double *c, double unit[3])
{
    normal_of(a, b, c, unit);
    return hk_unit3(unit, unit);
}

bool hk_fill_tet_cosines(const double *a, const double *b, const double *c, const double *d,
                         double cosines[6])
{
    double n[4][3];
    if (!(hk_tet_volume6(a, b, c, d) > 0)) return false;
    normal_of(b, c, d, n[0]);
    normal_of(a, d, c, n[1]);
    normal_of(a, b, d, n[2]);
    normal_of(a, c, b, n[3]);
    for (int i = 0; i < 4; i++)
        if (!hk_unit3(n[i], n[i])) return false;
    int count = 0;
    for (int i = 1; i < 4; i++)
        for (int j = 0; j < i; j++) cosines[count++] = -dot(n[i], n[j]);
    return true;
}

static double degrees(double cosine)
{
    return acos(fmin(fmax(cosine, -1), 1)) * 180 / pi;
}

static void measure_angles(const hk_mesh *m, const uint8_t *sharp, hk_filling_report *report)
{
    double most = -1, least = 1, plain = -1;
    for (int t = 0; t < m->tet_count; t++) {
        const int32_t *v = m->tets + 4 * (size_t)t;
        double cosines[6];
        bool away = true;
        if (!hk_fill_tet_cosines(m->positions + 3 * (size_t)v[0], m->positions + 3 * (size_t)v[1],
                                 m->positions + 3 * (size_t)v[2], m->positions + 3 * (size_t)v[3],
                                 cosines))
            most = 1;
        for (int k = 0; k < 4; k++) away = away && !(sharp && sharp[v[k]]);
        for (int e = 0; e < 6; e++) {
            most = fmax(most, cosines[e]);
            least = fmin(least, cosines[e]);
            if (away) plain = fmax(plain, cosines[e]);
        }
    }
    report->least_angle = degrees(most);
    report->greatest_angle = degrees(least);
    report->least_plain_angle = degrees(plain);
}

// ---------------------------------------------------------------- from the mesh to the surface

// How far the border is from p in a direction, if it is nearer than `reach`, m; else that.
static double border_along(const hk_fill_solid *s, const double p[3], double at_p,
                           const double unit[3], double reach)
{
    enum { HALVINGS = 6 };
    double near = 0, far = reach;
    for (int k = 0; k <= HALVINGS; k++) {
        double x[3], t = k == 0 ? reach : (near + far) / 2;
        for (int i = 0; i < 3; i++) x[i] = p[i] + t * unit[i];
        bool beyond = (hk_fill_value(s, x) < 0) != (at_p < 0);
        if (k == 0 && !beyond) return reach;
        if (beyond)
            far = t;
        else
            near = t;
    }
    return far;
}

// How far a point of a triangle of the mesh is from the border: from the nearest triangle of the
// surface, or from a lid. That is looked for along the normal and 26 other directions, any of which
// gives a bound. Its corners are on the border.
double hk_fill_border_distance(const hk_fill_solid *s, const double p[3], const double n[3])
{
    const double close = 0.05 * s->size;
    double d = hk_winding_nearest(s->surface, p, INFINITY, NULL).distance;
    if (s->half_thickness > 0) return fabs(d - s->half_thickness);
    if (!s->rim || d < 2 * close) return d;
    double before[3], behind[3], back[3] = {-n[0], -n[1], -n[2]};
    for (int i = 0; i < 3; i++) {
        before[i] = p[i] + close * n[i];
        behind[i] = p[i] - close * n[i];
    }
    // Most are on a lid, to within the bending of that.
    if ((hk_fill_value(s, before) < 0) != (hk_fill_value(s, behind) < 0)) return close;
    double at_p = hk_fill_value(s, p);
    d = border_along(s, p, at_p, n, d);
    d = border_along(s, p, at_p, back, d);
    for (int k = 0; k < 27 && d > 0.4 * s->size; k++) {
        double unit[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
        if (hk_unit3(unit, unit)) d = border_along(s, p, at_p, unit, d);
    }
    return d;
}

// What is nearer than the first, in sizes, is near enough; places are known to the second.
static const double NEAR = 0.4, EXACT = 0.06;

static double distance_of(const double a[3], const double b[3])
{
    double sum = 0;
    for (int i = 0; i < 3; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

// Of a triangle of the mesh. Distances change by no more than one goes: where one may be far from
// the middle it is looked at in four parts. Middles alone miss edges that bridge a hollow.
static double farthest_of(const hk_fill_solid *s, const double *const corner[3], const double n[3])
{
    double middle[3], halves[3][3], radius = 0;
    for (int i = 0; i < 3; i++) {
        middle[i] = (corner[0][i] + corner[1][i] + corner[2][i]) / 3;
        for (int k = 0; k < 3; k++) halves[k][i] = (corner[k][i] + corner[(k + 1) % 3][i]) / 2;
    }
    for (int k = 0; k < 3; k++) radius = fmax(radius, distance_of(middle, corner[k]));
    double d = hk_fill_border_distance(s, middle, n);
    if (d + radius <= NEAR * s->size || radius <= EXACT * s->size) return d;
    const double *parts[4][3] = {{halves[0], halves[1], halves[2]},
                                 {corner[0], halves[0], halves[2]},
                                 {halves[0], corner[1], halves[1]},
                                 {halves[2], halves[1], corner[2]}};
    for (int k = 0; k < 4; k++) d = fmax(d, farthest_of(s, parts[k], n));
    return d;
}

// Corners are on the border. Where the middles of the triangle and of its edges are near it, so is
// all between them; edges are looked at from one of the triangles that they join.
static double farthest_of_triangle(const hk_fill_solid *s, const hk_mesh *m, const int32_t v[3])
{
    const double *corner[3];
    double n[3], p[3];
    for (int k = 0; k < 3; k++) corner[k] = m->positions + 3 * (size_t)v[k];
    if (!hk_fill_normal_of(corner[0], corner[1], corner[2], n)) return 0;
    for (int i = 0; i < 3; i++) p[i] = (corner[0][i] + corner[1][i] + corner[2][i]) / 3;
    double d = hk_fill_border_distance(s, p, n);
    for (int k = 0; k < 3; k++) {
        int next = (k + 1) % 3;
        if (v[k] > v[next]) continue;
        for (int i = 0; i < 3; i++) p[i] = (corner[k][i] + corner[next][i]) / 2;
        d = fmax(d, hk_fill_border_distance(s, p, n));
    }
    return d <= (NEAR / 2) * s->size ? d : fmax(d, farthest_of(s, corner, n));
}

static double from_mesh(const hk_fill_solid *s, const hk_mesh *m)
{
    double farthest = 0;
#pragma omp parallel for schedule(dynamic, 256) num_threads(s->threads) reduction(max : farthest)
    for (int t = 0; t < m->surface_count; t++)
        farthest = fmax(farthest, farthest_of_triangle(s, m, m->surface + 3 * (size_t)t));
    return farthest;
}

// ---------------------------------------------------------------- from the surface to the mesh

typedef struct far_side {
    double farthest, lost_area, idle_area;
    int64_t inner, outer;
} far_side;

// A thousandth of a size away from the point.
uint8_t hk_fill_sides(const hk_fill_solid *s, const double p[3], const double n[3])
{
    double x[3], y[3];
    for (int i = 0; i < 3; i++) {
        x[i] = p[i] - 1e-3 * s->size * n[i];
        y[i] = p[i] + 1e-3 * s->size * n[i];
    }
    int behind = hk_fill_inside(s, x) ? HK_FILL_BEHIND : 0;
    int before = hk_fill_inside(s, y) ? HK_FILL_BEFORE : 0;
    return (uint8_t)(behind | before);
}

static bool is_border(uint8_t sides)
{
    return sides == HK_FILL_BEHIND || sides == HK_FILL_BEFORE;
}

bool hk_fill_is_border(const hk_fill_solid *solid, const double p[3], const double n[3])
{
    return is_border(hk_fill_sides(solid, p, n));
}

enum { MOST_PARTS = 1000 };

// Points of a triangle, a lattice no farther apart than half a size with its corners and its
// middle, all a little inside.
hk_fill_grid hk_fill_grid_of(const hk_fill_surface *in, int t, double size)
{
    hk_fill_grid g = {0};
    double longest = 0;
    for (int k = 0; k < 3; k++)
        g.corner[k] = in->positions + 3 * (size_t)in->triangles[3 * (size_t)t + (size_t)k];
    for (int k = 0; k < 3; k++) {
        double sum = 0;
        for (int i = 0; i < 3; i++) {
            double e = g.corner[(k + 1) % 3][i] - g.corner[k][i];
            sum += e * e;
        }
        longest = fmax(longest, sqrt(sum));
    }
    g.parts = (int)fmin(fmax(1, ceil(2 * longest / size)), MOST_PARTS);
    g.count = (g.parts + 1) * (g.parts + 2) / 2 + 1;
    return g;
}

void hk_fill_grid_refine(hk_fill_grid *g)
{
    enum { CLOSER = 4 };
    g->parts = hk_min_int(CLOSER * g->parts, MOST_PARTS);
    g->count = (g->parts + 1) * (g->parts + 2) / 2 + 1;
}

void hk_fill_grid_point(const hk_fill_grid *g, int k, double p[3])
{
    int row = 0, n = g->parts;
    bool middle = k == 0;
    for (k--; !middle && k > n - row; row++) k -= n - row + 1;
    double u = (double)row / n, v = (double)k / n;
    for (int i = 0; i < 3; i++) {
        double centre = (g->corner[0][i] + g->corner[1][i] + g->corner[2][i]) / 3;
        double x = g->corner[0][i] + u * (g->corner[1][i] - g->corner[0][i]) +
                   v * (g->corner[2][i] - g->corner[0][i]);
        p[i] = middle ? centre : x + 1e-3 / n * (centre - x);
    }
}

// Sides are asked for only where the mesh is not near. The middle stands for the area. Returns the
// greatest distance, whether that is of a border or not.
static double look_at_points(const hk_fill_grid *g, const double n[3], const hk_fill_solid *s,
                             const hk_winding_tree *tree, int count, far_side *found)
{
    hk_nearest hint = {.triangle = -1};
    double most = 0;
    for (int k = 0; k < count; k++) {
        double p[3];
        hk_fill_grid_point(g, k, p);
        hint = hk_winding_nearest(tree, p, INFINITY, hint.triangle < 0 ? NULL : &hint);
        double d = hint.distance;
        most = fmax(most, d);
        if (d < s->size / 4 || (k > 0 && d <= found->farthest)) {
            found->farthest = fmax(found->farthest, d);
            continue;
        }
        uint8_t sides = hk_fill_sides(s, p, n);
        if (is_border(sides)) found->farthest = fmax(found->farthest, d);
        if (k > 0) continue;
        found->inner += sides == (HK_FILL_BEHIND | HK_FILL_BEFORE);
        found->outer += sides == 0;
        double area = hk_triangle_area(g->corner[0], g->corner[1], g->corner[2]);
        if (is_border(sides) && d > s->size / 2) found->lost_area += area;
        if (sides == 0) found->idle_area += area;
    }
    return most;
}

// Points half a size apart may have one between them that is a quarter farther: where they are not
// near the mesh there is a second look, at points that lie closer.
static void look_at(const hk_fill_surface *in, const hk_fill_solid *s, const hk_winding_tree *tree,
                    int t, far_side *found)
{
    double n[3];
    if (!hk_fill_normal(in, t, n)) return;
    hk_fill_grid g = hk_fill_grid_of(in, t, s->size);
    double most = look_at_points(&g, n, s, tree, in->idle[t] ? 1 : g.count, found);
    if (in->idle[t] || most <= (NEAR / 2) * s->size) return;
    far_side again = {.farthest = found->farthest};
    hk_fill_grid_refine(&g);
    look_at_points(&g, n, s, tree, g.count, &again);
    found->farthest = again.farthest;
}

enum { RUN = 1024 };  // triangles that are summed up together, whatever the threads

static hk_status from_surface(const hk_fill_surface *in, const hk_fill_solid *s, const hk_mesh *m,
                              hk_filling_report *report)
{
    hk_winding_tree *tree;
    const hk_winding_totals *totals = hk_winding_tree_totals(s->surface);
    double idle = 0;
    int runs = (in->count - 1) / RUN + 1;
    far_side *found = HK_ZEROS(far_side, runs);
    if (!found) return HK_NO_MEMORY;
    hk_status status = hk_winding_tree_create(m->vertex_count, m->positions, m->surface_count,
                                              m->surface, s->threads, &tree);
    if (status == HK_OK) {
#pragma omp parallel for schedule(dynamic) num_threads(s->threads)
        for (int r = 0; r < runs; r++)
            for (int t = r * RUN; t < hk_min_int((r + 1) * RUN, in->count); t++)
                look_at(in, s, tree, t, &found[r]);
        for (int r = 0; r < runs; r++) {
            report->distance = fmax(report->distance, found[r].farthest);
            report->lost_area += found[r].lost_area;
            idle += found[r].idle_area;
            report->inner_triangles += found[r].inner;
            report->outer_triangles += found[r].outer;
        }
        hk_winding_tree_free(tree);
    }
    hk_free(found);
    if (status == HK_OK && s->rim && report->lost_area + idle > totals->area / 2)
        return hk_fail(HK_BAD_INPUT,
                       "the surface is open (%.4g m of edges lack a neighbour), and more than half "
                       "of it encloses nothing as thick as %g m: simulate it as a sheet (material "
                       "mass_spring), or give it a thickness",
                       s->rim_length, s->size);
    return status;
}

hk_status hk_fill_measure(const hk_fill_surface *surface, const hk_fill_solid *solid, hk_mesh *mesh,
                          const uint8_t *sharp, hk_filling_report *report)
{
    const hk_winding_totals *totals = hk_winding_tree_totals(solid->surface);
    measure_angles(mesh, sharp, report);
    HK_TRY(hk_mesh_surface(mesh, &report->surface_triangles, NULL, NULL));
    report->vertices = mesh->vertex_count;
    report->tets = mesh->tet_count;
    for (int t = 0; t < mesh->tet_count; t++) {
        const int32_t *v = mesh->tets + 4 * (size_t)t;
        report->mesh_volume +=
            hk_tet_volume6(mesh->positions + 3 * (size_t)v[0], mesh->positions + 3 * (size_t)v[1],
                           mesh->positions + 3 * (size_t)v[2], mesh->positions + 3 * (size_t)v[3]) /
            6;
    }
    report->distance = from_mesh(solid, mesh);
    if (!(solid->half_thickness > 0)) HK_TRY(from_surface(surface, solid, mesh, report));
    bool plain = !solid->rim && report->inner_triangles == 0 && report->outer_triangles == 0 &&
                 !(solid->half_thickness > 0);
    report->area = totals->area;
    report->volume = plain ? fabs(totals->volume) : NAN;
    report->flipped = !solid->rim && totals->volume < 0;
    report->flat_triangles += totals->flat;
    report->rim = solid->rim_length;
    report->closed = !solid->rim;
    return HK_OK;
}
