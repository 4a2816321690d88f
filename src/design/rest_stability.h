// Whether a rest shape that was found holds the body in the loaded shape, or only balances it
// there.
#ifndef HK_REST_STABILITY_H
#define HK_REST_STABILITY_H

#include "model/model.h"

// `made` has the rest shape, and holds that are its caller's to lose: sheets are fixed in it;
// `loaded` rests in the loaded shape. Stable: the stiffness there is positive definite.
hk_status hk_rest_look_whether_stable(hk_model *made, const hk_model *loaded, int threads,
                                      bool *stable);

#endif
