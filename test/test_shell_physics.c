// Shells against closed forms: plates, balloons, what falls through air; damping of materials; the
// scenes that come along, in short.
#include "sheets.h"
#include "mesh/mesh.h"
#include "term/terms.h"
#include "world/world.h"

static hk_material_def shell_of(const char *membrane, const char *form, double young,
                                double poisson, double thickness, double density)
{
    hk_material_def def = hk_default_material_def();
    def.model = "shell";
    def.membrane = membrane;
    def.bending_form = form;
    def.young = young;
    def.poisson = poisson;
    def.thickness = thickness;
    def.density = density;
    return def;
}

static void pose(hk_world *world)
{
    hk_step_report r;
    CHECK_OK(hk_world_pose(world, &r));
    if (r.reason != HK_CONVERGED && r.reason != HK_PRECISION_LIMIT)
        fail_msg("%s, %s", hk_reason_name(r.reason), r.detail);
}

// ---------------------------------------------------------------- plates

// A wide clamped plate that bends a little under its weight: in its middle to a cylinder, by
// δ = q L⁴/8D, D = E h³/12 (1 − ν²).
static double cantilever_error(const char *form, int cells)
{
    const double E = 2e9, nu = 0.3, h = 0.02, density = 1000, g = 0.5;
    double cell = 1.0 / cells;
    hk_selector fix = select_box(-1, -1, -1, cell * 1.001, 9, 9);
    hk_body_def body = hk_default_body_def();
    body.material = shell_of("stvk", form, E, nu, h, density);
    body.fixes = &fix;
    body.fix_count = 1;
    hk_world *world =
        world_of(model_of(&body, sheet_mesh(1 + cell, 2, cells + 1, 2 * cells), -g), 0.01, 1);
    pose(world);
    double sag = 0, D = E * h * h * h / (12 * (1 - nu * nu));
    const double *rest = hk_model_rest_positions(hk_world_model(world));
    for (int v = 0; v < hk_model_vertex_count(hk_world_model(world)); v++)
        if (rest[3 * v] > 1 + 0.5 * cell && fabs(rest[3 * v + 2] - 1) < 0.01)
            sag = -hk_world_positions(world)[3 * v + 1];
    hk_world_free(world);
    return sag / (density * h * g / (8 * D)) - 1;
}

static void test_cantilever(void **state)
{
    (void)state;
    double coarse = cantilever_error("hinges", 6), middle = cantilever_error("hinges", 12);
    double fine = cantilever_error("hinges", 24), limit = 2 * fine - middle;
    print_message("the tip of the plate is off by %.4f, %.4f, %.4f\n", coarse, middle, fine);
    // First order in the cells, for the clamp lies within one. Hinges on squares that are cut
    // alternately are 5/6 as stiff in the limit.
    assert_true(fabs(middle) < fabs(coarse) && fabs(fine) < fabs(middle));
    assert_true(fabs(limit - 0.2) < 0.03);
}

// Pulled one way, in plane stress, a strip is as stiff as E h and becomes narrower by ν.
static void test_plane_stress(void **state)
{
    (void)state;
    static const char *const laws[] = {"stvk", "neo_hookean", "corotated"};
    for (int l = 0; l < 3; l++) {
        hk_selector left = select_box(-1, -1, -1, 1e-6, 1, 1),
                    right = select_box(1, -1, -1, 2, 1, 1);
        hk_selector low = select_box(-1, -1, -1, 2, 1, 1e-6);
        hk_selector fixes[3] = {left, low, {.kind = HK_SELECT_ALL}};
        uint8_t axes[3] = {HK_AXIS_X, HK_AXIS_Z, HK_AXIS_Y};
        hk_load_def load = hk_default_load_def();
        load.select = right;
        load.distribution = HK_BY_AREA;
        // Forces of an edge: half of it at its ends.
        int32_t ends[2] = {4, 24}, middle[3] = {9, 14, 19};
        hk_load_def loads[2] = {load, load};
        loads[0].select =
            (hk_selector){.kind = HK_SELECT_VERTICES, .vertices = ends, .vertex_count = 2};
        loads[1].select =
            (hk_selector){.kind = HK_SELECT_VERTICES, .vertices = middle, .vertex_count = 3};
        for (int k = 0; k < 2; k++) loads[k].distribution = HK_EVENLY;
        const double E = 1e6, nu = 0.4, h = 2e-3, strain = 1e-4;
        loads[0].force[0] = 0.25 * E * h * strain;
        loads[1].force[0] = 0.75 * E * h * strain;
        hk_body_def body = hk_default_body_def();
        body.material = shell_of(laws[l], "none", E, nu, h, 1000);
        body.fixes = fixes;
        body.fix_axes = axes;
        body.fix_count = 3;
        body.loads = loads;
        body.load_count = 2;
        hk_world *world = world_of(model_of(&body, sheet_mesh(1, 1, 4, 4), 0), 0.01, 1);
        pose(world);
        const double *x = hk_world_positions(world) + 3 * 24;
        double longer = (x[0] - 1) / strain, narrower = (1 - x[2]) / strain;
        if (!(fabs(longer - 1) < 1e-3 && fabs(narrower - nu) < 1e-3))
            fail_msg("%s: %g and %g of the strain", laws[l], longer, narrower);
        hk_world_free(world);
    }
}

static void dome(const double from[3], double to[3])
{
    double x = from[0] - 0.5, z = from[2] - 0.5;
    to[0] = x, to[2] = z;
    to[1] = sqrt(0.81 - x * x - z * z);
}

// A part of a sphere is at rest as it is, and comes back when it was shaken.
static void test_curved_shell_keeps_its_shape(void **state)
{
    (void)state;
    hk_mesh *mesh = sheet_mesh(1, 1, 8, 8);
    bend_mesh(mesh, dome);
    hk_selector fix = select_box(-1, -9, -1, -0.45, 9, 1);
    hk_body_def body = hk_default_body_def();
    body.material = shell_of("corotated", "hinges", 1e6, 0.3, 0.01, 1000);
    body.fixes = &fix;
    body.fix_count = 1;
    body.velocity[0] = 0.03;
    body.velocity[1] = -0.04;
    hk_world_def def = hk_default_world_def();
    hk_world *world = NULL;
    def.model = model_of(&body, mesh, 0);
    def.damping.viscous = 0.05;
    def.damping.air = 2;
    def.step = 0.05;
    CHECK_OK(hk_world_create(&def, &world));
    const double *rest = hk_model_rest_positions(def.model);
    hk_energy energy;
    CHECK_OK(hk_world_energy(world, &energy, NULL));
    assert_true(energy.elastic < 1e-20);
    int count = 3 * hk_model_vertex_count(def.model);
    double away = 0, most = 0;
    for (int n = 0; n < 400; n++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(world, &r));
        away = 0;
        for (int k = 0; k < count; k++)
            away = fmax(away, fabs(hk_world_positions(world)[k] - rest[k]));
        most = fmax(most, away);
    }
    print_message("the dome moved by %g m and is back within %.1e m\n", most, away);
    assert_true(most > 1e-3 && away < 1e-4);
    hk_world_free(world);
    hk_model_free((hk_model *)(uintptr_t)def.model);
}

// Strands and limits stretch no further than they are told.
static void test_strain_limit(void **state)
{
    (void)state;
    double longest[2];
    for (int limited = 0; limited < 2; limited++) {
        hk_selector top = select_box(-1, -1e-9, -1, 1, 1e-9, 1);
        hk_body_def body = hk_default_body_def();
        body.material = shell_of("stvk", "none", 2e3, 0, 1e-3, 300);
        body.material.parameters[0] = (hk_parameter){"limit", limited ? 1e7 : 0};
        body.material.parameters[1] = (hk_parameter){"high", 1.1};
        body.material.parameter_count = 2;
        body.transform = (hk_transform){.scale = 1, .axis = {1, 0, 0}, .degrees = 90};
        body.fixes = &top;
        body.fix_count = 1;
        hk_world *world = world_of(model_of(&body, sheet_mesh(0.5, 1, 4, 8), -9.81), 0.01, 1);
        pose(world);
        longest[limited] = 0;
        for (int v = 0; v < 45; v++)
            longest[limited] = fmax(longest[limited], -hk_world_positions(world)[3 * v + 1]);
        hk_world_free(world);
    }
    print_message("a soft curtain of 1 m hangs down %.3f m, limited to 10 %% %.4f m\n", longest[0],
                  longest[1]);
    assert_true(longest[0] > 1.3 && longest[1] > 1.05 && longest[1] < 1.11);
}

// ---------------------------------------------------------------- balloons

// A balloon of incompressible rubber: p = 2μh/R (1/λ − 1/λ⁷) for a radius of λR.
static double balloon_pressure(double mu, double thickness, double radius, double stretch)
{
    return 2 * mu * thickness / radius * (1 / stretch - pow(stretch, -7));
}

static hk_world *balloon(const hk_load_def *load, const char *method)
{
    hk_mesh *mesh;
    CHECK_OK(hk_mesh_load("../scenes/surfaces/ball.obj", &mesh));
    hk_body_def body = hk_default_body_def();
    body.transform.scale = 0.1;
    body.material = shell_of("neo_hookean", "none", 1e6, 0.499, 1e-3, 1000);
    body.loads = load;
    body.load_count = 1;
    hk_model *model = model_of(&body, mesh, 0);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.solver.method = method;
    def.solver.iterations = strcmp(method, "newton") == 0 ? 200 : 20000;
    if (strcmp(method, "newton") != 0) def.solver.tolerance = 1e-6;
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

static double stretch_of(const hk_world *world)
{
    const hk_model *m = hk_world_model(world);
    double sum = 0, center[3] = {0};
    int count = hk_model_vertex_count(m);
    const double *x = hk_world_positions(world);
    for (int k = 0; k < 3 * count; k++) center[k % 3] += x[k] / count;
    for (int v = 0; v < count; v++)
        sum +=
            hypot(hypot(x[3 * v] - center[0], x[3 * v + 1] - center[1]), x[3 * v + 2] - center[2]) /
            count;
    return sum / 0.1;
}

static void test_balloon(void **state)
{
    (void)state;
    const double mu = 1e6 / (2 * 1.499);
    hk_load_def gas = hk_default_load_def(), pressure = hk_default_load_def();
    gas.gas = 110000;
    gas.outside = 101325;
    hk_world *world = balloon(&gas, "newton");
    pose(world);
    double stretch = stretch_of(world), inside = gas.gas / pow(stretch, 3);
    double expected = balloon_pressure(mu, 1e-3, 0.1, stretch);
    print_message("gas: radius x %.4f, %.0f Pa above outside, by hand %.0f Pa\n", stretch,
                  inside - gas.outside, expected);
    assert_true(stretch > 1.02 && fabs(inside - gas.outside - expected) < 0.03 * expected);
    hk_world_free(world);
    pressure.pressure = -(inside - gas.outside);
    world = balloon(&pressure, "newton");
    pose(world);
    print_message("the same pressure as a load: radius x %.4f\n", stretch_of(world));
    assert_true(fabs(stretch_of(world) - stretch) < 2e-4);
    hk_world_free(world);
}

// The gas alone at a state that is no ball: energies, forces, and of its Hessian blocks and what
// joins all vertices.
static void add_joined(void *context, double scale, const double *u)
{
    double *const *vectors = context, product = 0;
    const double *d = vectors[0];
    int64_t size = (int64_t)vectors[2][0];
    for (int64_t k = 0; k < size; k++) product += u[k] * d[k];
    for (int64_t k = 0; k < size; k++) vectors[1][k] += scale * product * u[k];
}

static void test_gas_is_exact(void **state)
{
    (void)state;
    hk_load_def gas = hk_default_load_def();
    gas.gas = 110000;
    gas.outside = 101325;
    hk_world *w = balloon(&gas, "newton");
    CHECK_OK(hk_world_need_problem(w));
    hk_terms *terms = w->problem->terms;
    hk_term *term = hk_terms_find(terms, &hk_gas_term);
    assert_non_null(term);
    int64_t size = 4 * (int64_t)w->model->vertex_count;
    double *x = calloc(6 * (size_t)size, sizeof *x), *d = x + size, *g = d + size, *up = g + size,
           *down = up + size, *product = down + size, h = 1e-6, length = (double)size, slope = 0;
    uint64_t seed = 5;
    for (int64_t k = 0; k < size; k++)
        if (k % 4 < 3)
            x[k] = w->x[k] * (1 + 0.1 * (k % 4)) + 0.01 * noise(&seed), d[k] = noise(&seed);
    term->ops->add_gradient(term, x, g, NULL);
    for (int64_t k = 0; k < size; k++) slope += g[k] * d[k];
    double *blocks = calloc((size_t)term->ops->block_size(term), sizeof *blocks);
    term->ops->blocks(term, x, 1, HK_FOR_HESSIAN, blocks);
    hk_terms alone = *terms;
    hk_term *only[1] = {term};
    int64_t start[2] = {0, term->ops->block_size(term)};
    alone.count = 1, alone.term = only, alone.block_start = start;
    hk_terms_add_product(&alone, blocks, d, product);
    double *vectors[3] = {d, product, &length};
    term->ops->visit_rank_one(term, x, add_joined, vectors);
    double energies[2];
    for (int side = 0; side < 2; side++) {
        for (int64_t k = 0; k < size; k++) x[k] += (side ? -2 : 1) * h * d[k];
        energies[side] = term->ops->energy(term, x);
        term->ops->add_gradient(term, x, side ? down : up, NULL);
    }
    double off = 0, whole = 0;
    for (int64_t k = 0; k < size; k++) {
        off += pow((up[k] - down[k]) / (2 * h) - product[k], 2);
        whole += product[k] * product[k];
    }
    print_message("gas: slope off by %.1e, second differences by %.1e\n",
                  fabs((energies[0] - energies[1]) / (2 * h) / slope - 1), sqrt(off / whole));
    assert_true(fabs((energies[0] - energies[1]) / (2 * h) / slope - 1) < 1e-6);
    assert_true(sqrt(off / whole) < 1e-6);
    free(x);
    free(blocks);
    hk_world_free(w);
}

// Steps of other methods, which see the gas as a whole now and then only.
static void test_gas_by_methods(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "lbfgs", "nonlinear_cg", "quasi_newton",
                                          "descent"};
    hk_load_def gas = hk_default_load_def();
    gas.gas = 104000;
    gas.outside = 101325;
    hk_world *truth = NULL;
    for (int m = 0; m < 5; m++) {
        hk_world *world = balloon(&gas, methods[m]);
        hk_step_report r = {0};
        int iterations = 0;
        for (int k = 0; k < (SANITIZED ? 1 : 3); k++) {
            CHECK_OK(hk_world_step(world, &r));
            iterations += r.iterations;
            if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED)
                fail_msg("%s: %s, %s", methods[m], hk_reason_name(r.reason), r.detail);
        }
        double away = truth ? relative_distance(world, truth) : 0;
        print_message("%s: %d iterations, %s, %.1e from Newton's\n", methods[m], iterations,
                      hk_reason_name(r.reason), away);
        assert_true(away < 1e-3);
        if (truth)
            hk_world_free(world);
        else
            truth = world;
    }
    hk_solver_def solver = hk_default_solver_def();
    solver.method = "vbd";
    assert_int_equal(hk_world_set_solver(truth, &solver), HK_UNSUPPORTED);
    assert_non_null(strstr(hk_error(), "gas"));
    hk_world_free(truth);
}

static void test_open_surface_has_no_gas(void **state)
{
    (void)state;
    hk_load_def gas = hk_default_load_def();
    gas.gas = 104000;
    hk_body_def body = hk_default_body_def();
    body.material = shell_of("stvk", "none", 1e6, 0.3, 1e-3, 1000);
    body.loads = &gas;
    body.load_count = 1;
    body.mesh = sheet_mesh(1, 1, 2, 2);
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    hk_model *model = NULL;
    assert_int_equal(hk_model_create(&def, &model), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "open edges"));
    hk_mesh_free((hk_mesh *)(uintptr_t)body.mesh);
}

// ---------------------------------------------------------------- air

static hk_world *falling(double wind, double speed, double gravity, double step)
{
    hk_load_def air = hk_default_load_def();
    air.wind[1] = wind;
    air.air_density = 1.2;
    air.drag = air.lift = 1;
    hk_body_def body = hk_default_body_def();
    body.material = shell_of("stvk", "hinges", 1e6, 0.3, 1e-3, 300);
    body.velocity[1] = speed;
    body.loads = &air;
    body.load_count = 1;
    return world_of(model_of(&body, sheet_mesh(1, 1, 4, 4), -gravity), step, 1);
}

// A sheet that lies across falls at √(2 σ g/ρ C) in the end; its first deceleration is F/m.
static void test_free_fall(void **state)
{
    (void)state;
    hk_step_report r;
    hk_world *world = falling(0, 0, 9.81, 0.02);
    for (int k = 0; k < 300; k++) CHECK_OK(hk_world_step(world, &r));
    double mean = 0, expected = sqrt(2 * 0.3 * 9.81 / 1.2);
    for (int v = 0; v < 25; v++) mean -= hk_world_velocities(world)[3 * v + 1] / 25;
    print_message("it falls at %.4f m/s, by hand %.4f m/s\n", mean, expected);
    assert_true(fabs(mean - expected) < 0.01 * expected);
    hk_world_free(world);
    world = falling(0, -3, 0, 1e-4);
    CHECK_OK(hk_world_step(world, &r));
    double momentum = 0;
    for (int v = 0; v < 25; v++)
        momentum +=
            hk_model_masses(hk_world_model(world))[v] * (hk_world_velocities(world)[3 * v + 1] + 3);
    double force = momentum / 1e-4;
    assert_true(fabs(force - 0.6 * 9) < 0.01 * 0.6 * 9);
    hk_world_free(world);
    // A storm that hits a sheet at rest carries it along, in steps that are far too long.
    world = falling(300, 0, 0, 0.05);
    for (int k = 0; k < 40; k++) {
        CHECK_OK(hk_world_step(world, &r));
        assert_int_not_equal(hk_reason_outcome(r.reason), HK_OUTCOME_FAILED);
        for (int v = 0; v < 25; v++) {
            double u = hk_world_velocities(world)[3 * v + 1];
            assert_true(isfinite(u) && u < 330);
        }
    }
    hk_world_free(world);
}

// ---------------------------------------------------------------- damping

static hk_world *swinging(double of_world, double of_material, double laplacian, bool held,
                          const char *method)
{
    hk_selector wall = select_box(-1, -1, -1, 1e-6, 2, 2);
    hk_body_def body = hk_default_body_def();
    body.material = material_of("neo_hookean", 3e5, 0.4);
    body.material.viscous = of_material;
    body.fixes = &wall;
    body.fix_count = held;
    body.velocity[2] = held ? 0 : 1;
    hk_world_def def = hk_default_world_def();
    def.model = model_of(&body, box_mesh(1, 0.2, 0.2, 8, 2, 2), held ? -9.81 : 0);
    def.damping.viscous = of_world;
    def.laplacian_damping = laplacian;
    def.solver.method = method;
    if (strcmp(method, "newton") != 0) {
        def.solver.iterations = 20000;
        def.solver.tolerance = 1e-7;
    }
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free((hk_model *)(uintptr_t)def.model);
    return world;
}

static void run(hk_world *world, int steps)
{
    for (int k = 0; k < steps; k++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(world, &r));
        if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED) fail_msg("%s", r.detail);
    }
}

// The same damping as that of a region, which is all of the body or the half of it that hangs free.
static void test_viscous_regions(void **state)
{
    (void)state;
    hk_world *worlds[3];
    for (int k = 0; k < 3; k++) {
        hk_selector wall = select_box(-1, -1, -1, 1e-6, 2, 2);
        hk_region_def region = hk_default_region_def();
        region.select = k < 2 ? select_box(-1, -1, -1, 2, 2, 2) : select_box(0.5, -1, -1, 2, 2, 2);
        region.material = material_of("neo_hookean", 3e5, 0.4);
        region.material.viscous = 0.05;
        hk_body_def body = hk_default_body_def();
        body.material = material_of("neo_hookean", 3e5, 0.4);
        if (k == 0) body.material.viscous = 0.05;
        body.fixes = &wall;
        body.fix_count = 1;
        body.regions = &region;
        body.region_count = k > 0;
        worlds[k] = world_of(model_of(&body, box_mesh(1, 0.2, 0.2, 8, 2, 2), -9.81), 0.01, 1);
        run(worlds[k], 10);
    }
    assert_true(relative_distance(worlds[1], worlds[0]) < 1e-12);
    double half = relative_distance(worlds[2], worlds[0]);
    assert_true(half > 1e-3 && half < 1);
    for (int k = 0; k < 3; k++) hk_world_free(worlds[k]);
}

static void test_viscous_materials(void **state)
{
    (void)state;
    hk_world *none = swinging(0, 0, 0, true, "newton"),
             *of_world = swinging(0.05, 0, 0, true, "newton");
    hk_world *of_material = swinging(0, 0.05, 0, true, "newton");
    hk_world *both = swinging(0.02, 0.03, 0, true, "newton");
    run(none, 10), run(of_world, 10), run(of_material, 10), run(both, 10);
    assert_true(relative_distance(of_material, of_world) < 1e-9);
    assert_true(relative_distance(both, of_world) < 1e-9);
    assert_true(relative_distance(none, of_world) > 0.05);
    hk_world_free(none), hk_world_free(of_world), hk_world_free(of_material), hk_world_free(both);
}

// It resists every motion that is no translation, and methods agree on it.
static void test_laplacian_damping(void **state)
{
    (void)state;
    hk_world *free_one = swinging(0, 0, 0.1, false, "newton");
    run(free_one, 10);
    for (int v = 0; v < hk_model_vertex_count(hk_world_model(free_one)); v++)
        assert_true(fabs(hk_world_velocities(free_one)[3 * v + 2] - 1) < 1e-9);
    hk_world_free(free_one);
    hk_world *none = swinging(0, 0, 0, true, "newton"),
             *truth = swinging(0, 0, 0.05, true, "newton");
    run(none, 8), run(truth, 8);
    assert_true(relative_distance(none, truth) > 0.05);
    static const char *const methods[] = {"lbfgs", "quasi_newton", "descent", "vbd"};
    for (int m = 0; m < 4; m++) {
        hk_world *world = swinging(0, 0, 0.05, true, methods[m]);
        run(world, 8);
        double away = relative_distance(world, truth);
        print_message("laplacian damping by %s: %.1e from Newton's\n", methods[m], away);
        assert_true(away < 1e-4);
        hk_world_free(world);
    }
    hk_world_free(none), hk_world_free(truth);
}

// Those who look for rest shapes say that they cannot do shells.
static void test_rest_is_refused(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    body.material = shell_of("stvk", "hinges", 1e6, 0.3, 1e-3, 1000);
    hk_rest_def def = hk_default_rest_def();
    hk_rest *rest = NULL;
    def.model = model_of(&body, sheet_mesh(1, 1, 2, 2), -9.81);
    assert_int_equal(hk_rest_create(&def, &rest), HK_UNSUPPORTED);
    assert_non_null(strstr(hk_error(), "shell"));
    hk_model_free((hk_model *)(uintptr_t)def.model);
}

// ---------------------------------------------------------------- scenes

static void run_scene(const char *path, const char *const *sets, int set_count, int steps)
{
    hk_scene *scene;
    hk_model *model;
    hk_world *world = NULL;
    CHECK_OK(hk_scene_load(path, sets, set_count, &scene));
    CHECK_OK(hk_model_create(hk_scene_model(scene), &model));
    hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
    def.model = model;
    CHECK_OK(hk_world_create(&def, &world));
    for (int k = 0; k < steps; k++) {
        hk_step_report r;
        hk_contact_report contact;
        CHECK_OK(hk_world_step(world, &r));
        CHECK_OK(hk_world_contact(world, &contact));
        if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED) fail_msg("%s: %s", path, r.detail);
        assert_true(contact.certified);
        for (int v = 0; v < 3 * hk_model_vertex_count(model); v++)
            assert_true(isfinite(hk_world_positions(world)[v]));
    }
    hk_world_free(world);
    hk_model_free(model);
    hk_scene_free(scene);
}

static void test_scenes(void **state)
{
    (void)state;
    static const char *const flag[] = {"bodies.0.mesh.sheet.cells=[12,8]", "contact.certify=true"};
    static const char *const plain[] = {"contact.certify=true"};
    static const char *const drape[] = {"contact.certify=true", "bodies.0.material.bending=1e-4"};
    run_scene("../scenes/flag.json", flag, 2, SANITIZED ? 5 : 200);
    run_scene("../scenes/balloon.json", plain, 1, SANITIZED ? 2 : 20);
    run_scene("../scenes/drape.json", drape, 2, SANITIZED ? 1 : 8);
}

// A sheet falls on a ball and is left lying there for five seconds, proven free of intersections.
static void test_contact_for_seconds(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "vbd", "quasi_newton"};
    for (int m = 0; m < (SANITIZED ? 1 : 3); m++) {
        hk_body_def body = hk_default_body_def();
        body.material = shell_of("corotated", "hinges", 1e5, 0.3, 2e-3, 200);
        body.transform.translate[0] = body.transform.translate[2] = -0.5;
        body.transform.translate[1] = 0.32;
        body.mesh = sheet_mesh(1, 1, 8, 8);
        hk_obstacle_def obstacles[2] = {hk_default_obstacle_def(), hk_default_obstacle_def()};
        obstacles[0].shape = HK_OBSTACLE_SPHERE;
        obstacles[0].radius = 0.3;
        obstacles[0].name = "ball";
        obstacles[1].name = "floor";
        obstacles[1].point[1] = -0.3;
        hk_contact_def contact = hk_default_contact_def();
        contact.certify = 1;
        contact.friction = 0.3;
        hk_model_def def = hk_default_model_def();
        def.bodies = &body;
        def.body_count = 1;
        def.obstacles = obstacles;
        def.obstacle_count = 2;
        def.contact = &contact;
        hk_model *model;
        CHECK_OK(hk_model_create(&def, &model));
        hk_mesh_free((hk_mesh *)(uintptr_t)body.mesh);
        hk_world_def w = hk_default_world_def();
        w.model = model;
        w.step = 0.02;
        w.solver.method = methods[m];
        hk_world *world = NULL;
        CHECK_OK(hk_world_create(&w, &world));
        hk_model_free(model);
        int64_t pairs = 0;
        for (int k = 0; k < (SANITIZED ? 10 : 250); k++) {
            hk_step_report r;
            hk_contact_report c;
            CHECK_OK(hk_world_step(world, &r));
            CHECK_OK(hk_world_contact(world, &c));
            if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED)
                fail_msg("%s: step %d: %s", methods[m], k, r.detail);
            assert_true(c.certified);
            if (c.pairs > pairs) pairs = c.pairs;
        }
        assert_true(pairs > 3);
        hk_world_free(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cantilever),
        cmocka_unit_test(test_plane_stress),
        cmocka_unit_test(test_curved_shell_keeps_its_shape),
        cmocka_unit_test(test_strain_limit),
        cmocka_unit_test(test_balloon),
        cmocka_unit_test(test_gas_is_exact),
        cmocka_unit_test(test_gas_by_methods),
        cmocka_unit_test(test_open_surface_has_no_gas),
        cmocka_unit_test(test_free_fall),
        cmocka_unit_test(test_viscous_materials),
        cmocka_unit_test(test_viscous_regions),
        cmocka_unit_test(test_laplacian_damping),
        cmocka_unit_test(test_rest_is_refused),
        cmocka_unit_test(test_scenes),
        cmocka_unit_test(test_contact_for_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
