// Draws the frames of a film: into pictures, a sheet, a movie or a model.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gif.h"
#include "render.h"
#include "video.h"

// ---------------------------------------------------------------- measures over all frames

static void grow(const float *positions, int count, double low[3], double high[3])
{
    for (int i = 0; i < count; ++i)
        for (int k = 0; k < 3; ++k) {
            low[k] = fmin(low[k], positions[3 * i + k]);
            high[k] = fmax(high[k], positions[3 * i + k]);
        }
}

static void measure_bounds(render *r)
{
    const film *f = &r->film;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < f->frame_count; ++i) {
        const surface *s = &f->surfaces[f->frames[i].surface];
        grow(f->frames[i].positions, s->framed, low, high);
    }
    double ground = low[1];
    for (int i = 0; i < f->surface_count && r->rest; ++i)
        grow(f->surfaces[i].rest, f->surfaces[i].framed, low, high);
    double square = 0;
    for (int k = 0; k < 3; ++k) {
        r->center[k] = 0.5 * (low[k] + high[k]);
        square += (high[k] - low[k]) * (high[k] - low[k]);
    }
    r->radius = square > 0 ? 0.5 * sqrt(square) : 1;
    r->ground_height = (float)((ground - r->center[1]) / r->radius) - 0.002f;
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

// All values of bodies, sorted; obstacles have none. To be freed.
static float *sorted_values(const film *f, size_t *count)
{
    size_t total = 0;
    *count = 0;
    for (int i = 0; i < f->frame_count; ++i)
        total += (size_t)f->surfaces[f->frames[i].surface].shape.vertex_count;
    float *all = cli_realloc(NULL, total, sizeof(float));
    for (int i = 0; i < f->frame_count; ++i) {
        const surface *s = &f->surfaces[f->frames[i].surface];
        for (int v = 0; v < s->shape.vertex_count; ++v)
            if (!s->bodies || s->bodies[v] != OBSTACLE_COLOR)
                all[(*count)++] = f->frames[i].values[v];
    }
    qsort(all, *count, sizeof(float), by_value);
    return all;
}

// Scales of lengths and of stress start at 0. Those of stress end at the 99th percentile: single
// peaks at sharp corners would leave all the rest in one colour. Values of both signs get a
// diverging scale around 0.
static void measure_values(render *r)
{
    const film_quantity *q = &r->film.shown;
    size_t total;
    if (!r->map) r->map = colormap_at(0);
    if (q->color == FILM_PLAIN) return;
    float *all = sorted_values(&r->film, &total);
    r->least = total ? all[0] : 0, r->most = total ? all[total - 1] : 0;
    r->low = q->unsign ? 0 : r->least;
    r->high = r->most;
    size_t last = total ? total - 1 : 0;
    if (total && q->peaks) r->high = all[(size_t)(0.99 * (double)last)];
    if (total && q->peaks && !q->unsign) r->low = all[(size_t)(0.01 * (double)last)];
    if (!(r->high > r->low)) r->low = q->unsign ? 0 : r->least, r->high = r->most;
    free(all);
    bool signs = r->low < 0 && r->high > 0;
    if (signs && !r->colormap) r->map = colormap_find("coolwarm");
    if (r->map->diverging && r->low < 0) r->high = fmax(r->high, -r->low), r->low = -r->high;
    if (r->range.count == 2) r->low = r->range.values[0], r->high = r->range.values[1];
}

static void to_unit_sphere(const render *r, const float *from, int count, float *to)
{
    for (int i = 0; i < count; ++i)
        for (int k = 0; k < 3; ++k)
            to[3 * i + k] = (float)((from[3 * i + k] - r->center[k]) / r->radius);
}

// Adds what the camera has to see: all vertices of all frames.
static void fit_all(const render *r, camera_fit *fit)
{
    const film *f = &r->film;
    for (int i = 0; i < f->frame_count; ++i) {
        const surface *s = &f->surfaces[f->frames[i].surface];
        for (int j = 0; j < s->framed * (r->rest ? 2 : 1); ++j) {
            const float *x =
                j < s->framed ? f->frames[i].positions + 3 * j : s->rest + 3 * (j - s->framed);
            double point[3];
            for (int k = 0; k < 3; ++k) point[k] = (x[k] - r->center[k]) / r->radius;
            camera_fit_add(fit, &r->camera, point);
        }
    }
}

// ---------------------------------------------------------------- one frame

// Where things are in a picture, px.
typedef struct layout {
    int width, height;  // of one frame
    int bar;            // width kept free on the right for the colour bar, 0 for none
    int pad;
    float text;
} layout;

// A place in m as the drawing has it.
static void to_drawing(const render *r, const double *place, double to[3])
{
    const film *f = &r->film;
    for (int k = 0; k < 3; ++k)
        to[k] = ((place[k] - f->origin[k]) / f->unit - r->center[k]) / r->radius;
}

// Turns the camera as asked for: by its direction, or from where it stands to what it looks at.
// Returns false when both are one point.
static bool turn_camera(render *r, double target[3], double eye[3])
{
    double azimuth = r->azimuth, elevation = r->elevation, length = 0;
    target[0] = target[1] = target[2] = 0;
    if (r->look_at.count > 0) to_drawing(r, r->look_at.values, target);
    if (r->from.count > 0) {
        to_drawing(r, r->from.values, eye);
        double d[3];
        for (int k = 0; k < 3; ++k) d[k] = eye[k] - target[k], length += d[k] * d[k];
        length = sqrt(length);
        if (!(length > 1e-9)) return false;
        azimuth = atan2(d[0], d[2]) * 180 / M_PI;
        elevation = asin(fmin(fmax(d[1] / length, -1), 1)) * 180 / M_PI;
    }
    r->camera = camera_from(azimuth, elevation);
    return true;
}

static double along(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// Places the camera in a rectangle x, y, width, height of the picture. Returns -1 or an exit
// status.
static int place_camera(render *r, double x, double y, double width, double height)
{
    double target[3], eye[3];
    if (!turn_camera(r, target, eye)) return cli_failure("--from and --look-at are the same point");
    camera *c = &r->camera;
    camera_fit fit = camera_fit_begin(width, height);
    fit_all(r, &fit);
    camera_fit_end(&fit, c, x, y, width, height, 1);
    if (r->from.count > 0) {
        double distance = along(c->back, eye) - fit.nearest;
        if (!(distance > 1e-3))
            return cli_failure("the camera of --from stands within what is drawn, or behind it; "
                               "use --view and --zoom");
        memcpy(c->eye, eye, sizeof eye);
        // The sphere around everything, radius 1, as large as it fits at the target's distance.
        double depth = along(c->back, eye) - along(c->back, target);
        c->focal = 0.5 * fmin(width, height) * fmax(depth, distance);
    } else if (r->look_at.count > 0) {
        double depth = along(c->back, c->eye) - along(c->back, target);
        for (int k = 0; k < 3; ++k) c->eye[k] = target[k] + depth * c->back[k];
    }
    c->focal *= r->zoom;
    return -1;
}

static int aim_camera(render *r, const layout *l, bool captioned)
{
    double x = l->pad, y = l->pad, width = l->width - l->bar - 2 * x;
    double height = l->height - 2 * y - (captioned ? 1.2 * l->text : 0);
    if (width < 4 || height < 4) x = y = 0, width = l->width, height = l->height;
    return place_camera(r, x, y, width, height);
}

static color_bar bar_of(const render *r)
{
    return (color_bar){.title = r->film.shown.title,
                       .unit = r->film.shown.unit,
                       .low = r->low,
                       .high = r->high,
                       .least = r->least,
                       .most = r->most,
                       .map = r->map};
}

static ink ink_of(const render *r, float size)
{
    const uint8_t *c = r->backdrop.bottom;
    bool dark = !r->backdrop.transparent && 2 * c[0] + 5 * c[1] + c[2] < 8 * 110;
    return dark ? (ink){{226, 230, 238}, size} : (ink){{44, 51, 63}, size};
}

static float *scaled_values(const render *r, const float *values, int count)
{
    float *scaled = cli_realloc(NULL, (size_t)count, sizeof(float));
    double span = r->high - r->low;
    for (int i = 0; i < count; ++i)
        scaled[i] = span > 0 ? (float)fmin(fmax((values[i] - r->low) / span, 0), 1) : 0;
    return scaled;
}

// Meshes stand on a ground. Scenes and their results have one where an obstacle is, or on request.
static bool stands_on_ground(const render *r)
{
    return !r->no_ground && !r->film.floored && (r->ground || r->film.grounded);
}

static picture draw_frame(const render *r, const layout *l, int index)
{
    const frame *fr = &r->film.frames[index];
    const surface *s = &r->film.surfaces[fr->surface];
    int count = s->shape.vertex_count;
    float *positions = cli_realloc(NULL, 6 * (size_t)count, sizeof(float));
    float *rest = positions + 3 * count;
    to_unit_sphere(r, fr->positions, count, positions);
    to_unit_sphere(r, s->rest, count, rest);
    float *values = fr->values ? scaled_values(r, fr->values, count) : NULL;
    drawing d = {.body = {&s->shape, positions, values, s->bodies},
                 .camera = r->camera,
                 .edges = r->edges,
                 .ground = stands_on_ground(r),
                 .ground_height = r->ground_height,
                 .map = r->map,
                 .backdrop = r->backdrop,
                 .scale = fmaxf((float)l->height / 800, 0.5f)};
    if (r->rest) d.ghost = (layer){.shape = &s->shape, .positions = rest};
    picture p = raster_draw(&d, l->width, l->height);
    free(positions);
    free(values);
    if (fr->caption && !r->no_labels)
        picture_text(&p, fr->caption, (float)l->pad, (float)(l->height - l->pad) + 0.3f * l->text,
                     0, ink_of(r, l->text));
    return p;
}

static void draw_bar(const render *r, picture *p, const layout *l)
{
    if (l->bar == 0) return;
    color_bar bar = bar_of(r);
    int inset = p->height / 12;
    picture_color_bar(p, &bar, p->width - l->bar + l->pad / 2, inset, p->height - 2 * inset,
                      ink_of(r, l->text));
}

// Margins and text of a picture of the given size.
static layout lay_out(const render *r, int width, int height)
{
    int least = width < height ? width : height;
    layout l = {.width = width, .height = height, .pad = least / 22};
    l.text = fminf(fmaxf((float)least / 64, 7), 48);
    if (r->film.shown.color != FILM_PLAIN && !r->no_labels) {
        color_bar bar = bar_of(r);
        l.bar = color_bar_width(&bar, l.text) + l.pad;
        if (l.bar > width / 2) l.bar = 0;  // too small a picture for a legend
    }
    return l;
}

// ---------------------------------------------------------------- files

static bool save_picture(render *r, const picture *p, const char *path)
{
    char why[512];
    if (!picture_save(p, path, why, sizeof why)) {
        cli_failure("%s", why);
        return false;
    }
    json_array_append_new(r->files, json_string(path));
    return true;
}

// How many columns let the frames be as large as possible.
static int choose_columns(render *r, const layout *whole)
{
    int count = r->film.frame_count, best = 1;
    if (r->columns > 0) return r->columns < count ? r->columns : count;
    double target[3], eye[3];
    if (!turn_camera(r, target, eye)) return 1;
    camera_fit fit = camera_fit_begin(1, 1);
    fit_all(r, &fit);
    double wide = fmax(fit.most[0] + fit.least[0], 1e-3);
    double high = fmax(fit.most[1] + fit.least[1], 1e-3), largest = 0;
    for (int columns = 1; columns <= count; ++columns) {
        int rows = (count + columns - 1) / columns;
        double width = (double)(whole->width - whole->bar) / columns;
        double height = (double)whole->height / rows - 2 * whole->text;
        double size = fmin(width / wide, height / high);
        // An empty place costs a little, so that full sheets win a draw.
        size *= 1 - 0.1 * (rows * columns - count) / count;
        if (size > largest) largest = size, best = columns;
    }
    return best;
}

static void fill_picture(picture *p, const backdrop *b)
{
    for (int y = 0; y < p->height; ++y)
        for (int x = 0; x < p->width; ++x) {
            uint8_t *to = p->rgba + 4 * ((size_t)y * (size_t)p->width + (size_t)x);
            memcpy(to, b->top, 3);
            to[3] = b->transparent ? 0 : 255;
        }
}

static int write_sheet(render *r)
{
    layout whole = lay_out(r, r->width, r->height);
    int count = r->film.frame_count, columns = choose_columns(r, &whole);
    int rows = (count + columns - 1) / columns;
    enum { GAP = 3 };
    layout tile = lay_out(r, (r->width - whole.bar - (columns - 1) * GAP) / columns,
                          (r->height - (rows - 1) * GAP) / rows);
    if (tile.width < 8 || tile.height < 8)
        return cli_failure("%d frames do not fit into %dx%d; use --size or --frames", count,
                           r->width, r->height);
    tile.bar = 0;
    tile.text = fminf(fmaxf((float)tile.height / 26, 7), whole.text);
    int result = aim_camera(r, &tile, !r->no_labels);
    if (result >= 0) return result;
    picture sheet = picture_new(r->width, r->height);
    fill_picture(&sheet, &r->backdrop);
    cli_progress progress;
    cli_progress_begin(&progress, count);
    for (int i = 0; i < count; ++i) {
        picture p = draw_frame(r, &tile, i);
        picture_paste(&sheet, &p, i % columns * (tile.width + GAP),
                      i / columns * (tile.height + GAP));
        picture_free(&p);
        cli_progress_step(&progress, ++r->drawn, r->film.frames[i].time);
    }
    cli_progress_end(&progress);
    draw_bar(r, &sheet, &whole);
    bool good = save_picture(r, &sheet, r->path);
    picture_free(&sheet);
    return good ? -1 : CLI_FAILED;
}

// The path with its %04d replaced by the number.
char *render_numbered_path(const char *pattern, int number)
{
    const char *percent = strchr(pattern, '%');
    int digits = (int)strtol(percent + 1, NULL, 10);
    const char *rest = strchr(percent, 'd') + 1;
    return cli_format("%.*s%0*d%s", (int)(percent - pattern), pattern, digits, number, rest);
}

static double movie_rate(const render *r)
{
    const film *f = &r->film;
    if (r->rate > 0) return r->rate;
    double span = f->frame_count > 1 ? f->frames[f->frame_count - 1].time - f->frames[0].time : 0;
    return span > 0 ? fmin(fmax((f->frame_count - 1) / span, 0.1), 120) : 25;
}

// Where frames go: to a movie, a GIF, or files of their own.
typedef struct sink {
    video *video;
    gif *gif;
} sink;

static bool open_sink(render *r, sink *to)
{
    char why[512];
    *to = (sink){0};
    if (r->kind == ANIMATED_GIF) to->gif = gif_new(r->width, r->height, movie_rate(r));
    if (r->kind != MOVIE) return true;
    to->video = video_open(r->path, r->width, r->height, movie_rate(r), why, sizeof why);
    if (!to->video) cli_failure("%s", why);
    return to->video != NULL;
}

static bool add_to_sink(render *r, sink *to, const picture *p, int index)
{
    char why[512];
    if (to->video) {
        bool good = video_add(to->video, p, why, sizeof why);
        if (!good) cli_failure("%s", why);
        return good;
    }
    if (to->gif) {
        gif_add(to->gif, p);
        return true;
    }
    char *path =
        r->kind == NUMBERED ? render_numbered_path(r->path, index) : cli_format("%s", r->path);
    bool good = save_picture(r, p, path);
    free(path);
    return good;
}

static bool close_sink(render *r, sink *to, bool good)
{
    char why[512];
    if (!good) {
        video_abandon(to->video);
        gif_free(to->gif);
        return false;
    }
    if (!to->video && !to->gif) return true;
    good = to->video ? video_close(to->video, why, sizeof why)
                     : gif_save(to->gif, r->path, why, sizeof why);
    if (good)
        json_array_append_new(r->files, json_string(r->path));
    else
        cli_failure("%s", why);
    return good;
}

// One picture per frame, to numbered files or into a movie.
static int write_frames(render *r)
{
    layout l = lay_out(r, r->width, r->height);
    sink to;
    bool captioned = r->film.frames[0].caption && !r->no_labels, good = true;
    int result = aim_camera(r, &l, captioned);
    if (result >= 0) return result;
    if (!open_sink(r, &to)) return CLI_FAILED;
    bool asked_before = cli_interrupted();  // then what there is shall be written
    cli_progress progress;
    cli_progress_begin(&progress, r->film.frame_count);
    for (int i = 0; i < r->film.frame_count && good; ++i) {
        if (cli_interrupted() && !asked_before) {
            r->film.interrupted = true;
            break;
        }
        picture p = draw_frame(r, &l, i);
        draw_bar(r, &p, &l);
        good = add_to_sink(r, &to, &p, i);
        picture_free(&p);
        cli_progress_step(&progress, ++r->drawn, r->film.frames[i].time);
    }
    cli_progress_end(&progress);
    return close_sink(r, &to, good) ? -1 : CLI_FAILED;
}

static int write_model(render *r)
{
    char why[512];
    film_glb look = {.map = r->map, .low = r->low, .high = r->high, .rate = r->rate};
    if (!film_save_glb(&r->film, &look, r->path, why, sizeof why)) return cli_failure("%s", why);
    r->drawn = r->film.frame_count;
    json_array_append_new(r->files, json_string(r->path));
    return -1;
}

int render_film(render *r)
{
    measure_bounds(r);
    measure_values(r);
    if (r->kind == MODEL) return write_model(r);
    bool sheet = r->kind == ONE_PICTURE && r->film.frame_count > 1;
    return sheet ? write_sheet(r) : write_frames(r);
}
