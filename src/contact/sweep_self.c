// Whether a body can come in its own way, and which of its patches may.
//
// Every two patches that are beside each other at rest, or near each other in a shape of the body
// that is kept, its base, have a number: a distance that no two of their parts without a common
// vertex are nearer than. All others are farther apart than `near` in the base. As long as no point
// is farther than ρ from where the body as a rigid one would have it, turned by at most θ within
// the step, nothing comes nearer than by 2ρ/cos(θ/2): so a body that hardly deforms costs a pass or
// two over its points. Where that is not enough numbers are followed from step to step, each by
// what its own two patches do (sweep_clear.c).
#include "contact/sweep_parts.h"

// How near to each other patches are in the base that have numbers, in edges; it is made anew where
// less than a part of that is left.
#define NEAR 0.3
#define LEFT 0.5
// A body is calm again where it moves by less than this part of what is between its patches.
#define CALM 0.2

// ---------------------------------------------------------------- how far it is from its base

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

// cos θ/2 of what it turns by on the way.
static double half_of(const hk_sweep_body *body)
{
    double trace = 0;
    for (int i = 0; i < 3; i++) trace += closest_dot(body->turn[0][i], body->turn[1][i]);
    return fmax(sqrt(fmax(0, 0.25 * (1 + trace))), 1e-3);
}

// How near things may have been in the base that are to stay apart on the way: where a tenth of the
// distance is left, and what the guard leaves.
static double needed_near(const hk_sweep *s, const hk_sweep_body *body)
{
    double away = fmax(body->away[0], body->away[1]), left = HK_SWEEP_LEFT;
    double way = 2 * (away + hk_sweep_own_margin(s)) / half_of(body);
    return fmax(way / HK_GAP_TO_CLOSE, way + left * s->contacts->settings->distance);
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

// Whether what is farther apart than `near` in the base stays apart.
static bool stays_apart(const hk_sweep *s, hk_sweep_body *body, double way, double near)
{
    // At the end they are at most so much farther away, without another turn.
    memcpy(body->turn[1], body->turn[0], sizeof body->turn[1]);
    body->away[1] = body->away[0] + way;
    body->ends = true;
    if (needed_near(s, body) < near) return true;
    body->away[1] = deviation(s, body, 1, body->turn[1]);
    return needed_near(s, body) < near;
}

// ---------------------------------------------------------------- the base

// Where it is now becomes the base.
static void take_base(hk_sweep *s, hk_sweep_body *body)
{
    const hk_contacts *c = s->contacts;
    double mean[3];
    mean_of(body, c->x, mean);
    for (size_t p = (size_t)body->points[0]; p < (size_t)body->points[1]; p++)
        for (size_t i = 0; i < 3; i++) s->base[3 * p + i] = c->x[3 * p + i] - mean[i];
    body->away[0] = 0;
    body->ends = false;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) body->turn[0][i][j] = i == j;
}

static hk_status keep_apart(void *context, int32_t a, int32_t b)
{
    const hk_sweep_listing *l = context;
    hk_sweep_body *body = &l->sweep->bodies[l->body];
    if (hk_sweep_is_beside(l->sweep, a, b)) return HK_OK;
    HK_TRY(hk_reserve((void **)&body->apart, body->apart_count, sizeof *body->apart,
                      &body->apart_room, body->apart_count + 1));
    body->apart[body->apart_count++] = (hk_sweep_apart){.patch = {a, b}};
    return HK_OK;
}

// Lists patches that are near each other, but not beside each other.
static hk_status list_apart(hk_sweep *s, int b, double near)
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
    body->fitted = false;
    hk_sweep_listing listing = {s, b};
    body->apart_count = 0;
    body->near = 0;
    HK_TRY(hk_patches_meet(s->patches, b, b, NULL, NULL, keep_apart, &listing));
    body->near = near;
    return HK_OK;
}

// From here on what is between patches is known where the body is, not in the base.
static void leave_base(hk_sweep *s, hk_sweep_body *body)
{
    if (!body->based) return;
    body->based = false;
    hk_sweep_lessen(s, body, 2 * body->away[0]);
}

hk_status hk_sweep_look_at_self(hk_sweep *s, int b)
{
    hk_sweep_body *body = &s->bodies[b];
    const hk_contacts *c = s->contacts;
    double edge = c->settings->bodies[b].edge, full = NEAR * edge;
    body->touches = hk_contact_touches(c->settings, b, b) && body->points[1] > body->points[0];
    body->calm = !body->touches;
    // What is thick may be nearer to itself than it is thick.
    if (!body->touches || hk_contact_radius(c->settings, b) > 0) return HK_OK;
    if (!body->known) body->away[0] = deviation(s, body, 0, body->turn[0]);
    body->known = true;
    double way = longest_own_way(s, body);
    body->calm = body->based && stays_apart(s, body, way, fmin(body->least, body->near));
    if (body->calm) return HK_OK;
    leave_base(s, body);
    bool covered = body->near > 0 && stays_apart(s, body, way, body->near);
    // It may be calm from here on.
    bool quiet = way + hk_sweep_own_margin(s) < CALM * body->least;
    if (covered && !quiet) return HK_OK;
    double left = fmax(0, body->near - 2 * body->away[0]);
    take_base(s, body);
    if (!covered || left < LEFT * full) {
        body->near = 0;
        body->apart_count = 0;
        if (3 * (way + hk_sweep_own_margin(s)) > full) return HK_OK;  // it would not last for a step
        HK_TRY(list_apart(s, b, full));
        if (body->apart_count > 0) return HK_OK;  // they have no numbers yet
    } else
        body->near = left;
    body->calm = body->based = quiet && stays_apart(s, body, way, fmin(body->least, body->near));
    return HK_OK;
}
