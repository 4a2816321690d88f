// The immutable model: all bodies in one numbering, with masses, materials, holds and loads.
#ifndef HK_MODEL_H
#define HK_MODEL_H

#include "core/base.h"
#include "material/material.h"

// What holds a vertex: nothing, a fixed place, or a prescribed motion (its number ≥ 0).
enum { HK_FREE = -1, HK_FIXED = -2 };

typedef struct hk_body {
    char *name;
    int vertex_start, vertex_count;
    int tet_start, tet_count;
} hk_body;

typedef struct hk_motion {
    double axis[3];  // unit
    double center[3], degrees, translate[3];
    double over;  // s
} hk_motion;

struct hk_model {
    int references;
    int body_count;
    hk_body *bodies;
    int vertex_count;
    double *rest;      // [vertex_count][3] m
    double *velocity;  // [vertex_count][3] m/s, initial
    double *mass;      // [vertex_count] kg, lumped: a quarter of each tet's
    double *load;      // [vertex_count][3] N
    int32_t *hold;     // [vertex_count] HK_FREE, HK_FIXED or a motion
    int motion_count;
    hk_motion *motions;
    int tet_count;
    int32_t *tets;          // [tet_count][4]
    double *volume;         // [tet_count] m³
    int32_t *tet_material;  // [tet_count]
    double *fibre;          // [tet_count][3] unit, or NULL: no material has fibres
    int material_count;
    hk_material *materials;
    double gravity[3];  // m/s²
    int unreferenced;   // vertices of no tet; they are held still
    // Vertices along a Morton curve: solvers work in this order for locality.
    int32_t *order;  // [vertex_count] order[k]: the vertex that comes k-th
    int32_t *place;  // [vertex_count] inverse of order
};

void hk_model_retain(hk_model *model);
// Where a held vertex is at `time`.
void hk_model_held_position(const hk_model *model, int vertex, double time, double x[3]);
// The same at a share 0..1 of the full motion.
void hk_model_held_position_at(const hk_model *model, int vertex, double share, double x[3]);

#endif
