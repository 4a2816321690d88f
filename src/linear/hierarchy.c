#include "linear/hierarchy.h"

#include <math.h>

#include "linear/aggregation.h"
#include "math/dense.h"

enum { POWER_ITERATIONS = 20 };
enum { LARGEST_DENSE = 1500 };
// Of the inverse of a matrix with a diagonal of 1. In single precision, which cycles have, a larger
// one would not be positive.
#define LARGEST_INVERSE 1e5

// Couplings that are weaker than this part of √(a_ii a_jj) do not join a group; the coarser the
// level, the more couplings there are, and the weaker.
#define STRONG 0.08
// A row whose couplings add up to less than this part of its diagonal (mass dominates) is left to
// the smoother.
#define COUPLED 0.2
// Levels that shrink less than this are not worth having.
#define SHRINKS 0.8
// Jacobi's ω over the greatest eigenvalue: of the smoother, which is to reach down to an eighth of
// it, and of the interpolation.
#define SMOOTHER      (2 / (1 + 1 / 8.0))
#define INTERPOLATION (4 / 3.0)
// Entries of S P below this part of the largest in their row are dropped: there are three times as
// many as are needed.
#define SMALL 0.1

// Coarse levels have several times as many couplings as meshes have; their smoother does without
// those below this part of the diagonal.
#define WEAK 0.01

// What a level is made from: A with a diagonal of 1, and its greatest eigenvalue.
typedef struct scaled {
    hk_sparse matrix;
    double greatest;
} scaled;

// ---------------------------------------------------------------- scaling

static double entry_on_diagonal(const hk_sparse *a, int row)
{
    for (int64_t k = a->start[row]; k < a->start[row + 1]; k++)
        if (a->column[k] == row) return a->value[k];
    return 0;
}

static void find_root(const hk_sparse *a, double *root)
{
    for (int r = 0; r < a->rows; r++) {
        double d = entry_on_diagonal(a, r);
        root[r] = d > 0 ? 1 / sqrt(d) : 0;
    }
}

// a_ij → root_i a_ij root_j, either of which may be NULL.
static void scale(hk_sparse *a, const double *rows, const double *columns)
{
    for (int r = 0; r < a->rows; r++)
        for (int64_t k = a->start[r]; k < a->start[r + 1]; k++)
            a->value[k] *= (rows ? rows[r] : 1) * (columns ? columns[a->column[k]] : 1);
}

// ---------------------------------------------------------------- the greatest eigenvalue

// The greatest sum of a row's absolute values bounds all eigenvalues.
static double row_bound(const hk_sparse *a)
{
    double most = 0;
    for (int r = 0; r < a->rows; r++) {
        double sum = 0;
        for (int64_t k = a->start[r]; k < a->start[r + 1]; k++) sum += fabs(a->value[k]);
        most = fmax(most, sum);
    }
    return most;
}

// to = A from; returns ‖to‖.
static double multiply(const hk_sparse *a, int threads, const double *from, double *to)
{
    double square = 0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int r = 0; r < a->rows; r++) {
        double sum = 0;
        for (int64_t k = a->start[r]; k < a->start[r + 1]; k++)
            sum += a->value[k] * from[a->column[k]];
        to[r] = sum;
    }
    for (int r = 0; r < a->rows; r++) square += to[r] * to[r];
    return sqrt(square);
}

// By the power method, which comes from below, hence a margin; and never above what is certain.
static hk_status find_greatest(scaled *s, int threads)
{
    int n = s->matrix.rows;
    double *v = HK_ARRAY(double, n), *w = HK_ARRAY(double, n), norm = 0;
    if (v && w) {
        for (int64_t k = 0; k < n; k++)
            v[k] = (double)((uint64_t)k * 2654435761u >> 16 & 1023) - 511.5;
        for (int i = 0; i < POWER_ITERATIONS; i++) {
            norm = multiply(&s->matrix, threads, v, w);
            for (int k = 0; k < n && norm > 0; k++) v[k] = w[k] / norm;
        }
        s->greatest = fmax(fmin(1.1 * norm, row_bound(&s->matrix)), 1);
    }
    hk_status status = v && w ? HK_OK : HK_NO_MEMORY;
    hk_free(v);
    hk_free(w);
    return status;
}

// ---------------------------------------------------------------- groups

// Strong couplings, as a graph; rows that are left to the smoother have none and group −1.
typedef struct strength {
    int64_t *start;
    int32_t *neighbour;
    int32_t *group;
} strength;

static void strength_free(strength *s)
{
    hk_free(s->start);
    hk_free(s->neighbour);
    hk_free(s->group);
}

static bool is_coupled(const hk_sparse *a, int row)
{
    double sum = 0;
    for (int64_t k = a->start[row]; k < a->start[row + 1]; k++)
        if (a->column[k] != row) sum += fabs(a->value[k]);
    return sum > COUPLED;
}

static void list_strong(const hk_sparse *a, double threshold, strength *s)
{
    for (int r = 0; r < a->rows; r++) s->group[r] = is_coupled(a, r) ? 0 : -1;
    int64_t at = 0;
    for (int r = 0; r < a->rows; r++) {
        s->start[r] = at;
        for (int64_t k = a->start[r]; k < a->start[r + 1] && s->group[r] >= 0; k++) {
            int32_t c = a->column[k];
            if (c != r && s->group[c] >= 0 && a->value[k] < -threshold) s->neighbour[at++] = c;
        }
    }
    s->start[a->rows] = at;
}

// group[row] and their number.
static hk_status make_groups(const hk_sparse *a, double threshold, strength *s, int *count)
{
    size_t n = (size_t)a->rows;
    s->start = HK_ARRAY(int64_t, n + 1);
    s->neighbour = HK_ARRAY(int32_t, a->start[n]);
    s->group = HK_ARRAY(int32_t, n);
    if (!s->start || !s->neighbour || !s->group) return HK_NO_MEMORY;
    list_strong(a, threshold, s);
    hk_graph graph = {(int)n, s->start, s->neighbour};
    return hk_aggregate(&graph, s->group, count);
}

// ---------------------------------------------------------------- interpolation

// T: constant in a group, in the variables before scaling. A slow part of the error is smooth
// there: `smooth` is 1 in all rows of the first level, and so are coarse unknowns.
static hk_status constant_interpolation(const int32_t *group, const double *smooth, int rows,
                                        int count, hk_sparse *t)
{
    *t = (hk_sparse){.rows = rows, .columns = count};
    t->start = HK_ZEROS(int64_t, rows + 1);
    t->column = HK_ARRAY(int32_t, rows);
    t->value = HK_ARRAY(double, rows);
    if (!t->start || !t->column || !t->value) return HK_NO_MEMORY;
    for (int r = 0; r < rows; r++) {
        int64_t at = t->start[r + 1] = t->start[r];
        if (group[r] < 0) continue;
        t->column[at] = group[r];
        t->value[at] = smooth[r];
        t->start[r + 1]++;
    }
    return HK_OK;
}

// 1 − ω A
static hk_status jacobi_matrix(const hk_sparse *a, double omega, hk_sparse *s)
{
    size_t entries = (size_t)a->start[a->rows];
    *s = (hk_sparse){.rows = a->rows, .columns = a->rows};
    s->start = HK_ARRAY(int64_t, a->rows + 1);
    s->column = HK_ARRAY(int32_t, entries);
    s->value = HK_ARRAY(double, entries);
    if (!s->start || !s->column || !s->value) return HK_NO_MEMORY;
    memcpy(s->start, a->start, sizeof(int64_t) * (size_t)(a->rows + 1));
    memcpy(s->column, a->column, sizeof(int32_t) * entries);
    for (int r = 0; r < a->rows; r++)
        for (int64_t k = a->start[r]; k < a->start[r + 1]; k++)
            s->value[k] = (a->column[k] == r) - omega * a->value[k];
    return HK_OK;
}

// to = (1 − ω A) from
static hk_status smooth_columns(const scaled *s, double part, const hk_sparse *from, int threads,
                                hk_sparse *to)
{
    hk_sparse jacobi = {0};
    hk_status status = jacobi_matrix(&s->matrix, part / s->greatest, &jacobi);
    if (status == HK_OK) status = hk_sparse_multiply(&jacobi, from, threads, to);
    hk_sparse_free(&jacobi);
    return status;
}

// ---------------------------------------------------------------- a level and the next

// Drops the small entries of every row; the others are raised by so much that what is smooth stays
// what it is.
static void drop_small(hk_sparse *m, double part, const double *smooth)
{
    int64_t at = 0;
    for (int r = 0; r < m->rows; r++) {
        int64_t first = m->start[r], last = m->start[r + 1];
        double most = 0, all = 0, kept = 0;
        for (int64_t k = first; k < last; k++) {
            most = fmax(most, fabs(m->value[k]));
            all += m->value[k] * smooth[m->column[k]];
        }
        int64_t begin = m->start[r] = at;
        for (int64_t k = first; k < last; k++) {
            if (fabs(m->value[k]) < part * most) continue;
            m->column[at] = m->column[k];
            m->value[at++] = m->value[k];
            kept += m->value[k] * smooth[m->column[k]];
        }
        for (int64_t k = begin; k < at && all > 0 && kept > 0; k++) m->value[k] *= all / kept;
    }
    m->start[m->rows] = at;
}

// One row of ω (2 − ω A) without what is weaker than `weak`, which goes to the diagonal; returns
// the diagonal entry.
static double smooth_row(const hk_sparse *a, int row, double omega, double weak, hk_sparse *to,
                         int64_t *at)
{
    double diagonal = 1;
    for (int64_t k = a->start[row]; k < a->start[row + 1]; k++) {
        if (a->column[k] == row) continue;
        if (fabs(a->value[k]) < weak) {
            diagonal += a->value[k];
            continue;
        }
        to->column[*at] = a->column[k];
        to->value[(*at)++] = -omega * omega * a->value[k];
    }
    return omega * (2 - omega * diagonal);
}

// own and smooth.
static hk_status fill_smoother(const scaled *s, bool coarse, hk_level *l)
{
    const hk_sparse *a = &s->matrix;
    hk_sparse *m = &l->smooth;
    double omega = SMOOTHER / s->greatest;
    l->count = m->rows = m->columns = a->rows;
    l->own = coarse ? 0 : omega * (2 - omega);
    m->start = HK_ARRAY(int64_t, a->rows + 1);
    m->column = HK_ARRAY(int32_t, a->start[a->rows] + a->rows);
    m->value = HK_ARRAY(double, a->start[a->rows] + a->rows);
    if (!m->start || !m->column || !m->value) return HK_NO_MEMORY;
    int64_t at = 0;
    for (int r = 0; r < a->rows; r++) {
        m->start[r] = at;
        double diagonal = smooth_row(a, r, omega, coarse ? WEAK : 0, m, &at);
        if (!coarse) continue;
        m->column[at] = r;
        m->value[at++] = diagonal;
    }
    m->start[m->rows] = at;
    return HK_OK;
}

static hk_status coarse_matrix(const scaled *s, const hk_sparse *p, int threads, hk_sparse *coarse)
{
    hk_sparse half = {0}, transposed = {0};
    hk_status status = hk_sparse_multiply(&s->matrix, p, threads, &half);
    if (status == HK_OK) status = hk_sparse_transpose(p, &transposed);
    if (status == HK_OK) status = hk_sparse_multiply(&transposed, &half, threads, coarse);
    hk_sparse_free(&half);
    hk_sparse_free(&transposed);
    return status;
}

// The next level from interpolation P; `smooth` becomes what is smooth there.
static hk_status coarsen(const scaled *s, hk_sparse *p, int threads, hk_level *l, double *smooth,
                         scaled *next)
{
    HK_TRY(coarse_matrix(s, p, threads, &next->matrix));
    double *root = HK_ARRAY(double, p->columns);
    if (!root) return HK_NO_MEMORY;
    find_root(&next->matrix, root);
    scale(&next->matrix, root, root);
    scale(p, NULL, root);
    for (int r = 0; r < p->columns; r++) smooth[r] = root[r] > 0 ? 1 / root[r] : 0;
    hk_free(root);
    HK_TRY(smooth_columns(s, SMOOTHER, p, threads, &l->up));
    drop_small(&l->up, SMALL, smooth);
    HK_TRY(hk_sparse_transpose(&l->up, &l->down));
    return find_greatest(next, threads);
}

static hk_status next_level(const scaled *s, const int32_t *group, int count, int threads,
                            hk_level *l, double *smooth, scaled *next)
{
    hk_sparse t = {0}, p = {0};
    hk_status status = constant_interpolation(group, smooth, l->count, count, &t);
    if (status == HK_OK) status = smooth_columns(s, INTERPOLATION, &t, threads, &p);
    if (status == HK_OK) status = coarsen(s, &p, threads, l, smooth, next);
    hk_sparse_free(&t);
    hk_sparse_free(&p);
    return status;
}

// ---------------------------------------------------------------- the coarsest level

static bool is_moderate(const double *inverse, int64_t n)
{
    for (int64_t r = 0; r < n; r++)
        if (!(inverse[n * r + r] <= LARGEST_INVERSE)) return false;
    return true;
}

// A matrix that is singular to rounding (a free body without mass) gets more on its diagonal.
static bool invert_shifted(const hk_sparse *a, int threads, double *full)
{
    int64_t n = a->rows;
    double shift = 0;
    for (int k = 0; k < 10; k++, shift = fmax(10 * shift, 1e-10)) {
        memset(full, 0, sizeof(double) * (size_t)(n * n));
        for (int64_t r = 0; r < n; r++) {
            for (int64_t i = a->start[r]; i < a->start[r + 1]; i++)
                full[n * r + a->column[i]] = a->value[i];
            full[n * r + r] = full[n * r + r] > 0 ? full[n * r + r] + shift : 1;
        }
        if (hk_dense_invert(full, (int)n, threads) && is_moderate(full, n)) return true;
    }
    return false;
}

static hk_status invert_coarsest(hk_hierarchy *h, const hk_sparse *a, int threads)
{
    int64_t n = a->rows;
    if (n > LARGEST_DENSE) return HK_OK;
    h->dense = HK_ARRAY(double, n *n);
    if (!h->dense) return HK_NO_MEMORY;
    if (invert_shifted(a, threads, h->dense)) return HK_OK;
    return hk_fail(HK_INTERNAL, "multigrid: the coarsest matrix is not positive");
}

// ---------------------------------------------------------------- creation

// One level more, from s to next; `end`: there is none.
static hk_status add_level(hk_hierarchy *h, const scaled *s, int smallest, int threads,
                           double *smooth, scaled *next, bool *end)
{
    hk_level *l = &h->level[h->count - 1];
    int count = 0;
    *end = true;
    HK_TRY(fill_smoother(s, h->count > 1, l));
    if (l->count <= smallest || h->count == HK_MOST_LEVELS) return HK_OK;
    strength couplings = {0};
    hk_status status = make_groups(&s->matrix, STRONG * pow(0.5, h->count - 1), &couplings, &count);
    *end = status != HK_OK || count == 0 || count >= SHRINKS * l->count;
    if (!*end) status = next_level(s, couplings.group, count, threads, l, smooth, next);
    strength_free(&couplings);
    if (!*end && status == HK_OK) h->count++;
    return status;
}

// With the first matrix in *s.
static hk_status add_levels(hk_hierarchy *h, scaled *s, int smallest, int threads, double *smooth)
{
    bool end = false;
    while (!end) {
        scaled next = {0};
        hk_status status = add_level(h, s, smallest, threads, smooth, &next, &end);
        if (!end) {
            hk_sparse_free(&s->matrix);
            *s = next;
        }
        HK_TRY(status);
    }
    return invert_coarsest(h, &s->matrix, threads);
}

static hk_status build(hk_hierarchy *h, scaled *s, int smallest, int threads)
{
    int n = s->matrix.rows;
    h->count = 1;
    h->root = HK_ARRAY(double, n);
    double *smooth = HK_ARRAY(double, n);
    hk_status status = h->root && smooth ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        find_root(&s->matrix, h->root);
        scale(&s->matrix, h->root, h->root);
        for (int r = 0; r < n; r++) smooth[r] = h->root[r] > 0 ? 1 / h->root[r] : 0;
        status = find_greatest(s, threads);
    }
    if (status == HK_OK) status = add_levels(h, s, smallest, threads, smooth);
    hk_free(smooth);
    return status;
}

hk_status hk_hierarchy_create(const hk_pattern *pattern, const double *lower, int smallest,
                              int threads, hk_hierarchy **hierarchy)
{
    hk_hierarchy *h = HK_NEW(hk_hierarchy);
    scaled s = {0};
    hk_status status = h ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) status = hk_sparse_from_lower(pattern, lower, &s.matrix);
    if (status == HK_OK) status = build(h, &s, smallest, threads);
    hk_sparse_free(&s.matrix);
    if (status != HK_OK) {
        hk_hierarchy_free(h);
        return status;
    }
    *hierarchy = h;
    return HK_OK;
}

void hk_hierarchy_free(hk_hierarchy *h)
{
    if (!h) return;
    for (int k = 0; k < HK_MOST_LEVELS; k++) {
        hk_sparse_free(&h->level[k].smooth);
        hk_sparse_free(&h->level[k].down);
        hk_sparse_free(&h->level[k].up);
    }
    hk_free(h->root);
    hk_free(h->dense);
    hk_free(h);
}

static double entries_of(const hk_sparse *m)
{
    return m->start ? (double)m->start[m->rows] : 0;
}

double hk_hierarchy_complexity(const hk_hierarchy *h)
{
    double entries = 0;
    for (int k = 0; k < h->count; k++)
        entries += entries_of(&h->level[k].smooth) + entries_of(&h->level[k].down) +
                   entries_of(&h->level[k].up);
    if (h->dense) entries += pow(h->level[h->count - 1].count, 2);
    return entries / (entries_of(&h->level[0].smooth) + h->level[0].count);
}
