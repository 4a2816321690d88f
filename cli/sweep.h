// What `hooke sweep` varies: one list of values per --vary, and the grid of all of them.
#ifndef HOOKE_SWEEP_H
#define HOOKE_SWEEP_H

#include "cli.h"

typedef struct sweep_axis {
    char *path;      // in the scene
    char **texts;    // [count] as in --set
    double *values;  // [count]; NAN for what is no number
    int count;
    bool logarithmic, numeric;
} sweep_axis;

enum { SWEEP_MOST_AXES = 8, SWEEP_MOST_VALUES = 100000 };

typedef struct sweep_grid {
    sweep_axis axes[SWEEP_MOST_AXES];
    int axis_count;
    int count;  // of places: the product of all counts; the last axis runs fastest
} sweep_grid;

// Reads PATH=VALUES of every --vary. Returns -1, or an exit status when it has said what is wrong.
int sweep_read_grid(const cli_texts *vary, sweep_grid *grid);
void sweep_grid_free(sweep_grid *grid);
// Which value an axis has at a place of the grid.
int sweep_index(const sweep_grid *grid, int place, int axis);
const char *sweep_text(const sweep_grid *grid, int place, int axis);
// "young = 1e5, gravity.1 = -3", without the axis `without` (-1: with all). To be freed.
char *sweep_place_name(const sweep_grid *grid, int place, int without);
// The axis that plots have below: the last one of numbers; -1: there is none.
int sweep_plotted_axis(const sweep_grid *grid);

#endif
