// The rotational part of 800,000 deformation gradients, Split's Table 4: our methods and others,
// one thread, single precision, with as many steps as give a mean error below 0.05°.
//
//   bench_polar [--seconds S] [--count N]
//
// Matrices: turns uniform in SO(3) up to 10° of a regular tetrahedron whose corners are moved by up
// to a tenth of its edge. Methods that follow a motion start from the identity.
#include "bench.h"
#include "polar/kernels.h"

#define HK_DOUBLE 1
#define HK_LANES  1
#include "math/apd.h"
#include "math/polar.h"

#ifdef HOOKE_DIRECT
// LAPACK, from OpenBLAS.
void sgesvd_(const char *jobu, const char *jobvt, const int *m, const int *n, float *a,
             const int *lda, float *s, float *u, const int *ldu, float *vt, const int *ldvt,
             float *work, const int *lwork, int *info);
void openblas_set_num_threads(int threads);
#endif

enum { IN_CACHE = 4096, MOST_STEPS = 60 };  // matrices that stay in the L2 cache
static const double g_degree = 0.017453292519943295;

// ---- the matrices

static uint64_t g_seed = 7;
static double uniform(void)  // [0, 1)
{
    g_seed = g_seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(g_seed >> 11) / 9007199254740992.0;
}

static vec3 in_ball(double radius)
{
    vec3 p;
    do p = v3_set(2 * uniform() - 1, 2 * uniform() - 1, 2 * uniform() - 1);
    while (v3_dot(p, p) > 1);
    return v3_scale(p, radius);
}

// The angle of a uniform rotation has the density 1 − cos θ.
static mat3 random_turn(double most)
{
    double angle;
    do angle = most * uniform();
    while (uniform() * (1 - cos(most)) > 1 - cos(angle));
    vec3 axis = in_ball(1);
    axis = v3_scale(axis, sin(angle / 2) / v3_norm(axis));
    return quat_rotation((quat){axis.v[0], axis.v[1], axis.v[2], cos(angle / 2)});
}

static mat3 random_gradient(void)
{
    // Edges 1: four corners of a cube with edge 1/√2.
    const double e = sqrt(0.5);
    vec3 corner[4] = {{{0, 0, 0}}, {{e, e, 0}}, {{e, 0, e}}, {{0, e, e}}}, moved[4];
    for (int i = 0; i < 4; i++) moved[i] = v3_add(corner[i], in_ball(0.1));
    mat3 rest, now;
    for (int i = 0; i < 3; i++) {
        m3_set_column(&rest, i, v3_sub(corner[i + 1], corner[0]));
        m3_set_column(&now, i, v3_sub(moved[i + 1], moved[0]));
    }
    return m3_mul(random_turn(10 * g_degree), m3_mul(now, m3_inverse(rest)));
}

typedef struct problem {
    int count;
    float *plain;   // [count][9] the matrices
    double *exact;  // [count][9] their rotations
} problem;

static problem make_problem(int count)
{
    problem p = {count, HK_ARRAY(float, 9 * (size_t)count), HK_ARRAY(double, 9 * (size_t)count)};
    if (!p.plain || !p.exact) bench_check(hk_fail(HK_NO_MEMORY, "%d matrices", count));
    for (int k = 0; k < count; k++) {
        mat3 f = random_gradient();
        for (int i = 0; i < 9; i++) {
            p.plain[9 * (size_t)k + i] = (float)f.m[i / 3][i % 3];
            f.m[i / 3][i % 3] = p.plain[9 * (size_t)k + i];  // what the methods see
        }
        mat3 r = polar_rotation(f);
        for (int i = 0; i < 9; i++) p.exact[9 * (size_t)k + i] = r.m[i / 3][i % 3];
    }
    return p;
}

// ---- one method

typedef struct run {
    const polar_method *method;
    int lanes, blocks, steps;
    float *f, *start, *q, *r;  // in blocks of `lanes`
} run;

static void work(void *context)
{
    const run *w = context;
    w->method->run(w->f, w->start, w->blocks, w->steps, w->q, w->r);
}

static run make_run(const problem *p, int lanes)
{
    size_t count = (size_t)p->count;
    run w = {NULL,
             lanes,
             p->count / lanes,
             1,
             HK_ARRAY(float, 9 * count),
             HK_ARRAY(float, 4 * count),
             HK_ARRAY(float, 4 * count),
             HK_ARRAY(float, 9 * count)};
    if (!w.f || !w.start || !w.q || !w.r) bench_check(hk_fail(HK_NO_MEMORY, "the results"));
    for (size_t k = 0; k < count; k++) {
        size_t block = k / (size_t)lanes, lane = k % (size_t)lanes;
        for (size_t i = 0; i < 9; i++)
            w.f[(9 * block + i) * (size_t)lanes + lane] = p->plain[9 * k + i];
        for (size_t i = 0; i < 4; i++)
            w.start[(4 * block + i) * (size_t)lanes + lane] = i == 3 ? 1 : 0;
    }
    return w;
}

static void free_run(run *w)
{
    hk_free(w->f);
    hk_free(w->start);
    hk_free(w->q);
    hk_free(w->r);
}

// ‖a − b‖/√2 in degrees: the angle between two rotations while it is small, and for what is not
// quite a rotation how far it is from one, too.
static double distance(mat3 a, mat3 b)
{
    mat3 d = m3_sub(a, b);
    return sqrt(0.5 * m3_dot(d, d)) / g_degree;
}

static void errors(const problem *p, const run *w, double *mean, double *most)
{
    *mean = *most = 0;
    for (int k = 0; k < w->blocks * w->lanes; k++) {
        size_t block = (size_t)(k / w->lanes), lane = (size_t)(k % w->lanes);
        mat3 r, exact;
        for (size_t i = 0; i < 9; i++) {
            r.m[i / 3][i % 3] = w->r[(9 * block + i) * (size_t)w->lanes + lane];
            exact.m[i / 3][i % 3] = p->exact[9 * (size_t)k + i];
        }
        double error = distance(r, exact);
        *mean += error / (w->blocks * w->lanes);
        if (!(error <= *most)) *most = error;
    }
}

static void print_row(const char *name, const char *lanes, int steps, double mean, double most,
                      double ns, double cached_ns, double document_ms)
{
    char count[16] = "-", document[32] = "", ratio[32] = "", cached[32] = "";
    if (steps) snprintf(count, sizeof count, "%d", steps);
    if (cached_ns > 0) snprintf(cached, sizeof cached, "%.2f", cached_ns);
    if (document_ms > 0) {
        snprintf(document, sizeof document, "%.1f", document_ms / 0.8);
        snprintf(ratio, sizeof ratio, "%.1f", document_ms / 0.8 / ns);
    }
    // A column of bytes: names with accents are longer than they look.
    int width = 22 + (int)strlen(name);
    for (const char *c = name; *c; c++) width -= (*c & 0xC0) != 0x80;
    printf("%-*s %-14s %5s %9.2g %9.2g %9.2f %9s %9s %6s\n", width, name, lanes, count, mean, most,
           ns, cached, document, ratio);
    fflush(stdout);
}

static void time_row(const problem *p, run *w, const char *lanes, double seconds)
{
    double mean, most;
    errors(p, w, &mean, &most);
    double ns = 1e9 * bench_median(work, w, seconds) / p->count;
    run few = *w;
    few.blocks = (p->count < IN_CACHE ? p->count : IN_CACHE) / w->lanes;
    double cached = 1e9 * bench_median(work, &few, seconds / 2) / (few.blocks * w->lanes);
    print_row(w->method->name, lanes, w->method->steps ? w->steps : 0, mean, most, ns, cached,
              w->method->document_ms);
}

static void measure_table(const problem *p, const polar_table *table, double seconds)
{
    run w = make_run(p, table->lanes);
    for (int k = 0; k < table->method_count; k++) {
        w.method = &table->methods[k];
        double mean, most;
        for (w.steps = 1;; w.steps++) {
            work(&w);
            errors(p, &w, &mean, &most);
            if (!w.method->steps || mean < 0.05 || w.steps == MOST_STEPS) break;
        }
        time_row(p, &w, table->name, seconds);
        // One step more, which is all of single precision.
        if (k == 0) {
            w.steps++;
            work(&w);
            time_row(p, &w, table->name, seconds);
        }
    }
    free_run(&w);
}

// ---- what others have

#ifdef HOOKE_DIRECT
static void run_lapack(const float *f, const float *start, int blocks, int steps, float *q,
                       float *r)
{
    (void)start, (void)steps, (void)q;
    const int n = 3, lwork = 64;
    for (int b = 0; b < blocks; b++) {
        // Row-major is the transpose to LAPACK: Fᵀ = U S Vᵀ, so R = V D Uᵀ.
        float a[9], s[3], u[9], vt[9], work_space[64];
        int info;
        memcpy(a, f + 9 * (size_t)b, sizeof a);
        sgesvd_("A", "A", &n, &n, a, &n, s, u, &n, vt, &n, work_space, &lwork, &info);
        float det = 1;
        for (int pass = 0; pass < 2; pass++) {
            const float *m = pass ? vt : u;
            det *= m[0] * (m[4] * m[8] - m[5] * m[7]) + m[1] * (m[5] * m[6] - m[3] * m[8]) +
                   m[2] * (m[3] * m[7] - m[4] * m[6]);
        }
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                r[9 * (size_t)b + 3 * (size_t)i + j] =
                    vt[3 * i] * u[j] + vt[3 * i + 1] * u[3 + j] + det * vt[3 * i + 2] * u[6 + j];
    }
}

static void measure_lapack(const problem *p, double seconds)
{
    const polar_method lapack = {"LAPACK sgesvd", run_lapack, false, 704};
    openblas_set_num_threads(1);
    run w = make_run(p, 1);
    w.method = &lapack;
    if (w.blocks > 40000) w.blocks = 40000;  // slow, and the time does not depend on memory
    work(&w);
    double mean, most;
    errors(p, &w, &mean, &most);
    double ns = 1e9 * bench_median(work, &w, seconds) / w.blocks;
    print_row(lapack.name, "f32", 0, mean, most, ns, 0, lapack.document_ms);
    free_run(&w);
}
#endif

// ---- what the memory allows

typedef struct copy {
    float *from, *to;
    size_t bytes;
} copy;

static void copy_work(void *context)
{
    copy *c = context;
    memcpy(c->to, c->from, c->bytes);
}

static void measure_memory(int count, double seconds)
{
    copy c = {NULL, NULL, 52 * (size_t)count};
    c.from = hk_calloc(c.bytes, 1);
    c.to = hk_calloc(c.bytes, 1);
    if (!c.from || !c.to) bench_check(hk_fail(HK_NO_MEMORY, "the copy"));
    double rate = 2 * (double)c.bytes / bench_median(copy_work, &c, seconds);
    printf(
        "copying: %.1f GB/s read and written; a matrix in, its rotation out (72 bytes): %.2f ns; "
        "quaternions in and out, too (104 bytes): %.2f ns\n",
        1e-9 * rate, 72e9 / rate, 104e9 / rate);
    hk_free(c.from);
    hk_free(c.to);
}

int main(int argc, char **argv)
{
    double seconds = 0.4;
    int count = 800000;
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "--seconds") == 0) seconds = atof(argv[k + 1]);
        if (strcmp(argv[k], "--count") == 0) count = atoi(argv[k + 1]);
    }
    count = count < 16 ? 16 : count - count % 16;
    bench_machine();
    printf("rotations of %d matrices, one thread, medians; errors in degrees against double "
           "precision; nanoseconds a matrix\n",
           count);
    problem p = make_problem(count);
    measure_memory(count, seconds);
    printf("%-22s %-14s %5s %9s %9s %9s %9s %9s %6s\n", "method", "lanes", "steps", "mean", "most",
           "ns", "in cache", "Split", "times");
#ifdef HK_POLAR_WIDE
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        measure_table(&p, &polar_f32x16_avx512, seconds);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        measure_table(&p, &polar_f32x8_avx2, seconds);
#endif
    measure_table(&p, &polar_f32x4_generic, seconds);
    measure_table(&p, &polar_f32_generic, seconds);
#ifdef HOOKE_DIRECT
    measure_lapack(&p, seconds);
#endif
    hk_free(p.plain);
    hk_free(p.exact);
    return 0;
}
