// Signed distance fields, as users see them.
#include "contact/sdf.h"

#include <math.h>
#include <omp.h>

#include "contact/sdf_builder.h"
#include "core/def.h"
#include "io/vti.h"
#include "mesh/mesh.h"

enum { CELLS = 100, BAND_CELLS = 3, MOST_THREADS = 1024 };

void hk_fill_sdf_def(hk_sdf_def *def, size_t size)
{
    const hk_sdf_def standard = {0};
    hk_def_fill(&hk_def_sdf, &standard, def, size);
}

// ---------------------------------------------------------------- definitions

static hk_status check_length(const char *name, double value)
{
    if (value >= 0 && isfinite(value)) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "hk_sdf_def: %s must be a length, not %g", name, value);
}

static hk_status take_def(const hk_sdf_def *def, hk_sdf_def *own)
{
    hk_fill_sdf_def(own, sizeof *own);
    if (def) HK_TRY(hk_def_take(&hk_def_sdf, def, own));
    HK_TRY(check_length("cell", own->cell));
    HK_TRY(check_length("band", own->band));
    if (own->cells < 0)
        return hk_fail(HK_BAD_INPUT, "hk_sdf_def: cells must not be negative (are %d)", own->cells);
    if (own->threads < 0 || own->threads > MOST_THREADS)
        return hk_fail(HK_BAD_INPUT, "hk_sdf_def: threads must be 0 to %d (is %d)", MOST_THREADS,
                       own->threads);
    return HK_OK;
}

// What was left open follows from the size of the surface.
static hk_status choose_sizes(const hk_sdf_def *def, const double low[3], const double high[3],
                              hk_sdf *s)
{
    double longest = fmax(high[0] - low[0], fmax(high[1] - low[1], high[2] - low[2]));
    s->cell = def->cell > 0 ? def->cell : longest / (def->cells > 0 ? def->cells : CELLS);
    if (!(s->cell > 0))
        return hk_fail(HK_BAD_INPUT,
                       "the surface is a single point: its size says nothing about the cells of a "
                       "signed distance field");
    s->band = def->band > 0 ? def->band : BAND_CELLS * s->cell;
    s->inverse = 1 / s->cell;
    s->threads = def->threads > 0 ? def->threads : omp_get_num_procs();
    return HK_OK;
}

// ---------------------------------------------------------------- creation

static hk_status find_rim(hk_sdf_builder *b, int vertex_count)
{
    hk_rim rim;
    HK_TRY(hk_rim_find(vertex_count, b->positions, b->triangle_count, b->triangles, &rim));
    hk_status status = HK_OK;
    b->rim_length = b->sdf->report.rim = rim.length;
    if (rim.count > 0) {
        // Edges as triangles without area.
        int32_t *flat = HK_ARRAY(int32_t, 3 * (size_t)rim.count);
        for (int k = 0; flat && k < rim.count; k++) {
            flat[3 * (size_t)k] = rim.edges[2 * (size_t)k];
            flat[3 * (size_t)k + 1] = flat[3 * (size_t)k + 2] = rim.edges[2 * (size_t)k + 1];
        }
        status = flat ? hk_winding_tree_create(vertex_count, b->positions, rim.count, flat,
                                               b->threads, &b->rim)
                      : HK_NO_MEMORY;
        hk_free(flat);
    }
    hk_rim_free(&rim);
    return status;
}

static hk_status build_of_triangles(const hk_mesh *mesh, const hk_sdf_def *def, hk_sdf_builder *b)
{
    hk_sdf_report *report = &b->sdf->report;
    int threads = def->threads > 0 ? def->threads : omp_get_num_procs();
    HK_TRY(hk_winding_tree_create(mesh->vertex_count, b->positions, b->triangle_count, b->triangles,
                                  threads, &b->surface));
    const hk_winding_totals *totals = hk_winding_tree_totals(b->surface);
    HK_TRY(choose_sizes(def, totals->low, totals->high, b->sdf));
    b->threads = threads;
    b->sense = totals->volume < 0 ? -1 : 1;
    report->triangles = b->triangle_count;
    report->flat_triangles = totals->flat;
    report->area = totals->area;
    report->volume = totals->volume;
    report->flipped = totals->volume < 0;
    HK_TRY(find_rim(b, mesh->vertex_count));
    return hk_sdf_build(b, totals->low, totals->high);
}

// The outer triangles of a mesh that may not have found them yet.
static hk_status build_of_mesh(const hk_mesh *mesh, const hk_sdf_def *def, hk_sdf *s)
{
    hk_mesh *copy = NULL;
    hk_sdf_builder b = {.sdf = s,
                        .positions = mesh->positions,
                        .triangles = mesh->surface,
                        .triangle_count = mesh->surface_count};
    hk_status status = HK_OK;
    if (!mesh->surface) {
        status = hk_mesh_copy(mesh, &copy);
        if (status == HK_OK) status = hk_mesh_surface(copy, &b.triangle_count, &b.triangles, NULL);
    }
    if (status == HK_OK && b.triangle_count == 0)
        status = hk_fail(HK_BAD_INPUT, "the mesh has no triangles: there is no surface to measure "
                                       "distances from");
    if (status == HK_OK) status = build_of_triangles(mesh, def, &b);
    hk_winding_tree_free(b.surface);
    hk_winding_tree_free(b.rim);
    hk_mesh_free(copy);
    return status;
}

hk_status hk_sdf_create(const hk_mesh *surface, const hk_sdf_def *def, hk_sdf **sdf)
{
    if (!surface || !sdf) return hk_fail(HK_BAD_INPUT, "hk_sdf_create: surface and sdf are needed");
    double start = hk_now();
    hk_sdf_def own;
    HK_TRY(take_def(def, &own));
    hk_sdf *s = HK_NEW(hk_sdf);
    if (!s) return HK_NO_MEMORY;
    hk_status status = build_of_mesh(surface, &own, s);
    if (status != HK_OK) {
        hk_sdf_free(s);
        return status;
    }
    s->report.ms = 1e3 * (hk_now() - start);
    *sdf = s;
    return HK_OK;
}

hk_status hk_sdf_from_function(const double low[3], const double high[3], hk_distance_fn *distance,
                               const void *context, const hk_sdf_def *def, hk_sdf **sdf)
{
    hk_sdf_def own;
    HK_TRY(take_def(def, &own));
    hk_sdf *s = HK_NEW(hk_sdf);
    if (!s) return HK_NO_MEMORY;
    hk_status status = choose_sizes(&own, low, high, s);
    hk_sdf_builder b = {
        .sdf = s, .threads = s->threads, .function = distance, .context = context, .sense = 1};
    if (status == HK_OK) status = hk_sdf_build(&b, low, high);
    if (status != HK_OK) {
        hk_sdf_free(s);
        return status;
    }
    *sdf = s;
    return HK_OK;
}

void hk_sdf_free(hk_sdf *sdf)
{
    if (!sdf) return;
    hk_free(sdf->brick);
    hk_free(sdf->coefficients);
    hk_free(sdf->corner);
    hk_free(sdf);
}

hk_status hk_sdf_describe(const hk_sdf *sdf, hk_sdf_report *report)
{
    if (!sdf || !report) return hk_fail(HK_BAD_INPUT, "hk_sdf_describe: sdf and report are needed");
    *report = sdf->report;
    return HK_OK;
}

// ---------------------------------------------------------------- saving

static void distance_plane(const void *context, int z, float *values)
{
    const hk_sdf *s = context;
    int width = s->report.cells[0] + 1, height = s->report.cells[1] + 1;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            double p[3] = {s->origin[0] + s->cell * x, s->origin[1] + s->cell * y,
                           s->origin[2] + s->cell * z};
            values[(size_t)x + (size_t)width * (size_t)y] = (float)hk_sdf_value(s, p, NULL, NULL);
        }
}

static void band_plane(const void *context, int z, float *values)
{
    const hk_sdf *s = context;
    for (int y = 0; y <= s->report.cells[1]; y++)
        for (int x = 0; x <= s->report.cells[0]; x++) {
            double p[3] = {s->origin[0] + s->cell * x, s->origin[1] + s->cell * y,
                           s->origin[2] + s->cell * z};
            *values++ = hk_sdf_covers(s, p);
        }
}

hk_status hk_sdf_save(const hk_sdf *sdf, const char *path)
{
    if (!sdf || !path) return hk_fail(HK_BAD_INPUT, "hk_sdf_save: sdf and path are needed");
    const hk_image_array arrays[] = {{"distance", false, distance_plane, sdf},
                                     {"in_band", true, band_plane, sdf}};
    hk_image image = {.spacing = sdf->cell, .array_count = 2, .arrays = arrays};
    memcpy(image.cells, sdf->report.cells, sizeof image.cells);
    memcpy(image.origin, sdf->origin, sizeof image.origin);
    return hk_vti_save(path, &image);
}
