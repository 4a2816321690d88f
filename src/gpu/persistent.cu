// Whether a model can be persistent on the device (law_persistent.cu), how it is cut for that, and
// the launch.
#include "gpu/device.h"

#include <stdio.h>

struct hk_gpu_persistent {
    hk_gpu_persistent_args args;
    const void *kernel;
    int groups;    // of threads in a block
    size_t bytes;  // of shared memory a block
};

static const hk_gpu_persistent_kernel *kernel_for(const hk_gpu_layout *l)
{
#define ENTRY(X) &hk_gpu_persistent_##X,
    static const hk_gpu_persistent_kernel *const tables[] = {HK_LAWS(ENTRY) ENTRY(any)};
#undef ENTRY
    return tables[hk_gpu_layout_law(l)];
}

// What held_patch_of (law_persistent.cu) lays out.
static size_t bytes_of(const hk_gpu_layout *l, int groups)
{
    size_t own = (size_t)l->most_own, rounds = (size_t)l->most_rounds, count = (size_t)groups;
    size_t vectors = (size_t)l->most_locals + count * (size_t)l->most_slots + (count - 1) * own;
    size_t item = sizeof(hk_gpu_item) + 9 * sizeof(float);
    return 16 * vectors + item * (size_t)l->most_items + sizeof(hk_gpu_batch) * count +
           sizeof(hk_gpu_round) * rounds +
           sizeof(uint16_t) * rounds * (own + own / HK_GPU_SLICE + 1);
}

static int patches_of(const hk_model *m, int size)
{
    int patches = 0;
    for (int b = 0; b < m->body_count; b++)
        patches += (m->bodies[b].vertex_count + size - 1) / size;
    return patches;
}

// Whether all patches of the layout can be on the device together.
static hk_status try_layout(const hk_gpu *g, const cudaDeviceProp *device, hk_gpu_persistent *r,
                            bool *fits)
{
    cudaFuncAttributes kernel;
    HK_CUDA(cudaFuncGetAttributes(&kernel, r->kernel));
    r->bytes = bytes_of(g->layout, r->groups);
    *fits = false;
    if (r->bytes + kernel.sharedSizeBytes > device->sharedMemPerBlockOptin) return HK_OK;
    HK_CUDA(cudaFuncSetAttribute(r->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)r->bytes));
    int together = 0;
    HK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&together, r->kernel,
                                                          HK_GPU_THREADS * r->groups, r->bytes));
    *fits = g->layout->patch_count <= together * device->multiProcessorCount;
    return HK_OK;
}

enum { LEAST_PATCH = 32, ROUND = HK_GPU_THREADS };

// Groups of threads for a patch: no more than find something to do, because the more threads the
// longer they wait for each other. Patches have 1.6 times their share of the tets.
static int groups_for(const hk_model *m, int patches, int most)
{
    int64_t items = 8 * (int64_t)m->tet_count / (5 * (int64_t)hk_max_int(patches, 1));
    return (int)hk_min_int(most, (int)(items / (3 * ROUND / 4)) + 1);
}

// With so many blocks a multiprocessor, which share *groups groups of threads: those that the law
// allows, which only the layout knows. On success g->layout is one that fits, else NULL.
static hk_status try_blocks(hk_gpu *g, const cudaDeviceProp *device, int blocks, int *groups,
                            hk_gpu_persistent *r, bool *fits)
{
    const hk_model *m = g->model;
    int patches = blocks * device->multiProcessorCount;
    int size = hk_max_int(LEAST_PATCH, (m->vertex_count + patches - 1) / patches);
    *fits = false;
    r->groups = groups_for(m, patches_of(m, size), *groups / blocks);
    if (size > HK_GPU_THREADS || patches_of(m, size) > patches) return HK_OK;
    hk_gpu_cut cut = {};
    cut.patch_size = size;
    cut.round_size = ROUND;
    cut.groups = r->groups;
    cut.even = true;
    HK_TRY(hk_gpu_layout_create(m, &cut, 0, &g->layout));
    const hk_gpu_persistent_kernel *kernel = kernel_for(g->layout);
    r->kernel = kernel->kernel[g->layout->blends];
    hk_status status = HK_OK;
    bool allowed = *groups <= kernel->groups && g->layout->most_own <= HK_GPU_THREADS;
    if (allowed) status = try_layout(g, device, r, fits);
    *groups = hk_min_int(*groups, kernel->groups);
    if (!*fits) {
        hk_gpu_layout_free(g->layout);
        g->layout = NULL;
    }
    return status;
}

static hk_status find_layout(hk_gpu *g, const cudaDeviceProp *device, int wanted,
                             hk_gpu_persistent *r, bool *fits)
{
    // Single kernels are faster for larger models: 201 thousand tets on an H200 took 0.91 ms by
    // them and 0.95 ms persistent, 148 thousand 0.86 and 0.68.
    if (wanted == 0 && g->model->vertex_count > HK_GPU_THREADS * device->multiProcessorCount)
        return HK_OK;
    int groups = HK_GPU_MOST_GROUPS, last = wanted > 0 ? wanted : 2;
    for (int blocks = wanted > 0 ? wanted : 1; blocks <= hk_min_int(last, groups);) {
        int assumed = groups;
        HK_TRY(try_blocks(g, device, blocks, &groups, r, fits));
        if (*fits) return HK_OK;
        if (groups == assumed) blocks++;
    }
    return HK_OK;
}

hk_status hk_gpu_plan_persistent(hk_gpu *g, const cudaDeviceProp *device, int wanted)
{
    if (wanted < 0 || g->damping.viscous > 0) return HK_OK;
    hk_gpu_persistent *r = HK_NEW(hk_gpu_persistent);
    if (!r) return HK_NO_MEMORY;
    bool fits = false;
    hk_status status = find_layout(g, device, wanted, r, &fits);
    if (fits)
        g->persistent = r;
    else
        hk_free(r);
    return status;
}

hk_status hk_gpu_set_up_persistent(hk_gpu *g)
{
    const hk_gpu_layout *l = g->layout;
    hk_gpu_persistent_args *args = &g->persistent->args;
    args->a = g->args;
    args->budget = g->settings.iterations;
    args->every = g->constant_diagonal ? 0 : g->plan.rules.refresh;
    args->most_own = l->most_own;
    args->most_items = l->most_items;
    args->most_rounds = l->most_rounds;
    args->a.now = g->control[0];
    args->a.next = g->control[1];
    for (int k = 0; k < 2; k++) args->exchange[k] = g->q[k];
    for (int k = 0; k < 4; k++)
        HK_TRY(hk_gpu_alloc(g, (size_t)l->patch_count * HK_SUM_WIDTH, &args->packet[k]));
    return hk_gpu_alloc(g, 1, &args->epoch);
}

hk_status hk_gpu_launch_persistent(hk_gpu *g, int kind, hk_gpu_control **last)
{
    hk_gpu_persistent *r = g->persistent;
    r->args.kind = kind;
    void *parameters[] = {&r->args};
    cudaLaunchAttribute together;
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)g->layout->patch_count);
    config.blockDim = dim3(HK_GPU_THREADS, (unsigned)r->groups);
    config.dynamicSmemBytes = r->bytes;
    config.stream = g->stream;
    config.attrs = &together;
    config.numAttrs = 1;
    HK_CUDA(cudaLaunchKernelExC(&config, r->kernel, parameters));
    *last = g->control[1];
    return HK_OK;
}

void hk_gpu_describe_persistent(const hk_gpu *g, char *text, size_t size)
{
    const hk_gpu_persistent *r = g->persistent;
    snprintf(text, size, ", persistent: %d threads and %.0f KB of shared memory per patch",
             HK_GPU_THREADS * r->groups, 1e-3 * (double)r->bytes);
}
