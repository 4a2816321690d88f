// A model on the device: its memory, and the launches of a time step.
#ifndef HK_DEVICE_H
#define HK_DEVICE_H

extern "C" {
#include "gpu/gpu.h"
#include "gpu/layout.h"
}
#include "gpu/vertex.h"

enum { HK_GPU_BLOCKS_OF_MEMORY = 96 };

struct hk_gpu_vbd;
struct hk_gpu_persistent;

struct hk_gpu {
    const hk_model *model;
    const hk_method *method;
    hk_settings settings;
    double step;
    hk_damping damping;
    char device[64];
    hk_gpu_layout *layout;
    // Device memory, freed together.
    void *memory[HK_GPU_BLOCKS_OF_MEMORY];
    int memory_count;
    size_t memory_bytes;
    hk_gpu_args args;  // what all launches share
    hk_gpu_state state;
    hk_gpu_start start;
    float4 *q[3];  // iterates
    float4 *velocity;
    float4 *before;   // positions before the step, for viscous damping
    float4 *reached;  // where the shares of a step led so far
    float *least;
    hk_gpu_control *control[2];
    hk_gpu_settings *device_settings;
    double *probe[2];
    double *staging[2];  // [vertex_count][3] positions on their way to the host
    // Host.
    hk_gpu_settings plan;
    const hk_gpu_kernels *kernels;
    int general;  // 0 or 1: some elements convert, or there is viscous damping
    bool converts;
    bool constant_diagonal;
    size_t shared_bytes;
    cudaStream_t stream, copying;
    cudaEvent_t stepped, copied[2];
    cudaGraphExec_t graph[2];       // of a step, with the one staging buffer and the other
    int parity;                     // staging buffer of the last step
    bool fresh;                     // positions of the last step are on their way
    double *pinned[2];              // [vertex_count][3]
    hk_gpu_control *final;          // pinned, after the last step
    hk_gpu_clock *clock;            // pinned
    double expected;                // s, time on the device if all steps were kept
    hk_gpu_persistent *persistent;  // NULL: one kernel an iteration
    hk_gpu_vbd *vbd;                // of that method, else NULL
    void *quasi_newton;             // what quasi_newton.cu keeps; NULL: another method
};

#define HK_CUDA(call)                                                                  \
    do {                                                                               \
        cudaError_t hk_cuda_error_ = (call);                                           \
        if (hk_cuda_error_ != cudaSuccess) return hk_cuda_fail(hk_cuda_error_, #call); \
    } while (0)
hk_status hk_cuda_fail(cudaError_t error, const char *call);

// Device memory that hk_gpu_free releases.
hk_status hk_gpu_take(hk_gpu *g, size_t count, size_t size, void **to);
template <class T> hk_status hk_gpu_room(hk_gpu *g, size_t count, T **to)
{
    return hk_gpu_take(g, count, sizeof(T), (void **)to);
}
template <class T> hk_status hk_gpu_upload(hk_gpu *g, const T *from, size_t count, const T **to)
{
    T *room;
    HK_TRY(hk_gpu_room(g, count, &room));
    HK_CUDA(cudaMemcpy(room, from, count * sizeof(T), cudaMemcpyHostToDevice));
    *to = room;
    return HK_OK;
}

// Kernels that may begin before the one before them ends, and wait by themselves, all of them, by
// cudaGridDependencySynchronize: else the next one would not know that the ones before are done.
// The first is over all patches.
hk_status hk_gpu_launch(hk_gpu *g, const void *kernel, const hk_gpu_args *args);
hk_status hk_gpu_launch_some(const hk_gpu *g, const void *kernel, int blocks, int threads,
                             void **args);

// setup.cu
hk_status hk_gpu_set_up(hk_gpu *g);
// steps.cu
hk_status hk_gpu_launch_step(hk_gpu *g, double *staging);
// A step whose held vertices go their way in shares: after one that failed at its start.
hk_status hk_gpu_step_by_shares(hk_gpu *g, double *staging);
// Makes the state before the step the one that viscous damping holds back to.
hk_status hk_gpu_begin_viscosity(hk_gpu *g, const float4 *state);
hk_status hk_gpu_probe(hk_gpu *g, const float4 *state, int flags, float4 *gradient, double *sums);
// resident.cu: lays the model out to be resident, if it fits; else g->layout stays NULL. wanted: so
// many blocks a multiprocessor; 0: what fits, −1: do not.
hk_status hk_gpu_plan_persistent(hk_gpu *g, const cudaDeviceProp *device, int wanted);
hk_status hk_gpu_set_up_persistent(hk_gpu *g, int every);  // after hk_gpu_set_up
// All iterations of a step; kind as in hk_gpu_persistent_args.
hk_status hk_gpu_launch_persistent(hk_gpu *g, int kind, hk_gpu_control **last);
void hk_gpu_describe_persistent(const hk_gpu *g, char *text, size_t size);
// vbd.cu: of method vbd, after hk_gpu_set_up
hk_status hk_gpu_set_up_vbd(hk_gpu *g, int multiprocessors);
void hk_gpu_free_vbd(hk_gpu_vbd *vbd);
// The sweeps of a step; its control is in `last` afterwards.
hk_status hk_gpu_launch_vbd(hk_gpu *g, hk_gpu_control **last);
// What describes it.
void hk_gpu_describe_vbd(const hk_gpu_vbd *vbd, char *text, size_t size);
// quasi_newton.cu
bool hk_gpu_uses_quasi_newton(const hk_gpu *g);
hk_status hk_gpu_plan_quasi_newton(hk_gpu *g);
hk_status hk_gpu_create_quasi_newton(hk_gpu *g);  // after hk_gpu_set_up
hk_status hk_gpu_launch_quasi_newton(hk_gpu *g, hk_gpu_control **last);
void hk_gpu_describe_quasi_newton(const hk_gpu *g, char *text, size_t size);

#endif
