// hooke certify: proves stored states free of intersections.
#include <math.h>
#include <stdlib.h>

#include "cli.h"

static const char purpose[] =
    "Proves that no two faces of the surface meet, in every frame of a series or in mesh\n"
    "files: of one body or of two, down to the last bit of the coordinates, with exact\n"
    "arithmetic. Touching counts as meeting. Exit status 0 if all frames are free of\n"
    "intersections, 1 if some frame is not (the first pair of faces is told).\n"
    "A series holds bodies and no obstacles: \"certify\": true in the \"contact\" of a\n"
    "scene proves every step of its run, with them.";

static const char examples[] = "hooke certify out/bar.pvd\n"
                               "hooke certify out/bar_0012.vtu --json\n"
                               "hooke certify start.msh end.msh";

// What was found so far.
typedef struct verdict {
    int frames, intersecting;  // looked at; of them, those that are not free
    int64_t triangles;         // of the first frame
    int first;                 // frame that is not free
    hk_intersection_report report;
    char *names[2];  // of the first pair
} verdict;

static void tell_first(const verdict *v, const cli_series_file *file)
{
    if (cli_talk.quiet) return;
    FILE *stream = cli_text_stream();
    const hk_intersection_report *r = &v->report;
    char *count = cli_intersection_count(r->count, r->touching);
    cli_progress_clear();
    fprintf(stream, "frame %d (%s", v->first, file->path);
    if (!isnan(file->time)) fprintf(stream, ", t = %.6g s", file->time);
    fprintf(stream, "): %s\n", count);
    for (int k = 0; k < r->listed; ++k) {
        char *text = cli_intersection_text(&r->first[k]);
        fprintf(stream, "  %s\n", text);
        free(text);
    }
    free(count);
}

// Names belong to the mesh, which goes.
static void keep_names(verdict *v)
{
    hk_intersection *first = &v->report.first[0];
    for (int k = 0; k < 2; ++k) {
        v->names[k] = first->names[k] ? cli_format("%s", first->names[k]) : NULL;
        first->names[k] = v->names[k];
    }
}

// Returns -1 or an exit status.
static int look_at(verdict *v, int frame, const cli_series_file *file, int threads)
{
    hk_mesh *mesh;
    hk_intersection_report report;
    if (hk_mesh_load(file->path, &mesh) != HK_OK) return cli_failure("%s", hk_error());
    int result = -1;
    if (hk_mesh_intersections(mesh, threads, &report) != HK_OK)
        result = cli_failure("%s: %s", file->path, hk_error());
    else if (report.triangles == 0)
        result = cli_failure("%s has neither tets nor triangles", file->path);
    if (result < 0) {
        if (v->frames++ == 0) v->triangles = report.triangles;
        if (report.count > 0 && v->intersecting++ == 0) {
            v->first = frame;
            v->report = report;
            tell_first(v, file);
            keep_names(v);
        }
    }
    hk_mesh_free(mesh);
    return result;
}

static json_t *first_json(const verdict *v, const cli_series_file *file)
{
    if (v->intersecting == 0) return json_null();
    return json_pack("{s:i, s:o, s:o, s:I, s:I, s:o}", "frame", v->first, "file",
                     cli_json_text(file->path), "time", cli_json_time(file->time), "count",
                     (json_int_t)v->report.count, "touching", (json_int_t)v->report.touching,
                     "pair", cli_intersection_json(&v->report.first[0]));
}

static int conclude(const verdict *v, const cli_series *series)
{
    bool all = v->frames == series->count, free_of_any = v->intersecting == 0;
    const char *status = !free_of_any ? "intersecting" : all ? "free" : "stopped";
    bool good = true;
    if (cli_talk.json)
        good = cli_json_print(json_pack("{s:s, s:i, s:i, s:I, s:o}", "status", status, "frames",
                                        v->frames, "intersecting", v->intersecting, "triangles",
                                        (json_int_t)v->triangles, "first",
                                        first_json(v, &series->items[v->first])));
    else if (!cli_talk.quiet && free_of_any)
        printf("free of intersections: %d frame%s, %lld triangles\n", v->frames,
               v->frames == 1 ? "" : "s", (long long)v->triangles);
    else if (!cli_talk.quiet)
        printf("%d of %d frame%s %s not free of intersections\n", v->intersecting, v->frames,
               v->frames == 1 ? "" : "s", v->intersecting == 1 ? "is" : "are");
    if (!all) cli_note("stopped after %d of %d frames", v->frames, series->count);
    return good && all && free_of_any ? CLI_DONE : CLI_FAILED;
}

static int certify(const cli_series *series, int threads)
{
    verdict v = {0};
    cli_progress progress;
    cli_catch_interrupts();
    cli_progress_begin(&progress, series->count);
    int result = -1;
    for (int k = 0; k < series->count && result < 0 && !cli_interrupted(); ++k) {
        result = look_at(&v, k, &series->items[k], threads);
        if (series->count > 1)
            cli_progress_text(&progress, "frame %d of %d  %s  %.1f s", k + 1, series->count,
                              v.intersecting ? "not free" : "free so far",
                              cli_now() - progress.start);
    }
    cli_progress_end(&progress);
    if (result < 0) result = conclude(&v, series);
    for (int k = 0; k < 2; ++k) free(v.names[k]);
    return result;
}

int cmd_certify(int argc, char **argv)
{
    int threads = 0;
    const cli_option options[] = {
        {"threads", 0, CLI_INT, &threads, "N", "0: all cores; the result does not depend on it"},
        {"json", 0, CLI_FLAG, &cli_talk.json, NULL, "print the result as one JSON object"},
        {"quiet", 'q', CLI_FLAG, &cli_talk.quiet, NULL, "only the exit status tells"},
    };
    const cli_spec spec = {.command = "certify",
                           .arguments = "SERIES.pvd|FILE…",
                           .purpose = purpose,
                           .examples = examples,
                           .options = options,
                           .option_count = sizeof options / sizeof options[0],
                           .least_words = 1,
                           .most_words = 1000000};
    cli_texts words;
    int result = cli_parse(&spec, argc, argv, &words);
    if (result >= 0) return result;
    cli_series series = {0};
    result = cli_series_read(&series, &words);
    cli_texts_free(&words);
    if (result < 0) result = certify(&series, threads);
    cli_series_free(&series);
    return result;
}
