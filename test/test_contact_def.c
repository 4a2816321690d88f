// Definitions of contact in a model: defaults, what is checked, who rubs on whom, copies and edits.
#include "bodies.h"

#include "failing_alloc.h"
#include "model/contact.h"

// Two boxes, a soft sheet, and obstacles.
typedef struct setup {
    hk_mesh *box, *sheet;
    hk_body_def bodies[3];
    hk_obstacle_def obstacles[2];
    hk_contact_def contact;
    hk_model_def def;
} setup;

static hk_mesh *sheet_mesh(double size, int cells)
{
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_SHEET);
    def.size[0] = def.size[1] = size;
    def.cells[0] = def.cells[1] = cells;
    hk_mesh *mesh = NULL;
    CHECK_OK(hk_mesh_make(&def, &mesh));
    return mesh;
}

static void set_up(setup *s)
{
    static const char *const names[3] = {"pile0", "pile1", "cloth"};
    *s = (setup){.box = box_mesh(1, 1, 1, 2, 2, 2), .sheet = sheet_mesh(1, 4)};
    s->contact = hk_default_contact_def();
    s->def = hk_default_model_def();
    for (int b = 0; b < 3; b++) {
        s->bodies[b] = hk_default_body_def();
        s->bodies[b].name = names[b];
        s->bodies[b].mesh = b == 2 ? s->sheet : s->box;
        s->bodies[b].transform.translate[1] = 2 * b;
    }
    s->bodies[0].material = material_of("neo_hookean", 3e5, 0.4);
    s->bodies[1].material = material_of("corotated", 2e5, 0.3);
    s->bodies[2].material.model = "mass_spring";
    s->bodies[2].material.density = 0.2;
    s->bodies[2].material.parameters[0] = (hk_parameter){"stretch", 100};
    s->bodies[2].material.parameter_count = 1;
    for (int k = 0; k < 2; k++) s->obstacles[k] = hk_default_obstacle_def();
    s->obstacles[0].name = "floor";
    s->obstacles[1].name = "ball";
    s->obstacles[1].shape = HK_OBSTACLE_SPHERE;
    s->obstacles[1].radius = 0.5;
    s->obstacles[1].center[1] = -1;
    s->def.bodies = s->bodies;
    s->def.body_count = 3;
    s->def.contact = &s->contact;
    s->def.obstacles = s->obstacles;
    s->def.obstacle_count = 2;
}

static void tear_down(setup *s)
{
    hk_mesh_free(s->box);
    hk_mesh_free(s->sheet);
}

static hk_model *create(const setup *s)
{
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(&s->def, &model));
    return model;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

// ---------------------------------------------------------------- what the model has

static double smallest_diagonal(const hk_model *model)
{
    double least = INFINITY;
    for (int b = 0; b < model->body_count; b++)
        least = fmin(least, model->contact->bodies[b].diagonal);
    return least;
}

static void nothing_asked_for_is_nothing(void **state)
{
    (void)state;
    setup s;
    set_up(&s);
    s.def.contact = NULL;
    s.def.obstacle_count = 0;
    hk_model *model = create(&s);
    assert_null(model->contact);
    assert_true(hk_model_obstacle_count(model) == 0 && hk_model_contact_distance(model) == 0);
    hk_model_free(model);
    // Obstacles alone have contact as it is by default.
    s.def.obstacle_count = 1;
    model = create(&s);
    assert_non_null(model->contact);
    assert_true(model->contact->law == HK_CONTACT_TWO_STAGE && model->contact->self);
    assert_true(model->contact->friction_passes == 1 &&
                model->contact->slip_speed == 1e-3 * smallest_diagonal(model));
    assert_string_equal(hk_model_obstacle_name(model, 0), "floor");
    assert_string_equal(hk_model_obstacle_name(model, 1), "");
    hk_model_free(model);
    tear_down(&s);
}

static void settings_arrive(void **state)
{
    (void)state;
    setup s;
    set_up(&s);
    s.contact.distance = 2e-3;
    s.contact.stiffness = 5e4;
    s.contact.friction = 0.3;
    s.contact.slip_speed = 0;
    s.contact.friction_passes = 0;
    s.contact.self = 0;
    s.contact.law = "log";
    s.contact.overlap = HK_OVERLAP_RECOVER;
    s.contact.when = HK_CONTACT_AFTER;
    s.contact.certify = 1;
    s.contact.restitution = 0.5;
    s.bodies[2].thickness = 4e-3;
    hk_model *model = create(&s);
    const hk_model_contact *c = model->contact;
    assert_true(c->distance == 2e-3 && c->stiffness == 5e4 && c->friction == 0.3);
    assert_true(c->slip_speed == 1e-3 * smallest_diagonal(model) && c->friction_passes == 0 &&
                !c->self && c->certify);
    assert_true(c->law == HK_CONTACT_LOG && c->overlap == HK_OVERLAP_RECOVER);
    assert_true(c->when == HK_CONTACT_AFTER && c->restitution == 0.5 && c->damping_ratio > 0);
    assert_true(c->bodies[2].thickness == 4e-3 && c->bodies[0].thickness == 0);
    assert_true(hk_contact_modulus(c, 0, 1) == 5e4);
    hk_model_free(model);
    tear_down(&s);
}

// Moduli follow the softest material, at rest, whatever way it was given in; distances the
// smallest body.
static void moduli_and_distance_follow_the_bodies(void **state)
{
    (void)state;
    setup s;
    set_up(&s);
    hk_region_def region = hk_default_region_def();
    region.select = select_box(0, 0, 0, 1, 0.5, 1);
    region.material = material_of("stvk", 1e5, 0.3);
    s.bodies[0].regions = &region;
    s.bodies[0].region_count = 1;
    // μ and λ of E = 2e5 and ν = 0.25: 8e4 both.
    s.bodies[1].material.young = s.bodies[1].material.poisson = NAN;
    s.bodies[1].material.parameters[0] = (hk_parameter){"mu", 8e4};
    s.bodies[1].material.parameters[1] = (hk_parameter){"lambda", 8e4};
    s.bodies[1].material.parameter_count = 2;
    hk_model *model = create(&s);
    const hk_model_contact *c = model->contact;
    assert_true(near(c->bodies[0].young, 1e5) && near(c->bodies[1].young, 2e5));
    // The mean side of squares of 1/4, two thirds of them legs.
    double edge = 0.25 * (2 + sqrt(2)) / 3;
    assert_true(near(c->bodies[2].edge, edge) && near(c->bodies[2].young, 100 / edge));
    assert_true(near(hk_contact_modulus(c, 0, 1), 1e5) && near(hk_contact_modulus(c, 4, 1), 2e5));
    assert_true(near(hk_contact_modulus(c, 1, 1), 2e5));
    // The least of 1e-3 √3, 1e-3 √2 and the fifth of an edge.
    assert_true(near(hk_model_contact_distance(model), 1e-3 * sqrt(2)));
    hk_model_free(model);
    // Fine meshes have a short distance.
    hk_mesh_free(s.sheet);
    s.bodies[2].mesh = s.sheet = sheet_mesh(1, 400);
    model = create(&s);
    assert_true(near(hk_model_contact_distance(model), (2 + sqrt(2)) / 3 / 400 / 5));
    hk_model_free(model);
    tear_down(&s);
}

// ---------------------------------------------------------------- pairs

static void friction_of_pairs(void **state)
{
    (void)state;
    setup s;
    set_up(&s);
    s.contact.friction = 0.3;
    s.bodies[0].friction = 0.4;
    s.obstacles[0].friction = 0.9;
    s.obstacles[1].friction = 0;
    hk_model *model = create(&s);
    const hk_model_contact *c = model->contact;
    assert_int_equal(c->kind_count, 1);
    assert_true(hk_contact_friction(c, 1, 2) == 0.3);      // neither has its own
    assert_true(hk_contact_friction(c, 0, 1) == 0.4);      // one has
    assert_true(hk_contact_friction(c, 3, 1) == 0.9);      // an obstacle
    assert_true(near(hk_contact_friction(c, 0, 3), 0.6));  // both: √(0.4 · 0.9)
    assert_true(hk_contact_friction(c, 0, 4) == 0);        // slippery
    assert_true(hk_contact_friction(c, 0, 0) == 0.4);
    for (int a = 0; a < 5; a++)
        for (int b = 0; b < 5; b++) {
            assert_true(hk_contact_touches(c, a, b));
            assert_true(hk_contact_friction(c, a, b) == hk_contact_friction(c, b, a));
        }
    hk_model_free(model);
    s.contact.self = 0;
    model = create(&s);
    assert_true(!hk_contact_touches(model->contact, 1, 1) &&
                hk_contact_touches(model->contact, 1, 0));
    hk_model_free(model);
    tear_down(&s);
}

static void entries_name_pairs(void **state)
{
    (void)state;
    setup s;
    set_up(&s);
    hk_between_def entries[] = {
        {.a = "pile*", .b = "floor", .friction = 0.7},
        {.a = "cloth", .b = "cloth", .friction = NAN, .ignore = 1},
        {.a = "ball", .b = "*", .friction = NAN, .ignore = 1},
        {.a = "pile1", .b = "ball", .friction = NAN},
        {.a = "floor", .b = "pile1", .friction = 0.2},
    };
    s.contact.friction = 0.1;
    s.contact.between = entries;
    s.contact.between_count = 5;
    hk_model *model = create(&s);
    const hk_model_contact *c = model->contact;
    enum { PILE0, PILE1, CLOTH, FLOOR, BALL };
    assert_true(hk_contact_friction(c, PILE0, FLOOR) == 0.7);
    assert_true(hk_contact_friction(c, PILE1, FLOOR) == 0.2);
    assert_true(hk_contact_friction(c, FLOOR, PILE1) == 0.2);
    assert_true(hk_contact_friction(c, CLOTH, FLOOR) == 0.1);
    assert_true(!hk_contact_touches(c, CLOTH, CLOTH) && hk_contact_touches(c, PILE0, PILE0));
    assert_true(!hk_contact_touches(c, BALL, PILE0) && !hk_contact_touches(c, CLOTH, BALL));
    assert_true(hk_contact_touches(c, BALL, PILE1) && hk_contact_friction(c, BALL, PILE1) == 0.1);
    assert_true(hk_contact_touches(c, PILE0, PILE1));
    hk_model_free(model);
    tear_down(&s);
}

// ---------------------------------------------------------------- copies and edits

static void copies_survive_edits(void **state)
{
    (void)state;
    setup s;
    set_up(&s);
    hk_between_def entry = {.a = "pile0", .b = "pile1", .friction = 0.5};
    s.contact.between = &entry;
    s.contact.between_count = 1;
    s.obstacles[1].formula.translate[0] = "t";
    hk_model *model = create(&s), *copy = NULL;
    CHECK_OK(hk_model_copy(model, &copy));
    double before = hk_model_contact_distance(model);
    hk_model_free(model);
    double R[9], x[3];
    CHECK_OK(hk_model_obstacle_pose(copy, 1, 2.5, R, x));
    assert_true(x[0] == 2.5 && R[0] == 1);
    assert_true(hk_contact_friction(copy->contact, 1, 0) == 0.5);
    assert_true(hk_contact_friction(copy->contact, 1, 2) == 0);
    // Another material, another rest shape: moduli and distance follow.
    hk_material_def soft = material_of("neo_hookean", 5e3, 0.3);
    CHECK_OK(hk_model_set_material(copy, 0, NULL, &soft));
    assert_true(near(copy->contact->bodies[0].young, 5e3));
    size_t count = 3 * (size_t)copy->vertex_count;
    double *rest = malloc(count * sizeof *rest);
    for (size_t k = 0; k < count; k++) rest[k] = 0.5 * copy->rest[k];
    CHECK_OK(hk_model_set_rest(copy, rest));
    assert_true(near(hk_model_contact_distance(copy), 0.5 * before));
    assert_true(copy->contact->obstacles[1].radius == 0.5);  // obstacles are what they were
    free(rest);
    assert_int_equal(hk_model_obstacle_pose(copy, 2, 0, R, x), HK_BAD_INPUT);
    assert_int_equal(hk_model_obstacle_pose(NULL, 0, 0, R, x), HK_BAD_INPUT);
    hk_model_free(copy);
    tear_down(&s);
}

static void no_failed_allocation_leaks(void **state)
{
    (void)state;
    setup s;
    set_up(&s);
    hk_between_def entry = {.a = "pile*", .b = "floor", .friction = 0.5};
    s.contact.between = &entry;
    s.contact.between_count = 1;
    s.obstacles[1].formula.translate[0] = "t";
    for (int n = 1;; n++) {
        hk_model *model = NULL, *copy = NULL;
        failing_alloc_install(n);
        hk_status status = hk_model_create(&s.def, &model);
        if (status == HK_OK) status = hk_model_copy(model, &copy);
        bool reached = failing_alloc_count() >= n;
        assert_int_equal(status, reached ? HK_NO_MEMORY : HK_OK);
        hk_model_free(model);
        hk_model_free(copy);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        if (!reached) break;
    }
    tear_down(&s);
}

// ---------------------------------------------------------------- mistakes

static void refuse(const setup *s, hk_status wanted, const char *part)
{
    hk_model *model = NULL;
    assert_int_equal(hk_model_create(&s->def, &model), wanted);
    assert_null(model);
    if (!strstr(hk_error(), part)) fail_msg("\"%s\" does not say \"%s\"", hk_error(), part);
}

static void wrong_definitions_are_refused(void **state)
{
    (void)state;
    setup good;
    set_up(&good);
    hk_between_def entry = {.a = "pile0", .b = "pile9", .friction = 0.5};
#define REFUSED(part, ...)              \
    do {                                \
        setup s = good;                 \
        s.def.bodies = s.bodies;        \
        s.def.contact = &s.contact;     \
        s.def.obstacles = s.obstacles;  \
        __VA_ARGS__;                    \
        refuse(&s, HK_BAD_INPUT, part); \
    } while (0)
    REFUSED("contact: its distance", s.contact.distance = -1);
    REFUSED("contact: its stiffness", s.contact.stiffness = NAN);
    REFUSED("contact: its friction", s.contact.friction = -0.1);
    REFUSED("contact: its slip_speed", s.contact.slip_speed = INFINITY);
    REFUSED("contact: its friction_passes", s.contact.friction_passes = -1);
    REFUSED("contact: its restitution must be 0 to 1", s.contact.restitution = 1.5);
    REFUSED("contact: unknown law soft (known: two_stage, log, penalty, spring_damper)",
            s.contact.law = "soft");
    REFUSED("contact: its overlap", s.contact.overlap = (hk_overlap)2);
    REFUSED("contact: its when", s.contact.when = (hk_contact_when)-1);
    REFUSED("contact: its list between", s.contact.between_count = 1);
    REFUSED("contact: between 0: there is no body and no obstacle \"pile9\"",
            s.contact.between = &entry, s.contact.between_count = 1);
    entry.b = NULL;
    REFUSED("between 0: it needs two names", s.contact.between = &entry,
            s.contact.between_count = 1);
    entry.b = "pile1";
    entry.friction = -1;
    REFUSED("between 0: its friction", s.contact.between = &entry, s.contact.between_count = 1);
    REFUSED("body 1 (pile1): its friction", s.bodies[1].friction = -1);
    REFUSED("body 2 (cloth): its thickness", s.bodies[2].thickness = NAN);
    REFUSED("body 0 (pile0): only a sheet has a thickness", s.bodies[0].thickness = 1e-3);
    REFUSED("obstacle 1 (ball): its radius", s.obstacles[1].radius = 0);
    REFUSED("obstacles is NULL", s.def.obstacles = NULL);
    REFUSED("hk_default_obstacle_def()", s.obstacles[1].def_size = 8);
    REFUSED("hk_default_contact_def()", s.contact.def_size = 8);
#undef REFUSED
    entry.friction = 1;
    entry.reserved[0] = 1;
    good.contact.between = &entry;
    good.contact.between_count = 1;
    refuse(&good, HK_UNSUPPORTED, "hk_between_def");
    tear_down(&good);
}

// Definitions of programs that are older or newer than the library.
static void versions(void **state)
{
    (void)state;
    struct {
        hk_contact_def now;
        double more[2];
    } newer;
    memset(&newer, 0xff, sizeof newer);
    hk_fill_contact_def(&newer.now, sizeof newer);
    assert_true(newer.more[0] == 0 && newer.now.def_size == sizeof newer);
    setup s;
    set_up(&s);
    newer.now.distance = 3e-3;
    s.def.contact = &newer.now;
    hk_model *model = create(&s);
    assert_true(model->contact->distance == 3e-3);
    hk_model_free(model);
    newer.more[1] = 1;
    refuse(&s, HK_UNSUPPORTED, "hk_contact_def");
    // An older program knows of no friction, and no contact: its bodies have none of their own.
    s.def.contact = NULL;
    s.def.body_count = 1;
    s.bodies[0].friction = s.bodies[0].thickness = 77;
    s.bodies[0].def_size = offsetof(hk_body_def, friction);
    model = create(&s);
    assert_true(isnan(model->contact->sides[0].friction));
    assert_true(model->contact->bodies[0].thickness == 0);
    hk_model_free(model);
    s.def.def_size = offsetof(hk_model_def, contact);
    s.def.obstacle_count = -5;
    model = create(&s);
    assert_null(model->contact);
    hk_model_free(model);
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_asked_for_is_nothing),
        cmocka_unit_test(settings_arrive),
        cmocka_unit_test(moduli_and_distance_follow_the_bodies),
        cmocka_unit_test(friction_of_pairs),
        cmocka_unit_test(entries_name_pairs),
        cmocka_unit_test(copies_survive_edits),
        cmocka_unit_test(no_failed_allocation_leaks),
        cmocka_unit_test(wrong_definitions_are_refused),
        cmocka_unit_test(versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
