// An edited loaded shape: the factor of the old one warped, the old rest shape carried over, and
// factors made ahead.
#include "bodies.h"

#include "design/rest.h"
#include "design/rest_solver.h"
#include "linear/direct.h"
#include "model/model.h"

// ---------------------------------------------------------------- bodies

static hk_model *bar(bool attached, double gravity)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of("neo_hookean", 8.5e5, 0.45);
    hk_selector wall = select_box(-1e-6, -1, -1, 1e-6, 2, 2);
    hk_attach_def attach = hk_default_attach_def();
    attach.select = wall;
    attach.stiffness = 2000;
    body.fixes = &wall;
    body.fix_count = !attached;
    body.attachments = &attach;
    body.attachment_count = attached;
    return model_of(&body, box_mesh(1, 0.2, 0.2, 15, 3, 3), gravity);
}

// The shape with every vertex turned about z by an angle that grows along x from `first` to `last`,
// along an arc: what a drag of the end does.
static double *bent(const hk_model *model, double first, double last)
{
    int n = hk_model_vertex_count(model);
    const double *X = hk_model_rest_positions(model);
    double *x = malloc(3 * sizeof *x * (size_t)n);
    for (int v = 0; v < n; v++) {
        double s = X[3 * v], angle = first + (last - first) * s, at[2] = {0, 0};
        for (int k = 0; k < 200; k++) {  // the arc
            double a = first + (last - first) * s * (k + 0.5) / 200;
            at[0] += cos(a) * s / 200;
            at[1] += sin(a) * s / 200;
        }
        double y = X[3 * v + 1] - 0.1;
        x[3 * v] = at[0] - sin(angle) * y;
        x[3 * v + 1] = at[1] + cos(angle) * y;
        x[3 * v + 2] = X[3 * v + 2];
    }
    return x;
}

static double *random_vector(const hk_problem *p, uint32_t seed)
{
    double *v = HK_ZEROS(double, 4 * (size_t)p->vertex_count);
    for (int k = 0; k < p->vertex_count; k++)
        for (int i = 0; i < 3 && !p->held[k]; i++) {
            seed = seed * 1664525u + 1013904223u;
            v[4 * k + i] = (double)(seed >> 8) / (1 << 24) - 0.5;
        }
    return v;
}

// A solver that has the factor of the model's shape, and then the shape x.
static hk_rest_solver *moved_solver(hk_model *model, const double *x)
{
    hk_rest_solver *s = NULL;
    CHECK_OK(hk_rest_solver_create(model, 2, &s));
    CHECK_OK(hk_rest_solver_factor(s));
    CHECK_OK(hk_model_set_rest(model, x));
    CHECK_OK(hk_rest_solver_set_shape(s, model));
    return s;
}

static void warp_solver(hk_rest_solver *s)
{
    hk_made made;
    CHECK_OK(hk_precondition_warp(s->precondition, &made));
    assert_int_equal(made, HK_MADE);
    assert_true(s->precondition->warped);
}

// ---------------------------------------------------------------- the operator

// Turned and shifted as a whole, with the vertices that hold it: K⁻¹ itself, up to the single
// precision of the solves.
static void test_rigid_turns_are_exact(void **state)
{
    (void)state;
    for (int attached = 0; attached <= 1; attached++) {
        hk_model *model = bar(attached, -9.81);
        double *x = bent(model, 0.7, 0.7);
        for (int v = 0; v < hk_model_vertex_count(model); v++) x[3 * v + 2] += 0.3;
        hk_rest_solver *s = moved_solver(model, x);
        hk_problem *p = s->inverse->problem;
        warp_solver(s);
        double *f = random_vector(p, 1), *warped = random_vector(p, 2),
               *exact = random_vector(p, 3);
        hk_precondition_stiffness(s->precondition, f, warped);
        hk_made made;
        CHECK_OK(hk_precondition_factor(s->precondition, &made));
        assert_true(made == HK_MADE && !s->precondition->warped);
        hk_precondition_stiffness(s->precondition, f, exact);
        double off = 0, size = hk_inverse_norm(s->inverse, exact);
        for (int i = 0; i < 4 * p->vertex_count; i++) {
            off = fmax(off, fabs(warped[i] - exact[i]));
            if (p->held[i / 4]) assert_true(warped[i] == 0);
        }
        if (!(off <= 2e-5 * size)) fail_msg("off by %g of %g (attached: %d)", off, size, attached);
        hk_free(f);
        hk_free(warped);
        hk_free(exact);
        free(x);
        hk_rest_solver_free(s);
        hk_model_free(model);
    }
}

// aᵀ K⁻¹ b = bᵀ K⁻¹ a and aᵀ K⁻¹ a > 0, with a bend of 60 degrees.
static void test_it_is_symmetric(void **state)
{
    (void)state;
    for (int attached = 0; attached <= 1; attached++) {
        hk_model *model = bar(attached, -9.81);
        double *x = bent(model, 0, 1.05);
        hk_rest_solver *s = moved_solver(model, x);
        hk_problem *p = s->inverse->problem;
        warp_solver(s);
        double *a = random_vector(p, 1), *b = random_vector(p, 2), *Ka = random_vector(p, 3),
               *Kb = random_vector(p, 4);
        hk_precondition_stiffness(s->precondition, a, Ka);
        hk_precondition_stiffness(s->precondition, b, Kb);
        double ab = hk_problem_dot(p, a, Kb), ba = hk_problem_dot(p, b, Ka);
        double aa = hk_problem_dot(p, a, Ka), bb = hk_problem_dot(p, b, Kb);
        assert_true(aa > 0 && bb > 0);
        if (!(fabs(ab - ba) <= 1e-5 * sqrt(aa * bb))) fail_msg("%g and %g of %g", ab, ba, aa);
        hk_free(a);
        hk_free(b);
        hk_free(Ka);
        hk_free(Kb);
        free(x);
        hk_rest_solver_free(s);
        hk_model_free(model);
    }
}

// ---------------------------------------------------------------- edits

static hk_rest *solved(const hk_model *model, const char *method)
{
    hk_rest_def def = hk_default_rest_def();
    def.model = model;
    def.method = method;
    def.threads = 2;
    hk_rest *rest = NULL;
    hk_rest_report r;
    CHECK_OK(hk_rest_create(&def, &rest));
    hk_rest_warp_from(rest, 0);
    CHECK_OK(hk_rest_solve(rest, NULL, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    return rest;
}

static double farthest(const double *a, const double *b, int vertices)
{
    double most = 0;
    for (int v = 0; v < vertices; v++)
        most = fmax(most, hypot(hypot(a[3 * v] - b[3 * v], a[3 * v + 1] - b[3 * v + 1]),
                                a[3 * v + 2] - b[3 * v + 2]));
    return most;
}

// What a solver finds that knows of no other shape.
static double *found_afresh(const hk_model *model, const double *x)
{
    hk_model *own;
    int n = hk_model_vertex_count(model);
    CHECK_OK(hk_model_copy(model, &own));
    CHECK_OK(hk_model_set_rest(own, x));
    hk_rest *rest = solved(own, "auto");
    double *X = malloc(3 * sizeof *X * (size_t)n);
    memcpy(X, hk_rest_positions(rest), 3 * sizeof *X * (size_t)n);
    hk_rest_free(rest);
    hk_model_free(own);
    return X;
}

static void expect_found(const hk_rest *rest, const hk_model *model, const double *x)
{
    double *X = found_afresh(model, x);
    double off = farthest(X, hk_rest_positions(rest), hk_model_vertex_count(model));
    if (!(off <= 1e-8)) fail_msg("off by %g m", off);
    free(X);
}

// Bends of 10 and 45 degrees: the same rest shape, and no new factor.
static void test_edits_need_no_factor(void **state)
{
    (void)state;
    for (int k = 0; k < 6; k++) {
        const char *method = k < 4 ? "auto" : k == 4 ? "newton_gmres" : "fixed_point";
        hk_model *model = bar(k % 4 >= 2, -9.81);
        hk_rest *rest = solved(model, method);
        hk_rest_report r;
        double *x = bent(model, 0, k % 2 ? 0.8 : 0.17);
        CHECK_OK(hk_rest_set_shape(rest, x));
        CHECK_OK(hk_rest_solve(rest, NULL, &r));
        if (r.reason != HK_CONVERGED)
            fail_msg("%d: %s, %s (%s)", k, hk_reason_name(r.reason), r.detail, r.attempts);
        assert_non_null(strstr(r.attempts, "warped"));
        if (k < 5) assert_int_equal(r.factorisations, 0);
        assert_true(r.relative_residual <= 1e-8);
        expect_found(rest, model, x);
        free(x);
        hk_rest_free(rest);
        hk_model_free(model);
    }
}

// For small meshes a new factor is the faster way.
static void test_small_meshes_are_factored(void **state)
{
    (void)state;
    hk_model *model = bar(false, -9.81);
    hk_rest *rest = solved(model, "auto");
    hk_rest_report r;
    double *x = bent(model, 0, 0.8);
    int count = hk_model_vertex_count(model);
    for (int warp = 0; warp < 2; warp++) {
        hk_rest_warp_from(rest, warp ? count / 2 : count);
        CHECK_OK(hk_rest_set_shape(rest, warp ? hk_model_rest_positions(model) : x));
        CHECK_OK(hk_rest_solve(rest, NULL, &r));
        assert_int_equal(r.reason, HK_CONVERGED);
        assert_int_equal(r.factorisations, !warp);
        assert_true((strstr(r.attempts, "warped") != NULL) == warp);
    }
    free(x);
    hk_rest_free(rest);
    hk_model_free(model);
}

// Stretched and squeezed the tets do more than turn, and the old factor is worth little: a new one
// is made on the way.
static void test_far_edits_get_a_new_factor(void **state)
{
    (void)state;
    hk_model *model = bar(false, -2);
    hk_rest *rest = solved(model, "auto");
    hk_rest_report r;
    double *x = bent(model, 0, 2);
    for (int v = 0; v < hk_model_vertex_count(model); v++) {
        x[3 * v] *= 2;
        x[3 * v + 2] *= 0.25;
    }
    CHECK_OK(hk_rest_set_shape(rest, x));
    CHECK_OK(hk_rest_solve(rest, NULL, &r));
    if (r.reason != HK_CONVERGED)
        fail_msg("%s, %s (%s)", hk_reason_name(r.reason), r.detail, r.attempts);
    assert_non_null(strstr(r.attempts, ", new factor"));
    assert_int_equal(r.factorisations, 1);
    expect_found(rest, model, x);
    free(x);
    hk_rest_free(rest);
    hk_model_free(model);
}

// A drag: many small edits, each from where the last one ended.
static void test_a_drag(void **state)
{
    (void)state;
    hk_model *model = bar(false, -9.81);
    hk_rest *rest = solved(model, "auto");
    hk_rest_report r;
    int linear = 0;
    double *x = NULL;
    for (int k = 1; k <= 6; k++) {
        free(x);
        x = bent(model, 0, 0.05 * k);
        CHECK_OK(hk_rest_set_shape(rest, x));
        CHECK_OK(hk_rest_solve(rest, NULL, &r));
        assert_int_equal(r.reason, HK_CONVERGED);
        assert_int_equal(r.factorisations, 0);
        linear += r.linear_iterations;
    }
    if (!(linear <= 6 * 30)) fail_msg("%d iterations of GMRES", linear);
    expect_found(rest, model, x);
    // As it settles: the factor of the shape itself.
    CHECK_OK(hk_rest_refactor(rest));
    CHECK_OK(hk_rest_solve(rest, NULL, &r));
    assert_true(r.reason == HK_CONVERGED && r.factorisations == 0);
    assert_null(strstr(r.attempts, "warped"));
    expect_found(rest, model, x);
    free(x);
    hk_rest_free(rest);
    hk_model_free(model);
}

// ---------------------------------------------------------------- stops

typedef struct watch {
    int asked, most;
} watch;

static bool count_down(void *context, const hk_iteration *iteration)
{
    watch *w = context;
    (void)iteration;
    return ++w->asked < w->most;
}

// However early the monitor says no, the solve ends there, with a sound shape, and what comes after
// works.
static void test_stops_are_prompt(void **state)
{
    (void)state;
    hk_model *model = bar(false, -9.81);
    hk_rest *rest = solved(model, "auto");
    hk_rest_report r;
    int n = hk_model_vertex_count(model);
    double *x = bent(model, 0, 0.8);
    CHECK_OK(hk_rest_set_shape(rest, x));
    for (int most = 1; most <= 7; most += 2) {
        watch w = {0, most};
        hk_rest_set_monitor(rest, count_down, &w);
        CHECK_OK(hk_rest_solve(rest, NULL, &r));
        assert_int_equal(r.reason, HK_STOPPED);
        assert_int_equal(w.asked, most);
        for (int i = 0; i < 3 * n; i++) assert_true(isfinite(hk_rest_positions(rest)[i]));
        assert_true(r.least_j > 0);
    }
    // A factorisation that is stopped leaves the old one, which is still warped.
    for (int most = 1; most <= 3; most++) {
        watch w = {0, most};
        hk_rest_set_monitor(rest, count_down, &w);
        CHECK_OK(hk_rest_refactor(rest));
        assert_int_equal(w.asked, most);
    }
    hk_rest_set_monitor(rest, NULL, NULL);
    CHECK_OK(hk_rest_solve(rest, NULL, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    assert_non_null(strstr(r.attempts, "warped"));
    expect_found(rest, model, x);
    free(x);
    hk_rest_free(rest);
    hk_model_free(model);
}

// A shape that is none is refused, and the one before it is still there, factor and all.
static void test_refused_shapes_change_nothing(void **state)
{
    (void)state;
    hk_model *model = bar(false, -9.81);
    hk_rest *rest = solved(model, "auto");
    hk_rest_report r;
    double *x = bent(model, 0, 0.4), *flat = bent(model, 0, 0);
    CHECK_OK(hk_rest_set_shape(rest, x));
    CHECK_OK(hk_rest_solve(rest, NULL, &r));
    for (int v = 0; v < hk_model_vertex_count(model); v++) flat[3 * v + 2] = 0;
    assert_int_equal(hk_rest_set_shape(rest, flat), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "no sound volume"));
    flat[5] = NAN;
    assert_int_equal(hk_rest_set_shape(rest, flat), HK_BAD_INPUT);
    CHECK_OK(hk_rest_solve(rest, NULL, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    expect_found(rest, model, x);
    free(x);
    free(flat);
    hk_rest_free(rest);
    hk_model_free(model);
}

// Without a hold there is nothing to factor.
static void test_refactor_says_what_is_loose(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    hk_model *model = model_of(&body, box_mesh(1, 0.2, 0.2, 4, 1, 1), -9.81);
    hk_rest_def def = hk_default_rest_def();
    def.model = model;
    hk_rest *rest = NULL;
    CHECK_OK(hk_rest_create(&def, &rest));
    assert_int_equal(hk_rest_refactor(rest), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "fix at least three vertices"));
    assert_int_equal(hk_rest_refactor(NULL), HK_BAD_INPUT);
    hk_rest_free(rest);
    hk_model_free(model);
}

int main(void)
{
    if (!hk_direct_available()) {
        puts("this build has no direct solver, and no factor to warp");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rigid_turns_are_exact),
        cmocka_unit_test(test_it_is_symmetric),
        cmocka_unit_test(test_edits_need_no_factor),
        cmocka_unit_test(test_small_meshes_are_factored),
        cmocka_unit_test(test_far_edits_get_a_new_factor),
        cmocka_unit_test(test_a_drag),
        cmocka_unit_test(test_stops_are_prompt),
        cmocka_unit_test(test_refused_shapes_change_nothing),
        cmocka_unit_test(test_refactor_says_what_is_loose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
