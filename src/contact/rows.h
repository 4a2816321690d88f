// The stiffness of contacts and of their friction as springs of one direction each,
//
//   C = Σ κ r rᵀ,   r = c ⊗ n over the vertices of a contact,
//
// the part of the Hessian that is positive whatever the state: what methods with a constant matrix
// put beside it.
#ifndef HK_CONTACT_ROWS_H
#define HK_CONTACT_ROWS_H

#include <stdint.h>

typedef struct hk_contact_row {
    int32_t vertex[4];  // in Morton order; -1: of an obstacle
    double c[4];        // weights
    double n[3];        // a unit vector
    double stiffness;   // N/m, κ > 0
} hk_contact_row;
typedef void hk_contact_row_fn(void *context, const hk_contact_row *row);

#endif
