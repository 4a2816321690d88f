#include "solver/clusters.h"

#include <math.h>
#include <stdlib.h>

typedef struct center {
    double x[3], weight;
    int32_t tet;
} center;

#define BY_AXIS(name, axis)                                                    \
    static int name(const void *left, const void *right)                       \
    {                                                                          \
        const center *a = left, *b = right;                                    \
        if (a->x[axis] != b->x[axis]) return a->x[axis] < b->x[axis] ? -1 : 1; \
        return a->tet < b->tet ? -1 : a->tet > b->tet;                         \
    }
BY_AXIS(by_x, 0)
BY_AXIS(by_y, 1)
BY_AXIS(by_z, 2)

// Where to cut into parts for `left` and `count` - `left` clusters: half-way between the cut of
// equal stiffness and that of equal extent, so that thin limbs, where bodies bend, get their share.
static int find_cut(const center *all, int size, int axis, int left, int count)
{
    double total = 0, sum = 0, low = all[0].x[axis], high = all[size - 1].x[axis];
    for (int k = 0; k < size; k++) total += all[k].weight;
    double middle = low + (high - low) * left / count;
    int heavy = 0, wide = 0;
    while (heavy < size - 1 && sum < total * left / count) sum += all[heavy++].weight;
    while (wide < size - 1 && all[wide].x[axis] < middle) wide++;
    return hk_max_int(left, hk_min_int((heavy + wide) / 2, size - (count - left)));
}

// Clusters first … first + count - 1 by recursive bisection along the longest axis.
static void divide(center *all, int size, int first, int count, int32_t *cluster)
{
    if (count == 1) {
        for (int k = 0; k < size; k++) cluster[all[k].tet] = first;
        return;
    }
    static int (*const by[3])(const void *, const void *) = {by_x, by_y, by_z};
    double extent[3];
    int axis = 0;
    for (int i = 0; i < 3; i++) {
        double low = INFINITY, high = -INFINITY;
        for (int k = 0; k < size; k++) {
            low = fmin(low, all[k].x[i]);
            high = fmax(high, all[k].x[i]);
        }
        extent[i] = high - low;
        if (extent[i] > extent[axis]) axis = i;
    }
    qsort(all, (size_t)size, sizeof *all, by[axis]);
    int left = count / 2, cut = find_cut(all, size, axis, left, count);
    divide(all, cut, first, left, cluster);
    divide(all + cut, size - cut, first + left, count - left, cluster);
}

static double weight_of(const hk_model *m, const double *stiffness, int tet)
{
    return stiffness[m->tet_material[tet]] * m->volume[tet];
}

hk_status hk_find_clusters(const hk_model *m, const hk_body *body, const double *stiffness,
                           int count, int32_t *cluster)
{
    center *all = HK_ZEROS(center, body->tet_count);
    if (!all) return HK_NO_MEMORY;
    for (int k = 0; k < body->tet_count; k++) {
        int tet = body->tet_start + k;
        all[k].tet = k;
        all[k].weight = weight_of(m, stiffness, tet);
        for (int c = 0; c < 4; c++)
            for (int i = 0; i < 3; i++)
                all[k].x[i] += m->rest[3 * (int64_t)m->tets[4 * (int64_t)tet + c] + i] / 4;
    }
    divide(all, body->tet_count, 0, count, cluster);
    hk_free(all);
    return HK_OK;
}

// ∂φ/∂X of the four corners × 6 volumes of the tet.
static void slopes_of(const hk_model *m, int tet, double slope[4][3])
{
    const int32_t *corner = m->tets + 4 * (int64_t)tet;
    double edge[3][3];
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 3; i++)
            edge[c][i] =
                m->rest[3 * (int64_t)corner[c + 1] + i] - m->rest[3 * (int64_t)corner[0] + i];
    for (int i = 0; i < 3; i++) slope[0][i] = 0;
    for (int c = 0; c < 3; c++) {
        const double *a = edge[(c + 1) % 3], *b = edge[(c + 2) % 3];
        for (int i = 0; i < 3; i++) {
            int j = (i + 1) % 3, k = (i + 2) % 3;
            slope[c + 1][i] = a[j] * b[k] - a[k] * b[j];
            slope[0][i] -= slope[c + 1][i];
        }
    }
}

double hk_cluster_slopes(const hk_model *m, const hk_body *body, const double *stiffness,
                         const int32_t *cluster, int which, double *sum)
{
    double weight = 0;
    memset(sum, 0, 3 * sizeof *sum * (size_t)body->vertex_count);
    for (int k = 0; k < body->tet_count; k++) {
        if (cluster[k] != which) continue;
        int tet = body->tet_start + k;
        double slope[4][3], share = stiffness[m->tet_material[tet]] / 6;
        slopes_of(m, tet, slope);
        weight += weight_of(m, stiffness, tet);
        for (int c = 0; c < 4; c++)
            for (int i = 0; i < 3; i++) {
                int64_t v = m->tets[4 * (int64_t)tet + c] - body->vertex_start;
                sum[3 * v + i] += share * slope[c][i];
            }
    }
    return weight;
}
