// hooke mesh: makes, converts, checks and fills meshes.
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#include <hooke/quadratic.h>

static void print_notes(const hk_mesh *mesh)
{
    for (int i = 0; i < hk_mesh_note_count(mesh); ++i) cli_note("%s", hk_mesh_note(mesh, i));
}

// What the file just written holds: the tets, or their surface where the format has no tets.
static bool tell_written(hk_mesh *mesh, const char *path)
{
    int vertices = hk_mesh_vertex_count(mesh), tets = hk_mesh_tet_count(mesh);
    int triangles = hk_mesh_triangle_count(mesh);
    const int32_t *corners, *behind;
    bool solid = true;
    for (int i = 0; i < hk_mesh_format_count(); ++i)
        if (cli_ends_with(path, hk_mesh_format_at(i).ending)) solid = !hk_mesh_format_at(i).surface;
    bool surface =
        tets > 0 && !solid && hk_mesh_surface(mesh, &triangles, &corners, &behind) == HK_OK;
    if (cli_talk.json)
        return cli_json_print(json_pack("{s:s, s:o, s:i, s:i, s:i, s:i, s:b}", "status", "written",
                                        "file", cli_json_text(path), "vertices", vertices, "tets",
                                        tets, "order", hk_mesh_order(mesh), "triangles", triangles,
                                        "surface_only", surface));
    if (cli_talk.quiet) return true;
    if (tets == 0)
        printf("%s: %d vertices, %d triangles\n", path, vertices, triangles);
    else if (!surface)
        printf("%s: %d vertices, %d %stets\n", path, vertices, tets,
               hk_mesh_order(mesh) == 2 ? "quadratic " : "");
    else
        printf("%s: %d triangles, the surface of %d tets\n", path, triangles, tets);
    return true;
}

// Triangles that are no faces of tets.
static int sheet_triangles(hk_mesh *mesh)
{
    int count, sheets = 0;
    const int32_t *corners, *behind;
    if (hk_mesh_surface(mesh, &count, &corners, &behind) != HK_OK) return 0;
    for (int i = 0; i < count; ++i) sheets += behind[i] < 0;
    return sheets;
}

// Says which of the values beside the mesh the file does not hold.
static void tell_left_out(const hk_mesh *mesh, const char *path)
{
    int count = hk_mesh_field_count(mesh);
    if (count == 0 || cli_ends_with(path, ".vtu") || cli_ends_with(path, ".msh")) return;
    char names[200] = "";
    for (int i = 0; i < count; ++i) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                 hk_mesh_field(mesh, i).name);
    }
    cli_note("left out %d field%s (%s): .vtu and .msh keep them%s", count, count == 1 ? "" : "s",
             names, cli_ends_with(path, ".glb") ? "; a .glb has at most their colours" : "");
}

static hk_status save_with_fields(const hk_mesh *mesh, const char *path)
{
    int count = hk_mesh_field_count(mesh);
    hk_field *fields = cli_realloc(NULL, (size_t)count, sizeof *fields);
    for (int i = 0; i < count; ++i) fields[i] = hk_mesh_field(mesh, i);
    hk_status status = hk_mesh_save(mesh, path, fields, count);
    free(fields);
    return status;
}

// Saves and frees the mesh.
static int save_mesh(hk_mesh *mesh, const char *path)
{
    hk_status status = save_with_fields(mesh, path);
    if (status == HK_OK) tell_left_out(mesh, path);
    int result = status == HK_OK ? CLI_DONE : cli_failure("%s", hk_error());
    if (result == CLI_DONE && !tell_written(mesh, path)) result = CLI_FAILED;
    // A .vtu has no place for faces of tets; of the surface formats the line above tells.
    int triangles = hk_mesh_triangle_count(mesh) - sheet_triangles(mesh);
    if (result == CLI_DONE && triangles > 0 && cli_ends_with(path, ".vtu"))
        cli_note("left out %d triangle%s of the file and the groups made of them: .msh keeps them",
                 triangles, triangles == 1 ? "" : "s");
    hk_mesh_free(mesh);
    return result;
}

// ---------------------------------------------------------------- order

static const char g_order_help[] =
    "order of the tets: 2 adds nodes in the middles of straight edges, 1 keeps the corners";

static int wrong_order(const char *command, int order)
{
    return cli_usage_error(command, "'--order' is 1 or 2, not %d", order);
}

// 0: as they are. Frees the mesh where it fails.
static bool set_order(hk_mesh *mesh, int order)
{
    if (order == 0 || hk_mesh_set_order(mesh, order) == HK_OK) return true;
    cli_failure("%s", hk_error());
    hk_mesh_free(mesh);
    return false;
}

// ---------------------------------------------------------------- make

// The lengths and numbers that a shape may take, besides size and cells.
static const struct {
    const char *name;
    size_t offset;  // in hk_mesh_def
    const char *help;
} reals[] = {
    {"radius", offsetof(hk_mesh_def, radius), "m"},
    {"length", offsetof(hk_mesh_def, length), "m, along the axis; of a funnel, of its pipe"},
    {"pitch", offsetof(hk_mesh_def, pitch), "m along the axis per turn"},
    {"turns", offsetof(hk_mesh_def, turns), "turns of a strand"},
    {"thickness", offsetof(hk_mesh_def, thickness), "m, the diameter of a strand; of a wall"},
    {"height", offsetof(hk_mesh_def, height), "m, of a figure or a funnel"},
    {"neck", offsetof(hk_mesh_def, neck), "m, the inner radius of a funnel's end"},
    {"degrees", offsetof(hk_mesh_def, degrees), "that a wedge spans"},
};
enum { REALS = sizeof reals / sizeof reals[0] };
enum {
    RADIUS = 1,
    LENGTH = 2,
    PITCH = 4,
    TURNS = 8,
    THICKNESS = 16,
    HEIGHT = 32,
    NECK = 64,
    DEGREES = 128
};

static const struct shape {
    const char *name;
    hk_shape shape;
    int sizes, cells;  // how many numbers --size and --cells take
    unsigned takes;    // which of the reals
    bool strands;
    const char *options;
} shapes[] = {
    {"box", HK_SHAPE_BOX, 3, 3, 0, false, "--size X,Y,Z --cells X,Y,Z"},
    {"cylinder", HK_SHAPE_CYLINDER, 0, 2, RADIUS | LENGTH, false,
     "--radius R --length L --cells ACROSS,ALONG"},
    {"sphere", HK_SHAPE_SPHERE, 0, 1, RADIUS, false, "--radius R --cells ACROSS"},
    {"helix", HK_SHAPE_HELIX, 0, 1, RADIUS | PITCH | TURNS | THICKNESS, true,
     "--radius R --pitch P --turns N --thickness D --strands N --cells ACROSS"},
    {"sheet", HK_SHAPE_SHEET, 2, 2, 0, false, "--size X,Z --cells X,Z"},
    {"figure", HK_SHAPE_FIGURE, 0, 1, HEIGHT, false, "--height H --cells OVER THE HEIGHT"},
    {"torus", HK_SHAPE_TORUS, 0, 2, RADIUS | THICKNESS, false,
     "--radius R --thickness D --cells ACROSS,AROUND"},
    {"pyramid", HK_SHAPE_PYRAMID, 3, 0, 0, false, "--size X,Y,Z"},
    {"wedge", HK_SHAPE_WEDGE, 0, 3, RADIUS | THICKNESS | DEGREES | LENGTH, false,
     "--radius R --thickness D --degrees A --length L --cells AROUND,OUTWARD,ALONG"},
    {"funnel", HK_SHAPE_FUNNEL, 0, 2, RADIUS | NECK | HEIGHT | LENGTH | THICKNESS, false,
     "--radius R --neck R --height H --length L --thickness D --cells AROUND,ALONG"},
    {"rope", HK_SHAPE_ROPE, 0, 1, LENGTH, false, "--length L --cells ALONG"},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

typedef struct make_args {
    cli_numbers size, cells;
    double reals[REALS];  // NAN: not given
    int strands;          // -1: not given
    int order;            // 0: as they are
    const char *output;
} make_args;

static const struct shape *find_shape(const char *name)
{
    const char *names[SHAPES];
    for (int i = 0; i < SHAPES; ++i) {
        if (strcmp(shapes[i].name, name) == 0) return &shapes[i];
        names[i] = shapes[i].name;
    }
    const char *nearest = cli_nearest(name, names, SHAPES);
    if (nearest)
        cli_usage_error("mesh make", "unknown shape '%s'; did you mean '%s'?", name, nearest);
    else
        cli_usage_error(
            "mesh make",
            "unknown shape '%s'; there are box, cylinder, sphere, helix, sheet, figure, torus, "
            "pyramid, wedge, funnel and rope",
            name);
    return NULL;
}

static int wrong_for_shape(const struct shape *shape, const char *option)
{
    return cli_usage_error("mesh make", "'--%s' does not fit; a %s takes %s", option, shape->name,
                           shape->options);
}

// Puts what was given over the defaults of the shape. Returns -1 or an exit status.
static int apply_make_args(const struct shape *shape, const make_args *args, hk_mesh_def *def)
{
    *def = hk_default_mesh_def(shape->shape);
    if (args->size.count != 0 && args->size.count != shape->sizes)
        return wrong_for_shape(shape, "size");
    if (args->cells.count != 0 && args->cells.count != shape->cells)
        return wrong_for_shape(shape, "cells");
    if (args->strands >= 0 && !shape->strands) return wrong_for_shape(shape, "strands");
    for (int i = 0; i < args->size.count; ++i) def->size[i] = args->size.values[i];
    for (int i = 0; i < args->cells.count; ++i) def->cells[i] = (int)args->cells.values[i];
    if (args->strands >= 0) def->strands = args->strands;
    for (int i = 0; i < REALS; ++i) {
        if (isnan(args->reals[i])) continue;
        if (!(shape->takes & 1u << i)) return wrong_for_shape(shape, reals[i].name);
        memcpy((char *)def + reals[i].offset, &args->reals[i], sizeof(double));
    }
    return -1;
}

static int make_mesh(const char *name, const make_args *args)
{
    const struct shape *shape = find_shape(name);
    if (!shape) return CLI_WRONG_USAGE;
    hk_mesh_def def;
    int result = apply_make_args(shape, args, &def);
    if (result >= 0) return result;
    if (!args->output)
        return cli_usage_error("mesh make", "say where to write it: -o %s.msh", shape->name);
    hk_mesh *mesh;
    if (hk_mesh_make(&def, &mesh) != HK_OK) return cli_failure("%s", hk_error());
    if (!set_order(mesh, args->order)) return CLI_FAILED;
    return save_mesh(mesh, args->output);
}

static int mesh_make(int argc, char **argv)
{
    make_args args = {.strands = -1};
    cli_option options[REALS + 7] = {
        {"size", 0, CLI_REALS, &args.size, "X,Y,Z", "m: box, pyramid; X,Z for a sheet"},
        {"cells", 0, CLI_INTS, &args.cells, "N,N,N", "divisions, as many as the shape takes"},
    };
    int count = 2;
    for (int i = 0; i < REALS; ++i) {
        args.reals[i] = NAN;
        options[count++] =
            (cli_option){reals[i].name, 0, CLI_REAL, &args.reals[i], "X", reals[i].help};
    }
    options[count++] =
        (cli_option){"strands", 0, CLI_INT, &args.strands, "N", "strands of a helix"};
    options[count++] = (cli_option){"order", 0, CLI_INT, &args.order, "1|2", g_order_help};
    char where[300];
    snprintf(where, sizeof where, "where to write: %s", cli_formats(CLI_WRITING).text);
    options[count++] = (cli_option){"output", 'o', CLI_TEXT, &args.output, "FILE", where};
    options[count++] = (cli_option){
        "json", 0, CLI_FLAG, &cli_talk.json, NULL, "print what was written as one JSON object"};
    options[count++] =
        (cli_option){"quiet", 'q', CLI_FLAG, &cli_talk.quiet, NULL, "print errors only"};
    const cli_spec spec = {
        .command = "mesh make",
        .arguments = "box|cylinder|sphere|helix|sheet|figure|torus|pyramid|wedge|funnel|rope",
        .purpose =
            "Makes a mesh. What is not given has a default.\n\n"
            "  box       --size X,Y,Z --cells X,Y,Z, min corner at the origin\n"
            "  cylinder  --radius R --length L --cells ACROSS,ALONG, axis x\n"
            "  sphere    --radius R --cells ACROSS, centre at the origin\n"
            "  helix     --radius R --pitch P --turns N --thickness D --strands N\n"
            "            --cells ACROSS A STRAND\n"
            "  sheet     --size X,Z --cells X,Z, triangles in the plane y = 0\n"
            "  figure    --height H --cells OVER THE HEIGHT (10 or more), a creature\n"
            "            that stands on y = 0 and looks along z\n"
            "  torus     --radius R --thickness D --cells ACROSS,AROUND, around the y axis\n"
            "  pyramid   --size X,Y,Z, two tets, its base around the origin, apex at Y\n"
            "  wedge     --radius R --thickness D --degrees A --length L\n"
            "            --cells AROUND,OUTWARD,ALONG, a block of an arch around the z axis\n"
            "  funnel    --radius R --neck R --height H --length L --thickness D\n"
            "            --cells AROUND,ALONG, around the y axis, open to the top\n"
            "  rope      --length L --cells ALONG, along x from the origin",
        .examples = "hooke mesh make box --size 1,0.2,0.2 --cells 20,4,4 -o bar.msh\n"
                    "hooke mesh make helix --turns 5 --strands 2 -o spring.vtu",
        .options = options,
        .option_count = count,
        .least_words = 1,
        .most_words = 1};
    cli_texts words;
    int result = cli_parse(&spec, argc, argv, &words);
    if (result >= 0) return result;
    const char *shape = words.items[0];
    cli_texts_free(&words);
    if (args.order < 0 || args.order > 2) return wrong_order("mesh make", args.order);
    return make_mesh(shape, &args);
}

// ---------------------------------------------------------------- convert

static int mesh_convert(int argc, char **argv)
{
    int order = 0;
    const cli_option options[] = {
        {"order", 0, CLI_INT, &order, "1|2", g_order_help},
        {"json", 0, CLI_FLAG, &cli_talk.json, NULL, "print what was written as one JSON object"},
        {"quiet", 'q', CLI_FLAG, &cli_talk.quiet, NULL, "print errors only"},
    };
    char purpose[1024];
    snprintf(purpose, sizeof purpose,
             "Reads a mesh and writes it in another format, by the endings of the names.\n"
             "  reads   %s\n"
             "  writes  %s\n"
             "The surface only is in %s. Values beside the mesh, as\n"
             "the stress in a .vtu, are kept in .vtu and .msh; where they are not, a note says so.",
             cli_formats(CLI_READING).text, cli_formats(CLI_WRITING).text,
             cli_formats(CLI_WRITING_SURFACES).text);
    const cli_spec spec = {.command = "mesh convert",
                           .arguments = "INPUT OUTPUT",
                           .purpose = purpose,
                           .examples = "hooke mesh convert armadillo.ele armadillo.vtu\n"
                                       "hooke mesh convert bar.msh bar.glb\n"
                                       "hooke mesh convert bar.msh bar2.msh --order 2",
                           .options = options,
                           .option_count = sizeof options / sizeof options[0],
                           .least_words = 2,
                           .most_words = 2};
    cli_texts words;
    int result = cli_parse(&spec, argc, argv, &words);
    if (result >= 0) return result;
    const char *input = words.items[0], *output = words.items[1];
    cli_texts_free(&words);
    if (order < 0 || order > 2) return wrong_order("mesh convert", order);
    if (cli_same_file(output, input))
        return cli_failure("%s is the mesh that is read: write it elsewhere", output);
    hk_mesh *mesh;
    if (hk_mesh_load(input, &mesh) != HK_OK) return cli_failure("%s", hk_error());
    print_notes(mesh);
    if (!set_order(mesh, order)) return CLI_FAILED;
    return save_mesh(mesh, output);
}

// ---------------------------------------------------------------- check

// Every kind of defect: its name in JSON, what it is called, what its numbers number.
typedef struct defect_line {
    const char *key, *what, *numbers;
    const hk_defect *defect;
} defect_line;
enum { DEFECTS = 8 };

static void list_defects(const hk_mesh_report *report, defect_line lines[DEFECTS])
{
    const defect_line table[DEFECTS] = {
        {"turned", "tets wound the other way, and turned", "tets", &report->turned},
        {"flat", report->tets > 0 ? "flat tets" : "flat triangles",
         report->tets > 0 ? "tets" : "triangles", &report->flat},
        {"duplicate_tets", "tets that are there twice", "tets", &report->duplicate_tets},
        {"duplicate_vertices", "vertices where an earlier one lies", "vertices",
         &report->duplicate_vertices},
        {"unreferenced", "vertices of no element", "vertices", &report->unreferenced},
        {"non_manifold",
         report->tets > 0 ? "faces of more than two tets, or edges of more than two outer triangles"
                          : "edges of more than two triangles",
         "at vertices", &report->non_manifold},
        {"open_edges", "open edges of the surface", "at vertices", &report->open_edges},
        {"not_finite", "vertices that are not finite", "vertices", &report->not_finite},
    };
    memcpy(lines, table, sizeof table);
}

static int listed(const hk_defect *defect)
{
    return defect->count < HK_DEFECT_LIST ? (int)defect->count : HK_DEFECT_LIST;
}

// No defect: without contact a body that overlaps itself, or touches another, is simulated.
static void print_meetings(const hk_intersection_report *meetings)
{
    char *count = cli_intersection_count(meetings->count, meetings->touching);
    printf("  remark      the surface intersects itself: %s; it can be simulated (without\n"
           "              contact), but not be certified or printed\n",
           count);
    free(count);
    for (int k = 0; k < meetings->listed; ++k) {
        char *text = cli_intersection_text(&meetings->first[k]);
        printf("              %s\n", text);
        free(text);
    }
}

static void print_report(const char *path, const hk_mesh *mesh, const hk_mesh_report *report,
                         const hk_intersection_report *meetings)
{
    const double *low = report->bounds[0], *high = report->bounds[1];
    printf("%s\n", path);
    printf("  vertices    %d\n", report->vertices);
    printf("  tets        %d%s\n", report->tets, hk_mesh_order(mesh) == 2 ? ", quadratic" : "");
    printf("  triangles   %d\n", report->triangles);
    printf("  components  %d\n", report->components);
    printf("  groups      %d", report->groups);
    for (int i = 0; i < hk_mesh_group_count(mesh); ++i)
        printf("%s%s", i == 0 ? ": " : ", ", cli_name(hk_mesh_group_name(mesh, i)));
    printf("\n  bounds      (%.6g, %.6g, %.6g) to (%.6g, %.6g, %.6g) m\n", low[0], low[1], low[2],
           high[0], high[1], high[2]);
    if (report->tets > 0) printf("  volume      %.6g m³\n", report->volume);
    printf("  surface     %.6g m²\n", report->area);
    if (report->tets > 0)
        printf("  quality     worst %.4g (tet %lld), mean %.4g; 1 is a regular tet\n",
               report->worst_quality, (long long)report->worst_tet, report->mean_quality);
    defect_line lines[DEFECTS];
    list_defects(report, lines);
    for (int i = 0; i < DEFECTS; ++i) {
        const hk_defect *defect = lines[i].defect;
        if (defect->count == 0) continue;
        printf("  defect      %s: %lld (%s", lines[i].what, (long long)defect->count,
               lines[i].numbers);
        for (int k = 0; k < listed(defect); ++k) printf(" %lld", (long long)defect->first[k]);
        printf("%s)\n", defect->count > HK_DEFECT_LIST ? " …" : "");
    }
    for (int i = 0; i < hk_mesh_note_count(mesh); ++i)
        printf("  note        %s\n", cli_name(hk_mesh_note(mesh, i)));
    if (meetings->count > 0) print_meetings(meetings);
    printf("  verdict     %s\n", report->verdict);
}

static json_t *triple_json(const double v[3])
{
    return json_pack("[o, o, o]", cli_json_real(v[0]), cli_json_real(v[1]), cli_json_real(v[2]));
}

static json_t *report_json(const char *path, const hk_mesh *mesh, const hk_mesh_report *report,
                           const hk_intersection_report *meetings)
{
    json_t *groups = json_array(), *notes = json_array(), *defects = json_object();
    json_t *pairs = json_array();
    for (int k = 0; k < meetings->listed; ++k)
        json_array_append_new(pairs, cli_intersection_json(&meetings->first[k]));
    for (int i = 0; i < hk_mesh_group_count(mesh); ++i)
        json_array_append_new(groups, cli_json_text(hk_mesh_group_name(mesh, i)));
    for (int i = 0; i < hk_mesh_note_count(mesh); ++i)
        json_array_append_new(notes, cli_json_text(hk_mesh_note(mesh, i)));
    defect_line lines[DEFECTS];
    list_defects(report, lines);
    for (int i = 0; i < DEFECTS; ++i) {
        json_t *first = json_array();
        for (int k = 0; k < listed(lines[i].defect); ++k)
            json_array_append_new(first, json_integer((json_int_t)lines[i].defect->first[k]));
        json_object_set_new(
            defects, lines[i].key,
            json_pack("{s:I, s:o}", "count", (json_int_t)lines[i].defect->count, "first", first));
    }
    bool solid = report->tets > 0;
    return json_pack(
        "{s:o, s:b, s:o, s:i, s:i, s:i, s:i, s:o, s:[o, o], s:o, s:o, s:{s:o, s:o, s:o}, s:o, "
        "s:{s:I, s:I, s:o}, s:o}",
        "file", cli_json_text(path), "simulable", report->simulable, "verdict",
        cli_json_text(report->verdict), "vertices", report->vertices, "tets", report->tets,
        "triangles", report->triangles, "components", report->components, "groups", groups,
        "bounds", triple_json(report->bounds[0]), triple_json(report->bounds[1]), "volume",
        cli_json_real(report->volume), "area", cli_json_real(report->area), "quality", "worst",
        cli_json_real(solid ? report->worst_quality : NAN), "worst_tet",
        solid ? json_integer((json_int_t)report->worst_tet) : json_null(), "mean",
        cli_json_real(solid ? report->mean_quality : NAN), "defects", defects, "intersections",
        "count", (json_int_t)meetings->count, "touching", (json_int_t)meetings->touching, "first",
        pairs, "notes", notes);
}

static int check_file(const char *path)
{
    hk_mesh *mesh;
    if (hk_mesh_load(path, &mesh) != HK_OK) return cli_failure("%s", hk_error());
    hk_mesh_report report;
    hk_intersection_report meetings;
    if (hk_mesh_check(mesh, &report) != HK_OK ||
        hk_mesh_intersections(mesh, 0, &meetings) != HK_OK) {
        hk_mesh_free(mesh);
        return cli_failure("%s: %s", path, hk_error());
    }
    bool good = true;
    if (cli_talk.json)
        good = cli_json_print(report_json(path, mesh, &report, &meetings));
    else if (!cli_talk.quiet)
        print_report(path, mesh, &report, &meetings);
    bool simulable = report.simulable;
    hk_mesh_free(mesh);
    return good && simulable ? CLI_DONE : CLI_FAILED;
}

static int mesh_check(int argc, char **argv)
{
    const cli_option options[] = {
        {"json", 0, CLI_FLAG, &cli_talk.json, NULL, "print the report as one JSON object"},
        {"quiet", 'q', CLI_FLAG, &cli_talk.quiet, NULL, "only the exit status tells"},
    };
    const cli_spec spec = {
        .command = "mesh check",
        .arguments = "FILE",
        .purpose = "Says what a mesh holds and what is wrong with it: counts, bounds, volume,\n"
                   "quality, and every kind of defect with the numbers (from 0) of the first\n"
                   "few; and whether its surface meets itself, which does not keep it from being\n"
                   "simulated. Exit status 1 if the mesh cannot be simulated.",
        .examples = "hooke mesh check armadillo.ele\n"
                    "hooke mesh check bar.msh --json",
        .options = options,
        .option_count = sizeof options / sizeof options[0]};
    const char *path;
    int result = cli_parse_one(spec, argc, argv, &path);
    return result >= 0 ? result : check_file(path);
}

// ---------------------------------------------------------------- mesh

static const cli_command verbs[] = {
    {"make", "make a box, cylinder, sphere, helix, sheet or figure", mesh_make},
    {"convert", "read a mesh, write it in another format", mesh_convert},
    {"check", "say what a mesh holds and what is wrong with it", mesh_check},
    {"fill", "fill a surface with tets", cmd_mesh_fill},
    {"sdf", "write the signed distance field of a surface", cmd_mesh_sdf},
};
enum { VERBS = sizeof verbs / sizeof verbs[0] };

static void print_verbs(void)
{
    printf("Usage: hooke mesh make|convert|check|fill|sdf …\n\nMakes, converts, checks, fills and "
           "measures "
           "meshes.\n\n");
    for (int i = 0; i < VERBS; ++i) printf("  %-9s %s\n", verbs[i].name, verbs[i].summary);
    printf("\nExamples:\n"
           "  hooke mesh make box --size 1,0.2,0.2 --cells 20,4,4 -o bar.msh\n"
           "  hooke mesh convert armadillo.ele armadillo.vtu\n"
           "  hooke mesh check bar.msh\n"
           "  hooke mesh fill spot.obj -o spot.msh\n"
           "  hooke mesh sdf bunny.obj -o bunny.vti\n"
           "\n'hooke mesh make --help' says more, and so do the others.\n");
}

int cmd_mesh(int argc, char **argv)
{
    if (argc < 2) return cli_usage_error("mesh", "expected make, convert, check, fill or sdf");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_verbs();
        return CLI_DONE;
    }
    const char *names[VERBS];
    for (int i = 0; i < VERBS; ++i) {
        if (strcmp(argv[1], verbs[i].name) == 0) return verbs[i].run(argc - 1, argv + 1);
        names[i] = verbs[i].name;
    }
    const char *nearest = cli_nearest(argv[1], names, VERBS);
    if (nearest)
        return cli_usage_error("mesh", "unknown '%s'; did you mean '%s'?", argv[1], nearest);
    return cli_usage_error("mesh", "unknown '%s'; expected make, convert, check, fill or sdf",
                           argv[1]);
}
