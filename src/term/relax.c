#include "term/relax.h"

void hk_relax_free(hk_relax *r)
{
    if (!r) return;
    for (int k = 0; r->state && k < r->terms->count; k++)
        if (r->state[k]) r->terms->term[k]->ops->relax->free(r->state[k]);
    hk_free(r->state);
    hk_free(r->x);
    hk_free(r);
}

static hk_status refuse(const hk_term_ops *ops, const char *method)
{
    return hk_fail(HK_UNSUPPORTED, "method %s cannot have %s%s%s, or use another method", method,
                   ops->name, ops->advice ? ": " : "", ops->advice ? ops->advice : "");
}

static hk_status build(hk_relax *r, const char *method)
{
    hk_terms *t = r->terms;
    r->state = HK_ZEROS(void *, t->count);
    r->x = hk_calloc(4 * ((size_t)t->vertex_count + 1), hk_terms_scalar_size(t));
    if (!r->state || !r->x) return HK_NO_MEMORY;
    for (int k = 0; k < t->count; k++) {
        const hk_term_ops *ops = t->term[k]->ops;
        if (ops->relax)
            HK_TRY(ops->relax->create(t->term[k], &r->state[k]));
        else if (!ops->add_force && (!ops->wanted || ops->wanted(t->term[k])))
            return refuse(ops, method);
    }
    return HK_OK;
}

hk_status hk_relax_create(hk_terms *terms, const char *method, hk_relax **relax)
{
    hk_relax *r = HK_NEW(hk_relax);
    if (!r) return HK_NO_MEMORY;
    r->terms = terms;
    hk_status status = build(r, method);
    if (status != HK_OK) {
        hk_relax_free(r);
        return status;
    }
    *relax = r;
    return HK_OK;
}

void hk_relax_begin(hk_relax *r, bool several)
{
    for (int k = 0; k < r->terms->count; k++)
        if (r->state[k]) r->terms->term[k]->ops->relax->begin(r->state[k], several);
}

void hk_relax_sweep(hk_relax *r, double h, bool several)
{
    for (int k = 0; k < r->terms->count; k++)
        if (r->state[k]) r->terms->term[k]->ops->relax->sweep(r->state[k], r->x, h, several);
}

int hk_relax_colours(const hk_relax *r)
{
    int sum = 0;
    for (int k = 0; k < r->terms->count; k++)
        if (r->state[k] && r->terms->term[k]->ops->relax->colours)
            sum += r->terms->term[k]->ops->relax->colours(r->state[k]);
    return sum;
}
