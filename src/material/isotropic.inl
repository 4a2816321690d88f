// The functions of a law (law.h) whose density is one of invariants: included by such a law's file with
// LAW, its name, after LAW_uses and LAW_density.
enum { LAW_FN(decomposes) = (LAW_FN(uses) & USES_S) != 0 };
typedef principal_stiffness LAW_FN(stiffness);
HK_INLINE real LAW_FN(energy_stress)(const hk_law_params *p, const real *element, mat3 H, mat3 *P)
{
    (void)element;
    density w;
    invariants q;
    if (LAW_FN(uses) & USES_S) {
        vec3 strain;
        svd3 f = law_strains(H, &strain);
        q = invariants_of_strains(strain);
        w = LAW_FN(density)(p, q);
        *P = principal_stress(&f, isotropic_principal_forces(strain, &w));
    } else {
        q = invariants_of(H, LAW_FN(uses));
        w = LAW_FN(density)(p, q);
        *P = isotropic_stress(H, &w, LAW_FN(uses));
    }
    // Stresses have the same bits whether the energy is asked for or not.
    density value = LAW_FN(density)(p, invariants_apart(q));
    return r_select(value.defined, value.value, r_set(INFINITY));
}

HK_ENERGY_AND_STRESS(LAW)
HK_INLINE principal_stiffness LAW_FN(stiffness_of)(const hk_law_params *p, const real *element,
                                               mat3 F, double keep)
{
    (void)element;
    svd3 f = law_svd(F);
    density w = LAW_FN(density)(p, invariants_of_strains(strains_of_stretches(f.s)));
    principal_stiffness s;
    isotropic_stiffness(&f, &w, keep, &s);
    return s;
}

HK_PRINCIPAL_BLOCKS(LAW)
HK_SHARED void LAW_FN(stretches)(const hk_law_params *p, const vec3 *e, stretch_form *form)
{
    density w = LAW_FN(density)(p, invariants_of_strains(*e));
    real s[3] = {1 + e->v[0], 1 + e->v[1], 1 + e->v[2]};
    form->value = r_select(w.defined, w.value, r_set(INFINITY));
    form->d = isotropic_principal_forces(*e, &w);
    form->dd = isotropic_scaling(s, &w);
}

HK_INLINE void LAW_FN(vertex)(const hk_law_params *p, const real *element, mat3 H, vec3 a,
                          vec3 *force, mat3 *block)
{
    (void)element;
    svd3 f;
    vec3 strain;
    if (LAW_FN(uses) & USES_S) f = law_strains(H, &strain);
    density w = LAW_FN(density)(p, (LAW_FN(uses) & USES_S) ? invariants_of_strains(strain)
                                                           : invariants_of(H, LAW_FN(uses)));
    isotropic_vertex(H, &f, &strain, &w, LAW_FN(uses), a, force, block);
}

HK_INLINE row_forms LAW_FN(diagonal)(const hk_law_params *p, const real *element, mat3 F)
{
    if (LAW_FN(uses) & USES_S) {
        principal_stiffness s = LAW_FN(stiffness_of)(p, element, F, 1);
        row_forms rows;
        principal_rows(&s, &rows);
        return rows;
    }
    density w = LAW_FN(density)(p, invariants_of(m3_displacement(F), LAW_FN(uses)));
    return isotropic_rows(F, &w, LAW_FN(uses));
}

#undef LAW
