// The list of scenes and meshes in the roots.
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "scene.h"
#include "server.h"

enum { MAX_DEPTH = 4, MAX_ENTRIES = 2000, MAX_GALLERY_SCENE = 256 << 10 };

typedef struct gallery {
    const st_files *files;
    json_t *scenes, *meshes;
} gallery;

static bool ends_with(const char *text, const char *ending)
{
    size_t a = strlen(text), b = strlen(ending);
    return a > b && strcmp(text + a - b, ending) == 0;
}

static bool is_mesh(const char *name)
{
    for (int i = 0; i < hk_mesh_format_count(); ++i) {
        hk_mesh_format format = hk_mesh_format_at(i);
        if (format.reads && ends_with(name, format.ending)) return true;
    }
    return false;
}

// "box neo_hookean; newton" and so on: what its first body is, as its JSON says it.
static char *about(const json_t *root)
{
    const json_t *body = json_array_get(json_object_get(root, "bodies"), 0);
    const char *model = st_read_text(json_object_get(body, "material"), "model");
    const char *method = st_read_text(json_object_get(root, "solver"), "method");
    size_t count = json_array_size(json_object_get(root, "bodies"));
    bool contact = json_object_get(root, "contact") || json_object_get(root, "obstacles");
    return st_format("%zu %s, %s, %s%s", count, count == 1 ? "body" : "bodies",
                     model ? model : "neo_hookean", method ? method : "newton",
                     contact ? ", contact" : "");
}

static void add_scene(gallery *g, const char *path, const char *name, const char *group)
{
    st_why why;
    size_t size;
    char *text = st_file_read(path, MAX_GALLERY_SCENE, &size, &why);
    json_t *root = text ? json_loadb(text, size, 0, NULL) : NULL;
    if (json_is_array(json_object_get(root, "bodies"))) {
        char *title = st_scene_title(name), *line = about(root);
        json_array_append_new(g->scenes,
                              json_pack("{s:o, s:o, s:o, s:o}", "path", st_json_text(name), "title",
                                        st_json_text(title), "group", st_json_text(group), "about",
                                        st_json_text(line)));
        free(line);
        free(title);
    }
    json_decref(root);
    free(text);
}

static void add_folder(gallery *g, const char *folder, const char *name, int depth);

static void add_entry(gallery *g, const char *folder, const char *name, const char *entry,
                      int depth)
{
    struct stat kind;
    char *path = st_format("%s/%s", folder, entry), *full = st_format("%s/%s", name, entry);
    if (lstat(path, &kind) == 0) {
        if (S_ISDIR(kind.st_mode) && depth < MAX_DEPTH)
            add_folder(g, path, full, depth + 1);
        else if (S_ISREG(kind.st_mode) && ends_with(entry, ".json"))
            add_scene(g, path, full, name);
        else if (S_ISREG(kind.st_mode) && is_mesh(entry))
            json_array_append_new(g->meshes, json_pack("{s:o}", "path", st_json_text(full)));
    }
    free(path);
    free(full);
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "node_modules") != 0;
}

static void add_folder(gallery *g, const char *folder, const char *name, int depth)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, not_hidden, alphasort);
    for (int i = 0; i < count; ++i) {
        if (json_array_size(g->scenes) + json_array_size(g->meshes) < MAX_ENTRIES)
            add_entry(g, folder, name, entries[i]->d_name, depth);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
}

void st_get_gallery(const st_request *request, st_reply *reply)
{
    const st_files *files = &request->server->files;
    gallery g = {.files = files, .scenes = json_array(), .meshes = json_array()};
    const char *here = files->folder[ST_HERE], *scenes = files->folder[ST_SCENES];
    static const st_root order[] = {ST_HERE, ST_UPLOADS, ST_SCENES};
    for (int i = 0; i < ST_ROOT_COUNT; ++i) {
        const char *folder = files->folder[order[i]];
        bool twice = order[i] == ST_SCENES && here && scenes && strcmp(here, scenes) == 0;
        if (folder && !twice)
            add_folder(&g, folder, st_root_name(order[i]), order[i] == ST_HERE ? 2 : 0);
    }
    st_reply_json(reply, 200,
                  json_pack("{s:o, s:o, s:o}", "scenes", g.scenes, "meshes", g.meshes, "uploads",
                            st_json_text(files->folder[ST_UPLOADS])));
}
