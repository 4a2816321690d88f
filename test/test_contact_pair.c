// Contacts of a vertex with a triangle and of two edges (src/contact): distances, laws, friction,
// and their derivatives, at random and at degenerate places.
#include "contact/quick.h"

#include <string.h>

#include "bodies.h"

enum { CASES = 20000 };

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g and %.17g: tolerance %g", a, b, tolerance);
}

// ---------------------------------------------------------------- places

static uint64_t g_seed;
static double random_number(void)  // −1 … 1
{
    g_seed = g_seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(g_seed >> 11) / (double)(1LL << 52) - 1;
}

static void random_points(double x[4][3], double size)
{
    for (int k = 0; k < 12; k++) x[k / 3][k % 3] = size * random_number();
}

// What goes wrong in practice: coincident points, edges that are parallel, in one line or without
// length, triangles without area.
static void degenerate_points(double x[4][3], int kind)
{
    random_points(x, 1);
    for (int i = 0; i < 3; i++) {
        switch (kind) {
        case 0: x[3][i] = x[2][i]; break;
        case 1: x[3][i] = x[2][i] + x[1][i] - x[0][i]; break;
        case 2: x[3][i] = x[2][i] + (x[1][i] - x[0][i]) * (1 + 1e-9) + (i == 0) * 1e-9; break;
        case 3: x[3][i] = 0.5 * (x[1][i] + x[2][i]); break;
        case 4: x[3][i] = x[1][i] + 1e-12 * x[3][i], x[2][i] = x[1][i] + 1e-12 * x[2][i]; break;
        case 5: x[1][i] = x[0][i]; break;
        case 6:
            x[2][i] = x[0][i] + 2 * (x[1][i] - x[0][i]),
            x[3][i] = x[0][i] + 3 * (x[1][i] - x[0][i]);
            break;
        default: x[1][i] = x[0][i], x[3][i] = x[2][i]; break;
        }
    }
}
enum { DEGENERATE = 8 };

// ---------------------------------------------------------------- distances

// At the closest points of two convex sets the plane across their connection has each set on its
// side: that is necessary, and enough.
static void check_closest(hk_pair_kind kind, const double x[4][3])
{
    hk_closest at = pair_closest(kind, x);
    int firsts = kind == HK_VERTEX_TRIANGLE ? 1 : 2;
    double one[3] = {0}, two[3] = {0}, sums[2] = {0}, size = 0;
    for (int v = 0; v < 4; v++) {
        bool first = v < firsts;
        double weight = first ? at.c[v] : -at.c[v];
        assert_true(weight >= -1e-12 && weight <= 1 + 1e-12);
        sums[!first] += weight;
        for (int i = 0; i < 3; i++) (first ? one : two)[i] += weight * x[v][i];
        for (int i = 0; i < 3; i++) size = fmax(size, fabs(x[v][i]));
    }
    assert_near(sums[0], 1, 1e-12);
    assert_near(sums[1], 1, 1e-12);
    for (int i = 0; i < 3; i++) assert_near(at.w[i], one[i] - two[i], 1e-12 * size);
    double distance = sqrt(at.square);
    for (int v = 0; v < 4; v++) {
        double beyond = 0;
        for (int i = 0; i < 3; i++)
            beyond += at.w[i] * (v < firsts ? x[v][i] - one[i] : two[i] - x[v][i]);
        if (!(beyond >= -1e-7 * size * fmax(distance, 1e-6 * size)))
            fail_msg("%d: corner %d is %g beyond, distance %g, free %d, weights %g %g %g %g", kind,
                     v, beyond, distance, at.free, at.c[0], at.c[1], at.c[2], at.c[3]);
    }
}

static void test_closest_points(void **state)
{
    (void)state;
    double x[4][3];
    for (int k = 0; k < CASES; k++) {
        if (k % 2)
            random_points(x, k % 3 ? 1 : 1e-3);
        else
            degenerate_points(x, k / 2 % DEGENERATE);
        check_closest(HK_VERTEX_TRIANGLE, (const double(*)[3])x);
        check_closest(HK_EDGE_EDGE, (const double(*)[3])x);
    }
}

// ---------------------------------------------------------------- derivatives

// Points of which the two things are `gap` apart, or nearly so.
static void near_points(hk_pair_kind kind, double gap, double x[4][3])
{
    random_points(x, 1);
    if (kind == HK_VERTEX_PLANE) {
        double n[3] = {x[2][0], x[2][1], x[2][2]}, length = sqrt(closest_dot(n, n)), d[3];
        for (int i = 0; i < 3; i++) x[2][i] = x[1][i] + n[i] / length;
        closest_minus(x[0], x[1], d);
        double height = closest_dot(d, n) / length;
        for (int i = 0; i < 3; i++) x[0][i] += (gap - height) * n[i] / length;
        return;
    }
    hk_closest at = pair_closest(kind, (const double(*)[3])x);
    double distance = sqrt(at.square);
    int firsts = kind == HK_VERTEX_TRIANGLE ? 1 : 2;
    for (int v = 0; v < firsts; v++)
        for (int i = 0; i < 3; i++) x[v][i] -= at.w[i] * (1 - gap / distance);
}

// What neighbours have in common: nothing, as inside of a surface, or as at its rim.
static void take_common(hk_pair *p, int kind)
{
    static const float triangle[3][6] = {
        {0}, {0.5f, 0.5f, 0.5f, 1 / 6.f, 1 / 6.f, 1 / 5.f}, {0.5f, 0, 0.5f, 0, 0, 1 / 6.f}};
    static const float ends[3][6] = {{0}, {5 / 6.f, 5 / 6.f, 0.8f, 5 / 6.f}, {0.5f, 0, 0.75f, 0}};
    memcpy(p->common, p->kind == HK_EDGE_EDGE ? ends[kind % 3] : triangle[kind % 3],
           sizeof p->common);
}

static double energy_at(const hk_pair *p, const double x[4][3])
{
    hk_pair_state at = pair_state(p, x);
    return pair_energy(p, &at);
}

static bool is_same_branch(const hk_pair *p, const hk_pair_part *a, const hk_pair_part *b)
{
    bool low = a->distance - p->thickness < p->width / 2;
    return a->closest.free == b->closest.free && a->coefficient == b->coefficient &&
           low == (b->distance - p->thickness < p->width / 2);
}

// Where a small step leads to other closest features the second derivative jumps.
static bool is_smooth(const hk_pair *p, const double x[4][3], double step)
{
    hk_pair_state here = pair_state(p, x);
    for (int k = 0; k < 24; k++) {
        double moved[4][3];
        memcpy(moved, x, sizeof moved);
        moved[k / 2 / 3][k / 2 % 3] += k % 2 ? step : -step;
        hk_pair_state at = pair_state(p, (const double(*)[3])moved);
        bool same = at.mollified == here.mollified && (at.b.energy == 0) == (here.b.energy == 0);
        if (p->law == HK_CONTACT_TWO_STAGE)
            same = same && (at.distance - p->thickness < p->width / 2) ==
                               (here.distance - p->thickness < p->width / 2);
        for (int v = 0; v < 4; v++)
            same = same && (at.closest.c[v] == 0) == (here.closest.c[v] == 0);
        if (!same || at.closest.free != here.closest.free || at.parts != here.parts) return false;
        for (int n = 0; n < at.parts; n++)
            if (!is_same_branch(p, &at.part[n], &here.part[n])) return false;
    }
    return true;
}

// Of all, how many could be compared.
static int check_derivatives(const hk_pair *p, double gap, int cases)
{
    int compared = 0;
    for (int n = 0; n < cases; n++) {
        double x[4][3], g[12], h[144], step = 1e-4 * p->width;
        near_points(p->kind, gap, x);
        if (!is_smooth(p, (const double(*)[3])x, step)) continue;
        compared++;
        hk_pair_state at = pair_state(p, (const double(*)[3])x);
        pair_gradient(p, &at, g);
        pair_hessian(p, &at, 1, h);
        double largest = 0, steepest = 0;
        for (int k = 0; k < 12; k++) largest = fmax(largest, fabs(g[k]));
        for (int k = 0; k < 144; k++) steepest = fmax(steepest, fabs(h[k]));
        // A plane is given.
        for (int k = 0; k < (p->kind == HK_VERTEX_PLANE ? 3 : 12); k++) {
            double moved[4][3], sides[2], gradients[2][12];
            for (int s = 0; s < 2; s++) {
                memcpy(moved, x, sizeof moved);
                moved[k / 3][k % 3] += s ? step : -step;
                sides[s] = energy_at(p, (const double(*)[3])moved);
                hk_pair_state there = pair_state(p, (const double(*)[3])moved);
                pair_gradient(p, &there, gradients[s]);
            }
            assert_near((sides[1] - sides[0]) / (2 * step), g[k], 1e-5 * largest);
            for (int r = 0; r < (p->kind == HK_VERTEX_PLANE ? 3 : 12); r++)
                assert_near((gradients[1][r] - gradients[0][r]) / (2 * step), h[12 * r + k],
                            1e-4 * steepest);
        }
    }
    return compared;
}

static void test_derivatives(void **state)
{
    (void)state;
    static const double gaps[] = {0.9, 0.6, 0.3, 0.1};
    for (int kind = 0; kind < 3; kind++)
        for (int law = 0; law < HK_CONTACT_LAWS; law++)
            for (int k = 0; k < 8; k++) {
                hk_pair p = {.kind = (hk_pair_kind)kind,
                             .law = (hk_contact_law)law,
                             .stiffness = 1e3,
                             .width = 1e-2,
                             .thickness = k % 2 ? 5e-3 : 0,
                             .parallel = k >= 4 ? 1e-1 : 1e-3};
                take_common(&p, k / 2);
                double gap = gaps[k % 4] * p.width + p.thickness;
                assert_true(check_derivatives(&p, gap, 200) > 100);
            }
}

// ---------------------------------------------------------------- every contact once

// The triangles of a fan around a vertex inside a surface, flat or a pyramid (`height` of either
// sign), and those beyond its rim; all of them together are b of the nearest point.
enum { FAN = 6 };
static void fan_point(int ring, int k, double height, double to[3])
{
    double turn = 2 * M_PI * k / FAN;
    to[0] = ring * cos(turn);
    to[1] = -ring * height;
    to[2] = ring * sin(turn);
}

static double fan_energy(const double v[3], double height, double width, double *nearest)
{
    double sum = 0;
    *nearest = HUGE_VAL;
    for (int k = 0; k < FAN; k++) {
        // Edges at the middle have two triangles each; the rim has one.
        hk_pair p = {.stiffness = 1, .width = width, .common = {0.5f, 0, 0.5f, 1.f / FAN, 0, 0}};
        double x[4][3];
        memcpy(x[0], v, sizeof x[0]);
        fan_point(0, k, height, x[1]);
        fan_point(1, k, height, x[2]);
        fan_point(1, k + 1, height, x[3]);
        hk_pair_state at = pair_state(&p, (const double(*)[3])x);
        sum += pair_energy(&p, &at);
        *nearest = fmin(*nearest, at.distance);
    }
    return sum;
}

static void test_every_contact_once(void **state)
{
    (void)state;
    double width = 0.2, nearest;
    for (int n = 0; n < CASES; n++) {
        // Over convex and flat surfaces; on both sides of edges and of the vertex.
        double height = n % 2 ? 0 : 0.1 * fabs(random_number());
        double r = n % 3 ? 0.3 * random_number() : 0.01 * random_number();
        double turn = M_PI * random_number(), v[3] = {r * cos(turn), 0, r * sin(turn)};
        if (n % 5 == 0) v[0] = v[2] = 0;
        if (n % 5 == 1) v[2] = 0;
        v[1] = -fabs(r) * height + 0.3 * width + 0.7 * width * fabs(random_number());
        double sum = fan_energy(v, height, width, &nearest);
        assert_near(sum, contact_value(HK_CONTACT_TWO_STAGE, width, nearest).energy, 1e-7);
    }
}

// An edge across the end that many edges have in common.
static void test_every_end_once(void **state)
{
    (void)state;
    double width = 0.2, sum = 0, nearest = HUGE_VAL;
    float common = 1 - 1 / 5.f;
    for (int k = 0; k < 5; k++) {
        hk_pair p = {.kind = HK_EDGE_EDGE,
                     .stiffness = 1,
                     .width = width,
                     .parallel = 1e-3,
                     .common = {0, 0, common, 0}};
        double turn = 0.3 + 0.5 * k;
        double x[4][3] = {{-1, 0.1, 0}, {1, 0.1, 0}, {0.1, 0, 0}, {cos(turn), -0.1, sin(turn)}};
        hk_pair_state at = pair_state(&p, (const double(*)[3])x);
        sum += pair_energy(&p, &at);
        nearest = fmin(nearest, at.distance);
    }
    assert_near(sum, contact_value(HK_CONTACT_TWO_STAGE, width, nearest).energy, 1e-9);
}

// Mollified edges have no jump where their closest points do: parallel ones that turn a little.
static void test_parallel_edges(void **state)
{
    (void)state;
    hk_pair p = {.kind = HK_EDGE_EDGE, .stiffness = 1, .width = 0.1, .parallel = 1e-3};
    double last = 0;
    for (int k = -200; k <= 200; k++) {
        double turn = 1e-4 * k, g[12], largest = 0;
        double x[4][3] = {{-1, 0.05, 0}, {1, 0.05, 0}, {-1, 0, -turn}, {1, 0, turn}};
        hk_pair_state at = pair_state(&p, (const double(*)[3])x);
        double energy = pair_energy(&p, &at);
        pair_gradient(&p, &at, g);
        for (int i = 0; i < 12; i++) largest = fmax(largest, fabs(g[i]));
        assert_true(isfinite(energy) && largest < 1);
        if (k > -200) assert_true(fabs(energy - last) < 1e-4);
        if (k == 0) assert_true(energy == 0 && largest < 1e-12);
        last = energy;
    }
}

// Degenerate pairs have finite energies and gradients, whatever the Hessian is.
static void test_degenerate_pairs(void **state)
{
    (void)state;
    double x[4][3], g[12], h[144];
    for (int k = 0; k < CASES / 2; k++) {
        degenerate_points(x, k % DEGENERATE);
        hk_pair p = {.kind = (hk_pair_kind)(k / DEGENERATE % 2),
                     .law = (hk_contact_law)(k % HK_CONTACT_LAWS),
                     .stiffness = 1e3,
                     .width = 10,
                     .parallel = 1e-3};
        take_common(&p, k / 3);
        hk_pair_state at = pair_state(&p, (const double(*)[3])x);
        if (!(at.distance > 1e-9)) continue;
        assert_true(isfinite(pair_energy(&p, &at)));
        pair_gradient(&p, &at, g);
        for (int i = 0; i < 12; i++) assert_true(isfinite(g[i]));
        for (int keep = 0; keep < 2; keep++) {
            pair_hessian(&p, &at, keep, h);
            for (int i = 0; i < 144; i++) assert_true(isfinite(h[i]));
        }
        // Nothing pushes the two together: forces and moments of a pair add up to nothing.
        for (int i = 0; i < 3; i++)
            assert_near(g[i] + g[3 + i] + g[6 + i] + g[9 + i], 0, 1e-9 * (1 + fabs(g[i])));
    }
}

// What iterations evaluate is the same, by another way. Where two features are equally near either
// may be taken: the energy is the same.
static void test_quick(void **state)
{
    (void)state;
    int touching = 0;
    for (int k = 0; k < CASES; k++) {
        double x[4][3], g[12], quick[12], largest = 0, off = 0;
        if (k % 4 == 0)
            degenerate_points(x, k / 4 % DEGENERATE);
        else
            random_points(x, 1);
        hk_pair p = {.kind = (hk_pair_kind)(k % 3),
                     .law = (hk_contact_law)(k / 3 % HK_CONTACT_LAWS),
                     .stiffness = 1e3,
                     .width = k % 5 ? 0.4 : 10,
                     .thickness = k % 7 ? 0 : 0.05,
                     .parallel = 1e-1};
        for (int i = 0; i < 3 && p.kind == HK_VERTEX_PLANE; i++) x[2][i] = x[1][i] + (i == 1);
        take_common(&p, k / 4);
        hk_pair_state at = pair_state(&p, (const double(*)[3])x);
        double energy = pair_energy(&p, &at),
               same = quick_evaluate(&p, (const double(*)[3])x, quick, NULL);
        assert_true(isfinite(energy) == isfinite(same));
        if (!isfinite(energy) || !(at.distance > 1e-9)) continue;
        assert_near(same, energy, 1e-9 * (1 + fabs(energy)));
        assert_near(quick_evaluate(&p, (const double(*)[3])x, NULL, NULL), same, 0);
        touching += energy > 0;
        if (k % 4 == 0 || at.parts == 0) continue;
        pair_gradient(&p, &at, g);
        for (int i = 0; i < 12; i++) {
            largest = fmax(largest, fabs(g[i]));
            off = fmax(off, fabs(g[i] - quick[i]));
        }
        assert_near(off, 0, 1e-7 * (1 + largest));
    }
    assert_true(touching > CASES / 20);
}

// Edges that cross at any angle: no closest point is missed.
static void test_quick_edges(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; k++) {
        double angle = pow(10, -9 + 9.0 * k / CASES), c[4], w[3], x[4][3];
        for (int v = 0; v < 4; v++) {
            double along = (v % 2 ? 1 : -1) * (1 + 0.5 * random_number());
            x[v][0] = along * (v < 2 ? 1 : cos(angle));
            x[v][1] = v < 2 ? 1e-6 : 0;
            x[v][2] = v < 2 ? 0 : along * sin(angle);
        }
        hk_closest at = closest_edge_edge((const double(*)[3])x);
        quick_closest(HK_EDGE_EDGE, (const double(*)[3])x, c, w);
        assert_near(sqrt(closest_dot(w, w)), sqrt(at.square), 1e-14);
        if (angle > 1e-7) assert_near(at.square, 1e-12, 1e-14);
    }
}

// Without its negative part the Hessian is positive.
static void test_projected_hessians(void **state)
{
    (void)state;
    double x[4][3], h[144];
    for (int k = 0; k < 2000; k++) {
        hk_pair p = {.kind = (hk_pair_kind)(k % 2),
                     .law = (hk_contact_law)(k % HK_CONTACT_LAWS),
                     .stiffness = 1e3,
                     .width = 1e-2,
                     .parallel = 0.1};
        take_common(&p, k / 3);
        near_points(p.kind, 5e-3, x);
        hk_pair_state at = pair_state(&p, (const double(*)[3])x);
        pair_hessian(&p, &at, 0, h);
        for (int n = 0; n < 10; n++) {
            double d[12], product = 0, size = 0;
            for (int i = 0; i < 12; i++) d[i] = random_number();
            for (int i = 0; i < 144; i++) product += d[i / 12] * h[i] * d[i % 12];
            for (int i = 0; i < 144; i++) size = fmax(size, fabs(h[i]));
            assert_true(product >= -1e-12 * size);
        }
    }
}

// ---------------------------------------------------------------- laws

static void test_laws(void **state)
{
    (void)state;
    for (int law = 0; law < HK_CONTACT_LAWS; law++) {
        double width = 2e-3, step = 1e-9;
        assert_true(contact_value((hk_contact_law)law, width, width).energy == 0);
        assert_true(contact_value((hk_contact_law)law, width, 1).slope == 0);
        for (int k = 1; k < 100; k++) {
            double gap = width * k / 100;
            if (k == 50) continue;  // where the third derivative jumps
            hk_contact_value b = contact_value((hk_contact_law)law, width, gap);
            hk_contact_value low = contact_value((hk_contact_law)law, width, gap - step);
            hk_contact_value high = contact_value((hk_contact_law)law, width, gap + step);
            assert_true(b.energy > 0 && b.slope < 0 && b.curvature > 0);
            assert_near((high.energy - low.energy) / (2 * step), b.slope, 1e-5 * fabs(b.slope));
            assert_near((high.slope - low.slope) / (2 * step), b.curvature, 1e-4 * b.curvature);
        }
        bool barrier = law != HK_CONTACT_PENALTY;
        assert_true(isinf(contact_value((hk_contact_law)law, width, 0).energy) == barrier);
        assert_true(isinf(contact_value((hk_contact_law)law, width, -1).energy) == barrier);
    }
    // The two stages meet with value, slope and curvature.
    hk_contact_value below = contact_value(HK_CONTACT_TWO_STAGE, 1, 0.5 - 1e-12);
    hk_contact_value above = contact_value(HK_CONTACT_TWO_STAGE, 1, 0.5);
    assert_near(below.energy, above.energy, 1e-11);
    assert_near(below.slope, above.slope, 1e-11);
    assert_near(below.curvature, above.curvature, 1e-11);
}

// ---------------------------------------------------------------- friction

static void test_friction(void **state)
{
    (void)state;
    double step = 1e-8;
    for (int n = 0; n < 2000; n++) {
        double x[4][3], from[4][3], slide[3], g[12], block[3][3];
        near_points(HK_VERTEX_TRIANGLE, 0.1, from);
        hk_closest at = closest_vertex_triangle((const double(*)[3])from);
        hk_friction f = {.most = 7, .slip = 1e-3, .damping = n % 3 == 0 ? 500 : 0};
        memcpy(f.c, at.c, sizeof f.c);
        for (int i = 0; i < 3; i++) f.normal[i] = at.w[i] / sqrt(at.square);
        double far = n % 2 ? 1e-2 : 2e-4;
        for (int k = 0; k < 12; k++) x[k / 3][k % 3] = from[k / 3][k % 3] + far * random_number();
        double nearer = friction_slide(&f, (const double(*)[3])x, (const double(*)[3])from, slide);
        assert_near(closest_dot(slide, f.normal), 0, 1e-15);
        double length = sqrt(closest_dot(slide, slide));
        if (fabs(length - f.slip) < 1e-4 || nearer > -1e-7) continue;
        friction_gradient(&f, slide, nearer, g);
        friction_block(&f, slide, nearer, block);
        for (int k = 0; k < 12; k++) {
            double energy[2], gradient[2][12];
            for (int s = 0; s < 2; s++) {
                double moved[4][3];
                memcpy(moved, x, sizeof moved);
                moved[k / 3][k % 3] += s ? step : -step;
                nearer =
                    friction_slide(&f, (const double(*)[3])moved, (const double(*)[3])from, slide);
                energy[s] = friction_energy(&f, slide, nearer);
                friction_gradient(&f, slide, nearer, gradient[s]);
            }
            assert_near((energy[1] - energy[0]) / (2 * step), g[k], 1e-5 * f.most);
            for (int r = 0; r < 12; r++)
                assert_near((gradient[1][r] - gradient[0][r]) / (2 * step),
                            f.c[r / 3] * f.c[k / 3] * block[r % 3][k % 3], 1e-5 * f.most / f.slip);
        }
        // Beyond the slip it is μ λ, against the motion.
        double push = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
        if (f.damping > 0) continue;
        if (length > f.slip)
            assert_near(push, f.most, 1e-9);
        else
            assert_true(push < f.most);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closest_points),     cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_parallel_edges),     cmocka_unit_test(test_degenerate_pairs),
        cmocka_unit_test(test_projected_hessians), cmocka_unit_test(test_laws),
        cmocka_unit_test(test_friction),           cmocka_unit_test(test_every_contact_once),
        cmocka_unit_test(test_every_end_once),     cmocka_unit_test(test_quick),
        cmocka_unit_test(test_quick_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
