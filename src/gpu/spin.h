// The spin correction of quasi_newton (solver/spin_correction.h) on the device: what clusters of
// elements resist to turning is taken out of the constant matrix.
#ifndef HK_GPU_SPIN_H
#define HK_GPU_SPIN_H

#include "gpu/device.h"
#include "gpu/quasi_newton.h"

extern "C" {
#include "gpu/laplacian.h"
#include "solver/spin_bodies.h"
}

struct hk_gpu_spin_run {
    int first, last, body;  // vertices; of those with clusters
};

// Of every body as if it had `most` clusters.
struct hk_gpu_spins {
    int body_count;  // 0: nothing is corrected
    int most, vertex_count, run_count;
    const int *clusters;          // [body_count]
    const float *columns;         // [3 most][vertex_count] P, in the order of the patches
    const hk_gpu_spin_run *runs;  // [run_count]
    const int *run_start;         // [body_count + 1]
    const int *entry_start;       // [body_count most + 1]
    const int *entry_vertex;
    const double *entry_slope;  // [entries][3]
    const double *weight;       // [body_count][most]
    const double *tau;          // [body_count][3 most][3 most]
    double *rotation;           // [body_count][most][9]
    double *compliance;         // [body_count][most] 1/C
    double *inverse;            // [body_count][3 most][3 most] of C⁻¹ − B Q
    double *partial;            // [run_count][3 most][3] Pᵀ q
    float *turn;                // [body_count][3][3 most] what columns are multiplied with
    unsigned *finished;         // blocks that are done; 0 between kernels
};

// With the weights of the matrix; `multigrid` solves with it on the CPU.
hk_status hk_gpu_spins_create(hk_gpu *g, const hk_gpu_matrix *matrix,
                              const hk_gpu_triangle *numbers, hk_multigrid *multigrid, int clusters,
                              hk_gpu_spins *spins);
// Rotations at x, [vertex_count][3].
hk_status hk_gpu_spins_turn(hk_gpu *g, const hk_gpu_spins *spins, const double *x);
// Adds to t = A⁻¹ q. The kernels do nothing unless a state was accepted and the walk goes on.
hk_status hk_gpu_spins_correct(hk_gpu *g, const hk_gpu_spins *spins, const hk_qn_control *control,
                               const float4 *q, float4 *t);

#endif
