// Energies and gradients of many triangles and hinges of shells at once, in double precision, one
// table per instruction set (see cmake/lanes.cmake). Both fill what is not NULL: energy[count], and
// g as x is, [count][corners][3]. An element gives the same bits wherever it stands in the list.
#ifndef HK_SHELL_LANES_H
#define HK_SHELL_LANES_H

#include "term/element.h"

// What an element's values are.
enum { HK_HINGE_STIFFNESS, HK_HINGE_REST, HK_HINGE_AT_REST };  // ∂θ along the normal: four
enum { HK_SHELL_INVERSE, HK_SHELL_AREA = 4, HK_SHELL_STRAND = 5 };

typedef void hk_shell_many(const hk_element *first, int count, const double *x, double *energy,
                           double *g);

typedef struct hk_shell_table {
    hk_shell_many *hinges;
    hk_shell_many *membranes;  // of one owner, a hk_membrane
} hk_shell_table;

#endif
