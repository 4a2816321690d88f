// Interface placeholder replaced by the implementation.
#ifndef HK_SVD_H
#define HK_SVD_H
#include "math/mat3.h"
// a = U diag(s) Vᵀ with U and V rotations and s₀ ≥ s₁ ≥ |s₂|; s₂ carries the sign of det a.
typedef struct svd3 {
    mat3 u;
    vec3 s;
    mat3 v;
} svd3;
HK_INLINE svd3 svd3_of(mat3 a);
#endif
