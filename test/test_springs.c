// Springs between points of bodies and of the world: derivatives, invariances, every method against
// Newton's, breaking, states in files, seams.
#include "bodies.h"
#include "sheets.h"

#include <unistd.h>

#include "model/springs.h"
#include "solver/problem.h"
#include "term/assembly.h"

// ---------------------------------------------------------------- a world

enum { LINKS = 5 };

static hk_point_def at_point(int body, double x, double y, double z)
{
    hk_point_def p = {.body = body, .at = {x, y, z}};
    return p;
}

static hk_point_def at_vertex(int body, int vertex)
{
    hk_point_def p = {.body = body, .count = 1, .vertices = {vertex}, .weights = {1}};
    return p;
}

// Between two bars, from points within tets and from vertices; the last to the world.
static void define_springs(hk_spring_def *s, bool damped)
{
    for (int k = 0; k < LINKS; k++) s[k] = hk_default_spring_def();
    s[0].ends[0] = at_point(0, 0.77, 0.03, 0.11);
    s[0].ends[1] = at_point(1, 0.13, -0.37, 0.07);
    s[0].stiffness = 300;
    s[0].rest = 0.3;  // pulls from the start
    s[1].ends[0] = at_vertex(0, 5);
    s[1].ends[1] = at_point(1, 0.71, -0.31, 0.13);
    s[1].stiffness = 200;
    s[1].slack = 1;
    s[1].rest = 0.45;
    s[1].damping = damped ? 2 : 0;
    s[1].name = "string";
    s[2].ends[0] = at_vertex(0, 14);
    s[2].ends[1] = at_vertex(1, 17);
    s[2].stiffness = 150;
    s[2].to = 0.2;  // m
    s[2].factor.over = 0.1;
    s[3].ends[0] = at_point(1, 0.4, -0.3, 0.1);
    s[3].ends[1] = at_vertex(1, 3);  // in one body, of rest length 0 in the end
    s[3].stiffness = 50;
    s[3].to = 0;
    s[3].damping = damped ? 1 : 0;
    s[4].ends[0] = at_point(HK_THE_WORLD, 1, 0.5, 0);
    s[4].ends[1] = at_point(1, 0.79, -0.21, 0.02);
    s[4].stiffness = 100;
    s[4].slack = 1;
}

static hk_model *bars(const hk_spring_def *springs, int count, const char *material, double gravity)
{
    hk_mesh *mesh = box_mesh(0.8, 0.2, 0.2, 4, 1, 1);
    hk_selector end = select_box(0, -1, -1, 0, 1, 1);
    hk_body_def bodies[2] = {hk_default_body_def(), hk_default_body_def()};
    for (int b = 0; b < 2; b++) {
        bodies[b].mesh = mesh;
        bodies[b].material = material_of(material, 1e5, 0.3);
    }
    bodies[0].fixes = &end;
    bodies[0].fix_count = 1;
    bodies[1].transform.translate[1] = -0.4;
    hk_model_def def = hk_default_model_def();
    def.gravity[1] = gravity;
    def.bodies = bodies;
    def.body_count = 2;
    def.springs = springs;
    def.spring_count = count;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

typedef struct method_case {
    const char *method, *material, *option, *word;
    int iterations;
    double tolerance;
    bool damped;
} method_case;

static const method_case CASES[] = {
    {"descent", "neo_hookean", NULL, NULL, 5000, 2e-5, true},
    {"projective", "arap", "precision", "double", 4000, 1e-7, true},
    {"gradient_descent", "neo_hookean", NULL, NULL, 40000, 1e-6, true},
    {"nonlinear_cg", "neo_hookean", NULL, NULL, 5000, 1e-7, true},
    {"lbfgs", "neo_hookean", NULL, NULL, 5000, 1e-7, true},
    {"quasi_newton", "neo_hookean", NULL, NULL, 900, 1e-7, true},
    {"quasi_newton", "neo_hookean", "initial", "rest_hessian", 900, 1e-7, true},
    {"split", "corotated", NULL, NULL, 600, 2e-5, true},
    {"admm", "neo_hookean", NULL, NULL, 5000, 2e-5, true},
    {"vbd", "neo_hookean", NULL, NULL, 3000, 2e-5, true},
    {"xpbd", "neo_hookean", "precision", "double", 3000, 1e-8, false},
};

static hk_world *world_for(const method_case *c, const char *method, int threads)
{
    hk_spring_def springs[LINKS];
    define_springs(springs, c->damped);
    hk_model *model = bars(springs, LINKS, c->material, -9.81);
    hk_option options[2] = {{.name = c->option, .text = c->word},
                            {.name = "substeps", .number = 1}};
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = 0.02;
    def.threads = threads;
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

static void step(hk_world *w)
{
    hk_step_report r;
    CHECK_OK(hk_world_step(w, &r));
    if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED)
        fail_msg("%s: %s, %s", hk_world_method(w), hk_reason_name(r.reason), r.detail);
}

static void test_methods(void **state)
{
    (void)state;
    for (int k = 0; k < (int)(sizeof CASES / sizeof CASES[0]); k++) {
        const method_case *c = &CASES[k];
        hk_world *w = world_for(c, c->method, 2), *truth = world_for(c, "newton", 2);
        for (int n = 0; n < (SANITIZED ? 3 : 8); n++) {
            step(w);
            step(truth);
        }
        double away = relative_distance(w, truth);
        if (getenv("HOOKE_TABLE")) printf("%-20s %9.2e\n", c->method, away);
        if (!(away < c->tolerance)) fail_msg("%s: %g of the motion", c->method, away);
        hk_world_free(w);
        hk_world_free(truth);
    }
}

// A step of xpbd has no dampers, and says so.
static void test_what_cannot_be(void **state)
{
    (void)state;
    hk_spring_def springs[LINKS];
    define_springs(springs, true);
    hk_model *model = bars(springs, LINKS, "neo_hookean", 0);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.solver.method = "xpbd";
    hk_world *w = NULL;
    assert_int_equal(hk_world_create(&def, &w), HK_UNSUPPORTED);
    assert_non_null(strstr(hk_error(), "dampers of springs"));
    def.solver.method = "newton";
    def.conserve = true;
    assert_int_equal(hk_world_create(&def, &w), HK_UNSUPPORTED);
    assert_non_null(strstr(hk_error(), "springs that have damping"));
    assert_null(w);
    hk_model_free(model);
}

static void test_threads(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "descent", "vbd", "quasi_newton"};
    static const int threads[] = {1, 2, 7};
    for (int m = 0; m < 4; m++) {
        method_case c = {methods[m], "neo_hookean", NULL, NULL, 30, 0, true};
        hk_world *w[3];
        for (int k = 0; k < 3; k++) {
            w[k] = world_for(&c, c.method, threads[k]);
            for (int n = 0; n < 5; n++) CHECK_OK(hk_world_step(w[k], NULL));
        }
        size_t bytes = 3 * sizeof(double) * (size_t)hk_model_vertex_count(hk_world_model(w[0]));
        for (int k = 1; k < 3; k++)
            if (memcmp(hk_world_positions(w[0]), hk_world_positions(w[k]), bytes))
                fail_msg("%s: %d threads give other bits", methods[m], threads[k]);
        for (int k = 0; k < 3; k++) hk_world_free(w[k]);
    }
}

// ---------------------------------------------------------------- derivatives

typedef struct fixture {
    hk_model *model;
    hk_problem *problem;
    int count;
    double *x, *before;  // [count][4] Morton order
} fixture;

static fixture make_fixture(double scale, double amount)
{
    hk_spring_def springs[LINKS];
    fixture f;
    define_springs(springs, true);
    f.model = bars(springs, LINKS, "neo_hookean", 0);
    f.count = f.model->vertex_count;
    CHECK_OK(hk_problem_create(f.model, 1, NULL, &f.problem));
    f.x = calloc(4 * (size_t)f.count, sizeof(double));
    f.before = calloc(4 * (size_t)f.count, sizeof(double));
    uint64_t seed = 3;
    for (int k = 0; k < f.count; k++)
        for (int i = 0; i < 3; i++) {
            double rest = f.model->rest[3 * f.model->order[k] + i];
            f.x[4 * k + i] = scale * rest + amount * noise(&seed);
            f.before[4 * k + i] = 1.1 * rest + 0.01 * noise(&seed);
        }
    hk_stage_begin stage = {.weight = 1e4,
                            .terms = {.h = 0.01, .from = f.before, .state = f.before, .time = 1}};
    CHECK_OK(hk_problem_begin_step(f.problem, &stage));
    hk_terms_place(f.problem->terms, &(hk_when){.time = 0.05});
    return f;
}

static void free_fixture(fixture *f)
{
    hk_problem_free(f->problem);
    hk_model_free(f->model);
    free(f->x);
    free(f->before);
}

static const hk_term_ops *const TERMS[] = {&hk_springs_term, &hk_spring_dampers_term};
static const struct {
    double scale, amount;
} STATES[] = {{1, 0}, {1, 0.01}, {1.5, 0.02}, {0.6, 0.01}, {0.05, 0.02}};

static double *gradient_at(hk_term *term, const double *x, int count)
{
    double *g = calloc(4 * (size_t)count, sizeof *g);
    term->ops->add_gradient(term, x, g, NULL);
    return g;
}

static void check_gradient(fixture *f, hk_term *term, const double *g)
{
    for (int k = 0; k < 4 * f->count; k++) {
        double h = 1e-7, at = f->x[k];
        if (k % 4 == 3) continue;
        f->x[k] = at + h;
        double up = term->ops->energy(term, f->x);
        f->x[k] = at - h;
        double down = term->ops->energy(term, f->x);
        f->x[k] = at;
        if (!(fabs((up - down) / (2 * h) - g[k]) < 2e-5 * (1 + fabs(g[k]))))
            fail_msg("%s, coordinate %d: %g, by differences %g", term->ops->name, k, g[k],
                     (up - down) / (2 * h));
    }
}

typedef struct product {
    const double *values, *step;
    double *force;
} product;

static void add_element(void *context, const hk_stencil *s)
{
    product *p = context;
    const double *block = p->values + s->at;
    for (int a = 0; a < s->count; a++)
        for (int b = a; b < s->count; b++, block += 9)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    p->force[4 * s->vertex[a] + i] +=
                        block[3 * i + j] * p->step[4 * s->vertex[b] + j];
                    if (a != b)
                        p->force[4 * s->vertex[b] + j] +=
                            block[3 * i + j] * p->step[4 * s->vertex[a] + i];
                }
}

static void check_hessian(fixture *f, hk_term *term, double keep)
{
    size_t size = (size_t)term->ops->block_size(term);
    double *values = calloc(size, sizeof(double)),
           *d = calloc(4 * (size_t)f->count, sizeof(double));
    double *y = calloc(4 * (size_t)f->count, sizeof(double));
    double *moved = malloc(4 * sizeof(double) * (size_t)f->count), h = 1e-7, error = 0, most = 0;
    uint64_t seed = 9;
    for (int k = 0; k < 4 * f->count; k++) d[k] = k % 4 < 3 ? noise(&seed) : 0;
    term->ops->blocks(term, f->x, keep, HK_FOR_HESSIAN, values);
    product p = {values, d, y};
    term->ops->stencils(term, add_element, &p);
    if (keep == 0) {
        double curvature = 0;
        for (int k = 0; k < 4 * f->count; k++) curvature += d[k] * y[k];
        assert_true(curvature >= -1e-9);
    } else {
        for (int k = 0; k < 4 * f->count; k++) moved[k] = f->x[k] + h * d[k];
        double *up = gradient_at(term, moved, f->count);
        for (int k = 0; k < 4 * f->count; k++) moved[k] = f->x[k] - h * d[k];
        double *down = gradient_at(term, moved, f->count);
        for (int k = 0; k < 4 * f->count; k++) {
            error = fmax(error, fabs((up[k] - down[k]) / (2 * h) - y[k]));
            most = fmax(most, fabs(y[k]));
        }
        if (!(error <= 1e-5 * most)) fail_msg("%s: %g of %g", term->ops->name, error, most);
        free(up);
        free(down);
    }
    free(values);
    free(d);
    free(y);
    free(moved);
}

// What pulls within the bodies moves and turns nothing as a whole: of all but that to the world.
static void check_balance(const fixture *f, const hk_term *term, const double *g)
{
    double force[3] = {0}, torque[3] = {0}, size = 1e-12, world[3] = {0};
    const hk_point_spring *s = &f->model->point_springs->list[LINKS - 1];
    if (term->ops == &hk_springs_term) {
        double l = hk_point_spring_length(s, f->x, 4, f->model->place);
        double pull = hk_point_spring_tension(s, l, hk_point_spring_rest(s, 0.05)), d[3];
        for (int i = 0; i < 3; i++) {
            d[i] = -s->target[i];
            for (int k = 0; k < s->count; k++)
                d[i] += s->coefficient[k] * f->x[4 * f->model->place[s->vertex[k]] + i];
            world[i] = pull * d[i] / l;
        }
    }
    for (int v = 0; v < f->count; v++)
        for (int i = 0; i < 3; i++) {
            int j = (i + 1) % 3, k = (i + 2) % 3;
            force[i] += g[4 * v + i];
            torque[i] += f->x[4 * v + j] * g[4 * v + k] - f->x[4 * v + k] * g[4 * v + j];
            size += fabs(g[4 * v + i]);
        }
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        torque[i] -= s->target[j] * world[k] - s->target[k] * world[j];
        assert_true(fabs(force[i] - world[i]) <= 1e-12 * size);
        assert_true(fabs(torque[i]) <= 1e-12 * size);
    }
}

static void test_derivatives(void **state)
{
    (void)state;
    for (int s = 0; s < (int)(sizeof STATES / sizeof STATES[0]); s++)
        for (int t = 0; t < 2; t++) {
            fixture f = make_fixture(STATES[s].scale, STATES[s].amount);
            hk_term *term = hk_terms_find(f.problem->terms, TERMS[t]);
            assert_non_null(term);
            double *g = gradient_at(term, f.x, f.count);
            check_gradient(&f, term, g);
            check_balance(&f, term, g);
            // At rest one end lies where it is to be, and slack ones are about to be taut.
            if (s > 0) check_hessian(&f, term, 1);
            check_hessian(&f, term, 0);
            free(g);
            free_fixture(&f);
        }
}

// In single precision positions are displacements from a base: the same forces.
static void test_single_precision(void **state)
{
    (void)state;
    fixture f = make_fixture(1.2, 0.01);
    double *base = calloc(4 * (size_t)f.count, sizeof(double));
    float *q = calloc(4 * (size_t)f.count, sizeof(float)),
          *g = calloc(4 * (size_t)f.count, sizeof(float));
    for (int k = 0; k < 4 * f.count; k++) {
        if (k % 4 == 3) continue;
        base[k] = f.before[k];
        q[k] = (float)(f.x[k] - base[k]);
        f.x[k] = base[k] + (double)q[k];
    }
    hk_frame frame = {.base = base};
    hk_terms *single;
    CHECK_OK(hk_terms_create(f.model, HK_SINGLE, 1, &frame, NULL, &single));
    CHECK_OK(hk_terms_follow(single, f.problem->terms));
    for (int t = 0; t < 2; t++) {
        hk_term *term = hk_terms_find(f.problem->terms, TERMS[t]);
        hk_term *own = hk_terms_find(single, TERMS[t]);
        double *exact = gradient_at(term, f.x, f.count), most = 0;
        memset(g, 0, 4 * sizeof(float) * (size_t)f.count);
        double energy;
        own->ops->add_gradient(own, q, g, &energy);
        assert_true(fabs(energy - term->ops->energy(term, f.x)) <= 1e-12 * energy);
        for (int k = 0; k < 4 * f.count; k++) most = fmax(most, fabs(exact[k]));
        assert_true(most > 0);
        for (int k = 0; k < 4 * f.count; k++)
            assert_true(fabs((double)g[k] - exact[k]) <= 1e-6 * most);
        free(exact);
    }
    hk_terms_free(single);
    free(base);
    free(q);
    free(g);
    free_fixture(&f);
}

// ---------------------------------------------------------------- what they do

// A weight on a string: m g / k below its rest length; and a damper that stops it.
static void test_weight_on_a_string(void **state)
{
    (void)state;
    hk_spring_def s = hk_default_spring_def();
    s.ends[0] = at_point(HK_THE_WORLD, 0.05, 2, 0.05);
    s.ends[1] = (hk_point_def){.body = 0, .at = {0.05, 0.1, 0.05}, .nearest = 1};
    s.stiffness = 1000;
    s.rest = 2;  // loose at first
    s.slack = 1;
    s.damping = 60;
    hk_mesh *mesh = box_mesh(0.1, 0.1, 0.1, 2, 2, 2);
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material = material_of("neo_hookean", 1e7, 0.3);
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.springs = &s;
    def.spring_count = 1;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    hk_world *w = world_of(model, 0.01, 1);
    hk_spring_state now;
    CHECK_OK(hk_world_spring_state(w, 0, &now));
    assert_true(now.tension == 0 && now.length < now.rest);
    for (int n = 0; n < 400; n++) step(w);
    CHECK_OK(hk_world_spring_state(w, 0, &now));
    if (!(fabs(now.tension - 9.81) < 1e-4 && fabs(now.length - 2 - 9.81e-3) < 1e-6))
        fail_msg("tension %g N, length %g m", now.tension, now.length);
    // Broken it falls.
    CHECK_OK(hk_world_break_spring(w, 0, true));
    step(w);
    CHECK_OK(hk_world_spring_state(w, 0, &now));
    assert_true(now.broken && now.tension == 0);
    double momentum = 0;
    for (int v = 0; v < hk_model_vertex_count(model); v++)
        momentum += hk_model_masses(model)[v] * hk_world_velocities(w)[3 * v + 1];
    assert_true(fabs(momentum + 0.0981) < 1e-5);  // of 1 kg, which hung still
    hk_world_free(w);
}

static hk_model *breaking_model(double breaking)
{
    hk_spring_def s[2] = {hk_default_spring_def(), hk_default_spring_def()};
    for (int k = 0; k < 2; k++) {
        s[k].ends[0] = at_vertex(0, 4 + 10 * k);
        s[k].ends[1] = at_vertex(1, 9 + 10 * k);
        s[k].stiffness = 4000;
        s[k].breaking = k == 0 ? breaking : 0;
        s[k].damping = 1;
    }
    return bars(s, 2, "neo_hookean", -9.81);
}

static hk_world *breaking_world(const hk_model *model, const char *integrator)
{
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.integrator = integrator;
    hk_world *w;
    CHECK_OK(hk_world_create(&def, &w));
    return w;
}

// It breaks once the pull is greater than it bears, and a saved state knows.
static void break_and_resume(const char *integrator)
{
    const char *path = "test_springs.hks";
    hk_model *model = breaking_model(120), *other = breaking_model(1e6);
    hk_world *w = breaking_world(model, integrator), *strong = breaking_world(other, integrator);
    hk_spring_state now, before = {0};
    int broke = -1;
    for (int n = 0; n < 60; n++) {
        CHECK_OK(hk_world_step(strong, NULL));
        CHECK_OK(hk_world_step(w, NULL));
        CHECK_OK(hk_world_spring_state(w, 0, &now));
        if (now.broken && broke < 0) {
            broke = n;
            assert_true(before.tension <= 120);
            CHECK_OK(hk_world_spring_state(strong, 0, &before));
            assert_true(before.tension > 120);
            CHECK_OK(hk_world_save_state(w, path));
        }
        before = now;
    }
    if (broke < 3) fail_msg("it broke in step %d", broke);
    assert_int_equal(hk_world_broken_springs(w), 1);
    assert_int_equal(hk_world_broken_springs(strong), 0);
    hk_world *resumed = breaking_world(model, integrator),
             *third = breaking_world(model, integrator);
    CHECK_OK(hk_world_load_state(resumed, path));
    assert_int_equal(hk_world_broken_springs(resumed), 1);
    for (int n = broke + 1; n < 60; n++) CHECK_OK(hk_world_step(resumed, NULL));
    size_t bytes = 3 * sizeof(double) * (size_t)hk_model_vertex_count(hk_world_model(w));
    assert_memory_equal(hk_world_positions(w), hk_world_positions(resumed), bytes);
    // Another world may take it over; an edited one keeps it.
    CHECK_OK(hk_world_copy_state(third, w));
    assert_int_equal(hk_world_broken_springs(third), 1);
    assert_int_equal(hk_world_load_state(strong, path), HK_BAD_INPUT);  // of another model
    hk_material_def soft = material_of("neo_hookean", 5e4, 0.3);
    CHECK_OK(hk_world_set_material(resumed, 0, NULL, &soft));
    CHECK_OK(hk_world_step(resumed, NULL));
    assert_int_equal(hk_world_broken_springs(resumed), 1);
    CHECK_OK(hk_world_spring_state(resumed, 0, &now));
    assert_true(now.tension == 0);
    hk_world_free(w);
    hk_world_free(strong);
    hk_world_free(resumed);
    hk_world_free(third);
    hk_model_free(model);
    hk_model_free(other);
    unlink(path);
}

static void test_breaking(void **state)
{
    (void)state;
    break_and_resume("bdf2");
    break_and_resume("newmark");
}

// ---------------------------------------------------------------- seams

// Two sheets in a plane with a gap of 0.1 m between them, one with twice the vertices.
static hk_world *sewn(int cells, const char *method, bool pose)
{
    hk_mesh *mesh[2] = {sheet_mesh(0.5, 0.5, 5, 5), sheet_mesh(0.5, 0.5, cells, cells)};
    hk_body_def bodies[2] = {hk_default_body_def(), hk_default_body_def()};
    hk_selector far = select_box(-1, -1, -1, 1e-9, 1, 1);
    for (int b = 0; b < 2; b++) {
        bodies[b].mesh = mesh[b];
        bodies[b].material = cloth_of(200, 1e-4, 0.2);
    }
    bodies[0].fixes = &far;
    bodies[0].fix_count = 1;
    bodies[1].transform.translate[0] = 0.6;
    bodies[1].velocity[2] = pose ? 0 : 0.01;
    hk_seam_def seam = hk_default_seam_def();
    seam.sides[0] = (hk_side_def){.body = 0, .select = select_box(0.4999, -1, -1, 0.5001, 1, 1)};
    seam.sides[1] = (hk_side_def){.body = 1, .select = select_box(0.5999, -1, -1, 0.6001, 1, 1)};
    seam.stiffness = 2000;
    seam.damping = 5;
    seam.factor.over = 0.3;
    seam.name = "side";
    hk_model_def def = hk_default_model_def();
    memset(def.gravity, 0, sizeof def.gravity);
    def.bodies = bodies;
    def.body_count = 2;
    def.seams = &seam;
    def.seam_count = 1;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh[0]);
    hk_mesh_free(mesh[1]);
    assert_int_equal(hk_model_point_spring_count(model), hk_max_int(cells, 5) + 1);
    assert_int_equal(hk_model_find_spring(model, "side"), 0);
    assert_int_equal(hk_model_find_spring(model, "none"), -1);
    hk_world_def world = hk_default_world_def();
    world.model = model;
    world.solver.method = method;
    hk_world *w;
    CHECK_OK(hk_world_create(&world, &w));
    hk_model_free(model);
    return w;
}

static void test_seam_closes(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "descent", "vbd", "projective"};
    for (int k = 0; k < 8; k++) {
        hk_world *w = sewn(k % 2 ? 5 : 9, methods[k / 2], false);
        int count = hk_model_point_spring_count(hk_world_model(w));
        hk_spring_state now;
        for (int n = 0; n < 100; n++) {
            step(w);
            if (n != 14) continue;
            CHECK_OK(hk_world_spring_state(w, 0, &now));
            assert_true(fabs(now.rest - 0.05) < 1e-9);  // half closed
        }
        for (int s = 0; s < count; s++) {
            CHECK_OK(hk_world_spring_state(w, s, &now));
            if (!(now.length < 2e-3))
                fail_msg("%s: spring %d is %g m long", methods[k / 2], s, now.length);
        }
        hk_world_free(w);
    }
}

// In poses rest lengths are what they become.
static void test_seam_in_a_pose(void **state)
{
    (void)state;
    hk_world *w = sewn(9, "newton", true);
    hk_step_report r;
    CHECK_OK(hk_world_pose(w, &r));
    const double *x = hk_world_positions(w);
    double low = INFINITY;
    for (int v = hk_model_body_start(hk_world_model(w), 1);
         v < hk_model_vertex_count(hk_world_model(w)); v++)
        low = fmin(low, x[3 * v]);
    if (!(fabs(low - 0.5) < 1e-3)) fail_msg("%s: %g", hk_reason_name(r.reason), low);
    hk_world_free(w);
}

// ---------------------------------------------------------------- refusals

static void expect(hk_spring_def s, const char *message)
{
    hk_mesh *mesh = box_mesh(1, 1, 1, 1, 1, 1);
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.springs = &s;
    def.spring_count = 1;
    hk_model *model = NULL;
    assert_int_equal(hk_model_create(&def, &model), HK_BAD_INPUT);
    if (!strstr(hk_error(), message)) fail_msg("%s", hk_error());
    assert_null(model);
    hk_mesh_free(mesh);
}

static void test_refusals(void **state)
{
    (void)state;
    hk_spring_def good = hk_default_spring_def(), s;
    good.name = "a";
    good.stiffness = 1;
    good.ends[0] = at_vertex(0, 1);
    s = good, s.stiffness = 0;
    expect(s, "spring 0 (a): its stiffness must be greater than 0");
    s = good, s.ends[0] = at_vertex(0, 99);
    expect(s, "has no vertex 99");
    s = good, s.ends[0] = at_vertex(3, 0);
    expect(s, "there is no body 3");
    s = good, s.ends[0] = at_point(0, 3, 0, 0);
    expect(s, "does not lie in body body");
    s = good, s.ends[0] = at_point(HK_THE_WORLD, 0, 0, 0);
    expect(s, "both ends are places of the world");
    s = good, s.ends[1] = s.ends[0];
    expect(s, "both ends are the same point");
    s = good, s.ends[0].weights[0] = 0.5;
    expect(s, "weights of a point must add up to 1");
    s = good, s.breaking = -1;
    expect(s, "its breaking force must be 0 or more");
    s = good, s.factor.over = NAN;
    expect(s, "`over`");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods),          cmocka_unit_test(test_what_cannot_be),
        cmocka_unit_test(test_threads),          cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_single_precision), cmocka_unit_test(test_weight_on_a_string),
        cmocka_unit_test(test_breaking),         cmocka_unit_test(test_seam_closes),
        cmocka_unit_test(test_seam_in_a_pose),   cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
