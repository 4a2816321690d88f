// The values of `hooke sweep`: ranges and lists, of numbers, words and arrays, and their grid.
#include "sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COMPONENTS = 16 };

static void add_value(sweep_axis *axis, char *text)
{
    char *end;
    double number = strtod(text, &end);
    bool good = end != text && *end == '\0' && isfinite(number);
    size_t count = (size_t)axis->count + 1;
    axis->numeric &= good;
    axis->texts = cli_realloc(axis->texts, count, sizeof *axis->texts);
    axis->values = cli_realloc(axis->values, count, sizeof *axis->values);
    axis->texts[axis->count] = text;
    axis->values[axis->count++] = good ? number : NAN;
}

static int wrong_values(const char *values)
{
    return cli_usage_error("sweep",
                           "'--vary …=%s': expected FROM:TO:COUNT, FROM:TO:COUNT:log with both "
                           "ends of one sign, or values separated by commas; FROM, TO and values "
                           "may be arrays, [x,y,z]",
                           values);
}

// The length of the text up to the first of these marks that is in no brackets and no quotes.
static size_t span(const char *text, const char *marks)
{
    int depth = 0;
    bool quoted = false;
    size_t i = 0;
    for (; text[i]; ++i) {
        char c = text[i];
        if (quoted && c == '\\' && text[i + 1]) {
            ++i;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted) {
            if (depth == 0 && strchr(marks, c)) break;
            depth += (c == '[' || c == '{') - (c == ']' || c == '}');
        }
    }
    return i;
}

// ---------------------------------------------------------------- ranges

typedef struct ends {
    double from[MOST_COMPONENTS], to[MOST_COMPONENTS];
    int count;   // of numbers in each
    bool array;  // in brackets
} ends;

// A number, or numbers in brackets; 0: neither.
static int read_numbers(const char *text, size_t length, bool *array, double *numbers)
{
    *array = length >= 2 && text[0] == '[' && text[length - 1] == ']';
    const char *at = text + *array, *stop = text + length - *array;
    for (int count = 0; count < MOST_COMPONENTS && at < stop;) {
        char *end;
        numbers[count++] = strtod(at, &end);
        while (end < stop && *end == ' ') ++end;
        if (end == at || end > stop || !isfinite(numbers[count - 1])) return 0;
        if (end == stop) return *array || count == 1 ? count : 0;
        if (*end != ',') return 0;
        at = end + 1;
    }
    return 0;
}

// The shortest text that is this number.
static void put_number(FILE *out, double number)
{
    char text[40];
    for (int digits = 6; digits <= 17; ++digits) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number) break;
    }
    fputs(text, out);
}

static char *between(const ends *e, bool logarithmic, int i, int count)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return cli_realloc(NULL, (size_t)-1, 2);  // says that there is no memory
    double part = i / (count - 1.0);
    if (e->array) fputc('[', out);
    for (int k = 0; k < e->count; ++k) {
        double from = e->from[k], to = e->to[k];
        if (k > 0) fputc(',', out);
        if (i == 0 || i + 1 == count || from == to)
            put_number(out, i == 0 ? from : to);
        else  // ten digits: steps such as 0.1 + 0.2 are meant to be round
            fprintf(out, "%.10g",
                    logarithmic ? from * pow(to / from, part) : from + part * (to - from));
    }
    if (e->array) fputc(']', out);
    if (fclose(out) != 0) return cli_realloc(text, (size_t)-1, 2);
    return text;
}

static int read_range(sweep_axis *axis, const char *values)
{
    ends e;
    bool of_to;
    size_t first = span(values, ":"), second;
    e.count = read_numbers(values, first, &e.array, e.from);
    const char *at = values + first + 1;
    second = span(at, ":");
    if (e.count == 0 || at[second] != ':' || read_numbers(at, second, &of_to, e.to) != e.count ||
        of_to != e.array)
        return wrong_values(values);
    int count, used = 0;
    at += second + 1;
    if (sscanf(at, "%d%n", &count, &used) != 1 || count < 2 || count > SWEEP_MOST_VALUES)
        return wrong_values(values);
    axis->logarithmic = strcmp(at + used, ":log") == 0;
    if (at[used] != '\0' && !axis->logarithmic) return wrong_values(values);
    for (int k = 0; axis->logarithmic && k < e.count; ++k)
        if (!(e.from[k] / e.to[k] > 0) && !(e.array && e.from[k] == e.to[k]))
            return wrong_values(values);
    for (int i = 0; i < count; ++i) add_value(axis, between(&e, axis->logarithmic, i, count));
    return -1;
}

static int read_list(sweep_axis *axis, const char *values)
{
    for (const char *at = values;;) {
        size_t length = span(at, ",");
        if (length == 0) return wrong_values(values);
        add_value(axis, cli_format("%.*s", (int)length, at));
        at += length;
        if (*at++ == '\0') return -1;
    }
}

// ---------------------------------------------------------------- the grid

static int read_axis(const char *vary, sweep_grid *grid)
{
    const char *equals = strchr(vary, '=');
    if (!equals || equals == vary || equals[1] == '\0')
        return cli_usage_error("sweep", "'--vary %s': expected PATH=FROM:TO:COUNT", vary);
    if (grid->axis_count == SWEEP_MOST_AXES)
        return cli_usage_error("sweep", "'--vary %s': %d are the most that can vary at once", vary,
                               SWEEP_MOST_AXES);
    sweep_axis *axis = &grid->axes[grid->axis_count++];
    *axis = (sweep_axis){.path = cli_format("%.*s", (int)(equals - vary), vary), .numeric = true};
    for (int k = 0; k + 1 < grid->axis_count; ++k)
        if (strcmp(grid->axes[k].path, axis->path) == 0)
            return cli_usage_error("sweep", "'%s' is varied twice", axis->path);
    const char *values = equals + 1;
    int result = values[span(values, ":")] ? read_range(axis, values) : read_list(axis, values);
    if (result >= 0) return result;
    if (axis->count > SWEEP_MOST_VALUES / grid->count)
        return cli_usage_error("sweep", "these are more than %d values in all", SWEEP_MOST_VALUES);
    grid->count *= axis->count;
    return -1;
}

int sweep_read_grid(const cli_texts *vary, sweep_grid *grid)
{
    *grid = (sweep_grid){.count = 1};
    if (vary->count == 0)
        return cli_usage_error("sweep", "what is to be varied? --vary PATH=FROM:TO:COUNT");
    int result = -1;
    for (int i = 0; i < vary->count && result < 0; ++i) result = read_axis(vary->items[i], grid);
    return result;
}

void sweep_grid_free(sweep_grid *grid)
{
    for (int k = 0; k < grid->axis_count; ++k) {
        sweep_axis *axis = &grid->axes[k];
        for (int i = 0; i < axis->count; ++i) free(axis->texts[i]);
        free(axis->texts);
        free(axis->values);
        free(axis->path);
    }
    *grid = (sweep_grid){0};
}

int sweep_index(const sweep_grid *grid, int place, int axis)
{
    for (int k = grid->axis_count - 1; k > axis; --k) place /= grid->axes[k].count;
    return place % grid->axes[axis].count;
}

const char *sweep_text(const sweep_grid *grid, int place, int axis)
{
    return grid->axes[axis].texts[sweep_index(grid, place, axis)];
}

char *sweep_place_name(const sweep_grid *grid, int place, int without)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return cli_realloc(NULL, (size_t)-1, 2);
    for (int k = 0, told = 0; k < grid->axis_count; ++k)
        if (k != without)
            fprintf(out, "%s%s = %s", told++ ? ", " : "", grid->axes[k].path,
                    sweep_text(grid, place, k));
    if (fclose(out) != 0) return cli_realloc(text, (size_t)-1, 2);
    return text;
}

int sweep_plotted_axis(const sweep_grid *grid)
{
    for (int k = grid->axis_count - 1; k >= 0; --k)
        if (grid->axes[k].numeric) return k;
    return -1;
}
