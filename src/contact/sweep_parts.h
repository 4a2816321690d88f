// What the files of hk_sweep share: sweep.c (bodies among each other) and sweep_self.c (a body and
// itself).
#ifndef HK_SWEEP_PARTS_H
#define HK_SWEEP_PARTS_H

#include <math.h>

#include "contact/sweep.h"

typedef struct hk_sweep_body {
    int points[2], edges[2], triangles[2];  // runs of them
    hk_box box;
    double near;  // m, pairs of its own are listed up to here; 0: none yet
    hk_contact *self;
    size_t self_count, self_room;
    double slow;   // part of its way that all of it goes
    bool touches;  // itself
} hk_sweep_body;

struct hk_sweep {
    hk_contacts *contacts;
    int body_count, obstacle_count;
    hk_sweep_body *bodies;
    hk_box *obstacle_box;  // [obstacle_count]
    uint8_t *meets;        // [body_count][body_count + obstacle_count] whether boxes overlap
    hk_box *box;           // [point_count] of ways
    hk_box *local;         // [body_points] of ways less the mean way of the body
    double *base;          // [body_points][3] m, shapes of the lists of bodies, about their means
    int32_t *points, *edges, *triangles;  // that are near something
    int point_count, edge_count, triangle_count;
    uint8_t *changed;  // [point_count] the round in which the way of a point last was shortened
    int32_t *parent;   // [body_count] of bodies that hang together
    double *part;      // [body_count] of the ways of these
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
        box->low[i] = fmin(box->low[i], other->low[i]);
        box->high[i] = fmax(box->high[i], other->high[i]);
    }
}

static inline bool hk_box_overlap(const hk_box *a, const hk_box *b)
{
    bool apart = false;
    for (int i = 0; i < 3; i++) apart |= a->low[i] > b->high[i] || b->low[i] > a->high[i];
    return !apart;
}

static inline double hk_sweep_radius(const hk_contacts *c, int side)
{
    const hk_model_contact *m = c->settings;
    return side < m->body_count ? m->bodies[side].thickness / 2
                                : m->obstacles[side - m->body_count].radius;
}

static inline void hk_sweep_add(hk_contacts *c, hk_contact k)
{
    for (int i = 0; i < 2; i++) k.pair.thickness += hk_sweep_radius(c, k.sides[i]);
    k.pair.law = c->settings->law;
    c->list[c->count++] = k;
}

// ---- sweep_self.c
// Before a step by c->move: a list of the body's own pairs where one will do.
hk_status hk_sweep_cover_self(hk_sweep *s, int body);
// Those of all bodies whose ways may cross, to the list of contacts.
hk_status hk_sweep_add_selves(hk_sweep *s);
// The part of its ways by c->move on which a body does not come in its own way.
hk_status hk_sweep_fraction_of_self(const hk_sweep *s, const hk_sweep_body *body, double *least);

#endif
