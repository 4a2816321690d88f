// What a model is made of: holds, loads, selections.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "hooke/hooke.h"

// A bar along x: its left end is fixed, the middle plane of its right end moves, a roller holds y
// below, and the top has a pressure.
static hk_model *make_bar(void)
{
    hk_mesh_def shape = hk_default_mesh_def(HK_SHAPE_BOX);
    const double size[3] = {2, 1, 1};
    const int cells[3] = {4, 2, 2};
    memcpy(shape.size, size, sizeof size);
    memcpy(shape.cells, cells, sizeof cells);
    hk_mesh *mesh = NULL;
    assert_int_equal(hk_mesh_make(&shape, &mesh), HK_OK);
    hk_selector fixes[2] = {{.kind = HK_SELECT_BOX, .box = {{-1, -1, -1}, {0, 2, 2}}},
                            {.kind = HK_SELECT_BOX, .box = {{0.9, -1, -1}, {1.1, 0, 2}}}};
    const uint8_t axes[2] = {HK_ALL_AXES, HK_AXIS_Y};
    hk_move_def move = hk_default_move_def();
    move.select = (hk_selector){.kind = HK_SELECT_BOX, .box = {{2, -1, 0.4}, {3, 2, 0.6}}};
    hk_load_def loads[2] = {hk_default_load_def(), hk_default_load_def()};
    loads[0].select = (hk_selector){.kind = HK_SELECT_BOX, .box = {{-1, 1, -1}, {3, 2, 2}}};
    loads[0].pressure = 100;
    loads[1].select =
        (hk_selector){.kind = HK_SELECT_BOX, .box = {{1.4, 0.4, 0.4}, {1.6, 0.6, 0.6}}};
    loads[1].force[2] = 7;
    hk_attach_def attach = hk_default_attach_def();
    attach.select = loads[1].select;
    attach.stiffness = 10;
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.fixes = fixes;
    body.fix_count = 2;
    body.fix_axes = axes;
    body.moves = &move;
    body.move_count = 1;
    body.loads = loads;
    body.load_count = 2;
    body.attachments = &attach;
    body.attachment_count = 1;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    hk_model *model = NULL;
    assert_int_equal(hk_model_create(&def, &model), HK_OK);
    hk_mesh_free(mesh);
    return model;
}

static void test_holds(void **state)
{
    (void)state;
    hk_model *model = make_bar();
    const double *x = hk_model_rest_positions(model);
    uint8_t holds[45];
    assert_int_equal(hk_model_vertex_count(model), 45);
    assert_int_equal(hk_model_holds(model, holds), HK_OK);
    for (int v = 0; v < 45; v++) {
        const double *p = x + 3 * v;
        int expected = p[0] < 0.1                             ? HK_ALL_AXES
                       : p[0] > 1.9 && fabs(p[2] - 0.5) < 0.1 ? HK_MOVED
                       : fabs(p[0] - 1) < 0.1 && p[1] < 0.1   ? HK_AXIS_Y
                       : fabs(p[0] - 1.5) < 0.1 && fabs(p[1] - 0.5) < 0.1 && fabs(p[2] - 0.5) < 0.1
                           ? HK_TIED
                           : 0;
        assert_int_equal(holds[v], expected);
    }
    assert_int_equal(hk_model_holds(NULL, holds), HK_BAD_INPUT);
    assert_int_equal(hk_model_holds(model, NULL), HK_BAD_INPUT);
    hk_model_free(model);
}

static void test_load_forces(void **state)
{
    (void)state;
    hk_model *model = make_bar();
    const double *x = hk_model_rest_positions(model);
    double forces[3 * 45], sum[3] = {0};
    assert_int_equal(hk_model_load_forces(model, forces), HK_OK);
    for (int v = 0; v < 45; v++)
        for (int i = 0; i < 3; i++) {
            sum[i] += forces[3 * v + i];
            if (i == 1 && x[3 * v + 1] < 0.9) assert_true(forces[3 * v + i] == 0);
        }
    assert_float_equal(sum[0], 0, 1e-12);
    assert_float_equal(sum[1], -200, 1e-9);  // 100 Pa on 2 m², downwards
    assert_float_equal(sum[2], 7, 1e-12);
    assert_int_equal(hk_model_load_forces(model, NULL), HK_BAD_INPUT);
    hk_model_free(model);
}

static void test_select(void **state)
{
    (void)state;
    hk_model *model = make_bar();
    hk_selector half = {.kind = HK_SELECT_BOX, .box = {{-1, -1, -1}, {1, 2, 2}}};
    uint8_t vertices[45], tets[1000];
    int tet_count = hk_model_body_tet_count(model, 0), chosen = 0, inside = 0;
    assert_int_equal(tet_count, hk_model_tet_count(model));
    assert_int_equal(hk_model_select(model, 0, &half, vertices, tets), HK_OK);
    for (int v = 0; v < 45; v++) chosen += vertices[v];
    for (int t = 0; t < tet_count; t++) inside += tets[t];
    assert_int_equal(chosen, 27);
    assert_int_equal(2 * inside, tet_count);
    assert_int_equal(hk_model_select(model, 0, &half, NULL, NULL), HK_OK);
    assert_int_equal(hk_model_select(model, 1, &half, vertices, tets), HK_BAD_INPUT);
    assert_int_equal(hk_model_select(model, 0, NULL, vertices, tets), HK_BAD_INPUT);
    assert_int_equal(hk_model_body_tet_count(model, 3), 0);
    assert_int_equal(hk_model_body_tet_count(NULL, 0), 0);
    hk_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_holds),
                                       cmocka_unit_test(test_load_forces),
                                       cmocka_unit_test(test_select)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
