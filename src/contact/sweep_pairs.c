// Pairs of two patches.
#include "contact/quick.h"
#include "contact/sweep_parts.h"

// Primitives of one kind of a patch that are near another patch. A patch of triangles has at most
// three edges and three points for each.
enum { MOST = 3 * HK_PATCH_TRIANGLES };
typedef struct near_list {
    hk_patch_box box[MOST];
    float low[3][MOST + 3], high[3][MOST + 3];  // the same, four by four
    const int32_t *corner[MOST];
    int count;
} near_list;

static void collect(const hk_patches *p, const int32_t *which, const int32_t run[2],
                    const int32_t *corners, int each, const hk_patch_box *more,
                    const hk_patch_box *other, near_list *to)
{
    to->count = 0;
    for (int k = run[0]; k < run[1]; k++) {
        const int32_t *corner = corners ? corners + (size_t)each * (size_t)which[k] : which + k;
        hk_patch_box box = p->point[corner[0]];
        for (int i = 1; i < each; i++) hk_patch_surround(&box, &p->point[corner[i]]);
        if (more) box = (hk_patch_box){box.low + more->low, box.high + more->high};
        if (!hk_patch_overlap(&box, other)) continue;
        to->box[to->count] = box;
        for (int i = 0; i < 3; i++) {
            to->low[i][to->count] = box.low[i];
            to->high[i][to->count] = box.high[i];
        }
        to->corner[to->count++] = corner;
    }
}

// Which of four boxes, from `first` on, overlap another one.
static inline unsigned overlaps(const near_list *list, int first, const hk_patch_box *box)
{
    hk_int4 mask = {-1, -1, -1, -1};
    for (int i = 0; i < 3; i++) {
        mask &= *(const hk_float4u *)(list->low[i] + first) <= box->high[i];
        mask &= *(const hk_float4u *)(list->high[i] + first) >= box->low[i];
    }
    unsigned bits = hk_four_bits(mask);
    return first + 4 > list->count ? bits & (15u >> (first + 4 - list->count)) : bits;
}

// ---------------------------------------------------------------- slabs

// Where the boxes of a patch's corners lie along a direction.
static void extent(const hk_patches *p, const hk_patch *patch, const float normal[3], float *low,
                   float *high)
{
    const hk_float4 n = {normal[0], normal[1], normal[2], 0};
    const hk_float4 size = {fabsf(n[0]), fabsf(n[1]), fabsf(n[2]), 0};
    float least = INFINITY, most = -INFINITY, large = 0;
    for (int k = patch->corners[0]; k < patch->corners[1]; k++) {
        const hk_patch_box *box = &p->point[p->corners[k]];
        hk_float4 sum = n * (box->low + box->high), wide = size * (box->high - box->low);
        float middle = sum[0] + sum[1] + sum[2], width = wide[0] + wide[1] + wide[2];
        least = middle - width < least ? middle - width : least;
        most = middle + width > most ? middle + width : most;
    }
    // Each of those sums is of numbers as large as coordinates.
    const hk_patch_box *one = &p->point[p->corners[patch->corners[0]]];
    for (int i = 0; i < 3; i++) large += fabsf(one->low[i]) + fabsf(one->high[i]);
    float slack = 0x1p-20f * (large + most - least);
    *low = 0.5f * least - slack;
    *high = 0.5f * most + slack;
}

static void find_normal(const hk_contacts *c, const hk_patches *p, const hk_patch *patch,
                        float normal[3])
{
    double sum[3] = {0, 0, 0};
    for (int k = patch->triangles[0]; k < patch->triangles[1]; k++) {
        const int32_t *t = c->triangles + 3 * (size_t)p->triangles[k];
        double a[3], b[3], cross[3];
        closest_minus(c->x + 3 * (size_t)t[1], c->x + 3 * (size_t)t[0], a);
        closest_minus(c->x + 3 * (size_t)t[2], c->x + 3 * (size_t)t[0], b);
        closest_cross(a, b, cross);
        for (int i = 0; i < 3; i++) sum[i] += cross[i];
    }
    double length = sqrt(closest_dot(sum, sum));
    for (int i = 0; i < 3; i++) normal[i] = length > 0 ? (float)(sum[i] / length) : 0;
}

void hk_sweep_find_slabs(hk_sweep *s, int side)
{
    const hk_patches *p = s->patches;
    bool known = side < s->body_count && s->bodies[side].turned;
    for (int k = p->root[side]; k < p->root[side + 1]; k++) {
        if (p->other[k] >= 0) continue;
        const hk_patch *patch = &p->patches[-1 - p->other[k]];
        hk_sweep_slab *slab = &s->slab[-1 - p->other[k]];
        if (!known) find_normal(s->contacts, p, patch, slab->normal);
        extent(p, patch, slab->normal, &slab->low, &slab->high);
    }
    if (side < s->body_count) s->bodies[side].turned = true;
}

// Whether one of two patches stays outside of the slab of the other one; the first goes `more` (of
// which the second sees the opposite).
static bool stays_outside(const hk_sweep *s, int32_t a, int32_t b, const hk_patch_box *more)
{
    for (int k = 0; k < 2; k++) {
        const hk_sweep_slab *slab = &s->slab[k ? b : a];
        float low, high, from = 0, to = 0;
        if (slab->normal[0] == 0 && slab->normal[1] == 0 && slab->normal[2] == 0) continue;
        extent(s->patches, &s->patches->patches[k ? a : b], slab->normal, &low, &high);
        for (int i = 0; i < 3; i++) {
            float first = slab->normal[i] * more->low[i], second = slab->normal[i] * more->high[i];
            from += first < second ? first : second;
            to += first < second ? second : first;
        }
        float slack = 0x1p-20f * (to - from);
        // The first patch of the two is what goes farther.
        float own = k ? 0 : 1, other = k ? 1 : 0;
        if (slab->high + own * (to + slack) < low + other * (from - slack) ||
            slab->low + own * (from - slack) > high + other * (to + slack))
            return true;
    }
    return false;
}

// ---------------------------------------------------------------- how far they are apart

// Whether they are surely farther apart than `reach`, by the plane of the triangle, or by planes
// through both edges.
static inline bool is_far(hk_pair_kind kind, const double x[4][3], double reach)
{
    double a[3], b[3], d[3], n[3];
    closest_minus(x[kind == HK_EDGE_EDGE ? 1 : 2], x[kind == HK_EDGE_EDGE ? 0 : 1], a);
    closest_minus(x[3], x[kind == HK_EDGE_EDGE ? 2 : 1], b);
    closest_minus(x[0], x[kind == HK_EDGE_EDGE ? 2 : 1], d);
    closest_cross(a, b, n);
    double height = closest_dot(n, d), square = closest_dot(n, n);
    if (!(square > 1e-12 * closest_dot(a, a) * closest_dot(b, b))) return false;
    return height * height > reach * reach * square * (1 + 1e-6);
}

// Over a plane distances have signs.
static bool measure_height(const hk_contacts *c, hk_sweep_pair *pair)
{
    const double *at = c->x + 3 * (size_t)pair->way.point[0];
    const double *plane = c->x + 3 * (size_t)pair->way.point[1];
    double d[3];
    closest_minus(plane + 3, plane, pair->n);
    closest_minus(at, plane, d);
    pair->distance = closest_dot(pair->n, d);
    memcpy(pair->c, (double[4]){1, -1, 0, 0}, sizeof pair->c);
    return pair->distance > 0;
}

bool hk_sweep_measure(const hk_contacts *c, hk_sweep_pair *pair)
{
    double x[4][3], w[3];
    if (pair->way.kind == HK_VERTEX_PLANE) return measure_height(c, pair);
    hk_contact_corners(c->x, pair->way.point, x);
    quick_closest(pair->way.kind, (const double(*)[3])x, pair->c, w);
    pair->distance = sqrt(closest_dot(w, w));
    for (int i = 0; i < 3; i++) pair->n[i] = pair->distance > 0 ? w[i] / pair->distance : 0;
    return pair->distance > 0;
}

// Of one body: width and thickness by the distance at rest.
static void fill_own(const hk_contacts *c, hk_sweep_pair *pair)
{
    double rest[4][3];
    hk_contact_corners(c->rest, pair->way.point, rest);
    double apart = sqrt(pair_closest(pair->way.kind, (const double(*)[3])rest).square);
    pair->way.thickness = fmin(pair->way.thickness, 0.5 * apart);
    pair->width = fmin(pair->width, 0.5 * (apart - pair->way.thickness));
}

// Whether it is one that is searched for: one that comes nearer than contacts are looked after, or
// one that may come too near.
static bool counts(const hk_sweep_search *search, hk_sweep_pair *pair)
{
    if (search->near > 0) return true;
    double time;
    if (search->guard)
        return !hk_sweep_is_safe(search->sweep, pair, 0) &&
               hk_sweep_stops(search->sweep, pair, &time);
    return hk_sweep_is_met(search->sweep, pair);
}

static hk_status add(hk_sweep_search *search, hk_pair_kind kind, const int32_t point[4],
                     double reach)
{
    const hk_contacts *c = search->sweep->contacts;
    double x[4][3];
    hk_contact_corners(c->x, point, x);
    if (is_far(kind, (const double(*)[3])x, reach)) return HK_OK;
    hk_sweep_found *f = search->found;
    if (f->count == f->room)
        HK_TRY(hk_reserve((void **)&f->list, f->count, sizeof *f->list, &f->room, f->count + 1));
    hk_sweep_pair *pair = &f->list[f->count];
    int firsts = hk_pair_firsts(kind);
    pair->way.kind = kind;
    memcpy(pair->way.point, point, sizeof pair->way.point);
    hk_sweep_measure(c, pair);
    if (pair->distance > reach) return HK_OK;
    pair->sides[0] = c->side[point[0]];
    pair->sides[1] = c->side[point[firsts]];
    pair->way.thickness = hk_contact_radius(c->settings, pair->sides[0]) +
                          hk_contact_radius(c->settings, pair->sides[1]);
    pair->width = c->settings->distance;
    if (pair->sides[0] == pair->sides[1]) {
        fill_own(c, pair);
        if (!(pair->width > 0)) return HK_OK;
    }
    f->count += counts(search, pair);
    return HK_OK;
}

// ---------------------------------------------------------------- what may meet

typedef hk_status pair_fn(void *context, hk_pair_kind kind, const int32_t point[4]);

static hk_status try_triangles(const near_list *points, const near_list *triangles, pair_fn *each,
                               void *context)
{
    for (int i = 0; i < points->count; i++)
        for (int j = 0; j < triangles->count; j += 4)
            for (unsigned bits = overlaps(triangles, j, &points->box[i]); bits; bits &= bits - 1) {
                const int32_t *t = triangles->corner[j + __builtin_ctz(bits)];
                int32_t p = points->corner[i][0];
                if (p == t[0] || p == t[1] || p == t[2]) continue;
                HK_TRY(each(context, HK_VERTEX_TRIANGLE, (int32_t[4]){p, t[0], t[1], t[2]}));
            }
    return HK_OK;
}

static hk_status try_edges(const near_list *first, const near_list *second, bool same,
                           pair_fn *each, void *context)
{
    for (int i = 0; i < first->count; i++)
        for (int j = same ? (i + 1) / 4 * 4 : 0; j < second->count; j += 4)
            for (unsigned bits = overlaps(second, j, &first->box[i]); bits; bits &= bits - 1) {
                int k = j + __builtin_ctz(bits);
                const int32_t *e = first->corner[i], *f = second->corner[k];
                if ((same && k <= i) || hk_share_vertex(2, e, 2, f)) continue;
                HK_TRY(each(context, HK_EDGE_EDGE, (int32_t[4]){e[0], e[1], f[0], f[1]}));
            }
    return HK_OK;
}

// With the boxes of the first patch made larger, or not.
static hk_status try_patches(const hk_sweep *s, int32_t a, int32_t b, const hk_patch_box *more,
                             pair_fn *each, void *context)
{
    const hk_contacts *c = s->contacts;
    const hk_patches *p = s->patches;
    const int32_t which[2] = {a, b};
    const hk_patch_box *larger[2] = {more, NULL};
    hk_patch_box box[2] = {*hk_sweep_patch_box(s, a), *hk_sweep_patch_box(s, b)};
    near_list first, second;
    if (more) box[0] = (hk_patch_box){box[0].low + more->low, box[0].high + more->high};
    for (int k = 0; k < (a == b ? 1 : 2); k++) {
        const hk_patch *from = &p->patches[which[k]], *to = &p->patches[which[1 - k]];
        collect(p, p->triangles, to->triangles, c->triangles, 3, larger[1 - k], &box[k], &second);
        if (second.count == 0) continue;
        collect(p, p->points, from->points, NULL, 1, larger[k], &box[1 - k], &first);
        HK_TRY(try_triangles(&first, &second, each, context));
    }
    collect(p, p->edges, p->patches[a].edges, c->edges, 2, more, &box[1], &first);
    if (first.count == 0) return HK_OK;
    collect(p, p->edges, p->patches[b].edges, c->edges, 2, NULL, &box[0], &second);
    return try_edges(&first, &second, a == b, each, context);
}

typedef struct reaching {
    hk_sweep_search *search;
    double reach;
} reaching;

static hk_status add_within(void *context, hk_pair_kind kind, const int32_t point[4])
{
    const reaching *r = context;
    return add(r->search, kind, point, r->reach);
}

hk_status hk_sweep_search_patches(void *context, int32_t a, int32_t b)
{
    hk_sweep_search *search = context;
    const hk_sweep *s = search->sweep;
    if (!(search->near > 0) && stays_outside(s, a, b, &search->more)) return HK_OK;
    reaching r = {.search = search, .reach = search->near};
    if (!(search->near > 0)) {
        double margin = s->patch_margin[a] + s->patch_margin[b];
        r.reach = (search->apart + s->patch_way[a] + s->patch_way[b] + margin) / HK_GAP_TO_CLOSE +
                  HK_SWEEP_LEFT * s->contacts->settings->distance + search->thickness;
    }
    return try_patches(s, a, b, search->near > 0 ? NULL : &search->more, add_within, &r);
}

// ---------------------------------------------------------------- a body and itself

// No two corners come nearer to each other than by the difference of their ways.
static double closing(const hk_contacts *c, hk_pair_kind kind, const int32_t point[4])
{
    int firsts = hk_pair_firsts(kind);
    double largest = 0;
    for (int u = 0; u < firsts; u++)
        for (int v = firsts; v < 4; v++) {
            double d[3];
            closest_minus(c->move + 3 * (size_t)point[u], c->move + 3 * (size_t)point[v], d);
            double square = closest_dot(d, d);
            if (square > largest) largest = square;
        }
    return sqrt(largest);
}

static hk_status try_own(void *context, hk_pair_kind kind, const int32_t point[4])
{
    hk_sweep_own *own = context;
    const hk_contacts *c = own->sweep->contacts;
    double thickness = 2 * hk_contact_radius(c->settings, c->side[point[0]]);
    double reach = closing(c, kind, point) / HK_GAP_TO_CLOSE + thickness + own->margin +
                   HK_SWEEP_LEFT * c->settings->distance;
    hk_sweep_search search = {.sweep = own->sweep, .found = own->found, .near = reach};
    size_t before = own->found->count;
    HK_TRY(add(&search, kind, point, reach));
    if (own->found->count == before) return HK_OK;
    const hk_sweep_pair *pair = &own->found->list[before];
    double time;
    if (hk_sweep_is_safe(own->sweep, pair, own->margin) ||
        (own->guard && !hk_sweep_stops(own->sweep, pair, &time)))
        own->found->count = before;
    return HK_OK;
}

hk_status hk_sweep_own_patches(void *context, int32_t a, int32_t b)
{
    return try_patches(((hk_sweep_own *)context)->sweep, a, b, NULL, try_own, context);
}
