#include "term/damping_parts.h"

#include <math.h>

double hk_damping_reference(const hk_terms *list)
{
    if (list->damping.viscous > 0) return list->damping.viscous;
    double most = hk_model_viscous(list->model);
    return most > 0 ? most : list->laplacian;
}

double hk_damping_most(const hk_terms *list)
{
    return list->damping.viscous + hk_model_viscous(list->model) + list->laplacian;
}

// ---------------------------------------------------------------- element by element

typedef struct part {
    const hk_terms *list;
    double reference;
    double *blocks;  // of one term
} part;
typedef void part_fn(const part *p, const hk_stencil *s);

typedef struct visitor {
    part part;
    part_fn *visit;
} visitor;

static void visit_part(void *context, const hk_stencil *stencil)
{
    const visitor *v = context;
    v->visit(&v->part, stencil);
}

static void visit_all(const hk_terms *list, double reference, double *blocks, part_fn *visit)
{
    for (int k = 0; k < list->count; k++) {
        const hk_term_ops *ops = list->term[k]->ops;
        visitor v = {{list, reference, blocks + list->block_start[k]}, visit};
        if (ops->blocks && ops->stencils) ops->stencils(list->term[k], visit_part, &v);
    }
}

// The numbers of its blocks: nine for each pair of vertices, `stride` apart, or six for all.
static int number_count(const hk_stencil *s)
{
    return s->factor ? 6 : 9 * s->count * (s->count + 1) / 2;
}

static double *number(const part *p, const hk_stencil *s, int k)
{
    return p->blocks + s->at + k * (int64_t)(s->factor ? 1 : s->stride);
}

// ---------------------------------------------------------------- the Laplacian

static void keep_traces(const part *p, const hk_stencil *s)
{
    static const int diagonal[3] = {0, 4, 8}, packed[3] = {0, 3, 5};
    const int *at = s->factor ? packed : diagonal;
    int size = s->factor ? 6 : 9;
    for (int first = 0; first < number_count(s); first += size) {
        double third = 0;
        for (int i = 0; i < 3; i++) third += *number(p, s, first + at[i]) / 3;
        for (int k = 0; k < size; k++) *number(p, s, first + k) = 0;
        for (int i = 0; i < 3; i++) *number(p, s, first + at[i]) = third;
    }
}

static void rest_of(const hk_model *m, double *x)
{
    for (int k = 0; k < m->vertex_count; k++)
        memcpy(x + 4 * (int64_t)k, m->rest + 3 * (int64_t)m->order[k], 3 * sizeof(double));
}

hk_status hk_laplacian_blocks(hk_terms *list, double **blocks)
{
    double *x = HK_ZEROS(double, 4 * (size_t)list->vertex_count);
    *blocks = HK_ARRAY(double, hk_terms_block_size(list));
    if (!x || !*blocks) {
        hk_free(x);
        return HK_NO_MEMORY;
    }
    rest_of(list->model, x);
    hk_terms_blocks(list, x, 0, HK_FOR_DAMPING, *blocks);
    visit_all(list, 0, *blocks, keep_traces);
    hk_free(x);
    return HK_OK;
}

// ---------------------------------------------------------------- materials

// Sheets have one material each.
static double viscous_of(const hk_model *m, const hk_stencil *s)
{
    int vertex = m->order[s->vertex[0]], body = 0, end = m->body_count;
    while (end - body > 1) {
        int middle = (body + end) / 2;
        if (m->bodies[middle].vertex_start <= vertex)
            body = middle;
        else
            end = middle;
    }
    return m->bodies[body].tet_count > 0 ? s->viscous : m->bodies[body].sheet.viscous;
}

static void scale_part(const part *p, const hk_stencil *s)
{
    double scale = (p->list->damping.viscous + viscous_of(p->list->model, s)) / p->reference;
    if (scale == 1) return;
    for (int k = 0; k < number_count(s); k++) *number(p, s, k) *= scale;
}

void hk_damping_scale(const hk_terms *list, double reference, const double *laplacian,
                      double *blocks)
{
    double share = list->laplacian / reference;
    if (hk_model_viscous(list->model) > 0 || list->damping.viscous != reference)
        visit_all(list, reference, blocks, scale_part);
    int64_t size = laplacian && share > 0 ? hk_terms_block_size(list) : 0;
#pragma omp parallel for schedule(static) num_threads(list->threads)
    for (int64_t k = 0; k < size; k++) blocks[k] += share * laplacian[k];
}
