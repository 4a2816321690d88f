// Damping: the energies of a time step (air, viscous) are consistent with their derivatives and
// slow bodies as they should, and so do the decays of velocities after it (ether, pbd).
#include "bodies.h"
#include "failing_alloc.h"
#include "sheets.h"
#include "term/assembly.h"
#include "term_lists.h"
#include "world/world.h"

typedef struct variant {  // a method with options
    const char *label, *method;
    hk_option options[2];     // those with a name
    double tolerance, error;  // asked for; of positions, m
} variant;
#define DOUBLE                   \
    {                            \
        "precision", 0, "double" \
    }

static hk_world *damped_world(hk_model *model, double step, hk_damping damping, const variant *v,
                              int threads)
{
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = step;
    def.threads = threads;
    def.damping = damping;
    def.solver.tolerance = 1e-10;
    if (v) {
        def.solver.method = v->method;
        def.solver.options = v->options;
        def.solver.option_count = !!v->options[0].name + !!v->options[1].name;
        def.solver.iterations = 30000;
        def.solver.tolerance = v->tolerance;
    }
    hk_world *world;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

static void step_once(hk_world *world)
{
    hk_step_report r;
    CHECK_OK(hk_world_step(world, &r));
    if (r.reason != HK_CONVERGED && r.reason != HK_PRECISION_LIMIT)
        fail_msg("%s: %s, %s", hk_world_method(world), hk_reason_name(r.reason), r.detail);
}

// A box with one end fixed and the other moved, and above it a sheet that is fixed and attached.
static hk_model *mixed_model_of(const char *material)
{
    hk_body_def bodies[2] = {hk_default_body_def(), hk_default_body_def()};
    hk_selector wall = select_box(0, -1, -1, 0, 1, 1), corner = select_box(0, 0, 0, 0.1, 2, 2);
    hk_move_def move = {.def_size = sizeof(hk_move_def),
                        .select = select_box(1, -1, -1, 1, 1, 1),
                        .motion = {.axis = {1, 0, 0}, .translate = {0.1, 0.02, 0}, .over = 0.1}};
    hk_attach_def attach = {.def_size = sizeof(hk_attach_def),
                            .select = select_box(0.9, 0, 0, 2, 2, 2),
                            .stiffness = 30,
                            .motion = {.axis = {1, 0, 0}, .translate = {0, 0.1, 0}, .over = 0.1}};
    bodies[0].mesh = box_mesh(1, 0.3, 0.3, 4, 2, 1);
    bodies[0].material = material_of(material, 1e5, 0.35);
    bodies[0].fixes = &wall;
    bodies[0].moves = &move;
    bodies[0].fix_count = bodies[0].move_count = 1;
    bodies[1].mesh = sheet_mesh(1, 0.5, 4, 2);
    bodies[1].material = cloth_of(200, 0.01, 0.3);
    bodies[1].transform.translate[1] = 1;
    bodies[1].fixes = &corner;
    bodies[1].fix_count = 1;
    bodies[1].attachments = &attach;
    bodies[1].attachment_count = 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = 2;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free((hk_mesh *)(uintptr_t)bodies[0].mesh);
    hk_mesh_free((hk_mesh *)(uintptr_t)bodies[1].mesh);
    return model;
}

static hk_model *mixed_model(void)
{
    return mixed_model_of("neo_hookean");
}

// ---------------------------------------------------------------- derivatives

static const hk_damping BOTH = {.air_per_vertex = 3, .viscous = 0.02};
static const double H = 0.01;

typedef struct fixture {
    hk_world *world;
    hk_problem *p;
    int64_t size;
    double *before, *x, *g, *a, *b;  // [vertex_count][4]
} fixture;

static double *vector_of(const fixture *f)
{
    double *v = HK_ZEROS(double, f->size);  // aligned for the lanes
    assert_non_null(v);
    return v;
}

static void disturb(const fixture *f, double amount, uint64_t seed, double *x)
{
    for (int64_t k = 0; k < f->size; k++)
        x[k] = k % 4 == 3 ? 0 : f->p->rest[k] + amount * noise(&seed);
}

// In the middle of a step of `damping` from a state off rest by `away`.
static fixture make_fixture(hk_damping damping, double away)
{
    fixture f = {.world = damped_world(mixed_model(), H, damping, NULL, 1)};
    f.p = f.world->problem;
    f.size = 4 * (int64_t)f.p->vertex_count;
    f.before = vector_of(&f), f.x = vector_of(&f), f.g = vector_of(&f);
    f.a = vector_of(&f), f.b = vector_of(&f);
    disturb(&f, away, 1, f.before);
    disturb(&f, 0.02, 2, f.x);
    disturb(&f, 0.03, 3, f.p->y);
    begin_step(f.p, damping, H, f.before);
    return f;
}

static void free_fixture(fixture *f)
{
    hk_world_free(f->world);
    double *all[] = {f->before, f->x, f->g, f->a, f->b};
    for (int k = 0; k < HK_COUNT_OF(all); k++) hk_free(all[k]);
}

static double at_offset(fixture *f, double *x, int64_t k, double offset, double *gradient)
{
    double keep = x[k], energy;
    x[k] += offset;
    if (gradient)
        hk_problem_gradient(f->p, x, gradient, &energy, NULL);
    else
        energy = hk_problem_energy(f->p, x);
    x[k] = keep;
    return energy;
}

static void test_derivatives(void **state)
{
    (void)state;
    fixture f = make_fixture(BOTH, 0.03);
    double energy, *diagonal = vector_of(&f), e = 1e-6, largest = 0;
    hk_problem_gradient(f.p, f.x, f.g, &energy, NULL);
    assert_true(fabs(energy - hk_problem_energy(f.p, f.x)) <= 1e-13 * fabs(energy));
    hk_terms_diagonal(f.p->terms, f.x, diagonal);
    for (int64_t k = 0; k < f.size; k++) largest = fmax(largest, fabs(f.g[k]));
    for (int64_t k = 0; k < f.size; k++) {
        if (k % 4 == 3 || f.p->held[k / 4]) continue;
        double slope = (at_offset(&f, f.x, k, e, f.a) - at_offset(&f, f.x, k, -e, f.b)) / (2 * e);
        if (!(fabs(slope - f.g[k]) < 1e-6 * largest))
            fail_msg("gradient %lld: %g, by differences %g", (long long)k, f.g[k], slope);
        double curvature = (f.a[k] - f.b[k]) / (2 * e), whole = diagonal[k] + f.p->inertia[k / 4];
        if (!(fabs(curvature - whole) < 1e-5 * fabs(whole)))
            fail_msg("diagonal %lld: %g, by differences %g", (long long)k, whole, curvature);
    }
    hk_free(diagonal);
    free_fixture(&f);
}

// What Newton factors, times a direction, against the difference of gradients along it.
static void test_hessian(void **state)
{
    (void)state;
    fixture f = make_fixture(BOTH, 0.03);
    hk_problem *p = f.p;
    hk_assembly *a;
    CHECK_OK(hk_assembly_create(p->terms, p->held, &a));
    double *stiffness = hk_alloc((size_t)hk_terms_block_size(p->terms), sizeof(double));
    double *matrix = malloc((size_t)hk_pattern_size(&a->pattern) * sizeof *matrix);
    int n = a->pattern.count;
    double *d = malloc(3 * (size_t)n * sizeof *d), *product = malloc(3 * (size_t)n * sizeof *d);
    hk_problem_blocks(p, f.x, 1, stiffness);
    hk_assemble(a, stiffness, p->inertia, matrix);
    uint64_t seed = 7;
    for (int k = 0; k < 3 * n; k++) d[k] = noise(&seed);
    hk_pattern_multiply(&a->pattern, matrix, d, product);
    double *sides[2] = {f.a, f.b}, e = 1e-6, largest = 0;
    for (int side = 0; side < 2; side++) {
        memcpy(f.g, f.x, (size_t)f.size * sizeof(double));
        for (int k = 0; k < 3 * n; k++)
            f.g[4 * (int64_t)a->vertex[k / 3] + k % 3] += (side ? -e : e) * d[k];
        hk_problem_gradient(p, f.g, sides[side], NULL, NULL);
    }
    for (int k = 0; k < 3 * n; k++) largest = fmax(largest, fabs(product[k]));
    for (int k = 0; k < 3 * n; k++) {
        int64_t at = 4 * (int64_t)a->vertex[k / 3] + k % 3;
        double difference = (f.a[at] - f.b[at]) / (2 * e);
        if (!(fabs(difference - product[k]) < 1e-5 * largest))
            fail_msg("row %d: %g, by differences %g", k, product[k], difference);
    }
    hk_assembly_free(a);
    hk_free(stiffness);
    free(matrix), free(d), free(product);
    free_fixture(&f);
}

// The gradient of c/2h ‖x − x_t‖² is that, and that of the viscosity of a step from rest the
// difference of elastic forces there, over held vertices as well but not over attachments.
static void test_energies_are_as_defined(void **state)
{
    (void)state;
    fixture f = make_fixture((hk_damping){.viscous = BOTH.viscous}, 0);
    double e = 1e-5, largest = 0, energy = 0, *damped = vector_of(&f);
    hk_problem *p = f.p;
    for (int side = 0; side < 2; side++) {
        for (int64_t k = 0; k < f.size; k++)
            f.g[k] = p->rest[k] + (side ? -e : e) * (f.x[k] - p->rest[k]);
        hk_problem_force(p, f.g, side ? f.b : f.a);
    }
    for (int64_t k = 0; k < f.size; k++) f.a[k] = (f.a[k] - f.b[k]) / (2 * e);
    for (int k = 0; k < p->model->attachment_count; k++) {
        const hk_attachment *tie = &p->model->attachments[k];
        int64_t at = 4 * (int64_t)p->model->place[tie->vertex];
        for (int i = 0; i < 3; i++) f.a[at + i] -= tie->stiffness * (f.x[at + i] - p->rest[at + i]);
    }
    hk_viscosity_term.add_gradient(viscosity_of(p), f.x, damped, &energy);
    double expected = 0;
    for (int64_t k = 0; k < f.size; k++) {
        largest = fmax(largest, fabs(f.a[k]));
        expected += 0.5 * BOTH.viscous / H * f.a[k] * (f.x[k] - p->rest[k]);
    }
    for (int64_t k = 0; k < f.size; k++)
        if (!(fabs(damped[k] - BOTH.viscous / H * f.a[k]) < 1e-5 * BOTH.viscous / H * largest))
            fail_msg("viscous force %lld: %g, expected %g", (long long)k, damped[k],
                     BOTH.viscous / H * f.a[k]);
    assert_true(expected > 0 && fabs(energy - expected) < 1e-5 * expected);
    hk_free(damped);

    disturb(&f, 0.03, 3, p->y);
    begin_step(p, (hk_damping){0}, H, f.before);
    hk_problem_gradient(p, f.x, f.a, NULL, NULL);
    begin_step(p, (hk_damping){.air_per_vertex = 3}, H, f.before);
    hk_problem_gradient(p, f.x, f.b, NULL, NULL);
    for (int64_t k = 0; k < f.size; k++) {
        double air = p->held[k / 4] ? 0 : 3 / H * (f.x[k] - f.before[k]);
        assert_true(fabs(f.b[k] - f.a[k] - air) < 1e-10 * (1 + fabs(f.a[k])));
    }
    free_fixture(&f);
}

// Single precision gives the same forces, even for a body far away that moves fast.
static void test_single_precision(void **state)
{
    (void)state;
    fixture f = make_fixture((hk_damping){.viscous = BOTH.viscous}, 0.03);
    hk_problem *p = f.p;
    hk_view *view;
    CHECK_OK(hk_view_create(p, HK_SINGLE, &view));
    for (int64_t k = 0; k < f.size; k++) {
        double far = k % 4 == 0 ? 100 : 0;
        f.before[k] += far;
        f.x[k] += far + (k % 4 < 3 ? 0.5 : 0);
    }
    begin_step(p, p->terms->damping, H, f.before);
    CHECK_OK(hk_view_center(view, f.x));
    float *x = calloc((size_t)f.size, sizeof *x), *g = calloc((size_t)f.size, sizeof *g);
    hk_view_narrow(view, f.x, x);
    hk_view_widen(view, x, f.x);
    double fine, coarse, largest = 0;
    hk_viscosity_term.add_gradient(viscosity_of(p), f.x, f.g, &fine);
    hk_viscosity_term.add_gradient(hk_terms_find(view->terms, &hk_viscosity_term), x, g, &coarse);
    for (int64_t k = 0; k < f.size; k++) largest = fmax(largest, fabs(f.g[k]));
    for (int64_t k = 0; k < f.size; k++) assert_true(fabs(f.g[k] - g[k]) < 1e-6 * largest);
    assert_true(fine > 0 && fabs(fine - coarse) < 1e-6 * fine);
    free(x), free(g);
    hk_view_free(view);
    free_fixture(&f);
}

// ---------------------------------------------------------------- motions

typedef struct motion {
    double momentum[3], spin[3], sum[3];  // Σ m v, Σ m x × v, Σ v
} motion;

static motion motion_of(const hk_world *w)
{
    motion m = {0};
    const double *x = hk_world_positions(w), *v = hk_world_velocities(w);
    for (int k = 0; k < w->model->vertex_count; k++, x += 3, v += 3)
        for (int i = 0; i < 3; i++) {
            int a = (i + 1) % 3, b = (i + 2) % 3;
            m.momentum[i] += w->model->mass[k] * v[i];
            m.spin[i] += w->model->mass[k] * (x[a] * v[b] - x[b] * v[a]);
            m.sum[i] += v[i];
        }
    return m;
}

static hk_model *free_body(void)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of("corotated", 1e5, 0.3);
    return model_of(&body, box_mesh(1, 0.4, 0.3, 3, 2, 1), 0);
}

// Positions stretched by `stretch` along x, velocities v + ω × x.
static void launch(hk_world *w, double stretch, const double velocity[3], const double spin[3])
{
    int count = w->model->vertex_count;
    double *x = malloc(3 * (size_t)count * sizeof *x), *v = malloc(3 * (size_t)count * sizeof *v);
    for (int k = 0; k < count; k++) {
        const double *rest = w->model->rest + 3 * (int64_t)k;
        double at[3] = {stretch * (rest[0] - 0.5), rest[1] - 0.2, rest[2] - 0.15};
        for (int i = 0; i < 3; i++) {
            int a = (i + 1) % 3, b = (i + 2) % 3;
            x[3 * k + i] = at[i];
            v[3 * k + i] = velocity[i] + spin[a] * at[b] - spin[b] * at[a];
        }
    }
    CHECK_OK(hk_world_set_positions(w, x));
    CHECK_OK(hk_world_set_velocities(w, v));
    free(x), free(v);
}

static const double ZERO[3] = {0, 0, 0}, GO[3] = {3, -1, 2}, TURN[3] = {1, 2, -1.5};

// A box of tets, thrown: on a coarse and on a fine mesh the air slows it down by the same factor,
// v' = v/(1 + air h) per step of backward Euler.
static double speed_left(int cells, const char *method, hk_damping damping, int steps)
{
    hk_mesh *mesh = box_mesh(1, 0.4, 0.3, 2 * cells, cells, cells);
    hk_body_def body = hk_default_body_def();
    body.material = material_of("arap", 1e5, 0);
    body.velocity[0] = 2;
    const variant v = {method, method, {{0}}, 1e-9, 0};
    hk_world *w = damped_world(model_of(&body, mesh, 0), 0.01, damping, &v, 1);
    for (int k = 0; k < steps; k++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(w, &r));
    }
    motion to = motion_of(w);
    double mass = 0;
    for (int k = 0; k < w->model->vertex_count; k++) mass += w->model->mass[k];
    hk_world_free(w);
    return to.momentum[0] / mass / 2;
}

static void test_air_means_the_same_on_any_mesh(void **state)
{
    (void)state;
    enum { STEPS = 5 };
    const int coarse = 1, fine = 3;
    static const char *const methods[] = {"newton", "descent", "quasi_newton", "projective",
                                          "xpbd",   "vbd",     "admm",         "linear_implicit"};
    hk_damping air = {.air = 3}, per_vertex = {.air_per_vertex = 30};
    for (size_t m = 0; m < sizeof methods / sizeof methods[0]; m++) {
        double a = speed_left(coarse, methods[m], air, STEPS);
        double b = speed_left(fine, methods[m], air, STEPS);
        // xpbd takes shorter steps.
        double expected = strcmp(methods[m], "xpbd") == 0 ? a : pow(1 + 3 * 0.01, -STEPS);
        if (!(fabs(a - expected) < 1e-5 && fabs(b - a) < 1e-5 && a < 0.88))
            fail_msg("%s: %.8f and %.8f of the speed is left, not %.8f", methods[m], a, b,
                     expected);
    }
    double a = speed_left(coarse, "newton", per_vertex, STEPS);
    double b = speed_left(fine, "newton", per_vertex, STEPS);
    assert_true(b < 0.8 * a);  // more vertices, more of it
}

static void test_air_takes_momentum(void **state)
{
    (void)state;
    double c = 2, h = 0.01;
    hk_world *w = damped_world(free_body(), h, (hk_damping){.air_per_vertex = c}, NULL, 1);
    launch(w, 1.1, GO, TURN);
    for (int k = 0; k < 5; k++) {
        motion from = motion_of(w);
        step_once(w);
        motion to = motion_of(w);
        for (int i = 0; i < 3; i++) {
            double change = to.momentum[i] - from.momentum[i];
            assert_true(fabs(change) > 0.1);
            assert_true(fabs(change + h * c * to.sum[i]) < 1e-7 * fabs(from.momentum[0]));
        }
    }
    hk_world_free(w);
    // One tet has equal masses at its vertices: v' = v/(1 + c h/m).
    int32_t tet[4] = {0, 1, 2, 3};
    double corners[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    hk_mesh *mesh;
    CHECK_OK(hk_mesh_from_arrays(4, corners, 1, tet, 0, NULL, &mesh));
    hk_body_def body = hk_default_body_def();
    w = damped_world(model_of(&body, mesh, 0), h, (hk_damping){.air_per_vertex = 500}, NULL, 1);
    launch(w, 1, GO, ZERO);
    step_once(w);
    for (int k = 0; k < 12; k++) {
        double expected = GO[k % 3] / (1 + 500 * h / w->model->mass[0]);
        assert_true(fabs(hk_world_velocities(w)[k] - expected) < 1e-9);
    }
    assert_true(500 * h / w->model->mass[0] > 0.1);
    hk_world_free(w);
}

static void test_viscosity_keeps_rigid_motion(void **state)
{
    (void)state;
    double h = 0.01;
    hk_damping viscous = {.viscous = 0.1};
    hk_world *w = damped_world(free_body(), h, viscous, NULL, 1);
    launch(w, 1, GO, ZERO);
    for (int k = 0; k < 3; k++) step_once(w);
    for (int k = 0; k < 3 * w->model->vertex_count; k++)
        assert_true(fabs(hk_world_velocities(w)[k] - GO[k % 3]) < 1e-9);
    // While it vibrates and turns, momentum is kept.
    launch(w, 1.2, GO, TURN);
    motion from = motion_of(w);
    for (int k = 0; k < 5; k++) step_once(w);
    motion to = motion_of(w);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(to.momentum[i] - from.momentum[i]) < 1e-7 * fabs(from.momentum[i]));
    // A turn by an angle θ in a step is slowed in the order of θ².
    for (double rate = 1; rate < 5; rate *= 2) {
        double spin[3] = {0, 0, rate}, l[2];
        hk_world *plain = damped_world(free_body(), h, (hk_damping){0}, NULL, 1);
        hk_world *both[2] = {w, plain};
        for (int k = 0; k < 2; k++) {
            launch(both[k], 1, ZERO, spin);
            step_once(both[k]);
            l[k] = motion_of(both[k]).spin[2];
        }
        double theta = rate * h;
        assert_true(fabs(l[0] - l[1]) < theta * theta * l[1]);
        hk_world_free(plain);
    }
    hk_world_free(w);
}

// The energy of a bar's fundamental axial mode after half a period, of that at the start.
static double bar_loss(double beta, double h, double *omega2)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of("corotated", 1e6, 0);
    hk_selector wall = select_box(0, -1, -1, 0, 1, 1);
    body.fixes = &wall;
    body.fix_count = 1;
    hk_world *w = damped_world(model_of(&body, box_mesh(1, 0.1, 0.1, 10, 1, 1), 0), h,
                               (hk_damping){.viscous = beta}, NULL, 1);
    int count = w->model->vertex_count;
    double *x = malloc(3 * (size_t)count * sizeof *x), weight = 0;
    memcpy(x, w->model->rest, 3 * (size_t)count * sizeof *x);
    for (int k = 0; k < count; k++) {
        double u = 1e-3 * sin(acos(-1) / 2 * x[3 * k]);
        x[3 * k] += u;
        weight += w->model->mass[k] * u * u;
    }
    CHECK_OK(hk_world_set_positions(w, x));
    free(x);
    hk_energy start, end;
    CHECK_OK(hk_world_energy(w, &start, NULL));
    *omega2 = 2 * start.elastic / weight;
    for (int k = 0; k < (int)(acos(-1) / sqrt(*omega2) / h); k++) step_once(w);
    CHECK_OK(hk_world_energy(w, &end, NULL));
    hk_world_free(w);
    return log(start.total / end.total);
}

static void test_viscosity_of_a_bar(void **state)
{
    (void)state;
    double h = 4e-4, omega2, none = bar_loss(0, h, &omega2);
    for (int k = 1; k <= 2; k++) {
        double beta = 2e-3 * k, time = h * (int)(acos(-1) / sqrt(omega2) / h);
        double rate = (bar_loss(beta, h, &omega2) - none) / (2 * time),
               expected = beta * omega2 / 2;
        printf("bar: omega %.2f, beta %g: amplitude decays at %.4g/s, expected %.4g/s\n",
               sqrt(omega2), beta, rate, expected);
        assert_true(fabs(rate - expected) < 0.02 * expected);
    }
}

static void test_ether(void **state)
{
    (void)state;
    double rate = 1.7;
    hk_world *w = damped_world(free_body(), 0.01, (hk_damping){.ether = rate}, NULL, 1);
    launch(w, 1, GO, ZERO);
    for (int k = 0; k < 20; k++) step_once(w);
    for (int k = 0; k < 3 * w->model->vertex_count; k++) {
        double expected = GO[k % 3] * exp(-rate * hk_world_time(w));
        assert_true(fabs(hk_world_velocities(w)[k] - expected) < 1e-9);
    }
    hk_world_free(w);
}

// The damping of velocities alone: a rigid motion stays, the rest decays, momenta stay.
static void test_pbd_passes(void **state)
{
    (void)state;
    hk_damping damping = {.pbd = 30};
    hk_world *w = damped_world(free_body(), 0.01, damping, NULL, 1);
    int64_t size = 4 * (int64_t)w->model->vertex_count;
    launch(w, 1.3, GO, TURN);
    double *rigid = malloc((size_t)size * sizeof *rigid), *extra = calloc((size_t)size, 8);
    memcpy(rigid, w->v, (size_t)size * sizeof *rigid);
    hk_damp_velocities(w->model, &damping, 0.01, w->x, w->v);
    for (int64_t k = 0; k < size; k++) assert_true(fabs(w->v[k] - rigid[k]) < 1e-12);
    // With noise, whose own rigid part stays as well: what stays the second time is all of it.
    uint64_t seed = 5;
    for (int64_t k = 0; k < size; k++) w->v[k] = k % 4 == 3 ? 0 : rigid[k] + noise(&seed);
    hk_damping all = {.pbd = 1e6};
    memcpy(extra, w->v, (size_t)size * sizeof *extra);
    hk_damp_velocities(w->model, &all, 1, w->x, extra);
    double share = exp(-0.3), away = 0;
    memcpy(rigid, w->v, (size_t)size * sizeof *rigid);
    hk_damp_velocities(w->model, &damping, 0.01, w->x, w->v);
    double before[6] = {0}, after[6] = {0};
    for (int64_t k = 0; k < size; k++) {
        away = fmax(away, fabs(rigid[k] - extra[k]));
        assert_true(fabs(w->v[k] - extra[k] - share * (rigid[k] - extra[k])) < 1e-12);
        if (k % 4 == 3) continue;
        int64_t base = k - k % 4;
        int i = (int)(k % 4), a = (i + 1) % 3, b = (i + 2) % 3;
        double m = w->problem->mass[k / 4];
        before[i] += m * rigid[k], after[i] += m * w->v[k];
        before[3 + i] += m * (w->x[base + a] * rigid[base + b] - w->x[base + b] * rigid[base + a]);
        after[3 + i] += m * (w->x[base + a] * w->v[base + b] - w->x[base + b] * w->v[base + a]);
    }
    assert_true(away > 0.5);
    for (int i = 0; i < 6; i++) assert_true(fabs(after[i] - before[i]) < 1e-10);
    free(rigid), free(extra);
    hk_world_free(w);
}

// In steps: a body that vibrates while it flies and turns comes to rest in itself, and flies on.
static void test_pbd_steps(void **state)
{
    (void)state;
    double kinetic[2];
    for (int k = 0; k < 2; k++) {
        hk_damping damping = {.pbd = k ? 50 : 0};
        hk_world *w = damped_world(free_body(), 0.002, damping, NULL, 1);
        launch(w, 1.05, GO, ZERO);
        motion from = motion_of(w);
        for (int n = 0; n < 30; n++) step_once(w);
        motion to = motion_of(w);
        for (int i = 0; i < 3; i++)
            assert_true(fabs(to.momentum[i] - from.momentum[i]) < 1e-7 * fabs(from.momentum[0]));
        hk_energy energy;
        CHECK_OK(hk_world_energy(w, &energy, NULL));
        double mass = 0, flight = 0;
        for (int v = 0; v < w->model->vertex_count; v++) mass += w->model->mass[v];
        for (int i = 0; i < 3; i++) flight += 0.5 * mass * GO[i] * GO[i];
        kinetic[k] = energy.total - flight;
        hk_world_free(w);
    }
    assert_true(kinetic[1] > 0 && kinetic[1] < 0.5 * kinetic[0]);
}

// ---------------------------------------------------------------- methods

static void compare_with(const hk_world *truth, hk_damping damping, const char *material,
                         const variant *v)
{
    hk_world *w = damped_world(mixed_model_of(material), 0.02, damping, v, 1);
    int iterations = 0;
    double most = 0;
    for (int k = 0; k < 5; k++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(w, &r));
        if (r.reason != HK_CONVERGED)
            fail_msg("%s, %s, step %d: %s, %s", v->label, material, k, hk_reason_name(r.reason),
                     r.detail);
        iterations += r.iterations;
    }
    for (int k = 0; k < 3 * w->model->vertex_count; k++)
        most = fmax(most, fabs(hk_world_positions(w)[k] - hk_world_positions(truth)[k]));
    printf("air %g, viscous %-4g %-24s %6d iterations, off by %.1e\n", damping.air_per_vertex,
           damping.viscous, v->label, iterations, most);
    if (!(most < v->error)) fail_msg("%s, %s: positions off by %.1e", v->label, material, most);
    hk_world_free(w);
}

static void compare_methods(const char *material, int count, const variant *variants)
{
    static const hk_damping dampings[] = {
        {0},
        {.air_per_vertex = 5},
        {.air = 2},
        {.viscous = 0.01},
        {.viscous = 0.2},
        {.air_per_vertex = 5, .viscous = 0.05, .ether = 1, .pbd = 2},
    };
    for (int d = 0; d < HK_COUNT_OF(dampings); d++) {
        hk_world *truth = damped_world(mixed_model_of(material), 0.02, dampings[d], NULL, 1);
        for (int k = 0; k < 5; k++) step_once(truth);
        for (int v = 0; v < count; v++) compare_with(truth, dampings[d], material, &variants[v]);
        hk_world_free(truth);
    }
}

static void test_methods_agree(void **state)
{
    (void)state;
    static const variant all[] = {
        {"descent", "descent", {DOUBLE}, 1e-7, 1e-4},
        {"descent, single", "descent", {{0}}, 1e-6, 1e-4},
        {"vbd", "vbd", {DOUBLE}, 1e-7, 1e-4},
        {"vbd, single", "vbd", {{0}}, 1e-6, 1e-4},
        {"gradient_descent", "gradient_descent", {{0}}, 1e-6, 1e-4},
        {"nonlinear_cg", "nonlinear_cg", {{0}}, 1e-7, 1e-5},
        {"nonlinear_cg, single", "nonlinear_cg", {{"precision", 0, "single"}}, 1e-6, 1e-4},
        {"lbfgs", "lbfgs", {{0}}, 1e-7, 1e-5},
        {"lbfgs, single", "lbfgs", {{"precision", 0, "single"}}, 1e-6, 1e-4},
        {"quasi_newton", "quasi_newton", {{0}}, 1e-7, 1e-5},
        {"quasi_newton, rest", "quasi_newton", {{"initial", 0, "rest_hessian"}}, 1e-7, 1e-5},
        {"quasi_newton, updating",
         "quasi_newton",
         {{"initial", 0, "updating_hessian"}},
         1e-7,
         1e-5},
        {"quasi_newton, identity", "quasi_newton", {{"initial", 0, "scaled_identity"}}, 1e-7, 1e-5},
    };
    static const variant projective[] = {
        {"projective", "projective", {DOUBLE}, 1e-7, 1e-4},
        {"projective, chebyshev", "projective", {DOUBLE, {"global", 0, "chebyshev"}}, 1e-6, 1e-3},
        {"projective, gauss_seidel",
         "projective",
         {DOUBLE, {"global", 0, "gauss_seidel"}},
         1e-7,
         1e-4},
        {"projective, cg", "projective", {DOUBLE, {"global", 0, "cg"}}, 1e-7, 1e-4},
    };
    compare_methods("neo_hookean", HK_COUNT_OF(all), all);
    compare_methods("arap", HK_COUNT_OF(projective), projective);
}

// ---------------------------------------------------------------- bits and memory

static const char *const METHODS[] = {"newton",       "descent", "gradient_descent",
                                      "nonlinear_cg", "lbfgs",   "quasi_newton",
                                      "projective",   "split",   "vbd"};

static const char *material_for(const char *method)
{
    if (strcmp(method, "split") == 0) return "fixed_corotated";
    return strcmp(method, "projective") == 0 ? "arap" : "neo_hookean";
}

static hk_world *large_world(const char *method, hk_damping damping, int threads)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of(material_for(method), 1e6, 0.4);
    hk_selector wall = select_box(0, -1, -1, 0, 1, 1);
    body.fixes = &wall;
    body.fix_count = 1;
    hk_model *model = model_of(&body, box_mesh(1, 0.3, 0.3, 20, 7, 7), -9.81);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.threads = threads;
    def.damping = damping;
    def.solver.method = method;
    def.solver.iterations = 10;
    hk_world *world;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

static void test_same_bits_for_any_threads(void **state)
{
    (void)state;
    hk_damping damping = {.air_per_vertex = 0.1, .viscous = 0.02, .ether = 0.5, .pbd = 0.5};
    for (int m = 0; m < HK_COUNT_OF(METHODS); m++) {
        hk_world *worlds[2];
        for (int k = 0; k < 2; k++) {
            worlds[k] = large_world(METHODS[m], damping, k ? 3 : 1);
            hk_step_report r;
            for (int n = 0; n < 2; n++) CHECK_OK(hk_world_step(worlds[k], &r));
        }
        assert_int_equal(worlds[1]->problem->threads, 3);
        size_t bytes = 24 * (size_t)worlds[0]->model->vertex_count;
        if (memcmp(hk_world_positions(worlds[0]), hk_world_positions(worlds[1]), bytes) != 0)
            fail_msg("%s: 3 threads give other bits", METHODS[m]);
        for (int k = 0; k < 2; k++) hk_world_free(worlds[k]);
    }
}

// Damping that is there but 0 changes no bit, nor does it linger in a pose.
static void test_none_is_none(void **state)
{
    (void)state;
    for (int m = 0; m < HK_COUNT_OF(METHODS); m++) {
        variant v = {METHODS[m], METHODS[m], {{0}}, 1e-4, 1};
        hk_world *w[2];
        for (int k = 0; k < 2; k++) {
            w[k] = damped_world(mixed_model_of(material_for(METHODS[m])), 0.02,
                                k ? (hk_damping){0} : BOTH, &v, 1);
            if (!k) step_once(w[k]);
            if (!k) w[k]->damping = (hk_damping){0};
            hk_step_report r;
            CHECK_OK(hk_world_set_time(w[k], 0));
            CHECK_OK(hk_world_set_positions(w[k], w[k]->model->rest));
            CHECK_OK(hk_world_set_velocities(w[k], w[k]->model->velocity));
            w[k]->method->free(w[k]->solver);
            CHECK_OK(w[k]->method->create(w[k]->problem, &w[k]->settings, &w[k]->solver));
            for (int n = 0; n < 2; n++) step_once(w[k]);
            if (strcmp(METHODS[m], "newton") == 0) CHECK_OK(hk_world_pose(w[k], &r));
        }
        size_t bytes = 24 * (size_t)w[0]->model->vertex_count;
        if (memcmp(hk_world_positions(w[0]), hk_world_positions(w[1]), bytes) != 0)
            fail_msg("%s: no damping gives other bits", METHODS[m]);
        for (int k = 0; k < 2; k++) hk_world_free(w[k]);
    }
}

static void test_warm_step_allocates_nothing(void **state)
{
    (void)state;
    hk_damping damping = {.air_per_vertex = 0.1, .viscous = 0.02, .ether = 0.5, .pbd = 0.5};
    for (int m = 0; m < HK_COUNT_OF(METHODS); m++) {
        failing_alloc_install(0);
        variant v = {METHODS[m], METHODS[m], {{0}}, 1e-4, 1};
        hk_world *w = damped_world(mixed_model_of(material_for(METHODS[m])), 0.02, damping, &v, 1);
        step_once(w);
        int allocating = 0;
        for (int k = 0; k < 5; k++) {
            int before = failing_alloc_count();
            step_once(w);
            allocating += failing_alloc_count() != before;
        }
        assert_true(allocating <= 1);  // the first that goes on in double precision
        hk_world_free(w);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
    }
}

// A vertex of no element, and a start inside out where the material has no stiffness, do no harm.
static void test_odd_states(void **state)
{
    (void)state;
    int32_t tets[8] = {0, 1, 2, 3, 1, 2, 3, 5};
    double x[18] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 7, 7, 7, 1, 1, 1};
    hk_mesh *mesh;
    CHECK_OK(hk_mesh_from_arrays(6, x, 2, tets, 0, NULL, &mesh));
    hk_body_def body = hk_default_body_def();
    body.material = material_of("stable_neo_hookean", 1e5, 0.4);
    hk_world *w = damped_world(model_of(&body, mesh, 0), 0.01, BOTH, NULL, 1);
    launch(w, -0.5, GO, TURN);
    for (int k = 0; k < 5; k++) step_once(w);
    for (int k = 0; k < 18; k++) assert_true(isfinite(hk_world_velocities(w)[k]));
    hk_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_hessian),
        cmocka_unit_test(test_energies_are_as_defined),
        cmocka_unit_test(test_single_precision),
        cmocka_unit_test(test_air_takes_momentum),
        cmocka_unit_test(test_air_means_the_same_on_any_mesh),
        cmocka_unit_test(test_viscosity_keeps_rigid_motion),
        cmocka_unit_test(test_viscosity_of_a_bar),
        cmocka_unit_test(test_ether),
        cmocka_unit_test(test_pbd_passes),
        cmocka_unit_test(test_pbd_steps),
        cmocka_unit_test(test_methods_agree),
        cmocka_unit_test(test_same_bits_for_any_threads),
        cmocka_unit_test(test_none_is_none),
        cmocka_unit_test(test_warm_step_allocates_nothing),
        cmocka_unit_test(test_odd_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
