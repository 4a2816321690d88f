// Writes animated GIFs: one palette for all frames by median cut (P. Heckbert, "Color image
// quantization for frame buffer display", 1982), ordered dither, which leaves what does not move as
// it was, and LZW (CompuServe, "Graphics Interchange Format, version 89a", 1990).
#include "gif.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum {
    COLORS = 255,  // of the palette; one more stands for "as in the frame before"
    UNCHANGED = COLORS,
    LEVELS = 64,  // per channel, of the histogram
    BINS = LEVELS * LEVELS * LEVELS,
    HELD_BYTES = 384 << 20,  // frames waiting for the palette
    MOST_CODES = 4096
};

struct gif {
    int width, height;
    double rate;
    int frame_count;  // encoded
    uint8_t *held;    // [held_count][height][width][3] frames that wait for the palette
    int held_count, held_capacity, most_held;
    bool has_palette;
    uint8_t palette[256][3];
    int16_t *nearest;                 // [BINS] palette entry, -1: not asked for yet
    uint8_t *now, *before, *changed;  // [height][width] palette entries
    uint8_t *bytes;                   // the file so far
    size_t size, capacity;
};

// ---------------------------------------------------------------- bytes

static void put(gif *g, const void *data, size_t size)
{
    if (size > g->capacity - g->size) {
        g->capacity = 2 * (g->size + size) + 4096;
        g->bytes = cli_realloc(g->bytes, g->capacity, 1);
    }
    memcpy(g->bytes + g->size, data, size);
    g->size += size;
}

static void put_short(gif *g, int value)
{
    put(g, (uint8_t[]){(uint8_t)(value & 255), (uint8_t)(value >> 8 & 255)}, 2);
}

// ---------------------------------------------------------------- the palette

typedef struct bin {
    uint8_t rgb[3];
    uint32_t count;
} bin;

typedef struct box {
    int begin, end;  // of bins
    int channel;     // the one that varies most
    double error;    // its variance times the number of pixels
} box;

static int by_red(const void *a, const void *b)
{
    return ((const bin *)a)->rgb[0] - ((const bin *)b)->rgb[0];
}

static int by_green(const void *a, const void *b)
{
    return ((const bin *)a)->rgb[1] - ((const bin *)b)->rgb[1];
}

static int by_blue(const void *a, const void *b)
{
    return ((const bin *)a)->rgb[2] - ((const bin *)b)->rgb[2];
}

static void measure_box(box *b, const bin *bins)
{
    b->error = -1;
    for (int k = 0; k < 3; ++k) {
        double n = 0, sum = 0, square = 0;
        for (int i = b->begin; i < b->end; ++i) {
            // Flat backdrops must not take all entries: frequent colours count less than fully.
            double weight = sqrt((double)bins[i].count), x = bins[i].rgb[k];
            n += weight, sum += weight * x, square += weight * x * x;
        }
        double error = n > 0 ? square - sum * sum / n : 0;
        if (error > b->error) b->error = error, b->channel = k;
    }
}

// Cuts the box where half of its weight lies on each side.
static void cut_box(box *b, bin *bins, box *other)
{
    size_t count = (size_t)(b->end - b->begin);
    int (*const orders[3])(const void *, const void *) = {by_red, by_green, by_blue};
    qsort(bins + b->begin, count, sizeof *bins, orders[b->channel]);
    double total = 0, half = 0;
    for (int i = b->begin; i < b->end; ++i) total += sqrt((double)bins[i].count);
    int at = b->begin;
    while (at < b->end - 1 && half < 0.5 * total) half += sqrt((double)bins[at++].count);
    if (at == b->begin) ++at;
    *other = (box){.begin = at, .end = b->end};
    b->end = at;
    measure_box(b, bins);
    measure_box(other, bins);
}

static int collect_bins(const gif *g, bin **bins)
{
    uint32_t *counts = cli_realloc(NULL, BINS, sizeof *counts);
    memset(counts, 0, BINS * sizeof *counts);
    size_t pixels = (size_t)g->held_count * (size_t)g->width * (size_t)g->height;
    for (size_t i = 0; i < pixels; ++i) {
        const uint8_t *c = g->held + 3 * i;
        uint32_t *count = &counts[(c[0] >> 2) << 12 | (c[1] >> 2) << 6 | c[2] >> 2];
        *count += *count < UINT32_MAX;
    }
    int used = 0;
    *bins = cli_realloc(NULL, BINS, sizeof **bins);
    for (int i = 0; i < BINS; ++i) {
        if (counts[i] == 0) continue;
        bin *b = &(*bins)[used++];
        b->count = counts[i];
        for (int k = 0; k < 3; ++k) b->rgb[k] = (uint8_t)(4 * (i >> (12 - 6 * k) & 63) + 2);
    }
    free(counts);
    return used;
}

static void make_palette(gif *g)
{
    bin *bins;
    box boxes[COLORS];
    int used = collect_bins(g, &bins), count = 1;
    boxes[0] = (box){.end = used};
    measure_box(&boxes[0], bins);
    while (count < COLORS) {
        int worst = -1;
        for (int i = 0; i < count; ++i)
            if (boxes[i].end - boxes[i].begin > 1 &&
                (worst < 0 || boxes[i].error > boxes[worst].error))
                worst = i;
        if (worst < 0) break;
        cut_box(&boxes[worst], bins, &boxes[count++]);
    }
    for (int i = 0; i < count; ++i) {
        double n = 0, sum[3] = {0, 0, 0};
        for (int j = boxes[i].begin; j < boxes[i].end; ++j) {
            double weight = sqrt((double)bins[j].count);
            n += weight;
            for (int k = 0; k < 3; ++k) sum[k] += weight * bins[j].rgb[k];
        }
        for (int k = 0; k < 3; ++k) g->palette[i][k] = (uint8_t)(n > 0 ? sum[k] / n + 0.5 : 0);
    }
    // What is left over repeats the first: it is never nearer.
    for (int i = count; i < 256; ++i) memcpy(g->palette[i], g->palette[0], 3);
    free(bins);
    g->nearest = cli_realloc(NULL, BINS, sizeof *g->nearest);
    memset(g->nearest, 0xff, BINS * sizeof *g->nearest);
    g->has_palette = true;
}

static int nearest_color(gif *g, const int rgb[3])
{
    int16_t *known = &g->nearest[(rgb[0] >> 2) << 12 | (rgb[1] >> 2) << 6 | rgb[2] >> 2];
    if (*known >= 0) return *known;
    int best = 0, least = INT32_MAX;
    for (int i = 0; i < COLORS; ++i) {
        int d = 0;
        static const int weight[3] = {2, 4, 1};  // as the eye sees them
        for (int k = 0; k < 3; ++k) {
            int apart = (rgb[k] & ~3) + 2 - g->palette[i][k];
            d += weight[k] * apart * apart;
        }
        if (d < least) least = d, best = i;
    }
    return *known = (int16_t)best;
}

// ---------------------------------------------------------------- LZW

typedef struct codes {
    gif *g;
    uint8_t block[255];
    int used;
    uint32_t bits;
    int bit_count;
    int width;                  // of the next code
    int next;                   // code to be given
    int16_t first[MOST_CODES];  // child of a code, -1: none
    int16_t sibling[MOST_CODES];
    uint8_t symbol[MOST_CODES];
} codes;

static void put_block(codes *c)
{
    uint8_t length = (uint8_t)c->used;
    if (length == 0) return;
    put(c->g, &length, 1);
    put(c->g, c->block, length);
    c->used = 0;
}

static void put_code(codes *c, int code)
{
    c->bits |= (uint32_t)code << c->bit_count;
    c->bit_count += c->width;
    while (c->bit_count >= 8) {
        c->block[c->used++] = (uint8_t)(c->bits & 255);
        if (c->used == 255) put_block(c);
        c->bits >>= 8, c->bit_count -= 8;
    }
}

enum { DEPTH = 8, CLEAR = 1 << DEPTH, END = CLEAR + 1 };

static void forget(codes *c)
{
    put_code(c, CLEAR);
    c->width = DEPTH + 1, c->next = END + 1;
    memset(c->first, 0xff, sizeof c->first);
}

static int find_child(const codes *c, int prefix, uint8_t symbol)
{
    int child = c->first[prefix];
    while (child >= 0 && c->symbol[child] != symbol) child = c->sibling[child];
    return child;
}

static void compress(gif *g, const uint8_t *symbols, size_t count)
{
    codes *c = cli_realloc(NULL, 1, sizeof *c);
    *c = (codes){.g = g, .width = DEPTH + 1};
    put(g, (uint8_t[]){DEPTH}, 1);
    forget(c);
    int prefix = symbols[0];
    for (size_t i = 1; i < count; ++i) {
        int child = find_child(c, prefix, symbols[i]);
        if (child >= 0) {
            prefix = child;
            continue;
        }
        put_code(c, prefix);
        // The reader learns this code one step later: the width grows when it has been given.
        if (c->next < MOST_CODES) {
            if (c->next == 1 << c->width) ++c->width;
            c->symbol[c->next] = symbols[i];
            c->sibling[c->next] = c->first[prefix];
            c->first[prefix] = (int16_t)c->next++;
        } else {
            forget(c);
        }
        prefix = symbols[i];
    }
    put_code(c, prefix);
    if (c->next < MOST_CODES && c->next == 1 << c->width) ++c->width;
    put_code(c, END);
    if (c->bit_count > 0) {
        c->block[c->used++] = (uint8_t)(c->bits & 255);
    }
    put_block(c);
    put(g, (uint8_t[]){0}, 1);
    free(c);
}

// ---------------------------------------------------------------- frames

static void put_header(gif *g)
{
    put(g, "GIF89a", 6);
    put_short(g, g->width);
    put_short(g, g->height);
    put(g, (uint8_t[]){0xf7, 0, 0}, 3);  // 256 colours for all frames
    put(g, g->palette, sizeof g->palette);
    put(g, "\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0", 19);  // for ever
}

// Palette entries of a frame, rounded by an 8×8 pattern (B. Bayer, 1973).
static void quantise(gif *g, const uint8_t *rgb)
{
    for (int y = 0; y < g->height; ++y)
        for (int x = 0; x < g->width; ++x) {
            int threshold = 0;
            for (int bit = 0; bit < 3; ++bit) {
                int i = x >> bit & 1, j = y >> bit & 1;
                threshold |= (2 * (i ^ j) + j) << (2 * (2 - bit));
            }
            size_t at = (size_t)y * (size_t)g->width + (size_t)x;
            int moved[3];
            for (int k = 0; k < 3; ++k) {
                int value = rgb[3 * at + (size_t)k] + (threshold - 32) / 6;
                moved[k] = value < 0 ? 0 : value > 255 ? 255 : value;
            }
            g->now[at] = (uint8_t)nearest_color(g, moved);
        }
}

// The smallest rectangle that holds all changes: x, y, width, height.
static void changed_part(const gif *g, int part[4])
{
    int low[2] = {g->width, g->height}, high[2] = {-1, -1};
    for (int y = 0; y < g->height; ++y)
        for (int x = 0; x < g->width; ++x) {
            size_t at = (size_t)y * (size_t)g->width + (size_t)x;
            if (g->now[at] == g->before[at]) continue;
            low[0] = x < low[0] ? x : low[0], high[0] = x > high[0] ? x : high[0];
            low[1] = y < low[1] ? y : low[1], high[1] = y;
        }
    bool none = high[0] < 0;  // a frame is needed all the same, for its time
    part[0] = none ? 0 : low[0], part[1] = none ? 0 : low[1];
    part[2] = none ? 1 : high[0] - low[0] + 1, part[3] = none ? 1 : high[1] - low[1] + 1;
}

static int hundredths(const gif *g, int frame)
{
    int delay = (int)(round(100.0 * (frame + 1) / g->rate) - round(100.0 * frame / g->rate));
    return delay < 2 ? 2 : delay > 65535 ? 65535 : delay;  // players do not obey less
}

static void encode(gif *g, const uint8_t *rgb)
{
    bool first = g->frame_count == 0;
    int part[4] = {0, 0, g->width, g->height};
    quantise(g, rgb);
    if (first)
        put_header(g);
    else
        changed_part(g, part);
    size_t count = 0;
    for (int y = part[1]; y < part[1] + part[3]; ++y)
        for (int x = part[0]; x < part[0] + part[2]; ++x) {
            size_t at = (size_t)y * (size_t)g->width + (size_t)x;
            bool same = !first && g->now[at] == g->before[at];
            g->changed[count++] = same ? UNCHANGED : g->now[at];
        }
    put(g, (uint8_t[]){0x21, 0xf9, 4, first ? 4 : 5}, 4);  // it stays; UNCHANGED shows through
    put_short(g, hundredths(g, g->frame_count));
    put(g, (uint8_t[]){UNCHANGED, 0, 0x2c}, 3);
    for (int k = 0; k < 4; ++k) put_short(g, part[k]);
    put(g, (uint8_t[]){0}, 1);
    compress(g, g->changed, count);
    uint8_t *swap = g->before;
    g->before = g->now, g->now = swap;
    ++g->frame_count;
}

static void release_held(gif *g)
{
    size_t frame = 3 * (size_t)g->width * (size_t)g->height;
    if (!g->has_palette) make_palette(g);
    for (int i = 0; i < g->held_count; ++i) encode(g, g->held + (size_t)i * frame);
    g->held_count = 0;
}

gif *gif_new(int width, int height, double rate)
{
    gif *g = cli_realloc(NULL, 1, sizeof *g);
    size_t pixels = (size_t)width * (size_t)height;
    *g = (gif){.width = width, .height = height, .rate = rate};
    g->most_held = (int)(HELD_BYTES / (3 * pixels));
    g->most_held = g->most_held < 1 ? 1 : g->most_held;
    g->now = cli_realloc(NULL, pixels, 1);
    g->before = cli_realloc(NULL, pixels, 1);
    g->changed = cli_realloc(NULL, pixels, 1);
    return g;
}

void gif_add(gif *g, const picture *p)
{
    size_t pixels = (size_t)g->width * (size_t)g->height;
    if (g->held_count == g->held_capacity) {
        g->held_capacity = g->held_capacity ? 2 * g->held_capacity : 8;
        g->held = cli_realloc(g->held, (size_t)g->held_capacity, 3 * pixels);
    }
    uint8_t *to = g->held + 3 * pixels * (size_t)g->held_count++;
    for (size_t i = 0; i < pixels; ++i) memcpy(to + 3 * i, p->rgba + 4 * i, 3);
    if (g->has_palette || g->held_count >= g->most_held) release_held(g);
}

bool gif_save(gif *g, const char *path, char *why, size_t size)
{
    release_held(g);
    put(g, (uint8_t[]){0x3b}, 1);
    bool good = cli_write_whole(path, g->bytes, g->size, why, size);
    gif_free(g);
    return good;
}

void gif_free(gif *g)
{
    if (!g) return;
    free(g->held);
    free(g->nearest);
    free(g->now);
    free(g->before);
    free(g->changed);
    free(g->bytes);
    free(g);
}
