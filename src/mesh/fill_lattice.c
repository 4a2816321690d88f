// Tets between the corners and centres of the cubes of an octree (Labelle & Shewchuk 2007, section
// 5): around the edge between the centres of two cubes of one size those of the body-centred cubic
// lattice, halved where an edge of their face is; between cubes of different size the faces of the
// smaller ones, halved, with the centres on both sides.
#include <limits.h>
#include <math.h>

#include "mesh/fill.h"
#include "mesh/sort.h"

enum { OF_A_LEAF = 9, CENTRE = 8 };  // eight corners, whose bits are x, y, z, and the centre
enum { BITS = 21 };                  // of a coordinate in half cubes

typedef struct builder {
    const hk_fill_solid *solid;
    const hk_fill_octree *octree;
    hk_background *out;
    uint64_t *keys;     // [out->count] rising
    int32_t *leaves;    // [leaf_count] nodes
    int32_t *leaf_of;   // [nodes] or −1
    int32_t *vertices;  // [leaf_count][9]
    int leaf_count;
    size_t capacity;  // of tets
} builder;

// ---------------------------------------------------------------- vertices

static void place_of(const hk_fill_node *n, int k, int32_t at[3])
{
    for (int i = 0; i < 3; i++) {
        int64_t twice = 2 * (int64_t)n->at[i] + (k == CENTRE ? 1 : 2 * (k >> i & 1));
        at[i] = (int32_t)(twice << n->level);
    }
}

static uint64_t key_of(const int32_t at[3])
{
    return ((uint64_t)(uint32_t)at[2] << BITS | (uint32_t)at[1]) << BITS | (uint32_t)at[0];
}

static hk_status list_leaves(builder *b)
{
    const hk_fill_octree *o = b->octree;
    b->leaf_of = HK_ARRAY(int32_t, o->count);
    if (!b->leaf_of) return HK_NO_MEMORY;
    for (size_t k = 0; k < o->count; k++)
        b->leaf_of[k] = o->nodes[k].state == HK_FILL_LEAF ? b->leaf_count++ : -1;
    b->leaves = HK_ARRAY(int32_t, b->leaf_count);
    b->vertices = HK_ARRAY(int32_t, OF_A_LEAF * (size_t)b->leaf_count);
    if (!b->leaves || !b->vertices) return HK_NO_MEMORY;
    for (size_t k = 0; k < o->count; k++)
        if (b->leaf_of[k] >= 0) b->leaves[b->leaf_of[k]] = (int32_t)k;
    return HK_OK;
}

static hk_status number_vertices(builder *b, hk_keyed *all, hk_keyed *scratch, size_t count)
{
    hk_background *out = b->out;
    for (size_t k = 0; k < count; k++) {
        int32_t at[3];
        place_of(&b->octree->nodes[b->leaves[k / OF_A_LEAF]], (int)(k % OF_A_LEAF), at);
        all[k] = (hk_keyed){key_of(at), (int64_t)k};
    }
    hk_sort_keyed(all, scratch, count);
    for (size_t k = 0; k < count; k++) out->count += k == 0 || all[k].key != all[k - 1].key;
    b->keys = HK_ARRAY(uint64_t, out->count);
    out->at = hk_alloc((size_t)out->count, sizeof *out->at);
    out->value = HK_ZEROS(double, out->count);
    if (!b->keys || !out->at || !out->value) return HK_NO_MEMORY;
    int v = -1;
    for (size_t k = 0; k < count; k++) {
        if (k == 0 || all[k].key != all[k - 1].key) v++;
        b->keys[v] = all[k].key;
        b->vertices[all[k].item] = v;
    }
    const uint64_t mask = ((uint64_t)1 << BITS) - 1;
    for (v = 0; v < out->count; v++)
        for (int i = 0; i < 3; i++) out->at[v][i] = (int32_t)(b->keys[v] >> (BITS * i) & mask);
    return HK_OK;
}

static hk_status make_vertices(builder *b)
{
    HK_TRY(list_leaves(b));
    size_t count = OF_A_LEAF * (size_t)b->leaf_count;
    if (count > INT_MAX)
        return hk_fail(HK_BAD_INPUT, "tets of %g m are too small: too many to be numbered",
                       b->octree->size);
    hk_keyed *all = HK_ARRAY(hk_keyed, count), *scratch = HK_ARRAY(hk_keyed, count);
    hk_status status = all && scratch ? number_vertices(b, all, scratch, count) : HK_NO_MEMORY;
    hk_free(all);
    hk_free(scratch);
    return status;
}

// Centres know their side, and corners that no border comes between have that of a centre.
static void find_sides(builder *b)
{
    hk_background *out = b->out;
    for (int k = 0; k < b->leaf_count; k++) {
        const hk_fill_node *n = &b->octree->nodes[b->leaves[k]];
        const int32_t *v = b->vertices + OF_A_LEAF * (size_t)k;
        double side = n->inside ? -1 : 1, reach = sqrt(0.75) * ldexp(b->octree->size, n->level);
        out->value[v[CENTRE]] = side;
        for (int c = 0; c < 8 && n->clear > reach * (1 + 1e-9); c++) out->value[v[c]] = side;
    }
#pragma omp parallel for schedule(dynamic, 64) num_threads(b->solid->threads)
    for (int v = 0; v < out->count; v++) {
        double p[3];
        if (out->value[v] != 0) continue;
        for (int i = 0; i < 3; i++) p[i] = out->origin[i] + out->half * out->at[v][i];
        out->value[v] = hk_fill_inside(b->solid, p) ? -1 : 1;
    }
}

// The vertex at these coordinates, −1: there is none.
static int vertex_at(const builder *b, const int32_t at[3])
{
    uint64_t key = key_of(at);
    int low = 0, high = b->out->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (b->keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < b->out->count && b->keys[low] == key ? low : -1;
}

// ---------------------------------------------------------------- tets

static hk_status add_tet(builder *b, int32_t p, int32_t q, int32_t r, int32_t s)
{
    hk_background *out = b->out;
    const double *f = out->value;
    if (!(f[p] < 0 || f[q] < 0 || f[r] < 0 || f[s] < 0)) return HK_OK;
    if (out->tet_count >= INT_MAX / 8)
        return hk_fail(HK_BAD_INPUT, "tets of %g m are too small: too many to be numbered",
                       b->octree->size);
    HK_TRY(hk_reserve((void **)&out->tets, (size_t)out->tet_count, 4 * sizeof(int32_t),
                      &b->capacity, (size_t)out->tet_count + 1));
    memcpy(out->tets + 4 * (size_t)out->tet_count++, (int32_t[4]){p, q, r, s}, 4 * sizeof(int32_t));
    return HK_OK;
}

// The corners of the face of a cube at the upper or lower end of an axis, around it.
static void face_of(int axis, bool upper, int corner[4])
{
    int u = 1 << (axis + 1) % 3, v = 1 << (axis + 2) % 3, base = upper ? 1 << axis : 0;
    corner[0] = base;
    corner[1] = base | u;
    corner[2] = base | u | v;
    corner[3] = base | v;
}

// Two cubes of one size.
static hk_status join_equal(builder *b, const int32_t *own, const int32_t *other, int level,
                            const int face[4])
{
    for (int k = 0; k < 4; k++) {
        int32_t from = own[face[k]], to = own[face[(k + 1) % 4]], middle = -1, at[3];
        for (int i = 0; i < 3; i++) at[i] = (b->out->at[from][i] + b->out->at[to][i]) / 2;
        // Edges of the smallest cubes are never halved.
        if (level > 0) middle = vertex_at(b, at);
        HK_TRY(add_tet(b, own[CENTRE], other[CENTRE], from, middle < 0 ? to : middle));
        if (middle >= 0) HK_TRY(add_tet(b, own[CENTRE], other[CENTRE], middle, to));
    }
    return HK_OK;
}

// The whole face of a cube is a quarter of that of a larger one: halved by the diagonal from the
// middle of the latter.
static hk_status join_larger(builder *b, const int32_t *own, const int32_t *other, int axis,
                             const int face[4])
{
    int start = 0;
    for (int k = 0; k < 4; k++) {
        const int32_t *p = b->out->at[own[face[k]]], *centre = b->out->at[other[CENTRE]];
        int u = (axis + 1) % 3, v = (axis + 2) % 3;
        if (p[u] == centre[u] && p[v] == centre[v]) start = k;
    }
    for (int k = 1; k <= 2; k++) {
        int32_t p = own[face[start]], q = own[face[(start + k) % 4]];
        int32_t r = own[face[(start + k + 1) % 4]];
        HK_TRY(add_tet(b, own[CENTRE], p, q, r));
        HK_TRY(add_tet(b, other[CENTRE], p, q, r));
    }
    return HK_OK;
}

static const int32_t *leaf_at(const builder *b, int level, const int32_t at[3])
{
    const hk_fill_node *n = hk_fill_find(b->octree, level, at);
    int32_t leaf = n ? b->leaf_of[n - b->octree->nodes] : -1;
    return leaf < 0 ? NULL : b->vertices + OF_A_LEAF * (size_t)leaf;
}

static hk_status join_leaf(builder *b, int leaf)
{
    const hk_fill_node *n = &b->octree->nodes[b->leaves[leaf]];
    const int32_t *own = b->vertices + OF_A_LEAF * (size_t)leaf;
    for (int side = 0; side < 6; side++) {
        int axis = side / 2, face[4];
        bool upper = side & 1;
        int32_t at[3] = {n->at[0], n->at[1], n->at[2]};
        at[axis] += upper ? 1 : -1;
        face_of(axis, upper, face);
        const int32_t *other = leaf_at(b, n->level, at);
        if (other) {
            if (upper) HK_TRY(join_equal(b, own, other, n->level, face));
            continue;
        }
        if (at[axis] < 0) continue;
        for (int i = 0; i < 3; i++) at[i] >>= 1;
        other = leaf_at(b, n->level + 1, at);
        if (other) HK_TRY(join_larger(b, own, other, axis, face));
    }
    return HK_OK;
}

// ---------------------------------------------------------------- the whole

static hk_status build(builder *b)
{
    HK_TRY(make_vertices(b));
    find_sides(b);
    for (int k = 0; k < b->leaf_count; k++) HK_TRY(join_leaf(b, k));
    return HK_OK;
}

hk_status hk_fill_lattice(const hk_fill_solid *solid, const hk_fill_octree *octree,
                          hk_background *background)
{
    *background = (hk_background){.name = "the surface", .half = octree->size / 2};
    memcpy(background->origin, octree->origin, sizeof background->origin);
    builder b = {.solid = solid, .octree = octree, .out = background};
    hk_status status = build(&b);
    hk_free(b.keys);
    hk_free(b.leaves);
    hk_free(b.leaf_of);
    hk_free(b.vertices);
    if (status != HK_OK) hk_background_free(background);
    return status;
}
