// The loops of block_kernels.h for one instruction set: TARGET is its function attribute, NAME(x)
// its name, WIDEN(f) turns four floats into doubles; block_kernels.c includes this once for each. A
// column of three numbers is read as four, one of six as four and four: what is read too much goes
// to lanes that nobody looks at.

#define INLINE TARGET static inline __attribute__((always_inline))

INLINE d4 NAME(widen)(const float *v)
{
    return WIDEN(*(const f4 *)v);
}

INLINE d4 NAME(load)(const double *v)
{
    return (d4) * (const d4u *)v;
}

INLINE void NAME(store)(double *to, d4 v)
{
    *(d4u *)to = v;
}

INLINE d4 NAME(all)(double v)
{
    return (d4){v, v, v, v};
}

// The sums of three chains, which hide each other's latency.
typedef struct NAME(row_sums) {
    d4 low[3], high[3];
} NAME(row_sums);

INLINE void NAME(add_block)(int height, int width, const float *v, const double *x,
                            NAME(row_sums) * s)
{
#pragma GCC unroll 6
    for (int c = 0; c < width; c++) {
        d4 factor = NAME(all)(x[c]);
        s->low[c % 3] += NAME(widen)(v + height * c) * factor;
        if (height > 4) s->high[c % 3] += NAME(widen)(v + height * c + 4) * factor;
    }
}

INLINE void NAME(add_exact_block)(int height, int width, const double *v, const double *x,
                                  NAME(row_sums) * s)
{
#pragma GCC unroll 6
    for (int c = 0; c < width; c++) {
        d4 factor = NAME(all)(x[c]);
        s->low[c % 3] += NAME(load)(v + height * c) * factor;
        if (height > 4) s->high[c % 3] += NAME(load)(v + height * c + 4) * factor;
    }
}

// A row of A x.
INLINE NAME(row_sums)
    NAME(row_product)(int height, int width, const hk_block_rows *a, int64_t i, const double *x)
{
    int wide = hk_block_stride(width);
    NAME(row_sums) s = {0};
    if (a->diagonal) {
        const double *block = a->diagonal + height * width * i;
        NAME(add_exact_block)(height, width, block, x + wide * i, &s);
    }
    for (int64_t k = a->start[i]; k < a->start[i + 1]; k++) {
        const double *factor = x + wide * (int64_t)a->column[k];
        NAME(add_block)(height, width, a->value + height * width * k, factor, &s);
    }
    return s;
}

INLINE void NAME(product_of)(int height, int width, const hk_block_rows *a, int first, int last,
                             double sign, const double *base, const double *x, double *y)
{
    int high = hk_block_stride(height);
    for (int64_t i = first; i < last; i++) {
        NAME(row_sums) s = NAME(row_product)(height, width, a, i, x);
        d4 low = NAME(all)(sign) * (s.low[0] + s.low[1] + s.low[2]);
        NAME(store)(y + high * i, base ? NAME(load)(base + high * i) + low : low);
        if (height <= 4) continue;
        d4 rest = NAME(all)(sign) * (s.high[0] + s.high[1] + s.high[2]);
        NAME(store)(y + high * i + 4, base ? NAME(load)(base + high * i + 4) + rest : rest);
    }
}

TARGET static void NAME(product)(const hk_block_rows *a, int first, int last, double sign,
                                 const double *base, const double *x, double *y)
{
    if (a->height == 3 && a->width == 3)
        NAME(product_of)(3, 3, a, first, last, sign, base, x, y);
    else if (a->height == 3)
        NAME(product_of)(3, 6, a, first, last, sign, base, x, y);
    else if (a->width == 3)
        NAME(product_of)(6, 3, a, first, last, sign, base, x, y);
    else
        NAME(product_of)(6, 6, a, first, last, sign, base, x, y);
}

// step = keep step + weight change, y = x + step (or, without x, the step).
INLINE void NAME(relax_part)(const hk_block_relax *rule, d4 change, double *step, const double *x,
                             double *y)
{
    d4 moved = NAME(all)(rule->weight) * change;
    if (rule->keep != 0) moved += NAME(all)(rule->keep) * NAME(load)(step);
    NAME(store)(step, moved);
    NAME(store)(y, x ? NAME(load)(x) + moved : moved);
}

INLINE void NAME(relax_row)(int size, const hk_block_relax *rule, int64_t i, const double *r,
                            double *step, const double *x, double *y)
{
    int64_t at = hk_block_stride(size) * i;
    NAME(row_sums) s = {0};
    NAME(add_block)(size, size, rule->inverse + size * size * i, r, &s);
    d4 low = s.low[0] + s.low[1] + s.low[2], high = s.high[0] + s.high[1] + s.high[2];
    NAME(relax_part)(rule, low, step + at, x ? x + at : NULL, y + at);
    if (size <= 4) return;
    at += 4;
    NAME(relax_part)(rule, high, step + at, x ? x + at : NULL, y + at);
}

INLINE void NAME(relax_of)(int size, const hk_block_relax *rule, int first, int last,
                           const double *r, double *step, double *y)
{
    for (int64_t i = first; i < last; i++)
        NAME(relax_row)(size, rule, i, r + hk_block_stride(size) * i, step, NULL, y);
}

TARGET static void NAME(relax)(const hk_block_relax *rule, int first, int last, const double *r,
                               double *step, double *y)
{
    if (rule->size == 3)
        NAME(relax_of)(3, rule, first, last, r, step, y);
    else
        NAME(relax_of)(6, rule, first, last, r, step, y);
}

INLINE void NAME(smooth_of)(int size, const hk_block_rows *a, const hk_block_relax *rule, int first,
                            int last, const double *b, const double *x, double *step, double *y)
{
    int stride = hk_block_stride(size);
    for (int64_t i = first; i < last; i++) {
        double r[8];
        NAME(row_sums) s = NAME(row_product)(size, size, a, i, x);
        NAME(store)(r, NAME(load)(b + stride * i) - (s.low[0] + s.low[1] + s.low[2]));
        d4 rest = s.high[0] + s.high[1] + s.high[2];
        if (size > 4) NAME(store)(r + 4, NAME(load)(b + stride * i + 4) - rest);
        NAME(relax_row)(size, rule, i, r, step, x, y);
    }
}

TARGET static void NAME(smooth)(const hk_block_rows *a, const hk_block_relax *rule, int first,
                                int last, const double *b, const double *x, double *step, double *y)
{
    if (rule->size == 3)
        NAME(smooth_of)(3, a, rule, first, last, b, x, step, y);
    else
        NAME(smooth_of)(6, a, rule, first, last, b, x, step, y);
}

// The columns of a block.
typedef struct NAME(columns) {
    d4 low[6], high[6];
} NAME(columns);

INLINE NAME(columns) NAME(widen_columns)(int height, int width, const float *a)
{
    NAME(columns) c;
#pragma GCC unroll 6
    for (int k = 0; k < width; k++) {
        c.low[k] = NAME(widen)(a + height * k);
        if (height > 4) c.high[k] = NAME(widen)(a + height * k + 4);
    }
    return c;
}

INLINE NAME(columns) NAME(load_columns)(int height, int width, const double *a)
{
    NAME(columns) c;
#pragma GCC unroll 6
    for (int k = 0; k < width; k++) {
        c.low[k] = NAME(load)(a + height * k);
        if (height > 4) c.high[k] = NAME(load)(a + height * k + 4);
    }
    return c;
}

INLINE void NAME(multiply_columns)(int height, int width, NAME(columns) a, const float *b,
                                   double *sums)
{
#pragma GCC unroll 6
    for (int c = 0; c < 6; c++) {
        double *to = sums + hk_block_stride(height) * c;
        d4 sum = NAME(load)(to), rest = sum;
        if (height > 4) rest = NAME(load)(to + 4);
#pragma GCC unroll 6
        for (int k = 0; k < width; k++) {
            d4 factor = NAME(all)(b[width * c + k]);
            sum += a.low[k] * factor;
            if (height > 4) rest += a.high[k] * factor;
        }
        NAME(store)(to, sum);
        if (height > 4) NAME(store)(to + 4, rest);
    }
}

INLINE void NAME(multiply_of)(int height, int width, const float *a, const float *b, double *sums)
{
    NAME(multiply_columns)(height, width, NAME(widen_columns)(height, width, a), b, sums);
}

TARGET static void NAME(multiply)(int height, int width, const float *a, const float *b,
                                  double *sums)
{
    if (height == 3 && width == 3)
        NAME(multiply_of)(3, 3, a, b, sums);
    else if (height == 3)
        NAME(multiply_of)(3, 6, a, b, sums);
    else if (width == 3)
        NAME(multiply_of)(6, 3, a, b, sums);
    else
        NAME(multiply_of)(6, 6, a, b, sums);
}

// Of square blocks alone.
TARGET static void NAME(multiply_exact)(int height, int width, const double *a, const float *b,
                                        double *sums)
{
    (void)width;
    if (height == 3)
        NAME(multiply_columns)(3, 3, NAME(load_columns)(3, 3, a), b, sums);
    else
        NAME(multiply_columns)(6, 6, NAME(load_columns)(6, 6, a), b, sums);
}

#undef INLINE
