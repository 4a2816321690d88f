// The files of a series, named by a ParaView collection or one by one.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static void add_file(cli_series *series, char *path, double time)
{
    series->items = cli_realloc(series->items, (size_t)series->count + 1, sizeof *series->items);
    series->items[series->count++] = (cli_series_file){path, time};
}

void cli_series_free(cli_series *series)
{
    for (int i = 0; i < series->count; ++i) free(series->items[i].path);
    free(series->items);
    *series = (cli_series){0};
}

// The whole file as text, NULL with errno set when it cannot be read.
static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    char *text = NULL;
    size_t size = 0, n;
    do {
        text = cli_realloc(text, size + 65536 + 1, 1);
        n = fread(text + size, 1, 65536, file);
        size += n;
    } while (n > 0);
    text[size] = '\0';
    bool good = !ferror(file);
    fclose(file);
    if (good) return text;
    free(text);
    errno = EIO;
    return NULL;
}

// The value of an attribute within a tag that ends at `end`, with its entities resolved; NULL when
// it is not there. To be freed.
static char *attribute(const char *tag, const char *end, const char *name)
{
    static const char *const entities[][2] = {
        {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}};
    size_t length = strlen(name);
    for (const char *at = tag; at + length + 2 < end; ++at) {
        if (strncmp(at, name, length) != 0 || at[length] != '=' || !strchr(" \t\r\n", at[-1]))
            continue;
        char quote = at[length + 1];
        const char *value = at + length + 2, *stop = memchr(value, quote, (size_t)(end - value));
        if ((quote != '"' && quote != '\'') || !stop) return NULL;
        char *text = cli_realloc(NULL, (size_t)(stop - value) + 1, 1), *to = text;
        while (value < stop) {
            size_t i = 0, count = sizeof entities / sizeof entities[0];
            while (i < count && strncmp(value, entities[i][0], strlen(entities[i][0])) != 0) ++i;
            *to++ = i < count ? entities[i][1][0] : *value;
            value += i < count ? strlen(entities[i][0]) : 1;
        }
        *to = '\0';
        return text;
    }
    return NULL;
}

// The <DataSet timestep="…" file="…"/> lines of a ParaView collection.
static int read_collection(cli_series *series, const char *path)
{
    char *text = read_text(path);
    if (!text) return cli_failure("cannot read %s: %s", path, strerror(errno));
    int before = series->count;
    char *folder = cli_format("%.*s", (int)(cli_file_name(path) - path), path);
    for (const char *at = text; (at = strstr(at, "<DataSet")) != NULL;) {
        const char *tag = at + strlen("<DataSet"), *end = strchr(tag, '>');
        if (!end) break;
        char *file = attribute(tag + 1, end, "file"), *time = attribute(tag + 1, end, "timestep");
        if (file) {
            char *whole = cli_format("%s%s", file[0] == '/' ? "" : folder, file);
            add_file(series, whole, time ? strtod(time, NULL) : NAN);
        }
        free(file);
        free(time);
        at = end;
    }
    free(folder);
    free(text);
    if (series->count == before)
        return cli_failure("%s names no files: is it a .pvd series?", path);
    return -1;
}

int cli_series_count(const char *path)
{
    char *text = read_text(path);
    int count = 0;
    for (const char *at = text; at && (at = strstr(at, "<DataSet")) != NULL; ++at) ++count;
    free(text);
    return count;
}

int cli_series_read(cli_series *series, const cli_texts *paths)
{
    int result = -1;
    for (int i = 0; i < paths->count && result < 0; ++i) {
        if (cli_ends_with(paths->items[i], ".pvd"))
            result = read_collection(series, paths->items[i]);
        else
            add_file(series, cli_format("%s", paths->items[i]), NAN);
    }
    return result;
}
