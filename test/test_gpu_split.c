// One pass of method split as the kernels of gpu/split.cu do it, on the host: what they read is
// made by the same functions, what they compute is in gpu/split_math.h. It must be the step of the
// CPU's split, to the rounding of single precision.
#include "bodies.h"
#include "gpu/clusters.h"
#include "gpu/split_math.h"
#include "linear/multigrid_cg.h"
#include "solver/split.h"
#include "term/cluster_rotation.h"
#include "term/terms.h"
#include "world/world.h"

// ---------------------------------------------------------------- worlds

// A bar that is held at one end, and a box that flies and turns.
static hk_model *two_bodies(const char *material, double poisson)
{
    hk_body_def body[2] = {hk_default_body_def(), hk_default_body_def()};
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    body[0].mesh = box_mesh(1, 0.3, 0.3, 10, 3, 3);
    body[0].material = material_of(material, 1e5, poisson);
    body[0].fixes = &wall;
    body[0].fix_count = 1;
    body[1].mesh = box_mesh(0.5, 0.4, 0.3, 4, 4, 4);
    body[1].material = material_of(material, 3e5, poisson);
    body[1].transform.translate[2] = 3;
    body[1].velocity[0] = 0.5;
    body[1].name = "second";
    hk_model_def def = hk_default_model_def();
    def.bodies = body;
    def.body_count = 2;
    def.gravity[1] = -9.81;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    for (int k = 0; k < 2; k++) hk_mesh_free((hk_mesh *)(uintptr_t)body[k].mesh);
    return model;
}

static hk_world *split_world(hk_model *model, int turning, double air, double viscous)
{
    hk_option option = {.name = "turning", .number = turning};
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = 0.02;
    def.threads = 1;
    def.damping = (hk_damping){.air = air, .viscous = viscous};
    def.solver.method = "split";
    def.solver.options = &option;
    def.solver.option_count = 1;
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

// ---------------------------------------------------------------- the device, as it were

typedef struct device {
    const hk_world *world;
    int count;
    int32_t *place;  // [count] as layouts have it: any order will do
    double *weight;
    hk_gpu_laplacian *rows;
    hk_gpu_triangle triangle;
    hk_multigrid *multigrid;
    hk_gpu_clusters *clusters;  // NULL: nothing turns
    int32_t *same;              // [count] k
    double *y;                  // [count][3]
    double *r, *z;              // [count][4]
    float *w, *p, *s, *moved;   // [count][3]
    double *x;                  // [count][3]
    hk_cg cg;
} device;

static int settings_clusters(const hk_world *w)
{
    return hk_split_clusters(&w->settings);
}

static device make_device(const hk_world *world)
{
    const hk_model *m = world->model;
    size_t n = (size_t)m->vertex_count;
    device d = {.world = world, .count = m->vertex_count};
    d.place = malloc(n * sizeof *d.place);
    d.same = malloc(n * sizeof *d.same);
    d.weight = malloc(sizeof(double) * (size_t)m->material_count);
    for (int k = 0; k < d.count; k++) {
        d.place[k] = (k + d.count / 3) % d.count;
        d.same[k] = k;
    }
    CHECK_OK(world->method->weights(&world->settings, m, d.weight));
    hk_gpu_matrix matrix = {.model = m,
                            .place = d.place,
                            .weight = d.weight,
                            .inertia = 1 / (world->step * world->step),
                            .air = world->damping.air / world->step,
                            .stiffening = world->damping.viscous / world->step,
                            .threads = 1};
    CHECK_OK(hk_gpu_laplacian_create(&matrix, &d.rows));
    CHECK_OK(hk_gpu_triangle_create(&matrix, &d.triangle));
    CHECK_OK(hk_multigrid_create(&d.triangle.pattern, d.triangle.value, 1, &d.multigrid));
    int most = settings_clusters(world);
    if (most > 0) CHECK_OK(hk_gpu_clusters_create(&matrix, most, &d.clusters));
    double **wide[] = {&d.y, &d.x, &d.r, &d.z};
    float **narrow[] = {&d.w, &d.p, &d.s, &d.moved};
    for (int k = 0; k < 4; k++) {
        *wide[k] = calloc(4 * n, sizeof(double));
        *narrow[k] = calloc(3 * n, sizeof(float));
    }
    return d;
}

static void free_device(device *d)
{
    hk_gpu_laplacian_free(d->rows);
    hk_gpu_triangle_release(&d->triangle);
    hk_multigrid_free(d->multigrid);
    hk_gpu_clusters_free(d->clusters);
    void *all[] = {d->place, d->same, d->weight, d->y, d->x,    d->r,
                   d->z,     d->w,    d->p,      d->s, d->moved};
    for (int k = 0; k < (int)(sizeof all / sizeof *all); k++) free(all[k]);
}

static bool is_free(const device *d, int v)
{
    const hk_model *m = d->world->model;
    return m->hold[m->order[d->place[v]]] == HK_FREE;
}

// y from a state, [count][4] both, and f − g there.
static void begin(device *d, const double *position, const double *velocity)
{
    const hk_world *w = d->world;
    const hk_model *m = w->model;
    size_t bytes = (32 * (size_t)d->count + 63) / 64 * 64;
    double *at = memset(aligned_alloc(64, bytes), 0, bytes), *gradient = aligned_alloc(64, bytes);
    double energy;
    double h = w->step, air = w->damping.air / h;
    for (int v = 0; v < d->count; v++) {
        int64_t from = 4 * (int64_t)d->place[v];
        double inertia = m->mass[m->order[d->place[v]]] / (h * h);
        for (int i = 0; i < 3; i++) {
            double x = position[from + i], ahead = x + h * velocity[from + i];
            double y = (inertia * ahead + air * x) / (inertia + air);
            d->y[3 * v + i] = at[from + i] = is_free(d, v) ? y : x;
        }
    }
    hk_terms_gradient(w->problem->terms, at, HK_ALL_TERMS, gradient, &energy);
    assert_true(isfinite(energy));
    for (int v = 0; v < d->count; v++)
        for (int i = 0; i < 3; i++) {
            double f = w->problem->force[4 * (int64_t)d->place[v] + i];
            double r = f - gradient[4 * (int64_t)d->place[v] + i];
            d->r[4 * v + i] = is_free(d, v) ? (double)(float)r : 0;
        }
    free(at);
    free(gradient);
}

// As row_product of split.cu.
static void product(const device *d, int v, const double *x, float *w)
{
    const hk_gpu_laplacian *l = d->rows;
    float diagonal = l->inverse[v] > 0 ? 1 / l->inverse[v] : 0;
    for (int i = 0; i < 3; i++) {
        float own = (float)x[4 * v + i], sum = l->surplus[v] * own;
        for (int k = l->start[v / HK_GPU_ROWS] + v % HK_GPU_ROWS; k < l->start[v / HK_GPU_ROWS + 1];
             k += HK_GPU_ROWS) {
            const hk_gpu_entry *e = &l->entries[k];
            sum += e->value * ((float)x[4 * e->column + i] - own);
        }
        w[i] = diagonal * sum;
    }
}

static bool iterate(device *d)
{
    double rz = 0, zw = 0;
    hk_multigrid_apply(d->multigrid, d->same, d->r, d->z);
    for (int v = 0; v < d->count; v++) {
        product(d, v, d->z, d->w + 3 * v);
        for (int i = 0; i < 3; i++) {
            rz += d->r[4 * v + i] * d->z[4 * v + i];
            zw += d->z[4 * v + i] * (double)d->w[3 * v + i];
        }
    }
    if (!cg_advance(&d->cg, rz, zw)) return false;
    float alpha = (float)d->cg.alpha, beta = (float)d->cg.beta;
    for (int k = 0; k < 3 * d->count; k++) {
        int64_t wide = 4 * (int64_t)(k / 3) + k % 3;
        d->p[k] = (float)d->z[wide] + beta * d->p[k];
        d->s[k] = d->w[k] + beta * d->s[k];
        d->moved[k] += alpha * d->p[k];
        d->r[wide] = (double)((float)d->r[wide] - alpha * d->s[k]);
    }
    return true;
}

static void solve(device *d, int most)
{
    size_t bytes = 3 * sizeof(float) * (size_t)d->count;
    memset(d->p, 0, bytes);
    memset(d->s, 0, bytes);
    memset(d->moved, 0, bytes);
    cg_begin(&d->cg);
    for (int k = 0; k < most && iterate(d); k++) continue;
}

static void measure(const device *d, int cluster, double *rotation, double *change)
{
    const hk_gpu_clusters *c = d->clusters;
    double gradient[9] = {0};
    memset(change, 0, 9 * sizeof *change);
    const double *o = d->y + 3 * (int64_t)c->entries[c->start[cluster]].vertex;
    for (int e = c->start[cluster]; e < c->start[cluster + 1]; e++) {
        const hk_gpu_cluster_entry *at = &c->entries[e];
        for (int k = 0; k < 9; k++) {
            double slope = (double)at->slope[k % 3];
            gradient[k] += (d->y[3 * at->vertex + k / 3] - o[k / 3]) * slope;
            change[k] += (double)d->moved[3 * at->vertex + k / 3] * slope;
        }
    }
    mat3 F, R;
    for (int k = 0; k < 9; k++) F.m[k / 3][k % 3] = gradient[k];
    R = cluster_rotation(F);
    for (int k = 0; k < 9; k++) rotation[k] = R.m[k / 3][k % 3];
}

// The system of one body by so many threads, one after the other.
static bool solve_system(int n, double least, double *a, int threads)
{
    for (int k = 0; k < n; k++) {
        if (!(a[k * (n + 1) + k] > least)) return false;
        for (int t = 0; t < threads; t++) turn_eliminate(n, k, a, t, threads);
    }
    for (int k = n - 1; k > 0; k--)
        for (int t = 0; t < threads; t++) turn_substitute(n, k, a, t, threads);
    return rule_finite(turn_unknown(n, 0, a));
}

static void find_turn(const device *d, const hk_gpu_turner *t, const double *rotation,
                      const double *change, double *turn)
{
    enum { THREADS = 7 };
    const hk_gpu_clusters *c = d->clusters;
    int n = 3 * t->clusters;
    double *a = calloc((size_t)n * (size_t)(n + 1), sizeof(double)), least = INFINITY;
    for (int k = 0; k < THREADS; k++)
        turn_fill(t->clusters, rotation, change, c->tau + t->tau, c->inverse_weight + t->first, a,
                  k, THREADS);
    for (int k = 0; k < t->clusters; k++)
        least = fmin(least, 1e-9 * c->inverse_weight[t->first + k]);
    bool turns = solve_system(n, least, a, THREADS);
    assert_true(turns);
    for (int k = 0; k < t->clusters; k++) {
        double z[3];
        for (int i = 0; i < 3; i++) z[i] = turn_unknown(n, 3 * k + i, a);
        turn_columns(rotation + 9 * k, z, turn + 9 * k);
    }
    free(a);
}

static int body_of(const device *d, int v)
{
    const hk_model *m = d->world->model;
    int vertex = m->order[d->place[v]], b = 0;
    while (vertex >= m->bodies[b].vertex_start + m->bodies[b].vertex_count) b++;
    return b;
}

static void finish(device *d)
{
    const hk_gpu_clusters *c = d->clusters;
    size_t size = 9 * (size_t)(c ? c->count : 1);
    double *rotation = calloc(size, sizeof(double)), *change = calloc(size, sizeof(double));
    double *turn = calloc(size, sizeof(double));
    for (int k = 0; c && k < c->count; k++) measure(d, k, rotation + 9 * k, change + 9 * k);
    for (int b = 0; c && b < c->body_count; b++) {
        const hk_gpu_turner *t = &c->turners[b];
        if (t->clusters > 0)
            find_turn(d, t, rotation + 9 * t->first, change + 9 * t->first, turn + 9 * t->first);
    }
    for (int v = 0; v < d->count; v++) {
        double x[3];
        for (int i = 0; i < 3; i++) x[i] = (double)d->moved[3 * v + i];
        int slot = c ? c->slot[v] : -1;
        if (slot >= 0) {
            const hk_gpu_turner *t = &c->turners[body_of(d, v)];
            int columns = 3 * t->clusters;
            const float *from =
                c->columns + t->columns +
                (int64_t)(slot / HK_GPU_COLUMN_BLOCK) * columns * HK_GPU_COLUMN_BLOCK +
                slot % HK_GPU_COLUMN_BLOCK;
            for (int q = 0; q < 3 * columns; q++)
                x[q % 3] += (double)from[q / 3 * HK_GPU_COLUMN_BLOCK] * turn[9 * t->first + q];
        }
        for (int i = 0; i < 3; i++) d->x[3 * v + i] = d->y[3 * v + i] + (is_free(d, v) ? x[i] : 0);
    }
    free(rotation);
    free(change);
    free(turn);
}

// ---------------------------------------------------------------- steps

// Steps of the CPU, each beside one of the device from the same state. Returns the largest
// difference, relative to how far the solve went; *iterations: of the solves, at most.
static double compare_steps(hk_world *world, int steps, int *iterations)
{
    double worst = 0;
    CHECK_OK(hk_world_step(world, NULL));
    device d = make_device(world);
    size_t bytes = 4 * sizeof(double) * (size_t)d.count;
    double *x = malloc(bytes), *v = malloc(bytes);
    *iterations = 0;
    for (int n = 0; n < steps; n++) {
        memcpy(x, world->x, bytes);
        memcpy(v, world->v, bytes);
        CHECK_OK(hk_world_step(world, NULL));  // viscosity is that of the state before it
        begin(&d, x, v);
        solve(&d, 12);
        finish(&d);
        *iterations = hk_max_int(*iterations, d.cg.iterations);
        double off = 0, way = 0;
        for (int k = 0; k < 3 * d.count; k++) {
            double to = world->x[4 * (int64_t)d.place[k / 3] + k % 3];
            off = fmax(off, fabs(d.x[k] - to));
            way = fmax(way, fabs(d.y[k] - to));
        }
        worst = fmax(worst, off / way);
    }
    free(x);
    free(v);
    free_device(&d);
    return worst;
}

static void test_steps_of_the_cpu(void **state)
{
    (void)state;
    static const struct {
        const char *material;
        double poisson, air, viscous;
        int turning;
        double most;
    } cases[] = {{"corotated", 0.3, 0, 0, 16, 1e-4},    {"corotated", 0.45, 0, 0, 16, 1e-4},
                 {"corotated", 0.3, 0.5, 0, 4, 1e-4},   {"corotated", 0, 0, 0, 16, 1e-4},
                 {"corotated", 0.3, 0, 0.02, 16, 1e-4}, {"arap", 0.3, 0, 0, 16, 1e-4},
                 {"arap", 0.3, 0, 0, 0, 1e-4}};
    for (int k = 0; k < (int)(sizeof cases / sizeof *cases); k++) {
        hk_world *world = split_world(two_bodies(cases[k].material, cases[k].poisson),
                                      cases[k].turning, cases[k].air, cases[k].viscous);
        int iterations;
        double off = compare_steps(world, 10, &iterations);
        printf("%s, nu = %g, air %g, viscous %g, %d clusters: %.1e of the way off, at most %d "
               "iterations\n",
               cases[k].material, cases[k].poisson, cases[k].air, cases[k].viscous,
               cases[k].turning, off, iterations);
        assert_true(off < cases[k].most);
        hk_world_free(world);
    }
}

// ---------------------------------------------------------------- solves

// A large and stiff body, so that there are several levels: the solves of set-up, and how many
// iterations a step takes.
static void test_solves(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    body.fixes = &wall;
    for (int k = 0; k < 4; k++) {
        body.material = material_of("corotated", k < 2 ? 1e6 : 1e10, 0.45);
        body.fix_count = k % 2;
        int cells = SANITIZED ? 6 : 12;
        hk_world *world = split_world(
            model_of(&body, box_mesh(1, 0.25, 0.25, 4 * cells, cells, cells), -9.81), 1, 0, 0);
        CHECK_OK(hk_world_step(world, NULL));
        device d = make_device(world);
        hk_multigrid_cg *cg;
        CHECK_OK(hk_multigrid_cg_create(&d.triangle.pattern, d.triangle.value, 1, &cg));
        double *b = calloc(4 * (size_t)d.count, sizeof(double)),
               *x = calloc(4 * (size_t)d.count, 8);
        uint64_t seed = 3;
        for (int i = 0; i < 4 * d.count; i++) b[i] = noise(&seed);
        int wide = hk_multigrid_cg_solve(cg, 1e-11, b, x);
        // The matrix of the kernels in single precision leaves little of it where bodies are soft,
        // and knows the inertia of a translation however stiff they are.
        double left = 0, all = 0, wrong = 0;
        for (int v = 0; v < d.count; v++) {
            float w[3];
            product(&d, v, x, w);
            for (int i = 0; i < 3 && is_free(&d, v); i++) {
                left += ((double)w[i] - b[4 * v + i]) * ((double)w[i] - b[4 * v + i]);
                all += b[4 * v + i] * b[4 * v + i];
            }
        }
        for (int i = 0; i < 4 * d.count; i++) b[i] = 0.7;
        for (int v = 0; v < d.count && k % 2 == 0; v++) {
            const hk_model *m = world->model;
            double inertia = m->mass[m->order[d.place[v]]] / (world->step * world->step);
            float w[3];
            product(&d, v, b, w);
            wrong = fmax(wrong, fabs((double)w[0] / (0.7 * inertia) - 1));
        }
        if (k < 2) assert_true(sqrt(left / all) < 1e-4);
        assert_true(wrong < 1e-5);
        begin(&d, world->x, world->v);
        solve(&d, 50);
        printf(
            "%d vertices, %g Pa, %s: 1e-11 after %d iterations (%.0e left in single, inertia off "
            "by %.0e); a step takes %d\n",
            d.count, k < 2 ? 1e6 : 1e10, k % 2 ? "held" : "free", wide, sqrt(left / all), wrong,
            d.cg.iterations);
        assert_true(wide < 60);
        assert_true(d.cg.iterations <= 12 && !d.cg.failed);
        hk_multigrid_cg_free(cg);
        free(b);
        free(x);
        free_device(&d);
        hk_world_free(world);
    }
}

static void test_numbers_that_are_not_finite(void **state)
{
    (void)state;
    hk_cg cg;
    cg_begin(&cg);
    assert_false(cg_advance(&cg, NAN, 1));
    assert_true(cg.failed);
    cg_begin(&cg);
    assert_false(cg_advance(&cg, 0, 0));  // there is nothing to solve
    assert_false(cg.failed);
}

// ---------------------------------------------------------------- pressure

// As trace_pressure of corotation_lanes.c has it, with R known.
static void test_bounded_stress(void **state)
{
    (void)state;
    uint64_t seed = 11;
    const double mu = 3;
    int changed = 0, kept = 0;
    for (int n = 0; n < 4000; n++) {
        double lambda = n % 4 == 0 ? -0.5 : n % 4 == 1 ? 20 : 4, size = n % 3 == 0 ? 3 : 0.4;
        mat3 F, P, Q;
        for (int k = 0; k < 9; k++)
            F.m[k / 3][k % 3] = (k % 4 == 0 ? 1 : 0) + size * (noise(&seed) - 0.5);
        mat3 R = polar_rotation(F);
        double trace = m3_dot(R, F) - 3, J = m3_det(F), pressure = lambda * trace;
        double bounded = fmin(pressure, 2 * mu) * fmax(0, fmin(1, 5 * J)) * (lambda > 0);
        for (int k = 0; k < 9; k++) {
            double stretch = 2 * mu * (F.m[k / 3][k % 3] - R.m[k / 3][k % 3]);
            P.m[k / 3][k % 3] = stretch + pressure * R.m[k / 3][k % 3];
            Q.m[k / 3][k % 3] = stretch + bounded * R.m[k / 3][k % 3];
        }
        if (fabs(pressure - 2 * mu) < 1e-6) continue;
        mat3 before = P;
        split_bound_stress(mu, lambda, &F.m[0][0], &P.m[0][0]);
        for (int k = 0; k < 9; k++)
            assert_true(fabs(P.m[k / 3][k % 3] - Q.m[k / 3][k % 3]) < 1e-9 * (1 + fabs(pressure)));
        if (pressure == bounded) {
            kept++;
            assert_memory_equal(&P, &before, sizeof P);
        }
        changed += pressure != bounded;
    }
    assert_true(changed > 500 && kept > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_of_the_cpu),
        cmocka_unit_test(test_solves),
        cmocka_unit_test(test_numbers_that_are_not_finite),
        cmocka_unit_test(test_bounded_stress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
