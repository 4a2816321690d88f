// `descent` (solver/descent.c) on the device: one kernel per iteration (law.cu), or all of them in
// one for models that fit into its shared memories (persistent.cu). Nothing here waits for the
// device: what depends on results is decided there (control.h).
#include "gpu/device.h"

extern "C" {
#include "solver/descent.h"
}

// The buffers of iteration k: q_k, q_{k−1}, and where q_{k+1} goes.
static hk_gpu_args iteration_args(const hk_gpu *g, int k)
{
    hk_gpu_args a = g->args;
    a.iteration = k;
    a.q = g->q[k % 3];
    a.last = g->q[(k + 2) % 3];
    a.moved = g->q[(k + 1) % 3];
    a.now = g->control[k % 2];
    a.next = g->control[(k + 1) % 2];
    return a;
}

// The diagonal for iteration k, if it is due there or asked for.
static hk_status refresh(hk_gpu *g, int k, bool due)
{
    if (g->constant_diagonal) return HK_OK;
    hk_gpu_args a = iteration_args(g, k);
    a.flags = due;
    return hk_gpu_launch_diagonal(g, &a);
}

static hk_status check(hk_gpu *g, int k, int budget)
{
    hk_gpu_args a = iteration_args(g, k);
    a.flags = (k == 0 ? HK_CHECK_FIRST : 0) | (k == budget ? HK_CHECK_LAST : 0);
    if (g->blends && k > 0) a.flags |= HK_CHECK_DEFER | HK_CHECK_SETTLE;
    HK_TRY(hk_gpu_launch_forces(g, g->kernels->check[g->general], &a));
    if (g->blends && k > 0) HK_TRY(hk_gpu_launch(g, g->kernels->compare, &a));
    return HK_OK;
}

static const void *step_kernel(const hk_gpu *g)
{
    return g->roomy && !g->general ? g->kernels->roomy : g->kernels->step[g->general];
}

static hk_status iterate(hk_gpu *g, int budget)
{
    int every_check = g->plan.rules.check, every = g->plan.rules.refresh;
    HK_TRY(refresh(g, 0, true));
    for (int k = 0; k <= budget; k++) {
        if (k % every_check == 0 || k == budget) {
            HK_TRY(check(g, k, budget));
            // Undone checks want a fresh diagonal, too.
            bool due = k > 0 && k / every != (k - every_check) / every;
            if (k < budget && k > 0) HK_TRY(refresh(g, k + 1, due));
            continue;
        }
        hk_gpu_args a = iteration_args(g, k);
        HK_TRY(hk_gpu_launch_forces(g, step_kernel(g), &a));
    }
    return HK_OK;
}

static hk_status launch(hk_gpu *g, hk_gpu_control **last)
{
    if (hk_gpu_is_persistent(g)) return hk_gpu_launch_persistent(g, -1, last);
    *last = g->control[(g->settings.iterations + 1) % 2];
    return iterate(g, g->settings.iterations);
}

static hk_status plan(hk_gpu *g)
{
    g->plan.rules = hk_descent_rules_of(&g->settings);
    g->may_persist = !(hk_setting(&g->settings, "resident") > 0);
    return HK_OK;
}

static hk_status set_up(hk_gpu *g)
{
    return g->persistent ? hk_gpu_set_up_persistent(g) : HK_OK;
}

static void release(hk_gpu *g)
{
    hk_free(g->persistent);
    g->persistent = nullptr;
}

static void describe(const hk_gpu *g, char *text, size_t size)
{
    if (hk_gpu_is_persistent(g)) hk_gpu_describe_persistent(g, text, size);
}

static hk_status take_terms(hk_gpu *g)
{
    return g->constant_diagonal ? hk_gpu_take_live_diagonal(g) : HK_OK;
}

extern "C" const hk_gpu_method hk_gpu_descent = {plan,       set_up, release,  nullptr,
                                                 take_terms, launch, describe, false};

// ---------------------------------------------------------------- projective dynamics

// With Jacobi and Chebyshev it is `descent` with a constant diagonal; with multigrid (auto, and
// where the CPU would make a factor, too) `quasi_newton` that remembers nothing.
static bool is_left_to_quasi_newton(const hk_gpu *g)
{
    const char *global = hk_setting_word(&g->settings, "global");
    return strcmp(global, "auto") == 0 || strcmp(global, "multigrid") == 0 ||
           strcmp(global, "direct") == 0;
}

static hk_status plan_projective(hk_gpu *g)
{
    double *weight = HK_ARRAY(double, g->model->material_count);
    if (!weight) return HK_NO_MEMORY;
    hk_status status = g->method->weights(&g->settings, g->model, weight);
    hk_free(weight);
    HK_TRY(status);
    if (is_left_to_quasi_newton(g)) {
        g->run = &hk_gpu_quasi_newton;
        return hk_gpu_quasi_newton.plan(g);
    }
    g->run = &hk_gpu_descent;
    g->constant_diagonal = true;
    g->may_persist = true;
    g->plan.rules = hk_descent_rules_projective(&g->settings, hk_setting(&g->settings, "rho"));
    return HK_OK;
}

extern "C" const hk_gpu_method hk_gpu_projective = {plan_projective, nullptr, nullptr, nullptr,
                                                    nullptr,         nullptr, nullptr, false};
