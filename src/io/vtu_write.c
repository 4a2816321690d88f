// VTK XML unstructured grids (.vtu): writing. Numbers go to one appended block of raw bytes, in
// full precision. A mesh with tets is written as its tets, a surface as its triangles; groups of
// tets and vertices become arrays of 0 and 1 named "group:…", which the reader knows.
#include <limits.h>

#include "io/vtk_cells.h"
#include "io/xml.h"

typedef struct vtu_writer {
    hk_out *out;
    const hk_mesh *mesh;
    const hk_field *fields;
    int field_count;
    int cell_count, corners;  // of a cell
    const int32_t *cells;     // [cell_count][corners]
    uint64_t offset;          // where the next array begins in the appended data
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

static size_t site_count(const vtu_writer *writer, hk_field_site site)
{
    return (size_t)(site == HK_ON_TETS ? writer->mesh->tet_count : writer->mesh->vertex_count);
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
    size_t cells = (size_t)writer->cell_count;
    const char *order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "LittleEndian" : "BigEndian";
    hk_out_text(out,
                "<?xml version=\"1.0\"?>\n"
                "<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"%s\" "
                "header_type=\"UInt64\">\n"
                "  <UnstructuredGrid>\n"
                "    <Piece NumberOfPoints=\"%d\" NumberOfCells=\"%d\">\n",
                order, writer->mesh->vertex_count, writer->cell_count);
    announce_data(writer, "PointData", HK_ON_VERTICES);
    announce_data(writer, "CellData", HK_ON_TETS);
    hk_out_text(out, "      <Points>\n");
    announce(writer, "Float64", "", "Points", 3,
             3 * sizeof(double) * (size_t)writer->mesh->vertex_count);
    hk_out_text(out, "      </Points>\n      <Cells>\n");
    announce(writer, "Int32", "", "connectivity", 1,
             sizeof(int32_t) * cells * (size_t)writer->corners);
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

static hk_status write_data(vtu_writer *writer, hk_field_site site)
{
    for (int i = 0; i < writer->field_count; i++) {
        const hk_field *field = &writer->fields[i];
        if (holds_field(writer, field, site))
            write_block(writer->out, field->values,
                        sizeof(double) * site_count(writer, site) * (size_t)field->components);
    }
    for (int i = 0; i < writer->mesh->group_count; i++) {
        const hk_group *group = &writer->mesh->groups[i];
        if (holds_group(writer, group, site))
            HK_TRY(write_group(writer, group, site_count(writer, site)));
    }
    return HK_OK;
}

// The same order as the announcements.
static hk_status write_numbers(vtu_writer *writer)
{
    const hk_mesh *mesh = writer->mesh;
    hk_out *out = writer->out;
    size_t cells = (size_t)writer->cell_count, corners = (size_t)writer->corners;
    HK_TRY(write_data(writer, HK_ON_VERTICES));
    HK_TRY(write_data(writer, HK_ON_TETS));
    write_block(out, mesh->positions, 3 * sizeof(double) * (size_t)mesh->vertex_count);
    write_block(out, writer->cells, sizeof(int32_t) * cells * corners);
    int32_t *ends = HK_ARRAY(int32_t, cells);
    if (!ends) return HK_NO_MEMORY;
    for (size_t i = 0; i < cells; i++) ends[i] = (int32_t)((i + 1) * corners);
    write_block(out, ends, sizeof(int32_t) * cells);
    unsigned char *types = (unsigned char *)ends;  // done with: the smaller array fits in it
    memset(types, corners == 4 ? HK_VTK_TET : HK_VTK_TRIANGLE, cells);
    write_block(out, types, cells);
    hk_free(ends);
    return HK_OK;
}

hk_status hk_vtu_write(hk_out *out, const hk_mesh *mesh, const hk_field *fields, int field_count)
{
    bool tets = mesh->tet_count > 0;
    vtu_writer writer = {.out = out,
                         .mesh = mesh,
                         .fields = fields,
                         .field_count = field_count,
                         .cell_count = tets ? mesh->tet_count : mesh->triangle_count,
                         .corners = tets ? 4 : 3,
                         .cells = tets ? mesh->tets : mesh->triangles};
    if (writer.cell_count > INT32_MAX / writer.corners)
        return hk_fail(HK_UNSUPPORTED, "%d cells are more than a .vtu of 32-bit numbers can hold",
                       writer.cell_count);
    write_xml(&writer);
    HK_TRY(write_numbers(&writer));
    hk_out_text(out, "\n  </AppendedData>\n</VTKFile>\n");
    return HK_OK;
}
