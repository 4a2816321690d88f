// The element kernels, one table a lane type and instruction set (see cmake/lanes.cmake). They work
// on batches: tets of one law, packed as structures of arrays in blocks of `lanes` elements.
//
// Positions, or displacements from a base, are scalar[vertex_count][4] (the fourth is padding), so
// that a corner is one vector load and `lanes` corners are transposed in registers. Corner results
// go the same way into the slots of a patch, about a thousand neighbouring tets: a small array
// sorted by vertex that stays in the cache and is summed at once. Only the sums of vertices that
// several patches share go through memory, to be added up at the end. Patches do not depend on the
// number of threads and every sum has a fixed order, so the bits are the same for any number of
// threads.
#ifndef HK_LANES_H
#define HK_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "material/list.h"
#include "material/params.h"

enum {
    HK_TET_PAIRS = 10,                    // corner pairs a ≤ b: 00 01 02 03 11 12 13 22 23 33
    HK_TET_STIFFNESS = 9 * HK_TET_PAIRS,  // numbers a tet in the output of `stiffness`
    HK_PATCH_TETS = 1024                  // at most; a multiple of every lane count
};

// Whether some lane of a block has a share l > 0, and whether one wanted it when l was brought up
// to date last.
enum { HK_BLENDED = 1, HK_BLEND_WANTED = 2 };

// `scalar` below is float or double by the table.
typedef struct hk_tet_batch {
    hk_law law;
    hk_law_params params;
    int part;    // of the material that this is (hk_material_part)
    int count;   // tets
    int blocks;  // of `lanes` tets; the last is padded with copies of weight 0
    int element_values;
    int32_t *vertex;  // [blocks][4][lanes]
    uint16_t *slot;   // [blocks][4][lanes] within the patch; padding has one that nobody reads
    void *inverse;    // scalar[blocks][9][lanes] inverse of the rest edge matrix, row-major, 1/m
    // scalar[blocks][6][lanes] the same in the frame of the rest edges themselves, where it is an
    // upper triangle (stvk_edges.inl): for the kernels `edges`, else NULL.
    void *edge_inverse;
    void *volume;   // scalar[blocks][lanes] m³; 0 for padding
    void *element;  // scalar[blocks][element_values][lanes], or NULL
    int32_t *tet;   // [blocks][lanes] number of the tet in the model
    // scalar[vertex_count][4]: x are displacements from a base, and the base has this displacement
    // from rest (hk_frame). NULL: x are positions. In single precision only.
    const void *base;
    void *start;  // scalar[blocks][9][lanes] F − 1 of the base, from `set_start`; NULL: from `base`
    // For materials that convert, else NULL:
    void *blend;       // scalar[blocks][lanes] the share l of projective dynamics
    uint8_t *blended;  // [blocks] 0: all l are; else HK_BLENDED …
    hk_blend_law blend_law;
    bool held;        // no l decays: some element of the term wanted one
    bool asleep;      // does not convert for now
    bool converting;  // `gradient` brings l up to date first
} hk_tet_batch;

typedef struct hk_tet_kernels {
    // Sum of volume × ψ over blocks [first, last); +inf if one is undefined.
    double (*energy)(const hk_tet_batch *batch, const void *x, int first, int last);
    // ∂E/∂x of every corner into slots[slot][4]; if energy is not NULL also what `energy` gives.
    void (*gradient)(const hk_tet_batch *batch, const void *x, int first, int last, void *slots,
                     double *energy);
    // The diagonal of the Hessian of every corner into slots[slot][4].
    void (*diagonal)(const hk_tet_batch *batch, const void *x, int first, int last, void *slots);
    // Blocks of the Hessian: scalar[last − first][HK_TET_STIFFNESS][lanes], row-major 3×3 for each
    // pair of corners. Negative eigenvalues of ∂P/∂F are multiplied by keep: 1 exact, 0 projected.
    void (*stiffness)(const hk_tet_batch *batch, const void *x, int first, int last, double keep,
                      void *values);
    // First Piola–Kirchhoff stress and F: scalar[last − first][18][lanes].
    void (*stress)(const hk_tet_batch *batch, const void *x, int first, int last, void *values);
    // Brings l of blocks [first, last) up to date.
    void (*convert)(const hk_tet_batch *batch, const void *x, int first, int last);
} hk_tet_kernels;

// The local steps of methods that work element by element (lanes_local.c).
typedef struct hk_local_kernels {
    // ADMM (Narain et al. 2016): with F of the corners, p = F + u, the z that is least in
    // ψ(z) + weight/2 ‖z − p‖², and u := p − z, scalar[last − first][9][lanes]; the gradient of
    // volume × weight/2 ‖F − z + u‖² goes into slots[slot][4]. `fresh`: u is nothing yet; it
    // becomes P(F)/weight, so that z = F.
    void (*admm_local)(const hk_tet_batch *batch, const void *x, int first, int last, double weight,
                       bool fresh, void *u, void *slots);
    // XPBD (Macklin et al. 2016): one tet after the other moves its corners in x, the fourth number
    // of a vertex being its inverse mass (see lanes_local.c). No vertex may be in two lanes of a
    // block, but for the tets of volume 0, which stay. The multipliers, scalar[last − first][9]
    // [lanes], may be NULL: they are 0 and not kept.
    void (*relax)(const hk_tet_batch *batch, void *x, int first, int last, double h,
                  void *multipliers);
} hk_local_kernels;

typedef struct hk_local_table {
    hk_local_kernels law[HK_LAW_COUNT];
} hk_local_table;

// Vertex by vertex (lanes_vertex.c): a lane is a vertex, and block k of a batch holds the k-th tet
// around each of `lanes` vertices, its first corner. Sums are scalar[HK_VERTEX_SUMS][lanes]:
// gradient, and the upper triangle of the Hessian's block as xx, xy, xz, yy, yz, zz.
enum { HK_VERTEX_SUMS = 9 };
typedef struct hk_vertex_kernels {
    // Adds what blocks [first, last) contribute with the vertices where `own` has them.
    void (*push)(const hk_tet_batch *batch, const void *x, const int32_t *own, int first, int last,
                 void *sums);
    // Adds their energies, scalar[lanes], with the vertices at `at`, scalar[3][lanes].
    void (*energy)(const hk_tet_batch *batch, const void *x, const void *at, int first, int last,
                   void *energy);
} hk_vertex_kernels;

typedef struct hk_vertex_table {
    hk_vertex_kernels law[HK_LAW_COUNT];
    // Adds the springs to `target` (fourth number: how stiff) and minus `force`.
    void (*pull)(const void *x, const int32_t *own, const void *target, const void *force,
                 void *sums);
    // step = −H⁻¹ g, scalar[3][lanes], with H made positive definite; 0 where that is not finite.
    void (*solve)(const void *sums, double shift, void *step);
    // x += length × step, `length` being scalar[lanes].
    void (*move)(void *x, const int32_t *own, const void *step, const void *length);
    // at = x + length × step
    void (*reach)(const void *x, const int32_t *own, const void *step, const void *length,
                  void *at);
} hk_vertex_table;

typedef struct hk_lane_table {
    const char *name;  // "f32x16_avx512"
    int lanes;
    int scalar_size;
    hk_tet_kernels law[HK_LAW_COUNT];
    hk_tet_kernels edges;  // of stvk, by edge lengths, for batches with edge_inverse; double only
    // The least det F in blocks [first, last); NaN if one is.
    double (*least_j)(const hk_tet_batch *batch, const void *x, int first, int last);
    // Fills `start` of blocks [first, last).
    void (*set_start)(const hk_tet_batch *batch, int first, int last);
    // The sums of slots[start[k] .. start[k + 1]) for k < count go to vertices[target[k]], or, if
    // the target is negative, to shared[−1 − target[k]].
    void (*sum_patch)(const void *slots, const uint16_t *start, const int32_t *target, int count,
                      void *vertices, void *shared);
    // vertices[vertex[k]] = Σ shared[start[k] .. start[k + 1]) for k in [first, last).
    void (*sum_shared)(const void *shared, const int32_t *start, const int32_t *vertex, int first,
                       int last, void *vertices);
    const hk_local_table *local;
    const hk_vertex_table *vertex;
    const struct hk_push_table *push;        // contact/push_lanes.h
    const struct hk_rest_table *rest;        // design/rest_lanes.h; NULL in single precision
    const struct hk_shape_table *shape;      // design/shape_lanes.h; likewise
    const struct hk_feature_table *feature;  // contact/feature_lanes.h; likewise
    const struct hk_shell_table *shell;      // term/shell_lanes.h; likewise
} hk_lane_table;

typedef enum hk_precision { HK_SINGLE = 0, HK_DOUBLE_PRECISION = 1 } hk_precision;

// The widest table that this CPU can run.
const hk_lane_table *hk_lanes_best(hk_precision precision);
// All tables that this CPU can run, for tests; returns the count.
int hk_lanes_available(const hk_lane_table *tables[], int room);

#endif
