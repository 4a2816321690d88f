// How far a body may go without coming in its own way, where it deforms too much for a list.
//
// Patches beside each other always are in reach of each other. So what is between any two of them
// is kept: a distance D that no two of their parts without a common vertex are nearer than. In a
// step that turns the body by θ and moves points by e beyond that, it becomes at least
//
//   cos(θ/2) D − |e_a − e_b|
//
// on the way, and is measured anew where this is too little.
#include "contact/quick.h"
#include "contact/sweep_parts.h"

// How near patches are at rest that are looked after, in edges.
#define BESIDE 0.25

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
    s->drift = HK_ZEROS(hk_sweep_drift, patches + 1);
    hk_status status = s->drift ? list_all(s, &l) : HK_NO_MEMORY;
    if (status == HK_OK) status = sort_pairs(s, &l);
    hk_free(l.pairs);
    return status;
}

// ---------------------------------------------------------------- what is between them

typedef struct ball {  // around a primitive
    double middle[3], radius;
    const int32_t *corner;
} ball;

static int balls_of(const hk_contacts *c, const int32_t *which, const int32_t run[2],
                    const int32_t *corners, int each, ball *to)
{
    int count = 0;
    for (int k = run[0]; k < run[1]; k++) {
        const int32_t *corner = corners ? corners + (size_t)each * (size_t)which[k] : which + k;
        ball *b = &to[count++];
        double square = 0;
        *b = (ball){.corner = corner};
        for (int v = 0; v < each; v++)
            for (int i = 0; i < 3; i++)
                b->middle[i] += c->x[3 * (size_t)corner[v] + (size_t)i] / each;
        for (int v = 0; v < each; v++) {
            double d[3];
            closest_minus(c->x + 3 * (size_t)corner[v], b->middle, d);
            square = fmax(square, closest_dot(d, d));
        }
        b->radius = sqrt(square);
    }
    return count;
}

// The distance of two primitives where it is less than `least`, else that.
static double nearer(const hk_contacts *c, hk_pair_kind kind, const ball *a, const ball *b,
                     double least)
{
    double d[3], x[4][3], weight[4], w[3], reach = least + a->radius + b->radius;
    int first = kind == HK_EDGE_EDGE ? 2 : 1;
    closest_minus(a->middle, b->middle, d);
    if (closest_dot(d, d) > reach * reach ||
        hk_share_vertex(first, a->corner, 4 - first, b->corner))
        return least;
    for (int v = 0; v < 4; v++) {
        int32_t p = v < first ? a->corner[v] : b->corner[v - first];
        memcpy(x[v], c->x + 3 * (size_t)p, sizeof x[v]);
    }
    quick_closest(kind, (const double(*)[3])x, weight, w);
    return fmin(least, sqrt(closest_dot(w, w)));
}

static double clearance(const hk_sweep *s, int32_t a, int32_t b, double most)
{
    enum { MOST = 3 * HK_PATCH_TRIANGLES };
    const hk_contacts *c = s->contacts;
    const hk_patches *p = s->patches;
    const hk_patch *patch[2] = {&p->patches[a], &p->patches[b]};
    ball first[MOST], second[MOST];
    for (int k = 0; k < (a == b ? 1 : 2); k++) {
        int points = balls_of(c, p->points, patch[k]->points, NULL, 1, first);
        int triangles = balls_of(c, p->triangles, patch[1 - k]->triangles, c->triangles, 3, second);
        for (int i = 0; i < points; i++)
            for (int j = 0; j < triangles; j++)
                most = nearer(c, HK_VERTEX_TRIANGLE, &first[i], &second[j], most);
    }
    int edges = balls_of(c, p->edges, patch[0]->edges, c->edges, 2, first);
    int others = balls_of(c, p->edges, patch[1]->edges, c->edges, 2, second);
    for (int i = 0; i < edges; i++)
        for (int j = a == b ? i + 1 : 0; j < others; j++)
            most = nearer(c, HK_EDGE_EDGE, &first[i], &second[j], most);
    return most;
}

// ---------------------------------------------------------------- how the body moves

// What the points of patches move by beyond a turn of the body.
static void find_drifts(hk_sweep *s, const hk_sweep_body *body, double turn[3][3])
{
    const hk_contacts *c = s->contacts;
    const hk_patches *p = s->patches;
    for (int k = body->patches[0]; k < body->patches[1]; k++) {
        const hk_patch *patch = &p->patches[k];
        hk_sweep_drift *to = &s->drift[k];
        int count = patch->corners[1] - patch->corners[0];
        double largest = 0;
        *to = (hk_sweep_drift){0};
        for (int pass = 0; pass < 2; pass++)
            for (int i = patch->corners[0]; i < patch->corners[1]; i++) {
                size_t at = 3 * (size_t)p->corners[i];
                double e[3];
                // Turns about any point will do, as it is the same for all.
                for (int j = 0; j < 3; j++)
                    e[j] = c->x[at + (size_t)j] + c->move[at + (size_t)j] - body->mean[j] -
                           closest_dot(turn[j], c->x + at);
                for (int j = 0; j < 3 && pass == 0; j++) to->mean[j] += e[j] / count;
                if (pass == 0) continue;
                double d[3];
                closest_minus(e, to->mean, d);
                if (closest_dot(d, d) > largest) largest = closest_dot(d, d);
            }
        to->radius = sqrt(largest);
    }
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

static hk_status search_beside(hk_sweep *s, hk_sweep_body *body, double half, double edge,
                               hk_sweep_own *own)
{
    for (int32_t a = body->patches[0]; a < body->patches[1]; a++)
        for (size_t k = s->beside_start[a]; k < s->beside_start[a + 1]; k++) {
            int32_t b = s->beside[k];
            double d[3];
            closest_minus(s->drift[a].mean, s->drift[b].mean, d);
            double drift = own->margin + HK_SWEEP_LEFT * s->contacts->settings->distance +
                           s->drift[a].radius + s->drift[b].radius + sqrt(closest_dot(d, d));
            double clear = body->cleared ? (double)s->clear[k] : 0;
            if (!(HK_GAP_TO_CLOSE * half * clear > drift)) clear = clearance(s, a, b, edge);
            bool is_free = HK_GAP_TO_CLOSE * half * clear > drift;
            if (!is_free) HK_TRY(hk_sweep_own_patches(own, a, b));
            // A search for pairs is not the way itself, of which any part may be taken.
            if (!own->found) clear = is_free ? half * clear - drift : 0;
            s->clear[k] = hk_round_down(clear);
        }
    body->cleared = true;
    return HK_OK;
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
    double turn[3][3], trace = 0, radius = hk_contact_radius(s->contacts->settings, b);
    double left = HK_SWEEP_LEFT * s->contacts->settings->distance;
    find_local_boxes(s, b, 0.5 * own->margin + 0.5 * left + radius);
    // What is thick may be nearer to itself than it is thick.
    if (radius > 0) return hk_patches_meet(s->patches, b, b, NULL, NULL, hk_sweep_own_patches, own);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) turn[i][j] = closest_dot(body->turn[1][i], body->turn[0][j]);
    for (int i = 0; i < 3; i++) trace += turn[i][i];
    double half = sqrt(fmax(0, 0.25 * (1 + trace)));  // cos θ/2
    find_drifts(s, body, turn);
    HK_TRY(search_beside(s, body, half, s->contacts->settings->bodies[b].edge, own));
    return hk_patches_meet(s->patches, b, b, NULL, NULL, search_apart, own);
}
