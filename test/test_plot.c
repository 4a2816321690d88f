// Plots: well-formed SVG whatever the data, ticks where they belong. Linked with cli/plot.c.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/xml.h"
#include "plot.h"

// ---------------------------------------------------------------- looking at SVG

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) ++count;
    return count;
}

// Every '&' begins one of the entities that XML knows, and every byte may stand in XML.
static void check_characters(const char *svg)
{
    for (const unsigned char *at = (const unsigned char *)svg; *at; ++at) {
        assert_true(*at >= 0x20 || *at == '\n');
        const char *rest = (const char *)at;
        if (*at == '&')
            assert_true(strncmp(rest, "&amp;", 5) == 0 || strncmp(rest, "&lt;", 4) == 0 ||
                        strncmp(rest, "&gt;", 4) == 0 || strncmp(rest, "&quot;", 6) == 0 ||
                        strncmp(rest, "&#39;", 5) == 0);
    }
}

// All numbers of a path are finite and of a size that every viewer takes.
static void check_path(hk_xml_text path)
{
    char text[4096];
    size_t length = path.length < sizeof text - 1 ? path.length : sizeof text - 1;
    memcpy(text, path.begin, length);
    text[length] = '\0';
    for (char *at = text; *at;) {
        char *end;
        double number = strtod(at, &end);
        if (end == at) {
            assert_non_null(strchr("MmLlhvaz -", *at));
            ++at;
            continue;
        }
        assert_true(fabs(number) <= 2e4);
        at = end;
    }
}

static void check_svg(const char *svg)
{
    hk_xml xml = hk_xml_begin("plot", svg, strlen(svg));
    hk_xml_event event;
    int elements = 0;
    do {
        assert_int_equal(hk_xml_next(&xml, &event), HK_OK);
        if (event != HK_XML_START) continue;
        if (++elements == 1) assert_true(hk_xml_is(xml.element, "svg"));
        hk_xml_text path = hk_xml_attribute(&xml, "d");
        if (path.begin) check_path(path);
    } while (event != HK_XML_DONE);
    assert_true(elements > 5);
    check_characters(svg);
    for (const char *bad = svg; *bad; ++bad)
        assert_true(strncasecmp(bad, "nan", 3) != 0 && strncasecmp(bad, "inf", 3) != 0);
    assert_null(strstr(svg, "\"-0\""));
    assert_non_null(strstr(svg, "<rect fill=\"#fff\""));  // white behind everything
}

static char *draw(const plot_series *series, int count, bool log_x, bool log_y)
{
    plot_panel panel = {"panel", {"x", log_x, NAN, NAN}, {"y", log_y, NAN, NAN}, series, count};
    plot_figure figure = {"title", "subtitle", &panel, 1, false};
    char *svg = plot_svg(&figure);
    check_svg(svg);
    return svg;
}

// The attribute of the first element whose text has this beginning: <text … x="…">10<tspan …
static double place_of(const char *svg, const char *text, const char *attribute)
{
    const char *found = strstr(svg, text);
    assert_non_null(found);
    while (*found != '<' || strncmp(found, "<text", 5) != 0) --found;
    char name[16];
    snprintf(name, sizeof name, " %s=\"", attribute);
    found = strstr(found, name);
    assert_non_null(found);
    return strtod(found + strlen(name), NULL);
}

static double power_place(const char *svg, int exponent)
{
    char text[64];
    snprintf(text, sizeof text, ">10<tspan class=\"up\" dy=\"-4.5\">%s%d<",
             exponent < 0 ? "\u2212" : "", abs(exponent));
    assert_int_equal(count_of(svg, text), 1);
    return place_of(svg, text, "y");
}

// ---------------------------------------------------------------- ticks

static void log_axis_names_its_decades(void **state)
{
    (void)state;
    const double x[] = {0, 100, 200}, y[] = {1, 2e-3, 1e-6};
    const plot_series series = {"a", x, y, 3};
    char *svg = draw(&series, 1, false, true);
    double first = power_place(svg, 0), last = power_place(svg, -6);
    assert_true(last > first);
    for (int e = 1; e < 6; ++e)
        assert_true(fabs(power_place(svg, -e) - (first + e * (last - first) / 6)) < 0.02);
    assert_null(strstr(svg, "\u22127<"));
    // Grid: 5 and 7 lines. Ticks: 0, 50, …, 200 and four halves; six decades with eight between.
    // Marks: three points and the legend.
    assert_int_equal(count_of(svg, "<path d=\"M"), 5 + 7 + 5 + 4 + 7 + 6 * 8 + 3 + 1);
    for (int k = 0; k <= 4; ++k) {
        char text[24];
        snprintf(text, sizeof text, ">%d</text>", 50 * k);
        assert_int_equal(count_of(svg, text), 1);
    }
    free(svg);
}

static void long_log_axis_names_every_few(void **state)
{
    (void)state;
    const double x[] = {1, 2}, y[] = {1, 1e-14};
    const plot_series series = {"a", x, y, 2};
    char *svg = draw(&series, 1, false, true);
    for (int e = 0; e <= 14; e += 2) power_place(svg, -e);
    assert_null(strstr(svg, "\u221213<"));
    free(svg);
}

static void short_log_axis_names_digits(void **state)
{
    (void)state;
    const double x[] = {1, 2}, y[] = {3, 40};
    const plot_series series = {"a", x, y, 2};
    char *svg = draw(&series, 1, false, true);
    assert_int_equal(count_of(svg, "2\u00b710<"), 2);  // 2 and 20
    assert_int_equal(count_of(svg, "5\u00b710<"), 2);
    power_place(svg, 1);
    free(svg);
}

static void linear_axis_has_clean_numbers(void **state)
{
    (void)state;
    const double x[] = {-0.3, 0.3}, y[] = {1e7, 2e7};
    const plot_series series = {"a", x, y, 2};
    char *svg = draw(&series, 1, false, false);
    assert_int_equal(count_of(svg, ">\u22120.3<"), 1);
    assert_int_equal(count_of(svg, ">0.0<"), 1);
    assert_int_equal(count_of(svg, ">0.3<"), 1);
    assert_int_equal(count_of(svg, "e+07<"), 6);
    assert_true(place_of(svg, ">\u22120.1<", "x") < place_of(svg, ">0.1<", "x"));
    free(svg);
}

// ---------------------------------------------------------------- data of all kinds

static void gaps_interrupt_the_line(void **state)
{
    (void)state;
    const double x[] = {0, 1, 2, 3, 4, 5}, y[] = {1, 2, NAN, 3, 4, 2};
    const plot_series series = {"a", x, y, 6};
    char *svg = draw(&series, 1, false, false);
    assert_int_equal(count_of(svg, "class=\"curve\""), 3);  // two pieces and the legend
    free(svg);
}

static void bad_numbers_are_never_written(void **state)
{
    (void)state;
    const double bad[] = {NAN,    INFINITY, -INFINITY, 0,    -1,     1e308, -1e308,
                          1e-308, 5e-324,   1,         1e20, 1e-300, -0.0,  NAN};
    enum { COUNT = sizeof bad / sizeof bad[0] };
    double forth[COUNT];
    for (int i = 0; i < COUNT; ++i) forth[i] = bad[(5 * i + 3) % COUNT];
    const double same[] = {7, 7}, zeros[] = {0, 0}, nans[] = {NAN, NAN};
    const plot_series all[] = {{"bad", bad, forth, COUNT}, {"same", same, same, 2},
                               {"zero", zeros, zeros, 2},  {"nothing", nans, nans, 2},
                               {"none", same, same, 0},    {"one", same, zeros, 1}};
    for (int kind = 0; kind < 4; ++kind) {
        free(draw(all, 6, kind & 1, kind & 2));
        for (int i = 0; i < 6; ++i) free(draw(&all[i], 1, kind & 1, kind & 2));
        free(draw(all, 0, kind & 1, kind & 2));
    }
}

// What a logarithmic axis cannot show is at its low end; what is too large leaves the panel.
static void lines_stay_at_the_axis(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3}, y[] = {1, 1e-4, 0};
    const plot_series series = {"a", x, y, 3};
    plot_panel panel = {NULL, {"x", false, NAN, NAN}, {"y", true, 1e-4, 1}, &series, 1};
    plot_figure figure = {NULL, NULL, &panel, 1, false};
    char *svg = plot_svg(&figure);
    check_svg(svg);
    const char *path = strstr(svg, "stroke=\"#0072b2\" d=\"M");
    assert_non_null(path);
    double p[6];
    assert_int_equal(sscanf(path, "stroke=\"#0072b2\" d=\"M%lf %lfL%lf %lfL%lf %lf", p, p + 1,
                            p + 2, p + 3, p + 4, p + 5),
                     6);
    assert_true(p[0] < p[2] && p[2] < p[4] && p[1] < p[3]);
    assert_true(p[3] == p[5]);
    free(svg);
}

static void texts_are_escaped(void **state)
{
    (void)state;
    const double x[] = {1, 2};
    const plot_series series[] = {{"a<b>&\"c'", x, x, 2},
                                  {"bad \xff\xc3 \xed\xa0\x80 \xf5 \x01\t\n", x, x, 2},
                                  {"\u03b5\u00b2 \U0001d400", x, x, 2},
                                  {"cut \xe2\x82", x, x, 2}};
    char *svg = draw(series, 4, false, false);
    assert_non_null(strstr(svg, "a&lt;b&gt;&amp;&quot;c&#39;"));
    assert_non_null(strstr(svg, "\u03b5\u00b2 \U0001d400"));
    assert_non_null(strstr(svg, ">bad ?"
                                "? ?"
                                "?"
                                "? ? ?  <"));
    assert_non_null(strstr(svg, ">cut ?"
                                "?<"));
    free(svg);
}

// ---------------------------------------------------------------- the figure

static void panels_share_an_axis_and_a_legend(void **state)
{
    (void)state;
    enum { SERIES = 9 };
    const double x[] = {0, 1, 2}, y[] = {1, 1e-2, 1e-3}, z[] = {1, 1e-2, 1e-5};
    char names[SERIES][16];
    plot_series left[SERIES], right[SERIES];
    for (int i = 0; i < SERIES; ++i) {
        snprintf(names[i], sizeof names[i], "method%d", i);
        left[i] = (plot_series){names[i], x, y, 3};
        right[i] = (plot_series){names[i], x, z, 3};
    }
    const plot_panel panels[] = {
        {NULL, {"iterations", false, NAN, NAN}, {"error", true, NAN, NAN}, left, SERIES},
        {NULL, {"ms", false, NAN, NAN}, {"error", true, NAN, NAN}, right, SERIES}};
    plot_figure figure = {"two", NULL, panels, 2, true};
    char *svg = plot_svg(&figure), *again = plot_svg(&figure);
    check_svg(svg);
    assert_string_equal(svg, again);
    power_place(svg, -5);  // once: the range of both, told at the first
    assert_int_equal(count_of(svg, ">error<"), 1);
    double edge = place_of(svg, ">ms<", "x");
    for (int i = 0; i < SERIES; ++i) {
        char text[24];
        snprintf(text, sizeof text, ">method%d<", i);
        assert_int_equal(count_of(svg, text), 1);
        assert_true(place_of(svg, text, "x") > edge + 186);  // right of the panel
    }
    // Two curves and a sample each; the eighth has the first one's colour, but dashes.
    assert_int_equal(count_of(svg, "stroke=\"#0072b2\""), 6);
    assert_int_equal(count_of(svg, "stroke=\"#0072b2\" stroke-dasharray"), 3);
    assert_int_equal(count_of(svg, "stroke=\"#009e73\""), 3);
    free(svg);
    free(again);
}

static void nameless_series_need_no_legend(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3};
    const plot_series nameless = {NULL, x, x, 3}, named = {"a", x, x, 3};
    char *without = draw(&nameless, 1, false, false), *with = draw(&named, 1, false, false);
    assert_int_equal(count_of(without, "class=\"curve\""), 1);
    assert_int_equal(count_of(with, "class=\"curve\""), 2);
    const char *width = " width=\"";
    assert_true(atof(strstr(without, width) + strlen(width)) <
                atof(strstr(with, width) + strlen(width)));
    free(without);
    free(with);
}

static void many_points_are_thinned(void **state)
{
    (void)state;
    enum { POINTS = 100000 };
    double *x = malloc(POINTS * sizeof *x), *y = malloc(POINTS * sizeof *y);
    assert_non_null(x);
    assert_non_null(y);
    for (int i = 0; i < POINTS; ++i) x[i] = i, y[i] = exp(-1e-4 * i);
    const plot_series series = {"a", x, y, POINTS};
    char *svg = draw(&series, 1, false, true);
    assert_true(strlen(svg) < 60000);
    free(svg);
    free(x);
    free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_axis_names_its_decades),
        cmocka_unit_test(long_log_axis_names_every_few),
        cmocka_unit_test(short_log_axis_names_digits),
        cmocka_unit_test(linear_axis_has_clean_numbers),
        cmocka_unit_test(gaps_interrupt_the_line),
        cmocka_unit_test(bad_numbers_are_never_written),
        cmocka_unit_test(lines_stay_at_the_axis),
        cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(panels_share_an_axis_and_a_legend),
        cmocka_unit_test(nameless_series_need_no_legend),
        cmocka_unit_test(many_points_are_thinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
