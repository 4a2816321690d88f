// Colour scales of the pictures.
#ifndef HOOKE_COLORMAP_H
#define HOOKE_COLORMAP_H

#include <stdbool.h>

typedef struct colormap {
    const char *name;
    bool diverging;  // its middle stands for 0
    int count;
    float knots[9][3];  // OKLab: lightness, chroma, hue (degrees)
} colormap;

int colormap_count(void);
const colormap *colormap_at(int number);          // 0 is the default
const colormap *colormap_find(const char *name);  // NULL: there is none
// The colour of t in 0..1 as linear light.
void colormap_color(const colormap *map, float t, float rgb[3]);
// Linear sRGB of a colour in OKLab (B. Ottosson, "A perceptual color space for image processing",
// 2020), within the gamut.
void oklab_to_linear(const float lab[3], float rgb[3]);

#endif
