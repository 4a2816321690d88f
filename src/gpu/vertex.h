// Kernels over the vertices: the beginning and the end of a time step, and what set-up needs.
#ifndef HK_GPU_VERTEX_H
#define HK_GPU_VERTEX_H

#include "gpu/kernels.h"

struct hk_gpu_motion {  // hk_motion
    double axis[3], center[3], degrees, translate[3], over;
};

struct hk_gpu_clock {
    double time;     // s, of the state
    int steps_kept;  // steps that were taken, and
    int steps_lost;  // that left the state as it was
};

// The state in double precision and what it is made from, in the order of the patches.
struct hk_gpu_state {
    int vertex_count, patch_count, body_count;
    double *x, *v, *v_before;       // [vertex_count][3]
    const double *rest, *external;  // [vertex_count][3]; N, gravity and loads
    const double *mass;             // [vertex_count]
    const int *hold;                // [vertex_count] as in the model
    const int *body;                // [vertex_count]
    const int *place;               // [vertex_count] in the model's Morton order
    const hk_gpu_motion *motions;
    const int *anchor;  // [body_count] a vertex in the middle
    double *origin;     // [body_count][3] where it was before the step
    hk_gpu_clock *clock;
    double gravity[3];        // m/s²
    double step, air;         // s, kg/s
    double keep;              // of velocities: ether damping
    double rigid;             // share by which they become those of a rigid body: pbd damping
    double share;             // of the way of held vertices that this step goes
    double *moments;          // [patch_count][HK_MOMENTS], for pbd damping and energies
    double *body_motion;      // [body_count][9] centre, velocity, spin
    const int *body_patch;    // [body_count + 1] the patches of a body
    const int *vertex_start;  // [patch_count + 1]
};
enum { HK_MOMENTS = 16 };

// How a step starts: x, or x + a v + b v_before.
struct hk_gpu_start {
    double a, b;
    int kind;       // HK_START_…
    bool adaptive;  // and what the last step had of the external acceleration (solver/start.c)
};

// `from`: where free vertices are instead of the state's positions, or NULL.
void hk_gpu_begin(const hk_gpu_state *s, hk_gpu_start start, const float4 *from, float4 *target,
                  float4 *position, float4 *guess, float4 *velocity, cudaStream_t stream);
// For HK_START_OPTIMISED: the guess becomes x + d v with d from two probes.
void hk_gpu_optimise(const hk_gpu_state *s, const double *at_position, const double *at_guess,
                     float4 *guess, cudaStream_t stream);
// Sets up the control: from the guess if it is fit, else from the position.
void hk_gpu_choose(const hk_gpu_settings *settings, hk_gpu_control *control, int kind,
                   const double *at_position, const double *at_guess, cudaStream_t stream);
// Takes the state over, or leaves the old one; positions also go to `out`, [vertex_count][3] in the
// model's Morton order.
void hk_gpu_finish(const hk_gpu_state *s, const hk_gpu_control *control, float4 *const good[2],
                   double *out, cudaStream_t stream);
// After a step: the shares of the state that was kept become those of now and of both good states.
void hk_gpu_settle(const hk_gpu_args *args, int64_t item_count, const hk_gpu_control *control,
                   cudaStream_t stream);
// sums[3]: kinetic energy, and those of gravity and of loads.
void hk_gpu_energies(const hk_gpu_state *s, double *sums, cudaStream_t stream);

// x relative to the body's anchor at rest.
void hk_gpu_rest_state(const hk_gpu_state *s, float4 *to, cudaStream_t stream);
// M times that.
void hk_gpu_bend(const hk_gpu_state *s, const double M[9], float4 *to, cudaStream_t stream);
// x of the state relative to the origins.
void hk_gpu_narrow(const hk_gpu_state *s, float4 *to, cudaStream_t stream);
// The power iteration: q = rest + length v; v = P ((gradient − base)/length + stiffness v);
// partial sums of v² a block of 256 vertices.
void hk_gpu_displace(int count, const float4 *rest, const float4 *v, float length, float4 *q,
                     cudaStream_t stream);
void hk_gpu_apply(int count, const float4 *gradient, const float4 *base, const float4 *inverse,
                  const float4 *target, float length, float scale, float4 *v, double *partial,
                  cudaStream_t stream);

#endif
