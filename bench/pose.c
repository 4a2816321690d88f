// Poses of a bar, 1 × 0.25 × 0.25 m and clamped at one end, under its own weight, from rest to a
// relative residual of 1e-6 by newton: seconds, iterations and memory.
//
//   bench_pose [--cells N,N,…] [--poisson NU] [--linear auto|direct|multigrid] [--threads N]
//              [--tolerance T] [--iterations 1]
//
// N is the number of cells across the bar; there are four times as many along it. With
// `--iterations 1` every iteration is printed.
#include <sys/resource.h>

#include "bench.h"

typedef struct settings {
    const char *cells, *linear;
    double poisson, tolerance;
    int threads;
    bool print;
} settings;

static hk_model *make_bar(int across, double poisson)
{
    hk_material_def material = bench_material("neo_hookean", poisson);
    material.young = 1e6;
    material.density = 1000;
    return bench_bar(1, across, material);
}

static bool print_iteration(void *context, const hk_iteration *now)
{
    (void)context;
    printf("  %3d  residual %9.2e  length %6.3g  linear %4d%s\n", now->iteration,
           now->relative_residual, now->step_length, now->linear_iterations,
           now->projected ? "  projected" : "");
    return true;
}

static double peak_gb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / (1 << 20);
}

static void measure(const settings *s, int across)
{
    double start = hk_now();
    hk_model *model = make_bar(across, s->poisson);
    hk_option option = {.name = "linear", .text = s->linear};
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.threads = s->threads;
    def.solver.method = "newton";
    def.solver.tolerance = s->tolerance;
    def.solver.options = &option;
    def.solver.option_count = 1;
    hk_world *world = NULL;
    bench_check(hk_world_create(&def, &world));
    hk_model_free(model);
    if (s->print) hk_world_set_monitor(world, print_iteration, NULL);
    double setup = hk_now() - start;
    hk_step_report r;
    bench_check(hk_world_pose(world, &r));
    printf("%9d %8.2f %8.2f %7d %7d %9.1e %7.2f", hk_model_tet_count(hk_world_model(world)), setup,
           1e-3 * r.ms, r.iterations, r.linear_iterations, r.relative_residual, peak_gb());
    for (int p = 0; p < HK_PHASE_COUNT; p++) printf(" %8.2f", 1e-3 * r.phase_ms[p]);
    printf("  %s\n", hk_reason_name(r.reason));
    hk_world_free(world);
}

int main(int argc, char **argv)
{
    settings s = {.cells = "14,20,37", .linear = "auto", .poisson = 0.45, .tolerance = 1e-6};
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "--cells") == 0) s.cells = argv[k + 1];
        if (strcmp(argv[k], "--linear") == 0) s.linear = argv[k + 1];
        if (strcmp(argv[k], "--poisson") == 0) s.poisson = atof(argv[k + 1]);
        if (strcmp(argv[k], "--tolerance") == 0) s.tolerance = atof(argv[k + 1]);
        if (strcmp(argv[k], "--threads") == 0) s.threads = atoi(argv[k + 1]);
        if (strcmp(argv[k], "--iterations") == 0) s.print = atoi(argv[k + 1]) != 0;
    }
    bench_machine();
    printf("%9s %8s %8s %7s %7s %9s %7s", "tets", "setup s", "pose s", "newton", "linear",
           "residual", "peak GB");
    for (int p = 0; p < HK_PHASE_COUNT; p++) printf(" %8s", hk_phase_name((hk_phase)p));
    printf("\n");
    for (const char *c = s.cells; c; c = strchr(c, ',') ? strchr(c, ',') + 1 : NULL)
        measure(&s, atoi(c));
    return 0;
}
