// Bones in soft tissue: rigid with a hinge, against the same bones made of ever stiffer material,
// which is what one has without constraints (QuasiNewton, "Increasing Stiffness Directly?").
// Iterations and CPU milliseconds a step.
//
//   bench_rigid [--cells N] [--steps N] [--method NAME]
#include <math.h>

#include "bench.h"

typedef struct elbow {
    int cells;     // along the arm; a sixth of it across
    double young;  // Pa, of the bones; 0: rigid
    bool hinge;
} elbow;

static hk_selector bone_of(int k)
{
    return (hk_selector){.kind = HK_SELECT_BOX,
                         .box = {{0.02 + 0.3 * k, 0.03, 0.03}, {0.28 + 0.3 * k, 0.07, 0.07}}};
}

static hk_model *make_model(const elbow *e)
{
    static const char *const names[] = {"humerus", "ulna"};
    hk_mesh *mesh;
    hk_mesh_def shape = hk_default_mesh_def(HK_SHAPE_BOX);
    shape.size[0] = 0.6, shape.size[1] = shape.size[2] = 0.1;
    shape.cells[0] = e->cells, shape.cells[1] = shape.cells[2] = e->cells / 6;
    bench_check(hk_mesh_make(&shape, &mesh));
    hk_region_def bones[2] = {hk_default_region_def(), hk_default_region_def()};
    for (int k = 0; k < 2; k++) {
        bones[k].select = bone_of(k);
        bones[k].name = names[k];
        bones[k].rigid = e->young == 0;
        bones[k].material.model = "neo_hookean";
        bones[k].material.young = e->young > 0 ? e->young : 1e10;
        bones[k].material.poisson = 0.3;
        bones[k].material.density = 1900;
    }
    hk_selector fix = {.kind = HK_SELECT_BOX, .box = {{-1e-6, -1, -1}, {1e-6, 1, 1}}};
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material.model = "neo_hookean";
    body.material.young = 2e4;
    body.material.poisson = 0.4;
    body.regions = bones;
    body.region_count = 2;
    body.fixes = &fix;
    body.fix_count = 1;
    hk_joint_def hinge = hk_default_joint_def();
    hinge.kind = HK_JOINT_HINGE;
    hinge.parts[0] = names[0], hinge.parts[1] = names[1];
    hinge.at[0] = 0.3, hinge.at[1] = hinge.at[2] = 0.05;
    hinge.axis[2] = 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.joints = &hinge;
    def.joint_count = e->hinge;
    hk_model *model;
    bench_check(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

// How far the middle of the hand has sunk, m.
static double sag(const hk_world *w)
{
    const hk_model *m = hk_world_model(w);
    const double *X = hk_model_rest_positions(m), *x = hk_world_positions(w);
    double sum = 0;
    int count = 0;
    for (int v = 0; v < hk_model_vertex_count(m); v++)
        if (X[3 * v] > 0.6 - 1e-9) sum += X[3 * v + 1] - x[3 * v + 1], count++;
    return sum / count;
}

// Returns CPU milliseconds a step.
static double run(const elbow *e, const char *method, int steps)
{
    hk_model *model = make_model(e);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = 0.02;
    def.threads = 1;
    def.solver.method = method;
    def.solver.iterations = 1000;
    hk_world *w;
    bench_check(hk_world_create(&def, &w));
    bench_check(hk_world_step(w, NULL));  // warms up
    int iterations = 0, converged = 0, linear = 0;
    double start = bench_cpu();
    for (int k = 0; k < steps; k++) {
        hk_step_report r;
        bench_check(hk_world_step(w, &r));
        iterations += r.iterations;
        linear += r.linear_iterations;
        converged += r.reason == HK_CONVERGED;
    }
    double ms = 1e3 * (bench_cpu() - start) / steps, most = 0;
    for (int k = 0; k < hk_model_rigid_part_count(model); k++) {
        hk_rigid_state s;
        bench_check(hk_world_rigid_state(w, k, &s));
        most = fmax(most, s.deformation);
    }
    char bones[64];
    snprintf(bones, sizeof bones, "%.0e Pa", e->young);
    if (e->young == 0) snprintf(bones, sizeof bones, "rigid%s", e->hinge ? ", hinge" : "");
    printf("%-14s %-14s %8d %8.1f %8.1f %10.1f %9d/%d %12.4f %12.1e\n", method, bones,
           hk_model_tet_count(model), iterations / (double)steps, linear / (double)steps, ms,
           converged, steps, sag(w), most);
    hk_world_free(w);
    hk_model_free(model);
    return ms;
}

int main(int argc, char **argv)
{
    int cells = 36, steps = 10;
    const char *only = NULL;
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "--cells") == 0) cells = atoi(argv[k + 1]);
        if (strcmp(argv[k], "--steps") == 0) steps = atoi(argv[k + 1]);
        if (strcmp(argv[k], "--method") == 0) only = argv[k + 1];
    }
    static const char *const methods[] = {"newton", "quasi_newton", "lbfgs", "descent", "vbd"};
    static const double stiffnesses[] = {1e6, 1e8, 1e10};
    bench_machine();
    printf("%-14s %-14s %8s %8s %8s %10s %11s %12s %12s\n", "method", "bones", "tets", "it/step",
           "linear", "CPU ms", "converged", "sag, m", "deformation");
    for (int k = 0; k < HK_COUNT_OF(methods); k++) {
        if (only && strcmp(only, methods[k]) != 0) continue;
        double rigid = run(&(elbow){cells, 0, false}, methods[k], steps), stiff = 0;
        run(&(elbow){cells, 0, true}, methods[k], steps);
        for (int n = 0; n < HK_COUNT_OF(stiffnesses); n++)
            stiff = run(&(elbow){cells, stiffnesses[n], false}, methods[k], steps);
        printf("%s: rigid bones are %.2f times as fast as bones of 10 GPa\n", methods[k],
               stiff / rigid);
    }
    return 0;
}
