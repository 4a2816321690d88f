// What a world does with a GPU, on any machine: behind gpu/gpu.h stands a device of this test,
// which takes the steps of the CPU, counts what it is asked, and fails when it is told to. A world
// on it must do what a world on the CPU does, to the bit. (The linker takes these functions instead
// of the library's.)
#include "live.h"
#include "world/world.h"

// Nobody is to ask the versions of methods and terms.
#undef HOOKE_CUDA
#include "gpu/none_methods.c"

// ---------------------------------------------------------------- the device

struct hk_gpu {
    hk_world *inner;
};

enum { STEP, READ_X, READ_V, WRITE, ENERGY, CREATE, EDIT, CALLS };
static struct {
    bool missing;            // there is no device
    bool unfit;              // grabs do not fit what was set up
    int calls[CALLS];        // so far
    hk_status fails[CALLS];  // the next one, with this status
    int unreported;          // steps without a report
    hk_reason reason;        // of the next steps; HK_CONVERGED: as it comes
    int alive;               // hk_gpu
} device;

static bool fails(int call, hk_status *status)
{
    device.calls[call]++;
    *status = device.fails[call];
    device.fails[call] = HK_OK;
    if (*status != HK_OK) hk_fail(*status, "the device fell off (call %d)", call);
    return *status != HK_OK;
}

bool hk_gpu_found(char *why, size_t size)
{
    if (device.missing) snprintf(why, size, "the drawer is empty");
    return !device.missing;
}

static double *copy_of(double *old, const double *from, int64_t size)
{
    free(old);
    if (!from) return NULL;
    double *to = malloc(sizeof(double) * (size_t)size);
    memcpy(to, from, sizeof(double) * (size_t)size);
    return to;
}

// The world inside has the edits of the one outside.
static void take_live(hk_world *w, const hk_live *live)
{
    int64_t size = 3 * (int64_t)w->model->vertex_count;
    memcpy(w->live.gravity, live->gravity, sizeof live->gravity);
    w->live.load = copy_of(w->live.load, live->load, size);
    w->live.force = copy_of(w->live.force, live->force, size);
    w->live.target = copy_of(w->live.target, live->target, size);
    free(w->live.grabs);
    w->live.grabs = malloc(sizeof(hk_grab) * (size_t)(live->grab_count + 1));
    w->live.grab_count = live->grab_count;
    w->live.grab_capacity = (size_t)live->grab_count + 1;
    for (int k = 0; k < live->grab_count; k++) w->live.grabs[k] = live->grabs[k];
    w->live.version = live->version;
    w->live.shape_version = live->shape_version;
    hk_problem_take_forces(w->problem);
    CHECK_OK(hk_terms_refresh(w->problem->terms));
}

static hk_status edit(hk_gpu *gpu, const hk_live *live)
{
    hk_status status;
    if (fails(EDIT, &status)) return status;
    take_live(gpu->inner, live);
    return HK_OK;
}

hk_status hk_gpu_set_forces(hk_gpu *gpu, const hk_live *live)
{
    return edit(gpu, live);
}

hk_status hk_gpu_set_targets(hk_gpu *gpu, const hk_live *live, int count, const int32_t *vertices)
{
    for (int k = 0; k < count; k++) assert_non_null(hk_live_target(live, vertices[k]));
    return edit(gpu, live);
}

hk_status hk_gpu_set_grabs(hk_gpu *gpu, const hk_live *live, bool *fits)
{
    *fits = !device.unfit;
    return *fits ? edit(gpu, live) : HK_OK;
}

hk_status hk_gpu_create(const hk_gpu_def *def, hk_gpu **gpu)
{
    hk_status status;
    if (fails(CREATE, &status)) return status;
    hk_world_def inner = hk_default_world_def();
    inner.model = def->model;
    inner.step = def->step;
    inner.integrator = def->integrator->name;
    inner.beta = def->beta;
    inner.gamma = def->gamma;
    inner.damping = def->damping;
    inner.threads = 1;
    inner.solver.method = def->method->name;
    hk_gpu *made = malloc(sizeof *made);
    assert_non_null(made);
    CHECK_OK(hk_world_create(&inner, &made->inner));
    hk_world *w = made->inner;
    w->method->free(w->solver);
    CHECK_OK(w->method->create(w->problem, def->settings, &w->solver));
    w->settings = *def->settings;
    take_live(w, def->live);
    device.alive++;
    *gpu = made;
    return HK_OK;
}

void hk_gpu_free(hk_gpu *gpu)
{
    if (!gpu) return;
    hk_world_free(gpu->inner);
    free(gpu);
    device.alive--;
}

void hk_gpu_describe(const hk_gpu *gpu, char *text, size_t size)
{
    (void)gpu;
    snprintf(text, size, "a drawer full of abacuses");
}

static size_t state_bytes(const hk_gpu *gpu)
{
    return 4 * sizeof(double) * (size_t)gpu->inner->model->vertex_count;
}

// The vectors of the world inside, as hk_gpu_write_state lists them.
static void list_vectors(const hk_world *w, double *known[HK_KNOWN_COUNT])
{
    double *all[HK_KNOWN_COUNT] = {[HK_KNOWN_X] = w->x,
                                   [HK_KNOWN_V] = w->v,
                                   [HK_KNOWN_A] = w->acceleration,
                                   [HK_KNOWN_X_BEFORE] = w->x_before,
                                   [HK_KNOWN_V_BEFORE] = w->v_before};
    memcpy(known, all, sizeof all);
}

hk_status hk_gpu_write_state(hk_gpu *gpu, const double *const known[HK_KNOWN_COUNT],
                             double step_before)
{
    hk_status status;
    double *own[HK_KNOWN_COUNT];
    if (fails(WRITE, &status)) return status;
    list_vectors(gpu->inner, own);
    for (int k = 0; k < HK_KNOWN_COUNT; k++)
        if (known[k] && own[k]) memcpy(own[k], known[k], state_bytes(gpu));
    gpu->inner->step_before = step_before;
    gpu->inner->acceleration_known = true;  // the world sees to it
    return HK_OK;
}

hk_status hk_gpu_step(hk_gpu *gpu, double time, hk_solve_report *report)
{
    hk_status status;
    device.unreported += report == NULL;
    if (fails(STEP, &status)) return status;
    if (device.reason != HK_CONVERGED) {
        if (report) *report = (hk_solve_report){.reason = device.reason, .detail = "as told"};
        return HK_OK;
    }
    CHECK_OK(hk_world_set_time(gpu->inner, time));
    hk_step_report r;
    CHECK_OK(hk_world_step(gpu->inner, &r));
    if (report)
        *report = (hk_solve_report){.reason = r.reason,
                                    .iterations = r.iterations,
                                    .residual = r.residual,
                                    .relative_residual = r.relative_residual};
    return HK_OK;
}

hk_status hk_gpu_read_positions(hk_gpu *gpu, double *x)
{
    hk_status status;
    memset(x, 0xa5, state_bytes(gpu));  // what fails leaves nothing of use
    if (fails(READ_X, &status)) return status;
    memcpy(x, gpu->inner->x, state_bytes(gpu));
    return HK_OK;
}

hk_status hk_gpu_read_state(hk_gpu *gpu, double *const known[HK_KNOWN_COUNT])
{
    hk_status status;
    double *own[HK_KNOWN_COUNT];
    for (int k = 0; k < HK_KNOWN_COUNT; k++)
        if (known[k]) memset(known[k], 0xa5, state_bytes(gpu));
    if (fails(READ_V, &status)) return status;
    list_vectors(gpu->inner, own);
    for (int k = 0; k < HK_KNOWN_COUNT; k++)
        if (known[k] && own[k]) memcpy(known[k], own[k], state_bytes(gpu));
    return HK_OK;
}

hk_status hk_gpu_energy(hk_gpu *gpu, hk_energy *energy)
{
    hk_status status;
    if (fails(ENERGY, &status)) return status;
    // Its published copies are not those of a state that was written.
    hk_world *w = gpu->inner;
    for (int64_t v = 0; v < w->model->vertex_count; v++)
        for (int i = 0; i < 3; i++) {
            w->positions[3 * v + i] = w->x[4 * (int64_t)w->model->place[v] + i];
            w->velocities[3 * v + i] = w->v[4 * (int64_t)w->model->place[v] + i];
        }
    return hk_world_energy(w, energy, NULL);
}

// ---------------------------------------------------------------- two worlds

static char told[512];
static hk_log_level told_level;
static int told_count;

static void take_message(void *context, hk_log_level level, const char *message)
{
    (void)context;
    told_count++;
    told_level = level;
    snprintf(told, sizeof told, "%s", message);
}

typedef struct pair {
    hk_model *model;
    hk_world *cpu, *gpu;
    size_t bytes;
} pair;

static hk_world *create(hk_model *model, hk_backend backend, const char *method)
{
    hk_option start = {.name = "start", .text = "acceleration"};  // asks for older velocities, too
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.backend = backend;
    def.threads = 1;
    def.damping.ether = 0.5;
    // What methods remember from step to step, such as step lengths that rounding made shorter, is
    // no part of a state: the tolerance is far above it.
    def.solver = (hk_solver_def){.def_size = sizeof(hk_solver_def),
                                 .method = method,
                                 .tolerance = 1e-3,
                                 .options = &start,
                                 .option_count = 1};
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&def, &world));
    return world;
}

// A bar that is held at one end and pulled softly at the other.
static hk_model *bar(void)
{
    hk_selector left = select_box(-1, -1, -1, 1e-6, 1, 1),
                right = select_box(0.99, -1, -1, 2, 1, 1);
    hk_attach_def pull = {.def_size = sizeof(hk_attach_def),
                          .select = right,
                          .stiffness = 5,
                          .motion = {.axis = {1}, .translate = {0.2, 0.1, 0}, .over = 0.1}};
    hk_body_def body = hk_default_body_def();
    body.material = material_of("stable_neo_hookean", 1e5, 0.4);
    body.velocity[2] = 0.3;
    body.fixes = &left;
    body.fix_count = 1;
    body.attachments = &pull;
    body.attachment_count = 1;
    return model_of(&body, box_mesh(1, 0.2, 0.2, 6, 2, 2), -9.81);
}

static int begin(void **state)
{
    memset(&device, 0, sizeof device);
    told_count = 0;
    hk_set_log(take_message, NULL);
    pair *p = malloc(sizeof *p);
    p->model = bar();
    p->cpu = create(p->model, HK_BACKEND_CPU, "descent");
    p->gpu = create(p->model, HK_BACKEND_CUDA, "descent");
    p->bytes = 3 * sizeof(double) * (size_t)hk_model_vertex_count(p->model);
    *state = p;
    return 0;
}

static int end(void **state)
{
    pair *p = *state;
    hk_world_free(p->cpu);
    hk_world_free(p->gpu);
    hk_model_free(p->model);
    free(p);
    hk_set_log(NULL, NULL);
    return device.alive;
}

static void step_both(pair *p, int count)
{
    for (int k = 0; k < count; k++) {
        CHECK_OK(hk_world_step(p->cpu, NULL));
        CHECK_OK(hk_world_step(p->gpu, NULL));
    }
}

static void expect_same_state(const pair *p)
{
    assert_true(hk_world_time(p->cpu) == hk_world_time(p->gpu));
    assert_memory_equal(hk_world_positions(p->cpu), hk_world_positions(p->gpu), p->bytes);
    assert_memory_equal(hk_world_velocities(p->cpu), hk_world_velocities(p->gpu), p->bytes);
}

// And what cannot be seen of it.
static void expect_same_future(pair *p)
{
    expect_same_state(p);
    step_both(p, 3);
    expect_same_state(p);
}

// ---------------------------------------------------------------- tests

static void test_steps(void **state)
{
    pair *p = *state;
    assert_string_equal(hk_world_backend(p->gpu), "cuda");
    assert_string_equal(hk_world_backend(p->cpu), "cpu");
    assert_non_null(strstr(hk_world_describe(p->gpu), "cuda: descent; a drawer full of abacuses"));
    assert_int_equal(device.calls[WRITE], 0);
    expect_same_state(p);
    for (int k = 0; k < 5; k++) {
        hk_step_report a, b;
        CHECK_OK(hk_world_step(p->cpu, &a));
        CHECK_OK(hk_world_step(p->gpu, &b));
        assert_int_equal(a.reason, b.reason);
        assert_int_equal(a.iterations, b.iterations);
        assert_true(a.time == b.time && a.residual == b.residual && b.load_steps == 1);
        assert_memory_equal(&a.energy, &b.energy, sizeof a.energy);
        expect_same_state(p);
    }
    // The CPU was not even prepared.
    assert_null(p->gpu->problem);
    assert_null(p->gpu->solver);
}

// Nothing is waited for or copied before somebody looks.
static void test_laziness(void **state)
{
    pair *p = *state;
    step_both(p, 4);
    assert_int_equal(device.unreported, 4);
    assert_int_equal(device.calls[READ_X] + device.calls[READ_V] + device.calls[ENERGY], 0);
    const double *x = hk_world_positions(p->gpu);
    assert_ptr_equal(x, hk_world_positions(p->gpu));
    assert_int_equal(device.calls[READ_X], 1);
    assert_int_equal(device.calls[READ_V], 0);
    hk_world_velocities(p->gpu);
    hk_world_velocities(p->gpu);
    assert_int_equal(device.calls[READ_V], 1);
    expect_same_state(p);
    step_both(p, 1);
    assert_ptr_equal(x, hk_world_positions(p->gpu));  // it stays where it is
    assert_int_equal(device.calls[READ_X], 2);
    // Energies only where they are wanted.
    hk_step_report r;
    hk_world_report_energy(p->gpu, false);
    CHECK_OK(hk_world_step(p->gpu, &r));
    assert_int_equal(device.calls[ENERGY], 0);
    assert_true(isnan(r.energy.total));
    hk_world_report_energy(p->gpu, true);
    CHECK_OK(hk_world_step(p->gpu, &r));
    assert_int_equal(device.calls[ENERGY], 1);
    assert_true(isfinite(r.energy.total));
    assert_int_equal(device.unreported, 5);
}

static void test_set_state(void **state)
{
    pair *p = *state;
    step_both(p, 3);
    int count = 3 * hk_model_vertex_count(p->model);
    double *values = malloc(p->bytes);
    memcpy(values, hk_world_positions(p->cpu), p->bytes);
    for (int k = 0; k < count; k++) values[k] += 1e-3 * (k % 5);
    CHECK_OK(hk_world_set_positions(p->cpu, values));
    CHECK_OK(hk_world_set_positions(p->gpu, values));
    expect_same_future(p);
    memcpy(values, hk_world_velocities(p->cpu), p->bytes);
    for (int k = 0; k < count; k++) values[k] += 1e-2 * (k % 7);
    CHECK_OK(hk_world_set_velocities(p->cpu, values));
    CHECK_OK(hk_world_set_velocities(p->gpu, values));
    expect_same_future(p);
    CHECK_OK(hk_world_set_time(p->cpu, 0.01));
    CHECK_OK(hk_world_set_time(p->gpu, 0.01));
    expect_same_future(p);
    // What is refused changes nothing.
    values[5] = NAN;
    assert_int_equal(hk_world_set_positions(p->gpu, values), HK_BAD_INPUT);
    assert_int_equal(hk_world_set_velocities(p->gpu, values), HK_BAD_INPUT);
    expect_same_future(p);
    free(values);
}

static void test_copy_state(void **state)
{
    pair *p = *state;
    for (int k = 0; k < 3; k++) CHECK_OK(hk_world_step(p->gpu, NULL));
    CHECK_OK(hk_world_copy_state(p->cpu, p->gpu));
    expect_same_future(p);
    for (int k = 0; k < 3; k++) CHECK_OK(hk_world_step(p->cpu, NULL));
    CHECK_OK(hk_world_copy_state(p->gpu, p->cpu));
    expect_same_future(p);
}

static void test_pose(void **state)
{
    pair *p = *state;
    // It carries nothing from one solve to the next, as descent does.
    hk_solver_def vbd = {.def_size = sizeof(hk_solver_def), .method = "vbd"};
    CHECK_OK(hk_world_set_solver(p->cpu, &vbd));
    CHECK_OK(hk_world_set_solver(p->gpu, &vbd));
    step_both(p, 3);
    for (int k = 0; k < 2; k++) {
        hk_step_report a, b;
        CHECK_OK(hk_world_pose(p->cpu, &a));
        CHECK_OK(hk_world_pose(p->gpu, &b));
        assert_int_equal(a.reason, b.reason);
        assert_int_equal(a.iterations, b.iterations);
        assert_int_equal(a.load_steps, b.load_steps);
        assert_memory_equal(&a.energy, &b.energy, sizeof a.energy);
        assert_int_equal(told_count, 1);  // of the first
        assert_int_equal(told_level, HK_LOG_INFO);
        assert_non_null(strstr(told, "CPU"));
        expect_same_future(p);
    }
}

static void test_outputs(void **state)
{
    pair *p = *state;
    static const char *const names[] = {"displacement", "velocity", "von_mises", "J"};
    size_t room = 3 * (size_t)(hk_model_vertex_count(p->model) + hk_model_tet_count(p->model));
    double *a = calloc(room, sizeof *a), *b = calloc(room, sizeof *b);
    for (int k = 0; k < 4; k++) {
        step_both(p, 1);
        CHECK_OK(hk_world_field(p->cpu, names[k], a));
        CHECK_OK(hk_world_field(p->gpu, names[k], b));
        assert_memory_equal(a, b, room * sizeof *a);
    }
    step_both(p, 1);
    hk_energy ea, eb;
    CHECK_OK(hk_world_energy(p->cpu, &ea, a));
    CHECK_OK(hk_world_energy(p->gpu, &eb, b));
    assert_memory_equal(&ea, &eb, sizeof ea);
    assert_memory_equal(a, b, p->bytes);
    step_both(p, 1);
    hk_mesh *mesh;
    CHECK_OK(hk_world_mesh(p->gpu, &mesh));
    assert_memory_equal(hk_mesh_positions(mesh), hk_world_positions(p->cpu), p->bytes);
    hk_mesh_free(mesh);
    free(a);
    free(b);
}

static void test_set_solver(void **state)
{
    pair *p = *state;
    step_both(p, 3);
    hk_solver_def vbd = {.def_size = sizeof(hk_solver_def), .method = "vbd", .iterations = 7};
    CHECK_OK(hk_world_set_solver(p->cpu, &vbd));
    CHECK_OK(hk_world_set_solver(p->gpu, &vbd));
    assert_int_equal(device.alive, 1);
    assert_string_equal(hk_world_method(p->gpu), "vbd");
    expect_same_future(p);
    // What fails changes nothing.
    hk_solver_def other = {.def_size = sizeof(hk_solver_def), .method = "gradient_descent"};
    assert_int_equal(hk_world_set_solver(p->gpu, &other), HK_UNSUPPORTED);
    assert_non_null(strstr(hk_error(),
                           "backend \"cuda\": method gradient_descent has no version for "
                           "the GPU (descent, "));
    other.method = "descent";
    device.fails[CREATE] = HK_NO_MEMORY;
    assert_int_equal(hk_world_set_solver(p->gpu, &other), HK_NO_MEMORY);
    device.fails[WRITE] = HK_INTERNAL;
    assert_int_equal(hk_world_set_solver(p->gpu, &other), HK_INTERNAL);
    assert_int_equal(device.alive, 1);
    assert_string_equal(hk_world_method(p->gpu), "vbd");
    expect_same_future(p);
}

static hk_world *create_integrated(hk_model *model, hk_backend backend, const char *integrator,
                                   bool conserve)
{
    hk_world_def def = hk_default_world_def();
    hk_option start = {.name = "start", .text = "acceleration"};
    def.model = model;
    def.backend = backend;
    def.integrator = integrator;
    def.conserve = conserve;
    def.threads = 1;
    def.solver = (hk_solver_def){.def_size = sizeof(hk_solver_def),
                                 .method = "descent",
                                 .options = &start,
                                 .option_count = 1};
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&def, &world));
    return world;
}

// What integrators know of the past goes to the device and comes back.
static void test_integrators(void **state)
{
    pair *p = *state;
    hk_selector left = select_box(-1, -1, -1, 1e-6, 1, 1);
    hk_body_def body = hk_default_body_def();
    body.fixes = &left;
    body.fix_count = 1;
    hk_model_free(p->model);
    p->model = model_of(&body, box_mesh(1, 0.2, 0.2, 6, 2, 2), -9.81);
    p->bytes = 3 * sizeof(double) * (size_t)hk_model_vertex_count(p->model);
    for (int k = 0; k < 2 * hk_integrator_count(); k++) {
        const char *name = hk_integrator_name(k / 2);
        hk_world_free(p->cpu);
        hk_world_free(p->gpu);
        p->cpu = create_integrated(p->model, HK_BACKEND_CPU, name, k % 2);
        p->gpu = create_integrated(p->model, HK_BACKEND_CUDA, name, k % 2);
        expect_same_future(p);
        // The state as it is, on another device.
        hk_solver_def def = {.def_size = sizeof(hk_solver_def), .method = "vbd"};
        CHECK_OK(hk_world_set_solver(p->cpu, &def));
        CHECK_OK(hk_world_set_solver(p->gpu, &def));
        expect_same_future(p);
        CHECK_OK(hk_world_set_velocities(p->cpu, hk_world_velocities(p->cpu)));
        CHECK_OK(hk_world_set_velocities(p->gpu, hk_world_velocities(p->gpu)));
        expect_same_future(p);
    }
}

// From the GPU to the CPU and back, as the methods are.
static void test_auto(void **state)
{
    pair *p = *state;
    hk_world_free(p->gpu);
    p->gpu = create(p->model, HK_BACKEND_AUTO, "descent");
    assert_string_equal(hk_world_backend(p->gpu), "cuda");
    assert_string_equal(told, "backend auto: using the GPU (a drawer full of abacuses)");
    expect_same_future(p);
    static const char *const methods[] = {"gradient_descent", "vbd"};
    static const char *const backends[] = {"cpu", "cuda"};
    for (int k = 0; k < 2; k++) {
        hk_solver_def def = {
            .def_size = sizeof(hk_solver_def), .method = methods[k], .iterations = 20};
        CHECK_OK(hk_world_set_solver(p->cpu, &def));
        CHECK_OK(hk_world_set_solver(p->gpu, &def));
        assert_string_equal(hk_world_backend(p->gpu), backends[k]);
        assert_int_equal(device.alive, k);
        expect_same_future(p);
    }
    // A device that cannot take the model is none.
    hk_world_free(p->gpu);
    device.fails[CREATE] = HK_NO_MEMORY;
    p->gpu = create(p->model, HK_BACKEND_AUTO, "descent");
    assert_string_equal(hk_world_backend(p->gpu), "cpu");
    assert_int_equal(told_level, HK_LOG_WARNING);
    assert_non_null(strstr(told, "the device fell off"));
    hk_world_free(p->gpu);
    device.missing = true;
    p->gpu = create(p->model, HK_BACKEND_AUTO, "descent");
    assert_string_equal(hk_world_backend(p->gpu), "cpu");
    assert_string_equal(told, "backend auto: the drawer is empty, using the CPU");
}

// A bar of one material on the backend by split, with an option or without.
static hk_status create_split(const char *material, double poisson, hk_backend backend,
                              const hk_option *option, hk_world **world)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of(material, 1e5, poisson);
    hk_model *model = model_of(&body, box_mesh(1, 0.2, 0.2, 6, 2, 2), -9.81);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.backend = backend;
    def.threads = 1;
    def.solver.method = "split";
    def.solver.options = option;
    def.solver.option_count = option != NULL;
    hk_status status = hk_world_create(&def, world);
    hk_model_free(model);
    return status;
}

// One pass with volume constraints is for the CPU.
static void test_split(void **state)
{
    (void)state;
    static const hk_option none = {.name = "turning", .number = 0}, passes = {"passes", 4, NULL},
                           sweeps = {.name = "volume_iterations", .number = 2},
                           reset = {.name = "multipliers", .text = "reset"};
    static const struct {
        const char *material;
        double poisson;
        const hk_option *option;
        bool can;
    } cases[] = {{"corotated", 0.3, NULL, true},
                 {"corotated", 0.45, NULL, true},
                 {"arap", 0.3, NULL, true},
                 {"arap", 0.3, &none, true},
                 {"arap", 0.3, &sweeps, true},
                 {"corotated", 0.49, &passes, true},
                 {"fixed_corotated", 0.3, &passes, true},
                 {"corotated", 0.47, NULL, false},
                 {"corotated", 0.3, &none, false},
                 {"corotated", 0.3, &sweeps, false},
                 {"corotated", 0.3, &reset, false},
                 {"fixed_corotated", 0.3, NULL, false}};
    for (int k = 0; k < (int)(sizeof cases / sizeof *cases); k++) {
        hk_world *world = NULL;
        hk_status status = create_split(cases[k].material, cases[k].poisson, HK_BACKEND_CUDA,
                                        cases[k].option, &world);
        assert_int_equal(status, cases[k].can ? HK_OK : HK_UNSUPPORTED);
        if (!cases[k].can) {
            assert_non_null(strstr(hk_error(), "backend \"cuda\": method split has no volume "
                                               "constraints on the GPU"));
            assert_non_null(strstr(hk_error(), "use \"cpu\" or \"auto\""));
        }
        hk_world_free(world);
        CHECK_OK(create_split(cases[k].material, cases[k].poisson, HK_BACKEND_AUTO, cases[k].option,
                              &world));
        assert_string_equal(hk_world_backend(world), cases[k].can ? "cuda" : "cpu");
        if (!cases[k].can) assert_non_null(strstr(told, "constraints on the GPU"));
        hk_world_free(world);
    }
}

static void test_refused(void **state)
{
    pair *p = *state;
    hk_world_def def = hk_default_world_def();
    def.model = p->model;
    def.backend = HK_BACKEND_CUDA;
    hk_world *world = NULL;
    assert_int_equal(hk_world_create(&def, &world), HK_UNSUPPORTED);
    assert_non_null(strstr(hk_error(), "method newton has no version for the GPU (descent, "));
    def.solver.method = "descent";
    device.fails[CREATE] = HK_NO_MEMORY;
    assert_int_equal(hk_world_create(&def, &world), HK_NO_MEMORY);
    device.missing = true;
    assert_int_equal(hk_world_create(&def, &world), HK_UNSUPPORTED);
    assert_string_equal(hk_error(),
                        "backend \"cuda\": the drawer is empty; use \"cpu\" or \"auto\"");
    assert_null(world);
}

// Functions of the user's are of the CPU.
static double springs_energy(void *context, const double F[9])
{
    double sum = 0;
    for (int k = 0; k < 9; k++) sum += (F[k] - (k % 4 == 0)) * (F[k] - (k % 4 == 0));
    return *(double *)context * sum / 2;
}

static void springs_stress(void *context, const double F[9], double P[9])
{
    for (int k = 0; k < 9; k++) P[k] = *(double *)context * (F[k] - (k % 4 == 0));
}

static void test_custom_refused(void **state)
{
    (void)state;
    double stiffness = 1e5;
    hk_selector end = select_box(0.5, -1, -1, 2, 2, 2);
    hk_region_def region = hk_default_region_def();
    region.select = end;
    region.material.model = "custom";
    region.material.custom =
        (hk_custom_law){.energy = springs_energy, .stress = springs_stress, .context = &stiffness};
    hk_body_def body = hk_default_body_def();
    body.regions = &region;
    body.region_count = 1;
    hk_model *model = model_of(&body, box_mesh(1, 1, 1, 2, 1, 1), 0);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.backend = HK_BACKEND_CUDA;
    def.solver.method = "descent";
    hk_world *world = NULL;
    assert_int_equal(hk_world_create(&def, &world), HK_UNSUPPORTED);
    assert_string_equal(hk_error(), "backend \"cuda\": the material custom has no version for the "
                                    "GPU; use \"cpu\" or \"auto\"");
    def.backend = HK_BACKEND_AUTO;
    CHECK_OK(hk_world_create(&def, &world));
    assert_string_equal(hk_world_backend(world), "cpu");
    CHECK_OK(hk_world_step(world, NULL));
    hk_world_free(world);
    hk_model_free(model);
}

typedef struct watch {
    int calls, last;
    bool go_on;
} watch;

static bool watch_step(void *context, const hk_iteration *now)
{
    watch *seen = context;
    seen->calls++;
    seen->last = now->iteration;
    return seen->go_on;
}

static void test_monitor(void **state)
{
    pair *p = *state;
    watch seen = {.go_on = true};
    hk_step_report r;
    hk_world_set_monitor(p->gpu, watch_step, &seen);
    CHECK_OK(hk_world_step(p->gpu, &r));
    assert_int_equal(seen.calls, 1);
    assert_int_equal(seen.last, r.iterations);
    CHECK_OK(hk_world_step(p->gpu, NULL));
    assert_int_equal(seen.calls, 2);
    assert_int_equal(device.unreported, 0);
    // The step that it stops after is done.
    seen.go_on = false;
    CHECK_OK(hk_world_step(p->gpu, &r));
    assert_int_equal(r.reason, HK_STOPPED);
    for (int k = 0; k < 3; k++) CHECK_OK(hk_world_step(p->cpu, NULL));
    hk_world_set_monitor(p->gpu, NULL, NULL);
    expect_same_future(p);
    // A pose tells of every iteration.
    seen = (watch){.go_on = true};
    hk_world_set_monitor(p->gpu, watch_step, &seen);
    CHECK_OK(hk_world_pose(p->gpu, &r));
    assert_true(seen.calls > 3 && seen.calls >= r.iterations);
}

// Whatever fails, the last good state stays.
static void test_failures(void **state)
{
    pair *p = *state;
    hk_step_report r = {.iterations = -1};
    step_both(p, 2);
    device.fails[STEP] = HK_INTERNAL;
    assert_int_equal(hk_world_step(p->gpu, &r), HK_INTERNAL);
    assert_int_equal(r.iterations, -1);
    expect_same_state(p);
    device.reason = HK_NOT_FINITE;
    CHECK_OK(hk_world_step(p->gpu, &r));
    assert_int_equal(r.reason, HK_NOT_FINITE);
    assert_string_equal(r.detail, "as told");
    device.reason = HK_CONVERGED;
    expect_same_future(p);
    // A copy that fails leaves the one before it, and is tried again.
    double *before = malloc(p->bytes);
    memcpy(before, hk_world_positions(p->gpu), p->bytes);
    step_both(p, 1);
    device.fails[READ_X] = device.fails[READ_V] = HK_INTERNAL;
    assert_memory_equal(hk_world_positions(p->gpu), before, p->bytes);
    assert_int_equal(told_level, HK_LOG_WARNING);
    assert_non_null(strstr(told, "the device fell off"));
    memcpy(before, hk_world_positions(p->cpu), p->bytes);
    hk_mesh *mesh = NULL;
    device.fails[READ_X] = HK_INTERNAL;
    assert_int_equal(hk_world_mesh(p->gpu, &mesh), HK_INTERNAL);
    assert_null(mesh);
    device.fails[READ_V] = HK_INTERNAL;
    assert_int_equal(hk_world_set_positions(p->gpu, before), HK_INTERNAL);
    expect_same_state(p);
    // So does a state that cannot be written.
    device.fails[WRITE] = HK_INTERNAL;
    assert_int_equal(hk_world_set_positions(p->gpu, hk_model_rest_positions(p->model)),
                     HK_INTERNAL);
    device.fails[WRITE] = HK_INTERNAL;
    assert_int_equal(hk_world_set_velocities(p->gpu, hk_model_rest_positions(p->model)),
                     HK_INTERNAL);
    device.fails[WRITE] = HK_INTERNAL;
    assert_int_equal(hk_world_copy_state(p->gpu, p->cpu), HK_INTERNAL);
    device.fails[WRITE] = HK_INTERNAL;
    assert_int_equal(hk_world_pose(p->gpu, &r), HK_INTERNAL);
    device.fails[ENERGY] = HK_INTERNAL;
    hk_energy energy = {.total = 42};
    assert_int_equal(hk_world_energy(p->gpu, &energy, NULL), HK_INTERNAL);
    assert_true(energy.total == 42);
    expect_same_future(p);
    free(before);
}

// Edits go to the device, and what is made anew there goes on from the state.
static void test_live(void **state)
{
    (void)state;
    live_case c = {"descent", "descent", "neo_hookean", NULL, NULL, 200, 0, 1e-6, NULL};
    for (live_edit change = 0; change < EDIT_COUNT; change++) {
        hk_world *w[2] = {live_world(&c, HK_BACKEND_CUDA, NO_EDIT),
                          live_world(&c, HK_BACKEND_CPU, NO_EDIT)};
        assert_string_equal(hk_world_backend(w[0]), "cuda");
        for (int i = 0; i < 2; i++) live_steps(&c, change, w[i], 3);
        int made = device.calls[CREATE], edits = device.calls[EDIT];
        for (int i = 0; i < 2; i++) live_apply(&c, change, w[i]);
        bool anew = change == EDIT_STEP || change == EDIT_AIR || change == EDIT_VISCOUS ||
                    change == EDIT_FIX || change == EDIT_UNFIX || change == EDIT_MATERIAL ||
                    change == EDIT_REGION || change == EDIT_REST;
        assert_int_equal(device.calls[CREATE] - made, anew);
        assert_int_equal(device.calls[EDIT] - edits, !anew);
        for (int i = 0; i < 2; i++) live_steps(&c, change, w[i], 3);
        if (!(relative_distance(w[0], w[1]) < 1e-6))
            fail_msg("%s: %g", EDIT_NAMES[change], relative_distance(w[0], w[1]));
        for (int i = 0; i < 2; i++) hk_world_free(w[i]);
    }
    assert_int_equal(device.alive, 1);
}

// An edit for which the device cannot be set up anew leaves the world as it was.
static void test_failed_edits(void **state)
{
    (void)state;
    live_case c = {"descent", "descent", "neo_hookean", NULL, NULL, 200, 0, 1e-6, NULL};
    hk_world *w[2] = {live_world(&c, HK_BACKEND_CUDA, NO_EDIT),
                      live_world(&c, HK_BACKEND_CPU, NO_EDIT)};
    hk_material_def material = material_of("arap", 1e4, 0.2);
    int32_t vertex = 5;
    for (int i = 0; i < 2; i++) live_steps(&c, EDIT_GRAB, w[i], 2);
    int made = device.calls[CREATE];
    device.unfit = true;  // then it is made anew
    for (int i = 0; i < 2; i++) live_apply(&c, EDIT_GRAB, w[i]);
    assert_int_equal(device.calls[CREATE], made + 1);
    device.fails[CREATE] = HK_INTERNAL;
    assert_int_equal(hk_world_set_step(w[0], 0.5), HK_INTERNAL);
    device.fails[CREATE] = HK_INTERNAL;
    assert_int_equal(hk_world_set_damping(w[0], &(hk_damping){.air_per_vertex = 9}), HK_INTERNAL);
    device.fails[CREATE] = HK_INTERNAL;
    assert_int_equal(hk_world_set_material(w[0], 0, NULL, &material), HK_INTERNAL);
    device.fails[CREATE] = HK_INTERNAL;
    assert_int_equal(hk_world_fix(w[0], 1, &vertex, NULL), HK_INTERNAL);
    for (int i = 0; i < 2; i++) live_steps(&c, EDIT_GRAB, w[i], 2);
    assert_true(relative_distance(w[0], w[1]) < 1e-5);  // in single precision
    for (int i = 0; i < 2; i++) hk_world_free(w[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_steps),          TEST(test_laziness),    TEST(test_set_state),
        TEST(test_copy_state),     TEST(test_pose),        TEST(test_outputs),
        TEST(test_set_solver),     TEST(test_integrators), TEST(test_auto),
        TEST(test_split),          TEST(test_refused),     TEST(test_monitor),
        TEST(test_failures),       TEST(test_live),        TEST(test_failed_edits),
        TEST(test_custom_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
