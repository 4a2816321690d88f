#include "contact/bvh.h"

#include "contact/bvh_box.h"

void hk_bvh_free(hk_bvh *bvh)
{
    hk_free(bvh->storage);
    hk_free(bvh->items);
    hk_radix_free(&bvh->radix);
    *bvh = (hk_bvh){0};
}

// ---------------------------------------------------------------- boxes

// The boxes of group g of level 0.
static void fit_leaves(const hk_bvh *bvh, const hk_box *boxes, int g)
{
    hk_bvh_group *group = &bvh->groups[0][g];
    enum { AHEAD = 32 };
    for (int k = 0; k < HK_BVH_WIDTH; k++) {
        int64_t place = (int64_t)HK_BVH_WIDTH * g + k;
        if (place + AHEAD < bvh->count) __builtin_prefetch(&boxes[bvh->items[place + AHEAD]]);
        const hk_box *box = place < bvh->count ? &boxes[bvh->items[place]] : NULL;
        for (int i = 0; i < 3; i++) {
            group->low[i][k] = box ? hk_round_down(box->low[i] - bvh->origin[i]) : NAN;
            group->high[i][k] = box ? hk_round_up(box->high[i] - bvh->origin[i]) : NAN;
        }
    }
}

// The boxes around eight groups of the level below.
static void fit_groups(const hk_bvh *bvh, int level, int g)
{
    hk_bvh_group *group = &bvh->groups[level][g];
    for (int k = 0; k < HK_BVH_WIDTH; k++) {
        int64_t below = (int64_t)HK_BVH_WIDTH * g + k;
        bool exists = below < bvh->group_count[level - 1];
        const hk_bvh_group *child = exists ? &bvh->groups[level - 1][below] : NULL;
        for (int i = 0; i < 3; i++) {
            float low = INFINITY, high = -INFINITY;
            for (int j = 0; exists && j < HK_BVH_WIDTH; j++) {
                low = child->low[i][j] < low ? child->low[i][j] : low;
                high = child->high[i][j] > high ? child->high[i][j] : high;
            }
            group->low[i][k] = exists ? low : NAN;
            group->high[i][k] = exists ? high : NAN;
        }
    }
}

void hk_bvh_refit(hk_bvh *bvh, const hk_box *boxes, int threads)
{
    if (bvh->count == 0) return;
    enum { FEW = 64 };
#pragma omp parallel num_threads(bvh->count > FEW * HK_BVH_WIDTH ? threads : 1)
    {
#pragma omp for schedule(static)
        for (int g = 0; g < bvh->group_count[0]; g++) fit_leaves(bvh, boxes, g);
        for (int level = 1; level < bvh->levels; level++) {
#pragma omp for schedule(static)
            for (int g = 0; g < bvh->group_count[level]; g++) fit_groups(bvh, level, g);
        }
    }
}

// ---------------------------------------------------------------- the order

enum { CODE_BITS = 21 };  // of an axis

// Puts two zero bits after each of the low 21 bits.
static inline uint64_t spread(uint64_t x)
{
    x = (x | x << 32) & 0x001f00000000ffffu;
    x = (x | x << 16) & 0x001f0000ff0000ffu;
    x = (x | x << 8) & 0x100f00f00f00f00fu;
    x = (x | x << 4) & 0x10c30c30c30c30c3u;
    x = (x | x << 2) & 0x1249249249249249u;
    return x;
}

// Halves first: sums of coordinates stay finite.
static inline double middle(const hk_box *box, int axis)
{
    return 0.5 * box->low[axis] + 0.5 * box->high[axis];
}

// The bounds of the boxes' middles. (Least and greatest do not depend on the order.)
static void find_bounds(const hk_box *boxes, int count, int threads, double low[3], double high[3])
{
    double l0 = INFINITY, l1 = INFINITY, l2 = INFINITY;
    double h0 = -INFINITY, h1 = -INFINITY, h2 = -INFINITY;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(min           \
                                                                         : l0, l1, l2) \
    reduction(max                                                                      \
              : h0, h1, h2)
    for (int b = 0; b < count; b++) {
        double x = middle(&boxes[b], 0), y = middle(&boxes[b], 1), z = middle(&boxes[b], 2);
        l0 = x < l0 ? x : l0;
        h0 = x > h0 ? x : h0;
        l1 = y < l1 ? y : l1;
        h1 = y > h1 ? y : h1;
        l2 = z < l2 ? z : l2;
        h2 = z > h2 ? z : h2;
    }
    memcpy(low, (double[3]){l0, l1, l2}, 3 * sizeof *low);
    memcpy(high, (double[3]){h0, h1, h2}, 3 * sizeof *high);
}

// Sorts the boxes along the Morton curve.
static void order_boxes(hk_bvh *bvh, const hk_box *boxes, int threads)
{
    double low[3], high[3], extent = 0;
    find_bounds(boxes, bvh->count, threads, low, high);
    for (int i = 0; i < 3; i++) {
        bvh->origin[i] = 0.5 * low[i] + 0.5 * high[i];
        extent = fmax(extent, 0.5 * high[i] - 0.5 * low[i]);
    }
    const double cells = (1 << CODE_BITS) - 1;
    // One scale for all axes: cells of the curve are cubes.
    double scale = extent > 0 ? 0.5 * cells / extent : 0;
    if (!(scale < 1e300)) scale = 1e300;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int b = 0; b < bvh->count; b++) {
        uint64_t code = 0;
        for (int i = 0; i < 3; i++) {
            double along = (middle(&boxes[b], i) - low[i]) * scale;
            along = along > 0 ? along : 0;
            code |= spread((uint64_t)(along < cells ? along : cells)) << i;
        }
        bvh->radix.keys[b] = code;
        bvh->radix.items[b] = (uint32_t)b;
    }
    hk_radix_sort(&bvh->radix, (size_t)bvh->count, true, threads);
    memcpy(bvh->items, bvh->radix.items, (size_t)bvh->count * sizeof(int32_t));
}

// ---------------------------------------------------------------- building

static hk_status lay_out(hk_bvh *bvh, int count, int threads)
{
    size_t total = 0;
    int levels = 0, groups[HK_BVH_LEVELS];
    for (int nodes = count; levels == 0 || nodes > 1; levels++) {
        nodes = nodes / HK_BVH_WIDTH + (nodes % HK_BVH_WIDTH != 0);
        groups[levels] = nodes;
        total += (size_t)nodes;
    }
    HK_TRY(hk_radix_reserve(&bvh->radix, (size_t)count, true, threads));
    HK_TRY(
        hk_reserve((void **)&bvh->storage, 0, sizeof *bvh->storage, &bvh->storage_capacity, total));
    HK_TRY(hk_reserve((void **)&bvh->items, 0, sizeof *bvh->items, &bvh->item_capacity,
                      (size_t)count));
    bvh->count = count;
    bvh->levels = levels;
    hk_bvh_group *next = bvh->storage;
    for (int level = 0; level < levels; level++) {
        bvh->groups[level] = next;
        bvh->group_count[level] = groups[level];
        next += groups[level];
    }
    return HK_OK;
}

hk_status hk_bvh_build(hk_bvh *bvh, const hk_box *boxes, int count, int threads)
{
    bvh->count = bvh->levels = 0;
    if (count == 0) return HK_OK;
    HK_TRY(lay_out(bvh, count, threads));
    order_boxes(bvh, boxes, threads);
    hk_bvh_refit(bvh, boxes, threads);
    return HK_OK;
}
