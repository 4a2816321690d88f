// Loads, and forces that a world adds to them, as a term of ε: forces that do not depend on
// positions, and −Σ f·(x − X), which is 0 at the rest positions.
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
    for (int k = 0; k < m->vertex_count; k++)
        for (int i = 0; i < 3; i++)
            force[4 * (int64_t)k + i] +=
                hk_live_load(term->list->live, m, 3 * (int64_t)m->order[k] + i);
}

static double energy(hk_term *term, const void *positions)
{
    const hk_model *m = term->list->model;
    const double *x = positions;
    double sum = 0;
    for (int v = 0; v < m->vertex_count; v++)
        for (int i = 0; i < 3; i++) {
            int64_t k = 3 * (int64_t)v + i;
            sum -= hk_live_load(term->list->live, m, k) *
                   (x[4 * (int64_t)m->place[v] + i] - m->rest[k]);
        }
    return sum;
}

const hk_term_ops hk_loads_term = {
    .name = "loads",
    .part = HK_PART_LOAD,
    .device = &hk_gpu_builtin_term,
    .create = create,
    .free = release,
    .energy = energy,
    .add_force = add_force,
};
