// "mesh": where a body's elements come from.
#include "scene/scene.h"

#include <hooke/quadratic.h>

static hk_status read_box(const hk_node *node, hk_mesh_def *def)
{
    static const char *const keys[] = {"size", "cells"};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    hk_node cells;
    HK_TRY(hk_member_numbers(node, "size", HK_REQUIRED, 3, HK_POSITIVE, def->size));
    HK_TRY(hk_node_need(node, "cells", &cells));
    return hk_node_ints(&cells, 3, 1, def->cells);
}

static hk_status read_cylinder(const hk_node *node, hk_mesh_def *def)
{
    static const char *const keys[] = {"radius", "length", "cells"};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    hk_node cells;
    HK_TRY(hk_member_number(node, "radius", HK_REQUIRED, HK_POSITIVE, &def->radius));
    HK_TRY(hk_member_number(node, "length", HK_REQUIRED, HK_POSITIVE, &def->length));
    HK_TRY(hk_node_need(node, "cells", &cells));
    return hk_node_ints(&cells, 2, 1, def->cells);
}

static hk_status read_sphere(const hk_node *node, hk_mesh_def *def)
{
    static const char *const keys[] = {"radius", "cells"};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_number(node, "radius", HK_REQUIRED, HK_POSITIVE, &def->radius));
    return hk_member_int(node, "cells", HK_REQUIRED, 1, &def->cells[0]);
}

static hk_status read_helix(const hk_node *node, hk_mesh_def *def)
{
    static const char *const keys[] = {"radius", "pitch", "turns", "thickness", "strands", "cells"};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_number(node, "radius", HK_REQUIRED, HK_POSITIVE, &def->radius));
    HK_TRY(hk_member_number(node, "pitch", HK_REQUIRED, HK_POSITIVE, &def->pitch));
    HK_TRY(hk_member_number(node, "turns", HK_REQUIRED, HK_POSITIVE, &def->turns));
    HK_TRY(hk_member_number(node, "thickness", HK_REQUIRED, HK_POSITIVE, &def->thickness));
    HK_TRY(hk_member_int(node, "strands", HK_REQUIRED, 1, &def->strands));
    return hk_member_int(node, "cells", HK_REQUIRED, 1, &def->cells[0]);
}

static hk_status read_sheet(const hk_node *node, hk_mesh_def *def)
{
    static const char *const keys[] = {"size", "cells"};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    hk_node cells;
    HK_TRY(hk_member_numbers(node, "size", HK_REQUIRED, 2, HK_POSITIVE, def->size));
    HK_TRY(hk_node_need(node, "cells", &cells));
    return hk_node_ints(&cells, 2, 1, def->cells);
}

static hk_status read_figure(const hk_node *node, hk_mesh_def *def)
{
    static const char *const keys[] = {"height", "cells"};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_number(node, "height", HK_REQUIRED, HK_POSITIVE, &def->height));
    return hk_member_int(node, "cells", HK_REQUIRED, 10, &def->cells[0]);
}

static hk_status read_torus(const hk_node *node, hk_mesh_def *def)
{
    static const char *const keys[] = {"radius", "thickness", "cells"};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    hk_node cells, around;
    HK_TRY(hk_member_number(node, "radius", HK_REQUIRED, HK_POSITIVE, &def->radius));
    HK_TRY(hk_member_number(node, "thickness", HK_REQUIRED, HK_POSITIVE, &def->thickness));
    HK_TRY(hk_node_need(node, "cells", &cells));
    HK_TRY(hk_node_ints(&cells, 2, 1, def->cells));
    around = hk_node_item(&cells, 1);
    return hk_node_int(&around, 3, &def->cells[1]);
}

static hk_status read_pyramid(const hk_node *node, hk_mesh_def *def)
{
    static const char *const keys[] = {"size"};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    return hk_member_numbers(node, "size", HK_REQUIRED, 3, HK_POSITIVE, def->size);
}

static hk_status read_wedge(const hk_node *node, hk_mesh_def *def)
{
    static const char *const keys[] = {"radius", "thickness", "degrees", "length", "cells"};
    static const hk_range range = {0, 360, true, true};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    hk_node cells;
    HK_TRY(hk_member_number(node, "radius", HK_REQUIRED, HK_POSITIVE, &def->radius));
    HK_TRY(hk_member_number(node, "thickness", HK_REQUIRED, HK_POSITIVE, &def->thickness));
    HK_TRY(hk_member_number(node, "degrees", HK_REQUIRED, range, &def->degrees));
    HK_TRY(hk_member_number(node, "length", HK_REQUIRED, HK_POSITIVE, &def->length));
    HK_TRY(hk_node_need(node, "cells", &cells));
    return hk_node_ints(&cells, 3, 1, def->cells);
}

static hk_status read_funnel(const hk_node *node, hk_mesh_def *def)
{
    static const char *const keys[] = {"radius", "neck", "height", "length", "thickness", "cells"};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    hk_node cells, around;
    HK_TRY(hk_member_number(node, "radius", HK_REQUIRED, HK_POSITIVE, &def->radius));
    HK_TRY(hk_member_number(node, "neck", HK_REQUIRED, HK_POSITIVE, &def->neck));
    HK_TRY(hk_member_number(node, "height", HK_REQUIRED, HK_POSITIVE, &def->height));
    HK_TRY(hk_member_number(node, "length", HK_REQUIRED, HK_NOT_NEGATIVE, &def->length));
    HK_TRY(hk_member_number(node, "thickness", HK_REQUIRED, HK_POSITIVE, &def->thickness));
    HK_TRY(hk_node_need(node, "cells", &cells));
    HK_TRY(hk_node_ints(&cells, 2, 1, def->cells));
    around = hk_node_item(&cells, 0);
    return hk_node_int(&around, 3, &def->cells[0]);
}

// Straight along x, or through points, which belong to who calls.
static hk_status read_rope(const hk_node *node, hk_mesh_def *def)
{
    static const char *const keys[] = {"length", "points", "cells"};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    hk_node points, length;
    HK_TRY(hk_member_int(node, "cells", HK_REQUIRED, 1, &def->cells[0]));
    if (!hk_node_member(node, "points", &points))
        return hk_member_number(node, "length", HK_REQUIRED, HK_POSITIVE, &def->length);
    if (hk_node_member(node, "length", &length))
        return hk_node_fail(&length, "\"length\" and \"points\" say the same: give one of them");
    HK_TRY(hk_node_array(&points, 2, &def->point_count));
    double *list = HK_ARRAY(double, 3 * (size_t)def->point_count);
    if (!list) return HK_NO_MEMORY;
    def->points = list;
    for (int k = 0; k < def->point_count; k++) {
        hk_node item = hk_node_item(&points, k);
        HK_TRY(hk_node_numbers(&item, 3, HK_ANY_NUMBER, list + 3 * (size_t)k));
    }
    return HK_OK;
}

// The file's path, relative to the folder of the scene file unless it is absolute.
static hk_status load_file(const hk_node *node, hk_mesh **mesh)
{
    const char *file;
    HK_TRY(hk_node_text(node, &file));
    const hk_source *source = node->source;
    size_t folder = file[0] == '/' ? 0 : source->folder_length, length = strlen(file);
    char *path = HK_ARRAY(char, folder + length + 1);
    if (!path) return HK_NO_MEMORY;
    memcpy(path, source->name, folder);
    memcpy(path + folder, file, length + 1);
    hk_status status = hk_mesh_load(path, mesh);
    if (status != HK_OK && status != HK_NO_MEMORY) {
        if (!strstr(hk_error(), path)) hk_fail_within(status, "%s", path);
        hk_node_fail_within(node, status);
    }
    hk_free(path);
    return status;
}

// ---------------------------------------------------------------- filled surfaces

static hk_status read_filling(const hk_node *node, hk_filling_def *def, bool *skin)
{
    static const char *const keys[] = {"file",      "size",        "cells",      "grade",
                                       "thickness", "sharp_angle", "least_part", "skin"};
    static const hk_range part = {0, 1, false, false}, angle = {1, 180, false, false};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    hk_node size, cells;
    if (hk_node_member(node, "size", &size) && hk_node_member(node, "cells", &cells))
        return hk_node_fail(&cells, "\"size\" and \"cells\" say the same: give one of them");
    HK_TRY(hk_member_number(node, "size", HK_OPTIONAL, HK_POSITIVE, &def->size));
    HK_TRY(hk_member_int(node, "cells", HK_OPTIONAL, 1, &def->cells));
    HK_TRY(hk_member_number(node, "grade", HK_OPTIONAL, part, &def->grade));
    HK_TRY(hk_member_number(node, "thickness", HK_OPTIONAL, HK_POSITIVE, &def->thickness));
    HK_TRY(hk_member_number(node, "sharp_angle", HK_OPTIONAL, angle, &def->sharp_angle));
    HK_TRY(hk_member_number(node, "least_part", HK_OPTIONAL, part, &def->least_part));
    return hk_member_bool(node, "skin", HK_OPTIONAL, skin);
}

// The surface itself becomes the skin of what fills it, unless the scene has another.
static hk_status fill_file(const hk_node *node, hk_mesh **mesh, hk_mesh **skin)
{
    hk_filling_def def = hk_default_filling_def();
    bool wants_skin = true;
    hk_node file;
    hk_mesh *surface;
    HK_TRY(read_filling(node, &def, &wants_skin));
    HK_TRY(hk_node_need(node, "file", &file));
    HK_TRY(load_file(&file, &surface));
    hk_status status = hk_mesh_fill(surface, &def, mesh, NULL);
    if (status != HK_OK) {
        if (status != HK_NO_MEMORY) hk_node_fail_within(node, status);
        hk_mesh_free(surface);
        return status;
    }
    if (skin && wants_skin)
        *skin = surface;
    else
        hk_mesh_free(surface);
    return HK_OK;
}

// The order of the tets, 0: as they come.
static hk_status read_order(const hk_node *node, int *order)
{
    hk_node child;
    *order = 0;
    if (!hk_node_member(node, "order", &child)) return HK_OK;
    HK_TRY(hk_node_int(&child, 1, order));
    return *order <= 2 ? HK_OK : hk_node_fail(&child, "must be 1 or 2 (is %d)", *order);
}

static hk_status read_source(const hk_node *node, hk_mesh **mesh, hk_mesh **skin)
{
    // The last says something of the others.
    static const char *const keys[] = {"file",  "fill",   "box",    "cylinder", "sphere",
                                       "helix", "sheet",  "figure", "torus",    "pyramid",
                                       "wedge", "funnel", "rope",   "order"};
    enum { SOURCES = HK_COUNT_OF(keys) - 1 };
    static const struct {
        hk_shape shape;
        hk_status (*read)(const hk_node *node, hk_mesh_def *def);
    } generators[] = {
        {HK_SHAPE_BOX, read_box},       {HK_SHAPE_CYLINDER, read_cylinder},
        {HK_SHAPE_SPHERE, read_sphere}, {HK_SHAPE_HELIX, read_helix},
        {HK_SHAPE_SHEET, read_sheet},   {HK_SHAPE_FIGURE, read_figure},
        {HK_SHAPE_TORUS, read_torus},   {HK_SHAPE_PYRAMID, read_pyramid},
        {HK_SHAPE_WEDGE, read_wedge},   {HK_SHAPE_FUNNEL, read_funnel},
        {HK_SHAPE_ROPE, read_rope},
    };
    hk_node source;
    int which = 0, given = 0;
    char list[256];
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    for (int k = 0; k < SOURCES; k++)
        if (hk_node_member(node, keys[k], &source)) {
            which = k;
            given++;
        }
    if (given != 1)
        return hk_node_fail(node, "must have exactly one of %s",
                            hk_list_words(keys, SOURCES, list, sizeof list));
    hk_node_member(node, keys[which], &source);
    if (which == 0) return load_file(&source, mesh);
    if (which == 1) return fill_file(&source, mesh, skin);
    hk_mesh_def def = hk_default_mesh_def(generators[which - 2].shape);
    hk_status status = generators[which - 2].read(&source, &def);
    if (status == HK_OK) {
        status = hk_mesh_make(&def, mesh);
        if (status != HK_OK) hk_node_fail_within(&source, status);
    }
    hk_free((double *)(uintptr_t)def.points);
    return status;
}

hk_status hk_read_mesh(const hk_node *node, hk_mesh **mesh, hk_mesh **skin)
{
    int order;
    HK_TRY(read_source(node, mesh, skin));
    hk_status status = read_order(node, &order);
    if (status == HK_OK && order > 0) {
        status = hk_mesh_set_order(*mesh, order);
        if (status != HK_OK && status != HK_NO_MEMORY) hk_node_fail_within(node, status);
    }
    if (status == HK_OK) return HK_OK;
    hk_mesh_free(*mesh);
    *mesh = NULL;
    if (skin) {
        hk_mesh_free(*skin);
        *skin = NULL;
    }
    return status;
}
