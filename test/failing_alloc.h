// An allocator for tests that fails at its n-th call and counts the blocks that are still alive.
//
//     for (int n = 1;; n++) {
//         failing_alloc_install(n);
//         hk_status status = the_call(&thing);
//         bool reached = failing_alloc_count() >= n;
//         if (status == HK_OK) thing_free(thing);
//         assert_int_equal(failing_alloc_live(), 0);
//         failing_alloc_remove();
//         if (!reached) break;  // the call needed fewer than n allocations: all failures were seen
//         assert_int_equal(status, HK_NO_MEMORY);
//     }
//
// Blocks are filled with a pattern, so that a read of memory nobody wrote shows.
#ifndef FAILING_ALLOC_H
#define FAILING_ALLOC_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "hooke/hooke.h"

static atomic_int failing_alloc_calls, failing_alloc_blocks, failing_alloc_fail_at;

static inline void *failing_alloc_alloc(void *context, size_t size, size_t alignment)
{
    (void)context;
    int call = atomic_fetch_add(&failing_alloc_calls, 1) + 1;
    if (call == atomic_load(&failing_alloc_fail_at)) return NULL;
    size_t rounded = (size + alignment - 1) & ~(alignment - 1);
    void *block = rounded < size ? NULL : aligned_alloc(alignment, rounded);
    if (!block) return NULL;
    memset(block, 0xa5, rounded);
    atomic_fetch_add(&failing_alloc_blocks, 1);
    return block;
}

static inline void failing_alloc_release(void *context, void *block)
{
    (void)context;
    if (block) atomic_fetch_sub(&failing_alloc_blocks, 1);
    free(block);
}

// From now on memory comes from here; call number `fail_at` (from 1; 0: none) gives NULL.
static inline void failing_alloc_install(int fail_at)
{
    atomic_store(&failing_alloc_calls, 0);
    atomic_store(&failing_alloc_blocks, 0);
    atomic_store(&failing_alloc_fail_at, fail_at);
    const hk_allocator allocator = {failing_alloc_alloc, failing_alloc_release, NULL};
    hk_set_allocator(&allocator);
}

// The n-th call from now (0: none) gives NULL; counts go on.
static inline void failing_alloc_next(int n)
{
    atomic_store(&failing_alloc_fail_at, n ? atomic_load(&failing_alloc_calls) + n : 0);
}

// Blocks allocated since the installation and not yet released.
static inline int failing_alloc_live(void)
{
    return atomic_load(&failing_alloc_blocks);
}

// Calls since the installation, the failed one included.
static inline int failing_alloc_count(void)
{
    return atomic_load(&failing_alloc_calls);
}

static inline void failing_alloc_remove(void)
{
    hk_set_allocator(NULL);
}

#endif
