#include "gpu/clusters.h"

#include <omp.h>

#include "linear/multigrid_cg.h"
#include "solver/rotation_correction.h"

// What is left of a right-hand side: a stiff body turns by a small difference (prepare in
// rotation_correction.c), and errors of τ are as the square of this.
#define SOLVED 1e-11

// For the time of creation.
typedef struct builder {
    const hk_gpu_matrix *matrix;
    hk_gpu_triangle triangle;
    hk_multigrid_cg *solver;
    int32_t *unknown;  // [vertex_count] of a vertex along the Morton curve, -1: held
    int32_t *number;   // [vertex_count] the same for all vertices
    hk_rotation_correction *correction;
} builder;

static hk_status solve(void *context, const double *b, double *x)
{
    hk_multigrid_cg_solve(((builder *)context)->solver, SOLVED, b, x);
    return HK_OK;
}

static hk_status make_solver(builder *b)
{
    const hk_gpu_matrix *from = b->matrix;
    HK_TRY(hk_gpu_triangle_create(from, &b->triangle));
    int threads = from->threads > 0 ? from->threads : omp_get_num_procs();
    return hk_multigrid_cg_create(&b->triangle.pattern, b->triangle.value, threads, &b->solver);
}

static hk_status make_correction(builder *b, int most)
{
    const hk_model *m = b->matrix->model;
    b->unknown = HK_ARRAY(int32_t, m->vertex_count);
    b->number = HK_ARRAY(int32_t, m->vertex_count);
    uint8_t *turns = HK_ARRAY(uint8_t, m->material_count);
    hk_status status = b->unknown && b->number && turns ? HK_OK : HK_NO_MEMORY;
    for (int k = 0; k < m->vertex_count && status == HK_OK; k++) {
        b->number[b->matrix->place[k]] = k;
        b->unknown[b->matrix->place[k]] = hk_gpu_matrix_is_free(b->matrix, k) ? k : -1;
    }
    for (int k = 0; k < m->material_count && turns; k++) turns[k] = 1;
    hk_rotation_correction_def def = {.model = m,
                                      .solve = solve,
                                      .context = b,
                                      .count = m->vertex_count,
                                      .unknown = b->unknown,
                                      .stiffness = b->matrix->weight,
                                      .turns = turns,
                                      .length = 1,
                                      .clusters = most,
                                      .threads = 1};
    if (status == HK_OK) status = hk_rotation_correction_create(&def, &b->correction);
    if (status == HK_OK) status = hk_rotation_correction_prepare(b->correction);
    hk_free(turns);
    return status;
}

// ---------------------------------------------------------------- copies

static int64_t column_size(const hk_rotation_body *of)
{
    int64_t blocks = (of->unknowns + HK_ROTATION_BLOCK - 1) / HK_ROTATION_BLOCK;
    return blocks * 3 * of->clusters * HK_ROTATION_BLOCK;
}

static hk_status allocate(const builder *b, hk_gpu_clusters *c)
{
    int64_t entries = 0;
    for (int k = 0; k < hk_rotation_correction_bodies(b->correction); k++) {
        hk_rotation_body of = hk_rotation_correction_body(b->correction, k);
        int64_t n = 3 * (int64_t)of.clusters;
        hk_gpu_turner *t = &c->turners[of.body];
        *t = (hk_gpu_turner){of.clusters, c->count, c->column_count, c->tau_count, c->system_count};
        c->count += of.clusters;
        c->column_count += column_size(&of);
        c->tau_count += n * n;
        c->system_count += n * (n + 1);
        entries += of.start[of.clusters];
    }
    if (entries > INT32_MAX)
        return hk_fail(HK_UNSUPPORTED, "backend \"cuda\": too many vertices for method split");
    c->start = HK_ZEROS(int32_t, c->count + 1);
    c->entries = HK_ARRAY(hk_gpu_cluster_entry, entries);
    c->inverse_weight = HK_ARRAY(double, c->count);
    c->slot = HK_ARRAY(int32_t, c->vertex_count);
    c->columns = HK_ARRAY(float, c->column_count);
    c->tau = HK_ARRAY(double, c->tau_count);
    bool complete = c->start && c->entries && c->inverse_weight && c->slot && c->columns && c->tau;
    return complete ? HK_OK : HK_NO_MEMORY;
}

static void copy_body(const builder *b, const hk_rotation_body *of, hk_gpu_clusters *c)
{
    const hk_model *m = b->matrix->model;
    const hk_gpu_turner *t = &c->turners[of->body];
    int first = m->bodies[of->body].vertex_start;
    for (int k = 0; k < of->clusters; k++) {
        int32_t *at = &c->start[t->first + k];
        at[1] = at[0] + of->start[k + 1] - of->start[k];
        c->inverse_weight[t->first + k] = 1 / of->weight[k];
        for (int e = of->start[k]; e < of->start[k + 1]; e++) {
            hk_gpu_cluster_entry *to = &c->entries[at[0] + e - of->start[k]];
            to->vertex = b->number[m->place[first + of->entries[e].vertex]];
            memcpy(to->slope, of->entries[e].slope, sizeof to->slope);
        }
    }
    for (int k = 0; k < of->unknowns; k++) c->slot[of->row[k]] = k;
    memcpy(c->columns + t->columns, of->columns, sizeof(float) * (size_t)column_size(of));
    memcpy(c->tau + t->tau, of->tau, 9 * sizeof(double) * (size_t)of->clusters * of->clusters);
}

static hk_status build(builder *b, int most, hk_gpu_clusters *c)
{
    const hk_model *m = b->matrix->model;
    _Static_assert((int)HK_GPU_COLUMN_BLOCK == (int)HK_ROTATION_BLOCK, "columns");
    HK_TRY(make_solver(b));
    HK_TRY(make_correction(b, most));
    c->vertex_count = m->vertex_count;
    c->body_count = m->body_count;
    c->turners = HK_ZEROS(hk_gpu_turner, m->body_count);
    if (!c->turners) return HK_NO_MEMORY;
    HK_TRY(allocate(b, c));
    for (int k = 0; k < m->vertex_count; k++) c->slot[k] = -1;
    for (int k = 0; k < hk_rotation_correction_bodies(b->correction); k++) {
        hk_rotation_body of = hk_rotation_correction_body(b->correction, k);
        copy_body(b, &of, c);
    }
    return HK_OK;
}

hk_status hk_gpu_clusters_create(const hk_gpu_matrix *matrix, int most, hk_gpu_clusters **clusters)
{
    builder b = {.matrix = matrix};
    hk_gpu_clusters *c = HK_NEW(hk_gpu_clusters);
    hk_status status = c ? build(&b, most, c) : HK_NO_MEMORY;
    hk_rotation_correction_free(b.correction);
    hk_multigrid_cg_free(b.solver);
    hk_gpu_triangle_release(&b.triangle);
    hk_free(b.unknown);
    hk_free(b.number);
    if (status != HK_OK) {
        hk_gpu_clusters_free(c);
        return status;
    }
    *clusters = c;
    return HK_OK;
}

void hk_gpu_clusters_free(hk_gpu_clusters *c)
{
    if (!c) return;
    hk_free(c->turners);
    hk_free(c->start);
    hk_free(c->entries);
    hk_free(c->inverse_weight);
    hk_free(c->slot);
    hk_free(c->columns);
    hk_free(c->tau);
    hk_free(c);
}
