#include "scene/arena.h"

enum { BLOCK_SIZE = 4096, UNIT = 16 };

typedef struct hk_arena_block {
    struct hk_arena_block *next;
    size_t used, capacity;
    _Alignas(UNIT) char data[];
} hk_arena_block;

void *hk_arena_alloc(hk_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2) {
        hk_no_memory();
        return NULL;
    }
    bytes = (bytes + UNIT - 1) / UNIT * UNIT;
    hk_arena_block *block = arena->blocks;
    if (!block || block->capacity - block->used < bytes) {
        size_t capacity = bytes > BLOCK_SIZE ? bytes : BLOCK_SIZE;
        block = hk_alloc(1, sizeof *block + capacity);
        if (!block) return NULL;
        *block = (hk_arena_block){.next = arena->blocks, .capacity = capacity};
        arena->blocks = block;
    }
    void *memory = block->data + block->used;
    block->used += bytes;
    return memset(memory, 0, bytes);
}

char *hk_arena_text(hk_arena *arena, const char *text, size_t length)
{
    char *copy = hk_arena_alloc(arena, length + 1, 1);
    if (copy) memcpy(copy, text, length);
    return copy;
}

void hk_arena_free(hk_arena *arena)
{
    for (hk_arena_block *block = arena->blocks; block;) {
        hk_arena_block *next = block->next;
        hk_free(block);
        block = next;
    }
    arena->blocks = NULL;
}
