// Sheets that several tests use.
#ifndef TEST_SHEETS_H
#define TEST_SHEETS_H

#include "bodies.h"

static inline hk_mesh *sheet_mesh(double x, double z, int nx, int nz)
{
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_SHEET);
    def.size[0] = x, def.size[1] = z;
    def.cells[0] = nx, def.cells[1] = nz;
    hk_mesh *mesh = NULL;
    CHECK_OK(hk_mesh_make(&def, &mesh));
    return mesh;
}

static inline hk_material_def cloth_of(double stretch, double bending, double density)
{
    hk_material_def def = hk_default_material_def();
    def.model = "mass_spring";
    def.density = density;
    def.parameters[0] = (hk_parameter){"stretch", stretch};
    def.parameters[1] = (hk_parameter){"bending", bending};
    def.parameter_count = 2;
    return def;
}

// Moves the vertices of a mesh.
static inline void bend_mesh(hk_mesh *mesh, void (*place)(const double from[3], double to[3]))
{
    int count = hk_mesh_vertex_count(mesh);
    double *x = malloc(3 * sizeof(double) * (size_t)count);
    assert_non_null(x);
    for (int v = 0; v < count; v++) place(hk_mesh_positions(mesh) + 3 * v, x + 3 * v);
    CHECK_OK(hk_mesh_set_positions(mesh, x));
    free(x);
}

#endif
