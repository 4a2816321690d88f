// The launches of a time step, stage by stage. Nothing here waits for the device, unless a step has
// to be taken in parts.
#include "gpu/device.h"
#include "gpu/terms.h"

extern "C" {
#include "rules/continuation.h"
}

// Energy, least J and forces at a state, into `sums`.
hk_status hk_gpu_probe(hk_gpu *g, const float4 *state, int flags, float4 *gradient, double *sums)
{
    hk_gpu_args a = g->args;
    a.flags = HK_CHECK_PROBE | flags;
    a.state = state;
    a.gradient = gradient;
    a.probe = sums;
    bool slopes = g->start == HK_START_OPTIMISED;
    a.slope = slopes ? g->velocity : nullptr;
    a.slope_before = slopes ? g->velocity_before : nullptr;
    return hk_gpu_launch_forces(g, g->kernels->check[g->general], &a);
}

// ---------------------------------------------------------------- the beginning of a stage

hk_status hk_gpu_begin_damping(hk_gpu *g)
{
    if (!g->args.viscosity) return HK_OK;
    hk_gpu_args a = g->args;
    a.state = g->before;
    return hk_gpu_launch(g, g->kernels->viscosity, &a);
}

hk_status hk_gpu_begin_stage(hk_gpu *g, const float4 *reached)
{
    hk_gpu_begun to = {(float4 *)g->args.target,
                       (uint32_t *)g->args.target_bits,
                       g->args.good[0],
                       g->args.good[1],
                       g->velocity,
                       g->velocity_before,
                       g->before,
                       g->from};
    hk_gpu_begin(&g->state, g->start, reached, &to, g->stream);
    HK_CUDA(cudaGetLastError());
    HK_TRY(hk_gpu_begin_terms(g));
    return hk_gpu_begin_damping(g);
}

// The best step along the last two velocities (solver/start.c).
static hk_status optimise_start(hk_gpu *g)
{
    float4 *guess = g->args.good[1];
    hk_gpu_speed(&g->state, g->speed, g->stream);
    for (int k = 0; k < 2; k++) {
        hk_gpu_probe_start(&g->state, g->reach, g->speed, k, guess, g->stream);
        HK_TRY(hk_gpu_probe(g, guess, 0, nullptr, g->probe[1 + k]));
    }
    hk_gpu_optimise(&g->state, g->reach, g->speed, g->probe, guess, g->stream);
    HK_CUDA(cudaGetLastError());
    return HK_OK;
}

// Free bodies begin with the better one of the two shapes: what spins is strained by going straight
// ahead, all the more the stiffer it is.
static int start_kind(const hk_gpu *g)
{
    return g->rigid && g->start != HK_START_POSITION ? HK_START_AUTO : g->start;
}

static hk_status choose_start(hk_gpu *g)
{
    int kind = start_kind(g);
    if (g->start == HK_START_OPTIMISED) {
        HK_TRY(hk_gpu_probe(g, g->args.good[0], 0, nullptr, g->probe[0]));
        HK_TRY(optimise_start(g));
    }
    HK_TRY(hk_gpu_align(g));
    if (kind == HK_START_AUTO) HK_TRY(hk_gpu_probe(g, g->args.good[0], 0, nullptr, g->probe[0]));
    if (kind != HK_START_POSITION)
        HK_TRY(hk_gpu_probe(g, g->args.good[1], 0, nullptr, g->probe[1]));
    hk_gpu_choose(g->device_settings, g->control[0], kind, g->probe[0], g->probe[1], g->stream);
    HK_CUDA(cudaGetLastError());
    return HK_OK;
}

// ---------------------------------------------------------------- the end of a stage

// What the next solve goes on with: α, patience, blend weights.
static hk_status hand_over(hk_gpu *g, hk_gpu_control *last)
{
    if (g->blends && !g->run->own_blend)
        hk_gpu_settle(&g->args, g->layout->item_start[g->layout->patch_count], last, g->stream);
    if (last != g->control[0])
        HK_CUDA(cudaMemcpyAsync(g->control[0], last, sizeof *last, cudaMemcpyDeviceToDevice,
                                g->stream));
    return HK_OK;
}

static hk_status end_stage(hk_gpu *g, hk_gpu_control *last)
{
    hk_gpu_end_stage(&g->state, last, g->of_stage, g->args.good, g->stream);
    HK_CUDA(cudaMemcpyAsync(g->final_stage, g->of_stage, sizeof *last, cudaMemcpyDeviceToHost,
                            g->stream));
    return hand_over(g, last);
}

static hk_status finish(hk_gpu *g, hk_gpu_control *last, double *staging)
{
    hk_gpu_finish(&g->state, last, g->args.good, staging, g->stream);
    HK_TRY(hand_over(g, last));
    HK_CUDA(
        cudaMemcpyAsync(g->final, g->control[0], sizeof *last, cudaMemcpyDeviceToHost, g->stream));
    HK_CUDA(cudaMemcpyAsync(g->clock, g->state.clock, sizeof *g->clock, cudaMemcpyDeviceToHost,
                            g->stream));
    HK_CUDA(cudaGetLastError());
    return HK_OK;
}

// ---------------------------------------------------------------- the step

static hk_status launch_stage(hk_gpu *g, hk_gpu_control **last)
{
    HK_TRY(hk_gpu_begin_stage(g, nullptr));
    if (hk_gpu_is_persistent(g) && g->start != HK_START_OPTIMISED) {
        HK_TRY(hk_gpu_align(g));
        return hk_gpu_launch_persistent(g, start_kind(g), last);
    }
    HK_TRY(choose_start(g));
    return g->run->launch(g, last);
}

typedef hk_status take_stage_fn(hk_gpu *g, hk_gpu_control **last);

// g->state.stage is 0 before and afterwards, whatever happens.
static hk_status launch_stages(hk_gpu *g, take_stage_fn *take, hk_gpu_control **last)
{
    hk_status status = HK_OK;
    for (int k = 0; k < g->state.stage_count && status == HK_OK; k++) {
        g->state.stage = k;
        status = take(g, last);
        if (status == HK_OK && k + 1 < g->state.stage_count) status = end_stage(g, *last);
    }
    return status;
}

static hk_status take_step(hk_gpu *g, take_stage_fn *take, double *staging)
{
    hk_gpu_control *last = g->control[0];
    hk_status status = launch_stages(g, take, &last);
    if (status == HK_OK) status = finish(g, last, staging);  // of the last stage
    g->state.stage = 0;
    return status;
}

hk_status hk_gpu_launch_step(hk_gpu *g, double *staging)
{
    return take_step(g, launch_stage, staging);
}

// ---------------------------------------------------------------- in parts

// From the positions in `reached` with held vertices a part of their way on; true: it went well,
// and `reached` is where it led.
static hk_status try_part(hk_gpu *g, bool first, double part, hk_gpu_control **last, bool *well)
{
    g->state.part = part;
    hk_status status = hk_gpu_begin_stage(g, first ? nullptr : g->reached);
    g->state.part = 1;
    HK_TRY(status);
    hk_gpu_choose(g->device_settings, g->control[0], HK_START_POSITION, g->probe[0], g->probe[1],
                  g->stream);
    HK_TRY(g->run->launch(g, last));
    HK_CUDA(cudaMemcpyAsync(g->final, *last, sizeof **last, cudaMemcpyDeviceToHost, g->stream));
    HK_CUDA(cudaStreamSynchronize(g->stream));
    *well = g->final->state != HK_GPU_UNDEFINED && g->final->state != HK_GPU_NOT_FINITE;
    if (*well)
        HK_CUDA(cudaMemcpyAsync(g->reached, g->args.good[g->final->good],
                                sizeof(float4) * (size_t)g->model->vertex_count,
                                cudaMemcpyDeviceToDevice, g->stream));
    return HK_OK;
}

static hk_status take_stage_by_parts(hk_gpu *g, hk_gpu_control **last)
{
    hk_parts parts = parts_begin();
    bool well = false;
    while (parts.done < 1) {
        HK_TRY(try_part(g, parts.done == 0, parts_next(&parts), last, &well));
        if (well)
            parts_accept(&parts);
        else if (!parts_refuse(&parts))
            return HK_OK;
    }
    return HK_OK;
}

hk_status hk_gpu_step_by_parts(hk_gpu *g, double *staging)
{
    return take_step(g, take_stage_by_parts, staging);
}
