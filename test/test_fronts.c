// Factorisations by fronts against CHOLMOD's, LU factorisations and GMRES against what they were
// made from.
#include "bodies.h"

#include "design/gmres.h"
#include "linear/fronts.h"
#include "linear/lu.h"
#include "solver/problem.h"
#include "term/assembly.h"

typedef struct setup {
    hk_model *model;
    hk_problem *problem;
    hk_assembly *assembly;
    hk_direct *direct;
    double *matrix;  // the stiffness of a held box
} setup;

static setup make(int cells)
{
    setup s = {0};
    hk_body_def body = hk_default_body_def();
    hk_selector wall = select_box(0, -1, -1, 0, 2, 2);
    body.fixes = &wall;
    body.fix_count = 1;
    s.model = model_of(&body, box_mesh(1, 1, 1, cells, cells, cells), 0);
    CHECK_OK(hk_problem_create(s.model, 1, NULL, &s.problem));
    CHECK_OK(hk_assembly_create(s.problem->terms, s.problem->held, &s.assembly));
    s.matrix = malloc(sizeof(double) * (size_t)hk_pattern_size(&s.assembly->pattern));
    double *blocks = HK_ARRAY(double, hk_terms_block_size(s.problem->terms));
    hk_problem_blocks(s.problem, s.problem->rest, 1, blocks);
    hk_assemble(s.assembly, blocks, s.problem->inertia, s.matrix);
    hk_free(blocks);
    CHECK_OK(hk_direct_create(&s.assembly->pattern, &s.direct));
    return s;
}

static void drop(setup *s)
{
    hk_direct_free(s->direct);
    hk_assembly_free(s->assembly);
    hk_problem_free(s->problem);
    hk_model_free(s->model);
    free(s->matrix);
}

static void test_fronts_are_the_factor(void **state)
{
    (void)state;
    setup s = make(8);
    bool positive;
    hk_fronts *fronts[2];
    hk_supernodes want, have[2];
    for (int t = 0; t < 2; t++) {
        CHECK_OK(hk_fronts_create(s.direct, &s.assembly->pattern, t + 1, &fronts[t]));
        CHECK_OK(hk_fronts_factor(fronts[t], s.matrix, &positive));
        assert_true(positive);
        have[t] = hk_fronts_supernodes(fronts[t]);
    }
    CHECK_OK(hk_direct_factor(s.direct, s.matrix, &positive));
    CHECK_OK(hk_direct_supernodes(s.direct, &want));
    assert_int_equal(want.count, have[0].count);
    double largest = 0, off = 0;
    for (int k = 0; k < want.count; k++) {
        int rows = want.row_start[k + 1] - want.row_start[k];
        for (int c = 0; c < want.first[k + 1] - want.first[k]; c++)
            for (int r = c; r < rows; r++) {  // what is above the diagonal is nobody's
                int at = want.value_start[k] + r + c * rows;
                largest = fmax(largest, fabs(want.value[at]));
                off = fmax(off, fabs(want.value[at] - have[0].value[at]));
                assert_true(have[0].value[at] == have[1].value[at]);
            }
    }
    assert_true(off <= 1e-12 * largest);
    // Not positive: told, and the next matrix is none the worse.
    double kept = s.matrix[hk_pattern_column(&s.assembly->pattern, 100, 1)];
    s.matrix[hk_pattern_column(&s.assembly->pattern, 100, 1)] = -kept;
    CHECK_OK(hk_fronts_factor(fronts[1], s.matrix, &positive));
    assert_false(positive);
    s.matrix[hk_pattern_column(&s.assembly->pattern, 100, 1)] = kept;
    CHECK_OK(hk_fronts_factor(fronts[1], s.matrix, &positive));
    assert_true(positive);
    for (int t = 0; t < 2; t++) hk_fronts_free(fronts[t]);
    drop(&s);
}

// A band that is not symmetric, and one that is singular.
static void test_lu_solves(void **state)
{
    (void)state;
    if (!hk_lu_available()) SKIP("this build has no UMFPACK");
    enum { N = 200, BAND = 3 };
    int32_t start[N + 1], row[N * (2 * BAND + 1)];
    double values[N * (2 * BAND + 1)], x[N], b[N] = {0}, found[N];
    uint64_t seed = 4;
    int at = 0;
    for (int c = 0; c < N; c++) {
        start[c] = at;
        x[c] = noise(&seed);
        for (int r = c - BAND; r <= c + BAND; r++) {
            if (r < 0 || r >= N) continue;
            row[at] = r;
            values[at] = noise(&seed) + (r == c ? 4 : 0);
            b[r] += values[at++] * x[c];
        }
    }
    start[N] = at;
    hk_lu *lu;
    bool regular;
    CHECK_OK(hk_lu_create(N, start, row, &lu));
    CHECK_OK(hk_lu_factor(lu, values, &regular));
    assert_true(regular && hk_lu_size(lu) > at / 2);
    CHECK_OK(hk_lu_solve(lu, b, found));
    for (int k = 0; k < N; k++) assert_true(fabs(found[k] - x[k]) <= 1e-12);
    for (int k = start[7]; k < start[8]; k++) values[k] = 0;
    CHECK_OK(hk_lu_factor(lu, values, &regular));
    assert_false(regular);
    hk_lu_free(lu);
}

// Each vertex turned and stretched, and mixed with the next one.
static hk_status apply(void *context, const double *from, double *to)
{
    const hk_problem *p = context;
    memset(to, 0, 4 * sizeof *to * (size_t)p->vertex_count);
    for (int k = 0; k < p->vertex_count; k++) {
        if (p->held[k]) continue;
        const double *u = from + 4 * k;
        double *v = to + 4 * k;
        v[0] = 3 * u[0] - u[1];
        v[1] = 2 * u[1] + u[0];
        v[2] = 2.5 * u[2] + 0.3 * u[0];
        if (k > 0 && !p->held[k - 1]) v[1] += 0.4 * from[4 * (k - 1) + 2];
    }
    return HK_OK;
}

static void test_gmres_solves(void **state)
{
    (void)state;
    setup s = make(3);
    hk_problem *p = s.problem;
    size_t size = 4 * (size_t)p->vertex_count;
    double *x = HK_ZEROS(double, size), *b = HK_ZEROS(double, size);
    double *found = HK_ZEROS(double, size), left;
    uint64_t seed = 8;
    int iterations, fewer;
    for (int k = 0; k < p->vertex_count; k++)
        for (int i = 0; i < 3; i++) x[4 * k + i] = p->held[k] ? 0 : noise(&seed);
    apply(p, x, b);
    hk_gmres gmres = {.problem = p};
    CHECK_OK(hk_gmres_solve(&gmres, apply, p, 1e-2, 40, b, found, &fewer, &left));
    assert_true(left <= 1e-2);
    CHECK_OK(hk_gmres_solve(&gmres, apply, p, 1e-10, 40, b, found, &iterations, &left));
    assert_true(left <= 1e-10 && iterations > fewer && iterations < 40);
    for (size_t k = 0; k < size; k++) assert_true(fabs(found[k] - x[k]) <= 1e-8);
    memset(b, 0, size * sizeof *b);
    CHECK_OK(hk_gmres_solve(&gmres, apply, p, 1e-10, 40, b, found, &iterations, &left));
    assert_int_equal(iterations, 0);
    for (size_t k = 0; k < size; k++) assert_true(found[k] == 0);
    hk_gmres_release(&gmres);
    hk_free(x);
    hk_free(b);
    hk_free(found);
    drop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fronts_are_the_factor),
        cmocka_unit_test(test_lu_solves),
        cmocka_unit_test(test_gmres_solves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
