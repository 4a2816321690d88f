// The refinement of a design (TwoWay Figure 7, the simulation stage), by a thread of its own, and
// the board on which both threads show what they have: both shapes and how they stand, always of
// one moment.
//
// The thread that edits posts a job, a copy of all that it needs, and never waits for it. The
// refiner looks at the version of the board when a job ends, under the lock: what belongs to an
// older version is dropped.
#ifndef HK_REFINE_H
#define HK_REFINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "model/model.h"

typedef struct hk_refine_job {
    uint64_t version;
    hk_design_side given;
    hk_model *model;        // a reference of its own
    double *shape, *start;  // [vertex_count][3] the given shape, and a guess of the other
} hk_refine_job;

enum { HK_REFINE_NOTES = 512 };
typedef struct hk_refiner {
    int vertex_count, threads;
    double tolerance;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;  // of the refiner; of those who wait for it
    bool has_lock, has_wake, has_done, has_thread;
    pthread_t thread;
    // Under the lock:
    double *shape[2];     // [vertex_count][3] by hk_design_side
    hk_design_view view;  // its arrays are not used
    hk_refine_job next;   // waiting; its arrays are always there
    bool waiting, busy, quit;
    char notes[HK_REFINE_NOTES];  // messages for the log, one per line
    // Not under it:
    atomic_bool cancelled;  // the job at work is of no use any more
    // The refiner's own:
    hk_refine_job job;
    struct hk_rest *rest;                // of rest_model; NULL: none
    hk_model *rest_model;                // a reference
    struct hk_equilibrium *equilibrium;  // of poses; NULL: none
    double *from;                        // [vertex_count][4] where a pose begins
    double *workspace;                   // [2 tets]
    int tets;
} hk_refiner;

// Begins with both shapes at `shape`, [vertex_count][3], as version 0.
hk_status hk_refiner_create(const hk_model *model, const double *shape, int threads,
                            double tolerance, hk_refiner **refiner);
// Cancels what is at work, and waits for that.
void hk_refiner_free(hk_refiner *refiner);

// A new version: what is at work is of no use, nor is what waits.
void hk_refiner_cancel(hk_refiner *refiner, uint64_t version);
// Takes over job->shape and job->start by swapping them for others, and the model.
void hk_refiner_post(hk_refiner *refiner, hk_refine_job *job);
// Waits until nothing is at work, at most until the time `until` of hk_now() (INFINITY: for ever).
void hk_refiner_wait(hk_refiner *refiner, double until);

// ---- the ways to refine (refine_solve.c), in the refiner's thread

// Solves the job at work: `found` [vertex_count][3] and the view's numbers. HK_STOPPED in
// view->reason: it was cancelled. A failed call is told by the view, too.
void hk_refine_solve(hk_refiner *refiner, double *found, hk_design_view *view);
// What makes the next solve faster, now that there is time.
void hk_refine_prepare_next(hk_refiner *refiner);

#endif
