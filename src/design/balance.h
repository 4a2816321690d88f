// Tensions of springs and bends that carry the load in a given shape: what is left to choose where
// the shape, and with it the direction of every link, is known (after Twigg & Kačić-Alesić 2011,
// "Optimization for sag-free simulations").
//
// A link d = Σ c_a x_a of stiffness w pulls with s = w (‖d‖ − r) along n = d/‖d‖ (term/links.h).
// The forces on free vertices are linear in s, and balance those of everything else, f, where
//
//   A s = f,   (A s)_a = Σ_k c_ka n_k s_k.
//
// There may be many solutions or, more often, none: a mesh of triangles has fewer springs than its
// vertices have coordinates. Wanted are rest lengths as near as possible to those of the shape,
// where s = 0: the least Σ s²/2w, within bounds that keep rest lengths sound. Its dual is a
// function of one vector λ per vertex, a displacement, with s_k = w_k (A^T λ)_k cut off at the
// bounds,
//
//   Φ(λ) = Σ φ_k((A^T λ)_k) − f·λ + ε/2 ‖λ − λ₀‖²_C,   ∇Φ = A s − f + ε C (λ − λ₀),
//
// convex: Newton's method finds its minimum in a few steps with matrices A W D A^T + ε C. With λ₀
// the minimum before, this is the proximal point method: what is left of A s − f vanishes where
// that is possible, and becomes the least that is possible elsewhere. The corners of s at its
// bounds are rounded off, less and less from step to step, as interior point methods do: the number
// of iterations hardly depends on how many links there are.
#ifndef HK_BALANCE_H
#define HK_BALANCE_H

#include "linear/direct.h"
#include "solver/problem.h"
#include "term/assembly.h"
#include "term/links.h"

typedef struct hk_balance {
    hk_terms *terms;
    const hk_links *links;
    int vertex_count;
    const uint8_t *held;  // [vertex_count] Morton order, as all vectors are
    const double *x;      // [vertex_count][4] m, the shape
    const double *load;   // [vertex_count][4] N, f
    int count;            // of springs and bends, in the order of `links`
    double *direction;    // [count][3] n
    double *tension;      // [count] s, N
    double *slope;        // [count] ds/d(A^T λ), N/m
    double *low, *high;   // [count] N, bounds
    hk_assembly *assembly;
    hk_direct *direct;  // NULL: nothing is free
    double *blocks, *values, *right;
    double *scale;    // [vertex_count] N/m, C
    double *weight;   // [vertex_count] N/m, what is added to the diagonal
    double shift;     // ε
    double softness;  // μ relative to `usual`
    double usual;     // N, the load of a vertex
    double *lambda, *anchor, *gradient, *step, *trial;  // [vertex_count][4]
    int factorisations;
} hk_balance;

// What outlives it: held, x and load. `model` is one whose springs and bends have the lengths of
// the shape.
hk_status hk_balance_create(const hk_model *model, const uint8_t *held, const double *x,
                            const double *load, int threads, hk_balance **balance);
void hk_balance_free(hk_balance *balance);

// Finds tensions; `push`: links may push, too, where pulling alone is not enough, and then as
// little as possible. What is left is below `tolerance` × ‖f‖ or the least that can be had.
hk_status hk_balance_solve(hk_balance *balance, bool push, double tolerance, int most);
// f − A s at a vertex, and its norm over all of them, N.
void hk_balance_residual(const hk_balance *balance, double *residual);
double hk_balance_norm(const hk_balance *balance, const double *vector);
// Whether the sheets stay there: the energy has a minimum, up to what grows in no less than ten
// seconds (`mass` [vertex_count] kg).
hk_status hk_balance_is_stable(hk_balance *balance, const double *mass, bool *stable);

#endif
