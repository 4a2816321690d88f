// One Newton iteration and its phases: milliseconds a phase, and the share outside the
// factorisation.
//
//   bench_newton [--mesh FILE] [--tets N] [--steps N] [--threads N]
#include "bench.h"

typedef struct totals {
    int iterations, steps;
    double ms[HK_PHASE_COUNT], all;
} totals;

static hk_world *make_world(const hk_mesh *mesh, const char *material, int threads)
{
    hk_model *model = bench_held_model(mesh, material, 0.45, 0.1);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = 1.0 / 30;
    def.threads = threads;
    hk_world *world = NULL;
    bench_check(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

static totals march(hk_world *world, int steps)
{
    totals t = {0};
    for (int k = 0; k < steps; k++) {
        hk_step_report r;
        bench_check(hk_world_step(world, &r));
        if (k == 0) continue;  // the first step warms up
        t.steps++;
        t.iterations += r.iterations;
        t.all += r.ms;
        for (int p = 0; p < HK_PHASE_COUNT; p++) t.ms[p] += r.phase_ms[p];
    }
    return t;
}

static void print_row(const char *material, int threads, const hk_world *world, const totals *t)
{
    double n = t->iterations ? t->iterations : 1;
    printf("%-20s %7d %8d %6.1f %8.1f", material, threads,
           hk_model_tet_count(hk_world_model(world)), t->iterations / (double)t->steps, t->all / n);
    for (int p = 0; p < HK_PHASE_COUNT; p++) printf(" %8.1f", t->ms[p] / n);
    printf(" %8.0f%%\n", 100 * (1 - t->ms[HK_PHASE_FACTOR] / t->all));
}

int main(int argc, char **argv)
{
    const char *path = NULL;
    int tets = 50000, steps = 4, threads = 0;
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "--mesh") == 0) path = argv[k + 1];
        if (strcmp(argv[k], "--tets") == 0) tets = atoi(argv[k + 1]);
        if (strcmp(argv[k], "--steps") == 0) steps = atoi(argv[k + 1]);
        if (strcmp(argv[k], "--threads") == 0) threads = atoi(argv[k + 1]);
    }
    bench_machine();
    printf("milliseconds an iteration; outside: share that is not the factorisation\n");
    printf("%-20s %7s %8s %6s %8s", "material", "threads", "tets", "it/st", "all");
    for (int p = 0; p < HK_PHASE_COUNT; p++) printf(" %8s", hk_phase_name((hk_phase)p));
    printf(" %9s\n", "outside");
    hk_mesh *mesh = bench_mesh(path, tets);
    const char *materials[] = {"stable_neo_hookean", "neo_hookean", "corotated", "spline"};
    for (int k = 0; k < 4; k++)
        for (int n = 1; n <= 2; n++) {
            if (threads && n != threads) continue;
            hk_world *world = make_world(mesh, materials[k], n);
            totals t = march(world, steps);
            print_row(materials[k], n, world, &t);
            hk_world_free(world);
        }
    hk_mesh_free(mesh);
    return 0;
}
