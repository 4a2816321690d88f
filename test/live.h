// Worlds that are edited in mid-run, against worlds that are built that way from the start.
#ifndef TEST_LIVE_H
#define TEST_LIVE_H

#include "bodies.h"

// What is changed.
typedef enum live_edit {
    EDIT_GRAVITY,
    EDIT_STEP,
    EDIT_AIR,
    EDIT_VISCOUS,
    EDIT_LOADS,
    EDIT_FORCES,
    EDIT_TARGETS,
    EDIT_FIX,
    EDIT_UNFIX,
    EDIT_MATERIAL,
    EDIT_REGION,
    EDIT_REST,
    EDIT_GRAB,
    EDIT_COUNT,
    NO_EDIT
} live_edit;

static const char *const EDIT_NAMES[EDIT_COUNT] = {
    "gravity", "step",  "air",      "viscous", "loads", "forces", "targets",
    "fix",     "unfix", "material", "region",  "rest",  "grab"};

typedef struct live_case {
    const char *label, *method, *material;
    const char *option, *word;
    int iterations;
    double tolerance;     // of positions, relative to the motion; 0: 1e-5
    double residual;      // that is asked for; 0: 1e-9
    const char *against;  // the method of the world that is built so, where it is another
} live_case;

enum { LIVE_CELLS = 6, LIVE_STEPS = 4, LIVE_MOST = 128 };

typedef struct live_list {
    int count;
    int32_t vertex[LIVE_MOST];
    double position[3 * LIVE_MOST];
} live_list;

static inline live_list live_choose(const hk_model *m, double from, double to)
{
    const double *rest = hk_model_rest_positions(m);
    live_list list = {0};
    for (int v = 0; v < hk_model_vertex_count(m) && list.count < LIVE_MOST; v++)
        if (rest[3 * v] >= from && rest[3 * v] <= to) {
            memcpy(list.position + 3 * list.count, rest + 3 * v, 3 * sizeof(double));
            list.vertex[list.count++] = v;
        }
    return list;
}

static const double LIVE_GRAVITY[3] = {2, -3, 1}, LIVE_FORCE[3] = {0.3, 1, 0.2},
                    LIVE_PLACE[3] = {1.05, 0.4, 0.1};
enum { LIVE_STIFFNESS = 200 };

// The bar, as the edit would have it.
static inline hk_model *live_model(const live_case *c, live_edit edit)
{
    hk_body_def body = hk_default_body_def();
    hk_selector fixes[2] = {select_box(0, -1, -1, 0, 2, 2), select_box(1, -1, -1, 1, 2, 2)};
    hk_selector half = select_box(0.5, -1, -1, 2, 2, 2);
    hk_load_def loads[2] = {
        {.def_size = sizeof(hk_load_def), .select = fixes[1], .force = {0, 4, 0}},
        {.def_size = sizeof(hk_load_def), .select = fixes[1], .force = {5, 8, -2}}};
    hk_region_def region = hk_default_region_def();
    region.select = half;
    region.material = material_of(c->material, 3e5, 0.25);
    body.material = material_of(c->material, edit == EDIT_MATERIAL ? 3e5 : 1e5, 0.3);
    if (edit == EDIT_MATERIAL) body.material.density = 700;
    region.material.density = 1500;
    body.regions = &region;
    body.region_count = edit == EDIT_REGION;
    body.fixes = fixes;
    body.fix_count = edit == EDIT_UNFIX ? 0 : 1;
    body.loads = edit == EDIT_LOADS ? &loads[1] : loads;
    body.load_count = 1;
    hk_mesh *mesh = box_mesh(1, 0.25, 0.25, LIVE_CELLS, 2, 2);
    if (edit == EDIT_REST) {
        double x[3 * LIVE_MOST];
        memcpy(x, hk_mesh_positions(mesh), 3 * sizeof(double) * (size_t)hk_mesh_vertex_count(mesh));
        for (int v = 0; v < hk_mesh_vertex_count(mesh); v++) x[3 * v + 1] *= 1 + 0.2 * x[3 * v];
        CHECK_OK(hk_mesh_set_positions(mesh, x));
    }
    // Moved and grabbed vertices as the definitions have them. Vertices that become fixed go to
    // their places in the course of a step, as moved ones do.
    hk_move_def move = hk_default_move_def();
    move.select = fixes[edit == EDIT_FIX];
    move.motion.translate[1] = edit == EDIT_FIX ? 0 : 0.05;
    live_list corner = {.count = 1, .vertex = {hk_mesh_vertex_count(mesh) - 1}};
    hk_attach_def pull = {
        .def_size = sizeof(hk_attach_def),
        .select = {.kind = HK_SELECT_VERTICES, .vertices = corner.vertex, .vertex_count = 1},
        .stiffness = LIVE_STIFFNESS};
    for (int i = 0; i < 3; i++)
        pull.motion.translate[i] =
            LIVE_PLACE[i] - hk_mesh_positions(mesh)[3 * corner.vertex[0] + i];
    body.moves = &move;
    body.move_count = edit == EDIT_TARGETS || edit == EDIT_FIX;
    body.attachments = &pull;
    body.attachment_count = edit == EDIT_GRAB;
    hk_model *model = model_of(&body, mesh, -9.81);
    if (edit != EDIT_GRAVITY) return model;
    hk_model_free(model);
    hk_model_def def = hk_default_model_def();
    body.mesh = mesh = box_mesh(1, 0.25, 0.25, LIVE_CELLS, 2, 2);
    def.bodies = &body;
    def.body_count = 1;
    memcpy(def.gravity, LIVE_GRAVITY, sizeof def.gravity);
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    return model;
}

static inline hk_world *live_world(const live_case *c, hk_backend backend, live_edit edit)
{
    hk_option options[2] = {{.name = c->option, .text = c->word},
                            {.name = "substeps", .number = 1}};
    hk_model *model = live_model(c, edit);
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = edit == EDIT_STEP ? 0.012 : 0.02;
    def.backend = backend;
    if (edit == EDIT_AIR) def.damping = (hk_damping){.air_per_vertex = 0.3};
    if (edit == EDIT_VISCOUS) def.damping = (hk_damping){.viscous = 0.02};
    def.solver.method = c->method;
    def.solver.iterations = c->iterations;
    def.solver.tolerance = c->residual > 0 ? c->residual : 1e-9;
    // With one substep and many sweeps it is backward Euler's step that xpbd comes to.
    def.solver.options = options;
    def.solver.option_count = (c->option != NULL) + (strcmp(c->method, "xpbd") == 0 && c->option);
    hk_world *world = NULL;
    CHECK_OK(hk_world_create(&def, &world));
    hk_model_free(model);
    return world;
}

static inline void live_set_forces(hk_world *w)
{
    int n = hk_model_vertex_count(hk_world_model(w));
    double *force = calloc((size_t)n, 3 * sizeof(double));
    for (int v = n - 5; v < n; v++) memcpy(force + 3 * v, LIVE_FORCE, sizeof LIVE_FORCE);
    CHECK_OK(hk_world_set_forces(w, force));
    free(force);
}

static inline void live_apply(const live_case *c, live_edit edit, hk_world *w)
{
    const hk_model *m = hk_world_model(w);
    live_list wall = live_choose(m, 0, 0), end = live_choose(m, 1, 1);
    int n = hk_model_vertex_count(m), grab;
    hk_material_def material = material_of(c->material, 3e5, 0.3);
    hk_selector half = select_box(0.5, -1, -1, 2, 2, 2), last = select_box(1, -1, -1, 1, 2, 2);
    hk_load_def load = {.def_size = sizeof load, .select = last, .force = {5, 8, -2}};
    hk_grab_def pull = hk_default_grab_def();
    double *rest;
    switch (edit) {
    case EDIT_GRAVITY: CHECK_OK(hk_world_set_gravity(w, LIVE_GRAVITY)); break;
    case EDIT_STEP: CHECK_OK(hk_world_set_step(w, 0.012)); break;
    case EDIT_AIR: CHECK_OK(hk_world_set_damping(w, &(hk_damping){.air_per_vertex = 0.3})); break;
    case EDIT_VISCOUS: CHECK_OK(hk_world_set_damping(w, &(hk_damping){.viscous = 0.02})); break;
    case EDIT_LOADS: CHECK_OK(hk_world_set_loads(w, 0, &load, 1)); break;
    case EDIT_FORCES: live_set_forces(w); break;
    case EDIT_TARGETS:
        for (int k = 0; k < wall.count; k++) wall.position[3 * k + 1] += 0.05;
        CHECK_OK(hk_world_set_targets(w, wall.count, wall.vertex, wall.position));
        break;
    case EDIT_FIX: CHECK_OK(hk_world_fix(w, end.count, end.vertex, end.position)); break;
    case EDIT_UNFIX: CHECK_OK(hk_world_unfix(w, wall.count, wall.vertex)); break;
    case EDIT_MATERIAL:
        material.density = 700;
        CHECK_OK(hk_world_set_material(w, 0, NULL, &material));
        break;
    case EDIT_REGION:
        material.poisson = 0.25;
        material.density = 1500;
        CHECK_OK(hk_world_set_material(w, 0, &half, &material));
        break;
    case EDIT_REST:
        rest = malloc(3 * sizeof(double) * (size_t)n);
        memcpy(rest, hk_model_rest_positions(m), 3 * sizeof(double) * (size_t)n);
        for (int v = 0; v < n; v++) rest[3 * v + 1] *= 1 + 0.2 * rest[3 * v];
        CHECK_OK(hk_world_set_rest_positions(w, rest));
        free(rest);
        break;
    case EDIT_GRAB:
        pull.vertices[0] = n - 1;
        pull.stiffness = LIVE_STIFFNESS;
        memcpy(pull.target, LIVE_PLACE, sizeof LIVE_PLACE);
        CHECK_OK(hk_world_grab(w, &pull, &grab));
        break;
    default: break;
    }
}

static inline void live_steps(const live_case *c, live_edit edit, hk_world *w, int count)
{
    hk_step_report r;
    for (int k = 0; k < count; k++) {
        CHECK_OK(hk_world_step(w, &r));
        if (hk_reason_outcome(r.reason) == HK_OUTCOME_FAILED)
            fail_msg("%s, %s: %s, %s", c->label, EDIT_NAMES[edit], hk_reason_name(r.reason),
                     r.detail);
    }
}

// Returns the distance after a few more steps, relative to the motion.
static inline double live_difference(const live_case *c, live_edit edit, hk_backend backend)
{
    hk_world *edited = live_world(c, backend, NO_EDIT);
    live_case other = *c;
    if (c->against)
        other = (live_case){.label = c->label, .method = c->against, .iterations = 5000};
    other.material = c->material;
    hk_world *built = live_world(&other, HK_BACKEND_CPU, edit);
    live_steps(c, edit, edited, LIVE_STEPS);
    CHECK_OK(hk_world_set_positions(built, hk_world_positions(edited)));
    CHECK_OK(hk_world_set_velocities(built, hk_world_velocities(edited)));
    CHECK_OK(hk_world_set_time(built, hk_world_time(edited)));
    if (edit == EDIT_FORCES) live_set_forces(built);  // there is no definition of these
    live_apply(c, edit, edited);
    live_steps(c, edit, edited, LIVE_STEPS);
    live_steps(c, edit, built, LIVE_STEPS);
    double away = relative_distance(edited, built);
    hk_world_free(edited);
    hk_world_free(built);
    return away;
}

#endif
