// Isosurface stuffing of a signed distance on a uniform lattice.
#include <limits.h>
#include <math.h>

#include "mesh/stuffing.h"

// Corners and centres form a grid each, numbered x fastest, corners first.
typedef struct lattice {
    int corners[3], centres[3];
    int corner_count, count;
} lattice;

static int vertex_at(const lattice *g, const int c[3])
{
    const int odd = c[0] & 1, *n = odd ? g->centres : g->corners;
    int at[3];
    for (int i = 0; i < 3; i++) {
        if (c[i] < 0 || (c[i] & 1) != odd) return -1;
        at[i] = c[i] / 2;
        if (at[i] >= n[i]) return -1;
    }
    return (odd ? g->corner_count : 0) + at[0] + n[0] * (at[1] + n[1] * at[2]);
}

static void coordinates_of(const lattice *g, int v, int32_t c[3])
{
    const int odd = v >= g->corner_count, *n = odd ? g->centres : g->corners;
    if (odd) v -= g->corner_count;
    c[0] = 2 * (v % n[0]) + odd;
    c[1] = 2 * (v / n[0] % n[1]) + odd;
    c[2] = 2 * (v / n[0] / n[1]) + odd;
}

// One cube more on every side, so that the outermost vertices are outside.
static hk_status make_lattice(const hk_stuffing *in, lattice *g, hk_background *b)
{
    double corners = 1, centres = 1;
    b->half = in->cell / 2;
    for (int i = 0; i < 3; i++) {
        double cubes = ceil((in->high[i] - in->low[i]) / in->cell - 1e-9) + 2;
        corners *= cubes + 1;
        centres *= cubes;
        // Each vertex begins seven edges, and twelve tets in a cube become 36 at most.
        if (!(cubes >= 2 && 8 * (corners + centres) <= INT_MAX && 36 * centres <= INT_MAX))
            return hk_fail(HK_BAD_INPUT, "%s: a lattice with cells of %g m is too large to number",
                           in->name, in->cell);
        g->centres[i] = (int)cubes;
        g->corners[i] = (int)cubes + 1;
        b->origin[i] = in->low[i] - in->cell;
    }
    g->corner_count = (int)corners;
    g->count = b->count = (int)(corners + centres);
    b->at = hk_alloc((size_t)b->count, sizeof *b->at);
    b->value = HK_ARRAY(double, b->count);
    return b->at && b->value ? HK_OK : HK_NO_MEMORY;
}

static void measure(const hk_stuffing *in, const lattice *g, hk_background *b)
{
    for (int v = 0; v < b->count; v++) {
        double p[3];
        coordinates_of(g, v, b->at[v]);
        for (int i = 0; i < 3; i++) p[i] = b->origin[i] + b->half * b->at[v][i];
        b->value[v] = in->distance(in->context, p);
        if (fabs(b->value[v]) < 1e-9 * in->cell) b->value[v] = 0;
    }
}

static void add_tet(hk_background *b, const int corner[4])
{
    bool inside = false;
    for (int k = 0; k < 4; k++) inside = inside || b->value[corner[k]] < 0;
    if (!inside) return;
    for (int k = 0; k < 4 && b->tets; k++) b->tets[4 * (size_t)b->tet_count + k] = corner[k];
    b->tet_count++;
}

// Four tets around each edge between centres: two centres, and an edge of the face between.
static void list_tets(const lattice *g, hk_background *b)
{
    static const int ring[5][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}, {-1, -1}};
    b->tet_count = 0;
    for (int v = g->corner_count; v < g->count; v++) {
        const int32_t *c = b->at[v];
        for (int axis = 0; axis < 3; axis++) {
            int next[3] = {c[0], c[1], c[2]};
            next[axis] += 2;
            int end = vertex_at(g, next);
            if (end < 0) continue;
            int corner[5];
            for (int k = 0; k < 5; k++) {
                int at[3];
                at[axis] = c[axis] + 1;
                at[(axis + 1) % 3] = c[(axis + 1) % 3] + ring[k][0];
                at[(axis + 2) % 3] = c[(axis + 2) % 3] + ring[k][1];
                corner[k] = vertex_at(g, at);
            }
            for (int k = 0; k < 4; k++) add_tet(b, (int[4]){v, end, corner[k], corner[k + 1]});
        }
    }
}

// The zero along an edge, by the Illinois variant of false position.
static double find_zero(const void *context, const double p[3], const double q[3], double fp,
                        double fq)
{
    const hk_stuffing *in = context;
    double low = 0, high = 1, at = 0.5;
    for (int k = 0; k < 40; k++) {
        at = low + (high - low) * fp / (fp - fq);
        double x[3];
        for (int i = 0; i < 3; i++) x[i] = p[i] + at * (q[i] - p[i]);
        double f = in->distance(in->context, x);
        if (!(fabs(f) > 1e-12 * in->cell)) break;
        if ((f < 0) != (fp < 0)) {
            high = at;
            fq = f;
            fp /= 2;
        } else {
            low = at;
            fp = f;
            fq /= 2;
        }
    }
    return at;
}

static hk_status stuff(const hk_stuffing *in, hk_background *b, hk_mesh **mesh)
{
    lattice g;
    HK_TRY(make_lattice(in, &g, b));
    measure(in, &g, b);
    list_tets(&g, b);
    b->tets = HK_ARRAY(int32_t, 4 * (size_t)b->tet_count);
    if (!b->tets) return HK_NO_MEMORY;
    list_tets(&g, b);
    return hk_stuff_background(b, find_zero, in, 1, mesh);
}

hk_status hk_stuff(const hk_stuffing *stuffing, hk_mesh **mesh)
{
    hk_background b = {.name = stuffing->name};
    hk_status status = stuff(stuffing, &b, mesh);
    hk_background_free(&b);
    return status;
}
