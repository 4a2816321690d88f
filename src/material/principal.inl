// The functions of a law (law.h) over principal stretches: included by such a law's file with LAW, its
// name.
enum { LAW_FN(decomposes) = 1 };
typedef principal_stiffness LAW_FN(stiffness);
HK_INLINE real LAW_FN(energy_stress)(const hk_law_params *p, const real *element, mat3 H, mat3 *P)
{
    (void)element;
    return principal_energy_stress(p, H, P);
}

HK_ENERGY_AND_STRESS(LAW)
HK_INLINE principal_stiffness LAW_FN(stiffness_of)(const hk_law_params *p, const real *element,
                                               mat3 F, double keep)
{
    (void)element;
    return principal_law_stiffness(p, law_svd(F), keep);
}

HK_PRINCIPAL_BLOCKS(LAW)
HK_INLINE void LAW_FN(vertex)(const hk_law_params *p, const real *element, mat3 H, vec3 a,
                          vec3 *force, mat3 *block)
{
    (void)element;
    vec3 strain;
    svd3 f = law_strains(H, &strain);
    principal_stiffness s = principal_law_stiffness(p, f, 1);
    stretch_form form;
    principal_stretches(p, &strain, &form);
    principal_vertex(&s, &form, a, force, block);
}

HK_INLINE void LAW_FN(stretches)(const hk_law_params *p, const vec3 *e, stretch_form *form)
{
    principal_stretches(p, e, form);
}

HK_INLINE row_forms LAW_FN(diagonal)(const hk_law_params *p, const real *element, mat3 F)
{
    (void)element;
    principal_stiffness s = principal_law_stiffness(p, law_svd(F), 1);
    row_forms rows;
    principal_rows(&s, &rows);
    return rows;
}

#undef LAW
