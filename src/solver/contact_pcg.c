#include "solver/contact_pcg.h"

#include <math.h>

// Part of what a direction promises that its error may cost: its length is searched for in any
// case, and the next one sees contacts anew.
#define ENOUGH 0.1
enum { MOST_ITERATIONS = 200 };
// (A⁻¹)_vv × A_vv, about.
#define SOFTER_THAN_ALONE 2

hk_status hk_contact_pcg_init(hk_contact_pcg *c, hk_problem *p)
{
    *c = (hk_contact_pcg){.problem = p, .tolerance = ENOUGH, .most = MOST_ITERATIONS};
    if (!hk_terms_guarded(p->terms)) return HK_OK;
    c->moved = HK_ZEROS(double, 4 * (size_t)p->vertex_count);
    c->given = HK_ZEROS(double, 4 * (size_t)p->vertex_count);
    return c->moved && c->given ? HK_OK : HK_NO_MEMORY;
}

void hk_contact_pcg_release(hk_contact_pcg *c)
{
    hk_free(c->rows);
    hk_free(c->diagonal);
    hk_free(c->moved);
    hk_free(c->given);
}

// ---------------------------------------------------------------- N and K

static void take_row(void *context, const hk_contact_row *row)
{
    hk_contact_pcg *c = context;
    const uint8_t *held = c->problem->held;
    hk_contact_row kept = *row;
    bool any = false;
    for (int k = 0; k < 4; k++) {
        if (kept.vertex[k] >= 0 && held[kept.vertex[k]]) kept.vertex[k] = -1;
        any |= kept.vertex[k] >= 0;
    }
    if (!any || c->status != HK_OK) return;
    size_t count = (size_t)c->count;
    c->status = hk_reserve((void **)&c->rows, count, sizeof kept, &c->row_room, count + 1);
    if (c->status == HK_OK) c->rows[c->count++] = kept;
}

// About 1/κ + (N A⁻¹ Nᵀ) of a row with itself.
static double diagonal_of(const hk_problem *p, const hk_contact_row *row)
{
    double sum = 1 / row->stiffness;
    for (int k = 0; k < 4; k++) {
        int32_t v = row->vertex[k];
        if (v < 0) continue;
        double alone = p->inertia[v] + p->shift + (1 + p->stiffening) * p->stiffness[v];
        if (alone > 0) sum += SOFTER_THAN_ALONE * row->c[k] * row->c[k] / alone;
    }
    return sum;
}

hk_status hk_contact_pcg_set(hk_contact_pcg *c, const double *x)
{
    if (!c->moved) return HK_OK;
    c->status = HK_OK;
    c->count = 0;
    hk_terms_visit_rows(c->problem->terms, x, take_row, c);
    size_t count = (size_t)c->count;
    if (c->status == HK_OK)
        c->status =
            hk_reserve((void **)&c->diagonal, 0, 6 * sizeof(double), &c->vector_room, count);
    if (c->status != HK_OK) return c->status;
    c->residual = c->diagonal + count;
    c->solved = c->residual + count;
    c->direction = c->solved + count;
    c->product = c->direction + count;
    c->force = c->product + count;
    for (int k = 0; k < c->count; k++) c->diagonal[k] = diagonal_of(c->problem, &c->rows[k]);
    return HK_OK;
}

static double row_product(const hk_contact_row *row, const double *x)
{
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        if (row->vertex[k] < 0) continue;
        const double *v = x + 4 * (int64_t)row->vertex[k];
        sum += row->c[k] * (row->n[0] * v[0] + row->n[1] * v[1] + row->n[2] * v[2]);
    }
    return sum;
}

// to = N x
static void multiply(const hk_contact_pcg *c, const double *x, double *to)
{
#pragma omp parallel for schedule(static) num_threads(c->problem->threads) if (c->count > 1024)
    for (int k = 0; k < c->count; k++) to[k] = row_product(&c->rows[k], x);
}

// c->moved = A⁻¹ Nᵀ direction
static hk_status push(hk_contact_pcg *c, hk_inverse_fn *inverse, void *context)
{
    memset(c->moved, 0, 4 * sizeof(double) * (size_t)c->problem->vertex_count);
    for (int r = 0; r < c->count; r++) {
        const hk_contact_row *row = &c->rows[r];
        for (int k = 0; k < 4; k++) {
            if (row->vertex[k] < 0) continue;
            double *to = c->moved + 4 * (int64_t)row->vertex[k];
            for (int i = 0; i < 3; i++) to[i] += row->c[k] * row->n[i] * c->direction[r];
        }
    }
    return inverse(context, c->moved);
}

// ---------------------------------------------------------------- conjugate gradients

static double dot(const hk_contact_pcg *c, const double *a, const double *b)
{
    double sum = 0;
    for (int k = 0; k < c->count; k++) sum += a[k] * b[k];
    return sum;
}

// How far ½ dᵀ(A + C)d − bᵀd is from its minimum, at most: the duality gap, J.
static bool is_enough(const hk_contact_pcg *c, double work)
{
    double gap = 0;
    for (int k = 0; k < c->count; k++)
        gap += c->rows[k].stiffness * c->residual[k] * c->residual[k];
    return gap <= c->tolerance * fmax(work, 0);
}

// d −= length × A⁻¹ Nᵀ direction
static void add(const hk_contact_pcg *c, double length, double *d)
{
    int64_t size = 4 * (int64_t)c->problem->vertex_count;
    const double *moved = c->moved;
#pragma omp parallel for schedule(static) num_threads(c->problem->threads)
    for (int64_t k = 0; k < size; k++) d[k] -= length * moved[k];
}

// From d = A⁻¹ b, with b in c->given.
static hk_status iterate(hk_contact_pcg *c, hk_inverse_fn *inverse, void *context, double *d)
{
    double before = 0;
    multiply(c, d, c->residual);
    for (int k = 0; k < c->count; k++) c->force[k] = 0;
    for (int n = 0; n < c->most; n++) {
        for (int k = 0; k < c->count; k++) c->solved[k] = c->residual[k] / c->diagonal[k];
        double square = dot(c, c->residual, c->solved);
        if (!(square > 0) || is_enough(c, hk_problem_dot(c->problem, c->given, d))) return HK_OK;
        double beta = n > 0 ? square / before : 0;
        for (int k = 0; k < c->count; k++)
            c->direction[k] = c->solved[k] + (n > 0 ? beta * c->direction[k] : 0);
        before = square;
        HK_TRY(push(c, inverse, context));
        c->iterations++;
        multiply(c, c->moved, c->product);
        for (int k = 0; k < c->count; k++) c->product[k] += c->direction[k] / c->rows[k].stiffness;
        double curvature = dot(c, c->direction, c->product);
        if (!(curvature > 0)) return HK_OK;  // rounding
        double length = square / curvature;
        add(c, length, d);
        for (int k = 0; k < c->count; k++) {
            c->residual[k] -= length * c->product[k];
            c->force[k] += length * c->direction[k];
        }
    }
    return HK_OK;
}

// Aq = b − Nᵀ λ
static double square_of(hk_contact_pcg *c, double work, const double *q)
{
    if (c->count == 0) return work;
    multiply(c, q, c->product);
    return work - dot(c, c->force, c->product);
}

hk_status hk_contact_pcg_solve(hk_contact_pcg *c, hk_inverse_fn *inverse, void *context, double *q,
                               double *square)
{
    size_t bytes = 4 * sizeof(double) * (size_t)c->problem->vertex_count;
    if (!c->moved) return inverse(context, q);
    memcpy(c->given, q, bytes);
    HK_TRY(inverse(context, q));
    if (c->count > 0) HK_TRY(iterate(c, inverse, context, q));
    double work = hk_problem_dot(c->problem, c->given, q);
    if (c->count > 0 && !(work > 0)) {
        // Iterations that ended too early may lead uphill; without contacts it is downhill.
        memcpy(q, c->given, bytes);
        HK_TRY(inverse(context, q));
        c->count = 0;
        work = hk_problem_dot(c->problem, c->given, q);
    }
    if (square) *square = square_of(c, work, q);
    return HK_OK;
}
