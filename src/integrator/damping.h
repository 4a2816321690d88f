// Damping of velocities after a step (QuasiNewton "Damping"): what is no energy of its own.
#ifndef HK_DAMPING_H
#define HK_DAMPING_H

#include "core/base.h"
#include "model/model.h"

hk_status hk_damping_check(const hk_damping *damping);

// N s/m: what the air holds a vertex of this mass back by, per speed.
static inline double hk_damping_drag(const hk_damping *damping, double mass)
{
    return damping->air * mass + damping->air_per_vertex;
}

// x and v are [vertex_count][4] in the model's Morton order; h the time step.
//   ether  all velocities decay, v ← exp(−ether h) v
//   pbd    the motion of each body that is not rigid decays, v ← v + k (v_rigid − v) with
//          k = 1 − exp(−pbd h) (Müller et al. 2007, section 3.5)
void hk_damp_velocities(const hk_model *model, const hk_damping *damping, double h, const double *x,
                        double *v);

#endif
