// Going in shares: a scripted method stands in for Newton, so that each turn is seen.
#include "bodies.h"

#include "solver/continuation.h"

// Converges while it goes at most `reach` of the way at once, and never beyond `wall`.
typedef struct script {
    hk_view *view;
    double reach, wall, travel;
    hk_reason refusal;
    double left;          // relative residual of these
    double good, target;  // shares: the last that converged, and the one asked for
    int calls, placed;
} script;

static hk_status minimise(void *solver, double *x, hk_solve_report *report)
{
    script *s = solver;
    s->calls++;
    report->iterations++;
    bool fine = s->target - s->good <= s->reach + 1e-12 && s->target <= s->wall;
    report->reason = fine ? HK_CONVERGED : s->refusal;
    report->energy = fine ? 1 : INFINITY;
    report->relative_residual = fine ? 0 : s->left;
    snprintf(report->detail, sizeof report->detail, "%s", fine ? "" : "a tet is in the way");
    if (fine)
        s->good = s->target;
    else
        x[0] += 77;  // what a failed attempt leaves must not stay
    return HK_OK;
}

static void place(void *context, double share, double *x)
{
    script *s = context;
    s->target = share;
    s->placed++;
    x[0] = s->travel * share;  // the first held vertex follows
}

typedef struct fixture {
    hk_problem *problem;
    hk_model *model;
    double *x, *good, *step;
} fixture;

static fixture make_fixture(void)
{
    // All held: the problem itself has nothing to say.
    hk_selector all = {.kind = HK_SELECT_ALL};
    hk_body_def body = hk_default_body_def();
    body.material.model = "stable_neo_hookean";
    body.fixes = &all;
    body.fix_count = 1;
    fixture f = {.model = model_of(&body, box_mesh(1, 1, 1, 1, 1, 1), 0)};
    CHECK_OK(hk_problem_create(f.model, 1, NULL, &f.problem));
    size_t n = 4 * (size_t)f.problem->vertex_count;
    f.x = aligned_alloc(64, n * 8);
    f.good = aligned_alloc(64, n * 8);
    f.step = aligned_alloc(64, n * 8);
    memcpy(f.x, f.problem->rest, n * 8);
    return f;
}

static void free_fixture(fixture *f)
{
    hk_problem_free(f->problem);
    hk_model_free(f->model);
    free(f->x);
    free(f->good);
    free(f->step);
}

static hk_view *view_of(void *solver)
{
    return ((script *)solver)->view;
}

static hk_solve_report go(fixture *f, script *s, bool split_unconverged, int *steps)
{
    static const hk_method method = {.name = "script", .minimise = minimise, .view = view_of};
    hk_continuation c = {.problem = f->problem,
                         .method = &method,
                         .solver = s,
                         .place = place,
                         .context = s,
                         .split_unconverged = split_unconverged,
                         .good = f->good,
                         .step = f->step};
    hk_solve_report report = {0};
    *steps = -1;
    CHECK_OK(hk_view_create(f->problem, HK_DOUBLE_PRECISION, &s->view));
    CHECK_OK(hk_continue(&c, f->x, &report, steps));
    hk_view_free(s->view);
    return report;
}

static void test_at_once(void **state)
{
    (void)state;
    fixture f = make_fixture();
    script s = {.reach = 1, .wall = 1, .travel = 0.01, .refusal = HK_INVERTED};
    int steps;
    hk_solve_report r = go(&f, &s, true, &steps);
    assert_int_equal(r.reason, HK_CONVERGED);
    assert_int_equal(steps, 1);
    assert_int_equal(s.calls, 1);
    assert_true(s.good == 1);
    free_fixture(&f);
}

static void test_in_shares(void **state)
{
    (void)state;
    fixture f = make_fixture();
    script s = {.reach = 0.25, .wall = 1, .travel = 0.01, .refusal = HK_INVERTED};
    int steps;
    hk_solve_report r = go(&f, &s, true, &steps);
    assert_int_equal(r.reason, HK_CONVERGED);
    assert_true(s.good == 1);
    assert_int_equal(steps, 4);
    assert_int_equal(r.iterations, s.calls);  // in all
    assert_true(f.x[0] == 0.01);
    free_fixture(&f);
}

// An exhausted budget is split in quasistatics only, and only far from the end; a stop never is,
// and neither is a limit of precision.
static void test_what_is_split(void **state)
{
    (void)state;
    static const struct {
        hk_reason reason;
        bool quasistatic, split;
        double left;  // relative residual
    } cases[] = {
        {HK_INVERTED, false, true, 1},           {HK_NOT_FINITE, false, true, 1},
        {HK_ITERATION_LIMIT, false, false, 1},   {HK_STALLED, false, false, 1},
        {HK_ITERATION_LIMIT, true, true, 1},     {HK_STALLED, true, true, 1},
        {HK_ITERATION_LIMIT, true, false, 1e-3}, {HK_STALLED, true, false, 1e-3},
        {HK_PRECISION_LIMIT, true, false, 1},    {HK_STOPPED, true, false, 1},
        {HK_STOPPED, false, false, 1},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        fixture f = make_fixture();
        script s = {.reach = 0.5,
                    .wall = 1,
                    .travel = 0.01,
                    .refusal = cases[k].reason,
                    .left = cases[k].left};
        int steps;
        hk_solve_report r = go(&f, &s, cases[k].quasistatic, &steps);
        assert_int_equal(r.reason, cases[k].split ? HK_CONVERGED : cases[k].reason);
        assert_int_equal(s.calls, cases[k].split ? 3 : 1);
        free_fixture(&f);
    }
}

// A share that starts inside out is not even tried while shares are large.
static void test_careful_start(void **state)
{
    (void)state;
    fixture f = make_fixture();
    script s = {.reach = 1, .wall = 1, .travel = 2, .refusal = HK_INVERTED};
    int steps;
    hk_solve_report r = go(&f, &s, true, &steps);
    // Half way the first vertex is beyond its neighbours: shares become small there, and go on
    // once the body is inside out.
    assert_int_equal(r.reason, HK_CONVERGED);
    assert_true(s.good == 1);
    assert_true(steps > 3 && steps == s.calls);
    free_fixture(&f);
}

// Stuck: x is the last good state, and energy and residual are those of it.
static void test_stuck(void **state)
{
    (void)state;
    for (int quasistatic = 0; quasistatic < 2; quasistatic++) {
        fixture f = make_fixture();
        script s = {.reach = 1, .wall = 0.3, .travel = 0.01, .refusal = HK_INVERTED};
        int steps;
        hk_solve_report r = go(&f, &s, quasistatic, &steps);
        assert_int_equal(r.reason, quasistatic ? HK_LOAD_STEP_LIMIT : HK_INVERTED);
        assert_true(s.good > 0.29 && s.good <= 0.3);
        assert_true(f.x[0] == 0.01 * s.good);
        assert_non_null(strstr(r.detail, "of the way: a tet is in the way"));
        assert_true(r.energy == hk_problem_energy(f.problem, f.x));
        assert_true(isfinite(r.energy) && isfinite(r.residual) && isfinite(r.relative_residual));
        assert_true(steps > 1);
        free_fixture(&f);
    }
}

// The pose of a body that cannot be pressed flat: pressed as far as it goes, and so reported.
static void test_stuck_pose_keeps_the_last_good_state(void **state)
{
    (void)state;
    hk_selector left = select_box(0, 0, 0, 0, 1, 1);
    hk_move_def push = {.def_size = sizeof(hk_move_def),
                        .select = select_box(1, 0, 0, 1, 1, 1),
                        .motion = {.translate = {-1.25, 0, 0}}};
    hk_body_def body = hk_default_body_def();
    body.fixes = &left;
    body.fix_count = 1;
    body.moves = &push;
    body.move_count = 1;
    hk_world *world = world_of(model_of(&body, box_mesh(1, 1, 1, 2, 2, 2), 0), 0.01, 1);
    hk_step_report r;
    CHECK_OK(hk_world_pose(world, &r));
    assert_int_equal(r.reason, HK_LOAD_STEP_LIMIT);
    assert_true(r.load_steps > 1);
    hk_energy energy;
    CHECK_OK(hk_world_energy(world, &energy, NULL));
    assert_true(isfinite(energy.elastic) && energy.elastic > 0);
    assert_true(energy.elastic == r.energy.elastic);
    // The moved face is where the share of the way says: 0.8 of it would be flat.
    double share = 0;
    assert_int_equal(sscanf(r.detail, "stuck at %lf of the way", &share), 1);
    assert_true(share > 0.5 && share < 0.8);
    const hk_model *model = hk_world_model(world);
    for (int v = 0; v < hk_model_vertex_count(model); v++)
        if (hk_model_rest_positions(model)[3 * v] == 1)
            assert_true(fabs(hk_world_positions(world)[3 * v] - 1 + 1.25 * share) < 1e-3);
    hk_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_in_shares),
        cmocka_unit_test(test_what_is_split),
        cmocka_unit_test(test_careful_start),
        cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_stuck_pose_keeps_the_last_good_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
