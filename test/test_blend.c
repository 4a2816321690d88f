// Invertible model conversion (Descent eq. 16–19): shares, energies, forces and diagonals of tets
// that are pressed flat or inside out.
#include "bodies.h"

#include "model/model.h"
#include "term/tet.h"

// One tet with edges along the axes: F is the matrix of its current edges.
static hk_model *one_tet(const char *material, bool invertible)
{
    const double x[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    const int32_t tet[4] = {0, 1, 2, 3};
    hk_mesh *mesh;
    CHECK_OK(hk_mesh_from_arrays(4, x, 1, tet, 0, NULL, &mesh));
    hk_body_def body = hk_default_body_def();
    body.material = material_of(material, 2e5, 0.3);
    body.material.invertible = hk_default_invertible();
    if (!invertible) body.material.invertible.upper = -1;
    return model_of(&body, mesh, 0);
}

typedef struct fixture {
    hk_model *model;
    hk_tet_term *term;
    double stiffness;  // w
} fixture;

static fixture make(const char *material, bool invertible)
{
    fixture f = {.model = one_tet(material, invertible)};
    CHECK_OK(hk_tet_term_create(f.model, hk_lanes_best(HK_DOUBLE_PRECISION), 1, &f.term));
    f.stiffness = f.model->materials[0].blend_law.stiffness;
    return f;
}

static void drop(fixture *f)
{
    hk_tet_term_free(f->term);
    hk_model_free(f->model);
}

// Positions [4][4] in the model's order for edges F = R diag(s) with some rotation.
static void place(const fixture *f, const double s[3], double *x)
{
    static const double R[3][3] = {{0.36, 0.48, -0.8}, {-0.8, 0.6, 0}, {0.48, 0.64, 0.6}};
    memset(x, 0, 16 * sizeof *x);
    for (int v = 1; v < 4; v++)
        for (int i = 0; i < 3; i++) x[4 * f->model->place[v] + i] = R[i][v - 1] * s[v - 1];
}

static double projective_energy(const fixture *f, const double s[3])
{
    double sum = 0;
    for (int i = 0; i < 3; i++) sum += (s[i] - 1) * (s[i] - 1);
    return f->stiffness * sum / 6;  // the tet's volume is 1/6
}

static float share_of(const fixture *f)
{
    float share;
    hk_tet_read_blend(f->term, &share);
    return share;
}

static void test_shares(void **state)
{
    (void)state;
    fixture f = make("neo_hookean", true);
    _Alignas(64) double x[16];
    assert_true(hk_tet_is_invertible(f.term));
    const struct {
        double least;
        float share;
    } cases[] = {{0.5, 0}, {0.151, 0}, {0.1, 0.5f}, {0.075, 0.75f}, {0.05, 1}, {0, 1}, {-1, 1}};
    for (int k = 0; k < 7; k++) {
        drop(&f);
        f = make("neo_hookean", true);
        place(&f, (double[]){1.1, cases[k].least, 0.9}, x);
        assert_true(hk_tet_update_blend(f.term, x) == (cases[k].share > 0));
        assert_true(fabsf(share_of(&f) - cases[k].share) < 1e-6f);
        assert_true(hk_tet_blended(f.term) == (cases[k].share > 0));
    }
    // It falls by 0.05 an iteration once the tet was well, and rises at once.
    place(&f, (double[]){1, 1, 1}, x);
    for (int k = 0; k <= 10; k++) {
        assert_true(hk_tet_update_blend(f.term, x));
        assert_true(fabsf(share_of(&f) - (1 - 0.05f * (float)k)) < 1e-5f);
    }
    for (int k = 0; k < 10; k++) hk_tet_update_blend(f.term, x);
    assert_true(share_of(&f) == 0);
    assert_false(hk_tet_blended(f.term));
    assert_false(hk_tet_update_blend(f.term, x));
    drop(&f);
}

// Shares do not fall while one is wanted anywhere, by whichever way they are brought up to date.
static void test_shares_are_held(void **state)
{
    (void)state;
    hk_body_def bodies[2];
    hk_mesh *mesh = box_mesh(1, 1, 1, 1, 1, 1);
    for (int b = 0; b < 2; b++) {
        bodies[b] = hk_default_body_def();
        bodies[b].mesh = mesh;
        bodies[b].material = material_of(b == 0 ? "neo_hookean" : "corotated", 2e5, 0.3);
        bodies[b].material.invertible = hk_default_invertible();
    }
    hk_model_def def = hk_default_model_def();
    def.bodies = bodies;
    def.body_count = 2;
    hk_model *model;
    CHECK_OK(hk_model_create(&def, &model));
    hk_mesh_free(mesh);
    hk_tet_term *term;
    CHECK_OK(hk_tet_term_create(model, hk_lanes_best(HK_DOUBLE_PRECISION), 1, &term));
    int count = model->vertex_count, half = model->tet_count / 2;
    double *x = hk_calloc(4 * (size_t)count, sizeof *x);
    double *g = hk_calloc(4 * (size_t)count, sizeof *g);
    float shares[10];
    assert_true(x && g && half == 5);
    hk_tet_blend_with_gradient(term, true);
    for (int k = 0; k < 45; k++) {
        // Both are flat, then the first alone is well, then both are.
        for (int v = 0; v < count; v++)
            for (int i = 0; i < 3; i++) {
                bool flat = k == 0 || (k < 20 && v >= count / 2);
                x[4 * (int64_t)model->place[v] + i] = i == 2 && flat ? 0 : model->rest[3 * v + i];
            }
        if (k % 2 == 0)
            hk_tet_update_blend(term, x);
        else
            hk_tet_gradient(term, x, g, NULL);
        hk_tet_read_blend(term, shares);
        for (int t = 0; t < 10; t++) {
            float expected = k <= 20 ? 1 : fmaxf(0, 1 - 0.05f * (float)(k - 20));
            assert_true(fabsf(shares[t] - expected) < 1e-5f);
        }
    }
    hk_free(x);
    hk_free(g);
    hk_tet_term_free(term);
    hk_model_free(model);
}

// A tet that was flat returns to its law at any stretch, but not to one that grows like exp.
static void test_wild_laws_wait(void **state)
{
    (void)state;
    static const char *const materials[] = {"neo_hookean", "stvk", "fung"};
    for (int m = 0; m < 3; m++) {
        bool wild = m == 2;
        fixture f = make(materials[m], true);
        _Alignas(64) double x[16];
        place(&f, (double[]){1, 0, 1}, x);
        hk_tet_update_blend(f.term, x);
        assert_true(share_of(&f) == 1);
        place(&f, (double[]){8, 1, 1}, x);
        for (int k = 0; k <= 20; k++) hk_tet_update_blend(f.term, x);
        assert_true(share_of(&f) == (wild ? 1 : 0));
        place(&f, (double[]){1.1, 1, 0.9}, x);
        for (int k = 0; k < 20; k++) hk_tet_update_blend(f.term, x);
        assert_true(share_of(&f) == 0);
        drop(&f);
    }
}

// Energy, gradient and diagonal of every material at l = 0.5 and l = 1 are those of one function.
static void test_one_function(void **state)
{
    (void)state;
    static const double states[][3] = {
        {1.2, 0.1, 0.8}, {1.2, 0.06, 0.8}, {0.9, -0.7, 1.1}, {-1, -0.9, -1.1}, {1, 1e-9, 1}};
    for (int m = 0; m < solid_count(); m++)
        for (int k = 0; k < 5; k++) {
            const double *s = states[k];
            fixture f = make(hk_material_name(m), true), pure = make(hk_material_name(m), false);
            _Alignas(64) double x[16];
            _Alignas(64) double g[16], diagonal[16], own_diagonal[16];
            place(&f, s, x);
            hk_tet_update_blend(f.term, x);
            double l = (double)share_of(&f), energy, own = hk_tet_energy(pure.term, x);
            // Of three negative stretches two count as positive: the signs of σ are those of the
            // nearest rotation.
            double signed_s[3] = {s[0], s[1], s[2]};
            if (s[0] < 0 && s[1] < 0) {
                signed_s[0] = fabs(s[0]);
                signed_s[2] = fabs(s[2]);
            }
            double expected = l * projective_energy(&f, signed_s) + (l < 1 ? (1 - l) * own : 0);
            hk_tet_gradient(f.term, x, g, &energy);
            assert_true(fabs(energy - expected) <= 1e-6 * fabs(expected));
            assert_true(fabs(hk_tet_energy(f.term, x) - energy) <= 1e-12 * fabs(energy));
            double scale = 0;
            for (int i = 0; i < 16; i++) scale = fmax(scale, fabs(g[i]));
            for (int i = 0; i < 16; i++) {
                if (i % 4 == 3) continue;
                double there = x[i], h = 1e-6;
                x[i] = there + h;
                double up = hk_tet_energy(f.term, x);
                x[i] = there - h;
                double down = hk_tet_energy(f.term, x);
                x[i] = there;
                if (!(fabs((up - down) / (2 * h) - g[i]) <= 2e-5 * scale))
                    fail_msg("%s, state %d: force %g, by differences %g", hk_material_name(m), k,
                             g[i], (up - down) / (2 * h));
            }
            hk_tet_diagonal(f.term, x, diagonal);
            hk_tet_diagonal(pure.term, x, own_diagonal);
            for (int v = 0; v < 4; v++)
                for (int i = 0; i < 3; i++) {
                    int at = 4 * f.model->place[v] + i;
                    double squared = v == 0 ? 3 : 1;  // of the shape gradient
                    double wanted = l * 2 * f.stiffness * squared / 6 +
                                    (l < 1 ? (1 - l) * own_diagonal[at] : 0);
                    assert_true(fabs(diagonal[at] - wanted) <= 1e-6 * fabs(wanted));
                }
            drop(&f);
            drop(&pure);
        }
}

// Nothing changes, to the last bit, while no tet is crushed; and both precisions agree.
static void test_no_effect_and_single(void **state)
{
    (void)state;
    for (int m = 0; m < solid_count(); m++) {
        fixture f = make(hk_material_name(m), true), pure = make(hk_material_name(m), false);
        _Alignas(64) double x[16], g[16], other[16];
        double energy, same;
        place(&f, (double[]){1.3, 0.6, 0.8}, x);
        assert_false(hk_tet_update_blend(f.term, x));
        hk_tet_gradient(f.term, x, g, &energy);
        hk_tet_gradient(pure.term, x, other, &same);
        assert_memory_equal(&energy, &same, sizeof energy);
        assert_memory_equal(g, other, sizeof g);
        hk_tet_term *single;
        CHECK_OK(hk_tet_term_create(f.model, hk_lanes_best(HK_SINGLE), 1, &single));
        place(&f, (double[]){1.2, 0.09, 0.8}, x);
        _Alignas(64) float narrow[16], forces[16];
        for (int i = 0; i < 16; i++) narrow[i] = (float)x[i];
        hk_tet_blend_with_gradient(single, true);
        double coarse;
        hk_tet_gradient(single, narrow, forces, &coarse);
        hk_tet_copy_blend(f.term, single);
        assert_true(fabsf(share_of(&f) - 0.6f) < 1e-4f);
        hk_tet_gradient(f.term, x, g, &energy);
        assert_true(fabs(coarse - energy) <= 1e-4 * fabs(energy));
        hk_tet_term_free(single);
        drop(&f);
        drop(&pure);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_shares_are_held),
        cmocka_unit_test(test_wild_laws_wait),
        cmocka_unit_test(test_one_function),
        cmocka_unit_test(test_no_effect_and_single),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
