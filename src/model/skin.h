// Skins of bodies (mesh/embed.h).
#ifndef HK_MODEL_SKIN_H
#define HK_MODEL_SKIN_H

#include "model/model.h"

// The skin of the definition, if it has one, for a body whose mesh is in its place.
hk_status hk_model_add_skin(hk_body *body, const hk_mesh *mesh, const hk_body_def *def);

#endif
