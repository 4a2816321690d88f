#include "io/values.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

size_t hk_value_size(hk_value_type type)
{
    static const size_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 0};
    return sizes[type];
}

bool hk_must_swap(bool little_endian)
{
    return little_endian != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
}

hk_value_type hk_value_type_named(const hk_value_name *table, int count, const char *name,
                                  size_t length)
{
    for (int i = 0; i < count; i++)
        if (strlen(table[i].name) == length && memcmp(table[i].name, name, length) == 0)
            return table[i].type;
    return HK_VALUE_NONE;
}

// The bits of a value, in this machine's order.
static uint64_t bits_at(size_t size, bool swap, const void *bytes)
{
    switch (size) {
    case 1: return *(const uint8_t *)bytes;
    case 2: {
        uint16_t bits;
        memcpy(&bits, bytes, sizeof bits);
        return swap ? __builtin_bswap16(bits) : bits;
    }
    case 4: {
        uint32_t bits;
        memcpy(&bits, bytes, sizeof bits);
        return swap ? __builtin_bswap32(bits) : bits;
    }
    default: {
        uint64_t bits;
        memcpy(&bits, bytes, sizeof bits);
        return swap ? __builtin_bswap64(bits) : bits;
    }
    }
}

double hk_value_real(hk_value_type type, bool swap, const void *bytes)
{
    uint64_t bits = bits_at(hk_value_size(type), swap, bytes);
    switch (type) {
    case HK_VALUE_INT8: return (int8_t)bits;
    case HK_VALUE_INT16: return (int16_t)bits;
    case HK_VALUE_INT32: return (int32_t)bits;
    case HK_VALUE_INT64: return (double)(int64_t)bits;
    case HK_VALUE_FLOAT32: {
        float value;
        uint32_t half = (uint32_t)bits;
        memcpy(&value, &half, sizeof value);
        return value;
    }
    case HK_VALUE_FLOAT64: {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    default: return (double)bits;
    }
}

bool hk_value_int(hk_value_type type, bool swap, const void *bytes, int64_t *value)
{
    uint64_t bits = bits_at(hk_value_size(type), swap, bytes);
    switch (type) {
    case HK_VALUE_INT8: *value = (int8_t)bits; return true;
    case HK_VALUE_INT16: *value = (int16_t)bits; return true;
    case HK_VALUE_INT32: *value = (int32_t)bits; return true;
    case HK_VALUE_INT64: *value = (int64_t)bits; return true;
    case HK_VALUE_FLOAT32:
    case HK_VALUE_FLOAT64: {
        double real = hk_value_real(type, swap, bytes);
        if (!(fabs(real) <= 9007199254740992.0) || real != floor(real)) return false;
        *value = (int64_t)real;
        return true;
    }
    default: *value = (int64_t)bits; return bits <= INT64_MAX;
    }
}

hk_status hk_values_fail(const hk_values *values, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (values->text) return hk_scan_fail(values->text, "%s", message);
    if (values->line)
        return hk_fail(HK_BAD_INPUT, "%s:%d: %s", values->name, values->line, message);
    return hk_fail(HK_BAD_INPUT, "%s: byte %zu: %s", values->name, values->offset, message);
}

// Where a line holds many encoded numbers, which of them it is; else the place says enough.
typedef struct ordinal {
    char text[40];
} ordinal;

static ordinal ordinal_of(const hk_values *values, size_t number)
{
    ordinal which = {""};
    if (!values->text && values->line)
        snprintf(which.text, sizeof which.text, " as number %zu", number);
    return which;
}

hk_status hk_values_room(const hk_values *values, size_t count, const char *what)
{
    if (values->text) {
        // A number needs a digit and something after it, except the last.
        size_t left = (size_t)(values->text->end - values->text->at);
        if (count <= left / 2 + 1) return HK_OK;
        return hk_values_fail(values, "expected %zu numbers (%s), but only %zu bytes are left",
                              count, what, left);
    }
    if (count <= values->size / hk_value_size(values->type)) return HK_OK;
    return hk_values_fail(values,
                          "expected %zu numbers of %zu bytes (%s), but only %zu bytes are "
                          "there",
                          count, hk_value_size(values->type), what, values->size);
}

static void advance(hk_values *values, size_t bytes)
{
    values->bytes += bytes;
    values->size -= bytes;
    values->offset += bytes;
}

hk_status hk_values_skip(hk_values *values, size_t count, const char *what)
{
    HK_TRY(hk_values_room(values, count, what));
    if (!values->text) {
        advance(values, count * hk_value_size(values->type));
        return HK_OK;
    }
    for (size_t i = 0; i < count; i++) {
        const char *word;
        size_t length;
        HK_TRY(hk_scan_word(values->text, what, &word, &length));
    }
    return HK_OK;
}

hk_status hk_values_reals(hk_values *values, size_t count, const char *what, double *out)
{
    if (values->text) {
        for (size_t i = 0; i < count; i++) HK_TRY(hk_scan_real(values->text, what, &out[i]));
        return HK_OK;
    }
    HK_TRY(hk_values_room(values, count, what));
    size_t each = hk_value_size(values->type);
    for (size_t i = 0; i < count; i++, advance(values, each)) {
        out[i] = hk_value_real(values->type, values->swap, values->bytes);
        if (!isfinite(out[i]))
            return hk_values_fail(values, "expected a finite number (%s), found %s%s", what,
                                  isnan(out[i]) ? "NaN" : "infinity", ordinal_of(values, i).text);
    }
    return HK_OK;
}

static hk_status take_int(hk_values *values, const char *what, size_t number, int64_t low,
                          int64_t high, int64_t *value)
{
    if (values->text) {
        HK_TRY(hk_scan_int(values->text, what, value));
    } else if (!hk_value_int(values->type, values->swap, values->bytes, value)) {
        return hk_values_fail(values, "expected a whole number (%s), found %g%s", what,
                              hk_value_real(values->type, values->swap, values->bytes),
                              ordinal_of(values, number).text);
    }
    if (*value >= low && *value <= high) return HK_OK;
    if (high < low)
        return hk_values_fail(values, "%s: found %" PRId64 ", but there is nothing to refer to",
                              what, *value);
    return hk_values_fail(values, "%s: expected %" PRId64 " to %" PRId64 ", found %" PRId64 "%s",
                          what, low, high, *value, ordinal_of(values, number).text);
}

hk_status hk_values_ints(hk_values *values, size_t count, const char *what, int64_t low,
                         int64_t high, int64_t *out)
{
    HK_TRY(hk_values_room(values, count, what));
    size_t each = values->text ? 0 : hk_value_size(values->type);
    for (size_t i = 0; i < count; i++) {
        HK_TRY(take_int(values, what, i, low, high, &out[i]));
        if (each) advance(values, each);
    }
    return HK_OK;
}

hk_status hk_values_int32s(hk_values *values, size_t count, const char *what, int32_t low,
                           int32_t high, int32_t *out)
{
    HK_TRY(hk_values_room(values, count, what));
    size_t each = values->text ? 0 : hk_value_size(values->type);
    for (size_t i = 0; i < count; i++) {
        int64_t value;
        HK_TRY(take_int(values, what, i, low, high, &value));
        out[i] = (int32_t)value;
        if (each) advance(values, each);
    }
    return HK_OK;
}
