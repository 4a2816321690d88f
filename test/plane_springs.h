// A toy term: springs from every tenth vertex of a model to a plane, E = k/2 (n·x − c)². With its
// line (HK_ONE_MORE in test/CMakeLists.txt stands for one in src/term/list.h) it is all that a term
// takes.
#ifndef TEST_PLANE_SPRINGS_H
#define TEST_PLANE_SPRINGS_H

#include "term/element.h"

enum { plane_springs_tie = 1, plane_springs_live = 0 };
enum { PLANE_OFFSET = 3, PLANE_STIFFNESS = 4 };  // after the normal

HK_RULE double plane_springs_distance(const hk_element *e, const double *x)
{
    return e->value[0] * x[0] + e->value[1] * x[1] + e->value[2] * x[2] - e->value[PLANE_OFFSET];
}

HK_RULE double plane_springs_energy(const hk_element *e, const double *x)
{
    double d = plane_springs_distance(e, x);
    return 0.5 * e->value[PLANE_STIFFNESS] * d * d;
}

HK_RULE void plane_springs_gradient(const hk_element *e, const double *x, double *g)
{
    double force = e->value[PLANE_STIFFNESS] * plane_springs_distance(e, x);
    for (int i = 0; i < 3; i++) g[i] = force * e->value[i];
}

HK_RULE void plane_springs_hessian(const hk_element *e, const double *x, double *h)
{
    (void)x;
    for (int i = 0; i < 9; i++)
        h[i] = e->value[PLANE_STIFFNESS] * e->value[i / 3] * e->value[i % 3];
}

HK_RULE void plane_springs_weights(const hk_element *e, double *w)
{
    w[0] = e->value[PLANE_STIFFNESS];
}

#if defined HK_STENCIL_H && !defined __CUDACC__
static hk_status plane_springs_elements(const hk_model *model, const hk_live *live, hk_elements *to)
{
    (void)live;
    for (int v = 0; v < model->vertex_count; v += 10) {
        hk_element e = {.count = 1,
                        .number = v,
                        .vertex = {v},
                        .value = {0.6, 0.8, 0, [PLANE_OFFSET] = 0.35, [PLANE_STIFFNESS] = 300}};
        HK_TRY(hk_elements_add(to, &e));
    }
    return HK_OK;
}
#endif

#endif
