// Sorting in linear time without the C library's qsort, which may take memory behind our back.
#ifndef HK_SORT_H
#define HK_SORT_H

#include <stddef.h>
#include <stdint.h>

typedef struct hk_keyed {
    uint64_t key;
    int64_t item;
} hk_keyed;

// Sorts by key; equal keys keep their order. `scratch` has room for `count` more.
void hk_sort_keyed(hk_keyed *pairs, hk_keyed *scratch, size_t count);

#endif
