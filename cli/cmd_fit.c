// hooke fit: estimates material parameters, so that the pose of a scene matches an observed shape.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char purpose[] =
    "Finds the material parameters with which the pose of the scene comes nearest to an\n"
    "observed shape, each with its standard deviation. The target is the mesh of the\n"
    "scene, deformed, or a .csv with rows vertex,x,y,z (as --points writes) of all\n"
    "vertices or of some. Values in the scene are the start; 100 times too much or too\n"
    "little is near enough. Gross errors among the points are found, named and left out.\n"
    "--points and \"output\" write the fitted pose. \"time\" and \"solver\" play no part.\n"
    "\n"
    "--vary names what is to be found, separated by commas: young, poisson, density,\n"
    "fibre.stiffness or a parameter of the material's own, of all bodies and regions\n"
    "(which must have the same value), or of one: bodies.0.young,\n"
    "bodies.0.regions.1.young; bodies.*.young and bodies.0.regions.*.young are one for\n"
    "each. Where the target cannot tell them apart, that is said, and the exit status is 1.";

static const char examples[] =
    "hooke fit scenes/beam.json --target sagged.csv\n"
    "hooke fit scenes/beam.json --target sagged.msh --vary young,poisson --json\n"
    "hooke fit scenes/regions.json --target seen.csv --vary "
    "bodies.0.young,bodies.0.regions.0.young";

typedef struct fitted {
    cli_session session;
    const char *target, *vary;
    double outlier;
    hk_fit *fit;
    hk_fit_report report;
} fitted;

// ---------------------------------------------------------------- the fit

static bool watch_iteration(void *context, const hk_iteration *iteration)
{
    fitted *f = context;
    cli_progress_text(&f->session.progress, "iteration %d  misfit %.4g m  relative gradient %.2e",
                      iteration->iteration, iteration->residual, iteration->relative_residual);
    return !cli_interrupted();
}

static hk_status find_fit(fitted *f)
{
    const hk_world_def world = cli_session_world(&f->session);
    if (world.backend == HK_BACKEND_CUDA) cli_note("fit works on the CPU");
    hk_fit_def def = hk_default_fit_def();
    def.model = hk_scene_model(f->session.scene);
    def.threads = world.threads;
    def.outlier = f->outlier;
    if (f->vary) def.vary = f->vary;
    hk_status status = hk_fit_create(&def, &f->fit);
    if (status == HK_OK) status = hk_fit_load_target(f->fit, f->target);
    if (status != HK_OK) return status;
    hk_fit_set_monitor(f->fit, watch_iteration, f);
    return hk_fit_solve(f->fit, &f->report);
}

static void tell_end(fitted *f)
{
    const hk_fit_report *r = &f->report;
    cli_tell_ending(&f->session.results, &(cli_ending){"fit", "the best values so far are",
                                                       r->reason, r->iterations, r->detail});
    if (r->outliers > 0)
        cli_note("%d of %d points do not fit and %s left out", r->outliers, r->observed,
                 r->outliers == 1 ? "was" : "were");
}

// A world with the materials found, in their pose: energies and stresses are those of it.
static hk_status pose_world(fitted *f)
{
    hk_model *model = NULL;
    hk_status status = hk_fit_model(f->fit, &model);
    if (status != HK_OK) return status;
    return cli_session_show(&f->session, model, hk_fit_positions(f->fit));
}

// ---------------------------------------------------------------- JSON

static json_t *parameters_json(const fitted *f)
{
    json_t *parameters = json_object();
    for (int k = 0; k < hk_fit_parameter_count(f->fit); ++k) {
        const hk_fit_parameter *p = hk_fit_parameter_at(f->fit, k);
        json_object_set_new(parameters, p->name,
                            json_pack("{s:o, s:o, s:o}", "value", cli_json_real(p->value),
                                      "deviation", cli_json_real(p->deviation), "start",
                                      cli_json_real(p->start)));
    }
    return parameters;
}

static json_t *outliers_json(const fitted *f)
{
    json_t *list = json_array();
    for (int k = 0; k < f->report.outliers; ++k) {
        int vertex = hk_fit_outliers(f->fit)[k];
        json_array_append_new(list, json_pack("{s:i, s:o}", "vertex", vertex, "distance",
                                              cli_json_real(hk_fit_distances(f->fit)[vertex])));
    }
    return list;
}

static json_t *settings_json(const fitted *f)
{
    json_t *list = json_array();
    const char *line;
    for (int k = 0; (line = hk_fit_setting(f->fit, k)); ++k)
        json_array_append_new(list, cli_json_text(line));
    return list;
}

static void gather(fitted *f)
{
    const hk_fit_report *r = &f->report;
    cli_results *results = &f->session.results;
    hk_step_report step = {.reason = r->reason,
                           .iterations = r->iterations,
                           .residual = r->residual,
                           .relative_residual = r->relative_residual,
                           .ms = r->ms};
    memcpy(step.phase_ms, r->phase_ms, sizeof step.phase_ms);
    cli_session_add_solve(&f->session, step);
    results->steps = r->poses;
    results->more = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:{s:i, s:i, s:i}, s:o, s:o, s:i, s:i}", "method",
        "levenberg_marquardt", "setup_ms", cli_json_real(hk_fit_setup_ms(f->fit)), "parameters",
        parameters_json(f), "misfit", cli_json_real(r->rms), "noise", cli_json_real(r->noise),
        "sag", cli_json_real(r->sag), "relative_gradient", cli_json_real(r->relative_gradient),
        "points", "observed", r->observed, "missing", r->missing, "held", r->held, "outliers",
        outliers_json(f), "set", settings_json(f), "poses", r->poses, "pose_iterations",
        r->pose_iterations);
    if (results->more && r->detail[0])
        json_object_set_new(results->more, "detail", cli_json_text(r->detail));
}

// ---------------------------------------------------------------- the summary

static void print_method(FILE *stream, void *context)
{
    const fitted *f = context;
    fprintf(stream, "  method      levenberg_marquardt, newton for poses (%d iterations) on cpu",
            f->report.pose_iterations);
}

static void print_parameters(FILE *stream, const fitted *f)
{
    int width = 4;
    for (int k = 0; k < hk_fit_parameter_count(f->fit); ++k) {
        int length = (int)strlen(hk_fit_parameter_at(f->fit, k)->name);
        width = length > width ? length : width;
    }
    for (int k = 0; k < hk_fit_parameter_count(f->fit); ++k) {
        const hk_fit_parameter *p = hk_fit_parameter_at(f->fit, k);
        fprintf(stream, "  %-10s  %-*s  %.6g", k == 0 ? "found" : "", width, p->name, p->value);
        if (isfinite(p->deviation))
            fprintf(stream, " ± %.2g (%.2g %%)", p->deviation, 100 * p->deviation / fabs(p->value));
        else
            fprintf(stream, " (the target does not tell it)");
        fprintf(stream, ", from %.6g\n", p->start);
    }
}

static void print_outliers(FILE *stream, const fitted *f)
{
    enum { SHOWN = 6 };
    const hk_fit_report *r = &f->report;
    if (r->outliers == 0) return;
    fprintf(stream, "  left out    %d point%s:", r->outliers, r->outliers == 1 ? "" : "s");
    for (int k = 0; k < r->outliers && k < SHOWN; ++k) {
        int vertex = hk_fit_outliers(f->fit)[k];
        fprintf(stream, "%s vertex %d (%.3g m off)", k ? "," : "", vertex,
                hk_fit_distances(f->fit)[vertex]);
    }
    fprintf(stream, "%s\n", r->outliers > SHOWN ? ", …" : "");
}

static void print_found(FILE *stream, void *context)
{
    const fitted *f = context;
    const hk_fit_report *r = &f->report;
    print_parameters(stream, f);
    fprintf(stream, "  misfit      %.4g m, root mean square", r->rms);
    if (r->sag > 0) fprintf(stream, " (%.2g %% of the sag, %.4g m)", 100 * r->rms / r->sag, r->sag);
    if (isfinite(r->noise)) fprintf(stream, "; noise about %.2g m", r->noise);
    fprintf(stream, "\n  points      %d", r->observed);
    if (r->missing > 0) fprintf(stream, ", %d missing", r->missing);
    if (r->held > 0) fprintf(stream, ", %d of held vertices, which tell nothing", r->held);
    fputc('\n', stream);
    print_outliers(stream, f);
    const char *line;
    if (hk_reason_outcome(r->reason) != HK_OUTCOME_CONVERGED) return;
    for (int k = 0; (line = hk_fit_setting(f->fit, k)); ++k)
        fprintf(stream, "  %-10s  --set %s\n", k == 0 ? "use it by" : "", line);
}

// ---------------------------------------------------------------- the command

static int check_given(const void *context)
{
    const fitted *f = context;
    if (!f->target) return cli_usage_error("fit", "'--target FILE' is needed: the observed shape");
    cli_keep_file(f->target, "the target");
    return -1;
}

static int fail_session(fitted *f)
{
    int status = cli_failure("%s: %s", f->session.scene_path, hk_error());
    hk_fit_free(f->fit);
    cli_session_drop(&f->session);
    return status;
}

int cmd_fit(int argc, char **argv)
{
    fitted f = {0};
    const cli_option options[] = {
        {"target", 0, CLI_TEXT, &f.target, "FILE", "the observed shape, a mesh or .csv"},
        {"vary", 0, CLI_TEXT, &f.vary, "NAMES", "what to find (default: young)"},
        {"outlier", 0, CLI_REAL, &f.outlier, "N",
         "leave out points that are N deviations off (default: 5; -1: none)"},
    };
    const cli_more more = {.options = options,
                           .option_count = 3,
                           .no_world = true,
                           .check = check_given,
                           .context = &f};
    int result = cli_session_begin_with(&f.session, "fit", purpose, examples, &more, argc, argv);
    if (result >= 0) return result;
    cli_catch_interrupts();
    cli_progress_begin(&f.session.progress, 0);
    hk_status status = find_fit(&f);
    cli_progress_end(&f.session.progress);
    if (status == HK_OK) status = pose_world(&f);
    if (status != HK_OK) return fail_session(&f);
    gather(&f);
    tell_end(&f);
    cli_frames *frames = &f.session.frames;
    if (cli_frames_lack(frames, hk_world_time(f.session.world)) &&
        cli_frames_write(frames, f.session.world) != HK_OK)
        cli_results_fail(&f.session.results, "%s", hk_error());
    f.session.steps = "poses";
    f.session.print_method = print_method;
    f.session.print_found = print_found;
    f.session.print_context = &f;
    result = cli_session_end(&f.session, false);
    hk_fit_free(f.fit);
    return result;
}
