// The list of terms that make up E(x), in one precision. A problem owns one in double precision; a
// method that works in single owns a view with another (solver/view.h). Of a part of a model
// (model/partition.h) energies, gradients and blocks are those of its own elements; numbers that
// decide something are over all parts.
#ifndef HK_TERMS_H
#define HK_TERMS_H

#include "term/term.h"

// In single precision positions are displacements from a base, a state near those of the solve:
// what is small is rounded little. The base itself is rest, a translation of each body, and a
// displacement whose differences within a body are exact in single precision.
typedef struct hk_frame {
    double *base;         // [vertex_count][4] m, Morton order
    float *displacement;  // [vertex_count + 1][4] m; the last is nobody's (hk_relax_ops)
    int64_t version;      // another for every base
} hk_frame;

struct hk_terms {
    const hk_model *model;
    hk_precision precision;
    int threads;
    int vertex_count;
    const hk_frame *frame;  // NULL in double precision
    hk_damping damping;     // of time steps
    double laplacian;       // s, the same by a constant Laplacian
    const hk_live *live;    // what a world changes between steps; NULL: nothing
    int count;
    hk_term **term;        // [count]
    int64_t *block_start;  // [count + 1] where the blocks of a term begin
};

hk_status hk_terms_create(const hk_model *model, hk_precision precision, int threads,
                          const hk_frame *frame, const hk_live *live, hk_terms **terms);
void hk_terms_free(hk_terms *terms);
size_t hk_terms_scalar_size(const hk_terms *terms);
// The first term that has these ops; NULL: there is none. For tests, and for the rooms that know a
// term by name.
hk_term *hk_terms_find(const hk_terms *terms, const hk_term_ops *ops);

// ---- events
hk_status hk_terms_begin_step(hk_terms *terms, const hk_step_begin *step);
void hk_terms_place(hk_terms *terms, const hk_when *when);
// The model's materials have other coefficients, of the same laws; in double precision.
void hk_terms_take_materials(hk_terms *terms);
bool hk_terms_update(hk_terms *terms, const void *x);  // true: the energy is another function now
// The elements of a world (terms->live) changed.
hk_status hk_terms_refresh(hk_terms *terms);
hk_status hk_terms_follow(hk_terms *terms, const hk_terms *from);
// The model has other rest positions, and is otherwise what it was.
hk_status hk_terms_measure(hk_terms *terms);

// ---- the energy and its derivatives
// Those that are left out: none; those of displacements; all but those of displacements.
typedef enum hk_which { HK_ALL_TERMS, HK_POSITION_TERMS, HK_DISPLACEMENT_TERMS } hk_which;
// +inf where a term is not defined, never NaN.
double hk_terms_energy(hk_terms *terms, const void *x, hk_which which);
double hk_terms_part(hk_terms *terms, const void *x, hk_energy_part part);  // of hk_energy
// Overwrites the gradient; the energy may be NULL, and may be NaN where a term is not defined.
void hk_terms_gradient(hk_terms *terms, const void *x, hk_which which, void *gradient,
                       double *energy);
// Adds the terms of displacements.
void hk_terms_add_displacement(hk_terms *terms, const void *x, void *gradient, double *energy);
void hk_terms_diagonal(hk_terms *terms, const void *x, void *diagonal);
void hk_terms_add_force(const hk_terms *terms, double *force);
// The gradient of the augmented function of ADMM: elements with duals take their local step at x
// and give the gradient of the coupling, the others their own. `duals` is [count]; NULL: none.
// `fresh`: the duals are those of the stress at x, and this is the gradient of E.
void hk_terms_admm_gradient(hk_terms *terms, void *const *duals, bool fresh, const void *x,
                            void *gradient);

// Forces that are no energy's, at x in double precision: those that are at work at `ahead`, or
// NULL.
void hk_terms_visit_forces(hk_terms *terms, const double *x, const double *ahead,
                           hk_vertex_force_fn *visit, void *context);

// ---- elements (in double precision)
int64_t hk_terms_block_size(const hk_terms *terms);
void hk_terms_blocks(hk_terms *terms, const double *x, double keep, hk_blocks_for what,
                     double *values);
void hk_terms_amend_blocks(const hk_terms *terms, double *values);
// force += H step with the blocks of hk_terms_blocks.
void hk_terms_add_product(const hk_terms *terms, const double *values, const double *step,
                          double *force);
// Elements of a world, which are not among those above. By up to so many threads at a time; those
// of the same two vertices by one of them, in order.
void hk_terms_visit_blocks(hk_terms *terms, const double *x, double keep, int threads,
                           hk_block_fn *visit, void *context);
// force += H step of those.
void hk_terms_add_live_product(hk_terms *terms, const double *x, double keep, const double *step,
                               double *force);
void hk_terms_visit_dampers(const hk_terms *terms, double time, double h, hk_damper_fn *visit,
                            void *context);
void hk_terms_visit_weights(const hk_terms *terms, hk_weight_fn *visit, void *context);
bool hk_terms_has_rank_one(const hk_terms *terms);
void hk_terms_visit_rank_one(hk_terms *terms, const double *x, hk_rank_one_fn *visit,
                             void *context);
double hk_terms_stiffening(const hk_terms *terms);
// The contacts of a list in double precision, for split; NULL: there are none.
struct hk_contacts *hk_terms_contacts(const hk_terms *terms);
// Elements that come and go within a solve.
void hk_terms_visit_rows(hk_terms *terms, const double *x, hk_contact_row_fn *visit, void *context);
// Their part of the energy, J, and of the gradient, N, in double precision.
double hk_terms_moving_energy(hk_terms *terms, const double *x);
void hk_terms_add_moving_gradient(hk_terms *terms, const double *x, double *gradient);
void hk_terms_moving_stencils(const hk_terms *terms, hk_stencil_fn *visit, void *context);

// ---- states that must not be passed through (hk_guard_ops)
bool hk_terms_guarded(const hk_terms *terms);
// The diagonal of such terms alone, overwritten.
void hk_terms_touching(hk_terms *terms, const double *x, double *diagonal);
hk_status hk_terms_check(hk_terms *terms, const double *x);
double hk_terms_limit(hk_terms *terms, const double *x, const double *step, double length);
bool hk_terms_foresee(hk_terms *terms, const double *x, const double *step);
void hk_terms_forget_foreseen(hk_terms *terms);
void hk_terms_add_foreseen(const hk_terms *terms, double *gradient);
void hk_terms_shorten(hk_terms *terms, const double *x, double *step);
bool hk_terms_walk(hk_terms *terms, double *x, const double *to);
void hk_terms_keep(hk_terms *terms, const double *x);
bool hk_terms_approach(hk_terms *terms, const uint8_t *held, double *x);
bool hk_terms_passes(hk_terms *terms, const double *x);
bool hk_terms_again(hk_terms *terms, const double *x, int solves);
// Whether things meet there that have no friction yet (hk_guard_ops.meets).
bool hk_terms_meet(hk_terms *terms, const double *x);
// The same of terms without guard, for poses as well (hk_term_ops.again).
bool hk_terms_settle(hk_terms *terms, const double *x);
// ---- and regions of vertices around them (hk_region_ops)
void hk_terms_guide(hk_terms *terms, bool on);
void hk_terms_center(hk_terms *terms, const void *x, double motion);
bool hk_terms_truncate(hk_terms *terms, void *x);
bool hk_terms_inside(const hk_terms *terms, int vertex, const void *x);
// The stiffness of what has regions at a vertex, the upper triangle by rows; false: there is none.
bool hk_terms_stiffness_there(const hk_terms *terms, int vertex, const void *x, double block[6]);
double hk_terms_precondition(hk_terms *terms, const hk_jacobi_step *step);
void hk_terms_sweep(hk_terms *terms, const void *before, const int32_t *colour_of);
void hk_terms_pause(hk_terms *terms, bool on);

// ---- states and scales
// About ‖F − 1‖ at the base of the frame, turns of bodies among it; 0: nothing that depends on it.
double hk_terms_base_strain(const hk_terms *terms);
double hk_terms_least_j(hk_terms *terms, const void *x);  // +inf without tets
bool hk_terms_undefined(hk_terms *terms, const void *x, char *text, size_t size);
double hk_terms_scales(const hk_terms *terms, double *stiffness);
double hk_terms_softest(const hk_terms *terms);  // +inf: nothing is stiff

// Blend weights (hk_blend_ops); a list has one term with them at most.
hk_term *hk_terms_blending(const hk_terms *terms);  // NULL: no element can
bool hk_terms_blended(const hk_terms *terms);
void hk_terms_read_blend(const hk_terms *terms, float *weight);
void hk_terms_write_blend(hk_terms *terms, const float *weight);
void hk_terms_blend_with_gradient(hk_terms *terms, bool on);

// The elements that a model has, whatever the term (hk_term_shape).
void hk_model_stencils(const hk_model *model, hk_stencil_fn *visit, void *context);
void hk_model_weights(const hk_model *model, const double *material_weight, hk_weight_fn *visit,
                      void *context);

// Those of a world among them (live may be NULL).
void hk_live_stencils(const hk_model *model, const hk_live *live, hk_stencil_fn *visit,
                      void *context);

// All kinds of terms that there are.
int hk_term_kinds(void);
const hk_term_ops *hk_term_kind(int kind);

#define HK_TERM_DECLARE(name) extern const hk_term_ops hk_##name##_term;
#include "term/list.h"
HK_TERMS(HK_TERM_DECLARE)
#undef HK_TERM_DECLARE

#endif
