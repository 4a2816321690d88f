// The life of a mesh: made, filled, finished, copied, moved, freed.
#include "mesh/mesh.h"

#include <math.h>
#include <stdio.h>

#include "core/rotation.h"
#include "mesh/quadratic.h"

// ---------------------------------------------------------------- making and freeing

hk_status hk_mesh_new(int vertex_count, int tet_count, int triangle_count, hk_mesh **mesh)
{
    if (vertex_count < 0 || tet_count < 0 || triangle_count < 0)
        return hk_fail(HK_BAD_INPUT, "a mesh cannot have %d vertices, %d tets and %d triangles",
                       vertex_count, tet_count, triangle_count);
    hk_mesh *made = HK_NEW(hk_mesh);
    if (!made) return HK_NO_MEMORY;
    made->vertex_count = vertex_count;
    made->tet_count = tet_count;
    made->triangle_count = triangle_count;
    made->positions = HK_ZEROS(double, 3 * (size_t)vertex_count);
    made->tets = HK_ZEROS(int32_t, 4 * (size_t)tet_count);
    made->triangles = HK_ZEROS(int32_t, 3 * (size_t)triangle_count);
    if (!made->positions || !made->tets || !made->triangles) {
        hk_mesh_free(made);
        return HK_NO_MEMORY;
    }
    *mesh = made;
    return HK_OK;
}

void hk_mesh_free(hk_mesh *mesh)
{
    if (!mesh) return;
    for (int g = 0; g < mesh->group_count; g++) {
        hk_free(mesh->groups[g].name);
        hk_free(mesh->groups[g].items);
    }
    for (int n = 0; n < mesh->note_count; n++) hk_free(mesh->notes[n]);
    for (int f = 0; f < mesh->field_count; f++) {
        hk_free((char *)(uintptr_t)mesh->fields[f].name);
        hk_free((double *)(uintptr_t)mesh->fields[f].values);
    }
    hk_free(mesh->fields);
    hk_free(mesh->groups);
    hk_free(mesh->notes);
    hk_free(mesh->positions);
    hk_free(mesh->tets);
    hk_free(mesh->middles);
    hk_free(mesh->triangles);
    hk_free(mesh->lines);
    hk_free(mesh->surface);
    hk_free(mesh->surface_tets);
    hk_free(mesh->path);
    hk_free(mesh);
}

hk_status hk_mesh_set_lines(hk_mesh *mesh, int count, const int32_t *lines)
{
    int32_t *own = HK_ARRAY(int32_t, 2 * (size_t)count);
    if (!own) return HK_NO_MEMORY;
    if (count > 0) memcpy(own, lines, 2 * sizeof(int32_t) * (size_t)count);
    hk_free(mesh->lines);
    mesh->lines = own;
    mesh->line_count = count;
    return HK_OK;
}

// Room for one more element in an array that keeps no capacity of its own: it is always the next
// power of two, so the array grows when its count is one.
static hk_status grow_by_one(void **array, int count, size_t size)
{
    if (count & (count - 1)) return HK_OK;
    void *bigger = hk_alloc(count ? 2 * (size_t)count : 1, size);
    if (!bigger) return HK_NO_MEMORY;
    if (count) memcpy(bigger, *array, (size_t)count * size);
    hk_free(*array);
    *array = bigger;
    return HK_OK;
}

hk_status hk_mesh_add_group(hk_mesh *mesh, const char *name, int dimension, int32_t count,
                            hk_group **group)
{
    if (count < 0 || (dimension != 0 && dimension != 2 && dimension != 3))
        return hk_fail(HK_BAD_INPUT, "group '%s': %d elements of dimension %d are impossible", name,
                       (int)count, dimension);
    HK_TRY(grow_by_one((void **)&mesh->groups, mesh->group_count, sizeof *mesh->groups));
    hk_group added = {.dimension = dimension, .count = count};
    added.name = hk_strdup(name);
    added.items = added.name ? HK_ARRAY(int32_t, count) : NULL;
    if (!added.items) {
        hk_free(added.name);
        return HK_NO_MEMORY;
    }
    mesh->groups[mesh->group_count] = added;
    if (group) *group = &mesh->groups[mesh->group_count];
    mesh->group_count++;
    return HK_OK;
}

hk_status hk_mesh_add_field(hk_mesh *mesh, const char *name, hk_field_site site, int components,
                            double *values)
{
    char *own = hk_strdup(name);
    if (!own) return HK_NO_MEMORY;
    hk_status status = grow_by_one((void **)&mesh->fields, mesh->field_count, sizeof *mesh->fields);
    if (status != HK_OK) {
        hk_free(own);
        return status;
    }
    mesh->fields[mesh->field_count++] = (hk_field){own, site, components, values};
    return HK_OK;
}

int hk_mesh_field_count(const hk_mesh *mesh)
{
    return mesh ? mesh->field_count : 0;
}

hk_field hk_mesh_field(const hk_mesh *mesh, int field)
{
    bool there = mesh && field >= 0 && field < mesh->field_count;
    return there ? mesh->fields[field] : (hk_field){0};
}

const hk_group *hk_mesh_find_group(const hk_mesh *mesh, const char *name)
{
    for (int g = 0; g < mesh->group_count; g++)
        if (strcmp(mesh->groups[g].name, name) == 0) return &mesh->groups[g];
    return NULL;
}

hk_status hk_mesh_add_note(hk_mesh *mesh, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    HK_TRY(grow_by_one((void **)&mesh->notes, mesh->note_count, sizeof *mesh->notes));
    char *note = hk_strdup(text);
    if (!note) return HK_NO_MEMORY;
    mesh->notes[mesh->note_count++] = note;
    return HK_OK;
}

hk_status hk_mesh_from_arrays(int vertex_count, const double *positions, int tet_count,
                              const int32_t *tets, int triangle_count, const int32_t *triangles,
                              hk_mesh **mesh)
{
    if (!mesh) return hk_fail(HK_BAD_INPUT, "hk_mesh_from_arrays: mesh is NULL");
    if (vertex_count > 0 && !positions)
        return hk_fail(HK_BAD_INPUT, "hk_mesh_from_arrays: positions is NULL");
    if (tet_count > 0 && !tets)
        return hk_fail(HK_BAD_INPUT, "hk_mesh_from_arrays: tets is NULL, its count is %d",
                       tet_count);
    if (triangle_count > 0 && !triangles)
        return hk_fail(HK_BAD_INPUT, "hk_mesh_from_arrays: triangles is NULL, its count is %d",
                       triangle_count);
    hk_mesh *made;
    HK_TRY(hk_mesh_new(vertex_count, tet_count, triangle_count, &made));
    if (vertex_count)
        memcpy(made->positions, positions, 3 * (size_t)vertex_count * sizeof *positions);
    if (tet_count) memcpy(made->tets, tets, 4 * (size_t)tet_count * sizeof *tets);
    if (triangle_count)
        memcpy(made->triangles, triangles, 3 * (size_t)triangle_count * sizeof *triangles);
    hk_status status = hk_mesh_finish(made, "arrays");
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

hk_status hk_mesh_from_lines(int vertex_count, const double *positions, int line_count,
                             const int32_t *lines, hk_mesh **mesh)
{
    if (!mesh) return hk_fail(HK_BAD_INPUT, "hk_mesh_from_lines: mesh is NULL");
    if (line_count < 1 || !lines)
        return hk_fail(HK_BAD_INPUT, "hk_mesh_from_lines: there are no lines");
    hk_mesh *made;
    HK_TRY(hk_mesh_from_arrays(vertex_count, positions, 0, NULL, 0, NULL, &made));
    hk_status status = hk_mesh_set_lines(made, line_count, lines);
    if (status == HK_OK) status = hk_mesh_finish(made, "arrays");
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

static hk_status copy_groups_and_notes(const hk_mesh *mesh, hk_mesh *copy)
{
    for (int g = 0; g < mesh->group_count; g++) {
        const hk_group *group = &mesh->groups[g];
        hk_group *added = NULL;
        HK_TRY(hk_mesh_add_group(copy, group->name, group->dimension, group->count, &added));
        memcpy(added->items, group->items, (size_t)group->count * sizeof *group->items);
    }
    for (int n = 0; n < mesh->note_count; n++) HK_TRY(hk_mesh_add_note(copy, "%s", mesh->notes[n]));
    return HK_OK;
}

// The surface is not copied: it is made again when asked for.
hk_status hk_mesh_copy(const hk_mesh *mesh, hk_mesh **copy)
{
    hk_mesh *made;
    HK_TRY(hk_mesh_new(mesh->vertex_count, mesh->tet_count, mesh->triangle_count, &made));
    memcpy(made->positions, mesh->positions, 3 * (size_t)mesh->vertex_count * sizeof(double));
    memcpy(made->tets, mesh->tets, 4 * (size_t)mesh->tet_count * sizeof(int32_t));
    memcpy(made->triangles, mesh->triangles, 3 * (size_t)mesh->triangle_count * sizeof(int32_t));
    made->turned = mesh->turned;
    hk_status status = mesh->middles ? hk_mesh_set_middles(made, mesh->middles) : HK_OK;
    if (status == HK_OK && mesh->line_count)
        status = hk_mesh_set_lines(made, mesh->line_count, mesh->lines);
    if (status == HK_OK) status = copy_groups_and_notes(mesh, made);
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *copy = made;
    return HK_OK;
}

// ---------------------------------------------------------------- finishing

static hk_status check_positions(int count, const double *positions, const char *name)
{
    for (int v = 0; v < count; v++) {
        const double *p = positions + 3 * (size_t)v;
        if (!hk_is_finite3(p))
            return hk_fail(HK_BAD_INPUT, "%s: vertex %d: its position (%g, %g, %g) is not finite",
                           name, v, p[0], p[1], p[2]);
    }
    return HK_OK;
}

static hk_status check_corners(const hk_mesh *mesh, const char *name, const char *element,
                               int count, int corners, const int32_t *items)
{
    uint32_t limit = (uint32_t)mesh->vertex_count;
    for (int e = 0; e < count; e++)
        for (int c = 0; c < corners; c++) {
            int32_t vertex = items[(size_t)corners * (size_t)e + (size_t)c];
            if ((uint32_t)vertex >= limit)
                return hk_fail(HK_BAD_INPUT,
                               "%s: %s %d: its vertex %d is out of range: the mesh has %d "
                               "vertices, numbered from 0",
                               name, element, e, (int)vertex, mesh->vertex_count);
        }
    return HK_OK;
}

static hk_status check_group(const hk_mesh *mesh, const char *name, const hk_group *group)
{
    bool of_tets = group->dimension == 3, of_triangles = group->dimension == 2;
    int limit = of_tets        ? mesh->tet_count
                : of_triangles ? mesh->triangle_count
                               : mesh->vertex_count;
    const char *element = of_tets ? "tet" : of_triangles ? "triangle" : "vertex";
    for (int32_t i = 0; i < group->count; i++)
        if (group->items[i] < 0 || group->items[i] >= limit)
            return hk_fail(HK_BAD_INPUT,
                           "%s: group '%s' names %s %d, but they are numbered from 0 to %d", name,
                           group->name, element, (int)group->items[i], limit - 1);
    return HK_OK;
}

hk_status hk_mesh_check_indices(const hk_mesh *mesh, const char *name)
{
    HK_TRY(check_corners(mesh, name, "tet", mesh->tet_count, 4, mesh->tets));
    HK_TRY(check_corners(mesh, name, "triangle", mesh->triangle_count, 3, mesh->triangles));
    HK_TRY(check_corners(mesh, name, "line", mesh->line_count, 2, mesh->lines));
    if (mesh->middles) HK_TRY(hk_check_middles(mesh, name, mesh->middles));
    for (int g = 0; g < mesh->group_count; g++) HK_TRY(check_group(mesh, name, &mesh->groups[g]));
    return HK_OK;
}

void hk_defect_add(hk_defect *defect, int64_t number)
{
    if (defect->count < HK_DEFECT_LIST) defect->first[defect->count] = number;
    defect->count++;
}

static void swap_last_two(int32_t *corners, int count)
{
    int32_t kept = corners[count - 1];
    corners[count - 1] = corners[count - 2];
    corners[count - 2] = kept;
}

static void turn_tet(hk_mesh *mesh, int tet)
{
    swap_last_two(mesh->tets + 4 * (size_t)tet, 4);
    if (mesh->middles) hk_turn_middles(mesh->middles + HK_MIDDLES * (size_t)tet);
}

hk_status hk_mesh_finish(hk_mesh *mesh, const char *name)
{
    if (!name) name = "mesh";
    HK_TRY(check_positions(mesh->vertex_count, mesh->positions, name));
    HK_TRY(hk_mesh_check_indices(mesh, name));

    int64_t turned_before = mesh->turned.count;
    const double *x = mesh->positions;
    for (int t = 0; t < mesh->tet_count; t++) {
        const int32_t *v = mesh->tets + 4 * (size_t)t;
        double volume6 = hk_tet_volume6(x + 3 * (size_t)v[0], x + 3 * (size_t)v[1],
                                        x + 3 * (size_t)v[2], x + 3 * (size_t)v[3]);
        if (volume6 < 0) {
            turn_tet(mesh, t);
            hk_defect_add(&mesh->turned, t);
        }
    }
    int64_t turned = mesh->turned.count - turned_before;
    if (turned == 0) return HK_OK;
    hk_log(HK_LOG_INFO, "%s: %lld %s turned", name, (long long)turned,
           turned == 1 ? "tet" : "tets");
    return hk_mesh_add_note(mesh, "%lld %s turned", (long long)turned,
                            turned == 1 ? "tet" : "tets");
}

// ---------------------------------------------------------------- moving

hk_status hk_mesh_set_positions(hk_mesh *mesh, const double *positions)
{
    if (!mesh || (mesh->vertex_count && !positions))
        return hk_fail(HK_BAD_INPUT, "hk_mesh_set_positions: %s is NULL",
                       mesh ? "positions" : "mesh");
    HK_TRY(check_positions(mesh->vertex_count, positions, "hk_mesh_set_positions"));
    // memmove: handing back what hk_mesh_positions gave is harmless.
    if (mesh->vertex_count)
        memmove(mesh->positions, positions, 3 * (size_t)mesh->vertex_count * sizeof *positions);
    return HK_OK;
}

static hk_status rotation_matrix(const double axis[3], double degrees, double R[3][3])
{
    double unit[3] = {0};
    if (!isfinite(degrees))
        return hk_fail(HK_BAD_INPUT, "transform: rotate by %g degrees is not finite", degrees);
    if (degrees != 0 && !hk_unit3(axis, unit))
        return hk_fail(HK_BAD_INPUT,
                       "transform: rotate needs an axis that is finite and not zero, not "
                       "(%g, %g, %g)",
                       axis[0], axis[1], axis[2]);
    hk_rotation_matrix(unit, degrees, R);
    return HK_OK;
}

hk_status hk_mesh_transform(hk_mesh *mesh, const hk_transform *transform)
{
    if (!isfinite(transform->scale) || transform->scale == 0)
        return hk_fail(HK_BAD_INPUT, "transform: scale must be finite and not zero, not %g",
                       transform->scale);
    if (!hk_is_finite3(transform->translate))
        return hk_fail(HK_BAD_INPUT, "transform: translate (%g, %g, %g) is not finite",
                       transform->translate[0], transform->translate[1], transform->translate[2]);
    double A[3][3];
    HK_TRY(rotation_matrix(transform->axis, transform->degrees, A));
    for (int i = 0; i < 9; i++) A[i / 3][i % 3] *= transform->scale;

    // Once to see that nothing overflows, once to do it: a failed call must change nothing.
    for (int pass = 0; pass < 2; pass++)
        for (int v = 0; v < mesh->vertex_count; v++) {
            double *p = mesh->positions + 3 * (size_t)v;
            double moved[3];
            for (int i = 0; i < 3; i++)
                moved[i] =
                    A[i][0] * p[0] + A[i][1] * p[1] + A[i][2] * p[2] + transform->translate[i];
            if (pass == 1)
                memcpy(p, moved, sizeof moved);
            else if (!hk_is_finite3(moved))
                return hk_fail(HK_BAD_INPUT, "transform: vertex %d would leave the finite numbers",
                               v);
        }
    if (transform->scale > 0) return HK_OK;

    for (int t = 0; t < mesh->tet_count; t++) turn_tet(mesh, t);
    for (int t = 0; t < mesh->triangle_count; t++)
        swap_last_two(mesh->triangles + 3 * (size_t)t, 3);
    for (int t = 0; t < mesh->surface_count; t++) swap_last_two(mesh->surface + 3 * (size_t)t, 3);
    return HK_OK;
}

// ---------------------------------------------------------------- looking

const char *hk_mesh_path(const hk_mesh *mesh)
{
    return mesh ? mesh->path : NULL;
}

int hk_mesh_vertex_count(const hk_mesh *mesh)
{
    return mesh ? mesh->vertex_count : 0;
}
int hk_mesh_tet_count(const hk_mesh *mesh)
{
    return mesh ? mesh->tet_count : 0;
}
int hk_mesh_triangle_count(const hk_mesh *mesh)
{
    return mesh ? mesh->triangle_count : 0;
}
int hk_mesh_line_count(const hk_mesh *mesh)
{
    return mesh ? mesh->line_count : 0;
}
const int32_t *hk_mesh_lines(const hk_mesh *mesh)
{
    return mesh ? mesh->lines : NULL;
}
const double *hk_mesh_positions(const hk_mesh *mesh)
{
    return mesh ? mesh->positions : NULL;
}
const int32_t *hk_mesh_tets(const hk_mesh *mesh)
{
    return mesh ? mesh->tets : NULL;
}
const int32_t *hk_mesh_triangles(const hk_mesh *mesh)
{
    return mesh ? mesh->triangles : NULL;
}
int hk_mesh_group_count(const hk_mesh *mesh)
{
    return mesh ? mesh->group_count : 0;
}
int hk_mesh_note_count(const hk_mesh *mesh)
{
    return mesh ? mesh->note_count : 0;
}

const char *hk_mesh_group_name(const hk_mesh *mesh, int group)
{
    return mesh && group >= 0 && group < mesh->group_count ? mesh->groups[group].name : NULL;
}

const char *hk_mesh_note(const hk_mesh *mesh, int note)
{
    return mesh && note >= 0 && note < mesh->note_count ? mesh->notes[note] : NULL;
}
