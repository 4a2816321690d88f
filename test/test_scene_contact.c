// Contact, obstacles and copies in scene files: what arrives in the definitions, what is said of
// mistakes, and that the scenes that come along can begin.
#include <glob.h>

#include "bodies.h"

#include "failing_alloc.h"
#include "model/contact.h"

#define BODY                                                                              \
    "{\"name\": \"a\", \"mesh\": {\"box\": {\"size\": [1, 1, 1], \"cells\": [1, 1, 1]}}," \
    " \"material\": {\"young\": 1e6, \"poisson\": 0.4}"

static hk_status parse(const char *text, hk_scene **scene)
{
    *scene = NULL;
    return hk_scene_parse(text, strlen(text), "s.json", NULL, 0, scene);
}

static hk_scene *read(const char *text)
{
    hk_scene *scene;
    CHECK_OK(parse(text, &scene));
    return scene;
}

static void refuse(const char *text, const char *part)
{
    hk_scene *scene;
    assert_int_not_equal(parse(text, &scene), HK_OK);
    assert_null(scene);
    if (!strstr(hk_error(), part)) fail_msg("\"%s\" does not say \"%s\"", hk_error(), part);
}

// ---------------------------------------------------------------- what arrives

static void contact_arrives(void **state)
{
    (void)state;
    hk_scene *scene = read("{\"bodies\": [" BODY "}]}");
    assert_null(hk_scene_model(scene)->contact);
    assert_int_equal(hk_scene_model(scene)->obstacle_count, 0);
    assert_true(isnan(hk_scene_model(scene)->bodies[0].friction));
    hk_scene_free(scene);
    scene = read("{\"contact\": {}, \"bodies\": [" BODY "}]}");
    const hk_contact_def standard = hk_default_contact_def();
    assert_memory_equal(hk_scene_model(scene)->contact, &standard, sizeof standard);
    hk_scene_free(scene);
    scene = read("{\"contact\": {\"distance\": 2e-3, \"stiffness\": 1e5, \"friction\": 0.3,"
                 " \"slip_speed\": 1e-4, \"friction_passes\": 3, \"self\": false, \"law\": \"log\","
                 " \"overlap\": \"recover\", \"certify\": true, \"when\": \"after\", \"between\":"
                 " [{\"bodies\": [\"a\", \"floor\"], \"friction\": 0.5},"
                 " {\"bodies\": [\"a\", \"a\"], \"ignore\": true}]},"
                 " \"obstacles\": [{\"name\": \"floor\", \"plane\": {\"normal\": [0, 1, 0]}}],"
                 " \"bodies\": [" BODY ", \"friction\": 0.4}]}");
    const hk_contact_def *c = hk_scene_model(scene)->contact;
    assert_true(c->distance == 2e-3 && c->stiffness == 1e5 && c->friction == 0.3);
    assert_true(c->slip_speed == 1e-4 && c->friction_passes == 3 && !c->self && c->certify);
    assert_string_equal(c->law, "log");
    assert_true(c->overlap == HK_OVERLAP_RECOVER && c->when == HK_CONTACT_AFTER);
    assert_true(c->between_count == 2 && c->between[0].friction == 0.5 && !c->between[0].ignore);
    assert_string_equal(c->between[0].b, "floor");
    assert_true(c->between[1].ignore && isnan(c->between[1].friction));
    assert_true(hk_scene_model(scene)->bodies[0].friction == 0.4);
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(hk_scene_model(scene), &model));
    assert_true(hk_contact_friction(model->contact, 0, 1) == 0.5);
    assert_false(hk_contact_touches(model->contact, 0, 0));
    // No world runs without the contact that was asked for.
    hk_world_def def = hk_copy_world_def(hk_scene_world(scene));
    hk_world *world = NULL;
    def.model = model;
    def.solver.method = "descent";  // which does not know of it
    assert_int_equal(hk_world_create(&def, &world), HK_UNSUPPORTED);
    assert_non_null(strstr(hk_error(), "contact"));
    hk_rest_def rest_def = hk_default_rest_def();
    hk_rest *rest = NULL;
    rest_def.model = model;
    assert_int_equal(hk_rest_create(&rest_def, &rest), HK_UNSUPPORTED);
    hk_model_free(model);
    hk_scene_free(scene);
}

static void obstacles_arrive(void **state)
{
    (void)state;
    hk_scene *scene = read(
        "{\"bodies\": [" BODY "}], \"obstacles\": ["
        "{\"plane\": {\"point\": [0, -1, 0], \"normal\": [0, 2, 0]}, \"friction\": 0.5},"
        "{\"name\": \"press\", \"box\": {\"min\": [-1, 1, -1], \"max\": [1, 1.1, 1]},"
        " \"move\": [{\"translate\": [0, -0.5, 0], \"over\": 1}]},"
        "{\"sphere\": {\"center\": [0, 1, 0], \"radius\": 0.2}, \"keys\": [{\"t\": 0},"
        " {\"t\": 1, \"translate\": [0, -1, 0], \"rotate\": {\"axis\": [1, 0, 0], \"degrees\": 90,"
        " \"center\": [0, 1, 0]}}]},"
        "{\"capsule\": {\"from\": [0, 0, 0], \"to\": [1, 0, 0], \"radius\": 0.05}},"
        "{\"cylinder\": {\"from\": [0, 0, 0], \"to\": [0, 1, 0], \"radius\": 0.05, \"sides\": 12}},"
        "{\"plate\": {\"point\": [0, 0.3, 0], \"normal\": [0, -1, 0], \"size\": [1, 2],"
        " \"thickness\": 0.1}, \"formula\": {\"x\": \"t < 1 ? 0 : 0.1*sin(t)\", \"rotate\":"
        " {\"axis\": [0, 1, 0], \"degrees\": \"90*t\"}}},"
        "{\"mesh\": {\"torus\": {\"radius\": 1, \"thickness\": 0.2, \"cells\": [1, 8]}},"
        " \"transform\": {\"scale\": 2}}]}");
    const hk_model_def *def = hk_scene_model(scene);
    const hk_obstacle_def *o = def->obstacles;
    assert_int_equal(def->obstacle_count, 7);
    assert_string_equal(o[0].name, "obstacle0");
    assert_string_equal(o[1].name, "press");
    assert_true(o[0].point[1] == -1 && o[0].friction == 0.5 && isnan(o[1].friction));
    assert_true(o[1].max[1] == 1.1 && o[1].move_count == 1 && o[1].moves[0].over == 1);
    assert_true(o[2].key_count == 2 && o[2].keys[1].degrees == 90 && o[2].keys[1].center[1] == 1);
    assert_true(o[4].sides == 12 && o[3].to[0] == 1);
    assert_true(o[5].size[1] == 2 && o[5].normal[1] == -1);
    assert_string_equal(o[5].formula.translate[0], "t < 1 ? 0 : 0.1*sin(t)");
    assert_string_equal(o[5].formula.degrees, "90*t");
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(def, &model));
    hk_scene_free(scene);
    double R[9], x[3];
    CHECK_OK(hk_model_obstacle_pose(model, 1, 0.5, R, x));
    assert_true(x[1] == -0.25);
    CHECK_OK(hk_model_obstacle_pose(model, 5, 1, R, x));
    assert_true(R[0] == 0 && x[0] == 0.1 * sin(1));
    assert_int_equal(model->contact->obstacles[6].vertex_count, 32);
    hk_model_free(model);
}

// ---------------------------------------------------------------- copies

static void arrays_are_bodies(void **state)
{
    (void)state;
    hk_scene *scene =
        read("{\"bodies\": [" BODY ", \"transform\": {\"translate\": [10, 0, 0]}, \"array\":"
             " {\"count\": [2, 1, 3], \"step\": [2, 9, 3]}, \"fix\": [{\"box\": [[9, -1, -1],"
             " [10, 1, 1]]}], \"load\": [{\"select\": {\"not\": {\"sphere\": {\"center\": [10, 0,"
             " 0], \"radius\": 0.1}}}, \"force\": [0, 1, 0]}]}, "
             "{\"mesh\": {\"box\": {\"size\": [1, 1, 1], \"cells\": [1, 1, 1]}},"
             " \"material\": {\"young\": 1e6, \"poisson\": 0.4}}]}");
    const hk_model_def *def = hk_scene_model(scene);
    static const char *const names[7] = {"a.0", "a.1", "a.2", "a.3", "a.4", "a.5", "body1"};
    assert_int_equal(def->body_count, 7);
    for (int b = 0; b < 7; b++) {
        assert_string_equal(def->bodies[b].name, names[b]);
        assert_ptr_equal(def->bodies[b].mesh, def->bodies[0].mesh);
    }
    for (int b = 0; b < 6; b++) {
        const double *t = def->bodies[b].transform.translate;
        assert_true(t[0] == 10 + 2 * (b % 2) && t[1] == 0 && t[2] == 3 * (b / 2));
    }
    // Each is held where the first is held, though only that one stands there.
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(def, &model));
    for (int b = 0; b < 6; b++)
        for (int v = 0; v < 8; v++) {
            int at = model->bodies[b].vertex_start + v, first = model->bodies[0].vertex_start + v;
            assert_int_equal(model->hold[at], model->hold[first]);
            assert_int_equal(model->hold[at] == HK_FIXED, v % 2 == 0);
            assert_true(model->load[3 * at + 1] == model->load[3 * first + 1]);
            assert_true((model->load[3 * at + 1] > 0) == (v != 0));
        }
    hk_model_free(model);
    hk_scene_free(scene);
}

static void copies_are_placed(void **state)
{
    (void)state;
    // Turned about x, then about y; twice as large, then half of that.
    hk_scene *scene =
        read("{\"bodies\": [" BODY ", \"transform\": {\"scale\": 2, \"rotate\": {\"axis\":"
             " [1, 0, 0], \"degrees\": 90}, \"translate\": [0, 0, 1]}, \"copies\": [{},"
             " {\"scale\": 0.5, \"rotate\": {\"axis\": [0, 3, 0], \"degrees\": 90}, \"translate\":"
             " [7, 0, 0]}]}]}");
    hk_model *model = NULL;
    CHECK_OK(hk_model_create(hk_scene_model(scene), &model));
    for (int v = 0; v < 8; v++) {
        double x = v & 1, y = v >> 1 & 1, z = v >> 2;
        const double first[3] = {2 * x, -2 * z, 2 * y + 1};
        const double second[3] = {0.5 * first[2] + 7, 0.5 * first[1], -0.5 * first[0]};
        for (int i = 0; i < 3; i++) {
            assert_true(fabs(model->rest[3 * v + i] - first[i]) < 1e-15);
            assert_true(fabs(model->rest[3 * (8 + v) + i] - second[i]) < 1e-14);
        }
    }
    hk_model_free(model);
    hk_scene_free(scene);
}

// ---------------------------------------------------------------- mistakes

#define SCENE(rest)    "{\"bodies\": [" BODY "}],\n " rest "}"
#define CONTACT(rest)  SCENE("\"contact\": {" rest "}")
#define OBSTACLE(rest) SCENE("\"obstacles\": [{" rest "}]")
#define PLANE          "\"plane\": {\"normal\": [0, 1, 0]}"

static void mistakes_have_a_place(void **state)
{
    (void)state;
    refuse(CONTACT("\"distanse\": 1"), "s.json:2:14: contact.distanse: unknown key (did you mean "
                                       "\"distance\"?)");
    refuse(CONTACT("\"distance\": -1"), "s.json:2:26: contact.distance: must be at least 0");
    refuse(CONTACT("\"restitution\": 1.5"), "contact.restitution: must be");
    refuse(CONTACT("\"slip_speed\": 0"), "contact.slip_speed: must be greater than 0");
    refuse(CONTACT("\"law\": \"two_stages\""), "did you mean \"two_stage\"?");
    refuse(CONTACT("\"overlap\": true"), "contact.overlap: must be one of refuse, recover");
    refuse(CONTACT("\"when\": \"before\""), "contact.when: must be one of during, after");
    refuse(CONTACT("\"self\": 1"), "contact.self: must be true or false");
    refuse(CONTACT("\"between\": [{\"bodies\": [\"a\"], \"ignore\": true}]"), "must be two names");
    refuse(CONTACT("\"between\": [{\"bodies\": [\"a\", \"a\"]}]"),
           "contact.between[0]: must have exactly one of friction, ignore");
    refuse(
        CONTACT("\"between\": [{\"bodies\": [\"a\", \"a\"], \"ignore\": true, \"friction\": 1}]"),
        "exactly one of friction, ignore");
    refuse(CONTACT("\"between\": [{\"bodies\": [\"a\", \"floor\"], \"friction\": 1}]"),
           "s.json:2:43: contact.between[0].bodies[1]: there is no body and no obstacle \"floor\"");
    refuse(SCENE("\"obstacles\": {}"), "obstacles: must be an array");
    refuse(OBSTACLE("\"name\": \"x\""),
           "obstacles[0]: must have exactly one of plane, box, sphere, "
           "capsule, cylinder, plate, mesh");
    refuse(OBSTACLE(PLANE ", \"sphere\": {\"center\": [0, 0, 0], \"radius\": 1}"),
           "exactly one of");
    refuse(OBSTACLE("\"plane\": {\"normal\": [0, 0, 0]}"), "obstacles[0].plane.normal: must be a");
    refuse(OBSTACLE("\"plan\": {}"), "did you mean \"plane\"?");
    refuse(OBSTACLE("\"box\": {\"min\": [0, 0, 0], \"max\": [1, 0, 1]}"),
           "s.json:2:16: obstacles[0]: its max[1] must be greater");
    refuse(OBSTACLE("\"cylinder\": {\"from\": [0, 0, 0], \"to\": [0, 0, 0], \"radius\": 1}"),
           "the same point");
    refuse(OBSTACLE("\"mesh\": {\"file\": \"no/such.obj\"}"), "no/such.obj");
    refuse(OBSTACLE(PLANE ", \"move\": [], \"keys\": []"),
           "obstacles[0].keys: \"move\" is given too: only one of them may be");
    refuse(OBSTACLE(PLANE ", \"move\": [{\"select\": {\"all\": true}}]"),
           "move[0].select: unknown");
    refuse(OBSTACLE(PLANE ", \"keys\": [{\"translate\": [0, 0, 0]}]"), "\"t\" is missing");
    refuse(OBSTACLE(PLANE ", \"keys\": [{\"t\": 1}, {\"t\": 1}]"), "obstacles[0]: key 1: its time");
    refuse(OBSTACLE(PLANE ", \"formula\": {}"), "must have at least one of x, y, z, rotate");
    refuse(OBSTACLE(PLANE ", \"formula\": {\"y\": \"20+*3\"}"),
           "obstacles[0].formula.y: formula \"20+*3\": column 4: ");
    refuse(OBSTACLE(PLANE ", \"formula\": {\"y\": 3}"), "formula.y: must be text");
    refuse(OBSTACLE(PLANE ", \"formula\": {\"y\": \"1/t\"}"), "is inf at t = 0 s");
    refuse("{\"bodies\": [" BODY ", \"friction\": -1}]}", "bodies[0].friction");
    refuse("{\"bodies\": [" BODY ", \"array\": {\"count\": [0, 1, 1], \"step\": [1, 1, 1]}}]}",
           "bodies[0].array.count[0]: must be at least 1");
    refuse("{\"bodies\": [" BODY
           ", \"array\": {\"count\": [999, 999, 999], \"step\": [1, 1, 1]}}]}",
           "too many copies");
    refuse("{\"bodies\": [" BODY ", \"copies\": []}]}", "bodies[0].copies: must have at least 1");
    refuse("{\"bodies\": [" BODY ", \"copies\": [{}], \"array\": {}}]}",
           "bodies[0].array: \"copies\" is given too");
    refuse("{\"bodies\": [" BODY
           ", \"copies\": [{}], \"fix\": [{\"box\": [[8, 8, 8], [9, 9, 9]]}]}]}",
           "bodies[0]: a selector selects no vertex of the body");
}

static void no_failed_allocation_leaks(void **state)
{
    (void)state;
    static const char text[] =
        "{\"contact\": {\"law\": \"log\", \"between\": [{\"bodies\": [\"a*\", \"obstacle0\"],"
        " \"ignore\": true}]}, \"obstacles\": [{\"box\": {\"min\": [0, 0, 0], \"max\": [1, 1, 1]},"
        " \"formula\": {\"x\": \"t\"}}, {\"mesh\": {\"pyramid\": {\"size\": [1, 1, 1]}}}],"
        " \"bodies\": [" BODY ", \"array\": {\"count\": [2, 1, 1], \"step\": [2, 2, 2]},"
        " \"fix\": [{\"any\": [{\"box\": [[0, 0, 0], [0, 1, 1]]}]}]}]}";
    for (int n = 1;; n++) {
        hk_scene *scene = NULL;
        failing_alloc_install(n);
        hk_status status = parse(text, &scene);
        bool reached = failing_alloc_count() >= n;
        if (status == HK_OK) hk_scene_free(scene);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        if (!reached) {
            assert_int_equal(status, HK_OK);
            break;
        }
        assert_int_not_equal(status, HK_OK);
    }
}

// ---------------------------------------------------------------- the scenes that come along

// The surface of a body or an obstacle, and its bounds.
typedef struct shell {
    hk_mesh *mesh;
    const double *x;
    const int32_t *triangles;
    int triangle_count, vertex_count;
    double low[3], high[3];
} shell;

static void bound(shell *s)
{
    for (int i = 0; i < 3; i++) {
        s->low[i] = INFINITY;
        s->high[i] = -INFINITY;
        for (int v = 0; v < s->vertex_count; v++) {
            s->low[i] = fmin(s->low[i], s->x[3 * v + i]);
            s->high[i] = fmax(s->high[i], s->x[3 * v + i]);
        }
    }
}

static void take_body(const hk_model *model, int body, shell *s)
{
    CHECK_OK(hk_model_body_mesh(model, body, &s->mesh));
    CHECK_OK(hk_mesh_surface(s->mesh, &s->triangle_count, &s->triangles, NULL));
    s->x = s->mesh->positions;
    s->vertex_count = s->mesh->vertex_count;
    bound(s);
}

static double side(const double *a, const double *b, const double *c, const double *d)
{
    return hk_tet_volume6(a, b, c, d);
}

// An edge in the plane of the triangle does not count: it is beside it, or others meet.
static bool edge_meets(const double *p, const double *q, const double *const t[3])
{
    double above = side(t[0], t[1], t[2], p), below = side(t[0], t[1], t[2], q);
    if (above * below > 0 || (above == 0 && below == 0)) return false;
    double a = side(p, q, t[0], t[1]), b = side(p, q, t[1], t[2]), c = side(p, q, t[2], t[0]);
    return (a >= 0 && b >= 0 && c >= 0) || (a <= 0 && b <= 0 && c <= 0);
}

static bool far_apart(const double *const a[3], const shell *other)
{
    for (int i = 0; i < 3; i++) {
        double low = fmin(a[0][i], fmin(a[1][i], a[2][i]));
        double high = fmax(a[0][i], fmax(a[1][i], a[2][i]));
        if (low > other->high[i] || high < other->low[i]) return true;
    }
    return false;
}

static void corners(const shell *s, int t, const double *to[3])
{
    for (int k = 0; k < 3; k++) to[k] = s->x + 3 * (int64_t)s->triangles[3 * t + k];
}

static bool triangles_apart(const double *const a[3], const double *const b[3])
{
    for (int i = 0; i < 3; i++) {
        double low = fmin(a[0][i], fmin(a[1][i], a[2][i]));
        double high = fmax(a[0][i], fmax(a[1][i], a[2][i]));
        if (low > fmax(b[0][i], fmax(b[1][i], b[2][i]))) return true;
        if (high < fmin(b[0][i], fmin(b[1][i], b[2][i]))) return true;
    }
    return false;
}

static bool shells_meet(const shell *a, const shell *b)
{
    const double *p[3], *q[3];
    for (int i = 0; i < 3; i++)
        if (a->low[i] > b->high[i] || a->high[i] < b->low[i]) return false;
    for (int s = 0; s < a->triangle_count; s++) {
        corners(a, s, p);
        if (far_apart(p, b)) continue;
        for (int t = 0; t < b->triangle_count; t++) {
            corners(b, t, q);
            if (triangles_apart(p, q)) continue;
            for (int k = 0; k < 3; k++)
                if (edge_meets(p[k], p[(k + 1) % 3], q) || edge_meets(q[k], q[(k + 1) % 3], p))
                    return true;
        }
    }
    return false;
}

// Planes, spheres and capsules by the distances of vertices.
static bool obstacle_meets(const hk_obstacle *o, const shell *body)
{
    if (o->triangle_count > 0) {
        shell s = {.x = o->rest,
                   .triangles = o->triangles,
                   .triangle_count = o->triangle_count,
                   .vertex_count = o->vertex_count};
        bound(&s);
        return shells_meet(body, &s);
    }
    for (int v = 0; v < body->vertex_count; v++) {
        const double *x = body->x + 3 * (size_t)v;
        double d[3], axis[3] = {0}, along = 0, length = 0, square = 0;
        const double *from = o->shape == HK_OBSTACLE_PLANE ? o->point : o->rest;
        for (int i = 0; i < 3; i++) d[i] = x[i] - from[i];
        if (o->shape == HK_OBSTACLE_PLANE) {
            if (!(d[0] * o->normal[0] + d[1] * o->normal[1] + d[2] * o->normal[2] > 0)) return true;
            continue;
        }
        for (int i = 0; i < 3 && o->vertex_count == 2; i++) {
            axis[i] = o->rest[3 + i] - o->rest[i];
            along += axis[i] * d[i];
            length += axis[i] * axis[i];
        }
        double t = length > 0 ? fmin(1, fmax(0, along / length)) : 0;
        for (int i = 0; i < 3; i++) square += (d[i] - t * axis[i]) * (d[i] - t * axis[i]);
        if (!(sqrt(square) > o->radius)) return true;
    }
    return false;
}

static void assert_apart(const char *path, const hk_model *model)
{
    int count = model->body_count;
    shell *shells = calloc((size_t)count, sizeof *shells);
    for (int b = 0; b < count; b++) take_body(model, b, &shells[b]);
    for (int b = 0; b < count; b++) {
        for (int a = 0; a < b; a++)
            if (shells_meet(&shells[a], &shells[b]))
                fail_msg("%s: %s and %s intersect", path, model->bodies[a].name,
                         model->bodies[b].name);
        for (int k = 0; k < model->contact->obstacle_count; k++)
            if (obstacle_meets(&model->contact->obstacles[k], &shells[b]))
                fail_msg("%s: %s and %s intersect", path, model->bodies[b].name,
                         model->contact->obstacles[k].name);
    }
    for (int b = 0; b < count; b++) hk_mesh_free(shells[b].mesh);
    free(shells);
}

// Tets of all bodies; those of one mesh are counted for every body that has it.
static int64_t tets_of(const hk_model_def *def)
{
    int64_t tets = 0;
    for (int b = 0; b < def->body_count; b++) tets += hk_mesh_tet_count(def->bodies[b].mesh);
    return tets;
}

static void scenes_can_begin(void **state)
{
    (void)state;
    glob_t found;
    int small = 0, large = 0;
    assert_int_equal(glob("../scenes/contact/*.json", 0, NULL, &found), 0);
    for (size_t k = 0; k < found.gl_pathc; k++) {
        const char *path = found.gl_pathv[k];
        bool free_of_it = strstr(path, "_free.json") != NULL;  // what a scene costs without contact
        hk_scene *scene = NULL;
        hk_model *model = NULL;
        CHECK_OK(hk_scene_load(path, NULL, 0, &scene));
        assert_true(!hk_scene_model(scene)->contact == free_of_it && hk_scene_steps(scene) > 0);
        int64_t tets = tets_of(hk_scene_model(scene));
        if (tets < (SANITIZED ? 10000 : 100000) && !free_of_it) {
            CHECK_OK(hk_model_create(hk_scene_model(scene), &model));
            if (model->contact->overlap == HK_OVERLAP_REFUSE) assert_apart(path, model);
            hk_model_free(model);
            small++;
        } else if (tets > 100000) {
            bool poles = strstr(path, "poles") != NULL;
            assert_int_equal(hk_scene_model(scene)->body_count, poles ? 105 : 320);
            assert_true(poles ? tets > 326000 && tets < 356000 : tets > 1400000 && tets < 1440000);
            large++;
        }
        hk_scene_free(scene);
    }
    globfree(&found);
    assert_true(small >= (SANITIZED ? 8 : 11));
    assert_int_equal(large, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contact_arrives),       cmocka_unit_test(obstacles_arrive),
        cmocka_unit_test(arrays_are_bodies),     cmocka_unit_test(copies_are_placed),
        cmocka_unit_test(mistakes_have_a_place), cmocka_unit_test(no_failed_allocation_leaks),
        cmocka_unit_test(scenes_can_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
