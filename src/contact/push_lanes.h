// Forces of what pushes and drags around a centre (touches.h) in the precision of the positions,
// one table per precision and instruction set (see cmake/lanes.cmake): the only part of contacts
// that a method does hundreds of times a step. In single precision it reads half as much, and loses
// nothing: points are no farther from the centre than a few widths (truncate.c), and positions are
// of that precision themselves.
#ifndef HK_PUSH_LANES_H
#define HK_PUSH_LANES_H

#include "contact/touches.h"

typedef struct hk_push_table {
    int lanes;
    size_t block_size;  // bytes of what iterations read of so many slots
    // Blocks [first, last) of slots, where what pushes was found anew.
    void (*fill)(const hk_contacts *contacts, int64_t first, int64_t last);
    // Forces upon the corners of blocks of slots at `lean_away`; true: some have become much
    // stiffer than the blocks of the preconditioner have them.
    bool (*force)(const hk_contacts *contacts, int64_t first, int64_t last);
    // What the blocks are made of: stiffness of slots [first, last), as it is or may soon be.
    void (*stiffen)(const hk_contacts *contacts, int64_t first, int64_t last);
    // Blocks of touched points [first, last).
    void (*block)(const hk_contacts *contacts, int first, int last);
    // Adds the forces upon touched points [first, last) to gradient, scalar[vertex_count][4].
    void (*gather)(const hk_contacts *contacts, int first, int last, void *gradient);
    // Makes x the places of points [first, last) that displacements are counted from.
    void (*begin)(const hk_contacts *contacts, const void *x, int first, int last);
    // Displacements of points of bodies from `first` on, up to the first one that is not within its
    // soft ball, but to `last` at the most: how far it has come, or `last`.
    int (*place)(const hk_contacts *contacts, const void *x, int first, int last);
    // Of hk_touches_precondition: the blocks of touched points [first, last), with the least part
    // that is inertia; and what they do to a gradient.
    double (*prepare)(const hk_contacts *contacts, const hk_touch_step *step, int first, int last);
    void (*precondition)(const hk_contacts *contacts, const hk_touch_step *step, int first,
                         int last);
} hk_push_table;

const hk_push_table *hk_push_kernels(const hk_places *places);

#endif
