// Binary glTF 2.0 (.glb): the surface with smooth normals, coloured by the first scalar field.
#include <locale.h>
#include <math.h>
#include <stdio.h>

#include "io/shell.h"
#include "io/values.h"

// Perceptually even colours from dark violet to yellow, sRGB.
static const unsigned char palette[][3] = {
    {68, 1, 84},    {72, 40, 120},  {62, 74, 137},  {49, 104, 142}, {38, 130, 142},
    {31, 158, 137}, {53, 183, 121}, {109, 205, 89}, {180, 222, 44}, {253, 231, 37},
};

// glTF wants linear colours.
static double linear_of_srgb(double value)
{
    return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
}

static void colour_of(double share, float colour[3])
{
    if (!isfinite(share)) {  // no value here: grey
        colour[0] = colour[1] = colour[2] = 0.2f;
        return;
    }
    double place = fmin(fmax(share, 0.0), 1.0) * (HK_COUNT_OF(palette) - 1);
    int low = hk_min_int((int)place, HK_COUNT_OF(palette) - 2);
    double rest = place - low;
    for (int k = 0; k < 3; k++)
        colour[k] = (float)linear_of_srgb(
            ((1 - rest) * palette[low][k] + rest * palette[low + 1][k]) / 255.0);
}

// ---------------------------------------------------------------- the field

static const hk_field *first_scalar(const hk_mesh *mesh, const hk_field *fields, int field_count)
{
    for (int i = 0; i < field_count; i++)
        if (fields[i].components == 1 && fields[i].values &&
            (fields[i].site == HK_ON_VERTICES || mesh->tet_count))
            return &fields[i];
    return NULL;
}

// A vertex takes the mean of the tets around it; values that are not finite do not count.
static hk_status average_tets(const hk_mesh *mesh, const double *of_tets, double **of_vertices)
{
    double *sums = HK_ZEROS(double, mesh->vertex_count);
    int32_t *counts = HK_ZEROS(int32_t, mesh->vertex_count);
    if (!sums || !counts) {
        hk_free(sums);
        hk_free(counts);
        return HK_NO_MEMORY;
    }
    for (size_t i = 0; i < 4 * (size_t)mesh->tet_count; i++) {
        if (!isfinite(of_tets[i / 4])) continue;
        sums[mesh->tets[i]] += of_tets[i / 4];
        counts[mesh->tets[i]]++;
    }
    for (int i = 0; i < mesh->vertex_count; i++) sums[i] = counts[i] ? sums[i] / counts[i] : NAN;
    hk_free(counts);
    *of_vertices = sums;
    return HK_OK;
}

static double value_at(const hk_shell *shell, const double *values, int vertex)
{
    return values[shell->sources ? shell->sources[vertex] : vertex];
}

static hk_status make_colours(const hk_mesh *mesh, const hk_shell *shell, const hk_field *field,
                              float **colours)
{
    double *owned = NULL;
    if (field->site == HK_ON_TETS) HK_TRY(average_tets(mesh, field->values, &owned));
    const double *values = owned ? owned : field->values;
    float *made = HK_ARRAY(float, 3 * (size_t)shell->vertex_count);
    if (!made) {
        hk_free(owned);
        return HK_NO_MEMORY;
    }
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < shell->vertex_count; i++) {
        double value = value_at(shell, values, i);
        if (!isfinite(value)) continue;
        low = fmin(low, value);
        high = fmax(high, value);
    }
    for (int i = 0; i < shell->vertex_count; i++) {
        double value = value_at(shell, values, i);
        // Halved, so that the range of any two doubles is finite.
        double share =
            high > low ? (0.5 * value - 0.5 * low) / (0.5 * high - 0.5 * low) : value - value + 0.5;
        colour_of(share, made + 3 * (size_t)i);
    }
    hk_free(owned);
    *colours = made;
    return HK_OK;
}

// ---------------------------------------------------------------- the shape

// Normals weighted by area; a vertex of no (or only flat) triangles looks along z.
static hk_status make_normals(const hk_shell *shell, float **normals)
{
    size_t count = 3 * (size_t)shell->vertex_count;
    double *sums = HK_ZEROS(double, count);
    float *made = HK_ARRAY(float, count);
    if (!sums || !made) {
        hk_free(sums);
        hk_free(made);
        return HK_NO_MEMORY;
    }
    for (int i = 0; i < shell->triangle_count; i++) {
        const int32_t *corners = shell->triangles + 3 * (size_t)i;
        double normal[3];
        hk_triangle_normal(shell->positions, corners, normal);
        for (size_t c = 0; c < 3; c++)
            for (size_t k = 0; k < 3; k++) sums[3 * (size_t)corners[c] + k] += normal[k];
    }
    for (size_t i = 0; i < count; i += 3) {
        // Scaled first: the squares of tiny meshes would vanish.
        double largest = fmax(fabs(sums[i]), fmax(fabs(sums[i + 1]), fabs(sums[i + 2])));
        double n[3] = {0, 0, 1};
        if (largest > 0 && isfinite(largest))
            for (size_t k = 0; k < 3; k++) n[k] = sums[i + k] / largest;
        double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (size_t k = 0; k < 3; k++) made[i + k] = (float)(n[k] / length);
    }
    hk_free(sums);
    *normals = made;
    return HK_OK;
}

typedef struct glb_parts {
    hk_shell shell;
    float *positions;  // [vertex_count][3]
    float *normals;    // [vertex_count][3]
    float *colours;    // [vertex_count][3] or NULL
    float low[3], high[3];
} glb_parts;

static void free_parts(glb_parts *parts)
{
    hk_shell_free(&parts->shell);
    hk_free(parts->positions);
    hk_free(parts->normals);
    hk_free(parts->colours);
}

static hk_status make_parts(const hk_mesh *mesh, const hk_field *fields, int field_count,
                            glb_parts *parts)
{
    HK_TRY(hk_shell_of(mesh, ".glb", &parts->shell));
    const hk_shell *shell = &parts->shell;
    HK_TRY(hk_shell_fits_float(shell, ".glb"));
    size_t count = 3 * (size_t)shell->vertex_count;
    parts->positions = HK_ARRAY(float, count);
    if (!parts->positions) return HK_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        float value = (float)shell->positions[i];
        parts->positions[i] = value;
        if (i < 3 || value < parts->low[i % 3]) parts->low[i % 3] = value;
        if (i < 3 || value > parts->high[i % 3]) parts->high[i % 3] = value;
    }
    HK_TRY(make_normals(shell, &parts->normals));
    const hk_field *field = first_scalar(mesh, fields, field_count);
    return field ? make_colours(mesh, shell, field, &parts->colours) : HK_OK;
}

// ---------------------------------------------------------------- the file

enum { JSON_ROOM = 4096, FLOATS = 5126, INTEGERS = 5125, VERTICES = 34962, INDICES = 34963 };

// One buffer: positions, normals, colours if there are, triangles. Every part is a multiple of
// four bytes long, as glTF wants it.
static int format_json(const glb_parts *parts, size_t vector_bytes, size_t index_bytes,
                       char json[JSON_ROOM])
{
    bool coloured = parts->colours != NULL;
    size_t arrays = coloured ? 3 : 2;
    int used = snprintf(
        json, JSON_ROOM,
        "{\"asset\":{\"version\":\"2.0\",\"generator\":\"Hooke %s\"},\"scene\":0,"
        "\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"mesh\":0}],"
        "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"NORMAL\":1%s},"
        "\"indices\":%zu,\"material\":0,\"mode\":4}]}],"
        "\"materials\":[{\"pbrMetallicRoughness\":{\"baseColorFactor\":%s,\"metallicFactor\":0,"
        "\"roughnessFactor\":0.7},\"doubleSided\":true}],"
        "\"buffers\":[{\"byteLength\":%zu}],\"bufferViews\":[",
        hk_version(), coloured ? ",\"COLOR_0\":2" : "", arrays,
        coloured ? "[1,1,1,1]" : "[0.6,0.65,0.75,1]", arrays * vector_bytes + index_bytes);
    for (size_t i = 0; i < arrays; i++)
        used += snprintf(json + used, JSON_ROOM - (size_t)used,
                         "{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%zu,\"target\":%d},",
                         i * vector_bytes, vector_bytes, VERTICES);
    used += snprintf(json + used, JSON_ROOM - (size_t)used,
                     "{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%zu,\"target\":%d}],"
                     "\"accessors\":[",
                     arrays * vector_bytes, index_bytes, INDICES);
    for (size_t i = 0; i < arrays; i++) {
        used += snprintf(json + used, JSON_ROOM - (size_t)used,
                         "{\"bufferView\":%zu,\"componentType\":%d,\"count\":%d,\"type\":\"VEC3\"",
                         i, FLOATS, parts->shell.vertex_count);
        if (i == 0)
            used +=
                snprintf(json + used, JSON_ROOM - (size_t)used,
                         ",\"min\":[%.9g,%.9g,%.9g],\"max\":[%.9g,%.9g,%.9g]",
                         (double)parts->low[0], (double)parts->low[1], (double)parts->low[2],
                         (double)parts->high[0], (double)parts->high[1], (double)parts->high[2]);
        used += snprintf(json + used, JSON_ROOM - (size_t)used, "},");
    }
    used +=
        snprintf(json + used, JSON_ROOM - (size_t)used,
                 "{\"bufferView\":%zu,\"componentType\":%d,\"count\":%zu,\"type\":\"SCALAR\"}]}",
                 arrays, INTEGERS, index_bytes / sizeof(int32_t));
    while (used % 4) json[used++] = ' ';
    return used;
}

// Words of 32 bits, little-endian as glTF demands.
static void write_words(hk_out *out, const void *data, size_t bytes)
{
    if (!hk_must_swap(true)) {
        hk_out_bytes(out, data, bytes);
        return;
    }
    for (size_t i = 0; i < bytes; i += 4) {
        uint32_t word;
        memcpy(&word, (const char *)data + i, sizeof word);
        word = __builtin_bswap32(word);
        hk_out_bytes(out, &word, sizeof word);
    }
}

static hk_status write_parts(hk_out *out, const glb_parts *parts)
{
    size_t vector_bytes = 3 * sizeof(float) * (size_t)parts->shell.vertex_count;
    size_t index_bytes = 3 * sizeof(int32_t) * (size_t)parts->shell.triangle_count;
    size_t binary_bytes = (parts->colours ? 3 : 2) * vector_bytes + index_bytes;
    char json[JSON_ROOM];
    // Numbers must have a point whatever the program's locale.
    locale_t numbers = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (numbers == (locale_t)0) return hk_no_memory();
    locale_t before = uselocale(numbers);
    size_t json_bytes = (size_t)format_json(parts, vector_bytes, index_bytes, json);
    uselocale(before);
    freelocale(numbers);
    uint64_t total = 12 + 8 + json_bytes + 8 + (uint64_t)binary_bytes;
    if (total > UINT32_MAX)
        return hk_fail(HK_UNSUPPORTED, "the surface is too large for .glb (4 GiB at most)");
    const uint32_t head[] = {0x46546c67, 2, (uint32_t)total, (uint32_t)json_bytes, 0x4e4f534a};
    const uint32_t chunk[] = {(uint32_t)binary_bytes, 0x004e4942};
    write_words(out, head, sizeof head);
    hk_out_bytes(out, json, json_bytes);
    write_words(out, chunk, sizeof chunk);
    write_words(out, parts->positions, vector_bytes);
    write_words(out, parts->normals, vector_bytes);
    if (parts->colours) write_words(out, parts->colours, vector_bytes);
    write_words(out, parts->shell.triangles, index_bytes);
    return HK_OK;
}

static hk_status write_glb(hk_out *out, const hk_mesh *mesh, const hk_field *fields,
                           int field_count)
{
    glb_parts parts = {0};
    hk_status status = make_parts(mesh, fields, field_count, &parts);
    if (status == HK_OK) status = write_parts(out, &parts);
    free_parts(&parts);
    return status;
}

const hk_format hk_glb_format = {
    .endings = {".glb"},
    .surface = true,
    .write = write_glb,
};
