// Solves with the two matrices of an inverse problem by conjugate gradients with multigrid. They
// end at a fixed part of the right-hand side: near enough to a fixed operator for GMRES, whose
// steps are solved for no better than to FORCING (rest_newton.c).
#include "design/precondition.h"
#include "linear/multigrid_cg.h"
#include "solver/line_search.h"
#include "solver/newton_matrix.h"

#define STIFFNESS_TOLERANCE 1e-3
#define LAPLACIAN_TOLERANCE 1e-6

typedef struct multigrid_way {
    hk_newton_matrix *matrix;    // K
    hk_multigrid_cg *laplacian;  // of the present shape; NULL: none yet
    double *right, *found;       // [count][4] in the order of the matrix
} multigrid_way;

static hk_status create(hk_precondition *c)
{
    multigrid_way *w = HK_NEW(multigrid_way);
    if (!w) return HK_NO_MEMORY;
    c->state = w;
    HK_TRY(hk_newton_matrix_create(c->inverse->problem, true, &w->matrix));
    c->assembly = w->matrix->assembly;
    size_t size = 4 * (size_t)c->assembly->pattern.count;
    w->right = HK_ZEROS(double, size);
    w->found = HK_ZEROS(double, size);
    return w->right && w->found ? HK_OK : HK_NO_MEMORY;
}

static void release(hk_precondition *c)
{
    multigrid_way *w = c->state;
    hk_newton_matrix_free(w->matrix);
    hk_multigrid_cg_free(w->laplacian);
    hk_free(w->right);
    hk_free(w->found);
    hk_free(w);
}

static hk_status factor_stiffness(hk_precondition *c, hk_made *made)
{
    multigrid_way *w = c->state;
    double phase_s[HK_PHASE_COUNT] = {0};
    *made = HK_NOT_MADE;
    if (c->go_on && !c->go_on(c->context)) return HK_OK;
    c->has_stiffness = false;
    for (int keep = 1; keep >= 0 && *made != HK_MADE; keep--) {
        bool positive;
        w->matrix->has_levels = false;
        HK_TRY(hk_newton_matrix_set(w->matrix, c->inverse->x, keep, keep,
                                    c->inverse->problem->inertia, phase_s, &positive));
        c->factorisations++;
        *made = positive ? HK_MADE : HK_SINGULAR;
    }
    return HK_OK;
}

static hk_status factor_laplacian(hk_precondition *c, hk_made *made)
{
    multigrid_way *w = c->state;
    *made = HK_MADE;
    hk_multigrid_cg_free(w->laplacian);
    w->laplacian = NULL;
    return hk_multigrid_cg_create(&c->scalar, c->values, c->inverse->problem->threads,
                                  &w->laplacian);
}

static hk_status solve_stiffness(hk_precondition *c, const double *from, double *to)
{
    multigrid_way *w = c->state;
    int64_t size = 4 * (int64_t)c->inverse->problem->vertex_count;
    double phase_s[HK_PHASE_COUNT] = {0};
    bool positive;
    double *found = to == from ? c->between : to;
    HK_TRY(hk_newton_matrix_solve(w->matrix, STIFFNESS_TOLERANCE, from, found, phase_s, &positive));
    for (int64_t i = 0; i < size; i++) to[i] = -found[i];
    return HK_OK;
}

static void solve_laplacian(hk_precondition *c, const double *from, double *to)
{
    multigrid_way *w = c->state;
    const int32_t *vertex = c->assembly->vertex;
    for (int64_t b = 0; b < c->assembly->pattern.count; b++)
        memcpy(w->right + 4 * b, from + 4 * (int64_t)vertex[b], 3 * sizeof(double));
    hk_multigrid_cg_solve(w->laplacian, LAPLACIAN_TOLERANCE, w->right, w->found);
    for (int64_t b = 0; b < c->assembly->pattern.count; b++) {
        memcpy(to + 4 * (int64_t)vertex[b], w->found + 4 * b, 3 * sizeof(double));
        to[4 * (int64_t)vertex[b] + 3] = 0;
    }
}

const hk_precondition_way hk_by_multigrid = {
    .can_warp = false,
    .create = create,
    .free = release,
    .factor_stiffness = factor_stiffness,
    .factor_laplacian = factor_laplacian,
    .solve_stiffness = solve_stiffness,
    .solve_laplacian = solve_laplacian,
};
