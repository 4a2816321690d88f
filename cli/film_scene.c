// The frames of a scene: as it starts, at its equilibrium, or as it moves.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "film.h"
#include "picture.h"

typedef struct stage_set {
    const char *path;
    hk_scene *scene;
    hk_model *model;
    hk_world *world;
    hk_mesh *mesh;     // of all bodies, for its tets
    hk_mesh *skins;    // the surface of all bodies, with the latest carried values for positions;
                       // NULL: no body has a skin, or it is not to be seen
    hk_mesh *clipped;  // the outside of what is left of the mesh; NULL: all
    film_cut cut;      // its vertices beside those of the mesh
    // With obstacles: the vertices of all that is drawn, those of bodies first.
    double *drawn;  // [drawn_count][3] m
    int drawn_count, body_count;
    int *order;  // [obstacle_count] as they are drawn: planes and large ones at the end
    double floor_size, floor_center[3];  // m, of planes
} stage_set;

static void close_scene(stage_set *set)
{
    hk_mesh_free(set->mesh);
    hk_mesh_free(set->skins);
    hk_mesh_free(set->clipped);
    film_cut_free(&set->cut);
    hk_world_free(set->world);
    hk_model_free(set->model);
    hk_scene_free(set->scene);
    free(set->drawn);
    free(set->order);
}

static int open_scene(stage_set *set, const film_request *request)
{
    const char *const *sets = request->sets ? request->sets->items : NULL;
    int set_count = request->sets ? request->sets->count : 0;
    if (cli_scene_load(set->path, sets, set_count, &set->scene) != HK_OK)
        return cli_failure("%s", hk_error());
    int result = request->check ? request->check(request->context, set->scene, NULL) : -1;
    if (result >= 0) return result;
    if (hk_model_create(hk_scene_model(set->scene), &set->model) != HK_OK)
        return cli_failure("%s: %s", set->path, hk_error());
    hk_world_def def = hk_copy_world_def(hk_scene_world(set->scene));
    def.model = set->model;
    if (request->threads >= 0) def.threads = request->threads;
    if (hk_world_create(&def, &set->world) != HK_OK ||
        hk_world_mesh(set->world, &set->mesh) != HK_OK)
        return cli_failure("%s: %s", set->path, hk_error());
    return -1;
}

static bool wants_skins(const stage_set *set, const film_request *request)
{
    for (int b = 0; b < hk_model_body_count(set->model) && !request->tets && !request->clip; ++b)
        if (hk_model_skin(set->model, b)) return true;
    return false;
}

// Three numbers per vertex of the bodies as the vertices that are drawn have them: on skins they
// are carried as positions are. Returns -1 or an exit status.
static int carry(stage_set *set, const double *values, const double **drawn)
{
    *drawn = values;
    if (!set->skins) return -1;
    hk_mesh *carried = NULL;
    if (hk_model_surface(set->model, values, true, &carried) != HK_OK)
        return cli_failure("%s: %s", set->path, hk_error());
    hk_mesh_free(set->skins);
    set->skins = carried;
    *drawn = hk_mesh_positions(carried);
    return -1;
}

// Whether a vertex that is drawn is one of a body, not of an obstacle.
static bool is_of_body(const stage_set *set, int32_t vertex)
{
    return set->body_count == 0 || vertex < set->body_count || vertex >= set->drawn_count;
}

// ---------------------------------------------------------------- obstacles

static hk_status obstacle_mesh(const stage_set *set, int obstacle, double time, hk_mesh **mesh)
{
    return hk_model_obstacle_mesh(set->model, obstacle, time, set->floor_size, set->floor_center,
                                  mesh);
}

static double bounds_of(const double *x, int count, double center[3])
{
    double square = 0;
    for (int k = 0; k < 3; ++k) {
        double low = INFINITY, high = -INFINITY;
        for (int i = 0; i < count; ++i) {
            low = fmin(low, x[3 * i + k]);
            high = fmax(high, x[3 * i + k]);
        }
        center[k] = 0.5 * (low + high);
        square += (high - low) * (high - low);
    }
    return sqrt(square);
}

// Whether a picture that shows all of it would leave bodies small.
static bool is_large(const stage_set *set, int obstacle, double size)
{
    hk_mesh *mesh;
    double center[3];
    if (obstacle_mesh(set, obstacle, 0, &mesh) != HK_OK) return true;
    double own = bounds_of(hk_mesh_positions(mesh), hk_mesh_vertex_count(mesh), center);
    hk_mesh_free(mesh);
    return own > 2 * size;
}

// Vertices of all obstacles at a time after those of bodies, then those of springs.
static int place_obstacles(stage_set *set, double time)
{
    int at = set->body_count;
    for (int k = 0; k < hk_model_obstacle_count(set->model); ++k) {
        hk_mesh *mesh;
        if (obstacle_mesh(set, set->order[k], time, &mesh) != HK_OK)
            return cli_failure("%s: %s", set->path, hk_error());
        int count = hk_mesh_vertex_count(mesh);
        set->drawn = cli_realloc(set->drawn, 3 * (size_t)(at + count), sizeof(double));
        memcpy(set->drawn + 3 * at, hk_mesh_positions(mesh), 3 * sizeof(double) * (size_t)count);
        at += count;
        hk_mesh_free(mesh);
    }
    set->drawn_count = at + film_spring_vertices(set->model);
    set->drawn = cli_realloc(set->drawn, 3 * (size_t)set->drawn_count, sizeof(double));
    film_place_springs(set->world, set->floor_size, set->drawn + 3 * at);
    return -1;
}

// Triangles of bodies, then those of obstacles in their order; `framed`: vertices up to the last
// one that is not large.
static int32_t *all_triangles(stage_set *set, hk_mesh *bodies, double size, int *total, int *framed)
{
    int count, at = set->body_count;
    const int32_t *outer, *tets;
    if (hk_mesh_surface(bodies, &count, &outer, &tets) != HK_OK) return NULL;
    int32_t *triangles = cli_realloc(NULL, 3 * (size_t)count + 1, sizeof(int32_t));
    // Vertices of a cut come after all others.
    for (int i = 0; i < 3 * count; ++i)
        triangles[i] = outer[i] + (outer[i] < at ? 0 : set->drawn_count - at);
    *framed = at;
    for (int k = 0; k < hk_model_obstacle_count(set->model); ++k) {
        hk_mesh *mesh;
        if (obstacle_mesh(set, set->order[k], 0, &mesh) != HK_OK) break;
        int more = hk_mesh_triangle_count(mesh);
        triangles = cli_realloc(triangles, 3 * (size_t)(count + more), sizeof(int32_t));
        for (int i = 0; i < 3 * more; ++i)
            triangles[3 * count + i] = at + hk_mesh_triangles(mesh)[i];
        count += more;
        at += hk_mesh_vertex_count(mesh);
        if (!is_large(set, set->order[k], size)) *framed = at;
        hk_mesh_free(mesh);
    }
    if (*framed == at) *framed += film_spring_vertices(set->model);
    int more = film_spring_triangles(set->model, at, NULL);
    triangles = cli_realloc(triangles, 3 * (size_t)(count + more) + 1, sizeof(int32_t));
    count += film_spring_triangles(set->model, at, triangles + 3 * (size_t)count);
    *total = count;
    return triangles;
}

static void order_obstacles(stage_set *set, double size)
{
    int count = hk_model_obstacle_count(set->model), at = 0;
    set->order = cli_realloc(NULL, (size_t)count, sizeof(int));
    for (int large = 0; large < 2; ++large)
        for (int k = 0; k < count; ++k)
            if (is_large(set, k, size) == (large == 1)) set->order[at++] = k;
}

// Of bodies and obstacles together.
static int add_all_surfaces(film *f, stage_set *set, hk_mesh *bodies, const double *rest)
{
    int total = 0, framed = 0;
    set->body_count = set->clipped ? set->cut.first : hk_mesh_vertex_count(bodies);
    double size = bounds_of(rest, set->body_count, set->floor_center);
    set->floor_size = 2 * size;
    order_obstacles(set, size);
    int result = place_obstacles(set, 0);
    if (result >= 0) return result;
    memcpy(set->drawn, rest, 3 * sizeof(double) * (size_t)set->body_count);
    int32_t *triangles = all_triangles(set, bodies, size, &total, &framed);
    set->cut.first = set->drawn_count;
    double *places = film_cut_values(&set->cut, set->drawn, 3);
    hk_mesh *all = NULL;
    if (!triangles || hk_mesh_from_arrays(set->drawn_count + set->cut.count, places, 0, NULL, total,
                                          triangles, &all) != HK_OK)
        result = cli_failure("%s: %s", set->path, hk_error());
    if (result < 0) result = film_add_surface(f, all, places, set->path);
    free(places);
    free(triangles);
    hk_mesh_free(all);
    if (result >= 0) return result;
    surface *s = &f->surfaces[0];
    s->bodies = cli_realloc(NULL, (size_t)s->shape.vertex_count, 1);
    s->framed = 0;
    for (int i = 0; i < s->shape.vertex_count; ++i) {
        s->bodies[i] = is_of_body(set, s->vertices[i]) ? 0 : OBSTACLE_COLOR;
        if (s->vertices[i] < framed || s->vertices[i] >= set->drawn_count) s->framed = i + 1;
    }
    for (int k = 0; k < hk_model_obstacle_count(set->model); ++k) {
        const hk_obstacle_def *def = hk_def_at(hk_scene_model(set->scene)->obstacles, k);
        f->floored = f->floored || def->shape == HK_OBSTACLE_PLANE;
    }
    return -1;
}

// What is drawn of the scene, with its rest positions.
static int add_scene_surface(film *f, stage_set *set, const film_request *request)
{
    const double *rest = hk_model_rest_positions(set->model);
    if (wants_skins(set, request) && hk_model_surface(set->model, rest, true, &set->skins) != HK_OK)
        return cli_failure("%s: %s", set->path, hk_error());
    int result = -1;
    double *places = NULL;
    if (request->clip) {
        result = film_clip(set->mesh, rest, request->clip, set->path, &set->clipped, &set->cut);
        if (result >= 0) return result;
        places = film_cut_values(&set->cut, rest, 3);
    }
    hk_mesh *bodies = set->clipped ? set->clipped : set->skins ? set->skins : set->mesh;
    const double *drawn = set->skins ? hk_mesh_positions(set->skins) : rest;
    if (hk_model_obstacle_count(set->model) > 0 || film_spring_vertices(set->model) > 0)
        result = add_all_surfaces(f, set, bodies, drawn);
    else
        result = film_add_surface(f, bodies, places ? places : drawn, set->path);
    free(places);
    if (result >= 0) return result;
    f->surfaces[0].cut = set->cut;
    set->cut = (film_cut){0};
    f->rest_source = FILM_REST_SCENE;
    return -1;
}

// ---------------------------------------------------------------- values

// The value of a vertex that is drawn, out of three per vertex of which the first counts; that of a
// cut lies between those of the ends of its edge.
static double value_at(const surface *s, const double *drawn, int32_t vertex)
{
    int i = vertex - s->cut.first;
    if (s->cut.count == 0 || i < 0) return drawn[3 * (size_t)vertex];
    const int32_t *ends = s->cut.ends + 2 * (size_t)i;
    double t = s->cut.weights[i];
    return (1 - t) * drawn[3 * (size_t)ends[0]] + t * drawn[3 * (size_t)ends[1]];
}

// Those of all; obstacles have 0.
static float *take_values(const stage_set *set, const surface *s, const double *drawn, bool unsign)
{
    // Skins that reach beyond their tets would carry values on below 0.
    double least = unsign ? 0 : -INFINITY;
    float *values = cli_realloc(NULL, (size_t)s->shape.vertex_count, sizeof(float));
    for (int i = 0; i < s->shape.vertex_count; ++i)
        values[i] = is_of_body(set, s->vertices[i])
                        ? (float)fmax(least, value_at(s, drawn, s->vertices[i]))
                        : 0;
    return values;
}

static const struct {
    const char *name;
    hk_field_site site;
    int components;
} world_fields[] = {{"displacement", HK_ON_VERTICES, 3},
                    {"velocity", HK_ON_VERTICES, 3},
                    {"contact_force", HK_ON_VERTICES, 3},
                    {"von_mises", HK_ON_TETS, 1},
                    {"J", HK_ON_TETS, 1}};
enum { WORLD_FIELDS = sizeof world_fields / sizeof world_fields[0] };

// Any field of the world by its name.
static int take_field(film *f, stage_set *set, float **values)
{
    film_quantity *q = &f->shown;
    const surface *s = &f->surfaces[0];
    int i = 0, vertices = hk_mesh_vertex_count(set->mesh), result = -1;
    while (i < WORLD_FIELDS && strcmp(world_fields[i].name, q->field) != 0) ++i;
    if (i == WORLD_FIELDS)
        return cli_failure("a scene has no field \"%s\"; it has displacement, velocity, "
                           "von_mises, J and contact_force",
                           q->field);
    int width = world_fields[i].components;
    if (q->component >= 0 && q->component >= (width == 1 ? 0 : width))
        return cli_failure("the field \"%s\" has %d component%s", q->field, width,
                           width == 1 ? "" : "s");
    size_t sites =
        (size_t)(world_fields[i].site == HK_ON_TETS ? hk_mesh_tet_count(set->mesh) : vertices);
    double *numbers = cli_realloc(NULL, sites * (size_t)width, sizeof(double));
    double *three = cli_realloc(NULL, 3 * (size_t)vertices, sizeof(double));
    const double *drawn;
    if (hk_world_field(set->world, q->field, numbers) != HK_OK)
        result = cli_failure("%s: %s", set->path, hk_error());
    if (result < 0) {
        hk_field field = {q->field, world_fields[i].site, width, numbers};
        double *all =
            film_field_values(set->mesh, hk_model_rest_positions(set->model), &field, q->component);
        memset(three, 0, 3 * (size_t)vertices * sizeof(double));
        for (int v = 0; v < vertices; ++v) three[3 * v] = all[v];
        free(all);
        q->unsign = q->unsign || (width > 1 && q->component < 0);
        result = carry(set, three, &drawn);
    }
    if (result < 0) *values = take_values(set, s, drawn, q->unsign);
    free(numbers);
    free(three);
    return result;
}

// The state of the world as the next frame.
static int take_frame(film *f, stage_set *set)
{
    const double *positions;
    int result = carry(set, hk_world_positions(set->world), &positions);
    if (result < 0 && set->drawn) {
        result = place_obstacles(set, hk_world_time(set->world));
        memcpy(set->drawn, positions, 3 * sizeof(double) * (size_t)set->body_count);
        positions = set->drawn;
    }
    if (result >= 0) return result;
    frame *fr = film_add_frame(f, 0, positions, hk_world_time(set->world));
    if (f->shown.color == FILM_DISPLACEMENT)
        fr->values = film_displacements(f, &f->surfaces[0], fr->positions);
    else if (f->shown.color != FILM_PLAIN)
        return take_field(f, set, &fr->values);
    return -1;
}

// On which step the given frame is due.
static double frame_step(const film_request *request, const stage_set *set, int frame_number)
{
    const hk_output_def *output = hk_scene_output(set->scene);
    double step = hk_scene_world(set->scene)->step;
    int steps = hk_scene_steps(set->scene), wanted = request->frames;
    double every = request->every;
    if (every <= 0 && wanted == 1) return steps;
    if (every <= 0 && wanted == 0 && request->spread) wanted = 8;
    if (every <= 0 && wanted > 1) return round((double)frame_number * steps / (wanted - 1));
    if (every <= 0) every = output && output->every > 0 ? output->every : 1 / 30.0;
    return round(frame_number * every / step);
}

static bool keep_going(void *context, const hk_iteration *iteration)
{
    (void)context, (void)iteration;
    return !cli_interrupted();
}

// Keeps the worst outcome and says once why it is not the best.
static void note_outcome(film *f, const hk_step_report *report, const char *what)
{
    hk_outcome outcome = hk_reason_outcome(report->reason);
    if (outcome <= f->outcome) return;
    f->outcome = outcome;
    if (report->reason != HK_STOPPED && report->reason != HK_FIXED_WORK)
        cli_note("%s ended with \"%s\"%s%s", what, hk_reason_name(report->reason),
                 report->detail[0] ? ": " : "", report->detail);
}

static int march(film *f, stage_set *set, const film_request *request)
{
    int steps = hk_scene_steps(set->scene), taken = 0, result = -1;
    int most = request->frames > 0 ? request->frames : steps + 1;
    cli_progress progress;
    cli_progress_begin(&progress, steps);
    for (int step = 0; step <= steps && taken < most && result < 0; ++step) {
        hk_step_report report;
        if (step > 0 && hk_world_step(set->world, &report) != HK_OK) {
            result = cli_failure("%s: step %d: %s", set->path, step, hk_error());
            break;
        }
        if (step > 0) note_outcome(f, &report, "a step");
        double time = hk_world_time(set->world);
        cli_progress_step(&progress, step, time);
        f->interrupted = cli_interrupted();
        bool ending = f->interrupted || f->outcome == HK_OUTCOME_FAILED;
        if (ending || frame_step(request, set, taken) <= step) {
            result = take_frame(f, set);
            // Frames that fall between steps are not repeated.
            for (++taken; taken < most && frame_step(request, set, taken) <= step; ++taken) {
            }
        }
        if (ending) break;
    }
    cli_progress_end(&progress);
    return result;
}

static int pose(film *f, stage_set *set)
{
    hk_step_report report;
    hk_world_set_monitor(set->world, keep_going, NULL);
    if (hk_world_pose(set->world, &report) != HK_OK)
        return cli_failure("%s: %s", set->path, hk_error());
    note_outcome(f, &report, "the pose");
    f->interrupted = cli_interrupted();
    return take_frame(f, set);
}

// Bodies get their own colours when there is more than one.
static int number_bodies(film *f, stage_set *set)
{
    surface *s = &f->surfaces[0];
    int count = hk_model_body_count(set->model), vertices = hk_model_vertex_count(set->model);
    if (count < 2) return -1;
    double *body = cli_realloc(NULL, 3 * (size_t)vertices, sizeof(double));
    const double *drawn;
    memset(body, 0, 3 * (size_t)vertices * sizeof(double));
    for (int b = 0; b < count; ++b) {
        int end = hk_model_body_start(set->model, b + 1);
        for (int v = hk_model_body_start(set->model, b); v < end; ++v) body[3 * v] = b;
    }
    int result = carry(set, body, &drawn);
    if (result < 0) {
        s->bodies = cli_realloc(s->bodies, (size_t)s->shape.vertex_count, 1);
        for (int i = 0; i < s->shape.vertex_count; ++i)
            s->bodies[i] =
                is_of_body(set, s->vertices[i])
                    ? (uint8_t)((int)round(value_at(s, drawn, s->vertices[i])) % BODY_NUMBERS)
                    : OBSTACLE_COLOR;
    }
    free(body);
    return result;
}

static int choose_scene_color(film *f, const stage_set *set, const film_request *request)
{
    bool has_tets = hk_mesh_tet_count(set->mesh) > 0;
    f->shown = request->shown;
    if (!request->color_chosen && request->action != FILM_INITIAL && has_tets)
        film_parse_quantity("stress", &f->shown);
    if (f->shown.color == FILM_STRESS && !has_tets)
        return cli_failure("%s has no tets and so no stress; use --color displacement", set->path);
    if (f->shown.color == FILM_CONTACT && !cli_has_contact(set->world))
        return cli_failure("%s has no contact; use --color displacement", set->path);
    return -1;
}

int film_load_scene(film *f, const char *path, const film_request *request)
{
    *f = (film){.outcome = HK_OUTCOME_CONVERGED};
    stage_set set = {.path = path};
    int result = open_scene(&set, request);
    if (result < 0) result = choose_scene_color(f, &set, request);
    if (result < 0) result = add_scene_surface(f, &set, request);
    if (result < 0) result = number_bodies(f, &set);
    if (result < 0) {
        switch (request->action) {
        case FILM_INITIAL: result = take_frame(f, &set); break;
        case FILM_POSE: result = pose(f, &set); break;
        case FILM_RUN: result = march(f, &set, request); break;
        }
        if (request->action == FILM_RUN) film_caption_times(f);
    }
    close_scene(&set);
    return result;
}
