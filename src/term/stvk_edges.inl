// The kernels of stvk by edge lengths, in double precision: included by lanes.c.
//
// ψ depends on F by A = FᵀF − 1 alone, which is linear in the squared lengths of a tet's six edges
// (Kikuuwe et al. 2009), so the rest shape enters by its edge lengths, whichever way it is turned.
// In the frame whose first axis goes along the first edge, and whose second is in the plane of the
// first two, the inverse rest matrix B is triangular: six numbers in the place of nine (and of the
// 21 + 6 of the matrix between squared lengths and energy), and products of half the size. With the
// current edges D,
//   F = D B,  A = FᵀF − 1 = Bᵀ (DᵀD − D₀ᵀD₀) B,  forces = volume P Bᵀ.
// Everything that is done with F there, conversion too, is isotropic and does not see the frame.

typedef struct edge_lanes {
    real inverse[6];  // 00 01 02 11 12 22
    mat3 F, A;
} edge_lanes;

HK_INLINE edge_lanes edge_load(const hk_tet_batch *batch, const scalar *x, int block)
{
    const int32_t *vertex = batch->vertex + (int64_t)block * 4 * HK_LANES;
    const scalar *from = (const scalar *)batch->edge_inverse + (int64_t)block * 6 * HK_LANES;
    mat3 D = tet_edges(batch, x, vertex, corners_load(x, vertex));
    edge_lanes t;
    for (int k = 0; k < 6; k++) t.inverse[k] = r_load(from + k * HK_LANES);
    const real *b = t.inverse;
    for (int i = 0; i < 3; i++) {
        const real *d = D.m[i];
        t.F.m[i][0] = d[0] * b[0];
        t.F.m[i][1] = d[0] * b[1] + d[1] * b[3];
        t.F.m[i][2] = d[0] * b[2] + d[1] * b[4] + d[2] * b[5];
    }
    t.A = m3_add_identity(m3_tmul(t.F, t.F), r_set(-1));
    return t;
}

// J − 1 and cof F.
HK_INLINE real edge_volume(const edge_lanes *t, mat3 *cofactor)
{
    *cofactor = m3_cofactor(t->F);
    const real *f = t->F.m[0], *k = cofactor->m[0];
    return f[0] * k[0] + f[1] * k[1] + f[2] * k[2] - 1;
}

HK_INLINE real edge_energy(const hk_law_params *p, const edge_lanes *t)
{
    real psi = stvk_strain_energy(p, t->A);
    if (stvk_has_penalty(p)) {
        mat3 K;
        real j = r_apart(edge_volume(t, &K));
        psi += r_set(p->c[2]) * j * j;
    }
    return psi;
}

HK_INLINE mat3 edge_stress(const hk_law_params *p, const edge_lanes *t)
{
    mat3 P = m3_mul(t->F, stvk_second_stress(p, t->A));
    if (stvk_has_penalty(p)) {
        mat3 K;
        real j = edge_volume(t, &K);
        P = m3_add_scaled(P, r_set(2 * p->c[2]) * j, K);
    }
    return P;
}

HK_INLINE void store_edge_forces(const hk_tet_batch *batch, int block, const edge_lanes *t, mat3 P,
                                 scalar *slots)
{
    const real *b = t->inverse;
    mat3 forces;
    P = m3_scale(P, tet_volume(batch, block));
    for (int i = 0; i < 3; i++) {
        const real *p = P.m[i];
        forces.m[i][0] = p[0] * b[0] + p[1] * b[1] + p[2] * b[2];
        forces.m[i][1] = p[1] * b[3] + p[2] * b[4];
        forces.m[i][2] = p[2] * b[5];
    }
    store_corner_forces(batch, block, forces, slots);
}

static void edge_update_blend(const hk_tet_batch *batch, int block, const edge_lanes *t)
{
    if (!may_convert(batch, block, t->F)) return;
    real psi = edge_energy(&batch->params, t);
    convert_block(batch, block, &t->F, blend_bounded(&batch->blend_law, t->F, psi));
}

static void edge_batch_update_blend(const hk_tet_batch *batch, const void *x, int first, int last)
{
    for (int b = first; b < last; b++) {
        edge_lanes t = edge_load(batch, x, b);
        edge_update_blend(batch, b, &t);
    }
}

static double edge_batch_energy(const hk_tet_batch *batch, const void *x, int first, int last)
{
    double sum = 0;
    for (int b = first; b < last; b++) {
        edge_lanes t = edge_load(batch, x, b);
        real psi = edge_energy(&batch->params, &t);
        if (is_blended(batch, b)) psi = blend_energy(batch, b, t.F, psi);
        sum += weighted_sum(tet_volume(batch, b), psi);
    }
    return sum;
}

static void edge_batch_gradient(const hk_tet_batch *batch, const void *x, int first, int last,
                                void *slots, double *energy)
{
    double sum = 0;
    for (int b = first; b < last; b++) {
        edge_lanes t = edge_load(batch, x, b);
        if (batch->converting) edge_update_blend(batch, b, &t);
        mat3 P = edge_stress(&batch->params, &t);
        if (energy) {
            real psi = edge_energy(&batch->params, &t);
            if (is_blended(batch, b)) psi = blend_energy(batch, b, t.F, psi);
            sum += weighted_sum(tet_volume(batch, b), psi);
        }
        if (is_blended(batch, b)) P = blend_stress(batch, b, t.F, P);
        store_edge_forces(batch, b, &t, P, slots);
    }
    if (energy) *energy = sum;
}

// The exact blocks of a tet that is not converted, all ten at once.
HK_INLINE void edge_stiffness(const hk_tet_batch *batch, int block, const edge_lanes *t,
                              scalar *values)
{
    const hk_law_params *p = &batch->params;
    const real *b = t->inverse, zero = r_zero();
    mat3 K = m3_zero();
    real j = stvk_has_penalty(p) ? edge_volume(t, &K) : zero;
    stvk_exact s = stvk_exact_at(p, t->F, t->A, j, K, tet_volume(batch, block));
    vec3 gradient[4] = {{{-b[0], -(b[1] + b[3]), -(b[2] + b[4] + b[5])}},
                        {{b[0], b[1], b[2]}},
                        {{zero, b[3], b[4]}},
                        {{zero, zero, b[5]}}};
    stvk_side side[4];
    for (int c = 0; c < 4; c++) side[c] = stvk_side_of(&s, gradient[c]);
    for (int c = 0, pair = 0; c < 4; c++) {
        store_pair(values, pair++, stvk_own_block(&s, &side[c]));
        for (int d = c + 1; d < 4; d++)
            store_pair(values, pair++, stvk_mixed_block(&s, &side[c], &side[d]));
    }
}

static void edge_batch_stiffness(const hk_tet_batch *batch, const void *x, int first, int last,
                                 double keep, void *values)
{
    for (int b = first; b < last; b++) {
        scalar *to = (scalar *)values + (int64_t)(b - first) * HK_TET_STIFFNESS * HK_LANES;
        if (keep < 1 || is_blended(batch, b)) {
            stvk_batch_stiffness(batch, x, b, b + 1, keep, to);
            continue;
        }
        edge_lanes t = edge_load(batch, x, b);
        edge_stiffness(batch, b, &t, to);
    }
}
