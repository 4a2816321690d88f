// Line plots as SVG: panels side by side, with linear or logarithmic axes, and one legend beside
// them, so that it hides nothing. The same figure gives the same bytes.
#ifndef HOOKE_PLOT_H
#define HOOKE_PLOT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct plot_series {
    const char *label;    // in the legend; NULL: not there
    const double *x, *y;  // [count]; a pair with a NAN interrupts the line
    int count;
} plot_series;

typedef struct plot_axis {
    const char *label;
    bool logarithmic;  // what is not greater than 0 is drawn at the axis' low end
    double low, high;  // NAN: from the data, rounded outwards
} plot_axis;

typedef struct plot_panel {
    const char *title;  // or NULL
    plot_axis x, y;
    const plot_series *series;  // number k has the same colour, dashes and marks in all panels
    int series_count;
} plot_panel;

typedef struct plot_figure {
    const char *title, *subtitle;  // or NULL
    const plot_panel *panels;
    int panel_count;
    bool same_y;  // one range of y for all panels, told at the first
} plot_figure;

// The text of the SVG, to be freed; ends the program with a message when there is no memory. The
// legend names the series of the first panel.
char *plot_svg(const plot_figure *figure);

#endif
