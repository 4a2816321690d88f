// Worlds that tear, made from scenes.
#ifndef TEST_TEAR_WORLDS_H
#define TEST_TEAR_WORLDS_H

#include "bodies.h"
#include "io_text.h"

enum { TEAR_SETS = 8 };

// A bar that is held at one end, with a blade that comes down through it.
static const char TEAR_BAR[] =
    "{\"time\": {\"step\": 0.01, \"steps\": 1}, \"threads\": 1,"
    " \"tearing\": {\"cuts\": [{\"points\": [[0.22, 0.15, -1], [0.26, 0.15, 1]],"
    "  \"moves\": [{\"translate\": [0, -0.3, 0], \"over\": 0.1}]}]},"
    " \"bodies\": [{\"name\": \"bar\","
    " \"mesh\": {\"box\": {\"size\": [0.5, 0.1, 0.1], \"cells\": [10, 3, 3]}},"
    " \"material\": {\"model\": \"corotated\", \"young\": 4e4, \"poisson\": 0.3,"
    "  \"density\": 1000},"
    " \"fix\": [{\"box\": [[-1e-6, -1, -1], [1e-6, 1, 1]]}]}]}";

// A sheet that is pulled apart, until it gives way at its notch.
static const char TEAR_SHEET[] =
    "{\"time\": {\"step\": 0.01, \"steps\": 1}, \"gravity\": [0, 0, 0], \"threads\": 1,"
    " \"tearing\": {\"cuts\": [{\"points\": [[0.2, -1, -0.01], [0.2, 1, -0.01], [0.2, 1, 0.06],"
    "  [0.2, -1, 0.06]], \"until\": 0.01}]},"
    " \"bodies\": [{\"name\": \"sheet\","
    " \"mesh\": {\"sheet\": {\"size\": [0.4, 0.2], \"cells\": [10, 6]}},"
    " \"material\": {\"model\": \"mass_spring\", \"density\": 0.2, \"stretch\": 200,"
    "  \"bending\": 1e-5, \"tear\": {\"strain\": 0.12}},"
    " \"fix\": [{\"box\": [[-1e-6, -1, -1], [1e-6, 1, 1]]}],"
    " \"move\": [{\"select\": {\"box\": [[0.399, -1, -1], [0.401, 1, 1]]},"
    "  \"translate\": [0.08, 0, 0], \"over\": 0.2}]}]}";

static inline hk_world *tear_world(const char *scene, const char *const *sets)
{
    int count = 0;
    while (sets && count < TEAR_SETS && sets[count]) count++;
    hk_scene *made;
    hk_model *model;
    hk_world *world;
    CHECK_OK(hk_scene_parse(scene, strlen(scene), "scene", sets, count, &made));
    CHECK_OK(hk_model_create(hk_scene_model(made), &model));
    hk_world_def def = hk_copy_world_def(hk_scene_world(made));
    def.model = model;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    hk_scene_free(made);
    return world;
}

static inline int tear_steps(hk_world *world, int count)
{
    int iterations = 0;
    for (int k = 0; k < count; k++) {
        hk_step_report report;
        CHECK_OK(hk_world_step(world, &report));
        iterations += report.iterations;
        if (hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED)
            fail_msg("step at %g s: %s: %s", hk_world_time(world), hk_reason_name(report.reason),
                     report.detail);
    }
    return iterations;
}

static inline hk_tear_report tears_of(const hk_world *world)
{
    hk_tear_report report;
    CHECK_OK(hk_world_tears(world, &report));
    return report;
}

// The square with corners (x, ±1, ±1).
static inline void cut_across(hk_world *world, double x)
{
    const double corners[2][9] = {{x, -1, -1, x, 1, -1, x, 1, 1}, {x, -1, -1, x, 1, 1, x, -1, 1}};
    CHECK_OK(hk_world_cut(world, HK_CUT_ALL, 2, corners[0]));
}

static inline bool same_torn(const hk_world *a, const hk_world *b)
{
    int count = hk_model_vertex_count(hk_world_model(a));
    size_t bytes = 3 * sizeof(double) * (size_t)count;
    return count == hk_model_vertex_count(hk_world_model(b)) &&
           hk_world_time(a) == hk_world_time(b) &&
           memcmp(hk_world_positions(a), hk_world_positions(b), bytes) == 0 &&
           memcmp(hk_world_velocities(a), hk_world_velocities(b), bytes) == 0;
}

#endif
