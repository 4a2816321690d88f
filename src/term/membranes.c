// Triangles of shells in their plane: area × ψ(F) with the laws of material/membrane.h, in which
// F = (x₁ − x₀, x₂ − x₀) B with the inverse B of the edges at rest. Evaluated in double precision,
// whatever that of the list.
#define HK_DOUBLE 1
#define HK_LANES  1
#include "material/membrane.h"
#include "term/lanes.h"
#include "term/shell_lanes.h"
#include "term/stencil.h"

enum { INVERSE = HK_SHELL_INVERSE, AREA = HK_SHELL_AREA, STRAND = HK_SHELL_STRAND };
_Static_assert(STRAND + 2 * HK_MOST_STRANDS <= HK_ELEMENT_VALUES, "an element holds all");

static const hk_membrane *law_of(const hk_element *e)
{
    return e->owner;
}

static void deform(const hk_element *e, const double *x, vec3 f[2])
{
    const double *B = e->value + INVERSE;
    for (int i = 0; i < 3; i++) {
        double u = x[3 + i] - x[i], v = x[6 + i] - x[i];
        f[0].v[i] = u * B[0] + v * B[2];
        f[1].v[i] = u * B[1] + v * B[3];
    }
}

static void strands_of(const hk_element *e, real a[HK_MOST_STRANDS][2])
{
    for (int k = 0; k < 2 * HK_MOST_STRANDS; k++) a[k / 2][k % 2] = e->value[STRAND + k];
}

// ∇N of a corner in the frame.
static void shape_of(const hk_element *e, int corner, real a[2])
{
    const double *B = e->value + INVERSE;
    for (int j = 0; j < 2; j++) a[j] = corner ? B[2 * (corner - 1) + j] : -B[j] - B[2 + j];
}

static double energy(const hk_element *e, const double *x)
{
    vec3 f[2], p[2];
    real a[HK_MOST_STRANDS][2];
    deform(e, x, f);
    strands_of(e, a);
    return e->value[AREA] * membrane_energy_stress(law_of(e), f, (const real(*)[2])a, p);
}

static void gradient(const hk_element *e, const double *x, double *g)
{
    vec3 f[2], p[2];
    real a[HK_MOST_STRANDS][2], shape[2];
    deform(e, x, f);
    strands_of(e, a);
    membrane_energy_stress(law_of(e), f, (const real(*)[2])a, p);
    for (int c = 0; c < 3; c++) {
        shape_of(e, c, shape);
        for (int i = 0; i < 3; i++)
            g[3 * c + i] = e->value[AREA] * (shape[0] * p[0].v[i] + shape[1] * p[1].v[i]);
    }
}

static void projected(const hk_element *e, const double *x, double keep, double *h)
{
    vec3 f[2];
    real a[HK_MOST_STRANDS][2], shape[3][2];
    deform(e, x, f);
    strands_of(e, a);
    membrane_stiffness s = membrane_stiffness_of(law_of(e), f, (const real(*)[2])a, keep);
    for (int c = 0; c < 3; c++) shape_of(e, c, shape[c]);
    for (int c = 0; c < 3; c++)
        for (int d = 0; d < 3; d++) {
            mat3 k = m3_scale(membrane_block(&s, shape[c], shape[d]), e->value[AREA]);
            for (int i = 0; i < 9; i++) h[9 * (3 * c + i / 3) + 3 * d + i % 3] = k.m[i / 3][i % 3];
        }
}

static void hessian(const hk_element *e, const double *x, double *h)
{
    projected(e, x, 1, h);
}

static void corner(const hk_element *e, const double *x, int which, double *g, double *block)
{
    vec3 f[2], p[2];
    real a[HK_MOST_STRANDS][2], shape[2];
    deform(e, x, f);
    strands_of(e, a);
    shape_of(e, which, shape);
    membrane_energy_stress(law_of(e), f, (const real(*)[2])a, p);
    membrane_stiffness s = membrane_stiffness_of(law_of(e), f, (const real(*)[2])a, 1);
    mat3 k = m3_scale(membrane_block(&s, shape, shape), e->value[AREA]);
    for (int i = 0; i < 3; i++)
        g[i] = e->value[AREA] * (shape[0] * p[0].v[i] + shape[1] * p[1].v[i]);
    for (int i = 0; i < 9; i++) block[i] = k.m[i / 3][i % 3];
}

// area × modulus ∇N_a·∇N_b, as of tets: exact for arap.
static void weights(const hk_element *e, double *w)
{
    for (int c = 0; c < 3; c++)
        for (int d = 0; d < 3; d++) {
            real a[2], b[2];
            shape_of(e, c, a);
            shape_of(e, d, b);
            w[3 * c + d] = e->value[AREA] * law_of(e)->modulus * (a[0] * b[0] + a[1] * b[1]);
        }
}

static hk_status elements(const hk_model *m, const hk_live *live, hk_elements *to)
{
    (void)live;
    for (int k = 0; k < m->shell_count; k++) {
        const hk_shell *s = &m->shells[k];
        hk_element e = {.count = 3,
                        .number = k,
                        .value = {[AREA] = s->area},
                        .owner = &m->bodies[s->body].sheet.membrane};
        memcpy(e.vertex, s->vertex, sizeof s->vertex);
        memcpy(e.value + INVERSE, s->inverse, sizeof s->inverse);
        memcpy(e.value + STRAND, s->strand, sizeof s->strand);
        HK_TRY(hk_elements_add(to, &e));
    }
    return HK_OK;
}

static void wide(const hk_element *first, int count, const double *x, double *energies,
                 double *gradients)
{
    hk_lanes_best(HK_DOUBLE_PRECISION)->shell->membranes(first, count, x, energies, gradients);
}

// An edge of length l is known to l times the rounding of numbers: of strains, too.
static double scale(const hk_element *e)
{
    return e->value[AREA] * law_of(e)->modulus;
}

static const hk_stencil_law g_law = {.name = "membranes",
                                     .elements = elements,
                                     .energy = energy,
                                     .gradient = gradient,
                                     .hessian = hessian,
                                     .weights = weights,
                                     .scale = scale,
                                     .projected = projected,
                                     .corner = corner,
                                     .wide = wide};

// ---------------------------------------------------------------- the term

static bool in_model(const hk_model *m)
{
    return m->shell_count > 0;
}

static double softest(const hk_term *term)
{
    const hk_stencil_term *t = (const hk_stencil_term *)term;
    double least = INFINITY;
    for (int k = 0; k < t->elements.count; k++)
        least = fmin(least, law_of(&t->elements.element[k])->modulus);
    return least;
}

HK_STENCIL_MODEL_LAW(g_law);

const hk_term_ops hk_membranes_term = {
    HK_STENCIL_MODEL_OPS,
    .name = "membranes of shells",
    .advice = "use mass_spring for the sheet",
    .in_model = in_model,
    .softest = softest,
};
