// ADMM: its local step solves what it claims to for every material and lane type; x never becomes
// worse; sheets, attachments, fibres and damping come to Newton's answer; the weight changes the
// way, not the end.
#include "sheets.h"
#include "term_lists.h"

#include "world/world.h"

// ---------------------------------------------------------------- the local step

enum { TETS = 37, VERTICES = 4 * TETS };

// Tets that share no vertex: each can be given any deformation gradient.
static hk_model *loose_tets(const char *material)
{
    static const double corner[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    double x[VERTICES][3];
    int32_t tets[TETS][4];
    for (int t = 0; t < TETS; t++)
        for (int c = 0; c < 4; c++) {
            for (int i = 0; i < 3; i++) x[4 * t + c][i] = corner[c][i] + (i == 0 ? 2 * t : 0);
            tets[t][c] = 4 * t + c;
        }
    hk_mesh *mesh = NULL;
    CHECK_OK(hk_mesh_from_arrays(VERTICES, &x[0][0], TETS, &tets[0][0], 0, NULL, &mesh));
    hk_body_def body = hk_default_body_def();
    body.material = material_of(material, 1e5, 0.3);
    return model_of(&body, mesh, 0);
}

// Positions with the gradients F, in the type of the lanes.
static void place(const hk_model *m, double F[TETS][9], int scalar_size, void *x)
{
    for (int v = 0; v < VERTICES; v++)
        for (int i = 0; i < 4; i++) {
            const double *X = m->rest + 3 * v, *A = F[v / 4] + 3 * i;
            double value = 0;
            for (int j = 0; j < 3 && i < 3; j++)
                value += A[j] * (X[j] - m->rest[3 * (v / 4 * 4) + j]);
            int64_t at = 4 * m->place[v] + i;
            if (scalar_size == (int)sizeof(double))
                ((double *)x)[at] = value;
            else
                ((float *)x)[at] = (float)value;
        }
}

static double read_scalar(const void *array, int size, int64_t at)
{
    return size == (int)sizeof(double) ? ((const double *)array)[at] : ((const float *)array)[at];
}

static void check_local_step(const char *material, const hk_lane_table *lanes)
{
    hk_model *model = loose_tets(material);
    hk_tet_term *term = NULL;
    double weights = 0;
    hk_admm_def def = {.weight = 1, .low = 0.5, .high = 1.5};
    void *made;
    CHECK_OK(hk_tet_term_create(model, lanes, 1, &term));
    CHECK_OK(hk_tets_term.admm->create(&term->base, &def, &weights, &made));
    const double weight = 1.5e5;
    hk_tet_duals *duals = made;
    assert_true(weights == duals->weight[0]);
    duals->weight[0] = weight;
    int width = lanes->lanes, size = lanes->scalar_size;
    static double F[TETS][9], u[TETS][9], z[TETS][9], P[TETS][9], at[TETS][9];
    _Alignas(64) static double x[4 * VERTICES], gradient[4 * VERTICES];
    uint64_t seed = 11;
    for (int t = 0; t < TETS; t++)
        for (int k = 0; k < 9; k++) {
            F[t][k] = (k % 4 == 0) + 0.3 * noise(&seed);
            u[t][k] = 0.3 * noise(&seed);
        }
    const hk_tet_batch *b = &term->batches[0];
    for (int k = 0; k < b->blocks * width; k++)
        for (int q = 0; q < 9; q++) {
            int64_t place_of = ((int64_t)(k / width) * 9 + q) * width + k % width;
            double value = u[b->tet[k]][q];
            if (size == (int)sizeof(double))
                ((double *)duals->u)[place_of] = value;
            else
                ((float *)duals->u)[place_of] = (float)value;
        }
    place(model, F, size, x);
    hk_tet_admm_local(term, duals, false, x, gradient);
    for (int k = 0; k < b->count; k++)
        for (int q = 0; q < 9; q++) {
            int64_t place_of = ((int64_t)(k / width) * 9 + q) * width + k % width;
            int t = b->tet[k];
            double after = read_scalar(duals->u, size, place_of);
            z[t][q] = F[t][q] + u[t][q] - after;
            u[t][q] = after;
        }
    place(model, z, size, x);
    hk_tet_stress(term, x, &P[0][0], &at[0][0]);
    // P(z) = weight × u: z is stationary.
    double most = 0;
    for (int t = 0; t < TETS; t++)
        for (int q = 0; q < 9; q++) most = fmax(most, fabs(P[t][q] / weight - u[t][q]));
    double allowed = size == (int)sizeof(double) ? 1e-8 : 1e-3;
    if (!(most <= allowed))
        fail_msg("%s, %s: the local step is off by %.1e", material, lanes->name, most);
    hk_tets_term.admm->free(duals);
    hk_tet_term_free(term);
    hk_model_free(model);
}

static void test_local_step_is_stationary(void **state)
{
    (void)state;
    const hk_lane_table *tables[6];
    int count = hk_lanes_available(tables, 6);
    for (int m = 0; m < solid_count(); m++)
        for (int k = 0; k < count; k++) check_local_step(hk_material_name(m), tables[k]);
}

// ---------------------------------------------------------------- time steps

static hk_world *swinging(const char *method, const hk_option *options, int option_count,
                          int iterations, const hk_damping *damping, double fibre)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of("neo_hookean", 4e5, 0.4);
    body.material.fibre_stiffness = fibre;
    body.material.fibre_direction[0] = 1;
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    body.fixes = &wall;
    body.fix_count = 1;
    hk_model *model = model_of(&body, box_mesh(2, 1, 1, 4, 2, 2), -9.81);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = 1.0 / 30;
    def.threads = 1;
    def.damping = *damping;
    def.solver = (hk_solver_def){.def_size = sizeof(hk_solver_def),
                                 .method = method,
                                 .iterations = iterations,
                                 .options = options,
                                 .option_count = option_count};
    hk_world *world;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

static double distance(const hk_world *a, const hk_world *b)
{
    double most = 0;
    for (int k = 0; k < 3 * hk_model_vertex_count(hk_world_model(a)); k++)
        most = fmax(most, fabs(hk_world_positions(a)[k] - hk_world_positions(b)[k]));
    return most;
}

static bool note_start(void *context, const hk_iteration *now)
{
    if (now->iteration == 0) *(double *)context = now->energy;
    return true;
}

// With every budget and weight, even bad ones, a step ends with less energy than it began with.
static void test_never_worse_than_the_start(void **state)
{
    (void)state;
    for (double weight = 0.01; weight <= 100; weight *= 10)
        for (int budget = 1; budget <= 20; budget += 3) {
            hk_option options[] = {{"weight", weight, NULL}, {"precision", 0, "double"}};
            hk_damping none = {0};
            hk_world *world = swinging("admm", options, 2, budget, &none, 0);
            double start = NAN;
            hk_world_watch_energy(world, true);
            hk_world_set_monitor(world, note_start, &start);
            for (int step = 0; step < 4; step++) {
                hk_step_report r;
                CHECK_OK(hk_world_step(world, &r));
                double end = hk_problem_energy(world->problem, world->x);
                if (!(end < start))
                    fail_msg("weight %g, %d iterations: from %.9g to %.9g", weight, budget, start,
                             end);
            }
            hk_world_free(world);
        }
}

// Fibres, air and viscosity; and any reasonable weight.
static void test_damping_fibres_and_weights(void **state)
{
    (void)state;
    const hk_damping dampings[] = {{0}, {.air_per_vertex = 20}, {.viscous = 0.02}};
    for (int d = 0; d < 3; d++)
        for (int w = 0; w < 3; w++) {
            const double weights[] = {0.5, 1, 2};
            hk_option options[] = {{"weight", weights[w], NULL}, {"precision", 0, "double"}};
            hk_world *truth = swinging("newton", NULL, 0, 0, &dampings[d], 5e5);
            hk_world *world = swinging("admm", options, 2, 5000, &dampings[d], 5e5);
            for (int step = 0; step < 5; step++) {
                hk_step_report r;
                CHECK_OK(hk_world_step(truth, &r));
                CHECK_OK(hk_world_step(world, &r));
                assert_int_equal(r.reason, HK_CONVERGED);
            }
            double away = distance(world, truth);
            if (!(away < 1e-4))
                fail_msg("damping %d, weight %g: %g m from Newton", d, weights[w], away);
            hk_world_free(world);
            hk_world_free(truth);
        }
}

static hk_world *hanging_cloth(const char *method)
{
    hk_body_def body = hk_default_body_def();
    body.material = cloth_of(200, 1e-3, 0.3);
    hk_attach_def corner = {.def_size = sizeof(hk_attach_def),
                            .select = select_box(0, -1, 0, 0, 1, 0),
                            .stiffness = 500};
    hk_selector other = select_box(1, -1, 0, 1, 1, 0);
    body.attachments = &corner;
    body.attachment_count = 1;
    body.fixes = &other;
    body.fix_count = 1;
    hk_model *model = model_of(&body, sheet_mesh(1, 1, 6, 6), -9.81);
    hk_world_def def = hk_default_world_def();
    hk_option option = {"precision", 0, "double"};
    def.model = model;
    def.step = 0.01;
    def.threads = 1;
    def.solver.method = method;
    if (strcmp(method, "newton") != 0) {
        def.solver.iterations = 5000;
        def.solver.options = &option;
        def.solver.option_count = 1;
    }
    hk_world *world;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

static void test_sheets_and_attachments(void **state)
{
    (void)state;
    hk_world *truth = hanging_cloth("newton"), *world = hanging_cloth("admm");
    for (int step = 0; step < 20; step++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(truth, &r));
        CHECK_OK(hk_world_step(world, &r));
        assert_int_equal(r.reason, HK_CONVERGED);
    }
    assert_true(distance(world, truth) < 1e-4);
    hk_world_free(world);
    hk_world_free(truth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_local_step_is_stationary),
        cmocka_unit_test(test_never_worse_than_the_start),
        cmocka_unit_test(test_damping_fibres_and_weights),
        cmocka_unit_test(test_sheets_and_attachments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
