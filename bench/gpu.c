// The CUDA backend: checks every material on the device against the CPU in double precision, checks
// ten steps against the CPU's solver, tells the time that methods take to a residual (residual.h),
// and that of whole steps of `descent`, or of another method, with a fixed number of iterations.
//
//   bench_gpu [--check] [--residual] [--time] [--method NAME] [--option NAME=VALUE]... [--steps N]
//             [--sizes 58080,316000,...] [--materials a,b] [--iterations N] [--patch N] [--round N]
//             [--resident BLOCKS] [--verbose]
//
// Without --check, --residual or --time it does all of it; without --method it checks all and times
// descent. --sizes are those of --time; --residual has 55 thousand to ten million tets. Times
// are medians of whole steps, from the launch to the report. --resident: blocks a multiprocessor
// of models that are persistent; -1: none is.
#include <math.h>

#include "gpu/gpu.h"
#include "model/model.h"
#include "residual.h"
#include "solver/problem.h"

// Of neo_hookean, as compiled: 42 fused, 63 products and 26 sums.
enum { MOST_STEPS = 2000, MOST_SIZES = 16, MOST_OPTIONS = 8 };

static const char *const g_timed[] = {
    "neo_hookean", "stable_neo_hookean", "mooney_rivlin", "fung",
    "stvk",        "corotated",          "spline",        "spline_drawn"};

static bool is_timed(const char *material)
{
    for (int k = 0; k < HK_COUNT_OF(g_timed); k++)
        if (strcmp(material, g_timed[k]) == 0) return true;
    return false;
}

// Those that are usually timed, and then all others that there are; NULL: that was the last.
static const char *material_at(int k)
{
    if (k < HK_COUNT_OF(g_timed)) return g_timed[k];
    k -= HK_COUNT_OF(g_timed);
    for (int m = 0; m < hk_material_count(); m++)
        if (hk_material_kind(m) == HK_FOR_SOLIDS && !is_timed(hk_material_name(m)) && k-- == 0)
            return hk_material_name(m);
    return NULL;
}

typedef struct options {
    bool check, time, residual, method_given, verbose;
    int sizes[MOST_SIZES], size_count;
    const char *materials;
    int steps, iterations, patch, round, persistent;
    const char *method;
    hk_option values[MOST_OPTIONS];  // of the method
    int value_count;
} options;

static bool wanted(const options *o, const char *material)
{
    if (!o->materials) return true;
    size_t length = strlen(material);
    for (const char *at = o->materials; (at = strstr(at, material)); at += length)
        if ((at == o->materials || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

// A box of cubic cells, a little longer than wide.
static hk_mesh *make_box(int tets)
{
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_BOX);
    int n = 1;
    while (5 * (n + 1) * (n + 1) * (int64_t)(n + 2) <= tets) n++;
    int cells[3] = {n, n, n};
    cells[0] = (int)((tets / 5.0) / ((double)n * n) + 0.5);
    for (int i = 0; i < 3; i++) {
        def.cells[i] = cells[i];
        def.size[i] = cells[i] / (double)n;
    }
    hk_mesh *mesh = NULL;
    bench_check(hk_mesh_make(&def, &mesh));
    return mesh;
}

static hk_settings settings_of(const hk_method **method, const options *o, double tolerance)
{
    hk_solver_def def = hk_default_solver_def();
    def.method = o->method;
    def.iterations = o->iterations;
    def.options = o->values;
    def.option_count = o->value_count;
    def.tolerance = tolerance;
    hk_settings settings;
    bench_check(hk_method_find(def.method, method));
    bench_check(hk_method_settings(*method, &def, &settings));
    return settings;
}

static hk_gpu *make_gpu(const hk_model *model, const options *o, double tolerance)
{
    const hk_method *method;
    hk_settings settings = settings_of(&method, o, tolerance);
    hk_gpu_def def = {.model = model,
                      .method = method,
                      .settings = &settings,
                      .step = 1.0 / 30,
                      .patch_size = o->patch,
                      .round_size = o->round,
                      .persistent = o->persistent};
    hk_gpu *gpu = NULL;
    bench_check(hk_gpu_create(&def, &gpu));
    return gpu;
}

// ---------------------------------------------------------------- checks

static double relative(const double *a, const double *b, int count, const uint8_t *held)
{
    double difference = 0, size = 0;
    for (int k = 0; k < count; k++)
        for (int i = 0; i < 3 && !(held && held[k]); i++) {
            double d = a[4 * k + i] - b[4 * k + i];
            difference += d * d;
            size += b[4 * k + i] * b[4 * k + i];
        }
    return sqrt(difference / size);
}

// Stretched, sheared and twisted by about a quarter, with some noise.
static void deform(const hk_problem *p, double *x)
{
    for (int k = 0; k < p->vertex_count; k++) {
        const double *r = p->rest + 4 * (int64_t)k;
        double *to = x + 4 * (int64_t)k, angle = 0.6 * r[0];
        to[0] = 1.2 * r[0] + 0.05 * sin(3 * r[1]);
        to[1] = 0.9 * (cos(angle) * r[1] - sin(angle) * r[2]) + 0.1 * r[0] * r[0];
        to[2] = 0.95 * (sin(angle) * r[1] + cos(angle) * r[2]);
        to[3] = 0;
        for (int i = 0; i < 3; i++) {
            unsigned noise = (unsigned)(3 * k + i) * 2654435761u >> 16 & 1023;
            to[i] += 0.01 * ((double)noise / 1023 - 0.5);
        }
    }
}

typedef struct numbers {
    double *x, *gradient, *diagonal, *exact_gradient, *exact_diagonal;
} numbers;

// As for the tests: docs/gpu.md.
static bool is_small(void)
{
    const char *small = getenv("HOOKE_SMALL");
    return small && strcmp(small, "0") != 0;
}

static bool check_elements(const char *material, const options *o)
{
    hk_mesh *mesh = make_box(is_small() ? 600 : 20000);
    hk_model *model = bench_held_model(mesh, material, 0.35, 0.01);
    hk_problem *p = NULL;
    bench_check(hk_problem_create(model, 2, NULL, &p));
    size_t n = 4 * (size_t)p->vertex_count;
    double *room = hk_calloc(5 * n, sizeof(double));  // aligned for lanes
    if (!room) exit(1);
    numbers c = {room, room + n, room + 2 * n, room + 3 * n, room + 4 * n};
    deform(p, c.x);
    options any_method = *o;
    any_method.method = "descent";
    hk_gpu *gpu = make_gpu(model, &any_method, 1e-12);
    double energy, exact;
    bench_check(hk_gpu_evaluate(gpu, c.x, &energy, c.gradient, c.diagonal));
    bench_check(hk_problem_begin_pose(p));
    hk_problem_set_load(p, 0);
    exact = hk_terms_part(p->terms, c.x, HK_PART_ELASTIC);
    hk_problem_gradient(p, c.x, c.exact_gradient, NULL, NULL);
    hk_terms_diagonal(p->terms, c.x, c.exact_diagonal);
    double e = fabs(energy - exact) / exact;
    double g = relative(c.gradient, c.exact_gradient, p->vertex_count, NULL);
    double d = relative(c.diagonal, c.exact_diagonal, p->vertex_count, p->held);
    bool fine = e <= 1e-5 && g <= 1e-5 && d <= 1e-5;
    printf("%-20s %10.1e %10.1e %10.1e  %s\n", material, e, g, d, fine ? "ok" : "WRONG");
    hk_free(room);
    hk_gpu_free(gpu);
    hk_problem_free(p);
    hk_model_free(model);
    hk_mesh_free(mesh);
    return fine;
}

// Ten steps on the device and by L-BFGS in double precision on the CPU, each iterated until nothing
// changes; the distance relative to the motion.
static bool check_steps(const char *material, const char *method, const options *o)
{
    options own = *o;
    own.method = method;
    own.iterations = 600;
    own.patch = own.round = 0;
    hk_mesh *mesh = make_box(4000);
    hk_model *model = bench_held_model(mesh, material, 0.35, 0.01);
    hk_gpu *gpu = make_gpu(model, &own, 1e-6);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = 1.0 / 30;
    def.solver.method = "lbfgs";
    def.solver.iterations = 5000;
    def.solver.tolerance = 1e-9;
    hk_option precision = {.name = "precision", .text = "double"};
    def.solver.options = &precision;
    def.solver.option_count = 1;
    hk_world *world = NULL;
    bench_check(hk_world_create(&def, &world));
    int n = hk_model_vertex_count(model), iterations = 0, ended[16] = {0};
    double time = 0, difference = 0, motion = 0;
    hk_solve_report report = {0};
    for (int k = 0; k < 10; k++, time += 1.0 / 30) {
        bench_check(hk_world_step(world, NULL));
        bench_check(hk_gpu_step(gpu, time, &report));
        iterations = report.iterations;
        ended[report.reason & 15]++;
        if (o->verbose)
            printf("  %d: %d %s %.2e %s\n", k, iterations, hk_reason_name(report.reason),
                   report.relative_residual, report.detail);
    }
    double *x = calloc(4 * (size_t)n, sizeof(double));
    if (!x) exit(1);
    bench_check(hk_gpu_read_positions(gpu, x));
    const double *exact = hk_world_positions(world);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 3; i++) {
            int v = model->order[k];
            double d = x[4 * k + i] - exact[3 * v + i];
            double m = exact[3 * v + i] - model->rest[3 * v + i];
            difference += d * d;
            motion += m * m;
        }
    double error = sqrt(difference / motion);
    bool fine = error <= 1e-3;
    printf("%-20s %10.1e %8d  %d converged, %d stalled, %.1e  %s\n", material, error, iterations,
           ended[HK_CONVERGED], ended[HK_STALLED], report.relative_residual, fine ? "ok" : "WRONG");
    free(x);
    hk_world_free(world);
    hk_gpu_free(gpu);
    hk_model_free(model);
    hk_mesh_free(mesh);
    return fine;
}

static bool check(const options *o)
{
    bool fine = true;
    printf("\nrelative error of energy, gradient and diagonal against the CPU in double precision\n"
           "%-20s %10s %10s %10s\n",
           "material", "energy", "gradient", "diagonal");
    const char *material;
    for (int k = 0; (material = material_at(k)); k++)
        if (wanted(o, material)) fine = check_elements(material, o) && fine;
    static const char *const methods[] = {"descent", "vbd", "quasi_newton"};
    for (int n = 0; n < HK_COUNT_OF(methods) && !is_small(); n++) {  // steps: test_gpu
        if (o->method_given && strcmp(o->method, methods[n]) != 0) continue;
        printf("\nten steps of %s against the CPU: distance relative to the motion\n", methods[n]);
        for (int k = 0; (material = material_at(k)); k++)
            if (wanted(o, material)) fine = check_steps(material, methods[n], o) && fine;
    }
    return fine;
}

// ---------------------------------------------------------------- times

static void measure(const hk_model *model, const char *material, const options *o)
{
    static double times[MOST_STEPS];
    double begin = hk_now();
    hk_gpu *gpu = make_gpu(model, o, 1e-12);
    double setup = hk_now() - begin, time = 0;
    int count = 0, kept = 0;
    hk_solve_report report = {0};
    for (int k = 0; k < o->steps + 3; k++, time += 1.0 / 30) {
        double start = hk_now();
        report.iterations = 0;
        bench_check(hk_gpu_step(gpu, time, &report));
        if (k >= 3) times[count++] = hk_now() - start;
        kept += report.iterations;
    }
    qsort(times, (size_t)count, sizeof times[0], bench_compare);
    double ms = 1e3 * times[count / 2], least = 1e3 * times[0];
    char text[200];
    hk_gpu_describe(gpu, text, sizeof text);
    double rate = 1e-6 * model->tet_count * o->iterations / ms;
    printf("%-20s %9d %9.3f %9.3f %8.1f %8.1f", material, model->tet_count, ms, least, rate,
           1e3 * ms / o->iterations);
    printf("  %4d  %.1e %6.2f s  %s\n", kept / (o->steps + 3), report.relative_residual, setup,
           text);
    hk_gpu_free(gpu);
}

static void measure_all(const options *o)
{
    printf("\n%s, %d iterations, h = 1/30 s, medians of %d whole steps\n", o->method, o->iterations,
           o->steps);
    printf("%-20s %9s %9s %9s %8s %8s  %4s  %s\n", "material", "tets", "ms", "least", "Gtet-it/s",
           "us/it", "its", "residual");
    for (int s = 0; s < o->size_count; s++) {
        hk_mesh *mesh = make_box(o->sizes[s]);
        const char *material;
        for (int k = 0; (material = material_at(k)); k++) {
            if (!(o->materials ? wanted(o, material) : k < HK_COUNT_OF(g_timed))) continue;
            hk_model *model = bench_held_model(mesh, material, 0.4, 0.01);
            measure(model, material, o);
            hk_model_free(model);
            if (k > 0) continue;
            model = bench_model(mesh, material, 0.4, 0.01, true);
            measure(model, "… invertible", o);
            hk_model_free(model);
        }
        hk_mesh_free(mesh);
    }
}

// Of those that come to a residual at any size, the largest body is left to the one that does so in
// a sensible time.
static void time_to_residuals(void)
{
    residual_plan p = {.backend = HK_BACKEND_CUDA,
                       .cells = {14, 25, 37},
                       .cell_counts = 3,
                       .methods = {"quasi_newton", "descent", "vbd"},
                       .method_count = 3,
                       .tolerances = {1e-2, 1e-3, 1e-4},
                       .tolerance_count = 3,
                       .steps = 30,
                       .seconds = 10,
                       .poisson = 0.45};
    printf("\ntime to a relative residual, medians of up to %d steps\n", p.steps);
    residual_table(&p);
    p.cells[0] = 80;
    p.cell_counts = p.method_count = 1;
    residual_table(&p);
}

static void read_sizes(options *o, const char *text)
{
    o->size_count = 0;
    while (*text && o->size_count < MOST_SIZES) {
        char *end;
        o->sizes[o->size_count++] = (int)strtod(text, &end);
        text = *end == ',' ? end + 1 : end;
    }
}

// NAME=VALUE; the text is changed.
static void read_option(options *o, char *text)
{
    char *value = strchr(text, '='), *end;
    if (!value || o->value_count == MOST_OPTIONS) return;
    *value++ = '\0';
    hk_option *option = &o->values[o->value_count++];
    *option = (hk_option){.name = text, .number = strtod(value, &end)};
    if (*end != '\0') option->text = value;
}

int main(int argc, char **argv)
{
    options o = {.sizes = {58080, 316000, 1000000, 10000000},
                 .size_count = 4,
                 .steps = 30,
                 .method = "descent"};
    for (int k = 1; k < argc; k++) {
        char none[1] = "", *next = k + 1 < argc ? argv[k + 1] : none;
        if (strcmp(argv[k], "--check") == 0) o.check = true;
        if (strcmp(argv[k], "--time") == 0) o.time = true;
        if (strcmp(argv[k], "--residual") == 0) o.residual = true;
        if (strcmp(argv[k], "--verbose") == 0) o.verbose = true;
        if (strcmp(argv[k], "--sizes") == 0) read_sizes(&o, next);
        if (strcmp(argv[k], "--materials") == 0) o.materials = next;
        if (strcmp(argv[k], "--method") == 0) {
            o.method = next;
            o.method_given = true;
        }
        if (strcmp(argv[k], "--steps") == 0) o.steps = atoi(next);
        if (strcmp(argv[k], "--iterations") == 0) o.iterations = atoi(next);
        if (strcmp(argv[k], "--patch") == 0) o.patch = atoi(next);
        if (strcmp(argv[k], "--round") == 0) o.round = atoi(next);
        if (strcmp(argv[k], "--resident") == 0) o.persistent = atoi(next);
        if (strcmp(argv[k], "--option") == 0) read_option(&o, next);
    }
    if (o.iterations == 0)
        o.iterations = strcmp(o.method, "vbd") == 0            ? 24
                       : strcmp(o.method, "quasi_newton") == 0 ? 10
                                                               : 96;
    o.steps = o.steps < MOST_STEPS - 3 ? o.steps : MOST_STEPS - 3;
    if (!o.check && !o.time && !o.residual) o.check = o.time = o.residual = true;
    bench_machine();
    char why[256];
    if (!hk_gpu_found(why, sizeof why)) {
        printf("bench_gpu needs a CUDA device: %s\n", why);
        return 0;
    }
    bool fine = !o.check || check(&o);
    if (o.residual) time_to_residuals();
    if (o.time) measure_all(&o);
    return fine ? 0 : 1;
}
