// Element kernels of the inverse problem, f(x, X) = 0 for the rest shape X of a given loaded shape
// x, in double precision, one table per lane type (see cmake/lanes.cmake).
//
// The batches (term/lanes.h) are those of a model whose rest shape is x. Shape gradients ∇N and
// volumes v are then those of the loaded shape, they do not depend on X, and with X in the place of
// positions the "deformation gradient" of a kernel is F̂ = ∂X/∂x, linear in X (TwoWay eq. 9), with
// F = F̂⁻¹ and J = det F. The force on corner a of a tet is
//
//   f_a = −v σ ∇N_a + v det F̂ ρ g/4,    σ = J⁻¹ P(F) Fᵀ.
//
// With V = v det F̂ and G_a = Fᵀ ∇N_a, the volume and the shape gradients of the rest shape, and
// H_ab the blocks of the ordinary stiffness ∂²E/∂x², its derivative by X_b is
//
//   ∂f_a/∂X_b = H_ab F  +  (f_a G_bᵀ − f_b G_aᵀ)  +  V ρ g/4 G_bᵀ
//
// (f elastic): the stress, the area-weighted normals and the weight change, which are the three
// components of TwoWay eq. 10 to 15, for any law that has a stress and a stiffness.
#ifndef HK_REST_LANES_H
#define HK_REST_LANES_H

#include "term/lanes.h"

// The components of ∂f/∂X, for those who want to leave one out.
enum {
    HK_OF_STRESS = 1,
    HK_OF_NORMALS = 2,
    HK_OF_WEIGHT = 4,
    HK_WHOLE_JACOBIAN = HK_OF_STRESS | HK_OF_NORMALS | HK_OF_WEIGHT
};

// Numbers per tet of a Jacobian: the elastic blocks of corners a, b = 1..3 (those of corner 0
// follow, for rows and columns sum to zero), then V G_b, by which the weight changes.
enum { HK_REST_ELASTIC = 81, HK_REST_JACOBIAN = 90 };

// Numbers per tet of a turn from an older loaded shape x₀ to x: the rotation R of ∂x/∂x₀, then the
// shape gradients of corners 1..3 in x₀, turned by it: rows (R ∇₀N)ᵀ. See warp.h.
enum { HK_REST_TURN = 18 };

typedef struct hk_rest_kernels {
    // Forces on every corner into slots[slot][4]; `weight` is ρ g/4 in N/m³, 0 for strands, which
    // weigh nothing. Returns the least det F̂; NaN if one is.
    double (*force)(const hk_tet_batch *batch, const double *X, int first, int last,
                    const double weight[3], double *slots);
    // ∂f/∂X: values[last − first][HK_REST_JACOBIAN][lanes], with the components wanted.
    void (*jacobian)(const hk_tet_batch *batch, const double *X, int first, int last,
                     int components, double *values);
} hk_rest_kernels;

typedef struct hk_rest_table {
    const char *name;
    hk_rest_kernels law[HK_LAW_COUNT];
    // Forces that a displacement of X makes, by such values; `weight` as above.
    void (*product)(const hk_tet_batch *batch, const double *values, const double *displacement,
                    int first, int last, const double weight[3], double *slots);
    // F̂ times the vector at each corner, times the volume v.
    void (*carry)(const hk_tet_batch *batch, const double *X, const double *vector, int first,
                  int last, double *slots);
    // A rotation–strain step: with A = length × dF̂ F̂⁻¹ = W + S, skew and symmetric, F̂ goes to
    // e^W e^S F̂. What that is more than length × dF̂, contracted with v ∇N of every corner, goes
    // into the slots. Returns the largest entry of A.
    double (*bend)(const hk_tet_batch *batch, const double *X, const double *step, double length,
                   int first, int last, double *slots);
    // A turn from x₀ to x: values[last − first][HK_REST_TURN][lanes].
    void (*turn)(const hk_tet_batch *batch, const double *x0, const double *x, int first, int last,
                 double *values);
    // What follows is for warp.h, with `values` of a turn; ax is the vector of a skew part.
    // v R times the vector at each corner.
    void (*spin)(const hk_tet_batch *batch, const double *values, const double *vector, int first,
                 int last, double *slots);
    // v ax(∇₀u), and v/2 ax(∇u), at every corner.
    void (*whirl)(const hk_tet_batch *batch, const double *values, const double *u, int first,
                  int last, double *slots);
    void (*twist)(const hk_tet_batch *batch, const double *u, int first, int last, double *slots);
    // v (R ∇₀u Rᵀ + skew(w̄ − R w̄₀)) ∇N of every corner, w̄ the means over the corners; those may be
    // NULL together.
    void (*warp)(const hk_tet_batch *batch, const double *values, const double *u,
                 const double *whirl0, const double *whirl1, int first, int last, double *slots);
    // v Rᵀ (∇u + skew(R Σ w₀/2)) R ∇₀N of every corner, less v/2 Rᵀ ax(∇ twisted); both may be
    // NULL.
    void (*unwarp)(const hk_tet_batch *batch, const double *values, const double *u,
                   const double *twisted, const double *whirl0, int first, int last, double *slots);
    // With F̂₀ = ∂X₀/∂x₀ of a pair of shapes: v (F̂₀ − 1) ∇N of every corner.
    void (*follow)(const hk_tet_batch *batch, const double *x0, const double *X0, int first,
                   int last, double *slots);
} hk_rest_table;

#endif
