// A stroke font drawn for Hooke: plain, round, with digits of one width.
#include "font.h"

static const char *const glyphs[] = {
    "5",                                     // space
    "0 0g08 0404",                           // !
    "3 0g0d 3g3d",                           // "
    "8 3g14 7g54 0c8c 0888",                 // #
    "8 ~8d8g0g0a8a840407 4i42",              // $
    "a 9g14 ~0e0g4g4c0c0e ~6668a8a46466",    // %
    "a ~a41c1g6g6c0a0474a9",                 // &
    "0 0g0d",                                // '
    "3 ~3i0e0632",                           // (
    "3 ~0i3e3602",                           // )
    "6 3g3a 0e6c 6e0c",                      // *
    "8 4d45 0989",                           // +
    "1 1401",                                // ,
    "6 0969",                                // -
    "0 0404",                                // .
    "6 6g02",                                // /
    "8 ~0a0g8g84040a",                       // 0
    "8 1d5g54",                              // 1
    "8 ~0d0g8g8b04 0484",                    // 2
    "8 ~0e0g7g7a3a ~3a8a840406",             // 3
    "8 646g0888",                            // 4
    "8 7g1g1a ~1a2c8c840406",                // 5
    "8 ~080c8c840408 ~080b0g7g7e",           // 6
    "8 0g8g34",                              // 7
    "8 ~1d1g7g7a1a1d ~070a8a840407",         // 8
    "8 ~8c88080g8g8c ~8c89841416",           // 9
    "0 0404 0b0b",                           // :
    "1 1401 1b1b",                           // ;
    "7 7d0975",                              // <
    "8 0b8b 0787",                           // =
    "7 0d7905",                              // >
    "7 ~0e0g7g7b3a37 3434",                  // ?
    "c ~494c8c864649 8c88 ~8886c6cg0g0393",  // @
    "a 045ga4 2888",                         // A
    "8 0g04 ~0g4g7g7a4a0a ~0a5a8a845404",    // B
    "9 ~9d9g0g049497",                       // C
    "9 0g04 ~0g3g9g943404",                  // D
    "8 8g0g0484 0a7a",                       // E
    "8 8g0g04 0a7a",                         // F
    "9 ~9d9g0g049497 979a5a",                // G
    "9 0g04 9g94 0a9a",                      // H
    "0 0g04",                                // I
    "6 ~6g67640407",                         // J
    "8 0g04 8g09 3c84",                      // K
    "7 0g0474",                              // L
    "a 040g57aga4",                          // M
    "9 040g949g",                            // N
    "a ~0a0gaga4040a",                       // O
    "8 040g ~0g4g8g894909",                  // P
    "a ~0a0gaga4040a 67a3",                  // Q
    "8 040g ~0g4g8g894909 4984",             // R
    "8 ~8d8g0g0a8a840407",                   // S
    "8 0g8g 4g44",                           // T
    "9 ~0g080494989g",                       // U
    "a 0g54ag",                              // V
    "e 0g347gb4eg",                          // W
    "9 0g94 9g04",                           // X
    "8 0g4a8g 4a44",                         // Y
    "8 0g8g0484",                            // Z
    "3 3i0i0232",                            // [
    "6 0g62",                                // backslash
    "3 0i3i3202",                            // ]
    "6 0c3g6c",                              // ^
    "8 0282",                                // _
    "2 0g2d",                                // `
    "7 7c74 ~7a7c0c047476",                  // a
    "7 0g04 ~0a0c7c740406",                  // b
    "7 ~7a6c0c046476",                       // c
    "7 7g74 ~7a7c0c047476",                  // d
    "7 0878 ~787c0c046475",                  // e
    "5 ~5g2g2d24 0c5c",                      // f
    "7 ~7a7c0c047476 ~7c72701001",           // g
    "7 0g04 ~090c7c7874",                    // h
    "0 0c04 0g0g",                           // i
    "2 ~2c222000 2g2g",                      // j
    "6 0g04 6c07 2964",                      // k
    "0 0g04",                                // l
    "c 0c04 ~090c6c6864 ~696cccc8c4",        // m
    "7 0c04 ~090c7c7874",                    // n
    "7 ~080c7c740408",                       // o
    "7 0c00 ~0a0c7c740406",                  // p
    "7 7c70 ~7a7c0c047476",                  // q
    "4 0c04 ~080c3c4c",                      // r
    "6 ~6b6c0c0868640405",                   // s
    "5 ~2g262454 0c5c",                      // t
    "7 ~0c08047477 7c74",                    // u
    "8 0c448c",                              // v
    "c 0c346c94cc",                          // w
    "7 0c74 7c04",                           // x
    "8 0c44 8c20",                           // y
    "7 0c7c0474",                            // z
    "4 ~4i2i2b0a ~0a292242",                 // {
    "0 0i02",                                // |
    "4 ~0i2i2b4a ~4a292202",                 // }
    "8 ~082c668a",                           // ~
    "7 0c00 ~08047477 7c74",                 // micro sign
};
enum { FIRST = ' ', COUNT = sizeof glyphs / sizeof glyphs[0] };

const char *font_glyph(const char **text)
{
    const unsigned char *at = (const unsigned char *)*text;
    unsigned code = at[0];
    int length = 1;
    if (code >= 0x80) {
        // One '?' for each character that the font lacks, not one for each of its bytes.
        while ((at[length] & 0xC0) == 0x80) ++length;
        code = length == 2 && at[0] == 0xC2 && at[1] == 0xB5 ? FIRST + COUNT - 1 : '?';
    }
    *text += length;
    if (code < FIRST || code >= FIRST + COUNT) code = '?';
    return glyphs[code - FIRST];
}

static int digit(char c)
{
    return c >= 'a' ? c - 'a' + 10 : c - '0';
}

int font_advance(const char *glyph)
{
    return digit(glyph[0]) + FONT_GAP;
}

// The B-spline through the midpoints of its control polygon: one parabola for each inner point.
static int flatten(const float (*control)[2], int count, float (*points)[2])
{
    enum { PIECES = 8 };
    int n = 0;
    points[n][0] = control[0][0], points[n++][1] = control[0][1];
    for (int i = 1; i + 1 < count; ++i) {
        const float *c = control[i];
        float end[2];
        for (int k = 0; k < 2; ++k)
            end[k] = i + 2 == count ? control[i + 1][k] : 0.5f * (c[k] + control[i + 1][k]);
        float start[2] = {points[n - 1][0], points[n - 1][1]};
        for (int s = 1; s <= PIECES; ++s, ++n) {
            float t = (float)s / PIECES, u = 1 - t;
            for (int k = 0; k < 2; ++k)
                points[n][k] = u * u * start[k] + 2 * u * t * c[k] + t * t * end[k];
        }
    }
    return n;
}

int font_stroke(const char **at, float (*points)[2])
{
    const char *c = *at;
    while (*c && *c != ' ') ++c;  // the width, or the stroke before
    while (*c == ' ') ++c;
    *at = c;
    if (!*c) return 0;
    int smooth = *c == '~';
    c += smooth;
    enum { CONTROLS = FONT_POINTS / 8 - 1 };
    float control[CONTROLS][2];
    int count = 0;
    for (; c[0] && c[0] != ' ' && count < CONTROLS; c += 2, ++count) {
        control[count][0] = (float)digit(c[0]);
        control[count][1] = (float)digit(c[1]);
    }
    if (smooth && count > 2) return flatten((const float(*)[2])control, count, points);
    for (int i = 0; i < count; ++i) points[i][0] = control[i][0], points[i][1] = control[i][1];
    return count;
}
