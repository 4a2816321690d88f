// What was changed of a scene since it was opened. Every edit goes to the world at once; here it is
// kept, so that a new world (after a reset, in another mode) begins with it, and so that it can be
// written into a scene file.
#ifndef STUDIO_EDITS_H
#define STUDIO_EDITS_H

#include "scene.h"

enum { ST_MAX_OPTIONS = 32, ST_MAX_REGIONS = 256, ST_MAX_LOADS = 64 };

typedef struct st_solver {  // names and words are the library's
    hk_solver_def def;
    hk_option options[ST_MAX_OPTIONS];
} st_solver;

typedef struct st_region {
    hk_material_def material;
    hk_selector select;  // the scene's, or of `vertices`
    int32_t *vertices;   // of the body; NULL: it is the scene's
    const char *name;    // of a rigid part; NULL: it has none
    bool rigid;
} st_region;

typedef struct st_load {
    hk_load_def def;    // the scene's, or of `vertices`
    int32_t *vertices;  // of the body; NULL: it is the scene's
} st_load;

typedef enum st_hold { ST_HOLD_AS_IT_IS = 0, ST_HOLD_FIXED, ST_HOLD_FREED } st_hold;

typedef struct st_body_edits {
    const hk_body_def *def;
    int vertex_count;
    hk_material_def material;
    bool material_changed, regions_changed, loads_changed, holds_changed;
    st_region *regions;  // those of the scene first
    int region_count;
    st_load *loads;
    int load_count;
    uint8_t *holds;  // [vertex_count] st_hold
} st_body_edits;

typedef struct st_edits {
    const st_scene *scene;
    int body_count;
    st_body_edits *bodies;
    double gravity[3], step;
    hk_damping damping;
    st_solver solver;
    bool gravity_changed, damping_changed, step_changed, solver_changed;
} st_edits;

void st_edits_begin(st_edits *edits, const st_scene *scene);
void st_edits_copy(st_edits *to, const st_edits *from);
void st_edits_free(st_edits *edits);

// ---- materials, methods, selections as messages have them

// Changes what the message has of a material; a new model keeps E, ν and density alone.
bool st_read_material(const json_t *message, hk_material_def *material, st_why *why);
json_t *st_material_json(const hk_material_def *material);
bool st_read_solver(const json_t *message, st_solver *solver, st_why *why);
void st_copy_solver(st_solver *solver, const hk_solver_def *def);
json_t *st_solver_json(const hk_solver_def *def);
hk_solver_def st_solver_def(const st_solver *solver);

// ---- keeping them; vertices are numbers within the body

void st_edits_add_region(st_body_edits *body, const int32_t *vertices, int count,
                         const hk_material_def *material);
void st_edits_add_load(st_body_edits *body, const int32_t *vertices, int count,
                       const hk_load_def *load);
void st_edits_clear_loads(st_body_edits *body);
// Definitions of the loads of a body as they are now, to be freed.
hk_load_def *st_edits_loads(const st_body_edits *body);

// A model of the scene with all edits; without contact for design.
// Whether anything of it tears or is cut.
bool st_edits_tear(const st_edits *edits);
bool st_edits_model(const st_edits *edits, bool contact, hk_model **model, st_why *why);
// The world's definition with all edits but the model.
hk_world_def st_edits_world(const st_edits *edits, int threads);
// The scene's JSON with the edits. NULL: it cannot be told, `why` says why.
json_t *st_edits_scene(const st_edits *edits, st_why *why);

#endif
