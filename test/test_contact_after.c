// The documents' ways with contact: soft constraints by signed distances, hashing of vertices into
// tets, and corrections after the step.
#include <string.h>

#include "bodies.h"
#include "contact/after.h"
#include "contact/field.h"
#include "failing_alloc.h"

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g and %.17g: tolerance %g", a, b, tolerance);
}

#define OK(call)                                                    \
    do {                                                            \
        if ((call) != HK_OK) fail_msg("%s: %s", #call, hk_error()); \
    } while (0)

static uint64_t g_seed = 5;
static double random_number(void)  // −1 … 1
{
    g_seed = g_seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(g_seed >> 11) / (double)(1LL << 52) - 1;
}

// ---------------------------------------------------------------- models

typedef struct setting {
    int cubes;
    double places[2][3];
    double speed[3];  // m/s, of the first; the second has twice as much
    bool floor, block;
    hk_contact_def contact;
    const char *method, *integrator;
    double step;
} setting;

static setting usual(void)
{
    setting s = {.cubes = 1, .contact = hk_default_contact_def(), .step = 0.005};
    s.contact.distance = 2e-3;
    s.method = "quasi_newton";
    s.integrator = "backward_euler";
    return s;
}

// Cubes of 0.2 m, a floor, and a block that stands across.
static hk_model *make_model(const setting *s)
{
    hk_mesh *mesh = box_mesh(0.2, 0.2, 0.2, 3, 3, 3);
    hk_body_def bodies[2];
    for (int k = 0; k < s->cubes; k++) {
        bodies[k] = hk_default_body_def();
        bodies[k].mesh = mesh;
        bodies[k].material.model = "corotated";
        bodies[k].material.young = 1e5;
        bodies[k].material.poisson = 0.3;
        for (int i = 0; i < 3; i++) bodies[k].velocity[i] = (1 + k) * s->speed[i];
        memcpy(bodies[k].transform.translate, s->places[k], 3 * sizeof(double));
    }
    hk_obstacle_def obstacles[2];
    int count = 0;
    if (s->floor) obstacles[count++] = hk_default_obstacle_def();
    if (s->block) {
        obstacles[count] = hk_default_obstacle_def();
        obstacles[count].name = "block";
        obstacles[count].shape = HK_OBSTACLE_BOX;
        for (int i = 0; i < 3; i++) {
            obstacles[count].min[i] = i == 1 ? -0.3 : -0.5;
            obstacles[count].max[i] = i == 1 ? 0 : 0.5;
        }
        obstacles[count].transform.axis[1] = 0;
        obstacles[count].transform.axis[2] = 1;
        obstacles[count++].transform.degrees = 12;
    }
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = s->cubes;
    def.contact = &s->contact;
    def.obstacles = obstacles;
    def.obstacle_count = count;
    hk_model *model;
    OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

static int g_fail_next, g_failing;  // the call for memory that fails; 0: none

static hk_status try_world(const setting *s, hk_world **world)
{
    hk_model *model = make_model(s);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = s->step;
    def.threads = 1;
    def.integrator = s->integrator;
    def.solver.method = s->method;
    if (g_fail_next > 0) {
        failing_alloc_next(g_fail_next);
        g_failing = failing_alloc_count() + g_fail_next;
    }
    hk_status status = hk_world_create(&def, world);
    hk_model_free(model);
    return status;
}

static double *positions_of(const hk_model *m, double noise)
{
    double *x = HK_ZEROS(double, 4 * (size_t)m->vertex_count);
    for (int k = 0; k < m->vertex_count; k++)
        for (int i = 0; i < 3; i++)
            x[4 * k + i] = m->rest[3 * m->order[k] + i] + noise * random_number();
    return x;
}

// ---------------------------------------------------------------- fields

typedef struct blocks {
    int size;
    double *h;
} blocks;

static void add_block(void *context, int32_t a, int32_t b, const double block[9])
{
    const blocks *m = context;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            m->h[(4 * a + i) * m->size + 4 * b + j] += block[3 * i + j];
            if (a != b) m->h[(4 * b + j) * m->size + 4 * a + i] += block[3 * i + j];
        }
}

// A cube that is sunk into a turned block: energy, gradient and Hessian are one function's, with
// friction and without, and push it out.
static void check_field(double friction)
{
    setting s = usual();
    s.block = true;
    s.contact.law = "penalty";
    s.contact.friction = friction;
    s.places[0][1] = -0.07;
    s.places[0][0] = -0.05;
    hk_model *m = make_model(&s);
    hk_contacts *c;
    OK(hk_contacts_create(m, 1, &c));
    int size = 4 * m->vertex_count;
    double *x = positions_of(m, 1e-3), *g = HK_ZEROS(double, size), energy, step = 1e-7;
    double *sides[2] = {HK_ZEROS(double, size), HK_ZEROS(double, size)}, push = 0;
    blocks h = {size, HK_ZEROS(double, (size_t)size *(size_t)size)};
    OK(hk_contacts_begin_friction(c, x, 0.01, true));
    assert_true((c->slide_count > 0) == (friction > 0));
    for (int k = 0; k < size; k++) x[k] += k % 4 < 3 ? 2e-5 * random_number() : 0;
    hk_contacts_add_gradient(c, x, g, &energy);
    hk_contacts_visit_blocks(c, x, 1, 1, add_block, &h);
    assert_near(hk_contacts_energy(c, x), energy, 1e-12 * energy);
    assert_true(energy > 0);
    double largest = 0, steepest = 0;
    for (int k = 0; k < size; k++) largest = fmax(largest, fabs(g[k]));
    for (int k = 0; k < size * size; k++) steepest = fmax(steepest, fabs(h.h[k]));
    for (int k = 1; k < size; k += 4) push -= g[k];
    assert_true(push > 0);
    for (int n = 0; n < 40; n++) {
        int k = (int)((random_number() + 1) / 2 * m->vertex_count) % m->vertex_count * 4 + n % 3;
        double energies[2], was = x[k];
        for (int e = 0; e < 2; e++) {
            x[k] = was + (e ? step : -step);
            memset(sides[e], 0, sizeof(double) * (size_t)size);
            hk_contacts_add_gradient(c, x, sides[e], &energies[e]);
            x[k] = was;
        }
        assert_near((energies[1] - energies[0]) / (2 * step), g[k], 1e-4 * largest);
        for (int r = 0; r < size; r++)
            assert_near((sides[1][r] - sides[0][r]) / (2 * step), h.h[r * size + k],
                        2e-3 * steepest);
    }
    for (int e = 0; e < 2; e++) hk_free(sides[e]);
    hk_free(h.h);
    hk_free(x);
    hk_free(g);
    hk_contacts_free(c);
    hk_model_free(m);
}

static void test_fields(void **state)
{
    (void)state;
    check_field(0);
    check_field(0.4);
}

// Distances from round things in closed form have the derivatives that they say.
static void test_distances(void **state)
{
    (void)state;
    setting s = usual();
    hk_mesh *mesh = box_mesh(0.1, 0.1, 0.1, 1, 1, 1);
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    hk_obstacle_def obstacles[3];
    for (int k = 0; k < 3; k++) obstacles[k] = hk_default_obstacle_def();
    obstacles[0].normal[0] = 1;
    obstacles[1].shape = HK_OBSTACLE_SPHERE;
    obstacles[1].radius = 0.3;
    obstacles[2].shape = HK_OBSTACLE_CAPSULE;
    obstacles[2].radius = 0.2;
    obstacles[2].to[2] = 0.5;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.contact = &s.contact;
    def.obstacles = obstacles;
    def.obstacle_count = 3;
    hk_model *m;
    hk_contacts *c;
    OK(hk_model_create(&def, &m));
    OK(hk_contacts_create(m, 1, &c));
    OK(hk_contacts_make_fields(c));
    for (int n = 0; n < 300; n++) {
        double x[3], g[3], h[9], step = 1e-6, d;
        for (int i = 0; i < 3; i++) x[i] = random_number();
        if (n % 3 == 2 && (fabs(x[2]) < 1e-3 || fabs(x[2] - 0.5) < 1e-3)) continue;  // an end
        d = hk_contacts_distance(c, n % 3, x, g, h);
        for (int i = 0; i < 3; i++) {
            double y[3] = {x[0], x[1], x[2]}, values[2], slopes[2][3];
            for (int e = 0; e < 2; e++) {
                y[i] = x[i] + (e ? step : -step);
                values[e] = hk_contacts_distance(c, n % 3, y, slopes[e], NULL);
            }
            assert_near((values[1] - values[0]) / (2 * step), g[i], 1e-6);
            for (int j = 0; j < 3; j++)
                assert_near((slopes[1][j] - slopes[0][j]) / (2 * step), h[3 * j + i],
                            1e-5 / fmax(0.01, fabs(d + 0.2)));
        }
    }
    hk_contacts_free(c);
    hk_model_free(m);
    hk_mesh_free(mesh);
}

// ---------------------------------------------------------------- hashing

static double volume_of(const double *a, const double *b, const double *c, const double *d)
{
    double e[3], f[3], g[3], n[3];
    closest_minus(b, a, e);
    closest_minus(c, a, f);
    closest_minus(d, a, g);
    closest_cross(e, f, n);
    return closest_dot(n, g);
}

// The same vertices as by looking at all of them.
static void test_hash(void **state)
{
    (void)state;
    setting s = usual();
    s.cubes = 2;
    s.places[1][0] = 0.08;
    s.places[1][1] = 0.13;
    s.places[1][2] = -0.05;
    hk_model *m = make_model(&s);
    hk_contacts *c;
    hk_vertex_hash hash;
    OK(hk_contacts_create(m, 1, &c));
    OK(hk_vertex_hash_create(c, &hash));
    for (int n = 0; n < 5; n++) {
        double *x = positions_of(m, 0.02);
        hk_contacts_gather(c, x);
        OK(hk_vertex_hash_find(c, x, &hash));
        size_t count = 0;
        for (int p = 0; p < c->body_points; p++) {
            bool in = false;
            for (int t = 0; t < m->tet_count && !in; t++) {
                const int32_t *v = m->tets + 4 * t;
                bool own = (v[0] >= m->bodies[1].vertex_start) == (c->side[p] == 1);
                const double *corner[4];
                for (int i = 0; i < 4; i++) corner[i] = x + 4 * m->place[v[i]];
                double all = volume_of(corner[0], corner[1], corner[2], corner[3]);
                in = !own;
                for (int i = 0; i < 4 && in; i++) {
                    const double *w[4] = {corner[0], corner[1], corner[2], corner[3]};
                    w[i] = c->x + 3 * p;
                    in = volume_of(w[0], w[1], w[2], w[3]) / all >= 0;
                }
            }
            count += in;
        }
        assert_true(count > 2);
        assert_int_equal(hash.count, count);
        for (size_t k = 0; k < hash.count; k++) {
            const hk_inside *in = &hash.found[k];
            for (int i = 0; i < 3; i++) {
                double sum = 0;
                for (int j = 0; j < 4; j++)
                    sum += in->weight[j] * x[4 * m->place[m->tets[4 * in->tet + j]] + i];
                assert_near(sum, c->x[3 * in->point + i], 1e-12);
            }
        }
        hk_free(x);
    }
    hk_vertex_hash_release(&hash);
    hk_contacts_free(c);
    hk_model_free(m);
}

// ---------------------------------------------------------------- corrections

// Takes steps; the force that is told is what changes the momentum.
static void march(hk_world *world, int steps, double h)
{
    int n = hk_model_vertex_count(hk_world_model(world));
    const double *mass = hk_model_masses(hk_world_model(world));
    double *before = malloc(3 * sizeof(double) * (size_t)n);
    for (int k = 0; k < steps; k++) {
        double rate[3] = {0}, carried[3] = {0}, weight = 0;
        memcpy(before, hk_world_velocities(world), 3 * sizeof(double) * (size_t)n);
        hk_step_report report;
        OK(hk_world_step(world, &report));
        if (hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED)
            fail_msg("step %d: %s", k, report.detail);
        for (int v = 0; v < n; v++) {
            weight += 9.81 * mass[v];
            for (int i = 0; i < 3; i++)
                rate[i] +=
                    mass[v] * ((hk_world_velocities(world)[3 * v + i] - before[3 * v + i]) / h +
                               (i == 1) * 9.81);
        }
        for (int o = 0; o < hk_model_obstacle_count(hk_world_model(world)); o++) {
            hk_obstacle_load load;
            OK(hk_world_obstacle_load(world, o, &load));
            for (int i = 0; i < 3; i++) carried[i] += load.force[i];
        }
        for (int i = 0; i < 3; i++) assert_near(rate[i], -carried[i], 2e-3 * weight);
    }
    free(before);
}

// A cube falls on a floor and stays `distance` above it, by every kind of method; friction stops
// it.
static void test_floor(void **state)
{
    (void)state;
    static const char *const methods[] = {"quasi_newton", "descent", "xpbd"};
    for (int k = 0; k < 3; k++) {
        setting s = usual();
        s.floor = true;
        s.places[0][1] = 0.02;
        s.speed[0] = 0.5;
        s.contact.when = HK_CONTACT_AFTER;
        s.contact.friction = 0.8;
        s.contact.certify = 1;
        s.method = methods[k];
        hk_world *world = NULL;
        OK(try_world(&s, &world));
        if (k == 0)
            march(world, 80, s.step);
        else
            for (int n = 0; n < 80; n++) OK(hk_world_step(world, NULL));
        hk_contact_report report;
        OK(hk_world_contact(world, &report));
        assert_int_equal(report.certified, 1);
        assert_true(report.pairs > 0);
        double low = INFINITY, way = 0;
        int count = hk_model_vertex_count(hk_world_model(world));
        for (int v = 0; v < count; v++) {
            low = fmin(low, hk_world_positions(world)[3 * v + 1]);
            way += (hk_world_positions(world)[3 * v] -
                    hk_model_rest_positions(hk_world_model(world))[3 * v]) /
                   count;
        }
        assert_near(low, 2e-3, 1e-5);
        assert_true(way > 0.01 && way < 0.1);  // without friction it would be 0.2 m
        hk_world_free(world);
    }
}

// Two cubes that fall on each other and on a block do not pass through.
static void test_bodies(void **state)
{
    (void)state;
    setting s = usual();
    s.cubes = 2;
    s.block = true;
    s.places[0][0] = s.places[1][0] = -0.1;
    s.places[0][1] = 0.05;
    s.places[1][1] = 0.27;
    s.places[1][0] = -0.07;
    s.places[1][2] = 0.02;
    s.contact.when = HK_CONTACT_AFTER;
    s.contact.friction = 0.8;
    s.step = 0.0025;
    hk_world *world = NULL;
    OK(try_world(&s, &world));
    march(world, 80, s.step);
    double middle[2] = {0};
    int n = hk_model_vertex_count(hk_world_model(world)) / 2;
    for (int v = 0; v < 2 * n; v++) middle[v / n] += hk_world_positions(world)[3 * v + 1] / n;
    assert_true(middle[0] > 0.08 && middle[1] - middle[0] > 0.17);
    hk_contact_report report;
    OK(hk_world_contact(world, &report));
    assert_true(report.pairs > 0 && report.clamped > 0);
    hk_step_report step;
    assert_int_equal(hk_world_pose(world, &step), HK_UNSUPPORTED);
    hk_world_free(world);
}

static void test_refusals(void **state)
{
    (void)state;
    hk_world *world = NULL;
    setting s = usual();
    s.floor = true;
    s.contact.when = HK_CONTACT_AFTER;
    s.places[0][1] = -0.05;
    assert_int_equal(try_world(&s, &world), HK_BAD_INPUT);  // a start that overlaps
    s.places[0][1] = 0.05;
    s.integrator = "implicit_midpoint";
    assert_int_equal(try_world(&s, &world), HK_UNSUPPORTED);
    s.integrator = "bdf2";
    OK(try_world(&s, &world));
    hk_world_free(world);
    s.contact.overlap = HK_OVERLAP_RECOVER;
    assert_int_equal(try_world(&s, &world), HK_UNSUPPORTED);
}

// ---------------------------------------------------------------- memory

// A world, two steps and reports.
static hk_status work(const setting *s)
{
    hk_world *world = NULL;
    hk_contact_report report;
    hk_status status = try_world(s, &world);
    for (int k = 0; k < 2 && status == HK_OK; k++) status = hk_world_step(world, NULL);
    if (status == HK_OK) status = hk_world_contact(world, &report);
    hk_world_free(world);
    return status;
}

// Wherever memory fails, nothing leaks and nothing breaks.
static void test_memory(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        setting s = usual();
        s.cubes = 2;
        s.block = kind != 1;
        s.places[0][1] = 0.08;
        s.places[1][1] = kind == 1 ? 0.2 : 0.2825;
        s.places[1][0] = 0.05;
        s.speed[1] = -1;
        if (kind == 0) s.contact.when = HK_CONTACT_AFTER;
        if (kind == 1) s.contact.overlap = HK_OVERLAP_RECOVER;
        if (kind == 2) s.contact.law = "penalty";
        if (kind == 1) s.method = "newton";
        s.contact.certify = 1;
        bool reached = true;
        for (int n = 0; reached; n += 1 + n / (SANITIZED ? 1 : 3)) {
            failing_alloc_install(0);
            // The model is there; what comes then fails.
            g_fail_next = n;
            hk_status status = work(&s);
            reached = n == 0 || failing_alloc_count() >= g_failing;
            if (failing_alloc_live() != 0) fail_msg("kind %d, call %d: a leak", kind, n);
            failing_alloc_remove();
            if (n == 0) assert_int_equal(status, HK_OK);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields), cmocka_unit_test(test_distances),
        cmocka_unit_test(test_hash),   cmocka_unit_test(test_floor),
        cmocka_unit_test(test_bodies), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
