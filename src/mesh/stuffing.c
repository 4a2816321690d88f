// Isosurface stuffing: values on the lattice, cut points, snapping, stencils.
#include "mesh/stuffing.h"

#include <limits.h>
#include <math.h>

// A vertex of the lattice has integer coordinates in half cubes, all even (corners) or all odd
// (centres). Both kinds form a grid of their own, numbered x fastest, corners first.
typedef struct lattice {
    int corners[3], centres[3];
    int corner_count, count;
    double origin[3], half;  // position of (0, 0, 0); half a cube, m
} lattice;

// Each edge belongs to the vertex at its beginning: three long ones to vertices of the same kind,
// four short ones to the other kind.
enum { EDGES = 7, LONG_EDGES = 3 };
static const int8_t EDGE[EDGES][3] = {{2, 0, 0},  {0, 2, 0},  {0, 0, 2},  {1, 1, 1},
                                      {1, 1, -1}, {1, -1, 1}, {1, -1, -1}};

// A cut point closer to a vertex than this part of the edge is violated by it (section 3.2 of the
// paper, the parameters for which it proves dihedral angles between 10.7° and 164.8°).
static const double LONG_SNAP = 0.24999, SHORT_SNAP = 0.41189;

typedef struct cut {
    double at;  // from the beginning of the edge, 0 to 1
    int32_t end;
    int8_t edge;
    bool gone;  // an end was moved onto the surface
} cut;

typedef struct workspace {
    const hk_stuffing *in;
    lattice grid;
    double *value;   // [count] the distance; 0: on the surface
    int32_t *place;  // [count] the cut that a vertex was moved to, or −1
    int32_t *first;  // [count + 1] cuts of each vertex
    cut *cuts;       // in the order of vertices and edges
    int32_t *start;  // [cut_count] vertex at the beginning of the cut's edge
    int cut_count;
    int32_t *number;  // [count + cut_count] in the mesh; vertices, then cuts; −1: not used
    int32_t *tets;    // [tet_count][4] in these numbers
    int tet_count;
} workspace;

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

static void coordinates_of(const lattice *g, int v, int c[3])
{
    const int odd = v >= g->corner_count, *n = odd ? g->centres : g->corners;
    if (odd) v -= g->corner_count;
    c[0] = 2 * (v % n[0]) + odd;
    c[1] = 2 * (v / n[0] % n[1]) + odd;
    c[2] = 2 * (v / n[0] / n[1]) + odd;
}

static void lattice_position(const lattice *g, const int c[3], double p[3])
{
    for (int i = 0; i < 3; i++) p[i] = g->origin[i] + g->half * c[i];
}

// One cube more on every side, so that the outermost vertices are outside.
static hk_status make_lattice(const hk_stuffing *in, lattice *g)
{
    double corners = 1, centres = 1;
    g->half = in->cell / 2;
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
        g->origin[i] = in->low[i] - in->cell;
    }
    g->corner_count = (int)corners;
    g->count = (int)(corners + centres);
    return HK_OK;
}

static void measure(workspace *w)
{
    const lattice *g = &w->grid;
    for (int v = 0; v < g->count; v++) {
        int c[3];
        double p[3];
        coordinates_of(g, v, c);
        lattice_position(g, c, p);
        w->value[v] = w->in->distance(w->in->context, p);
        if (fabs(w->value[v]) < 1e-9 * w->in->cell) w->value[v] = 0;
        w->place[v] = -1;
    }
}

// ---------------------------------------------------------------- cut points

static bool is_cut(double a, double b)
{
    return (a < 0 && b > 0) || (a > 0 && b < 0);
}

// The zero along an edge, by the Illinois variant of false position.
static double find_zero(const workspace *w, const double p[3], const double q[3], double fp,
                        double fq)
{
    double low = 0, high = 1, at = 0.5;
    for (int k = 0; k < 40; k++) {
        at = low + (high - low) * fp / (fp - fq);
        double x[3];
        for (int i = 0; i < 3; i++) x[i] = p[i] + at * (q[i] - p[i]);
        double f = w->in->distance(w->in->context, x);
        if (!(fabs(f) > 1e-12 * w->in->cell)) break;
        if (is_cut(f, fp)) {
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

static hk_status find_cuts(workspace *w)
{
    const lattice *g = &w->grid;
    for (int pass = 0; pass < 2; pass++) {
        int count = 0;
        for (int v = 0; v < g->count; v++) {
            w->first[v] = count;
            int c[3];
            coordinates_of(g, v, c);
            for (int e = 0; e < EDGES; e++) {
                int end =
                    vertex_at(g, (int[3]){c[0] + EDGE[e][0], c[1] + EDGE[e][1], c[2] + EDGE[e][2]});
                if (end < 0 || !is_cut(w->value[v], w->value[end])) continue;
                if (pass) {
                    w->start[count] = v;
                    w->cuts[count] = (cut){.end = end, .edge = (int8_t)e};
                }
                count++;
            }
        }
        w->first[g->count] = w->cut_count = count;
        if (pass) break;
        w->cuts = HK_ARRAY(cut, count);
        w->start = HK_ARRAY(int32_t, count);
        w->number = HK_ARRAY(int32_t, g->count + count);
        if (!w->cuts || !w->start || !w->number) return HK_NO_MEMORY;
    }
    if (w->cut_count == 0)
        return hk_fail(HK_BAD_INPUT, "%s: no tet fits inside; make the cells smaller", w->in->name);
    for (int k = 0; k < w->cut_count; k++) {
        int a[3], b[3], v = w->start[k], end = w->cuts[k].end;
        double p[3], q[3];
        coordinates_of(g, v, a);
        coordinates_of(g, end, b);
        lattice_position(g, a, p);
        lattice_position(g, b, q);
        w->cuts[k].at = find_zero(w, p, q, w->value[v], w->value[end]);
    }
    return HK_OK;
}

// The number of the cut on the edge between two vertices, −1 if there is none.
static int cut_between(const workspace *w, int v, int u)
{
    for (int turn = 0; turn < 2; turn++) {
        int from = turn ? u : v, to = turn ? v : u;
        for (int k = w->first[from]; k < w->first[from + 1]; k++)
            if (w->cuts[k].end == to) return k;
    }
    return -1;
}

static void cut_position(const workspace *w, int k, double p[3])
{
    int a[3];
    coordinates_of(&w->grid, w->start[k], a);
    lattice_position(&w->grid, a, p);
    for (int i = 0; i < 3; i++) p[i] += w->cuts[k].at * w->grid.half * EDGE[w->cuts[k].edge][i];
}

// ---------------------------------------------------------------- snapping

// The cuts around v that are left, at most 14.
static int cuts_around(const workspace *w, int v, int around[2 * EDGES])
{
    int c[3], count = 0;
    coordinates_of(&w->grid, v, c);
    for (int k = w->first[v]; k < w->first[v + 1]; k++)
        if (!w->cuts[k].gone) around[count++] = k;
    for (int e = 0; e < EDGES; e++) {
        int from =
            vertex_at(&w->grid, (int[3]){c[0] - EDGE[e][0], c[1] - EDGE[e][1], c[2] - EDGE[e][2]});
        if (from < 0) continue;
        for (int k = w->first[from]; k < w->first[from + 1]; k++)
            if (w->cuts[k].end == v && !w->cuts[k].gone) around[count++] = k;
    }
    return count;
}

// Vertices that violate a cut point move to the nearest of them; they are on the surface then, and
// their edges are no longer cut.
static void snap(workspace *w)
{
    for (int v = 0; v < w->grid.count; v++) {
        int around[2 * EDGES], count = cuts_around(w, v, around), nearest = -1;
        double least = INFINITY;
        for (int k = 0; k < count; k++) {
            const cut *c = &w->cuts[around[k]];
            bool is_long = c->edge < LONG_EDGES;
            double part = c->end == v ? 1 - c->at : c->at;
            double length = part * (is_long ? 2 : sqrt(3));
            if (part >= (is_long ? LONG_SNAP : SHORT_SNAP) || length >= least) continue;
            least = length;
            nearest = around[k];
        }
        if (nearest < 0) continue;
        w->place[v] = nearest;
        w->value[v] = 0;
        for (int k = 0; k < count; k++) w->cuts[around[k]].gone = true;
    }
}

// ---------------------------------------------------------------- stencils

// Where a node of the mesh was before anything moved, in quarters of a cube: this tells its
// winding. Cut points count as the middle of their edge.
static void plain_position(const workspace *w, int node, double p[3])
{
    int a[3] = {0}, b[3] = {0};
    if (node < w->grid.count) {
        coordinates_of(&w->grid, node, a);
        memcpy(b, a, sizeof a);
    } else {
        coordinates_of(&w->grid, w->start[node - w->grid.count], a);
        coordinates_of(&w->grid, w->cuts[node - w->grid.count].end, b);
    }
    for (int i = 0; i < 3; i++) p[i] = a[i] + b[i];
}

static void add_tet(workspace *w, int a, int b, int c, int d)
{
    if (w->tets) {
        double p[4][3];
        int nodes[4] = {a, b, c, d};
        for (int k = 0; k < 4; k++) plain_position(w, nodes[k], p[k]);
        bool turned = hk_tet_volume6(p[0], p[1], p[2], p[3]) < 0;
        int32_t *tet = w->tets + 4 * (size_t)w->tet_count;
        for (int k = 0; k < 4; k++) tet[k] = nodes[turned && k >= 2 ? 5 - k : k];
    }
    w->tet_count++;
}

// On a face with two vertices a, b inside and one outside, the part inside is a quadrilateral:
// whether its diagonal begins at a (and ends at the cut next to b). It must be the same for both
// tets at the face. Where one of the cut edges is long, it ends at that cut; where a and b are
// the ends of a long edge, it begins at the one whose coordinates add up to an even number.
static bool diagonal_from_first(const workspace *w, int a, int b, int outside)
{
    bool corner_a = a < w->grid.corner_count, corner_b = b < w->grid.corner_count;
    bool corner_o = outside < w->grid.corner_count;
    if (corner_b == corner_o) return true;
    if (corner_a == corner_o) return false;
    int c[3];
    coordinates_of(&w->grid, a, c);
    return ((c[0] + c[1] + c[2] - 3 * (c[0] & 1)) / 2) % 2 == 0;
}

// Three tets of a prism with triangles a and b; from_a[i]: the diagonal of the side between edges
// i and i + 1 goes from a[i] to b[i + 1], otherwise from b[i] to a[i + 1]. Not all the same.
static void add_prism(workspace *w, const int a[3], const int b[3], const bool from_a[3])
{
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        if (!from_a[i] || from_a[k]) continue;
        // Two diagonals meet at a[i]; the third is that of the side between j and k.
        add_tet(w, a[i], b[i], b[j], b[k]);
        if (from_a[j]) {
            add_tet(w, a[i], a[j], b[j], b[k]);
            // a[j]–b[k]
            add_tet(w, a[i], a[j], a[k], b[k]);
        } else {
            add_tet(w, a[i], a[k], b[j], b[k]);
            add_tet(w, a[i], a[j], a[k], b[j]);
        }
        return;
    }
}

// The part inside of a tet with corners in groups: `in` inside, `on` the surface, `out` outside.
static void fill_tet(workspace *w, const int *in, int ins, const int *on, int ons, const int *out,
                     int outs)
{
    int c[4][3];  // the node on the edge in[i]–out[j]
    for (int i = 0; i < ins; i++)
        for (int j = 0; j < outs; j++) c[i][j] = w->grid.count + cut_between(w, in[i], out[j]);
    if (outs == 0) {
        int node[4];
        memcpy(node, in, (size_t)ins * sizeof *node);
        memcpy(node + ins, on, (size_t)ons * sizeof *node);
        add_tet(w, node[0], node[1], node[2], node[3]);
    } else if (ins == 1) {
        int node[3];
        memcpy(node, c[0], (size_t)outs * sizeof *node);
        memcpy(node + outs, on, (size_t)ons * sizeof *node);
        add_tet(w, in[0], node[0], node[1], node[2]);
    } else if (ins == 2 && outs == 1) {
        bool first = diagonal_from_first(w, in[0], in[1], out[0]);
        add_tet(w, on[0], in[0], in[1], c[first][0]);
        add_tet(w, on[0], c[0][0], c[1][0], in[!first]);
    } else if (ins == 2) {
        int a[3] = {in[0], c[0][0], c[0][1]}, b[3] = {in[1], c[1][0], c[1][1]};
        bool from_a[3] = {diagonal_from_first(w, in[0], in[1], out[0]), false,
                          !diagonal_from_first(w, in[0], in[1], out[1])};
        // The side on the surface is free: so that not all diagonals run the same way around.
        from_a[1] = from_a[0] == from_a[2] ? !from_a[0] : true;
        add_prism(w, a, b, from_a);
    } else {
        int b[3] = {c[0][0], c[1][0], c[2][0]};
        bool from_a[3];
        for (int i = 0; i < 3; i++)
            from_a[i] = diagonal_from_first(w, in[i], in[(i + 1) % 3], out[0]);
        add_prism(w, in, b, from_a);
    }
}

static void add_lattice_tet(workspace *w, const int corner[4])
{
    int in[4], on[4], out[4], ins = 0, ons = 0, outs = 0;
    for (int k = 0; k < 4; k++) {
        double value = w->value[corner[k]];
        if (value < 0)
            in[ins++] = corner[k];
        else if (value > 0)
            out[outs++] = corner[k];
        else
            on[ons++] = corner[k];
    }
    if (ins > 0) fill_tet(w, in, ins, on, ons, out, outs);
}

// Four tets around each edge between centres: two centres, and an edge of the face between.
static void fill_lattice(workspace *w)
{
    static const int ring[5][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}, {-1, -1}};
    const lattice *g = &w->grid;
    w->tet_count = 0;
    for (int v = g->corner_count; v < g->count; v++) {
        int c[3];
        coordinates_of(g, v, c);
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
            for (int k = 0; k < 4; k++)
                add_lattice_tet(w, (int[4]){v, end, corner[k], corner[k + 1]});
        }
    }
}

// ---------------------------------------------------------------- the mesh

static int number_nodes(workspace *w)
{
    int nodes = w->grid.count + w->cut_count, count = 0;
    for (int k = 0; k < nodes; k++) w->number[k] = -1;
    for (size_t k = 0; k < 4 * (size_t)w->tet_count; k++) w->number[w->tets[k]] = 0;
    for (int k = 0; k < nodes; k++)
        if (w->number[k] == 0) w->number[k] = count++;
    return count;
}

static void node_position(const workspace *w, int node, double p[3])
{
    if (node >= w->grid.count) {
        cut_position(w, node - w->grid.count, p);
    } else if (w->place[node] >= 0) {
        cut_position(w, w->place[node], p);
    } else {
        int c[3];
        coordinates_of(&w->grid, node, c);
        lattice_position(&w->grid, c, p);
    }
}

static hk_status stuff(workspace *w, hk_mesh **mesh)
{
    HK_TRY(make_lattice(w->in, &w->grid));
    int count = w->grid.count;
    w->value = HK_ARRAY(double, count);
    w->place = HK_ARRAY(int32_t, count);
    w->first = HK_ARRAY(int32_t, count + 1);
    if (!w->value || !w->place || !w->first) return HK_NO_MEMORY;
    measure(w);
    HK_TRY(find_cuts(w));
    snap(w);
    fill_lattice(w);
    if (w->tet_count == 0)
        return hk_fail(HK_BAD_INPUT, "%s: no tet fits inside; make the cells smaller", w->in->name);
    w->tets = HK_ARRAY(int32_t, 4 * (size_t)w->tet_count);
    if (!w->tets) return HK_NO_MEMORY;
    fill_lattice(w);
    hk_mesh *made;
    HK_TRY(hk_mesh_new(number_nodes(w), w->tet_count, 0, &made));
    for (int k = 0; k < count + w->cut_count; k++)
        if (w->number[k] >= 0) node_position(w, k, made->positions + 3 * (size_t)w->number[k]);
    for (size_t k = 0; k < 4 * (size_t)w->tet_count; k++) made->tets[k] = w->number[w->tets[k]];
    *mesh = made;
    return HK_OK;
}

hk_status hk_stuff(const hk_stuffing *stuffing, hk_mesh **mesh)
{
    workspace w = {.in = stuffing};
    hk_status status = stuff(&w, mesh);
    hk_free(w.value);
    hk_free(w.place);
    hk_free(w.first);
    hk_free(w.cuts);
    hk_free(w.start);
    hk_free(w.number);
    hk_free(w.tets);
    return status;
}
