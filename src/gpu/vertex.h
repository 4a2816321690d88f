// Kernels over the vertices: the beginning and the end of a time step, and what set-up needs.
#ifndef HK_GPU_VERTEX_H
#define HK_GPU_VERTEX_H

#include "gpu/kernels.h"

extern "C" {
#include "integrator/integrator.h"
}

struct hk_gpu_motion {  // hk_motion
    double axis[3], center[3], degrees, translate[3], over;
};

struct hk_gpu_clock {
    double time;     // s, of the state
    int past;        // there is a step before this one that counts
    int steps_kept;  // steps that were taken, and
    int steps_lost;  // that left the state as it was
};

// A stage of a time step.
struct hk_gpu_stage {
    hk_stage of;
    double begin;             // fraction of the step
    double length;            // s
    double start_a, start_b;  // its first guess is x + a v + b v_before
};
enum { HK_GPU_MOST_STAGES = 2 };

// Positions at the beginning of a stage (held vertices where it ends), the first guess, where
// inertia and forces pull, and the solution.
enum { HK_EXACT_POSITION, HK_EXACT_GUESS, HK_EXACT_TARGET, HK_EXACT_SOLUTION, HK_EXACT_COUNT };

// The state in double precision and what it is made from, in the order of the patches.
struct hk_gpu_state {
    int vertex_count, patch_count, body_count;
    // [vertex_count][3] each, as hk_stage takes them together; NULL: not needed.
    double *known[HK_KNOWN_COUNT];
    // [2][HK_GPU_MOST_STAGES] of a step; the second row where there is a step before it.
    const hk_gpu_stage *stages;
    int stage;                      // the present one
    int stage_count;                // of a step
    double extrapolate;             // as in hk_integrator
    const double *rest, *external;  // [vertex_count][3]; N, gravity and loads
    const double *mass;             // [vertex_count]
    const int *hold;                // [vertex_count] as in the model, or HK_GPU_TARGETED
    const double *targets;          // [vertex_count][3] m, of such vertices; NULL: there is none
    const int *body;                // [vertex_count]
    const int *place;               // [vertex_count] in the model's Morton order
    const hk_gpu_motion *motions;
    const int *anchor;  // [body_count] a vertex in the middle
    double *origin;     // [body_count][3] where it was before the step
    hk_gpu_clock *clock;
    double gravity[3];        // m/s²
    double step, air, drag;   // s, kg/s, 1/s
    double viscous;           // β, s
    double keep;              // of velocities: ether damping
    double rigid;             // part by which they become those of a rigid body: pbd damping
    double part;              // of the way of held vertices that this stage goes
    float *rate;              // [1] β/h of the stage
    double *moments;          // [patch_count][HK_MOMENTS], for pbd damping and energies
    double *body_motion;      // [body_count][9] centre, velocity, spin
    const int *body_patch;    // [body_count + 1] the patches of a body
    const int *vertex_start;  // [patch_count + 1]
    // [vertex_count][3] what methods in double precision begin with and end with; NULL: the method
    // is in single.
    double *exact[HK_EXACT_COUNT];
};
enum { HK_MOMENTS = 16 };

// What displacements are measured from: rest, moved to where the anchor of the body was before the
// step.
struct hk_gpu_frame {
    const double *origin, *rest;
    const int *body, *anchor;
};
#ifdef __CUDACC__
static __host__ __device__ __forceinline__ hk_gpu_frame hk_gpu_frame_of(const hk_gpu_state *s)
{
    hk_gpu_frame frame = {s->origin, s->rest, s->body, s->anchor};
    return frame;
}
static __device__ __forceinline__ void frame_place(const hk_gpu_frame &f, int v, double o[3])
{
    const double *rest = f.rest + 3 * (int64_t)v, *from = f.origin + 3 * f.body[v];
    const double *anchor = f.rest + 3 * (int64_t)f.anchor[f.body[v]];
    for (int i = 0; i < 3; i++) o[i] = from[i] + (rest[i] - anchor[i]);
}
#endif
enum { HK_GPU_TARGETED = -3 };  // held where a user put it

// Where the beginning of a stage goes.
struct hk_gpu_begun {
    float4 *target;           // as in hk_gpu_args, and
    uint32_t *target_bits;    // so
    float4 *position;         // where it begins; held vertices where it ends
    float4 *guess;            // the first guess
    float4 *velocity;         // at the beginning
    float4 *velocity_before;  // one step earlier
    float4 *before;           // positions at the beginning, and
    float4 *from;             // where velocities are measured from; NULL: nobody wants to know
};
// `reached`: where free vertices are instead of at its beginning, or NULL. `kind`: of the start.
void hk_gpu_begin(const hk_gpu_state *s, int kind, const float4 *reached, const hk_gpu_begun *to,
                  cudaStream_t stream);
// For HK_START_OPTIMISED: `speed` is [2], the squares of the mean speeds now and a step before;
// then the guess becomes x + h v with the time h of a probe, v the one velocity or (before) the
// other; and x + a v + b v_before from the three probes at the position and these two.
void hk_gpu_speed(const hk_gpu_state *s, double *speed, cudaStream_t stream);
void hk_gpu_probe_start(const hk_gpu_state *s, double size, const double *speed, bool before,
                        float4 *guess, cudaStream_t stream);
void hk_gpu_optimise(const hk_gpu_state *s, double size, const double *speed,
                     double *const probe[3], float4 *guess, cudaStream_t stream);
// Sets up the control: from the guess if it is fit, else from the position.
void hk_gpu_choose(const hk_gpu_settings *settings, hk_gpu_control *control, int kind,
                   const double *at_position, const double *at_guess, cudaStream_t stream);
// The end of a stage that is not the last; `of_stage` is how it ended.
void hk_gpu_end_stage(const hk_gpu_state *s, hk_gpu_control *control, hk_gpu_control *of_stage,
                      float4 *const good[2], cudaStream_t stream);
// Takes the state over, or leaves the old one; positions also go to `out`, [vertex_count][3] in the
// model's Morton order.
void hk_gpu_finish(const hk_gpu_state *s, hk_gpu_control *control, float4 *const good[2],
                   double *out, cudaStream_t stream);
// After a step: the blend weights of the state that was kept become those of now and of both good
// states.
void hk_gpu_settle(const hk_gpu_args *args, int64_t item_count, const hk_gpu_control *control,
                   cudaStream_t stream);
// sums[3]: kinetic energy, and those of gravity and of loads.
void hk_gpu_energies(const hk_gpu_state *s, double *sums, cudaStream_t stream);

// Displacements at rest: 0.
void hk_gpu_rest_state(const hk_gpu_state *s, float4 *to, cudaStream_t stream);
// Displacements of a body that M turns and deforms about its anchor.
void hk_gpu_bend(const hk_gpu_state *s, const double M[9], float4 *to, cudaStream_t stream);
// Displacements of the state.
void hk_gpu_narrow(const hk_gpu_state *s, float4 *to, cudaStream_t stream);
// The power iteration: q = rest + length v; v = P ((gradient − base)/length + stiffness v);
// partial sums of v² a block of 256 vertices.
void hk_gpu_displace(int count, const float4 *rest, const float4 *v, float length, float4 *q,
                     cudaStream_t stream);
void hk_gpu_apply(int count, const float4 *gradient, const float4 *base, const float4 *inverse,
                  const float4 *target, float length, float scale, float4 *v, double *partial,
                  cudaStream_t stream);

#endif
