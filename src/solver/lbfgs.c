// L-BFGS (Descent section 3, QuasiNewton "L-BFGS Acceleration"): an inverse Hessian from the last
// steps and gradient changes, started from the scaled identity or, with the Jacobi preconditioner,
// from the inverse diagonal of the Hessian (Descent section 4.1).
#include <math.h>
#include <stdio.h>

#include "solver/curvature.h"
#include "solver/jacobi.h"
#include "solver/line_search.h"

enum { OPTION_WINDOW = HK_OPTION_AFTER_JACOBI };

static const hk_option_info g_options[] = {
    HK_START_OPTIONS(HK_START_AUTO),
    HK_PRECISION_OPTION(HK_DOUBLE_PRECISION),
    HK_JACOBI_OPTIONS,
    [OPTION_WINDOW] = {.name = "window",
                       .help = "steps that are remembered",
                       .minimum = 1,
                       .maximum = HK_LARGEST_WINDOW,
                       .fallback = 5},
};

typedef struct lbfgs {
    hk_line_search search;
    hk_jacobi jacobi;
    hk_curvature curvature;
} lbfgs;

static void lbfgs_free(void *solver)
{
    lbfgs *s = solver;
    if (!s) return;
    hk_search_release(&s->search);
    hk_jacobi_release(&s->jacobi);
    hk_curvature_release(&s->curvature);
    hk_free(s);
}

static hk_status lbfgs_create(hk_problem *problem, const hk_settings *settings, void **solver)
{
    lbfgs *s = HK_NEW(lbfgs);
    if (!s) return HK_NO_MEMORY;
    hk_status status = hk_search_init(&s->search, problem, settings);
    if (status == HK_OK) status = hk_jacobi_init(&s->jacobi, problem);
    if (status == HK_OK)
        status = hk_curvature_init(&s->curvature, problem, (int)settings->option[OPTION_WINDOW]);
    if (status != HK_OK) {
        lbfgs_free(s);
        return status;
    }
    *solver = s;
    return HK_OK;
}

static hk_status choose(void *solver, hk_line_search *ls, const double *x, bool fresh)
{
    lbfgs *s = solver;
    hk_problem *p = ls->problem;
    if (fresh) hk_curvature_forget(&s->curvature);
    hk_jacobi_prepare(&s->jacobi, ls, x, fresh);
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++)
        ls->direction[k] = p->held[k / 4] ? 0 : -ls->gradient[k];
    hk_curvature_first(&s->curvature, p, ls->direction);
    double scale = hk_curvature_scale(&s->curvature, p);
    if (hk_jacobi_wanted(ls) || scale == 0)
        hk_jacobi_apply(&s->jacobi, p, ls->direction, ls->direction);
    else
        for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++) ls->direction[k] *= scale;
    hk_curvature_second(&s->curvature, p, ls->direction);
    return HK_OK;
}

static void taken(void *solver, hk_line_search *ls, double length)
{
    hk_curvature_add(&((lbfgs *)solver)->curvature, ls->problem, ls->direction, length,
                     ls->gradient, ls->trial_gradient);
}

static hk_status lbfgs_minimise(void *solver, double *x, hk_solve_report *report)
{
    static const hk_direction rule = {choose, hk_full_length, taken};
    return hk_search_descend(&((lbfgs *)solver)->search, &rule, solver, x, report);
}

static hk_view *lbfgs_view(void *solver)
{
    return ((lbfgs *)solver)->search.view;
}

static void lbfgs_describe(const void *solver, char *text, size_t size)
{
    const hk_settings *s = &((const lbfgs *)solver)->search.settings;
    snprintf(text, size, "lbfgs: at most %d iterations, tolerance %g, preconditioner %s, window %d",
             s->iterations, s->tolerance,
             hk_preconditioners[(int)s->option[HK_OPTION_PRECONDITIONER]],
             (int)s->option[OPTION_WINDOW]);
}

const hk_method hk_lbfgs = {
    .name = "lbfgs",
    .takes_rank_one = true,
    .takes_constraints = true,
    .guarded = true,
    .summary = "L-BFGS, by default started from the Jacobi preconditioner",
    .iterations = 500,
    .pose_iterations = 5000,
    .tolerance = 1e-6,
    .options = g_options,
    .option_count = HK_COUNT_OF(g_options),
    .create = lbfgs_create,
    .free = lbfgs_free,
    .minimise = lbfgs_minimise,
    .view = lbfgs_view,
    .describe = lbfgs_describe,
};
