// Rest shapes: from scratch to 1e-6 of the load, and where the time goes; after an edit, with the
// factor of the shape before it and with a new one; ours and TwoWay's way side by side. With
// --figures the curves of its figures, as comma-separated values: 2 (components of the Jacobian
// left out), 3 (solvers compared), 4 (factors used for M iterations), 6 (starts after an edit).
//
//   bench_design [--mesh FILE] [--fix FILE] [--young E] [--poisson NU] [--repeat N] [--threads N]
//                [--methods all|ours] [--linear auto|direct|multigrid] [--figures FOLDER]
//                [--longest CPU_SECONDS]
//
// Without a mesh it is the generated figure, held by its feet. FILE of --fix: a count, then the
// numbers of the vertices that are held; without it those in the lowest 5 % along y.
#include <math.h>

#include "design/curves.h"
#include "design_body.h"
#include "model/model.h"

enum { MOST_RUNS = 100 };

typedef struct options {
    const char *mesh, *fix, *methods, *linear, *figures;
    double young, poisson, tolerance;
    double longest;  // CPU s, of a curve
    int repeat, threads;
} options;

static options parse(int argc, char **argv)
{
    options o = {.methods = "all",
                 .linear = "auto",
                 .young = 3e6,
                 .poisson = 0.45,
                 .tolerance = 1e-6,
                 .longest = 30,
                 .repeat = 5};
    for (int k = 1; k + 1 < argc; k += 2) {
        const char *name = argv[k], *value = argv[k + 1];
        if (strcmp(name, "--mesh") == 0) o.mesh = value;
        if (strcmp(name, "--fix") == 0) o.fix = value;
        if (strcmp(name, "--methods") == 0) o.methods = value;
        if (strcmp(name, "--young") == 0) o.young = atof(value);
        if (strcmp(name, "--poisson") == 0) o.poisson = atof(value);
        if (strcmp(name, "--tolerance") == 0) o.tolerance = atof(value);
        if (strcmp(name, "--repeat") == 0) o.repeat = atoi(value);
        if (strcmp(name, "--threads") == 0) o.threads = atoi(value);
        if (strcmp(name, "--linear") == 0) o.linear = value;
        if (strcmp(name, "--figures") == 0) o.figures = value;
        if (strcmp(name, "--longest") == 0) o.longest = atof(value);
    }
    if (o.repeat < 1 || o.repeat > MOST_RUNS) {
        fprintf(stderr, "bench_design: --repeat takes 1 to %d\n", MOST_RUNS);
        exit(2);
    }
    return o;
}

// ---------------------------------------------------------------- from scratch

static void print_heading(void)
{
    printf("%-22s %9s %9s %9s %9s %9s", "method", "total ms", "CPU", "create", "again", "CPU");
    for (int p = 0; p < HK_PHASE_COUNT; p++)
        if (p != HK_PHASE_VOLUME) printf(" %9s", hk_phase_name((hk_phase)p));
    printf(" %5s %6s %5s %9s  %s\n", "it", "linear", "LU", "residual", "attempts");
}

typedef struct trial {
    double ms, cpu_ms, create_ms;  // from scratch: creation and first solve
    double again_ms, again_cpu_ms;
    hk_rest_report report;
} trial;

static int compare_trials(const void *a, const void *b)
{
    return bench_compare(&((const trial *)a)->ms, &((const trial *)b)->ms);
}

static trial try_once(const hk_rest_def *def)
{
    trial t = {0};
    hk_rest *rest = NULL;
    hk_rest_report warm;
    double start = hk_now(), cpu = bench_cpu();
    bench_check(hk_rest_create(def, &rest));
    bench_check(hk_rest_solve(rest, NULL, &t.report));
    t.ms = 1e3 * (hk_now() - start);
    t.cpu_ms = 1e3 * (bench_cpu() - cpu);
    t.create_ms = hk_rest_setup_ms(rest);
    if (strcmp(def->method, "newton_lu") != 0) {
        cpu = bench_cpu();
        bench_check(hk_rest_solve(rest, NULL, &warm));
        t.again_ms = warm.ms;
        t.again_cpu_ms = 1e3 * (bench_cpu() - cpu);
    }
    hk_rest_free(rest);
    return t;
}

static double median_again(const trial *trials, int count)
{
    double again[MOST_RUNS];
    for (int k = 0; k < count; k++) again[k] = trials[k].again_ms;
    qsort(again, (size_t)count, sizeof again[0], bench_compare);
    return again[count / 2];
}

// The run whose time is the median of all.
static void run(const options *o, const hk_model *model, const char *method, int reuse)
{
    trial trials[MOST_RUNS];
    hk_rest_def def = hk_default_rest_def();
    def.model = model;
    def.method = method;
    def.tolerance = o->tolerance;
    def.threads = o->threads;
    def.reuse = reuse;
    def.linear = o->linear;
    for (int k = 0; k < o->repeat; k++) trials[k] = try_once(&def);
    qsort(trials, (size_t)o->repeat, sizeof trials[0], compare_trials);
    const trial *median = &trials[o->repeat / 2];
    const hk_rest_report *report = &median->report;
    char name[64];
    snprintf(name, sizeof name, reuse > 1 ? "%s, M = %d" : "%s", method, reuse);
    printf("%-22s %9.1f %9.1f %9.1f %9.1f %9.1f", name, median->ms, median->cpu_ms,
           median->create_ms, median_again(trials, o->repeat), median->again_cpu_ms);
    for (int p = 0; p < HK_PHASE_COUNT; p++)
        if (p != HK_PHASE_VOLUME) printf(" %9.1f", report->phase_ms[p]);
    printf(" %5d %6d %5d %9.1e  %s%s%s\n", report->iterations, report->linear_iterations,
           report->factorisations, report->relative_residual, report->attempts,
           report->reason == HK_CONVERGED ? "" : ": ",
           report->reason == HK_CONVERGED ? "" : hk_reason_name(report->reason));
}

// ---------------------------------------------------------------- an edit

// The shape twisted about y, by 30 degrees from end to end.
static double *twisted(const hk_model *model)
{
    int n = hk_model_vertex_count(model);
    const double *x = hk_model_rest_positions(model);
    double *edited = malloc(sizeof *edited * 3 * (size_t)n), low = x[1], high = x[1];
    for (int v = 0; v < n; v++) {
        low = fmin(low, x[3 * v + 1]);
        high = fmax(high, x[3 * v + 1]);
    }
    for (int v = 0; v < n; v++) {
        double angle = acos(-1.0) / 6 * (x[3 * v + 1] - low) / (high - low);
        edited[3 * v] = cos(angle) * x[3 * v] + sin(angle) * x[3 * v + 2];
        edited[3 * v + 1] = x[3 * v + 1];
        edited[3 * v + 2] = cos(angle) * x[3 * v + 2] - sin(angle) * x[3 * v];
    }
    return edited;
}

typedef struct edit {
    double whole, cpu, set_shape, refactor;  // s
    hk_rest_report report;
} edit;

static int compare_edits(const void *a, const void *b)
{
    return bench_compare(&((const edit *)a)->whole, &((const edit *)b)->whole);
}

static edit edit_once(hk_rest *rest, const double *edited, bool anew)
{
    edit now;
    double start = hk_now(), cpu_start = bench_cpu();
    bench_check(hk_rest_set_shape(rest, edited));
    now.set_shape = hk_now() - start;
    if (anew) bench_check(hk_rest_refactor(rest));
    now.refactor = hk_now() - start - now.set_shape;
    bench_check(hk_rest_solve(rest, NULL, &now.report));
    now.whole = hk_now() - start;
    now.cpu = bench_cpu() - cpu_start;
    return now;
}

// From the shape of the model to the edited one: with the old factor, or with a new one. The median
// of several.
static edit take_edit(const options *o, const hk_model *model, const double *edited, bool anew)
{
    edit edits[MOST_RUNS];
    hk_rest_def def = hk_default_rest_def();
    def.model = model;
    def.tolerance = o->tolerance;
    def.threads = o->threads;
    def.linear = o->linear;
    hk_rest *rest = NULL;
    bench_check(hk_rest_create(&def, &rest));
    for (int k = 0; k < o->repeat; k++) {
        bench_check(hk_rest_set_shape(rest, hk_model_rest_positions(model)));
        bench_check(hk_rest_refactor(rest));
        bench_check(hk_rest_solve(rest, NULL, NULL));
        edits[k] = edit_once(rest, edited, anew);
    }
    hk_rest_free(rest);
    qsort(edits, (size_t)o->repeat, sizeof edits[0], compare_edits);
    return edits[o->repeat / 2];
}

static void run_edit(const options *o, const hk_model *model)
{
    double *edited = twisted(model);
    for (int anew = 0; anew <= 1; anew++) {
        edit e = take_edit(o, model, edited, anew);
        const hk_rest_report *r = &e.report;
        printf("edit of 30 degrees, %s: %.1f ms, CPU %.1f (shape %.1f, factor %.1f, elements %.1f, "
               "Laplacian "
               "%.1f, solves %.1f), %d iterations, %d of GMRES, %s: %s\n",
               anew ? "new factor" : "old factor", 1e3 * e.whole, 1e3 * e.cpu, 1e3 * e.set_shape,
               1e3 * e.refactor, r->phase_ms[HK_PHASE_ELEMENTS], r->phase_ms[HK_PHASE_FACTOR],
               r->phase_ms[HK_PHASE_SOLVE], r->iterations, r->linear_iterations, r->attempts,
               hk_reason_name(r->reason));
    }
    free(edited);
}

// ---------------------------------------------------------------- TwoWay's figures

static bool add_row(void *context, const hk_iteration *i)
{
    return i->iteration == 0 || curve_add(context, i->relative_residual, 0);
}

static hk_rest_solver *make_solver(const options *o, const hk_model *model, hk_rest_method method)
{
    hk_rest_solver *s;
    bench_check(hk_rest_solver_create(model, o->threads ? o->threads : 2, &s));
    s->settings = (hk_rest_settings){.method = method,
                                     .tolerance = o->tolerance,
                                     .iterations = 60,
                                     .load_steps = 60,
                                     .reuse = 1,
                                     .components = HK_WHOLE_JACOBIAN};
    return s;
}

// From now.X, and on from there.
static void draw(const options *o, hk_rest_solver *s, const char *name, FILE *file)
{
    hk_rest_report report;
    curve c;
    double least;
    curve_begin(&c, file, name, o->longest);
    s->monitor = add_row;
    s->monitor_context = &c;
    if (hk_inverse_force(s->inverse, s->now.X, s->now.force, &least))
        curve_add(&c, hk_inverse_norm(s->inverse, s->now.force) / s->inverse->scale, 0);
    bench_check(hk_rest_solver_run(s, &report));
    curve_end(&c);
    s->monitor = NULL;
}

static void draw_lu(const options *o, const hk_model *model, const char *name, int components,
                    int reuse, FILE *file)
{
    hk_rest_solver *s = make_solver(o, model, HK_REST_NEWTON_LU);
    s->settings.components = components;
    s->settings.reuse = reuse;
    draw(o, s, name, file);
    hk_rest_solver_free(s);
}

static void figure_2(const options *o, const hk_model *model)
{
    FILE *file = curve_file(o->figures, "figure2.csv");
    printf("Figure 2: components of the Jacobian\n");
    draw_lu(o, model, "all three components", HK_WHOLE_JACOBIAN, 1, file);
    draw_lu(o, model, "without weight", HK_OF_STRESS | HK_OF_NORMALS, 1, file);
    draw_lu(o, model, "without normals", HK_OF_STRESS | HK_OF_WEIGHT, 1, file);
    draw_lu(o, model, "stress alone", HK_OF_STRESS, 1, file);
    fclose(file);
}

static void figure_3(const options *o, const hk_model *model)
{
    FILE *file = curve_file(o->figures, "figure3.csv");
    descent_options d = {o->tolerance, o->longest, o->threads ? o->threads : 2};
    printf("Figure 3: solvers\n");
    run_gradient_descent(model, &d, file);
    run_nonlinear_cg(model, &d, file);
    run_newton_jacobi(model, &d, 128, file);
    run_newton_bicgstab(model, &d, 128, file);
    run_newton_bicgstab(model, &d, 1024, file);
    draw_lu(o, model, "Newton with LU", HK_WHOLE_JACOBIAN, 1, file);
    draw_lu(o, model, "Newton with LU (M = 4)", HK_WHOLE_JACOBIAN, 4, file);
    for (int k = 0; k < 2; k++) {
        hk_rest_solver *s = make_solver(o, model, k ? HK_REST_NEWTON_GMRES : HK_REST_AUTO);
        draw(o, s, k ? "ours (newton_gmres)" : "ours (auto)", file);
        hk_rest_solver_free(s);
    }
    fclose(file);
}

static void figure_4(const options *o, const hk_model *model)
{
    FILE *file = curve_file(o->figures, "figure4.csv");
    printf("Figure 4: one factorisation for M iterations\n");
    for (int reuse = 1; reuse <= 16; reuse *= 2) {
        char name[16];
        snprintf(name, sizeof name, "M = %d", reuse);
        draw_lu(o, model, name, HK_WHOLE_JACOBIAN, reuse, file);
    }
    fclose(file);
}

// Ways to start after an edit, from the pair before it (old_x, old of the solver): X is [n][4].
typedef void start_fn(hk_rest_solver *s, double *X);

static void start_at_loaded(hk_rest_solver *s, double *X)
{
    memcpy(X, s->inverse->x, 4 * sizeof(double) * (size_t)s->inverse->problem->vertex_count);
}

// TwoWay eq. 16 alone: one Poisson solve.
static void start_carried(hk_rest_solver *s, double *X)
{
    hk_rest_tets_follow(s->inverse->tets, s->old_x, s->old, s->right);
    hk_precondition_laplacian(s->precondition, s->right, s->right);
    for (int64_t i = 0; i < 4 * (int64_t)s->inverse->problem->vertex_count; i++)
        X[i] = s->inverse->x[i] + s->right[i];
}

static void figure_6(const options *o, const hk_model *model)
{
    static const struct {
        const char *name;
        start_fn *start;
    } starts[] = {{"without initialisation", start_at_loaded}, {"carried over", start_carried}};
    FILE *file = curve_file(o->figures, "figure6.csv");
    double *edited = twisted(model);
    printf("Figure 6: starts after an edit of 30 degrees, Newton with LU\n");
    for (int k = 0; k < HK_COUNT_OF(starts); k++) {
        hk_model *own;
        hk_rest_report report;
        bench_check(hk_model_copy(model, &own));
        hk_rest_solver *s = make_solver(o, own, HK_REST_AUTO);
        bench_check(hk_rest_solver_run(s, &report));
        bench_check(hk_model_set_rest(own, edited));
        bench_check(hk_rest_solver_set_shape(s, own));
        bench_check(hk_rest_solver_factor(s));
        starts[k].start(s, s->now.X);
        s->settings.method = HK_REST_NEWTON_LU;
        draw(o, s, starts[k].name, file);
        hk_rest_solver_free(s);
        hk_model_free(own);
    }
    free(edited);
    fclose(file);
}

int main(int argc, char **argv)
{
    options o = parse(argc, argv);
    bench_machine();
    const bench_body body = {o.mesh, o.fix, o.young, o.poisson};
    hk_mesh *mesh = bench_body_mesh(&body);
    hk_model *model = bench_body_model(&body, mesh);
    printf("%s: %d vertices, %d tets; neo-Hookean, E = %g Pa, nu = %g; to %g of the load\n",
           o.mesh ? o.mesh : "figure", hk_mesh_vertex_count(mesh), hk_mesh_tet_count(mesh), o.young,
           o.poisson, o.tolerance);
    printf("ms from scratch (creation and first solve), and again with the factor at hand; medians "
           "of %d runs, CPU time is of all threads together\n",
           o.repeat);
    print_heading();
    run(&o, model, "auto", 0);
    run(&o, model, "newton_gmres", 0);
    run_edit(&o, model);
    options few = o;
    few.repeat = o.repeat > 2 ? 2 : o.repeat;
    if (strcmp(o.methods, "all") == 0)
        for (int reuse = 1; reuse <= 4; reuse += 3) run(&few, model, "newton_lu", reuse);
    if (o.figures) {
        figure_2(&o, model);
        figure_3(&o, model);
        figure_4(&o, model);
        figure_6(&o, model);
    }
    hk_model_free(model);
    hk_mesh_free(mesh);
    return 0;
}
