// The tet that lies below each triangle of a skin: looked for at rest, among the tets whose boxes
// meet a cell of a grid.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "surface.h"

enum { MOST_SIDE = 96 };  // cells along an axis

typedef struct grid {
    double low[3], cell;
    int side[3];
    int32_t *first, *tets;  // tets of cell c: from first[c] to first[c + 1]
} grid;

typedef struct cells {  // from low to high along each axis
    int low[3], high[3];
} cells;

static int cell_of(const grid *g, double x, int axis)
{
    double at = floor((x - g->low[axis]) / g->cell);
    return (int)fmax(0, fmin(g->side[axis] - 1, at));
}

static cells cells_of_tet(const grid *g, const double *x, const int32_t *tet)
{
    cells c;
    for (int i = 0; i < 3; ++i) {
        double low = INFINITY, high = -INFINITY;
        for (int k = 0; k < 4; ++k) {
            low = fmin(low, x[3 * (int64_t)tet[k] + i]);
            high = fmax(high, x[3 * (int64_t)tet[k] + i]);
        }
        c.low[i] = cell_of(g, low, i);
        c.high[i] = cell_of(g, high, i);
    }
    return c;
}

static size_t cell_number(const grid *g, int i, int j, int k)
{
    return ((size_t)k * (size_t)g->side[1] + (size_t)j) * (size_t)g->side[0] + (size_t)i;
}

// Counts, or where the places of cells are known puts the tets there.
static void enter(grid *g, const double *x, const int32_t *corners, int begin, int end, bool count)
{
    for (int t = begin; t < end; ++t) {
        cells c = cells_of_tet(g, x, corners + 4 * (int64_t)t);
        for (int k = c.low[2]; k <= c.high[2]; ++k)
            for (int j = c.low[1]; j <= c.high[1]; ++j)
                for (int i = c.low[0]; i <= c.high[0]; ++i) {
                    size_t n = cell_number(g, i, j, k);
                    if (count)
                        g->first[n + 2]++;
                    else
                        g->tets[g->first[n + 1]++] = t;
                }
    }
}

// About as many cells as tets.
static void make_grid(grid *g, const double *x, const int32_t *corners, int begin, int end)
{
    double high[3], volume = 1;
    for (int i = 0; i < 3; ++i) g->low[i] = INFINITY, high[i] = -INFINITY;
    for (int64_t k = 4 * (int64_t)begin; k < 4 * (int64_t)end; ++k)
        for (int i = 0; i < 3; ++i) {
            g->low[i] = fmin(g->low[i], x[3 * (int64_t)corners[k] + i]);
            high[i] = fmax(high[i], x[3 * (int64_t)corners[k] + i]);
        }
    for (int i = 0; i < 3; ++i) volume *= high[i] - g->low[i];
    g->cell = cbrt(volume / (end - begin));
    for (int i = 0; i < 3; ++i) g->cell = fmax(g->cell, (high[i] - g->low[i]) / MOST_SIDE);
    if (!(g->cell > 0)) g->cell = 1;
    size_t count = 1;
    for (int i = 0; i < 3; ++i) {
        g->side[i] = 1 + (int)fmin(MOST_SIDE, (high[i] - g->low[i]) / g->cell);
        count *= (size_t)g->side[i];
    }
    g->first = st_alloc(count + 2, sizeof *g->first);
    enter(g, x, corners, begin, end, true);
    for (size_t n = 0; n < count; ++n) g->first[n + 2] += g->first[n + 1];
    g->tets = st_alloc((size_t)g->first[count + 1], sizeof *g->tets);
    enter(g, x, corners, begin, end, false);
}

static double triple(const double a[3], const double b[3], const double c[3])
{
    return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
           a[2] * (b[0] * c[1] - b[1] * c[0]);
}

// How far outside of a tet a point is, as the most negative of its coordinates in it; 0: inside.
static double outside(const double *x, const int32_t *tet, const double p[3])
{
    double e[3][3], d[3], least = 0, sum = 0;
    for (int i = 0; i < 3; ++i) {
        d[i] = p[i] - x[3 * (int64_t)tet[0] + i];
        for (int k = 0; k < 3; ++k)
            e[k][i] = x[3 * (int64_t)tet[k + 1] + i] - x[3 * (int64_t)tet[0] + i];
    }
    double whole = triple(e[0], e[1], e[2]);
    if (whole == 0) return INFINITY;
    const double parts[3] = {triple(d, e[1], e[2]) / whole, triple(e[0], d, e[2]) / whole,
                             triple(e[0], e[1], d) / whole};
    for (int k = 0; k < 3; ++k) sum += parts[k], least = fmin(least, parts[k]);
    return -fmin(least, 1 - sum);
}

// The tet that has the point, or is the nearest to having it, in the cells around it: in as many
// rings of cells as it takes to meet one.
static int32_t find(const grid *g, const double *x, const int32_t *corners, const double p[3])
{
    int at[3], most = g->side[0] + g->side[1] + g->side[2];
    int32_t best = -1;
    double least = INFINITY;
    for (int i = 0; i < 3; ++i) at[i] = cell_of(g, p[i], i);
    for (int ring = 0; ring < most && best < 0; ++ring) {
        cells c;
        for (int i = 0; i < 3; ++i) {
            c.low[i] = at[i] > ring ? at[i] - ring : 0;
            c.high[i] = at[i] + ring < g->side[i] ? at[i] + ring : g->side[i] - 1;
        }
        for (int k = c.low[2]; k <= c.high[2]; ++k)
            for (int j = c.low[1]; j <= c.high[1]; ++j)
                for (int i = c.low[0]; i <= c.high[0]; ++i) {
                    size_t n = cell_number(g, i, j, k);
                    for (int32_t m = g->first[n]; m < g->first[n + 1]; ++m) {
                        double far = outside(x, corners + 4 * (int64_t)g->tets[m], p);
                        if (far < least) least = far, best = g->tets[m];
                    }
                }
    }
    return best;
}

void st_skin_find_tets(const hk_model *model, int body, int tet_start, st_surface *s)
{
    const st_part *part = &s->parts[body];
    int count = hk_model_body_tet_count(model, body);
    if (!part->skin || count == 0) return;
    const double *x = hk_model_rest_positions(model);
    const hk_mesh *skin = hk_embedding_surface(part->skin);
    const int32_t *triangles = hk_mesh_triangles(skin);
    grid g;
    make_grid(&g, x, s->tet_vertices, tet_start, tet_start + count);
    for (int k = 0; k < part->triangle_count; ++k) {
        double middle[3] = {0};
        for (int c = 0; c < 3; ++c)
            for (int i = 0; i < 3; ++i)
                middle[i] += hk_mesh_positions(skin)[3 * (int64_t)triangles[3 * k + c] + i] / 3;
        s->tets[part->first_triangle + k] = find(&g, x, s->tet_vertices, middle);
    }
    free(g.tets);
    free(g.first);
}
