// libFuzzer target: scene files and overrides.
//
//   clang -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Isrc fuzz/fuzz_scene.c … -ljansson
//   ./fuzz_scene fuzz/corpus/scene
//
// The input is the text of a scene, then, each after a zero byte, overrides ("path=value").
#include <stdlib.h>
#include <string.h>

#include "hooke/hooke.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A scene may well ask for a mesh of a million cells. Here that would only waste time, so memory is
// short; being refused it is one more path to try.
enum { MOST_MEMORY = 8 << 20, HEADER = 64 };
static size_t memory_used;

static void *short_alloc(void *context, size_t size, size_t alignment)
{
    (void)context;
    if (alignment > HEADER || size > MOST_MEMORY - memory_used) return NULL;
    size_t rounded = (size + 2 * HEADER - 1) / HEADER * HEADER;
    char *block = aligned_alloc(HEADER, rounded);
    if (!block) return NULL;
    memcpy(block, &size, sizeof size);
    memory_used += size;
    return block + HEADER;
}

static void short_release(void *context, void *block)
{
    (void)context;
    size_t size;
    char *start = (char *)block - HEADER;
    memcpy(&size, start, sizeof size);
    memory_used -= size;
    free(start);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const hk_allocator allocator = {short_alloc, short_release, NULL};
    hk_set_allocator(&allocator);
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    const char *sets[8];
    int count = 0;
    size_t length = strlen(text);
    for (size_t at = length + 1; at < size && count < 8; at += strlen(text + at) + 1)
        sets[count++] = text + at;
    hk_scene *scene = NULL;
    hk_status status = hk_scene_parse(text, length, "fuzz.json", sets, count, &scene);
    if ((status == HK_OK) != (scene != NULL)) abort();
    if (status != HK_OK && hk_error()[0] == '\0') abort();
    if (scene && (hk_scene_steps(scene) < 0 || hk_scene_model(scene)->body_count < 1)) abort();
    hk_scene_free(scene);
    if (memory_used != 0) abort();
    free(text);
    return 0;
}
