#include "core/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define HK_STRINGIFY_(x) #x
#define HK_STRINGIFY(x)  HK_STRINGIFY_(x)

const char *hk_version(void)
{
    return HK_STRINGIFY(HK_VERSION_MAJOR) "." HK_STRINGIFY(HK_VERSION_MINOR) "." HK_STRINGIFY(
        HK_VERSION_PATCH);
}

// ---------------------------------------------------------------- errors

enum { HK_MESSAGE_SIZE = 1024 };
static _Thread_local char g_message[HK_MESSAGE_SIZE];

const char *hk_error(void)
{
    return g_message;
}

const char *hk_status_name(hk_status status)
{
    switch (status) {
    case HK_OK: return "ok";
    case HK_BAD_INPUT: return "bad input";
    case HK_IO_ERROR: return "file error";
    case HK_NO_MEMORY: return "out of memory";
    case HK_UNSUPPORTED: return "unsupported";
    case HK_INTERNAL: return "internal error";
    }
    return "unknown status";
}

hk_status hk_fail(hk_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(g_message, sizeof g_message, format, arguments);
    va_end(arguments);
    return status;
}

hk_status hk_fail_within(hk_status status, const char *format, ...)
{
    char inner[HK_MESSAGE_SIZE];
    memcpy(inner, g_message, sizeof inner);
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(g_message, sizeof g_message, format, arguments);
    va_end(arguments);
    if (used >= 0 && used < HK_MESSAGE_SIZE)
        snprintf(g_message + used, sizeof g_message - (size_t)used, ": %s", inner);
    return status;
}

hk_status hk_no_memory(void)
{
    return hk_fail(HK_NO_MEMORY, "out of memory");
}

// ---------------------------------------------------------------- memory

static void *default_alloc(void *context, size_t size, size_t alignment)
{
    (void)context;
    // aligned_alloc wants a size that is a multiple of the alignment.
    size_t rounded = (size + alignment - 1) & ~(alignment - 1);
    return rounded < size ? NULL : aligned_alloc(alignment, rounded);
}

static void default_release(void *context, void *block)
{
    (void)context;
    free(block);
}

static hk_allocator g_allocator = {default_alloc, default_release, NULL};

void hk_set_allocator(const hk_allocator *allocator)
{
    static const hk_allocator standard = {default_alloc, default_release, NULL};
    bool whole = allocator && allocator->alloc && allocator->release;
    g_allocator = whole ? *allocator : standard;
}

void *hk_alloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        hk_no_memory();
        return NULL;
    }
    void *block = g_allocator.alloc(g_allocator.context, bytes ? bytes : 1, HK_ALIGNMENT);
    if (!block) hk_fail(HK_NO_MEMORY, "out of memory (%zu bytes asked for)", bytes);
    return block;
}

void *hk_calloc(size_t count, size_t size)
{
    void *block = hk_alloc(count, size);
    if (block) memset(block, 0, count * size);
    return block;
}

void hk_free(void *block)
{
    if (block) g_allocator.release(g_allocator.context, block);
}

hk_status hk_reserve(void **array, size_t count, size_t size, size_t *capacity, size_t needed)
{
    if (needed <= *capacity) return HK_OK;
    size_t grown = *capacity + *capacity / 2 + 16;
    if (grown < needed) grown = needed;
    void *bigger = hk_alloc(grown, size);
    if (!bigger) return HK_NO_MEMORY;
    if (count) memcpy(bigger, *array, count * size);
    hk_free(*array);
    *array = bigger;
    *capacity = grown;
    return HK_OK;
}

char *hk_strndup(const char *text, size_t length)
{
    char *copy = HK_ARRAY(char, length + 1);
    if (!copy) return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *hk_strdup(const char *text)
{
    return hk_strndup(text, strlen(text));
}

// ---------------------------------------------------------------- messages, time

static hk_log_fn *g_log;
static void *g_log_context;

void hk_set_log(hk_log_fn *fn, void *context)
{
    g_log = fn;
    g_log_context = context;
}

static _Thread_local hk_log_fn *g_diverted;
static _Thread_local void *g_diverted_context;

void hk_log_divert(hk_log_fn *fn, void *context)
{
    g_diverted = fn;
    g_diverted_context = context;
}

void hk_log(hk_log_level level, const char *format, ...)
{
    hk_log_fn *log = g_diverted ? g_diverted : g_log;
    if (!log) return;
    char message[HK_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    log(g_diverted ? g_diverted_context : g_log_context, level, message);
}

double hk_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
