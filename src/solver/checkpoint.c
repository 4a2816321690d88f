#include "solver/checkpoint.h"

#include <math.h>

#include "rules/rules.h"
#include "solver/limit.h"

hk_status hk_checkpoint_init(hk_checkpoint *k, hk_vertices *vertices, double tolerance)
{
    hk_problem *p = vertices->view->problem;
    k->problem = p;
    k->view = vertices->view;
    k->vertices = vertices;
    k->tolerance = tolerance;
    k->good = hk_calloc(1, hk_vertices_bytes(vertices));
    k->wide = HK_ZEROS(double, 4 * (size_t)p->vertex_count);
    k->force = HK_ZEROS(double, 4 * (size_t)p->vertex_count);
    if (!k->good || !k->wide || !k->force) return HK_NO_MEMORY;
    if (!hk_terms_blending(p->terms)) return HK_OK;
    k->blend = HK_ZEROS(float, p->model->tet_count);
    k->blend_now = HK_ZEROS(float, p->model->tet_count);
    k->blend_larger = HK_ZEROS(float, p->model->tet_count);
    return k->blend && k->blend_now && k->blend_larger ? HK_OK : HK_NO_MEMORY;
}

void hk_checkpoint_release(hk_checkpoint *k)
{
    hk_free(k->good);
    hk_free(k->wide);
    hk_free(k->force);
    hk_free(k->blend);
    hk_free(k->blend_now);
    hk_free(k->blend_larger);
}

static void read_blend(hk_checkpoint *k)
{
    if (k->blend) hk_terms_read_blend(k->view->terms, k->blend);
}

void hk_checkpoint_begin(hk_checkpoint *k, const double *x, double residual)
{
    memcpy(k->wide, x, 4 * sizeof(double) * (size_t)k->problem->vertex_count);
    memcpy(k->good, k->vertices->q, hk_vertices_bytes(k->vertices));
    k->blended = hk_terms_blended(k->view->terms);
    k->least = k->mark = residual;
    k->since = 0;
    read_blend(k);
}

void hk_checkpoint_gradient(hk_checkpoint *k, double *elastic)
{
    hk_terms *terms = k->view->terms;
    hk_terms_blend_with_gradient(terms, true);
    hk_view_elements(k->view, k->vertices->q, k->vertices->gradient, elastic);
    hk_terms_blend_with_gradient(terms, false);
}

// The residual along the manifold, with the whole gradient in k->force.
static double tied_residual(hk_checkpoint *k)
{
    hk_problem *p = k->problem;
    hk_vertices_store(k->vertices, k->vertices->q, k->wide);
    hk_vertices_whole_gradient(k->vertices, k->force);
    hk_problem_stand(p, k->wide);
    hk_problem_tangent(p, k->force);
    return sqrt(hk_problem_dot(p, k->force, k->force));
}

hk_evaluation hk_checkpoint_measure(hk_checkpoint *k, double elastic)
{
    hk_vertex_sums sums = hk_vertices_measure(k->vertices);
    hk_evaluation at = {.energy = elastic + sums.energy,
                        .residual = sqrt(sums.square),
                        .scale = hk_vertices_scale(k->vertices),
                        .elastic = elastic,
                        .exact = NAN};
    bool tied = k->problem->manifold != NULL;
    if (tied) at.residual = tied_residual(k);
    at.excess = hk_all_beyond(at.residual);
    if (hk_may_be_rounding(&at, k->tolerance, hk_view_rounding(k->view) + k->vertices->rounding)) {
        if (!tied) {
            hk_vertices_store(k->vertices, k->vertices->q, k->wide);
            hk_vertices_whole_gradient(k->vertices, k->force);
        }
        at.excess = hk_view_excess(k->view, k->wide, k->force, hk_vertices_epsilon(k->vertices));
    }
    return at;
}

double hk_checkpoint_energy(hk_checkpoint *k, const void *q)
{
    hk_vertices_store(k->vertices, q, k->wide);
    if (!hk_problem_retract(k->problem, k->wide)) return INFINITY;
    return hk_problem_energy(k->problem, k->wide);
}

// ---------------------------------------------------------------- comparison

// Where elements are blended ε is another function at every check. The two states are compared by
// the one of now; if that is not defined at the older state, by one that is: with the larger weight
// of every element, now and then.
static bool is_blended(hk_checkpoint *k)
{
    bool now = hk_terms_blended(k->view->terms), before = k->blended;
    k->blended = now;
    return now || before;
}

static bool fell_blended(hk_checkpoint *k)
{
    hk_problem *p = k->problem;
    hk_terms_read_blend(k->view->terms, k->blend_now);
    hk_terms_write_blend(p->terms, k->blend_now);
    double good = hk_checkpoint_energy(k, k->good);
    if (isfinite(good)) return hk_checkpoint_energy(k, k->vertices->q) <= good;
    for (int t = 0; t < p->model->tet_count; t++)
        k->blend_larger[t] = fmaxf(k->blend[t], k->blend_now[t]);
    hk_terms_write_blend(p->terms, k->blend_larger);
    bool lower = hk_checkpoint_energy(k, k->vertices->q) <= hk_checkpoint_energy(k, k->good);
    hk_terms_write_blend(p->terms, k->blend_now);
    return lower;
}

// By energies in double precision. Those of stiff bodies are known much worse than forces are:
// where they cannot tell, the residual may rise for a while, but not above twice the least that was
// kept.
static bool fell_exactly(hk_checkpoint *k, double now, double before, double residual,
                         bool *unclear)
{
    hk_verdict verdict =
        rule_compare(now, before, rule_double_noise(k->problem->energy_rounding, now, before));
    *unclear = verdict == HK_UNCLEAR;
    bool progress = verdict == HK_FELL || (*unclear && residual < 0.9 * k->mark);
    if (progress) k->mark = fmin(k->mark, residual);
    k->since = progress ? 0 : k->since + 1;
    return *unclear ? rule_stays_near(residual, k->least) : verdict == HK_FELL;
}

bool hk_checkpoint_fell(hk_checkpoint *k, hk_evaluation *good, hk_evaluation *now, bool *unclear)
{
    *unclear = false;
    if (!isfinite(now->energy) || !isfinite(now->residual)) return false;
    if (is_blended(k)) return fell_blended(k);
    if (!k->view->single) return fell_exactly(k, now->energy, good->energy, now->residual, unclear);
    double noise = rule_single_noise(k->view->energy_rounding, now->elastic);
    hk_verdict verdict = rule_compare(now->energy, good->energy, noise);
    if (verdict != HK_UNCLEAR) return verdict == HK_FELL;
    if (isnan(good->exact)) good->exact = hk_checkpoint_energy(k, k->good);
    now->exact = hk_checkpoint_energy(k, k->vertices->q);
    bool fell = fell_exactly(k, now->exact, good->exact, now->residual, unclear);
    *unclear = true;  // the states are rounded to single precision, which has its say in this
    return fell;
}

void hk_checkpoint_keep(hk_checkpoint *k, const hk_evaluation *now)
{
    k->least = fmin(k->least, now->residual);
    memcpy(k->good, k->vertices->q, hk_vertices_bytes(k->vertices));
    read_blend(k);
}

// The blend weights that belong to the state that was kept.
static void restore_blend(hk_checkpoint *k)
{
    if (!k->blend) return;
    hk_terms_write_blend(k->problem->terms, k->blend);
    if (k->view->single) hk_terms_write_blend(k->view->terms, k->blend);
}

void hk_checkpoint_restore(hk_checkpoint *k)
{
    memcpy(k->vertices->q, k->good, hk_vertices_bytes(k->vertices));
    restore_blend(k);
}

void hk_checkpoint_store(hk_checkpoint *k, double *x)
{
    hk_vertices_store(k->vertices, k->good, x);
    hk_problem_retract(k->problem, x);
    restore_blend(k);
}

// In single precision double is there to go on.
enum { PATIENCE = 250, SINGLE_PATIENCE = 12 };
bool hk_checkpoint_wanders(const hk_checkpoint *k)
{
    return k->since > (k->view->single ? SINGLE_PATIENCE : PATIENCE);
}

bool hk_checkpoint_over(const hk_checkpoint *k, const hk_evaluation *at, hk_solve_report *report)
{
    bool converged = hk_is_converged(at, k->tolerance);
    if (converged) report->reason = HK_CONVERGED;
    if (converged || !k->view->single || !hk_is_at_limit(at, k->tolerance)) return converged;
    hk_report_limit(k->view->single, at, report);
    return true;
}
