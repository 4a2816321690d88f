#include "term/laplacian.h"

// Where row r of block column c stands.
static int64_t entry_of(const hk_pattern *p, int32_t c, int32_t r)
{
    if (r == c) return hk_pattern_column(p, c, 0);
    int64_t low = p->start[c], high = p->start[c + 1];
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (p->row[middle] <= r)
            low = middle;
        else
            high = middle;
    }
    return hk_pattern_column(p, c, 0) + 1 + low - p->start[c];
}

// Shape-function gradients of a tet, 1/m.
static void shape_gradients(const hk_model *m, int tet, double g[4][3])
{
    double inverse[9];
    hk_rest_inverse(m, tet, inverse);
    for (int k = 0; k < 3; k++) memcpy(g[k + 1], inverse + 3 * k, sizeof g[0]);
    for (int i = 0; i < 3; i++) g[0][i] = -(g[1][i] + g[2][i] + g[3][i]);
}

static void add_tets(const hk_model *m, const hk_assembly *assembly, const hk_pattern *scalar,
                     const double *weight, double *values)
{
    for (int t = 0; t < m->tet_count; t++) {
        double g[4][3], w = weight[m->tet_material[t]] * m->volume[t];
        shape_gradients(m, t, g);
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++) {
                int32_t r = assembly->unknown[m->place[m->tets[4 * (int64_t)t + a]]];
                int32_t c = assembly->unknown[m->place[m->tets[4 * (int64_t)t + b]]];
                if (r < c || c < 0) continue;
                values[entry_of(scalar, c, r)] +=
                    w * (g[a][0] * g[b][0] + g[a][1] * g[b][1] + g[a][2] * g[b][2]);
            }
    }
}

static void add_links(const hk_links *t, const hk_assembly *assembly, const hk_pattern *scalar,
                      double *values)
{
    for (int link = 0; link < t->link_count; link++)
        for (int a = t->start[link]; a < t->start[link + 1]; a++)
            for (int b = t->start[link]; b < t->start[link + 1]; b++) {
                int32_t r = assembly->unknown[t->vertex[a]];
                int32_t c = assembly->unknown[t->vertex[b]];
                if (r < c || c < 0) continue;
                values[entry_of(scalar, c, r)] +=
                    t->stiffness[link] * t->coefficient[a] * t->coefficient[b];
            }
}

void hk_laplacian_fill(const hk_model *model, const hk_links *links, const hk_assembly *assembly,
                       const hk_pattern *scalar, const double *weight, double *values)
{
    memset(values, 0, sizeof(double) * (size_t)hk_pattern_size(scalar));
    add_tets(model, assembly, scalar, weight, values);
    add_links(links, assembly, scalar, values);
}
