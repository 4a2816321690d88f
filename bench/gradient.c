// Throughput of the element kernels: million tets a second for energy + gradient, gradient and
// Hessian diagonal, per material, lane type, size and number of threads.
//
//   bench_gradient [--mesh FILE] [--material NAME] [--seconds S] [--tets N]
#include "bench.h"
#include "model/model.h"
#include "term/tet.h"

typedef struct run {
    hk_tet_term *term;
    void *x, *out;
} run;

static void gradient(void *context)
{
    run *r = context;
    hk_tet_gradient(r->term, r->x, r->out, NULL);
}

static void energy_gradient(void *context)
{
    run *r = context;
    double energy;
    hk_tet_gradient(r->term, r->x, r->out, &energy);
}

static void diagonal(void *context)
{
    run *r = context;
    hk_tet_diagonal(r->term, r->x, r->out);
}

static hk_model *make_model(const hk_mesh *mesh, const char *material)
{
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material.model = material;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    hk_model *model = NULL;
    bench_check(hk_model_create(&def, &model));
    return model;
}

// Positions a little bent, so that nothing is at rest.
static void fill_positions(const hk_model *m, int scalar_size, void *x)
{
    for (int k = 0; k < m->vertex_count; k++)
        for (int i = 0; i < 4; i++) {
            const double *X = m->rest + 3 * (int64_t)m->order[k];
            double value = i == 3 ? 0 : X[i] * (1 + 0.1 * X[(i + 1) % 3]);
            if (scalar_size == 8)
                ((double *)x)[4 * (int64_t)k + i] = value;
            else
                ((float *)x)[4 * (int64_t)k + i] = (float)value;
        }
}

// What one gradient moves at least, bytes a tet: element constants, positions and gradients of the
// vertices (read, and read and written), partial sums of shared vertices (written and read).
static double bytes_per_tet(const hk_tet_term *term, int scalar_size)
{
    double vector = 4.0 * scalar_size, shared = term->shared_start[term->shared_count];
    double constants = 4 * sizeof(int32_t) + 4 * sizeof(uint16_t) + 10.0 * scalar_size;
    return constants + vector * (3.0 * term->vertex_count + 2 * shared) / term->tet_count;
}

static void measure(const hk_model *m, const char *material, const hk_lane_table *lanes,
                    int threads, double seconds)
{
    run r;
    bench_check(hk_tet_term_create(m, lanes, threads, &r.term));
    size_t bytes = 4 * (size_t)m->vertex_count;
    r.x = hk_calloc(bytes, (size_t)lanes->scalar_size);
    r.out = hk_calloc(bytes, (size_t)lanes->scalar_size);
    fill_positions(m, lanes->scalar_size, r.x);
    double g = bench_median(gradient, &r, seconds);
    double e = bench_median(energy_gradient, &r, seconds);
    double d = bench_median(diagonal, &r, seconds);
    double tets = m->tet_count;
    printf("%-20s %-16s %9d %7d %10.1f %10.1f %10.1f %9.1f\n", material, lanes->name, m->tet_count,
           threads, 1e-6 * tets / g, 1e-6 * tets / e, 1e-6 * tets / d,
           1e-9 * tets * bytes_per_tet(r.term, lanes->scalar_size) / g);
    hk_free(r.x);
    hk_free(r.out);
    hk_tet_term_free(r.term);
}

int main(int argc, char **argv)
{
    const char *path = NULL, *only = NULL;
    double seconds = 0.3;
    int tets = 0;
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "--mesh") == 0) path = argv[k + 1];
        if (strcmp(argv[k], "--material") == 0) only = argv[k + 1];
        if (strcmp(argv[k], "--seconds") == 0) seconds = atof(argv[k + 1]);
        if (strcmp(argv[k], "--tets") == 0) tets = atoi(argv[k + 1]);
    }
    bench_machine();
    printf("million tets a second, medians; GB/s is the least traffic of one gradient\n");
    printf("%-20s %-16s %9s %7s %10s %10s %10s %9s\n", "material", "lanes", "tets", "threads",
           "gradient", "+ energy", "diagonal", "GB/s");
    int sizes[2] = {tets ? tets : 50000, 330000};
    for (int s = 0; s < (path || tets ? 1 : 2); s++) {
        hk_mesh *mesh = bench_mesh(path, sizes[s]);
        for (int k = 0; k < hk_material_count(); k++) {
            const char *material = hk_material_name(k);
            if (hk_material_kind(k) != HK_FOR_SOLIDS) continue;
            if (only && strcmp(only, material) != 0) continue;
            hk_model *model = make_model(mesh, material);
            const hk_lane_table *tables[8];
            int count = hk_lanes_available(tables, 8);
            for (int t = 0; t < count; t++) {
                // All tables for one material, the best two for the others.
                if (t >= 2 && strcmp(material, "stable_neo_hookean") != 0) continue;
                measure(model, material, tables[t], 1, seconds);
                if (t < 2) measure(model, material, tables[t], 2, seconds);
            }
            hk_model_free(model);
        }
        hk_mesh_free(mesh);
    }
    return 0;
}
