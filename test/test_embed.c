// Surfaces that tets carry along: where their vertices are bound, how they follow, and skins of
// bodies there and back.
#include "bodies.h"
#include "failing_alloc.h"

#include <unistd.h>

#include "mesh/embed.h"

// ---------------------------------------------------------------- meshes

static hk_mesh *sphere_mesh(double radius, int cells, const double centre[3])
{
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_SPHERE);
    def.radius = radius;
    def.cells[0] = cells;
    hk_mesh *mesh = NULL;
    CHECK_OK(hk_mesh_make(&def, &mesh));
    double *x = malloc(3 * sizeof(double) * (size_t)hk_mesh_vertex_count(mesh));
    assert_non_null(x);
    for (int k = 0; k < 3 * hk_mesh_vertex_count(mesh); k++)
        x[k] = hk_mesh_positions(mesh)[k] + centre[k % 3];
    CHECK_OK(hk_mesh_set_positions(mesh, x));
    free(x);
    return mesh;
}

// Points as a surface: every three of them are a triangle.
static hk_mesh *cloud_of(const double *points, int count)
{
    int32_t *triangles = malloc(3 * sizeof(int32_t) * (size_t)count);
    assert_non_null(triangles);
    for (int k = 0; k < 3 * count; k++) triangles[k] = (k / 3 + k % 3) % count;
    hk_mesh *mesh = NULL;
    CHECK_OK(hk_mesh_from_arrays(count, points, 0, NULL, count, triangles, &mesh));
    free(triangles);
    return mesh;
}

static hk_embedding *embed(const hk_mesh *mesh, const hk_mesh *surface, int threads)
{
    hk_embedding *e = NULL;
    CHECK_OK(hk_embedding_create(mesh, surface, threads, &e));
    return e;
}

static double *scratch(int vertices)
{
    double *x = malloc(3 * sizeof(double) * (size_t)vertices);
    assert_non_null(x);
    return x;
}

// Shears, turns, stretches and shifts.
static void affine(double size, const double p[3], double q[3])
{
    static const double A[3][3] = {{1.3, 0.4, -0.2}, {-0.7, 0.8, 0.3}, {0.1, -0.5, 1.6}};
    for (int i = 0; i < 3; i++)
        q[i] = A[i][0] * p[0] + A[i][1] * p[1] + A[i][2] * p[2] + size * (0.3 - i);
}

// ---------------------------------------------------------------- affine motions

// At any size; the sphere is partly outside of the box.
static void test_affine_motions_are_exact(void **state)
{
    (void)state;
    static const double sizes[] = {1, 1e-3, 1e90, 1e-90};
    for (int k = 0; k < 4; k++) {
        double size = sizes[k], centre[3] = {0.5 * size, 0.5 * size, 0.9 * size};
        hk_mesh *mesh = box_mesh(size, size, size, 4, 5, 6);
        hk_mesh *ball = sphere_mesh(0.4 * size, 14, centre);
        hk_embedding *e = embed(mesh, ball, 2);
        const hk_mesh *s = hk_embedding_surface(e);
        int n = hk_mesh_vertex_count(mesh), m = hk_mesh_vertex_count(s), vertex;
        double farthest, *x = scratch(n), *y = scratch(m), worst = 0;
        int outside = hk_embedding_outside(e, &farthest, &vertex);
        assert_true(outside > m / 5 && outside < m && vertex >= 0);
        assert_true(fabs(farthest - 0.3 * size) < 1e-9 * size);
        for (int v = 0; v < n; v++) affine(size, hk_mesh_positions(mesh) + 3 * v, x + 3 * v);
        CHECK_OK(hk_embedding_apply(e, 3, x, y));
        for (int v = 0; v < m; v++) {
            double q[3];
            affine(size, hk_mesh_positions(s) + 3 * v, q);
            for (int i = 0; i < 3; i++) worst = fmax(worst, fabs(y[3 * v + i] - q[i]));
        }
        if (!(worst <= 1e-14 * 100 * size)) fail_msg("size %g: off by %g", size, worst);
        free(x);
        free(y);
        hk_embedding_free(e);
        hk_mesh_free(ball);
        hk_mesh_free(mesh);
    }
}

// ---------------------------------------------------------------- which tet

static double distance_from_box(const double p[3])
{
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double out = fmax(0, fmax(-p[i], p[i] - 1));
        sum += out * out;
    }
    return sqrt(sum);
}

// In a unit cube distances are known, and so is what lies inside.
static void test_nearest_tets(void **state)
{
    (void)state;
    enum { COUNT = 4000 };
    hk_mesh *mesh = box_mesh(1, 1, 1, 7, 5, 6);
    double *p = scratch(COUNT), *back = scratch(COUNT), most = 0;
    uint64_t seed = 5;
    int outside = 0;
    for (int k = 0; k < 3 * COUNT; k++) p[k] = 0.5 + noise(&seed);
    hk_mesh *cloud = cloud_of(p, COUNT);
    hk_embedding *e = embed(mesh, cloud, 2);
    CHECK_OK(hk_embedding_apply(e, 3, hk_mesh_positions(mesh), back));
    for (int v = 0; v < COUNT; v++) {
        const double *w = e->weights + 4 * v;
        double least = fmin(fmin(w[0], w[1]), fmin(w[2], w[3]));
        double away = distance_from_box(p + 3 * v);
        assert_true(away > 0 || least > -1e-12);
        assert_true(away < 1e-9 || least < 0);
        for (int i = 0; i < 3; i++) assert_true(fabs(back[3 * v + i] - p[3 * v + i]) < 1e-14);
        outside += away > 0;
        most = fmax(most, away);
    }
    double farthest;
    assert_int_equal(hk_embedding_outside(e, &farthest, NULL), outside);
    assert_true(fabs(farthest - most) < 1e-13);
    hk_embedding_free(e);
    hk_mesh_free(cloud);
    hk_mesh_free(mesh);
    free(p);
    free(back);
}

// Corners, edges and faces of tets belong to several, and to no outside.
static void test_points_on_faces(void **state)
{
    (void)state;
    enum { COUNT = 21 * 21 * 21 };
    hk_mesh *mesh = box_mesh(1, 1, 1, 5, 5, 5);
    double *p = scratch(COUNT);
    for (int k = 0; k < COUNT; k++) {
        p[3 * k] = k % 21 / 20.0;
        p[3 * k + 1] = k / 21 % 21 / 20.0;
        p[3 * k + 2] = k / 441 / 20.0;
    }
    hk_mesh *cloud = cloud_of(p, COUNT);
    hk_embedding *e = embed(mesh, cloud, 1);
    double farthest;
    int vertex;
    assert_int_equal(hk_embedding_outside(e, &farthest, &vertex), 0);
    assert_true(farthest == 0 && vertex == -1);
    for (int k = 0; k < 4 * COUNT; k++) assert_true(e->weights[k] > -1e-12);
    hk_embedding_free(e);
    hk_mesh_free(cloud);
    hk_mesh_free(mesh);
    free(p);
}

// Two tets apart from each other, and one between them that is flat.
static void test_flat_tets_carry_nothing(void **state)
{
    (void)state;
    static const double x[] = {0, 0, 0, 1, 0, 0, 0,   1, 0, 0,   0, 1, 5,   0, 0, 6,   0, 0,
                               5, 1, 0, 5, 0, 1, 2.5, 0, 0, 2.6, 0, 0, 2.5, 1, 0, 2.6, 1, 0};
    static const int32_t tets[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    static const double p[] = {2.4, 0.2, 0.1, 3.6, 0.2, 0.1, 2.55, 0.5, 0};
    hk_mesh *mesh = NULL, *cloud = cloud_of(p, 3);
    CHECK_OK(hk_mesh_from_arrays(12, x, 3, tets, 0, NULL, &mesh));
    hk_embedding *e = embed(mesh, cloud, 1);
    assert_true(e->corners[0] < 4 && e->corners[4] >= 4 && e->corners[4] < 8);
    assert_true(e->corners[8] < 4);
    hk_embedding_free(e);
    hk_mesh_free(cloud);
    hk_mesh_free(mesh);
}

// ---------------------------------------------------------------- the same bits

static void wobble(const double p[3], double q[3])
{
    q[0] = p[0] + 0.2 * sin(3 * p[1]) + 0.1 * p[2] * p[2];
    q[1] = p[1] - 0.3 * p[0] * p[0];
    q[2] = 1.2 * p[2] + 0.1 * cos(4 * p[0]);
}

static double *wobbled(const hk_embedding *e, const hk_mesh *mesh)
{
    int n = hk_mesh_vertex_count(mesh);
    double *x = scratch(n), *y = scratch(hk_mesh_vertex_count(hk_embedding_surface(e)));
    for (int v = 0; v < n; v++) wobble(hk_mesh_positions(mesh) + 3 * v, x + 3 * v);
    CHECK_OK(hk_embedding_apply(e, 3, x, y));
    free(x);
    return y;
}

// Of a surface whose triangles share no vertices, what was at one place stays at one place: its STL
// is watertight before and after. Any number of threads does the same.
static void test_watertight_stays_watertight(void **state)
{
    (void)state;
    static const double centre[3] = {0.5, 0.5, 0.7};
    hk_mesh *mesh = box_mesh(1, 1, 1, 5, 4, 6), *ball = sphere_mesh(0.4, 12, centre),
            *loaded = NULL;
    int count;
    const int32_t *triangles;
    CHECK_OK(hk_mesh_surface(ball, &count, &triangles, NULL));
    double *soup = scratch(3 * count);
    int32_t *own = malloc(3 * sizeof(int32_t) * (size_t)count);
    assert_non_null(own);
    for (int k = 0; k < 3 * count; k++) {
        memcpy(soup + 3 * k, hk_mesh_positions(ball) + 3 * triangles[k], 3 * sizeof(double));
        own[k] = k;
    }
    hk_mesh *apart = NULL;
    CHECK_OK(hk_mesh_from_arrays(3 * count, soup, 0, NULL, count, own, &apart));
    hk_embedding *e = embed(mesh, apart, 1), *threads = embed(mesh, apart, 4);
    double *y = wobbled(e, mesh), *z = wobbled(threads, mesh);
    assert_memory_equal(y, z, 9 * sizeof(double) * (size_t)count);
    char path[] = "/tmp/hooke_embed_XXXXXX.stl";
    int file = mkstemps(path, 4);
    assert_true(file >= 0);
    close(file);
    CHECK_OK(hk_mesh_set_positions(apart, y));
    CHECK_OK(hk_mesh_save(apart, path, NULL, 0));
    CHECK_OK(hk_mesh_load(path, &loaded));
    unlink(path);
    hk_mesh_report report;
    CHECK_OK(hk_mesh_check(loaded, &report));
    assert_int_equal(report.open_edges.count, 0);
    assert_int_equal(report.non_manifold.count, 0);
    assert_int_equal(report.triangles, count);
    hk_mesh_free(loaded);
    hk_mesh_free(apart);
    hk_mesh_free(ball);
    hk_mesh_free(mesh);
    hk_embedding_free(e);
    hk_embedding_free(threads);
    free(soup);
    free(own);
    free(y);
    free(z);
}

// Scalars are carried as positions are.
static void test_values_of_vertices(void **state)
{
    (void)state;
    static const double centre[3] = {0.5, 0.5, 0.5};
    hk_mesh *mesh = box_mesh(1, 1, 1, 3, 3, 3), *ball = sphere_mesh(0.3, 8, centre);
    hk_embedding *e = embed(mesh, ball, 1);
    const hk_mesh *s = hk_embedding_surface(e);
    double values[64], carried[4096];
    assert_true(hk_mesh_vertex_count(mesh) == 64 && hk_mesh_vertex_count(s) < 4096);
    for (int v = 0; v < 64; v++) values[v] = 7 - 2 * hk_mesh_positions(mesh)[3 * v];
    CHECK_OK(hk_embedding_apply(e, 1, values, carried));
    for (int v = 0; v < hk_mesh_vertex_count(s); v++)
        assert_true(fabs(carried[v] - (7 - 2 * hk_mesh_positions(s)[3 * v])) < 1e-13);
    hk_embedding_free(e);
    hk_mesh_free(ball);
    hk_mesh_free(mesh);
}

// ---------------------------------------------------------------- bad input

static void refuses(const hk_mesh *mesh, const hk_mesh *surface, const char *words)
{
    hk_embedding *e = NULL;
    assert_int_equal(hk_embedding_create(mesh, surface, 1, &e), HK_BAD_INPUT);
    assert_null(e);
    if (!strstr(hk_error(), words)) fail_msg("\"%s\" does not say \"%s\"", hk_error(), words);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    static const double far[] = {0, 0, 0, 1e9, 0, 0, 0, 1, 0},
                        flat[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0};
    static const int32_t corners[] = {0, 1, 2, 3};
    hk_mesh *mesh = box_mesh(1, 1, 1, 2, 2, 2), *empty = NULL, *thin = NULL;
    hk_mesh *sheet = cloud_of(flat, 4), *away = cloud_of(far, 3);
    CHECK_OK(hk_mesh_from_arrays(4, flat, 0, NULL, 0, NULL, &empty));
    CHECK_OK(hk_mesh_from_arrays(4, flat, 1, corners, 0, NULL, &thin));
    refuses(NULL, sheet, "needed");
    refuses(mesh, NULL, "needed");
    refuses(mesh, empty, "no triangles");
    refuses(sheet, sheet, "no tets");
    refuses(thin, sheet, "flat");
    refuses(mesh, away, "vertex 1 of the surface");
    hk_embedding *e = NULL;
    assert_int_equal(hk_embedding_create(mesh, sheet, -1, &e), HK_BAD_INPUT);
    e = embed(mesh, sheet, 1);
    double room[12];
    assert_int_equal(hk_embedding_apply(e, 0, hk_mesh_positions(mesh), room), HK_BAD_INPUT);
    assert_int_equal(hk_embedding_apply(e, 3, NULL, room), HK_BAD_INPUT);
    hk_embedding_free(e);
    hk_embedding_free(NULL);
    assert_null(hk_embedding_surface(NULL));
    assert_int_equal(hk_embedding_outside(NULL, NULL, NULL), 0);
    hk_mesh_free(mesh);
    hk_mesh_free(empty);
    hk_mesh_free(thin);
    hk_mesh_free(sheet);
    hk_mesh_free(away);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    static const double centre[3] = {0.5, 0.5, 0.5};
    hk_mesh *mesh = box_mesh(1, 1, 1, 2, 2, 2), *ball = sphere_mesh(0.3, 4, centre);
    for (int n = 1;; n++) {
        failing_alloc_install(n);
        hk_embedding *e = NULL;
        hk_status status = hk_embedding_create(mesh, ball, 1, &e);
        bool reached = failing_alloc_count() >= n;
        hk_embedding_free(e);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        if (!reached) break;
        assert_int_equal(status, HK_NO_MEMORY);
        assert_null(e);
    }
    hk_mesh_free(mesh);
    hk_mesh_free(ball);
}

// ---------------------------------------------------------------- skins of bodies

// A bar with a fine cylinder around it, turned and moved.
static hk_model *bar_with_skin(const hk_mesh *mesh, const hk_mesh *skin, bool placed)
{
    hk_body_def body = hk_default_body_def();
    hk_selector wall = {.kind = HK_SELECT_VERTICES};
    int32_t *ends = malloc(sizeof(int32_t) * (size_t)hk_mesh_vertex_count(mesh));
    assert_non_null(ends);
    wall.vertices = ends;
    for (int v = 0; v < hk_mesh_vertex_count(mesh); v++)
        if (v % 16 == 0) ends[wall.vertex_count++] = v;  // x = 0: 15 cells along x come first
    body.material = material_of("neo_hookean", 2e6, 0.45);
    body.fixes = &wall;
    body.fix_count = 1;
    body.skin = skin;
    if (placed) {
        body.transform.degrees = 25;
        body.transform.scale = 2;
        body.transform.translate[0] = 3;
    }
    hk_mesh *copy = NULL;
    CHECK_OK(hk_mesh_from_arrays(hk_mesh_vertex_count(mesh), hk_mesh_positions(mesh),
                                 hk_mesh_tet_count(mesh), hk_mesh_tets(mesh), 0, NULL, &copy));
    hk_model *model = model_of(&body, copy, -9.81);
    free(ends);
    return model;
}

// In the middle of a bar of 1 m by 0.2 m by 0.2 m.
static hk_mesh *tube(double radius, double length)
{
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_CYLINDER);
    def.radius = radius;
    def.length = length;
    def.cells[0] = 8;
    def.cells[1] = 40;
    hk_mesh *mesh = NULL;
    CHECK_OK(hk_mesh_make(&def, &mesh));
    double *x = scratch(hk_mesh_vertex_count(mesh));
    for (int k = 0; k < 3 * hk_mesh_vertex_count(mesh); k++)
        x[k] = hk_mesh_positions(mesh)[k] + (k % 3 == 0 ? (1 - length) / 2 : 0.1);
    CHECK_OK(hk_mesh_set_positions(mesh, x));
    free(x);
    return mesh;
}

static double farthest_apart(const double *a, const double *b, int vertices)
{
    double most = 0;
    for (int v = 0; v < vertices; v++)
        most = fmax(most, hypot(hypot(a[3 * v] - b[3 * v], a[3 * v + 1] - b[3 * v + 1]),
                                a[3 * v + 2] - b[3 * v + 2]));
    return most;
}

// How far the skin of a pose is from one that was drawn.
static double pose_off(hk_model *model, const hk_mesh *drawn)
{
    hk_world *world = world_of(model, 0.01, 2);
    hk_step_report step;
    CHECK_OK(hk_world_pose(world, &step));
    assert_int_equal(step.reason, HK_CONVERGED);
    hk_mesh *posed = NULL;
    CHECK_OK(hk_model_surface(hk_world_model(world), hk_world_positions(world), true, &posed));
    double off = farthest_apart(hk_mesh_positions(posed), hk_mesh_positions(drawn),
                                hk_mesh_vertex_count(drawn));
    hk_mesh_free(posed);
    hk_world_free(world);
    return off;
}

// The skin as drawn, in the rest shape, and again in the pose of that; once more from the rest
// shapes of mesh and skin alone, as from files: a skin inside of the tets is bound as it was.
static void there_and_back(const hk_mesh *mesh, const hk_mesh *skin, bool inside)
{
    hk_model *model = bar_with_skin(mesh, skin, true), *found = NULL;
    const hk_mesh *drawn = hk_embedding_surface(hk_model_skin(model, 0));
    hk_rest_def def = hk_default_rest_def();
    def.model = model;
    hk_rest *rest = NULL;
    hk_rest_report report;
    CHECK_OK(hk_rest_create(&def, &rest));
    CHECK_OK(hk_rest_solve(rest, NULL, &report));
    assert_true(report.reason == HK_CONVERGED && report.sag > 0.1);
    assert_int_equal(hk_embedding_outside(hk_model_skin(model, 0), NULL, NULL) == 0, inside);
    CHECK_OK(hk_rest_model(rest, &found));
    hk_mesh *made = NULL, *body = NULL;
    CHECK_OK(hk_model_surface(found, hk_rest_positions(rest), true, &made));
    double moved = farthest_apart(hk_mesh_positions(made), hk_mesh_positions(drawn),
                                  hk_mesh_vertex_count(drawn));
    assert_true(moved > 0.1);
    CHECK_OK(hk_mesh_from_arrays(hk_mesh_vertex_count(mesh), hk_rest_positions(rest),
                                 hk_mesh_tet_count(mesh), hk_mesh_tets(mesh), 0, NULL, &body));
    double off = pose_off(found, drawn);
    if (!(off <= 2e-8)) fail_msg("the skin of 2 m comes back %g m off", off);
    if (inside) off = pose_off(bar_with_skin(body, made, false), drawn);
    if (!(off <= 2e-8)) fail_msg("bound again, the skin of 2 m comes back %g m off", off);
    hk_mesh_free(made);
    hk_mesh_free(body);
    hk_rest_free(rest);
    hk_model_free(model);
}

static void test_skins_there_and_back(void **state)
{
    (void)state;
    hk_mesh *mesh = box_mesh(1, 0.2, 0.2, 15, 3, 3);
    hk_mesh *around = tube(0.11, 1.02), *within = tube(0.095, 0.98);
    there_and_back(mesh, around, false);
    there_and_back(mesh, within, true);
    hk_mesh_free(around);
    hk_mesh_free(within);
    hk_mesh_free(mesh);
}

// Skins, sheets and bodies without skin in one surface.
static void test_surface_of_all_bodies(void **state)
{
    (void)state;
    hk_mesh *box = box_mesh(1, 0.2, 0.2, 5, 2, 2), *skin = tube(0.11, 1.02), *sheet = NULL,
            *all = NULL;
    hk_mesh_def cloth = hk_default_mesh_def(HK_SHAPE_SHEET);
    cloth.size[0] = cloth.size[1] = 1;
    cloth.cells[0] = cloth.cells[1] = 3;
    CHECK_OK(hk_mesh_make(&cloth, &sheet));
    hk_body_def bodies[3] = {hk_default_body_def(), hk_default_body_def(), hk_default_body_def()};
    bodies[0].mesh = bodies[1].mesh = box;
    bodies[1].skin = skin;
    bodies[2].mesh = sheet;
    bodies[2].material.model = "mass_spring";
    bodies[2].material.parameters[0] = (hk_parameter){"stretch", 100};
    bodies[2].material.parameter_count = 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = 3;
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(&def, &model));
    assert_null(hk_model_skin(model, 0));
    assert_non_null(hk_model_skin(model, 1));
    assert_null(hk_model_skin(model, 3));
    int outer, fine;
    CHECK_OK(hk_mesh_surface(box, &outer, NULL, NULL));
    CHECK_OK(hk_mesh_surface(skin, &fine, NULL, NULL));
    const double *x = hk_model_rest_positions(model);
    CHECK_OK(hk_model_surface(model, x, true, &all));
    assert_int_equal(hk_mesh_triangle_count(all), outer + fine + 18);
    hk_mesh_free(all);
    CHECK_OK(hk_model_surface(model, x, false, &all));
    assert_int_equal(hk_mesh_triangle_count(all), outer + fine);
    hk_mesh_report report;
    CHECK_OK(hk_mesh_check(all, &report));
    assert_int_equal(report.open_edges.count, 0);
    assert_int_equal(report.unreferenced.count, 0);
    hk_mesh_free(all);
    hk_model_free(model);
    model = NULL;
    bodies[2].skin = skin;
    assert_int_equal(hk_model_create(&def, &model), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "body 2 (body): skin: only bodies of tets"));
    hk_mesh_free(box);
    hk_mesh_free(skin);
    hk_mesh_free(sheet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_affine_motions_are_exact),
        cmocka_unit_test(test_nearest_tets),
        cmocka_unit_test(test_points_on_faces),
        cmocka_unit_test(test_flat_tets_carry_nothing),
        cmocka_unit_test(test_watertight_stays_watertight),
        cmocka_unit_test(test_values_of_vertices),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_skins_there_and_back),
        cmocka_unit_test(test_surface_of_all_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
