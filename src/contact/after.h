// Contact that is put right after a step: "when": "after".
//
// A step is taken as if nothing were in the way. Then vertices inside of obstacles are moved out
// along the signed distance (Descent: position constraints at the end of the step), and vertices
// inside of other bodies to the surface, by Split's way (inside.h). With w inverse masses and C = n
// · Σ c x − distance,
//
//   λ = −C / Σ w c²,   x += w c λ n,   friction  min(μ λ, u_t / Σ w c²)  against u_t,
//
// u_t the sliding since the beginning of the step. Velocities follow from the positions.
#ifndef HK_AFTER_H
#define HK_AFTER_H

#include "contact/inside.h"
#include "contact/measure.h"

typedef struct hk_after {
    hk_contacts *contacts;
    hk_insides *insides;
    hk_placement *before;        // [obstacle_count] where they were
    double *mass;                // [body_points] kg; 0: held, and not to be moved
    double *x;                   // [body_points][3] m
    double *from;                // [body_points][3] m, before the step
    int64_t corrected;           // vertices that were moved, in the last step
    double seconds;              // s, that were spent on it
    hk_contact_measure measure;  // of the last step: what moved them, as forces
} hk_after;

hk_status hk_after_create(const hk_model *model, int threads, hk_after **after);
void hk_after_free(hk_after *after);

// A step of h s from `from` ended at x, both [vertex_count][4]: obstacles are placed at `times`,
// before and after it, and x is put right. `held` is [vertex_count].
hk_status hk_after_correct(hk_after *after, const uint8_t *held, const double times[2], double h,
                           const double *from, double *x);

#endif
