// Sheets as springs and bending, and as shells of triangles and hinges.
//
// Every edge is a spring of stiffness k = stretch (area of its triangles) / length² (Van Gelder
// 1998). Its energy k/2 (l − l₀)² is then stretch/2 ε² times that area, with the strain ε of the
// edge: a sampled integral over the sheet, the same for coarse and fine meshes. For regular
// triangles `stretch` is Young's modulus × thickness exactly, and Poisson's ratio is 1/3.
//
// Bending is that of the Laplace–Beltrami operator, E = bending/2 ∫ ‖Δx‖² dA, with the cotangent
// weights of the rest shape and mixed Voronoi areas A_v (Meyer et al. 2003):
//
//   (Δx)_v = 1/A_v Σ_j ½(cot α_j + cot β_j) (x_j − x_v).
//
// Voronoi areas, not thirds of triangles: in a grid whose squares are cut along alternating
// diagonals thirds would overrate the energy by an eighth, however fine the grid. On a cylinder
// ‖Δx‖ = 1/R. Where the rest shape is curved, ‖Δx‖ is compared with its value at rest.
// Vertices on the boundary have no bending of their own: the strip of half an edge along it bends
// freely, and a clamped edge takes two held rows of vertices.
#include "model/sheet.h"

#include <math.h>

#include "mesh/facets.h"
#include "model/shell.h"

// Below this a triangle has no sound area.
#define FLAT_QUALITY 1e-9
// Cotangents that are this small beside the others are rounding (of right angles).
#define NO_COTANGENT 1e-9
// A ring that is this flat at rest is flat: the direction of ‖Δx‖ would be rounding.
#define FLAT_RING 1e-6

typedef struct edge {
    int32_t ends[2];       // within the body
    double area, length2;  // of its triangles together; length squared
    double cotangent;      // ½ Σ of the opposite angles
    int uses;
} edge;

typedef struct sheet {
    hk_model *model;
    const hk_body *body;
    const hk_mesh *mesh;
    const hk_sheet_material *material;
    double *area;  // [triangle_count] m²
    edge *edges;   // [edge_count]
    int edge_count;
    double *cell;           // [vertex_count] mixed Voronoi area, m²
    uint8_t *border;        // [vertex_count]
    int32_t *start, *list;  // the edges of every vertex
} sheet;

static const double *point(const sheet *s, int32_t vertex)
{
    return s->mesh->positions + 3 * (int64_t)vertex;
}

static double dot_edges(const double *o, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < 3; i++) sum += (a[i] - o[i]) * (b[i] - o[i]);
    return sum;
}

static hk_status measure_triangles(sheet *s)
{
    hk_model *m = s->model;
    for (int t = 0; t < s->mesh->triangle_count; t++) {
        const int32_t *c = s->mesh->triangles + 3 * (int64_t)t;
        const double *p[3] = {point(s, c[0]), point(s, c[1]), point(s, c[2])};
        double area = hk_triangle_area(p[0], p[1], p[2]);
        if (!(area > 0 && isfinite(area) && hk_triangle_quality(p[0], p[1], p[2]) > FLAT_QUALITY))
            return hk_fail(HK_BAD_INPUT,
                           "triangle %d (vertices %d %d %d) has no sound area (%g m2): it cannot "
                           "be simulated; `hooke mesh check` lists all of them",
                           t, c[0], c[1], c[2], area);
        s->area[t] = area;
        m->sheet_mass += s->material->density * area;
        for (int k = 0; k < 3; k++) {
            int32_t vertex = s->body->vertex_start + c[k];
            m->triangles[3 * (int64_t)(s->body->triangle_start + t) + k] = vertex;
            m->mass[vertex] += s->material->density * area / 3;
        }
    }
    return HK_OK;
}

static void take_edge(void *context, int32_t low, const hk_keyed *run, size_t count)
{
    (void)low;
    sheet *s = context;
    edge *e = &s->edges[s->edge_count++];
    *e = (edge){.uses = (int)count};
    for (size_t k = 0; k < count; k++) {
        int64_t triangle = run[k].item / 3, corner = run[k].item % 3;
        const int32_t *c = s->mesh->triangles + 3 * triangle;
        int32_t a = c[corner], b = c[(corner + 1) % 3], opposite = c[(corner + 2) % 3];
        e->ends[0] = a;
        e->ends[1] = b;
        e->area += s->area[triangle];
        e->length2 = dot_edges(point(s, a), point(s, b), point(s, b));
        e->cotangent += dot_edges(point(s, opposite), point(s, a), point(s, b)) /
                        (4 * s->area[triangle]);  // ½ cos/sin, with |u × v| = 2 area
    }
}

static hk_status add_springs(const sheet *s)
{
    hk_model *m = s->model;
    size_t count = (size_t)m->spring_count;
    HK_TRY(hk_reserve((void **)&m->springs, count, sizeof(hk_spring), &m->spring_capacity,
                      count + (size_t)s->edge_count));
    for (int k = 0; k < s->edge_count; k++) {
        const edge *e = &s->edges[k];
        m->springs[m->spring_count++] = (hk_spring){
            .ends = {s->body->vertex_start + e->ends[0], s->body->vertex_start + e->ends[1]},
            .stiffness = s->material->stretch * e->area / e->length2,
            .rest = sqrt(e->length2)};
    }
    return HK_OK;
}

// ---------------------------------------------------------------- bending

// The part of a triangle that is nearest to corner k, or a half or quarter of an obtuse one.
static double corner_cell(const sheet *s, int triangle, int k)
{
    const int32_t *c = s->mesh->triangles + 3 * (int64_t)triangle;
    const double *p[3];
    for (int i = 0; i < 3; i++) p[i] = point(s, c[(k + i) % 3]);
    double cosine[3];  // × lengths, at corners k, k + 1, k + 2
    for (int i = 0; i < 3; i++) cosine[i] = dot_edges(p[i], p[(i + 1) % 3], p[(i + 2) % 3]);
    double area = s->area[triangle];
    if (cosine[0] < 0) return area / 2;
    if (cosine[1] < 0 || cosine[2] < 0) return area / 4;
    // ⅛ (‖p₁ − p₀‖² cot₂ + ‖p₂ − p₀‖² cot₁)
    return (dot_edges(p[0], p[1], p[1]) * cosine[2] + dot_edges(p[0], p[2], p[2]) * cosine[1]) /
           (16 * area);
}

static void measure_cells(sheet *s)
{
    for (int t = 0; t < s->mesh->triangle_count; t++)
        for (int k = 0; k < 3; k++)
            s->cell[s->mesh->triangles[3 * (int64_t)t + k]] += corner_cell(s, t, k);
    for (int k = 0; k < s->edge_count; k++)
        for (int end = 0; end < 2; end++)
            if (s->edges[k].uses != 2) s->border[s->edges[k].ends[end]] = 1;
}

static void list_edges(sheet *s)
{
    int count = s->mesh->vertex_count;
    for (int k = 0; k < s->edge_count; k++)
        for (int end = 0; end < 2; end++) s->start[s->edges[k].ends[end] + 1]++;
    for (int v = 0; v < count; v++) s->start[v + 1] += s->start[v];
    for (int k = 0; k < s->edge_count; k++)
        for (int end = 0; end < 2; end++) s->list[s->start[s->edges[k].ends[end]]++] = k;
    for (int v = count; v > 0; v--) s->start[v] = s->start[v - 1];
    s->start[0] = 0;
}

static hk_status add_bend(const sheet *s, int v)
{
    hk_model *m = s->model;
    double largest = 0, d[3] = {0}, reach = 0, sum = 0;
    for (int k = s->start[v]; k < s->start[v + 1]; k++)
        largest = fmax(largest, fabs(s->edges[s->list[k]].cotangent));
    hk_bend bend = {.start = m->bend_entry_count, .count = 1};
    m->bend_vertices[bend.start] = s->body->vertex_start + v;
    for (int k = s->start[v]; k < s->start[v + 1]; k++) {
        const edge *e = &s->edges[s->list[k]];
        if (fabs(e->cotangent) <= NO_COTANGENT * largest) continue;
        int32_t other = e->ends[0] == v ? e->ends[1] : e->ends[0];
        m->bend_vertices[bend.start + bend.count] = s->body->vertex_start + other;
        m->bend_coefficients[bend.start + bend.count++] = e->cotangent;
        sum += e->cotangent;
        reach += fabs(e->cotangent) * sqrt(e->length2);
        for (int i = 0; i < 3; i++) d[i] += e->cotangent * (point(s, other)[i] - point(s, v)[i]);
    }
    m->bend_coefficients[bend.start] = -sum;
    bend.rest = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    if (bend.rest <= FLAT_RING * reach) bend.rest = 0;
    bend.stiffness = s->material->bending / s->cell[v];
    if (!isfinite(bend.stiffness))
        return hk_fail(HK_BAD_INPUT, "vertex %d: a bending stiffness of %g is too much for %g m2",
                       v, s->material->bending, s->cell[v]);
    m->bend_entry_count += bend.count;
    m->bends[m->bend_count++] = bend;
    return HK_OK;
}

static hk_status add_bends(sheet *s)
{
    hk_model *m = s->model;
    int vertices = s->mesh->vertex_count;
    s->cell = HK_ZEROS(double, vertices);
    s->border = HK_ZEROS(uint8_t, vertices);
    s->start = HK_ZEROS(int32_t, vertices + 1);
    s->list = HK_ARRAY(int32_t, 2 * (size_t)s->edge_count);
    if (!s->cell || !s->border || !s->start || !s->list) return HK_NO_MEMORY;
    size_t bends = (size_t)m->bend_count, entries = (size_t)m->bend_entry_count;
    size_t more = (size_t)vertices + 2 * (size_t)s->edge_count;
    if (entries + more > INT32_MAX)
        return hk_fail(HK_UNSUPPORTED, "too large: %zu numbers for bending", entries + more);
    HK_TRY(hk_reserve((void **)&m->bends, bends, sizeof(hk_bend), &m->bend_capacity,
                      bends + (size_t)vertices));
    HK_TRY(hk_reserve((void **)&m->bend_vertices, entries, sizeof(int32_t),
                      &m->bend_vertex_capacity, entries + more));
    HK_TRY(hk_reserve((void **)&m->bend_coefficients, entries, sizeof(double),
                      &m->bend_coefficient_capacity, entries + more));
    measure_cells(s);
    list_edges(s);
    for (int v = 0; v < vertices; v++)
        if (s->start[v + 1] > s->start[v] && !s->border[v]) HK_TRY(add_bend(s, v));
    return HK_OK;
}

// ---------------------------------------------------------------- shells

// The frame of a triangle: the warp, projected into its plane, and what is across. Coordinates of
// the edges from its first corner are a matrix whose inverse is kept.
static hk_status add_shell(const sheet *s, int t)
{
    hk_model *m = s->model;
    const int32_t *c = s->mesh->triangles + 3 * (int64_t)t;
    hk_shell *shell = &m->shells[m->shell_count];
    double frame[2][3], side[2][2];
    *shell = (hk_shell){.body = (int32_t)(s->body - m->bodies), .area = s->area[t]};
    for (int k = 0; k < 3; k++) shell->vertex[k] = s->body->vertex_start + c[k];
    if (!hk_shell_frame(point(s, c[0]), point(s, c[1]), point(s, c[2]), s->material->warp, frame) &&
        hk_shell_needs_frame(s->material))
        return hk_fail(HK_BAD_INPUT,
                       "triangle %d (vertices %d %d %d) is at right angles to the warp: give "
                       "another warp_direction",
                       t, c[0], c[1], c[2]);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 2; i++) {
            side[i][k] = 0;
            for (int n = 0; n < 3; n++)
                side[i][k] += (point(s, c[k + 1])[n] - point(s, c[0])[n]) * frame[i][n];
        }
    double det = side[0][0] * side[1][1] - side[0][1] * side[1][0];
    shell->inverse[0][0] = side[1][1] / det;
    shell->inverse[0][1] = -side[0][1] / det;
    shell->inverse[1][0] = -side[1][0] / det;
    shell->inverse[1][1] = side[0][0] / det;
    for (int k = 0; k < s->material->membrane.strand_count; k++)
        if (!hk_shell_direction(frame, s->material->membrane.direction[k], shell->strand[k]))
            return hk_fail(HK_BAD_INPUT,
                           "triangle %d (vertices %d %d %d) is at right angles to axis %d", t, c[0],
                           c[1], c[2], k);
    m->shell_count++;
    return HK_OK;
}

static hk_status add_shells(const sheet *s)
{
    hk_model *m = s->model;
    size_t count = (size_t)m->shell_count, more = (size_t)s->mesh->triangle_count;
    HK_TRY(
        hk_reserve((void **)&m->shells, count, sizeof(hk_shell), &m->shell_capacity, count + more));
    for (int t = 0; t < s->mesh->triangle_count; t++) HK_TRY(add_shell(s, t));
    return HK_OK;
}

// E = ½ D ‖e‖²/(A₀ + A₁) (θ − θ₀)²: rolled to a cylinder along its rows, a grid of triangles has
// the energy D/2R² per area, whatever the triangles.
static void add_hinge(sheet *s, const hk_keyed *a, const hk_keyed *b)
{
    hk_model *m = s->model;
    int64_t first = a->item / 3, second = b->item / 3;
    const int32_t *c = s->mesh->triangles + 3 * first, *d = s->mesh->triangles + 3 * second;
    int corner = (int)(a->item % 3), start = s->body->vertex_start;
    hk_hinge *h = &m->hinges[m->hinge_count++];
    int32_t at[4] = {c[corner], c[(corner + 1) % 3], c[(corner + 2) % 3], d[(b->item % 3 + 2) % 3]};
    const double *x[4];
    for (int k = 0; k < 4; k++) {
        h->vertex[k] = start + at[k];
        x[k] = point(s, at[k]);
    }
    h->rest = hk_hinge_angle(x);
    h->stiffness =
        s->material->bending * dot_edges(x[0], x[1], x[1]) / (s->area[first] + s->area[second]);
}

static void take_hinges(void *context, int32_t low, const hk_keyed *run, size_t count)
{
    (void)low;
    for (size_t k = 0; k + 1 < count; k++) add_hinge(context, &run[k], &run[k + 1]);
}

static hk_status add_hinges(sheet *s)
{
    hk_model *m = s->model;
    size_t count = (size_t)m->hinge_count, most = 3 * (size_t)s->mesh->triangle_count;
    HK_TRY(
        hk_reserve((void **)&m->hinges, count, sizeof(hk_hinge), &m->hinge_capacity, count + most));
    return hk_visit_facets(s->mesh->vertex_count, 3 * (int64_t)s->mesh->triangle_count,
                           s->mesh->triangles, hk_triangle_edge, take_hinges, s);
}

static hk_status build_shell(sheet *s)
{
    const hk_sheet_material *material = s->material;
    HK_TRY(add_shells(s));
    if (!(material->bending > 0)) return HK_OK;
    if (material->form == HK_BENDING_HINGES) return add_hinges(s);
    return material->form == HK_BENDING_COTANGENT ? add_bends(s) : HK_OK;
}

static hk_status build(sheet *s)
{
    s->area = HK_ARRAY(double, s->mesh->triangle_count);
    s->edges = HK_ARRAY(edge, 3 * (size_t)s->mesh->triangle_count);
    if (!s->area || !s->edges) return HK_NO_MEMORY;
    HK_TRY(measure_triangles(s));
    HK_TRY(hk_visit_facets(s->mesh->vertex_count, 3 * (int64_t)s->mesh->triangle_count,
                           s->mesh->triangles, hk_triangle_edge, take_edge, s));
    if (s->material->shell) return build_shell(s);
    HK_TRY(add_springs(s));
    return s->material->bending > 0 ? add_bends(s) : HK_OK;
}

hk_status hk_model_add_sheet(hk_model *model, const hk_body *body, const hk_mesh *mesh,
                             const hk_sheet_material *material)
{
    sheet s = {.model = model, .body = body, .mesh = mesh, .material = material};
    hk_status status = build(&s);
    hk_free(s.area);
    hk_free(s.edges);
    hk_free(s.cell);
    hk_free(s.border);
    hk_free(s.start);
    hk_free(s.list);
    return status;
}

// ---------------------------------------------------------------- order

// order[] := items by rising key < key_count; a stable counting sort.
static hk_status sort_items(const int32_t *key, int count, int key_count, int32_t *order)
{
    int32_t *start = HK_ZEROS(int32_t, key_count + 1);
    if (!start) return HK_NO_MEMORY;
    for (int k = 0; k < count; k++) start[key[k] + 1]++;
    for (int k = 0; k < key_count; k++) start[k + 1] += start[k];
    for (int k = 0; k < count; k++) order[start[key[k]]++] = k;
    hk_free(start);
    return HK_OK;
}

hk_status hk_model_order_links(hk_model *m)
{
    if (m->spring_count == 0 && m->bend_count == 0) return HK_OK;
    m->spring_order = HK_ARRAY(int32_t, m->spring_count);
    m->bend_order = HK_ARRAY(int32_t, m->bend_count);
    m->bend_places = HK_ARRAY(int32_t, m->bend_entry_count);
    int32_t *key = HK_ARRAY(int32_t, hk_max_int(m->spring_count, m->bend_count));
    bool complete = m->spring_order && m->bend_order && m->bend_places && key;
    hk_status status = complete ? HK_OK : HK_NO_MEMORY;
    for (int k = 0; k < m->bend_entry_count && status == HK_OK; k++)
        m->bend_places[k] = m->place[m->bend_vertices[k]];
    for (int k = 0; k < m->spring_count && status == HK_OK; k++)
        key[k] = hk_min_int(m->place[m->springs[k].ends[0]], m->place[m->springs[k].ends[1]]);
    if (status == HK_OK)
        status = sort_items(key, m->spring_count, m->vertex_count, m->spring_order);
    for (int k = 0; k < m->bend_count && status == HK_OK; k++)
        key[k] = m->bend_places[m->bends[k].start];
    if (status == HK_OK) status = sort_items(key, m->bend_count, m->vertex_count, m->bend_order);
    hk_free(key);
    return status;
}
