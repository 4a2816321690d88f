// Every public call under an allocator that fails at its n-th call, for all n: a clear status, no
// leak, outputs untouched; and a warm time step that allocates nothing.
#include "bodies.h"
#include "failing_alloc.h"

#include <unistd.h>

static const char SCENE[] =
    "{\"time\":{\"step\":0.01,\"steps\":2},"
    "\"damping\":{\"air\":0.1,\"viscous\":0.01,\"ether\":0.1,\"pbd\":0.1},"
    "\"bodies\":[{\"name\":\"a\",\"mesh\":{\"box\":{\"size\":[1,0.3,0.3],\"cells\":[3,1,1]}},"
    "\"skin\":{\"sheet\":{\"size\":[1,0.3],\"cells\":[2,1]}},"
    "\"material\":{\"model\":\"neo_hookean\",\"young\":1e6,\"poisson\":0.4,"
    "\"fibre\":{\"stiffness\":1e5,\"direction\":[1,0,0]}},"
    "\"regions\":[{\"select\":{\"box\":[[0,0,0],[0.4,1,1]]},"
    "\"material\":{\"model\":\"stvk\",\"young\":1e6,\"poisson\":0.3}}],"
    "\"fix\":[{\"any\":[{\"box\":[[0,-1,-1],[0,1,1]]},{\"vertices\":[0]}]}],"
    "\"move\":[{\"select\":{\"box\":[[1,-1,-1],[1,1,1]]},\"translate\":[0.05,0,0],\"over\":1}],"
    "\"load\":[{\"select\":{\"all\":true},\"force\":[0,1,0],\"distribute\":\"area\"}]},"
    "{\"name\":\"b\",\"mesh\":{\"sheet\":{\"size\":[1,1],\"cells\":[3,2]}},"
    "\"transform\":{\"translate\":[0,-1,0]},"
    "\"material\":{\"model\":\"mass_spring\",\"stretch\":100,\"bending\":0.01,\"density\":0.1},"
    "\"fix\":[{\"vertices\":[0,1,2,3]}],"
    "\"attach\":[{\"select\":{\"vertices\":[8,11]},\"stiffness\":10,\"translate\":[0,0.1,0]}]}]}";

// A whole life: scene, model, world, step, pose, results, files. Everything is freed.
static hk_status live(const char *folder)
{
    char path[256];
    hk_scene *scene = NULL;
    hk_model *model = NULL;
    hk_world *world = NULL;
    hk_mesh *mesh = NULL, *loaded = NULL;
    const char *sets[] = {"bodies.0.material.young=2e5"};
    snprintf(path, sizeof path, "%s/scene.json", folder);
    hk_status status = hk_scene_load(path, sets, 1, &scene);
    if (status == HK_OK) status = hk_model_create(hk_scene_model(scene), &model);
    if (status == HK_OK) {
        hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
        def.model = model;
        def.threads = 1;
        status = hk_world_create(&def, &world);
    }
    hk_step_report report;
    hk_energy energy;
    double values[1024];
    if (status == HK_OK) status = hk_world_step(world, &report);
    if (status == HK_OK) status = hk_world_pose(world, &report);
    if (status == HK_OK) status = hk_world_energy(world, &energy, values);
    if (status == HK_OK) status = hk_world_field(world, "von_mises", values);
    if (status == HK_OK) status = hk_world_mesh(world, &mesh);
    static const char *const endings[] = {"vtu", "msh", "obj", "stl", "ply", "glb"};
    for (int k = 0; k < 6 && status == HK_OK; k++) {
        snprintf(path, sizeof path, "%s/out.%s", folder, endings[k]);
        status = hk_world_save(world, path);
        if (status == HK_OK && k < 5) status = hk_mesh_load(path, &loaded);
        hk_mesh_free(loaded);
        loaded = NULL;
    }
    snprintf(path, sizeof path, "%s/points.csv", folder);
    if (status == HK_OK) status = hk_world_save_points(world, path);
    snprintf(path, sizeof path, "%s/series.pvd", folder);
    double times[1] = {0};
    const char *files[1] = {"out.vtu"};
    if (status == HK_OK) status = hk_series_save(path, times, files, 1);
    hk_mesh_report check;
    if (status == HK_OK) status = hk_mesh_check(mesh, &check);
    hk_mesh_free(mesh);
    hk_world_free(world);
    hk_model_free(model);
    hk_scene_free(scene);
    return status;
}

static void write_scene(const char *folder)
{
    char path[256];
    snprintf(path, sizeof path, "%s/scene.json", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(SCENE, file);
    assert_int_equal(fclose(file), 0);
}

static void test_every_failing_allocation(void **state)
{
    (void)state;
    char folder[] = "/tmp/hooke-memory-XXXXXX", command[64];
    assert_non_null(mkdtemp(folder));
    write_scene(folder);
    for (int n = 1;; n++) {
        failing_alloc_install(n);
        hk_status status = live(folder);
        int used = failing_alloc_count(), left = failing_alloc_live();
        failing_alloc_remove();
        if (left != 0) fail_msg("allocation %d fails: %d blocks leak", n, left);
        if (used < n) {
            if (status != HK_OK) fail_msg("%s", hk_error());
            printf("%d allocations in a life, each failed once\n", n - 1);
            break;
        }
        if (status != HK_NO_MEMORY)
            fail_msg("allocation %d fails: status %s (%s)", n, hk_status_name(status), hk_error());
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void test_warm_step_allocates_nothing(void **state)
{
    (void)state;
    failing_alloc_install(0);
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 1, 1);
    body.fixes = &wall;
    body.fix_count = 1;
    hk_world *world = world_of(model_of(&body, box_mesh(1, 0.2, 0.2, 8, 2, 2), -9.81), 0.01, 1);
    hk_step_report report;
    CHECK_OK(hk_world_step(world, &report));
    int before = failing_alloc_count();
    for (int k = 0; k < 5; k++) CHECK_OK(hk_world_step(world, &report));
    assert_int_equal(failing_alloc_count(), before);
    hk_world_free(world);
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_remove();
}

static hk_status find_rest_shapes(void)
{
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 1, 1);
    body.fixes = &wall;
    body.fix_count = 1;
    hk_mesh_def mesh_def = hk_default_mesh_def(HK_SHAPE_BOX);
    mesh_def.size[1] = mesh_def.size[2] = 0.2;
    mesh_def.cells[0] = 6;
    mesh_def.cells[1] = mesh_def.cells[2] = 1;
    hk_mesh *mesh = NULL;
    hk_model *model = NULL, *found = NULL;
    hk_status status = hk_mesh_make(&mesh_def, &mesh);
    hk_model_def def = hk_default_model_def();
    body.mesh = mesh;
    def.bodies = &body;
    def.body_count = 1;
    if (status == HK_OK) status = hk_model_create(&def, &model);
    for (int m = 0; m < hk_rest_method_count() && status == HK_OK; m++) {
        hk_rest_def rest_def = hk_default_rest_def();
        hk_rest *rest = NULL;
        rest_def.model = model;
        rest_def.method = hk_rest_method_name(m);
        rest_def.threads = 1;
        status = hk_rest_create(&rest_def, &rest);
        hk_rest_report report = {0};
        if (status == HK_OK) status = hk_rest_solve(rest, NULL, &report);
        if (status == HK_OK && m == 0) status = hk_rest_find_overlaps(rest, &report);
        if (status == HK_OK) status = hk_rest_set_shape(rest, hk_mesh_positions(mesh));
        if (status == HK_OK) status = hk_rest_model(rest, &found);
        hk_model_free(found);
        found = NULL;
        hk_rest_free(rest);
    }
    hk_model_free(model);
    hk_mesh_free(mesh);
    return status;
}

static hk_status fit_materials(void)
{
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 1, 1);
    hk_region_def region = hk_default_region_def();
    region.select = select_box(0.5, -1, -1, 2, 2, 2);
    body.material.model = region.material.model = "spline";
    static const double points[6] = {0.5, -5e5, 1, 0, 2, 1e6};
    body.material.f = (hk_curve){points, 3};
    body.fixes = &wall;
    body.fix_count = 1;
    body.regions = &region;
    body.region_count = 1;
    hk_mesh_def mesh_def = hk_default_mesh_def(HK_SHAPE_BOX);
    mesh_def.size[1] = mesh_def.size[2] = 0.2;
    mesh_def.cells[0] = 6;
    mesh_def.cells[1] = mesh_def.cells[2] = 1;
    hk_mesh *mesh = NULL;
    hk_fit *fit = NULL;
    hk_model *found = NULL;
    hk_status status = hk_mesh_make(&mesh_def, &mesh);
    hk_model_def model = hk_default_model_def();
    body.mesh = mesh;
    model.bodies = &body;
    model.body_count = 1;
    hk_fit_def def = hk_default_fit_def();
    def.model = &model;
    def.vary = "bodies.0.regions.0.young,density";
    def.iterations = 2;
    def.threads = 1;
    const int32_t vertices[2] = {27, 24};
    const double positions[6] = {1, 0.19, 0.2, 1, -0.01, 0};
    if (status == HK_OK) status = hk_fit_create(&def, &fit);
    if (status == HK_OK) status = hk_fit_set_target(fit, 2, vertices, positions);
    if (status == HK_OK) status = hk_fit_solve(fit, NULL);
    if (status == HK_OK) status = hk_fit_model(fit, &found);
    hk_model_free(found);
    hk_fit_free(fit);
    hk_mesh_free(mesh);
    return status;
}

// Each allocation of `work` fails once: that is told, and nothing leaks.
static void fail_every_allocation(hk_status (*work)(void))
{
    for (int n = 1;; n++) {
        failing_alloc_install(n);
        hk_status status = work();
        int used = failing_alloc_count(), left = failing_alloc_live();
        failing_alloc_remove();
        if (left != 0) fail_msg("allocation %d fails: %d blocks leak", n, left);
        if (used < n) {
            if (status != HK_OK) fail_msg("%s", hk_error());
            break;
        }
        if (status != HK_NO_MEMORY)
            fail_msg("allocation %d fails: status %s (%s)", n, hk_status_name(status), hk_error());
    }
}

static void test_rest_shapes_with_failing_allocations(void **state)
{
    (void)state;
    fail_every_allocation(find_rest_shapes);
}

static void test_fits_with_failing_allocations(void **state)
{
    (void)state;
    fail_every_allocation(fit_materials);
}

static void test_warm_rest_shape_allocates_nothing(void **state)
{
    (void)state;
    failing_alloc_install(0);
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 1, 1);
    body.fixes = &wall;
    body.fix_count = 1;
    hk_model *model = model_of(&body, box_mesh(1, 0.2, 0.2, 8, 2, 2), -9.81);
    for (int m = 0; m < 3; m++) {
        hk_rest_def def = hk_default_rest_def();
        hk_rest *rest = NULL;
        def.model = model;
        def.method = hk_rest_method_name(m);
        def.threads = 1;
        CHECK_OK(hk_rest_create(&def, &rest));
        hk_rest_report report;
        CHECK_OK(hk_rest_solve(rest, NULL, &report));
        CHECK_OK(hk_rest_find_overlaps(rest, &report));
        int before = failing_alloc_count();
        CHECK_OK(hk_rest_solve(rest, NULL, &report));
        CHECK_OK(hk_rest_find_overlaps(rest, &report));
        assert_int_equal(failing_alloc_count(), before);
        hk_rest_free(rest);
    }
    hk_model_free(model);
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_failing_allocation),
        cmocka_unit_test(test_rest_shapes_with_failing_allocations),
        cmocka_unit_test(test_fits_with_failing_allocations),
        cmocka_unit_test(test_warm_rest_shape_allocates_nothing),
        cmocka_unit_test(test_warm_step_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
