// The links of a model: which vertices they have, and what bounds their Hessians.
#include "term/links.h"

typedef struct visitor {
    hk_stencil_fn *stencil;
    hk_weight_fn *weights;
    void *context;
} visitor;

static void visit(const visitor *v, const int32_t *vertex, int count, double stiffness,
                  const double *factor, bool tie)
{
    if (v->stencil)
        v->stencil(v->context, &(hk_stencil){.vertex = vertex, .count = count, .tie = tie});
    else
        v->weights(
            v->context,
            &(hk_weights){.vertex = vertex, .count = count, .scale = stiffness, .factor = factor});
}

static void visit_links(const hk_model *m, const visitor *v)
{
    static const double spring[] = {1, -1};
    for (int k = 0; k < m->spring_count; k++) {
        const hk_spring *s = &m->springs[m->spring_order[k]];
        int32_t vertex[2] = {m->place[s->ends[0]], m->place[s->ends[1]]};
        visit(v, vertex, 2, s->stiffness, spring, false);
    }
    for (int k = 0; k < m->bend_count; k++) {
        const hk_bend *b = &m->bends[m->bend_order[k]];
        visit(v, m->bend_places + b->start, b->count, b->stiffness, m->bend_coefficients + b->start,
              false);
    }
    for (int k = 0; k < m->attachment_count; k++) {
        int32_t vertex = m->place[m->attachments[k].vertex];
        visit(v, &vertex, 1, m->attachments[k].stiffness, spring, true);
    }
}

static void model_stencils(const hk_model *m, hk_stencil_fn *stencil, void *context)
{
    visit_links(m, &(visitor){.stencil = stencil, .context = context});
}

static void model_weights(const hk_model *m, const double *material_weight, hk_weight_fn *weights,
                          void *context)
{
    (void)material_weight;
    visit_links(m, &(visitor){.weights = weights, .context = context});
}

const hk_term_shape hk_links_shape = {model_stencils, model_weights};
