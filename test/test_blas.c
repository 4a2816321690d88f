// The core of OpenBLAS against the processor: when it is too old, what it should be, what is said.
#include "bodies.h"

#include "core/base.h"
#include "linear/blas.h"

static const hk_cpu_features old = {0}, sandybridge = {.avx = true},
                             haswell = {.avx = true, .avx2 = true, .fma = true},
                             skylakex = {.avx = true, .avx2 = true, .fma = true, .avx512 = true},
                             zen = {.avx = true, .avx2 = true, .fma = true, .amd = true},
                             zen4 = {.avx = true,
                                     .avx2 = true,
                                     .fma = true,
                                     .avx512 = true,
                                     .amd = true},
                             piledriver = {.avx = true, .fma = true, .amd = true};

static void test_decision(void **state)
{
    (void)state;
    const struct {
        const hk_cpu_features *cpu;
        const char *core, *better;
    } cases[] = {
        {&skylakex, "Prescott", "SKYLAKEX"},
        {&skylakex, "Nehalem", "SKYLAKEX"},
        {&skylakex, "Sandybridge", "SKYLAKEX"},
        {&skylakex, "Haswell", NULL},
        {&skylakex, "SkylakeX", NULL},
        {&skylakex, "Cooperlake", NULL},
        {&skylakex, "SapphireRapids", NULL},
        {&zen4, "Prescott", "SKYLAKEX"},
        {&zen4, "Zen", NULL},
        {&haswell, "Prescott", "HASWELL"},
        {&haswell, "PRESCOTT", "HASWELL"},
        {&haswell, "Core2", "HASWELL"},
        {&haswell, "Sandybridge", "HASWELL"},
        {&haswell, "Haswell", NULL},
        {&zen, "Prescott", "ZEN"},
        {&zen, "Barcelona", "ZEN"},
        {&zen, "Bulldozer", "ZEN"},
        {&zen, "Zen", NULL},
        {&zen, "Haswell", NULL},
        {&zen, "Excavator", NULL},
        {&sandybridge, "Prescott", "SANDYBRIDGE"},
        {&sandybridge, "Nehalem", "SANDYBRIDGE"},
        {&sandybridge, "Sandybridge", NULL},
        {&piledriver, "Bulldozer", NULL},
        {&piledriver, "Piledriver", NULL},
        {&piledriver, "Barcelona", "SANDYBRIDGE"},
        {&old, "Prescott", NULL},
        {&old, "Nehalem", NULL},
        // Not known: left as they are, whatever the processor.
        {&skylakex, "", NULL},
        {&skylakex, "Unknown", NULL},
        {&skylakex, "GraniteRapids", NULL},
        {&skylakex, "NEOVERSEN1", NULL},
    };
    for (int k = 0; k < HK_COUNT_OF(cases); k++) {
        const char *better = hk_better_blas_core(cases[k].cpu, cases[k].core);
        if (!better != !cases[k].better || (better && strcmp(better, cases[k].better) != 0))
            fail_msg("case %d, %s: %s", k, cases[k].core, better ? better : "nothing");
    }
}

// No choice is to be corrected in its turn: a program that starts itself anew would go on and on.
static void test_corrections_last(void **state)
{
    (void)state;
    const hk_cpu_features *cpus[] = {&old, &sandybridge, &haswell,   &skylakex,
                                     &zen, &zen4,        &piledriver};
    for (int k = 0; k < HK_COUNT_OF(cpus); k++) {
        const char *better = hk_better_blas_core(cpus[k], "Prescott");
        if (better) assert_null(hk_better_blas_core(cpus[k], better));
    }
}

#define DYNAMIC "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY Prescott MAX_THREADS=64"
#define STATIC  "OpenBLAS 0.3.26 NO_AFFINITY Prescott SINGLE_THREADED"

static void test_words(void **state)
{
    (void)state;
    hk_blas b;
    hk_describe_blas(&haswell, DYNAMIC, "Prescott", NULL, &b);
    assert_string_equal(b.name, "OpenBLAS 0.3.21");
    assert_string_equal(b.core, "Prescott");
    assert_string_equal(b.wanted, "HASWELL");
    assert_false(b.is_users_wish);
    assert_non_null(strstr(b.warning, "set OPENBLAS_CORETYPE=HASWELL before"));
    // The user's wish.
    hk_describe_blas(&haswell, DYNAMIC, "Prescott", "PRESCOTT", &b);
    assert_true(b.is_users_wish);
    assert_non_null(strstr(b.warning, "OPENBLAS_CORETYPE=PRESCOTT makes"));
    // A wish that was not granted.
    hk_describe_blas(&haswell, DYNAMIC, "Prescott", "HASWELL", &b);
    assert_false(b.is_users_wish);
    assert_non_null(strstr(b.warning, "does not heed OPENBLAS_CORETYPE=HASWELL"));
    // Nothing that the variable could change.
    hk_describe_blas(&haswell, STATIC, "Prescott", NULL, &b);
    assert_string_equal(b.name, "OpenBLAS 0.3.26");
    assert_string_equal(b.wanted, "");
    assert_non_null(strstr(b.warning, "built for Prescott alone"));
    // All is well.
    hk_describe_blas(&haswell, DYNAMIC, "Haswell", NULL, &b);
    assert_string_equal(b.wanted, "");
    assert_string_equal(b.warning, "");
    // Whatever it says of itself.
    hk_describe_blas(&haswell, "", "", NULL, &b);
    assert_string_equal(b.name, "");
    hk_describe_blas(&haswell, "OpenBLAS", "Haswell", NULL, &b);
    assert_string_equal(b.name, "OpenBLAS");
}

// ---------------------------------------------------------------- this machine

static char told[256];
static int told_count;

static void take_message(void *context, hk_log_level level, const char *message)
{
    (void)context;
    if (level != HK_LOG_WARNING) return;
    snprintf(told, sizeof told, "%s", message);
    told_count++;
}

#ifdef HOOKE_DIRECT
static void make_world(void)
{
    hk_selector wall = select_box(0, 0, 0, 0, 1, 1);
    hk_body_def body = hk_default_body_def();
    body.fixes = &wall;
    body.fix_count = 1;
    hk_world *world = world_of(model_of(&body, box_mesh(1, 1, 1, 1, 1, 1), -9.81), 0.01, 1);
    hk_world_free(world);
}
#endif

static void test_machine(void **state)
{
    (void)state;
    const hk_machine_info *m = hk_machine();
    assert_ptr_equal(m, hk_machine());
    assert_true(m->threads >= 1);
    assert_true(m->memory > 1 << 20);
    assert_int_equal(strncmp(m->single_lanes, "f32x", 4), 0);
    assert_int_equal(strncmp(m->double_lanes, "f64x", 4), 0);
#ifdef HOOKE_DIRECT
    assert_int_equal(strncmp(m->direct_solver, "CHOLMOD ", 8), 0);
#else
    assert_string_equal(m->direct_solver, "");
    assert_string_equal(m->blas, "");
    assert_string_equal(m->warning, "");
#endif
    assert_true(m->blas_core_wanted[0] == '\0' || m->warning[0] != '\0');
    char gpu[256] = "";
    bool found = hk_machine_gpu(gpu, sizeof gpu);
    assert_true(strlen(gpu) > 5);
    assert_int_equal(hk_machine_gpu(NULL, 0), found);
}

// The log hears it once, and not at all if all is well or the user wants it so.
static void test_told_once(void **state)
{
    (void)state;
    const hk_blas *blas = hk_blas_in_use();
    hk_set_log(take_message, NULL);
#ifdef HOOKE_DIRECT
    make_world();
    make_world();
#endif
    hk_set_log(NULL, NULL);
    assert_int_equal(told_count, blas->warning[0] != '\0' && !blas->is_users_wish);
    if (told_count > 0) assert_string_equal(told, blas->warning);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decision),  cmocka_unit_test(test_corrections_last),
        cmocka_unit_test(test_words),     cmocka_unit_test(test_machine),
        cmocka_unit_test(test_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
