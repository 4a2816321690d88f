// The bar that tests of shape design share: clamped at x = 0, under gravity.
#ifndef TEST_DESIGN_BAR_H
#define TEST_DESIGN_BAR_H

#include "bodies.h"

#include "model/model.h"

static inline hk_model *bar_model(int along, int across, double young, double held_to)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of("neo_hookean", young, 0.45);
    hk_selector wall = select_box(-1, -1, -1, held_to + 1e-6, 2, 2);
    body.fixes = &wall;
    body.fix_count = 1;
    return model_of(&body, box_mesh(1, 0.2, 0.2, along, across, across), -9.81);
}

static inline double *copy_doubles(const double *values, int count)
{
    double *copy = malloc((size_t)count * sizeof *copy);
    memcpy(copy, values, (size_t)count * sizeof *copy);
    return copy;
}

static inline double farthest(const double *a, const double *b, int vertices)
{
    double most = 0;
    for (int v = 0; v < vertices; v++) {
        double away = hypot(hypot(a[3 * v] - b[3 * v], a[3 * v + 1] - b[3 * v + 1]),
                            a[3 * v + 2] - b[3 * v + 2]);
        if (!(away <= most)) most = away;
    }
    return most;
}

// The rest shape of a model whose rest positions are the loaded shape.
static inline double *rest_of(const hk_model *model, const double *start, const char *method,
                              hk_rest_report *report)
{
    hk_rest_report own;
    hk_rest_def def = hk_default_rest_def();
    def.model = model;
    def.method = method;
    def.threads = 2;
    hk_rest *rest = NULL;
    CHECK_OK(hk_rest_create(&def, &rest));
    CHECK_OK(hk_rest_solve(rest, start, report ? report : &own));
    double *X = copy_doubles(hk_rest_positions(rest), 3 * hk_model_vertex_count(model));
    hk_rest_free(rest);
    return X;
}

// A rotation by an angle about a unit axis, through the origin, of [count][3].
static inline void rotate_all(const double axis[3], double degrees, const double *from, int count,
                              double *to)
{
    double a = acos(-1.0) / 180 * degrees, c = cos(a), s = sin(a);
    for (int v = 0; v < count; v++) {
        const double *p = from + 3 * v;
        double along = axis[0] * p[0] + axis[1] * p[1] + axis[2] * p[2];
        double cross[3] = {axis[1] * p[2] - axis[2] * p[1], axis[2] * p[0] - axis[0] * p[2],
                           axis[0] * p[1] - axis[1] * p[0]};
        double turned[3];
        for (int i = 0; i < 3; i++) turned[i] = c * p[i] + s * cross[i] + (1 - c) * along * axis[i];
        memcpy(to + 3 * v, turned, sizeof turned);
    }
}

#endif
