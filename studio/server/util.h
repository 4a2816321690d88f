// Memory, text and time for the server of the studio.
#ifndef STUDIO_UTIL_H
#define STUDIO_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "hooke/hooke.h"

// These end the program with a message when there is no memory; sizes that clients choose are
// limited before.
void *st_alloc(size_t count, size_t size);  // zeros
void *st_realloc(void *block, size_t count, size_t size);
char *st_copy(const char *text);  // NULL of NULL
char *st_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

// A message for people, of what went wrong.
typedef struct st_why {
    char text[1024];
    int line, column;  // of a scene's text, from 1; 0: of nothing there
    int status;        // of HTTP; 0: 400
} st_why;
bool st_fail(st_why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool st_fail_http(st_why *why, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// With the message of the library (hk_error), and the place in the text that it begins with.
bool st_fail_library(st_why *why);

double st_now(void);  // ms of a steady clock since the program began
// null for what JSON cannot hold, '?' for what is not UTF-8.
json_t *st_json_real(double value);
json_t *st_json_text(const char *text);
json_t *st_json_vector(const double *values, int count);
// Numbers of an array of exactly so many; false where it is none, or one is not finite.
bool st_read_vector(const json_t *array, double *values, int count);
double st_read_real(const json_t *object, const char *key, double fallback);
const char *st_read_text(const json_t *object, const char *key);  // NULL: there is none

#endif
