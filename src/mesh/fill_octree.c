// Cubes over the body that is to be filled: all of the same size where its border is near, larger
// inside; neighbours across faces and edges differ by one level at most.
//
// A cube of edge s inside is small enough if no border is nearer to it than (s − size)/grade, and
// than two of the smallest cubes: so all that is cut later is part of a uniform lattice.
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "mesh/fill.h"

enum {
    TOP = 12,                  // levels
    COORDINATES = 19,          // bits of a coordinate
    MOST_NODES = 60 * 1000000  // about 60 bytes each
};

// ---------------------------------------------------------------- finding nodes

static uint64_t key_of(int level, const int32_t at[3])
{
    uint64_t key = (uint64_t)level;
    for (int i = 0; i < 3; i++) key = key << COORDINATES | (uint64_t)(uint32_t)at[i];
    return key;
}

static size_t slot_of(const hk_fill_octree *o, int level, const int32_t at[3])
{
    uint64_t hash = key_of(level, at) * 0x9e3779b97f4a7c15u;
    size_t slot = (size_t)(hash ^ hash >> 29) & (o->table_size - 1);
    while (o->table[slot] >= 0) {
        const hk_fill_node *n = &o->nodes[o->table[slot]];
        if (n->level == level && n->at[0] == at[0] && n->at[1] == at[1] && n->at[2] == at[2]) break;
        slot = (slot + 1) & (o->table_size - 1);
    }
    return slot;
}

static int32_t index_of(const hk_fill_octree *o, int level, const int32_t at[3])
{
    for (int i = 0; i < 3; i++)
        if (at[i] < 0 || at[i] >> COORDINATES) return -1;
    return o->table[slot_of(o, level, at)];
}

const hk_fill_node *hk_fill_find(const hk_fill_octree *o, int level, const int32_t at[3])
{
    int32_t found = index_of(o, level, at);
    return found < 0 ? NULL : &o->nodes[found];
}

static hk_status grow_table(hk_fill_octree *o)
{
    size_t size = o->table_size ? 2 * o->table_size : 1 << 12;
    int32_t *table = HK_ARRAY(int32_t, size);
    if (!table) return HK_NO_MEMORY;
    memset(table, 0xff, size * sizeof *table);
    hk_free(o->table);
    o->table = table;
    o->table_size = size;
    for (size_t k = 0; k < o->count; k++)
        o->table[slot_of(o, o->nodes[k].level, o->nodes[k].at)] = (int32_t)k;
    return HK_OK;
}

static hk_status add_node(hk_fill_octree *o, const hk_fill_node *node)
{
    if (o->count >= MOST_NODES)
        return hk_fail(HK_BAD_INPUT,
                       "tets of %g m are too small: there would be more than %d cubes of them",
                       o->size, MOST_NODES);
    HK_TRY(hk_reserve((void **)&o->nodes, o->count, sizeof *o->nodes, &o->capacity, o->count + 1));
    if (2 * (o->count + 1) > o->table_size) HK_TRY(grow_table(o));
    o->table[slot_of(o, node->level, node->at)] = (int32_t)o->count;
    o->nodes[o->count++] = *node;
    return HK_OK;
}

// ---------------------------------------------------------------- from the top down

static double edge_of(const hk_fill_octree *o, int level)
{
    return ldexp(o->size, level);
}

static void centre_of(const hk_fill_octree *o, const hk_fill_node *n, double p[3])
{
    double s = edge_of(o, n->level);
    for (int i = 0; i < 3; i++) p[i] = o->origin[i] + s * (n->at[i] + 0.5);
}

// How far the border must be from the centre of a cube of this level for nothing of what is cut to
// touch it, and for it to be small enough.
static void reaches(const hk_fill_octree *o, double grade, int level, double *untouched,
                    double *small)
{
    double s = edge_of(o, level);
    *untouched = (level > 0 ? sqrt(0.75) * s : 0) + 2 * o->size;
    *small = level == 0  ? *untouched
             : grade > 0 ? sqrt(0.75) * s + fmax(2 * o->size, (s - o->size) / grade)
                         : INFINITY;
}

// Without a side only where it is split in any case.
static void decide(const hk_fill_solid *solid, const hk_fill_octree *o, double grade,
                   hk_nearest *hint, hk_fill_node *n)
{
    double p[3], untouched, small;
    centre_of(o, n, p);
    reaches(o, grade, n->level, &untouched, &small);
    double reach = isfinite(small) ? small : untouched;
    n->clear = hk_fill_clearance(solid, p, reach, n->level > 0 ? untouched : 0, hint, &n->inside);
    bool touched = n->clear < untouched;
    if (!touched && !n->inside)
        n->state = HK_FILL_GONE;
    else if (n->level == 0 || (!touched && n->clear >= small))
        n->state = HK_FILL_LEAF;
    else
        n->state = HK_FILL_SPLIT;
}

enum { RUN = 64 };  // neighbours that share a hint

static void decide_all(const hk_fill_solid *solid, hk_fill_octree *o, double grade, size_t first)
{
    size_t runs = (o->count - first + RUN - 1) / RUN;
#pragma omp parallel for schedule(dynamic) num_threads(solid->threads)
    for (size_t r = 0; r < runs; r++) {
        hk_nearest hint = {.triangle = -1};
        size_t end = first + (r + 1) * RUN < o->count ? first + (r + 1) * RUN : o->count;
        for (size_t k = first + r * RUN; k < end; k++) decide(solid, o, grade, &hint, &o->nodes[k]);
    }
}

static hk_status add_children(hk_fill_octree *o, const hk_fill_node *parent, int8_t state)
{
    hk_fill_node child = *parent;
    child.level--;
    child.state = state;
    for (int k = 0; k < 8; k++) {
        for (int i = 0; i < 3; i++) child.at[i] = 2 * parent->at[i] + (k >> i & 1);
        HK_TRY(add_node(o, &child));
    }
    return HK_OK;
}

static hk_status add_roots(hk_fill_octree *o)
{
    hk_fill_node root = {.level = (int8_t)o->top};
    int32_t n[3];
    for (int i = 0; i < 3; i++) n[i] = ((o->cubes[i] - 1) >> o->top) + 1;
    for (root.at[2] = 0; root.at[2] < n[2]; root.at[2]++)
        for (root.at[1] = 0; root.at[1] < n[1]; root.at[1]++)
            for (root.at[0] = 0; root.at[0] < n[0]; root.at[0]++) HK_TRY(add_node(o, &root));
    return HK_OK;
}

static hk_status refine(const hk_fill_solid *solid, double grade, hk_fill_octree *o)
{
    size_t first = 0;
    HK_TRY(add_roots(o));
    for (;;) {
        decide_all(solid, o, grade, first);
        size_t end = o->count;
        for (size_t k = first; k < end; k++) {
            hk_fill_node parent = o->nodes[k];
            if (parent.state == HK_FILL_SPLIT) HK_TRY(add_children(o, &parent, HK_FILL_SPLIT));
        }
        if (o->count == end) return HK_OK;
        first = end;
    }
}

// ---------------------------------------------------------------- balance

static hk_status split_leaf(hk_fill_octree *o, int32_t leaf)
{
    o->nodes[leaf].state = HK_FILL_SPLIT;
    hk_fill_node parent = o->nodes[leaf];
    size_t first = o->count;
    HK_TRY(add_children(o, &parent, HK_FILL_LEAF));
    // Their own distance is not needed: they are as far from the border as they were before.
    double part = sqrt(0.75) * edge_of(o, parent.level) / 2;
    for (size_t k = first; k < o->count; k++) o->nodes[k].clear = parent.clear - part;
    return HK_OK;
}

// Splits what is more than one level above a neighbour at `at`.
static hk_status split_above(hk_fill_octree *o, int level, const int32_t at[3])
{
    for (int m = o->top; m >= level + 2; m--) {
        int32_t above[3];
        for (int i = 0; i < 3; i++) {
            if (at[i] < 0) return HK_OK;
            above[i] = at[i] >> (m - level);
        }
        int32_t found = index_of(o, m, above);
        if (found >= 0 && o->nodes[found].state == HK_FILL_LEAF) HK_TRY(split_leaf(o, found));
    }
    return HK_OK;
}

static hk_status balance(hk_fill_octree *o)
{
    for (int level = 0; level + 2 <= o->top; level++)
        for (size_t k = 0; k < o->count; k++) {
            hk_fill_node n = o->nodes[k];
            if (n.level != level || n.state != HK_FILL_LEAF) continue;
            for (int side = 0; side < 27; side++) {
                int d[3] = {side % 3 - 1, side / 3 % 3 - 1, side / 9 - 1};
                int steps = abs(d[0]) + abs(d[1]) + abs(d[2]);
                if (steps == 0 || steps == 3) continue;
                int32_t at[3] = {n.at[0] + d[0], n.at[1] + d[1], n.at[2] + d[2]};
                HK_TRY(split_above(o, level, at));
            }
        }
    return HK_OK;
}

// ---------------------------------------------------------------- the whole

// Planes of the lattice pass through the lower corner of the bounds. `room` is in cubes.
static hk_status lay_out(const hk_fill_solid *solid, int room, hk_fill_octree *o)
{
    const hk_winding_totals *totals = hk_winding_tree_totals(solid->surface);
    double most = 0;
    o->size = solid->size;
    for (int i = 0; i < 3; i++) {
        double thick = ceil(solid->half_thickness / o->size), around = room + thick;
        double cubes = ceil((totals->high[i] - totals->low[i]) / o->size - 1e-9) + 2 * around;
        if (!(cubes < 1 << (COORDINATES - 1)))
            return hk_fail(HK_BAD_INPUT, "tets of %g m are too small for a surface of %g m",
                           o->size, totals->high[i] - totals->low[i]);
        o->cubes[i] = (int32_t)cubes;
        o->origin[i] = totals->low[i] - o->size * around;
        most = fmax(most, cubes);
    }
    while (o->top < TOP && 2 << o->top <= most / 2) o->top++;
    return HK_OK;
}

static bool reaches_border(const hk_fill_octree *o)
{
    for (size_t k = 0; k < o->count; k++) {
        const hk_fill_node *n = &o->nodes[k];
        if (n->state != HK_FILL_LEAF || !n->inside) continue;
        for (int i = 0; i < 3; i++)
            if (n->at[i] == 0 || (n->at[i] + 1) << n->level >= o->cubes[i]) return true;
    }
    return false;
}

hk_status hk_fill_octree_build(const hk_fill_solid *solid, double grade, hk_fill_octree *octree)
{
    // Lids of open surfaces may lie beyond its bounds; then the octree is made once more.
    for (int room = 4;; room *= 4) {
        *octree = (hk_fill_octree){0};
        hk_status status = lay_out(solid, room, octree);
        if (status == HK_OK) status = refine(solid, grade, octree);
        if (status == HK_OK) status = balance(octree);
        if (status == HK_OK && !reaches_border(octree)) return HK_OK;
        hk_fill_octree_release(octree);
        if (status != HK_OK) return status;
    }
}

void hk_fill_octree_release(hk_fill_octree *octree)
{
    hk_free(octree->nodes);
    hk_free(octree->table);
    *octree = (hk_fill_octree){0};
}
