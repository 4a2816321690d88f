// The command line: what its files share. It uses nothing of the library but hooke/hooke.h.
//
// A command is a function `int cmd_xxx(int argc, char **argv)` with argv[0] its own name and an
// exit status as its result; it has one line in the table of main.c. Its options are a table too:
// they are parsed, checked, suggested and explained from it.
#ifndef HOOKE_CLI_H
#define HOOKE_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "hooke/hooke.h"

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_WRONG_USAGE = 2 };

// ---------------------------------------------------------------- commands (main.c)

typedef struct cli_command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
} cli_command;
extern const cli_command cli_commands[];
extern const int cli_command_count;
const cli_command *cli_find_command(const char *name);  // NULL: unknown

int cmd_run(int argc, char **argv);
int cmd_pose(int argc, char **argv);
int cmd_rest(int argc, char **argv);
int cmd_fit(int argc, char **argv);
int cmd_mesh(int argc, char **argv);
int cmd_mesh_fill(int argc, char **argv);
int cmd_mesh_sdf(int argc, char **argv);
int cmd_certify(int argc, char **argv);
int cmd_render(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_sweep(int argc, char **argv);
int cmd_studio(int argc, char **argv);
int cmd_tune(int argc, char **argv);
int cmd_help(int argc, char **argv);

void cli_print_machine(void);
// `run` and `pose` with --backend petsc become another program (cluster.c), and this returns only
// where that cannot be: the exit status. -1: it is not asked for.
int cli_hand_over(int argc, char **argv);

// ---------------------------------------------------------------- options (options.c)

typedef enum cli_kind {
    CLI_FLAG,   // bool
    CLI_TEXT,   // const char *
    CLI_TEXTS,  // cli_texts, repeatable
    CLI_INT,    // int, not negative
    CLI_REAL,   // double, finite
    CLI_INTS,   // cli_numbers, separated by commas, whole
    CLI_REALS   // cli_numbers, separated by commas
} cli_kind;

typedef struct cli_texts {
    const char **items;  // [count], point into argv
    int count;
} cli_texts;
void cli_texts_free(cli_texts *texts);

enum { CLI_MAX_NUMBERS = 4 };
typedef struct cli_numbers {
    double values[CLI_MAX_NUMBERS];
    int count;  // 0: not given
} cli_numbers;

typedef struct cli_option {
    const char *name;  // without the dashes
    char letter;       // of the short form, or 0
    cli_kind kind;
    void *target;          // what the kind says; untouched when the option is not given
    const char *argument;  // as the help shows it; NULL for a flag
    const char *help;
} cli_option;

// Everything that the parser and the help need to know of a command.
typedef struct cli_spec {
    const char *command;    // "run", "mesh make"
    const char *arguments;  // "SCENE.json"
    const char *purpose;    // what it does, in lines of less than 80 characters
    const char *examples;   // one a line
    const cli_option *options;
    int option_count;
    int least_words, most_words;  // how many arguments that are not options
} cli_spec;

// Options may stand before and after the words; `--name=value` works, `--` ends the options.
// Returns -1 to go on, or the exit status when it printed the help (0) or an error (2). On -1 free
// the words.
int cli_parse(const cli_spec *spec, int argc, char **argv, cli_texts *words);
// The same for commands that take exactly one word, whatever the spec says of words.
int cli_parse_one(cli_spec spec, int argc, char **argv, const char **word);
void cli_print_help(const cli_spec *spec);
// The name nearest to `word`, or NULL when none is near.
const char *cli_nearest(const char *word, const char *const *names, int count);

// ---------------------------------------------------------------- telling (progress.c)

// How this run talks; cli_parse sets json as soon as it sees the option.
typedef struct cli_voice {
    bool json;   // standard output is for one JSON object
    bool quiet;  // only errors and what was asked for
} cli_voice;
extern cli_voice cli_talk;

// Both print on standard error and, with --json, {"status": "failed", "error": …} on standard
// output. They return the exit status.
int cli_usage_error(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int cli_failure(const char *format, ...) __attribute__((format(printf, 1, 2)));
// "hooke: error: …" on standard error, nothing else.
void cli_say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
// "hooke: note: …" and "hooke: warning: …" unless quiet.
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Where text for people goes: standard output, or standard error beside JSON.
FILE *cli_text_stream(void);
// ---- what terminals would obey is shown escaped (plain.c)
void cli_plain_text(const char *text, char *plain, size_t size);  // as one line
// A name from a file, as one line; stays until four others have been asked for.
const char *cli_name(const char *name);
// A stream to standard output or standard error that does so; NULL: there is no memory.
FILE *cli_plain_stream(int file);
// Sends the library's messages to standard error.
void cli_start_log(void);
void cli_stop_log(void);
// Whether the library lately sent a message that ends so.
bool cli_was_told(const char *ending);

// A line on a terminal's standard error that is drawn over itself; nothing elsewhere.
typedef struct cli_progress {
    bool active;
    bool drawn;
    int total;
    double start, last;  // s of a steady clock
} cli_progress;
void cli_progress_begin(cli_progress *progress, int total);
void cli_progress_step(cli_progress *progress, int step, double time);
void cli_progress_pose(cli_progress *progress, int iterations, const hk_iteration *iteration);
// Anything else that is worth a line.
void cli_progress_text(cli_progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cli_progress_end(cli_progress *progress);
// Removes the line for now, so that other text may be written.
void cli_progress_clear(void);

double cli_now(void);  // s of a steady clock

// ---------------------------------------------------------------- memory and paths (files.c)

// These end the program with a message when there is no memory.
void *cli_realloc(void *block, size_t count, size_t size);
char *cli_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
// `path` itself if it is absolute or folder is NULL, else folder/path. To be freed.
char *cli_output_path(const char *folder, const char *path);
const char *cli_file_name(const char *path);               // after the last slash
bool cli_ends_with(const char *text, const char *ending);  // in any case
// The endings of mesh files that can be read or written, separated by spaces; of those written all,
// or the ones that hold the surface of tets alone.
typedef enum cli_formats_for { CLI_READING, CLI_WRITING, CLI_WRITING_SURFACES } cli_formats_for;
typedef struct cli_endings {
    char text[256];
} cli_endings;
cli_endings cli_formats(cli_formats_for what);
// Finds out before long work whether `path` can be written; creates missing folders. On false
// the reason is in `why`.
bool cli_can_write(const char *path, char *why, size_t size);
// Whether both paths lead to one file that is there.
bool cli_same_file(const char *path, const char *other);
// Whole or not at all, as hk_file_save.
bool cli_write_whole(const char *path, const void *data, size_t size, char *why, size_t why_size);

// ---------------------------------------------------------------- frames (frames.c)

// The series of states that a run leaves behind: bar.pvd + bar_0000.vtu …, bar_0000.csv …
typedef struct cli_frames {
    char *series;               // path of the .pvd, or NULL
    char *stem;                 // of the .vtu files: the series without its ending
    char *points;               // prefix of the .csv files, or NULL
    char *skin;                 // of surfaces: the path of the first one; NULL: none
    char *skin_stem;            // its path before the number,
    const char *skin_ending;    // and what follows that
    const char *const *fields;  // that .vtu files have besides, the scene's
    int field_count;
    double every;  // s
    double next;   // s, when the next frame is due
    double last;   // s, of the last frame written
    double *times;
    char **files;
    int count, capacity;
} cli_frames;
void cli_frames_begin(cli_frames *frames, const hk_output_def *output, const char *folder);
// For a command that writes one state where a run may have left its series: that one stays, and the
// state goes under a name of its own, with `command` in it. Says so.
void cli_frames_step_aside(cli_frames *frames, const char *command);
// Whether a state at this time is to be written; never twice for the same time.
bool cli_frames_due(const cli_frames *frames, double time);
// Whether the last state, whose time this is, is still to be written.
bool cli_frames_lack(const cli_frames *frames, double time);
// Writes the state as the next frame; the files so far and the .pvd are valid after every call.
hk_status cli_frames_write(cli_frames *frames, hk_world *world);
// Says which frames of an earlier, longer run still lie beside those that were written.
void cli_frames_tell_stale(const cli_frames *frames);
void cli_frames_free(cli_frames *frames);

// ---------------------------------------------------------------- series (series.c)

typedef struct cli_series_file {
    char *path;
    double time;  // s; NAN: not known
} cli_series_file;
typedef struct cli_series {
    cli_series_file *items;
    int count;
} cli_series;
// The files that collections (.pvd) name, in their order, and those that are named themselves.
// Returns -1 or an exit status; free the series in either case.
int cli_series_read(cli_series *series, const cli_texts *paths);
void cli_series_free(cli_series *series);
// How many files a collection names; 0 where there is none.
int cli_series_count(const char *path);

// ---------------------------------------------------------------- intersections (intersections.c)

// "face (12, 5, 8) of body 0 (bar) and face (…) of body 1 (floor) near (0, 0.1, 0.2) m". To be
// freed.
char *cli_intersection_text(const hk_intersection *intersection);
json_t *cli_intersection_json(const hk_intersection *intersection);
// "5 pairs of faces meet (2 of them only touch)". To be freed.
char *cli_intersection_count(int64_t count, int64_t touching);

// ---------------------------------------------------------------- results (results.c)

typedef struct cli_contact {  // of one step, or of one pose
    hk_contact_report report;
    int obstacle_count;
    hk_obstacle_load *loads;  // [obstacle_count]
} cli_contact;

typedef struct cli_contact_sum {  // over all of them
    int records, certified;
    int64_t clamped, detections;
    double least_gap, ms;
} cli_contact_sum;

typedef struct cli_record {  // of one step, or of one pose
    double time;
    hk_reason reason;
    int iterations;
    double residual, relative_residual, rounding;
    hk_energy energy;
    double ms;
    double phase_ms[HK_MOST_PHASES];
    cli_contact *contact;  // NULL: there is none
} cli_record;

typedef struct cli_results {
    cli_record *records;
    int count, capacity;
    int steps;  // done; load steps of a pose
    int64_t iterations, linear_iterations;
    int limited, stalled;      // steps that ended short of the tolerance
    int imprecise;             // steps that ended at the limit of precision
    int fixed;                 // steps that are a fixed amount of work, and were done
    double worst_relative;     // largest relative residual of those
    double relative_residual;  // of the last step
    hk_outcome outcome;        // the worst so far
    bool interrupted;          // by the user
    char error[1024];          // why it failed, "" if it did not
    cli_contact_sum contact;
    json_t *more;  // what a command adds to the object, or puts in its place; or NULL
} cli_results;
void cli_results_add(cli_results *results, const hk_step_report *report);
// ---- contact (contact.c)
bool cli_has_contact(const hk_world *world);
// To the record that was added last.
void cli_results_add_contact(cli_results *results, hk_world *world);
void cli_contact_free(cli_contact *contact);
json_t *cli_contact_json(const cli_contact *contact);
json_t *cli_obstacles_json(const cli_contact *contact, const hk_model *model);
// "contact" and "obstacles" of all steps.
void cli_results_put_contact(const cli_results *results, const hk_model *model, json_t *object);
void cli_results_print_contact(FILE *stream, const cli_results *results, const hk_model *model);
// Rigid parts and joints (rigid.c), where there are any.
void cli_rigid_put(const hk_world *world, json_t *object);
void cli_rigid_print(FILE *stream, const hk_world *world);

// Marks the results as failed; the first reason stays.
void cli_results_fail(cli_results *results, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cli_results_free(cli_results *results);

typedef struct cli_timing {
    double median, min, max, total;  // ms; NAN when nothing was timed
} cli_timing;
cli_timing cli_results_timing(const cli_results *results);
hk_energy cli_results_energy(const cli_results *results, hk_world *world);
const char *cli_results_status(const cli_results *results);

// The object of --json and, with history, of the stats file. NULL when there is no memory.
json_t *cli_results_json(const cli_results *results, hk_world *world, bool with_history);
json_t *cli_json_real(double value);      // null for what JSON cannot hold
json_t *cli_json_time(double time);       // s, without what rounding adds: 0.3, not 3 × 0.1
json_t *cli_json_text(const char *text);  // '?' for what is not UTF-8
// Takes the object over and prints it. False when it is NULL or cannot be written.
bool cli_json_print(json_t *object);
// Takes the object over and writes it whole or not at all.
bool cli_json_write(json_t *object, const char *path, char *why, size_t why_size);

// ---------------------------------------------------------------- scenes (session.c)

// What every command that takes a scene takes.
typedef struct cli_scene_args {
    cli_texts sets;
    const char *out;
    int threads;          // -1: as the scene says
    const char *backend;  // NULL: as the scene says
    const char *points;
    const char *skin;
} cli_scene_args;
enum { CLI_SCENE_OPTIONS = 8 };
void cli_scene_options(cli_scene_args *args, cli_option options[CLI_SCENE_OPTIONS]);

// Whether every --set is path=value. Returns -1 to go on, or the exit status.
int cli_check_sets(const char *command, const cli_texts *sets);
// The world's definition in the scene, on the CPU: for work that looks into a step, which a GPU
// does not show. `command` says so where the scene asks for a GPU.
hk_world_def cli_cpu_world(const hk_scene *scene, const char *command);
// Tells what was repaired or left out of the meshes, where the library has not said so already.
void cli_tell_mesh_notes(const hk_scene *scene);
// ---- what is written where (outputs.c)

// A file that is read beside the scene, and is no output either; its use is for messages.
void cli_keep_file(const char *path, const char *use);
// Whether outputs[count - 1] (NULL: none) can be written, and is neither what the scene is read
// from nor an earlier output, however their names are written.
bool cli_output_is_good(char *const *outputs, int count, const hk_scene *scene,
                        const char *scene_path, char *why, size_t size);
// Files whose names are the frames' that may come.
typedef struct cli_numbered {
    const char *stem, *ending;  // of stem_0000.ending …
    int count;                  // at most
} cli_numbered;
// Whether no frame would replace what the scene is read from, nor be one of the outputs.
bool cli_numbered_is_good(const cli_numbered *frames, char *const *outputs, int count,
                          const hk_scene *scene, const char *scene_path, char *why, size_t size);
// How many files there are from number `from` on; the lowest and the highest number of them.
int cli_numbered_there(const cli_numbered *frames, int from, int *lowest, int *highest);
// Writes a text, which it takes over; what goes wrong is told, and the path freed and forgotten.
bool cli_write_text(char *text, char **path);

// What a command has beside what all that take a scene have.
enum { CLI_MORE_OPTIONS = 4, CLI_MORE_OUTPUTS = 2 };
typedef struct cli_more {
    const cli_option *options;
    int option_count;                        // at most CLI_MORE_OPTIONS
    const char **outputs[CLI_MORE_OUTPUTS];  // paths among the options; *NULL: not given
    bool no_world;                           // it makes its own
    // Whether what was given is enough, before anything is read or written: -1, or the exit status.
    int (*check)(const void *context);
    const void *context;
} cli_more;

// A scene being worked on: what is common to run, pose and rest.
// ---- reactions, the largest of them, probes (engineering.c)

typedef struct cli_text {  // that grows
    char *text;
    size_t length;
} cli_text;
typedef struct cli_engineering {
    hk_probe *probes;  // [probe_count of the scene's output]
    cli_text probe_rows, reaction_rows;
} cli_engineering;
// Names of bodies, of a scene or of what is left of it.
typedef struct cli_bodies {
    const char *(*name)(const void *of, int body);
    const void *of;
} cli_bodies;
json_t *cli_reactions_json(hk_world *world, cli_bodies bodies);  // NULL: there are no constraints
json_t *cli_greatest_json(hk_world *world, cli_bodies bodies);
// Rows over time, for a file: the head, unless rows that are there already have the same (path
// NULL: none is wanted), and one of the state.
void cli_reactions_begin(cli_text *rows, hk_world *world, cli_bodies bodies, const char *path);
void cli_reactions_add(cli_text *rows, hk_world *world);
bool cli_probe_find(const hk_world *world, const hk_scene *scene, int number, hk_probe *probe,
                    char *why, size_t size);
// Rows that are there already, of a run that is resumed, go on where they have the same columns.
// False: a probe is of no body that there is.
bool cli_engineering_begin(cli_engineering *e, hk_world *world, const hk_scene *scene, char *why,
                           size_t size);
// A row of the state, for the files that the scene asks for.
void cli_engineering_add(cli_engineering *e, hk_world *world, const hk_scene *scene);
// Writes the files (paths may be NULL), and frees.
bool cli_engineering_end(cli_engineering *e, const char *reactions, const char *probes, char *why,
                         size_t size);
void cli_engineering_free(cli_engineering *e);
// "reactions", "greatest", "probes" and "probe_values" of the state.
json_t *cli_engineering_json(hk_world *world, const hk_scene *scene);
void cli_engineering_print(FILE *stream, const json_t *results);
// reactions.NAME.y, reactions.NAME.moment.z, greatest.von_mises, probes.NAME.displacement.x …: is
// that one, what it is in what the above made (NAN: nothing), and its unit.
bool cli_engineering_is(const char *name);
// False: there is nothing of this name. What is not known is NAN.
bool cli_engineering_value(const json_t *results, const char *name, double *value);
// Names that there are, for messages. To be freed.
char *cli_engineering_names(const json_t *results);
const char *cli_engineering_unit(const char *name);

typedef struct cli_session {
    const char *command;
    const char *scene_path;
    cli_scene_args args;
    hk_scene *scene;
    hk_model *model;
    hk_world *world;
    char *points, *stats, *skin;  // paths or NULL
    char *reactions, *probe_file;
    cli_engineering engineering;
    bool tells_state;          // reactions and so on, at the end
    bool points_written;       // by the command itself
    const double *skin_shape;  // positions to write the skin at; NULL: those of the world
    cli_frames frames;
    cli_results results;
    cli_progress progress;
    const cli_more *more;             // or NULL
    char *outputs[CLI_MORE_OUTPUTS];  // where those go, or NULL
    // Instead of the lines on method and displacement, and after all others; NULL: these.
    void (*print_method)(FILE *stream, void *context);
    void (*print_found)(FILE *stream, void *context);
    void *print_context;
    const char *steps;  // what its steps are, other than those of a run; NULL: load steps
    bool resumed;       // it goes on from a checkpoint
} cli_session;

// ---- checkpoints of a run (checkpoint.c)

typedef struct cli_checkpoint {
    const char *path;  // NULL: none are asked for
    double every;      // s of the simulation; 0: as often as costs little
    double next;       // s, when the next one is due
    double begun, spent, written;
    bool failed;
} cli_checkpoint;
void cli_checkpoint_begin(cli_checkpoint *checkpoint, double time);
// After a step and its frame: if one is due.
void cli_checkpoint_step(cli_checkpoint *checkpoint, cli_session *session);
// In any case, unless this state is written already.
void cli_checkpoint_now(cli_checkpoint *checkpoint, cli_session *session);
hk_status cli_checkpoint_write(cli_session *session, const char *path);
// World, results and frames go on from there. Returns -1 or an exit status.
int cli_checkpoint_resume(cli_session *session, const char *path);

// ---- of commands that find something, for a model without a world of its own (found.c)

// The session's world: that of a model, which it takes over, at `positions`, on the CPU. Energies
// and stresses that are written are those of it.
hk_status cli_session_show(cli_session *session, hk_model *model, const double *positions);
// Adds a solve that is no step of a world: its energy is that of the session's world.
void cli_session_add_solve(cli_session *session, hk_step_report report);
typedef struct cli_ending {
    const char *what;  // "rest shape"
    const char *kept;  // where it is stopped: "the best shape so far is"
    hk_reason reason;
    int iterations;
    const char *detail;
} cli_ending;
// Says how a search ended.
void cli_tell_ending(cli_results *results, const cli_ending *ending);

// A scene file, or with "-" standard input: then files are relative to the current folder.
hk_status cli_scene_load(const char *path, const char *const *sets, int count, hk_scene **scene);
// Whether its bodies may come apart, for commands that compare states vertex by vertex.
bool cli_scene_tears(const hk_scene *scene);

// Parses, loads and creates. Returns -1 to go on, or the exit status; then nothing is left to
// free.
int cli_session_begin(cli_session *session, const char *command, const char *purpose,
                      const char *examples, int argc, char **argv);
// The same with more options; `more` lives as long as the session.
int cli_session_begin_with(cli_session *session, const char *command, const char *purpose,
                           const char *examples, const cli_more *more, int argc, char **argv);
// The definition of the scene's world, as the arguments change it.
hk_world_def cli_session_world(const cli_session *session);
// Writes the points and the stats, prints the summary and the JSON object, frees everything.
// `budget_is_fine`: whether steps that only spent their iterations leave exit status 0.
int cli_session_end(cli_session *session, bool budget_is_fine);

// Frees everything and prints nothing.
void cli_session_drop(cli_session *session);

// Ctrl-C and SIGTERM ask to stop; the second one kills.
void cli_catch_interrupts(void);
bool cli_interrupted(void);

#endif
