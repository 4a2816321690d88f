// Derivatives at any state (hooke/research.h) against differences, for every material, with
// attachments, grabs, pressures, fibres, quadratic tets and contact; systems; the rest shape.
#include "bodies.h"

enum { CELLS = 3 };

typedef struct fixture {
    hk_world *world;
    hk_analysis *analysis;
    int n;
    double *x, *direction, *a, *b, *c;
} fixture;

static double *vector(int n)
{
    return calloc(3 * (size_t)n, sizeof(double));
}

static double dot(const fixture *f, const double *a, const double *b)
{
    double sum = 0;
    for (int k = 0; k < 3 * f->n; k++) sum += a[k] * b[k];
    return sum;
}

// Any state near rest, and any direction.
static void fill_vectors(fixture *f, double strain)
{
    const double *rest = hk_model_rest_positions(hk_world_model(f->world));
    uint64_t seed = 5;
    f->n = hk_model_vertex_count(hk_world_model(f->world));
    double **const all[] = {&f->x, &f->direction, &f->a, &f->b, &f->c};
    for (int k = 0; k < 5; k++) *all[k] = vector(f->n);
    for (int v = 0; v < f->n; v++)
        for (int i = 0; i < 3; i++) {
            double stretch = i == 0 ? 1 + strain : i == 1 ? 1 - 0.3 * strain : 1;
            double shear = i == 1 ? 0.5 * strain * rest[3 * v] : 0;
            f->x[3 * v + i] = stretch * rest[3 * v + i] + shear + 0.004 * noise(&seed);
            f->direction[3 * v + i] = noise(&seed);
        }
}

static fixture fixture_of(hk_world *world, double strain)
{
    fixture f = {.world = world};
    fill_vectors(&f, strain);
    CHECK_OK(hk_analysis_create(world, &f.analysis));
    CHECK_OK(hk_analysis_set_state(f.analysis, f.x, NAN));
    return f;
}

static void release(fixture *f)
{
    hk_analysis_free(f->analysis);
    hk_world_free(f->world);
    free(f->x);
    free(f->direction);
    free(f->a);
    free(f->b);
    free(f->c);
}

// A bar held at one end and attached at the other, with gravity, a load and a pressure all around.
static hk_world *bar(const hk_material_def *material)
{
    static hk_attach_def attach;
    static hk_load_def loads[2];
    hk_selector left = select_box(-1e-6, -1, -1, 1e-6, 1, 1);
    hk_body_def body = hk_default_body_def();
    body.material = *material;
    body.fixes = &left;
    body.fix_count = 1;
    attach = hk_default_attach_def();
    attach.select = select_box(0.99, -1, -1, 1.01, 1, 1);
    attach.stiffness = 40;
    attach.motion.translate[1] = 0.1;
    body.attachments = &attach;
    body.attachment_count = 1;
    loads[0] = loads[1] = hk_default_load_def();
    loads[0].select = loads[1].select = attach.select;
    loads[0].force[2] = 3;
    loads[1].select = (hk_selector){.kind = HK_SELECT_ALL};  // closed: with a rim it is no energy's
    loads[1].pressure = 700;
    body.loads = loads;
    body.load_count = 2;
    return world_of(model_of(&body, box_mesh(1, 0.4, 0.4, CELLS, 2, 2), -9.81), 0.01, 1);
}

static void grab_the_middle(hk_world *world)
{
    hk_grab_def def = hk_default_grab_def();
    def.count = 2;
    def.vertices[0] = 3;
    def.vertices[1] = hk_model_vertex_count(hk_world_model(world)) - 2;
    def.weights[0] = 0.4, def.weights[1] = 0.6;
    def.stiffness = 90;
    def.target[0] = 0.7, def.target[1] = 0.5;
    int grab;
    CHECK_OK(hk_world_grab(world, &def, &grab));
}

// ---------------------------------------------------------------- differences

static double energy_at(fixture *f, double length)
{
    hk_energy e;
    for (int k = 0; k < 3 * f->n; k++) f->c[k] = f->x[k] + length * f->direction[k];
    CHECK_OK(hk_analysis_set_state(f->analysis, f->c, NAN));
    CHECK_OK(hk_analysis_energy(f->analysis, &e, NULL));
    return e.total;
}

static void gradient_at(fixture *f, double length, double *gradient)
{
    for (int k = 0; k < 3 * f->n; k++) f->c[k] = f->x[k] + length * f->direction[k];
    CHECK_OK(hk_analysis_set_state(f->analysis, f->c, NAN));
    CHECK_OK(hk_analysis_energy(f->analysis, NULL, gradient));
}

// Of the slope of the energy, and of H d.
static void check_differences(fixture *f, const char *name, double most)
{
    enum { REACH = 3 };
    static const double weight[REACH] = {45.0 / 60, -9.0 / 60, 1.0 / 60};
    const double h = 2e-4;
    double slope = 0, *product = vector(f->n), worst = 0, size = 0;
    gradient_at(f, 0, f->a);
    CHECK_OK(hk_analysis_product(f->analysis, false, f->direction, product));
    double exact = dot(f, f->a, f->direction);
    for (int k = 1; k <= REACH; k++)
        slope += weight[k - 1] * (energy_at(f, k * h) - energy_at(f, -k * h)) / h;
    if (!(fabs(slope - exact) <= most * fabs(exact)))
        fail_msg("%s: slope %.12g, by differences %.12g", name, exact, slope);
    double *sum = vector(f->n);
    for (int k = 1; k <= REACH; k++) {
        gradient_at(f, k * h, f->a);
        gradient_at(f, -k * h, f->b);
        for (int i = 0; i < 3 * f->n; i++) sum[i] += weight[k - 1] * (f->a[i] - f->b[i]) / h;
    }
    for (int i = 0; i < 3 * f->n; i++) {
        worst = fmax(worst, fabs(sum[i] - product[i]));
        size = fmax(size, fabs(product[i]));
    }
    if (!(worst <= most * size)) fail_msg("%s: H d is off by %g of %g", name, worst, size);
    free(sum);
    free(product);
    CHECK_OK(hk_analysis_set_state(f->analysis, f->x, NAN));
}

// The matrix says what the product says, and is symmetric, with rising columns.
static void check_matrix(fixture *f, const char *name)
{
    int64_t blocks;
    CHECK_OK(hk_analysis_hessian_size(f->analysis, &blocks));
    int64_t *start = calloc((size_t)f->n + 1, sizeof *start);
    int32_t *column = calloc((size_t)blocks, sizeof *column);
    double *value = calloc(9 * (size_t)blocks, sizeof *value), worst = 0, size = 0;
    CHECK_OK(hk_analysis_hessian(f->analysis, false, start, column, value));
    CHECK_OK(hk_analysis_product(f->analysis, false, f->direction, f->a));
    assert_int_equal(start[f->n], blocks);
    memset(f->b, 0, 3 * sizeof(double) * (size_t)f->n);
    for (int v = 0; v < f->n; v++)
        for (int64_t k = start[v]; k < start[v + 1]; k++) {
            assert_true(column[k] >= 0 && column[k] < f->n);
            assert_true(k == start[v] || column[k] > column[k - 1]);
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    f->b[3 * v + i] += value[9 * k + 3 * i + j] * f->direction[3 * column[k] + j];
        }
    for (int k = 0; k < 3 * f->n; k++) {
        worst = fmax(worst, fabs(f->a[k] - f->b[k]));
        size = fmax(size, fabs(f->a[k]));
    }
    if (!(worst <= 1e-12 * size)) fail_msg("%s: matrix and product differ by %g", name, worst);
    free(start);
    free(column);
    free(value);
}

static void test_every_material(void **state)
{
    (void)state;
    for (int m = 0; m < solid_count(); m++) {
        hk_material_def material = material_of(hk_material_name(m), 1e5, 0.35);
        material.invertible.upper = -1;
        if (m % 2) material.fibre_stiffness = 5e4, material.fibre_direction[1] = 1;
        hk_world *world = bar(&material);
        grab_the_middle(world);
        fixture f = fixture_of(world, 0.15);
        check_differences(&f, hk_material_name(m), 2e-7);
        check_matrix(&f, hk_material_name(m));
        release(&f);
    }
}

static void test_quadratic_tets(void **state)
{
    (void)state;
    hk_mesh *mesh = box_mesh(1, 0.4, 0.4, 2, 1, 1);
    CHECK_OK(hk_mesh_set_order(mesh, 2));
    hk_body_def body = hk_default_body_def();
    body.material = material_of("neo_hookean", 1e5, 0.3);
    fixture f = fixture_of(world_of(model_of(&body, mesh, -9.81), 0.01, 1), 0.1);
    check_differences(&f, "quadratic tets", 2e-7);
    check_matrix(&f, "quadratic tets");
    double *slope = vector(f.n);
    assert_int_equal(hk_analysis_rest_slope(f.analysis, f.direction, NULL, slope), HK_UNSUPPORTED);
    free(slope);
    release(&f);
}

// A box that is pushed into a plane and into another one.
static void test_contact(void **state)
{
    (void)state;
    hk_mesh *mesh = box_mesh(0.4, 0.4, 0.4, 2, 2, 2);
    hk_body_def bodies[2] = {hk_default_body_def(), hk_default_body_def()};
    for (int b = 0; b < 2; b++) {
        bodies[b].mesh = mesh;
        bodies[b].material = material_of("neo_hookean", 1e5, 0.3);
        bodies[b].transform.translate[1] = 0.005 + 0.405 * b;
        bodies[b].transform.axis[1] = 1;
        bodies[b].transform.degrees = 17 * b;
    }
    hk_obstacle_def floor = hk_default_obstacle_def();
    hk_contact_def contact = hk_default_contact_def();
    contact.distance = 0.02;
    contact.stiffness = 1e5;
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = 2;
    def.obstacles = &floor;
    def.obstacle_count = 1;
    def.contact = &contact;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    fixture f = {.world = world_of(model, 0.01, 1)};
    fill_vectors(&f, 0);
    const double *rest = hk_model_rest_positions(hk_world_model(f.world));
    for (int k = 0; k < 3 * f.n; k++) f.x[k] = rest[k] + 0.1 * (f.x[k] - rest[k]);
    for (int k = 0; k < 3 * f.n; k++) f.direction[k] *= 0.2;
    CHECK_OK(hk_analysis_create(f.world, &f.analysis));
    CHECK_OK(hk_analysis_set_state(f.analysis, f.x, NAN));
    hk_energy e;
    CHECK_OK(hk_analysis_energy(f.analysis, &e, NULL));
    assert_true(e.contact > 0);
    check_differences(&f, "contact", 1e-4);  // pairs come and go: the second derivative jumps
    check_matrix(&f, "contact");
    release(&f);
}

// ---------------------------------------------------------------- systems

static void test_systems(void **state)
{
    (void)state;
    hk_material_def material = material_of("neo_hookean", 1e5, 0.35);
    fixture f = fixture_of(bar(&material), 0.05);
    const double *mass = hk_model_masses(hk_world_model(f.world)), weight = 1e4;
    double *extra = vector(f.n), *solution = vector(f.n), worst = 0;
    uint8_t *axes = calloc((size_t)f.n, 1);
    for (int v = 0; v < f.n; v++) extra[v] = 10 + v;
    CHECK_OK(hk_analysis_held(f.analysis, axes, f.c));
    assert_int_equal(hk_analysis_solve(f.analysis, f.direction, solution), HK_BAD_INPUT);
    bool positive;
    CHECK_OK(hk_analysis_factor(f.analysis, weight, extra, &positive));
    assert_true(positive);
    CHECK_OK(hk_analysis_solve(f.analysis, f.direction, solution));
    CHECK_OK(hk_analysis_product(f.analysis, false, solution, f.a));
    int held = 0;
    for (int v = 0; v < f.n; v++)
        for (int i = 0; i < 3; i++) {
            int k = 3 * v + i;
            double left = f.a[k] + (weight * mass[v] + extra[v]) * solution[k] - f.direction[k];
            held += axes[v] >> i & 1;
            if (axes[v] >> i & 1)
                assert_true(solution[k] == 0);
            else
                worst = fmax(worst, fabs(left));
        }
    assert_int_equal(held, 3 * 9);
    if (!(worst < 1e-8)) fail_msg("%g is left of the system", worst);
    // Held vertices are at rest, whatever state was set; the others are where it has them.
    const double *rest = hk_model_rest_positions(hk_world_model(f.world));
    for (int v = 0; v < f.n; v++)
        for (int i = 0; i < 3; i++)
            assert_true(f.c[3 * v + i] == (axes[v] ? rest : f.x)[3 * v + i]);
    free(extra);
    free(solution);
    free(axes);
    release(&f);
}

// ---------------------------------------------------------------- the rest shape

// λ · ∂E/∂x + Σ factors m, with another rest shape and the state as it is.
static double work_at(fixture *f, const double *factors, double length)
{
    hk_analysis *analysis;
    const double *masses;
    double sum = 0;
    CHECK_OK(hk_world_set_rest_positions(f->world, f->c));
    CHECK_OK(hk_analysis_create(f->world, &analysis));
    CHECK_OK(hk_analysis_set_state(analysis, f->x, NAN));
    CHECK_OK(hk_analysis_energy(analysis, NULL, f->a));
    masses = hk_model_masses(hk_world_model(f->world));
    for (int v = 0; v < f->n; v++) sum += factors[v] * masses[v];
    // Weight is in the gradient, too, and is no elastic force: its change is that of the masses.
    for (int v = 0; v < f->n; v++) sum -= 9.81 * masses[v] * f->direction[3 * v + 1];
    hk_analysis_free(analysis);
    (void)length;
    return sum + dot(f, f->a, f->direction);
}

static void check_rest_slope(const char *name)
{
    enum { REACH = 3 };
    static const double weight[REACH] = {45.0 / 60, -9.0 / 60, 1.0 / 60};
    hk_material_def material = material_of(name, 1e5, 0.35);
    material.invertible.upper = -1;
    material.fibre_stiffness = 3e4, material.fibre_direction[0] = 1;
    fixture f = fixture_of(bar(&material), 0.1);
    const double h = 1e-4;
    double *factors = vector(f.n), *slope = vector(f.n), *rest = vector(f.n), *way = vector(f.n);
    uint64_t seed = 77;
    memcpy(rest, hk_model_rest_positions(hk_world_model(f.world)),
           3 * sizeof(double) * (size_t)f.n);
    for (int v = 0; v < f.n; v++) factors[v] = 100 * noise(&seed);
    for (int k = 0; k < 3 * f.n; k++) way[k] = noise(&seed);
    CHECK_OK(hk_analysis_rest_slope(f.analysis, f.direction, factors, slope));
    double exact = dot(&f, slope, way), found = 0;
    for (int k = -REACH; k <= REACH; k++) {
        if (k == 0) continue;
        for (int i = 0; i < 3 * f.n; i++) f.c[i] = rest[i] + k * h * way[i];
        double w = weight[abs(k) - 1] * (k < 0 ? -1 : 1);
        found += w * work_at(&f, factors, k * h) / h;
    }
    if (!(fabs(found - exact) <= 1e-7 * fabs(exact)))
        fail_msg("%s: by the rest shape %.12g, by differences %.12g", name, exact, found);
    // The world has another model by now.
    assert_int_equal(hk_analysis_energy(f.analysis, NULL, f.a), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "another model"));
    free(factors);
    free(slope);
    free(rest);
    free(way);
    release(&f);
}

static void test_rest_shape(void **state)
{
    (void)state;
    for (int m = 0; m < solid_count(); m++) check_rest_slope(hk_material_name(m));
}

static void test_bad_input(void **state)
{
    (void)state;
    hk_material_def material = material_of("neo_hookean", 1e5, 0.35);
    fixture f = fixture_of(bar(&material), 0);
    hk_analysis *none = NULL;
    bool positive;
    assert_int_equal(hk_analysis_create(NULL, &none), HK_BAD_INPUT);
    assert_int_equal(hk_analysis_create(f.world, NULL), HK_BAD_INPUT);
    assert_int_equal(hk_analysis_energy(NULL, NULL, NULL), HK_BAD_INPUT);
    assert_int_equal(hk_analysis_factor(f.analysis, NAN, NULL, &positive), HK_BAD_INPUT);
    assert_int_equal(hk_analysis_product(f.analysis, false, NULL, f.a), HK_BAD_INPUT);
    f.x[4] = NAN;
    assert_int_equal(hk_analysis_set_state(f.analysis, f.x, NAN), HK_BAD_INPUT);
    hk_analysis_free(NULL);
    release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_material), cmocka_unit_test(test_quadratic_tets),
        cmocka_unit_test(test_contact),        cmocka_unit_test(test_systems),
        cmocka_unit_test(test_rest_shape),     cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
