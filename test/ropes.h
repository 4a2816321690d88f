// Ropes that several tests use.
#ifndef TEST_ROPES_H
#define TEST_ROPES_H

#include "bodies.h"

static inline hk_mesh *rope_mesh(double length, int cells)
{
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_ROPE);
    def.length = length;
    def.cells[0] = cells;
    hk_mesh *mesh = NULL;
    CHECK_OK(hk_mesh_make(&def, &mesh));
    return mesh;
}

// Of stiffness E A, N, and E I, N m².
static inline hk_material_def rope_of(double stretch, double bending, double line_density,
                                      const char *form, bool slack)
{
    hk_material_def def = hk_default_material_def();
    def.model = "rope";
    def.bending_form = form;
    def.parameters[0] = (hk_parameter){"radius", 0.005};
    def.parameters[1] = (hk_parameter){"stretch", stretch};
    def.parameters[2] = (hk_parameter){"bending", bending};
    def.parameters[3] = (hk_parameter){"line_density", line_density};
    def.parameters[4] = (hk_parameter){"slack", slack};
    def.parameter_count = 5;
    return def;
}

#endif
