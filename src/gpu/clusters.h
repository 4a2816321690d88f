// What one pass of method `split` takes to the device of the rotation correction
// (solver/rotation_correction.h), made on the host once for a constant matrix, whose solves are
// done by conjugate gradients with multigrid. Vertices are in the order of the patches, lengths in
// metres.
#ifndef HK_GPU_CLUSTERS_H
#define HK_GPU_CLUSTERS_H

#include "gpu/laplacian.h"

enum { HK_GPU_COLUMN_BLOCK = 32 };  // HK_ROTATION_BLOCK: a warp reads their columns side by side

typedef struct hk_gpu_cluster_entry {
    int32_t vertex;
    float slope[3];  // g_cj, 1/m
} hk_gpu_cluster_entry;

typedef struct hk_gpu_turner {
    int32_t clusters;  // of the body; 0: it is left as it is
    int32_t first;     // of them
    // Where its columns and its τ begin; a system of 3 clusters has as much room as τ, and a
    // column more.
    int64_t columns, tau, system;
} hk_gpu_turner;

typedef struct hk_gpu_clusters {
    int vertex_count, body_count, count;  // the last: clusters
    hk_gpu_turner *turners;               // [body_count]
    int32_t *start;                       // [count + 1] in entries
    hk_gpu_cluster_entry *entries;
    double *inverse_weight;  // [count] 1/(2 W_c), 1/J
    // [vertex_count] n of a vertex in the columns of its body, -1: it has none. Number q of the
    // columns is at [columns + (n / 32 × 3 clusters + q) × 32 + n % 32].
    int32_t *slot;
    float *columns;  // [column_count] P
    double *tau;     // [tau_count]
    int64_t column_count, tau_count, system_count;
} hk_gpu_clusters;

// At most `most` clusters of a body; all materials turn.
hk_status hk_gpu_clusters_create(const hk_gpu_matrix *matrix, int most, hk_gpu_clusters **clusters);
void hk_gpu_clusters_free(hk_gpu_clusters *clusters);

#endif
