// hooke render: draws meshes, series and scenes.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "render.h"
#include "video.h"

// ---------------------------------------------------------------- options

static const char purpose_format[] =
    "Draws meshes, results and scenes. A mesh file (%s)\n"
    "is drawn as it is; a scene as it starts, with --pose at its equilibrium,\n"
    "with --run as it moves. Several files or a .pvd series are several frames.\n"
    "--color takes any field of the files: von_mises, displacement, velocity.y, …\n"
    "The ending of -o decides: a .png holds one frame or a contact sheet of all,\n"
    "frames/%%04d.png becomes one picture per frame, .gif an animation, .mp4 and\n"
    ".webm a movie (by the command ffmpeg), .glb a model that moves (Blender, web).";
static const char examples[] =
    "hooke render bunny.obj -o bunny.png\n"
    "hooke render bar.json --pose --rest -o bar.png\n"
    "hooke render bar.json --run --frames 6 --columns 3 -o sheet.png\n"
    "hooke render bar.json --run -o bar.gif\n"
    "hooke render out/bar.pvd --color von_mises --clip z=0.1 -o cut.png\n"
    "hooke render out/bar.pvd --color displacement -o bar.glb";

static int parse_arguments(render *r, int argc, char **argv)
{
    const cli_option options[] = {
        {"output", 'o', CLI_TEXT, &r->output, "FILE",
         "the .png, %04d.png, .gif, .glb, .mp4 or .webm"},
        {"pose", 0, CLI_FLAG, &r->pose, NULL, "draw the equilibrium of the scene"},
        {"run", 0, CLI_FLAG, &r->run, NULL, "simulate the scene and draw its frames"},
        {"frames", 0, CLI_INT, &r->frames, "N", "at most so many frames, evenly chosen"},
        {"every", 0, CLI_REAL, &r->every, "S", "seconds between frames"},
        {"rate", 0, CLI_REAL, &r->rate, "N", "frames a second of a movie (default: real time)"},
        {"color", 0, CLI_TEXT, &r->color, "WHAT", "a field, as von_mises, velocity.y; body; none"},
        {"colormap", 0, CLI_TEXT, &r->colormap, "NAME", "spectrum, viridis, magma, coolwarm, grey"},
        {"range", 0, CLI_REALS, &r->range, "MIN,MAX", "of the colour scale, in Pa, m, N, …"},
        {"size", 0, CLI_TEXT, &r->size, "WxH", "of the picture (default: 1280x800)"},
        {"view", 0, CLI_TEXT, &r->view, "FROM", "front, side, top, iso or AZIMUTH,ELEVATION"},
        {"look-at", 0, CLI_REALS, &r->look_at, "X,Y,Z", "what is in the middle, m"},
        {"from", 0, CLI_REALS, &r->from, "X,Y,Z", "where the camera stands, m (else: --view)"},
        {"clip", 0, CLI_TEXT, &r->clip, "PLANE", "cut away beyond x=0.1, -z=0 or 1,1,0=0.5"},
        {"exaggerate", 0, CLI_REAL, &r->exaggerate, "X", "displacements X times as large"},
        {"zoom", 0, CLI_REAL, &r->zoom, "X", "2: twice as large (default: 1)"},
        {"tets", 0, CLI_FLAG, &r->tets, NULL, "draw the tets of bodies that have a skin"},
        {"edges", 0, CLI_FLAG, &r->edges, NULL, "draw the edges of the triangles"},
        {"rest", 0, CLI_FLAG, &r->rest, NULL, "draw the rest shape too, translucent"},
        {"background", 0, CLI_TEXT, &r->background, "COLOR",
         "#rrggbb, white, black, dark, … or transparent"},
        {"ground", 0, CLI_FLAG, &r->ground, NULL, "a ground below, with shadows"},
        {"no-ground", 0, CLI_FLAG, &r->no_ground, NULL, "no ground, whatever is drawn"},
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
    film_parse_quantity("none", &r->request.shown);
    if (r->color) {
        if (!film_parse_quantity(r->color, &r->request.shown))
            return wrong("color", r->color, "the name of a field");
        r->request.color_chosen = true;
    }
    if (!r->colormap) return -1;
    r->map = colormap_find(r->colormap);
    return r->map ? -1
                  : wrong("colormap", r->colormap, "spectrum, viridis, magma, coolwarm or grey");
}

// Where the camera stands and what it looks at, and what is cut away.
static int read_camera(render *r)
{
    if (r->view && !camera_parse_view(r->view, &r->azimuth, &r->elevation))
        return wrong("view", r->view,
                     "front, back, side, left, right, top, bottom, iso or AZIMUTH,ELEVATION in "
                     "degrees");
    if (r->view && r->from.count > 0)
        return cli_usage_error("render", "either --view or --from, not both");
    const cli_numbers *points[2] = {&r->look_at, &r->from};
    for (int i = 0; i < 2; ++i)
        if (points[i]->count != 0 && points[i]->count != 3)
            return cli_usage_error("render", "'--%s': expected X,Y,Z", i ? "from" : "look-at");
    if (!(r->zoom >= 0.01 && r->zoom <= 1000))
        return cli_usage_error("render", "'--zoom %g': expected 0.01 to 1000", r->zoom);
    if (r->clip && !film_parse_plane(r->clip, &r->plane))
        return wrong("clip", r->clip, "a plane, as in x=0.1, -z=0 or 1,1,0=0.5");
    if (!(fabs(r->exaggerate) <= 1e9))
        return cli_usage_error("render", "'--exaggerate %g': expected at most 1e9", r->exaggerate);
    return -1;
}

static int read_look(render *r)
{
    if (r->size && !read_size(r->size, &r->width, &r->height))
        return wrong("size", r->size, "WIDTHxHEIGHT, each 16 to 16384, as in 1280x800");
    if (r->range.count > 0 && (r->range.count != 2 || !(r->range.values[0] < r->range.values[1])))
        return cli_usage_error("render", "'--range': expected MIN,MAX with MIN below MAX");
    if (r->background) {
        r->backdrop.transparent = strcmp(r->background, "transparent") == 0;
        if (!r->backdrop.transparent && !parse_color(r->background, r->backdrop.top))
            return wrong("background", r->background,
                         "#rrggbb, white, black, grey, dark, light or transparent");
        if (!r->backdrop.transparent) memcpy(r->backdrop.bottom, r->backdrop.top, 3);
    }
    int result = read_camera(r);
    return result < 0 ? read_color(r) : result;
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
    if (cli_ends_with(r->output, ".gif"))
        r->kind = ANIMATED_GIF;
    else if (cli_ends_with(r->output, ".glb"))
        r->kind = MODEL;
    else if (video_is_path(r->output))
        r->kind = MOVIE;
    else if (png && strchr(r->output, '%'))
        r->kind = NUMBERED;
    else if (png)
        r->kind = ONE_PICTURE;
    else
        return wrong("output", r->output, "a name that ends in .png, .gif, .glb, .mp4 or .webm");
    if (r->kind == NUMBERED && !is_numbered(r->output))
        return wrong("output", r->output, "one place for the number, as in frames/%04d.png");
    if ((r->kind == MOVIE || r->kind == ANIMATED_GIF) && r->backdrop.transparent)
        return cli_usage_error("render", "a movie cannot be transparent");
    r->path = cli_output_path(r->out, r->output);
    return -1;
}

// Whether a picture would take the place of what it is drawn from. Returns -1 or an exit status.
static int check_output(const render *r, char *path, const hk_scene *scene, const cli_series *files)
{
    char why[512];
    const char *used = NULL;
    if (scene && !cli_output_is_good(&path, 1, scene, r->words.items[0], why, sizeof why))
        return cli_failure("%s", why);
    for (int i = 0; i < r->words.count && !used; ++i)
        if (cli_same_file(path, r->words.items[i])) used = r->words.items[i];
    for (int i = 0; files && i < files->count && !used; ++i)
        if (cli_same_file(path, files->items[i].path)) used = files->items[i].path;
    return used ? cli_failure("%s is what is drawn (%s): write the picture elsewhere", path, used)
                : -1;
}

static int check_outputs(void *context, const hk_scene *scene, const cli_series *files)
{
    const render *r = context;
    if (r->kind != NUMBERED) return check_output(r, r->path, scene, files);
    int count = files ? files->count : hk_scene_steps(scene) + 1, result = -1;
    for (int i = 0; i < count && result < 0; ++i) {
        char *path = render_numbered_path(r->path, i);
        bool there = access(path, F_OK) == 0;
        if (there) result = check_output(r, path, scene, files);
        free(path);
    }
    return result;
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
    r->request.clip = r->clip ? &r->plane : NULL;
    r->request.needs_rest = r->exaggerate != 1;
    r->request.check = check_outputs;
    r->request.context = r;
    return -1;
}

// ---------------------------------------------------------------- the command

// What the rest shape was taken from, where it matters; NULL: it does not.
static const char *rest_source(const render *r)
{
    static const char *const names[] = {"unknown", "scene", "file", "first frame"};
    bool matters = r->film.shown.color == FILM_DISPLACEMENT || r->rest || r->exaggerate != 1;
    return matters ? names[r->film.rest_source] : NULL;
}

static void tell_plainly(const render *r, const char *first, int files)
{
    const char *rest = rest_source(r);
    if (cli_talk.quiet) return;
    printf("wrote %s%s: %d frame%s, ", first, files > 1 ? " …" : "", r->drawn,
           r->drawn == 1 ? "" : "s");
    if (r->kind == MODEL)
        printf("%d triangles\n", r->film.surfaces[0].shape.triangle_count);
    else
        printf("%dx%d\n", r->width, r->height);
    if (rest && r->film.rest_source != FILM_REST_SCENE)
        printf("displacements are those %s\n", r->film.rest_source == FILM_REST_FIELD
                                                   ? "that the files tell (field \"displacement\")"
                                                   : "since the first frame");
}

static void tell(const render *r)
{
    const film *f = &r->film;
    int files = (int)json_array_size(r->files);
    const char *first = files > 0 ? json_string_value(json_array_get(r->files, 0)) : r->path;
    if (!cli_talk.json) {
        tell_plainly(r, first, files);
        return;
    }
    static const char *const colors[] = {"none", "stress", "displacement", "contact"};
    static const char *const outcomes[] = {"converged", "stopped", "failed"};
    hk_outcome outcome = f->interrupted ? HK_OUTCOME_STOPPED : f->outcome;
    const char *color = f->shown.color == FILM_FIELD ? r->color : colors[f->shown.color];
    json_t *object =
        json_pack("{s:s, s:O, s:i, s:i, s:i, s:i, s:s}", "status", outcomes[outcome], "files",
                  r->files, "frames", r->drawn, "width", r->width, "height", r->height, "triangles",
                  f->surfaces[0].shape.triangle_count, "color", color);
    if (object && f->shown.color != FILM_PLAIN) {
        json_object_set_new(object, "range", json_pack("[f, f]", r->low, r->high));
        json_object_set_new(object, "values", json_pack("[f, f]", r->least, r->most));
        json_object_set_new(object, "colormap", json_string(r->map->name));
    }
    if (object && rest_source(r)) json_object_set_new(object, "rest", json_string(rest_source(r)));
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
    if (r->exaggerate != 1) film_exaggerate(&r->film, r->exaggerate);
    return render_film(r);
}

int cmd_render(int argc, char **argv)
{
    render r = {.zoom = 1,
                .exaggerate = 1,
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
