// What the two VTK formats share: cells of many types become tets, triangles and lines, and what
// cannot is counted; integer cell data named like a region becomes groups.
#ifndef HK_VTK_CELLS_H
#define HK_VTK_CELLS_H

#include "io/soup.h"

typedef struct hk_vtk_cells {
    hk_soup soup;
    size_t cell_count;   // given so far
    int64_t *tet_cells;  // [soup.tet_count] the file's number of each tet
    size_t tet_cell_capacity;
    int64_t
        *line_cells;  // [soup.line_count] twice the file's number of each line, 1 more: polyline
    size_t line_cell_capacity;
    size_t left_out[256];  // by VTK cell type
    // Of the first cell array whose name says that it tells regions apart:
    char region_name[64];
    int64_t *regions;  // [region_count] by the file's number of the cell
    size_t region_count, region_capacity;
} hk_vtk_cells;

enum {
    HK_VTK_LINE = 3,
    HK_VTK_POLYLINE = 4,
    HK_VTK_TRIANGLE = 5,
    HK_VTK_STRIP = 6,
    HK_VTK_POLYGON = 7,
    HK_VTK_TET = 10,
    HK_VTK_QUADRATIC_TRIANGLE = 22,
    HK_VTK_QUADRATIC_TET = 24
};

// How many corners a cell of this type must have; 0: any number.
size_t hk_vtk_corners_of(int type);
const char *hk_vtk_type_name(int type);
// The next cell. Corners are numbers within the soup and in range; their count suits the type.
hk_status hk_vtk_add_cell(hk_vtk_cells *cells, int type, const int32_t *corners, size_t count);
// Whether values of this cell array are wanted as regions: by its name.
bool hk_vtk_names_regions(const char *name, size_t length);
// The mesh with notes and groups. Fails if the only volume cells are of unsupported types or if
// there is nothing at all.
hk_status hk_vtk_cells_mesh(hk_vtk_cells *cells, const char *name, hk_mesh **mesh);
void hk_vtk_cells_free(hk_vtk_cells *cells);

#endif
