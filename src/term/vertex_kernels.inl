// The kernels over the tets around a vertex, of one law (lanes.h): included by lanes_vertex.c for
// every law.

static void LAW_FN(vertex_push)(const hk_tet_batch *batch, const void *x, const int32_t *own,
                          int first, int last, void *sums)
{
    vec3 at = corners_load(x, own);
    vertex_sums s = sums_load(sums);
    for (int b = first; b < last; b++) {
        vec3 a, force;
        mat3 block;
        tet_lanes t = vertex_load(batch, x, &at, b, &a);
        LAW_FN(vertex)(&batch->params, tet_element(batch, b), t.H, a, &force, &block);
        if (is_blended(batch, b))
            blend_vertex(&batch->blend_law, blend_share(batch, b), &t.F, &a, &force, &block);
        sums_add(&s, tet_volume(batch, b), force, block);
    }
    sums_store(sums, &s);
}

static void LAW_FN(vertex_energy)(const hk_tet_batch *batch, const void *x, const void *at,
                            int first, int last, void *energy)
{
    vec3 own, a;
    real sum = r_load(energy);
    for (int i = 0; i < 3; i++) own.v[i] = r_load((const scalar *)at + i * HK_LANES);
    for (int b = first; b < last; b++) {
        tet_lanes t = vertex_load(batch, x, &own, b, &a);
        real psi = LAW_FN(energy)(&batch->params, tet_element(batch, b), t.H);
        if (is_blended(batch, b)) psi = blend_energy(batch, b, t.F, psi);
        real volume = tet_volume(batch, b);
        sum += r_select(volume > 0, volume * psi, r_zero());
    }
    r_store(energy, sum);
}
