// Multigrid for constant matrices: sparse products, groups, and the V-cycle as a preconditioner.
#include "bodies.h"
#include "failing_alloc.h"
#include "linear/aggregation.h"
#include "linear/multigrid.h"
#include "math/dense.h"
#include "model/model.h"
#include "term/laplacian.h"

// ---------------------------------------------------------------- matrices

// The lower triangle of a scalar pattern.
typedef struct matrix {
    hk_pattern pattern;
    double *lower;
} matrix;

static void matrix_free(matrix *m)
{
    hk_pattern_free(&m->pattern);
    hk_free(m->lower);
}

// The Laplacian of a grid of nx × ny × nz points with a coupling for each direction (0: there is
// none), plus `mass` on the diagonal.
static matrix grid_matrix(const int n[3], const double coupling[3], double mass)
{
    int count = n[0] * n[1] * n[2], stride[3] = {1, n[0], n[0] * n[1]};
    matrix m = {.pattern = {.scalar = true, .count = count}};
    m.pattern.start = HK_ZEROS(int64_t, count + 1);
    m.pattern.row = HK_ARRAY(int32_t, 3 * count);
    m.lower = HK_ZEROS(double, 4 * (size_t)count);
    double *diagonal = HK_ZEROS(double, count);
    int64_t at = 0;
    for (int c = 0; c < count; c++) {
        int64_t column = c + at;  // where it begins
        m.pattern.start[c] = at;
        for (int i = 0; i < 3; i++) {
            if (coupling[i] == 0 || c / stride[i] % n[i] == n[i] - 1) continue;
            diagonal[c] += coupling[i];
            diagonal[c + stride[i]] += coupling[i];
            m.lower[column + 1 + at - m.pattern.start[c]] = -coupling[i];
            m.pattern.row[at++] = c + stride[i];
        }
    }
    m.pattern.start[count] = at;
    for (int c = 0; c < count; c++)
        m.lower[hk_pattern_column(&m.pattern, c, 0)] = diagonal[c] + mass;
    hk_free(diagonal);
    return m;
}

// M/h² + L of a bar of rubber, 1 × 0.25 × 0.25 m, held at one end.
static matrix bar_matrix(int across, double step)
{
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 1, 1);
    body.fixes = &wall;
    body.fix_count = 1;
    body.material = material_of("neo_hookean", 1e6, 0.45);
    hk_model *model = model_of(&body, box_mesh(1, 0.25, 0.25, 4 * across, across, across), -9.81);
    int32_t *unknown = HK_ARRAY(int32_t, model->vertex_count), count = 0;
    double *mass = HK_ARRAY(double, model->vertex_count), weight = 3.8e6;
    for (int v = 0; v < model->vertex_count; v++) {
        bool is_free = model->hold[model->order[v]] == HK_FREE;
        if (is_free) mass[count] = model->mass[model->order[v]];
        unknown[v] = is_free ? count++ : -1;
    }
    matrix m;
    CHECK_OK(hk_laplacian_pattern(model, unknown, count, &m.pattern));
    m.lower = HK_ARRAY(double, hk_pattern_size(&m.pattern));
    hk_laplacian_numbers(model, unknown, &m.pattern, &weight, m.lower);
    for (int b = 0; b < count && step > 0; b++)
        m.lower[hk_pattern_column(&m.pattern, b, 0)] += mass[b] / (step * step);
    hk_free(unknown);
    hk_free(mass);
    hk_model_free(model);
    return m;
}

// ---------------------------------------------------------------- vectors of [count][4]

static double *vector_for(const matrix *m, uint64_t seed)
{
    double *v = calloc(4 * (size_t)m->pattern.count, sizeof *v);
    for (int64_t i = 0; seed != 0 && i < m->pattern.count; i++)
        for (int c = 0; c < 3; c++) v[4 * i + c] = noise(&seed);
    return v;
}

static double dot(const matrix *m, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t k = 0; k < 4 * (int64_t)m->pattern.count; k++) sum += a[k] * b[k];
    return sum;
}

static void product(const matrix *m, const double *x, double *y)
{
    const hk_pattern *p = &m->pattern;
    memset(y, 0, 4 * sizeof *y * (size_t)p->count);
    for (int64_t c = 0; c < p->count; c++) {
        const double *column = m->lower + hk_pattern_column(p, (int)c, 0);
        for (int i = 0; i < 3; i++) y[4 * c + i] += column[0] * x[4 * c + i];
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            int64_t row = p->row[k];
            for (int i = 0; i < 3; i++) {
                y[4 * row + i] += column[1 + k - p->start[c]] * x[4 * c + i];
                y[4 * c + i] += column[1 + k - p->start[c]] * x[4 * row + i];
            }
        }
    }
}

static int32_t *numbers_up_to(int count)
{
    int32_t *list = malloc(sizeof *list * (size_t)count);
    for (int k = 0; k < count; k++) list[k] = k;
    return list;
}

static hk_multigrid *multigrid_of(const matrix *m, int threads)
{
    hk_multigrid *multigrid = NULL;
    CHECK_OK(hk_multigrid_create(&m->pattern, m->lower, threads, &multigrid));
    return multigrid;
}

static int level_count(const matrix *m)
{
    hk_hierarchy *h;
    CHECK_OK(hk_hierarchy_create(&m->pattern, m->lower, 200, 1, &h));
    int count = h->count;
    hk_hierarchy_free(h);
    return count;
}

// Conjugate gradients for A x = b until ‖b − A x‖ ≤ 1e-6 ‖b‖, with a cycle as the preconditioner;
// returns their number.
static int solve_preconditioned(const matrix *m, const double *b)
{
    enum { MOST = 200 };
    size_t size = 4 * (size_t)m->pattern.count;
    int32_t *vertex = numbers_up_to(m->pattern.count);
    hk_multigrid *multigrid = multigrid_of(m, 1);
    double *r = vector_for(m, 0), *z = vector_for(m, 0), *p = vector_for(m, 0);
    double *q = vector_for(m, 0), before = 0, least = 1e-12 * dot(m, b, b);
    memcpy(r, b, size * sizeof *r);
    int iteration = 0;
    for (; iteration < MOST && dot(m, r, r) > least; iteration++) {
        hk_multigrid_apply(multigrid, vertex, r, z);
        double now = dot(m, r, z);
        assert_true(now > 0);
        for (size_t k = 0; k < size; k++) p[k] = z[k] + (iteration > 0 ? now / before : 0) * p[k];
        before = now;
        product(m, p, q);
        double length = now / dot(m, p, q);
        for (size_t k = 0; k < size; k++) r[k] -= length * q[k];
    }
    hk_multigrid_free(multigrid);
    free(vertex);
    free(r);
    free(z);
    free(p);
    free(q);
    return iteration;
}

static int iterations_for(const matrix *m)
{
    double *b = vector_for(m, 7);
    for (int64_t k = 0; k < m->pattern.count; k++) b[4 * k + 1] -= 1;  // a smooth part
    int iterations = solve_preconditioned(m, b);
    free(b);
    return iterations;
}

// ---------------------------------------------------------------- sparse matrices

// A rows × columns matrix of which about a third is not 0, some rows empty; `full` is its dense
// form.
static hk_sparse random_sparse(int rows, int columns, uint64_t seed, double *full)
{
    hk_sparse m = {.rows = rows, .columns = columns};
    m.start = HK_ZEROS(int64_t, rows + 1);
    m.column = HK_ARRAY(int32_t, rows * columns);
    m.value = HK_ARRAY(double, rows *columns);
    int64_t at = 0;
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < columns; c++) {
            double value = noise(&seed);
            bool there = noise(&seed) < -0.3 && r % 5 != 3;
            full[r * columns + c] = there ? value : 0;
            if (!there) continue;
            m.column[at] = c;
            m.value[at++] = value;
        }
        m.start[r + 1] = at;
    }
    return m;
}

static void check_dense(const hk_sparse *m, const double *expected, double tolerance)
{
    double *seen = calloc((size_t)m->rows * (size_t)m->columns, sizeof *seen);
    for (int r = 0; r < m->rows; r++)
        for (int64_t k = m->start[r]; k < m->start[r + 1]; k++) {
            assert_in_range(m->column[k], 0, m->columns - 1);
            seen[r * m->columns + m->column[k]] += m->value[k];
        }
    for (int k = 0; k < m->rows * m->columns; k++)
        assert_true(fabs(seen[k] - expected[k]) <= tolerance);
    free(seen);
}

static void test_transpose(void **state)
{
    (void)state;
    enum { ROWS = 17, COLUMNS = 11 };
    double full[ROWS * COLUMNS], turned[ROWS * COLUMNS];
    hk_sparse m = random_sparse(ROWS, COLUMNS, 1, full), t;
    CHECK_OK(hk_sparse_transpose(&m, &t));
    assert_int_equal(t.rows, COLUMNS);
    assert_int_equal(t.columns, ROWS);
    assert_int_equal(t.start[t.rows], m.start[m.rows]);
    for (int k = 0; k < ROWS * COLUMNS; k++) turned[k % COLUMNS * ROWS + k / COLUMNS] = full[k];
    check_dense(&t, turned, 0);
    hk_sparse_free(&m);
    hk_sparse_free(&t);
}

static void test_products(void **state)
{
    (void)state;
    enum { ROWS = 23, MIDDLE = 14, COLUMNS = 19 };
    double a[ROWS * MIDDLE], b[MIDDLE * COLUMNS], expected[ROWS * COLUMNS] = {0};
    hk_sparse first = random_sparse(ROWS, MIDDLE, 2, a);
    hk_sparse second = random_sparse(MIDDLE, COLUMNS, 3, b);
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < MIDDLE; k++)
            for (int c = 0; c < COLUMNS; c++)
                expected[r * COLUMNS + c] += a[r * MIDDLE + k] * b[k * COLUMNS + c];
    for (int threads = 1; threads <= 3; threads++) {
        hk_sparse c;
        CHECK_OK(hk_sparse_multiply(&first, &second, threads, &c));
        assert_int_equal(c.rows, ROWS);
        check_dense(&c, expected, 1e-14);
        hk_sparse_free(&c);
    }
    hk_sparse_free(&first);
    hk_sparse_free(&second);
}

// Both triangles of a lower one, every row in ascending order.
static void test_from_lower(void **state)
{
    (void)state;
    matrix m = grid_matrix((int[3]){5, 4, 3}, (double[3]){1, 2, 3}, 0.5);
    hk_sparse whole;
    CHECK_OK(hk_sparse_from_lower(&m.pattern, m.lower, &whole));
    assert_int_equal(whole.start[whole.rows],
                     m.pattern.count + 2 * m.pattern.start[m.pattern.count]);
    double *x = vector_for(&m, 4), *y = vector_for(&m, 0);
    product(&m, x, y);
    for (int r = 0; r < whole.rows; r++) {
        double sum[3] = {0};
        for (int64_t k = whole.start[r]; k < whole.start[r + 1]; k++) {
            assert_true(k == whole.start[r] || whole.column[k] > whole.column[k - 1]);
            for (int i = 0; i < 3; i++) sum[i] += whole.value[k] * x[4 * whole.column[k] + i];
        }
        for (int i = 0; i < 3; i++) assert_true(fabs(sum[i] - y[4 * r + i]) < 1e-13);
    }
    free(x);
    free(y);
    hk_sparse_free(&whole);
    matrix_free(&m);
}

// ---------------------------------------------------------------- groups

// The graph of a matrix without its diagonal; the arrays belong to `whole`.
static hk_graph graph_of(const matrix *m, hk_sparse *whole)
{
    CHECK_OK(hk_sparse_from_lower(&m->pattern, m->lower, whole));
    int64_t at = 0;
    for (int r = 0; r < whole->rows; r++) {
        int64_t first = whole->start[r];
        whole->start[r] = at;
        for (int64_t k = first; k < whole->start[r + 1]; k++)
            if (whole->column[k] != r) whole->column[at++] = whole->column[k];
    }
    whole->start[whole->rows] = at;
    return (hk_graph){whole->rows, whole->start, whole->column};
}

static bool is_near(const hk_graph *g, int a, int b)
{
    for (int64_t k = g->start[a]; k < g->start[a + 1]; k++)
        if (g->neighbour[k] == b) return true;
    return a == b;
}

// All neighbours that have a group are in that of the row.
static bool may_be_root(const hk_graph *g, const int32_t *group, int row)
{
    for (int64_t k = g->start[row]; k < g->start[row + 1]; k++) {
        int32_t near = group[g->neighbour[k]];
        if (near >= 0 && near != group[row]) return false;
    }
    return true;
}

// Whether all members are at most two steps from this row.
static bool reaches_all(const hk_graph *g, const int32_t *group, int row)
{
    for (int member = 0; member < g->count; member++) {
        if (group[member] != group[row]) continue;
        bool reached = is_near(g, row, member);
        for (int64_t k = g->start[row]; k < g->start[row + 1] && !reached; k++)
            reached = is_near(g, g->neighbour[k], member);
        if (!reached) return false;
    }
    return true;
}

// Everyone who is to have a group has one, and every group has a root that owns all its neighbours
// and is at most two steps from all members: roots are at least three steps apart.
static void check_groups(const hk_graph *g, const int32_t *group, int count)
{
    for (int k = 0; k < count; k++) {
        bool found = false;
        for (int row = 0; row < g->count && !found; row++)
            found = group[row] == k && may_be_root(g, group, row) && reaches_all(g, group, row);
        assert_true(found);
    }
}

static void test_groups(void **state)
{
    (void)state;
    matrix m = bar_matrix(4, 1.0 / 60);
    hk_sparse whole;
    hk_graph g = graph_of(&m, &whole);
    size_t size = sizeof(int32_t) * (size_t)g.count;
    int32_t *group = malloc(size), *again = malloc(size);
    hk_status (*const rules[])(const hk_graph *, int32_t *, int *) = {hk_aggregate,
                                                                      hk_aggregate_large};
    for (int rule = 0; rule < 2; rule++) {
        int count, second;
        for (int r = 0; r < g.count; r++) group[r] = again[r] = r % 7 == 2 ? -1 : 0;
        CHECK_OK(rules[rule](&g, group, &count));
        CHECK_OK(rules[rule](&g, again, &second));
        assert_in_range(count, 2, g.count / 4);
        assert_int_equal(count, second);
        assert_memory_equal(group, again, size);
        for (int r = 0; r < g.count; r++) {
            assert_true((group[r] == -1) == (r % 7 == 2));
            assert_true(group[r] < count);
        }
        check_groups(&g, group, count);
    }
    free(group);
    free(again);
    hk_sparse_free(&whole);
    matrix_free(&m);
}

// Rows without neighbours are groups of their own; where all are out there is none.
static void test_lonely_rows(void **state)
{
    (void)state;
    int64_t start[5] = {0};
    hk_graph g = {4, start, NULL};
    int32_t group[4] = {0, -1, 0, 0};
    int count;
    CHECK_OK(hk_aggregate(&g, group, &count));
    assert_int_equal(count, 3);
    assert_true(group[0] == 0 && group[1] == -1 && group[2] == 1 && group[3] == 2);
    memset(group, -1, sizeof group);
    CHECK_OK(hk_aggregate(&g, group, &count));
    assert_int_equal(count, 0);
}

// ---------------------------------------------------------------- the dense inverse

static void test_dense_inverse(void **state)
{
    (void)state;
    const int sizes[] = {1, 2, 37, 230};
    for (int s = 0; s < 4; s++) {
        size_t n = (size_t)sizes[s], bytes = n * n * sizeof(double);
        double *a = malloc(bytes), *inverse = malloc(bytes), *again = malloc(bytes);
        uint64_t seed = 11;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= i; j++)
                a[n * i + j] = a[n * j + i] = noise(&seed) + (i == j ? 1.5 * (double)n : 0);
        memcpy(inverse, a, bytes);
        memcpy(again, a, bytes);
        assert_true(hk_dense_invert(inverse, (int)n, 1));
        assert_true(hk_dense_invert(again, (int)n, 3));
        assert_memory_equal(inverse, again, bytes);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                double sum = 0;
                for (size_t k = 0; k < n; k++) sum += a[n * i + k] * inverse[n * k + j];
                assert_true(fabs(sum - (i == j)) < 1e-13);
            }
        free(a);
        free(inverse);
        free(again);
    }
    double negative[4] = {1, 2, 2, 1}, singular[4] = {1, 1, 1, 1}, zero[1] = {0};
    assert_false(hk_dense_invert(negative, 2, 1));
    assert_false(hk_dense_invert(singular, 2, 1));
    assert_false(hk_dense_invert(zero, 1, 1));
}

// ---------------------------------------------------------------- the cycle

// ⟨a, B b⟩ = ⟨B a, b⟩ and ⟨a, B a⟩ > 0.
static void check_symmetric(const matrix *m)
{
    hk_multigrid *multigrid = multigrid_of(m, 1);
    int32_t *vertex = numbers_up_to(m->pattern.count);
    for (uint64_t k = 1; k <= 3; k++) {
        double *a = vector_for(m, 2 * k), *b = vector_for(m, 2 * k + 1);
        double *ba = vector_for(m, 0), *bb = vector_for(m, 0);
        hk_multigrid_apply(multigrid, vertex, a, ba);
        hk_multigrid_apply(multigrid, vertex, b, bb);
        double aa = dot(m, a, ba), both = dot(m, b, bb);
        assert_true(aa > 0 && both > 0);
        assert_true(fabs(dot(m, a, bb) - dot(m, b, ba)) < 1e-5 * sqrt(aa * both));
        free(a);
        free(b);
        free(ba);
        free(bb);
    }
    hk_multigrid_free(multigrid);
    free(vertex);
}

static void test_cycle_is_symmetric_and_positive(void **state)
{
    (void)state;
    matrix bar = bar_matrix(7, 1.0 / 60), pose = bar_matrix(7, 0);
    assert_true(level_count(&bar) >= 2);
    check_symmetric(&bar);
    check_symmetric(&pose);
    matrix_free(&bar);
    matrix_free(&pose);
}

// A cycle is linear in its right-hand side, and takes forces of any size.
static void test_cycle_of_large_and_small_forces(void **state)
{
    (void)state;
    matrix m = bar_matrix(5, 1.0 / 60);
    hk_multigrid *multigrid = multigrid_of(&m, 1);
    int32_t *vertex = numbers_up_to(m.pattern.count);
    double *b = vector_for(&m, 3), *x = vector_for(&m, 0), *y = vector_for(&m, 0);
    hk_multigrid_apply(multigrid, vertex, b, x);
    const double factors[] = {ldexp(1, 200), ldexp(1, -200)};
    for (int f = 0; f < 2; f++) {
        for (int k = 0; k < 4 * m.pattern.count; k++) y[k] = factors[f] * b[k];
        hk_multigrid_apply(multigrid, vertex, y, y);
        for (int k = 0; k < 4 * m.pattern.count; k++)
            assert_true(fabs(y[k] / factors[f] - x[k]) <= 1e-6 * fabs(x[k]));
    }
    memset(y, 0, 4 * sizeof *y * (size_t)m.pattern.count);
    hk_multigrid_apply(multigrid, vertex, y, y);
    assert_true(dot(&m, y, y) == 0);
    hk_multigrid_free(multigrid);
    free(vertex);
    free(b);
    free(x);
    free(y);
    matrix_free(&m);
}

// From 400 to 30 thousand unknowns the iterations hardly grow, for time steps and for poses.
static void test_iterations_hardly_grow(void **state)
{
    (void)state;
    const int across[] = {4, 7, 11, SANITIZED ? 12 : 19};
    int steps[4], poses[4];
    for (int k = 0; k < 4; k++) {
        matrix step = bar_matrix(across[k], 1.0 / 60), pose = bar_matrix(across[k], 0);
        steps[k] = iterations_for(&step);
        poses[k] = iterations_for(&pose);
        matrix_free(&step);
        matrix_free(&pose);
        assert_in_range(steps[k], 1, 16);
        assert_in_range(poses[k], 1, 20);
    }
    assert_true(steps[3] <= steps[1] + 4);
    assert_true(poses[3] <= poses[1] + 5);
}

static void test_same_bits_for_any_threads(void **state)
{
    (void)state;
    matrix m = bar_matrix(10, 1.0 / 60);
    int32_t *vertex = numbers_up_to(m.pattern.count);
    size_t bytes = 4 * sizeof(double) * (size_t)m.pattern.count;
    double *b = vector_for(&m, 5), *first = vector_for(&m, 0), *x = vector_for(&m, 0);
    for (int threads = 1; threads <= 3; threads++) {
        hk_multigrid *multigrid = multigrid_of(&m, threads);
        hk_multigrid_apply(multigrid, vertex, b, threads == 1 ? first : x);
        if (threads > 1) assert_memory_equal(x, first, bytes);
        hk_multigrid_free(multigrid);
    }
    free(vertex);
    free(b);
    free(first);
    free(x);
    matrix_free(&m);
}

static void test_describe(void **state)
{
    (void)state;
    matrix m = bar_matrix(7, 1.0 / 60);
    hk_multigrid *multigrid = multigrid_of(&m, 1);
    char text[128], expected[64];
    hk_multigrid_describe(multigrid, text, sizeof text);
    snprintf(expected, sizeof expected, "multigrid with %d levels", level_count(&m));
    assert_non_null(strstr(text, expected));
    hk_multigrid_free(multigrid);
    matrix_free(&m);
}

// ---------------------------------------------------------------- matrices of every kind

// Few unknowns are solved for at once.
static void test_small_matrix_is_inverted(void **state)
{
    (void)state;
    matrix m = grid_matrix((int[3]){5, 5, 5}, (double[3]){1, 1, 1}, 0.01);
    assert_int_equal(level_count(&m), 1);
    assert_in_range(iterations_for(&m), 1, 2);
    check_symmetric(&m);
    matrix_free(&m);
    matrix one = grid_matrix((int[3]){1, 1, 1}, (double[3]){1, 1, 1}, 3);
    assert_in_range(iterations_for(&one), 1, 2);
    matrix_free(&one);
}

// Sixty sheets that do not touch.
static void test_many_bodies(void **state)
{
    (void)state;
    matrix m = grid_matrix((int[3]){9, 8, 60}, (double[3]){1, 1, 0}, 0.01);
    assert_true(level_count(&m) >= 2);
    assert_in_range(iterations_for(&m), 1, 16);
    check_symmetric(&m);
    matrix_free(&m);
}

// Nothing but a diagonal, and couplings that hardly count: there is nothing to coarsen.
static void test_mass_dominates(void **state)
{
    (void)state;
    const double couplings[] = {0, 1e-3};
    for (int k = 0; k < 2; k++)
        for (int large = 0; large < 2; large++) {
            double c = couplings[k];
            matrix m = grid_matrix((int[3]){10, 10, large ? 30 : 10}, (double[3]){c, c, c}, 1);
            assert_int_equal(level_count(&m), 1);
            assert_in_range(iterations_for(&m), 1, large ? 6 : 2);
            check_symmetric(&m);
            matrix_free(&m);
        }
}

// One half stiff, the other half mass only: rows without couplings are left to the smoother.
static void test_some_rows_without_couplings(void **state)
{
    (void)state;
    matrix m = grid_matrix((int[3]){10, 10, 20}, (double[3]){1, 1, 1}, 0.01);
    for (int c = m.pattern.count / 2; c < m.pattern.count; c++)
        m.lower[hk_pattern_column(&m.pattern, c, 0)] += 1000;
    assert_true(level_count(&m) >= 2);
    assert_in_range(iterations_for(&m), 1, 16);
    matrix_free(&m);
}

// Couplings that differ by direction: groups follow the strong ones.
static void test_anisotropic(void **state)
{
    (void)state;
    const double couplings[][3] = {{1, 0.01, 0.01}, {0.01, 1, 1}, {1, 1, 1e-4}, {1, 0.1, 0.03}};
    for (int k = 0; k < 4; k++) {
        matrix m = grid_matrix((int[3]){18, 16, 14}, couplings[k], 1e-3);
        assert_in_range(iterations_for(&m), 1, 25);
        check_symmetric(&m);
        matrix_free(&m);
    }
}

// Rows whose diagonal is not positive are out: 0 comes back there, and the others are solved as if
// they were not.
static void test_rows_that_are_out(void **state)
{
    (void)state;
    matrix m = grid_matrix((int[3]){10, 10, 12}, (double[3]){1, 1, 1}, 0.05);
    hk_pattern *p = &m.pattern;
    for (int c = 0; c < p->count; c++) {
        double *column = m.lower + hk_pattern_column(p, c, 0);
        if (c % 50 == 7) column[0] = 0;
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++)
            if (c % 50 == 7 || p->row[k] % 50 == 7) column[1 + k - p->start[c]] = 0;
    }
    double *b = vector_for(&m, 9), *x = vector_for(&m, 0);
    int32_t *vertex = numbers_up_to(p->count);
    hk_multigrid *multigrid = multigrid_of(&m, 1);
    hk_multigrid_apply(multigrid, vertex, b, x);
    for (int c = 0; c < p->count; c++)
        for (int i = 0; i < 3; i++) {
            assert_true(isfinite(x[4 * c + i]));
            if (c % 50 == 7) assert_true(x[4 * c + i] == 0);
            if (c % 50 == 7) b[4 * c + i] = 0;
        }
    assert_in_range(solve_preconditioned(&m, b), 1, 16);
    hk_multigrid_free(multigrid);
    free(vertex);
    free(b);
    free(x);
    matrix_free(&m);
}

// A body that nothing holds: forces that add up to nothing are still met by a solution.
static void test_singular(void **state)
{
    (void)state;
    matrix m = grid_matrix((int[3]){10, 10, 12}, (double[3]){1, 1, 1}, 0);
    double *b = vector_for(&m, 9), mean[3] = {0};
    for (int64_t k = 0; k < m.pattern.count; k++)
        for (int i = 0; i < 3; i++) mean[i] += b[4 * k + i] / m.pattern.count;
    for (int64_t k = 0; k < m.pattern.count; k++)
        for (int i = 0; i < 3; i++) b[4 * k + i] -= mean[i];
    assert_in_range(solve_preconditioned(&m, b), 1, 25);
    free(b);
    matrix_free(&m);
}

// A rod that is held at one end alone, without mass.
static void test_long_rod(void **state)
{
    (void)state;
    matrix m = grid_matrix((int[3]){1500, 3, 3}, (double[3]){1, 1, 1}, 0);
    for (int c = 0; c < 9; c++) m.lower[hk_pattern_column(&m.pattern, 1500 * c, 0)] += 1;
    assert_true(level_count(&m) >= 3);
    assert_in_range(iterations_for(&m), 1, 20);
    matrix_free(&m);
}

// ---------------------------------------------------------------- memory

static void test_failing_allocations(void **state)
{
    (void)state;
    matrix m = grid_matrix((int[3]){8, 8, 8}, (double[3]){1, 1, 1}, 0.01);
    assert_true(level_count(&m) >= 2);
    for (int n = 1;; n++) {
        failing_alloc_install(n);
        hk_multigrid *multigrid = NULL;
        hk_status status = hk_multigrid_create(&m.pattern, m.lower, 2, &multigrid);
        bool reached = failing_alloc_count() >= n;
        if (status == HK_OK) hk_multigrid_free(multigrid);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        if (!reached) {
            assert_true(n > 40);
            break;
        }
        assert_int_equal(status, HK_NO_MEMORY);
    }
    matrix_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_from_lower),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_lonely_rows),
        cmocka_unit_test(test_dense_inverse),
        cmocka_unit_test(test_cycle_is_symmetric_and_positive),
        cmocka_unit_test(test_cycle_of_large_and_small_forces),
        cmocka_unit_test(test_iterations_hardly_grow),
        cmocka_unit_test(test_same_bits_for_any_threads),
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_small_matrix_is_inverted),
        cmocka_unit_test(test_many_bodies),
        cmocka_unit_test(test_mass_dominates),
        cmocka_unit_test(test_some_rows_without_couplings),
        cmocka_unit_test(test_anisotropic),
        cmocka_unit_test(test_rows_that_are_out),
        cmocka_unit_test(test_singular),
        cmocka_unit_test(test_long_rod),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
