// Queries take eight neighbouring boxes at a time: the box around them goes down the tree, and
// where it comes to eight boxes of the tree, those are compared with each of its own.
#include "contact/bvh.h"

#include <omp.h>
#include <stdatomic.h>

#include "contact/bvh_box.h"

typedef struct query {
    const hk_bvh *tree;
    hk_bvh_group boxes;     // those that ask, enlarged
    float low[3], high[3];  // around them
    const int32_t *items;   // [count] their numbers
    int count;              // 1 to 8
    int block;              // among equals: the group of level 0 that asks; else −1
    hk_pair_fn *visit;
    void *context;
    int thread;
} query;

static inline void take_box(const hk_bvh_group *group, int k, float low[3], float high[3])
{
    for (int i = 0; i < 3; i++) {
        low[i] = group->low[i][k];
        high[i] = group->high[i][k];
    }
}

static void report(const query *q, int32_t first, int32_t second)
{
    bool swap = q->block >= 0 && first > second;
    q->visit(q->context, q->thread, swap ? second : first, swap ? first : second);
}

// The boxes of the query with those of group g of level 0: first those that reach the box around
// all of them.
static void compare(const query *q, int g)
{
    const hk_bvh *tree = q->tree;
    const hk_bvh_group *group = &tree->groups[0][g], *boxes = &q->boxes;
    const int32_t *items = tree->items + (size_t)HK_BVH_WIDTH * (size_t)g;
    unsigned asking = (1u << q->count) - 1;
    if (tree->levels > 1) {
        const hk_bvh_group *above = &tree->groups[1][g / HK_BVH_WIDTH];
        float low[3], high[3];
        take_box(above, g % HK_BVH_WIDTH, low, high);
        asking &= hk_bvh_overlaps(boxes, low, high);
    }
    for (; asking; asking &= asking - 1) {
        int k = __builtin_ctz(asking);
        float low[3], high[3];
        take_box(boxes, k, low, high);
        unsigned found = hk_bvh_overlaps(group, low, high);
        if (g == q->block) found &= 0xfeu << k;  // each pair once
        for (; found; found &= found - 1) report(q, q->items[k], items[__builtin_ctz(found)]);
    }
}

typedef struct place {
    int level, group;
} place;

static void descend(const query *q)
{
    const hk_bvh *tree = q->tree;
    place stack[HK_BVH_WIDTH * HK_BVH_LEVELS];
    int depth = 0;
    stack[depth++] = (place){tree->levels - 1, 0};
    while (depth > 0) {
        place at = stack[--depth];
        if (at.level == 0) {
            compare(q, at.group);
            continue;
        }
        unsigned found = hk_bvh_overlaps(&tree->groups[at.level][at.group], q->low, q->high);
        for (; found; found &= found - 1) {
            int below = HK_BVH_WIDTH * at.group + __builtin_ctz(found);
            // Among equals, groups before that which asks have asked themselves.
            int64_t last = ((int64_t)below + 1) << 3 * (at.level - 1);
            if (last <= q->block) continue;
            stack[depth++] = (place){at.level - 1, below};
        }
    }
}

// The box around those that ask.
static void surround(query *q)
{
    for (int i = 0; i < 3; i++) {
        q->low[i] = q->boxes.low[i][0];
        q->high[i] = q->boxes.high[i][0];
        for (int k = 1; k < q->count; k++) {
            if (q->boxes.low[i][k] < q->low[i]) q->low[i] = q->boxes.low[i][k];
            if (q->boxes.high[i][k] > q->high[i]) q->high[i] = q->boxes.high[i][k];
        }
    }
}

static void visit_groups(const hk_bvh *asking, const hk_bvh *tree, double radius, bool equals,
                         hk_pair_fn *visit, void *context, int threads)
{
    if (asking->count == 0 || tree->count == 0) return;
    double shift[3];
    for (int i = 0; i < 3; i++) shift[i] = asking->origin[i] - tree->origin[i];
    bool as_it_is = radius == 0 && shift[0] == 0 && shift[1] == 0 && shift[2] == 0;
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
    for (int g = 0; g < asking->group_count[0]; g++) {
        int begin = HK_BVH_WIDTH * g;
        query q = {.tree = tree,
                   .items = asking->items + begin,
                   .count = hk_min_int(HK_BVH_WIDTH, asking->count - begin),
                   .block = equals ? g : -1,
                   .visit = visit,
                   .context = context,
                   .thread = omp_get_thread_num()};
        if (as_it_is)
            q.boxes = asking->groups[0][g];
        else
            hk_bvh_enlarge(&asking->groups[0][g], radius, shift, &q.boxes);
        surround(&q);
        descend(&q);
    }
}

void hk_bvh_visit_self(const hk_bvh *bvh, double radius, hk_pair_fn *visit, void *context,
                       int threads)
{
    visit_groups(bvh, bvh, radius, true, visit, context, threads);
}

void hk_bvh_visit_tree(const hk_bvh *bvh, const hk_bvh *other, double radius, hk_pair_fn *visit,
                       void *context, int threads)
{
    visit_groups(bvh, other, radius, false, visit, context, threads);
}

void hk_bvh_visit_boxes(const hk_box *boxes, int count, const hk_bvh *bvh, double radius,
                        hk_pair_fn *visit, void *context, int threads)
{
    if (bvh->count == 0) return;
#pragma omp parallel for schedule(dynamic, 64) num_threads(threads)
    for (int32_t b = 0; b < count; b++) {
        query q = {.tree = bvh,
                   .items = &b,
                   .count = 1,
                   .block = -1,
                   .visit = visit,
                   .context = context,
                   .thread = omp_get_thread_num()};
        for (int i = 0; i < 3; i++) {
            q.boxes.low[i][0] = hk_round_down(boxes[b].low[i] - bvh->origin[i] - radius);
            q.boxes.high[i][0] = hk_round_up(boxes[b].high[i] - bvh->origin[i] + radius);
        }
        surround(&q);
        descend(&q);
    }
}

// ---------------------------------------------------------------- lists

// Every thread fills a batch of its own and then takes as much of the common list as it needs. The
// order is sorted out at the end; the number of pairs is counted even when the list is full.
enum { BATCH = 256 };
typedef struct batch {
    int count;
    uint64_t keys[BATCH];
} __attribute__((aligned(64))) batch;

typedef struct collector {
    hk_pair_filter *filter;
    const void *context;
    uint64_t *keys;  // [capacity]
    size_t capacity;
    atomic_size_t count;
    batch *batches;  // [threads]
} collector;

static void hand_over(collector *c, batch *b)
{
    if (b->count == 0) return;
    size_t at = atomic_fetch_add_explicit(&c->count, (size_t)b->count, memory_order_relaxed);
    if (at + (size_t)b->count <= c->capacity)
        memcpy(c->keys + at, b->keys, (size_t)b->count * sizeof b->keys[0]);
    b->count = 0;
}

static void collect(void *context, int thread, int32_t first, int32_t second)
{
    collector *c = context;
    if (c->filter && !c->filter(c->context, first, second)) return;
    batch *b = &c->batches[thread];
    b->keys[b->count++] = (uint64_t)(uint32_t)first << 32 | (uint32_t)second;
    if (b->count == BATCH) hand_over(c, b);
}

void hk_pairs_free(hk_pairs *pairs)
{
    hk_radix_free(&pairs->radix);
    hk_free(pairs->batches);
    *pairs = (hk_pairs){0};
}

// What is asked: boxes, or `bvh` against itself or another.
typedef struct question {
    const hk_box *boxes;
    int box_count;
    const hk_bvh *bvh, *other;
    double radius;
} question;

static void ask(const question *q, collector *c, int threads)
{
    if (q->boxes)
        hk_bvh_visit_boxes(q->boxes, q->box_count, q->bvh, q->radius, collect, c, threads);
    else if (q->other)
        hk_bvh_visit_tree(q->bvh, q->other, q->radius, collect, c, threads);
    else
        hk_bvh_visit_self(q->bvh, q->radius, collect, c, threads);
    for (int t = 0; t < threads; t++) hand_over(c, &c->batches[t]);
}

static hk_status find_pairs(const question *q, hk_pair_filter *filter, const void *context,
                            int threads, hk_pairs *pairs)
{
    pairs->count = 0;
    if (threads > pairs->batch_count) {
        batch *batches = HK_ZEROS(batch, threads);
        if (!batches) return HK_NO_MEMORY;
        hk_free(pairs->batches);
        pairs->batches = batches;
        pairs->batch_count = threads;
    }
    for (;;) {
        HK_TRY(hk_radix_reserve(&pairs->radix, pairs->count, false, threads));
        collector c = {.filter = filter,
                       .context = context,
                       .keys = pairs->radix.keys,
                       .capacity = pairs->radix.capacity,
                       .batches = pairs->batches};
        ask(q, &c, threads);
        pairs->count = atomic_load(&c.count);
        if (pairs->count <= c.capacity) break;
    }
    hk_radix_sort(&pairs->radix, pairs->count, false, threads);
    return HK_OK;
}

hk_status hk_bvh_self_pairs(const hk_bvh *bvh, double radius, hk_pair_filter *filter,
                            const void *context, int threads, hk_pairs *pairs)
{
    const question q = {.bvh = bvh, .radius = radius};
    return find_pairs(&q, filter, context, threads, pairs);
}

hk_status hk_bvh_tree_pairs(const hk_bvh *bvh, const hk_bvh *other, double radius,
                            hk_pair_filter *filter, const void *context, int threads,
                            hk_pairs *pairs)
{
    const question q = {.bvh = bvh, .other = other, .radius = radius};
    return find_pairs(&q, filter, context, threads, pairs);
}

hk_status hk_bvh_box_pairs(const hk_box *boxes, int count, const hk_bvh *bvh, double radius,
                           hk_pair_filter *filter, const void *context, int threads,
                           hk_pairs *pairs)
{
    const question q = {.boxes = boxes, .box_count = count, .bvh = bvh, .radius = radius};
    return count > 0 ? find_pairs(&q, filter, context, threads, pairs) : (pairs->count = 0, HK_OK);
}
