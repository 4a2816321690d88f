#include "io/vtk_cells.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

typedef struct cell_kind {
    int type;
    int dimension;
    size_t corners;  // 0: any number
    const char *name;
} cell_kind;

static const cell_kind kinds[] = {
    {0, 0, 0, "empty cell"},
    {1, 0, 1, "point"},
    {2, 0, 0, "point set"},
    {HK_VTK_LINE, 1, 2, "line"},
    {HK_VTK_POLYLINE, 1, 0, "polyline"},
    {HK_VTK_TRIANGLE, 2, 3, "triangle"},
    {HK_VTK_STRIP, 2, 0, "triangle strip"},
    {HK_VTK_POLYGON, 2, 0, "polygon"},
    {8, 2, 4, "pixel"},
    {9, 2, 4, "quad"},
    {HK_VTK_TET, 3, 4, "tet"},
    {11, 3, 8, "voxel"},
    {12, 3, 8, "hexahedron"},
    {13, 3, 6, "wedge"},
    {14, 3, 5, "pyramid"},
    {15, 3, 10, "pentagonal prism"},
    {16, 3, 12, "hexagonal prism"},
    {21, 1, 3, "quadratic line"},
    {HK_VTK_QUADRATIC_TRIANGLE, 2, 6, "quadratic triangle"},
    {23, 2, 8, "quadratic quad"},
    {HK_VTK_QUADRATIC_TET, 3, 10, "quadratic tet"},
    {25, 3, 20, "quadratic hexahedron"},
    {26, 3, 15, "quadratic wedge"},
    {27, 3, 13, "quadratic pyramid"},
    {28, 2, 9, "biquadratic quad"},
    {29, 3, 27, "triquadratic hexahedron"},
    {42, 3, 0, "polyhedron"},
    {69, 2, 0, "Lagrange triangle"},
    {70, 2, 0, "Lagrange quad"},
    {71, 3, 0, "Lagrange tet"},
    {72, 3, 0, "Lagrange hexahedron"},
    {73, 3, 0, "Lagrange wedge"},
    {74, 3, 0, "Lagrange pyramid"},
    {78, 3, 0, "Bezier tet"},
    {79, 3, 0, "Bezier hexahedron"},
};

static const cell_kind *kind_of(int type)
{
    for (int i = 0; i < HK_COUNT_OF(kinds); i++)
        if (kinds[i].type == type) return &kinds[i];
    return NULL;
}

size_t hk_vtk_corners_of(int type)
{
    const cell_kind *kind = kind_of(type);
    return kind ? kind->corners : 0;
}

const char *hk_vtk_type_name(int type)
{
    const cell_kind *kind = kind_of(type);
    return kind ? kind->name : "cell of unknown type";
}

static hk_status add_tet(hk_vtk_cells *cells, const int32_t *corners, bool quadratic)
{
    size_t count = cells->soup.tet_count;
    HK_TRY(hk_reserve((void **)&cells->tet_cells, count, sizeof(int64_t), &cells->tet_cell_capacity,
                      count + 1));
    cells->tet_cells[count] = (int64_t)cells->cell_count;
    return quadratic ? hk_soup_quadratic(&cells->soup, corners)
                     : hk_soup_tet(&cells->soup, corners);
}

static hk_status add_lines(hk_vtk_cells *cells, bool polyline, const int32_t *corners, size_t count)
{
    size_t before = cells->soup.line_count;
    for (size_t k = 1; k < count; k++) {
        HK_TRY(hk_reserve((void **)&cells->line_cells, before + k - 1, sizeof(int64_t),
                          &cells->line_cell_capacity, before + k));
        cells->line_cells[before + k - 1] = 2 * (int64_t)cells->cell_count + polyline;
        HK_TRY(hk_soup_line(&cells->soup, corners[k - 1], corners[k]));
    }
    return HK_OK;
}

// Every other triangle of a strip is wound the other way.
static hk_status add_strip(hk_vtk_cells *cells, const int32_t *corners, size_t count)
{
    for (size_t i = 2; i < count; i++) {
        size_t odd = i & 1;
        HK_TRY(
            hk_soup_triangle(&cells->soup, corners[i - 2 + odd], corners[i - 1 - odd], corners[i]));
    }
    cells->soup.split_polygons += count > 3;
    return HK_OK;
}

hk_status hk_vtk_add_cell(hk_vtk_cells *cells, int type, const int32_t *corners, size_t count)
{
    hk_soup *soup = &cells->soup;
    hk_status status = HK_OK;
    bool surface = type == HK_VTK_TRIANGLE || type == HK_VTK_POLYGON || type == 9;
    if (type == HK_VTK_TET || type == HK_VTK_QUADRATIC_TET) {
        status = add_tet(cells, corners, type == HK_VTK_QUADRATIC_TET);
    } else if (type == HK_VTK_QUADRATIC_TRIANGLE) {
        status = hk_soup_quadratic_face(soup, corners);
    } else if (surface && count >= 3) {
        status = hk_soup_polygon(soup, corners, count);
    } else if (type == 8) {  // a pixel's corners go row by row, not around
        const int32_t around[4] = {corners[0], corners[1], corners[3], corners[2]};
        status = hk_soup_polygon(soup, around, 4);
    } else if (type == HK_VTK_STRIP && count >= 3) {
        status = add_strip(cells, corners, count);
    } else if (type == HK_VTK_LINE || type == HK_VTK_POLYLINE) {
        status = add_lines(cells, type == HK_VTK_POLYLINE, corners, count);
    } else {
        cells->left_out[type & 255]++;
    }
    cells->cell_count++;
    return status;
}

bool hk_vtk_names_regions(const char *name, size_t length)
{
    static const char *const names[] = {
        "material",     "materials", "materialid",    "materialids",   "material_id",
        "material_ids", "region",    "regions",       "regionid",      "region_id",
        "physicalids",  "physical",  "gmsh:physical", "cellentityids", "medit:ref",
        "tetgen:ref",   "attribute", "attributes",    "subdomains",    "label",
        "labels"};
    for (int i = 0; i < HK_COUNT_OF(names); i++)
        if (strlen(names[i]) == length && strncasecmp(names[i], name, length) == 0) return true;
    return false;
}

// "3 hexahedrons, 1 cell of unknown type 99"
static void list_left_out(const hk_vtk_cells *cells, bool volumes_only, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int type = 0; type < 256; type++) {
        size_t count = cells->left_out[type];
        const cell_kind *kind = kind_of(type);
        if (!count || (volumes_only && !(kind && kind->dimension == 3))) continue;
        char unknown[64];
        snprintf(unknown, sizeof unknown, "cell%s of VTK type %d", count == 1 ? "" : "s", type);
        int wrote = snprintf(text + used, size - used, "%s%zu %s%s", used ? ", " : "", count,
                             kind ? kind->name : unknown, kind && count != 1 ? "s" : "");
        if (wrote < 0 || (size_t)wrote >= size - used) break;
        used += (size_t)wrote;
    }
}

typedef struct region {
    int64_t value, tet;
} region;

static int by_value(const void *left, const void *right)
{
    const region *a = left, *b = right;
    if (a->value != b->value) return a->value < b->value ? -1 : 1;
    return a->tet < b->tet ? -1 : a->tet > b->tet;
}

// One group for every value, named by the number.
static hk_status add_sorted_regions(hk_mesh *mesh, const region *regions, size_t count)
{
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin; end < count && regions[end].value == regions[begin].value;) end++;
        char name[32];
        snprintf(name, sizeof name, "%" PRId64, regions[begin].value);
        hk_group *group;
        HK_TRY(hk_mesh_add_group(mesh, name, 3, (int32_t)(end - begin), &group));
        for (size_t i = begin; i < end; i++) group->items[i - begin] = (int32_t)regions[i].tet;
    }
    return HK_OK;
}

static hk_status add_regions(const hk_vtk_cells *cells, hk_mesh *mesh)
{
    enum { MOST_REGIONS = 1000 };  // more values than this do not tell regions apart
    size_t count = cells->soup.tet_count;
    if (!count || cells->region_count != cells->cell_count || !cells->region_count) return HK_OK;
    region *regions = HK_ARRAY(region, count);
    if (!regions) return HK_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        regions[i] = (region){cells->regions[cells->tet_cells[i]], (int64_t)i};
    qsort(regions, count, sizeof *regions, by_value);
    size_t distinct = 1;
    for (size_t i = 1; i < count; i++) distinct += regions[i].value != regions[i - 1].value;
    hk_status status;
    if (distinct <= MOST_REGIONS)
        status = add_sorted_regions(mesh, regions, count);
    else
        status = hk_mesh_add_note(mesh, "cell array \"%s\" has %zu values: too many to be groups",
                                  cells->region_name, distinct);
    hk_free(regions);
    return status;
}

// Lines along edges of other cells are no ropes: they are left out.
static hk_status keep_loose_lines(hk_vtk_cells *cells)
{
    hk_soup *soup = &cells->soup;
    size_t kept = 0;
    if (!soup->line_count || !(soup->tet_count || soup->triangle_count)) return HK_OK;
    uint8_t *used = HK_ZEROS(uint8_t, soup->vertex_count);
    if (!used) return HK_NO_MEMORY;
    for (size_t k = 0; k < 4 * soup->tet_count; k++) used[soup->tets[k]] = 1;
    for (size_t k = 0; k < 3 * soup->triangle_count; k++) used[soup->triangles[k]] = 1;
    for (size_t k = 0; k < soup->line_count; k++) {
        const int32_t *line = soup->lines + 2 * k;
        bool first = k == 0 || cells->line_cells[k] != cells->line_cells[k - 1];
        if (used[line[0]] && used[line[1]])
            cells->left_out[cells->line_cells[k] & 1 ? HK_VTK_POLYLINE : HK_VTK_LINE] += first;
        else
            memmove(soup->lines + 2 * kept++, line, 2 * sizeof *line);
    }
    soup->line_count = kept;
    hk_free(used);
    return HK_OK;
}

hk_status hk_vtk_cells_mesh(hk_vtk_cells *cells, const char *name, hk_mesh **mesh)
{
    char list[400];
    HK_TRY(keep_loose_lines(cells));
    list_left_out(cells, true, list, sizeof list);
    if (!cells->soup.tet_count && list[0])
        return hk_fail(HK_BAD_INPUT,
                       "%s: expected tets (VTK cell type %d) as volume cells, found only %s: "
                       "split them into tets first",
                       name, HK_VTK_TET, list);
    if (!cells->soup.tet_count && !cells->soup.triangle_count && !cells->soup.line_count) {
        list_left_out(cells, false, list, sizeof list);
        return hk_fail(HK_BAD_INPUT, "%s: expected tets, triangles or lines, found %s", name,
                       list[0] ? list : "no cells");
    }
    hk_mesh *made = NULL;
    HK_TRY(hk_soup_mesh(&cells->soup, &made));
    list_left_out(cells, false, list, sizeof list);
    hk_status status = list[0] ? hk_mesh_add_note(made, "left out: %s", list) : HK_OK;
    if (status == HK_OK) status = add_regions(cells, made);
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

void hk_vtk_cells_free(hk_vtk_cells *cells)
{
    hk_soup_free(&cells->soup);
    hk_free(cells->tet_cells);
    hk_free(cells->line_cells);
    hk_free(cells->regions);
    *cells = (hk_vtk_cells){0};
}
