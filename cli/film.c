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

frame *film_add_frame(film *f, int surface_index, const double *positions, double time)
{
    f->frames = cli_realloc(f->frames, (size_t)f->frame_count + 1, sizeof *f->frames);
    frame *fr = &f->frames[f->frame_count++];
    *fr = (frame){.surface = surface_index, .time = time};
    fr->positions = film_positions(f, &f->surfaces[surface_index], positions);
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
}

static int load_entry(film *f, const cli_series_file *item, bool captioned)
{
    hk_mesh *mesh = NULL;
    if (hk_mesh_load(item->path, &mesh) != HK_OK) return cli_failure("%s", hk_error());
    int result = film_add_surface(f, mesh, hk_mesh_positions(mesh), item->path);
    if (result < 0) {
        int last = f->surface_count - 1;
        // A series repeats its mesh: the creases of the first frame serve all.
        bool repeated = last > 0 && same_mesh(&f->surfaces[0], &f->surfaces[last]);
        if (repeated) drop_last_surface(f);
        int index = repeated ? 0 : last;
        frame *fr = film_add_frame(f, index, hk_mesh_positions(mesh), item->time);
        if (captioned && isnan(item->time))
            fr->caption = cli_format("%s", cli_file_name(item->path));
        if (f->color == FILM_DISPLACEMENT && index > 0)
            result = cli_failure("%s is not the mesh of the first file, so there is no "
                                 "displacement between them",
                                 item->path);
        else if (f->color == FILM_DISPLACEMENT)
            fr->values = film_displacements(f, &f->surfaces[0], fr->positions);
    }
    hk_mesh_free(mesh);
    return result;
}

int film_load_files(film *f, const cli_texts *paths, const film_request *request)
{
    *f = (film){.color = request->color_chosen ? request->color : FILM_PLAIN};
    cli_series e = {NULL, 0};
    int result = cli_series_read(&e, paths);
    if (result < 0) thin_out(&e, request->every, request->frames);
    for (int i = 0; i < e.count && result < 0 && !f->interrupted; ++i) {
        result = load_entry(f, &e.items[i], e.count > 1);
        f->interrupted = cli_interrupted();
    }
    cli_series_free(&e);
    film_caption_times(f);
    return result;
}
