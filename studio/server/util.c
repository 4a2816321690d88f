#include "util.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hooke/hooke.h"

static void need(const void *block)
{
    if (block) return;
    fprintf(stderr, "hooke: error: out of memory\n");
    exit(1);
}

void *st_alloc(size_t count, size_t size)
{
    void *block = calloc(count ? count : 1, size ? size : 1);
    need(block);
    return block;
}

void *st_realloc(void *block, size_t count, size_t size)
{
    block = count > SIZE_MAX / (size ? size : 1) ? NULL : realloc(block, count ? count * size : 1);
    need(block);
    return block;
}

char *st_copy(const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    if (text) need(copy);
    return copy;
}

char *st_format(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) text = NULL;
    va_end(arguments);
    need(text);
    return text;
}

// ---------------------------------------------------------------- what went wrong

bool st_fail(st_why *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    *why = (st_why){.line = 0};
    vsnprintf(why->text, sizeof why->text, format, arguments);
    va_end(arguments);
    return false;
}

bool st_fail_http(st_why *why, int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    *why = (st_why){.status = status};
    vsnprintf(why->text, sizeof why->text, format, arguments);
    va_end(arguments);
    return false;
}

// "scene:12:5: bodies[0]: …": the place goes into numbers of its own.
bool st_fail_library(st_why *why)
{
    st_fail(why, "%s", hk_error());
    int line, column, length = 0;
    const char *colon = strchr(why->text, ':');
    if (!colon || sscanf(colon, ":%d:%d:%n", &line, &column, &length) != 2 || length == 0)
        return false;
    why->line = line;
    why->column = column;
    return false;
}

// ---------------------------------------------------------------- time, JSON

double st_now(void)
{
    static struct timespec start;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    if (start.tv_sec == 0) start = t;
    return 1e3 * (double)(t.tv_sec - start.tv_sec) + 1e-6 * (double)(t.tv_nsec - start.tv_nsec);
}

json_t *st_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *st_json_text(const char *text)
{
    json_t *string = json_string(text);
    if (string) return string;
    char *plain = st_copy(text);
    for (char *c = plain; *c; ++c)
        if ((unsigned char)*c >= 0x80) *c = '?';
    string = json_string(plain);
    free(plain);
    return string;
}

json_t *st_json_vector(const double *values, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count; ++i) json_array_append_new(array, st_json_real(values[i]));
    return array;
}

bool st_read_vector(const json_t *array, double *values, int count)
{
    if (!json_is_array(array) || json_array_size(array) != (size_t)count) return false;
    double read[16];
    for (int i = 0; i < count; ++i) {
        const json_t *item = json_array_get(array, (size_t)i);
        read[i] = json_number_value(item);
        if (!json_is_number(item) || !isfinite(read[i])) return false;
    }
    memcpy(values, read, sizeof *values * (size_t)count);
    return true;
}

double st_read_real(const json_t *object, const char *key, double fallback)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : fallback;
}

const char *st_read_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}
