// Connected components of a model, and how they are held. Vertices have the model's numbers, but
// for `force`, which is in Morton order.
#ifndef HK_HELD_COMPONENTS_H
#define HK_HELD_COMPONENTS_H

#include "term/terms.h"

typedef struct hk_held_components {
    int32_t *of;    // [vertex_count] a representative vertex
    int32_t *held;  // [vertex_count] held and tied vertices, at the representative
} hk_held_components;

// Grabs among what a world changed (NULL: nothing) hold as ties do.
hk_status hk_held_components_find(const hk_model *model, const hk_live *live,
                                  hk_held_components *components);
void hk_held_components_release(hk_held_components *components);

// Whether some component has fewer than three held vertices.
hk_status hk_model_is_unheld(const hk_model *model, const hk_live *live, bool *unheld);
// A component that nothing holds and that `force` ([vertex_count][4]) pulls somewhere has no
// equilibrium: a vertex of it, or -1. (Of a part of a model: the number of the piece, see
// model/partition.h.)
hk_status hk_model_find_falling(const hk_model *model, const hk_live *live, const double *force,
                                int *vertex);

#endif
