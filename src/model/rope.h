// From the lines of a body to masses, stretching and bending.
#ifndef HK_MODEL_ROPE_H
#define HK_MODEL_ROPE_H

#include "mesh/mesh.h"
#include "model/model.h"

// `mesh` is that of the body, at its place. Fills the body's lines and masses, and adds what
// resists stretching and bending to the model.
hk_status hk_model_add_rope(hk_model *model, const hk_body *body, const hk_mesh *mesh,
                            const hk_sheet_material *material);
// By which the direction turns from a to b to c, 0 … π.
double hk_line_angle(const double a[3], const double b[3], const double c[3]);

#endif
