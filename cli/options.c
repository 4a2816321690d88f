// Parses a command's arguments by its table of options, and explains that table.
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

void cli_texts_free(cli_texts *texts)
{
    free(texts->items);
    *texts = (cli_texts){0};
}

static void texts_add(cli_texts *texts, const char *text)
{
    texts->items = cli_realloc(texts->items, (size_t)texts->count + 1, sizeof *texts->items);
    texts->items[texts->count++] = text;
}

// ---------------------------------------------------------------- near names

// Levenshtein distance; words longer than the table are far from everything.
static int distance(const char *a, const char *b)
{
    enum { LONGEST = 63 };
    size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST || m > LONGEST) return LONGEST;
    int row[LONGEST + 1];
    for (size_t j = 0; j <= m; ++j) row[j] = (int)j;
    for (size_t i = 1; i <= n; ++i) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; ++j) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[m];
}

const char *cli_nearest(const char *word, const char *const *names, int count)
{
    while (*word == '-') ++word;
    const char *nearest = NULL;
    int best = INT_MAX;
    for (int i = 0; i < count; ++i) {
        // One slip in a short word, more in a long one or where at least the first letter is right.
        int slips = (int)strlen(word) / 3 + (word[0] == names[i][0]);
        int d = distance(word, names[i]);
        if (d < best && d <= (slips > 1 ? slips : 1) && d < (int)strlen(names[i])) {
            best = d;
            nearest = names[i];
        }
    }
    return nearest;
}

// ---------------------------------------------------------------- values

static bool read_real(const char *text, const char **end, double *value)
{
    char *stop;
    *value = strtod(text, &stop);
    *end = stop;
    return stop != text && isfinite(*value);
}

static bool read_numbers(const char *text, bool whole, cli_numbers *numbers)
{
    cli_numbers result = {.count = 0};
    for (const char *at = text;; ++at) {
        double value;
        if (result.count == CLI_MAX_NUMBERS || !read_real(at, &at, &value)) return false;
        if (whole && (value != floor(value) || fabs(value) > INT_MAX)) return false;
        result.values[result.count++] = value;
        if (*at == '\0') break;
        if (*at != ',') return false;
    }
    *numbers = result;
    return true;
}

static bool read_int(const char *text, int *value)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < 0 || number > INT_MAX) return false;
    *value = (int)number;
    return true;
}

// Returns what was expected instead, or NULL when the value was taken.
static const char *take_value(const cli_option *option, const char *value)
{
    switch (option->kind) {
    case CLI_FLAG: *(bool *)option->target = true; return NULL;
    case CLI_TEXT:
        if (value[0] == '\0') return "a name";
        *(const char **)option->target = value;
        return NULL;
    case CLI_TEXTS: texts_add(option->target, value); return NULL;
    case CLI_INT: return read_int(value, option->target) ? NULL : "a whole number, 0 or more";
    case CLI_REAL: {
        const char *end;
        double number;
        if (!read_real(value, &end, &number) || *end != '\0') return "a number";
        *(double *)option->target = number;
        return NULL;
    }
    case CLI_INTS:
        return read_numbers(value, true, option->target) ? NULL
                                                         : "whole numbers separated by commas";
    case CLI_REALS:
        return read_numbers(value, false, option->target) ? NULL : "numbers separated by commas";
    }
    return "nothing";
}

// ---------------------------------------------------------------- parsing

static const cli_option *find_option(const cli_spec *spec, const char *argument, size_t length)
{
    for (int i = 0; i < spec->option_count; ++i) {
        const cli_option *option = &spec->options[i];
        if (strlen(option->name) == length && strncmp(option->name, argument, length) == 0)
            return option;
    }
    return NULL;
}

static int unknown_option(const cli_spec *spec, const char *argument, size_t length)
{
    char word[64];
    if (length >= sizeof word) length = sizeof word - 1;
    memcpy(word, argument, length);
    word[length] = '\0';
    const char *names[32];
    int count = 0;
    for (int i = 0; i < spec->option_count && count < 31; ++i)
        names[count++] = spec->options[i].name;
    names[count++] = "help";
    const char *nearest = cli_nearest(word, names, count);
    if (nearest)
        return cli_usage_error(spec->command, "unknown option '%s'; did you mean '--%s'?", word,
                               nearest);
    return cli_usage_error(spec->command, "unknown option '%s'", word);
}

// Of two values one would be dropped without a word.
static int check_first(const cli_spec *spec, const cli_option *option, uint64_t *seen)
{
    int64_t number = option - spec->options;
    if (option->kind == CLI_FLAG || option->kind == CLI_TEXTS || number >= 64) return -1;
    uint64_t bit = (uint64_t)1 << number;
    if (*seen & bit) return cli_usage_error(spec->command, "'--%s' is there twice", option->name);
    *seen |= bit;
    return -1;
}

// Takes argv[*at] (and the value after it) as an option. `seen`: a bit for each that was there.
// Returns -1 or an exit status.
static int parse_option(const cli_spec *spec, int argc, char **argv, int *at, uint64_t *seen)
{
    const char *argument = argv[*at];
    const cli_option *option = NULL;
    const char *value = NULL;
    size_t length = strcspn(argument, "=");
    if (argument[1] == '-') {
        option = find_option(spec, argument + 2, length - 2);
        if (argument[length] == '=') value = argument + length + 1;
    } else {
        for (int i = 0; i < spec->option_count; ++i)
            if (spec->options[i].letter == argument[1]) option = &spec->options[i];
        if (option && argument[2] != '\0') value = argument + 2 + (argument[2] == '=');
    }
    if (!option) return unknown_option(spec, argument, length);
    int result = check_first(spec, option, seen);
    if (result >= 0) return result;
    if (option->kind == CLI_FLAG) {
        if (value) return cli_usage_error(spec->command, "'--%s' takes no value", option->name);
        value = "";
    } else if (!value) {
        if (*at + 1 >= argc)
            return cli_usage_error(spec->command, "'--%s' needs a value: --%s %s", option->name,
                                   option->name, option->argument);
        value = argv[++*at];
    }
    const char *expected = take_value(option, value);
    if (expected)
        return cli_usage_error(spec->command, "'--%s %s': expected %s", option->name, value,
                               expected);
    return -1;
}

static int check_words(const cli_spec *spec, const cli_texts *words)
{
    if (words->count < spec->least_words) {
        if (words->count == 0)
            return cli_usage_error(spec->command, "expected %s", spec->arguments);
        return cli_usage_error(spec->command, "expected %s, got only '%s'", spec->arguments,
                               words->items[words->count - 1]);
    }
    if (words->count > spec->most_words)
        return cli_usage_error(spec->command, "'%s' is one argument too many; expected %s",
                               words->items[spec->most_words], spec->arguments);
    return -1;
}

int cli_parse(const cli_spec *spec, int argc, char **argv, cli_texts *words)
{
    *words = (cli_texts){0};
    // Errors of the arguments themselves are told as JSON too, wherever --json stands.
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; ++i)
        if (strcmp(argv[i], "--json") == 0 && find_option(spec, "json", 4)) cli_talk.json = true;
    int result = -1;
    uint64_t seen = 0;
    bool options_ended = false;
    for (int i = 1; i < argc && result < 0; ++i) {
        const char *argument = argv[i];
        if (options_ended || argument[0] != '-' || argument[1] == '\0') {
            texts_add(words, argument);
        } else if (strcmp(argument, "--") == 0) {
            options_ended = true;
        } else if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
            cli_print_help(spec);
            result = CLI_DONE;
        } else {
            result = parse_option(spec, argc, argv, &i, &seen);
        }
    }
    if (result < 0) result = check_words(spec, words);
    if (result >= 0) cli_texts_free(words);
    return result;
}

int cli_parse_one(cli_spec spec, int argc, char **argv, const char **word)
{
    cli_texts words;
    spec.least_words = spec.most_words = 1;
    int result = cli_parse(&spec, argc, argv, &words);
    if (result >= 0) return result;
    *word = words.items[0];
    cli_texts_free(&words);
    return -1;
}

void cli_print_help(const cli_spec *spec)
{
    printf("Usage: hooke %s %s%s\n\n%s\n\nOptions:\n", spec->command, spec->arguments,
           spec->option_count > 0 ? " [options]" : "", spec->purpose);
    for (int i = 0; i <= spec->option_count; ++i) {
        static const cli_option help = {"help", 'h', CLI_FLAG, NULL, NULL, "print this"};
        const cli_option *option = i < spec->option_count ? &spec->options[i] : &help;
        char letter[8] = "    ", left[48];
        if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name, option->argument ? " " : "",
                 option->argument ? option->argument : "");
        printf("  %-26s %s\n", left, option->help);
    }
    printf("\nExamples:\n");
    for (const char *at = spec->examples; *at;) {
        size_t length = strcspn(at, "\n");
        printf("  %.*s\n", (int)length, at);
        at += length + (at[length] == '\n');
    }
}
