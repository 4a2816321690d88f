// Obstacles: rigid shapes that stand still or move as they are told.
//
// A plane is a point and a normal. All others are a surface of vertices, edges and triangles plus a
// radius by which it is thickened: a sphere is one vertex, a capsule one edge, a box 8 vertices, 12
// edges (without the diagonals of its faces, which no body can touch before the face) and 12
// triangles, with radius 0.
#ifndef HK_OBSTACLE_H
#define HK_OBSTACLE_H

#include "core/base.h"
#include "core/formula.h"
#include "model/motion.h"

// x = rotation · X + translation
typedef struct hk_placement {
    double rotation[3][3];
    double translation[3];  // m
} hk_placement;

typedef struct hk_key {
    double time;       // s
    double center[3];  // m
    double axis[3];    // unit
    double degrees;
    double quaternion[4];  // w, x, y, z: the same turn
    double translate[3];   // m
} hk_key;

typedef struct hk_path {  // formulas, NULL: 0
    hk_formula *translate[3], *degrees;
    double axis[3], center[3];
} hk_path;

typedef enum hk_obstacle_way { HK_STANDS, HK_BY_MOVES, HK_BY_KEYS, HK_BY_FORMULA } hk_obstacle_way;

typedef struct hk_obstacle {
    char *name;
    hk_obstacle_shape shape;
    double friction;             // NAN: it has none of its own
    double point[3], normal[3];  // of a plane, m and unit
    double radius;               // m, around the surface
    int vertex_count;            // those of its triangles and edges only
    double *rest;                // [vertex_count][3] m, where it was defined
    int edge_count;
    int32_t *edges;  // [edge_count][2], rising
    int triangle_count;
    int32_t *triangles;  // [triangle_count][3], outward
    hk_obstacle_way way;
    int move_count, key_count;
    hk_motion *moves;  // [move_count], applied in their order
    hk_key *keys;      // [key_count], by rising time
    hk_path path;
} hk_obstacle;

// `def` is one of the library's own version. On failure there is nothing to free.
hk_status hk_obstacle_take(const hk_obstacle_def *def, hk_obstacle *obstacle);
// A copy with arrays of its own, alike.
hk_status hk_obstacle_copy(const hk_obstacle *from, hk_obstacle *to);
void hk_obstacle_release(hk_obstacle *obstacle);

// Whether it may be anywhere else than where it was defined.
bool hk_obstacle_moves(const hk_obstacle *obstacle);
// Where it is at `time`: exactly what a key says at the time of the key. The numbers of a formula
// are finite or an error: "obstacle plate: formula …".
hk_status hk_obstacle_place(const hk_obstacle *obstacle, double time, hk_placement *to);
// The same for a pose: moves at a fraction 0..1 of theirs, keys at that fraction of the way from 0
// to the time of the last, a formula at `time`.
hk_status hk_obstacle_place_at(const hk_obstacle *obstacle, double fraction, double time,
                               hk_placement *to);
// Its vertices there, x[vertex_count][3], and the point and unit normal of a plane.
void hk_obstacle_vertices(const hk_obstacle *obstacle, const hk_placement *at, double *x);
void hk_obstacle_plane(const hk_obstacle *obstacle, const hk_placement *at, double point[3],
                       double normal[3]);
// R · X + translation
void hk_placement_apply(const hk_placement *at, const double rest[3], double x[3]);

#endif
