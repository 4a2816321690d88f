// Surfaces filled with tets, as users see it.
#include "mesh/fill.h"

#include <math.h>
#include <omp.h>

#include "core/def.h"

enum { CELLS = 40, MOST_CELLS = 200, MOST_THREADS = 1024 };
// Of volume over area, half the thickness of a plate: so large are tets that nobody gave a size.
static const double PART_OF_THICKNESS = 0.6;
// Sharp edges that lie no farther apart than that in sizes are roughness, and are not kept.
static const double ROUGH = 0.7;

void hk_fill_filling_def(hk_filling_def *def, size_t size)
{
    const hk_filling_def standard = {.grade = 0.5, .sharp_angle = 40, .least_part = 0.01};
    hk_def_fill(&hk_def_filling, &standard, def, size);
}

// ---------------------------------------------------------------- definitions

static hk_status check_range(const char *name, double value, double least, double most)
{
    if (value >= least && value <= most && isfinite(value)) return HK_OK;
    if (isfinite(most))
        return hk_fail(HK_BAD_INPUT, "hk_filling_def: %s must be %g to %g, not %g", name, least,
                       most, value);
    return hk_fail(HK_BAD_INPUT, "hk_filling_def: %s must be a length, not %g", name, value);
}

static hk_status take_def(const hk_filling_def *def, hk_filling_def *own)
{
    hk_fill_filling_def(own, sizeof *own);
    if (def) HK_TRY(hk_def_take(&hk_def_filling, def, own));
    HK_TRY(check_range("size", own->size, 0, INFINITY));
    HK_TRY(check_range("thickness", own->thickness, 0, INFINITY));
    HK_TRY(check_range("grade", own->grade, 0, 1));
    HK_TRY(check_range("sharp_angle", own->sharp_angle, 1, 180));
    HK_TRY(check_range("least_part", own->least_part, 0, 1));
    if (own->cells < 0)
        return hk_fail(HK_BAD_INPUT, "hk_filling_def: cells must not be negative (are %d)",
                       own->cells);
    if (own->threads < 0 || own->threads > MOST_THREADS)
        return hk_fail(HK_BAD_INPUT, "hk_filling_def: threads must be 0 to %d (is %d)",
                       MOST_THREADS, own->threads);
    if (own->threads == 0) own->threads = omp_get_num_procs();
    return HK_OK;
}

// Of the longest side, and of the thickness.
static double default_size(const hk_fill_solid *solid, const hk_winding_totals *totals,
                           double longest)
{
    double size = longest / CELLS, thickness = solid->half_thickness;
    if (!(thickness > 0) && !solid->rim) thickness = fabs(totals->volume) / totals->area;
    if (thickness > 0) size = fmin(size, PART_OF_THICKNESS * thickness);
    return fmax(size, longest / MOST_CELLS);
}

static hk_status choose_size(const hk_filling_def *def, hk_fill_solid *solid)
{
    const hk_winding_totals *totals = hk_winding_tree_totals(solid->surface);
    double longest = 0;
    for (int i = 0; i < 3; i++)
        longest = fmax(longest, totals->high[i] - totals->low[i] + def->thickness);
    solid->size = def->size > 0    ? def->size
                  : def->cells > 0 ? longest / def->cells
                                   : default_size(solid, totals, longest);
    if (!(solid->size > 0))
        return hk_fail(HK_BAD_INPUT, "the surface is a single point: there is nothing to fill");
    if (!(solid->size <= longest))
        return hk_fail(HK_BAD_INPUT,
                       "tets of %g m do not fit into a surface of %g m: take a smaller size",
                       solid->size, longest);
    return HK_OK;
}

// ---------------------------------------------------------------- filling

// Why there is nothing inside, and what to do.
static hk_status explain_nothing(const hk_fill_solid *solid)
{
    if (solid->half_thickness > 0)
        return hk_fail(HK_BAD_INPUT,
                       "a shell of %g m is too thin for tets of %g m: take a smaller size",
                       2 * solid->half_thickness, solid->size);
    if (solid->rim)
        return hk_fail(HK_BAD_INPUT,
                       "the surface is open (%.4g m of edges lack a neighbour) and encloses "
                       "nothing, or nothing as thick as %g m: simulate it as a sheet (material "
                       "mass_spring), give it a thickness, or close it",
                       solid->rim_length, solid->size);
    return hk_fail(HK_BAD_INPUT,
                   "the surface encloses nothing as thick as %g m: take a smaller size, or give "
                   "it a thickness",
                   solid->size);
}

static hk_status stuff(const hk_fill_solid *solid, double grade, hk_mesh **mesh,
                       hk_filling_report *report)
{
    hk_fill_octree octree;
    hk_background background = {0};
    HK_TRY(hk_fill_octree_build(solid, grade, &octree));
    int level = -1;
    for (size_t k = 0; k < octree.count; k++)
        if (octree.nodes[k].state == HK_FILL_LEAF && octree.nodes[k].inside)
            level = hk_max_int(level, octree.nodes[k].level);
    hk_status status = level < 0 ? explain_nothing(solid) : HK_OK;
    if (status == HK_OK) status = hk_fill_lattice(solid, &octree, &background);
    hk_fill_octree_release(&octree);
    HK_TRY(status);
    report->levels = level + 1;
    status = background.tet_count > 0
                 ? hk_stuff_background(&background, hk_fill_cut, solid, solid->threads, mesh)
                 : explain_nothing(solid);
    hk_background_free(&background);
    return status;
}

// Sharp edges and peaks, for a mesh that is filled already.
static hk_status sharpen(const hk_fill_surface *surface, const hk_fill_solid *solid,
                         double sharp_angle, hk_mesh *mesh, uint8_t *sharp,
                         hk_filling_report *report)
{
    hk_fill_features features;
    report->sharp_kept = 1;
    if (solid->half_thickness > 0) return HK_OK;
    HK_TRY(hk_fill_find_features(surface, sharp_angle, solid->size, solid->threads, &features));
    const hk_winding_totals *totals = hk_winding_tree_totals(solid->surface);
    report->rough = features.length * solid->size > ROUGH * totals->area;
    if (report->rough) hk_fill_features_release(&features);
    hk_status status = hk_fill_snap(surface, solid, &features, mesh, sharp, &report->sharp_length,
                                    &report->sharp_kept);
    hk_fill_features_release(&features);
    return status;
}

static hk_status fill_solid(const hk_fill_surface *surface, const hk_fill_solid *solid,
                            const hk_filling_def *def, hk_mesh **mesh, hk_filling_report *report)
{
    memset(surface->idle, 0, (size_t)surface->count);
    HK_TRY(stuff(solid, def->grade, mesh, report));
    HK_TRY(hk_fill_keep_pieces(mesh, def->least_part, report));
    uint8_t *sharp = HK_ZEROS(uint8_t, (*mesh)->vertex_count);
    if (!sharp) return HK_NO_MEMORY;
    hk_status status = sharpen(surface, solid, def->sharp_angle, *mesh, sharp, report);
    if (status == HK_OK) status = hk_mesh_finish(*mesh, "the filled surface");
    if (status == HK_OK) status = hk_fill_measure(surface, solid, *mesh, sharp, report);
    hk_free(sharp);
    return status;
}

typedef struct attempt {
    hk_mesh *mesh;
    hk_filling_report report;
} attempt;

// With a size of our own choice: smaller ones where the surface is not met, as long as that helps.
static hk_status fill_closely(const hk_fill_surface *surface, hk_fill_solid *solid,
                              const hk_filling_def *def, hk_mesh **mesh, hk_filling_report *report)
{
    enum { ATTEMPTS = 3 };
    const double smaller = 0.7;
    bool free_choice = !(def->size > 0) && def->cells == 0;
    attempt best = {0};
    hk_status status = HK_OK;
    for (int k = 0; k < ATTEMPTS; k++) {
        attempt now = {.report = *report};
        now.report.size = solid->size;
        status = fill_solid(surface, solid, def, &now.mesh, &now.report);
        double off = now.report.distance / now.report.size;
        bool better =
            status == HK_OK && (!best.mesh || off < best.report.distance / best.report.size);
        hk_mesh_free(better ? best.mesh : now.mesh);
        if (better) best = now;
        if (!better || !free_choice || off <= 0.5) break;
        solid->size *= smaller;
    }
    // A smaller size may be too small: then the mesh before it is the answer.
    if (status != HK_OK && (!best.mesh || status == HK_NO_MEMORY)) {
        hk_mesh_free(best.mesh);
        return status;
    }
    *mesh = best.mesh;
    *report = best.report;
    return HK_OK;
}

// ---------------------------------------------------------------- notes

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

// What was assumed of the triangles.
static hk_status note_assumptions(hk_mesh *m, const hk_filling_report *r, const hk_filling_def *def)
{
    if (r->repeated > 0)
        HK_TRY(hk_mesh_add_note(m, "%lld triangle%s more than once in the file: taken once",
                                (long long)r->repeated, plural(r->repeated)));
    if (r->turned > 0)
        HK_TRY(hk_mesh_add_note(m, "turned %lld triangle%s to agree with their neighbours",
                                (long long)r->turned, plural(r->turned)));
    if (r->flipped)
        HK_TRY(hk_mesh_add_note(m, "the triangles face inwards: taken the other way around"));
    if (r->flat_triangles > 0)
        HK_TRY(hk_mesh_add_note(m, "%lld triangle%s without area", (long long)r->flat_triangles,
                                plural(r->flat_triangles)));
    if (def->thickness > 0) return HK_OK;
    if (r->rim > 0)
        HK_TRY(hk_mesh_add_note(m,
                                "the surface is open, %.4g m of edges lack a neighbour: closed "
                                "where it winds around a point half a time",
                                r->rim));
    if (r->inner_triangles > 0)
        HK_TRY(hk_mesh_add_note(m,
                                "%lld triangle%s with inside on both sides, as where parts "
                                "overlap: no border of the body",
                                (long long)r->inner_triangles, plural(r->inner_triangles)));
    if (r->outer_triangles > 0)
        HK_TRY(hk_mesh_add_note(m,
                                "%lld triangle%s with outside on both sides: nothing to fill there",
                                (long long)r->outer_triangles, plural(r->outer_triangles)));
    return HK_OK;
}

// What is not as one might expect.
static hk_status note_results(hk_mesh *m, const hk_filling_report *r)
{
    if (r->left_out > 0)
        HK_TRY(hk_mesh_add_note(m, "left out %lld tet%s in pieces that are too small, %.3g m³",
                                (long long)r->left_out, plural(r->left_out), r->left_out_volume));
    if (r->pieces > 1)
        HK_TRY(hk_mesh_add_note(m, "the body is in %d pieces that no faces join", r->pieces));
    if (r->distance > r->size / 2)
        HK_TRY(hk_mesh_add_note(m,
                                "the surface is up to %.3g m from the mesh, and %.2g %% of it is "
                                "farther than half a size: parts thinner than %.3g m are lost, a "
                                "smaller size would have them",
                                r->distance, 100 * r->lost_area / r->area, r->size));
    if (r->rough)
        HK_TRY(hk_mesh_add_note(m, "the surface is rough: its sharp edges are closer to each other "
                                   "than tets are large, and are not kept"));
    if (r->sharp_kept < 0.99)
        HK_TRY(hk_mesh_add_note(m, "%.0f %% of %.3g m of sharp edges are kept, others are cut off",
                                100 * r->sharp_kept, r->sharp_length));
    return HK_OK;
}

// ---------------------------------------------------------------- the whole

static hk_status fill_triangles(const hk_mesh *given, int count, const int32_t *triangles,
                                const hk_filling_def *def, hk_mesh **mesh,
                                hk_filling_report *report)
{
    hk_fill_surface surface;
    hk_fill_solid solid = {0};
    for (int64_t k = 0; k < 3 * (int64_t)count; k++)
        if (!hk_is_finite3(given->positions + 3 * (size_t)triangles[k]))
            return hk_fail(HK_BAD_INPUT, "triangle %lld: vertex %d is not finite",
                           (long long)(k / 3), triangles[k]);
    HK_TRY(hk_fill_take_surface(given->vertex_count, given->positions, count, triangles, &surface));
    hk_status status = hk_fill_solid_build(&surface, def->thickness / 2, def->threads, &solid);
    if (status == HK_OK) status = choose_size(def, &solid);
    report->triangles = count;
    report->flat_triangles = surface.flat;
    report->repeated = surface.repeated;
    report->turned = surface.turned;
    if (status == HK_OK) status = hk_fill_check_sides(&surface, &solid);
    if (status == HK_OK) status = fill_closely(&surface, &solid, def, mesh, report);
    hk_fill_solid_release(&solid);
    hk_fill_surface_release(&surface);
    return status;
}

static hk_status fill_mesh(const hk_mesh *given, const hk_filling_def *def, hk_mesh **mesh,
                           hk_filling_report *report)
{
    hk_mesh *copy;
    int count;
    const int32_t *triangles;
    HK_TRY(hk_mesh_check_indices(given, "the surface"));
    HK_TRY(hk_mesh_copy(given, &copy));
    hk_status status = hk_mesh_surface(copy, &count, &triangles, NULL);
    if (status == HK_OK && count == 0)
        status = hk_fail(HK_BAD_INPUT, "the mesh has no triangles: there is no surface to fill");
    if (status == HK_OK) status = fill_triangles(copy, count, triangles, def, mesh, report);
    hk_mesh_free(copy);
    if (status == HK_OK) status = note_assumptions(*mesh, report, def);
    if (status == HK_OK) status = note_results(*mesh, report);
    return status;
}

hk_status hk_mesh_fill(const hk_mesh *surface, const hk_filling_def *def, hk_mesh **mesh,
                       hk_filling_report *report)
{
    if (!surface || !mesh)
        return hk_fail(HK_BAD_INPUT, "hk_mesh_fill: surface and mesh are needed");
    double start = hk_now();
    hk_filling_def own;
    hk_filling_report told = {0};
    hk_mesh *made = NULL;
    HK_TRY(take_def(def, &own));
    hk_status status = fill_mesh(surface, &own, &made, &told);
    if (status == HK_OK && surface->path && !(made->path = hk_strdup(surface->path)))
        status = HK_NO_MEMORY;
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    told.ms = 1e3 * (hk_now() - start);
    if (report) *report = told;
    *mesh = made;
    return HK_OK;
}
