// hooke render: the rasteriser and its parts, and the command itself. Linked with cli/*.c.
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli.h"
#include "colormap.h"
#include "font.h"
#include "light.h"
#include "raster.h"
#include "video.h"

// ---------------------------------------------------------------- a folder of our own

static char folder[64];

static int enter_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/hooke_render_XXXXXX");
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    char *command = cli_format("rm -rf '%s'", folder);
    int status = chdir("/") == 0 ? system(command) : -1;
    free(command);
    return status;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

// Files of the folder whose names contain `part`.
static int count_files(const char *part)
{
    int count = 0;
    DIR *dir = opendir(".");
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += strstr(entry->d_name, part) != NULL;
    closedir(dir);
    return count;
}

static picture read_png(const char *path)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_int_equal(png_image_begin_read_from_file(&image, path), 1);
    image.format = PNG_FORMAT_RGBA;
    picture p = picture_new((int)image.width, (int)image.height);
    assert_int_equal(png_image_finish_read(&image, NULL, p.rgba, 0, NULL), 1);
    return p;
}

static const uint8_t *pixel_at(const picture *p, int x, int y)
{
    return p->rgba + 4 * (y * p->width + x);
}

static bool same_pixels(const picture *a, const picture *b)
{
    return a->width == b->width && a->height == b->height &&
           memcmp(a->rgba, b->rgba, 4 * (size_t)a->width * (size_t)a->height) == 0;
}

// ---------------------------------------------------------------- triangles into samples

enum { SIDE = 64 };

typedef struct canvas {
    float depth[SIDE * SIDE];
    int32_t id[SIDE * SIDE];
    raster_target target;
} canvas;

static void clear_canvas(canvas *c)
{
    for (int i = 0; i < SIDE * SIDE; ++i) c->depth[i] = 0, c->id[i] = -1;
    c->target = (raster_target){SIDE, 0, SIDE, c->depth, c->id};
}

// A fan around a point that fills the canvas: every sample is covered by exactly one triangle.
static void neighbours_cover_samples_once(void **state)
{
    (void)state;
    static canvas c;
    enum { RAYS = 9 };
    const float middle[3] = {30.5f, 21.5f, 1};  // on a sample, where ties happen
    int covered[SIDE * SIDE] = {0};
    float rim[RAYS][3];
    for (int i = 0; i < RAYS; ++i) {
        double angle = 2 * M_PI * i / RAYS;
        rim[i][0] = middle[0] + 200 * (float)cos(angle);
        rim[i][1] = middle[1] + 200 * (float)sin(angle);
        rim[i][2] = 1;
    }
    for (int i = 0; i < RAYS; ++i) {
        clear_canvas(&c);
        // Windings alternate: they must not matter.
        const float *a = rim[i], *b = rim[(i + 1) % RAYS];
        raster_triangle(&c.target, middle, i % 2 ? a : b, i % 2 ? b : a, i);
        for (int k = 0; k < SIDE * SIDE; ++k) covered[k] += c.id[k] == i;
    }
    for (int k = 0; k < SIDE * SIDE; ++k) assert_int_equal(covered[k], 1);
}

static void nearer_triangle_wins_in_any_order(void **state)
{
    (void)state;
    static canvas c[2];
    const float far_corners[3][3] = {{-10, -10, 1}, {200, -10, 1}, {-10, 200, 1}};
    const float tilted[3][3] = {{-10, 10, 0.5f}, {150, 10, 2.5f}, {-10, 60, 0.5f}};
    for (int order = 0; order < 2; ++order) {
        clear_canvas(&c[order]);
        for (int i = 0; i < 2; ++i) {
            const float(*t)[3] = i == order ? far_corners : tilted;
            raster_triangle(&c[order].target, t[0], t[1], t[2], i == order ? 7 : 8);
        }
    }
    assert_memory_equal(c[0].id, c[1].id, sizeof c[0].id);
    // The tilted one comes to the front where its depth exceeds 1, at x = 30.
    assert_int_equal(c[0].id[12 * SIDE + 28], 7);
    assert_int_equal(c[0].id[12 * SIDE + 32], 8);
    assert_int_equal(c[0].id[5 * SIDE + 40], 7);
    assert_float_equal(c[0].depth[12 * SIDE + 32], 0.5 + 2 * (42.5 / 160), 1e-4);
}

static void bands_equal_the_whole(void **state)
{
    (void)state;
    static canvas whole, band;
    clear_canvas(&whole);
    const float t[3][3] = {{3.2f, 1.7f, 1}, {60.1f, 20.4f, 2}, {22.8f, 61.9f, 3}};
    raster_triangle(&whole.target, t[0], t[1], t[2], 1);
    for (int first = 0; first < SIDE; first += 16) {
        clear_canvas(&band);
        band.target.first_row = first, band.target.end_row = first + 16;
        raster_triangle(&band.target, t[0], t[1], t[2], 1);
        assert_memory_equal(band.id, whole.id + first * SIDE, 16 * SIDE * sizeof(int32_t));
        assert_memory_equal(band.depth, whole.depth + first * SIDE, 16 * SIDE * sizeof(float));
    }
}

static void hopeless_triangles_are_skipped(void **state)
{
    (void)state;
    static canvas c;
    clear_canvas(&c);
    const float huge[3] = {3e38f, -3e38f, 1}, low[3] = {-3e38f, -3e38f, 1}, p[3] = {5, 5, 1};
    const float nan_corner[3] = {NAN, 9, 1};
    raster_triangle(&c.target, p, p, p, 1);
    raster_triangle(&c.target, p, (float[]){30, 30, 1}, (float[]){40, 40, 1}, 1);
    for (int k = 0; k < SIDE * SIDE; ++k) assert_int_equal(c.id[k], -1);
    // These may paint anything within the canvas, but must stay there.
    raster_triangle(&c.target, huge, low, (float[]){0, 3e38f, 1}, 1);
    raster_triangle(&c.target, p, nan_corner, huge, 1);
}

// ---------------------------------------------------------------- shapes

static hk_mesh *make(hk_shape kind, int cells)
{
    hk_mesh_def def = hk_default_mesh_def(kind);
    for (int k = 0; k < 3; ++k) def.cells[k] = cells, def.size[k] = 1;
    def.radius = 1;
    hk_mesh *mesh = NULL;
    assert_int_equal(hk_mesh_make(&def, &mesh), HK_OK);
    return mesh;
}

// The surface of a mesh as a shape; its vertices are those of the mesh.
static shape shape_of(hk_mesh *mesh)
{
    int count;
    const int32_t *triangles, *tets;
    assert_int_equal(hk_mesh_surface(mesh, &count, &triangles, &tets), HK_OK);
    shape s;
    shape_build(&s, hk_mesh_vertex_count(mesh), hk_mesh_positions(mesh), count, triangles);
    return s;
}

static void box_is_split_at_its_edges(void **state)
{
    (void)state;
    hk_mesh *mesh = make(HK_SHAPE_BOX, 4);
    shape s = shape_of(mesh);
    assert_int_equal(s.triangle_count, 6 * 2 * 16);
    assert_int_equal(s.point_count, 6 * 25);  // every side has its own 5 x 5 points
    assert_false(s.open);
    int sharp = 0;
    for (int t = 0; t < s.triangle_count; ++t)
        for (int k = 0; k < 3; ++k) sharp += s.sharp[t] >> k & 1;
    assert_int_equal(sharp, 12 * 4 * 2);
    float *x = malloc(3 * sizeof(float) * (size_t)s.vertex_count);
    float *n = malloc(3 * sizeof(float) * (size_t)s.point_count);
    for (int i = 0; i < 3 * s.vertex_count; ++i) x[i] = (float)hk_mesh_positions(mesh)[i];
    shape_normals(&s, x, n);
    // Each normal stands on one side of the box, outwards.
    for (int i = 0; i < s.point_count; ++i) {
        int axis = fabsf(n[3 * i]) > 0.9f ? 0 : fabsf(n[3 * i + 1]) > 0.9f ? 1 : 2;
        assert_float_equal(fabsf(n[3 * i + axis]), 1, 1e-5);
        float side = x[3 * s.point_vertex[i] + axis];
        assert_float_equal(side, n[3 * i + axis] > 0 ? 1 : 0, 1e-6);
    }
    free(x);
    free(n);
    shape_free(&s);
    hk_mesh_free(mesh);
}

static void sphere_is_smooth_and_sheet_is_open(void **state)
{
    (void)state;
    hk_mesh *mesh = make(HK_SHAPE_SPHERE, 12);
    shape s = shape_of(mesh);
    // Closed and of genus 0: as many points as vertices on the surface, V = 2 + T / 2.
    assert_int_equal(s.point_count, 2 + s.triangle_count / 2);
    assert_false(s.open);
    shape_free(&s);
    hk_mesh_free(mesh);
    mesh = make(HK_SHAPE_SHEET, 3);
    s = shape_of(mesh);
    assert_true(s.open);
    assert_int_equal(s.point_count, 16);
    shape_free(&s);
    hk_mesh_free(mesh);
}

// ---------------------------------------------------------------- camera

static void camera_fits_tightly(void **state)
{
    (void)state;
    const double views[][2] = {{0, 0}, {30, 20}, {-130, -45}, {0, 90}};
    for (size_t v = 0; v < sizeof views / sizeof views[0]; ++v) {
        camera c = camera_from(views[v][0], views[v][1]);
        camera_fit fit = camera_fit_begin(300, 200);
        float corners[8][3];
        for (int i = 0; i < 8; ++i) {
            double point[3];
            for (int k = 0; k < 3; ++k)
                corners[i][k] = (i >> k & 1) ? 0.7f * (float)(k + 1) : -0.2f,
                point[k] = corners[i][k];
            camera_fit_add(&fit, &c, point);
        }
        camera_fit_end(&fit, &c, 20, 10, 300, 200, 1);
        float low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
        for (int i = 0; i < 8; ++i) {
            float at[2], distance;
            camera_project(&c, corners[i], &at[0], &at[1], &distance);
            assert_true(distance > 0.4f);
            for (int k = 0; k < 2; ++k)
                low[k] = fminf(low[k], at[k]), high[k] = fmaxf(high[k], at[k]);
        }
        assert_true(low[0] > 20 - 1e-2 && high[0] < 320 + 1e-2);
        assert_true(low[1] > 10 - 1e-2 && high[1] < 210 + 1e-2);
        // One of both directions is used to the full.
        float slack = fminf(300 - (high[0] - low[0]), 200 - (high[1] - low[1]));
        assert_float_equal(slack, 0, 1e-2);
    }
}

static void views_are_understood(void **state)
{
    (void)state;
    double a, e;
    assert_true(camera_parse_view("top", &a, &e) && e == 90);
    assert_true(camera_parse_view("-30,12.5", &a, &e) && a == -30 && e == 12.5);
    assert_false(camera_parse_view("12", &a, &e));
    assert_false(camera_parse_view("1,2x", &a, &e));
    assert_false(camera_parse_view("1,91", &a, &e));
    assert_false(camera_parse_view("nan,1", &a, &e));
    camera side = camera_from(90, 0);  // from +x
    assert_float_equal(side.back[0], 1, 1e-12);
    assert_float_equal(side.right[2], -1, 1e-12);
}

// ---------------------------------------------------------------- pictures

static void colors_and_ticks(void **state)
{
    (void)state;
    uint8_t rgb[3];
    assert_true(parse_color("#12aBff", rgb) && rgb[0] == 0x12 && rgb[1] == 0xab && rgb[2] == 255);
    assert_true(parse_color("#f08", rgb) && rgb[0] == 255 && rgb[1] == 0 && rgb[2] == 0x88);
    assert_false(parse_color("", rgb) || parse_color("#12345", rgb) || parse_color("#12345g", rgb));
    for (int i = 0; i < 256; ++i)
        assert_float_equal(linear_to_srgb(srgb_to_linear((float)i / 255)), i, 1e-2);
    float low[3], high[3], before[3];
    colormap_color(colormap_at(0), 0, low);
    colormap_color(colormap_at(0), 1, high);
    assert_true(low[2] > 2 * low[0] && high[0] > 2 * high[2]);  // blue to red
    memcpy(before, low, sizeof before);
    for (int i = 1; i <= 100; ++i) {  // without jumps
        colormap_color(colormap_at(0), (float)i / 100, high);
        for (int k = 0; k < 3; ++k) assert_true(fabsf(high[k] - before[k]) < 0.06f);
        memcpy(before, high, sizeof before);
    }
    double first, step, factor;
    nice_ticks(0, 47300, 5, &first, &step);
    assert_true(first == 0 && step == 10000);
    nice_ticks(-0.31, 0.29, 5, &first, &step);
    assert_float_equal(first, -0.3, 1e-12);
    assert_string_equal(si_prefix(47300, &factor), "k");
    assert_string_equal(si_prefix(0.012, &factor), "m");
    assert_true(factor == 1e-3);
    assert_string_equal(si_prefix(0, &factor), "");
    assert_true(factor == 1);
}

static void letters_stay_in_their_boxes(void **state)
{
    (void)state;
    char text[2] = {0, 0};
    for (int code = '!'; code <= '~'; ++code) {
        text[0] = (char)code;
        const char *at = text, *glyph = font_glyph(&at);
        float points[FONT_POINTS][2], width = (float)(font_advance(glyph) - FONT_GAP);
        assert_true(*at == '\0');
        int strokes = 0;
        for (int n; (n = font_stroke(&glyph, points)) > 0; ++strokes)
            for (int i = 0; i < n; ++i) {
                assert_in_range((int)(points[i][0] + 0.5f), 0, (int)width);
                assert_in_range((int)points[i][1], 0, 18);
            }
        assert_true(strokes > 0);
    }
    // A character without a glyph is one '?', and a broken byte ends nothing.
    assert_true(text_width("\xE2\x82\xAC", 12) == text_width("?", 12));
    const char *micro = "\xC2\xB5", *question = "?";
    assert_ptr_not_equal(font_glyph(&micro), font_glyph(&question));
    assert_true(text_width("\x80\xFF", 12) > 0 && text_width("", 12) == 0);
    picture p = picture_new(60, 20);
    picture_text(&p, "H", 10, 16, 0, (ink){{1, 2, 3}, 12});
    assert_true(pixel_at(&p, 10, 10)[3] > 128);  // the stem
    assert_int_equal(pixel_at(&p, 40, 10)[3], 0);
    picture_text(&p, "off", -300, -300, 0, (ink){{0, 0, 0}, 500});
    picture_free(&p);
}

static void png_files_are_whole_or_not_there(void **state)
{
    (void)state;
    char why[128] = "";
    for (int opaque = 0; opaque < 2; ++opaque) {
        picture p = picture_new(7, 5);
        for (int i = 0; i < 4 * 7 * 5; ++i) p.rgba[i] = (uint8_t)(i * 37);
        for (int i = 0; i < 7 * 5; ++i) p.rgba[4 * i + 3] = opaque ? 255 : (uint8_t)(100 + i);
        assert_true(picture_save(&p, "saved.png", why, sizeof why));
        picture back = read_png("saved.png");
        assert_true(same_pixels(&p, &back));
        picture_free(&back);
        assert_false(picture_save(&p, "saved.png/inside.png", why, sizeof why));
        assert_true(strlen(why) > 0);
        assert_int_equal(mkdir("taken.png", 0777), 0);
        assert_false(picture_save(&p, "taken.png", why, sizeof why));
        assert_int_equal(rmdir("taken.png"), 0);
        picture_free(&p);
    }
    assert_int_equal(count_files(".part"), 0);
}

static void bars_survive_odd_ranges(void **state)
{
    (void)state;
    const double ranges[][2] = {{0, 0},      {1, 1},        {-5, 5},
                                {0, 1e300},  {0, 4e-320},   {1e9, 1e9 + 1e-3},
                                {-1e-12, 0}, {0, 0.9999999}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; ++i) {
        color_bar bar = {"title", "Pa", ranges[i][0], ranges[i][1], -INFINITY, INFINITY, NULL};
        int width = color_bar_width(&bar, 10);
        assert_in_range(width, 20, 400);
        picture p = picture_new(200, 200), blank = picture_new(200, 200);
        picture_color_bar(&p, &bar, 5, 5, 190, (ink){{0, 0, 0}, 10});
        assert_false(same_pixels(&p, &blank));
        picture_free(&p);
        picture_free(&blank);
    }
}

// ---------------------------------------------------------------- drawings

typedef struct scene {
    hk_mesh *mesh;
    shape shape;
    float *positions, *values;
    drawing drawing;
} scene;

static void sphere_scene(scene *s)
{
    *s = (scene){.mesh = make(HK_SHAPE_SPHERE, 24)};
    s->shape = shape_of(s->mesh);
    int count = s->shape.vertex_count;
    s->positions = malloc(3 * sizeof(float) * (size_t)count);
    s->values = malloc(sizeof(float) * (size_t)count);
    s->drawing = (drawing){.body = {.shape = &s->shape, .positions = s->positions},
                           .camera = camera_from(0, 0),
                           .ground_height = -1.01f,
                           .backdrop = {{200, 210, 220}, {200, 210, 220}, true},
                           .scale = 1};
    camera_fit fit = camera_fit_begin(200, 200);
    for (int i = 0; i < count; ++i) {
        const double *x = hk_mesh_positions(s->mesh) + 3 * i;
        for (int k = 0; k < 3; ++k) s->positions[3 * i + k] = (float)x[k];
        s->values[i] = (float)(0.5 + 0.5 * x[1]);
        camera_fit_add(&fit, &s->drawing.camera, x);
    }
    camera_fit_end(&fit, &s->drawing.camera, 20, 20, 200, 200, 1);
}

static void free_scene(scene *s)
{
    free(s->positions);
    free(s->values);
    shape_free(&s->shape);
    hk_mesh_free(s->mesh);
}

// A sphere that touches the borders of 200 x 200 px covers a disc of that diameter; the smooth
// border tells it better than whole pixels could.
static void sphere_covers_its_disc(void **state)
{
    (void)state;
    scene s;
    sphere_scene(&s);
    picture p = raster_draw(&s.drawing, 240, 240);
    double cover = 0;
    for (int i = 0; i < 240 * 240; ++i) cover += p.rgba[4 * i + 3] / 255.0;
    assert_float_equal(cover / (M_PI * 100 * 100), 1, 0.01);
    assert_int_equal(pixel_at(&p, 120, 120)[3], 255);
    assert_int_equal(pixel_at(&p, 5, 5)[3], 0);
    // Lit from above.
    assert_true(pixel_at(&p, 120, 70)[1] > pixel_at(&p, 120, 195)[1] + 20);
    picture again = raster_draw(&s.drawing, 240, 240);
    assert_true(same_pixels(&p, &again));
    picture_free(&again);
    picture_free(&p);
    free_scene(&s);
}

static void looks_change_what_they_should(void **state)
{
    (void)state;
    scene s;
    sphere_scene(&s);
    drawing d = s.drawing;
    d.backdrop.transparent = false;
    picture plain = raster_draw(&d, 240, 240);
    // The backdrop is left as it was asked for.
    assert_memory_equal(pixel_at(&plain, 3, 3), ((uint8_t[]){200, 210, 220, 255}), 4);
    d.body.values = s.values;
    picture coloured = raster_draw(&d, 240, 240);
    const uint8_t *top = pixel_at(&coloured, 120, 25), *bottom = pixel_at(&coloured, 120, 214);
    assert_true(top[0] > top[2] && bottom[2] > bottom[0]);  // red above, blue below
    d.edges = true;
    picture lined = raster_draw(&d, 240, 240);
    assert_false(same_pixels(&lined, &coloured));
    d.edges = false, d.ground = true;
    d.camera = camera_from(0, 40);
    d.camera.eye[1] = 5, d.camera.eye[2] = 6;
    d.camera.focal = 500, d.camera.center[0] = d.camera.center[1] = 120;
    picture shadowed = raster_draw(&d, 240, 240);
    d.ground = false;
    picture floating = raster_draw(&d, 240, 240);
    int darker = 0, lighter = 0;
    for (int i = 0; i < 240 * 240; ++i) {
        int difference = shadowed.rgba[4 * i + 1] - floating.rgba[4 * i + 1];
        darker += difference<-10, lighter += difference> 2;
    }
    assert_true(darker > 500);
    assert_int_equal(lighter, 0);
    picture *all[] = {&plain, &coloured, &lined, &shadowed, &floating};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) picture_free(all[i]);
    free_scene(&s);
}

// A ghost in front is seen through, one behind or at the same place is hidden.
static void ghosts_are_translucent(void **state)
{
    (void)state;
    scene s;
    sphere_scene(&s);
    drawing d = s.drawing;
    d.backdrop.transparent = false;
    picture plain = raster_draw(&d, 240, 240);
    d.ghost = d.body;
    picture same = raster_draw(&d, 240, 240);
    assert_memory_equal(pixel_at(&plain, 120, 120), pixel_at(&same, 120, 120), 4);
    float *moved = malloc(3 * sizeof(float) * (size_t)s.shape.vertex_count);
    for (int i = 0; i < 3 * s.shape.vertex_count; ++i)
        moved[i] = s.positions[i] + (i % 3 == 2 ? 0.5f : 0);
    d.ghost.positions = moved;
    picture before = raster_draw(&d, 240, 240);
    int change = abs(pixel_at(&plain, 120, 120)[2] - pixel_at(&before, 120, 120)[2]);
    assert_in_range(change, 3, 60);
    free(moved);
    picture_free(&plain);
    picture_free(&same);
    picture_free(&before);
    free_scene(&s);
}

static void empty_drawings_show_the_backdrop(void **state)
{
    (void)state;
    shape none;
    shape_build(&none, 0, NULL, 0, NULL);
    drawing d = {.body = {.shape = &none},
                 .camera = camera_from(30, 20),
                 .ground = true,
                 .backdrop = {{10, 20, 30}, {10, 20, 30}, false},
                 .scale = 1};
    picture p = raster_draw(&d, 33, 17);
    for (int i = 0; i < 33 * 17; ++i)
        assert_memory_equal(p.rgba + 4 * i, ((uint8_t[]){10, 20, 30, 255}), 4);
    picture_free(&p);
    shape_free(&none);
}

// ---------------------------------------------------------------- movies

static void video_says_what_went_wrong(void **state)
{
    (void)state;
    char *path = cli_format("%s", getenv("PATH"));
    char why[512] = "";
    picture p = picture_new(8, 6);
    memset(p.rgba, 77, 4 * 8 * 6);
    assert_true(video_is_path("a.MP4") && video_is_path("b.webm") && !video_is_path("c.png"));

    assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
    assert_false(video_can_write("a.mp4", why, sizeof why));
    assert_non_null(strstr(why, "not installed"));
    assert_null(video_open("a.mp4", 8, 6, 25, why, sizeof why));
    assert_non_null(strstr(why, "not installed"));

    // Stands for ffmpeg: keeps the raw pixels, or fails.
    assert_int_equal(mkdir("bin", 0777), 0);
    write_text("bin/ffmpeg", "#!/bin/sh\nfor last; do :; done\n/bin/cat > \"${last#file:}\"\n");
    assert_int_equal(chmod("bin/ffmpeg", 0755), 0);
    char *with_bin = cli_format("%s/bin:%s", folder, path);
    assert_int_equal(setenv("PATH", with_bin, 1), 0);
    video *v = video_open("a.mp4", 8, 6, 25, why, sizeof why);
    assert_non_null(v);
    for (int i = 0; i < 3; ++i) assert_true(video_add(v, &p, why, sizeof why));
    assert_int_equal(access("a.mp4", F_OK), -1);  // not before it is whole
    assert_true(video_close(v, why, sizeof why));
    struct stat about;
    assert_int_equal(stat("a.mp4", &about), 0);
    assert_int_equal(about.st_size, 3 * 3 * 8 * 6);

    v = video_open("b.webm", 8, 6, 25, why, sizeof why);
    assert_non_null(v);
    video_abandon(v);
    write_text("bin/ffmpeg", "#!/bin/sh\n/bin/cat > /dev/null\nexit 3\n");
    v = video_open("b.webm", 8, 6, 25, why, sizeof why);
    assert_non_null(v);
    assert_true(video_add(v, &p, why, sizeof why));
    assert_false(video_close(v, why, sizeof why));
    assert_non_null(strstr(why, "exit status 3"));
    assert_int_equal(access("b.webm", F_OK), -1);
    assert_int_equal(count_files(".part"), 0);

    assert_int_equal(setenv("PATH", path, 1), 0);
    free(with_bin);
    free(path);
    picture_free(&p);
}

// ---------------------------------------------------------------- the command

// Runs `hooke render` quietly with up to eight arguments.
static int render(const char *a, ...)
{
    char *argv[12] = {"render"};
    int argc = 1;
    va_list more;
    va_start(more, a);
    for (const char *at = a; at; at = va_arg(more, const char *)) argv[argc++] = (char *)at;
    va_end(more);
    argv[argc++] = "--quiet";
    fflush(stderr);
    int kept = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    int status = cmd_render(argc, argv);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(nowhere);
    return status;
}

static void assert_size(const char *path, int width, int height)
{
    picture p = read_png(path);
    assert_int_equal(p.width, width);
    assert_int_equal(p.height, height);
    picture_free(&p);
}

static void command_draws_meshes(void **state)
{
    (void)state;
    write_text("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
    write_text("b.obj", "v 0 0 0\nv 2 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
    write_text("ab.pvd",
               "<VTKFile><Collection><DataSet timestep=\"0\" file=\"a.obj\"/>\n"
               "<DataSet timestep='0.5' group=\"\" file='b.obj'/></Collection></VTKFile>");
    assert_int_equal(render("a.obj", "-o", "a.png", "--size", "160x100", NULL), 0);
    assert_size("a.png", 160, 100);
    assert_int_equal(render("ab.pvd", "-o", "sheet.png", "--size", "160x100", NULL), 0);
    assert_size("sheet.png", 160, 100);
    assert_int_equal(render("ab.pvd", "-o", "new/folder/%03d.png", "--size", "64x48", NULL), 0);
    assert_size("new/folder/000.png", 64, 48);
    assert_size("new/folder/001.png", 64, 48);
    // Frames share camera and scale: the second, longer one differs.
    picture first = read_png("new/folder/000.png"), second = read_png("new/folder/001.png");
    assert_false(same_pixels(&first, &second));
    picture_free(&first);
    picture_free(&second);
    assert_int_equal(render("a.obj", "b.obj", "-o", "d.png", "--color", "displacement", "--rest",
                            "--size", "160x100", NULL),
                     0);
    assert_int_equal(count_files(".part"), 0);
}

static void command_survives_odd_meshes(void **state)
{
    (void)state;
    static const char *const meshes[] = {
        "v 0 0 0\nv 1 0 0\nv 1 0 1\nf 1 2 3\n",                         // flat on the ground
        "v 1 1 1\nv 1 1 1\nv 1 1 1\nf 1 2 3\n",                         // a point
        "v 0 0 0\nv 1 1 1\nv 2 2 2\nf 1 2 3\n",                         // a line
        "v -1.7e308 0 0\nv 1.7e308 0 0\nv 0 1.7e308 1e300\nf 1 2 3\n",  // huge
        "v 1 0 0\nv 1.000000000001 0 0\nv 1 1e-12 0\nf 1 2 3\n",        // tiny
        "v 0 0 0\nv 5e-324 0 0\nv 0 5e-324 0\nf 1 2 3\n",               // tiniest
    };
    for (size_t i = 0; i < sizeof meshes / sizeof meshes[0]; ++i) {
        write_text("odd.obj", meshes[i]);
        unlink("odd.png");
        assert_int_equal(render("odd.obj", "-o", "odd.png", "--size", "48x32", "--edges", NULL), 0);
        assert_size("odd.png", 48, 32);
    }
}

static void command_tells_usage_from_failure(void **state)
{
    (void)state;
    write_text("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    assert_int_equal(render(NULL), 2);
    assert_int_equal(render("a.obj", NULL), 2);
    assert_int_equal(render("a.obj", "-o", "a.jpg", NULL), 2);
    assert_int_equal(render("a.obj", "-o", "a%s.png", NULL), 2);
    assert_int_equal(render("a.obj", "-o", "a%d%d.png", NULL), 2);
    assert_int_equal(render("a.obj", "-o", "a.png", "--size", "10x10", NULL), 2);
    assert_int_equal(render("a.obj", "-o", "a.png", "--size", "100", NULL), 2);
    assert_int_equal(render("a.obj", "-o", "a.png", "--view", "upside", NULL), 2);
    assert_int_equal(render("a.obj", "-o", "a.png", "--zoom", "0", NULL), 2);
    assert_int_equal(render("a.obj", "-o", "a.png", "--range", "2,1", NULL), 2);
    assert_int_equal(render("a.obj", "-o", "a.png", "--background", "mauvish", NULL), 2);
    assert_int_equal(render("a.obj", "-o", "a.png", "--color", "temperature", NULL), 1);
    assert_int_equal(render("a.obj", "-o", "a.png", "--color", "stress", NULL), 1);
    assert_int_equal(render("a.obj", "-o", "a.png", "--colormap", "puce", NULL), 2);
    assert_int_equal(render("a.obj", "-o", "a.png", "--clip", "w=1", NULL), 2);
    assert_int_equal(render("a.obj", "-o", "a.png", "--look-at", "1,2", NULL), 2);
    assert_int_equal(render("a.obj", "-o", "a.png", "--pose", NULL), 2);
    assert_int_equal(render("a.obj", "-o", "a.mp4", "--background", "transparent", NULL), 2);
    assert_int_equal(render("nothing.obj", "-o", "never.png", NULL), 1);
    assert_int_equal(render("nothing.json", "-o", "never.png", NULL), 1);
    write_text("broken.pvd", "<VTKFile><Collection></Collection></VTKFile>");
    assert_int_equal(render("broken.pvd", "-o", "never.png", NULL), 1);
    assert_int_equal(render("a.obj", "-o", "/proc/never.png", NULL), 1);
    assert_int_equal(count_files("never"), 0);
}

static void command_draws_scenes(void **state)
{
    (void)state;
    write_text(
        "bar.json",
        "{\"time\": {\"step\": 0.02, \"steps\": 4}, \"gravity\": [0, -9.81, 0],\n"
        " \"solver\": {\"method\": \"newton\"},\n"
        " \"bodies\": [{\"mesh\": {\"box\": {\"size\": [1, 0.2, 0.2], \"cells\": [6, 2, 2]}},\n"
        "   \"material\": {\"model\": \"neo_hookean\", \"young\": 2e5, \"poisson\": 0.4,\n"
        "                  \"density\": 1000},\n"
        "   \"fix\": [{\"box\": [[-1e-6, -1, -1], [1e-6, 1, 1]]}]}]}\n");
    if (render("bar.json", "-o", "start.png", "--size", "200x120", NULL) != 0)
        fail_msg("%s", hk_error());
    assert_int_equal(render("bar.json", "-o", "pose.png", "--size", "200x120", "--pose", NULL), 0);
    assert_int_equal(
        render("bar.json", "-o", "run%d.png", "--size", "200x120", "--run", "--frames", "3", NULL),
        0);
    assert_int_equal(count_files("run"), 3);
    picture start = read_png("start.png"), pose = read_png("pose.png");
    assert_false(same_pixels(&start, &pose));
    picture_free(&start);
    picture_free(&pose);
    assert_int_equal(render("bar.json", "-o", "x.png", "--pose", "--run", NULL), 2);
    assert_int_equal(render("bar.json", "-o", "x.png", "--set", "nonsense", NULL), 2);
    assert_int_equal(render("bar.json", "-o", "x.png", "--set", "bodies.0.material.young=-1", NULL),
                     1);
    assert_int_equal(count_files("x.png"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_cover_samples_once),
        cmocka_unit_test(nearer_triangle_wins_in_any_order),
        cmocka_unit_test(bands_equal_the_whole),
        cmocka_unit_test(hopeless_triangles_are_skipped),
        cmocka_unit_test(box_is_split_at_its_edges),
        cmocka_unit_test(sphere_is_smooth_and_sheet_is_open),
        cmocka_unit_test(camera_fits_tightly),
        cmocka_unit_test(views_are_understood),
        cmocka_unit_test(colors_and_ticks),
        cmocka_unit_test(letters_stay_in_their_boxes),
        cmocka_unit_test(png_files_are_whole_or_not_there),
        cmocka_unit_test(bars_survive_odd_ranges),
        cmocka_unit_test(sphere_covers_its_disc),
        cmocka_unit_test(looks_change_what_they_should),
        cmocka_unit_test(ghosts_are_translucent),
        cmocka_unit_test(empty_drawings_show_the_backdrop),
        cmocka_unit_test(video_says_what_went_wrong),
        cmocka_unit_test(command_draws_meshes),
        cmocka_unit_test(command_survives_odd_meshes),
        cmocka_unit_test(command_tells_usage_from_failure),
        cmocka_unit_test(command_draws_scenes),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
