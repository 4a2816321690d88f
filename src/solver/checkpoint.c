#include "solver/checkpoint.h"

#include <math.h>

hk_status hk_checkpoint_init(hk_checkpoint *k, hk_problem *p, hk_vertices *vertices)
{
    k->problem = p;
    k->vertices = vertices;
    k->good = hk_calloc(1, hk_vertices_bytes(vertices));
    k->wide = HK_ZEROS(double, 4 * (size_t)p->vertex_count);
    if (!k->good || !k->wide) return HK_NO_MEMORY;
    if (!hk_tet_is_invertible(p->tets)) return HK_OK;
    k->shares = HK_ZEROS(float, p->model->tet_count);
    k->shares_now = HK_ZEROS(float, p->model->tet_count);
    k->shares_larger = HK_ZEROS(float, p->model->tet_count);
    return k->shares && k->shares_now && k->shares_larger ? HK_OK : HK_NO_MEMORY;
}

void hk_checkpoint_release(hk_checkpoint *k)
{
    hk_free(k->good);
    hk_free(k->wide);
    hk_free(k->shares);
    hk_free(k->shares_now);
    hk_free(k->shares_larger);
}

static void read_shares(hk_checkpoint *k)
{
    if (k->shares) hk_tet_read_blend(hk_problem_elements(k->problem), k->shares);
}

void hk_checkpoint_begin(hk_checkpoint *k, const double *x)
{
    memcpy(k->wide, x, 4 * sizeof(double) * (size_t)k->problem->vertex_count);
    memcpy(k->good, k->vertices->q, hk_vertices_bytes(k->vertices));
    k->converting = hk_tet_blended(hk_problem_elements(k->problem));
    read_shares(k);
}

void hk_checkpoint_gradient(hk_checkpoint *k, double *elastic)
{
    hk_tet_term *elements = hk_problem_elements(k->problem);
    hk_tet_blend_with_gradient(elements, true);
    hk_problem_elastic_gradient(k->problem, k->vertices->q, k->vertices->gradient, elastic);
    hk_tet_blend_with_gradient(elements, false);
}

hk_evaluation hk_checkpoint_measure(const hk_checkpoint *k, double elastic, double scale)
{
    hk_vertex_sums sums = hk_vertices_measure(k->vertices);
    return (hk_evaluation){.energy = elastic + sums.energy,
                           .residual = sqrt(sums.square),
                           .scale = scale,
                           .elastic = elastic,
                           .exact = NAN};
}

double hk_checkpoint_energy(hk_checkpoint *k, const void *q)
{
    hk_vertices_store(k->vertices, q, k->wide);
    return hk_problem_energy(k->problem, k->wide);
}

// ---------------------------------------------------------------- comparison

// Elements that convert make ε another function at every look. The two states are compared by the
// one of now; if that is not defined at the older state, by one that is: with the larger share of
// every element, now and then.
static bool conversion_at_work(hk_checkpoint *k)
{
    bool now = hk_tet_blended(hk_problem_elements(k->problem)), before = k->converting;
    k->converting = now;
    return now || before;
}

static bool fell_converting(hk_checkpoint *k)
{
    hk_problem *p = k->problem;
    hk_tet_read_blend(hk_problem_elements(p), k->shares_now);
    hk_tet_write_blend(p->tets, k->shares_now);
    double good = hk_checkpoint_energy(k, k->good);
    if (isfinite(good)) return hk_checkpoint_energy(k, k->vertices->q) <= good;
    for (int t = 0; t < p->model->tet_count; t++)
        k->shares_larger[t] = fmaxf(k->shares[t], k->shares_now[t]);
    hk_tet_write_blend(p->tets, k->shares_larger);
    bool lower = hk_checkpoint_energy(k, k->vertices->q) <= hk_checkpoint_energy(k, k->good);
    hk_tet_write_blend(p->tets, k->shares_now);
    return lower;
}

// Where energies differ by rounding alone, the gradient decides.
static bool is_lower(double energy, double than, const hk_evaluation *now,
                     const hk_evaluation *good)
{
    double rounding = 1e-14 * (fabs(energy) + fabs(than));
    if (fabs(energy - than) > rounding) return energy < than;
    return now->residual < good->residual;
}

bool hk_checkpoint_fell(hk_checkpoint *k, hk_evaluation *good, hk_evaluation *now)
{
    hk_problem *p = k->problem;
    if (!isfinite(now->energy) || !isfinite(now->residual)) return false;
    if (conversion_at_work(k)) return fell_converting(k);
    if (!p->single) return is_lower(now->energy, good->energy, now, good);
    // Inertia and loads are summed up in double precision.
    double noise = p->energy_rounding + 1e-7 * fabs(now->elastic);
    if (fabs(now->energy - good->energy) > noise) return now->energy < good->energy;
    if (isnan(good->exact)) good->exact = hk_checkpoint_energy(k, k->good);
    now->exact = hk_checkpoint_energy(k, k->vertices->q);
    return is_lower(now->exact, good->exact, now, good);
}

void hk_checkpoint_keep(hk_checkpoint *k)
{
    memcpy(k->good, k->vertices->q, hk_vertices_bytes(k->vertices));
    read_shares(k);
}

// The shares that belong to the state that was kept.
static void restore_shares(hk_checkpoint *k)
{
    if (!k->shares) return;
    hk_tet_write_blend(k->problem->tets, k->shares);
    if (k->problem->single) hk_tet_write_blend(k->problem->single, k->shares);
}

void hk_checkpoint_restore(hk_checkpoint *k)
{
    memcpy(k->vertices->q, k->good, hk_vertices_bytes(k->vertices));
    restore_shares(k);
}

void hk_checkpoint_store(hk_checkpoint *k, double *x)
{
    hk_vertices_store(k->vertices, k->good, x);
    restore_shares(k);
}

bool hk_checkpoint_converged(const hk_checkpoint *k, const hk_evaluation *at, double tolerance,
                             double margin)
{
    double rounding = margin * (k->problem->rounding + k->vertices->rounding);
    return at->residual <= fmax(tolerance * at->scale, rounding);
}
