// Colour scales as curves through OKLab. All knots are our own, about equally far from each other,
// joined by Catmull-Rom curves.
#include "colormap.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const colormap maps[] = {
    // For shaded surfaces: shading already uses lightness, so the values are told by hue over a
    // moderate range of lightness (K. Moreland, "Diverging Color Maps for Scientific
    // Visualization", 2009), in the order blue, green, yellow, red that turbo made even
    // (A. Mikhailov, 2019).
    {"spectrum",
     false,
     8,
     {{0.42f, 0.145f, 272},
      {0.55f, 0.145f, 255},
      {0.67f, 0.125f, 226},
      {0.76f, 0.120f, 180},
      {0.84f, 0.155f, 133},
      {0.87f, 0.165f, 96},
      {0.72f, 0.175f, 55},
      {0.54f, 0.195f, 27}}},
    // Lightness rises evenly from violet over green to yellow: also for those who see few hues,
    // and in print.
    {"viridis",
     false,
     6,
     {{0.28f, 0.120f, 315},
      {0.40f, 0.110f, 282},
      {0.52f, 0.095f, 235},
      {0.64f, 0.110f, 175},
      {0.77f, 0.165f, 135},
      {0.90f, 0.185f, 105}}},
    // Evenly from black over magenta and orange to a light yellow.
    {"magma",
     false,
     6,
     {{0.10f, 0.030f, 280},
      {0.28f, 0.130f, 295},
      {0.45f, 0.180f, 340},
      {0.62f, 0.190f, 20},
      {0.79f, 0.150f, 62},
      {0.96f, 0.090f, 105}}},
    // Blue and red on both sides of a light grey (Moreland 2009): for values with a sign.
    {"coolwarm",
     true,
     7,
     {{0.44f, 0.165f, 265},
      {0.60f, 0.125f, 258},
      {0.76f, 0.065f, 250},
      {0.89f, 0.004f, 90},
      {0.77f, 0.075f, 40},
      {0.61f, 0.145f, 31},
      {0.45f, 0.175f, 27}}},
    {"grey", false, 2, {{0.25f, 0, 0}, {0.97f, 0, 0}}},
};

int colormap_count(void)
{
    return (int)(sizeof maps / sizeof maps[0]);
}

const colormap *colormap_at(int number)
{
    return &maps[number];
}

const colormap *colormap_find(const char *name)
{
    for (int i = 0; i < colormap_count(); ++i)
        if (strcmp(maps[i].name, name) == 0 || (i == 4 && strcmp(name, "gray") == 0))
            return &maps[i];
    return NULL;
}

void oklab_to_linear(const float lab[3], float rgb[3])
{
    float l = lab[0] + 0.3963377774f * lab[1] + 0.2158037573f * lab[2];
    float m = lab[0] - 0.1055613458f * lab[1] - 0.0638541728f * lab[2];
    float s = lab[0] - 0.0894841775f * lab[1] - 1.2914855480f * lab[2];
    l = l * l * l, m = m * m * m, s = s * s * s;
    rgb[0] = +4.0767416621f * l - 3.3077115913f * m + 0.2309699292f * s;
    rgb[1] = -1.2684380046f * l + 2.6097574011f * m - 0.3413193965f * s;
    rgb[2] = -0.0041960863f * l - 0.7034186147f * m + 1.7076147010f * s;
    for (int k = 0; k < 3; ++k) rgb[k] = fminf(fmaxf(rgb[k], 0), 1);
}

void colormap_color(const colormap *map, float t, float rgb[3])
{
    int last = map->count - 1;
    float at = fminf(fmaxf(t, 0), 1) * (float)last;
    int i = at >= (float)(last - 1) ? last - 1 : (int)at;
    float u = at - (float)i, lab[4][3];
    for (int j = 0; j < 4; ++j) {
        int k = i - 1 + j;
        k = k < 0 ? 0 : k > last ? last : k;
        float hue = map->knots[k][2] * (float)(M_PI / 180);
        lab[j][0] = map->knots[k][0];
        lab[j][1] = map->knots[k][1] * cosf(hue);
        lab[j][2] = map->knots[k][1] * sinf(hue);
    }
    float mixed[3];
    for (int k = 0; k < 3; ++k) {
        float a = lab[0][k], b = lab[1][k], c = lab[2][k], d = lab[3][k];
        mixed[k] =
            b + 0.5f * u * (c - a + u * (2 * a - 5 * b + 4 * c - d + u * (3 * (b - c) + d - a)));
    }
    oklab_to_linear(mixed, rgb);
}
