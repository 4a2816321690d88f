// What adds to E(x), behind one table. ε is a list of terms (terms.h): methods, assembly, colouring
// and constant matrices ask the list, and know none of its entries by name. A new term is one file
// and one line in list.h.
//
// Positions, gradients and diagonals are scalar[vertex_count][4] in the model's Morton order, the
// fourth number 0; `scalar` is float or double by the precision of the list that a term belongs to.
// In single precision positions are displacements from the base of the list's frame.
// Evaluations allocate nothing and give the same bits for any number of threads.
#ifndef HK_TERM_H
#define HK_TERM_H

#include "contact/rows.h"
#include "core/base.h"
#include "model/live.h"
#include "term/lanes.h"

typedef struct hk_terms hk_terms;
typedef struct hk_term_ops hk_term_ops;

// The first member of every term.
typedef struct hk_term {
    const hk_term_ops *ops;
    hk_terms *list;  // that it belongs to
} hk_term;

// The part of hk_energy that a term's energy counts to.
typedef enum hk_energy_part {
    HK_PART_ELASTIC,
    HK_PART_GRAVITY,
    HK_PART_LOAD,
    HK_PART_CONTACT,
    HK_PART_DAMPING  // of a time step: none of them
} hk_energy_part;

// One element of a term: the vertices whose positions its energy depends on, and where its Hessian
// is in what `blocks` fills. Pairs of vertices a ≤ b are counted row by row: 00 01 02 … 11 12 ….
typedef struct hk_stencil {
    const int32_t *vertex;  // [count]
    int count;
    bool tie;        // to something outside the bodies: it holds them as held vertices do
    double viscous;  // s, damping of its material beside that of the list; of tets alone
    // Without `factor` pair p has nine numbers, row by row, from at + 9 p stride on, `stride`
    // apart. With it all pairs have one symmetric block (xx xy xz yy yz zz, from `at` on) times
    // factor[a] factor[b].
    int64_t at;
    int stride;
    const double *factor;  // [count] or NULL
} hk_stencil;
typedef void hk_stencil_fn(void *context, const hk_stencil *stencil);

// One element's part of a constant matrix with one unknown per vertex, N/m, which bounds its
// Hessian from above: weight[count × a + b], or scale factor[a] factor[b].
typedef struct hk_weights {
    const int32_t *vertex;  // [count]
    int count;
    const double *weight;  // [count][count] or NULL
    double scale;
    const double *factor;  // [count]
} hk_weights;
typedef void hk_weight_fn(void *context, const hk_weights *weights);
static inline double hk_weight_of(const hk_weights *w, int a, int b)
{
    return w->weight ? w->weight[w->count * a + b] : w->scale * w->factor[a] * w->factor[b];
}

// The block of a Hessian at a pair of vertices (Morton order), row by row.
typedef void hk_block_fn(void *context, int32_t a, int32_t b, const double block[9]);

typedef void hk_rank_one_fn(void *context, double scale, const double *u);

// A time step (or a stage of one) that is about to begin, or a pose.
typedef struct hk_step_begin {
    bool pose;
    // The velocity after the step is (x − from)/h.
    double h;                // s
    const double *from;      // [vertex_count][4] m
    const double *state;     // [vertex_count][4] m, the positions before it
    const double *velocity;  // [vertex_count][4] m/s, the velocities before it
    double contact;          // by which contact counts (hk_stage)
    double time;             // s, at its end
} hk_step_begin;

// Where moving things are: at `time`, or at a fraction 0..1 of their whole way.
typedef struct hk_when {
    bool by_fraction;
    double time, fraction;
} hk_when;

// What `blocks` is for: the Hessian, or the matrix of viscous damping, in which elements that are
// not defined and ties to the outside have no part.
typedef enum hk_blocks_for { HK_FOR_HESSIAN, HK_FOR_DAMPING } hk_blocks_for;

// A force upon one vertex that is no energy's, near a place x and for any velocity v (Extreme eq.
// 4, 5 and 11): force + by_place (x' − x) + by_velocity v.
typedef struct hk_vertex_force {
    int32_t vertex;         // Morton order
    double force[3];        // N
    double by_place[9];     // N/m, row by row
    double by_velocity[9];  // N s/m
} hk_vertex_force;
typedef void hk_vertex_force_fn(void *context, const hk_vertex_force *force);

// A damper between a vertex and a place that moves: the force −c (v − V).
typedef struct hk_damper {
    int32_t vertex;      // Morton order
    double coefficient;  // c, N s/m
    double velocity[3];  // V, m/s
} hk_damper;
typedef void hk_damper_fn(void *context, const hk_damper *damper);

// Gauss–Seidel over the elements of a term (XPBD): `x` is scalar[vertex_count + 1][4], the fourth
// number an inverse mass; the last vertex is nobody's.
typedef struct hk_relax_ops {
    hk_status (*create)(hk_term *term, void **state);
    void (*free)(void *state);
    // Before the sweeps of a substep; `several`: more than one, so that multipliers are kept.
    void (*begin)(void *state, bool several);
    void (*sweep)(void *state, void *x, double h, bool several);
    int (*colours)(const void *state);  // or NULL
} hk_relax_ops;

// Elements with variables of their own, tied to the positions (ADMM): see hk_terms_admm_gradient.
typedef struct hk_admm_def {
    double weight;     // of the tie, relative to the slope of the stress
    double low, high;  // stretches between which the slope is taken
} hk_admm_def;
typedef struct hk_admm_ops {
    // Adds the stiffness of the ties to weight[material_count], N/m².
    hk_status (*create)(hk_term *term, const hk_admm_def *def, double *weight, void **duals);
    void (*free)(void *duals);
    // Overwrites the gradient.
    void (*local)(hk_term *term, void *duals, bool fresh, const void *x, void *gradient);
} hk_admm_ops;

// Energies that change as a solve goes on, because elements turn from one law to another: the blend
// weights, [tet_count] in the model's numbering, belong to the state of a solve.
typedef struct hk_blend_ops {
    bool (*possible)(const hk_term *term);
    bool (*at_work)(const hk_term *term);
    void (*read)(const hk_term *term, float *weight);
    void (*write)(hk_term *term, const float *weight);
    // Whether `gradient` brings the weights up to date first.
    void (*with_gradient)(hk_term *term, bool on);
} hk_blend_ops;

// How the forces of a term depend on the rest shape X, for those who look for one (src/design): x
// and X are double[vertex_count][4]. For tets and gravity design/rest_tets.h has both functions in
// one, and these are NULL.
typedef struct hk_rest_ops {
    // force −= ∂E/∂x at x, with the rest shape X.
    void (*add_force)(const hk_term *term, const double *x, const double *X, double *force);
    // ∂f_a/∂X_b for all pairs of vertices that have one, in a fixed order.
    void (*visit)(const hk_term *term, const double *x, const double *X, hk_block_fn *visit,
                  void *context);
} hk_rest_ops;
extern const hk_rest_ops hk_rest_with_tets;  // tet_term.c

// States that must not be passed through: x and what moves among the terms go from one good state
// to the next along straight lines that the guard allows.
typedef struct hk_guard_ops {
    hk_status (*check)(hk_term *term, const double *x);  // fails where x is no state to start from
    // The longest length, at most `length`, that x may go along `step`.
    double (*limit)(hk_term *term, const double *x, const double *step, double length);
    // For Newton's method: elements that a step from x would bring into play, as springs among the
    // blocks and in `add_foreseen`, until they are forgotten; whether they are others than before.
    bool (*foresee)(hk_term *term, const double *x, const double *step);
    void (*forget)(hk_term *term);
    void (*add_foreseen)(const hk_term *term, double *gradient);
    // Takes from a step, body by body, what leads through something.
    void (*shorten)(hk_term *term, const double *x, double *step);
    // Takes x towards `to`, each vertex as far as it may go by itself; whether all arrived.
    bool (*walk)(hk_term *term, double *x, const double *to);
    // A good state; and from there towards x and what moves as it is placed now: whether that and
    // held vertices arrived. Free ones may stay behind.
    void (*keep)(hk_term *term, const double *x);
    bool (*approach)(hk_term *term, const uint8_t *held, double *x);
    // Whether straight ways lead from there to x.
    bool (*passes)(hk_term *term, const double *x);
    // After a solve number `solves` that ended at x: the energy takes up what it has learnt there
    // (forces of friction), and is to be minimised once more where this is true.
    bool (*again)(hk_term *term, const double *x, int solves);
    // Whether it would take up far more than it has: things meet.
    bool (*meets)(hk_term *term, const double *x);
} hk_guard_ops;

// Jacobi's iteration: q − inverse (gradient + k (q − target) − force), k in the fourth place of
// target. All are scalar[vertex_count][4].
typedef struct hk_jacobi_step {
    const void *q, *inverse, *target, *force;
    void *gradient;
    bool renewed;  // `inverse` is another one than the last time
} hk_jacobi_step;

// For methods that move every vertex by itself, many times before they look at the energy: around a
// good state each vertex has a region, and nothing is passed through while all of them are in
// theirs, whatever way they take. x are scalars of the list.
typedef struct hk_region_ops {
    // While this is on, a gradient with its energy makes x, which is in the regions, the centre of
    // new ones; gradients without are those of elements as they lay at the centre, to first order,
    // and diagonals are left to `precondition`.
    void (*guide)(hk_term *term, bool on);
    // The same without gradient and energy; vertices are expected to move by `motion`, m, or as
    // they do.
    void (*center)(hk_term *term, const void *x, double motion);
    // Takes vertices that have left their regions back; true: so many that a new centre is worth
    // while.
    bool (*truncate)(hk_term *term, void *x);
    // Whether a vertex is in its region.
    bool (*inside)(const hk_term *term, int vertex, const void *x);
    // One vertex, back along the way from `from`, which is in its region.
    bool (*truncate_vertex)(const hk_term *term, int vertex, const void *from, void *x);
    // Before a step −P g of Jacobi's iteration, as of the last gradient: changes that at the
    // vertices where the term is at work, so that the step is that of its blocks added to the
    // diagonal. Returns the least part of their stiffness that is inertia, at most 1.
    double (*precondition)(hk_term *term, const hk_jacobi_step *step);
    // Before vertices are moved colour by colour: where they are, and their colours. Who shares a
    // colour with a vertex is seen there.
    void (*sweep)(hk_term *term, const void *before, const int32_t *colour_of);
    // As if the term were not there.
    void (*pause)(hk_term *term, bool on);
} hk_region_ops;

// What is known of a term's elements from the model alone, for patterns, colours, components and
// constant matrices, on the CPU and on the GPU.
typedef struct hk_term_shape {
    // Without `at` and what follows it.
    void (*stencils)(const hk_model *model, hk_stencil_fn *visit, void *context);
    // material_weight is [material_count], N/m² of each material.
    void (*weights)(const hk_model *model, const double *material_weight, hk_weight_fn *visit,
                    void *context);
} hk_term_shape;

// NULL where a term has nothing to say.
struct hk_term_ops {
    const char *name;
    hk_energy_part part;
    // A function of x − from that is quadratic within a time step: its change follows from gradient
    // and block, and displacements are not rounded as positions are.
    bool of_displacement;
    // What a user may do where a method cannot have this term.
    const char *advice;

    const hk_term_shape *shape;
    bool (*in_model)(const hk_model *model);  // whether a model has any of it; NULL: always
    const struct hk_gpu_term_ops *device;     // its version for the GPU (gpu/gpu.h), or NULL
    // *term stays NULL where the model has nothing of it.
    hk_status (*create)(const hk_terms *list, hk_term **term);
    void (*free)(hk_term *term);
    // Takes over what changed in `from`, this term in the list of double precision, or in the base
    // of the list's frame.
    hk_status (*follow)(hk_term *term, const hk_term *from);
    // The model has other rest positions, volumes and masses; NULL: the term is made anew then.
    void (*measure)(hk_term *term);

    // ---- events
    hk_status (*begin_step)(hk_term *term, const hk_step_begin *step);
    void (*place)(hk_term *term, const hk_when *when);
    // The model's materials have other coefficients, of the same laws.
    void (*take_materials)(hk_term *term);
    bool (*update)(hk_term *term, const void *x);  // true: the energy is another function now
    // After a solve that ended at x, in double precision: the energy takes up what it has learnt
    // there, and is to be minimised once more where this is true.
    bool (*again)(hk_term *term, const double *x);
    bool (*active)(const hk_term *term);  // in this step; NULL: always
    bool (*wanted)(const hk_term *term);  // in some; NULL: yes

    // ---- the energy and its derivatives
    double (*energy)(hk_term *term, const void *x);  // J; +inf where it is not defined
    // The energy may be NULL. `gradient` and `diagonal` overwrite: for a term that comes first.
    void (*gradient)(hk_term *term, const void *x, void *gradient, double *energy);
    void (*add_gradient)(hk_term *term, const void *x, void *gradient, double *energy);
    void (*diagonal)(hk_term *term, const void *x, void *diagonal);
    void (*add_diagonal)(hk_term *term, const void *x, void *diagonal);
    // A force that does not depend on x, N at every vertex, [vertex_count][4]; its energy is
    // −force · x up to a constant. Such a term has `energy` for reports alone.
    void (*add_force)(const hk_term *term, double *force);

    // ---- dampers in a step (or a part of one) of h that ends at `time`: they join the inertia of
    // their vertices, and such a term has nothing else to say
    void (*visit_dampers)(const hk_term *term, double time, double h, hk_damper_fn *visit,
                          void *context);

    // ---- forces that are no energy's, for methods that take them (hk_method.takes_forces): at x,
    // in double precision, by rising vertices. `ahead`: those that are at work there, as linear
    // functions around x; NULL: those that are at work at x
    void (*visit_forces)(hk_term *term, const double *x, const double *ahead,
                         hk_vertex_force_fn *visit, void *context);

    // ---- elements
    void (*stencils)(const hk_term *term, hk_stencil_fn *visit, void *context);
    int64_t (*block_size)(const hk_term *term);  // numbers that `blocks` fills
    // In double precision alone. Negative eigenvalues × keep: 1 exact, 0 projected.
    void (*blocks)(hk_term *term, const double *x, double keep, hk_blocks_for what, double *values);
    // What the Hessian has beside the blocks, Σ scale u uᵀ, positive; u is [vertex_count][4]. For
    // Newton's method.
    void (*visit_rank_one)(hk_term *term, const double *x, hk_rank_one_fn *visit, void *context);
    // Adds to the blocks of the whole list, with the stencils of other terms.
    void (*amend_blocks)(const hk_term *term, double *values);
    // By how much, relatively, damping raises a constant matrix in this step.
    double (*stiffening)(const hk_term *term);

    // ---- elements of a world, which may change between steps (hk_live), in place of those above
    hk_status (*refresh)(hk_term *term);  // they did change; not NULL: the term is such a one
    // Without `at` and what follows it.
    void (*live_stencils)(const hk_model *model, const hk_live *live, hk_stencil_fn *visit,
                          void *context);
    // By up to so many threads at a time; those of the same two vertices by one of them, in order.
    void (*visit_blocks)(hk_term *term, const double *x, double keep, int threads,
                         hk_block_fn *visit, void *context);
    void (*visit_weights)(const hk_term *term, hk_weight_fn *visit, void *context);

    // ---- elements that come and go within a solve (contacts): beside visit_blocks
    void (*moving_stencils)(const hk_term *term, hk_stencil_fn *visit, void *context);
    // The positive part of their Hessian at x, as springs of one direction each.
    void (*visit_rows)(hk_term *term, const double *x, hk_contact_row_fn *visit, void *context);

    // ---- one vertex, all others at rest
    // Adds its gradient and block (xx xy xz yy yz zz); false: the term does not touch it.
    bool (*vertex)(const hk_term *term, int vertex, const void *x, double gradient[3],
                   double block[6]);
    // The energy of what it touches with the vertex moved by `step`, J.
    double (*vertex_energy)(const hk_term *term, int vertex, const void *x, const double step[3]);

    // ---- what is special
    const hk_relax_ops *relax;
    const hk_admm_ops *admm;
    const hk_blend_ops *blend;
    const hk_rest_ops *rest;  // NULL: forces do not depend on the rest shape
    const hk_guard_ops *guard;
    const hk_region_ops *regions;

    // ---- states and scales
    // About ‖F − 1‖, in the mean over elements, of the base of the list's frame (single precision).
    double (*base_strain)(const hk_term *term);
    double (*least_j)(hk_term *term, const void *x);  // the smallest det F; NaN if one is
    // Describes the first element whose energy is not finite at x; false: there is none.
    bool (*undefined)(hk_term *term, const void *x, char *text, size_t size);
    // Adds its stiffness at every vertex (model's numbers), N/m; returns what rounding does to its
    // energy near the state of rest, J.
    double (*scales)(const hk_term *term, double *stiffness);
    double (*softest)(const hk_term *term);  // N/m, the least stiffness of an element
};

#endif
