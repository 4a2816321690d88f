/* Scene files. A part of hooke.h, which includes it. */
#ifndef HOOKE_SCENE_H
#define HOOKE_SCENE_H

#include <hooke/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- scenes */

#define HK_SCENE_VERSION 1 /* of scene files, which may say it: "version"; newer are refused */

typedef struct hk_scene hk_scene;

typedef struct hk_output_def {
    double every;       /* s between frames; 0: every step */
    const char *vtu;    /* path of a .pvd or NULL */
    const char *points; /* prefix of the .csv files or NULL */
    const char *stats;  /* path of a .json or NULL */
    const char *skin;   /* path of surfaces, cow.obj for cow_0000.obj, cow_0001.obj, …, or NULL */
    const struct hk_probe_def *probes;
    int probe_count;
    const char *probe_file;    /* path of a .csv with a row per time, or NULL */
    const char *reactions;     /* the same of the forces that fixes and moves exert, or NULL */
    const char *const *fields; /* that .vtu files have besides, see hk_world_save_fields */
    int field_count;
} hk_output_def;
typedef struct hk_probe_def { /* only the library makes them */
    const char *name;
    const char *body; /* its name; NULL: the first */
    double at[3];     /* m, at rest */
} hk_probe_def;

/* `sets` are "path=value" overrides, as on the command line. Paths of meshes are relative to the
 * scene file (to the working directory for hk_scene_parse). */
HK_API hk_status hk_scene_load(const char *path, const char *const *sets, int set_count,
                               hk_scene **scene);
HK_API hk_status hk_scene_parse(const char *text, size_t length, const char *name,
                                const char *const *sets, int set_count, hk_scene **scene);
HK_API void hk_scene_free(hk_scene *scene);
/* These live as long as the scene. */
HK_API const hk_model_def *hk_scene_model(const hk_scene *scene);
/* Its model is NULL: take a copy (hk_copy_world_def) and set it. */
HK_API const hk_world_def *hk_scene_world(const hk_scene *scene);
HK_API const hk_output_def *hk_scene_output(const hk_scene *scene);
HK_API int hk_scene_steps(const hk_scene *scene); /* from "steps" or "end" */

#ifdef __cplusplus
}
#endif
#endif
