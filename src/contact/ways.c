// Which parts of surfaces can meet on the way from contacts->x along contacts->move.
#include <math.h>

#include "contact/touches.h"

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
static double thickness_of(const hk_contacts *c, const int32_t point[4], int kind)
{
    int first = c->side[point[0]], second = c->side[point[kind == HK_EDGE_EDGE ? 2 : 1]];
    double thickness =
        hk_contact_radius(c->settings, first) + hk_contact_radius(c->settings, second);
    if (first != second || !(thickness > 0)) return thickness;
    double rest[4][3];
    hk_contact_corners(c->rest, point, rest);
    double apart = sqrt(pair_closest((hk_pair_kind)kind, (const double(*)[3])rest).square);
    return fmin(thickness, 0.5 * apart);
}

static void add_pair(hk_contacts *c, hk_pair_kind kind, const int32_t point[4], double thickness)
{
    hk_way_pair *to = &c->swept[c->swept_count++];
    memcpy(to->point, point, sizeof to->point);
    to->kind = kind;
    to->thickness = thickness;
}

static void add_triangles(hk_contacts *c)
{
    const uint64_t *keys = hk_pairs_keys(&c->triangle_pairs);
    for (size_t k = 0; k < c->triangle_pairs.count; k++) {
        const int32_t *t = c->triangles + 3 * (size_t)hk_key_second(keys[k]);
        int32_t point[4] = {c->touching[hk_key_first(keys[k])], t[0], t[1], t[2]};
        add_pair(c, HK_VERTEX_TRIANGLE, point, thickness_of(c, point, HK_VERTEX_TRIANGLE));
    }
}

static void add_edges(hk_contacts *c)
{
    const uint64_t *keys = hk_pairs_keys(&c->edge_pairs);
    for (size_t k = 0; k < c->edge_pairs.count; k++) {
        const int32_t *a = c->edges + 2 * (size_t)hk_key_first(keys[k]);
        const int32_t *b = c->edges + 2 * (size_t)hk_key_second(keys[k]);
        int32_t point[4] = {a[0], a[1], b[0], b[1]};
        add_pair(c, HK_EDGE_EDGE, point, thickness_of(c, point, HK_EDGE_EDGE));
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
            if (!hk_contact_touches(c->settings, c->side[p], side)) continue;
            size_t at = 3 * (size_t)p, from = 3 * (size_t)plane;
            double to[3];
            for (size_t i = 0; i < 3; i++)
                to[i] = c->x[at + i] + c->move[at + i] - c->move[from + i];
            double thickness = hk_contact_radius(c->settings, c->side[p]);
            double height = height_over(c, plane, c->x + at) - thickness;
            if (!all && height_over(c, plane, to) - thickness > 0.5 * height) continue;
            int32_t point[4] = {p, plane, plane + 1, plane + 1};
            if (add) add_pair(c, HK_VERTEX_PLANE, point, thickness);
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
    HK_TRY(reserve(c, c->triangle_pairs.count + c->edge_pairs.count + planes));
    add_triangles(c);
    add_edges(c);
    count_planes(c, true);
    return HK_OK;
}

// ---------------------------------------------------------------- the list

// Whether two are so far from each other that moves of `longest` at the most take less of their gap
// than the guard leaves them anyway. `moved`: as hk_touches_moved has it.
static bool is_out_of_reach(const hk_contacts *c, size_t number, double moved, double longest)
{
    if (!(moved < HUGE_VAL)) return false;
    double gap = 0.99 * (c->touches->gap[number] - 2 * moved);
    return HK_GAP_TO_CLOSE * gap - HK_GAP_LEFT * c->settings->distance > 2 * longest;
}

static hk_status take_list(hk_contacts *c)
{
    double moved = hk_touches_moved(c), longest = hk_contacts_longest_move(c);
    HK_TRY(reserve(c, c->count));
    for (size_t k = 0; k < c->count; k++) {
        if (is_out_of_reach(c, k, moved, longest)) continue;
        add_pair(c, c->list[k].pair.kind, c->list[k].point, c->list[k].pair.thickness);
    }
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
