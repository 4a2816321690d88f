// Which parts of surfaces can meet on the way from contacts->x along contacts->move.
#include <math.h>

#include "contact/quick.h"

#include "contact/contacts.h"

// ---------------------------------------------------------------- boxes around ways

void hk_contacts_swept_boxes(const hk_contacts *c, int count, int corners,
                             const int32_t *primitives, hk_box *boxes)
{
    hk_primitive_boxes(c->x, count, corners, primitives, c->threads, boxes);
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int p = 0; p < count; p++)
        for (int k = 0; k < corners; k++) {
            size_t at = 3 * (size_t)primitives[(size_t)corners * (size_t)p + (size_t)k];
            for (int i = 0; i < 3; i++) {
                double to = c->x[at + (size_t)i] + c->move[at + (size_t)i];
                boxes[p].low[i] = fmin(boxes[p].low[i], to);
                boxes[p].high[i] = fmax(boxes[p].high[i], to);
            }
        }
}

// ---------------------------------------------------------------- pairs

// Sides of one body are as thick as half their distance at rest, at the most (detect.c).
static double thickness_of(const hk_contacts *c, const int32_t point[4], hk_pair_kind kind)
{
    int first = c->side[point[0]], second = c->side[point[kind == HK_EDGE_EDGE ? 2 : 1]];
    double thickness =
        hk_contact_radius(c->settings, first) + hk_contact_radius(c->settings, second);
    if (first != second || !(thickness > 0)) return thickness;
    return fmin(thickness, 0.5 * hk_contacts_rest_distance(c, kind, point));
}

static double longest_of(double move[4][3], int first, int last)
{
    double most = 0;
    for (int v = first; v < last; v++) most = fmax(most, closest_dot(move[v], move[v]));
    return sqrt(most);
}

double hk_contacts_closing(const hk_contacts *c, hk_pair_kind kind, const int32_t point[4],
                           bool together)
{
    double move[4][3];
    int firsts = hk_pair_firsts(kind);
    hk_contact_corners(c->move, point, move);
    for (int i = 0; together && i < 3; i++) {
        double mean = 0.25 * (move[0][i] + move[1][i] + move[2][i] + move[3][i]);
        for (int v = 0; v < 4; v++) move[v][i] -= mean;
    }
    return longest_of(move, 0, firsts) + longest_of(move, firsts, 4);
}

// Whether a pair with a gap of at least `gap` has to be looked at: what comes nearer by less than a
// step may take of a gap need not.
static bool matters(const hk_contacts *c, const hk_way_pair *k, double gap)
{
    double most = fmin(HK_GAP_TO_CLOSE * gap, gap - HK_GAP_LEFT * c->settings->distance);
    return !(hk_contacts_closing(c, k->kind, k->point, c->together) <= most);
}

// Keeps those among the first `count` that are marked.
static void keep_marked(hk_contacts *c, size_t count)
{
    c->swept_count = 0;
    for (size_t k = 0; k < count; k++)
        if (c->swept[k].marked) c->swept[c->swept_count++] = c->swept[k];
}

static void mark_pairs(hk_contacts *c, const hk_pairs *pairs, hk_pair_kind kind, hk_way_pair *to)
{
    const uint64_t *keys = hk_pairs_keys(pairs);
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (size_t k = 0; k < pairs->count; k++) {
        hk_way_pair *p = &to[k];
        p->kind = kind;
        hk_contacts_points_of(c, kind, keys[k], p->point);
        p->thickness = thickness_of(c, p->point, kind);
        p->marked = matters(c, p, hk_contacts_pair_distance(c, kind, p->point) - p->thickness);
    }
}

static double height_over(const hk_contacts *c, int32_t plane, const double x[3])
{
    double normal[3], d[3];
    closest_minus(c->x + 3 * (size_t)(plane + 1), c->x + 3 * (size_t)plane, normal);
    closest_minus(x, c->x + 3 * (size_t)plane, d);
    return closest_dot(normal, d);
}

static bool is_turning(const hk_contacts *c, int32_t plane)
{
    double d[3];
    closest_minus(c->move + 3 * (size_t)(plane + 1), c->move + 3 * (size_t)plane, d);
    return closest_dot(d, d) > 0;
}

// Points that a plane can meet: those that come nearer than they are by a half; all, where it
// turns.
static size_t count_planes(hk_contacts *c, bool add)
{
    size_t count = 0;
    for (int o = 0; o < c->settings->obstacle_count; o++) {
        int32_t plane = c->plane_of[o], side = c->settings->body_count + o;
        bool all = plane >= 0 && is_turning(c, plane);
        for (int32_t p = 0; plane >= 0 && p < c->body_points; p++) {
            if (!hk_contacts_counts(c, p)) continue;
            if (!hk_contact_touches(c->settings, c->side[p], side)) continue;
            size_t at = 3 * (size_t)p, from = 3 * (size_t)plane;
            double to[3];
            for (size_t i = 0; i < 3; i++)
                to[i] = c->x[at + i] + c->move[at + i] - c->move[from + i];
            double thickness = hk_contact_radius(c->settings, c->side[p]);
            double height = height_over(c, plane, c->x + at) - thickness;
            if (!all && height_over(c, plane, to) - thickness > 0.5 * height) continue;
            int32_t point[4] = {p, plane, plane + 1, plane + 1};
            if (add) {
                hk_way_pair *pair = &c->swept[c->swept_count++];
                *pair = (hk_way_pair){.kind = HK_VERTEX_PLANE, .thickness = thickness};
                memcpy(pair->point, point, sizeof point);
            }
            count++;
        }
    }
    return count;
}

static hk_status reserve(hk_contacts *c, size_t count)
{
    c->swept_count = 0;
    return hk_reserve((void **)&c->swept, 0, sizeof *c->swept, &c->swept_capacity, count);
}

static hk_status search(hk_contacts *c)
{
    HK_TRY(hk_contacts_find_pairs(c, hk_contacts_swept_boxes, 0));
    size_t planes = count_planes(c, false);
    size_t triangles = c->triangle_pairs.count, edges = c->edge_pairs.count;
    HK_TRY(reserve(c, triangles + edges + planes));
    mark_pairs(c, &c->triangle_pairs, HK_VERTEX_TRIANGLE, c->swept);
    mark_pairs(c, &c->edge_pairs, HK_EDGE_EDGE, c->swept + triangles);
    keep_marked(c, triangles + edges);
    count_planes(c, true);
    return HK_OK;
}

// ---------------------------------------------------------------- the list

static hk_status take_list(hk_contacts *c)
{
    HK_TRY(reserve(c, c->count));
    double nearer = hk_contacts_nearer(c);
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (size_t k = 0; k < c->count; k++) {
        hk_way_pair *p = &c->swept[k];
        memcpy(p->point, c->list[k].point, sizeof p->point);
        p->kind = c->list[k].pair.kind;
        p->thickness = c->list[k].pair.thickness;
        p->marked = matters(c, p, c->gap[k] - nearer);
    }
    keep_marked(c, c->count);
    return HK_OK;
}

double hk_contacts_longest_move(const hk_contacts *c)
{
    double square = 0;
    for (int p = 0; p < c->point_count; p++) {
        const double *m = c->move + 3 * (size_t)p;
        square = fmax(square, closest_dot(m, m));
    }
    return sqrt(square);
}

static double away_from_base(const hk_contacts *c)
{
    double square = 0;
    for (int p = 0; p < c->point_count; p++) {
        double d[3];
        closest_minus(c->x + 3 * (size_t)p, c->base + 3 * (size_t)p, d);
        square = fmax(square, closest_dot(d, d));
    }
    return sqrt(square);
}

// Far from a plane that turns points come nearer than the plane's own have moved.
static bool any_turns(const hk_contacts *c)
{
    for (int o = 0; o < c->settings->obstacle_count; o++)
        if (c->plane_of[o] >= 0 && is_turning(c, c->plane_of[o])) return true;
    return false;
}

bool hk_contacts_way_is_listed(const hk_contacts *c)
{
    return hk_contacts_reach(c, away_from_base(c) + hk_contacts_longest_move(c)) && !any_turns(c);
}

hk_status hk_contacts_search_way(hk_contacts *c)
{
    bool known = hk_contacts_way_is_listed(c);
    hk_status status = known ? take_list(c) : search(c);
    if (!known) c->sweeps++;
    return status;
}
