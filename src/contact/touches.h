// Contacts around a centre, for methods that move every vertex by itself, many times before they
// look at the energy: descent, vbd and xpbd.
//
// At a centre, a state without intersections, the closest points of all listed contacts are found.
// Between those of two convex things lies a slab (guard.c). Each side may take its half of it, less
// a part that stays; so every vertex has a region, the intersection of half-spaces and a ball,
// which is convex. While all vertices are in their regions nothing can have passed through anything
// else, whatever way they took and in whatever order: that holds for accelerated and extrapolated
// states and for those that are undone.
//
// Forces are those of closest points and normals that are found now and then, with
//
//   g = g₀ + n · Σ c_i (x_i − x_i,0),
//
// exact where they were found, which is wherever methods compare energies, and to first order
// around it. That needs no new centre as long as points stay near to the one that there is.
#ifndef HK_TOUCHES_H
#define HK_TOUCHES_H

#include "contact/contacts.h"
#include "contact/feature_lanes.h"

// Positions as a list of terms has them.
typedef struct hk_places {
    void *x;             // scalar[vertex_count][4] m
    const double *base;  // [vertex_count][4] m, of displacements in single precision; NULL: double
} hk_places;

// A contact that is near, as it lay at the centre.
typedef struct hk_touch {
    int32_t point[4];
    int32_t firsts;     // corners of the first side; 0: nothing is filled in
    double c[4];        // weights of the closest points
    double normal[3];   // from the second side to the first
    double gap;         // m
    double room[4];     // m, by which a corner may go towards the other side
    double part_of[4];  // of the gap that is a corner's
    double part;        // of κ that counts, for relax.c: the mollifier, and what it has in common
    double friction;    // μ
    hk_pair pair;
} hk_touch;

// A feature of one that pushes, or may soon.
typedef struct hk_push {
    int32_t point[4];
    double normal[4];  // and 0
    double c[4];
    double spread;     // Σ |c| over corners of bodies
    double gap;        // m, where it was found
    double reduced;    // m, what that would be at the centre by these weights and normal
    double width;      // m
    double stiffness;  // N/m, of this feature (pair.h); negative where it is taken off
} hk_push;

// A run of candidates, and what it found.
typedef struct hk_push_run {
    int64_t pushes;
    int64_t start;  // of them among all
    double energy;  // J
    double least;   // m, gap
    bool turns;     // nearly parallel edges are among them
} hk_push_run;

typedef struct hk_touches {
    // ---- the centre
    int64_t version;  // of the list that the rest is of; -1: there is no centre
    double *centre;   // [point_count][3] m
    double *away;     // [point_count][4] m, from there to the last state with an energy
    bool crowded;     // points have been taken back into their regions since
    bool ended;       // a solve has ended since, and what moved then is no measure for the next
    double nearest;   // m, the least gap there
    double motion;    // m, by which points moved from centre to centre lately
    double limit;     // m, gaps below it are near
    int64_t centres;  // that there were
    // ---- contacts of the list
    double *gap;      // [list] m, at the centre, or less than that where it is not near
    hk_touch *touch;  // [list] of those that are near
    size_t gap_capacity, touch_capacity;
    size_t *near;  // [near_count] their numbers, rising
    size_t near_count, near_capacity;
    hk_contact_uses uses;  // of the near ones: 4 × place in `near` + corner
    // ---- regions
    double *origin;  // [body_points][4] m, the centre in the places' own numbers (less the base)
    double *ball;    // [body_points] m, around the centre
    double *soft;    // [body_points] m, a ball within the whole region
    // ---- what may push before the next centre (pushes.c)
    hk_feature_block *candidate;  // [candidate_blocks]
    hk_pair *candidate_pair;      // [candidate_blocks][HK_FEATURE_LANES], one after the other
    size_t candidate_blocks, candidate_capacity, candidate_pair_capacity;
    double candidate_margin;  // m, which those that are not among them are beyond their widths
    double push_margin;       // m, within which features are listed
    // ---- what pushes
    bool found;     // it is of this centre
    double energy;  // J, with that of slides, as they were then
    int64_t slide_rounds;
    double *at;        // [point_count][4] m, where points were when it was found
    double *at_away;   // [point_count][4] m, `away` then
    hk_push *push;     // [push_count]
    hk_push *scratch;  // of the runs, each from a place of its own
    size_t push_count, push_capacity, scratch_capacity;
    double *other_at, *other_away;  // [point_count][4] m, workspace of hk_touches_tell_energy
    hk_push_run *run;
    size_t run_capacity;
    double *turning;  // [body_points][3] N, what nearly parallel edges add, as it was found
    bool turns;       // some of it is not 0
    double *slid;     // [slide_count][4] m, from the beginning of the step to the centre
    size_t slid_capacity;
    double least;     // m, the least gap of what pushes
    double *partial;  // sums of runs
    size_t partial_capacity;
    // ---- slots for forces upon four corners: of what pushes, then of what drags without
    int32_t *slot_point;  // [slot_count][4]
    size_t slot_count, slot_capacity;
    int32_t *slot_drag;   // [slot_count] the slide in it, or −1
    int32_t *drag_slot;   // [slide_count]
    int32_t *drag_point;  // [slide_count][4] of the slides that the slots are of
    size_t slot_drag_capacity, drag_slot_capacity, drag_point_capacity;
    size_t slotted_pushes, slotted_drags;
    hk_contact_uses slot_uses;  // 4 × slot + corner
    int32_t *touched;           // [touched_count] points that something pushes or drags
    int touched_count;
    // ---- forces (push_lanes.h)
    const struct hk_push_table *kernels;  // NULL: `lean` is not of what pushes
    void *lean;                           // blocks of slots
    void *slot_force;                     // scalar[slot][4][4] N, of corners
    size_t lean_capacity, slot_force_capacity;
    void *lean_origin, *lean_away;  // scalar[point_count][4] m, the centre, and from there to x
    void *lean_soft;                // scalar[body_points] m², of `soft`
    bool placed;                    // lean_away is of the state that is evaluated next
    void *bend, *used_bend;         // scalar[slot] N/m along the normal, and what blocks have of it
    void *pull, *used_pull;         // scalar[slot] N/m across
    void *slot_block;               // [slot] what blocks are made of
    size_t slot_block_capacity;
    size_t bend_capacity, used_bend_capacity, pull_capacity, used_pull_capacity;
    double *block;      // [body_points][6] N/m, xx xy xz yy yz zz: for Jacobi's iteration a bound
    void *lean_block;   // scalar[touched][3][4] as iterations want them
    double least_part;  // of the stiffness of a touched point that is inertia
    bool blocks;        // they are there
    const struct hk_push_table *blocked;   // who made them
    const struct hk_push_table *prepared;  // who made lean_block of them; NULL: nobody
    double blocks_moved;                   // m, at most, of points since they were made
    // ---- sweeps by colours (vertex.c)
    const void *before;        // scalar[vertex_count][4] where vertices were
    const int32_t *colour_of;  // [vertex_count]
    // ---- sweeps over contacts (relax.c)
    double *impulse;  // [near_count][4] N, along the normal and across
    size_t impulse_capacity;
} hk_touches;

hk_status hk_touches_create(const hk_contacts *contacts, hk_touches **touches);
void hk_touches_free(hk_touches *touches);

// What is evaluated next is far from whatever centre there is. Gaps of that one still count
// (hk_touches_apart).
void hk_touches_begin(hk_contacts *contacts);
// Makes a state the centre. `motion`: by which points are expected to move, m. Where there is no
// memory, contacts->status says so.
void hk_touches_center(hk_contacts *contacts, const hk_places *x, double motion);
// What is near the centre, from where that is and the gaps there, as a state in a file has them.
hk_status hk_touches_recall(hk_contacts *contacts);
// The energy at x, which is in the regions, J; +inf where there is no memory. What pushes there is
// found anew unless x is so near to where it was found that the energy can be told from there. If x
// is far from the centre, it becomes the centre.
double hk_touches_energy(hk_contacts *contacts, const hk_places *x);
// Adds forces at x to a gradient, scalar[vertex_count][4].
void hk_touches_add_gradient(hk_contacts *contacts, const hk_places *x, void *gradient);
// For a step of Jacobi's iteration, q − inverse (gradient + k (q − target) − force), k in the
// fourth place of target; vectors are scalar[vertex_count][4]. Where contacts push, as of the last
// gradient, that is changed to the one whose step is that of their blocks added to the diagonal.
// Returns the least part of the stiffness there that is inertia, at most 1.
typedef struct hk_touch_step {
    const void *q, *inverse, *target, *force;
    void *gradient;
    bool renewed;  // `inverse` is another one than the last time
} hk_touch_step;
double hk_touches_precondition(hk_contacts *contacts, const hk_touch_step *step);

// How far points at contacts->x are from the centre, m; +inf: the list is another.
double hk_touches_moved(const hk_contacts *contacts);
// Whether a contact does not push for sure with points so far from it.
static inline bool hk_touches_apart(const hk_contacts *c, size_t number, double moved)
{
    return moved < HUGE_VAL && c->touches->gap[number] - 2 * moved >= c->list[number].pair.width;
}

// Whether contacts->x is, up to rounding, where all that pushes was found last: the energy is that
// of then, with slides.
bool hk_touches_know_energy(const hk_contacts *contacts, double *energy);
// The energy of what pushes at contacts->x, J, if that is near enough to the centre to know what
// does; leaves everything as it is.
bool hk_touches_tell_energy(hk_contacts *contacts, double *energy);

// What may push before the next centre, of one that was just made (pushes.c).
hk_status hk_touches_list_candidates(hk_contacts *contacts);
// What pushes at the places that `away` leads to, and the energy, J.
hk_status hk_touches_find_pushes(hk_contacts *contacts, double *energy);
// Σ of the slides there, J (push_forces.c), and room for sums.
double hk_touches_slides_energy(hk_contacts *contacts);
hk_status hk_touches_reserve_sums(hk_contacts *contacts);
// The energy at the places that `away` leads to, to second order.
double hk_touches_near_energy(hk_contacts *contacts);
// Uses of entries that begin with their four points, entry `stride` × chosen[n] of a list.
hk_status hk_touches_fill_uses(const hk_contacts *contacts, const void *list, size_t stride,
                               const size_t *chosen, size_t count, hk_contact_uses *uses);

// ---- regions (truncate.c)
// Takes points back into their regions; true: many were outside.
bool hk_touches_truncate(hk_contacts *contacts, const hk_places *x);
// Whether a vertex is in its region.
bool hk_touches_inside(const hk_contacts *contacts, int vertex, const hk_places *x);
// One vertex, back along the way from `from`; whether it was outside.
bool hk_touches_truncate_vertex(const hk_contacts *contacts, int vertex, const hk_places *from,
                                const hk_places *x);

// ---- one vertex, all others at rest (vertex.c)
bool hk_touches_vertex(const hk_contacts *contacts, int vertex, const hk_places *x,
                       double gradient[3], double block[6]);
double hk_touches_vertex_energy(const hk_contacts *contacts, int vertex, const hk_places *x,
                                const double step[3]);

// ---- contact after contact (relax.c)
hk_status hk_touches_begin_relax(hk_contacts *contacts);
// x as hk_relax_ops has it.
void hk_touches_relax(hk_contacts *contacts, const hk_places *x, double h);

static inline double hk_place_of(const hk_places *q, int64_t at)
{
    return q->base ? q->base[at] + (double)((const float *)q->x)[at] : ((const double *)q->x)[at];
}

// From the centre to a point.
static inline void hk_place_away(const hk_contacts *c, const hk_places *q, int p, double d[3])
{
    const double *origin = c->touches->origin + 4 * (size_t)p;
    int64_t at = 4 * (int64_t)c->vertex[p];
    if (q->base)
        for (int i = 0; i < 3; i++) d[i] = (double)((const float *)q->x)[at + i] - origin[i];
    else
        for (int i = 0; i < 3; i++) d[i] = ((const double *)q->x)[at + i] - origin[i];
}

static inline void hk_place_put(const hk_places *q, int64_t at, double value)
{
    if (q->base)
        ((float *)q->x)[at] = (float)(value - q->base[at]);
    else
        ((double *)q->x)[at] = value;
}

#endif
