// The volume under a closed surface of triangles, V = Σ a·(b × c)/6, which is the same from
// wherever it is seen. Triangles face outwards.
#ifndef HK_MATH_CLOSED_VOLUME_H
#define HK_MATH_CLOSED_VOLUME_H

// What one triangle adds, seen from `origin`, and its derivatives by the corners x[3][3]. (The
// triangles around a vertex add up to the derivative of the whole.)
static inline double hk_volume_of_triangle(const double origin[3], const double *x, double g[9])
{
    double at[9];
    for (int i = 0; i < 9; i++) at[i] = x[i] - origin[i % 3];
    for (int k = 0; k < 3; k++) {
        const double *u = at + 3 * ((k + 1) % 3), *v = at + 3 * ((k + 2) % 3);
        for (int i = 0; i < 3; i++) {
            int j = (i + 1) % 3, l = (i + 2) % 3;
            g[3 * k + i] = (u[j] * v[l] - u[l] * v[j]) / 6;
        }
    }
    return at[0] * g[0] + at[1] * g[1] + at[2] * g[2];
}

// d for the second derivative by corners k (rows) and k + 1 (columns), which is [d]×: Σ of these
// over a closed surface is ∇²V, and each depends on the shape of its triangle alone.
static inline void hk_volume_twist(const double *x, int k, double d[3])
{
    int a = k, b = (k + 1) % 3, c = (k + 2) % 3;
    for (int i = 0; i < 3; i++) d[i] = (x[3 * a + i] + x[3 * b + i] - 2 * x[3 * c + i]) / 12;
}

#endif
