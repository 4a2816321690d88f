// Nonlinear conjugate gradients (Descent eq. 4 and footnote 2), Δx = −P g + β Δx₋₁ with
// z = g·P g and β = z/z₋₁ (Fletcher–Reeves) or β = max(0, (z − g₋₁·P g)/z₋₁) (Polak–Ribière). The
// step length is that of the exact Hessian along the direction, −g·d / d·H d (Descent section 3),
// where H d is the difference of two gradients.
#include <math.h>
#include <stdio.h>

#include "solver/jacobi.h"
#include "solver/line_search.h"

enum { OPTION_FORMULA = HK_OPTION_AFTER_JACOBI };
enum { FORMULA_POLAK_RIBIERE, FORMULA_FLETCHER_REEVES };

static const char *const g_formulas[] = {"polak_ribiere", "fletcher_reeves", NULL};
static const hk_option_info g_options[] = {
    HK_START_OPTIONS(HK_START_AUTO),
    HK_PRECISION_OPTION(HK_DOUBLE_PRECISION),
    HK_JACOBI_OPTIONS,
    [OPTION_FORMULA] = {.name = "formula",
                        .help = "how much of the last direction is kept: polak_ribiere restarts "
                                "itself, fletcher_reeves does not",
                        .words = g_formulas},
};

typedef struct nonlinear_cg {
    hk_line_search search;
    hk_jacobi jacobi;
    double *scaled;         // [vertex_count][4] P g
    double *last_gradient;  // [vertex_count][4]
    double z;
} nonlinear_cg;

static void cg_free(void *solver)
{
    nonlinear_cg *s = solver;
    if (!s) return;
    hk_search_release(&s->search);
    hk_jacobi_release(&s->jacobi);
    hk_free(s->scaled);
    hk_free(s->last_gradient);
    hk_free(s);
}

static hk_status cg_create(hk_problem *problem, const hk_settings *settings, void **solver)
{
    nonlinear_cg *s = HK_NEW(nonlinear_cg);
    if (!s) return HK_NO_MEMORY;
    hk_status status = hk_search_init(&s->search, problem, settings);
    if (status == HK_OK) status = hk_jacobi_init(&s->jacobi, problem);
    s->scaled = HK_ZEROS(double, 4 * (size_t)problem->vertex_count);
    s->last_gradient = HK_ZEROS(double, 4 * (size_t)problem->vertex_count);
    if (status == HK_OK && !(s->scaled && s->last_gradient)) status = HK_NO_MEMORY;
    if (status != HK_OK) {
        cg_free(s);
        return status;
    }
    *solver = s;
    return HK_OK;
}

static double part_of_last(nonlinear_cg *s, hk_line_search *ls, double z, bool fresh)
{
    if (fresh || !(s->z > 0)) return 0;
    if (ls->settings.option[OPTION_FORMULA] == FORMULA_FLETCHER_REEVES) return z / s->z;
    double across = hk_problem_dot(ls->problem, s->last_gradient, s->scaled);
    return fmax(0, (z - across) / s->z);
}

static hk_status choose(void *solver, hk_line_search *ls, const double *x, bool fresh)
{
    nonlinear_cg *s = solver;
    hk_jacobi_prepare(&s->jacobi, ls, x, fresh);
    hk_jacobi_apply(&s->jacobi, ls->problem, ls->gradient, s->scaled);
    double z = hk_problem_dot(ls->problem, ls->gradient, s->scaled);
    double beta = part_of_last(s, ls, z, fresh);
    s->z = z;
    for (int64_t k = 0; k < 4 * (int64_t)ls->problem->vertex_count; k++)
        ls->direction[k] = beta * ls->direction[k] - s->scaled[k];
    // Not downhill any more: begin anew.
    if (beta > 0 && !(hk_problem_dot(ls->problem, ls->gradient, ls->direction) < 0))
        for (int64_t k = 0; k < 4 * (int64_t)ls->problem->vertex_count; k++)
            ls->direction[k] = -s->scaled[k];
    return HK_OK;
}

static double largest_entry(const hk_problem *p, const double *d)
{
    double largest = 0;
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++) largest = fmax(largest, fabs(d[k]));
    return largest;
}

// −g·d / d·H d by a difference over a displacement that is small next to the body.
static double exact_length(void *solver, hk_line_search *ls, const double *x)
{
    (void)solver;
    double slope = hk_problem_dot(ls->problem, ls->gradient, ls->direction);
    double h = (ls->view->single ? 3e-4 : 1e-6) * ls->problem->size /
               largest_entry(ls->problem, ls->direction);
    if (!isfinite(h)) return 1;
    hk_search_try(ls, x, h);
    double ahead = hk_problem_dot(ls->problem, ls->trial_gradient, ls->direction);
    double curvature = (ahead - slope) / h;
    return isfinite(curvature) && curvature > 0 ? -slope / curvature : 1;
}

static void taken(void *solver, hk_line_search *ls, double length)
{
    (void)length;
    nonlinear_cg *s = solver;
    memcpy(s->last_gradient, ls->gradient, 4 * sizeof(double) * (size_t)ls->problem->vertex_count);
}

static hk_status cg_minimise(void *solver, double *x, hk_solve_report *report)
{
    static const hk_direction rule = {choose, exact_length, taken};
    return hk_search_descend(&((nonlinear_cg *)solver)->search, &rule, solver, x, report);
}

static hk_view *cg_view(void *solver)
{
    return ((nonlinear_cg *)solver)->search.view;
}

static void cg_describe(const void *solver, char *text, size_t size)
{
    const hk_settings *s = &((const nonlinear_cg *)solver)->search.settings;
    snprintf(text, size, "nonlinear_cg: at most %d iterations, tolerance %g, preconditioner %s, %s",
             s->iterations, s->tolerance,
             hk_preconditioners[(int)s->option[HK_OPTION_PRECONDITIONER]],
             g_formulas[(int)s->option[OPTION_FORMULA]]);
}

const hk_method hk_nonlinear_cg = {
    .name = "nonlinear_cg",
    .takes_rank_one = true,
    .takes_constraints = true,
    .guarded = true,
    .summary = "nonlinear conjugate gradients, by default with the Jacobi preconditioner",
    .iterations = 500,
    .pose_iterations = 5000,
    .tolerance = 1e-6,
    .options = g_options,
    .option_count = HK_COUNT_OF(g_options),
    .create = cg_create,
    .free = cg_free,
    .minimise = cg_minimise,
    .view = cg_view,
    .describe = cg_describe,
};
