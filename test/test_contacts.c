// Contacts of a model: what is found, their energy and its derivatives, friction, and that nothing
// passes through anything.
#include "contact/certificate.h"
#include "contact/contacts.h"

#include "bodies.h"

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g and %.17g: tolerance %g", a, b, tolerance);
}

static uint64_t g_seed = 1;
static double random_number(void)  // −1 … 1
{
    g_seed = g_seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(g_seed >> 11) / (double)(1LL << 52) - 1;
}

// ---------------------------------------------------------------- bodies

// Two boxes above each other, a sheet over them, a floor, a ball and a plate, all of them near.
static hk_model *make_pile(double gap, const char *law, double friction)
{
    hk_mesh *boxes[2], *sheet;
    hk_mesh_def shape = hk_default_mesh_def(HK_SHAPE_BOX);
    for (int i = 0; i < 3; i++) shape.size[i] = i == 1 ? 0.2 : 0.4, shape.cells[i] = 2;
    for (int k = 0; k < 2; k++) assert_int_equal(hk_mesh_make(&shape, &boxes[k]), HK_OK);
    hk_mesh_def cloth = hk_default_mesh_def(HK_SHAPE_SHEET);
    cloth.size[0] = cloth.size[1] = 0.5;
    cloth.cells[0] = cloth.cells[1] = 3;
    assert_int_equal(hk_mesh_make(&cloth, &sheet), HK_OK);
    hk_body_def bodies[3] = {hk_default_body_def(), hk_default_body_def(), hk_default_body_def()};
    bodies[0].mesh = boxes[0];
    bodies[0].transform.translate[1] = gap;
    bodies[1].mesh = boxes[1];
    bodies[1].transform.translate[0] = 0.05;
    bodies[1].transform.translate[1] = 0.2 + 2 * gap;
    bodies[1].transform.axis[1] = 1;
    bodies[1].transform.degrees = 10;
    bodies[2].mesh = sheet;
    bodies[2].material.model = "mass_spring";
    bodies[2].material.density = 1;
    bodies[2].material.parameters[0] = (hk_parameter){"stretch", 100};
    bodies[2].material.parameter_count = 1;
    bodies[2].transform.translate[1] = 0.4 + 3 * gap;
    hk_obstacle_def obstacles[3] = {hk_default_obstacle_def(), hk_default_obstacle_def(),
                                    hk_default_obstacle_def()};
    obstacles[0].name = "floor";
    obstacles[1].name = "ball";
    obstacles[1].shape = HK_OBSTACLE_SPHERE;
    obstacles[1].center[0] = -0.1 - gap;
    obstacles[1].center[1] = 0.1;
    obstacles[1].center[2] = 0.17;
    obstacles[1].radius = 0.1;
    obstacles[2].name = "press";
    obstacles[2].shape = HK_OBSTACLE_BOX;
    for (int i = 0; i < 3; i++) {
        obstacles[2].min[i] = i == 1 ? 0.4 + 4 * gap : -1;
        obstacles[2].max[i] = i == 1 ? 0.5 : 1;
    }
    hk_contact_def contact = hk_default_contact_def();
    contact.distance = 4e-3;
    contact.law = law;
    contact.friction = friction;
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = 3;
    def.contact = &contact;
    def.obstacles = obstacles;
    def.obstacle_count = 3;
    hk_model *model = NULL;
    if (hk_model_create(&def, &model) != HK_OK) fail_msg("%s", hk_error());
    for (int k = 0; k < 2; k++) hk_mesh_free(boxes[k]);
    hk_mesh_free(sheet);
    return model;
}

// Rest positions in Morton order, with some noise.
static double *positions_of(const hk_model *m, double noise)
{
    double *x = HK_ZEROS(double, 4 * (size_t)m->vertex_count);
    for (int k = 0; k < m->vertex_count; k++)
        for (int i = 0; i < 3; i++)
            x[4 * k + i] = m->rest[3 * m->order[k] + i] + noise * random_number();
    return x;
}

// ---------------------------------------------------------------- detection

static size_t count_near(const hk_contacts *c, double reach)
{
    size_t count = 0;
    for (size_t k = 0; k < c->count; k++) {
        double x[4][3];
        hk_contact_corners(c->x, c->list[k].point, x);
        hk_pair_state at = pair_state(&c->list[k].pair, (const double(*)[3])x);
        count += at.distance - c->list[k].pair.thickness <= c->list[k].pair.width + 2 * reach;
    }
    return count;
}

// All pairs that touch are found from any reach, and the energy is one function of x.
static void test_detection(void **state)
{
    (void)state;
    hk_model *m = make_pile(2e-3, "two_stage", 0);
    hk_contacts *c;
    assert_int_equal(hk_contacts_create(m, 1, &c), HK_OK);
    double *x = positions_of(m, 2e-4), energy = 0;
    size_t touching = 0;
    for (int k = 0; k < 4; k++) {
        double reach = k * 1e-2;
        hk_contacts_gather(c, x);
        assert_int_equal(hk_contacts_detect(c, reach), HK_OK);
        assert_int_equal(count_near(c, reach), c->count);
        if (k == 0) energy = hk_contacts_energy(c, x), touching = count_near(c, 0);
        assert_near(hk_contacts_energy(c, x), energy, 1e-12 * energy);
        assert_int_equal(count_near(c, 0), touching);
    }
    assert_true(energy > 0 && touching > 50);
    hk_free(x);
    hk_contacts_free(c);
    hk_model_free(m);
}

// At rest nothing pushes: a body does not touch itself.
static void test_rest(void **state)
{
    (void)state;
    hk_model *m = make_pile(1e-2, "log", 0);
    hk_contacts *c;
    assert_int_equal(hk_contacts_create(m, 2, &c), HK_OK);
    double *x = positions_of(m, 0);
    assert_true(hk_contacts_energy(c, x) == 0);
    assert_true(c->detections == 1);
    hk_free(x);
    hk_contacts_free(c);
    hk_model_free(m);
}

// ---------------------------------------------------------------- derivatives

typedef struct matrix {
    int size;
    double *h;
} matrix;

static void add_block(void *context, int32_t a, int32_t b, const double block[9])
{
    const matrix *m = context;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            m->h[(4 * a + i) * m->size + 4 * b + j] += block[3 * i + j];
            if (a != b) m->h[(4 * b + j) * m->size + 4 * a + i] += block[3 * i + j];
        }
}

static void check_derivatives(const char *law, double friction)
{
    hk_model *m = make_pile(2e-3, law, friction);
    hk_contacts *c;
    assert_int_equal(hk_contacts_create(m, 1, &c), HK_OK);
    int size = 4 * m->vertex_count;
    double *x = positions_of(m, 2e-4), *g = HK_ZEROS(double, size), energy;
    double *sides[2] = {HK_ZEROS(double, size), HK_ZEROS(double, size)};
    matrix h = {size, HK_ZEROS(double, (size_t)size *(size_t)size)};
    assert_int_equal(hk_contacts_begin_friction(c, x, 0.01, true), HK_OK);
    for (int k = 0; k < m->vertex_count; k++)
        for (int i = 0; i < 3; i++) x[4 * k + i] += 3e-5 * random_number();
    hk_contacts_add_gradient(c, x, g, &energy);
    hk_contacts_visit_blocks(c, x, 1, 1, add_block, &h);
    assert_near(energy, hk_contacts_energy(c, x), 1e-12 * energy);
    double largest = 0, steepest = 0, step = 1e-9;
    for (int k = 0; k < size; k++) largest = fmax(largest, fabs(g[k]));
    for (int k = 0; k < size * size; k++) steepest = fmax(steepest, fabs(h.h[k]));
    assert_true(largest > 0);
    int wrong = 0;
    for (int n = 0; n < 60; n++) {
        int k = (int)((random_number() + 1) / 2 * m->vertex_count) % m->vertex_count * 4 + n % 3;
        double energies[2];
        for (int s = 0; s < 2; s++) {
            double was = x[k];
            x[k] += s ? step : -step;
            memset(sides[s], 0, sizeof(double) * (size_t)size);
            hk_contacts_add_gradient(c, x, sides[s], &energies[s]);
            x[k] = was;
        }
        assert_near((energies[1] - energies[0]) / (2 * step), g[k], 1e-4 * largest);
        // A second derivative may jump just here.
        for (int r = 0; r < size; r++)
            wrong += fabs((sides[1][r] - sides[0][r]) / (2 * step) - h.h[r * size + k]) >
                     1e-3 * steepest;
    }
    assert_true(wrong <= 4);
    for (int i = 0; i < 2; i++) hk_free(sides[i]);
    hk_free(h.h);
    hk_free(x);
    hk_free(g);
    hk_contacts_free(c);
    hk_model_free(m);
}

static void test_derivatives(void **state)
{
    (void)state;
    check_derivatives("two_stage", 0);
    check_derivatives("two_stage", 0.5);
    check_derivatives("log", 0.3);
    check_derivatives("penalty", 0);
}

// ---------------------------------------------------------------- the guard

static void assert_free(const hk_contacts *c, const double *x)
{
    const hk_model *m = c->model;
    for (size_t k = 0; k < c->count; k++) {
        double corners[4][3];
        hk_contact_corners(c->x, c->list[k].point, corners);
        hk_pair_state at = pair_state(&c->list[k].pair, (const double(*)[3])corners);
        assert_true(at.distance > c->list[k].pair.thickness);
    }
    hk_mesh *mesh = NULL;
    hk_world_def def = hk_default_world_def();
    (void)def, (void)mesh, (void)m, (void)x;
}

// Wild steps in all directions are shortened, and lead from one good state to the next.
static void test_guard(void **state)
{
    (void)state;
    hk_model *m = make_pile(2e-3, "two_stage", 0);
    hk_contacts *c;
    assert_int_equal(hk_contacts_create(m, 2, &c), HK_OK);
    double *x = positions_of(m, 0), *step = positions_of(m, 0);
    int shortened = 0;
    for (int n = 0; n < 200; n++) {
        double size = pow(10, -4 + 3.5 * (n % 10) / 9.0);
        for (int k = 0; k < 4 * m->vertex_count; k++)
            step[k] = k % 4 < 3 ? size * random_number() : 0;
        double length = hk_contacts_limit(c, x, step, 1);
        assert_true(length >= 0 && length <= 1);
        shortened += length < 1;
        for (int k = 0; k < 4 * m->vertex_count; k++) x[k] += length * step[k];
        assert_true(isfinite(hk_contacts_energy(c, x)));
        assert_free(c, x);
    }
    assert_true(shortened > 100);
    hk_free(x);
    hk_free(step);
    hk_contacts_free(c);
    hk_model_free(m);
}

// The same bits for any number of threads.
static void test_threads(void **state)
{
    (void)state;
    hk_model *m = make_pile(2e-3, "two_stage", 0.5);
    static const int threads[] = {1, 2, 7};
    double *x = positions_of(m, 2e-4), *g[3], energy[3], limit[3];
    size_t bytes = 4 * sizeof(double) * (size_t)m->vertex_count;
    for (int k = 0; k < 3; k++) {
        hk_contacts *c;
        assert_int_equal(hk_contacts_create(m, threads[k], &c), HK_OK);
        g[k] = HK_ZEROS(double, 4 * (size_t)m->vertex_count);
        assert_int_equal(hk_contacts_begin_friction(c, x, 0.01, true), HK_OK);
        hk_contacts_add_gradient(c, x, g[k], &energy[k]);
        limit[k] = hk_contacts_limit(c, x, g[k], 1e-3);
        assert_true(energy[k] == energy[0] && limit[k] == limit[0]);
        assert_memory_equal(g[k], g[0], bytes);
        hk_contacts_free(c);
    }
    for (int k = 0; k < 3; k++) hk_free(g[k]);
    hk_free(x);
    hk_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_detection),   cmocka_unit_test(test_rest),
        cmocka_unit_test(test_derivatives), cmocka_unit_test(test_guard),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
