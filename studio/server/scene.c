#include "scene.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server.h"

enum { MAX_TETS = 4000000 };

// The library reads files of a text relative to the working directory, which the process has but
// one of.
static pthread_mutex_t directory = PTHREAD_MUTEX_INITIALIZER;

void st_scene_enter(const st_scene *scene)
{
    pthread_mutex_lock(&directory);
    if (chdir(scene->folder) != 0) return;  // then files are not found, which is told
}

void st_scene_leave(void)
{
    if (chdir("/") != 0) abort();
    pthread_mutex_unlock(&directory);
}

char *st_scene_title(const char *name)
{
    const char *slash = strrchr(name, '/'), *from = slash ? slash + 1 : name;
    const char *dot = strrchr(from, '.');
    return st_format("%.*s", dot ? (int)(dot - from) : (int)strlen(from), from);
}

static bool is_small_enough(const hk_scene *scene, st_why *why)
{
    const hk_model_def *model = hk_scene_model(scene);
    int64_t tets = 0;
    for (int b = 0; b < model->body_count; ++b) {
        const hk_body_def *body = hk_def_at(model->bodies, b);
        tets += hk_mesh_tet_count(body->mesh);
    }
    if (tets <= MAX_TETS) return true;
    return st_fail_http(why, 413, "the scene has %lld tets; the studio takes %d at most",
                        (long long)tets, MAX_TETS);
}

static json_t *mesh_notes(const hk_scene *scene)
{
    json_t *notes = json_array();
    const hk_model_def *model = hk_scene_model(scene);
    for (int b = 0; b < model->body_count; ++b) {
        const hk_body_def *body = hk_def_at(model->bodies, b);
        for (int i = 0; i < hk_mesh_note_count(body->mesh); ++i)
            json_array_append_new(notes, st_json_text(hk_mesh_note(body->mesh, i)));
    }
    return notes;
}

bool st_scene_read(const st_files *files, const char *name, const char *text, size_t length,
                   st_scene *scene, st_why *why)
{
    st_root root;
    *scene = (st_scene){.name = NULL};
    char *path = st_files_find(files, name, true, &root, why);
    if (!path) return false;
    scene->folder = st_folder_of(path);
    free(path);
    scene->name = st_copy(name);
    scene->text = st_alloc(length + 1, 1);
    memcpy(scene->text, text, length);
    scene->length = length;
    scene->writable = st_files_writable(root);
    bool good = st_files_check_scene(files, text, length, scene->folder, why);
    if (good) {
        char *title = st_scene_title(name);
        st_scene_enter(scene);
        good = hk_scene_parse(text, length, title, NULL, 0, &scene->def) == HK_OK ||
               st_fail_library(why);
        st_scene_leave();
        free(title);
    }
    good = good && is_small_enough(scene->def, why);
    if (good)
        scene->notes = mesh_notes(scene->def);
    else
        st_scene_free(scene);
    return good;
}

bool st_scene_load(const st_files *files, const char *name, st_scene *scene, st_why *why)
{
    size_t size;
    *scene = (st_scene){.name = NULL};
    char *path = st_files_find(files, name, false, NULL, why);
    char *text = path ? st_file_read(path, ST_MAX_SCENE, &size, why) : NULL;
    bool good = text && st_scene_read(files, name, text, size, scene, why);
    free(text);
    free(path);
    return good;
}

void st_scene_free(st_scene *scene)
{
    free(scene->name);
    free(scene->folder);
    free(scene->text);
    hk_scene_free(scene->def);
    json_decref(scene->notes);
    *scene = (st_scene){.name = NULL};
}
