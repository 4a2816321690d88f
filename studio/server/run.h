// Worlds in motion: one in the mode `live`, two in `compare`, which take the same steps.
#ifndef STUDIO_RUN_H
#define STUDIO_RUN_H

#include "simulation.h"

enum { ST_MOST_WORLDS = 2, ST_MOST_GRABS = 32, ST_MOST_ROWS = 1 << 17 };

typedef struct st_grab {
    int client, number;  // that the client calls it
    int grabs[ST_MOST_WORLDS];
    hk_grab_def def;
    st_point point;
    double target[3];
} st_grab;

typedef struct st_row {  // of the plots
    double time, residual, relative, ms, least_gap;
    hk_energy energy;  // NAN: not known
    int iterations;
    hk_reason reason;
    double distance_rms, distance_max, ms_b;  // of compare
} st_row;

struct st_run {
    int world_count;
    hk_world *worlds[ST_MOST_WORLDS];
    st_solver solvers[ST_MOST_WORLDS];  // of compare
    double *start, *start_velocity;     // [start_count][3]
    int start_count;                    // vertices of the model when nothing was torn
    st_grab grabs[ST_MOST_GRABS];
    int grab_count;
    // pace
    double due;  // ms, of the next step
    int left;    // steps to take, then pause
    // plots: rows of all steps, every second one left out when there are too many
    st_row *rows;
    int row_count, row_capacity, row_stride, row_skip;
    st_row recent[64];  // since the last stats
    int recent_count;
    double last_stats, last_stats_time;
    int steps_since;
    uint32_t frames_then;
    int trouble, broken;  // steps that did not converge; springs, as they were told
    double last_complaint;
    hk_step_report report;
    double ms[ST_MOST_WORLDS];
};

// Worlds of the scene with its edits, in the state of those there are: for what a world does not
// take while it is there. Where it fails all stays as it was.
bool st_run_renew(st_session *session, st_why *why);
// Whether bodies have come apart; what cannot be done then.
bool st_run_is_torn(const st_run *run);
bool st_run_refuse_torn(st_why *why);

// ---- run_edit.c
int st_run_edit(st_session *session, const st_command *command, st_why *why);
void st_run_release_all(st_session *session, int client);
bool st_run_grab(st_session *session, const st_command *command, st_why *why);
bool st_run_move(st_session *session, const st_command *command, st_why *why);
bool st_run_release(st_session *session, const st_command *command, st_why *why);

// ---- run_stats.c
void st_run_note(st_session *session, const hk_step_report *report);
void st_run_tell_stats(st_session *session, bool now);

#endif
