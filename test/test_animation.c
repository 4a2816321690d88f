// Animated pictures and models, read back: GIF by a decoder of its own, glTF by its rules.
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "colormap.h"
#include "film.h"
#include "gif.h"

static char folder[64];

static int enter_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/hooke_animation_XXXXXX");
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

static uint8_t *read_bytes(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

// ---------------------------------------------------------------- GIF

// Decodes LZW of 8 bits from blocks at `at` into [count] symbols; returns where the blocks end.
static const uint8_t *unpack(const uint8_t *at, uint8_t *symbols, size_t count)
{
    static uint16_t prefix[4096];
    static uint8_t last[4096], stack[4097];
    int width = 9, next = 258, before = -1, left = 0;
    uint32_t bits = 0, held = 0;
    size_t made = 0;
    assert_int_equal(*at++, 8);
    for (;;) {
        while (held < (uint32_t)width) {
            if (left == 0) left = *at++, assert_true(left > 0);
            bits |= (uint32_t)*at++ << held, held += 8, --left;
        }
        int code = (int)(bits & ((1u << width) - 1)), depth = 0;
        bits >>= width, held -= (uint32_t)width;
        if (code == 257) break;
        if (code == 256) {
            width = 9, next = 258, before = -1;
            continue;
        }
        assert_true(code <= next && (code < 256 || before >= 0));
        int walk = code == next ? before : code;
        while (walk >= 258) stack[depth++] = last[walk], walk = prefix[walk];
        uint8_t first = (uint8_t)walk;
        stack[depth++] = first;
        while (depth > 0) {
            assert_true(made < count);
            symbols[made++] = stack[--depth];
        }
        if (code == next) assert_true(made < count), symbols[made++] = first;
        if (before >= 0 && next < 4096) {
            prefix[next] = (uint16_t)before, last[next++] = first;
            if (next == 1 << width && width < 12) ++width;
        }
        before = code;
    }
    assert_int_equal(made, count);
    assert_int_equal(left, 0);
    assert_int_equal(*at, 0);
    return at + 1;
}

// Frame k: a gradient with noise, and a square that moves; only part of it changes.
static void paint(picture *p, int k)
{
    for (int y = 0; y < p->height; ++y)
        for (int x = 0; x < p->width; ++x) {
            uint8_t *to = p->rgba + 4 * (y * p->width + x);
            bool square = x >= 10 * k && x < 10 * k + 20 && y >= 20 && y < 40;
            to[0] = (uint8_t)(square ? 220 : 255 * x / p->width);
            to[1] = (uint8_t)(square ? 30 : 255 * y / p->height);
            to[2] = (uint8_t)(square ? 40 : (x * 7 + y * 13) % 61);
            to[3] = 255;
        }
}

static int word(const uint8_t *at)
{
    return at[0] | at[1] << 8;
}

static void gif_comes_back(void **state)
{
    (void)state;
    enum { WIDTH = 150, HEIGHT = 90, FRAMES = 6 };
    char why[512];
    picture p = picture_new(WIDTH, HEIGHT);
    gif *g = gif_new(WIDTH, HEIGHT, 30);
    for (int k = 0; k < FRAMES; ++k) paint(&p, k), gif_add(g, &p);
    assert_true(gif_save(g, "a.gif", why, sizeof why));
    size_t size;
    uint8_t *bytes = read_bytes("a.gif", &size), *seen = calloc(WIDTH * HEIGHT, 1);
    uint8_t *part = malloc(WIDTH * HEIGHT);
    const uint8_t *palette = bytes + 13, *at = bytes + 13 + 768;
    assert_memory_equal(bytes, "GIF89a", 6);
    assert_int_equal(word(bytes + 6), WIDTH);
    assert_int_equal(word(bytes + 8), HEIGHT);
    assert_memory_equal(at, "\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0", 19);  // loops for ever
    at += 19;
    int hundredths = 0;
    for (int k = 0; k < FRAMES; ++k) {
        assert_memory_equal(at, "\x21\xf9\x04", 3);
        int see_through = (at[3] & 1) ? at[6] : -1;
        hundredths += word(at + 4);
        at += 8;
        assert_int_equal(*at, 0x2c);
        int x = word(at + 1), y = word(at + 3), w = word(at + 5), h = word(at + 7);
        assert_true(w > 0 && h > 0 && x + w <= WIDTH && y + h <= HEIGHT);
        at = unpack(at + 10, part, (size_t)(w * h));
        for (int i = 0; i < w * h; ++i)
            if (part[i] != see_through) seen[(y + i / w) * WIDTH + x + i % w] = part[i];
        paint(&p, k);
        double error = 0;
        for (int i = 0; i < WIDTH * HEIGHT; ++i)
            for (int c = 0; c < 3; ++c) error += abs(palette[3 * seen[i] + c] - p.rgba[4 * i + c]);
        assert_true(error / (3 * WIDTH * HEIGHT) < 12);
        if (k > 0) assert_true(w * h < WIDTH * HEIGHT / 4);  // what stays is not written again
    }
    assert_int_equal(hundredths, 20);  // six frames at 30 per second
    assert_int_equal(*at, 0x3b);
    assert_ptr_equal(at + 1, bytes + size);
    free(bytes);
    free(seen);
    free(part);
    picture_free(&p);
}

// ---------------------------------------------------------------- glTF

static json_int_t number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

// One accessor: within its view, aligned, its bounds those of its numbers.
static void check_accessor(const json_t *root, const json_t *a, const uint8_t *buffer)
{
    const json_t *views = json_object_get(root, "bufferViews");
    json_int_t index = number(a, "bufferView"), count = number(a, "count");
    assert_in_range(index, 0, json_array_size(views) - 1);
    const json_t *view = json_array_get(views, (size_t)index);
    const char *type = json_string_value(json_object_get(a, "type"));
    json_int_t width = strcmp(type, "VEC3") == 0 ? 3 : 1, offset = number(view, "byteOffset");
    assert_true(count > 0);
    assert_int_equal(offset % 4, 0);
    assert_int_equal(number(view, "byteLength"), 4 * width * count);
    const json_t *low = json_object_get(a, "min"), *high = json_object_get(a, "max");
    if (number(a, "componentType") != 5126) return;
    for (json_int_t k = 0; k < width; ++k) {
        float least = INFINITY, most = -INFINITY, value;
        for (json_int_t i = 0; i < count; ++i) {
            memcpy(&value, buffer + offset + 4 * (width * i + k), 4);
            assert_true(isfinite(value));
            least = fminf(least, value), most = fmaxf(most, value);
        }
        if (!low) continue;
        assert_true((float)json_number_value(json_array_get(low, (size_t)k)) == least);
        assert_true((float)json_number_value(json_array_get(high, (size_t)k)) == most);
    }
}

static const json_t *accessor(const json_t *root, const json_t *holder, const char *key)
{
    const json_t *all = json_object_get(root, "accessors");
    json_int_t index = number(holder, key);
    assert_in_range(index, 0, json_array_size(all) - 1);
    return json_array_get(all, (size_t)index);
}

static void check_mesh(const json_t *root, const json_t *mesh, const uint8_t *buffer)
{
    const json_t *p = json_array_get(json_object_get(mesh, "primitives"), 0);
    const json_t *attributes = json_object_get(p, "attributes");
    const json_t *places = accessor(root, attributes, "POSITION");
    assert_non_null(json_object_get(places, "min"));
    json_int_t count = number(places, "count");
    assert_int_equal(number(accessor(root, attributes, "NORMAL"), "count"), count);
    assert_int_equal(number(accessor(root, attributes, "COLOR_0"), "count"), count);
    const json_t *indices = accessor(root, p, "indices"), *target;
    const json_t *view =
        json_array_get(json_object_get(root, "bufferViews"), (size_t)number(indices, "bufferView"));
    for (json_int_t i = 0; i < number(indices, "count"); ++i) {
        uint32_t corner;
        memcpy(&corner, buffer + number(view, "byteOffset") + 4 * i, 4);
        assert_true(corner < count);
    }
    size_t i;
    json_array_foreach(json_object_get(p, "targets"), i, target)
    {
        assert_non_null(json_object_get(accessor(root, target, "POSITION"), "min"));
        assert_int_equal(number(accessor(root, target, "POSITION"), "count"), count);
    }
}

static void check_animation(const json_t *root)
{
    const json_t *motion = json_array_get(json_object_get(root, "animations"), 0), *channel;
    const json_t *samplers = json_object_get(motion, "samplers");
    size_t i;
    json_array_foreach(json_object_get(motion, "channels"), i, channel)
    {
        const json_t *target = json_object_get(channel, "target");
        const json_t *sampler = json_array_get(samplers, (size_t)number(channel, "sampler"));
        const json_t *node =
            json_array_get(json_object_get(root, "nodes"), (size_t)number(target, "node"));
        const json_t *mesh =
            json_array_get(json_object_get(root, "meshes"), (size_t)number(node, "mesh"));
        const json_t *p = json_array_get(json_object_get(mesh, "primitives"), 0);
        json_int_t keys = number(accessor(root, sampler, "input"), "count");
        json_int_t values = number(accessor(root, sampler, "output"), "count");
        assert_non_null(json_object_get(accessor(root, sampler, "input"), "max"));
        bool morph = strcmp(json_string_value(json_object_get(target, "path")), "weights") == 0;
        size_t targets = json_array_size(json_object_get(p, "targets"));
        assert_int_equal(values, keys * (morph ? (json_int_t)targets : 1));
    }
    assert_true(i > 0);
}

static void check_glb(const char *path, bool morphs, size_t meshes)
{
    size_t size;
    uint32_t length, text;
    uint8_t *file = read_bytes(path, &size);
    assert_memory_equal(file, "glTF\2\0\0\0", 8);
    memcpy(&length, file + 8, 4);
    memcpy(&text, file + 12, 4);
    assert_int_equal(length, size);
    assert_int_equal(text % 4, 0);
    assert_memory_equal(file + 16, "JSON", 4);
    json_t *root = json_loadb((const char *)file + 20, text, 0, NULL);
    assert_non_null(root);
    uint32_t binary;
    memcpy(&binary, file + 20 + text, 4);
    assert_memory_equal(file + 24 + text, "BIN\0", 4);
    assert_int_equal(28 + text + binary, size);
    const json_t *buffer = json_array_get(json_object_get(root, "buffers"), 0), *item;
    assert_int_equal(number(buffer, "byteLength"), binary);
    size_t i;
    json_array_foreach(json_object_get(root, "bufferViews"), i, item)
        assert_true(number(item, "byteOffset") + number(item, "byteLength") <= binary);
    json_array_foreach(json_object_get(root, "accessors"), i, item)
        check_accessor(root, item, file + 28 + text);
    json_array_foreach(json_object_get(root, "meshes"), i, item)
        check_mesh(root, item, file + 28 + text);
    assert_int_equal(i, meshes);
    item = json_array_get(json_object_get(root, "meshes"), 0);
    item = json_array_get(json_object_get(item, "primitives"), 0);
    assert_int_equal(json_object_get(item, "targets") != NULL, morphs);
    check_animation(root);
    json_decref(root);
    free(file);
}

static void models_keep_the_rules(void **state)
{
    (void)state;
    enum { FRAMES = 4 };
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_BOX);
    hk_mesh *mesh = NULL;
    char why[512];
    for (int k = 0; k < 3; ++k) def.cells[k] = 3, def.size[k] = 1;
    assert_int_equal(hk_mesh_make(&def, &mesh), HK_OK);
    film f = {0};
    assert_int_equal(film_add_surface(&f, mesh, hk_mesh_positions(mesh), "box"), -1);
    int count = hk_mesh_vertex_count(mesh);
    double *x = malloc(3 * sizeof(double) * (size_t)count);
    for (int k = 0; k < FRAMES; ++k) {
        for (int i = 0; i < 3 * count; ++i)
            x[i] = hk_mesh_positions(mesh)[i] * (1 + 0.1 * k * (i % 3));
        film_add_frame(&f, 0, x, 0.04 * k);
    }
    film_glb look = {.map = colormap_at(0), .low = 0, .high = 1};
    assert_true(film_save_glb(&f, &look, "a.glb", why, sizeof why));
    check_glb("a.glb", true, 1);
    for (int k = 0; k < FRAMES; ++k)
        f.frames[k].values = film_displacements(&f, &f.surfaces[0], f.frames[k].positions);
    assert_true(film_save_glb(&f, &look, "b.glb", why, sizeof why));
    check_glb("b.glb", false, FRAMES);
    free(x);
    film_free(&f);
    hk_mesh_free(mesh);
}

// What is left of a cube is closed: its surface encloses the volume that it should.
static void cuts_are_closed(void **state)
{
    (void)state;
    static const char *const planes[] = {"x=0.3", "z=0.5", "1,1,1=1.4", "-y=0.25"};
    // Of the unit cube below x + y + z = 1.4: (1.4³ - 3·0.4³) / 6.
    const double volumes[] = {0.3, 0.5, (1.4 * 1.4 * 1.4 - 3 * 0.4 * 0.4 * 0.4) / 6, 0.75};
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_BOX);
    hk_mesh *mesh = NULL, *cut_mesh;
    for (int k = 0; k < 3; ++k) def.cells[k] = 4, def.size[k] = 1;
    assert_int_equal(hk_mesh_make(&def, &mesh), HK_OK);
    for (int i = 0; i < 4; ++i) {
        film_plane plane;
        film_cut cut;
        assert_true(film_parse_plane(planes[i], &plane));
        int result = film_clip(mesh, hk_mesh_positions(mesh), &plane, "box", &cut_mesh, &cut);
        assert_int_equal(result, -1);
        const double *x = hk_mesh_positions(cut_mesh);
        double volume = 0;
        for (int t = 0; t < hk_mesh_triangle_count(cut_mesh); ++t) {
            const int32_t *v = hk_mesh_triangles(cut_mesh) + 3 * t;
            const double *a = x + 3 * v[0], *b = x + 3 * v[1], *c = x + 3 * v[2];
            volume += (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
                       a[2] * (b[0] * c[1] - b[1] * c[0])) /
                      6;
        }
        assert_float_equal(volume, volumes[i], 1e-9);
        hk_mesh_free(cut_mesh);
        film_cut_free(&cut);
    }
    hk_mesh_free(mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gif_comes_back),
        cmocka_unit_test(models_keep_the_rules),
        cmocka_unit_test(cuts_are_closed),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
