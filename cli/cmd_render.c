// hooke render: draws meshes, series and scenes.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "film.h"
#include "raster.h"
#include "video.h"

// ---------------------------------------------------------------- options

typedef enum output_kind { ONE_PICTURE, NUMBERED, MOVIE } output_kind;

typedef struct render {
    // as given
    cli_texts words, sets;
    const char *output, *out, *color, *size, *view, *background;
    cli_numbers range;
    double zoom, every, rate;
    int frames, columns, threads;
    bool pose, run, tets, edges, rest, labels, no_labels, no_ground;
    // as understood
    output_kind kind;
    char *path;
    int width, height;
    double azimuth, elevation;
    backdrop backdrop;
    film_request request;
    film film;
    // of all frames together, in film units
    double center[3], radius;
    float ground;        // height below all frames, after centring and scaling
    double low, high;    // of the colour scale
    double least, most;  // values that occur
    camera camera;
    int drawn;  // frames
    json_t *files;
} render;

static const char purpose_format[] =
    "Draws meshes and scenes. A mesh file (%s)\n"
    "is drawn as it is; a scene as it starts, with --pose at its equilibrium,\n"
    "with --run as it moves. Several files or a .pvd series are several frames.\n"
    "The ending of -o decides: a .png holds one frame or a contact sheet of all,\n"
    "frames/%%04d.png becomes one picture per frame, .mp4 .webm .gif a movie (by the\n"
    "command ffmpeg).";
static const char examples[] = "hooke render bunny.obj -o bunny.png\n"
                               "hooke render bar.json --pose --rest -o bar.png\n"
                               "hooke render bar.json --run --frames 6 --columns 3 -o sheet.png\n"
                               "hooke render bar.json --run -o bar.mp4\n"
                               "hooke render out/bar.pvd --color displacement -o frames/%04d.png";

static int parse_arguments(render *r, int argc, char **argv)
{
    const cli_option options[] = {
        {"output", 'o', CLI_TEXT, &r->output, "FILE", "the .png, %04d.png, .mp4, .webm or .gif"},
        {"pose", 0, CLI_FLAG, &r->pose, NULL, "draw the equilibrium of the scene"},
        {"run", 0, CLI_FLAG, &r->run, NULL, "simulate the scene and draw its frames"},
        {"frames", 0, CLI_INT, &r->frames, "N", "at most so many frames, evenly chosen"},
        {"every", 0, CLI_REAL, &r->every, "S", "seconds between frames"},
        {"rate", 0, CLI_REAL, &r->rate, "N", "frames a second of a movie (default: real time)"},
        {"color", 0, CLI_TEXT, &r->color, "WHAT", "stress, displacement, contact or none"},
        {"range", 0, CLI_REALS, &r->range, "MIN,MAX", "of the colour scale, in Pa, m or N"},
        {"size", 0, CLI_TEXT, &r->size, "WxH", "of the picture (default: 1280x800)"},
        {"view", 0, CLI_TEXT, &r->view, "FROM", "front, side, top, iso or AZIMUTH,ELEVATION"},
        {"zoom", 0, CLI_REAL, &r->zoom, "X", "2: twice as large (default: 1)"},
        {"tets", 0, CLI_FLAG, &r->tets, NULL, "draw the tets of bodies that have a skin"},
        {"edges", 0, CLI_FLAG, &r->edges, NULL, "draw the edges of the triangles"},
        {"rest", 0, CLI_FLAG, &r->rest, NULL, "draw the rest shape too, translucent"},
        {"background", 0, CLI_TEXT, &r->background, "COLOR",
         "#rrggbb, white, black, dark, … or transparent"},
        {"no-ground", 0, CLI_FLAG, &r->no_ground, NULL, "no shadow on the ground"},
        {"columns", 0, CLI_INT, &r->columns, "N", "of the contact sheet"},
        {"labels", 0, CLI_FLAG, &r->labels, NULL, "colour bar and captions (the default)"},
        {"no-labels", 0, CLI_FLAG, &r->no_labels, NULL, "neither colour bar nor captions"},
        {"set", 0, CLI_TEXTS, &r->sets, "PATH=VALUE", "change the scene; may be repeated"},
        {"out", 0, CLI_TEXT, &r->out, "DIR", "where relative outputs go (default: here)"},
        {"threads", 0, CLI_INT, &r->threads, "N", "threads of the simulation; 0: all cores"},
        {"json", 0, CLI_FLAG, &cli_talk.json, NULL, "print what was done as one JSON object"},
        {"quiet", 'q', CLI_FLAG, &cli_talk.quiet, NULL, "print errors only"},
    };
    char purpose[1024];
    snprintf(purpose, sizeof purpose, purpose_format, cli_formats(CLI_READING).text);
    const cli_spec spec = {.command = "render",
                           .arguments = "FILE... -o PICTURE",
                           .purpose = purpose,
                           .examples = examples,
                           .options = options,
                           .option_count = (int)(sizeof options / sizeof options[0]),
                           .least_words = 1,
                           .most_words = 100000};
    return cli_parse(&spec, argc, argv, &r->words);
}

static int wrong(const char *option, const char *value, const char *expected)
{
    return cli_usage_error("render", "'--%s %s': expected %s", option, value, expected);
}

// Reads 1280x800.
static bool read_size(const char *text, int *width, int *height)
{
    char *end;
    long w = strtol(text, &end, 10);
    if (end == text || (*end != 'x' && *end != 'X')) return false;
    const char *second = end + 1;
    long h = strtol(second, &end, 10);
    if (end == second || *end || w < 16 || h < 16 || w > 16384 || h > 16384) return false;
    *width = (int)w, *height = (int)h;
    return true;
}

static int read_color(render *r)
{
    static const char *const names[] = {"none", "stress", "displacement", "contact"};
    if (!r->color) return -1;
    for (int i = 0; i < 4; ++i)
        if (strcmp(r->color, names[i]) == 0) {
            r->request.color = (film_color)i;
            r->request.color_chosen = true;
            return -1;
        }
    return wrong("color", r->color, "stress, displacement, contact or none");
}

static int read_look(render *r)
{
    if (r->size && !read_size(r->size, &r->width, &r->height))
        return wrong("size", r->size, "WIDTHxHEIGHT, each 16 to 16384, as in 1280x800");
    if (r->view && !camera_parse_view(r->view, &r->azimuth, &r->elevation))
        return wrong("view", r->view,
                     "front, back, side, left, right, top, bottom, iso or AZIMUTH,ELEVATION in "
                     "degrees");
    if (!(r->zoom >= 0.01 && r->zoom <= 1000))
        return cli_usage_error("render", "'--zoom %g': expected 0.01 to 1000", r->zoom);
    if (r->range.count > 0 && (r->range.count != 2 || !(r->range.values[0] < r->range.values[1])))
        return cli_usage_error("render", "'--range': expected MIN,MAX with MIN below MAX");
    if (r->background) {
        r->backdrop.transparent = strcmp(r->background, "transparent") == 0;
        if (!r->backdrop.transparent && !parse_color(r->background, r->backdrop.top))
            return wrong("background", r->background,
                         "#rrggbb, white, black, grey, dark, light or transparent");
        if (!r->backdrop.transparent) memcpy(r->backdrop.bottom, r->backdrop.top, 3);
    }
    return read_color(r);
}

// Whether there is a place for the frame's number in the path: %d or %04d, once.
static bool is_numbered(const char *path)
{
    const char *percent = strchr(path, '%');
    if (!percent) return false;
    const char *end = percent + 1 + strspn(percent + 1, "0123456789");
    return *end == 'd' && end - percent <= 3 && !strchr(end, '%');
}

static int read_output(render *r)
{
    if (!r->output) return cli_usage_error("render", "where to? Give -o PICTURE.png");
    bool png = cli_ends_with(r->output, ".png");
    if (video_is_path(r->output))
        r->kind = MOVIE;
    else if (png && strchr(r->output, '%'))
        r->kind = NUMBERED;
    else if (png)
        r->kind = ONE_PICTURE;
    else
        return wrong("output", r->output, "a name that ends in .png, .mp4, .webm or .gif");
    if (r->kind == NUMBERED && !is_numbered(r->output))
        return wrong("output", r->output, "one place for the number, as in frames/%04d.png");
    if (r->kind == MOVIE && r->backdrop.transparent)
        return cli_usage_error("render", "a movie cannot be transparent");
    r->path = cli_output_path(r->out, r->output);
    return -1;
}

static int read_request(render *r)
{
    bool scene = cli_ends_with(r->words.items[0], ".json");
    for (int i = 0; i < r->words.count; ++i)
        if (cli_ends_with(r->words.items[i], ".json") && r->words.count > 1)
            return cli_usage_error("render",
                                   "'%s': only one scene at a time, and no meshes with it",
                                   r->words.items[i]);
    if (!scene && (r->pose || r->run || r->tets || r->sets.count > 0 || r->threads >= 0))
        return cli_usage_error("render",
                               "--pose, --run, --tets, --set and --threads are for scenes, and "
                               "'%s' is none",
                               r->words.items[0]);
    if (r->pose && r->run) return cli_usage_error("render", "either --pose or --run, not both");
    bool computed = r->request.color == FILM_STRESS || r->request.color == FILM_CONTACT;
    if (!scene && computed)
        return cli_usage_error("render",
                               "mesh files hold no %s to draw; render the scene with "
                               "--pose or --run, or use --color displacement",
                               r->request.color == FILM_STRESS ? "stress" : "contact");
    for (int i = 0; i < r->sets.count; ++i)
        if (strcspn(r->sets.items[i], "=") == 0 || !strchr(r->sets.items[i], '='))
            return wrong("set", r->sets.items[i], "path=value, as in solver.iterations=20");
    if (r->every < 0 || r->rate < 0 || r->rate > 1000)
        return cli_usage_error("render", "--every must not be negative and --rate be 0 to 1000");
    r->request.action = r->run ? FILM_RUN : r->pose ? FILM_POSE : FILM_INITIAL;
    r->request.frames = r->frames;
    r->request.every = r->every;
    r->request.spread = r->kind == ONE_PICTURE;
    r->request.sets = &r->sets;
    r->request.threads = r->threads;
    r->request.tets = r->tets;
    return -1;
}

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
    r->ground = (float)((ground - r->center[1]) / r->radius) - 0.002f;
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

// The scale starts at 0 and ends at the 99th percentile: single peaks at sharp corners would leave
// all the rest in one colour.
static void measure_values(render *r)
{
    const film *f = &r->film;
    size_t total = 0;
    if (f->color == FILM_PLAIN) return;
    for (int i = 0; i < f->frame_count; ++i)
        total += (size_t)f->surfaces[f->frames[i].surface].shape.vertex_count;
    float *all = cli_realloc(NULL, total, sizeof(float));
    size_t at = 0;
    for (int i = 0; i < f->frame_count; ++i) {
        size_t count = (size_t)f->surfaces[f->frames[i].surface].shape.vertex_count;
        memcpy(all + at, f->frames[i].values, count * sizeof(float));
        at += count;
    }
    qsort(all, total, sizeof(float), by_value);
    r->least = all[0], r->most = all[total - 1];
    r->low = 0;
    r->high = f->color == FILM_STRESS ? all[(size_t)(0.99 * (double)(total - 1))] : r->most;
    if (!(r->high > 0)) r->high = r->most;
    free(all);
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

static void aim_camera(render *r, const layout *l, bool captioned)
{
    double x = l->pad, y = l->pad, width = l->width - l->bar - 2 * x;
    double height = l->height - 2 * y - (captioned ? 1.2 * l->text : 0);
    if (width < 4 || height < 4) x = y = 0, width = l->width, height = l->height;
    r->camera = camera_from(r->azimuth, r->elevation);
    camera_fit fit = camera_fit_begin(width, height);
    fit_all(r, &fit);
    camera_fit_end(&fit, &r->camera, x, y, width, height, 1);
    r->camera.focal *= r->zoom;
}

static color_bar bar_of(const render *r)
{
    static const char *const titles[] = {"", "von Mises stress", "displacement", "contact force"};
    static const char *const units[] = {"", "Pa", "m", "N"};
    return (color_bar){.title = titles[r->film.color],
                       .unit = units[r->film.color],
                       .low = r->low,
                       .high = r->high,
                       .least = r->least,
                       .most = r->most};
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
                 .ground = !r->no_ground && !r->film.floored,
                 .ground_height = r->ground,
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
    if (r->film.color != FILM_PLAIN && !r->no_labels) {
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
    r->camera = camera_from(r->azimuth, r->elevation);
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
    aim_camera(r, &tile, !r->no_labels);
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
static char *numbered_path(const char *pattern, int number)
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

// One picture a frame, to numbered files or into a movie.
static int write_frames(render *r)
{
    layout l = lay_out(r, r->width, r->height);
    char why[512];
    video *v = NULL;
    bool captioned = r->film.frames[0].caption && !r->no_labels, good = true;
    aim_camera(r, &l, captioned);
    if (r->kind == MOVIE) {
        v = video_open(r->path, r->width, r->height, movie_rate(r), why, sizeof why);
        if (!v) return cli_failure("%s", why);
    }
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
        if (v) {
            good = video_add(v, &p, why, sizeof why);
            if (!good) cli_failure("%s", why);
        } else {
            char *path =
                r->kind == NUMBERED ? numbered_path(r->path, i) : cli_format("%s", r->path);
            good = save_picture(r, &p, path);
            free(path);
        }
        picture_free(&p);
        cli_progress_step(&progress, ++r->drawn, r->film.frames[i].time);
    }
    cli_progress_end(&progress);
    if (v && !good) video_abandon(v);
    if (v && good) {
        good = video_close(v, why, sizeof why);
        if (!good) return cli_failure("%s", why);
        json_array_append_new(r->files, json_string(r->path));
    }
    return good ? -1 : CLI_FAILED;
}

// ---------------------------------------------------------------- the command

static void tell(const render *r)
{
    const film *f = &r->film;
    int files = (int)json_array_size(r->files);
    const char *first = files > 0 ? json_string_value(json_array_get(r->files, 0)) : r->path;
    if (!cli_talk.json) {
        if (!cli_talk.quiet)
            printf("wrote %s%s: %d frame%s, %dx%d\n", first, files > 1 ? " …" : "", r->drawn,
                   r->drawn == 1 ? "" : "s", r->width, r->height);
        return;
    }
    static const char *const colors[] = {"none", "stress", "displacement", "contact"};
    static const char *const outcomes[] = {"converged", "stopped", "failed"};
    hk_outcome outcome = f->interrupted ? HK_OUTCOME_STOPPED : f->outcome;
    json_t *object =
        json_pack("{s:s, s:O, s:i, s:i, s:i, s:i, s:s}", "status", outcomes[outcome], "files",
                  r->files, "frames", r->drawn, "width", r->width, "height", r->height, "triangles",
                  f->surfaces[0].shape.triangle_count, "color", colors[f->color]);
    if (object && f->color != FILM_PLAIN) {
        json_object_set_new(object, "range", json_pack("[f, f]", r->low, r->high));
        json_object_set_new(object, "values", json_pack("[f, f]", r->least, r->most));
    }
    cli_json_print(object);
}

// Everything after the arguments. Returns -1 or an exit status.
static int draw_all(render *r)
{
    char why[512];
    if (!cli_can_write(r->path, why, sizeof why) ||
        (r->kind == MOVIE && !video_can_write(r->path, why, sizeof why)))
        return cli_failure("%s", why);
    cli_start_log();
    cli_catch_interrupts();
    bool scene = cli_ends_with(r->words.items[0], ".json");
    int result = scene ? film_load_scene(&r->film, r->words.items[0], &r->request)
                       : film_load_files(&r->film, &r->words, &r->request);
    if (result >= 0) return result;
    measure_bounds(r);
    measure_values(r);
    bool sheet = r->kind == ONE_PICTURE && r->film.frame_count > 1;
    return sheet ? write_sheet(r) : write_frames(r);
}

int cmd_render(int argc, char **argv)
{
    render r = {.zoom = 1,
                .threads = -1,
                .width = 1280,
                .height = 800,
                .azimuth = 30,
                .elevation = 20,
                .backdrop = {{255, 255, 255}, {226, 231, 238}, false}};
    int result = parse_arguments(&r, argc, argv);
    if (result < 0) result = read_look(&r);
    if (result < 0) result = read_output(&r);
    if (result < 0) result = read_request(&r);
    if (result < 0) {
        r.files = json_array();
        result = r.files ? draw_all(&r) : cli_failure("not enough memory");
    }
    if (result < 0) {
        tell(&r);
        bool whole = r.film.outcome != HK_OUTCOME_FAILED && !r.film.interrupted;
        result = whole ? CLI_DONE : CLI_FAILED;
    }
    cli_stop_log();
    film_free(&r.film);
    json_decref(r.files);
    cli_texts_free(&r.words);
    cli_texts_free(&r.sets);
    free(r.path);
    return result;
}
