// The elastic energy of all tets of a model: E(x) = Σ volume ψ(F), its gradient, Hessian blocks and
// Hessian diagonal. Positions and gradients are scalar[vertex_count][4] in the model's Morton
// order; `scalar` is float or double by the precision chosen. Results have the same bits for any
// number of threads.
#ifndef HK_TET_H
#define HK_TET_H

#include "term/terms.h"

// The corner pairs of lanes.h.
extern const int hk_tet_pairs[HK_TET_PAIRS][2];
// The inverse of the matrix of rest edges (columns), row-major: its rows are the shape gradients of
// corners 1, 2, 3; that of corner 0 is minus their sum. 1/m.
void hk_rest_inverse(const hk_model *model, int tet, double inverse[9]);
void hk_corner_inverse(const double *const corner[4], double inverse[9]);  // of any four points

// What of a material a set of elements stands for: its law, its fibres, or one of its axes.
enum { HK_LAW_PART, HK_FIBRE_PART, HK_AXES_PART, HK_LAW_PARTS = HK_AXES_PART + 3 };
typedef struct hk_law_part {
    hk_law law;
    hk_law_params params;
    hk_blend_law blend_law;
} hk_law_part;
bool hk_has_part(const hk_material *material, int part);
hk_law_part hk_material_part(const hk_material *material, int part);
// The unit vector along the strands of a tet.
const double *hk_part_direction(const hk_model *model, int tet, int part);

// A run of blocks of one batch: the unit of work of a thread, independent of their number.
typedef struct hk_tet_patch {
    int batch, first, last;
    int vertex_count;   // that its tets touch
    int64_t start_at;   // of its vertex_count + 1 entries in patch_start
    int64_t target_at;  // of its vertex_count entries in patch_target
} hk_tet_patch;

// The kernels that evaluate a batch.
static inline const hk_tet_kernels *hk_batch_kernels(const hk_lane_table *lanes,
                                                     const hk_tet_batch *batch)
{
    return batch->edge_inverse ? &lanes->edges : &lanes->law[batch->law];
}

typedef struct hk_tet_term {
    hk_term base;
    const hk_model *model;
    const hk_lane_table *lanes;
    int threads;
    int vertex_count;
    int tet_count;
    int batch_count;
    hk_tet_batch *batches;
    int64_t *stiffness_start;  // [batch_count + 1] where a batch's Hessian blocks begin, in scalars
    int patch_count;
    hk_tet_patch *patches;
    double *partial;        // [patch_count] energies
    int64_t base_version;   // of the frame whose base the batches start from
    float *tet_blend;       // [tet_count] l in the model's numbering, to copy; NULL: none converts
    uint16_t *patch_start;  // per patch and vertex of it: its first slot
    int32_t *patch_target;  // per patch and vertex of it: where the sum goes (see lanes.h)
    // Vertices of several patches, or of none.
    int shared_count;
    int32_t *shared_vertex;  // [shared_count]
    int32_t *shared_start;   // [shared_count + 1] their partial sums in `shared`
    void *shared;            // scalar[shared_start[shared_count]][4]
    void *slots;             // scalar[threads][4 HK_PATCH_TETS + 1][4]; the last is for padding
} hk_tet_term;

hk_status hk_tet_term_create(const hk_model *model, const hk_lane_table *lanes, int threads,
                             hk_tet_term **term);
void hk_tet_term_free(hk_tet_term *term);
// The coefficients of the model's materials again, for these are others; laws and parts are what
// they were.
void hk_tet_take_materials(hk_tet_term *term);
// The model has other rest positions.
void hk_tet_measure(hk_tet_term *term);

// +inf where a law is not defined.
double hk_tet_energy(hk_tet_term *term, const void *x);
// Overwrites gradient; energy may be NULL.
void hk_tet_gradient(hk_tet_term *term, const void *x, void *gradient, double *energy);
void hk_tet_diagonal(hk_tet_term *term, const void *x, void *diagonal);
// Fills values, scalar[hk_tet_stiffness_size]. Negative eigenvalues of each tet's ∂P/∂F are
// multiplied by keep: 1 gives the exact Hessian, 0 the projected one.
void hk_tet_stiffness(hk_tet_term *term, const void *x, double keep, void *values);
int64_t hk_tet_stiffness_size(const hk_tet_term *term);
// The duals of ADMM: u of every tet of every batch, and the weight of each batch.
typedef struct hk_tet_duals {
    double *weight;  // [batch_count] Pa
    int64_t *start;  // [batch_count + 1] where a batch's duals begin, in scalars
    void *u;         // scalar[start[batch_count]]
} hk_tet_duals;
// The local step of ADMM at x (`admm_local` of lanes.h), and the gradient of the coupling between x
// and its elements. `fresh`: the duals are those of the stress at x, and this is the elastic
// gradient.
void hk_tet_admm_local(hk_tet_term *term, const hk_tet_duals *duals, bool fresh, const void *x,
                       void *gradient);
// Calls `fill` for every patch, which leaves something in the slots of all corners of its tets
// (store them as kernels do), and sums it by vertex: for passes that are not among those here.
typedef void hk_patch_fn(void *context, int patch, void *slots);
void hk_tet_gather(hk_tet_term *term, hk_patch_fn *fill, void *context, void *sums);
// P (all laws of a tet together) and F of every tet, [tet_count][9] each, in the model's numbering;
// of quadratic tets, which another term of the list has, their means.
void hk_tet_stress(hk_tet_term *term, const void *x, double *P, double *F);
// The smallest det F of all tets; NaN if one is.
double hk_tet_least_j(hk_tet_term *term, const void *x);

// Invertible model conversion (blend.h), for the materials that ask for it.
bool hk_tet_is_invertible(const hk_tet_term *term);
// Before a time step or a pose: some convert in time steps only.
void hk_tet_begin_blend(hk_tet_term *term, bool pose);
// Brings the shares l up to date at x; true: the energy is another function now.
bool hk_tet_update_blend(hk_tet_term *term, const void *x);
// After shares of all these batches were brought up to date: whether they are held the next time.
void hk_tet_hold_blend(hk_tet_batch *batches, int count);
// Whether hk_tet_gradient does that by itself.
void hk_tet_blend_with_gradient(hk_tet_term *term, bool on);
// Whether some tet is (partly) converted.
bool hk_tet_blended(const hk_tet_term *term);
// Takes the shares of another term of the same model.
void hk_tet_copy_blend(hk_tet_term *term, const hk_tet_term *from);
// The shares in the model's numbering, [tet_count].
void hk_tet_read_blend(const hk_tet_term *term, float *shares);
void hk_tet_write_blend(hk_tet_term *term, const float *shares);
// The first tet (model's numbering) whose energy is not finite, or -1.
int hk_tet_first_undefined(hk_tet_term *term, const void *x);

extern const hk_relax_ops hk_tet_relax;  // tet_relax.c

#endif
