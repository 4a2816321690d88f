// Pictures: pixels, PNG files, text, colours, the colour bar and the contact sheet.
#ifndef HOOKE_PICTURE_H
#define HOOKE_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct picture {
    int width, height;
    uint8_t *rgba;  // [height][width][4] sRGB, alpha not multiplied in; the first row is the top
} picture;

picture picture_new(int width, int height);  // transparent; ends the program without memory
void picture_free(picture *p);
// Writes a PNG under a temporary name and renames it. On false the reason is in `why`.
bool picture_save(const picture *p, const char *path, char *why, size_t why_size);
// Copies `from` with its top left corner at (x, y); what lies outside is cut off.
void picture_paste(picture *p, const picture *from, int x, int y);

// ---------------------------------------------------------------- colours

// The light of an sRGB value, 0..1, and back to 0..255.
float srgb_to_linear(float value);
float linear_to_srgb(float light);
// Calm colours for bodies that show no values, as linear light; they repeat.
enum { BODY_COLORS = 6, OBSTACLE_COLOR = 255 };  // the latter has no hue
void body_color(int body, float rgb[3]);
// "#rrggbb", "#rgb" or one of a few names, as sRGB bytes.
bool parse_color(const char *text, uint8_t rgb[3]);

// ---------------------------------------------------------------- text

typedef struct ink {
    uint8_t rgb[3];
    float size;  // px, height of a capital letter
} ink;

// Printable ASCII and the micro sign; other characters show as '?'.
float text_width(const char *text, float size);
// `y` is the baseline; `anchor` is 0 to start at x, 0.5 to centre there, 1 to end there.
void picture_text(picture *p, const char *text, float x, float y, float anchor, ink color);

// ---------------------------------------------------------------- colour bar

typedef struct color_bar {
    const char *title;           // "von Mises stress"
    const char *unit;            // "Pa", "m"
    double low, high;            // in the unit
    double least, most;          // values that occur; beyond low..high the bar gets a pointed end
    const struct colormap *map;  // NULL: the default
} color_bar;

// Round steps that cut low..high into about `wanted` parts: the first tick and the step.
void nice_ticks(double low, double high, int wanted, double *first, double *step);
// The SI prefix (…, 'n', 'u', 'm', '\0', 'k', 'M', 'G', …) that suits `magnitude`, and its factor.
const char *si_prefix(double magnitude, double *factor);
// How wide a bar is with its labels, px.
int color_bar_width(const color_bar *bar, float text_size);
void picture_color_bar(picture *p, const color_bar *bar, int x, int y, int height, ink color);

#endif
