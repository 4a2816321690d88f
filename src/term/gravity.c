// Gravity as a term of ε: a force that does not depend on positions, and −Σ m g·x, which is 0 at
// the origin.
#include "gpu/term.h"
#include "term/terms.h"

static hk_status create(const hk_terms *list, hk_term **term)
{
    (void)list;
    *term = HK_NEW(hk_term);
    return *term ? HK_OK : HK_NO_MEMORY;
}

static void release(hk_term *term)
{
    hk_free(term);
}

static void add_force(const hk_term *term, double *force)
{
    const hk_model *m = term->list->model;
    const double *g = hk_live_gravity(term->list->live, m);
    for (int k = 0; k < m->vertex_count; k++)
        for (int i = 0; i < 3; i++) force[4 * (int64_t)k + i] += m->mass[m->order[k]] * g[i];
}

static double energy(hk_term *term, const void *positions)
{
    const hk_model *m = term->list->model;
    const double *x = positions, *g = hk_live_gravity(term->list->live, m);
    double sum = 0;
    for (int v = 0; v < m->vertex_count; v++)
        for (int i = 0; i < 3; i++) sum -= m->mass[v] * g[i] * x[4 * (int64_t)m->place[v] + i];
    return sum;
}

const hk_term_ops hk_gravity_term = {
    .name = "gravity",
    .part = HK_PART_GRAVITY,
    .device = &hk_gpu_builtin_term,
    .create = create,
    .free = release,
    .energy = energy,
    .add_force = add_force,
    .rest = &hk_rest_with_tets,
};
