// The elements of a body in clusters that turn alike, for corrections of constant matrices.
#ifndef HK_CLUSTERS_H
#define HK_CLUSTERS_H

#include "model/model.h"

enum { HK_CLUSTER_TETS = 48 };  // a cluster has about so many at least

// Fills cluster[] of the body's tets by recursive bisection along the longest axis. stiffness is
// [material_count], K_e over volume, N/m².
hk_status hk_find_clusters(const hk_model *model, const hk_body *body, const double *stiffness,
                           int count, int32_t *cluster);
// Sums Σ K ∇φ of one cluster over the vertices of the body, [vertex_count][3] as the user numbers
// them; returns Σ K.
double hk_cluster_slopes(const hk_model *model, const hk_body *body, const double *stiffness,
                         const int32_t *cluster, int which, double *sum);

#endif
