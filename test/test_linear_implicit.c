// One linear step of backward Euler (Extreme): where it is exact, what the correction does, contact
// by springs and dampers, and a body that is crushed flat and comes back.
#include "bodies.h"
#include "contact/spring_damper.h"
#include "linear/lu.h"

enum { MOST_OPTIONS = 6 };

typedef struct run {
    const char *method;
    int iterations, threads;
    double step;
    hk_option options[MOST_OPTIONS];
    int count;
} run;

static run linear(const char *solver, double velocity)
{
    return (run){.method = "linear_implicit",
                 .iterations = 2000,
                 .threads = 1,
                 .step = 0.01,
                 .options = {{.name = "linear", .text = solver},
                             {.name = "correction_velocity", .number = velocity},
                             {.name = "accuracy", .number = 1e-12}},
                 .count = 3};
}

static hk_world *make_world(hk_model *model, const run *r)
{
    hk_world_def def = hk_default_world_def();
    hk_world *world = NULL;
    def.model = model;
    def.step = r->step;
    def.threads = r->threads;
    def.solver.method = r->method;
    def.solver.iterations = r->iterations;
    def.solver.options = r->options;
    def.solver.option_count = r->count;
    CHECK_OK(hk_world_create(&def, &world));
    return world;
}

static void march(hk_world *world, int steps)
{
    for (int k = 0; k < steps; k++) {
        hk_step_report report;
        CHECK_OK(hk_world_step(world, &report));
        if (hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED)
            fail_msg("%g s: %s", hk_world_time(world), report.detail);
    }
}

static double greatest_speed(const hk_world *world)
{
    const double *v = hk_world_velocities(world);
    double most = 0;
    for (int k = 0; k < hk_model_vertex_count(hk_world_model(world)); k++)
        most = fmax(most, sqrt(v[3 * k] * v[3 * k] + v[3 * k + 1] * v[3 * k + 1] +
                               v[3 * k + 2] * v[3 * k + 2]));
    return most;
}

// A bar, held at x = 0, whose other end is moved.
static hk_model *make_bar(const char *material, double gravity, double pull)
{
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(-1, -1, -1, 1e-6, 1, 1);
    hk_move_def move = hk_default_move_def();
    move.select = select_box(0.4 - 1e-6, -1, -1, 1, 1, 1);
    move.motion.translate[0] = pull;
    move.motion.over = 1;
    body.material = material_of(material, 1e5, 0.3);
    body.fixes = &wall;
    body.fix_count = 1;
    body.moves = &move;
    body.move_count = pull != 0;
    return model_of(&body, box_mesh(0.4, 0.1, 0.1, 8, 2, 2), gravity);
}

// ---------------------------------------------------------------- the linear step

// Where displacements are small the linear step is Newton's, held vertices that move among it.
static void test_small_motions_are_newtons(void **state)
{
    (void)state;
    static const char *const solvers[] = {"qmr", "bicgstab", "cg", "minres", "direct"};
    static const char *const materials[] = {"stvk", "neo_hookean", "corotated"};
    run reference = {.method = "newton", .iterations = 50, .threads = 1, .step = 0.01};
    for (int m = 0; m < HK_COUNT_OF(materials); m++) {
        hk_model *model = make_bar(materials[m], -1e-4, 1e-6);
        hk_world *newton = make_world(model, &reference);
        march(newton, 5);
        for (int k = 0; k < HK_COUNT_OF(solvers); k++) {
            run r = linear(solvers[k], 0);
            if (strcmp(solvers[k], "direct") == 0 && !hk_lu_available()) continue;
            hk_world *world = make_world(model, &r);
            march(world, 5);
            double far = relative_distance(world, newton);
            if (!(far < 1e-4)) fail_msg("%s, %s: %g", materials[m], solvers[k], far);
            hk_world_free(world);
        }
        hk_world_free(newton);
        hk_model_free(model);
    }
}

// All solvers have the same answer where the stiffness is indefinite, but for the tolerance; CG is
// not made for that.
static void test_solvers_agree(void **state)
{
    (void)state;
    static const char *const solvers[] = {"qmr", "minres", "bicgstab"};
    hk_model *model = make_bar("stvk", -9.81, -0.15);
    run r = linear("qmr", 0.1);
    r.step = 0.05;
    hk_world *first = make_world(model, &r);
    march(first, 12);
    for (int k = 1; k < HK_COUNT_OF(solvers); k++) {
        run other = linear(solvers[k], 0.1);
        other.step = 0.05;
        hk_world *world = make_world(model, &other);
        march(world, 12);
        double far = relative_distance(world, first);
        if (!(far < 1e-6)) fail_msg("%s: %g", solvers[k], far);
        hk_world_free(world);
    }
    hk_world_free(first);
    hk_model_free(model);
}

// A free body keeps its momentum, and the correction does not touch small motions.
static void test_momentum(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    body.material = material_of("stvk", 1e5, 0.4);
    body.velocity[0] = 0.3;
    body.velocity[1] = -0.2;
    hk_model *model = model_of(&body, box_mesh(0.2, 0.1, 0.1, 4, 2, 2), 0);
    run r = linear("qmr", 0);
    hk_world *world = make_world(model, &r);
    march(world, 20);
    const double *mass = hk_model_masses(model), *v = hk_world_velocities(world);
    double p[3] = {0}, all = 0;
    for (int k = 0; k < hk_model_vertex_count(model); k++) {
        for (int i = 0; i < 3; i++) p[i] += mass[k] * v[3 * k + i];
        all += mass[k];
    }
    for (int i = 0; i < 3; i++) assert_true(fabs(p[i] - all * body.velocity[i]) < 1e-10 * all);
    hk_world_free(world);
    hk_model_free(model);
}

// Rayleigh's damping: α slows a free body by v/(1 + αT) a step; β does not touch its translation.
static void test_rayleigh_damping(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    body.material = material_of("stvk", 1e5, 0.4);
    body.velocity[2] = 1;
    hk_model *model = model_of(&body, box_mesh(0.1, 0.1, 0.1, 2, 2, 2), 0);
    run r = linear("qmr", 0);
    r.options[r.count++] = (hk_option){.name = "alpha", .number = 2};
    r.options[r.count++] = (hk_option){.name = "beta", .number = 0.01};
    hk_world *world = make_world(model, &r);
    march(world, 10);
    double wanted = pow(1 + 2 * r.step, -10);
    for (int k = 0; k < hk_model_vertex_count(model); k++)
        assert_true(fabs(hk_world_velocities(world)[3 * k + 2] - wanted) < 1e-9);
    hk_world_free(world);
    hk_model_free(model);
}

static void test_same_bits(void **state)
{
    (void)state;
    hk_model *model = make_bar("stvk", -9.81, -0.1);
    run r = linear("qmr", 0.1);
    hk_world *one = make_world(model, &r);
    march(one, 10);
    for (int threads = 2; threads <= 7; threads += 5) {
        r.threads = threads;
        hk_world *many = make_world(model, &r);
        march(many, 10);
        assert_memory_equal(hk_world_positions(one), hk_world_positions(many),
                            3 * sizeof(double) * (size_t)hk_model_vertex_count(model));
        hk_world_free(many);
    }
    hk_world_free(one);
    hk_model_free(model);
}

// ---------------------------------------------------------------- contact by eq. 33

// Both derivatives are symmetric, and dampers take energy whatever the velocity.
static void assert_symmetric_and_resisting(const double K[9], const double B[9])
{
    for (int n = 0; n < 9; n++) {
        int mirrored = 3 * (n % 3) + n / 3;
        assert_true(fabs(K[n] - K[mirrored]) < 1e-9 && fabs(B[n] - B[mirrored]) < 1e-12);
    }
    for (int n = 0; n < 20; n++) {
        double v[3] = {sin(n), cos(2.1 * n), sin(3.3 * n)}, power = 0;
        for (int i = 0; i < 9; i++) power += v[i / 3] * B[i] * v[i % 3];
        assert_true(power < 0);
    }
}

// One vertex after the other against differences: a plane and a ball that move and turn.
static void test_spring_damper_derivatives(void **state)
{
    (void)state;
    hk_contact_def contact = hk_default_contact_def();
    hk_obstacle_def obstacles[2] = {hk_default_obstacle_def(), hk_default_obstacle_def()};
    contact.law = "spring_damper";
    contact.normal_stiffness = 100;
    contact.normal_damping = 7;
    contact.drag = 30;
    obstacles[0].name = "slope";
    obstacles[0].normal[0] = 0.3;
    obstacles[1].name = "ball";
    obstacles[1].shape = HK_OBSTACLE_SPHERE;
    obstacles[1].center[1] = 0.5;
    obstacles[1].radius = 0.6;
    obstacles[1].formula.translate[0] = "0.2*t";
    obstacles[1].formula.degrees = "30*t";
    obstacles[1].formula.axis[2] = 1;
    hk_body_def body = hk_default_body_def();
    hk_mesh *mesh = box_mesh(0.4, 0.4, 0.4, 2, 2, 2);
    body.mesh = mesh;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.contact = &contact;
    def.obstacles = obstacles;
    def.obstacle_count = 2;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    hk_spring_damper law;
    CHECK_OK(hk_spring_damper_init(model, 1, &law));
    CHECK_OK(hk_contacts_place(law.contacts, false, 0, 0));
    hk_spring_damper_begin(&law, 0.1);
    CHECK_OK(hk_contacts_place(law.contacts, false, 0, 0.1));
    int inside = 0;
    for (int k = 0; k < 60; k++) {
        double x[3] = {0.5 * sin(k), 0.3 * sin(2.3 * k), 0.5 * cos(1.7 * k)}, f[3], K[9], B[9];
        if (!hk_spring_damper_force(&law, 0, x, NULL, f, K, B)) continue;
        inside++;
        // Springs alone: without dampers and drag their derivative is that of the force.
        double low[3], high[3], none[9], h = 1e-6;
        hk_model_contact *settings = (hk_model_contact *)law.contacts->settings;
        settings->normal_damping = settings->drag = 0;
        for (int j = 0; j < 3; j++) {
            double y[3] = {x[0], x[1], x[2]};
            y[j] = x[j] - h;
            assert_true(hk_spring_damper_force(&law, 0, y, NULL, low, none, none));
            y[j] = x[j] + h;
            assert_true(hk_spring_damper_force(&law, 0, y, NULL, high, none, none));
            for (int i = 0; i < 3; i++)
                assert_true(fabs((high[i] - low[i]) / (2 * h) - K[3 * i + j]) < 1e-5 * 100);
        }
        settings->normal_damping = 7;
        settings->drag = 30;
        assert_symmetric_and_resisting(K, B);
    }
    assert_true(inside > 10);
    hk_spring_damper_release(&law);
    hk_model_free(model);
    hk_mesh_free(mesh);
}

typedef struct block {
    hk_model *model;
    hk_world *world;
} block;

// A stiff block on a plane that is tilted about z.
static block make_block(double degrees, const char *law, const run *r)
{
    hk_contact_def contact = hk_default_contact_def();
    hk_obstacle_def floor = hk_default_obstacle_def();
    hk_body_def body = hk_default_body_def();
    hk_mesh *mesh = box_mesh(0.1, 0.05, 0.1, 2, 1, 2);
    double angle = degrees * acos(-1) / 180;
    contact.law = law;
    floor.name = "floor";
    body.mesh = mesh;
    body.material = material_of("stvk", 1e6, 0.3);
    hk_model_def def = hk_default_model_def();
    def.gravity[0] = 9.81 * sin(angle);
    def.gravity[1] = -9.81 * cos(angle);
    def.gravity[2] = 0;
    def.bodies = &body;
    def.body_count = 1;
    def.contact = &contact;
    def.obstacles = &floor;
    def.obstacle_count = 1;
    block b;
    CHECK_OK(hk_model_create(&def, &b.model));
    b.world = make_world(b.model, r);
    hk_mesh_free(mesh);
    return b;
}

// On a slope the block creeps: Σ K_N d = m g cos θ and Σ C_T d v = m g sin θ, so that
// v = K_N/C_T tan θ; and the floor carries its weight.
static void test_creep(void **state)
{
    (void)state;
    run r = linear("qmr", 0);
    block b = make_block(20, "spring_damper", &r);
    march(b.world, 200);
    double mean = 0, wanted = 1e6 / 1e7 * tan(20 * acos(-1) / 180), mass = 0.1 * 0.05 * 0.1 * 1000;
    int count = hk_model_vertex_count(b.model);
    for (int k = 0; k < count; k++) mean += hk_world_velocities(b.world)[3 * k] / count;
    if (!(fabs(mean - wanted) < 1e-3 * wanted)) fail_msg("%g m/s, not %g", mean, wanted);
    hk_obstacle_load load;
    hk_contact_report contact;
    CHECK_OK(hk_world_obstacle_load(b.world, 0, &load));
    CHECK_OK(hk_world_contact(b.world, &contact));
    double weight = mass * 9.81;
    assert_true(fabs(load.force[1] + weight * cos(20 * acos(-1) / 180)) < 1e-3 * weight);
    assert_true(fabs(load.force[0] - weight * sin(20 * acos(-1) / 180)) < 1e-3 * weight);
    assert_true(contact.pairs == 9 && contact.least_gap < 0);
    hk_world_free(b.world);
    hk_model_free(b.model);
}

static void refuse(const char *law, const char *method, const char *message)
{
    hk_contact_def contact = hk_default_contact_def();
    hk_obstacle_def floor = hk_default_obstacle_def();
    hk_body_def body = hk_default_body_def();
    hk_mesh *mesh = box_mesh(0.1, 0.1, 0.1, 1, 1, 1);
    hk_model *model;
    hk_world *world = NULL;
    contact.law = law;
    floor.name = "floor";
    body.mesh = mesh;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.contact = &contact;
    def.obstacles = &floor;
    def.obstacle_count = 1;
    CHECK_OK(hk_model_create(&def, &model));
    hk_world_def world_def = hk_default_world_def();
    world_def.model = model;
    world_def.solver.method = method;
    assert_int_equal(hk_world_create(&world_def, &world), HK_UNSUPPORTED);
    assert_non_null(strstr(hk_error(), message));
    hk_model_free(model);
    hk_mesh_free(mesh);
}

static void test_laws_and_methods(void **state)
{
    (void)state;
    refuse("spring_damper", "newton", "method linear_implicit");
    refuse("spring_damper", "vbd", "method linear_implicit");
    refuse("two_stage", "linear_implicit", "spring_damper or penalty");
}

// ---------------------------------------------------------------- crushed flat

// A block under a plate that comes down to the floor and goes up again; it is held by anchors at
// its foot. Returns the greatest speed of a vertex, and how far it is from its rest shape at the
// end.
static double crush(const run *r, double *away)
{
    hk_contact_def contact = hk_default_contact_def();
    hk_obstacle_def obstacles[2] = {hk_default_obstacle_def(), hk_default_obstacle_def()};
    hk_body_def body = hk_default_body_def();
    hk_attach_def anchors = hk_default_attach_def();
    hk_mesh *mesh = box_mesh(0.06, 0.12, 0.06, 3, 6, 3);
    contact.law = "spring_damper";
    obstacles[0].name = "floor";
    obstacles[1].name = "plate";
    obstacles[1].normal[1] = -1;
    obstacles[1].formula.translate[1] = "t < 1 ? 0.15*(1-t) : t < 1.5 ? 0 : 0.3*(t-1.5)";
    obstacles[1].formula.translate[0] = "t < 1 ? 0 : 0.05*sin(6*(min(t, 1.5)-1))";
    anchors.select = select_box(-1, -1, -1, 1, 1e-6, 1);
    anchors.stiffness = 1e6;
    body.mesh = mesh;
    body.material = material_of("stvk", 1e6, 0.45);
    body.material.parameters[0] =
        (hk_parameter){"volume_penalty", 0.1 * 1e6 / (6 * (1 - 2 * 0.45))};
    body.material.parameter_count = 1;
    body.attachments = &anchors;
    body.attachment_count = 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.contact = &contact;
    def.obstacles = obstacles;
    def.obstacle_count = 2;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    hk_world *world = make_world(model, r);
    double most = 0;
    *away = 0;
    for (int k = 0; k < 140; k++) {
        hk_step_report report;
        CHECK_OK(hk_world_step(world, &report));
        most = fmax(most, greatest_speed(world));
        if (hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED || most > 1e6) break;
    }
    const double *x = hk_world_positions(world), *rest = hk_model_rest_positions(model);
    for (int k = 0; k < 3 * hk_model_vertex_count(model); k++)
        *away = fmax(*away, fabs(x[k] - rest[k]) / 0.12);
    hk_world_free(world);
    hk_model_free(model);
    hk_mesh_free(mesh);
    return most;
}

static void test_crushed_flat(void **state)
{
    (void)state;
    run r = linear("qmr", 0.1);
    double away;
    r.step = 0.03;
    r.iterations = 300;
    r.options[2].number = 1e-6;
    r.options[r.count++] = (hk_option){.name = "beta", .number = 0.001};
    double most = crush(&r, &away);
    if (!(most < 10 && away < 0.01)) fail_msg("%g m/s, %g from rest", most, away);
    // Conjugate gradients without the correction throw it about.
    r.options[0].text = "cg";
    r.options[1].number = 0;
    double wild = crush(&r, &away);
    if (!(wild > most)) fail_msg("cg: %g m/s; qmr, corrected: %g", wild, most);
}

// The figure of scenes/extreme/crush.json, coarse, until the plate is up again: steps with a vertex
// above 1.5 m/s.
static int count_darts(int passes, double young)
{
    static const char text[] =
        "{\"time\": {\"step\": 0.03, \"end\": 7}, \"gravity\": [0, -9.8, 0], \"threads\": 1,"
        "\"solver\": {\"method\": \"linear_implicit\", \"iterations\": 300, \"alpha\": 0.001,"
        "           \"beta\": 0.001, \"correction_passes\": 0},"
        "\"contact\": {\"law\": \"spring_damper\"},"
        "\"obstacles\": [{\"name\": \"floor\", \"plane\": {\"point\": [0, 0, 0],"
        "    \"normal\": [0, 1, 0]}}, {\"name\": \"plate\", \"plane\": {\"point\": [0, 0, 0],"
        "    \"normal\": [0, -1, 0]}, \"formula\": {"
        "    \"x\": \"t < 1 ? 0 : 0.1*sin(2*pi*(min(t, 6)-1)/1.3)\","
        "    \"y\": \"t < 1 ? 0.02 + 0.3*(1-t) : t < 6 ? max(0, 0.02 - 0.1*sin(2*pi*(t-1)))"
        "           : 0.02 + 0.3*(min(t, 8)-6)\","
        "    \"z\": \"t < 1 ? 0 : -0.1*sin(2*pi*(min(t, 6)-1)/0.7)\"}}],"
        "\"bodies\": [{\"mesh\": {\"figure\": {\"height\": 0.15, \"cells\": 10}},"
        "    \"material\": {\"model\": \"stvk\", \"young\": 1e6, \"poisson\": 0.49,"
        "        \"density\": 1000, \"volume_penalty\": 833333.333},"
        "    \"attach\": [{\"select\": {\"box\": [[-1, -0.001, -1], [1, 0.004, 1]]},"
        "                \"stiffness\": 1e6}]}]}";
    char first[64], second[64];
    const char *sets[] = {first, second};
    hk_scene *scene = NULL;
    hk_model *model = NULL;
    hk_world *world = NULL;
    int darts = 0;
    snprintf(first, sizeof first, "solver.correction_passes=%d", passes);
    snprintf(second, sizeof second, "bodies.0.material.young=%.17g", young);
    CHECK_OK(hk_scene_parse(text, strlen(text), "crush", sets, 2, &scene));
    CHECK_OK(hk_model_create(hk_scene_model(scene), &model));
    hk_world_def def = *hk_scene_world(scene);
    def.model = model;
    CHECK_OK(hk_world_create(&def, &world));
    for (int k = 0; k < hk_scene_steps(scene); k++) {
        CHECK_OK(hk_world_step(world, NULL));
        darts += !(greatest_speed(world) <= 1.5);
    }
    hk_world_free(world);
    hk_model_free(model);
    hk_scene_free(scene);
    return darts;
}

// The correction that looks again leaves hardly a vertex too fast. Every bit of the start matters
// to what a crushed body does, so that it takes several runs.
static void test_hardly_a_vertex_darts_about(void **state)
{
    (void)state;
    int trials = SANITIZED ? 1 : 4, once = 0, again = 0;
    for (int k = 0; k < trials; k++) {
        once += count_darts(0, 1e6 * (1 + 1e-10 * k));
        again += count_darts(5, 1e6 * (1 + 1e-10 * k));
    }
    if (!(again <= trials / 2 && again <= once))
        fail_msg("%d steps too fast in %d runs; without looking again %d", again, trials, once);
}

// ---------------------------------------------------------------- the clock

// A step takes its budget and no more, but for one iteration and the assembly.
static void test_budget(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(-1, -1, -1, 1e-6, 1, 1);
    body.material = material_of("stvk", 1e7, 0.49);
    body.fixes = &wall;
    body.fix_count = 1;
    hk_model *model = model_of(&body, box_mesh(0.4, 0.1, 0.1, 24, 6, 6), -9.81);
    run r = linear("qmr", 0.1);
    double budget = SANITIZED ? 0.2 : 0.02;
    r.iterations = 1000000;
    r.options[2].number = 0;
    r.options[r.count++] = (hk_option){.name = "budget", .number = budget};
    hk_world *world = make_world(model, &r);
    double least = INFINITY;
    int most = 0;
    for (int k = 0; k < 10; k++) {
        hk_step_report report;
        CHECK_OK(hk_world_step(world, &report));
        assert_true(report.iterations < r.iterations);
        most = hk_max_int(most, report.iterations);
        assert_non_null(strstr(report.detail, "time limit"));
        assert_non_null(strstr(report.detail, "residual"));
        least = fmin(least, report.ms - report.phase_ms[HK_PHASE_ASSEMBLY] -
                                report.phase_ms[HK_PHASE_ELEMENTS]);
    }
    // Other programs may stop this one for a while: the best of ten steps tells.
    assert_true(most > 0);
    if (!(least < 1.1e3 * budget)) fail_msg("%g ms of a budget of %g", least, 1e3 * budget);
    hk_world_free(world);
    // A factorisation does not end with it.
    hk_world_def def = hk_default_world_def();
    r.options[0].text = "direct";
    def.model = model;
    def.solver.method = r.method;
    def.solver.options = r.options;
    def.solver.option_count = r.count;
    world = NULL;
    assert_int_equal(hk_world_create(&def, &world), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "budget"));
    hk_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_motions_are_newtons),
        cmocka_unit_test(test_solvers_agree),
        cmocka_unit_test(test_momentum),
        cmocka_unit_test(test_rayleigh_damping),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_spring_damper_derivatives),
        cmocka_unit_test(test_creep),
        cmocka_unit_test(test_laws_and_methods),
        cmocka_unit_test(test_crushed_flat),
        cmocka_unit_test(test_hardly_a_vertex_darts_about),
        cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
