// hooke mesh fill: tets for the body that a surface encloses.
#include <math.h>
#include <string.h>

#include "cli.h"

typedef struct fill_args {
    double size, grade, thickness, sharp, least;  // NAN: not given
    int cells;                                    // -1: not given
    int threads;
    const char *output;
} fill_args;

static void print_summary(const char *path, const char *output, const hk_filling_report *r)
{
    printf("%s: %d vertices, %d tets\n", output, r->vertices, r->tets);
    printf("  surface     %s: %lld triangles, %.6g m²", path, (long long)r->triangles, r->area);
    if (isfinite(r->volume))
        printf(", volume %.6g m³\n", r->volume);
    else
        printf(r->rim > 0 ? ", open\n" : "\n");
    printf("  volume      %.6g m³", r->mesh_volume);
    if (isfinite(r->volume)) printf(", %+.3g %%", 100 * (r->mesh_volume - r->volume) / r->volume);
    printf("\n  size        %.6g m at the surface", r->size);
    if (r->levels > 1) printf(", up to %.6g m inside", ldexp(r->size, r->levels - 1));
    printf("\n  angles      %.1f° to %.1f°", r->least_angle, r->greatest_angle);
    if (r->sharp_length > 0) printf("; %.1f° away from sharp edges", r->least_plain_angle);
    printf("\n  distance    %.4g m between both surfaces, %.2g of the size\n", r->distance,
           r->distance / r->size);
    if (r->sharp_length > 0)
        printf("  sharp       %.4g m of edges, %.3g %% kept\n", r->sharp_length,
               100 * r->sharp_kept);
    printf("  time        %.0f ms\n", r->ms);
}

static json_t *report_json(const char *path, const char *output, const hk_mesh *mesh,
                           const hk_filling_report *r)
{
    json_t *notes = json_array();
    for (int i = 0; i < hk_mesh_note_count(mesh); ++i)
        json_array_append_new(notes, cli_json_text(hk_mesh_note(mesh, i)));
    return json_pack(
        "{s:s, s:o, s:o, s:i, s:i, s:i, s:i, s:o, s:i, s:o, s:o, s:o, s:o, s:{s:o, s:o, s:o}, "
        "s:o, s:o, s:{s:o, s:o}, s:{s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o}, s:{s:I, s:o}, s:o, "
        "s:o}",
        "status", "done", "file", cli_json_text(path), "output", cli_json_text(output), "vertices",
        r->vertices, "tets", r->tets, "surface_triangles", r->surface_triangles, "pieces",
        r->pieces, "size", cli_json_real(r->size), "levels", r->levels, "volume",
        cli_json_real(r->mesh_volume), "enclosed_volume", cli_json_real(r->volume), "area",
        cli_json_real(r->area), "distance", cli_json_real(r->distance), "angles", "least",
        cli_json_real(r->least_angle), "least_plain", cli_json_real(r->least_plain_angle),
        "greatest", cli_json_real(r->greatest_angle), "lost_area", cli_json_real(r->lost_area),
        "rim", cli_json_real(r->rim), "sharp", "length", cli_json_real(r->sharp_length), "kept",
        cli_json_real(r->sharp_kept), "triangles", "count", (json_int_t)r->triangles, "flat",
        (json_int_t)r->flat_triangles, "repeated", (json_int_t)r->repeated, "turned",
        (json_int_t)r->turned, "inner", (json_int_t)r->inner_triangles, "outer",
        (json_int_t)r->outer_triangles, "flipped", r->flipped, "closed",
        json_boolean(!(r->rim > 0)), "left_out", "tets", (json_int_t)r->left_out, "volume",
        cli_json_real(r->left_out_volume), "notes", notes, "ms", cli_json_real(r->ms));
}

static int fill_file(const char *path, const fill_args *args)
{
    if (cli_same_file(args->output, path))
        return cli_failure("%s is the surface that is read: write the mesh elsewhere",
                           args->output);
    hk_mesh *surface, *mesh;
    hk_filling_report report;
    hk_filling_def def = hk_default_filling_def();
    if (!isnan(args->size)) def.size = args->size;
    if (!isnan(args->grade)) def.grade = args->grade;
    if (!isnan(args->thickness)) def.thickness = args->thickness;
    if (!isnan(args->sharp)) def.sharp_angle = args->sharp;
    if (!isnan(args->least)) def.least_part = args->least;
    if (args->cells > 0) def.cells = args->cells;
    def.threads = args->threads;
    if (hk_mesh_load(path, &surface) != HK_OK) return cli_failure("%s", hk_error());
    for (int i = 0; i < hk_mesh_note_count(surface); ++i) cli_note("%s", hk_mesh_note(surface, i));
    hk_status status = hk_mesh_fill(surface, &def, &mesh, &report);
    hk_mesh_free(surface);
    if (status != HK_OK) return cli_failure("%s: %s", path, hk_error());
    int result = CLI_DONE;
    if (hk_mesh_save(mesh, args->output, NULL, 0) != HK_OK) result = cli_failure("%s", hk_error());
    for (int i = 0; i < hk_mesh_note_count(mesh) && result == CLI_DONE; ++i)
        cli_note("%s", hk_mesh_note(mesh, i));
    if (result == CLI_DONE && cli_talk.json &&
        !cli_json_print(report_json(path, args->output, mesh, &report)))
        result = CLI_FAILED;
    if (result == CLI_DONE && !cli_talk.json && !cli_talk.quiet)
        print_summary(path, args->output, &report);
    hk_mesh_free(mesh);
    return result;
}

// Whether a format can hold tets.
static bool holds_tets(const char *path)
{
    for (int i = 0; i < hk_mesh_format_count(); ++i)
        if (cli_ends_with(path, hk_mesh_format_at(i).ending) && hk_mesh_format_at(i).writes)
            return !hk_mesh_format_at(i).surface;
    return true;  // saving says what is wrong with it
}

// Returns -1 to go on.
static int check_args(const fill_args *args)
{
    if (!args->output) return cli_usage_error("mesh fill", "say where to write it: -o body.msh");
    if (!holds_tets(args->output))
        return cli_usage_error("mesh fill", "'--output %s': this format holds no tets; .msh does",
                               args->output);
    if (!isnan(args->size) && args->cells >= 0)
        return cli_usage_error("mesh fill",
                               "'--size' and '--cells' say the same: give one of them");
    if (args->size <= 0 || args->cells == 0 || args->thickness <= 0)
        return cli_usage_error("mesh fill",
                               "'--size', '--cells' and '--thickness' must be positive");
    if (args->grade < 0 || args->grade > 1)
        return cli_usage_error("mesh fill", "'--grade' must be 0 to 1, not %g", args->grade);
    if (args->sharp < 1 || args->sharp > 180)
        return cli_usage_error("mesh fill", "'--sharp' must be 1 to 180, not %g", args->sharp);
    if (args->least < 0 || args->least > 1)
        return cli_usage_error("mesh fill", "'--least' must be 0 to 1, not %g", args->least);
    return -1;
}

int cmd_mesh_fill(int argc, char **argv)
{
    fill_args args = {
        .size = NAN, .grade = NAN, .thickness = NAN, .sharp = NAN, .least = NAN, .cells = -1};
    const cli_option options[] = {
        {"output", 'o', CLI_TEXT, &args.output, "FILE", "where to write the mesh: .msh, .vtu"},
        {"size", 0, CLI_REAL, &args.size, "M", "edge of the tets at the surface, m"},
        {"cells", 0, CLI_INT, &args.cells, "N", "edges along the longest side; 40"},
        {"grade", 0, CLI_REAL, &args.grade, "G",
         "growth of edges inside, m per m from the surface; 0.5, 0: all alike"},
        {"thickness", 0, CLI_REAL, &args.thickness, "M",
         "m: fill a shell around the triangles, not what they enclose"},
        {"sharp", 0, CLI_REAL, &args.sharp, "DEG",
         "edges that turn by more are kept; 40, 180: none"},
        {"least", 0, CLI_REAL, &args.least, "PART",
         "leave out pieces with less of the largest one's volume; 0.01"},
        {"threads", 0, CLI_INT, &args.threads, "N", "0: all cores"},
        {"json", 0, CLI_FLAG, &cli_talk.json, NULL, "print the summary as one JSON object"},
        {"quiet", 'q', CLI_FLAG, &cli_talk.quiet, NULL, "print errors only"},
    };
    const cli_spec spec = {
        .command = "mesh fill",
        .arguments = "SURFACE",
        .purpose =
            "Fills a surface with tets: .obj, .stl, .ply or whatever else has triangles.\n"
            "Inside is what they wind around more than half a time: they may be open,\n"
            "intersect each other, be there twice or face inwards. What was assumed is told.\n"
            "Sharp edges are kept where tets stay good, tets grow towards the inside, and\n"
            "parts thinner than the size are lost. A surface that encloses nothing needs a\n"
            "thickness. In scenes: \"mesh\": {\"fill\": {\"file\": \"spot.obj\", \"size\": 0.02}}.",
        .examples = "hooke mesh fill spot.obj -o spot.msh\n"
                    "hooke mesh fill spot.obj -o spot.msh --size 0.02 --grade 0.3\n"
                    "hooke mesh fill bowl.stl -o bowl.msh --thickness 0.004 --size 0.002",
        .options = options,
        .option_count = sizeof options / sizeof options[0]};
    const char *path;
    int result = cli_parse_one(spec, argc, argv, &path);
    if (result < 0) result = check_args(&args);
    return result >= 0 ? result : fill_file(path, &args);
}
