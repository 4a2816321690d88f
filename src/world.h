// A world: a model in motion, with its solver.
#ifndef HK_WORLD_H
#define HK_WORLD_H

#include "integrator/damping.h"
#include "integrator/integrator.h"
#include "model.h"
#include "solver/continuation.h"
#include "solver/method.h"
#include "solver/problem.h"
#include "solver/start.h"

struct hk_world {
    hk_model *model;
    int threads;
    double step;  // s
    const hk_integrator *integrator;
    hk_damping damping;
    const hk_method *method;
    hk_settings settings;
    hk_problem *problem;
    void *solver;
    double *good, *guess;  // [vertex_count][4] workspace of the continuation
    bool unheld;           // some piece has fewer than three held vertices
    // State, in the model's Morton order [vertex_count][4] …
    double time;
    double *x, *v, *next;
    double *v_before;  // velocities before the last step
    // … and in the users' order [vertex_count][3].
    double *positions, *velocities;
    bool no_energy;  // in reports of time steps
    double setup_ms;
    char description[512];
};

#endif
