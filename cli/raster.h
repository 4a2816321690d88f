// The rasteriser: triangles with a depth buffer, shaded in linear light, with soft shadows.
#ifndef HOOKE_RASTER_H
#define HOOKE_RASTER_H

#include <stdbool.h>
#include <stdint.h>

#include "camera.h"
#include "picture.h"
#include "shape.h"

// ---------------------------------------------------------------- triangles into samples

typedef struct raster_target {
    int width;
    int first_row, end_row;  // rows that the buffers hold
    float *depth;            // [end_row - first_row][width], greater is nearer
    int32_t *id;             // same shape, or NULL
} raster_target;

// Corners are x, y (sample (i, j) is at i + 1/2, j + 1/2) and a depth that is linear over the
// triangle. Triangles that share an edge cover every sample between them exactly once.
void raster_triangle(const raster_target *target, const float a[3], const float b[3],
                     const float c[3], int32_t id);

// ---------------------------------------------------------------- drawings

typedef struct layer {
    const shape *shape;      // NULL: nothing
    const float *positions;  // [vertex_count][3], within about 1 of the origin
    const float *values;     // [vertex_count] 0..1 along the colour scale, or NULL
    const uint8_t *bodies;   // [vertex_count] number of the body, for its colour, or NULL
} layer;

typedef struct backdrop {
    uint8_t top[3], bottom[3];  // sRGB, a gradient
    bool transparent;           // then the pixels hold only the bodies and their shadow
} backdrop;

typedef struct drawing {
    layer body;
    layer ghost;  // seen through, its sharp edges drawn
    camera camera;
    bool edges;   // of the triangles of the body
    bool ground;  // a plane that shows only the shadow
    float ground_height;
    backdrop backdrop;
    float scale;                    // of lines, 1 for a picture about 800 px high
    const struct colormap *map;     // of the values; NULL: the default
    const float (*body_colors)[3];  // [body_color_count] linear light, negative: its usual one
    int body_color_count;
} drawing;

picture raster_draw(const drawing *d, int width, int height);

#endif
