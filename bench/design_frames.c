// Interactive design: milliseconds per preview, how long an edit takes while a refinement runs, and
// the time from the end of a drag to both shapes converged, in both directions; with --starts
// TwoWay's Figure 6: iterations with and without shape initialisation.
//
//   bench_design_frames [--mesh FILE] [--fix FILE] [--young E] [--poisson NU] [--frames N]
//                       [--threads N] [--repeat N] [--starts yes]
//
// Without a mesh it is the generated figure, held by its feet. FILE of --fix: a count, then the
// numbers of the vertices that are held; without it those in the lowest 5 % along y.
#include <math.h>

#include "design_body.h"

#include "design/design.h"
#include "design/rest_solver.h"

typedef struct options {
    bench_body body;
    int frames, threads, repeat;
    bool starts;
} options;

static options parse(int argc, char **argv)
{
    options o = {.body = {.young = 6e6, .poisson = 0.45}, .frames = 60, .repeat = 3};
    for (int k = 1; k + 1 < argc; k += 2) {
        const char *name = argv[k], *value = argv[k + 1];
        if (strcmp(name, "--mesh") == 0) o.body.mesh = value;
        if (strcmp(name, "--fix") == 0) o.body.fix = value;
        if (strcmp(name, "--young") == 0) o.body.young = atof(value);
        if (strcmp(name, "--poisson") == 0) o.body.poisson = atof(value);
        if (strcmp(name, "--frames") == 0) o.frames = atoi(value);
        if (strcmp(name, "--threads") == 0) o.threads = atoi(value);
        if (strcmp(name, "--repeat") == 0) o.repeat = atoi(value);
        if (strcmp(name, "--starts") == 0) o.starts = true;
    }
    return o;
}

// ---------------------------------------------------------------- a drag

// The end of the body that is farthest from what is held, to be turned about the middle of that.
typedef struct grip {
    double centre[3];
    int count;
    int32_t *vertices;
} grip;

static double distance(const double *a, const double *b)
{
    return hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
}

static grip find_grip(const hk_model *m)
{
    grip g = {0};
    int held = 0, far = 0;
    double reach = 0;
    for (int v = 0; v < m->vertex_count; v++) {
        if (m->hold[v] == HK_FREE) continue;
        held++;
        for (int i = 0; i < 3; i++) g.centre[i] += m->rest[3 * v + i];
    }
    for (int i = 0; i < 3; i++) g.centre[i] /= held > 0 ? held : 1;
    for (int v = 0; v < m->vertex_count; v++) {
        if (distance(m->rest + 3 * v, g.centre) <= reach) continue;
        reach = distance(m->rest + 3 * v, g.centre);
        far = v;
    }
    g.vertices = malloc(sizeof *g.vertices * (size_t)m->vertex_count);
    for (int v = 0; v < m->vertex_count; v++)
        if (distance(m->rest + 3 * v, m->rest + 3 * far) < 0.1 * reach) g.vertices[g.count++] = v;
    return g;
}

// A turn about an axis through the centre, as a frame.
static void turn(const grip *g, int axis, double degrees, double frame[12])
{
    double angle = acos(-1.0) / 180 * degrees, c = cos(angle), s = sin(angle);
    int p = (axis + 1) % 3, q = (axis + 2) % 3;
    memset(frame, 0, 12 * sizeof *frame);
    frame[5 * axis] = 1;
    frame[5 * p] = frame[5 * q] = c;
    frame[4 * p + q] = -s;
    frame[4 * q + p] = s;
    for (int i = 0; i < 3; i++) {
        frame[4 * i + 3] = g->centre[i];
        for (int j = 0; j < 3; j++) frame[4 * i + 3] -= frame[4 * i + j] * g->centre[j];
    }
}

typedef struct timings {
    double *ms;
    int count;
} timings;

static void print_timings(const char *what, timings *t)
{
    if (t->count == 0) return;
    qsort(t->ms, (size_t)t->count, sizeof *t->ms, bench_compare);
    printf("  %-44s least %6.2f  median %6.2f  95%% %6.2f  most %6.2f ms (%d)\n", what, t->ms[0],
           t->ms[t->count / 2], t->ms[(int)(0.95 * t->count)], t->ms[t->count - 1], t->count);
    t->count = 0;
}

static double since(double start)
{
    return 1e3 * (hk_now() - start);
}

static int grab(hk_design *d, const grip *g, hk_design_side side)
{
    hk_handle_def def = hk_default_handle_def();
    def.side = side;
    def.count = g->count;
    def.vertices = g->vertices;
    int handle;
    bench_check(hk_design_grab(d, &def, &handle));
    return handle;
}

static hk_design_view look(hk_design *d)
{
    hk_design_view view = {0};
    bench_check(hk_design_snapshot(d, &view));
    return view;
}

// Previews until the refinement begins, then until it has ended, as an editor would. Returns ms.
static double wait_as_editor(hk_design *d, int *previews)
{
    double start = hk_now();
    for (*previews = 0; !d->posted && !d->now.refined; ++*previews)
        bench_check(hk_design_preview(d));
    for (;;) {
        hk_design_view view = look(d);
        if (view.state == HK_DESIGN_CONVERGED || view.state == HK_DESIGN_FAILED) break;
    }
    return since(start);
}

static void drag(const options *o, hk_design *d, const grip *g, hk_design_side side, double degrees)
{
    timings edit = {malloc(sizeof(double) * (size_t)o->frames), 0};
    timings frame = {malloc(sizeof(double) * (size_t)o->frames), 0};
    double start = hk_now(), first, transform[12];
    int handle = grab(d, g, side), previews;
    double grabbed = since(start);
    bench_check(hk_design_preview(d));
    first = since(start);
    for (int k = 0; k < o->frames; k++) {
        turn(g, 2, degrees * (k + 1) / o->frames, transform);
        start = hk_now();
        bench_check(hk_design_drag_frame(d, handle, transform));
        edit.ms[edit.count++] = since(start);
        bench_check(hk_design_preview(d));
        frame.ms[frame.count++] = since(start);
    }
    printf("%s shape dragged by %g degrees; grab %.2f ms, with the first preview %.2f ms\n",
           side == HK_LOADED_SHAPE ? "loaded" : "rest", degrees, grabbed, first);
    print_timings("edit and preview", &frame);
    print_timings("edit alone", &edit);
    double took = wait_as_editor(d, &previews);
    hk_design_view view = look(d);
    printf("  from the end of the drag: %d previews until it settled, %.1f ms until %s (refinement "
           "%.1f ms, %d iterations, residual %.1e)\n",
           previews, took, hk_design_state_name(view.state), view.refine_ms, view.iterations,
           view.relative_residual);
    if (view.detail[0]) printf("  %s\n", view.detail);
    bench_check(hk_design_release(d, handle));
    bench_check(hk_design_wait(d, -1, NULL));
    free(edit.ms);
    free(frame.ms);
}

// ---------------------------------------------------------------- while a refinement runs

// Edits that come while the refiner is at work, at whatever it is.
static void disturb(const options *o, hk_design *d, const grip *g)
{
    int most = 40;
    timings edit = {malloc(sizeof(double) * (size_t)most), 0};
    timings frame = {malloc(sizeof(double) * (size_t)most), 0};
    timings snapshot = {malloc(sizeof(double) * (size_t)most), 0};
    double transform[12];
    int handle = grab(d, g, HK_LOADED_SHAPE), previews = 0;
    (void)o;
    for (int k = 0; k < most; k++) {
        turn(g, 2, 10 + 0.5 * k, transform);
        bench_check(hk_design_drag_frame(d, handle, transform));
        for (previews = 0; !d->posted && !d->now.refined && previews < 400; previews++)
            bench_check(hk_design_preview(d));
        double until = hk_now() + 0.002 * (k % 20) * 5;  // somewhere within the refinement
        while (hk_now() < until) look(d);
        double start = hk_now();
        look(d);
        snapshot.ms[snapshot.count++] = since(start);
        turn(g, 2, 10 + 0.5 * k + 0.25, transform);
        start = hk_now();
        bench_check(hk_design_drag_frame(d, handle, transform));
        edit.ms[edit.count++] = since(start);
        bench_check(hk_design_preview(d));
        frame.ms[frame.count++] = since(start);
    }
    printf("while a refinement runs\n");
    print_timings("snapshot (state only)", &snapshot);
    print_timings("edit alone", &edit);
    print_timings("edit and preview", &frame);
    bench_check(hk_design_release(d, handle));
    bench_check(hk_design_wait(d, -1, NULL));
    free(edit.ms);
    free(frame.ms);
    free(snapshot.ms);
}

// ---------------------------------------------------------------- Figure 6

static hk_rest *new_rest(const options *o, const hk_model *model, const char *method)
{
    hk_rest_def def = hk_default_rest_def();
    def.model = model;
    def.method = method;
    def.threads = o->threads;
    def.tolerance = 1e-6;
    hk_rest *rest = NULL;
    bench_check(hk_rest_create(&def, &rest));
    return rest;
}

static void print_start(const char *from, const hk_rest_report *r)
{
    printf("    %-22s %-14s %3d iterations, %3d of GMRES, %8.1f ms\n", from,
           hk_reason_name(r->reason), r->iterations, r->linear_iterations, r->ms);
}

// One edited shape, solved for from three starts with its own factor at hand.
static void compare_starts(const options *o, hk_design *d, const double *old_rest,
                           const char *method)
{
    int n = hk_design_vertex_count(d);
    double *x = malloc(sizeof(double) * 3 * (size_t)n), *X = malloc(sizeof(double) * 3 * (size_t)n);
    hk_reference_give(d->reference, d->now.shape[HK_LOADED_SHAPE], x);
    hk_reference_give(d->reference, d->now.shape[HK_REST_SHAPE], X);
    hk_model *model;
    bench_check(hk_model_copy(d->now.model, &model));
    bench_check(hk_model_set_rest(model, x));
    hk_rest *rest = new_rest(o, model, method);
    hk_rest_report r;
    bench_check(hk_rest_solve(rest, x, &r));
    printf("   %s\n", method);
    const struct {
        const char *name;
        const double *start;
    } starts[] = {{"the loaded shape", x}, {"the old rest shape", old_rest}, {"initialisation", X}};
    for (int k = 0; k < HK_COUNT_OF(starts); k++) {
        hk_rest_report best = {.ms = INFINITY};
        for (int n_runs = 0; n_runs < o->repeat; n_runs++) {
            bench_check(hk_rest_solve(rest, starts[k].start, &r));
            if (r.ms < best.ms) best = r;
        }
        print_start(starts[k].name, &best);
    }
    hk_rest_free(rest);
    hk_model_free(model);
    free(x);
    free(X);
}

static void run_starts(const options *o, hk_design *d, const grip *g)
{
    static const double angles[] = {10, 30, 60};
    int n = hk_design_vertex_count(d);
    double *old_rest = malloc(sizeof(double) * 3 * (size_t)n), transform[12];
    bench_check(hk_design_wait(d, -1, NULL));
    hk_reference_give(d->reference, d->now.shape[HK_REST_SHAPE], old_rest);
    printf("\nFigure 6: from three starts to 1e-6 of the load, the factor at hand\n");
    for (int k = 0; k < HK_COUNT_OF(angles); k++) {
        int handle = grab(d, g, HK_LOADED_SHAPE);
        for (int f = 1; f <= 30; f++) {
            turn(g, 0, angles[k] * f / 30, transform);
            bench_check(hk_design_drag_frame(d, handle, transform));
            bench_check(hk_design_preview(d));
        }
        while (!d->now.settled) bench_check(hk_design_preview(d));
        printf("  an edit of %g degrees\n", angles[k]);
        compare_starts(o, d, old_rest, "auto");
        compare_starts(o, d, old_rest, "newton_gmres");
        if (hk_lu_available()) compare_starts(o, d, old_rest, "newton_lu");
        bench_check(hk_design_undo(d));
        bench_check(hk_design_wait(d, -1, NULL));
    }
    free(old_rest);
}

int main(int argc, char **argv)
{
    options o = parse(argc, argv);
    bench_machine();
    hk_mesh *mesh = bench_body_mesh(&o.body);
    hk_model *model = bench_body_model(&o.body, mesh);
    printf("%s: %d vertices, %d tets; neo-Hookean, E = %g Pa, nu = %g\n",
           o.body.mesh ? o.body.mesh : "figure", hk_mesh_vertex_count(mesh),
           hk_mesh_tet_count(mesh), o.body.young, o.body.poisson);
    hk_design_def def = hk_default_design_def();
    def.model = model;
    def.threads = o.threads;
    hk_design *d = NULL;
    double start = hk_now();
    bench_check(hk_design_create(&def, &d));
    printf("creation %.1f ms", since(start));
    bench_check(hk_design_wait(d, -1, NULL));
    hk_design_view view = look(d);
    printf(", until %s %.1f ms; sag %.3f m\n", hk_design_state_name(view.state), since(start),
           view.sag);
    grip g = find_grip(model);
    if (o.starts) run_starts(&o, d, &g);
    for (int k = 0; k < 3 && !o.starts; k++)
        drag(&o, d, &g, HK_LOADED_SHAPE, (double[]){10, 30, -40}[k]);
    if (!o.starts) disturb(&o, d, &g);
    for (int k = 0; k < 2 && !o.starts; k++) drag(&o, d, &g, HK_REST_SHAPE, (double[]){10, 30}[k]);
    hk_design_free(d);
    free(g.vertices);
    hk_model_free(model);
    hk_mesh_free(mesh);
    return 0;
}
