// Memory, errors and messages: what every room of the library stands on.
#ifndef HK_BASE_H
#define HK_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "hooke/hooke.h"

// Every array is aligned for the widest lanes.
enum { HK_ALIGNMENT = 64 };

// Memory from the user's allocator. Zero bytes give a valid block. hk_alloc leaves the block as it
// is, hk_calloc clears it; both check count * size for overflow and set the error on failure.
void *hk_alloc(size_t count, size_t size);
void *hk_calloc(size_t count, size_t size);
void hk_free(void *block);  // NULL is fine
// Grows `*array` (count elements of `size` bytes, room for *capacity) to hold `needed`. On failure
// the old array stays valid.
hk_status hk_reserve(void **array, size_t count, size_t size, size_t *capacity, size_t needed);
char *hk_strdup(const char *text);
char *hk_strndup(const char *text, size_t length);

#define HK_NEW(type)          ((type *)hk_calloc(1, sizeof(type)))
#define HK_ARRAY(type, count) ((type *)hk_alloc((size_t)(count), sizeof(type)))
#define HK_ZEROS(type, count) ((type *)hk_calloc((size_t)(count), sizeof(type)))

// Records the message of this thread and returns the status, so that one can
// `return hk_fail(HK_BAD_INPUT, "%s:%d: …", file, line);`
hk_status hk_fail(hk_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Puts "prefix: " before the recorded message; returns status.
hk_status hk_fail_within(hk_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
hk_status hk_no_memory(void);

#define HK_TRY(call)                                        \
    do {                                                    \
        hk_status hk_try_status_ = (call);                  \
        if (hk_try_status_ != HK_OK) return hk_try_status_; \
    } while (0)

void hk_log(hk_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Messages of this thread go to `fn` from now on; NULL: to the users'. For threads that are not the
// users', from which their hook must not be called.
void hk_log_divert(hk_log_fn *fn, void *context);

// Seconds of a steady clock.
double hk_now(void);

#define HK_COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

static inline int64_t hk_min_int64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int hk_min_int(int a, int b)
{
    return a < b ? a : b;
}
static inline int hk_max_int(int a, int b)
{
    return a > b ? a : b;
}

#endif
