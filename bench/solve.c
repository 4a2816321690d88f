// Substitution with one factor for x, y and z: ours in single precision (linear/factor.h) against
// cholmod_solve with three right-hand sides in double, and against the time to read what is stored
// twice; with the set-up in its parts.
//
//   bench_solve [--mesh FILE] [--tets N] [--box N] [--seconds S]
#include "bench.h"

#include <math.h>

#include "linear/direct.h"
#include "linear/factor.h"
#include "solver/problem.h"
#include "term/assembly.h"
#include "term/laplacian.h"

typedef struct run {
    hk_model *model;
    hk_problem *problem;
    hk_assembly *assembly;
    hk_pattern pattern;
    double *matrix;
    hk_direct *direct;
    hk_factor *triangle;
    double *b, *x;
    float *stream;
    int64_t stream_count;
    volatile float sink;
    double order, analysis, factor, convert;  // seconds
} run;

// The shortest of many calls: what the machine does when nobody else uses it.
static double fastest(void (*work)(void *), void *context, double seconds)
{
    double best = HUGE_VAL, start = hk_now();
    work(context);
    for (int count = 0; count < 5 || hk_now() - start < seconds; count++) {
        double begin = hk_now();
        work(context);
        best = fmin(best, hk_now() - begin);
    }
    return best;
}

static void solve_direct(void *context)
{
    run *r = context;
    bench_check(hk_direct_solve(r->direct, r->b, r->x));
}

static void solve_triangle(void *context)
{
    run *r = context;
    float *x = hk_factor_vector(r->triangle);
    for (int64_t k = 0; k < 4 * (int64_t)r->pattern.count; k++) x[k] = 1;  // or it would fade away
    hk_factor_solve(r->triangle);
}

static void refine_triangle(void *context)
{
    run *r = context;
    hk_factor_refine(r->triangle, &r->pattern, r->matrix, r->b, r->x);
}

// Reads an array of the factor's size once, with the widest loads that the machine has.
#ifdef __x86_64__
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static float
sum_of(const float *v, int64_t count)
{
    float sums[128] = {0}, sum = 0;
    for (int64_t k = 0; k + 128 <= count; k += 128)
        for (int l = 0; l < 128; l++) sums[l] += v[k + l];
    for (int l = 0; l < 128; l++) sum += sums[l];
    return sum;
}

static void read_stream(void *context)
{
    run *r = context;
    r->sink = sum_of(r->stream, r->stream_count);
}

// M / h² + the Laplacian with h = 10 ms, factored.
static void set_up(run *r, const hk_mesh *mesh)
{
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    bench_check(hk_model_create(&def, &r->model));
    bench_check(hk_problem_create(r->model, 1, NULL, &r->problem));
    double start = hk_now();
    bench_check(hk_assembly_create(r->problem->terms, r->problem->held, &r->assembly));
    r->order = hk_now() - start;
    r->pattern = r->assembly->pattern;
    r->pattern.scalar = true;
    double weight = 1e6;
    r->matrix = HK_ARRAY(double, hk_pattern_size(&r->pattern));
    hk_laplacian_numbers(r->model, r->assembly->unknown, &r->pattern, &weight, r->matrix);
    for (int b = 0; b < r->pattern.count; b++)
        r->matrix[hk_pattern_column(&r->pattern, b, 0)] +=
            r->model->mass[r->model->order[r->assembly->vertex[b]]] / 1e-4;
    bool positive;
    start = hk_now();
    bench_check(hk_direct_create(&r->pattern, &r->direct));
    r->analysis = hk_now() - start;
    start = hk_now();
    bench_check(hk_direct_factor(r->direct, r->matrix, &positive));
    r->factor = hk_now() - start;
    size_t n = (size_t)r->pattern.count;
    r->b = HK_ZEROS(double, 4 * n);
    r->x = HK_ZEROS(double, 4 * n);
    for (size_t k = 0; k < 4 * n; k++) r->b[k] = (double)(k % 17) / 17;
}

static void clean_up(run *r)
{
    hk_free(r->stream);
    hk_free(r->b);
    hk_free(r->x);
    hk_free(r->matrix);
    hk_direct_free(r->direct);
    hk_assembly_free(r->assembly);
    hk_problem_free(r->problem);
    hk_model_free(r->model);
}

static void measure(const hk_mesh *mesh, double seconds)
{
    run r = {0};
    set_up(&r, mesh);
    double ours[3] = {0}, refined = 0;
    int64_t bytes = 0;
    for (int threads = 1; threads <= 2; threads++) {
        double start = hk_now();
        bench_check(hk_factor_create(r.direct, threads, &r.triangle));
        if (threads == 1) r.convert = hk_now() - start;
        bytes = hk_factor_bytes(r.triangle);
        ours[threads] = fastest(solve_triangle, &r, seconds);
        if (threads == 1) refined = fastest(refine_triangle, &r, seconds);
        hk_factor_free(r.triangle);
    }
    double direct = fastest(solve_direct, &r, seconds);
    r.stream_count = bytes / (int64_t)sizeof(float);
    r.stream = HK_ARRAY(float, r.stream_count);
    for (int64_t k = 0; k < r.stream_count; k++) r.stream[k] = (float)k;
    double limit = 2 * fastest(read_stream, &r, seconds);
    printf("%7d %8d %6.2f %6.2f %8.3f %7.3f %7.3f %7.3f %6.1fx %6.1f %7.3f %5.0f%% %6.2f %6.2f "
           "%6.2f %6.2f\n",
           r.model->tet_count, r.pattern.count, 1e-6 * (double)hk_direct_factor_nonzeros(r.direct),
           1e-6 * (double)bytes, 1e3 * direct, 1e3 * ours[1], 1e3 * ours[2], 1e3 * refined,
           direct / ours[1], 2e-9 * (double)bytes / limit, 1e3 * limit, 100 * limit / ours[1],
           r.order, r.analysis, r.factor, r.convert);
    fflush(stdout);
    clean_up(&r);
}

// A figure (a creature that stands) of about `tets` tets.
static hk_mesh *figure(int tets)
{
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_FIGURE);
    hk_mesh *mesh = NULL;
    for (int trial = 0; trial < 3; trial++) {
        hk_mesh_free(mesh);
        bench_check(hk_mesh_make(&def, &mesh));
        double share = (double)tets / hk_mesh_tet_count(mesh);
        if (fabs(share - 1) < 0.02) break;
        def.cells[0] = (int)fmax(10, lround(def.cells[0] * cbrt(share)));
    }
    return mesh;
}

int main(int argc, char **argv)
{
    const char *path = NULL;
    int tets = 0, box = 0;
    double seconds = 0.5;
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "--mesh") == 0) path = argv[k + 1];
        if (strcmp(argv[k], "--tets") == 0) tets = atoi(argv[k + 1]);
        if (strcmp(argv[k], "--box") == 0) box = atoi(argv[k + 1]);
        if (strcmp(argv[k], "--seconds") == 0) seconds = atof(argv[k + 1]);
    }
    bench_machine();
    printf("solves for x, y and z with one factor: shortest times in ms of cholmod_solve (three\n"
           "right-hand sides, double), of ours on one core, on two, and on one with a step of\n"
           "refinement; MB that one pass reads; GB/s at which an array of that size is read, the\n"
           "time to read it twice, and that time over ours; set-up in seconds\n");
    printf("%7s %8s %6s %6s %8s %7s %7s %7s %7s %6s %7s %6s %6s %6s %6s %6s\n", "tets", "unknowns",
           "nnz, M", "MB", "CHOLMOD", "ours", "2 cores", "refined", "speed", "GB/s", "limit",
           "share", "order", "symbol", "factor", "conv.");
    const int sizes[] = {4000, 16000, 54000, 169000, 331000};
    for (int k = 0; k < (path || tets || box ? 1 : HK_COUNT_OF(sizes)); k++) {
        hk_mesh *mesh = path || box ? bench_mesh(path, box) : figure(tets ? tets : sizes[k]);
        measure(mesh, seconds);
        hk_mesh_free(mesh);
    }
    return 0;
}
