// See kernels.h. HK_DOUBLE, HK_LANES, HK_STVK_FORMS and HK_STVK_NAME come from the build.
#include "kernels.h"

#include "material/laws.h"
#include "term/blend.h"
#include "term/tet_store.h"

#define LAW stvk_by_invariants
#include "term/tet_kernels.inl"
#undef LAW

// 01 02 03 12 13 23
HK_INLINE void six_edges(const hk_tet_batch *batch, const scalar *x, int block, vec3 d[6])
{
    const int32_t *vertex = batch->vertex + (int64_t)block * 4 * HK_LANES;
    vec3 first = corners_load(x, vertex);
    for (int c = 0; c < 3; c++) d[c] = v3_sub(corners_load(x, vertex + (c + 1) * HK_LANES), first);
    d[3] = v3_sub(d[1], d[0]);
    d[4] = v3_sub(d[2], d[0]);
    d[5] = v3_sub(d[2], d[1]);
}

static void matrix_gradient(const hk_tet_batch *batch, const void *constants, const void *x,
                            int first, int last, void *slots, double *energy)
{
    double sum = 0;
    for (int b = first; b < last; b++) {
        const scalar *from = (const scalar *)constants + (int64_t)b * STVK_MATRIX * HK_LANES;
        vec3 d[6];
        real s[6], tension[6], psi = r_zero();
        six_edges(batch, x, b, d);
        for (int e = 0; e < 6; e++) {
            s[e] = v3_dot(d[e], d[e]) - r_load(from + (21 + e) * HK_LANES);
            tension[e] = r_zero();
        }
        for (int e = 0, q = 0; e < 6; e++)
            for (int f = e; f < 6; f++, q++) {
                real c = r_load(from + q * HK_LANES);
                tension[e] += c * s[f];
                if (f > e) tension[f] += c * s[e];
            }
        for (int e = 0; e < 6; e++) {
            psi += 0.5f * tension[e] * s[e];
            d[e] = v3_scale(d[e], 2 * tension[e]);
        }
        if (energy) sum += r_sum(psi);
        mat3 forces;
        m3_set_column(&forces, 0, v3_sub(d[0], v3_add(d[3], d[4])));
        m3_set_column(&forces, 1, v3_sub(v3_add(d[1], d[3]), d[5]));
        m3_set_column(&forces, 2, v3_add(d[2], v3_add(d[4], d[5])));
        store_corner_forces(batch, b, forces, slots);
    }
    if (energy) *energy = sum;
}

extern const stvk_forms HK_STVK_FORMS;
const stvk_forms HK_STVK_FORMS = {
    .name = HK_STVK_NAME,
    .tensors = {stvk_by_invariants_batch_energy, stvk_by_invariants_batch_gradient,
                stvk_by_invariants_batch_diagonal, stvk_by_invariants_batch_stiffness,
                stvk_by_invariants_batch_stress, stvk_by_invariants_batch_update_blend},
    .matrix = matrix_gradient,
};
