// A law of one's own: rubber with contracting fibres along x, a muscle. Its derivatives are checked
// against differences, then a bar of it pulls itself up against its weight.
#include <hooke/hooke.h>
#include <math.h>
#include <stdio.h>

// ψ = μ/2 (I − 3) − μ ln J + λ/2 (ln J)² + k/4 (‖F e_x‖² − r)²: r below 1 shortens the fibres.
typedef struct muscle {
    double mu, lambda;  // Pa
    double k, r;        // Pa, -
} muscle;

// J, and its derivative, the cofactors.
static double volume(const double F[9], double C[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
            C[3 * i + j] = F[3 * a + c] * F[3 * b + d] - F[3 * a + d] * F[3 * b + c];
        }
    return F[0] * C[0] + F[1] * C[1] + F[2] * C[2];
}

static double fibre(const muscle *m, const double F[9])
{
    return F[0] * F[0] + F[3] * F[3] + F[6] * F[6] - m->r;
}

static double energy(void *context, const double F[9])
{
    const muscle *m = context;
    double C[9], J = volume(F, C), I = 0, f = fibre(m, F);
    if (!(J > 0)) return INFINITY;  // flat or inside out
    for (int k = 0; k < 9; k++) I += F[k] * F[k];
    return m->mu / 2 * (I - 3) - m->mu * log(J) + m->lambda / 2 * log(J) * log(J) +
           m->k / 4 * f * f;
}

static void stress(void *context, const double F[9], double P[9])
{
    const muscle *m = context;
    double C[9], J = volume(F, C), f = fibre(m, F);
    for (int k = 0; k < 9; k++)
        P[k] = m->mu * F[k] + (m->lambda * log(J) - m->mu) / J * C[k] +
               (k % 3 == 0 ? m->k * f * F[k] : 0);
}

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, hk_error());
    return 1;
}

// The largest difference between the stress and that by differences of the energy, of its size.
static double check(const hk_material_def *law)
{
    double F[9] = {1.1, 0.2, -0.1, 0.05, 0.9, 0.1, 0, -0.2, 1.05}, P[9], worst = 0, size = 0;
    if (hk_material_evaluate(law, F, false, NULL, P, NULL) != HK_OK) return INFINITY;
    for (int k = 0; k < 9; k++) {
        double at = F[k], step = 1e-6, low, high;
        F[k] = at - step;
        if (hk_material_evaluate(law, F, false, &low, NULL, NULL) != HK_OK) return INFINITY;
        F[k] = at + step;
        if (hk_material_evaluate(law, F, false, &high, NULL, NULL) != HK_OK) return INFINITY;
        F[k] = at;
        worst = fmax(worst, fabs((high - low) / (2 * step) - P[k]));
        size = fmax(size, fabs(P[k]));
    }
    return worst / size;
}

int main(void)
{
    muscle coefficients = {.mu = 1e5, .lambda = 4e5, .k = 4e5, .r = 0.7};
    hk_body_def body = hk_default_body_def();
    body.material.model = "custom";
    body.material.young = 3e5;  // how stiff it is, roughly
    body.material.poisson = 0.4;
    body.material.custom =
        (hk_custom_law){.energy = energy, .stress = stress, .context = &coefficients};

    double error = check(&body.material);
    printf("the stress is that of the energy within %.0e\n", error);
    if (!(error < 1e-6)) return 1;

    // A bar of 1 m that hangs along x, which is down, from its end at x = 0.
    hk_mesh_def shape = hk_default_mesh_def(HK_SHAPE_BOX);
    shape.cells[0] = 10, shape.cells[1] = shape.cells[2] = 2;
    hk_mesh *mesh = NULL;
    if (hk_mesh_make(&shape, &mesh) != HK_OK) return fail("mesh");
    hk_selector wall = {.kind = HK_SELECT_BOX, .box = {{0, 0, 0}, {0, 1, 1}}};
    body.mesh = mesh;
    body.fixes = &wall;
    body.fix_count = 1;
    hk_model_def model_def = hk_default_model_def();
    model_def.bodies = &body;
    model_def.body_count = 1;
    model_def.gravity[0] = 9.81, model_def.gravity[1] = 0;
    hk_model *model = NULL;
    if (hk_model_create(&model_def, &model) != HK_OK) return fail("model");
    hk_mesh_free(mesh);

    hk_world_def world_def = hk_default_world_def();
    world_def.model = model;
    hk_world *world = NULL;
    if (hk_world_create(&world_def, &world) != HK_OK) return fail("world");
    hk_step_report report;
    if (hk_world_pose(world, &report) != HK_OK) return fail("pose");
    const double *x = hk_world_positions(world);
    int last = hk_model_vertex_count(model) - 1;
    printf("%s after %d iterations: the bar has gone from 1.000 m to %.3f m\n",
           hk_reason_name(report.reason), report.iterations, x[3 * last]);
    bool done = report.reason == HK_CONVERGED && x[3 * last] < 1;
    hk_world_free(world);
    hk_model_free(model);
    return !done;
}
