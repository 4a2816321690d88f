// The energy of all links of a model: springs, bending and attachments. A link is a combination of
// vertices d = Σ c_a x_a (of an attachment: minus its target) with
//
//   E = w/2 (‖d‖ − r)² = min over ‖p‖ = r of w/2 ‖d − p‖²,
//
// the latter being its projective form (QuasiNewton, "Mass-spring systems", "Projective Dynamics")
// with the constant matrix w c_a c_b. With n = d/‖d‖ its Hessian is c_a c_b B,
//
//   B = w n nᵀ + w (1 − r/‖d‖) (I − n nᵀ),
//
// of which only the second part can be negative. Where d vanishes but r does not, the direction
// that the link pushes to is undefined: then p = 0, and it pulls with w d, which is nothing. That
// is the mean over all directions, has no NaN, and leaves the state for others to resolve.
//
// Positions and gradients are scalar[vertex_count][4] in the model's Morton order, the fourth
// number 0; `scalar` is float or double by the precision chosen. Evaluations allocate nothing and
// give the same bits for any number of threads: one vector a link, then a sum for each vertex in a
// fixed order.
#ifndef HK_LINKS_H
#define HK_LINKS_H

#include "term/terms.h"

enum { HK_LINK_STIFFNESS = 6 };  // numbers a link: B as xx, xy, xz, yy, yz, zz

typedef struct hk_links {
    hk_term base;
    const hk_model *model;
    hk_precision precision;
    int threads;
    // Springs come first, then bends, then attachments in the order of the model.
    int spring_count, bend_count, attachment_count, link_count;
    int32_t *start;       // [link_count + 1] entries of a link
    int32_t *vertex;      // [entries] Morton order; a bend begins with the vertex in its middle
    double *coefficient;  // [entries] c; those of springs and bends add up to 0
    double *stiffness;    // [link_count] w, N/m
    double *rest;         // [link_count] r, m
    void *scalars;        // scalar: the same three (c, w, r), one after the other
    void *target;         // scalar[attachment_count][4] m
    // In single precision x may be displacements from a base (hk_frame). Springs and bends then
    // begin at d of the base, with its ‖d‖² − r² in the fourth place, from which ‖d‖ − r follows
    // without cancellation.
    bool has_base;
    float *base_d;          // [spring_count + bend_count][4] m, m²; or NULL
    int user_count;         // vertices that have links
    int32_t *user;          // [user_count]
    int32_t *user_of;       // [vertex_count] their number in `user`, or -1
    int32_t *use_start;     // [user_count + 1]
    int32_t *use_link;      // the links of a vertex, ascending
    void *use_coefficient;  // scalar, beside use_link
    void *vector;           // scalar[link_count][4]
    double *partial;        // energies of runs of links
} hk_links;

hk_status hk_links_create(const hk_model *model, hk_precision precision, int threads,
                          hk_links **links);
void hk_links_free(hk_links *links);

// The target of an attachment (model's number); at first that is the vertex's rest position.
void hk_links_set_target(hk_links *links, int attachment, const double target[3]);
// x are displacements from this base, double[vertex_count][4], from now on.
void hk_links_set_base(hk_links *links, const double *base);

double hk_links_energy(hk_links *links, const void *x);
// The energy may be NULL.
void hk_links_add_gradient(hk_links *links, const void *x, void *gradient, double *energy);
// The diagonal of the Hessian, negative parts × keep: 1 exact, 0 projected.
void hk_links_add_diagonal(hk_links *links, const void *x, double keep, void *diagonal);
// B of every link, scalar[link_count][HK_LINK_STIFFNESS], negative eigenvalues × keep.
void hk_links_stiffness(hk_links *links, const void *x, double keep, void *blocks);
// Adds gradient and block of one vertex, and the energy of its links with the vertex moved by
// `step` (links_vertex.c).
bool hk_links_vertex(const hk_links *links, int vertex, const void *x, double gradient[3],
                     double block[6]);
double hk_links_vertex_energy(const hk_links *links, int vertex, const void *x,
                              const double step[3]);
extern const hk_relax_ops hk_links_relax;   // links_relax.c
extern const hk_term_shape hk_links_shape;  // links_shape.c

#endif
