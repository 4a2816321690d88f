// What the files that fill surfaces with tets share (include/hooke/fill.h says what they do).
//
// The order of things: triangles are taken once each and turned alike (fill_orient.c); a tree tells
// what is inside, how far the border is and where it cuts a segment (fill_solid.c), and whether an
// open surface has it on one side (fill_sides.c); an octree has
// cubes of the wanted size along the border and larger ones inside (fill_octree.c); its corners
// and centres make a background of tets (fill_lattice.c), which stuffing.c cuts; vertices near
// sharp edges are moved onto them (fill_features.c finds them, fill_snap.c moves), and others to
// where the surface would be missed (fill_reach.c); small pieces are left out (fill_pieces.c); and
// what came out is measured (fill_measure.c).
#ifndef HK_FILL_H
#define HK_FILL_H

#include "mesh/mesh.h"
#include "mesh/stuffing.h"
#include "mesh/winding.h"

// The root of an item in a forest of those that hang together; paths are halved on the way.
static inline int32_t hk_fill_root(int32_t *parents, int32_t item)
{
    while (parents[item] != item) {
        parents[item] = parents[parents[item]];
        item = parents[item];
    }
    return item;
}

// ---------------------------------------------------------------- fill_orient.c

typedef struct hk_fill_surface {
    int vertex_count;
    const double *positions;  // [vertex_count][3] m, the caller's
    int count;
    int32_t *triangles;   // [count][3] vertices in the same place are one
    int32_t *neighbours;  // [count][3] the triangle beyond edge k to k + 1; −1: none, or several
    int64_t flat, repeated, turned;
    uint8_t *idle;  // [count] 1: no point of it bounds the body, for tets of the size that is tried
} hk_fill_surface;

hk_status hk_fill_take_surface(int vertex_count, const double *positions, int triangle_count,
                               const int32_t *triangles, hk_fill_surface *surface);
void hk_fill_surface_release(hk_fill_surface *surface);

// ---------------------------------------------------------------- fill_solid.c

typedef struct hk_fill_solid {
    hk_winding_tree *surface;
    hk_winding_tree *rim;   // its open edges, or NULL
    double rim_length;      // m
    double half_thickness;  // m, of a shell; 0: what the surface encloses
    double size;            // m
    int threads;
} hk_fill_solid;

hk_status hk_fill_solid_build(const hk_fill_surface *surface, double half_thickness, int threads,
                              hk_fill_solid *solid);
void hk_fill_solid_release(hk_fill_solid *solid);
bool hk_fill_inside(const hk_fill_solid *solid, const double p[3]);
// Negative inside, 0 at the border; continuous but for triangles.
double hk_fill_value(const hk_fill_solid *solid, const double p[3]);
// No border is nearer to p than what is returned, at most `reach`. *inside is set where that is at
// least `sure`. `hint` is updated.
double hk_fill_clearance(const hk_fill_solid *solid, const double p[3], double reach, double sure,
                         hk_nearest *hint, bool *inside);
// Where the border is between p and q on different sides of it (a hk_cut_fn).
double hk_fill_cut(const void *solid, const double p[3], const double q[3], double a, double b);

// ---------------------------------------------------------------- fill_octree.c

typedef struct hk_fill_node {
    int32_t at[3];  // in cubes of its level
    int8_t level;   // its edge is size · 2^level
    int8_t state;
    bool inside;   // its centre
    double clear;  // m around its centre without border, at least
} hk_fill_node;
enum { HK_FILL_SPLIT = 0, HK_FILL_LEAF, HK_FILL_GONE };

typedef struct hk_fill_octree {
    double origin[3], size;  // m
    int32_t cubes[3];        // of level 0
    int top;                 // the highest level
    hk_fill_node *nodes;
    size_t count, capacity;
    int32_t *table;  // [table_size] by hash, −1: free
    size_t table_size;
} hk_fill_octree;

hk_status hk_fill_octree_build(const hk_fill_solid *solid, double grade, hk_fill_octree *octree);
void hk_fill_octree_release(hk_fill_octree *octree);
// NULL: there is none.
const hk_fill_node *hk_fill_find(const hk_fill_octree *octree, int level, const int32_t at[3]);

// ---------------------------------------------------------------- fill_lattice.c

// Made of the leaves of the octree.
hk_status hk_fill_lattice(const hk_fill_solid *solid, const hk_fill_octree *octree,
                          hk_background *background);

// ---------------------------------------------------------------- fill_features.c

typedef struct hk_fill_features {
    int count;
    int32_t *edges;  // [count][2] vertices of the surface
    int corner_count;
    int32_t *corners;       // [corner_count] vertices where they end, meet or turn sharply
    hk_winding_tree *tree;  // of the edges; NULL: there are none
    double length;          // m
    double most_cosine;     // of the angle between normals across one
} hk_fill_features;

hk_status hk_fill_find_features(const hk_fill_surface *surface, double sharp_angle, double size,
                                int threads, hk_fill_features *features);
void hk_fill_features_release(hk_fill_features *features);
// A tree in which the nearest of some edges can be found.
hk_status hk_fill_edge_tree(int vertex_count, const double *positions, int count,
                            const int32_t *edges, int threads, hk_winding_tree **tree);
// False: the triangle has no area.
bool hk_fill_normal(const hk_fill_surface *surface, int triangle, double unit[3]);

// ---------------------------------------------------------------- fill_snap.c

// Moves vertices of the mesh onto sharp edges (there may be none) where tets stay good, then to
// where the surface is far from the mesh (fill_reach.c). `sharp` is [vertex_count], not
// 0 for those that are on one. `length` is that of the sharp edges along the border of the body, m,
// and `kept` the part of it that edges of the mesh follow.
hk_status hk_fill_snap(const hk_fill_surface *surface, const hk_fill_solid *solid,
                       const hk_fill_features *features, hk_mesh *mesh, uint8_t *sharp,
                       double *length, double *kept);

// ---------------------------------------------------------------- fill_pieces.c

// Leaves pieces out that have less than `least_part` of the volume of the largest.
hk_status hk_fill_keep_pieces(hk_mesh **mesh, double least_part, hk_filling_report *report);

// ---------------------------------------------------------------- fill_measure.c

// The cosines of the six dihedral angles of a tet; false: it is flat or inverted.
bool hk_fill_tet_cosines(const double *a, const double *b, const double *c, const double *d,
                         double cosines[6]);
// False: no area.
bool hk_fill_normal_of(const double *a, const double *b, const double *c, double unit[3]);
// How far the border is from a point p of a triangle of the mesh with this normal, m.
double hk_fill_border_distance(const hk_fill_solid *solid, const double p[3], const double n[3]);
// Points of a triangle: number 0 is its middle.
typedef struct hk_fill_grid {
    const double *corner[3];
    int parts, count;
} hk_fill_grid;
hk_fill_grid hk_fill_grid_of(const hk_fill_surface *surface, int triangle, double size);
void hk_fill_grid_point(const hk_fill_grid *grid, int point, double p[3]);
// Four times as many parts: for where the mesh is not near, and farther between the points.
void hk_fill_grid_refine(hk_fill_grid *grid);
// On which sides of a point of the surface with this normal the body is.
enum { HK_FILL_BEHIND = 1, HK_FILL_BEFORE = 2 };
uint8_t hk_fill_sides(const hk_fill_solid *solid, const double p[3], const double n[3]);
// Whether it is on one of them and not on the other.
bool hk_fill_is_border(const hk_fill_solid *solid, const double p[3], const double n[3]);
hk_status hk_fill_measure(const hk_fill_surface *surface, const hk_fill_solid *solid, hk_mesh *mesh,
                          const uint8_t *sharp, hk_filling_report *report);

// ---------------------------------------------------------------- fill_sides.c

// Refuses an open surface that has an inside now on one side and now on the other.
hk_status hk_fill_check_sides(const hk_fill_surface *surface, const hk_fill_solid *solid);

#endif
