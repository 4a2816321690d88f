// The states that constraints allow (model/constraints.h): positions x(q) of few unknowns q. Of a
// rigid part x = R (X − C) + c (QuasiNewton, "Using Hard Constraints"), of one on a joint R and c
// follow from those of its parent and the unknowns of the joint. Methods go on with positions, and
// need two things of it:
//
//   tangent   takes of a vector what leads along the manifold, J (JᵀDJ)⁻¹ JᵀD d with J = ∂x/∂q
//             and weights D: gradients and directions become those in q
//   retract   x from the nearest state of the manifold, which is that of x + J q to second order:
//             steps end on it, exactly
//
// Cavities have no unknowns but those of their vertices, of which all but one direction leads along
// the manifold (manifold_cavities.c).
//
// Newton's matrix is JᵀHJ and the curvature of x(q) (reduction.h); constant matrices are reduced as
// well (constant_reduction.h). With unknowns in this sense everything else, energies, line search,
// norms of gradients, is as without constraints.
//
// Vectors are double[vertex_count][4] in Morton order. All sums are in a fixed order.
#ifndef HK_MANIFOLD_H
#define HK_MANIFOLD_H

#include "model/constraints.h"

typedef struct hk_manifold_part {
    hk_freedom freedom;
    int tree;             // -1: it is held
    int first;            // of its own unknowns in the tree
    double length;        // m, of its extent: turns are in units of 1/length
    double rest_mean[3];  // m, of its vertices by mass
    // At the state:
    double R[3][3], c[3];  // x = R (X − C) + c
    double at[3];          // m, where its joint is
    double axis[3];        // unit
    double *basis;         // [6][unknowns of the tree]: velocity of c, m, and spin
} hk_manifold_part;

typedef struct hk_manifold_tree {
    int first_part, part_count;  // in constraints->order
    int count;                   // of unknowns
    int block;                   // the first of its ceil(count/3) blocks of three unknowns
    bool light;                  // one of many, without turns: a vertex, or a few with one
                                 // displacement
    double *gram;                // [count][count] Cholesky's factor of JᵀJ at the state
    bool known;                  // it is up to date
} hk_manifold_tree;

typedef struct hk_manifold_cavity {
    int triangle_start, triangle_count;
    int start, count;       // of its vertices
    double from, to, goal;  // m³: at both ends of a stage, and now
    double pressure;        // Pa, λ of the last step or pose
} hk_manifold_cavity;

typedef struct hk_manifold {
    const hk_model *model;
    const hk_constraints *constraints;
    const double *mass;  // [vertex_count] of the problem
    const double *rest;  // [vertex_count][4]
    int32_t *vertex;     // as constraints->vertices, in Morton order
    int32_t *part_of;    // [vertex_count] in Morton order, -1: none
    hk_manifold_part *parts;
    hk_manifold_tree *trees;
    int block_count;   // of all trees
    int most;          // unknowns of a tree
    double *numbers;   // of bases and factors
    double *matrix;    // [most][most] workspace
    double *unknowns;  // [most]
    int64_t version;   // of the state where it stands
    int cavity_count;  // manifold_cavities.c; 0: the rest is NULL
    hk_manifold_cavity *cavities;
    int32_t *cavity_corner;  // [triangles][3] entries of
    int32_t *cavity_vertex;  // in Morton order
    int32_t *cavity_at;      // [vertex_count] in Morton order, the entry there; -1: none
    uint8_t *cavity_held;    // of an entry: its axes that stay, HK_AXIS_X …
    double *cavity_normal;   // [3] of an entry: n at the state, 0 along these
    double *vector, *line;   // [vertex_count][4] workspace of those who search along lines
} hk_manifold;

// Which ties: trees with turns or many vertices, those that are light, cavities, or all.
enum { HK_HEAVY = 1, HK_LIGHT = 2, HK_TREES = 3, HK_CAVITIES = 4, HK_ALL_TIES = 7 };

// NULL: the model has no constraints. mass and rest are the problem's.
hk_status hk_manifold_create(const hk_model *model, const double *mass, const double *rest,
                             hk_manifold **manifold);
void hk_manifold_free(hk_manifold *manifold);
// Takes x, which is on the manifold, for the state at which tangents are.
void hk_manifold_stand(hk_manifold *m, const double *x);
// Puts x on the manifold, and stands there. False: a cavity does not come to its volume from x.
bool hk_manifold_retract(hk_manifold *m, double *x);
// Whether a free vertex is not by itself.
bool hk_manifold_ties(const hk_manifold *m, int64_t vertex);
// `weight` is D > 0, [vertex_count][4]; NULL: 1.
void hk_manifold_tangent(hk_manifold *m, int which, const double *weight, double *vector);
// The same by mass and trees: velocities that keep momentum and angular momentum.
void hk_manifold_tangent_by_mass(hk_manifold *m, double *vector);

// Of a vertex of a part with such unknowns: J_v, column k into to[3]. (x_v − c for its arm.)
void hk_manifold_arm(const hk_manifold *m, int part, int64_t vertex, double arm[3]);
static inline void hk_manifold_column(const hk_manifold_part *p, int count, int k,
                                      const double arm[3], double to[3])
{
    const double *b = p->basis;
    double v[6];
    for (int i = 0; i < 6; i++) v[i] = b[i * count + k];
    for (int i = 0; i < 3; i++)
        to[i] =
            v[i] + v[3 + (i + 1) % 3] * arm[(i + 2) % 3] - v[3 + (i + 2) % 3] * arm[(i + 1) % 3];
}
// q += Jᵀ vector of one tree.
void hk_manifold_gather(const hk_manifold *m, int tree, const double *vector, double *q);
// vector = J q at its vertices.
void hk_manifold_scatter(const hk_manifold *m, int tree, const double *q, double *vector);
// Adds gᵀ ∂²x/∂q² of one tree to matrix[count][count] (manifold_curvature.c).
void hk_manifold_add_curvature(const hk_manifold *m, int tree, const double *gradient,
                               double *matrix);

// manifold_cavities.c: cavities where the manifold stands. Of a vector what leads along them …
void hk_manifold_flatten(const hk_manifold *m, const double *weight, double *vector);
// … n of one, [vertex_count][4] …
void hk_manifold_normal(const hk_manifold *m, int cavity, double *to);
// … and λ for the gradient over vertices, Pa.
double hk_manifold_pressure(const hk_manifold *m, int cavity, const double *gradient);
// The volume at x, m³; it stands there afterwards, as far as this one goes.
double hk_manifold_volume(hk_manifold *m, int cavity, const double *x);
// A stage goes from the volumes at x to those of a time (NAN: a pose) …
void hk_manifold_begin_volumes(hk_manifold *m, const double *x, double time);
// … of which a fraction of the way is what states are brought to from now on.
void hk_manifold_aim(hk_manifold *m, double fraction);
// Parts of the above.
hk_status hk_manifold_take_cavities(hk_manifold *m);
void hk_manifold_free_cavities(hk_manifold *m);
void hk_manifold_find_normals(hk_manifold *m, const double *x);
bool hk_manifold_reach_volumes(hk_manifold *m, double *x);

// Of parts, at a state x by the model's numbers, [vertex_count][stride] (world/constraints.c).
void hk_part_fit(const hk_model *model, int part, const double *x, int stride, double R[3][3],
                 double c[3]);

// manifold_fit.c: R and c of all parts at x, which need not be on the manifold; and back.
void hk_manifold_fit(hk_manifold *m, const double *x);
void hk_manifold_place(const hk_manifold *m, double *x);
// R by rows.
void hk_rotate(const double *R, const double v[3], double to[3]);
void hk_cross(const double a[3], const double b[3], double to[3]);

#endif
