#include "solver/constant_reduction.h"

#include <math.h>

#include "math/dense.h"

// ---------------------------------------------------------------- creation

static void number_parts(hk_constant_reduction *r)
{
    const hk_manifold *m = r->manifold;
    const hk_constraints *c = m->constraints;
    for (int k = 0; k < c->part_count; k++) r->place[k] = -1;
    for (int n = 0; n < c->tree_count; n++) {
        const hk_manifold_tree *t = &m->trees[n];
        r->first[n] = t->light ? -1 : r->count;
        if (t->light) continue;
        r->count += t->count;
        for (int k = t->first_part; k < t->first_part + t->part_count; k++) {
            r->place[c->order[k]] = r->part_count;
            r->parts[r->part_count++] = c->order[k];
        }
    }
}

// φ of a vertex of a heavy part.
static int functions_of(const hk_constant_reduction *r, int64_t vertex, double phi[4])
{
    const hk_manifold *m = r->manifold;
    int part = m->part_of[vertex];
    int place = part >= 0 ? r->place[part] : -1;
    if (place < 0) return -1;
    phi[0] = 1;
    for (int i = 0; i < 3; i++)
        phi[1 + i] = m->rest[4 * vertex + i] - m->constraints->parts[part].center[i];
    return place;
}

// One number of a symmetric matrix over vertices into B and G.
static void add_entry(const hk_constant_reduction *r, double *border, double *gram, int64_t a,
                      int64_t b, double value)
{
    double pa[4], pb[4];
    int64_t n = r->problem->vertex_count;
    int of_a = functions_of(r, a, pa), of_b = functions_of(r, b, pb), size = 4 * r->part_count;
    if (of_b < 0 || r->problem->held[a]) return;
    if (of_a < 0) {
        for (int l = 0; l < 4; l++) border[(4 * of_b + l) * n + a] += value * pb[l];
        return;
    }
    for (int k = 0; k < 4; k++)
        for (int l = 0; l < 4; l++)
            gram[(4 * of_a + k) * size + 4 * of_b + l] += value * pa[k] * pb[l];
}

static void add_weights(void *context, const hk_weights *w)
{
    hk_constant_reduction *r = context;
    for (int a = 0; a < w->count; a++)
        for (int b = 0; b < w->count; b++)
            add_entry(r, r->laplacian, r->of_gram, w->vertex[a], w->vertex[b],
                      hk_weight_of(w, a, b));
}

static hk_status allocate(hk_constant_reduction *r)
{
    size_t size = 4 * (size_t)r->part_count, count = (size_t)r->count;
    size_t border = size * (size_t)r->problem->vertex_count;
    r->border = HK_ZEROS(double, border);
    r->laplacian = HK_ZEROS(double, border);
    r->gram = HK_ZEROS(double, size *size);
    r->of_gram = HK_ZEROS(double, size *size);
    r->kappa = HK_ZEROS(double, 3 * size * count);
    r->half = HK_ZEROS(double, 3 * size * count);
    r->system = HK_ZEROS(double, count *count);
    r->unknowns = HK_ZEROS(double, count);
    r->sums = HK_ZEROS(double, 3 * size);
    bool complete = r->border && r->laplacian && r->gram && r->of_gram && r->kappa && r->half &&
                    r->system && r->unknowns && r->sums;
    return complete ? HK_OK : HK_NO_MEMORY;
}

// More of them take more time in dense systems than a factorisation would.
enum { MOST_PARTS = 200 };

static hk_status build(hk_constant_reduction *r, const double *weight)
{
    const hk_constraints *c = r->manifold->constraints;
    r->parts = HK_ARRAY(int32_t, c->part_count);
    r->place = HK_ARRAY(int32_t, c->part_count);
    r->first = HK_ARRAY(int32_t, c->tree_count);
    if (!r->parts || !r->place || !r->first) return HK_NO_MEMORY;
    number_parts(r);
    if (r->part_count > MOST_PARTS)
        return hk_fail(HK_UNSUPPORTED,
                       "methods with a constant matrix can have %d rigid parts (there are %d): use "
                       "newton or lbfgs",
                       MOST_PARTS, r->part_count);
    HK_TRY(allocate(r));
    hk_model_weights(r->problem->model, weight, add_weights, r);
    return HK_OK;
}

hk_status hk_constant_reduction_create(hk_problem *problem, const double *weight,
                                       hk_constant_reduction **reduction)
{
    hk_constant_reduction *r = HK_NEW(hk_constant_reduction);
    if (!r) return HK_NO_MEMORY;
    r->problem = problem;
    r->manifold = problem->manifold;
    hk_status status = build(r, weight);
    if (status != HK_OK) {
        hk_constant_reduction_free(r);
        return status;
    }
    *reduction = r;
    return HK_OK;
}

void hk_constant_reduction_free(hk_constant_reduction *r)
{
    if (!r) return;
    double *const numbers[] = {r->border, r->laplacian, r->gram,     r->of_gram, r->kappa,
                               r->half,   r->system,    r->unknowns, r->sums};
    for (int k = 0; k < HK_COUNT_OF(numbers); k++) hk_free(numbers[k]);
    hk_free(r->parts);
    hk_free(r->place);
    hk_free(r->first);
    hk_free(r);
}

// ---------------------------------------------------------------- the constant part

// Elements of a world: beside A where they are (low_rank.h), but what they do to tied vertices is
// in B and G.
static void add_live(void *context, const hk_weights *w)
{
    hk_constant_reduction *r = context;
    for (int a = 0; a < w->count; a++)
        for (int b = 0; b < w->count; b++)
            add_entry(r, r->border, r->gram, w->vertex[a], w->vertex[b], hk_weight_of(w, a, b));
}

static void fill(hk_constant_reduction *r)
{
    const hk_problem *p = r->problem;
    const hk_manifold *m = r->manifold;
    int64_t size = 4 * (int64_t)r->part_count;
    for (int64_t k = 0; k < size * p->vertex_count; k++)
        r->border[k] = (1 + p->stiffening) * r->laplacian[k];
    for (int64_t k = 0; k < size * size; k++) r->gram[k] = (1 + p->stiffening) * r->of_gram[k];
    for (int n = 0; n < r->part_count; n++) {
        const hk_part *part = &m->constraints->parts[r->parts[n]];
        for (int k = part->start; k < part->start + part->count; k++) {
            int64_t v = m->vertex[k];
            add_entry(r, r->border, r->gram, v, v, p->inertia[v] + p->shift);
        }
    }
    hk_terms_visit_weights(p->terms, add_live, r);
}

hk_status hk_constant_reduction_prepare(hk_constant_reduction *r, hk_inner_solve_fn *solve,
                                        void *context)
{
    const hk_problem *p = r->problem;
    int64_t n = p->vertex_count, size = 4 * (int64_t)r->part_count;
    double *three = r->manifold->vector, *solved = r->manifold->line;
    r->version = -1;
    fill(r);
    // Three columns at once, as x, y and z.
    for (int64_t first = 0; first < size; first += 3) {
        int64_t count = size - first < 3 ? size - first : 3;
        memset(three, 0, 4 * sizeof(double) * (size_t)n);
        memset(solved, 0, 4 * sizeof(double) * (size_t)n);
        for (int64_t i = 0; i < count; i++)
            for (int64_t v = 0; v < n; v++) three[4 * v + i] = r->border[(first + i) * n + v];
        HK_TRY(solve(context, three, solved));
        for (int64_t i = 0; i < count; i++)
            for (int64_t k = 0; k < size; k++) {
                // Columns before `first` hold W already: their part is the transposed one.
                if (k < first) continue;
                const double *b = r->border + k * n;
                double sum = 0;
                for (int64_t v = 0; v < n; v++) sum += b[v] * solved[4 * v + i];
                r->gram[(first + i) * size + k] -= sum;
                if (k >= first + count) r->gram[k * size + first + i] -= sum;
            }
        for (int64_t i = 0; i < count; i++)
            for (int64_t v = 0; v < n; v++) r->border[(first + i) * n + v] = solved[4 * v + i];
    }
    return HK_OK;
}

// ---------------------------------------------------------------- solves

// Column k of J at a part: velocity of c, and spin × R e_j along X_j.
static void find_kappa(hk_constant_reduction *r)
{
    const hk_manifold *m = r->manifold;
    memset(r->kappa, 0, 12 * sizeof(double) * (size_t)r->part_count * (size_t)r->count);
    for (int n = 0; n < r->part_count; n++) {
        const hk_manifold_part *p = &m->parts[r->parts[n]];
        int count = m->trees[p->tree].count, first = r->first[p->tree];
        for (int k = 0; k < count; k++) {
            double spin[3], axis[3], turned[3];
            for (int i = 0; i < 3; i++) spin[i] = p->basis[(3 + i) * count + k];
            for (int i = 0; i < 3; i++)
                r->kappa[((4 * (int64_t)n) * 3 + i) * r->count + first + k] =
                    p->basis[i * count + k];
            for (int j = 0; j < 3; j++) {
                for (int i = 0; i < 3; i++) axis[i] = p->R[i][j];
                hk_cross(spin, axis, turned);
                for (int i = 0; i < 3; i++)
                    r->kappa[((4 * (int64_t)n + 1 + j) * 3 + i) * r->count + first + k] = turned[i];
            }
        }
    }
}

static bool factor_system(hk_constant_reduction *r)
{
    int64_t size = 4 * (int64_t)r->part_count, count = r->count;
    find_kappa(r);
    memset(r->half, 0, 3 * sizeof(double) * (size_t)(size * count));
    for (int64_t a = 0; a < size; a++)
        for (int64_t b = 0; b < size; b++) {
            double s = r->gram[a * size + b];
            const double *from = r->kappa + 3 * b * count;
            double *to = r->half + 3 * a * count;
            for (int64_t k = 0; k < 3 * count && s != 0; k++) to[k] += s * from[k];
        }
    memset(r->system, 0, sizeof(double) * (size_t)(count * count));
    for (int64_t a = 0; a < 3 * size; a++)
        for (int64_t k = 0; k < count; k++) {
            double left = r->kappa[a * count + k];
            const double *right = r->half + a * count;
            for (int64_t l = 0; l <= k && left != 0; l++)
                r->system[k * count + l] += left * right[l];
        }
    return hk_dense_factor(r->system, (int)count);
}

// sums = Wᵀ from, over the vertices that nothing ties.
static void sum_up(hk_constant_reduction *r, const double *from)
{
    const hk_problem *p = r->problem;
    int64_t n = p->vertex_count;
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int a = 0; a < 4 * r->part_count; a++) {
        const double *w = r->border + a * n;
        double sum[3] = {0};
        for (int64_t v = 0; v < n; v++)
            for (int i = 0; i < 3; i++) sum[i] += w[v] * from[4 * v + i];
        memcpy(r->sums + 3 * a, sum, sizeof sum);
    }
}

// to −= W κ q at the vertices that nothing ties.
static void take_away(hk_constant_reduction *r, double *to)
{
    const hk_problem *p = r->problem;
    int64_t n = p->vertex_count;
    for (int a = 0; a < 12 * r->part_count; a++) {
        r->sums[a] = 0;
        for (int k = 0; k < r->count; k++)
            r->sums[a] += r->kappa[a * (int64_t)r->count + k] * r->unknowns[k];
    }
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int64_t v = 0; v < n; v++)
        for (int a = 0; a < 4 * r->part_count; a++)
            for (int i = 0; i < 3; i++) to[4 * v + i] -= r->border[a * n + v] * r->sums[3 * a + i];
}

hk_status hk_constant_reduction_apply(hk_constant_reduction *r, const double *from,
                                      const double *solved, double *to)
{
    const hk_manifold *m = r->manifold;
    bool known = r->version == m->version;
    if (r->count > 0 && !known && !factor_system(r))
        return hk_fail(HK_INTERNAL, "the constant matrix is not positive for rigid parts");
    r->version = m->version;
    memset(r->unknowns, 0, sizeof(double) * (size_t)r->count);
    for (int n = 0; n < m->constraints->tree_count; n++)
        if (r->first[n] >= 0) hk_manifold_gather(m, n, from, r->unknowns + r->first[n]);
    sum_up(r, from);
    for (int a = 0; a < 12 * r->part_count; a++)
        for (int k = 0; k < r->count; k++)
            r->unknowns[k] -= r->kappa[a * (int64_t)r->count + k] * r->sums[a];
    if (r->count > 0) hk_dense_solve(r->system, r->count, r->unknowns);
    if (to != solved) memcpy(to, solved, 4 * sizeof(double) * (size_t)r->problem->vertex_count);
    take_away(r, to);
    for (int n = 0; n < m->constraints->tree_count; n++)
        if (r->first[n] >= 0) hk_manifold_scatter(m, n, r->unknowns + r->first[n], to);
    return HK_OK;
}
