// The studio does what the library does: positions, grabs and designs through the socket are those
// of the C interface; edits, uploads, exports, undoing and two pages at a time.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include "client.h"
#include "hooke/hooke.h"

static const char bar[] = "{\"time\": {\"step\": 0.02, \"end\": 1}, \"gravity\": [0, -9.81, 0],\n"
                          " \"solver\": {\"method\": \"newton\"}, \"threads\": 1,\n"
                          " \"bodies\": [{\"name\": \"bar\", \"mesh\": {\"box\": {\"size\": [1, "
                          "0.2, 0.2], \"cells\": [8, 2, 2]}},\n"
                          "   \"material\": {\"model\": \"neo_hookean\", \"young\": 5e5, "
                          "\"poisson\": 0.4, \"density\": 1000},\n"
                          "   \"fix\": [{\"box\": [[-0.001, -1, -1], [0.001, 1, 1]]}]}]}\n";

// ---------------------------------------------------------------- the same by the library

static hk_world *make_world(const hk_scene *scene)
{
    hk_model *model = NULL;
    hk_world *world = NULL;
    assert_int_equal(hk_model_create(hk_scene_model(scene), &model), HK_OK);
    hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
    def.model = model;
    assert_int_equal(hk_world_create(&def, &world), HK_OK);
    hk_model_free(model);
    return world;
}

static hk_scene *parse(const char *text)
{
    hk_scene *scene = NULL;
    assert_int_equal(hk_scene_parse(text, strlen(text), "bar", NULL, 0, &scene), HK_OK);
    return scene;
}

// Which vertices of the model are drawn.
static const int32_t *drawn_vertices(const page *p, uint32_t *count)
{
    block b = find_block(p->topology, p->topology_size, 18, 0);
    assert_non_null(b.data);
    *count = b.count;
    return b.data;
}

// Of the frame, in the order of the model, at drawn vertices.
static void check_positions(const page *p, int shape, const double *x, double tolerance)
{
    uint32_t count;
    const int32_t *vertices = drawn_vertices(p, &count);
    block b = find_block(p->frame, p->frame_size, 1, shape);
    assert_non_null(b.data);
    assert_int_equal(b.count, count);
    const float *drawn = b.data;
    for (uint32_t v = 0; v < count; ++v)
        for (int i = 0; i < 3; ++i) {
            double expected = x[3 * vertices[v] + i];
            if (fabs(drawn[3 * v + (uint32_t)i] - expected) > tolerance)
                fail_msg("vertex %d: %.9g, not %.9g", vertices[v], drawn[3 * v + (uint32_t)i],
                         expected);
        }
}

static void wait_until_it_stands(page *p, uint32_t step)
{
    page_await_step(p, step);
    while (json_is_true(json_object_get(json_object_get(p->last, "status"), "playing")))
        assert_true(page_read(p, 60000));
}

static void test_positions_are_the_librarys(void **state)
{
    (void)state;
    studio_program program;
    page p;
    program_start(&program, bar);
    page_open(&p, &program);
    page_await(&p, "topology");
    page_do(&p, "{\"type\": \"step\", \"count\": 12}");
    wait_until_it_stands(&p, 12);
    hk_scene *scene = parse(bar);
    hk_world *world = make_world(scene);
    for (int k = 0; k < 12; ++k) assert_int_equal(hk_world_step(world, NULL), HK_OK);
    assert_float_equal(frame_number(&p, 16), hk_world_time(world), 1e-12);
    check_positions(&p, 0, hk_world_positions(world), 1e-7);
    // As the file that `hooke run --points` writes.
    answer points = ask(&program, "GET", "/api/export?what=points.csv", "", 0);
    assert_int_equal(points.status, 200);
    int vertex = -1;
    double x[3];
    const char *last = strstr(points.body, "\n80,");
    assert_non_null(last);
    assert_int_equal(sscanf(last, "\n%d,%lf,%lf,%lf", &vertex, &x[0], &x[1], &x[2]), 4);
    for (int i = 0; i < 3; ++i)
        assert_float_equal(x[i], hk_world_positions(world)[3 * vertex + i], 1e-12);
    answer_free(&points);
    hk_world_free(world);
    hk_scene_free(scene);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

// ---------------------------------------------------------------- grabs

static void test_a_grab_is_the_librarys(void **state)
{
    (void)state;
    const int triangle = 17;
    const double weights[3] = {0.2, 0.3, 0.5};
    studio_program program;
    page p;
    uint32_t count;
    program_start(&program, bar);
    page_open(&p, &program);
    page_await(&p, "topology");
    while (!p.topology) assert_true(page_read(&p, 60000));
    const int32_t *vertices = drawn_vertices(&p, &count);
    const uint32_t *corners = find_block(p.topology, p.topology_size, 16, 0).data;
    hk_grab_def def = hk_default_grab_def();
    def.count = 3;
    for (int k = 0; k < 3; ++k) {
        def.vertices[k] = vertices[corners[3 * triangle + k]];
        def.weights[k] = weights[k];
    }
    def.stiffness = 3000;
    page_do(&p,
            "{\"type\": \"grab\", \"grab\": 5, \"triangle\": %d, \"weights\": [0.2, 0.3, 0.5], "
            "\"target\": [0.5, 0.6, 0.1], \"stiffness\": 3000, \"sent\": 1}",
            triangle);
    page_do(&p, "{\"type\": \"step\", \"count\": 5}");
    wait_until_it_stands(&p, 5);
    page_do(&p, "{\"type\": \"move\", \"grab\": 5, \"target\": [0.6, 0.5, 0.3], \"sent\": 77}");
    page_do(&p, "{\"type\": \"step\", \"count\": 5}");
    wait_until_it_stands(&p, 10);

    hk_scene *scene = parse(bar);
    hk_world *world = make_world(scene);
    const double first[3] = {0.5, 0.6, 0.1}, second[3] = {0.6, 0.5, 0.3};
    int grab;
    double force[3];
    memcpy(def.target, first, sizeof first);
    assert_int_equal(hk_world_grab(world, &def, &grab), HK_OK);
    for (int k = 0; k < 10; ++k) {
        if (k == 5) assert_int_equal(hk_world_move_grab(world, grab, second), HK_OK);
        assert_int_equal(hk_world_step(world, NULL), HK_OK);
    }
    assert_int_equal(hk_world_grab_force(world, grab, force), HK_OK);
    check_positions(&p, 0, hk_world_positions(world), 1e-7);
    block grabs = find_block(p.frame, p.frame_size, 4, 0);
    assert_int_equal(grabs.count, 1);
    const float *g = grabs.data;
    assert_int_equal((int)g[0], 5);
    double size = sqrt(force[0] * force[0] + force[1] * force[1] + force[2] * force[2]);
    assert_true(size > 10);
    for (int i = 0; i < 3; ++i) assert_float_equal(g[7 + i], force[i], 1e-5 * size);
    assert_float_equal(frame_number(&p, 24), 77, 0);  // the move that it obeys

    // A page that is lost lets go.
    page_close(&p);
    page_open(&p, &program);
    page_await(&p, "topology");
    page_do(&p, "{\"type\": \"step\", \"count\": 1}");
    wait_until_it_stands(&p, 11);
    assert_null(find_block(p.frame, p.frame_size, 4, 0).data);
    hk_world_free(world);
    hk_scene_free(scene);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

// ---------------------------------------------------------------- two-way design

static void read_points(const studio_program *program, const char *shape, double *x, int count)
{
    char path[128];
    snprintf(path, sizeof path, "/api/export?what=points.csv&shape=%s", shape);
    answer points = ask(program, "GET", path, "", 0);
    assert_int_equal(points.status, 200);
    const char *line = strchr(points.body, '\n');
    for (int v = 0; v < count; ++v) {
        int number;
        assert_non_null(line);
        assert_int_equal(
            sscanf(line, "\n%d,%lf,%lf,%lf", &number, &x[3 * v], &x[3 * v + 1], &x[3 * v + 2]), 4);
        assert_int_equal(number, v);
        line = strchr(line + 1, '\n');
    }
    answer_free(&points);
}

static double distance(const double *a, const double *b, int count)
{
    double most = 0;
    for (int k = 0; k < 3 * count; ++k) most = fmax(most, fabs(a[k] - b[k]));
    return most;
}

// Does an edit and reads until the design that has it is refined, and its frame has come.
static void edit_design(page *p, const char *text, const char *state)
{
    json_t *done = page_ask(p, "%s", text);
    assert_string_equal(json_string_value(json_object_get(done, "type")), "done");
    json_int_t version = json_integer_value(json_object_get(done, "version"));
    json_decref(done);
    for (json_int_t seen = -1; seen < version;) {
        json_object_del(p->last, "design");
        json_t *design = page_await_value(p, "design", "state", state);
        seen = json_integer_value(json_object_get(design, "version"));
    }
    while (page_read(p, 300)) continue;
}

static void test_a_design_ends_where_hk_rest_does(void **state)
{
    (void)state;
    enum { N = 81 };
    static double loaded[3 * N], rest[3 * N], before[3 * N], undone[3 * N];
    studio_program program;
    page p;
    program_start(&program, bar);
    page_open(&p, &program);
    page_await(&p, "topology");
    page_do(&p, "{\"type\": \"mode\", \"mode\": \"design\"}");
    page_await_value(&p, "design", "state", "converged");
    read_points(&program, "loaded", before, N);
    page_do(&p, "{\"type\": \"grab\", \"grab\": 1, \"shape\": 0, "
                "\"box\": [[0.99, -1, -1], [1.01, 1, 1]], \"sent\": 1}");
    for (int k = 1; k <= 10; ++k)
        page_do(&p, "{\"type\": \"move\", \"grab\": 1, \"target\": [0.97, %g, 0.1], \"sent\": %d}",
                0.1 + 0.01 * k, k);
    edit_design(&p, "{\"type\": \"release\", \"grab\": 1}", "converged");
    read_points(&program, "loaded", loaded, N);
    read_points(&program, "rest", rest, N);
    assert_true(distance(before, loaded, N) > 0.05);
    check_positions(&p, 0, loaded, 1e-7);
    check_positions(&p, 1, rest, 1e-7);

    hk_scene *scene = parse(bar);
    hk_model *model = NULL;
    hk_rest *solver = NULL;
    hk_rest_report report;
    assert_int_equal(hk_model_create(hk_scene_model(scene), &model), HK_OK);
    hk_rest_def def = hk_default_rest_def();
    def.model = model;
    assert_int_equal(hk_rest_create(&def, &solver), HK_OK);
    assert_int_equal(hk_rest_set_shape(solver, loaded), HK_OK);
    assert_int_equal(hk_rest_solve(solver, NULL, &report), HK_OK);
    assert_int_equal(report.reason, HK_CONVERGED);
    assert_true(report.sag > 0.01);
    assert_true(distance(hk_rest_positions(solver), rest, N) < 1e-4 * report.sag + 1e-7);
    hk_rest_free(solver);
    hk_model_free(model);
    hk_scene_free(scene);

    // Saved as a scene, it sags into the shape that was drawn.
    char path[512];
    page_do(&p, "{\"type\": \"save\", \"name\": \"drawn\"}");
    snprintf(path, sizeof path, "%s/up/drawn.json", program.folder);
    assert_int_equal(hk_scene_load(path, NULL, 0, &scene), HK_OK);
    hk_world *world = make_world(scene);
    hk_step_report posed;
    assert_int_equal(hk_world_pose(world, &posed), HK_OK);
    assert_int_equal(posed.reason, HK_CONVERGED);
    assert_true(distance(hk_world_positions(world), loaded, N) < 1e-4 * report.sag);
    hk_world_free(world);
    hk_scene_free(scene);

    edit_design(&p, "{\"type\": \"undo\"}", "converged");
    read_points(&program, "loaded", undone, N);
    assert_true(distance(undone, before, N) < 1e-12);
    edit_design(&p, "{\"type\": \"redo\"}", "converged");
    read_points(&program, "loaded", undone, N);
    assert_true(distance(undone, loaded, N) < 1e-12);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

static double young_of(page *p)
{
    json_t *body = json_array_get(json_object_get(json_object_get(p->last, "scene"), "bodies"), 0);
    return json_number_value(json_object_get(json_object_get(body, "material"), "young"));
}

static size_t regions_of(page *p)
{
    json_t *body = json_array_get(json_object_get(json_object_get(p->last, "scene"), "bodies"), 0);
    return json_array_size(json_object_get(body, "regions"));
}

static void test_edits_of_a_design_are_undone(void **state)
{
    (void)state;
    studio_program program;
    page p;
    program_start(&program, bar);
    page_open(&p, &program);
    page_await(&p, "topology");
    page_do(&p, "{\"type\": \"mode\", \"mode\": \"design\"}");
    page_do(&p, "{\"type\": \"material\", \"body\": 0, \"sphere\": {\"center\": [0.5, 0.1, 0.1], "
                "\"radius\": 0.15}, \"material\": {\"young\": 4e6}}");
    assert_int_equal(regions_of(&p), 1);
    page_do(&p, "{\"type\": \"material\", \"body\": 0, \"material\": {\"young\": 9e5}}");
    assert_float_equal(young_of(&p), 9e5, 1);
    page_do(&p, "{\"type\": \"undo\"}");
    assert_float_equal(young_of(&p), 5e5, 1);
    assert_int_equal(regions_of(&p), 1);
    page_do(&p, "{\"type\": \"undo\"}");
    assert_int_equal(regions_of(&p), 0);
    page_do(&p, "{\"type\": \"redo\"}");
    page_do(&p, "{\"type\": \"redo\"}");
    assert_float_equal(young_of(&p), 9e5, 1);
    assert_int_equal(regions_of(&p), 1);
    // Gravity off: both shapes are one.
    edit_design(&p, "{\"type\": \"gravity\", \"value\": [0, 0, 0]}", "converged");
    double sag = json_number_value(json_object_get(json_object_get(p.last, "design"), "sag"));
    assert_true(sag < 1e-6);
    // No rest shape: told, with how far it goes.
    page_do(&p, "{\"type\": \"material\", \"body\": 0, \"material\": {\"young\": 300}}");
    edit_design(&p, "{\"type\": \"gravity\", \"value\": [0, -9.81, 0]}", "failed");
    json_t *failure = json_object_get(json_object_get(p.last, "design"), "failure");
    double reached = json_number_value(json_object_get(failure, "load_reached"));
    assert_true(reached > 0 && reached < 1);
    assert_int_equal(json_array_size(json_object_get(failure, "place")), 3);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

// ---------------------------------------------------------------- live edits, bad scenes

static void test_live_edits_and_their_scene(void **state)
{
    (void)state;
    studio_program program;
    page p;
    program_start(&program, bar);
    page_open(&p, &program);
    page_await(&p, "topology");
    page_do(&p, "{\"type\": \"material\", \"body\": 0, \"material\": {\"young\": 1e6}}");
    page_do(&p, "{\"type\": \"gravity\", \"value\": [0, -3, 0]}");
    page_do(&p, "{\"type\": \"time_step\", \"value\": 0.01}");
    page_do(&p, "{\"type\": \"damping\", \"air\": 0.5}");
    page_do(&p,
            "{\"type\": \"load\", \"box\": [[0.99, -1, -1], [1.01, 1, 1]], \"force\": [0, 5, 0]}");
    page_do(&p, "{\"type\": \"fix\", \"box\": [[0.49, -1, -1], [0.51, 0.01, 1]]}");
    page_do(&p, "{\"type\": \"unfix\", \"vertices\": [0]}");
    page_do(&p, "{\"type\": \"solver\", \"method\": \"newton\", \"iterations\": 30}");
    page_do(&p, "{\"type\": \"reset\"}");
    page_do(&p, "{\"type\": \"step\", \"count\": 8}");
    wait_until_it_stands(&p, 8);
    // The scene that is exported takes the same steps.
    answer text = ask(&program, "GET", "/api/export?what=scene.json", "", 0);
    assert_int_equal(text.status, 200);
    hk_scene *scene = parse(text.body);
    hk_world *world = make_world(scene);
    for (int k = 0; k < 8; ++k) assert_int_equal(hk_world_step(world, NULL), HK_OK);
    assert_float_equal(hk_world_time(world), 0.08, 1e-12);
    check_positions(&p, 0, hk_world_positions(world), 2e-7);
    answer_free(&text);
    hk_world_free(world);
    hk_scene_free(scene);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

static void test_bad_scenes_are_told(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{\\\"bodies\\\": [}",
        "{}",
        "[]",
        "{\\\"bodies\\\": []}",
        "{\\\"bodies\\\": [\\n {\\\"mesh\\\": {\\\"file\\\": \\\"nothing.msh\\\"}}]}",
        "{\\\"bodies\\\": [\\n {\\\"mesh\\\": {\\\"file\\\": \\\"/etc/passwd\\\"}}]}",
        "{\\\"bodies\\\": [{\\\"mesh\\\": {\\\"box\\\": {\\\"size\\\": [1,1,1]}}}]}"};
    studio_program program;
    page p;
    program_start(&program, bar);
    page_open(&p, &program);
    page_await(&p, "topology");
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; ++k) {
        json_t *answered = page_ask(&p,
                                    "{\"type\": \"scene\", \"path\": \"here/scene.json\", "
                                    "\"text\": \"%s\"}",
                                    bad[k]);
        assert_string_equal(json_string_value(json_object_get(answered, "type")), "error");
        assert_true(strlen(json_string_value(json_object_get(answered, "message"))) > 5);
        json_decref(answered);
    }
    json_t *answered =
        page_ask(&p, "{\"type\": \"scene\", \"text\": \"{\\n  \\\"bodys\\\": []}\"}");
    assert_int_equal(json_integer_value(json_object_get(answered, "line")), 2);
    assert_true(json_integer_value(json_object_get(answered, "column")) > 1);
    json_decref(answered);
    page_do(&p, "{\"type\": \"step\"}");  // what was there goes on
    wait_until_it_stands(&p, 1);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

// ---------------------------------------------------------------- uploads, exports

static const char cube[] =
    "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n"
    "f 1 3 2\nf 1 4 3\nf 5 6 7\nf 5 7 8\nf 1 2 6\nf 1 6 5\nf 2 3 7\nf 2 7 6\nf 3 4 8\nf 3 8 7\n"
    "f 4 1 5\nf 4 5 8\n";
// Three faces of it: what fills them does not reach their top.
static const char corner[] = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 0 1 1\n"
                             "f 1 3 2\nf 1 4 3\nf 1 2 6\nf 1 6 5\nf 4 1 5\nf 4 5 7\n";
static const char node[] = "4 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n";
static const char ele[] = "1 4 0\n0 0 1 2 3\n";

static json_t *upload(const studio_program *program, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "/api/upload?name=%s", name);
    answer a = ask(program, "POST", path, text, strlen(text));
    json_t *object = json_loadb(a.body, a.size, 0, NULL);
    assert_non_null(object);
    answer_free(&a);
    return object;
}

static void open_scene(page *p, const json_t *uploaded)
{
    const char *scene = json_string_value(json_object_get(uploaded, "scene"));
    assert_non_null(scene);
    page_do(p, "{\"type\": \"open\", \"scene\": \"%s\", \"play\": true}", scene);
}

static void test_uploads_become_bodies(void **state)
{
    (void)state;
    studio_program program;
    page p;
    program_start(&program, bar);
    page_open(&p, &program);
    json_t *first = upload(&program, "my%20cube.OBJ", cube);
    assert_string_equal(json_string_value(json_object_get(first, "mesh")), "uploads/my_cube.obj");
    open_scene(&p, first);
    assert_true(json_integer_value(json_object_get(json_object_get(p.last, "scene"), "tets")) >
                500);
    page_await_step(&p, 5);
    json_t *second = upload(&program, "my_cube.obj", cube);  // nothing is overwritten
    assert_string_equal(json_string_value(json_object_get(second, "mesh")),
                        "uploads/my_cube-2.obj");
    json_t *open = upload(&program, "corner.obj", corner);
    open_scene(&p, open);
    json_t *half = upload(&program, "t.node", node);
    assert_true(json_is_null(json_object_get(half, "scene")));
    assert_string_equal(json_string_value(json_object_get(half, "waits_for")), "t.ele");
    json_t *whole = upload(&program, "t.ele", ele);
    open_scene(&p, whole);
    json_t *junk = upload(&program, "junk.stl", "this is no STL");
    assert_true(json_is_false(json_object_get(junk, "ok")));
    json_t *other = upload(&program, "run.sh", "#!/bin/sh");
    assert_true(json_is_false(json_object_get(other, "ok")));
    json_t *gallery = ask_json(&program, "/api/gallery");
    assert_true(json_array_size(json_object_get(gallery, "scenes")) > 10);
    json_t *all[] = {first, second, open, half, whole, junk, other, gallery};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) json_decref(all[k]);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

static void test_exports(void **state)
{
    (void)state;
    static const char *const kinds[] = {"stl",        "obj",         "ply",          "glb",
                                        "vtu",        "msh",         "points.csv",   "state.hks",
                                        "scene.json", "history.csv", "recording.glb"};
    studio_program program;
    page p;
    program_start(&program, bar);
    page_open(&p, &program);
    page_await(&p, "topology");
    page_do(&p, "{\"type\": \"record\", \"on\": true, \"rate\": 50}");
    page_do(&p, "{\"type\": \"step\", \"count\": 10}");
    wait_until_it_stands(&p, 10);
    page_do(&p, "{\"type\": \"record\", \"on\": false}");
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(p.last, "recording"), "frames")), 11);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
        char path[128];
        snprintf(path, sizeof path, "/api/export?what=%s", kinds[k]);
        answer a = ask(&program, "GET", path, "", 0);
        if (a.status != 200) fail_msg("%s: %d %s", kinds[k], a.status, a.body);
        assert_true(a.size > 100);
        if (strstr(kinds[k], "glb")) assert_memory_equal(a.body, "glTF", 4);
        answer_free(&a);
    }
    answer wrong = ask(&program, "GET", "/api/export?what=passwd", "", 0);
    assert_int_equal(wrong.status, 404);
    answer_free(&wrong);
    // Millimetres, in the rest shape: the bar is 1000 long.
    answer stl = ask(&program, "GET", "/api/export?what=stl&shape=rest", "", 0);
    float most = 0;
    for (size_t at = 84 + 12; at + 38 <= stl.size; at += 50)
        for (size_t k = 0; k < 3; ++k) {
            float x;
            memcpy(&x, stl.body + at + 12 * k, 4);
            most = fmaxf(most, x);
        }
    assert_float_equal(most, 1000, 1e-3);
    answer_free(&stl);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

// ---------------------------------------------------------------- several pages, comparing

static void test_one_edits_and_others_watch(void **state)
{
    (void)state;
    studio_program program;
    page a, b;
    program_start(&program, bar);
    page_open(&a, &program);
    page_await(&a, "topology");
    page_open(&b, &program);
    page_await(&b, "topology");
    json_t *answered = page_ask(&b, "{\"type\": \"play\"}");
    assert_string_equal(json_string_value(json_object_get(answered, "message")),
                        "another page is editing");
    json_decref(answered);
    page_do(&b, "{\"type\": \"fields\", \"field\": \"von_mises\"}");
    page_do(&a, "{\"type\": \"step\", \"count\": 3}");
    page_await_step(&a, 3);
    page_await_step(&b, 3);
    assert_non_null(find_block(b.frame, b.frame_size, 2, 0).data);
    assert_null(find_block(a.frame, a.frame_size, 2, 0).data);
    page_do(&b, "{\"type\": \"edit\"}");
    page_do(&b, "{\"type\": \"step\"}");
    page_await_step(&a, 4);
    page_close(&b);
    json_t *clients = page_await(&a, "clients");
    assert_int_equal(json_integer_value(json_object_get(clients, "clients")), 1);
    page_do(&a, "{\"type\": \"step\"}");  // who is left edits
    page_close(&a);
    assert_int_equal(program_stop(&program), 0);
}

static void test_comparing(void **state)
{
    (void)state;
    studio_program program;
    page p;
    program_start(&program, bar);
    page_open(&p, &program);
    page_await(&p, "topology");
    page_do(&p,
            "{\"type\": \"mode\", \"mode\": \"compare\", \"methods\": [{\"method\": \"newton\"}, "
            "{\"method\": \"quasi_newton\", \"iterations\": 300, \"tolerance\": 1e-9}]}");
    page_do(&p, "{\"type\": \"step\", \"count\": 5}");
    wait_until_it_stands(&p, 5);
    block a = find_block(p.frame, p.frame_size, 1, 0), b = find_block(p.frame, p.frame_size, 1, 1);
    assert_int_equal(a.count, b.count);
    for (uint32_t k = 0; k < 3 * a.count; ++k)
        assert_float_equal(((const float *)a.data)[k], ((const float *)b.data)[k], 1e-5);
    json_t *answered = page_ask(&p, "{\"type\": \"convergence\"}");
    json_t *curves = json_object_get(answered, "curves");
    assert_int_equal(json_array_size(curves), 3);
    for (size_t k = 0; k < 3; ++k) {
        json_t *points = json_object_get(json_array_get(curves, k), "points");
        json_t *last = json_array_get(points, json_array_size(points) - 1);
        assert_true(json_array_size(points) >= 2);
        assert_true(json_number_value(json_array_get(last, 2)) < 1e-6);
    }
    json_decref(answered);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions_are_the_librarys),
        cmocka_unit_test(test_a_grab_is_the_librarys),
        cmocka_unit_test(test_a_design_ends_where_hk_rest_does),
        cmocka_unit_test(test_edits_of_a_design_are_undone),
        cmocka_unit_test(test_live_edits_and_their_scene),
        cmocka_unit_test(test_bad_scenes_are_told),
        cmocka_unit_test(test_uploads_become_bodies),
        cmocka_unit_test(test_exports),
        cmocka_unit_test(test_one_edits_and_others_watch),
        cmocka_unit_test(test_comparing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
