// The real-time step of `descent`: milliseconds of a whole time step with 96 iterations on a body
// of 58 thousand tets, the share of each phase, and what an iteration moves and computes against
// what the machine can.
//
//   bench_descent [--mesh FILE] [--steps N] [--iterations N] [--material NAME]
#include "bench.h"
#include "model/model.h"
#include "term/tet.h"

enum { MOST_STEPS = 1000 };

static hk_mesh *make_mesh(const char *path)
{
    if (path) return bench_mesh(path, 0);
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_BOX);
    const int cells[3] = {24, 22, 22};  // 58,080 tets
    for (int i = 0; i < 3; i++) {
        def.cells[i] = cells[i];
        def.size[i] = cells[i] / 22.0;
    }
    hk_mesh *mesh = NULL;
    bench_check(hk_mesh_make(&def, &mesh));
    return mesh;
}

static hk_world *make_world(const hk_model *model, int threads, int iterations)
{
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = 1.0 / 30;
    def.threads = threads;
    def.solver.method = "descent";
    def.solver.iterations = iterations;
    def.solver.tolerance = 1e-12;  // all of them, always
    hk_world *world = NULL;
    bench_check(hk_world_create(&def, &world));
    return world;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof values[0], bench_compare);
    return values[count / 2];
}

// Medians over the steps after the first three.
static void measure(const hk_model *model, const char *material, int threads, int iterations,
                    int steps)
{
    static double all[MOST_STEPS], phase[HK_PHASE_COUNT][MOST_STEPS];
    hk_world *world = make_world(model, threads, iterations);
    int count = 0;
    for (int k = 0; k < steps; k++) {
        hk_step_report r;
        bench_check(hk_world_step(world, &r));
        if (k < 3 || r.iterations != iterations) continue;
        all[count] = r.ms;
        for (int p = 0; p < HK_PHASE_COUNT; p++) phase[p][count] = r.phase_ms[p];
        count++;
    }
    hk_world_free(world);
    if (count == 0) {
        printf("%-20s %7d  no step took all iterations\n", material, threads);
        return;
    }
    double ms = median(all, count);
    printf("%-20s %7d %8.1f", material, threads, ms);
    for (int p = 0; p < HK_PHASE_COUNT; p++)
        if (p != HK_PHASE_FACTOR && p != HK_PHASE_VOLUME)
            printf(" %8.1f%%", 100 * median(phase[p], count) / ms);
    printf(" %10.1f\n", 1e-3 * model->tet_count * iterations / ms);
}

// Least traffic of an iteration, bytes a tet: constants of the elements; positions and forces of
// the vertices and partial sums of shared ones; and the vertex pass, which reads six vectors and
// writes two.
static void print_limits(const hk_model *model)
{
    hk_tet_term *term = NULL;
    bench_check(hk_tet_term_create(model, hk_lanes_best(HK_SINGLE), 1, &term));
    double tets = model->tet_count, vector = 4 * sizeof(float);
    double constants = 4 * sizeof(int32_t) + 4 * sizeof(uint16_t) + 10 * sizeof(float);
    double shared = term->shared_start[term->shared_count];
    double elements = constants + vector * (3.0 * model->vertex_count + 2 * shared) / tets;
    double vertices = vector * 8 * model->vertex_count / tets;
    // Neo-Hookean: edges 9, F 45, cofactors 27, det 5, log and reciprocal about 30, stress 40,
    // forces 45 + 9 + 6; and the vertex pass 36 a vertex.
    double flops = 216 + 36.0 * model->vertex_count / tets;
    printf("an iteration moves at least %.0f + %.0f bytes a tet (elements + vertices) and computes "
           "about %.0f flops a tet\n",
           elements, vertices, flops);
    printf("%.1f MB in all: %s lanes\n", 1e-6 * tets * (elements + vertices), term->lanes->name);
    hk_tet_term_free(term);
}

int main(int argc, char **argv)
{
    const char *path = NULL, *only = NULL;
    int steps = 30, iterations = 96;
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "--mesh") == 0) path = argv[k + 1];
        if (strcmp(argv[k], "--material") == 0) only = argv[k + 1];
        if (strcmp(argv[k], "--steps") == 0) steps = atoi(argv[k + 1]);
        if (strcmp(argv[k], "--iterations") == 0) iterations = atoi(argv[k + 1]);
    }
    steps = steps < MOST_STEPS ? steps : MOST_STEPS;
    bench_machine();
    hk_mesh *mesh = make_mesh(path);
    printf("descent, %d iterations, %d vertices, %d tets, h = 1/30 s; medians of %d steps\n",
           iterations, hk_mesh_vertex_count(mesh), hk_mesh_tet_count(mesh), steps - 3);
    printf("%-20s %7s %8s %9s %9s %9s %9s %10s\n", "material", "threads", "ms/step", "elements",
           "diagonal", "vertices", "other", "Mtet-it/s");
    const char *materials[] = {"neo_hookean", "stable_neo_hookean", "mooney_rivlin", "fung",
                               "stvk",        "corotated",          "spline"};
    for (int k = 0; k < HK_COUNT_OF(materials); k++) {
        if (only && strcmp(only, materials[k]) != 0) continue;
        hk_model *model = bench_held_model(mesh, materials[k], 0.4, 0.01);
        if (k == 0) print_limits(model);
        for (int threads = 1; threads <= 2; threads++)
            measure(model, materials[k], threads, iterations, steps);
        hk_model_free(model);
    }
    hk_mesh_free(mesh);
    return 0;
}
