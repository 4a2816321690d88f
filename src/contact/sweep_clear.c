// Patches of one body that its shape keeps apart.
//
// Patches beside each other always are in reach of each other. What is between their parts, those
// without a common vertex, is known of the shape at rest: D at the least. Let R_a be a rotation,
// b_a the middle of a patch at rest, β_p a corner from there, and x_p = c_a + R_a β_p + e_p where
// it is now. Then for points p, q of two patches, d at rest,
//
//   x_p − x_q − R_a d = (c_a − c_b − R_a (b_a − b_b)) + (R_a − R_b) β_q + e_p − e_q,
//
// which is no longer than a number `off` that a few of a patch tell, and as |R_a d| = |d|, the two
// are no nearer than D − off. On a straight way both sides of that are between those of its ends,
// and R_a d becomes shorter by cos θ/2 at most, θ what the patch turns by. Only where that is too
// little parts are looked at.
#include "contact/quick.h"
#include "contact/sweep_parts.h"

// How near patches are at rest that are looked after, in edges.
#define BESIDE 0.25
// More than this, in edges, is not measured.
#define ENOUGH 1

// ---------------------------------------------------------------- which they are

typedef struct listing {
    int32_t (*pairs)[2];
    size_t count, room;
} listing;

static hk_status list_two(void *context, int32_t a, int32_t b)
{
    listing *l = context;
    HK_TRY(hk_reserve((void **)&l->pairs, l->count, sizeof *l->pairs, &l->room, l->count + 1));
    l->pairs[l->count][0] = hk_min_int(a, b);
    l->pairs[l->count++][1] = hk_max_int(a, b);
    return HK_OK;
}

static hk_status list_all(hk_sweep *s, listing *l)
{
    const hk_contacts *c = s->contacts;
    for (int b = 0; b < s->body_count; b++) {
        double beside = 0.5 * BESIDE * c->settings->bodies[b].edge;
        for (int p = s->bodies[b].points[0]; p < s->bodies[b].points[1]; p++) {
            double low[3], high[3];
            for (int i = 0; i < 3; i++) {
                low[i] = c->rest[3 * (size_t)p + (size_t)i] - beside;
                high[i] = c->rest[3 * (size_t)p + (size_t)i] + beside;
            }
            s->patches->point[p] = hk_patch_round(low, high);
        }
        hk_patches_refit(s->patches, b);
        HK_TRY(hk_patches_meet(s->patches, b, b, NULL, NULL, list_two, l));
    }
    return HK_OK;
}

static hk_status sort_pairs(hk_sweep *s, const listing *l)
{
    size_t patches = (size_t)s->patches->count;
    s->beside_start = HK_ZEROS(size_t, patches + 2);
    s->beside = HK_ARRAY(int32_t, l->count + 1);
    s->clear = HK_ZEROS(float, l->count + 1);
    if (!s->beside_start || !s->beside || !s->clear) return HK_NO_MEMORY;
    for (size_t k = 0; k < l->count; k++) s->beside_start[l->pairs[k][0] + 2]++;
    for (size_t k = 0; k < patches; k++) s->beside_start[k + 2] += s->beside_start[k + 1];
    for (size_t k = 0; k < l->count; k++)
        s->beside[s->beside_start[l->pairs[k][0] + 1]++] = l->pairs[k][1];
    return HK_OK;
}

hk_status hk_sweep_list_beside(hk_sweep *s)
{
    listing l = {0};
    size_t patches = (size_t)s->patches->count;
    s->shape = HK_ZEROS(hk_sweep_shape, patches + 1);
    for (int k = 0; k < 2; k++) s->fit[k] = HK_ZEROS(hk_sweep_fit, patches + 1);
    hk_status status = s->shape && s->fit[0] && s->fit[1] ? list_all(s, &l) : HK_NO_MEMORY;
    if (status == HK_OK) status = sort_pairs(s, &l);
    hk_free(l.pairs);
    return status;
}

// ---------------------------------------------------------------- what is between them at rest

enum { MOST = 3 * HK_PATCH_TRIANGLES };
typedef struct balls {  // around primitives of a patch, from a place near it
    float middle[3][MOST + 3], radius[MOST + 3];
    const int32_t *corner[MOST];
    int count;
} balls;

// Single precision turns what is far from `place` by less than this.
#define ROUNDING 1e-6f

static void find_balls(const hk_contacts *c, const double place[3], const int32_t *which,
                       const int32_t run[2], const int32_t *corners, int each, balls *to)
{
    float part = 1.0f / (float)each;
    to->count = run[1] - run[0];
    for (int n = 0; n < to->count; n++) {
        int32_t k = run[0] + n;
        const int32_t *corner = corners ? corners + (size_t)each * (size_t)which[k] : which + k;
        hk_float4 at[3], middle = {0}, square = {0};
        float size = 0;
        to->corner[n] = corner;
        for (int v = 0; v < each; v++) {
            const double *x = c->rest + 3 * (size_t)corner[v];
            at[v] = (hk_float4){(float)(x[0] - place[0]), (float)(x[1] - place[1]),
                                (float)(x[2] - place[2]), 0};
            middle += part * at[v];
        }
        for (int v = 0; v < each; v++) {
            hk_float4 d = at[v] - middle;
            square = d * d;
            float all = square[0] + square[1] + square[2];
            size = all > size ? all : size;
        }
        square = middle * middle;
        for (int i = 0; i < 3; i++) to->middle[i][n] = middle[i];
        to->radius[n] =
            sqrtf(size) + ROUNDING * (sqrtf(size) + sqrtf(square[0] + square[1] + square[2]));
    }
    for (int n = to->count; n < to->count + 3; n++)
        to->middle[0][n] = to->middle[1][n] = to->middle[2][n] = to->radius[n] = 0;
}

// Which of four balls, from `first` on, are nearer than `most` to another one.
static unsigned near_balls(const balls *one, int n, const balls *four, int first, float most)
{
    hk_float4 square = {0}, reach = *(const hk_float4u *)(four->radius + first);
    reach += one->radius[n] + most;
    for (int i = 0; i < 3; i++) {
        hk_float4 d = *(const hk_float4u *)(four->middle[i] + first) - one->middle[i][n];
        square += d * d;
    }
    unsigned bits = hk_four_bits(square <= reach * reach);
    return first + 4 > four->count ? bits & (15u >> (first + 4 - four->count)) : bits;
}

// The distance of two primitives where it is less than `least`, else that.
static double nearer(const hk_contacts *c, hk_pair_kind kind, const int32_t *a, const int32_t *b,
                     double least)
{
    double x[4][3], weight[4], w[3];
    int first = kind == HK_EDGE_EDGE ? 2 : 1;
    if (hk_share_vertex(first, a, 4 - first, b)) return least;
    for (int v = 0; v < 4; v++) {
        int32_t p = v < first ? a[v] : b[v - first];
        memcpy(x[v], c->rest + 3 * (size_t)p, sizeof x[v]);
    }
    quick_closest(kind, (const double(*)[3])x, weight, w);
    return fmin(least, sqrt(closest_dot(w, w)));
}

static double nearest(const hk_contacts *c, hk_pair_kind kind, const balls *first,
                      const balls *second, bool same, double most)
{
    for (int i = 0; i < first->count; i++)
        for (int j = same ? (i + 1) / 4 * 4 : 0; j < second->count; j += 4) {
            unsigned near = near_balls(first, i, second, j, (float)most * (1 + ROUNDING));
            for (; near; near &= near - 1) {
                int k = j + __builtin_ctz(near);
                if (same && k <= i) continue;
                most = nearer(c, kind, first->corner[i], second->corner[k], most);
            }
        }
    return most;
}

static double clearance(const hk_sweep *s, int32_t a, int32_t b, double most)
{
    const hk_contacts *c = s->contacts;
    const hk_patches *p = s->patches;
    const hk_patch *patch[2] = {&p->patches[a], &p->patches[b]};
    const double *place = c->rest + 3 * (size_t)p->corners[patch[0]->corners[0]];
    balls first, second;
    for (int k = 0; k < (a == b ? 1 : 2); k++) {
        find_balls(c, place, p->points, patch[k]->points, NULL, 1, &first);
        find_balls(c, place, p->triangles, patch[1 - k]->triangles, c->triangles, 3, &second);
        most = nearest(c, HK_VERTEX_TRIANGLE, &first, &second, false, most);
    }
    find_balls(c, place, p->edges, patch[0]->edges, c->edges, 2, &first);
    find_balls(c, place, p->edges, patch[1]->edges, c->edges, 2, &second);
    return nearest(c, HK_EDGE_EDGE, &first, &second, a == b, most);
}

static void find_shape(const hk_sweep *s, int32_t which)
{
    const hk_contacts *c = s->contacts;
    const hk_patch *patch = &s->patches->patches[which];
    hk_sweep_shape *to = &s->shape[which];
    double part = 1.0 / (patch->corners[1] - patch->corners[0]), size = 0;
    for (int k = patch->corners[0]; k < patch->corners[1]; k++)
        for (size_t i = 0; i < 3; i++)
            to->middle[i] += part * c->rest[3 * (size_t)s->patches->corners[k] + i];
    for (int k = patch->corners[0]; k < patch->corners[1]; k++) {
        double d[3];
        closest_minus(c->rest + 3 * (size_t)s->patches->corners[k], to->middle, d);
        size = fmax(size, closest_dot(d, d));
    }
    to->size = sqrt(size);
    for (int k = 0; k < 2; k++) s->fit[k][which].turn[0] = 1;
}

static void find_shapes(hk_sweep *s, hk_sweep_body *body, double edge)
{
    for (int32_t a = body->patches[0]; a < body->patches[1]; a++) {
        find_shape(s, a);
        for (size_t k = s->beside_start[a]; k < s->beside_start[a + 1]; k++)
            s->clear[k] = hk_round_down(clearance(s, a, s->beside[k], ENOUGH * edge));
    }
    body->shaped = true;
}

// ---------------------------------------------------------------- where patches are

static void rotation_by(const double q[4], double r[3][3])
{
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        r[i][i] = 1 - 2 * (q[1 + j] * q[1 + j] + q[1 + k] * q[1 + k]);
        r[i][j] = 2 * (q[1 + i] * q[1 + j] - q[0] * q[1 + k]);
        r[j][i] = 2 * (q[1 + i] * q[1 + j] + q[0] * q[1 + k]);
    }
}

// Turns q towards the rotation nearest to m by 2 ω, ω = Σ r_j × m_j/(2 |Σ r_j · m_j|) over columns;
// how far (Müller, Bender, Chentanez & Macklin 2016).
static double turn_towards(double m[3][3], double r[3][3], double q[4])
{
    double by[3] = {0}, sum = 0, next[4], square = 0;
    for (int j = 0; j < 3; j++) {
        double from[3] = {r[0][j], r[1][j], r[2][j]}, to[3] = {m[0][j], m[1][j], m[2][j]}, cross[3];
        closest_cross(from, to, cross);
        for (int i = 0; i < 3; i++) by[i] += cross[i];
        sum += closest_dot(from, to);
    }
    if (!(fabs(sum) > 0)) return 0;
    for (int i = 0; i < 3; i++) by[i] *= 0.5 / fabs(sum);
    next[0] = q[0] - closest_dot(by, q + 1);
    closest_cross(by, q + 1, next + 1);
    for (int i = 0; i < 3; i++) next[1 + i] += q[1 + i] + q[0] * by[i];
    for (int i = 0; i < 4; i++) square += next[i] * next[i];
    for (int i = 0; i < 4; i++) q[i] = next[i] / sqrt(square);
    return sqrt(closest_dot(by, by));
}

enum { MOST_TURNS = 4 };

// Any rotation will do; the nearer it is, the less is off.
static void fit_patch(const hk_sweep *s, int32_t which, double part, hk_sweep_fit *to)
{
    enum { FEW = 3 * HK_PATCH_TRIANGLES };
    const hk_contacts *c = s->contacts;
    const hk_patch *patch = &s->patches->patches[which];
    const hk_sweep_shape *shape = &s->shape[which];
    int count = patch->corners[1] - patch->corners[0];
    double at[FEW][3], rest[FEW][3], m[3][3] = {{0}}, square = 0;
    for (int i = 0; i < 3; i++) to->middle[i] = 0;
    for (int k = 0; k < count; k++) {
        size_t p = 3 * (size_t)s->patches->corners[patch->corners[0] + k];
        closest_minus(c->rest + p, shape->middle, rest[k]);
        for (size_t i = 0; i < 3; i++) {
            at[k][i] = c->x[p + i] + part * c->move[p + i];
            to->middle[i] += at[k][i];
        }
    }
    for (int i = 0; i < 3; i++) to->middle[i] /= count;
    for (int k = 0; k < count; k++)
        for (int i = 0; i < 3; i++) {
            at[k][i] -= to->middle[i];
            for (int j = 0; j < 3; j++) m[i][j] += at[k][i] * rest[k][j];
        }
    for (int n = 0; n < MOST_TURNS; n++) {
        rotation_by(to->turn, to->rotation);
        if (!(turn_towards(m, to->rotation, to->turn) > 1e-3)) break;
    }
    rotation_by(to->turn, to->rotation);
    for (int k = 0; k < count; k++) {
        double e[3];
        for (int i = 0; i < 3; i++) e[i] = at[k][i] - closest_dot(to->rotation[i], rest[k]);
        square = fmax(square, closest_dot(e, e));
    }
    to->off = sqrt(square);
}

static void fit_patches(const hk_sweep *s, const hk_sweep_body *body, int end)
{
    for (int32_t k = body->patches[0]; k < body->patches[1]; k++)
        fit_patch(s, k, end, &s->fit[end][k]);
}

// How far two patches are from where one rotation would have them.
static double off_between(const hk_sweep *s, int end, int32_t a, int32_t b)
{
    const hk_sweep_fit *first = &s->fit[end][a], *second = &s->fit[end][b];
    double d[3], rest[3], square = 0;
    closest_minus(first->middle, second->middle, d);
    closest_minus(s->shape[a].middle, s->shape[b].middle, rest);
    for (int i = 0; i < 3; i++) {
        d[i] -= closest_dot(first->rotation[i], rest);
        for (int j = 0; j < 3; j++) {
            double e = first->rotation[i][j] - second->rotation[i][j];
            square += e * e;
        }
    }
    // Of the difference of two rotations two singular values are alike, and the third is 0.
    return sqrt(closest_dot(d, d)) + sqrt(0.5 * square) * s->shape[b].size + first->off +
           second->off;
}

static double clear_now(const hk_sweep *s, size_t k, int32_t a)
{
    return (double)s->clear[k] - off_between(s, 0, a, s->beside[k]);
}

static double clear_on_way(const hk_sweep *s, size_t k, int32_t a)
{
    double off = fmax(off_between(s, 0, a, s->beside[k]), off_between(s, 1, a, s->beside[k]));
    double dot = 0;
    for (int i = 0; i < 4; i++) dot += s->fit[0][a].turn[i] * s->fit[1][a].turn[i];
    return fabs(dot) * (double)s->clear[k] - off;
}

// ---------------------------------------------------------------- searches

static bool is_beside(const hk_sweep *s, int32_t a, int32_t b)
{
    int32_t low = hk_min_int(a, b), high = hk_max_int(a, b);
    for (size_t k = s->beside_start[low]; k < s->beside_start[low + 1]; k++)
        if (s->beside[k] == high) return true;
    return false;
}

static hk_status search_apart(void *context, int32_t a, int32_t b)
{
    const hk_sweep_own *own = context;
    return is_beside(own->sweep, a, b) ? HK_OK : hk_sweep_own_patches(context, a, b);
}

static hk_status list_apart(void *context, int32_t a, int32_t b)
{
    const hk_sweep_search *search = context;
    return is_beside(search->sweep, a, b) ? HK_OK : hk_sweep_search_patches(context, a, b);
}

// Fits of the body where it is, and with `end` where it goes.
static void find_fits(hk_sweep *s, int b, bool end)
{
    hk_sweep_body *body = &s->bodies[b];
    if (!body->shaped) find_shapes(s, body, s->contacts->settings->bodies[b].edge);
    if (!body->placed) fit_patches(s, body, 0);
    body->placed = true;
    if (end) fit_patches(s, body, 1);
}

// Boxes of ways as someone sees them who goes the mean way of the body.
static void find_local_boxes(hk_sweep *s, int b, double margin)
{
    const hk_contacts *c = s->contacts;
    const hk_sweep_body *body = &s->bodies[b];
    for (int p = body->points[0]; p < body->points[1]; p++) {
        const double *x = c->x + 3 * (size_t)p, *move = c->move + 3 * (size_t)p;
        double low[3], high[3];
        for (int i = 0; i < 3; i++) {
            double to = x[i] + move[i] - body->mean[i];
            low[i] = (to < x[i] ? to : x[i]) - margin;
            high[i] = (to > x[i] ? to : x[i]) + margin;
        }
        s->patches->point[p] = hk_patch_round(low, high);
    }
    hk_patches_refit(s->patches, b);
}

hk_status hk_sweep_search_own(hk_sweep *s, int b, hk_sweep_own *own)
{
    hk_sweep_body *body = &s->bodies[b];
    double radius = hk_contact_radius(s->contacts->settings, b);
    double distance = s->contacts->settings->distance;
    find_local_boxes(s, b, 0.5 * own->margin + 0.5 * HK_SWEEP_LEFT * distance + radius);
    body->fitted = false;
    // What is thick may be nearer to itself than it is thick.
    if (radius > 0) return hk_patches_meet(s->patches, b, b, NULL, NULL, hk_sweep_own_patches, own);
    find_fits(s, b, true);
    for (int32_t a = body->patches[0]; a < body->patches[1]; a++)
        for (size_t k = s->beside_start[a]; k < s->beside_start[a + 1]; k++)
            if (!(clear_on_way(s, k, a) > own->margin + HK_SWEEP_AHEAD * distance))
                HK_TRY(hk_sweep_own_patches(own, a, s->beside[k]));
    return hk_patches_meet(s->patches, b, b, NULL, NULL, search_apart, own);
}

hk_status hk_sweep_list_own(hk_sweep *s, int b, hk_sweep_search *search)
{
    hk_sweep_body *body = &s->bodies[b];
    bool thick = hk_contact_radius(s->contacts->settings, b) > 0;
    find_fits(s, b, false);
    for (int32_t a = body->patches[0]; a < body->patches[1]; a++)
        for (size_t k = s->beside_start[a]; k < s->beside_start[a + 1]; k++)
            if (thick || !(clear_now(s, k, a) > search->near))
                HK_TRY(hk_sweep_search_patches(search, a, s->beside[k]));
    return hk_patches_meet(s->patches, b, b, NULL, NULL, list_apart, search);
}
