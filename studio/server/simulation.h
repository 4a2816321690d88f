// What belongs to the thread of the simulation: the scene that is open, the mode it is in, and what
// is drawn of it.
#ifndef STUDIO_SIMULATION_H
#define STUDIO_SIMULATION_H

#include <pthread.h>
#include <stdatomic.h>

#include "edits.h"
#include "session.h"
#include "surface.h"

typedef struct st_command {
    struct st_command *next;
    int client;
    json_t *message;  // NULL: it is a job
    double arrived;   // ms
    st_job_fn *work;
    void *context;
    bool *done;
} st_command;

// What a mode is: how it begins, what it does by itself and upon messages, what there is to see.
typedef struct st_mode {
    const char *name;
    bool (*begin)(st_session *session, const json_t *message, st_why *why);
    void (*end)(st_session *session);
    // 1: done, *answer may have an object for the client; 0: failed; −1: it knows no such message.
    int (*command)(st_session *session, const st_command *command, json_t **answer, st_why *why);
    // Works as far as is due; returns ms until there is more to do.
    double (*tick)(st_session *session);
    bool (*reset)(st_session *session, st_why *why);
    int shape_count;
    const char *shapes[2];
    const double *(*positions)(st_session *session, int shape);
    // Values at the model's vertices; false: there is no such field here.
    bool (*field)(st_session *session, int shape, const char *name, double *values);
    int (*grabs)(st_session *session, int shape, float (*grabs)[10], int most);
    int (*contacts)(st_session *session, int shape, float **contacts);  // [n][7], to be freed
    // Springs between points, [n][8], to be freed; NULL: the mode has none to show.
    int (*springs)(st_session *session, int shape, float **springs);
    // What is particular to it in `scene`.
    void (*describe)(st_session *session, json_t *scene);
    bool (*world_model)(st_session *session, const hk_model **model);
    // All bodies in the numbering of that model; NULL: they are as in the scene.
    hk_status (*mesh)(st_session *session, hk_mesh **mesh);
    bool (*save)(st_session *session, int shape, const char *what, const char *path, st_why *why);
} st_mode;

extern const st_mode st_live_mode, st_compare_mode, st_design_mode;

typedef struct st_run st_run;        // run.c
typedef struct st_design st_design;  // design.c
typedef struct st_recording st_recording;

typedef struct st_echo {   // of the pointer
    double sent, arrived;  // ms; 0: none
} st_echo;

struct st_session {
    const st_files *files;
    st_hub *hub;
    int threads;
    char name[17];
    pthread_t thread;
    bool started;
    pthread_mutex_t mutex;
    pthread_cond_t wake, finished;
    st_command *first, **last;
    int queued;
    bool quit, ended;
    atomic_bool urgent;  // a step that is under way may be given up
    // ---- of the simulation's thread alone
    bool open;
    st_scene scene;
    st_edits edits;
    const st_mode *mode;
    st_surface surface;
    uint32_t surface_since;  // the topology with which its triangles came
    bool surface_new;        // of which no page has been told yet
    bool surface_lost;       // it could not be made anew: what is drawn is not what there is
    st_run *run;
    st_design *design;
    st_recording *recording;
    uint32_t generation, topology, frame;
    bool dirty;         // there is something that no frame has shown
    double last_frame;  // ms
    double now;         // s, of the simulation
    uint32_t step;
    double step_ms;
    st_echo heard, echo;  // the newest that came; the newest that the positions obey
    const char *busy;
    bool playing;
    double speed;
};

// ---------------------------------------------------------------- session.c

void st_tell_status(st_session *session);
void st_tell_notice(st_session *session, const char *level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Says what the simulation is at while it takes long; NULL: at nothing.
void st_tell_busy(st_session *session, const char *text);
bool st_keep_going(void *context, const hk_iteration *iteration);  // a monitor
// After bodies came apart: what is drawn is made anew, and pages are told with the next frame.
bool st_renew_surface(st_session *session, st_why *why);

// ---------------------------------------------------------------- describe.c

// client: or ST_ALL_CLIENTS.
void st_tell_scene(st_session *session, int client, bool edited);
void st_tell_topology(st_session *session, int client);

// ---------------------------------------------------------------- frame.c

void st_send_frame(st_session *session);
st_message *st_topology_message(st_session *session);

// ---------------------------------------------------------------- selection.c

// Flags of the model's vertices that a message selects, at positions x, [n]; to be freed. NULL: it
// selects nothing, or is wrong. `grow`: by one tet, for brushes.
uint8_t *st_select(st_session *session, const json_t *message, const double *x, bool grow,
                   st_why *why);
// The numbers, within the body, of those that are flagged.
int32_t *st_selected_of_body(const st_session *session, const uint8_t *flags, int body, int *count);
// All of them.
int32_t *st_selected(const st_session *session, const uint8_t *flags, int *count);
// A point of a drawn triangle as up to four vertices with weights.
typedef struct st_point {
    int count;
    int32_t vertices[4];
    double weights[4];
} st_point;
bool st_pick(st_session *session, const json_t *message, const hk_model *model, st_point *point,
             double *size, int *body, st_why *why);
void st_point_place(const st_point *point, const double *x, double place[3]);

// ---------------------------------------------------------------- save.c, design_scene.c

bool st_save_scene(st_session *session, const json_t *message, json_t **answer, st_why *why);
// The scene of a design, whose meshes are written into the uploads as STEM-rest.msh …
json_t *st_design_scene(st_session *session, const char *stem, st_why *why);

// ---------------------------------------------------------------- convergence.c

bool st_convergence(st_session *session, hk_world *const *worlds, int count,
                    const char *const *names, json_t **answer, st_why *why);

// ---------------------------------------------------------------- recording.c

st_recording *st_recording_create(void);
void st_recording_free(st_recording *recording);
bool st_recording_command(st_session *session, const json_t *message, st_why *why);
void st_recording_begin_scene(st_session *session);
void st_recording_add(st_session *session);
// What is drawn has other vertices from now on: the recording ends, and it is said.
void st_recording_end(st_session *session);
// A .glb with morph targets; NULL: nothing was recorded.
void *st_recording_glb(st_session *session, size_t *size, st_why *why);

// ---------------------------------------------------------------- what modes share

bool st_has_selection(const json_t *message);                              // run_edit.c
bool st_read_load(const json_t *message, hk_load_def *load, st_why *why);  // run_edit.c
bool st_world_field(hk_world *world, const st_surface *surface, const char *name,
                    double *values);  // run.c

// ---------------------------------------------------------------- run_stats.c, for exports

char *st_run_history(st_session *session);  // CSV, to be freed

#endif
