// The vertices along a Morton (z) curve: neighbours in space become neighbours in memory.
#include "mesh/mesh.h"

#include <math.h>

#include "mesh/sort.h"

enum { BITS = 21 };  // an axis; three axes fill 63 bits

// Spreads the low 21 bits out: two zero bits after each.
static uint64_t spread(uint64_t x)
{
    x &= 0x1fffff;
    x = (x | x << 32) & 0x001f00000000ffffu;
    x = (x | x << 16) & 0x001f0000ff0000ffu;
    x = (x | x << 8) & 0x100f00f00f00f00fu;
    x = (x | x << 4) & 0x10c30c30c30c30c3u;
    x = (x | x << 2) & 0x1249249249249249u;
    return x;
}

hk_status hk_morton_order(int count, const double *positions, int32_t *order)
{
    hk_keyed *pairs = HK_ARRAY(hk_keyed, count);
    hk_keyed *scratch = HK_ARRAY(hk_keyed, count);
    if (!pairs || !scratch) {
        hk_free(pairs);
        hk_free(scratch);
        return HK_NO_MEMORY;
    }
    double low[3] = {INFINITY, INFINITY, INFINITY}, extent = 0;
    double high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int v = 0; v < count; v++) {
        const double *p = positions + 3 * (size_t)v;
        if (!hk_is_finite3(p)) continue;
        for (int i = 0; i < 3; i++) {
            low[i] = fmin(low[i], p[i]);
            high[i] = fmax(high[i], p[i]);
        }
    }
    // One scale for all axes, so that cells of the curve are cubes. Halved: the difference of two
    // finite numbers may not be finite.
    for (int i = 0; i < 3; i++) extent = fmax(extent, high[i] / 2 - low[i] / 2);
    const double cells = (1 << BITS) - 1;
    for (int v = 0; v < count; v++) {
        const double *p = positions + 3 * (size_t)v;
        uint64_t key = UINT64_MAX;  // above every key of a finite vertex
        if (hk_is_finite3(p)) {
            key = 0;
            for (int i = 0; i < 3 && extent > 0; i++) {
                double along = (p[i] / 2 - low[i] / 2) / extent;
                key |= spread((uint64_t)fmin(along * cells, cells)) << i;
            }
        }
        pairs[v] = (hk_keyed){key, v};
    }
    hk_sort_keyed(pairs, scratch, (size_t)count);
    for (int v = 0; v < count; v++) order[v] = (int32_t)pairs[v].item;
    hk_free(pairs);
    hk_free(scratch);
    return HK_OK;
}
