// Winding numbers: solid angles near by, moments of clusters far away.
//
// With F(x) = −1/|x − q| the number is 1/(4π) ∫ n · ∇F dA. About the centre c of a cluster, R = c −
// q and s = x − c, F has the expansion −Σ_l |s|^l P_l(cos γ)/|R|^(l+1) (up to the sign of cos γ).
// The gradient of |s|^l P_l(cos γ) is at most l |s|^(l−1) long: (1 − x²) P_l′² + l² P_l² ≤ l² by
// Szegő's inequality for the trigonometric polynomial P_l(cos γ), |P_l| ≤ 1. Terms up to l = 3 are
// kept, so what is left out is at most
//
//   A/(4πR²) Σ_{l≥4} l ρ^(l−1) = A/(4πR²) ρ³ (4 − 3ρ)/(1 − ρ)²,   ρ = max|s|/|R|.
#include "mesh/winding_tree.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

// ---------------------------------------------------------------- moments

static void cross(const double a[3], const double b[3], double to[3])
{
    to[0] = a[1] * b[2] - a[2] * b[1];
    to[1] = a[2] * b[0] - a[0] * b[2];
    to[2] = a[0] * b[1] - a[1] * b[0];
}

// Corners relative to c, and the normal with the area as its length.
static void place_triangle(const double *corners, const double c[3], double s[3][3],
                           double normal[3])
{
    double e[3], f[3];
    for (int v = 0; v < 3; v++)
        for (int i = 0; i < 3; i++) s[v][i] = corners[3 * v + i] - c[i];
    for (int i = 0; i < 3; i++) {
        e[i] = corners[3 + i] - corners[i];
        f[i] = corners[6 + i] - corners[i];
    }
    cross(e, f, normal);
    for (int i = 0; i < 3; i++) normal[i] /= 2;
}

static double length(const double a[3])
{
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

// The centroid of the area; that of the corners if there is no area.
static void find_centre(const hk_winding_tree *tree, int first, int end, hk_cluster *cluster)
{
    static const double zero[3];
    double weighted[3] = {0}, plain[3] = {0}, s[3][3], normal[3];
    cluster->area = 0;
    for (int t = first; t < end; t++) {
        place_triangle(tree->corners + 9 * (size_t)t, zero, s, normal);
        double area = length(normal);
        cluster->area += area;
        for (int i = 0; i < 3; i++) {
            double third = (s[0][i] + s[1][i] + s[2][i]) / 3;
            weighted[i] += area * third;
            plain[i] += third;
        }
    }
    bool has_area = cluster->area > 0;
    for (int i = 0; i < 3; i++)
        cluster->centre[i] = has_area ? weighted[i] / cluster->area : plain[i] / (end - first);
}

// Which entries of the tensors the packed moments are, and how often they occur.
static const int8_t SECOND[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
static const int8_t THIRD[10][3] = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {0, 0, 1}, {0, 0, 2},
                                    {0, 1, 1}, {1, 1, 2}, {0, 2, 2}, {1, 2, 2}, {0, 1, 2}};
static const double SECOND_TIMES[6] = {1, 1, 1, 2, 2, 2};
static const double THIRD_TIMES[10] = {1, 1, 1, 3, 3, 3, 3, 3, 3, 6};

// ∫ n_i s_j = n_i Σ s_j / 3 and ½ ∫ n_i s_j s_k = n_i/24 (Σ s_j s_k + Σ s_j Σ s_k), normal n of
// length A, sums over the corners.
static void add_triangle(double s[3][3], const double n[3], double second[3][3], double third[10])
{
    double sum[3], square[3][3];
    for (int i = 0; i < 3; i++) sum[i] = s[0][i] + s[1][i] + s[2][i];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            second[i][j] += n[i] * sum[j] / 3;
            square[i][j] = sum[i] * sum[j];
            for (int v = 0; v < 3; v++) square[i][j] += s[v][i] * s[v][j];
        }
    for (int k = 0; k < 10; k++) {
        const int8_t *m = THIRD[k];
        third[k] += (n[m[0]] * square[m[1]][m[2]] + n[m[1]] * square[m[0]][m[2]] +
                     n[m[2]] * square[m[0]][m[1]]) /
                    72;
    }
}

// Takes the traces out and multiplies each entry by how often it occurs.
static void pack(double second[3][3], const double third[10], hk_cluster *cluster)
{
    double trace = (second[0][0] + second[1][1] + second[2][2]) / 3;
    for (int k = 0; k < 6; k++) {
        int i = SECOND[k][0], j = SECOND[k][1];
        double symmetric = (second[i][j] + second[j][i]) / 2 - (i == j ? trace : 0);
        cluster->second[k] = SECOND_TIMES[k] * symmetric;
    }
    // t_k = O_iik; O − (δ_ij t_k + δ_ik t_j + δ_jk t_i)/5 has no trace.
    const double t[3] = {third[0] + third[5] + third[7], third[3] + third[1] + third[8],
                         third[4] + third[6] + third[2]};
    for (int k = 0; k < 10; k++) {
        const int8_t *m = THIRD[k];
        double traces = (m[0] == m[1] ? t[m[2]] : 0) + (m[0] == m[2] ? t[m[1]] : 0) +
                        (m[1] == m[2] ? t[m[0]] : 0);
        cluster->third[k] = THIRD_TIMES[k] * (third[k] - traces / 5);
    }
}

static void find_cluster(const hk_winding_tree *tree, int first, int end, hk_cluster *cluster)
{
    double second[3][3] = {{0}}, third[10] = {0}, s[3][3], normal[3], square = 0;
    *cluster = (hk_cluster){0};
    if (first == end) return;
    find_centre(tree, first, end, cluster);
    for (int t = first; t < end; t++) {
        place_triangle(tree->corners + 9 * (size_t)t, cluster->centre, s, normal);
        for (int v = 0; v < 3; v++)
            square = fmax(square, s[v][0] * s[v][0] + s[v][1] * s[v][1] + s[v][2] * s[v][2]);
        for (int i = 0; i < 3; i++) cluster->dipole[i] += normal[i];
        add_triangle(s, normal, second, third);
    }
    cluster->radius = sqrt(square);
    pack(second, third, cluster);
}

void hk_winding_find_moments(hk_winding_tree *tree, int threads)
{
    for (int level = 0; level <= tree->depth; level++) {
        int nodes = 1 << level;
#pragma omp parallel for schedule(static) num_threads(threads) if (nodes > 1)
        for (int i = 0; i < nodes; i++)
            find_cluster(tree, hk_winding_first(tree, level, i),
                         hk_winding_first(tree, level, i + 1), &tree->clusters[nodes + i]);
    }
}

// ---------------------------------------------------------------- queries

// A sum of angles in (−π, π], kept as the direction of a product of complex numbers and a number of
// turns: one arctangent for all of them.
typedef struct angle_sum {
    double x, y;
    int turns;
} angle_sum;

static void add_angle(angle_sum *sum, double x, double y)
{
    double px = sum->x * x - sum->y * y, py = sum->x * y + sum->y * x;
    // Both in the upper half, the product below: the sum passed π. And the same the other way.
    if (sum->y >= 0 && y > 0 && py < 0) sum->turns++;
    if (sum->y < 0 && y < 0 && py >= 0) sum->turns--;
    double size = fabs(px) + fabs(py);
    sum->x = px / size;
    sum->y = py / size;
}

// Half the solid angle of a triangle (van Oosterom & Strackee 1983).
static void add_triangle_angle(angle_sum *sum, const double *corners, const double q[3])
{
    double a[3], b[3], c[3], normal[3];
    for (int i = 0; i < 3; i++) {
        a[i] = corners[i] - q[i];
        b[i] = corners[3 + i] - q[i];
        c[i] = corners[6 + i] - q[i];
    }
    cross(b, c, normal);
    double det = a[0] * normal[0] + a[1] * normal[1] + a[2] * normal[2];
    if (det == 0) return;  // in its plane
    double ab = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    double bc = b[0] * c[0] + b[1] * c[1] + b[2] * c[2];
    double ca = c[0] * a[0] + c[1] * a[1] + c[2] * a[2];
    double la = length(a), lb = length(b), lc = length(c);
    add_angle(sum, la * lb * lc + ab * lc + bc * la + ca * lb, det);
}

// 4π times the number, as the moments have it: ∂_i F = R_i/R³, ∂_ij F → −3 R_i R_j/R⁵ and
// ∂_ijk F → 15 R_i R_j R_k/R⁷ against tensors without traces.
static double far_angle(const hk_cluster *cluster, const double r[3], double square)
{
    const double *m = cluster->second, *o = cluster->third;
    double x = r[0], y = r[1], z = r[2], u = 1 / square;
    double first = cluster->dipole[0] * x + cluster->dipole[1] * y + cluster->dipole[2] * z;
    double second = (m[0] * x + m[3] * y + m[4] * z) * x + (m[1] * y + m[5] * z) * y + m[2] * z * z;
    double third = (o[0] * x + o[3] * y + o[4] * z) * x * x +
                   (o[1] * y + o[5] * x + o[6] * z) * y * y +
                   (o[2] * z + o[7] * x + o[8] * y) * z * z + o[9] * x * y * z;
    return (first + (15 * third * u - 3 * second) * u) * u * sqrt(u);
}

// With clusters opened until their radius is at most `ratio` times their distance.
static hk_winding evaluate(const hk_winding_tree *tree, const double q[3], double ratio)
{
    int stack[64], top = 0;
    double far = 0, error = 0;
    angle_sum near = {1, 0, 0};
    stack[top++] = 1;
    while (top > 0) {
        int node = stack[--top];
        const hk_cluster *cluster = &tree->clusters[node];
        double r[3] = {cluster->centre[0] - q[0], cluster->centre[1] - q[1],
                       cluster->centre[2] - q[2]};
        double square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
        double radius2 = cluster->radius * cluster->radius;
        if (radius2 < ratio * ratio * square) {
            double rho = sqrt(radius2 / square), left = 1 - rho;
            far += far_angle(cluster, r, square);
            error += cluster->area / square * rho * rho * rho * (4 - 3 * rho) / (left * left);
        } else if (hk_winding_is_leaf(tree, node)) {
            int i = node - (1 << tree->depth), end = hk_winding_first(tree, tree->depth, i + 1);
            for (int t = hk_winding_first(tree, tree->depth, i); t < end; t++)
                add_triangle_angle(&near, tree->corners + 9 * (size_t)t, q);
        } else {
            stack[top++] = 2 * node + 1;
            stack[top++] = 2 * node;
        }
    }
    double angle = 2 * (atan2(near.y, near.x) + 2 * pi * near.turns) + far;
    return (hk_winding){angle / (4 * pi), error / (4 * pi)};
}

// The first attempt decides nearly everywhere; the error falls like the cube of the ratio.
hk_winding hk_winding_beside(const hk_winding_tree *tree, const double point[3], double level,
                             double tolerance)
{
    const double first = 0.4, least = 0.01;
    double q[3], ratio = first;
    hk_winding_to_frame(tree, point, q);
    for (;;) {
        hk_winding w = evaluate(tree, q, ratio);
        double beside = fabs(w.number - level);
        if (w.error <= tolerance || w.error < beside || ratio == 0) return w;
        double wanted = fmax(tolerance, isfinite(beside) ? 0.7 * beside : 0);
        ratio *= fmin(0.7, 0.9 * cbrt(wanted / w.error));
        if (!(ratio > least)) ratio = 0;
    }
}

hk_winding hk_winding_number(const hk_winding_tree *tree, const double point[3], double tolerance)
{
    return hk_winding_beside(tree, point, NAN, tolerance);
}
