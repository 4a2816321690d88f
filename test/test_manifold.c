// The manifold of constraints by finite differences: gradients along it, Newton's matrix with the
// curvature of what turns, tangents as projections, states brought back.
#include "rigid_bodies.h"
#include "solver/manifold.h"
#include "solver/newton_matrix.h"
#include "solver/problem.h"
#include "solver/reduction.h"

static hk_constraint_def keep(hk_constraint_kind kind, double x0, double x1, double ax, double ay,
                              double az)
{
    hk_constraint_def c = hk_default_constraint_def();
    c.kind = kind;
    c.select = select_box(x0, -1, -1, x1, 1, 1);
    c.axis[0] = ax, c.axis[1] = ay, c.axis[2] = az;
    c.at[0] = -0.3, c.at[1] = 0.2, c.at[2] = 0.5;
    return c;
}

// A bar with two rigid parts on a joint, one of them alone or on a joint to the world, and the rest
// of which keeps to all kinds of things.
static hk_model *bar_model(int joint)
{
    hk_mesh *mesh = box_mesh(1, 0.2, 0.2, 10, 2, 2);
    hk_region_def bones[2] = {hk_default_region_def(), hk_default_region_def()};
    for (int k = 0; k < 2; k++) {
        bones[k].select = select_box(k ? 0.55 : 0.75, -1, -1, k ? 0.72 : 2, 1, 1);
        bones[k].rigid = 1;
        bones[k].name = k ? "mid" : "bone";
        bones[k].material = material_of("neo_hookean", 1e5, 0.3);
    }
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material = material_of("neo_hookean", 1e4, 0.3);
    body.regions = bones;
    body.region_count = 2;
    hk_constraint_def keeps[] = {
        keep(HK_KEEP_PLANE, -0.01, 0.01, 1, 2, 3), keep(HK_KEEP_LINE, 0.09, 0.11, 1, 2, -1),
        keep(HK_KEEP_SPHERE, 0.19, 0.21, 0, 0, 0), keep(HK_KEEP_CYLINDER, 0.29, 0.31, 1, 1, 0),
        keep(HK_KEEP_TOGETHER, 0.39, 0.41, 0, 0, 0)};
    hk_joint_def joints[2] = {hk_default_joint_def(), hk_default_joint_def()};
    joints[0].kind = joint;
    joints[0].parts[1] = "bone";
    joints[1].kind = joint < 0 ? HK_JOINT_SLIDER : HK_JOINT_HINGE;
    joints[1].parts[0] = "bone", joints[1].parts[1] = "mid";
    for (int k = 0; k < 2; k++) {
        joints[k].at[0] = k ? 0.75 : 0.9, joints[k].at[1] = 0.1;
        joints[k].axis[k] = 1, joints[k].axis[2] = 2;
    }
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.constraints = keeps;
    def.constraint_count = 5;
    def.joints = joint < 0 ? joints + 1 : joints;
    def.joint_count = joint < 0 ? 1 : 2;
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

// ε at what becomes of x + t d.
static double along(hk_problem *p, const double *x, const double *d, double t, double *to)
{
    for (int k = 0; k < 4 * p->vertex_count; k++) to[k] = x[k] + t * d[k];
    hk_problem_retract(p, to);
    return hk_problem_energy(p, to);
}

static void check_slopes(hk_problem *p, const double *x, const double *g, const double *d,
                         double *to)
{
    double h = 1e-6, slope = hk_problem_dot(p, g, d);
    double found = (along(p, x, d, h, to) - along(p, x, d, -h, to)) / (2 * h);
    if (!(fabs(found / slope - 1) < 1e-5))
        fail_msg("slope %.10g, by differences %.10g", slope, found);
}

static void check_curvature(hk_problem *p, hk_newton_matrix *m, const double *x, uint64_t *seed,
                            double *d, double *to)
{
    hk_reduction *r = m->reduction;
    int count = 3 * r->pattern.count;
    double *q = calloc((size_t)count, sizeof *q), *Kq = calloc((size_t)count, sizeof *q);
    for (int k = 0; k < count; k++) q[k] = r->right[k] = 0.1 * noise(seed);
    // The unknowns that fill up blocks are none.
    const hk_manifold *f = p->manifold;
    for (int n = 0; n < f->constraints->tree_count; n++)
        for (int k = f->trees[n].count; k % 3; k++)
            q[3 * r->of_tree[f->trees[n].block + k / 3] + k % 3] = 0;
    hk_problem_stand(p, x);
    hk_reduction_scatter(r, d);
    hk_pattern_multiply(&r->pattern, r->values, q, Kq);
    double curvature = 0, h = 3e-5;
    for (int k = 0; k < count; k++) curvature += q[k] * Kq[k];
    double ahead = along(p, x, d, h, to), behind = along(p, x, d, -h, to);
    double here = along(p, x, d, 0, to);
    double found = (ahead - 2 * here + behind) / (h * h);
    if (!(fabs(found / curvature - 1) < 1e-4))
        fail_msg("curvature %.10g, by differences %.10g", curvature, found);
    free(q);
    free(Kq);
}

static void check_tangents(hk_problem *p, const double *x, uint64_t *seed, double *d, double *to)
{
    size_t bytes = 4 * sizeof(double) * (size_t)p->vertex_count;
    double size = 0, again = 0, across = 0;
    for (int k = 0; k < 4 * p->vertex_count; k++) to[k] = d[k] = k % 4 < 3 ? noise(seed) : 0;
    hk_problem_stand(p, x);
    hk_problem_tangent(p, d);
    double *twice = malloc(bytes);
    memcpy(twice, d, bytes);
    hk_problem_tangent(p, twice);
    for (int k = 0; k < 4 * p->vertex_count; k++) {
        size += d[k] * d[k];
        again += (twice[k] - d[k]) * (twice[k] - d[k]);
        across += (to[k] - d[k]) * d[k];
    }
    assert_true(again < 1e-24 * size && fabs(across) < 1e-11 * size);
    free(twice);
}

static void check_model(int joint)
{
    hk_model *model = bar_model(joint);
    hk_problem *p;
    uint64_t seed = 7;
    CHECK_OK(hk_problem_create(model, 1, NULL, &p));
    size_t size = 4 * (size_t)p->vertex_count;
    double *x = HK_ZEROS(double, size), *g = HK_ZEROS(double, size), *d = HK_ZEROS(double, size);
    double *to = HK_ZEROS(double, size), *diagonal = HK_ZEROS(double, size);
    double phase[HK_PHASE_COUNT] = {0};
    memcpy(p->y, p->rest, size * sizeof *x);
    CHECK_OK(hk_problem_begin_step(
        p, &(hk_stage_begin){
               .weight = 1e4,
               .terms = {.h = 0.01, .from = p->y, .state = p->y, .velocity = g, .contact = 1}}));
    for (size_t k = 0; k < size; k++) x[k] = p->rest[k] + (k % 4 < 3 ? 0.02 * noise(&seed) : 0);
    hk_problem_retract(p, x);
    memcpy(to, x, size * sizeof *x);
    hk_problem_retract(p, to);
    for (size_t k = 0; k < size; k++) assert_true(fabs(to[k] - x[k]) < 1e-14);
    hk_newton_matrix *m;
    bool positive;
    // The second derivative is one of the energy alone where the gradient along the manifold is 0,
    // elsewhere it depends on how states are brought back. An external force sees to that.
    hk_problem_gradient(p, x, g, NULL, NULL);
    for (int n = 0; n < 5; n++) {
        check_tangents(p, x, &seed, d, to);
        check_slopes(p, x, g, d, to);
    }
    for (size_t k = 0; k < size; k++) p->force[k] += g[k];
    CHECK_OK(hk_newton_matrix_create(p, false, &m));
    memcpy(diagonal, p->inertia, sizeof(double) * (size_t)p->vertex_count);
    CHECK_OK(hk_newton_matrix_set(m, x, 1, 1, diagonal, phase, &positive));
    for (int n = 0; n < 5; n++) check_curvature(p, m, x, &seed, d, to);
    hk_newton_matrix_free(m);
    hk_problem_free(p);
    hk_model_free(model);
    double *const all[] = {x, g, d, to, diagonal};
    for (int k = 0; k < HK_COUNT_OF(all); k++) hk_free(all[k]);
}

static void test_differences(void **state)
{
    (void)state;
    for (int joint = -1; joint < HK_JOINT_KINDS; joint++) check_model(joint);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_differences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
