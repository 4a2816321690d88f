#include "glb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FLOAT = 5126, UINT = 5125, ARRAY = 34962, ELEMENTS = 34963 };

typedef struct writer {
    json_t *views, *accessors;
    unsigned char *data;
    size_t size;
} writer;

// Bytes as a view of the buffer. Returns its number.
static int add_view(writer *w, const void *data, size_t size, int target)
{
    w->data = st_realloc(w->data, w->size + size, 1);
    memcpy(w->data + w->size, data, size);
    json_t *view = json_pack("{s:i, s:I, s:I}", "buffer", 0, "byteOffset", (json_int_t)w->size,
                             "byteLength", (json_int_t)size);
    if (target) json_object_set_new(view, "target", json_integer(target));
    w->size += size;
    json_array_append_new(w->views, view);
    return (int)json_array_size(w->views) - 1;
}

static int add_accessor(writer *w, int view, int type, const char *shape, int count)
{
    json_array_append_new(w->accessors,
                          json_pack("{s:i, s:i, s:s, s:i}", "bufferView", view, "componentType",
                                    type, "type", shape, "count", count));
    return (int)json_array_size(w->accessors) - 1;
}

// Positions must say their bounds.
static int add_positions(writer *w, const float *positions, int count)
{
    int number =
        add_accessor(w, add_view(w, positions, 12 * (size_t)count, ARRAY), FLOAT, "VEC3", count);
    double least[3] = {INFINITY, INFINITY, INFINITY}, most[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int v = 0; v < count; ++v)
        for (int i = 0; i < 3; ++i) {
            least[i] = fmin(least[i], positions[3 * v + i]);
            most[i] = fmax(most[i], positions[3 * v + i]);
        }
    json_t *accessor = json_array_get(w->accessors, (size_t)number);
    json_object_set_new(accessor, "min", st_json_vector(least, 3));
    json_object_set_new(accessor, "max", st_json_vector(most, 3));
    return number;
}

// Each frame but the first as what it adds to the first.
static json_t *add_targets(writer *w, const st_glb *glb, const int *chosen, int count)
{
    json_t *targets = json_array();
    size_t n = 3 * (size_t)glb->vertex_count;
    float *difference = st_alloc(n, sizeof *difference);
    for (int k = 1; k < count; ++k) {
        const float *first = glb->frames, *frame = glb->frames + n * (size_t)chosen[k];
        for (size_t i = 0; i < n; ++i) difference[i] = frame[i] - first[i];
        json_array_append_new(targets, json_pack("{s:i}", "POSITION",
                                                 add_positions(w, difference, glb->vertex_count)));
    }
    free(difference);
    return targets;
}

static json_t *add_animation(writer *w, const st_glb *glb, const int *chosen, int count)
{
    int targets = count - 1;
    float *times = st_alloc((size_t)count, sizeof *times);
    float *weights = st_alloc((size_t)count * (size_t)targets, sizeof *weights);
    for (int k = 0; k < count; ++k) {
        times[k] = (float)(glb->times[chosen[k]] - glb->times[chosen[0]]);
        if (k > 0) weights[k * targets + k - 1] = 1;
    }
    double span[2] = {0, times[count - 1]};
    int input = add_accessor(w, add_view(w, times, 4 * (size_t)count, 0), FLOAT, "SCALAR", count);
    json_t *accessor = json_array_get(w->accessors, (size_t)input);
    json_object_set_new(accessor, "min", st_json_vector(span, 1));
    json_object_set_new(accessor, "max", st_json_vector(span + 1, 1));
    int output = add_accessor(w, add_view(w, weights, 4 * (size_t)count * (size_t)targets, 0),
                              FLOAT, "SCALAR", count * targets);
    free(weights);
    free(times);
    return json_pack("[{s:s, s:[{s:i, s:i, s:s}], s:[{s:i, s:{s:i, s:s}}]}]", "name", "run",
                     "samplers", "input", input, "output", output, "interpolation", "LINEAR",
                     "channels", "sampler", 0, "target", "node", 0, "path", "weights");
}

static void put_u32(unsigned char *to, size_t value)
{
    uint32_t number = (uint32_t)value;
    memcpy(to, &number, 4);
}

// Header, chunk of JSON, chunk of data; both padded to four bytes.
static void *assemble(writer *w, json_t *root, size_t *size)
{
    char *text = json_dumps(root, JSON_COMPACT);
    size_t length = strlen(text), padded = (length + 3) & ~(size_t)3;
    size_t data = (w->size + 3) & ~(size_t)3;
    *size = 12 + 8 + padded + 8 + data;
    unsigned char *file = st_alloc(*size, 1), *body = file + 20 + padded;
    memcpy(file, "glTF", 4);
    put_u32(file + 4, 2);
    put_u32(file + 8, *size);
    put_u32(file + 12, padded);
    memcpy(file + 16, "JSON", 4);
    memset(file + 20, ' ', padded);
    memcpy(file + 20, text, length);
    put_u32(body, data);
    memcpy(body + 4, "BIN\0", 4);
    memcpy(body + 8, w->data, w->size);
    free(text);
    return file;
}

void *st_glb_write(const st_glb *glb, size_t *size)
{
    writer w = {.views = json_array(), .accessors = json_array()};
    int *chosen = st_alloc((size_t)glb->frame_count, sizeof *chosen), count = 0;
    for (int k = 0; k < glb->frame_count; ++k)
        if (count == 0 || glb->times[k] > glb->times[chosen[count - 1]]) chosen[count++] = k;
    int indices =
        add_accessor(&w, add_view(&w, glb->triangles, 12 * (size_t)glb->triangle_count, ELEMENTS),
                     UINT, "SCALAR", 3 * glb->triangle_count);
    int positions = add_positions(&w, glb->frames, glb->vertex_count);
    json_t *primitive = json_pack("{s:{s:i}, s:i, s:i}", "attributes", "POSITION", positions,
                                  "indices", indices, "material", 0);
    json_t *root = json_pack(
        "{s:{s:s, s:s}, s:i, s:[{s:[i]}], s:[{s:i}], s:[{s:b, s:{s:[f,f,f,f], s:f, s:f}}]}",
        "asset", "version", "2.0", "generator", "Hooke", "scene", 0, "scenes", "nodes", 0, "nodes",
        "mesh", 0, "materials", "doubleSided", 1, "pbrMetallicRoughness", "baseColorFactor", 0.8,
        0.5, 0.3, 1.0, "metallicFactor", 0.0, "roughnessFactor", 0.7);
    if (count > 1) {
        json_object_set_new(primitive, "targets", add_targets(&w, glb, chosen, count));
        json_object_set_new(root, "animations", add_animation(&w, glb, chosen, count));
    }
    json_object_set_new(root, "meshes", json_pack("[{s:[o]}]", "primitives", primitive));
    json_object_set_new(root, "bufferViews", w.views);
    json_object_set_new(root, "accessors", w.accessors);
    json_object_set_new(root, "buffers", json_pack("[{s:I}]", "byteLength", (json_int_t)w.size));
    void *file = assemble(&w, root, size);
    json_decref(root);
    free(w.data);
    free(chosen);
    return file;
}
