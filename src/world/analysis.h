// A problem of a world's model at a state of its own (hooke/research.h).
#ifndef HK_ANALYSIS_H
#define HK_ANALYSIS_H

#include "solver/newton_matrix.h"
#include "world/world.h"

struct hk_analysis {
    hk_world *world;
    hk_model *model;  // the world's when this was made
    hk_problem *problem;
    double time;               // s, of the state; NAN: in full
    double *x;                 // [vertex_count][4] the state, Morton order
    double *from, *to;         // [vertex_count][4] workspace
    double *diagonal;          // [vertex_count]
    double *blocks;            // [hk_terms_block_size]
    hk_assembly *assembly;     // of all vertices; NULL: not for this state
    hk_newton_matrix *matrix;  // NULL: not needed yet
    bool factored;             // it is of this state, and positive
};

// Fails where the world is at work, or has another model by now. `call` is the function's name.
hk_status hk_analysis_check(const hk_analysis *a, const char *call);
// From users' vectors to those of the problem, and back.
void hk_analysis_take(const hk_analysis *a, const double *given, double *to);
void hk_analysis_give(const hk_analysis *a, const double *from, double *given);

#endif
