// The launches of a time step of `descent` (solver/descent.c). Nothing here waits for the device:
// what depends on results is decided there (control.h).
#include "gpu/device.h"

// Energy, least J and forces at a state, into `sums`.
hk_status hk_gpu_probe(hk_gpu *g, const float4 *state, int flags, float4 *gradient, double *sums)
{
    hk_gpu_args a = g->args;
    a.flags = HK_LOOK_PROBE | flags;
    a.state = state;
    a.gradient = gradient;
    a.probe = sums;
    a.slope = g->start.kind == HK_START_OPTIMISED ? g->velocity : nullptr;
    return hk_gpu_launch(g, g->kernels->look[g->general], &a);
}

hk_status hk_gpu_begin_viscosity(hk_gpu *g, const float4 *state)
{
    if (!g->args.viscosity) return HK_OK;
    hk_gpu_args a = g->args;
    a.state = state;
    return hk_gpu_launch(g, g->kernels->viscosity, &a);
}

// Targets and the two starts. `from`: positions of free vertices instead of those of the state.
static hk_status begin(hk_gpu *g, const float4 *from)
{
    hk_gpu_begin(&g->state, g->start, from, (float4 *)g->args.target, g->args.good[0],
                 g->args.good[1], g->velocity, g->stream);
    if (!g->args.viscosity) return HK_OK;
    hk_gpu_narrow(&g->state, g->before, g->stream);
    return hk_gpu_begin_viscosity(g, g->before);
}

static hk_status choose_start(hk_gpu *g)
{
    int kind = g->start.kind;
    HK_TRY(begin(g, nullptr));
    if (kind == HK_START_AUTO || kind == HK_START_OPTIMISED)
        HK_TRY(hk_gpu_probe(g, g->args.good[0], 0, nullptr, g->probe[0]));
    if (kind != HK_START_POSITION)
        HK_TRY(hk_gpu_probe(g, g->args.good[1], 0, nullptr, g->probe[1]));
    if (kind == HK_START_OPTIMISED) {
        hk_gpu_optimise(&g->state, g->probe[0], g->probe[1], g->args.good[1], g->stream);
        HK_TRY(hk_gpu_probe(g, g->args.good[1], 0, nullptr, g->probe[1]));
    }
    hk_gpu_choose(g->device_settings, g->control[0], kind, g->probe[0], g->probe[1], g->stream);
    HK_CUDA(cudaGetLastError());
    return HK_OK;
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
    return hk_gpu_launch(g, g->kernels->diagonal, &a);
}

static hk_status look(hk_gpu *g, int k, int budget)
{
    hk_gpu_args a = iteration_args(g, k);
    a.flags = (k == 0 ? HK_LOOK_FIRST : 0) | (k == budget ? HK_LOOK_LAST : 0);
    if (g->converts && k > 0) a.flags |= HK_LOOK_DEFER | HK_LOOK_SETTLE;
    HK_TRY(hk_gpu_launch(g, g->kernels->look[g->general], &a));
    if (g->converts && k > 0) HK_TRY(hk_gpu_launch(g, g->kernels->compare, &a));
    return HK_OK;
}

static hk_status iterate(hk_gpu *g, int budget)
{
    int check = g->plan.check, every = (int)g->settings.option[HK_OPTION_AFTER_PRECISION + 1];
    HK_TRY(refresh(g, 0, true));
    for (int k = 0; k <= budget; k++) {
        if (k % check == 0 || k == budget) {
            HK_TRY(look(g, k, budget));
            // Undone looks want a fresh diagonal, too.
            bool due = k > 0 && k / every != (k - check) / every;
            if (k < budget && k > 0) HK_TRY(refresh(g, k + 1, due));
            continue;
        }
        hk_gpu_args a = iteration_args(g, k);
        HK_TRY(hk_gpu_launch(g, g->kernels->step[g->general], &a));
    }
    return HK_OK;
}

// From the start in control[0] to the end; `last` is where the control is then.
static hk_status solve(hk_gpu *g, hk_gpu_control **last)
{
    if (g->persistent) return hk_gpu_launch_persistent(g, -1, last);
    if (g->vbd) return hk_gpu_launch_vbd(g, last);
    if (g->quasi_newton) return hk_gpu_launch_quasi_newton(g, last);
    *last = g->control[(g->settings.iterations + 1) % 2];
    return iterate(g, g->settings.iterations);
}

static hk_status finish(hk_gpu *g, hk_gpu_control *last, double *staging)
{
    hk_gpu_finish(&g->state, last, g->args.good, staging, g->stream);
    if (g->converts && !g->quasi_newton && !g->vbd)  // those have their own ways with them
        hk_gpu_settle(&g->args, g->layout->item_start[g->layout->patch_count], last, g->stream);
    // α and patience go on from step to step.
    if (last != g->control[0])
        HK_CUDA(cudaMemcpyAsync(g->control[0], last, sizeof *last, cudaMemcpyDeviceToDevice,
                                g->stream));
    HK_CUDA(
        cudaMemcpyAsync(g->final, g->control[0], sizeof *last, cudaMemcpyDeviceToHost, g->stream));
    HK_CUDA(cudaMemcpyAsync(g->clock, g->state.clock, sizeof *g->clock, cudaMemcpyDeviceToHost,
                            g->stream));
    HK_CUDA(cudaGetLastError());
    return HK_OK;
}

hk_status hk_gpu_launch_step(hk_gpu *g, double *staging)
{
    hk_gpu_control *last;
    if (g->persistent && g->start.kind != HK_START_OPTIMISED) {
        HK_TRY(begin(g, nullptr));
        HK_TRY(hk_gpu_launch_persistent(g, g->start.kind, &last));
    } else {
        HK_TRY(choose_start(g));
        HK_TRY(solve(g, &last));
    }
    return finish(g, last, staging);
}

// ---------------------------------------------------------------- in shares

// From the positions in `before` with held vertices a share of their way on; true: it went well,
// and `before` is where it led.
static hk_status try_share(hk_gpu *g, bool first, double share, hk_gpu_control **last, bool *well)
{
    g->state.share = share;
    hk_status status = begin(g, first ? nullptr : g->reached);
    g->state.share = 1;
    HK_TRY(status);
    hk_gpu_choose(g->device_settings, g->control[0], HK_START_POSITION, g->probe[0], g->probe[1],
                  g->stream);
    HK_TRY(solve(g, last));
    HK_CUDA(cudaMemcpyAsync(g->final, *last, sizeof **last, cudaMemcpyDeviceToHost, g->stream));
    HK_CUDA(cudaStreamSynchronize(g->stream));
    *well = g->final->state != HK_GPU_UNDEFINED && g->final->state != HK_GPU_NOT_FINITE;
    if (*well)
        HK_CUDA(cudaMemcpyAsync(g->reached, g->args.good[g->final->good],
                                sizeof(float4) * (size_t)g->model->vertex_count,
                                cudaMemcpyDeviceToDevice, g->stream));
    return HK_OK;
}

// As solver/continuation.c: shares are halved where one is too large, and grow again.
hk_status hk_gpu_step_by_shares(hk_gpu *g, double *staging)
{
    double done = 0, share = 0.5;
    hk_gpu_control *last = g->control[0];
    while (done < 1 && share >= 1.0 / 256) {
        bool well;
        HK_TRY(try_share(g, done == 0, fmin(1, done + share), &last, &well));
        if (well) done = fmin(1, done + share);
        share *= well ? 1.5 : 0.5;
    }
    return finish(g, last, staging);
}
