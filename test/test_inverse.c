// f(x, X) of the inverse problem against the forces of ordinary worlds, and ∂f/∂X against
// differences: for all materials, fibres, axes and attachments, in many states.
#include "bodies.h"

#include "design/inverse.h"

// Zeros, aligned as the kernels want them.
static double *vector(size_t count)
{
    double *v = HK_ZEROS(double, count);
    assert_non_null(v);
    return v;
}

// ---------------------------------------------------------------- cases

enum { STATES = 5 };
static const char *const state_names[STATES] = {"rest", "stretched", "sheared", "nearly flat",
                                                "turned"};
// ∂X/∂x, roughly: tets are disturbed beside it.
static const double states[STATES][9] = {{1, 0, 0, 0, 1, 0, 0, 0, 1},
                                         {0.6, 0, 0, 0, 1.2, 0, 0, 0, 1.1},
                                         {1, 0.6, 0, 0.1, 1, -0.3, 0, 0, 1},
                                         {1, 0, 0, 0, 0.12, 0, 0, 0, 1},
                                         {0, -1, 0.1, 0.9, 0, 0, 0, 0.2, 1.1}};

// Materials by number; after those of the list one with fibres, an orthotropic one, a custom one.
static double custom_energy(void *context, const double F[9])
{
    (void)context;
    double sum = 0;
    for (int k = 0; k < 9; k++) {
        double e = F[k] - (k % 4 == 0);
        sum += 4e4 * e * e + 1e4 * e * e * e * e;
    }
    return sum;
}
static void custom_stress(void *context, const double F[9], double P[9])
{
    (void)context;
    for (int k = 0; k < 9; k++) {
        double e = F[k] - (k % 4 == 0);
        P[k] = 8e4 * e + 4e4 * e * e * e;
    }
}
static void custom_hessian(void *context, const double F[9], double H[81])
{
    (void)context;
    memset(H, 0, 81 * sizeof *H);
    for (int k = 0; k < 9; k++) {
        double e = F[k] - (k % 4 == 0);
        H[10 * k] = 8e4 + 12e4 * e * e;
    }
}

static int case_count(void)
{
    return solid_count() + 3;
}

static hk_material_def case_material(int number, const char **name)
{
    static const double axis[] = {0, 0, 5e4, 1e4};
    int more = number - solid_count();
    hk_material_def def =
        material_of(more < 0 ? hk_material_name(number) : "neo_hookean", 1e5, 0.4);
    *name = def.model;
    if (more == 0) {
        *name = "fibres";
        def.fibre_stiffness = 3e5;
        def.fibre_direction[0] = 1;
        def.fibre_direction[1] = 0.5;
    }
    if (more == 1) {
        *name = "axes";
        def.model = "polynomial";
        def.axes[0] = (hk_curve){axis, 4};
        def.axes[1] = (hk_curve){axis, 3};
        def.axis_directions[1][0] = 0.7;
    }
    if (more == 2) {
        *name = def.model = "custom";
        def.custom = (hk_custom_law){custom_energy, custom_stress, custom_hessian, NULL};
    }
    return def;
}

// A block of two materials, loaded, held at one end and attached at the other.
static hk_model *block(hk_material_def material, int cells)
{
    hk_body_def body = hk_default_body_def();
    body.material = material;
    hk_region_def region = hk_default_region_def();
    region.select = select_box(0.3, -1, -1, 2, 2, 2);
    region.material = material_of("stable_neo_hookean", 4e5, 0.3);
    region.material.density = 2000;
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    hk_load_def load = hk_default_load_def();
    load.select = select_box(0.6, -1, -1, 0.6, 2, 2);
    load.force[0] = 3;
    load.force[2] = -20;
    hk_attach_def attach = hk_default_attach_def();
    attach.select = load.select;
    attach.stiffness = 700;
    body.regions = &region;
    body.region_count = 1;
    body.fixes = &wall;
    body.fix_count = 1;
    body.loads = &load;
    body.load_count = 1;
    body.attachments = &attach;
    body.attachment_count = 1;
    return model_of(&body, box_mesh(0.6, 0.2, 0.2, 3 * cells, cells, cells), -9.81);
}

// A rest shape in a state, [vertex_count][4]; held vertices stay.
static double *rest_shape(const hk_inverse *p, int state, double disturbance)
{
    int n = p->problem->vertex_count;
    double *X = vector(4 * (size_t)n);
    uint64_t seed = 7;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) X[4 * k + i] += states[state][3 * i + j] * p->x[4 * k + j];
            X[4 * k + i] += disturbance * noise(&seed);
        }
    return X;
}

static double norm_of(const double *v, int count)
{
    double sum = 0;
    for (int k = 0; k < count; k++) sum += v[k] * v[k];
    return sqrt(sum);
}

// ---------------------------------------------------------------- forces

// The same forces as those of a world whose rest shape is X, at x.
static void test_forces_are_those_of_the_world(void **state)
{
    (void)state;
    for (int c = 0; c < case_count(); c++) {
        const char *name;
        hk_model *model = block(case_material(c, &name), 2);
        hk_inverse *p;
        CHECK_OK(hk_inverse_create(model, 1, &p));
        int n = p->problem->vertex_count;
        double *force = vector(4 * (size_t)n), *g = vector(3 * (size_t)n);
        double *loaded = vector(3 * (size_t)n), *rest = vector(3 * (size_t)n), least;
        memcpy(loaded, hk_model_rest_positions(model), 3 * (size_t)n * 8);
        for (int s = 0; s < STATES; s++) {
            double *X = rest_shape(p, s, 0.002);
            assert_true(hk_inverse_force(p, X, force, &least));
            for (int v = 0; v < n; v++)
                memcpy(rest + 3 * v, X + 4 * (size_t)model->place[v], 3 * sizeof *rest);
            hk_model *moved;
            CHECK_OK(hk_model_copy(model, &moved));
            CHECK_OK(hk_model_set_rest(moved, rest));
            hk_world *world = world_of(moved, 0.01, 1);
            CHECK_OK(hk_world_set_positions(world, loaded));
            CHECK_OK(hk_world_energy(world, NULL, g));
            double scale = norm_of(g, 3 * n);
            for (int v = 0; v < n; v++)
                for (int i = 0; i < 3; i++) {
                    double f = force[4 * model->place[v] + i];
                    double want = model->hold[v] == HK_FREE ? -g[3 * v + i] : 0;
                    if (!(fabs(f - want) <= 1e-11 * scale))
                        fail_msg("%s, %s: vertex %d has %g N, not %g", name, state_names[s], v, f,
                                 want);
                }
            hk_world_free(world);
            hk_free(X);
        }
        hk_free(force);
        hk_free(g);
        hk_free(loaded);
        hk_free(rest);
        hk_inverse_free(p);
        hk_model_free(model);
    }
}

static void test_tets_inside_out_are_told(void **state)
{
    (void)state;
    hk_model *model = block(material_of("corotated", 1e5, 0.4), 2);
    hk_inverse *p;
    CHECK_OK(hk_inverse_create(model, 1, &p));
    double *X = rest_shape(p, 0, 0), *force = vector(4 * (size_t)p->problem->vertex_count);
    double least;
    assert_true(hk_inverse_force(p, X, force, &least));
    assert_true(fabs(least - 1) < 1e-12);
    for (int k = 0; k < p->problem->vertex_count; k++) X[4 * k + 1] *= -1;
    assert_false(hk_inverse_force(p, X, force, &least));
    assert_true(least < 0);
    X[4] = NAN;
    assert_false(hk_inverse_force(p, X, force, &least));
    hk_free(X);
    hk_free(force);
    hk_inverse_free(p);
    hk_model_free(model);
}

// ---------------------------------------------------------------- derivatives

static void random_step(const hk_inverse *p, uint64_t seed, double *step)
{
    for (int k = 0; k < p->problem->vertex_count; k++)
        for (int i = 0; i < 4; i++)
            step[4 * k + i] = i < 3 && !p->problem->held[k] ? noise(&seed) : 0;
}

// Central differences of the fourth order.
static void difference(hk_inverse *p, const double *X, const double *step, double h, double *result)
{
    static const double at[4] = {-2, -1, 1, 2}, weight[4] = {1. / 12, -8. / 12, 8. / 12, -1. / 12};
    int size = 4 * p->problem->vertex_count;
    double *moved = vector((size_t)size), *force = vector((size_t)size), least;
    memset(result, 0, (size_t)size * 8);
    for (int q = 0; q < 4; q++) {
        for (int k = 0; k < size; k++) moved[k] = X[k] + at[q] * h * step[k];
        assert_true(hk_inverse_force(p, moved, force, &least));
        for (int k = 0; k < size; k++) result[k] += weight[q] * force[k] / h;
    }
    hk_free(moved);
    hk_free(force);
}

typedef struct summed {
    const hk_inverse *inverse;
    const double *step;
    double *force;
} summed;

static void add_block(void *context, int32_t a, int32_t b, const double block_ab[9])
{
    summed *s = context;
    if (s->inverse->problem->held[a]) return;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) s->force[4 * a + i] += block_ab[3 * i + j] * s->step[4 * b + j];
}

static void test_derivatives_are_those_of_differences(void **state)
{
    (void)state;
    for (int c = 0; c < case_count(); c++)
        for (int s = 0; s < STATES; s++) {
            const char *name;
            hk_model *model = block(case_material(c, &name), 2);
            hk_inverse *p;
            CHECK_OK(hk_inverse_create(model, 1, &p));
            int size = 4 * p->problem->vertex_count;
            // At rest itself without a disturbance: principal stretches are equal there.
            double *X = rest_shape(p, s, s == 0 ? 0 : 0.002);
            double *step = vector((size_t)size), *exact = vector((size_t)size);
            double *near = vector((size_t)size), *sum = vector((size_t)size);
            random_step(p, 3 + (uint64_t)c, step);
            CHECK_OK(hk_inverse_linearise(p, X, HK_WHOLE_JACOBIAN));
            hk_inverse_product(p, step, exact);
            difference(p, X, step, 5e-7, near);
            summed blocks = {p, step, sum};
            hk_inverse_visit(p, add_block, &blocks);
            double scale = norm_of(exact, size);
            for (int k = 0; k < size; k++) near[k] -= exact[k], sum[k] -= exact[k];
            if (!(norm_of(near, size) <= 1e-7 * scale))
                fail_msg("%s, %s: the product is off by %g of %g", name, state_names[s],
                         norm_of(near, size), scale);
            if (!(norm_of(sum, size) <= 1e-13 * scale))
                fail_msg("%s, %s: the matrix is off by %g of %g", name, state_names[s],
                         norm_of(sum, size), scale);
            hk_free(X);
            hk_free(step);
            hk_free(exact);
            hk_free(near);
            hk_free(sum);
            hk_inverse_free(p);
            hk_model_free(model);
        }
}

// Each component matters: without it the derivative is wrong by more than rounding.
static void test_all_components_are_needed(void **state)
{
    (void)state;
    hk_model *model = block(material_of("neo_hookean", 1e5, 0.4), 2);
    hk_inverse *p;
    CHECK_OK(hk_inverse_create(model, 1, &p));
    int size = 4 * p->problem->vertex_count;
    double *X = rest_shape(p, 1, 0.002), *step = vector((size_t)size);
    double *whole = vector((size_t)size), *part = vector((size_t)size);
    double *sum = vector((size_t)size);
    random_step(p, 5, step);
    CHECK_OK(hk_inverse_linearise(p, X, HK_WHOLE_JACOBIAN));
    hk_inverse_product(p, step, whole);
    double scale = norm_of(whole, size);
    for (int component = 1; component <= HK_OF_WEIGHT; component *= 2) {
        CHECK_OK(hk_inverse_linearise(p, X, HK_WHOLE_JACOBIAN & ~component));
        hk_inverse_product(p, step, part);
        for (int k = 0; k < size; k++) part[k] = whole[k] - part[k];
        assert_true(norm_of(part, size) > 1e-6 * scale);
        for (int k = 0; k < size; k++) sum[k] += part[k];
    }
    // Attachments are in none of the components.
    CHECK_OK(hk_inverse_linearise(p, X, 0));
    hk_inverse_product(p, step, part);
    for (int k = 0; k < size; k++) sum[k] += part[k] - whole[k];
    assert_true(norm_of(sum, size) <= 1e-12 * scale);
    hk_free(X);
    hk_free(step);
    hk_free(whole);
    hk_free(part);
    hk_free(sum);
    hk_inverse_free(p);
    hk_model_free(model);
}

// Without load ∂f/∂X at X = x is the stiffness of x (inverse of the formulation's own check).
static void test_at_rest_it_is_the_stiffness(void **state)
{
    (void)state;
    hk_model *model = block(material_of("neo_hookean", 1e5, 0.4), 2);
    hk_inverse *p;
    CHECK_OK(hk_inverse_create(model, 1, &p));
    int size = 4 * p->problem->vertex_count;
    double *step = vector((size_t)size), *product = vector((size_t)size);
    double *stiff = vector((size_t)size);
    double *blocks = vector((size_t)hk_terms_block_size(p->problem->terms));
    random_step(p, 9, step);
    hk_inverse_set_load(p, 0);
    CHECK_OK(hk_inverse_linearise(p, p->x, HK_WHOLE_JACOBIAN));
    hk_inverse_product(p, step, product);
    hk_terms_blocks(p->problem->terms, p->x, 1, HK_FOR_HESSIAN, blocks);
    hk_terms_add_product(p->problem->terms, blocks, step, stiff);
    for (int k = 0; k < size; k++)
        if (!p->problem->held[k / 4])
            assert_true(fabs(product[k] - stiff[k]) <= 1e-9 * norm_of(product, size));
    hk_free(step);
    hk_free(product);
    hk_free(stiff);
    hk_free(blocks);
    hk_inverse_free(p);
    hk_model_free(model);
}

// The same bits for one thread and two.
static void test_threads_do_not_matter(void **state)
{
    (void)state;
    hk_model *model = block(material_of("neo_hookean", 1e5, 0.4), 8);
    double *results[2];
    int size = 0;
    for (int t = 0; t < 2; t++) {
        hk_inverse *p;
        double least;
        CHECK_OK(hk_inverse_create(model, t + 1, &p));
        size = 4 * p->problem->vertex_count;
        double *X = rest_shape(p, 2, 0.0005), *step = vector((size_t)size);
        results[t] = vector(2 * (size_t)size);
        random_step(p, 11, step);
        assert_true(hk_inverse_force(p, X, results[t], &least));
        CHECK_OK(hk_inverse_linearise(p, X, HK_WHOLE_JACOBIAN));
        hk_inverse_product(p, step, results[t] + size);
        hk_free(X);
        hk_free(step);
        hk_inverse_free(p);
    }
    assert_memory_equal(results[0], results[1], 2 * (size_t)size * 8);
    hk_free(results[0]);
    hk_free(results[1]);
    hk_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forces_are_those_of_the_world),
        cmocka_unit_test(test_tets_inside_out_are_told),
        cmocka_unit_test(test_derivatives_are_those_of_differences),
        cmocka_unit_test(test_all_components_are_needed),
        cmocka_unit_test(test_at_rest_it_is_the_stiffness),
        cmocka_unit_test(test_threads_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
