// Memory that is given back all at once: what a scene's definitions point to.
#ifndef HK_ARENA_H
#define HK_ARENA_H

#include "core/base.h"

typedef struct hk_arena {
    struct hk_arena_block *blocks;
} hk_arena;

// Cleared memory, or NULL with the error set.
void *hk_arena_alloc(hk_arena *arena, size_t count, size_t size);
char *hk_arena_text(hk_arena *arena, const char *text, size_t length);
void hk_arena_free(hk_arena *arena);

#define HK_ARENA_ARRAY(arena, type, count) \
    ((type *)hk_arena_alloc((arena), (size_t)(count), sizeof(type)))

#endif
