// hooke mesh sdf: the signed distance field of a surface, for a look at it.
#include <math.h>
#include <string.h>

#include "cli.h"

typedef struct sdf_args {
    double size, band;  // NAN: not given
    int cells;          // -1: not given
    int threads;
    const char *output;
} sdf_args;

// What was assumed about a surface that is not closed, or not oriented as it should be.
static void print_assumptions(const hk_sdf_report *r)
{
    if (r->flipped)
        cli_note("the triangles face inwards (their volume is %.4g m³): they were taken the other "
                 "way around",
                 r->volume);
    if (r->rim > 0)
        cli_note("the surface is open: %.4g m of edges lack a neighbour, and winding numbers are "
                 "up to %.2g from integers",
                 r->rim, r->openness);
    if (r->lid_triangles > 0)
        cli_note("it was closed where it winds around a point half a time, by %lld triangles",
                 (long long)r->lid_triangles);
    if (r->inner_triangles > 0)
        cli_note("%lld triangles lie inside, wholly or in part, and were left out there",
                 (long long)r->inner_triangles);
    if (r->flat_triangles > 0)
        cli_note("%lld triangles have no area", (long long)r->flat_triangles);
    if (!(r->greatest_winding > 0.5))
        cli_note("nothing is inside: the surface does not wind around any point more than half a "
                 "time");
}

static void print_summary(const char *path, const hk_sdf_report *r)
{
    const double *low = r->bounds[0], *high = r->bounds[1];
    printf("%s\n", path);
    printf("  surface     %lld triangles, %.6g m², volume %.6g m³\n", (long long)r->triangles,
           r->area, r->volume);
    printf(
        "  cells       %d × %d × %d of %.6g m, from (%.6g, %.6g, %.6g) to (%.6g, %.6g, %.6g) m\n",
        r->cells[0], r->cells[1], r->cells[2], r->cell, low[0], low[1], low[2], high[0], high[1],
        high[2]);
    printf("  band        %.6g m on both sides: %lld bricks of 8 × 8 × 8 cells, %.1f MB\n", r->band,
           (long long)r->bricks, 1e-6 * (double)r->bytes);
    printf("  distance    %.6g to %.6g m\n", r->least, r->greatest);
    printf("  winding     %.3g to %.3g, ", r->least_winding, r->greatest_winding);
    if (r->rim > 0)
        printf("open: up to %.2g from integers\n", r->openness);
    else
        printf("closed\n");
    printf("  time        %.0f ms\n", r->ms);
}

static json_t *triple_json(const double v[3])
{
    return json_pack("[o, o, o]", cli_json_real(v[0]), cli_json_real(v[1]), cli_json_real(v[2]));
}

static json_t *report_json(const char *file, const char *output, const hk_sdf_report *r)
{
    return json_pack(
        "{s:s, s:o, s:o, s:[i, i, i], s:[o, o], s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, "
        "s:[o, o], s:[o, o], s:o, s:o, s:b, s:o}",
        "status", "done", "file", cli_json_text(file), "output", cli_json_text(output), "cells",
        r->cells[0], r->cells[1], r->cells[2], "bounds", triple_json(r->bounds[0]),
        triple_json(r->bounds[1]), "size", cli_json_real(r->cell), "band", cli_json_real(r->band),
        "bricks", (json_int_t)r->bricks, "bytes", (json_int_t)r->bytes, "triangles",
        (json_int_t)r->triangles, "flat_triangles", (json_int_t)r->flat_triangles,
        "inner_triangles", (json_int_t)r->inner_triangles, "lid_triangles",
        (json_int_t)r->lid_triangles, "area", cli_json_real(r->area), "volume",
        cli_json_real(r->volume), "distance", cli_json_real(r->least), cli_json_real(r->greatest),
        "winding", cli_json_real(r->least_winding), cli_json_real(r->greatest_winding), "rim",
        cli_json_real(r->rim), "openness", cli_json_real(r->openness), "flipped", r->flipped, "ms",
        cli_json_real(r->ms));
}

// Tells and writes, and frees the field.
static int finish(hk_sdf *sdf, const char *path, const char *output)
{
    hk_sdf_report report;
    bool good = hk_sdf_describe(sdf, &report) == HK_OK && hk_sdf_save(sdf, output) == HK_OK;
    hk_sdf_free(sdf);
    if (!good) return cli_failure("%s", hk_error());
    print_assumptions(&report);
    if (cli_talk.json)
        return cli_json_print(report_json(path, output, &report)) ? CLI_DONE : CLI_FAILED;
    if (!cli_talk.quiet) print_summary(output, &report);
    return CLI_DONE;
}

static int make_field(const char *path, const sdf_args *args)
{
    hk_mesh *mesh;
    hk_sdf *sdf;
    hk_sdf_def def = hk_default_sdf_def();
    if (!isnan(args->size)) def.cell = args->size;
    if (!isnan(args->band)) def.band = args->band;
    if (args->cells > 0) def.cells = args->cells;
    def.threads = args->threads;
    if (hk_mesh_load(path, &mesh) != HK_OK) return cli_failure("%s", hk_error());
    for (int i = 0; i < hk_mesh_note_count(mesh); ++i) cli_note("%s", hk_mesh_note(mesh, i));
    hk_status status = hk_sdf_create(mesh, &def, &sdf);
    hk_mesh_free(mesh);
    if (status != HK_OK) return cli_failure("%s: %s", path, hk_error());
    return finish(sdf, path, args->output);
}

// Returns -1 to go on.
static int check_args(const sdf_args *args)
{
    if (!args->output) return cli_usage_error("mesh sdf", "say where to write it: -o field.vti");
    if (!cli_ends_with(args->output, ".vti"))
        return cli_usage_error("mesh sdf", "'--output %s': a field is written as .vti",
                               args->output);
    if (!isnan(args->size) && args->cells >= 0)
        return cli_usage_error("mesh sdf", "'--size' and '--cells' say the same: give one of them");
    if (args->size <= 0 || args->cells == 0 || args->band <= 0)
        return cli_usage_error("mesh sdf", "'--size', '--cells' and '--band' must be positive");
    return -1;
}

int cmd_mesh_sdf(int argc, char **argv)
{
    sdf_args args = {.size = NAN, .band = NAN, .cells = -1};
    const cli_option options[] = {
        {"output", 'o', CLI_TEXT, &args.output, "FILE.vti", "where to write the field"},
        {"size", 0, CLI_REAL, &args.size, "M", "edge of a cell, m"},
        {"cells", 0, CLI_INT, &args.cells, "N", "cells along the longest side; 100"},
        {"band", 0, CLI_REAL, &args.band, "M", "m on both sides of the surface; three cells"},
        {"threads", 0, CLI_INT, &args.threads, "N", "0: all cores"},
        {"json", 0, CLI_FLAG, &cli_talk.json, NULL, "print the summary as one JSON object"},
        {"quiet", 'q', CLI_FLAG, &cli_talk.quiet, NULL, "print errors only"},
    };
    const cli_spec spec = {
        .command = "mesh sdf",
        .arguments = "FILE",
        .purpose =
            "Writes the signed distance field of a surface, negative inside, as image data\n"
            "for ParaView: contour \"distance\" at 0 to see the surface that it stands for.\n"
            "Within the band it is exact to about the fourth order of a cell; beyond, where\n"
            "\"in_band\" is 0, a lower bound with the right sign. Inside is what the\n"
            "triangles wind around more than half a time: they may be open, intersect each\n"
            "other, be there twice or face inwards. What was assumed is told.",
        .examples = "hooke mesh sdf bunny.obj -o bunny.vti\n"
                    "hooke mesh sdf bunny.obj -o bunny.vti --size 0.001 --band 0.005",
        .options = options,
        .option_count = sizeof options / sizeof options[0]};
    const char *path;
    int result = cli_parse_one(spec, argc, argv, &path);
    if (result < 0) result = check_args(&args);
    return result >= 0 ? result : make_field(path, &args);
}
