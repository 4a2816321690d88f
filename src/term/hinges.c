// Bending of shells at their edges: E = k/2 (θ − θ₀)² with the angle between the two triangles of
// an edge (math/dihedral.h) and the one at rest, after Grinspun et al. 2003. Evaluated in double
// precision, whatever that of the list.
#define HK_DOUBLE 1
#define HK_LANES  1
#include "math/dense.h"
#include "math/dihedral.h"
#include "term/lanes.h"
#include "term/shell_lanes.h"
#include "term/stencil.h"

enum { STIFFNESS = HK_HINGE_STIFFNESS, REST = HK_HINGE_REST, AT_REST = HK_HINGE_AT_REST };

static void corners(const double *x, vec3 p[4])
{
    for (int i = 0; i < 12; i++) p[i / 3].v[i % 3] = x[i];
}

static double energy(const hk_element *e, const double *x)
{
    vec3 p[4];
    corners(x, p);
    double turned = dihedral_angle(p) - e->value[REST];
    return 0.5 * e->value[STIFFNESS] * turned * turned;
}

static void gradient(const hk_element *e, const double *x, double *g)
{
    vec3 p[4], d[4];
    dihedral_side side[2];
    corners(x, p);
    dihedral_sides(p, side);
    dihedral_gradient(side, d);
    double moment = e->value[STIFFNESS] * (dihedral_of_sides(side) - e->value[REST]);
    for (int i = 0; i < 12; i++) g[i] = moment * d[i / 3].v[i % 3];
}

// k ∇θ ∇θᵀ + k (θ − θ₀) ∇²θ
static void hessian(const hk_element *e, const double *x, double *h)
{
    vec3 p[4], d[4];
    mat3 blocks[4][4];
    dihedral_side side[2];
    corners(x, p);
    dihedral_sides(p, side);
    dihedral_gradient(side, d);
    dihedral_hessian(side, blocks);
    double k = e->value[STIFFNESS], moment = k * (dihedral_of_sides(side) - e->value[REST]);
    for (int r = 0; r < 12; r++)
        for (int c = 0; c < 12; c++)
            h[12 * r + c] = k * d[r / 3].v[r % 3] * d[c / 3].v[c % 3] +
                            moment * blocks[r / 3][c / 3].m[r % 3][c % 3];
}

// Translations have no energy: what is left of four vertices are three differences, here those of
// an orthonormal basis, and 9 × 9 numbers whose eigenvalues are those of the whole.
static void projected(const hk_element *e, const double *x, double keep, double *h)
{
    static const double basis[3][4] = {
        {0.5, 0.5, -0.5, -0.5}, {0.5, -0.5, 0.5, -0.5}, {0.5, -0.5, -0.5, 0.5}};
    double small[81], a[81], v[81], half[9 * 12];
    hessian(e, x, h);
    for (int r = 0; r < 9; r++)
        for (int c = 0; c < 12; c++) {
            half[12 * r + c] = 0;
            for (int k = 0; k < 4; k++)
                half[12 * r + c] += basis[r / 3][k] * h[12 * (3 * k + r % 3) + c];
        }
    for (int r = 0; r < 9; r++)
        for (int c = 0; c < 9; c++) {
            small[9 * r + c] = 0;
            for (int k = 0; k < 4; k++)
                small[9 * r + c] += half[12 * r + 3 * k + c % 3] * basis[c / 3][k];
        }
    for (int k = 0; k < 81; k++)
        if (!isfinite(small[k])) return;
    hk_dense_project(small, 9, keep, a, v);
    for (int r = 0; r < 9; r++)
        for (int c = 0; c < 12; c++) {
            half[12 * r + c] = 0;
            for (int k = 0; k < 3; k++)
                half[12 * r + c] += small[9 * r + 3 * k + c % 3] * basis[k][c / 3];
        }
    for (int r = 0; r < 12; r++)
        for (int c = 0; c < 12; c++) {
            h[12 * r + c] = 0;
            for (int k = 0; k < 3; k++)
                h[12 * r + c] += basis[k][r / 3] * half[12 * (3 * k + r % 3) + c];
        }
}

static void corner(const hk_element *e, const double *x, int which, double *g, double *block)
{
    vec3 p[4], d[4];
    dihedral_side side[2];
    corners(x, p);
    dihedral_sides(p, side);
    dihedral_gradient(side, d);
    mat3 own = dihedral_own_block(side, which);
    double k = e->value[STIFFNESS], moment = k * (dihedral_of_sides(side) - e->value[REST]);
    const double *n = d[which].v;
    for (int i = 0; i < 3; i++) g[i] = moment * n[i];
    for (int i = 0; i < 9; i++) block[i] = k * n[i / 3] * n[i % 3] + moment * own.m[i / 3][i % 3];
}

// k ∇θ ∇θᵀ at rest for each of x, y and z: the directions of ∇θ are unit vectors there.
static void weights(const hk_element *e, double *w)
{
    const double *d = e->value + AT_REST;
    for (int i = 0; i < 16; i++) w[i] = e->value[STIFFNESS] * d[i / 4] * d[i % 4];
}

static void measure(const hk_model *m, hk_element *e)
{
    double x[12];
    vec3 p[4];
    dihedral_side side[2];
    for (int i = 0; i < 12; i++) x[i] = m->rest[3 * (int64_t)e->vertex[i / 3] + i % 3];
    corners(x, p);
    dihedral_sides(p, side);
    double a = v3_norm(side[0].g), b = v3_norm(side[1].g), *d = e->value + AT_REST;
    d[0] = (1 - side[0].s) * a + side[1].s * b;
    d[1] = side[0].s * a + (1 - side[1].s) * b;
    d[2] = -a;
    d[3] = -b;
}

static hk_status elements(const hk_model *m, const hk_live *live, hk_elements *to)
{
    (void)live;
    for (int k = 0; k < m->hinge_count; k++) {
        const hk_hinge *h = &m->hinges[k];
        hk_element e = {
            .count = 4, .number = k, .value = {[STIFFNESS] = h->stiffness, [REST] = h->rest}};
        memcpy(e.vertex, h->vertex, sizeof h->vertex);
        measure(m, &e);
        HK_TRY(hk_elements_add(to, &e));
    }
    return HK_OK;
}

static void wide(const hk_element *first, int count, const double *x, double *energies,
                 double *gradients)
{
    hk_lanes_best(HK_DOUBLE_PRECISION)->shell->hinges(first, count, x, energies, gradients);
}

// An angle is known to the rounding of numbers.
static double scale(const hk_element *e)
{
    return e->value[STIFFNESS];
}

static const hk_stencil_law g_law = {.name = "hinges",
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
    return m->hinge_count > 0;
}

HK_STENCIL_MODEL_LAW(g_law);

const hk_term_ops hk_hinges_term = {
    HK_STENCIL_MODEL_OPS,
    .name = "hinges of shells",
    .advice = "set \"bending\" to \"cotangent\"",
    .in_model = in_model,
};
