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

typedef struct __attribute__((aligned(64))) hk_features {
    double c[4][HK_FEATURE_LANES];
    double normal[3][HK_FEATURE_LANES];
    double distance[HK_FEATURE_LANES];  // m
    // m, and what it is less of by `away`: the distance at the centre along the same normal
    double reduced[HK_FEATURE_LANES];
} hk_features;

typedef struct hk_feature_table {
    // At x, [points][4], that lies `away`, [points][4], from the centre. Returns one bit for each
    // contact that is plain; only for those the rest is filled in.
    unsigned (*find)(const hk_feature_block *block, const double *x, const double *away,
                     hk_features *to);
} hk_feature_table;

#endif
