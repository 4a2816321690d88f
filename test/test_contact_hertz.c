// Hertz: an elastic body with a spherical face that is pressed on a rigid plane, and a rigid ball
// that is pressed into an elastic block, push back with
//
//   F = 4/3 E* √R δ^1.5,   E* = E/(1 − ν²),
//
// δ the way that they come towards each other beyond the first touch, as long as the radius of the
// contact a = √(R δ) is small against R and the body large against a. Two things are not part of
// that, and are taken off δ or added to it:
//
// - the skin: pressing begins at a gap of its thickness, so δ is counted from there, less what the
//   skin itself gives way in the middle of the contact (it is d̂ p/E, 0.2 % of δ here);
// - the finite body: it is held at a distance L, where the half-space of Hertz would have given way
//   by u = (1 + ν) F/(2π E L) (cos²θ + 2 (1 − ν)) (Boussinesq), θ from the axis. Its mean over the
//   half-sphere, cos²θ = 1/3, is added to δ: 0.4 % of it.
//
// What is left is of the cells: linear tets are too stiff.
//
// HOOKE_LONG=7 in the environment goes on to 7 cells and prints the table of docs/contact.md.
#include "contact_bodies.h"

// ---------------------------------------------------------------- mesh

// Tets around a point of a face: a core of cells as large as a/n, and shells around it that grow
// outwards, all on the side z ≥ 0.
typedef struct grading {
    int n;         // cells from the middle of the core to its sides
    double core;   // m, from the middle to the sides
    double size;   // m, of the whole body likewise
    double round;  // m, radius of the face; 0: flat
} grading;

// The radius of the outer shells, which are half-spheres, to that of the cubes inside of them.
#define ROUNDNESS 1.2

typedef struct builder {
    grading g;
    int shells, surface_count;
    int vertex_count, tet_count;
    int32_t *surface;  // [surface_count] vertices of the core on its five inner sides
    int32_t *row;      // [core vertices] place in `surface`; -1: none
    double *x;         // [vertex_count][3] m
    int32_t *tets;     // [tet_count][4]
} builder;

static int core_vertex(const builder *b, int i, int j, int k)
{
    int wide = 2 * b->g.n + 1;
    return (k * wide + j + b->g.n) * wide + i + b->g.n;
}

static void add_tet(builder *b, int32_t p, int32_t q, int32_t r, int32_t s)
{
    int32_t *to = b->tets + 4 * (size_t)b->tet_count++;
    to[0] = p, to[1] = q, to[2] = r, to[3] = s;
}

// A cube in six tets along its diagonal (Kuhn 1960).
static void add_cube(builder *b, int i, int j, int k)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int n = 0; n < 6; n++) {
        int at[3] = {i, j, k};
        int32_t v[4];
        v[0] = core_vertex(b, i, j, k);
        for (int s = 0; s < 3; s++) {
            at[orders[n][s]]++;
            v[s + 1] = core_vertex(b, at[0], at[1], at[2]);
        }
        add_tet(b, v[0], v[1], v[2], v[3]);
    }
}

// A triangle of the core's surface, through all shells: prisms of three tets, cut from lower to
// higher places.
static void add_prisms(builder *b, int32_t p, int32_t q, int32_t r)
{
    int32_t v[3] = {b->row[p], b->row[q], b->row[r]}, swap;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < 2; k++)
            if (v[k] > v[k + 1]) swap = v[k], v[k] = v[k + 1], v[k + 1] = swap;
    int wide = 2 * b->g.n + 1, core = wide * wide * (b->g.n + 1);
    for (int s = 0; s < b->shells; s++) {
        int32_t low[3], high[3];
        for (int k = 0; k < 3; k++) {
            low[k] = s == 0 ? b->surface[v[k]] : core + (s - 1) * b->surface_count + v[k];
            high[k] = core + s * b->surface_count + v[k];
        }
        add_tet(b, low[0], low[1], low[2], high[2]);
        add_tet(b, low[0], low[1], high[1], high[2]);
        add_tet(b, low[0], high[0], high[1], high[2]);
    }
}

static void add_side(builder *b, int axis, int at)
{
    int n = b->g.n, u = axis == 2 ? 0 : 1 - axis, w = axis == 2 ? 1 : 2;
    for (int i = -n; i < n; i++)
        for (int j = w == 2 ? 0 : -n; j < n; j++) {
            int32_t v[4];
            for (int c = 0; c < 4; c++) {
                int p[3];
                p[axis] = at, p[u] = i + c % 2, p[w] = j + c / 2;
                v[c] = core_vertex(b, p[0], p[1], p[2]);
            }
            add_prisms(b, v[0], v[1], v[3]);
            add_prisms(b, v[0], v[2], v[3]);
        }
}

static void place_vertices(builder *b)
{
    const grading *g = &b->g;
    int n = g->n, wide = 2 * n + 1, core = wide * wide * (n + 1);
    for (int k = 0; k <= n; k++)
        for (int j = -n; j <= n; j++)
            for (int i = -n; i <= n; i++) {
                int v = core_vertex(b, i, j, k);
                bool side = abs(i) == n || abs(j) == n || k == n;
                b->row[v] = side ? b->surface_count : -1;
                if (side) b->surface[b->surface_count++] = v;
                double p[3] = {i, j, k};
                for (int c = 0; c < 3; c++) b->x[3 * v + c] = p[c] * g->core / n;
            }
    for (int s = 0; s < b->shells; s++)
        for (int v = 0; v < b->surface_count; v++) {
            double grow = pow(g->size / g->core, (s + 1.0) / b->shells);
            int to = core + s * b->surface_count + v;
            const double *p = b->x + 3 * b->surface[v];
            double length = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
            double t = fmin(1, (s + 1.0) / n);  // from cubes to spheres
            for (int c = 0; c < 3; c++)
                b->x[3 * to + c] = grow * (1 - t + t * ROUNDNESS * g->core / length) * p[c];
        }
    b->vertex_count = core + b->shells * b->surface_count;
    for (int v = 0; v < b->vertex_count && g->round > 0; v++) {
        double *x = b->x + 3 * v;
        x[2] += g->round - sqrt(g->round * g->round - x[0] * x[0] - x[1] * x[1]);
    }
}

// And the vertices of its outermost shell, which the caller frees.
static hk_mesh *graded_mesh(const grading *g, int32_t **last, int *last_count)
{
    int n = g->n, wide = 2 * n + 1, core = wide * wide * (n + 1), surface = 12 * n * n + 8 * n + 1;
    builder b = {.g = *g, .shells = (int)ceil(log(g->size / g->core) / log(1 + 0.6 / n))};
    b.surface = malloc(sizeof *b.surface * (size_t)surface);
    b.row = malloc(sizeof *b.row * (size_t)core);
    b.x = malloc(3 * sizeof *b.x * (size_t)(core + b.shells * surface));
    b.tets = malloc(4 * sizeof *b.tets * (size_t)(24 * n * n * n + 72 * n * n * b.shells));
    place_vertices(&b);
    assert_true(b.surface_count <= surface);
    for (int k = 0; k < n; k++)
        for (int j = -n; j < n; j++)
            for (int i = -n; i < n; i++) add_cube(&b, i, j, k);
    for (int sign = -1; sign <= 1; sign += 2)
        for (int axis = 0; axis < 2; axis++) add_side(&b, axis, sign * n);
    add_side(&b, 2, n);
    hk_mesh *mesh;
    CHECK_OK(hk_mesh_from_arrays(b.vertex_count, b.x, b.tet_count, b.tets, 0, NULL, &mesh));
    *last = b.surface;
    *last_count = b.surface_count;
    for (int k = 0; k < b.surface_count; k++) b.surface[k] = b.vertex_count - b.surface_count + k;
    free(b.row);
    free(b.x);
    free(b.tets);
    return mesh;
}

// ---------------------------------------------------------------- indentation

#define YOUNG   1e6  // Pa
#define POISSON 0.3
#define RADIUS  1.0      // m
#define PRESSED 2.5e-5   // m, the way of the obstacle: about δ, which makes a 0.005 m
#define SKIN    1.25e-5  // m
#define HELD    0.6      // m, from the middle to where the body is held

typedef struct result {
    double force, expected;  // N
    double contact;          // m, δ
    int tets;
} result;

static result indent(int n, bool ball)
{
    grading g = {.n = n, .core = 0.00625, .size = HELD / ROUNDNESS, .round = ball ? 0 : RADIUS};
    int32_t *last;
    int count;
    hk_mesh *mesh = graded_mesh(&g, &last, &count);
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material = material_of("neo_hookean", YOUNG, POISSON);
    hk_selector outer = {.kind = HK_SELECT_VERTICES, .vertices = last, .vertex_count = count};
    body.fixes = &outer;
    body.fix_count = 1;
    hk_obstacle_def obstacle = hk_default_obstacle_def();
    obstacle.shape = ball ? HK_OBSTACLE_SPHERE : HK_OBSTACLE_PLANE;
    obstacle.normal[1] = 0;
    obstacle.normal[2] = 1;
    obstacle.point[2] = -SKIN;
    obstacle.radius = RADIUS;
    obstacle.center[2] = -RADIUS - SKIN;
    hk_motion_def up = {.axis = {0, 0, 1}, .translate = {0, 0, PRESSED}, .over = 1};
    obstacle.moves = &up;
    obstacle.move_count = 1;
    hk_contact_def contact = hk_default_contact_def();
    contact.distance = SKIN;
    contact.stiffness = YOUNG;
    contact.self = 0;
    hk_model_def def = hk_default_model_def();
    def.gravity[1] = 0;
    def.bodies = &body;
    def.body_count = 1;
    def.contact = &contact;
    def.obstacles = &obstacle;
    def.obstacle_count = 1;
    contact_run run = {.method = "newton", .tolerance = 1e-4, .iterations = 500};
    hk_world *world = contact_world(&def, &run);
    hk_mesh_free(mesh);
    free(last);
    hk_step_report report;
    CHECK_OK(hk_world_pose(world, &report));
    if (report.reason != HK_CONVERGED) fail_msg("%d cells: %s", n, report.detail);
    hk_obstacle_load load;
    CHECK_OK(hk_world_obstacle_load(world, 0, &load));
    result r = {.force = -load.force[2], .tets = hk_model_tet_count(hk_world_model(world))};
    hk_contact_report touching;
    CHECK_OK(hk_world_contact(world, &touching));
    double far = (1 + POISSON) * r.force / (2 * M_PI * YOUNG * HELD);
    r.contact = PRESSED - SKIN + touching.least_gap + far * (1.0 / 3 + 2 * (1 - POISSON));
    r.expected = 4.0 / 3 * YOUNG / (1 - POISSON * POISSON) * sqrt(RADIUS) * pow(r.contact, 1.5);
    if (getenv("HOOKE_LONG"))
        printf("%s n %d tets %d force %.6g expected %.6g ratio %.4f delta %g iterations %d load "
               "steps %d\n",
               ball ? "ball" : "plane", n, r.tets, r.force, r.expected, r.force / r.expected,
               r.contact, report.iterations, report.load_steps);
    hk_world_free(world);
    return r;
}

// The error goes with the square of the cells, and what it comes to is Hertz's force.
static void test_plane(void **state)
{
    (void)state;
    const char *longer = getenv("HOOKE_LONG");
    int most = longer ? atoi(longer) : SANITIZED ? 3 : 4;
    double error[16] = {0};
    for (int n = 2; n <= most && n < 16; n++) {
        result r = indent(n, false);
        error[n] = r.force / r.expected - 1;
        assert_true(n == 2 || error[n] < error[n - 1]);
    }
    if (most >= 4) {
        // Extrapolated from 3 and 4 cells, of second order.
        double limit = (16 * error[4] - 9 * error[3]) / 7;
        if (!(fabs(limit) < 0.015)) fail_msg("Hertz's force is missed by %g", limit);
        if (!(error[4] > 0 && error[4] < 0.055)) fail_msg("4 cells: %g", error[4]);
    }
    for (int n = 5; n <= most && n < 16; n++)
        if (!(error[n] > 0 && error[n] < 0.03)) fail_msg("%d cells: %g", n, error[n]);
}

static void test_ball(void **state)
{
    (void)state;
    const char *longer = getenv("HOOKE_LONG");
    int most = longer ? atoi(longer) : 3;
    double error[16] = {0};
    for (int n = 2; n <= most && n < 16; n++) {
        result r = indent(n, true);
        error[n] = r.force / r.expected - 1;
        assert_true(n == 2 || error[n] < error[n - 1]);
    }
    if (!(error[3] < 0.19)) fail_msg("3 cells: %g", error[3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plane), cmocka_unit_test(test_ball)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
