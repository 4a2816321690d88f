// How far a body may go without coming in its own way, where it deforms too much for a list.
//
// Patches beside each other always are in reach of each other. So what is between any two of them
// is kept from step to step.
//
// Let D be a distance that no two parts of two patches without a common vertex are nearer than.
// Points move by v + ω × (x − x₀) + e, with the same v and ω for both patches. On the way, t of it,
// what is between two points d = p − q becomes d + t (ω × d + e_p − e_q), and as ω × d is at right
// angles to d, that is no shorter than |d| − |e_p − e_q|. With a v and ω of its own for each patch,
// and the mean of the two for both, |e_p − e_q| is bounded by six numbers of a patch. Where what is
// left of D is too little for the guard, it is measured anew, and where it is too little still, the
// parts are looked at.
#include "contact/quick.h"
#include "contact/sweep_parts.h"

// How near patches are at rest that are looked after, in edges.
#define BESIDE 0.25
// More than this, in edges, is not measured where it is not needed.
#define ENOUGH 0.35

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
    s->fresh = HK_ZEROS(uint8_t, l->count + 1);
    s->passed = HK_ZEROS(float, l->count + 1);
    if (!s->beside_start || !s->beside || !s->clear || !s->fresh || !s->passed) return HK_NO_MEMORY;
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
    s->drift = HK_ZEROS(hk_sweep_drift, patches + 1);
    hk_status status = s->drift ? list_all(s, &l) : HK_NO_MEMORY;
    if (status == HK_OK) status = sort_pairs(s, &l);
    hk_free(l.pairs);
    return status;
}

// ---------------------------------------------------------------- what is between them

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
            const double *x = c->x + 3 * (size_t)corner[v];
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
        memcpy(x[v], c->x + 3 * (size_t)p, sizeof x[v]);
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
    const double *place = c->x + 3 * (size_t)p->corners[patch[0]->corners[0]];
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

// ---------------------------------------------------------------- how patches move

// ω with the least Σ ‖way − ω × d‖²: (Σ d² − d dᵀ) ω = Σ d × way; 0 where all are on one line.
static void solve_spin(double m[3][3], const double by[3], double spin[3])
{
    double row[3][3], trace = m[0][0] + m[1][1] + m[2][2];
    for (int i = 0; i < 3; i++) closest_cross(m[(i + 1) % 3], m[(i + 2) % 3], row[i]);
    double det = closest_dot(m[0], row[0]);
    bool good = det > 1e-9 * trace * trace * trace;
    for (int i = 0; i < 3; i++)
        spin[i] = good ? (row[0][i] * by[0] + row[1][i] * by[1] + row[2][i] * by[2]) / det : 0;
}

static void find_drift(const hk_sweep *s, const hk_patch *patch, hk_sweep_drift *to)
{
    const hk_contacts *c = s->contacts;
    const int32_t *corner = s->patches->corners;
    int first = patch->corners[0], end = patch->corners[1];
    double part = 1.0 / (end - first), m[3][3] = {{0}}, by[3] = {0}, size = 0, radius = 0;
    *to = (hk_sweep_drift){0};
    for (int k = first; k < end; k++)
        for (size_t i = 0; i < 3; i++) {
            to->middle[i] += part * c->x[3 * (size_t)corner[k] + i];
            to->way[i] += part * c->move[3 * (size_t)corner[k] + i];
        }
    for (int k = first; k < end; k++) {
        double d[3], cross[3];
        closest_minus(c->x + 3 * (size_t)corner[k], to->middle, d);
        closest_cross(d, c->move + 3 * (size_t)corner[k], cross);
        double square = closest_dot(d, d);
        if (square > size) size = square;
        for (int i = 0; i < 3; i++) {
            by[i] += cross[i];
            m[i][i] += square;
            for (int j = 0; j < 3; j++) m[i][j] -= d[i] * d[j];
        }
    }
    solve_spin(m, by, to->spin);
    for (int k = first; k < end; k++) {
        double d[3], e[3], cross[3];
        closest_minus(c->x + 3 * (size_t)corner[k], to->middle, d);
        closest_minus(c->move + 3 * (size_t)corner[k], to->way, e);
        closest_cross(to->spin, d, cross);
        closest_minus(e, cross, e);
        double square = closest_dot(e, e);
        if (square > radius) radius = square;
    }
    to->size = sqrt(size);
    to->off = sqrt(radius);
}

static void find_drifts(hk_sweep *s, const hk_sweep_body *body)
{
    for (int k = body->patches[0]; k < body->patches[1]; k++)
        find_drift(s, &s->patches->patches[k], &s->drift[k]);
}

// |e_p − e_q| at the most.
static double drift_between(const hk_sweep_drift *a, const hk_sweep_drift *b)
{
    double d[3], mean[3], differ[3], cross[3], v[3];
    closest_minus(a->middle, b->middle, d);
    closest_minus(a->way, b->way, v);
    closest_minus(a->spin, b->spin, differ);
    for (int i = 0; i < 3; i++) mean[i] = 0.5 * (a->spin[i] + b->spin[i]);
    closest_cross(mean, d, cross);
    closest_minus(v, cross, v);
    return sqrt(closest_dot(v, v)) + 0.5 * sqrt(closest_dot(differ, differ)) * (a->size + b->size) +
           a->off + b->off;
}

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

// What is between two patches that go their ways by c->move; where that is too little their parts
// are looked at.
static hk_status search_two(hk_sweep *s, size_t k, int32_t a, double edge, hk_sweep_own *own)
{
    int32_t b = s->beside[k];
    double distance = s->contacts->settings->distance, clear = (double)s->clear[k];
    double way = drift_between(&s->drift[a], &s->drift[b]), need = way + own->margin;
    bool is_free = need < hk_sweep_room(clear, distance);
    if (!is_free && !s->fresh[k]) {
        clear =
            (double)hk_round_down(clearance(s, a, b, fmin(edge, fmax(ENOUGH * edge, 3 * need))));
        s->fresh[k] = 1;
        is_free = need < hk_sweep_room(clear, distance);
    }
    if (!is_free) HK_TRY(hk_sweep_own_patches(own, a, b));
    s->clear[k] = (float)clear;
    s->passed[k] = hk_round_up(way);
    return HK_OK;
}

static hk_status search_beside(hk_sweep *s, hk_sweep_body *body, double edge, hk_sweep_own *own)
{
    if (!body->cleared) hk_sweep_lessen_clear(s, body, INFINITY);
    for (int32_t a = body->patches[0]; a < body->patches[1]; a++)
        for (size_t k = s->beside_start[a]; k < s->beside_start[a + 1]; k++)
            HK_TRY(search_two(s, k, a, edge, own));
    body->cleared = true;
    body->passes = own->guard;
    return HK_OK;
}

void hk_sweep_pass(hk_sweep *s, hk_sweep_body *body)
{
    if (!body->passes) return;
    body->passes = false;
    for (size_t k = s->beside_start[body->patches[0]]; k < s->beside_start[body->patches[1]]; k++) {
        double clear = (double)s->clear[k] - (double)s->passed[k];
        s->clear[k] = hk_round_down(fmax(0, clear));
        s->fresh[k] = 0;
    }
}

void hk_sweep_lessen_clear(hk_sweep *s, const hk_sweep_body *body, double by)
{
    for (size_t k = s->beside_start[body->patches[0]]; k < s->beside_start[body->patches[1]]; k++) {
        s->clear[k] = hk_round_down(fmax(0, (double)s->clear[k] - by));
        s->fresh[k] = 0;
    }
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
    double left = HK_SWEEP_LEFT * s->contacts->settings->distance;
    find_local_boxes(s, b, 0.5 * own->margin + 0.5 * left + radius);
    body->fitted = false;
    // What is thick may be nearer to itself than it is thick.
    if (radius > 0) return hk_patches_meet(s->patches, b, b, NULL, NULL, hk_sweep_own_patches, own);
    find_drifts(s, body);
    HK_TRY(search_beside(s, body, s->contacts->settings->bodies[b].edge, own));
    return hk_patches_meet(s->patches, b, b, NULL, NULL, search_apart, own);
}
