// Frames of all parts: every process writes the piece that it has, and the first one a .pvtu that
// names them.
#include <stdio.h>
#include <stdlib.h>

#include "cluster/cluster.h"
#include "io/io.h"
#include "io/xml.h"

typedef struct array {
    const char *name;
    int components;
    bool of_tets, always, summed;
} array;
// In the order in which a piece has them (world/output.c).
static const array g_arrays[] = {
    {"displacement", 3, false, true, false}, {"velocity", 3, false, true, false},
    {"reaction", 3, false, false, true},     {"contact_force", 3, false, false, true},
    {"von_mises", 1, true, true, false},     {"J", 1, true, true, false},
    {"stress", 9, true, false, false},       {"principal_stress", 3, true, false, false},
    {"strain", 9, true, false, false},
};

static bool is_wanted(const hk_model *m, const array *a, const char *const *fields, int count)
{
    if (strcmp(a->name, "contact_force") == 0) return m->contact != NULL;
    for (int k = 0; k < count; k++)
        if (strcmp(fields[k], a->name) == 0) return true;
    return a->always;
}

static void announce(hk_out *out, const char *type, const char *prefix, const char *name,
                     int components)
{
    hk_out_text(out, "      <PDataArray type=\"%s\" Name=\"%s", type, prefix);
    hk_xml_write_text(out, name);
    hk_out_text(out, "\" NumberOfComponents=\"%d\"/>\n", components);
}

static void announce_all(hk_out *out, const hk_model *m, bool of_tets, const char *const *fields,
                         int count)
{
    for (int k = 0; k < HK_COUNT_OF(g_arrays); k++) {
        const array *a = &g_arrays[k];
        if (a->of_tets == of_tets && is_wanted(m, a, fields, count))
            announce(out, "Float64", "", a->name, a->components);
    }
}

static bool has_cells(const hk_model *m)
{
    return m->tet_count > 0 || m->triangle_count > 0;
}

static void name_piece(char *path, size_t size, const char *stem, int rank)
{
    snprintf(path, size, "%s/part_%04d.vtu", stem, rank);
}

static hk_status write_index(const hk_cluster *c, const char *stem, const char *const *fields,
                             int count, const int *there)
{
    const hk_model *m = c->part.model;
    char path[4096];
    const char *name = strrchr(stem, '/') ? strrchr(stem, '/') + 1 : stem;
    snprintf(path, sizeof path, "%s.pvtu", stem);
    hk_out *out;
    HK_TRY(hk_out_open(path, &out));
    hk_out_text(out, "<?xml version=\"1.0\"?>\n"
                     "<VTKFile type=\"PUnstructuredGrid\" version=\"1.0\" "
                     "byte_order=\"LittleEndian\" header_type=\"UInt64\">\n"
                     "  <PUnstructuredGrid GhostLevel=\"0\">\n    <PPointData>\n");
    announce_all(out, m, false, fields, count);
    hk_out_text(out, "    </PPointData>\n    <PCellData>\n");
    if (c->part.whole_tets > 0) announce_all(out, m, true, fields, count);
    for (int b = 0; b < m->body_count && m->body_count > 1 && c->part.whole_tets > 0; b++)
        if (!m->bodies[b].sheet.density) announce(out, "UInt8", "group:", m->bodies[b].name, 1);
    hk_out_text(out, "    </PCellData>\n    <PPoints>\n");
    announce(out, "Float64", "", "Points", 3);
    hk_out_text(out, "    </PPoints>\n");
    for (int r = 0; r < c->size; r++) {
        if (!there[r]) continue;
        name_piece(path, sizeof path, name, r);
        hk_out_text(out, "    <Piece Source=\"");
        hk_xml_write_text(out, path);
        hk_out_text(out, "\"/>\n");
    }
    hk_out_text(out, "  </PUnstructuredGrid>\n</VTKFile>\n");
    return hk_out_commit(out);
}

// Forces of supports and of contact are sums over processes: even those without cells take part.
static hk_status take_part(hk_cluster *c, const char *const *fields, int count)
{
    double *values = HK_ARRAY(double, 3 * (size_t)c->part.model->vertex_count);
    hk_status status = values ? HK_OK : HK_NO_MEMORY;
    for (int k = 0; k < HK_COUNT_OF(g_arrays) && status == HK_OK; k++)
        if (g_arrays[k].summed && is_wanted(c->part.model, &g_arrays[k], fields, count))
            status = hk_world_field(c->world, g_arrays[k].name, values);
    hk_free(values);
    return status;
}

hk_status hk_cluster_save(hk_cluster *c, const char *stem, const char *const *fields, int count)
{
    int own = has_cells(c->part.model);
    int *there = HK_ZEROS(int, c->size);
    HK_TRY(hk_cluster_agree(c->comm, there ? HK_OK : HK_NO_MEMORY));
    MPI_Allgather(&own, 1, MPI_INT, there, 1, MPI_INT, c->comm);
    char path[4096];
    name_piece(path, sizeof path, stem, c->rank);
    hk_status status =
        own ? hk_world_save_fields(c->world, path, fields, count) : take_part(c, fields, count);
    status = hk_cluster_agree(c->comm, status);
    if (status == HK_OK && c->rank == 0) status = write_index(c, stem, fields, count, there);
    hk_free(there);
    return hk_cluster_agree(c->comm, status);
}
