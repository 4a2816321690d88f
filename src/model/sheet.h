// From the triangles of a body to masses, springs and bending.
#ifndef HK_MODEL_SHEET_H
#define HK_MODEL_SHEET_H

#include "mesh/mesh.h"
#include "model/model.h"

// `mesh` is that of the body, at its place. Fills the body's triangles and masses, and adds its
// springs and bends to the model.
hk_status hk_model_add_sheet(hk_model *model, const hk_body *body, const hk_mesh *mesh,
                             const hk_sheet_material *material);

// After the order of the vertices is known: that of springs and bends.
hk_status hk_model_order_links(hk_model *model);

#endif
