// Where the minimisation of a time step starts from: the four predictions of Descent section 4.4,
// and that of vertex block descent (Chen et al. 2024).
#ifndef HK_START_H
#define HK_START_H

#include "solver/method.h"

// The state before a step, [vertex_count][4] each.
typedef struct hk_moment {
    double step;             // s
    const double *x, *v;     // positions and velocities
    const double *v_before;  // velocities one step earlier
} hk_moment;

// Fills `start`; held vertices stay where they are in x. A prediction that is not defined for some
// material, or has tets inside out, is replaced by the positions themselves.
// `workspace` is [vertex_count][4].
void hk_choose_start(hk_view *view, const hk_settings *settings, const hk_moment *moment,
                     double *workspace, double *start);

#endif
