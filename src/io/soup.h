// A mesh under construction, for formats that do not say at the start how much will come.
#ifndef HK_SOUP_H
#define HK_SOUP_H

#include "io/io.h"

typedef struct hk_soup {
    double *positions;  // [vertex_count][3] m
    size_t vertex_count, vertex_capacity;
    int32_t *tets;  // [tet_count][4]
    size_t tet_count, tet_capacity;
    // [tet_count][6] the nodes of quadratic tets (mesh/quadratic.h), −1 for linear ones; NULL: all
    // are linear.
    int32_t *middles;
    size_t middle_capacity;
    size_t quadratic_count;
    int32_t *triangles;  // [triangle_count][3]
    size_t triangle_count, triangle_capacity;
    int32_t *lines;  // [line_count][2]
    size_t line_count, line_capacity;
    size_t split_polygons;  // how many polygons of more than three corners became fans
} hk_soup;

hk_status hk_soup_vertices(hk_soup *soup, size_t count, const double *positions);
hk_status hk_soup_tet(hk_soup *soup, const int32_t corners[4]);
// Four corners, and six nodes in the middles of edges in the order of mesh/quadratic.h.
hk_status hk_soup_quadratic(hk_soup *soup, const int32_t nodes[10]);
// A face with nodes in the middles of its edges becomes four triangles.
hk_status hk_soup_quadratic_face(hk_soup *soup, const int32_t nodes[6]);
hk_status hk_soup_triangle(hk_soup *soup, int32_t a, int32_t b, int32_t c);
hk_status hk_soup_line(hk_soup *soup, int32_t a, int32_t b);
// A polygon of at least three corners becomes a fan around its first.
hk_status hk_soup_polygon(hk_soup *soup, const int32_t *corners, size_t count);
// A mesh of all that was gathered, with a note about the split polygons.
hk_status hk_soup_mesh(const hk_soup *soup, hk_mesh **mesh);
void hk_soup_free(hk_soup *soup);

#endif
