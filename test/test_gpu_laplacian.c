// What the host prepares for quasi_newton on a GPU, and the decisions that are taken there: the
// constant matrix in the order of the patches, the search for a length
// and the coefficients of L-BFGS. The kernels themselves need a device: bench/gpu.c.
#include "gpu/laplacian.h"

#include "bodies.h"
#include "term_lists.h"
#include "gpu/layout.h"
#include "gpu/quasi_newton.h"
#include "solver/constant_matrix.h"

#define STEP 0.01
#define AIR  0.3

typedef struct setting {
    hk_model *model;
    hk_gpu_layout *layout;
    hk_problem *problem;
    hk_constant_matrix exact;
    double weight;
    hk_gpu_matrix matrix;
} setting;

// A stiff bar held at one end, as the patches order it and as the CPU's methods do.
static void set_up(setting *s, int cells, int flags)
{
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 1, 1);
    body.material = material_of("neo_hookean", 1e6, 0.3);
    body.fixes = &wall;
    body.fix_count = 1;
    s->model = model_of(&body, box_mesh(1, 0.3, 0.2, 5 * cells, 2 * cells, cells), -9.81);
    s->weight = 1.3e6;
    CHECK_OK(hk_gpu_layout_create(
        s->model, &(hk_gpu_cut){.patch_size = 32, .round_size = 256, .groups = 1}, 2, &s->layout));
    CHECK_OK(hk_problem_create(s->model, 2, NULL, &s->problem));
    hk_damping damping = {.air_per_vertex = AIR};
    double phases[HK_PHASE_COUNT];
    begin_step(s->problem, damping, STEP, s->problem->rest);
    CHECK_OK(hk_constant_matrix_init(&s->exact, s->problem, &s->weight, flags));
    CHECK_OK(hk_constant_matrix_prepare(&s->exact, "test", phases, NULL));
    s->matrix = (hk_gpu_matrix){.model = s->model,
                                .place = s->layout->place,
                                .weight = &s->weight,
                                .inertia = 1 / (STEP * STEP),
                                .air = AIR / STEP,
                                .threads = 2};
}

static void tear_down(setting *s)
{
    hk_constant_matrix_release(&s->exact);
    hk_problem_free(s->problem);
    hk_gpu_layout_free(s->layout);
    hk_model_free(s->model);
}

// to = A from by the CPU's matrix, both in the order of the patches; 0 at held vertices.
static void multiply_exactly(const setting *s, const double *from, double *to)
{
    const hk_pattern *p = &s->exact.scalar;
    int n = s->model->vertex_count;
    int32_t *here = malloc(sizeof *here * (size_t)n);
    for (int k = 0; k < n; k++) here[s->layout->place[k]] = k;
    memset(to, 0, sizeof *to * (size_t)n);
    for (int c = 0; c < p->count; c++) {
        const double *column = s->exact.matrix + hk_pattern_column(p, c, 0);
        int a = here[s->exact.assembly->vertex[c]];
        to[a] += column[0] * from[a];
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            int b = here[s->exact.assembly->vertex[p->row[k]]];
            to[b] += column[1 + k - p->start[c]] * from[a];
            to[a] += column[1 + k - p->start[c]] * from[b];
        }
    }
    free(here);
}

static bool is_free(const setting *s, int k)
{
    return s->model->hold[s->model->order[s->layout->place[k]]] == HK_FREE;
}

static double *random_vector(const setting *s, uint64_t seed)
{
    double *v = malloc(sizeof *v * (size_t)s->model->vertex_count);
    for (int k = 0; k < s->model->vertex_count; k++) v[k] = is_free(s, k) ? noise(&seed) : 0;
    return v;
}

static double norm_of(const double *v, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++) sum += v[k] * v[k];
    return sqrt(sum);
}

// to = from + (D⁻¹A − I) from, as the kernel reads it.
static void multiply_rows(const hk_gpu_laplacian *l, const double *from, double *to)
{
    for (int r = 0; r < l->count; r++) {
        to[r] = l->inverse[r] > 0 ? from[r] : 0;
        for (int k = l->start[r / 32] + r % 32; k < l->start[r / 32 + 1]; k += 32)
            to[r] += (double)l->entries[k].value * from[l->entries[k].column];
    }
}

// ---------------------------------------------------------------- the matrix

static void test_matrix(void **state)
{
    (void)state;
    setting s;
    hk_gpu_laplacian *l;
    set_up(&s, 2, 0);
    CHECK_OK(hk_gpu_laplacian_create(&s.matrix, &l));
    int n = s.model->vertex_count;
    assert_int_equal(l->count, n);
    double *v = random_vector(&s, 7), *exact = calloc((size_t)n, 8), *got = calloc((size_t)n, 8);
    for (int k = 0; k < n; k++) assert_int_equal(l->inverse[k] > 0, is_free(&s, k));
    multiply_exactly(&s, v, exact);
    multiply_rows(l, v, got);
    double size = norm_of(exact, n), along = 0, scale = 0;
    for (int k = 0; k < n; k++) {
        if (!is_free(&s, k)) continue;
        along += v[k] * exact[k];
        scale += v[k] * v[k] / (double)l->inverse[k];
        got[k] = got[k] / (double)l->inverse[k] - exact[k];
    }
    printf("product with A: relative error %.1e; eigenvalues of D⁻¹A in %.4f..%.3f\n",
           norm_of(got, n) / size, l->least, l->greatest);
    assert_true(norm_of(got, n) < 1e-6 * size);
    assert_true(l->least * scale <= along && along <= l->greatest * scale);
    assert_true(l->least > 0 && l->least < 0.5 && l->greatest > 1.2 && l->greatest < 3);
    free(v);
    free(exact);
    free(got);
    hk_gpu_laplacian_free(l);
    tear_down(&s);
}

// The bounds hold for the eigenvectors at both ends, too, which the power method finds here.
static void test_bounds(void **state)
{
    (void)state;
    setting s;
    hk_gpu_laplacian *l;
    set_up(&s, 1, 0);
    CHECK_OK(hk_gpu_laplacian_create(&s.matrix, &l));
    int n = s.model->vertex_count;
    double *v = random_vector(&s, 3), *w = calloc((size_t)n, 8), most = 0, least = 0;
    for (int k = 0; k < 3000; k++) {
        multiply_rows(l, v, w);
        most = norm_of(w, n) / norm_of(v, n);
        for (int i = 0; i < n; i++) v[i] = w[i] / most;
    }
    free(v);
    v = random_vector(&s, 5);
    for (int k = 0; k < 3000; k++) {
        multiply_rows(l, v, w);
        for (int i = 0; i < n; i++) w[i] = 3 * v[i] - w[i];
        least = 3 - norm_of(w, n) / norm_of(v, n);
        for (int i = 0; i < n; i++) v[i] = w[i] / (3 - least);
    }
    printf("eigenvalues %.4f..%.4f within %.4f..%.4f\n", least, most, l->least, l->greatest);
    assert_true(l->least <= least && most <= l->greatest && l->greatest < 1.2 * most);
    free(v);
    free(w);
    hk_gpu_laplacian_free(l);
    tear_down(&s);
}

// to = p(A) from, the sweeps of the device.
static void sweep(const hk_gpu_laplacian *l, const hk_gpu_chebyshev *c, const double *b, double *to)
{
    size_t n = (size_t)l->count;
    double *x = calloc(n, 8), *before = calloc(n, 8), *product = calloc(n, 8);
    for (size_t k = 0; k < n; k++) x[k] = (double)c->first * (double)l->inverse[k] * b[k];
    float omega = 1;
    for (int k = 1; k < c->inner; k++) {
        omega = hk_gpu_omega(c, k, omega);
        multiply_rows(l, x, product);
        for (size_t i = 0; i < n; i++) {
            double left = (double)l->inverse[i] * b[i] - product[i];
            double next = before[i] + (double)omega * ((double)c->first * left + x[i] - before[i]);
            before[i] = x[i];
            x[i] = next;
        }
    }
    memcpy(to, x, n * sizeof *to);
    free(x);
    free(before);
    free(product);
}

static double product_of(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}

static void test_chebyshev(void **state)
{
    (void)state;
    setting s;
    hk_gpu_laplacian *l;
    set_up(&s, 2, 0);
    CHECK_OK(hk_gpu_laplacian_create(&s.matrix, &l));
    int n = s.model->vertex_count;
    double *a = random_vector(&s, 1), *b = random_vector(&s, 2);
    // Mostly smooth: what few iterations do not reach.
    for (int k = 0; k < n; k++) a[k] = is_free(&s, k) ? 1 + 0.1 * a[k] : 0;
    double *pa = calloc((size_t)n, 8), *pb = calloc((size_t)n, 8), *product = calloc((size_t)n, 8);
    double left[3];
    const int inner[3] = {4, 12, 200};
    for (int k = 0; k < 3; k++) {
        hk_gpu_chebyshev c = hk_gpu_plan_chebyshev(l, inner[k]);
        assert_int_equal(c.inner, inner[k]);
        sweep(l, &c, a, pa);
        sweep(l, &c, b, pb);
        // Symmetric, and positive.
        double ab = product_of(a, pb, n), ba = product_of(b, pa, n);
        assert_true(fabs(ab - ba) < 1e-6 * norm_of(a, n) * norm_of(pb, n));
        assert_true(product_of(a, pa, n) > 0);
        multiply_exactly(&s, pa, product);
        for (int i = 0; i < n; i++) product[i] -= a[i];
        left[k] = norm_of(product, n) / norm_of(a, n);
    }
    printf("%d, %d and %d iterations leave %.1e, %.1e and %.1e\n", inner[0], inner[1], inner[2],
           left[0], left[1], left[2]);
    assert_true(left[1] < 0.5 * left[0] && left[2] < 1e-5);
    int chosen = hk_gpu_plan_chebyshev(l, 0).inner;
    assert_true(chosen >= 2 && chosen <= 48);
    free(a);
    free(b);
    free(pa);
    free(pb);
    free(product);
    hk_gpu_laplacian_free(l);
    tear_down(&s);
}

// ---------------------------------------------------------------- L-BFGS

enum { SIZE = 24, MOST_STEPS = 200 };

// f = Σ k (u²/2 + u⁴/4) over u = x and the differences of neighbours.
static double value_at(const double *x, double *g)
{
    double f = 0;
    memset(g, 0, SIZE * sizeof *g);
    for (int k = 0; k < SIZE; k++) {
        double u = x[k] - 1, w = k + 1 < SIZE ? x[k + 1] - x[k] : 0;
        f += 0.05 * u * u + (1 + k % 3) * (w * w / 2 + w * w * w * w / 4);
        g[k] += 0.1 * u - (1 + k % 3) * (w + w * w * w);
        if (k + 1 < SIZE) g[k + 1] += (1 + k % 3) * (w + w * w * w);
    }
    return f;
}

typedef struct walk {
    double x[SIZE], trial[SIZE], d[SIZE], g[SIZE], p[SIZE], trial_g[SIZE], trial_p[SIZE];
    double s[HK_QN_MOST][SIZE], y[HK_QN_MOST][SIZE], z[HK_QN_MOST][SIZE];
} walk;

// What the device sums up; moves to the trial state.
static void remember(walk *w, const hk_qn_control *c, hk_qn_dots *d)
{
    int n = c->slot;
    unsigned used = n >= 0 ? 1u << n : 0;
    for (int k = 0; k < c->count; k++) used |= 1u << c->pair[k];
    memset(d, 0, sizeof *d);
    for (int k = 0; k < SIZE && n >= 0; k++) {
        w->s[n][k] = w->trial[k] - w->x[k];
        w->y[n][k] = w->trial_g[k] - w->g[k];
        w->z[n][k] = w->trial_p[k] - w->p[k];
    }
    memcpy(w->x, w->trial, sizeof w->x);
    memcpy(w->g, w->trial_g, sizeof w->g);
    memcpy(w->p, w->trial_p, sizeof w->p);
    d->single[HK_QN_GP] = product_of(w->g, w->p, SIZE);
    for (int i = 0; i < HK_QN_MOST; i++) {
        if (!(used >> i & 1)) continue;
        d->of[HK_QN_SG][i] = product_of(w->s[i], w->g, SIZE);
        d->of[HK_QN_YP][i] = product_of(w->y[i], w->p, SIZE);
        if (n < 0) continue;
        d->of[HK_QN_YS][i] = product_of(w->y[i], w->s[n], SIZE);
    }
    if (n < 0) return;
    d->single[HK_QN_SS] = product_of(w->s[n], w->s[n], SIZE);
    d->single[HK_QN_YY] = product_of(w->y[n], w->y[n], SIZE);
    d->single[HK_QN_SY] = product_of(w->s[n], w->y[n], SIZE);
    d->single[HK_QN_YZ] = product_of(w->y[n], w->z[n], SIZE);
}

// −H g by the two loops themselves, H₀ = I/scale.
static void two_loops(const walk *w, const hk_qn_control *c, double scale, double *d)
{
    double q[SIZE], alpha[HK_QN_MOST];
    memcpy(q, w->g, sizeof q);
    for (int k = 0; k < c->count; k++) {
        const double *s = w->s[c->pair[k]], *y = w->y[c->pair[k]];
        alpha[k] = product_of(s, q, SIZE) / product_of(s, y, SIZE);
        for (int i = 0; i < SIZE; i++) q[i] -= alpha[k] * y[i];
    }
    for (int i = 0; i < SIZE; i++) q[i] /= scale;
    for (int k = c->count - 1; k >= 0; k--) {
        const double *s = w->s[c->pair[k]], *y = w->y[c->pair[k]];
        double beta = product_of(y, q, SIZE) / product_of(s, y, SIZE);
        for (int i = 0; i < SIZE; i++) q[i] += (alpha[k] - beta) * s[i];
    }
    for (int i = 0; i < SIZE; i++) d[i] = -q[i];
}

// The loop of the device on the host; returns the number of trials that were refused.
static int walk_down(int window, double scale, hk_qn_control *c)
{
    static walk w;
    static hk_qn_memory m;
    hk_gpu_settings plan = {.rules.tolerance = 1e-7, .noise = 1e-15};
    hk_qn_settings q = {.window = window, .budget = MOST_STEPS, .most = 3 * MOST_STEPS};
    hk_gpu_control start = {.state = HK_GPU_GOING};
    int refused = 0;
    qn_begin(c, &start);
    for (int k = 0; k < SIZE; k++) w.x[k] = w.trial[k] = 2 * sin(3 * k);
    for (int first = 1; c->base.state == HK_GPU_GOING; first = 0) {
        double sums[HK_SUM_WIDTH] = {0}, expected[SIZE], energy = c->base.energy;
        sums[HK_SUM_ELASTIC] = value_at(w.trial, w.trial_g);
        sums[HK_SUM_RESIDUAL] = product_of(w.trial_g, w.trial_g, SIZE);
        sums[HK_SUM_ELASTIC_FORCE] = 1;
        qn_decide(&plan, &q, c, sums, first);
        assert_true(first || c->base.energy <= energy + 1e-12);
        refused += !c->accepted;
        for (int k = 0; k < SIZE; k++) w.trial_p[k] = w.trial_g[k] / scale;
        if (c->accepted && c->base.state == HK_GPU_GOING) {
            hk_qn_dots d;
            remember(&w, c, &d);
            qn_direct(c, &m, &d, HK_QN_MOST);
        }
        for (int k = 0; k < SIZE && c->redirect; k++) {
            w.d[k] = -w.p[k];
            for (int i = 0; i < c->count; i++)
                w.d[k] += (double)m.of_z[c->pair[i]] * w.z[c->pair[i]][k] +
                          (double)m.of_s[c->pair[i]] * w.s[c->pair[i]][k];
        }
        for (int k = 0; k < SIZE; k++) w.trial[k] = w.x[k] + c->length * w.d[k];
        if (!c->redirect) continue;
        two_loops(&w, c, scale, expected);
        double slope = product_of(expected, w.g, SIZE);
        assert_true(fabs(slope - c->slope) < 1e-6 * fabs(slope));
        for (int k = 0; k < SIZE; k++) expected[k] -= w.d[k];
        assert_true(norm_of(expected, SIZE) < 1e-5 * norm_of(w.d, SIZE));
    }
    return refused;
}

static void test_walk(void **state)
{
    (void)state;
    int iterations[4];
    const int windows[4] = {0, 3, 5, HK_QN_MOST};
    for (int k = 0; k < 4; k++) {
        hk_qn_control c;
        walk_down(windows[k], 12, &c);
        iterations[k] = c.base.iterations;
        printf("window %d: %d iterations, state %d, residual %.1e\n", windows[k], iterations[k],
               c.base.state, c.base.residual);
        assert_true(c.count <= windows[k]);
        assert_int_equal(c.base.state, k == 0 ? HK_GPU_SPENT : HK_GPU_CONVERGED);
        assert_true(k == 0 || c.base.residual <= 1e-7);
    }
    assert_int_equal(iterations[0], MOST_STEPS);
    assert_true(iterations[2] < iterations[1]);
    // A matrix that is far too small: steps have to be shortened.
    hk_qn_control c;
    int refused = walk_down(5, 0.5, &c);
    printf("from a matrix that is too small: %d iterations, %d trials refused\n", c.base.iterations,
           refused);
    assert_int_equal(c.base.state, HK_GPU_CONVERGED);
    assert_true(refused > 0);
}

// Nothing finite ahead: the memory is given up first, then the walk.
static void test_giving_up(void **state)
{
    (void)state;
    hk_qn_control c;
    hk_gpu_settings plan = {.rules.tolerance = 1e-7};
    hk_qn_settings q = {.window = 5, .budget = 100, .most = 1000};
    hk_gpu_control start = {.state = HK_GPU_GOING};
    qn_begin(&c, &start);
    double sums[HK_SUM_WIDTH] = {1, 0, 1, 1};
    qn_decide(&plan, &q, &c, sums, 1);
    assert_true(c.accepted && c.base.state == HK_GPU_GOING);
    c.fresh = 0;
    c.count = 2;
    c.slope = -1;
    c.steepest = 2;
    sums[HK_SUM_ELASTIC] = NAN;
    int trials = 0, restarts = 0;
    for (; c.base.state == HK_GPU_GOING; trials++) {
        qn_decide(&plan, &q, &c, sums, 0);
        assert_false(c.accepted);
        if (!c.redirect) continue;
        restarts++;
        assert_true(c.count == 0 && c.fresh && c.length == 1 && c.slope == -2);
    }
    assert_int_equal(restarts, 1);
    assert_int_equal(c.base.state, HK_GPU_STALLED);
    assert_true(trials > 30 && trials < 60);
}

// Cycles of multigrid on the CPU, each for what those before left, come to A⁻¹ b.
static void test_solve(void **state)
{
    (void)state;
    setting s;
    set_up(&s, 3, 0);
    hk_gpu_triangle numbers;
    hk_hierarchy *hierarchy;
    hk_multigrid *multigrid;
    CHECK_OK(hk_gpu_triangle_create(&s.matrix, &numbers));
    CHECK_OK(hk_gpu_triangle_hierarchy(&numbers, 50, &hierarchy));
    CHECK_OK(hk_multigrid_take(hierarchy, 2, &multigrid));
    hk_hierarchy_free(hierarchy);
    int n = s.model->vertex_count;
    double *x = hk_calloc(4 * (size_t)n, sizeof(double)),
           *b = hk_calloc(4 * (size_t)n, sizeof(double));
    double *ours = hk_calloc((size_t)n, sizeof(double)),
           *product = hk_calloc((size_t)n, sizeof(double));
    uint64_t seed = 3;
    for (int k = 0; k < n; k++) {
        bool held = s.model->hold[s.model->order[k]] != HK_FREE;
        for (int i = 0; i < 3; i++) b[4 * k + i] = held ? 0 : noise(&seed);
    }
    double before = INFINITY;
    for (int cycles = 3; cycles <= 24; cycles += 7) {
        CHECK_OK(hk_gpu_triangle_solve(&s.matrix, &numbers, multigrid, cycles, b, x));
        double away = 0, size = 0;
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < n; k++) ours[k] = x[4 * s.layout->place[k] + i];
            multiply_exactly(&s, ours, product);
            for (int k = 0; k < n; k++) {
                double right = b[4 * s.layout->place[k] + i];
                away += (product[k] - right) * (product[k] - right);
                size += right * right;
            }
        }
        assert_true(sqrt(away / size) < 0.5 * before);
        before = sqrt(away / size);
    }
    assert_true(before < 1e-5);
    hk_free(x);
    hk_free(b);
    hk_free(ours);
    hk_free(product);
    hk_multigrid_free(multigrid);
    hk_gpu_triangle_release(&numbers);
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solve),  cmocka_unit_test(test_matrix),
        cmocka_unit_test(test_bounds), cmocka_unit_test(test_chebyshev),
        cmocka_unit_test(test_walk),   cmocka_unit_test(test_giving_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
