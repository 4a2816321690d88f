// The decisions of the methods (src/rules), one by one: what they answer at their bounds, and what
// they come to on problems small enough to know the answer.
#include "bodies.h"
#include "rules/continuation.h"
#include "rules/descent.h"
#include "rules/line_search.h"
#include "rules/start.h"
#include "rules/vbd.h"

// ---------------------------------------------------------------- rules.h

static void test_ends(void **state)
{
    (void)state;
    assert_true(rule_finite(0) && rule_finite(-1e308));
    assert_false(rule_finite(INFINITY) || rule_finite(-INFINITY) || rule_finite(NAN));
    assert_true(rule_converged(1e-3, 1e-4, 10) && rule_converged(0, 1e-4, 0));
    assert_false(rule_converged(1.001e-3, 1e-4, 10) || rule_converged(NAN, 1, 1));
    // Forces that overflow are no scale, and no force at all is none either.
    assert_false(rule_converged(1e154, 1e-4, INFINITY) || rule_converged(1e-300, 1, 0));
    assert_true(rule_relative(1, 4) == 0.25 && rule_relative(0, 0) == 0);
    assert_true(isinf(rule_relative(1, 0)) && isnan(rule_relative(1, INFINITY)));
}

static void test_verdicts(void **state)
{
    (void)state;
    static const struct {
        double now, before, noise;
        hk_verdict verdict;
    } cases[] = {
        {1, 2, 0.5, HK_FELL},      {2, 1, 0.5, HK_ROSE},      {1.4, 1, 0.5, HK_UNCLEAR},
        {1, 1.4, 0.5, HK_UNCLEAR}, {1, 1, 0, HK_UNCLEAR},     {-2, -1, 0, HK_FELL},
        {NAN, 1, 1e9, HK_ROSE},    {INFINITY, 1, 0, HK_ROSE}, {INFINITY, INFINITY, 0, HK_ROSE},
        {1, INFINITY, 0, HK_FELL}, {1, NAN, 0, HK_FELL}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        assert_int_equal(rule_compare(cases[k].now, cases[k].before, cases[k].noise),
                         cases[k].verdict);
    // In double precision they differ by more than rounding of what there is, and of bodies at
    // rest.
    assert_int_equal(rule_compare(1, 1 + 1e-12, rule_double_noise(0, 1, 1)), HK_FELL);
    assert_int_equal(rule_compare(1, 1 + 1e-12, rule_double_noise(1e-11, 1, 1)), HK_UNCLEAR);
    assert_int_equal(rule_compare(1 + 1e-15, 1, rule_double_noise(0, 1, 1)), HK_UNCLEAR);
    assert_true(rule_stays_near(2, 1) && !rule_stays_near(2.1, 1) && !rule_stays_near(NAN, 1));
    assert_true(rule_went_too_far(1.6, 1) && !rule_went_too_far(1.5, 1));
    assert_float_equal(rule_single_noise(3, -1e7), 4, 1e-12);
}

// After n iterations Chebyshev's acceleration leaves 1/T_n(1/ρ) of the mode that the iteration
// itself damps by ρ, the least that is possible for all modes within ±ρ (Golub & Varga 1961).
static void test_chebyshev(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        const double rho = 0.5 + 0.2 * k;
        double last = 1, x = 1, omega = 1, t[2] = {1, 1 / rho};
        for (int n = 0; n < 20; n++) {
            omega = rule_omega(rho, n, omega);
            double next = n == 0 ? rho * x : omega * (rho * x - last) + last;
            last = x;
            x = next;
            assert_true(fabs(x * t[1] - 1) < 1e-9);
            double after = 2 / rho * t[1] - t[0];
            t[0] = t[1];
            t[1] = after;
        }
    }
    assert_true(rule_omega(0, 5, 1) == 1);
    assert_true(rule_momentum(0) == 0 && rule_momentum(3) == 0.5 && rule_momentum(1000) < 1);
    assert_float_equal(rule_cautious(0.9, 1), 0.9, 1e-15);
    assert_float_equal(rule_cautious(0.9, 4), 0.6, 1e-15);
    assert_true(rule_cautious(0.9, 64) == 0);
}

// ---------------------------------------------------------------- line_search.h

// Within the noise of ε the derivatives at both ends tell whether a parabola fell.
static void test_slopes(void **state)
{
    (void)state;
    hk_search_state from = {.energy = 1, .residual = 1, .slope = -1e-12, .armijo = 1e-4};
    // The minimum of the parabola, a little beyond it, and as far again, where ε is what it was.
    assert_true(search_slope_fell(&from, 1, 1 + 1e-11, 0, 1e-10));
    assert_true(search_slope_fell(&from, 1, 1, 0.5e-12, 1e-10));
    assert_false(search_slope_fell(&from, 1, 1, 1e-12, 1e-10));
    // Energies that tell have their say, and so has what is not finite.
    assert_false(search_slope_fell(&from, 1, 1 + 1e-9, 0, 1e-10));
    assert_false(search_slope_fell(&from, 1e3, 1, 0, 1e-10));
    assert_false(search_slope_fell(&from, 1, NAN, 0, 1e-10));
    assert_false(search_slope_fell(&from, 1, 1, NAN, 1e-10));
}

static void test_step_lengths(void **state)
{
    (void)state;
    hk_search_state from = {.energy = 10, .residual = 4, .slope = -2, .armijo = 1e-4};
    assert_true(search_acceptable(&from, 1, 9, 100, 0));
    assert_true(search_acceptable(&from, 1, 10 - 1.9e-4 - 1e-5, 100, 0));
    assert_false(search_acceptable(&from, 1, 10 - 1.9e-4, 1, 0));
    assert_false(search_acceptable(&from, 1, NAN, 1, 1e9));
    assert_false(search_acceptable(&from, 1, 9, NAN, 1e9));
    assert_false(search_acceptable(&from, 1, INFINITY, 1, INFINITY));
    // Where the noise hides what the slope promises, a smaller gradient counts.
    assert_true(search_acceptable(&from, 1e-3, 10.001, 3.9, 0.01));
    assert_false(search_acceptable(&from, 1e-3, 10.001, 4.1, 0.01));
    assert_false(search_acceptable(&from, 1e-3, 10.02, 3.9, 0.01));
    assert_false(search_acceptable(&from, 1, 10.001, 3.9, 0.01));
    assert_true(search_shortest(1) < search_shortest(0));

    // ε = 10 − 2 t + 4 t²: the minimum is at 1/4; bounds are a tenth and a half.
    assert_float_equal(search_shorter(&from, 1, 12), 0.25, 1e-15);
    assert_float_equal(search_shorter(&from, 1, 1e6), 0.1, 1e-15);
    assert_float_equal(search_shorter(&from, 1, 8.5), 0.5, 1e-15);
    assert_float_equal(search_shorter(&from, 1, 8), 0.5, 1e-15);  // no curvature
    assert_float_equal(search_shorter(&from, 0.2, NAN), 0.1, 1e-15);
    assert_float_equal(search_shorter(&from, 0.2, INFINITY), 0.1, 1e-15);
}

// −log x − x + x³ has a barrier at 0: a full step of Newton's kind from far away ends behind it.
static void test_search_from_behind_a_barrier(void **state)
{
    (void)state;
    double x = 3, length = 1, energy = -log(x) - x + x * x * x, slope = -1 / x - 1 + 3 * x * x;
    hk_search_state from = {energy, fabs(slope), -slope * slope, 1e-4};
    int trials = 0;
    for (;; trials++) {
        double to = x - length * slope, there = to > 0 ? -log(to) - to + to * to * to : INFINITY;
        if (search_acceptable(&from, length, there, fabs(-1 / to - 1 + 3 * to * to), 0)) {
            assert_true(there < energy);
            break;
        }
        double shorter = search_shorter(&from, length, there);
        assert_true(shorter <= 0.5 * length && shorter >= 0.1 * length * (1 - 1e-12));
        length = shorter;
        assert_true(length > search_shortest(1));
    }
    assert_in_range(trials, 3, 8);
}

static void test_pairs(void **state)
{
    (void)state;
    assert_true(lbfgs_takes_pair(1e-3, 1, 1));
    assert_false(lbfgs_takes_pair(-1e-3, 1, 1) || lbfgs_takes_pair(0, 0, 0));
    assert_false(lbfgs_takes_pair(1e-9, 1, 1) || lbfgs_takes_pair(NAN, 1, 1));
}

// ---------------------------------------------------------------- start.h

static void test_starts(void **state)
{
    (void)state;
    static const struct {
        int kind;
        double a, b;
    } cases[] = {{HK_START_POSITION, 0, 0},
                 {HK_START_VELOCITY, 0.1, 0},
                 {HK_START_AUTO, 0.1, 0},
                 {HK_START_ACCELERATION, 0.1 + 0.09, -0.09}};
    for (int k = 0; k < 4; k++) {
        double a, b;
        start_factors(cases[k].kind, 0.1, 0.9, &a, &b);
        assert_float_equal(a, cases[k].a, 1e-15);
        assert_float_equal(b, cases[k].b, 1e-15);
    }
    assert_true(start_is_fit(HK_START_VELOCITY, 5, 0.1, 1));
    assert_false(start_is_fit(HK_START_VELOCITY, NAN, 0.1, 1));
    assert_false(start_is_fit(HK_START_VELOCITY, 5, 0, 1));
    assert_false(start_is_fit(HK_START_VELOCITY, 5, -1, 1));
    assert_false(start_is_fit(HK_START_VELOCITY, 5, NAN, 1));
    assert_false(start_is_fit(HK_START_AUTO, 5, 0.1, 1));
    assert_true(start_is_fit(HK_START_AUTO, 0.5, 0.1, 1));
    assert_false(start_is_wild(100, 1));
    assert_true(start_is_wild(102, 1));
    assert_false(start_is_wild(98, -1));
    assert_true(start_is_wild(100, -1));
    assert_false(start_is_wild(100, INFINITY));
    assert_true(start_is_fit(HK_START_AUTO, 5, 0.1, INFINITY));
}

// ε(d) = ½ 8 (d − 0.02)², and what is no valley.
static void test_best_time(void **state)
{
    (void)state;
    const double h = 0.01, probe = start_probe_time(0, 2, 4);
    assert_float_equal(probe, 5e-7, 1e-18);
    assert_true(start_probe_time(1, 2, 4) > 100 * probe);
    assert_float_equal(start_best_time(-8 * 0.02, 8 * (probe - 0.02), probe, h), 0.02, 1e-9);
    assert_true(start_best_time(-1, -1.1, probe, h) == h);  // curved downwards
    assert_true(start_best_time(-1, -1, probe, h) == h);
    assert_true(start_best_time(-8, 8 * (probe - 1), probe, h) == h);  // a hundred steps ahead
    assert_true(start_best_time(NAN, 1, probe, h) == h);
    assert_float_equal(start_external_part(2, 3, 12), 0.5, 1e-15);
    assert_true(start_external_part(2, 30, 12) == 1 && start_external_part(2, -3, 12) == 0);
    assert_true(start_external_part(2, 3, 0) == 0);
}

// ε along v and v₋₁: s·t + ½ tᵀ H t, whose slopes at t are s + H t.
typedef struct quadratic {
    double slope[2], h11, h12, h22;
} quadratic;

static void best_times(const quadratic *q, double probe, double before, double step, double *a,
                       double *b)
{
    const double ahead[2] = {q->slope[0] + q->h11 * probe, q->slope[1] + q->h12 * probe};
    const double aside[2] = {q->slope[0] + q->h12 * before, q->slope[1] + q->h22 * before};
    start_best_times(q->slope, ahead, probe, aside, before, step, a, b);
}

static void test_best_times(void **state)
{
    (void)state;
    const double h = 0.1;
    double a, b;
    // The minimum is where both slopes are 0.
    quadratic q = {{-3, 1}, 40, -12, 15};
    best_times(&q, 1e-3, 2e-3, h, &a, &b);
    assert_float_equal(q.slope[0] + q.h11 * a + q.h12 * b, 0, 1e-9);
    assert_float_equal(q.slope[1] + q.h12 * a + q.h22 * b, 0, 1e-9);
    assert_true(b != 0);
    // Without an earlier velocity it is the best along v alone, and without any, nothing.
    best_times(&q, 1e-3, 0, h, &a, &b);
    assert_float_equal(a, 3 / 40.0, 1e-9);
    assert_true(b == 0);
    best_times(&q, 0, 2e-3, h, &a, &b);
    assert_true(a == 0 && b == 0);
    // The same direction twice, or nearly so, is one direction.
    const double cosines[] = {1, -1, 0.99996, -0.99996};
    for (int k = 0; k < 4; k++) {
        quadratic same = {{-4, -4}, 50, 50 * cosines[k], 50};
        best_times(&same, 1e-3, 1e-3, h, &a, &b);
        assert_float_equal(a, 0.08, 1e-9);
        assert_true(b == 0);
    }
    // Curved downwards along one of them, or between them: the old rule along v.
    const quadratic saddles[] = {{{-4, 1}, 50, 3, -2}, {{-4, 1}, 50, 80, 50}};
    for (int k = 0; k < 2; k++) {
        best_times(&saddles[k], 1e-3, 1e-3, h, &a, &b);
        assert_float_equal(a, 0.08, 1e-9);
        assert_true(b == 0);
    }
    const quadratic downwards = {{-4, 1}, -50, 3, 2};
    best_times(&downwards, 1e-3, 1e-3, h, &a, &b);
    assert_true(a == h && b == 0);
    // No further than ten steps along either.
    const quadratic far[] = {{{-4, -60}, 50, 0, 50}, {{-60, -4}, 50, 0, 50}};
    best_times(&far[0], 1e-3, 1e-3, h, &a, &b);
    assert_float_equal(a, 0.08, 1e-9);
    assert_true(b == 0);
    best_times(&far[1], 1e-3, 1e-3, h, &a, &b);
    assert_true(a == h && b == 0);
    // What is not a number leads nowhere but to a step.
    const quadratic wrong = {{NAN, 1}, 50, 0, 50};
    best_times(&wrong, 1e-3, 1e-3, h, &a, &b);
    assert_true(a == h && b == 0);
}

// ---------------------------------------------------------------- continuation.h

// To a target in parts of at most `reach`; how many were refused.
static int go_in_parts(double reach, int *accepted)
{
    hk_parts p = parts_begin();
    int refused = 0;
    *accepted = 0;
    while (p.done < 1) {
        double next = parts_next(&p);
        assert_true(next > p.done && next <= 1);
        if (next - p.done <= reach) {
            parts_accept(&p);
            assert_true(p.done == next);
            ++*accepted;
        } else {
            refused++;
            if (!parts_refuse(&p)) return -1;
        }
    }
    assert_true(p.done == 1);
    return refused;
}

static void test_parts(void **state)
{
    (void)state;
    int accepted;
    hk_parts p = parts_begin();
    for (int k = 0; k < 3; k++) assert_true(parts_refuse(&p));
    for (int k = 0; k < 3; k++) parts_accept(&p);
    assert_true(p.done == 0.125 + 0.25 + 0.5 && p.size == 1);
    assert_int_equal(go_in_parts(1, &accepted), 0);
    assert_int_equal(accepted, 1);
    assert_int_equal(go_in_parts(0.5, &accepted), 1);  // all; half; then what is left
    assert_int_equal(accepted, 2);
    go_in_parts(0.1, &accepted);
    assert_in_range(accepted, 10, 17);  // of 1/16 at least
    assert_true(go_in_parts(HK_SMALLEST_PART, &accepted) > 0);
    assert_int_equal(accepted, 4096);
    assert_int_equal(go_in_parts(0.9 * HK_SMALLEST_PART, &accepted), -1);
    assert_int_equal(accepted, 0);
    assert_true(HK_SMALLEST_PART < HK_CAREFUL_START && HK_CAREFUL_START < HK_CAREFUL_END);
}

// ---------------------------------------------------------------- descent.h

static const hk_descent_rules USUAL = {.acceleration = HK_ACCELERATION_CHEBYSHEV,
                                       .check = 8,
                                       .refresh = 32,
                                       .phase_length = {2, 0, 3},
                                       .phase_rate = {0.5, 0.1, 0.9},
                                       .shrink = 0.7,
                                       .shortest = 1e-5,
                                       .tolerance = 1e-6,
                                       .longest = 1,
                                       .slowest = 0.02};

static void test_phases(void **state)
{
    (void)state;
    static const double rates[] = {0.5, 0.5, 0.9, 0.9, 0.9, 0.9, 0.9};
    for (int k = 0; k < 7; k++) {
        int first;
        assert_true(descent_phase(&USUAL, k, &first) == rates[k]);
        assert_int_equal(first, k == 0 || k == 2);  // the last goes on for good
    }
    assert_float_equal(descent_longest(2, HK_ACCELERATION_CHEBYSHEV), 0.8, 1e-15);
    assert_float_equal(descent_longest(2, HK_ACCELERATION_NESTEROV), 0.6, 1e-15);
    assert_true(descent_longest(1, HK_ACCELERATION_NONE) == 1);
}

static void test_acceleration_of_descent(void **state)
{
    (void)state;
    hk_descent_rules r = USUAL;
    hk_descent_state s = {0};
    int restarts;
    descent_begin(&r, &s);
    double omega = 1;
    for (int k = 0; k < 6; k++) {
        int n = k < 2 ? k : k - 2;
        omega = rule_omega(k < 2 ? 0.5 : 0.9, n, omega);
        assert_float_equal(descent_accelerate(&r, &s, k, &restarts), omega, 1e-15);
        assert_int_equal(restarts, k == 0 || k == 2);
    }
    // ρ is at most what inertia leaves, 1 − α λ/2; caution makes it less.
    r.slowest = 0.4;
    descent_restart(&s);
    descent_accelerate(&r, &s, 5, &restarts);
    assert_float_equal(descent_accelerate(&r, &s, 6, &restarts), rule_omega(0.8, 1, 1), 1e-15);
    s.caution = 2;
    descent_restart(&s);
    descent_accelerate(&r, &s, 5, &restarts);
    assert_float_equal(descent_accelerate(&r, &s, 6, &restarts), rule_omega(0.6, 1, 1), 1e-15);
    r.acceleration = HK_ACCELERATION_NESTEROV;
    descent_restart(&s);
    for (int k = 0; k < 4; k++)
        assert_true(descent_accelerate(&r, &s, k, &restarts) == rule_momentum(k) && !restarts);
    r.acceleration = HK_ACCELERATION_NONE;
    assert_true(descent_accelerate(&r, &s, 9, &restarts) == 1 && !restarts);
}

// α becomes shorter where ε rose, longer after some checks, and more patient where that was wrong.
static void test_lengths_of_descent(void **state)
{
    (void)state;
    hk_descent_rules r = USUAL;
    hk_descent_state s = {0};
    r.acceleration = HK_ACCELERATION_NONE;
    descent_begin(&r, &s);
    assert_true(s.length == 1 && s.patience == HK_DESCENT_PATIENCE);
    assert_true(descent_undo(&r, &s, 8, 0) && descent_undo(&r, &s, 8, 0));
    assert_float_equal(s.length, 0.49, 1e-15);
    descent_keep(&r, &s, 0);
    assert_true(s.carried == s.length && !s.grown);
    descent_keep(&r, &s, 0);
    assert_true(s.grown);
    assert_float_equal(s.length, 0.7, 1e-15);
    assert_true(descent_undo(&r, &s, 8, 0));
    assert_int_equal(s.patience, 2 * HK_DESCENT_PATIENCE);
    assert_float_equal(s.length, 0.49, 1e-15);
    assert_float_equal(s.carried, 0.49, 1e-15);  // 0.7 never worked
    assert_float_equal(s.working, 0.49, 1e-15);
    s.patience = 24;
    s.grown = 1;
    descent_shorten(&r, &s);
    assert_int_equal(s.patience, 48);
    for (int k = 0; k < 20; k++) {
        s.grown = 1;
        descent_shorten(&r, &s);
    }
    assert_int_equal(s.patience, HK_DESCENT_MOST_PATIENCE);
    // The next step begins with what worked in this one, a little longer.
    descent_end(&s, 0);
    double carried = s.carried;
    descent_begin(&r, &s);
    assert_float_equal(s.length, fmin(1, carried / 0.7), 1e-15);
}

// How many times a step can be undone before α is too short: 0.7^n < 1e-5.
static void test_descent_gives_up(void **state)
{
    (void)state;
    hk_descent_rules r = USUAL;
    hk_descent_state s = {0};
    descent_begin(&r, &s);
    // Momentum that gathered for longer than a check is blamed first.
    assert_true(descent_undo(&r, &s, 9, 0));
    assert_true(s.length == 1 && s.caution == 2 && s.since_restart == 0);
    int undone = 0;
    while (descent_undo(&r, &s, 8, 0)) undone++;
    assert_int_equal(undone, 32);
    assert_true(s.caution == 2 && s.carried == 0);
    // Rounding carries the α that worked over.
    s = (hk_descent_state){0};
    descent_begin(&r, &s);
    descent_keep(&r, &s, 0);
    while (descent_undo(&r, &s, 8, 1)) continue;
    descent_keep(&r, &s, 1);
    assert_true(s.carried == 1);
    s.patience = 64;
    descent_end(&s, 1);
    assert_true(s.carried == 1 && s.patience == HK_DESCENT_PATIENCE);
    for (int rounding = 0; rounding < 2; rounding++) {
        s = (hk_descent_state){0};
        descent_begin(&r, &s);
        descent_keep(&r, &s, 0);
        assert_true(descent_undo(&r, &s, 8, rounding));
        assert_true(s.length == 0.7 && s.carried == (rounding ? 1 : 0.7));
    }
    // A step that stalled carries over what it came to, one that ended what worked before that.
    for (int converged = 0; converged < 2; converged++) {
        s = (hk_descent_state){.carried = 0.1, .working = 0.5, .length = 0.2, .patience = 64};
        descent_end(&s, converged);
        assert_true(s.carried == (converged ? 0.5 : 0.1));
        assert_int_equal(s.patience, converged ? HK_DESCENT_PATIENCE : 64);
    }
}

// ---------------------------------------------------------------- vbd.h

static void test_acceleration_of_sweeps(void **state)
{
    (void)state;
    hk_vbd_rules r = {.acceleration = HK_ACCELERATION_CHEBYSHEV, .rho = 0.9, .slowest = 0.8};
    hk_vbd_state s = {0};
    assert_float_equal(vbd_slowest(0.1), 0.81, 1e-15);
    vbd_begin(&s);
    assert_true(s.length == 1 && s.patience == HK_VBD_PATIENCE && s.fresh);
    double omega = 1;
    for (int n = 0; n < 5; n++) {
        omega = rule_omega(0.8, n, omega);
        assert_float_equal(vbd_accelerate(&r, &s), omega, 1e-15);
    }
    r.acceleration = HK_ACCELERATION_NESTEROV;
    vbd_restart(&s);
    for (int n = 0; n < 5; n++) assert_true(vbd_accelerate(&r, &s) == rule_momentum(n));
    s.quiet = 1;
    assert_int_equal(vbd_acceleration(&r, &s), HK_ACCELERATION_NONE);
    assert_true(vbd_accelerate(&r, &s) == 1);
    assert_true(vbd_length(&s, 0) == 1 && vbd_length(&s, 1) == 0.5);
}

// Momentum, then care, then the end; or, while elements are blended, shorter steps.
static void test_sweeps_undone(void **state)
{
    (void)state;
    hk_vbd_rules r = {.acceleration = HK_ACCELERATION_NESTEROV, .steps = HK_VBD_AUTO};
    hk_vbd_state s = {0};
    vbd_begin(&s);
    assert_false(vbd_keep(&s, 0) || vbd_is_careful(&r, &s));
    assert_true(vbd_undo(&r, &s, 0) && !s.careful && s.caution == 2);
    assert_true(vbd_undo(&r, &s, 0) && s.careful && s.quiet && vbd_is_careful(&r, &s));
    assert_false(vbd_undo(&r, &s, 0));
    // Care ends after some checks; where it comes back at once it lasts longer.
    vbd_begin(&s);
    s.careful = s.quiet = 1;
    s.streak = 0;
    assert_true(vbd_keep(&s, 0));
    for (int k = 1; k < HK_VBD_PATIENCE; k++) assert_false(vbd_keep(&s, 0));
    assert_false(s.careful);
    assert_true(vbd_keep(&s, 1) && s.since_restart == 0);
    for (int n = 2; n <= 64; n *= 2) {
        s.careful = 0;
        s.streak = 1;
        s.fresh = 1;
        s.quiet = 0;
        assert_true(vbd_undo(&r, &s, 0));
        int wanted = HK_VBD_PATIENCE * n;
        assert_int_equal(s.patience, wanted < HK_VBD_MOST_PATIENCE ? wanted : HK_VBD_MOST_PATIENCE);
    }
    // Full steps know no care; careful ones take nothing else.
    r.steps = HK_VBD_FULL;
    assert_false(vbd_is_careful(&r, &s));
    r.steps = HK_VBD_CAREFUL;
    s.careful = 0;
    assert_true(vbd_is_careful(&r, &s));
    // Blended: 2^-14 is too short.
    r.steps = HK_VBD_AUTO;
    vbd_begin(&s);
    s.careful = s.quiet = 1;
    int undone = 0;
    for (; vbd_undo(&r, &s, 1); undone++) s.careful = s.quiet = 1;
    assert_int_equal(undone, 13);
    assert_true(s.length < HK_VBD_SHORTEST);
    vbd_keep(&s, 0);
    assert_float_equal(s.length, 2.0 / 16384, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_slopes),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_chebyshev),
        cmocka_unit_test(test_step_lengths),
        cmocka_unit_test(test_search_from_behind_a_barrier),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_starts),
        cmocka_unit_test(test_best_times),
        cmocka_unit_test(test_best_time),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_acceleration_of_descent),
        cmocka_unit_test(test_lengths_of_descent),
        cmocka_unit_test(test_descent_gives_up),
        cmocka_unit_test(test_acceleration_of_sweeps),
        cmocka_unit_test(test_sweeps_undone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
