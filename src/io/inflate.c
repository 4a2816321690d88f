#include "io/inflate.h"

enum { MAX_BITS = 15, FAST_BITS = 10, LITERALS = 288, DISTANCES = 32 };

typedef struct inflater {
    const unsigned char *in, *in_end;
    unsigned char *out, *out_begin, *out_end;
    uint64_t bits;  // not yet used, the next one lowest
    int bit_count;  // how many of them; bits past the end of the input read as 0 …
    int missing;    // … and are counted here
} inflater;

// A canonical Huffman code. Short codes are looked up by their next FAST_BITS bits; long ones are
// found length by length.
typedef struct huffman {
    uint16_t fast[1 << FAST_BITS];  // symbol << 4 | length; 0: longer or none
    uint16_t count[MAX_BITS + 1];   // codes of each length
    uint16_t symbols[LITERALS];     // in the order of their codes
} huffman;

static void refill(inflater *s)
{
    while (s->bit_count <= 48) {
        if (s->in < s->in_end)
            s->bits |= (uint64_t)*s->in++ << s->bit_count;
        else
            s->missing += 8;
        s->bit_count += 8;
    }
}

static unsigned take_bits(inflater *s, int count)
{
    refill(s);
    unsigned value = (unsigned)(s->bits & ((UINT64_C(1) << count) - 1));
    s->bits >>= count;
    s->bit_count -= count;
    return value;
}

// Whether bits were used that the input does not have.
static bool ran_out(const inflater *s)
{
    return s->bit_count < s->missing;
}

static unsigned reversed(unsigned code, int length)
{
    unsigned result = 0;
    for (int i = 0; i < length; i++) result |= (code >> i & 1) << (length - 1 - i);
    return result;
}

// From code lengths to a code. Over-subscribed codes are refused, incomplete ones are not: a block
// without any match may have a single distance code.
static bool build(huffman *code, const unsigned char *lengths, int count)
{
    memset(code, 0, sizeof *code);
    for (int i = 0; i < count; i++) code->count[lengths[i]]++;
    code->count[0] = 0;
    unsigned first[MAX_BITS + 2] = {0}, place[MAX_BITS + 2] = {0};
    unsigned next = 0;
    for (int length = 1; length <= MAX_BITS; length++) {
        next <<= 1;
        first[length] = next;
        next += code->count[length];
        if (next > 1u << length) return false;
        place[length + 1] = place[length] + code->count[length];
    }
    for (int symbol = 0; symbol < count; symbol++) {
        int length = lengths[symbol];
        if (!length) continue;
        code->symbols[place[length]++] = (uint16_t)symbol;
        unsigned bits = reversed(first[length]++, length);
        if (length > FAST_BITS) continue;
        for (unsigned i = bits; i < 1u << FAST_BITS; i += 1u << length)
            code->fast[i] = (uint16_t)(symbol << 4 | length);
    }
    return true;
}

// The next symbol, or -1 if no code begins like this.
static int decode(inflater *s, const huffman *code)
{
    refill(s);
    unsigned entry = code->fast[s->bits & ((1u << FAST_BITS) - 1)];
    if (entry) {
        s->bits >>= entry & 15;
        s->bit_count -= (int)(entry & 15);
        return (int)(entry >> 4);
    }
    unsigned value = 0, first = 0, index = 0;
    for (int length = 1; length <= MAX_BITS; length++) {
        value = value << 1 | (unsigned)(s->bits >> (length - 1) & 1);
        unsigned count = code->count[length];
        if (value - first < count) {
            s->bits >>= length;
            s->bit_count -= length;
            return code->symbols[index + value - first];
        }
        index += count;
        first = (first + count) << 1;
    }
    return -1;
}

static const char *copy_match(inflater *s, size_t distance, size_t length)
{
    if (distance > (size_t)(s->out - s->out_begin)) return "a match reaches before the beginning";
    if (length > (size_t)(s->out_end - s->out)) return "there is more data than announced";
    // Source and target may overlap: byte by byte is what the format means.
    for (const unsigned char *from = s->out - distance; length > 0; length--) *s->out++ = *from++;
    return NULL;
}

static const char *coded_block(inflater *s, const huffman *literals, const huffman *distances)
{
    static const uint16_t length_base[] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                           15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                           67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t length_bits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                          2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static const uint16_t distance_base[] = {
        1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
        193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    for (;;) {
        int symbol = decode(s, literals);
        if (symbol < 0 || symbol > 285) return "a wrong code";
        if (ran_out(s)) return "the compressed data end early";
        if (symbol == 256) return NULL;
        if (symbol < 256) {
            if (s->out == s->out_end) return "there is more data than announced";
            *s->out++ = (unsigned char)symbol;
            continue;
        }
        size_t length = length_base[symbol - 257] + take_bits(s, length_bits[symbol - 257]);
        int far = decode(s, distances);
        if (far < 0 || far > 29) return "a wrong distance";
        size_t distance = distance_base[far] + take_bits(s, far < 4 ? 0 : far / 2 - 1);
        const char *trouble = copy_match(s, distance, length);
        if (trouble) return trouble;
    }
}

static const char *fixed_block(inflater *s, huffman codes[2])
{
    unsigned char lengths[LITERALS];
    for (int i = 0; i < LITERALS; i++) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    build(&codes[0], lengths, LITERALS);
    memset(lengths, 5, DISTANCES);
    build(&codes[1], lengths, DISTANCES);
    return coded_block(s, &codes[0], &codes[1]);
}

// The code lengths of a dynamic block are themselves coded, with runs.
static const char *dynamic_block(inflater *s, huffman codes[2])
{
    static const uint8_t order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                    11, 4,  12, 3, 13, 2, 14, 1, 15};
    int literals = (int)take_bits(s, 5) + 257, distances = (int)take_bits(s, 5) + 1;
    int coded = (int)take_bits(s, 4) + 4;
    unsigned char lengths[LITERALS + DISTANCES] = {0};
    if (literals > 286) return "too many codes";
    for (int i = 0; i < coded; i++) lengths[order[i]] = (unsigned char)take_bits(s, 3);
    if (!build(&codes[0], lengths, 19)) return "wrong code lengths";
    memset(lengths, 0, sizeof lengths);
    for (int i = 0; i < literals + distances;) {
        int symbol = decode(s, &codes[0]);
        if (symbol < 0 || ran_out(s)) return "wrong code lengths";
        if (symbol < 16) {
            lengths[i++] = (unsigned char)symbol;
            continue;
        }
        if (symbol == 16 && i == 0) return "wrong code lengths";
        unsigned char value = symbol == 16 ? lengths[i - 1] : 0;
        int repeat = symbol == 16   ? 3 + (int)take_bits(s, 2)
                     : symbol == 17 ? 3 + (int)take_bits(s, 3)
                                    : 11 + (int)take_bits(s, 7);
        if (repeat > literals + distances - i) return "wrong code lengths";
        while (repeat-- > 0) lengths[i++] = value;
    }
    if (!build(&codes[0], lengths, literals) || !build(&codes[1], lengths + literals, distances))
        return "wrong code lengths";
    return coded_block(s, &codes[0], &codes[1]);
}

static const char *stored_block(inflater *s)
{
    take_bits(s, s->bit_count & 7);
    unsigned length = take_bits(s, 16), check = take_bits(s, 16);
    if (ran_out(s) || (length ^ check) != 0xffff) return "a wrong length of a stored block";
    if (length > (size_t)(s->out_end - s->out)) return "there is more data than announced";
    while (length > 0 && s->bit_count > s->missing) {
        *s->out++ = (unsigned char)take_bits(s, 8);
        length--;
    }
    return length ? "the compressed data end early" : NULL;
}

static const char *blocks(inflater *s, huffman codes[2])
{
    for (bool last = false; !last;) {
        last = take_bits(s, 1);
        const char *trouble;
        switch (take_bits(s, 2)) {
        case 0: trouble = stored_block(s); break;
        case 1: trouble = fixed_block(s, codes); break;
        case 2: trouble = dynamic_block(s, codes); break;
        default: trouble = "an unknown kind of block"; break;
        }
        if (trouble) return trouble;
    }
    return s->out == s->out_end ? NULL : "there is less data than announced";
}

static uint32_t adler32(const unsigned char *data, size_t size)
{
    uint32_t a = 1, b = 0;
    while (size > 0) {
        size_t run = size < 5552 ? size : 5552;  // as many as fit 32 bits
        size -= run;
        for (; run > 0; run--) {
            a += *data++;
            b += a;
        }
        a %= 65521;
        b %= 65521;
    }
    return b << 16 | a;
}

const char *hk_inflate(const unsigned char *in, size_t in_size, unsigned char *out, size_t out_size)
{
    if (in_size < 6 || (in[0] & 15) != 8 || (in[0] << 8 | in[1]) % 31 || in[1] & 0x20)
        return "not a zlib stream";
    inflater s = {.in = in + 2,
                  .in_end = in + in_size,
                  .out = out,
                  .out_begin = out,
                  .out_end = out + out_size};
    huffman codes[2];
    const char *trouble = blocks(&s, codes);
    if (trouble) return trouble;
    take_bits(&s, s.bit_count & 7);
    uint32_t sum = 0;
    for (int i = 0; i < 4; i++) sum = sum << 8 | take_bits(&s, 8);
    if (ran_out(&s)) return "the compressed data end early";
    return sum == adler32(out, out_size) ? NULL : "the checksum is wrong";
}
