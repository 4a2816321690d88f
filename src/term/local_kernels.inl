// The local steps of ADMM and XPBD of one law (lanes.h): included by lanes_local.c for every law.

static void LAW_FN(admm_local)(const hk_tet_batch *batch, const void *x, int first, int last,
                      double weight, bool fresh, void *u, void *slots)
{
    real k = r_set(weight);
    for (int b = first; b < last; b++) {
        scalar *own = (scalar *)u + (int64_t)(b - first) * 9 * HK_LANES;
        const real *element = tet_element(batch, b);
        tet_lanes t = tet_load(batch, x, b);
        mat3 dual, gap = m3_zero();
        if (fresh) {
            mat3 P = LAW_FN(stress)(&batch->params, element, t.H);
            if (is_blended(batch, b)) P = blend_stress(batch, b, t.F, P);
            dual = first_dual(P, k);
        } else {
            mat3 before = load_nine(own), p = m3_add(t.H, before);
            prox_law law = law_of_block(batch, b, LAW_FN(stretches));
            if (LAW_NUMBER == HK_LAW_fibre)
                prox_strand(&law, element, k, &p, &dual);
            else if (LAW_NUMBER == HK_LAW_custom)
                prox_custom(batch, b, weight, &p, &dual);
            else
                prox_isotropic(&law, k, &p, &dual);
            gap = m3_sub(dual, before);  // F − z = p − u − z
        }
        store_nine(own, dual);
        store_forces(batch, b, &t, m3_scale(m3_add(gap, dual), k), slots);
    }
}

static void LAW_FN(relax)(const hk_tet_batch *batch, void *x, int first, int last, double h,
                      void *multipliers)
{
    for (int b = first; b < last; b++) {
        const real *element = tet_element(batch, b);
        tet_corners t = corners_of(batch, x, b);
        if (batch->blend && may_convert(batch, b, t.F))
            convert_block(batch, b, &t.F, r_zero() == r_zero());
        prox_law law = law_of_block(batch, b, LAW_FN(stretches));
        const bool strand = LAW_NUMBER == HK_LAW_fibre, custom = LAW_NUMBER == HK_LAW_custom;
        response r;
        custom_stiffness own_form;
        if (strand)
            respond_strand(batch, &law, element, &t.H, &r);
        else if (custom)
            respond_custom(batch, b, &t.H, &r.P, &own_form);
        else
            respond(batch, &law, &t.H, &r);
        scalar *own = multipliers;
        if (own) own += (int64_t)(b - first) * 9 * HK_LANES;
        mat3 before = own ? load_nine(own) : m3_zero(), R = m3_sub(r.P, before);
        real volume = tet_volume(batch, b), mass = r_set(1 / (h * h));
        corner_step s = step_of(&t, volume, R);
        real stiff =
            strand   ? strand_curvature(&r, element, &s.delta)
            : custom ? custom_curvature(&own_form, &s.delta)
                     : curvature(&r, &s.delta);
        real length = relax_corners(batch, b, &t, &s, s.sum * mass + volume * stiff, x);
        if (own) store_nine(own, m3_add_scaled(before, length *mass, R));
    }
}
