// What the methods share: a state with its gradient, the search for a step length, the bookkeeping
// of an iteration, and the loop of a method that is nothing but a direction.
#ifndef HK_LINE_SEARCH_H
#define HK_LINE_SEARCH_H

#include "rules/line_search.h"
#include "solver/method.h"

typedef struct hk_line_search {
    hk_problem *problem;
    hk_view *view;  // of that, owned
    hk_settings settings;
    // [vertex_count][4]: here and at the trial state
    double *gradient, *trial_gradient, *direction, *trial;
    hk_evaluation at, next;
    double limit;   // of the direction (hk_terms_limit), once, where it is known; else NaN
    double armijo;  // c₁: the part of the decrease that the slope promises, for a step to count
    // At the limit of precision:
    int patience;           // iterations that may pass there without progress
    int since;              // that have passed, since
    double best, least;     // J, N: ε and residual were these
    double *phase_s;        // of the report that is being filled
    int linear_iterations;  // since the last iteration was counted
} hk_line_search;

// In the precision that the settings ask for.
hk_status hk_search_init(hk_line_search *s, hk_problem *problem, const hk_settings *settings);
void hk_search_release(hk_line_search *s);

// Seconds since *since, which becomes now.
double hk_lap(double *since);

// Evaluates x into s->at and s->gradient.
hk_status hk_search_begin(hk_line_search *s, const double *x, hk_solve_report *report);
// Evaluates x + length × direction into s->next and s->trial_gradient.
void hk_search_try(hk_line_search *s, const double *x, double length);
// A length along the direction that decreases ε, tried first: `length`, and beyond it up to
// `longest` while ε still falls steeply. The result is in s->next; 0: there is none.
// fresh: the direction was made from the gradient alone.
double hk_search_length(hk_line_search *s, const double *x, bool fresh, double length,
                        double longest);
// Goes there.
void hk_search_accept(hk_line_search *s, double *x);
// Iterations that a time step or a pose may take.
int hk_search_budget(const hk_line_search *s);

// Whether the solve is over at s->at: converged, at the limit of precision, not finite, or
// `iterations` are spent.
bool hk_search_over(hk_line_search *s, const double *x, int iterations, hk_solve_report *report);
// Why a solve cannot begin at x, whose energy or gradient is not finite.
void hk_report_undefined(hk_problem *problem, const double *x, double residual,
                         hk_solve_report *report);
// Tells the monitor of the start, if it wants to know.
void hk_tell_start(const hk_problem *problem, double energy, double residual, double scale);
// Counts an iteration and tells the monitor; true: stop.
bool hk_search_count(hk_line_search *s, double length, bool projected, hk_solve_report *report);
void hk_search_stalled(const hk_line_search *s, hk_solve_report *report);
void hk_search_end(const hk_line_search *s, hk_solve_report *report);

// A method that is a direction and a first length: its descent loop is hk_search_descend.
typedef struct hk_direction {
    // Fills s->direction from s->gradient. `fresh`: nothing is to be remembered, because the
    // solve begins or the last direction led nowhere.
    hk_status (*choose)(void *solver, hk_line_search *s, const double *x, bool fresh);
    // The length to try first.
    double (*length)(void *solver, hk_line_search *s, const double *x);
    // After a step of that length, before x and the gradients change. May be NULL.
    void (*taken)(void *solver, hk_line_search *s, double length);
} hk_direction;
// For `length`: the full step, 1.
double hk_full_length(void *solver, hk_line_search *s, const double *x);
hk_status hk_search_descend(hk_line_search *s, const hk_direction *rule, void *solver, double *x,
                            hk_solve_report *report);

#endif
