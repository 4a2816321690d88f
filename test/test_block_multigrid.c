// Multigrid for Hessians: products of block matrices, the V-cycle as a preconditioner, and Newton's
// method with it, held to Newton's method with a direct factorisation.
#include "bodies.h"
#include "failing_alloc.h"
#include "linear/aggregation.h"
#include "linear/block_kernels.h"
#include "linear/block_multigrid.h"
#include "sheets.h"
#include "solver/problem.h"
#include "term/assembly.h"

// ---------------------------------------------------------------- a system

typedef struct system {
    hk_model *model;
    hk_problem *problem;
    hk_assembly *assembly;
    double *lower;
    hk_block_rows rows;
    int32_t *source;
    double *x;  // [rows][4] positions
    hk_block_multigrid *multigrid;
} linear_system;

// The projected Hessian of a box at rest (or a little disturbed), held at its left end or free,
// plus `shift` a vertex.
typedef struct system_def {
    int cells[3], threads;
    double size[3], poisson, shift, disturbed;
    bool held;
} system_def;

static system_def bar_def(int across)
{
    return (system_def){.cells = {4 * across, across, across},
                        .threads = 1,
                        .size = {1, 0.25, 0.25},
                        .poisson = 0.45,
                        .held = true};
}

static void fill_matrix(linear_system *s, const system_def *def)
{
    hk_problem *p = s->problem;
    size_t count = (size_t)p->vertex_count;
    double *x = HK_ARRAY(double, 4 * count), *shift = HK_ARRAY(double, count);
    double *blocks = HK_ARRAY(double, hk_terms_block_size(p->terms));
    uint64_t seed = 3;
    for (size_t k = 0; k < 4 * count; k++) x[k] = p->rest[k] + def->disturbed * noise(&seed);
    for (size_t k = 0; k < count; k++) shift[k] = def->shift;
    hk_problem_blocks(p, x, 0, blocks);
    hk_assemble(s->assembly, blocks, shift, s->lower);
    for (int64_t b = 0; b < s->assembly->pattern.count; b++)
        memcpy(s->x + 4 * b, x + 4 * (int64_t)s->assembly->vertex[b], 3 * sizeof(double));
    hk_free(x);
    hk_free(shift);
    hk_free(blocks);
}

// The hierarchy refers to the matrix: a system stays where it is.
static linear_system *make(const system_def *def)
{
    linear_system *s = HK_NEW(linear_system);
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    body.fixes = &wall;
    body.fix_count = def->held;
    body.material = material_of("neo_hookean", 1e6, def->poisson);
    hk_mesh *mesh = box_mesh(def->size[0], def->size[1], def->size[2], def->cells[0], def->cells[1],
                             def->cells[2]);
    s->model = model_of(&body, mesh, 0);
    CHECK_OK(hk_problem_create(s->model, def->threads, NULL, &s->problem));
    CHECK_OK(hk_assembly_create_unordered(s->problem->terms, s->problem->held, &s->assembly));
    s->lower = HK_ARRAY(double, hk_pattern_size(&s->assembly->pattern));
    s->x = HK_ZEROS(double, 4 * (size_t)s->assembly->pattern.count);
    CHECK_OK(hk_block_rows_create(&s->assembly->pattern, def->threads, &s->rows, &s->source));
    CHECK_OK(hk_block_multigrid_create(&s->rows, &s->multigrid));
    fill_matrix(s, def);
    hk_block_rows_set(&s->rows, &s->assembly->pattern, s->source, s->lower);
    return s;
}

static linear_system *make_positive(const system_def *def)
{
    linear_system *s = make(def);
    bool positive;
    hk_block_multigrid_set(s->multigrid, s->x, &positive);
    assert_true(positive);
    return s;
}

static void drop(linear_system *s)
{
    hk_block_multigrid_free(s->multigrid);
    hk_block_rows_release(&s->rows);
    hk_free(s->source);
    hk_assembly_free(s->assembly);
    hk_problem_free(s->problem);
    hk_model_free(s->model);
    hk_free(s->lower);
    hk_free(s->x);
    hk_free(s);
}

static double *vector_for(const linear_system *s, uint64_t seed)
{
    double *v = calloc(4 * (size_t)s->rows.rows, sizeof *v);
    for (int64_t i = 0; seed != 0 && i < s->rows.rows; i++)
        for (int c = 0; c < 3; c++) v[4 * i + c] = noise(&seed);
    return v;
}

static double dot(const linear_system *s, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < s->rows.rows; i++)
        for (int c = 0; c < 3; c++) sum += a[4 * i + c] * b[4 * i + c];
    return sum;
}

static double distance(const linear_system *s, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < s->rows.rows; i++)
        for (int c = 0; c < 3; c++) sum += pow(a[4 * i + c] - b[4 * i + c], 2);
    return sqrt(sum);
}

// ---------------------------------------------------------------- products

// The same as with the lower triangle in double precision, but for the rounding of blocks.
static void test_product(void **state)
{
    (void)state;
    system_def def = bar_def(4);
    def.disturbed = 0.005;
    linear_system *s = make(&def);
    int rows = s->rows.rows;
    double *x = vector_for(s, 1), *y = vector_for(s, 0), *expected = vector_for(s, 0);
    double *packed = calloc(6 * (size_t)rows, sizeof *packed);
    for (int i = 0; i < rows; i++) memcpy(packed + 3 * i, x + 4 * i, 3 * sizeof(double));
    hk_pattern_multiply(&s->assembly->pattern, s->lower, packed, packed + 3 * (size_t)rows);
    for (int i = 0; i < rows; i++)
        memcpy(expected + 4 * i, packed + 3 * ((size_t)rows + i), 3 * sizeof(double));
    hk_block_product(&s->rows, 1, NULL, x, y);
    assert_true(distance(s, y, expected) < 1e-7 * sqrt(dot(s, expected, expected)));
    // base + sign A x
    hk_block_product(&s->rows, -1, expected, x, y);
    assert_true(sqrt(dot(s, y, y)) < 1e-7 * sqrt(dot(s, expected, expected)));
    free(x);
    free(y);
    free(expected);
    free(packed);
    drop(s);
}

// A free body that is shifted as a whole meets no force, although its blocks were rounded.
static void test_shifts_meet_no_force(void **state)
{
    (void)state;
    system_def def = bar_def(4);
    def.held = false;
    linear_system *s = make(&def);
    double *x = vector_for(s, 0), *y = vector_for(s, 0);
    double largest = 0;
    for (int64_t i = 0; i < s->rows.rows; i++) {
        x[4 * i] = 1, x[4 * i + 1] = -2, x[4 * i + 2] = 3;
        largest = fmax(largest, s->rows.diagonal[9 * i]);
    }
    hk_block_product(&s->rows, 1, NULL, x, y);
    for (int64_t i = 0; i < s->rows.rows; i++)
        for (int c = 0; c < 3; c++) assert_true(fabs(y[4 * i + c]) < 1e-12 * largest);
    free(x);
    free(y);
    drop(s);
}

// Whatever the instruction set: the same up to rounding.
static void test_kernels_agree(void **state)
{
    (void)state;
    system_def def = bar_def(3);
    linear_system *s = make_positive(&def);
    const hk_block_kernels *kernels[8];
    int count = hk_block_kernels_available(kernels, 8);
    assert_in_range(count, 1, 8);
    double *x = vector_for(s, 1), *first = vector_for(s, 0), *y = vector_for(s, 0);
    for (int k = 0; k < count; k++) {
        s->rows.kernels = kernels[k];
        hk_block_product(&s->rows, 1, NULL, x, k == 0 ? first : y);
        if (k > 0) assert_true(distance(s, y, first) < 1e-14 * sqrt(dot(s, first, first)));
    }
    free(x);
    free(y);
    free(first);
    drop(s);
}

// ---------------------------------------------------------------- groups

// Everyone has a group, with a root that all its members are at most two steps from: no group is
// larger than that allows, and where rows with many neighbours come first there are fewer.
static void test_groups(void **state)
{
    (void)state;
    system_def def = bar_def(6);
    linear_system *s = make(&def);
    hk_graph graph = {s->rows.rows, s->rows.start, s->rows.column};
    int32_t *group = calloc((size_t)graph.count, sizeof *group);
    int plain, large;
    CHECK_OK(hk_aggregate(&graph, group, &plain));
    memset(group, 0, sizeof *group * (size_t)graph.count);
    CHECK_OK(hk_aggregate_large(&graph, group, &large));
    assert_true(large < 0.7 * plain);
    int *size = calloc((size_t)large, sizeof *size);
    for (int row = 0; row < graph.count; row++) {
        assert_in_range(group[row], 0, large - 1);
        size[group[row]]++;
        bool accompanied = false;
        for (int64_t k = graph.start[row]; k < graph.start[row + 1]; k++)
            accompanied |= group[graph.neighbour[k]] == group[row];
        assert_true(accompanied);
    }
    for (int g = 0; g < large; g++) assert_in_range(size[g], 2, 60);
    free(group);
    free(size);
    drop(s);
}

// ---------------------------------------------------------------- the cycle

// (u, B v) = (B u, v) and (u, B u) > 0: conjugate gradients may use it.
static void test_cycle_is_symmetric_and_positive(void **state)
{
    (void)state;
    system_def def = bar_def(7);
    def.disturbed = 0.002;
    linear_system *s = make_positive(&def);
    assert_true(hk_block_multigrid_levels(s->multigrid) >= 3);
    double *z[2] = {vector_for(s, 0), vector_for(s, 0)};
    for (uint64_t k = 1; k <= 5; k++) {
        double *u = vector_for(s, 2 * k), *v = vector_for(s, 2 * k + 1);
        hk_block_multigrid_cycle(s->multigrid, u, z[0]);
        hk_block_multigrid_cycle(s->multigrid, v, z[1]);
        double uu = dot(s, u, z[0]), vv = dot(s, v, z[1]);
        assert_true(uu > 0 && vv > 0);
        assert_true(fabs(dot(s, u, z[1]) - dot(s, v, z[0])) < 1e-6 * sqrt(uu * vv));
        free(u);
        free(v);
    }
    free(z[0]);
    free(z[1]);
    drop(s);
}

// Iterations to 1e-6 for the load of gravity.
static int iterations_for(const system_def *def)
{
    linear_system *s = make_positive(def);
    double *b = vector_for(s, 0), *x = vector_for(s, 0);
    for (int64_t i = 0; i < s->rows.rows; i++) b[4 * i + 1] = -1;
    hk_block_cg cg = {.tolerance = 1e-6, .most = 400};
    hk_block_multigrid_solve(s->multigrid, &cg, b, x);
    assert_false(cg.indefinite);
    assert_true(cg.residual <= 1e-6);
    // What is left is what it says.
    double *load = vector_for(s, 0), *left = vector_for(s, 0);
    for (int64_t i = 0; i < s->rows.rows; i++) load[4 * i + 1] = -1;
    hk_block_product(&s->rows, -1, load, x, left);
    double relative = sqrt(dot(s, left, left) / dot(s, load, load));
    assert_true(fabs(relative - cg.residual) < 1e-8);
    free(b);
    free(x);
    free(load);
    free(left);
    drop(s);
    return cg.iterations;
}

// From 10,000 tets to 160,000 iterations hardly grow; without coarser levels they would be 2.5
// times as many.
static void test_iterations_do_not_grow(void **state)
{
    (void)state;
    static const int across[] = {8, 13, 20};
    int first = 0;
    for (int k = 0; k < (SANITIZED ? 2 : HK_COUNT_OF(across)); k++) {
        system_def def = bar_def(across[k]);
        int iterations = iterations_for(&def);
        if (getenv("HOOKE_TABLE")) printf("%d cells: %d iterations\n", across[k], iterations);
        if (k == 0) first = iterations;
        assert_true(iterations <= 30);
        assert_true(iterations <= first + 2 * k);
    }
}

static void test_nearly_incompressible(void **state)
{
    (void)state;
    static const double poisson[] = {0, 0.3, 0.45, 0.49, 0.499};
    static const int most[] = {20, 20, 30, 60, 200};
    for (int k = 0; k < HK_COUNT_OF(poisson); k++) {
        system_def def = bar_def(7);
        def.poisson = poisson[k];
        int iterations = iterations_for(&def);
        if (getenv("HOOKE_TABLE")) printf("nu = %g: %d iterations\n", poisson[k], iterations);
        assert_true(iterations <= most[k]);
    }
}

// Flat cells, thin plates, and bodies that nothing but inertia holds.
static void test_other_shapes(void **state)
{
    (void)state;
    system_def flat = bar_def(8);
    flat.size[1] = 0.05;
    assert_true(iterations_for(&flat) <= 150);
    system_def plate = {.cells = {30, 30, 1}, .threads = 1, .size = {1, 1, 0.02}, .poisson = 0.3};
    plate.held = true;
    assert_true(iterations_for(&plate) <= 80);
    system_def afloat = bar_def(8);
    afloat.held = false;
    afloat.shift = 1;
    assert_true(iterations_for(&afloat) <= 30);
}

// The coarser level has the rigid motions of a free body, exactly (for A B = 0 smoothing leaves
// them alone).
static void test_rigid_motions_are_coarse(void **state)
{
    (void)state;
    system_def def = {.cells = {12, 3, 3}, .threads = 1, .size = {1, 0.25, 0.25}, .poisson = 0.3};
    linear_system *s = make(&def);
    bool positive;
    hk_block_multigrid_set(s->multigrid, s->x, &positive);  // singular, if rounding allows
    assert_int_equal(hk_block_multigrid_levels(s->multigrid), 2);
    int groups = hk_block_multigrid_rows(s->multigrid, 1), rows = s->rows.rows;
    assert_true(groups >= 4 && groups < rows / 5);
    const double *modes = hk_block_multigrid_modes(s->multigrid, 1);
    double *coarse = calloc(8 * (size_t)groups, sizeof *coarse), *fine = vector_for(s, 0);
    double middle[3] = {0};
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < 3; c++) middle[c] += s->x[4 * i + c] / rows;
    for (int mode = 0; mode < 6; mode++) {
        for (int g = 0; g < groups; g++)
            for (int c = 0; c < 6; c++) coarse[8 * g + c] = modes[36 * g + 6 * mode + c];
        hk_block_multigrid_prolong(s->multigrid, 0, coarse, fine);
        int a = (mode + 1) % 3, b = (mode + 2) % 3;
        for (int i = 0; i < rows; i++) {
            double p[3], expected[3] = {0};
            for (int c = 0; c < 3; c++) p[c] = s->x[4 * i + c] - middle[c];
            if (mode < 3) expected[mode] = 1;
            if (mode >= 3) expected[a] = -p[b], expected[b] = p[a];
            for (int c = 0; c < 3; c++) assert_true(fabs(fine[4 * i + c] - expected[c]) < 1e-5);
        }
    }
    free(coarse);
    free(fine);
    drop(s);
}

static void test_threads_give_the_same_bits(void **state)
{
    (void)state;
    double *first = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        system_def def = bar_def(9);
        def.threads = threads;
        def.disturbed = 0.001;
        linear_system *s = make_positive(&def);
        double *b = vector_for(s, 5), *x = vector_for(s, 0);
        size_t bytes = 4 * sizeof(double) * (size_t)s->rows.rows;
        hk_block_cg cg = {.tolerance = 1e-8, .most = 100};
        hk_block_multigrid_solve(s->multigrid, &cg, b, x);
        for (int64_t i = 0; i < s->rows.rows; i++) x[4 * i + 3] = 0;  // nobody's
        if (first)
            assert_memory_equal(first, x, bytes);
        else
            first = memcpy(malloc(bytes), x, bytes);
        free(b);
        free(x);
        drop(s);
    }
    free(first);
}

// A matrix with a negative eigenvalue does not pass for a positive one.
static void test_indefinite_matrices_are_noticed(void **state)
{
    (void)state;
    system_def def = bar_def(6);
    for (def.shift = -10; def.shift >= -1e6; def.shift *= 10) {
        linear_system *s = make(&def);
        bool positive;
        hk_block_multigrid_set(s->multigrid, s->x, &positive);
        if (positive) {
            double *b = vector_for(s, 5), *x = vector_for(s, 0);
            hk_block_cg cg = {.tolerance = 1e-8, .most = 100};
            hk_block_multigrid_solve(s->multigrid, &cg, b, x);
            assert_true(cg.indefinite);
            free(b);
            free(x);
        }
        drop(s);
    }
}

static void test_multigrid_and_memory(void **state)
{
    (void)state;
    system_def def = bar_def(5);
    linear_system *s = make(&def);
    for (int n = 1;; n++) {
        failing_alloc_install(n);
        hk_block_rows rows = {0};
        int32_t *source = NULL;
        hk_block_multigrid *multigrid = NULL;
        hk_status status = hk_block_rows_create(&s->assembly->pattern, 2, &rows, &source);
        if (status == HK_OK) status = hk_block_multigrid_create(&rows, &multigrid);
        bool reached = failing_alloc_count() >= n;
        hk_block_multigrid_free(multigrid);
        hk_block_rows_release(&rows);
        hk_free(source);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        if (!reached) break;
        assert_int_equal(status, HK_NO_MEMORY);
    }
    drop(s);
}

// ---------------------------------------------------------------- Newton's method with it

typedef hk_model *make_model(const char *material);

static hk_world *newton_world(hk_model *model, const char *linear, double step)
{
    hk_option option = {.name = "linear", .text = linear};
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = step;
    def.threads = 1;
    def.solver.method = "newton";
    def.solver.options = &option;
    def.solver.option_count = 1;
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&def, &world));
    return world;
}

// Multigrid against the direct solver: relative to the motion.
static double difference(make_model *make_it, const char *material, int steps)
{
    hk_model *model = make_it(material);
    hk_world *worlds[2];
    for (int w = 0; w < 2; w++) {
        worlds[w] = newton_world(model, w == 0 ? "multigrid" : "direct", 1.0 / 30);
        hk_step_report r;
        for (int k = 0; k < (steps ? steps : 1); k++) {
            CHECK_OK(steps ? hk_world_step(worlds[w], &r) : hk_world_pose(worlds[w], &r));
            if (r.reason != HK_CONVERGED)
                fail_msg("%s, %s: %s, %s", w == 0 ? "multigrid" : "direct", material,
                         hk_reason_name(r.reason), r.detail);
            assert_true((r.linear_iterations > 0) == (w == 0 && r.iterations > 0));
        }
    }
    double away = relative_distance(worlds[0], worlds[1]);
    for (int w = 0; w < 2; w++) hk_world_free(worlds[w]);
    hk_model_free(model);
    return away;
}

static hk_model *sagging_bar(const char *material)
{
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    body.material = material_of(material, 1e6, 0.4);
    body.fixes = &wall;
    body.fix_count = 1;
    return model_of(&body, box_mesh(1, 0.25, 0.25, 16, 4, 4), -9.81);
}

static hk_model *soft_bar(const char *material)
{
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    body.material = material_of(material, 2e5, 0.49);
    body.fixes = &wall;
    body.fix_count = 1;
    return model_of(&body, box_mesh(1, 0.25, 0.25, 16, 4, 4), -9.81);
}

static hk_model *twisted_bar(const char *material)
{
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    hk_move_def move = {
        .def_size = sizeof move,
        .select = select_box(1, -1, -1, 1, 2, 2),
        .motion = {.axis = {1, 0, 0}, .center = {1, 0.125, 0.125}, .degrees = 90, .over = 0.2}};
    body.material = material_of(material, 1e6, 0.4);
    body.fixes = &wall;
    body.fix_count = 1;
    body.moves = &move;
    body.move_count = 1;
    return model_of(&body, box_mesh(1, 0.25, 0.25, 16, 4, 4), 0);
}

static hk_model *falling_bar(const char *material)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of(material, 1e5, 0.4);
    double x[3] = {0.3, -0.2, 1};
    memcpy(body.velocity, x, sizeof x);
    return model_of(&body, box_mesh(1, 0.25, 0.25, 16, 4, 4), -9.81);
}

// A bar pulled by springs, a sheet of springs and bending, and a body of one tet.
static hk_model *several_bodies(const char *material)
{
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2), edge = select_box(-1, -1, 0, 2, 9, 0);
    hk_attach_def pull = {.def_size = sizeof pull,
                          .select = select_box(0.4, 0.25, -1, 0.6, 0.25, 1),
                          .stiffness = 50,
                          .motion = {.axis = {1}, .translate = {0, 0.1, 0}, .over = 0.1}};
    hk_body_def bodies[3] = {hk_default_body_def(), hk_default_body_def(), hk_default_body_def()};
    bodies[0].mesh = box_mesh(1, 0.25, 0.25, 16, 4, 4);
    bodies[0].material = material_of(material, 1e6, 0.4);
    bodies[0].fixes = &wall;
    bodies[0].fix_count = 1;
    bodies[0].attachments = &pull;
    bodies[0].attachment_count = 1;
    bodies[1].name = "sheet";
    bodies[1].mesh = sheet_mesh(1, 1, 12, 12);
    bodies[1].material = cloth_of(60, 1e-3, 0.5);
    bodies[1].fixes = &edge;
    bodies[1].fix_count = 1;
    bodies[2].name = "cube";
    bodies[2].mesh = box_mesh(0.1, 0.1, 0.1, 1, 1, 1);
    bodies[2].material = material_of(material, 1e6, 0.4);
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = 3;
    def.gravity[1] = -9.81;
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(&def, &model));
    for (int b = 0; b < 3; b++) hk_mesh_free((hk_mesh *)(uintptr_t)bodies[b].mesh);
    return model;
}

static void check_same(make_model *make_it, const char *name, const char *material, int steps)
{
    double away = difference(make_it, material, steps);
    if (getenv("HOOKE_TABLE"))
        printf("%-10s %-20s %s: %.1e\n", name, material, steps ? "steps" : "pose", away);
    if (!(away < 1e-7)) fail_msg("%s, %s: off by %.1e of the motion", name, material, away);
}

static void test_newton_agrees_with_direct(void **state)
{
    (void)state;
#ifndef HOOKE_DIRECT
    SKIP("%s", "this build has no direct solver");
#endif
    static const char *const materials[] = {"neo_hookean", "stable_neo_hookean", "corotated",
                                            "stvk", "mooney_rivlin"};
    for (int k = 0; k < (SANITIZED ? 2 : HK_COUNT_OF(materials)); k++) {
        check_same(sagging_bar, "sagging", materials[k], 0);
        check_same(twisted_bar, "twisted", materials[k], 0);
        check_same(twisted_bar, "twisted", materials[k], 3);
        check_same(several_bodies, "several", materials[k], 3);
        check_same(falling_bar, "falling", materials[k], 3);
    }
    check_same(soft_bar, "soft", "neo_hookean", 0);
    check_same(soft_bar, "soft", "stable_neo_hookean", 5);
}

// A start inside out, of a material that has an energy there.
static void test_inverted_start(void **state)
{
    (void)state;
    hk_model *model = sagging_bar("stable_neo_hookean");
    const double *rest = hk_model_rest_positions(model);
    size_t count = 3 * (size_t)hk_model_vertex_count(model);
    double *x = memcpy(malloc(count * sizeof *x), rest, count * sizeof *x);
    uint64_t seed = 7;
    for (size_t k = 0; k < count; k++)
        if (rest[k - k % 3] > 0.1) x[k] += 0.06 * noise(&seed);
    hk_world *disturbed = newton_world(model, "multigrid", 1.0 / 30);
    hk_world *plain = newton_world(model, "multigrid", 1.0 / 30);
    CHECK_OK(hk_world_set_positions(disturbed, x));
    hk_step_report r;
    CHECK_OK(hk_world_pose(disturbed, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    CHECK_OK(hk_world_pose(plain, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    assert_true(relative_distance(disturbed, plain) < 1e-6);
    hk_world_free(disturbed);
    hk_world_free(plain);
    hk_model_free(model);
    free(x);
}

// A grab of two far vertices joins what no element joins.
static void test_grabs(void **state)
{
    (void)state;
#ifndef HOOKE_DIRECT
    SKIP("%s", "this build has no direct solver");
#endif
    hk_model *model = sagging_bar("neo_hookean");
    hk_grab_def grab = hk_default_grab_def();
    grab.count = 2;
    grab.vertices[0] = 100, grab.vertices[1] = hk_model_vertex_count(model) - 1;
    grab.weights[0] = grab.weights[1] = 0.5;
    grab.stiffness = 500;
    grab.target[0] = 0.6, grab.target[1] = 0.3;
    hk_world *worlds[2];
    for (int w = 0; w < 2; w++) {
        worlds[w] = newton_world(model, w == 0 ? "multigrid" : "direct", 1.0 / 30);
        hk_step_report r;
        int number;
        CHECK_OK(hk_world_step(worlds[w], &r));
        CHECK_OK(hk_world_grab(worlds[w], &grab, &number));
        for (int k = 0; k < 3; k++) {
            CHECK_OK(hk_world_step(worlds[w], &r));
            assert_int_equal(r.reason, HK_CONVERGED);
        }
    }
    assert_true(relative_distance(worlds[0], worlds[1]) < 1e-7);
    for (int w = 0; w < 2; w++) hk_world_free(worlds[w]);
    hk_model_free(model);
}

// Left to itself Newton's method goes over to a factorisation where multigrid is in trouble: cells
// fifty times as wide as high, that nothing but bending holds.
static void test_auto_reconsiders(void **state)
{
    (void)state;
#ifndef HOOKE_DIRECT
    SKIP("%s", "this build has no direct solver");
#endif
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    body.material = material_of("neo_hookean", 1e9, 0.45);
    body.fixes = &wall;
    body.fix_count = 1;
    hk_model *model = model_of(&body, box_mesh(1, 0.006, 0.25, 30, 10, 7), -9.81);
    hk_world *world = newton_world(model, "auto", 1.0 / 30);
    assert_non_null(strstr(hk_world_describe(world), "multigrid"));
    hk_step_report r;
    CHECK_OK(hk_world_pose(world, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    assert_true(r.linear_iterations > 0);
    assert_null(strstr(hk_world_describe(world), "multigrid"));
    hk_world_free(world);
    hk_model_free(model);
}

static void test_nothing_is_free(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    hk_selector all = select_box(-1, -1, -1, 2, 2, 2);
    body.fixes = &all;
    body.fix_count = 1;
    hk_model *model = model_of(&body, box_mesh(1, 1, 1, 2, 2, 2), -9.81);
    hk_world *world = newton_world(model, "multigrid", 1.0 / 30);
    hk_step_report r;
    CHECK_OK(hk_world_step(world, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    CHECK_OK(hk_world_pose(world, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    hk_world_free(world);
    hk_model_free(model);
}

static void test_description_names_it(void **state)
{
    (void)state;
    hk_model *model = sagging_bar("neo_hookean");
    hk_world *world = newton_world(model, "multigrid", 1.0 / 30);
    assert_non_null(strstr(hk_world_describe(world), "multigrid"));
    hk_world_free(world);
    hk_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_product),
        cmocka_unit_test(test_shifts_meet_no_force),
        cmocka_unit_test(test_kernels_agree),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_cycle_is_symmetric_and_positive),
        cmocka_unit_test(test_iterations_do_not_grow),
        cmocka_unit_test(test_nearly_incompressible),
        cmocka_unit_test(test_other_shapes),
        cmocka_unit_test(test_rigid_motions_are_coarse),
        cmocka_unit_test(test_threads_give_the_same_bits),
        cmocka_unit_test(test_indefinite_matrices_are_noticed),
        cmocka_unit_test(test_multigrid_and_memory),
        cmocka_unit_test(test_newton_agrees_with_direct),
        cmocka_unit_test(test_inverted_start),
        cmocka_unit_test(test_grabs),
        cmocka_unit_test(test_auto_reconsiders),
        cmocka_unit_test(test_nothing_is_free),
        cmocka_unit_test(test_description_names_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
