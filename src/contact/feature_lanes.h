// Closest points of several contacts at once, in double precision, one table per instruction set
// (see cmake/lanes.cmake). Most contacts that push are plain: their closest points lie well within
// a triangle, or within two edges that are not parallel, and everything that they have in common
// with their neighbours (pair.h) is far. The others are left to quick.h.
#ifndef HK_FEATURE_LANES_H
#define HK_FEATURE_LANES_H

#include <stdint.h>

#include "contact/pair.h"

enum { HK_FEATURE_LANES = 8 };  // contacts of one block: a multiple of every number of lanes

typedef struct __attribute__((aligned(64))) hk_feature_block {
    int32_t point[4][HK_FEATURE_LANES];
    double reach[HK_FEATURE_LANES];  // m, between closest points: within it features count
    double width[HK_FEATURE_LANES], thickness[HK_FEATURE_LANES];     // m
    double stiffness[HK_FEATURE_LANES], parallel[HK_FEATURE_LANES];  // N/m, m⁴ (pair.h)
    hk_pair_kind kind;                                               // of all
    int32_t count;                                                   // the rest are copies
} hk_feature_block;

// A contact in a lane of a block; those beyond it have it, too, until they have their own.
static inline void hk_feature_fill(hk_feature_block *to, int lane, const int32_t point[4],
                                   const hk_pair *pair, double margin)
{
    for (int l = lane; l < HK_FEATURE_LANES; l++) {
        for (int v = 0; v < 4; v++) to->point[v][l] = point[v];
        to->reach[l] = pair->width + pair->thickness + margin;
        to->width[l] = pair->width;
        to->thickness[l] = pair->thickness;
        to->stiffness[l] = pair->stiffness;
        to->parallel[l] = pair->parallel;
    }
}

typedef struct __attribute__((aligned(64))) hk_features {
    double c[4][HK_FEATURE_LANES];
    double normal[3][HK_FEATURE_LANES];
    double distance[HK_FEATURE_LANES];  // m
    // m, and what it is less of by `away`: the distance at the centre along the same normal
    double reduced[HK_FEATURE_LANES];
    unsigned far;  // contacts that are farther than their reach for sure, one bit for each
} hk_features;

// Energies, forces and gaps, for methods that have no centre (forces.c).
typedef struct __attribute__((aligned(64))) hk_feature_forces {
    double energy[HK_FEATURE_LANES];        // J
    double gap[HK_FEATURE_LANES];           // m
    double gradient[12][HK_FEATURE_LANES];  // N
} hk_feature_forces;

enum { HK_FEATURE_PAIRS = 10 };  // of corners 00, 01, 02, 03, 11, …

// Stiffness of contacts, and of friction at the same corners (stiffness.c).
typedef struct __attribute__((aligned(64))) hk_feature_stiffness {
    double weight[4][HK_FEATURE_LANES];                   // of what slides: 0 where nothing does
    double slide[6][HK_FEATURE_LANES];                    // N/m, xx xy xz yy yz zz
    double value[HK_FEATURE_PAIRS][9][HK_FEATURE_LANES];  // N/m, both together
} hk_feature_stiffness;

typedef struct hk_feature_table {
    // At x, [points][4], that lies `away`, [points][4], from the centre. Returns one bit for each
    // contact that is plain; only for those the rest is filled in.
    unsigned (*find)(const hk_feature_block *block, const double *x, const double *away,
                     hk_features *to);
    // At x, [points][3] and one number more, which may be read; likewise.
    unsigned (*evaluate)(const hk_feature_block *block, hk_contact_law law, const double *x,
                         hk_feature_forces *to);
    // The Hessians, `keep` times, and the rest as pair_upper_hessian has it; weight and slide are
    // given.
    unsigned (*stiffen)(const hk_feature_block *block, hk_contact_law law, double keep,
                        const double *x, hk_feature_stiffness *to);
    // The same of one contact that is not plain, by corners, with the instructions of the set.
    void (*stiffen_one)(const hk_pair *pair, double keep, const double x[4][3], int lane,
                        hk_feature_stiffness *to);
    // quick_evaluate.
    double (*evaluate_one)(const hk_pair *pair, const double x[4][3], double *gradient,
                           double *gap);
    // What has slid (friction_slide) at x since `from`, both [points][3] and one number more: the
    // energy, with its gradient, [12], where that is wanted; and the matrix of friction_block, xx
    // xy xz yy yz zz.
    double (*slide)(const hk_friction *friction, const int32_t point[4], const double *x,
                    const double *from, double *gradient);
    void (*stiffen_slide)(const hk_friction *friction, const int32_t point[4], const double *x,
                          const double *from, double block[6]);
} hk_feature_table;

#endif
