// Nodes of the elimination tree and the groups of them that threads work on.
#include "linear/factor_parts.h"

// ---------------------------------------------------------------- nodes

static int columns_of(const hk_supernodes *s, int k)
{
    return s->first[k + 1] - s->first[k];
}

// Wide supernodes are cut into equal pieces of whole blocks.
static int piece_width(int columns)
{
    int pieces = (columns + MOST_COLUMNS - 1) / MOST_COLUMNS;
    return ((columns + pieces - 1) / pieces + ROWS - 1) / ROWS * ROWS;
}

static int64_t values_of(int columns, int rows)
{
    int64_t sum = 0;
    for (int at = 0; at < columns; at += CHUNK)
        sum += (int64_t)hk_min_int(columns - at, CHUNK) * (rows - at / ROWS * ROWS);
    return sum;
}

static void add_node(hk_factor *t, const hk_supernodes *s, int k, int column, int width)
{
    node *n = &t->nodes[t->node_count++];
    n->source = k;
    n->source_column = column;
    n->first = s->first[k] + column;
    n->last = n->first + width;
    n->rows = (hk_supernode_rows(s, k) - column + HALF - 1) / HALF * HALF;
    n->row = t->row_count;
    n->value = t->value_count;
    t->row_count += n->rows;
    n->value_count = (int32_t)values_of(width, n->rows);
    t->value_count += (n->value_count + ROWS - 1) / ROWS * ROWS;  // blocks are aligned
    int64_t workspace = 3 * ((int64_t)n->rows + ROWS);
    t->workspace_size = workspace > t->workspace_size ? workspace : t->workspace_size;
}

static hk_status list_nodes(hk_factor *t, const hk_supernodes *s)
{
    int64_t count = 0;
    for (int k = 0; k < s->count; k++)
        count += (columns_of(s, k) + MOST_COLUMNS - 1) / MOST_COLUMNS;
    t->nodes = HK_ZEROS(node, count);
    if (!t->nodes) return HK_NO_MEMORY;
    for (int k = 0; k < s->count; k++) {
        int columns = columns_of(s, k), step = piece_width(columns);
        for (int at = 0; at < columns; at += step)
            add_node(t, s, k, at, hk_min_int(columns - at, step));
    }
    t->workspace_size = (t->workspace_size + ROWS - 1) / ROWS * ROWS;
    return HK_OK;
}

// The node of every unknown, then of every node's first row below.
static void find_parents(hk_factor *t, const hk_supernodes *s, int32_t *owner)
{
    for (int k = 0; k < t->node_count; k++)
        for (int c = t->nodes[k].first; c < t->nodes[k].last; c++) owner[c] = k;
    for (int k = 0; k < t->node_count; k++) {
        node *n = &t->nodes[k];
        int next = n->source_column + n->last - n->first;
        bool any = next < hk_supernode_rows(s, n->source);
        n->parent = any ? owner[s->row[s->row_start[n->source] + next]] : -1;
    }
}

// ---------------------------------------------------------------- groups

// A subtree is opened, so that its root becomes a group of its own, if it is heavier than this
// part of the whole, and heavy enough to be worth the way to another thread.
enum { SHARES = 16, LEAST_WEIGHT = 200000 };

// What each node costs (per pass, in numbers), and with all below it; and its children.
static void weigh(const hk_factor *t, int64_t *own, int64_t *whole, int32_t *children)
{
    for (int k = 0; k < t->node_count; k++) {
        const node *n = &t->nodes[k];
        own[k] = whole[k] = values_of(n->last - n->first, n->rows) + 6 * (int64_t)n->rows + 100;
        children[k] = 0;
    }
    for (int k = 0; k < t->node_count; k++) {  // children come before their parents
        int parent = t->nodes[k].parent;
        if (parent < 0) continue;
        whole[parent] += whole[k];
        children[parent]++;
    }
}

// Which group each node belongs to, from the roots down. A node that is opened continues the group
// of its parent where it is the only child; light subtrees of one parent share groups (in
// postorder a subtree is counted whole before its neighbour comes).
static hk_status assign_groups(hk_factor *t, const int64_t *own, const int64_t *whole,
                               const int32_t *children, int32_t *group_of, bool *open)
{
    int64_t total = 0;
    for (int k = 0; k < t->node_count; k++) total += own[k];
    int64_t limit = total / SHARES > LEAST_WEIGHT ? total / SHARES : LEAST_WEIGHT;
    if (total < 3 * LEAST_WEIGHT) limit = total;
    int32_t *bundle = HK_ARRAY(int32_t, t->node_count + 1);  // by parent's group + 1
    if (!bundle) return HK_NO_MEMORY;
    for (int k = 0; k <= t->node_count; k++) bundle[k] = -1;
    for (int k = t->node_count - 1; k >= 0; k--) {
        int parent = t->nodes[k].parent;
        if (parent >= 0 && !open[parent]) {
            group_of[k] = group_of[parent];
            t->groups[group_of[k]].weight += own[k];
            continue;
        }
        int above = parent >= 0 ? group_of[parent] : -1;
        open[k] = whole[k] > limit && children[k] > 0;
        bool chain = open[k] && parent >= 0 && children[parent] == 1;
        int g = chain ? above : open[k] ? -1 : bundle[above + 1];
        if (g >= 0 && !chain && t->groups[g].weight + whole[k] > limit) g = -1;
        if (g < 0) {
            g = t->group_count++;
            t->groups[g] = (group){.parent = above};
            if (!open[k]) bundle[above + 1] = g;
        }
        t->groups[g].weight += own[k];
        group_of[k] = g;
    }
    hk_free(bundle);
    return HK_OK;
}

static void list_group_nodes(hk_factor *t, const int32_t *group_of)
{
    for (int k = 0; k < t->node_count; k++) t->groups[group_of[k]].node_end++;
    int at = 0;
    for (int g = 0; g < t->group_count; g++) {
        group *each = &t->groups[g];
        int count = each->node_end;
        each->node_begin = each->node_end = at;
        at += count;
    }
    for (int k = 0; k < t->node_count; k++) t->group_node[t->groups[group_of[k]].node_end++] = k;
}

// Parents have lower numbers than their children.
static void list_children(hk_factor *t)
{
    for (int g = 0; g < t->group_count; g++)
        if (t->groups[g].parent >= 0) t->groups[t->groups[g].parent].child_end++;
    int at = 0;
    for (int g = 0; g < t->group_count; g++) {
        int count = t->groups[g].child_end;
        t->groups[g].child_begin = t->groups[g].child_end = at;
        at += count;
    }
    for (int g = t->group_count - 1; g >= 0; g--) {
        const group *each = &t->groups[g];
        if (each->parent < 0) continue;
        group *parent = &t->groups[each->parent];
        t->child[parent->child_end++] = g;
    }
}

// ---------------------------------------------------------------- places of rows

// The rows outside its group that node n has, in order: seen[row] is then its place in x.
static void place_node(hk_factor *t, const hk_supernodes *s, const node *n, int g,
                       const int32_t *owner, const int32_t *group_of, int32_t *seen)
{
    const int *rows = s->row + s->row_start[n->source] + n->source_column;
    int real = hk_supernode_rows(s, n->source) - n->source_column;
    for (int r = 0; r < n->rows; r++) {
        int32_t at = r < real ? rows[r] : n->first;
        if (r < real && group_of[owner[at]] != g) {
            if (seen[at] < t->count + t->groups[g].left_begin) {
                t->left[t->left_count] = at;
                seen[at] = (int32_t)(t->count + t->left_count++);
            }
            at = seen[at];
        }
        t->row[n->row + r] = at;
    }
}

// left[] holds unknowns until here: now where the parent has them.
static hk_status place_left(hk_factor *t, const int32_t *owner, const int32_t *group_of,
                            int32_t *seen)
{
    for (int k = 0; k < t->count; k++) seen[k] = -1;
    // From the leaves up (children have higher numbers): the list of a parent is needed as it is.
    for (int g = t->group_count - 1; g >= 0; g--) {
        const group *parent = &t->groups[g];
        for (int e = parent->left_begin; e < parent->left_end; e++) seen[t->left[e]] = e;
        for (int c = parent->child_begin; c < parent->child_end; c++) {
            const group *child = &t->groups[t->child[c]];
            for (int e = child->left_begin; e < child->left_end; e++) {
                int32_t at = t->left[e];
                if (group_of[owner[at]] == g) continue;
                if (seen[at] < parent->left_begin || seen[at] >= parent->left_end)
                    return hk_fail(HK_INTERNAL, "row %d of the factor is not in the tree", at);
                t->left[e] = t->count + seen[at];
            }
        }
    }
    return HK_OK;
}

static int64_t most_left(const hk_factor *t, const hk_supernodes *s)
{
    // Each group has at most the rows below of its nodes, and at most all unknowns.
    int64_t sum = 0;
    for (int g = 0; g < t->group_count; g++) {
        int64_t rows = 0;
        for (int k = t->groups[g].node_begin; k < t->groups[g].node_end; k++) {
            const node *n = &t->nodes[t->group_node[k]];
            rows += hk_supernode_rows(s, n->source) - n->source_column - (n->last - n->first);
        }
        sum += rows < t->count ? rows : t->count;
    }
    return sum;
}

static hk_status place_rows(hk_factor *t, const hk_supernodes *s, const int32_t *owner,
                            const int32_t *group_of)
{
    int64_t most = most_left(t, s);
    if (most + t->count > INT32_MAX) return hk_fail(HK_UNSUPPORTED, "the factor is too large");
    t->row = HK_ARRAY(int32_t, t->row_count);
    t->left = HK_ARRAY(int32_t, most);
    int32_t *seen = HK_ARRAY(int32_t, t->count);
    hk_status status = t->row && t->left && seen ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        for (int k = 0; k < t->count; k++) seen[k] = -1;
        for (int g = 0; g < t->group_count; g++) {
            group *each = &t->groups[g];
            each->left_begin = (int)t->left_count;
            for (int k = each->node_begin; k < each->node_end; k++)
                place_node(t, s, &t->nodes[t->group_node[k]], g, owner, group_of, seen);
            each->left_end = (int)t->left_count;
        }
        status = place_left(t, owner, group_of, seen);
    }
    hk_free(seen);
    return status;
}

static hk_status find_groups(hk_factor *t, int32_t *group_of)
{
    int64_t *weight = HK_ARRAY(int64_t, 2 * (size_t)t->node_count);
    int32_t *children = HK_ARRAY(int32_t, t->node_count);
    bool *open = HK_ZEROS(bool, t->node_count);
    hk_status status = weight && children && open ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        weigh(t, weight, weight + t->node_count, children);
        status = assign_groups(t, weight, weight + t->node_count, children, group_of, open);
    }
    hk_free(weight);
    hk_free(children);
    hk_free(open);
    if (status != HK_OK) return status;
    list_group_nodes(t, group_of);
    list_children(t);
    return HK_OK;
}

hk_status hk_factor_plan(hk_factor *t, const hk_supernodes *s)
{
    t->count = s->first[s->count];
    HK_TRY(list_nodes(t, s));
    t->groups = HK_ZEROS(group, t->node_count);
    t->group_node = HK_ARRAY(int32_t, t->node_count);
    t->child = HK_ARRAY(int32_t, t->node_count);
    int32_t *owner = HK_ARRAY(int32_t, t->count), *group_of = HK_ARRAY(int32_t, t->node_count);
    bool all = t->groups && t->group_node && t->child && owner && group_of;
    hk_status status = all ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        find_parents(t, s, owner);
        status = find_groups(t, group_of);
    }
    if (status == HK_OK) status = place_rows(t, s, owner, group_of);
    hk_free(owner);
    hk_free(group_of);
    return status;
}
