// Scene files: what they mean, what is refused and how the refusal reads.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "scene/node.h"

// ---------------------------------------------------------------- helpers

// Scenes are written with single quotes here, for the eye.
static char *quoted(const char *text)
{
    char *copy = strdup(text);
    assert_non_null(copy);
    for (char *c = copy; *c; c++)
        if (*c == '\'') *c = '"';
    return copy;
}

static hk_status parse_with(const char *text, const char *const *sets, int count, hk_scene **scene)
{
    char *json = quoted(text);
    *scene = NULL;
    hk_status status = hk_scene_parse(json, strlen(json), "s.json", sets, count, scene);
    free(json);
    if (status != HK_OK) assert_null(*scene);
    return status;
}

static hk_scene *parsed(const char *text, const char *set)
{
    hk_scene *scene;
    if (parse_with(text, &set, set != NULL, &scene) != HK_OK) fail_msg("%s", hk_error());
    return scene;
}

static void refused(const char *text, const char *set, const char *message)
{
    hk_scene *scene;
    assert_int_equal(parse_with(text, &set, set != NULL, &scene), HK_BAD_INPUT);
    assert_string_equal(hk_error(), message);
}

static void refused_with(const char *text, const char *set, const char *part)
{
    hk_scene *scene;
    assert_int_equal(parse_with(text, &set, set != NULL, &scene), HK_BAD_INPUT);
    if (!strstr(hk_error(), part)) fail_msg("\"%s\" does not say \"%s\"", hk_error(), part);
}

static void assert_vector(const double *v, double x, double y, double z)
{
    assert_true(v[0] == x && v[1] == y && v[2] == z);
}

// Line 2 holds the body, so that columns are easy to count.
#define BODY(extra)                                                \
    "{'bodies': [\n"                                               \
    "{'mesh': {'box': {'size': [1, 1, 1], 'cells': [1, 1, 1]}},\n" \
    " 'material': {'young': 1e6, 'poisson': 0.4}" extra "}]}"
static const char small_scene[] = BODY("");

// ---------------------------------------------------------------- meaning

static void defaults(void **state)
{
    (void)state;
    hk_scene *scene = parsed(small_scene, NULL);
    const hk_model_def *model = hk_scene_model(scene);
    const hk_world_def *world = hk_scene_world(scene);
    const hk_output_def *output = hk_scene_output(scene);
    assert_vector(model->gravity, 0, -9.81, 0);
    assert_int_equal(model->body_count, 1);
    const hk_body_def *body = model->bodies;
    assert_string_equal(body->name, "body0");
    assert_int_equal(hk_mesh_vertex_count(body->mesh), 8);
    assert_true(body->transform.scale == 1 && body->transform.degrees == 0);
    assert_string_equal(body->material.model, "neo_hookean");
    assert_true(body->material.density == 1000 && body->material.fibre_stiffness == 0);
    assert_int_equal(body->region_count + body->fix_count + body->move_count + body->load_count, 0);
    assert_null(world->model);
    assert_true(world->step == 0.01);
    assert_string_equal(world->integrator, "backward_euler");
    assert_string_equal(world->solver.method, "newton");
    assert_int_equal(world->solver.iterations, 0);
    assert_int_equal(world->backend, HK_BACKEND_CPU);
    assert_int_equal(hk_scene_steps(scene), 100);
    assert_true(output->every == 0 && !output->vtu && !output->points && !output->stats);
    hk_scene_free(scene);
    hk_scene_free(NULL);
}

static const char full_scene[] =
    "{'$schema': 'x', 'time': {'step': 0.02, 'end': 1, 'integrator': 'backward_euler'},"
    " 'gravity': [1, 2, 3], 'solver': {'iterations': 7, 'tolerance': 1e-5}, 'threads': 3,"
    " 'backend': 'cuda', 'output': {'every': 0.5, 'vtu': 'a.pvd', 'points': 'b', 'stats': 'c'},"
    " 'bodies': [{'name': 'bär', 'mesh': {'sphere': {'radius': 0.5, 'cells': 3}},"
    "  'transform': {'scale': 2, 'rotate': {'axis': [0, 0, 1], 'degrees': 45},"
    "                'translate': [4, 5, 6]},"
    "  'material': {'model': 'stvk', 'young': 600, 'poisson': 0, 'density': 7,"
    "    'volume_penalty': true, 'fibre': {'stiffness': 8, 'direction': [0, 2, 0]}},"
    "  'regions': ["
    "   {'select': {'any': [{'all': true}, {'vertices': [3, 1]}]},"
    "    'material': {'mu': 11, 'lambda': 12}},"
    "   {'select': {'all': true}, 'material': {'model': 'spline', 'young': 1, 'poisson': 0,"
    "    'f': [[0.5, -1], [1, 0], [1.5, 2]]}},"
    "   {'select': {'all': true}, 'material': {'model': 'polynomial', 'young': 1, 'poisson': 0,"
    "    'f': [0, 0, 3], 'h': [0, 0, 5]}}],"
    "  'initial': {'velocity': [7, 8, 9]},"
    "  'fix': [{'box': [[1, -1, 0], [-1, 1, 0]]}, {'sphere': {'center': [1, 2, 3], 'radius': 4}}],"
    "  'move': [{'select': {'not': {'vertices': [0]}}, 'rotate': {'axis': [1, 0, 0],"
    "    'center': [1, 2, 3], 'degrees': 90}, 'translate': [3, 2, 1], 'over': 0.5}],"
    "  'load': [{'select': {'all': true}, 'force': [0, -10, 0], 'distribute': 'area'}]},"
    " {'mesh': {'helix': {'radius': 0.3, 'pitch': 0.2, 'turns': 1, 'thickness': 0.05,"
    "   'strands': 1, 'cells': 1}}, 'material': {'young': 1e6, 'poisson': 0.4}}]}";

static void full_body(const hk_body_def *body)
{
    assert_string_equal(body->name, "bär");
    assert_true(body->transform.scale == 2 && body->transform.degrees == 45);
    assert_vector(body->transform.axis, 0, 0, 1);
    assert_vector(body->transform.translate, 4, 5, 6);
    assert_true(body->material.young == 600 && body->material.density == 7);
    assert_int_equal(body->material.parameter_count, 1);
    assert_string_equal(body->material.parameters[0].name, "volume_penalty");
    assert_true(fabs(body->material.parameters[0].value - 10) < 1e-12);  // 0.1 · 600 / 6
    assert_true(body->material.fibre_stiffness == 8);
    assert_vector(body->material.fibre_direction, 0, 2, 0);
    assert_vector(body->velocity, 7, 8, 9);

    assert_int_equal(body->region_count, 3);
    const hk_selector *any = &body->regions[0].select;
    assert_int_equal(any->kind, HK_SELECT_ANY);
    assert_int_equal(any->child_count, 2);
    assert_int_equal(any->children[0].kind, HK_SELECT_ALL);
    assert_int_equal(any->children[1].vertex_count, 2);
    assert_int_equal(any->children[1].vertices[0], 3);
    const hk_material_def *named = &body->regions[0].material;
    assert_true(isnan(named->young));
    assert_int_equal(named->parameter_count, 2);
    assert_string_equal(named->parameters[1].name, "lambda");
    assert_true(named->parameters[1].value == 12);
    const hk_curve *f = &body->regions[1].material.f;
    assert_int_equal(f->count, 3);
    assert_true(f->values[4] == 1.5 && f->values[5] == 2);
    assert_int_equal(body->regions[2].material.f.count, 3);
    assert_int_equal(body->regions[2].material.g.count, 0);
    assert_true(body->regions[2].material.h.values[2] == 5);

    assert_int_equal(body->fix_count, 2);
    assert_vector(body->fixes[0].box[0], -1, -1, 0);  // opposite corners in any order
    assert_vector(body->fixes[0].box[1], 1, 1, 0);
    assert_vector(body->fixes[1].center, 1, 2, 3);
    assert_true(body->fixes[1].radius == 4);
    assert_int_equal(body->move_count, 1);
    const hk_move_def *move = &body->moves[0];
    assert_int_equal(move->select.kind, HK_SELECT_NOT);
    assert_int_equal(move->select.children[0].kind, HK_SELECT_VERTICES);
    assert_vector(move->motion.axis, 1, 0, 0);
    assert_vector(move->motion.center, 1, 2, 3);
    assert_vector(move->motion.translate, 3, 2, 1);
    assert_true(move->motion.degrees == 90 && move->motion.over == 0.5);
    assert_int_equal(body->load_count, 1);
    assert_vector(body->loads[0].force, 0, -10, 0);
    assert_int_equal(body->loads[0].distribution, HK_BY_AREA);
}

static void everything(void **state)
{
    (void)state;
    hk_scene *scene = parsed(full_scene, NULL);
    const hk_world_def *world = hk_scene_world(scene);
    assert_true(world->step == 0.02 && world->threads == 3);
    assert_int_equal(world->backend, HK_BACKEND_CUDA);
    assert_int_equal(world->solver.iterations, 7);
    assert_true(world->solver.tolerance == 1e-5);
    assert_int_equal(hk_scene_steps(scene), 50);
    assert_true(hk_scene_output(scene)->every == 0.5);
    assert_string_equal(hk_scene_output(scene)->vtu, "a.pvd");
    assert_string_equal(hk_scene_output(scene)->points, "b");
    assert_string_equal(hk_scene_output(scene)->stats, "c");
    assert_vector(hk_scene_model(scene)->gravity, 1, 2, 3);
    assert_int_equal(hk_scene_model(scene)->body_count, 2);
    full_body(&hk_scene_model(scene)->bodies[0]);
    assert_string_equal(hk_scene_model(scene)->bodies[1].name, "body1");
    hk_scene_free(scene);
}

static void steps_from_end(void **state)
{
    (void)state;
    static const struct {
        const char *time;
        int steps;
    } cases[] = {{"{'step': 0.1, 'end': 0.3}", 3},
                 {"{'step': 0.1, 'end': 0.31}", 4},
                 {"{'step': 0.1, 'end': 0}", 0},
                 {"{'step': 2}", 1},
                 {"{'step': 0.01, 'end': 2.0}", 200},
                 {"{'step': 1e-6, 'end': 7e-6}", 7},
                 {"{'steps': 12}", 12}};
    for (int i = 0; i < HK_COUNT_OF(cases); i++) {
        char set[100];
        char *value = quoted(cases[i].time);
        snprintf(set, sizeof set, "time=%s", value);
        hk_scene *scene = parsed(small_scene, set);
        assert_int_equal(hk_scene_steps(scene), cases[i].steps);
        hk_scene_free(scene);
        free(value);
    }
}

// Whatever methods and options the library has.
static void solver_options(void **state)
{
    (void)state;
    for (int m = 0; m < hk_method_count(); m++)
        for (int o = 0; o < hk_method_option_count(m); o++) {
            const hk_option_info *info = hk_method_option(m, o);
            char method[80], value[80], number[32];
            snprintf(number, sizeof number, "%.17g", info->words ? 0 : info->fallback);
            snprintf(method, sizeof method, "solver.method=%s", hk_method_name(m));
            snprintf(value, sizeof value, "solver.%s=%s", info->name,
                     info->words ? info->words[0] : number);
            const char *sets[2] = {method, value};
            hk_scene *scene;
            if (parse_with(small_scene, sets, 2, &scene) != HK_OK) fail_msg("%s", hk_error());
            const hk_solver_def *solver = &hk_scene_world(scene)->solver;
            assert_string_equal(solver->method, hk_method_name(m));
            assert_int_equal(solver->option_count, 1);
            assert_string_equal(solver->options[0].name, info->name);
            if (info->words)
                assert_string_equal(solver->options[0].text, info->words[0]);
            else
                assert_true(!solver->options[0].text &&
                            solver->options[0].number == info->fallback);
            hk_scene_free(scene);
        }
}

// ---------------------------------------------------------------- refusals

static void places(void **state)
{
    (void)state;
    refused("{'bodies': [{'mesh': {'box': {'size': [1, 1, 1], 'cells': [1, 1, 1]}},\n"
            "  'material': {\n\t'young': -5, 'poisson': 0.4}}]}",
            NULL, "s.json:3:11: bodies[0].material.young: must be greater than 0 (is -5)");
    // An unknown key is shown at the key, a missing one at the object.
    refused(BODY(", 'fixed': []"), NULL,
            "s.json:3:46: bodies[0].fixed: unknown key (did you mean \"fix\"?)");
    refused(
        "{'time': {'dt': 1},\n 'bodies': []}", NULL,
        "s.json:1:11: time.dt: unknown key (known here: step, steps, end, integrator, conserve)");
    refused("\n  {'threads': 1}", NULL, "s.json:2:3: \"bodies\" is missing");
    refused(" [1]", NULL, "s.json:1:2: must be an object {…} (is an array)");
    // Strings with brackets, quotes, commas and accents stand before the culprit; columns count
    // characters.
    refused("{'output': {'vtu': 'é]}\\\",:[{', 'every': [1, [2]], 'stats': 'ü'}, 'bodies': []}",
            NULL, "s.json:1:42: output.every: must be a number (is an array)");
    refused("{'output': {'\\u0065very': -1}, 'bodies': []}", NULL,
            "s.json:1:27: output.every: must be at least 0 (is -1)");
    refused(BODY(", 'fix': [{'all': true}, {'any': [{'vertices': [0]},\n"
                 "  {'not': {'vertices': [1, 2, 8]}}]}]"),
            NULL,
            "s.json:4:31: bodies[0].fix[1].any[1].not.vertices[2]: is no vertex of the mesh: it has"
            " 8, numbered from 0 (is 8)");
    hk_scene *scene;
    assert_int_equal(parse_with("\xEF\xBB\xBF{'threads': -1}", NULL, 0, &scene), HK_BAD_INPUT);
    assert_string_equal(hk_error(), "s.json:1:13: threads: must be at least 0 (is -1)");
}

static void syntax(void **state)
{
    (void)state;
    refused_with("{'a': 1,\n 'b' 2}", NULL, "s.json:2:6: not valid JSON: ':' expected near '2'");
    refused_with("{'a': 1, 'a': 2}", NULL, "s.json:1:12: not valid JSON: duplicate object key");
    refused_with("{// no\n}", NULL, "(JSON has no comments)");
    refused_with("{'threads': 1e999}", NULL, "not valid JSON: real number overflow");
    refused_with("{'threads': NaN}", NULL, "s.json:1:15: not valid JSON");
    refused_with("", NULL, "s.json:1:1: not valid JSON");
    refused_with("{} {}", NULL, "not valid JSON: end of file expected");
    refused_with("{'a': '\xff'}", NULL, "not valid JSON");
    char deep[5000];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    refused_with(deep, NULL, "depth");
    hk_scene *scene = NULL;
    assert_int_equal(hk_scene_parse(NULL, 0, NULL, NULL, 0, &scene), HK_BAD_INPUT);
    assert_int_equal(hk_scene_parse("{}", 2, NULL, NULL, 1, &scene), HK_BAD_INPUT);
    assert_int_equal(hk_scene_parse("{}", 2, NULL, NULL, -1, &scene), HK_BAD_INPUT);
    assert_int_equal(hk_scene_parse("{}", 2, NULL, NULL, 0, &scene), HK_BAD_INPUT);
    assert_string_equal(hk_error(), "scene:1:1: \"bodies\" is missing");
}

static void values(void **state)
{
    (void)state;
    refused(small_scene, "bodies.0.material.poisson=0.5",
            "--set bodies.0.material.poisson=0.5: bodies[0].material.poisson: must be less than 0.5"
            " (is 0.5)");
    refused(small_scene, "bodies.0.material.poisson=-1",
            "--set bodies.0.material.poisson=-1: bodies[0].material.poisson: must be greater than"
            " -1 (is -1)");
    refused(small_scene, "bodies.0.mesh.box.cells=[1,2.5,1]",
            "--set bodies.0.mesh.box.cells=[1,2.5,1]: bodies[0].mesh.box.cells[1]: must be a whole"
            " number (is 2.5)");
    refused(small_scene, "bodies.0.mesh.box.cells=[1,2]",
            "--set bodies.0.mesh.box.cells=[1,2]: bodies[0].mesh.box.cells: must be an array of 3"
            " numbers (has 2 items)");
    refused_with(small_scene, "bodies.0.material.model=jelly",
                 "must be one of corotated, fixed_corotated, arap, stvk, neo_hookean,");
    refused_with(small_scene, "bodies.0.material.model=neohookean",
                 "(is \"neohookean\": did you mean \"neo_hookean\"?)");
    refused_with(small_scene, "bodies.0.material.youngs_modulus=1",
                 "unknown key (did you mean \"young\"?)");
    refused_with(small_scene, "bodies.0.material.s0=1",
                 "bodies[0].material.s0: unknown key (known here: model, young, poisson, density,");
    refused_with(small_scene, "solver.method=magic", "must be one of newton");
    refused_with(small_scene, "backend=gpu", "must be one of cpu, cuda, auto (is \"gpu\")");
    refused_with(small_scene, "time.integrator=rk4",
                 "unknown integrator \"rk4\" (known: backward_euler");
    refused_with(BODY(", 'fix': [{}]"), NULL, "must have exactly one of box, sphere, vertices,");
    refused_with("{'time': {'steps': 1, 'end': 1}, 'bodies': []}", NULL,
                 "s.json:1:30: time.end: \"steps\" is given too");
    refused_with(BODY(", 'fix': [{'group': 'bone'}]"), NULL, "the mesh has no groups");
    // What the rooms for meshes and materials refuse is told with the place.
    refused_with(small_scene, "bodies.0.mesh.box.cells=[2000,2000,2000]",
                 "s.json:2:18: bodies[0].mesh.box: ");
    refused_with(small_scene, "bodies.0.material={}",
                 "--set bodies.0.material={}: bodies[0].material: ");
    // Long text is cut, also between the bytes of a character.
    char set[4000] = "backend=";
    for (int i = 0; i < 900; i++) strcat(set, "üx");
    refused_with(small_scene, set, "…\")");
}

static void nearest_words(void **state)
{
    (void)state;
    static const char *const words[] = {"young", "poisson", "density", "velocity"};
    assert_string_equal(hk_nearest_word("yuong", words, 4), "young");
    assert_string_equal(hk_nearest_word("Young", words, 4), "young");
    assert_string_equal(hk_nearest_word("poison", words, 4), "poisson");
    assert_string_equal(hk_nearest_word("vel", words, 4), "velocity");
    assert_null(hk_nearest_word("mass", words, 4));
    assert_null(hk_nearest_word("", words, 4));
    assert_null(hk_nearest_word("x", words, 4));
    assert_null(hk_nearest_word("gpu", (const char *const[]){"cpu"}, 1));
    assert_null(hk_nearest_word("a word that is much longer than any key of a scene", words, 4));
}

// ---------------------------------------------------------------- overrides

static void overrides(void **state)
{
    (void)state;
    static const char *const sets[] = {"solver.method=newton",
                                       "bodies.0.material.young=1e5",
                                       "bodies[0].material.density=2000",
                                       "bodies.0.name=12 bars",
                                       "bodies.0.fix.0={\"all\": true}",
                                       "bodies.0.fix.1.vertices.0=3",
                                       "output.stats=a=b.json",
                                       "time.end=0.5",
                                       "time.steps=7",
                                       "bodies.0.mesh.sphere={\"radius\": 1, \"cells\": 2}"};
    hk_scene *scene;
    if (parse_with(small_scene, sets, HK_COUNT_OF(sets), &scene) != HK_OK)
        fail_msg("%s", hk_error());
    const hk_body_def *body = hk_scene_model(scene)->bodies;
    assert_true(body->material.young == 1e5 && body->material.density == 2000);
    assert_string_equal(body->name, "12 bars");
    assert_int_equal(body->fix_count, 2);
    assert_int_equal(body->fixes[1].vertices[0], 3);
    assert_string_equal(hk_scene_output(scene)->stats, "a=b.json");
    assert_int_equal(hk_scene_steps(scene), 7);  // the later of two that exclude each other
    assert_true(hk_mesh_vertex_count(body->mesh) != 8);
    hk_scene_free(scene);
}

static void override_refusals(void **state)
{
    (void)state;
    refused(small_scene, "threads",
            "--set threads: expected path=value, as in solver.method=newton");
    refused(small_scene, "=1", "--set =1: the path before '=' is empty");
    static const char *const broken[] = {"a..b=1",  ".a=1",  "a.=1",  "a.[0]=1", "a[=1",   "a[]=1",
                                         "a[0]b=1", "[0]=1", "a[0=1", "a]=1",    "a[0].=1"};
    for (int i = 0; i < HK_COUNT_OF(broken); i++)
        refused_with(small_scene, broken[i], "an empty or broken part");
    refused_with(small_scene, "bodies.2={}", "use 0 to 1 (the last appends)");
    refused_with(small_scene, "bodies.first={}", "\"first\" is not a place in an array of 1");
    refused_with(small_scene, "bodies.00={}", "is not a place");
    refused_with(small_scene, "bodies.0.material.young.x=1", "neither object nor array to hold x");
    refused_with(small_scene, "threads=1e999", "the number is too large");
    refused_with(small_scene, "threads=\xff", "not valid UTF-8");
    refused_with(small_scene, "\xff=1", "not valid UTF-8");
    refused_with(small_scene, "\xff.a=1", "not valid UTF-8");
    char deep[400] = "a";
    for (int i = 0; i < 99; i++) strcat(deep, ".a");
    refused_with(small_scene, strcat(deep, "=1"), "too many parts");
    // A value is blamed on the override that made it, also when only a part of it is wrong, or
    // when the override went through it; other values keep their place in the text.
    refused(small_scene, "solver={\"iterations\": -1}",
            "--set solver={\"iterations\": -1}: solver.iterations: must be at least 0 (is -1)");
    refused(small_scene, "bodies.0.mesh.sphere.radius=1",
            "--set bodies.0.mesh.sphere.radius=1: bodies[0].mesh.sphere: \"cells\" is missing");
    refused(small_scene, "solvers.method=newton",
            "--set solvers.method=newton: solvers: unknown key (did you mean \"solver\"?)");
    refused(BODY(", 'fix': [{'al': true}]"), "threads=2",
            "s.json:3:55: bodies[0].fix[0].al: unknown key (did you mean \"all\"?)");
    const char *const twice[] = {"threads=-1", "threads=-2"};
    hk_scene *scene;
    assert_int_equal(parse_with(small_scene, twice, 2, &scene), HK_BAD_INPUT);
    assert_string_equal(hk_error(), "--set threads=-2: threads: must be at least 0 (is -2)");
    const char *const none[] = {NULL};
    assert_int_equal(parse_with(small_scene, none, 1, &scene), HK_BAD_INPUT);
}

// ---------------------------------------------------------------- files

static const char tet_msh[] = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
                              "$PhysicalNames\n1\n3 7 \"bone\"\n$EndPhysicalNames\n"
                              "$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n"
                              "$Elements\n1\n1 4 2 7 7 1 2 3 4\n$EndElements\n";

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void files(void **state)
{
    (void)state;
    char folder[] = "/tmp/hooke-scene-XXXXXX", path[200], expected[400];
    assert_non_null(mkdtemp(folder));
    char *text = quoted("{'bodies': [{'mesh': {'file': 'tet.msh'},\n"
                        " 'material': {'young': 1e6, 'poisson': 0.4},\n"
                        " 'fix': [{'group': 'bone'}]}]}");
    write_file(folder, "tet.msh", tet_msh);
    write_file(folder, "scene.json", text);
    snprintf(path, sizeof path, "%s/scene.json", folder);
    hk_scene *scene = NULL;
    if (hk_scene_load(path, NULL, 0, &scene) != HK_OK) fail_msg("%s", hk_error());
    const hk_body_def *body = hk_scene_model(scene)->bodies;
    assert_int_equal(hk_mesh_tet_count(body->mesh), 1);
    assert_string_equal(body->fixes[0].group, "bone");
    hk_scene_free(scene);

    scene = NULL;
    const char *set = "bodies.0.fix.0.group=bonn";
    assert_int_equal(hk_scene_load(path, &set, 1, &scene), HK_BAD_INPUT);
    assert_non_null(
        strstr(hk_error(), "must be one of bone (is \"bonn\": did you mean \"bone\"?)"));
    // A missing mesh: the place in the scene and the path that was tried.
    set = "threads=1";
    snprintf(expected, sizeof expected, "%s/tet.msh", folder);
    assert_int_equal(unlink(expected), 0);
    assert_int_equal(hk_scene_load(path, &set, 1, &scene), HK_IO_ERROR);
    assert_non_null(strstr(hk_error(), expected));
    snprintf(expected, sizeof expected, "%s:1:31: bodies[0].mesh.file: ", path);
    assert_int_equal(strncmp(hk_error(), expected, strlen(expected)), 0);
    assert_null(scene);
    unlink(path);
    rmdir(folder);
    assert_int_equal(hk_scene_load(path, NULL, 0, &scene), HK_IO_ERROR);
    assert_non_null(strstr(hk_error(), path));
    assert_int_equal(hk_scene_load(NULL, NULL, 0, &scene), HK_BAD_INPUT);
    free(text);
}

// An octahedron, whose triangles come as they please.
static const char octahedron_obj[] =
    "v 1 0 0\nv -1 0 0\nv 0 1 0\nv 0 -1 0\nv 0 0 1\nv 0 0 -1\n"
    "f 1 3 5\nf 3 2 5\nf 2 4 5\nf 4 1 5\nf 3 1 6\nf 2 3 6\nf 6 4 2\nf 4 6 1\n";

static void filled_surfaces(void **state)
{
    (void)state;
    char folder[] = "/tmp/hooke-scene-XXXXXX", path[200];
    assert_non_null(mkdtemp(folder));
    char *text = quoted("{'bodies': [\n"
                        " {'mesh': {'fill': {'file': 'body.obj', 'size': 0.25}},\n"
                        "  'material': {'young': 1e6, 'poisson': 0.4}},\n"
                        " {'mesh': {'fill': {'file': 'body.obj', 'size': 0.25}},\n"
                        "  'material': {'young': 1e6, 'poisson': 0.4}}]}");
    write_file(folder, "body.obj", octahedron_obj);
    write_file(folder, "scene.json", text);
    snprintf(path, sizeof path, "%s/scene.json", folder);
    hk_scene *scene = NULL;
    if (hk_scene_load(path, NULL, 0, &scene) != HK_OK) fail_msg("%s", hk_error());
    const hk_model_def *model = hk_scene_model(scene);
    const hk_body_def *first = hk_def_at(model->bodies, 0), *second = hk_def_at(model->bodies, 1);
    assert_true(hk_mesh_tet_count(first->mesh) > 100);
    assert_int_equal(hk_mesh_triangle_count(first->skin), 8);
    // The same words, the same mesh.
    assert_ptr_equal(first->mesh, second->mesh);
    assert_ptr_equal(first->skin, second->skin);
    hk_scene_free(scene);

    // Without the skin; with `cells` in the place of `size`.
    const char *sets[] = {"bodies.0.mesh.fill.skin=false", "bodies.0.mesh.fill.cells=6"};
    if (hk_scene_load(path, sets, 2, &scene) != HK_OK) fail_msg("%s", hk_error());
    first = hk_scene_model(scene)->bodies;
    assert_null(first->skin);
    hk_scene_free(scene);

    // What cannot be filled is told with its place; so is a surface where a solid is needed.
    scene = NULL;
    sets[0] = "bodies.1.mesh.fill.size=10";
    assert_int_equal(hk_scene_load(path, sets, 1, &scene), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "scene.json"));
    assert_non_null(strstr(hk_error(), "bodies[1].mesh.fill: "));
    assert_non_null(strstr(hk_error(), "smaller size"));
    sets[0] = "bodies.0.mesh.file=body.obj";
    hk_model *none = NULL;
    if (hk_scene_load(path, sets, 1, &scene) != HK_OK) fail_msg("%s", hk_error());
    assert_int_not_equal(hk_model_create(hk_scene_model(scene), &none), HK_OK);
    assert_non_null(strstr(hk_error(), "hooke mesh fill"));
    hk_scene_free(scene);
    unlink(path);
    snprintf(path, sizeof path, "%s/body.obj", folder);
    unlink(path);
    rmdir(folder);
    free(text);
}

// ---------------------------------------------------------------- memory

static struct {
    long left, live;
} memory;

static void *scarce_alloc(void *context, size_t size, size_t alignment)
{
    (void)context;
    if (memory.left == 0) return NULL;
    memory.left--;
    memory.live++;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void scarce_release(void *context, void *block)
{
    (void)context;
    memory.live--;
    free(block);
}

static void memory_runs_out(void **state)
{
    (void)state;
    static const hk_allocator scarce = {scarce_alloc, scarce_release, NULL};
    const char *const sets[] = {"solver.iterations=3", "bodies.0.fix.2={\"all\": true}",
                                "bodies.0.name=new", "time.steps=3"};
    static const char *const wrong[] = {"threads=-1"};
    hk_set_allocator(&scarce);
    hk_status status = HK_NO_MEMORY;
    for (long n = 0; status != HK_OK; n++) {
        hk_scene *scene = NULL;
        memory.left = n;
        status = parse_with(full_scene, sets, HK_COUNT_OF(sets), &scene);
        if (status != HK_OK && status != HK_NO_MEMORY)
            fail_msg("allocation %ld: %s", n, hk_error());
        hk_scene_free(scene);
        assert_int_equal(memory.live, 0);
    }
    assert_true(memory.left == 0);  // the last one tried was just enough
    // Also when there is an error to report.
    for (long n = 0; status != HK_BAD_INPUT; n++) {
        hk_scene *scene = NULL;
        memory.left = n;
        status = parse_with(full_scene, wrong, 1, &scene);
        assert_true(status == HK_BAD_INPUT || status == HK_NO_MEMORY);
        assert_int_equal(memory.live, 0);
    }
    hk_set_allocator(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),        cmocka_unit_test(everything),
        cmocka_unit_test(steps_from_end),  cmocka_unit_test(solver_options),
        cmocka_unit_test(places),          cmocka_unit_test(syntax),
        cmocka_unit_test(values),          cmocka_unit_test(nearest_words),
        cmocka_unit_test(overrides),       cmocka_unit_test(override_refusals),
        cmocka_unit_test(files),           cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(filled_surfaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
