// How the forces of a state depend on the rest shape.
//
// For a linear tet with edges D_m at rest, G = D_m⁻¹ and F = D_s G, a displacement λ of its
// vertices has the gradient Λ = D_λ G and does the work W = V P(F) : Λ = λ · ∂E/∂x. As the rest
// edges change by δD, δF = −F δD G, δΛ = −Λ δD G and δV = V tr(δD G), so that
//
//   ∂W/∂D_m = V ((P : Λ) 1 − Fᵀ Q − Λᵀ P) Gᵀ,   Q = ∂P/∂F : Λ.
//
// Column a of V Q Gᵀ is what the element's stiffness makes of λ at corner a: (K λ)_a.
#include <math.h>

#include "mesh/mesh.h"
#include "term/tet.h"
#include "world/analysis.h"

// Edges of a tet from its first corner, as columns, of a vector [..][4] in Morton order.
static void edges_of(const double *const corner[4], double D[3][3])
{
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < 3; i++) D[i][a] = corner[a + 1][i] - corner[0][i];
}

static void multiply(const double A[3][3], const double *B, double C[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            C[i][j] = 0;
            for (int k = 0; k < 3; k++) C[i][j] += A[i][k] * B[3 * k + j];
        }
}

// Adds the columns of a 3×3 matrix to the corners, and minus their sum to the first.
static void add_columns(const double M[3][3], double *const corner[4])
{
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < 3; i++) {
            corner[a + 1][i] += M[i][a];
            corner[0][i] -= M[i][a];
        }
}

typedef struct slopes {
    const hk_analysis *analysis;
    const double *values;  // blocks of the term
    const double *lambda;  // [vertex_count][4]
    double *slope;         // the same
} slopes;

// ---------------------------------------------------------------- stiffness

// (K λ) of an element; numbers as add_dense of term/terms.c has them.
static void element_product(const slopes *s, const hk_stencil *e, double force[4][3])
{
    const double *h = s->values + e->at;
    memset(force, 0, 12 * sizeof(double));
    for (int a = 0; a < 4; a++)
        for (int b = a; b < 4; b++, h += 9 * e->stride) {
            const double *at_a = s->lambda + 4 * (int64_t)e->vertex[a];
            const double *at_b = s->lambda + 4 * (int64_t)e->vertex[b];
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    double entry = h[(3 * i + j) * e->stride];
                    force[a][i] += entry * at_b[j];
                    if (a != b) force[b][j] += entry * at_a[i];
                }
        }
}

// −Fᵀ (K λ)_a at corner a.
static void add_stiff_part(void *context, const hk_stencil *e)
{
    const slopes *s = context;
    const hk_problem *p = s->analysis->problem;
    const double *x[4], *X[4];
    double force[4][3], D[3][3], F[3][3], inverse[9];
    for (int c = 0; c < 4; c++) {
        x[c] = s->analysis->x + 4 * (int64_t)e->vertex[c];
        X[c] = p->rest + 4 * (int64_t)e->vertex[c];
    }
    element_product(s, e, force);
    edges_of(x, D);
    hk_corner_inverse(X, inverse);
    multiply((const double(*)[3])D, inverse, F);
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++)
                s->slope[4 * (int64_t)e->vertex[c] + i] -= F[k][i] * force[c][k];
}

// ---------------------------------------------------------------- stress, volume and mass

static void add_stress_part(const slopes *s, int tet, const double *P, double weight)
{
    const hk_model *m = s->analysis->model;
    const double *lambda[4];
    double *to[4], D[3][3], L[3][3], G[9], B[3][3], M[3][3], work = 0;
    for (int c = 0; c < 4; c++) {
        int64_t at = 4 * (int64_t)m->place[m->tets[4 * (int64_t)tet + c]];
        lambda[c] = s->lambda + at;
        to[c] = s->slope + at;
    }
    hk_rest_inverse(m, tet, G);
    edges_of(lambda, D);
    multiply((const double(*)[3])D, G, L);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) work += P[3 * i + j] * L[i][j];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            B[i][j] = i == j ? m->volume[tet] * (work + weight) : 0;
            for (int k = 0; k < 3; k++) B[i][j] -= m->volume[tet] * L[k][i] * P[3 * k + j];
        }
    for (int i = 0; i < 3; i++)
        for (int a = 0; a < 3; a++) {
            M[i][a] = 0;
            for (int j = 0; j < 3; j++) M[i][a] += B[i][j] * G[3 * a + j];
        }
    add_columns((const double(*)[3])M, to);
}

// ---------------------------------------------------------------- all of it

// f_a = −∂E/∂x_a: the work of λ changes by −λ_a ∂f_a/∂X_b.
static void add_block(void *context, int32_t a, int32_t b, const double block[9])
{
    const slopes *s = context;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            s->slope[4 * (int64_t)b + j] -= block[3 * i + j] * s->lambda[4 * (int64_t)a + i];
}

static void add_other_terms(const slopes *s)
{
    const hk_problem *p = s->analysis->problem;
    for (int k = 0; k < p->terms->count; k++) {
        const hk_term *term = p->terms->term[k];
        if (term->ops->rest && term->ops->rest->visit)
            term->ops->rest->visit(term, s->analysis->x, p->rest, add_block, (void *)(uintptr_t)s);
    }
}

static hk_status add_tets(slopes *s, const double *factors)
{
    hk_analysis *a = (hk_analysis *)(uintptr_t)s->analysis;
    const hk_model *m = a->model;
    hk_terms *terms = a->problem->terms;
    hk_tet_term *tets = (hk_tet_term *)hk_terms_find(terms, &hk_tets_term);
    if (!tets) return HK_OK;
    size_t size = 9 * (size_t)m->tet_count;
    double *P = HK_ARRAY(double, 2 * size);
    if (!P) return HK_NO_MEMORY;
    hk_tet_stress(tets, a->x, P, P + size);
    for (int t = 0; t < m->tet_count; t++) {
        double quarter = m->materials[m->tet_material[t]].density / 4, weight = 0;
        for (int c = 0; c < 4 && factors; c++)
            weight += quarter * factors[m->tets[4 * (int64_t)t + c]];
        add_stress_part(s, t, P + 9 * (int64_t)t, weight);
    }
    hk_free(P);
    hk_problem_blocks(a->problem, a->x, 1, a->blocks);
    int k = 0;
    while (terms->term[k] != &tets->base) k++;
    s->values = a->blocks + terms->block_start[k];
    tets->base.ops->stencils(&tets->base, add_stiff_part, s);
    return HK_OK;
}

hk_status hk_analysis_rest_slope(hk_analysis *a, const double *direction, const double *factors,
                                 double *slope)
{
    HK_TRY(hk_analysis_check(a, __func__));
    if (!direction || !slope)
        return hk_fail(HK_BAD_INPUT, "hk_analysis_rest_slope: direction and slope are needed");
    HK_TRY(hk_model_need_linear(a->model, "the derivative by the rest shape"));
    for (int b = 0; b < a->model->body_count; b++)
        if (a->model->bodies[b].tet_count == 0)
            return hk_fail(HK_UNSUPPORTED,
                           "body %d (%s) is a sheet: derivatives by the rest shape are of bodies "
                           "of tets",
                           b, a->model->bodies[b].name);
    hk_analysis_take(a, direction, a->from);
    memset(a->to, 0, hk_world_bytes(a->world));
    slopes s = {.analysis = a, .lambda = a->from, .slope = a->to};
    HK_TRY(add_tets(&s, factors));
    add_other_terms(&s);
    hk_analysis_give(a, a->to, slope);
    return HK_OK;
}
