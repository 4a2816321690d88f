// Trees and the certificate of no intersection: what they cost on surfaces of this many triangles.
//
//   bench_certify [--triangles N] [--threads N] [FILE...]
//
// The shortest of several calls of each; at last a tree of ten times as many small boxes all over a
// cube.
#include <math.h>

#include "bench.h"
#include "contact/certificate.h"
#include "mesh/mesh.h"

static double shortest(double seconds, double now)
{
    return now < seconds ? now : seconds;
}

static bool share_none(const void *context, int32_t first, int32_t second)
{
    const hk_surface *s = context;
    return !hk_share_vertex(3, s->triangles + 3 * (size_t)first, 3,
                            s->triangles + 3 * (size_t)second);
}

typedef struct timing {
    double boxes, build, refit, pairs, filtered, certificate;
    size_t pair_count, filtered_count;
    hk_findings findings;
} timing;

static timing measure(const hk_surface *s, const double *x, int threads, int repeats)
{
    timing t = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, 0, 0, {0}};
    hk_box *boxes = HK_ARRAY(hk_box, s->triangle_count);
    hk_bvh tree = {0};
    hk_pairs pairs = {0};
    hk_certificate *certificate;
    bench_check(hk_certificate_create(s, threads, &certificate));
    for (int k = 0; k < repeats; k++) {
        double a = hk_now();
        hk_primitive_boxes(x, s->triangle_count, 3, s->triangles, threads, boxes);
        double b = hk_now();
        bench_check(hk_bvh_build(&tree, boxes, s->triangle_count, threads));
        double c = hk_now();
        hk_bvh_refit(&tree, boxes, threads);
        double d = hk_now();
        bench_check(hk_bvh_self_pairs(&tree, 0, NULL, NULL, threads, &pairs));
        double e = hk_now();
        t.pair_count = pairs.count;
        bench_check(hk_bvh_self_pairs(&tree, 0, share_none, s, threads, &pairs));
        double f = hk_now();
        t.filtered_count = pairs.count;
        bench_check(hk_certificate_run(certificate, x, NULL, NULL, &t.findings));
        double g = hk_now();
        t.boxes = shortest(t.boxes, b - a);
        t.build = shortest(t.build, c - b);
        t.refit = shortest(t.refit, d - c);
        t.pairs = shortest(t.pairs, e - d);
        t.filtered = shortest(t.filtered, f - e);
        t.certificate = shortest(t.certificate, g - f);
    }
    hk_certificate_free(certificate);
    hk_pairs_free(&pairs);
    hk_bvh_free(&tree);
    hk_free(boxes);
    return t;
}

static void report(const char *name, const hk_mesh *mesh, int threads)
{
    const hk_surface_def def = {.vertex_count = mesh->vertex_count,
                                .tet_count = mesh->tet_count,
                                .tets = mesh->tets,
                                .triangle_count = mesh->triangle_count,
                                .triangles = mesh->triangles};
    hk_surface *s;
    double start = hk_now();
    bench_check(hk_surface_create(&def, &s));
    double made = hk_now() - start;
    for (int n = 1; n <= threads; n *= 2) {
        timing t = measure(s, mesh->positions, n, 9);
        printf("%-10s %9d %7d %8.1f %7.2f %7.2f %7.2f %8.2f %8.2f %9zu %7zu %8.2f %9lld\n", name,
               s->triangle_count, n, 1e3 * made, 1e3 * t.boxes, 1e3 * t.build, 1e3 * t.refit,
               1e3 * t.pairs, 1e3 * t.filtered, t.pair_count, t.filtered_count, 1e3 * t.certificate,
               (long long)t.findings.count);
    }
    hk_surface_free(s);
}

// A torus, wavy so that nothing is flat.
static void report_torus(int triangles, int threads)
{
    int n = (int)sqrt(triangles / 2.0);
    hk_mesh *mesh;
    bench_check(hk_mesh_new(n * n, 0, 2 * n * n, &mesh));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double u = 2 * M_PI * i / n, v = 2 * M_PI * j / n, r = 0.4 + 0.02 * sin(9 * u + 7 * v);
            double *x = mesh->positions + 3 * ((size_t)n * (size_t)i + (size_t)j);
            x[0] = (1 + r * cos(v)) * cos(u);
            x[1] = r * sin(v);
            x[2] = (1 + r * cos(v)) * sin(u);
            int a = n * i + j, b = n * ((i + 1) % n) + j, c = n * i + (j + 1) % n,
                d = n * ((i + 1) % n) + (j + 1) % n;
            memcpy(mesh->triangles + 6 * (size_t)a, (int32_t[6]){a, b, d, a, d, c},
                   6 * sizeof(int32_t));
        }
    report("torus", mesh, threads);
    hk_mesh_free(mesh);
}

// Flat sheets: every pair is a degenerate one. A turned one has no coordinate plane, and its
// triangles are in one plane up to rounding.
static void report_sheet(const char *name, int triangles, bool turned, int threads)
{
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_SHEET);
    def.cells[0] = def.cells[1] = (int)sqrt(triangles / 2.0);
    hk_mesh *mesh;
    bench_check(hk_mesh_make(&def, &mesh));
    if (turned) {
        hk_transform turn = {
            .scale = 1, .axis = {1, 2, 3}, .degrees = 37, .translate = {0.3, 0.2, 0.1}};
        bench_check(hk_mesh_transform(mesh, &turn));
    }
    report(name, mesh, threads);
    hk_mesh_free(mesh);
}

static uint64_t g_state = 1;
static double uniform(void)
{
    g_state = g_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(g_state >> 11) * 0x1p-53;
}

static void report_boxes(int count, int threads)
{
    hk_box *boxes = HK_ARRAY(hk_box, count);
    double size = 1 / cbrt(count);
    for (int b = 0; b < count; b++)
        for (int i = 0; i < 3; i++) {
            boxes[b].low[i] = uniform();
            boxes[b].high[i] = boxes[b].low[i] + size * uniform();
        }
    for (int n = 1; n <= threads; n *= 2) {
        hk_bvh tree = {0};
        hk_pairs pairs = {0};
        double build = INFINITY, refit = INFINITY, query = INFINITY;
        for (int k = 0; k < 5; k++) {
            double a = hk_now();
            bench_check(hk_bvh_build(&tree, boxes, count, n));
            double b = hk_now();
            hk_bvh_refit(&tree, boxes, n);
            double c = hk_now();
            bench_check(hk_bvh_self_pairs(&tree, 0, NULL, NULL, n, &pairs));
            build = shortest(build, b - a);
            refit = shortest(refit, c - b);
            query = shortest(query, hk_now() - c);
        }
        printf("%d boxes, %d threads: build %.1f ms, refit %.1f ms, %zu pairs %.1f ms\n", count, n,
               1e3 * build, 1e3 * refit, pairs.count, 1e3 * query);
        hk_pairs_free(&pairs);
        hk_bvh_free(&tree);
    }
    hk_free(boxes);
}

int main(int argc, char **argv)
{
    int triangles = 100000, threads = 2, files = 0;
    for (int k = 1; k < argc; k++)
        if (strcmp(argv[k], "--triangles") == 0 && k + 1 < argc)
            triangles = atoi(argv[++k]);
        else if (strcmp(argv[k], "--threads") == 0 && k + 1 < argc)
            threads = atoi(argv[++k]);
        else
            files++;
    bench_machine();
    printf("ms          triangles threads  surface   boxes   build   refit    pairs unshared"
           "     pairs unshared    prove      meet\n");
    for (int k = 1; k < argc && files; k++) {
        hk_mesh *mesh;
        if (strncmp(argv[k], "--", 2) == 0 && ++k) continue;
        bench_check(hk_mesh_load(argv[k], &mesh));
        report(strrchr(argv[k], '/') ? strrchr(argv[k], '/') + 1 : argv[k], mesh, threads);
        hk_mesh_free(mesh);
    }
    if (files) return 0;
    report_torus(triangles, threads);
    report_sheet("flat", triangles, false, threads);
    report_sheet("turned", triangles, true, threads);
    report_boxes(10 * triangles, threads);
    return 0;
}
