// Whether a body comes in its own way.
#include "contact/sweep_parts.h"

// How near pairs of one body are listed, in edges.
#define NEAR 0.3

// ---------------------------------------------------------------- how far it is from its list

static void mean_of(const hk_sweep_body *body, const double *x, double mean[3])
{
    int count = body->points[1] - body->points[0];
    for (int i = 0; i < 3; i++) mean[i] = 0;
    for (size_t p = (size_t)body->points[0]; p < (size_t)body->points[1]; p++)
        for (size_t i = 0; i < 3; i++) mean[i] += x[3 * p + i];
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

// How far points are from those of the base, moved as a rigid body; its rotation. With a factor of
// 1 that is where their ways end.
static double deviation(const hk_sweep *s, const hk_sweep_body *body, double factor,
                        double turn[3][3])
{
    const hk_contacts *c = s->contacts;
    double mean[3], way[3], largest = 0;
    mean_of(body, c->x, mean);
    mean_of(body, c->move, way);
    for (int i = 0; i < 3; i++) mean[i] += factor * way[i];
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
        double square = closest_dot(off, off);
        if (square > largest) largest = square;
    }
    return sqrt(largest);
}

// How near pairs have to have been in the base to meet on the way.
static double needed_near(const hk_sweep_body *body)
{
    double trace = 0;
    for (int i = 0; i < 3; i++) trace += closest_dot(body->turn[0][i], body->turn[1][i]);
    double half = sqrt(fmax(0, 0.25 * (1 + trace)));  // cos θ/2
    return 2 * fmax(body->away[0], body->away[1]) / fmax(half, 1e-3);
}

// The longest way of a point less the mean way.
static double longest_own_way(const hk_sweep *s, const hk_sweep_body *body)
{
    double largest = 0;
    for (size_t p = (size_t)body->points[0]; p < (size_t)body->points[1]; p++) {
        double d[3];
        closest_minus(s->contacts->move + 3 * p, body->mean, d);
        double square = closest_dot(d, d);
        if (square > largest) largest = square;
    }
    return sqrt(largest);
}

// Whether the list that there is has all that can meet on the way.
static bool is_covered(hk_sweep *s, hk_sweep_body *body)
{
    if (!(body->near > 0)) return false;
    if (body->followed) {
        body->away[0] = body->away[1];
        memcpy(body->turn[0], body->turn[1], sizeof body->turn[0]);
    } else
        body->away[0] = deviation(s, body, 0, body->turn[0]);
    // At the end they are at most so much farther away, without another turn.
    memcpy(body->turn[1], body->turn[0], sizeof body->turn[1]);
    body->away[1] = body->away[0] + longest_own_way(s, body);
    if (needed_near(body) < 0.5 * body->near) return true;
    body->away[1] = deviation(s, body, 1, body->turn[1]);
    return needed_near(body) < body->near;
}

// ---------------------------------------------------------------- the list

// Where it is now becomes the shape that it is compared with.
static void take_base(hk_sweep *s, hk_sweep_body *body)
{
    const hk_contacts *c = s->contacts;
    double mean[3];
    mean_of(body, c->x, mean);
    for (size_t p = (size_t)body->points[0]; p < (size_t)body->points[1]; p++)
        for (size_t i = 0; i < 3; i++) s->base[3 * p + i] = c->x[3 * p + i] - mean[i];
    body->near = body->away[0] = 0;
    body->self_count = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) body->turn[0][i][j] = i == j;
    body->away[1] = deviation(s, body, 1, body->turn[1]);
}

// All pairs of the body that are nearer than `near` as it is now.
static hk_status list_self(hk_sweep *s, int b, double near)
{
    hk_contacts *c = s->contacts;
    hk_sweep_body *body = &s->bodies[b];
    for (int p = body->points[0]; p < body->points[1]; p++) {
        double low[3], high[3];
        for (int i = 0; i < 3; i++) {
            low[i] = c->x[3 * (size_t)p + (size_t)i] - 0.5 * near;
            high[i] = c->x[3 * (size_t)p + (size_t)i] + 0.5 * near;
        }
        s->patches->point[p] = hk_patch_round(low, high);
    }
    hk_patches_refit(s->patches, b);
    hk_sweep_found found = {body->self, 0, body->self_room};
    hk_sweep_search search = {.sweep = s, .found = &found, .near = near};
    hk_status status = hk_sweep_list_own(s, b, &search);
    body->self = found.list;
    body->self_room = found.room;
    body->self_count = status == HK_OK ? found.count : 0;
    body->near = status == HK_OK ? near : 0;
    return status;
}

// Those that come together on the way, as far as that is known now.
static hk_status list_on_way(hk_sweep *s, int b)
{
    hk_sweep_body *body = &s->bodies[b];
    hk_sweep_found found = {body->self, 0, body->self_room};
    hk_sweep_own own = {.sweep = s, .found = &found, .margin = s->contacts->settings->distance};
    hk_status status = hk_sweep_search_own(s, b, &own);
    body->self = found.list;
    body->self_room = found.room;
    body->self_count = status == HK_OK ? found.count : 0;
    return status;
}

// Makes the list of a body anew where it deforms too much for it; where it deforms too much for
// any, there is none, and its pairs are looked for on the ways.
hk_status hk_sweep_cover_self(hk_sweep *s, int b)
{
    hk_sweep_body *body = &s->bodies[b];
    const hk_contacts *c = s->contacts;
    body->touches = hk_contact_touches(c->settings, b, b) && body->points[1] > body->points[0];
    if (!body->touches) return HK_OK;
    mean_of(body, c->move, body->mean);
    bool covered = is_covered(s, body);
    body->followed = true;
    if (covered) return HK_OK;
    double near = fmax(NEAR * c->settings->bodies[b].edge, 2 * c->settings->distance);
    take_base(s, body);
    if (!(needed_near(body) < 0.5 * near)) return list_on_way(s, b);
    return list_self(s, b, near);
}

// ---------------------------------------------------------------- pairs

// Whether the two sides of a pair of one body can meet on ways less the mean way.
static bool may_meet(const hk_sweep *s, const hk_sweep_body *body, const hk_way_pair *k,
                     double margin)
{
    const hk_contacts *c = s->contacts;
    hk_box side[2] = {HK_BOX_OF_NOTHING, HK_BOX_OF_NOTHING};
    for (int v = 0; v < 4; v++) {
        const double *x = c->x + 3 * (size_t)k->point[v], *move = c->move + 3 * (size_t)k->point[v];
        hk_box box;
        for (int i = 0; i < 3; i++) {
            double to = x[i] + move[i] - body->mean[i];
            box.low[i] = fmin(x[i], to) - margin;
            box.high[i] = fmax(x[i], to) + margin;
        }
        hk_box_surround(&side[v >= hk_pair_firsts(k->kind)], &box);
    }
    return hk_box_overlap(&side[0], &side[1]);
}

hk_status hk_sweep_add_selves(hk_sweep *s)
{
    const hk_contacts *c = s->contacts;
    for (int b = 0; b < s->body_count; b++) {
        const hk_sweep_body *body = &s->bodies[b];
        double margin = 0.5 * c->settings->distance + 0.5 * hk_contact_radius(c->settings, b);
        if (body->self_count == 0) continue;
        HK_TRY(hk_reserve((void **)&s->pairs, s->count, sizeof *s->pairs, &s->room,
                          s->count + body->self_count));
        for (size_t k = 0; k < body->self_count; k++) {
            if (!may_meet(s, body, &body->self[k].way, margin)) continue;
            hk_sweep_pair *pair = &s->pairs[s->count];
            *pair = body->self[k];
            hk_sweep_measure(c, pair);
            s->count += hk_sweep_is_met(s, pair);
        }
    }
    return HK_OK;
}

// ---------------------------------------------------------------- the guard

static hk_status find_in_list(hk_sweep *s, hk_sweep_body *body)
{
    HK_TRY(
        hk_reserve((void **)&body->own, 0, sizeof *body->own, &body->own_room, body->self_count));
    for (size_t k = 0; k < body->self_count; k++) {
        const hk_way_pair *way = &body->self[k].way;
        double time, left = 0.5 * (way->thickness + HK_SWEEP_LEFT * body->self[k].width);
        if (!may_meet(s, body, way, left)) continue;
        hk_sweep_pair *pair = &body->own[body->own_count];
        *pair = body->self[k];
        hk_sweep_measure(s->contacts, pair);
        body->own_count += !hk_sweep_is_safe(s, pair, 0) && hk_sweep_stops(s, pair, &time);
    }
    return HK_OK;
}

hk_status hk_sweep_find_own(hk_sweep *s, int b, double off)
{
    hk_sweep_body *body = &s->bodies[b];
    body->own_count = 0;
    if (!body->touches) return HK_OK;
    mean_of(body, s->contacts->move, body->mean);
    bool listed = false;
    if (body->near > 0) {
        body->away[1] += 2 * off;
        listed = needed_near(body) < body->near;
        if (!listed) {
            body->away[1] = deviation(s, body, 1, body->turn[1]);
            listed = needed_near(body) < body->near;
        }
    }
    if (listed) return find_in_list(s, body);
    body->near = 0;
    hk_sweep_found found = {body->own, 0, body->own_room};
    hk_sweep_own own = {.sweep = s, .found = &found, .guard = true};
    hk_status status = hk_sweep_search_own(s, b, &own);
    body->own = found.list;
    body->own_room = found.room;
    body->own_count = status == HK_OK ? found.count : 0;
    return status;
}
