// Ropes, and bodies that come apart: what is drawn of them is what the library has, and what a page
// may do to them.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include "client.h"
#include "hooke/hooke.h"

static hk_world *make_steps(const char *text, int steps)
{
    hk_scene *scene = NULL;
    hk_model *model = NULL;
    hk_world *world = NULL;
    if (hk_scene_parse(text, strlen(text), "scene", NULL, 0, &scene) != HK_OK)
        fail_msg("%s\n%s", hk_error(), text);
    assert_int_equal(hk_model_create(hk_scene_model(scene), &model), HK_OK);
    hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
    def.model = model;
    assert_int_equal(hk_world_create(&def, &world), HK_OK);
    hk_model_free(model);
    hk_scene_free(scene);
    for (int k = 0; k < steps; ++k) assert_int_equal(hk_world_step(world, NULL), HK_OK);
    return world;
}

static uint32_t word(const char *message, size_t offset)
{
    uint32_t value;
    memcpy(&value, message + offset, sizeof value);
    return value;
}

// Until a frame shows this step, of the topology that came last.
static void take_steps(page *p, int count, uint32_t step)
{
    page_do(p, "{\"type\": \"step\", \"count\": %d}", count);
    page_await_step(p, step);
    while (json_is_true(json_object_get(json_object_get(p->last, "status"), "playing")) ||
           word(p->frame, 8) != word(p->topology, 8))
        assert_true(page_read(p, 60000));
}

static void refuse(page *p, const char *reason, const char *message)
{
    json_t *answered = page_ask(p, "%s", message);
    assert_string_equal(json_string_value(json_object_get(answered, "type")), "error");
    const char *text = json_string_value(json_object_get(answered, "message"));
    if (!strstr(text, reason)) fail_msg("%s: %s", message, text);
    json_decref(answered);
}

static void open_page(page *p, const studio_program *program)
{
    page_open(p, program);
    page_await(p, "topology");
    page_do(p, "{\"type\": \"edit\"}");
    while (!p->topology) assert_true(page_read(p, 60000));
}

// ---------------------------------------------------------------- ropes

#define RADIUS 0.01
static const char rope[] =
    "{\"time\": {\"step\": 0.01, \"end\": 1}, \"gravity\": [0, -9.81, 0], \"threads\": 1,\n"
    " \"bodies\": [{\"name\": \"rope\", \"mesh\": {\"rope\": {\"length\": 2, \"cells\": 12}},\n"
    "   \"material\": {\"model\": \"rope\", \"young\": 1e7, \"radius\": 0.01, \"density\": 1000},\n"
    "   \"fix\": [{\"box\": [[-0.01, -1, -1], [0.01, 1, 1]]}, "
    "{\"box\": [[1.99, -1, -1], [2.01, 1, 1]]}]}]}\n";

// Volume within the triangles, above 0 where they are wound outward.
static double volume(block at, block triangles)
{
    const float *x = at.data;
    const uint32_t *v = triangles.data;
    double sum = 0;
    for (uint32_t k = 0; k < triangles.count; ++k) {
        const float *a = x + 3 * v[3 * k], *b = x + 3 * v[3 * k + 1], *c = x + 3 * v[3 * k + 2];
        sum += (double)a[0] * (b[1] * c[2] - b[2] * c[1]) +
               (double)a[1] * (b[2] * c[0] - b[0] * c[2]) +
               (double)a[2] * (b[0] * c[1] - b[1] * c[0]);
    }
    return sum / 6;
}

// Each drawn vertex lies around its vertex of the model, about as far from it as the rope is thick.
static void check_rings(const page *p, const hk_world *world)
{
    block at = find_block(p->frame, p->frame_size, 1, 0);
    block numbers = find_block(p->topology, p->topology_size, 18, 0);
    const double *x = hk_world_positions(world);
    double most = 0, least = 1;
    assert_int_equal(at.count, numbers.count);
    assert_int_equal(at.count, 12 * 20);
    for (uint32_t v = 0; v < at.count; ++v) {
        const float *drawn = (const float *)at.data + 3 * v;
        const double *from = x + 3 * ((const int32_t *)numbers.data)[v];
        double far = sqrt(pow(drawn[0] - from[0], 2) + pow(drawn[1] - from[1], 2) +
                          pow(drawn[2] - from[2], 2));
        most = fmax(most, far);
        least = fmin(least, far);
    }
    assert_true(least > RADIUS * (1 - 1e-3) && most < 1.1 * RADIUS);
}

static void test_ropes_are_tubes(void **state)
{
    (void)state;
    studio_program program;
    page p;
    program_start(&program, rope);
    open_page(&p, &program);
    take_steps(&p, 15, 15);
    hk_world *world = make_steps(rope, 15);
    check_rings(&p, world);
    hk_world_free(world);
    block at = find_block(p.frame, p.frame_size, 1, 0);
    block triangles = find_block(p.topology, p.topology_size, 16, 0);
    double inside = volume(at, triangles), whole = M_PI * RADIUS * RADIUS * 2;
    assert_true(inside > 0.9 * whole && inside < 1.1 * whole);
    const json_t *body =
        json_array_get(json_object_get(json_object_get(p.last, "scene"), "bodies"), 0);
    assert_true(json_is_true(json_object_get(body, "rope")));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(p.last, "scene"), "lines")),
                     12);

    // It is pulled like any other body, and lies higher then.
    double before = -1, after = -1;
    for (uint32_t v = 0; v < at.count; ++v)
        before = fmax(before, -((const float *)at.data)[3 * v + 1]);
    page_do(&p,
            "{\"type\": \"grab\", \"grab\": 1, \"triangle\": %d, \"weights\": [0.2, 0.3, 0.5], "
            "\"target\": [1, 0.3, 0]}",
            (int)triangles.count / 2);
    take_steps(&p, 20, 35);
    at = find_block(p.frame, p.frame_size, 1, 0);
    for (uint32_t v = 0; v < at.count; ++v)
        after = fmax(after, -((const float *)at.data)[3 * v + 1]);
    if (!(after < before - 0.02)) fail_msg("%g m below, then %g", before, after);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

// ---------------------------------------------------------------- tears

// A bar that a blade divides at once, and another body behind it, whose vertices get new numbers.
static const char torn[] =
    "{\"time\": {\"step\": 0.01, \"end\": 1}, \"gravity\": [0, -9.81, 0], \"threads\": 1,\n"
    " \"tearing\": {\"cuts\": [{\"points\": [[0.47, -1, -1], [0.47, 1, -1], [0.47, 1, 1], "
    "[0.47, -1, 1]], \"from\": 0.045}]},\n"
    " \"bodies\": [{\"name\": \"bar\", \"mesh\": {\"box\": {\"size\": [1, 0.2, 0.2], "
    "\"cells\": [5, 1, 1]}},\n"
    "   \"material\": {\"young\": 5e5, \"poisson\": 0.4, \"density\": 1000},\n"
    "   \"fix\": [{\"box\": [[-0.001, -1, -1], [0.001, 1, 1]]}]},\n"
    "  {\"name\": \"other\", \"mesh\": {\"box\": {\"size\": [0.2, 0.2, 0.2], \"cells\": [2, 2, "
    "2]}},\n"
    "   \"transform\": {\"translate\": [2, 0, 0]},\n"
    "   \"material\": {\"young\": 5e5, \"poisson\": 0.4, \"density\": 1000}}]}\n";

static void check_positions(const page *p, const hk_world *world)
{
    block at = find_block(p->frame, p->frame_size, 1, 0);
    block numbers = find_block(p->topology, p->topology_size, 18, 0);
    block stress = find_block(p->frame, p->frame_size, 2, 0);
    const double *x = hk_world_positions(world);
    double most = 0;
    assert_non_null(at.data);
    assert_int_equal(at.count, numbers.count);
    assert_int_equal(at.count, stress.count);
    for (uint32_t v = 0; v < at.count; ++v)
        for (int i = 0; i < 3; ++i)
            most = fmax(most, fabs(((const float *)at.data)[3 * v + (uint32_t)i] -
                                   x[3 * ((const int32_t *)numbers.data)[v] + i]));
    if (!(most < 1e-6)) fail_msg("apart by %g m", most);
}

static uint32_t drawn_triangles(const page *p)
{
    return find_block(p->topology, p->topology_size, 16, 0).count;
}

static void test_bodies_come_apart(void **state)
{
    (void)state;
    studio_program program;
    page p;
    program_start(&program, torn);
    open_page(&p, &program);
    page_do(&p, "{\"type\": \"fields\", \"field\": \"von_mises\"}");
    refuse(&p, "come apart", "{\"type\": \"mode\", \"mode\": \"compare\"}");
    page_do(&p, "{\"type\": \"record\", \"on\": true, \"rate\": 100}");
    take_steps(&p, 3, 3);
    uint32_t whole = drawn_triangles(&p), first = word(p.topology, 8);
    // The other body is held by a pull, whose vertices are not what they were after the tear.
    page_do(&p,
            "{\"type\": \"grab\", \"grab\": 1, \"triangle\": %d, \"stiffness\": 1e4, "
            "\"target\": [2.1, 0.4, 0.1]}",
            (int)whole - 1);
    page_do(&p, "{\"type\": \"release\", \"grab\": 1}");
    take_steps(&p, 17, 20);
    assert_true(drawn_triangles(&p) > whole);
    hk_world *world = make_steps(torn, 20);
    check_positions(&p, world);
    hk_world_free(world);
    const json_t *told = json_object_get(p.last, "recording");
    assert_true(json_is_false(json_object_get(told, "on")));
    answer film = ask(&program, "GET", "/api/export?what=recording.glb", "", 0);
    assert_int_equal(film.status, 200);
    assert_memory_equal(film.body, "glTF", 4);
    answer_free(&film);

    // What goes by numbers of vertices waits for the start; the rest goes on.
    refuse(&p, "torn", "{\"type\": \"load\", \"vertices\": [3], \"force\": [0, 1, 0]}");
    refuse(&p, "torn",
           "{\"type\": \"material\", \"body\": 0, \"vertices\": [3], "
           "\"material\": {\"young\": 1e6}}");
    char old[128];
    snprintf(old, sizeof old,
             "{\"type\": \"grab\", \"grab\": 2, \"triangle\": 0, \"topology\": %u}", first);
    refuse(&p, "torn", old);
    page_do(&p, "{\"type\": \"material\", \"body\": 0, \"material\": {\"young\": 4e5}}");
    page_do(&p, "{\"type\": \"fix\", \"box\": [[0.9, -9, -9], [1.1, 9, 9]]}");
    take_steps(&p, 3, 23);
    page_do(&p, "{\"type\": \"unfix\", \"box\": [[0.9, -9, -9], [1.1, 9, 9]]}");
    page_do(&p, "{\"type\": \"material\", \"body\": 0, \"material\": {\"young\": 5e5}}");

    // At the start it is whole, and comes apart again.
    page_do(&p, "{\"type\": \"reset\"}");
    page_await_step(&p, 0);
    while (drawn_triangles(&p) != whole) assert_true(page_read(&p, 60000));
    take_steps(&p, 20, 20);
    world = make_steps(torn, 20);
    check_positions(&p, world);
    hk_world_free(world);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

// A pull holds on to the same place while the bodies before it come apart.
static void test_pulls_outlast_tears(void **state)
{
    (void)state;
    studio_program program;
    page p;
    program_start(&program, torn);
    open_page(&p, &program);
    uint32_t whole = drawn_triangles(&p);
    page_do(&p,
            "{\"type\": \"grab\", \"grab\": 1, \"triangle\": %d, \"stiffness\": 1e5, "
            "\"target\": [2.1, 0.2, 0.1]}",
            (int)whole - 1);
    take_steps(&p, 3, 3);
    block grab = find_block(p.frame, p.frame_size, 4, 0);
    assert_int_equal(grab.count, 1);
    const float *row = grab.data;
    double before[3] = {row[1], row[2], row[3]};
    take_steps(&p, 5, 8);
    assert_true(drawn_triangles(&p) > whole);
    grab = find_block(p.frame, p.frame_size, 4, 0);
    assert_int_equal(grab.count, 1);
    row = grab.data;
    for (int i = 0; i < 3; ++i) assert_true(fabs(row[1 + i] - before[i]) < 0.15);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ropes_are_tubes),
        cmocka_unit_test(test_bodies_come_apart),
        cmocka_unit_test(test_pulls_outlast_tears),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
