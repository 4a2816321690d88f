// Decompression of zlib streams (RFC 1950, RFC 1951), which is how .vtu files are compressed.
#ifndef HK_INFLATE_H
#define HK_INFLATE_H

#include "core/base.h"

// DEFLATE cannot make more than this of one byte: a stream that promises more is lying.
enum { HK_INFLATE_MOST = 1032 };

// Decompresses a whole stream into exactly `out_size` bytes. NULL if all is well, else what is
// wrong with the stream.
const char *hk_inflate(const unsigned char *in, size_t in_size, unsigned char *out,
                       size_t out_size);

#endif
