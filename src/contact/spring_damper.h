// What obstacles do to vertices inside them, as a force of depth and speed (Extreme eq. 33, with
// the sign of eq. 1): with d the depth, n the normal out of the obstacle and u the velocity of the
// vertex relative to the obstacle there,
//
//   f = K_N d n − C_N (n·u) n − C_T d (u − (n·u) n)        for d > 0
//
// It is viscous: what lies on a slope creeps down. A vertex that leaves faster than the spring
// pushes it is held back by the damper, as the law says. Bodies do not meet each other by it.
#ifndef HK_SPRING_DAMPER_H
#define HK_SPRING_DAMPER_H

#include "contact/measure.h"

typedef struct hk_spring_damper {
    hk_contacts *contacts;  // its obstacles, placed at the end of the step
    hk_placement *before;   // [obstacle_count] where they were when it began
    double step;            // s; 0: they stand still
    // One of them may be moved from outside (tools).
    bool driven;
    int driven_obstacle;
    hk_placement driven_to;  // at the end of the step
} hk_spring_damper;

hk_status hk_spring_damper_init(const hk_model *model, int threads, hk_spring_damper *law);
void hk_spring_damper_release(hk_spring_damper *law);
// Obstacles where they are at a time or at a fraction of their way, that one where it is told to.
hk_status hk_spring_damper_place(hk_spring_damper *law, bool by_fraction, double fraction,
                                 double time);
// A step begins, of h seconds (0: a pose), with obstacles where they are now.
void hk_spring_damper_begin(hk_spring_damper *law, double h);

// The force of all obstacles upon a vertex at x, near there and for any velocity v:
// force + by_place (x' − x) + by_velocity v. False: it is in none. The force is taken where the
// vertex moves along with the obstacle (Extreme's φ), so that both matrices are symmetric.
// Whether it is inside is decided at `ahead`, unless that is NULL: where it is expected to go, so
// that a depth at x may be less than 0.
bool hk_spring_damper_force(const hk_spring_damper *law, int body, const double x[3],
                            const double *ahead, double force[3], double by_place[9],
                            double by_velocity[9]);
// The same of one obstacle.
bool hk_spring_damper_of(const hk_spring_damper *law, int body, int obstacle, const double x[3],
                         const double *ahead, double force[3], double by_place[9],
                         double by_velocity[9]);
// How far x is from an obstacle, m, and the unit normal out of it; INFINITY: a body does not touch
// it.
double hk_spring_damper_gap(const hk_spring_damper *law, int body, int obstacle, const double x[3],
                            double normal[3]);
// J, of the springs, at positions [vertex_count][4].
double hk_spring_damper_energy(const hk_spring_damper *law, const double *x);
// At positions x and velocities v, both [vertex_count][4], for reports. `least_gap` is minus the
// greatest depth.
void hk_spring_damper_measure(const hk_spring_damper *law, const double *x, const double *v,
                              hk_contact_measure *measure);

#endif
