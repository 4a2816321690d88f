// hooke rest: takes the meshes of a scene for the shape under load and finds the rest shape.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char purpose[] =
    "Takes the meshes of the scene for the shape under gravity and its loads, and finds\n"
    "the rest shape: made in that shape, the body sags into the one of the scene.\n"
    "--points, --skin and \"output\" write the rest shape; --stl the surface to print, in\n"
    "millimetres: the skins of bodies that have one, else the outside of their tets. Of\n"
    "sheets rest lengths are found, and they stay where they are. \"time\" plays no part, of\n"
    "\"solver\" the tolerance and the iterations do, and nothing that holds a body may move.\n"
    "Where no rest shape carries the whole load, what was reached is told, and the exit\n"
    "status is 1.";

static const char examples[] =
    "hooke rest scenes/beam.json --stl print.stl\n"
    "hooke rest scenes/beam.json --mesh rest.msh --points rest.csv --json\n"
    "hooke rest scenes/beam.json --set bodies.0.skin.file=fine.obj --stl print.stl\n"
    "hooke rest scenes/beam.json --set bodies.0.material.young=5e6 --method newton_lu";

enum { STL, MESH };

typedef struct found {
    cli_session session;
    const char *stl, *mesh, *method, *linear;
    int iterations;            // seen so far
    hk_mesh_report printable;  // of the STL as it was written; no triangles: it was not
    hk_rest *rest;
    hk_rest_report report;
} found;

// ---------------------------------------------------------------- the solve

static bool watch_iteration(void *context, const hk_iteration *iteration)
{
    found *f = context;
    if (iteration->iteration > 0)
        cli_progress_pose(&f->session.progress, ++f->iterations, iteration);
    return !cli_interrupted();
}

static hk_status find_rest(found *f)
{
    const hk_world_def world = cli_session_world(&f->session);
    if (world.backend == HK_BACKEND_CUDA) cli_note("rest works on the CPU");
    hk_rest_def def = hk_default_rest_def();
    def.model = f->session.model;
    def.threads = world.threads;
    def.tolerance = world.solver.tolerance;
    def.iterations = world.solver.iterations;
    if (f->method) def.method = f->method;
    if (f->linear) def.linear = f->linear;
    hk_status status = hk_rest_create(&def, &f->rest);
    if (status != HK_OK) return status;
    hk_rest_set_monitor(f->rest, watch_iteration, f);
    status = hk_rest_solve(f->rest, NULL, &f->report);
    if (status == HK_OK) status = hk_rest_find_overlaps(f->rest, &f->report);
    return status == HK_OK ? hk_rest_find_stability(f->rest, &f->report) : status;
}

static void tell_end(found *f)
{
    const hk_rest_report *r = &f->report;
    cli_tell_ending(&f->session.results, &(cli_ending){"rest shape", "the best shape so far is",
                                                       r->reason, r->iterations, r->detail});
}

// ---------------------------------------------------------------- overlaps of the rest shape

static const char *body_name(const found *f, int body)
{
    const hk_model_def *model = hk_scene_model(f->session.scene);
    return ((const hk_body_def *)hk_def_at(model->bodies, body))->name;
}

static hk_intersection first_overlap(const found *f)
{
    const hk_rest_report *r = &f->report;
    hk_intersection first = {.touching = r->overlap_touches};
    memcpy(first.faces, r->overlap_faces, sizeof first.faces);
    memcpy(first.bodies, r->overlap_bodies, sizeof first.bodies);
    memcpy(first.place, r->overlap_place, sizeof first.place);
    for (int k = 0; k < 2; ++k) first.names[k] = body_name(f, first.bodies[k]);
    return first;
}

static json_t *overlaps_json(const found *f)
{
    const hk_rest_report *r = &f->report;
    hk_intersection first = first_overlap(f);
    return json_pack("{s:i, s:i, s:o}", "count", r->overlaps, "touching", r->touching, "first",
                     r->overlaps ? cli_intersection_json(&first) : json_null());
}

static void tell_overlaps(const found *f)
{
    const hk_rest_report *r = &f->report;
    if (r->overlaps == 0) return;
    hk_intersection first = first_overlap(f);
    char *count = cli_intersection_count(r->overlaps, r->touching);
    char *text = cli_intersection_text(&first);
    cli_warn("the rest shape %s itself and cannot be made like that: %s, first %s",
             r->touching == r->overlaps ? "touches" : "overlaps", count, text);
    free(count);
    free(text);
}

// Where the detail of the report has other news.
static void tell_stability(const found *f)
{
    if (f->report.unstable && !strstr(f->report.detail, "unstable"))
        cli_warn("the loaded shape is an unstable equilibrium: made like that, the body goes "
                 "elsewhere; make it stiffer or lighter, or hold it in more places");
}

// ---------------------------------------------------------------- the loaded state

// A world with the rest shape found, in the loaded shape: energies and stresses are those of it.
static hk_status load_world(found *f)
{
    hk_model *model = NULL;
    hk_status status = hk_rest_model(f->rest, &model);
    if (status != HK_OK) return status;
    return cli_session_show(&f->session, model, hk_model_rest_positions(f->session.model));
}

// Where a vertex or the middle of a tet is under load.
static void find_place(const found *f, bool tet, int number, double at[3])
{
    const double *x = hk_model_rest_positions(f->session.model);
    hk_mesh *mesh = NULL;
    for (int i = 0; i < 3; ++i) at[i] = tet ? 0 : x[3 * (size_t)number + (size_t)i];
    if (!tet || hk_world_mesh(f->session.world, &mesh) != HK_OK) return;
    const int32_t *c = hk_mesh_tets(mesh) + 4 * (size_t)number;
    for (int k = 0; k < 12; ++k) at[k % 3] += 0.25 * x[3 * (size_t)c[k / 3] + k % 3];
    hk_mesh_free(mesh);
}

static json_t *place_json(const found *f, bool tet, int number)
{
    double at[3];
    if (tet && hk_model_tet_count(f->session.model) == 0) return json_null();
    find_place(f, tet, number, at);
    return json_pack("[o, o, o]", cli_json_real(at[0]), cli_json_real(at[1]), cli_json_real(at[2]));
}

static void gather_sheets(const hk_rest_report *r, json_t *more)
{
    if (r->sheet_vertex < 0) return;
    json_object_set_new(more, "sheets",
                        json_pack("{s:o, s:i, s:[o, o], s:i}", "relative_residual",
                                  cli_json_real(r->sheet_residual), "vertex", r->sheet_vertex,
                                  "rest_lengths", cli_json_real(r->least_rest_length),
                                  cli_json_real(r->greatest_rest_length), "pushing_springs",
                                  r->pushing_springs));
}

static void gather(found *f)
{
    const hk_rest_report *r = &f->report;
    cli_results *results = &f->session.results;
    hk_step_report step = {.reason = r->reason,
                           .iterations = r->iterations,
                           .linear_iterations = r->linear_iterations,
                           .residual = r->residual,
                           .relative_residual = r->relative_residual,
                           .ms = r->ms};
    memcpy(step.phase_ms, r->phase_ms, sizeof step.phase_ms);
    cli_session_add_solve(&f->session, step);
    results->steps = r->load_steps;
    results->more = json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:{s:o, s:o, s:o}}", "method",
        f->method ? f->method : "auto", "attempts", r->attempts, "setup_ms",
        cli_json_real(hk_rest_setup_ms(f->rest)), "load_reached", cli_json_real(r->load_reached),
        "sag", cli_json_real(r->sag), "least_j", cli_json_real(r->least_j), "greatest_stretch",
        cli_json_real(r->greatest_stretch), "correction", cli_json_real(r->correction), "stable",
        !r->unstable, "overlaps", overlaps_json(f), "where", "sag",
        place_json(f, false, r->sag_vertex), "least_j", place_json(f, true, r->least_j_tet),
        "greatest_stretch", place_json(f, true, r->greatest_stretch_tet));
    gather_sheets(r, results->more);
}

// ---------------------------------------------------------------- files

// The surface of what is to be made, skins where there are some, in millimetres.
static hk_status save_stl(const found *f, const char *path)
{
    const hk_model *model = f->session.model;
    size_t count = 3 * (size_t)hk_model_vertex_count(model);
    double *scaled = cli_realloc(NULL, count, sizeof *scaled);
    for (size_t k = 0; k < count; ++k) scaled[k] = 1000 * hk_rest_positions(f->rest)[k];
    hk_mesh *mesh = NULL;
    hk_status status = hk_model_surface(model, scaled, false, &mesh);
    free(scaled);
    if (status == HK_OK) status = hk_mesh_save(mesh, path, NULL, 0);
    hk_mesh_free(mesh);
    return status;
}

// What a slicer will find in it.
static void check_stl(found *f)
{
    const char *path = f->session.outputs[STL];
    hk_mesh *mesh = NULL;
    if (!path || hk_mesh_load(path, &mesh) != HK_OK) return;
    if (hk_mesh_check(mesh, &f->printable) != HK_OK) f->printable.triangles = 0;
    hk_mesh_free(mesh);
    const hk_mesh_report *r = &f->printable;
    json_object_set_new(
        f->session.results.more, "stl",
        json_pack("{s:b, s:i, s:[f, f, f]}", "watertight", r->open_edges.count == 0, "triangles",
                  r->triangles, "size_mm", r->bounds[1][0] - r->bounds[0][0],
                  r->bounds[1][1] - r->bounds[0][1], r->bounds[1][2] - r->bounds[0][2]));
    long long open = (long long)r->open_edges.count;
    if (open > 0)
        cli_note("%s is not watertight: %lld edges of its triangles are open, as in the skin", path,
                 open);
}

static hk_status save_mesh(const found *f, const char *path)
{
    hk_mesh *mesh = NULL;
    hk_status status = hk_world_mesh(f->session.world, &mesh);
    if (status == HK_OK) status = hk_mesh_set_positions(mesh, hk_rest_positions(f->rest));
    if (status == HK_OK) status = hk_mesh_save(mesh, path, NULL, 0);
    hk_mesh_free(mesh);
    return status;
}

// The rest shape with where it goes under load, and what it then bears.
static hk_status save_frame(found *f, const char *path)
{
    hk_world *world = f->session.world;
    hk_mesh *mesh = NULL;
    hk_status status = hk_world_mesh(world, &mesh);
    if (status != HK_OK) return status;
    size_t vertices = (size_t)hk_mesh_vertex_count(mesh), tets = (size_t)hk_mesh_tet_count(mesh);
    double *values = cli_realloc(NULL, 3 * vertices + 2 * tets, sizeof *values);
    const hk_field fields[] = {{"displacement", HK_ON_VERTICES, 3, values},
                               {"von_mises", HK_ON_TETS, 1, values + 3 * vertices},
                               {"J", HK_ON_TETS, 1, values + 3 * vertices + tets}};
    for (int k = 0; k < 3 && status == HK_OK; ++k)
        status = hk_world_field(world, fields[k].name, (double *)fields[k].values);
    if (status == HK_OK) status = hk_mesh_set_positions(mesh, hk_rest_positions(f->rest));
    if (status == HK_OK) status = hk_mesh_save(mesh, path, fields, 3);
    free(values);
    hk_mesh_free(mesh);
    return status;
}

// The rest positions; the world goes back to the loaded shape.
static hk_status save_points(const found *f, const char *path)
{
    hk_world *world = f->session.world;
    hk_status status = hk_world_set_positions(world, hk_rest_positions(f->rest));
    if (status == HK_OK) status = hk_world_save_points(world, path);
    if (status != HK_OK) return status;
    return hk_world_set_positions(world, hk_model_rest_positions(f->session.model));
}

static hk_status write_frame(found *f)
{
    cli_frames *frames = &f->session.frames;
    hk_status status = HK_OK;
    if (frames->series) {
        char *path = cli_format("%s_0000.vtu", frames->stem);
        const char *name = cli_file_name(path);
        double time = 0;
        status = save_frame(f, path);
        if (status == HK_OK) status = hk_series_save(frames->series, &time, &name, 1);
        free(path);
    }
    if (status == HK_OK && frames->points) {
        char *path = cli_format("%s_0000.csv", frames->points);
        status = save_points(f, path);
        free(path);
    }
    if (status != HK_OK || !(frames->series || frames->points)) return status;
    frames->files = cli_realloc(NULL, 1, sizeof *frames->files);
    frames->files[0] = NULL;  // it is beside the series, which is written already
    frames->count = 1;
    return HK_OK;
}

static void write_points(found *f)
{
    cli_session *s = &f->session;
    if (!s->points) return;
    s->points_written = save_points(f, s->points) == HK_OK;
    if (s->points_written) return;
    cli_results_fail(&s->results, "%s", hk_error());
    free(s->points);
    s->points = NULL;
}

static void forget(char **path)
{
    free(*path);
    *path = NULL;
}

// A shape for a part of the load is nothing to print.
static void write_shape(found *f, int output)
{
    cli_session *s = &f->session;
    const char *path = s->outputs[output];
    if (!path) return;
    bool failed = hk_reason_outcome(f->report.reason) == HK_OUTCOME_FAILED;
    hk_status status = failed ? HK_OK : output == STL ? save_stl(f, path) : save_mesh(f, path);
    if (status != HK_OK) cli_results_fail(&s->results, "%s", hk_error());
    if (failed || status != HK_OK) forget(&s->outputs[output]);
}

// ---------------------------------------------------------------- the summary

static void print_method(FILE *stream, void *context)
{
    const found *f = context;
    fprintf(stream, "  method      %s%s%s on cpu", f->method ? f->method : "auto",
            f->report.attempts[0] ? ": " : "", f->report.attempts);
}

static void print_stl(FILE *stream, const hk_mesh_report *r)
{
    if (r->triangles == 0) return;
    fprintf(stream, "  print       %.4g × %.4g × %.4g mm, %d triangles, %s\n",
            r->bounds[1][0] - r->bounds[0][0], r->bounds[1][1] - r->bounds[0][1],
            r->bounds[1][2] - r->bounds[0][2], r->triangles,
            r->open_edges.count == 0 ? "watertight" : "not watertight");
}

static void print_solids(FILE *stream, const found *f)
{
    const hk_rest_report *r = &f->report;
    const double *x = hk_model_rest_positions(f->session.model) + 3 * (size_t)r->sag_vertex;
    const double *X = hk_rest_positions(f->rest) + 3 * (size_t)r->sag_vertex;
    if (r->load_reached < 1)
        fprintf(stream, "  load        %.4g %% of it\n", 100 * r->load_reached);
    fprintf(stream,
            "  sag         at most %.6g m: vertex %d, from (%.4g, %.4g, %.4g) to "
            "(%.4g, %.4g, %.4g)\n",
            r->sag, r->sag_vertex, X[0], X[1], X[2], x[0], x[1], x[2]);
    double a[3], b[3];
    find_place(f, true, r->greatest_stretch_tet, a);
    find_place(f, true, r->least_j_tet, b);
    fprintf(stream, "  stretch     at most %.4g: tet %d at (%.4g, %.4g, %.4g)\n",
            r->greatest_stretch, r->greatest_stretch_tet, a[0], a[1], a[2]);
    fprintf(stream,
            "  least J     %.4g, volume under load by volume at rest: tet %d at "
            "(%.4g, %.4g, %.4g)\n",
            r->least_j, r->least_j_tet, b[0], b[1], b[2]);
    if (r->unstable) fprintf(stream, "  balance     unstable\n");
    if (r->overlaps > 0) {
        char *count = cli_intersection_count(r->overlaps, r->touching);
        fprintf(stream, "  overlaps    %s in the rest shape\n", count);
        free(count);
    }
}

// Positions of sheets are those of the scene.
static void print_sheets(FILE *stream, const hk_rest_report *r)
{
    fprintf(stream, "  sheets      rest lengths %.4g to %.4g of the lengths in the scene",
            r->least_rest_length, r->greatest_rest_length);
    if (r->pushing_springs > 0) fprintf(stream, ", %d springs push", r->pushing_springs);
    fprintf(stream, "\n  left        %.3g of the load on them, most at vertex %d\n",
            r->sheet_residual, r->sheet_vertex);
}

static void print_found(FILE *stream, void *context)
{
    const found *f = context;
    if (hk_model_tet_count(f->session.model) > 0) print_solids(stream, f);
    if (f->report.sheet_vertex >= 0) print_sheets(stream, &f->report);
    print_stl(stream, &f->printable);
}

// ---------------------------------------------------------------- the command

static int check_options(const found *f)
{
    if (f->stl && hk_model_tet_count(f->session.model) == 0)
        return cli_failure("%s: --stl: there is no body of tets to print", f->session.scene_path);
    if (f->stl && !cli_ends_with(f->stl, ".stl"))
        return cli_usage_error("rest", "'--stl %s': expected a name that ends in .stl", f->stl);
    static const char *const linear[] = {"auto", "direct", "multigrid"};
    bool known = !f->linear;
    for (int k = 0; k < 3 && !known; ++k) known = strcmp(f->linear, linear[k]) == 0;
    if (!known)
        return cli_usage_error("rest", "'--linear %s': expected auto, direct or multigrid",
                               f->linear);
    if (!f->method) return -1;
    for (int k = 0; k < hk_rest_method_count(); ++k)
        if (strcmp(f->method, hk_rest_method_name(k)) == 0) return -1;
    return cli_usage_error(
        "rest", "'--method %s': expected auto, fixed_point, newton_gmres or newton_lu", f->method);
}

static int fail_session(found *f)
{
    int status = cli_failure("%s: %s", f->session.scene_path, hk_error());
    hk_rest_free(f->rest);
    cli_session_drop(&f->session);
    return status;
}

int cmd_rest(int argc, char **argv)
{
    found f = {0};
    const cli_option options[] = {
        {"stl", 0, CLI_TEXT, &f.stl, "FILE.stl", "write the surface to print, in millimetres"},
        {"mesh", 0, CLI_TEXT, &f.mesh, "FILE", "write the rest shape as a mesh, in metres"},
        {"method", 0, CLI_TEXT, &f.method, "NAME", "auto, fixed_point, newton_gmres or newton_lu"},
        {"linear", 0, CLI_TEXT, &f.linear, "NAME", "auto, direct or multigrid (for large meshes)"},
    };
    const cli_more more = {
        .options = options, .option_count = 4, .outputs = {&f.stl, &f.mesh}, .no_world = true};
    int result = cli_session_begin_with(&f.session, "rest", purpose, examples, &more, argc, argv);
    if (result >= 0) return result;
    result = check_options(&f);
    if (result >= 0) {
        cli_session_drop(&f.session);
        return result;
    }
    cli_catch_interrupts();
    cli_progress_begin(&f.session.progress, 0);
    hk_status status = find_rest(&f);
    cli_progress_end(&f.session.progress);
    if (status == HK_OK) status = load_world(&f);
    if (status != HK_OK) return fail_session(&f);
    gather(&f);
    tell_end(&f);
    tell_overlaps(&f);
    tell_stability(&f);
    if (write_frame(&f) != HK_OK) cli_results_fail(&f.session.results, "%s", hk_error());
    write_points(&f);
    write_shape(&f, STL);
    check_stl(&f);
    write_shape(&f, MESH);
    f.session.skin_shape = hk_rest_positions(f.rest);
    if (hk_reason_outcome(f.report.reason) == HK_OUTCOME_FAILED) forget(&f.session.skin);
    f.session.print_method = print_method;
    f.session.print_found = print_found;
    f.session.print_context = &f;
    result = cli_session_end(&f.session, false);
    hk_rest_free(f.rest);
    return result;
}
