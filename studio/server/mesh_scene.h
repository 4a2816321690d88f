// A scene for a mesh that nobody has said anything of: units, filling, material, what holds it.
#ifndef STUDIO_MESH_SCENE_H
#define STUDIO_MESH_SCENE_H

#include "util.h"

typedef struct st_mesh_scene {
    json_t *report, *notes;
    bool has_scene;
} st_mesh_scene;
// Reads the mesh and writes a scene beside it, where it can be simulated.
bool st_mesh_scene_make(const char *mesh, const char *scene, st_mesh_scene *made, st_why *why);

#endif
