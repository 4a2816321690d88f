// What the files of `hooke compare` share: the methods as the command line names them, their
// trials on one frozen problem, the account of it, and that of many steps.
#ifndef HOOKE_COMPARE_H
#define HOOKE_COMPARE_H

#include "cli.h"

// ---------------------------------------------------------------- methods (compare_spec.c)

// [LABEL=]NAME[+WORD …][:KEY=VALUE …], as in lbfgs+jacobi:window=8:iterations=50
typedef struct compare_spec {
    char *label;  // as given, else as written
    int method;
    hk_option *options;  // texts belong to the library
    int option_count;
    int iterations;    // 0: not given
    double tolerance;  // 0: not given
} compare_spec;
// Reads specs separated by commas and adds them to a list. On false `why` says what is wrong and
// what there is.
bool compare_read_specs(const char *text, compare_spec **specs, int *count, char *why,
                        size_t why_size);
bool compare_read_spec(const char *text, size_t length, compare_spec *spec, char *why,
                       size_t why_size);
void compare_spec_free(compare_spec *spec);
int compare_find_method(const char *name);  // -1: unknown
// The option's description, or NULL when the method has none of this name.
const hk_option_info *compare_find_option(int method, const char *name);
// "a, b, c" of the words that an option takes.
void compare_list_words(const hk_option_info *info, char *text, size_t size);

// ---------------------------------------------------------------- trials (compare_trial.c)

typedef struct compare_point {
    int iteration;  // from the beginning; a start has the number of the iteration before it
    int solve;      // from 1; more than one where the way was taken in shares
    int stage;      // of its solve: one that ends in single precision goes on in double
    bool start;     // of its solve
    bool counts;    // of the whole problem, not of a share of it
    double load;
    double ms;        // since the call
    double energy;    // J
    double error;     // relative, as told; NAN where it does not count
    double residual;  // N
    double relative_residual;
} compare_point;

typedef struct compare_trial {
    const compare_spec *spec;
    compare_point *points;
    int count, capacity;
    int iterations, solves;
    hk_reason reason;
    char detail[160];
    double relative_residual;
    double setup_ms;       // creation, and what the first solve builds that later ones find
    bool same_iterations;  // of the recorded run and all timed ones
    bool interrupted;
    char failure[512];  // why there is no result; "" if there is one
} compare_trial;

// The frozen problem, and what all methods have in common.
typedef struct compare_problem {
    const hk_model *model;
    const hk_world *state;  // before the step
    const hk_world_def *scene_world;
    bool pose;
    int threads;
    const char *start;  // word of the option "start", or NULL
    double eta;         // of the option "eta"; NAN: each method's default
    int iterations;
    double tolerance;
    int repeats;  // of the timed run, at most
    cli_progress *progress;
} compare_problem;

// Options of the scene for this method, the common start, then the spec's own. To be freed.
hk_option *compare_merge_options(const compare_problem *problem, const compare_spec *spec,
                                 int *count);
hk_status compare_create_world(const compare_problem *problem, const compare_spec *spec,
                               hk_world **world);
// Whether the method has a way to solve such a problem at all; `why` tells if not.
bool compare_can_do(const compare_problem *problem, const compare_spec *spec, char *why,
                    size_t why_size);
// Solves once from the frozen state and records the energy after every iteration into a trial that
// has its spec and nothing else. False: there is no result, and `failure` or `interrupted` tells.
bool compare_record(const compare_problem *problem, hk_world *world, compare_trial *trial);
void compare_try(const compare_problem *problem, const compare_spec *spec, compare_trial *trial);
// Whether others can be measured against what it came to; `why` tells if not.
bool compare_is_solution(const compare_trial *truth, char *why, size_t why_size);
void compare_trial_free(compare_trial *trial);

// ---------------------------------------------------------------- the account (compare_report.c)

enum { COMPARE_LEVELS = 5 };
extern const double compare_levels[COMPARE_LEVELS];  // relative errors that the tables ask for
enum { COMPARE_RESIDUALS = 3 };
extern const double compare_residuals[COMPARE_RESIDUALS];  // and relative residuals

typedef struct compare_account {
    const char *scene_path;
    const compare_problem *problem;
    int step;             // 0: the pose
    double time, length;  // s, before the step and of it
    int threads;
    compare_trial reference;
    compare_trial *trials;
    int count;
    double best, first;  // J: ε* and ε(x⁽⁰⁾)
    double floor;        // relative error below which there is only rounding
    bool interrupted;
    bool log_x;       // of the plot
    char *csv, *svg;  // paths; NULL: not written
} compare_account;

// Finds ε* and ε(x⁽⁰⁾) in the reference; false when there is nothing to compare, with the reason.
bool compare_set_scale(compare_account *account, char *why, size_t why_size);
// Fills in the relative errors of all trials, when they are done.
void compare_rate(compare_account *account);
// When rated, the least of all iterations: methods that look at the energy now and then only keep
// the best state that they saw, not the last.
double compare_least_error(const compare_trial *trial);
void compare_print(const compare_account *account, FILE *stream);
json_t *compare_json(const compare_account *account);
char *compare_csv(const compare_account *account);  // to be freed
char *compare_svg(const compare_account *account);  // to be freed
// Text of `width` columns at least, counted as characters.
void compare_put_cell(FILE *stream, const char *text, int width);

// ---------------------------------------------------------------- many steps (compare_frames.c)

// The least errors that methods come to in consecutive steps, each from the truth of the step
// before.
typedef struct compare_series {
    const char *scene_path;
    const compare_problem *problem;
    const compare_spec *specs;
    int spec_count;
    int first;    // number of the first step
    int wanted;   // steps
    int count;    // of them done
    int unrated;  // of them that start at their solution
    int threads;
    double *errors;     // [wanted][spec_count]; NAN: none
    int *iterations;    // [wanted][spec_count]
    char *csv, *svg;    // paths; NULL: not written
    char failure[512];  // why it ended early; "" if it did not
    bool interrupted;
} compare_series;
// Goes on from the state, which moves along. False when not even one step was done.
bool compare_run_series(compare_series *series, const compare_spec *reference, hk_world *state);
void compare_series_print(const compare_series *series, FILE *stream);
json_t *compare_series_json(const compare_series *series);
char *compare_series_csv(const compare_series *series);  // to be freed
char *compare_series_svg(const compare_series *series);  // to be freed
void compare_series_free(compare_series *series);

#endif
