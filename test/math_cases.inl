// Matrices of all kinds, and how well the results for them hold: what math_checks.inl stands on.
// Results are judged in long double, in units of HK_EPSILON.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

// Instead of what the CPU estimates for 1/√a (math/real.h), the worst that its vendor allows: off by
// g_worst[0] or g_worst[1] times that, by a bit of the number. 0: as the CPU has it.
static __attribute__((unused)) double g_worst[2];
#define HK_ESTIMATE_RSQRT(a, estimate)                                               \
    (g_worst[0] == 0                                                                 \
         ? (estimate)                                                                \
         : (1 / r_sqrt(a)) *                                                         \
               r_select((mask)((r_bits(a) >> (HK_MANTISSA_BITS / 2) & 1) != 0),      \
                        r_set(1 + g_worst[0] * HK_ESTIMATE_ERROR),                   \
                        r_set(1 + g_worst[1] * HK_ESTIMATE_ERROR)))

#include "math/polar.h"

typedef long double wide;
typedef wide wide3[3][3];

// The largest error of a group of checks, and what gave it.
typedef struct worst {
    wide error;
    int family, index;
} worst;

static void note(worst *w, wide error, int family, int index)
{
    if (error > w->error || error != error)
        *w = (worst){error != error ? (wide)INFINITY : error, family, index};
}

static void assert_within(const char *what, worst w, wide bound)
{
    if (getenv("HK_TEST_VERBOSE")) printf("    %-34s %8.3Lf of %.1Lf\n", what, w.error, bound);
    if (!(w.error <= bound))
        fail_msg("%s: %Lg, bound %Lg (family %d, matrix %d)", what, w.error, bound, w.family,
                 w.index);
}

// ---- random numbers and matrices

#define RANDOM_START 88172645463325252u
static uint64_t random_state = RANDOM_START;

static double uniform(void)  // in (−1, 1)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(int64_t)random_state * 0x1p-63;
}

static void random_matrix(double a[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) a[i][j] = uniform();
}

static void random_rotation(double r[3][3])
{
    double q[4], n = 0;
    do {
        n = 0;
        for (int i = 0; i < 4; i++) q[i] = uniform(), n += q[i] * q[i];
    } while (n > 1 || n < 0.1);
    double w = q[0], x = q[1], y = q[2], z = q[3], k = 2 / n;
    double t[3][3] = {{1 - k * (y * y + z * z), k * (x * y - w * z), k * (x * z + w * y)},
                      {k * (x * y + w * z), 1 - k * (x * x + z * z), k * (y * z - w * x)},
                      {k * (x * z - w * y), k * (y * z + w * x), 1 - k * (x * x + y * y)}};
    memcpy(r, t, sizeof t);
}

// U diag(s) Vᵀ with random rotations.
static void with_values(double a[3][3], double s0, double s1, double s2)
{
    double u[3][3], v[3][3], s[3] = {s0, s1, s2};
    random_rotation(u);
    random_rotation(v);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            a[i][j] = 0;
            for (int k = 0; k < 3; k++) a[i][j] += u[i][k] * s[k] * v[j][k];
        }
}

enum {
    RANDOM,
    NEAR_IDENTITY,
    RANK_2,
    RANK_1,
    RANK_1_EXACT,
    ZERO,
    TWO_EQUAL,
    THREE_EQUAL,
    REFLECTED,
    REFLECTED_EQUAL,
    NEARLY_SINGULAR,
    HUGE_ENTRIES,
    TINY_ENTRIES,
    DENORMAL,
    DIAGONAL,
    IDENTITY,
    PERMUTATION,
    TRIANGULAR,
    SMALL_INTEGERS,
    ONE_LARGE_COLUMN,
    GRADED,
    SYMMETRIC,
    FAMILIES
};

static void permutation_matrix(double a[3][3], int number)  // 48 of them, with signs
{
    static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    memset(a, 0, 9 * sizeof(double));
    for (int i = 0; i < 3; i++) a[i][order[number % 6][i]] = (number / 6) >> i & 1 ? -1.0 : 1.0;
}

static void scale_matrix(double a[3][3], double by)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) a[i][j] *= by;
}

static void special_matrix(int family, int index, double a[3][3])
{
    random_matrix(a);
    switch (family) {
    case HUGE_ENTRIES: scale_matrix(a, HK_DOUBLE ? 1e150 : 1e15); break;
    case TINY_ENTRIES: scale_matrix(a, HK_DOUBLE ? 1e-150 : 1e-15); break;
    case DENORMAL: scale_matrix(a, (double)HK_SMALLEST_NORMAL * pow(0.5, index % 8)); break;
    case DIAGONAL:
        for (int i = 0; i < 9; i++)
            if (i % 4) a[i / 3][i % 3] = 0;
        break;
    case PERMUTATION: permutation_matrix(a, index % 48); break;
    case TRIANGULAR: a[1][0] = a[2][0] = a[2][1] = 0; break;
    case SMALL_INTEGERS:  // many exact coincidences, all ranks
        for (int i = 0; i < 9; i++) a[i / 3][i % 3] = rint(1.4 * a[i / 3][i % 3]);
        break;
    case ONE_LARGE_COLUMN:
        for (int i = 0; i < 3; i++) a[i][index % 3] *= 1e6;
        break;
    case GRADED:  // columns of very different length, well conditioned otherwise
        with_values(a, 1, 0.8, 0.6);
        for (int i = 0; i < 3; i++) a[i][1] *= 1e-3, a[i][2] *= HK_DOUBLE ? 1e-40 : 1e-6;
        break;
    case SYMMETRIC: a[1][0] = a[0][1], a[2][0] = a[0][2], a[2][1] = a[1][2]; break;
    default: break;
    }
}

static void make_matrix(int family, int index, double a[3][3])
{
    double eps = HK_EPSILON, x = fabs(uniform()), y = x * fabs(uniform());
    switch (family) {
    case NEAR_IDENTITY:
        random_matrix(a);
        scale_matrix(a, pow(0.25, index % 28));
        for (int i = 0; i < 3; i++) a[i][i] += 1;
        break;
    case RANK_2: with_values(a, 1, x, 0); break;
    case RANK_1: with_values(a, 1, 0, 0); break;
    case RANK_1_EXACT:
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) a[i][j] = ldexp((i + index) % 3 - 1, j * (index % 4));
        break;
    case ZERO: memset(a, 0, 9 * sizeof(double)); break;
    case TWO_EQUAL: with_values(a, index % 2 ? 1 : x, x, x); break;
    case THREE_EQUAL: with_values(a, x + 0.1, x + 0.1, x + 0.1); break;
    case REFLECTED: with_values(a, 1, x, -y); break;
    case REFLECTED_EQUAL: with_values(a, 1, index % 2 ? 1 : x, index % 2 ? -1 : -x); break;
    case NEARLY_SINGULAR: with_values(a, 1, index % 2 ? x : 3 * eps, eps * x); break;
    case IDENTITY:
        memset(a, 0, 9 * sizeof(double));
        for (int i = 0; i < 3; i++) a[i][i] = 1;
        break;
    default: special_matrix(family, index, a); break;
    }
    // What the lanes will see.
    for (int i = 0; i < 9; i++) a[i / 3][i % 3] = (double)(scalar)a[i / 3][i % 3];
}

// ---- lanes

static void put(mat3 *to, int lane, double a[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) r_set_lane(&to->m[i][j], lane, (scalar)a[i][j]);
}

static void take(wide3 to, mat3 a, int lane)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) to[i][j] = (wide)r_lane(a.m[i][j], lane);
}

static void take_vector(wide to[3], vec3 a, int lane)
{
    for (int i = 0; i < 3; i++) to[i] = (wide)r_lane(a.v[i], lane);
}

// Fills all lanes with matrices of one family; `plain` keeps what went in.
static mat3 fill(int family, int index, double plain[HK_LANES][3][3])
{
    mat3 a = m3_zero();
    for (int l = 0; l < HK_LANES; l++) {
        make_matrix(family, index * HK_LANES + l, plain[l]);
        put(&a, l, plain[l]);
    }
    return a;
}

static int batches(int family)
{
    return (family == RANDOM ? 10000 : 800) / HK_LANES;
}

// ---- judging in long double

static wide largest(wide3 a)
{
    wide m = 0;
    for (int i = 0; i < 9; i++) {
        wide x = fabsl(a[i / 3][i % 3]);
        if (x > m || x != x) m = x;
    }
    return m;
}

static wide determinant(wide3 a)
{
    return a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) +
           a[0][1] * (a[1][2] * a[2][0] - a[1][0] * a[2][2]) +
           a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]);
}

// |qᵀq − 1|, or 1e9 for a reflection.
static wide rotation_error(wide3 q)
{
    wide3 e;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            e[i][j] = q[0][i] * q[0][j] + q[1][i] * q[1][j] + q[2][i] * q[2][j] - (i == j);
    return determinant(q) > 0 ? largest(e) : 1e9L;
}

// |u diag(s) vᵀ − a|
static wide product_error(wide3 u, const wide s[3], wide3 v, double a[3][3])
{
    wide3 e;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            e[i][j] = -(wide)a[i][j];
            for (int k = 0; k < 3; k++) e[i][j] += u[i][k] * s[k] * v[j][k];
        }
    return largest(e);
}

static wide largest_entry(double a[3][3])
{
    wide m = 0;
    for (int i = 0; i < 9; i++) m = fmaxl(m, fabsl((wide)a[i / 3][i % 3]));
    return m;
}

static void sort_descending(wide s[3])
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < 2; i++)
            if (s[i] < s[i + 1]) {
                wide t = s[i];
                s[i] = s[i + 1];
                s[i + 1] = t;
            }
}

// Singular values in long double: Jacobi turns of the columns, the plain textbook way.
static void reference_values(double a[3][3], wide s[3])
{
    wide3 b;
    for (int i = 0; i < 9; i++) b[i / 3][i % 3] = (wide)a[i / 3][i % 3];
    for (int turn = 0; turn < 36; turn++) {
        int p = turn % 3 == 2, q = turn % 3 == 0 ? 1 : 2;
        wide pp = 0, qq = 0, pq = 0;
        for (int i = 0; i < 3; i++) {
            pp += b[i][p] * b[i][p];
            qq += b[i][q] * b[i][q];
            pq += b[i][p] * b[i][q];
        }
        if (pq == 0) continue;
        wide zeta = (qq - pp) / (2 * pq);
        wide t = (zeta < 0 ? -1 : 1) / (fabsl(zeta) + hypotl(1, zeta));
        wide c = 1 / hypotl(1, t);
        for (int i = 0; i < 3; i++) {
            wide x = b[i][p], y = b[i][q];
            b[i][p] = c * (x - t * y);
            b[i][q] = c * (y + t * x);
        }
    }
    for (int j = 0; j < 3; j++) s[j] = hypotl(hypotl(b[0][j], b[1][j]), b[2][j]);
    sort_descending(s);
}

// Eigenvalues and vectors of the upper triangle in long double.
static void reference_eigen(double a[3][3], wide values[3], wide3 v)
{
    wide3 b;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            b[i][j] = (wide)a[i < j ? i : j][i < j ? j : i], v[i][j] = i == j;
    for (int turn = 0; turn < 36; turn++) {
        int p = turn % 3 == 2, q = turn % 3 == 0 ? 1 : 2;
        if (b[p][q] == 0) continue;
        wide zeta = (b[q][q] - b[p][p]) / (2 * b[p][q]);
        wide t = (zeta < 0 ? -1 : 1) / (fabsl(zeta) + hypotl(1, zeta));
        wide c = 1 / hypotl(1, t), s = c * t;
        for (int i = 0; i < 3; i++) {
            wide x = b[i][p], y = b[i][q], vx = v[i][p], vy = v[i][q];
            b[i][p] = c * x - s * y, b[i][q] = c * y + s * x;
            v[i][p] = c * vx - s * vy, v[i][q] = c * vy + s * vx;
        }
        for (int i = 0; i < 3; i++) {
            wide x = b[p][i], y = b[q][i];
            b[p][i] = c * x - s * y, b[q][i] = c * y + s * x;
        }
    }
    for (int i = 0; i < 3; i++) values[i] = b[i][i];
}
