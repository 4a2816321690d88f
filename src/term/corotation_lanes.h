// The element kernels of Split (sections 3.1 and 3.2) in single precision, one table a lane type
// and instruction set (see cmake/lanes.cmake), over patches of neighbouring tets.
//
// A patch takes the positions of its vertices into an array of its own that stays in the nearest
// cache, where 16 bytes a corner are loaded and turned into lanes in registers, and adds forces up
// in another one. Only sums of vertices leave the patch: those that no other patch has go where
// they are needed at once, the others through memory to be added up in a fixed order.
#ifndef HK_COROTATION_LANES_H
#define HK_COROTATION_LANES_H

#include <stdint.h>

enum {
    HK_COROTATION_TETS = 1024,                                 // in a patch, at most
    HK_COROTATION_VERTICES = 4 * HK_COROTATION_TETS,           // at most; in practice about 200
    HK_COROTATION_ROOM = 2 * 4 * (HK_COROTATION_VERTICES + 1)  // floats, for positions and sums
};

// How the volume half of the energy reads; the other half is μ‖F − R‖² for all.
typedef enum hk_volume_law {
    HK_VOLUME_NONE,   // arap
    HK_VOLUME_TRACE,  // corotated: λ/2 tr(RᵀF − I)²
    HK_VOLUME_J,      // fixed corotated: λ/2 (J − 1)²
} hk_volume_law;

// What stands for the volume half next to the stretching half.
typedef enum hk_pressure {
    HK_PRESSURE_NONE,
    HK_PRESSURE_CARRIED,  // κ ∇C of the volume constraints
    HK_PRESSURE_TRACE,    // −λV tr(RᵀF − I) R, within bounds
} hk_pressure;

typedef struct hk_corotation_patch {
    hk_volume_law law;
    int mild;  // see hk_corotation_mild
    float mu, lambda;
    int vertex_count;
    const int32_t *vertex;  // [vertex_count] where its vertices are
    const int32_t *target;  // [vertex_count] where sums go: a row of the result, or −1 − row shared
    // In blocks of `lanes` tets. Neighbours are in different blocks, so that sums of one vertex do
    // not wait for each other.
    int blocks;
    const uint16_t *index;  // [blocks][4][lanes] 2 × the place in the patch (term/corner4.h);
                            // padding are copies without volume
    const float *rest;      // [blocks][10][lanes] inverse of the rest edges by rows, volume
    float *quaternion;      // [blocks][4][lanes] the rotations: x, y, z, w
    float *multiplier;      // [blocks + 1][lanes] κ of the volume constraint; the last are padding
    // In groups of `lanes` tets no two of which have a vertex in common, for Gauss–Seidel.
    int groups;
    const uint16_t *group_index;  // [groups][4][lanes] alike; padding has the place vertex_count
    const uint16_t *group_tet;    // [groups][lanes] its place in `multiplier`
    const float *group_volume;    // [groups][lanes] 6 × volume; padding 0
} hk_corotation_patch;

typedef struct hk_corotation_table {
    const char *name;  // "f32x16_avx512"
    int lanes;
    // x is float[][4], room HK_COROTATION_ROOM floats.
    // Brings the rotations up to date at x; sums of 2μV (R − F) ∇φ into result and shared, [][4],
    // and of the forces of the volume half that `pressure` says.
    void (*stretch)(const hk_corotation_patch *p, hk_pressure pressure, const float *x,
                    float *workspace, float *result, float *shared);
    // Brings the rotations up to date at x and does no more.
    void (*rotate)(const hk_corotation_patch *p, const float *x, float *workspace);
    // The gradient of the whole energy; returns the energy.
    double (*gradient)(const hk_corotation_patch *p, const float *x, float *workspace,
                       float *result, float *shared);
    // A sweep over the volume constraints of the patch; x[][3] is the inverse weight of a vertex.
    // `reset`: multipliers are taken for 0.
    void (*volume)(const hk_corotation_patch *p, int reset, float *x, float *workspace);
    // Rotations of `lanes` matrices, each × √θ; number k of a matrix is at [k * stride]. θ (0..1)
    // is how much a matrix that is the mean of many is like a rotation in all planes: those of
    // elements that do not turn alike are too short, or inside out, those of stretched elements too
    // long.
    void (*rotations)(const float *matrix, int stride, float *rotation);
} hk_corotation_table;

// The widest table that this CPU can run.
const hk_corotation_table *hk_corotation_best(void);
// All of them, for tests; returns the count.
int hk_corotation_available(const hk_corotation_table *tables[], int workspace);

#endif
