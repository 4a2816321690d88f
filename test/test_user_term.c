// Energies of the users' own, through the C API: functions of theirs, with every method on the CPU.
#include "bodies.h"
#include "term/stencil.h"

// ---------------------------------------------------------------- two such terms

// Springs between vertices far apart, which no element joins: E = k/2 (l − L)². Compressed, their
// Hessian is not positive.
typedef struct springs {
    double stiffness, length;
} springs;

static double spring_vector(const double *x, double d[3])
{
    double square = 0;
    for (int i = 0; i < 3; i++) {
        d[i] = x[i] - x[3 + i];
        square += d[i] * d[i];
    }
    return sqrt(square);
}

static double spring_energy(void *context, int element, const double *x)
{
    (void)element;
    const springs *s = context;
    double d[3], l = spring_vector(x, d);
    return 0.5 * s->stiffness * (l - s->length) * (l - s->length);
}

static void spring_gradient(void *context, int element, const double *x, double *g)
{
    (void)element;
    const springs *s = context;
    double d[3], l = spring_vector(x, d);
    for (int i = 0; i < 3; i++) {
        g[i] = s->stiffness * (l - s->length) * d[i] / l;
        g[3 + i] = -g[i];
    }
}

static void spring_hessian(void *context, int element, const double *x, double *h)
{
    (void)element;
    const springs *s = context;
    double d[3], l = spring_vector(x, d);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double across = s->stiffness * (1 - s->length / l);
            double b = (i == j ? across : 0) + (s->stiffness - across) * d[i] * d[j] / (l * l);
            h[6 * i + j] = h[6 * (3 + i) + 3 + j] = b;
            h[6 * i + 3 + j] = h[6 * (3 + i) + j] = -b;
        }
}

// A soft floor, y > 0: E = k/3 y³ below, none above.
static double floor_energy(void *context, int element, const double *x)
{
    (void)element;
    double k = *(const double *)context, y = x[1];
    return y < 0 ? -k / 3 * y * y * y : 0;
}

static void floor_gradient(void *context, int element, const double *x, double *g)
{
    (void)element;
    double k = *(const double *)context, y = x[1];
    g[0] = g[2] = 0;
    g[1] = y < 0 ? -k * y * y : 0;
}

static void floor_hessian(void *context, int element, const double *x, double *h)
{
    (void)element;
    double k = *(const double *)context, y = x[1];
    memset(h, 0, 9 * sizeof(double));
    h[4] = y < 0 ? -2 * k * y : 0;
}

// ---------------------------------------------------------------- the world

static springs g_springs = {.stiffness = 400, .length = 0.9};
static double g_floor = 3e5;

typedef struct lists {
    int32_t pairs[2 * 3], bottom[64];
    int bottom_count;
} lists;

// The same many at a time, without functions for one.
static void springs_batch(void *context, int first, int count, const double *x, double *energy,
                          double *gradient, double *hessian)
{
    for (int k = 0; k < count; k++) {
        if (energy) energy[k] = spring_energy(context, first + k, x + 6 * k);
        if (gradient) spring_gradient(context, first + k, x + 6 * k, gradient + 6 * k);
        if (hessian) spring_hessian(context, first + k, x + 6 * k, hessian + 36 * k);
    }
}

static void floor_batch(void *context, int first, int count, const double *x, double *energy,
                        double *gradient, double *hessian)
{
    for (int k = 0; k < count; k++) {
        if (energy) energy[k] = floor_energy(context, first + k, x + 3 * k);
        if (gradient) floor_gradient(context, first + k, x + 3 * k, gradient + 3 * k);
        if (hessian) floor_hessian(context, first + k, x + 3 * k, hessian + 9 * k);
    }
}

static bool g_batches;  // what struts() makes

static void take_batches(hk_term_def terms[2])
{
    void (*const batch[2])(void *, int, int, const double *, double *, double *,
                           double *) = {springs_batch, floor_batch};
    for (int k = 0; k < 2 && g_batches; k++) {
        terms[k].batch = batch[k];
        terms[k].energy = NULL;
        terms[k].gradient = NULL;
        terms[k].hessian = NULL;
    }
}

// A bar with three struts along it that are too long, over a floor.
static hk_model *struts(const char *material, bool tied, lists *l)
{
    hk_mesh *mesh = box_mesh(0.8, 0.2, 0.2, 6, 2, 2);
    const double *x = hk_mesh_positions(mesh);
    int near[3], far[3], nears = 0, fars = 0;
    *l = (lists){.bottom_count = 0};
    for (int v = 0; v < hk_mesh_vertex_count(mesh); v++) {
        if (x[3 * v] == 0 && nears < 3) near[nears++] = v;
        if (fabs(x[3 * v] - 0.8) < 1e-12 && fars < 3) far[fars++] = v;
        if (x[3 * v + 1] == 0) l->bottom[l->bottom_count++] = v;
    }
    for (int k = 0; k < 3; k++) l->pairs[2 * k] = near[k], l->pairs[2 * k + 1] = far[k];
    hk_term_def terms[2] = {{.def_size = sizeof(hk_term_def),
                             .name = "struts",
                             .element_count = 3,
                             .vertex_count = 2,
                             .vertices = l->pairs,
                             .stiffness = 2 * g_springs.stiffness,
                             .energy = spring_energy,
                             .gradient = spring_gradient,
                             .hessian = spring_hessian,
                             .context = &g_springs},
                            {.def_size = sizeof(hk_term_def),
                             .name = "floor",
                             .element_count = l->bottom_count,
                             .vertex_count = 1,
                             .vertices = l->bottom,
                             .stiffness = 2000,
                             .tie = true,
                             .energy = floor_energy,
                             .gradient = floor_gradient,
                             .hessian = floor_hessian,
                             .context = &g_floor}};
    take_batches(terms);
    hk_body_def body = hk_default_body_def();
    hk_selector end = select_box(0, -1, -1, 0, 1, 1);
    body.mesh = mesh;
    body.material = material_of(material, 1e5, 0.3);
    body.fixes = &end;
    body.fix_count = tied ? 0 : 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.terms = terms;
    def.term_count = 2;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    memset(terms, 0, sizeof terms);  // the model has its own
    memset(l->pairs, 0xff, sizeof l->pairs);
    return model;
}

typedef struct method_case {
    const char *method, *material, *option, *word;
    int iterations;
    double tolerance;
} method_case;

static const method_case CASES[] = {
    {"descent", "neo_hookean", NULL, NULL, 3000, 2e-5},
    {"projective", "arap", "precision", "double", 3000, 1e-7},
    {"gradient_descent", "neo_hookean", NULL, NULL, 20000, 1e-6},
    {"nonlinear_cg", "neo_hookean", NULL, NULL, 5000, 1e-7},
    {"lbfgs", "neo_hookean", NULL, NULL, 5000, 1e-7},
    {"quasi_newton", "neo_hookean", NULL, NULL, 600, 1e-7},
    {"quasi_newton", "neo_hookean", "initial", "rest_hessian", 600, 1e-7},
    {"split", "corotated", NULL, NULL, 300, 2e-5},
    {"admm", "neo_hookean", NULL, NULL, 3000, 2e-5},
    {"vbd", "neo_hookean", NULL, NULL, 2000, 2e-5},
    {"xpbd", "neo_hookean", "precision", "double", 3000, 1e-9},
};

static hk_world *world_for(const method_case *c, const char *method, bool tied)
{
    lists l;
    hk_model *model = struts(c->material, tied, &l);
    // With one substep and many sweeps it is backward Euler's step that xpbd comes to.
    hk_option options[2] = {{.name = c->option, .text = c->word},
                            {.name = "substeps", .number = 1}};
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = 0.02;
    def.solver.method = method;
    def.solver.tolerance = 1e-9;
    if (method == c->method) {
        def.solver.iterations = c->iterations;
        def.solver.options = options;
        def.solver.option_count = (c->option != NULL) + (strcmp(method, "xpbd") == 0);
    }
    hk_world *w;
    CHECK_OK(hk_world_create(&def, &w));
    hk_model_free(model);
    return w;
}

static void test_methods(void **state)
{
    (void)state;
    for (int k = 0; k < (int)(sizeof CASES / sizeof CASES[0]); k++)
        for (int tied = 0; tied < 2; tied++) {
            const method_case *c = &CASES[k];
            hk_world *w = world_for(c, c->method, tied), *truth = world_for(c, "newton", tied);
            hk_step_report r;
            for (int n = 0; n < (SANITIZED ? 3 : 8); n++) {
                CHECK_OK(hk_world_step(w, &r));
                if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED)
                    fail_msg("%s: %s, %s", c->method, hk_reason_name(r.reason), r.detail);
                CHECK_OK(hk_world_step(truth, NULL));
            }
            double away = relative_distance(w, truth);
            if (getenv("HOOKE_TABLE"))
                printf("%-20s %-10s %9.2e\n", c->method, tied ? "tied" : "held", away);
            if (!(away < c->tolerance)) fail_msg("%s: %g of the motion", c->method, away);
            hk_world_free(w);
            hk_world_free(truth);
        }
}

// A body that nothing holds lies on the floor in a pose, its weight on it.
static void test_pose_on_a_floor(void **state)
{
    (void)state;
    hk_world *w = world_for(&CASES[0], "newton", true);
    const hk_model *m = hk_world_model(w);
    hk_step_report r;
    CHECK_OK(hk_world_pose(w, &r));
    if (r.reason != HK_CONVERGED) fail_msg("%s: %s", hk_reason_name(r.reason), r.detail);
    double weight = 0, push = 0;
    for (int v = 0; v < hk_model_vertex_count(m); v++) {
        double y = hk_world_positions(w)[3 * v + 1];
        weight += 9.81 * hk_model_masses(m)[v];
        if (hk_model_rest_positions(m)[3 * v + 1] == 0 && y < 0) push += g_floor * y * y;
    }
    assert_true(fabs(push / weight - 1) < 1e-6);
    // An edited copy has the terms, too.
    hk_material_def soft = material_of("neo_hookean", 5e4, 0.3);
    CHECK_OK(hk_world_set_material(w, 0, NULL, &soft));
    CHECK_OK(hk_world_pose(w, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    hk_world_free(w);
}

// The gradient that a world reports has the users' forces, by differences of the energy.
static void test_gradient(void **state)
{
    (void)state;
    hk_world *w = world_for(&CASES[0], "newton", true);
    int n = 3 * hk_model_vertex_count(hk_world_model(w));
    double *x = malloc(sizeof(double) * (size_t)n), *g = malloc(sizeof(double) * (size_t)n);
    uint64_t seed = 7;
    memcpy(x, hk_world_positions(w), sizeof(double) * (size_t)n);
    for (int k = 0; k < n; k++) x[k] += 0.01 * noise(&seed);
    CHECK_OK(hk_world_set_positions(w, x));
    CHECK_OK(hk_world_energy(w, NULL, g));
    for (int k = 0; k < n; k += 7) {
        hk_energy up, down;
        double h = 1e-6, at = x[k];
        x[k] = at + h;
        CHECK_OK(hk_world_set_positions(w, x));
        CHECK_OK(hk_world_energy(w, &up, NULL));
        x[k] = at - h;
        CHECK_OK(hk_world_set_positions(w, x));
        CHECK_OK(hk_world_energy(w, &down, NULL));
        x[k] = at;
        double slope = (up.elastic + up.gravity - down.elastic - down.gravity) / (2 * h);
        if (!(fabs(slope - g[k]) < 1e-5 * (1 + fabs(slope))))
            fail_msg("coordinate %d: %g, by differences %g", k, g[k], slope);
    }
    free(x);
    free(g);
    hk_world_free(w);
}

static void test_refusals(void **state)
{
    (void)state;
    int32_t good[2] = {0, 1}, twice[2] = {1, 1}, none[2] = {0, 999};
    hk_mesh *mesh = box_mesh(1, 1, 1, 1, 1, 1);
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    hk_term_def term = {.def_size = sizeof term,
                        .name = "strut",
                        .element_count = 1,
                        .vertex_count = 2,
                        .vertices = twice,
                        .stiffness = 1,
                        .energy = spring_energy,
                        .gradient = spring_gradient,
                        .hessian = spring_hessian,
                        .context = &g_springs};
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.terms = &term;
    def.term_count = 1;
    hk_model *model = NULL;
    assert_int_equal(hk_model_create(&def, &model), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "term 0 (strut): element 0 has vertex 1 twice"));
    term.vertices = none;
    assert_int_equal(hk_model_create(&def, &model), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "no vertex 999"));
    term.vertices = good;
    term.stiffness = 0;
    assert_int_equal(hk_model_create(&def, &model), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "stiffness"));
    term.stiffness = 1;
    term.hessian = NULL;
    assert_int_equal(hk_model_create(&def, &model), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "hessian"));
    assert_null(model);
    hk_mesh_free(mesh);
}

// Evaluated many at a time they are the same, to the last bit, whatever the method asks for.
static void test_batches(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "vbd", "xpbd", "lbfgs"};
    for (int k = 0; k < (int)(sizeof methods / sizeof methods[0]); k++) {
        hk_world *worlds[2];
        for (int b = 0; b < 2; b++) {
            lists l;
            g_batches = b == 1;
            hk_world_def def = hk_default_world_def();
            hk_model *model = struts("corotated", false, &l);
            def.model = model;
            def.solver.method = methods[k];
            CHECK_OK(hk_world_create(&def, &worlds[b]));
            hk_model_free(model);
            for (int n = 0; n < 5; n++) CHECK_OK(hk_world_step(worlds[b], NULL));
        }
        g_batches = false;
        int size = 3 * hk_model_vertex_count(hk_world_model(worlds[0]));
        for (int i = 0; i < size; i++)
            if (hk_world_positions(worlds[0])[i] != hk_world_positions(worlds[1])[i])
                fail_msg("%s: coordinate %d differs", methods[k], i);
        for (int b = 0; b < 2; b++) hk_world_free(worlds[b]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods),  cmocka_unit_test(test_pose_on_a_floor),
        cmocka_unit_test(test_gradient), cmocka_unit_test(test_batches),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
