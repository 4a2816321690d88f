// Collects frames, here those of files and series (film_scene.c: of scenes). Only the outside of
// the meshes is kept, so that long runs fit into memory.
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
        film_cut_free(&f->surfaces[i].cut);
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
int film_add_surface(film *f, hk_mesh *mesh, const double *rest, const char *name)
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
    *s = (surface){.vertices = vertices, .framed = used};
    shape_build(&s->shape, used, positions, count, corners);
    s->rest = film_positions(f, s, rest);
    free(number);
    free(corners);
    free(positions);
    return -1;
}

// Positions are those of the mesh, without the vertices of a cut.
frame *film_add_frame(film *f, int surface_index, const double *positions, double time)
{
    const surface *s = &f->surfaces[surface_index];
    double *all = s->cut.count > 0 ? film_cut_values(&s->cut, positions, 3) : NULL;
    f->frames = cli_realloc(f->frames, (size_t)f->frame_count + 1, sizeof *f->frames);
    frame *fr = &f->frames[f->frame_count++];
    *fr = (frame){.surface = surface_index, .time = time};
    fr->positions = film_positions(f, s, all ? all : positions);
    free(all);
    return fr;
}

// How far the vertices are from their rest positions, m.
float *film_displacements(const film *f, const surface *s, const float *positions)
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
void film_caption_times(film *f)
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

// ---------------------------------------------------------------- files and series

// Keeps files that are at least `every` apart, then at most `most` of them, evenly chosen.
static void thin_out(cli_series *e, double every, int most)
{
    int kept = 0;
    double last = -INFINITY;
    for (int i = 0; i < e->count; ++i) {
        cli_series_file item = e->items[i];
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
        cli_series_file item = e->items[i];
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
    film_cut_free(&s->cut);
}

// Where the vertices are at rest: Hooke's files say how far they are from there. NULL: not known.
// To be freed.
static double *rest_of_file(const hk_mesh *mesh)
{
    hk_field field;
    if (!film_find_field(mesh, "displacement", &field) || field.site != HK_ON_VERTICES ||
        field.components != 3)
        return NULL;
    int count = hk_mesh_vertex_count(mesh);
    double *rest = cli_realloc(NULL, 3 * (size_t)count, sizeof(double));
    for (int i = 0; i < 3 * count; ++i) rest[i] = hk_mesh_positions(mesh)[i] - field.values[i];
    return rest;
}

// "has no field …", with those there are.
static int tell_fields(const hk_mesh *mesh, const char *wanted, const char *path)
{
    char *list = cli_format("%s", "");
    for (int i = 0; i < hk_mesh_field_count(mesh); ++i) {
        hk_field field = hk_mesh_field(mesh, i);
        char *longer = cli_format("%s%s%s", list, i ? ", " : "", field.name);
        free(list);
        list = longer;
    }
    int result = *list ? cli_failure("%s has no field \"%s\"; it has %s", path, wanted, list)
                       : cli_failure("%s has no field \"%s\": it has none at all; fields are read "
                                     "from .vtu files",
                                     path, wanted);
    free(list);
    return result;
}

// Displacements without a field of that name: from the first frame.
static int take_displacements(film *f, frame *fr, const char *path)
{
    if (fr->surface > 0)
        return cli_failure("%s is not the mesh of the first file, so there is no displacement "
                           "between them",
                           path);
    fr->values = film_displacements(f, &f->surfaces[0], fr->positions);
    return -1;
}

// The values of a frame, which is the mesh's, at rest as given.
static int take_field(film *f, frame *fr, const hk_mesh *mesh, const double *rest, const char *path)
{
    const film_quantity *q = &f->shown;
    const surface *s = &f->surfaces[fr->surface];
    hk_field field;
    if (q->color == FILM_PLAIN) return -1;
    if (!film_find_field(mesh, q->field, &field))
        return q->color == FILM_DISPLACEMENT ? take_displacements(f, fr, path)
                                             : tell_fields(mesh, q->field, path);
    if (q->component >= 0 && (field.components == 1 || q->component >= field.components))
        return cli_failure("%s: the field \"%s\" has %d component%s", path, q->field,
                           field.components, field.components == 1 ? "" : "s");
    if (field.components > 1 && q->component < 0) f->shown.unsign = true;
    double *all = film_field_values(mesh, rest, &field, q->component);
    if (hk_mesh_line_count(mesh) > 0) {
        double *longer = film_spread_lines(mesh, all);
        free(all);
        all = longer;
    }
    if (s->cut.count > 0) {
        double *longer = film_cut_values(&s->cut, all, 1);
        free(all);
        all = longer;
    }
    fr->values = cli_realloc(NULL, (size_t)s->shape.vertex_count, sizeof(float));
    for (int i = 0; i < s->shape.vertex_count; ++i) fr->values[i] = (float)all[s->vertices[i]];
    free(all);
    return -1;
}

// ---------------------------------------------------------------- bodies of files

static int32_t root_of(int32_t *parent, int32_t i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

// Which body each vertex [vertex_count] of a mesh belongs to: as its field "body" says, else parts
// of tets that hang together, by their lowest vertices. NULL: there is one only. To be freed.
static int32_t *bodies_of(const hk_mesh *mesh)
{
    hk_field field;
    int count = hk_mesh_vertex_count(mesh), tets = hk_mesh_tet_count(mesh), bodies = 0;
    int32_t *body = cli_realloc(NULL, (size_t)count, sizeof(int32_t));
    if (film_find_field(mesh, "body", &field) && field.components == 1) {
        double *values = film_field_values(mesh, hk_mesh_positions(mesh), &field, -1);
        for (int i = 0; i < count; ++i) body[i] = (int32_t)round(fmin(fmax(values[i], 0), 1e9));
        free(values);
        return body;
    }
    for (int i = 0; i < count; ++i) body[i] = i;
    for (int i = 0; i < tets; ++i) {
        const int32_t *t = hk_mesh_tets(mesh) + 4 * (size_t)i;
        for (int k = 1; k < 4; ++k) {
            int32_t a = root_of(body, t[0]), b = root_of(body, t[k]);
            body[a < b ? b : a] = a < b ? a : b;
        }
    }
    // Parents come before their children, and have their numbers, below 0, already.
    for (int i = 0; i < count; ++i) {
        bool root = body[i] == i;
        body[i] = root ? -1 - bodies : body[body[i]];
        bodies += root;
    }
    for (int i = 0; i < count; ++i) body[i] = -1 - body[i];
    if (bodies > 1 && tets > 0) return body;
    free(body);
    return NULL;
}

static void number_bodies(surface *s, const hk_mesh *mesh)
{
    int32_t *body = bodies_of(mesh);
    if (!body) return;
    s->bodies = cli_realloc(NULL, (size_t)s->shape.vertex_count, 1);
    for (int i = 0; i < s->shape.vertex_count; ++i) {
        int32_t v = s->vertices[i];
        if (s->cut.count > 0 && v >= s->cut.first) v = s->cut.ends[2 * (v - s->cut.first)];
        s->bodies[i] = (uint8_t)(body[v] % BODY_NUMBERS);
    }
    free(body);
}

// ---------------------------------------------------------------- loading

// The surface of a file: an earlier one if it is the same. Returns -1 or an exit status.
static int find_surface(film *f, hk_mesh *mesh, const double *rest, const film_request *request,
                        const char *path, int *index)
{
    hk_mesh *clipped = NULL;
    film_cut cut = {0};
    double *all = NULL;
    int result = -1;
    if (request->clip) {
        result = film_clip(mesh, rest, request->clip, path, &clipped, &cut);
        if (result < 0) all = film_cut_values(&cut, rest, 3);
    }
    if (result < 0) result = film_add_surface(f, clipped ? clipped : mesh, all ? all : rest, path);
    hk_mesh_free(clipped);
    free(all);
    if (result >= 0) {
        film_cut_free(&cut);
        return result;
    }
    int last = f->surface_count - 1;
    f->surfaces[last].cut = cut;
    // A series repeats its mesh: the creases of the first frame serve all.
    bool repeated = last > 0 && same_mesh(&f->surfaces[0], &f->surfaces[last]);
    if (repeated)
        drop_last_surface(f);
    else
        number_bodies(&f->surfaces[last], mesh);
    *index = repeated ? 0 : last;
    return -1;
}

static int load_entry(film *f, const cli_series_file *item, const film_request *request,
                      bool captioned)
{
    hk_mesh *mesh = NULL;
    if (hk_mesh_load(item->path, &mesh) != HK_OK) return cli_failure("%s", hk_error());
    double *own = rest_of_file(mesh);
    const double *rest = own ? own : hk_mesh_positions(mesh);
    if (f->frame_count == 0) {
        f->rest_source = own ? FILM_REST_FIELD : FILM_REST_FIRST;
        f->grounded = hk_mesh_field_count(mesh) == 0;
    }
    hk_mesh *drawn = mesh;
    double *drawn_rest = NULL;
    if (hk_mesh_line_count(mesh) > 0) drawn = film_mesh_with_lines(mesh, rest, &drawn_rest);
    int index = 0, result = drawn ? find_surface(f, drawn, drawn_rest ? drawn_rest : rest, request,
                                                 item->path, &index)
                                  : cli_failure("%s", hk_error());
    if (result < 0) {
        frame *fr = film_add_frame(f, index, hk_mesh_positions(drawn), item->time);
        if (captioned && isnan(item->time))
            fr->caption = cli_format("%s", cli_file_name(item->path));
        result = take_field(f, fr, mesh, rest, item->path);
    }
    if (drawn != mesh) hk_mesh_free(drawn);
    free(drawn_rest);
    free(own);
    hk_mesh_free(mesh);
    return result;
}

// Where there is one file only, and it does not tell how far its vertices are from rest, nothing
// can be said about their displacement.
static int check_rest(const film *f, const film_request *request, const char *path)
{
    bool wanted = f->shown.color == FILM_DISPLACEMENT || request->needs_rest;
    if (!wanted || f->rest_source == FILM_REST_FIELD || f->frame_count > 1) return -1;
    return cli_failure("%s has no field \"displacement\", and there is no earlier frame: its rest "
                       "shape is not known",
                       path);
}

int film_load_files(film *f, const cli_texts *paths, const film_request *request)
{
    *f = (film){.shown = request->shown};
    cli_series e = {NULL, 0};
    int result = cli_series_read(&e, paths);
    if (result < 0 && request->check) result = request->check(request->context, NULL, &e);
    if (result < 0) thin_out(&e, request->every, request->frames);
    for (int i = 0; i < e.count && result < 0 && !f->interrupted; ++i) {
        result = load_entry(f, &e.items[i], request, e.count > 1);
        f->interrupted = cli_interrupted();
    }
    if (result < 0) result = check_rest(f, request, paths->items[0]);
    cli_series_free(&e);
    film_caption_times(f);
    return result;
}
