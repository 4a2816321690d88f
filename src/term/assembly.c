#include "term/assembly.h"

#include <stdlib.h>

// A 3×3 block of a tet or a link and where it goes.
typedef struct contribution {
    int32_t column, row;  // blocks, row ≥ column
    int64_t source;
} contribution;

// The blocks of all tets whose two vertices are free: counted by column (to is NULL), or stored.
static int64_t list_contributions(const hk_tet_term *term, const int32_t *unknown, int64_t *next,
                                  contribution *to)
{
    int width = term->lanes->lanes;
    int64_t count = 0;
    for (int q = 0; q < term->batch_count; q++) {
        const hk_tet_batch *b = &term->batches[q];
        for (int k = 0; k < b->count; k++) {
            int64_t block = k / width, lane = k % width;
            const int32_t *vertex = b->vertex + block * 4 * width + lane;
            for (int p = 0; p < HK_TET_PAIRS; p++) {
                int32_t i = unknown[vertex[hk_tet_pairs[p][0] * width]];
                int32_t j = unknown[vertex[hk_tet_pairs[p][1] * width]];
                if (i < 0 || j < 0) continue;
                count++;
                // The stored block has rows of corner i: wanted are rows of the larger number.
                bool transposed = i < j;
                int32_t column = transposed ? i : j, row = transposed ? j : i;
                if (!to) {
                    next[column + 1]++;
                    continue;
                }
                int64_t at =
                    term->stiffness_start[q] + (block * HK_TET_STIFFNESS + 9 * p) * width + lane;
                to[next[column]++] = (contribution){column, row, 2 * at + transposed};
            }
        }
    }
    return count;
}

// The same for links: pairs of the vertices of each, numbered as they come.
static int64_t list_link_contributions(const hk_links *links, const int32_t *unknown,
                                       int64_t first_source, int64_t *next, contribution *to)
{
    int64_t count = 0, part = 0;
    for (int link = 0; links && link < links->link_count; link++)
        for (int a = links->start[link]; a < links->start[link + 1]; a++)
            for (int b = a; b < links->start[link + 1]; b++, part++) {
                int32_t i = unknown[links->vertex[a]], j = unknown[links->vertex[b]];
                if (i < 0 || j < 0) continue;
                count++;
                int32_t column = i < j ? i : j, row = i < j ? j : i;
                if (to)
                    to[next[column]++] = (contribution){column, row, first_source + part};
                else
                    next[column + 1]++;
            }
    return count;
}

static int64_t list_all(const hk_assembly *a, const hk_tet_term *term, const hk_links *links,
                        int64_t *next, contribution *to)
{
    int64_t count = list_contributions(term, a->unknown, next, to);
    return count + list_link_contributions(links, a->unknown, a->first_link_source, next, to);
}

static int by_row(const void *left, const void *right)
{
    const contribution *a = left, *b = right;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    return a->source < b->source ? -1 : a->source > b->source;
}

// Contributions by column, then row, then source; column_start has count + 1 entries.
static hk_status sort_contributions(const hk_assembly *a, const hk_tet_term *term,
                                    const hk_links *links, int count, contribution **sorted,
                                    int64_t **column_start)
{
    int64_t *start = HK_ZEROS(int64_t, count + 2);
    if (!start) return HK_NO_MEMORY;
    // Shifted by one more, so that filling leaves the starts in place.
    int64_t total = list_all(a, term, links, start + 1, NULL);
    for (int c = 0; c < count; c++) start[c + 2] += start[c + 1];
    contribution *list = HK_ARRAY(contribution, total);
    if (!list) {
        hk_free(start);
        return HK_NO_MEMORY;
    }
    list_all(a, term, links, start + 1, list);
    for (int c = 0; c < count; c++)
        qsort(list + start[c], (size_t)(start[c + 1] - start[c]), sizeof *list, by_row);
    *sorted = list;
    *column_start = start;
    return HK_OK;
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
    int64_t block = 0;
    for (int c = 0; c < count; c++) {
        int32_t last = -1;
        // A vertex of no element has a diagonal block all the same.
        if (column_start[c] == column_start[c + 1]) a->source_start[block++] = column_start[c];
        for (int64_t k = column_start[c]; k < column_start[c + 1]; k++) {
            if (list[k].row != last) a->source_start[block++] = k;
            last = list[k].row;
            a->source[k] = list[k].source;
        }
    }
    a->source_start[block] = total;
    return HK_OK;
}

// The parts in the order of list_link_contributions.
static hk_status make_link_parts(const hk_tet_term *term, const hk_links *links, hk_assembly *a)
{
    int64_t count = 0, first = hk_tet_stiffness_size(term);
    a->first_link_source = 2 * first;
    for (int link = 0; links && link < links->link_count; link++) {
        int64_t entries = links->start[link + 1] - links->start[link];
        count += entries * (entries + 1) / 2;
    }
    a->link_parts = HK_ARRAY(hk_link_part, count);
    if (!a->link_parts) return HK_NO_MEMORY;
    hk_link_part *part = a->link_parts;
    for (int64_t link = 0; links && link < links->link_count; link++)
        for (int i = links->start[link]; i < links->start[link + 1]; i++)
            for (int j = i; j < links->start[link + 1]; j++)
                *part++ = (hk_link_part){first + HK_LINK_STIFFNESS * link,
                                         links->coefficient[i] * links->coefficient[j]};
    return HK_OK;
}

// Numbers the free vertices, first as they come, then, where `held` is given, in elimination order.
static hk_status number_unknowns(const hk_tet_term *term, const hk_links *links,
                                 const uint8_t *held, hk_assembly *a, int *count)
{
    *count = 0;
    for (int v = 0; v < term->vertex_count; v++) {
        bool out = held && held[v];
        a->unknown[v] = out ? -1 : *count;
        if (!out) a->vertex[(*count)++] = v;
    }
    if (!held) return HK_OK;
    contribution *list;
    int64_t *start;
    HK_TRY(sort_contributions(a, term, links, *count, &list, &start));
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

static hk_status build(const hk_tet_term *term, const hk_links *links, const uint8_t *held,
                       hk_assembly *a)
{
    a->lanes = term->lanes->lanes;
    a->threads = term->threads;
    a->unknown = HK_ARRAY(int32_t, term->vertex_count);
    a->vertex = HK_ARRAY(int32_t, term->vertex_count);
    if (!a->unknown || !a->vertex) return HK_NO_MEMORY;
    int count;
    HK_TRY(make_link_parts(term, links, a));
    HK_TRY(number_unknowns(term, links, held, a, &count));
    contribution *list;
    int64_t *start;
    HK_TRY(sort_contributions(a, term, links, count, &list, &start));
    hk_status status = make_pattern(list, start, count, &a->pattern);
    if (status == HK_OK) status = make_sources(list, start, a);
    hk_free(list);
    hk_free(start);
    return status;
}

hk_status hk_assembly_create(const hk_tet_term *term, const hk_links *links, const uint8_t *held,
                             hk_assembly **assembly)
{
    hk_assembly *a = HK_NEW(hk_assembly);
    if (!a) return HK_NO_MEMORY;
    hk_status status = build(term, links, held, a);
    if (status != HK_OK) {
        hk_assembly_free(a);
        return status;
    }
    *assembly = a;
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
    hk_free(a->link_parts);
    hk_free(a);
}

static void sum_block(const hk_assembly *a, const double *stiffness, int64_t block, double sum[9])
{
    int width = a->lanes;
    for (int k = 0; k < 9; k++) sum[k] = 0;
    int64_t s = a->source_start[block], end = a->source_start[block + 1];
    for (; s < end && a->source[s] < a->first_link_source; s++) {
        const double *from = stiffness + (a->source[s] >> 1);
        if (a->source[s] & 1)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) sum[3 * i + j] += from[(3 * j + i) * width];
        else
            for (int k = 0; k < 9; k++) sum[k] += from[k * width];
    }
    static const int symmetric[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    for (; s < end; s++) {
        const hk_link_part *part = &a->link_parts[a->source[s] - a->first_link_source];
        for (int k = 0; k < 9; k++) sum[k] += part->factor * stiffness[part->block + symmetric[k]];
    }
}

static void assemble_column(const hk_assembly *a, const double *stiffness, double weight, int b,
                            double *values)
{
    const hk_pattern *p = &a->pattern;
    double *column[3], sum[9];
    for (int c = 0; c < 3; c++) column[c] = values + hk_pattern_column(p, b, c);
    int64_t block = b + p->start[b];
    sum_block(a, stiffness, block++, sum);
    for (int c = 0; c < 3; c++) {
        sum[3 * c + c] += weight;
        for (int r = c; r < 3; r++) *column[c]++ = sum[3 * r + c];
    }
    for (int64_t k = p->start[b]; k < p->start[b + 1]; k++) {
        sum_block(a, stiffness, block++, sum);
        for (int c = 0; c < 3; c++)
            for (int r = 0; r < 3; r++) *column[c]++ = sum[3 * r + c];
    }
}

void hk_assemble(const hk_assembly *a, const double *stiffness, const double *weight,
                 double *values)
{
#pragma omp parallel for schedule(static, 256) num_threads(a->threads)
    for (int b = 0; b < a->pattern.count; b++)
        assemble_column(a, stiffness, weight[a->vertex[b]], b, values);
}
