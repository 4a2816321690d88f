// VTK legacy files: unstructured grids and polygonal data, text or big-endian binary, with the
// cell layout of versions 2 to 4 (a count before every cell) or 5 (offsets and connectivity).
#include <limits.h>
#include <stdio.h>
#include <strings.h>

#include "io/values.h"
#include "io/vtk_cells.h"

typedef struct vtk_reader {
    hk_scan scan;
    const char *begin;
    bool binary;
    bool polydata;
    hk_vtk_cells cells;
    // The CELLS section, until its CELL_TYPES are known:
    bool has_points, has_cells, has_types;
    int cells_line;
    size_t cell_count;
    int64_t *offsets;       // [cell_count + 1] into connectivity
    int32_t *connectivity;  // [offsets[cell_count]]
    // Of the POINT_DATA or CELL_DATA section being read:
    bool cell_data;
    size_t item_count;
    int left_out;  // arrays that were passed over
} vtk_reader;

static const hk_value_name type_names[] = {
    {"unsigned_char", HK_VALUE_UINT8},
    {"char", HK_VALUE_INT8},
    {"signed_char", HK_VALUE_INT8},
    {"unsigned_short", HK_VALUE_UINT16},
    {"short", HK_VALUE_INT16},
    {"unsigned_int", HK_VALUE_UINT32},
    {"int", HK_VALUE_INT32},
    {"unsigned_long", HK_VALUE_UINT64},
    {"long", HK_VALUE_INT64},
    {"float", HK_VALUE_FLOAT32},
    {"double", HK_VALUE_FLOAT64},
    {"vtkidtype", HK_VALUE_INT32},
    {"vtktypeint8", HK_VALUE_INT8},
    {"vtktypeuint8", HK_VALUE_UINT8},
    {"vtktypeint16", HK_VALUE_INT16},
    {"vtktypeuint16", HK_VALUE_UINT16},
    {"vtktypeint32", HK_VALUE_INT32},
    {"vtktypeuint32", HK_VALUE_UINT32},
    {"vtktypeint64", HK_VALUE_INT64},
    {"vtktypeuint64", HK_VALUE_UINT64},
    {"vtktypefloat32", HK_VALUE_FLOAT32},
    {"vtktypefloat64", HK_VALUE_FLOAT64},
    {"long_long", HK_VALUE_INT64},
    {"unsigned_long_long", HK_VALUE_UINT64},
};

// VTK compares its words without regard to case.
static bool same(const char *word, size_t length, const char *wanted)
{
    return strlen(wanted) == length && strncasecmp(word, wanted, length) == 0;
}

static hk_status read_type(vtk_reader *reader, hk_value_type *type)
{
    const char *word;
    size_t length;
    HK_TRY(hk_scan_word(&reader->scan, "a data type", &word, &length));
    char lower[32];
    *type = HK_VALUE_NONE;
    if (length < sizeof lower) {
        for (size_t i = 0; i < length; i++)
            lower[i] = word[i] >= 'A' && word[i] <= 'Z' ? (char)(word[i] + 32) : word[i];
        *type = hk_value_type_named(type_names, HK_COUNT_OF(type_names), lower, length);
    }
    if (*type != HK_VALUE_NONE) return HK_OK;
    return hk_scan_fail(&reader->scan, "expected a data type (float, double, int, …), found \"%s\"",
                        hk_quote(word, length).text);
}

// The numbers that follow: in the text, or in the bytes after this line.
static hk_values begin_values(vtk_reader *reader, hk_value_type type)
{
    hk_scan *scan = &reader->scan;
    hk_values values = {.name = scan->name, .type = type, .swap = hk_must_swap(false)};
    if (!reader->binary) {
        values.text = scan;
        return values;
    }
    hk_scan_skip_line(scan);
    values.bytes = (const unsigned char *)scan->at;
    values.size = (size_t)(scan->end - scan->at);
    values.offset = (size_t)(scan->at - reader->begin);
    return values;
}

static void end_values(vtk_reader *reader, const hk_values *values)
{
    hk_scan *scan = &reader->scan;
    if (values->text) return;
    const char *stop = (const char *)values->bytes;
    // Lines are counted as a text editor would count them.
    while (scan->at < stop) {
        const char *newline = memchr(scan->at, '\n', (size_t)(stop - scan->at));
        scan->at = newline ? newline + 1 : stop;
        scan->line += newline != NULL;
    }
}

static hk_status read_points(vtk_reader *reader)
{
    if (reader->has_points) return hk_scan_fail(&reader->scan, "a second POINTS section");
    int count;
    hk_value_type type;
    HK_TRY(hk_scan_count(&reader->scan, "the number of points", reader->binary ? 3 : 6, &count));
    HK_TRY(read_type(reader, &type));
    hk_values values = begin_values(reader, type);
    HK_TRY(hk_values_room(&values, 3 * (size_t)count, "coordinates"));
    double *positions = HK_ARRAY(double, 3 * (size_t)count);
    if (!positions) return HK_NO_MEMORY;
    hk_status status = hk_values_reals(&values, 3 * (size_t)count, "a coordinate", positions);
    if (status == HK_OK) status = hk_soup_vertices(&reader->cells.soup, (size_t)count, positions);
    hk_free(positions);
    HK_TRY(status);
    end_values(reader, &values);
    reader->has_points = true;
    return HK_OK;
}

// ---------------------------------------------------------------- cells

static void drop_cells(vtk_reader *reader)
{
    hk_free(reader->offsets);
    hk_free(reader->connectivity);
    reader->offsets = NULL;
    reader->connectivity = NULL;
    reader->cell_count = 0;
}

static int32_t last_vertex(const vtk_reader *reader)
{
    return (int32_t)reader->cells.soup.vertex_count - 1;
}

// "count v v v …" for every cell, `size` numbers in all.
static hk_status read_counted_cells(vtk_reader *reader, size_t count, size_t size)
{
    hk_values values = begin_values(reader, HK_VALUE_INT32);
    HK_TRY(hk_values_room(&values, size, "cells"));
    if (size < count)
        return hk_values_fail(&values, "%zu cells cannot be told by %zu numbers", count, size);
    reader->offsets = HK_ARRAY(int64_t, count + 1);
    reader->connectivity = HK_ARRAY(int32_t, size - count);
    if (!reader->offsets || !reader->connectivity) return HK_NO_MEMORY;
    reader->cell_count = count;
    size_t used = 0, room = size - count;
    reader->offsets[0] = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t corners;
        HK_TRY(hk_values_ints(&values, 1, "corners of a cell", 0, INT32_MAX, &corners));
        if ((size_t)corners > room - used)
            return hk_values_fail(&values,
                                  "cell %zu has %lld corners, which is more than the section "
                                  "announced (%zu numbers in all)",
                                  i, (long long)corners, size);
        HK_TRY(hk_values_int32s(&values, (size_t)corners, "vertex of a cell", 0,
                                last_vertex(reader), reader->connectivity + used));
        used += (size_t)corners;
        reader->offsets[i + 1] = (int64_t)used;
    }
    if (used != room)
        return hk_values_fail(&values, "the cells end after %zu numbers, but %zu were announced",
                              used + count, size);
    end_values(reader, &values);
    return HK_OK;
}

// OFFSETS type … CONNECTIVITY type …; here CELLS told how many offsets there are.
static hk_status read_offset_cells(vtk_reader *reader, size_t offset_count, size_t size)
{
    hk_value_type type;
    HK_TRY(read_type(reader, &type));
    hk_values values = begin_values(reader, type);
    HK_TRY(hk_values_room(&values, offset_count, "offsets"));
    reader->offsets = HK_ZEROS(int64_t, offset_count + 1);
    if (!reader->offsets) return HK_NO_MEMORY;
    HK_TRY(hk_values_ints(&values, offset_count, "offset of a cell", 0, (int64_t)size,
                          reader->offsets));
    for (size_t i = 1; i < offset_count; i++)
        if (reader->offsets[i] < reader->offsets[i - 1])
            return hk_values_fail(&values, "offset %zu is smaller than the one before it", i);
    if (offset_count && (reader->offsets[0] || reader->offsets[offset_count - 1] != (int64_t)size))
        return hk_values_fail(&values, "expected offsets from 0 to %zu, found %lld to %lld", size,
                              (long long)reader->offsets[0],
                              (long long)reader->offsets[offset_count - 1]);
    end_values(reader, &values);
    if (!hk_scan_accept(&reader->scan, "CONNECTIVITY"))
        return hk_scan_fail(&reader->scan, "expected CONNECTIVITY after the offsets");
    HK_TRY(read_type(reader, &type));
    values = begin_values(reader, type);
    HK_TRY(hk_values_room(&values, size, "connectivity"));
    reader->connectivity = HK_ARRAY(int32_t, size);
    if (!reader->connectivity) return HK_NO_MEMORY;
    HK_TRY(hk_values_int32s(&values, size, "vertex of a cell", 0, last_vertex(reader),
                            reader->connectivity));
    end_values(reader, &values);
    reader->cell_count = offset_count ? offset_count - 1 : 0;
    return HK_OK;
}

static hk_status read_cells(vtk_reader *reader)
{
    hk_scan *scan = &reader->scan;
    if (!reader->has_points) return hk_scan_fail(scan, "expected POINTS before the cells");
    reader->cells_line = scan->line;
    int count, size;
    HK_TRY(hk_scan_count(scan, "the number of cells", reader->binary ? 1 : 2, &count));
    HK_TRY(hk_scan_count(scan, "the size of the cells", reader->binary ? 1 : 2, &size));
    hk_scan ahead = *scan;
    if (hk_scan_accept(&ahead, "OFFSETS")) {
        *scan = ahead;
        return read_offset_cells(reader, (size_t)count, (size_t)size);
    }
    return read_counted_cells(reader, (size_t)count, (size_t)size);
}

static hk_status add_cell(vtk_reader *reader, size_t cell, int type)
{
    size_t corners = (size_t)(reader->offsets[cell + 1] - reader->offsets[cell]);
    size_t wanted = hk_vtk_corners_of(type);
    if (wanted && corners != wanted)
        return hk_fail(HK_BAD_INPUT,
                       "%s:%d: cell %zu of this section is a %s of %zu corners, "
                       "expected %zu",
                       reader->scan.name, reader->cells_line, cell, hk_vtk_type_name(type), corners,
                       wanted);
    return hk_vtk_add_cell(&reader->cells, type, reader->connectivity + reader->offsets[cell],
                           corners);
}

static hk_status read_types(vtk_reader *reader)
{
    hk_scan *scan = &reader->scan;
    if (!reader->has_cells) return hk_scan_fail(scan, "expected CELLS before CELL_TYPES");
    if (reader->has_types) return hk_scan_fail(scan, "a second CELL_TYPES section");
    int count;
    HK_TRY(hk_scan_count(scan, "the number of cell types", 1, &count));
    if ((size_t)count != reader->cell_count)
        return hk_scan_fail(scan, "expected %zu cell types, one for every cell, found %d",
                            reader->cell_count, count);
    hk_values values = begin_values(reader, HK_VALUE_INT32);
    HK_TRY(hk_values_room(&values, (size_t)count, "cell types"));
    for (int i = 0; i < count; i++) {
        int64_t type;
        HK_TRY(hk_values_ints(&values, 1, "type of a cell", 0, 255, &type));
        HK_TRY(add_cell(reader, (size_t)i, (int)type));
    }
    end_values(reader, &values);
    reader->has_types = true;
    drop_cells(reader);
    return HK_OK;
}

static hk_status read_grid_cells(vtk_reader *reader)
{
    if (reader->has_cells) return hk_scan_fail(&reader->scan, "a second CELLS section");
    HK_TRY(read_cells(reader));
    reader->has_cells = true;
    return HK_OK;
}

// VERTICES, LINES, POLYGONS and TRIANGLE_STRIPS of polygonal data say their type by their name.
static hk_status read_poly_cells(vtk_reader *reader, int type)
{
    HK_TRY(read_cells(reader));
    for (size_t i = 0; i < reader->cell_count; i++) HK_TRY(add_cell(reader, i, type));
    drop_cells(reader);
    return HK_OK;
}

// ---------------------------------------------------------------- data

// Reads or skips one array. Integers of cells whose name tells regions apart are kept.
static hk_status take_array(vtk_reader *reader, const char *name, size_t length, hk_value_type type,
                            int64_t components, size_t tuples)
{
    if (components < 0 || components > INT_MAX)
        return hk_scan_fail(&reader->scan, "expected a number of components, found %lld",
                            (long long)components);
    hk_vtk_cells *cells = &reader->cells;
    hk_values values = begin_values(reader, type);
    size_t count;
    if (__builtin_mul_overflow((size_t)components, tuples, &count)) count = SIZE_MAX / 16;
    bool wanted = reader->cell_data && components == 1 && tuples == cells->cell_count &&
                  type < HK_VALUE_FLOAT32 && !cells->region_count &&
                  hk_vtk_names_regions(name, length);
    if (wanted) {
        HK_TRY(hk_values_room(&values, count, "cell data"));
        HK_TRY(hk_reserve((void **)&cells->regions, 0, sizeof(int64_t), &cells->region_capacity,
                          count));
        HK_TRY(hk_values_ints(&values, count, "cell data", INT64_MIN, INT64_MAX, cells->regions));
        cells->region_count = count;
        snprintf(cells->region_name, sizeof cells->region_name, "%s", hk_quote(name, length).text);
    } else {
        HK_TRY(hk_values_skip(&values, count, "data"));
        reader->left_out++;
    }
    end_values(reader, &values);
    return HK_OK;
}

// FIELD name count, then "name components tuples type" and the numbers of each.
static hk_status read_field(vtk_reader *reader)
{
    hk_scan *scan = &reader->scan;
    const char *word;
    size_t length;
    int arrays;
    HK_TRY(hk_scan_word(scan, "the field's name", &word, &length));
    HK_TRY(hk_scan_count(scan, "the number of arrays", 8, &arrays));
    for (int i = 0; i < arrays; i++) {
        int64_t components, tuples;
        hk_value_type type;
        // Arrays may be followed by METADATA of their own.
        while (hk_scan_accept(scan, "METADATA")) {
            hk_scan_skip_line(scan);
            while (hk_scan_more_on_line(scan)) hk_scan_skip_line(scan);
        }
        HK_TRY(hk_scan_word(scan, "the array's name", &word, &length));
        HK_TRY(hk_scan_int(scan, "the number of components", &components));
        HK_TRY(hk_scan_int(scan, "the number of tuples", &tuples));
        if (tuples < 0)
            return hk_scan_fail(scan, "expected a number of tuples, not %lld", (long long)tuples);
        HK_TRY(read_type(reader, &type));
        HK_TRY(take_array(reader, word, length, type, components, (size_t)tuples));
    }
    return HK_OK;
}

static hk_status read_scalars(vtk_reader *reader)
{
    hk_scan *scan = &reader->scan;
    const char *name, *word;
    size_t length, unused;
    hk_value_type type;
    int64_t components = 1;
    HK_TRY(hk_scan_word(scan, "the array's name", &name, &length));
    HK_TRY(read_type(reader, &type));
    if (hk_scan_more_on_line(scan)) HK_TRY(hk_scan_int(scan, "components", &components));
    hk_scan ahead = *scan;
    if (hk_scan_accept(&ahead, "LOOKUP_TABLE")) {
        *scan = ahead;
        HK_TRY(hk_scan_word(scan, "the lookup table's name", &word, &unused));
    }
    return take_array(reader, name, length, type, components, reader->item_count);
}

typedef struct attribute {
    const char *keyword;
    int components;  // 0: read from the file, after the name
    bool typed;      // else text or, in a binary file, bytes
} attribute;

static const attribute attributes[] = {
    {"VECTORS", 3, true},        {"NORMALS", 3, true},
    {"TENSORS", 9, true},        {"TENSORS6", 6, true},
    {"GLOBAL_IDS", 1, true},     {"PEDIGREE_IDS", 1, true},
    {"EDGE_FLAGS", 1, true},     {"TEXTURE_COORDINATES", 0, true},
    {"COLOR_SCALARS", 0, false},
};

static hk_status read_attribute(vtk_reader *reader, const attribute *kind)
{
    hk_scan *scan = &reader->scan;
    const char *name;
    size_t length;
    int64_t components = kind->components;
    hk_value_type type = HK_VALUE_UINT8;
    HK_TRY(hk_scan_word(scan, "the array's name", &name, &length));
    if (!components) HK_TRY(hk_scan_int(scan, "components", &components));
    if (kind->typed) HK_TRY(read_type(reader, &type));
    return take_array(reader, name, length, type, components, reader->item_count);
}

static hk_status read_lookup_table(vtk_reader *reader)
{
    const char *name;
    size_t length;
    int64_t size;
    HK_TRY(hk_scan_word(&reader->scan, "the table's name", &name, &length));
    HK_TRY(hk_scan_int(&reader->scan, "the table's size", &size));
    return take_array(reader, name, length, HK_VALUE_UINT8, 4, size < 0 ? 0 : (size_t)size);
}

// Everything from POINT_DATA or CELL_DATA on.
static hk_status read_data(vtk_reader *reader)
{
    hk_scan *scan = &reader->scan;
    while (hk_scan_more(scan)) {
        const char *word;
        size_t length;
        HK_TRY(hk_scan_word(scan, "a keyword", &word, &length));
        bool of_cells = same(word, length, "CELL_DATA");
        if (of_cells || same(word, length, "POINT_DATA")) {
            int64_t count;
            HK_TRY(hk_scan_int(scan, "the number of values", &count));
            if (count < 0)
                return hk_scan_fail(scan, "%lld values are not possible", (long long)count);
            reader->cell_data = of_cells;
            reader->item_count = (size_t)count;
        } else if (same(word, length, "SCALARS")) {
            HK_TRY(read_scalars(reader));
        } else if (same(word, length, "LOOKUP_TABLE")) {
            HK_TRY(read_lookup_table(reader));
        } else if (same(word, length, "FIELD")) {
            HK_TRY(read_field(reader));
        } else if (same(word, length, "METADATA")) {
            hk_scan_skip_line(scan);
            while (hk_scan_more_on_line(scan)) hk_scan_skip_line(scan);
        } else {
            int kind = 0;
            while (kind < HK_COUNT_OF(attributes) && !same(word, length, attributes[kind].keyword))
                kind++;
            if (kind == HK_COUNT_OF(attributes))
                return hk_scan_fail(scan,
                                    "expected SCALARS, VECTORS, FIELD or the like, found "
                                    "\"%s\"",
                                    hk_quote(word, length).text);
            HK_TRY(read_attribute(reader, &attributes[kind]));
        }
    }
    return HK_OK;
}

// ---------------------------------------------------------------- the file

static hk_status read_header(vtk_reader *reader)
{
    static const char magic[] = "# vtk DataFile Version";
    hk_scan *scan = &reader->scan;
    if ((size_t)(scan->end - scan->at) < sizeof magic ||
        strncasecmp(scan->at, magic, sizeof magic - 1) != 0)
        return hk_scan_fail(scan, "expected '%s …': this is not a VTK legacy file", magic);
    hk_scan_skip_line(scan);
    hk_scan_skip_line(scan);  // the title
    const char *word;
    size_t length;
    HK_TRY(hk_scan_word(scan, "ASCII or BINARY", &word, &length));
    reader->binary = same(word, length, "BINARY");
    if (!reader->binary && !same(word, length, "ASCII"))
        return hk_scan_fail(scan, "expected ASCII or BINARY, found \"%s\"",
                            hk_quote(word, length).text);
    HK_TRY(hk_scan_word(scan, "DATASET", &word, &length));
    if (!same(word, length, "DATASET"))
        return hk_scan_fail(scan, "expected DATASET, found \"%s\"", hk_quote(word, length).text);
    HK_TRY(hk_scan_word(scan, "the kind of data set", &word, &length));
    reader->polydata = same(word, length, "POLYDATA");
    if (!reader->polydata && !same(word, length, "UNSTRUCTURED_GRID"))
        return hk_scan_fail(scan,
                            "expected UNSTRUCTURED_GRID or POLYDATA, found \"%s\": save the "
                            "mesh as an unstructured grid",
                            hk_quote(word, length).text);
    return HK_OK;
}

static hk_status read_section(vtk_reader *reader, const char *word, size_t length)
{
    static const struct {
        const char *keyword;
        int type;
    } poly[] = {{"VERTICES", 2},
                {"LINES", 4},
                {"POLYGONS", HK_VTK_POLYGON},
                {"TRIANGLE_STRIPS", HK_VTK_STRIP}};
    if (same(word, length, "POINTS")) return read_points(reader);
    if (same(word, length, "FIELD")) return read_field(reader);
    if (same(word, length, "METADATA")) {
        hk_scan_skip_line(&reader->scan);
        while (hk_scan_more_on_line(&reader->scan)) hk_scan_skip_line(&reader->scan);
        return HK_OK;
    }
    if (!reader->polydata && same(word, length, "CELLS")) return read_grid_cells(reader);
    if (!reader->polydata && same(word, length, "CELL_TYPES")) return read_types(reader);
    for (int i = 0; reader->polydata && i < HK_COUNT_OF(poly); i++)
        if (same(word, length, poly[i].keyword)) return read_poly_cells(reader, poly[i].type);
    return hk_scan_fail(&reader->scan, "expected %s, found \"%s\"",
                        reader->polydata ? "POINTS, POLYGONS or another section"
                                         : "POINTS, CELLS or CELL_TYPES",
                        hk_quote(word, length).text);
}

// Geometry first; what is wrong with the data after it does not spoil the mesh.
static hk_status read_file(vtk_reader *reader, char *data_trouble, size_t trouble_size)
{
    hk_scan *scan = &reader->scan;
    HK_TRY(read_header(reader));
    while (hk_scan_more(scan)) {
        hk_scan before = *scan;
        const char *word;
        size_t length;
        HK_TRY(hk_scan_word(scan, "a section", &word, &length));
        if (same(word, length, "POINT_DATA") || same(word, length, "CELL_DATA")) {
            *scan = before;
            hk_status status = read_data(reader);
            if (status == HK_NO_MEMORY) return status;
            if (status != HK_OK) snprintf(data_trouble, trouble_size, "%s", hk_error());
            break;
        }
        HK_TRY(read_section(reader, word, length));
    }
    if (!reader->has_points) return hk_scan_fail(scan, "expected POINTS before the end");
    if (!reader->polydata && !reader->has_types)
        return hk_scan_fail(scan, "expected %s before the end of the file",
                            reader->has_cells ? "CELL_TYPES" : "CELLS");
    return HK_OK;
}

static hk_status read_vtk(const char *name, const char *data, size_t size, hk_mesh **mesh)
{
    vtk_reader reader = {.scan = hk_scan_begin(name, data, size, 0), .begin = data};
    char trouble[400] = "";
    hk_mesh *made = NULL;
    hk_status status = read_file(&reader, trouble, sizeof trouble);
    if (status == HK_OK) status = hk_vtk_cells_mesh(&reader.cells, name, &made);
    if (status == HK_OK && trouble[0])
        status = hk_mesh_add_note(made, "point and cell data left out from here: %s", trouble);
    if (status == HK_OK && reader.left_out > 0)
        status = hk_mesh_add_note(made, "%d array%s of point and cell data left out",
                                  reader.left_out, reader.left_out == 1 ? "" : "s");
    drop_cells(&reader);
    hk_vtk_cells_free(&reader.cells);
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

const hk_format hk_vtk_format = {
    .endings = {".vtk"},
    .read = read_vtk,
};
