// The rotation correction of quasi_newton's matrix: an inverse of A − Σ 2 W BᵀB, and fewer
// iterations.
#include "bodies.h"

#include "model/model.h"
#include "solver/clusters.h"
#include "solver/spin_correction.h"

static hk_model *bar(double young, int cells)
{
    hk_selector left = select_box(-1, -1, -1, 1e-6, 1, 1);
    hk_body_def body = hk_default_body_def();
    body.material = material_of("neo_hookean", young, 0.45);
    body.fixes = &left;
    body.fix_count = 1;
    return model_of(&body, box_mesh(1, 0.25, 0.25, 4 * cells, cells, cells), -9.81);
}

// ---------------------------------------------------------------- the inverse

// 2 Σ_c W |½ Σ_j (R e_j) × (Σ_v g_cj(v) u_v)|² with R the rotation of the state, from the model
// alone.
static double spin_energy(const hk_model *m, const double *stiffness, int clusters,
                          const double R[9], const double *u)
{
    const hk_body *body = &m->bodies[0];
    int32_t *cluster = malloc(sizeof(int32_t) * (size_t)body->tet_count);
    double *slope = malloc(3 * sizeof(double) * (size_t)body->vertex_count), sum = 0;
    assert_true(cluster && slope);
    CHECK_OK(hk_find_clusters(m, body, stiffness, clusters, cluster));
    for (int c = 0; c < clusters; c++) {
        double weight = hk_cluster_slopes(m, body, stiffness, cluster, c, slope);
        double spin[3] = {0, 0, 0};
        for (int j = 0; j < 3; j++) {
            double d[3] = {0, 0, 0};
            for (int v = 0; v < body->vertex_count; v++)
                for (int i = 0; i < 3; i++)
                    d[i] += slope[3 * v + j] / weight * u[4 * (int64_t)m->place[v] + i];
            for (int i = 0; i < 3; i++) {
                int a = (i + 1) % 3, b = (i + 2) % 3;
                spin[i] += 0.5 * (R[3 * a + j] * d[b] - R[3 * b + j] * d[a]);
            }
        }
        for (int i = 0; i < 3; i++) sum += 2 * weight * spin[i] * spin[i];
    }
    free(cluster);
    free(slope);
    return sum;
}

// qᵀ t of t = (A − Bᵀ C B)⁻¹ q is tᵀ A t less the energy of the spins of t.
static void test_inverse(void **state)
{
    (void)state;
    enum { CLUSTERS = 5 };
    hk_model *m = bar(1e5, 4);
    hk_problem *p;
    CHECK_OK(hk_problem_create(m, 1, NULL, &p));
    size_t size = 4 * (size_t)m->vertex_count;
    double *x = calloc(size, sizeof *x), *q = calloc(size, sizeof *x), *t = calloc(size, sizeof *x);
    double *b = calloc(size, sizeof *x), *workspace = calloc(size, sizeof *x);
    assert_true(x && q && t && b && workspace);
    hk_stage_begin step = {.weight = 100, .terms = {.h = 0.01, .from = p->rest, .state = p->rest}};
    CHECK_OK(hk_problem_begin_step(p, &step));
    const double weight = 3e5;
    double phases[HK_PHASE_COUNT];
    hk_constant_matrix matrix;
    hk_spin_correction spins;
    CHECK_OK(hk_constant_matrix_init(&matrix, p, &weight, HK_MATRIX_FACTORED));
    CHECK_OK(hk_constant_matrix_prepare(&matrix, "test", phases, NULL));
    CHECK_OK(hk_spin_correction_init(&spins, &matrix, &weight, CLUSTERS));
    CHECK_OK(hk_spin_correction_prepare(&spins, NULL));
    double R[9];
    rigid_rotation((double[]){0.3, -0.5, 0.8}, R);
    for (int v = 0; v < m->vertex_count; v++)
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) x[4 * v + i] += R[3 * i + j] * p->rest[4 * v + j];
            if (!p->held[v]) q[4 * v + i] = 0.1 * sin(7 * v + 3 * i) + (i == 1);
        }
    hk_spin_correction_turn(&spins, x);
    hk_spin_correction_gather(&spins, q);
    CHECK_OK(hk_constant_matrix_solve(&matrix, q, 3, workspace, t));
    double plain = 0, corrected = 0, square = 0;
    for (size_t k = 0; k < size; k++) plain += q[k] * t[k];
    hk_spin_correction_add(&spins, t);
    for (size_t k = 0; k < size; k++) corrected += q[k] * t[k];
    // tᵀ A t from the lower triangle
    const hk_pattern *a = &matrix.scalar;
    for (int c = 0; c < a->count; c++) {
        int64_t at = hk_pattern_column(a, c, 0);
        for (int i = 0; i < 3; i++) {
            double own = t[4 * matrix.vertex[c] + i];
            square += matrix.matrix[at] * own * own;
            for (int64_t e = a->start[c]; e < a->start[c + 1]; e++)
                square += 2 * matrix.matrix[at + 1 + e - a->start[c]] * own *
                          t[4 * matrix.vertex[a->row[e]] + i];
        }
    }
    double spin = spin_energy(m, &weight, CLUSTERS, R, t);
    assert_true(spin > 0.1 * square);  // it matters here
    assert_true(fabs(corrected - (square - spin)) < 1e-4 * corrected);
    assert_true(corrected > 1.1 * plain);
    hk_spin_correction_release(&spins);
    hk_constant_matrix_release(&matrix);
    free(x);
    free(q);
    free(t);
    free(b);
    free(workspace);
    hk_problem_free(p);
    hk_model_free(m);
}

// ---------------------------------------------------------------- time steps

static hk_world *world_with(const hk_model *model, double clusters, const char *global, int threads)
{
    const hk_option options[] = {{"turning", clusters, NULL}, {"global", 0, global}};
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = 1.0 / 60;
    def.threads = threads;
    def.solver.method = "quasi_newton";
    def.solver.tolerance = 1e-6;
    def.solver.iterations = 1000;
    def.solver.options = options;
    def.solver.option_count = 2;
    hk_world *world;
    CHECK_OK(hk_world_create(&def, &world));
    return world;
}

static int iterations_of(hk_world *world, int steps)
{
    int sum = 0;
    for (int n = 0; n < steps; n++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(world, &r));
        assert_int_equal(r.reason, HK_CONVERGED);
        sum += r.iterations;
    }
    return sum;
}

// The same motion in fewer iterations, with a factor and with multigrid, of a bar that sags a
// little and of one that hangs down in the end.
static void test_fewer_iterations(void **state)
{
    (void)state;
    const char *const globals[] = {"factor", "multigrid"};
    for (int soft = 0; soft < 2; soft++)
        for (int g = 0; g < 2; g++) {
            hk_model *model = bar(soft ? 5e4 : 1e6, 5);
            hk_world *plain = world_with(model, 0, globals[g], 1);
            hk_world *corrected = world_with(model, 8, globals[g], 1);
            int steps = SANITIZED ? 3 : 20;
            int before = iterations_of(plain, steps), now = iterations_of(corrected, steps);
            printf("%s, %s: %d iterations, without correction %d\n", soft ? "soft" : "stiff",
                   globals[g], now, before);
            // In the first steps nothing has turned far yet.
            assert_true(now <= (!soft ? 0.8 : SANITIZED ? 1 : 0.95) * before);
            const double *a = hk_world_positions(plain), *b = hk_world_positions(corrected);
            for (int k = 0; k < 3 * hk_model_vertex_count(model); k++)
                assert_true(fabs(a[k] - b[k]) < 1e-4);
            hk_world_free(plain);
            hk_world_free(corrected);
            hk_model_free(model);
        }
}

static void test_threads(void **state)
{
    (void)state;
    hk_model *model = bar(1e6, 10);
    hk_world *one = world_with(model, 8, "factor", 1), *three = world_with(model, 8, "factor", 3);
    assert_int_equal(iterations_of(one, 3), iterations_of(three, 3));
    assert_memory_equal(hk_world_positions(one), hk_world_positions(three),
                        3 * sizeof(double) * (size_t)hk_model_vertex_count(model));
    hk_world_free(one);
    hk_world_free(three);
    hk_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inverse),
        cmocka_unit_test(test_fewer_iterations),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
