// Backward Euler: x' = x + h v', v' = v + h M⁻¹ f(x') (Descent eq. 1–3). y = x + h v; external
// forces stay in E. First order, unconditionally stable, damps.
#include "integrator/integrator.h"

static double predict(double h, int64_t size, const double *x, const double *v, double *y)
{
    for (int64_t k = 0; k < size; k++) y[k] = x[k] + h * v[k];
    return 1 / (h * h);
}

static void velocity(double h, int64_t size, const double *before, const double *after, double *v)
{
    double rate = 1 / h;
    for (int64_t k = 0; k < size; k++) v[k] = (after[k] - before[k]) * rate;
}

const hk_integrator hk_backward_euler = {
    .name = "backward_euler",
    .summary = "first order, unconditionally stable",
    .predict = predict,
    .velocity = velocity,
};
