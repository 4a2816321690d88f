#include "design/tet_laplacian.h"

#include "term/laplacian.h"
#include "term/tet.h"

void hk_tet_laplacian(const hk_model *m, int tet, double weight[4][4])
{
    double inverse[9], g[4][3];
    hk_rest_inverse(m, tet, inverse);
    memcpy(g[1], inverse, sizeof inverse);
    for (int i = 0; i < 3; i++) g[0][i] = -(g[1][i] + g[2][i] + g[3][i]);
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++)
            weight[a][b] =
                m->volume[tet] * (g[a][0] * g[b][0] + g[a][1] * g[b][1] + g[a][2] * g[b][2]);
}

int32_t *hk_tet_laplacian_entries(const hk_model *m, const int32_t *unknown,
                                  const hk_pattern *scalar, int threads)
{
    int32_t *entries = HK_ARRAY(int32_t, HK_TET_PAIRS * (size_t)m->tet_count);
    if (!entries) return NULL;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < m->tet_count; t++)
        for (int q = 0; q < HK_TET_PAIRS; q++) {
            int32_t a = unknown[m->place[m->tets[4 * (int64_t)t + hk_tet_pairs[q][0]]]];
            int32_t b = unknown[m->place[m->tets[4 * (int64_t)t + hk_tet_pairs[q][1]]]];
            int64_t at = -1;
            if (a >= 0 && b >= 0) at = hk_laplacian_entry(scalar, a < b ? a : b, a < b ? b : a);
            entries[HK_TET_PAIRS * (int64_t)t + q] = (int32_t)at;
        }
    return entries;
}

void hk_tet_laplacian_numbers(const hk_model *m, const hk_pattern *scalar, const int32_t *entries,
                              double *values)
{
    memset(values, 0, sizeof(double) * (size_t)hk_pattern_size(scalar));
    for (int t = 0; t < m->tet_count; t++) {
        double weight[4][4];
        hk_tet_laplacian(m, t, weight);
        for (int q = 0; q < HK_TET_PAIRS; q++) {
            int32_t at = entries[HK_TET_PAIRS * (int64_t)t + q];
            if (at >= 0) values[at] += weight[hk_tet_pairs[q][0]][hk_tet_pairs[q][1]];
        }
    }
}
