// The geometry of shells at rest.
#ifndef HK_MODEL_SHELL_H
#define HK_MODEL_SHELL_H

#include "material/sheet.h"

// Two unit vectors in the plane of a triangle, the first the warp's projection; false: that has no
// length, and it is some direction.
bool hk_shell_frame(const double a[3], const double b[3], const double c[3], const double warp[3],
                    double frame[2][3]);
// A direction projected into it, of length 1; false: it has none there.
bool hk_shell_direction(double frame[2][3], const double direction[3], double unit[2]);
// Whether the law depends on the frame.
bool hk_shell_needs_frame(const hk_sheet_material *material);
double hk_hinge_angle(const double *const x[4]);

#endif
