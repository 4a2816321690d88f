// The kernels of one law (rest_lanes.h): included by rest_lanes.c for every law.

static double LAW_FN(rest_force)(const hk_tet_batch *batch, const double *X, int first, int last,
                             const double weight[3], double *slots)
{
    real least = r_set(INFINITY);
    for (int b = first; b < last; b++) {
        rest_lanes t = rest_load(batch, X, b);
        mat3 P = LAW_FN(stress)(&batch->params, tet_element(batch, b), t.H);
        store_rest_forces(batch, b, &t, P, weight, slots);
        least = r_select(t.det >= least, least, t.det);  // also NaN
    }
    return least_of(least);
}

static void LAW_FN(rest_jacobian)(const hk_tet_batch *batch, const double *X, int first, int last,
                              int components, double *values)
{
    for (int b = first; b < last; b++) {
        rest_lanes t = rest_load(batch, X, b);
        const real *element = tet_element(batch, b);
        mat3 P = LAW_FN(stress)(&batch->params, element, t.H);
        LAW_FN(stiffness) s = LAW_FN(stiffness_of)(&batch->params, element, t.F, 1);
        mat3 inner[6];
        LAW_FN(inner)(&s, &t.G, inner);
        store_jacobian(batch, b, &t, &P, inner, components,
                       values + (int64_t)(b - first) * HK_REST_JACOBIAN * HK_LANES);
    }
}
