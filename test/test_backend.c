// Backends as a user meets them, on machines with and without a GPU: what is refused, what `auto`
// does, and that the CPU's results do not depend on how it was chosen. (What a world does with a
// GPU: test_world_gpu.c.)
#include "bodies.h"
#include "gpu/gpu.h"

static bool found;      // a device
static char why[256];   // not
static char told[512];  // the last message of the library
static hk_log_level told_level;

static void take_message(void *context, hk_log_level level, const char *message)
{
    (void)context;
    told_level = level;
    snprintf(told, sizeof told, "%s", message);
}

static int setup(void **state)
{
    (void)state;
    found = hk_gpu_found(why, sizeof why);
    if (found)
        print_message("this machine has a GPU: its refusals are not seen\n");
    else
        print_message("no GPU: %s\n", why);
    hk_set_log(take_message, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    hk_set_log(NULL, NULL);
    return 0;
}

static hk_model *beam(void)
{
    static hk_selector end;
    end = select_box(-1, -1, -1, 1e-6, 1, 1);
    hk_body_def body = hk_default_body_def();
    body.material = material_of("stable_neo_hookean", 1e5, 0.4);
    body.fixes = &end;
    body.fix_count = 1;
    return model_of(&body, box_mesh(1, 0.2, 0.2, 8, 2, 2), -9.81);
}

static hk_status create(hk_model *model, hk_backend backend, const char *method, hk_world **world)
{
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.backend = backend;
    def.solver.method = method;
    def.threads = 1;
    told[0] = '\0';
    return hk_world_create(&def, world);
}

static void expect_refusal(hk_status status, hk_status expected, const char *part)
{
    if (status != expected || !strstr(hk_error(), part))
        fail_msg("status %s: %s\nwithout: %s", hk_status_name(status), hk_error(), part);
}

// It has no version for the GPU, whatever the build.
static const char *without_version(void)
{
    assert_null(hk_gradient_descent.gpu);
    return hk_gradient_descent.name;
}

static void test_reason(void **state)
{
    (void)state;
    if (found) SKIP("there is a GPU: nothing is refused for want of one");
    assert_true(strlen(why) > 0);
#ifndef HOOKE_CUDA
    assert_string_equal(why, "this build has no CUDA backend");
    hk_gpu *gpu = NULL;
    expect_refusal(hk_gpu_create(&(hk_gpu_def){0}, &gpu), HK_UNSUPPORTED, "no CUDA backend");
    assert_null(gpu);
#endif
}

static void test_cuda_refused(void **state)
{
    (void)state;
    if (found) SKIP("there is a GPU: nothing is refused for want of one");
    hk_model *model = beam();
    hk_world *world = NULL;
    char expected[512];
    snprintf(expected, sizeof expected, "backend \"cuda\": %s; use \"cpu\" or \"auto\"", why);
    for (int k = 0; k < hk_method_count(); k++) {
        expect_refusal(create(model, HK_BACKEND_CUDA, hk_method_name(k), &world), HK_UNSUPPORTED,
                       expected);
        assert_null(world);
    }
    hk_model_free(model);
}

static void test_method_refused(void **state)
{
    (void)state;
    if (!found) SKIP("%s", why);
    hk_model *model = beam();
    hk_world *world = NULL;
    const char *method = without_version();
    hk_status status = create(model, HK_BACKEND_CUDA, method, &world);
    expect_refusal(status, HK_UNSUPPORTED, method);
    expect_refusal(status, HK_UNSUPPORTED, "descent");
    CHECK_OK(create(model, HK_BACKEND_CUDA, "descent", &world));
    assert_string_equal(hk_world_backend(world), "cuda");
    expect_refusal(hk_world_set_solver(world, &(hk_solver_def){.def_size = sizeof(hk_solver_def),
                                                               .method = method}),
                   HK_UNSUPPORTED, "descent");
    assert_string_equal(hk_world_method(world), "descent");
    hk_world_free(world);
    hk_model_free(model);
}

// An unknown name is an unknown name on every backend.
static void test_unknown_method(void **state)
{
    (void)state;
    hk_model *model = beam();
    hk_world *world = NULL;
    for (hk_backend backend = HK_BACKEND_CPU; backend <= HK_BACKEND_AUTO; backend++)
        expect_refusal(create(model, backend, "magic", &world), HK_BAD_INPUT,
                       "unknown method \"magic\" (known: newton, descent");
    hk_model_free(model);
}

static void expect_same_bits(hk_world *a, hk_world *b)
{
    size_t bytes = 3 * sizeof(double) * (size_t)hk_model_vertex_count(hk_world_model(a));
    for (int k = 0; k < 5; k++) {
        hk_step_report ra, rb;
        CHECK_OK(hk_world_step(a, &ra));
        CHECK_OK(hk_world_step(b, &rb));
        assert_int_equal(ra.reason, rb.reason);
        assert_int_equal(ra.iterations, rb.iterations);
        assert_memory_equal(&ra.energy, &rb.energy, sizeof ra.energy);
        assert_memory_equal(hk_world_positions(a), hk_world_positions(b), bytes);
        assert_memory_equal(hk_world_velocities(a), hk_world_velocities(b), bytes);
    }
}

// Where the GPU cannot serve, `auto` is the CPU, and says so.
static void test_auto(void **state)
{
    (void)state;
    hk_model *model = beam();
    const char *methods[] = {without_version(), found ? without_version() : "descent"};
    for (int k = 0; k < 2; k++) {
        hk_world *cpu, *chosen;
        CHECK_OK(create(model, HK_BACKEND_CPU, methods[k], &cpu));
        assert_string_equal(told, "");
        CHECK_OK(create(model, HK_BACKEND_AUTO, methods[k], &chosen));
        assert_int_equal(told_level, HK_LOG_INFO);
        assert_non_null(strstr(told, "backend auto: "));
        assert_non_null(strstr(told, "using the CPU"));
        if (!found) assert_non_null(strstr(told, why));
        assert_string_equal(hk_world_backend(chosen), "cpu");
        expect_same_bits(cpu, chosen);
        hk_world_free(cpu);
        hk_world_free(chosen);
    }
    hk_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reason),         cmocka_unit_test(test_cuda_refused),
        cmocka_unit_test(test_method_refused), cmocka_unit_test(test_unknown_method),
        cmocka_unit_test(test_auto),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
