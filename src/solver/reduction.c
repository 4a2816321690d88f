#include "solver/reduction.h"

#include <stdlib.h>

#include "math/closed_volume.h"

// ---------------------------------------------------------------- the pattern

// The blocks of K that a block of H (a vertex) is about: one of its own, or those of its tree.
static int blocks_of(const hk_reduction *r, int32_t block, int32_t *first)
{
    if (r->own[block] >= 0) {
        *first = r->own[block];
        return 1;
    }
    const hk_manifold *m = r->manifold;
    const hk_manifold_tree *t = &m->trees[m->parts[m->part_of[r->assembly->vertex[block]]].tree];
    *first = t->block;  // in of_tree
    return (t->count + 2) / 3;
}

static int32_t number_of(const hk_reduction *r, int32_t block, int32_t first, int k)
{
    return r->own[block] >= 0 ? first : r->of_tree[first + k];
}

static int by_value(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

typedef struct pair_list {
    int64_t count;
    size_t room;
    int64_t *pairs;  // column × 2³² + row
    hk_status status;
} pair_list;

static void add_pair(pair_list *l, int32_t a, int32_t b)
{
    if (a == b || l->status != HK_OK) return;
    int64_t column = a < b ? a : b, row = a < b ? b : a;
    size_t count = (size_t)l->count;
    l->status = hk_reserve((void **)&l->pairs, count, sizeof *l->pairs, &l->room, count + 1);
    if (l->status == HK_OK) l->pairs[l->count++] = column << 32 | row;
}

static void join(const hk_reduction *r, int32_t i, int32_t j, pair_list *l)
{
    int32_t first[2];
    int counts[2] = {blocks_of(r, i, &first[0]), blocks_of(r, j, &first[1])};
    for (int a = 0; a < counts[0]; a++)
        for (int b = 0; b < counts[1]; b++)
            add_pair(l, number_of(r, i, first[0], a), number_of(r, j, first[1], b));
}

// H's block of a corner of cavities' triangles.
static int32_t block_at(const hk_reduction *r, int64_t corner)
{
    const hk_manifold *m = r->manifold;
    return r->block_of[m->cavity_vertex[m->cavity_corner[corner]]];
}

static hk_status list_pairs(const hk_reduction *r, pair_list *l)
{
    const hk_pattern *p = &r->assembly->pattern;
    for (int c = 0; c < p->count; c++) {
        join(r, c, c, l);
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) join(r, c, p->row[k], l);
    }
    const hk_manifold *m = r->manifold;
    for (int64_t k = 0; m->cavities && k < 3 * (int64_t)m->constraints->cavity_triangle_count;
         k++) {
        int32_t a = block_at(r, k), b = block_at(r, k - k % 3 + (k + 1) % 3);
        if (a >= 0 && b >= 0) join(r, a, b, l);
    }
    for (int n = 0; n < m->constraints->tree_count; n++)
        for (int a = 0; a < (m->trees[n].count + 2) / 3; a++)
            for (int b = 0; b < a; b++)
                add_pair(l, r->of_tree[m->trees[n].block + a], r->of_tree[m->trees[n].block + b]);
    return l->status;
}

static hk_status make_pattern(const hk_reduction *r, int count, hk_pattern *to)
{
    pair_list l = {0};
    hk_status status = list_pairs(r, &l);
    int64_t kept = 0;
    if (status == HK_OK && l.count > 0) {
        qsort(l.pairs, (size_t)l.count, sizeof *l.pairs, by_value);
        for (int64_t k = 0; k < l.count; k++)
            if (k == 0 || l.pairs[k] != l.pairs[k - 1]) l.pairs[kept++] = l.pairs[k];
    }
    *to = (hk_pattern){.count = count};
    to->start = HK_ZEROS(int64_t, count + 1);
    to->row = HK_ARRAY(int32_t, kept);
    if (status == HK_OK && (!to->start || !to->row)) status = HK_NO_MEMORY;
    for (int64_t k = 0; k < kept && status == HK_OK; k++) {
        to->start[(l.pairs[k] >> 32) + 1]++;
        to->row[k] = (int32_t)(l.pairs[k] & 0xffffffff);
    }
    for (int c = 0; c < count && status == HK_OK; c++) to->start[c + 1] += to->start[c];
    hk_free(l.pairs);
    if (status != HK_OK) hk_pattern_free(to);
    return status;
}

// Numbers as they come, then in elimination order.
static hk_status number_blocks(hk_reduction *r, bool ordered)
{
    const hk_manifold *m = r->manifold;
    int count = 0, blocks = r->assembly->pattern.count;
    for (int b = 0; b < blocks; b++)
        r->own[b] = m->part_of[r->assembly->vertex[b]] >= 0 ? -1 : count++;
    for (int k = 0; k < m->block_count; k++) r->of_tree[k] = count++;
    hk_pattern plain;
    HK_TRY(make_pattern(r, count, &plain));
    if (!ordered) {
        r->pattern = plain;
        return HK_OK;
    }
    int32_t *order = HK_ARRAY(int32_t, count), *place = HK_ARRAY(int32_t, count);
    hk_status status = order && place ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) status = hk_order_blocks(&plain, order);
    for (int k = 0; k < count && status == HK_OK; k++) place[order[k]] = k;
    for (int b = 0; b < blocks && status == HK_OK; b++)
        if (r->own[b] >= 0) r->own[b] = place[r->own[b]];
    for (int k = 0; k < m->block_count && status == HK_OK; k++)
        r->of_tree[k] = place[r->of_tree[k]];
    hk_free(order);
    hk_free(place);
    hk_pattern_free(&plain);
    return status == HK_OK ? make_pattern(r, count, &r->pattern) : status;
}

static hk_status find_blocks(hk_reduction *r)
{
    int count = r->manifold->model->vertex_count;
    if (!r->manifold->cavities) return HK_OK;
    r->block_of = HK_ARRAY(int32_t, count);
    if (!r->block_of) return HK_NO_MEMORY;
    for (int v = 0; v < count; v++) r->block_of[v] = -1;
    for (int b = 0; b < r->assembly->pattern.count; b++) r->block_of[r->assembly->vertex[b]] = b;
    return HK_OK;
}

static hk_status build(hk_reduction *r, bool ordered)
{
    size_t most = (size_t)hk_max_int(1, r->manifold->most);
    r->own = HK_ARRAY(int32_t, r->assembly->pattern.count);
    r->of_tree = HK_ARRAY(int32_t, r->manifold->block_count);
    r->matrix = HK_ARRAY(double, most *most);
    r->unknowns = HK_ARRAY(double, most);
    if (!r->own || !r->of_tree || !r->matrix || !r->unknowns) return HK_NO_MEMORY;
    HK_TRY(find_blocks(r));
    HK_TRY(number_blocks(r, ordered));
    r->values = HK_ARRAY(double, hk_pattern_size(&r->pattern));
    r->right = HK_ARRAY(double, 3 * (size_t)r->pattern.count);
    return r->values && r->right ? HK_OK : HK_NO_MEMORY;
}

hk_status hk_reduction_create(hk_manifold *manifold, const hk_assembly *assembly, bool ordered,
                              hk_reduction **reduction)
{
    hk_reduction *r = HK_NEW(hk_reduction);
    if (!r) return HK_NO_MEMORY;
    r->manifold = manifold;
    r->assembly = assembly;
    hk_status status = build(r, ordered);
    if (status != HK_OK) {
        hk_reduction_free(r);
        return status;
    }
    *reduction = r;
    return HK_OK;
}

void hk_reduction_free(hk_reduction *r)
{
    if (!r) return;
    hk_pattern_free(&r->pattern);
    hk_free(r->own);
    hk_free(r->of_tree);
    hk_free(r->values);
    hk_free(r->right);
    hk_free(r->matrix);
    hk_free(r->unknowns);
    hk_free(r->block_of);
    hk_free(r);
}

// ---------------------------------------------------------------- the numbers

// The block of K at a pair of block numbers: where the numbers of its columns begin.
static void find_block(hk_reduction *r, int32_t column, int32_t row, double *at[3])
{
    const hk_pattern *p = &r->pattern;
    int64_t low = p->start[column], high = p->start[column + 1];
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (p->row[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    for (int c = 0; c < 3; c++)
        at[c] =
            r->values + hk_pattern_column(p, column, c) + (3 - c) + 3 * (low - p->start[column]);
}

// K_ab += block (rows of a, columns of b), a and b different blocks.
static void add_block(hk_reduction *r, int32_t a, int32_t b, double block[3][3])
{
    double *at[3];
    bool transposed = a < b;
    find_block(r, transposed ? a : b, transposed ? b : a, at);
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 3; i++) at[c][i] += transposed ? block[c][i] : block[i][c];
}

static void add_diagonal_block(hk_reduction *r, int32_t a, double block[3][3])
{
    for (int c = 0; c < 3; c++) {
        double *at = r->values + hk_pattern_column(&r->pattern, a, c);
        for (int i = c; i < 3; i++) at[i - c] += block[i][c];
    }
}

// A vertex's ∂x/∂q for three unknowns of its tree from `first` on; of a vertex of its own 1.
typedef struct vertex_columns {
    int32_t block;  // of H
    int32_t first;
    int blocks;
    const hk_manifold_part *part;  // NULL: none
    int count;                     // unknowns of the tree
    double arm[3];
} vertex_columns;

static vertex_columns columns_of(const hk_reduction *r, int32_t block)
{
    const hk_manifold *m = r->manifold;
    vertex_columns v = {.block = block};
    v.blocks = blocks_of(r, block, &v.first);
    if (r->own[block] >= 0) return v;
    int64_t vertex = r->assembly->vertex[block];
    int part = m->part_of[vertex];
    v.part = &m->parts[part];
    v.count = m->trees[v.part->tree].count;
    hk_manifold_arm(m, part, vertex, v.arm);
    return v;
}

static void three_columns(const vertex_columns *v, int k, double to[3][3])
{
    for (int c = 0; c < 3; c++) {
        double column[3] = {0};
        if (!v->part)
            column[c] = 1;
        else if (3 * k + c < v->count)
            hk_manifold_column(v->part, v->count, 3 * k + c, v->arm, column);
        for (int i = 0; i < 3; i++) to[i][c] = column[i];
    }
}

// to = aᵀ H b
static void between(double a[3][3], double H[3][3], double b[3][3], double to[3][3])
{
    double Hb[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            Hb[i][j] = H[i][0] * b[0][j] + H[i][1] * b[1][j] + H[i][2] * b[2][j];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            to[i][j] = a[0][i] * Hb[0][j] + a[1][i] * Hb[1][j] + a[2][i] * Hb[2][j];
}

// A block of H with rows of vertex i and columns of vertex j; once: it is on H's diagonal. Off it,
// its transpose is there as well.
static void add_reduced(hk_reduction *r, const vertex_columns *i, const vertex_columns *j,
                        double H[3][3], bool once)
{
    if (!i->part && !j->part) {
        if (once)
            add_diagonal_block(r, r->own[i->block], H);
        else
            add_block(r, r->own[i->block], r->own[j->block], H);
        return;
    }
    for (int a = 0; a < i->blocks; a++)
        for (int b = 0; b < j->blocks; b++) {
            int32_t row = number_of(r, i->block, i->first, a);
            int32_t column = number_of(r, j->block, j->first, b);
            double left[3][3], right[3][3], block[3][3];
            three_columns(i, a, left);
            three_columns(j, b, right);
            between(left, H, right, block);
            if (row != column) {
                // Of one tree the transposed pair comes by itself.
                if (!once || row > column) add_block(r, row, column, block);
                continue;
            }
            for (int k = 0; k < 3 && !once; k++)
                for (int l = 0; l <= k; l++) block[k][l] = block[l][k] = block[k][l] + block[l][k];
            add_diagonal_block(r, row, block);
        }
}

static void add_column(hk_reduction *r, const double *lower, int b)
{
    const hk_pattern *p = &r->assembly->pattern;
    const double *column[3];
    double H[3][3];
    vertex_columns own = columns_of(r, b);
    for (int c = 0; c < 3; c++) {
        column[c] = lower + hk_pattern_column(p, b, c);
        for (int i = c; i < 3; i++) H[i][c] = H[c][i] = *column[c]++;
    }
    add_reduced(r, &own, &own, H, true);
    for (int64_t k = p->start[b]; k < p->start[b + 1]; k++) {
        vertex_columns other = columns_of(r, p->row[k]);
        for (int c = 0; c < 3; c++)
            for (int i = 0; i < 3; i++) H[i][c] = *column[c]++;
        add_reduced(r, &other, &own, H, false);
    }
}

// The curvature of a tree, and ones for the unknowns that fill up its last block.
static void add_tree(hk_reduction *r, int tree, const double *gradient)
{
    const hk_manifold *m = r->manifold;
    const hk_manifold_tree *t = &m->trees[tree];
    int blocks = (t->count + 2) / 3, count = t->count;
    memset(r->matrix, 0, sizeof(double) * (size_t)(count * count));
    if (gradient) hk_manifold_add_curvature(m, tree, gradient, r->matrix);
    for (int a = 0; a < blocks; a++)
        for (int b = 0; b <= a; b++) {
            double block[3][3];
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    int k = 3 * a + i, l = 3 * b + j;
                    block[i][j] = k < count && l < count ? r->matrix[k * count + l] : k == l;
                }
            if (a == b)
                add_diagonal_block(r, r->of_tree[t->block + a], block);
            else
                add_block(r, r->of_tree[t->block + a], r->of_tree[t->block + b], block);
        }
}

// −λ ∇²V of one edge of a triangle: with that multiplier the tangent directions see what is of
// second order in the equation V = const.
static void add_edge(hk_reduction *r, const double x[9], int k, int64_t first, double pressure)
{
    const hk_manifold *m = r->manifold;
    int64_t a = first + k, b = first + (k + 1) % 3;
    int32_t row = block_at(r, a), column = block_at(r, b);
    if (row < 0 || column < 0) return;
    double d[3], H[3][3] = {{0}};
    hk_volume_twist(x, k, d);
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, l = (i + 2) % 3;
        H[j][l] = pressure * d[i];
        H[l][j] = -pressure * d[i];
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            if (m->cavity_held[m->cavity_corner[a]] >> i & 1 ||
                m->cavity_held[m->cavity_corner[b]] >> j & 1)
                H[i][j] = 0;
    vertex_columns from = columns_of(r, row), to = columns_of(r, column);
    add_reduced(r, &from, &to, H, false);
}

static void add_cavity(hk_reduction *r, int number, const double *x, const double *gradient)
{
    const hk_manifold *m = r->manifold;
    const hk_manifold_cavity *c = &m->cavities[number];
    double pressure = hk_manifold_pressure(m, number, gradient);
    for (int n = c->triangle_start; n < c->triangle_start + c->triangle_count; n++) {
        double at[9];
        for (int i = 0; i < 3; i++)
            memcpy(at + 3 * i,
                   x + 4 * (int64_t)m->cavity_vertex[m->cavity_corner[3 * (int64_t)n + i]],
                   3 * sizeof(double));
        for (int k = 0; k < 3; k++) add_edge(r, at, k, 3 * (int64_t)n, pressure);
    }
}

void hk_reduction_set(hk_reduction *r, const double *lower, const double *x, const double *gradient)
{
    memset(r->values, 0, sizeof(double) * (size_t)hk_pattern_size(&r->pattern));
    for (int b = 0; b < r->assembly->pattern.count; b++) add_column(r, lower, b);
    for (int n = 0; n < r->manifold->constraints->tree_count; n++) add_tree(r, n, gradient);
    for (int n = 0; n < r->manifold->cavity_count && gradient; n++) add_cavity(r, n, x, gradient);
}

// ---------------------------------------------------------------- vectors

void hk_reduction_positions(const hk_reduction *r, const double *x, double *position)
{
    const hk_manifold *m = r->manifold;
    for (int b = 0; b < r->assembly->pattern.count; b++)
        if (r->own[b] >= 0)
            memcpy(position + 4 * (int64_t)r->own[b], x + 4 * (int64_t)r->assembly->vertex[b],
                   3 * sizeof(double));
    for (int n = 0; n < m->constraints->tree_count; n++) {
        const hk_manifold_tree *t = &m->trees[n];
        const hk_manifold_part *root = &m->parts[m->constraints->order[t->first_part]];
        for (int k = 0; k < (t->count + 2) / 3; k++)
            memcpy(position + 4 * (int64_t)r->of_tree[t->block + k], root->c, sizeof root->c);
    }
}

void hk_reduction_gather(hk_reduction *r, const double *gradient)
{
    const hk_manifold *m = r->manifold;
    memset(r->right, 0, 3 * sizeof(double) * (size_t)r->pattern.count);
    for (int b = 0; b < r->assembly->pattern.count; b++)
        for (int i = 0; i < 3 && r->own[b] >= 0; i++)
            r->right[3 * (int64_t)r->own[b] + i] =
                -gradient[4 * (int64_t)r->assembly->vertex[b] + i];
    for (int n = 0; n < m->constraints->tree_count; n++) {
        const hk_manifold_tree *t = &m->trees[n];
        memset(r->unknowns, 0, sizeof(double) * (size_t)t->count);
        hk_manifold_gather(m, n, gradient, r->unknowns);
        for (int k = 0; k < t->count; k++)
            r->right[3 * (int64_t)r->of_tree[t->block + k / 3] + k % 3] = -r->unknowns[k];
    }
}

void hk_reduction_scatter(hk_reduction *r, double *direction)
{
    const hk_manifold *m = r->manifold;
    for (int b = 0; b < r->assembly->pattern.count; b++)
        for (int i = 0; i < 3 && r->own[b] >= 0; i++)
            direction[4 * (int64_t)r->assembly->vertex[b] + i] =
                r->right[3 * (int64_t)r->own[b] + i];
    for (int n = 0; n < m->constraints->tree_count; n++) {
        const hk_manifold_tree *t = &m->trees[n];
        for (int k = 0; k < t->count; k++)
            r->unknowns[k] = r->right[3 * (int64_t)r->of_tree[t->block + k / 3] + k % 3];
        hk_manifold_scatter(m, n, r->unknowns, direction);
    }
}
