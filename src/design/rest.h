// What other rooms need of rest shapes beside what users see.
#ifndef HK_REST_H
#define HK_REST_H

#include "model/model.h"

// Rest positions and rest lengths as found, for a copy of the model that nobody else has.
hk_status hk_rest_apply(const hk_rest *rest, hk_model *copy);
// From so many free vertices on the factor of an older loaded shape is warped; below a new one is
// made.
void hk_rest_warp_from(hk_rest *rest, int free_vertices);
// How the last solve ended for bodies of tets alone.
hk_reason hk_rest_solids_reason(const hk_rest *rest);

#endif
