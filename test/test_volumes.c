// Closed surfaces that keep their volume: derivatives, theory, every method, momentum, contact.
#include "math/closed_volume.h"
#include "rigid_bodies.h"

// A cube of 0.6 m with a hole of 0.2 m in its middle.
static hk_mesh *hollow_mesh(void)
{
    hk_mesh *box = box_mesh(0.6, 0.6, 0.6, 6, 6, 6), *mesh = NULL;
    const double *x = hk_mesh_positions(box);
    const int32_t *tets = hk_mesh_tets(box);
    int count = hk_mesh_vertex_count(box), kept = 0, used = 0;
    int32_t *number = malloc(sizeof *number * (size_t)count);
    int32_t *own = malloc(4 * sizeof *own * (size_t)hk_mesh_tet_count(box));
    double *at = malloc(3 * sizeof *at * (size_t)count);
    assert_true(number && own && at);
    for (int v = 0; v < count; v++) number[v] = -1;
    for (int t = 0; t < hk_mesh_tet_count(box); t++) {
        bool inside = true;
        for (int i = 0; i < 3; i++) {
            double middle = 0;
            for (int k = 0; k < 4; k++) middle += 0.25 * x[3 * tets[4 * t + k] + i];
            inside = inside && middle > 0.2 && middle < 0.4;
        }
        if (inside) continue;
        for (int k = 0; k < 4; k++) {
            int32_t v = tets[4 * t + k];
            if (number[v] < 0) {
                memcpy(at + 3 * used, x + 3 * v, 3 * sizeof *at);
                number[v] = used++;
            }
            own[4 * kept + k] = number[v];
        }
        kept++;
    }
    CHECK_OK(hk_mesh_from_arrays(used, at, kept, own, 0, NULL, &mesh));
    free(number);
    free(own);
    free(at);
    hk_mesh_free(box);
    return mesh;
}

static hk_constraint_def volume(double factor, double rest)
{
    hk_constraint_def c = hk_default_constraint_def();
    c.kind = HK_KEEP_VOLUME;
    c.name = "cavity";
    c.volume = factor * rest;
    return c;
}

static hk_selector wall(void)
{
    return select_box(0.19, 0.19, 0.19, 0.41, 0.41, 0.41);
}

static hk_model *hollow(const hk_constraint_def *c, int count, bool held, const hk_selector *roller,
                        double gravity)
{
    hk_mesh *mesh = hollow_mesh();
    hk_selector fixes[2] = {select_box(-1e-6, -1, -1, 1e-6, 1, 1)};
    uint8_t axes[2] = {HK_ALL_AXES, HK_AXIS_Z};
    hk_body_def body = hk_default_body_def();
    body.material = material_of("arap", 3e4, 0.3);
    body.fixes = fixes;
    body.fix_axes = axes;
    body.fix_count = held;
    if (roller) fixes[body.fix_count] = *roller, axes[body.fix_count++] = HK_AXIS_Z;
    body.mesh = mesh;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.gravity[1] = gravity;
    def.constraints = c;
    def.constraint_count = count;
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

static hk_cavity_state cavity_of(const hk_world *w)
{
    hk_cavity_state s;
    CHECK_OK(hk_world_cavity_state(w, 0, &s));
    return s;
}

static void check_volume(const hk_world *w, const char *label, double goal)
{
    double apart = fabs(cavity_of(w).volume / goal - 1);
    if (!(apart < 1e-13)) fail_msg("%s: the volume is off by %g of it", label, apart);
}

// ---------------------------------------------------------------- derivatives

static double whole_volume(const hk_mesh *mesh, const double *x, double *g)
{
    int count = hk_mesh_triangle_count(mesh);
    const int32_t *triangles = hk_mesh_triangles(mesh);
    double sum = 0;
    if (g) memset(g, 0, 3 * sizeof *g * (size_t)hk_mesh_vertex_count(mesh));
    for (int t = 0; t < count; t++) {
        double at[9], part[9];
        for (int i = 0; i < 3; i++)
            memcpy(at + 3 * i, x + 3 * triangles[3 * t + i], 3 * sizeof(double));
        sum += hk_volume_of_triangle(x, at, part);
        for (int i = 0; i < 9 && g; i++) g[3 * triangles[3 * t + i / 3] + i % 3] += part[i];
    }
    return sum;
}

// ∇²V d over a closed surface, from its edges.
static void times_hessian(const hk_mesh *mesh, const double *x, const double *d, double *to)
{
    const int32_t *triangles = hk_mesh_triangles(mesh);
    memset(to, 0, 3 * sizeof *to * (size_t)hk_mesh_vertex_count(mesh));
    for (int t = 0; t < hk_mesh_triangle_count(mesh); t++)
        for (int k = 0; k < 3; k++) {
            const int32_t *v = triangles + 3 * t;
            int32_t a = v[k], b = v[(k + 1) % 3];
            double at[9], w[3];
            for (int i = 0; i < 3; i++) memcpy(at + 3 * i, x + 3 * v[i], 3 * sizeof(double));
            hk_volume_twist(at, k, w);
            for (int i = 0; i < 3; i++) {
                int j = (i + 1) % 3, l = (i + 2) % 3;
                to[3 * a + i] += w[j] * d[3 * b + l] - w[l] * d[3 * b + j];
                to[3 * b + i] -= w[j] * d[3 * a + l] - w[l] * d[3 * a + j];
            }
        }
}

static void test_derivatives(void **state)
{
    (void)state;
    hk_mesh *mesh;
    CHECK_OK(hk_mesh_load("../scenes/surfaces/ball.obj", &mesh));
    int size = 3 * hk_mesh_vertex_count(mesh);
    double *x = malloc(5 * sizeof *x * (size_t)size), *d = x + size, *g = d + size, *h = g + size,
           *other = h + size;
    uint64_t seed = 7;
    for (int k = 0; k < size; k++) {
        x[k] = hk_mesh_positions(mesh)[k] + 0.1 * noise(&seed) + 2;
        d[k] = noise(&seed);
    }
    double slope = 0, step = 1e-5, twist = 0, off = 0, sum[3] = {0};
    whole_volume(mesh, x, g);
    times_hessian(mesh, x, d, h);
    for (int k = 0; k < size; k++) slope += g[k] * d[k], sum[k % 3] += g[k];
    for (int i = 0; i < 3; i++) assert_true(fabs(sum[i]) < 1e-13);  // wherever it is seen from
    double ends[2];
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < size; k++) x[k] += (side ? -2 : 1) * step * d[k];
        ends[side] = whole_volume(mesh, x, side ? other : g);
    }
    assert_true(fabs((ends[0] - ends[1]) / (2 * step) / slope - 1) < 1e-7);
    for (int k = 0; k < size; k++) {
        off += pow((g[k] - other[k]) / (2 * step) - h[k], 2);
        twist += h[k] * h[k];
    }
    print_message("volume: second differences off by %.1e\n", sqrt(off / twist));
    assert_true(sqrt(off / twist) < 1e-7);
    free(x);
    hk_mesh_free(mesh);
}

// ---------------------------------------------------------------- a balloon of a given volume

static hk_model *balloon(hk_constraint_def *c, double factor, double speed, double gravity)
{
    hk_mesh *mesh;
    CHECK_OK(hk_mesh_load("../scenes/surfaces/ball.obj", &mesh));
    double inside = fabs(whole_volume(mesh, hk_mesh_positions(mesh), NULL)) * 1e-3;
    c->volume = factor * inside;
    hk_body_def body = hk_default_body_def();
    body.transform.scale = 0.1;
    body.material = hk_default_material_def();
    body.material.model = "shell";
    body.material.membrane = "neo_hookean";
    body.material.bending_form = "none";
    body.material.young = 1e6;
    body.material.poisson = 0.499;
    body.material.thickness = 1e-3;
    body.material.density = 1000;
    body.velocity[0] = speed;
    body.mesh = mesh;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.gravity[1] = gravity;
    def.constraints = c;
    def.constraint_count = 1;
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

// A thin neo-Hookean ball, p = 2 μ h/R (1/λ − 1/λ⁷) with the stretch λ: up to λ = 1.38 it gets
// harder to blow up, and easier from there on, where no pressure holds it, but its volume does.
static void test_balloon(void **state)
{
    (void)state;
    static const double stretches[] = {1.1, 1.3, 1.8, 2.5};
    for (int k = 0; k < 4; k++) {
        double l = stretches[k], mu = 1e6 / (2 * 1.499);
        hk_constraint_def c = volume(1, 0);
        hk_model *model = balloon(&c, pow(l, 3), 0, 0);
        hk_world *w = world_by(model, 0.01, NULL);
        hk_step_report r;
        CHECK_OK(hk_world_pose(w, &r));
        if (r.reason != HK_CONVERGED) fail_msg("stretch %g: %s", l, r.detail);
        double expected = 2 * mu * 1e-3 / 0.1 * (1 / l - pow(l, -7));
        hk_cavity_state s = cavity_of(w);
        print_message("stretch %.1f: %.1f Pa, by hand %.1f Pa, %d iterations\n", l, s.pressure,
                      expected, r.iterations);
        check_volume(w, "balloon", c.volume);
        assert_true(fabs(s.pressure / expected - 1) < 0.03);
        hk_world_free(w);
        hk_model_free(model);
    }
}

// ---------------------------------------------------------------- methods

static void compare(hk_model *model, const variant *v, int steps, double goal)
{
    hk_world *own = world_by(model, 1.0 / 30, v), *newton = world_by(model, 1.0 / 30, NULL);
    hk_step_report r;
    for (int n = 0; n < steps; n++) {
        CHECK_OK(hk_world_step(newton, &r));
        if (r.reason != HK_CONVERGED) fail_msg("newton, step %d: %s", n, r.detail);
        if (r.iterations > 12) fail_msg("newton, step %d: %d iterations", n, r.iterations);
        check_volume(newton, "newton", goal);
        CHECK_OK(hk_world_step(own, &r));
        if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED)
            fail_msg("%s, step %d: %s %s", v->label, n, hk_reason_name(r.reason), r.detail);
        check_volume(own, v->label, goal);
    }
    double apart = relative_distance(own, newton);
    double pressure = fabs(cavity_of(own).pressure / cavity_of(newton).pressure - 1);
    print_message("%-26s %.1e from newton, pressure %.1e, %d iterations in the last step, %s\n",
                  v->label, apart, pressure, r.iterations, hk_reason_name(r.reason));
    if (!(apart < v->distance)) fail_msg("%s: %g from newton", v->label, apart);
    if (!(pressure < 10 * v->distance)) fail_msg("%s: pressure off by %g", v->label, pressure);
    hk_world_free(own);
    hk_world_free(newton);
}

static void test_methods(void **state)
{
    (void)state;
    hk_constraint_def c = volume(1.1, 0.008);
    c.select = wall();
    hk_model *model = hollow(&c, 1, true, NULL, -9.81);
    for (int k = 0; k < VARIANT_COUNT; k++)
        if (!SANITIZED || k % 5 == 0) compare(model, &VARIANTS[k], SANITIZED ? 1 : 4, 0.0088);
    hk_model_free(model);
}

// Beside a rigid part and a roller, which have equations of their own.
static void test_with_others(void **state)
{
    (void)state;
    hk_constraint_def c[2] = {volume(0.9, 0.008), hk_default_constraint_def()};
    c[0].select = wall();
    c[1].kind = HK_KEEP_TOGETHER;
    c[1].select = select_box(0.59, -1, -1, 0.61, 1, 1);
    hk_selector roller = select_box(0.19, 0.19, 0.19, 0.41, 0.41, 0.21);
    hk_model *model = hollow(c, 2, true, &roller, -9.81);
    for (int k = 0; k < VARIANT_COUNT; k += SANITIZED ? 7 : 2) {
        // Large groups beside fixes by axis are not for constant matrices.
        const char *method = VARIANTS[k].method;
        bool constant = strcmp(method, "quasi_newton") == 0 || strcmp(method, "projective") == 0 ||
                        strcmp(method, "admm") == 0;
        if (!constant) compare(model, &VARIANTS[k], 2, 0.0072);
    }
    hk_model_free(model);
}

static void test_balloon_by_methods(void **state)
{
    (void)state;
    static const char *const methods[] = {"quasi_newton", "lbfgs", "descent", "vbd"};
    hk_constraint_def c = volume(1, 0);
    hk_model *model = balloon(&c, 1.3, 0.5, -9.81);
    for (int k = 0; k < (SANITIZED ? 1 : 4); k++) {
        variant v = {methods[k], methods[k], {{"precision", 0, "double"}}, k != 1, 1e-4};
        compare(model, &v, 2, c.volume);
    }
    hk_model_free(model);
}

// ---------------------------------------------------------------- momentum and time

static void sum_up(const hk_world *w, const double *v, double linear[3], double angular[3])
{
    const hk_model *m = hk_world_model(w);
    const double *mass = hk_model_masses(m), *x = hk_world_positions(w);
    for (int i = 0; i < 3; i++) linear[i] = angular[i] = 0;
    for (int k = 0; k < hk_model_vertex_count(m); k++)
        for (int i = 0; i < 3; i++) {
            int j = (i + 1) % 3, l = (i + 2) % 3;
            linear[i] += mass[k] * v[3 * k + i];
            angular[i] += mass[k] * (x[3 * k + j] * v[3 * k + l] - x[3 * k + l] * v[3 * k + j]);
        }
}

// A cavity that breathes in a free body that spins: Σ m v and Σ x₁ × m (v₁ − v₀) as without it.
static void test_momentum(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "quasi_newton", "descent"};
    for (int n = 0; n < 3; n++) {
        hk_constraint_def c = volume(0, 0);
        c.select = wall();
        c.factor.formula = "1 + 0.3 * sin(2 * pi * t)";
        hk_model *model = hollow(&c, 1, false, NULL, 0);
        int size = 3 * hk_model_vertex_count(model);
        double *v = malloc(sizeof *v * (size_t)size);
        const double *X = hk_model_rest_positions(model);
        for (int k = 0; k < size; k += 3)
            v[k] = 0.3 - 2 * (X[k + 1] - 0.3), v[k + 1] = 2 * (X[k] - 0.3), v[k + 2] = 0.1;
        variant own = {methods[n], methods[n], {{"precision", 0, "double"}}, n == 2, 0};
        hk_world *w = world_by(model, 0.02, &own);
        CHECK_OK(hk_world_set_velocities(w, v));
        double p0[3], p1[3], L0[3], L1[3], worst = 0;
        hk_step_report r;
        for (int s = 0; s < 20; s++) {
            memcpy(v, hk_world_velocities(w), sizeof *v * (size_t)size);
            CHECK_OK(hk_world_step(w, &r));
            sum_up(w, v, p0, L0);
            sum_up(w, hk_world_velocities(w), p1, L1);
            check_volume(w, methods[n],
                         0.008 * (1 + 0.3 * sin(2 * 3.141592653589793 * 0.02 * (s + 1))));
            double most = 0;
            for (int i = 0; i < 3; i++)
                most = fmax(most, fmax(fabs(p1[i] - p0[i]), fabs(L1[i] - L0[i])));
            worst = fmax(worst, most);
            if (!(most < (n == 0 ? 1e-11 : 1e-7)))
                fail_msg("%s, step %d: momentum changes by %g", methods[n], s, most);
        }
        print_message("%s: %.2f Pa in the end, momentum to %.1e\n", methods[n],
                      cavity_of(w).pressure, worst);
        free(v);
        hk_world_free(w);
        hk_model_free(model);
    }
}

// A state goes on with the same bits, its pressure among them.
static void test_resume(void **state)
{
    (void)state;
    hk_constraint_def c = volume(1.2, 0.008);
    c.select = wall();
    hk_model *model = hollow(&c, 1, true, NULL, -9.81);
    static const char *const methods[] = {"newton", "quasi_newton", "vbd"};
    for (int n = 0; n < 3; n++) {
        variant own = {methods[n], methods[n], {{0}}, 0, 0};
        hk_world *a = world_by(model, 0.02, &own), *b = world_by(model, 0.02, &own);
        for (int s = 0; s < 3; s++) CHECK_OK(hk_world_step(a, NULL));
        CHECK_OK(hk_world_save_state(a, "volumes.state"));
        CHECK_OK(hk_world_load_state(b, "volumes.state"));
        assert_true(cavity_of(a).pressure == cavity_of(b).pressure);
        for (int s = 0; s < 2; s++) {
            CHECK_OK(hk_world_step(a, NULL));
            CHECK_OK(hk_world_step(b, NULL));
        }
        assert_memory_equal(hk_world_positions(a), hk_world_positions(b),
                            3 * sizeof(double) * (size_t)hk_model_vertex_count(model));
        assert_true(cavity_of(a).pressure == cavity_of(b).pressure);
        hk_world_free(a);
        hk_world_free(b);
    }
    remove("volumes.state");
    hk_model_free(model);
}

// ---------------------------------------------------------------- contact

// A ball full of water falls onto a floor, and one between two plates swells, in steps so long
// that it would go through both plates at once: every step is certified.
static const char drop[] =
    "{\"time\": {\"step\": 0.01, \"end\": 0.2}, \"solver\": {\"method\": \"newton\"},"
    " \"contact\": {\"friction\": 0.3, \"certify\": true},"
    " \"obstacles\": [{\"plane\": {\"normal\": [0, 1, 0]}}],"
    " \"constraints\": [{\"kind\": \"volume\", \"body\": \"ball\", \"name\": \"water\"}],"
    " \"bodies\": [{\"name\": \"ball\", \"mesh\": {\"file\": \"../scenes/surfaces/ball.obj\"},"
    "  \"transform\": {\"scale\": 0.1, \"translate\": [0, 0.12, 0]},"
    "  \"material\": {\"model\": \"shell\", \"membrane\": \"neo_hookean\", \"young\": 1e5,"
    "   \"poisson\": 0.49, \"thickness\": 1e-3, \"density\": 2e4}}]}";
static const char swell[] =
    "{\"time\": {\"step\": 0.1, \"end\": 0.4}, \"gravity\": [0, 0, 0],"
    " \"solver\": {\"method\": \"newton\"}, \"contact\": {\"distance\": 1e-3, \"certify\": true},"
    " \"obstacles\": [{\"plane\": {\"point\": [0, -0.105, 0], \"normal\": [0, 1, 0]}},"
    "  {\"plane\": {\"point\": [0, 0.105, 0], \"normal\": [0, -1, 0]}}],"
    " \"constraints\": [{\"kind\": \"volume\", \"body\": \"ball\", \"factor\": \"1 + 5 * t\"}],"
    " \"bodies\": [{\"name\": \"ball\", \"mesh\": {\"file\": \"../scenes/surfaces/ball.obj\"},"
    "  \"transform\": {\"scale\": 0.1},"
    "  \"material\": {\"model\": \"shell\", \"membrane\": \"neo_hookean\", \"young\": 1e5,"
    "   \"poisson\": 0.49, \"thickness\": 1e-3, \"density\": 1000}}]}";

static hk_world *open_scene(const char *text, const char *method, int *steps)
{
    hk_scene *scene;
    hk_model *model;
    hk_world *w;
    char set[64];
    const char *sets[] = {set};
    snprintf(set, sizeof set, "solver.method=%s", method);
    CHECK_OK(hk_scene_parse(text, strlen(text), "scene", sets, 1, &scene));
    CHECK_OK(hk_model_create(hk_scene_model(scene), &model));
    hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
    def.model = model;
    CHECK_OK(hk_world_create(&def, &w));
    *steps = hk_scene_steps(scene);
    hk_model_free(model);
    hk_scene_free(scene);
    return w;
}

static void test_contact(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "quasi_newton", "lbfgs", "descent", "vbd"};
    for (int k = 0; k < (SANITIZED ? 2 : 10); k++) {
        int steps;
        const char *method = methods[k / 2];
        hk_world *w = open_scene(k % 2 ? swell : drop, method, &steps);
        double rest = 0, low = INFINITY, high = -INFINITY;
        for (int s = 0; s < (SANITIZED ? 2 : steps); s++) {
            hk_step_report r;
            CHECK_OK(hk_world_step(w, &r));
            if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED)
                fail_msg("%s, %d, step %d: %s %s", method, k % 2, s, hk_reason_name(r.reason),
                         r.detail);
            if (rest == 0) rest = cavity_of(w).goal / (k % 2 ? 1.5 : 1);
            check_volume(w, method, rest * (k % 2 ? 1 + 0.5 * (s + 1) : 1));
        }
        for (int v = 0; v < hk_model_vertex_count(hk_world_model(w)); v++) {
            low = fmin(low, hk_world_positions(w)[3 * v + 1]);
            high = fmax(high, hk_world_positions(w)[3 * v + 1]);
        }
        print_message("%-14s %s: %.4f m high, %.1f Pa\n", method, k % 2 ? "swells" : "falls",
                      high - low, cavity_of(w).pressure);
        assert_true(SANITIZED || (k % 2 ? high < 0.105 && low > -0.105 : low > 0 && high < 0.2));
        hk_world_free(w);
    }
}

// ---------------------------------------------------------------- refused

static void refuse(hk_model_def *def, const char *word)
{
    hk_model *model = NULL;
    assert_int_not_equal(hk_model_create(def, &model), HK_OK);
    if (!strstr(hk_error(), word)) fail_msg("\"%s\" is not in: %s", word, hk_error());
}

static void test_refused(void **state)
{
    (void)state;
    hk_mesh *mesh = hollow_mesh();
    hk_selector all = {.kind = HK_SELECT_ALL};
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material = material_of("arap", 1e5, 0.3);
    hk_constraint_def c[2] = {volume(0, 0), volume(0, 0)};
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.constraints = c;
    def.constraint_count = 1;
    c[0].select = select_box(-1, -1, -1, 1, 1, 0.3);
    refuse(&def, "edges are open");
    c[0].select = select_box(0.05, 0.05, 0.05, 0.15, 0.15, 0.15);
    refuse(&def, "surface");
    c[0].select = wall();
    c[0].volume = -1;
    refuse(&def, "must be above 0");
    c[0].volume = 0;
    def.constraint_count = 2;
    c[1].select = wall();
    refuse(&def, "has another constraint already");
    c[1] = hk_default_constraint_def();
    c[1].axis[0] = 1;
    c[1].select = wall();
    refuse(&def, "has another constraint already");
    c[1].volume = 1;
    refuse(&def, "for kind \"volume\"");
    def.constraint_count = 1;
    body.fixes = &all;
    body.fix_count = 1;
    refuse(&def, "all vertices of its surface are held");
    body.fix_count = 0;
    body.rigid = 1;
    body.name = "stone";
    refuse(&def, "rigid part stone");
    hk_mesh_free(mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_balloon),
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_with_others),
        cmocka_unit_test(test_balloon_by_methods),
        cmocka_unit_test(test_momentum),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_contact),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
