#include "linear/factor_parts.h"

#include <math.h>
#include <omp.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

typedef float v4 __attribute__((vector_size(16), may_alias));
typedef float v8 __attribute__((vector_size(32), may_alias));
typedef float v16 __attribute__((vector_size(64), may_alias));
typedef float v16u __attribute__((vector_size(64), may_alias, aligned(4)));
typedef double d2 __attribute__((vector_size(16), may_alias));
typedef double d4 __attribute__((vector_size(32), may_alias));
typedef double d8 __attribute__((vector_size(64), may_alias));

// Keeps a compiler from reading a number three times instead of once.
#define IN_REGISTER(x)
#define TARGET
#define NAME(x) x##_generic
#define LANES   4
#define VEC     v4
#define DVEC    d2
#include "linear/factor_kernels.inl"
#undef TARGET
#undef NAME
#undef LANES
#undef VEC
#undef DVEC
#ifdef __x86_64__
#undef IN_REGISTER
#define IN_REGISTER(x) __asm__("" : "+x"(x))
#define TARGET         __attribute__((target("avx2,fma")))
#define NAME(x)        x##_avx2
#define LANES          8
#define VEC            v8
#define DVEC           d4
#include "linear/factor_kernels.inl"
#undef TARGET
#undef NAME
#undef LANES
#undef VEC
#undef DVEC
#undef IN_REGISTER
#define IN_REGISTER(x) __asm__("" : "+v"(x))
#define TARGET         __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")))
#define NAME(x)        x##_avx512
#define LANES          16
#define VEC            v16
#define DVEC           d8
#include "linear/factor_kernels.inl"
#undef TARGET
#undef NAME
#undef LANES
#undef VEC
#undef DVEC
#endif
#undef IN_REGISTER

#define KERNELS(lanes, x)                                                                 \
    {                                                                                     \
        lanes, rescale_##x, forward_##x, backward_##x, forward_one_##x, backward_one_##x, \
            product_##x, subtract_product_##x                                             \
    }
static const hk_factor_kernels KERNELS_GENERIC = KERNELS(4, generic);
#ifdef __x86_64__
static const hk_factor_kernels KERNELS_AVX2 = KERNELS(8, avx2);
static const hk_factor_kernels KERNELS_AVX512 = KERNELS(16, avx512);
#endif

// The widest that the machine has, of at most so many lanes.
static const hk_factor_kernels *best_kernels(int most_lanes)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    if (most_lanes >= 16 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        return &KERNELS_AVX512;
    if (most_lanes >= 8 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &KERNELS_AVX2;
#endif
    (void)most_lanes;
    return &KERNELS_GENERIC;
}

int hk_factor_use_lanes(hk_factor *t, int most_lanes)
{
    t->kernels = best_kernels(most_lanes);
    return t->kernels->lanes;
}

static bool worth_a_team(const hk_factor *t)
{
    return t->threads > 1 && t->group_count > 1;
}

// ---------------------------------------------------------------- numbers

// A node of L has the triangle D on its diagonal and B below. With Δ the diagonal of D, the solve
// needs T = [Δ D⁻¹ − 1; −B D⁻¹]: forward x += T x(own) for all its rows at once, then x = Δ⁻² x,
// backward x(own) += Tᵀ x. Everything is one product, and no row waits for another.

// D⁻¹, [k][MOST_COLUMNS] by rows.
static void invert_diagonal(const double *corner, int64_t stride, int columns, double *inverse)
{
    for (int r = 0; r < columns; r++) {
        double *row = inverse + (int64_t)r * MOST_COLUMNS;
        memset(row, 0, sizeof(double) * (size_t)((columns + CHUNK - 1) / CHUNK * CHUNK));
        for (int k = 0; k < r; k++) {
            double l = corner[r + k * stride];
            const double *other = inverse + (int64_t)k * MOST_COLUMNS;
            for (int c = 0; c <= k; c++) row[c] -= l * other[c];
        }
        double pivot = 1 / corner[r + r * stride];
        for (int c = 0; c < r; c++) row[c] *= pivot;
        row[r] = pivot;
    }
}

// 16 rows of [−Δ; B], one row for each lane: strip[column][16].
static void fill_strip(const double *corner, int64_t stride, int columns, int64_t real, int row,
                       double *strip)
{
    memset(strip, 0, sizeof(double) * (size_t)(ROWS * columns));
    for (int l = 0; l < ROWS && row + l < columns; l++)
        strip[ROWS * (row + l) + l] = -corner[(row + l) * (stride + 1)];
    int low = hk_max_int(columns - row, 0), high = (int)(real - row < ROWS ? real - row : ROWS);
    for (int c = 0; c < columns; c++)
        for (int l = low; l < high; l++) strip[ROWS * c + l] = corner[row + l + c * stride];
}

// The diagonal of Δ D⁻¹ − 1, which the product has as 1.
static void clear_diagonal(int row, int at, int width, int lanes, float *to)
{
    for (int c = 0; c < width; c++)
        if (at + c >= row && at + c < row + lanes) to[lanes * c + at + c - row] = 0;
}

typedef struct workspace {
    double inverse[MOST_COLUMNS * MOST_COLUMNS];
    double strip[ROWS * MOST_COLUMNS + HALF];
} workspace;

static void fill_node(const hk_factor *t, const node *n, const hk_supernodes *s, workspace *w)
{
    int64_t stride = hk_supernode_rows(s, n->source), real = stride - n->source_column;
    int columns = n->last - n->first;
    const double *corner = s->value + s->value_start[n->source] + n->source_column * (stride + 1);
    for (int c = 0; c < columns; c++) {
        double pivot = corner[c * (stride + 1)];
        t->scale[n->first + c] = (float)(1 / (pivot * pivot));
    }
    invert_diagonal(corner, stride, columns, w->inverse);
    int most = columns <= NARROW ? HALF : ROWS;
    for (int row = 0; row < n->rows; row += most) {
        int lanes = hk_min_int(most, n->rows - row);
        fill_strip(corner, stride, columns, real, row, w->strip);
        float *chunk = t->value + n->value;
        for (int at = 0; at < columns && at / ROWS * ROWS <= row; at += CHUNK) {
            int width = hk_min_int(columns - at, CHUNK), skip = at / ROWS * ROWS;
            float *to = chunk + (int64_t)width * (row - skip);
            t->kernels->product(w->strip, w->inverse, columns, at, width, lanes, to);
            clear_diagonal(row, at, width, lanes, to);
            chunk += (int64_t)width * (n->rows - skip);
        }
    }
}

static hk_status fill(hk_factor *t, const hk_supernodes *s)
{
    workspace *work = HK_ARRAY(workspace, t->threads);
    if (!work) return HK_NO_MEMORY;
#pragma omp parallel for schedule(dynamic, 8) num_threads(t->threads) if (worth_a_team(t))
    for (int k = t->node_count - 1; k >= 0; k--)
        fill_node(t, &t->nodes[k], s, &work[omp_get_thread_num()]);
    hk_free(work);
    return HK_OK;
}

hk_status hk_factor_fill(hk_factor *t, const hk_direct *direct)
{
    hk_supernodes s;
    HK_TRY(hk_direct_supernodes(direct, &s));
    return fill(t, &s);
}

// ---------------------------------------------------------------- creation

// Asks for large pages (a hint: it may do nothing). Streams of many megabytes otherwise wait for
// the translation of an address every 4 KB.
static void ask_large_pages(void *block, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t page = (uintptr_t)2 << 20;
    uintptr_t begin = ((uintptr_t)block + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)block + bytes) / page * page;
    if (end > begin) madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
    (void)block, (void)bytes;
#endif
}

static hk_status build(hk_factor *t, const hk_supernodes *s)
{
    HK_TRY(hk_factor_plan(t, s));
    t->value = HK_ARRAY(float, t->value_count);
    t->scale = HK_ARRAY(float, t->count);
    t->x = HK_ZEROS(float, 4 * ((size_t)t->count + (size_t)t->left_count));
    t->workspace = HK_ARRAY(float, (size_t)t->threads *(size_t)t->workspace_size);
    t->residual = HK_ARRAY(double, 4 * (size_t)t->count);
    if (!t->value || !t->scale || !t->x || !t->workspace || !t->residual) return HK_NO_MEMORY;
    ask_large_pages(t->value, sizeof(float) * (size_t)t->value_count);
    return fill(t, s);
}

static hk_status create(const hk_supernodes *s, int threads, hk_factor **triangle)
{
    hk_factor *t = HK_NEW(hk_factor);
    if (!t) return HK_NO_MEMORY;
    t->threads = threads;
    hk_factor_use_lanes(t, 16);
    hk_status status = build(t, s);
    if (status != HK_OK) {
        hk_factor_free(t);
        return status;
    }
    *triangle = t;
    return HK_OK;
}

hk_status hk_factor_create(const hk_direct *direct, int threads, hk_factor **triangle)
{
    hk_supernodes s;
    HK_TRY(hk_direct_supernodes(direct, &s));
    return create(&s, threads, triangle);
}

hk_status hk_factor_update_from(const hk_supernodes *s, int threads, hk_factor **triangle)
{
    return *triangle ? fill(*triangle, s) : create(s, threads, triangle);
}

hk_status hk_factor_update(const hk_direct *direct, int threads, hk_factor **triangle)
{
    hk_supernodes s;
    HK_TRY(hk_direct_supernodes(direct, &s));
    return hk_factor_update_from(&s, threads, triangle);
}

void hk_factor_free(hk_factor *t)
{
    if (!t) return;
    hk_free(t->nodes);
    hk_free(t->row);
    hk_free(t->value);
    hk_free(t->scale);
    hk_free(t->groups);
    hk_free(t->group_node);
    hk_free(t->child);
    hk_free(t->left);
    hk_free(t->x);
    hk_free(t->workspace);
    hk_free(t->residual);
    hk_free(t);
}

float *hk_factor_vector(hk_factor *t)
{
    return t->x;
}

int64_t hk_factor_bytes(const hk_factor *t)
{
    return (int64_t)sizeof(float) * t->value_count + (int64_t)sizeof(int32_t) * t->row_count;
}

// ---------------------------------------------------------------- the solve

static float *own_workspace(const hk_factor *t)
{
    return t->workspace + (int64_t)omp_get_thread_num() * t->workspace_size;
}

// A vector with three numbers an unknown, in places for four, or with one.
typedef struct vector {
    float *x;
    bool one;
} vector;

static void take_up(const hk_factor *t, vector v, const group *child)
{
    if (v.one) {
        const float *left = v.x + t->count;
        for (int e = child->left_begin; e < child->left_end; e++) v.x[t->left[e]] += left[e];
        return;
    }
    const float *left = v.x + 4 * (int64_t)t->count;
    for (int64_t e = child->left_begin; e < child->left_end; e++)
        *(v4 *)(v.x + 4 * (int64_t)t->left[e]) += *(const v4 *)(left + 4 * e);
}

// Takes up what the children left, one after the other, then eliminates the group's own unknowns.
static void forward_group(const hk_factor *t, vector v, const group *g)
{
    int64_t stride = v.one ? 1 : 4;
    memset(v.x + stride * ((int64_t)t->count + g->left_begin), 0,
           sizeof(float) * (size_t)(stride * (g->left_end - g->left_begin)));
    for (int c = g->child_begin; c < g->child_end; c++) take_up(t, v, &t->groups[t->child[c]]);
    hk_factor_pass *forward = v.one ? t->kernels->forward_one : t->kernels->forward;
    float *own = own_workspace(t);
    for (int k = g->node_begin; k < g->node_end; k++)
        forward(&t->nodes[t->group_node[k]], t->value, t->row, v.x, own);
}

// The solution above, from the parent.
static void hand_down(const hk_factor *t, vector v, const group *g)
{
    if (v.one) {
        float *left = v.x + t->count;
        for (int e = g->left_begin; e < g->left_end; e++) left[e] = v.x[t->left[e]];
        return;
    }
    float *left = v.x + 4 * (int64_t)t->count;
    for (int64_t e = g->left_begin; e < g->left_end; e++)
        *(v4 *)(left + 4 * e) = *(v4 *)(v.x + 4 * (int64_t)t->left[e]);
}

// Between the passes: x = Δ⁻² x for a node's own unknowns.
static void rescale(const hk_factor *t, vector v, const node *n)
{
    if (!v.one)
        t->kernels->rescale(n, t->scale, v.x);
    else
        for (int c = n->first; c < n->last; c++) v.x[c] *= t->scale[c];
}

// Takes the solution above from the parent, then solves for the group's own unknowns.
static void backward_group(const hk_factor *t, vector v, const group *g)
{
    hand_down(t, v, g);
    hk_factor_pass *backward = v.one ? t->kernels->backward_one : t->kernels->backward;
    float *own = own_workspace(t);
    for (int k = g->node_end - 1; k >= g->node_begin; k--) {
        const node *n = &t->nodes[t->group_node[k]];
        rescale(t, v, n);
        backward(n, t->value, t->row, v.x, own);
    }
}

// The tree below a group, its children as tasks: no thread waits for others that have not begun.
static void forward_tree(const hk_factor *t, vector v, const group *g)
{
    for (int c = g->child_begin; c < g->child_end; c++) {
#pragma omp task
        forward_tree(t, v, &t->groups[t->child[c]]);
    }
#pragma omp taskwait
    forward_group(t, v, g);
}

static void backward_tree(const hk_factor *t, vector v, const group *g)
{
    backward_group(t, v, g);
    for (int c = g->child_begin; c < g->child_end; c++) {
#pragma omp task
        backward_tree(t, v, &t->groups[t->child[c]]);
    }
}

static void solve_with_team(const hk_factor *t, vector v)
{
#pragma omp parallel num_threads(t->threads)
#pragma omp single
    {
        for (int g = 0; g < t->group_count; g++)
            if (t->groups[g].parent < 0) {
#pragma omp task
                {
                    forward_tree(t, v, &t->groups[g]);
                    backward_tree(t, v, &t->groups[g]);
                }
            }
    }
}

static void solve_alone(const hk_factor *t, vector v)
{
    // Parents come before their children. The way back begins with what is still in the caches.
    for (int g = t->group_count - 1; g >= 0; g--) forward_group(t, v, &t->groups[g]);
    for (int g = 0; g < t->group_count; g++) backward_group(t, v, &t->groups[g]);
}

static void solve(const hk_factor *t, vector v)
{
    if (worth_a_team(t))
        solve_with_team(t, v);
    else
        solve_alone(t, v);
}

int64_t hk_factor_extra(const hk_factor *t)
{
    return t->left_count;
}

void hk_factor_solve_alone(const hk_factor *t, float *x)
{
    solve_alone(t, (vector){x, false});
}

void hk_factor_solve_in(const hk_factor *t, float *x)
{
    solve(t, (vector){x, false});
}

void hk_factor_solve(hk_factor *t)
{
    solve(t, (vector){t->x, false});
}

void hk_factor_solve_one(hk_factor *t)
{
    solve(t, (vector){t->x, true});
}

// The largest of x, y, z of all unknowns, which single precision needs as the unit of its numbers.
static double largest_of(const double *v, const int32_t *place, int count)
{
    double most[3] = {0};
    for (int k = 0; k < count; k++) {
        const double *at = v + 4 * (int64_t)(place ? place[k] : k);
        for (int i = 0; i < 3; i++) most[i] = fabs(at[i]) > most[i] ? fabs(at[i]) : most[i];
    }
    double largest = fmax(fmax(most[0], most[1]), most[2]);
    return largest > 0 && isfinite(largest) ? largest : 1;
}

void hk_factor_apply(hk_factor *t, const int32_t *place, const double *from, double *to)
{
    double largest = largest_of(from, place, t->count), scale = 1 / largest;
    for (int64_t k = 0; k < t->count; k++)
        for (int i = 0; i < 3; i++)
            t->x[4 * k + i] = (float)(scale * from[4 * (int64_t)place[k] + i]);
    hk_factor_solve(t);
    for (int64_t k = 0; k < t->count; k++)
        for (int i = 0; i < 3; i++)
            to[4 * (int64_t)place[k] + i] = largest * (double)t->x[4 * k + i];
}

// x += A⁻¹ r in single precision.
static void add_solution(hk_factor *t, const double *r, double *x)
{
    double largest = largest_of(r, NULL, t->count), scale = 1 / largest;
    for (int64_t k = 0; k < 4 * (int64_t)t->count; k++) t->x[k] = (float)(scale * r[k]);
    hk_factor_solve(t);
    for (int64_t k = 0; k < 4 * (int64_t)t->count; k++) x[k] += largest * (double)t->x[k];
}

void hk_factor_subtract(const hk_factor *t, const hk_pattern *p, const double *values,
                        const double *x, double *r)
{
    t->kernels->subtract_product(p, values, x, r);
}

void hk_factor_refine(hk_factor *t, const hk_pattern *p, const double *values, const double *b,
                      double *x)
{
    size_t size = 4 * sizeof(double) * (size_t)t->count;
    memset(x, 0, size);
    add_solution(t, b, x);
    memcpy(t->residual, b, size);
    hk_factor_subtract(t, p, values, x, t->residual);
    add_solution(t, t->residual, x);
}
