// Forces of what pushes and drags around a centre (touches.h) in the precision of the positions,
// one table per precision and instruction set (see cmake/lanes.cmake): the only part of contacts
// that a method does hundreds of times a step. In single precision it reads half as much, and loses
// nothing: points are no farther from the centre than a few widths (truncate.c), and positions are
// of that precision themselves.
#ifndef HK_PUSH_LANES_H
#define HK_PUSH_LANES_H

#include "contact/touches.h"

typedef struct hk_push_table {
    // What iterations read of things [first, last) that push, or drag: into `to`, of so many bytes
    // each.
    size_t push_size, drag_size;
    void (*fill_pushes)(const hk_contacts *contacts, int64_t first, int64_t last, void *to);
    void (*fill_drags)(const hk_contacts *contacts, int64_t first, int64_t last, void *to);
    // Their forces at `away` upon their corners, scalar[slot_count][4][4]; true: some have become
    // much stiffer than the blocks have them. Those that push come first.
    bool (*push)(const hk_contacts *contacts, int64_t first, int64_t last);
    bool (*drag)(const hk_contacts *contacts, int64_t first, int64_t last);
    // Adds the forces upon touched points [first, last) to gradient, scalar[vertex_count][4].
    void (*gather)(const hk_contacts *contacts, int first, int last, void *gradient);
    // hk_touches_precondition of them.
    double (*precondition)(const hk_contacts *contacts, const hk_touch_step *step, int first,
                           int last);
} hk_push_table;

#endif
