#include "linear/fronts.h"

#ifdef HOOKE_DIRECT

#include <omp.h>
#include <stdatomic.h>

#include "linear/blas_threads.h"

// LAPACK and BLAS, by columns.
extern void dpotrf_(const char *half, const int *n, double *a, const int *stride, int *info);
extern void dtrsm_(const char *side, const char *half, const char *transposed, const char *unit,
                   const int *m, const int *n, const double *alpha, const double *a,
                   const int *a_stride, double *b, const int *b_stride);
extern void dsyrk_(const char *half, const char *transposed, const int *n, const int *k,
                   const double *alpha, const double *a, const int *a_stride, const double *beta,
                   double *c, const int *c_stride);

// Work (multiplications) below which a subtree is no task of its own.
#define LEAST_TASK 2e6

struct hk_fronts {
    const hk_pattern *pattern;
    int threads, count;   // unknowns
    hk_supernodes nodes;  // its numbers are `value`
    double *value;
    int32_t *child_start, *child;  // [nodes.count + 1] by parent, ascending; roots at the end
    int root_count;
    int32_t *parent;  // [nodes.count], -1: none
    double *work;     // [nodes.count] of the subtree
    double **left;    // [nodes.count] what a front hands to its parent, while it waits there
    int32_t *place;   // [threads][count] of an unknown in the front at work
    bool (*go_on)(void *context);
    void *context;
    bool stopped;  // by that, the last time
};

// ---------------------------------------------------------------- creation

static int columns_of(const hk_supernodes *s, int k)
{
    return s->first[k + 1] - s->first[k];
}

static int rows_of(const hk_supernodes *s, int k)
{
    return s->row_start[k + 1] - s->row_start[k];
}

static void find_parents(hk_fronts *f, int32_t *owner)
{
    const hk_supernodes *s = &f->nodes;
    for (int k = 0; k < s->count; k++)
        for (int c = s->first[k]; c < s->first[k + 1]; c++) owner[c] = k;
    for (int k = 0; k < s->count; k++) {
        bool last = rows_of(s, k) == columns_of(s, k);
        f->parent[k] = last ? -1 : owner[s->row[s->row_start[k] + columns_of(s, k)]];
    }
}

static void list_children(hk_fronts *f)
{
    int n = f->nodes.count;
    // Roots are the children of one more node, the last.
    for (int k = 0; k < n; k++) f->child_start[(f->parent[k] < 0 ? n : f->parent[k]) + 1]++;
    f->root_count = f->child_start[n + 1];
    for (int k = 0; k <= n; k++) f->child_start[k + 1] += f->child_start[k];
    for (int k = 0; k < n; k++) {
        int p = f->parent[k] < 0 ? n : f->parent[k];
        f->child[f->child_start[p]++] = k;
    }
    for (int k = n + 1; k > 0; k--) f->child_start[k] = f->child_start[k - 1];
    f->child_start[0] = 0;
}

static void weigh(hk_fronts *f)
{
    for (int k = 0; k < f->nodes.count; k++) {  // children come before their parents
        double m = rows_of(&f->nodes, k), n = columns_of(&f->nodes, k);
        f->work[k] += m * m * n;
        if (f->parent[k] >= 0) f->work[f->parent[k]] += f->work[k];
    }
}

static hk_status build(hk_fronts *f, const hk_direct *direct)
{
    HK_TRY(hk_direct_symbolic(direct, &f->nodes));
    int n = f->nodes.count;
    f->count = f->nodes.first[n];
    int32_t *owner = HK_ARRAY(int32_t, f->count);
    f->value = HK_ARRAY(double, f->nodes.value_start[n]);
    f->child_start = HK_ZEROS(int32_t, (size_t)n + 2);
    f->child = HK_ARRAY(int32_t, n);
    f->parent = HK_ARRAY(int32_t, n);
    f->work = HK_ZEROS(double, n);
    f->left = HK_ZEROS(double *, n);
    f->place = HK_ARRAY(int32_t, (size_t)f->threads * (size_t)f->count);
    bool complete = owner && f->value && f->child_start && f->child && f->parent && f->work &&
                    f->left && f->place;
    if (complete) {
        f->nodes.value = f->value;
        find_parents(f, owner);
        list_children(f);
        weigh(f);
    }
    hk_free(owner);
    return complete ? HK_OK : HK_NO_MEMORY;
}

hk_status hk_fronts_create(const hk_direct *direct, const hk_pattern *pattern, int threads,
                           hk_fronts **fronts)
{
    hk_fronts *f = HK_NEW(hk_fronts);
    if (!f) return HK_NO_MEMORY;
    f->pattern = pattern;
    f->threads = threads;
    hk_status status = build(f, direct);
    if (status != HK_OK) {
        hk_fronts_free(f);
        return status;
    }
    *fronts = f;
    return HK_OK;
}

void hk_fronts_free(hk_fronts *f)
{
    if (!f) return;
    hk_free(f->value);
    hk_free(f->child_start);
    hk_free(f->child);
    hk_free(f->parent);
    hk_free(f->work);
    hk_free(f->left);
    hk_free(f->place);
    hk_free(f);
}

hk_supernodes hk_fronts_supernodes(const hk_fronts *f)
{
    return f->nodes;
}

// ---------------------------------------------------------------- one front

typedef struct factoring {
    hk_fronts *fronts;
    const double *values;
    atomic_int trouble;  // one of those
} factoring;
enum { NOT_POSITIVE = 1, NO_MEMORY, STOPPED };

// The panel of a supernode, [rows] by columns, and what it hands on: the square below it.
typedef struct front {
    int columns, rows, below;
    double *panel, *left;
    const int *row;
    int32_t *place;
} front;

// Columns of the matrix into the panel; place[] knows where a row stands.
static void add_matrix(const hk_fronts *f, const double *values, int node, const front *w)
{
    const hk_pattern *p = f->pattern;
    int width = p->scalar ? 1 : 3;
    for (int c = 0; c < w->columns; c++) {
        int column = f->nodes.first[node] + c, b = column / width, i = column % width;
        const double *v = values + hk_pattern_column(p, b, i);
        double *to = w->panel + (int64_t)c * w->rows;
        for (int r = i; r < width; r++) to[w->place[width * b + r]] += *v++;
        for (int64_t k = p->start[b]; k < p->start[b + 1]; k++)
            for (int r = 0; r < width; r++) to[w->place[width * p->row[k] + r]] += *v++;
    }
}

// What a child left; its rows below are rows here, in the same order.
static void add_child(const hk_fronts *f, int child, const front *w)
{
    int skip = columns_of(&f->nodes, child), count = rows_of(&f->nodes, child) - skip;
    const int *row = f->nodes.row + f->nodes.row_start[child] + skip;
    const double *from = f->left[child];
    for (int c = 0; c < count; c++, from += count) {
        int column = w->place[row[c]];
        double *to = column < w->columns
                         ? w->panel + (int64_t)column * w->rows
                         : w->left + (int64_t)(column - w->columns) * w->below - w->columns;
        for (int r = c; r < count; r++) to[w->place[row[r]]] += from[r];
    }
}

// L of the panel, and minus its square below added to what is handed on.
static bool eliminate(const front *w)
{
    const double one = 1, minus = -1;
    int info = 0;
    dpotrf_("L", &w->columns, w->panel, &w->rows, &info);
    if (info != 0) return false;
    if (w->below == 0) return true;
    double *under = w->panel + w->columns;
    dtrsm_("R", "L", "T", "N", &w->below, &w->columns, &one, w->panel, &w->rows, under, &w->rows);
    dsyrk_("L", "N", &w->below, &w->columns, &minus, under, &w->rows, &one, w->left, &w->below);
    return true;
}

static void factor_node(factoring *t, int node)
{
    hk_fronts *f = t->fronts;
    if (omp_get_thread_num() == 0 && f->go_on && !f->go_on(f->context))
        atomic_store(&t->trouble, STOPPED);
    if (atomic_load(&t->trouble)) return;
    front w = {.columns = columns_of(&f->nodes, node),
               .rows = rows_of(&f->nodes, node),
               .panel = f->value + f->nodes.value_start[node],
               .row = f->nodes.row + f->nodes.row_start[node],
               .place = f->place + (int64_t)omp_get_thread_num() * f->count};
    w.below = w.rows - w.columns;
    memset(w.panel, 0, sizeof(double) * (size_t)w.rows * (size_t)w.columns);
    if (w.below > 0) w.left = HK_ZEROS(double, (size_t)w.below *(size_t)w.below);
    if (w.below > 0 && !w.left) {
        atomic_store(&t->trouble, NO_MEMORY);
        return;
    }
    f->left[node] = w.left;
    for (int r = 0; r < w.rows; r++) w.place[w.row[r]] = r;
    add_matrix(f, t->values, node, &w);
    for (int k = f->child_start[node]; k < f->child_start[node + 1]; k++) {
        add_child(f, f->child[k], &w);
        hk_free(f->left[f->child[k]]);
        f->left[f->child[k]] = NULL;
    }
    if (!eliminate(&w)) atomic_store(&t->trouble, NOT_POSITIVE);
}

// ---------------------------------------------------------------- the tree

// Heavy children are tasks; light subtrees are done where they are, their nodes in order.
static void factor_tree(factoring *t, int node)
{
    hk_fronts *f = t->fronts;
    for (int k = f->child_start[node]; k < f->child_start[node + 1]; k++) {
        int child = f->child[k];
        if (f->work[child] > LEAST_TASK && f->threads > 1) {
#pragma omp task
            factor_tree(t, child);
        } else {
            factor_tree(t, child);
        }
    }
#pragma omp taskwait
    if (node < f->nodes.count) factor_node(t, node);
}

hk_status hk_fronts_factor(hk_fronts *f, const double *values, bool *positive)
{
    factoring t = {.fronts = f, .values = values};
    hk_enter_blas();
#pragma omp parallel num_threads(f->threads)
#pragma omp single
    factor_tree(&t, f->nodes.count);
    hk_leave_blas();
    for (int k = 0; k < f->nodes.count; k++) {
        hk_free(f->left[k]);
        f->left[k] = NULL;
    }
    int trouble = atomic_load(&t.trouble);
    *positive = trouble == 0;
    f->stopped = trouble == STOPPED;
    return trouble == NO_MEMORY ? hk_no_memory() : HK_OK;
}

void hk_fronts_watch(hk_fronts *f, bool (*go_on)(void *context), void *context)
{
    f->go_on = go_on;
    f->context = context;
}

bool hk_fronts_stopped(const hk_fronts *f)
{
    return f->stopped;
}

#else

hk_status hk_fronts_create(const hk_direct *direct, const hk_pattern *pattern, int threads,
                           hk_fronts **fronts)
{
    (void)direct, (void)pattern, (void)threads, (void)fronts;
    return hk_fail(HK_UNSUPPORTED,
                   "this build has no direct solver (it was configured with HOOKE_DIRECT=OFF)");
}
void hk_fronts_free(hk_fronts *fronts)
{
    (void)fronts;
}
hk_status hk_fronts_factor(hk_fronts *fronts, const double *values, bool *positive)
{
    (void)fronts, (void)values, (void)positive;
    return HK_UNSUPPORTED;
}
void hk_fronts_watch(hk_fronts *fronts, bool (*go_on)(void *context), void *context)
{
    (void)fronts, (void)go_on, (void)context;
}
bool hk_fronts_stopped(const hk_fronts *fronts)
{
    (void)fronts;
    return false;
}
hk_supernodes hk_fronts_supernodes(const hk_fronts *fronts)
{
    (void)fronts;
    return (hk_supernodes){0};
}

#endif
