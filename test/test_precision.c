// Single precision: forces have their digits relative to themselves at the smallest strains, of
// every law in all lanes, far from the origin, and of springs; rest is free of stress; and methods
// reach residuals far below what rounding of positions would leave.
#include "bodies.h"
#include "sheets.h"
#include "skipping.h"

#include "material/material.h"
#include "model/model.h"
#include "solver/view.h"
#include "term/tet.h"

// A box of two materials of one law, one of them with fibres, somewhere.
static hk_model *box_at(const char *law, double size, double away)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of(law, 2e11, 0.3);
    hk_region_def region = {.def_size = sizeof(hk_region_def),
                            .select = select_box(away, 0, 0, away + 0.5 * size, size, size),
                            .material = material_of(law, 1e11, 0.4)};
    region.material.fibre_stiffness = 3e10;
    region.material.fibre_direction[1] = 1;
    body.regions = &region;
    body.region_count = 1;
    body.transform.translate[0] = away;
    return model_of(&body, box_mesh(size, size, size, 3, 3, 3), 0);
}

// Strains of this size about rest.
static double *strained(const hk_model *m, double size, double strain)
{
    double *x = hk_calloc(4 * (size_t)m->vertex_count, sizeof *x);
    uint64_t seed = 5;
    for (int k = 0; k < m->vertex_count; k++)
        for (int i = 0; i < 3; i++)
            x[4 * k + i] = m->rest[3 * m->order[k] + i] + strain * size / 3 * noise(&seed);
    return x;
}

static double relative_error(const double *a, const double *b, size_t count)
{
    double error = 0, scale = 0;
    for (size_t k = 0; k < count; k++) {
        error += (a[k] - b[k]) * (a[k] - b[k]);
        scale += b[k] * b[k];
    }
    return sqrt(error / scale);
}

typedef struct both {  // precisions
    hk_model *model;
    hk_problem *problem;
    hk_view *view;
    double *x, *fine, *coarse;  // [vertex_count][4]
    double fine_energy, coarse_energy;
} both;

// Takes over model and x.
static both evaluate_both(hk_model *model, double *x)
{
    both b = {.model = model, .x = x};
    size_t count = 4 * (size_t)model->vertex_count;
    double scale;
    b.fine = hk_calloc(count, sizeof *b.fine);
    b.coarse = hk_calloc(count, sizeof *b.coarse);
    CHECK_OK(hk_problem_create(model, 1, NULL, &b.problem));
    CHECK_OK(hk_view_create(b.problem, HK_SINGLE, &b.view));
    CHECK_OK(hk_problem_begin_pose(b.problem));
    CHECK_OK(hk_view_begin(b.view, x));
    hk_problem_gradient(b.problem, x, b.fine, &b.fine_energy, &scale);
    hk_view_gradient(b.view, x, b.coarse, &b.coarse_energy, &scale);
    return b;
}

static void free_both(both *b)
{
    hk_view_free(b->view);
    hk_problem_free(b->problem);
    hk_model_free(b->model);
    hk_free(b->x);
    hk_free(b->fine);
    hk_free(b->coarse);
}

static void test_forces_at_small_strains(void **state)
{
    (void)state;
    for (int m = 0; m < solid_count(); m++)
        for (double strain = 1e-1; strain > 1e-10; strain /= 10) {
            hk_model *model = box_at(hk_material_name(m), 1, 0);
            both b = evaluate_both(model, strained(model, 1, strain));
            double error = relative_error(b.coarse, b.fine, 4 * (size_t)model->vertex_count);
            if (!(error <= 3e-6))
                fail_msg("%s, strain %g: force off by %.1e", hk_material_name(m), strain, error);
            // (Double precision has rounded its energy, too.)
            double off = fabs(b.coarse_energy - b.fine_energy) / b.fine_energy;
            if (!(off <= 3e-6 + 1e-14 / strain))
                fail_msg("%s, strain %g: energy off by %.1e", hk_material_name(m), strain, off);
            free_both(&b);
        }
}

static void test_all_lanes_have_these_digits(void **state)
{
    (void)state;
    const hk_lane_table *tables[8];
    int count = hk_lanes_available(tables, 8);
    const double strain = 1e-8;
    for (int m = 0; m < solid_count(); m++) {
        hk_model *model = box_at(hk_material_name(m), 1, 0);
        size_t size = 4 * (size_t)model->vertex_count;
        both b = evaluate_both(model, strained(model, 1, strain));
        float *q = hk_calloc(size, sizeof *q), *g = hk_calloc(size, sizeof *g);
        for (int k = 0; k < count; k++) {
            if (tables[k]->scalar_size != sizeof(float)) continue;
            hk_tet_term *term;
            CHECK_OK(hk_tet_term_create(model, tables[k], 1, &term));
            for (int n = 0; n < term->batch_count; n++)
                term->batches[n].base = b.view->frame.displacement;
            hk_view_narrow(b.view, b.x, q);
            hk_tet_gradient(term, q, g, NULL);
            for (size_t n = 0; n < size; n++) b.coarse[n] = (double)g[n];
            double error = relative_error(b.coarse, b.fine, size);
            if (!(error <= 3e-6))
                fail_msg("%s, %s: off by %.1e", hk_material_name(m), tables[k]->name, error);
            hk_tet_term_free(term);
        }
        hk_free(q);
        hk_free(g);
        free_both(&b);
    }
}

static void test_rest_is_free_of_stress(void **state)
{
    (void)state;
    for (int m = 0; m < solid_count(); m++) {
        hk_model *model = box_at(hk_material_name(m), 0.3, 0);
        both b = evaluate_both(model, strained(model, 1, 0));
        for (int k = 0; k < 4 * model->vertex_count; k++)
            if (b.coarse[k] != 0) fail_msg("%s: %g N at rest", hk_material_name(m), b.coarse[k]);
        free_both(&b);
    }
}

// 100 m of steel at 100 km: coordinates in single precision would be multiples of 8 mm.
static void test_far_from_the_origin(void **state)
{
    (void)state;
    hk_model *model = box_at("neo_hookean", 100, 1e5);
    both b = evaluate_both(model, strained(model, 100, 1e-5));
    double error = relative_error(b.coarse, b.fine, 4 * (size_t)model->vertex_count);
    if (!(error <= 3e-6)) fail_msg("off by %.1e", error);
    free_both(&b);
}

// Moved on from the base by as much as a step does: the error is that of the displacements.
static void test_away_from_the_base(void **state)
{
    (void)state;
    hk_model *model = box_at("neo_hookean", 1, 0);
    size_t size = 4 * (size_t)model->vertex_count;
    both b = evaluate_both(model, strained(model, 1, 1e-3));
    double *x = strained(model, 1, 2e-3), energy, scale;
    hk_problem_gradient(b.problem, x, b.fine, &energy, &scale);
    hk_view_gradient(b.view, x, b.coarse, &energy, &scale);
    double error = relative_error(b.coarse, b.fine, size);
    if (!(error <= 3e-6)) fail_msg("off by %.1e", error);
    // An update takes over a base that is far from a state that has settled, and says so.
    assert_false(hk_view_update(b.view, x));
    x[0] += 1e-9;
    assert_true(hk_view_update(b.view, x));
    assert_false(hk_view_update(b.view, x));
    double most = 0;
    for (size_t k = 0; k < size; k++) most = fmax(most, fabs(x[k] - b.view->frame.base[k]));
    assert_true(most < 1e-9);
    hk_free(x);
    free_both(&b);
}

// A sheet of springs whose stretches are far below the rounding of their lengths.
static void test_springs_at_small_stretches(void **state)
{
    (void)state;
    for (double strain = 1e-3; strain > 1e-10; strain /= 10) {
        hk_body_def body = hk_default_body_def();
        body.material = cloth_of(60, 0.02, 0.5);
        hk_model *model = model_of(&body, sheet_mesh(1, 1, 5, 5), 0);
        both b = evaluate_both(model, strained(model, 1, strain));
        double error = relative_error(b.coarse, b.fine, 4 * (size_t)model->vertex_count);
        if (!(error <= 3e-6)) fail_msg("strain %g: off by %.1e", strain, error);
        free_both(&b);
    }
}

// ---------------------------------------------------------------- steps

// The relative residual, in double precision, after a step from rest of a clamped bar.
static double residual_after(const char *method, const char *law, double young)
{
    const double h = 1.0 / 60;
    hk_selector fix = select_box(-1, -1, -1, 1e-3, 1, 1);
    hk_body_def body = hk_default_body_def();
    body.material = material_of(law, young, 0.3);
    body.fixes = &fix;
    body.fix_count = 1;
    hk_model *m = model_of(&body, box_mesh(1, 0.25, 0.25, 16, 4, 4), -9.81);
    hk_option single = {.name = "precision", .text = "single"};
    hk_world_def def = hk_default_world_def();
    def.model = m;
    def.step = h;
    def.threads = 1;
    def.solver.method = method;
    def.solver.iterations = 1000;
    def.solver.tolerance = 1e-9;
    def.solver.options = &single;
    def.solver.option_count = 1;
    hk_world *world;
    hk_step_report report;
    CHECK_OK(hk_world_create(&def, &world));
    CHECK_OK(hk_world_step(world, &report));
    hk_problem *p;
    CHECK_OK(hk_problem_create(m, 1, NULL, &p));
    memcpy(p->y, p->rest, 4 * sizeof(double) * (size_t)m->vertex_count);
    hk_stage_begin stage = {.weight = 1 / (h * h),
                            .terms = {.h = h, .from = p->rest, .state = p->rest}};
    CHECK_OK(hk_problem_begin_step(p, &stage));
    double *x = hk_calloc(4 * (size_t)m->vertex_count, sizeof *x), scale, energy;
    double *g = hk_calloc(4 * (size_t)m->vertex_count, sizeof *g);
    for (int k = 0; k < m->vertex_count; k++)
        memcpy(x + 4 * k, hk_world_positions(world) + 3 * m->order[k], 3 * sizeof *x);
    hk_problem_gradient(p, x, g, &energy, &scale);
    double residual = sqrt(hk_problem_dot(p, g, g)) / scale;
    hk_problem_free(p);
    hk_world_free(world);
    hk_model_free(m);
    hk_free(x);
    hk_free(g);
    return residual;
}

static void test_floor_of_methods(void **state)
{
    (void)state;
#ifndef HOOKE_DIRECT
    SKIP("%s", "this build has no direct solver");
#endif
    static const struct {
        const char *method, *law;
    } runs[] = {{"quasi_newton", "neo_hookean"},
                {"quasi_newton", "mooney_rivlin"},
                {"vbd", "corotated"},
                {"projective", "arap"}};
    static const double young[] = {1e3, 1e6, 1e9, 2e11};
    for (size_t k = 0; k < sizeof runs / sizeof runs[0]; k++)
        for (int e = 0; e < 4; e++) {
            double residual = residual_after(runs[k].method, runs[k].law, young[e]);
            if (!(residual <= 2e-4))
                fail_msg("%s, %s, %g Pa: relative residual %.1e", runs[k].method, runs[k].law,
                         young[e], residual);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forces_at_small_strains),
        cmocka_unit_test(test_all_lanes_have_these_digits),
        cmocka_unit_test(test_rest_is_free_of_stress),
        cmocka_unit_test(test_far_from_the_origin),
        cmocka_unit_test(test_away_from_the_base),
        cmocka_unit_test(test_springs_at_small_stretches),
        cmocka_unit_test(test_floor_of_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
