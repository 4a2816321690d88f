// Collects frames. Only the outside of the meshes is kept, so that long runs fit into memory.
#include "film.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- surfaces and frames

void film_free(film *f)
{
    for (int i = 0; i < f->surface_count; ++i) {
        shape_free(&f->surfaces[i].shape);
        free(f->surfaces[i].vertices);
        free(f->surfaces[i].rest);
        free(f->surfaces[i].bodies);
    }
    for (int i = 0; i < f->frame_count; ++i) {
        free(f->frames[i].positions);
        free(f->frames[i].values);
        free(f->frames[i].caption);
    }
    free(f->surfaces);
    free(f->frames);
    *f = (film){0};
}

// The first surface decides where the film's origin is and how long its unit. Halves first: huge
// coordinates must not overflow.
static void choose_unit(film *f, const double *positions, int count)
{
    double reach = 0;
    for (int k = 0; k < 3; ++k) {
        double low = INFINITY, high = -INFINITY;
        for (int i = 0; i < count; ++i) {
            low = fmin(low, positions[3 * i + k]);
            high = fmax(high, positions[3 * i + k]);
        }
        f->origin[k] = 0.5 * low + 0.5 * high;
        reach = fmax(reach, 0.5 * high - 0.5 * low);
    }
    f->unit = reach > 0 ? reach : 1;
}

// Positions of a surface's vertices, out of those of its mesh, in film units.
static float *film_positions(const film *f, const surface *s, const double *positions)
{
    int count = s->shape.vertex_count;
    float *result = cli_realloc(NULL, 3 * (size_t)count, sizeof(float));
    for (int i = 0; i < count; ++i)
        for (int k = 0; k < 3; ++k) {
            double x = (positions[3 * s->vertices[i] + k] - f->origin[k]) / f->unit;
            // So that squares stay finite, whatever files are put together.
            result[3 * i + k] = (float)fmin(fmax(x, -1e15), 1e15);
        }
    return result;
}

// Adds the outside of a mesh whose rest positions are given. Returns -1 or an exit status.
static int add_surface(film *f, hk_mesh *mesh, const double *rest, const char *name)
{
    int count;
    const int32_t *triangles, *tets;
    if (hk_mesh_surface(mesh, &count, &triangles, &tets) != HK_OK)
        return cli_failure("%s: %s", name, hk_error());
    if (count == 0) return cli_failure("%s has neither triangles nor tets to draw", name);
    int vertex_count = hk_mesh_vertex_count(mesh), used = 0;
    int32_t *number = cli_realloc(NULL, (size_t)vertex_count, sizeof(int32_t));
    int32_t *corners = cli_realloc(NULL, 3 * (size_t)count, sizeof(int32_t));
    int32_t *vertices = cli_realloc(NULL, (size_t)vertex_count, sizeof(int32_t));
    double *positions = cli_realloc(NULL, 3 * (size_t)vertex_count, sizeof(double));
    memset(number, 0xff, (size_t)vertex_count * sizeof(int32_t));
    for (int i = 0; i < 3 * count; ++i) {
        int32_t v = triangles[i];
        if (number[v] < 0) {
            memcpy(positions + 3 * used, rest + 3 * v, 3 * sizeof(double));
            vertices[used] = v;
            number[v] = used++;
        }
        corners[i] = number[v];
    }
    if (f->surface_count == 0) choose_unit(f, positions, used);
    f->surfaces = cli_realloc(f->surfaces, (size_t)f->surface_count + 1, sizeof *f->surfaces);
    surface *s = &f->surfaces[f->surface_count++];
    *s = (surface){.vertices = vertices};
    shape_build(&s->shape, used, positions, count, corners);
    s->rest = film_positions(f, s, rest);
    free(number);
    free(corners);
    free(positions);
    return -1;
}

static frame *add_frame(film *f, int surface_index, const double *positions, double time)
{
    f->frames = cli_realloc(f->frames, (size_t)f->frame_count + 1, sizeof *f->frames);
    frame *fr = &f->frames[f->frame_count++];
    *fr = (frame){.surface = surface_index, .time = time};
    fr->positions = film_positions(f, &f->surfaces[surface_index], positions);
    return fr;
}

// How far the vertices are from their rest positions, m.
static float *displacements(const film *f, const surface *s, const float *positions)
{
    int count = s->shape.vertex_count;
    float *values = cli_realloc(NULL, (size_t)count, sizeof(float));
    for (int i = 0; i < count; ++i) {
        const float *a = positions + 3 * i, *b = s->rest + 3 * i;
        double d = hypot(hypot((double)a[0] - b[0], (double)a[1] - b[1]), (double)a[2] - b[2]);
        values[i] = (float)(d * f->unit);
    }
    return values;
}

// Captions for the frames that know their time, with as many digits as tell them apart.
static void caption_times(film *f)
{
    double least = INFINITY;
    for (int i = 1; i < f->frame_count; ++i) {
        double apart = f->frames[i].time - f->frames[i - 1].time;
        if (apart > 0) least = fmin(least, apart);
    }
    int digits = isfinite(least) ? (int)ceil(-log10(least) - 1e-6) : 3;
    digits = digits < 2 ? 2 : digits > 9 ? 9 : digits;
    for (int i = 0; i < f->frame_count; ++i)
        if (!isnan(f->frames[i].time) && !f->frames[i].caption)
            f->frames[i].caption = cli_format("t = %.*f s", digits, f->frames[i].time);
}

// ---------------------------------------------------------------- scenes

typedef struct stage_set {
    const char *path;
    hk_scene *scene;
    hk_model *model;
    hk_world *world;
    hk_mesh *mesh;    // of all bodies, for its tets
    double *stress;   // [tet_count] Pa
    double *sums;     // [vertex_count] volume × stress
    double *volumes;  // [vertex_count] of the tets around, at rest
} stage_set;

static void close_scene(stage_set *set)
{
    hk_mesh_free(set->mesh);
    hk_world_free(set->world);
    hk_model_free(set->model);
    hk_scene_free(set->scene);
    free(set->stress);
    free(set->sums);
    free(set->volumes);
}

static int open_scene(stage_set *set, const film_request *request)
{
    const char *const *sets = request->sets ? request->sets->items : NULL;
    int set_count = request->sets ? request->sets->count : 0;
    if (hk_scene_load(set->path, sets, set_count, &set->scene) != HK_OK)
        return cli_failure("%s", hk_error());
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

static double tet_volume(const double *x, const int32_t *t)
{
    double e[3][3];
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) e[i][k] = x[3 * t[i + 1] + k] - x[3 * t[0] + k];
    return fabs(e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) +
                e[0][1] * (e[1][2] * e[2][0] - e[1][0] * e[2][2]) +
                e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0])) /
           6;
}

// The stress at the vertices: the mean over the tets around, weighted by their rest volume.
static int take_stress(stage_set *set, const surface *s, float **values)
{
    int tets = hk_mesh_tet_count(set->mesh), vertices = hk_mesh_vertex_count(set->mesh);
    const int32_t *t = hk_mesh_tets(set->mesh);
    const double *rest = hk_model_rest_positions(set->model);
    if (!set->stress) {
        set->stress = cli_realloc(NULL, (size_t)tets, sizeof(double));
        set->sums = cli_realloc(NULL, (size_t)vertices, sizeof(double));
        set->volumes = cli_realloc(NULL, (size_t)vertices, sizeof(double));
    }
    if (hk_world_field(set->world, "von_mises", set->stress) != HK_OK)
        return cli_failure("%s: %s", set->path, hk_error());
    for (int i = 0; i < vertices; ++i) set->sums[i] = set->volumes[i] = 0;
    for (int i = 0; i < tets; ++i) {
        double volume = tet_volume(rest, t + 4 * i);
        if (!isfinite(set->stress[i])) continue;
        for (int k = 0; k < 4; ++k) {
            set->sums[t[4 * i + k]] += volume * set->stress[i];
            set->volumes[t[4 * i + k]] += volume;
        }
    }
    *values = cli_realloc(NULL, (size_t)s->shape.vertex_count, sizeof(float));
    for (int i = 0; i < s->shape.vertex_count; ++i) {
        int32_t v = s->vertices[i];
        (*values)[i] = set->volumes[v] > 0 ? (float)(set->sums[v] / set->volumes[v]) : 0;
    }
    return -1;
}

// The state of the world as the next frame.
static int take_frame(film *f, stage_set *set)
{
    frame *fr = add_frame(f, 0, hk_world_positions(set->world), hk_world_time(set->world));
    if (f->color == FILM_DISPLACEMENT)
        fr->values = displacements(f, &f->surfaces[0], fr->positions);
    return f->color == FILM_STRESS ? take_stress(set, &f->surfaces[0], &fr->values) : -1;
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
static void number_bodies(surface *s, const hk_model *model)
{
    int count = hk_model_body_count(model);
    if (count < 2) return;
    s->bodies = cli_realloc(NULL, (size_t)s->shape.vertex_count, 1);
    for (int i = 0; i < s->shape.vertex_count; ++i) {
        int body = count - 1;
        while (body > 0 && s->vertices[i] < hk_model_body_start(model, body)) --body;
        s->bodies[i] = (uint8_t)(body % 252);  // a multiple of the number of colours
    }
}

static int choose_scene_color(film *f, const stage_set *set, const film_request *request)
{
    bool has_tets = hk_mesh_tet_count(set->mesh) > 0;
    f->color = request->color;
    if (!request->color_chosen)
        f->color = request->action != FILM_INITIAL && has_tets ? FILM_STRESS : FILM_PLAIN;
    if (f->color == FILM_STRESS && !has_tets)
        return cli_failure("%s has no tets and so no stress; use --color displacement", set->path);
    return -1;
}

int film_load_scene(film *f, const char *path, const film_request *request)
{
    *f = (film){.outcome = HK_OUTCOME_CONVERGED};
    stage_set set = {.path = path};
    int result = open_scene(&set, request);
    if (result < 0) result = choose_scene_color(f, &set, request);
    if (result < 0) result = add_surface(f, set.mesh, hk_model_rest_positions(set.model), path);
    if (result < 0) {
        number_bodies(&f->surfaces[0], set.model);
        switch (request->action) {
        case FILM_INITIAL: result = take_frame(f, &set); break;
        case FILM_POSE: result = pose(f, &set); break;
        case FILM_RUN: result = march(f, &set, request); break;
        }
        if (request->action == FILM_RUN) caption_times(f);
    }
    close_scene(&set);
    return result;
}

// ---------------------------------------------------------------- files and series

// A file of a series; the time is NAN when the series does not tell it.
typedef struct entry {
    char *path;
    double time;
} entry;

typedef struct entries {
    entry *items;
    int count;
} entries;

static void add_entry(entries *e, char *path, double time)
{
    e->items = cli_realloc(e->items, (size_t)e->count + 1, sizeof *e->items);
    e->items[e->count++] = (entry){path, time};
}

static void free_entries(entries *e)
{
    for (int i = 0; i < e->count; ++i) free(e->items[i].path);
    free(e->items);
}

// The whole file as text, NULL with errno set when it cannot be read.
static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    char *text = NULL;
    size_t size = 0, n;
    do {
        text = cli_realloc(text, size + 65536 + 1, 1);
        n = fread(text + size, 1, 65536, file);
        size += n;
    } while (n > 0);
    text[size] = '\0';
    bool good = !ferror(file);
    fclose(file);
    if (good) return text;
    free(text);
    errno = EIO;
    return NULL;
}

// The value of an attribute within a tag that ends at `end`, with its entities resolved; NULL when
// it is not there. To be freed.
static char *attribute(const char *tag, const char *end, const char *name)
{
    static const char *const entities[][2] = {
        {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}};
    size_t length = strlen(name);
    for (const char *at = tag; at + length + 2 < end; ++at) {
        if (strncmp(at, name, length) != 0 || at[length] != '=' || !strchr(" \t\r\n", at[-1]))
            continue;
        char quote = at[length + 1];
        const char *value = at + length + 2, *stop = memchr(value, quote, (size_t)(end - value));
        if ((quote != '"' && quote != '\'') || !stop) return NULL;
        char *text = cli_realloc(NULL, (size_t)(stop - value) + 1, 1), *to = text;
        while (value < stop) {
            size_t i = 0, count = sizeof entities / sizeof entities[0];
            while (i < count && strncmp(value, entities[i][0], strlen(entities[i][0])) != 0) ++i;
            *to++ = i < count ? entities[i][1][0] : *value;
            value += i < count ? strlen(entities[i][0]) : 1;
        }
        *to = '\0';
        return text;
    }
    return NULL;
}

// The <DataSet timestep="…" file="…"/> lines of a ParaView collection.
static int read_series(const char *path, entries *e)
{
    char *text = read_text(path);
    if (!text) return cli_failure("cannot read %s: %s", path, strerror(errno));
    int before = e->count;
    char *folder = cli_format("%.*s", (int)(cli_file_name(path) - path), path);
    for (const char *at = text; (at = strstr(at, "<DataSet")) != NULL;) {
        const char *tag = at + strlen("<DataSet"), *end = strchr(tag, '>');
        if (!end) break;
        char *file = attribute(tag + 1, end, "file"), *time = attribute(tag + 1, end, "timestep");
        if (file) {
            char *whole = cli_format("%s%s", file[0] == '/' ? "" : folder, file);
            add_entry(e, whole, time ? strtod(time, NULL) : NAN);
        }
        free(file);
        free(time);
        at = end;
    }
    free(folder);
    free(text);
    if (e->count == before) return cli_failure("%s names no files: is it a .pvd series?", path);
    return -1;
}

// Keeps entries that are at least `every` apart, then at most `most` of them, evenly chosen.
static void thin_out(entries *e, double every, int most)
{
    int kept = 0;
    double last = -INFINITY;
    for (int i = 0; i < e->count; ++i) {
        entry item = e->items[i];
        if (every > 0 && item.time - last < every * (1 - 1e-6)) {
            free(item.path);
            continue;
        }
        if (!isnan(item.time)) last = item.time;
        e->items[kept++] = item;
    }
    e->count = kept;
    if (most <= 0 || kept <= most) return;
    for (int i = 0; i < most; ++i) {
        // Swapping keeps every path owned once.
        int from = most > 1 ? (int)((int64_t)i * (kept - 1) / (most - 1)) : kept - 1;
        entry item = e->items[i];
        e->items[i] = e->items[from];
        e->items[from] = item;
    }
    for (int i = most; i < kept; ++i) free(e->items[i].path);
    e->count = most;
}

static bool same_mesh(const surface *s, const surface *other)
{
    size_t corners = 3 * (size_t)s->shape.triangle_count;
    return s->shape.triangle_count == other->shape.triangle_count &&
           s->shape.vertex_count == other->shape.vertex_count &&
           memcmp(s->shape.triangles, other->shape.triangles, corners * sizeof(int32_t)) == 0;
}

static void drop_last_surface(film *f)
{
    surface *s = &f->surfaces[--f->surface_count];
    shape_free(&s->shape);
    free(s->vertices);
    free(s->rest);
}

static int load_entry(film *f, const entry *item, bool captioned)
{
    hk_mesh *mesh = NULL;
    if (hk_mesh_load(item->path, &mesh) != HK_OK) return cli_failure("%s", hk_error());
    int result = add_surface(f, mesh, hk_mesh_positions(mesh), item->path);
    if (result < 0) {
        int last = f->surface_count - 1;
        // A series repeats its mesh: the creases of the first frame serve all.
        bool repeated = last > 0 && same_mesh(&f->surfaces[0], &f->surfaces[last]);
        if (repeated) drop_last_surface(f);
        int index = repeated ? 0 : last;
        frame *fr = add_frame(f, index, hk_mesh_positions(mesh), item->time);
        if (captioned && isnan(item->time))
            fr->caption = cli_format("%s", cli_file_name(item->path));
        if (f->color == FILM_DISPLACEMENT && index > 0)
            result = cli_failure("%s is not the mesh of the first file, so there is no "
                                 "displacement between them",
                                 item->path);
        else if (f->color == FILM_DISPLACEMENT)
            fr->values = displacements(f, &f->surfaces[0], fr->positions);
    }
    hk_mesh_free(mesh);
    return result;
}

int film_load_files(film *f, const cli_texts *paths, const film_request *request)
{
    *f = (film){.color = request->color_chosen ? request->color : FILM_PLAIN};
    entries e = {NULL, 0};
    int result = -1;
    for (int i = 0; i < paths->count && result < 0; ++i) {
        if (cli_ends_with(paths->items[i], ".pvd"))
            result = read_series(paths->items[i], &e);
        else
            add_entry(&e, cli_format("%s", paths->items[i]), NAN);
    }
    if (result < 0) thin_out(&e, request->every, request->frames);
    for (int i = 0; i < e.count && result < 0 && !f->interrupted; ++i) {
        result = load_entry(f, &e.items[i], e.count > 1);
        f->interrupted = cli_interrupted();
    }
    free_entries(&e);
    caption_times(f);
    return result;
}
