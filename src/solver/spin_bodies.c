#include "solver/spin_bodies.h"

#include <math.h>

#include "solver/clusters.h"

// ---------------------------------------------------------------- clusters

static hk_status add_cluster(const hk_model *m, int which, const double *sum, hk_spin_body *b,
                             size_t *capacity)
{
    const hk_body *body = &m->bodies[b->body];
    int count = b->start[which];
    double largest = 0;
    for (int k = 0; k < 3 * body->vertex_count; k++) largest = fmax(largest, fabs(sum[k]));
    HK_TRY(hk_reserve((void **)&b->entries, (size_t)count, sizeof *b->entries, capacity,
                      (size_t)count + (size_t)body->vertex_count));
    for (int v = 0; v < body->vertex_count; v++) {
        const double *s = sum + 3 * (int64_t)v;
        if (!(fmax(fabs(s[0]), fmax(fabs(s[1]), fabs(s[2]))) > 1e-9 * largest)) continue;
        hk_spin_entry *e = &b->entries[count++];
        e->vertex = m->place[body->vertex_start + v];
        for (int i = 0; i < 3; i++) e->slope[i] = s[i] / b->weight[which];
    }
    b->start[which + 1] = count;
    return HK_OK;
}

static hk_status list_free(const hk_model *m, const uint8_t *held, hk_spin_body *b)
{
    const hk_body *body = &m->bodies[b->body];
    b->vertex = HK_ARRAY(int32_t, body->vertex_count);
    if (!b->vertex) return HK_NO_MEMORY;
    for (int v = 0; v < body->vertex_count; v++) {
        int32_t k = m->place[body->vertex_start + v];
        if (!held[k]) b->vertex[b->unknowns++] = k;
    }
    return HK_OK;
}

static hk_status fill_clusters(const hk_model *m, const double *stiffness, hk_spin_body *b)
{
    const hk_body *body = &m->bodies[b->body];
    int32_t *cluster = HK_ARRAY(int32_t, body->tet_count);
    double *sum = HK_ARRAY(double, 3 * (size_t)body->vertex_count);
    size_t capacity = 0;
    hk_status status =
        cluster && sum ? hk_find_clusters(m, body, stiffness, b->clusters, cluster) : HK_NO_MEMORY;
    for (int c = 0; c < b->clusters && status == HK_OK; c++) {
        b->weight[c] = hk_cluster_slopes(m, body, stiffness, cluster, c, sum);
        status = add_cluster(m, c, sum, b, &capacity);
    }
    hk_free(cluster);
    hk_free(sum);
    return status;
}

static hk_status fill_body(const hk_model *m, const uint8_t *held, const double *stiffness,
                           hk_spin_body *b)
{
    size_t columns = 3 * (size_t)b->clusters;
    HK_TRY(list_free(m, held, b));
    b->weight = HK_ARRAY(double, b->clusters);
    b->start = HK_ZEROS(int32_t, b->clusters + 1);
    b->columns = HK_ZEROS(float, columns *(size_t)hk_max_int(1, b->unknowns));
    b->tau = HK_ZEROS(double, columns *columns);
    if (!b->weight || !b->start || !b->columns || !b->tau) return HK_NO_MEMORY;
    return fill_clusters(m, stiffness, b);
}

hk_status hk_spin_bodies_init(hk_spin_bodies *s, const hk_model *m, const uint8_t *held,
                              const double *stiffness, int clusters)
{
    *s = (hk_spin_bodies){0};
    if (clusters == 0) return HK_OK;
    int most = hk_min_int(clusters, HK_SPIN_MOST);
    s->body = HK_ZEROS(hk_spin_body, m->body_count);
    if (!s->body) return HK_NO_MEMORY;
    for (int k = 0; k < m->body_count; k++) {
        int tets = m->bodies[k].tet_count;
        if (tets == 0) continue;
        hk_spin_body *b = &s->body[s->count++];
        b->body = k;
        b->clusters = hk_max_int(1, hk_min_int(most, tets / HK_CLUSTER_TETS));
        HK_TRY(fill_body(m, held, stiffness, b));
    }
    return HK_OK;
}

void hk_spin_bodies_release(hk_spin_bodies *s)
{
    for (int k = 0; k < s->count; k++) {
        hk_spin_body *b = &s->body[k];
        hk_free(b->weight);
        hk_free(b->start);
        hk_free(b->entries);
        hk_free(b->vertex);
        hk_free(b->columns);
        hk_free(b->tau);
    }
    hk_free(s->body);
    *s = (hk_spin_bodies){0};
}

// ---------------------------------------------------------------- P and τ

static void put_slopes(const uint8_t *held, const hk_spin_body *b, int cluster, double *right)
{
    for (int e = b->start[cluster]; e < b->start[cluster + 1]; e++)
        for (int i = 0; i < 3 && !held[b->entries[e].vertex]; i++)
            right[4 * (int64_t)b->entries[e].vertex + i] = b->entries[e].slope[i];
}

// From the solution for one cluster's vectors: its columns of P, and of τ.
static void take_columns(const uint8_t *held, hk_spin_body *b, int cluster, const double *x)
{
    int n = 3 * b->clusters;
    for (int64_t k = 0; k < b->unknowns; k++)
        for (int i = 0; i < 3; i++)
            b->columns[k * n + 3 * cluster + i] = (float)x[4 * (int64_t)b->vertex[k] + i];
    for (int c = 0; c < b->clusters; c++)
        for (int k = 0; k < 9; k++) {
            double sum = 0;
            for (int e = b->start[c]; e < b->start[c + 1]; e++)
                if (!held[b->entries[e].vertex])
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
static hk_status solve_clusters(hk_spin_bodies *s, const hk_model *m, const uint8_t *held,
                                hk_spin_solve *solve, void *context, double *right, double *x)
{
    size_t bytes = 4 * sizeof(double) * (size_t)m->vertex_count;
    int most = 0;
    for (int k = 0; k < s->count; k++) most = hk_max_int(most, s->body[k].clusters);
    for (int c = 0; c < most; c++) {
        memset(right, 0, bytes);
        memset(x, 0, bytes);
        for (int k = 0; k < s->count; k++)
            if (c < s->body[k].clusters) put_slopes(held, &s->body[k], c, right);
        HK_TRY(solve(context, right, x));
        for (int k = 0; k < s->count; k++)
            if (c < s->body[k].clusters) take_columns(held, &s->body[k], c, x);
    }
    for (int k = 0; k < s->count; k++) mirror(&s->body[k]);
    return HK_OK;
}

hk_status hk_spin_bodies_solve(hk_spin_bodies *s, const hk_model *m, const uint8_t *held,
                               hk_spin_solve *solve, void *context)
{
    if (s->count == 0) return HK_OK;
    size_t size = 4 * (size_t)m->vertex_count;
    double *right = HK_ARRAY(double, size), *x = HK_ARRAY(double, size);
    hk_status status =
        right && x ? solve_clusters(s, m, held, solve, context, right, x) : HK_NO_MEMORY;
    hk_free(right);
    hk_free(x);
    return status;
}
