// How far linear and quadratic tets are from beam theory: the end of a cantilever, ten times as
// long as high, under a small load, over the deflection F L³/(3 E I) + F L/(κ G A) of Timoshenko's
// beam (κ = 5/6), for meshes of n cells across and for Poisson's ratios up to 0.499. See
// docs/accuracy.md.
//
//   bench_accuracy [--cells 1,2,4,8] [--quadratic 1,2,4] [--poisson 0.3,0.45,0.49,0.499]
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hooke/hooke.h>
#include <hooke/quadratic.h>

enum { MOST = 16 };
static const double g_young = 1e6, g_length = 1, g_height = 0.1, g_force = 0.1;

typedef struct numbers {
    double value[MOST];
    int count;
} numbers;

typedef struct result {
    double ratio;  // of deflections; NAN: it did not converge
    int vertices, tets, iterations;
} result;

static numbers take_numbers(const char *text)
{
    numbers n = {.count = 0};
    for (char *end; n.count < MOST && *text; text = *end ? end + 1 : end) {
        n.value[n.count++] = strtod(text, &end);
        if (end == text || (*end && *end != ',')) {
            fprintf(stderr, "bench_accuracy: expected numbers with commas, not %s\n", text);
            exit(2);
        }
    }
    return n;
}

static void need(hk_status status)
{
    if (status == HK_OK) return;
    fprintf(stderr, "bench_accuracy: %s\n", hk_error());
    exit(1);
}

static hk_mesh *beam_mesh(int order, int across)
{
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_BOX);
    def.size[0] = g_length;
    def.size[1] = def.size[2] = g_height;
    def.cells[0] = 10 * across;
    def.cells[1] = def.cells[2] = across;
    hk_mesh *mesh;
    need(hk_mesh_make(&def, &mesh));
    need(hk_mesh_set_order(mesh, order));
    return mesh;
}

static hk_world *beam_world(hk_mesh *mesh, double poisson)
{
    hk_body_def body = hk_default_body_def();
    hk_load_def load = hk_default_load_def();
    const double slack = 1e-6;
    hk_selector fix = {.kind = HK_SELECT_BOX, .box = {{-slack, -1, -1}, {slack, 1, 1}}};
    load.select = (hk_selector){.kind = HK_SELECT_BOX,
                                .box = {{g_length - slack, -1, -1}, {g_length + slack, 1, 1}}};
    load.force[1] = -g_force;
    load.distribution = HK_BY_AREA;
    body.mesh = mesh;
    body.material.model = "neo_hookean";
    body.material.young = g_young;
    body.material.poisson = poisson;
    body.fixes = &fix;
    body.fix_count = 1;
    body.loads = &load;
    body.load_count = 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    memset(def.gravity, 0, sizeof def.gravity);
    hk_world_def world_def = hk_default_world_def();
    hk_model *model;
    hk_world *world;
    need(hk_model_create(&def, &model));
    world_def.model = model;
    need(hk_world_create(&world_def, &world));
    hk_model_free(model);
    return world;
}

static result measure(int order, int across, double poisson)
{
    hk_mesh *mesh = beam_mesh(order, across);
    hk_world *world = beam_world(mesh, poisson);
    hk_step_report report;
    result r = {.vertices = hk_mesh_vertex_count(mesh), .tets = hk_mesh_tet_count(mesh)};
    need(hk_world_pose(world, &report));
    const double *x = hk_world_positions(world), *rest = hk_mesh_positions(mesh);
    double sum = 0, shear = g_young / (2 * (1 + poisson)), area = g_height * g_height;
    int count = 0;
    for (int v = 0; v < r.vertices; v++)
        if (rest[3 * v] > g_length - 1e-6) {
            sum += rest[3 * v + 1] - x[3 * v + 1];
            count++;
        }
    double theory = g_force * pow(g_length, 3) / (3 * g_young * area * area / 12) +
                    g_force * g_length / (5.0 / 6 * shear * area);
    bool found = report.reason == HK_CONVERGED || report.reason == HK_PRECISION_LIMIT;
    r.ratio = found ? sum / count / theory : NAN;
    r.iterations = report.iterations;
    hk_world_free(world);
    hk_mesh_free(mesh);
    return r;
}

static void print_rows(int order, const numbers *cells, const numbers *poisson)
{
    for (int c = 0; c < cells->count; c++) {
        int across = (int)cells->value[c];
        for (int k = 0; k < poisson->count; k++) {
            result r = measure(order, across, poisson->value[k]);
            if (k == 0)
                printf("| %s | %d | %d | %d |", order == 2 ? "quadratic" : "linear", across,
                       r.vertices, r.tets);
            printf(" %.3f |", r.ratio);
            fflush(stdout);
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    numbers linear = take_numbers("1,2,4,8"), quadratic = take_numbers("1,2,4");
    numbers poisson = take_numbers("0.3,0.45,0.49,0.499");
    for (int k = 1; k + 1 < argc; k += 2) {
        numbers *to = strcmp(argv[k], "--cells") == 0       ? &linear
                      : strcmp(argv[k], "--quadratic") == 0 ? &quadratic
                      : strcmp(argv[k], "--poisson") == 0   ? &poisson
                                                            : NULL;
        if (!to) {
            fprintf(stderr, "bench_accuracy: unknown option %s\n", argv[k]);
            return 2;
        }
        *to = take_numbers(argv[k + 1]);
    }
    printf("| tets | cells across | vertices | tets |");
    for (int k = 0; k < poisson.count; k++) printf(" nu %g |", poisson.value[k]);
    printf("\n|---|---|---|---|");
    for (int k = 0; k < poisson.count; k++) printf("---|");
    printf("\n");
    print_rows(1, &linear, &poisson);
    print_rows(2, &quadratic, &poisson);
    return 0;
}
