// Quadratic tets: derivatives by differences, patch test, invariance, order of convergence, beams,
// masses, contact, memory, what is refused. (Meshes and files: test_tet10_mesh.c.)
#include "quadratic_bodies.h"

#include "failing_alloc.h"

#include "model/model.h"
#include "solver/method.h"
#include "solver/problem.h"
#include "term/quadratic_tets.h"

// ---------------------------------------------------------------- derivatives

typedef struct state {
    const char *name;
    double A[3][3];
    double noise;
} deformation;
static const deformation g_states[] = {
    {"rest", {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, 0},
    {"stretched", {{1.6, 0, 0}, {0, 0.8, 0}, {0, 0, 0.9}}, 0.02},
    {"sheared", {{1, 0.7, 0}, {0, 1, 0.2}, {0, 0, 1}}, 0.02},
    {"nearly flat", {{1, 0, 0.1}, {0, 0.06, 0}, {0, 0, 1.1}}, 0.002},
};

static void deform(const hk_problem *p, const deformation *d, double *x)
{
    uint64_t seed = 3;
    for (int v = 0; v < p->vertex_count; v++)
        for (int i = 0; i < 3; i++) {
            x[4 * v + i] = d->noise * noise(&seed);
            for (int j = 0; j < 3; j++) x[4 * v + i] += d->A[i][j] * p->rest[4 * v + j];
        }
}

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}

static void check_derivatives(hk_problem *p, const char *material, const deformation *d)
{
    int n = 4 * p->vertex_count;
    size_t bytes = sizeof(double) * (size_t)n;
    double *x = hk_calloc(1, bytes), *y = hk_calloc(1, bytes), *step = hk_calloc(1, bytes);
    double *g = hk_calloc(1, bytes), *up = hk_calloc(1, bytes), *down = hk_calloc(1, bytes);
    double *product = hk_calloc(1, bytes), *diagonal = hk_calloc(1, bytes);
    double *blocks = HK_ARRAY(double, hk_terms_block_size(p->terms));
    const double h = 1e-6;
    uint64_t seed = 17;
    deform(p, d, x);
    hk_terms_gradient(p->terms, x, HK_ALL_TERMS, g, NULL);
    hk_terms_blocks(p->terms, x, 1, HK_FOR_HESSIAN, blocks);
    hk_terms_diagonal(p->terms, x, diagonal);
    for (int trial = 0; trial < 3; trial++) {
        for (int k = 0; k < n; k++) step[k] = k % 4 < 3 ? noise(&seed) : 0;
        for (int k = 0; k < n; k++) y[k] = x[k] + h * step[k];
        double above = hk_terms_energy(p->terms, y, HK_ALL_TERMS);
        hk_terms_gradient(p->terms, y, HK_ALL_TERMS, up, NULL);
        for (int k = 0; k < n; k++) y[k] = x[k] - h * step[k];
        double below = hk_terms_energy(p->terms, y, HK_ALL_TERMS);
        hk_terms_gradient(p->terms, y, HK_ALL_TERMS, down, NULL);
        memset(product, 0, bytes);
        hk_terms_add_product(p->terms, blocks, step, product);
        double norm = sqrt(dot(product, product, n)), scale = sqrt(dot(step, step, n)), worst = 0;
        double slope = (above - below) / (2 * h);
        if (!(fabs(slope - dot(g, step, n)) <= 2e-6 * (sqrt(dot(g, g, n)) * scale + norm * scale)))
            fail_msg("%s, %s: the slope is %.9g, the gradient says %.9g", material, d->name, slope,
                     dot(g, step, n));
        for (int k = 0; k < n; k++)
            worst = fmax(worst, fabs((up[k] - down[k]) / (2 * h) - product[k]));
        if (!(worst <= 2e-5 * norm))
            fail_msg("%s, %s: H d is off by %g of %g", material, d->name, worst, norm);
    }
    // The diagonal is that of the blocks.
    for (int k = 0; k < n && k < 40; k++) {
        if (k % 4 == 3) continue;
        memset(step, 0, bytes);
        memset(product, 0, bytes);
        step[k] = 1;
        hk_terms_add_product(p->terms, blocks, step, product);
        assert_true(fabs(product[k] - diagonal[k]) <= 1e-9 * fabs(diagonal[k]) + 1e-9);
    }
    double *all[] = {x, y, step, g, up, down, product, diagonal, blocks};
    for (int k = 0; k < HK_COUNT_OF(all); k++) hk_free(all[k]);
}

static void test_derivatives(void **state)
{
    (void)state;
    for (int material = 0; material < solid_count(); material++) {
        hk_body_def body = hk_default_body_def();
        body.material = material_of(hk_material_name(material), 1e3, 0.3);
        hk_mesh *mesh = quadratic_box(1, 1, 1, 1, 1, 1);
        bend_edges(mesh, 0.03);
        hk_problem *problem;
        hk_model *model = model_of(&body, mesh, 0);
        CHECK_OK(hk_problem_create(model, 2, NULL, &problem));
        for (int s = 0; s < HK_COUNT_OF(g_states); s++)
            check_derivatives(problem, body.material.model, &g_states[s]);
        hk_problem_free(problem);
        hk_model_free(model);
    }
}

static void test_fibres_and_regions(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    body.material = material_of("neo_hookean", 1e3, 0.3);
    body.material.fibre_stiffness = 4e3;
    body.material.fibre_direction[0] = 1;
    hk_region_def region = hk_default_region_def();
    region.select = select_box(0.4, -1, -1, 2, 2, 2);
    region.material = material_of("stvk", 2e3, 0.2);
    body.regions = &region;
    body.region_count = 1;
    hk_problem *problem;
    hk_model *model = model_of(&body, quadratic_box(1, 1, 1, 2, 1, 1), 0);
    CHECK_OK(hk_problem_create(model, 2, NULL, &problem));
    for (int s = 0; s < HK_COUNT_OF(g_states); s++)
        check_derivatives(problem, "fibres and regions", &g_states[s]);
    hk_problem_free(problem);
    hk_model_free(model);
}

// Energy, forces and torques of a turned body.
static void test_invariance(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    body.material = material_of("neo_hookean", 1e3, 0.3);
    hk_mesh *mesh = quadratic_box(1, 0.7, 0.5, 2, 2, 1);
    bend_edges(mesh, 0.01);
    hk_problem *p;
    hk_model *model = model_of(&body, mesh, 0);
    CHECK_OK(hk_problem_create(model, 1, NULL, &p));
    int n = p->vertex_count;
    double *x = hk_calloc(4 * (size_t)n, 8), *y = hk_calloc(4 * (size_t)n, 8);
    double *g = hk_calloc(4 * (size_t)n, 8), *f = hk_calloc(4 * (size_t)n, 8);
    const double c = cos(2), s = sin(2);
    deform(p, &g_states[2], x);
    for (int v = 0; v < n; v++) {
        const double *a = x + 4 * v;
        double *b = y + 4 * v;
        b[0] = c * a[0] - s * a[1] + 10;
        b[1] = s * a[0] + c * a[1] - 3;
        b[2] = a[2];
    }
    double before, after, sum[6] = {0}, size = 0;
    hk_terms_gradient(p->terms, x, HK_ALL_TERMS, g, &before);
    hk_terms_gradient(p->terms, y, HK_ALL_TERMS, f, &after);
    assert_true(fabs(after - before) < 1e-11 * before);
    for (int v = 0; v < n; v++) {
        const double *a = g + 4 * v, *b = f + 4 * v, *at = x + 4 * v;
        assert_true(fabs(c * a[0] - s * a[1] - b[0]) < 1e-10 && fabs(a[2] - b[2]) < 1e-10);
        for (int i = 0; i < 3; i++) {
            int j = (i + 1) % 3, k = (i + 2) % 3;
            sum[i] += a[i];
            sum[3 + i] += at[j] * a[k] - at[k] * a[j];
            size += fabs(a[i]);
        }
    }
    for (int i = 0; i < 6; i++) assert_true(fabs(sum[i]) < 1e-12 * size);
    double *all[] = {x, y, g, f};
    for (int k = 0; k < HK_COUNT_OF(all); k++) hk_free(all[k]);
    hk_problem_free(p);
    hk_model_free(model);
}

// ---------------------------------------------------------------- exact solutions

typedef void field_fn(const double X[3], double x[3]);

// The equilibrium with the boundary of a unit cube held at a field, from rest inside.
static hk_model *solve_inside(const char *law, hk_mesh *mesh, field_fn *field, double disturb,
                              double **positions)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of(law, 1e5, 0.3);
    hk_selector inside = select_box(1e-4, 1e-4, 1e-4, 0.9999, 0.9999, 0.9999);
    hk_selector boundary = {.kind = HK_SELECT_NOT, .children = &inside, .child_count = 1};
    body.fixes = &boundary;
    body.fix_count = 1;
    hk_model *model = model_of(&body, mesh, 0);
    hk_problem *p;
    CHECK_OK(hk_problem_create(model, 2, NULL, &p));
    hk_solver_def def = hk_default_solver_def();
    def.tolerance = 1e-9;
    hk_settings settings;
    void *solver;
    CHECK_OK(hk_method_settings(&hk_newton, &def, &settings));
    CHECK_OK(hk_newton.create(p, &settings, &solver));
    double *x = calloc(4 * (size_t)p->vertex_count, sizeof *x);
    uint64_t seed = 11;
    for (int v = 0; v < p->vertex_count; v++) {
        field(p->rest + 4 * v, x + 4 * v);
        for (int i = 0; i < 3 && !p->held[v]; i++) x[4 * v + i] += disturb * noise(&seed);
    }
    hk_solve_report report = {0};
    CHECK_OK(hk_newton.minimise(solver, x, &report));
    if (report.reason != HK_CONVERGED && report.reason != HK_PRECISION_LIMIT)
        fail_msg("%s: %s, %s", law, hk_reason_name(report.reason), report.detail);
    *positions = malloc(3 * sizeof(double) * (size_t)p->vertex_count);
    for (int k = 0; k < p->vertex_count; k++)
        memcpy(*positions + 3 * (size_t)model->order[k], x + 4 * k, 3 * sizeof(double));
    free(x);
    hk_newton.free(solver);
    hk_problem_free(p);
    return model;
}

static void affine(const double X[3], double x[3])
{
    static const double A[3][3] = {{1.25, 0.2, -0.1}, {0.05, 0.85, 0.15}, {0.1, -0.1, 0.95}};
    for (int i = 0; i < 3; i++) x[i] = A[i][0] * X[0] + A[i][1] * X[1] + A[i][2] * X[2];
}

static void test_patch(void **state)
{
    (void)state;
    for (int material = 0; material < solid_count(); material++) {
        double *x, exact[3], worst = 0;
        hk_mesh *mesh = quadratic_box(1, 1, 1, 2, 2, 2);
        hk_model *m = solve_inside(hk_material_name(material), mesh, affine, 0.02, &x);
        for (int v = 0; v < m->vertex_count; v++) {
            affine(m->rest + 3 * v, exact);
            for (int i = 0; i < 3; i++) worst = fmax(worst, fabs(x[3 * v + i] - exact[i]));
        }
        if (!(worst < 1e-7)) fail_msg("%s: off by %g", hk_material_name(material), worst);
        free(x);
        hk_model_free(m);
    }
}

// u = ∇φ with Δφ = 0: no volume change and Δu = 0, so linear elasticity holds without loads.
static void harmonic(const double X[3], double x[3])
{
    const double k = sqrt(2), size = 1e-6, z = exp(k * X[2]);
    x[0] = X[0] + size * cos(X[0] + 0.3) * sin(X[1] + 0.2) * z;
    x[1] = X[1] + size * sin(X[0] + 0.3) * cos(X[1] + 0.2) * z;
    x[2] = X[2] + size * k * sin(X[0] + 0.3) * sin(X[1] + 0.2) * z;
}

static void shape_values(const double l[4], bool quadratic, double N[10])
{
    for (int c = 0; c < 4; c++) N[c] = quadratic ? l[c] * (2 * l[c] - 1) : l[c];
    for (int m = 0; m < 6; m++) N[4 + m] = 4 * l[hk_tet_edges[m][0]] * l[hk_tet_edges[m][1]];
}

// The error of displacements in L2, over points that are nobody's Gauss points.
static double error_of(int order, int cells)
{
    static const double l[4][4] = {
        {0.7, 0.1, 0.1, 0.1}, {0.1, 0.7, 0.1, 0.1}, {0.1, 0.1, 0.7, 0.1}, {0.1, 0.1, 0.1, 0.7}};
    double *x, sum = 0;
    hk_mesh *mesh = order == 2 ? quadratic_box(1, 1, 1, cells, cells, cells)
                               : box_mesh(1, 1, 1, cells, cells, cells);
    hk_model *m = solve_inside("neo_hookean", mesh, harmonic, 0, &x);
    for (int t = 0; t < m->tet_count; t++)
        for (int q = 0; q < 4; q++) {
            double N[10], X[3] = {0}, at[3] = {0}, exact[3];
            int32_t node[10];
            memcpy(node, m->tets + 4 * t, 4 * sizeof *node);
            if (order == 2) memcpy(node + 4, m->middles + 6 * t, 6 * sizeof *node);
            shape_values(l[q], order == 2, N);
            for (int a = 0; a < (order == 2 ? 10 : 4); a++)
                for (int i = 0; i < 3; i++) {
                    X[i] += N[a] * m->rest[3 * node[a] + i];
                    at[i] += N[a] * x[3 * node[a] + i];
                }
            harmonic(X, exact);
            for (int i = 0; i < 3; i++)
                sum += m->volume[t] / 4 * (at[i] - exact[i]) * (at[i] - exact[i]);
        }
    free(x);
    hk_model_free(m);
    return sqrt(sum);
}

static void test_convergence_order(void **state)
{
    (void)state;
    double linear = log2(error_of(1, 3) / error_of(1, 6));
    double quadratic = log2(error_of(2, 2) / error_of(2, 4));
    if (!(linear > 1.8 && linear < 2.3)) fail_msg("linear: order %.2f", linear);
    if (!(quadratic > 2.8 && quadratic < 3.3)) fail_msg("quadratic: order %.2f", quadratic);
}

// ---------------------------------------------------------------- beams

// The deflection of a cantilever of ten times its height under a small load at its end, over that
// of Timoshenko's beam.
static double cantilever(int order, int across, double poisson)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of("neo_hookean", 1e6, poisson);
    hk_selector fix = select_box(-1e-6, -1, -1, 1e-6, 1, 1);
    hk_load_def load = hk_default_load_def();
    load.select = select_box(0.9999, -1, -1, 1.0001, 1, 1);
    load.force[1] = -0.1;
    load.distribution = HK_BY_AREA;
    body.fixes = &fix;
    body.fix_count = 1;
    body.loads = &load;
    body.load_count = 1;
    hk_mesh *mesh = box_mesh(1, 0.1, 0.1, 10 * across, across, across);
    CHECK_OK(hk_mesh_set_order(mesh, order));
    hk_world *world = world_of(model_of(&body, mesh, 0), 0.01, 2);
    hk_step_report report;
    CHECK_OK(hk_world_pose(world, &report));
    assert_true(report.reason == HK_CONVERGED || report.reason == HK_PRECISION_LIMIT);
    const double *x = hk_world_positions(world);
    const double *rest = hk_model_rest_positions(hk_world_model(world));
    double sum = 0;
    int count = 0;
    for (int v = 0; v < hk_model_vertex_count(hk_world_model(world)); v++)
        if (rest[3 * v] > 0.9999) {
            sum += rest[3 * v + 1] - x[3 * v + 1];
            count++;
        }
    hk_world_free(world);
    double shear = 1e6 / (2 * (1 + poisson)), inertia = pow(0.1, 4) / 12;
    return sum / count / (0.1 / (3 * 1e6 * inertia) + 0.1 / (5.0 / 6 * shear * 0.01));
}

static void test_beam(void **state)
{
    (void)state;
    double linear = cantilever(1, 4, 0.3), quadratic = cantilever(2, 2, 0.3);
    if (!(linear < 0.92)) fail_msg("linear tets: %.4f", linear);
    if (!(fabs(quadratic - 1) < 0.015)) fail_msg("quadratic tets: %.4f", quadratic);
    double locked = cantilever(1, 2, 0.499), free_of_it = cantilever(2, 2, 0.499);
    if (!(locked < 0.7)) fail_msg("linear tets at 0.499: %.4f", locked);
    if (!(fabs(free_of_it - 1) < 0.06)) fail_msg("quadratic tets at 0.499: %.4f", free_of_it);
}

// ---------------------------------------------------------------- masses and motion

static hk_world *falling(int threads, const char *method)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of("stable_neo_hookean", 1e4, 0.4);
    body.velocity[0] = 1;
    hk_mesh *mesh = quadratic_box(1, 0.3, 0.3, 3, 1, 1);
    bend_edges(mesh, 0.01);
    hk_world *world = world_of(model_of(&body, mesh, -10), 0.01, threads);
    hk_solver_def def = hk_default_solver_def();
    def.method = method;
    def.tolerance = 1e-10;
    CHECK_OK(hk_world_set_solver(world, &def));
    return world;
}

// All masses are positive and add up; a body in free fall stays as it is.
static void test_free_fall(void **state)
{
    (void)state;
    hk_world *world = falling(1, "newton");
    const hk_model *m = hk_world_model(world);
    double sum = 0, volume = 0;
    for (int v = 0; v < m->vertex_count; v++) {
        assert_true(m->mass[v] > 0);
        sum += m->mass[v];
    }
    for (int t = 0; t < m->tet_count; t++) volume += m->volume[t];
    assert_true(fabs(sum - 1000 * volume) < 1e-9 * sum);
    assert_true(fabs(hk_model_mass(m) - sum) < 1e-9 * sum);
    hk_step_report report;
    for (int k = 0; k < 10; k++) CHECK_OK(hk_world_step(world, &report));
    const double *x = hk_world_positions(world), *rest = hk_model_rest_positions(m);
    for (int v = 0; v < m->vertex_count; v++) {
        assert_true(fabs(x[3 * v] - rest[3 * v] - 0.1) < 1e-8);
        assert_true(fabs(x[3 * v + 1] - rest[3 * v + 1] + 10 * 1e-4 * 55) < 1e-8);
    }
    hk_world_free(world);
}

// The same bits for any number of threads, and linear_implicit, too.
static void test_threads(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "linear_implicit"};
    for (int k = 0; k < 2; k++) {
        hk_world *one = falling(1, methods[k]), *three = falling(3, methods[k]);
        double *x = malloc(3 * sizeof *x * (size_t)hk_world_model(one)->vertex_count);
        uint64_t seed = 2;
        for (int v = 0; v < 3 * hk_world_model(one)->vertex_count; v++)
            x[v] = hk_world_positions(one)[v] * (1 + 0.02 * noise(&seed));
        CHECK_OK(hk_world_set_positions(one, x));
        CHECK_OK(hk_world_set_positions(three, x));
        hk_step_report report;
        for (int s = 0; s < 3; s++) {
            CHECK_OK(hk_world_step(one, &report));
            CHECK_OK(hk_world_step(three, &report));
        }
        assert_memory_equal(hk_world_positions(one), hk_world_positions(three),
                            3 * sizeof *x * (size_t)hk_world_model(one)->vertex_count);
        free(x);
        hk_world_free(one);
        hk_world_free(three);
    }
}

// A block that lies on the floor: nodes in the middles of edges touch it, too.
static void test_contact(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    body.material = material_of("neo_hookean", 1e5, 0.3);
    body.mesh = quadratic_box(0.4, 0.2, 0.4, 2, 1, 2);
    body.transform.translate[1] = 2e-3;
    hk_obstacle_def ground = hk_default_obstacle_def();
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.gravity[1] = -9.81;
    def.obstacles = &ground;
    def.obstacle_count = 1;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free((hk_mesh *)(uintptr_t)body.mesh);
    hk_world *world = world_of(model, 0.01, 2);
    hk_step_report report;
    for (int k = 0; k < 60; k++) CHECK_OK(hk_world_step(world, &report));
    const double *x = hk_world_positions(world);
    double lowest = INFINITY;
    int low = 0;
    for (int v = 0; v < hk_model_vertex_count(hk_world_model(world)); v++) {
        lowest = fmin(lowest, x[3 * v + 1]);
        low += x[3 * v + 1] < 1.5e-3;
    }
    assert_true(lowest > 0 && lowest < 1.5e-3);
    assert_int_equal(low, 25);  // 5 × 5 nodes of the lower face
    hk_world_free(world);
}

// ---------------------------------------------------------------- memory

// Mesh, files, model, world, step, stress: everything is freed.
static hk_status live(const char *path)
{
    hk_mesh_def mesh_def = hk_default_mesh_def(HK_SHAPE_BOX);
    mesh_def.cells[0] = mesh_def.cells[1] = mesh_def.cells[2] = 1;
    hk_mesh *mesh = NULL, *loaded = NULL;
    hk_model *model = NULL;
    hk_world *world = NULL;
    hk_body_def body = hk_default_body_def();
    hk_model_def def = hk_default_model_def();
    hk_step_report report;
    hk_status status = hk_mesh_make(&mesh_def, &mesh);
    if (status == HK_OK) status = hk_mesh_set_order(mesh, 2);
    if (status == HK_OK) status = hk_mesh_save(mesh, path, NULL, 0);
    if (status == HK_OK) status = hk_mesh_load(path, &loaded);
    if (status == HK_OK) status = hk_mesh_set_order(loaded, 1);
    body.mesh = mesh;
    def.bodies = &body;
    def.body_count = 1;
    if (status == HK_OK) status = hk_model_create(&def, &model);
    hk_world_def world_def = hk_default_world_def();
    world_def.model = model;
    world_def.threads = 1;
    if (status == HK_OK) status = hk_world_create(&world_def, &world);
    if (status == HK_OK) status = hk_world_step(world, &report);
    if (status == HK_OK) status = hk_world_save(world, path);
    hk_world_free(world);
    hk_model_free(model);
    hk_mesh_free(mesh);
    hk_mesh_free(loaded);
    return status;
}

static void test_every_failing_allocation(void **state)
{
    (void)state;
    static const char *const paths[] = {"tet10_memory.vtu", "tet10_memory.msh"};
    for (int k = 0; k < 2; k++) {
        for (int n = 1;; n++) {
            failing_alloc_install(n);
            hk_status status = live(paths[k]);
            int used = failing_alloc_count(), left = failing_alloc_live();
            failing_alloc_remove();
            if (left != 0) fail_msg("allocation %d fails: %d blocks leak", n, left);
            if (used < n) {
                if (status != HK_OK) fail_msg("%s", hk_error());
                break;
            }
            if (status != HK_NO_MEMORY)
                fail_msg("allocation %d fails: status %s (%s)", n, hk_status_name(status),
                         hk_error());
        }
        remove(paths[k]);
    }
}

static void test_warm_step_allocates_nothing(void **state)
{
    (void)state;
    failing_alloc_install(0);
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 1, 1);
    body.fixes = &wall;
    body.fix_count = 1;
    hk_model *model = model_of(&body, quadratic_box(1, 0.2, 0.2, 4, 1, 1), -9.81);
    hk_world *world = world_of(model, 0.01, 1);
    hk_step_report report;
    CHECK_OK(hk_world_step(world, &report));
    int before = failing_alloc_count();
    for (int k = 0; k < 5; k++) CHECK_OK(hk_world_step(world, &report));
    assert_int_equal(failing_alloc_count(), before);
    hk_world_free(world);
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_remove();
}

// ---------------------------------------------------------------- what is refused

static void refuse_body(hk_body_def *body, hk_mesh *mesh, const char *words)
{
    hk_model_def def = hk_default_model_def();
    hk_model *model;
    body->mesh = mesh;
    def.bodies = body;
    def.body_count = 1;
    assert_int_not_equal(hk_model_create(&def, &model), HK_OK);
    if (!strstr(hk_error(), words)) fail_msg("%s lacks: %s", hk_error(), words);
    hk_mesh_free(mesh);
}

static void test_refusals(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    hk_world *world = world_of(model_of(&body, quadratic_box(1, 1, 1, 1, 1, 1), 0), 0.01, 1);
    for (int k = 0; k < hk_method_count(); k++) {
        hk_solver_def def = hk_default_solver_def();
        def.method = hk_method_name(k);
        bool can = strcmp(def.method, "newton") == 0 || strcmp(def.method, "linear_implicit") == 0;
        assert_int_equal(hk_world_set_solver(world, &def) == HK_OK, can);
        if (!can && (!strstr(hk_error(), "newton") || !strstr(hk_error(), def.method)))
            fail_msg("%s", hk_error());
    }
    hk_world_free(world);
    hk_mesh *folded = quadratic_box(1, 1, 1, 1, 1, 1);
    bend_edges(folded, 0.9);
    refuse_body(&body, folded, "folded");
    hk_mesh *mixed = quadratic_box(1, 1, 1, 1, 1, 1);
    for (int k = 0; k < 6; k++) mixed->middles[k] = -1;
    refuse_body(&body, mixed, "order");
    body.material.invertible = hk_default_invertible();
    refuse_body(&body, quadratic_box(1, 1, 1, 1, 1, 1), "invertible");
    hk_mesh *sheet;
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_SHEET);
    CHECK_OK(hk_mesh_make(&def, &sheet));
    assert_int_equal(hk_mesh_set_order(sheet, 2), HK_UNSUPPORTED);
    assert_int_equal(hk_mesh_set_order(sheet, 3), HK_BAD_INPUT);
    hk_mesh_free(sheet);
}

// A uniform stretch has the same stress in tets of both orders.
static void test_stress(void **state)
{
    (void)state;
    double stress[2];
    for (int order = 1; order <= 2; order++) {
        hk_body_def body = hk_default_body_def();
        body.material = material_of("neo_hookean", 1e5, 0.3);
        hk_mesh *mesh = box_mesh(1, 1, 1, 1, 1, 1);
        CHECK_OK(hk_mesh_set_order(mesh, order));
        hk_world *world = world_of(model_of(&body, mesh, 0), 0.01, 1);
        int n = hk_model_vertex_count(hk_world_model(world));
        double *x = malloc(3 * sizeof *x * (size_t)n), values[5], J[5];
        memcpy(x, hk_world_positions(world), 3 * sizeof *x * (size_t)n);
        for (int v = 0; v < n; v++) x[3 * v] *= 1.3;
        CHECK_OK(hk_world_set_positions(world, x));
        CHECK_OK(hk_world_field(world, "von_mises", values));
        CHECK_OK(hk_world_field(world, "J", J));
        for (int t = 0; t < 5; t++) {
            assert_true(fabs(values[t] - values[0]) < 1e-9 * values[0]);
            assert_true(fabs(J[t] - 1.3) < 1e-12);
        }
        stress[order - 1] = values[0];
        CHECK_OK(hk_world_save(world, "tet10_stress.vtu"));
        hk_mesh *saved;
        CHECK_OK(hk_mesh_load("tet10_stress.vtu", &saved));
        assert_int_equal(hk_mesh_order(saved), order);
        assert_true(hk_mesh_field_count(saved) >= 4);
        hk_mesh_free(saved);
        remove("tet10_stress.vtu");
        free(x);
        hk_world_free(world);
    }
    assert_true(stress[0] > 1 && fabs(stress[0] - stress[1]) < 1e-9 * stress[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_fibres_and_regions),
        cmocka_unit_test(test_invariance),
        cmocka_unit_test(test_patch),
        cmocka_unit_test(test_convergence_order),
        cmocka_unit_test(test_beam),
        cmocka_unit_test(test_free_fall),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_contact),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_stress),
        cmocka_unit_test(test_every_failing_allocation),
        cmocka_unit_test(test_warm_step_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
