// Worlds on the GPU against worlds on the CPU: the same motion, with everything that a scene may
// ask for. Where there is no device, only what needs none.
#include "bodies.h"
#include "gpu/gpu.h"
#include "live.h"
#include "sheets.h"
#include "split_on_host.h"

static void need_device(void)
{
    char why[256];
    if (!hk_gpu_found(why, sizeof why)) SKIP("%s", why);
}

// A scene, as its changes to the usual one.
typedef struct variant {
    const char *name, *material, *method;
    const char *against;  // the CPU's method; NULL: the same
    const char *option, *word;
    hk_damping damping;
    const char *integrator;
    bool moves, loads, fibres, regions, bodies, invertible;
    bool attached, sheet;
    bool fine;         // so many vertices that multigrid has levels
    double tolerance;  // of positions, relative to the motion
} variant;

static const variant VARIANTS[] = {
    {.name = "plain", .material = "neo_hookean"},
    {.name = "not persistent", .material = "neo_hookean", .option = "resident", .word = "off"},
    {.name = "start position", .material = "fung", .option = "start", .word = "position"},
    {.name = "start velocity",
     .material = "stable_neo_hookean",
     .option = "start",
     .word = "velocity"},
    {.name = "start auto", .material = "mooney_rivlin", .option = "start", .word = "auto"},
    {.name = "start optimised", .material = "corotated", .option = "start", .word = "optimised"},
    {.name = "start adaptive", .material = "arap", .option = "start", .word = "adaptive"},
    {.name = "nesterov", .material = "neo_hookean", .option = "acceleration", .word = "nesterov"},
    {.name = "air", .material = "neo_hookean", .damping = {.air_per_vertex = 0.5}},
    {.name = "viscous", .material = "neo_hookean", .damping = {.viscous = 0.02}},
    {.name = "viscous, corotated", .material = "corotated", .damping = {.viscous = 0.02}},
    {.name = "ether and pbd", .material = "arap", .damping = {.ether = 2, .pbd = 3}},
    {.name = "moves", .material = "neo_hookean", .moves = true},
    {.name = "loads", .material = "stvk", .loads = true, .tolerance = 2e-3},
    {.name = "loads, not persistent",
     .material = "stvk",
     .option = "resident",
     .word = "off",
     .loads = true,
     .tolerance = 2e-3},
    {.name = "blended", .material = "mooney_rivlin", .invertible = true, .moves = true},
    {.name = "blended, start auto",
     .material = "fung",
     .invertible = true,
     .option = "start",
     .word = "auto"},
    {.name = "fibres", .material = "neo_hookean", .fibres = true},
    {.name = "regions", .material = "neo_hookean", .regions = true},
    {.name = "bodies", .material = "spline", .bodies = true},
    {.name = "viscous, blended",
     .material = "neo_hookean",
     .invertible = true,
     .damping = {.viscous = 0.02}},
    {.name = "projective",
     .material = "arap",
     .method = "projective",
     .option = "global",
     .word = "chebyshev"},
    {.name = "quasi_newton",
     .material = "neo_hookean",
     .method = "quasi_newton",
     .against = "lbfgs"},  // without a direct solver
    {.name = "vbd", .material = "neo_hookean", .method = "vbd"},
    {.name = "vbd, chebyshev",
     .material = "fung",
     .method = "vbd",
     .option = "acceleration",
     .word = "chebyshev"},
    {.name = "vbd, careful",
     .material = "corotated",
     .method = "vbd",
     .option = "steps",
     .word = "careful"},
    {.name = "vbd, moves, loads, regions, fibres",
     .material = "stable_neo_hookean",
     .method = "vbd",
     .moves = true,
     .loads = true,
     .regions = true,
     .fibres = true},
    {.name = "vbd, viscous",
     .material = "neo_hookean",
     .method = "vbd",
     .damping = {.viscous = 0.02}},
    {.name = "vbd, viscous, careful",
     .material = "mooney_rivlin",
     .method = "vbd",
     .option = "steps",
     .word = "careful",
     .damping = {.viscous = 0.02}},
    {.name = "vbd, viscous, moves, regions, fibres",
     .material = "spline",
     .method = "vbd",
     .moves = true,
     .regions = true,
     .fibres = true,
     .damping = {.viscous = 0.02}},
    {.name = "vbd, viscous, bodies",
     .material = "stvk",
     .method = "vbd",
     .bodies = true,
     .damping = {.viscous = 0.02},
     .tolerance = 2e-3},
    {.name = "vbd, viscous, blended",
     .material = "neo_hookean",
     .method = "vbd",
     .invertible = true,
     .damping = {.viscous = 0.02}},
    {.name = "attached", .material = "neo_hookean", .attached = true},
    {.name = "attached, viscous, blended",
     .material = "neo_hookean",
     .attached = true,
     .invertible = true,
     .damping = {.viscous = 0.02}},
    {.name = "attached, vbd", .material = "stvk", .method = "vbd", .attached = true},
    {.name = "attached, quasi_newton",
     .material = "neo_hookean",
     .method = "quasi_newton",
     .against = "lbfgs",
     .attached = true},
    {.name = "attached, projective",
     .material = "arap",
     .method = "projective",
     .option = "global",
     .word = "chebyshev",
     .attached = true},
    {.name = "sheet", .sheet = true, .tolerance = 1e-3},
    {.name = "sheet, viscous", .sheet = true, .damping = {.viscous = 0.02}, .tolerance = 1e-3},
    {.name = "sheet, vbd", .sheet = true, .method = "vbd", .tolerance = 1e-3},
    {.name = "sheet, vbd, careful, viscous",
     .sheet = true,
     .method = "vbd",
     .option = "steps",
     .word = "careful",
     .damping = {.viscous = 0.02},
     .tolerance = 1e-3},
    {.name = "sheet, quasi_newton",
     .sheet = true,
     .method = "quasi_newton",
     .against = "lbfgs",
     .tolerance = 1e-3},
    {.name = "sheet, projective",
     .sheet = true,
     .method = "projective",
     .against = "lbfgs",
     .tolerance = 1e-3},
    {.name = "sheet, projective, chebyshev",
     .sheet = true,
     .method = "projective",
     .option = "global",
     .word = "chebyshev",
     .tolerance = 1e-3},
    {.name = "bdf2", .material = "neo_hookean", .integrator = "bdf2"},
    {.name = "implicit_midpoint", .material = "neo_hookean", .integrator = "implicit_midpoint"},
    {.name = "implicit_midpoint, moves",
     .material = "neo_hookean",
     .integrator = "implicit_midpoint",
     .moves = true},
    {.name = "newmark, air",
     .material = "arap",
     .integrator = "newmark",
     .damping = {.air_per_vertex = 0.5}},
    {.name = "trbdf2", .material = "stable_neo_hookean", .integrator = "trbdf2"},
    {.name = "trbdf2, viscous, moves, not persistent",
     .material = "neo_hookean",
     .integrator = "trbdf2",
     .option = "resident",
     .word = "off",
     .moves = true,
     .damping = {.viscous = 0.02}},
    {.name = "trbdf2, vbd",
     .material = "neo_hookean",
     .method = "vbd",
     .integrator = "trbdf2",
     .attached = true},
    {.name = "bdf2, quasi_newton, viscous",
     .material = "neo_hookean",
     .method = "quasi_newton",
     .against = "lbfgs",
     .integrator = "bdf2",
     .damping = {.viscous = 0.02}},
    {.name = "newmark, projective",
     .material = "arap",
     .method = "projective",
     .option = "global",
     .word = "chebyshev",
     .integrator = "newmark"},
    {.name = "trbdf2, sheet", .sheet = true, .integrator = "trbdf2", .tolerance = 1e-3},
    {.name = "split, passes", .material = "corotated", .method = "split", .against = "lbfgs"},
    {.name = "split, passes, moves",
     .material = "fixed_corotated",
     .method = "split",
     .against = "lbfgs",
     .moves = true},
    {.name = "split, passes, bodies",
     .material = "corotated",
     .method = "split",
     .against = "lbfgs",
     .bodies = true},
    {.name = "split, passes, attached, bdf2",
     .material = "arap",
     .method = "split",
     .against = "lbfgs",
     .attached = true,
     .integrator = "bdf2"},
};

// A piece of cloth, held at one side.
static hk_model *sheet_model(void)
{
    hk_selector edge = select_box(-1, -1, -1, 1e-6, 1, 2);
    hk_body_def body = hk_default_body_def();
    body.material = cloth_of(100, 1e-3, 0.3);
    body.fixes = &edge;
    body.fix_count = 1;
    return model_of(&body, sheet_mesh(1, 0.8, 12, 10), -9.81);
}

static hk_model *model_for(const variant *v)
{
    if (v->sheet) return sheet_model();
    hk_body_def body[2] = {hk_default_body_def(), hk_default_body_def()};
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2), half = select_box(0.5, -1, -1, 2, 2, 2);
    hk_selector end = select_box(1, -1, -1, 1, 2, 2);
    hk_move_def move = {.def_size = sizeof(hk_move_def),
                        .select = end,
                        .motion = {.axis = {1, 0, 0},
                                   .degrees = 40,
                                   .translate = {0.1, 0, 0},
                                   .center = {1, 0.15, 0.15},
                                   .over = 0.2}};
    hk_attach_def pull = {.def_size = sizeof(hk_attach_def),
                          .select = end,
                          .stiffness = 40,
                          .motion = {.axis = {1}, .translate = {0.1, 0.3, 0}, .over = 0.1}};
    hk_load_def load = {.def_size = sizeof(hk_load_def), .select = end, .force = {0, 30, 50}};
    hk_region_def region = {.def_size = sizeof(hk_region_def),
                            .select = half,
                            .material = material_of("corotated", 4e5, 0.2)};
    body[0].mesh = wants_small() ? box_mesh(1, 0.3, 0.3, 7, 2, 2)
                   : v->fine     ? box_mesh(1, 0.3, 0.3, 32, 10, 10)
                                 : box_mesh(1, 0.3, 0.3, 8, 3, 3);
    body[0].material = material_of(v->material, 1e5, 0.35);
    if (v->invertible) body[0].material.invertible = hk_default_invertible();
    if (v->fibres) {
        body[0].material.fibre_stiffness = 3e5;
        body[0].material.fibre_direction[0] = 1;
        body[0].material.fibre_direction[1] = 0.5;
    }
    body[0].fixes = &wall;
    body[0].fix_count = 1;
    body[0].moves = &move;
    body[0].move_count = v->moves;
    body[0].loads = &load;
    body[0].load_count = v->loads;
    body[0].attachments = &pull;
    body[0].attachment_count = v->attached;
    body[0].regions = &region;
    body[0].region_count = v->regions;
    body[1] = body[0];
    body[1].mesh = box_mesh(0.5, 0.5, 0.5, 3, 3, 3);
    body[1].transform.translate[2] = 3;
    body[1].fix_count = 0;
    body[1].name = "second";
    hk_model_def def = hk_default_model_def();
    def.bodies = body;
    def.body_count = v->bodies ? 2 : 1;
    def.gravity[1] = -9.81;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free((hk_mesh *)(uintptr_t)body[0].mesh);
    hk_mesh_free((hk_mesh *)(uintptr_t)body[1].mesh);
    return model;
}

static hk_world *make(const variant *v, const hk_model *model, hk_backend backend, int iterations)
{
    hk_option option = {.name = v->option, .text = v->word};
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = 0.02;
    def.backend = backend;
    def.damping = v->damping;
    if (v->integrator) def.integrator = v->integrator;
    def.solver.method = v->method ? v->method : "descent";
    if (v->against && backend == HK_BACKEND_CPU) def.solver.method = v->against;
    def.solver.iterations = iterations;
    def.solver.tolerance = 1e-7;
    def.solver.options = &option;
    def.solver.option_count = v->option != NULL;
    hk_world *world;
    CHECK_OK(hk_world_create(&def, &world));
    return world;
}

// As many iterations as it takes for a tenth of the tolerance; small ones are not judged by it.
static int iterations_of(const variant *v)
{
    if (!v->method || strcmp(v->method, "projective") == 0) return wants_small() ? 24 : 800;
    return wants_small() ? 12 : 200;
}

static void check_variant(const variant *v)
{
    hk_model *model = model_for(v);
    hk_world *gpu = make(v, model, HK_BACKEND_CUDA, iterations_of(v)),
             *cpu = make(v, model, HK_BACKEND_CPU, 3000);
    hk_model_free(model);
    assert_string_equal(hk_world_backend(gpu), "cuda");
    hk_step_report r, s;
    for (int k = 0, steps = wants_small() ? 2 : 8; k < steps; k++) {
        CHECK_OK(hk_world_step(gpu, &r));
        CHECK_OK(hk_world_step(cpu, &s));
        if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED)
            fail_msg("%s, step %d: %s, %s", v->name, k, hk_reason_name(r.reason), r.detail);
    }
    double away = relative_distance(gpu, cpu), most = v->tolerance > 0 ? v->tolerance : 1e-4;
    double energy =
        fabs(r.energy.total - s.energy.total) / fabs(s.energy.elastic + s.energy.kinetic);
    if (getenv("HOOKE_TABLE")) printf("%-38s %9.2e %9.2e\n", v->name, away, energy);
    assert_true(isfinite(away + energy));
    if (!wants_small() && !(away < most && energy < fmin(10 * most, 5e-3)))
        fail_msg("%s: positions differ by %g, energies by %g", v->name, away, energy);
    hk_world_free(gpu);
    hk_world_free(cpu);
}

static void test_same_motion(void **state)
{
    (void)state;
    need_device();
    for (int k = 0; k < (int)(sizeof VARIANTS / sizeof VARIANTS[0]); k++)
        check_variant(&VARIANTS[k]);
}

// Worlds on the GPU that are edited in mid-run, against worlds on the CPU that are built that way.
static const live_case LIVE[] = {
    {"descent", "descent", "neo_hookean", NULL, NULL, 800, 2e-4, 1e-7, "lbfgs"},
    {"descent, not persistent", "descent", "neo_hookean", "resident", "off", 800, 2e-4, 1e-7,
     "lbfgs"},
    {"vbd", "vbd", "neo_hookean", NULL, NULL, 200, 2e-4, 1e-7, "lbfgs"},
    {"quasi_newton", "quasi_newton", "neo_hookean", NULL, NULL, 200, 2e-4, 1e-7, "lbfgs"},
    {"projective", "projective", "arap", NULL, NULL, 400, 2e-4, 1e-7, "lbfgs"},
    {"split, passes", "split", "corotated", NULL, NULL, 200, 2e-4, 1e-7, "lbfgs"},
    {"projective, chebyshev", "projective", "arap", "global", "chebyshev", 800, 2e-4, 1e-7,
     "lbfgs"},
};

static void test_live_edits(void **state)
{
    (void)state;
    need_device();
    for (int k = 0; k < (int)(sizeof LIVE / sizeof LIVE[0]); k++)
        for (live_edit edit = 0; edit < EDIT_COUNT; edit++) {
            const live_case *c = &LIVE[k];
            double away = live_difference(c, edit, HK_BACKEND_CUDA);
            if (getenv("HOOKE_TABLE"))
                printf("%-26s %-10s %9.2e\n", c->label, EDIT_NAMES[edit], away);
            if (wants_small() ? !isfinite(away) : !(away < c->tolerance))
                fail_msg("%s, %s: positions differ by %g of the motion", c->label, EDIT_NAMES[edit],
                         away);
        }
}

// A grab that is moved at every step, let go, and taken again.
static void test_dragging(void **state)
{
    (void)state;
    need_device();
    for (int k = 0; k < (int)(sizeof LIVE / sizeof LIVE[0]); k++) {
        live_case exact = LIVE[k];
        exact.method = "lbfgs", exact.option = NULL, exact.iterations = 5000;
        hk_world *w[2] = {live_world(&LIVE[k], HK_BACKEND_CUDA, NO_EDIT),
                          live_world(&exact, HK_BACKEND_CPU, NO_EDIT)};
        for (int i = 0; i < 2; i++) {
            int n = hk_model_vertex_count(hk_world_model(w[i])), grab;
            hk_grab_def def = hk_default_grab_def();
            def.vertices[0] = n - 1;
            def.stiffness = 2000;
            memcpy(def.target, LIVE_PLACE, sizeof def.target);
            CHECK_OK(hk_world_grab(w[i], &def, &grab));
            hk_grab_def mean = def;  // of vertices that no element joins
            int other;
            mean.count = 2;
            mean.vertices[1] = n / 3;
            mean.weights[0] = mean.weights[1] = 0.5;
            mean.stiffness = 300;
            CHECK_OK(hk_world_grab(w[i], &mean, &other));
            for (int step = 0; step < 8; step++) {
                double target[3] = {1 + 0.02 * step, 0.2 + 0.03 * step, 0.1 * step};
                if (step == 4) {
                    CHECK_OK(hk_world_release_grab(w[i], grab));
                    CHECK_OK(hk_world_step(w[i], NULL));
                    CHECK_OK(hk_world_grab(w[i], &def, &grab));
                }
                CHECK_OK(hk_world_move_grab(w[i], grab, target));
                CHECK_OK(hk_world_step(w[i], NULL));
            }
        }
        double away = relative_distance(w[0], w[1]);
        if (getenv("HOOKE_TABLE")) printf("dragged, %-26s %9.2e\n", LIVE[k].label, away);
        if (wants_small() ? !isfinite(away) : !(away < LIVE[k].tolerance))
            fail_msg("%s: positions differ by %g of the motion", LIVE[k].label, away);
        for (int i = 0; i < 2; i++) hk_world_free(w[i]);
    }
}

// Taking hold and letting go costs nothing that is not given back.
static void test_many_grabs(void **state)
{
    (void)state;
    need_device();
    for (int k = 0; k < (int)(sizeof LIVE / sizeof LIVE[0]); k++) {
        hk_world *w = live_world(&LIVE[k], HK_BACKEND_CUDA, NO_EDIT);
        hk_grab_def def = hk_default_grab_def();
        def.stiffness = 100;
        for (int n = 0, grab; n < (wants_small() ? 5 : 100); n++) {
            def.vertices[0] = n % hk_model_vertex_count(hk_world_model(w));
            CHECK_OK(hk_world_grab(w, &def, &grab));
            CHECK_OK(hk_world_step(w, NULL));
            CHECK_OK(hk_world_release_grab(w, grab));
        }
        hk_world_free(w);
    }
}

// Two worlds, one that is checked after every step and one that only queues them.
static void check_bits(const variant *v, int iterations)
{
    hk_model *model = model_for(v);
    hk_world *watched = make(v, model, HK_BACKEND_CUDA, iterations);
    hk_world *queued = make(v, model, HK_BACKEND_CUDA, iterations);
    for (int k = 0, steps = wants_small() ? 4 : 20; k < steps; k++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(watched, &r));
        assert_true(hk_world_positions(watched) != NULL);
        CHECK_OK(hk_world_step(queued, NULL));
    }
    size_t bytes = 3 * sizeof(double) * (size_t)hk_model_vertex_count(model);
    assert_memory_equal(hk_world_positions(watched), hk_world_positions(queued), bytes);
    assert_memory_equal(hk_world_velocities(watched), hk_world_velocities(queued), bytes);
    hk_model_free(model);
    hk_world_free(watched);
    hk_world_free(queued);
}

static void test_same_bits(void **state)
{
    (void)state;
    need_device();
    int iterations = wants_small() ? 12 : 60;
    check_bits(&VARIANTS[0], iterations);
    variant sweeps = {.material = "neo_hookean", .method = "vbd", .damping = {.viscous = 0.02}};
    check_bits(&sweeps, iterations);
    variant pass = {.material = "corotated", .method = "split", .bodies = true};
    check_bits(&pass, 1);
}

// ---------------------------------------------------------------- one pass of split

static const variant PASSES[] = {
    {.name = "split", .material = "corotated"},
    {.name = "split, arap", .material = "arap"},
    {.name = "split, moves", .material = "corotated", .moves = true},
    {.name = "split, bodies", .material = "corotated", .bodies = true},
    {.name = "split, loads", .material = "corotated", .loads = true},
    {.name = "split, fine", .material = "corotated", .fine = true},
    {.name = "split, regions, air",
     .material = "arap",
     .regions = true,
     .damping = {.air_per_vertex = 0.5}},
    {.name = "split, attached", .material = "corotated", .attached = true},
    {.name = "split, viscous",
     .material = "corotated",
     .damping = {.viscous = 0.02},
     .tolerance = 1e-3},
    {.name = "split, sheet", .sheet = true, .tolerance = 1e-3},
};

static void grab_corner(hk_world *w)
{
    hk_grab_def def = hk_default_grab_def();
    int grab;
    def.vertices[0] = hk_model_vertex_count(hk_world_model(w)) - 1;
    def.stiffness = 300;
    for (int i = 0; i < 3; i++)
        def.target[i] = hk_world_positions(w)[3 * def.vertices[0] + i] + 0.05 * (i + 1);
    CHECK_OK(hk_world_grab(w, &def, &grab));
}

// Edits in mid-run, of both.
static void edit_both(hk_world *const w[2], int step)
{
    for (int i = 0; i < 2; i++) {
        if (step == 3) CHECK_OK(hk_world_set_gravity(w[i], LIVE_GRAVITY));
        if (step == 5) grab_corner(w[i]);
    }
}

// Every step from the state that the last one left, against the same step on the host, which stands
// on a world of another method for terms and forces.
static void check_pass(const variant *v, hk_backend backend)
{
    variant one = *v, other = *v;
    one.method = "split";
    other.method = "lbfgs";
    hk_model *model = model_for(v);
    hk_world *w[2] = {make(&one, model, backend, 1), make(&other, model, HK_BACKEND_CPU, 1)};
    const hk_model *m = w[1]->model;
    device d = make_device(w[1], 16);
    size_t bytes = 4 * sizeof(double) * (size_t)d.count;
    double *x = malloc(bytes), *speed = malloc(bytes), worst = 0;
    for (int k = 0, steps = wants_small() ? 2 : 8; k < steps; k++) {
        hk_step_report r;
        CHECK_OK(hk_world_set_positions(w[1], hk_world_positions(w[0])));
        CHECK_OK(hk_world_set_velocities(w[1], hk_world_velocities(w[0])));
        CHECK_OK(hk_world_set_time(w[1], hk_world_time(w[0])));
        edit_both(w, k);
        memcpy(x, w[1]->x, bytes);
        memcpy(speed, w[1]->v, bytes);
        CHECK_OK(hk_world_step(w[1], NULL));
        take_step(&d, x, speed);
        CHECK_OK(hk_world_step(w[0], &r));
        if (r.reason != HK_FIXED_WORK)
            fail_msg("%s, step %d: %s, %s", v->name, k, hk_reason_name(r.reason), r.detail);
        assert_int_equal(r.iterations, 1);
        for (int i = 0; i < 3 * d.count; i++)
            x[4 * (i / 3) + i % 3] = hk_world_positions(w[0])[3 * m->order[i / 3] + i % 3];
        double away = distance_from(&d, x);
        if (getenv("HOOKE_TABLE"))
            printf("%-38s step %d: %9.2e of the way, %d and %d iterations\n", v->name, k, away,
                   r.linear_iterations, d.cg.iterations);
        worst = fmax(worst, away);
        assert_true(isfinite(away));
    }
    double most = v->tolerance > 0 ? v->tolerance : 1e-4;
    if (!wants_small() && !(worst < most)) fail_msg("%s: off by %g of the way", v->name, worst);
    free(x);
    free(speed);
    free_device(&d);
    hk_model_free(model);
    for (int i = 0; i < 2; i++) hk_world_free(w[i]);
}

static void test_one_pass(void **state)
{
    (void)state;
    hk_backend backend = HK_BACKEND_CUDA;
#ifdef HOOKE_DIRECT
    char why[256];  // the CPU's split will do where there is no device
    if (!hk_gpu_found(why, sizeof why)) backend = HK_BACKEND_CPU;
#else
    need_device();
#endif
    for (int k = 0; k < (int)(sizeof PASSES / sizeof PASSES[0]); k++)
        check_pass(&PASSES[k], backend);
}

// Where the CPU has a direct solver its own split takes the same way.
static void test_one_pass_of_the_cpu(void **state)
{
    (void)state;
    need_device();
#ifndef HOOKE_DIRECT
    SKIP("%s", "the CPU's split needs a direct solver");
#endif
    for (int k = 0; k < (int)(sizeof PASSES / sizeof PASSES[0]); k++) {
        variant one = PASSES[k];
        one.method = "split";
        hk_model *model = model_for(&one);
        hk_world *gpu = make(&one, model, HK_BACKEND_CUDA, 1),
                 *cpu = make(&one, model, HK_BACKEND_CPU, 1);
        hk_model_free(model);
        for (int n = 0; n < (wants_small() ? 2 : 8); n++) {
            CHECK_OK(hk_world_step(gpu, NULL));
            CHECK_OK(hk_world_step(cpu, NULL));
        }
        double away = relative_distance(gpu, cpu), most = one.tolerance > 0 ? one.tolerance : 1e-4;
        if (getenv("HOOKE_TABLE")) printf("%-38s %9.2e\n", one.name, away);
        if (wants_small() ? !isfinite(away) : !(away < most))
            fail_msg("%s: positions differ by %g", one.name, away);
        hk_world_free(gpu);
        hk_world_free(cpu);
    }
}

// A step that ends nowhere leaves the state; one that would need several matrices is refused.
static void test_split_fails_as_it_should(void **state)
{
    (void)state;
    need_device();
    const variant one = {.material = "corotated", .method = "split"};
    hk_model *model = model_for(&one);
    hk_world *world = make(&one, model, HK_BACKEND_CUDA, 1);
    int count = 3 * hk_model_vertex_count(model);
    double *x = malloc((size_t)count * sizeof *x);
    for (int k = 0; k < count; k++) x[k] = 1e200 * hk_model_rest_positions(model)[k];
    CHECK_OK(hk_world_set_positions(world, x));
    hk_step_report r;
    CHECK_OK(hk_world_step(world, &r));
    assert_int_equal(r.reason, HK_NOT_FINITE);
    assert_non_null(strstr(r.detail, "not finite"));
    assert_true(hk_world_time(world) == 0);
    for (int k = 0; k < count; k++) assert_true(hk_world_positions(world)[k] == x[k]);
    hk_world_free(world);
    free(x);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.backend = HK_BACKEND_CUDA;
    def.integrator = "bdf2";
    def.solver.method = "split";
    assert_int_equal(hk_world_create(&def, &world), HK_UNSUPPORTED);
    assert_non_null(strstr(hk_error(), "bdf2"));
    hk_model_free(model);
}

// Free fall keeps momentum but for gravity's share.
static void test_momentum(void **state)
{
    (void)state;
    need_device();
    hk_body_def body = hk_default_body_def();
    body.mesh = box_mesh(0.5, 0.4, 0.3, 5, 4, 3);
    body.material = material_of("stable_neo_hookean", 1e5, 0.4);
    body.velocity[0] = 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.gravity[1] = -9.81;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    hk_world *world = make(&VARIANTS[0], model, HK_BACKEND_CUDA, wants_small() ? 24 : 96);
    int steps = wants_small() ? 5 : 50;
    for (int k = 0; k < steps; k++) CHECK_OK(hk_world_step(world, NULL));
    const double *v = hk_world_velocities(world), *mass = hk_model_masses(model);
    double momentum[3] = {0}, all = 0;
    for (int k = 0; k < hk_model_vertex_count(model); k++) {
        all += mass[k];
        for (int i = 0; i < 3; i++) momentum[i] += mass[k] * v[3 * k + i];
    }
    assert_true(fabs(momentum[0] / all - 1) < 1e-4);
    assert_true(fabs(momentum[1] / all + 9.81 * 0.02 * steps) < 1e-3);
    assert_true(fabs(momentum[2] / all) < 1e-4);
    hk_mesh_free((hk_mesh *)(uintptr_t)body.mesh);
    hk_model_free(model);
    hk_world_free(world);
}

// A material that is not defined inside out, without conversion: the step fails, says why, and
// leaves the state and the time.
static void test_failed_step_leaves_the_state(void **state)
{
    (void)state;
    need_device();
    hk_model *model = model_for(&VARIANTS[0]);
    hk_world *world = make(&VARIANTS[0], model, HK_BACKEND_CUDA, 60);
    int count = 3 * hk_model_vertex_count(model);
    double *x = malloc((size_t)count * sizeof *x);
    for (int k = 0; k < count; k++)
        x[k] = k % 3 == 2 ? -hk_model_rest_positions(model)[k] : hk_model_rest_positions(model)[k];
    CHECK_OK(hk_world_set_positions(world, x));
    hk_step_report r;
    CHECK_OK(hk_world_step(world, &r));
    assert_int_equal(r.reason, HK_INVERTED);
    assert_true(strlen(r.detail) > 0);
    assert_true(hk_world_time(world) == 0);
    for (int k = 0; k < count; k++) assert_true(hk_world_positions(world)[k] == x[k]);
    free(x);
    hk_model_free(model);
    hk_world_free(world);
}

// The bar of docs/performance.md with 3,000 tets, ten steps.
static hk_world *bar_world(const char *method, const char *material, hk_backend backend,
                           double tolerance, int iterations)
{
    hk_mesh *mesh = box_mesh(1, 0.25, 0.25, 20, 5, 6);
    hk_selector wall = {.kind = HK_SELECT_BOX, .box = {{-1e-6, -1, -1}, {1e-6, 1, 1}}};
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material = hk_default_material_def();
    body.material.model = material;
    body.material.young = 1e6;
    body.material.poisson = 0.45;
    body.fixes = &wall;
    body.fix_count = 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.gravity[1] = -9.81;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    hk_world_def world = hk_default_world_def();
    world.model = model;
    world.step = 1 / 60.0;
    world.backend = backend;
    world.solver.method = method;
    world.solver.tolerance = tolerance;
    world.solver.iterations = iterations;
    hk_world *made;
    CHECK_OK(hk_world_create(&world, &made));
    hk_model_free(model);  // the world keeps it
    return made;
}

// Where all are asked for 1e-6, and given the iterations that they need, they end where Newton's
// method does in double precision, whatever they say of their residual.
static void test_ten_steps(void **state)
{
    (void)state;
    need_device();
    static const struct {
        const char *method, *material;
        int iterations;
        double most;  // m
    } cases[] = {{"quasi_newton", "neo_hookean", 400, 1e-6},
                 {"descent", "neo_hookean", 20000, 1e-5},
                 {"vbd", "neo_hookean", 4000, 1e-5},
                 {"projective", "arap", 4000, 1e-5}};
    for (int k = 0; k < (int)(sizeof cases / sizeof cases[0]); k++) {
        hk_world *gpu = bar_world(cases[k].method, cases[k].material, HK_BACKEND_CUDA, 1e-6,
                                  wants_small() ? 20 : cases[k].iterations);
        hk_world *cpu = bar_world("newton", cases[k].material, HK_BACKEND_CPU, 1e-9, 100);
        hk_step_report r = {0};
        double worst = 0, away = 0;
        for (int n = 0; n < (wants_small() ? 1 : 10); n++) {
            CHECK_OK(hk_world_step(gpu, &r));
            CHECK_OK(hk_world_step(cpu, NULL));
            worst = fmax(worst, r.relative_residual);
        }
        const double *x = hk_world_positions(gpu), *y = hk_world_positions(cpu);
        for (int i = 0; i < 3 * hk_model_vertex_count(hk_world_model(gpu)); i++)
            away = fmax(away, fabs(x[i] - y[i]));
        if (getenv("HOOKE_TABLE"))
            printf("%-14s %-24s %9.1e residual, %9.1e m away\n", cases[k].method,
                   hk_reason_name(r.reason), worst, away);
        assert_true(isfinite(away));
        if (!wants_small() && !(away < cases[k].most))
            fail_msg("%s: %g m away, relative residual %g", cases[k].method, away, worst);
        if (r.reason == HK_CONVERGED) assert_true(r.relative_residual <= 1e-6);
        hk_world_free(gpu);
        hk_world_free(cpu);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_pass),
        cmocka_unit_test(test_one_pass_of_the_cpu),
        cmocka_unit_test(test_split_fails_as_it_should),
        cmocka_unit_test(test_same_motion),
        cmocka_unit_test(test_live_edits),
        cmocka_unit_test(test_dragging),
        cmocka_unit_test(test_many_grabs),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_momentum),
        cmocka_unit_test(test_ten_steps),
        cmocka_unit_test(test_failed_step_leaves_the_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
