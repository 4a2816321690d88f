// Milliseconds to a relative residual against tets, from files with what bench_residual printed:
// one line for each file and method. Writes DIR/residual.svg.
//
//   bench_residual_plot [--asked 1e-3] [--out out] [LABEL=FILE…]
//
// Without files it draws those of bench/results, which docs/performance.md shows.
// Rows in which a step did not converge are left out: they are no time to that residual.
#include <math.h>

#include "bench.h"
#include "plot.h"

enum { MOST_LINES = 16, MOST_POINTS = 32, COLUMNS = 13, LONGEST = 256 };

typedef struct line {
    char label[128], method[40];
    double tets[MOST_POINTS], ms[MOST_POINTS];
    int count;
} line;

typedef struct drawing {
    line lines[MOST_LINES];
    int count;
    double asked;
} drawing;

static void refuse(const char *what, const char *where)
{
    fprintf(stderr, "bench_residual_plot: %s%s\n", what, where);
    exit(2);
}

static line *line_for(drawing *d, int first, const char *label, const char *method)
{
    for (int k = first; k < d->count; k++)
        if (strcmp(d->lines[k].method, method) == 0) return &d->lines[k];
    if (d->count == MOST_LINES) refuse("too many lines to draw", "");
    line *l = &d->lines[d->count++];
    snprintf(l->method, sizeof l->method, "%s", method);
    snprintf(l->label, sizeof l->label, "%s: %s", label, method);
    return l;
}

// tets, method, asked, ms, most, iterations, most, residual, converged "of" steps, height, setup; a
// column that is not known is "-".
static void take_row(drawing *d, int first, const char *label, char *text)
{
    char *word[COLUMNS];
    int count = 0;
    for (char *at = strtok(text, " \n"); at && count < COLUMNS; at = strtok(NULL, " \n"))
        word[count++] = at;
    if (count < COLUMNS || strcmp(word[9], "of") != 0) return;
    if (fabs(atof(word[2]) / d->asked - 1) > 1e-6) return;
    if (strcmp(word[8], "-") != 0 && strcmp(word[8], word[10]) != 0) return;
    line *l = line_for(d, first, label, word[1]);
    if (l->count == MOST_POINTS) refuse("too many rows: ", label);
    l->tets[l->count] = atof(word[0]);
    l->ms[l->count++] = atof(word[3]);
}

static void take_file(drawing *d, char *argument)
{
    char *equals = strchr(argument, '='), text[LONGEST];
    if (!equals) refuse("this is no LABEL=FILE: ", argument);
    *equals = '\0';
    FILE *file = fopen(equals + 1, "r");
    if (!file) refuse("cannot open ", equals + 1);
    int first = d->count;
    while (fgets(text, sizeof text, file)) take_row(d, first, argument, text);
    fclose(file);
    if (d->count == first) refuse("no row with such a residual in ", equals + 1);
}

static void draw(const drawing *d, const char *folder)
{
    plot_series series[MOST_LINES];
    char axis[64];
    for (int k = 0; k < d->count; k++)
        series[k] =
            (plot_series){d->lines[k].label, d->lines[k].tets, d->lines[k].ms, d->lines[k].count};
    snprintf(axis, sizeof axis, "ms to a relative residual of %g", d->asked);
    const plot_panel panel = {
        NULL, {"tets", true, NAN, NAN}, {axis, true, NAN, NAN}, series, d->count};
    const plot_figure figure = {"Time to a residual against the size of the mesh",
                                "a bar of rubber sags, \u03bd = 0.45, h = 1/60 s; medians of whole "
                                "time steps",
                                &panel, 1, false};
    char *text = plot_svg(&figure);
    bench_write(folder, "residual.svg", text);
    free(text);
}

int main(int count, char **arguments)
{
    static drawing d = {.asked = 1e-3};
    const char *folder = "out";
    for (int k = 1; k < count; k++) {
        bool asked = strcmp(arguments[k], "--asked") == 0;
        if (!asked && strcmp(arguments[k], "--out") != 0) {
            take_file(&d, arguments[k]);
            continue;
        }
        if (++k == count) refuse("an option wants a value", "");
        if (asked)
            d.asked = atof(arguments[k]);
        else
            folder = arguments[k];
    }
    char usual[][96] = {"H200=bench/results/residual-h200.txt",
                        "2 cores=bench/results/residual-xeon.txt",
                        "2 cores, first steps=bench/results/residual-methods-xeon.txt"};
    for (int k = 0, none = d.count == 0; k < HK_COUNT_OF(usual) && none; k++)
        take_file(&d, usual[k]);
    draw(&d, folder);
    return 0;
}
