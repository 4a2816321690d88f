// Filling a body given by a signed distance: on the surface, sound, of good shape, the same always.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "failing_alloc.h"
#include "mesh/stuffing.h"

static const double pi = 3.14159265358979323846;

static double ball(const void *context, const double p[3])
{
    return sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) - *(const double *)context;
}

// A ring around the y axis.
static double ring(const void *context, const double p[3])
{
    const double *r = context;
    return hypot(hypot(p[0], p[2]) - r[0], p[1]) - r[1];
}

static double nothing(const void *context, const double p[3])
{
    (void)context;
    (void)p;
    return 1;
}

static hk_stuffing in_box(hk_distance_fn *distance, const void *context, double cell)
{
    // Not aligned with the body.
    return (hk_stuffing){.name = "body",
                         .low = {-1.03, -1.01, -1.07},
                         .high = {1, 1, 1},
                         .cell = cell,
                         .distance = distance,
                         .context = context};
}

static hk_mesh *fill(const hk_stuffing *stuffing)
{
    hk_mesh *mesh = NULL;
    if (hk_stuff(stuffing, &mesh) != HK_OK) fail_msg("%s", hk_error());
    assert_int_equal(hk_mesh_finish(mesh, "body"), HK_OK);
    assert_int_equal(mesh->turned.count, 0);
    return mesh;
}

// Least and greatest dihedral angle, degrees.
static void dihedral_angles(const hk_mesh *mesh, double *least, double *most)
{
    static const int edges[6][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2},
                                    {1, 2, 0, 3}, {1, 3, 0, 2}, {2, 3, 0, 1}};
    *least = 180;
    *most = 0;
    for (int t = 0; t < mesh->tet_count; t++)
        for (int e = 0; e < 6; e++) {
            const double *p[4];
            for (int c = 0; c < 4; c++)
                p[c] = mesh->positions + 3 * mesh->tets[4 * t + edges[e][c]];
            double along[3], a[3], b[3], length2 = 0, aa = 0, bb = 0, da = 0, db = 0, ab = 0;
            for (int i = 0; i < 3; i++) {
                along[i] = p[1][i] - p[0][i];
                a[i] = p[2][i] - p[0][i];
                b[i] = p[3][i] - p[0][i];
                length2 += along[i] * along[i];
                da += a[i] * along[i];
                db += b[i] * along[i];
            }
            for (int i = 0; i < 3; i++) {
                a[i] -= da / length2 * along[i];
                b[i] -= db / length2 * along[i];
                aa += a[i] * a[i];
                bb += b[i] * b[i];
                ab += a[i] * b[i];
            }
            double angle = acos(fmax(-1, fmin(1, ab / sqrt(aa * bb)))) * 180 / pi;
            *least = fmin(*least, angle);
            *most = fmax(*most, angle);
        }
}

static void assert_sound(hk_mesh *mesh, int euler, const char *label)
{
    hk_mesh_report report;
    assert_int_equal(hk_mesh_check(mesh, &report), HK_OK);
    assert_string_equal(report.verdict, "ready to simulate");
    assert_int_equal(report.components, 1);
    assert_int_equal(report.non_manifold.count, 0);
    assert_int_equal(report.unreferenced.count, 0);
    assert_int_equal(report.duplicate_vertices.count, 0);
    double least, most;
    dihedral_angles(mesh, &least, &most);
    // What the paper proves.
    if (!(least > 10.7 && most < 164.8)) fail_msg("%s: angles %g to %g", label, least, most);
    int count, vertices = 0;
    const int32_t *triangles;
    assert_int_equal(hk_mesh_surface(mesh, &count, &triangles, NULL), HK_OK);
    bool *seen = HK_ZEROS(bool, mesh->vertex_count);
    for (int k = 0; k < 3 * count; k++) {
        vertices += !seen[triangles[k]];
        seen[triangles[k]] = true;
    }
    hk_free(seen);
    assert_int_equal(vertices - count / 2, euler);
}

static void balls_are_round(void **state)
{
    (void)state;
    double radius = 0.97, errors[3];
    for (int k = 0; k < 3; k++) {
        hk_stuffing stuffing = in_box(ball, &radius, 0.4 / (1 << k));
        hk_mesh *mesh = fill(&stuffing);
        assert_sound(mesh, 2, "ball");
        int count;
        const int32_t *triangles;
        assert_int_equal(hk_mesh_surface(mesh, &count, &triangles, NULL), HK_OK);
        for (int q = 0; q < 3 * count; q++)
            assert_true(fabs(ball(&radius, mesh->positions + 3 * triangles[q])) < 1e-11);
        hk_mesh_report report;
        assert_int_equal(hk_mesh_check(mesh, &report), HK_OK);
        errors[k] = 1 - report.volume / (4 * pi / 3 * radius * radius * radius);
        assert_true(errors[k] > 0);
        hk_mesh_free(mesh);
    }
    for (int k = 0; k < 2; k++) {
        double order = log2(errors[k] / errors[k + 1]);
        if (!(order > 1.6 && order < 2.4)) fail_msg("observed order %g", order);
    }
    assert_true(errors[2] < 0.01);
}

// Every way a tet can be cut occurs: balls and rings of many sizes, not aligned with the lattice.
static void all_stencils_are_sound(void **state)
{
    (void)state;
    for (int k = 0; k < 40; k++) {
        double radius = 0.4 + 0.0137 * k, r[2] = {0.6, 0.2 + 0.004 * k};
        hk_stuffing stuffing = in_box(ball, &radius, 0.17);
        hk_mesh *mesh = fill(&stuffing);
        assert_sound(mesh, 2, "ball");
        hk_mesh_free(mesh);
        stuffing = in_box(ring, r, 0.11);
        mesh = fill(&stuffing);
        assert_sound(mesh, 0, "ring");
        hk_mesh_free(mesh);
    }
}

static void same_input_same_mesh(void **state)
{
    (void)state;
    double r[2] = {0.6, 0.3};
    hk_stuffing stuffing = in_box(ring, r, 0.1);
    hk_mesh *a = fill(&stuffing), *b = fill(&stuffing);
    assert_int_equal(a->vertex_count, b->vertex_count);
    assert_int_equal(a->tet_count, b->tet_count);
    assert_memory_equal(a->positions, b->positions, 24 * (size_t)a->vertex_count);
    assert_memory_equal(a->tets, b->tets, 16 * (size_t)a->tet_count);
    hk_mesh_free(a);
    hk_mesh_free(b);
}

static void assert_refused(const hk_stuffing *stuffing, const char *part)
{
    hk_mesh *mesh = NULL;
    assert_int_equal(hk_stuff(stuffing, &mesh), HK_BAD_INPUT);
    assert_null(mesh);
    if (!strstr(hk_error(), part)) fail_msg("\"%s\" lacks \"%s\"", hk_error(), part);
}

static void impossible_bodies_are_refused(void **state)
{
    (void)state;
    double radius = 0.01;
    hk_stuffing stuffing = in_box(nothing, NULL, 0.2);
    assert_refused(&stuffing, "body: no tet fits inside");
    stuffing = in_box(ball, &radius, 0.3);  // between the vertices of the lattice
    assert_refused(&stuffing, "smaller");
    stuffing = in_box(ball, &radius, 1e-4);
    assert_refused(&stuffing, "body: ");
    stuffing = in_box(ball, &radius, 1e-30);
    assert_refused(&stuffing, "body: ");
}

static void no_failed_allocation_leaks(void **state)
{
    (void)state;
    double radius = 0.8;
    hk_stuffing stuffing = in_box(ball, &radius, 0.4);
    for (int n = 1;; n++) {
        hk_mesh *mesh = NULL;
        failing_alloc_install(n);
        hk_status status = hk_stuff(&stuffing, &mesh);
        bool reached = failing_alloc_count() >= n;
        assert_int_equal(status, reached ? HK_NO_MEMORY : HK_OK);
        assert_int_equal(mesh == NULL, reached);
        hk_mesh_free(mesh);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        if (!reached) break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balls_are_round),
        cmocka_unit_test(all_stencils_are_sound),
        cmocka_unit_test(same_input_same_mesh),
        cmocka_unit_test(impossible_bodies_are_refused),
        cmocka_unit_test(no_failed_allocation_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
