// A mesh file that was dropped on the page: stored, looked at, and made into a scene.
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mesh_scene.h"
#include "server.h"

enum { MOST_NAME = 80, MOST_TRIES = 1000 };
#define MOST_STORED (2.0 * 1024 * 1024 * 1024)  // bytes in the folder

// ---------------------------------------------------------------- names

static const char *ending_of(const char *name)
{
    for (int i = 0; i < hk_mesh_format_count(); ++i) {
        hk_mesh_format format = hk_mesh_format_at(i);
        size_t length = strlen(name), ending = strlen(format.ending);
        if (format.reads && length > ending &&
            strcasecmp(name + length - ending, format.ending) == 0)
            return format.ending;
    }
    return NULL;
}

// "my cow (1).OBJ" → "my_cow_1_": what is safe as a file's name anywhere.
static char *plain_stem(const char *name, const char *ending)
{
    const char *slash = strrchr(name, '/'), *from = slash ? slash + 1 : name;
    size_t length = strlen(from) - strlen(ending);
    if (length > MOST_NAME) length = MOST_NAME;
    char *stem = st_format("%.*s", (int)length, from);
    for (char *c = stem; *c; ++c)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_') *c = '_';
    if (stem[0] == '_' || stem[0] == '-') stem[0] = 'm';  // no option of a program
    if (stem[0]) return stem;
    free(stem);
    return st_copy("mesh");
}

static bool exists(const char *folder, const char *stem, const char *ending)
{
    struct stat about;
    char *path = st_format("%s/%s%s", folder, stem, ending);
    bool there = lstat(path, &about) == 0;
    free(path);
    return there;
}

static bool is_tetgen(const char *ending)
{
    return strcmp(ending, ".node") == 0 || strcmp(ending, ".ele") == 0;
}

// A stem under which neither the mesh nor a scene is there yet.
static char *free_stem(const char *folder, const char *stem, const char *ending)
{
    for (int k = 1; k <= MOST_TRIES; ++k) {
        char *tried = k == 1 ? st_copy(stem) : st_format("%s-%d", stem, k);
        if (!exists(folder, tried, ending) && !exists(folder, tried, ".json")) return tried;
        free(tried);
    }
    return NULL;
}

static double stored_bytes(const char *folder)
{
    DIR *list = opendir(folder);
    double sum = 0;
    for (struct dirent *entry; list && (entry = readdir(list));) {
        struct stat about;
        if (fstatat(dirfd(list), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(about.st_mode))
            sum += (double)about.st_size;
    }
    if (list) closedir(list);
    return sum;
}

// ---------------------------------------------------------------- the answer

static void answer(st_reply *reply, const char *folder, const char *stem, const char *ending)
{
    st_why why;
    st_mesh_scene made = {.notes = NULL};
    const char *other = strcmp(ending, ".node") == 0 ? ".ele" : ".node";
    bool waits = is_tetgen(ending) && !exists(folder, stem, other);
    char *path = st_format("%s/%s%s", folder, stem, ending);
    char *scene = st_format("%s/%s.json", folder, stem);
    char *mesh_name = st_format("uploads/%s%s", stem, ending);
    char *scene_name = st_format("uploads/%s.json", stem), *waited = st_format("%s%s", stem, other);
    if (waits) {
        st_reply_json(reply, 200,
                      json_pack("{s:b, s:s, s:n, s:s, s:[]}", "ok", 1, "mesh", mesh_name, "scene",
                                "waits_for", waited, "notes"));
    } else if (!st_mesh_scene_make(path, scene, &made, &why)) {
        unlink(path);  // what cannot be read is not kept
        st_reply_error(reply, &why);
    } else {
        json_t *object = json_pack("{s:b, s:s, s:o, s:o}", "ok", 1, "mesh", mesh_name, "report",
                                   made.report, "notes", made.notes);
        json_object_set_new(object, "scene",
                            made.has_scene ? json_string(scene_name) : json_null());
        st_reply_json(reply, 200, object);
    }
    free(waited);
    free(scene_name);
    free(mesh_name);
    free(scene);
    free(path);
}

static bool fail_ending(st_why *why)
{
    char known[256] = "";
    for (int i = 0; i < hk_mesh_format_count(); ++i) {
        hk_mesh_format format = hk_mesh_format_at(i);
        size_t length = strlen(known);
        if (format.reads)
            snprintf(known + length, sizeof known - length, "%s%s", length ? ", " : "",
                     format.ending);
    }
    return st_fail(why, "this is no file of a mesh that can be read: they end in %s", known);
}

void st_post_upload(const st_request *request, st_reply *reply)
{
    char name[512];
    st_why why = {.line = 0};
    const char *folder = request->server->files.folder[ST_UPLOADS];
    st_request_value(request, "name", name, sizeof name);
    const char *ending = ending_of(name);
    bool good = ending || fail_ending(&why);
    if (good && stored_bytes(folder) + (double)request->length > MOST_STORED)
        good = st_fail_http(&why, 507, "the folder for uploads is full: %s", folder);
    char *plain = good ? plain_stem(name, ending) : NULL;
    const char *other = good && strcmp(ending, ".node") == 0 ? ".ele" : ".node";
    // The second of a pair goes beside the first.
    bool pair =
        good && is_tetgen(ending) && exists(folder, plain, other) && !exists(folder, plain, ending);
    char *stem = pair ? st_copy(plain) : good ? free_stem(folder, plain, ending) : NULL;
    if (good && !stem) good = st_fail(&why, "there are too many files of that name");
    char *path = good ? st_format("%s/%s%s", folder, stem, ending) : NULL;
    good = good && st_request_store(request, path, ST_MAX_UPLOAD, &why);
    if (good)
        answer(reply, folder, stem, ending);
    else
        st_reply_error(reply, &why);
    free(path);
    free(stem);
    free(plain);
}
