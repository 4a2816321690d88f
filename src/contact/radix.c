// Least significant digit first. Every thread counts the digits of a run of keys, and all runs of
// one digit come one after the other: that is the stable order, however many runs there are.
#include "contact/radix.h"

#include <omp.h>

enum { BITS = 11, VALUES = 1 << BITS, FEW = 4096 };

void hk_radix_free(hk_radix *r)
{
    hk_free(r->keys);
    hk_free(r->keys_scratch);
    hk_free(r->items);
    hk_free(r->items_scratch);
    hk_free(r->histograms);
    *r = (hk_radix){0};
}

// One of the arrays grows first; the capacity is that of the smaller.
static hk_status grow(void **array, void **scratch, size_t size, size_t *capacity, size_t count)
{
    size_t each[2] = {*capacity, *capacity};
    if (count <= *capacity) return HK_OK;
    HK_TRY(hk_reserve(array, 0, size, &each[0], count));
    HK_TRY(hk_reserve(scratch, 0, size, &each[1], count));
    *capacity = each[0];
    return HK_OK;
}

hk_status hk_radix_reserve(hk_radix *r, size_t count, bool with_items, int threads)
{
    if (count > UINT32_MAX)
        return hk_fail(HK_UNSUPPORTED, "%zu pairs are more than can be sorted", count);
    HK_TRY(
        grow((void **)&r->keys, (void **)&r->keys_scratch, sizeof(uint64_t), &r->capacity, count));
    if (with_items)
        HK_TRY(grow((void **)&r->items, (void **)&r->items_scratch, sizeof(uint32_t),
                    &r->item_capacity, count));
    if (threads > r->histogram_threads) {
        uint32_t *histograms = HK_ARRAY(uint32_t, (size_t)threads * VALUES);
        if (!histograms) return HK_NO_MEMORY;
        hk_free(r->histograms);
        r->histograms = histograms;
        r->histogram_threads = threads;
    }
    return HK_OK;
}

// The bits in which keys differ at all.
static uint64_t find_varying(const uint64_t *keys, size_t count, int threads)
{
    uint64_t varying = 0, first = count ? keys[0] : 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(| : varying)
    for (size_t i = 0; i < count; i++) varying |= keys[i] ^ first;
    return varying;
}

// Where each thread's keys of each digit go.
static void scan(uint32_t *histograms, int threads)
{
    uint32_t sum = 0;
    for (int value = 0; value < VALUES; value++)
        for (int t = 0; t < threads; t++) {
            uint32_t here = histograms[t * VALUES + value];
            histograms[t * VALUES + value] = sum;
            sum += here;
        }
}

static void sort_digit(hk_radix *r, size_t count, int shift, bool with_items, int threads)
{
    const uint64_t *keys = r->keys;
#pragma omp parallel num_threads(threads)
    {
        int team = omp_get_num_threads(), t = omp_get_thread_num();
        size_t begin = count * (size_t)t / (size_t)team;
        size_t end = count * ((size_t)t + 1) / (size_t)team;
        uint32_t *to = r->histograms + (size_t)t * VALUES;
        memset(to, 0, VALUES * sizeof *to);
        for (size_t i = begin; i < end; i++) to[keys[i] >> shift & (VALUES - 1)]++;
#pragma omp barrier
#pragma omp single
        scan(r->histograms, team);
        for (size_t i = begin; i < end; i++) {
            uint32_t at = to[keys[i] >> shift & (VALUES - 1)]++;
            r->keys_scratch[at] = keys[i];
            if (with_items) r->items_scratch[at] = r->items[i];
        }
    }
    uint64_t *kept = r->keys;
    r->keys = r->keys_scratch;
    r->keys_scratch = kept;
    if (!with_items) return;
    uint32_t *kept_items = r->items;
    r->items = r->items_scratch;
    r->items_scratch = kept_items;
}

void hk_radix_sort(hk_radix *r, size_t count, bool with_items, int threads)
{
    if (count < FEW) threads = 1;
    uint64_t varying = find_varying(r->keys, count, threads);
    for (int shift = 0; shift < 64;) {
        // A digit begins at the next bit that varies.
        if (!(varying >> shift)) break;
        shift += __builtin_ctzll(varying >> shift);
        sort_digit(r, count, shift, with_items, threads);
        shift += BITS;
    }
}
