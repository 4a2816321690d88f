// Substitution with one factor for x, y and z: ours in single precision (linear/triangle.h) against
// cholmod_solve with three right-hand sides, and against the time to stream the factor twice.
//
//   bench_solve [--mesh FILE] [--tets N] [--seconds S]
#include "bench.h"
#include "linear/direct.h"
#include "linear/triangle.h"
#include "solver/problem.h"
#include "term/assembly.h"
#include "term/laplacian.h"

typedef struct run {
    hk_direct *direct;
    hk_triangle *triangle;
    double *b, *x;
    float *stream;
    int64_t stream_count, unknowns;
    volatile float sink;
} run;

static void solve_direct(void *context)
{
    run *r = context;
    bench_check(hk_direct_solve(r->direct, r->b, r->x));
}

static void solve_triangle(void *context)
{
    run *r = context;
    float *x = hk_triangle_vector(r->triangle);
    for (int64_t k = 0; k < 4 * r->unknowns; k++) x[k] = 1;  // or it would fade into denormals
    hk_triangle_solve(r->triangle);
}

// Reads an array of the factor's size once.
static void read_stream(void *context)
{
    run *r = context;
    typedef float wide __attribute__((vector_size(64)));
    const wide *v = (const wide *)r->stream;
    wide a = {0}, b = {0}, c = {0}, d = {0};
    for (int64_t k = 0; k + 4 <= r->stream_count / 16; k += 4) {
        a += v[k];
        b += v[k + 1];
        c += v[k + 2];
        d += v[k + 3];
    }
    a += b + c + d;
    r->sink = a[0];
}

static void measure(const hk_mesh *mesh, double seconds)
{
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    hk_model *model = NULL;
    hk_problem *problem = NULL;
    hk_assembly *assembly = NULL;
    bench_check(hk_model_create(&def, &model));
    bench_check(hk_problem_create(model, 1, &problem));
    double start = hk_now();
    bench_check(hk_assembly_create(problem->tets, problem->links, problem->held, &assembly));
    double ordering = hk_now() - start;
    hk_pattern scalar = assembly->pattern;
    scalar.scalar = true;
    double *matrix = HK_ARRAY(double, hk_pattern_size(&scalar)), weight = 1e6;
    hk_laplacian_fill(model, problem->links, assembly, &scalar, &weight, matrix);
    for (int b = 0; b < scalar.count; b++)
        matrix[hk_pattern_column(&scalar, b, 0)] +=
            model->mass[model->order[assembly->vertex[b]]] / 1e-4;
    run r = {0};
    bool positive;
    start = hk_now();
    bench_check(hk_direct_create(&scalar, &r.direct));
    bench_check(hk_direct_factor(r.direct, matrix, &positive));
    double factor = hk_now() - start;
    size_t n = (size_t)scalar.count;
    r.b = HK_ZEROS(double, 3 * n);
    r.x = HK_ZEROS(double, 3 * n);
    for (size_t k = 0; k < 3 * n; k++) r.b[k] = (double)(k % 17) / 17;
    double direct = bench_median(solve_direct, &r, seconds);
    double ours[3] = {0}, convert = 0;
    int64_t bytes = 0;
    for (int threads = 1; threads <= 2; threads++) {
        start = hk_now();
        bench_check(hk_triangle_create(r.direct, threads, &r.triangle));
        if (threads == 1) convert = hk_now() - start;
        bytes = hk_triangle_bytes(r.triangle);
        r.unknowns = scalar.count;
        ours[threads] = bench_median(solve_triangle, &r, seconds);
        hk_triangle_free(r.triangle);
    }
    r.stream_count = bytes / (int64_t)sizeof(float);
    r.stream = HK_ZEROS(float, r.stream_count);
    double stream = bench_median(read_stream, &r, seconds);
    printf("%8d %9d %7.2f %7.2f %8.3f %8.3f %8.3f %8.1fx %7.0f%% %7.2f %7.2f %7.2f\n",
           model->tet_count, scalar.count, 1e-6 * (double)hk_direct_factor_size(r.direct),
           1e-6 * (double)bytes, 1e3 * direct, 1e3 * ours[1], 1e3 * ours[2], direct / ours[1],
           100 * 2 * stream / ours[1], ordering, factor, convert);
    hk_free(r.stream);
    hk_free(r.b);
    hk_free(r.x);
    hk_free(matrix);
    hk_direct_free(r.direct);
    hk_assembly_free(assembly);
    hk_problem_free(problem);
    hk_model_free(model);
}

int main(int argc, char **argv)
{
    const char *path = NULL;
    int tets = 0;
    double seconds = 0.5;
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "--mesh") == 0) path = argv[k + 1];
        if (strcmp(argv[k], "--tets") == 0) tets = atoi(argv[k + 1]);
        if (strcmp(argv[k], "--seconds") == 0) seconds = atof(argv[k + 1]);
    }
    bench_machine();
    printf("solves for x, y and z with one factor, medians in ms; streaming: time to read the\n"
           "factor twice over the time of our solve; set-up in seconds\n");
    printf("%8s %9s %7s %7s %8s %8s %8s %9s %8s %7s %7s %7s\n", "tets", "unknowns", "nnz, M", "MB",
           "CHOLMOD", "ours", "2 thr.", "speed", "stream", "order", "factor", "convert");
    const int sizes[] = {4000, 16000, 54000, 169000, 331000};
    for (int k = 0; k < (path || tets ? 1 : HK_COUNT_OF(sizes)); k++) {
        hk_mesh *mesh = bench_mesh(path, tets ? tets : sizes[k]);
        measure(mesh, seconds);
        hk_mesh_free(mesh);
    }
    return 0;
}
