// The element kernels of one law (lanes.h): included by lanes.c for every law.

static void LAW_FN(update_blend)(const hk_tet_batch *batch, int block, const tet_lanes *t)
{
    if (!may_convert(batch, block, t->F)) return;
    real psi = LAW_FN(energy)(&batch->params, tet_element(batch, block), t->H);
    convert_block(batch, block, &t->F, blend_bounded(&batch->blend_law, t->F, psi));
}

static void LAW_FN(batch_update_blend)(const hk_tet_batch *batch, const void *x, int first, int last)
{
    for (int b = first; b < last; b++) {
        tet_lanes t = tet_load(batch, x, b);
        LAW_FN(update_blend)(batch, b, &t);
    }
}

static double LAW_FN(batch_energy)(const hk_tet_batch *batch, const void *x, int first, int last)
{
    double sum = 0;
    for (int b = first; b < last; b++) {
        tet_lanes t = tet_load(batch, x, b);
        real psi = LAW_FN(energy)(&batch->params, tet_element(batch, b), t.H);
        if (is_blended(batch, b)) psi = blend_energy(batch, b, t.F, psi);
        sum += weighted_sum(tet_volume(batch, b), psi);
    }
    return sum;
}

static void LAW_FN(batch_gradient)(const hk_tet_batch *batch, const void *x, int first, int last,
                               void *slots, double *energy)
{
    if (!energy) {
        for (int b = first; b < last; b++) {
            tet_lanes t = tet_load(batch, x, b);
            if (batch->converting) LAW_FN(update_blend)(batch, b, &t);
            mat3 P = LAW_FN(stress)(&batch->params, tet_element(batch, b), t.H);
            if (is_blended(batch, b)) P = blend_stress(batch, b, t.F, P);
            store_forces(batch, b, &t, P, slots);
        }
        return;
    }
    double sum = 0;
    for (int b = first; b < last; b++) {
        tet_lanes t = tet_load(batch, x, b);
        if (batch->converting) LAW_FN(update_blend)(batch, b, &t);
        mat3 P;
        real psi = LAW_FN(energy_stress)(&batch->params, tet_element(batch, b), t.H, &P);
        if (is_blended(batch, b)) blend_block(batch, b, &t.F, &psi, &P);
        sum += weighted_sum(tet_volume(batch, b), psi);
        store_forces(batch, b, &t, P, slots);
    }
    *energy = sum;
}

static void LAW_FN(batch_diagonal)(const hk_tet_batch *batch, const void *x, int first, int last,
                               void *slots)
{
    for (int b = first; b < last; b++) {
        tet_lanes t = tet_load(batch, x, b);
        row_forms rows = LAW_FN(diagonal)(&batch->params, tet_element(batch, b), t.F);
        if (is_blended(batch, b)) blend_rows(&batch->blend_law, blend_share(batch, b), &rows);
        store_diagonal(batch, b, &t, &rows, slots);
    }
}

static void LAW_FN(batch_stiffness)(const hk_tet_batch *batch, const void *x, int first, int last,
                                double keep, void *values)
{
    for (int b = first; b < last; b++) {
        tet_lanes t = tet_load(batch, x, b);
        const real *element = tet_element(batch, b);
        LAW_FN(stiffness) s = LAW_FN(stiffness_of)(&batch->params, element, t.F, keep);
        mat3 inner[6];
        LAW_FN(inner)(&s, &t.inverse, inner);
        if (is_blended(batch, b)) blend_inner(batch, b, &t.inverse, inner);
        for (int q = 0; q < 6; q++) inner[q] = m3_scale(inner[q], tet_volume(batch, b));
        store_stiffness((scalar *)values + (int64_t)(b - first) * HK_TET_STIFFNESS * HK_LANES,
                        inner);
    }
}

static void LAW_FN(batch_stress)(const hk_tet_batch *batch, const void *x, int first, int last,
                             void *values)
{
    for (int b = first; b < last; b++) {
        tet_lanes t = tet_load(batch, x, b);
        mat3 P = LAW_FN(stress)(&batch->params, tet_element(batch, b), t.H);
        if (is_blended(batch, b)) P = blend_stress(batch, b, t.F, P);
        scalar *to = (scalar *)values + (int64_t)(b - first) * 18 * HK_LANES;
        for (int k = 0; k < 9; k++) {
            r_store(to + k * HK_LANES, P.m[k / 3][k % 3]);
            r_store(to + (9 + k) * HK_LANES, t.F.m[k / 3][k % 3]);
        }
    }
}
