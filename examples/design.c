// An interactive design session as a script. A figure stands on its feet; its head is dragged
// sideways while a preview shows both shapes, the rest shape is refined in the background, the edit
// is undone and redone, then the rest shape is edited and the loaded one follows. The surface to
// print goes to design.stl.
#include <hooke/hooke.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FRAMES = 30 };

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, hk_error());
    return 1;
}

static double milliseconds(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void tell(hk_design *design, const char *when)
{
    hk_design_view view = {0};  // the state alone: no arrays
    hk_design_snapshot(design, &view);
    printf("%-28s %-9s", when, hk_design_state_name(view.state));
    if (view.state == HK_DESIGN_CONVERGED)
        printf(" sags by %.1f mm, stretches up to %.2f; refined in %.0f ms", 1e3 * view.sag,
               view.greatest_stretch, view.refine_ms);
    if (view.state == HK_DESIGN_FAILED) printf(" %s", view.detail);
    printf("\n");
}

// The vertices above a height, as one region.
static int grab_above(hk_design *design, const hk_mesh *mesh, double height, hk_design_side side,
                      double centre[3])
{
    int n = hk_mesh_vertex_count(mesh), handle = -1;
    const double *x = hk_mesh_positions(mesh);
    int32_t *vertices = malloc(sizeof *vertices * (size_t)n);
    hk_handle_def def = hk_default_handle_def();
    centre[0] = centre[1] = centre[2] = 0;
    for (int v = 0; v < n; v++)
        if (x[3 * v + 1] > height) {
            vertices[def.count++] = v;
            for (int i = 0; i < 3; i++) centre[i] += x[3 * v + i];
        }
    for (int i = 0; i < 3; i++) centre[i] /= def.count;
    def.side = side;
    def.vertices = vertices;
    if (hk_design_grab(design, &def, &handle) != HK_OK) handle = -1;
    free(vertices);
    return handle;
}

// Sixty times a second: the mouse moved, and a frame is shown.
static int drag(hk_design *design, int handle, const double from[3], double aside)
{
    double worst = 0, sum = 0;
    for (int frame = 1; frame <= FRAMES; frame++) {
        double start = milliseconds(), part = (double)frame / FRAMES;
        double target[3] = {from[0] + part * aside, from[1], from[2]};
        if (hk_design_drag(design, handle, target) != HK_OK) return fail("drag");
        if (hk_design_preview(design) != HK_OK) return fail("preview");
        double took = milliseconds() - start;
        worst = fmax(worst, took);
        sum += took;
    }
    printf("%d frames: %.2f ms on average, %.2f ms at most\n", FRAMES, sum / FRAMES, worst);
    return 0;
}

static int write_stl(hk_design *design, hk_mesh *mesh)
{
    hk_design_view view = {0};
    view.rest = malloc(3 * sizeof(double) * (size_t)hk_design_vertex_count(design));
    hk_status status = hk_design_snapshot(design, &view);
    if (status == HK_OK) status = hk_mesh_set_positions(mesh, view.rest);
    if (status == HK_OK) status = hk_mesh_save(mesh, "design.stl", NULL, 0);
    free(view.rest);
    if (status != HK_OK) return fail("design.stl");
    printf("wrote design.stl, the rest shape\n");
    return 0;
}

static hk_model *make_model(const hk_mesh *mesh)
{
    hk_selector feet = {.kind = HK_SELECT_BOX, .box = {{-9, -1, -9}, {9, 0.02, 9}}};
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material.young = 3e5;
    body.fixes = &feet;
    body.fix_count = 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    hk_model *model = NULL;
    return hk_model_create(&def, &model) == HK_OK ? model : NULL;
}

static int session(hk_design *design, hk_mesh *mesh)
{
    double centre[3];
    tell(design, "created:");
    if (hk_design_wait(design, -1, NULL) != HK_OK) return fail("wait");
    tell(design, "its rest shape:");

    int handle = grab_above(design, mesh, 0.26, HK_LOADED_SHAPE, centre);
    if (handle < 0) return fail("grab");
    if (drag(design, handle, centre, 0.04) != 0) return 1;
    tell(design, "dragged:");
    if (hk_design_wait(design, -1, NULL) != HK_OK) return fail("wait");
    tell(design, "and refined:");
    if (hk_design_release(design, handle) != HK_OK) return fail("release");

    printf("undo \"%s\"\n", hk_design_undo_name(design));
    if (hk_design_undo(design) != HK_OK) return fail("undo");
    tell(design, "undone:");
    if (hk_design_redo(design) != HK_OK) return fail("redo");
    if (hk_design_wait(design, -1, NULL) != HK_OK) return fail("wait");
    tell(design, "redone:");

    // Now the rest shape is given, and the loaded one follows.
    handle = grab_above(design, mesh, 0.26, HK_REST_SHAPE, centre);
    if (handle < 0) return fail("grab");
    if (drag(design, handle, centre, -0.02) != 0) return 1;
    if (hk_design_wait(design, -1, NULL) != HK_OK) return fail("wait");
    tell(design, "rest shape edited:");
    return write_stl(design, mesh);
}

int main(void)
{
    hk_mesh_def shape = hk_default_mesh_def(HK_SHAPE_FIGURE);
    shape.height = 0.3;
    shape.cells[0] = 24;
    hk_mesh *mesh = NULL;
    if (hk_mesh_make(&shape, &mesh) != HK_OK) return fail("mesh");
    hk_model *model = make_model(mesh);
    if (!model) return fail("model");
    hk_design_def def = hk_default_design_def();
    def.model = model;
    hk_design *design = NULL;
    if (hk_design_create(&def, &design) != HK_OK) return fail("design");
    hk_model_free(model);
    int result = session(design, mesh);
    hk_design_free(design);
    hk_mesh_free(mesh);
    return result;
}
