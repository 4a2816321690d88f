// The nearest stretches with product 1 (material/projective.h), written once. A test program
// defines HK_DOUBLE and HK_LANES, includes this file and calls sl3_checks().
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "material/isotropic.h"
#include "material/principal.h"
#include "material/projective.h"

static uint64_t g_seed = 5;
static double uniform(void)  // [0, 1)
{
    g_seed = g_seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(g_seed >> 11) / 9007199254740992.0;
}

typedef struct stretches {
    scalar s[3];
} stretches;

// In the order of svd3: s₀ ≥ s₁ ≥ |s₂|.
static stretches ordered(double a, double b, double c)
{
    double s[3] = {a, b, c};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            if (fabs(s[j]) < fabs(s[j + 1])) {
                double swap = s[j];
                s[j] = s[j + 1];
                s[j + 1] = swap;
            }
    double sign = s[0] * s[1] * s[2] < 0 ? -1 : 1;
    return (stretches){{(scalar)fabs(s[0]), (scalar)fabs(s[1]), (scalar)(sign * fabs(s[2]))}};
}

// Compressed, inverted, stretched, and near where two points are equally near.
static stretches random_case(int k)
{
    double spread = pow(10, -4 * uniform()), centre = 1.7 + 0.5 * uniform();
    switch (k % 5) {
    case 0: return ordered(0.05 + uniform(), 0.05 + uniform(), 0.05 + uniform());
    case 1: return ordered(3 * uniform(), 3 * uniform(), -2 * uniform());
    case 2: return ordered(0.3 + 4 * uniform(), 0.3 + 4 * uniform(), 0.3 + 4 * uniform());
    case 3:
        return ordered(centre * (1 + spread * uniform()), centre * (1 + spread * uniform()),
                       centre * (1 + spread * uniform()));
    default: return ordered(1 + 0.2 * uniform(), 1 - 0.2 * uniform(), 0.9 + 0.2 * uniform());
    }
}

// All lanes but one are filled with other cases: lanes must not disturb each other.
static sl3_point nearest_of(const stretches cases[HK_LANES])
{
    vec3 s = {{r_zero(), r_zero(), r_zero()}};
    for (int lane = 0; lane < HK_LANES; lane++)
        for (int i = 0; i < 3; i++) r_set_lane(&s.v[i], lane, cases[lane].s[i]);
    sl3_point r;
    sl3_nearest(&s, &r);
    return r;
}

static double distance2(const stretches *c, const double p[3])
{
    double sum = 0;
    for (int i = 0; i < 3; i++) sum += (c->s[i] - p[i]) * (c->s[i] - p[i]);
    return sum;
}

// Product 1, p_i (p_i − σ_i) the same for all i, all p positive.
static void check_conditions(const stretches *c, const double p[3], double m)
{
    double product = p[0] * p[1] * p[2], eps = (double)HK_EPSILON;
    if (!(fabs(product - 1) <= 16 * eps))
        fail_msg("(%g %g %g): product is 1 + %.1e", c->s[0], c->s[1], c->s[2], product - 1);
    for (int i = 0; i < 3; i++) {
        double residual = fabs(p[i] * (p[i] - c->s[i]) - m);
        if (!(p[i] > 0 && residual <= 8 * eps * (p[i] * p[i] + p[i] * fabs((double)c->s[i]))))
            fail_msg("(%g %g %g): p_%d = %g, residual %.1e", c->s[0], c->s[1], c->s[2], i, p[i],
                     residual);
    }
}

// No point of a grid over (ln p₀, ln p₁), refined around its best, is nearer.
static void check_no_better(const stretches *c, double found)
{
    double best = INFINITY, centre[2] = {0, 0}, at[2] = {0, 0}, half = 4;
    for (int level = 0; level < 6; level++, half /= 10) {
        memcpy(centre, at, sizeof at);
        for (int i = -40; i <= 40; i++)
            for (int j = -40; j <= 40; j++) {
                double a = centre[0] + half * i / 40, b = centre[1] + half * j / 40;
                double p[3] = {exp(a), exp(b), exp(-a - b)}, d = distance2(c, p);
                if (d < best) {
                    best = d;
                    at[0] = a;
                    at[1] = b;
                }
            }
    }
    double scale = distance2(c, (double[3]){0, 0, 0}) + 1;
    if (!(found <= best + 32 * (double)HK_EPSILON * scale))
        fail_msg("(%.9g %.9g %.9g): distance² %.12g, but %.12g at (%g, %g, %g)", c->s[0], c->s[1],
                 c->s[2], found, best, exp(at[0]), exp(at[1]), exp(-at[0] - at[1]));
}

static void test_nearest_point(void **state)
{
    (void)state;
    stretches cases[HK_LANES];
    for (int k = 0; k < 20000; k += HK_LANES) {
        for (int lane = 0; lane < HK_LANES; lane++) cases[lane] = random_case(k + lane);
        sl3_point r = nearest_of(cases);
        for (int lane = 0; lane < HK_LANES; lane++) {
            double p[3];
            for (int i = 0; i < 3; i++) p[i] = (double)r_lane(r.p.v[i], lane);
            check_conditions(&cases[lane], p, (double)r_lane(r.m, lane));
            if (k < 300) check_no_better(&cases[lane], distance2(&cases[lane], p));
            // The same bits as alone.
            stretches alone[HK_LANES];
            for (int q = 0; q < HK_LANES; q++) alone[q] = cases[lane];
            sl3_point same = nearest_of(alone);
            for (int i = 0; i < 3; i++)
                if (!(r_lane(same.p.v[i], 0) == r_lane(r.p.v[i], lane)))
                    fail_msg("lanes disturb each other");
        }
    }
}

// The distance is continuous everywhere: along lines through compressed, inverted and swollen
// states it changes by no more than the step.
static void test_distance_is_continuous(void **state)
{
    (void)state;
    for (int line = 0; line < 200; line++) {
        stretches a = random_case(line), b = random_case(line / 5);
        double before = 0, step = 0;
        enum { STEPS = 400 };
        for (int i = 0; i < 3; i++) step += pow((double)(b.s[i] - a.s[i]) / STEPS, 2);
        for (int k = 0; k <= STEPS; k++) {
            stretches at[HK_LANES];
            for (int lane = 0; lane < HK_LANES; lane++)
                for (int i = 0; i < 3; i++)
                    at[lane].s[i] = a.s[i] + (b.s[i] - a.s[i]) * (scalar)k / STEPS;
            sl3_point r = nearest_of(at);
            double p[3];
            for (int i = 0; i < 3; i++) p[i] = (double)r_lane(r.p.v[i], 0);
            double distance = sqrt(distance2(&at[0], p));
            if (k > 0 && !(fabs(distance - before) <=
                           1.0001 * sqrt(step) + 1e-3 * HK_EPSILON + 20 * (double)HK_EPSILON))
                fail_msg("the distance jumps by %g in a step of %g", distance - before, sqrt(step));
            before = distance;
        }
    }
}

static void test_extremes_are_finite(void **state)
{
    (void)state;
    static const double values[] = {0, 1e-30, 1e-12, 1e-6, 0.5, 1, 1.9, 2, 1e3, 1e6, 1e12};
    enum { COUNT = sizeof values / sizeof values[0] };
    for (int a = 0; a < COUNT; a++)
        for (int b = 0; b <= a; b++)
            for (int c = 0; c <= b; c++)
                for (int sign = -1; sign <= 1; sign += 2) {
                    stretches all[HK_LANES];
                    for (int lane = 0; lane < HK_LANES; lane++)
                        all[lane] = ordered(values[a], values[b], sign * values[c]);
                    sl3_point r = nearest_of(all);
                    mat3 scaling = m3_zero();
                    real flip[3] = {r_zero(), r_zero(), r_zero()}, twist[3] = {flip[0]};
                    twist[1] = twist[2] = flip[0];
                    sl3_stiffness(&r, r_set(1), &scaling, flip, twist);
                    double product = 1;
                    for (int i = 0; i < 3; i++) {
                        product *= (double)r_lane(r.p.v[i], 0);
                        assert_true(isfinite(r_lane(flip[i], 0)) && isfinite(r_lane(twist[i], 0)));
                        for (int j = 0; j < 3; j++)
                            assert_true(isfinite(r_lane(scaling.m[i][j], 0)));
                    }
                    if (!(fabs(product - 1) <= 32 * (double)HK_EPSILON))
                        fail_msg("(%g %g %g): product %g", values[a], values[b], sign * values[c],
                                 product);
                }
}

static int sl3_checks(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest_point),
        cmocka_unit_test(test_distance_is_continuous),
        cmocka_unit_test(test_extremes_are_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
