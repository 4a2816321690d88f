// Springs, bending and attachments: derivatives against finite differences, invariances, the
// energies that they stand for, single against double precision, bits for any number of threads.
#include "sheets.h"
#include "term_lists.h"

#include "solver/problem.h"
#include "term/assembly.h"

enum { SPRINGS, FLAT, CURVED, ATTACHED, KINDS };
static const char *const KIND_NAMES[KINDS] = {"springs", "flat bending", "curved bending",
                                              "attachments"};

static void dome(const double from[3], double to[3])
{
    to[0] = from[0], to[2] = from[2];
    to[1] = 0.4 * from[0] * (1 - from[0]) + 0.3 * from[2] * from[2];
}

// A sheet in which one kind of link is strong and the others weak (springs) or absent.
static hk_model *kind_model(int kind, int cells)
{
    hk_body_def body = hk_default_body_def();
    body.material =
        cloth_of(kind == SPRINGS ? 100 : 1e-9, kind == FLAT || kind == CURVED ? 1 : 0, 0.3);
    hk_attach_def attach = {
        .def_size = sizeof(hk_attach_def), .select = {.kind = HK_SELECT_ALL}, .stiffness = 50};
    body.attachments = &attach;
    body.attachment_count = kind == ATTACHED;
    hk_mesh *mesh = sheet_mesh(1, 0.8, cells, cells);
    if (kind == CURVED) bend_mesh(mesh, dome);
    return model_of(&body, mesh, 0);
}

typedef struct fixture {
    hk_model *model;
    hk_links *links;
    int count;  // vertices
    double *x;  // [count][4] Morton order
} fixture;

// At the rest positions, scaled and disturbed.
static fixture make_fixture(int kind, int cells, double scale, double amount)
{
    fixture f = {.model = kind_model(kind, cells)};
    CHECK_OK(hk_links_create(f.model, HK_DOUBLE_PRECISION, 1, &f.links));
    f.count = f.model->vertex_count;
    f.x = aligned_alloc(64, 64 * (((size_t)f.count * 4 * sizeof(double) + 63) / 64));
    uint64_t seed = 7;
    for (int k = 0; k < f.count; k++) {
        for (int i = 0; i < 3; i++)
            f.x[4 * k + i] =
                scale * (f.model->rest[3 * f.model->order[k] + i] + amount * noise(&seed));
        f.x[4 * k + 3] = 0;
    }
    return f;
}

static void free_fixture(fixture *f)
{
    hk_links_free(f->links);
    hk_model_free(f->model);
    free(f->x);
}

static double *vectors(const fixture *f)
{
    double *v = calloc(4 * (size_t)f->count, sizeof *v);
    assert_non_null(v);
    return v;
}

static double norm(const double *v, int count)
{
    double sum = 0;
    for (int k = 0; k < count; k++) sum += v[k] * v[k];
    return sqrt(sum);
}

static const struct {
    const char *label;
    double scale, amount;
} STATES[] = {{"at rest", 1, 0},
              {"disturbed", 1, 0.01},
              {"stretched", 1.4, 0.02},
              {"compressed", 0.6, 0.01},
              {"nearly a point", 0.02, 0.05}};
enum { STATE_COUNT = sizeof STATES / sizeof STATES[0] };

// ---------------------------------------------------------------- derivatives

static double gradient_error(fixture *f, double h)
{
    double *g = vectors(f), energy, error = 0, scale = 0;
    hk_links_add_gradient(f->links, f->x, g, &energy);
    assert_true(fabs(energy - hk_links_energy(f->links, f->x)) <= 1e-14 * fabs(energy));
    for (int k = 0; k < 4 * f->count; k++) {
        if (k % 4 == 3) {
            assert_true(g[k] == 0);
            continue;
        }
        double kept = f->x[k];
        f->x[k] = kept + h;
        double plus = hk_links_energy(f->links, f->x);
        f->x[k] = kept - h;
        double minus = hk_links_energy(f->links, f->x);
        f->x[k] = kept;
        error = fmax(error, fabs((plus - minus) / (2 * h) - g[k]));
        for (int link = 0; link < f->links->link_count; link++)
            scale = fmax(scale, f->links->stiffness[link]);
    }
    free(g);
    return error / scale;
}

static void test_gradient_is_the_derivative(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int s = 0; s < STATE_COUNT; s++) {
            fixture f = make_fixture(kind, 3, STATES[s].scale, STATES[s].amount);
            // The directions of short links turn quickly: smaller steps for them.
            double error = gradient_error(&f, 1e-6 * STATES[s].scale);
            if (!(error <= 1e-7))
                fail_msg("%s, %s: gradient off by %.1e", KIND_NAMES[kind], STATES[s].label, error);
            free_fixture(&f);
        }
}

typedef struct matrix {
    own_list list;
    hk_assembly *assembly;
    double *stiffness, *values, *weight;
} matrix;

static matrix assemble(const fixture *f, double keep)
{
    matrix a;
    list_links(&a.list, f->links);
    uint8_t *held = calloc((size_t)f->count, 1);
    CHECK_OK(hk_assembly_create(&a.list.terms, held, &a.assembly));
    free(held);
    a.stiffness = calloc(HK_LINK_STIFFNESS * (size_t)f->links->link_count + 1, sizeof(double));
    a.values = calloc((size_t)hk_pattern_size(&a.assembly->pattern), sizeof(double));
    a.weight = calloc((size_t)f->count, sizeof(double));
    hk_links_stiffness(f->links, f->x, keep, a.stiffness);
    hk_assemble(a.assembly, a.stiffness, a.weight, a.values);
    return a;
}

static void free_matrix(matrix *a)
{
    hk_assembly_free(a->assembly);
    free(a->stiffness);
    free(a->values);
    free(a->weight);
}

// y = H d, vectors as those of the term.
static void multiply(const fixture *f, const matrix *a, const double *d, double *y)
{
    double *in = vectors(f), *out = vectors(f);
    for (int b = 0; b < f->count; b++)
        for (int i = 0; i < 3; i++) in[3 * b + i] = d[4 * a->assembly->vertex[b] + i];
    hk_pattern_multiply(&a->assembly->pattern, a->values, in, out);
    memset(y, 0, 4 * sizeof *y * (size_t)f->count);
    for (int b = 0; b < f->count; b++)
        for (int i = 0; i < 3; i++) y[4 * a->assembly->vertex[b] + i] = out[3 * b + i];
    free(in);
    free(out);
}

static void difference(const fixture *f, const double *d, double h, double *y)
{
    double *x = vectors(f), *plus = vectors(f), *minus = vectors(f);
    for (int k = 0; k < 4 * f->count; k++) x[k] = f->x[k] + h * d[k];
    hk_links_add_gradient(f->links, x, plus, NULL);
    for (int k = 0; k < 4 * f->count; k++) x[k] = f->x[k] - h * d[k];
    hk_links_add_gradient(f->links, x, minus, NULL);
    for (int k = 0; k < 4 * f->count; k++) y[k] = (plus[k] - minus[k]) / (2 * h);
    free(x);
    free(plus);
    free(minus);
}

static void test_hessian_is_the_second_derivative(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int s = 0; s < STATE_COUNT; s++) {
            fixture f = make_fixture(kind, 3, STATES[s].scale, STATES[s].amount);
            matrix a = assemble(&f, 1);
            double *d = vectors(&f), *y = vectors(&f), *z = vectors(&f), *w = vectors(&f);
            uint64_t seed = 11;
            for (int k = 0; k < 4 * f.count; k++) d[k] = k % 4 < 3 ? noise(&seed) : 0;
            multiply(&f, &a, d, y);
            difference(&f, d, 1e-6 * STATES[s].scale, z);
            list_links(&a.list, f.links);
            hk_terms_add_product(&a.list.terms, a.stiffness, d, w);
            double scale = norm(y, 4 * f.count);
            for (int k = 0; k < 4 * f.count; k++) {
                z[k] -= y[k];
                w[k] -= y[k];
            }
            double error = norm(z, 4 * f.count) / scale, product = norm(w, 4 * f.count) / scale;
            if (!(error <= 1e-7 && product <= 1e-13))
                fail_msg("%s, %s: Hessian off by %.1e, product by %.1e", KIND_NAMES[kind],
                         STATES[s].label, error, product);
            free(d);
            free(y);
            free(z);
            free(w);
            free_matrix(&a);
            free_fixture(&f);
        }
}

static void test_diagonal_is_that_of_the_hessian(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int s = 0; s < STATE_COUNT; s++)
            for (int keep = 0; keep < 2; keep++) {
                fixture f = make_fixture(kind, 3, STATES[s].scale, STATES[s].amount);
                matrix a = assemble(&f, keep);
                double *diagonal = vectors(&f), largest = 0;
                hk_links_add_diagonal(f.links, f.x, keep, diagonal);
                for (int k = 0; k < 4 * f.count; k++) largest = fmax(largest, fabs(diagonal[k]));
                for (int b = 0; b < f.count; b++)
                    for (int i = 0; i < 3; i++) {
                        double entry = a.values[hk_pattern_column(&a.assembly->pattern, b, i)];
                        double own = diagonal[4 * a.assembly->vertex[b] + i];
                        if (!(fabs(own - entry) <= 1e-13 * largest))
                            fail_msg("%s, %s: diagonal %g, not %g", KIND_NAMES[kind],
                                     STATES[s].label, own, entry);
                    }
                free(diagonal);
                free_matrix(&a);
                free_fixture(&f);
            }
}

// With keep 0 the matrix is positive semidefinite, with keep 1 under pressure it is not.
static void test_projection_makes_positive(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        fixture f = make_fixture(kind, 3, 0.6, 0.001);
        matrix exact = assemble(&f, 1), projected = assemble(&f, 0);
        double *d = vectors(&f), *y = vectors(&f), least = INFINITY, least_exact = INFINITY;
        uint64_t seed = 5;
        for (int trial = 0; trial < 200; trial++) {
            // Across the links: a compressed sheet wants to buckle, a flattened dome to slide.
            for (int k = 0; k < 4 * f.count; k++)
                d[k] = k % 4 == (kind == CURVED ? 0 : 1) ? noise(&seed) : 0;
            for (int which = 0; which < 2; which++) {
                double curvature = 0;
                multiply(&f, which ? &projected : &exact, d, y);
                for (int k = 0; k < 4 * f.count; k++) curvature += d[k] * y[k];
                if (which)
                    least = fmin(least, curvature);
                else
                    least_exact = fmin(least_exact, curvature);
            }
        }
        assert_true(least >= -1e-12);
        assert_int_equal(least_exact < 0, kind == SPRINGS || kind == CURVED);
        free(d);
        free(y);
        free_matrix(&exact);
        free_matrix(&projected);
        free_fixture(&f);
    }
}

// All vertices in one place: no direction, no force, no NaN.
static void test_a_point_has_no_direction(void **state)
{
    (void)state;
    for (int kind = SPRINGS; kind <= CURVED; kind++) {
        fixture f = make_fixture(kind, 3, 0, 0);
        double *g = vectors(&f), *diagonal = vectors(&f), energy, rest = 0;
        hk_links_add_gradient(f.links, f.x, g, &energy);
        for (int k = 0; k < f.links->link_count; k++)
            rest += f.links->stiffness[k] / 2 * f.links->rest[k] * f.links->rest[k];
        assert_true(fabs(energy - rest) <= 1e-14 * rest);
        assert_true(norm(g, 4 * f.count) == 0);
        hk_links_add_diagonal(f.links, f.x, 1, diagonal);
        for (int k = 0; k < 4 * f.count; k++)
            assert_true(isfinite(diagonal[k]) && (k % 4 == 3 || diagonal[k] > 0));
        matrix a = assemble(&f, 1);
        for (int k = 0; k < HK_LINK_STIFFNESS * f.links->link_count; k++)
            assert_true(isfinite(a.stiffness[k]));
        free_matrix(&a);
        free(g);
        free(diagonal);
        free_fixture(&f);
    }
}

// ---------------------------------------------------------------- invariance

static void test_internal_forces_balance(void **state)
{
    (void)state;
    for (int kind = SPRINGS; kind <= CURVED; kind++)
        for (int s = 1; s < STATE_COUNT; s++) {
            fixture f = make_fixture(kind, 4, STATES[s].scale, STATES[s].amount);
            double *g = vectors(&f), force[3] = {0}, torque[3] = {0}, size = 0;
            hk_links_add_gradient(f.links, f.x, g, NULL);
            for (int v = 0; v < f.count; v++)
                for (int i = 0; i < 3; i++) {
                    int j = (i + 1) % 3, k = (i + 2) % 3;
                    force[i] += g[4 * v + i];
                    torque[i] += f.x[4 * v + j] * g[4 * v + k] - f.x[4 * v + k] * g[4 * v + j];
                    size += fabs(g[4 * v + i]);
                }
            for (int i = 0; i < 3; i++)
                if (!(fabs(force[i]) <= 1e-13 * size && fabs(torque[i]) <= 1e-13 * size))
                    fail_msg("%s, %s: force %g, torque %g of %g", KIND_NAMES[kind], STATES[s].label,
                             force[i], torque[i], size);
            free(g);
            free_fixture(&f);
        }
}

static void test_energy_does_not_depend_on_the_frame(void **state)
{
    (void)state;
    static const double Q[3][3] = {{0.36, 0.48, -0.8}, {-0.8, 0.6, 0}, {0.48, 0.64, 0.6}};
    for (int kind = SPRINGS; kind <= CURVED; kind++) {
        fixture f = make_fixture(kind, 4, 1.1, 0.03);
        double before = hk_links_energy(f.links, f.x);
        for (int v = 0; v < f.count; v++) {
            double y[3];
            for (int i = 0; i < 3; i++)
                y[i] = Q[i][0] * f.x[4 * v] + Q[i][1] * f.x[4 * v + 1] + Q[i][2] * f.x[4 * v + 2] +
                       0.3;
            memcpy(f.x + 4 * v, y, sizeof y);
        }
        double after = hk_links_energy(f.links, f.x);
        assert_true(before > 0);
        assert_true(fabs(after - before) <= 1e-12 * before);
        free_fixture(&f);
    }
}

// ---------------------------------------------------------------- what the energies stand for

// A strain along one side: stretch/2 (1 + 1/4) of its square per area, by hand for squares cut in
// half, whatever their number.
static void test_stretch_does_not_depend_on_resolution(void **state)
{
    (void)state;
    const double strain = 1e-5;
    for (int cells = 1; cells <= 32; cells *= 2) {
        hk_body_def body = hk_default_body_def();
        body.material = cloth_of(200, 0, 1);
        hk_model *model = model_of(&body, sheet_mesh(1, 1, cells, cells), 0);
        hk_links *links;
        CHECK_OK(hk_links_create(model, HK_DOUBLE_PRECISION, 1, &links));
        double *x = calloc(4 * (size_t)model->vertex_count, sizeof *x);
        for (int k = 0; k < model->vertex_count; k++) {
            const double *rest = model->rest + 3 * model->order[k];
            x[4 * k] = (1 + strain) * rest[0];
            x[4 * k + 1] = rest[1];
            x[4 * k + 2] = rest[2];
        }
        double expected = 200.0 / 2 * 1.25 * strain * strain;
        assert_true(fabs(hk_links_energy(links, x) - expected) <= 1e-4 * expected);
        free(x);
        hk_links_free(links);
        hk_model_free(model);
    }
}

// For regular triangles `stretch` is Young's modulus × thickness and Poisson's ratio is 1/3: a
// rhombus of them in plane strain has 9/16 stretch ε².
static void test_regular_triangles_are_isotropic(void **state)
{
    (void)state;
    enum { N = 6 };
    double positions[(N + 1) * (N + 1) * 3];
    int32_t triangles[6 * N * N];
    for (int j = 0; j <= N; j++)
        for (int i = 0; i <= N; i++) {
            double *p = positions + 3 * (i + (N + 1) * j);
            p[0] = i + 0.5 * j, p[1] = 0, p[2] = sqrt(0.75) * j;
        }
    for (int j = 0, t = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            int32_t a = i + (N + 1) * j, b = a + 1, c = a + N + 1, d = c + 1;
            const int32_t two[6] = {a, b, c, b, d, c};
            memcpy(triangles + 6 * t++, two, sizeof two);
        }
    hk_mesh *mesh;
    CHECK_OK(
        hk_mesh_from_arrays((N + 1) * (N + 1), positions, 0, NULL, 2 * N * N, triangles, &mesh));
    hk_body_def body = hk_default_body_def();
    body.material = cloth_of(70, 0, 1);
    hk_model *model = model_of(&body, mesh, 0);
    hk_links *links;
    CHECK_OK(hk_links_create(model, HK_DOUBLE_PRECISION, 1, &links));
    double area = N * N * sqrt(0.75), strain = 1e-5, x[4 * (N + 1) * (N + 1)] = {0};
    for (int degrees = 0; degrees < 180; degrees += 15) {
        double c = cos(degrees * M_PI / 180), s = sin(degrees * M_PI / 180);
        for (int k = 0; k < model->vertex_count; k++) {
            const double *rest = model->rest + 3 * model->order[k];
            double along = c * rest[0] + s * rest[2];
            x[4 * k] = rest[0] + strain * along * c;
            x[4 * k + 2] = rest[2] + strain * along * s;
        }
        double expected = 9.0 / 16 * 70 * strain * strain * area;
        assert_true(fabs(hk_links_energy(links, x) - expected) <= 1e-4 * expected);
    }
    hk_links_free(links);
    hk_model_free(model);
}

// Bent to a cylinder, ‖Δx‖ is 1/R: bending/2 area/R², of which the border of half a cell is
// missing.
static double cylinder_energy(int cells, double jitter)
{
    const double R = 0.5;
    hk_body_def body = hk_default_body_def();
    body.material = cloth_of(1e-9, 1, 1);
    hk_mesh *mesh = sheet_mesh(1, 1, cells, cells);
    int count = hk_mesh_vertex_count(mesh);
    double *p = malloc(3 * sizeof(double) * (size_t)count);
    memcpy(p, hk_mesh_positions(mesh), 3 * sizeof(double) * (size_t)count);
    uint64_t seed = 3;
    for (int v = 0; v < count; v++)
        for (int i = 0; i < 3; i += 2) p[3 * v + i] += jitter / cells * noise(&seed);
    CHECK_OK(hk_mesh_set_positions(mesh, p));
    free(p);
    hk_model *model = model_of(&body, mesh, 0);
    hk_links *links;
    CHECK_OK(hk_links_create(model, HK_DOUBLE_PRECISION, 1, &links));
    double *x = calloc(4 * (size_t)count, sizeof *x);
    for (int k = 0; k < count; k++) {
        const double *rest = model->rest + 3 * model->order[k];
        x[4 * k] = R * sin(rest[0] / R);
        x[4 * k + 1] = R * cos(rest[0] / R);
        x[4 * k + 2] = rest[2];
    }
    double energy = hk_links_energy(links, x);
    free(x);
    hk_links_free(links);
    hk_model_free(model);
    return energy / (0.5 * 1 / (R * R));
}

static void test_bending_energy_of_a_cylinder(void **state)
{
    (void)state;
    double before = INFINITY;
    for (int cells = 10; cells <= 80; cells *= 2) {
        double share = cylinder_energy(cells, 0), error = fabs(share - 1);
        double inner = (1 - 1.0 / cells) * (1 - 1.0 / cells);
        print_message("%d cells: %.4f of the bending energy of a cylinder\n", cells, share);
        assert_true(fabs(share / inner - 1) <= 0.1 / cells);
        assert_true(error < 0.6 * before);
        before = error;
    }
    assert_true(before < 0.03);
    // Also with triangles of all shapes.
    double share = cylinder_energy(80, 0.2);
    print_message("irregular: %.4f\n", share);
    assert_true(fabs(share - 1) < 0.1);
}

static void test_curved_sheets_rest(void **state)
{
    (void)state;
    fixture f = make_fixture(CURVED, 6, 1, 0);
    double *g = vectors(&f), energy;
    hk_links_add_gradient(f.links, f.x, g, &energy);
    assert_true(energy < 1e-20 && norm(g, 4 * f.count) < 1e-10);
    int curved = 0;
    for (int k = 0; k < f.model->bend_count; k++) curved += f.model->bends[k].rest > 0;
    assert_int_equal(curved, f.model->bend_count);
    assert_int_equal(curved, 25);
    free(g);
    free_fixture(&f);
    f = make_fixture(FLAT, 6, 1, 0);
    for (int k = 0; k < f.model->bend_count; k++) assert_true(f.model->bends[k].rest == 0);
    free_fixture(&f);
}

// ---------------------------------------------------------------- precision, threads

static void test_single_precision_agrees(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int s = 1; s < STATE_COUNT - 1; s++) {
            fixture f = make_fixture(kind, 6, STATES[s].scale, STATES[s].amount);
            hk_links *single;
            CHECK_OK(hk_links_create(f.model, HK_SINGLE, 1, &single));
            float *x = malloc(4 * sizeof *x * (size_t)f.count);
            float *g = calloc(4 * (size_t)f.count, sizeof *g);
            float *d = calloc(4 * (size_t)f.count, sizeof *d);
            float *b = calloc(HK_LINK_STIFFNESS * (size_t)single->link_count, sizeof *b);
            // Both at what single precision can hold.
            for (int k = 0; k < 4 * f.count; k++) f.x[k] = x[k] = (float)f.x[k];
            double *G = vectors(&f), *D = vectors(&f), energy, Energy, worst = 0;
            double *B = calloc(HK_LINK_STIFFNESS * (size_t)single->link_count, sizeof *B);
            hk_links_add_gradient(f.links, f.x, G, &Energy);
            hk_links_add_gradient(single, x, g, &energy);
            hk_links_add_diagonal(f.links, f.x, 1, D);
            hk_links_add_diagonal(single, x, 1, d);
            hk_links_stiffness(f.links, f.x, 1, B);
            hk_links_stiffness(single, x, 1, b);
            assert_true(hk_links_energy(single, x) == energy);
            double stiffest = 0;
            for (int k = 0; k < single->link_count; k++)
                stiffest = fmax(stiffest, single->stiffness[k]);
            for (int k = 0; k < 4 * f.count; k++) {
                worst = fmax(worst, fabs(g[k] - G[k]) / stiffest);
                worst = fmax(worst, fabs(d[k] - D[k]) / (100 * stiffest));
            }
            for (int k = 0; k < HK_LINK_STIFFNESS * single->link_count; k++)
                worst = fmax(worst, fabs(b[k] - B[k]) / (100 * stiffest));
            if (!(fabs(energy - Energy) <= 1e-5 * Energy + 1e-9 * stiffest && worst <= 3e-6))
                fail_msg("%s, %s: energy %g and %g, worst %.1e", KIND_NAMES[kind], STATES[s].label,
                         energy, Energy, worst);
            free(x);
            free(g);
            free(d);
            free(b);
            free(B);
            free(G);
            free(D);
            hk_links_free(single);
            free_fixture(&f);
        }
}

static void test_threads_do_not_change_bits(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        fixture f = make_fixture(kind, 40, 1.1, 0.01);
        hk_links *two;
        CHECK_OK(hk_links_create(f.model, HK_DOUBLE_PRECISION, 2, &two));
        double *a = vectors(&f), *b = vectors(&f), one_energy, two_energy;
        size_t bytes = 4 * sizeof(double) * (size_t)f.count;
        hk_links_add_gradient(f.links, f.x, a, &one_energy);
        hk_links_add_gradient(two, f.x, b, &two_energy);
        assert_memory_equal(a, b, bytes);
        assert_memory_equal(&one_energy, &two_energy, sizeof one_energy);
        hk_links_add_diagonal(f.links, f.x, 1, a);
        hk_links_add_diagonal(two, f.x, 1, b);
        assert_memory_equal(a, b, bytes);
        double *A = malloc(HK_LINK_STIFFNESS * sizeof *A * (size_t)two->link_count);
        double *B = malloc(HK_LINK_STIFFNESS * sizeof *B * (size_t)two->link_count);
        hk_links_stiffness(f.links, f.x, 0.5, A);
        hk_links_stiffness(two, f.x, 0.5, B);
        assert_memory_equal(A, B, HK_LINK_STIFFNESS * sizeof *A * (size_t)two->link_count);
        free(A);
        free(B);
        free(a);
        free(b);
        hk_links_free(two);
        free_fixture(&f);
    }
}

static void test_targets_can_be_moved(void **state)
{
    (void)state;
    fixture f = make_fixture(ATTACHED, 2, 1, 0);
    assert_int_equal(f.links->attachment_count, 9);
    assert_true(hk_links_energy(f.links, f.x) < 1e-20);
    const hk_attachment *last = &f.model->attachments[8];
    const double *rest = f.model->rest + 3 * last->vertex;
    hk_links_set_target(f.links, 8, (double[3]){rest[0], rest[1] + 0.2, rest[2]});
    assert_true(fabs(hk_links_energy(f.links, f.x) - 50.0 / 2 * 0.04) < 1e-12);
    double *g = vectors(&f);
    hk_links_add_gradient(f.links, f.x, g, NULL);
    assert_true(fabs(g[4 * f.model->place[last->vertex] + 1] + 50 * 0.2) < 1e-12);
    free(g);
    free_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient_is_the_derivative),
        cmocka_unit_test(test_hessian_is_the_second_derivative),
        cmocka_unit_test(test_diagonal_is_that_of_the_hessian),
        cmocka_unit_test(test_projection_makes_positive),
        cmocka_unit_test(test_a_point_has_no_direction),
        cmocka_unit_test(test_internal_forces_balance),
        cmocka_unit_test(test_energy_does_not_depend_on_the_frame),
        cmocka_unit_test(test_stretch_does_not_depend_on_resolution),
        cmocka_unit_test(test_regular_triangles_are_isotropic),
        cmocka_unit_test(test_bending_energy_of_a_cylinder),
        cmocka_unit_test(test_curved_sheets_rest),
        cmocka_unit_test(test_single_precision_agrees),
        cmocka_unit_test(test_threads_do_not_change_bits),
        cmocka_unit_test(test_targets_can_be_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
