#include "plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

// ---------------------------------------------------------------- looks

// Okabe and Ito's colours, which remain distinct to the colour-blind, without the yellow, which
// does not to anybody on white. When they are used up, they return with dashes.
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#000000", "#e69f00", "#56b4e9"};
static const char *const dashes[] = {NULL, "7 3", "2 2.5", "8 3 2 3"};
enum { COLOURS = sizeof colours / sizeof colours[0], DASHES = sizeof dashes / sizeof dashes[0] };
enum { MARKS = 7 };

// Pixels.
#define PANEL_WIDTH   372.0
#define PANEL_HEIGHT  300.0
#define PANEL_GAP     34.0  // between two panels; more where the second has numbers of its own
#define LEFT_SPACE    74.0  // of the axis' label and numbers
#define BOTTOM_SPACE  54.0
#define EDGE          18.0
#define LEGEND_GAP    22.0
#define LEGEND_LINE   19.0
#define LEGEND_SAMPLE 34.0
#define MARK_DISTANCE 26.0  // between marks on a line
#define FAR           1e4   // beyond this nothing is visible

// ---------------------------------------------------------------- text

static void put_escaped(FILE *out, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; ++at) {
        switch (*at) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        case '\t':
        case '\n':
        case '\r': fputc(' ', out); break;
        default: fputc(*at < 0x20 || *at == 0x7f ? '?' : *at, out);
        }
    }
}

// The bytes of the UTF-8 character at `at`, 0 where there is none.
static int character_size(const unsigned char *at)
{
    int size = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    if (at[0] > 0xf4) return 0;
    for (int k = 1; k < size; ++k)
        if ((at[k] & 0xc0) != 0x80) return 0;
    // Longer than it need be, a surrogate, beyond the last, or not a character of XML.
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f)) return 0;
    if ((at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f)) return 0;
    if (at[0] == 0xef && at[1] == 0xbf && at[2] > 0xbd) return 0;
    return size;
}

// Names of files need not be UTF-8, SVG must be. To be freed.
static char *clean(const char *text)
{
    char *copy = cli_format("%s", text ? text : "");
    for (unsigned char *at = (unsigned char *)copy; *at;) {
        int size = character_size(at);
        if (size == 0) *at = '?';
        at += size > 0 ? size : 1;
    }
    return copy;
}

static void put_text(FILE *out, const char *text)
{
    char *good = clean(text);
    put_escaped(out, good);
    free(good);
}

// About the width of a text in a sans-serif face, in units of its size.
static double text_width(const char *text)
{
    double width = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at; ++at) {
        if ((*at & 0xc0) == 0x80) continue;  // inside a character
        if (strchr("iljtfrI.,:;|!'()[]", *at))
            width += 0.36;
        else if (strchr("mwMW@%", *at))
            width += 0.92;
        else if ((*at >= 'A' && *at <= 'Z') || strchr("+=<>_~", *at))
            width += 0.7;
        else
            width += 0.6;
    }
    return width;
}

// A number of pixels, without what rounding adds: "12.5", "12", "0".
static void put_number(FILE *out, double value)
{
    char text[40];
    if (!(fabs(value) < 1e6)) value = value > 0 ? 1e6 : value < 0 ? -1e6 : 0;
    snprintf(text, sizeof text, "%.2f", value);
    size_t length = strlen(text);
    while (text[length - 1] == '0') text[--length] = '\0';
    if (text[length - 1] == '.') text[--length] = '\0';
    fputs(strcmp(text, "-0") == 0 ? "0" : text, out);
}

static void put_attribute(FILE *out, const char *name, double value)
{
    fprintf(out, " %s=\"", name);
    put_number(out, value);
    fputc('"', out);
}

static void put_line(FILE *out, double x1, double y1, double x2, double y2)
{
    fputs("<path d=\"M", out);
    put_number(out, x1);
    fputc(' ', out);
    put_number(out, y1);
    fputc('L', out);
    put_number(out, x2);
    fputc(' ', out);
    put_number(out, y2);
    fputs("\"/>\n", out);
}

static void put_label(FILE *out, const char *kind, double x, double y, const char *text)
{
    fprintf(out, "<text class=\"%s\"", kind);
    put_attribute(out, "x", x);
    put_attribute(out, "y", y);
    fputc('>', out);
    put_text(out, text);
    fputs("</text>\n", out);
}

// ---------------------------------------------------------------- ranges and ticks

typedef struct range {
    double low, high;
    bool logarithmic;
} range;

static bool can_show(const range *r, double value)
{
    return isfinite(value) && (!r->logarithmic || value > 0);
}

static void widen(range *r, const double *values, const double *others, int count, bool *below)
{
    for (int i = 0; i < count; ++i) {
        if (isnan(values[i]) || isnan(others[i])) continue;
        *below |= values[i] <= 0;
        if (!can_show(r, values[i])) continue;
        r->low = fmin(r->low, values[i]);
        r->high = fmax(r->high, values[i]);
    }
}

// The step of 1, 2 or 5 times a power of ten that divides a length into about `count` parts.
static double nice_step(double length, int count)
{
    double power = pow(10, floor(log10(length / count))), rest = length / count / power;
    return power * (rest <= 1.0001 ? 1 : rest <= 2.0001 ? 2 : rest <= 5.0001 ? 5 : 10);
}

enum { LINEAR_TICKS = 6 };

// The next 1, 2 or 5 times a power of ten, downwards or upwards.
static double nice_bound(double value, bool up)
{
    static const double steps[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(value) + 1e-9)), rest = value / power;
    if (up) {
        for (int i = 0; i < 3; ++i)
            if (rest <= steps[i] * (1 + 1e-9)) return steps[i] * power;
        return 10 * power;
    }
    for (int i = 3; i > 0; --i)
        if (rest >= steps[i] * (1 - 1e-9)) return steps[i] * power;
    return power;
}

static void round_outwards(range *r, const plot_axis *axis)
{
    if (r->logarithmic) {
        r->low = fmax(r->low, 1e-300), r->high = fmin(r->high, 1e300);
        bool wide = r->high / r->low >= 1e4;
        r->low = wide ? pow(10, floor(log10(r->low) + 1e-9)) : nice_bound(r->low, false);
        r->high = wide ? pow(10, ceil(log10(r->high) - 1e-9)) : nice_bound(r->high, true);
        if (!(r->high > r->low)) r->low /= 10, r->high *= 10;
    } else {
        r->low = fmax(r->low, -1e300), r->high = fmin(r->high, 1e300);
        double middle = fmax(fabs(r->low), fabs(r->high));
        if (!(r->high - r->low > 1e-12 * middle)) {
            r->low -= middle > 0 ? 0.1 * middle : 1;
            r->high += middle > 0 ? 0.1 * middle : 1;
        }
        double step = nice_step(r->high - r->low, LINEAR_TICKS);
        r->low = step * floor(r->low / step + 1e-9);
        r->high = step * ceil(r->high / step - 1e-9);
    }
    if (isfinite(axis->low) && (!r->logarithmic || axis->low > 0)) r->low = axis->low;
    if (isfinite(axis->high) && axis->high > r->low) r->high = axis->high;
    if (!(r->high > r->low)) r->high = r->logarithmic ? 10 * r->low : r->low + 1;
}

static range range_of(const plot_panel *panels, int count, bool of_y)
{
    const plot_axis *axis = of_y ? &panels[0].y : &panels[0].x;
    range r = {INFINITY, -INFINITY, axis->logarithmic};
    bool below = false;
    for (int p = 0; p < count; ++p)
        for (int i = 0; i < panels[p].series_count; ++i) {
            const plot_series *s = &panels[p].series[i];
            widen(&r, of_y ? s->y : s->x, of_y ? s->x : s->y, s->count, &below);
        }
    // What a logarithmic axis cannot show is drawn at its low end, apart from what it can.
    if (below && r.logarithmic && r.low <= r.high) r.low /= 2;
    if (!(r.low <= r.high)) r.low = r.logarithmic ? 1 : 0, r.high = r.logarithmic ? 10 : 1;
    round_outwards(&r, axis);
    return r;
}

typedef struct tick {
    double share;  // of the axis' length
    bool major;
    char mantissa[24];  // "" for none; with an exponent: "10", "2·10"
    char exponent[8];   // "" for none
} tick;

enum { MOST_TICKS = 256 };
typedef struct ticks {
    tick items[MOST_TICKS];
    int count;
} ticks;

static double share_of(const range *r, double value)
{
    if (r->logarithmic)
        return value > 0 ? (log10(value) - log10(r->low)) / (log10(r->high) - log10(r->low)) : 0;
    return (value - r->low) / (r->high - r->low);
}

// Adds a tick where the axis shows it.
static tick *add_tick(ticks *t, const range *r, double value, bool major)
{
    double share = share_of(r, value);
    if (!(share > -1e-6 && share < 1 + 1e-6) || t->count == MOST_TICKS) return NULL;
    tick *added = &t->items[t->count++];
    *added = (tick){.share = fmin(1, fmax(0, share)), .major = major};
    return added;
}

static const char minus[] = "\u2212";

static void name_power(tick *named, int digit, int exponent)
{
    if (digit == 1)
        snprintf(named->mantissa, sizeof named->mantissa, "10");
    else
        snprintf(named->mantissa, sizeof named->mantissa, "%d\u00b710", digit);
    snprintf(named->exponent, sizeof named->exponent, "%s%d", exponent < 0 ? minus : "",
             abs(exponent));
}

// Every power of ten, or every few of them when there are many; between them 2 … 9, of which 2 and
// 5 have numbers when the powers are too few to read the axis by.
static void log_ticks(const range *r, int most, ticks *t)
{
    int first = (int)floor(log10(r->low) - 1e-9), last = (int)ceil(log10(r->high) + 1e-9);
    double decades = log10(r->high) - log10(r->low);
    int every = 1;
    while (decades / every > most) ++every;
    bool between = every == 1 && decades <= 8;
    for (int e = first; e <= last; ++e) {
        bool major = e % every == 0;
        tick *power = add_tick(t, r, pow(10, e), major);
        if (power && major) name_power(power, 1, e);
        for (int digit = 2; between && digit <= 9; ++digit) {
            bool named = decades < 1.7 && (digit == 2 || digit == 5);
            tick *minor = add_tick(t, r, digit * pow(10, e), false);
            if (minor && named) name_power(minor, digit, e);
        }
    }
}

static void linear_ticks(const range *r, ticks *t)
{
    double step = nice_step(r->high - r->low, LINEAR_TICKS);
    int digits = (int)fmax(0, ceil(-log10(step) - 1e-9));
    double largest = fmax(fabs(r->low), fabs(r->high));
    bool plain = largest < 1e6 && digits <= 5;
    for (double k = ceil(r->low / step - 1e-9); k <= floor(r->high / step + 1e-9); ++k) {
        tick *added = add_tick(t, r, k * step, true);
        if (!added) continue;
        char text[64];
        if (plain)
            snprintf(text, sizeof text, "%.*f", digits, fabs(k * step));
        else
            snprintf(text, sizeof text, "%.4g", fabs(k * step));
        snprintf(added->mantissa, sizeof added->mantissa, "%s%.16s", k * step < 0 ? minus : "",
                 text);
        double half = (k + 0.5) * step;
        add_tick(t, r, half, false);
    }
}

static ticks ticks_of(const range *r, int most)
{
    ticks t = {.count = 0};
    if (r->logarithmic)
        log_ticks(r, most, &t);
    else
        linear_ticks(r, &t);
    return t;
}

// ---------------------------------------------------------------- a panel

typedef struct place {
    double left, top;
    range x, y;
    int number;
    bool tells_y;  // numbers and label of its y axis
} place;

static double pixel_x(const place *p, double value)
{
    double share = can_show(&p->x, value) ? share_of(&p->x, value) : value > 0 ? 2 : 0;
    return p->left + fmin(FAR, fmax(-FAR, share * PANEL_WIDTH));
}

static double pixel_y(const place *p, double value)
{
    double share = can_show(&p->y, value) ? share_of(&p->y, value) : value > 0 ? 2 : 0;
    // What is below the axis is drawn at it: that a method went on is worth seeing.
    return p->top + PANEL_HEIGHT - fmin(FAR, fmax(0, share * PANEL_HEIGHT));
}

static void put_grid(FILE *out, const place *p, const ticks *x, const ticks *y)
{
    double right = p->left + PANEL_WIDTH, bottom = p->top + PANEL_HEIGHT;
    fputs("<g class=\"grid\">\n", out);
    for (int i = 0; i < x->count; ++i) {
        double at = p->left + x->items[i].share * PANEL_WIDTH;
        if (x->items[i].major) put_line(out, at, p->top, at, bottom);
    }
    for (int i = 0; i < y->count; ++i) {
        double at = bottom - y->items[i].share * PANEL_HEIGHT;
        if (y->items[i].major) put_line(out, p->left, at, right, at);
    }
    fputs("</g>\n", out);
}

static void put_tick_name(FILE *out, const tick *named, const char *kind, double x, double y)
{
    if (named->mantissa[0] == '\0') return;
    fprintf(out, "<text class=\"%s\"", kind);
    put_attribute(out, "x", x);
    put_attribute(out, "y", y);
    fprintf(out, ">%s", named->mantissa);
    if (named->exponent[0] != '\0')
        fprintf(out, "<tspan class=\"up\" dy=\"-4.5\">%s</tspan>", named->exponent);
    fputs("</text>\n", out);
}

static void put_axes(FILE *out, const place *p, const ticks *x, const ticks *y)
{
    double bottom = p->top + PANEL_HEIGHT;
    fputs("<g class=\"axis\">\n", out);
    for (int i = 0; i < x->count; ++i) {
        double at = p->left + x->items[i].share * PANEL_WIDTH;
        put_line(out, at, bottom, at, bottom + (x->items[i].major ? 5 : 3));
    }
    for (int i = 0; i < y->count; ++i) {
        double at = bottom - y->items[i].share * PANEL_HEIGHT;
        put_line(out, p->left - (y->items[i].major ? 5 : 3), at, p->left, at);
    }
    fputs("<rect", out);
    put_attribute(out, "x", p->left);
    put_attribute(out, "y", p->top);
    put_attribute(out, "width", PANEL_WIDTH);
    put_attribute(out, "height", PANEL_HEIGHT);
    fputs("/>\n</g>\n", out);
    for (int i = 0; i < x->count; ++i)
        put_tick_name(out, &x->items[i], "number middle", p->left + x->items[i].share * PANEL_WIDTH,
                      bottom + 20);
    for (int i = 0; p->tells_y && i < y->count; ++i)
        put_tick_name(out, &y->items[i], "number end", p->left - 9,
                      bottom - y->items[i].share * PANEL_HEIGHT + 4);
}

static void put_axis_labels(FILE *out, const place *p, const plot_panel *panel)
{
    double middle = p->left + 0.5 * PANEL_WIDTH, bottom = p->top + PANEL_HEIGHT;
    if (panel->title) put_label(out, "panel middle", middle, p->top - 10, panel->title);
    if (panel->x.label) put_label(out, "label middle", middle, bottom + 42, panel->x.label);
    if (!panel->y.label || !p->tells_y) return;
    fputs("<text class=\"label middle\" transform=\"translate(", out);
    put_number(out, p->left - 52);
    fputc(' ', out);
    put_number(out, p->top + 0.5 * PANEL_HEIGHT);
    fputs(") rotate(-90)\">", out);
    put_text(out, panel->y.label);
    fputs("</text>\n", out);
}

// ---------------------------------------------------------------- lines and marks

// Colours that return do so with other marks, too.
static void put_mark(FILE *out, int number, double x, double y)
{
    static const char *const outlines[MARKS] = {
        "m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0z",              // disc
        "m-2.9 -2.9h5.8v5.8h-5.8z",                                       // square
        "m0 -3.8l3.6 6.2h-7.2z",                                          // triangle
        "m0 -4l4 4l-4 4l-4 -4z",                                          // diamond
        "m0 3.8l3.6 -6.2h-7.2z",                                          // triangle on its tip
        "m-4 -1.5h2.5v-2.5h3v2.5h2.5v3h-2.5v2.5h-3v-2.5h-2.5z",           // cross
        "m-4 -2l2 -2l2 2l2 -2l2 2l-2 2l2 2l-2 2l-2 -2l-2 2l-2 -2l2 -2z",  // cross, turned
    };
    fputs("<path d=\"M", out);
    put_number(out, x);
    fputc(' ', out);
    put_number(out, y);
    fprintf(out, "%s\"/>\n", outlines[(number + number / COLOURS) % MARKS]);
}

static void put_style(FILE *out, int number)
{
    const char *colour = colours[number % COLOURS], *dash = dashes[number / COLOURS % DASHES];
    fprintf(out, " stroke=\"%s\"", colour);
    if (dash) fprintf(out, " stroke-dasharray=\"%s\"", dash);
}

static bool is_point(const plot_series *s, int i)
{
    return !isnan(s->x[i]) && !isnan(s->y[i]);
}

// The line, in as many pieces as interruptions leave; points that no eye can tell from the one
// before are left out.
static void put_curve(FILE *out, const place *p, const plot_series *s, int number)
{
    bool drawing = false;
    double last_x = 0, last_y = 0;
    for (int i = 0; i < s->count; ++i) {
        if (!is_point(s, i)) {
            if (drawing) fputs("\"/>\n", out);
            drawing = false;
            continue;
        }
        double x = pixel_x(p, s->x[i]), y = pixel_y(p, s->y[i]);
        bool ends = i + 1 == s->count || !is_point(s, i + 1);
        if (drawing && !ends && fabs(x - last_x) < 0.3 && fabs(y - last_y) < 0.3) continue;
        if (!drawing) {
            fputs("<path class=\"curve\"", out);
            put_style(out, number);
            fputs(" d=\"M", out);
        } else {
            fputc('L', out);
        }
        put_number(out, x);
        fputc(' ', out);
        put_number(out, y);
        drawing = true;
        last_x = x, last_y = y;
    }
    if (drawing) fputs("\"/>\n", out);
}

static bool inside(const place *p, double x, double y)
{
    return x >= p->left - 0.5 && x <= p->left + PANEL_WIDTH + 0.5 && y >= p->top - 0.5 &&
           y <= p->top + PANEL_HEIGHT + 0.5;
}

// Marks at points, some way from each other, and always at the last.
static void put_marks(FILE *out, const place *p, const plot_series *s, int number)
{
    double last_x = NAN, last_y = NAN, end_x = NAN, end_y = NAN;
    for (int i = 0; i < s->count; ++i)
        if (is_point(s, i)) end_x = pixel_x(p, s->x[i]), end_y = pixel_y(p, s->y[i]);
    fprintf(out, "<g class=\"mark\" fill=\"%s\">\n", colours[number % COLOURS]);
    for (int i = 0; i < s->count; ++i) {
        if (!is_point(s, i)) continue;
        double x = pixel_x(p, s->x[i]), y = pixel_y(p, s->y[i]);
        if (!inside(p, x, y)) continue;
        bool at_end = x == end_x && y == end_y;
        if (!at_end && (hypot(x - last_x, y - last_y) < MARK_DISTANCE ||
                        hypot(x - end_x, y - end_y) < 0.5 * MARK_DISTANCE))
            continue;
        if (x == last_x && y == last_y) continue;
        put_mark(out, number, x, y);
        last_x = x, last_y = y;
    }
    fputs("</g>\n", out);
}

static void put_panel(FILE *out, const place *p, const plot_panel *panel)
{
    ticks x = ticks_of(&p->x, 8), y = ticks_of(&p->y, 8);
    put_grid(out, p, &x, &y);
    put_axes(out, p, &x, &y);
    put_axis_labels(out, p, panel);
    fprintf(out, "<clipPath id=\"panel%d\"><rect", p->number);
    put_attribute(out, "x", p->left);
    put_attribute(out, "y", p->top - 1);
    put_attribute(out, "width", PANEL_WIDTH);
    put_attribute(out, "height", PANEL_HEIGHT + 2);
    fprintf(out, "/></clipPath>\n<g clip-path=\"url(#panel%d)\">\n", p->number);
    for (int i = 0; i < panel->series_count; ++i) put_curve(out, p, &panel->series[i], i);
    fputs("</g>\n", out);
    for (int i = 0; i < panel->series_count; ++i) put_marks(out, p, &panel->series[i], i);
}

// ---------------------------------------------------------------- the figure

static double legend_width(const plot_panel *panel)
{
    double widest = 0;
    for (int i = 0; i < panel->series_count; ++i)
        if (panel->series[i].label) widest = fmax(widest, text_width(panel->series[i].label));
    return widest > 0 ? LEGEND_GAP + LEGEND_SAMPLE + 8 + 12 * widest : 0;
}

static void put_legend(FILE *out, const plot_panel *panel, double left, double top)
{
    for (int i = 0; i < panel->series_count; ++i) {
        if (!panel->series[i].label) continue;
        double y = top + LEGEND_LINE * (i + 0.5);
        fputs("<path class=\"curve\"", out);
        put_style(out, i);
        fputs(" d=\"M", out);
        put_number(out, left);
        fputc(' ', out);
        put_number(out, y);
        fputc('h', out);
        put_number(out, LEGEND_SAMPLE);
        fprintf(out, "\"/>\n<g class=\"mark\" fill=\"%s\">\n", colours[i % COLOURS]);
        put_mark(out, i, left + 0.5 * LEGEND_SAMPLE, y);
        fputs("</g>\n", out);
        put_label(out, "name", left + LEGEND_SAMPLE + 8, y + 4, panel->series[i].label);
    }
}

static void put_head(FILE *out, const plot_figure *figure, double width, double height)
{
    fputs("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"", out);
    put_attribute(out, "width", width);
    put_attribute(out, "height", height);
    fputs(" viewBox=\"0 0 ", out);
    put_number(out, width);
    fputc(' ', out);
    put_number(out, height);
    fputs("\">\n<title>", out);
    put_text(out, figure->title ? figure->title : "plot");
    fputs("</title>\n<style>\n"
          "text { font-family: \"Helvetica Neue\", Helvetica, Arial, \"Liberation Sans\", "
          "\"DejaVu Sans\", sans-serif; font-size: 12px; fill: #222 }\n"
          ".title { font-size: 16px; font-weight: bold; fill: #111 }\n"
          ".subtitle { fill: #555 }\n"
          ".panel { font-size: 13px; font-weight: bold }\n"
          ".label { font-size: 13px }\n"
          ".number { font-size: 11px; fill: #444 }\n"
          ".up { font-size: 8px }\n"
          ".middle { text-anchor: middle }\n"
          ".end { text-anchor: end }\n"
          ".grid path { stroke: #e4e4e4; stroke-width: 1; fill: none }\n"
          ".axis path { stroke: #666; stroke-width: 1; fill: none }\n"
          ".axis rect { stroke: #666; stroke-width: 1; fill: none }\n"
          ".curve { fill: none; stroke-width: 1.8; stroke-linejoin: round }\n"
          ".mark { stroke: #fff; stroke-width: 0.8 }\n"
          "</style>\n<rect fill=\"#fff\"",
          out);
    put_attribute(out, "width", width);
    put_attribute(out, "height", height);
    fputs("/>\n", out);
}

static void put_figure(FILE *out, const plot_figure *figure)
{
    const plot_panel *panels = figure->panels;
    double top = EDGE + 4, between = figure->same_y ? PANEL_GAP : LEFT_SPACE + 0.5 * PANEL_GAP;
    if (figure->title) top += 18;
    if (figure->subtitle) top += 19;
    top += 16;
    if (panels[0].title) top += 20;
    int count = figure->panel_count;
    double panels_right = EDGE + LEFT_SPACE + count * PANEL_WIDTH + (count - 1) * between;
    double width = ceil(panels_right + legend_width(&panels[0]) + EDGE);
    // The size of the title counts, too: bold text of 16 pixels.
    if (figure->title) width = fmax(width, ceil(2 * EDGE + 17 * text_width(figure->title)));
    if (figure->subtitle) width = fmax(width, ceil(2 * EDGE + 12 * text_width(figure->subtitle)));
    double legend_height = LEGEND_LINE * panels[0].series_count;
    double height = ceil(top + fmax(PANEL_HEIGHT + BOTTOM_SPACE, legend_height + EDGE));
    put_head(out, figure, width, height);
    if (figure->title) put_label(out, "title", EDGE, EDGE + 16, figure->title);
    if (figure->subtitle) put_label(out, "subtitle", EDGE, EDGE + 36, figure->subtitle);
    for (int i = 0; i < count; ++i) {
        bool joint = figure->same_y;
        place p = {.left = EDGE + LEFT_SPACE + i * (PANEL_WIDTH + between),
                   .top = top,
                   .x = range_of(&panels[i], 1, false),
                   .y = joint ? range_of(panels, count, true) : range_of(&panels[i], 1, true),
                   .number = i,
                   .tells_y = i == 0 || !joint};
        put_panel(out, &p, &panels[i]);
    }
    put_legend(out, &panels[0], panels_right + LEGEND_GAP, top);
    fputs("</svg>\n", out);
}

char *plot_svg(const plot_figure *figure)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool good = out != NULL;
    if (good && figure->panel_count > 0) put_figure(out, figure);
    if (out && (ferror(out) | fclose(out))) good = false;
    if (good) return text;
    free(text);
    // Only memory can be short here; the usual way out tells it.
    return cli_realloc(NULL, (size_t)-1, 2);
}
