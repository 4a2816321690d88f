// Gradient descent, Δx = −P g with P = 1 (scaled) or the inverse diagonal of the Hessian (Descent
// section 3 and 4.1, without acceleration). The step length is carried from one iteration to the
// next and tried a little longer each time (section 4.2).
#include <stdio.h>

#include "solver/jacobi.h"
#include "solver/line_search.h"

static const hk_option_info g_options[] = {
    HK_START_OPTIONS(HK_START_AUTO),
    HK_PRECISION_OPTION(HK_DOUBLE_PRECISION),
    HK_JACOBI_OPTIONS,
};

typedef struct gradient_descent {
    hk_line_search search;
    hk_jacobi jacobi;
    double length;  // of the last step
} gradient_descent;

static void descent_free(void *solver)
{
    gradient_descent *s = solver;
    if (!s) return;
    hk_search_release(&s->search);
    hk_jacobi_release(&s->jacobi);
    hk_free(s);
}

static hk_status descent_create(hk_problem *problem, const hk_settings *settings, void **solver)
{
    gradient_descent *s = HK_NEW(gradient_descent);
    if (!s) return HK_NO_MEMORY;
    s->length = 1;
    hk_status status = hk_search_init(&s->search, problem, settings);
    // Lengths near the limit of stability hardly reduce stiff modes: ask for a fair decrease.
    s->search.armijo = 0.3;
    if (status == HK_OK) status = hk_jacobi_init(&s->jacobi, problem);
    if (status != HK_OK) {
        descent_free(s);
        return status;
    }
    *solver = s;
    return HK_OK;
}

static hk_status choose(void *solver, hk_line_search *ls, const double *x, bool fresh)
{
    gradient_descent *s = solver;
    hk_jacobi_prepare(&s->jacobi, ls, x, fresh);
    hk_jacobi_apply(&s->jacobi, ls->problem, ls->gradient, ls->direction);
    for (int64_t k = 0; k < 4 * (int64_t)ls->problem->vertex_count; k++)
        ls->direction[k] = -ls->direction[k];
    return HK_OK;
}

static double first_length(void *solver, hk_line_search *ls, const double *x)
{
    (void)ls, (void)x;
    gradient_descent *s = solver;
    return s->length / 0.7;
}

static void taken(void *solver, hk_line_search *ls, double length)
{
    (void)ls;
    ((gradient_descent *)solver)->length = length;
}

static hk_status descent_minimise(void *solver, double *x, hk_solve_report *report)
{
    static const hk_direction rule = {choose, first_length, taken};
    return hk_search_descend(&((gradient_descent *)solver)->search, &rule, solver, x, report);
}

static void descent_remember(void *solver, hk_stream *stream)
{
    HK_STREAM(stream, ((gradient_descent *)solver)->length);
}

static hk_view *descent_view(void *solver)
{
    return ((gradient_descent *)solver)->search.view;
}

static void descent_describe(const void *solver, char *text, size_t size)
{
    const hk_settings *s = &((const gradient_descent *)solver)->search.settings;
    snprintf(text, size, "gradient_descent: at most %d iterations, tolerance %g, preconditioner %s",
             s->iterations, s->tolerance,
             hk_preconditioners[(int)s->option[HK_OPTION_PRECONDITIONER]]);
}

const hk_method hk_gradient_descent = {
    .name = "gradient_descent",
    .takes_rank_one = true,
    .takes_constraints = true,
    .guarded = true,
    .summary = "steepest descent, by default with the Jacobi preconditioner; no acceleration",
    .iterations = 1000,
    .pose_iterations = 20000,
    .tolerance = 1e-6,
    .options = g_options,
    .option_count = HK_COUNT_OF(g_options),
    .create = descent_create,
    .free = descent_free,
    .minimise = descent_minimise,
    .view = descent_view,
    .remember = descent_remember,
    .describe = descent_describe,
};
