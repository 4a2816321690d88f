// Grabs: springs of length 0 from a point of a body, Σ w_k x_k, to a place that a user moves,
// E = k/2 ‖Σ w_k x_k − t‖². value: w₀ … w₃, t, k.
#ifndef HK_GRABS_H
#define HK_GRABS_H

#include "term/element.h"

enum { grabs_tie = 1, grabs_live = 1 };
enum { GRAB_TARGET = 4, GRAB_STIFFNESS = 7 };

HK_RULE void grabs_vector(const hk_element *e, const double *x, double d[3])
{
    for (int i = 0; i < 3; i++) {
        d[i] = -e->value[GRAB_TARGET + i];
        for (int c = 0; c < e->count; c++) d[i] += e->value[c] * x[3 * c + i];
    }
}

HK_RULE double grabs_energy(const hk_element *e, const double *x)
{
    double d[3];
    grabs_vector(e, x, d);
    return 0.5 * e->value[GRAB_STIFFNESS] * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

HK_RULE void grabs_gradient(const hk_element *e, const double *x, double *g)
{
    double d[3];
    grabs_vector(e, x, d);
    for (int c = 0; c < e->count; c++)
        for (int i = 0; i < 3; i++) g[3 * c + i] = e->value[GRAB_STIFFNESS] * e->value[c] * d[i];
}

HK_RULE void grabs_weights(const hk_element *e, double *w)
{
    for (int a = 0; a < e->count; a++)
        for (int b = 0; b < e->count; b++)
            w[e->count * a + b] = e->value[GRAB_STIFFNESS] * e->value[a] * e->value[b];
}

HK_RULE void grabs_hessian(const hk_element *e, const double *x, double *h)
{
    (void)x;
    int n = 3 * e->count;
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++)
            h[n * r + c] =
                r % 3 == c % 3 ? e->value[GRAB_STIFFNESS] * e->value[r / 3] * e->value[c / 3] : 0;
}

#if defined HK_STENCIL_H && !defined __CUDACC__
static hk_status grabs_elements(const hk_model *model, const hk_live *live, hk_elements *to)
{
    (void)model;
    for (int k = 0; k < live->grab_count; k++) {
        const hk_grab *g = &live->grabs[k];
        hk_element e = {.count = g->count, .number = k};
        if (!g->held) continue;
        for (int c = 0; c < g->count; c++) {
            e.vertex[c] = g->vertex[c];
            e.value[c] = g->weight[c];
        }
        for (int i = 0; i < 3; i++) e.value[GRAB_TARGET + i] = g->target[i];
        e.value[GRAB_STIFFNESS] = g->stiffness;
        HK_TRY(hk_elements_add(to, &e));
    }
    return HK_OK;
}
#endif

#endif
