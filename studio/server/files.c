#include "files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *st_root_name(st_root root)
{
    static const char *const names[ST_ROOT_COUNT] = {"scenes", "here", "uploads"};
    return names[root];
}

bool st_files_writable(st_root root)
{
    return root != ST_SCENES;
}

char *st_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return st_copy(".");
    if (slash == path) return st_copy("/");
    return st_format("%.*s", (int)(slash - path), path);
}

// ---------------------------------------------------------------- finding the folders

static char *real_folder(const char *path)
{
    char *real = path ? realpath(path, NULL) : NULL;
    struct stat about;
    if (real && stat(real, &about) == 0 && S_ISDIR(about.st_mode)) return real;
    free(real);
    return NULL;
}

// Beside the program: as it is installed, or as it is built.
static char *find_beside(const char *const *places, int count)
{
    char program[PATH_MAX], *found = NULL;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0) return NULL;
    program[length] = '\0';
    char *folder = st_folder_of(program);
    for (int i = 0; i < count && !found; ++i) {
        char *path = st_format("%s/%s", folder, places[i]);
        found = real_folder(path);
        free(path);
    }
    free(folder);
    return found;
}

static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    mkdir(path, 0700);
}

static char *user_folder(void)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data && data[0] == '/') return st_format("%s/hooke/studio", data);
    if (home && home[0] == '/') return st_format("%s/.local/share/hooke/studio", home);
    return st_format("/tmp/hooke-studio-%d", (int)getuid());
}

bool st_files_open(st_files *files, const char *scenes, const char *here, const char *uploads,
                   const char *page, st_why *why)
{
    static const char *const scene_places[] = {"../share/hooke/scenes", "../scenes"};
    static const char *const page_places[] = {"../share/hooke/studio", "studio-page",
                                              "../studio/dist"};
    *files = (st_files){.page = NULL};
    files->folder[ST_SCENES] = scenes ? real_folder(scenes) : find_beside(scene_places, 2);
    files->folder[ST_HERE] = real_folder(here);
    files->page = page ? real_folder(page) : find_beside(page_places, 3);
    char *path = uploads ? st_copy(uploads) : user_folder();
    make_folders(path);
    files->folder[ST_UPLOADS] = real_folder(path);
    bool good = files->folder[ST_UPLOADS] && access(files->folder[ST_UPLOADS], W_OK) == 0;
    if (!good) st_fail(why, "cannot write into the folder for uploads, %s", path);
    if (good && page && !files->page) good = st_fail(why, "there is no folder %s", page);
    if (good && scenes && !files->folder[ST_SCENES])
        good = st_fail(why, "there is no folder %s", scenes);
    free(path);
    return good;
}

void st_files_close(st_files *files)
{
    for (int i = 0; i < ST_ROOT_COUNT; ++i) free(files->folder[i]);
    free(files->page);
    *files = (st_files){.page = NULL};
}

// ---------------------------------------------------------------- names and paths

static bool lies_in(const char *path, const char *folder)
{
    size_t length = folder ? strlen(folder) : 0;
    if (length == 1) return true;  // the root of all
    return folder && strncmp(path, folder, length) == 0 && path[length] == '/';
}

// The real path of a file that need not be there, but for its folder.
static char *real_path(const char *path, bool may_be_new)
{
    char *real = realpath(path, NULL);
    struct stat about;
    if (real || !may_be_new || errno != ENOENT) return real;
    if (lstat(path, &about) == 0) return NULL;  // a link that leads nowhere
    char *folder = st_folder_of(path), *parent = realpath(folder, NULL);
    const char *slash = strrchr(path, '/');
    if (parent) real = st_format("%s/%s", parent, slash ? slash + 1 : path);
    free(folder);
    free(parent);
    return real;
}

static bool is_plain_name(const char *name)
{
    if (name[0] == '\0' || strlen(name) > 1000) return false;
    for (const char *part = name; part; part = strchr(part, '/')) {
        if (*part == '/') ++part;
        size_t length = strcspn(part, "/");
        if (length == 0 || part[0] == '.') return false;
    }
    for (const unsigned char *c = (const unsigned char *)name; *c; ++c)
        if (*c < 0x20 || *c == '\\' || *c == 0x7f) return false;
    return true;
}

char *st_files_find(const st_files *files, const char *name, bool may_be_new, st_root *root,
                    st_why *why)
{
    if (!name || !is_plain_name(name)) {
        st_fail_http(why, 404, "there is no file of that name");
        return NULL;
    }
    for (int i = 0; i < ST_ROOT_COUNT; ++i) {
        const char *word = st_root_name(i);
        size_t length = strlen(word);
        if (!files->folder[i] || strncmp(name, word, length) != 0 || name[length] != '/') continue;
        char *path = st_format("%s/%s", files->folder[i], name + length + 1);
        char *real = real_path(path, may_be_new);
        free(path);
        if (real && lies_in(real, files->folder[i])) {
            if (root) *root = i;
            return real;
        }
        bool leads_out = real != NULL;
        free(real);
        if (leads_out)
            st_fail_http(why, 403, "%s leads out of its folder", name);
        else
            st_fail_http(why, 404, "there is no file %s", name);
        return NULL;
    }
    st_fail_http(why, 404, "there is no file %s", name);
    return NULL;
}

char *st_files_upload(const st_files *files, const char *file, st_why *why)
{
    char *name = st_format("%s/%s", st_root_name(ST_UPLOADS), file);
    char *path = st_files_find(files, name, true, NULL, why);
    free(name);
    return path;
}

char *st_files_name(const st_files *files, const char *path)
{
    char *real = realpath(path, NULL), *name = NULL;
    static const st_root order[] = {ST_HERE, ST_SCENES, ST_UPLOADS};
    for (int i = 0; real && i < ST_ROOT_COUNT && !name; ++i) {
        const char *folder = files->folder[order[i]];
        if (lies_in(real, folder))
            name = st_format("%s/%s", st_root_name(order[i]), real + strlen(folder) + 1);
    }
    free(real);
    return name;
}

// ---------------------------------------------------------------- what scenes name

static bool is_allowed(const st_files *files, const char *folder, const char *file, st_why *why)
{
    char *path = file[0] == '/' ? st_copy(file) : st_format("%s/%s", folder, file);
    char *real = real_path(path, true);
    bool good = false;
    for (int i = 0; real && i < ST_ROOT_COUNT; ++i) good = good || lies_in(real, files->folder[i]);
    if (!good && real)
        st_fail_http(why, 403,
                     "%s lies outside of the scene's folder and the uploads: the studio "
                     "does not read it",
                     file);
    else if (!good)
        st_fail(why, "there is no file %s", file);
    free(real);
    free(path);
    return good;
}

// The keys under which scenes name files that are read.
static bool names_file(const char *key)
{
    return strcmp(key, "file") == 0 || strcmp(key, "state") == 0;
}

static bool check_json(const st_files *files, const char *folder, json_t *value, st_why *why)
{
    const char *key;
    json_t *child;
    size_t i;
    if (json_is_array(value)) json_array_foreach(value, i, child)
        {
            if (!check_json(files, folder, child, why)) return false;
        }
    if (!json_is_object(value)) return true;
    json_object_foreach(value, key, child)
    {
        if (json_is_string(child)) {
            const char *file = json_string_value(child);
            if (names_file(key) && !is_allowed(files, folder, file, why)) return false;
        } else if (!check_json(files, folder, child, why)) {
            return false;
        }
    }
    return true;
}

bool st_files_check_scene(const st_files *files, const char *text, size_t length,
                          const char *folder, st_why *why)
{
    json_error_t error;
    json_t *root = json_loadb(text, length, JSON_DECODE_INT_AS_REAL, &error);
    if (!root) {
        st_fail(why, "%s", error.text);
        why->line = error.line;
        why->column = error.column;
        return false;
    }
    bool good = check_json(files, folder, root, why);
    json_decref(root);
    return good;
}

char *st_file_read(const char *path, size_t most, size_t *size, st_why *why)
{
    FILE *file = fopen(path, "rb");
    struct stat about;
    bool plain = file && fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode);
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (!plain || (size_t)about.st_size > most) {
        if (plain)
            st_fail_http(why, 413, "%s is too large", name);
        else
            st_fail_http(why, 404, "cannot read %s", name);
        if (file) fclose(file);
        return NULL;
    }
    char *data = st_alloc((size_t)about.st_size + 1, 1);
    *size = fread(data, 1, (size_t)about.st_size, file);
    data[*size] = '\0';
    fclose(file);
    return data;
}
