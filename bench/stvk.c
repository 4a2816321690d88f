// Forms of stvk side by side, nanoseconds of CPU time per tet on one thread:
//   tensor   from the invariants of F, as isotropic laws have it
//   strain   what the law does: P = F S, exact stiffness without a decomposition
//   edges    in the frame of the rest edges, six numbers per tet (double precision)
//   matrix   forces along the edges by a 6 × 6 matrix, 27 numbers per tet
// and how much faster than `tensor` they are. Forms take turns; medians of all rounds.
//
//   bench_stvk [--rounds N] [--tets N] [--penalty 0|1]
#include "bench.h"
#include "model/model.h"
#include "stvk/kernels.h"
#include "term/scalar.h"
#include "term/tet.h"

extern const stvk_forms stvk_f64x2_generic, stvk_f32x4_generic;
#if HK_STVK_WIDE
extern const stvk_forms stvk_f64x4_avx2, stvk_f32x8_avx2, stvk_f64x8_avx512, stvk_f32x16_avx512;
#endif

static const stvk_forms *const g_forms[] = {
    &stvk_f64x2_generic, &stvk_f32x4_generic,
#if HK_STVK_WIDE
    &stvk_f64x4_avx2,    &stvk_f32x8_avx2,    &stvk_f64x8_avx512, &stvk_f32x16_avx512,
#endif
};

enum { TENSOR, STRAIN, EDGES, MATRIX, FORM_COUNT };
enum { ENERGY, GRADIENT, BOTH, DIAGONAL, EXACT, PROJECTED, WORK_COUNT };
static const char *const g_work[WORK_COUNT] = {"energy",   "force", "energy + force",
                                               "diagonal", "exact", "projected"};
enum { MOST_ROUNDS = 1001 };

typedef struct run {
    const hk_model *model;
    hk_tet_term *term;
    const stvk_forms *forms;
    void *x;          // positions, or displacements in single precision
    void *positions;  // for `matrix`
    void *rest;       // the base of displacements
    void *constants;  // of `matrix`
    void *blocks;     // of one patch
} run;

// Positions a little bent, so that nothing is at rest.
static void fill_positions(const hk_model *m, int size, bool displacements, void *x)
{
    for (int k = 0; k < m->vertex_count; k++)
        for (int i = 0; i < 3; i++) {
            const double *X = m->rest + 3 * (int64_t)m->order[k];
            double moved = 0.1 * X[i] * X[(i + 1) % 3];
            hk_store_scalar(x, size, 4 * (int64_t)k + i, displacements ? moved : X[i] + moved);
        }
}

// C of a tet: FᵀF = −½ Σ_e s_e (g_a g_bᵀ + g_b g_aᵀ) with the shape gradients g.
static void edge_constants(const hk_model *m, int tet, double *constants)
{
    static const int ends[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    const int32_t *corner = m->tets + 4 * (int64_t)tet;
    const double *c = m->materials[m->tet_material[tet]].params.c;
    double inverse[9], g[4][3] = {{0}}, dot[4][4] = {{0}};
    hk_rest_inverse(m, tet, inverse);
    for (int k = 0; k < 9; k++) {
        g[1 + k / 3][k % 3] = inverse[k];
        g[0][k % 3] -= inverse[k];
    }
    for (int k = 0; k < 48; k++) dot[k / 12][k / 3 % 4] += g[k / 12][k % 3] * g[k / 3 % 4][k % 3];
    for (int e = 0, q = 0; e < 6; e++) {
        int a = ends[e][0], b = ends[e][1];
        for (int f = e; f < 6; f++, q++) {
            int d = ends[f][0], h = ends[f][1];
            constants[q] = 0.25 * m->volume[tet] *
                           (c[1] * dot[a][b] * dot[d][h] +
                            c[0] * (dot[a][d] * dot[b][h] + dot[a][h] * dot[b][d]));
        }
        constants[21 + e] = 0;
        for (int i = 0; i < 3; i++) {
            double edge = m->rest[3 * (int64_t)corner[b] + i] - m->rest[3 * (int64_t)corner[a] + i];
            constants[21 + e] += edge * edge;
        }
    }
}

static void fill_constants(run *r)
{
    const hk_tet_batch *b = &r->term->batches[0];
    int width = r->term->lanes->lanes, size = r->term->lanes->scalar_size;
    for (int k = 0; k < b->blocks * width; k++) {
        double constants[STVK_MATRIX];
        edge_constants(r->model, b->tet[k], constants);
        for (int q = 0; q < STVK_MATRIX; q++)
            hk_store_scalar(r->constants, size,
                            ((int64_t)(k / width) * STVK_MATRIX + q) * width + k % width,
                            k < b->count || q >= 21 ? constants[q] : 0);
    }
}

static run make_run(const hk_model *m, const hk_lane_table *lanes, const stvk_forms *forms)
{
    run r = {.model = m, .forms = forms};
    bench_check(hk_tet_term_create(m, lanes, 1, &r.term));
    hk_tet_batch *b = &r.term->batches[0];
    size_t size = (size_t)lanes->scalar_size, vertices = 4 * (size_t)m->vertex_count;
    size_t elements = (size_t)b->blocks * (size_t)lanes->lanes;
    bool single = size == sizeof(float);
    r.x = hk_calloc(vertices, size);
    r.positions = hk_calloc(vertices, size);
    r.rest = hk_calloc(vertices, size);
    r.constants = hk_calloc(STVK_MATRIX * elements, size);
    r.blocks = hk_calloc(HK_TET_STIFFNESS * HK_PATCH_TETS, size);
    if (single) {  // as in views: from rest
        b->base = r.rest;
        b->start = hk_calloc(9 * elements, size);
    }
    fill_positions(m, (int)size, single, r.x);
    fill_positions(m, (int)size, false, r.positions);
    fill_constants(&r);
    return r;
}

static void free_run(run *r)
{
    hk_tet_term_free(r->term);
    hk_free(r->x);
    hk_free(r->positions);
    hk_free(r->rest);
    hk_free(r->constants);
    hk_free(r->blocks);
}

static const hk_tet_kernels *kernels_of(const run *r, int form)
{
    const hk_lane_table *lanes = r->term->lanes;
    if (form == TENSOR) return &r->forms->tensors;
    if (form == STRAIN) return &lanes->law[HK_LAW_stvk];
    return form == EDGES && lanes->edges.energy ? &lanes->edges : NULL;
}

static bool can(const run *r, int form, int work)
{
    bool penalty = r->model->materials[0].params.c[2] != 0;
    if (form == MATRIX) return !penalty && (work == GRADIENT || work == BOTH);
    return kernels_of(r, form) != NULL;
}

static void work_on(const run *r, int form, int work, const hk_tet_patch *p)
{
    const hk_tet_batch *b = &r->term->batches[p->batch];
    const hk_tet_kernels *k = kernels_of(r, form);
    void *slots = r->term->slots;
    double energy;
    if (form == MATRIX)
        r->forms->matrix(b, r->constants, r->positions, p->first, p->last, slots,
                         work == BOTH ? &energy : NULL);
    else if (work == ENERGY)
        k->energy(b, r->x, p->first, p->last);
    else if (work == GRADIENT || work == BOTH)
        k->gradient(b, r->x, p->first, p->last, slots, work == BOTH ? &energy : NULL);
    else if (work == DIAGONAL)
        k->diagonal(b, r->x, p->first, p->last, slots);
    else
        k->stiffness(b, r->x, p->first, p->last, work == EXACT, r->blocks);
}

// Nanoseconds per tet.
static double time_once(const run *r, int form, int work)
{
    double begin = bench_cpu();
    for (int k = 0; k < r->term->patch_count; k++) work_on(r, form, work, &r->term->patches[k]);
    return 1e9 * (bench_cpu() - begin) / r->model->tet_count;
}

static double median_of(double *times, int count)
{
    qsort(times, (size_t)count, sizeof times[0], bench_compare);
    return times[count / 2];
}

static void print_row(const run *r, int work, int rounds)
{
    static double times[FORM_COUNT][MOST_ROUNDS];
    for (int k = 0; k < rounds; k++)
        for (int form = 0; form < FORM_COUNT; form++)
            if (can(r, form, work)) times[form][k] = time_once(r, form, work);
    double tensor = median_of(times[TENSOR], rounds);
    printf("%-16s %8d %-15s %8.1f", r->term->lanes->name, r->model->tet_count, g_work[work],
           tensor);
    for (int form = STRAIN; form < FORM_COUNT; form++) {
        if (!can(r, form, work)) {
            printf("  %8s       ", "");
            continue;
        }
        double time = median_of(times[form], rounds);
        printf("  %8.1f (%4.2f)", time, tensor / time);
    }
    printf("\n");
}

static void measure(const hk_model *m, int rounds)
{
    const hk_lane_table *tables[8];
    int count = hk_lanes_available(tables, 8);
    for (int t = 0; t < count; t++)
        for (int k = 0; k < HK_COUNT_OF(g_forms); k++) {
            if (strcmp(g_forms[k]->name, tables[t]->name) != 0) continue;
            run r = make_run(m, tables[t], g_forms[k]);
            for (int work = 0; work < WORK_COUNT; work++) print_row(&r, work, rounds);
            free_run(&r);
        }
}

static hk_model *make_model(int tets, bool penalty)
{
    hk_mesh *mesh = bench_mesh(NULL, tets);
    hk_body_def body = hk_default_body_def();
    hk_model_def def = hk_default_model_def();
    body.mesh = mesh;
    body.material = bench_material("stvk", 0.3);
    if (penalty) {  // Extreme section 4.1
        double k = 0.1 * body.material.young / (6 * (1 - 2 * body.material.poisson));
        body.material.parameters[body.material.parameter_count++] =
            (hk_parameter){"volume_penalty", k};
    }
    def.bodies = &body;
    def.body_count = 1;
    hk_model *model = NULL;
    bench_check(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

int main(int argc, char **argv)
{
    int sizes[2] = {5000, 50000}, count = 2, rounds = 21, penalty = -1;
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "--rounds") == 0) rounds = atoi(argv[k + 1]);
        if (strcmp(argv[k], "--penalty") == 0) penalty = atoi(argv[k + 1]);
        if (strcmp(argv[k], "--tets") == 0) {
            sizes[0] = atoi(argv[k + 1]);
            count = 1;
        }
    }
    rounds = rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
    bench_machine();
    for (int with = 0; with < 2; with++) {
        if (penalty >= 0 && with != penalty) continue;
        printf("\nns of CPU time per tet (times faster than tensor)%s\n",
               with ? ", with the volume penalty" : "");
        printf("%-16s %8s %-15s %8s  %8s %6s  %8s %6s  %8s\n", "lanes", "tets", "", "tensor",
               "strain", "", "edges", "", "matrix");
        for (int s = 0; s < count; s++) {
            hk_model *model = make_model(sizes[s], with);
            measure(model, rounds);
            hk_model_free(model);
        }
    }
    return 0;
}
