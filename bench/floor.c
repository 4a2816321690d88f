// The floor of single precision: what rounding leaves of forces, relative to the weight of a bar,
// and how small a residual (evaluated in double) the methods reach in a time step.
//
//   bench_floor [--tets N] [--only gradient | steps] [--backend cpu | cuda]
//
// Gradients are those of the CPU; with --backend cuda steps alone are measured.
#include <math.h>

#include "bench.h"
#include "solver/view.h"

static const double g_young[] = {1e3, 1e6, 1e9, 2e11};  // Pa
static const double g_size[] = {0.01, 1, 100};          // m
#define STEP (1.0 / 60)

// A clamped bar of size × size/4 × size/4 under gravity; 1000 kg/m³, of 200 GPa 7800.
static hk_model *make_bar(const char *law, double young, double size, int tets)
{
    hk_material_def material = hk_default_material_def();
    material.model = law;
    material.young = young;
    material.poisson = 0.45;
    material.density = young > 1e10 ? 7800 : 1000;
    int n = 1;
    while (20 * n * n * n < tets) n++;
    return bench_bar(size, n, material);
}

// ---------------------------------------------------------------- gradients

// The bar as it sags, about: the deflection of a beam, a tenth of its length at most, with its
// sections turned; and a little that no polynomial of coordinates is.
static void sag(const hk_model *m, double young, double size, double *x)
{
    double density = young > 1e10 ? 7800 : 1000, h = size / 4;
    double most = fmin(0.1 * size, 1.5 * density * 9.81 * pow(size, 4) / (young * h * h));
    for (int k = 0; k < m->vertex_count; k++) {
        const double *X = m->rest + 3 * (int64_t)m->order[k];
        double t = X[0] / size, w = most / 3 * t * t * (6 - 4 * t + t * t);
        double slope = most / size * 4 * t * (1 - t + t * t / 3);
        x[4 * (int64_t)k] = X[0] + (X[1] - h / 2) * slope;
        x[4 * (int64_t)k + 1] = X[1] - w;
        x[4 * (int64_t)k + 2] = X[2] + 0.01 * most * sin(7 * t) * sin(5 * X[1] / size);
    }
}

// ‖g_single − g_double‖ over the free vertices, relative to the norm of their weights.
static double gradient_noise(const char *law, double young, double size, int tets)
{
    hk_model *m = make_bar(law, young, size, tets);
    hk_problem *p;
    hk_view *view;
    size_t count = 4 * (size_t)m->vertex_count;
    double *x = HK_ZEROS(double, count), *fine = HK_ZEROS(double, count);
    double *coarse = HK_ZEROS(double, count), energy, scale, noise = 0, weight = 0;
    bench_check(hk_problem_create(m, 1, NULL, &p));
    bench_check(hk_view_create(p, HK_SINGLE, &view));
    bench_check(hk_problem_begin_pose(p));
    sag(m, young, size, x);
    bench_check(hk_view_begin(view, x));
    hk_view_narrow(view, x, view->x);
    hk_view_widen(view, view->x, x);
    hk_problem_gradient(p, x, fine, &energy, &scale);
    hk_view_gradient(view, x, coarse, &energy, &scale);
    for (size_t k = 0; k < count; k++) {
        if (p->held[k / 4]) continue;
        noise += (fine[k] - coarse[k]) * (fine[k] - coarse[k]);
        weight += p->force[k] * p->force[k];
    }
    hk_view_free(view);
    hk_problem_free(p);
    hk_model_free(m);
    hk_free(x);
    hk_free(fine);
    hk_free(coarse);
    return sqrt(noise / weight);
}

static void tell_sizes(const char *first)
{
    printf("%-20s", first);
    for (int e = 0; e < HK_COUNT_OF(g_young); e++)
        for (int s = 0; s < HK_COUNT_OF(g_size); s++) printf(" %5.0e/%-4g", g_young[e], g_size[s]);
    printf("\n");
}

static void gradients(int tets)
{
    printf("\nerror of the gradient / weight, %d tets or so; columns: E, Pa / size, m\n", tets);
    tell_sizes("law");
    for (int k = 0; k < hk_material_count(); k++) {
        if (hk_material_kind(k) != HK_FOR_SOLIDS) continue;
        printf("%-20s", hk_material_name(k));
        for (int e = 0; e < HK_COUNT_OF(g_young); e++)
            for (int s = 0; s < HK_COUNT_OF(g_size); s++)
                printf(" %10.1e", gradient_noise(hk_material_name(k), g_young[e], g_size[s], tets));
        printf("\n");
        fflush(stdout);
    }
}

// ---------------------------------------------------------------- steps

typedef struct variant {
    const char *label, *method, *law;
    int iterations;
} variant;

static const variant g_variants[] = {
    {"descent", "descent", "neo_hookean", 3000},
    {"vbd", "vbd", "neo_hookean", 1000},
    {"quasi_newton", "quasi_newton", "neo_hookean", 300},
    {"lbfgs", "lbfgs", "neo_hookean", 2000},
    {"nonlinear_cg", "nonlinear_cg", "neo_hookean", 2000},
    {"gradient_descent", "gradient_descent", "neo_hookean", 3000},
    {"admm", "admm", "neo_hookean", 500},
    {"projective (arap)", "projective", "arap", 2000},
    {"descent corotated", "descent", "corotated", 3000},
    {"descent mooney", "descent", "mooney_rivlin", 3000},
};

static const variant g_gpu_variants[] = {
    {"descent", "descent", "neo_hookean", 3000},
    {"descent corotated", "descent", "corotated", 3000},
    {"descent mooney", "descent", "mooney_rivlin", 3000},
    {"descent stvk", "descent", "stvk", 3000},
    {"descent spline", "descent", "spline", 3000},
    {"vbd", "vbd", "neo_hookean", 1000},
    {"vbd corotated", "vbd", "corotated", 1000},
    {"quasi_newton", "quasi_newton", "neo_hookean", 300},
    {"quasi_newton corot.", "quasi_newton", "corotated", 300},
    {"projective (arap)", "projective", "arap", 2000},
};

// The relative residual after one step from rest, in double precision.
static double step_floor(const variant *v, double young, double size, int tets, hk_backend backend)
{
    hk_model *m = make_bar(v->law, young, size, tets);
    hk_option single = {.name = "precision", .text = "single"};
    hk_world_def def = hk_default_world_def();
    def.model = m;
    def.backend = backend;
    def.step = STEP;
    def.solver.method = v->method;
    def.solver.iterations = v->iterations;
    def.solver.tolerance = 1e-12;
    def.solver.options = &single;
    def.solver.option_count = backend == HK_BACKEND_CPU;  // a GPU has the precision of its kernels
    hk_world *world;
    hk_step_report report;
    bench_check(hk_world_create(&def, &world));
    bench_check(hk_world_step(world, &report));
    hk_problem *p;
    bench_check(hk_problem_create(m, 1, NULL, &p));
    size_t count = 4 * (size_t)m->vertex_count;
    double *x = HK_ZEROS(double, count), *g = HK_ZEROS(double, count), energy, scale;
    memcpy(p->y, p->rest, sizeof(double) * count);
    hk_stage_begin stage = {.weight = 1 / (STEP * STEP),
                            .terms = {.h = STEP, .from = p->rest, .state = p->rest}};
    bench_check(hk_problem_begin_step(p, &stage));
    for (int k = 0; k < m->vertex_count; k++)
        memcpy(x + 4 * (int64_t)k, hk_world_positions(world) + 3 * (int64_t)m->order[k],
               3 * sizeof(double));
    hk_problem_gradient(p, x, g, &energy, &scale);
    double residual = sqrt(hk_problem_dot(p, g, g)) / scale;
    hk_problem_free(p);
    hk_world_free(world);
    hk_model_free(m);
    hk_free(x);
    hk_free(g);
    return residual;
}

static void steps(const variant *variants, int count, int tets, hk_backend backend)
{
    printf("\nrelative residual after one step of 1/60 s from rest, %d tets or so\n", tets);
    tell_sizes("method");
    for (int k = 0; k < count; k++) {
        printf("%-20s", variants[k].label);
        for (int e = 0; e < HK_COUNT_OF(g_young); e++)
            for (int s = 0; s < HK_COUNT_OF(g_size); s++) {
                printf(" %10.1e", step_floor(&variants[k], g_young[e], g_size[s], tets, backend));
                fflush(stdout);
            }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    int tets = 3000;
    const char *only = "";
    bool gpu = false;
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "--tets") == 0) tets = atoi(argv[k + 1]);
        if (strcmp(argv[k], "--only") == 0) only = argv[k + 1];
        if (strcmp(argv[k], "--backend") == 0) gpu = strcmp(argv[k + 1], "cuda") == 0;
    }
    bench_machine();
    if (gpu) {
        steps(g_gpu_variants, HK_COUNT_OF(g_gpu_variants), tets, HK_BACKEND_CUDA);
        return 0;
    }
    if (strcmp(only, "steps") != 0) gradients(tets);
    if (strcmp(only, "gradient") != 0)
        steps(g_variants, HK_COUNT_OF(g_variants), tets, HK_BACKEND_CPU);
    return 0;
}
