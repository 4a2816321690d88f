// stvk by edge lengths: equal to the tensor form, written down here index by index, and to the
// quadratic form in squared edge lengths; derivatives by differences; turned bodies; other rest
// shapes; elements that convert.
#include "bodies.h"

#include "model/model.h"
#include "term/scalar.h"
#include "term/tet.h"

#define YOUNG   1e5
#define POISSON 0.35

typedef struct placement {
    const char *label;
    double A[9], amount;  // x = A X + noise
} placement;

static const placement PLACEMENTS[] = {
    {"rest", {1, 0, 0, 0, 1, 0, 0, 0, 1}, 0},
    {"turned", {0, -1, 0, 1, 0, 0, 0, 0, 1}, 0},
    {"stretched", {1.5, 0, 0, 0, 0.9, 0, 0, 0, 1.2}, 0.02},
    {"sheared", {1, 0.8, 0.1, 0, 1, -0.4, 0, 0, 1}, 0.02},
    {"nearly flat", {1, 0, 0, 0, 1e-3, 0, 0, 0, 1}, 1e-4},
    {"flat", {1, 0, 0.2, 0, 0, 0, 0, 0, 1}, 0},
    {"inverted", {1.2, 0.1, 0, 0, 0.8, 0, 0, 0.2, -0.6}, 0.02},
};
enum { PLACEMENT_COUNT = sizeof PLACEMENTS / sizeof PLACEMENTS[0], MOST_TABLES = 8 };

typedef struct fixture {
    hk_model *model;
    double *x;  // [vertex_count][4]
} fixture;

static void *make_numbers(size_t count, size_t size)
{
    void *numbers = aligned_alloc(64, (count * size + 63) / 64 * 64);
    memset(numbers, 0, (count * size + 63) / 64 * 64);
    return numbers;
}

static fixture make_fixture(const placement *at, bool penalty)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of("stvk", YOUNG, POISSON);
    if (penalty) {
        double k = 0.1 * YOUNG / (6 * (1 - 2 * POISSON));  // Extreme section 4.1
        body.material.parameters[0] = (hk_parameter){"volume_penalty", k};
        body.material.parameter_count = 1;
    }
    fixture f = {.model = model_of(&body, box_mesh(1, 0.7, 1.3, 3, 2, 3), 0)};
    const hk_model *m = f.model;
    f.x = make_numbers(4 * (size_t)m->vertex_count, sizeof(double));
    uint64_t seed = 5;
    for (int k = 0; k < m->vertex_count; k++) {
        const double *X = m->rest + 3 * (int64_t)m->order[k], *A = at->A;
        for (int i = 0; i < 3; i++)
            f.x[4 * k + i] = (float)(A[3 * i] * X[0] + A[3 * i + 1] * X[1] + A[3 * i + 2] * X[2] +
                                     at->amount * noise(&seed));
    }
    return f;
}

static void free_fixture(fixture *f)
{
    hk_model_free(f->model);
    free(f->x);
}

// ---------------------------------------------------------------- what the kernels say

typedef struct answers {
    double energy;
    double *gradient;  // [vertex_count][4]
    double *blocks;    // [tet_count][10][9], in the model's numbering
} answers;

static answers make_answers(const hk_model *m)
{
    return (answers){0, make_numbers(4 * (size_t)m->vertex_count, 8),
                     make_numbers(90 * (size_t)m->tet_count, 8)};
}

static void free_answers(answers *a)
{
    free(a->gradient);
    free(a->blocks);
}

static hk_tet_term *make_term(const hk_model *model, const hk_lane_table *lanes)
{
    hk_tet_term *term = NULL;
    CHECK_OK(hk_tet_term_create(model, lanes, 1, &term));
    assert_int_equal(term->batch_count, 1);
    assert_true(!!term->batches[0].edge_inverse == (lanes->scalar_size == 8));
    return term;
}

// From now on by the law itself, as in single precision.
static void leave_edges(hk_tet_term *term)
{
    hk_free(term->batches[0].edge_inverse);
    term->batches[0].edge_inverse = NULL;
}

static void take_blocks(const hk_tet_term *term, const void *values, double *blocks)
{
    const hk_tet_batch *b = &term->batches[0];
    int width = term->lanes->lanes;
    for (int k = 0; k < b->count; k++)
        for (int q = 0; q < 90; q++)
            blocks[90 * (int64_t)b->tet[k] + q] =
                hk_load_scalar(values, term->lanes->scalar_size,
                               ((int64_t)(k / width) * 90 + q) * width + k % width);
}

static answers ask(hk_tet_term *term, const double *x, double keep)
{
    size_t n = 4 * (size_t)term->vertex_count, size = (size_t)term->lanes->scalar_size;
    void *at = make_numbers(n, size), *g = make_numbers(n, size);
    void *values = make_numbers((size_t)hk_tet_stiffness_size(term), size);
    answers a = make_answers(term->model);
    for (size_t k = 0; k < n; k++) hk_store_scalar(at, (int)size, (int64_t)k, x[k]);
    hk_tet_gradient(term, at, g, &a.energy);
    double alone = hk_tet_energy(term, at);
    double rounding = (size == 8 ? 1e-14 : 1e-6) * fmax(fabs(alone), 0.1 * YOUNG);
    assert_true(fabs(alone - a.energy) <= rounding);
    hk_tet_stiffness(term, at, keep, values);
    for (size_t k = 0; k < n; k++) a.gradient[k] = hk_load_scalar(g, (int)size, (int64_t)k);
    take_blocks(term, values, a.blocks);
    free(at);
    free(g);
    free(values);
    return a;
}

// ---------------------------------------------------------------- the tensor form

typedef struct tensors {
    double B[4][3];  // shape gradients
    double F[9], S[9], K[9], J;
    double mu, lambda, k;
} tensors;

static tensors tensors_of(const hk_model *m, const double *x, int tet)
{
    tensors t = {0};
    const double *c = m->materials[m->tet_material[tet]].params.c;
    double inverse[9], E[9], trace = 0;
    t.mu = c[0];
    t.lambda = c[1];
    t.k = c[2];
    hk_rest_inverse(m, tet, inverse);
    for (int j = 0; j < 3; j++)
        for (int a = 1; a < 4; a++) {
            t.B[a][j] = inverse[3 * (a - 1) + j];
            t.B[0][j] -= t.B[a][j];
        }
    for (int a = 0; a < 4; a++) {
        const double *y = x + 4 * (int64_t)m->place[m->tets[4 * (int64_t)tet + a]];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) t.F[3 * i + j] += y[i] * t.B[a][j];
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double sum = 0;
            for (int l = 0; l < 3; l++) sum += t.F[3 * l + i] * t.F[3 * l + j];
            E[3 * i + j] = 0.5 * (sum - (i == j));
            int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            t.K[3 * i + j] =
                t.F[3 * i1 + j1] * t.F[3 * i2 + j2] - t.F[3 * i1 + j2] * t.F[3 * i2 + j1];
        }
    trace = E[0] + E[4] + E[8];
    for (int q = 0; q < 9; q++) t.S[q] = 2 * t.mu * E[q] + (q % 4 == 0) * t.lambda * trace;
    for (int j = 0; j < 3; j++) t.J += t.F[j] * t.K[j];
    return t;
}

static double tensor_energy(const tensors *t)
{
    double sum = t->k * (t->J - 1) * (t->J - 1), trace = t->S[0] + t->S[4] + t->S[8];
    trace /= 3 * t->lambda + 2 * t->mu;  // of E
    for (int q = 0; q < 9; q++) {
        double E = (t->S[q] - (q % 4 == 0) * t->lambda * trace) / (2 * t->mu);
        sum += 0.5 * t->S[q] * E;
    }
    return sum;
}

static int levi_civita(int i, int j, int k)
{
    return (i - j) * (j - k) * (k - i) / 2;
}

// ∂P_ij/∂F_kl with ∂E_mj/∂F_kl = (δ_ml F_kj + F_km δ_jl)/2.
static double tensor_stiffness(const tensors *t, int i, int j, int k, int l)
{
    double sum = (i == k) * t->S[3 * l + j] + t->lambda * t->F[3 * i + j] * t->F[3 * k + l] +
                 t->mu * t->F[3 * i + l] * t->F[3 * k + j];
    for (int m = 0; m < 3; m++) sum += (j == l) * t->mu * t->F[3 * i + m] * t->F[3 * k + m];
    sum += 2 * t->k * t->K[3 * i + j] * t->K[3 * k + l];
    for (int n = 0; n < 3; n++)
        for (int q = 0; q < 3; q++)
            sum += 2 * t->k * (t->J - 1) * levi_civita(i, k, n) * levi_civita(j, l, q) *
                   t->F[3 * n + q];
    return sum;
}

static double tensor_block(const tensors *t, int a, int b, int i, int k)
{
    double sum = 0;
    for (int j = 0; j < 3; j++)
        for (int l = 0; l < 3; l++)
            sum += tensor_stiffness(t, i, j, k, l) * t->B[a][j] * t->B[b][l];
    return sum;
}

static answers tensor_answers(const hk_model *m, const double *x)
{
    answers a = make_answers(m);
    for (int tet = 0; tet < m->tet_count; tet++) {
        tensors t = tensors_of(m, x, tet);
        double V = m->volume[tet];
        a.energy += V * tensor_energy(&t);
        for (int c = 0; c < 4; c++) {
            double *g = a.gradient + 4 * (int64_t)m->place[m->tets[4 * (int64_t)tet + c]];
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    double P = 2 * t.k * (t.J - 1) * t.K[3 * i + j];
                    for (int l = 0; l < 3; l++) P += t.F[3 * i + l] * t.S[3 * l + j];
                    g[i] += V * P * t.B[c][j];
                }
        }
        for (int q = 0; q < HK_TET_PAIRS; q++)
            for (int e = 0; e < 9; e++)
                a.blocks[90 * (int64_t)tet + 9 * q + e] =
                    V * tensor_block(&t, hk_tet_pairs[q][0], hk_tet_pairs[q][1], e / 3, e % 3);
    }
    return a;
}

// ---------------------------------------------------------------- squared edge lengths

static const int EDGES[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

// FᵀF = −½ Σ_e s_e (g_a g_bᵀ + g_b g_aᵀ), so V ψ = ½ (s − s⁰)ᵀ C (s − s⁰) (Kikuuwe et al. 2009).
static void edge_matrix(const hk_model *m, int tet, const tensors *t, double C[6][6])
{
    double dot[4][4] = {{0}};
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++)
            for (int j = 0; j < 3; j++) dot[a][b] += t->B[a][j] * t->B[b][j];
    for (int e = 0; e < 6; e++)
        for (int f = 0; f < 6; f++) {
            int a = EDGES[e][0], b = EDGES[e][1], c = EDGES[f][0], d = EDGES[f][1];
            C[e][f] = 0.25 * m->volume[tet] *
                      (t->lambda * dot[a][b] * dot[c][d] +
                       t->mu * (dot[a][c] * dot[b][d] + dot[a][d] * dot[b][c]));
        }
}

// The edges' tensions C (s − s⁰) and vectors.
static void edge_tensions(const hk_model *m, const double *x, int tet, double C[6][6], double s[6],
                          double tension[6], double d[6][3])
{
    const int32_t *corner = m->tets + 4 * (int64_t)tet;
    for (int e = 0; e < 6; e++) {
        int a = corner[EDGES[e][0]], b = corner[EDGES[e][1]];
        s[e] = 0;
        for (int i = 0; i < 3; i++) {
            double rest = m->rest[3 * (int64_t)b + i] - m->rest[3 * (int64_t)a + i];
            d[e][i] = x[4 * (int64_t)m->place[b] + i] - x[4 * (int64_t)m->place[a] + i];
            s[e] += d[e][i] * d[e][i] - rest * rest;
        }
    }
    for (int e = 0; e < 6; e++) {
        tension[e] = 0;
        for (int f = 0; f < 6; f++) tension[e] += C[e][f] * s[f];
    }
}

// ∂d_e/∂x_a
static int end_sign(int e, int corner)
{
    return (EDGES[e][1] == corner) - (EDGES[e][0] == corner);
}

static void add_edge_blocks(double C[6][6], double tension[6], double d[6][3], double *blocks)
{
    for (int q = 0; q < HK_TET_PAIRS; q++)
        for (int e = 0; e < 6; e++) {
            int sign = end_sign(e, hk_tet_pairs[q][0]);
            for (int i = 0; i < 3; i++)
                blocks[9 * q + 4 * i] += 2 * tension[e] * sign * end_sign(e, hk_tet_pairs[q][1]);
            for (int f = 0; f < 6; f++)
                for (int k = 0; k < 9; k++)
                    blocks[9 * q + k] += 4 * C[e][f] * sign * end_sign(f, hk_tet_pairs[q][1]) *
                                         d[e][k / 3] * d[f][k % 3];
        }
}

static answers edge_answers(const hk_model *m, const double *x)
{
    answers a = make_answers(m);
    for (int tet = 0; tet < m->tet_count; tet++) {
        tensors t = tensors_of(m, x, tet);
        double C[6][6], s[6], tension[6], d[6][3];
        edge_matrix(m, tet, &t, C);
        edge_tensions(m, x, tet, C, s, tension, d);
        for (int e = 0; e < 6; e++) {
            a.energy += 0.5 * s[e] * tension[e];
            for (int c = 0; c < 4; c++) {
                double *g = a.gradient + 4 * (int64_t)m->place[m->tets[4 * (int64_t)tet + c]];
                for (int i = 0; i < 3; i++) g[i] += 2 * tension[e] * end_sign(e, c) * d[e][i];
            }
        }
        add_edge_blocks(C, tension, d, a.blocks + 90 * (int64_t)tet);
    }
    return a;
}

// ---------------------------------------------------------------- comparisons

static double most(const double *a, size_t count)
{
    double largest = 0;
    for (size_t k = 0; k < count; k++) largest = fmax(largest, fabs(a[k]));
    return largest;
}

static double most_apart(const double *a, const double *b, size_t count)
{
    double largest = 0;
    for (size_t k = 0; k < count; k++) {
        double d = fabs(a[k] - b[k]);
        if (!(d <= largest)) largest = d;  // also NaN
    }
    return largest;
}

// Relative to the largest numbers, and to those at a strain of about 1 where they vanish.
static void check_same(const char *label, const hk_model *m, const answers *a,
                       const answers *expected, double bound)
{
    size_t n = 4 * (size_t)m->vertex_count, blocks = 90 * (size_t)m->tet_count;
    double force = fmax(most(expected->gradient, n), 0.01 * YOUNG);
    double stiffness = fmax(most(expected->blocks, blocks), 0.1 * YOUNG);
    if (!(fabs(a->energy - expected->energy) <= bound * fmax(fabs(expected->energy), 0.1 * YOUNG)))
        fail_msg("%s: energy %.17g, not %.17g", label, a->energy, expected->energy);
    if (!(most_apart(a->gradient, expected->gradient, n) <= bound * force))
        fail_msg("%s: gradient off by %.2e", label,
                 most_apart(a->gradient, expected->gradient, n) / force);
    if (!(most_apart(a->blocks, expected->blocks, blocks) <= bound * stiffness))
        fail_msg("%s: stiffness off by %.2e", label,
                 most_apart(a->blocks, expected->blocks, blocks) / stiffness);
}

static void check_tables(const fixture *f, const char *label, const answers *expected)
{
    const hk_lane_table *tables[MOST_TABLES];
    int count = hk_lanes_available(tables, MOST_TABLES);
    for (int k = 0; k < count; k++) {
        hk_tet_term *term = make_term(f->model, tables[k]);
        double bound = tables[k]->scalar_size == 8 ? 1e-13 : 3e-6;
        for (int pass = 0; pass < (tables[k]->scalar_size == 8 ? 2 : 1); pass++) {
            char what[160];
            snprintf(what, sizeof what, "%s, %s%s", label, tables[k]->name,
                     term->batches[0].edge_inverse ? ", by edges" : "");
            answers a = ask(term, f->x, 1);
            check_same(what, f->model, &a, expected, bound);
            free_answers(&a);
            leave_edges(term);
        }
        hk_tet_term_free(term);
    }
}

static void test_equals_the_tensor_form(void **state)
{
    (void)state;
    for (int s = 0; s < PLACEMENT_COUNT; s++)
        for (int penalty = 0; penalty < 2; penalty++) {
            char label[80];
            fixture f = make_fixture(&PLACEMENTS[s], penalty);
            answers expected = tensor_answers(f.model, f.x);
            snprintf(label, sizeof label, "%s%s", PLACEMENTS[s].label, penalty ? ", penalty" : "");
            check_tables(&f, label, &expected);
            free_answers(&expected);
            free_fixture(&f);
        }
}

static void test_equals_the_quadratic_form_of_edges(void **state)
{
    (void)state;
    for (int s = 0; s < PLACEMENT_COUNT; s++) {
        fixture f = make_fixture(&PLACEMENTS[s], false);
        hk_tet_term *term = make_term(f.model, hk_lanes_best(HK_DOUBLE_PRECISION));
        answers expected = edge_answers(f.model, f.x), a = ask(term, f.x, 1);
        check_same(PLACEMENTS[s].label, f.model, &a, &expected, 1e-13);
        free_answers(&expected);
        free_answers(&a);
        hk_tet_term_free(term);
        free_fixture(&f);
    }
}

// ---------------------------------------------------------------- derivatives

// H d of the blocks of all tets.
static void multiply(const hk_model *m, const double *blocks, const double *d, double *Hd)
{
    memset(Hd, 0, 32 * (size_t)m->vertex_count);
    for (int tet = 0; tet < m->tet_count; tet++)
        for (int q = 0; q < HK_TET_PAIRS; q++) {
            const double *K = blocks + 90 * (int64_t)tet + 9 * q;
            const int32_t *corner = m->tets + 4 * (int64_t)tet;
            int64_t a = 4 * (int64_t)m->place[corner[hk_tet_pairs[q][0]]];
            int64_t b = 4 * (int64_t)m->place[corner[hk_tet_pairs[q][1]]];
            for (int i = 0; i < 3; i++)
                for (int k = 0; k < 3; k++) {
                    Hd[a + i] += K[3 * i + k] * d[b + k];
                    if (a != b) Hd[b + k] += K[3 * i + k] * d[a + i];
                }
        }
}

static void test_derivatives_by_differences(void **state)
{
    (void)state;
    for (int s = 0; s < PLACEMENT_COUNT; s++) {
        fixture f = make_fixture(&PLACEMENTS[s], true);
        const hk_model *m = f.model;
        size_t n = 4 * (size_t)m->vertex_count;
        hk_tet_term *term = make_term(m, hk_lanes_best(HK_DOUBLE_PRECISION));
        answers here = ask(term, f.x, 1), side[2];
        double *d = make_numbers(n, 8), *Hd = make_numbers(n, 8), *x = make_numbers(n, 8);
        double h = 1e-5, slope = 0, error = 0, scale = 0;
        uint64_t seed = 11;
        for (size_t k = 0; k < n; k++) d[k] = k % 4 < 3 ? noise(&seed) : 0;
        multiply(m, here.blocks, d, Hd);
        for (int q = 0; q < 2; q++) {
            for (size_t k = 0; k < n; k++) x[k] = f.x[k] + (q ? h : -h) * d[k];
            side[q] = ask(term, x, 1);
        }
        for (size_t k = 0; k < n; k++) {
            double expected = (side[1].gradient[k] - side[0].gradient[k]) / (2 * h);
            slope += here.gradient[k] * d[k];
            error = fmax(error, fabs(Hd[k] - expected));
            scale = fmax(scale, fabs(expected));
        }
        double difference = (side[1].energy - side[0].energy) / (2 * h);
        if (!(fabs(slope - difference) <= 1e-7 * scale))
            fail_msg("%s: slope %.12g, not %.12g", PLACEMENTS[s].label, slope, difference);
        if (!(error <= 1e-8 * scale))
            fail_msg("%s: stiffness off by %.2e", PLACEMENTS[s].label, error / scale);
        for (int q = 0; q < 2; q++) free_answers(&side[q]);
        free_answers(&here);
        free(d);
        free(Hd);
        free(x);
        hk_tet_term_free(term);
        free_fixture(&f);
    }
}

// ---------------------------------------------------------------- rotations

static void turn(const double Q[9], const double *from, double *to)
{
    for (int i = 0; i < 3; i++)
        to[i] = Q[3 * i] * from[0] + Q[3 * i + 1] * from[1] + Q[3 * i + 2] * from[2];
}

// Q K Qᵀ
static void turn_block(const double Q[9], const double *K, double *to)
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            to[3 * i + k] = 0;
            for (int j = 0; j < 9; j++) to[3 * i + k] += Q[3 * i + j / 3] * K[j] * Q[3 * k + j % 3];
        }
}

static void test_turned_bodies_answer_alike(void **state)
{
    (void)state;
    static const double Q[9] = {0.36, 0.48, -0.8, -0.8, 0.6, 0, 0.48, 0.64, 0.6};
    for (int s = 0; s < PLACEMENT_COUNT; s++) {
        fixture f = make_fixture(&PLACEMENTS[s], true);
        const hk_model *m = f.model;
        hk_tet_term *term = make_term(m, hk_lanes_best(HK_DOUBLE_PRECISION));
        answers straight = ask(term, f.x, 1), expected = make_answers(m);
        expected.energy = straight.energy;
        for (int v = 0; v < m->vertex_count; v++) {
            double was[3] = {f.x[4 * v], f.x[4 * v + 1], f.x[4 * v + 2]};
            turn(Q, was, f.x + 4 * v);
            turn(Q, straight.gradient + 4 * v, expected.gradient + 4 * v);
        }
        for (int q = 0; q < HK_TET_PAIRS * m->tet_count; q++)
            turn_block(Q, straight.blocks + 9 * (int64_t)q, expected.blocks + 9 * (int64_t)q);
        answers turned = ask(term, f.x, 1);
        check_same(PLACEMENTS[s].label, m, &turned, &expected, 1e-13);
        free_answers(&straight);
        free_answers(&expected);
        free_answers(&turned);
        hk_tet_term_free(term);
        free_fixture(&f);
    }
}

// ---------------------------------------------------------------- other states of a term

static void test_rest_shapes_that_change(void **state)
{
    (void)state;
    fixture f = make_fixture(&PLACEMENTS[3], true);
    hk_model *m = f.model;
    hk_tet_term *term = make_term(m, hk_lanes_best(HK_DOUBLE_PRECISION));
    answers before = ask(term, f.x, 1);
    uint64_t seed = 17;
    for (int k = 0; k < 3 * m->vertex_count; k++) m->rest[k] += 0.01 * noise(&seed);
    hk_tet_measure(term);
    hk_tet_term *anew = make_term(m, term->lanes);
    answers after = ask(term, f.x, 1), expected = ask(anew, f.x, 1);
    assert_memory_equal(&after.energy, &expected.energy, sizeof after.energy);
    assert_memory_equal(after.gradient, expected.gradient, 32 * (size_t)m->vertex_count);
    assert_true(after.energy != before.energy);
    free_answers(&before);
    free_answers(&after);
    free_answers(&expected);
    hk_tet_term_free(anew);
    hk_tet_term_free(term);
    free_fixture(&f);
}

// Elements on their way to projective dynamics, and stiffness with fewer negative eigenvalues: the
// same with and without edges.
static void test_conversion_and_projection(void **state)
{
    (void)state;
    for (int s = 0; s < PLACEMENT_COUNT; s++)
        for (int keep = 0; keep < 2; keep++) {
            if (strcmp(PLACEMENTS[s].label, "flat") == 0) continue;  // many rotations are as near
            fixture f = make_fixture(&PLACEMENTS[s], true);
            hk_tet_term *by_edges = make_term(f.model, hk_lanes_best(HK_DOUBLE_PRECISION));
            hk_tet_term *plain = make_term(f.model, hk_lanes_best(HK_DOUBLE_PRECISION));
            leave_edges(plain);
            assert_true(hk_tet_is_invertible(plain));
            bool some = hk_tet_update_blend(plain, f.x);
            assert_true(hk_tet_update_blend(by_edges, f.x) == some);
            if (strcmp(PLACEMENTS[s].label, "inverted") == 0) assert_true(some);
            hk_tet_blend_with_gradient(by_edges, true);
            hk_tet_blend_with_gradient(plain, true);
            answers a = ask(by_edges, f.x, keep), expected = ask(plain, f.x, keep);
            check_same(PLACEMENTS[s].label, f.model, &a, &expected, 1e-11);
            free_answers(&a);
            free_answers(&expected);
            hk_tet_term_free(plain);
            hk_tet_term_free(by_edges);
            free_fixture(&f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_the_tensor_form),
        cmocka_unit_test(test_equals_the_quadratic_form_of_edges),
        cmocka_unit_test(test_derivatives_by_differences),
        cmocka_unit_test(test_turned_bodies_answer_alike),
        cmocka_unit_test(test_rest_shapes_that_change),
        cmocka_unit_test(test_conversion_and_projection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
