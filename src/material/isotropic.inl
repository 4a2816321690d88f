// The functions of a law (law.h) whose density is one of invariants: included by such a law's file with
// LAW, its name, after LAW_uses and LAW_density.
enum { LAW_FN(decomposes) = (LAW_FN(uses) & USES_S) != 0 };
typedef principal_stiffness LAW_FN(stiffness);
HK_INLINE real LAW_FN(energy_stress)(const hk_law_params *p, const real *element, mat3 F, mat3 *P)
{
    (void)element;
    mat3 R = isotropic_rotation(F, LAW_FN(uses));
    density w = LAW_FN(density)(p, invariants_of(F, R, LAW_FN(uses)));
    *P = isotropic_stress(F, R, &w, LAW_FN(uses));
    return r_select(w.defined, w.value, r_set(INFINITY));
}

HK_ENERGY_AND_STRESS(LAW)
HK_INLINE principal_stiffness LAW_FN(stiffness_of)(const hk_law_params *p, const real *element,
                                               mat3 F, double keep)
{
    (void)element;
    svd3 f = law_svd(F);
    density w = LAW_FN(density)(p, invariants_of_stretches(f.s));
    principal_stiffness s;
    isotropic_stiffness(&f, &w, keep, &s);
    return s;
}

HK_PRINCIPAL_BLOCKS(LAW)
HK_SHARED void LAW_FN(stretches)(const hk_law_params *p, const vec3 *s, stretch_form *form)
{
    density w = LAW_FN(density)(p, invariants_of_stretches(*s));
    form->value = r_select(w.defined, w.value, r_set(INFINITY));
    isotropic_stretch_derivatives(s->v, &w, &form->d, &form->dd);
}

HK_INLINE void LAW_FN(vertex)(const hk_law_params *p, const real *element, mat3 F, vec3 a,
                          vec3 *force, mat3 *block)
{
    (void)element;
    svd3 f;
    if (LAW_FN(uses) & USES_S) f = law_svd(F);
    mat3 R = (LAW_FN(uses) & USES_S) ? polar_rotation_of(f) : F;
    density w = LAW_FN(density)(p, invariants_of(F, R, LAW_FN(uses)));
    isotropic_vertex(F, &f, &w, LAW_FN(uses), a, force, block);
}

HK_INLINE row_forms LAW_FN(diagonal)(const hk_law_params *p, const real *element, mat3 F)
{
    if (LAW_FN(uses) & USES_S) {
        principal_stiffness s = LAW_FN(stiffness_of)(p, element, F, 1);
        row_forms rows;
        principal_rows(&s, &rows);
        return rows;
    }
    density w = LAW_FN(density)(p, invariants_of(F, F, LAW_FN(uses)));
    return isotropic_rows(F, &w, LAW_FN(uses));
}

#undef LAW
