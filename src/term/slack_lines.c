// Lines of slack ropes: E = k/2 max(0, l − l₀)², which pulls and does not push. C¹ at l = l₀, where
// its Hessian jumps from 0 to k n nᵀ; both are positive.
#include <math.h>

#include "term/stencil.h"

enum { STIFFNESS, REST };

// How far it is stretched, m, at most 0: it is slack.
static double excess(const hk_element *e, const double *x, double n[3])
{
    for (int i = 0; i < 3; i++) n[i] = x[3 + i] - x[i];
    double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int i = 0; i < 3 && length > 0; i++) n[i] /= length;
    return length - e->value[REST];
}

static double energy(const hk_element *e, const double *x)
{
    double n[3], past = fmax(0, excess(e, x, n));
    return 0.5 * e->value[STIFFNESS] * past * past;
}

static void gradient(const hk_element *e, const double *x, double *g)
{
    double n[3], past = fmax(0, excess(e, x, n));
    for (int i = 0; i < 3; i++) {
        g[3 + i] = e->value[STIFFNESS] * past * n[i];
        g[i] = -g[3 + i];
    }
}

// B = k n nᵀ + k (1 − l₀/l)(I − n nᵀ)
static void hessian(const hk_element *e, const double *x, double *h)
{
    double n[3], past = excess(e, x, n), k = past > 0 ? e->value[STIFFNESS] : 0;
    double across = past > 0 ? k * past / (past + e->value[REST]) : 0;
    for (int r = 0; r < 6; r++)
        for (int c = 0; c < 6; c++) {
            int i = r % 3, j = c % 3;
            double b = (i == j ? across : 0) + (k - across) * n[i] * n[j];
            h[6 * r + c] = r / 3 == c / 3 ? b : -b;
        }
}

static void weights(const hk_element *e, double *w)
{
    for (int i = 0; i < 4; i++) w[i] = (i % 3 == 0 ? 1 : -1) * e->value[STIFFNESS];
}

static hk_status elements(const hk_model *m, const hk_live *live, hk_elements *to)
{
    (void)live;
    for (int k = 0; k < m->slack_line_count; k++) {
        const hk_slack_line *l = &m->slack_lines[k];
        hk_element e = {
            .count = 2, .number = k, .value = {[STIFFNESS] = l->stiffness, [REST] = l->rest}};
        memcpy(e.vertex, l->vertex, sizeof l->vertex);
        HK_TRY(hk_elements_add(to, &e));
    }
    return HK_OK;
}

static const hk_stencil_law g_law = {.name = "slack lines",
                                     .elements = elements,
                                     .energy = energy,
                                     .gradient = gradient,
                                     .hessian = hessian,
                                     .weights = weights};

// ---------------------------------------------------------------- the term

static bool in_model(const hk_model *m)
{
    return m->slack_line_count > 0;
}

static hk_status create(const hk_terms *list, hk_term **term)
{
    return hk_stencil_create(list, &g_law, term);
}

// A line of length l is known to l times the rounding of numbers, and so is its stretch.
static double scales(const hk_term *term, double *stiffness)
{
    const hk_stencil_term *t = (const hk_stencil_term *)term;
    double sum = 0;
    hk_stencil_scales(term, stiffness);
    for (int k = 0; k < t->elements.count; k++) {
        const double *value = t->elements.element[k].value;
        sum += value[STIFFNESS] * value[REST] * value[REST];
    }
    return 1e-15 * sum;
}

static void model_stencils(const hk_model *m, hk_stencil_fn *visit, void *context)
{
    hk_stencil_model_stencils(&g_law, m, visit, context);
}

static void model_weights(const hk_model *m, const double *material_weight, hk_weight_fn *visit,
                          void *context)
{
    (void)material_weight;
    hk_stencil_model_weights(&g_law, m, visit, context);
}

static const hk_term_shape g_shape = {model_stencils, model_weights};

const hk_term_ops hk_slack_lines_term = {
    .name = "slack lines of ropes",
    .part = HK_PART_ELASTIC,
    .advice = "leave \"slack\" out",
    .shape = &g_shape,
    .in_model = in_model,
    .create = create,
    .free = hk_stencil_free,
    .follow = hk_stencil_follow,
    .active = hk_stencil_active,
    .wanted = hk_stencil_active,
    .energy = hk_stencil_energy,
    .add_gradient = hk_stencil_add_gradient,
    .add_diagonal = hk_stencil_add_diagonal,
    .stencils = hk_stencil_stencils,
    .block_size = hk_stencil_block_size,
    .blocks = hk_stencil_blocks,
    .vertex = hk_stencil_vertex,
    .vertex_energy = hk_stencil_vertex_energy,
    .scales = scales,
    .undefined = hk_stencil_undefined,
    .relax = &hk_stencil_relax,
};
