// Base64 as .vtu files hold it.
#ifndef HK_BASE64_H
#define HK_BASE64_H

#include "core/base.h"

typedef struct hk_base64 {
    const char *at, *end;  // of the encoded text
} hk_base64;

// Decodes up to `wanted` bytes and moves past them, except that what is left of a group of four
// letters is lost. White space is passed over. Padding ends a group, not the text, because some
// programs encode a header and the data after it each on their own. Returns how many bytes there
// were: fewer when the text ends or a letter does not belong there.
size_t hk_base64_decode(hk_base64 *text, size_t wanted, unsigned char *out);

#endif
