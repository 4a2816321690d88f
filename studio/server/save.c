// What is open, saved as a scene in the uploads: with its edits, of a design in its rest shape.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "simulation.h"

static char *plain_name(const char *name)
{
    char *plain = st_format("%.60s", name);
    for (char *c = plain; *c; ++c)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_') *c = '_';
    if (plain[0] == '\0' || plain[0] == '_') {
        free(plain);
        return st_copy("scene");
    }
    return plain;
}

// Files are named relative to the folder of the scene: those of another folder by their whole
// paths.
static void name_files(const char *folder, json_t *value)
{
    const char *key;
    json_t *child;
    size_t i;
    json_array_foreach(value, i, child) name_files(folder, child);
    if (!json_is_object(value)) return;
    json_object_foreach(value, key, child)
    {
        const char *file = json_string_value(child);
        bool is_file = strcmp(key, "file") == 0 || strcmp(key, "state") == 0;
        if (file && is_file && file[0] != '/') {
            char *path = st_format("%s/%s", folder, file);
            json_string_set(child, path);
            free(path);
        } else {
            name_files(folder, child);
        }
    }
}

bool st_save_scene(st_session *s, const json_t *message, json_t **answer, st_why *why)
{
    const char *asked = st_read_text(message, "name"), *folder = s->files->folder[ST_UPLOADS];
    char *title = st_scene_title(s->scene.name), *stem = plain_name(asked ? asked : title);
    char *file = st_format("%s.json", stem), *path = st_files_upload(s->files, file, why);
    bool design = s->mode == &st_design_mode;
    json_t *scene = !path    ? NULL
                    : design ? st_design_scene(s, stem, why)
                             : st_edits_scene(&s->edits, why);
    bool elsewhere = strcmp(s->scene.folder, folder) != 0;
    json_t *bodies = json_object_get(scene, "bodies");
    // The meshes of a design are new, and beside the scene.
    for (size_t b = 0; b < json_array_size(bodies) && elsewhere; ++b) {
        json_t *body = json_array_get(bodies, b);
        name_files(s->scene.folder, design ? json_object_get(body, "initial") : body);
    }
    if (scene && elsewhere) name_files(s->scene.folder, json_object_get(scene, "obstacles"));
    char *text = scene ? json_dumps(scene, JSON_INDENT(2)) : NULL;
    bool good = text && (hk_file_save(path, text, strlen(text)) == HK_OK || st_fail_library(why));
    if (good) {
        char *name = st_format("%s/%s", st_root_name(ST_UPLOADS), file);
        *answer = json_pack("{s:s}", "scene", name);
        free(name);
    }
    free(text);
    json_decref(scene);
    free(path);
    free(file);
    free(stem);
    free(title);
    return good;
}
