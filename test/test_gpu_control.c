// What steers the methods on a device (src/gpu/control.h, vbd_control.h, quasi_newton.h), on the
// host: a small problem is led through start, checks, undone iterations, and every end there is.
#include "bodies.h"
#include "gpu/quasi_newton.h"
#include "gpu/vbd_control.h"

// ---------------------------------------------------------------- a small problem

// f = Σ λᵢ xᵢ²/2 over a few modes, and no further than `wall`, where it is not defined.
enum { MODES = 3 };
typedef struct valley {
    double lambda[MODES], wall;
    double x[MODES], last[MODES], good[MODES], g[MODES];
} valley;

static const valley GENTLE = {.lambda = {1, 0.3, 0.05}, .wall = INFINITY, .x = {4, -3, 5}};

// What the device sums up at x.
static void look(valley *v, double *sums)
{
    double energy = 0, residual = 0, far = 0;
    for (int i = 0; i < MODES; i++) {
        v->g[i] = v->lambda[i] * v->x[i];
        energy += v->g[i] * v->x[i] / 2;
        residual += v->g[i] * v->g[i];
        far = fmax(far, fabs(v->x[i]));
    }
    memset(sums, 0, HK_SUM_WIDTH * sizeof *sums);
    sums[HK_SUM_ELASTIC] = far < v->wall ? 0.25 * energy : INFINITY;
    sums[HK_SUM_QUADRATIC] = 0.5 * energy;
    sums[HK_SUM_TERMS] = 0.25 * energy;
    sums[HK_SUM_RESIDUAL] = residual;
    sums[HK_SUM_ELASTIC_FORCE] = 1;
    sums[HK_SUM_EXTERNAL_FORCE] = 9;
    sums[HK_SUM_INERTIA_FORCE] = 25;
    sums[HK_SUM_LEAST_J] = 1;
}

static hk_gpu_settings settings_of(int acceleration)
{
    return (hk_gpu_settings){.rules = {.acceleration = acceleration,
                                       .check = 4,
                                       .refresh = 32,
                                       .phase_length = {1000},
                                       .phase_rate = {0.9},
                                       .shrink = 0.7,
                                       .shortest = 1e-5,
                                       .tolerance = 1e-6,
                                       .longest = descent_longest(1, acceleration),
                                       .slowest = 0.01},
                             .rounding = 1e-12,
                             .noise = 1e-15};
}

// ---------------------------------------------------------------- descent

typedef struct tally {
    int kept, undone;
} tally;

static void restore(valley *v, hk_gpu_control *c)
{
    if (!c->from_good) return;
    memcpy(v->x, v->good, sizeof v->x);
    memcpy(v->last, v->good, sizeof v->last);
    c->from_good = 0;
    double sums[HK_SUM_WIDTH];
    look(v, sums);
}

static void iterate(valley *v, const hk_gpu_settings *s, const hk_gpu_control *c)
{
    for (int i = 0; i < MODES; i++) {
        double x = v->x[i], ahead = x - (double)c->length * v->g[i], w = (double)c->weight;
        if (s->rules.acceleration == HK_ACCELERATION_NESTEROV) {
            v->x[i] = ahead + w * (ahead - v->last[i]);
            v->last[i] = ahead;
        } else {
            v->x[i] = v->last[i] + w * (ahead - v->last[i]);
            v->last[i] = x;
        }
    }
}

// As the kernels go about it (descent.cu), for at most so many iterations.
static tally descend(valley *v, const hk_gpu_settings *s, hk_gpu_control *c, int most)
{
    double sums[HK_SUM_WIDTH];
    tally n = {0};
    control_begin(s, c, 0);
    look(v, sums);
    control_start(s, c, sums);
    memcpy(v->good, v->x, sizeof v->good);
    for (int k = 0; k < most && c->state == HK_GPU_GOING; k++) {
        restore(v, c);
        iterate(v, s, c);
        c->iterations++;
        look(v, sums);
        if ((k + 1) % s->rules.check == 0) {
            double energy = control_energy(sums), before = c->energy;
            int good = c->good;
            control_check(s, c, sums, energy, before);
            bool kept = c->good != good;
            assert_true(kept ? c->energy == energy : c->energy == before);
            assert_true(c->energy <= before);
            assert_true(kept || (c->from_good && c->refresh) || c->state != HK_GPU_GOING);
            if (kept) memcpy(v->good, v->x, sizeof v->good);
            n.kept += kept;
            n.undone += !kept;
        }
        control_advance(s, c, k);
    }
    return n;
}

static void test_descent_converges(void **state)
{
    (void)state;
    static const int kinds[] = {HK_ACCELERATION_CHEBYSHEV, HK_ACCELERATION_NESTEROV,
                                HK_ACCELERATION_NONE};
    int iterations[3];
    for (int k = 0; k < 3; k++) {
        valley v = GENTLE;
        hk_gpu_settings s = settings_of(kinds[k]);
        hk_gpu_control c = {0};
        descend(&v, &s, &c, 2000);
        assert_int_equal(c.state, HK_GPU_CONVERGED);
        assert_float_equal(c.scale, 3, 1e-12);  // of where it ended
        assert_true(c.residual <= 1e-6 * c.scale);
        iterations[k] = c.iterations;
        // A step that begins there has nothing to do.
        memcpy(v.x, v.good, sizeof v.x);
        descend(&v, &s, &c, 2000);
        assert_int_equal(c.state, HK_GPU_CONVERGED);
        assert_int_equal(c.iterations, 0);
    }
    assert_true(iterations[0] < iterations[2] && iterations[1] < iterations[2]);
}

// Stiffer than it was thought to be: steps are undone and become shorter, and the next step begins
// with what worked.
static void test_descent_shortens(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        valley v = GENTLE;
        hk_gpu_settings s = settings_of(k);
        hk_gpu_control c = {0};
        v.lambda[0] = 5;
        tally n = descend(&v, &s, &c, 5000);
        assert_int_equal(c.state, HK_GPU_CONVERGED);
        assert_true(n.undone > 0 && n.kept > 0);
        assert_true(c.descent.length < 0.5);
        v = GENTLE;
        v.lambda[0] = 5;
        tally again = descend(&v, &s, &c, 5000);
        assert_int_equal(c.state, HK_GPU_CONVERGED);
        assert_true(again.undone <= n.undone);
    }
}

// A wall in the way: what lands behind it has no energy, and is undone.
static void test_descent_and_a_wall(void **state)
{
    (void)state;
    valley v = GENTLE;
    hk_gpu_settings s = settings_of(HK_ACCELERATION_NONE);
    hk_gpu_control c = {0};
    v.lambda[0] = 4;
    v.wall = 6;
    v.x[0] = 5;
    tally n = descend(&v, &s, &c, 5000);
    assert_int_equal(c.state, HK_GPU_CONVERGED);
    assert_true(n.undone > 0);
}

static void test_ends_of_descent(void **state)
{
    (void)state;
    hk_gpu_settings s = settings_of(HK_ACCELERATION_NONE);
    double sums[HK_SUM_WIDTH], bad[HK_SUM_WIDTH];
    valley v = GENTLE;
    look(&v, sums);
    // The start has no energy, or no gradient.
    hk_gpu_control c = {0};
    memcpy(bad, sums, sizeof bad);
    bad[HK_SUM_TERMS] = INFINITY;
    control_begin(&s, &c, 0);
    control_start(&s, &c, bad);
    assert_int_equal(c.state, HK_GPU_UNDEFINED);
    control_start(&s, &c, sums);  // it stays so
    assert_int_equal(c.state, HK_GPU_UNDEFINED);
    assert_true(isinf(c.energy));
    memcpy(bad, sums, sizeof bad);
    bad[HK_SUM_RESIDUAL] = NAN;
    control_begin(&s, &c, 1);
    assert_int_equal(c.state, HK_GPU_GOING);
    control_start(&s, &c, bad);
    assert_int_equal(c.state, HK_GPU_NOT_FINITE);
    assert_int_equal(c.good, 1);
    // A stage that follows one that failed does nothing.
    c.lost = 1;
    control_begin(&s, &c, 0);
    assert_int_equal(c.state, HK_GPU_NOT_FINITE);

    // What is not finite, or higher, is undone until α is too short. Close to rounding that is the
    // limit of precision, elsewhere it is stuck.
    static const double values[] = {NAN, INFINITY, 1e9};
    for (int k = 0; k < 6; k++) {
        c = (hk_gpu_control){0};
        control_begin(&s, &c, 0);
        control_start(&s, &c, sums);
        hk_gpu_settings coarse = s;
        if (k >= 3) coarse.rounding = c.residual / (HK_SINGLE_ROUNDING_MARGIN / 2);
        memcpy(bad, sums, sizeof bad);
        bad[k % 3 == 0 ? HK_SUM_RESIDUAL : HK_SUM_ELASTIC] = values[k % 3];
        if (k % 3 == 0) bad[HK_SUM_QUADRATIC] -= 1;  // lower, but of no use
        int checks = 0;
        double energy = c.energy;
        for (; c.state == HK_GPU_GOING; checks++)
            control_check(&coarse, &c, bad, control_energy(bad), c.energy);
        assert_int_equal(checks, 33);  // 0.7³³ < 1e-5
        assert_int_equal(c.state, k < 3 ? HK_GPU_STALLED : HK_GPU_LIMITED);
        assert_true(c.energy == energy && c.good == 0);
    }
}

// Energies that single precision cannot tell apart: the gradient may grow for a while, not for
// long.
static void test_unclear_checks(void **state)
{
    (void)state;
    hk_gpu_settings s = settings_of(HK_ACCELERATION_NONE);
    s.noise = 1;
    valley v = GENTLE;
    double sums[HK_SUM_WIDTH];
    look(&v, sums);
    hk_gpu_control c = {0};
    control_begin(&s, &c, 0);
    control_start(&s, &c, sums);
    double energy = c.energy;
    sums[HK_SUM_QUADRATIC] += 0.5;
    sums[HK_SUM_RESIDUAL] *= 3.9;
    control_check(&s, &c, sums, control_energy(sums), energy);
    assert_int_equal(c.good, 1);
    sums[HK_SUM_RESIDUAL] *= 4.1;
    control_check(&s, &c, sums, control_energy(sums), c.energy);
    assert_int_equal(c.good, 1);
    assert_true(c.from_good && c.descent.length < s.rules.longest);
    assert_true(control_noise(&s, sums) > s.noise);
}

// Iteration k + 1 is what is prepared after k: its phase, and its ω.
static void test_phases_on_the_device(void **state)
{
    (void)state;
    hk_gpu_settings s = settings_of(HK_ACCELERATION_CHEBYSHEV);
    s.rules.phase_length[0] = 2;
    s.rules.phase_length[1] = 1000;
    s.rules.phase_rate[1] = 0.6;
    hk_gpu_control c = {0};
    control_begin(&s, &c, 0);
    double omega = 1;
    for (int k = 0; k < 6; k++) {
        omega = rule_omega(k < 2 ? 0.9 : 0.6, k < 2 ? k : k - 2, omega);
        assert_float_equal(c.weight, omega, 1e-6);
        assert_float_equal(c.length, s.rules.longest, 1e-6);
        control_advance(&s, &c, k);
    }
    // ω of the next iteration is counted when a check comes: one as long as `check` has gathered
    // no momentum beyond it.
    for (int extra = 0; extra < 2; extra++) {
        control_begin(&s, &c, 0);
        c.descent.since_restart = s.rules.check + 1 + extra;
        control_undo(&s, &c);
        assert_true((c.descent.length < s.rules.longest) == (extra == 0));
        assert_true(c.descent.caution == 1 + extra);
    }
}

static void test_fit_starts(void **state)
{
    (void)state;
    valley v = GENTLE;
    double here[HK_SUM_WIDTH], guess[HK_SUM_WIDTH];
    look(&v, here);
    memcpy(guess, here, sizeof guess);
    guess[HK_SUM_QUADRATIC] += 1;
    assert_true(control_fit(HK_START_VELOCITY, guess, NULL));
    assert_false(control_fit(HK_START_AUTO, guess, here));
    guess[HK_SUM_QUADRATIC] -= 2;
    assert_true(control_fit(HK_START_AUTO, guess, here));
    guess[HK_SUM_LEAST_J] = 0;
    assert_false(control_fit(HK_START_AUTO, guess, here));
    guess[HK_SUM_LEAST_J] = 1;
    guess[HK_SUM_TERMS] = NAN;
    assert_false(control_fit(HK_START_VELOCITY, guess, NULL));
}

// ---------------------------------------------------------------- vbd

// Sweeps of one mode after the other, each too far by `factor`; the problem couples nothing, so a
// sweep with factor 1 is the answer.
static hk_gpu_vbd_control sweep_down(double factor, int acceleration, int steps, int most)
{
    hk_gpu_settings s = settings_of(acceleration);
    hk_vbd_rules r = {.acceleration = acceleration,
                      .check = 4,
                      .steps = steps,
                      .rho = 0.5,
                      .slowest = vbd_slowest(0.01)};
    hk_gpu_control chosen = {.state = HK_GPU_GOING};
    hk_gpu_vbd_control c = {0};
    valley v = GENTLE;
    double sums[HK_SUM_WIDTH], before[MODES];
    vbd_control_begin(&c, &chosen);
    look(&v, sums);
    control_start(&s, &c.shared, sums);
    memcpy(v.good, v.x, sizeof v.x);
    memcpy(v.last, v.x, sizeof v.x);
    for (int done = 0; done < most && c.shared.state == HK_GPU_GOING; done += r.check) {
        bool careful = vbd_is_careful(&r, &c.vbd);
        for (int k = 0; k < r.check; k++) {
            double w = vbd_control_weight(&r, &c, k);
            int kind = vbd_acceleration(&r, &c.vbd);
            memcpy(before, v.x, sizeof before);
            for (int i = 0; i < MODES; i++) {
                double x = v.x[i] * (1 - (careful ? fmin(factor, 1.5) : factor));
                bool nesterov = kind == HK_ACCELERATION_NESTEROV;
                v.x[i] = (nesterov ? x : v.last[i]) + w * (x - v.last[i]);
                if (kind == HK_ACCELERATION_NONE) v.x[i] = x;
                v.last[i] = nesterov ? x : before[i];
            }
        }
        look(&v, sums);
        double energy = c.shared.energy;
        int decision = vbd_control_check(&s, &r, &c, sums, r.check);
        assert_true(!(decision & HK_VBD_KEEP) != !(decision & HK_VBD_UNDO));
        assert_true(c.shared.energy <= energy);
        memcpy(decision & HK_VBD_KEEP ? v.good : v.x, decision & HK_VBD_KEEP ? v.x : v.good,
               sizeof v.x);
        if (decision & HK_VBD_RESTART) memcpy(v.last, v.x, sizeof v.x);
    }
    return c;
}

static void test_sweeps(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        hk_gpu_vbd_control c = sweep_down(0.8, kind, HK_VBD_AUTO, 400);
        assert_int_equal(c.shared.state, HK_GPU_CONVERGED);
        assert_false(c.vbd.careful);
        // Too far by more than twice: only care helps.
        c = sweep_down(2.5, kind, HK_VBD_AUTO, 4000);
        assert_int_equal(c.shared.state, HK_GPU_CONVERGED);
        c = sweep_down(2.5, kind, HK_VBD_FULL, 4000);
        assert_int_equal(c.shared.state, HK_GPU_STALLED);
        c = sweep_down(2.5, kind, HK_VBD_CAREFUL, 4000);
        assert_int_equal(c.shared.state, HK_GPU_CONVERGED);
    }
}

// Close to rounding what cannot be lowered is at the limit of precision.
static void test_sweeps_end(void **state)
{
    (void)state;
    hk_gpu_settings s = settings_of(HK_ACCELERATION_NESTEROV);
    hk_vbd_rules r = {.acceleration = HK_ACCELERATION_NESTEROV, .check = 4};
    for (int k = 0; k < 2; k++) {
        valley v = GENTLE;
        double sums[HK_SUM_WIDTH];
        hk_gpu_control chosen = {.state = HK_GPU_GOING};
        hk_gpu_vbd_control c = {0};
        look(&v, sums);
        vbd_control_begin(&c, &chosen);
        control_start(&s, &c.shared, sums);
        if (k) s.rounding = c.shared.residual / (HK_SINGLE_ROUNDING_MARGIN / 2);
        sums[k ? HK_SUM_ELASTIC : HK_SUM_RESIDUAL] = NAN;
        int checks = 0;
        for (; c.shared.state == HK_GPU_GOING; checks++)
            assert_true(vbd_control_check(&s, &r, &c, sums, 4) & HK_VBD_UNDO);
        assert_int_equal(c.shared.state, k ? HK_GPU_LIMITED : HK_GPU_STALLED);
        assert_int_equal(c.shared.iterations, 4 * checks);
        assert_int_equal(checks, 2);  // full, careful
    }
}

// ---------------------------------------------------------------- quasi_newton

static hk_qn_control begun(const hk_gpu_settings *s, const hk_qn_settings *q, double *sums)
{
    hk_gpu_control start = {.state = HK_GPU_GOING};
    hk_qn_control c;
    valley v = GENTLE;
    look(&v, sums);
    qn_begin(&c, &start);
    qn_decide(s, q, &c, sums, 1);
    assert_true(c.accepted && c.slot == -1 && c.evaluations == 1);
    return c;
}

static void test_slots(void **state)
{
    (void)state;
    hk_qn_settings q = {.window = 3};
    hk_qn_control c = {.count = 0};
    hk_qn_memory m = {0};
    for (int n = 0; n < 7; n++) {
        hk_qn_dots d = {.single = {1, 1, 1, 0.5, 1}};
        // The next one that is free, or the oldest one's.
        int wanted = n < 3 ? n : c.count == 3 ? c.pair[2] : c.slot;
        qn_take_slot(&q, &c);
        assert_int_equal(c.slot, wanted);
        for (int i = 0; i < HK_QN_MOST; i++) d.of[HK_QN_YS][i] = 0.5;
        if (n == 4) d.single[HK_QN_SY] = -1;  // no curvature: left out, and so is the oldest
        qn_add_pair(&c, &m, &d);
        assert_int_equal(c.count, n < 3 ? n + 1 : n == 4 ? 2 : 3);
        if (n != 4) assert_int_equal(c.pair[0], c.slot);
    }
    q.window = 0;
    qn_take_slot(&q, &c);
    assert_int_equal(c.slot, -1);
    int count = c.count;
    qn_add_pair(&c, &m, &(hk_qn_dots){0});
    assert_int_equal(c.count, count);
}

// A quadratic in one dimension, A half its curvature: after one pair the direction is Newton's.
static void test_one_pair_is_newton(void **state)
{
    (void)state;
    const double k = 4, a = 2, x[2] = {3, 2.5};
    hk_qn_control c = {.count = 0, .slot = 0, .base.state = HK_GPU_GOING};
    hk_qn_memory m = {0};
    double s = x[1] - x[0], y = k * s, z = y / a, g = k * x[1], p = g / a;
    hk_qn_dots d = {.single = {g * p, s * s, y * y, s * y, y * z}};
    d.of[HK_QN_SG][0] = s * g;
    d.of[HK_QN_YP][0] = y * p;
    d.of[HK_QN_YS][0] = s * y;
    qn_direct(&c, &m, &d, HK_QN_MOST);
    double direction = -p + (double)m.of_z[0] * z + (double)m.of_s[0] * s;
    assert_float_equal(direction, -x[1], 1e-6);
    assert_float_equal(c.slope, -g * x[1], 1e-9);
    assert_true(c.redirect && !c.fresh && c.length == 1 && c.count == 1);
    // A direction that leads uphill is forgotten with all that made it.
    hk_qn_dots uphill = d;
    c.slot = -1;
    uphill.of[HK_QN_YP][0] = -100;
    qn_direct(&c, &m, &uphill, HK_QN_MOST);
    assert_true(c.count == 0 && c.fresh && c.slope == -g * p && c.base.state == HK_GPU_GOING);
    // And where −p does, too, that is the end.
    uphill.single[HK_QN_GP] = -1;
    qn_direct(&c, &m, &uphill, HK_QN_MOST);
    assert_int_equal(c.base.state, HK_GPU_STALLED);
}

static void test_ends_of_searches(void **state)
{
    (void)state;
    hk_gpu_settings s = settings_of(HK_ACCELERATION_NONE);
    hk_qn_settings q = {.window = 5, .budget = 2, .most = 10};
    double sums[HK_SUM_WIDTH], next[HK_SUM_WIDTH];
    hk_qn_control c = begun(&s, &q, sums);
    c.slope = -1;
    c.steepest = 1;
    // Iterations are counted, evaluations are limited.
    memcpy(next, sums, sizeof next);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(c.base.state, HK_GPU_GOING);
        next[HK_SUM_QUADRATIC] -= 1;
        qn_decide(&s, &q, &c, next, 0);
        assert_true(c.accepted && c.base.energy == control_energy(next));
        c.slope = -1;
        c.length = 1;
    }
    assert_int_equal(c.base.state, HK_GPU_SPENT);
    qn_decide(&s, &q, &c, next, 0);
    assert_true(!c.accepted && c.base.iterations == 2);
    c = begun(&s, &q, sums);
    c.slope = -1;
    c.steepest = 1;
    memcpy(next, sums, sizeof next);
    next[HK_SUM_QUADRATIC] += 1;
    while (c.base.state == HK_GPU_GOING) {
        double length = c.length;
        qn_decide(&s, &q, &c, next, 0);
        assert_true(!c.accepted && c.length < length);
    }
    assert_int_equal(c.base.state, HK_GPU_SPENT);
    assert_int_equal(c.evaluations, 10);
    // The last evaluation may be one that is accepted.
    hk_qn_settings once = {.window = 5, .budget = 9, .most = 2};
    c = begun(&s, &once, sums);
    c.slope = -1;
    memcpy(next, sums, sizeof next);
    next[HK_SUM_QUADRATIC] -= 1;
    qn_decide(&s, &once, &c, next, 0);
    assert_true(c.accepted && c.base.state == HK_GPU_SPENT);
    // A residual below the tolerance ends it; where nothing helps one close to rounding is at the
    // limit of precision.
    c = begun(&s, &q, sums);
    c.slope = -1;
    memcpy(next, sums, sizeof next);
    next[HK_SUM_QUADRATIC] -= 1;
    next[HK_SUM_RESIDUAL] = 1e-12;
    qn_decide(&s, &q, &c, next, 0);
    assert_int_equal(c.base.state, HK_GPU_CONVERGED);
    c = begun(&s, &q, sums);
    s.rounding = c.base.residual / (HK_SINGLE_ROUNDING_MARGIN / 2);
    qn_give_up(&s, &c);
    assert_int_equal(c.base.state, HK_GPU_LIMITED);
    s.rounding = 0;
    c = begun(&s, &q, sums);
    qn_give_up(&s, &c);
    assert_int_equal(c.base.state, HK_GPU_STALLED);
}

// Where blend weights changed ε is another function, and the end is decided by that.
static void test_blended_searches(void **state)
{
    (void)state;
    hk_gpu_settings s = settings_of(HK_ACCELERATION_NONE);
    hk_qn_settings q = {.window = 5, .budget = 20, .most = 50, .blends = 1};
    double sums[HK_SUM_WIDTH], now[HK_SUM_WIDTH];
    for (int k = 0; k < 5; k++) {
        static const int states[] = {HK_GPU_GOING, HK_GPU_UNDEFINED, HK_GPU_NOT_FINITE,
                                     HK_GPU_CONVERGED, HK_GPU_GOING};
        hk_qn_control c = begun(&s, &q, sums);
        memcpy(now, sums, sizeof now);
        now[HK_SUM_QUADRATIC] += 3;  // it may be higher
        if (k == 1) now[HK_SUM_ELASTIC] = INFINITY;
        if (k == 2) now[HK_SUM_RESIDUAL] = NAN;
        if (k == 3) now[HK_SUM_RESIDUAL] = 1e-13;
        if (k == 4) c.accepted = 0;  // nothing was: nothing changes
        qn_blended(&s, &q, &c, now);
        assert_int_equal(c.base.state, states[k]);
        if (k == 0 || k == 3) assert_true(c.base.energy == control_energy(now));
        if (k == 4) assert_true(c.base.energy == control_energy(sums));
    }
    hk_qn_control c = begun(&s, &q, sums);
    c.slope = -1;
    memcpy(now, sums, sizeof now);
    now[HK_SUM_QUADRATIC] -= 1;
    now[HK_SUM_RESIDUAL] = 1e-13;
    qn_decide(&s, &q, &c, now, 0);
    assert_true(c.accepted && c.base.state == HK_GPU_GOING);  // it is not over yet
    c = begun(&s, &q, sums);
    c.base.iterations = 20;
    qn_blended(&s, &q, &c, sums);
    assert_int_equal(c.base.state, HK_GPU_SPENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descent_converges),  cmocka_unit_test(test_descent_shortens),
        cmocka_unit_test(test_descent_and_a_wall), cmocka_unit_test(test_ends_of_descent),
        cmocka_unit_test(test_unclear_checks),     cmocka_unit_test(test_phases_on_the_device),
        cmocka_unit_test(test_fit_starts),         cmocka_unit_test(test_sweeps),
        cmocka_unit_test(test_sweeps_end),         cmocka_unit_test(test_slots),
        cmocka_unit_test(test_one_pair_is_newton), cmocka_unit_test(test_ends_of_searches),
        cmocka_unit_test(test_blended_searches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
