// Steps that stay apart: ten thousand pairs of little bodies that are flat, thin, parallel to each
// other or above each other to the last bit, nearly touching, of tiny and of huge lengths, are
// driven at each other. Wherever the guard lets them go, exact arithmetic finds no intersection.
#include "contact/contacts.h"
#include "contact/overlap.h"
#include "contact/touches.h"

#include "contact_bodies.h"

enum { PAIRS = 50, BODIES = 2 * PAIRS, ROUNDS = SANITIZED ? 6 : 40, SCALES = 5 };
#define APART 100.0  // between pairs, in sizes

static uint64_t g_seed = 5;

static double random_number(void)
{
    return noise(&g_seed);
}

static hk_model *make_model(double size)
{
    static const int32_t tet[4] = {0, 1, 2, 3};
    double x[12] = {0, 0, 0, size, 0, 0, 0, 0, size, 0, size, 0};
    hk_mesh *mesh;
    CHECK_OK(hk_mesh_from_arrays(4, x, 1, tet, 0, NULL, &mesh));
    hk_body_def bodies[BODIES];
    for (int k = 0; k < BODIES; k++) {
        bodies[k] = hk_default_body_def();
        bodies[k].mesh = mesh;
        bodies[k].transform.translate[0] = APART * size * (k / 2);
        bodies[k].transform.translate[1] = 2 * size * (k % 2);
    }
    hk_contact_def contact = hk_default_contact_def();
    contact.distance = 0.01 * size;
    contact.self = 0;
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = BODIES;
    def.contact = &contact;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

// A tet of one of several kinds around the origin, in sizes.
static void make_tet(double x[4][3])
{
    int kind = (int)(3 * (random_number() + 1));
    for (int v = 0; v < 4; v++)
        for (int i = 0; i < 3; i++) x[v][i] = random_number();
    if (kind == 0)  // a lattice: many are parallel, or above each other
        for (int k = 0; k < 12; k++) x[k / 3][k % 3] = floor(2 * x[k / 3][k % 3]) / 2;
    if (kind == 1)  // flat, with a side that is level
        for (int v = 0; v < 4; v++) x[v][1] = 0;
    if (kind == 2) memcpy(x[1], x[0], sizeof x[0]);  // a triangle that is a tet
    if (kind == 3)                                   // a needle
        for (int v = 0; v < 4; v++)
            for (int i = 1; i < 3; i++) x[v][i] *= 1e-6;
    if (kind == 4)  // all corners but one in a line
        for (int i = 0; i < 3; i++) x[2][i] = 0.5 * (x[0][i] + x[1][i]);
}

// The upper one just above the lower one, by `gap`: another tet, or the same upside down.
static void place_pair(double size, int pair, double gap, double *x, const int32_t *place)
{
    double tets[2][4][3], top = -INFINITY, bottom = INFINITY;
    make_tet(tets[0]);
    if (random_number() > 0)
        make_tet(tets[1]);
    else
        for (int k = 0; k < 12; k++)
            tets[1][k / 3][k % 3] = (k % 3 == 1 ? -1 : 1) * tets[0][k / 3][k % 3];
    for (int v = 0; v < 4; v++) {
        top = fmax(top, tets[0][v][1]);
        bottom = fmin(bottom, tets[1][v][1]);
    }
    for (int b = 0; b < 2; b++)
        for (int v = 0; v < 4; v++) {
            double *to = x + 4 * place[8 * pair + 4 * b + v];
            for (int i = 0; i < 3; i++) to[i] = size * tets[b][v][i];
            to[0] += size * APART * pair;
            if (b == 1) to[1] += size * (top - bottom + gap);
        }
}

// At each other, and every corner somewhere.
static void aim_pair(double size, int pair, double speed, const double *x, double *to,
                     const int32_t *place)
{
    double together[3] = {random_number(), 1, random_number()}, wild = 0.5 + 0.5 * random_number();
    for (int k = 0; k < 8; k++) {
        int at = 4 * place[8 * pair + k];
        for (int i = 0; i < 3; i++)
            to[at + i] = x[at + i] +
                         size * speed * ((k < 4 ? 1 : -1) * together[i] + wild * random_number());
    }
}

static void assert_free(hk_contacts *c, const double *x, const char *what, double size)
{
    hk_overlap_found found;
    char text[256];
    CHECK_OK(hk_contacts_find_overlap(c, x, false, &found));
    if (found.count == 0) return;
    hk_contacts_describe_overlap(c, &found, text, sizeof text);
    fail_msg("%s, size %g: %s", what, size, text);
}

static bool is_free(hk_contacts *c, const double *x)
{
    hk_overlap_found found;
    CHECK_OK(hk_contacts_find_overlap(c, x, false, &found));
    return found.count == 0;
}

typedef struct states {
    double start[16 * BODIES], aim[16 * BODIES], at[16 * BODIES], step[16 * BODIES];
} states;

// Each vertex by itself, all by one length, and in regions around a centre.
static void drive(hk_contacts *c, states *s, double size)
{
    memcpy(s->at, s->start, sizeof s->at);
    hk_contacts_walk(c, s->at, s->aim);
    assert_free(c, s->at, "walk", size);

    for (int k = 0; k < 16 * BODIES; k++) s->step[k] = s->aim[k] - s->start[k];
    double length = hk_contacts_limit(c, s->start, s->step, 1);
    assert_true(length >= 0 && length <= 1);
    for (int k = 0; k < 16 * BODIES; k++) s->at[k] = s->start[k] + length * s->step[k];
    assert_free(c, s->at, "limit", size);

    memcpy(s->at, s->start, sizeof s->at);
    hk_places q = {s->at, NULL};
    for (int n = 0; n < 12; n++) {
        hk_touches_center(c, &q, 0);
        CHECK_OK(c->status);
        for (int k = 0; k < 16 * BODIES; k++) s->at[k] += 0.5 * (s->aim[k] - s->at[k]);
        hk_touches_truncate(c, &q);
        assert_free(c, s->at, "truncate", size);
    }
}

static void test_guard(void **state)
{
    (void)state;
    static const double sizes[SCALES] = {1, 1e-6, 1e6, 1e-3, 1e3};
    states *s = calloc(1, sizeof *s);
    int skipped = 0;
    for (int k = 0; k < SCALES; k++) {
        hk_model *model = make_model(sizes[k]);
        hk_contacts *c;
        CHECK_OK(hk_contacts_create(model, 1, &c));
        // place[v]: where vertex v of the bodies, one after the other, is in Morton order.
        int32_t place[4 * BODIES];
        for (int v = 0; v < 4 * BODIES; v++) place[model->order[v]] = v;
        for (int n = 0; n < ROUNDS; n++) {
            double gap = pow(10, -5 + 4 * random_number()), speed = pow(10, -1 + random_number());
            for (int p = 0; p < PAIRS; p++) {
                place_pair(sizes[k], p, gap, s->start, place);
                aim_pair(sizes[k], p, speed, s->start, s->aim, place);
            }
            // Far from the origin a gap may be less than a unit in the last place.
            if (!is_free(c, s->start))
                skipped++;
            else
                drive(c, s, sizes[k]);
        }
        hk_contacts_free(c);
        hk_model_free(model);
    }
    assert_true(skipped < SCALES * ROUNDS / 20);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_guard)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
