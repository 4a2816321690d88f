#include "design/precondition.h"

#include <math.h>

#include "term/laplacian.h"

// ---------------------------------------------------------------- creation

// Where the pairs of corners (hk_tet_pairs) of every tet stand in L.
static hk_status find_entries(hk_precondition *c)
{
    const hk_model *m = c->inverse->model;
    const int32_t *unknown = c->assembly->unknown;
    c->entry = HK_ARRAY(int32_t, HK_TET_PAIRS * (size_t)m->tet_count);
    if (!c->entry) return HK_NO_MEMORY;
#pragma omp parallel for schedule(static) num_threads(c->inverse->problem->threads)
    for (int t = 0; t < m->tet_count; t++)
        for (int q = 0; q < HK_TET_PAIRS; q++) {
            int32_t a = unknown[m->place[m->tets[4 * (int64_t)t + hk_tet_pairs[q][0]]]];
            int32_t b = unknown[m->place[m->tets[4 * (int64_t)t + hk_tet_pairs[q][1]]]];
            int64_t at = -1;
            if (a >= 0 && b >= 0) at = hk_laplacian_entry(&c->scalar, a < b ? a : b, a < b ? b : a);
            c->entry[HK_TET_PAIRS * (int64_t)t + q] = (int32_t)at;
        }
    return HK_OK;
}

static hk_status build(hk_precondition *c)
{
    hk_problem *p = c->inverse->problem;
    HK_TRY(hk_assembly_create(p->terms, p->held, &c->assembly));
    c->scalar = c->assembly->pattern;
    c->scalar.scalar = true;
    c->values = HK_ARRAY(double, hk_pattern_size(&c->assembly->pattern));
    c->blocks = HK_ARRAY(double, hk_terms_block_size(p->terms));
    c->right = HK_ARRAY(double, 4 * (size_t)p->vertex_count);
    if (!c->values || !c->blocks || !c->right) return HK_NO_MEMORY;
    HK_TRY(find_entries(c));
    HK_TRY(hk_direct_create(&c->assembly->pattern, &c->stiffness));
    HK_TRY(hk_direct_create(&c->scalar, &c->laplacian));
    HK_TRY(hk_fronts_create(c->stiffness, &c->assembly->pattern, p->threads, &c->stiffness_fronts));
    HK_TRY(hk_fronts_create(c->laplacian, &c->scalar, p->threads, &c->laplacian_fronts));
    return HK_OK;
}

hk_status hk_precondition_create(hk_inverse *inverse, hk_precondition **precondition)
{
    hk_precondition *c = HK_NEW(hk_precondition);
    if (!c) return HK_NO_MEMORY;
    c->inverse = inverse;
    hk_status status = build(c);
    if (status != HK_OK) {
        hk_precondition_free(c);
        return status;
    }
    *precondition = c;
    return HK_OK;
}

void hk_precondition_free(hk_precondition *c)
{
    if (!c) return;
    hk_factor_free(c->stiffness_factor);
    hk_factor_free(c->laplacian_factor);
    hk_fronts_free(c->stiffness_fronts);
    hk_fronts_free(c->laplacian_fronts);
    hk_direct_free(c->stiffness);
    hk_direct_free(c->laplacian);
    hk_assembly_free(c->assembly);
    hk_free(c->blocks);
    hk_free(c->values);
    hk_free(c->entry);
    hk_free(c->right);
    hk_free(c);
}

// ---------------------------------------------------------------- numbers

static hk_status factor_stiffness(hk_precondition *c, bool *positive)
{
    hk_problem *p = c->inverse->problem;
    // Exact first; laws that are not at rest in x may need their negative eigenvalues left out.
    for (int keep = 1; keep >= 0; keep--) {
        hk_problem_blocks(p, c->inverse->x, keep, c->blocks);
        hk_assemble(c->assembly, c->blocks, p->inertia, c->values);
        HK_TRY(hk_fronts_factor(c->stiffness_fronts, c->values, positive));
        if (!*positive) continue;
        hk_supernodes nodes = hk_fronts_supernodes(c->stiffness_fronts);
        return hk_factor_update_from(&nodes, p->threads, &c->stiffness_factor);
    }
    return HK_OK;
}

// v ∇N_a · ∇N_b. Where attachments hold a body, its vertices are held half here.
static void fill_laplacian(hk_precondition *c)
{
    const hk_model *m = c->inverse->model;
    memset(c->values, 0, sizeof(double) * (size_t)hk_pattern_size(&c->scalar));
    for (int t = 0; t < m->tet_count; t++) {
        double inverse[9], g[4][3];
        hk_rest_inverse(m, t, inverse);
        memcpy(g[1], inverse, sizeof inverse);
        for (int i = 0; i < 3; i++) g[0][i] = -(g[1][i] + g[2][i] + g[3][i]);
        for (int q = 0; q < HK_TET_PAIRS; q++) {
            int32_t at = c->entry[HK_TET_PAIRS * (int64_t)t + q];
            const double *a = g[hk_tet_pairs[q][0]], *b = g[hk_tet_pairs[q][1]];
            if (at >= 0) c->values[at] += m->volume[t] * (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
        }
    }
    for (int k = 0; k < m->attachment_count; k++) {
        int32_t u = c->assembly->unknown[m->place[m->attachments[k].vertex]];
        if (u >= 0) c->values[hk_pattern_column(&c->scalar, u, 0)] *= 2;
    }
}

static hk_status factor_laplacian(hk_precondition *c, bool *positive)
{
    fill_laplacian(c);
    HK_TRY(hk_fronts_factor(c->laplacian_fronts, c->values, positive));
    if (!*positive) return HK_OK;
    hk_supernodes nodes = hk_fronts_supernodes(c->laplacian_fronts);
    return hk_factor_update_from(&nodes, c->inverse->problem->threads, &c->laplacian_factor);
}

hk_status hk_precondition_factor(hk_precondition *c, bool *positive)
{
    HK_TRY(factor_stiffness(c, positive));
    if (*positive) HK_TRY(factor_laplacian(c, positive));
    return HK_OK;
}

// ---------------------------------------------------------------- solves

static double largest_of(const double *v, int64_t count)
{
    double largest = 0;
    for (int64_t k = 0; k < count; k++) largest = fmax(largest, fabs(v[k]));
    return largest > 0 && isfinite(largest) ? largest : 1;
}

void hk_precondition_stiffness(hk_precondition *c, const double *from, double *to)
{
    const int32_t *vertex = c->assembly->vertex;
    int64_t count = c->assembly->pattern.count, n = c->inverse->problem->vertex_count;
    // Single precision has seven digits of whatever size, as long as it is a middling one.
    double largest = largest_of(from, 4 * n), scale = 1 / largest;
    float *u = hk_factor_vector(c->stiffness_factor);
    memset(u, 0, 12 * sizeof(float) * (size_t)count);
    for (int64_t b = 0; b < count; b++)
        for (int i = 0; i < 3; i++)
            u[4 * (3 * b + i)] = (float)(scale * from[4 * (int64_t)vertex[b] + i]);
    hk_factor_solve(c->stiffness_factor);
    memset(to, 0, 4 * sizeof(double) * (size_t)n);
    for (int64_t b = 0; b < count; b++)
        for (int i = 0; i < 3; i++)
            to[4 * (int64_t)vertex[b] + i] = largest * (double)u[4 * (3 * b + i)];
}

double hk_precondition_step(hk_precondition *c, const double *X, const double *step, double length,
                            double most, double *moved)
{
    const hk_problem *p = c->inverse->problem;
    double largest = hk_rest_tets_bend(c->inverse->tets, X, step, length, c->right);
    if (!(largest <= most)) return largest;
    hk_factor_apply(c->laplacian_factor, c->assembly->vertex, c->right, c->right);
    for (int k = 0; k < p->vertex_count; k++)
        for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 3; i++)
            moved[i] = p->held[k] ? X[i] : X[i] + (length * step[i] + c->right[i]);
    return largest;
}
