// The definitions of a model as the library's own version has them, whatever version the user's
// are of.
#ifndef HK_MODEL_DEF_H
#define HK_MODEL_DEF_H

#include "core/def.h"

typedef struct hk_model_input {
    hk_model_def def;
    hk_body_def *bodies;     // [body_count]
    void **lists;            // regions, moves, loads and attachments of every body
    void *terms;             // [term_count]
    hk_contact_def contact;  // def.contact, unless that is NULL
    void *obstacles;         // [obstacle_count]
} hk_model_input;

// What the definitions point to stays where it is. Failures leave something to release, too.
hk_status hk_model_input_take(const hk_model_def *def, hk_model_input *input);
void hk_model_input_release(hk_model_input *input);
// Loads alike: a list that the caller frees, also on failure.
hk_status hk_take_loads(const hk_load_def *loads, int count, void **own);

#endif
