// Signs of determinants in whole numbers, for coordinates that are too large, too small or too
// different for expansions. Every finite double is a whole multiple of 2^-1074; in these units its
// size is below 2^2098.
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "contact/predicates.h"

__extension__ typedef unsigned __int128 double_word;

// A difference of coordinates has 33 words, a product of three 99, the sum of six no more; one is
// left for a carry.
enum { MOST = 3 * 33 + 1 };

typedef struct whole {
    int sign;  // −1, 0, 1
    int length;
    uint64_t words[MOST];  // [length] size, lowest first
} whole;

// Cuts off leading zeros; a sum or product of nothing is 0.
static void trim(whole *w)
{
    while (w->length > 0 && w->words[w->length - 1] == 0) w->length--;
    if (w->length == 0) w->sign = 0;
}

static void from_double(double x, whole *w)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t mantissa = bits & 0xfffffffffffffu;
    if (exponent > 0) mantissa |= 1ull << 52;
    int shift = exponent > 0 ? exponent - 1 : 0, word = shift / 64, bit = shift % 64;
    w->sign = bits >> 63 ? -1 : 1;
    w->length = word + 2;
    memset(w->words, 0, (size_t)w->length * sizeof(uint64_t));
    w->words[word] = mantissa << bit;
    if (bit > 0) w->words[word + 1] = mantissa >> (64 - bit);
    trim(w);
}

static int compare_sizes(const whole *a, const whole *b)
{
    if (a->length != b->length) return a->length < b->length ? -1 : 1;
    for (int i = a->length - 1; i >= 0; i--)
        if (a->words[i] != b->words[i]) return a->words[i] < b->words[i] ? -1 : 1;
    return 0;
}

static void add_sizes(whole *sum, const whole *b)
{
    int length = sum->length > b->length ? sum->length : b->length;
    double_word carry = 0;
    for (int i = 0; i < length; i++) {
        carry += i < sum->length ? sum->words[i] : 0;
        carry += i < b->length ? b->words[i] : 0;
        sum->words[i] = (uint64_t)carry;
        carry >>= 64;
    }
    sum->words[length] = (uint64_t)carry;
    sum->length = length + 1;
}

// |a| − |b| for |a| ≥ |b|; `result` may be either of them.
static void subtract_sizes(const whole *a, const whole *b, whole *result)
{
    uint64_t borrow = 0;
    for (int i = 0; i < a->length; i++) {
        uint64_t take = i < b->length ? b->words[i] : 0;
        double_word left = ((double_word)1 << 64) + a->words[i] - take - borrow;
        result->words[i] = (uint64_t)left;
        borrow = left >> 64 ? 0 : 1;
    }
    result->length = a->length;
}

static void add(whole *sum, const whole *b)
{
    if (b->sign == 0) return;
    if (sum->sign == 0) {
        sum->sign = b->sign;
        sum->length = 0;
        add_sizes(sum, b);
    } else if (sum->sign == b->sign) {
        add_sizes(sum, b);
    } else if (compare_sizes(sum, b) >= 0) {
        subtract_sizes(sum, b, sum);
    } else {
        subtract_sizes(b, sum, sum);
        sum->sign = b->sign;
    }
    trim(sum);
}

static void multiply(const whole *a, const whole *b, whole *product)
{
    product->sign = a->sign * b->sign;
    product->length = a->length + b->length;
    memset(product->words, 0, (size_t)product->length * sizeof(uint64_t));
    for (int i = 0; i < a->length; i++) {
        double_word carry = 0;
        for (int j = 0; j < b->length; j++) {
            carry += (double_word)a->words[i] * b->words[j] + product->words[i + j];
            product->words[i + j] = (uint64_t)carry;
            carry >>= 64;
        }
        product->words[i + b->length] = (uint64_t)carry;
    }
    trim(product);
}

// b − a
static void subtract(const double a[3], const double b[3], whole difference[3])
{
    for (int i = 0; i < 3; i++) {
        whole from;
        from_double(b[i], &difference[i]);
        from_double(a[i], &from);
        from.sign = -from.sign;
        add(&difference[i], &from);
    }
}

int hk_orient3d_by_integers(const double *const points[4])
{
    whole u[3], v[3], w[3], pair, triple, sum = {0};
    subtract(points[0], points[1], u);
    subtract(points[0], points[2], v);
    subtract(points[0], points[3], w);
    for (int i = 0; i < 3; i++)
        for (int turn = 0; turn < 2; turn++) {
            int j = (i + 1 + turn) % 3, k = (i + 2 - turn) % 3;
            multiply(&u[j], &v[k], &pair);
            multiply(&pair, &w[i], &triple);
            if (turn) triple.sign = -triple.sign;
            add(&sum, &triple);
        }
    return sum.sign;
}
