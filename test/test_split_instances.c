// Method split in scenes of many bodies: equal ones share a factor and the rest shapes of their
// elements, and move as they would alone.
#include "bodies.h"
#include "solver/split.h"
#include "world/world.h"

enum { MOST_BODIES = 8 };

// Bodies of one mesh, side by side along z.
typedef struct crowd {
    hk_body_def bodies[MOST_BODIES];
    hk_selector fixed[MOST_BODIES];
    hk_mesh *mesh;
    int count;
} crowd;

static void place_body(crowd *c, int k, double x, double z)
{
    hk_body_def *b = &c->bodies[k];
    b->transform.translate[0] = x;
    b->transform.translate[2] = z;
    c->fixed[k] = select_box(x - 1e-4, -1, z - 1, x + 1e-4, 1, z + 1);
    b->fixes = &c->fixed[k];
    b->fix_count = 1;
}

static crowd make_crowd(int count)
{
    crowd c = {.mesh = box_mesh(1, 0.25, 0.25, 8, 2, 2), .count = count};
    for (int k = 0; k < count; k++) {
        c.bodies[k] = hk_default_body_def();
        c.bodies[k].mesh = c.mesh;
        c.bodies[k].material = material_of("fixed_corotated", 1e5, 0.4);
        c.bodies[k].velocity[1] = 0.3;
    }
    return c;
}

static hk_world *world_of_crowd(crowd *c, int threads, int passes)
{
    hk_model_def model_def = hk_default_model_def();
    model_def.bodies = c->bodies;
    model_def.body_count = c->count;
    model_def.gravity[1] = -9.81;
    hk_model *model;
    CHECK_OK(hk_model_create(&model_def, &model));
    hk_option options[] = {{"passes", passes, NULL}};
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.threads = threads;
    def.solver = (hk_solver_def){.def_size = sizeof(hk_solver_def),
                                 .method = "split",
                                 .options = options,
                                 .option_count = 1};
    hk_world *world;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

static void free_crowd(crowd *c)
{
    hk_mesh_free(c->mesh);
}

static void advance(hk_world *world, int steps)
{
    for (int k = 0; k < steps; k++) {
        hk_step_report r;
        CHECK_OK(hk_world_step(world, &r));
        assert_int_not_equal(hk_reason_outcome(r.reason), HK_OUTCOME_FAILED);
    }
}

static const hk_components *pieces_of(const hk_world *world)
{
    return ((const hk_split *)world->solver)->components;
}

static const hk_corotation *elements_of(const hk_world *world)
{
    return ((const hk_split *)world->solver)->elements;
}

// ---------------------------------------------------------------- tests

static void test_equal_bodies_share(void **state)
{
    (void)state;
    for (int passes = 1; passes <= 4; passes += 3) {
        crowd many = make_crowd(5), one = make_crowd(1);
        for (int k = 0; k < 5; k++) place_body(&many, k, 0.3 * k, 0.7 * k);
        place_body(&one, 0, 0, 0);
        hk_world *all = world_of_crowd(&many, 1, passes), *alone = world_of_crowd(&one, 1, passes);
        assert_int_equal(pieces_of(all)->component_count, 5);
        assert_int_equal(pieces_of(all)->shape_count, 1);
        assert_int_equal(pieces_of(all)->shapes[0].copies, 5);
        assert_int_equal(elements_of(all)->own_count, elements_of(alone)->own_count);
        assert_non_null(strstr(hk_world_describe(all), "1 factors for 5 components"));
        advance(all, 30);
        advance(alone, 30);
        int count = alone->model->vertex_count;
        double most = 0, moved = 0;
        for (int b = 0; b < 5; b++)
            for (int v = 0; v < count; v++)
                for (int i = 0; i < 3; i++) {
                    double shift = i == 0 ? 0.3 * b : i == 2 ? 0.7 * b : 0;
                    double x = alone->positions[3 * v + i];
                    most = fmax(most, fabs(all->positions[3 * (b * count + v) + i] - shift - x));
                    moved = fmax(moved, fabs(x - alone->model->rest[3 * v + i]));
                }
        printf("%d passes: %.1e apart after moving %.2f m\n", passes, most, moved);
        // With several passes the bodies share the lengths of their steps.
        // Several passes stop by what rounding leaves of their residuals: 2.6e-4 m was seen with
        // AVX2.
        assert_true(moved > 0.05 && most < (passes == 1 ? 1e-6 : 1e-3));
        // As much memory for factors as one body needs.
        assert_int_equal(hk_components_factor_size(pieces_of(all)),
                         hk_components_factor_size(pieces_of(alone)));
        hk_world_free(all);
        hk_world_free(alone);
        free_crowd(&many);
        free_crowd(&one);
    }
}

// Turned instances share; another material, another density, other held vertices and another size
// do not.
static void test_only_equal_bodies_share(void **state)
{
    (void)state;
    crowd c = make_crowd(7);
    for (int k = 0; k < 7; k++) place_body(&c, k, 0, 0.7 * k);
    for (int k = 1; k < 3; k++) {  // held at the same vertices: the box turns with the body
        c.bodies[k].transform.degrees = 180.0 / k;
        c.bodies[k].transform.axis[0] = c.bodies[k].transform.axis[1] = 0;
        c.bodies[k].transform.axis[2] = 1;
        c.fixed[k] = k == 1 ? select_box(-1e-4, -1, 0, 1e-4, 1, 1 + 0.7 * k)
                            : select_box(-1, -1e-4, 0, 1, 1e-4, 1 + 0.7 * k);
    }
    c.bodies[3].material.young = 1.001e5;
    c.bodies[4].material.density = 1001;
    c.fixed[5] = select_box(-1e-4, -1, -1, 0.2, 1, 10);
    c.bodies[6].transform.scale = 1.001;
    hk_world *world = world_of_crowd(&c, 1, 1);
    const hk_components *p = pieces_of(world);
    assert_int_equal(p->component_count, 7);
    assert_int_equal(p->shape_count, 2);
    assert_int_equal(p->shapes[0].copies, 3);
    assert_int_equal(p->shapes[1].copies, 1);
    assert_int_equal(p->shapes[1].count, p->count - 3 * p->shapes[0].count);
    // Elements: held vertices and densities are none of their business.
    static const int lenders[] = {0, 0, 0, 3, 0, 0, 6};
    assert_int_equal(elements_of(world)->patch_count, 7);
    for (int k = 0; k < 7; k++) assert_int_equal(elements_of(world)->lender[k], lenders[k]);
    advance(world, 20);
    // Each is as it would be alone.
    for (int k = 0; k < 7; k++) {
        crowd one = make_crowd(1);
        one.bodies[0] = c.bodies[k];
        hk_world *alone = world_of_crowd(&one, 1, 1);
        advance(alone, 20);
        int count = alone->model->vertex_count;
        double most = 0;
        for (int i = 0; i < 3 * count; i++)
            most = fmax(most, fabs(world->positions[3 * k * count + i] - alone->positions[i]));
        printf("body %d: %.1e\n", k, most);
        assert_true(most < 1e-5);
        hk_world_free(alone);
        free_crowd(&one);
    }
    hk_world_free(world);
    free_crowd(&c);
}

static void test_same_bits_for_all_threads(void **state)
{
    (void)state;
    crowd c = make_crowd(8);  // enough tets for several threads, three of a kind and others
    hk_mesh_free(c.mesh);
    c.mesh = box_mesh(1, 0.25, 0.25, 16, 4, 4);
    for (int k = 0; k < 8; k++) {
        c.bodies[k].mesh = c.mesh;
        place_body(&c, k, 0, 0.7 * k);
        if (k >= 3) c.bodies[k].material.young *= 1 + 0.1 * (k / 2);
    }
    hk_world *first = world_of_crowd(&c, 1, 1);
    advance(first, 10);
    for (int threads = 2; threads <= 5; threads++) {
        hk_world *world = world_of_crowd(&c, threads, 1);
        assert_int_equal(world->problem->threads, threads);
        advance(world, 10);
        assert_memory_equal(world->positions, first->positions,
                            24 * (size_t)first->model->vertex_count);
        hk_world_free(world);
    }
    hk_world_free(first);
    free_crowd(&c);
}

// Copies too large for a thread each are solved by all threads; the time step changes.
static void test_large_copies(void **state)
{
    (void)state;
    if (SANITIZED) return;
    double *kept = NULL;
    for (int threads = 1; threads <= 2; threads++) {
        crowd c = make_crowd(2);
        hk_mesh_free(c.mesh);
        c.mesh = box_mesh(1, 0.8, 0.8, 24, 20, 20);
        for (int k = 0; k < 2; k++) {
            c.bodies[k].mesh = c.mesh;
            place_body(&c, k, 0, 1.5 * k);
        }
        hk_world *world = world_of_crowd(&c, threads, 1);
        advance(world, 3);
        const hk_components *p = pieces_of(world);
        assert_int_equal(p->shapes[0].copies, 2);
        assert_true(hk_factor_extra(p->shapes[0].triangle) > 0);
        int half = world->model->vertex_count / 2;
        double most = 0;
        for (int v = 0; v < half; v++)
            for (int i = 0; i < 3; i++)
                most = fmax(most, fabs(world->positions[3 * v + i] + (i == 2 ? 1.5 : 0) -
                                       world->positions[3 * (half + v) + i]));
        assert_true(most < 1e-6);
        if (kept)
            assert_memory_equal(kept, world->positions, 48 * (size_t)half);
        else
            kept = memcpy(malloc(48 * (size_t)half), world->positions, 48 * (size_t)half);
        hk_world_free(world);
        free_crowd(&c);
    }
    free(kept);
}

// A body of several pieces that are equal, one that nothing touches, and links.
static void test_pieces_within_a_body(void **state)
{
    (void)state;
    static const double x[][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1},
                                  {5, 0, 0}, {6, 0, 0}, {5, 1, 0}, {5, 0, 1},
                                  {9, 0, 0}, {9, 3, 0}, {9, 0, 3}, {13, 0, 0}};
    static const int32_t tets[][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 11, 9, 10}};
    crowd c = make_crowd(2);
    hk_mesh_free(c.mesh);
    CHECK_OK(hk_mesh_from_arrays(12, x[0], 3, tets[0], 0, NULL, &c.mesh));
    for (int k = 0; k < 2; k++) c.bodies[k].mesh = c.mesh;
    c.bodies[1].transform.translate[2] = 20;
    hk_world *world = world_of_crowd(&c, 1, 1);
    const hk_components *p = pieces_of(world);
    assert_int_equal(p->component_count, 6);
    assert_int_equal(p->shape_count, 2);
    assert_int_equal(p->shapes[0].copies + p->shapes[1].copies, 6);
    advance(world, 20);  // free fall: 20 steps of backward Euler
    double fall = 0.3 * 0.2 - 9.81 * 1e-4 * 210;
    for (int v = 0; v < 24; v++)
        assert_true(fabs(world->positions[3 * v + 1] - x[v % 12][1] - fall) < 1e-5);
    hk_world_free(world);
    free_crowd(&c);
}

// What scenes/large/make.py writes: three kinds, four of each, turned at random.
static void test_generated_scene(void **state)
{
    (void)state;
    hk_scene *scene;
    hk_model *model;
    hk_world *world;
    CHECK_OK(hk_scene_load("../scenes/large/bodies12.json", NULL, 0, &scene));
    CHECK_OK(hk_model_create(hk_scene_model(scene), &model));
    hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
    def.model = model;
    def.threads = 1;
    CHECK_OK(hk_world_create(&def, &world));
    const hk_body_def *bodies = hk_scene_model(scene)->bodies;
    for (int k = 3; k < 12; k++) assert_ptr_equal(bodies[k].mesh, bodies[k % 3].mesh);
    assert_ptr_not_equal(bodies[0].mesh, bodies[1].mesh);
    const hk_components *p = pieces_of(world);
    assert_int_equal(p->component_count, 12);
    assert_int_equal(p->shape_count, 3);
    for (int k = 0; k < 3; k++) assert_int_equal(p->shapes[k].copies, 4);
    const hk_corotation *e = elements_of(world);
    assert_int_equal(4 * e->own_count, e->patch_count);
    advance(world, 50);
    hk_energy energy;
    CHECK_OK(hk_world_energy(world, &energy, NULL));
    double lowest = INFINITY;
    for (int v = 0; v < model->vertex_count; v++)
        lowest = fmin(lowest, world->positions[3 * v + 1]);
    assert_true(isfinite(energy.total) && lowest > -0.5);  // they stand and swing
    hk_world_free(world);
    hk_model_free(model);
    hk_scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_bodies_share),
        cmocka_unit_test(test_only_equal_bodies_share),
        cmocka_unit_test(test_same_bits_for_all_threads),
        cmocka_unit_test(test_large_copies),
        cmocka_unit_test(test_pieces_within_a_body),
        cmocka_unit_test(test_generated_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
