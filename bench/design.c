// Rest shapes: from scratch to 1e-6 of the load, and where the time goes; ours and TwoWay's way
// side by side; with --figures its Figures 2 to 4: components of the Jacobian left out, and
// matrices reused for M iterations.
//
//   bench_design [--mesh FILE] [--fix FILE] [--young E] [--poisson NU] [--repeat N] [--threads N]
//                [--methods all|ours] [--figures yes]
//
// Without a mesh it is the generated figure, held by its feet. FILE of --fix: a count, then the
// numbers of the vertices that are held; without it those in the lowest 5 % along y.
#include <math.h>

#include "bench.h"

#include "design/rest_solver.h"

typedef struct options {
    const char *mesh, *fix, *methods;
    double young, poisson, tolerance;
    int repeat, threads;
    bool figures;
} options;

static options parse(int argc, char **argv)
{
    options o = {.methods = "all", .young = 3e6, .poisson = 0.45, .tolerance = 1e-6, .repeat = 5};
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
        if (strcmp(name, "--figures") == 0) o.figures = true;
    }
    return o;
}

// ---------------------------------------------------------------- the body

static hk_mesh *load_mesh(const options *o)
{
    hk_mesh *mesh = NULL;
    if (o->mesh) {
        bench_check(hk_mesh_load(o->mesh, &mesh));
        return mesh;
    }
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_FIGURE);
    def.height = 0.3;
    def.cells[0] = 60;
    bench_check(hk_mesh_make(&def, &mesh));
    return mesh;
}

static int32_t *read_fix(const char *path, int *count)
{
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%d", count) != 1 || *count < 1) {
        fprintf(stderr, "bench: cannot read %s\n", path);
        exit(1);
    }
    int32_t *vertices = malloc(sizeof *vertices * (size_t)*count);
    for (int k = 0; k < *count; k++)
        if (fscanf(file, "%d", &vertices[k]) != 1) *count = k;
    fclose(file);
    return vertices;
}

static hk_model *make_model(const options *o, const hk_mesh *mesh)
{
    const double *x = hk_mesh_positions(mesh);
    double low = x[1], high = x[1];
    for (int v = 0; v < hk_mesh_vertex_count(mesh); v++) {
        low = fmin(low, x[3 * v + 1]);
        high = fmax(high, x[3 * v + 1]);
    }
    hk_selector held = {.kind = HK_SELECT_BOX,
                        .box = {{-1e9, -1e9, -1e9}, {1e9, low + 0.05 * (high - low), 1e9}}};
    int32_t *vertices = NULL;
    if (o->fix) {
        vertices = read_fix(o->fix, &held.vertex_count);
        held.kind = HK_SELECT_VERTICES;
        held.vertices = vertices;
    }
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material.young = o->young;
    body.material.poisson = o->poisson;
    body.fixes = &held;
    body.fix_count = 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    hk_model *model = NULL;
    bench_check(hk_model_create(&def, &model));
    free(vertices);
    return model;
}

// ---------------------------------------------------------------- from scratch

static void print_heading(void)
{
    printf("%-22s %9s %9s %9s", "method", "total ms", "create", "again");
    for (int p = 0; p < HK_PHASE_COUNT; p++)
        if (p != HK_PHASE_VOLUME) printf(" %9s", hk_phase_name((hk_phase)p));
    printf(" %5s %6s %5s %9s  %s\n", "it", "linear", "LU", "residual", "attempts");
}

// The shortest of several runs: the machine is shared.
static void run(const options *o, const hk_model *model, const char *method, int reuse)
{
    double least = INFINITY, create = 0, again = INFINITY;
    hk_rest_report best = {0};
    for (int k = 0; k < o->repeat; k++) {
        hk_rest_def def = hk_default_rest_def();
        def.model = model;
        def.method = method;
        def.tolerance = o->tolerance;
        def.threads = o->threads;
        def.reuse = reuse;
        hk_rest *rest = NULL;
        hk_rest_report report, warm;
        double start = hk_now();
        bench_check(hk_rest_create(&def, &rest));
        bench_check(hk_rest_solve(rest, NULL, &report));
        double took = hk_now() - start;
        if (strcmp(method, "newton_lu") != 0) {
            bench_check(hk_rest_solve(rest, NULL, &warm));
            again = fmin(again, warm.ms);
        }
        if (took < least) {
            least = took;
            create = hk_rest_setup_ms(rest);
            best = report;
        }
        hk_rest_free(rest);
    }
    char name[64];
    snprintf(name, sizeof name, reuse > 1 ? "%s, M = %d" : "%s", method, reuse);
    printf("%-22s %9.1f %9.1f %9.1f", name, 1e3 * least, create, again);
    for (int p = 0; p < HK_PHASE_COUNT; p++)
        if (p != HK_PHASE_VOLUME) printf(" %9.1f", best.phase_ms[p]);
    printf(" %5d %6d %5d %9.1e  %s%s%s\n", best.iterations, best.linear_iterations,
           best.factorisations, best.relative_residual, best.attempts,
           best.reason == HK_CONVERGED ? "" : ": ",
           best.reason == HK_CONVERGED ? "" : hk_reason_name(best.reason));
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

static void run_edit(const options *o, const hk_model *model)
{
    double *edited = twisted(model), least = INFINITY;
    hk_rest_report best = {0};
    hk_rest_def def = hk_default_rest_def();
    def.model = model;
    def.tolerance = o->tolerance;
    def.threads = o->threads;
    hk_rest *rest = NULL;
    bench_check(hk_rest_create(&def, &rest));
    bench_check(hk_rest_solve(rest, NULL, NULL));
    for (int k = 0; k < o->repeat; k++) {
        hk_rest_report report;
        double start = hk_now();
        bench_check(hk_rest_set_shape(rest, k % 2 ? hk_model_rest_positions(model) : edited));
        bench_check(hk_rest_solve(rest, NULL, &report));
        if (k % 2 == 1 || hk_now() - start > least) continue;
        least = hk_now() - start;
        best = report;
    }
    printf("edit of 30 degrees, with a new factor: %.1f ms, %d iterations, %d of GMRES, %s\n",
           1e3 * least, best.iterations, best.linear_iterations, hk_reason_name(best.reason));
    hk_rest_free(rest);
    free(edited);
}

// ---------------------------------------------------------------- TwoWay's figures

typedef struct curve {
    double start;
} curve;

static bool print_iteration(void *context, const hk_iteration *i)
{
    const curve *c = context;
    printf(" %d:%.1e@%.2fs", i->iteration, i->relative_residual, hk_now() - c->start);
    return true;
}

static void run_components(const options *o, const hk_model *model, const char *name,
                           int components, int reuse)
{
    hk_rest_solver *solver;
    hk_rest_report report;
    bench_check(hk_rest_solver_create(model, o->threads ? o->threads : 2, &solver));
    solver->settings = (hk_rest_settings){.method = HK_REST_NEWTON_LU,
                                          .tolerance = o->tolerance,
                                          .iterations = 40,
                                          .reuse = reuse,
                                          .components = components};
    curve c = {hk_now()};
    solver->monitor = print_iteration;
    solver->monitor_context = &c;
    printf("%s:", name);
    bench_check(hk_rest_solver_run(solver, &report));
    printf("\n  %s after %d iterations, %d factorisations, %.2f s\n", hk_reason_name(report.reason),
           report.iterations, report.factorisations, 1e-3 * report.ms);
    hk_rest_solver_free(solver);
}

static void figures(const options *o, const hk_model *model)
{
    printf("\nFigure 2: iteration:residual@time of newton_lu with components of the Jacobian\n");
    run_components(o, model, "all three", HK_WHOLE_JACOBIAN, 1);
    run_components(o, model, "without weight", HK_OF_STRESS | HK_OF_NORMALS, 1);
    run_components(o, model, "without normals", HK_OF_STRESS | HK_OF_WEIGHT, 1);
    run_components(o, model, "stress alone", HK_OF_STRESS, 1);
    printf("\nFigure 4: one factorisation for M iterations\n");
    for (int reuse = 1; reuse <= 16; reuse *= 2) {
        char name[16];
        snprintf(name, sizeof name, "M = %d", reuse);
        run_components(o, model, name, HK_WHOLE_JACOBIAN, reuse);
    }
}

int main(int argc, char **argv)
{
    options o = parse(argc, argv);
    bench_machine();
    hk_mesh *mesh = load_mesh(&o);
    hk_model *model = make_model(&o, mesh);
    printf("%s: %d vertices, %d tets; neo-Hookean, E = %g Pa, nu = %g; to %g of the load\n",
           o.mesh ? o.mesh : "figure", hk_mesh_vertex_count(mesh), hk_mesh_tet_count(mesh), o.young,
           o.poisson, o.tolerance);
    printf("ms from scratch (creation and first solve), and again with the factor at hand\n");
    print_heading();
    run(&o, model, "auto", 0);
    run(&o, model, "newton_gmres", 0);
    run_edit(&o, model);
    options few = o;
    few.repeat = o.repeat > 2 ? 2 : o.repeat;
    if (strcmp(o.methods, "all") == 0)
        for (int reuse = 1; reuse <= 4; reuse += 3) run(&few, model, "newton_lu", reuse);
    if (o.figures) figures(&o, model);
    hk_model_free(model);
    hk_mesh_free(mesh);
    return 0;
}
