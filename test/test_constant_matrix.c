// The constant matrix of projective, admm, quasi_newton and split: what a solve in single precision
// leaves of the right-hand side, and how much less a step of refinement does.
#include "bodies.h"
#include "term_lists.h"
#include "solver/constant_matrix.h"
#include "solver/split.h"
#include "world/world.h"

enum { STEPS = 10 };

// A stiff bar held at one end: time steps of h = 10 ms are badly conditioned.
static hk_model *bar_model(const char *material)
{
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 1, 1);
    body.material = material_of(material, 1e7, 0.3);
    body.fixes = &wall;
    body.fix_count = 1;
    return model_of(&body, box_mesh(1, 0.2, 0.2, 20, 4, 4), -9.81);
}

// to = A from for the lower triangle in compressed columns, x, y and z of four numbers each.
static void multiply(const hk_pattern *p, const double *values, const double *from, double *to)
{
    memset(to, 0, 4 * sizeof(double) * (size_t)p->count);
    for (int64_t c = 0; c < p->count; c++) {
        const double *column = values + hk_pattern_column(p, (int)c, 0);
        for (int i = 0; i < 3; i++) to[4 * c + i] += column[0] * from[4 * c + i];
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            int64_t row = p->row[k];
            double a = column[1 + k - p->start[c]];
            for (int i = 0; i < 3; i++) {
                to[4 * row + i] += a * from[4 * c + i];
                to[4 * c + i] += a * from[4 * row + i];
            }
        }
    }
}

// ‖b − A x‖/‖b‖
static double residual_of(const hk_pattern *p, const double *values, const double *x,
                          const double *b)
{
    double *product = malloc(4 * sizeof(double) * (size_t)p->count), left = 0, norm = 0;
    multiply(p, values, x, product);
    for (int k = 0; k < 4 * p->count; k++) {
        if (k % 4 == 3) continue;
        left += (b[k] - product[k]) * (b[k] - product[k]);
        norm += b[k] * b[k];
    }
    free(product);
    return sqrt(left / norm);
}

// The residual of a direction in a time step (h = 10 ms), or of a pose (h = 0).
static double direction_residual(int flags, double h)
{
    hk_model *model = bar_model("arap");
    hk_problem *p;
    hk_constant_matrix m;
    double weight = 4e6, phases[HK_PHASE_COUNT] = {0};
    CHECK_OK(hk_problem_create(model, 2, NULL, &p));
    if (h > 0)
        begin_step(p, (hk_damping){0}, h, p->rest);
    else
        CHECK_OK(hk_problem_begin_pose(p));
    CHECK_OK(hk_constant_matrix_init(&m, p, &weight, flags));
    bool anew;
    CHECK_OK(hk_constant_matrix_prepare(&m, "test", phases, &anew));
    assert_true(anew && phases[HK_PHASE_FACTOR] > 0);
    CHECK_OK(hk_constant_matrix_prepare(&m, "test", phases, &anew));
    assert_false(anew);
    size_t size = 4 * sizeof(double) * (size_t)p->vertex_count;
    double *gradient = calloc(1, size), *direction = malloc(size);
    double *b = calloc(1, size), *x = calloc(1, size);
    uint64_t seed = 5;
    for (int k = 0; k < 4 * p->vertex_count; k++) gradient[k] = k % 4 < 3 ? noise(&seed) : 0;
    CHECK_OK(hk_constant_matrix_descend(&m, gradient, direction));
    for (int v = 0; v < p->vertex_count; v++)
        for (int i = 0; i < 3; i++) assert_true(!p->held[v] || direction[4 * v + i] == 0);
    for (int k = 0; k < m.scalar.count; k++)
        for (int i = 0; i < 3; i++) {
            b[4 * k + i] = -gradient[4 * m.assembly->vertex[k] + i];
            x[4 * k + i] = direction[4 * m.assembly->vertex[k] + i];
        }
    double left = residual_of(&m.scalar, m.matrix, x, b);
    free(gradient);
    free(direction);
    free(b);
    free(x);
    hk_constant_matrix_release(&m);
    hk_problem_free(p);
    hk_model_free(model);
    return left;
}

static void test_refined_directions(void **state)
{
    (void)state;
    double plain = direction_residual(HK_MATRIX_FACTORED, 0.01);
    double refined = direction_residual(HK_MATRIX_FACTORED | HK_MATRIX_REFINED, 0.01);
    double pose = direction_residual(HK_MATRIX_FACTORED, 0);
    printf("residual of a time step's solve: %.1e, refined %.1e; of a pose's: %.1e\n", plain,
           refined, pose);
    assert_true(plain > 1e-7 && plain < 1e-3);
    assert_true(refined < 1e-4 * plain);
    assert_true(pose < 1e-10);
}

// ---------------------------------------------------------------- split

static hk_world *split_world(hk_model *model, int threads, bool refined)
{
    hk_option option = {"refinement", 0, refined ? "on" : "off"};
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.threads = threads;
    def.solver = (hk_solver_def){.def_size = sizeof(hk_solver_def),
                                 .method = "split",
                                 .options = &option,
                                 .option_count = 1};
    hk_world *world;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

// Three equal bars and another one: copies of one factor, and a factor of its own.
static hk_model *crowd_model(void)
{
    hk_mesh *meshes[2] = {box_mesh(1, 0.2, 0.2, 10, 2, 2), box_mesh(1, 0.3, 0.2, 12, 3, 2)};
    hk_body_def bodies[4];
    hk_selector walls[4];
    for (int k = 0; k < 4; k++) {
        bodies[k] = hk_default_body_def();
        bodies[k].mesh = meshes[k / 3];
        bodies[k].material = material_of("corotated", 1e7, 0.3);
        bodies[k].transform.translate[2] = 2.0 * k;
        walls[k] = select_box(0, -1, -1, 0, 9, 9);
        bodies[k].fixes = &walls[k];
        bodies[k].fix_count = 1;
    }
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = 4;
    def.gravity[1] = -9.81;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    for (int k = 0; k < 2; k++) hk_mesh_free(meshes[k]);
    return model;
}

// The largest residual of all copies of all shapes, for a random right-hand side.
static double pieces_residual(hk_components *p, bool refined)
{
    double *b = malloc(4 * sizeof(double) * (size_t)p->count);
    double *x = malloc(4 * sizeof(double) * (size_t)p->count), most = 0;
    uint64_t seed = 9;
    for (int k = 0; k < 4 * p->count; k++) {
        p->vector[k] = k % 4 < 3 ? (float)noise(&seed) : NAN;
        b[k] = (double)p->vector[k];
    }
    if (refined)
        hk_components_refine(p);
    else
        hk_components_solve(p);
    for (int k = 0; k < 4 * p->count; k++)
        x[k] = (double)p->vector[k] + (refined ? (double)p->beyond[k] : 0);
    for (int s = 0; s < p->shape_count; s++) {
        const hk_component_shape *shape = &p->shapes[s];
        for (int c = 0; c < shape->copies; c++) {
            int at = 4 * (shape->first + c * shape->count);
            most = fmax(most, residual_of(&shape->pattern, shape->matrix, x + at, b + at));
        }
    }
    free(b);
    free(x);
    return most;
}

static void test_refined_pieces(void **state)
{
    (void)state;
    float *bits = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        hk_world *world = split_world(crowd_model(), threads, true);
        CHECK_OK(hk_world_step(world, NULL));
        hk_components *p = ((hk_split *)world->solver)->components;
        assert_int_equal(p->shape_count, 2);
        double plain = pieces_residual(p, false), refined = pieces_residual(p, true);
        size_t size = 4 * sizeof(float) * (size_t)p->count;
        if (threads == 1) printf("residual of split's solve: %.1e, refined %.1e\n", plain, refined);
        assert_true(plain > 1e-7 && plain < 1e-3);
        assert_true(refined < 1e-4 * plain);
        for (int k = 0; k < p->count; k++) p->vector[4 * k + 3] = 0;
        if (!bits) bits = memcpy(malloc(size), p->vector, size);
        assert_memory_equal(bits, p->vector, size);
        hk_world_free(world);
    }
    free(bits);
}

// A refined step is the same step but for rounding, and not the same bits.
static void test_refined_steps(void **state)
{
    (void)state;
    hk_world *worlds[2];
    for (int k = 0; k < 2; k++) {
        worlds[k] = split_world(bar_model("corotated"), 1, k == 1);
        for (int n = 0; n < STEPS; n++) CHECK_OK(hk_world_step(worlds[k], NULL));
    }
    double most = 0;
    for (int k = 0; k < 3 * worlds[0]->model->vertex_count; k++)
        most = fmax(most, fabs(worlds[0]->positions[k] - worlds[1]->positions[k]));
    printf("%d steps of split with and without refinement: %.1e m apart\n", STEPS, most);
    assert_true(most > 0 && most < 1e-5);
    for (int k = 0; k < 2; k++) hk_world_free(worlds[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refined_directions),
        cmocka_unit_test(test_refined_pieces),
        cmocka_unit_test(test_refined_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
