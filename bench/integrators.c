// The energy of a free vibration with every time integrator, at the time step of the scene and at a
// quarter of it. Prints what is left at the end and what it costs, and writes DIR/integrators.csv
// and DIR/integrators.svg.
//
//   bench_integrators --scene scenes/figures/vibration.json [--out DIR]
#include <math.h>

#include "bench.h"
#include "plot.h"

enum { PANELS = 2, MOST_SERIES = 16, FINER = 4 };

typedef struct curve {
    char label[64];
    double *time, *energy;  // [count] s; relative to the first
    int count;
    double ms;  // of a step
    int iterations;
} curve;

static double energy_of(hk_world *world)
{
    hk_energy energy;
    bench_check(hk_world_energy(world, &energy, NULL));
    return energy.total;
}

// A step that fails ends the curve.
static void trace(const hk_scene *scene, hk_model *model, const char *integrator, bool conserve,
                  int finer, curve *c)
{
    hk_world_def def = *hk_scene_world(scene);
    def.model = model;
    def.step /= finer;
    def.integrator = integrator;
    def.conserve = conserve;
    hk_world *world;
    bench_check(hk_world_create(&def, &world));
    int steps = finer * hk_scene_steps(scene);
    snprintf(c->label, sizeof c->label, "%s%s", integrator, conserve ? ", conserve" : "");
    c->time = malloc(sizeof(double) * (size_t)(steps + 1));
    c->energy = malloc(sizeof(double) * (size_t)(steps + 1));
    if (!c->time || !c->energy) exit(1);
    double first = energy_of(world), seconds = 0;
    for (int k = 0; k <= steps; k++) {
        c->time[k] = hk_world_time(world);
        c->energy[k] = energy_of(world) / first;
        c->count = k + 1;
        hk_step_report report;
        double begin = hk_now();
        bench_check(hk_world_step(world, &report));
        seconds += hk_now() - begin;
        c->iterations += report.iterations;
        if (hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED) break;
    }
    c->ms = 1e3 * seconds / c->count;
    hk_world_free(world);
}

static int trace_all(const hk_scene *scene, hk_model *model, int finer, curve *curves)
{
    int count = 0;
    for (int k = 0; k < hk_integrator_count() && count < MOST_SERIES - 1; k++)
        trace(scene, model, hk_integrator_name(k), false, finer, &curves[count++]);
    trace(scene, model, hk_integrator_name(0), true, finer, &curves[count++]);
    return count;
}

static void print_table(const curve *curves, int count, double step)
{
    printf("\nh = %g ms\n%-26s %10s %10s %10s %12s %10s\n", 1e3 * step, "integrator", "at the end",
           "least", "most", "iterations", "ms a step");
    for (int k = 0; k < count; k++) {
        const curve *c = &curves[k];
        double least = INFINITY, most = 0;
        for (int n = 0; n < c->count; n++) {
            least = fmin(least, c->energy[n]);
            most = fmax(most, c->energy[n]);
        }
        printf("%-26s %10.4f %10.4f %10.4f %12.2f %10.2f\n", c->label, c->energy[c->count - 1],
               least, most, (double)c->iterations / c->count, c->ms);
    }
}

static void write_csv(const char *folder, curve curves[PANELS][MOST_SERIES], int count,
                      const double *steps)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) exit(1);
    fprintf(out, "step,integrator,time,energy\n");
    for (int p = 0; p < PANELS; p++)
        for (int k = 0; k < count; k++)
            for (int n = 0; n < curves[p][k].count; n++)
                fprintf(out, "%g,\"%s\",%.17g,%.17g\n", steps[p], curves[p][k].label,
                        curves[p][k].time[n], curves[p][k].energy[n]);
    fclose(out);
    bench_write(folder, "integrators.csv", text);
    free(text);
}

static void write_svg(const char *folder, curve curves[PANELS][MOST_SERIES], int count,
                      const double *steps)
{
    static plot_series series[PANELS][MOST_SERIES];
    char titles[PANELS][64];
    plot_panel panels[PANELS];
    for (int p = 0; p < PANELS; p++) {
        for (int k = 0; k < count; k++)
            series[p][k] = (plot_series){curves[p][k].label, curves[p][k].time, curves[p][k].energy,
                                         curves[p][k].count};
        snprintf(titles[p], sizeof titles[p], "h = %g ms", 1e3 * steps[p]);
        panels[p] = (plot_panel){titles[p],
                                 {"time, s", false, NAN, NAN},
                                 {"energy, relative to the first", false, 0, NAN},
                                 series[p],
                                 count};
    }
    plot_figure figure = {"A bar that vibrates freely", "kinetic and elastic energy", panels,
                          PANELS, true};
    char *text = plot_svg(&figure);
    bench_write(folder, "integrators.svg", text);
    free(text);
}

int main(int argc, char **argv)
{
    const char *folder = "out", *path = "scenes/figures/vibration.json";
    bool good = argc % 2 == 1;
    for (int i = 1; good && i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--out") == 0)
            folder = argv[i + 1];
        else if (strcmp(argv[i], "--scene") == 0)
            path = argv[i + 1];
        else
            good = false;
    }
    if (!good) {
        fprintf(stderr, "usage: bench_integrators [--scene FILE] [--out DIR]\n");
        return 2;
    }
    static curve curves[PANELS][MOST_SERIES];
    hk_scene *scene;
    hk_model *model;
    bench_check(hk_scene_load(path, NULL, 0, &scene));
    bench_check(hk_model_create(hk_scene_model(scene), &model));
    double steps[PANELS] = {hk_scene_world(scene)->step, hk_scene_world(scene)->step / FINER};
    int count = 0;
    for (int p = 0; p < PANELS; p++) {
        count = trace_all(scene, model, p ? FINER : 1, curves[p]);
        print_table(curves[p], count, steps[p]);
    }
    write_csv(folder, curves, count, steps);
    write_svg(folder, curves, count, steps);
    for (int p = 0; p < PANELS; p++)
        for (int k = 0; k < count; k++) free(curves[p][k].time), free(curves[p][k].energy);
    hk_model_free(model);
    hk_scene_free(scene);
    return 0;
}
