// Interactive two-way design (TwoWay section 5.2), as the thread that edits has it. What others see
// is on the refiner's board (refine.h).
#ifndef HK_DESIGN_H
#define HK_DESIGN_H

#include "design/initialise.h"
#include "design/modify.h"
#include "design/refine.h"

typedef struct hk_handle {
    bool held;  // false: it was released, and its number is free
    bool tie;   // one point between several vertices, which is pulled
    int count;
    int32_t *vertex;  // [count] in Morton order
    double weight[4];
    double *start;         // [count][3] where they were when it was grabbed
    double transform[12];  // A and t of where they go: [3][4]
} hk_handle;

// All that edits change: a design is at one of these, and its history is made of others. Vectors
// are [vertex_count][4] in Morton order.
typedef struct hk_design_point {
    hk_model *model;  // a reference: what is held, materials, loads. Its rest positions are those
                      // that the design began with
    hk_design_side given;
    double *shape[2];  // by hk_design_side
    double *base;      // the given shape as handles found it
    double *pair[2];   // the last refined shapes that belong together
    bool paired;       // there are such
    int handle_count;
    size_t handle_capacity;
    hk_handle *handles;
    bool settled;  // the given shape has followed its handles
    bool refined;  // the refinement of these shapes has ended, with `view`
    hk_design_view view;
} hk_design_point;

typedef struct hk_history_entry {
    char name[48];
    hk_design_point point;  // before the edit where it can be undone, after it where redone
} hk_history_entry;

typedef struct hk_history {
    hk_history_entry *entries;  // [count] those before `now` can be undone, the others redone
    int count, now;
    size_t capacity;
    size_t most;      // bytes
    char next[48];    // name of the next edit; "": its own
    int open_handle;  // whose edits still belong to the last entry; -1: none
} hk_history;

struct hk_design {
    int threads, steps;
    hk_reference *reference;
    hk_modify *modify;
    hk_initialise *initialise;
    hk_refiner *refiner;
    hk_design_point now;
    hk_history history;
    uint64_t version;
    bool modify_ready;      // is factored for the handles of now, and has their base
    bool initialise_ready;  // is factored for what is held now, and knows pair and loads
    uint8_t *factored;      // [vertex_count] what initialise is factored for: held 1, attached 2
    bool has_factored;
    bool posted;          // this version was, to the refiner
    uint8_t *held;        // [vertex_count] workspace
    double *goal;         // [vertex_count][4] where held vertices of the given shape go
    hk_modify_tie *ties;  // [tie_count]
    int tie_count;
    size_t tie_capacity;
    hk_refine_job job;  // arrays to post with
    int out_of_bounds;
    double preview_ms;
};

static inline hk_design_side hk_other_side(hk_design_side side)
{
    return side == HK_LOADED_SHAPE ? HK_REST_SHAPE : HK_LOADED_SHAPE;
}

// ---- points (design_history.c)

// A copy that shares nothing but the model.
hk_status hk_design_point_copy(const hk_design *design, const hk_design_point *from,
                               hk_design_point *to);
void hk_design_point_release(hk_design_point *point);
void hk_handle_release(hk_handle *handle);

// ---- edits (design_edit.c)

// An edit works on a copy of now, `next`, and is entered into the history when it succeeds.
typedef struct hk_edit {
    hk_design *design;
    const char *name;
    int handle;  // that it is of; -1: none
    bool anew;   // is never part of the one before
    hk_design_point next;
} hk_edit;
hk_status hk_edit_begin(hk_design *design, const char *call, const char *name, int handle,
                        hk_edit *edit);
// With `status` of what was done in between: now becomes next, or all stays as it was.
hk_status hk_edit_end(hk_edit *edit, hk_status status);
// next->given becomes `side`; fails while handles hold the other shape.
hk_status hk_edit_give(hk_edit *edit, hk_design_side side);
// A model of next's own, to change.
hk_status hk_edit_model(hk_edit *edit, hk_model **model);
// Shapes of next changed by an edit: the given one is settled, and handles begin from it anew.
void hk_edit_rebase(hk_edit *edit);

// ---- the history (design_history.c)

// `before` becomes an entry, if the edit is not a part of the last one; it is taken over or
// released. Cannot fail after hk_history_reserve.
hk_status hk_history_reserve(hk_history *history);
void hk_history_enter(hk_design *design, const struct hk_edit *edit, hk_design_point *before);
void hk_history_release(hk_history *history);

// ---- what now is (design.c)

// The refinement of these shapes has ended: takes it over from the board, and passes messages on.
void hk_design_take_up(hk_design *design);
// A new version: the refinement is cancelled. `point` becomes now, which is released.
void hk_design_go_to(hk_design *design, hk_design_point *point);
// Puts now on the board.
void hk_design_publish(hk_design *design, hk_design_state state);

// ---- handles (design_handles.c)

// Makes the matrix for the handles of now ready, unless it is.
hk_status hk_design_factor_handles(hk_design *design);
// design->goal and the ties: where the handles of now want the given shape to be.
void hk_design_set_goals(hk_design *design);

#endif
