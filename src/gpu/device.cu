#include "gpu/device.h"
#include "gpu/fine.h"
#include "gpu/terms.h"

#include <stdio.h>

// ---------------------------------------------------------------- errors and memory

hk_status hk_cuda_fail(cudaError_t error, const char *call)
{
    cudaGetLastError();  // it has been seen
    hk_status status = error == cudaErrorMemoryAllocation ? HK_NO_MEMORY : HK_INTERNAL;
    return hk_fail(status, "CUDA: %s (in %.60s)", cudaGetErrorString(error), call);
}

hk_status hk_gpu_take(hk_gpu *g, size_t count, size_t size, void **to)
{
    if (g->memory_count == HK_GPU_BLOCKS_OF_MEMORY)
        return hk_fail(HK_INTERNAL, "CUDA: too many blocks of memory");
    size_t bytes = count > 0 ? count * size : size;
    void *block;
    cudaError_t error = cudaMalloc(&block, bytes);
    if (error != cudaSuccess) {
        cudaGetLastError();
        return hk_fail(error == cudaErrorMemoryAllocation ? HK_NO_MEMORY : HK_INTERNAL,
                       "CUDA: %s: %.1f MB more on top of %.1f MB", cudaGetErrorString(error),
                       1e-6 * (double)bytes, 1e-6 * (double)g->memory_bytes);
    }
    HK_CUDA(cudaMemset(block, 0, bytes));
    g->memory[g->memory_count++] = block;
    g->memory_bytes += bytes;
    *to = block;
    return HK_OK;
}

// ---------------------------------------------------------------- the device

// Kernels are there for a device of at least the generation that they were compiled for.
static bool runs_here(char *why, size_t size, const char *device)
{
    cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, hk_gpu_kernels_neo_hookean.step[0]);
    if (error == cudaSuccess) return true;
    cudaGetLastError();
    snprintf(why, size,
             "this build has no kernels for %s (%s); configure with "
             "-DCMAKE_CUDA_ARCHITECTURES for it",
             device, cudaGetErrorString(error));
    return false;
}

extern "C" bool hk_gpu_found(char *why, size_t size)
{
    int count = 0, driver = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) {
        snprintf(why, size, "no NVIDIA driver is installed");
        return false;
    }
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        cudaGetLastError();
        snprintf(why, size, "no CUDA device was found%s%s", error == cudaSuccess ? "" : ": ",
                 error == cudaSuccess ? "" : cudaGetErrorString(error));
        return false;
    }
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) {
        cudaGetLastError();
        snprintf(why, size, "the CUDA device does not answer");
        return false;
    }
    return runs_here(why, size, properties.name);
}

extern "C" bool hk_gpu_device(char *text, size_t size)
{
    if (!hk_gpu_found(text, size)) return false;
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) {
        cudaGetLastError();
        snprintf(text, size, "the CUDA device does not answer");
        return false;
    }
    snprintf(text, size, "%s, %.1f GiB", properties.name,
             (double)properties.totalGlobalMem / (1024.0 * 1024.0 * 1024.0));
    return true;
}

// ---------------------------------------------------------------- creation

static const hk_gpu_kernels *choose_kernels(const hk_gpu_layout *l)
{
#define ENTRY(X) &hk_gpu_kernels_##X,
    static const hk_gpu_kernels *const tables[] = {HK_LAWS(ENTRY) ENTRY(any)};
#undef ENTRY
    return tables[hk_gpu_layout_law(l)];
}

static const hk_gpu_exact_kernels *choose_exact_kernels(const hk_gpu_layout *l)
{
#define ENTRY(X) &hk_gpu_exact_##X,
    static const hk_gpu_exact_kernels *const tables[] = {HK_LAWS(ENTRY) ENTRY(any)};
#undef ENTRY
    return tables[hk_gpu_layout_law(l)];
}

// So much shared memory, in 16 bytes, for a patch of this many vertices, if there are `most`. Where
// an average patch has several rounds, smaller ones are not to have fewer, but larger: what nobody
// needs is a cache.
static int choose_room(const hk_model *m, int patches, int size, int vertex_bytes, int most)
{
    int locals = 3 * size * vertex_bytes / 16,
        corners = (int)(4 * (int64_t)m->tet_count / hk_max_int(patches, 1));
    int slots = hk_max_int(most - locals, 1), rounds = (corners + slots - 1) / slots;
    return rounds < 2 ? most : hk_min_int(most, locals + 5 * corners / (4 * rounds));
}

// Patches as large as they may be, but so many that the device is busy with all of them at the same
// time, or with a whole number of such waves; small models are cut finely for that, and evenly: all
// wait for the largest patch. With one wave fewer blocks a multiprocessor, each with more shared
// memory and so fewer rounds, are faster.
static hk_gpu_cut choose_cut(const hk_model *m, const cudaDeviceProp *device, int vertex_bytes)
{
    enum { MOST = HK_GPU_THREADS, LEAST = 32, FEW_WAVES = 4, STATIC_BYTES = 2560 };
    int processors = device->multiProcessorCount, blocks = 4, waves = 1;
    while (m->vertex_count > MOST * (int64_t)(blocks * processors) * waves) waves++;
    if (m->vertex_count <= 3 * MOST * processors) blocks = 3;
    if (m->vertex_count < MOST * processors) blocks = 2;
    int patches = waves * blocks * processors;
    int size = waves > FEW_WAVES ? MOST : (m->vertex_count + patches - 1) / patches;
    size_t bytes = device->sharedMemPerMultiprocessor / (size_t)blocks -
                   device->reservedSharedMemPerBlock - STATIC_BYTES;
    hk_gpu_cut cut = {};
    cut.patch_size = hk_max_int(LEAST, hk_min_int(size, MOST));
    cut.round_size = 4096;
    patches = (m->vertex_count + cut.patch_size - 1) / cut.patch_size;
    cut.vertex_bytes = vertex_bytes;
    cut.room = choose_room(m, patches, cut.patch_size, vertex_bytes, (int)(bytes / 16));
    cut.groups = 1;
    cut.even = blocks == 2;
    return cut;
}

// The kernel of an iteration: where shared memory lets no more blocks on a multiprocessor anyway,
// or where the law would keep much in memory for want of registers, the one with more of these.
static hk_status choose_step(hk_gpu *g)
{
    enum { MUCH = 64 };  // bytes: 80 made mooney_rivlin a tenth slower, 48 neo_hookean faster
    cudaFuncAttributes tight;
    int tightly = 0, roomily = 0;
    const hk_gpu_kernels *k = g->kernels;
    HK_CUDA(cudaFuncGetAttributes(&tight, k->step[0]));
    HK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&tightly, k->step[0], HK_GPU_THREADS,
                                                          g->shared_bytes));
    HK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&roomily, k->roomy, HK_GPU_THREADS,
                                                          g->shared_bytes));
    g->roomy = roomily >= tightly || tight.localSizeBytes > MUCH;
    return HK_OK;
}

static hk_status prepare_kernels(hk_gpu *g, size_t limit)
{
    // Comparing wants two states of all vertices.
    g->shared_bytes = 16 * (size_t)hk_max_int(g->layout->most_room, 2 * g->layout->most_locals);
    if (g->shared_bytes > limit)
        return hk_fail(HK_UNSUPPORTED,
                       "backend \"cuda\": a patch needs %zu bytes of shared memory, the device "
                       "has %zu",
                       g->shared_bytes, limit);
    const hk_gpu_kernels *k = g->kernels;
    const void *all[] = {k->step[0],  k->step[1],  k->roomy,   k->check[0],
                         k->check[1], k->diagonal, k->compare, k->viscosity};
    for (int n = 0; n < (int)(sizeof all / sizeof *all); n++)
        HK_CUDA(cudaFuncSetAttribute(all[n], cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)g->shared_bytes));
    HK_TRY(choose_step(g));
    const void *exact[] = {g->exact_kernels->shapes, g->exact_kernels->check};
    for (int n = 0; n < 2 && g->exact; n++)
        HK_CUDA(cudaFuncSetAttribute(exact[n], cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)g->shared_bytes));
    return HK_OK;
}

// Kernels in double precision know nothing of blended and viscous elements.
static bool can_be_exact(const hk_gpu *g)
{
    return g->wants_exact && !g->layout->blends && !(g->damping.viscous > 0);
}

static hk_status launch(const hk_gpu *g, const void *kernel, int blocks, int threads,
                        size_t shared_bytes, void **args)
{
    cudaLaunchAttribute overlap;
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)blocks);
    config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = g->stream;
    config.attrs = &overlap;
    config.numAttrs = 1;
    HK_CUDA(cudaLaunchKernelExC(&config, kernel, args));
    return HK_OK;
}

hk_status hk_gpu_launch(hk_gpu *g, const void *kernel, const hk_gpu_args *args)
{
    void *parameters[] = {(void *)args};
    return launch(g, kernel, g->layout->patch_count, HK_GPU_THREADS, g->shared_bytes, parameters);
}

hk_status hk_gpu_launch_forces(hk_gpu *g, const void *kernel, const hk_gpu_args *args)
{
    HK_TRY(hk_gpu_term_gradients(g, args));
    return hk_gpu_launch(g, kernel, args);
}

hk_status hk_gpu_launch_exact(hk_gpu *g, const void *kernel, const hk_gpu_exact_args *args)
{
    void *parameters[] = {(void *)args};
    return launch(g, kernel, g->layout->patch_count, HK_GPU_THREADS, g->shared_bytes, parameters);
}

hk_status hk_gpu_launch_diagonal(hk_gpu *g, const hk_gpu_args *args)
{
    HK_TRY(hk_gpu_term_diagonals(g, args));
    return hk_gpu_launch(g, g->kernels->diagonal, args);
}

hk_status hk_gpu_launch_some(const hk_gpu *g, const void *kernel, int blocks, int threads,
                             void **args)
{
    return launch(g, kernel, blocks, threads, 0, args);
}

static hk_status record_graph(hk_gpu *g, int which)
{
    cudaGraph_t graph;
    HK_CUDA(cudaStreamBeginCapture(g->stream, cudaStreamCaptureModeThreadLocal));
    hk_status status = hk_gpu_launch_step(g, g->staging[which]);
    cudaError_t error = cudaStreamEndCapture(g->stream, &graph);
    HK_TRY(status);
    HK_CUDA(error);
    error = cudaGraphInstantiate(&g->graph[which], graph, 0);
    cudaGraphDestroy(graph);
    HK_CUDA(error);
    return HK_OK;
}

// Whether the layout of another one can serve: the same meshes, at rest alike, of the same
// materials.
static bool is_alike(const hk_gpu_def *def)
{
    const hk_model *a = def->model, *b = def->like ? def->like->model : nullptr;
    if (!b || a->family != b->family || a->material_count != b->material_count) return false;
    if ((def->damping.viscous > 0) != (def->like->damping.viscous > 0)) return false;
    if (def->patch_size || def->round_size) return false;
    size_t tets = (size_t)a->tet_count, n = (size_t)a->vertex_count;
    return a == b || (memcmp(a->rest, b->rest, 3 * n * sizeof(double)) == 0 &&
                      memcmp(a->tet_material, b->tet_material, tets * sizeof(int32_t)) == 0 &&
                      memcmp(a->materials, b->materials,
                             (size_t)a->material_count * sizeof(hk_material)) == 0);
}

hk_status hk_gpu_record(hk_gpu *g)
{
    HK_CUDA(cudaStreamSynchronize(g->stream));
    for (int k = 0; k < 2; k++) {
        if (g->graph[k]) HK_CUDA(cudaGraphExecDestroy(g->graph[k]));
        g->graph[k] = nullptr;
        HK_TRY(record_graph(g, k));
    }
    HK_CUDA(cudaStreamSynchronize(g->stream));
    return HK_OK;
}

static hk_status lay_out(hk_gpu *g, const hk_gpu_def *def, const cudaDeviceProp *device)
{
    if (g->may_persist && !hk_gpu_model_has_terms(g->model) && !def->patch_size && !def->round_size)
        HK_TRY(hk_gpu_plan_persistent(g, device, def->persistent));
    if (g->layout) return HK_OK;
    int vertex_bytes = g->wants_exact ? HK_GPU_EXACT_VERTEX : 16;
    if (is_alike(def) && !def->like->persistent &&
        def->like->layout->cut.vertex_bytes >= vertex_bytes) {
        g->layout = def->like->layout;
        g->layout->users++;
        return HK_OK;
    }
    hk_gpu_cut cut = choose_cut(def->model, device, vertex_bytes);
    if (def->patch_size) {
        cut.patch_size = def->patch_size;
        cut.even = false;
    }
    if (def->round_size) {
        cut.round_size = def->round_size;
        cut.room = 0;
    }
    HK_TRY(hk_gpu_layout_create(def->model, &cut, 0, &g->layout));
    if (g->layout->most_own <= HK_GPU_THREADS) return HK_OK;
    // Vertices of few tets, or none, crowd in one patch.
    hk_gpu_layout_free(g->layout);
    g->layout = NULL;
    cut.even = false;
    return hk_gpu_layout_create(def->model, &cut, 0, &g->layout);
}

static hk_status create_streams(hk_gpu *g)
{
    HK_CUDA(cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking));
    HK_CUDA(cudaStreamCreateWithFlags(&g->copying, cudaStreamNonBlocking));
    HK_CUDA(cudaEventCreateWithFlags(&g->stepped, cudaEventDisableTiming));
    for (int k = 0; k < 2; k++)
        HK_CUDA(cudaEventCreateWithFlags(&g->copied[k], cudaEventDisableTiming));
    return HK_OK;
}

static hk_status build(hk_gpu *g, const hk_gpu_def *def)
{
    cudaDeviceProp properties;
    HK_CUDA(cudaGetDeviceProperties(&properties, 0));
    snprintf(g->device, sizeof g->device, "%.60s", properties.name);
    g->run = def->method->gpu;
    HK_TRY(g->run->plan(g));
    g->plan.rules.tolerance = def->settings->tolerance;
    HK_TRY(lay_out(g, def, &properties));
    g->blends = g->layout->blends;
    g->kernels = choose_kernels(g->layout);
    g->exact_kernels = choose_exact_kernels(g->layout);
    g->exact = can_be_exact(g);
    g->number = HK_ARRAY(int32_t, g->model->vertex_count);
    if (!g->number) return HK_NO_MEMORY;
    for (int k = 0; k < g->model->vertex_count; k++) g->number[g->layout->place[k]] = k;
    HK_TRY(create_streams(g));
    HK_TRY(prepare_kernels(g, properties.sharedMemPerBlockOptin - 4096));
    HK_TRY(hk_gpu_set_up(g));
    HK_TRY(g->run->set_up(g));
    if (!g->exact && !g->method->direct) HK_TRY(hk_gpu_rigid_create(g));
    if (g->run->take_terms) HK_TRY(g->run->take_terms(g));
    g->live_shape = g->live ? g->live->shape_version : 0;
    return hk_gpu_record(g);
}

extern "C" hk_status hk_gpu_create(const hk_gpu_def *def, hk_gpu **gpu)
{
    char why[256];
    if (!hk_gpu_found(why, sizeof why)) return hk_fail(HK_UNSUPPORTED, "backend \"cuda\": %s", why);
    hk_gpu *g = HK_NEW(hk_gpu);
    if (!g) return HK_NO_MEMORY;
    g->model = def->model;
    g->method = def->method;
    g->settings = *def->settings;
    g->integrator = def->integrator ? def->integrator : &hk_backward_euler;
    g->beta = def->beta;
    g->gamma = def->gamma;
    g->step = def->step;
    g->damping = def->damping;
    g->live = def->live;
    hk_status status = build(g, def);
    if (status != HK_OK) {
        hk_gpu_free(g);
        return status;
    }
    *gpu = g;
    return HK_OK;
}

extern "C" void hk_gpu_free(hk_gpu *g)
{
    if (!g) return;
    if (g->stream) cudaStreamSynchronize(g->stream);
    if (g->copying) cudaStreamSynchronize(g->copying);
    for (int k = 0; k < 2; k++) {
        if (g->graph[k]) cudaGraphExecDestroy(g->graph[k]);
        if (g->copied[k]) cudaEventDestroy(g->copied[k]);
        if (g->pinned[k]) cudaFreeHost(g->pinned[k]);
    }
    if (g->final) cudaFreeHost(g->final);
    if (g->final_stage) cudaFreeHost(g->final_stage);
    if (g->clock) cudaFreeHost(g->clock);
    if (g->stepped) cudaEventDestroy(g->stepped);
    if (g->stream) cudaStreamDestroy(g->stream);
    if (g->copying) cudaStreamDestroy(g->copying);
    for (int k = 0; k < g->memory_count; k++) cudaFree(g->memory[k]);
    hk_gpu_free_terms(g);
    hk_gpu_rigid_free(g);
    hk_gpu_layout_free(g->layout);
    hk_free(g->number);
    if (g->run && g->run->free) g->run->free(g);
    hk_free(g->persistent);
    hk_free(g);
}

extern "C" void hk_gpu_describe(const hk_gpu *g, char *text, size_t size)
{
    const hk_gpu_layout *l = g->layout;
    int items = l->item_start[l->patch_count];
    snprintf(text, size,
             "%s, %d patches of up to %d vertices, %.2f elements computed for each, %.0f MB",
             g->device, l->patch_count, l->most_own,
             (double)items / hk_max_int(1, g->model->tet_count), 1e-6 * (double)g->memory_bytes);
    size_t used = strlen(text);
    if (g->run->describe) g->run->describe(g, text + used, size - used);
}

// ---------------------------------------------------------------- states

static hk_status wait_for_device(hk_gpu *g)
{
    HK_CUDA(cudaStreamSynchronize(g->stream));
    return HK_OK;
}

// From the model's Morton order, [n][4], to the order of the patches, [n][3], or back.
static hk_status write_vectors(hk_gpu *g, const double *from, double *to)
{
    int n = g->model->vertex_count;
    double *room = HK_ARRAY(double, 3 * (size_t)n);
    if (!room) return HK_NO_MEMORY;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 3; i++)
            room[3 * (int64_t)k + i] = from[4 * (int64_t)g->layout->place[k] + i];
    cudaError_t error =
        cudaMemcpy(to, room, 3 * (size_t)n * sizeof(double), cudaMemcpyHostToDevice);
    hk_free(room);
    HK_CUDA(error);
    return HK_OK;
}

static hk_status read_vectors(hk_gpu *g, const double *from, double *to)
{
    int n = g->model->vertex_count;
    double *room = HK_ARRAY(double, 3 * (size_t)n);
    if (!room) return HK_NO_MEMORY;
    cudaError_t error =
        cudaMemcpy(room, from, 3 * (size_t)n * sizeof(double), cudaMemcpyDeviceToHost);
    for (int k = 0; k < n && error == cudaSuccess; k++)
        for (int i = 0; i < 3; i++)
            to[4 * (int64_t)g->layout->place[k] + i] = room[3 * (int64_t)k + i];
    hk_free(room);
    HK_CUDA(error);
    return HK_OK;
}

extern "C" hk_status hk_gpu_write_state(hk_gpu *g, const double *const known[HK_KNOWN_COUNT],
                                        double step_before)
{
    HK_TRY(wait_for_device(g));
    for (int k = 0; k < HK_KNOWN_COUNT; k++)
        if (known[k] && g->state.known[k]) HK_TRY(write_vectors(g, known[k], g->state.known[k]));
    int past = step_before > 0;
    HK_CUDA(cudaMemcpy(&g->state.clock->past, &past, sizeof past, cudaMemcpyHostToDevice));
    if (past) HK_TRY(hk_gpu_upload_stages(g, step_before));
    g->fresh = false;
    return HK_OK;
}

extern "C" hk_status hk_gpu_read_positions(hk_gpu *g, double *x)
{
    if (!g->fresh) {
        HK_TRY(wait_for_device(g));
        return read_vectors(g, g->state.known[HK_KNOWN_X], x);
    }
    HK_CUDA(cudaEventSynchronize(g->copied[g->parity]));
    const double *from = g->pinned[g->parity];
    for (int64_t k = 0; k < g->model->vertex_count; k++)
        for (int i = 0; i < 3; i++) x[4 * k + i] = from[3 * k + i];
    return HK_OK;
}

extern "C" hk_status hk_gpu_read_state(hk_gpu *g, double *const known[HK_KNOWN_COUNT])
{
    HK_TRY(wait_for_device(g));
    for (int k = 0; k < HK_KNOWN_COUNT; k++)
        if (known[k] && g->state.known[k]) HK_TRY(read_vectors(g, g->state.known[k], known[k]));
    return HK_OK;
}

extern "C" hk_status hk_gpu_energy(hk_gpu *g, hk_energy *energy)
{
    double sums[HK_SUM_WIDTH], others[3];
    hk_gpu_state state = g->state;  // moving things are where they are before the step
    g->state.part = 0;
    hk_status status = hk_gpu_begin_stage(g, nullptr);
    g->state = state;
    HK_TRY(status);
    hk_gpu_narrow(&g->state, g->args.good[0], g->stream);
    float *viscosity = g->args.viscosity;  // damping is no energy of the state
    g->args.viscosity = nullptr;
    status = hk_gpu_probe(g, g->args.good[0], HK_CHECK_UNDAMPED, nullptr, g->probe[0]);
    g->args.viscosity = viscosity;
    HK_TRY(status);
    hk_gpu_energies(&g->state, g->probe[1], g->stream);
    HK_CUDA(cudaMemcpyAsync(sums, g->probe[0], sizeof sums, cudaMemcpyDeviceToHost, g->stream));
    HK_CUDA(cudaMemcpyAsync(others, g->probe[1], sizeof others, cudaMemcpyDeviceToHost, g->stream));
    HK_TRY(wait_for_device(g));
    double elastic = sums[HK_SUM_ELASTIC] + sums[HK_SUM_TERMS];
    energy->elastic = isnan(elastic) ? INFINITY : elastic;
    energy->kinetic = others[0];
    energy->gravity = others[1];
    energy->load = others[2];
    energy->total = energy->elastic + energy->gravity + energy->load + energy->kinetic;
    return HK_OK;
}

// ---------------------------------------------------------------- checks

static hk_status read_floats(hk_gpu *g, const float4 *from, float4 *to)
{
    HK_CUDA(cudaMemcpy(to, from, sizeof(float4) * (size_t)g->model->vertex_count,
                       cudaMemcpyDeviceToHost));
    return HK_OK;
}

static hk_status evaluate(hk_gpu *g, float4 *room, double *x, double *gradient, double *diagonal)
{
    int n = g->model->vertex_count;
    hk_gpu_args a = g->args;
    a.state = g->q[0];
    a.flags = 1;
    a.least = nullptr;
    HK_TRY(hk_gpu_begin_stage(g, nullptr));
    hk_gpu_narrow(&g->state, g->q[0], g->stream);
    HK_TRY(hk_gpu_probe(g, g->q[0], HK_CHECK_GRADIENT, g->q[1], g->probe[0]));
    HK_TRY(hk_gpu_launch_diagonal(g, &a));
    HK_TRY(wait_for_device(g));
    HK_TRY(read_floats(g, g->q[0], room));
    HK_TRY(read_floats(g, g->q[1], room + n));
    HK_TRY(read_floats(g, g->args.inverse, room + 2 * (size_t)n));
    HK_TRY(read_floats(g, g->args.target, room + 3 * (size_t)n));
    double origin[3];
    int anchor = 0;
    for (int k = 0; k < n; k++) {
        int64_t to = 4 * (int64_t)g->layout->place[k];
        int body = 0;
        while (g->model->bodies[body].vertex_start + g->model->bodies[body].vertex_count <=
               g->model->order[g->layout->place[k]])
            body++;
        if (body > 0 || k == 0) {
            HK_CUDA(cudaMemcpy(origin, g->state.origin + 3 * body, sizeof origin,
                               cudaMemcpyDeviceToHost));
            HK_CUDA(
                cudaMemcpy(&anchor, g->state.anchor + body, sizeof anchor, cudaMemcpyDeviceToHost));
        }
        const double *rest = g->model->rest + 3 * (int64_t)g->model->order[g->layout->place[k]];
        const double *at = g->model->rest + 3 * (int64_t)g->model->order[g->layout->place[anchor]];
        double o[3];
        for (int i = 0; i < 3; i++) o[i] = origin[i] + (rest[i] - at[i]);
        const float *f = &room[n + (size_t)k].x, *p = &room[2 * (size_t)n + k].x;
        fine_widen(room[k], o, x + to);
        for (int i = 0; i < 3; i++) {
            gradient[to + i] = (double)f[i];
            diagonal[to + i] = p[i] > 0 ? 1 / (double)p[i] - (double)room[3 * (size_t)n + k].w : 0;
        }
    }
    return HK_OK;
}

extern "C" hk_status hk_gpu_evaluate(hk_gpu *g, double *x, double *energy, double *gradient,
                                     double *diagonal)
{
    const double *known[HK_KNOWN_COUNT] = {x};
    double sums[HK_SUM_WIDTH];
    HK_TRY(hk_gpu_write_state(g, known, 0));
    float4 *room = HK_ARRAY(float4, 4 * (size_t)g->model->vertex_count);
    if (!room) return HK_NO_MEMORY;
    hk_status status = evaluate(g, room, x, gradient, diagonal);
    hk_free(room);
    HK_TRY(status);
    HK_CUDA(cudaMemcpy(sums, g->probe[0], sizeof sums, cudaMemcpyDeviceToHost));
    *energy = sums[HK_SUM_ELASTIC] + sums[HK_SUM_TERMS];
    return HK_OK;
}

// ---------------------------------------------------------------- the step

static void fill_report(const hk_gpu *g, const hk_gpu_control *c, hk_solve_report *r)
{
    double rounding = g->plan.rounding;
    r->iterations += c->iterations;
    r->linear_iterations += c->linear;
    r->energy = c->energy;
    r->residual = c->residual;
    r->relative_residual = control_relative(c);
    r->rounding = NAN;
    r->detail[0] = '\0';
    switch (c->state) {
    case HK_GPU_CONVERGED: r->reason = HK_CONVERGED; return;
    case HK_GPU_LIMITED:
        r->reason = HK_PRECISION_LIMIT;
        r->rounding = rounding;
        snprintf(r->detail, sizeof r->detail,
                 "single precision leaves a residual of %.2g N (relative residual %.1e; rounding "
                 "is estimated at %.2g N)",
                 r->residual, r->relative_residual, rounding);
        return;
    case HK_GPU_STALLED:
        r->reason = HK_STALLED;
        snprintf(r->detail, sizeof r->detail,
                 "the shortest step length does not decrease the energy (relative residual %.1e)",
                 r->relative_residual);
        return;
    case HK_GPU_UNDEFINED:
        r->reason = HK_INVERTED;
        snprintf(r->detail, sizeof r->detail,
                 "a material is not defined where the step starts: an element is inside out");
        return;
    case HK_GPU_NOT_FINITE:
        r->reason = HK_NOT_FINITE;
        snprintf(r->detail, sizeof r->detail, "%s",
                 g->run == &hk_gpu_split
                     ? "the positions after the step are not finite: the state before it is kept"
                     : "the gradient is not finite where the step starts");
        return;
    case HK_GPU_FIXED_WORK:
        r->reason = HK_FIXED_WORK;
        r->energy = 0;
        r->residual = r->relative_residual = NAN;
        return;
    default:
        r->reason = HK_ITERATION_LIMIT;
        snprintf(r->detail, sizeof r->detail, "%d iterations left a relative residual of %.1e",
                 c->iterations, r->relative_residual);
    }
}

// Positions go to the host on a stream of their own, from one of two buffers, while the next step
// is computed.
static hk_status copy_positions(hk_gpu *g)
{
    HK_CUDA(cudaEventRecord(g->stepped, g->stream));
    HK_CUDA(cudaStreamWaitEvent(g->copying, g->stepped, 0));
    HK_CUDA(cudaMemcpyAsync(g->pinned[g->parity], g->staging[g->parity],
                            3 * sizeof(double) * (size_t)g->model->vertex_count,
                            cudaMemcpyDeviceToHost, g->copying));
    HK_CUDA(cudaEventRecord(g->copied[g->parity], g->copying));
    g->fresh = true;
    return HK_OK;
}

// The steps that the host has launched so far are assumed to have been kept.
static hk_status prepare_step(hk_gpu *g, double time)
{
    if (time != g->expected) {
        HK_TRY(wait_for_device(g));
        HK_CUDA(cudaMemcpy(&g->state.clock->time, &time, sizeof time, cudaMemcpyHostToDevice));
    }
    if (g->last_step > 0 && g->last_step != g->step_before)
        HK_TRY(hk_gpu_upload_stages(g, g->last_step));
    g->last_step = g->step;
    g->parity = 1 - g->parity;
    // The buffer that this step fills may still be on its way from two steps ago.
    HK_CUDA(cudaStreamWaitEvent(g->stream, g->copied[g->parity], 0));
    return HK_OK;
}

static void report_step(hk_gpu *g, hk_solve_report *report)
{
    if (g->integrator->stages > 1) {
        hk_solve_report first = {};
        fill_report(g, g->final_stage, &first);
        fill_report(g, g->final, report);
        report->iterations += first.iterations;
        report->linear_iterations += first.linear_iterations;
        hk_join_reports(&first, report);
    } else {
        fill_report(g, g->final, report);
    }
}

extern "C" hk_status hk_gpu_step(hk_gpu *g, double time, hk_solve_report *report)
{
    HK_TRY(prepare_step(g, time));
    HK_CUDA(cudaGraphLaunch(g->graph[g->parity], g->stream));
    // Held vertices that moved may have turned elements inside out.
    bool may_fail = g->model->motion_count > 0 || g->state.targets;
    if (report || may_fail) HK_TRY(wait_for_device(g));
    if (may_fail && g->final->state == HK_GPU_UNDEFINED)
        HK_TRY(hk_gpu_step_by_parts(g, g->staging[g->parity]));
    HK_TRY(copy_positions(g));
    g->expected = time + g->step;
    if (!report) return HK_OK;
    HK_TRY(wait_for_device(g));
    report_step(g, report);
    g->expected = g->clock->time;
    return HK_OK;
}
