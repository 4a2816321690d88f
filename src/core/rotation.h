// Rotations about an axis, in degrees, in double.
#ifndef HK_ROTATION_H
#define HK_ROTATION_H

// Quarter turns are exact, so that a box turned by 90° still has its faces in coordinate planes.
void hk_sine_and_cosine(double degrees, double *sine, double *cosine);
// Rodrigues' formula about a unit axis: R = cos I + sin [a]× + (1 − cos) a aᵀ; exactly I for 0°,
// whatever the axis.
void hk_rotation_matrix(const double axis[3], double degrees, double R[3][3]);

// Unit quaternions w, x, y, z.
void hk_rotation_quaternion(const double axis[3], double degrees, double q[4]);
void hk_quaternion_matrix(const double q[4], double R[3][3]);
// From a (s = 0) to b (s = 1) the shortest way at even speed (Shoemake 1985).
void hk_quaternion_slerp(const double a[4], const double b[4], double s, double q[4]);
// First b, then a.
void hk_quaternion_product(const double a[4], const double b[4], double q[4]);
// The axis, a unit vector, and the angle, 0 to 180 degrees.
void hk_quaternion_turn(const double q[4], double axis[3], double *degrees);

#endif
