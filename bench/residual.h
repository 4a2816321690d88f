// Time to a relative residual: whole time steps of a bar of rubber that is clamped at one end and
// begins to sag, 1 × 0.25 × 0.25 m, neo-Hookean, E = 1 MPa, ν = 0.45, 1000 kg/m³, h = 1/60 s, half
// a second. Medians over the steps; the height of the centre of mass at the end says whether the
// motion was right. Milliseconds alone would not: a solver that does nothing is fast.
//
// Methods that have not come to the residual in every step when their iterations or --seconds are
// used up have "not reached" behind their row. `projective` is for ARAP and `split` for corotated
// bodies: they have a bar of these, and their rows say so.
#ifndef HK_BENCH_RESIDUAL_H
#define HK_BENCH_RESIDUAL_H

#include <math.h>

#include "bench.h"

enum { RESIDUAL_MOST = 16, RESIDUAL_STEPS = 1000 };

typedef struct residual_plan {
    hk_backend backend;
    int cells[RESIDUAL_MOST], cell_counts;
    char methods[RESIDUAL_MOST][40];
    int method_count;
    double tolerances[RESIDUAL_MOST];
    int tolerance_count;
    int steps, threads, iterations;
    double poisson;
    double seconds;  // of a row, at most
    hk_option options[RESIDUAL_MOST];
    int option_count;
} residual_plan;

// What a method is measured with: the iterations that it may take in a step, and its material.
typedef struct residual_budget {
    const char *method;
    int iterations;
    const char *material;
} residual_budget;
static const residual_budget BUDGETS[] = {
    {"newton", 50, NULL}, {"quasi_newton", 500, NULL},  {"descent", 3000, NULL},
    {"vbd", 1500, NULL},  {"lbfgs", 2000, NULL},        {"nonlinear_cg", 2000, NULL},
    {"admm", 500, NULL},  {"projective", 1000, "arap"}, {"split", 500, "corotated"}};

static inline residual_budget budget_of(const char *method)
{
    for (int k = 0; k < HK_COUNT_OF(BUDGETS); k++)
        if (strcmp(BUDGETS[k].method, method) == 0) return BUDGETS[k];
    return (residual_budget){method, 0, NULL};
}

static inline hk_model *residual_bar(int across, double poisson, const char *law)
{
    hk_material_def material = hk_default_material_def();
    material.model = law ? law : "neo_hookean";
    material.young = 1e6;
    material.poisson = poisson;
    material.density = 1000;
    return bench_bar(1, across, material);
}

static inline double centre_height(const hk_world *world, const hk_model *model)
{
    int count = hk_model_vertex_count(model);
    double sum = 0, all = 0;
    const double *mass = hk_model_masses(model), *x = hk_world_positions(world);
    for (int v = 0; v < count; v++) {
        sum += mass[v] * x[3 * (int64_t)v + 1];
        all += mass[v];
    }
    return sum / all;
}

static inline void residual_run(const residual_plan *p, const hk_model *model, const char *method,
                                double tolerance)
{
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = 1 / 60.0;
    def.threads = p->threads;
    def.backend = p->backend;
    def.solver.method = method;
    def.solver.tolerance = tolerance;
    def.solver.iterations = p->iterations ? p->iterations : budget_of(method).iterations;
    def.solver.options = p->options;
    def.solver.option_count = p->option_count;
    hk_world *world = NULL;
    double begin = hk_now();
    bench_check(hk_world_create(&def, &world));
    double setup = hk_now() - begin, worst = 0;
    static double ms[RESIDUAL_STEPS], iterations[RESIDUAL_STEPS];
    int converged = 0, steps = 0;
    begin = hk_now();
    for (int k = 0; k < p->steps && (k == 0 || hk_now() - begin < p->seconds); k++, steps++) {
        hk_step_report report;
        bench_check(hk_world_step(world, &report));
        ms[k] = report.ms;
        iterations[k] = report.iterations;
        worst = fmax(worst, report.relative_residual);
        converged += report.reason == HK_CONVERGED;
    }
    double height = centre_height(world, model);
    char name[64];
    const char *material = budget_of(method).material;
    snprintf(name, sizeof name, "%s%s%s", method, material ? ":" : "", material ? material : "");
    qsort(ms, (size_t)steps, sizeof *ms, bench_compare);
    qsort(iterations, (size_t)steps, sizeof *iterations, bench_compare);
    printf("%10d  %-15s %7.0e  %10.3f %10.3f  %5.0f %5.0f  %8.1e  %3d of %d  %+.5f  %7.2f%s\n",
           hk_model_tet_count(model), name, tolerance, ms[steps / 2], ms[steps - 1],
           iterations[steps / 2], iterations[steps - 1], worst, converged, steps, height, setup,
           converged == steps ? "" : "  not reached");
    fflush(stdout);
    hk_world_free(world);
}

// All rows of a plan, under a line that says what is in them.
static inline void residual_table(const residual_plan *p)
{
    printf("%10s  %-15s %7s  %10s %10s  %5s %5s  %8s  %s\n", "tets", "method", "asked", "ms",
           "most", "iter.", "most", "residual", "converged  height, m  setup, s");
    for (int c = 0; c < p->cell_counts; c++) {
        for (int m = 0; m < p->method_count; m++) {
            const char *material = budget_of(p->methods[m]).material;
            hk_model *model = residual_bar(p->cells[c], p->poisson, material);
            for (int t = 0; t < p->tolerance_count; t++)
                residual_run(p, model, p->methods[m], p->tolerances[t]);
            hk_model_free(model);
        }
    }
}

#endif
