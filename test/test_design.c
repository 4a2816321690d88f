// Interactive design: both directions, edits of all kinds while a refinement runs, undoing, and
// what happens when memory or arguments are bad.
#include <pthread.h>
#include <stdatomic.h>

#include "design_bar.h"

#include "design/design.h"
#include "failing_alloc.h"

enum { ALONG = 12, ACROSS = 2 };

static hk_design *design_of(const hk_model *model, hk_design_side given, int threads)
{
    hk_design_def def = hk_default_design_def();
    def.model = model;
    def.given = given;
    def.threads = threads;
    hk_design *design = NULL;
    CHECK_OK(hk_design_create(&def, &design));
    return design;
}

typedef struct shapes {
    int n;
    double *loaded, *rest;
    hk_design_view view;
} shapes;

static shapes look(hk_design *d)
{
    shapes s = {.n = hk_design_vertex_count(d)};
    s.loaded = calloc(3 * (size_t)s.n, sizeof(double));
    s.rest = calloc(3 * (size_t)s.n, sizeof(double));
    s.view.loaded = s.loaded;
    s.view.rest = s.rest;
    CHECK_OK(hk_design_snapshot(d, &s.view));
    return s;
}

static void drop(shapes *s)
{
    free(s->loaded);
    free(s->rest);
}

static shapes wait_for(hk_design *d, hk_design_state wanted)
{
    hk_design_state state;
    CHECK_OK(hk_design_wait(d, -1, &state));
    shapes s = look(d);
    if (state != wanted || s.view.state != wanted)
        fail_msg("%s, not %s: %s", hk_design_state_name(state), hk_design_state_name(wanted),
                 s.view.detail);
    return s;
}

// The vertices of the free end, or of another slice.
static int slice(const hk_model *m, double from, double to, int32_t *vertices)
{
    int count = 0;
    for (int v = 0; v < m->vertex_count; v++)
        if (m->rest[3 * v] > from && m->rest[3 * v] < to) vertices[count++] = v;
    return count;
}

static int grab_end(hk_design *d, const hk_model *m, hk_design_side side)
{
    int32_t vertices[64];
    hk_handle_def def = hk_default_handle_def();
    def.side = side;
    def.count = slice(m, 0.99, 2, vertices);
    def.vertices = vertices;
    int handle = -1;
    CHECK_OK(hk_design_grab(d, &def, &handle));
    return handle;
}

static void pose_from(const hk_model *m, const double *rest, double *loaded)
{
    hk_model *model;
    CHECK_OK(hk_model_copy(m, &model));
    CHECK_OK(hk_model_set_rest(model, rest));
    hk_world *world = world_of(model, 0.01, 1);
    hk_step_report r;
    CHECK_OK(hk_world_pose(world, &r));
    assert_int_equal(r.reason, HK_CONVERGED);
    memcpy(loaded, hk_world_positions(world), 3 * sizeof(double) * (size_t)m->vertex_count);
    hk_world_free(world);
}

// Both shapes of a snapshot belong together: what hk_rest or a pose finds by itself.
static void check_truth(const hk_model *m, const shapes *s)
{
    double *other;
    if (s->view.given == HK_LOADED_SHAPE) {
        hk_model *model;
        CHECK_OK(hk_model_copy(m, &model));
        CHECK_OK(hk_model_set_rest(model, s->loaded));
        hk_rest_report report;
        other = rest_of(model, NULL, "auto", &report);
        assert_int_equal(report.reason, HK_CONVERGED);
        hk_model_free(model);
    } else {
        other = malloc(3 * sizeof(double) * (size_t)s->n);
        pose_from(m, s->rest, other);
    }
    double off = farthest(other, s->view.given == HK_LOADED_SHAPE ? s->rest : s->loaded, s->n);
    if (!(off <= 2e-6)) fail_msg("off by %g m", off);
    free(other);
}

// ---------------------------------------------------------------- both directions

static void test_both_directions(void **state)
{
    (void)state;
    for (int side = 0; side < 2; side++) {
        hk_model *m = bar_model(ALONG, ACROSS, 3e6, 0);
        hk_design *d = design_of(m, (hk_design_side)side, 2);
        shapes s = wait_for(d, HK_DESIGN_CONVERGED);
        assert_memory_equal(side == HK_LOADED_SHAPE ? s.loaded : s.rest, m->rest,
                            3 * sizeof(double) * (size_t)s.n);
        assert_true(s.view.sag > 0.01 && s.view.relative_residual <= 1e-6);
        assert_true(s.view.least_j > 0.5 && s.view.greatest_stretch > 1);
        check_truth(m, &s);
        drop(&s);
        for (int edited = 0; edited < 2; edited++) {  // the loaded shape, then the rest shape
            int handle = grab_end(d, m, (hk_design_side)edited);
            double target[3] = {0.9, 0.35 - 0.2 * edited, 0.2};
            for (int k = 1; k <= 5; k++) {
                double on_the_way[3] = {1 + (target[0] - 1) * k / 5,
                                        0.1 + (target[1] - 0.1) * k / 5,
                                        0.1 + (target[2] - 0.1) * k / 5};
                CHECK_OK(hk_design_drag(d, handle, on_the_way));
                CHECK_OK(hk_design_preview(d));
                s = look(d);
                assert_int_equal(s.view.state, HK_DESIGN_PREVIEW);
                assert_int_equal(s.view.handles, 1);
                drop(&s);
            }
            s = wait_for(d, HK_DESIGN_CONVERGED);
            assert_int_equal(s.view.given, edited);
            check_truth(m, &s);
            // The handle is where it was put.
            double centre[3] = {0};
            int32_t vertices[64];
            int count = slice(m, 0.99, 2, vertices);
            const double *shape = edited == HK_LOADED_SHAPE ? s.loaded : s.rest;
            for (int k = 0; k < count; k++)
                for (int i = 0; i < 3; i++) centre[i] += shape[3 * vertices[k] + i] / count;
            assert_true(farthest(centre, target, 1) <= 1e-9);
            drop(&s);
            CHECK_OK(hk_design_release(d, handle));
        }
        CHECK_OK(hk_design_set_gravity(d, (double[3]){1, -7, 0}));
        s = wait_for(d, HK_DESIGN_CONVERGED);
        assert_int_equal(s.view.given, HK_REST_SHAPE);
        check_truth(d->now.model, &s);
        drop(&s);
        hk_design_free(d);
        hk_model_free(m);
    }
}

static void test_points_and_frames(void **state)
{
    (void)state;
    hk_model *m = bar_model(ALONG, ACROSS, 3e6, 0);
    hk_design *d = design_of(m, HK_LOADED_SHAPE, 1);
    // A point of a tet.
    const int32_t *corners = m->tets + 4 * (int64_t)(m->tet_count - 1);
    const double weights[4] = {0.1, 0.2, 0.3, 0.4};
    hk_handle_def def = hk_default_handle_def();
    def.count = 4;
    def.vertices = corners;
    def.weights = weights;
    int point, frame;
    CHECK_OK(hk_design_grab(d, &def, &point));
    double target[3] = {0, 0.05, 0};
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < 3; i++) target[i] += weights[c] * m->rest[3 * corners[c] + i];
    CHECK_OK(hk_design_drag(d, point, target));
    shapes s = wait_for(d, HK_DESIGN_CONVERGED);
    double there[3] = {0};
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < 3; i++) there[i] += weights[c] * s.loaded[3 * corners[c] + i];
    assert_true(farthest(there, target, 1) <= 1e-3 * 0.05);
    check_truth(m, &s);
    drop(&s);
    // A frame in the middle, beside it: turned about x and moved on.
    int32_t vertices[64];
    def = hk_default_handle_def();
    def.count = slice(m, 0.45, 0.55, vertices);
    def.vertices = vertices;
    CHECK_OK(hk_design_grab(d, &def, &frame));
    assert_int_not_equal(frame, point);
    s = look(d);
    const double turn[12] = {1, 0, 0, 0, 0, 0.96, -0.28, 0.032, 0, 0.28, 0.96, -0.024};
    CHECK_OK(hk_design_drag_frame(d, frame, turn));
    shapes after = wait_for(d, HK_DESIGN_CONVERGED);
    for (int k = 0; k < def.count; k++) {
        const double *p = s.loaded + 3 * vertices[k];
        double goal[3] = {p[0], 0.96 * p[1] - 0.28 * p[2] + 0.032,
                          0.28 * p[1] + 0.96 * p[2] - 0.024};
        assert_true(farthest(goal, after.loaded + 3 * vertices[k], 1) <= 1e-12);
    }
    assert_int_equal(after.view.handles, 2);
    check_truth(m, &after);
    // While handles hold one shape the other is not edited.
    def.side = HK_REST_SHAPE;
    assert_int_equal(hk_design_grab(d, &def, &frame), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "release them"));
    drop(&s);
    drop(&after);
    hk_design_free(d);
    hk_model_free(m);
}

// All of it turned about the vertical, what is held included, as another shape or by a handle of
// all vertices: the rest shape turns along, at once.
static void test_turned_as_a_whole(void **state)
{
    (void)state;
    static const double up[3] = {0, 1, 0};
    const double c = cos(70 * acos(-1.0) / 180), s = sin(70 * acos(-1.0) / 180);
    const double frame[12] = {c, 0, s, 0, 0, 1, 0, 0, -s, 0, c, 0};
    for (int by_handle = 0; by_handle < 2; by_handle++) {
        hk_model *m = bar_model(ALONG, ACROSS, 2e6, 0);
        hk_design *d = design_of(m, HK_LOADED_SHAPE, 1);
        shapes before = wait_for(d, HK_DESIGN_CONVERGED);
        double *edited = copy_doubles(before.loaded, 3 * before.n);
        double *wanted = copy_doubles(before.rest, 3 * before.n);
        rotate_all(up, 70, before.loaded, before.n, edited);
        rotate_all(up, 70, before.rest, before.n, wanted);
        if (by_handle) {
            int32_t *all = malloc(sizeof *all * (size_t)before.n);
            for (int v = 0; v < before.n; v++) all[v] = v;
            hk_handle_def def = hk_default_handle_def();
            def.count = before.n;
            def.vertices = all;
            int handle;
            CHECK_OK(hk_design_grab(d, &def, &handle));
            CHECK_OK(hk_design_drag_frame(d, handle, frame));
            free(all);
        } else {
            CHECK_OK(hk_design_set_shape(d, HK_LOADED_SHAPE, edited));
        }
        CHECK_OK(hk_design_preview(d));
        shapes guess = look(d);
        assert_true(guess.view.state != HK_DESIGN_FAILED);
        assert_true(farthest(guess.loaded, edited, before.n) <= 1e-12);
        assert_true(farthest(guess.rest, wanted, before.n) <= 1e-5);
        shapes after = wait_for(d, HK_DESIGN_CONVERGED);
        assert_true(farthest(after.rest, wanted, before.n) <= 1e-6);
        drop(&before);
        drop(&guess);
        drop(&after);
        free(edited);
        free(wanted);
        hk_design_free(d);
        hk_model_free(m);
    }
}

// ---------------------------------------------------------------- other edits

static void test_holds_materials_and_loads(void **state)
{
    (void)state;
    hk_model *m = bar_model(ALONG, ACROSS, 3e6, 0);
    hk_design *d = design_of(m, HK_LOADED_SHAPE, 2);
    shapes s = wait_for(d, HK_DESIGN_CONVERGED);
    double sag = s.view.sag;
    drop(&s);
    // Without gravity the shapes are the same.
    CHECK_OK(hk_design_set_gravity(d, (double[3]){0, 0, 0}));
    s = wait_for(d, HK_DESIGN_CONVERGED);
    assert_true(s.view.sag <= 1e-6);
    drop(&s);
    CHECK_OK(hk_design_set_gravity(d, (double[3]){0, -9.81, 0}));
    // Held at both ends it hardly sags.
    int32_t end[64];
    int count = slice(m, 0.99, 2, end);
    CHECK_OK(hk_design_fix(d, count, end));
    s = wait_for(d, HK_DESIGN_CONVERGED);
    assert_true(s.view.sag < 0.3 * sag);
    for (int k = 0; k < count; k++)
        assert_true(farthest(s.rest + 3 * end[k], s.loaded + 3 * end[k], 1) == 0);
    drop(&s);
    CHECK_OK(hk_design_unfix(d, count, end));
    // Half of it ten times as stiff.
    hk_selector half = select_box(-1, -1, -1, 0.5, 2, 2);
    hk_material_def stiff = material_of("neo_hookean", 3e7, 0.45);
    CHECK_OK(hk_design_set_material(d, 0, &half, &stiff));
    s = wait_for(d, HK_DESIGN_CONVERGED);
    assert_true(s.view.sag < 0.8 * sag);
    drop(&s);
    hk_load_def load = hk_default_load_def();
    load.select = select_box(0.99, -1, -1, 2, 2, 2);
    load.force[1] = 20;
    CHECK_OK(hk_design_set_loads(d, 0, &load, 1));
    s = wait_for(d, HK_DESIGN_CONVERGED);
    check_truth(d->now.model, &s);
    // The model with its rest shape poses as the loaded shape.
    hk_model *made;
    CHECK_OK(hk_design_model(d, &made));
    double *posed = malloc(3 * sizeof(double) * (size_t)s.n);
    pose_from(made, made->rest, posed);
    assert_true(farthest(posed, s.loaded, s.n) <= 2e-6);
    hk_model_free(made);
    free(posed);
    drop(&s);
    // Nothing holds it: no rest shape, and words that say so; then all is well again.
    int32_t wall[64];
    count = slice(m, -1, 1e-6, wall);
    CHECK_OK(hk_design_unfix(d, count, wall));
    s = wait_for(d, HK_DESIGN_FAILED);
    assert_int_equal(s.view.reason, HK_NOT_HELD);
    assert_non_null(strstr(s.view.detail, "fix at least three vertices"));
    drop(&s);
    CHECK_OK(hk_design_undo(d));
    s = wait_for(d, HK_DESIGN_CONVERGED);
    drop(&s);
    hk_design_free(d);
    hk_model_free(m);
}

// A shape that no rest shape sags into, and one that is inside out.
static void test_shapes_without_an_answer(void **state)
{
    (void)state;
    hk_model *m = bar_model(ALONG, ACROSS, 1e3, 0);
    hk_design *d = design_of(m, HK_LOADED_SHAPE, 1);
    shapes s = wait_for(d, HK_DESIGN_FAILED);
    assert_true(s.view.detail[0] && s.view.load_reached < 1);
    drop(&s);
    double *mirrored = copy_doubles(m->rest, 3 * m->vertex_count);
    for (int v = 0; v < m->vertex_count; v++) mirrored[3 * v + 2] *= -1;
    CHECK_OK(hk_design_set_shape(d, HK_LOADED_SHAPE, mirrored));
    s = wait_for(d, HK_DESIGN_FAILED);
    assert_true(s.view.detail[0]);
    for (int k = 0; k < 3 * s.n; k++) assert_true(isfinite(s.rest[k]) && isfinite(s.loaded[k]));
    drop(&s);
    hk_material_def firm = material_of("neo_hookean", 3e6, 0.45);
    CHECK_OK(hk_design_set_shape(d, HK_LOADED_SHAPE, m->rest));
    CHECK_OK(hk_design_set_material(d, 0, NULL, &firm));
    s = wait_for(d, HK_DESIGN_CONVERGED);
    drop(&s);
    free(mirrored);
    hk_design_free(d);
    hk_model_free(m);
}

// ---------------------------------------------------------------- storms

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static double uniform(uint32_t *seed, double low, double high)
{
    return low + (high - low) * (next_random(seed) % 10000) / 1e4;
}

// One random edit.
static void disturb(hk_design *d, const hk_model *m, uint32_t *seed, int *handle)
{
    int32_t vertices[64];
    double target[3] = {uniform(seed, 0.85, 1), uniform(seed, -0.1, 0.3), uniform(seed, 0, 0.2)};
    switch (next_random(seed) % 12) {
    case 0:
        if (*handle >= 0) CHECK_OK(hk_design_release(d, *handle));
        *handle = -1;
        break;
    case 1: CHECK_OK(hk_design_set_gravity(d, (double[3]){0, -uniform(seed, 2, 10), 0})); break;
    case 2: {
        hk_material_def material = material_of("neo_hookean", uniform(seed, 3e6, 9e6), 0.4);
        CHECK_OK(hk_design_set_material(d, 0, NULL, &material));
        break;
    }
    case 3: {
        int count = slice(m, -1, 0.2, vertices);
        CHECK_OK(next_random(seed) % 2 ? hk_design_fix(d, count, vertices)
                                       : hk_design_fix(d, 1, vertices));
        break;
    }
    case 4:
        if (hk_design_undo_name(d)) CHECK_OK(hk_design_undo(d));
        *handle = -1;
        for (int k = 0; k < d->now.handle_count; k++)
            if (d->now.handles[k].held) *handle = k;
        break;
    case 5:
        if (hk_design_redo_name(d)) CHECK_OK(hk_design_redo(d));
        *handle = -1;
        for (int k = 0; k < d->now.handle_count; k++)
            if (d->now.handles[k].held) *handle = k;
        break;
    case 6: CHECK_OK(hk_design_wait(d, 0.001 * (next_random(seed) % 5), NULL)); break;
    default:
        if (*handle < 0)
            *handle = grab_end(d, m, next_random(seed) % 4 ? HK_LOADED_SHAPE : HK_REST_SHAPE);
        CHECK_OK(hk_design_drag(d, *handle, target));
    }
    for (uint32_t k = next_random(seed) % 4; k > 0; k--) CHECK_OK(hk_design_preview(d));
}

typedef struct watcher {
    hk_design *design;
    atomic_bool stop;
    int looks, bad;
} watcher;

// Another thread looks all the time: versions never go back, what is converged is so, held vertices
// have the same place in both shapes.
static void *watch(void *context)
{
    watcher *w = context;
    uint64_t version = 0, sequence = 0;
    while (!atomic_load(&w->stop)) {
        shapes s = look(w->design);
        w->bad += s.view.version < version || s.view.sequence < sequence;
        w->bad += s.view.state == HK_DESIGN_CONVERGED && !(s.view.relative_residual <= 1e-6);
        for (int v = 0; v < s.n && s.view.state == HK_DESIGN_CONVERGED; v++)
            if (s.rest[3 * v] == 0 && s.rest[3 * v + 1] == 0)  // a corner that is always held
                w->bad += farthest(s.rest + 3 * v, s.loaded + 3 * v, 1) != 0;
        version = s.view.version;
        sequence = s.view.sequence;
        w->looks++;
        drop(&s);
    }
    return NULL;
}

static void test_storms(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= (SANITIZED ? 1 : 3); seed++) {
        hk_model *m = bar_model(ALONG, ACROSS, 4e6, 0);
        hk_design *d = design_of(m, seed % 2 ? HK_LOADED_SHAPE : HK_REST_SHAPE, 2);
        watcher w = {.design = d};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, watch, &w), 0);
        uint32_t random = 77 * seed;
        int handle = -1;
        for (int k = 0; k < (SANITIZED ? 60 : 200); k++) disturb(d, m, &random, &handle);
        hk_design_state end;
        CHECK_OK(hk_design_wait(d, -1, &end));
        atomic_store(&w.stop, true);
        pthread_join(thread, NULL);
        assert_int_equal(w.bad, 0);
        assert_true(w.looks > 0);
        shapes s = look(d);
        if (end == HK_DESIGN_CONVERGED) check_truth(d->now.model, &s);
        // The same afresh.
        hk_design *fresh = design_of(d->now.model, s.view.given, 1);
        CHECK_OK(hk_design_set_shape(fresh, s.view.given,
                                     s.view.given == HK_LOADED_SHAPE ? s.loaded : s.rest));
        shapes again = wait_for(fresh, end);
        if (end == HK_DESIGN_CONVERGED) {
            double off =
                fmax(farthest(s.rest, again.rest, s.n), farthest(s.loaded, again.loaded, s.n));
            if (!(off <= 2e-6)) fail_msg("storm %u: off by %g m", seed, off);
        }
        drop(&again);
        drop(&s);
        hk_design_free(fresh);
        hk_design_free(d);
        hk_model_free(m);
    }
}

static void test_free_while_refining(void **state)
{
    (void)state;
    hk_model *m = bar_model(20, 4, 2e6, 0);
    for (int k = 0; k < 6; k++) {
        hk_design *d = design_of(m, k % 2 ? HK_LOADED_SHAPE : HK_REST_SHAPE, 2);
        for (int n = 0; n < k; n++) CHECK_OK(hk_design_set_gravity(d, (double[3]){0, -9 - n, 0}));
        CHECK_OK(hk_design_preview(d));
        hk_design_free(d);
    }
    hk_model_free(m);
}

// ---------------------------------------------------------------- undoing

static void expect_same(const shapes *a, const shapes *b)
{
    assert_memory_equal(a->loaded, b->loaded, 3 * sizeof(double) * (size_t)a->n);
    assert_memory_equal(a->rest, b->rest, 3 * sizeof(double) * (size_t)a->n);
    assert_int_equal(a->view.state, b->view.state);
    assert_int_equal(a->view.given, b->view.given);
}

static void test_undo_and_redo(void **state)
{
    (void)state;
    enum { EDITS = 4 };
    hk_model *m = bar_model(ALONG, ACROSS, 3e6, 0);
    hk_design *d = design_of(m, HK_LOADED_SHAPE, 1);
    assert_null(hk_design_undo_name(d));
    assert_int_equal(hk_design_undo(d), HK_BAD_INPUT);
    shapes seen[EDITS + 1];
    static const char *const names[EDITS] = {"drag", "gravity", "lift the rest shape", "fix"};
    seen[0] = wait_for(d, HK_DESIGN_CONVERGED);
    int handle = grab_end(d, m, HK_LOADED_SHAPE);
    for (int k = 0; k < 5; k++) {
        CHECK_OK(hk_design_drag(d, handle, (double[3]){0.95, 0.15 + 0.02 * k, 0.1}));
        CHECK_OK(hk_design_preview(d));
    }
    CHECK_OK(hk_design_wait(d, -1, NULL));
    CHECK_OK(hk_design_release(d, handle));
    seen[1] = wait_for(d, HK_DESIGN_CONVERGED);
    CHECK_OK(hk_design_set_gravity(d, (double[3]){0, -5, 0}));
    seen[2] = wait_for(d, HK_DESIGN_CONVERGED);
    CHECK_OK(hk_design_mark(d, names[2]));
    handle = grab_end(d, m, HK_REST_SHAPE);
    CHECK_OK(hk_design_drag(d, handle, (double[3]){0.95, 0.3, 0.1}));
    CHECK_OK(hk_design_wait(d, -1, NULL));
    CHECK_OK(hk_design_release(d, handle));
    seen[3] = wait_for(d, HK_DESIGN_CONVERGED);
    int32_t end[64];
    int count = slice(m, 0.99, 2, end);
    CHECK_OK(hk_design_fix(d, count, end));
    seen[4] = wait_for(d, HK_DESIGN_CONVERGED);
    for (int round = 0; round < 2; round++) {
        for (int k = EDITS; k > 0; k--) {
            assert_string_equal(hk_design_undo_name(d), names[k - 1]);
            CHECK_OK(hk_design_undo(d));
            shapes s = look(d);
            expect_same(&s, &seen[k - 1]);
            drop(&s);
            CHECK_OK(hk_design_preview(d));  // and nothing is left to do
            s = wait_for(d, HK_DESIGN_CONVERGED);
            expect_same(&s, &seen[k - 1]);
            drop(&s);
        }
        assert_null(hk_design_undo_name(d));
        for (int k = 0; k < EDITS; k++) {
            assert_string_equal(hk_design_redo_name(d), names[k]);
            CHECK_OK(hk_design_redo(d));
            shapes s = wait_for(d, HK_DESIGN_CONVERGED);
            expect_same(&s, &seen[k + 1]);
            drop(&s);
        }
        assert_int_equal(hk_design_redo(d), HK_BAD_INPUT);
    }
    // An edit after an undo forgets what could be redone.
    CHECK_OK(hk_design_undo(d));
    CHECK_OK(hk_design_set_gravity(d, (double[3]){0, -4, 0}));
    assert_null(hk_design_redo_name(d));
    for (int k = 0; k <= EDITS; k++) drop(&seen[k]);
    hk_design_free(d);
    hk_model_free(m);
}

static void test_undo_has_its_memory(void **state)
{
    (void)state;
    hk_model *m = bar_model(24, 6, 3e6, 0);
    hk_design_def def = hk_default_design_def();
    def.model = m;
    def.undo_mb = 1;
    def.threads = 1;
    hk_design *d = NULL;
    CHECK_OK(hk_design_create(&def, &d));
    for (int k = 0; k < 20; k++) {
        CHECK_OK(hk_design_set_gravity(d, (double[3]){0, -1 - k, 0}));
        assert_true(hk_design_undo_name(d) != NULL);
    }
    int undone = 0;
    for (; hk_design_undo_name(d); undone++) CHECK_OK(hk_design_undo(d));
    assert_true(undone >= 1 && undone < 10);
    assert_true(d->now.model->gravity[1] == -1 - (19 - undone) || undone == 20);
    hk_design_free(d);
    hk_model_free(m);
}

// ---------------------------------------------------------------- the same bits

static shapes play(const hk_model *m, int threads)
{
    hk_design *d = design_of(m, HK_LOADED_SHAPE, threads);
    CHECK_OK(hk_design_wait(d, -1, NULL));
    int handle = grab_end(d, m, HK_LOADED_SHAPE);
    for (int k = 0; k < 3; k++) {
        CHECK_OK(hk_design_drag(d, handle, (double[3]){0.95, 0.15 + 0.05 * k, 0.15}));
        CHECK_OK(hk_design_wait(d, -1, NULL));
    }
    CHECK_OK(hk_design_release(d, handle));
    CHECK_OK(hk_design_wait(d, -1, NULL));
    CHECK_OK(hk_design_set_gravity(d, (double[3]){0, -7, 0}));
    shapes s = wait_for(d, HK_DESIGN_CONVERGED);
    hk_design_free(d);
    return s;
}

static void test_the_same_bits(void **state)
{
    (void)state;
    hk_model *m = bar_model(24, 6, 6e6, 0);  // threads begin to matter
    shapes first = play(m, 1);
    for (int threads = 1; threads <= 2; threads++) {
        shapes s = play(m, threads);
        expect_same(&s, &first);
        drop(&s);
    }
    drop(&first);
    hk_model_free(m);
}

// ---------------------------------------------------------------- bad arguments, no memory

static void expect_words(hk_status status, const char *words)
{
    if (status != HK_BAD_INPUT || !strstr(hk_error(), words))
        fail_msg("status %d: \"%s\" does not say \"%s\"", status, hk_error(), words);
}

static void test_bad_arguments(void **state)
{
    (void)state;
    hk_model *m = bar_model(6, 2, 3e6, 0);
    hk_design_def def = hk_default_design_def();
    hk_design *d = NULL;
    expect_words(hk_design_create(&def, &d), "a model is needed");
    expect_words(hk_design_create(NULL, &d), "def and design");
    def.model = m;
    def.steps = -1;
    expect_words(hk_design_create(&def, &d), "steps must be");
    def.steps = 0;
    def.tolerance = NAN;
    expect_words(hk_design_create(&def, &d), "tolerance must be");
    def.tolerance = 0;
    CHECK_OK(hk_design_create(&def, &d));
    CHECK_OK(hk_design_wait(d, -1, NULL));
    shapes before = look(d);
    int handle;
    const int32_t vertex = 3, none = 4000, far[2] = {0, m->vertex_count - 1};
    const double half[2] = {0.5, 0.5}, wrong[2] = {0.5, 0.6};
    hk_handle_def grab = hk_default_handle_def();
    expect_words(hk_design_grab(d, &grab, &handle), "vertices are needed");
    grab.count = 1;
    grab.vertices = &none;
    expect_words(hk_design_grab(d, &grab, &handle), "there is no vertex 4000");
    grab.count = 2;
    grab.vertices = far;
    grab.weights = wrong;
    expect_words(hk_design_grab(d, &grab, &handle), "add up to 1");
    grab.weights = half;
    expect_words(hk_design_grab(d, &grab, &handle), "no common tet");
    grab = hk_default_handle_def();
    grab.count = 1;
    grab.vertices = &vertex;
    grab.side = (hk_design_side)7;
    expect_words(hk_design_grab(d, &grab, &handle), "there is no shape 7");
    expect_words(hk_design_drag(d, 0, (double[3]){0}), "there is no handle 0");
    expect_words(hk_design_release(d, -1), "there is no handle -1");
    expect_words(hk_design_fix(d, 1, &none), "there is no vertex 4000");
    expect_words(hk_design_fix(d, 0, NULL), "vertices are needed");
    expect_words(hk_design_set_gravity(d, (double[3]){0, NAN, 0}), "finite");
    expect_words(hk_design_set_shape(d, HK_LOADED_SHAPE, NULL), "positions are needed");
    hk_material_def bad = material_of("neo_hookean", -1, 0.3);
    assert_int_equal(hk_design_set_material(d, 0, NULL, &bad), HK_BAD_INPUT);
    expect_words(hk_design_set_material(d, 3, NULL, &bad), "there is no body 3");
    expect_words(hk_design_mark(d, ""), "a name");
    expect_words(hk_design_preview(NULL), "design is needed");
    assert_null(hk_design_undo_name(d));
    shapes after = look(d);
    expect_same(&before, &after);
    assert_true(before.view.version == after.view.version);
    grab.side = HK_LOADED_SHAPE;
    CHECK_OK(hk_design_grab(d, &grab, &handle));
    expect_words(hk_design_drag(d, handle, (double[3]){INFINITY, 0, 0}), "finite");
    drop(&before);
    drop(&after);
    hk_design_free(d);
    hk_design_free(NULL);
    hk_model_free(m);
}

// A session in which an allocation of the thread that edits, or of the refiner, may fail. Returns
// how many there were.
static int play_with_failures(const hk_model *m)
{
    hk_design_def def = hk_default_design_def();
    def.model = m;
    def.threads = 1;
    hk_design *d = NULL;
    hk_status status = hk_design_create(&def, &d);
    if (status != HK_OK) {
        assert_int_equal(status, HK_NO_MEMORY);
        return failing_alloc_count();
    }
    int32_t vertices[64];
    hk_handle_def grab = hk_default_handle_def();
    grab.count = slice(m, 0.99, 2, vertices);
    grab.vertices = vertices;
    int handle = -1;
    hk_status all[8] = {HK_OK};
    all[0] = hk_design_wait(d, -1, NULL);
    all[1] = hk_design_grab(d, &grab, &handle);
    if (all[1] == HK_OK) all[2] = hk_design_drag(d, handle, (double[3]){1, 0.2, 0.1});
    all[3] = hk_design_wait(d, -1, NULL);
    all[4] = hk_design_set_gravity(d, (double[3]){0, -5, 0});
    all[5] = hk_design_wait(d, -1, NULL);
    all[6] = hk_design_undo_name(d) ? hk_design_undo(d) : HK_OK;
    all[7] = hk_design_wait(d, -1, NULL);
    for (int k = 0; k < 8; k++)
        if (all[k] != HK_OK) assert_int_equal(all[k], HK_NO_MEMORY);
    int count = failing_alloc_count();
    // From here on there is memory, and it works.
    failing_alloc_next(0);
    CHECK_OK(hk_design_set_gravity(d, (double[3]){0, -6, 0}));
    shapes s = wait_for(d, HK_DESIGN_CONVERGED);
    check_truth(d->now.model, &s);
    drop(&s);
    hk_design_free(d);
    return count;
}

static void test_no_memory(void **state)
{
    (void)state;
    hk_model *m = bar_model(4, 1, 3e6, 0);
    failing_alloc_install(0);
    int count = play_with_failures(m), tries = SANITIZED ? 25 : 150;
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_remove();
    for (int n = 1; n <= count; n += 1 + count / tries) {
        failing_alloc_install(n);
        play_with_failures(m);
        if (failing_alloc_live() != 0)
            fail_msg("allocation %d of %d fails: %d blocks are left", n, count,
                     failing_alloc_live());
        failing_alloc_remove();
    }
    hk_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_directions),
        cmocka_unit_test(test_points_and_frames),
        cmocka_unit_test(test_turned_as_a_whole),
        cmocka_unit_test(test_holds_materials_and_loads),
        cmocka_unit_test(test_shapes_without_an_answer),
        cmocka_unit_test(test_storms),
        cmocka_unit_test(test_free_while_refining),
        cmocka_unit_test(test_undo_and_redo),
        cmocka_unit_test(test_undo_has_its_memory),
        cmocka_unit_test(test_the_same_bits),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
