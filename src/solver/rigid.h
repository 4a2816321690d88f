// Free bodies as rigid ones: where inertia and external forces want them, in the shape that they
// have (rules/rigid.h). Methods that go from neighbour to neighbour take as many iterations for
// that as a body is stiff, while it costs two passes over the vertices.
#ifndef HK_RIGID_H
#define HK_RIGID_H

#include "model/live.h"
#include "rules/rigid.h"

typedef struct hk_problem hk_problem;

// Connected components of which no vertex is held or tied.
typedef struct hk_rigid {
    int body_count;
    int32_t *start;           // [body_count + 1] in `vertex`
    int32_t *vertex;          // in Morton order
    int32_t *body_of;         // [vertex_count] in the model's order; -1: none of them
    uint8_t *grabbed;         // [body_count] by a world's grab
    hk_rigid_sums *partial;   // over runs of vertices
    double *other;            // [vertex_count][4] workspace of those who align
    hk_rigid_motion *motion;  // [body_count]
} hk_rigid;

hk_status hk_rigid_create(const hk_model *model, hk_rigid **rigid);
void hk_rigid_free(hk_rigid *rigid);

// Which of them grabs hold at present.
void hk_rigid_mark_grabbed(hk_rigid *rigid, const hk_live *live);
// Whether a time step has any of them.
bool hk_rigid_any(const hk_problem *problem);
// Moves them in x ([vertex_count][4]) to where ε is least.
void hk_rigid_align(const hk_problem *problem, double *x);
// Their vertices alone.
void hk_rigid_copy(const hk_problem *problem, const double *from, double *to);

#endif
