// What is written where: nothing in the place of what a scene is read from, and nothing twice.
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

// ---------------------------------------------------------------- names

// The folder of a path as the system knows it, without links and dots; NULL where there is none.
// To be freed.
static char *real_folder(const char *path)
{
    const char *name = cli_file_name(path);
    char *folder = name == path ? cli_format(".") : cli_format("%.*s", (int)(name - path), path);
    char *real = realpath(folder, NULL);
    free(folder);
    return real;
}

static bool same_folder(const char *path, const char *other)
{
    char *a = real_folder(path), *b = real_folder(other);
    bool same = a && b && strcmp(a, b) == 0;
    free(a);
    free(b);
    return same;
}

// A device takes as many outputs as there are.
static bool is_device(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode);
}

// Whether both names lead, or will lead, to one file.
static bool same_output(const char *path, const char *other)
{
    if (is_device(path)) return false;
    if (cli_same_file(path, other)) return true;
    return strcmp(cli_file_name(path), cli_file_name(other)) == 0 && same_folder(path, other);
}

// The number in a file's name that is a frame's, as in bar_0012.vtu; -1: it is none.
static int frame_number(const char *name, const cli_numbered *frames)
{
    const char *stem = cli_file_name(frames->stem);
    size_t length = strlen(stem), digits;
    if (strncmp(name, stem, length) != 0 || name[length] != '_') return -1;
    const char *number = name + length + 1;
    digits = strspn(number, "0123456789");
    if (digits < 4 || digits > 9 || (digits > 4 && number[0] == '0')) return -1;
    return strcmp(number + digits, frames->ending) == 0 ? (int)strtol(number, NULL, 10) : -1;
}

// ---------------------------------------------------------------- what a scene is read from

// TetGen's meshes are two files.
static bool is_file_of_mesh(const char *path, const hk_mesh *mesh)
{
    const char *file = hk_mesh_path(mesh);
    if (!file) return false;
    if (cli_same_file(path, file)) return true;
    bool node = cli_ends_with(file, ".node");
    if (!node && !cli_ends_with(file, ".ele")) return false;
    size_t length = strlen(file) - (node ? 5 : 4);
    char *other = cli_format("%.*s%s", (int)length, file, node ? ".ele" : ".node");
    bool same = cli_same_file(path, other);
    free(other);
    return same;
}

static const char *kept_path, *kept_use;

void cli_keep_file(const char *path, const char *use)
{
    kept_path = path;
    kept_use = use;
}

// What a path is of the scene; NULL: nothing.
static const char *use_in_scene(const char *path, const hk_scene *scene, const char *scene_path)
{
    const hk_model_def *model = hk_scene_model(scene);
    if (is_device(path)) return NULL;
    if (cli_same_file(path, scene_path)) return "the scene itself";
    if (kept_path && cli_same_file(path, kept_path)) return kept_use;
    for (int i = 0; i < model->body_count; ++i) {
        const hk_body_def *body = hk_def_at(model->bodies, i);
        if (is_file_of_mesh(path, body->mesh) || is_file_of_mesh(path, body->skin))
            return "a mesh of the scene";
        if (body->start_state && cli_same_file(path, body->start_state))
            return "a state of the scene";
    }
    for (int i = 0; i < model->obstacle_count; ++i) {
        const hk_obstacle_def *obstacle = hk_def_at(model->obstacles, i);
        if (is_file_of_mesh(path, obstacle->mesh)) return "a mesh of the scene";
    }
    return NULL;
}

static bool tell_use(const char *path, const char *use, char *why, size_t size)
{
    if (use) snprintf(why, size, "%s is %s: write the results elsewhere", path, use);
    return !use;
}

// ---------------------------------------------------------------- outputs

bool cli_output_is_good(char *const *outputs, int count, const hk_scene *scene,
                        const char *scene_path, char *why, size_t size)
{
    const char *path = outputs[count - 1];
    if (!path) return true;
    if (!cli_can_write(path, why, size)) return false;
    if (!tell_use(path, use_in_scene(path, scene, scene_path), why, size)) return false;
    for (int i = 0; i < count - 1; ++i) {
        if (!outputs[i] || !same_output(outputs[i], path)) continue;
        snprintf(why, size, "two outputs are the same file, %s and %s", outputs[i], path);
        return false;
    }
    return true;
}

// Calls `visit` with every file that has the name of a frame, until it says false.
static void visit_numbered(const cli_numbered *frames,
                           bool (*visit)(void *context, const char *path, int number),
                           void *context)
{
    const char *name = cli_file_name(frames->stem);
    int length = (int)(name - frames->stem);
    char *folder = length == 0 ? cli_format(".") : cli_format("%.*s", length, frames->stem);
    DIR *listing = opendir(folder);
    bool goes_on = true;
    for (struct dirent *entry; listing && goes_on && (entry = readdir(listing)) != NULL;) {
        int number = frame_number(entry->d_name, frames);
        if (number < 0 || number >= frames->count) continue;
        char *path = cli_format("%.*s%s", length, frames->stem, entry->d_name);
        goes_on = visit(context, path, number);
        free(path);
    }
    if (listing) closedir(listing);
    free(folder);
}

typedef struct use_check {
    const hk_scene *scene;
    const char *scene_path;
    char *why;
    size_t size;
    bool good;
} use_check;

static bool check_use(void *context, const char *path, int number)
{
    use_check *c = context;
    (void)number;
    return c->good = tell_use(path, use_in_scene(path, c->scene, c->scene_path), c->why, c->size);
}

bool cli_numbered_is_good(const cli_numbered *frames, char *const *outputs, int count,
                          const hk_scene *scene, const char *scene_path, char *why, size_t size)
{
    char *first = cli_format("%s_0000%s", frames->stem, frames->ending);
    bool good = cli_can_write(first, why, size);
    for (int i = 0; i < count && good; ++i) {
        int number = outputs[i] ? frame_number(cli_file_name(outputs[i]), frames) : -1;
        if (number < 0 || number >= frames->count || !same_folder(outputs[i], first)) continue;
        snprintf(why, size, "%s is the name of a frame, too: call one of them otherwise",
                 outputs[i]);
        good = false;
    }
    free(first);
    use_check check = {scene, scene_path, why, size, good};
    if (good) visit_numbered(frames, check_use, &check);
    return check.good;
}

typedef struct census {
    int from, count, lowest, highest;
} census;

static bool count_file(void *context, const char *path, int number)
{
    census *c = context;
    (void)path;
    if (number < c->from) return true;
    c->lowest = c->count == 0 || number < c->lowest ? number : c->lowest;
    c->highest = c->count == 0 || number > c->highest ? number : c->highest;
    ++c->count;
    return true;
}

int cli_numbered_there(const cli_numbered *frames, int from, int *lowest, int *highest)
{
    census all = {.from = from};
    visit_numbered(frames, count_file, &all);
    *lowest = all.lowest;
    *highest = all.highest;
    return all.count;
}
