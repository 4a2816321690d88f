// The scene that is open: its file, its text, the library's definitions of it.
#ifndef STUDIO_SCENE_H
#define STUDIO_SCENE_H

#include "files.h"

typedef struct st_scene {
    char *name;    // "scenes/beam.json"
    char *folder;  // on disk, what its files are relative to
    char *text;
    size_t length;
    hk_scene *def;
    bool writable;
    json_t *notes;  // what was repaired or left out of meshes, and what the library said
} st_scene;

// Reads a scene's text as if it were the file of that name (which need not be there): checked for
// what it names and what it says. One at a time in the process.
bool st_scene_read(const st_files *files, const char *name, const char *text, size_t length,
                   st_scene *scene, st_why *why);
// The file of that name.
bool st_scene_load(const st_files *files, const char *name, st_scene *scene, st_why *why);
void st_scene_free(st_scene *scene);
// "arch" of "scenes/contact/arch.json"; to be freed.
char *st_scene_title(const char *name);
// Worlds may read files when they are made: relative to the folder of the scene.
void st_scene_enter(const st_scene *scene);
void st_scene_leave(void);

#endif
