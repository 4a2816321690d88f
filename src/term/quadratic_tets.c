#include "term/quadratic_tets.h"

#include <math.h>
#include <stdio.h>

enum { NODES = HK_QUADRATIC_NODES, POINTS = HK_QUADRATIC_POINTS };

static hk_quadratic_term *quadratic(hk_term *term)
{
    return (hk_quadratic_term *)term;
}
static const hk_quadratic_term *const_quadratic(const hk_term *term)
{
    return (const hk_quadratic_term *)term;
}

// ---------------------------------------------------------------- geometry

static void tet_nodes(const hk_model *m, int tet, int32_t node[NODES])
{
    hk_quadratic_nodes(m->tets + 4 * (int64_t)tet, m->middles + HK_MIDDLES * (int64_t)tet, node);
}

// ∇N at a point, 1/m, and w det J, m³.
static double measure_point(const hk_quadrature_point *point, const double *const at[NODES],
                            double slope[NODES][3])
{
    double J[3][3], inverse[9];
    double det = hk_quadratic_jacobian(point, at, J);
    // The edges of a tet are the columns of J.
    double corner[4][3] = {{0}};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) corner[k + 1][i] = J[i][k];
    const double *const corners[4] = {corner[0], corner[1], corner[2], corner[3]};
    hk_corner_inverse(corners, inverse);
    for (int a = 0; a < NODES; a++)
        for (int i = 0; i < 3; i++) {
            slope[a][i] = 0;
            for (int k = 0; k < 3; k++) slope[a][i] += point->slope[a][k] * inverse[3 * k + i];
        }
    return det / (6 * POINTS);
}

static void measure_tet(const hk_model *m, int tet, double slope[POINTS][NODES][3],
                        double volume[POINTS])
{
    hk_quadrature_point points[POINTS];
    int32_t node[NODES];
    const double *at[NODES];
    hk_quadrature(points);
    tet_nodes(m, tet, node);
    for (int a = 0; a < NODES; a++) at[a] = m->rest + 3 * (int64_t)node[a];
    for (int q = 0; q < POINTS; q++) volume[q] = measure_point(&points[q], at, slope[q]);
}

// ---------------------------------------------------------------- creation

static bool in_model(const hk_model *m)
{
    return m->middles != NULL;
}

static void release(hk_term *term)
{
    hk_quadratic_term *t = quadratic(term);
    if (!t) return;
    hk_tet_term_free(t->laws);
    hk_free(t->points.rest);
    hk_free(t->points.tets);
    hk_free(t->points.volume);
    hk_free(t->points.tet_material);
    hk_free(t->points.fibre);
    hk_free(t->points.place);
    hk_free(t->tet);
    hk_free(t->node);
    hk_free(t->slope);
    hk_free(t->edge);
    hk_free(t->force);
    hk_free(t->part);
    hk_free(t->start);
    hk_free(t->at);
    hk_free(t->stiffness);
    hk_free(t->entry_start);
    hk_free(t->entry);
    hk_free(t);
}

static hk_status list_tets(hk_quadratic_term *t)
{
    const hk_model *m = t->model;
    for (int k = 0; k < m->tet_count; k++) t->count += hk_model_is_quadratic(m, k);
    t->tet = HK_ARRAY(int32_t, t->count);
    t->node = HK_ARRAY(int32_t, NODES * (size_t)t->count);
    t->slope = HK_ARRAY(double, 3 * NODES * POINTS * (size_t)t->count);
    if (!t->tet || !t->node || !t->slope) return HK_NO_MEMORY;
    for (int k = 0, e = 0; k < m->tet_count; k++) {
        if (!hk_model_is_quadratic(m, k)) continue;
        int32_t *node = t->node + NODES * (int64_t)e;
        t->tet[e++] = k;
        tet_nodes(m, k, node);
        for (int a = 0; a < NODES; a++) node[a] = m->place[node[a]];
    }
    return HK_OK;
}

static hk_status make_points(hk_quadratic_term *t)
{
    const hk_model *m = t->model;
    hk_model *p = &t->points;
    if (t->count > INT32_MAX / (16 * POINTS))
        return hk_fail(HK_UNSUPPORTED, "too large: %d quadratic tets", t->count);
    p->tet_count = POINTS * t->count;
    p->vertex_count = 4 * p->tet_count;
    p->material_count = m->material_count;
    p->materials = m->materials;
    p->rest = HK_ZEROS(double, 3 * (size_t)p->vertex_count);
    p->place = HK_ARRAY(int32_t, p->vertex_count);
    p->tets = HK_ARRAY(int32_t, 4 * (size_t)p->tet_count);
    p->volume = HK_ARRAY(double, p->tet_count);
    p->tet_material = HK_ARRAY(int32_t, p->tet_count);
    if (m->fibre) p->fibre = HK_ARRAY(double, 3 * (size_t)p->tet_count);
    if (!p->rest || !p->place || !p->tets || !p->volume || !p->tet_material ||
        (m->fibre && !p->fibre))
        return HK_NO_MEMORY;
    for (int v = 0; v < p->vertex_count; v++) {
        p->place[v] = p->tets[v] = v;
        if (v % 4 > 0) p->rest[3 * (int64_t)v + v % 4 - 1] = 1;
    }
    for (int s = 0; s < p->tet_count; s++) {
        int tet = t->tet[s / POINTS];
        p->tet_material[s] = m->tet_material[tet];
        if (m->fibre) memcpy(p->fibre + 3 * (int64_t)s, m->fibre + 3 * (int64_t)tet, 24);
    }
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int e = 0; e < t->count; e++)
        measure_tet(m, t->tet[e], (double(*)[NODES][3])(t->slope + 3 * NODES * POINTS * (int64_t)e),
                    p->volume + POINTS * (int64_t)e);
    return hk_tet_term_create(p, hk_lanes_best(HK_DOUBLE_PRECISION), t->threads, &t->laws);
}

// Where the stiffness of each point is: a material may have several parts.
static hk_status list_entries(hk_quadratic_term *t)
{
    int points = t->points.tet_count, width = t->laws->lanes->lanes;
    t->entry_start = HK_ZEROS(int32_t, points + 2);
    if (!t->entry_start) return HK_NO_MEMORY;
    for (int q = 0; q < t->laws->batch_count; q++)
        for (int k = 0; k < t->laws->batches[q].count; k++)
            t->entry_start[t->laws->batches[q].tet[k] + 2]++;
    for (int s = 0; s < points; s++) t->entry_start[s + 2] += t->entry_start[s + 1];
    t->entry = HK_ARRAY(int64_t, t->entry_start[points + 1]);
    if (!t->entry) return HK_NO_MEMORY;
    for (int q = 0; q < t->laws->batch_count; q++)
        for (int k = 0; k < t->laws->batches[q].count; k++)
            t->entry[t->entry_start[t->laws->batches[q].tet[k] + 1]++] =
                t->laws->stiffness_start[q] + (int64_t)(k / width) * HK_TET_STIFFNESS * width +
                k % width;
    return HK_OK;
}

static hk_status list_nodes(hk_quadratic_term *t)
{
    int64_t nodes = NODES * (int64_t)t->count;
    t->start = HK_ZEROS(int32_t, t->model->vertex_count + 2);
    t->at = HK_ARRAY(int32_t, nodes);
    if (!t->start || !t->at) return HK_NO_MEMORY;
    for (int64_t k = 0; k < nodes; k++) t->start[t->node[k] + 2]++;
    for (int v = 0; v < t->model->vertex_count; v++) t->start[v + 2] += t->start[v + 1];
    for (int64_t k = 0; k < nodes; k++) t->at[t->start[t->node[k] + 1]++] = (int32_t)k;
    return HK_OK;
}

static hk_status build(hk_quadratic_term *t)
{
    HK_TRY(list_tets(t));
    HK_TRY(make_points(t));
    HK_TRY(list_entries(t));
    HK_TRY(list_nodes(t));
    t->edge = HK_ZEROS(double, 4 * (size_t)t->points.vertex_count);
    t->force = HK_ZEROS(double, 4 * (size_t)t->points.vertex_count);
    t->part = HK_ARRAY(double, 3 * NODES * (size_t)t->count);
    t->stiffness = HK_ARRAY(double, hk_tet_stiffness_size(t->laws));
    return t->edge && t->force && t->part && t->stiffness ? HK_OK : HK_NO_MEMORY;
}

static hk_status create(const hk_terms *list, hk_term **term)
{
    if (list->precision == HK_SINGLE)
        return hk_fail(HK_UNSUPPORTED, "quadratic tets are evaluated in double precision only");
    hk_quadratic_term *t = HK_NEW(hk_quadratic_term);
    if (!t) return HK_NO_MEMORY;
    t->model = list->model;
    t->threads = list->threads;
    hk_status status = build(t);
    if (status != HK_OK) {
        release(&t->base);
        return status;
    }
    *term = &t->base;
    return HK_OK;
}

static void take_materials(hk_term *term)
{
    hk_quadratic_term *t = quadratic(term);
    t->points.materials = t->model->materials;
    hk_tet_take_materials(t->laws);
}

// ---------------------------------------------------------------- the energy

// F at all points. Σ_a ∇N_a = 0: differences to the first node.
static void set_edges(hk_quadratic_term *t, const double *x)
{
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int e = 0; e < t->count; e++) {
        const int32_t *node = t->node + NODES * (int64_t)e;
        double d[NODES][3];
        for (int a = 1; a < NODES; a++)
            for (int i = 0; i < 3; i++)
                d[a][i] = x[4 * (int64_t)node[a] + i] - x[4 * (int64_t)node[0] + i];
        for (int q = 0; q < POINTS; q++) {
            int64_t point = POINTS * (int64_t)e + q;
            const double *slope = t->slope + 3 * NODES * point;
            double *edge = t->edge + 16 * point;
            for (int k = 0; k < 3; k++)
                for (int i = 0; i < 3; i++) {
                    double sum = 0;
                    for (int a = 1; a < NODES; a++) sum += d[a][i] * slope[3 * a + k];
                    edge[4 * (k + 1) + i] = sum;
                }
        }
    }
}

static double energy(hk_term *term, const void *x)
{
    hk_quadratic_term *t = quadratic(term);
    set_edges(t, x);
    return hk_tet_energy(t->laws, t->edge);
}

// Adds what the elements at a vertex have in `part`.
static void gather(const hk_quadratic_term *t, double *to)
{
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int v = 0; v < t->model->vertex_count; v++)
        for (int k = t->start[v]; k < t->start[v + 1]; k++)
            for (int i = 0; i < 3; i++)
                to[4 * (int64_t)v + i] += t->part[3 * (int64_t)t->at[k] + i];
}

static void add_gradient(hk_term *term, const void *x, void *gradient, double *sum)
{
    hk_quadratic_term *t = quadratic(term);
    set_edges(t, x);
    hk_tet_gradient(t->laws, t->edge, t->force, sum);
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int e = 0; e < t->count; e++) {
        double *part = t->part + 3 * NODES * (int64_t)e;
        memset(part, 0, 3 * NODES * sizeof *part);
        for (int q = 0; q < POINTS; q++) {
            int64_t point = POINTS * (int64_t)e + q;
            const double *slope = t->slope + 3 * NODES * point, *column = t->force + 16 * point + 4;
            for (int a = 0; a < NODES; a++)
                for (int k = 0; k < 3; k++)
                    for (int i = 0; i < 3; i++)
                        part[3 * a + i] += slope[3 * a + k] * column[4 * k + i];
        }
    }
    gather(t, gradient);
}

// ---------------------------------------------------------------- the Hessian

// w det J ∂P/∂F of a point: H[k][l] is the 3×3 block of columns k and l of F.
static void point_stiffness(const hk_quadratic_term *t, int64_t point, double H[3][3][9])
{
    // The corner pairs 11 12 13 22 23 33 of lanes.h.
    static const int pair[3][3] = {{4, 5, 6}, {5, 7, 8}, {6, 8, 9}};
    int width = t->laws->lanes->lanes;
    memset(H, 0, 81 * sizeof(double));
    for (int s = t->entry_start[point]; s < t->entry_start[point + 1]; s++) {
        const double *values = t->stiffness + t->entry[s];
        for (int k = 0; k < 3; k++)
            for (int l = k; l < 3; l++)
                for (int c = 0; c < 9; c++)
                    H[k][l][c] += values[(9 * (int64_t)pair[k][l] + c) * width];
    }
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < k; l++)
            for (int c = 0; c < 9; c++) H[k][l][c] = H[l][k][3 * (c % 3) + c / 3];
}

// T_k = Σ_l H_kl ∇N_b,l
static void towards_node(const double H[3][3][9], const double slope[3], double T[3][9])
{
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 9; c++)
            T[k][c] = H[k][0][c] * slope[0] + H[k][1][c] * slope[1] + H[k][2][c] * slope[2];
}

// Adds Σ_k,l ∇N_a,k H_kl ∇N_b,l for all pairs a ≤ b.
static void add_pairs(const double H[3][3][9], const double *slope, double *values)
{
    for (int b = 0; b < NODES; b++) {
        double T[3][9];
        towards_node(H, slope + 3 * b, T);
        for (int a = 0; a <= b; a++) {
            double *to = values + 9 * (a * (2 * NODES - a + 1) / 2 + b - a);
            const double *s = slope + 3 * a;
            for (int c = 0; c < 9; c++) to[c] += s[0] * T[0][c] + s[1] * T[1][c] + s[2] * T[2][c];
        }
    }
}

// An element whose material is not defined at a point does not resist.
static void drop_undefined(double *values)
{
    double sum = 0;
    for (int k = 0; k < HK_QUADRATIC_STIFFNESS; k++) sum += fabs(values[k]);
    if (!isfinite(sum)) memset(values, 0, HK_QUADRATIC_STIFFNESS * sizeof *values);
}

static void blocks(hk_term *term, const double *x, double keep, hk_blocks_for what, double *values)
{
    hk_quadratic_term *t = quadratic(term);
    set_edges(t, x);
    hk_tet_stiffness(t->laws, t->edge, keep, t->stiffness);
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int e = 0; e < t->count; e++) {
        double *own = values + HK_QUADRATIC_STIFFNESS * (int64_t)e, H[3][3][9];
        memset(own, 0, HK_QUADRATIC_STIFFNESS * sizeof *own);
        for (int q = 0; q < POINTS; q++) {
            int64_t point = POINTS * (int64_t)e + q;
            point_stiffness(t, point, H);
            add_pairs((const double(*)[3][9])H, t->slope + 3 * NODES * point, own);
        }
        if (what == HK_FOR_DAMPING) drop_undefined(own);
    }
}

static void add_diagonal(hk_term *term, const void *x, void *diagonal)
{
    hk_quadratic_term *t = quadratic(term);
    set_edges(t, x);
    hk_tet_stiffness(t->laws, t->edge, 1, t->stiffness);
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int e = 0; e < t->count; e++) {
        double *part = t->part + 3 * NODES * (int64_t)e, H[3][3][9], T[3][9];
        memset(part, 0, 3 * NODES * sizeof *part);
        for (int q = 0; q < POINTS; q++) {
            int64_t point = POINTS * (int64_t)e + q;
            const double *slope = t->slope + 3 * NODES * point;
            point_stiffness(t, point, H);
            for (int a = 0; a < NODES; a++) {
                towards_node((const double(*)[3][9])H, slope + 3 * a, T);
                for (int i = 0; i < 3; i++)
                    for (int k = 0; k < 3; k++) part[3 * a + i] += slope[3 * a + k] * T[k][4 * i];
            }
        }
    }
    gather(t, diagonal);
}

static int64_t block_size(const hk_term *term)
{
    return HK_QUADRATIC_STIFFNESS * (int64_t)const_quadratic(term)->count;
}

static void stencils(const hk_term *term, hk_stencil_fn *visit, void *context)
{
    const hk_quadratic_term *t = const_quadratic(term);
    const hk_model *m = t->model;
    for (int e = 0; e < t->count; e++)
        visit(context, &(hk_stencil){.vertex = t->node + NODES * (int64_t)e,
                                     .count = NODES,
                                     .viscous = m->materials[m->tet_material[t->tet[e]]].viscous,
                                     .at = HK_QUADRATIC_STIFFNESS * (int64_t)e,
                                     .stride = 1});
}

// ---------------------------------------------------------------- what the model says

static void model_stencils(const hk_model *m, hk_stencil_fn *visit, void *context)
{
    for (int t = 0; t < m->tet_count && m->middles; t++) {
        if (!hk_model_is_quadratic(m, t)) continue;
        int32_t node[NODES];
        tet_nodes(m, t, node);
        for (int a = 0; a < NODES; a++) node[a] = m->place[node[a]];
        visit(context, &(hk_stencil){.vertex = node, .count = NODES});
    }
}

// The Laplacian w ∇N_a·∇N_b of every tet.
static void model_weights(const hk_model *m, const double *material_weight, hk_weight_fn *visit,
                          void *context)
{
    for (int t = 0; t < m->tet_count && m->middles; t++) {
        if (!hk_model_is_quadratic(m, t)) continue;
        double slope[POINTS][NODES][3], volume[POINTS], weight[NODES * NODES] = {0};
        int32_t node[NODES];
        tet_nodes(m, t, node);
        measure_tet(m, t, slope, volume);
        for (int a = 0; a < NODES; a++) {
            node[a] = m->place[node[a]];
            for (int b = 0; b < NODES; b++)
                for (int q = 0; q < POINTS; q++)
                    for (int i = 0; i < 3; i++)
                        weight[NODES * a + b] += material_weight[m->tet_material[t]] * volume[q] *
                                                 slope[q][a][i] * slope[q][b][i];
        }
        visit(context, &(hk_weights){.vertex = node, .count = NODES, .weight = weight});
    }
}

static const hk_term_shape g_shape = {model_stencils, model_weights};

// ---------------------------------------------------------------- states and scales

static double least_j(hk_term *term, const void *x)
{
    set_edges(quadratic(term), x);
    return hk_tet_least_j(quadratic(term)->laws, quadratic(term)->edge);
}

static bool undefined(hk_term *term, const void *x, char *text, size_t size)
{
    hk_quadratic_term *t = quadratic(term);
    set_edges(t, x);
    int point = hk_tet_first_undefined(t->laws, t->edge);
    if (point < 0) return false;
    snprintf(text, size,
             "tet %d is inverted (or overflows) at a quadrature point, where its material is not "
             "defined",
             t->tet[point / POINTS]);
    return true;
}

static double scales(const hk_term *term, double *stiffness)
{
    const hk_quadratic_term *t = const_quadratic(term);
    const hk_model *m = t->model;
    double rounding = 0;
    for (int e = 0; e < t->count; e++) {
        const hk_material *material = &m->materials[m->tet_material[t->tet[e]]];
        double volume = m->volume[t->tet[e]];
        rounding += 1e-15 * material->modulus * volume;
        double k = (material->modulus + material->strand_modulus) * cbrt(volume);
        for (int a = 0; a < NODES; a++) stiffness[m->order[t->node[NODES * (int64_t)e + a]]] += k;
    }
    return rounding;
}

static double softest(const hk_term *term)
{
    const hk_quadratic_term *t = const_quadratic(term);
    const hk_model *m = t->model;
    double least = INFINITY;
    for (int e = 0; e < t->count; e++)
        least = fmin(least,
                     m->materials[m->tet_material[t->tet[e]]].modulus * cbrt(m->volume[t->tet[e]]));
    return least;
}

void hk_quadratic_stress(hk_quadratic_term *t, const double *x, double *P, double *F)
{
    set_edges(t, x);
    hk_tet_gradient(t->laws, t->edge, t->force, NULL);
    for (int e = 0; e < t->count; e++) {
        double *p = P + 9 * (int64_t)t->tet[e], *f = F + 9 * (int64_t)t->tet[e], volume = 0;
        memset(p, 0, 9 * sizeof *p);
        memset(f, 0, 9 * sizeof *f);
        for (int q = 0; q < POINTS; q++) {
            int64_t point = POINTS * (int64_t)e + q;
            volume += t->points.volume[point];
            for (int c = 0; c < 9; c++) {
                int64_t at = 16 * point + 4 * (c % 3 + 1) + c / 3;
                p[c] += t->force[at];
                f[c] += t->points.volume[point] * t->edge[at];
            }
        }
        for (int c = 0; c < 9; c++) {
            p[c] /= volume;
            f[c] /= volume;
        }
    }
}

const hk_term_ops hk_quadratic_tets_term = {
    .name = "quadratic tets",
    .part = HK_PART_ELASTIC,
    .advice =
        "use newton, or linear tets: \"order\": 1 in the mesh, or hooke mesh convert --order 1",
    .shape = &g_shape,
    .in_model = in_model,
    .create = create,
    .free = release,
    .take_materials = take_materials,
    .energy = energy,
    .add_gradient = add_gradient,
    .add_diagonal = add_diagonal,
    .stencils = stencils,
    .block_size = block_size,
    .blocks = blocks,
    .least_j = least_j,
    .undefined = undefined,
    .scales = scales,
    .softest = softest,
};
