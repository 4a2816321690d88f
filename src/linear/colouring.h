// Graphs of unknowns that touch each other, and their colours: unknowns of one colour do not touch,
// so that Gauss–Seidel may work on all of them at once, in any order, on any machine.
#ifndef HK_COLOURING_H
#define HK_COLOURING_H

#include "core/base.h"

// Both directions of every edge, no loops.
typedef struct hk_graph {
    int count;
    int64_t *start;      // [count + 1]
    int32_t *neighbour;  // [start[count]]
} hk_graph;

// Members of a clique (the corners of an element) touch each other: clique c has members
// [start[c], start[c + 1]).
hk_status hk_graph_create(int count, int64_t clique_count, const int64_t *start,
                          const int32_t *member, hk_graph *graph);
void hk_graph_release(hk_graph *graph);

typedef struct hk_colouring {
    int colour_count;
    int32_t *start;  // [colour_count + 1]
    int32_t *item;   // [start[colour_count]] by colour, ascending in a colour
} hk_colouring;

// As few colours as come of giving every unknown the least one that is free, in order; then the
// colours are made about equally large. Unknowns that `skip` marks (it may be NULL) get no colour.
hk_status hk_colour_graph(int count, const int64_t *start, const int32_t *neighbour,
                          const uint8_t *skip, hk_colouring *colouring);
void hk_colouring_release(hk_colouring *colouring);

#endif
