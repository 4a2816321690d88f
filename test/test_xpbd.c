// XPBD: with enough sweeps a substep is a step of backward Euler, for every material, sheets,
// attachments, moving vertices and air; with enough substeps a single sweep will do. Momentum is
// kept however few sweeps there are. What it cannot do is refused.
#include "sheets.h"

#include "failing_alloc.h"
#include "model/model.h"

static hk_world *make_world(hk_model *model, const char *method, double step, int iterations,
                            int substeps, const char *precision, const hk_damping *damping)
{
    hk_option options[2] = {{"substeps", substeps, NULL}, {"precision", 0, precision}};
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = step;
    def.threads = 1;
    if (damping) def.damping = *damping;
    def.solver.method = method;
    if (strcmp(method, "xpbd") == 0) {
        def.solver.iterations = iterations;
        def.solver.options = options;
        def.solver.option_count = 2;
    }
    hk_world *world;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

static void march(hk_world *world, int steps)
{
    for (int k = 0; k < steps; k++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(world, &r));
        if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED)
            fail_msg("step %d: %s, %s", k, hk_reason_name(r.reason), r.detail);
    }
}

static double distance(const hk_world *a, const hk_world *b)
{
    double most = 0;
    for (int k = 0; k < 3 * hk_model_vertex_count(hk_world_model(a)); k++)
        most = fmax(most, fabs(hk_world_positions(a)[k] - hk_world_positions(b)[k]));
    return most;
}

static double velocity_distance(const hk_world *a, const hk_world *b)
{
    double most = 0;
    for (int k = 0; k < 3 * hk_model_vertex_count(hk_world_model(a)); k++)
        most = fmax(most, fabs(hk_world_velocities(a)[k] - hk_world_velocities(b)[k]));
    return most;
}

// A beam that swings down, or whose end is turned.
static hk_model *beam(const char *material, double fibre, bool moved)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of(material, 4e5, 0.35);
    body.material.fibre_stiffness = fibre;
    body.material.fibre_direction[0] = 1;
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    hk_move_def move = {.def_size = sizeof(hk_move_def),
                        .select = select_box(2, -1, -1, 2, 2, 2),
                        .motion = {.axis = {1, 0, 0},
                                   .center = {2, 0.5, 0.5},
                                   .degrees = 20,
                                   .translate = {0.1, 0, 0},
                                   .over = 0.1}};
    body.fixes = &wall;
    body.fix_count = 1;
    body.moves = &move;
    body.move_count = moved;
    return model_of(&body, box_mesh(2, 1, 1, 4, 2, 2), -9.81);
}

// ---------------------------------------------------------------- agreement

enum { SUBSTEPS = 2 };

// Two steps of 20 ms in two substeps each are four steps of 10 ms.
static void check_agreement(const char *what, hk_model *a, hk_model *b, const hk_damping *damping,
                            int sweeps, double allowed)
{
    hk_world *truth = make_world(a, "newton", 0.01, 0, 1, NULL, damping);
    hk_world *world = make_world(b, "xpbd", 0.02, sweeps, SUBSTEPS, "double", damping);
    march(truth, 4);
    march(world, 2);
    double away = distance(world, truth), faster = velocity_distance(world, truth);
    if (!(away <= allowed && faster <= 100 * allowed))
        fail_msg("%s: %.1e m and %.1e m/s from Newton", what, away, faster);
    hk_world_free(world);
    hk_world_free(truth);
}

static void test_many_sweeps_are_backward_euler(void **state)
{
    (void)state;
    for (int m = 0; m < solid_count(); m++) {
        if (SANITIZED && m % 4 != 3) continue;
        const char *name = hk_material_name(m);
        check_agreement(name, beam(name, 0, false), beam(name, 0, false), NULL, 400, 1e-6);
    }
    check_agreement("fibres", beam("neo_hookean", 5e5, false), beam("neo_hookean", 5e5, false),
                    NULL, 600, 1e-6);
    check_agreement("moved", beam("corotated", 0, true), beam("corotated", 0, true), NULL, 400,
                    1e-6);
    const hk_damping air = {.air_per_vertex = 20};
    check_agreement("air", beam("arap", 0, false), beam("arap", 0, false), &air, 400, 1e-6);
}

static hk_model *cloth(void)
{
    hk_body_def body = hk_default_body_def();
    body.material = cloth_of(200, 1e-3, 0.3);
    hk_attach_def corner = {.def_size = sizeof(hk_attach_def),
                            .select = select_box(0, -1, 0, 0, 1, 0),
                            .stiffness = 500,
                            .motion = {.axis = {0, 1, 0}, .translate = {0, 0.1, 0}, .over = 0.05}};
    hk_selector other = select_box(1, -1, 0, 1, 1, 0);
    body.attachments = &corner;
    body.attachment_count = 1;
    body.fixes = &other;
    body.fix_count = 1;
    return model_of(&body, sheet_mesh(1, 1, 6, 6), -9.81);
}

static void test_sheets_and_attachments(void **state)
{
    (void)state;
    check_agreement("cloth", cloth(), cloth(), NULL, 1000, 1e-5);
}

// One sweep a substep: the error against backward Euler with the same steps falls.
static void test_many_substeps_converge(void **state)
{
    (void)state;
    double before = INFINITY;
    for (int substeps = 5; substeps <= 80; substeps *= 4) {
        hk_world *truth =
            make_world(beam("corotated", 0, false), "newton", 0.01 / substeps, 0, 1, NULL, NULL);
        march(truth, 5 * substeps);
        hk_world *world =
            make_world(beam("corotated", 0, false), "xpbd", 0.01, 1, substeps, "double", NULL);
        march(world, 5);
        double away = distance(world, truth);
        printf("%d substeps: %.2e m from backward Euler with the same steps\n", substeps, away);
        assert_true(away < 0.5 * before);
        before = away;
        hk_world_free(world);
        hk_world_free(truth);
    }
    assert_true(before < 1e-5);
}

// ---------------------------------------------------------------- what is kept

// Linear and angular momentum, and their scales.
static void momenta(const hk_world *world, double p[6], double *size)
{
    const hk_model *m = hk_world_model(world);
    const double *x = hk_world_positions(world), *v = hk_world_velocities(world);
    memset(p, 0, 6 * sizeof *p);
    *size = 0;
    for (int k = 0; k < m->vertex_count; k++)
        for (int i = 0; i < 3; i++) {
            int j = (i + 1) % 3, l = (i + 2) % 3;
            p[i] += m->mass[k] * v[3 * k + i];
            p[3 + i] += m->mass[k] * (x[3 * k + j] * v[3 * k + l] - x[3 * k + l] * v[3 * k + j]);
            *size += m->mass[k] * fabs(v[3 * k + i]);
        }
}

static void test_momentum_is_kept(void **state)
{
    (void)state;
    static const char *const precisions[] = {"double", "single"};
    for (int k = 0; k < 2; k++) {
        hk_body_def body = hk_default_body_def();
        body.material = material_of("neo_hookean", 1e5, 0.4);
        hk_model *model = model_of(&body, box_mesh(1, 1, 1, 3, 3, 3), 0);
        int count = 3 * hk_model_vertex_count(model);
        hk_world *world = make_world(model, "xpbd", 0.01, 1, 5, precisions[k], NULL);
        double *v = malloc(sizeof *v * (size_t)count), before[6], after[6], size;
        uint64_t seed = 3;
        for (int i = 0; i < count; i++) v[i] = 0.5 * noise(&seed) + (i % 3 == 0);
        CHECK_OK(hk_world_set_velocities(world, v));
        free(v);
        momenta(world, before, &size);
        march(world, 20);
        momenta(world, after, &size);
        // Linear momentum to rounding, angular as well as backward Euler keeps it.
        for (int i = 0; i < 6; i++) {
            double allowed = i >= 3 ? 1e-3 : k == 0 ? 1e-12 : 3e-5;
            if (!(fabs(after[i] - before[i]) <= allowed * size))
                fail_msg("%s: momentum %d from %.12g to %.12g", precisions[k], i, before[i],
                         after[i]);
        }
        hk_world_free(world);
    }
}

static void test_held_vertices_move_with_the_time(void **state)
{
    (void)state;
    hk_world *world = make_world(beam("corotated", 0, true), "xpbd", 0.02, 1, 5, "single", NULL);
    march(world, 10);
    const double *x = hk_world_positions(world), *v = hk_world_velocities(world);
    const hk_model *m = hk_world_model(world);
    for (int k = 0; k < m->vertex_count; k++) {
        if (m->hold[k] == HK_FREE) continue;
        double end[3];
        hk_model_held_position(m, k, hk_world_time(world), end);
        for (int i = 0; i < 3; i++) {
            assert_true(fabs(x[3 * k + i] - end[i]) < 1e-12);
            assert_true(fabs(v[3 * k + i]) < 1e-9);
        }
    }
    hk_world_free(world);
}

// Inside out where the law is not defined, without conversion: it recovers, without a NaN.
static void test_undefined_starts_recover(void **state)
{
    (void)state;
    static const char *const materials[] = {"neo_hookean", "neo_hookean_wy", "fung"};
    for (int m = 0; m < 3; m++) {
        hk_body_def body = hk_default_body_def();
        body.material = material_of(materials[m], 2e5, 0.3);
        hk_model *model = model_of(&body, box_mesh(1, 1, 1, 3, 3, 3), 0);
        int count = 3 * hk_model_vertex_count(model);
        double *x = malloc(sizeof *x * (size_t)count);
        for (int k = 0; k < count; k++)
            x[k] = (k % 3 == 2 ? -1 : 1) * hk_model_rest_positions(model)[k];
        const hk_damping damping = {.ether = 2};
        hk_world *world = make_world(model, "xpbd", 1.0 / 30, 1, 5, "single", &damping);
        CHECK_OK(hk_world_set_positions(world, x));
        free(x);
        march(world, 150);
        int tets = hk_model_tet_count(hk_world_model(world));
        double *j = malloc(sizeof *j * (size_t)tets);
        CHECK_OK(hk_world_field(world, "J", j));
        for (int t = 0; t < tets; t++)
            if (!(j[t] > 0.9)) fail_msg("%s: tet %d has J %g", materials[m], t, j[t]);
        free(j);
        hk_world_free(world);
    }
}

// Nothing is left to move, and no force is left over: all the same that is no solution.
static void test_undefined_elements_are_not_converged(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    hk_selector left = select_box(0, 0, 0, 0, 1, 1);
    hk_move_def move = hk_default_move_def();
    body.material = material_of("neo_hookean", 2e5, 0.3);
    body.fixes = &left;
    body.fix_count = 1;
    move.select = select_box(1, 0, 0, 1, 1, 1);
    move.motion.translate[0] = -2;
    body.moves = &move;
    body.move_count = 1;
    hk_world *world = make_world(model_of(&body, box_mesh(1, 1, 1, 1, 1, 1), 0), "xpbd", 0.01, 1, 5,
                                 "double", NULL);
    hk_step_report r;
    hk_energy energy;
    CHECK_OK(hk_world_step(world, &r));
    CHECK_OK(hk_world_energy(world, &energy, NULL));
    assert_true(isinf(energy.elastic));
    assert_int_equal(r.reason, HK_ITERATION_LIMIT);
    assert_non_null(strstr(r.detail, "not defined"));
    assert_true(isnan(r.relative_residual));
    hk_world_free(world);
}

// ---------------------------------------------------------------- the rest

static void test_refusals(void **state)
{
    (void)state;
    hk_world *world = make_world(beam("corotated", 0, false), "xpbd", 0.01, 1, 5, "single", NULL);
    assert_int_equal(hk_world_pose(world, NULL), HK_UNSUPPORTED);
    assert_non_null(strstr(hk_error(), "xpbd"));
    assert_non_null(strstr(hk_error(), "newton"));
    hk_world_free(world);
    hk_model *model = beam("corotated", 0, false);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.solver.method = "xpbd";
    def.damping.viscous = 0.01;
    world = NULL;
    assert_int_equal(hk_world_create(&def, &world), HK_UNSUPPORTED);
    assert_null(world);
    assert_non_null(strstr(hk_error(), "viscous"));
    hk_model_free(model);
}

static bool stop_at_second(void *context, const hk_iteration *now)
{
    *(int *)context = now->iteration;
    return now->iteration < 2;
}

static void test_stopping_keeps_the_state(void **state)
{
    (void)state;
    hk_world *world = make_world(beam("corotated", 0, false), "xpbd", 0.01, 1, 5, "single", NULL);
    march(world, 3);
    double before = hk_world_positions(world)[3], last;
    int seen = 0;
    hk_step_report r;
    hk_world_set_monitor(world, stop_at_second, &seen);
    CHECK_OK(hk_world_step(world, &r));
    assert_int_equal(r.reason, HK_STOPPED);
    assert_int_equal(seen, 2);
    last = hk_world_positions(world)[3];
    assert_true(before == last && fabs(hk_world_time(world) - 0.03) < 1e-12);
    hk_world_free(world);
}

static void test_bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    double *first = NULL;
    for (int threads = 1; threads <= 4; threads *= 2) {
        hk_body_def body = hk_default_body_def();
        body.material = material_of("stable_neo_hookean", 1e6, 0.4);
        hk_selector wall = select_box(0, -1, -1, 0, 1, 1);
        body.fixes = &wall;
        body.fix_count = 1;
        hk_model *model = model_of(&body, box_mesh(1, 0.3, 0.3, 20, 7, 7), -9.81);
        hk_world_def def = hk_default_world_def();
        def.model = model;
        def.threads = threads;
        def.solver.method = "xpbd";
        def.solver.iterations = 3;
        hk_world *world;
        CHECK_OK(hk_world_create(&def, &world));
        size_t bytes = 24 * (size_t)hk_model_vertex_count(model);
        hk_model_free(model);
        march(world, 3);
        if (!first) {
            first = malloc(bytes);
            memcpy(first, hk_world_positions(world), bytes);
        }
        assert_memory_equal(first, hk_world_positions(world), bytes);
        hk_world_free(world);
    }
    free(first);
}

static void test_memory(void **state)
{
    (void)state;
    failing_alloc_install(0);
    hk_world *world = make_world(beam("arap", 1e5, true), "newton", 0.01, 0, 1, NULL, NULL);
    hk_solver_def def = {.def_size = sizeof(hk_solver_def), .method = "xpbd", .iterations = 2};
    for (int n = 1;; n++) {
        failing_alloc_next(n);
        hk_status status = hk_world_set_solver(world, &def);
        failing_alloc_next(0);
        if (status == HK_OK) break;
        assert_int_equal(status, HK_NO_MEMORY);
        assert_string_equal(hk_world_method(world), "newton");
    }
    march(world, 2);
    int before = failing_alloc_count();
    march(world, 5);
    assert_int_equal(failing_alloc_count(), before);
    hk_world_free(world);
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_sweeps_are_backward_euler),
        cmocka_unit_test(test_sheets_and_attachments),
        cmocka_unit_test(test_many_substeps_converge),
        cmocka_unit_test(test_momentum_is_kept),
        cmocka_unit_test(test_held_vertices_move_with_the_time),
        cmocka_unit_test(test_undefined_starts_recover),
        cmocka_unit_test(test_undefined_elements_are_not_converged),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_stopping_keeps_the_state),
        cmocka_unit_test(test_bits_do_not_depend_on_threads),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
