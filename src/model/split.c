#include "model/split.h"

#include <math.h>

#include "mesh/facets.h"
#include "model/build.h"
#include "model/contact.h"
#include "model/sheet.h"
#include "model/tear.h"

// ---------------------------------------------------------------- neighbours

typedef struct joining {
    int32_t *to;
    int sides;
    bool branched;  // an edge of more than two triangles
} joining;

static void join_facets(void *context, int32_t low, const hk_keyed *run, size_t count)
{
    (void)low;
    joining *j = context;
    if (count > 2) j->branched = true;
    if (count != 2) return;
    j->to[run[0].item] = (int32_t)(run[1].item / j->sides);
    j->to[run[1].item] = (int32_t)(run[0].item / j->sides);
}

hk_status hk_adjacency_make(const hk_model *m, hk_adjacency *a)
{
    size_t tets = 4 * (size_t)m->tet_count, triangles = 3 * (size_t)m->triangle_count;
    *a = (hk_adjacency){m->tet_count, m->triangle_count, HK_ARRAY(int32_t, tets),
                        HK_ARRAY(int32_t, triangles)};
    if (!a->tet || !a->triangle) {
        hk_adjacency_release(a);
        return HK_NO_MEMORY;
    }
    memset(a->tet, 0xff, tets * sizeof(int32_t));
    memset(a->triangle, 0xff, triangles * sizeof(int32_t));
    joining solid = {a->tet, 4, false}, sheet = {a->triangle, 3, false};
    hk_status status =
        hk_visit_facets(m->vertex_count, (int64_t)tets, m->tets, hk_tet_face, join_facets, &solid);
    if (status == HK_OK)
        status = hk_visit_facets(m->vertex_count, (int64_t)triangles, m->triangles,
                                 hk_triangle_edge, join_facets, &sheet);
    if (status == HK_OK && sheet.branched)
        status = hk_fail(HK_UNSUPPORTED, "a sheet with an edge of three triangles cannot be torn");
    if (status != HK_OK) hk_adjacency_release(a);
    return status;
}

void hk_adjacency_release(hk_adjacency *a)
{
    hk_free(a->tet);
    hk_free(a->triangle);
    *a = (hk_adjacency){0};
}

hk_status hk_adjacency_copy(const hk_adjacency *from, hk_adjacency *to)
{
    size_t tets = 4 * (size_t)from->tet_count, triangles = 3 * (size_t)from->triangle_count;
    *to = (hk_adjacency){from->tet_count, from->triangle_count, HK_ARRAY(int32_t, tets),
                         HK_ARRAY(int32_t, triangles)};
    if (!to->tet || !to->triangle) {
        hk_adjacency_release(to);
        return HK_NO_MEMORY;
    }
    memcpy(to->tet, from->tet, tets * sizeof(int32_t));
    memcpy(to->triangle, from->triangle, triangles * sizeof(int32_t));
    return HK_OK;
}

static bool tear(int32_t *to, int sides, int element, int side)
{
    int other = to[sides * (int64_t)element + side];
    if (other < 0) return false;
    to[sides * (int64_t)element + side] = -1;
    for (int k = 0; k < sides; k++)
        if (to[sides * (int64_t)other + k] == element) to[sides * (int64_t)other + k] = -1;
    return true;
}

bool hk_adjacency_tear_tet(hk_adjacency *a, int tet, int face)
{
    return tear(a->tet, 4, tet, face);
}

bool hk_adjacency_tear_triangle(hk_adjacency *a, int triangle, int edge)
{
    return tear(a->triangle, 3, triangle, edge);
}

// ---------------------------------------------------------------- which vertices come apart

typedef struct finder {
    const hk_model *model;
    const hk_adjacency *adjacency;
    hk_splitting *splitting;
    size_t capacity;
    hk_follower around;
    int32_t *part;  // [elements of the vertex with the most] numbers of parts
} finder;

static int corner_of(const int32_t *corners, int count, int32_t vertex)
{
    for (int k = 0; k < count; k++)
        if (corners[k] == vertex) return k;
    return -1;
}

// The element behind side k of an element if that side has the vertex; -1: it has not, or none.
static int32_t across(const finder *f, int32_t element, int32_t vertex, int k)
{
    const hk_model *m = f->model;
    if (element < m->tet_count) {
        int32_t corner = m->tets[4 * (int64_t)element + k];
        return corner == vertex ? -1 : f->adjacency->tet[4 * (int64_t)element + k];
    }
    int64_t t = element - m->tet_count;
    if (k == 3 || m->triangles[3 * t + (k + 2) % 3] == vertex) return -1;
    int32_t other = f->adjacency->triangle[3 * t + k];
    return other < 0 ? -1 : other + m->tet_count;
}

static void spread_part(const finder *f, int32_t vertex, const int32_t *list, int count, int from,
                        int32_t number)
{
    f->part[from] = number;
    for (bool grows = true; grows;) {
        grows = false;
        for (int e = 0; e < count; e++) {
            if (f->part[e] != number) continue;
            for (int k = 0; k < 4; k++) {
                int32_t other = across(f, list[e], vertex, k);
                for (int o = 0; o < count && other >= 0; o++)
                    if (list[o] == other && f->part[o] < 0) {
                        f->part[o] = number;
                        grows = true;
                    }
            }
        }
    }
}

static hk_status add_extra(finder *f, int32_t vertex, int32_t *number)
{
    hk_splitting *s = f->splitting;
    HK_TRY(hk_reserve((void **)&s->origin, (size_t)s->extra_count, sizeof *s->origin, &f->capacity,
                      (size_t)s->extra_count + 1));
    *number = f->model->vertex_count + s->extra_count;
    s->origin[s->extra_count++] = vertex;
    return HK_OK;
}

static void take_corner(const finder *f, int32_t element, int32_t vertex, int32_t number)
{
    const hk_model *m = f->model;
    hk_splitting *s = f->splitting;
    if (element < m->tet_count) {
        int64_t at = 4 * (int64_t)element;
        s->tets[at + corner_of(m->tets + at, 4, vertex)] = number;
        return;
    }
    int64_t at = 3 * ((int64_t)element - m->tet_count);
    s->triangles[at + corner_of(m->triangles + at, 3, vertex)] = number;
}

static hk_status split_vertex(finder *f, int32_t vertex)
{
    const int32_t *list = f->around.list + f->around.start[vertex];
    int count = f->around.start[vertex + 1] - f->around.start[vertex], parts = 0;
    for (int e = 0; e < count; e++) f->part[e] = -1;
    for (int e = 0; e < count; e++)
        if (f->part[e] < 0) spread_part(f, vertex, list, count, e, parts++);
    for (int part = 1; part < parts; part++) {
        int32_t number;
        HK_TRY(add_extra(f, vertex, &number));
        for (int e = 0; e < count; e++)
            if (f->part[e] == part) take_corner(f, list[e], vertex, number);
    }
    return HK_OK;
}

static hk_status find(finder *f, const uint8_t *marked)
{
    const hk_model *m = f->model;
    hk_splitting *s = f->splitting;
    s->tets = HK_ARRAY(int32_t, 4 * (size_t)m->tet_count);
    s->triangles = HK_ARRAY(int32_t, 3 * (size_t)m->triangle_count);
    if (!s->tets || !s->triangles) return HK_NO_MEMORY;
    memcpy(s->tets, m->tets, 4 * sizeof(int32_t) * (size_t)m->tet_count);
    memcpy(s->triangles, m->triangles, 3 * sizeof(int32_t) * (size_t)m->triangle_count);
    HK_TRY(hk_follower_make(m, s, &f->around));
    int most = 0;
    for (int v = 0; v < m->vertex_count; v++)
        most = hk_max_int(most, f->around.start[v + 1] - f->around.start[v]);
    f->part = HK_ARRAY(int32_t, most);
    if (!f->part) return HK_NO_MEMORY;
    for (int v = 0; v < m->vertex_count; v++)
        if (marked[v]) HK_TRY(split_vertex(f, v));
    return HK_OK;
}

hk_status hk_model_find_splitting(const hk_model *m, const hk_adjacency *a, const uint8_t *marked,
                                  hk_splitting *s)
{
    finder f = {.model = m, .adjacency = a, .splitting = s};
    *s = (hk_splitting){0};
    hk_status status = find(&f, marked);
    hk_follower_release(&f.around);
    hk_free(f.part);
    if (status != HK_OK) hk_splitting_release(s);
    return status;
}

void hk_splitting_release(hk_splitting *s)
{
    hk_free(s->origin);
    hk_free(s->tets);
    hk_free(s->triangles);
    *s = (hk_splitting){0};
}

// ---------------------------------------------------------------- the torn model

// Entries [torn][width] of `size` bytes from those of the vertices they come from; NULL stays NULL.
static bool carry(void *array, const int32_t *from, int count, size_t each)
{
    char **at = array, *old = *at;
    if (!old) return true;
    char *new = hk_alloc((size_t)count, each);
    if (!new) return false;
    for (int v = 0; v < count; v++)
        memcpy(new + (size_t)v *each, old + (size_t)from[v] * each, each);
    hk_free(old);
    *at = new;
    return true;
}

static void renumber_bodies(const hk_model *m, const hk_splitting *s, hk_model *torn)
{
    int next = 0;
    for (int b = 0; b < m->body_count; b++) {
        hk_body *body = &torn->bodies[b];
        int first = next, end = body->vertex_start + body->vertex_count;
        while (next < s->extra_count && s->origin[next] < end) next++;
        body->vertex_start += first;
        body->vertex_count += next - first;
    }
    torn->vertex_count = m->vertex_count + s->extra_count;
}

static hk_status number_vertices(const hk_follower *f, const hk_model *torn, int32_t **from)
{
    const hk_model *m = f->model;
    int extra = 0;
    *from = HK_ARRAY(int32_t, torn->vertex_count);
    if (!*from) return HK_NO_MEMORY;
    for (int b = 0; b < m->body_count; b++) {
        const hk_body *old = &m->bodies[b], *new = &torn->bodies[b];
        for (int v = 0; v < new->vertex_count; v++) {
            bool kept = v < old->vertex_count;
            int32_t own = kept ? old->vertex_start + v : f->splitting->origin[extra];
            f->number[kept ? own : m->vertex_count + extra++] = new->vertex_start + v;
            (*from)[new->vertex_start + v] = own;
        }
    }
    return HK_OK;
}

static hk_status carry_arrays(const hk_follower *f, const int32_t *from, hk_model *torn)
{
    int count = torn->vertex_count;
    bool well = carry(&torn->rest, from, count, 3 * sizeof(double)) &&
                carry(&torn->velocity, from, count, 3 * sizeof(double)) &&
                carry(&torn->load, from, count, 3 * sizeof(double)) &&
                carry(&torn->mass, from, count, sizeof(double)) &&
                carry(&torn->hold, from, count, sizeof(int32_t)) &&
                carry(&torn->fixed_by, from, count, 3 * sizeof(int32_t)) &&
                carry(&torn->axes, from, count, sizeof(uint8_t)) &&
                carry(&torn->bend_factor, from, count, sizeof(double)) &&
                carry(&torn->order, from, count, sizeof(int32_t)) &&
                carry(&torn->place, from, count, sizeof(int32_t));
    if (!well) return HK_NO_MEMORY;
    for (int64_t k = 0; k < 4 * (int64_t)torn->tet_count; k++)
        torn->tets[k] = f->number[f->splitting->tets[k]];
    for (int64_t k = 0; k < 3 * (int64_t)torn->triangle_count; k++)
        torn->triangles[k] = f->number[f->splitting->triangles[k]];
    return HK_OK;
}

static hk_status order_vertices(hk_model *m)
{
    for (int b = 0; b < m->body_count; b++) {
        int first = m->bodies[b].vertex_start, count = m->bodies[b].vertex_count;
        HK_TRY(hk_morton_order(count, m->rest + 3 * (int64_t)first, m->order + first));
        for (int k = first; k < first + count; k++) m->order[k] += first;
    }
    for (int k = 0; k < m->vertex_count; k++) m->place[m->order[k]] = k;
    return HK_OK;
}

// What part each has of the mass of those that come from the same vertex.
static hk_status find_shares(const hk_follower *f, const int32_t *from, const hk_model *torn,
                             double **share)
{
    double *sum = HK_ZEROS(double, f->model->vertex_count);
    *share = HK_ARRAY(double, torn->vertex_count);
    if (!sum || !*share) {
        hk_free(sum);
        return HK_NO_MEMORY;
    }
    for (int v = 0; v < torn->vertex_count; v++) sum[from[v]] += torn->mass[v];
    for (int v = 0; v < torn->vertex_count; v++)
        (*share)[v] = f->apart[from[v]] && sum[from[v]] > 0 ? torn->mass[v] / sum[from[v]] : 1;
    hk_free(sum);
    return HK_OK;
}

static hk_status add_attachment(const hk_attachment *old, int32_t vertex, double share, hk_model *m)
{
    size_t count = (size_t)m->attachment_count;
    HK_TRY(hk_reserve((void **)&m->attachments, count, sizeof(hk_attachment),
                      &m->attachment_capacity, count + 1));
    m->attachments[m->attachment_count++] =
        (hk_attachment){vertex, old->motion, old->stiffness * share, old->damping * share};
    return HK_OK;
}

static hk_status share_attachments(const hk_follower *f, const double *share, hk_model *torn)
{
    const hk_model *m = f->model;
    const hk_splitting *s = f->splitting;
    torn->attachment_count = 0;
    for (int k = 0; k < m->attachment_count; k++) {
        const hk_attachment *old = &m->attachments[k];
        int32_t own = f->number[old->vertex];
        HK_TRY(add_attachment(old, own, share[own], torn));
        for (int e = 0; e < s->extra_count && f->apart[old->vertex]; e++) {
            int32_t other = f->number[m->vertex_count + e];
            if (s->origin[e] == old->vertex) HK_TRY(add_attachment(old, other, share[other], torn));
        }
    }
    return HK_OK;
}

// ---------------------------------------------------------------- sides that are drawn back

// Adds the direction from corner k to the others of an element, and the length of its edges.
static void add_inward(const int32_t *c, int corners, int k, const double *x, double *to,
                       double *length, int *edges)
{
    double d[3] = {0}, sum = 0;
    const double *own = x + 3 * (int64_t)c[k];
    for (int o = 0; o < corners; o++) {
        double edge = 0;
        if (o == k) continue;
        for (int i = 0; i < 3; i++) {
            double e = x[3 * (int64_t)c[o] + i] - own[i];
            d[i] += e;
            edge += e * e;
        }
        *length += sqrt(edge);
        *edges += 1;
    }
    for (int i = 0; i < 3; i++) sum += d[i] * d[i];
    for (int i = 0; i < 3 && sum > 0; i++) to[i] += d[i] / sqrt(sum);
}

typedef struct drawing {
    const hk_model *model;
    const double *x;
    double *by, *length;  // [vertex_count][3], [vertex_count]
    int *edges;           // [vertex_count]
    const uint8_t *marked;
} drawing;

static void add_elements(drawing *d, const int32_t *elements, int count, int corners)
{
    for (int64_t e = 0; e < count; e++) {
        const int32_t *c = elements + corners * e;
        for (int k = 0; k < corners; k++)
            if (d->marked[c[k]])
                add_inward(c, corners, k, d->x, d->by + 3 * (int64_t)c[k], &d->length[c[k]],
                           &d->edges[c[k]]);
    }
}

// What a vertex must not cross: a facet of its own with nothing behind it.
typedef struct border {
    int32_t vertex;
    double inward[3];  // unit
} border;

typedef struct borders {
    border *list;
    size_t count, capacity;
} borders;

// The direction from a facet (of two or three corners) at right angles towards x. False: flat.
static bool inward_of(const double *const facet[3], int count, const double *x, double n[3])
{
    double e[2][3], sum = 0;
    for (int i = 0; i < 3; i++) {
        n[i] = x[i] - facet[0][i];
        for (int k = 1; k < count; k++) e[k - 1][i] = facet[k][i] - facet[0][i];
    }
    for (int k = 0; k < count - 1; k++) {  // Gram and Schmidt
        double along = 0, length = 0, both = 0;
        for (int i = 0; i < 3 && k == 1; i++) {
            both += e[0][i] * e[1][i];
            length += e[0][i] * e[0][i];
        }
        for (int i = 0; i < 3 && k == 1; i++) e[1][i] -= both / length * e[0][i];
        length = 0;
        for (int i = 0; i < 3; i++) {
            along += e[k][i] * n[i];
            length += e[k][i] * e[k][i];
        }
        for (int i = 0; i < 3; i++) n[i] -= along / length * e[k][i];
    }
    for (int i = 0; i < 3; i++) sum += n[i] * n[i];
    for (int i = 0; i < 3; i++) n[i] /= sqrt(sum);
    return sum > 0 && isfinite(n[0] + n[1] + n[2]);
}

// Of an element those facets that have no neighbour, at their corners that are marked. Facet k of a
// tet is opposite corner k, that of a triangle goes from corner k to the next.
static hk_status add_borders(const drawing *d, const int32_t *c, int corners, const int32_t *behind,
                             borders *b)
{
    for (int k = 0; k < corners; k++) {
        const double *facet[3];
        int32_t vertex[3];
        int count = 0, apex = corners == 4 ? k : (k + 2) % 3;
        border made;
        if (behind[k] >= 0) continue;
        for (int o = 0; o < corners; o++) {
            if (o == apex) continue;
            vertex[count] = c[o];
            facet[count++] = d->x + 3 * (int64_t)c[o];
        }
        if (!inward_of(facet, count, d->x + 3 * (int64_t)c[apex], made.inward)) continue;
        for (int o = 0; o < count; o++) {
            if (!d->marked[vertex[o]]) continue;
            HK_TRY(hk_reserve((void **)&b->list, b->count, sizeof *b->list, &b->capacity,
                              b->count + 1));
            made.vertex = vertex[o];
            b->list[b->count++] = made;
        }
    }
    return HK_OK;
}

static hk_status list_borders(const drawing *d, borders *b)
{
    const hk_model *m = d->model;
    hk_adjacency a;
    HK_TRY(hk_adjacency_make(m, &a));
    hk_status status = HK_OK;
    for (int64_t t = 0; t < m->tet_count && status == HK_OK; t++)
        status = add_borders(d, m->tets + 4 * t, 4, a.tet + 4 * t, b);
    for (int64_t t = 0; t < m->triangle_count && status == HK_OK; t++)
        status = add_borders(d, m->triangles + 3 * t, 3, a.triangle + 3 * t, b);
    hk_adjacency_release(&a);
    return status;
}

static void normalise(double *v)
{
    double sum = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    for (int i = 0; i < 3 && sum > 0; i++) v[i] /= sqrt(sum);
}

// Turns every direction away from the border that it is nearest to crossing, by less and less, and
// keeps the best: the mean of the elements leaves those of a side that is bent inwards.
static hk_status turn_inward(drawing *d)
{
    enum { PASSES = 48 };
    size_t n = (size_t)d->model->vertex_count;
    borders b = {0};
    double *least = HK_ARRAY(double, n), *best = HK_ARRAY(double, n);
    double *kept = HK_ARRAY(double, 3 * n);
    int64_t *worst = HK_ARRAY(int64_t, n);
    hk_status status = least && best && kept && worst ? list_borders(d, &b) : HK_NO_MEMORY;
    for (size_t v = 0; v < n && status == HK_OK; v++) {
        normalise(d->by + 3 * v);
        best[v] = -INFINITY;
    }
    for (int pass = 0; pass < PASSES && status == HK_OK; pass++) {
        for (size_t v = 0; v < n; v++) least[v] = INFINITY;
        for (size_t k = 0; k < b.count; k++) {
            const double *u = b.list[k].inward, *by = d->by + 3 * (int64_t)b.list[k].vertex;
            double far = u[0] * by[0] + u[1] * by[1] + u[2] * by[2];
            if (!(far < least[b.list[k].vertex])) continue;
            least[b.list[k].vertex] = far;
            worst[b.list[k].vertex] = (int64_t)k;
        }
        for (size_t v = 0; v < n; v++) {
            if (!d->marked[v] || !isfinite(least[v])) continue;
            if (least[v] > best[v]) {
                best[v] = least[v];
                memcpy(kept + 3 * v, d->by + 3 * v, 3 * sizeof(double));
            }
            for (int i = 0; i < 3; i++)
                d->by[3 * v + (size_t)i] += b.list[worst[v]].inward[i] / (1 + 0.25 * pass);
            normalise(d->by + 3 * v);
        }
    }
    for (size_t v = 0; v < n && status == HK_OK; v++)
        if (d->marked[v] && isfinite(best[v]))
            memcpy(d->by + 3 * v, kept + 3 * v, 3 * sizeof(double));
    hk_free(b.list);
    hk_free(least);
    hk_free(best);
    hk_free(kept);
    hk_free(worst);
    return status;
}

static void scale_drawing(drawing *d, double part, double metres)
{
    for (int64_t v = 0; v < d->model->vertex_count; v++) {
        double *by = d->by + 3 * v;
        if (!d->marked[v] || d->edges[v] == 0) continue;
        double far = metres > 0 ? metres : part * d->length[v] / d->edges[v];
        for (int i = 0; i < 3; i++) by[i] *= far;
    }
}

hk_status hk_model_draw_back(const hk_model *m, const int32_t *from, int from_count,
                             const double *x, double part, double metres, double *by)
{
    uint8_t *marked = HK_ZEROS(uint8_t, m->vertex_count);
    int32_t *number = HK_ZEROS(int32_t, from_count);
    drawing d = {m,     x, by, HK_ZEROS(double, m->vertex_count), HK_ZEROS(int, m->vertex_count),
                 marked};
    hk_status status = marked && number && d.length && d.edges ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        memset(by, 0, 3 * sizeof(double) * (size_t)m->vertex_count);
        for (int v = 0; v < m->vertex_count; v++) number[from[v]]++;
        for (int v = 0; v < m->vertex_count; v++)
            marked[v] = number[from[v]] > 1 && m->hold[v] == HK_FREE;
        add_elements(&d, m->tets, m->tet_count, 4);
        add_elements(&d, m->triangles, m->triangle_count, 3);
        status = turn_inward(&d);
        if (status == HK_OK) scale_drawing(&d, part, metres);
    }
    hk_free(marked);
    hk_free(number);
    hk_free(d.length);
    hk_free(d.edges);
    return status;
}

// ---------------------------------------------------------------- all of it

static hk_status build(const hk_follower *f, hk_model *torn, int32_t **from)
{
    renumber_bodies(f->model, f->splitting, torn);
    HK_TRY(number_vertices(f, torn, from));
    HK_TRY(carry_arrays(f, *from, torn));
    HK_TRY(order_vertices(torn));
    HK_TRY(hk_model_measure_elements(torn));
    double *share = NULL;
    hk_status status = find_shares(f, *from, torn, &share);
    if (status == HK_OK) status = share_attachments(f, share, torn);
    for (int64_t k = 0; k < 3 * (int64_t)torn->vertex_count && status == HK_OK; k++)
        torn->load[k] *= share[k / 3];
    if (status == HK_OK) status = hk_follow_all(f, share, *from, torn);
    hk_free(share);
    if (status != HK_OK || !torn->contact || !torn->contact->self) return status;
    torn->apart = HK_ARRAY(double, 3 * (size_t)torn->vertex_count);
    if (!torn->apart) return HK_NO_MEMORY;
    return hk_model_draw_back(torn, *from, f->model->vertex_count, torn->rest, HK_OPENING,
                              torn->tearing ? torn->tearing->opening : 0, torn->apart);
}

hk_status hk_model_split(const hk_model *m, const hk_splitting *s, hk_model **torn, int32_t **from)
{
    hk_follower f;
    hk_model *made = NULL;
    int32_t *origins = NULL;
    if (m->middles) return hk_fail(HK_UNSUPPORTED, "bodies of quadratic tets cannot be torn");
    if (m->spring_factor)
        return hk_fail(HK_UNSUPPORTED, "sheets that began free of sag cannot be torn");
    HK_TRY(hk_follower_make(m, s, &f));
    hk_status status = hk_model_copy(m, &made);
    if (status == HK_OK) status = build(&f, made, &origins);
    hk_follower_release(&f);
    if (status != HK_OK) {
        hk_free(origins);
        hk_model_free(made);
        return status;
    }
    *torn = made;
    *from = origins;
    return HK_OK;
}
