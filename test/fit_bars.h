// Bars with materials to be found, for the tests of fits.
#ifndef TEST_FIT_BARS_H
#define TEST_FIT_BARS_H

#include "bodies.h"
#include "linear/direct.h"

// Poses take many times as long under sanitizers, and some times as long by multigrid, in builds
// without a direct solver, which are also those that run under emulation.
static inline bool is_slow(void)
{
    return SANITIZED || !hk_direct_available();
}

// A bar that is fixed at x = 0, with up to three regions of their own material along it.
typedef struct bar {
    hk_body_def body;
    hk_region_def regions[3];
    hk_selector wall;
    hk_load_def load;
    hk_model_def model;
    hk_mesh *mesh;
} bar;

static inline void make_bar(bar *b, const char *material, double young, int cells)
{
    *b = (bar){.body = hk_default_body_def(), .model = hk_default_model_def()};
    b->mesh = box_mesh(1, 0.2, 0.2, 5 * cells, cells, cells);
    b->wall = select_box(0, -1, -1, 0, 2, 2);
    b->body.mesh = b->mesh;
    b->body.name = "bar";
    b->body.material = material_of(material, young, 0.4);
    b->body.fixes = &b->wall;
    b->body.fix_count = 1;
    b->body.regions = b->regions;
    b->model.bodies = &b->body;
    b->model.body_count = 1;
}

static inline void add_region(bar *b, double from, double to, double young)
{
    hk_region_def *r = &b->regions[b->body.region_count++];
    *r = hk_default_region_def();
    r->select = select_box(from - 1e-6, -1, -1, to + 1e-6, 2, 2);
    r->material = b->body.material;
    r->material.young = young;
}

static inline void pull_end(bar *b, double x, double y, double z)
{
    double force[3] = {x, y, z};
    b->load = hk_default_load_def();
    b->load.select = select_box(1, -1, -1, 1, 2, 2);
    memcpy(b->load.force, force, sizeof force);
    b->body.loads = &b->load;
    b->body.load_count = 1;
}

// What is observed: the pose, found by a world.
static inline double *observe(const bar *b, int *count)
{
    hk_model *model = NULL;
    hk_world *world = NULL;
    hk_step_report r;
    CHECK_OK(hk_model_create(&b->model, &model));
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.threads = 2;
    def.solver.tolerance = 1e-11;
    CHECK_OK(hk_world_create(&def, &world));
    CHECK_OK(hk_world_pose(world, &r));
    if (r.reason != HK_CONVERGED && r.reason != HK_PRECISION_LIMIT)
        fail_msg("pose: %s, %s", hk_reason_name(r.reason), r.detail);
    *count = hk_model_vertex_count(model);
    double *x = malloc(3 * (size_t)*count * sizeof *x);
    memcpy(x, hk_world_positions(world), 3 * (size_t)*count * sizeof *x);
    hk_world_free(world);
    hk_model_free(model);
    return x;
}

static inline hk_fit *fit_of(const bar *b, const char *vary)
{
    hk_fit_def def = hk_default_fit_def();
    hk_fit *fit = NULL;
    def.model = &b->model;
    def.vary = vary;
    def.threads = 2;
    CHECK_OK(hk_fit_create(&def, &fit));
    return fit;
}

static inline void aim(hk_fit *fit, const double *x, int count)
{
    int32_t *vertices = malloc((size_t)count * sizeof *vertices);
    for (int v = 0; v < count; v++) vertices[v] = v;
    CHECK_OK(hk_fit_set_target(fit, count, vertices, x));
    free(vertices);
}

static inline double value_of(const hk_fit *fit, int k)
{
    return hk_fit_parameter_at(fit, k)->value;
}
static inline double deviation_of(const hk_fit *fit, int k)
{
    return hk_fit_parameter_at(fit, k)->deviation;
}

// A normal deviate (Box and Muller).
static inline double normal_noise(uint64_t *seed)
{
    double u = 0.5 * (noise(seed) + 1), v = noise(seed);
    return sqrt(-2 * log(fmax(u, 1e-300))) * cos(3.141592653589793 * v);
}

static inline void add_noise(double *x, int count, double deviation, uint64_t seed)
{
    for (int k = 0; k < 20; k++) noise(&seed);
    for (int k = 0; k < 3 * count; k++) x[k] += deviation * normal_noise(&seed);
}

static inline void expect_converged(const hk_fit_report *r, const char *what)
{
    if (r->reason != HK_CONVERGED || !(r->relative_gradient <= 1e-6))
        fail_msg("%s: %s after %d iterations, %s (relative gradient %g)", what,
                 hk_reason_name(r->reason), r->iterations, r->detail, r->relative_gradient);
}

static inline void expect_near(double value, double truth, double relative, const char *what)
{
    if (!(fabs(value - truth) <= relative * fabs(truth)))
        fail_msg("%s: %.10g instead of %.10g", what, value, truth);
}

#endif
