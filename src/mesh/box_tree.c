#include "mesh/box_tree.h"

#include <math.h>

#include "mesh/mesh.h"

enum { LEAF = 4 };          // items of a leaf, at most twice as many
enum { DEEPEST = 2 * 31 };  // nodes that can wait while others are looked at

// fmin and fmax are calls, for the sake of NaNs.
#define LESSER(a, b)  ((a) < (b) ? (a) : (b))
#define GREATER(a, b) ((a) > (b) ? (a) : (b))

static void join(const hk_box *a, const hk_box *b, hk_box *joined)
{
    for (int i = 0; i < 3; i++) {
        joined->low[i] = LESSER(a->low[i], b->low[i]);
        joined->high[i] = GREATER(a->high[i], b->high[i]);
    }
}

static int leaf_start(const hk_box_tree *t, int leaf)
{
    return (int)((int64_t)leaf * t->item_count / t->leaf_count);
}

static hk_status sort_items(hk_box_tree *t, const hk_box *boxes)
{
    double *middle = HK_ARRAY(double, 3 * (size_t)t->item_count);
    if (!middle) return HK_NO_MEMORY;
    for (int k = 0; k < t->item_count; k++)
        for (int i = 0; i < 3; i++)
            middle[3 * (int64_t)k + i] = boxes[k].low[i] / 2 + boxes[k].high[i] / 2;
    hk_status status = hk_morton_order(t->item_count, middle, t->items);
    hk_free(middle);
    return status;
}

static void enclose(hk_box_tree *t, const hk_box *boxes)
{
    for (int k = 0; k < t->item_count; k++) t->boxes[k] = boxes[t->items[k]];
    for (int leaf = 0; leaf < t->leaf_count; leaf++) {
        hk_box *node = &t->nodes[t->leaf_count - 1 + leaf];
        int first = leaf_start(t, leaf), last = leaf_start(t, leaf + 1);
        *node = t->boxes[first];
        for (int k = first + 1; k < last; k++) join(node, &t->boxes[k], node);
    }
    for (int k = t->leaf_count - 2; k >= 0; k--)
        join(&t->nodes[2 * (int64_t)k + 1], &t->nodes[2 * (int64_t)k + 2], &t->nodes[k]);
}

hk_status hk_box_tree_build(hk_box_tree *t, int item_count, const hk_box *boxes)
{
    *t = (hk_box_tree){.item_count = item_count, .leaf_count = 1};
    while (t->leaf_count <= item_count / (2 * LEAF)) t->leaf_count *= 2;
    t->items = HK_ARRAY(int32_t, item_count);
    t->boxes = HK_ARRAY(hk_box, item_count);
    t->nodes = HK_ARRAY(hk_box, 2 * (size_t)t->leaf_count - 1);
    hk_status status = t->items && t->boxes && t->nodes ? sort_items(t, boxes) : HK_NO_MEMORY;
    if (status != HK_OK) {
        hk_box_tree_release(t);
        return status;
    }
    enclose(t, boxes);
    return HK_OK;
}

void hk_box_tree_release(hk_box_tree *t)
{
    hk_free(t->items);
    hk_free(t->boxes);
    hk_free(t->nodes);
    *t = (hk_box_tree){0};
}

static double distance2(const hk_box *box, const double p[3])
{
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double out = GREATER(box->low[i] - p[i], p[i] - box->high[i]);
        out = GREATER(out, 0);
        sum += out * out;
    }
    return sum;
}

typedef struct waiting {
    int node;
    double away2;
} waiting;

void hk_box_tree_visit(const hk_box_tree *t, const double p[3], const double *reach2,
                       hk_box_tree_fn *visit, void *context)
{
    waiting stack[DEEPEST];
    int depth = 0;
    stack[depth++] = (waiting){0, distance2(&t->nodes[0], p)};
    while (depth > 0) {
        waiting next = stack[--depth];
        if (next.away2 > *reach2) continue;
        int leaf = next.node - (t->leaf_count - 1);
        if (leaf >= 0) {
            for (int k = leaf_start(t, leaf), last = leaf_start(t, leaf + 1); k < last; k++)
                if (distance2(&t->boxes[k], p) <= *reach2) visit(context, t->items[k]);
            continue;
        }
        int left = 2 * next.node + 1;
        waiting a = {left, distance2(&t->nodes[left], p)};
        waiting b = {left + 1, distance2(&t->nodes[left + 1], p)};
        bool left_first = a.away2 <= b.away2;
        stack[depth++] = left_first ? b : a;
        stack[depth++] = left_first ? a : b;
    }
}
