// Models: masses, several bodies, regions and fibres, holds, loads, vertices of no tet, and what a
// definition may not say.
#include "bodies.h"

#include "model/model.h"

static void refuse(const hk_model_def *def, hk_status expected, const char *fragment)
{
    hk_model *model = NULL;
    hk_status status = hk_model_create(def, &model);
    if (status != expected || model) fail_msg("%s: status %s", fragment, hk_status_name(status));
    if (!strstr(hk_error(), fragment)) fail_msg("\"%s\" lacks \"%s\"", hk_error(), fragment);
}

static double sum(const double *values, int from, int to, int stride)
{
    double total = 0;
    for (int k = from; k < to; k++) total += values[stride * k];
    return total;
}

static void test_several_bodies(void **state)
{
    (void)state;
    hk_mesh *box = box_mesh(1, 1, 1, 2, 2, 2), *bar = box_mesh(2, 0.5, 0.5, 4, 1, 1);
    hk_region_def soft = {.def_size = sizeof(hk_region_def),
                          .select = select_box(0, 0, 0, 0.5, 1, 1),
                          .material = material_of("stvk", 1e4, 0.2)};
    soft.material.density = 500;
    hk_region_def fibrous = {.def_size = sizeof(hk_region_def),
                             .select = select_box(4, 0, 0, 5, 1, 1),
                             .material = material_of("arap", 1e5, 0.1)};
    fibrous.material.fibre_stiffness = 1e5;
    fibrous.material.fibre_direction[0] = 0;
    fibrous.material.fibre_direction[1] = 3e-200;
    hk_selector end = select_box(5, -1, -1, 5, 2, 2);
    hk_body_def bodies[2] = {hk_default_body_def(), hk_default_body_def()};
    bodies[0].name = "cube";
    bodies[0].mesh = box;
    bodies[0].regions = &soft;
    bodies[0].region_count = 1;
    bodies[1].name = NULL;
    bodies[1].mesh = bar;
    bodies[1].transform.translate[0] = 3;
    bodies[1].regions = &fibrous;
    bodies[1].region_count = 1;
    bodies[1].fixes = &end;
    bodies[1].fix_count = 1;
    bodies[1].velocity[2] = 4;
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = 2;
    hk_model *m = NULL;
    CHECK_OK(hk_model_create(&def, &m));
    hk_mesh_free(box);
    hk_mesh_free(bar);

    assert_int_equal(hk_model_body_count(m), 2);
    assert_int_equal(hk_model_vertex_count(m), 27 + 20);
    assert_int_equal(hk_model_tet_count(m), 40 + 20);
    assert_int_equal(hk_model_body_start(m, 0), 0);
    assert_int_equal(hk_model_body_start(m, 1), 27);
    assert_int_equal(hk_model_body_start(m, 2), 47);
    assert_string_equal(m->bodies[1].name, "body");
    const double *mass = hk_model_masses(m);
    assert_true(fabs(sum(mass, 0, 27, 1) - 750) < 1e-9);
    assert_true(fabs(sum(mass, 27, 47, 1) - 500) < 1e-9);
    for (int t = 0; t < m->tet_count; t++) {
        // Each body knows its own materials, and its tets only its own vertices.
        bool second = t >= 40;
        for (int c = 0; c < 4; c++) assert_int_equal(m->tets[4 * t + c] >= 27, second);
        const hk_material *material = &m->materials[m->tet_material[t]];
        double center = 0;
        for (int c = 0; c < 4; c++) center += m->rest[3 * m->tets[4 * t + c]] / 4;
        bool region = second ? center > 4 : center < 0.5;
        hk_law expected = !region ? HK_LAW_neo_hookean : second ? HK_LAW_arap : HK_LAW_stvk;
        assert_int_equal(material->law, expected);
        if (second && region) assert_true(m->fibre[3 * t + 1] == 1);
    }
    for (int v = 27; v < 47; v++) {
        bool held = m->rest[3 * v] > 5 - 1e-9;
        assert_int_equal(m->hold[v], held ? HK_FIXED : HK_FREE);
        assert_true(m->velocity[3 * v + 2] == (held ? 0 : 4));
    }
    // Both orders are permutations and each other's inverse.
    for (int k = 0; k < 47; k++) assert_int_equal(m->place[m->order[k]], k);
    hk_model_free(m);
}

// The last region that selects a tet wins; one that selects none is told.
static void test_regions_overlap(void **state)
{
    (void)state;
    hk_region_def regions[2] = {{.def_size = sizeof(hk_region_def),
                                 .select = {.kind = HK_SELECT_ALL},
                                 .material = material_of("arap", 1e5, 0.1)},
                                {.def_size = sizeof(hk_region_def),
                                 .select = select_box(0, 0, 0, 0.5, 1, 1),
                                 .material = material_of("stvk", 1e5, 0.1)}};
    hk_body_def body = hk_default_body_def();
    body.regions = regions;
    body.region_count = 2;
    hk_model *m = model_of(&body, box_mesh(1, 1, 1, 2, 1, 1), 0);
    int stvk = 0, arap = 0;
    for (int t = 0; t < m->tet_count; t++) {
        stvk += m->materials[m->tet_material[t]].law == HK_LAW_stvk;
        arap += m->materials[m->tet_material[t]].law == HK_LAW_arap;
    }
    assert_int_equal(stvk, 5);
    assert_int_equal(arap, 5);
    hk_model_free(m);
}

// One direction a tet, some tets without.
static void test_fibre_directions_per_tet(void **state)
{
    (void)state;
    hk_mesh *mesh = box_mesh(1, 1, 1, 1, 1, 1);
    double directions[5][3] = {{2, 0, 0}, {0, -3, 0}, {0, 0, 1e200}, {1, 1, 0}, {1e-300, 0, 0}};
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material.fibre_stiffness = 10;
    body.material.fibre_directions = &directions[0][0];
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    hk_model *m;
    CHECK_OK(hk_model_create(&def, &m));
    for (int t = 0; t < 5; t++) {
        const double *f = m->fibre + 3 * t;
        assert_true(fabs(f[0] * f[0] + f[1] * f[1] + f[2] * f[2] - 1) < 1e-15);
    }
    assert_true(m->fibre[3 + 1] == -1 && m->fibre[6 + 2] == 1 && m->fibre[12] == 1);
    hk_model_free(m);
    directions[3][0] = directions[3][1] = 0;
    refuse(&def, HK_BAD_INPUT, "fibre direction of tet 3");
    directions[3][0] = NAN;
    refuse(&def, HK_BAD_INPUT, "fibre direction of tet 3");
    hk_mesh_free(mesh);
}

// A cube with a vertex of no tet beside it.
static hk_mesh *cube_and_stray(void)
{
    hk_mesh *box = box_mesh(1, 1, 1, 1, 1, 1), *mesh;
    double positions[27];
    memcpy(positions, hk_mesh_positions(box), 24 * sizeof(double));
    positions[24] = 0.25, positions[25] = 0.5, positions[26] = 0.75;
    CHECK_OK(hk_mesh_from_arrays(9, positions, 5, hk_mesh_tets(box), 0, NULL, &mesh));
    hk_mesh_free(box);
    return mesh;
}

// It is held still, carries no share of a load, and does not count as a piece that floats.
static void test_vertex_of_no_tet(void **state)
{
    (void)state;
    hk_load_def pull = {
        .def_size = sizeof(hk_load_def), .select = {.kind = HK_SELECT_ALL}, .force = {8, 0, 0}};
    hk_selector wall = select_box(0, 0, 0, 0, 1, 1);
    hk_body_def body = hk_default_body_def();
    body.loads = &pull;
    body.load_count = 1;
    body.fixes = &wall;
    body.fix_count = 1;
    body.velocity[0] = 1;
    hk_model *m = model_of(&body, cube_and_stray(), -9.81);
    assert_int_equal(m->unreferenced, 1);
    assert_int_equal(m->hold[8], HK_FIXED);
    assert_true(m->mass[8] == 0 && m->load[24] == 0 && m->velocity[24] == 0);
    assert_true(fabs(sum(m->load, 0, 9, 3) - 8) < 1e-12);
    hk_world *world = world_of(m, 0.01, 1);
    hk_step_report r;
    CHECK_OK(hk_world_step(world, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    CHECK_OK(hk_world_pose(world, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    const double *x = hk_world_positions(world) + 24;
    assert_true(x[0] == 0.25 && x[1] == 0.5 && x[2] == 0.75);
    hk_world_free(world);
    // A load on it alone would pull nothing.
    hk_mesh *mesh = cube_and_stray();
    static const int32_t stray[1] = {8};
    pull.select = (hk_selector){.kind = HK_SELECT_VERTICES, .vertices = stray, .vertex_count = 1};
    body.mesh = mesh;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    refuse(&def, HK_BAD_INPUT, "load 0: it selects no vertex of a tet");
    hk_mesh_free(mesh);
}

// By area every vertex of a face gets its part; evenly each the same; both sum to the force.
static void test_loads(void **state)
{
    (void)state;
    for (int by_area = 0; by_area < 2; by_area++) {
        hk_load_def loads[2] = {{.def_size = sizeof(hk_load_def),
                                 .select = select_box(1, 0, 0, 1, 1, 1),
                                 .force = {0, -12, 3}},
                                {.def_size = sizeof(hk_load_def),
                                 .select = select_box(1, 0, 0, 1, 1, 1),
                                 .force = {5, 0, 0}}};
        for (int k = 0; k < 2; k++) loads[k].distribution = by_area ? HK_BY_AREA : HK_EVENLY;
        hk_body_def body = hk_default_body_def();
        body.loads = loads;
        body.load_count = 2;
        hk_model *m = model_of(&body, box_mesh(1, 1, 1, 2, 4, 4), 0);
        assert_true(fabs(sum(m->load, 0, m->vertex_count, 3) - 5) < 1e-12);
        assert_true(fabs(sum(m->load + 1, 0, m->vertex_count, 3) + 12) < 1e-12);
        assert_true(fabs(sum(m->load + 2, 0, m->vertex_count, 3) - 3) < 1e-12);
        for (int v = 0; v < m->vertex_count; v++) {
            const double *X = m->rest + 3 * v, *f = m->load + 3 * v;
            bool inner = X[0] == 1 && X[1] > 0 && X[1] < 1 && X[2] > 0 && X[2] < 1;
            if (X[0] < 1) assert_true(f[0] == 0 && f[1] == 0 && f[2] == 0);
            if (!by_area && X[0] == 1) assert_true(fabs(f[0] - 0.2) < 1e-15);
            // A quarter of the 16 cells' area each, or two thirds or four thirds of it by the cut.
            if (by_area && inner)
                assert_true(fabs(f[0] - 5.0 / 16 * 2 / 3) < 1e-12 ||
                            fabs(f[0] - 5.0 / 16 * 4 / 3) < 1e-12);
        }
        hk_model_free(m);
    }
}

// A motion wins over a fix, a later one over an earlier one; it turns about its centre, then
// shifts.
static void test_holds(void **state)
{
    (void)state;
    hk_selector all = {.kind = HK_SELECT_ALL};
    hk_move_def moves[2] = {{.def_size = sizeof(hk_move_def),
                             .select = select_box(0, 0, 0, 0, 1, 1),
                             .motion = {.translate = {0, 2, 0}}},
                            {.def_size = sizeof(hk_move_def),
                             .select = select_box(0, 0, 0, 1, 0, 1),
                             .motion = {.axis = {0, 0, 1e-180},
                                        .center = {1, 0, 0},
                                        .degrees = 90,
                                        .translate = {0, 0, 5},
                                        .over = 2}}};
    hk_body_def body = hk_default_body_def();
    body.fixes = &all;
    body.fix_count = 1;
    body.moves = moves;
    body.move_count = 2;
    hk_model *m = model_of(&body, box_mesh(1, 1, 1, 1, 1, 1), 0);
    for (int v = 0; v < 8; v++) {
        const double *X = m->rest + 3 * v;
        int expected = X[1] == 0 ? 1 : X[0] == 0 ? 0 : HK_FIXED;
        assert_int_equal(m->hold[v], expected);
        double x[3];
        hk_model_held_position(m, v, 1, x);
        if (expected == HK_FIXED) assert_memory_equal(x, X, sizeof x);
        if (expected == 0) assert_true(x[0] == X[0] && x[1] == X[1] + 2 && x[2] == X[2]);
        if (expected == 1) {  // half way: 45 degrees and 2.5 m
            double r = (X[0] - 1) / sqrt(2);
            assert_true(fabs(x[0] - 1 - r) < 1e-15 && fabs(x[1] - r) < 1e-15);
            assert_true(fabs(x[2] - X[2] - 2.5) < 1e-15);
        }
        double late[3], end[3];
        hk_model_held_position(m, v, 1e9, late);
        hk_model_held_position_at(m, v, 1, end);
        assert_memory_equal(late, end, sizeof end);
    }
    hk_model_free(m);
}

static void test_definitions_that_are_refused(void **state)
{
    (void)state;
    hk_mesh *mesh = box_mesh(1, 1, 1, 1, 1, 1), *sheet;
    hk_mesh_def sheet_def = hk_default_mesh_def(HK_SHAPE_SHEET);
    CHECK_OK(hk_mesh_make(&sheet_def, &sheet));
    hk_model_def def = hk_default_model_def();
    refuse(&def, HK_BAD_INPUT, "at least one body");
    def.body_count = 1;
    refuse(&def, HK_BAD_INPUT, "at least one body");
    hk_body_def good = hk_default_body_def(), body = good;
    good.mesh = mesh;
    def.bodies = &body;
    refuse(&def, HK_BAD_INPUT, "no mesh");
    body.mesh = sheet;
    refuse(&def, HK_UNSUPPORTED, "no tetrahedra");
#define REFUSE(change, status, fragment) \
    do {                                 \
        body = good;                     \
        change;                          \
        refuse(&def, status, fragment);  \
    } while (0)
    REFUSE(body.velocity[1] = NAN, HK_BAD_INPUT, "velocity");
    REFUSE(body.transform.scale = 0, HK_BAD_INPUT, "scale");
    REFUSE(body.transform.translate[0] = INFINITY, HK_BAD_INPUT, "translate");
    REFUSE(body.transform.degrees = NAN, HK_BAD_INPUT, "rotate");
    REFUSE(body.transform.scale = 1e-120, HK_BAD_INPUT, "volume");
    REFUSE(body.transform.scale = 1e120, HK_BAD_INPUT, "volume");
    REFUSE(body.fix_count = 1, HK_BAD_INPUT, "fixes is NULL");
    REFUSE(body.move_count = 1, HK_BAD_INPUT, "moves is NULL");
    REFUSE(body.load_count = 1, HK_BAD_INPUT, "loads is NULL");
    REFUSE(body.region_count = 1, HK_BAD_INPUT, "regions is NULL");
    REFUSE(body.load_count = -1, HK_BAD_INPUT, "loads is -1");
    hk_move_def move = {.def_size = sizeof(hk_move_def),
                        .select = {.kind = HK_SELECT_ALL},
                        .motion = {.degrees = 10}};
    good.moves = &move;
    good.move_count = 1;
    REFUSE((void)0, HK_BAD_INPUT, "move 0: the axis has no length");
    move.motion.degrees = 0;
    REFUSE(move.motion.over = -1, HK_BAD_INPUT, "move 0");
    REFUSE(move.motion.over = NAN, HK_BAD_INPUT, "move 0");
    move.motion.over = 0;
    REFUSE(move.motion.center[2] = NAN, HK_BAD_INPUT, "move 0");
    good.move_count = 0;
    hk_load_def load = {.def_size = sizeof(hk_load_def), .select = {.kind = HK_SELECT_ALL}};
    good.loads = &load;
    good.load_count = 1;
    REFUSE(load.force[0] = NAN, HK_BAD_INPUT, "load 0: the force");
    load.force[0] = 0;
    REFUSE(load.distribution = (hk_distribution)7, HK_BAD_INPUT, "load 0: unknown distribution");
    load.distribution = HK_BY_AREA;
    static const int32_t one[1] = {0};
    load.select = (hk_selector){.kind = HK_SELECT_VERTICES, .vertices = one, .vertex_count = 1};
    REFUSE((void)0, HK_BAD_INPUT, "no whole surface triangle");
    good.load_count = 0;
    hk_region_def region = {.def_size = sizeof(hk_region_def),
                            .select = select_box(5, 5, 5, 6, 6, 6),
                            .material = good.material};
    good.regions = &region;
    good.region_count = 1;
    REFUSE((void)0, HK_BAD_INPUT, "region 0: it selects no tet");
    region.select.kind = HK_SELECT_ALL;
    REFUSE(region.material.poisson = 0.5, HK_BAD_INPUT, "region 0: material neo_hookean: poisson");
    body = good;
    def.gravity[0] = NAN;
    refuse(&def, HK_BAD_INPUT, "gravity");
    hk_mesh_free(mesh);
    hk_mesh_free(sheet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_several_bodies),
        cmocka_unit_test(test_regions_overlap),
        cmocka_unit_test(test_fibre_directions_per_tet),
        cmocka_unit_test(test_vertex_of_no_tet),
        cmocka_unit_test(test_loads),
        cmocka_unit_test(test_holds),
        cmocka_unit_test(test_definitions_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
