#include "design/poisson.h"

#include "term/laplacian.h"

hk_status hk_poisson_create(const hk_reference *r, hk_poisson **poisson)
{
    hk_poisson *p = HK_NEW(hk_poisson);
    if (!p) return HK_NO_MEMORY;
    p->reference = r;
    p->values = HK_ARRAY(double, hk_pattern_size(&r->pattern));
    p->held = HK_ZEROS(uint8_t, r->vertex_count);
    hk_status status = p->values && p->held ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) status = hk_fronts_create(r->direct, &r->pattern, r->threads, &p->fronts);
    if (status != HK_OK) {
        hk_poisson_free(p);
        return status;
    }
    *poisson = p;
    return HK_OK;
}

void hk_poisson_free(hk_poisson *p)
{
    if (!p) return;
    hk_factor_free(p->factor);
    hk_fronts_free(p->fronts);
    hk_free(p->values);
    hk_free(p->held);
    hk_free(p);
}

// ---------------------------------------------------------------- numbers

// Vertices of no tet stay where they are, and so does the first vertex of a piece that nothing
// else holds: all of it may be moved, but nothing says where to.
static void take_holds(hk_poisson *p, const uint8_t *held, const double *weight, int tie_count,
                       const hk_poisson_tie *ties)
{
    const hk_reference *r = p->reference;
    enum { HELD = 1, PIECE = 2 };
    for (int v = 0; v < r->vertex_count; v++)
        p->held[v] = held[v] || !(r->diagonal[v] > 0) ? HELD : 0;
    for (int v = 0; v < r->vertex_count; v++)
        if ((p->held[v] & HELD) || (weight && weight[v] > 0)) p->held[r->component[v]] |= PIECE;
    for (int k = 0; k < tie_count; k++) p->held[r->component[ties[k].vertex[0]]] |= PIECE;
    for (int v = 0; v < r->vertex_count; v++)
        if (r->component[v] == v && !(p->held[v] & PIECE)) p->held[v] |= HELD;
    for (int v = 0; v < r->vertex_count; v++) p->held[v] &= HELD;
}

static void fill(hk_poisson *p, const double *weight)
{
    const hk_reference *r = p->reference;
    const hk_pattern *pattern = &r->pattern;
    for (int c = 0; c < pattern->count; c++) {
        int32_t v = r->vertex[c];
        int64_t at = hk_pattern_column(pattern, c, 0);
        p->values[at] = p->held[v] ? 1 : r->laplacian[at] + (weight ? weight[v] : 0);
        for (int64_t k = pattern->start[c]; k < pattern->start[c + 1]; k++) {
            at++;
            bool apart = p->held[v] || p->held[r->vertex[pattern->row[k]]];
            p->values[at] = apart ? 0 : r->laplacian[at];
        }
    }
}

static void add_tie(hk_poisson *p, const hk_poisson_tie *tie)
{
    const hk_reference *r = p->reference;
    for (int a = 0; a < tie->count; a++)
        for (int b = 0; b < tie->count; b++) {
            int32_t c = r->unknown[tie->vertex[a]], d = r->unknown[tie->vertex[b]];
            if (d < c || p->held[tie->vertex[a]] || p->held[tie->vertex[b]]) continue;
            int64_t at = hk_laplacian_entry(&r->pattern, c, d);
            if (at >= 0) p->values[at] += tie->weight * tie->factor[a] * tie->factor[b];
        }
}

hk_status hk_poisson_factor(hk_poisson *p, const uint8_t *held, const double *weight, int tie_count,
                            const hk_poisson_tie *ties)
{
    bool positive;
    take_holds(p, held, weight, tie_count, ties);
    fill(p, weight);
    for (int k = 0; k < tie_count; k++) add_tie(p, &ties[k]);
    HK_TRY(hk_fronts_factor(p->fronts, p->values, &positive));
    if (!positive)
        return hk_fail(HK_BAD_INPUT,
                       "the Laplacian of the shape is singular: it has tets that are nearly flat");
    hk_supernodes nodes = hk_fronts_supernodes(p->fronts);
    return hk_factor_update_from(&nodes, p->reference->threads, &p->factor);
}

void hk_poisson_solve(hk_poisson *p, double *from, double *to)
{
    const hk_reference *r = p->reference;
    for (int64_t v = 0; v < r->vertex_count; v++)
        if (p->held[v]) memset(from + 4 * v, 0, 4 * sizeof(double));
    hk_factor_apply(p->factor, r->vertex, from, to);
}
