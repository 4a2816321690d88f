// Quadratic tets, and meshes on their way from linear to quadratic ones and back.
#include "mesh/quadratic.h"

#include <limits.h>
#include <math.h>

#include "mesh/facets.h"

// ---------------------------------------------------------------- one tet

const int hk_tet_edges[HK_MIDDLES][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}};

int hk_middle_between(int a, int b)
{
    static const int middle[4][4] = {{-1, 0, 2, 3}, {0, -1, 1, 4}, {2, 1, -1, 5}, {3, 4, 5, -1}};
    return middle[a][b];
}

void hk_quadratic_slopes(const double l[4], double slope[HK_QUADRATIC_NODES][3])
{
    // ∂λ_c/∂(λ₁, λ₂, λ₃)
    static const double d[4][3] = {{-1, -1, -1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int c = 0; c < 4; c++)
        for (int k = 0; k < 3; k++) slope[c][k] = (4 * l[c] - 1) * d[c][k];
    for (int m = 0; m < HK_MIDDLES; m++) {
        int i = hk_tet_edges[m][0], j = hk_tet_edges[m][1];
        for (int k = 0; k < 3; k++) slope[4 + m][k] = 4 * (l[i] * d[j][k] + l[j] * d[i][k]);
    }
}

void hk_quadrature(hk_quadrature_point points[HK_QUADRATIC_POINTS])
{
    const double near = (5 + 3 * sqrt(5)) / 20, far = (5 - sqrt(5)) / 20;
    for (int q = 0; q < HK_QUADRATIC_POINTS; q++) {
        for (int c = 0; c < 4; c++) points[q].barycentric[c] = c == q ? near : far;
        hk_quadratic_slopes(points[q].barycentric, points[q].slope);
    }
}

double hk_quadratic_jacobian(const hk_quadrature_point *point,
                             const double *const node[HK_QUADRATIC_NODES], double j[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            double sum = 0;
            // Σ_a slope_a = 0: differences to the first node lose fewer digits far from the origin.
            for (int a = 1; a < HK_QUADRATIC_NODES; a++)
                sum += (node[a][i] - node[0][i]) * point->slope[a][k];
            j[i][k] = sum;
        }
    return j[0][0] * (j[1][1] * j[2][2] - j[1][2] * j[2][1]) +
           j[0][1] * (j[1][2] * j[2][0] - j[1][0] * j[2][2]) +
           j[0][2] * (j[1][0] * j[2][1] - j[1][1] * j[2][0]);
}

double hk_quadratic_volume(const double *const node[HK_QUADRATIC_NODES], double *least)
{
    hk_quadrature_point points[HK_QUADRATIC_POINTS];
    double sum = 0, smallest = INFINITY, jacobian[3][3];
    hk_quadrature(points);
    for (int q = 0; q < HK_QUADRATIC_POINTS; q++) {
        double det = hk_quadratic_jacobian(&points[q], node, jacobian);
        if (!(det >= smallest)) smallest = det;
        sum += det / HK_QUADRATIC_POINTS;
    }
    if (least) *least = sum > 0 ? smallest / sum : 0;
    return sum / 6;
}

void hk_split_face(const int32_t c[3], int32_t ab, int32_t bc, int32_t ca, int32_t triangle[4][3])
{
    const int32_t all[4][3] = {{c[0], ab, ca}, {ab, c[1], bc}, {ca, bc, c[2]}, {ab, bc, ca}};
    memcpy(triangle, all, sizeof all);
}

bool hk_is_split_face(const int32_t t[4][3], int32_t node[6])
{
    const int32_t nodes[6] = {t[0][0], t[1][1], t[2][2], t[3][0], t[3][1], t[3][2]};
    int32_t again[4][3];
    hk_split_face(nodes, nodes[3], nodes[4], nodes[5], again);
    memcpy(node, nodes, sizeof nodes);
    return memcmp(again, t, sizeof again) == 0;
}

static void swap(int32_t *a, int32_t *b)
{
    int32_t kept = *a;
    *a = *b;
    *b = kept;
}

// 12 becomes 13, and 20 becomes 03.
void hk_turn_middles(int32_t middles[HK_MIDDLES])
{
    swap(&middles[1], &middles[4]);
    swap(&middles[2], &middles[3]);
}

// ---------------------------------------------------------------- more nodes

// Edges of tets (six each) and of triangles (three each) that the middles belong to.
typedef struct riser {
    const hk_mesh *mesh;
    int32_t *middle;  // of every edge of tets, then of triangles
    int64_t tet_edges;
    int32_t *ends;  // [count][2] of the new vertices
    size_t count, capacity;
    hk_status status;
} riser;

static void edge_ends(const riser *r, int64_t edge, int32_t end[2])
{
    const hk_mesh *m = r->mesh;
    if (edge < r->tet_edges) {
        const int32_t *tet = m->tets + 4 * (edge / HK_MIDDLES);
        end[0] = tet[hk_tet_edges[edge % HK_MIDDLES][0]];
        end[1] = tet[hk_tet_edges[edge % HK_MIDDLES][1]];
    } else {
        const int32_t *triangle = m->triangles + 3 * ((edge - r->tet_edges) / 3);
        end[0] = triangle[(edge - r->tet_edges) % 3];
        end[1] = triangle[(edge - r->tet_edges + 1) % 3];
    }
}

// hk_visit_facets hands its elements on: here the riser.
static void edge_facet(const int32_t *elements, int64_t facet, int32_t *low, uint64_t *key)
{
    const int32_t *end = elements + 2 * facet;
    *low = hk_min_int(end[0], end[1]);
    *key = (uint64_t)(uint32_t)hk_max_int(end[0], end[1]);
}

static void add_middle(void *context, int32_t low, const hk_keyed *run, size_t count)
{
    riser *r = context;
    if (r->status != HK_OK) return;
    r->status =
        hk_reserve((void **)&r->ends, r->count, 2 * sizeof(int32_t), &r->capacity, r->count + 1);
    if (r->status != HK_OK) return;
    r->ends[2 * r->count] = low;
    r->ends[2 * r->count + 1] = (int32_t)(uint32_t)run->key;
    for (size_t i = 0; i < count; i++)
        r->middle[run[i].item] = r->mesh->vertex_count + (int32_t)r->count;
    r->count++;
}

// Numbers the middles of all edges, along the edges' lower vertices.
static hk_status number_middles(riser *r)
{
    const hk_mesh *m = r->mesh;
    r->tet_edges = HK_MIDDLES * (int64_t)m->tet_count;
    int64_t edges = r->tet_edges + 3 * (int64_t)m->triangle_count;
    int32_t *all = HK_ARRAY(int32_t, 2 * (size_t)edges);
    r->middle = HK_ARRAY(int32_t, edges);
    hk_status status = all && r->middle ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        for (int64_t e = 0; e < edges; e++) {
            edge_ends(r, e, all + 2 * e);
            r->middle[e] = -1;
        }
        status = hk_visit_facets(m->vertex_count, edges, all, edge_facet, add_middle, r);
    }
    hk_free(all);
    if (status == HK_OK) status = r->status;
    for (int64_t e = 0; e < edges && status == HK_OK; e++)
        if (r->middle[e] < 0)
            status = hk_fail(HK_BAD_INPUT, "an element has the same vertex twice: its edges cannot "
                                           "be given nodes");
    if (status == HK_OK && m->vertex_count + (int64_t)r->count > INT_MAX)
        status = hk_fail(HK_UNSUPPORTED, "more than %d vertices are not supported", INT_MAX);
    return status;
}

// Values at the new vertices lie in the middle, too.
static double *raise_values(const riser *r, const double *values, int width)
{
    size_t old = (size_t)r->mesh->vertex_count * (size_t)width;
    double *more = HK_ARRAY(double, old + r->count * (size_t)width);
    if (!more) return NULL;
    if (old) memcpy(more, values, old * sizeof(double));
    for (size_t v = 0; v < r->count; v++)
        for (int i = 0; i < width; i++)
            more[old + v * (size_t)width + (size_t)i] =
                0.5 * values[(int64_t)r->ends[2 * v] * width + i] +
                0.5 * values[(int64_t)r->ends[2 * v + 1] * width + i];
    return more;
}

static int32_t *raise_triangles(const riser *r)
{
    const hk_mesh *m = r->mesh;
    int32_t *more = HK_ARRAY(int32_t, 12 * (size_t)m->triangle_count);
    for (int64_t t = 0; t < m->triangle_count && more; t++) {
        const int32_t *middle = r->middle + r->tet_edges + 3 * t;
        hk_split_face(m->triangles + 3 * t, middle[0], middle[1], middle[2],
                      (int32_t(*)[3])(more + 12 * t));
    }
    return more;
}

// Triangles of a group are four each; a middle between two vertices of a group belongs to it.
static hk_status raise_group(const riser *r, hk_group *g)
{
    if (g->dimension == 3) return HK_OK;
    uint8_t *chosen = HK_ZEROS(uint8_t, r->mesh->vertex_count);
    if (!chosen) return HK_NO_MEMORY;
    size_t count = 4 * (size_t)g->count;
    if (g->dimension == 0) {
        for (int32_t i = 0; i < g->count; i++) chosen[g->items[i]] = 1;
        count = (size_t)g->count;
        for (size_t v = 0; v < r->count; v++)
            count += chosen[r->ends[2 * v]] && chosen[r->ends[2 * v + 1]];
    }
    int32_t *more = count <= INT32_MAX ? HK_ARRAY(int32_t, count) : NULL;
    if (more && g->dimension == 2)
        for (int32_t i = 0; i < 4 * g->count; i++) more[i] = 4 * g->items[i / 4] + i % 4;
    if (more && g->dimension == 0) {
        int32_t next = g->count;
        memcpy(more, g->items, sizeof *more * (size_t)g->count);
        for (size_t v = 0; v < r->count; v++)
            if (chosen[r->ends[2 * v]] && chosen[r->ends[2 * v + 1]])
                more[next++] = r->mesh->vertex_count + (int32_t)v;
    }
    hk_free(chosen);
    if (!more) return HK_NO_MEMORY;
    hk_free(g->items);
    g->items = more;
    g->count = (int32_t)count;
    return HK_OK;
}

static hk_status raise_fields(const riser *r, hk_mesh *mesh)
{
    for (int f = 0; f < mesh->field_count; f++) {
        hk_field *field = &mesh->fields[f];
        if (field->site != HK_ON_VERTICES) continue;
        double *more = raise_values(r, field->values, field->components);
        if (!more) return HK_NO_MEMORY;
        hk_free((double *)(uintptr_t)field->values);
        field->values = more;
    }
    return HK_OK;
}

static hk_status raise_order(hk_mesh *mesh)
{
    riser r = {.mesh = mesh};
    double *positions = NULL;
    int32_t *triangles = NULL;
    hk_status status = number_middles(&r);
    if (status == HK_OK) {
        positions = raise_values(&r, mesh->positions, 3);
        triangles = raise_triangles(&r);
        mesh->middles = HK_ARRAY(int32_t, r.tet_edges);
        if (!positions || !triangles || !mesh->middles) status = HK_NO_MEMORY;
    }
    for (int g = 0; g < mesh->group_count && status == HK_OK; g++)
        status = raise_group(&r, &mesh->groups[g]);
    if (status == HK_OK) status = raise_fields(&r, mesh);
    if (status == HK_OK) {
        memcpy(mesh->middles, r.middle, sizeof(int32_t) * (size_t)r.tet_edges);
        hk_free(mesh->positions);
        hk_free(mesh->triangles);
        mesh->positions = positions;
        mesh->triangles = triangles;
        mesh->vertex_count += (int)r.count;
        mesh->triangle_count *= 4;
        positions = NULL;
        triangles = NULL;
    } else {
        hk_free(mesh->middles);
        mesh->middles = NULL;
    }
    hk_free(positions);
    hk_free(triangles);
    hk_free(r.middle);
    hk_free(r.ends);
    return status;
}

// ---------------------------------------------------------------- fewer nodes

// Four triangles of a face become one again; others stay as they are.
static void join_triangles(hk_mesh *mesh, int32_t *number)
{
    int kept = 0;
    for (int t = 0; t < mesh->triangle_count;) {
        int32_t four[4][3], node[6];
        const int32_t *at = mesh->triangles + 3 * (int64_t)t;
        bool whole = t + 4 <= mesh->triangle_count;
        if (whole) memcpy(four, at, sizeof four);
        whole = whole && hk_is_split_face((const int32_t(*)[3])four, node);
        memmove(mesh->triangles + 3 * (int64_t)kept, whole ? node : at, 3 * sizeof(int32_t));
        for (int k = 0; k < (whole ? 4 : 1); k++) number[t++] = kept;
        kept++;
    }
    mesh->triangle_count = kept;
}

// Items by their new numbers (−1: gone), each once.
static hk_status renumber_group(hk_group *g, const int32_t *number, int count)
{
    uint8_t *seen = HK_ZEROS(uint8_t, count);
    if (!seen) return HK_NO_MEMORY;
    int32_t kept = 0;
    for (int32_t i = 0; i < g->count; i++) {
        int32_t to = number[g->items[i]];
        if (to < 0 || seen[to]) continue;
        seen[to] = 1;
        g->items[kept++] = to;
    }
    g->count = kept;
    hk_free(seen);
    return HK_OK;
}

// vertex[v]: its new number, or −1 for what only was the middle of an edge.
static int keep_corners(const hk_mesh *mesh, int32_t *vertex)
{
    int kept = 0;
    for (int v = 0; v < mesh->vertex_count; v++) vertex[v] = 0;
    for (int64_t k = 0; k < HK_MIDDLES * (int64_t)mesh->tet_count; k++)
        if (mesh->middles[k] >= 0) vertex[mesh->middles[k]] = -1;
    for (int64_t k = 0; k < 4 * (int64_t)mesh->tet_count; k++) vertex[mesh->tets[k]] = 0;
    for (int64_t k = 0; k < 3 * (int64_t)mesh->triangle_count; k++) vertex[mesh->triangles[k]] = 0;
    for (int v = 0; v < mesh->vertex_count; v++)
        if (vertex[v] >= 0) vertex[v] = kept++;
    return kept;
}

static void pack(double *values, int width, const int32_t *vertex, int count)
{
    for (int v = 0; v < count; v++)
        if (vertex[v] >= 0)
            memmove(values + (int64_t)vertex[v] * width, values + (int64_t)v * width,
                    (size_t)width * sizeof(double));
}

static hk_status lower_order(hk_mesh *mesh)
{
    int32_t *vertex = HK_ARRAY(int32_t, mesh->vertex_count);
    int32_t *triangle = HK_ARRAY(int32_t, mesh->triangle_count);
    hk_status status = vertex && triangle ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        int old = mesh->vertex_count;
        join_triangles(mesh, triangle);
        int count = keep_corners(mesh, vertex);
        for (int g = 0; g < mesh->group_count && status == HK_OK; g++) {
            hk_group *group = &mesh->groups[g];
            if (group->dimension == 2)
                status = renumber_group(group, triangle, mesh->triangle_count);
            if (group->dimension == 0) status = renumber_group(group, vertex, count);
        }
        for (int64_t k = 0; k < 4 * (int64_t)mesh->tet_count; k++)
            mesh->tets[k] = vertex[mesh->tets[k]];
        for (int64_t k = 0; k < 3 * (int64_t)mesh->triangle_count; k++)
            mesh->triangles[k] = vertex[mesh->triangles[k]];
        pack(mesh->positions, 3, vertex, old);
        for (int f = 0; f < mesh->field_count; f++)
            if (mesh->fields[f].site == HK_ON_VERTICES)
                pack((double *)(uintptr_t)mesh->fields[f].values, mesh->fields[f].components,
                     vertex, old);
        mesh->vertex_count = count;
        hk_free(mesh->middles);
        mesh->middles = NULL;
    }
    hk_free(vertex);
    hk_free(triangle);
    return status;
}

// ---------------------------------------------------------------- meshes

static void forget_surface(hk_mesh *mesh)
{
    hk_free(mesh->surface);
    hk_free(mesh->surface_tets);
    mesh->surface = mesh->surface_tets = NULL;
    mesh->surface_count = 0;
}

int hk_mesh_order(const hk_mesh *mesh)
{
    return mesh && mesh->middles ? 2 : 1;
}

const int32_t *hk_mesh_middles(const hk_mesh *mesh)
{
    return mesh ? mesh->middles : NULL;
}

hk_status hk_mesh_set_order(hk_mesh *mesh, int order)
{
    if (!mesh) return hk_fail(HK_BAD_INPUT, "hk_mesh_set_order: mesh is NULL");
    if (order != 1 && order != 2)
        return hk_fail(HK_BAD_INPUT,
                       "the order of a mesh is 1 (linear tets) or 2 (quadratic), "
                       "not %d",
                       order);
    bool mixed = hk_mesh_is_mixed(mesh);
    if (order == hk_mesh_order(mesh) && !mixed) return HK_OK;
    if (mesh->tet_count == 0)
        return hk_fail(HK_UNSUPPORTED, "the mesh has no tets: only those can be quadratic");
    if (order == 1 || mixed) HK_TRY(lower_order(mesh));
    if (order == 2) HK_TRY(raise_order(mesh));
    forget_surface(mesh);
    return HK_OK;
}

bool hk_mesh_is_mixed(const hk_mesh *mesh)
{
    for (int t = 0; t < mesh->tet_count && mesh->middles; t++)
        if (mesh->middles[HK_MIDDLES * (int64_t)t] < 0) return true;
    return false;
}

hk_status hk_check_middles(const hk_mesh *mesh, const char *name, const int32_t *middles)
{
    for (int t = 0; t < mesh->tet_count; t++) {
        const int32_t *own = middles + HK_MIDDLES * (int64_t)t;
        for (int k = 0; k < HK_MIDDLES; k++)
            if (own[k] >= mesh->vertex_count || (own[k] < 0) != (own[0] < 0))
                return hk_fail(HK_BAD_INPUT,
                               "%s: tet %d: its node %d in the middle of an edge is out of range: "
                               "the mesh has %d vertices, numbered from 0",
                               name, t, (int)own[k], mesh->vertex_count);
    }
    return HK_OK;
}

hk_status hk_mesh_set_middles(hk_mesh *mesh, const int32_t *middles)
{
    if (!mesh || !middles)
        return hk_fail(HK_BAD_INPUT, "hk_mesh_set_middles: mesh and middles are needed");
    HK_TRY(hk_check_middles(mesh, "hk_mesh_set_middles", middles));
    int32_t *own = HK_ARRAY(int32_t, HK_MIDDLES * (size_t)mesh->tet_count);
    if (!own) return HK_NO_MEMORY;
    memcpy(own, middles, HK_MIDDLES * sizeof *own * (size_t)mesh->tet_count);
    hk_free(mesh->middles);
    mesh->middles = own;
    forget_surface(mesh);
    return HK_OK;
}

// Four at the corners, and four around the diagonal 01–23 of the octahedron between the middles.
hk_status hk_mesh_split_quadratic(const hk_mesh *mesh, hk_mesh **split)
{
    // By number of node: corners, then middles 01 12 20 03 13 23.
    static const int parts[8][4] = {{0, 4, 6, 7}, {4, 1, 5, 8}, {6, 5, 2, 9}, {7, 8, 9, 3},
                                    {4, 9, 6, 7}, {4, 9, 7, 8}, {4, 9, 8, 5}, {4, 9, 5, 6}};
    int64_t count = mesh->tet_count;
    for (int t = 0; t < mesh->tet_count && mesh->middles; t++)
        count += mesh->middles[HK_MIDDLES * (int64_t)t] >= 0 ? 7 : 0;
    if (count > INT_MAX)
        return hk_fail(HK_UNSUPPORTED, "more than %d tets are not supported", INT_MAX);
    hk_mesh *made;
    HK_TRY(hk_mesh_new(mesh->vertex_count, (int)count, 0, &made));
    memcpy(made->positions, mesh->positions, 3 * sizeof(double) * (size_t)mesh->vertex_count);
    int32_t *to = made->tets;
    for (int64_t t = 0; t < mesh->tet_count; t++) {
        const int32_t *corners = mesh->tets + 4 * t;
        int32_t node[HK_QUADRATIC_NODES];
        if (!mesh->middles || mesh->middles[HK_MIDDLES * t] < 0) {
            memcpy(to, corners, 4 * sizeof *to);
            to += 4;
            continue;
        }
        hk_quadratic_nodes(corners, mesh->middles + HK_MIDDLES * t, node);
        for (int k = 0; k < 32; k++) *to++ = node[parts[k / 4][k % 4]];
    }
    *split = made;
    return HK_OK;
}
