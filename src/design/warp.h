// The factor of an older loaded shape x₀ in the place of that of the present one, x: during a drag
// no matrix with three unknowns per vertex is factored. K⁻¹ ≈ B K₀⁻¹ Bᵀ, where B takes
// displacements u₀ of x₀ to displacements u of x.
//
// Between the shapes a tet turns by R, the rotation of ∂x/∂x₀, and does little else: seen from the
// tet, u strains it as u₀ did where the symmetric part of ∇u is that of ∇₀u₀, turned, R ε₀ Rᵀ.
// Stresses are then turned alike, and the energies are the same: K₀ ≈ Bᵀ K B. What about the skew
// part, with the vector w₀ = ax(∇₀u₀)? To turn it as well, R ∇₀u₀ Rᵀ, is no good: in soft modes it
// is many times the strain (think of a body that swings about one hand), and where R varies the
// field R w₀ is far from that of any displacement; putting u together would make strain of it. But
// the gradient of w₀, a curvature, is of the size of the strains, and may be turned: k = R ∇₀w₀ Rᵀ.
// So there are two Poisson equations with the Laplacian L of x (∇ its shape gradients N, v
// volumes):
//
//   w₀ at vertices: means of ax(∇₀u₀) around them, weighted by volume
//   L w = Σ v (R ∇₀w₀ Rᵀ) ∇N                          w = M w₀ at held vertices
//   L u = Σ v (R ∇₀u₀ Rᵀ + skew(w̄ − R w̄₀)) ∇N         u = 0 at held vertices
//
// with w̄ the mean over the corners of a tet and M that of R around a vertex. Where the whole body
// turns rigidly R ∇₀u₀ Rᵀ is the gradient of R u₀, w = R w₀, and B K₀⁻¹ Bᵀ is K⁻¹.
//
// Bᵀ, for given f, goes the same way back. With y = L⁻¹ f, 0 at held vertices,
//
//   fᵀ B u₀ = Σ v ⟨∇y, R ∇₀u₀ Rᵀ⟩ + Σ q · (w̄ − R w̄₀),        q = 2 v ax(∇y).
//
// Σ q · w̄ = Σ_a Q_a · w_a with Q_a the sum of q/4 over the tets around a. L w has the part L_fh w_h
// of held vertices h on its left, so with z = L⁻¹ Q, again 0 there,
//
//   Σ Q · w = Σ v ⟨∇z, R ∇₀w₀ Rᵀ⟩ + Σ_h (Q − L z)_h · M w₀_h.
//
// So the gradient by w₀ is Z = Σ v (Rᵀ ∇z R) ∇₀N − Σ Rᵀ q/4 + Mᵀ (Q − L z) at held vertices, and by
// u₀, w₀ being Σ v ax(∇₀u₀) / Σ v around a vertex,
//
//   Bᵀ f = Σ v (Rᵀ ∇y R + skew(½ Σ_a Z_a / V_a)) ∇₀N,          V_a = Σ v around a.
//
// Attachments hold vertices a little: L has d more on their diagonals (fill_laplacian), d M w₀ and
// d M u₀ join the right-hand sides there, and Mᵀ d z and Mᵀ d y the adjoint. B K₀⁻¹ Bᵀ is symmetric
// and positive, up to the single precision of the solves.
#ifndef HK_WARP_H
#define HK_WARP_H

#include "design/precondition.h"

typedef struct hk_warp hk_warp;

hk_status hk_warp_create(hk_precondition *precondition, hk_warp **warp);
void hk_warp_free(hk_warp *warp);
// For the present loaded shape, whose Laplacian is there, and that of the factor, x0.
hk_status hk_warp_turn(hk_warp *warp);
// u = B u₀ and f₀ = Bᵀ f; they may be the same.
void hk_warp_forward(hk_warp *warp, const double *u0, double *u);
void hk_warp_back(hk_warp *warp, const double *f, double *f0);

#endif
