// Bodies that tear: what a split keeps, where materials give way, that every method comes to
// Newton's answer on what is left, that states go on to the same bits.
#include <unistd.h>

#include "tear_worlds.h"

// ---------------------------------------------------------------- what a split keeps

typedef struct sums {
    double mass, linear[3], angular[3];
} sums;

static sums sums_of(const hk_world *w)
{
    const hk_model *m = hk_world_model(w);
    const double *mass = hk_model_masses(m), *x = hk_world_positions(w),
                 *v = hk_world_velocities(w);
    sums s = {0};
    for (int k = 0; k < hk_model_vertex_count(m); k++) {
        s.mass += mass[k];
        for (int i = 0; i < 3; i++) {
            int j = (i + 1) % 3, l = (i + 2) % 3;
            s.linear[i] += mass[k] * v[3 * k + i];
            s.angular[i] += mass[k] * (x[3 * k + j] * v[3 * k + l] - x[3 * k + l] * v[3 * k + j]);
        }
    }
    return s;
}

static void a_split_keeps_mass_momentum_and_places(void **state)
{
    (void)state;
    const char *sets[] = {"tearing={}", NULL};
    hk_world *w = tear_world(TEAR_BAR, sets);
    tear_steps(w, 6);
    const hk_model *m = hk_world_model(w);
    int count = hk_model_vertex_count(m), tets = hk_model_tet_count(m);
    double *x = malloc(6 * sizeof(double) * (size_t)count), *v = x + 3 * count;
    memcpy(x, hk_world_positions(w), 3 * sizeof(double) * (size_t)count);
    memcpy(v, hk_world_velocities(w), 3 * sizeof(double) * (size_t)count);
    hk_energy energy, torn_energy;
    CHECK_OK(hk_world_energy(w, &energy, NULL));
    hk_probe probe;
    const double at[3] = {0.41, 0.04, 0.06};
    double place[3], torn_place[3];
    CHECK_OK(hk_model_probe(m, 0, at, &probe));
    CHECK_OK(hk_world_probe(w, &probe, place));
    sums before = sums_of(w);
    cut_across(w, 0.22);
    sums after = sums_of(w);
    m = hk_world_model(w);
    hk_tear_report told = tears_of(w);
    assert_int_equal(told.events, 1);
    assert_true(told.vertices >= 16);
    assert_int_equal(hk_model_vertex_count(m), count + told.vertices);
    assert_int_equal(hk_model_tet_count(m), tets);
    assert_true(fabs(after.mass - before.mass) < 1e-14 * before.mass * tets);
    for (int i = 0; i < 3; i++) {
        assert_true(fabs(after.linear[i] - before.linear[i]) < 1e-13);
        assert_true(fabs(after.angular[i] - before.angular[i]) < 1e-13);
    }
    for (int k = 0; k < count + told.vertices; k++) {
        int from = hk_world_origin(w, k);
        assert_true(from >= 0 && from < count && (k >= count || from == k));
        assert_memory_equal(hk_world_positions(w) + 3 * k, x + 3 * from, 3 * sizeof(double));
        assert_memory_equal(hk_world_velocities(w) + 3 * k, v + 3 * from, 3 * sizeof(double));
    }
    CHECK_OK(hk_world_energy(w, &torn_energy, NULL));
    assert_true(fabs(torn_energy.elastic - energy.elastic) < 1e-12 * energy.elastic);
    assert_true(fabs(torn_energy.kinetic - energy.kinetic) < 1e-12 * energy.kinetic);
    CHECK_OK(hk_world_probe(w, &probe, torn_place));
    assert_memory_equal(place, torn_place, sizeof place);
    assert_int_equal(hk_world_origin(w, count + told.vertices), -1);
    free(x);
    hk_world_free(w);
}

// The free part falls as fast as everything does.
static void what_is_cut_off_falls(void **state)
{
    (void)state;
    const char *sets[] = {"tearing={}", "solver={\"method\": \"newton\", \"tolerance\": 1e-9}",
                          NULL};
    hk_world *w = tear_world(TEAR_BAR, sets);
    cut_across(w, 0.22);
    tear_steps(w, 20);
    const hk_model *m = hk_world_model(w);
    const double *rest = hk_model_rest_positions(m), *v = hk_world_velocities(w);
    const double *mass = hk_model_masses(m);
    double sum = 0, all = 0;
    // By the elements: the vertex that is farthest to the right is of the free part, and so is
    // whatever moves with it.
    for (int k = 0; k < hk_model_vertex_count(m); k++)
        if (rest[3 * k] > 0.27) {
            sum += mass[k] * v[3 * k + 1];
            all += mass[k];
        }
    assert_true(fabs(sum / all + 9.81 * 0.2) < 0.2);
    hk_world_free(w);
}

static void loads_and_attachments_are_divided(void **state)
{
    (void)state;
    const char *sets[] = {"tearing={}", "gravity=[0,0,0]",
                          "bodies.0.load=[{\"select\": {\"all\": true}, \"force\": [0, 3, 1]}]",
                          "bodies.0.attach=[{\"select\": {\"all\": true}, \"stiffness\": 5}]",
                          NULL};
    hk_world *w = tear_world(TEAR_BAR, sets);
    int count = hk_model_vertex_count(hk_world_model(w));
    double *forces = malloc(3 * sizeof(double) * 4 * (size_t)count);
    tear_steps(w, 3);
    hk_energy before, after;
    CHECK_OK(hk_world_energy(w, &before, NULL));
    cut_across(w, 0.22);
    CHECK_OK(hk_world_energy(w, &after, NULL));
    assert_true(fabs(after.load - before.load) < 1e-12 * fabs(before.load));
    assert_true(fabs(after.elastic - before.elastic) < 1e-12 * before.elastic);
    double sum[3] = {0};
    CHECK_OK(hk_model_load_forces(hk_world_model(w), forces));
    for (int k = 0; k < 3 * hk_model_vertex_count(hk_world_model(w)); k++) sum[k % 3] += forces[k];
    assert_true(fabs(sum[1] - 3) < 1e-12 && fabs(sum[2] - 1) < 1e-12);
    free(forces);
    hk_world_free(w);
}

static void files_have_all_vertices(void **state)
{
    (void)state;
    hk_world *w = tear_world(TEAR_BAR, NULL);
    const char *folder = make_folder();
    char path[300];
    snprintf(path, sizeof path, "%storn.vtu", folder);
    tear_steps(w, 12);
    assert_true(tears_of(w).vertices > 0);
    CHECK_OK(hk_world_save(w, path));
    hk_mesh *mesh;
    CHECK_OK(hk_mesh_load(path, &mesh));
    assert_int_equal(hk_mesh_vertex_count(mesh), hk_model_vertex_count(hk_world_model(w)));
    assert_int_equal(hk_mesh_tet_count(mesh), hk_model_tet_count(hk_world_model(w)));
    hk_mesh_free(mesh);
    hk_world_free(w);
    remove_folder(folder);
}

// ---------------------------------------------------------------- where materials give way

static void materials_tear_where_they_are_overloaded(void **state)
{
    (void)state;
    static const struct {
        const char *scene, *material;
        bool tears;
    } cases[] = {
        {TEAR_SHEET, "bodies.0.material.tear={\"strain\": 0.12}", true},
        {TEAR_SHEET, "bodies.0.material.tear={\"strain\": 2}", false},
        {TEAR_SHEET,
         "bodies.0.material={\"model\": \"shell\", \"young\": 1e5, \"poisson\": 0.3, \"density\":"
         " 200, \"thickness\": 1e-3, \"tear\": {\"stress\": 1.2e4}}",
         true},
        {TEAR_SHEET,
         "bodies.0.material={\"model\": \"shell\", \"young\": 1e5, \"poisson\": 0.3, \"density\":"
         " 200, \"thickness\": 1e-3, \"tear\": {\"stress\": 1e6}}",
         false},
        {TEAR_BAR,
         "bodies.0.material={\"model\": \"neo_hookean\", \"young\": 1e4, \"poisson\": 0.3,"
         " \"density\": 1000, \"tear\": {\"stress\": 1500}}",
         true},
        {TEAR_BAR,
         "bodies.0.material={\"model\": \"neo_hookean\", \"young\": 1e4, \"poisson\": 0.3,"
         " \"density\": 1000, \"tear\": {\"strain\": 0.1}}",
         true},
        {TEAR_BAR,
         "bodies.0.material={\"model\": \"neo_hookean\", \"young\": 1e4, \"poisson\": 0.3,"
         " \"density\": 1000, \"tear\": {\"strain\": 5}}",
         false},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        bool bar = cases[k].scene == TEAR_BAR;
        const char *sets[] = {cases[k].material, bar ? "tearing={\"most\": 4}" : "time.step=0.01",
                              "solver={\"method\": \"newton\"}", NULL};
        hk_world *w = tear_world(cases[k].scene, sets);
        tear_steps(w, 1);
        int notch = tears_of(w).vertices;
        tear_steps(w, 24);
        if ((tears_of(w).vertices > notch) != cases[k].tears)
            fail_msg("case %zu: %d vertices after the notch's %d", k, tears_of(w).vertices, notch);
        hk_world_free(w);
    }
}

// ---------------------------------------------------------------- methods

// Of worlds that were cut at rest, after a few steps.
static void methods_come_to_newtons_answer(void **state)
{
    (void)state;
    static const struct {
        const char *method;
        double most;  // relative to the motion
    } cases[] = {{"quasi_newton", 1e-5}, {"lbfgs", 1e-4},       {"nonlinear_cg", 1e-4},
                 {"descent", 1e-4},      {"vbd", 1e-3},         {"gradient_descent", 1e-3},
                 {"admm", 1e-2},         {"quasi_newton", 1e-5}};
    const char *exact[] = {"tearing={}", "solver={\"method\": \"newton\", \"tolerance\": 1e-10}",
                           NULL};
    hk_world *newton = tear_world(TEAR_BAR, exact);
    cut_across(newton, 0.22);
    tear_steps(newton, 8);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        char solver[160];
        snprintf(solver, sizeof solver,
                 "solver={\"method\": \"%s\", \"tolerance\": 1e-7, \"iterations\": 20000}",
                 cases[k].method);
        const char *sets[] = {"tearing={}", solver, NULL};
        hk_world *w = tear_world(TEAR_BAR, sets);
        cut_across(w, 0.22);
        tear_steps(w, 8);
        double far = relative_distance(w, newton);
        if (!(far < cases[k].most)) fail_msg("%s: %g from Newton's answer", cases[k].method, far);
        hk_world_free(w);
    }
    hk_world_free(newton);
}

static void torn_arap_is_projected(void **state)
{
    (void)state;
    const char *one[] = {"tearing={}", "bodies.0.material.model=arap",
                         "solver={\"method\": \"newton\", \"tolerance\": 1e-10}", NULL};
    const char *two[] = {"tearing={}", "bodies.0.material.model=arap",
                         "solver={\"method\": \"projective\", \"tolerance\": 1e-8, \"precision\":"
                         " \"double\", \"iterations\": 4000}",
                         NULL};
    hk_world *newton = tear_world(TEAR_BAR, one), *w = tear_world(TEAR_BAR, two);
    tear_steps(newton, 1);
    tear_steps(w, 1);
    cut_across(newton, 0.22);
    cut_across(w, 0.22);
    tear_steps(newton, 7);
    tear_steps(w, 7);
    assert_int_equal(tears_of(w).factorisations, 0);
    double far = relative_distance(w, newton);
    if (!(far < 1e-5)) fail_msg("projective: %g from Newton's answer", far);
    hk_world_free(newton);
    hk_world_free(w);
}

static void the_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    const char *one[] = {"threads=1", NULL}, *two[] = {"threads=2", NULL};
    hk_world *a = tear_world(TEAR_BAR, one), *b = tear_world(TEAR_BAR, two);
    for (int k = 0; k < 14; k++) {
        tear_steps(a, 1);
        tear_steps(b, 1);
        if (!same_torn(a, b)) fail_msg("they differ after %d steps", k + 1);
    }
    assert_true(tears_of(a).vertices > 0);
    hk_world_free(a);
    hk_world_free(b);
}

// ---------------------------------------------------------------- states

static void states_go_on_to_the_same_bits(void **state)
{
    (void)state;
    static const struct {
        const char *scene, *sets[TEAR_SETS];
        int until, steps;
    } cases[] = {
        {TEAR_BAR, {"solver.method=quasi_newton"}, 7, 16},
        {TEAR_BAR, {"solver.method=quasi_newton"}, 3, 12},
        {TEAR_BAR, {"solver.method=quasi_newton", "tearing.renew=1"}, 24, 30},
        {TEAR_BAR, {"solver.method=newton", "time.integrator=bdf2"}, 7, 12},
        {TEAR_BAR, {"solver.method=newton", "time.integrator=newmark"}, 7, 12},
        {TEAR_BAR, {"solver.method=vbd"}, 7, 12},
        {TEAR_BAR, {"solver.method=descent"}, 7, 12},
        {TEAR_BAR, {"solver.method=projective", "bodies.0.material.model=projective"}, 7, 12},
        {TEAR_BAR, {"solver.method=quasi_newton", "contact={\"distance\": 0.003}"}, 7, 12},
        {TEAR_SHEET, {"solver.method=quasi_newton"}, 15, 22},
    };
    const char *folder = make_folder();
    char path[300];
    snprintf(path, sizeof path, "%sstate.hks", folder);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        if (SANITIZED && k % 3 != 0) continue;
        hk_world *a = tear_world(cases[k].scene, cases[k].sets);
        hk_world *b = tear_world(cases[k].scene, cases[k].sets);
        tear_steps(a, cases[k].until);
        CHECK_OK(hk_world_save_state(a, path));
        CHECK_OK(hk_world_load_state(b, path));
        for (int step = cases[k].until; step < cases[k].steps; step++) {
            if (!same_torn(a, b)) fail_msg("case %zu: differs after %d steps", k, step);
            tear_steps(a, 1);
            tear_steps(b, 1);
        }
        assert_true(same_torn(a, b));
        hk_tear_report of_a = tears_of(a), of_b = tears_of(b);
        assert_true(of_a.vertices > 0);
        assert_memory_equal(&of_a, &of_b, sizeof of_a);
        // And back to where nothing was torn yet.
        hk_world *c = tear_world(cases[k].scene, cases[k].sets);
        CHECK_OK(hk_world_save_state(c, path));
        CHECK_OK(hk_world_load_state(b, path));
        assert_true(same_torn(b, c));
        hk_world_free(a);
        hk_world_free(b);
        hk_world_free(c);
    }
    remove_folder(folder);
}

// ---------------------------------------------------------------- contact

static void torn_bodies_touch_and_do_not_intersect(void **state)
{
    (void)state;
    const char *sets[] = {
        "bodies.0.fix=[]",
        "contact={\"distance\": 0.004, \"friction\": 0.3, \"certify\": true}",
        "obstacles=[{\"plane\": {\"point\": [0, -0.01, 0], \"normal\": [0, 1, 0]}}]",
        "time.step=0.02",
        "bodies.0.mesh.box.cells=[6, 2, 2]",
        "solver={\"method\": \"newton\"}",
        NULL};
    hk_world *w = tear_world(TEAR_BAR, sets);
    int steps = SANITIZED ? 20 : 250;  // five seconds
    for (int k = 0; k < steps; k++) {
        hk_step_report report;
        CHECK_OK(hk_world_step(w, &report));
        if (hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED)
            fail_msg("step %d: %s: %s", k, hk_reason_name(report.reason), report.detail);
        // What came apart after the step is proven, too.
        hk_contact_report touch;
        CHECK_OK(hk_world_contact(w, &touch));
        if (!touch.certified) fail_msg("step %d is not certified", k);
        const double *x = hk_world_positions(w);
        for (int i = 0; i < 3 * hk_model_vertex_count(hk_world_model(w)); i++)
            assert_true(isfinite(x[i]));
    }
    assert_true(tears_of(w).vertices > 0);
    hk_world_free(w);
}

// ---------------------------------------------------------------- what is refused

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *set, *says;
    } cases[] = {
        {"tearing={\"cuts\": [{\"points\": [[0, 0, 0]]}]}", "tearing.cuts[0].points"},
        {"tearing={\"cuts\": [{\"points\": [[0, 0, 0], [1, 0, 0]], \"body\": \"x\"}]}",
         "there is no body \"x\""},
        {"tearing={\"cuts\": [{\"points\": [[0, 0, 0], [1, 0, 0]], \"from\": 2, \"until\": 1}]}",
         "ends before it begins"},
        {"tearing={\"renew\": 0.5}", "tearing.renew"},
        {"tearing={\"most\": 0}", "tearing.most"},
        {"tearing={\"opening\": 0}", "tearing.opening"},
        {"tearing={\"blades\": []}", "blades"},
        {"bodies.0.material.tear={}", "needs \"stress\""},
        {"bodies.0.material.tear={\"stress\": -1}", "tear.stress"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        hk_scene *scene;
        const char *sets[] = {cases[k].set};
        assert_int_not_equal(hk_scene_parse(TEAR_BAR, strlen(TEAR_BAR), "scene", sets, 1, &scene),
                             HK_OK);
        if (!strstr(hk_error(), cases[k].says)) fail_msg("%s: %s", cases[k].set, hk_error());
    }
    hk_scene *scene;
    const char *springs[] = {"bodies.0.material.tear={\"stress\": 10}"};
    assert_int_not_equal(
        hk_scene_parse(TEAR_SHEET, strlen(TEAR_SHEET), "scene", springs, 1, &scene), HK_OK);
    assert_non_null(strstr(hk_error(), "springs have no stress"));
    hk_world *w = tear_world(TEAR_BAR, NULL);
    const double corners[9] = {0};
    assert_int_equal(hk_world_cut(w, 3, 1, corners), HK_BAD_INPUT);
    assert_int_equal(hk_world_cut(w, 0, -1, corners), HK_BAD_INPUT);
    assert_int_equal(hk_world_cut(NULL, 0, 1, corners), HK_BAD_INPUT);
    assert_int_equal(hk_world_tears(w, NULL), HK_BAD_INPUT);
    hk_world_free(w);
    const char *quadratic[] = {"tearing={}", "bodies.0.mesh.order=2", "solver.method=newton", NULL};
    w = tear_world(TEAR_BAR, quadratic);
    const double across[9] = {0.22, -3, -3, 0.22, 3, -3, 0.22, 0, 5};
    assert_int_equal(hk_world_cut(w, HK_CUT_ALL, 1, across), HK_UNSUPPORTED);
    assert_non_null(strstr(hk_error(), "quadratic"));
    tear_steps(w, 1);
    hk_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_split_keeps_mass_momentum_and_places),
        cmocka_unit_test(what_is_cut_off_falls),
        cmocka_unit_test(loads_and_attachments_are_divided),
        cmocka_unit_test(files_have_all_vertices),
        cmocka_unit_test(materials_tear_where_they_are_overloaded),
        cmocka_unit_test(methods_come_to_newtons_answer),
        cmocka_unit_test(torn_arap_is_projected),
        cmocka_unit_test(the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(states_go_on_to_the_same_bits),
        cmocka_unit_test(torn_bodies_touch_and_do_not_intersect),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
