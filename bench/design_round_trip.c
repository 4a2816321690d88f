// Round trips of large bodies: rest shape found, posed again, and the other way round. What comes
// back is compared with what was given, relative to the size of the body; exit status 1 where it is
// off by more than 1e-8.
//
//   bench_design_round_trip [--mesh FILE] [--fix FILE] [--young E] [--poisson NU] [--cells N]
//                           [--threads N] [--linear auto|direct|multigrid]
//
// The body is that of bench_design; with --cells a bar of 5 N × N × N cells, 1 m long and held at
// one end, that sags by about a third of its length (N = 24: 345,600 tets; 14: 68,600).
#include "design_body.h"

#include "model/model.h"

#define CLOSE 1e-8

typedef struct options {
    bench_body body;
    int cells, threads;
    const char *linear;
} options;

static options parse(int argc, char **argv)
{
    options o = {.body = {.young = 6e6, .poisson = 0.45}, .linear = "auto"};
    bool given = false;
    for (int k = 1; k + 1 < argc; k += 2) {
        const char *name = argv[k], *value = argv[k + 1];
        if (strcmp(name, "--mesh") == 0) o.body.mesh = value;
        if (strcmp(name, "--fix") == 0) o.body.fix = value;
        if (strcmp(name, "--young") == 0) o.body.young = atof(value), given = true;
        if (strcmp(name, "--poisson") == 0) o.body.poisson = atof(value);
        if (strcmp(name, "--cells") == 0) o.cells = atoi(value);
        if (strcmp(name, "--threads") == 0) o.threads = atoi(value);
        if (strcmp(name, "--linear") == 0) o.linear = value;
    }
    if (o.cells > 0 && !given) o.body.young = 8e5;
    return o;
}

static hk_model *bar_model(const options *o)
{
    hk_mesh_def mesh_def = hk_default_mesh_def(HK_SHAPE_BOX);
    double size[3] = {1, 0.2, 0.2};
    int cells[3] = {5 * o->cells, o->cells, o->cells};
    memcpy(mesh_def.size, size, sizeof size);
    memcpy(mesh_def.cells, cells, sizeof cells);
    hk_mesh *mesh = NULL;
    bench_check(hk_mesh_make(&mesh_def, &mesh));
    hk_selector wall = {.kind = HK_SELECT_BOX, .box = {{-1e9, -1e9, -1e9}, {1e-9, 1e9, 1e9}}};
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material.young = o->body.young;
    body.material.poisson = o->body.poisson;
    body.fixes = &wall;
    body.fix_count = 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    hk_model *model = NULL;
    bench_check(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

static hk_model *make_model(const options *o)
{
    if (o->cells > 0) return bar_model(o);
    hk_mesh *mesh = bench_body_mesh(&o->body);
    hk_model *model = bench_body_model(&o->body, mesh);
    hk_mesh_free(mesh);
    return model;
}

// The same model with its rest shape found for x, [vertex_count][3], as the loaded shape.
static hk_model *find_rest(const options *o, const hk_model *model, const double *x)
{
    hk_model *loaded, *found = NULL;
    hk_rest *rest = NULL;
    hk_rest_report r;
    bench_check(hk_model_copy(model, &loaded));
    bench_check(hk_model_set_rest(loaded, x));
    hk_rest_def def = hk_default_rest_def();
    def.model = loaded;
    def.threads = o->threads;
    def.linear = o->linear;
    def.tolerance = 1e-9;
    bench_check(hk_rest_create(&def, &rest));
    bench_check(hk_rest_solve(rest, NULL, &r));
    printf(
        "  rest shape: %s, %.1f s, %d iterations (%s), residual %.1e, sag %.3f m, stretch %.3f\n",
        hk_reason_name(r.reason), 1e-3 * r.ms, r.iterations, r.attempts, r.relative_residual, r.sag,
        r.greatest_stretch);
    bench_check(hk_rest_model(rest, &found));
    hk_rest_free(rest);
    hk_model_free(loaded);
    return found;
}

// The pose of a model, from its rest shape.
static double *find_pose(const options *o, hk_model *model)
{
    size_t bytes = 3 * sizeof(double) * (size_t)hk_model_vertex_count(model);
    hk_world_def def = hk_default_world_def();
    hk_world *world = NULL;
    hk_step_report r;
    def.model = model;
    def.threads = o->threads;
    def.solver.method = "newton";
    def.solver.tolerance = 1e-10;
    bench_check(hk_world_create(&def, &world));
    bench_check(hk_world_pose(world, &r));
    printf("  pose:       %s, %.1f s, %d iterations, residual %.1e\n", hk_reason_name(r.reason),
           1e-3 * r.ms, r.iterations, r.relative_residual);
    double *x = malloc(bytes);
    memcpy(x, hk_world_positions(world), bytes);
    hk_world_free(world);
    return x;
}

// Says how far two shapes are apart at most; whether that is close.
static bool compare(const char *what, const hk_model *model, const double *a, const double *b)
{
    const double *x = hk_model_rest_positions(model);
    double far = 0, low[3], high[3];
    for (int i = 0; i < 3; i++) low[i] = high[i] = x[i];
    for (int v = 0; v < hk_model_vertex_count(model); v++) {
        double square = 0;
        for (int i = 0; i < 3; i++) {
            square += (a[3 * v + i] - b[3 * v + i]) * (a[3 * v + i] - b[3 * v + i]);
            low[i] = fmin(low[i], x[3 * v + i]);
            high[i] = fmax(high[i], x[3 * v + i]);
        }
        far = fmax(far, sqrt(square));
    }
    double size = hypot(hypot(high[0] - low[0], high[1] - low[1]), high[2] - low[2]);
    printf("%s: off by at most %.2e m, %.2e of the size\n", what, far, far / size);
    return far <= CLOSE * size;
}

int main(int argc, char **argv)
{
    options o = parse(argc, argv);
    bench_machine();
    hk_model *model = make_model(&o);
    const double *given = hk_model_rest_positions(model);
    printf("%d vertices, %d tets; neo-Hookean, E = %g Pa, nu = %g\n", hk_model_vertex_count(model),
           hk_model_tet_count(model), o.body.young, o.body.poisson);
    hk_model *rest = find_rest(&o, model, given);
    double *loaded = find_pose(&o, rest);
    bool close = compare("pose(rest(x)) = x", model, loaded, given);
    hk_model_free(rest);
    free(loaded);
    loaded = find_pose(&o, model);
    rest = find_rest(&o, model, loaded);
    close &= compare("rest(pose(X)) = X", model, hk_model_rest_positions(rest), given);
    hk_model_free(rest);
    free(loaded);
    hk_model_free(model);
    return close ? 0 : 1;
}
