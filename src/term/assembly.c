#include "term/assembly.h"

#include <stdatomic.h>
#include <stdlib.h>

// A 3×3 block of an element and where it goes.
typedef struct contribution {
    int32_t column, row;  // blocks, row ≥ column
    int64_t source;
} contribution;

// The blocks of all elements whose two vertices are free: counted by row (`to` is NULL), or stored
// so.
enum { NO_SOURCE = -1 };  // of elements of a world: a place in the pattern, and no more
typedef struct lister {
    bool live;
    const hk_assembly *assembly;
    const hk_assembly_term *term;
    int64_t first_value;  // of the term
    int64_t part;         // the next one
    int64_t count;
    int64_t *next;
    contribution *to;
} lister;

static void list_stencil(void *context, const hk_stencil *s)
{
    lister *l = context;
    for (int a = 0, pair = 0; a < s->count; a++)
        for (int b = a; b < s->count; b++, pair++, l->part++) {
            int32_t i = l->assembly->unknown[s->vertex[a]], j = l->assembly->unknown[s->vertex[b]];
            if (i < 0 || j < 0) continue;
            l->count++;
            // The stored block has rows of vertex i: wanted are rows of the larger number.
            bool transposed = i < j;
            int32_t column = transposed ? i : j, row = transposed ? j : i;
            if (!l->to) {
                l->next[row + 1]++;
                continue;
            }
            int64_t at = l->first_value + s->at + 9 * (int64_t)pair * s->stride;
            int64_t source =
                l->live ? NO_SOURCE : l->term->first + (s->factor ? l->part : 2 * at + transposed);
            l->to[l->next[row]++] = (contribution){column, row, source};
        }
}

static int64_t list_contributions(const hk_assembly *a, const hk_terms *terms, int64_t *next,
                                  contribution *to)
{
    lister l = {.assembly = a, .term = a->terms, .next = next, .to = to};
    for (int k = 0; k < terms->count; k++) {
        const hk_term *term = terms->term[k];
        if (!term->ops->stencils) continue;
        l.first_value = terms->block_start[k];
        l.part = 0;
        term->ops->stencils(term, list_stencil, &l);
        l.term++;
    }
    l.live = true;
    for (size_t k = 0; a->joined && k < a->joined->count; k++)
        list_stencil(&l, &(hk_stencil){.vertex = a->joined->pairs[k], .count = 2});
    if (a->joined) return l.count;
    hk_live_stencils(terms->model, terms->live, list_stencil, &l);
    hk_terms_moving_stencils(terms, list_stencil, &l);
    return l.count;
}

static int by_source(const void *left, const void *right)
{
    const contribution *a = left, *b = right;
    return a->source < b->source ? -1 : a->source > b->source;
}

// Few, and nearly in order: as they come from the terms, and those without a source at last.
static void sort_block(contribution *list, int64_t count)
{
    enum { MANY = 64 };
    while (count > 0 && list[count - 1].source == NO_SOURCE) count--;
    if (count > MANY) {
        qsort(list, (size_t)count, sizeof *list, by_source);
        return;
    }
    for (int64_t k = 1; k < count; k++) {
        contribution own = list[k];
        int64_t at = k;
        for (; at > 0 && list[at - 1].source > own.source; at--) list[at] = list[at - 1];
        list[at] = own;
    }
}

static void sort_column(contribution *list, int64_t count)
{
    for (int64_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && list[end].row == list[first].row;) end++;
        sort_block(list + first, end - first);
    }
}

// `start` with counts from its third entry on becomes starts that filling through start + 1 leaves
// in place.
static void sum_starts(int count, int64_t *start)
{
    for (int c = 0; c < count; c++) start[c + 2] += start[c + 1];
}

// Contributions by column, then row, then source; column_start has count + 1 entries. By rows first
// and then by columns, each in the order in which they come: no comparisons but within a block.
static hk_status sort_contributions(const hk_assembly *a, const hk_terms *terms, int count,
                                    contribution **sorted, int64_t **column_start)
{
    int64_t *row_start = HK_ZEROS(int64_t, count + 2), *start = HK_ZEROS(int64_t, count + 2);
    int64_t total = 0;
    if (row_start && start) total = list_contributions(a, terms, row_start + 1, NULL);
    contribution *by_rows = HK_ARRAY(contribution, total), *list = HK_ARRAY(contribution, total);
    bool complete = row_start && start && by_rows && list;
    if (complete) {
        sum_starts(count, row_start);
        list_contributions(a, terms, row_start + 1, by_rows);
        for (int64_t k = 0; k < total; k++) start[by_rows[k].column + 2]++;
        sum_starts(count, start);
        for (int64_t k = 0; k < total; k++) list[start[by_rows[k].column + 1]++] = by_rows[k];
#pragma omp parallel for schedule(static, 256) num_threads(a->threads)
        for (int c = 0; c < count; c++) sort_column(list + start[c], start[c + 1] - start[c]);
    }
    hk_free(row_start);
    hk_free(by_rows);
    *sorted = list;
    *column_start = start;
    if (complete) return HK_OK;
    hk_free(list);
    hk_free(start);
    return HK_NO_MEMORY;
}

// Block rows below the diagonal of every column.
static hk_status make_pattern(const contribution *list, const int64_t *column_start, int count,
                              hk_pattern *pattern)
{
    int64_t blocks = 0;
    for (int64_t k = 0; k < column_start[count]; k++)
        blocks += list[k].row != list[k].column && (k == 0 || list[k].row != list[k - 1].row ||
                                                    list[k].column != list[k - 1].column);
    pattern->count = count;
    pattern->start = HK_ZEROS(int64_t, count + 1);
    pattern->row = HK_ARRAY(int32_t, blocks);
    if (!pattern->start || !pattern->row) {
        hk_pattern_free(pattern);
        return HK_NO_MEMORY;
    }
    int64_t at = 0;
    for (int c = 0; c < count; c++) {
        for (int64_t k = column_start[c]; k < column_start[c + 1]; k++)
            if (list[k].row != c &&
                (at == pattern->start[c] || pattern->row[at - 1] != list[k].row))
                pattern->row[at++] = list[k].row;
        pattern->start[c + 1] = at;
    }
    return HK_OK;
}

// Lists of sources: block column by block column, the diagonal block first.
static hk_status make_sources(const contribution *list, const int64_t *column_start, hk_assembly *a)
{
    int count = a->pattern.count;
    int64_t total = column_start[count], blocks = count + a->pattern.start[count];
    a->source_start = HK_ARRAY(int64_t, blocks + 1);
    a->source = HK_ARRAY(int64_t, total);
    if (!a->source_start || !a->source) return HK_NO_MEMORY;
    int64_t block = 0, at = 0;
    for (int c = 0; c < count; c++) {
        int32_t last = -1;
        // A vertex of no element has a diagonal block all the same.
        if (column_start[c] == column_start[c + 1]) a->source_start[block++] = at;
        for (int64_t k = column_start[c]; k < column_start[c + 1]; k++) {
            if (list[k].row != last) a->source_start[block++] = at;
            last = list[k].row;
            if (list[k].source != NO_SOURCE) a->source[at++] = list[k].source;
        }
    }
    a->source_start[block] = at;
    return HK_OK;
}

// What the stencils of a term are like, and its factored parts in the order of list_stencil.
typedef struct surveyor {
    hk_assembly_term *term;
    int64_t first_value, pairs;
    bool store;
} surveyor;

static void survey_stencil(void *context, const hk_stencil *s)
{
    surveyor *f = context;
    int64_t pairs = (int64_t)s->count * (s->count + 1) / 2;
    if (!f->store) {
        f->term->stride = s->factor ? 0 : s->stride;
        f->pairs += pairs;
        return;
    }
    for (int a = 0; a < s->count; a++)
        for (int b = a; b < s->count; b++)
            f->term->parts[f->pairs++] =
                (hk_factored_part){f->first_value + s->at, s->factor[a] * s->factor[b]};
}

static hk_status survey_term(const hk_terms *terms, int k, hk_assembly_term *to)
{
    const hk_term *term = terms->term[k];
    surveyor f = {.term = to, .first_value = terms->block_start[k]};
    term->ops->stencils(term, survey_stencil, &f);
    bool factored = f.pairs > 0 && to->stride == 0;
    if (factored) {
        to->parts = HK_ARRAY(hk_factored_part, f.pairs);
        if (!to->parts) return HK_NO_MEMORY;
    }
    to[1].first = to->first + (factored ? f.pairs : 2 * terms->block_start[k + 1]);
    if (!factored) return HK_OK;
    f.store = true;
    f.pairs = 0;
    term->ops->stencils(term, survey_stencil, &f);
    return HK_OK;
}

static hk_status survey_terms(const hk_terms *terms, hk_assembly *a)
{
    a->terms = HK_ZEROS(hk_assembly_term, terms->count + 1);
    if (!a->terms) return HK_NO_MEMORY;
    for (int k = 0; k < terms->count; k++)
        if (terms->term[k]->ops->stencils)
            HK_TRY(survey_term(terms, k, &a->terms[a->term_count++]));
    return HK_OK;
}

// Numbers the free vertices, first as they come, then, if asked for, in elimination order.
static hk_status number_unknowns(const hk_terms *terms, const uint8_t *held, bool ordered,
                                 hk_assembly *a, int *count)
{
    *count = 0;
    for (int v = 0; v < terms->vertex_count; v++) {
        bool out = held && held[v];
        a->unknown[v] = out ? -1 : *count;
        if (!out) a->vertex[(*count)++] = v;
    }
    if (!ordered) return HK_OK;
    contribution *list;
    int64_t *start;
    HK_TRY(sort_contributions(a, terms, *count, &list, &start));
    hk_pattern first = {0};
    hk_status status = make_pattern(list, start, *count, &first);
    hk_free(list);
    hk_free(start);
    if (status != HK_OK) return status;
    int32_t *order = HK_ARRAY(int32_t, *count), *old = HK_ARRAY(int32_t, *count);
    status = order && old ? hk_order_blocks(&first, order) : HK_NO_MEMORY;
    if (status == HK_OK) {
        memcpy(old, a->vertex, sizeof(int32_t) * (size_t)*count);
        for (int k = 0; k < *count; k++) {
            a->vertex[k] = old[order[k]];
            a->unknown[a->vertex[k]] = k;
        }
    }
    hk_free(order);
    hk_free(old);
    hk_pattern_free(&first);
    return status;
}

static hk_status build(const hk_terms *terms, const uint8_t *held, bool ordered, hk_assembly *a)
{
    a->threads = terms->threads;
    a->unknown = HK_ARRAY(int32_t, terms->vertex_count);
    a->vertex = HK_ARRAY(int32_t, terms->vertex_count);
    if (!a->unknown || !a->vertex) return HK_NO_MEMORY;
    int count;
    HK_TRY(survey_terms(terms, a));
    HK_TRY(number_unknowns(terms, held, ordered, a, &count));
    contribution *list;
    int64_t *start;
    HK_TRY(sort_contributions(a, terms, count, &list, &start));
    hk_status status = make_pattern(list, start, count, &a->pattern);
    if (status == HK_OK) status = make_sources(list, start, a);
    hk_free(list);
    hk_free(start);
    return status;
}

static bool are_vertices(const hk_joined *joined, int vertex_count)
{
    for (size_t k = 0; k < joined->count; k++)
        for (int i = 0; i < 2; i++)
            if (joined->pairs[k][i] < 0 || joined->pairs[k][i] >= vertex_count) return false;
    return true;
}

hk_status hk_assembly_create_joined(const hk_terms *terms, const uint8_t *held, bool ordered,
                                    const hk_joined *joined, hk_assembly **assembly)
{
    if (joined && !are_vertices(joined, terms->vertex_count))
        return hk_fail(HK_BAD_INPUT, "a pattern of matrices joins vertices that are not there");
    hk_assembly *a = HK_NEW(hk_assembly);
    if (!a) return HK_NO_MEMORY;
    a->joined = joined;
    hk_status status = build(terms, held, ordered, a);
    a->joined = NULL;
    if (status != HK_OK) {
        hk_assembly_free(a);
        return status;
    }
    *assembly = a;
    return HK_OK;
}

hk_status hk_assembly_create(const hk_terms *terms, const uint8_t *held, hk_assembly **assembly)
{
    return hk_assembly_create_joined(terms, held, held != NULL, NULL, assembly);
}

hk_status hk_assembly_create_unordered(const hk_terms *terms, const uint8_t *held,
                                       hk_assembly **assembly)
{
    return hk_assembly_create_joined(terms, held, false, NULL, assembly);
}

hk_status hk_assembly_list_joined(const hk_assembly *a, hk_joined *joined)
{
    const hk_pattern *p = &a->pattern;
    joined->count = joined->room = (size_t)p->start[p->count];
    joined->pairs = hk_alloc(joined->room, sizeof *joined->pairs);
    if (!joined->pairs) return HK_NO_MEMORY;
    for (int c = 0; c < p->count; c++)
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            joined->pairs[k][0] = a->vertex[c];
            joined->pairs[k][1] = a->vertex[p->row[k]];
        }
    return HK_OK;
}

void hk_assembly_free(hk_assembly *a)
{
    if (!a) return;
    hk_pattern_free(&a->pattern);
    hk_free(a->unknown);
    hk_free(a->vertex);
    hk_free(a->source_start);
    hk_free(a->source);
    for (int k = 0; a->terms && k < a->term_count; k++) hk_free(a->terms[k].parts);
    hk_free(a->terms);
    hk_free(a);
}

static void add_dense(const double *from, int stride, bool transposed, double sum[9])
{
    if (transposed)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) sum[3 * i + j] += from[(3 * j + i) * stride];
    else
        for (int k = 0; k < 9; k++) sum[k] += from[k * stride];
}

static void sum_block(const hk_assembly *a, const double *blocks, int64_t block, double sum[9])
{
    static const int symmetric[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    const hk_assembly_term *term = a->terms;
    for (int k = 0; k < 9; k++) sum[k] = 0;
    int64_t s = a->source_start[block], end = a->source_start[block + 1];
    while (s < end) {
        for (; s < end && !term->parts && a->source[s] < term[1].first; s++) {
            int64_t source = a->source[s] - term->first;
            add_dense(blocks + (source >> 1), term->stride, source & 1, sum);
        }
        for (; s < end && term->parts && a->source[s] < term[1].first; s++) {
            const hk_factored_part *part = &term->parts[a->source[s] - term->first];
            for (int k = 0; k < 9; k++) sum[k] += part->factor * blocks[part->block + symmetric[k]];
        }
        term++;
    }
}

static void assemble_column(const hk_assembly *a, const double *blocks, double weight, int b,
                            double *values)
{
    const hk_pattern *p = &a->pattern;
    double *column[3], sum[9];
    for (int c = 0; c < 3; c++) column[c] = values + hk_pattern_column(p, b, c);
    int64_t block = b + p->start[b];
    sum_block(a, blocks, block++, sum);
    for (int c = 0; c < 3; c++) {
        sum[3 * c + c] += weight;
        for (int r = c; r < 3; r++) *column[c]++ = sum[3 * r + c];
    }
    for (int64_t k = p->start[b]; k < p->start[b + 1]; k++) {
        sum_block(a, blocks, block++, sum);
        for (int c = 0; c < 3; c++)
            for (int r = 0; r < 3; r++) *column[c]++ = sum[3 * r + c];
    }
}

void hk_assemble(const hk_assembly *a, const double *blocks, const double *weight, double *values)
{
#pragma omp parallel for schedule(static, 256) num_threads(a->threads)
    for (int b = 0; b < a->pattern.count; b++)
        assemble_column(a, blocks, weight[a->vertex[b]], b, values);
}

// ---------------------------------------------------------------- elements of a world

typedef struct live_adder {
    const hk_assembly *assembly;
    double *values;
    atomic_bool missing;  // one of them has no place
} live_adder;

// Row block r of block column c, by its number among those below the diagonal; -1: it has none.
static int64_t find_below(const hk_pattern *p, int32_t c, int32_t r)
{
    // Without branches, which nobody could predict.
    const int32_t *row = p->row + p->start[c], *at = row;
    int64_t count = p->start[c + 1] - p->start[c];
    if (count == 0) return -1;
    for (; count > 1; count -= count / 2) at += at[count / 2] <= r ? count / 2 : 0;
    return *at == r ? at - row : -1;
}

typedef struct live_finder {
    const hk_assembly *assembly;
    bool missing;
} live_finder;

static void find_live(void *context, const hk_stencil *s)
{
    live_finder *f = context;
    for (int a = 0; a < s->count; a++)
        for (int b = a + 1; b < s->count; b++) {
            int32_t i = f->assembly->unknown[s->vertex[a]], j = f->assembly->unknown[s->vertex[b]];
            if (i < 0 || j < 0) continue;
            f->missing |= find_below(&f->assembly->pattern, hk_min_int(i, j), hk_max_int(i, j)) < 0;
        }
}

bool hk_assembly_has_live(const hk_assembly *a, const hk_terms *terms)
{
    live_finder f = {a, false};
    hk_live_stencils(terms->model, terms->live, find_live, &f);
    hk_terms_moving_stencils(terms, find_live, &f);
    return !f.missing;
}

// The lower half of one on the diagonal.
static void add_to_diagonal(const hk_pattern *p, int32_t column, const double block[9],
                            double *values)
{
    for (int c = 0; c < 3; c++) {
        double *to = values + hk_pattern_column(p, column, c);
        for (int r = c; r < 3; r++) to[r - c] += block[3 * r + c];
    }
}

static void add_below(const hk_pattern *p, int32_t column, int64_t below, const double block[9],
                      double *values)
{
    for (int c = 0; c < 3; c++) {
        double *to = values + hk_pattern_column(p, column, c) + 3 - c + 3 * below;
        for (int r = 0; r < 3; r++) to[r] += block[3 * r + c];
    }
}

static void add_below_transposed(const hk_pattern *p, int32_t column, int64_t below,
                                 const double block[9], double *values)
{
    for (int c = 0; c < 3; c++) {
        double *to = values + hk_pattern_column(p, column, c) + 3 - c + 3 * below;
        for (int r = 0; r < 3; r++) to[r] += block[3 * c + r];
    }
}

static void add_live_block(void *context, int32_t a, int32_t b, const double block[9])
{
    live_adder *l = context;
    const hk_pattern *p = &l->assembly->pattern;
    int32_t i = l->assembly->unknown[a], j = l->assembly->unknown[b];
    if (i < 0 || j < 0) return;
    if (i == j) {
        add_to_diagonal(p, i, block, l->values);
        return;
    }
    int32_t column = hk_min_int(i, j);
    int64_t below = find_below(p, column, hk_max_int(i, j));
    if (below < 0)
        atomic_store_explicit(&l->missing, true, memory_order_relaxed);
    else if (i < j)
        add_below_transposed(p, column, below, block, l->values);
    else
        add_below(p, column, below, block, l->values);
}

bool hk_assemble_live(const hk_assembly *a, hk_terms *terms, const double *x, double keep,
                      double *values)
{
    live_adder l = {.assembly = a, .values = values};
    hk_terms_visit_blocks(terms, x, keep, a->threads, add_live_block, &l);
    return !atomic_load(&l.missing);
}

// ---------------------------------------------------------------- fixes by axis

// Column c of block column b: the diagonal, what is below it in its block, and the rows' blocks.
static void hold_in_column(const hk_assembly *a, const uint8_t *axes, int b, int c, double *lower)
{
    const hk_pattern *p = &a->pattern;
    double *at = lower + hk_pattern_column(p, b, c);
    int own = axes[a->vertex[b]];
    bool whole = own >> c & 1;
    if (whole && !(*at > 0)) *at = 1;
    at++;
    for (int i = c + 1; i < 3; i++, at++)
        if (whole || own >> i & 1) *at = 0;
    for (int64_t e = p->start[b]; e < p->start[b + 1]; e++) {
        int other = axes[a->vertex[p->row[e]]];
        for (int i = 0; i < 3; i++, at++)
            if (whole || other >> i & 1) *at = 0;
    }
}

void hk_assembly_hold_axes(const hk_assembly *a, const uint8_t *axes, double *lower)
{
    for (int b = 0; axes && b < a->pattern.count; b++)
        for (int c = 0; c < 3; c++) hold_in_column(a, axes, b, c, lower);
}
