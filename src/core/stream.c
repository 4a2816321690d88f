#include "core/stream.h"

hk_stream hk_stream_reader(const void *data, size_t size)
{
    return (hk_stream){.reading = true, .data = (uint8_t *)(uintptr_t)data, .size = size};
}

void hk_stream_free(hk_stream *s)
{
    if (!s->reading) hk_free(s->data);
    *s = (hk_stream){0};
}

static void fail_short(hk_stream *s)
{
    s->status = hk_fail(HK_BAD_INPUT, "the state is not one of this model, method and version");
}

static bool make_room(hk_stream *s, size_t size)
{
    if (size <= s->capacity - s->size) return true;
    size_t capacity = 2 * (s->size + size);
    uint8_t *larger = HK_ARRAY(uint8_t, capacity);
    if (!larger) {
        s->status = HK_NO_MEMORY;
        return false;
    }
    if (s->size > 0) memcpy(larger, s->data, s->size);
    hk_free(s->data);
    s->data = larger;
    s->capacity = capacity;
    return true;
}

void hk_stream_bytes(hk_stream *s, void *block, size_t size)
{
    if (s->status != HK_OK || size == 0) return;
    if (!s->reading) {
        if (!make_room(s, size)) return;
        memcpy(s->data + s->size, block, size);
        s->size += size;
        return;
    }
    if (size > s->size - s->at) {
        fail_short(s);
        return;
    }
    memcpy(block, s->data + s->at, size);
    s->at += size;
}

void hk_stream_expect(hk_stream *s, int64_t number)
{
    int64_t written = number;
    HK_STREAM(s, written);
    if (s->status == HK_OK && written != number) fail_short(s);
}

void hk_stream_list(hk_stream *s, void **list, size_t *count, size_t *capacity, size_t each)
{
    uint64_t wanted = *count;
    HK_STREAM(s, wanted);
    if (s->status != HK_OK) return;
    if (s->reading && wanted > (s->size - s->at) / each) {
        fail_short(s);
        return;
    }
    if (s->reading && wanted > *capacity) {
        void *larger = hk_alloc((size_t)wanted, each);
        if (!larger) {
            s->status = HK_NO_MEMORY;
            return;
        }
        hk_free(*list);
        *list = larger;
        *capacity = (size_t)wanted;
    }
    hk_stream_bytes(s, *list, (size_t)wanted * each);
    if (s->status == HK_OK) *count = (size_t)wanted;
}
