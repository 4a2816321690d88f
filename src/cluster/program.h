// hooke-cluster: what `hooke run` and `hooke pose` become with `--backend petsc`. Every process
// runs it; the first one reads, tells and writes what is written once.
#ifndef HK_CLUSTER_PROGRAM_H
#define HK_CLUSTER_PROGRAM_H

#include <hooke/hooke.h>

#include "cluster/cluster.h"
#include "../cli/cli.h"

// What the command line asks for. (Every process parses it.)
typedef struct hc_arguments {
    bool pose;
    const char *command;  // "run", "pose"
    const char *scene_path;
    cli_texts sets;
    const char *points, *out, *backend, *checkpoint, *resume;
    int threads;   // -1: not given
    double every;  // NAN: not given
} hc_arguments;

// What the first process has of the scene and all have to know.
typedef struct hc_plan {
    int steps;
    double every;                      // s between frames
    char *stem;                        // of frames, without ending; NULL: none
    char *points, *stats, *reactions;  // paths; NULL: none
    char *frame_points;                // prefix of the .csv of frames
    int field_count;
    char **fields;  // [field_count]
} hc_plan;

typedef struct hc_run {
    MPI_Comm comm;
    int rank, size, threads;
    hc_arguments args;
    hc_plan plan;
    hk_scene *scene;  // of the first process, until the parts are on their way
    hk_cluster *cluster;
    cli_results results;
    cli_text reaction_rows;  // all have them, the first one writes them
    int frame_count;
    double *frame_times;
    char **frame_files;
    double next_frame, last_frame;
    double setup_s;
    double told;  // when progress was told
} hc_run;

// main.c: one message for all, and the end of all processes.
void hc_die(hc_run *run, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
// Whether someone was asked to stop; all get the same answer.
bool hc_is_interrupted(const hc_run *run);

// setup.c: these return -1 to go on, or the exit status on all processes.
int hc_parse(hc_run *run, int argc, char **argv);
int hc_load(hc_run *run);
void hc_release(hc_run *run);

// work.c
void hc_pose(hc_run *run);
void hc_march(hc_run *run);

// frames.c
void hc_write_frame(hc_run *run);
bool hc_frame_is_due(const hc_run *run, double time);
void hc_write_points(hc_run *run, const char *path);
void hc_write_reactions(hc_run *run);
void hc_save_state(hc_run *run, const char *path);
void hc_load_state(hc_run *run, const char *path);

// tell.c
cli_bodies hc_bodies(const hc_run *run);
// The summary, the JSON object and the stats; returns the exit status.
int hc_tell(hc_run *run);

#endif
