// Decompression and base64: what .vtu files are packed with.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "io/base64.h"
#include "io/inflate.h"

static const unsigned char dynamic_stream[] = {
    0x78, 0xda, 0x4d, 0x52, 0x01, 0x92, 0x84, 0x20, 0x0c, 0xfb, 0x0a, 0x5f, 0x43, 0xbc, 0x55, 0x51,
    0x98, 0x4a, 0x51, 0x97, 0x7d, 0xfd, 0x95, 0x36, 0xba, 0x3b, 0xce, 0x38, 0x92, 0x36, 0x69, 0x52,
    0xf4, 0x67, 0x0b, 0xaf, 0xe6, 0xca, 0x3c, 0x39, 0x1f, 0xdd, 0x56, 0x5d, 0x70, 0xf5, 0x9d, 0x2e,
    0x7b, 0xa5, 0xf7, 0x87, 0xb5, 0xd4, 0xe1, 0xbf, 0x6d, 0x1c, 0xec, 0x75, 0xe6, 0x26, 0x67, 0xce,
    0x3c, 0xaf, 0x06, 0x90, 0x1c, 0xa7, 0x83, 0x97, 0x38, 0x3a, 0x0a, 0xdb, 0x27, 0x64, 0xe7, 0x97,
    0x7a, 0x5e, 0x2f, 0x29, 0x00, 0x5e, 0xcb, 0xb2, 0xcf, 0xa0, 0x78, 0x1b, 0x49, 0x93, 0x94, 0x5b,
    0x16, 0xba, 0x0c, 0xde, 0x93, 0x1b, 0xa6, 0x1c, 0xab, 0x1b, 0x62, 0xf3, 0x4b, 0xaf, 0xa1, 0xcb,
    0x28, 0x86, 0x42, 0x54, 0xad, 0x71, 0x81, 0xa6, 0xb4, 0xae, 0x85, 0x79, 0xbc, 0x1e, 0x5c, 0x2d,
    0x3d, 0x73, 0xb5, 0x44, 0x9a, 0x42, 0xd2, 0x91, 0x3c, 0xda, 0xd7, 0x33, 0x68, 0x3c, 0x18, 0xb6,
    0xe9, 0x8a, 0x80, 0x2a, 0xae, 0xe0, 0x41, 0x4d, 0xc6, 0xbc, 0x27, 0xde, 0x6c, 0xae, 0x6a, 0x76,
    0x35, 0xe3, 0x0a, 0xa6, 0xc4, 0x3b, 0x98, 0x8a, 0x9b, 0x65, 0xf4, 0x42, 0x52, 0x27, 0x53, 0x29,
    0x94, 0x0e, 0x0c, 0xb7, 0x6f, 0xdb, 0x78, 0x1b, 0xee, 0x95, 0x3f, 0xdb, 0x84, 0xe2, 0xad, 0xd5,
    0xf3, 0x62, 0xe1, 0xd6, 0x1d, 0x7f, 0xfc, 0xc0, 0x8c, 0x9a, 0xed, 0x69, 0x8d, 0x64, 0xfb, 0x93,
    0xf5, 0x12, 0xf8, 0x90, 0x14, 0xe4, 0xd7, 0x0d, 0xc8, 0x7a, 0x27, 0x12, 0x9c, 0xbe, 0x37, 0xf7,
    0xfd, 0x1b, 0xd0, 0xa3, 0x97, 0xd5, 0x13, 0x9a, 0x5e, 0xb8, 0x25, 0x0e, 0x0e, 0xd5, 0x1a, 0xd5,
    0xc2, 0x3f, 0x5e, 0x12, 0xdb, 0xc9};
static const char dynamic_text[] =
    "avycfy rhg aj lt c txmw txmw mxzs rhg t c eldb eldb vny c snshk eldb p c gusijd pclzcn a"
    "itvwf p gusijd kriqh snshk avycfy pg p yndb aj qm bgnjt bjyai pg avycfy snshk bjyai aitv"
    "wf txmw sr kriqh pg krssdw txmw sr eldb gusijd krssdw p rhg lt p p txmw vny mxzs pclzcn "
    "bgnjt mxzs gusijd aj avycfy yndb jnqmsl sr krssdw lt pclzcn sr mxzs avycfy p vny bjyai k"
    "rssdw gusijd txmw prrpmu mxzs prrpmu txmw tybmw mxzs c gusijd avycfy bjyai kriqh eldb p "
    "tybmw j sr krssdw pclzcn yndb rhg bjyai snshk qm p kriqh avycfy qm txmw prrpmu pclzcn pg"
    " p aj p p gusijd txmw txmw pclzcn j qm vny kriqh c prrpmu usct txmw yndb ";
static const unsigned char fixed_stream[] = {0x78, 0x01, 0x4b, 0x4c, 0x4a, 0x4e, 0x44, 0x45, 0x06,
                                             0x86, 0x46, 0xc6, 0x00, 0x5e, 0xfa, 0x07, 0xab};

static const char fixed_text[] = "abcabcabcabcabcabc0123";

// What is wrong with a stream that should hold `expected`.
static const char *inflate_to(const unsigned char *stream, size_t size, const char *expected)
{
    size_t length = strlen(expected);
    unsigned char *out = malloc(length);
    assert_non_null(out);
    const char *trouble = hk_inflate(stream, size, out, length);
    if (!trouble) assert_memory_equal(out, expected, length);
    free(out);
    return trouble;
}

static void coded_blocks_are_decompressed(void **state)
{
    (void)state;
    assert_null(inflate_to(dynamic_stream, sizeof dynamic_stream, dynamic_text));
    assert_null(inflate_to(fixed_stream, sizeof fixed_stream, fixed_text));
}

static void wrong_sizes_are_noticed(void **state)
{
    (void)state;
    unsigned char out[sizeof dynamic_text + 1];
    size_t length = strlen(dynamic_text);
    assert_string_equal(hk_inflate(dynamic_stream, sizeof dynamic_stream, out, length + 1),
                        "there is less data than announced");
    assert_string_equal(hk_inflate(dynamic_stream, sizeof dynamic_stream, out, length - 1),
                        "there is more data than announced");
    assert_string_equal(hk_inflate(dynamic_stream, 3, out, length), "not a zlib stream");
    for (size_t size = 0; size < sizeof dynamic_stream; size++) {
        unsigned char *cut = malloc(size ? size : 1);
        assert_non_null(cut);
        memcpy(cut, dynamic_stream, size);
        assert_non_null(hk_inflate(cut, size, out, length));
        free(cut);
    }
}

static void damage_is_noticed(void **state)
{
    (void)state;
    unsigned char damaged[sizeof dynamic_stream];
    // A few bits do no harm: those between the last block and the checksum, and code lengths of
    // symbols that do not occur. Then the text must be right, which inflate_to checks.
    int harmless = 0;
    for (size_t bit = 0; bit < 8 * sizeof damaged; bit++) {
        memcpy(damaged, dynamic_stream, sizeof damaged);
        damaged[bit / 8] ^= (unsigned char)(1 << bit % 8);
        harmless += inflate_to(damaged, sizeof damaged, dynamic_text) == NULL;
    }
    assert_in_range(harmless, 0, 16);
}

static void blocks_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        unsigned char bytes[12];
        const char *trouble;
    } streams[] = {
        {{0x78, 0x9c, 0x07}, "an unknown kind of block"},
        {{0x78, 0x9c, 0x01, 4, 0, 4, 0}, "a wrong length of a stored block"},
        {{0x78, 0x9c, 0x01, 2, 0, 0xfd, 0xff, 'a', 'b'}, "there is less data than announced"},
        {{0x78, 0x9c, 0x03, 0x02}, "a match reaches before the beginning"},
        {{0x78, 0x9c, 0xfd}, "too many codes"},
        {{0x79, 0x9c, 0x01}, "not a zlib stream"},
        {{0x78, 0x9d, 0x01}, "not a zlib stream"},
    };
    for (int i = 0; i < HK_COUNT_OF(streams); i++) {
        unsigned char out[4];
        const char *trouble = hk_inflate(streams[i].bytes, sizeof streams[i].bytes, out, 4);
        assert_non_null(trouble);
        assert_string_equal(trouble, streams[i].trouble);
    }
}

static size_t decode(const char *text, unsigned char *out, size_t wanted)
{
    hk_base64 from = {text, text + strlen(text)};
    return hk_base64_decode(&from, wanted, out);
}

static void base64_is_decoded(void **state)
{
    (void)state;
    unsigned char out[16];
    assert_int_equal(decode("SG9va2U=", out, 16), 5);
    assert_memory_equal(out, "Hooke", 5);
    assert_int_equal(decode(" SG9\n va2 U\r\n=", out, 16), 5);
    assert_int_equal(decode("SG9va2U", out, 16), 5);       // the padding forgotten
    assert_int_equal(decode("SA==SG9va2U=", out, 16), 6);  // two texts, one after the other
    assert_memory_equal(out, "HHooke", 6);
    assert_int_equal(decode("SG9va2U=", out, 2), 2);
    assert_int_equal(decode("", out, 16), 0);
    assert_int_equal(decode("====", out, 16), 0);
    assert_int_equal(decode("SG9v*2U=", out, 16), 3);
    assert_int_equal(decode("S", out, 16), 0);
    assert_int_equal(decode("SA=A", out, 16), 0);
    assert_int_equal(decode("+/+/", out, 16), 3);
    assert_memory_equal(out, "\xfb\xff\xbf", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coded_blocks_are_decompressed),
        cmocka_unit_test(wrong_sizes_are_noticed),
        cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(blocks_that_cannot_be_are_refused),
        cmocka_unit_test(base64_is_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
