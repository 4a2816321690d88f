/* Energy, gradient, Hessian and linear systems of a world's model at any state, and how its forces
 * depend on the rest shape: what optimisers, eigenvalue solvers and adjoint methods are made of. A
 * part of hooke.h, which includes it. */
#ifndef HOOKE_RESEARCH_H
#define HOOKE_RESEARCH_H

#include <hooke/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Looks at the function that a pose minimises, E(x) − fᵀx: elastic energy with attachments and
 * grabs, gravity, loads, pressures, users' terms and contact, without inertia, damping and
 * friction. (Pressures on surfaces with a rim that moves are no energy's: their forces are exact,
 * the Hessian has the symmetric part of their derivative.) The state of the world is not touched.
 * Vertices are numbered over all bodies, vectors are [vertex_count][3]. */
typedef struct hk_analysis hk_analysis;
/* Of the model that the world has now, with its gravity, loads, forces and grabs as they are when a
 * state is set. Free it before the world. Where the world has gone over to another model since
 * (hk_world_fix, hk_world_set_material, hk_world_set_rest_positions) calls fail: create it anew. */
HK_API hk_status hk_analysis_create(hk_world *world, hk_analysis **analysis);
HK_API void hk_analysis_free(hk_analysis *analysis);

/* The state that all calls below are about. positions NULL: those of the world. time: where
 * obstacles and targets of attachments are, and what functions of the time come to; NAN: in full,
 * as in a pose. The first state, until one is set, is the world's in full. Loads and gravity of the
 * world that are functions of the time are those of this time, until its next step or pose. */
HK_API hk_status hk_analysis_set_state(hk_analysis *analysis, const double *positions, double time);

/* Kinetic energy is 0. The gradient at held vertices is the reaction. Either may be NULL. */
HK_API hk_status hk_analysis_energy(hk_analysis *analysis, hk_energy *energy, double *gradient);

/* The Hessian of all vertices, held ones among them, as blocks of 3×3 numbers, row by row: block k
 * of block row v, row_start[v] ≤ k < row_start[v + 1], is in column[k], columns rising. Both
 * triangles are there. First the number of blocks, which may be another for each state where there
 * is contact; then row_start is [vertex_count + 1], column [blocks], values [blocks][3][3] N/m.
 * `projected`: elements are made positive semidefinite. */
HK_API hk_status hk_analysis_hessian_size(hk_analysis *analysis, int64_t *blocks);
HK_API hk_status hk_analysis_hessian(hk_analysis *analysis, bool projected, int64_t *row_start,
                                     int32_t *column, double *values);
/* product = H direction, of all vertices, without a matrix. */
HK_API hk_status hk_analysis_product(hk_analysis *analysis, bool projected, const double *direction,
                                     double *product);

/* Factors H + weight M + diag(extra) of the coordinates that are free: weight is 1/s² (0: of an
 * equilibrium), extra [vertex_count] N/m, or NULL. `positive` is false where it is not positive
 * definite: then there is nothing to solve with. Large models have multigrid in place of factors.
 */
HK_API hk_status hk_analysis_factor(hk_analysis *analysis, double weight, const double *extra,
                                    bool *positive);
/* solution = (H + …)⁻¹ right at free coordinates, 0 at held ones; they may be one. */
HK_API hk_status hk_analysis_solve(hk_analysis *analysis, const double *right, double *solution);

/* What is held, a sum of HK_AXIS_X … for each vertex (HK_ALL_AXES: held, or moved), and where the
 * state that was set has it; either may be NULL. positions are [vertex_count][3] m, at free
 * coordinates those of the state. */
HK_API hk_status hk_analysis_held(hk_analysis *analysis, uint8_t *axes, double *positions);

/* slope = ∂/∂X (direction · ∂E/∂x + Σ factors m) for positions that stay: how elastic forces,
 * attachments and masses depend on the rest positions X. factors is [vertex_count], or NULL: 0.
 * Loads stay what they are. Held vertices stay, too: where they are held at X, the caller adds that
 * they follow. Of bodies of linear tets. */
HK_API hk_status hk_analysis_rest_slope(hk_analysis *analysis, const double *direction,
                                        const double *factors, double *slope);

/* A law without energy, stress and stiffness, for the model "custom" of bodies whose energy is in a
 * term (hk_term_def.batch). Their fields of stress are 0. */
HK_API void hk_fill_empty_law(hk_custom_law *law);

#ifdef __cplusplus
}
#endif
#endif
