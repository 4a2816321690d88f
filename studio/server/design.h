// The mode `design`: two shapes, edited on either side.
#ifndef STUDIO_DESIGN_H
#define STUDIO_DESIGN_H

#include "simulation.h"

enum { ST_MOST_HANDLES = 32, ST_MOST_MARKS = 256 };

typedef struct st_handle {
    int client, number;  // that the client calls it
    int handle, side;
    bool region;
    st_point point;  // or of a region its first vertices, and
    double centre[3];
    double target[3];
} st_handle;

// The scene's edits before and after an edit of the design: for undoing.
typedef struct st_mark {
    uint32_t number;  // 0: none
    st_edits before, after;
} st_mark;

// Of a shape that was found: whether it can be made, and is of use.
typedef struct st_check_result {
    bool knows_stability, stable, knows_overlaps;
    int overlaps;     // of faces of the rest shape with each other
    double place[3];  // of the first one
} st_check_result;
typedef struct st_check st_check;

// Values of a field, the same for both shapes and all pages.
typedef struct st_field_cache {
    char name[32];
    double *values;     // [n] at the model's vertices
    uint64_t sequence;  // of the view that they are of
    double at, ms;      // when they were computed, and how long it took
} st_field_cache;
enum { ST_MOST_CACHES = 4 };

struct st_design {
    hk_design *design;
    hk_model *model;  // with what was edited; rest positions of the scene
    double *shapes[2];
    double *start;  // [n][3] the shape that was given first
    hk_design_side given;
    hk_design_view view;
    bool hurry;  // an edit came: do not wait for the next sixtieth of a second
    double next_preview;
    double refining_since, last_told;
    bool was_refining, untold;
    st_field_cache caches[ST_MOST_CACHES];
    st_check *check;  // that is under way
    st_check_result checked;
    uint64_t seen_version, check_version;  // of what is waited for, of the last check
    double check_at;                       // ms
    st_handle handles[ST_MOST_HANDLES];
    int handle_count;
    st_mark marks[ST_MOST_MARKS];  // a ring
    uint32_t mark_count;
    char mark_name[64];  // of the edit that is being made
};

// ---- design_edit.c
int st_design_edit(st_session *session, const st_command *command, st_why *why);
void st_design_release_all(st_session *session, int client);
void st_design_forget(st_design *design);
const char *st_plain_name(const char *name);  // of an edit, without its number
bool st_design_refresh_model(st_session *session, st_why *why);

// ---- design_check.c
// Begins a check, or takes what it found; ms until there is more to do.
double st_design_check(st_session *session);
void st_design_check_end(st_design *design);

// ---- design_view.c
bool st_design_field(st_session *session, int shape, const char *name, double *values);
void st_design_tell(st_session *session);
bool st_design_save(st_session *session, int shape, const char *what, const char *path,
                    st_why *why);

#endif
