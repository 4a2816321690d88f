// A surface made ready to be drawn: corners that share a smooth normal, and the sharp edges.
#ifndef HOOKE_SHAPE_H
#define HOOKE_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

// Neighbouring triangles that meet at less than this angle look like one smooth surface.
#define SHAPE_CREASE_DEGREES 35.0

typedef struct shape {
    int vertex_count;
    int triangle_count;
    int32_t *triangles;     // [triangle_count][3] vertices
    int point_count;        // a vertex on a crease is several points, one for each of its sides
    int32_t *points;        // [triangle_count][3]
    int32_t *point_vertex;  // [point_count]
    uint8_t *sharp;  // [triangle_count] bit k: the edge opposite corner k is a crease or border
    bool open;       // some edge has one triangle only: both sides may be seen
} shape;

// Copies the triangles; creases are found at the given positions [vertex_count][3].
void shape_build(shape *s, int vertex_count, const double *positions, int triangle_count,
                 const int32_t *triangles);
void shape_free(shape *s);
// Unit normals [point_count][3] at other positions, weighted by the angles of the corners.
void shape_normals(const shape *s, const float *positions, float *normals);

#endif
