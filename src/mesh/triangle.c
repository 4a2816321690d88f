// Measures of one triangle.
#include "mesh/mesh.h"

#include <math.h>

double hk_triangle_area(const double a[3], const double b[3], const double c[3])
{
    double u[3], w[3];
    for (int i = 0; i < 3; i++) {
        u[i] = b[i] - a[i];
        w[i] = c[i] - a[i];
    }
    double n[3] = {u[1] * w[2] - u[2] * w[1], u[2] * w[0] - u[0] * w[2], u[0] * w[1] - u[1] * w[0]};
    return sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) / 2;
}

double hk_triangle_quality(const double a[3], const double b[3], const double c[3])
{
    double squares = 0;
    for (int i = 0; i < 3; i++)
        squares += (b[i] - a[i]) * (b[i] - a[i]) + (c[i] - b[i]) * (c[i] - b[i]) +
                   (a[i] - c[i]) * (a[i] - c[i]);
    double quality = 4 * sqrt(3) * hk_triangle_area(a, b, c) / squares;
    return isfinite(quality) ? quality : 0;
}
