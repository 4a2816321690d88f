#include "io/io.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

hk_scan hk_scan_begin(const char *name, const char *data, size_t size, char comment)
{
    // Some editors put a byte-order mark before the text.
    size_t mark = size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    return (hk_scan){
        .name = name, .at = data + mark, .end = data + size, .line = 1, .comment = comment};
}

// ---------------------------------------------------------------- messages

hk_quoted hk_quote(const char *word, size_t length)
{
    hk_quoted quoted;
    const size_t most = 40;
    size_t shown = length < most ? length : most;
    for (size_t i = 0; i < shown; ++i)
        quoted.text[i] = word[i] >= 0x20 && word[i] < 0x7f ? word[i] : '?';
    memcpy(quoted.text + shown, length > most ? "..." : "", length > most ? 4 : 1);
    return quoted;
}

hk_status hk_scan_fail(const hk_scan *scan, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (scan->item)
        return hk_fail(HK_BAD_INPUT, "%s:%d: %s %lld: %s", scan->name, scan->line, scan->item,
                       (long long)scan->number, message);
    return hk_fail(HK_BAD_INPUT, "%s:%d: %s", scan->name, scan->line, message);
}

// ---------------------------------------------------------------- tokens

static inline bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

// Whether c is the scan's own comment or separator character (0 stands for none).
static inline bool is_mark(char c, char mark)
{
    return c == mark && c != '\0';
}

static inline bool ends_token(const hk_scan *scan, const char *p)
{
    return p >= scan->end || is_space(*p) || is_mark(*p, scan->comment) ||
           is_mark(*p, scan->separator);
}

static inline bool skip_separators(hk_scan *scan, bool over_lines)
{
    const char *p = scan->at, *end = scan->end;
    bool found = false;
    while (p < end) {
        char c = *p;
        if (c == '\n') {
            if (!over_lines) break;
            if (scan->line < INT_MAX) ++scan->line;
            ++p;
        } else if (is_space(c) || is_mark(c, scan->separator)) {
            ++p;
        } else if (is_mark(c, scan->comment)) {
            const char *newline = memchr(p, '\n', (size_t)(end - p));
            p = newline ? newline : end;
        } else {
            found = true;
            break;
        }
    }
    scan->at = p;
    return found;
}

bool hk_scan_more(hk_scan *scan)
{
    return skip_separators(scan, true);
}

bool hk_scan_more_on_line(hk_scan *scan)
{
    return skip_separators(scan, false);
}

void hk_scan_skip_line(hk_scan *scan)
{
    const char *newline = memchr(scan->at, '\n', (size_t)(scan->end - scan->at));
    if (!newline) {
        scan->at = scan->end;
        return;
    }
    scan->at = newline + 1;
    if (scan->line < INT_MAX) ++scan->line;
}

static size_t token_length(const hk_scan *scan)
{
    const char *p = scan->at;
    while (!ends_token(scan, p)) ++p;
    return (size_t)(p - scan->at);
}

static hk_status fail_at_end(const hk_scan *scan, const char *what)
{
    return hk_scan_fail(scan, "the file ends where %s was expected", what);
}

// "expected WHAT, found "token""; `remark` says why the token does not do.
static hk_status fail_at_token(const hk_scan *scan, const char *what, const char *remark)
{
    hk_quoted quoted = hk_quote(scan->at, token_length(scan));
    return hk_scan_fail(scan, "expected %s%s, found \"%s\"", what, remark, quoted.text);
}

hk_status hk_scan_on_line(hk_scan *scan, const char *what)
{
    if (skip_separators(scan, false)) return HK_OK;
    return hk_scan_fail(scan, "the %s ends where %s was expected",
                        scan->at == scan->end ? "file" : "line", what);
}

hk_status hk_scan_line_end(hk_scan *scan)
{
    return skip_separators(scan, false) ? fail_at_token(scan, "the end of the line", "") : HK_OK;
}

hk_status hk_scan_word(hk_scan *scan, const char *what, const char **word, size_t *length)
{
    if (!skip_separators(scan, true)) return fail_at_end(scan, what);
    *word = scan->at;
    *length = token_length(scan);
    scan->at += *length;
    return HK_OK;
}

bool hk_scan_accept(hk_scan *scan, const char *word)
{
    if (!skip_separators(scan, true)) return false;
    size_t length = strlen(word);
    if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, word, length) != 0)
        return false;
    if (!ends_token(scan, scan->at + length)) return false;
    scan->at += length;
    return true;
}

// ---------------------------------------------------------------- numbers

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// The parts of a decimal number: ± mantissa · 10^exponent. `mantissa` holds the first 19
// significant digits; `exact` tells whether that is all of them.
typedef struct decimal {
    bool negative, exact;
    uint64_t mantissa;
    int64_t exponent;            // that goes with the mantissa
    int64_t written;             // the exponent written after the 'e'
    const char *digits, *after;  // the digits (and the point) as written
} decimal;

// 19 digits always fit 64 bits.
enum { MANTISSA_DIGITS = 19 };

static inline const char *take_digits(const char *p, const char *end, decimal *d, int *used,
                                      int exponent_each)
{
    for (; p < end && is_digit(*p); ++p) {
        unsigned digit = (unsigned)(*p - '0');
        if (*used < MANTISSA_DIGITS) {
            d->mantissa = 10 * d->mantissa + digit;
            *used += d->mantissa != 0;
            d->exponent += exponent_each;
        } else {
            d->exact = d->exact && digit == 0;
            d->exponent += exponent_each + 1;
        }
    }
    return p;
}

// An exponent beyond ±10⁶ already decides the value, unless as many digits are written.
static const char *take_exponent(const char *p, const char *end, int64_t *exponent)
{
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) ++p;
    if (p >= end || !is_digit(*p)) return NULL;
    int64_t value = 0;
    for (; p < end && is_digit(*p); ++p)
        if (value < INT64_C(1000000000000)) value = 10 * value + (*p - '0');
    *exponent = negative ? -value : value;
    return p;
}

// Takes apart sign, digits, point, digits, exponent. NULL if that is not what stands there.
static inline const char *take_decimal(const char *p, const char *end, decimal *d)
{
    *d = (decimal){.exact = true};
    if (p < end && (*p == '-' || *p == '+')) d->negative = *p++ == '-';
    d->digits = p;
    int used = 0;
    const char *start = p;
    p = take_digits(p, end, d, &used, 0);
    int64_t count = p - start;
    if (p < end && *p == '.') {
        start = ++p;
        p = take_digits(p, end, d, &used, -1);
        count += p - start;
    }
    if (count == 0) return NULL;
    d->after = p;
    // Fortran programs write 1.0D+00.
    if (p < end && (*p == 'e' || *p == 'E' || *p == 'd' || *p == 'D')) {
        p = take_exponent(p + 1, end, &d->written);
        if (!p) return NULL;
        d->exponent += d->written;
    }
    return p;
}

// The rare cases go to strtod, which rounds correctly. Its text is written without a decimal
// point, so no locale can change its meaning. A double is decided by its first 767 significant
// digits and by whether anything but zeros follows: this is what KEPT digits and a last 1 tell.
static double convert_hard(const decimal *d)
{
    enum { KEPT = 780 };
    char text[KEPT + 32];
    int length = 0;
    bool sticky = false, after_point = false;
    int64_t exponent = d->written;
    for (const char *p = d->digits; p < d->after; ++p) {
        if (*p == '.') {
            after_point = true;
            continue;
        }
        exponent -= after_point;
        if (length == 0 && *p == '0') continue;
        if (length < KEPT) {
            text[length++] = *p;
        } else {
            sticky = sticky || *p != '0';
            ++exponent;
        }
    }
    if (sticky) {
        text[length++] = '1';
        --exponent;
    }
    if (exponent > 100000) exponent = 100000;
    if (exponent < -100000) exponent = -100000;
    snprintf(text + length, sizeof text - (size_t)length, "e%d", (int)exponent);
    return strtod(text, NULL);
}

// 10^k is exact in a double up to k = 22, an integer up to 2⁵³: then one multiplication or
// division rounds once and the result is the nearest double.
static inline double convert(const decimal *d)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double magnitude;
    if (d->exact && d->mantissa == 0) {
        magnitude = 0;
    } else if (d->exact && d->mantissa <= (UINT64_C(1) << 53) && d->exponent >= -22 &&
               d->exponent <= 22) {
        magnitude = d->exponent < 0 ? (double)d->mantissa / powers[-d->exponent]
                                    : (double)d->mantissa * powers[d->exponent];
    } else {
        magnitude = convert_hard(d);
    }
    return d->negative ? -magnitude : magnitude;
}

hk_status hk_scan_real(hk_scan *scan, const char *what, double *value)
{
    if (!skip_separators(scan, true)) return fail_at_end(scan, what);
    decimal d;
    const char *after = take_decimal(scan->at, scan->end, &d);
    if (!after || !ends_token(scan, after)) return fail_at_token(scan, what, ", a finite number");
    double result = convert(&d);
    if (!isfinite(result)) return fail_at_token(scan, what, ", a number below 1.8e308");
    *value = result;
    scan->at = after;
    return HK_OK;
}

hk_status hk_scan_int(hk_scan *scan, const char *what, int64_t *value)
{
    if (!skip_separators(scan, true)) return fail_at_end(scan, what);
    const char *p = scan->at, *end = scan->end;
    bool negative = *p == '-';
    if (*p == '-' || *p == '+') ++p;
    const char *digits = p;
    int64_t result = 0;
    bool fits = true;
    for (; p < end && is_digit(*p); ++p) {
        int digit = *p - '0';
        fits = fits && !__builtin_mul_overflow(result, 10, &result) &&
               !__builtin_add_overflow(result, negative ? -digit : digit, &result);
    }
    if (p == digits || !ends_token(scan, p)) return fail_at_token(scan, what, ", an integer");
    if (!fits) return fail_at_token(scan, what, ", an integer of at most 64 bits");
    *value = result;
    scan->at = p;
    return HK_OK;
}

hk_status hk_scan_count(hk_scan *scan, const char *what, size_t least_bytes_each, int *value)
{
    int64_t count;
    HK_TRY(hk_scan_int(scan, what, &count));
    if (count < 0)
        return hk_scan_fail(scan, "%s is %lld: it must not be negative", what, (long long)count);
    // One more byte, as the last line may lack its newline.
    size_t left = (size_t)(scan->end - scan->at) + 1;
    if (least_bytes_each > 0 && (uint64_t)count > left / least_bytes_each)
        return hk_scan_fail(scan, "%s is %lld, but the rest of the file has room for %zu at most",
                            what, (long long)count, left / least_bytes_each);
    if (count > INT_MAX)
        return hk_scan_fail(scan, "%s is %lld: more than %d is not supported", what,
                            (long long)count, INT_MAX);
    *value = (int)count;
    return HK_OK;
}
