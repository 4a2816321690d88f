// All contacts of a model: which parts of surfaces are near each other, the energy with which they
// repel, friction, and how far they may move without passing through each other.
//
// Points are the vertices of the bodies' surfaces, then those of the obstacles; of a plane a point
// and that point plus the normal. A contact is a pair (pair.h) of four points at the most. Between
// detections the list of contacts has all pairs that can touch as long as no point moves farther
// than `reach` from where it was then; where a state is farther away, pairs are detected anew. So
// the energy
//
//   C(x) = Σ A (E_c/d̂) b(g)
//
// is one function of x, whatever list it is computed from: A is the area of a vertex or an edge at
// rest, E_c and d̂ modulus and thickness of the skin, b the law (law.h). Within one body d̂ is at
// most half the distance at rest, so that nothing pushes there; only pairs that share a vertex are
// left out.
//
// Positions are double[vertex_count][4] in the model's Morton order. The bits are the same for any
// number of threads.
#ifndef HK_CONTACTS_H
#define HK_CONTACTS_H

#include "contact/pair.h"
#include "contact/rows.h"
#include "contact/surface.h"
#include "model/contact.h"
#include "model/partition.h"

typedef struct hk_contact {
    int32_t point[4];
    int32_t sides[2];  // of the first and of the second (model/contact.h)
    hk_pair pair;
} hk_contact;

// Points of the one side come first.
static inline int hk_pair_firsts(hk_pair_kind kind)
{
    return kind == HK_EDGE_EDGE ? 2 : 1;
}

// Which contacts, or frictions, a point takes part in: uses 4 × contact + corner, in their order.
typedef struct hk_contact_uses {
    int64_t *start;  // [body_points + 1]
    int64_t *use;
    size_t capacity;
} hk_contact_uses;

// Friction that is at work in a step, or a press (pair.h): of recover.h, of the penalty law, or
// what damps a contact (damping.h).
typedef struct hk_slide {
    int32_t point[4];
    int32_t sides[2];
    hk_friction friction;
    bool press;
    size_t contact;  // that it is of, among the first listed_slides
} hk_slide;

typedef struct hk_contact_push {  // forces that a method found itself (split)
    int32_t point[4];
    int32_t sides[2];
    double gradient[12];  // N, the forces upon its corners with the opposite sign
} hk_contact_push;

typedef struct hk_way_pair {  // two that can meet on the way
    int32_t point[4];
    hk_pair_kind kind;
    bool marked;       // workspace of the search for them
    double thickness;  // m
} hk_way_pair;

typedef struct hk_foreseen {  // a contact that a step would make (foresee.c)
    int32_t point[4];
    double c[4], normal[3];
    double stiffness;  // N/m
    double missing;    // m, by which its gap is too large to push
} hk_foreseen;

// The surface of a model that is cut into parts (model/partition.h), as far as one of them looks
// after it: every triangle and every edge is in one part, with all of its points; a point counts
// for its owner. Edges that a cut has laid bare are none. What a feature has in common with its
// neighbours, and the area around it, are those of the whole.
typedef struct hk_part_surface {
    int point_count, edge_count, triangle_count;
    int32_t *vertices;       // [point_count] by the numbers of the model, ascending
    double *area;            // [point_count] m²
    float *end_common;       // [point_count]
    int32_t *edges;          // [edge_count][2] by the numbers of the model
    double *edge_area;       // [edge_count] m²
    int32_t *triangles;      // [triangle_count][3] by the numbers of the model
    float *triangle_common;  // [triangle_count][6]
    int32_t *edge_home;      // [edge_count] of a whole model: a vertex, whose owner looks after it
    int32_t *triangle_home;  // [triangle_count] the same; NULL in a part
    double mean_edge;        // m, of the whole
} hk_part_surface;

typedef struct hk_contacts {
    const hk_model *model;
    const hk_model_contact *settings;
    int threads;
    // ---- points, edges and triangles, those of bodies first
    int point_count, body_points;
    int32_t *vertex;    // [body_points] in Morton order
    int32_t *point_of;  // [vertex_count] of a vertex in Morton order; -1: not on a surface
    int32_t *side;      // [point_count]
    int32_t *body_of;   // [vertex_count] of a vertex in Morton order
    double *rest;       // [body_points][3] m
    double *area;       // [point_count] m² of the surface around it at rest; 0: of an obstacle
    int edge_count, triangle_count;
    int32_t *edges;      // [edge_count][2]
    int32_t *triangles;  // [triangle_count][3]
    double *edge_area;   // [edge_count] m²
    int body_edges, body_triangles;
    int line_count;
    int32_t *lines;          // [line_count][2] edges of bodies without triangles: ropes
    float *triangle_common;  // [triangle_count][6] γ of its edges and corners (pair.h)
    float *end_common;       // [point_count] γ of a point as the end of edges
    int32_t *touching;  // [touching_count] points that triangles can touch: not those of planes
    int touching_count;
    int32_t *plane_of;     // [obstacle_count] its first point; -1: it is no plane
    int32_t *start_of;     // [obstacle_count] its first point
    hk_placement *placed;  // [obstacle_count] where it is
    double radius;         // m, the largest of any side
    // ---- where points are
    double *x;          // [point_count][3] m, as of the last evaluation, and one number more
    double *base;       // [point_count][3] m, at the last detection
    double *kept;       // [point_count][3] m, of hk_contacts_keep
    double *aim;        // [point_count][3] m, where points are to go
    double *move;       // [point_count][3] m, workspace
    double *part;       // [body_points] workspace
    double *shared;     // [vertex_count][4] workspace of a part of a model, else NULL
    double *side_part;  // [body_count] workspace
    double reach;       // m; negative: nothing was detected yet
    double widest;      // m, the largest reach that is worth while
    double longest;     // m, the longest way that is searched at once (ways.c)
    // ---- what was found there
    hk_contact *list;  // [count], by kind and key
    size_t count, capacity;
    hk_contact_uses uses;
    double *gap;  // [count] m, of each, or less than that, where points are at `seen` (gaps.c)
    size_t gap_capacity;
    double *seen;         // [point_count][3] m
    int64_t gap_version;  // of the list that gaps are of
    double *force;        // [4 count][3] N
    size_t force_capacity;
    double *partial;  // sums of runs of contacts
    size_t partial_capacity;
    struct hk_contact_blocks *blocks;  // workspace (stiffness.c)
    // ---- the list in blocks of one kind each (list_blocks.c), made when they are asked for
    struct hk_feature_block *block;  // [block_count]
    size_t *block_first;             // [block_count] its first contact
    size_t block_count, block_capacity, block_first_capacity;
    int64_t block_version;  // of the list that they are of; -1: there are none
    // ---- what can meet on the way (ways.c)
    hk_way_pair *swept;
    size_t swept_count, swept_capacity;
    struct hk_approach *approaches;  // [swept_count] of guard.c
    size_t approach_capacity;
    // ---- what a step would bring together (foresee.c)
    hk_contact *ahead;  // workspace
    size_t ahead_capacity;
    hk_foreseen *foreseen;
    size_t foreseen_count, foreseen_capacity;
    // Vertices of all that were foreseen in this step: where stiffness may be soon.
    int32_t (*expected)[4];
    size_t expected_count, expected_capacity;
    // ---- friction of this step
    hk_slide *slides;
    size_t slide_count, slide_capacity;
    hk_contact_uses slide_uses;
    size_t listed_slides;   // the first of them, in the order of their contacts
    int64_t slide_version;  // of the list that these are of
    int64_t slide_rounds;   // that they were made, or scaled
    double *from;           // [point_count][3] m, where points were when it began; as long as x
    double step;            // s; 0: there is none
    double scale;           // by which energies count in it
    bool euler;             // the step is one of backward Euler
    bool damped;            // contacts are damped in it (damping.h)
    bool direct;            // the method finds forces and friction itself (split)
    bool pushed;            // those of the last step are these:
    hk_contact_push *pushes;
    size_t push_count, push_capacity;
    struct hk_touches *touches;  // touches.h
    // ---- workspace of detections
    hk_bvh triangle_tree, edge_tree;
    hk_pairs triangle_pairs, edge_pairs;
    hk_box *boxes;         // [largest of the counts]
    double search_radius;  // m, of the search that is going on
    bool together;         // all points go the same part of their moves
    // ---- what there was to do
    int64_t detections, version;     // version: of the list
    int64_t sweeps;                  // searches along ways
    double detect_s;                 // s
    double pairs_s, guard_s;         // s, without the detections in them
    int64_t clamped;                 // vertices and steps that the guard shortened
    int32_t blocking[2];             // sides that were in each other's way last; −1: none were
    hk_sdf **fields;                 // [obstacle_count] or NULL (field.h)
    struct hk_insides *insides;      // of the penalty law, or NULL (inside.h)
    struct hk_recovery *recovery;    // NULL: there is nothing to recover from (recover.h)
    struct hk_contact_proof *proof;  // made when it is first asked for (overlap.h)
    hk_status status;                // of a detection within an evaluation, which has no other way
} hk_contacts;

hk_status hk_contacts_create(const hk_model *model, int threads, hk_contacts **contacts);
void hk_contacts_free(hk_contacts *contacts);

// Of a whole model. (part_surface.c)
hk_status hk_part_surface_create(const hk_model *whole, hk_part_surface **surface);
void hk_part_surface_free(hk_part_surface *surface);
// Points, edges and triangles without anything to evaluate them with.
hk_status hk_contacts_create_surface(const hk_model *model, hk_contacts **contacts);
hk_status hk_contacts_count_common(hk_contacts *contacts);  // for hk_contacts_create (common.c)
// Whether a point of a body is this process's to look after.
static inline bool hk_contacts_counts(const hk_contacts *contacts, int32_t point)
{
    return hk_partition_counts(contacts->model->partition, contacts->vertex[point]);
}
double hk_contacts_mean_edge(const hk_contacts *contacts);  // m, of all bodies at rest
// m² of a triangle of a body at rest.
double hk_contacts_triangle_area(const hk_contacts *contacts, const int32_t triangle[3]);

// Obstacles where they are at a time, or at a fraction of their way (poses).
hk_status hk_contacts_place(hk_contacts *contacts, bool by_fraction, double fraction, double time);

// One obstacle.
void hk_contacts_put(hk_contacts *contacts, int obstacle, const hk_placement *at);

// Of a list whose entries begin with their four points.
hk_status hk_contact_uses_fill(hk_contact_uses *uses, int points, const void *list, size_t size,
                               size_t count);

// ---- detection (detect.c)
// Positions of bodies into contacts->x; the farthest that a point is from where it was detected.
double hk_contacts_gather(hk_contacts *contacts, const double *x);
// Pairs whose boxes, each thickened by the radius of its side, are at most `radius` apart along
// every axis, into the workspace of detections.
typedef void hk_contact_boxes_fn(const hk_contacts *contacts, int count, int corners,
                                 const int32_t *primitives, hk_box *boxes);
hk_status hk_contacts_find_pairs(hk_contacts *contacts, hk_contact_boxes_fn *boxes, double radius);
// The points of a pair that was found.
void hk_contacts_points_of(const hk_contacts *contacts, hk_pair_kind kind, uint64_t key,
                           int32_t point[4]);
// How far apart two are, m, without their thickness: at contacts->x, and of one body at rest.
double hk_contacts_pair_distance(const hk_contacts *contacts, hk_pair_kind kind,
                                 const int32_t point[4]);
double hk_contacts_rest_distance(const hk_contacts *contacts, hk_pair_kind kind,
                                 const int32_t point[4]);
// All pairs at contacts->x that can touch while points move by `reach` at the most.
hk_status hk_contacts_detect(hk_contacts *contacts, double reach);
// Contacts of the pairs that were found, and of planes, that can touch while points move by `reach`
// at the most, or, where that is infinite, along contacts->move.
hk_status hk_contacts_make(hk_contacts *contacts, double reach, hk_contact **list, size_t *capacity,
                           size_t *count);
// Whether the list has all pairs that can touch at contacts->x, with points `away` from where they
// were detected.
bool hk_contacts_reach(const hk_contacts *contacts, double away);
// Takes the positions, and detects anew where they are too far away.
hk_status hk_contacts_see(hk_contacts *contacts, const double *x);

// ---- gaps of the list (gaps.c): most contacts are told to be apart by what their gaps were
// How much nearer than then two points can be to each other at contacts->x, m; +inf: nothing is
// known.
double hk_contacts_nearer(const hk_contacts *contacts);
// Whether a contact does not push for sure.
static inline bool hk_gap_is_apart(double gap, double nearer, double width)
{
    return gap - nearer > (1 + 1e-9) * width;
}
static inline bool hk_contacts_apart(const hk_contacts *c, size_t number, double nearer)
{
    return hk_gap_is_apart(c->gap[number], nearer, c->list[number].pair.width);
}
void hk_contacts_keep_gaps(hk_contacts *contacts);  // they are of contacts->x

// ---- the list in blocks (list_blocks.c)
hk_status hk_contacts_need_blocks(hk_contacts *contacts);
// The contacts of a block that may push, one bit for each; `nearer` as above.
unsigned hk_contacts_near_in_block(const hk_contacts *contacts, size_t block, double nearer);

// ---- ways (ways.c): from contacts->x along contacts->move
double hk_contacts_longest_move(const hk_contacts *contacts);
hk_contact_boxes_fn hk_contacts_swept_boxes;
bool hk_contacts_way_is_listed(const hk_contacts *contacts);  // the list has all that can meet
// By how much two can come nearer to each other along these ways, m, at the most; `together`: where
// all go the same part of them.
double hk_contacts_closing(const hk_contacts *contacts, hk_pair_kind kind, const int32_t point[4],
                           bool together);
// What can meet, into contacts->swept, but for pairs that come nearer by no more than a part
// HK_GAP_TO_CLOSE of their gap, and have HK_GAP_LEFT of the contact distance left then.
#define HK_GAP_TO_CLOSE 0.9
#define HK_GAP_LEFT     0.1
hk_status hk_contacts_search_way(hk_contacts *contacts);

// ---- the energy (forces.c, stiffness.c); all of it calls hk_contacts_see first
double hk_contacts_energy(hk_contacts *contacts, const double *x);
// Adds to the gradient; the energy may be NULL.
void hk_contacts_add_gradient(hk_contacts *contacts, const double *x, double *gradient,
                              double *energy);
void hk_contacts_add_diagonal(hk_contacts *contacts, const double *x, double *diagonal);
// The blocks of all pairs of vertices (Morton order), as hk_block_fn wants them (term/term.h), by
// up to so many threads at a time.
typedef void hk_contact_block_fn(void *context, int32_t a, int32_t b, const double block[9]);
void hk_contacts_visit_blocks(hk_contacts *contacts, const double *x, double keep, int threads,
                              hk_contact_block_fn *visit, void *context);
// Adds the time since `start`, without detections, to that of pairs; those had taken `detected` by
// then.
void hk_contacts_count_pairs(hk_contacts *contacts, double start, double detected);
void hk_contacts_free_blocks(struct hk_contact_blocks *blocks);  // the workspace for that
// The vertices of each contact that is listed, touching or not.
typedef void hk_contact_vertices_fn(void *context, const int32_t *vertices, int count);
void hk_contacts_visit_vertices(const hk_contacts *contacts, hk_contact_vertices_fn *visit,
                                void *context);

// ---- the positive part of it as springs (rows.c)
void hk_contacts_visit_rows(hk_contacts *contacts, const double *x, hk_contact_row_fn *visit,
                            void *context);

// ---- the guard (guard.c): from a state without intersections to another one. `penalty` has none.
bool hk_contacts_guarded(const hk_contacts *contacts);
// contacts->x and contacts->move.
void hk_contacts_take_step(hk_contacts *contacts, const double *x, const double *step,
                           double length);
// The longest length, at most `length`, that x may go along `step`.
double hk_contacts_limit(hk_contacts *contacts, const double *x, const double *step, double length);
// Takes from a step, body by body, what leads through something.
void hk_contacts_shorten(hk_contacts *contacts, const double *x, double *step);
// Takes x towards `to`, each vertex as far as it may go by itself; whether all arrived.
bool hk_contacts_walk(hk_contacts *contacts, double *x, const double *to);
double hk_contacts_gap(const hk_contacts *contacts,
                       const hk_contact *contact);  // m, at contacts->x
// How far a pair at contacts->x may follow contacts->move, at most the fraction `most`, until its
// gap is a tenth of what it was, or `left`, m; x is about where it is then.
double hk_contacts_advance(const hk_contacts *contacts, const hk_way_pair *pair, double left,
                           double most, double x[4][3]);
// The fraction of contacts->move, at most `most`, that leaves a pair at contacts->x a part of its
// gap, HK_GAP_TO_CLOSE or less of it.
double hk_contacts_fraction(const hk_contacts *contacts, const hk_way_pair *pair, double most);
// Goes from the state that was kept, obstacles and all, towards x with obstacles as they are now.
// Whether held vertices and obstacles arrived there; x is where free ones have come to.
void hk_contacts_keep(hk_contacts *contacts, const double *x);
bool hk_contacts_approach(hk_contacts *contacts, const uint8_t *held, double *x);
// For that: contacts->aim of free points that planes would run into, put in front of them
// (carry.c). Whether there are any.
bool hk_contacts_carry(hk_contacts *contacts, const uint8_t *held);
// Whether nothing passes through anything on straight ways from there to x.
bool hk_contacts_passes(hk_contacts *contacts, const double *x);

// ---- contacts that a step would make (foresee.c), as springs among the blocks until forgotten
// Those of a step from x; whether they are others than before.
bool hk_contacts_foresee(hk_contacts *contacts, const double *x, const double *step);
void hk_contacts_forget_foreseen(hk_contacts *contacts);
void hk_contacts_add_foreseen(const hk_contacts *contacts, double *gradient);

// Fails with the names of two that overlap at x, and where (overlap.c).
hk_status hk_contacts_check(hk_contacts *contacts, const double *x);

// Energies, forces and friction count so many times from now on: 1, but in some integrators'
// stages.
void hk_contacts_count_as(hk_contacts *contacts, double scale);
// Pa, of the skin between two sides, as it counts.
double hk_contacts_modulus(const hk_contacts *contacts, int a, int b);

// ---- friction (friction.c)
// Forces and directions of the contacts at x; slides are measured from where points are at x with
// obstacles as they stand.
hk_status hk_contacts_begin_friction(hk_contacts *contacts, const double *x, double step,
                                     bool euler);
// Those at x, for slides from the same places as before.
hk_status hk_contacts_renew_friction(hk_contacts *contacts, const double *x);
// Whether things press on each other at x more than twice as much as friction knows.
bool hk_contacts_meet(hk_contacts *contacts, const double *x);
void hk_contacts_end_friction(hk_contacts *contacts);  // none

// Corners of a contact or a slide.
static inline void hk_contact_corners(const double *x, const int32_t point[4], double to[4][3])
{
    for (int k = 0; k < 4; k++) memcpy(to[k], x + 3 * (size_t)point[k], 3 * sizeof(double));
}

#endif
