// Sheets of shells with bending and contact with themselves: what a step costs, by method.
//
//   bench_sheet [--cells N] [--methods A,B] [--iterations N] [--skip N] [--steps N] [--threads N]
//               [--material shell|mass_spring] [--free]
//
// A square of N × N cells (158: 49,928 triangles and 25,281 vertices) that hangs over a ball and
// folds onto itself; its own parts touch each other, and the ball. Steps of 1/100 s, of which the
// first are passed over. `wall` and `cpu` are medians of ms a step; `us/vertex` is the time on all
// threads by vertex and step, and by vertex, step and iteration. `--free`: without contact.
//
// For comparison: Offset Geometric Contact (Chen et al. 2025) publishes 210 ms for a step of a
// scene of 246,000 vertices, 0.85 us by vertex and step, on a machine of its own.
#include <math.h>

#include "bench.h"
#include "world/world.h"

enum { MOST_STEPS = 400 };

typedef struct options {
    const char *methods, *material;
    int cells, iterations, steps, skip, threads;
    bool free;
} options;

static hk_material_def cloth(const options *o)
{
    hk_material_def def = hk_default_material_def();
    def.model = o->material;
    if (strcmp(o->material, "shell") == 0) {
        def.membrane = "stvk";
        def.young = 8e5;
        def.poisson = 0.3;
        def.thickness = 4e-4;
        def.density = 500;
        def.parameters[def.parameter_count++] = (hk_parameter){"bending", 1e-5};
        return def;
    }
    def.density = 0.2;
    def.parameters[def.parameter_count++] = (hk_parameter){"stretch", 300};
    def.parameters[def.parameter_count++] = (hk_parameter){"bending", 1e-5};
    return def;
}

static hk_model *make_model(const options *o)
{
    hk_mesh_def shape = hk_default_mesh_def(HK_SHAPE_SHEET);
    shape.size[0] = shape.size[1] = 1;
    shape.cells[0] = shape.cells[1] = o->cells;
    hk_mesh *mesh = NULL;
    bench_check(hk_mesh_make(&shape, &mesh));
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material = cloth(o);
    body.thickness = 0.001;
    body.transform.translate[0] = body.transform.translate[2] = -0.5;
    body.transform.translate[1] = 0.26;
    hk_obstacle_def ball = hk_default_obstacle_def();
    ball.shape = HK_OBSTACLE_SPHERE;
    ball.radius = 0.25;
    hk_contact_def contact = hk_default_contact_def();
    contact.distance = 0.0015;
    contact.friction = 0.3;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.gravity[1] = -9.81;
    if (!o->free) {
        def.contact = &contact;
        def.obstacles = &ball;
        def.obstacle_count = 1;
    }
    hk_model *model = NULL;
    bench_check(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

static double median(double *values, int count)
{
    if (count == 0) return NAN;
    qsort(values, (size_t)count, sizeof *values, bench_compare);
    return values[count / 2];
}

static void measure(const options *o, const char *method)
{
    static double wall[MOST_STEPS], cpu[MOST_STEPS], detection[MOST_STEPS], pairs[MOST_STEPS],
        guard[MOST_STEPS];
    hk_world_def def = hk_default_world_def();
    def.model = make_model(o);
    def.step = 0.01;
    def.threads = o->threads;
    def.damping.air = 0.5;
    def.solver.method = method;
    if (o->iterations > 0) def.solver.iterations = o->iterations;
    hk_world *world = NULL;
    bench_check(hk_world_create(&def, &world));
    hk_world_report_energy(world, false);
    int64_t iterations = 0;
    int count = 0, failed = 0;
    for (int k = 0; k < o->skip + o->steps && count < MOST_STEPS; k++) {
        hk_step_report report;
        double worked = bench_cpu();
        bench_check(hk_world_step(world, &report));
        failed += hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED;
        if (k < o->skip) continue;
        const hk_contact_work *work = &world->contact.work;
        cpu[count] = 1e3 * (bench_cpu() - worked);
        wall[count] = report.ms;
        detection[count] = 1e3 * work->detect_s;
        pairs[count] = 1e3 * work->pairs_s;
        guard[count++] = 1e3 * work->guard_s;
        iterations += report.iterations;
    }
    hk_contact_report end = {0};
    if (!o->free) bench_check(hk_world_contact(world, &end));
    int vertices = hk_model_vertex_count(def.model);
    double worked = median(cpu, count), each = (double)iterations / count;
    printf("%-14s %-12s %8d %7lld %6.1f %9.1f %9.1f %9.1f %9.1f %9.1f %8.2f %8.3f %4d\n", method,
           o->material, vertices, (long long)end.pairs, each, median(wall, count), worked,
           median(detection, count), median(pairs, count), median(guard, count),
           1e3 * worked / vertices, 1e3 * worked / vertices / each, failed);
    hk_world_free(world);
    hk_model_free((hk_model *)(uintptr_t)def.model);
}

static bool is_named(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

int main(int argc, char **argv)
{
    options o = {.methods = "descent,vbd",
                 .material = "shell",
                 .cells = 158,
                 .steps = 10,
                 .skip = 40,
                 .threads = 1};
    for (int k = 1; k < argc; k++) {
        const char *value = k + 1 < argc ? argv[k + 1] : "";
        if (strcmp(argv[k], "--free") == 0) o.free = true;
        if (strcmp(argv[k], "--methods") == 0) o.methods = value;
        if (strcmp(argv[k], "--material") == 0) o.material = value;
        if (strcmp(argv[k], "--cells") == 0) o.cells = atoi(value);
        if (strcmp(argv[k], "--iterations") == 0) o.iterations = atoi(value);
        if (strcmp(argv[k], "--steps") == 0) o.steps = atoi(value);
        if (strcmp(argv[k], "--skip") == 0) o.skip = atoi(value);
        if (strcmp(argv[k], "--threads") == 0) o.threads = atoi(value);
    }
    bench_machine();
    printf("%-14s %-12s %8s %7s %6s %9s %9s %9s %9s %9s %8s %8s %4s\n", "method", "material",
           "vertices", "pairs", "iter.", "wall", "cpu", "detection", "pairs", "guard", "us/vert.",
           "by iter.", "bad");
    for (int m = 0; m < hk_method_count(); m++)
        if (is_named(o.methods, hk_method_name(m))) measure(&o, hk_method_name(m));
    return 0;
}
