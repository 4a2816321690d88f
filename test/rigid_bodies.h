// An arm with two rigid bones in soft tissue, and what tests of constraints ask of worlds.
#ifndef TEST_RIGID_BODIES_H
#define TEST_RIGID_BODIES_H

#include "bodies.h"

typedef struct variant {
    const char *label, *method;
    hk_option options[3];
    int option_count;
    double distance;  // from Newton's answer, relative to the motion
} variant;

static const variant VARIANTS[] = {
    {"newton, multigrid", "newton", {{"linear", 0, "multigrid"}}, 1, 1e-5},
    {"quasi_newton", "quasi_newton", {{0}}, 0, 1e-5},
    {"quasi_newton, no memory", "quasi_newton", {{"window", 0, NULL}}, 1, 1e-5},
    {"quasi_newton, multigrid", "quasi_newton", {{"global", 0, "multigrid"}}, 1, 1e-5},
    {"quasi_newton, identity", "quasi_newton", {{"initial", 0, "scaled_identity"}}, 1, 1e-5},
    {"quasi_newton, single", "quasi_newton", {{"precision", 0, "single"}}, 1, 1e-4},
    {"lbfgs", "lbfgs", {{0}}, 0, 1e-5},
    {"lbfgs, none", "lbfgs", {{"preconditioner", 0, "none"}}, 1, 1e-5},
    {"nonlinear_cg", "nonlinear_cg", {{0}}, 0, 1e-5},
    {"gradient_descent", "gradient_descent", {{0}}, 0, 1e-4},
    {"projective", "projective", {{"precision", 0, "double"}}, 1, 1e-5},
    {"projective, single", "projective", {{0}}, 0, 1e-4},
    {"projective, multigrid", "projective", {{"global", 0, "multigrid"}}, 1, 1e-4},
    {"admm", "admm", {{"precision", 0, "double"}}, 1, 1e-4},
    {"admm, single", "admm", {{0}}, 0, 1e-4},
    {"descent", "descent", {{"precision", 0, "double"}}, 1, 1e-4},
    {"descent, nesterov", "descent", {{"acceleration", 0, "nesterov"}}, 1, 1e-4},
    {"descent, single", "descent", {{0}}, 0, 1e-4},
    {"vbd", "vbd", {{"precision", 0, "double"}}, 1, 1e-4},
    {"vbd, chebyshev", "vbd", {{"acceleration", 0, "chebyshev"}}, 1, 1e-4},
    {"vbd, single", "vbd", {{0}}, 0, 1e-4},
};
enum { VARIANT_COUNT = sizeof VARIANTS / sizeof *VARIANTS };

static inline hk_world *world_by(hk_model *model, double step, const variant *v)
{
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = step;
    def.threads = 2;
    if (v) {
        def.solver.method = v->method;
        def.solver.options = v->options;
        def.solver.option_count = v->option_count;
        def.solver.iterations = 20000;
        def.solver.tolerance = 1e-8;
    }
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&def, &world));
    return world;
}

// The largest deformation of a rigid part, and the largest error of a joint (m).
static inline double deformation_of(const hk_world *w)
{
    double most = 0;
    for (int k = 0; k < hk_model_rigid_part_count(hk_world_model(w)); k++) {
        hk_rigid_state s;
        CHECK_OK(hk_world_rigid_state(w, k, &s));
        assert_true(isfinite(s.deformation));
        most = fmax(most, s.deformation);
    }
    return most;
}

static inline double joint_error_of(const hk_world *w)
{
    double most = 0;
    for (int k = 0; k < hk_model_joint_count(hk_world_model(w)); k++) {
        hk_joint_state s;
        CHECK_OK(hk_world_joint_state(w, k, &s));
        assert_true(isfinite(s.error));
        most = fmax(most, s.error);
    }
    return most;
}

// A box along x, 1.2 m long, two of whose regions are bones; held at its soft end or free.
static inline hk_model *arm_model(bool held, double gravity, const hk_joint_def *joints, int count)
{
    hk_mesh *mesh = box_mesh(1.2, 0.2, 0.2, 12, 2, 2);
    hk_region_def bones[2] = {hk_default_region_def(), hk_default_region_def()};
    hk_selector fix = select_box(-1e-6, -1, -1, 1e-6, 1, 1);
    hk_body_def body = hk_default_body_def();
    static const char *const names[] = {"upper", "lower"};
    for (int k = 0; k < 2; k++) {
        bones[k].select = select_box(0.05 + 0.7 * k, -1, -1, 0.45 + 0.7 * k, 1, 1);
        bones[k].material = material_of("arap", 1e5, 0.3);
        bones[k].material.density = 1500;
        bones[k].name = names[k];
        bones[k].rigid = 1;
    }
    body.material = material_of("arap", 3e4, 0.3);
    body.regions = bones;
    body.region_count = 2;
    body.mesh = mesh;
    body.fixes = &fix;
    body.fix_count = held;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.gravity[1] = gravity;
    def.joints = joints;
    def.joint_count = count;
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

// Steps of a method beside those of Newton's.
static inline void compare_steps(hk_model *model, const variant *v, int steps, double step)
{
    hk_world *own = world_by(model, step, v), *newton = world_by(model, step, NULL);
    hk_step_report r;
    for (int n = 0; n < steps; n++) {
        CHECK_OK(hk_world_step(newton, &r));
        if (r.reason != HK_CONVERGED)
            fail_msg("newton, step %d: %s %s", n, hk_reason_name(r.reason), r.detail);
        CHECK_OK(hk_world_step(own, &r));
        if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED)
            fail_msg("%s, step %d: %s %s", v->label, n, hk_reason_name(r.reason), r.detail);
        if (!(deformation_of(own) < 1e-12))
            fail_msg("%s, step %d: deformed by %g", v->label, n, deformation_of(own));
        if (!(joint_error_of(own) < 1e-12))
            fail_msg("%s, step %d: joint apart by %g m", v->label, n, joint_error_of(own));
    }
    double apart = relative_distance(own, newton);
    print_message("%-26s %.1e from newton, %d iterations in the last step, %s\n", v->label, apart,
                  r.iterations, hk_reason_name(r.reason));
    if (!(apart < v->distance)) fail_msg("%s: %g from newton", v->label, apart);
    hk_world_free(own);
    hk_world_free(newton);
}

#endif
