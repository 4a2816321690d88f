// Ropes: derivatives against finite differences, invariances, beam theory, the catenary, files.
#include "io/io.h"
#include "model/rope.h"
#include "ropes.h"
#include "term/terms.h"

#include <unistd.h>

// ---------------------------------------------------------------- one term

typedef struct rope_case {
    const char *label, *form;
    double bending;
    bool curved, slack;
} rope_case;

static const rope_case CASES[] = {
    {"bends", "hinges", 0.7, false, false},
    {"bends of a curved rope", "hinges", 0.7, true, false},
    {"slack lines", "none", 0, true, true},
};
enum { CASE_COUNT = sizeof CASES / sizeof CASES[0], CELLS = 7 };

static double bow(double s)
{
    return 0.3 * sin(4 * s);
}

static hk_mesh *curved_mesh(int cells)
{
    hk_mesh *mesh = rope_mesh(1, cells);
    double *x = mesh->positions;
    for (int v = 0; v <= cells; v++) {
        x[3 * v + 1] = bow(x[3 * v]);
        x[3 * v + 2] = 0.2 * x[3 * v] * x[3 * v];
    }
    return mesh;
}

typedef struct fixture {
    hk_model *model;
    hk_terms *terms;
    hk_term *term;
    int count;
    double *x;  // [count][4] Morton order
    double scale;
} fixture;

static fixture make_fixture(const rope_case *c)
{
    hk_body_def body = hk_default_body_def();
    body.material = rope_of(50, c->bending, 0.1, c->form, c->slack);
    fixture f = {.model = model_of(&body, c->curved ? curved_mesh(CELLS) : rope_mesh(1, CELLS), 0)};
    CHECK_OK(hk_terms_create(f.model, HK_DOUBLE_PRECISION, 1, NULL, NULL, &f.terms));
    f.term = hk_terms_find(f.terms, c->slack ? &hk_slack_lines_term : &hk_rope_bends_term);
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

// Nearly straight: where formulas of the angle have no digits, and series take over.
enum { AT_REST, DISTURBED, STRETCHED, BENT, TIGHT, NEARLY_STRAIGHT, SQUEEZED, STATES };
static const char *const STATE_NAMES[STATES] = {"at rest", "disturbed",       "stretched", "bent",
                                                "tight",   "nearly straight", "squeezed"};

static void set_state(fixture *f, int state)
{
    uint64_t seed = 11;
    for (int k = 0; k < f->count; k++) {
        const double *X = f->model->rest + 3 * f->model->order[k];
        double *x = f->x + 4 * k, s = X[0], small = state == NEARLY_STRAIGHT ? 1e-4 : 0.01;
        for (int i = 0; i < 3; i++) x[i] = X[i] + (state != AT_REST) * small * noise(&seed);
        if (state == STRETCHED) x[0] *= 1.6, x[1] *= 1.2;
        if (state == BENT) x[0] = 0.4 * cos(3 * s), x[1] = 0.4 * sin(3 * s), x[2] += 0.3 * s;
        if (state == TIGHT) x[0] = 0.14 * cos(14 * s), x[1] = 0.14 * sin(14 * s), x[2] += 0.2 * s;
        if (state == NEARLY_STRAIGHT) x[0] = s, x[1] -= X[1], x[2] -= X[2];
        if (state == SQUEEZED) x[0] *= 0.5, x[1] *= 0.7;
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

// Of a curved rope that lies nearly straight the energy is a cone that turns within 1e-4: steps of
// differences are far below that.
static void test_gradient_is_the_derivative(void **state)
{
    (void)state;
    for (int c = 0; c < CASE_COUNT; c++)
        for (int s = 0; s < STATES; s++) {
            fixture f = make_fixture(&CASES[c]);
            set_state(&f, s);
            double *g = calloc(4 * (size_t)f.count, sizeof(double)), error = 0, most = 0;
            double h = s == NEARLY_STRAIGHT ? 1e-8 : 1e-6;
            gradient_of(&f, g);
            for (int k = 0; k < 4 * f.count; k++) {
                if (k % 4 == 3) continue;
                double kept = f.x[k];
                f.x[k] = kept + h;
                double plus = energy_of(&f);
                f.x[k] = kept - h;
                double minus = energy_of(&f);
                f.x[k] = kept;
                error = fmax(error, fabs((plus - minus) / (2 * h) - g[k]));
                most = fmax(most, fabs(g[k]));
            }
            error /= fmax(most, 1e-3 * f.scale);
            if (getenv("HOOKE_TABLE"))
                printf("%-24s %-16s %.1e\n", CASES[c].label, STATE_NAMES[s], error);
            // A slack line has a kink of its gradient where it is at rest.
            bool kink = CASES[c].slack && s == AT_REST;
            if (!(error < (kink ? 1e-3 : 2e-6)))
                fail_msg("%s, %s: the gradient is off by %g", CASES[c].label, STATE_NAMES[s],
                         error);
            free(g);
            free_fixture(&f);
        }
}

typedef struct collector {
    const double *values, *step;
    double *product;
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
                }
        }
}

static double *product_of(fixture *f, const double *step, double keep)
{
    double *values = malloc(sizeof(double) * (size_t)f->term->ops->block_size(f->term));
    collector c = {.values = values, .step = step};
    c.product = calloc(4 * (size_t)f->count, sizeof(double));
    f->term->ops->blocks(f->term, f->x, keep, HK_FOR_HESSIAN, values);
    f->term->ops->stencils(f->term, add_block, &c);
    free(values);
    return c.product;
}

static double dot(const double *a, const double *b, size_t size)
{
    double sum = 0;
    for (size_t k = 0; k < size; k++) sum += a[k] * b[k];
    return sum;
}

// H d against differences of gradients, its projected form against dᵀH⁺d ≥ max(0, dᵀHd).
static void test_hessian_is_the_derivative(void **state)
{
    (void)state;
    for (int c = 0; c < CASE_COUNT; c++)
        for (int s = 0; s < STATES; s++) {
            fixture f = make_fixture(&CASES[c]);
            set_state(&f, s);
            // The Hessian of a slack line jumps at its rest length, where some are.
            if (CASES[c].slack && (s == AT_REST || s == DISTURBED)) {
                free_fixture(&f);
                continue;
            }
            size_t size = 4 * (size_t)f.count;
            double *step = calloc(size, sizeof(double)), *plus = malloc(size * sizeof(double));
            double *minus = malloc(size * sizeof(double)), error = 0, most = 0;
            double h = s == NEARLY_STRAIGHT ? 1e-8 : 1e-6;
            uint64_t seed = 3;
            for (size_t k = 0; k < size; k++) step[k] = k % 4 == 3 ? 0 : noise(&seed);
            double *exact = product_of(&f, step, 1), *projected = product_of(&f, step, 0);
            for (int sign = -1; sign <= 1; sign += 2) {
                for (size_t k = 0; k < size; k++) f.x[k] += sign * h * step[k];
                gradient_of(&f, sign < 0 ? minus : plus);
                for (size_t k = 0; k < size; k++) f.x[k] -= sign * h * step[k];
            }
            for (size_t k = 0; k < size; k++) {
                double d = (plus[k] - minus[k]) / (2 * h);
                error = fmax(error, fabs(d - exact[k]));
                most = fmax(most, fabs(d));
            }
            if (getenv("HOOKE_TABLE"))
                printf("%-24s %-16s %.1e\n", CASES[c].label, STATE_NAMES[s], error / most);
            if (!(error <= 2e-5 * most))
                fail_msg("%s, %s: the Hessian is off by %g", CASES[c].label, STATE_NAMES[s],
                         error / most);
            double with = dot(step, projected, size), without = dot(step, exact, size);
            assert_true(with >= fmax(0, without) - 1e-7 * fabs(without));
            free(exact), free(projected), free(step), free(plus), free(minus);
            free_fixture(&f);
        }
}

// Forces and their moments add up to 0, also where a rope is straight or folded back upon itself;
// a rotation changes nothing.
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
            assert_true(fabs(energy_of(&f) - before) <= 1e-9 * fabs(before) + 1e-13 * f.scale);
            free(g);
            free_fixture(&f);
        }
}

// A straight line, a fold of 180° and points in one place give no NaN.
static void test_degenerate_ropes(void **state)
{
    (void)state;
    for (int c = 0; c < CASE_COUNT; c++)
        for (int kind = 0; kind < 3; kind++) {
            fixture f = make_fixture(&CASES[c]);
            set_state(&f, AT_REST);
            for (int k = 0; k < f.count; k++) {
                int number = f.model->order[k];
                double *x = f.x + 4 * k;
                x[1] = x[2] = 0;
                x[0] = kind == 0 ? number : kind == 1 ? number % 2 : 0;
            }
            double *g = calloc(4 * (size_t)f.count, sizeof(double));
            gradient_of(&f, g);
            for (int k = 0; k < 4 * f.count && kind < 2; k++) assert_true(isfinite(g[k]));
            double *values = malloc(sizeof(double) * (size_t)f.term->ops->block_size(f.term));
            f.term->ops->blocks(f.term, f.x, 0, HK_FOR_HESSIAN, values);
            for (int64_t k = 0; k < f.term->ops->block_size(f.term); k++)
                assert_true(isfinite(values[k]));
            assert_false(isnan(energy_of(&f)));
            free(values);
            free(g);
            free_fixture(&f);
        }
}

// ---------------------------------------------------------------- statics

static hk_world *rope_world(hk_model *model)
{
    return world_of(model, 0.01, 1);
}

static void pose(hk_world *world)
{
    hk_step_report r;
    CHECK_OK(hk_world_pose(world, &r));
    if (r.reason != HK_CONVERGED) fail_msg("%s: %s", hk_reason_name(r.reason), r.detail);
}

// How far the tip of a clamped rope of 1 m sinks by its weight, as a part of q L⁴/8 E I.
static double sag_of(const char *form, int cells, double g)
{
    const double EI = 2e-3, line = 0.1;  // and a stretch that does not matter
    hk_body_def body = hk_default_body_def();
    hk_selector fix = select_box(-1, -1, -1, 1.5 / cells, 1, 1);
    body.material = rope_of(200, EI, line, form, false);
    body.fixes = &fix;
    body.fix_count = 1;
    // The clamp ends at the second vertex, half a segment later for the angle there.
    hk_world *world = rope_world(model_of(&body, rope_mesh(1 + 0.5 / (cells - 0.5), cells), -g));
    pose(world);
    double sag = -hk_world_positions(world)[3 * cells + 1];
    hk_world_free(world);
    return sag / (line * g / (8 * EI));
}

static void test_cantilever_converges_to_beam_theory(void **state)
{
    (void)state;
    static const char *const forms[] = {"hinges", "cotangent"};
    for (int f = 0; f < 2; f++) {
        double error[3];
        for (int k = 0; k < 3; k++) error[k] = fabs(sag_of(forms[f], 10 << k, 1e-3) - 1);
        print_message("%s: the tip is off by %.2f %%, %.2f %% and %.2f %% with 10, 20, 40 lines\n",
                      forms[f], 100 * error[0], 100 * error[1], 100 * error[2]);
        assert_true(error[1] < 0.6 * error[0] && error[2] < 0.6 * error[1]);
        assert_true(error[2] < 0.01);
    }
}

// Bent by a moment into a circle: a rope whose ends are turned by ±α has the energy E I (2α)²/2L.
static void test_energy_of_a_circle(void **state)
{
    (void)state;
    static const char *const forms[] = {"hinges", "cotangent"};
    for (int f = 0; f < 2; f++)
        for (int cells = 20; cells <= 80; cells *= 4) {
            hk_body_def body = hk_default_body_def();
            body.material = rope_of(100, 0.3, 0.1, forms[f], false);
            hk_world *world = rope_world(model_of(&body, rope_mesh(1, cells), 0));
            double *x = calloc(3 * (size_t)cells + 3, sizeof(double)), r = 0;
            double turn = 1.5 / cells;
            r = 1 / (2.0 * cells * sin(turn / 2));
            for (int v = 0; v <= cells; v++) {
                x[3 * v] = r * cos(turn * v);
                x[3 * v + 1] = r * sin(turn * v);
            }
            CHECK_OK(hk_world_set_positions(world, x));
            hk_energy energy;
            CHECK_OK(hk_world_energy(world, &energy, NULL));
            double expected = 0.5 * 0.3 * 1.5 * 1.5 * (cells - 1) / cells;
            assert_true(fabs(energy.elastic / expected - 1) < (cells > 20 ? 1e-4 : 1e-3));
            free(x);
            hk_world_free(world);
        }
}

// A pose, or, where lines that push together have no stiffness at all, steps in thick air.
static hk_world *hanging_world(hk_model *model, bool slack)
{
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = 0.02;
    def.damping.air = 5;
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    if (!slack) pose(world);
    for (int k = 0; k < 300 && slack; k++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(world, &r));
        if (r.reason != HK_CONVERGED) fail_msg("%s: %s", hk_reason_name(r.reason), r.detail);
    }
    return world;
}

// A chain of length L between two hooks at the distance d hangs as y = a cosh(x/a) does, with
// 2a sinh(d/2a) = L.
static void test_catenary(void **state)
{
    (void)state;
    for (int slack = 0; slack < 2; slack++) {
        enum { CHAIN = 80 };
        int32_t first[1] = {0}, last[1] = {CHAIN};
        hk_selector fix = {.kind = HK_SELECT_VERTICES, .vertices = first, .vertex_count = 1};
        hk_move_def move = hk_default_move_def();
        move.select =
            (hk_selector){.kind = HK_SELECT_VERTICES, .vertices = last, .vertex_count = 1};
        move.motion.translate[0] = -0.4;
        move.motion.over = slack ? 1 : 0;
        hk_body_def body = hk_default_body_def();
        body.material = rope_of(1e4, 0, 0.2, NULL, slack == 1);
        body.fixes = &fix;
        body.fix_count = 1;
        body.moves = &move;
        body.move_count = 1;
        // From a straight line there is no way down: the mesh bows a little.
        hk_mesh *mesh = rope_mesh(1, CHAIN);
        for (int v = 0; v <= CHAIN; v++)
            mesh->positions[3 * v + 1] = -1e-3 * sin(acos(-1.0) * v / CHAIN);
        hk_world *world = hanging_world(model_of(&body, mesh, -9.81), slack);
        double low = 1e-3, high = 10, d = 0.6, L = 1;
        for (int k = 0; k < 200; k++) {
            double a = 0.5 * (low + high);
            *(2 * a * sinh(d / (2 * a)) > L ? &low : &high) = a;
        }
        double sag = low * (cosh(d / (2 * low)) - 1);
        double found = -hk_world_positions(world)[3 * (CHAIN / 2) + 1];
        print_message("%s chain sags by %.5f m, the catenary by %.5f m\n", slack ? "a slack" : "a",
                      found, sag);
        assert_true(fabs(found - sag) < 2e-3 * sag);
        hk_world_free(world);
    }
}

// A bow is at rest as it is, and a slack rope that is pushed together has no energy.
static void test_rest_and_slack(void **state)
{
    (void)state;
    static const char *const forms[] = {"hinges", "cotangent"};
    for (int k = 0; k < 4; k++) {
        hk_body_def body = hk_default_body_def();
        body.material = rope_of(100, 0.3, 0.1, k == 2 ? NULL : forms[k % 2], k > 1);
        hk_world *world = rope_world(model_of(&body, curved_mesh(12), 0));
        hk_energy energy;
        CHECK_OK(hk_world_energy(world, &energy, NULL));
        assert_true(energy.elastic < 1e-20);
        hk_world_free(world);
    }
    for (int slack = 0; slack < 2; slack++) {
        hk_body_def body = hk_default_body_def();
        body.material = rope_of(100, 0, 0.1, "hinges", slack == 1);
        hk_world *world = rope_world(model_of(&body, rope_mesh(1, 4), 0));
        double x[15] = {0};
        for (int v = 0; v < 5; v++) x[3 * v] = 0.2 * v;
        CHECK_OK(hk_world_set_positions(world, x));
        hk_energy energy;
        CHECK_OK(hk_world_energy(world, &energy, NULL));
        assert_true(fabs(energy.elastic - (slack ? 0 : 0.5 * 100 * 0.04)) < 1e-12);
        hk_world_free(world);
    }
}

// Where three lines or more meet, as in a net, those run on that follow each other in the list.
static void test_what_bends(void **state)
{
    (void)state;
    const double x[] = {-1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 0, 0, 1, 2, 0, 0};
    const int32_t lines[] = {0, 1, 1, 2, 3, 1, 1, 4, 5, 2};
    hk_mesh *net = NULL;
    CHECK_OK(hk_mesh_from_lines(6, x, 5, lines, &net));
    hk_body_def body = hk_default_body_def();
    body.material = rope_of(100, 0.3, 0.1, "hinges", false);
    hk_model *model = model_of(&body, net, 0);
    // 0-1-2 and 3-1-4, and 1-2-5 where there are two.
    assert_int_equal(model->line_bend_count, 3);
    const int32_t expected[3][3] = {{0, 1, 2}, {3, 1, 4}, {1, 2, 5}};
    for (int k = 0; k < 3; k++) {
        assert_memory_equal(model->line_bends[k].vertex, expected[k], sizeof expected[k]);
        assert_true(model->line_bends[k].rest == 0);
    }
    assert_int_equal(hk_model_line_count(model), 5);
    assert_memory_equal(hk_model_lines(model), lines, sizeof lines);
    assert_true(hk_model_line_radius(model, 4) == 0.005 && hk_model_line_radius(model, 5) == 0);
    assert_true(fabs(hk_model_mass(model) - 0.5) < 1e-15);
    hk_model_free(model);
}

// ---------------------------------------------------------------- definitions

static void refuse(hk_body_def *body, const char *words)
{
    hk_model_def def = hk_default_model_def();
    def.bodies = body;
    def.body_count = 1;
    hk_model *model = NULL;
    hk_status status = hk_model_create(&def, &model);
    assert_int_not_equal(status, HK_OK);
    if (!strstr(hk_error(), words)) fail_msg("\"%s\" does not say \"%s\"", hk_error(), words);
}

static void test_refusals(void **state)
{
    (void)state;
    hk_body_def good = hk_default_body_def();
    hk_mesh *rope = rope_mesh(1, 4), *box = box_mesh(1, 1, 1, 1, 1, 1);
    good.mesh = rope;
    good.material = rope_of(100, 0.3, 0.1, "hinges", false);
    hk_body_def body = good;
    body.material = hk_default_material_def();
    refuse(&body, "a rope has the material \"rope\", not neo_hookean");
    body = good;
    body.mesh = box;
    refuse(&body, "the material rope is for lines, and its mesh has tetrahedra");
    body = good;
    body.material.parameters[0].name = "width";
    refuse(&body, "it has no parameter \"width\"");
    body = good;
    body.material.parameter_count = 0;
    refuse(&body, "radius (m) must be given");
    body = good;
    body.material.parameter_count = 1;
    body.material.young = NAN;
    refuse(&body, "young (or stretch and bending) must be greater than 0");
    body = good;
    body.material.parameters[2].value = -1;
    refuse(&body, "bending must be 0 or more");
    body = good;
    body.material.bending_form = "angles";
    refuse(&body, "unknown bending_form \"angles\"");
    body = good;
    body.material.parameters[4].value = 1;
    refuse(&body, "a slack rope cannot bend by angles");
    body = good;
    body.material.thickness = 1;
    refuse(&body, "of \"shell\"");
    const double same[] = {0, 0, 0, 1, 0, 0, 1, 0, 0};
    const int32_t lines[] = {0, 1, 1, 2};
    hk_mesh *short_one = NULL, *none = NULL;
    CHECK_OK(hk_mesh_from_lines(3, same, 2, lines, &short_one));
    body = good;
    body.mesh = short_one;
    refuse(&body, "line 1 (vertices 1 2) has no length");
    assert_int_equal(hk_mesh_from_lines(2, same, 2, lines, &none), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "line 1: its vertex 2 is out of range"));
    assert_int_equal(hk_mesh_from_lines(2, same, 0, lines, &none), HK_BAD_INPUT);
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_ROPE);
    def.cells[0] = 0;
    assert_int_equal(hk_mesh_make(&def, &none), HK_BAD_INPUT);
    def.cells[0] = 4;
    def.points = same;
    def.point_count = 1;
    assert_int_equal(hk_mesh_make(&def, &none), HK_BAD_INPUT);
    def.point_count = 3;
    assert_int_equal(hk_mesh_make(&def, &none), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "1 and 2 are no two places"));
    hk_mesh_free(short_one);
    hk_mesh_free(rope);
    hk_mesh_free(box);
}

// E A = π r² E, E I = π r⁴/4 E.
static void test_moduli(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    body.material.model = "rope";
    body.material.young = 2e6;
    body.material.density = 700;
    body.material.parameters[0] = (hk_parameter){"radius", 0.02};
    body.material.parameter_count = 1;
    hk_model *model = model_of(&body, rope_mesh(2, 8), 0);
    double area = acos(-1.0) * 4e-4;
    assert_true(fabs(model->springs[0].stiffness / (2e6 * area / 0.25) - 1) < 1e-12);
    assert_true(fabs(model->line_bends[0].stiffness / (2e6 * area * 1e-4 / 0.25) - 1) < 1e-12);
    assert_true(fabs(hk_model_mass(model) / (700 * area * 2) - 1) < 1e-12);
    hk_model_free(model);
}

// Through points: a vertex at each of them, and segments of about the same length.
static void test_rope_through_points(void **state)
{
    (void)state;
    const double points[] = {0, 0, 0, 3, 0, 0, 3, 1, 0};
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_ROPE);
    def.points = points;
    def.point_count = 3;
    def.cells[0] = 8;
    hk_mesh *mesh = NULL;
    CHECK_OK(hk_mesh_make(&def, &mesh));
    assert_int_equal(hk_mesh_vertex_count(mesh), 9);
    assert_int_equal(hk_mesh_line_count(mesh), 8);
    assert_true(mesh->positions[18] == 3 && mesh->positions[19] == 0);
    assert_true(mesh->positions[24] == 3 && mesh->positions[25] == 1);
    for (int k = 0; k < 8; k++) {
        const int32_t *l = hk_mesh_lines(mesh) + 2 * k;
        assert_true(l[0] == k && l[1] == k + 1);
    }
    hk_mesh_free(mesh);
    def.cells[0] = 1;  // too few: one for each leg
    CHECK_OK(hk_mesh_make(&def, &mesh));
    assert_int_equal(hk_mesh_line_count(mesh), 2);
    hk_mesh_free(mesh);
}

// ---------------------------------------------------------------- files

static hk_mesh *read_obj(const char *text)
{
    hk_mesh *mesh = NULL;
    CHECK_OK(hk_obj_format.read("rope", text, strlen(text), &mesh));
    CHECK_OK(hk_mesh_finish(mesh, "rope"));
    return mesh;
}

static void test_obj_lines(void **state)
{
    (void)state;
    hk_mesh *mesh = read_obj("v 0 0 0\nv 1 0 0\nl 1 2/5 \\\n 3\nv 1 1 0\nl -1 1\n");
    const int32_t expected[] = {0, 1, 1, 2, 2, 0};
    assert_int_equal(mesh->line_count, 3);
    assert_memory_equal(mesh->lines, expected, sizeof expected);
    hk_mesh_free(mesh);
    // Lines beside faces are drawings on a surface.
    mesh = read_obj("v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3\nl 1 2 3\n");
    assert_int_equal(mesh->line_count, 0);
    assert_int_equal(mesh->triangle_count, 1);
    hk_mesh_free(mesh);
    static const struct {
        const char *text, *words;
    } bad[] = {{"v 0 0 0\nl 1\n", "rope:2: expected at least 2 vertices of a line, found 1"},
               {"v 0 0 0\nl 1 2\n", "vertex 2, but the file has 1 vertices"},
               {"v 0 0 0\nl 1 x\n", "expected a vertex of a line"}};
    for (int k = 0; k < 3; k++) {
        assert_int_equal(hk_obj_format.read("rope", bad[k].text, strlen(bad[k].text), &mesh),
                         HK_BAD_INPUT);
        if (!strstr(hk_error(), bad[k].words)) fail_msg("%s", hk_error());
    }
}

// A rope and a solid in one file: both come back.
static void test_files_hold_lines(void **state)
{
    (void)state;
    static const char *const endings[] = {"obj", "vtu"};
    for (int k = 0; k < 2; k++) {
        char path[64];
        snprintf(path, sizeof path, "/tmp/hooke-ropes-%d.%s", (int)getpid(), endings[k]);
        hk_mesh *mesh = curved_mesh(5), *back = NULL;
        CHECK_OK(hk_mesh_save(mesh, path, NULL, 0));
        CHECK_OK(hk_mesh_load(path, &back));
        assert_int_equal(back->line_count, 5);
        assert_memory_equal(back->lines, mesh->lines, 10 * sizeof(int32_t));
        assert_memory_equal(back->positions, mesh->positions, 18 * sizeof(double));
        hk_mesh_free(mesh);
        hk_mesh_free(back);
        unlink(path);
    }
    char path[64];
    snprintf(path, sizeof path, "/tmp/hooke-ropes-%d.vtu", (int)getpid());
    hk_body_def bodies[2] = {hk_default_body_def(), hk_default_body_def()};
    hk_mesh *box = box_mesh(1, 1, 1, 1, 1, 1), *rope = rope_mesh(1, 6), *back = NULL;
    bodies[0].mesh = box;
    bodies[1].mesh = rope;
    bodies[1].material = rope_of(100, 0.3, 0.1, "hinges", false);
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = 2;
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(&def, &model));
    hk_world *world = rope_world(model);
    CHECK_OK(hk_world_save(world, path));
    CHECK_OK(hk_mesh_load(path, &back));
    assert_int_equal(back->line_count, 6);
    assert_int_equal(back->lines[0], 8);
    assert_int_equal(back->tet_count, box->tet_count);
    hk_mesh_free(back);
    unlink(path);
    snprintf(path, sizeof path, "/tmp/hooke-ropes-%d.stl", (int)getpid());
    assert_int_equal(hk_mesh_save(rope, path, NULL, 0), HK_BAD_INPUT);
    hk_mesh_free(box);
    hk_mesh_free(rope);
    hk_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient_is_the_derivative),
        cmocka_unit_test(test_hessian_is_the_derivative),
        cmocka_unit_test(test_momentum_and_rotation),
        cmocka_unit_test(test_degenerate_ropes),
        cmocka_unit_test(test_cantilever_converges_to_beam_theory),
        cmocka_unit_test(test_energy_of_a_circle),
        cmocka_unit_test(test_catenary),
        cmocka_unit_test(test_rest_and_slack),
        cmocka_unit_test(test_what_bends),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_moduli),
        cmocka_unit_test(test_rope_through_points),
        cmocka_unit_test(test_obj_lines),
        cmocka_unit_test(test_files_hold_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
