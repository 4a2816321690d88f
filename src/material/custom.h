// A law that the user writes (hk_custom_law), lane by lane in double precision.
typedef struct custom_stiffness {
    real h[9][9];  // ∂P/∂F, index 3·row + column
} custom_stiffness;
enum { custom_decomposes = 1 };

#ifdef HK_HOST_PARAMS

HK_INLINE void custom_lane(const mat3 *F, int lane, double f[9])
{
    for (int k = 0; k < 9; k++) f[k] = (double)r_lane(F->m[k / 3][k % 3], lane);
}
// F = 1 + H in double precision.
HK_INLINE void custom_gradient(const mat3 *H, int lane, double f[9])
{
    custom_lane(H, lane, f);
    for (int i = 0; i < 9; i += 4) f[i] += 1;
}

HK_SHARED void custom_stress_lanes(const hk_law_params *p, const mat3 *H, real *psi, mat3 *P)
{
    for (int l = 0; l < HK_LANES; l++) {
        double f[9], stress[9];
        custom_gradient(H, l, f);
        r_set_lane(psi, l, (scalar)hk_custom_stress(&p->custom, f, stress));
        for (int k = 0; k < 9; k++) r_set_lane(&P->m[k / 3][k % 3], l, (scalar)stress[k]);
    }
}

HK_SHARED void custom_energy_lanes(const hk_law_params *p, const mat3 *H, real *psi)
{
    for (int l = 0; l < HK_LANES; l++) {
        double f[9];
        custom_gradient(H, l, f);
        r_set_lane(psi, l, (scalar)hk_custom_energy(&p->custom, f));
    }
}

HK_SHARED void custom_hessian_lanes(const hk_law_params *p, const mat3 *F, double keep,
                                    custom_stiffness *s)
{
    for (int l = 0; l < HK_LANES; l++) {
        double f[9], h[81];
        custom_lane(F, l, f);
        hk_custom_hessian(&p->custom, f, keep, h);
        for (int k = 0; k < 81; k++) r_set_lane(&s->h[k / 9][k % 9], l, (scalar)h[k]);
    }
}

#else  // not on a GPU, where worlds refuse it (world/gpu.c)

HK_INLINE void custom_stress_lanes(const hk_law_params *, const mat3 *, real *psi, mat3 *P)
{
    *psi = r_set(INFINITY);
    *P = m3_zero();
}

HK_INLINE void custom_energy_lanes(const hk_law_params *, const mat3 *, real *psi)
{
    *psi = r_set(INFINITY);
}

HK_INLINE void custom_hessian_lanes(const hk_law_params *, const mat3 *, double,
                                    custom_stiffness *s)
{
    for (int k = 0; k < 81; k++) s->h[k / 9][k % 9] = r_zero();
}

#endif

HK_INLINE real custom_energy_stress(const hk_law_params *p, const real *element, mat3 H, mat3 *P)
{
    (void)element;
    real psi = r_zero();
    custom_stress_lanes(p, &H, &psi, P);
    return psi;
}

HK_INLINE real custom_energy(const hk_law_params *p, const real *element, mat3 H)
{
    (void)element;
    real psi = r_zero();
    custom_energy_lanes(p, &H, &psi);
    return psi;
}

HK_INLINE mat3 custom_stress(const hk_law_params *p, const real *element, mat3 H)
{
    mat3 P = m3_zero();
    custom_energy_stress(p, element, H, &P);
    return P;
}

HK_INLINE custom_stiffness custom_stiffness_of(const hk_law_params *p, const real *element, mat3 F,
                                               double keep)
{
    (void)element;
    custom_stiffness s;
    custom_hessian_lanes(p, &F, keep, &s);
    return s;
}

HK_SHARED void custom_contract(const custom_stiffness *s, const vec3 *a, const vec3 *b, mat3 *block)
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            real sum = r_zero();
            for (int j = 0; j < 3; j++)
                for (int l = 0; l < 3; l++) sum += a->v[j] * b->v[l] * s->h[3 * i + j][3 * k + l];
            block->m[i][k] = sum;
        }
}

HK_INLINE mat3 custom_block(const custom_stiffness *s, vec3 a, vec3 b)
{
    mat3 block;
    custom_contract(s, &a, &b, &block);
    return block;
}

HK_INLINE void custom_inner(const custom_stiffness *s, const mat3 *inverse, mat3 inner[6])
{
    vec3 a[3];
    for (int c = 0; c < 3; c++)
        for (int j = 0; j < 3; j++) a[c].v[j] = inverse->m[c][j];
    for (int i = 0, q = 0; i < 3; i++)
        for (int j = i; j < 3; j++, q++) inner[q] = custom_block(s, a[i], a[j]);
}

HK_INLINE void custom_vertex(const hk_law_params *p, const real *element, mat3 H, vec3 a,
                             vec3 *force, mat3 *block)
{
    custom_stiffness s = custom_stiffness_of(p, element, m3_gradient(H), 1);
    *force = m3_apply(custom_stress(p, element, H), a);
    *block = custom_block(&s, a, a);
}

HK_INLINE row_forms custom_diagonal(const hk_law_params *p, const real *element, mat3 F)
{
    static const int pairs[6][2] = {{0, 0}, {1, 1}, {2, 2}, {1, 2}, {0, 2}, {0, 1}};
    custom_stiffness s = custom_stiffness_of(p, element, F, 1);
    row_forms f;
    for (int i = 0; i < 3; i++)
        for (int q = 0; q < 6; q++) f.d[i][q] = s.h[3 * i + pairs[q][0]][3 * i + pairs[q][1]];
    return f;
}

// Of F = 1 + diag(e): all there is to know of an isotropic law. (Local steps, which must not take
// it to be one, have hk_custom_prox and hk_custom_response.)
HK_SHARED void custom_stretches(const hk_law_params *p, const vec3 *e, stretch_form *form)
{
    mat3 H = m3_diagonal(*e), P = m3_zero();
    form->value = custom_energy_stress(p, NULL, H, &P);
    custom_stiffness h = custom_stiffness_of(p, NULL, m3_gradient(H), 1);
    for (int i = 0; i < 3; i++) {
        form->d.v[i] = P.m[i][i];
        for (int j = 0; j < 3; j++) form->dd.m[i][j] = h.h[4 * i][4 * j];
    }
}

#ifdef HK_DESCRIBE_LAWS
static void custom_from_lame(double mu, double lambda, hk_law_params *p)
{
    p->c[0] = mu;
    p->c[1] = lambda;
}
static const hk_law_info custom_info = {
    .name = "custom",
    .summary = "a law that the user writes",
    .formula = "the user's",
    .internal = true,  // no scene file can give one
    .from_lame = custom_from_lame,
};
#endif
