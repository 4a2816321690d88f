// The figures of TwoWay, redrawn from the curves that `bench_design --figures FOLDER` wrote
// (solver,iteration,seconds,relative_residual): one SVG for each file that is there.
//
//   bench_design_plot [--curves FOLDER] [--out FOLDER] [--title TEXT]
#include <math.h>

#include "bench.h"
#include "plot.h"

enum { MOST_CURVES = 16, MOST_POINTS = 4096 };

typedef struct curve {
    char label[80];
    double iteration[MOST_POINTS], seconds[MOST_POINTS], residual[MOST_POINTS];
    int count;
} curve;

typedef struct figure {
    const char *file, *svg, *title;
    bool by_time;  // else by iterations
} figure;

static const figure g_figures[] = {
    {"figure2.csv", "twoway-2.svg", "Components of the Jacobian left out", false},
    {"figure3.csv", "twoway-3.svg", "Solvers of the inverse problem", true},
    {"figure4.csv", "twoway-4.svg", "One factorisation for M iterations", true},
    {"figure6.csv", "twoway-6.svg", "Starts after an edit", true},
};

static curve *curve_of(curve *curves, int *count, const char *label)
{
    for (int k = 0; k < *count; k++)
        if (strcmp(curves[k].label, label) == 0) return &curves[k];
    if (*count == MOST_CURVES) return NULL;
    curve *made = &curves[(*count)++];
    snprintf(made->label, sizeof made->label, "%s", label);
    return made;
}

// Rows without a number, of which the heading is one, are left out.
static int read_curves(const char *path, curve *curves)
{
    FILE *file = fopen(path, "r");
    char row[256], label[80];
    int count = 0;
    if (!file) return 0;
    while (fgets(row, sizeof row, file)) {
        double iteration, seconds, residual;
        if (sscanf(row, "%79[^,],%lf,%lf,%lf", label, &iteration, &seconds, &residual) != 4)
            continue;
        curve *c = curve_of(curves, &count, label);
        if (!c || c->count == MOST_POINTS) continue;
        c->iteration[c->count] = iteration;
        c->seconds[c->count] = seconds;
        c->residual[c->count++] = residual;
    }
    fclose(file);
    return count;
}

static void draw(const figure *f, const char *from, const char *to, const char *subtitle)
{
    char path[512];
    plot_series series[MOST_CURVES];
    curve *curves = calloc(MOST_CURVES, sizeof *curves);
    snprintf(path, sizeof path, "%s/%s", from, f->file);
    int count = read_curves(path, curves);
    for (int k = 0; k < count; k++)
        series[k] =
            (plot_series){curves[k].label, f->by_time ? curves[k].seconds : curves[k].iteration,
                          curves[k].residual, curves[k].count};
    plot_panel panel = {
        .x = {f->by_time ? "CPU seconds, two threads together" : "iterations", false, 0, NAN},
        .y = {"residual / load", true, NAN, NAN},
        .series = series,
        .series_count = count};
    plot_figure whole = {f->title, subtitle, &panel, 1, false};
    if (count > 0) {
        char *text = plot_svg(&whole);
        bench_write(to, f->svg, text);
        free(text);
    }
    free(curves);
}

int main(int argc, char **argv)
{
    const char *from = "bench/results/design", *to = "docs/images/figures", *title = NULL;
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "--curves") == 0) from = argv[k + 1];
        if (strcmp(argv[k], "--out") == 0) to = argv[k + 1];
        if (strcmp(argv[k], "--title") == 0) title = argv[k + 1];
    }
    for (int k = 0; k < HK_COUNT_OF(g_figures); k++) draw(&g_figures[k], from, to, title);
    return 0;
}
