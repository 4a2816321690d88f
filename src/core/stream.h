// Bytes of a state on their way to a file or back: who has something to keep names it once, in one
// function for both ways.
#ifndef HK_STREAM_H
#define HK_STREAM_H

#include "core/base.h"

typedef struct hk_stream {
    bool reading;
    uint8_t *data;  // writing: owned, [capacity]; reading: borrowed
    size_t size;    // of what is there
    size_t capacity;
    size_t at;         // reading: what comes next
    hk_status status;  // the first failure; nothing happens after it
} hk_stream;

hk_stream hk_stream_reader(const void *data, size_t size);
void hk_stream_free(hk_stream *s);  // of what was written

// Writes the block, or reads into it.
void hk_stream_bytes(hk_stream *s, void *block, size_t size);
#define HK_STREAM(s, value) hk_stream_bytes(s, &(value), sizeof(value))
// An array that may be longer or shorter than the one that was written: it grows as it has to.
// `count` and `capacity` are in elements of `each` bytes.
void hk_stream_list(hk_stream *s, void **list, size_t *count, size_t *capacity, size_t each);
// Fails where another number was written: of sizes that have to agree.
void hk_stream_expect(hk_stream *s, int64_t number);

#endif
