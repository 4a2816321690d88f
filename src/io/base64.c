#include "io/base64.h"

static int sextet(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+') return 62;
    if (c == '/') return 63;
    return -1;
}

// The next group of four letters: how many bytes it held (0 at the end or at a wrong letter).
static size_t decode_group(hk_base64 *text, unsigned char bytes[3])
{
    uint32_t bits = 0;
    int letters = 0, padding = 0;
    const char *p = text->at;
    for (; p < text->end && letters + padding < 4; p++) {
        if (*p == ' ' || (*p >= '\t' && *p <= '\r')) continue;
        if (*p == '=' && letters >= 2) {
            padding++;
            continue;
        }
        int value = sextet(*p);
        if (value < 0 || padding) return 0;
        bits = bits << 6 | (uint32_t)value;
        letters++;
    }
    if (letters < 2) return 0;
    // A missing padding at the very end is forgiven.
    bits <<= 6 * (4 - letters);
    bytes[0] = (unsigned char)(bits >> 16);
    bytes[1] = (unsigned char)(bits >> 8);
    bytes[2] = (unsigned char)bits;
    text->at = p;
    return (size_t)letters - 1;
}

size_t hk_base64_decode(hk_base64 *text, size_t wanted, unsigned char *out)
{
    size_t done = 0;
    while (done < wanted) {
        unsigned char bytes[3];
        size_t got = decode_group(text, bytes);
        if (!got) break;
        for (size_t i = 0; i < got && done < wanted; i++) out[done++] = bytes[i];
    }
    return done;
}
