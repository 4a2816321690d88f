// A moving surface as binary glTF 2.0: frames are morph targets, and an animation goes through
// them.
#ifndef STUDIO_GLB_H
#define STUDIO_GLB_H

#include "util.h"

typedef struct st_glb {
    int vertex_count, triangle_count, frame_count;
    const uint32_t *triangles;  // [triangle_count][3]
    const float *frames;        // [frame_count][vertex_count][3]
    const double *times;        // [frame_count] s, rising; those that do not are left out
} st_glb;
// To be freed.
void *st_glb_write(const st_glb *glb, size_t *size);

#endif
