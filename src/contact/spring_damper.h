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
} hk_spring_damper;

hk_status hk_spring_damper_init(const hk_model *model, int threads, hk_spring_damper *law);
void hk_spring_damper_release(hk_spring_damper *law);
// A step begins, of h seconds (0: a pose), with obstacles where they are now.
void hk_spring_damper_begin(hk_spring_damper *law, double h);

// The force of all obstacles upon a vertex at x, near there and for any velocity v:
// force + by_place (x' − x) + by_velocity v. False: it is in none. The force is taken where the
// vertex moves along with the obstacle (Extreme's φ), so that both matrices are symmetric.
bool hk_spring_damper_force(const hk_spring_damper *law, int body, const double x[3],
                            double force[3], double by_place[9], double by_velocity[9]);
// J, of the springs, at positions [vertex_count][4].
double hk_spring_damper_energy(const hk_spring_damper *law, const double *x);
// At positions x and velocities v, both [vertex_count][4], for reports. `least_gap` is minus the
// greatest depth.
void hk_spring_damper_measure(const hk_spring_damper *law, const double *x, const double *v,
                              hk_contact_measure *measure);

#endif
