// Signed distance fields: what building one costs, and a query.
//
//   bench_sdf [--mesh FILE] [--triangles N] [--cells N] [--band CELLS] [--threads N] [--repeat N]
//
// Without a mesh it is a torus of about N triangles. Times are the shortest of all repetitions;
// beside the wall clock stands the processor time of all threads, which other programs disturb
// less.
#include <math.h>
#include <time.h>

#include "bench.h"

#include "contact/sdf.h"
#include "mesh/winding.h"

typedef struct options {
    const char *mesh;
    int triangles, cells, threads, repeat;
    double band;
} options;

static options parse(int argc, char **argv)
{
    options o = {.triangles = 200000, .cells = 100, .band = 3, .repeat = 3};
    for (int k = 1; k + 1 < argc; k += 2) {
        const char *name = argv[k], *value = argv[k + 1];
        if (strcmp(name, "--mesh") == 0) o.mesh = value;
        if (strcmp(name, "--triangles") == 0) o.triangles = atoi(value);
        if (strcmp(name, "--cells") == 0) o.cells = atoi(value);
        if (strcmp(name, "--band") == 0) o.band = atof(value);
        if (strcmp(name, "--threads") == 0) o.threads = atoi(value);
        if (strcmp(name, "--repeat") == 0) o.repeat = atoi(value);
    }
    return o;
}

static hk_mesh *torus(int triangles)
{
    const double turn = 2 * 3.14159265358979323846;
    int across = (int)sqrt(triangles / 5.0), around = triangles / 2 / across;
    double *x = malloc(3 * sizeof(double) * (size_t)(around * across));
    int32_t *t = malloc(6 * sizeof(int32_t) * (size_t)(around * across));
    for (int i = 0; i < around; i++)
        for (int j = 0; j < across; j++) {
            double a = turn * i / around, b = turn * j / across, r = 1 + 0.4 * cos(b);
            int v = i * across + j, in = (i + 1) % around, jn = (j + 1) % across;
            memcpy(x + 3 * v, (double[3]){r * cos(a), r * sin(a), 0.4 * sin(b)}, 3 * sizeof *x);
            int32_t quad[4] = {v, in * across + j, in * across + jn, i * across + jn};
            memcpy(t + 6 * v, (int32_t[6]){quad[0], quad[1], quad[2], quad[0], quad[2], quad[3]},
                   6 * sizeof *t);
        }
    hk_mesh *mesh = NULL;
    bench_check(hk_mesh_from_arrays(around * across, x, 0, NULL, 2 * around * across, t, &mesh));
    free(x);
    free(t);
    return mesh;
}

static double processor_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 11;
}

// Points in the band, in a random order.
enum { POINTS = 1 << 17 };
static void choose_points(const hk_sdf *sdf, const hk_sdf_report *r, double (*points)[3])
{
    uint64_t state = 1;
    for (int k = 0; k < POINTS;) {
        for (int i = 0; i < 3; i++)
            points[k][i] = r->bounds[0][i] + (r->bounds[1][i] - r->bounds[0][i]) *
                                                 (double)next_random(&state) / 9007199254740992.0;
        k += fabs(hk_sdf_value(sdf, points[k], NULL, NULL)) < r->band &&
             hk_sdf_covers(sdf, points[k]);
    }
}

static void time_queries(const hk_sdf *sdf, const hk_sdf_report *r, int repeat)
{
    double(*points)[3] = malloc(sizeof(double[POINTS][3])), sum = 0;
    choose_points(sdf, r, points);
    static const char *names[] = {"value", "value and gradient", "value, gradient and Hessian"};
    for (int kind = 0; kind < 3; kind++) {
        double best = INFINITY, g[3], h[9];
        for (int n = 0; n < repeat; n++) {
            double start = processor_seconds();
            for (int k = 0; k < POINTS; k++)
                sum += hk_sdf_value(sdf, points[k], kind > 0 ? g : NULL, kind > 1 ? h : NULL);
            best = fmin(best, processor_seconds() - start);
        }
        printf("  %-28s %6.1f ns at random points of the band\n", names[kind], 1e9 * best / POINTS);
    }
    if (!isfinite(sum)) printf("not finite\n");
    free(points);
}

int main(int argc, char **argv)
{
    options o = parse(argc, argv);
    hk_mesh *mesh = NULL;
    if (o.mesh)
        bench_check(hk_mesh_load(o.mesh, &mesh));
    else
        mesh = torus(o.triangles);
    double wall = INFINITY, processor = INFINITY;
    hk_sdf *sdf = NULL;
    hk_sdf_report r;
    hk_sdf_def def = hk_default_sdf_def();
    def.cells = o.cells;
    def.threads = o.threads;
    for (int n = 0; n <= o.repeat; n++) {  // the first says how large a cell is
        hk_sdf_free(sdf);
        double start = processor_seconds();
        bench_check(hk_sdf_create(mesh, &def, &sdf));
        double used = processor_seconds() - start;
        bench_check(hk_sdf_describe(sdf, &r));
        def.band = o.band * r.cell;
        if (n == 0) continue;
        processor = fmin(processor, used);
        wall = fmin(wall, r.ms / 1e3);
    }
    printf("%lld triangles, %d × %d × %d cells, band %g cells: %lld bricks, %.1f MB\n",
           (long long)r.triangles, r.cells[0], r.cells[1], r.cells[2], o.band, (long long)r.bricks,
           1e-6 * (double)r.bytes);
    printf("  built in %.2f s, %.2f s of processor time\n", wall, processor);
    time_queries(sdf, &r, o.repeat);
    hk_sdf_free(sdf);
    hk_mesh_free(mesh);
    return 0;
}
