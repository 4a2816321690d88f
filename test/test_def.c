// Definitions of other versions than the library's: shorter ones of older programs, longer ones of
// newer programs, arrays of both, and rubbish.
#include "bodies.h"

#include "core/def.h"

// As programs see definitions whose header has grown by some fields.
#define NEWER(name)               \
    typedef struct newer_##name { \
        hk_##name##_def now;      \
        double more[3];           \
    } newer_##name;
NEWER(mesh)
NEWER(move)
NEWER(attach)
NEWER(load)
NEWER(region)
NEWER(body)
NEWER(model)
NEWER(world)

// What a newer header's hk_default_xxx_def does.
#define DEFINE_NEWER_DEFAULT(name)                             \
    static newer_##name newer_default_##name(void)             \
    {                                                          \
        newer_##name def;                                      \
        memset(&def, 0xff, sizeof def);                        \
        hk_fill_##name##_def(&def.now, sizeof def);            \
        assert_int_equal(def.now.def_size, sizeof def);        \
        for (int k = 0; k < 3; k++) assert_true(!def.more[k]); \
        return def;                                            \
    }
DEFINE_NEWER_DEFAULT(move)
DEFINE_NEWER_DEFAULT(attach)
DEFINE_NEWER_DEFAULT(load)
DEFINE_NEWER_DEFAULT(region)
DEFINE_NEWER_DEFAULT(body)
DEFINE_NEWER_DEFAULT(model)
DEFINE_NEWER_DEFAULT(world)

// ---------------------------------------------------------------- one scene, built by any version

typedef struct numbers {
    double push, pull, stiffness, young;
} numbers;
static const numbers GIVEN = {0.05, -40, 300, 3e5};

static void set_body(hk_body_def *body, const hk_mesh *mesh, int k)
{
    static const hk_selector wall = {.kind = HK_SELECT_BOX, .box = {{0, 0, 0}, {0, 1, 3}}};
    body->mesh = mesh;
    body->fixes = &wall;
    body->fix_count = 1;
    body->transform.translate[2] = 2 * k;
    body->velocity[1] = k;
}

static void set_motion(hk_motion_def *motion, int k)
{
    motion->translate[k] = GIVEN.push;
    motion->over = 0.02;
}

static hk_selector part(int body, int k)
{
    return select_box(1, k ? 1 : 0, 2 * body, 1, k ? 1 : 0, 2 * body + 1);
}

static hk_world *finish(const hk_model_def *def, hk_world_def *world)
{
    hk_model *model = NULL;
    hk_world *made = NULL;
    CHECK_OK(hk_model_create(def, &model));
    world->model = model;
    world->step = 0.02;
    world->threads = 1;
    CHECK_OK(hk_world_create(world, &made));
    hk_model_free(model);
    for (int k = 0; k < 3; k++) CHECK_OK(hk_world_step(made, NULL));
    return made;
}

// Two bodies with two moves, attachments, loads and regions each.
#define DEFINE_BUILD(build, BODY, MOVE, ATTACH, LOAD, REGION, MODEL, WORLD, AT)                    \
    static hk_world *build(const hk_mesh *mesh)                                                    \
    {                                                                                              \
        BODY bodies[2];                                                                            \
        MOVE moves[2][2];                                                                          \
        ATTACH attachments[2][2];                                                                  \
        LOAD loads[2][2];                                                                          \
        REGION regions[2][2];                                                                      \
        for (int b = 0; b < 2; b++) {                                                              \
            bodies[b] = AT##_body();                                                               \
            hk_body_def *body = (hk_body_def *)&bodies[b];                                         \
            set_body(body, mesh, b);                                                               \
            for (int k = 0; k < 2; k++) {                                                          \
                moves[b][k] = AT##_move();                                                         \
                attachments[b][k] = AT##_attach();                                                 \
                loads[b][k] = AT##_load();                                                         \
                regions[b][k] = AT##_region();                                                     \
                hk_move_def *move = (hk_move_def *)&moves[b][k];                                   \
                hk_attach_def *attach = (hk_attach_def *)&attachments[b][k];                       \
                hk_load_def *load = (hk_load_def *)&loads[b][k];                                   \
                hk_region_def *region = (hk_region_def *)&regions[b][k];                           \
                move->select = part(b, k);                                                         \
                set_motion(&move->motion, k);                                                      \
                attach->select = select_box(0.5, 0, 2 * b, 0.5, 1, 2 * b + 1);                     \
                attach->stiffness = (k + 1) * GIVEN.stiffness;                                     \
                load->select = select_box(0.5, k, 2 * b, 0.5, k, 2 * b + 1);                       \
                load->force[1] = (k + 1) * GIVEN.pull;                                             \
                region->select = select_box(0, 0.5 * k, 2 * b, 1, 0.5 * k + 0.5, 2 * b + 1);       \
                region->material = material_of(k ? "corotated" : "neo_hookean", GIVEN.young, 0.3); \
            }                                                                                      \
            body->moves = (hk_move_def *)moves[b];                                                 \
            body->attachments = (hk_attach_def *)attachments[b];                                   \
            body->loads = (hk_load_def *)loads[b];                                                 \
            body->regions = (hk_region_def *)regions[b];                                           \
            body->move_count = body->attachment_count = body->load_count = body->region_count = 2; \
        }                                                                                          \
        MODEL model = AT##_model();                                                                \
        hk_model_def *def = (hk_model_def *)&model;                                                \
        def->bodies = (hk_body_def *)bodies;                                                       \
        def->body_count = 2;                                                                       \
        WORLD world = AT##_world();                                                                \
        return finish(def, (hk_world_def *)&world);                                                \
    }

#define hk_own_body   hk_default_body_def
#define hk_own_move   hk_default_move_def
#define hk_own_attach hk_default_attach_def
#define hk_own_load   hk_default_load_def
#define hk_own_region hk_default_region_def
#define hk_own_model  hk_default_model_def
#define hk_own_world  hk_default_world_def
DEFINE_BUILD(build_today, hk_body_def, hk_move_def, hk_attach_def, hk_load_def, hk_region_def,
             hk_model_def, hk_world_def, hk_own)
DEFINE_BUILD(build_newer, newer_body, newer_move, newer_attach, newer_load, newer_region,
             newer_model, newer_world, newer_default)

static void expect_same(const hk_world *a, const hk_world *b)
{
    size_t count = 3 * (size_t)hk_model_vertex_count(hk_world_model(a));
    assert_memory_equal(hk_world_positions(a), hk_world_positions(b), count * sizeof(double));
    assert_memory_equal(hk_world_velocities(a), hk_world_velocities(b), count * sizeof(double));
}

static void test_newer_programs_are_served(void **state)
{
    (void)state;
    hk_mesh *mesh = box_mesh(1, 1, 1, 2, 2, 2);
    hk_world *today = build_today(mesh), *newer = build_newer(mesh);
    expect_same(today, newer);
    hk_world_free(today);
    hk_world_free(newer);
    hk_mesh_free(mesh);
    newer_mesh shape;
    hk_fill_mesh_def(&shape.now, sizeof shape, HK_SHAPE_SPHERE);
    assert_int_equal(shape.now.def_size, sizeof shape);
    CHECK_OK(hk_mesh_make(&shape.now, &mesh));
    hk_mesh_free(mesh);
}

// A field that the library does not know is no matter while it is not set.
static void test_unknown_fields_are_refused(void **state)
{
    (void)state;
    hk_mesh *mesh = box_mesh(1, 1, 1, 1, 1, 1), *no_mesh = NULL;
    hk_model *model = NULL;
    newer_move moves[2] = {newer_default_move(), newer_default_move()};
    moves[1].more[2] = 1;
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.moves = &moves[0].now;
    body.move_count = 2;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    assert_int_equal(hk_model_create(&def, &model), HK_UNSUPPORTED);
    assert_non_null(strstr(hk_error(), "hk_move_def"));
    assert_non_null(strstr(hk_error(), "newer than the library"));
    newer_mesh shape;
    hk_fill_mesh_def(&shape.now, sizeof shape, HK_SHAPE_BOX);
    shape.more[0] = 3;
    assert_int_equal(hk_mesh_make(&shape.now, &no_mesh), HK_UNSUPPORTED);
    // What stands in others has its new fields in what is reserved.
    body.move_count = 0;
    body.material.reserved[3] = 1;
    assert_int_equal(hk_model_create(&def, &model), HK_UNSUPPORTED);
    assert_non_null(strstr(hk_error(), "hk_material_def"));
    body.material = hk_default_material_def();
    body.material.def_size += 8;
    assert_int_equal(hk_model_create(&def, &model), HK_BAD_INPUT);
    body.material = hk_default_material_def();
    moves[0].now.motion.reserved[0] = 1;
    body.move_count = 1;
    assert_int_equal(hk_model_create(&def, &model), HK_UNSUPPORTED);
    assert_non_null(strstr(hk_error(), "move 0"));
    hk_mesh_free(mesh);
}

// ---------------------------------------------------------------- older programs

// A kind with two versions, as definitions will have them.
typedef struct first_def {
    size_t def_size;
    double a;
} first_def;
typedef struct second_def {
    size_t def_size;
    double a, b;
} second_def;
static const hk_def_kind SECOND = {"second", sizeof(first_def), sizeof(second_def),
                                   sizeof(second_def), false};

static void test_older_programs_are_served(void **state)
{
    (void)state;
    const second_def standard = {.a = 1, .b = 2};
    struct {
        first_def old;
        double guard;
    } memory = {.guard = 7};
    hk_def_fill(&SECOND, &standard, &memory.old, sizeof memory.old);
    assert_true(memory.old.def_size == sizeof(first_def) && memory.old.a == 1 && memory.guard == 7);
    memory.old.a = 5;
    second_def own = standard;
    CHECK_OK(hk_def_take(&SECOND, &memory.old, &own));
    assert_true(own.def_size == sizeof own && own.a == 5 && own.b == 2);
    first_def list[3];
    for (int k = 0; k < 3; k++) list[k] = (first_def){sizeof(first_def), 10 + k};
    for (int k = 0; k < 3; k++) {
        own = standard;
        CHECK_OK(hk_def_take_at(&SECOND, list, k, &own));
        assert_true(own.a == 10 + k && own.b == 2);
        assert_ptr_equal(hk_def_at(list, k), &list[k]);
    }
    list[2].def_size = 0;
    assert_int_equal(hk_def_take_at(&SECOND, list, 2, &own), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "hk_second_def 2"));
    // What a copy for an older program loses.
    second_def set = {sizeof set, 1, 3};
    assert_true(hk_def_set_beyond(&SECOND, &set, &standard, sizeof(first_def)));
    assert_false(hk_def_set_beyond(&SECOND, &standard, &standard, sizeof(first_def)));
    assert_false(hk_def_set_beyond(&SECOND, &set, &standard, sizeof(second_def)));
}

// Copies of what the library made, in programs of any version.
static void test_copies(void **state)
{
    (void)state;
    hk_world_def from = hk_default_world_def();
    from.step = 0.5;
    from.damping.air_per_vertex = 3;
    newer_world newer;
    memset(&newer, 0xff, sizeof newer);
    hk_take_world_def(&newer.now, sizeof newer, &from);
    assert_true(newer.now.def_size == sizeof newer && newer.now.step == 0.5);
    assert_true(newer.now.damping.air_per_vertex == 3 && newer.more[0] == 0 && newer.more[2] == 0);
    hk_world_def back = hk_copy_world_def(&newer.now), standard = hk_copy_world_def(NULL);
    assert_memory_equal(&back, &from, sizeof back);
    assert_true(standard.step == 0.01 && standard.def_size == sizeof standard);
}

// ---------------------------------------------------------------- rubbish

static void expect(hk_status status, const char *name)
{
    char call[64];
    snprintf(call, sizeof call, "hk_default_%s_def()", name);
    assert_int_equal(status, HK_BAD_INPUT);
    if (!strstr(hk_error(), call)) fail_msg("\"%s\" does not mention %s", hk_error(), call);
}

static const size_t WRONG[] = {0, 8, 100, 1 << 20, SIZE_MAX};

static void test_sizes_that_are_none(void **state)
{
    (void)state;
    hk_mesh *mesh = box_mesh(1, 1, 1, 1, 1, 1), *no_mesh = NULL;
    hk_model *model = NULL;
    hk_world *world = NULL;
    double energy, F[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int k = 0; k < HK_COUNT_OF(WRONG); k++) {
        hk_mesh_def shape = hk_default_mesh_def(HK_SHAPE_BOX);
        hk_material_def material = hk_default_material_def();
        hk_move_def moves[2] = {hk_default_move_def(), hk_default_move_def()};
        hk_attach_def attach = hk_default_attach_def();
        hk_load_def load = hk_default_load_def();
        hk_region_def region = hk_default_region_def();
        hk_body_def good = hk_default_body_def(), body;
        hk_model_def def = hk_default_model_def();
        hk_world_def world_def = hk_default_world_def();
        good.mesh = mesh;
        def.bodies = &body;
        def.body_count = 1;
        shape.def_size = material.def_size = moves[1].def_size = attach.def_size = load.def_size =
            region.def_size = WRONG[k];
        expect(hk_mesh_make(&shape, &no_mesh), "mesh");
        expect(hk_material_evaluate(&material, F, false, &energy, NULL, NULL), "material");
#define EXPECT(name, ...)                            \
    do {                                             \
        body = good;                                 \
        __VA_ARGS__;                                 \
        expect(hk_model_create(&def, &model), name); \
    } while (0)
        EXPECT("move", body.moves = moves, body.move_count = 2);
        EXPECT("move", body.moves = moves + 1, body.move_count = 1);
        EXPECT("attach", body.attachments = &attach, body.attachment_count = 1);
        EXPECT("load", body.loads = &load, body.load_count = 1);
        EXPECT("region", body.regions = &region, body.region_count = 1);
        EXPECT("material", body.material = material);
        region = hk_default_region_def();
        region.material.def_size = WRONG[k];
        EXPECT("material", body.regions = &region, body.region_count = 1);
        EXPECT("body", body.def_size = WRONG[k]);
        hk_contact_def contact = hk_default_contact_def();
        hk_obstacle_def obstacles[2] = {hk_default_obstacle_def(), hk_default_obstacle_def()};
        contact.def_size = obstacles[1].def_size = WRONG[k];
        EXPECT("contact", def.contact = &contact);
        def.contact = NULL;
        EXPECT("obstacle", def.obstacles = obstacles, def.obstacle_count = 2);
        EXPECT("obstacle", def.obstacles = obstacles + 1, def.obstacle_count = 1);
        def.obstacle_count = 0;
        def.def_size = WRONG[k];
        EXPECT("model", (void)0);
        def = hk_default_model_def();
        def.bodies = &good;
        def.body_count = 1;
        CHECK_OK(hk_model_create(&def, &model));
        world_def.model = model;
        world_def.solver.def_size = WRONG[k];
        expect(hk_world_create(&world_def, &world), "solver");
        world_def.solver = hk_default_solver_def();
        world_def.def_size = WRONG[k];
        expect(hk_world_create(&world_def, &world), "world");
        hk_model_free(model);
        model = NULL;
    }
    assert_true(!model && !world && !no_mesh);
    hk_mesh_free(mesh);
}

// Reports have nothing but 0 in what is reserved.
static bool is_zero(const uint64_t *reserved, size_t count)
{
    uint64_t all = 0;
    for (size_t k = 0; k < count; k++) all |= reserved[k];
    return all == 0;
}
#define IS_ZERO(array) is_zero(array, sizeof(array) / sizeof(array)[0])

static bool look(void *context, const hk_iteration *iteration)
{
    *(int *)context += IS_ZERO(iteration->reserved);
    return true;
}

static void test_reserved_is_zero(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "descent", "vbd", "admm", "xpbd"};
    hk_mesh *mesh = box_mesh(1, 1, 1, 1, 1, 1);
    hk_mesh_report checked;
    memset(&checked, 0xff, sizeof checked);
    CHECK_OK(hk_mesh_check(mesh, &checked));
    assert_true(IS_ZERO(checked.reserved));
    hk_body_def body = hk_default_body_def();
    hk_world *world = world_of(model_of(&body, mesh, -9.81), 0.01, 1);
    int seen = 0;
    hk_world_set_monitor(world, look, &seen);
    for (int m = 0; m < HK_COUNT_OF(methods); m++) {
        hk_solver_def solver = hk_default_solver_def();
        solver.method = methods[m];
        CHECK_OK(hk_world_set_solver(world, &solver));
        hk_step_report report;
        memset(&report, 0xff, sizeof report);
        seen = 0;
        CHECK_OK(hk_world_step(world, &report));
        assert_true(IS_ZERO(report.reserved) && IS_ZERO(report.energy.reserved));
        assert_int_equal(seen, report.iterations);
    }
    hk_energy energy;
    memset(&energy, 0xff, sizeof energy);
    CHECK_OK(hk_world_energy(world, &energy, NULL));
    assert_true(IS_ZERO(energy.reserved));
    hk_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_newer_programs_are_served),
        cmocka_unit_test(test_unknown_fields_are_refused),
        cmocka_unit_test(test_older_programs_are_served),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_sizes_that_are_none),
        cmocka_unit_test(test_reserved_is_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
