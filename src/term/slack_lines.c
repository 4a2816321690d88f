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

// A line of length l is known to l times the rounding of numbers, and so is its stretch.
static double scale(const hk_element *e)
{
    return e->value[STIFFNESS] * e->value[REST] * e->value[REST];
}

static const hk_stencil_law g_law = {.name = "slack lines",
                                     .elements = elements,
                                     .energy = energy,
                                     .gradient = gradient,
                                     .hessian = hessian,
                                     .weights = weights,
                                     .scale = scale};

// ---------------------------------------------------------------- the term

static bool in_model(const hk_model *m)
{
    return m->slack_line_count > 0;
}

HK_STENCIL_MODEL_LAW(g_law);

const hk_term_ops hk_slack_lines_term = {
    HK_STENCIL_MODEL_OPS,
    .name = "slack lines of ropes",
    .advice = "leave \"slack\" out",
    .in_model = in_model,
};
