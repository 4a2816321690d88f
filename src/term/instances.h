// Which bodies of a model are copies of others: the same tets and materials in the same places of
// the body, at rest moved and turned as a whole. (Materials: laws that coefficients say all about.)
#ifndef HK_INSTANCES_H
#define HK_INSTANCES_H

#include "core/base.h"
#include "model/model.h"

typedef struct hk_instance {
    int original;    // the first body that it is a copy of: itself, if there is none
    double turn[4];  // x, y, z, w of the unit quaternion that turns the original's rest shape
} hk_instance;

// Fills copies[body_count]. Bodies without tets are copies of none.
void hk_find_instances(const hk_model *model, hk_instance *copies);

#endif
