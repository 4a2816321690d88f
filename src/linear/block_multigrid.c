#include "linear/block_multigrid.h"

#include <math.h>

#include "linear/aggregation.h"
#include "math/dense.h"

// Unknowns that the coarsest level is solved with directly, and levels that there are at most. A
// level that is not smaller than so much of the one above it is not worth having.
enum { MOST_DIRECT = 300, MOST_LEVELS = 16, SWEEPS_IN_PLACE = 8 };
#define POOR_RATIO 0.8
// Chebyshev polynomials damp the part [1/SPREAD, 1] of the spectrum; its end is an estimate, which
// may be a little low.
#define SPREAD 10
#define MARGIN 1.1
enum { DEGREE = 2, FIRST_POWERS = 12, LATER_POWERS = 3, REFRESHING_POWERS = 1 };

typedef struct level {
    const hk_block_rows *a;
    hk_block_rows made;   // a, below the finest level
    hk_block_rows t;      // the tentative P: one block a row, at its group
    hk_block_rows p, r;   // to and from the coarser level
    hk_block_rows ap;     // A P
    int64_t *near_start;  // [rows + 1] the graph that rows are grouped by
    int32_t *near;
    int32_t *r_source;      // for hk_block_transpose
    int32_t *member_start;  // [groups + 1]
    int32_t *member;        // [rows] rows of a group
    float *inverse;         // [rows][size][size] of the diagonal blocks
    double *modes;          // [rows][6][size]
    double *vector;         // [rows][stride] nearly an eigenvector, that of the largest eigenvalue
    double largest;         // that one, of D⁻¹ A
    double *x, *next, *b, *step;  // [rows][stride]
    const double *right;          // b, or what the caller has
} level;

struct hk_block_multigrid {
    int count;
    level level[MOST_LEVELS];
    double *dense;        // the factor of the coarsest matrix; NULL: it is relaxed
    int dense_size;       // of it
    double *dense_right;  // [dense_size]
    int32_t *marker;      // workspace of products of matrices
    double *sums;
    double *partial;
    double *cg[2];  // [rows][4]
};

static int stride_of(const level *l)
{
    return hk_block_stride(l->a->height);
}

// ---------------------------------------------------------------- creation

static void release_level(level *l)
{
    hk_block_rows_release(&l->made);
    hk_block_rows_release(&l->t);
    hk_block_rows_release(&l->p);
    hk_block_rows_release(&l->r);
    hk_block_rows_release(&l->ap);
    hk_free(l->near_start);
    hk_free(l->near);
    hk_free(l->r_source);
    hk_free(l->member_start);
    hk_free(l->member);
    hk_free(l->inverse);
    hk_free(l->modes);
    hk_free(l->vector);
    hk_free(l->x);
    hk_free(l->next);
    hk_free(l->b);
    hk_free(l->step);
}

void hk_block_multigrid_free(hk_block_multigrid *m)
{
    if (!m) return;
    for (int k = 0; k < MOST_LEVELS; k++) release_level(&m->level[k]);
    for (int k = 0; k < HK_COUNT_OF(m->cg); k++) hk_free(m->cg[k]);
    hk_free(m->dense);
    hk_free(m->dense_right);
    hk_free(m->marker);
    hk_free(m->sums);
    hk_free(m->partial);
    hk_free(m);
}

static hk_status allocate_vectors(level *l)
{
    size_t rows = (size_t)l->a->rows, size = (size_t)l->a->height, padding = 8;
    size_t numbers = (size_t)stride_of(l) * rows;
    l->inverse = HK_ZEROS(float, size *size *rows + padding);
    l->modes = HK_ZEROS(double, 6 * size * rows);
    l->vector = HK_ZEROS(double, numbers);
    l->x = HK_ZEROS(double, numbers);
    l->b = HK_ZEROS(double, numbers);
    l->next = HK_ZEROS(double, numbers);
    l->right = l->b;
    l->step = HK_ZEROS(double, numbers);
    return l->inverse && l->modes && l->vector && l->x && l->b && l->next && l->step ? HK_OK
                                                                                     : HK_NO_MEMORY;
}

static hk_status list_members(level *l, const int32_t *group, int group_count)
{
    int rows = l->a->rows;
    l->member_start = HK_ZEROS(int32_t, group_count + 2);
    l->member = HK_ARRAY(int32_t, rows);
    if (!l->member_start || !l->member) return HK_NO_MEMORY;
    // Shifted by two, so that filling leaves the starts where they belong.
    for (int i = 0; i < rows; i++) l->member_start[group[i] + 2]++;
    for (int g = 0; g < group_count; g++) l->member_start[g + 2] += l->member_start[g + 1];
    for (int i = 0; i < rows; i++) l->member[l->member_start[group[i] + 1]++] = i;
    return HK_OK;
}

static hk_status make_tentative(level *l, const int32_t *group, int group_count)
{
    int rows = l->a->rows;
    l->t = (hk_block_rows){.rows = rows,
                           .columns = group_count,
                           .height = l->a->height,
                           .width = 6,
                           .threads = l->a->threads,
                           .start = HK_ARRAY(int64_t, rows + 1)};
    if (!l->t.start) return HK_NO_MEMORY;
    for (int i = 0; i <= rows; i++) l->t.start[i] = i;
    HK_TRY(hk_block_rows_allocate(&l->t, false));
    memcpy(l->t.column, group, sizeof(int32_t) * (size_t)rows);
    return HK_OK;
}

// The groups next to a group; counted, and listed if there is a list.
static int list_near(const level *l, const int32_t *group, int of, int32_t *marker, int32_t *to)
{
    int count = 0;
    marker[of] = of;
    for (int k = l->member_start[of]; k < l->member_start[of + 1]; k++)
        for (int64_t n = l->near_start[l->member[k]]; n < l->near_start[l->member[k] + 1]; n++) {
            int32_t other = group[l->near[n]];
            if (marker[other] == of) continue;
            marker[other] = of;
            if (to) to[count] = other;
            count++;
        }
    return count;
}

// Groups that touch are neighbours on the coarser level. Its matrix has many more, for P is
// smoothed: by its pattern groups would be far too large.
static hk_status make_graph(const level *l, const int32_t *group, int group_count, level *below)
{
    int32_t *marker = HK_ARRAY(int32_t, group_count);
    below->near_start = HK_ZEROS(int64_t, group_count + 1);
    for (int pass = 0; pass < 2 && marker && below->near_start; pass++) {
        for (int g = 0; g < group_count; g++) marker[g] = -1;
        for (int g = 0; g < group_count; g++) {
            int32_t *to = pass == 0 ? NULL : below->near + below->near_start[g];
            int count = list_near(l, group, g, marker, to);
            if (pass == 0) below->near_start[g + 1] = below->near_start[g] + count;
        }
        if (pass == 0) below->near = HK_ARRAY(int32_t, below->near_start[group_count]);
        if (!below->near) break;
    }
    bool made = marker && below->near;
    hk_free(marker);
    return made ? HK_OK : HK_NO_MEMORY;
}

// The level below l with the groups of its rows.
static hk_status make_coarser(level *l, level *below, const int32_t *group, int group_count)
{
    HK_TRY(list_members(l, group, group_count));
    HK_TRY(make_graph(l, group, group_count, below));
    HK_TRY(make_tentative(l, group, group_count));
    HK_TRY(hk_block_multiply_pattern(l->a, &l->t, false, &l->p));
    HK_TRY(hk_block_transpose_pattern(&l->p, &l->r, &l->r_source));
    HK_TRY(hk_block_multiply_pattern(l->a, &l->p, false, &l->ap));
    HK_TRY(hk_block_multiply_pattern(&l->r, &l->ap, true, &below->made));
    below->a = &below->made;
    return allocate_vectors(below);
}

static hk_status copy_graph(level *l)
{
    size_t rows = (size_t)l->a->rows, blocks = (size_t)l->a->start[rows];
    l->near_start = HK_ARRAY(int64_t, rows + 1);
    l->near = HK_ARRAY(int32_t, blocks);
    if (!l->near_start || !l->near) return HK_NO_MEMORY;
    memcpy(l->near_start, l->a->start, (rows + 1) * sizeof(int64_t));
    memcpy(l->near, l->a->column, blocks * sizeof(int32_t));
    return HK_OK;
}

static bool is_small(const level *l)
{
    return l->a->rows * l->a->height <= MOST_DIRECT;
}

// False, in `more`: there is no coarser level worth having.
static hk_status coarsen(level *l, level *below, bool *more)
{
    *more = false;
    if (is_small(l)) return HK_OK;
    int32_t *group = HK_ZEROS(int32_t, l->a->rows);
    if (!group) return HK_NO_MEMORY;
    int group_count;
    hk_graph graph = {l->a->rows, l->near_start, l->near};
    hk_status status = hk_aggregate_large(&graph, group, &group_count);
    // Counted in numbers, for the blocks grow from 3 to 6.
    if (status == HK_OK && 6.0 * group_count < POOR_RATIO * l->a->height * l->a->rows) {
        status = make_coarser(l, below, group, group_count);
        *more = status == HK_OK;
    }
    hk_free(group);
    return status;
}

static hk_status allocate_workspace(hk_block_multigrid *m)
{
    const level *fine = &m->level[0], *last = &m->level[m->count - 1];
    int threads = fine->a->threads;
    size_t sums = 0, columns = 0;
    for (int k = 0; k + 1 < m->count; k++) {
        const hk_block_rows *made[] = {&m->level[k].p, &m->level[k].ap, &m->level[k + 1].made};
        for (int i = 0; i < HK_COUNT_OF(made); i++) {
            if ((size_t)hk_block_sums(made[i]) > sums) sums = (size_t)hk_block_sums(made[i]);
            if ((size_t)made[i]->columns > columns) columns = (size_t)made[i]->columns;
        }
    }
    m->sums = HK_ARRAY(double, (size_t)threads *sums);
    m->marker = HK_ARRAY(int32_t, (size_t)threads * columns);
    m->partial = HK_ARRAY(double, hk_block_partials(fine->a->rows));
    if (!m->sums || !m->marker || !m->partial) return HK_NO_MEMORY;
    for (size_t k = 0; k < (size_t)threads * columns; k++) m->marker[k] = -1;
    for (int k = 0; k < HK_COUNT_OF(m->cg); k++) {
        m->cg[k] = HK_ZEROS(double, 4 * (size_t)fine->a->rows);
        if (!m->cg[k]) return HK_NO_MEMORY;
    }
    if (!is_small(last)) return HK_OK;
    m->dense_size = last->a->rows * last->a->height;
    m->dense = HK_ARRAY(double, (size_t)m->dense_size *(size_t)m->dense_size);
    m->dense_right = HK_ARRAY(double, m->dense_size);
    return m->dense && m->dense_right ? HK_OK : HK_NO_MEMORY;
}

static hk_status build(hk_block_multigrid *m, const hk_block_rows *a)
{
    m->level[0].a = a;
    m->count = 1;
    HK_TRY(copy_graph(&m->level[0]));
    HK_TRY(allocate_vectors(&m->level[0]));
    bool more = true;
    while (more && m->count < MOST_LEVELS) {
        HK_TRY(coarsen(&m->level[m->count - 1], &m->level[m->count], &more));
        m->count += more;
    }
    return allocate_workspace(m);
}

hk_status hk_block_multigrid_create(const hk_block_rows *a, hk_block_multigrid **multigrid)
{
    hk_block_multigrid *m = HK_NEW(hk_block_multigrid);
    if (!m) return HK_NO_MEMORY;
    hk_status status = build(m, a);
    if (status != HK_OK) {
        hk_block_multigrid_free(m);
        return status;
    }
    *multigrid = m;
    return HK_OK;
}

// ---------------------------------------------------------------- diagonal blocks

// The inverse of a symmetric block; false: it is not positive definite.
static bool invert_block(int size, const double *block, float *inverse)
{
    double factor[36], column[6];
    for (int r = 0; r < size; r++)
        for (int c = 0; c < size; c++)
            factor[size * r + c] = 0.5 * (block[size * c + r] + block[size * r + c]);
    if (!hk_dense_factor(factor, size)) return false;
    for (int c = 0; c < size; c++) {
        for (int r = 0; r < size; r++) column[r] = r == c;
        hk_dense_solve(factor, size, column);
        for (int r = 0; r < size; r++) {
            inverse[size * c + r] = (float)column[r];
            if (!isfinite(inverse[size * c + r])) return false;
        }
    }
    return true;
}

static bool invert_diagonal(level *l)
{
    int size = l->a->height;
    bool positive = true;
#pragma omp parallel for schedule(static) num_threads(l->a->threads) reduction(&& : positive)
    for (int64_t i = 0; i < l->a->rows; i++)
        positive =
            invert_block(size, l->a->diagonal + size * size * i, l->inverse + size * size * i) &&
            positive;
    return positive;
}

// ---------------------------------------------------------------- the largest eigenvalue

// Numbers from −1 to 1 that have nothing to do with the mesh.
static double scatter(uint64_t k)
{
    k = (k + 1) * 0x9E3779B97F4A7C15u;
    k ^= k >> 29;
    k *= 0xBF58476D1CE4E5B9u;
    k ^= k >> 32;
    return (double)(int64_t)k / 9223372036854775808.0;
}

static void scatter_vector(level *l)
{
    int stride = stride_of(l);
    for (int64_t i = 0; i < l->a->rows; i++)
        for (int c = 0; c < l->a->height; c++)
            l->vector[stride * i + c] = scatter((uint64_t)(l->a->height * i + c));
}

static void scale_vector(const level *l, double factor, double *v)
{
    int64_t numbers = (int64_t)stride_of(l) * l->a->rows;
#pragma omp parallel for schedule(static) num_threads(l->a->threads)
    for (int64_t k = 0; k < numbers; k++) v[k] *= factor;
}

// Powers of D⁻¹ A, from the vector that is there.
static void estimate_largest(hk_block_multigrid *m, level *l, int powers)
{
    hk_block_relax rule = {.size = l->a->height, .inverse = l->inverse, .weight = 1};
    for (int k = 0; k < powers; k++) {
        double down = hk_block_product_dot(l->a, l->vector, l->next, m->partial);
        hk_block_relax_rows(l->a, &rule, l->next, l->step, l->x);
        // Rayleigh's quotient in the product of D: λ = (D⁻¹A v)·(A v) / v·(A v).
        double up = hk_block_dot(l->a, l->x, l->next, m->partial);
        double norm = hk_block_dot(l->a, l->x, l->x, m->partial);
        if (!(norm > 0) || !(down > 0) || !(up > 0)) break;
        l->largest = up / down;
        double *swap = l->vector;
        l->vector = l->x;
        l->x = swap;
        scale_vector(l, 1 / sqrt(norm), l->vector);
    }
}

// ---------------------------------------------------------------- rigid-body modes

// Translations, and rotations about the middle of all vertices.
static void make_modes(level *l, const double *x)
{
    double middle[3] = {0};
    for (int64_t i = 0; i < l->a->rows; i++)
        for (int c = 0; c < 3; c++) middle[c] += x[4 * i + c] / l->a->rows;
#pragma omp parallel for schedule(static) num_threads(l->a->threads)
    for (int64_t i = 0; i < l->a->rows; i++) {
        double p[3] = {x[4 * i] - middle[0], x[4 * i + 1] - middle[1], x[4 * i + 2] - middle[2]};
        const double modes[18] = {1, 0,     0,    0,    1, 0,     0,     0,    1,  //
                                  0, -p[2], p[1], p[2], 0, -p[0], -p[1], p[0], 0};
        memcpy(l->modes + 18 * i, modes, sizeof modes);
    }
}

// Columns of the modes in a group that do not differ from those before them.
#define DEPENDENT 1e-9

static double column_dot(const level *l, int group, int a, int b)
{
    int size = l->a->height;
    double sum = 0;
    for (int k = l->member_start[group]; k < l->member_start[group + 1]; k++) {
        const double *q = l->modes + 6 * size * (int64_t)l->member[k];
        for (int r = 0; r < size; r++) sum += q[size * a + r] * q[size * b + r];
    }
    return sum;
}

// column b = factor × (column b − weight × column a)
static void reduce_column(level *l, int group, int a, double weight, int b, double factor)
{
    int size = l->a->height;
    for (int k = l->member_start[group]; k < l->member_start[group + 1]; k++) {
        double *q = l->modes + 6 * size * (int64_t)l->member[k];
        for (int r = 0; r < size; r++)
            q[size * b + r] = factor * (q[size * b + r] - weight * q[size * a + r]);
    }
}

// Gram and Schmidt's: the modes of the members become orthonormal; `coarse` gets the triangle that
// makes the old ones out of them. A group of one or two vertices, or of vertices in a line, has
// fewer than six.
static void orthonormalise(level *l, int group, double *coarse)
{
    memset(coarse, 0, 36 * sizeof(double));
    for (int c = 0; c < 6; c++) {
        double before = sqrt(column_dot(l, group, c, c));
        for (int b = 0; b < c; b++) {
            double weight = column_dot(l, group, b, c);
            coarse[6 * c + b] = weight;
            reduce_column(l, group, b, weight, c, 1);
        }
        double after = sqrt(column_dot(l, group, c, c));
        bool dependent = !(after > DEPENDENT * before);
        coarse[6 * c + c] = dependent ? 0 : after;
        reduce_column(l, group, c, 0, c, dependent ? 0 : 1 / after);
    }
}

// The modes of the level become the tentative P, and those of the coarser level follow.
static void fill_tentative(level *l, level *below)
{
    int64_t size = 6 * l->a->height, numbers = size * l->a->rows;
#pragma omp parallel for schedule(static) num_threads(l->a->threads)
    for (int g = 0; g < l->t.columns; g++) orthonormalise(l, g, below->modes + 36 * (int64_t)g);
#pragma omp parallel for schedule(static) num_threads(l->a->threads)
    for (int64_t k = 0; k < numbers; k++) l->t.value[k] = (float)l->modes[k];
}

// ---------------------------------------------------------------- P and the coarser matrix

// P = T − ω D⁻¹ A T; the numbers of A T are there.
static void smooth_row(level *l, double omega, int64_t i)
{
    int size = l->a->height;
    const float *inverse = l->inverse + size * size * i;
    for (int64_t k = l->p.start[i]; k < l->p.start[i + 1]; k++) {
        float *block = l->p.value + 6 * size * k;
        bool own = l->p.column[k] == l->t.column[i];
        for (int c = 0; c < 6; c++) {
            double sum[6] = {0};
            for (int b = 0; b < size; b++)
                for (int r = 0; r < size; r++)
                    sum[r] += inverse[size * b + r] * (double)block[size * c + b];
            for (int r = 0; r < size; r++) {
                double start = own ? l->t.value[6 * size * i + size * c + r] : 0;
                block[size * c + r] = (float)(start - omega * sum[r]);
            }
        }
    }
}

// Unknowns of the coarser level that stand for nothing keep the matrix regular.
static void fill_empty(hk_block_rows *a)
{
    for (int64_t i = 0; i < a->rows; i++)
        for (int c = 0; c < 6; c++)
            if (a->diagonal[36 * i + 7 * c] == 0) a->diagonal[36 * i + 7 * c] = 1;
}

static void make_transfer(hk_block_multigrid *m, level *l, level *below)
{
    fill_tentative(l, below);
    hk_block_multiply(l->a, &l->t, &l->p, m->marker, m->sums);
    double omega = 4.0 / 3 / l->largest;
#pragma omp parallel for schedule(static) num_threads(l->a->threads)
    for (int64_t i = 0; i < l->a->rows; i++) smooth_row(l, omega, i);
    hk_block_transpose(&l->p, l->r_source, &l->r);
    hk_block_multiply(l->a, &l->p, &l->ap, m->marker, m->sums);
    hk_block_multiply(&l->r, &l->ap, &below->made, m->marker, m->sums);
    fill_empty(&below->made);
}

static bool factor_coarsest(hk_block_multigrid *m)
{
    const hk_block_rows *a = m->level[m->count - 1].a;
    int n = m->dense_size, size = a->height;
    memset(m->dense, 0, sizeof(double) * (size_t)n * (size_t)n);
    for (int i = 0; i < a->rows; i++) {
        for (int r = 0; r < size; r++)
            for (int c = 0; c < size; c++)
                m->dense[n * (size * i + r) + size * i + c] =
                    a->diagonal[size * size * i + size * c + r];
        for (int64_t k = a->start[i]; k < a->start[i + 1]; k++)
            for (int r = 0; r < size; r++)
                for (int c = 0; c < size; c++)
                    m->dense[n * (size * i + r) + size * a->column[k] + c] =
                        a->value[size * size * k + size * c + r];
    }
    return hk_dense_factor(m->dense, n);
}

// The inverse diagonal of a level and its largest eigenvalue; false: it is not positive.
static bool prepare_level(hk_block_multigrid *m, level *l, int powers)
{
    if (!invert_diagonal(l)) return false;
    if (l->largest == 0) scatter_vector(l);
    estimate_largest(m, l, l->largest == 0 ? FIRST_POWERS : powers);
    return l->largest > 0 && isfinite(l->largest);
}

void hk_block_multigrid_set(hk_block_multigrid *m, const double *x, bool *positive)
{
    *positive = false;
    make_modes(&m->level[0], x);
    for (int k = 0; k < m->count; k++) {
        level *l = &m->level[k];
        bool last = k + 1 == m->count;
        if (last && m->dense) break;
        if (!prepare_level(m, l, LATER_POWERS)) return;
        if (!last) make_transfer(m, l, &m->level[k + 1]);
    }
    *positive = !m->dense || factor_coarsest(m);
}

void hk_block_multigrid_refresh(hk_block_multigrid *m, bool *positive)
{
    bool only = m->count == 1 && m->dense;
    *positive = only ? factor_coarsest(m) : prepare_level(m, &m->level[0], REFRESHING_POWERS);
}

// ---------------------------------------------------------------- the cycle

// x += (or =, from nothing) a polynomial of D⁻¹ A times D⁻¹ (b − A x). With `partial` the product
// of b and x comes back.
static double smooth(level *l, int degree, bool from_nothing, double *partial)
{
    double high = MARGIN * l->largest, low = high / SPREAD, found = 0;
    double middle = 0.5 * (high + low), half = 0.5 * (high - low), sigma = middle / half;
    double rho = 1 / sigma;
    hk_block_relax rule = {.size = l->a->height, .inverse = l->inverse, .weight = 1 / middle};
    for (int k = 0; k < degree; k++) {
        if (k == 0 && from_nothing) {
            hk_block_relax_rows(l->a, &rule, l->right, l->step, l->x);
        } else {
            double *last = k + 1 == degree ? partial : NULL;
            found = hk_block_smooth(l->a, &rule, l->right, l->x, l->step, l->next, last);
            double *swap = l->x;
            l->x = l->next;
            l->next = swap;
        }
        double next = 1 / (2 * sigma - rho);
        rule.keep = next * rho;
        rule.weight = 2 * next / half;
        rho = next;
    }
    return found;
}

static void solve_coarsest(hk_block_multigrid *m)
{
    level *l = &m->level[m->count - 1];
    if (!m->dense) {
        smooth(l, SWEEPS_IN_PLACE, true, NULL);
        return;
    }
    int size = l->a->height, stride = stride_of(l);
    for (int i = 0; i < l->a->rows; i++)
        for (int c = 0; c < size; c++) m->dense_right[size * i + c] = l->right[stride * i + c];
    hk_dense_solve(m->dense, m->dense_size, m->dense_right);
    for (int i = 0; i < l->a->rows; i++)
        for (int c = 0; c < size; c++) l->x[stride * i + c] = m->dense_right[size * i + c];
}

// One V-cycle for r, to x of the finest level; returns the product of the two.
static double cycle(hk_block_multigrid *m, const double *r)
{
    level *fine = &m->level[0];
    fine->right = r;
    for (int k = 0; k + 1 < m->count; k++) {
        level *l = &m->level[k];
        smooth(l, DEGREE, true, NULL);
        hk_block_product(l->a, -1, l->right, l->x, l->next);
        hk_block_product(&l->r, 1, NULL, l->next, m->level[k + 1].b);
    }
    solve_coarsest(m);
    if (m->count == 1) return hk_block_dot(fine->a, r, fine->x, m->partial);
    for (int k = m->count - 2; k > 0; k--) {
        level *l = &m->level[k];
        hk_block_product(&l->p, 1, l->x, m->level[k + 1].x, l->x);
        smooth(l, DEGREE, false, NULL);
    }
    hk_block_product(&fine->p, 1, fine->x, m->level[1].x, fine->x);
    return smooth(fine, DEGREE, false, m->partial);
}

void hk_block_multigrid_cycle(hk_block_multigrid *m, const double *r, double *z)
{
    const level *l = &m->level[0];
    cycle(m, r);
    memcpy(z, l->x, sizeof(double) * (size_t)stride_of(l) * (size_t)l->a->rows);
}

// ---------------------------------------------------------------- conjugate gradients

// p = z + keep × p
static void turn(const hk_block_multigrid *m, double keep, const double *z, double *p)
{
    int64_t numbers = 4 * (int64_t)m->level[0].a->rows;
#pragma omp parallel for schedule(static) num_threads(m->level[0].a->threads)
    for (int64_t k = 0; k < numbers; k++) p[k] = z[k] + keep * p[k];
}

void hk_block_multigrid_solve(hk_block_multigrid *m, hk_block_cg *cg, double *b, double *x)
{
    const hk_block_rows *a = m->level[0].a;
    double *p = m->cg[0], *q = m->cg[1];
    double size = sqrt(hk_block_dot(a, b, b, m->partial)), before = 1;
    memset(x, 0, 4 * sizeof(double) * (size_t)a->rows);
    memset(p, 0, 4 * sizeof(double) * (size_t)a->rows);
    cg->iterations = 0;
    cg->indefinite = false;
    cg->residual = size > 0 ? 1 : 0;
    while (cg->residual > cg->tolerance && cg->iterations < cg->most) {
        double now = cycle(m, b);
        turn(m, cg->iterations == 0 ? 0 : now / before, m->level[0].x, p);
        before = now;
        double curvature = hk_block_product_dot(a, p, q, m->partial);
        cg->indefinite = !(now > 0) || !(curvature > 0);
        if (cg->indefinite) return;
        cg->residual = sqrt(hk_block_go_along(a, now / curvature, p, q, x, b, m->partial)) / size;
        cg->iterations++;
    }
}

// ---------------------------------------------------------------- what there is

int hk_block_multigrid_levels(const hk_block_multigrid *m)
{
    return m->count;
}

int hk_block_multigrid_rows(const hk_block_multigrid *m, int k)
{
    return m->level[k].a->rows;
}

double hk_block_multigrid_complexity(const hk_block_multigrid *m)
{
    double numbers[2] = {0};
    for (int k = 0; k < m->count; k++) {
        const hk_block_rows *a = m->level[k].a;
        double own = (double)(a->height * a->width) * (double)(a->rows + a->start[a->rows]);
        numbers[0] += k == 0 ? own : 0;
        numbers[1] += own;
    }
    return numbers[0] > 0 ? numbers[1] / numbers[0] : 1;
}

void hk_block_multigrid_prolong(const hk_block_multigrid *m, int k, const double *coarse,
                                double *fine)
{
    hk_block_product(&m->level[k].p, 1, NULL, coarse, fine);
}

const double *hk_block_multigrid_modes(const hk_block_multigrid *m, int k)
{
    return m->level[k].modes;
}
