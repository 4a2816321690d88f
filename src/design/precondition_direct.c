// Solves with the two matrices of an inverse problem by factors.
#include <math.h>

#include "design/precondition.h"
#include "linear/factor.h"
#include "linear/fronts.h"

typedef struct direct_way {
    hk_assembly *assembly;                           // in elimination order
    hk_pattern scalar;                               // borrows its arrays
    hk_direct *stiffness, *laplacian;                // that have analysed the pattern
    hk_fronts *stiffness_fronts, *laplacian_fronts;  // and factor it
    hk_factor *stiffness_factor, *laplacian_factor;  // 3 unknowns per vertex, and one
    double *blocks;                                  // of the elements
    double *values;                                  // of K
} direct_way;

static hk_status create(hk_precondition *c)
{
    hk_problem *p = c->inverse->problem;
    direct_way *w = HK_NEW(direct_way);
    if (!w) return HK_NO_MEMORY;
    c->state = w;
    HK_TRY(hk_assembly_create(p->terms, p->held, &w->assembly));
    c->assembly = w->assembly;
    w->scalar = w->assembly->pattern;
    w->scalar.scalar = true;
    w->values = HK_ARRAY(double, hk_pattern_size(&w->assembly->pattern));
    w->blocks = HK_ARRAY(double, hk_terms_block_size(p->terms));
    if (!w->values || !w->blocks) return HK_NO_MEMORY;
    HK_TRY(hk_direct_create(&w->assembly->pattern, &w->stiffness));
    HK_TRY(hk_direct_create(&w->scalar, &w->laplacian));
    HK_TRY(hk_fronts_create(w->stiffness, &w->assembly->pattern, p->threads, &w->stiffness_fronts));
    return hk_fronts_create(w->laplacian, &w->scalar, p->threads, &w->laplacian_fronts);
}

static void release(hk_precondition *c)
{
    direct_way *w = c->state;
    hk_factor_free(w->stiffness_factor);
    hk_factor_free(w->laplacian_factor);
    hk_fronts_free(w->stiffness_fronts);
    hk_fronts_free(w->laplacian_fronts);
    hk_direct_free(w->stiffness);
    hk_direct_free(w->laplacian);
    hk_assembly_free(w->assembly);
    hk_free(w->blocks);
    hk_free(w->values);
    hk_free(w);
}

// ---------------------------------------------------------------- factors

static hk_made made_of(const direct_way *w, bool positive)
{
    if (positive) return HK_MADE;
    return hk_fronts_stopped(w->stiffness_fronts) ? HK_NOT_MADE : HK_SINGULAR;
}

static hk_status factor_stiffness(hk_precondition *c, hk_made *made)
{
    hk_problem *p = c->inverse->problem;
    direct_way *w = c->state;
    hk_fronts_watch(w->stiffness_fronts, c->go_on, c->context);
    // Exact first; laws that are not at rest in x may need their negative eigenvalues left out.
    for (int keep = 1; keep >= 0; keep--) {
        bool positive;
        hk_problem_blocks(p, c->inverse->x, keep, w->blocks);
        hk_assemble(w->assembly, w->blocks, p->inertia, w->values);
        HK_TRY(hk_fronts_factor(w->stiffness_fronts, w->values, &positive));
        c->factorisations++;
        *made = made_of(w, positive);
        if (*made == HK_NOT_MADE) return HK_OK;
        if (*made == HK_MADE) break;
    }
    if (*made != HK_MADE) return HK_OK;
    hk_supernodes nodes = hk_fronts_supernodes(w->stiffness_fronts);
    c->has_stiffness = false;  // until it is complete
    return hk_factor_update_from(&nodes, p->threads, &w->stiffness_factor);
}

static hk_status factor_laplacian(hk_precondition *c, hk_made *made)
{
    direct_way *w = c->state;
    bool positive;
    HK_TRY(hk_fronts_factor(w->laplacian_fronts, c->values, &positive));
    *made = positive ? HK_MADE : HK_SINGULAR;
    if (!positive) return HK_OK;
    hk_supernodes nodes = hk_fronts_supernodes(w->laplacian_fronts);
    return hk_factor_update_from(&nodes, c->inverse->problem->threads, &w->laplacian_factor);
}

// ---------------------------------------------------------------- solves

static double largest_of(const double *v, int64_t count)
{
    double largest = 0;
    for (int64_t k = 0; k < count; k++) largest = fmax(largest, fabs(v[k]));
    return largest > 0 && isfinite(largest) ? largest : 1;
}

static hk_status solve_stiffness(hk_precondition *c, const double *from, double *to)
{
    direct_way *w = c->state;
    const int32_t *vertex = w->assembly->vertex;
    int64_t count = w->assembly->pattern.count, n = c->inverse->problem->vertex_count;
    // Single precision has seven digits of whatever size, as long as it is a middling one.
    double largest = largest_of(from, 4 * n), scale = 1 / largest;
    float *u = hk_factor_vector(w->stiffness_factor);
    for (int64_t b = 0; b < count; b++)
        for (int i = 0; i < 3; i++)
            u[3 * b + i] = (float)(scale * from[4 * (int64_t)vertex[b] + i]);
    hk_factor_solve_one(w->stiffness_factor);
    for (int64_t b = 0; b < count; b++)
        for (int i = 0; i < 4; i++)
            to[4 * (int64_t)vertex[b] + i] = i < 3 ? largest * (double)u[3 * b + i] : 0;
    return HK_OK;
}

static void solve_laplacian(hk_precondition *c, const double *from, double *to)
{
    direct_way *w = c->state;
    hk_factor_apply(w->laplacian_factor, w->assembly->vertex, from, to);
}

const hk_precondition_way hk_by_direct = {
    .can_warp = true,
    .create = create,
    .free = release,
    .factor_stiffness = factor_stiffness,
    .factor_laplacian = factor_laplacian,
    .solve_stiffness = solve_stiffness,
    .solve_laplacian = solve_laplacian,
};
