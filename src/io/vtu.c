// VTK XML unstructured grids (.vtu): reading. Writing is in vtu_write.c.
#include <limits.h>
#include <stdio.h>

#include "io/vtk_cells.h"
#include "io/vtu_data.h"

// What Hooke writes to keep its groups: an array of 0 and 1 called "group:" and the name.
static const char group_prefix[] = "group:";

typedef struct vtu_piece {
    int line;
    int64_t points, cells;
    hk_vtu_array position, connectivity, offsets, types, region;
    char region_name[64];
} vtu_piece;

// What a file has beside the mesh.
typedef struct vtu_extra {
    char name[128];
    bool group;     // else values
    int dimension;  // 3: of cells, 0: of points
    hk_vtu_array array;
} vtu_extra;

typedef struct vtu_reader {
    hk_vtu_file file;
    hk_xml xml;
    hk_vtk_cells cells;
    vtu_piece *pieces;
    size_t piece_count, piece_capacity;
    int64_t total_points, total_cells;  // of all pieces
    vtu_extra *extras;
    size_t extra_count, extra_capacity;
} vtu_reader;

// ---------------------------------------------------------------- the XML

static hk_status start_file(vtu_reader *reader)
{
    hk_xml *xml = &reader->xml;
    hk_vtu_file *file = &reader->file;
    hk_xml_text type = hk_xml_attribute(xml, "type");
    if (!hk_xml_is(type, "UnstructuredGrid"))
        return hk_xml_fail(xml, xml->element_line,
                           "expected type=\"UnstructuredGrid\", found \"%s\"",
                           hk_quote(type.begin ? type.begin : "", type.length).text);
    hk_xml_text order = hk_xml_attribute(xml, "byte_order");
    bool little = !order.begin || hk_xml_is(order, "LittleEndian");
    if (!little && !hk_xml_is(order, "BigEndian"))
        return hk_xml_fail(xml, xml->element_line,
                           "expected LittleEndian or BigEndian as byte_order, found \"%s\"",
                           hk_quote(order.begin, order.length).text);
    file->swap = hk_must_swap(little);
    hk_xml_text header = hk_xml_attribute(xml, "header_type");
    file->header = hk_xml_is(header, "UInt64") ? HK_VALUE_UINT64 : HK_VALUE_UINT32;
    if (header.begin && !hk_xml_is(header, "UInt64") && !hk_xml_is(header, "UInt32"))
        return hk_xml_fail(xml, xml->element_line,
                           "expected UInt32 or UInt64 as header_type, found \"%s\"",
                           hk_quote(header.begin, header.length).text);
    hk_xml_attribute_text(xml, "compressor", file->compressor, sizeof file->compressor);
    return HK_OK;
}

static hk_status start_piece(vtu_reader *reader)
{
    HK_TRY(hk_reserve((void **)&reader->pieces, reader->piece_count, sizeof(vtu_piece),
                      &reader->piece_capacity, reader->piece_count + 1));
    vtu_piece *piece = &reader->pieces[reader->piece_count];
    *piece = (vtu_piece){.line = reader->xml.element_line};
    HK_TRY(hk_xml_attribute_count(&reader->xml, "NumberOfPoints", -1, &piece->points));
    HK_TRY(hk_xml_attribute_count(&reader->xml, "NumberOfCells", -1, &piece->cells));
    if (piece->points > INT_MAX || piece->cells > INT_MAX)
        return hk_xml_fail(&reader->xml, piece->line,
                           "more than %d points or cells are not "
                           "supported",
                           INT_MAX);
    reader->total_points += piece->points;
    reader->total_cells += piece->cells;
    int64_t most = hk_vtu_most_bytes(&reader->file);
    if (reader->total_points > most / 3 || reader->total_cells > most)
        return hk_xml_fail(&reader->xml, piece->line,
                           "%lld points and %lld cells are more than a file of %lld bytes can hold",
                           (long long)reader->total_points, (long long)reader->total_cells,
                           (long long)(reader->file.end - reader->file.begin));
    reader->piece_count++;
    return HK_OK;
}

static hk_status keep_extra(vtu_reader *reader, const char *name, bool group, int dimension)
{
    vtu_extra extra = {.group = group, .dimension = dimension};
    snprintf(extra.name, sizeof extra.name, "%.127s", name);
    // Data that we could do without must not spoil the mesh: a strange array is not there.
    if (hk_vtu_array_begin(&reader->xml, &extra.array) != HK_OK) extra.array.present = false;
    HK_TRY(hk_reserve((void **)&reader->extras, reader->extra_count, sizeof(vtu_extra),
                      &reader->extra_capacity, reader->extra_count + 1));
    reader->extras[reader->extra_count++] = extra;
    return HK_OK;
}

// Keeps the arrays that make the mesh, its regions and groups; the rest is passed over.
static hk_status start_array(vtu_reader *reader)
{
    hk_xml *xml = &reader->xml;
    vtu_piece *piece = &reader->pieces[reader->piece_count - 1];
    char name[160];
    hk_xml_attribute_text(xml, "Name", name, sizeof name);
    if (hk_xml_inside(xml, "Points")) return hk_vtu_array_begin(xml, &piece->position);
    if (hk_xml_inside(xml, "Cells")) {
        if (strcmp(name, "connectivity") == 0) return hk_vtu_array_begin(xml, &piece->connectivity);
        if (strcmp(name, "offsets") == 0) return hk_vtu_array_begin(xml, &piece->offsets);
        if (strcmp(name, "types") == 0) return hk_vtu_array_begin(xml, &piece->types);
        return HK_OK;
    }
    bool of_cells = hk_xml_inside(xml, "CellData");
    if (!of_cells && !hk_xml_inside(xml, "PointData")) return HK_OK;
    size_t prefix = strlen(group_prefix);
    if (strncmp(name, group_prefix, prefix) == 0 && name[prefix])
        return keep_extra(reader, name + prefix, true, of_cells ? 3 : 0);
    if (!of_cells || piece->region.present || !hk_vtk_names_regions(name, strlen(name)))
        return keep_extra(reader, name, false, of_cells ? 3 : 0);
    hk_vtu_array array;
    if (hk_vtu_array_begin(xml, &array) == HK_OK && array.type < HK_VALUE_FLOAT32 &&
        array.components == 1) {
        piece->region = array;
        snprintf(piece->region_name, sizeof piece->region_name, "%.63s", name);
    }
    return HK_OK;
}

static hk_status start_appended(vtu_reader *reader)
{
    hk_xml *xml = &reader->xml;
    hk_vtu_file *file = &reader->file;
    hk_xml_text encoding = hk_xml_attribute(xml, "encoding");
    file->appended_is_base64 = hk_xml_is(encoding, "base64");
    if (!file->appended_is_base64 && !hk_xml_is(encoding, "raw"))
        return hk_xml_fail(xml, xml->element_line,
                           "expected raw or base64 as encoding of <AppendedData>");
    const char *at = xml->at;
    while (at < xml->end && (*at == ' ' || (*at >= '\t' && *at <= '\r'))) at++;
    if (at == xml->end || *at != '_')
        return hk_xml_fail(xml, xml->element_line, "expected '_' before the appended data");
    file->has_appended = true;
    file->appended = at + 1;
    file->appended_line = xml->line;
    return HK_OK;
}

// Up to the appended data: what follows need not be XML.
static hk_status scan_xml(vtu_reader *reader)
{
    hk_xml *xml = &reader->xml;
    bool in_file = false, in_grid = false;
    for (;;) {
        hk_xml_event event;
        HK_TRY(hk_xml_next(xml, &event));
        if (event == HK_XML_DONE) break;
        if (event == HK_XML_END) continue;
        if (!in_file) {
            if (!hk_xml_is(xml->element, "VTKFile"))
                return hk_xml_fail(xml, xml->element_line, "expected <VTKFile>, found <%s>",
                                   hk_quote(xml->element.begin, xml->element.length).text);
            HK_TRY(start_file(reader));
            in_file = true;
        } else if (hk_xml_is(xml->element, "UnstructuredGrid")) {
            in_grid = true;
        } else if (hk_xml_is(xml->element, "Piece") && in_grid) {
            HK_TRY(start_piece(reader));
        } else if (hk_xml_is(xml->element, "DataArray") && reader->piece_count) {
            HK_TRY(start_array(reader));
        } else if (hk_xml_is(xml->element, "AppendedData")) {
            HK_TRY(start_appended(reader));
            break;
        }
    }
    if (!in_file) return hk_xml_fail(xml, xml->line, "expected <VTKFile>: this is not a .vtu file");
    if (!reader->piece_count)
        return hk_xml_fail(xml, xml->line, "expected a <Piece> in <UnstructuredGrid>");
    return HK_OK;
}

// ---------------------------------------------------------------- the numbers

static hk_status need(const vtu_reader *reader, const vtu_piece *piece, const hk_vtu_array *array,
                      const char *what)
{
    if (array->present) return HK_OK;
    return hk_xml_fail(&reader->xml, piece->line, "expected the array %s in this <Piece>", what);
}

static hk_status read_points(vtu_reader *reader, const vtu_piece *piece)
{
    const hk_vtu_array *array = &piece->position;
    if (!piece->points) return HK_OK;
    HK_TRY(need(reader, piece, array, "of <Points>"));
    if (array->components != 3)
        return hk_xml_fail(&reader->xml, array->line,
                           "expected NumberOfComponents=\"3\" for the "
                           "points, found %lld",
                           (long long)array->components);
    size_t count = 3 * (size_t)piece->points;
    hk_vtu_numbers numbers;
    HK_TRY(hk_vtu_open(&reader->file, array, count, "points", &numbers));
    double *positions = HK_ARRAY(double, count);
    hk_status status = positions ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK)
        status = hk_values_reals(&numbers.values, count, "a coordinate", positions);
    if (status == HK_OK) status = hk_vtu_check_end(&numbers, count, "points");
    if (status == HK_OK)
        status = hk_soup_vertices(&reader->cells.soup, (size_t)piece->points, positions);
    hk_free(positions);
    hk_vtu_close(&numbers);
    return status;
}

// A new array of `count` integers within low … high.
static hk_status read_ints(vtu_reader *reader, const hk_vtu_array *array, size_t count,
                           const char *what, int64_t low, int64_t high, int64_t **out)
{
    hk_vtu_numbers numbers;
    HK_TRY(hk_vtu_open(&reader->file, array, count, what, &numbers));
    int64_t *values = HK_ARRAY(int64_t, count);
    hk_status status = values ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) status = hk_values_ints(&numbers.values, count, what, low, high, values);
    if (status == HK_OK) status = hk_vtu_check_end(&numbers, count, what);
    hk_vtu_close(&numbers);
    if (status != HK_OK) {
        hk_free(values);
        return status;
    }
    *out = values;
    return HK_OK;
}

typedef struct cell_arrays {
    int64_t *ends;   // [cells] where each cell ends in corners
    int64_t *types;  // [cells]
    int32_t *corners;
} cell_arrays;

static hk_status read_corners(vtu_reader *reader, const vtu_piece *piece, size_t count,
                              cell_arrays *arrays)
{
    hk_vtu_numbers numbers;
    HK_TRY(hk_vtu_open(&reader->file, &piece->connectivity, count, "connectivity", &numbers));
    arrays->corners = HK_ARRAY(int32_t, count);
    hk_status status = arrays->corners ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK)
        status = hk_values_int32s(&numbers.values, count, "connectivity", 0,
                                  (int32_t)piece->points - 1, arrays->corners);
    if (status == HK_OK) status = hk_vtu_check_end(&numbers, count, "connectivity");
    hk_vtu_close(&numbers);
    return status;
}

static hk_status add_cells(vtu_reader *reader, const vtu_piece *piece, int32_t first_vertex,
                           const cell_arrays *arrays)
{
    int64_t begin = 0;
    for (int64_t i = 0; i < piece->cells; i++) {
        int type = (int)arrays->types[i];
        size_t corners = (size_t)(arrays->ends[i] - begin), wanted = hk_vtk_corners_of(type);
        if (wanted && corners != wanted)
            return hk_xml_fail(&reader->xml, piece->offsets.line,
                               "cell %lld is a %s of %zu corners, expected %zu", (long long)i,
                               hk_vtk_type_name(type), corners, wanted);
        int32_t *corner = arrays->corners + begin;
        for (size_t k = 0; k < corners; k++) corner[k] += first_vertex;
        HK_TRY(hk_vtk_add_cell(&reader->cells, type, corner, corners));
        begin = arrays->ends[i];
    }
    return HK_OK;
}

static hk_status read_cell_arrays(vtu_reader *reader, const vtu_piece *piece, int32_t first_vertex,
                                  cell_arrays *arrays)
{
    size_t count = (size_t)piece->cells;
    HK_TRY(need(reader, piece, &piece->connectivity, "connectivity of <Cells>"));
    HK_TRY(need(reader, piece, &piece->offsets, "offsets of <Cells>"));
    HK_TRY(need(reader, piece, &piece->types, "types of <Cells>"));
    HK_TRY(read_ints(reader, &piece->offsets, count, "offsets", 0, INT_MAX, &arrays->ends));
    for (size_t i = 1; i < count; i++)
        if (arrays->ends[i] < arrays->ends[i - 1])
            return hk_xml_fail(&reader->xml, piece->offsets.line,
                               "offset %zu is smaller than the one before it", i);
    HK_TRY(read_ints(reader, &piece->types, count, "types", 0, 255, &arrays->types));
    HK_TRY(read_corners(reader, piece, (size_t)arrays->ends[count - 1], arrays));
    return add_cells(reader, piece, first_vertex, arrays);
}

// Regions are kept as long as every piece has them.
static hk_status read_regions(vtu_reader *reader, const vtu_piece *piece, size_t cells_before)
{
    hk_vtk_cells *cells = &reader->cells;
    if (!piece->region.present || cells->region_count != cells_before) return HK_OK;
    int64_t *values;
    hk_status status = read_ints(reader, &piece->region, (size_t)piece->cells, "cell data",
                                 INT64_MIN, INT64_MAX, &values);
    // The mesh does not need them: without them it has no groups.
    if (status != HK_OK) return status == HK_NO_MEMORY ? status : HK_OK;
    status = hk_reserve((void **)&cells->regions, cells->region_count, sizeof(int64_t),
                        &cells->region_capacity, cells->region_count + (size_t)piece->cells);
    if (status == HK_OK) {
        memcpy(cells->regions + cells->region_count, values,
               (size_t)piece->cells * sizeof(int64_t));
        cells->region_count += (size_t)piece->cells;
        memcpy(cells->region_name, piece->region_name, sizeof cells->region_name);
    }
    hk_free(values);
    return status;
}

static hk_status read_piece(vtu_reader *reader, const vtu_piece *piece)
{
    size_t cells_before = reader->cells.cell_count;
    int32_t first_vertex = (int32_t)reader->cells.soup.vertex_count;
    HK_TRY(read_points(reader, piece));
    if (!piece->cells) return HK_OK;
    cell_arrays arrays = {0};
    hk_status status = read_cell_arrays(reader, piece, first_vertex, &arrays);
    hk_free(arrays.ends);
    hk_free(arrays.types);
    hk_free(arrays.corners);
    HK_TRY(status);
    return read_regions(reader, piece, cells_before);
}

// ---------------------------------------------------------------- groups and values

static hk_status add_group(vtu_reader *reader, const vtu_extra *group, hk_mesh *mesh)
{
    const vtu_piece *piece = &reader->pieces[0];
    bool of_tets = group->dimension == 3;
    size_t count = (size_t)(of_tets ? piece->cells : piece->points);
    int64_t *flags;
    HK_TRY(read_ints(reader, &group->array, count, "a group", INT64_MIN, INT64_MAX, &flags));
    int32_t items = of_tets ? mesh->tet_count : mesh->vertex_count, members = 0;
    const int64_t *cells = reader->cells.tet_cells;
    for (int32_t i = 0; i < items; i++) members += flags[of_tets ? cells[i] : i] != 0;
    hk_group *added;
    hk_status status = hk_mesh_add_group(mesh, group->name, group->dimension, members, &added);
    for (int32_t i = 0, next = 0; status == HK_OK && i < items; i++)
        if (flags[of_tets ? cells[i] : i]) added->items[next++] = i;
    hk_free(flags);
    return status;
}

// The array's numbers as they are in the file, to be freed.
static hk_status read_numbers(vtu_reader *reader, const vtu_extra *field, size_t count,
                              double **values)
{
    hk_vtu_numbers numbers;
    HK_TRY(hk_vtu_open(&reader->file, &field->array, count, "values", &numbers));
    double *read = HK_ARRAY(double, count);
    hk_status status = read ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) status = hk_values_reals(&numbers.values, count, "a value", read);
    if (status == HK_OK) status = hk_vtu_check_end(&numbers, count, "values");
    hk_vtu_close(&numbers);
    if (status == HK_OK)
        *values = read;
    else
        hk_free(read);
    return status;
}

static hk_status add_field(vtu_reader *reader, const vtu_extra *field, hk_mesh *mesh)
{
    const vtu_piece *piece = &reader->pieces[0];
    bool of_tets = field->dimension == 3;
    size_t width = (size_t)field->array.components;
    if (width != 1 && width != 3 && width != 9)
        return hk_fail(HK_UNSUPPORTED, "it has %zu components, not 1, 3 or 9", width);
    if (of_tets && mesh->tet_count == 0) return hk_fail(HK_UNSUPPORTED, "its cells are not tets");
    size_t items = (size_t)(of_tets ? mesh->tet_count : mesh->vertex_count);
    double *all, *values = HK_ARRAY(double, items *width);
    if (!values) return HK_NO_MEMORY;
    hk_status status =
        read_numbers(reader, field, width * (size_t)(of_tets ? piece->cells : piece->points), &all);
    if (status == HK_OK) {
        const int64_t *cells = reader->cells.tet_cells;
        for (size_t i = 0; i < items; i++)
            memcpy(values + i * width, all + (of_tets ? (size_t)cells[i] : i) * width,
                   width * sizeof(double));
        hk_free(all);
        status = hk_mesh_add_field(mesh, field->name, of_tets ? HK_ON_TETS : HK_ON_VERTICES,
                                   (int)width, values);
    }
    if (status != HK_OK) hk_free(values);
    return status;
}

// What the mesh can do without is left out where it cannot be read, with a note.
static hk_status add_extra(vtu_reader *reader, const vtu_extra *extra, hk_mesh *mesh)
{
    hk_status status = !extra->array.present ? hk_fail(HK_BAD_INPUT, "it is no array of numbers")
                       : extra->group        ? add_group(reader, extra, mesh)
                                             : add_field(reader, extra, mesh);
    if (status == HK_OK || status == HK_NO_MEMORY) return status;
    return hk_mesh_add_note(mesh, "%s \"%s\" left out: %s", extra->group ? "group" : "field",
                            extra->name, hk_error());
}

static hk_status add_extras(vtu_reader *reader, hk_mesh *mesh)
{
    // Hooke writes one piece; what several pieces of another program call groups is not ours.
    if (reader->piece_count != 1)
        return reader->extra_count == 0
                   ? HK_OK
                   : hk_mesh_add_note(mesh, "its fields are left out: it has several pieces");
    int64_t numbers = 0, most = hk_vtu_most_bytes(&reader->file);
    for (size_t i = 0; i < reader->extra_count; i++) {
        const vtu_extra *extra = &reader->extras[i];
        int64_t width = extra->group || !extra->array.present ? 1 : extra->array.components;
        int64_t each = extra->dimension == 3 ? reader->total_cells : reader->total_points;
        if (width < 1 || width > 9) width = 1;  // left out below
        numbers += width * each;
        if (numbers > most)
            return hk_mesh_add_note(mesh,
                                    "groups and fields from \"%s\" on left out: they share their "
                                    "data",
                                    extra->name);
        HK_TRY(add_extra(reader, extra, mesh));
    }
    return HK_OK;
}

static hk_status read_mesh(vtu_reader *reader, hk_mesh **mesh)
{
    HK_TRY(scan_xml(reader));
    for (size_t i = 0; i < reader->piece_count; i++) HK_TRY(read_piece(reader, &reader->pieces[i]));
    HK_TRY(hk_vtk_cells_mesh(&reader->cells, reader->file.name, mesh));
    return add_extras(reader, *mesh);
}

static hk_status read_vtu(const char *name, const char *data, size_t size, hk_mesh **mesh)
{
    vtu_reader reader = {.file = {.name = name, .begin = data, .end = data + size},
                         .xml = hk_xml_begin(name, data, size)};
    hk_mesh *made = NULL;
    hk_status status = read_mesh(&reader, &made);
    hk_vtk_cells_free(&reader.cells);
    hk_free(reader.pieces);
    hk_free(reader.extras);
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

const hk_format hk_vtu_format = {
    .endings = {".vtu"},
    .read = read_vtu,
    .write = hk_vtu_write,
};
