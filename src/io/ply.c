// PLY: text, little- and big-endian binary, with any elements and properties. The positions of
// "vertex" and the index lists of "face" make the mesh; the rest is passed over.
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "io/shell.h"
#include "io/soup.h"
#include "io/values.h"

typedef enum ply_role { PLY_OTHER = 0, PLY_X, PLY_Y, PLY_Z, PLY_CORNERS } ply_role;

typedef struct ply_property {
    hk_value_type type;
    hk_value_type count_type;  // of a list's length; HK_VALUE_NONE: a single number
    ply_role role;
    hk_quoted name;
} ply_property;

typedef enum ply_kind { PLY_UNUSED = 0, PLY_VERTEX, PLY_FACE } ply_kind;

typedef struct ply_element {
    hk_quoted name;
    ply_kind kind;
    int64_t count;
    int line;
    size_t first_property, property_count;
} ply_element;

typedef struct ply_reader {
    hk_scan scan;
    const char *begin;
    bool binary, little_endian;
    ply_element *elements;
    size_t element_count, element_capacity;
    ply_property *properties;
    size_t property_count, property_capacity;
    int64_t vertex_count;  // as the header says
    hk_values values;
    hk_soup soup;
    int32_t *corners;  // of the face being read
    size_t corner_capacity;
    size_t small_faces;  // of fewer than three corners
} ply_reader;

static const hk_value_name type_names[] = {
    {"char", HK_VALUE_INT8},       {"uchar", HK_VALUE_UINT8},    {"short", HK_VALUE_INT16},
    {"ushort", HK_VALUE_UINT16},   {"int", HK_VALUE_INT32},      {"uint", HK_VALUE_UINT32},
    {"float", HK_VALUE_FLOAT32},   {"double", HK_VALUE_FLOAT64}, {"int8", HK_VALUE_INT8},
    {"uint8", HK_VALUE_UINT8},     {"int16", HK_VALUE_INT16},    {"uint16", HK_VALUE_UINT16},
    {"int32", HK_VALUE_INT32},     {"uint32", HK_VALUE_UINT32},  {"float32", HK_VALUE_FLOAT32},
    {"float64", HK_VALUE_FLOAT64}, {"int64", HK_VALUE_INT64},    {"uint64", HK_VALUE_UINT64},
};

// ---------------------------------------------------------------- the header

static bool same(const char *word, size_t length, const char *wanted)
{
    return strlen(wanted) == length && memcmp(word, wanted, length) == 0;
}

// A word of the same line.
static hk_status take_word(hk_scan *scan, const char *what, const char **word, size_t *length)
{
    if (!hk_scan_more_on_line(scan))
        return hk_scan_fail(scan, "expected %s, found the end of the line", what);
    return hk_scan_word(scan, what, word, length);
}

static hk_status read_format(ply_reader *reader)
{
    const char *word;
    size_t length;
    HK_TRY(take_word(&reader->scan, "ascii or a binary format", &word, &length));
    reader->little_endian = same(word, length, "binary_little_endian");
    reader->binary = reader->little_endian || same(word, length, "binary_big_endian");
    if (!reader->binary && !same(word, length, "ascii"))
        return hk_scan_fail(&reader->scan,
                            "expected ascii, binary_little_endian or binary_big_endian, found "
                            "\"%s\"",
                            hk_quote(word, length).text);
    return HK_OK;
}

static hk_status read_element(ply_reader *reader)
{
    hk_scan *scan = &reader->scan;
    const char *word;
    size_t length;
    HK_TRY(take_word(scan, "the name of an element", &word, &length));
    ply_element element = {.name = hk_quote(word, length),
                           .line = scan->line,
                           .first_property = reader->property_count};
    if (same(word, length, "vertex")) element.kind = PLY_VERTEX;
    if (same(word, length, "face")) element.kind = PLY_FACE;
    if (!hk_scan_more_on_line(scan))
        return hk_scan_fail(scan, "expected how many of the element, found the end of the line");
    HK_TRY(hk_scan_int(scan, "how many of the element", &element.count));
    if (element.count < 0 || element.count > INT_MAX)
        return hk_scan_fail(scan, "expected how many of the element (0 to %d), found %" PRId64,
                            INT_MAX, element.count);
    for (size_t i = 0; i < reader->element_count; i++)
        if (element.kind && reader->elements[i].kind == element.kind)
            return hk_scan_fail(scan, "a second element \"%s\"", element.name.text);
    if (element.kind == PLY_VERTEX) reader->vertex_count = element.count;
    HK_TRY(hk_reserve((void **)&reader->elements, reader->element_count, sizeof element,
                      &reader->element_capacity, reader->element_count + 1));
    reader->elements[reader->element_count++] = element;
    return HK_OK;
}

static hk_status read_type(ply_reader *reader, hk_value_type *type)
{
    const char *word;
    size_t length;
    HK_TRY(take_word(&reader->scan, "a type", &word, &length));
    *type = hk_value_type_named(type_names, HK_COUNT_OF(type_names), word, length);
    if (*type != HK_VALUE_NONE) return HK_OK;
    return hk_scan_fail(&reader->scan,
                        "expected a type (float, double, int, uchar, …), found "
                        "\"%s\"",
                        hk_quote(word, length).text);
}

static ply_role role_of(ply_kind kind, bool list, const char *word, size_t length)
{
    if (kind == PLY_FACE && list &&
        (same(word, length, "vertex_indices") || same(word, length, "vertex_index")))
        return PLY_CORNERS;
    if (kind != PLY_VERTEX || list || length != 1) return PLY_OTHER;
    return word[0] == 'x' ? PLY_X : word[0] == 'y' ? PLY_Y : word[0] == 'z' ? PLY_Z : PLY_OTHER;
}

static hk_status read_property(ply_reader *reader)
{
    hk_scan *scan = &reader->scan;
    if (!reader->element_count)
        return hk_scan_fail(scan, "expected an element before the first property");
    ply_element *element = &reader->elements[reader->element_count - 1];
    ply_property property = {.count_type = HK_VALUE_NONE};
    const char *word;
    size_t length;
    hk_scan before = *scan;
    HK_TRY(take_word(scan, "a type", &word, &length));
    bool list = same(word, length, "list");
    if (list)
        HK_TRY(read_type(reader, &property.count_type));
    else
        *scan = before;
    HK_TRY(read_type(reader, &property.type));
    HK_TRY(take_word(scan, "the name of a property", &word, &length));
    property.name = hk_quote(word, length);
    property.role = role_of(element->kind, list, word, length);
    for (size_t i = 0; i < element->property_count; i++)
        if (property.role && reader->properties[element->first_property + i].role == property.role)
            return hk_scan_fail(scan, "a second property \"%s\"", property.name.text);
    HK_TRY(hk_reserve((void **)&reader->properties, reader->property_count, sizeof property,
                      &reader->property_capacity, reader->property_count + 1));
    reader->properties[reader->property_count++] = property;
    element->property_count++;
    return HK_OK;
}

static hk_status check_roles(const ply_reader *reader)
{
    static const struct {
        ply_kind kind;
        ply_role role;
        const char *what;
    } needed[] = {{PLY_VERTEX, PLY_X, "vertex with the property x"},
                  {PLY_VERTEX, PLY_Y, "vertex with the property y"},
                  {PLY_VERTEX, PLY_Z, "vertex with the property z"},
                  {PLY_FACE, PLY_CORNERS, "face with the list vertex_indices"}};
    for (int n = 0; n < HK_COUNT_OF(needed); n++) {
        bool found = false;
        int line = reader->scan.line;
        for (size_t e = 0; e < reader->element_count; e++) {
            const ply_element *element = &reader->elements[e];
            if (element->kind != needed[n].kind) continue;
            line = element->line;
            for (size_t p = 0; p < element->property_count; p++)
                found |= reader->properties[element->first_property + p].role == needed[n].role;
        }
        if (!found)
            return hk_fail(HK_BAD_INPUT, "%s:%d: expected an element %s", reader->scan.name, line,
                           needed[n].what);
    }
    return HK_OK;
}

static hk_status read_header(ply_reader *reader)
{
    hk_scan *scan = &reader->scan;
    const char *word;
    size_t length;
    if (!hk_scan_accept(scan, "ply"))
        return hk_scan_fail(scan, "expected \"ply\": this is not a PLY file");
    bool has_format = false;
    for (;;) {
        hk_scan_skip_line(scan);
        HK_TRY(hk_scan_word(scan, "end_header", &word, &length));
        if (same(word, length, "end_header")) break;
        if (same(word, length, "format")) {
            HK_TRY(read_format(reader));
            has_format = true;
        } else if (same(word, length, "element")) {
            HK_TRY(read_element(reader));
        } else if (same(word, length, "property")) {
            HK_TRY(read_property(reader));
        } else if (!same(word, length, "comment") && !same(word, length, "obj_info")) {
            return hk_scan_fail(scan,
                                "expected element, property, comment or end_header, found "
                                "\"%s\"",
                                hk_quote(word, length).text);
        }
    }
    if (!has_format) return hk_scan_fail(scan, "expected a line \"format …\" before end_header");
    HK_TRY(check_roles(reader));
    hk_scan_skip_line(scan);
    return HK_OK;
}

// ---------------------------------------------------------------- the items

// In text an item is a line, so that a number too few is found where it is missing.
static hk_status expect_value(ply_reader *reader, const ply_property *property)
{
    if (reader->binary || hk_scan_more_on_line(&reader->scan)) return HK_OK;
    return hk_scan_fail(&reader->scan, "expected %s, found the end of the line",
                        property->name.text);
}

static hk_status read_list(ply_reader *reader, const ply_property *property)
{
    hk_values *values = &reader->values;
    const char *what = property->name.text;
    int64_t count;
    values->type = property->count_type;
    HK_TRY(hk_values_ints(values, 1, "the length of a list", 0, INT_MAX, &count));
    values->type = property->type;
    HK_TRY(hk_values_room(values, (size_t)count, what));
    if (property->role != PLY_CORNERS) {
        for (int64_t i = 0; i < count; i++) {
            HK_TRY(expect_value(reader, property));
            HK_TRY(hk_values_skip(values, 1, what));
        }
        return HK_OK;
    }
    HK_TRY(hk_reserve((void **)&reader->corners, 0, sizeof(int32_t), &reader->corner_capacity,
                      (size_t)count));
    for (int64_t i = 0; i < count; i++) {
        HK_TRY(expect_value(reader, property));
        HK_TRY(hk_values_int32s(values, 1, what, 0, (int32_t)reader->vertex_count - 1,
                                &reader->corners[i]));
    }
    reader->small_faces += count < 3;
    return hk_soup_polygon(&reader->soup, reader->corners, (size_t)count);
}

static hk_status read_item(ply_reader *reader, const ply_element *element)
{
    const ply_property *properties = reader->properties + element->first_property;
    double position[3] = {0};
    for (size_t p = 0; p < element->property_count; p++) {
        const ply_property *property = &properties[p];
        HK_TRY(expect_value(reader, property));
        reader->values.type = property->type;
        if (property->count_type != HK_VALUE_NONE)
            HK_TRY(read_list(reader, property));
        else if (property->role != PLY_OTHER)
            HK_TRY(hk_values_reals(&reader->values, 1, property->name.text,
                                   &position[property->role - PLY_X]));
        else
            HK_TRY(hk_values_skip(&reader->values, 1, property->name.text));
    }
    if (!reader->binary && hk_scan_more_on_line(&reader->scan))
        return hk_scan_fail(&reader->scan, "expected the end of the line after %zu properties",
                            element->property_count);
    if (element->kind == PLY_VERTEX) return hk_soup_vertices(&reader->soup, 1, position);
    return HK_OK;
}

// What an item takes at least, so that a lying count is found before anything is read.
static size_t least_size(const ply_reader *reader, const ply_element *element)
{
    size_t size = 0;
    for (size_t p = 0; p < element->property_count; p++) {
        const ply_property *property = &reader->properties[element->first_property + p];
        bool list = property->count_type != HK_VALUE_NONE;
        size += reader->binary ? hk_value_size(list ? property->count_type : property->type) : 2;
    }
    return size;
}

static hk_status read_items(ply_reader *reader, const ply_element *element)
{
    hk_scan *scan = &reader->scan;
    size_t least = least_size(reader, element);
    if (!least) return HK_OK;
    size_t left = reader->binary ? reader->values.size : (size_t)(scan->end - scan->at) + 1;
    if ((size_t)element->count > left / least)
        return hk_fail(HK_BAD_INPUT,
                       "%s:%d: %" PRId64
                       " of the element %s need at least %zu bytes each, but only "
                       "%zu bytes are left",
                       scan->name, element->line, element->count, element->name.text, least, left);
    scan->item = element->name.text;
    for (int64_t i = 0; i < element->count; i++) {
        scan->number = i;
        if (!reader->binary && !hk_scan_more(scan))
            return hk_scan_fail(scan, "the file ends where this was expected");
        HK_TRY(read_item(reader, element));
    }
    scan->item = NULL;
    return HK_OK;
}

static hk_status read_file(ply_reader *reader)
{
    hk_scan *scan = &reader->scan;
    HK_TRY(read_header(reader));
    reader->values = (hk_values){.name = scan->name, .swap = hk_must_swap(reader->little_endian)};
    if (reader->binary) {
        reader->values.bytes = (const unsigned char *)scan->at;
        reader->values.size = (size_t)(scan->end - scan->at);
        reader->values.offset = (size_t)(scan->at - reader->begin);
    } else {
        reader->values.text = scan;
    }
    for (size_t e = 0; e < reader->element_count; e++)
        HK_TRY(read_items(reader, &reader->elements[e]));
    if (!reader->soup.triangle_count)
        return hk_fail(HK_BAD_INPUT, "%s: expected faces, found none", scan->name);
    return HK_OK;
}

static hk_status add_notes(const ply_reader *reader, hk_mesh *mesh)
{
    if (reader->small_faces)
        HK_TRY(hk_mesh_add_note(mesh, "left out: %zu face%s of fewer than 3 corners",
                                reader->small_faces, reader->small_faces == 1 ? "" : "s"));
    for (size_t e = 0; e < reader->element_count; e++) {
        const ply_element *element = &reader->elements[e];
        if (!element->kind && element->count)
            HK_TRY(hk_mesh_add_note(mesh, "left out: %" PRId64 " of the element \"%s\"",
                                    element->count, element->name.text));
    }
    return HK_OK;
}

static hk_status read_ply(const char *name, const char *data, size_t size, hk_mesh **mesh)
{
    ply_reader reader = {.scan = hk_scan_begin(name, data, size, 0), .begin = data};
    hk_mesh *made = NULL;
    hk_status status = read_file(&reader);
    if (status == HK_OK) status = hk_soup_mesh(&reader.soup, &made);
    if (status == HK_OK) status = add_notes(&reader, made);
    hk_soup_free(&reader.soup);
    hk_free(reader.elements);
    hk_free(reader.properties);
    hk_free(reader.corners);
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

// ---------------------------------------------------------------- writing

static void put32(unsigned char *at, uint32_t bits)
{
    if (hk_must_swap(true)) bits = __builtin_bswap32(bits);
    memcpy(at, &bits, sizeof bits);
}

static void put_double(unsigned char *at, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (hk_must_swap(true)) bits = __builtin_bswap64(bits);
    memcpy(at, &bits, sizeof bits);
}

static hk_status write_ply(hk_out *out, const hk_mesh *mesh, const hk_field *fields,
                           int field_count)
{
    (void)fields;
    (void)field_count;
    hk_shell shell;
    HK_TRY(hk_shell_of(mesh, ".ply", &shell));
    hk_out_text(out,
                "ply\nformat binary_little_endian 1.0\ncomment Hooke\nelement vertex %d\n"
                "property double x\nproperty double y\nproperty double z\nelement face %d\n"
                "property list uchar int vertex_indices\nend_header\n",
                shell.vertex_count, shell.triangle_count);
    for (size_t i = 0; i < (size_t)shell.vertex_count; i++) {
        unsigned char record[24];
        for (size_t k = 0; k < 3; k++) put_double(record + 8 * k, shell.positions[3 * i + k]);
        hk_out_bytes(out, record, sizeof record);
    }
    for (size_t i = 0; i < (size_t)shell.triangle_count; i++) {
        unsigned char record[13] = {3};
        for (size_t k = 0; k < 3; k++)
            put32(record + 1 + 4 * k, (uint32_t)shell.triangles[3 * i + k]);
        hk_out_bytes(out, record, sizeof record);
    }
    hk_shell_free(&shell);
    return HK_OK;
}

const hk_format hk_ply_format = {
    .endings = {".ply"},
    .surface = true,
    .read = read_ply,
    .write = write_ply,
};
