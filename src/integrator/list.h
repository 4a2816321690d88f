// The time integrators, in the order in which they are listed. A new one is a file with its table,
// hk_NAME, and a line here.
#ifndef HK_INTEGRATOR_LIST_H
#define HK_INTEGRATOR_LIST_H

#define HK_INTEGRATORS(INTEGRATOR) \
    INTEGRATOR(backward_euler)     \
    INTEGRATOR(bdf2)               \
    INTEGRATOR(implicit_midpoint)  \
    INTEGRATOR(newmark)            \
    INTEGRATOR(trbdf2)

#endif
