// A model on the device: its memory, and the launches of a time step.
#ifndef HK_DEVICE_H
#define HK_DEVICE_H

extern "C" {
#include "gpu/gpu.h"
#include "gpu/layout.h"
}
#include "gpu/vertex.h"

enum { HK_GPU_BLOCKS_OF_MEMORY = 320 };

struct hk_gpu_persistent;

// Rows of a constant matrix whose diagonal live elements raise.
enum { HK_GPU_MOST_RAISED = 256 };
struct hk_gpu_raised {
    int count;
    int row[HK_GPU_MOST_RAISED];
    float by[HK_GPU_MOST_RAISED];  // N/m
};

// A term beside tets.
struct hk_gpu_term {
    const hk_gpu_term_ops *ops;
    void *term;
    int part;  // its first one of hk_gpu_args.term_energy
};
enum { HK_GPU_MOST_TERMS = 16 };

struct hk_gpu {
    const hk_model *model;
    const hk_method *method;
    hk_settings settings;
    const hk_integrator *integrator;
    double beta, gamma;
    double step;
    hk_damping damping;
    const hk_live *live;  // what a world changed; NULL: nothing
    int64_t live_shape;   // hk_live.shape_version that the terms are of
    char device[64];
    hk_gpu_layout *layout;
    int32_t *number;  // [vertex_count] along the Morton curve → of the patches
    // Device memory, freed together.
    void *memory[HK_GPU_BLOCKS_OF_MEMORY];
    int memory_count;
    size_t memory_bytes;
    hk_gpu_args args;  // what all launches share
    hk_gpu_state state;
    int start;  // HK_START_…
    hk_gpu_stage *stages;
    bool roomy;    // iterations are best done by the kernel with more registers
    float4 *q[3];  // iterates
    float4 *velocity, *velocity_before;
    // With viscous damping, else NULL: positions at the beginning of a stage, and where velocities
    // are measured from.
    float4 *before, *from;
    float4 *reached;  // where the parts of a stage led so far
    float *least;
    hk_gpu_control *control[2];
    hk_gpu_control *of_stage;  // the end of the stage before
    hk_gpu_settings *device_settings;
    double *probe[3];
    double *speed;       // [2] m²/s², the mean of its square, and that of the one before
    double *staging[2];  // [vertex_count][3] positions on their way to the host
    float4 *term_gradient, *term_diagonal;  // [vertex_count], and [term_capacity] of hk_gpu_args
    double *term_energy;
    int term_capacity;
    void *edit_workspace;  // [edit_bytes] lists of an edit
    size_t edit_bytes;
    hk_gpu_raised raised;  // in a constant diagonal at present
    float4 *kept;          // [HK_GPU_MOST_RAISED] what it was without
    // Host.
    hk_gpu_settings plan;
    const hk_gpu_kernels *kernels;
    const hk_gpu_exact_kernels *exact_kernels;
    const hk_gpu_exact_batch *exact_batches;  // device memory
    double2 *exact_shapes;                    // [HK_GPU_EXACT_SHAPE][items], device memory
    // Those at work: of the model, then those of the world that have elements now.
    hk_gpu_term terms[HK_GPU_MOST_TERMS];
    int term_count, model_term_count;
    hk_gpu_term live_terms[HK_GPU_MOST_TERMS];  // all of the world
    int live_count;
    int general;  // 0 or 1: elements may be blended, or there is viscous damping, or another term
    bool blends;
    int window;        // steps that L-BFGS remembers
    bool wants_exact;  // the method evaluates elements in double precision where that is possible
    bool exact;        // and it is
    bool constant_diagonal;
    bool may_persist;  // the method has a persistent kernel
    double reach;      // m, the longest side of the box around all bodies
    size_t shared_bytes;
    cudaStream_t stream, copying;
    cudaEvent_t stepped, copied[2];
    cudaGraphExec_t graph[2];       // of a step, with the one staging buffer and the other
    int parity;                     // staging buffer of the last step
    bool fresh;                     // positions of the last step are on their way
    double *pinned[2];              // [vertex_count][3]
    hk_gpu_control *final;          // pinned, after the last step
    hk_gpu_control *final_stage;    // pinned, of the stage before
    hk_gpu_clock *clock;            // pinned
    double expected;                // s, time on the device if all steps were kept
    double step_before;             // s, of the step that the stages on the device come after
    double last_step;               // s, of the last one that was launched; 0: none
    const hk_gpu_method *run;       // what takes the steps: the method's, or what it leaves them to
    hk_gpu_persistent *persistent;  // of descent; NULL: one kernel per iteration
    struct hk_gpu_rigid *rigid;  // free bodies; NULL: there are none, or the method needs no help
    void *own;                   // what another method keeps
};

#define HK_CUDA(call)                                                                  \
    do {                                                                               \
        cudaError_t hk_cuda_error_ = (call);                                           \
        if (hk_cuda_error_ != cudaSuccess) return hk_cuda_fail(hk_cuda_error_, #call); \
    } while (0)
hk_status hk_cuda_fail(cudaError_t error, const char *call);

// Device memory that hk_gpu_free releases.
hk_status hk_gpu_take(hk_gpu *g, size_t count, size_t size, void **to);
template <class T> hk_status hk_gpu_alloc(hk_gpu *g, size_t count, T **to)
{
    return hk_gpu_take(g, count, sizeof(T), (void **)to);
}
template <class T> hk_status hk_gpu_upload(hk_gpu *g, const T *from, size_t count, const T **to)
{
    T *room;
    HK_TRY(hk_gpu_alloc(g, count, &room));
    HK_CUDA(cudaMemcpy(room, from, count * sizeof(T), cudaMemcpyHostToDevice));
    *to = room;
    return HK_OK;
}

// Kernels that may begin before the one before them ends, and wait by themselves, all of them, by
// cudaGridDependencySynchronize: else the next one would not know that the ones before are done.
// The first is over all patches.
hk_status hk_gpu_launch(hk_gpu *g, const void *kernel, const hk_gpu_args *args);
// The same after what other terms add to it: of kernels that step or check, and of the diagonal.
hk_status hk_gpu_launch_forces(hk_gpu *g, const void *kernel, const hk_gpu_args *args);
hk_status hk_gpu_launch_diagonal(hk_gpu *g, const hk_gpu_args *args);
static inline bool hk_gpu_has_terms(const hk_gpu *g)
{
    return g->term_count > 0;
}
hk_status hk_gpu_launch_some(const hk_gpu *g, const void *kernel, int blocks, int threads,
                             void **args);

hk_status hk_gpu_launch_exact(hk_gpu *g, const void *kernel, const hk_gpu_exact_args *args);

// quasi_newton.cu: the gradient of all terms at a state, and its sums in g->probe[0]; in double
// precision where that is possible (g->exact).
struct hk_gpu_point {
    const double *state;      // [vertex_count][3]
    float4 *narrow;           // room for it in single precision
    float4 *gradient;         // where it goes; inertia is not part of it
    hk_gpu_control *control;  // going: it is wanted
    bool first;               // with the sums of a start
    bool bounded;             // hk_gpu_exact_args
};
hk_status hk_gpu_check_at(hk_gpu *g, const hk_gpu_point *at);

// Records the step anew, after what it launches changed.
hk_status hk_gpu_record(hk_gpu *g);
// setup.cu
hk_status hk_gpu_set_up(hk_gpu *g);
// edit.cu: targets at set-up; what live elements raise, and a constant diagonal of descent with it.
hk_status hk_gpu_take_targets(hk_gpu *g);
hk_status hk_gpu_live_rows(hk_gpu *g, hk_gpu_raised *rows);
hk_status hk_gpu_take_live_diagonal(hk_gpu *g);
// Of all stages of a step (after another one) that with the most inertia, and with the least.
hk_gpu_stage hk_gpu_heaviest_stage(const hk_gpu *g);
hk_gpu_stage hk_gpu_lightest_stage(const hk_gpu *g);
// The stages of a step after one of `before` seconds, on the device.
hk_status hk_gpu_upload_stages(hk_gpu *g, double before);
// steps.cu
hk_status hk_gpu_launch_step(hk_gpu *g, double *staging);
// A step whose held vertices go their way in parts: after one that failed at its start.
hk_status hk_gpu_step_by_parts(hk_gpu *g, double *staging);
// The beginning of a stage: targets, the two starts, what damping needs. `reached` as hk_gpu_begin
// has it.
hk_status hk_gpu_begin_stage(hk_gpu *g, const float4 *reached);
// The part of it that damping needs, at g->before and g->from.
hk_status hk_gpu_begin_damping(hk_gpu *g);
hk_status hk_gpu_probe(hk_gpu *g, const float4 *state, int flags, float4 *gradient, double *sums);
// rigid.cu: both starts of a stage with free bodies where they are best as rigid ones.
hk_status hk_gpu_rigid_create(hk_gpu *g);
void hk_gpu_rigid_free(hk_gpu *g);
hk_status hk_gpu_rigid_take_grabs(hk_gpu *g);
hk_status hk_gpu_align(hk_gpu *g);
// persistent.cu: lays the model out to stay on the device, if it fits; else g->layout stays NULL.
// wanted: so many blocks on a multiprocessor; 0: what fits, −1: do not.
hk_status hk_gpu_plan_persistent(hk_gpu *g, const cudaDeviceProp *device, int wanted);
hk_status hk_gpu_set_up_persistent(hk_gpu *g);
// It knows nothing of terms beside tets.
static inline bool hk_gpu_is_persistent(const hk_gpu *g)
{
    return g->persistent && !hk_gpu_has_terms(g);
}
// All iterations of a step; kind as in hk_gpu_persistent_args.
hk_status hk_gpu_launch_persistent(hk_gpu *g, int kind, hk_gpu_control **last);
void hk_gpu_describe_persistent(const hk_gpu *g, char *text, size_t size);

#endif
