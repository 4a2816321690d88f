// A soft creature is taken by the hand and led about for 200 frames: a grab that is moved before
// every step, the force that it takes, and what happens when it lets go.
#include <hooke/hooke.h>
#include <math.h>
#include <stdio.h>

enum { FRAMES = 200, LET_GO = 160 };

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, hk_error());
    return 1;
}

// The outermost triangle of the surface on the side of +x, where the hand is.
static hk_status find_hand(hk_mesh *mesh, hk_grab_def *grab)
{
    int count;
    const int32_t *triangles, *tets;
    hk_status status = hk_mesh_surface(mesh, &count, &triangles, &tets);
    const double *x = hk_mesh_positions(mesh);
    double farthest = -INFINITY;
    for (int k = 0; k < count && status == HK_OK; k++) {
        const int32_t *c = triangles + 3 * k;
        double middle = (x[3 * c[0]] + x[3 * c[1]] + x[3 * c[2]]) / 3;
        if (middle <= farthest) continue;
        farthest = middle;
        grab->count = 3;
        for (int i = 0; i < 3; i++) {
            grab->vertices[i] = c[i];
            grab->weights[i] = 1.0 / 3;
            grab->target[i] = (x[3 * c[0] + i] + x[3 * c[1] + i] + x[3 * c[2] + i]) / 3;
        }
    }
    return status;
}

int main(void)
{
    hk_mesh_def shape = hk_default_mesh_def(HK_SHAPE_FIGURE);
    shape.height = 1;
    shape.cells[0] = 14;
    hk_mesh *mesh = NULL;
    if (hk_mesh_make(&shape, &mesh) != HK_OK) return fail("mesh");
    hk_grab_def grab = hk_default_grab_def();
    if (find_hand(mesh, &grab) != HK_OK) return fail("surface");

    // Its feet are held.
    hk_selector feet = {.kind = HK_SELECT_BOX, .box = {{-9, -1, -9}, {9, 0.06, 9}}};
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material.model = "stable_neo_hookean";
    body.material.young = 3e5;
    body.fixes = &feet;
    body.fix_count = 1;
    hk_model_def model_def = hk_default_model_def();
    model_def.bodies = &body;
    model_def.body_count = 1;
    hk_model *model = NULL;
    if (hk_model_create(&model_def, &model) != HK_OK) return fail("model");
    hk_mesh_free(mesh);

    // An iterative method at a fixed price, and a GPU where there is one.
    hk_world_def world_def = hk_default_world_def();
    world_def.model = model;
    world_def.step = 1 / 60.0;
    world_def.backend = HK_BACKEND_AUTO;
    world_def.solver.method = "descent";
    world_def.solver.iterations = 96;
    hk_world *world = NULL;
    if (hk_world_create(&world_def, &world) != HK_OK) return fail("world");
    hk_model_free(model);  // the world keeps it

    int hand = 0;
    grab.stiffness = 1000;
    if (hk_world_grab(world, &grab, &hand) != HK_OK) return fail("grab");
    const double start[3] = {grab.target[0], grab.target[1], grab.target[2]};
    double most = 0;
    for (int frame = 0; frame < FRAMES; frame++) {
        double angle = 6.283185307179586 * frame / 80, force[3] = {0};
        double target[3] = {start[0] + 0.15 * sin(angle), start[1] + 0.2 * (1 - cos(angle)),
                            start[2] + 0.1 * sin(2 * angle)};
        if (frame < LET_GO && hk_world_move_grab(world, hand, target) != HK_OK) return fail("move");
        if (frame == LET_GO && hk_world_release_grab(world, hand) != HK_OK) return fail("let go");
        hk_step_report report;
        if (hk_world_step(world, &report) != HK_OK) return fail("step");
        if (hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED) {
            fprintf(stderr, "frame %d: %s\n", frame, report.detail);
            return 1;
        }
        if (frame < LET_GO && hk_world_grab_force(world, hand, force) != HK_OK)
            return fail("force");
        double size = sqrt(force[0] * force[0] + force[1] * force[1] + force[2] * force[2]);
        most = fmax(most, size);
        if (frame % 20 == 0)
            printf("frame %3d: the hand is at (%5.2f, %5.2f, %5.2f) m, pulled with %5.1f N\n",
                   frame, hk_world_positions(world)[3 * grab.vertices[0]],
                   hk_world_positions(world)[3 * grab.vertices[0] + 1],
                   hk_world_positions(world)[3 * grab.vertices[0] + 2], size);
    }
    printf("at most %.1f N; then it was let go\n", most);
    if (hk_world_save(world, "drag.vtu") != HK_OK) return fail("save");
    printf("wrote drag.vtu, the last frame\n");
    hk_world_free(world);
    return 0;
}
