// Springs, sheets, quadratic tets, wind and designs that buckle: what the page sees of them, and
// that they are still what they were after edits.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include "client.h"
#include "hooke/hooke.h"

// ---------------------------------------------------------------- the same by the library

static hk_world *make_world(const char *text)
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
    return world;
}

static hk_world *make_steps(const char *text, int steps)
{
    hk_world *world = make_world(text);
    for (int k = 0; k < steps; ++k) assert_int_equal(hk_world_step(world, NULL), HK_OK);
    return world;
}

static void wait_until_it_stands(page *p, uint32_t step)
{
    page_await_step(p, step);
    while (json_is_true(json_object_get(json_object_get(p->last, "status"), "playing")))
        assert_true(page_read(p, 60000));
}

static void take_steps(page *p, int from, int count)
{
    page_do(p, "{\"type\": \"step\", \"count\": %d}", count);
    wait_until_it_stands(p, (uint32_t)(from + count));
}

static char *exported(const studio_program *program)
{
    answer text = ask(program, "GET", "/api/export?what=scene.json", "", 0);
    assert_int_equal(text.status, 200);
    char *copy = strndup(text.body, text.size);
    answer_free(&text);
    return copy;
}

// The farthest that a drawn vertex is from where the library has it.
static double apart(const page *p, const hk_world *world)
{
    block at = find_block(p->frame, p->frame_size, 1, 0);
    block numbers = find_block(p->topology, p->topology_size, 18, 0);
    const double *x = hk_world_positions(world);
    double most = 0;
    assert_non_null(at.data);
    assert_int_equal(at.count, numbers.count);
    for (uint32_t v = 0; v < at.count; ++v)
        for (int i = 0; i < 3; ++i)
            most = fmax(most, fabs(((const float *)at.data)[3 * v + (uint32_t)i] -
                                   x[3 * ((const int32_t *)numbers.data)[v] + i]));
    return most;
}

// Back at the start the world takes the same steps as the scene that is written with its edits.
static void expect_what_is_exported(page *p, const studio_program *program, int steps)
{
    page_do(p, "{\"type\": \"reset\"}");
    page_await_step(p, 0);
    take_steps(p, 0, steps);
    char *text = exported(program);
    hk_world *world = make_steps(text, steps);
    if (!(apart(p, world) < 1e-6)) fail_msg("apart by %g m: %s", apart(p, world), text);
    hk_world_free(world);
    free(text);
}

// ---------------------------------------------------------------- springs

static const char hung[] =
    "{\"time\": {\"step\": 0.01, \"end\": 1}, \"gravity\": [0, -9.81, 0], \"threads\": 1,\n"
    " \"damping\": {\"air\": 1, \"laplacian\": 0.01},\n"
    " \"bodies\": [{\"name\": \"block\", \"mesh\": {\"box\": {\"size\": [0.4, 0.2, 0.2], "
    "\"cells\": [4, 2, 2]}},\n"
    "   \"material\": {\"model\": \"stvk\", \"young\": 5e5, \"poisson\": 0.4, \"density\": 1000, "
    "\"volume_penalty\": 2e5}}],\n"
    " \"springs\": [{\"from\": [0, 1, 0], \"to\": {\"body\": \"block\", \"at\": [0, 0.2, 0.1]}, "
    "\"stiffness\": 5e4, \"breaking\": 90},\n"
    "   {\"from\": [0.4, 1, 0.2], \"to\": {\"body\": \"block\", \"at\": [0.4, 0.2, 0.1]}, "
    "\"stiffness\": 5e4}]}\n";

static void check_springs(const page *p, const hk_world *world)
{
    block b = find_block(p->frame, p->frame_size, 7, 0);
    assert_non_null(b.data);
    assert_int_equal(b.components, 8);
    assert_int_equal(b.count, hk_model_point_spring_count(hk_world_model(world)));
    for (uint32_t k = 0; k < b.count; ++k) {
        const float *row = (const float *)b.data + 8 * k;
        hk_spring_state now;
        assert_int_equal(hk_world_spring_state(world, (int)k, &now), HK_OK);
        for (int i = 0; i < 6; ++i) assert_float_equal(row[i], now.ends[i / 3][i % 3], 1e-6);
        if (now.broken)
            assert_true(isnan(row[6]));
        else
            assert_float_equal(row[6], now.tension, 1e-3 + 1e-4 * fabs(now.tension));
        assert_float_equal(row[7], now.rest, 1e-6);
    }
}

static void test_springs_are_the_librarys(void **state)
{
    (void)state;
    studio_program program;
    page p;
    program_start(&program, hung);
    page_open(&p, &program);
    json_t *topology = page_await(&p, "topology");
    assert_int_equal(json_integer_value(json_object_get(topology, "springs")), 2);
    hk_world *world = make_world(hung);
    take_steps(&p, 0, 2);
    for (int k = 0; k < 2; ++k) assert_int_equal(hk_world_step(world, NULL), HK_OK);
    check_springs(&p, world);
    // One breaks, which is told, and is whole again at the start.
    take_steps(&p, 2, 18);
    for (int k = 0; k < 18; ++k) assert_int_equal(hk_world_step(world, NULL), HK_OK);
    assert_int_equal(hk_world_broken_springs(world), 1);
    check_springs(&p, world);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(p.last, "notice"), "text")),
        "1 spring broke");
    hk_world_free(world);
    expect_what_is_exported(&p, &program, 2);
    world = make_steps(hung, 2);
    check_springs(&p, world);
    assert_int_equal(hk_world_broken_springs(world), 0);
    hk_world_free(world);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

static json_t *material_of(page *p)
{
    json_t *bodies = json_object_get(json_object_get(p->last, "scene"), "bodies");
    return json_object_get(json_array_get(bodies, 0), "material");
}

static double number_of(page *p, const char *key)
{
    return json_number_value(json_object_get(material_of(p), key));
}

static void test_edits_keep_what_they_do_not_name(void **state)
{
    (void)state;
    studio_program program;
    page p;
    program_start(&program, hung);
    page_open(&p, &program);
    page_await(&p, "topology");
    page_do(&p, "{\"type\": \"damping\", \"air\": 0.2}");
    page_do(&p, "{\"type\": \"material\", \"body\": 0, \"material\": {\"young\": 1e6}}");
    json_t *parameters = json_object_get(material_of(&p), "parameters");
    // A coefficient that is a stress goes with E.
    assert_float_equal(json_number_value(json_object_get(parameters, "volume_penalty")), 4e5, 1);
    page_do(&p, "{\"type\": \"load\", \"vertices\": [0], \"force\": [0, 1, 0]}");
    take_steps(&p, 0, 3);
    expect_what_is_exported(&p, &program, 6);
    char *text = exported(&program);
    assert_non_null(strstr(text, "laplacian"));
    free(text);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

// ---------------------------------------------------------------- fields

static const char quadratic[] =
    "{\"time\": {\"step\": 0.02, \"end\": 1}, \"gravity\": [0, -9.81, 0], \"threads\": 1,\n"
    " \"bodies\": [{\"name\": \"bar\", \"mesh\": {\"box\": {\"size\": [1, 0.2, 0.2], "
    "\"cells\": [6, 2, 2]}, \"order\": 2},\n"
    "   \"material\": {\"young\": 5e5, \"poisson\": 0.4, \"density\": 1000},\n"
    "   \"fix\": [{\"box\": [[-0.001, -1, -1], [0.001, 1, 1]]}]}]}\n";

static void test_stress_of_quadratic_tets(void **state)
{
    (void)state;
    studio_program program;
    page p;
    program_start(&program, quadratic);
    page_open(&p, &program);
    page_await(&p, "topology");
    page_do(&p, "{\"type\": \"fields\", \"field\": \"von_mises\"}");
    take_steps(&p, 0, 5);
    hk_world *world = make_steps(quadratic, 5);
    int tets = hk_model_tet_count(hk_world_model(world));
    double *stress = malloc(sizeof *stress * (size_t)tets), least = INFINITY, most = 0;
    assert_int_equal(hk_world_field(world, "von_mises", stress), HK_OK);
    for (int t = 0; t < tets; ++t) least = fmin(least, stress[t]), most = fmax(most, stress[t]);
    // Nodes in the middle of edges have values as corners do.
    block values = find_block(p.frame, p.frame_size, 2, 0);
    assert_non_null(values.data);
    assert_true(least > 0);
    for (uint32_t v = 0; v < values.count; ++v) {
        float value = ((const float *)values.data)[v];
        if (!(value >= 0.999 * least && value <= 1.001 * most))
            fail_msg("vertex %u: %g is not within %g and %g", v, value, least, most);
    }
    free(stress);
    hk_world_free(world);
    page_do(&p, "{\"type\": \"material\", \"body\": 0, \"material\": {\"density\": 500}}");
    expect_what_is_exported(&p, &program, 4);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

// A sheet on springs above a block.
static const char mixed[] =
    "{\"time\": {\"step\": 0.01, \"end\": 1}, \"gravity\": [0, -9.81, 0], \"threads\": 1,\n"
    " \"bodies\": [{\"name\": \"cloth\", \"mesh\": {\"sheet\": {\"size\": [1, 1], "
    "\"cells\": [6, 6]}}, \"transform\": {\"translate\": [0, 1, 0]},\n"
    "   \"material\": {\"model\": \"mass_spring\", \"stretch\": 400, \"bending\": 0.001, "
    "\"density\": 0.4},\n"
    "   \"fix\": [{\"box\": [[-0.001, -9, -9], [0.001, 9, 9]]}]},\n"
    "  {\"name\": \"block\", \"mesh\": {\"box\": {\"size\": [1, 0.2, 0.2], \"cells\": [4, 2, "
    "2]}},\n"
    "   \"material\": {\"young\": 5e5, \"poisson\": 0.4},\n"
    "   \"fix\": [{\"box\": [[-0.001, -1, -1], [0.001, 1, 1]]}]}]}\n";

static void test_sheets_have_no_stress(void **state)
{
    (void)state;
    studio_program program;
    page p;
    program_start(&program, mixed);
    page_open(&p, &program);
    page_await(&p, "topology");
    page_do(&p, "{\"type\": \"fields\", \"field\": \"von_mises\"}");
    take_steps(&p, 0, 5);
    block values = find_block(p.frame, p.frame_size, 2, 0);
    block bounds = find_block(p.frame, p.frame_size, 6, 0);
    block numbers = find_block(p.topology, p.topology_size, 18, 0);
    assert_non_null(values.data);
    for (uint32_t v = 0; v < values.count; ++v) {
        bool of_sheet = ((const int32_t *)numbers.data)[v] < 49;
        float value = ((const float *)values.data)[v];
        assert_true(of_sheet ? isnan(value) : value > 0);
    }
    assert_true(((const float *)bounds.data)[0] > 0);
    assert_true(isfinite(((const float *)bounds.data)[1]));
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

// ---------------------------------------------------------------- sheets

static void test_materials_of_sheets(void **state)
{
    (void)state;
    studio_program program;
    page p;
    program_start(&program, mixed);
    page_open(&p, &program);
    page_await(&p, "topology");
    assert_true(json_is_null(json_object_get(material_of(&p), "young")));
    page_do(&p, "{\"type\": \"material\", \"body\": 0, \"material\": {\"density\": 0.8}}");
    expect_what_is_exported(&p, &program, 3);
    // A shell that is as heavy, and as stiff along its threads.
    page_do(&p, "{\"type\": \"material\", \"body\": 0, \"material\": {\"model\": \"shell\"}}");
    assert_float_equal(number_of(&p, "thickness"), 1e-3, 1e-12);
    assert_float_equal(number_of(&p, "young"), 400 / 1e-3, 1);
    assert_float_equal(number_of(&p, "density"), 0.8 / 1e-3, 1e-6);
    page_do(&p, "{\"type\": \"material\", \"body\": 0, \"material\": {\"thickness\": 2e-3}}");
    page_do(&p, "{\"type\": \"material\", \"body\": 0, \"material\": {\"young\": 3e5}}");
    expect_what_is_exported(&p, &program, 3);
    page_do(&p,
            "{\"type\": \"material\", \"body\": 0, \"material\": {\"model\": \"mass_spring\"}}");
    json_t *parameters = json_object_get(material_of(&p), "parameters");
    assert_float_equal(json_number_value(json_object_get(parameters, "stretch")), 600, 1e-6);
    assert_float_equal(number_of(&p, "density"), 1.6, 1e-9);
    expect_what_is_exported(&p, &program, 3);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

static const char flag[] =
    "{\"time\": {\"step\": 0.01, \"end\": 1}, \"gravity\": [0, -9.81, 0], \"threads\": 1,\n"
    " \"bodies\": [{\"name\": \"flag\", \"mesh\": {\"sheet\": {\"size\": [1, 1], "
    "\"cells\": [6, 6]}},\n"
    "   \"transform\": {\"rotate\": {\"axis\": [1, 0, 0], \"degrees\": 90}},\n"
    "   \"material\": {\"model\": \"shell\", \"young\": 2e6, \"poisson\": 0.3, "
    "\"thickness\": 5e-4, \"density\": 500},\n"
    "   \"fix\": [{\"box\": [[-0.001, -9, -9], [0.001, 9, 9]]}],\n"
    "   \"load\": [{\"select\": {\"all\": true}, \"wind\": {\"velocity\": [3, 0, 5], "
    "\"drag\": 0.5, \"lift\": 1}}]}]}\n";

static void test_loads_beside_wind(void **state)
{
    (void)state;
    studio_program program;
    page p;
    program_start(&program, flag);
    page_open(&p, &program);
    page_await(&p, "topology");
    take_steps(&p, 0, 4);
    page_do(&p, "{\"type\": \"load\", \"vertices\": [6], \"force\": [0, 0.2, 0]}");
    hk_world *world = make_steps(flag, 4);
    const int32_t corner = 6;
    hk_load_def load = hk_default_load_def();
    load.select.kind = HK_SELECT_VERTICES;
    load.select.vertices = &corner;
    load.select.vertex_count = 1;
    load.force[1] = 0.2;
    assert_int_equal(hk_world_set_loads(world, 0, &load, 1), HK_OK);
    for (int k = 0; k < 4; ++k) assert_int_equal(hk_world_step(world, NULL), HK_OK);
    take_steps(&p, 4, 4);
    assert_true(apart(&p, world) < 1e-6);  // the wind still blows
    hk_world_free(world);
    expect_what_is_exported(&p, &program, 4);
    // A pressure on a world that runs, which only a new model can have: it goes on from there.
    double before = frame_number(&p, 16);
    page_do(&p, "{\"type\": \"load\", \"box\": [[0.5, -9, -9], [2, 9, 9]], \"pressure\": 5}");
    take_steps(&p, 4, 1);
    assert_float_equal(frame_number(&p, 16), before + 0.01, 1e-9);
    expect_what_is_exported(&p, &program, 4);
    // All of them gone, the wind, too.
    take_steps(&p, 4, 2);
    page_do(&p, "{\"type\": \"load\", \"clear\": true, \"body\": 0}");
    take_steps(&p, 6, 1);
    expect_what_is_exported(&p, &program, 4);
    char *text = exported(&program);
    assert_null(strstr(text, "wind"));
    free(text);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

// ---------------------------------------------------------------- designs

// A column of rubber; of this height it stands by itself from about 1 MPa on.
static const char column[] =
    "{\"gravity\": [0, -9.81, 0], \"threads\": 1,\n"
    " \"bodies\": [{\"name\": \"column\", \"mesh\": {\"box\": {\"size\": [0.02, 0.3, 0.02], "
    "\"cells\": [2, 16, 2]}},\n"
    "   \"material\": {\"young\": 1e8, \"poisson\": 0.4, \"density\": 1000},\n"
    "   \"fix\": [{\"box\": [[-1, -1, -1], [1, 0.001, 1]]}]}]}\n";

static json_t *await_check(page *p)
{
    json_t *design = json_object_get(p->last, "design");
    while (!design || json_is_null(json_object_get(design, "check"))) {
        assert_true(page_read(p, 60000));
        design = json_object_get(p->last, "design");
    }
    return json_object_get(design, "check");
}

static void test_a_design_that_buckles_is_told(void **state)
{
    (void)state;
    studio_program program;
    page p;
    program_start(&program, column);
    page_open(&p, &program);
    page_await(&p, "topology");
    page_do(&p, "{\"type\": \"mode\", \"mode\": \"design\"}");
    json_t *check = await_check(&p);
    assert_true(json_is_true(json_object_get(check, "stable")));
    assert_int_equal(json_integer_value(json_object_get(check, "overlaps")), 0);
    json_object_del(p.last, "design");
    page_do(&p, "{\"type\": \"material\", \"body\": 0, \"material\": {\"young\": 1e5}}");
    while (json_integer_value(json_object_get(json_object_get(p.last, "design"), "version")) < 1 ||
           strcmp(json_string_value(json_object_get(json_object_get(p.last, "design"), "state")),
                  "converged") != 0)
        assert_true(page_read(&p, 60000));
    check = await_check(&p);
    assert_true(json_is_false(json_object_get(check, "stable")));
    // It ends while a check may be under way.
    page_do(&p, "{\"type\": \"material\", \"body\": 0, \"material\": {\"young\": 1e7}}");
    page_do(&p, "{\"type\": \"mode\", \"mode\": \"live\"}");
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

static void test_handles_are_on_their_shape(void **state)
{
    (void)state;
    studio_program program;
    page p;
    program_start(&program, column);
    page_open(&p, &program);
    page_await(&p, "topology");
    page_do(&p, "{\"type\": \"mode\", \"mode\": \"design\"}");
    page_await_value(&p, "design", "state", "converged");
    for (int shape = 0; shape < 2; ++shape) {
        page_do(&p,
                "{\"type\": \"grab\", \"grab\": %d, \"shape\": %d, \"triangle\": 3, \"weights\": "
                "[0.2, 0.3, 0.5], \"sent\": %d}",
                shape + 1, shape, shape + 1);
        while (!find_block(p.frame, p.frame_size, 4, shape).data) assert_true(page_read(&p, 60000));
        assert_null(find_block(p.frame, p.frame_size, 4, 1 - shape).data);
        page_do(&p, "{\"type\": \"release\", \"grab\": %d}", shape + 1);
    }
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

// [n][3] of /api/export?what=points.csv
static void read_points(const studio_program *program, const char *shape, double *x, int n)
{
    char path[128];
    snprintf(path, sizeof path, "/api/export?what=points.csv&shape=%s", shape);
    answer csv = ask(program, "GET", path, "", 0);
    assert_int_equal(csv.status, 200);
    const char *at = strchr(csv.body, '\n');
    for (int v = 0, read = 0; v < n; ++v, at += read)
        assert_int_equal(
            sscanf(at, " %*d,%lf,%lf,%lf%n", x + 3 * v, x + 3 * v + 1, x + 3 * v + 2, &read), 3);
    answer_free(&csv);
}

// Of each vertex the mean over its tets, by their volume in the scene that was opened.
static void mean_stress(hk_world *world, const double *rest, double *mean)
{
    hk_mesh *mesh = NULL;
    assert_int_equal(hk_world_mesh(world, &mesh), HK_OK);
    int tets = hk_mesh_tet_count(mesh), n = hk_mesh_vertex_count(mesh);
    double *stress = calloc((size_t)tets, sizeof *stress),
           *weight = calloc((size_t)n, sizeof *weight);
    assert_int_equal(hk_world_field(world, "von_mises", stress), HK_OK);
    memset(mean, 0, sizeof *mean * (size_t)n);
    for (int t = 0; t < tets; ++t) {
        const int32_t *k = hk_mesh_tets(mesh) + 4 * t;
        double e[3][3];
        for (int i = 0; i < 9; ++i)
            e[i / 3][i % 3] = rest[3 * k[i / 3 + 1] + i % 3] - rest[3 * k[0] + i % 3];
        double volume = fabs(e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) -
                             e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
                             e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0]));
        for (int i = 0; i < 4; ++i) mean[k[i]] += volume * stress[t], weight[k[i]] += volume;
    }
    for (int v = 0; v < n; ++v) mean[v] /= weight[v];
    free(weight);
    free(stress);
    hk_mesh_free(mesh);
}

// While a shape is dragged values may be older than the shape; in the end they are its own.
static void test_stress_of_a_design(void **state)
{
    (void)state;
    enum { N = 153 };
    static double loaded[3 * N], mean[N];
    studio_program program;
    page p;
    program_start(&program, column);
    page_open(&p, &program);
    page_await(&p, "topology");
    page_do(&p, "{\"type\": \"fields\", \"field\": \"von_mises\"}");
    page_do(&p, "{\"type\": \"mode\", \"mode\": \"design\"}");
    page_await_value(&p, "design", "state", "converged");
    while (!find_block(p.frame, p.frame_size, 2, 1).data) assert_true(page_read(&p, 60000));
    page_do(&p, "{\"type\": \"grab\", \"grab\": 1, \"shape\": 1, \"box\": [[-1, 0.299, -1], "
                "[1, 1, 1]], \"sent\": 1}");
    for (int k = 1; k <= 40; ++k) {
        page_do(&p, "{\"type\": \"move\", \"grab\": 1, \"target\": [%g, 0.3, 0.01], \"sent\": %d}",
                0.01 + 0.002 * k, k);
        assert_non_null(find_block(p.frame, p.frame_size, 2, 0).data);
        assert_non_null(find_block(p.frame, p.frame_size, 2, 1).data);
    }
    page_do(&p, "{\"type\": \"release\", \"grab\": 1}");
    json_object_del(p.last, "design");
    await_check(&p);
    while (page_read(&p, 300)) continue;
    read_points(&program, "loaded", loaded, N);
    page_do(&p, "{\"type\": \"save\", \"name\": \"bent\"}");
    char path[512];
    hk_scene *scene = NULL;
    hk_model *model = NULL;
    hk_world *world = NULL;
    snprintf(path, sizeof path, "%s/up/bent.json", program.folder);
    assert_int_equal(hk_scene_load(path, NULL, 0, &scene), HK_OK);
    assert_int_equal(hk_model_create(hk_scene_model(scene), &model), HK_OK);
    hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
    def.model = model;
    assert_int_equal(hk_world_create(&def, &world), HK_OK);
    assert_int_equal(hk_world_set_positions(world, loaded), HK_OK);
    hk_world *first = make_world(column);
    mean_stress(world, hk_world_positions(first), mean);
    hk_world_free(first);
    block values = find_block(p.frame, p.frame_size, 2, 0);
    block numbers = find_block(p.topology, p.topology_size, 18, 0);
    double most = 0;
    for (int v = 0; v < N; ++v) most = fmax(most, mean[v]);
    for (uint32_t v = 0; v < values.count; ++v)
        assert_float_equal(((const float *)values.data)[v],
                           mean[((const int32_t *)numbers.data)[v]], 1e-4 * most);
    hk_world_free(world);
    hk_model_free(model);
    hk_scene_free(scene);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

// ---------------------------------------------------------------- rigid parts

static const char jointed[] =
    "{\"time\": {\"step\": 0.01, \"end\": 1}, \"gravity\": [0, -9.81, 0], \"threads\": 1,\n"
    " \"joints\": [{\"name\": \"shoulder\", \"kind\": \"hinge\", \"between\": [\"world\", "
    "\"bone\"], \"at\": [0, 0.05, 0.05], \"axis\": [0, 0, 1]}],\n"
    " \"bodies\": [{\"name\": \"arm\", \"mesh\": {\"box\": {\"size\": [0.4, 0.1, 0.1], "
    "\"cells\": [8, 3, 3]}},\n"
    "   \"material\": {\"model\": \"neo_hookean\", \"young\": 1e5, \"poisson\": 0.4, "
    "\"density\": 1000},\n"
    "   \"regions\": [{\"name\": \"bone\", \"rigid\": true, \"select\": {\"box\": [[-1, -1, -1], "
    "[0.21, 1, 1]]},\n"
    "     \"material\": {\"model\": \"neo_hookean\", \"young\": 1e9, \"poisson\": 0.3, "
    "\"density\": 1900}}]}]}\n";

static void test_rigid_parts_stay_rigid(void **state)
{
    (void)state;
    studio_program program;
    page p;
    program_start(&program, jointed);
    page_open(&p, &program);
    page_await(&p, "topology");
    page_do(&p, "{\"type\": \"edit\"}");
    take_steps(&p, 0, 8);
    hk_world *world = make_steps(jointed, 8);
    assert_true(apart(&p, world) < 1e-6);
    hk_world_free(world);
    const json_t *body =
        json_array_get(json_object_get(json_object_get(p.last, "scene"), "bodies"), 0);
    const json_t *region = json_array_get(json_object_get(body, "regions"), 0);
    assert_string_equal(json_string_value(json_object_get(region, "name")), "bone");
    page_do(&p, "{\"type\": \"material\", \"body\": 0, \"material\": {\"young\": 2e5}}");
    expect_what_is_exported(&p, &program, 8);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

// ---------------------------------------------------------------- skins

static const char skinned[] =
    "{\"time\": {\"step\": 0.01, \"end\": 1}, \"threads\": 1,\n"
    " \"bodies\": [{\"name\": \"ball\", \"mesh\": {\"box\": {\"size\": [1, 1, 1], "
    "\"cells\": [4, 4, 4]}},\n"
    "   \"material\": {\"young\": 1e5, \"poisson\": 0.4, \"density\": 1000},\n"
    "   \"fix\": [{\"box\": [[-1, 0.7, -1], [2, 2, 2]]}],\n"
    "   \"load\": [{\"select\": {\"box\": [[-1, -1, -1], [2, 0.3, 2]]}, \"force\": [0, -5, 0]}],\n"
    "   \"skin\": {\"file\": \"skin.obj\"}}]}\n";

// The outside of a ball of tets.
static void save_ball(const char *path)
{
    hk_mesh *mesh = NULL, *outside = NULL;
    hk_mesh_def ball = hk_default_mesh_def(HK_SHAPE_SPHERE);
    const int32_t *triangles;
    int count;
    ball.radius = 0.45;
    ball.cells[0] = 8;
    assert_int_equal(hk_mesh_make(&ball, &mesh), HK_OK);
    assert_int_equal(hk_mesh_surface(mesh, &count, &triangles, NULL), HK_OK);
    int n = hk_mesh_vertex_count(mesh);
    int32_t *number = malloc(sizeof *number * (size_t)n),
            *corners = malloc(sizeof *corners * 3 * (size_t)count);
    double *x = malloc(sizeof *x * 3 * (size_t)n);
    int used = 0;
    memset(number, -1, sizeof *number * (size_t)n);
    for (int k = 0; k < 3 * count; ++k) {
        int32_t v = triangles[k];
        if (number[v] < 0) {
            for (int i = 0; i < 3; ++i) x[3 * used + i] = hk_mesh_positions(mesh)[3 * v + i] + 0.5;
            number[v] = used++;
        }
        corners[k] = number[v];
    }
    assert_int_equal(hk_mesh_from_arrays(used, x, 0, NULL, count, corners, &outside), HK_OK);
    assert_int_equal(hk_mesh_save(outside, path, NULL, 0), HK_OK);
    free(x);
    free(corners);
    free(number);
    hk_mesh_free(outside);
    hk_mesh_free(mesh);
}

// Where the tets are held and loaded that carry it, the skin shows that.
static void test_skins_show_what_holds_them(void **state)
{
    (void)state;
    studio_program program;
    page p;
    char path[300];
    program_start(&program, hung);
    snprintf(path, sizeof path, "%s/skin.obj", program.folder);
    save_ball(path);
    program_write(&program, "skinned.json", skinned, strlen(skinned));
    page_open(&p, &program);
    page_do(&p, "{\"type\": \"edit\"}");
    page_do(&p, "{\"type\": \"open\", \"scene\": \"here/skinned.json\"}");
    page_await_value(&p, "scene", "path", "here/skinned.json");
    while (!p.topology || find_block(p.topology, p.topology_size, 18, 0).count < 100)
        assert_true(page_read(&p, 60000));
    block rest = find_block(p.topology, p.topology_size, 17, 0);
    block flags = find_block(p.topology, p.topology_size, 19, 0);
    block loads = find_block(p.topology, p.topology_size, 23, 0);
    assert_int_equal(((const int32_t *)find_block(p.topology, p.topology_size, 18, 0).data)[0], -1);
    int held = 0, loaded = 0;
    for (uint32_t v = 0; v < rest.count; ++v) {
        float y = ((const float *)rest.data)[3 * v + 1];
        int held_so = ((const uint8_t *)flags.data)[v];
        float force = ((const float *)loads.data)[3 * v + 1];
        if (y > 0.75F) assert_int_equal(held_so & 7, 7);
        if (y < 0.45F) assert_int_equal(held_so & 7, 0);
        if (y < 0.2F) assert_true(force < 0 && (held_so & 16));
        if (y > 0.55F) assert_true(force == 0);
        held += (held_so & 7) == 7;
        loaded += force < 0;
    }
    assert_true(held > 10 && loaded > 10);

    // Its triangles are the tets below them: these are held, and made of something else.
    block triangles = find_block(p.topology, p.topology_size, 16, 0);
    uint32_t lowest = 0;
    for (uint32_t k = 0; k < triangles.count; ++k) {
        const uint32_t *t = triangles.data;
        const float *x = rest.data;
        if (x[3 * t[3 * k] + 1] < x[3 * t[3 * lowest] + 1]) lowest = k;
    }
    uint32_t corner = ((const uint32_t *)triangles.data)[3 * lowest];
    for (int k = 0; k < 2; ++k) {
        uint32_t known = 0;
        memcpy(&known, p.topology + 8, sizeof known);
        page_do(&p,
                k == 0 ? "{\"type\": \"fix\", \"triangles\": [%u]}"
                       : "{\"type\": \"material\", \"body\": 0, \"triangles\": [%u], "
                         "\"material\": {\"young\": 1e6}}",
                lowest);
        for (uint32_t now = known; now == known; memcpy(&now, p.topology + 8, sizeof now))
            assert_true(page_read(&p, 60000));
    }
    flags = find_block(p.topology, p.topology_size, 19, 0);
    assert_int_equal(((const uint8_t *)flags.data)[corner] & 7, 7);
    block materials = find_block(p.topology, p.topology_size, 20, 0);
    assert_int_equal(((const uint32_t *)materials.data)[lowest], 1);
    page_close(&p);
    assert_int_equal(program_stop(&program), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_springs_are_the_librarys),
        cmocka_unit_test(test_edits_keep_what_they_do_not_name),
        cmocka_unit_test(test_stress_of_quadratic_tets),
        cmocka_unit_test(test_sheets_have_no_stress),
        cmocka_unit_test(test_materials_of_sheets),
        cmocka_unit_test(test_loads_beside_wind),
        cmocka_unit_test(test_a_design_that_buckles_is_told),
        cmocka_unit_test(test_handles_are_on_their_shape),
        cmocka_unit_test(test_stress_of_a_design),
        cmocka_unit_test(test_rigid_parts_stay_rigid),
        cmocka_unit_test(test_skins_show_what_holds_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
