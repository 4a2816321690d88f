#include "linear/triangle.h"

#include <math.h>
#include <omp.h>

enum { ROWS = 16, CHUNK = 8, MOST_COLUMNS = 256, TASKS = 16 };

typedef float v16 __attribute__((vector_size(64), may_alias));

// A supernode, or a part of a wide one: its columns, its rows below in blocks of 16, and where its
// numbers begin: for each chunk of 8 columns first the blocks of the inverse diagonal, then those
// below, [block][8][16].
typedef struct node {
    int32_t first, last;
    int32_t blocks;
    int32_t parent;  // the node that its first row below belongs to, or -1
    int64_t row, value;
    int source;         // the supernode that it comes from,
    int source_column;  // and which of its columns is the first here
} node;

struct hk_triangle {
    int count, threads;
    int node_count;
    node *nodes;
    int32_t *row;  // [blocks][16]; padding is a place of its own at the end of the vector
    float *value;
    int64_t row_count, value_count;
    // Subtrees: nodes[task_first[t] .. task_last[t]) for each, and the nodes of none.
    int task_count;
    int task_first[TASKS], task_last[TASKS];
    int top_node_count;
    int32_t *top_node;  // [top_node_count] ascending
    int top_count;
    int32_t *top;  // [top_count] the unknowns of those nodes
    // [count], then [task_count][top_count] for what subtrees leave to the top, then one for
    // padding
    float *x;
    int64_t x_count;
    v16 *room;  // [threads][room_size]
    int64_t room_size;
    void (*forward)(const node *, const float *, const int32_t *, float *, v16 *);
    void (*backward)(const node *, const float *, const int32_t *, float *, v16 *);
};

#define TARGET
#define NAME(x) x##_generic
#include "linear/triangle_kernels.inl"
#undef TARGET
#undef NAME
#ifdef __x86_64__
#define TARGET  __attribute__((target("avx2,fma")))
#define NAME(x) x##_avx2
#include "linear/triangle_kernels.inl"
#undef TARGET
#undef NAME
#define TARGET  __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")))
#define NAME(x) x##_avx512
#include "linear/triangle_kernels.inl"
#undef TARGET
#undef NAME
#endif

static void choose_kernels(hk_triangle *t)
{
    t->forward = forward_generic;
    t->backward = backward_generic;
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        t->forward = forward_avx2;
        t->backward = backward_avx2;
    }
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
        t->forward = forward_avx512;
        t->backward = backward_avx512;
    }
#endif
}

// ---------------------------------------------------------------- nodes

static int columns_of(const hk_supernodes *s, int k)
{
    return s->first[k + 1] - s->first[k];
}
static int rows_of(const hk_supernodes *s, int k)
{
    return s->row_start[k + 1] - s->row_start[k];
}
static int pieces_of(const hk_supernodes *s, int k)
{
    return (columns_of(s, k) + MOST_COLUMNS - 1) / MOST_COLUMNS;
}

static hk_status list_nodes(hk_triangle *t, const hk_supernodes *s)
{
    for (int k = 0; k < s->count; k++) t->node_count += pieces_of(s, k);
    t->nodes = HK_ZEROS(node, t->node_count);
    if (!t->nodes) return HK_NO_MEMORY;
    int at = 0;
    for (int k = 0; k < s->count; k++)
        for (int piece = 0; piece < pieces_of(s, k); piece++) {
            node *n = &t->nodes[at++];
            n->source = k;
            n->source_column = piece * MOST_COLUMNS;
            n->first = s->first[k] + n->source_column;
            n->last = hk_min_int(n->first + MOST_COLUMNS, s->first[k + 1]);
            int columns = n->last - n->first, below = rows_of(s, k) - n->source_column - columns;
            int chunks = (columns + CHUNK - 1) / CHUNK, inner = (columns + ROWS - 1) / ROWS;
            n->blocks = (below + ROWS - 1) / ROWS;
            n->row = t->row_count;
            n->value = t->value_count;
            t->row_count += (int64_t)n->blocks * ROWS;
            t->value_count += (int64_t)chunks * (inner + n->blocks) * CHUNK * ROWS;
            int64_t room = 3 * (int64_t)(inner + n->blocks);
            t->room_size = room > t->room_size ? room : t->room_size;
        }
    return HK_OK;
}

// The node of every unknown, then of every node's first row below.
static hk_status find_parents(hk_triangle *t, const hk_supernodes *s)
{
    int32_t *owner = HK_ARRAY(int32_t, t->count);
    if (!owner) return HK_NO_MEMORY;
    for (int k = 0; k < t->node_count; k++)
        for (int c = t->nodes[k].first; c < t->nodes[k].last; c++) owner[c] = k;
    for (int k = 0; k < t->node_count; k++) {
        node *n = &t->nodes[k];
        int next = n->source_column + n->last - n->first;
        bool any = next < rows_of(s, n->source);
        n->parent = any ? owner[s->row[s->row_start[n->source] + next]] : -1;
    }
    hk_free(owner);
    return HK_OK;
}

// ---------------------------------------------------------------- subtrees

// What a node costs, and with all below it (nodes are in postorder: children come first).
static hk_status weigh(const hk_triangle *t, int64_t *whole, int32_t *first)
{
    for (int k = 0; k < t->node_count; k++) {
        const node *n = &t->nodes[k];
        int64_t columns = n->last - n->first;
        whole[k] = columns * (columns + ROWS * (int64_t)n->blocks) + 64;
        first[k] = k;
    }
    for (int k = 0; k < t->node_count; k++) {
        int parent = t->nodes[k].parent;
        if (parent < 0) continue;
        whole[parent] += whole[k];
        if (first[k] < first[parent]) first[parent] = first[k];
    }
    return HK_OK;
}

// Whether the nodes from `first` to k are all below k: true in postorder, but not relied upon.
static bool is_subtree(const hk_triangle *t, int first, int k)
{
    for (int j = first; j < k; j++)
        if (t->nodes[j].parent < 0 || t->nodes[j].parent > k) return false;
    return true;
}

// The heaviest subtree is opened again and again until there are enough.
static void cut_subtrees(hk_triangle *t, const int64_t *whole, const int32_t *first)
{
    int roots[TASKS], count = 0;
    for (int k = 0; k < t->node_count && count < TASKS; k++)
        if (t->nodes[k].parent < 0) roots[count++] = k;
    while (count < TASKS) {
        int heaviest = -1;
        for (int r = 0; r < count; r++)
            if (whole[roots[r]] > 4096 && first[roots[r]] < roots[r] &&
                (heaviest < 0 || whole[roots[r]] > whole[roots[heaviest]]))
                heaviest = r;
        if (heaviest < 0) break;
        int root = roots[heaviest], children = 0;
        for (int k = first[root]; k < root; k++) children += t->nodes[k].parent == root;
        if (children == 0 || count - 1 + children > TASKS) break;
        roots[heaviest] = roots[--count];
        for (int k = first[root]; k < root; k++)
            if (t->nodes[k].parent == root) roots[count++] = k;
    }
    for (int r = 0; r < count; r++)  // in the order of the nodes
        for (int q = r + 1; q < count; q++)
            if (roots[q] < roots[r]) {
                int swap = roots[r];
                roots[r] = roots[q];
                roots[q] = swap;
            }
    for (int r = 0; r < count; r++)
        if (is_subtree(t, first[roots[r]], roots[r])) {
            t->task_first[t->task_count] = first[roots[r]];
            t->task_last[t->task_count++] = roots[r] + 1;
        }
}

static int task_of(const hk_triangle *t, int k)
{
    for (int task = 0; task < t->task_count; task++)
        if (k >= t->task_first[task] && k < t->task_last[task]) return task;
    return -1;
}

static hk_status list_top(hk_triangle *t)
{
    for (int k = 0; k < t->node_count; k++)
        if (task_of(t, k) < 0) {
            t->top_node_count++;
            t->top_count += t->nodes[k].last - t->nodes[k].first;
        }
    t->top_node = HK_ARRAY(int32_t, t->top_node_count);
    t->top = HK_ARRAY(int32_t, t->top_count);
    if (!t->top_node || !t->top) return HK_NO_MEMORY;
    int nodes = 0, unknowns = 0;
    for (int k = 0; k < t->node_count; k++)
        if (task_of(t, k) < 0) {
            t->top_node[nodes++] = k;
            for (int c = t->nodes[k].first; c < t->nodes[k].last; c++) t->top[unknowns++] = c;
        }
    return HK_OK;
}

static hk_status find_subtrees(hk_triangle *t)
{
    int64_t *whole = HK_ARRAY(int64_t, t->node_count);
    int32_t *first = HK_ARRAY(int32_t, t->node_count);
    hk_status status = whole && first ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) status = weigh(t, whole, first);
    if (status == HK_OK) cut_subtrees(t, whole, first);
    hk_free(whole);
    hk_free(first);
    return status == HK_OK ? list_top(t) : status;
}

// ---------------------------------------------------------------- rows and numbers

// Where the rows of a node stand in the vector: rows at the top have a place for each subtree.
static hk_status place_rows(hk_triangle *t, const hk_supernodes *s)
{
    int32_t *place = HK_ARRAY(int32_t, t->count);
    if (!place) return HK_NO_MEMORY;
    for (int k = 0; k < t->count; k++) place[k] = -1;
    for (int k = 0; k < t->top_count; k++) place[t->top[k]] = k;
    for (int k = 0; k < t->node_count; k++) {
        const node *n = &t->nodes[k];
        int task = task_of(t, k), skip = n->source_column + n->last - n->first;
        const int *rows = s->row + s->row_start[n->source] + skip;
        int below = rows_of(s, n->source) - skip;
        for (int r = 0; r < ROWS * n->blocks; r++) {
            int32_t at = (int32_t)t->x_count - 1;
            if (r < below) {
                at = rows[r];
                if (task >= 0 && place[at] >= 0) at = t->count + task * t->top_count + place[at];
            }
            t->row[n->row + r] = at;
        }
    }
    hk_free(place);
    return HK_OK;
}

// The inverse of the lower triangle at the top of a node's columns.
static void invert_diagonal(const double *column, int64_t rows, int columns, double *inverse)
{
    for (int c = 0; c < columns; c++) {
        for (int r = 0; r < c; r++) inverse[c * MOST_COLUMNS + r] = 0;
        for (int r = c; r < columns; r++) {
            double sum = r == c;
            for (int k = c; k < r; k++) sum -= column[r + k * rows] * inverse[c * MOST_COLUMNS + k];
            inverse[c * MOST_COLUMNS + r] = sum / column[r + r * rows];
        }
    }
}

static void fill_node(const hk_triangle *t, const node *n, const hk_supernodes *s, double *inverse)
{
    int64_t rows = rows_of(s, n->source);
    int columns = n->last - n->first, chunks = (columns + CHUNK - 1) / CHUNK;
    int inner = (columns + ROWS - 1) / ROWS, blocks = inner + n->blocks;
    int64_t below = rows - n->source_column - columns;
    const double *corner = s->value + s->value_start[n->source] + n->source_column * (rows + 1);
    float *to = t->value + n->value;
    invert_diagonal(corner, rows, columns, inverse);
    for (int chunk = 0; chunk < chunks; chunk++)
        for (int b = 0; b < blocks; b++)
            for (int c = chunk * CHUNK; c < (chunk + 1) * CHUNK; c++)
                for (int l = 0; l < ROWS; l++, to++) {
                    int64_t r = b < inner ? b * ROWS + l : (b - inner) * ROWS + l;
                    double value = 0;
                    if (c < columns && b < inner && r < columns)
                        value = inverse[c * MOST_COLUMNS + r];
                    if (c < columns && b >= inner && r < below)
                        value = corner[columns + r + c * rows];
                    *to = (float)value;
                }
}

hk_status hk_triangle_fill(hk_triangle *t, const hk_direct *direct)
{
    hk_supernodes s;
    HK_TRY(hk_direct_supernodes(direct, &s));
    double *inverse = HK_ARRAY(double, MOST_COLUMNS *MOST_COLUMNS);
    if (!inverse) return HK_NO_MEMORY;
    for (int k = 0; k < t->node_count; k++) fill_node(t, &t->nodes[k], &s, inverse);
    hk_free(inverse);
    return HK_OK;
}

// ---------------------------------------------------------------- creation

static hk_status build(hk_triangle *t, const hk_direct *direct)
{
    hk_supernodes s;
    HK_TRY(hk_direct_supernodes(direct, &s));
    t->count = s.first[s.count];
    HK_TRY(list_nodes(t, &s));
    HK_TRY(find_parents(t, &s));
    HK_TRY(find_subtrees(t));
    t->x_count = t->count + (int64_t)t->task_count * t->top_count + 1;
    t->row = HK_ARRAY(int32_t, t->row_count);
    t->value = HK_ARRAY(float, t->value_count);
    t->x = HK_ZEROS(float, 4 * (size_t)t->x_count);
    t->room = HK_ARRAY(v16, (size_t)t->threads * (size_t)t->room_size);
    if (!t->row || !t->value || !t->x || !t->room) return HK_NO_MEMORY;
    HK_TRY(place_rows(t, &s));
    return hk_triangle_fill(t, direct);
}

hk_status hk_triangle_create(const hk_direct *direct, int threads, hk_triangle **triangle)
{
    hk_triangle *t = HK_NEW(hk_triangle);
    if (!t) return HK_NO_MEMORY;
    t->threads = threads;
    choose_kernels(t);
    hk_status status = build(t, direct);
    if (status != HK_OK) {
        hk_triangle_free(t);
        return status;
    }
    *triangle = t;
    return HK_OK;
}

hk_status hk_triangle_update(const hk_direct *direct, int threads, hk_triangle **triangle)
{
    return *triangle ? hk_triangle_fill(*triangle, direct)
                     : hk_triangle_create(direct, threads, triangle);
}

void hk_triangle_free(hk_triangle *t)
{
    if (!t) return;
    hk_free(t->nodes);
    hk_free(t->row);
    hk_free(t->value);
    hk_free(t->top_node);
    hk_free(t->top);
    hk_free(t->x);
    hk_free(t->room);
    hk_free(t);
}

float *hk_triangle_vector(hk_triangle *t)
{
    return t->x;
}

int64_t hk_triangle_bytes(const hk_triangle *t)
{
    return (int64_t)sizeof(float) * t->value_count + (int64_t)sizeof(int32_t) * t->row_count;
}

// ---------------------------------------------------------------- the solve

static v16 *own_room(const hk_triangle *t)
{
    return t->room + (int64_t)omp_get_thread_num() * t->room_size;
}

// What the subtrees left to the top, one after the other.
static void meet(hk_triangle *t)
{
    for (int task = 0; task < t->task_count; task++) {
        float *left = t->x + 4 * ((int64_t)t->count + (int64_t)task * t->top_count);
        for (int64_t k = 0; k < t->top_count; k++)
            for (int i = 0; i < 3; i++) t->x[4 * (int64_t)t->top[k] + i] += left[4 * k + i];
    }
}

// The solution at the top, for every subtree to read.
static void part(hk_triangle *t)
{
    for (int task = 0; task < t->task_count; task++) {
        float *copy = t->x + 4 * ((int64_t)t->count + (int64_t)task * t->top_count);
        for (int64_t k = 0; k < t->top_count; k++)
            memcpy(copy + 4 * k, t->x + 4 * (int64_t)t->top[k], 4 * sizeof(float));
    }
}

static void forward_task(const hk_triangle *t, int task)
{
    float *left = t->x + 4 * ((int64_t)t->count + (int64_t)task * t->top_count);
    memset(left, 0, 4 * sizeof(float) * (size_t)t->top_count);
    for (int k = t->task_first[task]; k < t->task_last[task]; k++)
        t->forward(&t->nodes[k], t->value, t->row, t->x, own_room(t));
}

static void backward_task(const hk_triangle *t, int task)
{
    for (int k = t->task_last[task] - 1; k >= t->task_first[task]; k--)
        t->backward(&t->nodes[k], t->value, t->row, t->x, own_room(t));
}

void hk_triangle_solve(hk_triangle *t)
{
    memset(t->x + 4 * (t->x_count - 1), 0, 4 * sizeof(float));
#pragma omp parallel for schedule(dynamic, 1) num_threads(t->threads)
    for (int task = t->task_count - 1; task >= 0; task--) forward_task(t, task);
    meet(t);
    for (int k = 0; k < t->top_node_count; k++)
        t->forward(&t->nodes[t->top_node[k]], t->value, t->row, t->x, t->room);
    for (int k = t->top_node_count - 1; k >= 0; k--)
        t->backward(&t->nodes[t->top_node[k]], t->value, t->row, t->x, t->room);
    part(t);
#pragma omp parallel for schedule(dynamic, 1) num_threads(t->threads)
    for (int task = t->task_count - 1; task >= 0; task--) backward_task(t, task);
}

void hk_triangle_apply(hk_triangle *t, const int32_t *place, const double *from, double *to)
{
    // Brought to a size that single precision can hold, whatever the units.
    double largest = 0;
    for (int k = 0; k < t->count; k++)
        for (int i = 0; i < 3; i++) largest = fmax(largest, fabs(from[4 * (int64_t)place[k] + i]));
    double scale = largest > 0 && isfinite(largest) ? 1 / largest : 1;
    for (int64_t k = 0; k < t->count; k++)
        for (int i = 0; i < 3; i++)
            t->x[4 * k + i] = (float)(scale * from[4 * (int64_t)place[k] + i]);
    hk_triangle_solve(t);
    for (int64_t k = 0; k < t->count; k++)
        for (int i = 0; i < 3; i++) to[4 * (int64_t)place[k] + i] = (double)t->x[4 * k + i] / scale;
}
