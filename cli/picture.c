// Pictures: pixels, PNG files, text, colours and the colour bar.
#include "picture.h"

#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "colormap.h"
#include "font.h"

picture picture_new(int width, int height)
{
    picture p = {width, height, NULL};
    size_t count = (size_t)width * (size_t)height;
    p.rgba = cli_realloc(NULL, count, 4);
    memset(p.rgba, 0, 4 * count);
    return p;
}

void picture_free(picture *p)
{
    free(p->rgba);
    *p = (picture){0};
}

void picture_paste(picture *p, const picture *from, int x, int y)
{
    int left = x < 0 ? -x : 0;
    int right = x + from->width > p->width ? p->width - x : from->width;
    if (right <= left) return;
    for (int row = 0; row < from->height; ++row) {
        if (y + row < 0 || y + row >= p->height) continue;
        memcpy(p->rgba + 4 * ((size_t)(y + row) * (size_t)p->width + (size_t)(x + left)),
               from->rgba + 4 * ((size_t)row * (size_t)from->width + (size_t)left),
               4 * (size_t)(right - left));
    }
}

// ---------------------------------------------------------------- PNG

static bool is_opaque(const picture *p)
{
    size_t count = (size_t)p->width * (size_t)p->height;
    for (size_t i = 0; i < count; ++i)
        if (p->rgba[4 * i + 3] != 255) return false;
    return true;
}

static void keep_png_error(png_structp png, png_const_charp message)
{
    snprintf(png_get_error_ptr(png), 128, "%s", message);
    png_longjmp(png, 1);
}

static void drop_png_warning(png_structp png, png_const_charp message)
{
    (void)png, (void)message;
}

typedef struct png_bytes {
    uint8_t *data;
    size_t size, capacity;
} png_bytes;

static void keep_png_bytes(png_structp png, png_bytep data, size_t size)
{
    png_bytes *bytes = png_get_io_ptr(png);
    if (size > bytes->capacity - bytes->size) {
        bytes->capacity = 2 * (bytes->size + size);
        bytes->data = cli_realloc(bytes->data, bytes->capacity, 1);
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

static void flush_no_png(png_structp png)
{
    (void)png;
}

// The rows as PNG; `message` [128] says why on false.
static bool encode_png(const picture *p, png_bytes *bytes, char *message)
{
    png_structp png =
        png_create_write_struct(PNG_LIBPNG_VER_STRING, message, keep_png_error, drop_png_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        png_destroy_write_struct(&png, NULL);
        snprintf(message, 128, "not enough memory");
        return false;
    }
    if (setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        return false;
    }
    bool opaque = is_opaque(p);
    png_set_write_fn(png, bytes, keep_png_bytes, flush_no_png);
    png_set_IHDR(png, info, (png_uint_32)p->width, (png_uint_32)p->height, 8,
                 opaque ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_RGBA, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
    png_set_filter(png, 0, PNG_FILTER_SUB | PNG_FILTER_UP);
    png_set_compression_level(png, 6);
    png_write_info(png, info);
    if (opaque) png_set_filler(png, 0, PNG_FILLER_AFTER);  // drops the fourth byte
    for (int y = 0; y < p->height; ++y)
        png_write_row(png, p->rgba + 4 * (size_t)y * (size_t)p->width);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return true;
}

bool picture_save(const picture *p, const char *path, char *why, size_t why_size)
{
    char message[128] = "";
    png_bytes bytes = {0};
    bool good = encode_png(p, &bytes, message);
    if (!good)
        snprintf(why, why_size, "cannot write %s: %s", path, message);
    else
        good = cli_write_whole(path, bytes.data, bytes.size, why, why_size);
    free(bytes.data);
    return good;
}

// ---------------------------------------------------------------- colours

float srgb_to_linear(float value)
{
    return value <= 0.04045f ? value / 12.92f : powf((value + 0.055f) / 1.055f, 2.4f);
}

float linear_to_srgb(float light)
{
    if (!(light > 0)) return 0;
    if (light >= 1) return 255;
    return 255 * (light <= 0.0031308f ? 12.92f * light : 1.055f * powf(light, 1 / 2.4f) - 0.055f);
}

void body_color(int body, float rgb[3])
{
    static const float colors[BODY_COLORS][3] = {
        {0.68f, 0.100f, 250}, {0.74f, 0.110f, 55}, {0.74f, 0.095f, 150},
        {0.68f, 0.095f, 330}, {0.80f, 0.100f, 95}, {0.72f, 0.075f, 205},
    };
    static const float neutral[3] = {0.80f, 0.008f, 250};
    const float *c = body == OBSTACLE_COLOR ? neutral : colors[body % BODY_COLORS];
    float hue = c[2] * (float)(M_PI / 180);
    oklab_to_linear((float[]){c[0], c[1] * cosf(hue), c[1] * sinf(hue)}, rgb);
}

bool parse_color(const char *text, uint8_t rgb[3])
{
    static const struct {
        const char *name, *value;
    } names[] = {{"white", "#ffffff"}, {"black", "#000000"}, {"grey", "#808080"},
                 {"gray", "#808080"},  {"dark", "#1d2129"},  {"light", "#eef1f5"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (strcmp(text, names[i].name) == 0) text = names[i].value;
    size_t digits = strlen(text) - 1;
    if (text[0] != '#' || (digits != 3 && digits != 6)) return false;
    if (strspn(text + 1, "0123456789abcdefABCDEF") != digits) return false;
    unsigned long value = strtoul(text + 1, NULL, 16);
    for (int k = 0; k < 3; ++k)
        rgb[k] = digits == 6 ? (uint8_t)(value >> (16 - 8 * k) & 255)
                             : (uint8_t)((value >> (8 - 4 * k) & 15) * 17);
    return true;
}

// Paints `rgb` over a pixel, `cover` (0..1) of it.
static void blend(picture *p, int x, int y, const uint8_t rgb[3], float cover)
{
    if (x < 0 || y < 0 || x >= p->width || y >= p->height || cover <= 0) return;
    uint8_t *to = p->rgba + 4 * ((size_t)y * (size_t)p->width + (size_t)x);
    float under = (float)to[3] / 255 * (1 - cover), alpha = cover + under;
    for (int k = 0; k < 3; ++k)
        to[k] = (uint8_t)(((float)rgb[k] * cover + (float)to[k] * under) / alpha + 0.5f);
    to[3] = (uint8_t)(255 * alpha + 0.5f);
}

// ---------------------------------------------------------------- text

float text_width(const char *text, float size)
{
    int units = 0;
    if (!*text) return 0;
    while (*text) units += font_advance(font_glyph(&text));
    return (float)(units - FONT_GAP) * size / FONT_CAPITAL;
}

static float distance_to_segment(float x, float y, const float a[2], const float b[2])
{
    float dx = b[0] - a[0], dy = b[1] - a[1], length = dx * dx + dy * dy;
    float t = length > 0 ? ((x - a[0]) * dx + (y - a[1]) * dy) / length : 0;
    t = fminf(fmaxf(t, 0), 1);
    return hypotf(x - a[0] - t * dx, y - a[1] - t * dy);
}

// Collects all strokes of a glyph as segments in pixels; returns their number.
static int glyph_segments(const char *glyph, float x, float y, float unit, float (*ends)[2][2],
                          int most)
{
    float points[FONT_POINTS][2];
    int count = 0;
    for (int n; (n = font_stroke(&glyph, points)) > 0;) {
        for (int i = 0; i + 1 < n && count < most; ++i, ++count)
            for (int e = 0; e < 2; ++e) {
                ends[count][e][0] = x + unit * points[i + e][0];
                ends[count][e][1] = y - unit * (points[i + e][1] - FONT_BASELINE);
            }
    }
    return count;
}

static void draw_glyph(picture *p, const char *glyph, float x, float y, float unit, ink color)
{
    enum { MOST = 4 * FONT_POINTS };
    float ends[MOST][2][2];
    int count = glyph_segments(glyph, x, y, unit, ends, MOST);
    if (count == 0) return;
    float half = fmaxf(0.72f * unit, 0.55f);
    float low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int i = 0; i < 2 * count; ++i)
        for (int k = 0; k < 2; ++k) {
            low[k] = fminf(low[k], ends[i / 2][i % 2][k]);
            high[k] = fmaxf(high[k], ends[i / 2][i % 2][k]);
        }
    for (int py = (int)floorf(low[1] - half - 1); py <= (int)ceilf(high[1] + half + 1); ++py)
        for (int px = (int)floorf(low[0] - half - 1); px <= (int)ceilf(high[0] + half + 1); ++px) {
            float nearest = INFINITY;
            for (int i = 0; i < count; ++i)
                nearest = fminf(nearest, distance_to_segment((float)px + 0.5f, (float)py + 0.5f,
                                                             ends[i][0], ends[i][1]));
            blend(p, px, py, color.rgb, fminf(half + 0.5f - nearest, 1));
        }
}

void picture_text(picture *p, const char *text, float x, float y, float anchor, ink color)
{
    float unit = color.size / FONT_CAPITAL;
    x -= anchor * text_width(text, color.size);
    while (*text) {
        const char *glyph = font_glyph(&text);
        draw_glyph(p, glyph, x, y, unit, color);
        x += unit * (float)font_advance(glyph);
    }
}

// ---------------------------------------------------------------- colour bar

void nice_ticks(double low, double high, int wanted, double *first, double *step)
{
    double rough = (high - low) / wanted, power = pow(10, floor(log10(rough))),
           part = rough / power;
    *step = power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
    *first = *step * ceil(low / *step - 1e-6);
}

const char *si_prefix(double magnitude, double *factor)
{
    static const struct {
        const char *name;
        double factor;
    } prefixes[] = {{"T", 1e12}, {"G", 1e9},         {"M", 1e6},  {"k", 1e3},  {"", 1},
                    {"m", 1e-3}, {"\xC2\xB5", 1e-6}, {"n", 1e-9}, {"p", 1e-12}};
    enum { COUNT = sizeof prefixes / sizeof prefixes[0] };
    // 0.99995 reads "1.0000", so it takes the greater prefix.
    for (int i = 0; i < COUNT; ++i)
        if (magnitude >= 0.9999 * prefixes[i].factor && magnitude < 1e16) {
            *factor = prefixes[i].factor;
            return prefixes[i].name;
        }
    *factor = 1;  // zero, or beyond what the prefixes serve
    return "";
}

typedef struct ticks {
    double first, step, factor;
    int count, decimals;
    char unit[16];
    bool plain;  // numbers fit without an exponent
} ticks;

static ticks bar_ticks(const color_bar *bar)
{
    ticks t = {.first = bar->low, .count = 1};
    double magnitude = fmax(fabs(bar->low), fabs(bar->high));
    const char *prefix = si_prefix(magnitude, &t.factor);
    if (strcmp(bar->unit, "m") == 0 && magnitude >= 1) prefix = "", t.factor = 1;
    snprintf(t.unit, sizeof t.unit, "%s%s", prefix, bar->unit);
    double shown = magnitude / t.factor;
    t.plain = shown < 1e5 && (shown == 0 || shown >= 1e-3);
    double span = bar->high - bar->low;
    // Steps below the rounding of the numbers themselves would never end.
    if (span > 1e-9 * magnitude && isfinite(span)) {
        nice_ticks(bar->low, bar->high, 5, &t.first, &t.step);
        t.count = (int)floor((bar->high - t.first) / t.step + 1e-6) + 1;
        t.decimals = (int)fmax(0, -floor(log10(t.step / t.factor) + 1e-6));
    }
    return t;
}

static void tick_label(const ticks *t, int i, char *text, size_t size)
{
    double value = (t->first + i * t->step) / t->factor;
    if (fabs(value) < 1e-9 * t->step / t->factor) value = 0;  // no "-0"
    if (t->plain && t->step > 0)
        snprintf(text, size, "%.*f", t->decimals, value);
    else
        snprintf(text, size, "%.3g", value);
}

static float bar_thickness(float text_size)
{
    return roundf(1.5f * text_size);
}

int color_bar_width(const color_bar *bar, float text_size)
{
    ticks t = bar_ticks(bar);
    float labels = 0;
    for (int i = 0; i < t.count; ++i) {
        char text[32];
        tick_label(&t, i, text, sizeof text);
        labels = fmaxf(labels, text_width(text, text_size));
    }
    float width = bar_thickness(text_size) + text_size + labels;
    width = fmaxf(width, text_width(bar->title, text_size));
    return (int)ceilf(fmaxf(width, text_width(t.unit, text_size)));
}

// The scale itself; ends beyond which values occur are pointed.
static void paint_scale(picture *p, const color_bar *bar, int x, int top, int bottom, int width,
                        const uint8_t outline[3])
{
    int tip = width / 2;
    int above = bar->most > bar->high ? tip : 0, below = bar->least < bar->low ? tip : 0;
    for (int y = top - above - 1; y <= bottom + below; ++y) {
        float t = ((float)bottom - (float)y - 0.5f) / (float)(bottom - top);
        float over = y < top       ? (float)(top - y) - 0.5f
                     : y >= bottom ? (float)(y - bottom) + 0.5f
                                   : 0;
        float rgb[3];
        colormap_color(bar->map ? bar->map : colormap_at(0), t, rgb);
        uint8_t bytes[3];
        for (int k = 0; k < 3; ++k) bytes[k] = (uint8_t)(linear_to_srgb(rgb[k]) + 0.5f);
        for (int px = x - 1; px <= x + width; ++px) {
            // Distance to the border, positive inside; the tips are at 45 degrees.
            float side = fminf((float)px + 0.5f - (float)x, (float)(x + width) - (float)px - 0.5f);
            float inside = (over > 0 && (above || below)) ? (side - over) * 0.70710678f : side;
            if (y < top && !above) inside = -over;
            if (y >= bottom && !below) inside = -over;
            blend(p, px, y, bytes, fminf(fmaxf(inside + 0.5f, 0), 1));
            blend(p, px, y, outline, 0.55f * fmaxf(0, 1 - fabsf(inside)));
        }
    }
}

void picture_color_bar(picture *p, const color_bar *bar, int x, int y, int height, ink color)
{
    ticks t = bar_ticks(bar);
    float s = color.size;
    int thick = (int)bar_thickness(s), head = (int)(s * 3.9f) + thick / 2, foot = thick;
    picture_text(p, bar->title, (float)x, (float)y + s, 0, color);
    picture_text(p, t.unit, (float)x, (float)y + 2.75f * s, 0, color);
    int top = y + head, bottom = y + height - foot;
    if (bottom - top < 4) return;
    paint_scale(p, bar, x, top, bottom, thick, color.rgb);
    double span = bar->high - bar->low;
    for (int i = 0; i < t.count; ++i) {
        double where = t.step > 0 ? (t.first + i * t.step - bar->low) / span : 0.5;
        float at = (float)bottom - (float)where * (float)(bottom - top);
        char text[32];
        tick_label(&t, i, text, sizeof text);
        for (int px = 0; px < (int)(0.45f * s); ++px)
            blend(p, x + thick + 1 + px, (int)at - (where >= 1), color.rgb, 0.7f);
        picture_text(p, text, (float)(x + thick) + 0.95f * s, at + 0.5f * s, 0, color);
    }
}
