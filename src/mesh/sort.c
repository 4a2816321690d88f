#include "mesh/sort.h"

#include <string.h>

enum { DIGITS = 8, VALUES = 256, FEW = 40 };

static void insertion_sort(hk_keyed *pairs, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        hk_keyed moving = pairs[i];
        size_t at = i;
        for (; at > 0 && pairs[at - 1].key > moving.key; at--) pairs[at] = pairs[at - 1];
        pairs[at] = moving;
    }
}

// Byte by byte from the lowest, each pass stable. Bytes that all keys share cost nothing.
void hk_sort_keyed(hk_keyed *pairs, hk_keyed *scratch, size_t count)
{
    if (count <= FEW) {
        insertion_sort(pairs, count);
        return;
    }
    size_t histogram[DIGITS][VALUES] = {0};
    for (size_t i = 0; i < count; i++)
        for (int d = 0; d < DIGITS; d++) histogram[d][(pairs[i].key >> (8 * d)) & 255]++;
    hk_keyed *from = pairs, *to = scratch;
    for (int d = 0; d < DIGITS; d++) {
        if (histogram[d][(pairs[0].key >> (8 * d)) & 255] == count) continue;
        size_t start = 0;
        for (int value = 0; value < VALUES; value++) {
            size_t here = histogram[d][value];
            histogram[d][value] = start;
            start += here;
        }
        for (size_t i = 0; i < count; i++)
            to[histogram[d][(from[i].key >> (8 * d)) & 255]++] = from[i];
        hk_keyed *kept = from;
        from = to;
        to = kept;
    }
    if (from != pairs) memcpy(pairs, from, count * sizeof *pairs);
}
