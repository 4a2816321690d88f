// Bending of ropes where two lines run on into each other: E = k/2 (φ − φ₀)² with the angle φ by
// which the direction turns (math/turn.h) and the one at rest. Evaluated in double precision,
// whatever that of the list.
//
// Where φ₀ > 0 the energy has a peak at φ = 0, and for all at φ = π: cones, which have no
// direction at the tip. Newton's method comes down from them on either side.
#define HK_DOUBLE 1
#define HK_LANES  1
#include "math/mat3.h"
#include "math/turn.h"
#include "term/stencil.h"

enum { STIFFNESS, REST, AT_REST };  // of an element's values; ∂φ along its normal has three

static void corners(const double *x, vec3 p[3])
{
    for (int i = 0; i < 9; i++) p[i / 3].v[i % 3] = x[i];
}

static double energy(const hk_element *e, const double *x)
{
    vec3 p[3];
    corners(x, p);
    turn t = turn_of(p);
    double turned = t.angle - e->value[REST];
    return t.a > 0 && t.b > 0 ? 0.5 * e->value[STIFFNESS] * turned * turned : INFINITY;
}

static void gradient(const hk_element *e, const double *x, double *g)
{
    vec3 p[3], d[3];
    double first, second;
    corners(x, p);
    turn t = turn_of(p);
    turn_slopes(&t, e->value[REST], &first, &second);
    turn_gradient(&t, d);
    for (int i = 0; i < 9; i++) g[i] = e->value[STIFFNESS] * first * d[i / 3].v[i % 3];
}

// Of a = x₁ − x₀ and b = x₂ − x₁ to the three points: a row of −1, 1, 0 and one of 0, −1, 1.
static void spread(const double small[36], double *h)
{
    static const double row[2][3] = {{-1, 1, 0}, {0, -1, 1}};
    for (int r = 0; r < 9; r++)
        for (int c = 0; c < 9; c++) {
            h[9 * r + c] = 0;
            for (int k = 0; k < 4; k++)
                h[9 * r + c] += row[k / 2][r / 3] * row[k % 2][c / 3] *
                                small[6 * (3 * (k / 2) + r % 3) + 3 * (k % 2) + c % 3];
        }
}

// k (f″ ∇c ∇cᵀ + f′ ∇²c), 6 × 6.
static void hessian_of_sides(const hk_element *e, const double *x, double small[36])
{
    vec3 p[3];
    mat3 block[3];
    double first, second, side[6];
    corners(x, p);
    turn t = turn_of(p);
    turn_slopes(&t, e->value[REST], &first, &second);
    turn_hessian(&t, &block[0], &block[1], &block[2]);
    for (int i = 0; i < 3; i++) {
        side[i] = t.w.v[i] / t.a;
        side[3 + i] = t.z.v[i] / t.b;
    }
    for (int r = 0; r < 6; r++)
        for (int c = 0; c < 6; c++) {
            int i = r % 3, j = c % 3;
            double curved = r / 3 > c / 3 ? block[1].m[j][i] : block[r / 3 + c / 3].m[i][j];
            small[6 * r + c] = e->value[STIFFNESS] * (second * side[r] * side[c] + first * curved);
        }
}

static void hessian(const hk_element *e, const double *x, double *h)
{
    double small[36];
    hessian_of_sides(e, x, small);
    spread(small, h);
}

// k ∇φ ∇φᵀ at rest for each of x, y and z: the directions of ∇φ are unit vectors there.
static void weights(const hk_element *e, double *w)
{
    const double *d = e->value + AT_REST;
    for (int i = 0; i < 9; i++) w[i] = e->value[STIFFNESS] * d[i / 3] * d[i % 3];
}

static hk_status elements(const hk_model *m, const hk_live *live, hk_elements *to)
{
    (void)live;
    for (int k = 0; k < m->line_bend_count; k++) {
        const hk_line_bend *b = &m->line_bends[k];
        hk_element e = {
            .count = 3, .number = k, .value = {[STIFFNESS] = b->stiffness, [REST] = b->rest}};
        vec3 p[3];
        for (int i = 0; i < 9; i++)
            p[i / 3].v[i % 3] = m->rest[3 * (int64_t)b->vertex[i / 3] + i % 3];
        turn t = turn_of(p);
        e.value[AT_REST] = 1 / t.a;
        e.value[AT_REST + 1] = -1 / t.a - 1 / t.b;
        e.value[AT_REST + 2] = 1 / t.b;
        memcpy(e.vertex, b->vertex, sizeof b->vertex);
        HK_TRY(hk_elements_add(to, &e));
    }
    return HK_OK;
}

// An angle is known to the rounding of numbers.
static double scale(const hk_element *e)
{
    return e->value[STIFFNESS];
}

static const hk_stencil_law g_law = {.name = "bends of ropes",
                                     .elements = elements,
                                     .energy = energy,
                                     .gradient = gradient,
                                     .hessian = hessian,
                                     .weights = weights,
                                     .scale = scale};

// ---------------------------------------------------------------- the term

static bool in_model(const hk_model *m)
{
    return m->line_bend_count > 0;
}

HK_STENCIL_MODEL_LAW(g_law);

const hk_term_ops hk_rope_bends_term = {
    HK_STENCIL_MODEL_OPS,
    .name = "bends of ropes",
    .advice = "set \"bending_form\" to \"cotangent\"",
    .in_model = in_model,
};
