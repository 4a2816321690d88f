// hooke render: what was asked for, and what it is made of.
#ifndef HOOKE_RENDER_H
#define HOOKE_RENDER_H

#include "cli.h"
#include "colormap.h"
#include "film.h"
#include "raster.h"

typedef enum output_kind { ONE_PICTURE, NUMBERED, MOVIE, ANIMATED_GIF, MODEL } output_kind;

typedef struct render {
    // as given
    cli_texts words, sets;
    const char *output, *out, *color, *size, *view, *background, *clip, *colormap;
    cli_numbers range, look_at, from;
    double zoom, every, rate, exaggerate;
    int frames, columns, threads;
    bool pose, run, tets, edges, rest, labels, no_labels, ground, no_ground;
    // as understood
    output_kind kind;
    char *path;
    int width, height;
    double azimuth, elevation;
    backdrop backdrop;
    film_plane plane;  // of the cut
    const colormap *map;
    film_request request;
    film film;
    // of all frames together, in film units
    double center[3], radius;
    float ground_height;  // height below all frames, after centring and scaling
    double low, high;     // of the colour scale
    double least, most;   // values that occur
    camera camera;
    int drawn;  // frames
    json_t *files;
} render;

// Draws the film to where it was asked for. Returns -1 or an exit status.
int render_film(render *r);
// The path of a numbered frame: frames/%04d.png. To be freed.
char *render_numbered_path(const char *pattern, int number);

#endif
