#include "gpu/terms.h"

extern "C" const hk_gpu_term_ops hk_gpu_builtin_term = {nullptr, nullptr, nullptr, nullptr,
                                                        nullptr, nullptr, nullptr, nullptr};

static hk_status create_term(hk_gpu *g, const hk_gpu_term_ops *ops)
{
    void *made = nullptr;
    if (g->model_term_count == HK_GPU_MOST_TERMS)
        return hk_fail(HK_INTERNAL, "backend \"cuda\": too many terms");
    HK_TRY(ops->create(g, &made));
    if (!made) return HK_OK;
    hk_gpu_term *to = &g->terms[g->model_term_count++];
    to->ops = ops;
    to->term = made;
    return HK_OK;
}

// Where the terms put what they add; there is nowhere without terms, so that nobody reads it.
static hk_status place_terms(hk_gpu *g)
{
    size_t n = (size_t)g->model->vertex_count;
    hk_gpu_args *a = &g->args;
    a->term_parts = 0;
    g->term_count = g->model_term_count;
    for (int k = 0; k < g->live_count; k++) {
        if (g->live_terms[k].ops->parts(g->live_terms[k].term) == 0) continue;
        if (g->term_count == HK_GPU_MOST_TERMS)
            return hk_fail(HK_INTERNAL, "backend \"cuda\": too many terms");
        g->terms[g->term_count++] = g->live_terms[k];
    }
    for (int k = 0; k < g->term_count; k++) {
        g->terms[k].part = a->term_parts;
        a->term_parts += g->terms[k].ops->parts(g->terms[k].term);
    }
    if (g->term_count > 0 && !g->term_gradient) {
        HK_TRY(hk_gpu_alloc(g, n, &g->term_gradient));
        HK_TRY(hk_gpu_alloc(g, n, &g->term_diagonal));
    }
    if (a->term_parts > g->term_capacity) {
        HK_TRY(hk_gpu_alloc(g, (size_t)a->term_parts, &g->term_energy));
        g->term_capacity = a->term_parts;
    }
    bool any = g->term_count > 0;
    a->term_gradient = any ? g->term_gradient : nullptr;
    a->term_diagonal = any ? g->term_diagonal : nullptr;
    a->term_energy = any ? g->term_energy : nullptr;
    g->general = g->blends || g->damping.viscous > 0 || any;
    return HK_OK;
}

bool hk_gpu_model_has_terms(const hk_model *model)
{
    for (int k = 0; k < hk_term_kinds(); k++) {
        const hk_term_ops *ops = hk_term_kind(k);
        if (ops->device != &hk_gpu_builtin_term && !ops->refresh &&
            (!ops->in_model || ops->in_model(model)))
            return true;
    }
    return false;
}

hk_status hk_gpu_create_terms(hk_gpu *g)
{
    for (int k = 0; k < hk_term_kinds(); k++) {
        const hk_term_ops *ops = hk_term_kind(k);
        if (ops->in_model && !ops->in_model(g->model)) continue;
        if (!ops->device)
            return hk_fail(HK_UNSUPPORTED, "backend \"cuda\": %s run on the CPU only", ops->name);
        if (ops->device != &hk_gpu_builtin_term && !ops->refresh)
            HK_TRY(create_term(g, ops->device));
    }
    return hk_gpu_refresh_terms(g, true);
}

// Terms of the world stay when they have no elements: grabs come and go.
static hk_status refresh_term(hk_gpu *g, const hk_gpu_term_ops *ops, bool shape)
{
    for (int k = 0; k < g->live_count; k++)
        if (g->live_terms[k].ops == ops) return ops->refresh(g, g->live_terms[k].term, shape);
    void *made = nullptr;
    HK_TRY(ops->create(g, &made));
    if (!made) return HK_OK;
    g->live_terms[g->live_count].ops = ops;
    g->live_terms[g->live_count++].term = made;
    return HK_OK;
}

hk_status hk_gpu_refresh_terms(hk_gpu *g, bool shape)
{
    for (int k = 0; k < hk_term_kinds(); k++)
        if (hk_term_kind(k)->refresh) HK_TRY(refresh_term(g, hk_term_kind(k)->device, shape));
    return shape ? place_terms(g) : HK_OK;
}

// As the term of the CPU has them.
static hk_status visit_weights(const hk_term_ops *ops, hk_terms *list, hk_weight_fn *visit,
                               void *context)
{
    hk_term *term = nullptr;
    HK_TRY(ops->create(list, &term));
    term->ops = ops;
    term->list = list;
    ops->visit_weights(term, visit, context);
    ops->free(term);
    return HK_OK;
}

hk_status hk_gpu_visit_live_weights(hk_gpu *g, hk_weight_fn *visit, void *context)
{
    if (!g->live) return HK_OK;
    hk_terms list = hk_gpu_host_list(g);
    for (int k = 0; k < hk_term_kinds(); k++)
        if (hk_term_kind(k)->visit_weights)
            HK_TRY(visit_weights(hk_term_kind(k), &list, visit, context));
    return HK_OK;
}

void hk_gpu_free_terms(hk_gpu *g)
{
    for (int k = 0; k < g->model_term_count; k++) g->terms[k].ops->free(g->terms[k].term);
    for (int k = 0; k < g->live_count; k++) g->live_terms[k].ops->free(g->live_terms[k].term);
    g->term_count = g->model_term_count = g->live_count = 0;
}

hk_status hk_gpu_begin_terms(hk_gpu *g)
{
    for (int k = 0; k < g->term_count; k++)
        if (g->terms[k].ops->begin) HK_TRY(g->terms[k].ops->begin(g, g->terms[k].term));
    return HK_OK;
}

hk_status hk_gpu_term_gradients(hk_gpu *g, const hk_gpu_args *args)
{
    for (int k = 0; k < g->term_count; k++) {
        const hk_gpu_term *t = &g->terms[k];
        HK_TRY(t->ops->gradient(g, t->term, args, k == 0, args->term_energy + t->part));
    }
    return HK_OK;
}

hk_status hk_gpu_term_diagonals(hk_gpu *g, const hk_gpu_args *args)
{
    for (int k = 0; k < g->term_count; k++)
        HK_TRY(g->terms[k].ops->diagonal(g, g->terms[k].term, args, k == 0));
    return HK_OK;
}

hk_status hk_gpu_term_sums(hk_gpu *g, const hk_gpu_vbd_args *args)
{
    for (int k = 0; k < g->term_count; k++)
        HK_TRY(g->terms[k].ops->sums(g, g->terms[k].term, args, k == 0));
    return HK_OK;
}
