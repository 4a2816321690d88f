#include "solver/jacobi.h"

#include <math.h>

#include "solver/manifold.h"

hk_status hk_jacobi_init(hk_jacobi *j, const hk_problem *problem)
{
    j->inverse = HK_ZEROS(double, 4 * (size_t)problem->vertex_count);
    return j->inverse ? HK_OK : HK_NO_MEMORY;
}

void hk_jacobi_release(hk_jacobi *j)
{
    hk_free(j->inverse);
}

// The diagonal of the Hessian of ε at free vertices, and the largest entry.
static double diagonal(hk_jacobi *j, hk_problem *p, const double *x)
{
    double largest = 0;
    hk_terms_diagonal(p->terms, x, j->inverse);
    for (int k = 0; k < p->vertex_count; k++)
        for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 3; i++) {
            j->inverse[i] = p->held[k] ? 0 : fabs(j->inverse[i] + p->inertia[k] + p->shift);
            largest = fmax(largest, j->inverse[i]);
        }
    return largest;
}

void hk_jacobi_refresh(hk_jacobi *j, hk_problem *p, const double *x, bool fresh, int every)
{
    if (!fresh && ++j->age < every) return;
    j->age = 0;
    double least = 1e-6 * diagonal(j, p, x);
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++)
        j->inverse[k] = j->inverse[k] > 0 ? 1 / fmax(j->inverse[k], least) : 0;
}

void hk_jacobi_uniform(hk_jacobi *j, hk_problem *p, const double *x)
{
    double largest = diagonal(j, p, x);
    for (int k = 0; k < p->vertex_count; k++)
        for (int i = 0; i < 3; i++)
            j->inverse[4 * (int64_t)k + i] = p->held[k] || !(largest > 0) ? 0 : 1 / largest;
}

// With constraints J (JᵀDJ)⁻¹ Jᵀ: what D⁻¹ gives, as near as the manifold comes to it by D.
static void keep_to_manifold(const hk_jacobi *j, hk_problem *p, double *to)
{
    double *weight = p->manifold->line;
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++)
        weight[k] = j->inverse[k] > 0 ? 1 / j->inverse[k] : 0;
    hk_manifold_tangent(p->manifold, HK_ALL_TIES, weight, to);
}

void hk_jacobi_apply(const hk_jacobi *j, hk_problem *p, const double *from, double *to)
{
    int64_t size = 4 * (int64_t)p->vertex_count;
    const double *inverse = j->inverse;
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int64_t k = 0; k < size; k++) to[k] = inverse[k] * from[k];
    if (p->manifold) keep_to_manifold(j, p, to);
}

const char *const hk_preconditioners[] = {"none", "jacobi", NULL};

bool hk_jacobi_wanted(const hk_line_search *ls)
{
    return ls->settings.option[HK_OPTION_PRECONDITIONER] == 1;
}

void hk_jacobi_prepare(hk_jacobi *j, hk_line_search *ls, const double *x, bool fresh)
{
    double clock = hk_now();
    if (hk_jacobi_wanted(ls))
        hk_jacobi_refresh(j, ls->problem, x, fresh, (int)ls->settings.option[HK_OPTION_REFRESH]);
    else if (fresh)
        hk_jacobi_uniform(j, ls->problem, x);
    ls->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
}
