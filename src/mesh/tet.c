// Measures of one tetrahedron.
#include "mesh/mesh.h"

#include <math.h>

static double determinant(double e[3][3])
{
    return e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) -
           e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
           e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0]);
}

double hk_tet_volume6(const double a[3], const double b[3], const double c[3], const double d[3])
{
    double e[3][3];
    for (int i = 0; i < 3; i++) {
        e[0][i] = b[i] - a[i];
        e[1][i] = c[i] - a[i];
        e[2][i] = d[i] - a[i];
    }
    return determinant(e);
}

double hk_tet_quality(const double a[3], const double b[3], const double c[3], const double d[3])
{
    double e[3][3], largest = 0;
    for (int i = 0; i < 3; i++) {
        e[0][i] = b[i] - a[i];
        e[1][i] = c[i] - a[i];
        e[2][i] = d[i] - a[i];
        for (int j = 0; j < 3; j++) largest = fmax(largest, fabs(e[j][i]));
    }
    if (!(largest > 0 && largest < INFINITY)) return 0;
    // At size 1 neither the cube of a tiny tet nor that of a huge one leaves the range of doubles.
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) e[j][i] /= largest;
    double edges2 = 0;
    for (int i = 0; i < 3; i++) {
        double cb = e[1][i] - e[0][i], dc = e[2][i] - e[1][i], db = e[2][i] - e[0][i];
        edges2 +=
            e[0][i] * e[0][i] + e[1][i] * e[1][i] + e[2][i] * e[2][i] + cb * cb + dc * dc + db * db;
    }
    double root = cbrt(determinant(e) / 2);  // of 3 V
    double quality = 12 * root * fabs(root) / edges2;
    return isfinite(quality) ? quality : 0;
}
