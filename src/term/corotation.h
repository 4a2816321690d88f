// The elements of Split in single precision: rotations kept from step to step, the right-hand side
// of the constant system (Split eq. 12), the gradient of the whole energy, and the volume
// constraints (section 3.2) by coloured Gauss–Seidel. Results have the same bits for any number of
// threads.
//
// Lengths are in units of the caller's choice, `length` metres each, so that single precision has
// room whatever the size of the body; forces come out divided by it, which is what the caller's
// matrix in N/m turns into displacements in those units. Energies are divided by its square.
#ifndef HK_COROTATION_H
#define HK_COROTATION_H

#include "core/base.h"
#include "model/model.h"
#include "term/corotation_lanes.h"

typedef struct hk_corotation {
    const hk_corotation_table *table;
    int threads;
    // Mild elements have the pressure of their own energy, and no constraints.
    bool own_trace;
    // Patches lie within one body and one material. A copy of a body (term/instances.h) borrows
    // everything but vertices, rotations and multipliers from those of its original, whose rest
    // shape it takes for its own: rotations are then relative to that.
    int patch_count, own_count;
    hk_corotation_patch *patches;
    int32_t *lender;  // [patch_count] the patch that it borrows from: itself in own_count of them
    // What the patches point into:
    int32_t *vertex, *target;
    uint16_t *index, *group_index, *group_tet;
    float *rest, *quaternion, *group_volume, *multiplier;
    int64_t quaternion_count, multiplier_count;
    // Rows of the result that several patches add to (or none), and what each of them left. The
    // first place of `shared` is for vertices that have no row.
    int shared_count;
    int32_t *shared_row;    // [shared_count]
    int32_t *shared_start;  // [shared_count + 1]
    float *shared;          // [shared_start[shared_count]][4]
    // Patches with a volume half, by colour: those of one colour have no vertex in common.
    int colour_count;
    int32_t *colour_start;  // [colour_count + 1]
    int32_t *coloured;
    double *partial;   // [patch_count] energies
    float *workspace;  // [threads][HK_COROTATION_ROOM]
} hk_corotation;

// Whether a law has the energy of this file, and a material has no more than that; `volume` may be
// NULL.
bool hk_corotation_law(hk_law law, hk_volume_law *volume);
bool hk_corotation_can(const hk_material *material, hk_volume_law *volume);
// `corotated` up to ν = 5/11: its volume half has a second derivative of at most 3λ, so that a
// constant matrix with 2μ + 3λ for 2μ bounds that of the whole energy, and 3λ is not so large that
// a step with it would be much too careful.
bool hk_corotation_mild(const hk_material *material);

// row: [vertex_count] in Morton order, where a vertex stands in results; -1: nowhere.
hk_status hk_corotation_create(const hk_model *model, const hk_corotation_table *table,
                               double length, const int32_t *row, int row_count, int threads,
                               hk_corotation **elements);
void hk_corotation_free(hk_corotation *elements);

// x: float[vertex_count][4] in Morton order, the fourth number the inverse weight of a vertex;
// result: float[row_count][4].
// Brings rotations up to date and fills result with Dᵀ K (R − F) (Split Algorithm 2, lines 4–8);
// `carry`: and the forces of the volume constraints as the last sweep left them. With own_trace
// mild patches have −∇ of the whole energy instead, within bounds (corotation_lanes.c:
// trace_pressure).
void hk_corotation_stretch(hk_corotation *elements, bool carry, const float *x, float *result);
// Brings rotations up to date and does no more: the part of hk_corotation_stretch that is not the
// right-hand side, for measurements.
void hk_corotation_rotate(hk_corotation *elements, const float *x);
// The gradient of the whole energy; returns the energy.
double hk_corotation_gradient(hk_corotation *elements, const float *x, float *result);
// `iterations` sweeps over the volume constraints (lines 10–14), from multipliers 0 or, `carry`,
// from those of the last call.
void hk_corotation_volume(hk_corotation *elements, bool carry, float *x, int iterations);
// Forgets multipliers.
void hk_corotation_forget_multipliers(hk_corotation *elements);

#endif
