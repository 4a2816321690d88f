// Lists of terms for tests of a term by itself, and steps of problems.
#ifndef TEST_TERM_LISTS_H
#define TEST_TERM_LISTS_H

#include "bodies.h"
#include "solver/problem.h"
#include "term/links.h"
#include "term/tet.h"
#include "term/viscosity.h"

// A list of terms that were made one by one, on the stack. They stay their makers'.
typedef struct own_list {
    hk_terms terms;
    hk_term *term[4];
    int64_t block_start[5];
} own_list;

static inline void list_terms(own_list *l, const hk_model *model, hk_precision precision, int count,
                              hk_term *const *term, const hk_term_ops *const *ops)
{
    *l = (own_list){.terms = {.model = model,
                              .precision = precision,
                              .threads = 1,
                              .vertex_count = model->vertex_count}};
    l->terms.term = l->term;
    l->terms.block_start = l->block_start;
    for (int k = 0; k < count; k++) {
        l->term[k] = term[k];
        term[k]->ops = ops[k];
        term[k]->list = &l->terms;
        l->block_start[k + 1] = l->block_start[k] + ops[k]->block_size(term[k]);
    }
    l->terms.count = count;
}

static inline void list_tets(own_list *l, hk_tet_term *tets)
{
    const hk_term_ops *ops = &hk_tets_term;
    hk_term *term = &tets->base;
    list_terms(l, tets->model,
               tets->lanes->scalar_size == sizeof(float) ? HK_SINGLE : HK_DOUBLE_PRECISION, 1,
               &term, &ops);
}

static inline void list_links(own_list *l, hk_links *links)
{
    const hk_term_ops *ops = &hk_links_term;
    hk_term *term = &links->base;
    list_terms(l, links->model, links->precision, 1, &term, &ops);
}

// A time step h from `before`.
static inline void begin_step(hk_problem *p, hk_damping damping, double h, const double *before)
{
    p->terms->damping = damping;
    hk_stage_begin stage = {.weight = 1 / (h * h),
                            .terms = {.h = h, .from = before, .state = before}};
    CHECK_OK(hk_problem_begin_step(p, &stage));
}

static inline hk_term *viscosity_of(const hk_problem *p)
{
    return hk_terms_find(p->terms, &hk_viscosity_term);
}

#endif
