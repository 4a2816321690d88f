#include "solver/spin_correction.h"

#include <math.h>

#include "rules/spin.h"

enum {
    RUN = 1024,  // vertices in a partial sum
    CYCLES = 3,  // solves for P, each for what the ones before left
};

// What changes from step to step of a body.
struct hk_spin_state {
    double *rotation;  // [clusters][9]
    double *factor;    // [3 clusters][3 clusters] of C⁻¹ − B Q, lower triangle
    double *turn;      // [3][3 clusters] what columns are multiplied with
    bool corrects;     // false: the system is not positive
};

// ---------------------------------------------------------------- creation

static hk_status fill_state(const hk_spin_body *b, hk_spin_state *t)
{
    size_t columns = 3 * (size_t)b->clusters;
    t->factor = HK_ZEROS(double, columns *columns);
    t->rotation = HK_ZEROS(double, 3 * columns);
    t->turn = HK_ZEROS(double, 3 * columns);
    return t->factor && t->rotation && t->turn ? HK_OK : HK_NO_MEMORY;
}

hk_status hk_spin_correction_init(hk_spin_correction *s, hk_constant_matrix *matrix,
                                  const double *stiffness, int clusters)
{
    const hk_problem *p = matrix->problem;
    *s = (hk_spin_correction){.matrix = matrix, .prepared.weight = NAN};
    if (clusters == 0) return HK_OK;
    HK_TRY(hk_spin_bodies_init(&s->bodies, p->model, p->held, stiffness, clusters));
    s->states = HK_ZEROS(hk_spin_state, hk_max_int(1, s->bodies.count));
    if (!s->states) return HK_NO_MEMORY;
    size_t room = 1;
    for (int k = 0; k < s->bodies.count; k++) {
        const hk_spin_body *b = &s->bodies.body[k];
        size_t runs = (size_t)(b->unknowns + RUN - 1) / RUN, size = 9 * (size_t)b->clusters * runs;
        HK_TRY(fill_state(b, &s->states[k]));
        if (size > room) room = size;
    }
    s->partial = HK_ARRAY(double, room);
    return s->partial ? HK_OK : HK_NO_MEMORY;
}

void hk_spin_correction_release(hk_spin_correction *s)
{
    for (int k = 0; k < s->bodies.count && s->states; k++) {
        hk_free(s->states[k].rotation);
        hk_free(s->states[k].factor);
        hk_free(s->states[k].turn);
    }
    hk_spin_bodies_release(&s->bodies);
    hk_free(s->states);
    hk_free(s->partial);
    *s = (hk_spin_correction){0};
}

// ---------------------------------------------------------------- P and τ

typedef struct solving {
    hk_constant_matrix *matrix;
    double *workspace;
} solving;

static hk_status solve_well(void *context, const double *right, double *x)
{
    const solving *s = context;
    return hk_constant_matrix_solve(s->matrix, right, CYCLES, s->workspace, x);
}

hk_status hk_spin_correction_prepare(hk_spin_correction *s, bool *anew)
{
    const hk_problem *p = s->matrix->problem;
    hk_quadratic now = hk_problem_quadratic(p);
    bool needed = s->bodies.count > 0 && !hk_same_quadratic(s->prepared, now);
    if (anew) *anew = needed;
    if (!needed) return HK_OK;
    solving with = {s->matrix, HK_ARRAY(double, 4 * (size_t)p->vertex_count)};
    if (!with.workspace) return HK_NO_MEMORY;
    hk_status status = hk_spin_bodies_solve(&s->bodies, p->model, p->held, solve_well, &with);
    hk_free(with.workspace);
    if (status == HK_OK) s->prepared = now;
    return status;
}

// ---------------------------------------------------------------- rotations

static void mean_gradient(const hk_spin_body *b, int cluster, const double *x, double F[9])
{
    for (int i = 0; i < 9; i++) F[i] = 0;
    for (int e = b->start[cluster]; e < b->start[cluster + 1]; e++)
        for (int i = 0; i < 9; i++)
            F[i] += x[4 * (int64_t)b->entries[e].vertex + i / 3] * b->entries[e].slope[i % 3];
}

// L Lᵀ in place; false: not positive definite.
static bool factorise(double *a, int n, double least)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (int k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
            if (i == j && !(sum > least)) return false;
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    return true;
}

static void turn_body(const hk_spin_body *b, hk_spin_state *t, const double *x)
{
    int n = 3 * b->clusters;
    double alike[HK_SPIN_MOST], least = INFINITY;
    for (int c = 0; c < b->clusters; c++) {
        double F[9];
        mean_gradient(b, c, x, F);
        alike[c] = spin_rotation(F, t->rotation + 9 * c);
        least = fmin(least, 1e-9 / b->weight[c]);
    }
    for (int c = 0; c < b->clusters; c++)
        for (int d = 0; d < b->clusters; d++) {
            double block[9], inverse = spin_compliance(b->weight[c], alike[c]);
            spin_block(b->tau + (3 * c * n + 3 * d), n, t->rotation + 9 * c, t->rotation + 9 * d,
                       block);
            for (int i = 0; i < 9; i++)
                t->factor[(3 * c + i / 3) * n + 3 * d + i % 3] =
                    (c == d && i % 4 == 0 ? inverse : 0) - block[i];
        }
    t->corrects = factorise(t->factor, n, least);
}

void hk_spin_correction_turn(hk_spin_correction *s, const double *x)
{
    for (int k = 0; k < s->bodies.count; k++) turn_body(&s->bodies.body[k], &s->states[k], x);
}

// ---------------------------------------------------------------- solves

// Σ P q of vertices [first, end), [3][n].
static void sum_columns(const hk_spin_body *b, const double *q, int first, int end, double *sum)
{
    int n = 3 * b->clusters;
    for (int k = 0; k < 3 * n; k++) sum[k] = 0;
    for (int64_t v = first; v < end; v++) {
        const double *at = q + 4 * (int64_t)b->vertex[v];
        const float *column = b->columns + v * n;
        double x = at[0], y = at[1], z = at[2];
        for (int k = 0; k < n; k++) {
            sum[k] += (double)column[k] * x;
            sum[n + k] += (double)column[k] * y;
            sum[2 * n + k] += (double)column[k] * z;
        }
    }
}

// z = (C⁻¹ − B Q)⁻¹ Qᵀ q from u = Pᵀ q, [3][n], and what columns are multiplied with.
static void solve_body(const hk_spin_body *b, hk_spin_state *t, const double *u)
{
    int n = 3 * b->clusters;
    double z[3 * HK_SPIN_MOST];
    for (int i = 0; i < n; i++) z[i] = spin_of(t->rotation + 9 * (i / 3), u + i / 3 * 3, n, i % 3);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) z[i] -= t->factor[i * n + k] * z[k];
        z[i] /= t->factor[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) z[i] -= t->factor[k * n + i] * z[k];
        z[i] /= t->factor[i * n + i];
    }
    for (int k = 0; k < 3 * n; k++) {
        int i = k / n, c = k % n / 3;
        t->turn[k] = spin_turn(t->rotation + 9 * c, z + 3 * c, i, k % 3);
    }
}

void hk_spin_correction_gather(hk_spin_correction *s, const double *q)
{
    int threads = s->matrix->problem->threads;
    for (int k = 0; k < s->bodies.count; k++) {
        const hk_spin_body *b = &s->bodies.body[k];
        if (!s->states[k].corrects) continue;
        int size = 9 * b->clusters, runs = (b->unknowns + RUN - 1) / RUN;
#pragma omp parallel for schedule(static) num_threads(threads) if (runs > 1)
        for (int r = 0; r < runs; r++)
            sum_columns(b, q, r * RUN, hk_min_int((r + 1) * RUN, b->unknowns),
                        s->partial + (int64_t)r * size);
        double u[9 * HK_SPIN_MOST] = {0};
        for (int r = 0; r < runs; r++)
            for (int i = 0; i < size; i++) u[i] += s->partial[(int64_t)r * size + i];
        solve_body(b, &s->states[k], u);
    }
}

void hk_spin_correction_add(hk_spin_correction *s, double *t)
{
    int threads = s->matrix->problem->threads;
    for (int k = 0; k < s->bodies.count; k++) {
        const hk_spin_body *b = &s->bodies.body[k];
        const double *turn = s->states[k].turn;
        int n = 3 * b->clusters;
        if (!s->states[k].corrects) continue;
#pragma omp parallel for schedule(static) num_threads(threads) if (b->unknowns > RUN)
        for (int64_t v = 0; v < b->unknowns; v++) {
            const float *column = b->columns + v * n;
            double sum[3] = {0, 0, 0};
            for (int i = 0; i < n; i++) {
                sum[0] += (double)column[i] * turn[i];
                sum[1] += (double)column[i] * turn[n + i];
                sum[2] += (double)column[i] * turn[2 * n + i];
            }
            for (int i = 0; i < 3; i++) t[4 * (int64_t)b->vertex[v] + i] += sum[i];
        }
    }
}
