// Whether a body comes in its own way.
#include "contact/sweep_parts.h"

// How near pairs of one body are listed, in edges.
#define NEAR 0.3

// ---------------------------------------------------------------- pairs of one body

static void mean_of(const hk_sweep_body *body, const double *x, const double *move, double factor,
                    double mean[3])
{
    int count = body->points[1] - body->points[0];
    for (int i = 0; i < 3; i++) mean[i] = 0;
    for (size_t p = (size_t)body->points[0]; p < (size_t)body->points[1]; p++)
        for (size_t i = 0; i < 3; i++) mean[i] += x[3 * p + i] + factor * move[3 * p + i];
    for (int i = 0; i < 3; i++) mean[i] /= count;
}

static double determinant(double m[3][3])
{
    double cross[3];
    closest_cross(m[1], m[2], cross);
    return closest_dot(m[0], cross);
}

// The rotation nearest to m (Higham's iteration); the identity where there is none.
static void rotation_of(double m[3][3])
{
    for (int n = 0; n < 40; n++) {
        double det = determinant(m), other[3][3], change = 0;
        if (!(det > 0)) break;
        for (int i = 0; i < 3; i++) closest_cross(m[(i + 1) % 3], m[(i + 2) % 3], other[i]);
        double scale = n < 10 ? 1 / cbrt(det) : 1;  // of m; its inverse transposed is other/det
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                double next = 0.5 * (scale * m[i][j] + other[i][j] / (det * scale));
                change = fmax(change, fabs(next - m[i][j]));
                m[i][j] = next;
            }
        if (change < 1e-13) return;
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) m[i][j] = i == j;
}

// How far points are from those of the base, moved as a rigid body; its rotation.
static double deviation(const hk_sweep *s, const hk_sweep_body *body, double factor,
                        double turn[3][3])
{
    const hk_contacts *c = s->contacts;
    double mean[3], largest = 0;
    mean_of(body, c->x, c->move, factor, mean);
    memset(turn, 0, 9 * sizeof(double));
    for (size_t p = (size_t)body->points[0]; p < (size_t)body->points[1]; p++)
        for (size_t i = 0; i < 3; i++) {
            double at = c->x[3 * p + i] + factor * c->move[3 * p + i] - mean[i];
            for (size_t j = 0; j < 3; j++) turn[i][j] += at * s->base[3 * p + j];
        }
    rotation_of(turn);
    for (size_t p = (size_t)body->points[0]; p < (size_t)body->points[1]; p++) {
        double off[3];
        for (size_t i = 0; i < 3; i++) {
            double rigid = mean[i];
            for (size_t j = 0; j < 3; j++) rigid += turn[i][j] * s->base[3 * p + j];
            off[i] = c->x[3 * p + i] + factor * c->move[3 * p + i] - rigid;
        }
        largest = fmax(largest, closest_dot(off, off));
    }
    return sqrt(largest);
}

// How near pairs have to have been in the base to meet on the way by c->move.
static double needed_near(const hk_sweep *s, const hk_sweep_body *body)
{
    double from[3][3], to[3][3], trace = 0;
    double before = deviation(s, body, 0, from);
    double after = deviation(s, body, 1, to);
    for (int i = 0; i < 3; i++) trace += closest_dot(from[i], to[i]);
    double half = sqrt(fmax(0, 0.25 * (1 + trace)));  // cos θ/2
    return 2 * fmax(before, after) / fmax(half, 1e-3);
}

static bool keep_self_triangle(const hk_contacts *c, int32_t p, const int32_t *t)
{
    return p != t[0] && p != t[1] && p != t[2] &&
           hk_contact_touches(c->settings, c->side[p], c->side[p]);
}

// The distance of a pair at rest is the most at which it pushes.
static double width_of(const hk_contacts *c, const hk_contact *k)
{
    double rest[4][3];
    hk_contact_corners(c->rest, k->point, rest);
    double apart = sqrt(pair_closest(k->pair.kind, (const double(*)[3])rest).square);
    return fmin(c->settings->distance, 0.5 * apart);
}

static hk_status add_self(hk_sweep_body *body, const hk_contacts *c, double near, hk_contact k)
{
    double x[4][3];
    hk_contact_corners(c->x, k.point, x);
    hk_closest at = pair_closest(k.pair.kind, (const double(*)[3])x);
    if (at.square > near * near) return HK_OK;
    k.pair.width = width_of(c, &k);
    if (!(k.pair.width > 0)) return HK_OK;
    HK_TRY(hk_reserve((void **)&body->self, body->self_count, sizeof k, &body->self_room,
                      body->self_count + 1));
    body->self[body->self_count++] = k;
    return HK_OK;
}

static void take_base(hk_sweep *s, const hk_sweep_body *body)
{
    const hk_contacts *c = s->contacts;
    double mean[3];
    mean_of(body, c->x, c->move, 0, mean);
    for (size_t p = (size_t)body->points[0]; p < (size_t)body->points[1]; p++)
        for (size_t i = 0; i < 3; i++) s->base[3 * p + i] = c->x[3 * p + i] - mean[i];
}

// All pairs of the body that are nearer than `near` as it is now, which becomes its base.
static hk_status list_self(hk_sweep *s, int b, double near)
{
    hk_contacts *c = s->contacts;
    hk_sweep_body *body = &s->bodies[b];
    const int32_t *triangles = c->triangles + 3 * (size_t)body->triangles[0];
    const int32_t *edges = c->edges + 2 * (size_t)body->edges[0];
    int points = body->points[1] - body->points[0], first = body->points[0];
    int triangle_count = body->triangles[1] - body->triangles[0];
    int edge_count = body->edges[1] - body->edges[0];
    body->self_count = 0;
    body->near = 0;
    hk_primitive_boxes(c->x, triangle_count, 3, triangles, c->threads, c->boxes);
    HK_TRY(hk_bvh_build(&c->triangle_tree, c->boxes, triangle_count, c->threads));
    hk_primitive_boxes(c->x, points, 1, c->touching + first, c->threads, c->boxes);
    HK_TRY(hk_bvh_box_pairs(c->boxes, points, &c->triangle_tree, near, NULL, NULL, c->threads,
                            &c->triangle_pairs));
    for (size_t k = 0; k < c->triangle_pairs.count; k++) {
        uint64_t key = hk_pairs_keys(&c->triangle_pairs)[k];
        int32_t p = first + hk_key_first(key);
        const int32_t *t = triangles + 3 * (size_t)hk_key_second(key);
        hk_contact made = {
            .point = {p, t[0], t[1], t[2]}, .sides = {b, b}, .pair = {.kind = HK_VERTEX_TRIANGLE}};
        if (keep_self_triangle(c, p, t)) HK_TRY(add_self(body, c, near, made));
    }
    hk_primitive_boxes(c->x, edge_count, 2, edges, c->threads, c->boxes);
    HK_TRY(hk_bvh_build(&c->edge_tree, c->boxes, edge_count, c->threads));
    HK_TRY(hk_bvh_self_pairs(&c->edge_tree, near, NULL, NULL, c->threads, &c->edge_pairs));
    for (size_t k = 0; k < c->edge_pairs.count; k++) {
        uint64_t key = hk_pairs_keys(&c->edge_pairs)[k];
        const int32_t *e = edges + 2 * (size_t)hk_key_first(key);
        const int32_t *f = edges + 2 * (size_t)hk_key_second(key);
        hk_contact made = {
            .point = {e[0], e[1], f[0], f[1]}, .sides = {b, b}, .pair = {.kind = HK_EDGE_EDGE}};
        if (hk_share_vertex(2, e, 2, f)) continue;
        HK_TRY(add_self(body, c, near, made));
    }
    take_base(s, body);
    body->near = near;
    c->detections++;
    return HK_OK;
}

// Makes the list of a body anew where it deforms too much for it; where it deforms too much for
// any, there is none, and its pairs are looked for on the ways (fraction_on_ways).
hk_status hk_sweep_cover_self(hk_sweep *s, int b)
{
    hk_sweep_body *body = &s->bodies[b];
    const hk_contacts *c = s->contacts;
    body->touches = hk_contact_touches(c->settings, b, b) && body->points[1] > body->points[0];
    if (!body->touches || (body->near > 0 && needed_near(s, body) < body->near)) return HK_OK;
    double near = fmax(NEAR * c->settings->bodies[b].edge, 2 * c->settings->distance);
    take_base(s, body);
    body->near = 0;
    body->self_count = 0;
    return needed_near(s, body) < 0.5 * near ? list_self(s, b, near) : HK_OK;
}

// Boxes of the ways by c->move as someone sees them who goes the mean way of the body.
static void find_local_boxes(const hk_sweep *s, const hk_sweep_body *body, double of_way,
                             double distance)
{
    const hk_contacts *c = s->contacts;
    double zero[3], mean[3];
    mean_of(body, c->x, c->move, 0, zero);
    mean_of(body, c->x, c->move, 1, mean);
    for (int p = body->points[0]; p < body->points[1]; p++) {
        const double *x = c->x + 3 * (size_t)p, *move = c->move + 3 * (size_t)p;
        double way[3];
        for (int i = 0; i < 3; i++) way[i] = move[i] - (mean[i] - zero[i]);
        double margin = distance + of_way * sqrt(closest_dot(way, way));
        for (int i = 0; i < 3; i++) {
            s->local[p].low[i] = fmin(x[i], x[i] + way[i]) - margin;
            s->local[p].high[i] = fmax(x[i], x[i] + way[i]) + margin;
        }
    }
}

// Whether the two sides of a pair of one body can meet on these ways.
static bool may_meet(const hk_sweep *s, const hk_contact *k)
{
    hk_box side[2] = {HK_BOX_OF_NOTHING, HK_BOX_OF_NOTHING};
    for (int v = 0; v < 4; v++)
        hk_box_surround(&side[v >= hk_pair_firsts(k->pair.kind)], &s->local[k->point[v]]);
    return hk_box_overlap(&side[0], &side[1]);
}

hk_status hk_sweep_add_selves(hk_sweep *s)
{
    hk_contacts *c = s->contacts;
    for (int b = 0; b < s->body_count; b++) {
        const hk_sweep_body *body = &s->bodies[b];
        size_t most = c->count + body->self_count;
        if (body->self_count == 0) continue;
        HK_TRY(hk_reserve((void **)&c->list, c->count, sizeof *c->list, &c->capacity, most));
        find_local_boxes(s, body, 0, 0.5 * c->settings->distance);
        for (size_t k = 0; k < body->self_count; k++)
            if (may_meet(s, &body->self[k])) hk_sweep_add(c, body->self[k]);
    }
    return HK_OK;
}

// ---------------------------------------------------------------- parts of ways

static double fraction_of_list(const hk_sweep *s, const hk_sweep_body *body)
{
    double least = 1;
    for (size_t k = 0; k < body->self_count; k++)
        if (may_meet(s, &body->self[k]))
            least = fmin(least, hk_contacts_fraction(s->contacts, &body->self[k], least));
    return least;
}

static void fill_local_boxes(const hk_sweep *s, int first, int count, const int32_t *list,
                             int corners)
{
    for (int k = 0; k < count; k++) {
        const int32_t *points = list + (size_t)corners * (size_t)(first + k);
        hk_box box = s->local[points[0]];
        for (int i = 1; i < corners; i++) hk_box_surround(&box, &s->local[points[i]]);
        s->contacts->boxes[k] = box;
    }
}

// Without a list: of all pairs whose ways cross.
static hk_status fraction_on_ways(const hk_sweep *s, const hk_sweep_body *body, double *least)
{
    hk_contacts *c = s->contacts;
    int points = body->points[1] - body->points[0], first = body->points[0];
    int triangles = body->triangles[1] - body->triangles[0];
    int edges = body->edges[1] - body->edges[0];
    fill_local_boxes(s, body->triangles[0], triangles, c->triangles, 3);
    HK_TRY(hk_bvh_build(&c->triangle_tree, c->boxes, triangles, c->threads));
    fill_local_boxes(s, first, points, c->touching, 1);
    HK_TRY(hk_bvh_box_pairs(c->boxes, points, &c->triangle_tree, 0, NULL, NULL, c->threads,
                            &c->triangle_pairs));
    for (size_t k = 0; k < c->triangle_pairs.count; k++) {
        uint64_t key = hk_pairs_keys(&c->triangle_pairs)[k];
        int32_t p = first + hk_key_first(key);
        const int32_t *t = c->triangles + 3 * (size_t)(body->triangles[0] + hk_key_second(key));
        hk_contact pair = {.point = {p, t[0], t[1], t[2]}, .pair = {.kind = HK_VERTEX_TRIANGLE}};
        if (p != t[0] && p != t[1] && p != t[2])
            *least = fmin(*least, hk_contacts_fraction(c, &pair, *least));
    }
    fill_local_boxes(s, body->edges[0], edges, c->edges, 2);
    HK_TRY(hk_bvh_build(&c->edge_tree, c->boxes, edges, c->threads));
    HK_TRY(hk_bvh_self_pairs(&c->edge_tree, 0, NULL, NULL, c->threads, &c->edge_pairs));
    for (size_t k = 0; k < c->edge_pairs.count; k++) {
        uint64_t key = hk_pairs_keys(&c->edge_pairs)[k];
        const int32_t *e = c->edges + 2 * (size_t)(body->edges[0] + hk_key_first(key));
        const int32_t *f = c->edges + 2 * (size_t)(body->edges[0] + hk_key_second(key));
        hk_contact pair = {.point = {e[0], e[1], f[0], f[1]}, .pair = {.kind = HK_EDGE_EDGE}};
        if (!hk_share_vertex(2, e, 2, f))
            *least = fmin(*least, hk_contacts_fraction(c, &pair, *least));
    }
    return HK_OK;
}

// The part of its ways by c->move that a body does not come in its own way.
hk_status hk_sweep_fraction_of_self(const hk_sweep *s, const hk_sweep_body *body, double *least)
{
    *least = 1;
    if (!body->touches) return HK_OK;
    bool listed = body->near > 0 && needed_near(s, body) < body->near;
    if (listed && body->self_count == 0) return HK_OK;
    find_local_boxes(s, body, 0, 0);
    if (!listed) return fraction_on_ways(s, body, least);
    *least = fraction_of_list(s, body);
    return HK_OK;
}
