#include "gpu/global.h"

#include <omp.h>
#include <stdio.h>

enum { THREADS = 128, WARP = 32 };

// x⁺ = x₋ + ω (w D⁻¹(b − A x) + x − x₋), over x₋ (Golub & Varga 1961). At the first, x₋ = 0.
static __global__ void __launch_bounds__(THREADS)
    sweep_kernel(const hk_gpu_global a, const hk_qn_control *control, const float4 *right,
                 const float4 *x, float4 *before, float omega, bool first)
{
    int v = blockIdx.x * THREADS + threadIdx.x;
    int slice = v / WARP, k = 0, last = 0;
    if (v < a.count) {
        k = a.start[slice] + v % WARP;
        last = a.start[slice + 1];
    }
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    if (v >= a.count || !qn_wants_direction(control)) return;
    float4 b = right[v], q = x[v], old = first ? make_float4(0, 0, 0, 0) : before[v];
    float inverse = a.inverse[v];
    float sum[3] = {inverse * b.x - q.x, inverse * b.y - q.y, inverse * b.z - q.z};
#pragma unroll 4
    for (; k < last; k += WARP) {
        int2 e = __ldg((const int2 *)a.entries + k);
        float4 n = x[e.x];
        float w = __int_as_float(e.y);
        sum[0] -= w * n.x;
        sum[1] -= w * n.y;
        sum[2] -= w * n.z;
    }
    bool free = inverse > 0;
    before[v] =
        make_float4(free ? old.x + omega * (a.chebyshev.first * sum[0] + q.x - old.x) : 0,
                    free ? old.y + omega * (a.chebyshev.first * sum[1] + q.y - old.y) : 0,
                    free ? old.z + omega * (a.chebyshev.first * sum[2] + q.z - old.z) : 0, 0);
}

// The right-hand side is read again by every iteration.
hk_status hk_gpu_global_solve(hk_gpu *g, const hk_gpu_global *a, const hk_qn_control *control,
                              const float4 *right)
{
    if (a->cycles) {
        HK_TRY(hk_gpu_multigrid_cycle(g, &a->multigrid, control));
        return hk_gpu_spins_correct(g, &a->spins, control, right, a->multigrid.level[0].solution);
    }
    int blocks = (a->count + THREADS - 1) / THREADS;
    float omega = 1;
    for (int k = 1; k < a->chebyshev.inner; k++) {
        omega = hk_gpu_omega(&a->chebyshev, k, omega);
        const float4 *x = a->iterate[(k + 1) % 2];
        float4 *before = a->iterate[k % 2];
        bool first = k == 1;
        void *args[] = {(void *)a,       (void *)&control, (void *)&right, (void *)&x,
                        (void *)&before, (void *)&omega,   (void *)&first};
        HK_TRY(hk_gpu_launch_some(g, (const void *)sweep_kernel, blocks, THREADS, args));
    }
    return HK_OK;
}

static hk_status set_up(hk_gpu *g, const hk_gpu_laplacian *l, int inner, hk_gpu_global *a)
{
    size_t n = (size_t)l->count, slices = (size_t)hk_gpu_slices(l);
    static_assert(sizeof(hk_gpu_entry) == sizeof(hk_gpu_entry_data), "entries");
    static_assert(sizeof(hk_gpu_entry) == sizeof(int2), "an entry is one load");
    HK_TRY(hk_gpu_upload(g, l->start, slices + 1, &a->start));
    HK_TRY(hk_gpu_upload(g, (const hk_gpu_entry_data *)l->entries, (size_t)l->start[slices],
                         &a->entries));
    HK_TRY(hk_gpu_upload(g, l->inverse, n, &a->inverse));
    for (int k = 0; k < 2; k++) HK_TRY(hk_gpu_alloc(g, n, &a->iterate[k]));
    a->chebyshev = hk_gpu_plan_chebyshev(l, inner);
    return HK_OK;
}

// Rows of the coarsest level: its inverse is read whole.
enum { SMALLEST = 1500 };

static hk_status make_multigrid(hk_gpu *g, const hk_gpu_triangle *numbers, hk_hierarchy **h,
                                hk_gpu_multigrid *to)
{
    HK_TRY(hk_gpu_triangle_hierarchy(numbers, SMALLEST, h));
    return hk_gpu_multigrid_create(g, *h, to);
}

hk_status hk_gpu_matrix_multigrid(hk_gpu *g, const hk_gpu_matrix *matrix, hk_gpu_multigrid *to)
{
    hk_gpu_triangle numbers;
    hk_hierarchy *h = nullptr;
    HK_TRY(hk_gpu_triangle_create(matrix, &numbers));
    hk_status status = make_multigrid(g, &numbers, &h, to);
    hk_hierarchy_free(h);
    hk_gpu_triangle_release(&numbers);
    return status;
}

// Clusters of a body that turn freely (option of quasi_newton); others have none.
static int clusters_of(const hk_gpu *g)
{
    double clusters = hk_setting(&g->settings, "turning");
    return clusters > 0 ? (int)clusters : 0;
}

static hk_status create_spins(hk_gpu *g, const hk_gpu_matrix *matrix,
                              const hk_gpu_triangle *numbers, hk_hierarchy *h, hk_gpu_global *a)
{
    if (clusters_of(g) == 0) return HK_OK;
    hk_multigrid *solver;
    HK_TRY(hk_multigrid_take(h, omp_get_num_procs(), &solver));
    hk_status status = hk_gpu_spins_create(g, matrix, numbers, solver, clusters_of(g), &a->spins);
    hk_multigrid_free(solver);
    return status;
}

static hk_status create_multigrid(hk_gpu *g, const hk_gpu_matrix *matrix, hk_gpu_global *a)
{
    hk_gpu_triangle numbers;
    hk_hierarchy *h = nullptr;
    HK_TRY(hk_gpu_triangle_create(matrix, &numbers));
    hk_status status = make_multigrid(g, &numbers, &h, &a->multigrid);
    if (status == HK_OK) status = create_spins(g, matrix, &numbers, h, a);
    hk_hierarchy_free(h);
    hk_gpu_triangle_release(&numbers);
    return status;
}

static hk_status create_chebyshev(hk_gpu *g, const hk_gpu_matrix *matrix, int inner,
                                  hk_gpu_global *a)
{
    hk_gpu_laplacian *l;
    HK_TRY(hk_gpu_laplacian_create(matrix, &l));
    hk_status status = set_up(g, l, inner, a);
    hk_gpu_laplacian_free(l);
    return status;
}

// Iterations of Chebyshev's method for a solve, 0: as many as the matrix needs; −1: multigrid.
static int inner_of(const hk_gpu *g)
{
    const char *word = hk_setting_word(&g->settings, "global");
    if (!word || strcmp(word, "chebyshev") != 0) return -1;
    double inner = hk_setting(&g->settings, "inner");
    return isnan(inner) ? 0 : (int)inner;  // projective has no such option
}

hk_gpu_matrix hk_gpu_constant_matrix(const hk_gpu *g, const double *weight)
{
    hk_gpu_stage heaviest = hk_gpu_heaviest_stage(g);
    hk_gpu_matrix matrix = {g->model,
                            g->layout->place,
                            weight,
                            heaviest.of.weight + g->damping.air / heaviest.of.h,
                            g->damping.air_per_vertex / heaviest.of.h,
                            g->damping.viscous / heaviest.of.h,
                            0};
    return matrix;
}

static hk_status create(hk_gpu *g, const double *weight, int inner, hk_gpu_global *a)
{
    hk_gpu_matrix matrix = hk_gpu_constant_matrix(g, weight);
    return inner < 0 ? create_multigrid(g, &matrix, a) : create_chebyshev(g, &matrix, inner, a);
}

static hk_status create_weighted(hk_gpu *g, int inner, hk_gpu_global *a)
{
    double *weight = HK_ARRAY(double, g->model->material_count);
    if (!weight) return HK_NO_MEMORY;
    hk_status status = g->method->weights(&g->settings, g->model, weight);
    if (status == HK_OK) status = create(g, weight, inner, a);
    hk_free(weight);
    return status;
}

hk_status hk_gpu_global_create(hk_gpu *g, hk_gpu_global *a)
{
    int inner = inner_of(g);
    a->count = g->model->vertex_count;
    a->cycles = inner < 0;
    a->exact = g->window == 0;
    return create_weighted(g, inner, a);
}

void hk_gpu_global_describe(const hk_gpu_global *a, char *text, size_t size)
{
    if (a->cycles)
        snprintf(
            text, size,
            ", multigrid with %d levels, a cycle reads %.1f times the matrix, %d clusters turn",
            a->multigrid.count, a->multigrid.complexity, a->spins.body_count * a->spins.most);
    else
        snprintf(text, size, ", %d Chebyshev iterations per global step", a->chebyshev.inner);
}

// Row r of D⁻¹A × factor.
static __device__ void scale_row(const hk_gpu_global &a, int r, float factor)
{
    hk_gpu_entry_data *entries = (hk_gpu_entry_data *)a.entries;
    for (int k = a.start[r / WARP] + r % WARP; k < a.start[r / WARP + 1]; k += WARP)
        entries[k].value *= factor;
}

// (D + by) / D of a row.
static __device__ float growth(float inverse, float by)
{
    return 1 + by * inverse;
}

static __global__ void lower_kernel(hk_gpu_global a, hk_gpu_global_live live)
{
    int k = threadIdx.x;
    if (k >= live.raised.count) return;
    int r = live.raised.row[k];
    if (a.cycles) {
        ((float *)a.multigrid.root)[r] = live.kept[k];
        return;
    }
    scale_row(a, r, growth(live.kept[k], live.raised.by[k]));
    ((float *)a.inverse)[r] = live.kept[k];
}

static __global__ void raise_kernel(hk_gpu_global a, hk_gpu_global_live live)
{
    int k = threadIdx.x;
    if (k >= live.raised.count) return;
    int r = live.raised.row[k];
    if (a.cycles) {
        // A cycle with the rows and columns of A⁻¹ scaled is positive definite as before.
        float root = live.kept[k] = a.multigrid.root[r];
        ((float *)a.multigrid.root)[r] = root * rsqrtf(growth(root * root, live.raised.by[k]));
        return;
    }
    float inverse = a.inverse[r], more = growth(inverse, live.raised.by[k]);
    live.kept[k] = inverse;
    scale_row(a, r, 1 / more);
    ((float *)a.inverse)[r] = inverse / more;
}

hk_status hk_gpu_global_take_live(hk_gpu *g, hk_gpu_global *a, hk_gpu_global_live *live)
{
    hk_gpu_raised rows;
    HK_TRY(hk_gpu_live_rows(g, &rows));
    if (rows.count == 0 && live->raised.count == 0) return HK_OK;
    if (!live->kept) HK_TRY(hk_gpu_alloc(g, HK_GPU_MOST_RAISED, &live->kept));
    lower_kernel<<<1, HK_GPU_MOST_RAISED, 0, g->stream>>>(*a, *live);
    if (a->multigrid.count > 0 && a->exact) {
        if (rows.count > 0 && !a->start) HK_TRY(create_weighted(g, 0, a));
        a->cycles = rows.count == 0;
    }
    live->raised = rows;
    raise_kernel<<<1, HK_GPU_MOST_RAISED, 0, g->stream>>>(*a, *live);
    HK_CUDA(cudaGetLastError());
    return HK_OK;
}

float4 *hk_gpu_global_solution(const hk_gpu_global *a)
{
    if (a->cycles) return a->multigrid.level[0].solution;
    return a->iterate[(a->chebyshev.inner + 1) % 2];
}
