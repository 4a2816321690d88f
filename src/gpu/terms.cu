#include "gpu/terms.h"

extern "C" {
#include "term/terms.h"
}

extern "C" const hk_gpu_term_ops hk_gpu_builtin_term = {nullptr, nullptr, nullptr, nullptr,
                                                        nullptr, nullptr, nullptr};

static hk_status create_term(hk_gpu *g, const hk_gpu_term_ops *ops)
{
    void *made = nullptr;
    HK_TRY(ops->create(g, &made));
    if (!made) return HK_OK;
    hk_gpu_term *to = &g->terms[g->term_count++];
    to->ops = ops;
    to->term = made;
    to->part = g->args.term_parts;
    g->args.term_parts += ops->parts(made);
    return HK_OK;
}

bool hk_gpu_model_has_terms(const hk_model *model)
{
    for (int k = 0; k < hk_term_kinds(); k++) {
        const hk_term_ops *ops = hk_term_kind(k);
        if (ops->device != &hk_gpu_builtin_term && (!ops->in_model || ops->in_model(model)))
            return true;
    }
    return false;
}

hk_status hk_gpu_create_terms(hk_gpu *g)
{
    size_t n = (size_t)g->model->vertex_count;
    g->args.term_parts = 0;
    for (int k = 0; k < hk_term_kinds(); k++) {
        const hk_term_ops *ops = hk_term_kind(k);
        if (ops->in_model && !ops->in_model(g->model)) continue;
        if (!ops->device)
            return hk_fail(HK_UNSUPPORTED, "backend \"cuda\": %s run on the CPU only", ops->name);
        if (g->term_count == HK_GPU_MOST_TERMS)
            return hk_fail(HK_INTERNAL, "backend \"cuda\": too many terms");
        if (ops->device != &hk_gpu_builtin_term) HK_TRY(create_term(g, ops->device));
    }
    if (g->term_count == 0) return HK_OK;
    HK_TRY(hk_gpu_room(g, n, &g->args.term_gradient));
    HK_TRY(hk_gpu_room(g, n, &g->args.term_diagonal));
    return hk_gpu_room(g, (size_t)g->args.term_parts, &g->args.term_energy);
}

void hk_gpu_free_terms(hk_gpu *g)
{
    for (int k = 0; k < g->term_count; k++) g->terms[k].ops->free(g->terms[k].term);
    g->term_count = 0;
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
