// VTK XML unstructured grids (.vtu): writing. Numbers go to one appended block of raw bytes, in
// full precision. Cells are the tets (quadratic ones with their ten nodes), then the triangles that
// are no faces of tets, and the lines of ropes, for which fields of tets are 0; groups of tets and
// vertices become arrays of 0 and 1 named "group:…", which the reader knows.
#include <limits.h>

#include "io/vtk_cells.h"
#include "io/vtu_data.h"
#include "io/xml.h"
#include "mesh/quadratic.h"

typedef struct vtu_writer {
    hk_out *out;
    const hk_mesh *mesh;
    const hk_field *fields;
    int field_count;
    int sheet_count;  // triangles that are cells
    int32_t *sheets;  // [sheet_count][3]
    uint64_t offset;  // where the next array begins in the appended data
} vtu_writer;

// Announces an array of `bytes` bytes; its numbers follow in the same order in the appended data.
static void announce(vtu_writer *writer, const char *type, const char *prefix, const char *name,
                     int components, uint64_t bytes)
{
    hk_out_text(writer->out, "        <DataArray type=\"%s\" Name=\"%s", type, prefix);
    hk_xml_write_text(writer->out, name);
    hk_out_text(writer->out, "\" NumberOfComponents=\"%d\" format=\"appended\" offset=\"%llu\"/>\n",
                components, (unsigned long long)writer->offset);
    writer->offset += sizeof(uint64_t) + bytes;
}

static size_t cell_count(const vtu_writer *writer)
{
    return (size_t)writer->mesh->tet_count + (size_t)writer->sheet_count +
           (size_t)writer->mesh->line_count;
}

static bool is_quadratic(const hk_mesh *mesh, size_t tet)
{
    return mesh->middles && mesh->middles[HK_MIDDLES * tet] >= 0;
}

static size_t corner_count(const vtu_writer *writer)
{
    const hk_mesh *mesh = writer->mesh;
    size_t count = 4 * (size_t)mesh->tet_count + 3 * (size_t)writer->sheet_count +
                   2 * (size_t)mesh->line_count;
    for (size_t t = 0; t < (size_t)mesh->tet_count && mesh->middles; t++)
        count += is_quadratic(mesh, t) ? HK_MIDDLES : 0;
    return count;
}

static size_t site_count(const vtu_writer *writer, hk_field_site site)
{
    return site == HK_ON_TETS ? cell_count(writer) : (size_t)writer->mesh->vertex_count;
}

// Whether a field or group belongs to this section; values of tets need tets.
static bool holds_field(const vtu_writer *writer, const hk_field *field, hk_field_site site)
{
    return field->site == site && (site == HK_ON_VERTICES || writer->mesh->tet_count);
}

static bool holds_group(const vtu_writer *writer, const hk_group *group, hk_field_site site)
{
    return site == HK_ON_TETS ? group->dimension == 3 && writer->mesh->tet_count
                              : group->dimension == 0;
}

static void announce_data(vtu_writer *writer, const char *section, hk_field_site site)
{
    hk_out_text(writer->out, "      <%s", section);
    bool scalars = false, vectors = false;
    for (int i = 0; i < writer->field_count; i++) {
        const hk_field *field = &writer->fields[i];
        if (field->components > 3) continue;
        bool *named = field->components == 1 ? &scalars : &vectors;
        if (!holds_field(writer, field, site) || *named) continue;
        *named = true;
        hk_out_text(writer->out, " %s=\"", field->components == 1 ? "Scalars" : "Vectors");
        hk_xml_write_text(writer->out, field->name);
        hk_out_text(writer->out, "\"");
    }
    hk_out_text(writer->out, ">\n");
    for (int i = 0; i < writer->field_count; i++) {
        const hk_field *field = &writer->fields[i];
        if (!holds_field(writer, field, site)) continue;
        announce(writer, "Float64", "", field->name, field->components,
                 sizeof(double) * site_count(writer, site) * (size_t)field->components);
    }
    for (int i = 0; i < writer->mesh->group_count; i++)
        if (holds_group(writer, &writer->mesh->groups[i], site))
            announce(writer, "UInt8", "group:", writer->mesh->groups[i].name, 1,
                     site_count(writer, site));
    hk_out_text(writer->out, "      </%s>\n", section);
}

static void write_xml(vtu_writer *writer)
{
    hk_out *out = writer->out;
    size_t cells = cell_count(writer);
    const char *order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "LittleEndian" : "BigEndian";
    hk_out_text(out,
                "<?xml version=\"1.0\"?>\n"
                "<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"%s\" "
                "header_type=\"UInt64\">\n"
                "  <UnstructuredGrid>\n"
                "    <Piece NumberOfPoints=\"%d\" NumberOfCells=\"%zu\">\n",
                order, writer->mesh->vertex_count, cells);
    announce_data(writer, "PointData", HK_ON_VERTICES);
    announce_data(writer, "CellData", HK_ON_TETS);
    hk_out_text(out, "      <Points>\n");
    announce(writer, "Float64", "", "Points", 3,
             3 * sizeof(double) * (size_t)writer->mesh->vertex_count);
    hk_out_text(out, "      </Points>\n      <Cells>\n");
    announce(writer, "Int32", "", "connectivity", 1, sizeof(int32_t) * corner_count(writer));
    announce(writer, "Int32", "", "offsets", 1, sizeof(int32_t) * cells);
    announce(writer, "UInt8", "", "types", 1, cells);
    hk_out_text(out, "      </Cells>\n    </Piece>\n  </UnstructuredGrid>\n"
                     "  <AppendedData encoding=\"raw\">\n_");
}

static void write_block(hk_out *out, const void *data, uint64_t bytes)
{
    hk_out_bytes(out, &bytes, sizeof bytes);
    if (bytes) hk_out_bytes(out, data, bytes);
}

static hk_status write_group(vtu_writer *writer, const hk_group *group, size_t count)
{
    unsigned char *flags = HK_ZEROS(unsigned char, count);
    if (!flags) return HK_NO_MEMORY;
    for (int32_t i = 0; i < group->count; i++) flags[group->items[i]] = 1;
    write_block(writer->out, flags, count);
    hk_free(flags);
    return HK_OK;
}

static void write_field(vtu_writer *writer, const hk_field *field)
{
    size_t width = (size_t)field->components, count = site_count(writer, field->site);
    size_t given = field->site == HK_ON_TETS ? (size_t)writer->mesh->tet_count : count;
    uint64_t bytes = sizeof(double) * count * width;
    hk_out_bytes(writer->out, &bytes, sizeof bytes);
    if (given) hk_out_bytes(writer->out, field->values, sizeof(double) * given * width);
    const double nothing = 0;
    for (size_t k = given * width; k < count * width; k++)
        hk_out_bytes(writer->out, &nothing, sizeof nothing);
}

static hk_status write_data(vtu_writer *writer, hk_field_site site)
{
    for (int i = 0; i < writer->field_count; i++)
        if (holds_field(writer, &writer->fields[i], site)) write_field(writer, &writer->fields[i]);
    for (int i = 0; i < writer->mesh->group_count; i++) {
        const hk_group *group = &writer->mesh->groups[i];
        if (holds_group(writer, group, site))
            HK_TRY(write_group(writer, group, site_count(writer, site)));
    }
    return HK_OK;
}

static void write_corners(vtu_writer *writer)
{
    const hk_mesh *mesh = writer->mesh;
    uint64_t bytes = sizeof(int32_t) * corner_count(writer);
    hk_out_bytes(writer->out, &bytes, sizeof bytes);
    if (mesh->tet_count && !mesh->middles)
        hk_out_bytes(writer->out, mesh->tets, 4 * sizeof(int32_t) * (size_t)mesh->tet_count);
    for (size_t t = 0; t < (size_t)mesh->tet_count && mesh->middles; t++) {
        hk_out_bytes(writer->out, mesh->tets + 4 * t, 4 * sizeof(int32_t));
        if (is_quadratic(mesh, t))
            hk_out_bytes(writer->out, mesh->middles + HK_MIDDLES * t, HK_MIDDLES * sizeof(int32_t));
    }
    if (writer->sheet_count)
        hk_out_bytes(writer->out, writer->sheets,
                     3 * sizeof(int32_t) * (size_t)writer->sheet_count);
    if (mesh->line_count)
        hk_out_bytes(writer->out, mesh->lines, 2 * sizeof(int32_t) * (size_t)mesh->line_count);
}

// The same order as the announcements.
static hk_status write_numbers(vtu_writer *writer)
{
    const hk_mesh *mesh = writer->mesh;
    hk_out *out = writer->out;
    size_t cells = cell_count(writer), tets = (size_t)mesh->tet_count;
    size_t lines = tets + (size_t)writer->sheet_count;  // the first of them
    HK_TRY(write_data(writer, HK_ON_VERTICES));
    HK_TRY(write_data(writer, HK_ON_TETS));
    write_block(out, mesh->positions, 3 * sizeof(double) * (size_t)mesh->vertex_count);
    write_corners(writer);
    int32_t *ends = HK_ARRAY(int32_t, cells);
    if (!ends) return HK_NO_MEMORY;
    int32_t end = 0;
    for (size_t i = 0; i < cells; i++) {
        end += i >= lines ? 2 : i >= tets ? 3 : is_quadratic(mesh, i) ? HK_QUADRATIC_NODES : 4;
        ends[i] = end;
    }
    write_block(out, ends, sizeof(int32_t) * cells);
    unsigned char *types = (unsigned char *)ends;  // done with: the smaller array fits in it
    for (size_t i = 0; i < cells; i++)
        types[i] = i >= lines              ? HK_VTK_LINE
                   : i >= tets             ? HK_VTK_TRIANGLE
                   : is_quadratic(mesh, i) ? HK_VTK_QUADRATIC_TET
                                           : HK_VTK_TET;
    write_block(out, types, cells);
    hk_free(ends);
    return HK_OK;
}

// The triangles that are cells.
static hk_status take_sheets(vtu_writer *writer)
{
    const hk_mesh *mesh = writer->mesh;
    uint8_t *loose = HK_ARRAY(uint8_t, mesh->triangle_count);
    hk_status status =
        loose ? hk_mesh_loose_triangles(mesh, loose, &writer->sheet_count) : HK_NO_MEMORY;
    if (status == HK_OK) {
        writer->sheets = HK_ARRAY(int32_t, 3 * (size_t)writer->sheet_count);
        if (!writer->sheets) status = HK_NO_MEMORY;
    }
    for (int t = 0, to = 0; t < mesh->triangle_count && status == HK_OK; t++)
        if (loose[t])
            memcpy(writer->sheets + 3 * (size_t)to++, mesh->triangles + 3 * (size_t)t,
                   3 * sizeof(int32_t));
    hk_free(loose);
    return status;
}

static hk_status write_all(vtu_writer *writer)
{
    HK_TRY(take_sheets(writer));
    if (corner_count(writer) > INT32_MAX)
        return hk_fail(HK_UNSUPPORTED, "%zu cells are more than a .vtu of 32-bit numbers can hold",
                       cell_count(writer));
    write_xml(writer);
    HK_TRY(write_numbers(writer));
    hk_out_text(writer->out, "\n  </AppendedData>\n</VTKFile>\n");
    return HK_OK;
}

hk_status hk_vtu_write(hk_out *out, const hk_mesh *mesh, const hk_field *fields, int field_count)
{
    vtu_writer writer = {.out = out, .mesh = mesh, .fields = fields, .field_count = field_count};
    hk_status status = write_all(&writer);
    hk_free(writer.sheets);
    return status;
}
