#define HK_DOUBLE 1
#define HK_LANES  1
#include "model/shell.h"

#include "core/vector.h"
#include "math/dihedral.h"

// Of a direction of length 1, below which its projection is rounding.
#define NO_DIRECTION 1e-6

bool hk_shell_frame(const double a[3], const double b[3], const double c[3], const double warp[3],
                    double frame[2][3])
{
    vec3 u = {{b[0] - a[0], b[1] - a[1], b[2] - a[2]}};
    vec3 v = {{c[0] - a[0], c[1] - a[1], c[2] - a[2]}};
    vec3 w = {{warp[0], warp[1], warp[2]}}, n = v3_cross(u, v);
    n = v3_scale(n, 1 / v3_norm(n));
    w = v3_sub(w, v3_scale(n, v3_dot(n, w)));
    bool found = v3_norm(w) > NO_DIRECTION;
    if (!found) w = u;
    w = v3_scale(w, 1 / v3_norm(w));
    vec3 across = v3_cross(n, w);
    for (int i = 0; i < 3; i++) {
        frame[0][i] = w.v[i];
        frame[1][i] = across.v[i];
    }
    return found;
}

bool hk_shell_direction(double frame[2][3], const double direction[3], double unit[2])
{
    double d[3] = {0};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++) d[k] += frame[k][i] * direction[i];
    if (!(sqrt(d[0] * d[0] + d[1] * d[1]) > NO_DIRECTION) || !hk_unit3(d, d)) return false;
    unit[0] = d[0];
    unit[1] = d[1];
    return true;
}

bool hk_shell_needs_frame(const hk_sheet_material *material)
{
    return material->membrane.law == HK_MEMBRANE_orthotropic;
}

double hk_hinge_angle(const double *const x[4])
{
    vec3 p[4];
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 3; i++) p[k].v[i] = x[k][i];
    return dihedral_angle(p);
}
