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
    hk_mesh **skins;   // [mesh_count], the same of skins
    hk_mesh **filled;  // [mesh_count], the surfaces that meshes fill, or NULL
    int mesh_count;
    hk_mesh **obstacle_meshes;  // [obstacle_mesh_count], in the arena; NULL: another shape
    int obstacle_mesh_count;
};

// Reads a list of things that are `size` bytes each into the arena; a missing one is none.
typedef hk_status hk_read_item_fn(hk_scene *scene, const hk_mesh *mesh, const hk_node *node,
                                  void *item);
hk_status hk_read_list(hk_scene *scene, const hk_mesh *mesh, const hk_node *node, const char *key,
                       size_t size, hk_read_item_fn *read, void **items, int *count);

// A file, a file that is filled, or a generator. The caller owns the mesh, and the surface that was
// filled, if it is to be the skin; `skin` may be NULL.
hk_status hk_read_mesh(const hk_node *node, hk_mesh **mesh, hk_mesh **skin);
hk_status hk_read_material(hk_scene *scene, const hk_node *node, hk_material_def *def);
// Groups and vertex numbers must be those of the mesh.
hk_status hk_read_selector(hk_scene *scene, const hk_mesh *mesh, const hk_node *node,
                           hk_selector *selector);
hk_status hk_read_bodies(hk_scene *scene, const hk_node *node);

// ---------------------------------------------------------------- places and motion (motion.c)

// "rotate": {"axis", "degrees"} and, where `center` is not NULL, "center"
hk_status hk_read_rotation(const hk_node *node, double axis[3], double *degrees, double *center);
hk_status hk_read_transform(const hk_node *node, hk_transform *transform);
hk_status hk_member_transform(const hk_node *node, hk_transform *transform);
// "rotate", "translate", "over" and "factor"
hk_status hk_read_motion(hk_scene *scene, const hk_node *node, hk_motion_def *motion);
// A function of the time: a formula, or a table [[t, value], …].
hk_status hk_read_factor(hk_scene *scene, const hk_node *node, const char *key, hk_factor_def *to);
// Text that is a formula (contact.c).
hk_status hk_member_formula(hk_scene *scene, const hk_node *node, const char *key, hk_need need,
                            const char **text);

// ---------------------------------------------------------------- springs.c

// When the bodies are known.
hk_status hk_read_springs(hk_scene *scene, const hk_node *root);
hk_status hk_read_seams(hk_scene *scene, const hk_node *root);
// The number of the body that "body" names.
hk_status hk_find_body(const hk_scene *scene, const hk_node *node, int *body);

// ---------------------------------------------------------------- constraints.c

hk_status hk_read_joints(hk_scene *scene, const hk_node *root);
hk_status hk_read_constraints(hk_scene *scene, const hk_node *root);

// ---------------------------------------------------------------- tear.c

// "tear" of a material.
hk_status hk_read_tear(const hk_node *material, hk_material_def *def);
// When the bodies are known.
hk_status hk_read_tearing(hk_scene *scene, const hk_node *root);

// ---------------------------------------------------------------- copies of a body (copies.c)

typedef struct hk_copies {
    int count;
    hk_transform *transforms;  // [count], after that of the body; NULL: the body alone
} hk_copies;
hk_status hk_read_copies(hk_scene *scene, const hk_node *body, hk_copies *copies);
// From the body in bodies[0] to bodies[count]; `node` is the body's.
hk_status hk_make_copies(hk_scene *scene, const hk_node *node, const hk_copies *copies,
                         hk_body_def *bodies);

// ---------------------------------------------------------------- contact (contact.c)

hk_status hk_read_contact(hk_scene *scene, const hk_node *node);
hk_status hk_read_obstacles(hk_scene *scene, const hk_node *node);
// When bodies and obstacles are known: whether "between" names some of them.
hk_status hk_check_contact_names(const hk_scene *scene, const hk_node *contact);
hk_status hk_read_solver(hk_scene *scene, const hk_node *node, hk_solver_def *def);

#endif
