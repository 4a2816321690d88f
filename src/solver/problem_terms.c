// What tets and links have in common: their sum, and its damping.
#include <math.h>

#include "solver/problem.h"

double hk_problem_elastic(hk_problem *p, const double *x)
{
    double energy = hk_tet_energy(p->tets, x) + hk_links_energy(p->links, x);
    return isfinite(energy) ? energy : INFINITY;
}

hk_links *hk_problem_links(hk_problem *p)
{
    return p->single ? p->single_links : p->links;
}

void hk_problem_element_gradient(hk_problem *p, const void *x, void *gradient, double *energy)
{
    double linked = 0;
    hk_tet_gradient(hk_problem_elements(p), x, gradient, energy);
    hk_links_add_gradient(hk_problem_links(p), x, gradient, energy ? &linked : NULL);
    if (energy) *energy += linked;
}

void hk_problem_elastic_gradient(hk_problem *p, const void *x, void *gradient, double *energy)
{
    hk_problem_element_gradient(p, x, gradient, energy);
    if (!(p->viscous > 0)) return;
    double viscous = 0;
    hk_single_frame frame = {p->origin, p->body_of};
    if (p->single)
        hk_viscosity_add_gradient_single(p->viscosity, &frame, x, gradient, &viscous);
    else
        hk_viscosity_add_gradient(p->viscosity, x, gradient, &viscous);
    if (energy) *energy += viscous;
}

void hk_problem_elastic_diagonal(hk_problem *p, const void *x, void *diagonal)
{
    hk_tet_diagonal(hk_problem_elements(p), x, diagonal);
    hk_links_add_diagonal(hk_problem_links(p), x, 1, diagonal);
    if (p->viscous > 0 && p->single)
        hk_viscosity_add_diagonal_single(p->viscosity, diagonal);
    else if (p->viscous > 0)
        hk_viscosity_add_diagonal(p->viscosity, diagonal);
}

void hk_problem_exact_diagonal(hk_problem *p, const double *x, double *diagonal)
{
    hk_tet_diagonal(p->tets, x, diagonal);
    hk_links_add_diagonal(p->links, x, 1, diagonal);
    if (p->viscous > 0) hk_viscosity_add_diagonal(p->viscosity, diagonal);
}

int64_t hk_problem_stiffness_size(const hk_problem *p)
{
    return hk_tet_stiffness_size(p->tets) + HK_LINK_STIFFNESS * (int64_t)p->links->link_count;
}

void hk_problem_elastic_stiffness(hk_problem *p, const double *x, double keep, double *values)
{
    hk_tet_stiffness(p->tets, x, keep, values);
    hk_links_stiffness(p->links, x, keep, values + hk_tet_stiffness_size(p->tets));
}

void hk_problem_stiffness(hk_problem *p, const double *x, double keep, double *values)
{
    hk_problem_elastic_stiffness(p, x, keep, values);
    if (p->viscous > 0) hk_viscosity_add_stiffness(p->viscosity, values);
}

void hk_problem_center_targets(hk_problem *p)
{
    const double *targets = p->links->target;
    for (int k = 0; k < p->links->attachment_count && p->single_links; k++) {
        int place = p->model->place[p->model->attachments[k].vertex];
        const double *target = targets + 4 * (int64_t)k;
        const double *origin = p->origin + 3 * (int64_t)p->body_of[place];
        double shifted[3];
        for (int i = 0; i < 3; i++) shifted[i] = target[i] - origin[i];
        hk_links_set_target(p->single_links, k, shifted);
    }
}

void hk_problem_place_targets(hk_problem *p, double time)
{
    for (int k = 0; k < p->links->attachment_count; k++) {
        double target[3];
        hk_model_target(p->model, k, time, target);
        hk_links_set_target(p->links, k, target);
    }
    hk_problem_center_targets(p);
}

void hk_problem_place_targets_at(hk_problem *p, double share)
{
    for (int k = 0; k < p->links->attachment_count; k++) {
        double target[3];
        hk_model_target_at(p->model, k, share, target);
        hk_links_set_target(p->links, k, target);
    }
    hk_problem_center_targets(p);
}

// ---------------------------------------------------------------- scales

static double bend_scales(const hk_model *m, const hk_bend *b, double *stiffness)
{
    const int32_t *vertex = m->bend_vertices + b->start;
    const double *c = m->bend_coefficients + b->start;
    double weights = 0, size = 0;
    for (int k = 0; k < b->count; k++) {
        const double *x = m->rest + 3 * (int64_t)vertex[k], *o = m->rest + 3 * (int64_t)vertex[0];
        weights += fabs(c[k]);
        size += fabs(c[k]) * hypot(hypot(x[0] - o[0], x[1] - o[1]), x[2] - o[2]);
    }
    for (int k = 0; k < b->count; k++) stiffness[vertex[k]] += b->stiffness * fabs(c[k]) * weights;
    return b->stiffness * size * size;
}

double hk_link_scales(const hk_model *m, double *stiffness)
{
    double energy = 0;
    for (int k = 0; k < m->spring_count; k++) {
        const hk_spring *s = &m->springs[k];
        for (int end = 0; end < 2; end++) stiffness[s->ends[end]] += 2 * s->stiffness;
        energy += s->stiffness * s->rest * s->rest;
    }
    for (int k = 0; k < m->bend_count; k++) energy += bend_scales(m, &m->bends[k], stiffness);
    for (int k = 0; k < m->attachment_count; k++)
        stiffness[m->attachments[k].vertex] += m->attachments[k].stiffness;
    return energy;
}

double hk_softest_spring(const hk_model *m)
{
    double least = INFINITY;
    for (int k = 0; k < m->spring_count; k++) least = fmin(least, m->springs[k].stiffness);
    return least;
}
