// Time integrators. A time step is one stage or several, each of which minimises
//
//   w/2 ‖x − y‖²_M + E(x) + …,      with the velocity v = (x − from)/h at its end,
//
// where y and `from` are combinations of what is known: positions, velocities and accelerations
// before the step and one step earlier, and those at the end of the stage before. External forces
// are part of E. An integrator is those coefficients: one file, and one line in list.h.
#ifndef HK_INTEGRATOR_H
#define HK_INTEGRATOR_H

#include "core/base.h"
#include "integrator/list.h"

// What the vectors of a stage are combined from, in this order. (Doubles on the CPU and on the
// GPU.)
enum {
    HK_KNOWN_X,         // positions before the step
    HK_KNOWN_V,         // velocities there
    HK_KNOWN_A,         // accelerations there
    HK_KNOWN_X_BEFORE,  // positions one step earlier
    HK_KNOWN_V_BEFORE,
    HK_KNOWN_X_STAGE,  // at the end of the last stage
    HK_KNOWN_V_STAGE,
    HK_KNOWN_COUNT
};

typedef struct hk_stage {
    double weight;                // w, 1/s²
    double y[HK_KNOWN_COUNT];     // coefficients
    double from[HK_KNOWN_COUNT];  // coefficients
    double h;                     // s
    double until;                 // fraction of the step at which the stage ends
    double contact;               // by which contact counts in E (see newmark.c)
} hk_stage;

typedef struct hk_integrator_settings {
    double step;         // s
    double before;       // s, the step before this one; 0: there was none
    double beta, gamma;  // of Newmark
} hk_integrator_settings;

typedef struct hk_integrator {
    const char *name;
    const char *summary;
    int order;  // of the error after a fixed time, in the time step
    int stages;
    bool accelerations;  // it needs those before the step
    bool positions;      // and positions one step earlier, after the first step
    bool parameters;     // it has β and γ
    // The state after the step is this times that at the end of the last stage, and the rest of 1
    // times that before it.
    double extrapolate;
    void (*stage)(const hk_integrator_settings *settings, int stage, hk_stage *to);
} hk_integrator;

// Sets the error, listing the known ones, if there is none of that name.
hk_status hk_integrator_find(const char *name, const hk_integrator **integrator);
// "time integrator \"newmark\": beta must be …", HK_OK if they are fine.
hk_status hk_integrator_check(const hk_integrator *integrator, double beta, double gamma);

// to = Σ coefficient × known over `size` numbers; those whose coefficient is 0 may be NULL.
void hk_stage_combine(const double coefficient[HK_KNOWN_COUNT],
                      const double *const known[HK_KNOWN_COUNT], int64_t size, double *to);
// The only vector that is taken, as it is; or -1.
int hk_stage_plain(const double coefficient[HK_KNOWN_COUNT]);

#define HK_INTEGRATOR_DECLARE(name) extern const hk_integrator hk_##name;
HK_INTEGRATORS(HK_INTEGRATOR_DECLARE)
#undef HK_INTEGRATOR_DECLARE

#endif
