// Stable sorting of 64-bit keys by threads: the same order for any number of them.
#ifndef HK_RADIX_H
#define HK_RADIX_H

#include "core/base.h"

// Keys, each with an item if items are wanted, and room for as many more while they are sorted. It
// grows and never shrinks, so that a call with no more keys than before takes no memory.
typedef struct hk_radix {
    uint64_t *keys, *keys_scratch;    // [capacity]
    uint32_t *items, *items_scratch;  // [item_capacity]
    size_t capacity, item_capacity;
    uint32_t *histograms;  // [histogram_threads][2048]
    int histogram_threads;
} hk_radix;

void hk_radix_free(hk_radix *radix);
// Room for `count` keys; what was there is lost where it has to grow.
hk_status hk_radix_reserve(hk_radix *radix, size_t count, bool with_items, int threads);
// Sorts the first `count` keys, fewer than 2^32; with items, those go with their keys. Arrays may
// change places with their scratch.
void hk_radix_sort(hk_radix *radix, size_t count, bool with_items, int threads);

#endif
