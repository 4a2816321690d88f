// Prescribed motion: a turn about an axis through a centre and a translation, both in proportion to
// the time until they are complete.
#ifndef HK_MODEL_MOTION_H
#define HK_MODEL_MOTION_H

#include "core/time_factor.h"

typedef struct hk_motion {
    double axis[3];  // unit
    double center[3], degrees, translate[3];
    double over;             // s
    hk_time_factor *factor;  // in place of `over`, or NULL
} hk_motion;

// Checks a definition; messages do not say which it is of.
hk_status hk_motion_take(const hk_motion_def *def, hk_motion *motion);
void hk_motion_release(hk_motion *motion);
// Whether it goes anywhere.
bool hk_motion_moves(const hk_motion *motion);
// How much of it is done at `time`, 0..1 but for functions of the time.
double hk_motion_fraction(const hk_motion *motion, double time);
// Where a point comes to at a fraction of the full motion.
void hk_motion_apply(const hk_motion *motion, double fraction, const double *rest, double x[3]);

#endif
