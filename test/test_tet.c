// The tet term: wide lanes against double, gradient and stiffness against finite differences, the
// diagonal, the assembled matrix, and the same bits for any number of threads.
#include "bodies.h"
#include "term_lists.h"

#include "linear/pattern.h"
#include "model/model.h"
#include "term/assembly.h"
#include "term/tet.h"

// A small box of one material with fibres in half of it, and positions a little disturbed.
typedef struct fixture {
    hk_model *model;
    double *x;  // [vertex_count][4]
} fixture;

static fixture make_fixture_at(const char *model_name, const double A[9], double amount, int cells)
{
    hk_body_def body = hk_default_body_def();
    body.material = material_of(model_name, 1e5, 0.4);
    hk_region_def region = {.def_size = sizeof(hk_region_def),
                            .select = select_box(0, 0, 0, 0.5, 1, 1),
                            .material = material_of(model_name, 2e5, 0.3)};
    region.material.fibre_stiffness = 3e5;
    region.material.fibre_direction[1] = 1;
    body.regions = &region;
    body.region_count = 1;
    fixture f = {.model = model_of(&body, box_mesh(1, 1, 1, cells, cells, cells), 0)};
    const hk_model *m = f.model;
    f.x = calloc(4 * (size_t)m->vertex_count, sizeof *f.x);
    uint64_t seed = 7;
    for (int k = 0; k < m->vertex_count; k++) {
        const double *X = m->rest + 3 * m->order[k];
        for (int i = 0; i < 3; i++)
            f.x[4 * k + i] = A[3 * i] * X[0] + A[3 * i + 1] * X[1] + A[3 * i + 2] * X[2] +
                             amount / cells * noise(&seed);
    }
    return f;
}

static fixture make_fixture(const char *model_name, double amount, int cells)
{
    static const double stretched[9] = {1.3, 0.2, 0, 0, 0.9, -0.1, 0, 0, 0.95};
    return make_fixture_at(model_name, stretched, amount, cells);
}

static void free_fixture(fixture *f)
{
    hk_model_free(f->model);
    free(f->x);
}

static hk_tet_term *make_term(const hk_model *model, const hk_lane_table *lanes, int threads)
{
    hk_tet_term *term = NULL;
    CHECK_OK(hk_tet_term_create(model, lanes, threads, &term));
    return term;
}

typedef struct results {  // of one lane table, in double
    double energy;
    double *gradient, *diagonal;  // [vertex_count][4]
    double *stress, *F;           // [tet_count][9]
} results;

static double *widen(const void *values, int scalar_size, size_t count)
{
    double *wide = malloc(count * sizeof *wide);
    for (size_t k = 0; k < count; k++)
        wide[k] = scalar_size == 8 ? ((const double *)values)[k] : ((const float *)values)[k];
    return wide;
}

static results evaluate(const fixture *f, const hk_lane_table *lanes, int threads)
{
    size_t n = 4 * (size_t)f->model->vertex_count, tets = 9 * (size_t)f->model->tet_count;
    hk_tet_term *term = make_term(f->model, lanes, threads);
    void *x = aligned_alloc(64, (n * 8 + 63) / 64 * 64),
         *out = aligned_alloc(64, (n * 8 + 63) / 64 * 64);
    for (size_t k = 0; k < n; k++) {
        if (lanes->scalar_size == 8)
            ((double *)x)[k] = f->x[k];
        else
            ((float *)x)[k] = (float)f->x[k];
    }
    results r;
    double separate = hk_tet_energy(term, x);
    hk_tet_gradient(term, x, out, &r.energy);
    double noise_level = (lanes->scalar_size == 8 ? 1e-15 : 1e-6) * 2e5;  // of ψ at rest
    assert_true(fabs(separate - r.energy) <= 1e-6 * fabs(r.energy) + noise_level);
    r.gradient = widen(out, lanes->scalar_size, n);
    hk_tet_gradient(term, x, out, NULL);
    double *again = widen(out, lanes->scalar_size, n);
    assert_memory_equal(again, r.gradient, n * sizeof(double));
    free(again);
    hk_tet_diagonal(term, x, out);
    r.diagonal = widen(out, lanes->scalar_size, n);
    r.stress = malloc(tets * sizeof(double));
    r.F = malloc(tets * sizeof(double));
    hk_tet_stress(term, x, r.stress, r.F);
    free(x);
    free(out);
    hk_tet_term_free(term);
    return r;
}

static void free_results(results *r)
{
    free(r->gradient);
    free(r->diagonal);
    free(r->stress);
    free(r->F);
}

static double relative(const double *a, const double *b, size_t count)
{
    double error = 0, scale = 0;
    for (size_t k = 0; k < count; k++) {
        error += (a[k] - b[k]) * (a[k] - b[k]);
        scale += b[k] * b[k];
    }
    return sqrt(error / scale);
}

static void test_lanes_agree(void **state)
{
    (void)state;
    const hk_lane_table *tables[8];
    int count = hk_lanes_available(tables, 8);
    assert_true(count >= 2);
    for (int m = 0; m < solid_count(); m++) {
        fixture f = make_fixture(hk_material_name(m), 0.15, 3);
        size_t n = 4 * (size_t)f.model->vertex_count, tets = 9 * (size_t)f.model->tet_count;
        results reference = {0};
        for (int k = count - 1; k >= 0; k--) {
            if (tables[k]->scalar_size != 8 || reference.gradient) continue;
            reference = evaluate(&f, tables[k], 1);  // the generic doubles
        }
        for (int k = 0; k < count; k++) {
            results r = evaluate(&f, tables[k], 2);
            double bound = tables[k]->scalar_size == 8 ? 1e-12 : 1e-5;
            double errors[4] = {fabs(r.energy - reference.energy) / reference.energy,
                                relative(r.gradient, reference.gradient, n),
                                relative(r.diagonal, reference.diagonal, n),
                                relative(r.stress, reference.stress, tets)};
            for (int e = 0; e < 4; e++)
                if (!(errors[e] <= bound))
                    fail_msg("%s, %s: error %d is %.2e", hk_material_name(m), tables[k]->name, e,
                             errors[e]);
            free_results(&r);
        }
        free_results(&reference);
        free_fixture(&f);
    }
}

static bool has_barrier(int material)
{
    return hk_law_describe((hk_law)material)->barrier;
}

// Where decompositions are delicate: at rest, near it, turned, nearly flat, inverted. Errors are
// measured against the stress of the material at a strain of 1, spread over the faces, since near
// rest the forces themselves vanish; the positions are numbers that a float holds.
static void test_lanes_agree_at_delicate_states(void **state)
{
    (void)state;
    static const struct {
        const char *label;
        double A[9], amount;
        bool inverted;
    } states[] = {
        {"rest", {1, 0, 0, 0, 1, 0, 0, 0, 1}, 0, false},
        {"near rest", {1, 0, 0, 0, 1, 0, 0, 0, 1}, 1e-3, false},
        {"turned", {0, -1, 0, 1, 0, 0, 0, 0, 1}, 1e-2, false},
        {"grown", {1.5, 0, 0, 0, 1.5, 0, 0, 0, 1.5}, 0, false},
        {"nearly flat", {1, 0, 0, 0, 0.0625, 0, 0, 0, 1}, 1e-3, false},
        {"inverted", {1.25, 0, 0, 0, 0.75, 0, 0, 0.25, -0.5}, 1e-2, true},
        {"reflected", {1, 0, 0, 0, 1, 0, 0, 0, -1}, 2e-2, true},
        {"two negative", {1.2, 0, 0, 0, -0.9, 0.1, 0, 0, -0.8}, 1e-2, false},
    };
    const hk_lane_table *tables[8];
    int count = hk_lanes_available(tables, 8), generic = count - 1;
    while (tables[generic]->scalar_size != 8) generic--;
    for (int m = 0; m < solid_count(); m++)
        for (size_t s = 0; s < sizeof states / sizeof states[0]; s++) {
            if (states[s].inverted && has_barrier(m)) continue;
            fixture f = make_fixture_at(hk_material_name(m), states[s].A, states[s].amount, 2);
            size_t n = 4 * (size_t)f.model->vertex_count;
            for (size_t k = 0; k < n; k++) f.x[k] = (float)f.x[k];
            results reference = evaluate(&f, tables[generic], 1);
            double scale = 2e5 * 0.25;  // E times the area of a face
            for (size_t k = 0; k < n; k++) scale = fmax(scale, fabs(reference.gradient[k]));
            for (int k = 0; k < count; k++) {
                results r = evaluate(&f, tables[k], 1);
                double bound = tables[k]->scalar_size == 8 ? 1e-12 : 1e-5, worst = 0;
                // R jumps where stretches cancel: near there the reflected body amplifies.
                if (strcmp(states[s].label, "reflected") == 0) bound *= 100;
                for (size_t q = 0; q < n; q++)
                    worst = fmax(worst, fabs(r.gradient[q] - reference.gradient[q]));
                if (!(worst <= bound * scale))
                    fail_msg("%s, %s, %s: gradient off by %.2e of %.2e", hk_material_name(m),
                             states[s].label, tables[k]->name, worst, scale);
                if (!(fabs(r.energy - reference.energy) <= bound * fmax(reference.energy, 2e5)))
                    fail_msg("%s, %s, %s: energy %g, not %g", hk_material_name(m), states[s].label,
                             tables[k]->name, r.energy, reference.energy);
                free_results(&r);
            }
            free_results(&reference);
            free_fixture(&f);
        }
}

// How many digits of the force single precision leaves at small strain: about eps / strain.
static void test_single_precision_near_rest(void **state)
{
    (void)state;
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int m = 0; m < solid_count(); m++)
        for (double strain = 1e-1; strain > 5e-4; strain /= 10) {
            fixture f = make_fixture_at(hk_material_name(m), identity, strain, 2);
            size_t n = 4 * (size_t)f.model->vertex_count;
            for (size_t k = 0; k < n; k++) f.x[k] = (float)f.x[k];
            results exact = evaluate(&f, hk_lanes_best(HK_DOUBLE_PRECISION), 1);
            results single = evaluate(&f, hk_lanes_best(HK_SINGLE), 1);
            double error = relative(single.gradient, exact.gradient, n);
            if (!(error <= 20 * 6e-8 / strain))
                fail_msg("%s, strain %g: relative error %.1e", hk_material_name(m), strain, error);
            free_results(&exact);
            free_results(&single);
            free_fixture(&f);
        }
}

// Inverted tets of a law with a barrier have infinite energy in every lane type, never a NaN.
static void test_barriers_in_all_lanes(void **state)
{
    (void)state;
    static const double mirrored[9] = {1, 0, 0, 0, 1, 0, 0, 0, -1};
    const hk_lane_table *tables[8];
    int count = hk_lanes_available(tables, 8);
    for (int m = 0; m < solid_count(); m++) {
        if (!has_barrier(m)) continue;
        fixture f = make_fixture_at(hk_material_name(m), mirrored, 0.1, 2);
        for (int k = 0; k < count; k++) {
            hk_tet_term *term = make_term(f.model, tables[k], 1);
            size_t n = 4 * (size_t)f.model->vertex_count;
            void *x = aligned_alloc(64, (n * 8 + 63) / 64 * 64);
            void *g = aligned_alloc(64, (n * 8 + 63) / 64 * 64);
            for (size_t q = 0; q < n; q++) {
                if (tables[k]->scalar_size == 8)
                    ((double *)x)[q] = f.x[q];
                else
                    ((float *)x)[q] = (float)f.x[q];
            }
            double energy;
            assert_true(hk_tet_energy(term, x) == INFINITY);
            hk_tet_gradient(term, x, g, &energy);
            assert_true(energy == INFINITY);
            double *wide = widen(g, tables[k]->scalar_size, n);
            for (size_t q = 0; q < n; q++) assert_true(isfinite(wide[q]));
            free(wide);
            free(x);
            free(g);
            hk_tet_term_free(term);
        }
        free_fixture(&f);
    }
}

static void test_threads_give_the_same_bits(void **state)
{
    (void)state;
    fixture f = make_fixture("neo_hookean", 0.15, 12);  // several chunks of blocks
    size_t n = 4 * (size_t)f.model->vertex_count;
    for (int precision = 0; precision < 2; precision++) {
        const hk_lane_table *lanes = hk_lanes_best((hk_precision)precision);
        results one = evaluate(&f, lanes, 1);
        for (int threads = 2; threads <= 4; threads++) {
            results many = evaluate(&f, lanes, threads);
            assert_memory_equal(&many.energy, &one.energy, sizeof(double));
            assert_memory_equal(many.gradient, one.gradient, n * sizeof(double));
            assert_memory_equal(many.diagonal, one.diagonal, n * sizeof(double));
            free_results(&many);
        }
        free_results(&one);
    }
    free_fixture(&f);
}

static void test_gradient_by_differences(void **state)
{
    (void)state;
    for (int m = 0; m < solid_count(); m++) {
        fixture f = make_fixture(hk_material_name(m), 0.15, 2);
        int n = 4 * f.model->vertex_count;
        hk_tet_term *term = make_term(f.model, hk_lanes_best(HK_DOUBLE_PRECISION), 1);
        double *g = aligned_alloc(64, (size_t)n * 8 + 64 - (size_t)n * 8 % 64);
        hk_tet_gradient(term, f.x, g, NULL);
        double error = 0, scale = 0;
        for (int k = 0; k < n; k++) {
            if (k % 4 == 3) continue;
            double h = 1e-6, was = f.x[k];
            f.x[k] = was + h;
            double plus = hk_tet_energy(term, f.x);
            f.x[k] = was - h;
            double minus = hk_tet_energy(term, f.x);
            f.x[k] = was;
            double d = (plus - minus) / (2 * h) - g[k];
            error += d * d;
            scale += g[k] * g[k];
        }
        if (!(error <= 1e-14 * scale))
            fail_msg("%s: %.2e", hk_material_name(m), sqrt(error / scale));
        free(g);
        hk_tet_term_free(term);
        free_fixture(&f);
    }
}

typedef struct assembled {
    hk_tet_term *term;
    hk_assembly *assembly;
    double *stiffness, *values, *weight;
} assembled;

static assembled assemble(const fixture *f, const uint8_t *held, bool project, int threads)
{
    assembled a;
    a.term = make_term(f->model, hk_lanes_best(HK_DOUBLE_PRECISION), threads);
    own_list list;
    list_tets(&list, a.term);
    list.terms.threads = threads;
    CHECK_OK(hk_assembly_create(&list.terms, held, &a.assembly));
    size_t size = (size_t)hk_tet_stiffness_size(a.term) * 8;
    a.stiffness = aligned_alloc(64, (size + 63) / 64 * 64);
    a.values = malloc((size_t)hk_pattern_size(&a.assembly->pattern) * sizeof(double));
    a.weight = malloc((size_t)f->model->vertex_count * sizeof(double));
    for (int v = 0; v < f->model->vertex_count; v++) a.weight[v] = 1 + v % 5;
    hk_tet_stiffness(a.term, f->x, project ? 0 : 1, a.stiffness);
    hk_assemble(a.assembly, a.stiffness, a.weight, a.values);
    return a;
}

static void free_assembled(assembled *a)
{
    hk_assembly_free(a->assembly);
    hk_tet_term_free(a->term);
    free(a->stiffness);
    free(a->values);
    free(a->weight);
}

// H d by the matrix against the difference of gradients along d.
static void test_assembled_matrix_by_differences(void **state)
{
    (void)state;
    for (int m = 0; m < solid_count(); m++) {
        fixture f = make_fixture(hk_material_name(m), 0.15, 3);
        int n = f.model->vertex_count;
        uint8_t *held = calloc((size_t)n, 1);
        for (int v = 0; v < n; v += 5) held[v] = 1;
        assembled a = assemble(&f, held, false, 2);
        int count = a.assembly->pattern.count;
        double *d = calloc(3 * (size_t)count, 8), *Hd = malloc(3 * (size_t)count * 8);
        double *x = aligned_alloc(64, 32 * (size_t)n + 64 - 32 * (size_t)n % 64);
        double *g[2];
        uint64_t seed = 3;
        for (int k = 0; k < 3 * count; k++) d[k] = noise(&seed);
        hk_pattern_multiply(&a.assembly->pattern, a.values, d, Hd);
        double h = 1e-6;
        for (int side = 0; side < 2; side++) {
            memcpy(x, f.x, 32 * (size_t)n);
            for (int b = 0; b < count; b++)
                for (int i = 0; i < 3; i++)
                    x[4 * a.assembly->vertex[b] + i] += (side ? -h : h) * d[3 * b + i];
            g[side] = aligned_alloc(64, 32 * (size_t)n + 64 - 32 * (size_t)n % 64);
            hk_tet_gradient(a.term, x, g[side], NULL);
        }
        double error = 0, scale = 0;
        for (int b = 0; b < count; b++)
            for (int i = 0; i < 3; i++) {
                int v = a.assembly->vertex[b];
                double expected =
                    (g[0][4 * v + i] - g[1][4 * v + i]) / (2 * h) + a.weight[v] * d[3 * b + i];
                error += (Hd[3 * b + i] - expected) * (Hd[3 * b + i] - expected);
                scale += expected * expected;
            }
        if (!(error <= 1e-12 * scale))
            fail_msg("%s: %.2e", hk_material_name(m), sqrt(error / scale));
        free(g[0]);
        free(g[1]);
        free(x);
        free(d);
        free(Hd);
        free(held);
        free_assembled(&a);
        free_fixture(&f);
    }
}

static void test_diagonal_is_the_matrix_diagonal(void **state)
{
    (void)state;
    for (int m = 0; m < solid_count(); m++) {
        fixture f = make_fixture(hk_material_name(m), 0.15, 3);
        int n = f.model->vertex_count;
        uint8_t *held = calloc((size_t)n, 1);
        assembled a = assemble(&f, held, false, 1);
        double *diagonal = aligned_alloc(64, 32 * (size_t)n + 64 - 32 * (size_t)n % 64);
        hk_tet_diagonal(a.term, f.x, diagonal);
        for (int b = 0; b < n; b++)
            for (int c = 0; c < 3; c++) {
                int v = a.assembly->vertex[b];
                double entry =
                    a.values[hk_pattern_column(&a.assembly->pattern, b, c)] - a.weight[v];
                if (!(fabs(entry - diagonal[4 * v + c]) <= 1e-9 * fabs(entry)))
                    fail_msg("%s, vertex %d: %.15g, not %.15g", hk_material_name(m), v,
                             diagonal[4 * v + c], entry);
            }
        free(diagonal);
        free(held);
        free_assembled(&a);
        free_fixture(&f);
    }
}

static void test_assembly_is_the_same_for_any_threads(void **state)
{
    (void)state;
    fixture f = make_fixture("stable_neo_hookean", 0.15, 6);
    uint8_t *held = calloc((size_t)f.model->vertex_count, 1);
    assembled one = assemble(&f, held, true, 1);
    for (int threads = 2; threads <= 4; threads += 2) {
        assembled many = assemble(&f, held, true, threads);
        assert_memory_equal(one.values, many.values,
                            (size_t)hk_pattern_size(&one.assembly->pattern) * 8);
        free_assembled(&many);
    }
    free_assembled(&one);
    free(held);
    free_fixture(&f);
}

static void test_undefined_tet_is_found(void **state)
{
    (void)state;
    fixture f = make_fixture("neo_hookean", 0, 3);
    hk_tet_term *term = make_term(f.model, hk_lanes_best(HK_DOUBLE_PRECISION), 2);
    assert_int_equal(hk_tet_first_undefined(term, f.x), -1);
    // Pull one corner of tet 40 through the opposite face.
    int v = f.model->place[f.model->tets[4 * 40]];
    for (int i = 0; i < 3; i++) f.x[4 * v + i] += 5;
    assert_true(isinf(hk_tet_energy(term, f.x)));
    int found = hk_tet_first_undefined(term, f.x);
    bool touches = false;
    for (int c = 0; c < 4; c++) touches |= f.model->place[f.model->tets[4 * found + c]] == v;
    assert_true(touches);
    hk_tet_term_free(term);
    free_fixture(&f);
}

// A law that overflows in one tet of many: that one is named, though none is inverted.
static void test_overflowing_tet_is_found(void **state)
{
    (void)state;
    fixture f = make_fixture("fung", 0, 2);
    const hk_model *m = f.model;
    const hk_lane_table *tables[8];
    int count = hk_lanes_available(tables, 8), last = m->vertex_count - 1;  // a corner of the box
    double *x =
        aligned_alloc(64, 32 * (size_t)m->vertex_count + 64 - 32 * (size_t)m->vertex_count % 64);
    double *P = malloc(72 * (size_t)m->tet_count), *F = malloc(72 * (size_t)m->tet_count);
    for (int k = 0; k < count; k++) {
        if (tables[k]->scalar_size != 8) continue;
        hk_tet_term *term = make_term(m, tables[k], 1);
        memcpy(x, f.x, 32 * (size_t)m->vertex_count);
        assert_int_equal(hk_tet_first_undefined(term, x), -1);
        for (int i = 0; i < 3; i++) x[4 * m->place[last] + i] += 100;  // outwards
        int found = hk_tet_first_undefined(term, x);
        assert_true(found >= 0);
        hk_tet_stress(term, x, P, F);
        const double *g = F + 9 * (size_t)found;
        assert_true(g[0] * (g[4] * g[8] - g[5] * g[7]) + g[1] * (g[5] * g[6] - g[3] * g[8]) +
                        g[2] * (g[3] * g[7] - g[4] * g[6]) >
                    0);
        hk_material_def fung = material_of("fung", 1e5, 0.4);
        double energy;
        CHECK_OK(hk_material_evaluate(&fung, g, false, &energy, NULL, NULL));
        assert_true(energy == INFINITY);
        hk_tet_term_free(term);
    }
    free(x);
    free(P);
    free(F);
    free_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes_agree),
        cmocka_unit_test(test_lanes_agree_at_delicate_states),
        cmocka_unit_test(test_single_precision_near_rest),
        cmocka_unit_test(test_barriers_in_all_lanes),
        cmocka_unit_test(test_threads_give_the_same_bits),
        cmocka_unit_test(test_gradient_by_differences),
        cmocka_unit_test(test_assembled_matrix_by_differences),
        cmocka_unit_test(test_diagonal_is_the_matrix_diagonal),
        cmocka_unit_test(test_assembly_is_the_same_for_any_threads),
        cmocka_unit_test(test_undefined_tet_is_found),
        cmocka_unit_test(test_overflowing_tet_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
