// Lids of open surfaces: where the winding number passes the level away from every triangle, inside
// ends without a surface. The level set is made of triangles there (marching tetrahedra), which
// count for distances from then on: the field stays continuous.
#include <math.h>

#include "contact/sdf_builder.h"

enum { CELL_CORNERS = 8 };

// The six tets of a cell around its diagonal, by corners whose bits are x, y, z.
static const int8_t TETS[6][4] = {{0, 1, 3, 7}, {0, 1, 5, 7}, {0, 2, 3, 7},
                                  {0, 2, 6, 7}, {0, 4, 5, 7}, {0, 4, 6, 7}};

typedef struct cell {
    int node[CELL_CORNERS][3];
    double distance[CELL_CORNERS];
    double winding[CELL_CORNERS];
    bool inside[CELL_CORNERS];
} cell;

// False if all corners are on the same side, with the rest not filled in.
static bool take_cell(const hk_sdf_builder *b, const int first[3], cell *c)
{
    int inside = 0;
    for (int k = 0; k < CELL_CORNERS; k++) {
        int at;
        for (int i = 0; i < 3; i++) c->node[k][i] = first[i] + (k >> i & 1);
        const hk_sdf_samples *samples = hk_sdf_sample_at(b, c->node[k], &at);
        c->distance[k] = samples->distance[at];
        c->winding[k] = samples->winding[at];
        c->inside[k] = c->winding[k] > HK_SDF_LEVEL;
        inside += c->inside[k];
    }
    return inside % CELL_CORNERS != 0;
}

// Whether the level is passed between two corners where there is no surface: the balls around both
// that it does not enter cover the way.
static bool is_lid_edge(const cell *c, double size, int u, int v)
{
    if (c->inside[u] == c->inside[v]) return false;
    double length = size * sqrt(__builtin_popcount((unsigned)(u ^ v)));
    return c->distance[u] + c->distance[v] > length * (1 + 1e-9);
}

static bool has_lid(const hk_sdf_builder *b, const cell *c)
{
    for (int v = 1; v < CELL_CORNERS; v++)
        for (int u = 0; u < v; u++)
            if ((u & v) == u && is_lid_edge(c, b->sdf->cell, u, v)) return true;
    return false;
}

static bool brick_has_lid(const hk_sdf_builder *b, const int at[3])
{
    cell c;
    for (int k = 0; k < HK_BRICK_NODES; k++) {
        int first[3] = {HK_BRICK * at[0] + (k & 7), HK_BRICK * at[1] + (k >> 3 & 7),
                        HK_BRICK * at[2] + (k >> 6)};
        if (take_cell(b, first, &c) && has_lid(b, &c)) return true;
    }
    return false;
}

// ---------------------------------------------------------------- triangles

// Winding numbers that were inherited are not good enough to place a lid.
static void find_windings(hk_sdf_builder *b, cell *c)
{
    for (int k = 0; k < CELL_CORNERS; k++) {
        int at;
        hk_sdf_samples *samples = hk_sdf_sample_at(b, c->node[k], &at);
        if (!(samples->exact[at >> 6] >> (at & 63) & 1)) {
            double p[3];
            hk_sdf_node_place(b->sdf, c->node[k], p);
            float w = (float)hk_sdf_winding(b, p, HK_SDF_WINDING).number;
            // The side is decided already.
            bool inside = c->inside[k];
            if ((w > HK_SDF_LEVEL) != inside) w = inside ? 0.5001F : 0.5F;
            samples->winding[at] = w;
            samples->exact[at >> 6] |= (uint64_t)1 << (at & 63);
        }
        c->winding[k] = samples->winding[at];
        b->openness = fmax(b->openness, fabs(c->winding[k] - nearbyint(c->winding[k])));
    }
}

// Where inside ends between two corners: where the number is at the level, or at the surface.
static void crossing(const hk_sdf_builder *b, const cell *c, int u, int v, double p[3])
{
    double a, e, at[3], to[3];
    if (is_lid_edge(c, b->sdf->cell, u, v)) {
        a = fabs(c->winding[u] - HK_SDF_LEVEL);
        e = fabs(c->winding[v] - HK_SDF_LEVEL);
    } else {
        a = c->distance[u];
        e = c->distance[v];
    }
    double t = a + e > 0 ? a / (a + e) : 0.5;
    hk_sdf_node_place(b->sdf, c->node[u], at);
    hk_sdf_node_place(b->sdf, c->node[v], to);
    for (int i = 0; i < 3; i++) p[i] = at[i] + t * (to[i] - at[i]);
}

// One triangle, or two, between the corners inside and those outside; in tets with an edge that has
// a lid only, so that it reaches the rim, and the surface stays as it is.
static hk_status add_tet(hk_sdf_builder *b, const cell *c, const int8_t tet[4])
{
    int in[4], out[4], ins = 0, outs = 0;
    double p[12];
    bool lid = false;
    for (int v = 0; v < 4; v++) {
        if (c->inside[tet[v]])
            in[ins++] = tet[v];
        else
            out[outs++] = tet[v];
        for (int u = 0; u < v; u++) lid |= is_lid_edge(c, b->sdf->cell, tet[u], tet[v]);
    }
    if (!lid) return HK_OK;
    if (ins == 2) {
        for (int k = 0; k < 4; k++) crossing(b, c, in[k >> 1], out[(k ^ k >> 1) & 1], p + 3 * k);
        HK_TRY(hk_sdf_add_triangle(&b->lids, p));
        memcpy(p + 3, p, 3 * sizeof(double));
        return hk_sdf_add_triangle(&b->lids, p + 3);
    }
    for (int k = 0; k < 3; k++)
        crossing(b, c, ins == 1 ? in[0] : in[k], ins == 1 ? out[k] : out[0], p + 3 * k);
    return hk_sdf_add_triangle(&b->lids, p);
}

// ---------------------------------------------------------------- from brick to brick

// All bricks that have the edge between two corners: the lid goes on there.
static hk_status go_on(hk_sdf_builder *b, const int u[3], const int v[3])
{
    int from[3], to[3];
    for (int i = 0; i < 3; i++) {
        int low = hk_min_int(u[i], v[i]), high = hk_max_int(u[i], v[i]);
        from[i] = (high - 1) >> 3;
        to[i] = low >> 3;
    }
    for (int z = from[2]; z <= to[2]; z++)
        for (int y = from[1]; y <= to[1]; y++)
            for (int x = from[0]; x <= to[0]; x++) HK_TRY(hk_sdf_activate(b, x, y, z));
    return HK_OK;
}

static hk_status add_cell(hk_sdf_builder *b, cell *c)
{
    find_windings(b, c);
    for (int t = 0; t < HK_COUNT_OF(TETS); t++) HK_TRY(add_tet(b, c, TETS[t]));
    for (int v = 1; v < CELL_CORNERS; v++)
        for (int u = 0; u < v; u++)
            if ((u & v) == u && is_lid_edge(c, b->sdf->cell, u, v))
                HK_TRY(go_on(b, c->node[u], c->node[v]));
    return HK_OK;
}

static hk_status add_lids_of(hk_sdf_builder *b, const int at[3])
{
    cell c;
    for (int k = 0; k < HK_BRICK_NODES; k++) {
        int first[3] = {HK_BRICK * at[0] + (k & 7), HK_BRICK * at[1] + (k >> 3 & 7),
                        HK_BRICK * at[2] + (k >> 6)};
        if (take_cell(b, first, &c) && has_lid(b, &c)) HK_TRY(add_cell(b, &c));
    }
    return HK_OK;
}

// The lids in bricks that are new; those that they enter become new.
static hk_status add_lids(hk_sdf_builder *b, const int32_t *bricks, size_t count, uint8_t *lid)
{
#pragma omp parallel for schedule(dynamic) num_threads(b->threads)
    for (size_t k = 0; k < count; k++)
        lid[k] = brick_has_lid(b, b->samples[b->sample_of[bricks[k]]].at);
    for (size_t k = 0; k < count; k++)
        if (lid[k]) HK_TRY(add_lids_of(b, b->samples[b->sample_of[bricks[k]]].at));
    return HK_OK;
}

// Samples what is new, and follows lids until nothing is.
static hk_status follow(hk_sdf_builder *b)
{
    while (b->fresh_count > 0 && !b->too_small) {
        HK_TRY(hk_sdf_sample_fresh(b));
        size_t count = b->fresh_count;
        int32_t *bricks = HK_ARRAY(int32_t, count);
        uint8_t *lid = HK_ARRAY(uint8_t, count);
        hk_status status = bricks && lid ? HK_OK : HK_NO_MEMORY;
        if (status == HK_OK) {
            memcpy(bricks, b->fresh, count * sizeof *bricks);
            b->fresh_count = 0;
            // A closed surface has none.
            if (b->rim) status = add_lids(b, bricks, count, lid);
        }
        hk_free(bricks);
        hk_free(lid);
        HK_TRY(status);
    }
    return HK_OK;
}

hk_status hk_sdf_close_lids(hk_sdf_builder *b)
{
    hk_sdf *s = b->sdf;
    HK_TRY(follow(b));
    if (b->lids.count == 0 || b->too_small) return HK_OK;
    HK_TRY(hk_sdf_triangle_tree(&b->lids, b->threads, &b->lid));
    const hk_winding_totals *totals = hk_winding_tree_totals(b->lid);
    for (int i = 0; i < 3; i++) {
        s->low[i] = fmin(s->low[i], totals->low[i]);
        s->high[i] = fmax(s->high[i], totals->high[i]);
    }
    HK_TRY(hk_sdf_activate_near(b, b->lid));
    return b->too_small ? HK_OK : hk_sdf_sample_fresh(b);
}
