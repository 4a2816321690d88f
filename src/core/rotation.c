#include "core/rotation.h"

#include <math.h>
#include <string.h>

void hk_sine_and_cosine(double degrees, double *sine, double *cosine)
{
    static const double quarter_sines[4] = {0, 1, 0, -1};
    double turned = fmod(degrees, 360);
    if (turned < 0) turned += 360;
    double quarters = turned / 90;
    if (quarters == floor(quarters)) {
        int q = (int)quarters & 3;
        *sine = quarter_sines[q];
        *cosine = quarter_sines[(q + 1) & 3];
    } else {
        double radians = turned * 0.017453292519943295;
        *sine = sin(radians);
        *cosine = cos(radians);
    }
}

void hk_rotation_matrix(const double a[3], double degrees, double R[3][3])
{
    memset(R, 0, 9 * sizeof(double));
    R[0][0] = R[1][1] = R[2][2] = 1;
    if (degrees == 0) return;
    double s, c;
    hk_sine_and_cosine(degrees, &s, &c);
    const double cross[3][3] = {{0, -a[2], a[1]}, {a[2], 0, -a[0]}, {-a[1], a[0], 0}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            R[i][j] = (i == j ? c : 0) + s * cross[i][j] + (1 - c) * a[i] * a[j];
}

void hk_rotation_quaternion(const double axis[3], double degrees, double q[4])
{
    double s;
    hk_sine_and_cosine(degrees / 2, &s, &q[0]);
    for (int i = 0; i < 3; i++) q[i + 1] = degrees == 0 ? 0 : s * axis[i];
}

void hk_quaternion_matrix(const double q[4], double R[3][3])
{
    double w = q[0], x = q[1], y = q[2], z = q[3];
    const double made[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                               {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                               {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
    memcpy(R, made, sizeof made);
}

static void normalise(double q[4])
{
    double square = 0;
    for (int k = 0; k < 4; k++) square += q[k] * q[k];
    for (int k = 0; k < 4; k++) q[k] /= sqrt(square);
}

void hk_quaternion_slerp(const double a[4], const double b[4], double s, double q[4])
{
    double cosine = 0, near = 0, far = 0;
    for (int k = 0; k < 4; k++) cosine += a[k] * b[k];
    double sign = cosine < 0 ? -1 : 1;  // q and −q are one rotation
    for (int k = 0; k < 4; k++) {
        near += (a[k] - sign * b[k]) * (a[k] - sign * b[k]);
        far += (a[k] + sign * b[k]) * (a[k] + sign * b[k]);
    }
    double angle = 2 * atan2(sqrt(near), sqrt(far)), sine = sin(angle);
    // Of rotations that are nearly one the chord is as good as the arc.
    double from = angle > 1e-8 ? sin((1 - s) * angle) / sine : 1 - s;
    double to = angle > 1e-8 ? sin(s * angle) / sine : s;
    for (int k = 0; k < 4; k++) q[k] = from * a[k] + sign * to * b[k];
    normalise(q);
}

void hk_quaternion_product(const double a[4], const double b[4], double q[4])
{
    const double made[4] = {a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
                            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
                            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
                            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]};
    memcpy(q, made, sizeof made);
}

void hk_quaternion_turn(const double q[4], double axis[3], double *degrees)
{
    double sine = sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    double sign = q[0] < 0 ? -1 : 1;
    *degrees = 2 * atan2(sine, fabs(q[0])) / 0.017453292519943295;
    for (int i = 0; i < 3; i++) axis[i] = sine > 0 ? sign * q[i + 1] / sine : i == 1;
}
