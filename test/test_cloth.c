// Sheets and attachments in worlds: closed forms, all methods against Newton, motion, output, and
// what is refused.
#include "sheets.h"
#include "failing_alloc.h"

#include <unistd.h>

static hk_world *world_by(hk_model *model, const char *method, const hk_option *options,
                          int option_count, int threads)
{
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = 1.0 / 50;
    def.threads = threads;
    def.solver.method = method;
    def.solver.options = options;
    def.solver.option_count = option_count;
    if (strcmp(method, "newton") != 0) {
        bool single = option_count && options->text && strcmp(options->text, "single") == 0;
        def.solver.iterations = 200000;
        def.solver.tolerance = single ? 1e-5 : 1e-7;
    }
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

static hk_step_report pose(hk_world *world)
{
    hk_step_report r;
    CHECK_OK(hk_world_pose(world, &r));
    if (r.reason != HK_CONVERGED)
        fail_msg("%s: %s, %s", hk_world_method(world), hk_reason_name(r.reason), r.detail);
    return r;
}

// ---------------------------------------------------------------- closed forms

// A triangle with two corners held, the third pulled down: 2 k (l − l₀) h/l = F by hand.
static void test_two_bars(void **state)
{
    (void)state;
    static const double positions[9] = {-1, 0, 0, 1, 0, 0, 0, -0.5, 0};
    static const int32_t triangle[3] = {0, 1, 2}, held[2] = {0, 1}, pulled[1] = {2};
    const double stretch = 80, area = 0.5, length = sqrt(1.25), deep = 0.9;
    double k = stretch * area / (length * length), l = sqrt(1 + deep * deep);
    hk_selector fix = {.kind = HK_SELECT_VERTICES, .vertices = held, .vertex_count = 2};
    hk_load_def load = {
        .def_size = sizeof(hk_load_def),
        .select = {.kind = HK_SELECT_VERTICES, .vertices = pulled, .vertex_count = 1},
        .force = {0, -2 * k * (l - length) * deep / l, 0}};
    hk_body_def body = hk_default_body_def();
    body.material = cloth_of(stretch, 0, 0.3);
    body.fixes = &fix;
    body.fix_count = 1;
    body.loads = &load;
    body.load_count = 1;
    hk_mesh *mesh;
    CHECK_OK(hk_mesh_from_arrays(3, positions, 0, NULL, 1, triangle, &mesh));
    hk_model *model = model_of(&body, mesh, 0);
    for (int v = 0; v < 3; v++)
        assert_true(fabs(hk_model_masses(model)[v] - 0.3 * area / 3) < 1e-15);
    assert_int_equal(hk_model_spring_count(model), 3);
    hk_world *world = world_by(model, "newton", NULL, 0, 1);
    hk_step_report r = pose(world);
    const double *x = hk_world_positions(world) + 6;
    assert_true(fabs(x[0]) < 1e-9 && fabs(x[1] + deep) < 1e-9 && fabs(x[2]) < 1e-9);
    assert_true(fabs(r.energy.elastic - k * (l - length) * (l - length)) < 1e-9);
    hk_world_free(world);
}

// A strip that hangs from its upper edge. Away from the edges squares cut in half have the moduli
// 5/4 and 1/4 of `stretch`, so pulled one way they resist with 5/4 − (1/4)²/(5/4) = 6/5 of it;
// under its weight the strip grows by density g L² / 2 (6/5 stretch).
static void test_hanging_strip(void **state)
{
    (void)state;
    const double stretch = 400, density = 0.5, g = 9.81;
    hk_selector top = select_box(-1, -1e-9, -1, 1, 1e-9, 1);
    hk_body_def body = hk_default_body_def();
    body.material = cloth_of(stretch, 0, density);
    body.transform = (hk_transform){.scale = 1, .axis = {1, 0, 0}, .degrees = 90};
    body.fixes = &top;
    body.fix_count = 1;
    hk_world *world =
        world_by(model_of(&body, sheet_mesh(0.2, 1, 6, 30), -g), "newton", NULL, 0, 1);
    pose(world);
    int last = hk_model_vertex_count(hk_world_model(world)) - 4;  // the middle of the lower edge
    double grown = -hk_world_positions(world)[3 * last + 1] - 1;
    double expected = density * g / (2 * 1.2 * stretch);
    print_message("the strip grows by %.6f, by hand %.6f\n", grown, expected);
    assert_true(fabs(grown - expected) <= 0.03 * expected);
    // The reaction carries the weight.
    double *gradient = malloc(3 * sizeof(double) * (size_t)(last + 4)), force = 0;
    CHECK_OK(hk_world_energy(world, NULL, gradient));
    for (int v = 0; v < 7; v++) force += gradient[3 * v + 1];
    assert_true(fabs(force - density * 0.2 * g) <= 1e-8);
    free(gradient);
    hk_world_free(world);
}

// ---------------------------------------------------------------- attachments

// k u = f at every vertex of a body that is only attached.
static void test_attachment_equilibrium(void **state)
{
    (void)state;
    for (int sheet = 0; sheet < 2; sheet++) {
        hk_mesh *mesh = sheet ? sheet_mesh(1, 1, 4, 4) : box_mesh(1, 1, 1, 2, 2, 2);
        int count = hk_mesh_vertex_count(mesh);
        hk_attach_def attach = {
            .def_size = sizeof(hk_attach_def), .select = {.kind = HK_SELECT_ALL}, .stiffness = 20};
        hk_load_def load = {.def_size = sizeof(hk_load_def),
                            .select = {.kind = HK_SELECT_ALL},
                            .force = {3, -7, 0.5 * count}};
        hk_body_def body = hk_default_body_def();
        if (sheet) body.material = cloth_of(100, 0.01, 0.2);
        body.attachments = &attach;
        body.attachment_count = 1;
        body.loads = &load;
        body.load_count = 1;
        hk_world *world = world_by(model_of(&body, mesh, 0), "newton", NULL, 0, 1);
        hk_step_report r = pose(world);
        const double *x = hk_world_positions(world);
        const double *rest = hk_model_rest_positions(hk_world_model(world));
        double work = 0;
        for (int k = 0; k < 3 * count; k++) {
            double u = load.force[k % 3] / count / 20;
            if (!(fabs(x[k] - rest[k] - u) < 1e-9)) fail_msg("%g, not %g", x[k] - rest[k], u);
            work += 20.0 / 2 * u * u;
        }
        assert_true(fabs(r.energy.elastic - work) <= 1e-9 * work);
        hk_world_free(world);
    }
}

// Targets move as held vertices do; a pose goes all the way.
static void test_attachments_move(void **state)
{
    (void)state;
    hk_attach_def attach = {.def_size = sizeof(hk_attach_def),
                            .select = {.kind = HK_SELECT_ALL},
                            .stiffness = 10,
                            .motion = {.axis = {0, 1, 0},
                                       .center = {0.5, 0, 0.5},
                                       .degrees = 90,
                                       .translate = {0, 2, 0},
                                       .over = 1}};
    hk_body_def body = hk_default_body_def();
    body.material = cloth_of(100, 0.01, 0.2);
    body.attachments = &attach;
    body.attachment_count = 1;
    hk_world *world = world_by(model_of(&body, sheet_mesh(1, 1, 2, 2), 0), "newton", NULL, 0, 1);
    hk_energy e;
    CHECK_OK(hk_world_energy(world, &e, NULL));
    assert_true(e.elastic < 1e-20);
    // Half way: an eighth of a turn and one metre up.
    CHECK_OK(hk_world_set_time(world, 0.5));
    CHECK_OK(hk_world_energy(world, &e, NULL));
    double squares = 0;
    const double *rest = hk_model_rest_positions(hk_world_model(world));
    for (int v = 0; v < 9; v++) {
        double a = rest[3 * v] - 0.5, b = rest[3 * v + 2] - 0.5;
        squares += (2 - sqrt(2)) * (a * a + b * b) + 1;
    }
    assert_true(fabs(e.elastic - 5 * squares) < 1e-10);
    CHECK_OK(hk_world_set_time(world, 0));
    pose(world);
    const double *x = hk_world_positions(world);
    for (int v = 0; v < 9; v++) {
        assert_true(fabs(x[3 * v] - rest[3 * v + 2]) < 1e-7);
        assert_true(fabs(x[3 * v + 1] - 2) < 1e-7);
        assert_true(fabs(x[3 * v + 2] - (1 - rest[3 * v])) < 1e-7);
    }
    hk_world_free(world);
    // In time the sheet follows, and comes to rest there.
    attach.stiffness = 1000;
    attach.motion.degrees = 0;
    world = world_by(model_of(&body, sheet_mesh(1, 1, 2, 2), 0), "newton", NULL, 0, 1);
    for (int k = 0; k < 100; k++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(world, &r));
        // Forces fade away, down to rounding.
        assert_true(r.reason == HK_CONVERGED || r.reason == HK_PRECISION_LIMIT);
    }
    x = hk_world_positions(world);
    for (int v = 0; v < 9; v++) assert_true(fabs(x[3 * v + 1] - 2) < 1e-6);
    hk_world_free(world);
}

// ---------------------------------------------------------------- hanging and swinging

static const struct {
    const char *label, *method;
    hk_option option;
    int option_count;
} VARIANTS[] = {
    {"gradient_descent", "gradient_descent", {0}, 0},
    {"nonlinear_cg", "nonlinear_cg", {"preconditioner", 0, "none"}, 1},
    {"nonlinear_cg+jacobi", "nonlinear_cg", {0}, 0},
    {"lbfgs", "lbfgs", {"preconditioner", 0, "none"}, 1},
    {"lbfgs+jacobi", "lbfgs", {0}, 0},
    {"quasi_newton", "quasi_newton", {0}, 0},
    {"quasi_newton, rest", "quasi_newton", {"initial", 0, "rest_hessian"}, 1},
    {"quasi_newton, updating", "quasi_newton", {"initial", 0, "updating_hessian"}, 1},
    {"quasi_newton, identity", "quasi_newton", {"initial", 0, "scaled_identity"}, 1},
    {"descent", "descent", {"precision", 0, "double"}, 1},
    {"descent, single", "descent", {"precision", 0, "single"}, 1},
    {"vbd", "vbd", {"precision", 0, "double"}, 1},
    {"vbd, single", "vbd", {"precision", 0, "single"}, 1},
    {"lbfgs+jacobi, single", "lbfgs", {"precision", 0, "single"}, 1},
    {"quasi_newton, single", "quasi_newton", {"precision", 0, "single"}, 1},
};
enum { VARIANT_COUNT = sizeof VARIANTS / sizeof VARIANTS[0] };

// Held at two corners, with an attachment at the far side.
static hk_model *hanging_model(int cells, double bending)
{
    static int32_t corners[2], far[1];
    corners[0] = 0, corners[1] = cells;
    far[0] = (cells + 1) * (cells + 1) - 1;
    static hk_selector fix;
    fix = (hk_selector){.kind = HK_SELECT_VERTICES, .vertices = corners, .vertex_count = 2};
    hk_attach_def attach = {
        .def_size = sizeof(hk_attach_def),
        .select = {.kind = HK_SELECT_VERTICES, .vertices = far, .vertex_count = 1},
        .stiffness = 0.5,
        .motion = {.translate = {0, 0.3, 0}}};
    hk_body_def body = hk_default_body_def();
    body.material = cloth_of(60, bending, 0.5);
    body.fixes = &fix;
    body.fix_count = 1;
    body.attachments = &attach;
    body.attachment_count = 1;
    return model_of(&body, sheet_mesh(1, 1, cells, cells), -9.81);
}

// The energy in the end; *x: positions, for the caller to free.
static double run_variant(int v, bool moving, int *iterations, double **x)
{
    hk_world *world =
        world_by(hanging_model(5, 0.02), v < 0 ? "newton" : VARIANTS[v].method,
                 v < 0 ? NULL : &VARIANTS[v].option, v < 0 ? 0 : VARIANTS[v].option_count, 1);
    hk_step_report r;
    *iterations = 0;
    for (int k = 0; k < (moving ? 10 : 1); k++) {
        if (moving)
            CHECK_OK(hk_world_step(world, &r));
        else
            CHECK_OK(hk_world_pose(world, &r));
        if (r.reason != HK_CONVERGED)
            fail_msg("%s: %s, %s", v < 0 ? "newton" : VARIANTS[v].label, hk_reason_name(r.reason),
                     r.detail);
        *iterations += r.iterations;
    }
    size_t bytes = 3 * sizeof(double) * (size_t)hk_model_vertex_count(hk_world_model(world));
    *x = malloc(bytes);
    memcpy(*x, hk_world_positions(world), bytes);
    hk_world_free(world);
    return r.energy.total;
}

static void test_methods_agree_with_newton(void **state)
{
    (void)state;
    for (int moving = 0; moving < 2; moving++) {
        int iterations, count = 3 * 6 * 6;
        double *where, *x, truth = run_variant(-1, moving, &iterations, &where);
        print_message("%s: newton %d", moving ? "ten steps" : "pose", iterations);
        for (int v = 0; v < VARIANT_COUNT; v++) {
            double energy = run_variant(v, moving, &iterations, &x), away = 0;
            for (int k = 0; k < count; k++) away = fmax(away, fabs(x[k] - where[k]));  // of 1 m
            free(x);
            double off = fabs(energy - truth) / fabs(truth);
            print_message(", %s %d (%.0e, %.0e)", VARIANTS[v].label, iterations, off, away);
            bool single = strstr(VARIANTS[v].label, "single");
            if (!(off <= (single ? 1e-5 : 1e-6) && away <= 1e-4))
                fail_msg("%s, %s: energy off by %g, positions by %g", VARIANTS[v].label,
                         moving ? "ten steps" : "pose", off, away);
        }
        free(where);
        print_message("\n");
    }
}

// A sheet that falls from the horizontal swings: every step converges, energy only falls.
static void test_swinging_sheet(void **state)
{
    (void)state;
    hk_selector hinge = select_box(-1, -1, 0, 2, 1, 0);
    hk_body_def body = hk_default_body_def();
    body.material = cloth_of(500, 1e-3, 0.2);
    body.fixes = &hinge;
    body.fix_count = 1;
    hk_world *world =
        world_by(model_of(&body, sheet_mesh(0.5, 1, 6, 12), -9.81), "newton", NULL, 0, 1);
    hk_energy before;
    CHECK_OK(hk_world_energy(world, &before, NULL));
    double low = 0, beyond = 1;
    int last = hk_model_vertex_count(hk_world_model(world)) - 1;
    for (int k = 0; k < 60; k++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(world, &r));
        if (r.reason != HK_CONVERGED) fail_msg("step %d: %s", k, r.detail);
        assert_true(r.energy.total <= before.total + 1e-9);
        before = r.energy;
        low = fmin(low, hk_world_positions(world)[3 * last + 1]);
        beyond = fmin(beyond, hk_world_positions(world)[3 * last + 2]);
    }
    print_message("the lower edge reaches y = %.3f and z = %.3f\n", low, beyond);
    assert_true(low < -0.9 && low > -1.1 && beyond < -0.3);
    hk_world_free(world);
}

// Enough links that two threads are used.
static void test_bits_and_memory(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "lbfgs", "quasi_newton"};
    for (int m = 0; m < 3; m++) {
        double *x[2] = {NULL, NULL};
        size_t bytes = 0;
        for (int threads = 1; threads <= 2; threads++) {
            failing_alloc_install(0);
            hk_world_def def = hk_default_world_def();
            hk_model *model = hanging_model(m ? 70 : 12, 1e-3);
            def.model = model;
            def.threads = threads;
            def.solver.method = methods[m];
            def.solver.iterations = 5;
            hk_world *world;
            CHECK_OK(hk_world_create(&def, &world));
            hk_model_free(model);
            hk_step_report r;
            CHECK_OK(hk_world_step(world, &r));
            int warm = failing_alloc_count();
            CHECK_OK(hk_world_step(world, &r));
            assert_int_equal(failing_alloc_count(), warm);
            bytes = 3 * sizeof(double) * (size_t)hk_model_vertex_count(hk_world_model(world));
            x[threads - 1] = malloc(bytes);
            memcpy(x[threads - 1], hk_world_positions(world), bytes);
            hk_world_free(world);
            assert_int_equal(failing_alloc_live(), 0);
            failing_alloc_remove();
        }
        assert_memory_equal(x[0], x[1], bytes);
        free(x[0]);
        free(x[1]);
    }
}

// ---------------------------------------------------------------- with tets, in files

static void test_sheet_beside_tets(void **state)
{
    (void)state;
    hk_mesh *box = box_mesh(1, 0.2, 0.2, 4, 1, 1), *sheet = sheet_mesh(1, 1, 3, 3);
    hk_selector wall = select_box(0, -9, -9, 0, 9, 9);
    hk_body_def bodies[2] = {hk_default_body_def(), hk_default_body_def()};
    bodies[0].name = "bar", bodies[0].mesh = box;
    bodies[1].name = "flag", bodies[1].mesh = sheet;
    bodies[1].transform.translate[1] = 1;
    bodies[1].material = cloth_of(100, 1e-3, 0.2);
    for (int b = 0; b < 2; b++) bodies[b].fixes = &wall, bodies[b].fix_count = 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = 2;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    int tets = hk_model_tet_count(model);
    assert_int_equal(hk_model_triangle_count(model), 18);
    assert_int_equal(hk_model_spring_count(model), 33);
    hk_world *world = world_by(model, "newton", NULL, 0, 1);
    hk_step_report r;
    for (int k = 0; k < 3; k++) {
        CHECK_OK(hk_world_step(world, &r));
        assert_int_equal(r.reason, HK_CONVERGED);
    }
    pose(world);
    hk_mesh *mesh;
    CHECK_OK(hk_world_mesh(world, &mesh));
    int count, all, loose = 0;
    const int32_t *triangles, *behind;
    CHECK_OK(hk_mesh_surface(box, &count, NULL, NULL));
    CHECK_OK(hk_mesh_surface(mesh, &all, &triangles, &behind));
    assert_int_equal(all, count + 18);
    for (int k = 0; k < all; k++) loose += behind[k] < 0;
    assert_int_equal(loose, 18);
    static const char *const endings[] = {"vtu", "msh", "obj", "stl", "ply", "glb"};
    for (int k = 0; k < 6; k++) {
        char path[64];
        snprintf(path, sizeof path, "/tmp/hooke-cloth-%d.%s", (int)getpid(), endings[k]);
        CHECK_OK(hk_world_save(world, path));
        hk_mesh *back = NULL;
        if (k < 5) CHECK_OK(hk_mesh_load(path, &back));
        if (k < 2) {
            assert_int_equal(hk_mesh_tet_count(back), tets);
            assert_int_equal(hk_mesh_triangle_count(back), 18);
        } else if (k < 5) {
            assert_int_equal(hk_mesh_triangle_count(back), all);
        }
        hk_mesh_free(back);
        unlink(path);
    }
    hk_mesh_free(mesh);
    hk_mesh_free(box);
    hk_mesh_free(sheet);
    hk_world_free(world);
}

// A sheet alone, in every format.
static void test_sheet_files(void **state)
{
    (void)state;
    static const char *const endings[] = {"vtu", "msh", "obj", "stl", "ply", "glb"};
    hk_world *world = world_by(hanging_model(4, 0.01), "newton", NULL, 0, 1);
    hk_step_report r;
    CHECK_OK(hk_world_step(world, &r));
    double nothing;
    CHECK_OK(hk_world_field(world, "von_mises", &nothing));  // of no tets
    for (int k = 0; k < 6; k++) {
        char path[64];
        snprintf(path, sizeof path, "/tmp/hooke-sheet-%d.%s", (int)getpid(), endings[k]);
        CHECK_OK(hk_world_save(world, path));
        hk_mesh *back = NULL;
        if (k < 5) {
            CHECK_OK(hk_mesh_load(path, &back));
            assert_int_equal(hk_mesh_triangle_count(back), 32);
            assert_int_equal(hk_mesh_vertex_count(back), 25);
        }
        hk_mesh_free(back);
        unlink(path);
    }
    hk_world_free(world);
}

// A free sheet without gravity is at rest, one that falls has no pose, and attachments hold it.
static void test_pieces(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    body.material = cloth_of(100, 1e-3, 0.2);
    hk_world *world =
        world_by(model_of(&body, sheet_mesh(1, 1, 3, 3), -9.81), "newton", NULL, 0, 1);
    hk_step_report r;
    CHECK_OK(hk_world_pose(world, &r));
    assert_int_equal(r.reason, HK_NOT_HELD);
    CHECK_OK(hk_world_step(world, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    for (int v = 0; v < 16; v++)
        assert_true(fabs(hk_world_positions(world)[3 * v + 1] + 9.81 / 2500) < 1e-9);
    hk_world_free(world);
    world = world_by(model_of(&body, sheet_mesh(1, 1, 3, 3), 0), "quasi_newton", NULL, 0, 1);
    pose(world);
    hk_world_free(world);
    static const int32_t one[1] = {0};
    hk_attach_def attach = {
        .def_size = sizeof(hk_attach_def),
        .select = {.kind = HK_SELECT_VERTICES, .vertices = one, .vertex_count = 1},
        .stiffness = 50};
    body.attachments = &attach;
    body.attachment_count = 1;
    world = world_by(model_of(&body, sheet_mesh(1, 1, 3, 3), -9.81), "newton", NULL, 0, 1);
    pose(world);
    // The weight of the whole sheet hangs at the one spring.
    assert_true(fabs(hk_world_positions(world)[1] + 0.2 * 9.81 / 50) < 1e-8);
    hk_world_free(world);
}

// ---------------------------------------------------------------- what is refused

static void refuse(const hk_body_def *body, const char *fragment)
{
    hk_model_def def = hk_default_model_def();
    def.bodies = body;
    def.body_count = 1;
    hk_model *model = NULL;
    assert_int_not_equal(hk_model_create(&def, &model), HK_OK);
    assert_null(model);
    if (!strstr(hk_error(), fragment) || !strstr(hk_error(), "body 0 (cloth)"))
        fail_msg("\"%s\" does not say \"%s\"", hk_error(), fragment);
}

static void test_refusals(void **state)
{
    (void)state;
    hk_mesh *sheet = sheet_mesh(1, 1, 2, 2), *box = box_mesh(1, 1, 1, 1, 1, 1), *needle;
    static const double positions[9] = {0, 0, 0, 1, 0, 0, 2, 0, 0};
    static const int32_t triangle[3] = {0, 1, 2};
    CHECK_OK(hk_mesh_from_arrays(3, positions, 0, NULL, 1, triangle, &needle));
    hk_body_def good = hk_default_body_def(), body;
    good.name = "cloth";
    good.mesh = sheet;
    good.material = cloth_of(100, 0.1, 0.2);
#define REFUSE(change, fragment) \
    do {                         \
        body = good;             \
        change;                  \
        refuse(&body, fragment); \
    } while (0)
    REFUSE(body.material = hk_default_material_def(), "a sheet cannot have the material");
    REFUSE(body.mesh = box, "is for sheets");
    REFUSE(body.mesh = needle, "triangle 0 (vertices 0 1 2) has no sound area");
    hk_region_def region = {.def_size = sizeof(hk_region_def),
                            .select = {.kind = HK_SELECT_ALL},
                            .material = good.material};
    REFUSE((body.regions = &region, body.region_count = 1), "no regions");
    REFUSE((body.mesh = box, body.material = hk_default_material_def(), body.regions = &region,
            body.region_count = 1),
           "region 0: material mass_spring: it is for sheets");
    REFUSE(body.material.parameters[0].value = 0, "stretch must be greater than 0");
    REFUSE(body.material.parameters[0].value = INFINITY, "stretch must be greater than 0");
    REFUSE(body.material.parameters[1].value = -1, "bending must be 0 or more");
    REFUSE(body.material.parameters[1].name = "bend", "no parameter \"bend\"");
    REFUSE(body.material.parameter_count = 0, "stretch (N/m) must be given");
    REFUSE(body.material.parameter_count = 9, "parameter_count is 9");
    REFUSE((body.transform.scale = 1e-60, body.material.parameters[1].value = 1e200),
           "a bending stiffness of 1e+200 is too much");
    REFUSE(body.transform.scale = 1e120, "has no sound area");
    REFUSE(body.material.density = 0, "density must be greater than 0");
    REFUSE(body.material.fibre_stiffness = 1, "no fibre");
    REFUSE(body.attachment_count = 1, "attachments is NULL");
    hk_attach_def attach = {
        .def_size = sizeof(hk_attach_def), .select = {.kind = HK_SELECT_ALL}, .stiffness = 1};
    good.attachments = &attach;
    good.attachment_count = 1;
    REFUSE(attach.stiffness = -1, "attachment 0: the stiffness must be 0 or more");
    REFUSE(attach.stiffness = NAN, "attachment 0: the stiffness must be 0 or more");
    attach.stiffness = 1;
    REFUSE(attach.motion.over = -1, "attachment 0");
    attach.motion.over = 0;
    REFUSE(attach.motion.degrees = 5, "attachment 0: the axis has no length");
    attach.motion.degrees = 0;
    REFUSE(attach.select = select_box(5, 5, 5, 6, 6, 6), "attachment 0: it selects no vertex");
    hk_mesh_free(sheet);
    hk_mesh_free(box);
    hk_mesh_free(needle);
    int number = hk_material_count() - 3;
    assert_string_equal(hk_material_name(number + 1), "shell");
    assert_int_equal(hk_material_kind(number + 1), HK_FOR_SHEETS);
    assert_int_equal(hk_material_kind(number), HK_FOR_SHEETS);
    assert_string_equal(hk_material_name(number), "mass_spring");
    assert_string_equal(hk_material_parameters(number)[0], "stretch");
    assert_true(strlen(hk_material_summary(number)) > 10);
    assert_int_equal(hk_material_kind(number - 1), HK_FOR_SOLIDS);
    assert_string_equal(hk_material_name(number + 2), "rope");
    assert_int_equal(hk_material_kind(number + 2), HK_FOR_ROPES);
    assert_int_equal(hk_material_kind(number + 3), HK_FOR_NOTHING);
    assert_int_equal(hk_material_kind(-1), HK_FOR_NOTHING);
    double energy, F[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    assert_int_equal(hk_material_evaluate(&good.material, F, false, &energy, NULL, NULL),
                     HK_BAD_INPUT);
}

static void test_scene_messages(void **state)
{
    (void)state;
    static const struct {
        const char *set, *fragment;
    } cases[] = {
        {"bodies.0.material.young=1", "bodies[0].material.young: unknown key"},
        {"bodies.0.material.strech=1", "did you mean \"stretch\"?"},
        {"bodies.0.material.stretch=-1", "must be greater than 0 (is -1)"},
        {"bodies.0.material.model=mass_sprin", "mass_spring"},
        {"bodies.0.attach.0.stiffness=x", "bodies[0].attach[0].stiffness"},
        {"bodies.0.attach.0.strength=1", "bodies[0].attach[0].strength: unknown key"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        hk_scene *scene = NULL;
        const char *sets[] = {"bodies.0.attach=[{\"select\": {\"all\": true}, \"stiffness\": 1}]",
                              cases[k].set};
        assert_int_equal(hk_scene_load("../scenes/cloth.json", sets, 2, &scene), HK_BAD_INPUT);
        if (!strstr(hk_error(), cases[k].fragment))
            fail_msg("%s: \"%s\" does not say \"%s\"", cases[k].set, hk_error(), cases[k].fragment);
    }
}

// The scene that comes along, a little of it.
static void test_scene_runs(void **state)
{
    (void)state;
    const char *sets[] = {"bodies.0.mesh.sheet.cells=[8,8]"};
    hk_scene *scene;
    CHECK_OK(hk_scene_load("../scenes/cloth.json", sets, 1, &scene));
    hk_model *model;
    CHECK_OK(hk_model_create(hk_scene_model(scene), &model));
    assert_true(fabs(hk_model_masses(model)[40] - 0.2 / 64) < 0.2 / 64);
    hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
    def.model = model;
    hk_world *world;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    for (int k = 0; k < 10; k++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(world, &r));
        assert_int_equal(r.reason, HK_CONVERGED);
    }
    hk_world_free(world);
    hk_scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_bars),
        cmocka_unit_test(test_hanging_strip),
        cmocka_unit_test(test_attachment_equilibrium),
        cmocka_unit_test(test_attachments_move),
        cmocka_unit_test(test_methods_agree_with_newton),
        cmocka_unit_test(test_swinging_sheet),
        cmocka_unit_test(test_bits_and_memory),
        cmocka_unit_test(test_sheet_beside_tets),
        cmocka_unit_test(test_sheet_files),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_scene_messages),
        cmocka_unit_test(test_scene_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
