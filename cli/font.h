// The letters of the pictures: strokes on a small grid, so that they are smooth at every size.
#ifndef HOOKE_FONT_H
#define HOOKE_FONT_H

// A glyph is its width in units and its strokes, separated by spaces. A stroke is a chain of
// points, two base-36 digits x and y each. After '~' the points are the control points of a
// quadratic B-spline that starts in the first and ends in the last one. y = 4 is the baseline,
// c (12) the height of an x, g (16) that of a capital.
enum { FONT_BASELINE = 4, FONT_CAPITAL = 12, FONT_GAP = 4, FONT_POINTS = 160 };

// The glyph of the next character of a UTF-8 text; moves past it.
const char *font_glyph(const char **text);
int font_advance(const char *glyph);
// Cuts the next stroke of a glyph into straight pieces: returns the number of points written to
// `points` [FONT_POINTS][2] in units, 0 after the last stroke. `*at` starts as the glyph.
int font_stroke(const char **at, float (*points)[2]);

#endif
