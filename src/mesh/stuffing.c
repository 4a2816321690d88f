// Isosurface stuffing: cut points, snapping, stencils.
#include "mesh/stuffing.h"

#include <limits.h>
#include <math.h>

#include "mesh/sort.h"

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
    int32_t start, end;
    int8_t edge;
    bool gone;  // an end was moved onto the surface
} cut;

typedef int32_t cuts_around[2 * EDGES];  // of edges that begin at a vertex, that end there; −1

typedef struct workspace {
    hk_background *in;
    int32_t *place;  // [count] the cut that a vertex was moved to, or −1
    cut *cuts;       // in the order of vertices and edges
    int cut_count;
    int32_t *around_of;   // [count] which of `around`, or −1: none of its edges is cut
    cuts_around *around;  // for vertices with cut edges
    int32_t *number;      // [count + cut_count] in the mesh; vertices, then cuts; −1: not used
    int32_t *tets;        // [tet_count][4] in these numbers
    int tet_count;
} workspace;

static void lattice_position(const hk_background *b, int v, double p[3])
{
    for (int i = 0; i < 3; i++) p[i] = b->origin[i] + b->half * b->at[v][i];
}

static bool is_corner(const hk_background *b, int v)
{
    return (b->at[v][0] & 1) == 0;
}

// ---------------------------------------------------------------- cut points

static bool is_cut(double a, double b)
{
    return (a < 0 && b > 0) || (a > 0 && b < 0);
}

// Which of the edges goes from a to b; −1: none, it may go the other way.
static int edge_from(const hk_background *b, int from, int to)
{
    const int32_t *p = b->at[from], *q = b->at[to];
    for (int e = 0; e < EDGES; e++)
        if (q[0] - p[0] == EDGE[e][0] && q[1] - p[1] == EDGE[e][1] && q[2] - p[2] == EDGE[e][2])
            return e;
    return -1;
}

// Edges of one tet that are cut, by where they begin and which they are.
static int cut_edges(const hk_background *b, const int32_t *tet, hk_keyed found[6])
{
    int count = 0;
    for (int i = 1; i < 4; i++)
        for (int j = 0; j < i; j++) {
            int from = tet[i], to = tet[j];
            if (!is_cut(b->value[from], b->value[to])) continue;
            int e = edge_from(b, from, to);
            if (e < 0) {
                e = edge_from(b, to, from);
                from = tet[j];
                to = tet[i];
            }
            found[count++] = (hk_keyed){(uint64_t)from * EDGES + (uint64_t)e, to};
        }
    return count;
}

static hk_status take_edges(workspace *w, const hk_keyed *edges, size_t count)
{
    size_t cuts = 0;
    for (size_t k = 0; k < count; k++) cuts += k == 0 || edges[k].key != edges[k - 1].key;
    if (cuts > INT_MAX / 8)
        return hk_fail(HK_BAD_INPUT, "%s: its surface cuts %zu edges, too many to be numbered",
                       w->in->name, cuts);
    w->cuts = HK_ARRAY(cut, cuts);
    w->around_of = HK_ARRAY(int32_t, w->in->count);
    w->number = HK_ARRAY(int32_t, (size_t)w->in->count + cuts);
    if (!w->cuts || !w->around_of || !w->number) return HK_NO_MEMORY;
    for (size_t k = 0; k < count; k++)
        if (k == 0 || edges[k].key != edges[k - 1].key)
            w->cuts[w->cut_count++] = (cut){.start = (int32_t)(edges[k].key / EDGES),
                                            .end = (int32_t)edges[k].item,
                                            .edge = (int8_t)(edges[k].key % EDGES)};
    return HK_OK;
}

static hk_status list_cuts(workspace *w)
{
    const hk_background *b = w->in;
    hk_keyed found[6];
    size_t count = 0;
    for (int t = 0; t < b->tet_count; t++)
        count += (size_t)cut_edges(b, b->tets + 4 * (size_t)t, found);
    hk_keyed *edges = HK_ARRAY(hk_keyed, count), *scratch = HK_ARRAY(hk_keyed, count);
    hk_status status = edges && scratch ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        count = 0;
        for (int t = 0; t < b->tet_count; t++)
            count += (size_t)cut_edges(b, b->tets + 4 * (size_t)t, edges + count);
        hk_sort_keyed(edges, scratch, count);
        status = take_edges(w, edges, count);
    }
    hk_free(edges);
    hk_free(scratch);
    return status;
}

static hk_status list_around(workspace *w)
{
    int count = 0;
    for (int v = 0; v < w->in->count; v++) w->around_of[v] = -1;
    for (int k = 0; k < w->cut_count; k++)
        w->around_of[w->cuts[k].start] = w->around_of[w->cuts[k].end] = 0;
    for (int v = 0; v < w->in->count; v++)
        if (w->around_of[v] == 0) w->around_of[v] = count++;
    w->around = HK_ARRAY(cuts_around, count);
    if (!w->around) return HK_NO_MEMORY;
    memset(w->around, 0xff, (size_t)count * sizeof *w->around);  // −1
    for (int k = 0; k < w->cut_count; k++) {
        const cut *c = &w->cuts[k];
        w->around[w->around_of[c->start]][c->edge] = k;
        w->around[w->around_of[c->end]][EDGES + c->edge] = k;
    }
    return HK_OK;
}

static hk_status find_cuts(workspace *w, hk_cut_fn *find, const void *context, int threads)
{
    const hk_background *b = w->in;
    HK_TRY(list_cuts(w));
    if (w->cut_count == 0)
        return hk_fail(HK_BAD_INPUT, "%s: no tet fits inside; make the cells smaller", b->name);
    HK_TRY(list_around(w));
#pragma omp parallel for schedule(dynamic, 64) num_threads(threads)
    for (int k = 0; k < w->cut_count; k++) {
        cut *c = &w->cuts[k];
        double p[3], q[3];
        lattice_position(b, c->start, p);
        lattice_position(b, c->end, q);
        c->at = find(context, p, q, b->value[c->start], b->value[c->end]);
    }
    return HK_OK;
}

// The number of the cut on the edge between two vertices, which has one.
static int cut_between(const workspace *w, int v, int u)
{
    int e = edge_from(w->in, v, u);
    if (e >= 0) return w->around[w->around_of[v]][e];
    return w->around[w->around_of[u]][edge_from(w->in, u, v)];
}

static void cut_position(const workspace *w, int k, double p[3])
{
    const cut *c = &w->cuts[k];
    lattice_position(w->in, c->start, p);
    for (int i = 0; i < 3; i++) p[i] += c->at * w->in->half * EDGE[c->edge][i];
}

// ---------------------------------------------------------------- snapping

// Vertices that violate a cut point move to the nearest of them; they are on the surface then, and
// their edges are no longer cut.
static void snap(workspace *w)
{
    for (int v = 0; v < w->in->count; v++) {
        w->place[v] = -1;
        if (w->around_of[v] < 0) continue;
        const int32_t *around = w->around[w->around_of[v]];
        int nearest = -1;
        double least = INFINITY;
        for (int k = 0; k < 2 * EDGES; k++) {
            if (around[k] < 0 || w->cuts[around[k]].gone) continue;
            const cut *c = &w->cuts[around[k]];
            bool is_long = c->edge < LONG_EDGES;
            double part = k >= EDGES ? 1 - c->at : c->at;
            double length = part * (is_long ? 2 : sqrt(3));
            if (part >= (is_long ? LONG_SNAP : SHORT_SNAP) || length >= least) continue;
            least = length;
            nearest = around[k];
        }
        if (nearest < 0) continue;
        w->place[v] = nearest;
        w->in->value[v] = 0;
        for (int k = 0; k < 2 * EDGES; k++)
            if (around[k] >= 0) w->cuts[around[k]].gone = true;
    }
}

// ---------------------------------------------------------------- stencils

// Where a node of the mesh was before anything moved, in quarters of a cube: this tells its
// winding. Cut points count as the middle of their edge.
static void plain_position(const workspace *w, int node, double p[3])
{
    const hk_background *b = w->in;
    bool vertex = node < b->count;
    const int32_t *from = b->at[vertex ? node : w->cuts[node - b->count].start];
    const int32_t *to = b->at[vertex ? node : w->cuts[node - b->count].end];
    for (int i = 0; i < 3; i++) p[i] = from[i] + to[i];
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
    bool corner_o = is_corner(w->in, outside);
    if (is_corner(w->in, b) == corner_o) return true;
    if (is_corner(w->in, a) == corner_o) return false;
    const int32_t *c = w->in->at[a];
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
        for (int j = 0; j < outs; j++) c[i][j] = w->in->count + cut_between(w, in[i], out[j]);
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

static void stuff_tet(workspace *w, const int32_t *corner)
{
    int in[4], on[4], out[4], ins = 0, ons = 0, outs = 0;
    for (int k = 0; k < 4; k++) {
        double value = w->in->value[corner[k]];
        if (value < 0)
            in[ins++] = corner[k];
        else if (value > 0)
            out[outs++] = corner[k];
        else
            on[ons++] = corner[k];
    }
    if (ins > 0) fill_tet(w, in, ins, on, ons, out, outs);
}

// Counts, where there is no room for them yet.
static hk_status stuff_tets(workspace *w)
{
    w->tet_count = 0;
    for (int t = 0; t < w->in->tet_count; t++) {
        if (w->tet_count > INT_MAX / 4 - 3)
            return hk_fail(HK_BAD_INPUT, "%s: too many tets to be numbered", w->in->name);
        stuff_tet(w, w->in->tets + 4 * (size_t)t);
    }
    return HK_OK;
}

// ---------------------------------------------------------------- the mesh

static int number_nodes(workspace *w)
{
    int nodes = w->in->count + w->cut_count, count = 0;
    for (int k = 0; k < nodes; k++) w->number[k] = -1;
    for (size_t k = 0; k < 4 * (size_t)w->tet_count; k++) w->number[w->tets[k]] = 0;
    for (int k = 0; k < nodes; k++)
        if (w->number[k] == 0) w->number[k] = count++;
    return count;
}

static void node_position(const workspace *w, int node, double p[3])
{
    if (node >= w->in->count)
        cut_position(w, node - w->in->count, p);
    else if (w->place[node] >= 0)
        cut_position(w, w->place[node], p);
    else
        lattice_position(w->in, node, p);
}

static hk_status stuff(workspace *w, hk_cut_fn *find, const void *context, int threads,
                       hk_mesh **mesh)
{
    w->place = HK_ARRAY(int32_t, w->in->count);
    if (!w->place) return HK_NO_MEMORY;
    HK_TRY(find_cuts(w, find, context, threads));
    snap(w);
    HK_TRY(stuff_tets(w));
    if (w->tet_count == 0)
        return hk_fail(HK_BAD_INPUT, "%s: no tet fits inside; make the cells smaller", w->in->name);
    w->tets = HK_ARRAY(int32_t, 4 * (size_t)w->tet_count);
    if (!w->tets) return HK_NO_MEMORY;
    HK_TRY(stuff_tets(w));
    hk_mesh *made;
    HK_TRY(hk_mesh_new(number_nodes(w), w->tet_count, 0, &made));
    for (int k = 0; k < w->in->count + w->cut_count; k++)
        if (w->number[k] >= 0) node_position(w, k, made->positions + 3 * (size_t)w->number[k]);
    for (size_t k = 0; k < 4 * (size_t)w->tet_count; k++) made->tets[k] = w->number[w->tets[k]];
    *mesh = made;
    return HK_OK;
}

hk_status hk_stuff_background(hk_background *background, hk_cut_fn *find, const void *context,
                              int threads, hk_mesh **mesh)
{
    workspace w = {.in = background};
    hk_status status = stuff(&w, find, context, threads, mesh);
    hk_free(w.place);
    hk_free(w.cuts);
    hk_free(w.around_of);
    hk_free(w.around);
    hk_free(w.number);
    hk_free(w.tets);
    return status;
}

void hk_background_free(hk_background *b)
{
    hk_free(b->at);
    hk_free(b->value);
    hk_free(b->tets);
    *b = (hk_background){0};
}
