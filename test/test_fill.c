// Surfaces of all kinds, filled: sound, of good shape, true to what was given, the same always.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "failing_alloc.h"
#include "mesh/mesh.h"
#include "mesh/winding.h"
#include "surfaces.h"

static const double zero[3] = {0, 0, 0};

static hk_filling_def with_cells(int cells)
{
    hk_filling_def def = hk_default_filling_def();
    def.cells = cells;
    def.threads = 2;
    return def;
}

static hk_mesh *fill_surface(const surface *s, const hk_filling_def *def, hk_filling_report *report)
{
    hk_mesh *given = surface_mesh(s), *mesh = NULL;
    if (hk_mesh_fill(given, def, &mesh, report) != HK_OK) fail_msg("%s", hk_error());
    hk_mesh_free(given);
    return mesh;
}

// What is asked of every body.
static void assert_good(hk_mesh *mesh, const hk_filling_report *r, double volume, const char *label)
{
    hk_mesh_report check;
    assert_int_equal(hk_mesh_check(mesh, &check), HK_OK);
    assert_string_equal(check.verdict, "ready to simulate");
    assert_int_equal(check.non_manifold.count, 0);
    assert_int_equal(r->tets, hk_mesh_tet_count(mesh));
    assert_int_equal(r->vertices, hk_mesh_vertex_count(mesh));
    assert_true(fabs(check.volume - r->mesh_volume) <= 1e-9 * check.volume);
    if (!(r->least_plain_angle >= 10 && r->least_angle >= 10 && r->greatest_angle <= 170))
        fail_msg("%s: angles %g (%g) to %g", label, r->least_angle, r->least_plain_angle,
                 r->greatest_angle);
    if (!(fabs(r->mesh_volume - volume) <= 0.01 * volume))
        fail_msg("%s: volume %g, not %g", label, r->mesh_volume, volume);
    if (!(r->distance <= r->size / 2))
        fail_msg("%s: distance %g of the size", label, r->distance / r->size);
}

static bool has_note(const hk_mesh *mesh, const char *text)
{
    for (int i = 0; i < hk_mesh_note_count(mesh); i++)
        if (strstr(hk_mesh_note(mesh, i), text)) return true;
    return false;
}

static const double ball = 4.0 / 3 * 3.14159265358979323846;

// ---------------------------------------------------------------- shapes

static void round_bodies(void **state)
{
    (void)state;
    hk_filling_def def = with_cells(24);
    hk_filling_report r;
    surface *s = new_surface();
    add_sphere(s, zero, 1, 96, 4);
    hk_mesh *mesh = fill_surface(s, &def, &r);
    assert_good(mesh, &r, ball, "sphere");
    assert_true(fabs(r.volume - ball) < 0.01 * ball);
    assert_int_equal(r.pieces, 1);
    assert_int_equal(hk_mesh_note_count(mesh), 0);
    assert_true(r.levels > 1);
    assert_true(r.distance < 0.1 * r.size);
    hk_mesh_free(mesh);
    s->vertices = s->count = 0;
    add_torus(s, 1, 0.4, 96, 40);
    def.cells = 30;
    mesh = fill_surface(s, &def, &r);
    assert_good(mesh, &r, r.volume, "torus");
    assert_true(fabs(r.volume - 2 * surfaces_pi * surfaces_pi * 0.16) < 0.02);
    hk_mesh_free(mesh);
    free(s);
}

// Turned by a matrix that is not aligned with anything.
static void turn(surface *s)
{
    const double c = cos(0.7), d = sin(0.7), e = cos(0.4), f = sin(0.4);
    for (int v = 0; v < s->vertices; v++) {
        double *p = s->x[v], x = c * p[0] - d * p[1], y = d * p[0] + c * p[1];
        p[0] = x;
        p[1] = e * y - f * p[2];
        p[2] = f * y + e * p[2];
    }
}

// Each triangle becomes four.
static void split_faces(surface *s)
{
    for (int t = 0, count = s->count; t < count; t++) {
        int a[3], m[3];
        for (int k = 0; k < 3; k++) a[k] = s->t[t][k];
        for (int k = 0; k < 3; k++) {
            const double *p = s->x[a[k]], *q = s->x[a[(k + 1) % 3]];
            m[k] = add_vertex(s, (p[0] + q[0]) / 2, (p[1] + q[1]) / 2, (p[2] + q[2]) / 2);
        }
        for (int k = 0; k < 3; k++) add_face(s, a[k], m[k], m[(k + 2) % 3]);
        for (int k = 0; k < 3; k++) s->t[t][k] = m[k];
    }
}

static int near_count(const hk_mesh *mesh, const double p[3])
{
    int count = 0;
    const double *x = hk_mesh_positions(mesh);
    for (int v = 0; v < hk_mesh_vertex_count(mesh); v++) {
        double d[3] = {x[3 * v] - p[0], x[3 * v + 1] - p[1], x[3 * v + 2] - p[2]};
        count += d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < 1e-18;
    }
    return count;
}

static void cubes_keep_edges_and_corners(void **state)
{
    (void)state;
    hk_filling_def def = with_cells(15);
    hk_filling_report r, cut;
    for (int k = 0; k < 2; k++) {
        surface *s = new_surface();
        add_box(s, zero, (double[3]){1, 1, 1});
        if (k) turn(s);
        hk_mesh *mesh = fill_surface(s, &def, &r);
        assert_good(mesh, &r, 1, "cube");
        assert_true(fabs(r.mesh_volume - 1) < 0.002);
        assert_true(fabs(r.sharp_length - 12) < 0.01);
        if (!(r.sharp_kept > 0.85)) fail_msg("%g of the edges is kept", r.sharp_kept);
        for (int v = 0; v < s->vertices; v++) assert_int_equal(near_count(mesh, s->x[v]), 1);
        hk_mesh_free(mesh);
        if (k) {
            def.sharp_angle = 180;  // none are kept: chamfers
            mesh = fill_surface(s, &def, &cut);
            assert_true(cut.mesh_volume < 1 - 4 * fabs(r.mesh_volume - 1));
            assert_true(cut.sharp_length == 0);
            hk_mesh_free(mesh);
        }
        free(s);
    }
}

// A tube around a trefoil.
static void add_knot(surface *s, double radius, int along, int around)
{
    for (int i = 0; i < along; i++) {
        double t = 2 * surfaces_pi * i / along, p[3], e[3], n[3], b[3], length = 0;
        p[0] = sin(t) + 2 * sin(2 * t);
        p[1] = cos(t) - 2 * cos(2 * t);
        p[2] = -sin(3 * t);
        e[0] = cos(t) + 4 * cos(2 * t);
        e[1] = -sin(t) + 4 * sin(2 * t);
        e[2] = -3 * cos(3 * t);
        b[0] = e[1] * p[2] - e[2] * p[1];
        b[1] = e[2] * p[0] - e[0] * p[2];
        b[2] = e[0] * p[1] - e[1] * p[0];
        for (int c = 0; c < 3; c++) length += b[c] * b[c];
        for (int c = 0; c < 3; c++) b[c] /= sqrt(length);
        length = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
        n[0] = (b[1] * e[2] - b[2] * e[1]) / length;
        n[1] = (b[2] * e[0] - b[0] * e[2]) / length;
        n[2] = (b[0] * e[1] - b[1] * e[0]) / length;
        for (int j = 0; j < around; j++) {
            double a = 2 * surfaces_pi * j / around, u = radius * cos(a), v = radius * sin(a);
            add_vertex(s, p[0] + u * n[0] + v * b[0], p[1] + u * n[1] + v * b[1],
                       p[2] + u * n[2] + v * b[2]);
        }
    }
    for (int i = 0; i < along; i++)
        for (int j = 0; j < around; j++) {
            int in = (i + 1) % along, jn = (j + 1) % around;
            add_face(s, i * around + j, in * around + jn, in * around + j);
            add_face(s, i * around + j, i * around + jn, in * around + jn);
        }
}

static void knots(void **state)
{
    (void)state;
    hk_filling_def def = hk_default_filling_def();
    hk_filling_report r;
    surface *s = new_surface();
    add_knot(s, 0.45, 200, 24);
    hk_mesh *mesh = fill_surface(s, &def, &r);
    assert_true(r.volume > 0);
    assert_good(mesh, &r, r.volume, "knot");
    hk_mesh_free(mesh);
    free(s);
}

// ---------------------------------------------------------------- what is wrong with surfaces

static void flipped_doubled_and_mixed_surfaces(void **state)
{
    (void)state;
    hk_filling_def def = with_cells(16);
    hk_filling_report plain, r;
    surface *s = new_surface();
    add_sphere(s, zero, 1, 40, 4);
    hk_mesh *mesh = fill_surface(s, &def, &plain);
    hk_mesh_free(mesh);

    flip_surface(s);
    mesh = fill_surface(s, &def, &r);
    assert_true(r.mesh_volume == plain.mesh_volume && r.flipped);
    assert_true(has_note(mesh, "face inwards"));
    hk_mesh_free(mesh);
    flip_surface(s);

    int count = s->count;
    cover_twice(s);
    for (int t = count; t < s->count; t += 2) {  // some the other way around
        int32_t kept = s->t[t][1];
        s->t[t][1] = s->t[t][2];
        s->t[t][2] = kept;
    }
    mesh = fill_surface(s, &def, &r);
    assert_true(r.mesh_volume == plain.mesh_volume);
    assert_int_equal(r.repeated, count);
    assert_true(has_note(mesh, "taken once"));
    hk_mesh_free(mesh);

    s->count = count;
    for (int t = 0; t < count; t += 3) {
        int32_t kept = s->t[t][1];
        s->t[t][1] = s->t[t][2];
        s->t[t][2] = kept;
    }
    surface *u = unmerged(s);
    mesh = fill_surface(u, &def, &r);
    assert_true(r.mesh_volume == plain.mesh_volume);
    assert_int_equal(r.turned, (count + 2) / 3);
    assert_true(has_note(mesh, "agree with their neighbours"));
    hk_mesh_free(mesh);
    free(u);
    free(s);
}

static void overlapping_spheres(void **state)
{
    (void)state;
    hk_filling_def def = with_cells(24);
    hk_filling_report r;
    surface *s = new_surface();
    add_sphere(s, zero, 1, 72, 4);
    add_sphere(s, (double[3]){1, 0, 0}, 1, 72, 4);
    hk_mesh *mesh = fill_surface(s, &def, &r);
    // Two balls less the lens: 5π/12 for radii and distance 1.
    assert_good(mesh, &r, 2 * ball - 5 * surfaces_pi / 12, "two balls");
    assert_int_equal(r.pieces, 1);
    assert_true(r.inner_triangles > 100 && isnan(r.volume));
    assert_true(has_note(mesh, "inside on both sides"));
    hk_mesh_free(mesh);
    // A ball within a ball that faces the other way is a hole.
    s->vertices = s->count = 0;
    add_sphere(s, zero, 0.5, 48, 4);
    flip_surface(s);
    add_sphere(s, zero, 1, 72, 4);
    mesh = fill_surface(s, &def, &r);
    assert_good(mesh, &r, ball * 0.875, "hollow ball");
    hk_mesh_free(mesh);
    free(s);
}

static void an_open_hemisphere_is_closed(void **state)
{
    (void)state;
    hk_filling_def def = with_cells(20);
    hk_filling_report r;
    surface *s = new_surface();
    add_sphere(s, zero, 1, 64, 0);
    hk_mesh *mesh = fill_surface(s, &def, &r);
    assert_good(mesh, &r, ball / 2, "half a ball");
    assert_true(!r.closed && fabs(r.rim - 2 * surfaces_pi) < 0.02);
    assert_true(has_note(mesh, "open"));
    // The lid is flat, and the rim is kept.
    const double *x = hk_mesh_positions(mesh);
    double highest = -1;
    for (int v = 0; v < hk_mesh_vertex_count(mesh); v++) highest = fmax(highest, x[3 * v + 2]);
    assert_true(fabs(highest) < 0.05 * r.size);
    assert_true(r.sharp_kept > 0.9);
    hk_mesh_free(mesh);
    free(s);
}

static void noise(void **state)
{
    (void)state;
    hk_filling_def def = with_cells(30);
    hk_filling_report r;
    uint64_t seed = 7;
    surface *s = new_surface();
    add_sphere(s, zero, 1, 60, 4);
    for (int v = 0; v < s->vertices; v++) {
        double factor = 1 + 0.04 * (surface_random(&seed) - 0.5);
        for (int i = 0; i < 3; i++) s->x[v][i] *= factor;
    }
    hk_mesh *mesh = fill_surface(s, &def, &r);
    assert_good(mesh, &r, r.volume, "noisy ball");
    hk_mesh_free(mesh);
    free(s);
}

// Ends of thin parts, which the lattice alone passes by: 2.7 sizes short of this one's edge.
static void thin_ends_are_met(void **state)
{
    (void)state;
    hk_filling_def def = with_cells(24);
    hk_filling_report r;
    static const int faces[8][3] = {{0, 2, 1}, {3, 4, 5}, {0, 1, 4}, {0, 4, 3},
                                    {1, 2, 5}, {1, 5, 4}, {2, 0, 3}, {2, 3, 5}};
    const double height = tan(17 * surfaces_pi / 180);
    surface *s = new_surface();
    for (int k = 0; k < 6; k++) add_vertex(s, k % 3 > 0, k % 3 == 2 ? height : 0, k / 3);
    for (int k = 0; k < 8; k++) add_face(s, faces[k][0], faces[k][1], faces[k][2]);
    hk_mesh *mesh = fill_surface(s, &def, &r);
    assert_good(mesh, &r, height / 2, "wedge of 17 degrees");
    hk_mesh_free(mesh);
    // Spikes of noise.
    def.cells = 20;
    uint64_t seed = 11;
    s->vertices = s->count = 0;
    add_sphere(s, zero, 1, 36, 4);
    for (int v = 0; v < s->vertices; v++) {
        double factor = 1 + 0.1 * (surface_random(&seed) - 0.5);
        for (int i = 0; i < 3; i++) s->x[v][i] *= factor;
    }
    mesh = fill_surface(s, &def, &r);
    assert_good(mesh, &r, r.volume, "spikes");
    hk_mesh_free(mesh);
    free(s);
}

// Points between corners count: a surface of few large triangles is not met because its corners
// are.
static void distances_are_measured_on_the_whole_surface(void **state)
{
    (void)state;
    hk_filling_def def = with_cells(12);
    hk_filling_report few, many;
    def.sharp_angle = 180;  // edges are cut off
    surface *s = new_surface();
    add_box(s, zero, (double[3]){1, 0.9, 0.8});
    turn(s);
    hk_mesh *mesh = fill_surface(s, &def, &few);
    hk_mesh_free(mesh);
    for (int round = 0; round < 4; round++) split_faces(s);
    mesh = fill_surface(s, &def, &many);
    hk_mesh_free(mesh);
    assert_true(few.distance > 0.2 * few.size);
    assert_true(fabs(few.distance - many.distance) < 0.1 * few.size);
    free(s);
}

// The farthest that one surface is from another, at points of its triangles.
static double farthest_from(hk_mesh *from, hk_mesh *to, int parts)
{
    hk_winding_tree *tree;
    int count;
    const int32_t *triangles;
    double most = 0;
    assert_int_equal(hk_mesh_surface(to, &count, &triangles, NULL), HK_OK);
    assert_int_equal(
        hk_winding_tree_create(to->vertex_count, to->positions, count, triangles, 2, &tree), HK_OK);
    assert_int_equal(hk_mesh_surface(from, &count, &triangles, NULL), HK_OK);
    for (int t = 0; t < count; t++) {
        const double *x[3];
        for (int k = 0; k < 3; k++) x[k] = from->positions + 3 * (size_t)triangles[3 * t + k];
        for (int i = 0; i <= parts; i++)
            for (int j = 0; i + j <= parts; j++) {
                double p[3];
                for (int n = 0; n < 3; n++)
                    p[n] =
                        x[0][n] + (x[1][n] - x[0][n]) * i / parts + (x[2][n] - x[0][n]) * j / parts;
                most = fmax(most, hk_winding_nearest(tree, p, INFINITY, NULL).distance);
            }
    }
    hk_winding_tree_free(tree);
    return most;
}

// Edges of the mesh that bridge a hollow are farther from the surface than the middles of their
// triangles, and so are places of the surface between points that are looked at.
static void distances_are_measured_between_points(void **state)
{
    (void)state;
    surface *s = new_surface();
    for (int kind = 0; kind < 2; kind++) {
        hk_filling_def def = with_cells(kind == 0 ? 8 : 16);
        hk_filling_report r;
        memset(s, 0, sizeof *s);
        if (kind == 0) {
            add_box(s, zero, (double[3]){1, 1, 1});
            turn(s);
        } else {
            add_sphere(s, zero, 1, 60, 4);
            uint64_t seed = 1;
            for (int v = 0; v < s->vertices; v++) {
                double factor = 1 + 0.05 * (2 * surface_random(&seed) - 1);
                for (int i = 0; i < 3; i++) s->x[v][i] *= factor;
            }
        }
        hk_mesh *mesh = fill_surface(s, &def, &r), *given = surface_mesh(s);
        double seen = fmax(farthest_from(mesh, given, 10), farthest_from(given, mesh, 60));
        if (!(r.distance > seen - 0.06 * r.size && r.distance < seen + 0.06 * r.size))
            fail_msg("%d: %g sizes, and %g were seen", kind, r.distance / r.size, seen / r.size);
        hk_mesh_free(mesh);
        hk_mesh_free(given);
    }
    free(s);
}

// ---------------------------------------------------------------- what cannot be filled

static void assert_refused(const surface *s, const hk_filling_def *def, const char *text)
{
    hk_mesh *given = surface_mesh(s), *mesh = NULL;
    assert_int_equal(hk_mesh_fill(given, def, &mesh, NULL), HK_BAD_INPUT);
    if (!strstr(hk_error(), text)) fail_msg("\"%s\" is not in: %s", text, hk_error());
    assert_null(mesh);
    hk_mesh_free(given);
}

static void add_sheet(surface *s, int n, double bulge)
{
    for (int j = 0; j <= n; j++)
        for (int i = 0; i <= n; i++) {
            double x = (double)i / n, z = (double)j / n;
            add_vertex(s, x, bulge * sin(3 * x) * cos(2 * z), z);
        }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            int a = j * (n + 1) + i;
            add_face(s, a, a + n + 1, a + n + 2);
            add_face(s, a, a + n + 2, a + 1);
        }
}

// Four and a half waves of a square sheet, each as high as a twentieth of it.
static void add_waves(surface *s, int n)
{
    add_sheet(s, n, 0);
    for (int v = 0; v < s->vertices; v++) s->x[v][1] = 0.05 * sin(9 * s->x[v][0]);
}

// A plate that is thinner than tets is lost, and the report says how much and how far.
static void lost_parts_are_told(void **state)
{
    (void)state;
    hk_filling_def def = with_cells(12);
    hk_filling_report r;
    surface *s = new_surface();
    const double low[3] = {-1, -0.03, -1}, high[3] = {1, 0.03, 1};
    add_box(s, low, high);
    for (int k = 0; k < 2; k++) split_faces(s);
    add_sphere(s, zero, 0.6, 20, 2);
    hk_mesh *mesh = fill_surface(s, &def, &r);
    assert_true(r.distance > 0.5 * r.size);
    assert_true(r.lost_area > 1);
    hk_mesh_free(mesh);
    free(s);
}

static void sheets_need_a_thickness(void **state)
{
    (void)state;
    hk_filling_def def = with_cells(30);
    hk_filling_report r;
    surface *s = new_surface();
    add_sheet(s, 10, 0);
    assert_refused(s, &def, "thickness");
    assert_refused(s, &def, "mass_spring");
    s->vertices = s->count = 0;
    add_sheet(s, 10, 0.05);
    assert_refused(s, &def, "thickness");
    // Waves wind around the points of their hollows, on this side and on that, however fine tets
    // are.
    s->vertices = s->count = 0;
    add_waves(s, 30);
    for (int cells = 10; cells <= 40; cells *= 2) {
        hk_filling_def fine = with_cells(cells);
        assert_refused(s, &fine, "now on one side of it and now on the other");
        assert_refused(s, &fine, "thickness");
    }
    // A dome is none of those: closed by a flat lid, it is filled.
    s->vertices = s->count = 0;
    add_sphere(s, zero, 1, 80, -surfaces_pi / 5);
    hk_mesh *cap = fill_surface(s, &def, &r);
    double height = 1 - sin(surfaces_pi / 5);
    assert_good(cap, &r, surfaces_pi * height * height * (3 - height) / 3, "cap");
    hk_mesh_free(cap);
    s->vertices = s->count = 0;
    add_sheet(s, 10, 0);
    def.thickness = 0.1;
    hk_mesh *mesh = fill_surface(s, &def, &r);
    // A plate with rounded edges and corners.
    double plate = 0.1 + 2 * surfaces_pi * 0.0025 + 4.0 / 3 * surfaces_pi * 0.000125;
    assert_good(mesh, &r, plate, "plate");
    hk_mesh_free(mesh);
    def.thickness = 0.001;
    assert_refused(s, &def, "too thin");
    free(s);
}

static void wrong_input_is_told(void **state)
{
    (void)state;
    hk_filling_def def = with_cells(10);
    surface *s = new_surface();
    add_box(s, zero, (double[3]){1, 1, 1});
    def.size = NAN;
    assert_refused(s, &def, "size");
    def.size = 2;
    assert_refused(s, &def, "smaller size");
    def.size = 1e-9;
    assert_refused(s, &def, "too small");
    def.size = 0;
    def.grade = 2;
    assert_refused(s, &def, "grade");
    def.grade = 0.5;
    def.cells = -1;
    assert_refused(s, &def, "cells");
    def.cells = 10;
    for (int v = 0; v < s->vertices; v++) memcpy(s->x[v], zero, sizeof zero);
    assert_refused(s, &def, "no triangles with an area");
    hk_mesh *mesh = NULL;
    assert_int_equal(hk_mesh_fill(NULL, &def, &mesh, NULL), HK_BAD_INPUT);
    free(s);
}

// ---------------------------------------------------------------- the same always

static void the_same_for_any_threads(void **state)
{
    (void)state;
    hk_filling_def def = with_cells(14);
    surface *s = new_surface();
    add_box(s, zero, (double[3]){1, 0.7, 0.5});
    turn(s);
    hk_mesh *meshes[3];
    for (int k = 0; k < 3; k++) {
        hk_filling_report r;
        def.threads = k + 1;
        meshes[k] = fill_surface(s, &def, &r);
    }
    int count = hk_mesh_vertex_count(meshes[0]), tets = hk_mesh_tet_count(meshes[0]);
    for (int k = 1; k < 3; k++) {
        assert_int_equal(hk_mesh_vertex_count(meshes[k]), count);
        assert_int_equal(hk_mesh_tet_count(meshes[k]), tets);
        assert_memory_equal(hk_mesh_positions(meshes[k]), hk_mesh_positions(meshes[0]),
                            3 * sizeof(double) * (size_t)count);
        assert_memory_equal(hk_mesh_tets(meshes[k]), hk_mesh_tets(meshes[0]),
                            4 * sizeof(int32_t) * (size_t)tets);
    }
    for (int k = 0; k < 3; k++) hk_mesh_free(meshes[k]);
    free(s);
}

static void without_memory_nothing_leaks(void **state)
{
    (void)state;
    hk_filling_def def = with_cells(4);
    def.threads = 1;
    surface *s = new_surface();
    add_sphere(s, zero, 1, 12, 0.3);
    hk_mesh *given = surface_mesh(s);
    for (int n = 1;; n++) {
        hk_mesh *mesh = NULL;
        failing_alloc_install(n);
        hk_status status = hk_mesh_fill(given, &def, &mesh, NULL);
        bool reached = failing_alloc_count() >= n;
        if (status == HK_OK) hk_mesh_free(mesh);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        if (!reached) {
            assert_int_equal(status, HK_OK);
            break;
        }
        assert_int_equal(status, HK_NO_MEMORY);
    }
    hk_mesh_free(given);
    free(s);
}

// ---------------------------------------------------------------- poses

static void filled_bodies_sag(void **state)
{
    (void)state;
    hk_filling_def filling = with_cells(8);
    hk_filling_report r;
    surface *s = new_surface();
    add_torus(s, 1, 0.45, 40, 20);
    hk_mesh *skin = surface_mesh(s), *mesh = fill_surface(s, &filling, &r);
    free(s);
    hk_selector fix = {.kind = HK_SELECT_BOX, .box = {{-2, -2, -2}, {2, -1.1, 2}}};
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.skin = skin;
    body.material.model = "neo_hookean";
    body.material.young = 2e5;
    body.material.poisson = 0.4;
    body.fixes = &fix;
    body.fix_count = 1;
    hk_model_def model_def = hk_default_model_def();
    model_def.bodies = &body;
    model_def.body_count = 1;
    model_def.gravity[1] = -9.81;
    hk_model *model;
    hk_world *world;
    if (hk_model_create(&model_def, &model) != HK_OK) fail_msg("%s", hk_error());
    hk_world_def world_def = hk_default_world_def();
    world_def.model = model;
    if (hk_world_create(&world_def, &world) != HK_OK) fail_msg("%s", hk_error());
    hk_step_report report;
    assert_int_equal(hk_world_pose(world, &report), HK_OK);
    assert_int_equal(hk_reason_outcome(report.reason), HK_OUTCOME_CONVERGED);
    assert_non_null(hk_model_skin(model, 0));
    hk_world_free(world);
    hk_model_free(model);
    hk_mesh_free(mesh);
    hk_mesh_free(skin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_bodies),
        cmocka_unit_test(cubes_keep_edges_and_corners),
        cmocka_unit_test(knots),
        cmocka_unit_test(flipped_doubled_and_mixed_surfaces),
        cmocka_unit_test(overlapping_spheres),
        cmocka_unit_test(an_open_hemisphere_is_closed),
        cmocka_unit_test(noise),
        cmocka_unit_test(thin_ends_are_met),
        cmocka_unit_test(distances_are_measured_on_the_whole_surface),
        cmocka_unit_test(distances_are_measured_between_points),
        cmocka_unit_test(lost_parts_are_told),
        cmocka_unit_test(sheets_need_a_thickness),
        cmocka_unit_test(wrong_input_is_told),
        cmocka_unit_test(the_same_for_any_threads),
        cmocka_unit_test(without_memory_nothing_leaks),
        cmocka_unit_test(filled_bodies_sag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
