// Films as binary glTF 2.0 (Khronos Group, "glTF 2.0 Specification", 2021). Frames of one mesh are
// morph targets, of which one after the other has weight 1; where values change with time, or
// meshes do, every frame is a mesh of its own that is scaled to nothing but in its time, because
// glTF morphs no colours that players would show.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "colormap.h"
#include "film.h"
#include "picture.h"

enum {
    FLOATS = 5126,
    INTEGERS = 5125,
    FOR_VERTICES = 34962,
    FOR_INDICES = 34963,
    MOST_MORPHS = 240  // more make players slow: then frames are meshes of their own
};

typedef struct glb {
    const film *film;
    const film_glb *look;
    uint8_t *bytes;  // the buffer
    size_t size, capacity;
    json_t *views, *accessors, *meshes, *nodes, *samplers, *channels;
} glb;

// ---------------------------------------------------------------- the buffer

// Every part is a multiple of four bytes long, so all are aligned.
static int add_view(glb *g, const void *data, size_t size, int target)
{
    if (size > g->capacity - g->size) {
        g->capacity = 2 * (g->size + size) + 4096;
        g->bytes = cli_realloc(g->bytes, g->capacity, 1);
    }
    memcpy(g->bytes + g->size, data, size);
    json_t *view = json_pack("{s:i, s:I, s:I}", "buffer", 0, "byteOffset", (json_int_t)g->size,
                             "byteLength", (json_int_t)size);
    if (target) json_object_set_new(view, "target", json_integer(target));
    json_array_append_new(g->views, view);
    g->size += size;
    return (int)json_array_size(g->views) - 1;
}

static int add_accessor(glb *g, int view, int type, int count, const char *kind)
{
    json_array_append_new(g->accessors,
                          json_pack("{s:i, s:i, s:i, s:s}", "bufferView", view, "componentType",
                                    type, "count", count, "type", kind));
    return (int)json_array_size(g->accessors) - 1;
}

// Floats of `width` per item; positions and times tell their bounds, as glTF wants them.
static int add_floats(glb *g, const float *values, int count, int width, bool bounds, int target)
{
    static const char *const shapes[] = {"", "SCALAR", "VEC2", "VEC3", "VEC4"};
    size_t bytes = (size_t)count * (size_t)width * sizeof(float);
    int made = add_accessor(g, add_view(g, values, bytes, target), FLOATS, count, shapes[width]);
    if (!bounds) return made;
    json_t *low = json_array(), *high = json_array(),
           *accessor = json_array_get(g->accessors, (size_t)made);
    for (int k = 0; k < width; ++k) {
        float least = INFINITY, most = -INFINITY;
        for (int i = 0; i < count; ++i) {
            least = fminf(least, values[width * i + k]);
            most = fmaxf(most, values[width * i + k]);
        }
        json_array_append_new(low, json_real(least));
        json_array_append_new(high, json_real(most));
    }
    json_object_set_new(accessor, "min", low);
    json_object_set_new(accessor, "max", high);
    return made;
}

// ---------------------------------------------------------------- meshes

// Places of the points of a frame in m, around the film's origin.
static float *point_places(const glb *g, const surface *s, const float *positions)
{
    float *places = cli_realloc(NULL, 3 * (size_t)s->shape.point_count, sizeof(float));
    for (int i = 0; i < s->shape.point_count; ++i)
        for (int k = 0; k < 3; ++k)
            places[3 * i + k] =
                (float)(positions[3 * s->shape.point_vertex[i] + k] * g->film->unit);
    return places;
}

static float *point_colors(const glb *g, const surface *s, const float *values)
{
    float *colors = cli_realloc(NULL, 3 * (size_t)s->shape.point_count, sizeof(float));
    double span = g->look->high - g->look->low;
    for (int i = 0; i < s->shape.point_count; ++i) {
        int32_t v = s->shape.point_vertex[i];
        int body = s->bodies ? s->bodies[v] : 0;
        double t = values && span > 0 ? (values[v] - g->look->low) / span : 0;
        if (values && body != FILM_OBSTACLE)
            colormap_color(g->look->map, (float)fmin(fmax(t, 0), 1), colors + 3 * (size_t)i);
        else
            body_color(body, colors + 3 * (size_t)i);
    }
    return colors;
}

static int add_indices(glb *g, const shape *s)
{
    int count = 3 * s->triangle_count;
    int view = add_view(g, s->points, (size_t)count * sizeof(uint32_t), FOR_INDICES);
    return add_accessor(g, view, INTEGERS, count, "SCALAR");
}

static json_t *frame_attributes(glb *g, const surface *s, const frame *fr)
{
    int count = s->shape.point_count;
    float *places = point_places(g, s, fr->positions);
    float *normals = cli_realloc(NULL, 3 * (size_t)count, sizeof(float));
    float *colors = point_colors(g, s, fr->values);
    shape_normals(&s->shape, fr->positions, normals);
    int place = add_floats(g, places, count, 3, true, FOR_VERTICES);
    int normal = add_floats(g, normals, count, 3, false, FOR_VERTICES);
    int color = add_floats(g, colors, count, 3, false, FOR_VERTICES);
    free(places);
    free(normals);
    free(colors);
    return json_pack("{s:i, s:i, s:i}", "POSITION", place, "NORMAL", normal, "COLOR_0", color);
}

// Takes the attributes. Returns the mesh.
static json_t *add_mesh(glb *g, json_t *attributes, int indices)
{
    json_t *mesh = json_pack("{s:[{s:o, s:i, s:i, s:i}]}", "primitives", "attributes", attributes,
                             "indices", indices, "material", 0, "mode", 4);
    json_array_append_new(g->meshes, mesh);
    return mesh;
}

// ---------------------------------------------------------------- animation

// When each frame is shown, s, rising from 0. To be freed.
static float *frame_times(const glb *g)
{
    int count = g->film->frame_count;
    float *times = cli_realloc(NULL, (size_t)count, sizeof(float));
    const frame *frames = g->film->frames;
    bool known = !(g->look->rate > 0);
    for (int i = 1; i < count; ++i)
        known = known && (float)(frames[i].time - frames[0].time) >
                             (float)(frames[i - 1].time - frames[0].time);
    double rate = g->look->rate > 0 ? g->look->rate : 25;
    for (int i = 0; i < count; ++i)
        times[i] = known ? (float)(frames[i].time - frames[0].time) : (float)(i / rate);
    return times;
}

static void add_channel(glb *g, int times, int output, int node, const char *path,
                        const char *interpolation)
{
    json_array_append_new(g->samplers, json_pack("{s:i, s:i, s:s}", "input", times, "output",
                                                 output, "interpolation", interpolation));
    json_array_append_new(g->channels, json_pack("{s:i, s:{s:i, s:s}}", "sampler",
                                                 (int)json_array_size(g->samplers) - 1, "target",
                                                 "node", node, "path", path));
}

// Target k is what frame k + 1 differs from the first by.
static void add_target(glb *g, const surface *s, const float *base[2], const frame *fr,
                       json_t *targets)
{
    int count = 3 * s->shape.point_count;
    float *places = point_places(g, s, fr->positions);
    float *normals = cli_realloc(NULL, (size_t)count, sizeof(float));
    shape_normals(&s->shape, fr->positions, normals);
    for (int i = 0; i < count; ++i) places[i] -= base[0][i], normals[i] -= base[1][i];
    int place = add_floats(g, places, count / 3, 3, true, FOR_VERTICES);
    int normal = add_floats(g, normals, count / 3, 3, false, FOR_VERTICES);
    json_array_append_new(targets, json_pack("{s:i, s:i}", "POSITION", place, "NORMAL", normal));
    free(places);
    free(normals);
}

static void add_morphs(glb *g)
{
    const film *f = g->film;
    const surface *s = &f->surfaces[0];
    int count = f->frame_count, targets_count = count - 1;
    json_t *mesh = add_mesh(g, frame_attributes(g, s, &f->frames[0]), add_indices(g, &s->shape));
    json_array_append_new(g->nodes, json_pack("{s:i, s:s}", "mesh", 0, "name", "bodies"));
    if (count == 1) return;
    float *places = point_places(g, s, f->frames[0].positions);
    float *normals = cli_realloc(NULL, 3 * (size_t)s->shape.point_count, sizeof(float));
    shape_normals(&s->shape, f->frames[0].positions, normals);
    const float *base[2] = {places, normals};
    json_t *targets = json_array(), *zeros = json_array();
    for (int i = 1; i < count; ++i) {
        add_target(g, s, base, &f->frames[i], targets);
        json_array_append_new(zeros, json_real(0));
    }
    json_object_set_new(json_array_get(json_object_get(mesh, "primitives"), 0), "targets", targets);
    json_object_set_new(mesh, "weights", zeros);
    size_t all = (size_t)count * (size_t)targets_count;
    float *weights = cli_realloc(NULL, all, sizeof(float)), *times = frame_times(g);
    memset(weights, 0, all * sizeof(float));
    for (int i = 1; i < count; ++i) weights[(size_t)i * (size_t)targets_count + (size_t)i - 1] = 1;
    int input = add_floats(g, times, count, 1, true, 0);
    int output = add_floats(g, weights, count * targets_count, 1, false, 0);
    add_channel(g, input, output, 0, "weights", "LINEAR");
    free(places);
    free(normals);
    free(weights);
    free(times);
}

// A node is seen in its time only: its scale is 0 before and after.
static void add_visibility(glb *g, const float *times, int index)
{
    int count = g->film->frame_count, used = 0;
    float when[3], scale[9];
    for (int i = index - 1; i <= index + 1; ++i) {
        if (i < 0 || i >= count) continue;
        when[used] = times[i];
        for (int k = 0; k < 3; ++k) scale[3 * used + k] = i == index ? 1 : 0;
        ++used;
    }
    int input = add_floats(g, when, used, 1, true, 0);
    int output = add_floats(g, scale, used, 3, false, 0);
    add_channel(g, input, output, index, "scale", "STEP");
}

static void add_flip_book(glb *g)
{
    const film *f = g->film;
    float *times = frame_times(g);
    int *indices = cli_realloc(NULL, (size_t)f->surface_count, sizeof(int));
    for (int i = 0; i < f->surface_count; ++i) indices[i] = add_indices(g, &f->surfaces[i].shape);
    for (int i = 0; i < f->frame_count; ++i) {
        const frame *fr = &f->frames[i];
        const surface *s = &f->surfaces[fr->surface];
        add_mesh(g, frame_attributes(g, s, fr), indices[fr->surface]);
        // Where animations are not played, the first frame is seen.
        double scale = i == 0 ? 1 : 0;
        char *name = cli_format("frame %d", i);
        json_array_append_new(g->nodes, json_pack("{s:i, s:s, s:[f, f, f]}", "mesh", i, "name",
                                                  name, "scale", scale, scale, scale));
        free(name);
        add_visibility(g, times, i);
    }
    free(indices);
    free(times);
}

// ---------------------------------------------------------------- the file

static json_t *describe(glb *g)
{
    json_t *roots = json_array();
    // Positions are told around the film's origin, so that their digits suffice: a node above all
    // moves them to where they are.
    int count = (int)json_array_size(g->nodes);
    for (int i = 0; i < count; ++i) json_array_append_new(roots, json_integer(i));
    const double *o = g->film->origin;
    json_array_append_new(g->nodes, json_pack("{s:s, s:[f, f, f], s:o}", "name", "film",
                                              "translation", o[0], o[1], o[2], "children", roots));
    json_t *object = json_pack(
        "{s:{s:s, s:s}, s:i, s:[{s:[i]}], s:O, s:O, s:[{s:s, s:{s:[f, f, f, f], s:f, s:f}, s:b}], "
        "s:O, s:O, s:[{s:I}]}",
        "asset", "version", "2.0", "generator", "Hooke", "scene", 0, "scenes", "nodes", count,
        "nodes", g->nodes, "meshes", g->meshes, "materials", "name", "body", "pbrMetallicRoughness",
        "baseColorFactor", 1.0, 1.0, 1.0, 1.0, "metallicFactor", 0.0, "roughnessFactor", 0.7,
        "doubleSided", 1, "accessors", g->accessors, "bufferViews", g->views, "buffers",
        "byteLength", (json_int_t)g->size);
    if (object && json_array_size(g->channels) > 0)
        json_object_set_new(object, "animations",
                            json_pack("[{s:s, s:O, s:O}]", "name", "motion", "samplers",
                                      g->samplers, "channels", g->channels));
    return object;
}

static void put_word(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; ++i) to[i] = (uint8_t)(value >> (8 * i));
}

// Header, JSON padded by spaces, buffer.
static bool save_chunks(const glb *g, const char *json, const char *path, char *why, size_t size)
{
    size_t text = strlen(json), padded = (text + 3) / 4 * 4, whole = 28 + padded + g->size;
    if (whole > UINT32_MAX) {
        snprintf(why, size, "%s would be larger than the 4 GiB that a .glb may have; use --frames",
                 path);
        return false;
    }
    uint8_t *file = cli_realloc(NULL, whole, 1);
    memcpy(file, "glTF", 4);
    put_word(file + 4, 2);
    put_word(file + 8, (uint32_t)whole);
    put_word(file + 12, (uint32_t)padded);
    memcpy(file + 16, "JSON", 4);
    memset(file + 20, ' ', padded);
    memcpy(file + 20, json, text);
    put_word(file + 20 + padded, (uint32_t)g->size);
    memcpy(file + 24 + padded, "BIN", 4);
    memcpy(file + 28 + padded, g->bytes, g->size);
    bool good = cli_write_whole(path, file, whole, why, size);
    free(file);
    return good;
}

// Whether the colours of all frames are those of the first.
static bool is_steady(const film *f)
{
    if (f->surface_count > 1 || f->frame_count > MOST_MORPHS) return false;
    size_t bytes = (size_t)f->surfaces[0].shape.vertex_count * sizeof(float);
    for (int i = 1; i < f->frame_count; ++i)
        if (f->frames[i].values && memcmp(f->frames[i].values, f->frames[0].values, bytes) != 0)
            return false;
    return true;
}

bool film_save_glb(const film *f, const film_glb *look, const char *path, char *why, size_t size)
{
    glb g = {.film = f, .look = look};
    json_t **lists[] = {&g.views, &g.accessors, &g.meshes, &g.nodes, &g.samplers, &g.channels};
    enum { LISTS = sizeof lists / sizeof lists[0] };
    for (int i = 0; i < LISTS; ++i) *lists[i] = json_array();
    if (is_steady(f))
        add_morphs(&g);
    else
        add_flip_book(&g);
    json_t *object = describe(&g);
    char *json = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    bool good = json && save_chunks(&g, json, path, why, size);
    if (!json) snprintf(why, size, "cannot write %s: not enough memory", path);
    free(json);
    json_decref(object);
    for (int i = 0; i < LISTS; ++i) json_decref(*lists[i]);
    free(g.bytes);
    return good;
}
