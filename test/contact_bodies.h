// Worlds with contact, for tests: how they are made and marched, and what is looked at.
#ifndef TEST_CONTACT_BODIES_H
#define TEST_CONTACT_BODIES_H

#include "bodies.h"

enum { MOST_OPTIONS = 3 };

// How a world is simulated; what is 0 or NULL is as usual.
typedef struct contact_run {
    const char *method;
    const char *integrator;
    double step;  // s
    double tolerance;
    int iterations;
    int threads;  // 0: one
    hk_option options[MOST_OPTIONS];
    int option_count;
} contact_run;

static inline void add_option(contact_run *run, const char *name, const char *text, double number)
{
    assert_true(run->option_count < MOST_OPTIONS);
    run->options[run->option_count++] =
        (hk_option){.name = name, .text = text, .number = text ? 0 : number};
}

// A world over a model of the definition.
static inline hk_world *contact_world(const hk_model_def *model_def, const contact_run *run)
{
    hk_model *model;
    hk_world *world = NULL;
    CHECK_OK(hk_model_create(model_def, &model));
    hk_world_def def = hk_default_world_def();
    def.model = model;
    if (run->step > 0) def.step = run->step;
    if (run->integrator) def.integrator = run->integrator;
    def.threads = run->threads ? run->threads : 1;
    def.solver.method = run->method;
    def.solver.tolerance = run->tolerance;
    def.solver.iterations = run->iterations;
    def.solver.options = run->options;
    def.solver.option_count = run->option_count;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

// ---------------------------------------------------------------- states

// Nothing intersects: proven with exact arithmetic.
static inline void assert_apart(const hk_world *world, const char *name)
{
    hk_intersection_report found;
    hk_mesh *mesh;
    CHECK_OK(hk_world_mesh(world, &mesh));
    CHECK_OK(hk_mesh_intersections(mesh, 1, &found));
    hk_mesh_free(mesh);
    if (found.count > 0)
        fail_msg("%s: %d intersections at %g s", name, (int)found.count, hk_world_time(world));
}

// Steps that are taken, to states without intersections.
static inline void march_apart(hk_world *world, const char *name, int steps)
{
    for (int k = 0; k < steps; k++) {
        hk_step_report report;
        CHECK_OK(hk_world_step(world, &report));
        if (hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED)
            fail_msg("%s, %g s: %s", name, hk_world_time(world), report.detail);
        assert_apart(world, name);
    }
}

// The mean over a body's mass (body −1: over all) of [vertex_count][3].
static inline void mean_of(const hk_world *world, int body, const double *vectors, double mean[3])
{
    const hk_model *model = hk_world_model(world);
    const double *mass = hk_model_masses(model);
    bool last = body < 0 || body + 1 == hk_model_body_count(model);
    int from = body < 0 ? 0 : hk_model_body_start(model, body);
    int to = last ? hk_model_vertex_count(model) : hk_model_body_start(model, body + 1);
    double all = 0;
    for (int i = 0; i < 3; i++) mean[i] = 0;
    for (int v = from; v < to; v++) {
        all += mass[v];
        for (int i = 0; i < 3; i++) mean[i] += mass[v] * vectors[3 * v + i];
    }
    for (int i = 0; i < 3; i++) mean[i] /= all;
}

static inline double mass_of(const hk_world *world)
{
    double sum = 0;
    for (int v = 0; v < hk_model_vertex_count(hk_world_model(world)); v++)
        sum += hk_model_masses(hk_world_model(world))[v];
    return sum;
}

static inline double lowest(const hk_world *world)
{
    double least = INFINITY;
    for (int k = 0; k < hk_model_vertex_count(hk_world_model(world)); k++)
        least = fmin(least, hk_world_positions(world)[3 * k + 1]);
    return least;
}

// Of two worlds over alike models, b in a unit of length `scale`.
static inline double farthest_scaled(const hk_world *a, const hk_world *b, double scale)
{
    double most = 0;
    for (int k = 0; k < 3 * hk_model_vertex_count(hk_world_model(a)); k++)
        most = fmax(most, fabs(hk_world_positions(a)[k] - hk_world_positions(b)[k] / scale));
    return most;
}

#endif
