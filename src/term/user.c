// Energies of the users' own (hk_term_def): laws of an element that are functions of theirs. Those
// that tie bodies to something outside are a term of their own.
#include "term/stencil.h"

static const hk_term_def *def_of(const hk_element *e)
{
    return &((const hk_user_term *)e->owner)->def;
}

// Some or all of the three for one element, where they are given for many.
static bool in_batch(const hk_element *e, const double *x, double *energy, double *g, double *h)
{
    const hk_term_def *def = def_of(e);
    if (def->batch) def->batch(def->context, e->number, 1, x, energy, g, h);
    return def->batch;
}

static double energy(const hk_element *e, const double *x)
{
    double value;
    if (in_batch(e, x, &value, NULL, NULL)) return value;
    return def_of(e)->energy(def_of(e)->context, e->number, x);
}

static void gradient(const hk_element *e, const double *x, double *g)
{
    if (in_batch(e, x, NULL, g, NULL)) return;
    def_of(e)->gradient(def_of(e)->context, e->number, x, g);
}

static void hessian(const hk_element *e, const double *x, double *h)
{
    if (in_batch(e, x, NULL, NULL, h)) return;
    def_of(e)->hessian(def_of(e)->context, e->number, x, h);
}

static bool is_batched(const hk_element *e)
{
    return def_of(e)->batch;
}

static void many(const hk_element *first, int count, const double *x, double *energy, double *g,
                 double *h)
{
    const hk_term_def *def = def_of(first);
    def->batch(def->context, first->number, count, x, energy, g, h);
}

static void weights(const hk_element *e, double *w)
{
    for (int k = 0; k < e->count * e->count; k++)
        w[k] = k % (e->count + 1) == 0 ? def_of(e)->stiffness : 0;
}

static hk_status list_elements(const hk_model *m, bool tie, hk_elements *to)
{
    for (int k = 0; k < m->user_term_count; k++) {
        const hk_user_term *term = &m->user_terms[k];
        if (term->def.tie != tie) continue;
        for (int n = 0; n < term->def.element_count; n++) {
            hk_element e = {.count = term->def.vertex_count, .number = n, .owner = term};
            memcpy(e.vertex, term->vertices + (int64_t)n * e.count,
                   sizeof(int32_t) * (size_t)e.count);
            HK_TRY(hk_elements_add(to, &e));
        }
    }
    return HK_OK;
}

static bool has_any(const hk_model *m, bool tie)
{
    for (int k = 0; k < m->user_term_count; k++)
        if (m->user_terms[k].def.tie == tie && m->user_terms[k].def.element_count > 0) return true;
    return false;
}

// ---------------------------------------------------------------- among the bodies

static hk_status term_elements(const hk_model *m, const hk_live *live, hk_elements *to)
{
    (void)live;
    return list_elements(m, false, to);
}

static const hk_stencil_law g_terms = {.name = "users' terms",
                                       .elements = term_elements,
                                       .energy = energy,
                                       .gradient = gradient,
                                       .hessian = hessian,
                                       .is_batched = is_batched,
                                       .many = many,
                                       .weights = weights};

static bool has_terms(const hk_model *m)
{
    return has_any(m, false);
}

static hk_status create_terms(const hk_terms *list, hk_term **term)
{
    return hk_stencil_create(list, &g_terms, term);
}

static void term_stencils(const hk_model *m, hk_stencil_fn *visit, void *context)
{
    hk_stencil_model_stencils(&g_terms, m, visit, context);
}

static void term_weights(const hk_model *m, const double *material_weight, hk_weight_fn *visit,
                         void *context)
{
    (void)material_weight;
    hk_stencil_model_weights(&g_terms, m, visit, context);
}

static const hk_term_shape g_terms_shape = {term_stencils, term_weights};

const hk_term_ops hk_user_terms_term = {HK_STENCIL_COMMON_OPS,
                                        .name = "terms of the user's own",
                                        .shape = &g_terms_shape,
                                        .in_model = has_terms,
                                        .create = create_terms,
                                        .stencils = hk_stencil_stencils,
                                        .block_size = hk_stencil_block_size,
                                        .blocks = hk_stencil_blocks};

// ---------------------------------------------------------------- to something outside

static hk_status tie_elements(const hk_model *m, const hk_live *live, hk_elements *to)
{
    (void)live;
    return list_elements(m, true, to);
}

static const hk_stencil_law g_ties = {.name = "users' ties",
                                      .tie = true,
                                      .elements = tie_elements,
                                      .energy = energy,
                                      .gradient = gradient,
                                      .hessian = hessian,
                                      .is_batched = is_batched,
                                      .many = many,
                                      .weights = weights};

static bool has_ties(const hk_model *m)
{
    return has_any(m, true);
}

static hk_status create_ties(const hk_terms *list, hk_term **term)
{
    return hk_stencil_create(list, &g_ties, term);
}

static void tie_stencils(const hk_model *m, hk_stencil_fn *visit, void *context)
{
    hk_stencil_model_stencils(&g_ties, m, visit, context);
}

static void tie_weights(const hk_model *m, const double *material_weight, hk_weight_fn *visit,
                        void *context)
{
    (void)material_weight;
    hk_stencil_model_weights(&g_ties, m, visit, context);
}

static const hk_term_shape g_ties_shape = {tie_stencils, tie_weights};

const hk_term_ops hk_user_ties_term = {HK_STENCIL_COMMON_OPS,
                                       .name = "terms of the user's own",
                                       .shape = &g_ties_shape,
                                       .in_model = has_ties,
                                       .create = create_ties,
                                       .stencils = hk_stencil_stencils,
                                       .block_size = hk_stencil_block_size,
                                       .blocks = hk_stencil_blocks};
