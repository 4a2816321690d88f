// Live edits on the device: what a world changes between steps, behind the steps that are launched
// already.
#include "gpu/terms.h"

enum { THREADS = 256 };

// Room for the lists of an edit.
static hk_status need_room(hk_gpu *g, size_t bytes)
{
    if (bytes <= g->edit_bytes) return HK_OK;
    char *workspace;
    HK_TRY(hk_gpu_alloc(g, 2 * bytes, &workspace));
    g->edit_workspace = workspace;
    g->edit_bytes = 2 * bytes;
    return HK_OK;
}

// ---------------------------------------------------------------- forces

static hk_status put_forces(hk_gpu *g, double *external, float4 *force)
{
    const hk_model *m = g->model;
    size_t n = (size_t)m->vertex_count;
    const double *gravity = hk_live_gravity(g->live, m);
    for (size_t k = 0; k < n; k++) {
        int vertex = m->order[g->layout->place[k]];
        double *f = external + 3 * k;
        for (int i = 0; i < 3; i++)
            f[i] = m->mass[vertex] * gravity[i] + hk_live_load(g->live, m, 3 * (int64_t)vertex + i);
        force[k] = make_float4((float)f[0], (float)f[1], (float)f[2], (float)m->mass[vertex]);
    }
    HK_CUDA(cudaMemcpyAsync((void *)g->state.external, external, 3 * n * sizeof(double),
                            cudaMemcpyHostToDevice, g->stream));
    HK_CUDA(cudaMemcpyAsync((void *)g->args.force, force, n * sizeof(float4),
                            cudaMemcpyHostToDevice, g->stream));
    HK_CUDA(cudaStreamSynchronize(g->stream));
    return HK_OK;
}

extern "C" hk_status hk_gpu_set_forces(hk_gpu *g, const hk_live *live)
{
    size_t n = (size_t)g->model->vertex_count;
    g->live = live;
    for (int i = 0; i < 3; i++) g->state.gravity[i] = hk_live_gravity(live, g->model)[i];
    double *external = HK_ARRAY(double, 3 * n);
    float4 *force = HK_ARRAY(float4, n);
    hk_status status = external && force ? put_forces(g, external, force) : HK_NO_MEMORY;
    hk_free(external);
    hk_free(force);
    return status;
}

// ---------------------------------------------------------------- targets

static __global__ void target_kernel(int count, const int *vertex, const double *position,
                                     int *hold, double *targets)
{
    int k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= count) return;
    hold[vertex[k]] = HK_GPU_TARGETED;
    for (int i = 0; i < 3; i++) targets[3 * (int64_t)vertex[k] + i] = position[3 * k + i];
}

// Positions first: they need more alignment.
static hk_status put_targets(hk_gpu *g, int count, const int32_t *vertices, double *position)
{
    size_t bytes = 3 * sizeof(double) * (size_t)count;
    int *number = (int *)(position + 3 * (size_t)count);
    for (int k = 0; k < count; k++) {
        number[k] = g->number[g->model->place[vertices[k]]];
        for (int i = 0; i < 3; i++)
            position[3 * k + i] = g->live->target[3 * (int64_t)vertices[k] + i];
    }
    HK_TRY(need_room(g, bytes + sizeof(int) * (size_t)count));
    HK_CUDA(cudaMemcpyAsync(g->edit_workspace, position, bytes + sizeof(int) * (size_t)count,
                            cudaMemcpyHostToDevice, g->stream));
    const double *from = (const double *)g->edit_workspace;
    target_kernel<<<(count + THREADS - 1) / THREADS, THREADS, 0, g->stream>>>(
        count, (const int *)(from + 3 * (size_t)count), from, (int *)g->state.hold,
        (double *)g->state.targets);
    HK_CUDA(cudaGetLastError());
    HK_CUDA(cudaStreamSynchronize(g->stream));
    return HK_OK;
}

static hk_status need_targets(hk_gpu *g)
{
    double *workspace;
    HK_TRY(hk_gpu_alloc(g, 3 * (size_t)g->model->vertex_count, &workspace));
    g->state.targets = workspace;
    return HK_OK;
}

extern "C" hk_status hk_gpu_set_targets(hk_gpu *g, const hk_live *live, int count,
                                        const int32_t *vertices)
{
    if (count == 0) return HK_OK;
    g->live = live;
    if (!g->state.targets) {
        HK_TRY(need_targets(g));
        HK_TRY(hk_gpu_record(g));  // the step has to know where they are
    }
    char *workspace = (char *)hk_alloc((size_t)count, 3 * sizeof(double) + sizeof(int));
    if (!workspace) return HK_NO_MEMORY;
    hk_status status = put_targets(g, count, vertices, (double *)workspace);
    hk_free(workspace);
    return status;
}

// All those that there are, at set-up.
hk_status hk_gpu_take_targets(hk_gpu *g)
{
    int count = 0;
    int32_t *vertices = HK_ARRAY(int32_t, g->model->vertex_count);
    if (!vertices) return HK_NO_MEMORY;
    for (int v = 0; v < g->model->vertex_count; v++)
        if (hk_live_target(g->live, v)) vertices[count++] = v;
    hk_status status = need_targets(g);
    char *workspace = (char *)hk_alloc((size_t)count + 1, 3 * sizeof(double) + sizeof(int));
    if (status == HK_OK && !workspace) status = HK_NO_MEMORY;
    if (status == HK_OK && count > 0) status = put_targets(g, count, vertices, (double *)workspace);
    hk_free(workspace);
    hk_free(vertices);
    return status;
}

// ---------------------------------------------------------------- grabs

extern "C" hk_status hk_gpu_set_grabs(hk_gpu *g, const hk_live *live, bool *fits)
{
    g->live = live;
    bool shape = live->shape_version != g->live_shape;
    *fits = !shape || !g->run->fits_live || g->run->fits_live(g);
    if (!*fits) return HK_OK;
    if (shape) HK_CUDA(cudaStreamSynchronize(g->stream));
    HK_TRY(hk_gpu_refresh_terms(g, shape));
    if (!shape) return HK_OK;
    if (g->run->take_terms) HK_TRY(g->run->take_terms(g));
    HK_TRY(hk_gpu_rigid_take_grabs(g));
    HK_TRY(hk_gpu_record(g));
    g->live_shape = live->shape_version;
    return HK_OK;
}

// ---------------------------------------------------------------- diagonals

struct live_sum {
    const hk_gpu *g;
    hk_gpu_raised *to;
    hk_status status;
};

// Rows of live elements are bounded by their sums.
static void add_rows(void *context, const hk_weights *w)
{
    live_sum *s = (live_sum *)context;
    double sum = 0;
    for (int k = 0; k < w->count; k++) sum += fabs(w->factor[k]);
    for (int k = 0; k < w->count && s->status == HK_OK; k++) {
        hk_gpu_raised *r = s->to;
        int row = s->g->number[w->vertex[k]], at = 0;
        while (at < r->count && r->row[at] != row) at++;
        if (at == HK_GPU_MOST_RAISED) {
            s->status = hk_fail(HK_UNSUPPORTED, "backend \"cuda\": at most %d vertices are grabbed",
                                HK_GPU_MOST_RAISED);
            return;
        }
        if (at == r->count) {
            r->row[r->count] = row;
            r->by[r->count++] = 0;
        }
        r->by[at] += (float)(w->scale * fabs(w->factor[k]) * sum);
    }
}

hk_status hk_gpu_live_rows(hk_gpu *g, hk_gpu_raised *rows)
{
    rows->count = 0;
    live_sum sum = {g, rows, HK_OK};
    HK_TRY(hk_gpu_visit_live_weights(g, add_rows, &sum));
    return sum.status;
}

// Those of the constant diagonal of descent: what they were is kept, for differences would cost
// digits.
static __global__ void lower_kernel(hk_gpu_raised r, const float4 *kept, float4 *inverse)
{
    if ((int)threadIdx.x < r.count) inverse[r.row[threadIdx.x]] = kept[threadIdx.x];
}

static __global__ void raise_kernel(hk_gpu_raised r, float4 *kept, float4 *inverse)
{
    if ((int)threadIdx.x >= r.count) return;
    float4 p = inverse[r.row[threadIdx.x]];
    kept[threadIdx.x] = p;
    if (!(p.x > 0)) return;
    float by = r.by[threadIdx.x], now = 1 / (1 / p.x + by);
    inverse[r.row[threadIdx.x]] = make_float4(now, now, now, p.w);
}

hk_status hk_gpu_take_live_diagonal(hk_gpu *g)
{
    hk_gpu_raised rows;
    HK_TRY(hk_gpu_live_rows(g, &rows));
    if (rows.count == 0 && g->raised.count == 0) return HK_OK;
    if (!g->kept) HK_TRY(hk_gpu_alloc(g, HK_GPU_MOST_RAISED, &g->kept));
    lower_kernel<<<1, HK_GPU_MOST_RAISED, 0, g->stream>>>(g->raised, g->kept, g->args.inverse);
    raise_kernel<<<1, HK_GPU_MOST_RAISED, 0, g->stream>>>(rows, g->kept, g->args.inverse);
    HK_CUDA(cudaGetLastError());
    g->raised = rows;
    return HK_OK;
}
