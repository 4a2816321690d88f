// One element of a stencil law (stencil.h), as the laws see it: on the CPU and, where CUDA compiles
// the law, on the GPU.
#ifndef HK_ELEMENT_H
#define HK_ELEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "rules/rules.h"

enum { HK_ELEMENT_VERTICES = 8, HK_ELEMENT_VALUES = 12 };
enum { HK_ELEMENT_PAIRS = HK_ELEMENT_VERTICES * (HK_ELEMENT_VERTICES + 1) / 2 };

typedef struct hk_element {
    const void *owner;  // the same for a law of the CPU alone: what its elements have in common
    int32_t count;      // of its vertices
    int32_t number;
    bool tie;  // to something outside the bodies
    int32_t vertex[HK_ELEMENT_VERTICES];
    double value[HK_ELEMENT_VALUES];  // what the law needs to know
} hk_element;

#endif
