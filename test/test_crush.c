// Crushed between plates by contact that nothing passes through, and back again: under every method
// that has a place in docs/extreme.md a block comes back to its rest shape.
#include <math.h>
#include <string.h>

#include "bodies.h"
#include "core/base.h"

// A block on a floor, under a plate that comes down to a third of its height in 0.2 s, stays, and
// lifts off. Its feet are tied, as those of the figure in scenes/extreme are.
static const char g_crush[] =
    "{\"time\": {\"step\": 0.02, \"steps\": 1}, \"gravity\": [0, -9.8, 0],"
    " \"damping\": {\"viscous\": 0.002},"
    " \"solver\": {\"method\": \"newton\", \"iterations\": 20, \"tolerance\": 1e-3},"
    " \"contact\": {\"distance\": 0.002, \"friction\": 0.3, \"self\": false},"
    " \"obstacles\": ["
    "  {\"name\": \"floor\", \"plane\": {\"point\": [0, -0.002, 0], \"normal\": [0, 1, 0]}},"
    "  {\"name\": \"plate\", \"plane\": {\"point\": [0, 0, 0], \"normal\": [0, -1, 0]},"
    "   \"formula\": {\"x\": \"0\", \"z\": \"0\","
    "    \"y\": \"0.054 - 0.036*min(1, t/0.2) + 0.2*max(0, t-0.3)\"}}],"
    " \"bodies\": [{\"name\": \"block\","
    "  \"mesh\": {\"box\": {\"size\": [0.05, 0.05, 0.05], \"cells\": [3, 3, 3]}},"
    "  \"material\": {\"model\": \"stvk\", \"young\": 1e6, \"poisson\": 0.45, \"density\": 1000,"
    "   \"volume_penalty\": true},"
    "  \"attach\": [{\"select\": {\"box\": [[-1, -0.001, -1], [1, 0.001, 1]]},"
    "   \"stiffness\": 1e5}]}]}";

enum { MOST_SETS = 3, STEPS = 60, DOWN = 13 };

typedef struct crush_case {
    const char *method;
    const char *sets[MOST_SETS];
} crush_case;

#define SOFT(law)                          \
    "bodies.0.material={\"model\": \"" law \
    "\", \"young\": 1e6, \"poisson\": 0.45, \"density\": 1000}"

static const crush_case g_cases[] = {
    {"newton", {NULL}},
    {"descent",
     {"solver.precision=double", "solver.iterations=100", "bodies.0.material.invertible=true"}},
    {"quasi_newton", {NULL}},
    {"projective", {SOFT("arap")}},
    {"vbd", {"solver.iterations=100"}},
    {"split", {SOFT("corotated")}},
};

static hk_world *begin(const char *method, const char *const *more, hk_model **model)
{
    char solver[64];
    const char *sets[MOST_SETS + 1] = {solver};
    int count = 1;
    hk_scene *scene;
    hk_world *world;
    snprintf(solver, sizeof solver, "solver.method=%s", method);
    for (int k = 0; k < MOST_SETS && more[k]; k++) sets[count++] = more[k];
    CHECK_OK(hk_scene_parse(g_crush, strlen(g_crush), method, sets, count, &scene));
    CHECK_OK(hk_model_create(hk_scene_model(scene), model));
    hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
    def.model = *model;
    CHECK_OK(hk_world_create(&def, &world));
    hk_scene_free(scene);
    return world;
}

static void step(hk_world *world, const char *method, int number)
{
    hk_step_report report;
    CHECK_OK(hk_world_step(world, &report));
    if (hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED)
        fail_msg("%s, step %d: %s, %s", method, number, hk_reason_name(report.reason),
                 report.detail);
}

static double plate_at(double time)
{
    return 0.054 - 0.036 * fmin(1, time / 0.2) + 0.2 * fmax(0, time - 0.3);
}

#define PRESSED 0.004  // m, where a plate is in test_plate_arrives

// Nothing is beyond the planes, or is no number.
static void check_between(const hk_world *world, const char *method)
{
    const double *x = hk_world_positions(world);
    double high = plate_at(hk_world_time(world));
    for (int v = 0; v < hk_model_vertex_count(hk_world_model(world)); v++)
        if (!(x[3 * v + 1] > -0.002 && x[3 * v + 1] < high))
            fail_msg("%s, t = %g: vertex %d is at %g", method, hk_world_time(world), v,
                     x[3 * v + 1]);
}

static void test_methods_come_back(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof g_cases / sizeof g_cases[0]; k++) {
        const crush_case *c = &g_cases[k];
        hk_model *model;
#ifndef HOOKE_DIRECT
        if (strcmp(c->method, "newton") == 0) continue;
#endif
        hk_world *world = begin(c->method, c->sets, &model);
        const double *rest = hk_model_rest_positions(model);
        double away = 0, flat = 0;
        for (int n = 0; n < STEPS; n++) {
            step(world, c->method, n);
            check_between(world, c->method);
            const double *x = hk_world_positions(world);
            if (n != DOWN) continue;
            for (int v = 0; v < hk_model_vertex_count(model); v++)
                flat = fmax(flat, fabs(x[3 * v + 1] - rest[3 * v + 1]));
        }
        const double *x = hk_world_positions(world);
        for (int i = 0; i < 3 * hk_model_vertex_count(model); i++)
            away = fmax(away, fabs(x[i] - rest[i]));
        if (getenv("HOOKE_TABLE"))
            printf("%-14s crushed by %5.2f, at the end %.4f of the height away\n", c->method,
                   flat / 0.05, away / 0.05);
        if (!(flat > 0.6 * 0.05)) fail_msg("%s: crushed by %g m only", c->method, flat);
        if (!(away < 0.02 * 0.05)) fail_msg("%s: still %g m away", c->method, away);
        hk_world_free(world);
        hk_model_free(model);
    }
}

static bool is_inside(const double X[3])
{
    for (int i = 0; i < 3; i++)
        if (!(X[i] > 1e-6 && X[i] < 0.05 - 1e-6)) return false;
    return true;
}

// A plate that goes by hundreds of contact distances in one step takes what it meets along, with
// few iterations: without that it stayed behind.
static void test_plate_arrives(void **state)
{
    (void)state;
    static const char *const more[] = {
        "contact.distance=0.0002",
        "obstacles.1.formula.y=\"t < 0.01 ? 0.051 : 0.004\"",
        "solver.iterations=3",
    };
    static const char *const methods[] = {"newton", "quasi_newton", "vbd"};
    for (int k = 0; k < 3; k++) {
#ifndef HOOKE_DIRECT
        if (k == 0) continue;
#endif
        hk_model *model;
        hk_world *world = begin(methods[k], more, &model);
        step(world, methods[k], 0);
        const double *x = hk_world_positions(world);
        for (int v = 0; v < hk_model_vertex_count(model); v++) {
            // Inside of bodies there is no contact.
            if (is_inside(hk_model_rest_positions(model) + 3 * v)) continue;
            if (!(x[3 * v + 1] > -0.002 && x[3 * v + 1] < PRESSED))
                fail_msg("%s: vertex %d is at %g", methods[k], v, x[3 * v + 1]);
        }
        hk_world_free(world);
        hk_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods_come_back),
        cmocka_unit_test(test_plate_arrives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
