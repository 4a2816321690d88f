// Where scene files are left out (HOOKE_SCENES=OFF): there is never a scene.
#include "core/base.h"

#ifndef HOOKE_SCENES

static hk_status refuse(void)
{
    return hk_fail(HK_UNSUPPORTED,
                   "this build has no scene files (it was configured with HOOKE_SCENES=OFF)");
}

hk_status hk_scene_load(const char *path, const char *const *sets, int set_count, hk_scene **scene)
{
    (void)path;
    (void)sets;
    (void)set_count;
    (void)scene;
    return refuse();
}

hk_status hk_scene_parse(const char *text, size_t length, const char *name, const char *const *sets,
                         int set_count, hk_scene **scene)
{
    (void)text;
    (void)length;
    (void)name;
    (void)sets;
    (void)set_count;
    (void)scene;
    return refuse();
}

void hk_scene_free(hk_scene *scene)
{
    (void)scene;
}

const hk_model_def *hk_scene_model(const hk_scene *scene)
{
    (void)scene;
    return NULL;
}

const hk_world_def *hk_scene_world(const hk_scene *scene)
{
    (void)scene;
    return NULL;
}

const hk_output_def *hk_scene_output(const hk_scene *scene)
{
    (void)scene;
    return NULL;
}

int hk_scene_steps(const hk_scene *scene)
{
    (void)scene;
    return 0;
}

#endif
