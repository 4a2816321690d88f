// The experiments of Extreme (section 4): A, a body crushed flat and sheared, with six schemes and
// ours, the correction that looks again; B, the same with other velocities V of the correction,
// turned about its axis from trial to trial; C, a body pulled up at its top. Prints tables and
// writes extreme-5.svg (the greatest speed of a vertex), extreme-6.svg (iterations and residuals),
// extreme-9.svg (steps above 1.5 m/s) and extreme-11.svg (the time until the lowest vertex has
// risen by 50 mm). B and C are with the document's correction.
//
//   bench_extreme [--scenes FOLDER] [--mesh FILE --scale S --lift M] [--experiments ABCD]
//                 [--method NAME] [--trials N] [--out DIR]
//
// With --mesh the body of experiment A is that of a file, scaled and lifted onto the floor. D is
// the crush with Hooke's own contact (crush-contact.json) under other methods; --method names one
// of them.
#include <math.h>
#include <stdarg.h>
#include <time.h>

#include "bench.h"
#include "plot.h"

enum { MOST_STEPS = 1000, MOST_OVERRIDES = 24, VELOCITIES = 7, MESHES = 4 };
#define TOO_FAST 1.5   // m/s
#define RISEN    0.05  // m

typedef struct settings {
    const char *folder, *out, *mesh, *experiments, *method;
    double scale, lift;
    int trials;
} settings;

typedef struct overrides {
    char text[MOST_OVERRIDES][320];
    const char *list[MOST_OVERRIDES];
    int count;
} overrides;

__attribute__((format(printf, 2, 3))) static void add(overrides *o, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(o->text[o->count], sizeof o->text[0], format, arguments);
    va_end(arguments);
    o->list[o->count] = o->text[o->count];
    o->count++;
}

// What was seen of a run.
typedef struct trace {
    char label[48];
    double time[MOST_STEPS], speed[MOST_STEPS];           // s, m/s
    double iterations[MOST_STEPS], residual[MOST_STEPS];  // of the linear system
    int count, fast;  // steps; those with a vertex above TOO_FAST
    int converged;    // steps
    double cpu;       // s, of all threads
    bool ended;       // no step failed
    double away;      // of the shape that it had at the beginning, at the end; relative to its size
    double seconds;   // of the clock
    double risen;     // s, when the lowest vertex was RISEN above where it began; NAN: never
} trace;

// ---------------------------------------------------------------- one run

static double greatest_speed(hk_world *world)
{
    const double *v = hk_world_velocities(world);
    double most = 0;
    for (int64_t k = 0; k < hk_model_vertex_count(hk_world_model(world)); k++)
        most = fmax(most, v[3 * k] * v[3 * k] + v[3 * k + 1] * v[3 * k + 1] +
                              v[3 * k + 2] * v[3 * k + 2]);
    return sqrt(most);
}

static double lowest(hk_world *world)
{
    const double *x = hk_world_positions(world);
    double low = INFINITY;
    for (int64_t k = 0; k < hk_model_vertex_count(hk_world_model(world)); k++)
        low = fmin(low, x[3 * k + 1]);
    return low;
}

// The farthest that a vertex is from where it was, relative to the height of all.
static double distance_from(hk_world *world, const double *first)
{
    const double *x = hk_world_positions(world);
    double most = 0, low = INFINITY, high = -INFINITY;
    for (int64_t k = 0; k < hk_model_vertex_count(hk_world_model(world)); k++) {
        double square = 0;
        for (int64_t i = 3 * k; i < 3 * k + 3; i++) square += (x[i] - first[i]) * (x[i] - first[i]);
        most = fmax(most, square);
        low = fmin(low, first[3 * k + 1]);
        high = fmax(high, first[3 * k + 1]);
    }
    return sqrt(most) / (high - low);
}

static void note_step(hk_world *world, const hk_step_report *report, trace *t)
{
    const char *told = strstr(report->detail, "iterations, residual ");
    int k = t->count++;
    t->time[k] = hk_world_time(world);
    t->speed[k] = greatest_speed(world);
    t->iterations[k] = report->iterations;
    t->residual[k] = told ? atof(told + strlen("iterations, residual ")) : NAN;
    t->fast += t->speed[k] > TOO_FAST;
    t->converged += report->reason == HK_CONVERGED;
}

static void run(const char *path, const overrides *o, trace *t)
{
    hk_scene *scene;
    hk_model *model;
    hk_world *world;
    bench_check(hk_scene_load(path, o->list, o->count, &scene));
    bench_check(hk_model_create(hk_scene_model(scene), &model));
    hk_world_def def = *hk_scene_world(scene);
    def.model = model;
    bench_check(hk_world_create(&def, &world));
    size_t bytes = 3 * sizeof(double) * (size_t)hk_model_vertex_count(model);
    double *first = malloc(bytes), low = lowest(world);
    if (!first) exit(1);
    memcpy(first, hk_world_positions(world), bytes);
    clock_t cpu = clock();
    t->ended = true;
    t->risen = NAN;
    for (int k = 0; k < hk_scene_steps(scene) && k < MOST_STEPS && t->ended; k++) {
        hk_step_report report;
        double begin = hk_now();
        bench_check(hk_world_step(world, &report));
        t->seconds += hk_now() - begin;
        t->ended = hk_reason_outcome(report.reason) != HK_OUTCOME_FAILED;
        note_step(world, &report, t);
        if (!(t->risen > 0) && lowest(world) > low + RISEN) t->risen = hk_world_time(world);
    }
    t->cpu = (double)(clock() - cpu) / CLOCKS_PER_SEC;
    t->away = distance_from(world, first);
    free(first);
    hk_world_free(world);
    hk_model_free(model);
    hk_scene_free(scene);
}

static void print_trace(const trace *t)
{
    double most = 0, iterations = 0;
    for (int k = 0; k < t->count; k++) {
        most = fmax(most, t->speed[k]);
        iterations += t->iterations[k] / t->count;
    }
    printf("%-22s %6d %s %10.3g %8d %10.1f %12.4f %10.2f\n", t->label, t->count,
           t->ended ? "ended " : "FAILED", most, t->fast, iterations, 100 * t->away,
           1e3 * t->seconds / t->count);
}

static void print_heading(const char *title)
{
    printf("\n%s\n%-22s %13s %10s %8s %10s %12s %10s\n", title, "scheme", "steps", "most m/s",
           "too fast", "iterations", "% from rest", "ms a step");
}

static void path_of(const settings *s, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", s->folder, name);
}

static void set_mesh(const settings *s, overrides *o)
{
    if (!s->mesh) return;
    add(o, "bodies.0.mesh={\"file\": \"%s\"}", s->mesh);
    add(o, "bodies.0.transform={\"scale\": %.17g, \"translate\": [0, %.17g, 0]}", s->scale,
        s->lift);
}

static void write_svg(const settings *s, const char *name, const plot_figure *figure)
{
    char *text = plot_svg(figure);
    bench_write(s->out, name, text);
    free(text);
}

// ---------------------------------------------------------------- A

static void draw_schemes(const settings *s, const trace *t, int count)
{
    plot_series speed[8], iterations[8], residual[8];
    for (int k = 0; k < count; k++) {
        speed[k] = (plot_series){t[k].label, t[k].time, t[k].speed, t[k].count};
        iterations[k] = (plot_series){t[k].label, t[k].time, t[k].iterations, t[k].count};
        residual[k] = (plot_series){t[k].label, t[k].time, t[k].residual, t[k].count};
    }
    plot_panel five = {NULL, {"time, s", false, NAN, NAN}, {"m/s", true, 1e-3, 1e3}, speed, count};
    plot_figure figure = {"Crush and shear", "greatest speed of a vertex", &five, 1, false};
    write_svg(s, "extreme-5.svg", &figure);
    plot_panel six[] = {
        {"iterations", {"time, s", false, NAN, NAN}, {"", false, 0, NAN}, iterations, count},
        {"relative residual", {"time, s", false, NAN, NAN}, {"", true, 1e-7, 10}, residual, count}};
    figure = (plot_figure){"Crush and shear", "the linear system of every step", six, 2, false};
    write_svg(s, "extreme-6.svg", &figure);
}

static void run_schemes(const settings *s)
{
    static trace t[7];
    static const char *const solvers[] = {"cg", "bicgstab", "qmr"};
    char path[512];
    path_of(s, "crush.json", path, sizeof path);
    print_heading("A. Crush and shear (floor and plate by eq. 33)");
    for (int k = 0; k < 7; k++) {
        overrides o = {.count = 0};
        bool again = k == 6, corrected = again || k % 2;
        const char *solver = solvers[again ? 2 : k / 2];
        set_mesh(s, &o);
        add(&o, "solver.linear=%s", solver);
        add(&o, "solver.correction_velocity=%g", corrected ? 0.1 : 0);
        if (!again) add(&o, "solver.correction_passes=0");
        snprintf(t[k].label, sizeof t[k].label, "%s%s%s", solver, corrected ? " + correction" : "",
                 again ? ", again" : "");
        run(path, &o, &t[k]);
        print_trace(&t[k]);
    }
    draw_schemes(s, t, 7);
}

// ---------------------------------------------------------------- B and C

static const double g_velocities[VELOCITIES] = {0.0008, 0.004, 0.02, 0.1, 0.5, 2.5, 12.5};
static const int g_cells[MESHES] = {10, 12, 14, 16};

static void draw_sweep(const settings *s, const char *name, const char *title, const char *unit,
                       double y[MESHES][VELOCITIES])
{
    char labels[MESHES][48];
    plot_series series[MESHES];
    for (int m = 0; m < MESHES; m++) {
        snprintf(labels[m], sizeof labels[m], "figure of %d cells", g_cells[m]);
        series[m] = (plot_series){labels[m], g_velocities, y[m], VELOCITIES};
    }
    plot_panel panel = {NULL, {"V, m/s", true, NAN, NAN}, {unit, false, 0, NAN}, series, MESHES};
    plot_figure figure = {title, "by the velocity V of the correction, QMR", &panel, 1, false};
    write_svg(s, name, &figure);
}

static void print_sweep(const char *title, double y[MESHES][VELOCITIES])
{
    printf("\n%s\n%-10s", title, "V, m/s");
    for (int m = 0; m < MESHES; m++) printf(" %7d cells", g_cells[m]);
    for (int v = 0; v < VELOCITIES; v++) {
        printf("\n%-10g", g_velocities[v]);
        for (int m = 0; m < MESHES; m++) printf(" %13.3f", y[m][v]);
    }
    printf("\n");
}

static void sweep_crush(const settings *s)
{
    static double fast[MESHES][VELOCITIES];
    static trace t;
    char path[512];
    path_of(s, "crush.json", path, sizeof path);
    for (int m = 0; m < MESHES; m++)
        for (int v = 0; v < VELOCITIES; v++)
            for (int n = 0; n < s->trials; n++) {
                overrides o = {.count = 0};
                t = (trace){.count = 0};
                add(&o, "bodies.0.mesh.figure.cells=%d", g_cells[m]);
                add(&o, "bodies.0.transform={\"rotate\": {\"axis\": [0, 1, 0], \"degrees\": %g}}",
                    360.0 * n / s->trials);
                add(&o, "solver.correction_velocity=%g", g_velocities[v]);
                add(&o, "solver.correction_passes=0");
                run(path, &o, &t);
                fast[m][v] += (double)t.fast / s->trials;
            }
    print_sweep("B. Steps with a vertex above 1.5 m/s, means over trials", fast);
    draw_sweep(s, "extreme-9.svg", "Steps with a vertex above 1.5 m/s", "steps", fast);
}

static void sweep_pull(const settings *s)
{
    static double risen[MESHES][VELOCITIES];
    static trace t;
    char path[512];
    path_of(s, "pull-up.json", path, sizeof path);
    for (int m = 0; m < MESHES; m++)
        for (int v = 0; v < VELOCITIES; v++) {
            overrides o = {.count = 0};
            t = (trace){.count = 0};
            add(&o, "bodies.0.mesh.figure.cells=%d", g_cells[m]);
            add(&o, "solver.correction_velocity=%g", g_velocities[v]);
            add(&o, "solver.correction_passes=0");
            run(path, &o, &t);
            risen[m][v] = t.risen;
        }
    print_sweep("C. Seconds until the lowest vertex has risen by 50 mm", risen);
    draw_sweep(s, "extreme-11.svg", "Time until the lowest vertex has risen by 50 mm", "s", risen);
}

// ---------------------------------------------------------------- D

// A method with what it needs to come back: docs/extreme.md says why.
typedef struct method_case {
    const char *method;
    const char *sets[3];
} method_case;

#define SOFT(law)                          \
    "bodies.0.material={\"model\": \"" law \
    "\", \"young\": 1e6, \"poisson\": 0.45, \"density\": 1000}"

static const method_case g_methods[] = {
    {"newton", {NULL}},
    {"descent",
     {"solver.precision=double", "solver.iterations=100", "bodies.0.material.invertible=true"}},
    {"quasi_newton", {NULL}},
    {"projective", {SOFT("arap")}},
    {"vbd", {"solver.iterations=200"}},
    {"split", {SOFT("corotated")}},
};

static void print_cost(const trace *t)
{
    double simulated = t->count ? t->time[t->count - 1] : NAN;
    printf("%-22s to t = %.2f s, %d steps converged; for a second of it %.2f s of CPU, %.2f s of "
           "the clock\n",
           "", simulated, t->converged, t->cpu / simulated, t->seconds / simulated);
    fflush(stdout);
}

static void run_methods(const settings *s)
{
    static trace t;
    char path[512];
    path_of(s, "crush-contact.json", path, sizeof path);
    print_heading("D. Crush and shear with Hooke's own contact");
    for (size_t k = 0; k < sizeof g_methods / sizeof g_methods[0]; k++) {
        const method_case *m = &g_methods[k];
        overrides o = {.count = 0};
        if (s->method && strcmp(s->method, m->method) != 0) continue;
        t = (trace){.count = 0};
        set_mesh(s, &o);
        add(&o, "solver.method=%s", m->method);
        for (int n = 0; n < 3 && m->sets[n]; n++) add(&o, "%s", m->sets[n]);
        snprintf(t.label, sizeof t.label, "%s", m->method);
        run(path, &o, &t);
        print_trace(&t);
        print_cost(&t);
    }
}

// ---------------------------------------------------------------- main

static bool read_arguments(int argc, char **argv, settings *s)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!value) return false;
        if (strcmp(argv[i], "--scenes") == 0)
            s->folder = value;
        else if (strcmp(argv[i], "--out") == 0)
            s->out = value;
        else if (strcmp(argv[i], "--mesh") == 0)
            s->mesh = value;
        else if (strcmp(argv[i], "--scale") == 0)
            s->scale = atof(value);
        else if (strcmp(argv[i], "--lift") == 0)
            s->lift = atof(value);
        else if (strcmp(argv[i], "--experiments") == 0)
            s->experiments = value;
        else if (strcmp(argv[i], "--method") == 0)
            s->method = value;
        else if (strcmp(argv[i], "--trials") == 0)
            s->trials = atoi(value);
        else
            return false;
        i++;
    }
    return s->trials > 0 && s->scale > 0;
}

int main(int argc, char **argv)
{
    settings s = {
        .folder = "scenes/extreme", .out = "out", .experiments = "ABC", .scale = 1, .trials = 3};
    if (!read_arguments(argc, argv, &s)) {
        fprintf(stderr, "usage: bench_extreme [--scenes FOLDER] [--mesh FILE --scale S --lift M] "
                        "[--experiments ABCD] [--method NAME] [--trials N] [--out DIR]\n");
        return 2;
    }
    bench_machine();
    if (strchr(s.experiments, 'A')) run_schemes(&s);
    if (strchr(s.experiments, 'B')) sweep_crush(&s);
    if (strchr(s.experiments, 'C')) sweep_pull(&s);
    if (strchr(s.experiments, 'D')) run_methods(&s);
    return 0;
}
