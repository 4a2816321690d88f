#include "mesh_scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WANTED_TETS = 8000, FIRST_CELLS = 16, LEAST_CELLS = 6, MOST_CELLS = 64 };

// ---------------------------------------------------------------- the report

static json_t *vertex_place(const hk_mesh *mesh, int64_t v)
{
    if (v < 0 || v >= hk_mesh_vertex_count(mesh)) return json_null();
    return st_json_vector(hk_mesh_positions(mesh) + 3 * v, 3);
}

static json_t *middle(const hk_mesh *mesh, const int32_t *corners, int count)
{
    double place[3] = {0};
    for (int k = 0; k < count; ++k)
        for (int i = 0; i < 3; ++i)
            place[i] += hk_mesh_positions(mesh)[3 * (int64_t)corners[k] + i] / count;
    return st_json_vector(place, 3);
}

typedef enum site { VERTICES, TETS, TRIANGLES } site;

static void add_defect(json_t *list, const hk_mesh *mesh, const char *name, const hk_defect *d,
                       site where)
{
    if (d->count == 0) return;
    json_t *numbers = json_array(), *places = json_array();
    for (int k = 0; k < HK_DEFECT_LIST && k < d->count; ++k) {
        int64_t n = d->first[k];
        json_t *place = vertex_place(mesh, n);
        if (where == TETS && n < hk_mesh_tet_count(mesh)) {
            json_decref(place);
            place = middle(mesh, hk_mesh_tets(mesh) + 4 * n, 4);
        } else if (where == TRIANGLES && n < hk_mesh_triangle_count(mesh)) {
            json_decref(place);
            place = middle(mesh, hk_mesh_triangles(mesh) + 3 * n, 3);
        }
        json_array_append_new(numbers, json_integer(n));
        json_array_append_new(places, place);
    }
    json_array_append_new(list,
                          json_pack("{s:s, s:I, s:o, s:o}", "name", name, "count",
                                    (json_int_t)d->count, "numbers", numbers, "places", places));
}

static json_t *defects(const hk_mesh *mesh, const hk_mesh_report *r)
{
    json_t *list = json_array();
    site elements = r->tets > 0 ? TETS : TRIANGLES;
    add_defect(list, mesh, "turned tets", &r->turned, TETS);
    add_defect(list, mesh, r->tets > 0 ? "flat tets" : "triangles without area", &r->flat,
               elements);
    add_defect(list, mesh, "duplicate tets", &r->duplicate_tets, TETS);
    add_defect(list, mesh, "vertices at the place of others", &r->duplicate_vertices, VERTICES);
    add_defect(list, mesh, "vertices of no element", &r->unreferenced, VERTICES);
    add_defect(list, mesh, "non-manifold faces or edges", &r->non_manifold, VERTICES);
    add_defect(list, mesh, "open edges", &r->open_edges, VERTICES);
    add_defect(list, mesh, "vertices that are not finite", &r->not_finite, VERTICES);
    return list;
}

static json_t *report_json(const hk_mesh *mesh, const hk_mesh_report *r)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:[o,o], s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "vertices",
                     r->vertices, "tets", r->tets, "triangles", r->triangles, "components",
                     r->components, "bounds", st_json_vector(r->bounds[0], 3),
                     st_json_vector(r->bounds[1], 3), "volume", st_json_real(r->volume), "area",
                     st_json_real(r->area), "worst_quality", st_json_real(r->worst_quality),
                     "mean_quality", st_json_real(r->mean_quality), "simulable", (int)r->simulable,
                     "verdict", st_json_text(r->verdict ? r->verdict : ""), "defects",
                     defects(mesh, r));
}

// ---------------------------------------------------------------- what to make of it

static void note(json_t *notes, char *text)
{
    json_array_append_new(notes, st_json_text(text));
    free(text);
}

static double extent_of(const hk_mesh_report *r)
{
    double extent = 0;
    for (int i = 0; i < 3; ++i) extent = fmax(extent, r->bounds[1][i] - r->bounds[0][i]);
    return extent;
}

// Metres, unless it would be larger than a house: those are in millimetres, as printers have it.
static double scale_of(double extent, json_t *notes)
{
    double scale = 1;
    if (extent > 20 && extent <= 20000)
        scale = 1e-3;
    else if (extent > 20000 || extent < 1e-3)
        scale = 1 / extent;
    if (scale == 1e-3)
        note(notes, st_format("read as millimetres: %.3g mm at the longest side", extent));
    else if (scale != 1)
        note(notes, st_format("scaled from %.3g to 1 m at the longest side", extent));
    else
        note(notes, st_format("read as metres: %.3g m at the longest side", extent));
    return scale;
}

static double top_of(const hk_mesh *mesh)
{
    double top = -INFINITY;
    for (int k = 0; k < hk_mesh_vertex_count(mesh); ++k)
        top = fmax(top, hk_mesh_positions(mesh)[3 * (int64_t)k + 1]);
    return top;
}

// Cells along the longest side that give about as many tets as run in real time, and the greatest y
// of these tets. 0: the surface encloses nothing.
static int find_cells(const hk_mesh *surface, bool *coarse, double *top, json_t *notes)
{
    int cells = FIRST_CELLS, tets = 0;
    for (int attempt = 0; attempt < 3; ++attempt) {
        hk_filling_def def = hk_default_filling_def();
        hk_filling_report report;
        hk_mesh *filled = NULL;
        def.cells = cells;
        if (hk_mesh_fill(surface, &def, &filled, &report) != HK_OK) return 0;
        *top = top_of(filled);
        hk_mesh_free(filled);
        tets = report.tets;
        *coarse = hk_mesh_triangle_count(surface) < report.surface_triangles;
        if (tets > WANTED_TETS / 2 && tets < WANTED_TETS * 3 / 2) break;
        // Tets are graded: their number grows a little faster than the surface.
        int next = (int)lround(cells * pow((double)WANTED_TETS / tets, 1 / 2.3));
        next = next < LEAST_CELLS ? LEAST_CELLS : next > MOST_CELLS ? MOST_CELLS : next;
        if (next == cells || attempt == 2) break;
        cells = next;
    }
    note(notes, st_format("filled with %d tets", tets));
    return cells;
}

// Two digits, so that it reads as a choice.
static double rounded(double value)
{
    double power = pow(10, floor(log10(value)) - 1);
    return round(value / power) * power;
}

// A body that hangs from its top and is pushed aside. E is such that a hanging column of its height
// would stretch by a few per cent: ρ g L/(2 E).
static json_t *solid_scene(const hk_mesh_report *r, double scale, json_t *mesh)
{
    double density = 1000, g = 9.81, size = scale * extent_of(r);
    double height = scale * (r->bounds[1][1] - r->bounds[0][1]);
    double top = scale * r->bounds[1][1], far = 10 * size;
    double young = rounded(fmax(15 * density * g * size, 100));
    double low[3], high[3], push = rounded(0.5 * sqrt(g * size));
    for (int i = 0; i < 3; ++i) {
        low[i] = scale * r->bounds[0][i] - far;
        high[i] = scale * r->bounds[1][i] + far;
    }
    low[1] = top - fmax(0.08 * height, 1e-3 * size);
    json_t *body =
        json_pack("{s:s, s:o, s:{s:s, s:f, s:f, s:f}, s:{s:[f,f,f]}, s:[{s:[o,o]}]}", "name",
                  "body", "mesh", mesh, "material", "model", "corotated", "young", young, "poisson",
                  0.4, "density", density, "initial", "velocity", push, 0.0, 0.3 * push, "fix",
                  "box", st_json_vector(low, 3), st_json_vector(high, 3));
    if (scale != 1) json_object_set_new(body, "transform", json_pack("{s:f}", "scale", scale));
    return json_pack("{s:{s:f, s:f}, s:[f,f,f], s:{s:s}, s:[o]}", "time", "step", 1.0 / 60, "end",
                     10.0, "gravity", 0.0, -g, 0.0, "solver", "method", "split", "bodies", body);
}

// Cloth that hangs from its top.
static json_t *sheet_scene(const hk_mesh_report *r, double scale, json_t *mesh)
{
    double size = scale * extent_of(r), far = 10 * size, low[3], high[3];
    int axis = r->bounds[1][1] - r->bounds[0][1] > 0.05 * extent_of(r) ? 1 : 0;
    for (int i = 0; i < 3; ++i) {
        low[i] = scale * r->bounds[0][i] - far;
        high[i] = scale * r->bounds[1][i] + far;
    }
    low[axis] = scale * (r->bounds[1][axis] - 0.03 * (r->bounds[1][axis] - r->bounds[0][axis]));
    json_t *body = json_pack("{s:s, s:o, s:{s:s, s:f, s:f, s:f}, s:[{s:[o,o]}]}", "name", "sheet",
                             "mesh", mesh, "material", "model", "mass_spring", "stretch",
                             rounded(200 * size), "bending", 1e-3 * size * size, "density", 0.3,
                             "fix", "box", st_json_vector(low, 3), st_json_vector(high, 3));
    if (scale != 1) json_object_set_new(body, "transform", json_pack("{s:f}", "scale", scale));
    return json_pack("{s:{s:f, s:f}, s:[f,f,f], s:{s:s}, s:[o]}", "time", "step", 1.0 / 60, "end",
                     10.0, "gravity", 0.0, -9.81, 0.0, "solver", "method", "quasi_newton", "bodies",
                     body);
}

static json_t *make_scene(const hk_mesh *mesh, const hk_mesh_report *r, const char *file,
                          json_t *report, json_t *notes)
{
    double scale = scale_of(extent_of(r), notes);
    json_object_set_new(report, "scale", json_real(scale));
    if (r->tets > 0)
        return r->simulable ? solid_scene(r, scale, json_pack("{s:s}", "file", file)) : NULL;
    bool coarse = false;
    hk_mesh_report filled = *r;  // its top is where it is held
    int cells = find_cells(mesh, &coarse, &filled.bounds[1][1], notes);
    if (cells > 0) {
        json_t *fill = json_pack("{s:s, s:i}", "file", file, "cells", cells);
        // Large triangles would not show how the tets within them deform.
        if (coarse) json_object_set_new(fill, "skin", json_false());
        return solid_scene(&filled, scale, json_pack("{s:o}", "fill", fill));
    }
    if (!r->simulable) return NULL;
    note(notes, st_copy("it encloses nothing: taken for a sheet of cloth"));
    return sheet_scene(r, scale, json_pack("{s:s}", "file", file));
}

bool st_mesh_scene_make(const char *path, const char *scene, st_mesh_scene *made, st_why *why)
{
    hk_mesh *mesh = NULL;
    hk_mesh_report report;
    if (hk_mesh_load(path, &mesh) != HK_OK) return st_fail_library(why);
    if (hk_mesh_check(mesh, &report) != HK_OK) {
        hk_mesh_free(mesh);
        return st_fail_library(why);
    }
    *made = (st_mesh_scene){.report = report_json(mesh, &report), .notes = json_array()};
    for (int i = 0; i < hk_mesh_note_count(mesh); ++i)
        json_array_append_new(made->notes, st_json_text(hk_mesh_note(mesh, i)));
    const char *slash = strrchr(path, '/');
    json_t *root =
        extent_of(&report) > 0 && isfinite(extent_of(&report))
            ? make_scene(mesh, &report, slash ? slash + 1 : path, made->report, made->notes)
            : NULL;
    if (root) {
        char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
        made->has_scene = hk_file_save(scene, text, strlen(text)) == HK_OK;
        if (!made->has_scene) note(made->notes, st_copy(hk_error()));
        free(text);
        json_decref(root);
    }
    hk_mesh_free(mesh);
    return true;
}
