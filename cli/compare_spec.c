// Methods and their options as the command line writes them.
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

// ---------------------------------------------------------------- lists for messages

static void append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

void compare_list_words(const hk_option_info *info, char *text, size_t size)
{
    text[0] = '\0';
    for (int i = 0; info->words && info->words[i]; ++i)
        append(text, size, "%s%s", i > 0 ? ", " : "", info->words[i]);
}

static void list_methods(char *text, size_t size)
{
    text[0] = '\0';
    for (int i = 0; i < hk_method_count(); ++i)
        append(text, size, "%s%s", i > 0 ? ", " : "", hk_method_name(i));
}

static void list_options(int method, char *text, size_t size)
{
    snprintf(text, size, "iterations, tolerance");
    for (int i = 0; i < hk_method_option_count(method); ++i)
        append(text, size, ", %s", hk_method_option(method, i)->name);
}

// "start: auto, position; initial: laplacian, …"
static void list_all_words(int method, char *text, size_t size)
{
    text[0] = '\0';
    for (int i = 0; i < hk_method_option_count(method); ++i) {
        const hk_option_info *info = hk_method_option(method, i);
        if (!info->words) continue;
        char words[256];
        compare_list_words(info, words, sizeof words);
        append(text, size, "%s%s: %s", text[0] ? "; " : "", info->name, words);
    }
}

// ---------------------------------------------------------------- finding

int compare_find_method(const char *name)
{
    for (int i = 0; i < hk_method_count(); ++i)
        if (strcmp(hk_method_name(i), name) == 0) return i;
    return -1;
}

const hk_option_info *compare_find_option(int method, const char *name)
{
    for (int i = 0; i < hk_method_option_count(method); ++i) {
        const hk_option_info *info = hk_method_option(method, i);
        if (strcmp(info->name, name) == 0) return info;
    }
    return NULL;
}

// The library's own copy of the word, or NULL.
static const char *find_word(const hk_option_info *info, const char *word)
{
    for (int i = 0; info->words && info->words[i]; ++i)
        if (strcmp(info->words[i], word) == 0) return info->words[i];
    return NULL;
}

// ---------------------------------------------------------------- one part of a spec

typedef struct reader {
    compare_spec *spec;
    char *why;
    size_t why_size;
} reader;

static bool complain(reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool complain(reader *r, const char *format, ...)
{
    snprintf(r->why, r->why_size, "method '%s': ", r->spec->label);
    size_t used = strlen(r->why);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->why + used, r->why_size - used, format, arguments);
    va_end(arguments);
    return false;
}

static bool add_option(reader *r, hk_option option)
{
    compare_spec *spec = r->spec;
    for (int i = 0; i < spec->option_count; ++i)
        if (strcmp(spec->options[i].name, option.name) == 0)
            return complain(r, "%s is given twice", option.name);
    spec->options =
        cli_realloc(spec->options, (size_t)spec->option_count + 1, sizeof *spec->options);
    spec->options[spec->option_count++] = option;
    return true;
}

static bool read_name(reader *r, const char *name)
{
    r->spec->method = compare_find_method(name);
    if (r->spec->method >= 0) return true;
    char known[512];
    list_methods(known, sizeof known);
    if (name[0] == '\0') return complain(r, "a name is missing; there are %s", known);
    const char **names = cli_realloc(NULL, (size_t)hk_method_count(), sizeof *names);
    for (int i = 0; i < hk_method_count(); ++i) names[i] = hk_method_name(i);
    const char *nearest = cli_nearest(name, names, hk_method_count());
    free(names);
    if (nearest)
        return complain(r, "no method '%s'; did you mean '%s'? There are %s", name, nearest, known);
    return complain(r, "no method '%s'; there are %s", name, known);
}

static bool read_word(reader *r, const char *word)
{
    int method = r->spec->method;
    const hk_option_info *found = NULL;
    char owners[256] = "", known[1024];
    int count = 0;
    for (int i = 0; i < hk_method_option_count(method); ++i) {
        const hk_option_info *info = hk_method_option(method, i);
        if (!find_word(info, word)) continue;
        append(owners, sizeof owners, "%s:%s=%s", count > 0 ? " or " : "", info->name, word);
        found = info;
        ++count;
    }
    if (count == 1)
        return add_option(r, (hk_option){.name = found->name, .text = find_word(found, word)});
    if (count > 1)
        return complain(r, "'+%s' is a word of %d options; write %s", word, count, owners);
    list_all_words(method, known, sizeof known);
    if (known[0] == '\0')
        return complain(r, "'+%s': %s takes no words", word, hk_method_name(method));
    return complain(r, "no option of %s has the word '%s'; there are %s", hk_method_name(method),
                    word, known);
}

static bool read_number(const char *text, double *number)
{
    // strtod would pass over spaces.
    if (text[0] == '\0' || strchr(" \t\n\v\f\r", text[0])) return false;
    char *end;
    *number = strtod(text, &end);
    return *end == '\0' && isfinite(*number);
}

static bool read_common(reader *r, bool of_iterations, const char *value)
{
    compare_spec *spec = r->spec;
    double number;
    if (of_iterations ? spec->iterations != 0 : spec->tolerance != 0)
        return complain(r, "%s is given twice", of_iterations ? "iterations" : "tolerance");
    bool read = read_number(value, &number);
    if (of_iterations) {
        if (!read || number != floor(number) || number < 1 || number > INT_MAX)
            return complain(r, "iterations=%s: expected a whole number from 1", value);
        spec->iterations = (int)number;
        return true;
    }
    if (!read || !(number > 0 && number < 1))
        return complain(r, "tolerance=%s: expected a number between 0 and 1", value);
    spec->tolerance = number;
    return true;
}

static bool read_pair(reader *r, char *pair)
{
    char known[1024];
    int method = r->spec->method;
    char *value = strchr(pair, '=');
    if (!value) return complain(r, "':%s': expected key=value", pair);
    *value++ = '\0';
    bool of_iterations = strcmp(pair, "iterations") == 0;
    if (of_iterations || strcmp(pair, "tolerance") == 0)
        return read_common(r, of_iterations, value);
    const hk_option_info *info = compare_find_option(method, pair);
    if (!info) {
        list_options(method, known, sizeof known);
        return complain(r, "%s has no option '%s'; it has %s", hk_method_name(method), pair, known);
    }
    hk_option option = {.name = info->name};
    if (info->words) {
        option.text = find_word(info, value);
        compare_list_words(info, known, sizeof known);
        if (!option.text) return complain(r, "%s=%s: expected one of %s", pair, value, known);
    } else if (!read_number(value, &option.number)) {
        return complain(r, "%s=%s: expected a number", pair, value);
    } else if (!(option.number >= info->minimum && option.number <= info->maximum)) {
        return complain(r, "%s=%s: expected a number from %g to %g", pair, value, info->minimum,
                        info->maximum);
    }
    return add_option(r, option);
}

// ---------------------------------------------------------------- specs

bool compare_read_spec(const char *text, size_t length, compare_spec *spec, char *why,
                       size_t why_size)
{
    // What stands before a '=' that precedes all options is a label.
    size_t name = strcspn(text, "=+:,");
    bool labelled = name < length && text[name] == '=';
    *spec = (compare_spec){.label = cli_format("%.*s", (int)(labelled ? name : length), text)};
    reader r = {spec, why, why_size};
    if (labelled && (name == 0 || strchr(spec->label, '"'))) {
        complain(&r, name == 0 ? "a label is missing before '='" : "a label holds no quotes");
        compare_spec_free(spec);
        return false;
    }
    if (labelled) text += name + 1, length -= name + 1;
    char *parts = cli_format("%.*s", (int)length, text);
    // A '+' begins a word only before the first '=' of its part: 1e+3 is a number.
    char *at = parts + strcspn(parts, "+:"), mark = *at;
    *at = '\0';
    bool good = read_name(&r, parts);
    while (good && mark != '\0') {
        char *part = at + 1;
        bool word = mark == '+';
        at = part + strcspn(part, word ? "+:" : ":");
        mark = *at;
        *at = '\0';
        good = word ? read_word(&r, part) : read_pair(&r, part);
    }
    free(parts);
    if (!good) compare_spec_free(spec);
    return good;
}

bool compare_read_specs(const char *text, compare_spec **specs, int *count, char *why,
                        size_t why_size)
{
    for (const char *at = text;;) {
        size_t length = strcspn(at, ",");
        compare_spec spec;
        if (!compare_read_spec(at, length, &spec, why, why_size)) return false;
        for (int i = 0; i < *count; ++i)
            if (strcmp((*specs)[i].label, spec.label) == 0) {
                snprintf(why, why_size, "method '%s' is listed twice", spec.label);
                compare_spec_free(&spec);
                return false;
            }
        *specs = cli_realloc(*specs, (size_t)*count + 1, sizeof **specs);
        (*specs)[(*count)++] = spec;
        at += length;
        if (*at++ == '\0') return true;
    }
}

void compare_spec_free(compare_spec *spec)
{
    free(spec->label);
    free(spec->options);
    *spec = (compare_spec){0};
}
