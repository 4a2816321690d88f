// Shells: derivatives against finite differences, invariances, plate theory, folds, every method
// against Newton, threads.
#include "sheets.h"
#include "solver/problem.h"
#include "term/lanes.h"
#include "term/shell_lanes.h"
#include "term/stencil.h"
#include "term/terms.h"

#include <unistd.h>

// ---------------------------------------------------------------- one term

typedef struct shell_case {
    const char *label, *membrane;
    double poisson, bending, limit;
    bool strands;
} shell_case;

static const shell_case CASES[] = {
    {"stvk", "stvk", 0.3, 0, 0, false},
    {"stvk, auxetic", "stvk", -0.4, 0, 0, false},
    {"neo_hookean", "neo_hookean", 0.45, 0, 0, false},
    {"neo_hookean, 0", "neo_hookean", 0, 0, 0, false},
    {"corotated", "corotated", 0.3, 0, 0, false},
    {"arap", "arap", 0.3, 0, 0, false},
    {"orthotropic", "orthotropic", 0.25, 0, 0, false},
    {"arap, limited", "arap", 0.3, 0, 8e5, false},
    {"stvk, limited", "stvk", 0.3, 0, 8e5, false},
    {"orthotropic, strands", "orthotropic", 0.2, 0, 0, true},
    {"hinges", "arap", 0.3, 0.7, 0, false},
};
enum { CASE_COUNT = sizeof CASES / sizeof CASES[0] };

static const double WARP_CURVE[] = {0.8, -5e4, 1, 0, 1.1, 6e4, 1.3, 4e5};
static const double WEFT_CURVE[] = {0.9, -1e4, 1, 0, 1.2, 1e5};

static hk_material_def shell_of(const shell_case *c)
{
    hk_material_def def = hk_default_material_def();
    def.model = "shell";
    def.membrane = c->membrane;
    def.young = 2e5;
    def.poisson = c->poisson;
    def.thickness = 1e-3;
    def.density = 300;
    hk_parameter *p = def.parameters;
    if (strcmp(c->membrane, "orthotropic") == 0) {
        *p++ = (hk_parameter){"warp", 300};
        *p++ = (hk_parameter){"weft", 120};
        *p++ = (hk_parameter){"shear", 20};
        def.warp_direction[0] = 1;
        def.warp_direction[2] = 0.4;
    }
    *p++ = (hk_parameter){"bending", c->bending};
    if (c->limit > 0) *p++ = (hk_parameter){"limit", c->limit};
    def.parameter_count = (int)(p - def.parameters);
    if (c->strands) {
        def.axes[0] = (hk_curve){WARP_CURVE, 4};
        def.axes[1] = (hk_curve){WEFT_CURVE, 3};
        memcpy(def.axis_directions, (double[3][3]){{1, 0, 0.4}, {-0.4, 0, 1}},
               sizeof def.axis_directions);
    }
    return def;
}

static void dome(const double from[3], double to[3])
{
    to[0] = from[0], to[2] = from[2];
    to[1] = 0.4 * from[0] * (1 - from[0]) + 0.3 * from[2] * from[2];
}

typedef struct fixture {
    hk_model *model;
    hk_terms *terms;
    hk_term *term;
    int count;
    double *x;  // [count][4] Morton order
    double scale;
} fixture;

static fixture make_fixture(const shell_case *c)
{
    hk_body_def body = hk_default_body_def();
    body.material = shell_of(c);
    hk_mesh *mesh = sheet_mesh(1, 0.8, 3, 3);
    bend_mesh(mesh, dome);
    fixture f = {.model = model_of(&body, mesh, 0)};
    CHECK_OK(hk_terms_create(f.model, HK_DOUBLE_PRECISION, 1, NULL, NULL, &f.terms));
    f.term = hk_terms_find(f.terms, c->bending > 0 ? &hk_hinges_term : &hk_membranes_term);
    assert_non_null(f.term);
    f.count = f.model->vertex_count;
    f.x = calloc(4 * (size_t)f.count, sizeof(double));
    double *stiffness = calloc((size_t)f.count, sizeof(double));
    f.term->ops->scales(f.term, stiffness);
    for (int k = 0; k < f.count; k++) f.scale = fmax(f.scale, stiffness[k]);
    free(stiffness);
    return f;
}

static void free_fixture(fixture *f)
{
    hk_terms_free(f->terms);
    hk_model_free(f->model);
    free(f->x);
}

enum { AT_REST, DISTURBED, STRETCHED, SHEARED, SQUEEZED, FLAT, FOLDED, STATES };
static const char *const STATE_NAMES[STATES] = {"at rest",  "disturbed", "stretched", "sheared",
                                                "squeezed", "flat",      "folded"};

static void set_state(fixture *f, int state)
{
    uint64_t seed = 11;
    for (int k = 0; k < f->count; k++) {
        const double *X = f->model->rest + 3 * f->model->order[k];
        double *x = f->x + 4 * k;
        for (int i = 0; i < 3; i++) x[i] = X[i] + (state != AT_REST) * 0.01 * noise(&seed);
        if (state == STRETCHED) x[0] *= 1.4, x[2] *= 1.15;
        if (state == SHEARED) x[0] += 0.5 * X[2], x[1] += 0.3 * X[0];
        if (state == SQUEEZED) x[0] *= 0.6, x[2] *= 0.7, x[1] *= 0.5;
        if (state == FLAT) x[2] *= 0.03;
        if (state == FOLDED && X[0] > 0.5) {
            x[1] += 0.9 * (X[0] - 0.5);
            x[0] -= 1.4 * (X[0] - 0.5);
        }
    }
}

static double energy_of(fixture *f)
{
    return f->term->ops->energy(f->term, f->x);
}

static void gradient_of(fixture *f, double *g)
{
    memset(g, 0, 4 * sizeof(double) * (size_t)f->count);
    f->term->ops->add_gradient(f->term, f->x, g, NULL);
}

static double gradient_error(fixture *f)
{
    double *g = calloc(4 * (size_t)f->count, sizeof(double)), error = 0, h = 1e-6, most = 0;
    gradient_of(f, g);
    for (int k = 0; k < 4 * f->count; k++) {
        if (k % 4 == 3) continue;
        double kept = f->x[k];
        f->x[k] = kept + h;
        double plus = energy_of(f);
        f->x[k] = kept - h;
        double minus = energy_of(f);
        f->x[k] = kept;
        error = fmax(error, fabs((plus - minus) / (2 * h) - g[k]));
        most = fmax(most, fabs(g[k]));
    }
    free(g);
    return error / fmax(most, 1e-3 * f->scale);
}

static void test_gradient_is_the_derivative(void **state)
{
    (void)state;
    for (int c = 0; c < CASE_COUNT; c++)
        for (int s = 0; s < STATES; s++) {
            fixture f = make_fixture(&CASES[c]);
            set_state(&f, s);
            double error = gradient_error(&f);
            if (getenv("HOOKE_TABLE"))
                printf("%-22s %-10s %.1e\n", CASES[c].label, STATE_NAMES[s], error);
            if (!(error < 2e-6))
                fail_msg("%s, %s: the gradient is off by %g", CASES[c].label, STATE_NAMES[s],
                         error);
            free_fixture(&f);
        }
}

typedef struct collector {
    const double *values, *step;
    double *product, *diagonal;
    double least;
} collector;

static void add_block(void *context, const hk_stencil *s)
{
    collector *c = context;
    for (int a = 0, p = 0; a < s->count; a++)
        for (int b = a; b < s->count; b++, p++) {
            const double *k = c->values + s->at + 9 * p;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    int va = 4 * s->vertex[a] + i, vb = 4 * s->vertex[b] + j;
                    c->product[va] += k[3 * i + j] * c->step[vb];
                    if (a != b) c->product[vb] += k[3 * i + j] * c->step[va];
                    if (va == vb) c->diagonal[va] += k[3 * i + j];
                }
        }
}

static collector product_of(fixture *f, const double *step, double keep, double *values)
{
    collector c = {.values = values, .step = step};
    c.product = calloc(4 * (size_t)f->count, sizeof(double));
    c.diagonal = calloc(4 * (size_t)f->count, sizeof(double));
    f->term->ops->blocks(f->term, f->x, keep, HK_FOR_HESSIAN, values);
    f->term->ops->stencils(f->term, add_block, &c);
    return c;
}

// H d against differences of gradients, its projected form against dᵀH⁺d ≥ max(0, dᵀHd).
static void test_hessian_is_the_derivative(void **state)
{
    (void)state;
    for (int c = 0; c < CASE_COUNT; c++)
        for (int s = 0; s < STATES; s++) {
            fixture f = make_fixture(&CASES[c]);
            set_state(&f, s);
            size_t size = 4 * (size_t)f.count;
            double *step = calloc(size, sizeof(double)), *plus = malloc(size * sizeof(double));
            double *minus = malloc(size * sizeof(double)), h = 1e-6, error = 0, most = 0;
            double *values = malloc(sizeof(double) * (size_t)f.term->ops->block_size(f.term));
            uint64_t seed = 3;
            for (size_t k = 0; k < size; k++) step[k] = k % 4 == 3 ? 0 : noise(&seed);
            collector exact = product_of(&f, step, 1, values);
            for (int sign = -1; sign <= 1; sign += 2) {
                for (size_t k = 0; k < size; k++) f.x[k] += sign * h * step[k];
                gradient_of(&f, sign < 0 ? minus : plus);
                for (size_t k = 0; k < size; k++) f.x[k] -= sign * h * step[k];
            }
            for (size_t k = 0; k < size; k++) {
                double d = (plus[k] - minus[k]) / (2 * h);
                error = fmax(error, fabs(d - exact.product[k]));
                most = fmax(most, fabs(d));
            }
            // A kink of the limit may lie on the way.
            double allowed = CASES[c].limit > 0 ? 1e-2 : 1e-5;
            if (getenv("HOOKE_TABLE"))
                printf("%-22s %-10s %.1e\n", CASES[c].label, STATE_NAMES[s], error / most);
            if (!(error <= allowed * most))
                fail_msg("%s, %s: the Hessian is off by %g", CASES[c].label, STATE_NAMES[s],
                         error / most);
            collector projected = product_of(&f, step, 0, values);
            double with = 0, without = 0;
            for (size_t k = 0; k < size; k++) {
                with += step[k] * projected.product[k];
                without += step[k] * exact.product[k];
                assert_true(projected.diagonal[k] >= -1e-9 * f.scale);
            }
            assert_true(with >= fmax(0, without) - 1e-7 * fabs(without));
            double *diagonal = calloc(size, sizeof(double));
            f.term->ops->add_diagonal(f.term, f.x, diagonal);
            for (int v = 0; v < f.count; v++) {
                double g[3] = {0}, b[6] = {0};
                assert_true(f.term->ops->vertex(f.term, v, f.x, g, b));
                gradient_of(&f, plus);
                for (int i = 0; i < 3; i++)
                    assert_true(fabs(g[i] - plus[4 * v + i]) <= 1e-9 * f.scale);
            }
            free(diagonal);
            free(exact.product), free(exact.diagonal);
            free(projected.product), free(projected.diagonal);
            free(step), free(plus), free(minus), free(values);
            free_fixture(&f);
        }
}

// Forces and their moments add up to 0; a rotation changes neither energy nor the size of forces.
static void test_momentum_and_rotation(void **state)
{
    (void)state;
    for (int c = 0; c < CASE_COUNT; c++)
        for (int s = 0; s < STATES; s++) {
            fixture f = make_fixture(&CASES[c]);
            set_state(&f, s);
            double *g = calloc(4 * (size_t)f.count, sizeof(double));
            double before = energy_of(&f), sum[6] = {0}, size = 1e-12 * f.scale;
            gradient_of(&f, g);
            for (int k = 0; k < f.count; k++)
                for (int i = 0; i < 3; i++) {
                    int j = (i + 1) % 3, l = (i + 2) % 3;
                    const double *x = f.x + 4 * k, *p = g + 4 * k;
                    sum[i] += p[i];
                    sum[3 + i] += x[j] * p[l] - x[l] * p[j];
                    size += 1e-11 * fabs(p[i]);
                }
            for (int i = 0; i < 6; i++)
                if (!(fabs(sum[i]) <= size))
                    fail_msg("%s, %s: %d: %g", CASES[c].label, STATE_NAMES[s], i, sum[i]);
            double a = 0.9;
            for (int k = 0; k < f.count; k++) {
                double *x = f.x + 4 * k, y = x[1];
                x[1] = cos(a) * y - sin(a) * x[2] + 3;
                x[2] = sin(a) * y + cos(a) * x[2] - 7;
            }
            assert_true(fabs(energy_of(&f) - before) <= 1e-10 * fabs(before) + 1e-13 * f.scale);
            free(g);
            free_fixture(&f);
        }
}

// A triangle that has become a line, or a point, gives no NaN; neo_hookean says that it is not
// defined.
static void test_degenerate_triangles(void **state)
{
    (void)state;
    for (int c = 0; c < CASE_COUNT; c++)
        for (int kind = 0; kind < 2; kind++) {
            fixture f = make_fixture(&CASES[c]);
            set_state(&f, AT_REST);
            for (int k = 0; k < f.count; k++)
                for (int i = kind == 0; i < 3; i++) f.x[4 * k + i] = 0;
            double e = energy_of(&f), *g = calloc(4 * (size_t)f.count, sizeof(double));
            bool barrier = strcmp(CASES[c].membrane, "neo_hookean") == 0;
            assert_true(barrier ? e == INFINITY : isfinite(e));
            gradient_of(&f, g);
            for (int k = 0; k < 4 * f.count && !barrier; k++) assert_true(isfinite(g[k]));
            double *values = malloc(sizeof(double) * (size_t)f.term->ops->block_size(f.term));
            f.term->ops->blocks(f.term, f.x, 0, HK_FOR_HESSIAN, values);
            for (int64_t k = 0; k < f.term->ops->block_size(f.term); k++)
                assert_true(isfinite(values[k]));
            free(values);
            free(g);
            free_fixture(&f);
        }
}

// Every set of lanes gives what single evaluations give: energies of single vertices, and gradients
// of single corners. Numbers of elements that do not fill the lanes are among them.
static void test_lanes(void **state)
{
    (void)state;
    const hk_lane_table *tables[6];
    int table_count = hk_lanes_available(tables, 6), compared = 0;
    for (int c = 0; c < CASE_COUNT; c++)
        for (int s = 0; s < STATES; s++) {
            fixture f = make_fixture(&CASES[c]);
            set_state(&f, s);
            const hk_stencil_term *t = (const hk_stencil_term *)f.term;
            int count = t->elements.count, corners = t->elements.element[0].count;
            double *x = calloc((size_t)(3 * corners * count), sizeof(double));
            double *g = calloc((size_t)(3 * corners * count), sizeof(double));
            double *e = calloc((size_t)count, sizeof(double));
            for (int k = 0; k < count; k++)
                hk_stencil_read(t, f.x, &t->elements.element[k], x + 3 * corners * k);
            for (int n = 0; n < table_count; n++) {
                if (!tables[n]->shell) continue;
                (corners == 4 ? tables[n]->shell->hinges
                              : tables[n]->shell->membranes)(t->elements.element, count, x, e, g);
                for (int k = 0; k < count; k++) {
                    double one[12], energy, size = 0;
                    energy = t->law->energy(&t->elements.element[k], x + 3 * corners * k);
                    t->law->gradient(&t->elements.element[k], x + 3 * corners * k, one);
                    for (int i = 0; i < 3 * corners; i++) size = fmax(size, fabs(one[i]));
                    for (int i = 0; i < 3 * corners; i++)
                        if (!(fabs(one[i] - g[3 * corners * k + i]) <=
                              1e-10 * size + 1e-13 * f.scale))
                            fail_msg("%s, %s, %s: %g for %g", tables[n]->name, CASES[c].label,
                                     STATE_NAMES[s], g[3 * corners * k + i], one[i]);
                    assert_true(fabs(energy - e[k]) <= 1e-10 * fabs(energy) + 1e-14 * f.scale);
                    compared++;
                }
            }
            free(x), free(g), free(e);
            free_fixture(&f);
        }
    assert_true(compared > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_gradient_is_the_derivative),
        cmocka_unit_test(test_hessian_is_the_derivative),
        cmocka_unit_test(test_momentum_and_rotation),
        cmocka_unit_test(test_degenerate_triangles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
