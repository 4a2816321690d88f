// Runs of numbers in a file, as text or as bytes of a stated type and byte order, read with checks
// that tell where the offender stands. Shared by the VTK formats and PLY.
#ifndef HK_VALUES_H
#define HK_VALUES_H

#include "io/io.h"

typedef enum hk_value_type {
    HK_VALUE_INT8 = 0,
    HK_VALUE_UINT8,
    HK_VALUE_INT16,
    HK_VALUE_UINT16,
    HK_VALUE_INT32,
    HK_VALUE_UINT32,
    HK_VALUE_INT64,
    HK_VALUE_UINT64,
    HK_VALUE_FLOAT32,
    HK_VALUE_FLOAT64,
    HK_VALUE_NONE
} hk_value_type;

size_t hk_value_size(hk_value_type type);  // bytes
// The value at `bytes` (any alignment); `swap` when its byte order is not this machine's.
double hk_value_real(hk_value_type type, bool swap, const void *bytes);
// False if it is not a whole number that fits.
bool hk_value_int(hk_value_type type, bool swap, const void *bytes, int64_t *value);
// Whether data of the stated order must be swapped on this machine.
bool hk_must_swap(bool little_endian);

// Names of types as a format spells them.
typedef struct hk_value_name {
    const char *name;
    hk_value_type type;
} hk_value_name;
// HK_VALUE_NONE if it is not in the table.
hk_value_type hk_value_type_named(const hk_value_name *table, int count, const char *name,
                                  size_t length);

typedef struct hk_values {
    hk_scan *text;  // the numbers are read from here; NULL: from bytes
    const char *name;
    const unsigned char *bytes;
    size_t size;    // bytes there are
    size_t offset;  // of bytes in the file, for messages …
    int line;       // … or, if not 0, the line where their encoded form begins
    hk_value_type type;
    bool swap;
} hk_values;

// Fails unless `count` more numbers can be there: to be asked before memory is taken for them.
hk_status hk_values_room(const hk_values *values, size_t count, const char *what);
// Takes the next `count` numbers. Reals must be finite, integers within low … high.
hk_status hk_values_reals(hk_values *values, size_t count, const char *what, double *out);
hk_status hk_values_ints(hk_values *values, size_t count, const char *what, int64_t low,
                         int64_t high, int64_t *out);
hk_status hk_values_int32s(hk_values *values, size_t count, const char *what, int32_t low,
                           int32_t high, int32_t *out);
// Moves past `count` numbers without looking at them.
hk_status hk_values_skip(hk_values *values, size_t count, const char *what);
// Fails with "name:line: …" or "name: byte N: …" of the next number.
hk_status hk_values_fail(const hk_values *values, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
