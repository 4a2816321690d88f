// Signs of determinants. The file must be compiled as it is written: sums and products of doubles,
// each rounded once, none contracted or reordered (CMakeLists.txt sees to it).
#include "contact/predicates.h"

#include <float.h>
#include <math.h>

#if defined(__FAST_MATH__) || !defined(HK_EXACT_ARITHMETIC)
#error "exact predicates need -ffp-contract=off -DHK_EXACT_ARITHMETIC and no -ffast-math"
#endif
_Static_assert(FLT_EVAL_METHOD == 0, "doubles must be evaluated in double");

// ---------------------------------------------------------------- the filter

// Every product of three differences in the determinant passes through at most 8 roundings: three
// differences, two products, the difference of two products, two sums. The error is thus at most
// γ₈ P with γ₈ = 8u/(1 − 8u), u = 2⁻⁵³, and P the sum of all products' sizes; P itself is computed
// with a relative error below γ₈. 10u covers both. (A product and a sum contracted into one would
// have fewer roundings.)
#define ERROR_BOUND (10 * 0x1p-53)
// Where all differences are at most this, underflow adds less than 12 (2^100 + 1) 2^-1074 < 2^-970
// to that error, and nothing overflows.
#define ORDINARY_SIZE 0x1p100
#define LEAST_ERROR   0x1p-960

static inline void subtract(const double a[3], const double b[3], double difference[3])
{
    for (int i = 0; i < 3; i++) difference[i] = a[i] - b[i];
}

static inline bool is_ordinary(const double v[3])
{
    return fabs(v[0]) <= ORDINARY_SIZE && fabs(v[1]) <= ORDINARY_SIZE &&
           fabs(v[2]) <= ORDINARY_SIZE;
}

// Whether products of three such numbers neither underflow nor are spoilt by it.
static inline bool is_zero_or_large(const double v[3])
{
    const double least = 0x1p-300;
    return (v[0] == 0 || fabs(v[0]) > least) && (v[1] == 0 || fabs(v[1]) > least) &&
           (v[2] == 0 || fabs(v[2]) > least);
}

hk_plane hk_plane_of(const double a[3], const double b[3], const double c[3])
{
    hk_plane plane = {.a = a, .b = b, .c = c};
    double u[3], v[3];
    subtract(b, a, u);
    subtract(c, a, v);
    for (int i = 0; i < 3; i++) {
        int j = i == 2 ? 0 : i + 1, k = i == 0 ? 2 : i - 1;
        plane.normal[i] = u[j] * v[k] - u[k] * v[j];
        plane.permanent[i] = fabs(u[j] * v[k]) + fabs(u[k] * v[j]);
    }
    plane.ordinary = is_ordinary(u) && is_ordinary(v);
    plane.exact_zero = is_zero_or_large(u) && is_zero_or_large(v);
    return plane;
}

static int exact_sign(const double *const points[4])
{
    return hk_in_expansion_range(points) ? hk_orient3d_by_expansions(points)
                                         : hk_orient3d_by_integers(points);
}

int hk_plane_side(const hk_plane *plane, const double d[3])
{
    const double *n = plane->normal, *p = plane->permanent;
    double w[3];
    subtract(d, plane->a, w);
    double volume = n[0] * w[0] + n[1] * w[1] + n[2] * w[2];
    double size = p[0] * fabs(w[0]) + p[1] * fabs(w[1]) + p[2] * fabs(w[2]);
    if (plane->ordinary && is_ordinary(w) && fabs(volume) > ERROR_BOUND * size + LEAST_ERROR)
        return volume > 0 ? 1 : -1;
    // All products have a factor 0: points in a coordinate plane. (A difference is 0 only if it
    // is.)
    if (size == 0 && plane->exact_zero && is_zero_or_large(w)) return 0;
    return exact_sign((const double *[]){plane->a, plane->b, plane->c, d});
}

int hk_orient3d(const double a[3], const double b[3], const double c[3], const double d[3])
{
    hk_plane plane = hk_plane_of(a, b, c);
    return hk_plane_side(&plane, d);
}

// ---------------------------------------------------------------- expansions

// An expansion is a sum of doubles that do not overlap, smallest first, without zeros; its sign is
// that of its last. Theorems are Shewchuk's (Adaptive Precision Floating-Point Arithmetic, 1997).

bool hk_in_expansion_range(const double *const points[4])
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 3; i++) {
            double size = fabs(points[k][i]);
            // The last bits of such coordinates are multiples of 2^-302, those of products of three
            // multiples of 2^-906: far from underflow.
            if (!(size == 0 || (size >= 0x1p-250 && size <= 0x1p300))) return false;
        }
    return true;
}

// a + b = sum + error exactly (theorem 7, Knuth).
static inline double two_sum(double a, double b, double *error)
{
    double sum = a + b, b_part = sum - a, a_part = sum - b_part;
    *error = (a - a_part) + (b - b_part);
    return sum;
}

// a = high + low, both of at most 26 bits (theorem 17, Dekker).
static inline void split(double a, double *high, double *low)
{
    double c = 0x8000001p0 * a, big = c - a;
    *high = c - big;
    *low = a - *high;
}

// a b = product + error exactly (theorem 18).
static inline double two_product(double a, double b, double *error)
{
    double a_high, a_low, b_high, b_low, product = a * b;
    split(a, &a_high, &a_low);
    split(b, &b_high, &b_low);
    *error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low);
    return product;
}

// e b (theorem 19); returns the length, at most 2m.
static int scale_expansion(int m, const double *e, double b, double *result)
{
    int n = 0;
    double low, carry = two_product(e[0], b, &low);
    if (low != 0) result[n++] = low;
    for (int i = 1; i < m; i++) {
        double part_low, part = two_product(e[i], b, &part_low);
        double sum = two_sum(carry, part_low, &low);
        if (low != 0) result[n++] = low;
        carry = two_sum(part, sum, &low);
        if (low != 0) result[n++] = low;
    }
    if (carry != 0) result[n++] = carry;
    return n;
}

// e + f: merged by size and summed up (theorem 13); returns the length, at most m + n.
static int add_expansions(int m, const double *e, int n, const double *f, double *result)
{
    int length = 0, i = 0, j = 0;
    double carry = 0, low;
    while (i < m || j < n) {
        bool from_e = j == n || (i < m && fabs(e[i]) < fabs(f[j]));
        carry = two_sum(carry, from_e ? e[i++] : f[j++], &low);
        if (low != 0) result[length++] = low;
    }
    if (carry != 0) result[length++] = carry;
    return length;
}

enum { DIFFERENCE = 2, MINOR = 16, TERM = 64, DETERMINANT = 192 };

typedef struct difference {
    int length;
    double terms[DIFFERENCE];
} difference;

static difference subtract_exactly(double a, double b)
{
    difference d = {0, {0, 0}};
    double low, high = two_sum(a, -b, &low);
    if (low != 0) d.terms[d.length++] = low;
    if (high != 0) d.terms[d.length++] = high;
    return d;
}

// e d, with e of at most 16 terms; returns the length, at most 4m.
static int multiply(int m, const double *e, const difference *d, double sign, double *result)
{
    double parts[2][2 * MINOR];
    int lengths[2] = {0, 0};
    if (m == 0) return 0;
    for (int k = 0; k < d->length; k++)
        lengths[k] = scale_expansion(m, e, sign * d->terms[k], parts[k]);
    return add_expansions(lengths[0], parts[0], lengths[1], parts[1], result);
}

// u_j v_k − u_k v_j
static int make_minor(const difference u[3], const difference v[3], int j, int k, double *result)
{
    double left[MINOR / 2], right[MINOR / 2];
    int m = multiply(u[j].length, u[j].terms, &v[k], 1, left);
    int n = multiply(u[k].length, u[k].terms, &v[j], -1, right);
    return add_expansions(m, left, n, right, result);
}

int hk_orient3d_by_expansions(const double *const points[4])
{
    difference u[3], v[3], w[3];
    for (int i = 0; i < 3; i++) {
        u[i] = subtract_exactly(points[1][i], points[0][i]);
        v[i] = subtract_exactly(points[2][i], points[0][i]);
        w[i] = subtract_exactly(points[3][i], points[0][i]);
    }
    double sums[2][DETERMINANT], minor[MINOR], term[TERM];
    int length = 0, now = 0;
    for (int i = 0; i < 3; i++) {
        if (w[i].length == 0) continue;
        int m = make_minor(u, v, i == 2 ? 0 : i + 1, i == 0 ? 2 : i - 1, minor);
        int n = multiply(m, minor, &w[i], 1, term);
        length = add_expansions(length, sums[now], n, term, sums[1 - now]);
        now = 1 - now;
    }
    if (length == 0) return 0;
    return sums[now][length - 1] > 0 ? 1 : -1;
}

// ---------------------------------------------------------------- planes

// Three products of two differences, five roundings each at the most. Beyond the range of
// expansions the sum in double decides: there a plane is a matter of opinion.
int hk_dot_sign(const double point[3], const double tip[3], const double x[3])
{
    double u[3], w[3], sum = 0, size = 0;
    subtract(tip, point, u);
    subtract(x, point, w);
    for (int i = 0; i < 3; i++) {
        sum += u[i] * w[i];
        size += fabs(u[i] * w[i]);
    }
    bool certain = is_ordinary(u) && is_ordinary(w) && fabs(sum) > ERROR_BOUND * size + LEAST_ERROR;
    if (certain || !hk_in_expansion_range((const double *[]){point, tip, x, x}))
        return (sum > 0) - (sum < 0);
    double sums[2][3 * MINOR], term[MINOR];
    int length = 0, now = 0;
    for (int i = 0; i < 3; i++) {
        difference a = subtract_exactly(tip[i], point[i]), b = subtract_exactly(x[i], point[i]);
        int n = multiply(a.length, a.terms, &b, 1, term);
        length = add_expansions(length, sums[now], n, term, sums[1 - now]);
        now = 1 - now;
    }
    if (length == 0) return 0;
    return sums[now][length - 1] > 0 ? 1 : -1;
}

// ---------------------------------------------------------------- areas

// Four roundings of each product, and the same reasons for the bounds. Lattices are full of points
// on a line: where the differences are exact, two exact products tell.
int hk_orient2d(int axis, const double a[3], const double b[3], const double c[3])
{
    int i = axis == 2 ? 0 : axis + 1, j = axis == 0 ? 2 : axis - 1;
    double tails[4], lows[2];
    const double u[3] = {two_sum(b[i], -a[i], &tails[0]), two_sum(b[j], -a[j], &tails[1]), 0};
    const double v[3] = {two_sum(c[i], -a[i], &tails[2]), two_sum(c[j], -a[j], &tails[3]), 0};
    double left = u[0] * v[1], right = u[1] * v[0], area = left - right;
    bool ordinary = is_ordinary(u) && is_ordinary(v);
    if (ordinary && fabs(area) > ERROR_BOUND * (fabs(left) + fabs(right)) + LEAST_ERROR)
        return area > 0 ? 1 : -1;
    if (ordinary && tails[0] == 0 && tails[1] == 0 && tails[2] == 0 && tails[3] == 0 &&
        is_zero_or_large(u) && is_zero_or_large(v)) {
        left = two_product(u[0], v[1], &lows[0]);
        right = two_product(u[1], v[0], &lows[1]);
        return left != right        ? (left > right ? 1 : -1)
               : lows[0] != lows[1] ? (lows[0] > lows[1] ? 1 : -1)
                                    : 0;
    }
    // The volume of a tet over the triangle in the plane, with its top at height 1 above a.
    const double flat[4][3] = {{a[i], a[j], 0}, {b[i], b[j], 0}, {c[i], c[j], 0}, {a[i], a[j], 1}};
    return exact_sign((const double *[]){flat[0], flat[1], flat[2], flat[3]});
}
