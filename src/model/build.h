// The parts of building a model that editing it repeats (model.c, edit.c).
#ifndef HK_MODEL_BUILD_H
#define HK_MODEL_BUILD_H

#include "model/model.h"

// Volumes of the tets of a body; fails where one has none.
hk_status hk_model_measure_tets(hk_model *model, const hk_body *body);
// Adds the masses of its tets to those of the vertices.
void hk_model_add_masses(hk_model *model, const hk_body *body);
// Volumes, masses, springs and bends, from rest positions and materials (edit.c).
hk_status hk_model_measure_elements(hk_model *model);
// The fibre of tet t of a body.
hk_status hk_model_set_fibre(hk_model *model, const hk_body *body, const hk_material_def *def,
                             int t);
// The vertices of a selector; fails where there is none, unless none was asked for.
hk_status hk_model_choose(const hk_mesh *mesh, const hk_selector *selector, uint8_t *chosen,
                          int *count);
// Copies of the definitions of users' terms, checked.
hk_status hk_model_take_terms(const hk_model_def *def, hk_model *model);
// Adds loads to `to`, [vertex_count][3]; the mesh is that of the body.
hk_status hk_model_take_loads(const hk_model *model, hk_model *own, const hk_body *body,
                              hk_mesh *mesh, const hk_load_def *loads, int count, double *to);

#endif
