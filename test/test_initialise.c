// Shape initialisation and modification: exact where they must be, good starts for solvers, bounds,
// holds that yield, and the same bits for any number of threads.
#include "design_bar.h"

#include "design/initialise.h"
#include "design/modify.h"

// A bar, its rest shape, and what guesses.
typedef struct pair {
    hk_model *model;
    hk_reference *reference;
    hk_initialise *initialise;
    int n;
    double *rest;                 // [n][3] of the loaded shape, which is the mesh
    double *x0, *X0, *from, *to;  // [n][4]
    uint8_t *held;
} pair;

static double *vector_of(const pair *p)
{
    double *v = HK_ZEROS(double, 4 * (size_t)p->n);
    assert_non_null(v);
    return v;
}

static pair make_pair(int along, int across, double young, double held_to, int threads)
{
    pair p = {.model = bar_model(along, across, young, held_to)};
    p.n = p.model->vertex_count;
    hk_rest_report report;
    p.rest = rest_of(p.model, NULL, "auto", &report);
    assert_int_equal(report.reason, HK_CONVERGED);
    CHECK_OK(hk_reference_create(p.model, threads, &p.reference));
    CHECK_OK(hk_initialise_create(p.reference, &p.initialise));
    p.x0 = vector_of(&p);
    p.X0 = vector_of(&p);
    p.from = vector_of(&p);
    p.to = vector_of(&p);
    hk_reference_take(p.reference, p.model->rest, p.x0);
    hk_reference_take(p.reference, p.rest, p.X0);
    memcpy(p.to, p.X0, 4 * sizeof(double) * (size_t)p.n);
    p.held = calloc((size_t)p.n, 1);
    for (int v = 0; v < p.n; v++) p.held[p.model->place[v]] = p.model->hold[v] != HK_FREE;
    CHECK_OK(hk_initialise_hold(p.initialise, p.held));
    hk_initialise_set_pair(p.initialise, p.x0, p.X0);
    return p;
}

static void drop_pair(pair *p)
{
    hk_initialise_free(p->initialise);
    hk_reference_free(p->reference);
    hk_model_free(p->model);
    hk_free(p->x0);
    hk_free(p->X0);
    hk_free(p->from);
    hk_free(p->to);
    free(p->held);
    free(p->rest);
}

// The guess for a loaded shape [n][3], which the caller frees.
static double *guess(pair *p, const double *edited, int frames)
{
    hk_reference_take(p->reference, edited, p->from);
    for (int k = 0; k < frames; k++) hk_initialise_predict(p->initialise, p->from, p->to);
    double *X = malloc(3 * sizeof(double) * (size_t)p->n);
    hk_reference_give(p->reference, p->to, X);
    return X;
}

// The truth for it, and how many iterations a solver takes from a start.
static double *truth_of(const pair *p, const double *edited, const double *start,
                        hk_rest_report *report)
{
    hk_model *model;
    CHECK_OK(hk_model_copy(p->model, &model));
    CHECK_OK(hk_model_set_rest(model, edited));
    double *X = rest_of(model, start, "newton_gmres", report);
    assert_int_equal(report->reason, HK_CONVERGED);
    hk_model_free(model);
    return X;
}

// ---------------------------------------------------------------- exact

static void test_nothing_changed(void **state)
{
    (void)state;
    pair p = make_pair(15, 3, 2e6, 0, 1);
    memset(p.to, 0, 4 * sizeof(double) * (size_t)p.n);  // wherever it was before
    double *X = guess(&p, p.model->rest, 3);
    assert_true(farthest(X, p.rest, p.n) <= 1e-9);
    free(X);
    drop_pair(&p);
}

// All of the loaded shape is turned, what is held included: so is the rest shape. With a load that
// is so for turns about its direction.
static void test_turned_as_a_whole(void **state)
{
    (void)state;
    static const double tilted[3] = {0.36, 0.48, 0.8}, up[3] = {0, 1, 0}, down[3] = {0, -1, 0};
    for (int loaded = 0; loaded < 2; loaded++) {
        pair p = make_pair(15, 3, 2e6, 0, 1);
        double *edited = copy_doubles(p.model->rest, 3 * p.n);
        double *wanted = copy_doubles(p.rest, 3 * p.n), *X = NULL;
        hk_initialise_set_load(p.initialise, loaded ? down : NULL);
        for (int turns = 1; turns <= 4; turns++) {  // as a drag would
            const double *axis = loaded ? up : tilted;
            rotate_all(axis, 35.0 * turns, p.model->rest, p.n, edited);
            rotate_all(axis, 35.0 * turns, p.rest, p.n, wanted);
            free(X);
            X = guess(&p, edited, 2);
            double off = farthest(X, wanted, p.n);
            if (!(off <= 1e-8)) fail_msg("turned by %d degrees: off by %g m", 35 * turns, off);
        }
        free(X);
        free(edited);
        free(wanted);
        drop_pair(&p);
    }
}

static void test_turned_in_the_other_direction(void **state)
{
    (void)state;
    static const double axis[3] = {0.6, 0, 0.8};
    pair p = make_pair(15, 3, 2e6, 0, 1);
    hk_initialise_set_pair(p.initialise, p.X0, p.x0);
    double *edited = copy_doubles(p.rest, 3 * p.n), *wanted = copy_doubles(p.model->rest, 3 * p.n);
    rotate_all(axis, 50, p.rest, p.n, edited);
    rotate_all(axis, 50, p.model->rest, p.n, wanted);
    double *x = guess(&p, edited, 2);
    assert_true(farthest(x, wanted, p.n) <= 1e-8);
    free(x);
    free(edited);
    free(wanted);
    drop_pair(&p);
}

// ---------------------------------------------------------------- edits

// The bar bent to an arc, turned about a vertical axis on the way, or twisted about itself.
enum { UP, ASIDE, TWISTED };
static void bend(const double *from, int n, int way, double degrees, double *to)
{
    double whole = acos(-1.0) / 180 * degrees;
    for (int v = 0; v < n; v++) {
        double s = from[3 * v], y = from[3 * v + 1] - 0.1, z = from[3 * v + 2] - 0.1;
        double a = whole * s, r = 1 / whole;
        double *p = to + 3 * v;
        p[0] = way == UP ? (r - y) * sin(a) : way == ASIDE ? (r - z) * sin(a) : s;
        p[1] = way == UP ? r - (r - y) * cos(a) : way == ASIDE ? y : cos(a) * y - sin(a) * z;
        p[2] = way == UP ? z : way == ASIDE ? r - (r - z) * cos(a) : sin(a) * y + cos(a) * z;
    }
}

static void check_edit(int way, double degrees, double most)
{
    static const double down[3] = {0, -1, 0};
    static const char *const names[] = {"up", "aside", "twisted"};
    pair p = make_pair(15, 3, 2e6, 0, 1);
    double *straight = malloc(3 * sizeof(double) * (size_t)p.n),
           *edited = copy_doubles(p.rest, 3 * p.n);
    memcpy(straight, p.model->rest, 3 * sizeof(double) * (size_t)p.n);
    hk_initialise_set_load(p.initialise, down);
    double *X = NULL;
    for (int k = 1; k <= 6; k++) {
        bend(straight, p.n, way, degrees * k / 6, edited);
        for (int v = 0; v < p.n; v++)
            for (int i = 1; i < 3; i++) edited[3 * v + i] += 0.1;
        free(X);
        X = guess(&p, edited, 1);
    }
    hk_rest_report plain, started;
    double *truth = truth_of(&p, edited, edited, &plain), *same = truth_of(&p, edited, X, &started);
    double off = farthest(X, truth, p.n), sag = farthest(edited, truth, p.n);
    if (!(off <= most * sag))
        fail_msg("%s by %g degrees: off by %g m of a sag of %g m", names[way], degrees, off, sag);
    if (started.iterations > plain.iterations)
        fail_msg("%s by %g degrees: %d iterations, %d without", names[way], degrees,
                 started.iterations, plain.iterations);
    assert_true(farthest(same, truth, p.n) <= 1e-7);
    free(truth);
    free(same);
    free(X);
    free(straight);
    free(edited);
    drop_pair(&p);
}

static void test_bent_bars(void **state)
{
    (void)state;
    check_edit(UP, 30, 0.35);
    check_edit(UP, 60, 0.6);
    check_edit(ASIDE, 30, 0.2);
    check_edit(ASIDE, 60, 0.4);
    check_edit(TWISTED, 60, 0.2);
}

// ---------------------------------------------------------------- bounds and holds

typedef struct stretches {
    double least, most;
} stretches;

static stretches stretches_of(const pair *p, const double *from, const double *to)
{
    stretches s = {1e9, 0};
    const hk_tet_term *tets = p->reference->tets;
    for (int k = 0; k < tets->patch_count; k++) {
        double range[2] = {1, 1};
        hk_limit_pass pass = {.from = from, .to = to};
        p->reference->kernels->range(&tets->batches[tets->patches[k].batch], &pass,
                                     tets->patches[k].first, tets->patches[k].last, range);
        s.least = fmin(s.least, range[0]);
        s.most = fmax(s.most, range[1]);
    }
    return s;
}

// A pair whose middle is stretched to half as long again; then bounds are narrower than that.
static void test_strains_are_limited(void **state)
{
    (void)state;
    pair p = make_pair(15, 3, 2e6, 0, 1);
    for (int v = 0; v < p.n; v++) {
        double s = p.x0[4 * v];
        p.X0[4 * v] = s < 0.4 ? s : s < 0.6 ? 0.4 + 1.5 * (s - 0.4) : s + 0.1;
        for (int i = 1; i < 3; i++) p.X0[4 * v + i] = p.x0[4 * v + i];
    }
    hk_initialise_set_pair(p.initialise, p.x0, p.X0);
    memcpy(p.to, p.X0, 4 * sizeof(double) * (size_t)p.n);
    int out = hk_initialise_predict(p.initialise, p.x0, p.to);
    assert_int_equal(out, 0);
    double before = stretches_of(&p, p.x0, p.to).most;
    assert_true(before > 1.45);
    p.initialise->bounds[0] = 0.9;
    p.initialise->bounds[1] = 1.1;
    for (int k = 0; k < 60; k++) out = hk_initialise_predict(p.initialise, p.x0, p.to);
    stretches after = stretches_of(&p, p.x0, p.to);
    assert_true(out > 0);
    if (!(after.most < 1.1 + 0.2 * (before - 1.1) && after.least > 0.85))
        fail_msg("stretches of %g to %g are left", after.least, after.most);
    // Within wide bounds it goes back.
    p.initialise->bounds[0] = 0.1;
    p.initialise->bounds[1] = 10;
    for (int k = 0; k < 400; k++) out = hk_initialise_predict(p.initialise, p.x0, p.to);
    assert_int_equal(out, 0);
    assert_true(fabs(stretches_of(&p, p.x0, p.to).most - before) < 1e-6);
    drop_pair(&p);
}

// TwoWay Figure 12: a beam whose end is held over several layers is lifted. Where held vertices
// near free ones yield, the tets beside them are squeezed less.
static void test_holds_that_yield(void **state)
{
    (void)state;
    pair p = make_pair(20, 4, 1e6, 0.3, 1);
    double *edited = copy_doubles(p.model->rest, 3 * p.n);
    for (int v = 0; v < p.n; v++) {
        double over = edited[3 * v] - 0.3;
        if (over > 0) edited[3 * v + 1] += 0.6 * over;
    }
    double least[2];
    for (int yields = 0; yields < 2; yields++) {
        if (yields)
            CHECK_OK(hk_initialise_hold(p.initialise, p.held));
        else {
            memcpy(p.initialise->fixed, p.held, (size_t)p.n);
            memset(p.initialise->weight, 0, sizeof(double) * (size_t)p.n);
            CHECK_OK(hk_poisson_factor(p.initialise->poisson, p.held, NULL, 0, NULL));
        }
        double *X = guess(&p, edited, 1);
        least[yields] = stretches_of(&p, p.from, p.to).least;
        // What yields does so by little, and the deepest stay.
        for (int v = 0; v < p.n; v++) {
            if (p.model->hold[v] == HK_FREE) continue;
            double off = farthest(X + 3 * v, edited + 3 * v, 1);
            if (p.model->rest[3 * v] < 0.1 || !yields) assert_true(off <= 1e-12);
            if (!(off < 0.03)) fail_msg("a held vertex yields by %g m", off);
        }
        free(X);
    }
    if (!(least[1] > least[0]))
        fail_msg("the least stretch is %g, and %g without yielding", least[1], least[0]);
    free(edited);
    drop_pair(&p);
}

// ---------------------------------------------------------------- modification

static double gap_of(const double *a, const double *b)
{
    return hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
}

// The far end of the bar is turned by 60 degrees about its clamped end.
static void test_a_bar_follows_its_end(void **state)
{
    (void)state;
    static const double z[3] = {0, 0, 1};
    pair p = make_pair(15, 3, 2e6, 0, 1);
    hk_modify *m;
    CHECK_OK(hk_modify_create(p.reference, &m));
    double *turned = copy_doubles(p.model->rest, 3 * p.n), *goal = vector_of(&p),
           *x = vector_of(&p);
    rotate_all(z, 60, p.model->rest, p.n, turned);
    hk_reference_take(p.reference, turned, goal);
    memcpy(x, p.x0, 4 * sizeof(double) * (size_t)p.n);
    uint8_t *held = calloc((size_t)p.n, 1);
    for (int v = 0; v < p.n; v++) {
        held[v] = p.held[v] || p.x0[4 * v] > 0.99;
        if (p.held[v]) memcpy(goal + 4 * v, p.x0 + 4 * v, 4 * sizeof(double));
    }
    CHECK_OK(hk_modify_hold(m, held, 0, NULL));
    hk_modify_set_base(m, p.x0);
    double way = 1, first = 0;
    int steps = 0;
    for (; steps < 400 && way > 1e-9; steps++) {
        way = hk_modify_step(m, goal, x);
        if (steps == 0) first = m->energy;
    }
    if (!(way <= 1e-9)) fail_msg("after %d steps it still goes %g m", steps, way);
    assert_true(m->energy < 0.05 * first);
    // Held vertices are where they were put, and the middle of the bar has turned about half-way.
    double tip[3] = {0}, along[2] = {0};
    for (int v = 0; v < p.n; v++) {
        if (held[v]) assert_true(gap_of(x + 4 * v, goal + 4 * v) <= 1e-12);
        if (fabs(p.x0[4 * v] - 0.6) < 1e-6 || fabs(p.x0[4 * v] - 0.4) < 1e-6)
            for (int i = 0; i < 2; i++) along[i] += (p.x0[4 * v] > 0.5 ? 1 : -1) * x[4 * v + i];
        (void)tip;
    }
    double angle = atan2(along[1], along[0]) * 180 / acos(-1.0);
    if (!(angle > 40 && angle < 80)) fail_msg("the middle has turned by %g degrees", angle);
    assert_true(stretches_of(&p, p.x0, x).least > 0.5);
    free(held);
    free(turned);
    hk_free(goal);
    hk_free(x);
    hk_modify_free(m);
    drop_pair(&p);
}

// Rigid wishes are fulfilled exactly, and a point between vertices comes near to where it is
// pulled.
static void test_rigid_and_tied(void **state)
{
    (void)state;
    static const double axis[3] = {0.6, 0.8, 0};
    pair p = make_pair(10, 2, 2e6, 0, 1);
    hk_modify *m;
    CHECK_OK(hk_modify_create(p.reference, &m));
    double *turned = copy_doubles(p.model->rest, 3 * p.n), *goal = vector_of(&p),
           *x = vector_of(&p);
    rotate_all(axis, 40, p.model->rest, p.n, turned);
    hk_reference_take(p.reference, turned, goal);
    memcpy(x, p.x0, 4 * sizeof(double) * (size_t)p.n);
    uint8_t *held = calloc((size_t)p.n, 1);
    for (int v = 0; v < p.n; v++) held[v] = p.held[v] || p.x0[4 * v] > 0.99;
    CHECK_OK(hk_modify_hold(m, held, 0, NULL));
    hk_modify_set_base(m, p.x0);
    for (int k = 0; k < 300; k++) hk_modify_step(m, goal, x);
    for (int v = 0; v < p.n; v++) assert_true(gap_of(x + 4 * v, goal + 4 * v) <= 1e-6);
    // A tie of the four corners of a tet at the free end.
    int tet = p.model->tet_count - 1;
    hk_modify_tie tie = {.tie = {.count = 4}};
    memcpy(x, p.x0, 4 * sizeof(double) * (size_t)p.n);
    for (int c = 0; c < 4; c++) {
        tie.tie.vertex[c] = p.model->place[p.model->tets[4 * tet + c]];
        tie.tie.factor[c] = 0.25;
        tie.tie.weight = fmax(tie.tie.weight, 1e4 * p.reference->diagonal[tie.tie.vertex[c]]);
        for (int i = 0; i < 3; i++)
            tie.target[i] += 0.25 * p.x0[4 * tie.tie.vertex[c] + i] + (i == 1 ? 0.05 : 0);
    }
    CHECK_OK(hk_modify_hold(m, p.held, 1, &tie));
    hk_modify_set_base(m, p.x0);
    double way = 1;
    for (int k = 0; k < 500 && way > 1e-9; k++) way = hk_modify_step(m, p.x0, x);
    double point[3] = {0};
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < 3; i++) point[i] += 0.25 * x[4 * tie.tie.vertex[c] + i];
    if (!(gap_of(point, tie.target) <= 1e-3 * 0.2))
        fail_msg("the point stays %g m behind", gap_of(point, tie.target));
    free(held);
    free(turned);
    hk_free(goal);
    hk_free(x);
    hk_modify_free(m);
    drop_pair(&p);
}

// ---------------------------------------------------------------- threads

static void test_threads_do_not_matter(void **state)
{
    (void)state;
    static const double z[3] = {0, 0, 1};
    double *first = NULL;
    for (int threads = 1; threads <= 2; threads++) {
        pair p = make_pair(32, 6, 4e6, 0.2, threads);
        double *edited = copy_doubles(p.model->rest, 3 * p.n);
        rotate_all(z, 20, p.model->rest, p.n, edited);
        double *X = guess(&p, edited, 2);
        if (threads == 1)
            first = X;
        else
            assert_memory_equal(first, X, 3 * sizeof(double) * (size_t)p.n);
        if (threads == 2) free(X);
        free(edited);
        drop_pair(&p);
    }
    free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_changed),
        cmocka_unit_test(test_turned_as_a_whole),
        cmocka_unit_test(test_turned_in_the_other_direction),
        cmocka_unit_test(test_bent_bars),
        cmocka_unit_test(test_strains_are_limited),
        cmocka_unit_test(test_holds_that_yield),
        cmocka_unit_test(test_a_bar_follows_its_end),
        cmocka_unit_test(test_rigid_and_tied),
        cmocka_unit_test(test_threads_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
