// What the kernels and the host that launches them share.
#ifndef HK_KERNELS_H
#define HK_KERNELS_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "gpu/control.h"
#include "material/list.h"

// hk_law_params and hk_blend_law (material/params.h) in single precision; law.cu reads them as
// such.
struct hk_gpu_curve {
    int powers, knots;
    float power[12], knot[24], jump[24];
    float value, slope;
};
struct hk_gpu_batch {
    float c[5];
    hk_gpu_curve curves[3];
    float upper, lower, decay, stiffness, modulus;
    int steps_only;
    int law;
};

// hk_law_params in double precision, for the kernels of law_exact.cu.
struct hk_gpu_exact_curve {
    int powers, knots;
    double power[12], knot[24], jump[24], value, slope;
};
struct hk_gpu_exact_batch {
    double c[5];
    hk_gpu_exact_curve curves[3];
    int law;
};

struct hk_gpu_patch_data {
    int vertex, own, ghost, locals, item, round, rounds, items;
};
struct hk_gpu_round_data {
    int first, last, batch, counts, bases;
};

struct hk_gpu_shapes {
    const float4 *row0;  // 00 01 02 10
    const float4 *row1;  // 11 12 20 21
    const float *row2;   // 22
};

// The model as it lies in device memory (layout.h).
struct hk_gpu_model {
    int vertex_count, patch_count;
    int most_slots;  // of a round
    const hk_gpu_patch_data *patches;
    const int *ghost;
    hk_gpu_shapes shape;  // of layout.h
    const uint4 *items;
    const float4 *element;
    const hk_gpu_round_data *rounds;
    const uint16_t *count, *base;
    const hk_gpu_batch *batches;
};

// Flags of `check`.
enum {
    HK_CHECK_FIRST = 1,      // at the start of a step
    HK_CHECK_LAST = 2,       // moves nothing
    HK_CHECK_DEFER = 4,      // `compare` decides …
    HK_CHECK_SETTLE = 32,    // … unless no element is blended: then there is nothing to compare
    HK_CHECK_PROBE = 8,      // only fills `probe`; moves and decides nothing
    HK_CHECK_GRADIENT = 16,  // a probe that writes the gradient of all terms, too
    HK_CHECK_NO_TIES = 64,   // without terms that tie bodies to something outside
    HK_CHECK_UNDAMPED = 128  // without viscous damping
};

// Of one launch. Buffers are [vertex_count] in the order of the patches, positions as
// displacements from rest, relative to the anchors of the bodies (hk_gpu_frame of vertex.h), with
// more bits in .w (fine.h).
struct hk_gpu_args {
    hk_gpu_model model;
    const hk_gpu_settings *settings;
    hk_gpu_control *now, *next;  // of this iteration and the following one
    int iteration, flags;
    const float4 *q, *last;
    float4 *moved;                // q of the next iteration
    float4 *down;                 // Nesterov's: q before its extrapolation
    float4 *good[2];              // states that were kept, or are about to be
    const float4 *target;         // where inertia and forces pull; .w: how stiffly, N/m; 0: held
    const uint32_t *target_bits;  // more of its coordinates: fine.h
    const float4 *force;          // N; .w: mass
    float4 *inverse;              // of the diagonal of the Hessian; 0 at held vertices
    const float *least;           // the least diagonal that it takes for granted
    const float4 *state;          // of a probe, and of the diagonal at rest; else NULL
    const float4 *slope, *slope_before;  // two directions, for probes; or NULL
    float4 *gradient;                    // of a probe
    double *probe;                       // [HK_SUM_WIDTH]
    float *viscosity;    // [HK_GPU_VISCOUS_PLANES][item_count], or NULL: no viscous damping
    const float4 *from;  // of its set-up: where displacements are measured from
    const float *rate;   // [1] β/h
    int64_t item_count;
    // Terms beside tets, at the state that the launch is about (terms.h): gradient, diagonal of the
    // Hessian, and the energy in parts. NULL: there are none.
    float4 *term_gradient, *term_diagonal;
    double *term_energy;
    int term_parts;
    // Elements that are blended: the weight of each item and whether a patch has any; of `now`, and
    // of the good states. NULL: none can be.
    float *blend, *good_blend[2];
    int *blended, *good_blended[2];
    int *held;           // [1] weights do not decay
    double *partial;     // [patch_count][HK_SUM_WIDTH]
    unsigned *finished;  // blocks that are done; 0 between kernels
};

// Of a launch in double precision: energy, residual and gradient at a state (law_exact.cu). Vectors
// of doubles are [vertex_count][3].
struct hk_gpu_exact_args {
    hk_gpu_model model;
    const hk_gpu_exact_batch *batches;
    // Of every item the shape gradients of its corners 1, 2, 3 and its volume: planes of two
    // numbers.
    double2 *shapes;
    int64_t item_count;
    const hk_gpu_control *now;  // NULL: it is wanted in any case
    int flags;                  // HK_CHECK_FIRST
    int bounded;                // the pressure of corotated is (split_bound_stress)
    const double *state, *rest, *target;
    const float4 *stiffness;  // hk_gpu_args.target: .w
    const float4 *force;
    float4 *gradient;  // of all terms
    double *probe;     // [HK_SUM_WIDTH]
    const float4 *term_gradient;
    const double *term_energy;
    int term_parts;
    double *partial;
    unsigned *finished;
};
// Bytes of a vertex in the shared memory of its patch; planes of shapes.
enum { HK_GPU_EXACT_VERTEX = 24, HK_GPU_EXACT_SHAPE = 5 };
struct hk_gpu_exact_kernels {
    const void *shapes;  // fills them, once
    const void *check;
};

// HK_GPU_ZERO_SLOT and HK_GPU_SKEW of layout.h, for the kernels.
enum { HK_KERNEL_ZERO_SLOT = 1, HK_KERNEL_SKEW = 1 };
enum { HK_GPU_THREADS = 256, HK_GPU_MOST_GROUPS = 4, HK_GPU_VISCOUS_PLANES = 63 };

struct hk_gpu_kernels {
    const void *step[2];    // an iteration; [1]: hk_gpu.general
    const void *roomy;      // the first of them, with more registers for fewer blocks
    const void *check[2];   // an iteration, with energy and residual of where it begins
    const void *diagonal;   // refreshes `inverse`
    const void *compare;    // energies of two states with blended elements, and the decision
    const void *viscosity;  // of the state before the step
};

// Of the persistent kernel, which does all iterations of a time step by itself (law_persistent.cu).
struct hk_gpu_persistent_args {
    hk_gpu_args a;
    int budget;  // iterations
    int every;   // iterations between two diagonals; 0: `inverse` stays
    // How the start is chosen (HK_START_…); −1: control `now` says it already.
    int kind;
    int most_own, most_items, most_rounds;  // of a patch
    float4 *exchange[2];                    // [vertex_count] positions with their tags
    // [patch_count][HK_SUM_WIDTH] a double and its tag: what checks add up, and where blocks meet.
    uint4 *packet[4];
    unsigned *epoch;  // tags so far
};

struct hk_gpu_persistent_kernel {
    const void *kernel[2];  // [1] where elements may be blended
    int groups;  // of HK_GPU_THREADS threads on a multiprocessor, at most; 0: not for this law
};

#define HK_GPU_TABLE(X)                                              \
    extern "C" const hk_gpu_kernels hk_gpu_kernels_##X;              \
    extern "C" const hk_gpu_persistent_kernel hk_gpu_persistent_##X; \
    extern "C" const hk_gpu_exact_kernels hk_gpu_exact_##X;
HK_LAWS(HK_GPU_TABLE)
HK_GPU_TABLE(any)
#undef HK_GPU_TABLE

#endif
