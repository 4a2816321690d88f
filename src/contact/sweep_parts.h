// What the files of hk_sweep share: sweep.c (what may meet), sweep_pairs.c (which pairs of two
// patches do), sweep_follow.c (where they do), sweep_self.c and sweep_clear.c (a body and itself),
// sweep_shorten.c (one point after the other), sweep_walk.c (how far to go).
#ifndef HK_SWEEP_PARTS_H
#define HK_SWEEP_PARTS_H

#include <float.h>
#include <math.h>

#include "contact/patches.h"
#include "contact/slab.h"
#include "contact/sweep.h"

typedef struct hk_sweep_body {
    int points[2];  // run of them
    hk_box box;
    bool stale;     // some of its points have other ways than were searched
    bool unproven;  // … and were searched for what it does to itself
    bool fitted;    // the boxes of its patches are those of the search
    bool turned;    // the normals of its patches are those of where it is
    bool touches;   // itself
    // ---- of its own pairs (sweep_self.c)
    double near;  // m, they are listed up to here; 0: there is no list
    hk_sweep_pair *self;
    size_t self_count, self_room;
    double away[2];        // m, at most, from the shape of the list: where it is, and at the end
    double turn[2][3][3];  // by these rotations
    double mean[3];        // m, the mean way
    bool followed;         // away[1] and turn[1] are those of where it is
    int patches[2];        // run of them
    bool shaped, placed;   // shapes and places of its patches are known (sweep_clear.c)
    struct hk_sweep_pair *own;  // those that come too near to each other
    size_t own_count, own_room;
} hk_sweep_body;

typedef struct hk_sweep_shape {  // a patch at rest (sweep_clear.c)
    double middle[3], size;      // m, of its corners
} hk_sweep_shape;

typedef struct hk_sweep_fit {  // that of it where it is
    double turn[4], rotation[3][3];
    double middle[3], off;  // m, off: of corners from there
} hk_sweep_fit;

// The slab that a patch stays in on its way: along its mean normal, in the frame of its body.
typedef struct hk_sweep_slab {
    float normal[3], low, high;
} hk_sweep_slab;

typedef struct hk_sweep_arrival {
    double time, nearer;
} hk_sweep_arrival;

typedef struct hk_sweep_found {
    hk_sweep_pair *list;
    size_t count, room;
} hk_sweep_found;

// What of two sides is searched: all, or what points that were shortened may come into the way of.
typedef enum hk_sweep_part { HK_SWEEP_ALL, HK_SWEEP_CHANGED } hk_sweep_part;
typedef struct hk_sweep_task {  // two sides, and where their pairs are
    int32_t sides[2], found;
    hk_sweep_part part;
    size_t first, count;
} hk_sweep_task;

struct hk_sweep {
    hk_contacts *contacts;
    hk_patches *patches;
    int body_count, obstacle_count;
    hk_sweep_body *bodies;
    hk_box *obstacle_box;  // [obstacle_count]
    double *driven;        // [obstacle_count] m, what they have gone since the step began
    double margin;         // m, around ways of points of bodies …
    double *ahead;         // [body_points] m, … of each, with what obstacles drive
    uint8_t *shortened;    // [body_points] points that the guard stops
    uint8_t *changing;     // [body_points] points with other ways than were searched
    double tilting;        // m²: below this product of gap and distance rounding tilts normals
    hk_sweep_slab *slab;   // [patches]
    double *patch_way, *patch_margin;  // [patches] m, the longest less the mean way of the body
    double *end;                       // [body_points][3] m, where the last walk ended
    double *base;          // [body_points][3] m, shapes of the lists of bodies, about their means
    size_t *beside_start;  // [patches + 1] of those beside a patch, and not before it, at rest
    int32_t *beside;
    float *clear;           // m, what is between them at rest
    uint8_t *stale;         // [nodes of patches] it has points with other ways
    hk_sweep_shape *shape;  // [patches]
    hk_sweep_fit *fit[2];   // [patches] where bodies are, and where they go
    hk_sweep_task *tasks;
    size_t task_count, task_room;
    hk_sweep_found *found;  // [threads]
    hk_sweep_pair *pairs;
    size_t count, room;
    int32_t *ring_start, *ring;  // [point_count + 1] of points at the other ends of a point's edges
    int32_t *fan_start, *fan;    // [point_count + 1] of its triangles
    hk_sweep_arrival *arrival;   // [point_count] workspace of sweep_follow.c
    uint8_t *changed;  // [point_count] the round in which the way of a point last was shortened
};

#define HK_BOX_OF_NOTHING                   \
    (hk_box)                                \
    {                                       \
        {INFINITY, INFINITY, INFINITY},     \
        {                                   \
            -INFINITY, -INFINITY, -INFINITY \
        }                                   \
    }

static inline void hk_box_surround(hk_box *box, const hk_box *other)
{
    for (int i = 0; i < 3; i++) {
        if (other->low[i] < box->low[i]) box->low[i] = other->low[i];
        if (other->high[i] > box->high[i]) box->high[i] = other->high[i];
    }
}

static inline bool hk_box_overlap(const hk_box *a, const hk_box *b)
{
    bool apart = false;
    for (int i = 0; i < 3; i++) apart |= a->low[i] > b->high[i] || b->low[i] > a->high[i];
    return !apart;
}

// ---- sweep.c
// For every body, by all threads where there are many.
typedef hk_status hk_sweep_body_fn(hk_sweep *s, int body, void *context);
hk_status hk_sweep_each_body(hk_sweep *s, hk_sweep_body_fn *each, void *context);
// Pairs on the ways by c->move, into the list: those that need forces; those that come too near;
// or, beside these, those that do so by what was shortened. Those of one body are not among them.
typedef enum hk_sweep_aim { HK_SWEEP_FORCES, HK_SWEEP_GUARD, HK_SWEEP_AGAIN } hk_sweep_aim;
hk_status hk_sweep_search_ways(hk_sweep *s, hk_sweep_aim aim);

// ---- sweep_pairs.c
// What of two patches is near, into a list: pairs that c->move brings nearer than HK_SWEEP_AHEAD of
// the width of contacts; or (guard) too near; or pairs of one body as it stands that are nearer
// than `near`.
#define HK_SWEEP_AHEAD 1.4
typedef struct hk_sweep_search {
    const hk_sweep *sweep;
    hk_sweep_found *found;
    double near;  // m; 0: by ways
    bool guard;
    // Of two bodies: how much farther the first goes, m, as boxes and as a length; and how thick
    // they are.
    hk_patch_box more;
    double apart, thickness;
} hk_sweep_search;
hk_status hk_sweep_search_patches(void *search, int32_t first, int32_t second);
// Pairs of two patches of one body that contacts->move brings too near to each other, or (not for
// the guard) nearer than `margin`, m, beside that, into a list.
typedef struct hk_sweep_own {
    const hk_sweep *sweep;
    hk_sweep_found *found;
    double margin;
    bool guard;
} hk_sweep_own;
hk_status hk_sweep_own_patches(void *own, int32_t first, int32_t second);

// Of patches of a body or an obstacle whose points have their boxes.
void hk_sweep_find_slabs(hk_sweep *s, int side);

// ---- sweep_follow.c
// Whether c->move takes from the gap of a pair what has to be left of it, wherever it slides, and
// when.
bool hk_sweep_stops(const hk_sweep *s, const hk_sweep_pair *pair, double *time);
// For hk_sweep_is_nearest: what is beside points.
hk_status hk_sweep_list_around(hk_sweep *s);
// Leaves out of the list what is met by parts that met something else before.
void hk_sweep_drop_late(hk_sweep *s);

// ---- sweep_self.c
// Before a step by c->move: a list of the body's own pairs where one will do.
hk_status hk_sweep_cover_self(hk_sweep *s, int body);
// Those of all bodies that need forces, to the list.
hk_status hk_sweep_add_selves(hk_sweep *s);
// Those that c->move brings too near, to body->own; ways are at most `off` other than they were.
hk_status hk_sweep_find_own(hk_sweep *s, int body, double off);

// ---- sweep_clear.c
hk_status hk_sweep_list_beside(hk_sweep *s);
// Pairs of a body that c->move brings together, whatever it does.
hk_status hk_sweep_search_own(hk_sweep *s, int body, hk_sweep_own *own);
// Pairs of a body that are nearer than search->near where it is and points have boxes of half of
// that.
hk_status hk_sweep_list_own(hk_sweep *s, int body, hk_sweep_search *search);

// ---- sweep_shorten.c
// Shortens moves of points until no pair of the list comes too near; those from `fresh` on have not
// been looked at. With `all` points that come too near stay where they are.
void hk_sweep_shorten(hk_sweep *s, size_t fresh, bool all);

// What moves may take of a gap. Every step would take a part of what the steps before have left,
// down to where rounding decides: so a part of the width is left for good.
#define HK_SWEEP_LEFT 0.02
static inline double hk_sweep_room(double gap, double width)
{
    return fmax(0, fmin(HK_GAP_TO_CLOSE * gap, gap - HK_SWEEP_LEFT * width));
}

// What a point that others move, as obstacles do, has gone since the step began: bodies are to go
// on before it.
static inline double hk_sweep_driven(const hk_contacts *c, int32_t p)
{
    const double *move = c->move + 3 * (size_t)p;
    double d[3];
    if (p < c->body_points && (move[0] != 0 || move[1] != 0 || move[2] != 0)) return 0;
    closest_minus(c->x + 3 * (size_t)p, c->from + 3 * (size_t)p, d);
    return sqrt(closest_dot(d, d));
}

// Whether a pair is so far apart that c->move cannot bring it too near, or nearer than `margin`
// beside that. (Where rounding tilts the normal, slabs have to tell.)
static inline bool hk_sweep_is_safe(const hk_sweep *s, const hk_sweep_pair *k, double margin)
{
    const hk_contacts *c = s->contacts;
    int firsts = hk_pair_firsts(k->way.kind);
    double speed[2] = {-INFINITY, -INFINITY};
    for (int v = 0; v < 4; v++) {
        double along = closest_dot(k->n, c->move + 3 * (size_t)k->way.point[v]);
        int side = v >= firsts;
        if (!side) along = -along;
        if (along > speed[side]) speed[side] = along;
    }
    double gap = k->distance - k->way.thickness;
    return speed[0] + speed[1] <= hk_sweep_room(gap, k->width) - margin &&
           gap * k->distance > s->tilting;
}

// Whether c->move brings a pair that hk_sweep_measure has measured together, or near; if so, where.
static inline bool hk_sweep_is_met(const hk_sweep *s, hk_sweep_pair *k)
{
    const hk_contacts *c = s->contacts;
    int firsts = hk_pair_firsts(k->way.kind);
    double move[4][3], speed[2] = {-INFINITY, -INFINITY}, driven = 0;
    hk_contact_corners(c->move, k->way.point, move);
    for (int v = 0; v < 4; v++) {
        double along = closest_dot(k->n, move[v]);
        int side = v >= firsts;
        if (!side) along = -along;
        if (along > speed[side]) speed[side] = along;
        driven = fmax(driven, hk_sweep_driven(c, k->way.point[v]));
    }
    // The slab between the closest points may do.
    if (k->distance - k->way.thickness - speed[0] - speed[1] >= HK_SWEEP_AHEAD * k->width + driven)
        return false;
    return hk_sweep_meet(c, (const double(*)[3])move, k) && hk_sweep_is_nearest(s, k, k->time);
}

static inline const hk_patch_box *hk_sweep_patch_box(const hk_sweep *s, int32_t patch)
{
    return &s->patches->box[s->patches->node[patch]];
}

#endif
