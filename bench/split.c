// Time steps of method split beside those of the others (Split, Tables 1 to 3): bodies of several
// sizes, stiffnesses and time steps, with the phases of a step; how far each pass of split is from
// Newton's motion (--accuracy); and many bodies of one mesh (--large). Writes DIR/split.csv and
// DIR/split.svg, or DIR/split-accuracy.csv and .svg.
//
//   bench_split [--mesh FILE --fix FILE] [--sizes TETS,TETS,…] [--methods NAME,NAME,…]
//               [--threads N] [--seconds S] [--out DIR]
//   bench_split --accuracy [--mesh FILE --fix FILE] [--poisson NU,NU,…]
//   bench_split --large [BODIES]
//
// Bodies are figures that hang by one hand, of corotated material; FILE of --fix has a count and
// the numbers of the held vertices. A row takes S seconds or three steps, whichever is longer.
//
// One pass of split evaluates rotations and the right-hand side in one go over the elements, so no
// clock can tell them apart. After each measured step the rotations are therefore done once more,
// alone, from what they were before it and at the same positions: this time is that of "rotation"
// (deformation gradients and polar decompositions), and "right side" is what the elements took
// beyond it.
#include <math.h>

#include "bench.h"
#include "plot.h"
#include "solver/split.h"
#include "world/world.h"

enum { MOST_ROWS = 128, MOST_STEPS = 1000, MOST_SIZES = 8, MOST_PASSES = 5, SWING = 100 };

typedef struct variant {
    const char *label, *method, *material;
    int iterations;  // 0: the method's own
    const char *option;
    double value;
} variant;

static const variant g_variants[] = {
    {"split", "split", "corotated", 0, NULL, 0},
    {"split, constraints", "split", "corotated", 0, "volume_iterations", 1},
    {"split, 4 passes", "split", "corotated", 0, "passes", 4},
    {"newton", "newton", "corotated", 0, NULL, 0},
    {"quasi_newton, 10 it.", "quasi_newton", "corotated", 10, NULL, 0},
    {"projective, 10 it.", "projective", "arap", 10, NULL, 0},
    {"admm, 10 it.", "admm", "corotated", 10, NULL, 0},
    {"xpbd, 5 substeps", "xpbd", "corotated", 1, "substeps", 5},
    {"xpbd, 20 substeps", "xpbd", "corotated", 1, "substeps", 20},
};
enum { VARIANTS = HK_COUNT_OF(g_variants) };

typedef struct setting {
    double young, poisson, step;
    int threads;
} setting;
static const setting g_usual = {1e6, 0.33, 0.01, 1};

typedef struct row {
    const char *table;
    const variant *method;
    int tets, steps;
    setting at;
    double ms, setup_ms;
    double phase_ms[HK_PHASE_COUNT];
    double rotation_ms;  // of the elements; NAN: not known
} row;

typedef struct arguments {
    const char *mesh, *fix, *sizes, *methods, *poisson, *out;
    int threads, large;
    double seconds;
    bool accuracy;
} arguments;

typedef struct held_mesh {
    hk_mesh *mesh;
    int32_t *held;  // NULL: the hand
    int held_count;
} held_mesh;

// ---------------------------------------------------------------- bodies

static void read_held(const char *path, held_mesh *to)
{
    FILE *file = fopen(path, "r");
    int count = 0, got = 0;
    if (file && fscanf(file, "%d", &count) == 1 && count > 0)
        to->held = calloc((size_t)count, sizeof *to->held);
    while (to->held && got < count && fscanf(file, "%d", &to->held[got]) == 1) got++;
    if (file) fclose(file);
    if (got == 0 || got < count) {
        fprintf(stderr, "bench: %s: expected a count and as many vertices\n", path);
        exit(1);
    }
    to->held_count = count;
}

static held_mesh make_mesh(const arguments *a, int tets)
{
    held_mesh m = {0};
    if (a->mesh) {
        bench_check(hk_mesh_load(a->mesh, &m.mesh));
        if (a->fix) read_held(a->fix, &m);
        return m;
    }
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_FIGURE);
    def.height = 1;
    def.cells[0] = (int)lround(37 * cbrt(tets / 54368.0));  // 37 cells make 54368 tets
    bench_check(hk_mesh_make(&def, &m.mesh));
    return m;
}

static void free_mesh(held_mesh *m)
{
    hk_mesh_free(m->mesh);
    free(m->held);
}

// What lies farthest along x: a hand of a figure.
static hk_selector hand_of(const hk_mesh *mesh)
{
    const double *x = hk_mesh_positions(mesh);
    double low = x[0], high = x[0];
    for (int v = 0; v < hk_mesh_vertex_count(mesh); v++) {
        low = fmin(low, x[3 * v]);
        high = fmax(high, x[3 * v]);
    }
    return (hk_selector){.kind = HK_SELECT_BOX,
                         .box = {{high - 0.06 * (high - low), -1e9, -1e9}, {1e9, 1e9, 1e9}}};
}

// `copies` bodies of the mesh beside each other.
static hk_model *make_model(const held_mesh *m, const char *material, const setting *at, int copies)
{
    hk_selector held = m->held ? (hk_selector){.kind = HK_SELECT_VERTICES,
                                               .vertices = m->held,
                                               .vertex_count = m->held_count}
                               : hand_of(m->mesh);
    hk_body_def *bodies = calloc((size_t)copies, sizeof *bodies);
    hk_selector *hands = calloc((size_t)copies, sizeof *hands);  // where the bodies are
    if (!bodies || !hands) exit(1);
    for (int k = 0; k < copies; k++) {
        bodies[k] = hk_default_body_def();
        bodies[k].mesh = m->mesh;
        bodies[k].material.model = material;
        bodies[k].material.young = at->young;
        bodies[k].material.poisson = at->poisson;
        bodies[k].fixes = &hands[k];
        bodies[k].fix_count = 1;
        bodies[k].transform.translate[0] = 2.0 * (k % 15);
        bodies[k].transform.translate[2] = 2.0 * (k / 15);
        hands[k] = held;
        hands[k].box[0][0] += bodies[k].transform.translate[0];
    }
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = copies;
    hk_model *model = NULL;
    bench_check(hk_model_create(&def, &model));
    free(bodies);
    free(hands);
    return model;
}

static hk_world *make_world(const hk_model *model, const variant *v, const setting *at)
{
    hk_option option = {.name = v->option, .number = v->value};
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = at->step;
    def.threads = at->threads;
    def.solver.method = v->method;
    def.solver.iterations = v->iterations;
    def.solver.options = &option;
    def.solver.option_count = v->option ? 1 : 0;
    hk_world *world = NULL;
    bench_check(hk_world_create(&def, &world));
    hk_world_report_energy(world, false);
    return world;
}

// ---------------------------------------------------------------- tables

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof values[0], bench_compare);
    return values[count / 2];
}

// The rotations of a world of split with one pass, to be done once more.
typedef struct rotations {
    hk_split *split;    // NULL: another method
    float *quaternion;  // those before the step
    float *x;           // [vertex_count][4] where they are evaluated
    size_t bytes;       // of the quaternions
} rotations;

static rotations rotations_of(const hk_world *world, const variant *v)
{
    rotations r = {0};
    bool passes = v->option && strcmp(v->option, "passes") == 0;
    if (strcmp(v->method, "split") != 0 || passes) return r;
    r.split = world->solver;
    const hk_corotation *e = r.split->elements;
    for (int k = 0; k < e->patch_count; k++)
        r.bytes += 4 * sizeof(float) * (size_t)(e->table->lanes * e->patches[k].blocks);
    r.quaternion = malloc(r.bytes);
    r.x = aligned_alloc(64, (16 * (size_t)r.split->problem->vertex_count + 63) / 64 * 64);
    if (!r.quaternion || !r.x) exit(1);
    return r;
}

// After a step: the ms of its rotations alone. They end as the step left them.
static double rotate_again(const rotations *r)
{
    const hk_split *s = r->split;
    const hk_problem *p = s->problem;
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++) {
        const double *from = p->held[k / 4] ? s->before : p->y;
        double origin = s->origin[4 * (int64_t)s->body[k / 4] + k % 4];
        r->x[k] = k % 4 < 3 ? (float)((from[k] - origin) * (1 / s->length)) : 0;
    }
    memcpy(s->elements->quaternion, r->quaternion, r->bytes);
    double begin = hk_now();
    hk_corotation_rotate(s->elements, r->x);
    return 1e3 * (hk_now() - begin);
}

// Medians over steps of the swing, after two that set up and warm up.
static void march(hk_world *world, double seconds, row *r)
{
    static double ms[MOST_STEPS], phases[HK_PHASE_COUNT][MOST_STEPS], rotation[MOST_STEPS];
    rotations turned = rotations_of(world, r->method);
    hk_step_report report;
    double begin = hk_now();
    bench_check(hk_world_step(world, &report));
    r->setup_ms = hk_world_setup_ms(world) + report.ms;
    bench_check(hk_world_step(world, &report));
    int count = 0;
    while (count < MOST_STEPS && (count < 3 || hk_now() - begin < seconds)) {
        if (turned.split)
            memcpy(turned.quaternion, turned.split->elements->quaternion, turned.bytes);
        bench_check(hk_world_step(world, &report));
        if (turned.split) rotation[count] = rotate_again(&turned);
        ms[count] = report.ms;
        for (int k = 0; k < HK_PHASE_COUNT; k++) phases[k][count] = report.phase_ms[k];
        count++;
    }
    r->steps = count;
    r->ms = median(ms, count);
    for (int k = 0; k < HK_PHASE_COUNT; k++) r->phase_ms[k] = median(phases[k], count);
    r->rotation_ms = turned.split ? median(rotation, count) : NAN;
    free(turned.quaternion);
    free(turned.x);
}

static void print_head(const char *title)
{
    printf("\n%s\n%-22s %8s %8s %6s %10s %9s %9s %10s %9s %9s %9s %9s %10s %9s\n", title, "method",
           "tets", "E, Pa", "h, ms", "ms a step", "elements", "rotation", "right side", "matrix",
           "solve", "volume", "other", "set-up ms", "x split");
}

static void print_row(const row *r, double split_ms)
{
    const double *p = r->phase_ms;
    char parts[32];
    snprintf(parts, sizeof parts, "%9s %10s", "", "");
    if (isfinite(r->rotation_ms))
        snprintf(parts, sizeof parts, "%9.3f %10.3f", r->rotation_ms,
                 p[HK_PHASE_ELEMENTS] - r->rotation_ms);
    printf("%-22s %8d %8.0e %6.1f %10.3f %9.3f %s %9.3f %9.3f %9.3f %9.3f %10.1f %9.1f\n",
           r->method->label, r->tets, r->at.young, 1e3 * r->at.step, r->ms, p[HK_PHASE_ELEMENTS],
           parts, p[HK_PHASE_ASSEMBLY] + p[HK_PHASE_FACTOR], p[HK_PHASE_SOLVE], p[HK_PHASE_VOLUME],
           p[HK_PHASE_OTHER], r->setup_ms, r->ms / split_ms);
    fflush(stdout);
}

static bool listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',')) {
        if (*at == ',') at++;
        if (strncmp(at, name, length) == 0 && (at[length] == '\0' || at[length] == ','))
            return true;
    }
    return !list;
}

static int run_methods(const arguments *a, const char *table, const held_mesh *m, setting at,
                       row *rows, int count)
{
    double split_ms = NAN;
    for (int k = 0; k < VARIANTS && count < MOST_ROWS; k++) {
        const variant *v = &g_variants[k];
        if (!listed(a->methods, v->method)) continue;
        row *r = &rows[count++];
        hk_model *model = make_model(m, v->material, &at, 1);
        hk_world *world = make_world(model, v, &at);
        *r = (row){.table = table, .method = v, .tets = hk_model_tet_count(model), .at = at};
        march(world, a->seconds, r);
        if (k == 0) split_ms = r->ms;
        print_row(r, split_ms);
        hk_world_free(world);
        hk_model_free(model);
    }
    return count;
}

static int run_tables(const arguments *a, row *rows)
{
    int count = 0;
    setting at = g_usual;
    at.threads = a->threads;
    print_head("Sizes (Table 1)");
    for (const char *next = a->mesh ? "0" : a->sizes; next; next = strchr(next, ',')) {
        if (*next == ',') next++;
        held_mesh m = make_mesh(a, atoi(next));
        count = run_methods(a, "size", &m, at, rows, count);
        free_mesh(&m);
    }
    held_mesh m = make_mesh(a, 16000);
    print_head("Stiffnesses (Table 2)");
    for (int k = 0; k < 3; k++) {
        setting stiff = at;
        stiff.young = 1e5 * pow(10, k);
        count = run_methods(a, "stiffness", &m, stiff, rows, count);
    }
    print_head("Time steps (Table 3)");
    for (int k = 0; k < 3; k++) {
        setting longer = at;
        longer.step = 0.005 * (1 << k);
        count = run_methods(a, "step", &m, longer, rows, count);
    }
    free_mesh(&m);
    return count;
}

// ---------------------------------------------------------------- files

static void write_tables(const arguments *a, const row *rows, int count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) exit(1);
    fputs("table,method,tets,young,step_ms,threads,ms,elements,assembly,factor,solve,volume,other,"
          "setup_ms,steps,rotation,right_side\n",
          out);
    for (const row *r = rows; r < rows + count; r++) {
        fprintf(out, "%s,\"%s\",%d,%g,%g,%d,%.6g", r->table, r->method->label, r->tets, r->at.young,
                1e3 * r->at.step, r->at.threads, r->ms);
        for (int k = 0; k < HK_PHASE_COUNT; k++) fprintf(out, ",%.6g", r->phase_ms[k]);
        fprintf(out, ",%.6g,%d", r->setup_ms, r->steps);
        if (isfinite(r->rotation_ms))
            fprintf(out, ",%.6g,%.6g\n", r->rotation_ms,
                    r->phase_ms[HK_PHASE_ELEMENTS] - r->rotation_ms);
        else
            fputs(",,\n", out);
    }
    fclose(out);
    bench_write(a->out, "split.csv", text);
    free(text);
}

static void plot_sizes(const arguments *a, const row *rows, int count)
{
    static double tets[VARIANTS][MOST_SIZES], ms[VARIANTS][MOST_SIZES];
    plot_series series[VARIANTS];
    int used = 0;
    for (int k = 0; k < VARIANTS; k++) {
        int n = 0;
        for (const row *r = rows; r < rows + count && n < MOST_SIZES; r++) {
            if (r->method != &g_variants[k] || strcmp(r->table, "size") != 0) continue;
            tets[k][n] = r->tets;
            ms[k][n++] = r->ms;
        }
        if (n > 0) series[used++] = (plot_series){g_variants[k].label, tets[k], ms[k], n};
    }
    const plot_panel panel = {
        NULL, {"tets", true, NAN, NAN}, {"ms a step", true, NAN, NAN}, series, used};
    const plot_figure figure = {"A body swings by one hand", "E = 1 MPa, h = 10 ms", &panel, 1,
                                false};
    char *text = plot_svg(&figure);
    bench_write(a->out, "split.svg", text);
    free(text);
}

// ---------------------------------------------------------------- accuracy

typedef struct swing {
    char label[64];
    double center[SWING + 1][3];
    double far[SWING + 1];  // from Newton's, in percent of the size
    double ms;
} swing;

static void center_of(const hk_world *world, double center[3])
{
    const hk_model *model = hk_world_model(world);
    const double *x = hk_world_positions(world), *mass = hk_model_masses(model);
    double sum[4] = {0};
    for (int v = 0; v < hk_model_vertex_count(model); v++) {
        for (int i = 0; i < 3; i++) sum[i] += mass[v] * x[3 * v + i];
        sum[3] += mass[v];
    }
    for (int i = 0; i < 3; i++) center[i] = sum[i] / sum[3];
}

static double size_of(const hk_mesh *mesh)
{
    const double *x = hk_mesh_positions(mesh);
    double low[3], high[3], size = 0;
    for (int i = 0; i < 3; i++) low[i] = high[i] = x[i];
    for (int v = 0; v < hk_mesh_vertex_count(mesh); v++)
        for (int i = 0; i < 3; i++) {
            low[i] = fmin(low[i], x[3 * v + i]);
            high[i] = fmax(high[i], x[3 * v + i]);
        }
    for (int i = 0; i < 3; i++) size = fmax(size, high[i] - low[i]);
    return size;
}

static void follow(const held_mesh *m, const variant *v, const setting *at, swing *s)
{
    static double ms[SWING];
    hk_model *model = make_model(m, "corotated", at, 1);
    hk_world *world = make_world(model, v, at);
    center_of(world, s->center[0]);
    for (int k = 0; k < SWING; k++) {
        hk_step_report report;
        bench_check(hk_world_step(world, &report));
        center_of(world, s->center[k + 1]);
        ms[k] = report.ms;
    }
    s->ms = median(ms, SWING);
    hk_world_free(world);
    hk_model_free(model);
}

static void measure_distance(const swing *truth, double size, swing *s)
{
    for (int k = 0; k <= SWING; k++) {
        double square = 0;
        for (int i = 0; i < 3; i++)
            square +=
                (s->center[k][i] - truth->center[k][i]) * (s->center[k][i] - truth->center[k][i]);
        s->far[k] = 100 * sqrt(square) / size;
    }
}

static void print_swing(double poisson, const swing *s)
{
    double most = 0, mean = 0;
    for (int k = 1; k <= SWING; k++) {
        most = fmax(most, s->far[k]);
        mean += s->far[k] / SWING;
    }
    printf("%8.3f  %-16s %12.2f %12.2f %12.2f %12.3f\n", poisson, s->label, mean, most,
           s->far[SWING], s->ms);
    fflush(stdout);
}

static void write_swings(const arguments *a, const char *poisson, const swing *swings, int count)
{
    char *text = NULL, name[64];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) exit(1);
    fputs("method,time,x,y,z,distance_percent\n", out);
    for (const swing *s = swings; s < swings + count; s++)
        for (int k = 0; k <= SWING; k++)
            fprintf(out, "\"%s\",%.2f,%.9g,%.9g,%.9g,%.6g\n", s->label, 0.01 * k, s->center[k][0],
                    s->center[k][1], s->center[k][2], s->far[k]);
    fclose(out);
    snprintf(name, sizeof name, "split-accuracy-%.8s.csv", poisson);
    bench_write(a->out, name, text);
    free(text);
    double time[SWING + 1];
    plot_series series[MOST_PASSES];
    for (int k = 0; k <= SWING; k++) time[k] = 0.01 * k;
    for (int k = 1; k < count; k++)
        series[k - 1] = (plot_series){swings[k].label, time, swings[k].far, SWING + 1};
    const plot_panel panel = {NULL,
                              {"time, s", false, 0, 1},
                              {"distance of the centre of mass, % of the size", true, 1e-3, 100},
                              series,
                              count - 1};
    char subtitle[96];
    snprintf(subtitle, sizeof subtitle, "split against Newton, E = 1 MPa, h = 10 ms, nu = %.8s",
             poisson);
    const plot_figure figure = {"What each pass buys", subtitle, &panel, 1, false};
    text = plot_svg(&figure);
    snprintf(name, sizeof name, "split-accuracy-%.8s.svg", poisson);
    bench_write(a->out, name, text);
    free(text);
}

static void run_accuracy(const arguments *a)
{
    static swing swings[MOST_PASSES + 1];
    held_mesh m = make_mesh(a, 3700);
    double size = size_of(m.mesh);
    printf("\nCentre of mass against Newton's in the first second, %% of the size (%.3g m)\n"
           "%8s  %-16s %12s %12s %12s %12s\n",
           size, "nu", "", "mean", "most", "at 1 s", "ms a step");
    for (const char *next = a->poisson; next; next = strchr(next, ',')) {
        if (*next == ',') next++;
        char poisson[16];
        snprintf(poisson, sizeof poisson, "%.*s", (int)strcspn(next, ","), next);
        setting at = g_usual;
        at.threads = a->threads;
        at.poisson = atof(poisson);
        const variant newton = {"newton", "newton", "corotated", 100, NULL, 0};
        snprintf(swings[0].label, sizeof swings[0].label, "newton");
        follow(&m, &newton, &at, &swings[0]);
        measure_distance(&swings[0], size, &swings[0]);
        print_swing(at.poisson, &swings[0]);
        for (int k = 0; k < MOST_PASSES; k++) {
            swing *s = &swings[k + 1];
            const variant v = {"split", "split", "corotated", 0, "passes", 1 << k};
            snprintf(s->label, sizeof s->label, "%d pass%s", 1 << k, k > 0 ? "es" : "");
            follow(&m, &v, &at, s);
            measure_distance(&swings[0], size, s);
            print_swing(at.poisson, s);
        }
        write_swings(a, poisson, swings, MOST_PASSES + 1);
    }
    free_mesh(&m);
}

// ---------------------------------------------------------------- many bodies

static void run_large(const arguments *a)
{
    held_mesh m = make_mesh(a, 3000);
    print_head("Many bodies of one mesh (h = 20 ms)");
    for (int threads = 1; threads <= 2; threads++) {
        setting at = g_usual;
        at.step = 0.02;
        at.threads = threads;
        hk_model *model = make_model(&m, "corotated", &at, a->large);
        hk_world *world = make_world(model, &g_variants[0], &at);
        row r = {"large", &g_variants[0], hk_model_tet_count(model), 0, at, 0, 0, {0}, NAN};
        march(world, a->seconds, &r);
        print_row(&r, r.ms);
        printf("  %s\n", hk_world_describe(world));
        printf("  %d bodies, %d thread%s: %.1f times real time\n", a->large, threads,
               threads > 1 ? "s" : "", 1e3 * at.step / r.ms);
        hk_world_free(world);
        hk_model_free(model);
    }
    free_mesh(&m);
}

// ---------------------------------------------------------------- the program

static bool read_arguments(arguments *a, int argc, char **argv)
{
    *a = (arguments){.sizes = "3700,16000,54400",
                     .poisson = "0.1,0.33,0.45",
                     .out = "out",
                     .threads = 1,
                     .seconds = 2};
    for (int k = 1; k < argc; k++) {
        const char *name = argv[k], *value = k + 1 < argc ? argv[k + 1] : NULL;
        if (strcmp(name, "--accuracy") == 0) {
            a->accuracy = true;
            continue;
        }
        if (strcmp(name, "--large") == 0) {
            bool given = value && value[0] != '-';
            a->large = given ? atoi(value) : 105;
            k += given;
            if (a->large < 1) return false;
            continue;
        }
        if (!value) return false;
        k++;
        if (strcmp(name, "--mesh") == 0)
            a->mesh = value;
        else if (strcmp(name, "--fix") == 0)
            a->fix = value;
        else if (strcmp(name, "--sizes") == 0)
            a->sizes = value;
        else if (strcmp(name, "--methods") == 0)
            a->methods = value;
        else if (strcmp(name, "--poisson") == 0)
            a->poisson = value;
        else if (strcmp(name, "--out") == 0)
            a->out = value;
        else if (strcmp(name, "--threads") == 0)
            a->threads = atoi(value);
        else if (strcmp(name, "--seconds") == 0)
            a->seconds = atof(value);
        else
            return false;
    }
    return a->threads > 0;
}

int main(int argc, char **argv)
{
    arguments a;
    if (!read_arguments(&a, argc, argv)) {
        fprintf(
            stderr,
            "usage: bench_split [--mesh FILE --fix FILE] [--sizes TETS,…] [--methods NAME,…]\n"
            "                   [--threads N] [--seconds S] [--out DIR]\n"
            "                   [--accuracy [--poisson NU,…]] [--large [BODIES]]\n"
            "One pass of split does rotations and right-hand side in one go (\"elements\"); its\n"
            "\"rotation\" is measured by doing the rotations of each step once more, alone;\n"
            "\"right side\" is what the elements took beyond that.\n");
        return 2;
    }
    bench_machine();
    printf("%d thread%s; medians\n", a.threads, a.threads > 1 ? "s" : "");
    if (a.accuracy || a.large > 0) {
        if (a.accuracy) run_accuracy(&a);
        if (a.large > 0) run_large(&a);
        return 0;
    }
    static row rows[MOST_ROWS];
    int count = run_tables(&a, rows);
    write_tables(&a, rows, count);
    plot_sizes(&a, rows, count);
    return 0;
}
