// Strands along a direction a of the rest shape: ψ = φ(‖F a‖). A fibre is φ = k/2 (s − 1)²
// (QuasiNewton, "Results: Anisotropy"); an axis of an orthotropic material has a curve of its own
// (Xu et al. 2015). Each is added to a base law as another set of elements. `element` holds a,
// curves[0] φ.
typedef struct fibre_stiffness {
    vec3 a, n;    // rest and current direction
    real along;   // φ″
    real across;  // φ′/‖F a‖
} fibre_stiffness;
enum { fibre_decomposes = 0 };

HK_INLINE vec3 fibre_direction(const real *element)
{
    vec3 a = {{element[0], element[1], element[2]}};
    return a;
}

// φ, φ′ and φ″ at a strain, with the line at rest.
HK_INLINE curve_point fibre_curve(const hk_law_params *p, real strain)
{
    const hk_law_curve *curve = &p->curves[0];
    curve_point c = curve_at(curve, strain);
    c.value += r_set(curve->value) + r_set(curve->slope) * strain;
    c.d += r_set(curve->slope);
    return c;
}

// ‖F a‖ − 1, with F a and its length: ‖F a‖² − 1 = (2a + H a)·H a.
HK_INLINE real fibre_strain(vec3 a, mat3 H, vec3 *y, real *stretch)
{
    vec3 moved = m3_apply(H, a);
    *y = v3_add(a, moved);
    *stretch = r_sqrt(v3_dot(*y, *y));
    return v3_dot(v3_add(a, *y), moved) / (1 + *stretch);
}

HK_INLINE real fibre_energy_stress(const hk_law_params *p, const real *element, mat3 H, mat3 *P)
{
    vec3 a = fibre_direction(element), y;
    real stretch;
    curve_point c = fibre_curve(p, fibre_strain(a, H, &y, &stretch));
    *P = m3_outer(v3_scale(y, c.d * r_reciprocal_or_zero(stretch)), a);
    return c.value;
}
HK_ENERGY_AND_STRESS(fibre)

HK_INLINE fibre_stiffness fibre_stiffness_of(const hk_law_params *p, const real *element, mat3 F,
                                             double keep)
{
    fibre_stiffness s;
    vec3 y;
    real stretch;
    s.a = fibre_direction(element);
    curve_point c = fibre_curve(p, fibre_strain(s.a, m3_displacement(F), &y, &stretch));
    real inverse = r_reciprocal_or_zero(stretch);
    s.n = v3_scale(y, inverse);
    s.along = c.dd;
    s.across = c.d * inverse;
    if (keep < 1) {
        s.along = r_max(s.along, s.along * r_set(keep));
        s.across = r_max(s.across, s.across * r_set(keep));
    }
    return s;
}

HK_SHARED void fibre_stretches(const hk_law_params *p, const vec3 *e, stretch_form *form)
{
    curve_point c = fibre_curve(p, e->v[0]);
    form->value = c.value;
    form->d = v3_set(0, 0, 0);
    form->d.v[0] = c.d;
    form->dd = m3_zero();
    form->dd.m[0][0] = c.dd;
}

HK_INLINE mat3 fibre_block(const fibre_stiffness *s, vec3 a, vec3 b)
{
    real both = v3_dot(s->a, a) * v3_dot(s->a, b);
    mat3 block = m3_scale(m3_outer(s->n, s->n), both * (s->along - s->across));
    for (int i = 0; i < 3; i++) block.m[i][i] += both * s->across;
    return block;
}

HK_INLINE void fibre_vertex(const hk_law_params *p, const real *element, mat3 H, vec3 a,
                            vec3 *force, mat3 *block)
{
    fibre_stiffness s = fibre_stiffness_of(p, element, m3_gradient(H), 1);
    *force = m3_apply(fibre_stress(p, element, H), a);
    *block = fibre_block(&s, a, a);
}

HK_INLINE void fibre_inner(const fibre_stiffness *s, const mat3 *inverse, mat3 inner[6])
{
    vec3 a[3];
    for (int c = 0; c < 3; c++)
        for (int j = 0; j < 3; j++) a[c].v[j] = inverse->m[c][j];
    for (int i = 0, q = 0; i < 3; i++)
        for (int j = i; j < 3; j++, q++) inner[q] = fibre_block(s, a[i], a[j]);
}

HK_INLINE row_forms fibre_diagonal(const hk_law_params *p, const real *element, mat3 F)
{
    fibre_stiffness s = fibre_stiffness_of(p, element, F, 1);
    const real *a = s.a.v;
    real aa[6] = {a[0] * a[0], a[1] * a[1], a[2] * a[2], a[1] * a[2], a[0] * a[2], a[0] * a[1]};
    row_forms f;
    for (int i = 0; i < 3; i++) {
        real c = s.across + (s.along - s.across) * s.n.v[i] * s.n.v[i];
        for (int q = 0; q < 6; q++) f.d[i][q] = c * aa[q];
    }
    return f;
}

#ifdef HK_DESCRIBE_LAWS
static const hk_law_info fibre_info = {
    .name = "fibre",
    .summary = "stiffness along a direction, added to a base law",
    .formula = "phi(|F a|)",
    .element_values = 3,
    .internal = true,
};
#endif
