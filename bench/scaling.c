// How the cost of a time step of method descent grows with the mesh, and whether bodies stretch the
// more the finer they are (Descent, Figure 9 and Table 1): a double helix that hangs from its upper
// ends, at several resolutions, with the same number of iterations. Writes DIR/scaling.csv and
// DIR/scaling.svg.
//
//   bench_scaling [--scene FILE] [--cells N,N,…] [--truth N] [--steps N] [--out DIR]
//
// --truth N also marches the helix of N cells by quasi_newton to a tolerance of 1e-4.
#include <math.h>

#include "bench.h"
#include "plot.h"

enum { MOST_RUNS = 8, MOST_STEPS = 1000 };

typedef struct helix_run {
    char label[64];
    int tets;
    double ms;                      // median of a step
    double height[MOST_STEPS + 1];  // over that at rest
    double relative_residual;       // of the last step
} helix_run;

typedef struct settings {
    const char *scene, *cells, *out;
    int steps, truth;
} settings;

static double height_of(const double *x, int count)
{
    double low = INFINITY, high = -INFINITY;
    for (int v = 0; v < count; v++) low = fmin(low, x[3 * v + 1]), high = fmax(high, x[3 * v + 1]);
    return high - low;
}

static hk_world *make_world(const settings *s, int cells, bool truth, hk_scene **scene)
{
    char cells_set[64];
    snprintf(cells_set, sizeof cells_set, "bodies.0.mesh.helix.cells=%d", cells);
    const char *sets[] = {
        cells_set, "solver={\"method\": \"quasi_newton\", \"initial\": \"updating_hessian\", "
                   "\"iterations\": 500, \"tolerance\": 1e-4}"};
    hk_model *model;
    hk_world *world;
    bench_check(hk_scene_load(s->scene, sets, truth ? 2 : 1, scene));
    bench_check(hk_model_create(hk_scene_model(*scene), &model));
    hk_world_def def = hk_copy_world_def(hk_scene_world(*scene));
    def.model = model;
    bench_check(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

static void march(const settings *s, int cells, bool truth, helix_run *run)
{
    hk_scene *scene;
    hk_world *world = make_world(s, cells, truth, &scene);
    const hk_model *model = hk_world_model(world);
    int count = hk_model_vertex_count(model);
    double rest = height_of(hk_model_rest_positions(model), count), ms[MOST_STEPS];
    run->tets = hk_model_tet_count(model);
    run->height[0] = 1;
    for (int k = 0; k < s->steps; k++) {
        hk_step_report report;
        bench_check(hk_world_step(world, &report));
        ms[k] = report.ms;
        run->height[k + 1] = height_of(hk_world_positions(world), count) / rest;
        run->relative_residual = report.relative_residual;
    }
    qsort(ms, (size_t)s->steps, sizeof ms[0], bench_compare);
    run->ms = ms[s->steps / 2];
    snprintf(run->label, sizeof run->label, "%s%d tets", truth ? "quasi_newton, " : "", run->tets);
    hk_world_free(world);
    hk_scene_free(scene);
}

static void print_run(const settings *s, const helix_run *run)
{
    double longest = 0;
    for (int k = 0; k <= s->steps; k++) longest = fmax(longest, run->height[k]);
    printf("%-28s %12.2f %14.2f %12.4f %12.4f %12.1e\n", run->label, run->ms,
           1e6 * run->ms / run->tets, longest, run->height[s->steps], run->relative_residual);
    fflush(stdout);
}

static void write_csv(const settings *s, const helix_run *runs, int count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) exit(1);
    fputs("run,tets,ms_per_step,step,height\n", out);
    for (int i = 0; i < count; i++)
        for (int k = 0; k <= s->steps; k++)
            fprintf(out, "\"%s\",%d,%.6g,%d,%.9g\n", runs[i].label, runs[i].tets, runs[i].ms, k,
                    runs[i].height[k]);
    fclose(out);
    bench_write(s->out, "scaling.csv", text);
    free(text);
}

// `timed` of the runs are of descent; the others follow.
static void write_svg(const settings *s, const helix_run *runs, int timed, int count)
{
    double step[MOST_STEPS + 1], tets[MOST_RUNS], ms[MOST_RUNS], line[MOST_RUNS];
    plot_series heights[MOST_RUNS + 1];
    for (int k = 0; k <= s->steps; k++) step[k] = k;
    for (int i = 0; i < count; i++)
        heights[i] = (plot_series){runs[i].label, step, runs[i].height, s->steps + 1};
    for (int i = 0; i < timed; i++) {
        tets[i] = runs[i].tets;
        ms[i] = runs[i].ms;
        line[i] = runs[0].ms * runs[i].tets / runs[0].tets;
    }
    const plot_series costs[] = {{"measured", tets, ms, timed},
                                 {"in proportion", tets, line, timed}};
    const plot_panel elongation = {NULL,
                                   {"step", false, 0, s->steps},
                                   {"height / height at rest", false, NAN, NAN},
                                   heights,
                                   count};
    const plot_panel cost = {
        NULL, {"tets", true, NAN, NAN}, {"ms a step", true, NAN, NAN}, costs, 2};
    plot_figure figure = {"A double helix hangs",
                          "descent at several resolutions, the same number of iterations",
                          &elongation, 1, false};
    char *text = plot_svg(&figure);
    bench_write(s->out, "scaling-height.svg", text);
    free(text);
    figure = (plot_figure){"Milliseconds a step against the size of the mesh",
                           "descent, the same number of iterations", &cost, 1, false};
    text = plot_svg(&figure);
    bench_write(s->out, "scaling.svg", text);
    free(text);
}

static int read_arguments(settings *s, int argc, char **argv)
{
    *s = (settings){"scenes/figures/helix.json", "3,4", "out", 20, 0};
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "--scene") == 0)
            s->scene = argv[k + 1];
        else if (strcmp(argv[k], "--cells") == 0)
            s->cells = argv[k + 1];
        else if (strcmp(argv[k], "--out") == 0)
            s->out = argv[k + 1];
        else if (strcmp(argv[k], "--steps") == 0)
            s->steps = atoi(argv[k + 1]);
        else if (strcmp(argv[k], "--truth") == 0)
            s->truth = atoi(argv[k + 1]);
        else
            return 2;
    }
    return argc % 2 == 1 && s->steps > 0 && s->steps <= MOST_STEPS ? 0 : 2;
}

int main(int argc, char **argv)
{
    settings s;
    if (read_arguments(&s, argc, argv) != 0) {
        fprintf(stderr, "usage: bench_scaling [--scene FILE] [--cells N,N] [--truth N] [--steps N] "
                        "[--out DIR]\n");
        return 2;
    }
    static helix_run runs[MOST_RUNS];
    int count = 0;
    bench_machine();
    printf("%-28s %12s %14s %12s %12s %12s\n", "", "ms a step", "ns a tet", "longest", "last",
           "residual");
    for (const char *at = s.cells; at && count < MOST_RUNS - 1; at = strchr(at, ',')) {
        if (*at == ',') at++;
        march(&s, atoi(at), false, &runs[count]);
        print_run(&s, &runs[count++]);
    }
    int timed = count;
    if (s.truth > 0) {
        march(&s, s.truth, true, &runs[count]);
        print_run(&s, &runs[count++]);
    }
    write_csv(&s, runs, count);
    write_svg(&s, runs, timed, count);
    return 0;
}
