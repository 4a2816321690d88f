#include "solver/spin_correction.h"

#include <math.h>

#include "rules/rigid.h"
#include "solver/clusters.h"

enum {
    RUN = 1024,  // vertices in a partial sum
    CYCLES = 3,  // solves for P, each for what the ones before left
    MOST = 64,   // clusters of a body
};

// A vertex of a cluster: those inside one of uniform stiffness have slopes of 0.
typedef struct entry {
    int32_t vertex;  // Morton order
    double slope[3];
} entry;

struct hk_spin_body {
    const hk_body *body;
    int clusters, unknowns;
    double *weight;  // [clusters] W_c, J
    int32_t *start;  // [clusters + 1] in entries
    entry *entries;
    int32_t *vertex;   // [unknowns] free ones, Morton order
    float *columns;    // [unknowns][3 clusters] P
    double *tau;       // [3 clusters][3 clusters]
    double *rotation;  // [clusters][9]
    double *factor;    // [3 clusters][3 clusters] of C⁻¹ − B Q, lower triangle
    double *turn;      // [3][3 clusters] what columns are multiplied with
    bool corrects;     // false: the system is not positive
};

// ---------------------------------------------------------------- creation

static hk_status add_cluster(const hk_model *m, int which, const double *sum, hk_spin_body *b,
                             size_t *capacity)
{
    int count = b->start[which];
    double largest = 0;
    for (int k = 0; k < 3 * b->body->vertex_count; k++) largest = fmax(largest, fabs(sum[k]));
    HK_TRY(hk_reserve((void **)&b->entries, (size_t)count, sizeof *b->entries, capacity,
                      (size_t)count + (size_t)b->body->vertex_count));
    for (int v = 0; v < b->body->vertex_count; v++) {
        const double *s = sum + 3 * (int64_t)v;
        if (!(fmax(fabs(s[0]), fmax(fabs(s[1]), fabs(s[2]))) > 1e-9 * largest)) continue;
        entry *e = &b->entries[count++];
        e->vertex = m->place[b->body->vertex_start + v];
        for (int i = 0; i < 3; i++) e->slope[i] = s[i] / b->weight[which];
    }
    b->start[which + 1] = count;
    return HK_OK;
}

static hk_status list_free(const hk_problem *p, hk_spin_body *b)
{
    b->vertex = HK_ARRAY(int32_t, b->body->vertex_count);
    if (!b->vertex) return HK_NO_MEMORY;
    for (int v = 0; v < b->body->vertex_count; v++) {
        int32_t k = p->model->place[b->body->vertex_start + v];
        if (!p->held[k]) b->vertex[b->unknowns++] = k;
    }
    return HK_OK;
}

static hk_status fill_clusters(const hk_model *m, const double *stiffness, hk_spin_body *b)
{
    int32_t *cluster = HK_ARRAY(int32_t, b->body->tet_count);
    double *sum = HK_ARRAY(double, 3 * (size_t)b->body->vertex_count);
    size_t capacity = 0;
    hk_status status = cluster && sum
                           ? hk_find_clusters(m, b->body, stiffness, b->clusters, cluster)
                           : HK_NO_MEMORY;
    for (int c = 0; c < b->clusters && status == HK_OK; c++) {
        b->weight[c] = hk_cluster_slopes(m, b->body, stiffness, cluster, c, sum);
        status = add_cluster(m, c, sum, b, &capacity);
    }
    hk_free(cluster);
    hk_free(sum);
    return status;
}

static hk_status fill_body(const hk_problem *p, const double *stiffness, hk_spin_body *b)
{
    size_t columns = 3 * (size_t)b->clusters;
    HK_TRY(list_free(p, b));
    b->weight = HK_ARRAY(double, b->clusters);
    b->start = HK_ZEROS(int32_t, b->clusters + 1);
    b->columns = HK_ZEROS(float, columns *(size_t)hk_max_int(1, b->unknowns));
    b->tau = HK_ZEROS(double, columns *columns);
    b->factor = HK_ZEROS(double, columns *columns);
    b->rotation = HK_ZEROS(double, 3 * columns);
    b->turn = HK_ZEROS(double, 3 * columns);
    if (!b->weight || !b->start || !b->columns || !b->tau || !b->factor || !b->rotation || !b->turn)
        return HK_NO_MEMORY;
    return fill_clusters(p->model, stiffness, b);
}

hk_status hk_spin_correction_init(hk_spin_correction *s, hk_constant_matrix *matrix,
                                  const double *stiffness, int clusters)
{
    const hk_problem *p = matrix->problem;
    const hk_model *m = p->model;
    *s = (hk_spin_correction){.matrix = matrix, .prepared.weight = NAN};
    if (clusters == 0) return HK_OK;
    int most = hk_min_int(clusters, MOST), runs = 0;
    s->bodies = HK_ZEROS(hk_spin_body, m->body_count);
    if (!s->bodies) return HK_NO_MEMORY;
    for (int k = 0; k < m->body_count; k++) {
        const hk_body *body = &m->bodies[k];
        if (body->tet_count == 0) continue;
        hk_spin_body *b = &s->bodies[s->body_count++];
        b->body = body;
        b->clusters = hk_max_int(1, hk_min_int(most, body->tet_count / HK_CLUSTER_TETS));
        HK_TRY(fill_body(p, stiffness, b));
        runs = hk_max_int(runs, (b->unknowns + RUN - 1) / RUN);
    }
    s->partial = HK_ARRAY(double, 9 * (size_t)most * (size_t)hk_max_int(1, runs));
    return s->partial ? HK_OK : HK_NO_MEMORY;
}

void hk_spin_correction_release(hk_spin_correction *s)
{
    for (int k = 0; k < s->body_count; k++) {
        hk_spin_body *b = &s->bodies[k];
        hk_free(b->weight);
        hk_free(b->start);
        hk_free(b->entries);
        hk_free(b->vertex);
        hk_free(b->columns);
        hk_free(b->tau);
        hk_free(b->rotation);
        hk_free(b->factor);
        hk_free(b->turn);
    }
    hk_free(s->bodies);
    hk_free(s->partial);
    *s = (hk_spin_correction){0};
}

// ---------------------------------------------------------------- P and τ

static void put_slopes(const hk_problem *p, const hk_spin_body *b, int cluster, double *right)
{
    for (int e = b->start[cluster]; e < b->start[cluster + 1]; e++)
        for (int i = 0; i < 3 && !p->held[b->entries[e].vertex]; i++)
            right[4 * (int64_t)b->entries[e].vertex + i] = b->entries[e].slope[i];
}

// From the solution for one cluster's vectors: its columns of P, and of τ.
static void take_columns(const hk_problem *p, hk_spin_body *b, int cluster, const double *x)
{
    int n = 3 * b->clusters;
    for (int64_t k = 0; k < b->unknowns; k++)
        for (int i = 0; i < 3; i++)
            b->columns[k * n + 3 * cluster + i] = (float)x[4 * (int64_t)b->vertex[k] + i];
    for (int c = 0; c < b->clusters; c++)
        for (int k = 0; k < 9; k++) {
            double sum = 0;
            for (int e = b->start[c]; e < b->start[c + 1]; e++)
                if (!p->held[b->entries[e].vertex])
                    sum +=
                        b->entries[e].slope[k / 3] * x[4 * (int64_t)b->entries[e].vertex + k % 3];
            b->tau[(3 * c + k / 3) * n + 3 * cluster + k % 3] = sum;
        }
}

static void mirror(hk_spin_body *b)
{
    int n = 3 * b->clusters;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            b->tau[i * n + j] = b->tau[j * n + i] = (b->tau[i * n + j] + b->tau[j * n + i]) / 2;
}

// One cluster of every body at a time: bodies do not meet in A, or hardly.
static hk_status solve_clusters(hk_spin_correction *s, double *right, double *x, double *workspace)
{
    const hk_problem *p = s->matrix->problem;
    size_t bytes = 4 * sizeof(double) * (size_t)p->vertex_count;
    int most = 0;
    for (int k = 0; k < s->body_count; k++) most = hk_max_int(most, s->bodies[k].clusters);
    for (int c = 0; c < most; c++) {
        memset(right, 0, bytes);
        memset(x, 0, bytes);
        for (int k = 0; k < s->body_count; k++)
            if (c < s->bodies[k].clusters) put_slopes(p, &s->bodies[k], c, right);
        HK_TRY(hk_constant_matrix_solve(s->matrix, right, CYCLES, workspace, x));
        for (int k = 0; k < s->body_count; k++)
            if (c < s->bodies[k].clusters) take_columns(p, &s->bodies[k], c, x);
    }
    for (int k = 0; k < s->body_count; k++) mirror(&s->bodies[k]);
    return HK_OK;
}

hk_status hk_spin_correction_prepare(hk_spin_correction *s, bool *anew)
{
    const hk_problem *p = s->matrix->problem;
    hk_quadratic now = hk_problem_quadratic(p);
    bool needed = s->body_count > 0 && !hk_same_quadratic(s->prepared, now);
    if (anew) *anew = needed;
    if (!needed) return HK_OK;
    size_t size = 4 * (size_t)p->vertex_count;
    double *right = HK_ARRAY(double, size), *x = HK_ARRAY(double, size);
    double *workspace = HK_ARRAY(double, size);
    hk_status status =
        right && x && workspace ? solve_clusters(s, right, x, workspace) : HK_NO_MEMORY;
    hk_free(right);
    hk_free(x);
    hk_free(workspace);
    if (status == HK_OK) s->prepared = now;
    return status;
}

// ---------------------------------------------------------------- rotations

// That of a mean gradient, and how far the cluster turns as one: 1 where its elements are turned
// alike and not stretched (tension resists turning), 0 where they are inside out.
static double find_rotation(const double F[9], double R[9])
{
    hk_rigid_sums sums = {.weight = 1};
    hk_rigid_motion motion = {.turns = 0};
    memcpy(sums.moment, F, sizeof sums.moment);
    rigid_best_turn(&sums, &motion);
    double stretch = 0;
    for (int i = 0; i < 9; i++) {
        R[i] = motion.turn[i] + (i % 4 == 0);
        stretch += R[i] * F[i] / 3;
    }
    if (!(stretch > 0)) return 0;
    return stretch < 1 ? stretch * stretch : 1 / (stretch * stretch);
}

static void mean_gradient(const hk_spin_body *b, int cluster, const double *x, double F[9])
{
    for (int i = 0; i < 9; i++) F[i] = 0;
    for (int e = b->start[cluster]; e < b->start[cluster + 1]; e++)
        for (int i = 0; i < 9; i++)
            F[i] += x[4 * (int64_t)b->entries[e].vertex + i / 3] * b->entries[e].slope[i % 3];
}

// ¼ Σ_jk τ_jk (R_c e_j) × (· × R_d e_k), the block of B Q: a × (z × b) = z (a·b) − b (a·z).
static void spin_block(const hk_spin_body *b, int c, int d, double block[9])
{
    const double *R = b->rotation + 9 * c, *S = b->rotation + 9 * d;
    int n = 3 * b->clusters;
    for (int i = 0; i < 9; i++) block[i] = 0;
    for (int jk = 0; jk < 9; jk++) {
        int j = jk / 3, k = jk % 3;
        double t = 0.25 * b->tau[(3 * c + j) * n + 3 * d + k], dot = 0;
        for (int i = 0; i < 3; i++) dot += R[3 * i + j] * S[3 * i + k];
        for (int i = 0; i < 9; i++)
            block[i] += t * ((i % 4 == 0 ? dot : 0) - S[3 * (i / 3) + k] * R[3 * (i % 3) + j]);
    }
}

// L Lᵀ in place; false: not positive definite.
static bool factorise(double *a, int n, double least)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (int k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
            if (i == j && !(sum > least)) return false;
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    return true;
}

static void turn_body(hk_spin_body *b, const double *x)
{
    int n = 3 * b->clusters;
    double alike[MOST], least = INFINITY;
    for (int c = 0; c < b->clusters; c++) {
        double F[9];
        mean_gradient(b, c, x, F);
        alike[c] = fmax(find_rotation(F, b->rotation + 9 * c), 1e-3);
        least = fmin(least, 1e-9 / b->weight[c]);
    }
    for (int c = 0; c < b->clusters; c++)
        for (int d = 0; d < b->clusters; d++) {
            double block[9], inverse = 1 / (2 * b->weight[c] * alike[c]);
            spin_block(b, c, d, block);
            for (int i = 0; i < 9; i++)
                b->factor[(3 * c + i / 3) * n + 3 * d + i % 3] =
                    (c == d && i % 4 == 0 ? inverse : 0) - block[i];
        }
    b->corrects = factorise(b->factor, n, least);
}

void hk_spin_correction_turn(hk_spin_correction *s, const double *x)
{
    for (int k = 0; k < s->body_count; k++) turn_body(&s->bodies[k], x);
}

// ---------------------------------------------------------------- solves

// Σ P q of vertices [first, end), [3][n].
static void sum_columns(const hk_spin_body *b, const double *q, int first, int end, double *sum)
{
    int n = 3 * b->clusters;
    for (int k = 0; k < 3 * n; k++) sum[k] = 0;
    for (int64_t v = first; v < end; v++) {
        const double *at = q + 4 * (int64_t)b->vertex[v];
        const float *column = b->columns + v * n;
        double x = at[0], y = at[1], z = at[2];
        for (int k = 0; k < n; k++) {
            sum[k] += (double)column[k] * x;
            sum[n + k] += (double)column[k] * y;
            sum[2 * n + k] += (double)column[k] * z;
        }
    }
}

// z = (C⁻¹ − B Q)⁻¹ Qᵀ q from u = Pᵀ q, [3][n], and what columns are multiplied with.
static void solve_body(hk_spin_body *b, const double *u)
{
    int n = 3 * b->clusters;
    double z[3 * MOST];
    for (int c = 0; c < b->clusters; c++)
        for (int i = 0; i < 3; i++) {
            int j = (i + 1) % 3, k = (i + 2) % 3;
            const double *R = b->rotation + 9 * c;
            z[3 * c + i] = 0;
            for (int a = 0; a < 3; a++)
                z[3 * c + i] += 0.5 * (R[3 * j + a] * u[k * n + 3 * c + a] -
                                       R[3 * k + a] * u[j * n + 3 * c + a]);
        }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) z[i] -= b->factor[i * n + k] * z[k];
        z[i] /= b->factor[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) z[i] -= b->factor[k * n + i] * z[k];
        z[i] /= b->factor[i * n + i];
    }
    for (int c = 0; c < b->clusters; c++)
        for (int i = 0; i < 3; i++)
            for (int a = 0; a < 3; a++) {
                int j = (i + 1) % 3, k = (i + 2) % 3;
                const double *R = b->rotation + 9 * c;
                b->turn[i * n + 3 * c + a] =
                    0.5 * (z[3 * c + j] * R[3 * k + a] - z[3 * c + k] * R[3 * j + a]);
            }
}

void hk_spin_correction_gather(hk_spin_correction *s, const double *q)
{
    int threads = s->matrix->problem->threads;
    for (int k = 0; k < s->body_count; k++) {
        hk_spin_body *b = &s->bodies[k];
        if (!b->corrects) continue;
        int size = 9 * b->clusters, runs = (b->unknowns + RUN - 1) / RUN;
#pragma omp parallel for schedule(static) num_threads(threads) if (runs > 1)
        for (int r = 0; r < runs; r++)
            sum_columns(b, q, r * RUN, hk_min_int((r + 1) * RUN, b->unknowns),
                        s->partial + (int64_t)r * size);
        double u[9 * MOST] = {0};
        for (int r = 0; r < runs; r++)
            for (int i = 0; i < size; i++) u[i] += s->partial[(int64_t)r * size + i];
        solve_body(b, u);
    }
}

void hk_spin_correction_add(hk_spin_correction *s, double *t)
{
    int threads = s->matrix->problem->threads;
    for (int k = 0; k < s->body_count; k++) {
        const hk_spin_body *b = &s->bodies[k];
        int n = 3 * b->clusters;
        if (!b->corrects) continue;
#pragma omp parallel for schedule(static) num_threads(threads) if (b->unknowns > RUN)
        for (int64_t v = 0; v < b->unknowns; v++) {
            const float *column = b->columns + v * n;
            double sum[3] = {0, 0, 0};
            for (int i = 0; i < n; i++) {
                sum[0] += (double)column[i] * b->turn[i];
                sum[1] += (double)column[i] * b->turn[n + i];
                sum[2] += (double)column[i] * b->turn[2 * n + i];
            }
            for (int i = 0; i < 3; i++) t[4 * (int64_t)b->vertex[v] + i] += sum[i];
        }
    }
}
