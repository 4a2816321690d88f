// The steps of a scene with a point of a triangle pulled, through the C API: what the test of the
// page holds a drag to.
//   grab SCENE STEPS OUT.csv V0 V1 V2 W0 W1 W2 STIFFNESS X Y Z
#include <hooke/hooke.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, hk_error());
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 14) return 2;
    hk_scene *scene = NULL;
    if (hk_scene_load(argv[1], NULL, 0, &scene) != HK_OK) return fail("scene");
    hk_model *model = NULL;
    if (hk_model_create(hk_scene_model(scene), &model) != HK_OK) return fail("model");
    hk_world_def world_def = *hk_scene_world(scene);
    world_def.model = model;
    hk_world *world = NULL;
    if (hk_world_create(&world_def, &world) != HK_OK) return fail("world");
    hk_model_free(model);
    hk_grab_def def = hk_default_grab_def();
    def.count = 3;
    for (int i = 0; i < 3; ++i) {
        def.vertices[i] = atoi(argv[4 + i]);
        def.weights[i] = atof(argv[7 + i]);
        def.target[i] = atof(argv[11 + i]);
    }
    def.stiffness = atof(argv[10]);
    int grab;
    if (hk_world_grab(world, &def, &grab) != HK_OK) return fail("grab");
    for (int step = 0; step < atoi(argv[2]); ++step)
        if (hk_world_step(world, NULL) != HK_OK) return fail("step");
    if (hk_world_save_points(world, argv[3]) != HK_OK) return fail("points");
    hk_world_free(world);
    hk_scene_free(scene);
    return 0;
}
