// The guard of split: whatever way bodies are sent, together and each by itself, on none of it do
// they pass through each other, obstacles or themselves.
#include "contact/contacts.h"
#include "contact/sweep.h"

#include "bodies.h"

static uint64_t g_seed = 1;
static double random_number(void)  // −1 … 1
{
    g_seed = g_seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(g_seed >> 11) / (double)(1LL << 52) - 1;
}

// Boxes beside and above each other over a floor, with a capsule and a plate among them.
enum { BOXES = 6 };
static hk_model *make_boxes(void)
{
    hk_mesh *box;
    hk_mesh_def shape = hk_default_mesh_def(HK_SHAPE_BOX);
    for (int i = 0; i < 3; i++) shape.size[i] = i == 1 ? 0.1 : 0.2, shape.cells[i] = i == 1 ? 2 : 4;
    assert_int_equal(hk_mesh_make(&shape, &box), HK_OK);
    hk_body_def bodies[BOXES];
    for (int k = 0; k < BOXES; k++) {
        bodies[k] = hk_default_body_def();
        bodies[k].mesh = box;
        bodies[k].transform.translate[0] = 0.23 * (k % 2);
        bodies[k].transform.translate[1] = 0.02 + 0.13 * (k / 2);
    }
    hk_obstacle_def obstacles[3] = {hk_default_obstacle_def(), hk_default_obstacle_def(),
                                    hk_default_obstacle_def()};
    obstacles[0].name = "floor";
    obstacles[1].name = "pole";
    obstacles[1].shape = HK_OBSTACLE_CAPSULE;
    for (int i = 0; i < 3; i++) {
        obstacles[1].from[i] = i == 0 ? 0.6 : i == 1 ? 0.2 : -0.5;
        obstacles[1].to[i] = i == 0 ? 0.6 : i == 1 ? 0.2 : 0.5;
    }
    obstacles[1].radius = 0.05;
    obstacles[2].name = "lid";
    obstacles[2].shape = HK_OBSTACLE_BOX;
    for (int i = 0; i < 3; i++) {
        obstacles[2].min[i] = i == 1 ? 0.5 : -1;
        obstacles[2].max[i] = i == 1 ? 0.6 : 1;
    }
    hk_contact_def contact = hk_default_contact_def();
    contact.distance = 2e-3;
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = BOXES;
    def.contact = &contact;
    def.obstacles = obstacles;
    def.obstacle_count = 3;
    hk_model *model = NULL;
    if (hk_model_create(&def, &model) != HK_OK) fail_msg("%s", hk_error());
    hk_mesh_free(box);
    return model;
}

// Where vertices are sent: with their body, turned and stretched, and by themselves.
static void choose_target(const hk_model *m, const double *x, double far, double alone, double *to)
{
    for (int b = 0; b < m->body_count; b++) {
        double by[3], map[9];
        for (int i = 0; i < 3; i++) by[i] = far * random_number();
        for (int i = 0; i < 9; i++) map[i] = 3 * far * random_number();
        const hk_body *body = &m->bodies[b];
        const double *middle = x + 4 * (size_t)m->place[body->vertex_start];
        for (int k = body->vertex_start; k < body->vertex_start + body->vertex_count; k++) {
            size_t at = 4 * (size_t)m->place[k];
            for (size_t i = 0; i < 3; i++) {
                to[at + i] = x[at + i] + by[i] + alone * random_number();
                for (size_t j = 0; j < 3; j++)
                    to[at + i] += map[3 * i + j] * (x[at + j] - middle[j]);
            }
        }
    }
}

// Straight ways from `from` to x: the states on it are free of intersections.
static void assert_free(hk_contacts *c, const double *from, const double *x, int round)
{
    size_t size = 4 * (size_t)c->model->vertex_count;
    double *at = HK_ZEROS(double, size);
    for (int part = 1; part <= 2; part++) {
        for (size_t k = 0; k < size; k++) at[k] = from[k] + 0.5 * part * (x[k] - from[k]);
        if (part == 2) memcpy(at, x, size * sizeof *at);
        if (hk_contacts_check(c, at) != HK_OK)
            fail_msg("round %d, part %d: %s", round, part, hk_error());
    }
    hk_free(at);
}

static void test_walks(void **state)
{
    (void)state;
    enum { ROUNDS = SANITIZED ? 12 : 32 };
    static const double fars[] = {1e-4, 3e-3, 0.03, 0.15};
    static const double others[] = {0, 1e-4, 0.01, 0.05};
    hk_model *model = make_boxes();
    size_t size = 4 * (size_t)model->vertex_count;
    double *x = HK_ZEROS(double, size), *first = HK_ZEROS(double, size);
    double *from = HK_ZEROS(double, size), *to = HK_ZEROS(double, size);
    double *ends[2] = {HK_ZEROS(double, size), HK_ZEROS(double, size)};
    for (int pass = 0; pass < 2; pass++) {  // with one thread and with three: the same bits
        hk_contacts *contacts;
        hk_sweep *sweep;
        g_seed = 1;
        assert_int_equal(hk_contacts_create(model, pass ? 3 : 1, &contacts), HK_OK);
        assert_int_equal(hk_sweep_create(contacts, &sweep), HK_OK);
        for (int k = 0; k < model->vertex_count; k++)
            memcpy(x + 4 * (size_t)k, model->rest + 3 * (size_t)model->order[k], 3 * sizeof *x);
        double moved = 0;
        for (int n = 0; n < ROUNDS; n++) {
            memcpy(from, x, size * sizeof *x);
            // The last target is another one than that which pairs were found for.
            choose_target(model, x, fars[n % 4], others[n / 4 % 4], first);
            choose_target(model, first, 0.2 * fars[n % 4], 0.2 * others[n / 4 % 4], to);
            hk_sweep_take(sweep, x);
            assert_int_equal(hk_sweep_find(sweep, first), HK_OK);
            assert_int_equal(hk_sweep_walk(sweep, x, to), HK_OK);
            for (size_t k = 0; k < size; k++) moved += fabs(x[k] - from[k]);
            if (pass == 0) assert_free(contacts, from, x, n);
        }
        assert_true(moved > 1);
        memcpy(ends[pass], x, size * sizeof *x);
        hk_sweep_free(sweep);
        hk_contacts_free(contacts);
    }
    assert_memory_equal(ends[0], ends[1], size * sizeof(double));
    hk_free(ends[0]);
    hk_free(ends[1]);
    hk_free(x);
    hk_free(first);
    hk_free(from);
    hk_free(to);
    hk_model_free(model);
}

// Bodies that are sent into each other again and again: what is between them does not shrink from
// walk to walk down to where rounding decides, and what is not in the way of others goes on.
static void test_presses(void **state)
{
    (void)state;
    enum { WALKS = 40 };
    hk_model *model = make_boxes();
    hk_contacts *contacts;
    hk_sweep *sweep;
    size_t size = 4 * (size_t)model->vertex_count;
    double *x = HK_ZEROS(double, size), *from = HK_ZEROS(double, size),
           *to = HK_ZEROS(double, size);
    g_seed = 1;
    assert_int_equal(hk_contacts_create(model, 1, &contacts), HK_OK);
    assert_int_equal(hk_sweep_create(contacts, &sweep), HK_OK);
    for (int k = 0; k < model->vertex_count; k++)
        memcpy(x + 4 * (size_t)k, model->rest + 3 * (size_t)model->order[k], 3 * sizeof *x);
    for (int n = 0; n < WALKS; n++) {
        memcpy(from, x, size * sizeof *x);
        memcpy(to, x, size * sizeof *x);
        for (int b = 0; b < BOXES; b++) {
            const hk_body *body = &model->bodies[b];
            for (int k = body->vertex_start; k < body->vertex_start + body->vertex_count; k++) {
                size_t at = 4 * (size_t)model->place[k];
                to[at] += 1e-3 * random_number();
                to[at + 1] += b / 2 == 0 ? 0.01 : b / 2 == 2 ? -0.01 : 0;
                to[at + 2] += b == 5 ? 0.01 : 0;
            }
        }
        hk_sweep_take(sweep, x);
        assert_int_equal(hk_sweep_find(sweep, to), HK_OK);
        assert_int_equal(hk_sweep_walk(sweep, x, to), HK_OK);
        assert_free(contacts, from, x, n);
    }
    size_t count;
    double least = INFINITY;
    const hk_sweep_pair *pairs = hk_sweep_pairs(sweep, &count);
    for (size_t k = 0; k < count; k++) least = fmin(least, pairs[k].distance);
    assert_true(count > 0 && least > 1e-2 * 2e-3);
    // The last box slides along while it is pressed.
    const hk_body *last = &model->bodies[BOXES - 1];
    double slid = 0;
    for (int k = last->vertex_start; k < last->vertex_start + last->vertex_count; k++)
        slid += (x[4 * (size_t)model->place[k] + 2] -
                 model->rest[3 * (size_t)model->order[model->place[k]] + 2]) /
                last->vertex_count;
    assert_true(slid > 0.1);
    hk_sweep_free(sweep);
    hk_contacts_free(contacts);
    hk_free(x);
    hk_free(from);
    hk_free(to);
    hk_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_walks),
                                       cmocka_unit_test(test_presses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
