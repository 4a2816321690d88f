// Dampers of attachments: beside its spring, a vertex x is held back by −c (ẋ − Ẋ), X the place
// that it is attached to. In a time step of h that begins at `from` they are the potential
//
//   D(x) = c/(2h) ‖(x − from) − h V‖²,     V = (X(t) − X(t − h))/h,
//
// a spring from the vertex to a place, as inertia and air are, and joins these (solver/problem.h).
// So methods have it without knowing of it, its force and its Hessian, which is constant.
#include "term/terms.h"

static bool in_model(const hk_model *m)
{
    for (int k = 0; k < m->attachment_count; k++)
        if (m->attachments[k].damping > 0) return true;
    return false;
}

static hk_status create(const hk_terms *list, hk_term **term)
{
    if (!in_model(list->model)) return HK_OK;
    *term = HK_NEW(hk_term);
    return *term ? HK_OK : HK_NO_MEMORY;
}

static void release(hk_term *term)
{
    hk_free(term);
}

// What it does is in the inertia of vertices.
static bool active(const hk_term *term)
{
    (void)term;
    return false;
}

static double energy(hk_term *term, const void *x)
{
    (void)term, (void)x;
    return 0;
}

static void visit_dampers(const hk_term *term, double time, double h, hk_damper_fn *visit,
                          void *context)
{
    const hk_model *m = term->list->model;
    for (int k = 0; k < m->attachment_count; k++) {
        const hk_attachment *a = &m->attachments[k];
        if (!(a->damping > 0)) continue;
        hk_damper damper = {.vertex = m->place[a->vertex], .coefficient = a->damping};
        double before[3], after[3];
        hk_model_target(m, k, time - h, before);
        hk_model_target(m, k, time, after);
        for (int i = 0; i < 3; i++) damper.velocity[i] = (after[i] - before[i]) / h;
        visit(context, &damper);
    }
}

const hk_term_ops hk_dampers_term = {
    .name = "dampers of attachments",
    .part = HK_PART_DAMPING,
    .in_model = in_model,
    .create = create,
    .free = release,
    .active = active,
    .wanted = active,
    .energy = energy,
    .visit_dampers = visit_dampers,
};
