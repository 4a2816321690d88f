// The rooms of a scene file. Each reader takes the JSON value that it knows and fills a
// definition; what definitions point to lives in the scene's arena.
#ifndef HK_SCENE_H
#define HK_SCENE_H

#include "scene/node.h"

struct hk_scene {
    hk_arena arena;
    hk_model_def model;
    hk_world_def world;
    hk_output_def output;
    int steps;
    hk_mesh **meshes;  // [mesh_count], in the arena; one a body, or NULL: that of another
    int mesh_count;
};

// A file or a generator. The caller owns the mesh.
hk_status hk_read_mesh(const hk_node *node, hk_mesh **mesh);
hk_status hk_read_material(hk_scene *scene, const hk_node *node, hk_material_def *def);
// Groups and vertex numbers must be those of the mesh.
hk_status hk_read_selector(hk_scene *scene, const hk_mesh *mesh, const hk_node *node,
                           hk_selector *selector);
hk_status hk_read_bodies(hk_scene *scene, const hk_node *node);
hk_status hk_read_solver(hk_scene *scene, const hk_node *node, hk_solver_def *def);

#endif
