// States in files: worlds that go on from one take the same steps to the last bit, whatever their
// method; files that are damaged or of something else are refused and leave the world as it was.
#include <unistd.h>

#include "bodies.h"
#include "io_text.h"

static const char bar[] =
    "{\"time\": {\"step\": 0.02, \"steps\": 1}, \"bodies\": [{\"name\": \"bar\","
    " \"mesh\": {\"box\": {\"size\": [1, 0.2, 0.2], \"cells\": [8, 2, 2]}},"
    " \"material\": {\"model\": \"neo_hookean\", \"young\": 1e5, \"poisson\": 0.4,"
    "  \"density\": 1000},"
    " \"fix\": [{\"box\": [[-1e-6, -1, -1], [1e-6, 1, 1]]}]}]}";

// Two blocks fall onto a slope, one onto the other.
static const char blocks[] =
    "{\"time\": {\"step\": 0.01, \"steps\": 1}, \"contact\": {\"friction\": 0.3},"
    " \"obstacles\": [{\"plane\": {\"point\": [0, 0, 0], \"normal\": [0.1, 1, 0]}}],"
    " \"bodies\": [{\"name\": \"a\","
    "  \"mesh\": {\"box\": {\"size\": [0.3, 0.2, 0.2], \"cells\": [3, 2, 2]}},"
    "  \"transform\": {\"translate\": [0, 0.05, 0]},"
    "  \"material\": {\"model\": \"neo_hookean\", \"young\": 1e5, \"poisson\": 0.4,"
    "   \"density\": 1000}},"
    "  {\"name\": \"b\","
    "  \"mesh\": {\"box\": {\"size\": [0.3, 0.2, 0.2], \"cells\": [3, 2, 2]}},"
    "  \"transform\": {\"rotate\": {\"axis\": [0, 0, 1], \"degrees\": 10},"
    "   \"translate\": [0.05, 0.27, 0]},"
    "  \"material\": {\"model\": \"neo_hookean\", \"young\": 1e5, \"poisson\": 0.4,"
    "   \"density\": 1000}}]}";

// A ball presses on a block, and stops.
static const char pressed[] =
    "{\"time\": {\"step\": 0.01, \"steps\": 1}, \"contact\": {\"friction\": 0.4},"
    " \"obstacles\": [{\"plane\": {\"point\": [0, 0, 0], \"normal\": [0, 1, 0]}},"
    "  {\"sphere\": {\"center\": [0.1, 0.32, 0.1], \"radius\": 0.1},"
    "   \"formula\": {\"y\": \"-0.3*min(t, 0.3)\"}}],"
    " \"bodies\": [{\"name\": \"a\","
    "  \"mesh\": {\"box\": {\"size\": [0.2, 0.2, 0.2], \"cells\": [3, 3, 3]}},"
    "  \"transform\": {\"translate\": [0, 0.001, 0]},"
    "  \"material\": {\"model\": \"neo_hookean\", \"young\": 1e5, \"poisson\": 0.4,"
    "   \"density\": 1000}}]}";

enum { MOST_SETS = 4 };
typedef struct setup {
    const char *scene;
    int until, steps;  // saved after so many, and compared up to there
    const char *sets[MOST_SETS];
} setup;

static hk_world *make_world(const setup *s)
{
    int count = 0;
    while (count < MOST_SETS && s->sets[count]) count++;
    hk_scene *scene;
    hk_model *model;
    hk_world *world;
    CHECK_OK(hk_scene_parse(s->scene, strlen(s->scene), "scene", s->sets, count, &scene));
    CHECK_OK(hk_model_create(hk_scene_model(scene), &model));
    hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
    def.model = model;
    def.threads = 2;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    hk_scene_free(scene);
    return world;
}

static void take_steps(hk_world *world, int count)
{
    for (int k = 0; k < count; k++) {
        hk_step_report report;
        CHECK_OK(hk_world_step(world, &report));
        if (hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED)
            fail_msg("%s: %s", hk_reason_name(report.reason), report.detail);
    }
}

static bool same_state(const hk_world *a, const hk_world *b)
{
    size_t bytes = 3 * sizeof(double) * (size_t)hk_model_vertex_count(hk_world_model(a));
    return hk_world_time(a) == hk_world_time(b) &&
           memcmp(hk_world_positions(a), hk_world_positions(b), bytes) == 0 &&
           memcmp(hk_world_velocities(a), hk_world_velocities(b), bytes) == 0;
}

static const char *state_path(void)
{
    static char path[256];
    snprintf(path, sizeof path, "%sstate.hks", make_folder());
    return path;
}

static void drop_folder(const char *path)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') + 1 - path), path);
    remove_folder(folder);
}

// Whether a world that goes on from a file stays with the one that wrote it.
static bool goes_on_alike(const setup *s, const char *path, int *differs)
{
    hk_world *a = make_world(s), *b;
    take_steps(a, s->until);
    CHECK_OK(hk_world_save_state(a, path));
    b = make_world(s);
    CHECK_OK(hk_world_load_state(b, path));
    *differs = s->until;
    bool same = same_state(a, b);
    for (int k = s->until; k < s->steps && same; k++) {
        take_steps(a, 1);
        take_steps(b, 1);
        same = same_state(a, b);
        *differs = k + 1;
    }
    hk_world_free(a);
    hk_world_free(b);
    return same;
}

#define METHOD(name) "solver.method=" name

// Whatever the step after which it is saved: what a step depends on may have been made by any of
// those before it.
static void every_step_can_be_the_last(void **state)
{
    (void)state;
    static const setup all[] = {{pressed, 0, 40, {METHOD("newton")}},
                                {pressed, 0, 40, {METHOD("vbd")}},
                                {pressed, 0, 40, {METHOD("descent")}},
                                {pressed, 0, 40, {METHOD("descent"), "solver.precision=double"}}};
    const char *path = state_path();
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        hk_world *whole = make_world(&all[k]);
        for (int n = 0; n < all[k].steps; n++) {
            CHECK_OK(hk_world_save_state(whole, path));
            hk_world *again = make_world(&all[k]);
            CHECK_OK(hk_world_load_state(again, path));
            take_steps(whole, 1);
            take_steps(again, 1);
            if (!same_state(whole, again)) fail_msg("%s: step %d", all[k].sets[0], n + 1);
            hk_world_free(again);
        }
        hk_world_free(whole);
    }
    drop_folder(path);
}
#define COROTATED    "bodies.0.material.model=corotated"
#define COROTATED_1  "bodies.1.material.model=corotated"
#define PROJECTIVE   "bodies.0.material.model=projective"
#define PROJECTIVE_1 "bodies.1.material.model=projective"

static const setup setups[] = {
    {bar, 5, 12, {METHOD("newton")}},
    {bar, 5, 12, {METHOD("newton"), "solver.linear=multigrid"}},
    {bar, 5, 12, {METHOD("descent")}},
    {bar, 5, 12, {METHOD("descent"), "solver.precision=double"}},
    {bar, 5, 12, {METHOD("descent"), "damping.viscous=0.01"}},
    {bar, 5, 12, {METHOD("gradient_descent")}},
    {bar, 5, 12, {METHOD("nonlinear_cg")}},
    {bar, 5, 12, {METHOD("lbfgs")}},
    {bar, 5, 12, {METHOD("quasi_newton")}},
    {bar, 5, 12, {METHOD("quasi_newton"), "solver.precision=single"}},
    {bar, 5, 12, {METHOD("quasi_newton"), "solver.initial=rest_hessian"}},
    {bar, 5, 12, {METHOD("quasi_newton"), "solver.initial=updating_hessian"}},
    {bar, 5, 12, {METHOD("projective"), PROJECTIVE}},
    {bar, 5, 12, {METHOD("projective"), PROJECTIVE, "solver.global=chebyshev"}},
    {bar, 5, 12, {METHOD("split"), COROTATED}},
    {bar, 5, 12, {METHOD("split"), COROTATED, "solver.passes=4"}},
    {bar, 5, 12, {METHOD("admm")}},
    {bar, 5, 12, {METHOD("xpbd")}},
    {bar, 5, 12, {METHOD("vbd")}},
    {bar, 5, 12, {METHOD("vbd"), "bodies.0.material.model=stvk", "bodies.0.material.young=2e3"}},
    {bar, 5, 12, {METHOD("newton"), "time.integrator=bdf2"}},
    {bar, 5, 12, {METHOD("newton"), "time.integrator=implicit_midpoint"}},
    {bar, 5, 12, {METHOD("newton"), "time.integrator=newmark"}},
    {bar, 5, 12, {METHOD("descent"), "time.integrator=trbdf2"}},
    {bar, 5, 12, {METHOD("newton"), "time.conserve=true"}},
    {bar, 5, 12, {METHOD("newton"), "bodies.0.mesh.order=2"}},
    {bar, 5, 12, {METHOD("linear_implicit")}},
    {bar,
     5,
     12,
     {METHOD("quasi_newton"), "bodies.0.load=[{\"select\": {\"box\": [[0, 0.199, -1], [2, 1, 1]]},"
                              " \"pressure\": 500, \"factor\": \"sin(30*t)\"}]"}},
    {blocks,
     14,
     30,
     {METHOD("linear_implicit"), "contact={\"law\": \"spring_damper\","
                                 " \"normal_stiffness\": 1000, \"normal_damping\": 1,"
                                 " \"drag\": 100}"}},
    {blocks, 14, 30, {METHOD("newton")}},
    {blocks, 14, 30, {METHOD("newton"), "solver.linear=multigrid"}},
    {blocks, 14, 30, {METHOD("descent")}},
    {blocks, 14, 30, {METHOD("nonlinear_cg")}},
    {blocks, 14, 30, {METHOD("lbfgs")}},
    {blocks, 14, 30, {METHOD("quasi_newton")}},
    {blocks, 14, 30, {METHOD("quasi_newton"), "solver.initial=rest_hessian"}},
    {blocks, 14, 30, {METHOD("quasi_newton"), "solver.precision=single"}},
    {blocks, 14, 30, {METHOD("projective"), PROJECTIVE, PROJECTIVE_1}},
    {blocks, 14, 30, {METHOD("split"), COROTATED, COROTATED_1}},
    {blocks, 14, 30, {METHOD("split"), COROTATED, COROTATED_1, "solver.passes=4"}},
    {blocks, 14, 30, {METHOD("admm")}},
    {blocks, 14, 30, {METHOD("xpbd")}},
    {blocks, 14, 30, {METHOD("vbd")}},
};

static void the_same_bits_for_every_method(void **state)
{
    (void)state;
    const char *path = state_path();
    int bad = 0;
    for (size_t k = 0; k < sizeof setups / sizeof setups[0]; k++) {
        const setup *s = &setups[k];
        if (SANITIZED && k % 3 != 0) continue;
        int step;
        if (goes_on_alike(s, path, &step)) continue;
        bad++;
        print_error("%s %s %s %s: differs at step %d\n", s->scene == bar ? "bar" : "blocks",
                    s->sets[0], s->sets[1] ? s->sets[1] : "", s->sets[3] ? s->sets[3] : "", step);
    }
    drop_folder(path);
    assert_int_equal(bad, 0);
}

// ---------------------------------------------------------------- files

// What users change between steps: two grabs, one of which joins what nothing joins, one that was
// let go, gravity, loads, forces and a target of a held vertex.
static void edit_world(hk_world *world)
{
    const double gravity[3] = {1, -5, 0};
    const double *x = hk_world_positions(world);
    int last = hk_model_vertex_count(hk_world_model(world)) - 1, grabs[4];
    hk_grab_def pull = hk_default_grab_def();
    for (int k = 0; k < 4; k++) {
        pull.count = k % 2 == 1 ? 2 : 1;
        pull.vertices[0] = last - k;
        pull.vertices[1] = last / 2 - k;
        pull.weights[0] = k % 2 == 1 ? 0.5 : 1;
        pull.weights[1] = 0.5;
        pull.stiffness = 2e3;
        for (int i = 0; i < 3; i++) pull.target[i] = x[3 * (last - k) + i] + 0.02 * (i + 1);
        CHECK_OK(hk_world_grab(world, &pull, &grabs[k]));
    }
    CHECK_OK(hk_world_release_grab(world, grabs[0]));
    take_steps(world, 1);
    CHECK_OK(hk_world_release_grab(world, grabs[3]));
    CHECK_OK(hk_world_set_gravity(world, gravity));
    hk_load_def load = hk_default_load_def();
    load.select.kind = HK_SELECT_ALL;
    load.force[2] = 3;
    CHECK_OK(hk_world_set_loads(world, 0, &load, 1));
    double *forces = calloc(3 * ((size_t)last + 1), sizeof(double));
    forces[3 * (last / 3) + 1] = 2;
    CHECK_OK(hk_world_set_forces(world, forces));
    free(forces);
    const int32_t held = 0;
    const double target[3] = {0.004, 0.003, -0.002};
    CHECK_OK(hk_world_set_targets(world, 1, &held, target));
}

static void edits_come_along(void **state)
{
    (void)state;
    static const char *const methods[] = {METHOD("newton"),       METHOD("quasi_newton"),
                                          METHOD("descent"),      METHOD("lbfgs"),
                                          METHOD("nonlinear_cg"), METHOD("gradient_descent"),
                                          METHOD("vbd"),          METHOD("xpbd"),
                                          METHOD("projective"),   METHOD("admm")};
    const char *path = state_path();
    for (int m = 0; m < (int)(sizeof methods / sizeof *methods); m++) {
        const bool distance = strstr(methods[m], "projective") != NULL;
        const setup s = {bar, 0, 0, {methods[m], distance ? PROJECTIVE : NULL}};
        hk_world *a = make_world(&s), *b = make_world(&s), *plain = make_world(&s);
        take_steps(a, 2);
        edit_world(a);
        take_steps(a, 2);
        CHECK_OK(hk_world_save_state(a, path));
        CHECK_OK(hk_world_load_state(b, path));
        take_steps(a, 4);
        take_steps(b, 4);
        if (!same_state(a, b)) fail_msg("%s: edits make a difference", methods[m]);
        // A grab is there under its number, and one that was let go is not.
        double force[3], same[3];
        CHECK_OK(hk_world_grab_force(a, 1, force));
        CHECK_OK(hk_world_grab_force(b, 1, same));
        assert_memory_equal(force, same, sizeof force);
        assert_int_equal(hk_world_grab_force(b, 0, same), HK_BAD_INPUT);
        // And what was set goes where a state without it is loaded.
        take_steps(plain, 2);
        CHECK_OK(hk_world_save_state(plain, path));
        CHECK_OK(hk_world_load_state(b, path));
        assert_int_equal(hk_world_grab_force(b, 1, same), HK_BAD_INPUT);
        take_steps(plain, 3);
        take_steps(b, 3);
        if (!same_state(plain, b)) fail_msg("%s: edits stay", methods[m]);
        hk_world_free(a);
        hk_world_free(b);
        hk_world_free(plain);
    }
    drop_folder(path);
}

// What is fixed since is another model.
static void edited_models_are_refused(void **state)
{
    (void)state;
    const setup s = {bar, 0, 0, {METHOD("newton")}};
    const char *path = state_path();
    const int32_t vertex = 40;
    hk_world *a = make_world(&s), *b = make_world(&s);
    CHECK_OK(hk_world_fix(a, 1, &vertex, NULL));
    take_steps(a, 2);
    CHECK_OK(hk_world_save_state(a, path));
    assert_int_equal(hk_world_load_state(b, path), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "what was fixed, released"));
    CHECK_OK(hk_world_fix(b, 1, &vertex, NULL));
    CHECK_OK(hk_world_load_state(b, path));
    take_steps(a, 3);
    take_steps(b, 3);
    assert_true(same_state(a, b));
    hk_world_free(a);
    hk_world_free(b);
    drop_folder(path);
}

static void damage_is_found(void **state)
{
    (void)state;
    const char *path = state_path();
    const setup s = {bar, 3, 3, {METHOD("descent")}};
    hk_world *a = make_world(&s), *b = make_world(&s), *c = make_world(&s);
    take_steps(a, 3);
    take_steps(b, 1);
    take_steps(c, 1);
    CHECK_OK(hk_world_save_state(a, path));
    hk_bytes bytes;
    CHECK_OK(hk_bytes_load(path, &bytes));
    for (size_t at = 0; at < bytes.size; at += bytes.size / 97 + 1) {
        bytes.data[at] ^= 16;
        CHECK_OK(hk_file_save(path, bytes.data, bytes.size));
        assert_int_equal(hk_world_load_state(b, path), HK_BAD_INPUT);
        bytes.data[at] ^= 16;
        CHECK_OK(hk_file_save(path, bytes.data, at));
        assert_int_equal(hk_world_load_state(b, path), HK_BAD_INPUT);
    }
    assert_true(same_state(b, c));
    take_steps(b, 2);
    take_steps(c, 2);
    assert_true(same_state(b, c));
    hk_bytes_free(&bytes);
    hk_world_free(a);
    hk_world_free(b);
    hk_world_free(c);
    drop_folder(path);
}

static void assert_state_refused(const setup *s, const char *change, const char *path)
{
    setup other = *s;
    int count = 0;
    while (other.sets[count]) count++;
    other.sets[count] = change;
    hk_world *b = make_world(&other);
    if (hk_world_load_state(b, path) != HK_BAD_INPUT) fail_msg("%s is taken", change);
    assert_non_null(strstr(hk_error(), "another model"));
    assert_true(hk_world_time(b) == 0);
    hk_world_free(b);
}

#define FALLS "bodies.0.move=[{\"select\": {\"box\": [[0.9, -1, -1], [2, 2, 2]]},"
// What is said by formulas, tables, curves and shapes counts, too: not where it lies in memory.
static void all_of_a_model_counts(void **state)
{
    (void)state;
    const char *path = state_path();
    static const struct {
        setup s;
        const char *changes[4];
    } all[] = {
        {{bar, 2, 2, {METHOD("newton"), FALLS "\"translate\": [0, 0.1, 0], \"factor\": \"t\"}]"}},
         {FALLS "\"translate\": [0, 0.1, 0], \"factor\": \"2*t\"}]",
          FALLS "\"translate\": [0, 0.1, 0], \"factor\": [[0, 0], [1, 1]]}]",
          FALLS "\"translate\": [0, 0.1, 0], \"over\": 1}]"}},
        {{bar,
          2,
          2,
          {METHOD("newton"), "bodies.0.load=[{\"select\": {\"all\": true}, \"pressure\": 100}]"}},
         {"bodies.0.load=[{\"select\": {\"all\": true}, \"pressure\": 200}]",
          "bodies.0.load=[{\"select\": {\"all\": true}, \"pressure\": 100, \"factor\": \"t\"}]",
          "gravity={\"value\": [0, 0, 0], \"factor\": \"t\"}", "damping.air=1"}},
        {{bar,
          2,
          2,
          {METHOD("newton"), "bodies.0.material={\"model\": \"polynomial\", \"density\": 1000,"
                             " \"f\": [0, 0, 5e4], \"g\": [0, 0, 5e3], \"h\": [0, 0, 5e4]}"}},
         {"bodies.0.material.f=[0, 0, 5e4, 1e3]", "bodies.0.material.g=[0, 0, 6e3]",
          "bodies.0.fix=[{\"select\": {\"box\": [[-1e-6, -1, -1], [1e-6, 1, 1]]},"
          " \"axes\": \"xy\"}]"}},
        {{blocks, 2, 2, {METHOD("newton")}},
         {"obstacles.0.plane.point=[0, -0.01, 0]", "obstacles.0.friction=0.5",
          "obstacles.0.move=[{\"translate\": [0, 0.01, 0], \"over\": 1}]",
          "contact.restitution=0.5"}},
    };
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        hk_world *a = make_world(&all[k].s), *b = make_world(&all[k].s);
        take_steps(a, 2);
        CHECK_OK(hk_world_save_state(a, path));
        CHECK_OK(hk_world_load_state(b, path));
        assert_true(same_state(a, b));
        for (int c = 0; c < 4 && all[k].changes[c]; c++)
            assert_state_refused(&all[k].s, all[k].changes[c], path);
        hk_world_free(a);
        hk_world_free(b);
    }
    drop_folder(path);
}

static void other_models_are_refused(void **state)
{
    (void)state;
    const char *path = state_path();
    const setup s = {bar, 3, 3, {METHOD("newton")}};
    static const char *const changes[] = {"bodies.0.material.young=2e5",
                                          "bodies.0.material.density=900",
                                          "time.step=0.01",
                                          "time.integrator=bdf2",
                                          "bodies.0.fix=[]",
                                          "gravity=[0, -1, 0]",
                                          "bodies.0.mesh.box.cells=[8, 2, 3]"};
    hk_world *a = make_world(&s);
    take_steps(a, 3);
    CHECK_OK(hk_world_save_state(a, path));
    for (size_t k = 0; k < sizeof changes / sizeof changes[0]; k++)
        assert_state_refused(&s, changes[k], path);
    // Another method goes on from there, in its own way.
    setup other = {bar, 3, 3, {METHOD("quasi_newton")}};
    hk_world *b = make_world(&other);
    CHECK_OK(hk_world_load_state(b, path));
    assert_true(same_state(a, b));
    take_steps(b, 1);
    hk_world_free(a);
    hk_world_free(b);
    drop_folder(path);
}

static void take_text(void *context, const void *bytes, size_t size)
{
    assert_true(size < 64);
    memcpy(context, bytes, size);
    ((char *)context)[size] = '\0';
}

static void bytes_of_the_caller_come_along(void **state)
{
    (void)state;
    const char *path = state_path();
    const setup s = {bar, 0, 0, {METHOD("newton")}};
    char text[64] = "old";
    hk_world *a = make_world(&s);
    CHECK_OK(hk_world_save_state_with(a, path, "step 7", 6));
    CHECK_OK(hk_state_extra(path, take_text, text));
    assert_string_equal(text, "step 7");
    CHECK_OK(hk_world_load_state(a, path));
    CHECK_OK(hk_world_save_state(a, path));
    CHECK_OK(hk_state_extra(path, take_text, text));
    assert_string_equal(text, "");
    assert_int_equal(hk_world_save_state(NULL, path), HK_BAD_INPUT);
    assert_int_equal(hk_world_load_state(a, NULL), HK_BAD_INPUT);
    assert_int_equal(hk_world_load_state(a, "/nowhere/state.hks"), HK_IO_ERROR);
    hk_world_free(a);
    drop_folder(path);
}

// ---------------------------------------------------------------- callbacks

typedef struct meddler {
    hk_world *world;
    const char *path;
    int calls;
} meddler;

// Whatever a callback asks for that changes or evaluates the world is refused.
static bool meddle(void *context, const hk_iteration *iteration)
{
    meddler *m = context;
    hk_world *w = m->world;
    (void)iteration;
    const double zero[3] = {0};
    const double *x = hk_world_positions(w);
    double energy[3 * 1024];
    hk_solver_def solver = hk_default_solver_def();
    hk_energy found;
    assert_int_equal(hk_world_step(w, NULL), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "at work"));
    assert_int_equal(hk_world_pose(w, NULL), HK_BAD_INPUT);
    assert_int_equal(hk_world_set_solver(w, &solver), HK_BAD_INPUT);
    assert_int_equal(hk_world_set_positions(w, x), HK_BAD_INPUT);
    assert_int_equal(hk_world_set_velocities(w, x), HK_BAD_INPUT);
    assert_int_equal(hk_world_set_time(w, 1), HK_BAD_INPUT);
    assert_int_equal(hk_world_set_step(w, 1), HK_BAD_INPUT);
    assert_int_equal(hk_world_set_gravity(w, zero), HK_BAD_INPUT);
    assert_int_equal(hk_world_set_rest_positions(w, x), HK_BAD_INPUT);
    assert_int_equal(hk_world_energy(w, &found, NULL), HK_BAD_INPUT);
    assert_int_equal(hk_world_field(w, "J", energy), HK_BAD_INPUT);
    assert_int_equal(hk_world_save_state(w, m->path), HK_BAD_INPUT);
    assert_int_equal(hk_world_load_state(w, m->path), HK_BAD_INPUT);
    hk_world_free(w);
    m->calls++;
    return true;
}

static void callbacks_cannot_enter_again(void **state)
{
    (void)state;
    const char *path = state_path();
    const setup s = {bar, 0, 0, {METHOD("newton")}};
    hk_world *a = make_world(&s), *b = make_world(&s);
    meddler m = {a, path, 0};
    hk_step_report report;
    hk_world_set_monitor(a, meddle, &m);
    take_steps(a, 2);
    CHECK_OK(hk_world_pose(a, &report));
    assert_true(m.calls > 3);
    take_steps(b, 2);
    CHECK_OK(hk_world_pose(b, &report));
    assert_true(same_state(a, b));
    hk_world_free(a);
    hk_world_free(b);
    drop_folder(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bits_for_every_method),
        cmocka_unit_test(edits_come_along),
        cmocka_unit_test(edited_models_are_refused),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(every_step_can_be_the_last),
        cmocka_unit_test(other_models_are_refused),
        cmocka_unit_test(all_of_a_model_counts),
        cmocka_unit_test(bytes_of_the_caller_come_along),
        cmocka_unit_test(callbacks_cannot_enter_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
