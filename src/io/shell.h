// The triangles that surface formats write. Of a surface mesh: its triangles and all its vertices
// in their order, so that numbers keep their meaning. Of a mesh with tets: its outer triangles and
// only the vertices they use, in ascending order, numbered anew.
#ifndef HK_SHELL_H
#define HK_SHELL_H

#include "io/io.h"

typedef struct hk_shell {
    int vertex_count;
    const double *positions;  // [vertex_count][3] m
    int triangle_count;
    const int32_t *triangles;  // [triangle_count][3], outward
    const int32_t *sources;    // [vertex_count] the mesh's number of each vertex; NULL: the same
    void *owned[3];
} hk_shell;

// `format` names it in the message for a mesh without triangles.
hk_status hk_shell_of(const hk_mesh *mesh, const char *format, hk_shell *shell);
void hk_shell_free(hk_shell *shell);
// Fails if a position is beyond the range of single precision.
hk_status hk_shell_fits_float(const hk_shell *shell, const char *format);
// Twice the area times the unit normal.
void hk_triangle_normal(const double *positions, const int32_t corners[3], double normal[3]);

#endif
