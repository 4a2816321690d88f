// A ball in a scripted hand is pressed into a soft block, drawn across it and lifted: the force
// that the hand feels, a thousand times a second, while the block is simulated in steps of 30 ms.
// With a device the two loops are two threads; here they take turns, so that every run is the same.
#include <hooke/hooke.h>
#include <math.h>
#include <stdio.h>

enum { CALLS = 3000, PER_STEP = 30 };
#define SERVO 1e-3  // s

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, hk_error());
    return 1;
}

static hk_status make_model(hk_model **model)
{
    hk_mesh_def shape = hk_default_mesh_def(HK_SHAPE_BOX);
    shape.size[0] = shape.size[2] = 0.1;
    shape.size[1] = 0.06;
    shape.cells[0] = shape.cells[2] = 10;
    shape.cells[1] = 6;
    hk_mesh *mesh = NULL;
    hk_status status = hk_mesh_make(&shape, &mesh);
    if (status != HK_OK) return status;
    hk_selector foot = {.kind = HK_SELECT_BOX, .box = {{-1, -1, -1}, {1, 1e-6, 1}}};
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material.model = "stvk";
    body.material.young = 5e4;
    body.material.poisson = 0.4;
    body.fixes = &foot;
    body.fix_count = 1;
    hk_obstacle_def ball = hk_default_obstacle_def();
    ball.name = "ball";
    ball.shape = HK_OBSTACLE_SPHERE;
    ball.center[0] = ball.center[2] = 0.05;
    ball.center[1] = 0.092;
    ball.radius = 0.03;
    hk_contact_def contact = hk_default_contact_def();
    contact.law = "spring_damper";
    contact.normal_stiffness = 1e3;
    contact.normal_damping = 10;
    contact.drag = 1e3;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.obstacles = &ball;
    def.obstacle_count = 1;
    def.contact = &contact;
    status = hk_model_create(&def, model);
    hk_mesh_free(mesh);
    return status;
}

// Down in a second, across in the next, up in the third.
static void move_hand(double t, const hk_tool_pose *start, hk_tool_pose *hand)
{
    *hand = *start;
    hand->position[1] -= 0.025 * (t < 1 ? t : t < 2 ? 1 : 3 - t);
    if (t > 1 && t < 2) hand->position[0] += 0.01 * sin(6.283185307 * (t - 1));
}

int main(void)
{
    hk_model *model = NULL;
    hk_world *world = NULL;
    hk_tool *tool = NULL;
    if (make_model(&model) != HK_OK) return fail("model");
    hk_world_def def = hk_default_world_def();
    def.model = model;
    def.step = PER_STEP * SERVO;
    // The block follows the ball when that goes up; a hand feels forces best that are not
    // corrected.
    hk_option options[] = {{.name = "contact_passes", .number = 3},
                           {.name = "correction_velocity", .number = 0}};
    def.solver.method = "linear_implicit";
    def.solver.iterations = 300;
    def.solver.options = options;
    def.solver.option_count = 2;
    if (hk_world_create(&def, &world) != HK_OK) return fail("world");
    hk_tool_def tool_def = hk_default_tool_def();
    tool_def.obstacle = "ball";
    if (hk_tool_create(world, &tool_def, &tool) != HK_OK) return fail("tool");

    hk_tool_pose start, hand;
    if (hk_tool_where(tool, &start) != HK_OK) return fail("tool");
    printf("   time      force upon the hand, N\n");
    for (int k = 0; k < CALLS; k++) {
        double force[3], torque[3];
        if (k % PER_STEP == 0 && hk_tool_step(tool, NULL) != HK_OK) return fail("step");
        move_hand(k * SERVO, &start, &hand);
        if (hk_tool_servo(tool, &hand, SERVO, force, torque) != HK_OK) return fail("servo");
        if (k % 250 == 249)
            printf("%5.2f s  %8.3f %8.3f %8.3f\n", (k + 1) * SERVO, force[0], force[1], force[2]);
    }
    hk_tool_free(tool);
    hk_world_free(world);
    hk_model_free(model);
    return 0;
}
