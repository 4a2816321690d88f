// The generators: shape, volume, winding, conformity, and definitions that make no sense.
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "failing_alloc.h"
#include "mesh/mesh.h"

static const double pi = 3.14159265358979323846;

static hk_mesh *make(const hk_mesh_def *def)
{
    hk_mesh *mesh = NULL;
    if (hk_mesh_make(def, &mesh) != HK_OK) fail_msg("%s", hk_error());
    return mesh;
}

static hk_mesh_report check(hk_mesh *mesh)
{
    hk_mesh_report report;
    assert_int_equal(hk_mesh_check(mesh, &report), HK_OK);
    return report;
}

static double volume_of(const hk_mesh_def *def)
{
    hk_mesh *mesh = make(def);
    double volume = check(mesh).volume;
    hk_mesh_free(mesh);
    return volume;
}

static int compare_faces(const void *a, const void *b)
{
    return memcmp(a, b, 3 * sizeof(int32_t));
}

// By brute force, independent of the library's own bookkeeping: every face belongs to one tet or
// to two, and the lone ones are the surface.
static void assert_conforming(hk_mesh *mesh)
{
    static const int faces[4][3] = {{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}};
    size_t count = 4 * (size_t)mesh->tet_count, lone = 0;
    int32_t(*sorted)[3] = malloc(count * sizeof *sorted);
    for (size_t f = 0; f < count; f++) {
        for (int c = 0; c < 3; c++) sorted[f][c] = mesh->tets[f / 4 * 4 + (size_t)faces[f % 4][c]];
        for (int pass = 0; pass < 2; pass++)
            for (int c = 0; c < 2; c++)
                if (sorted[f][c] > sorted[f][c + 1]) {
                    int32_t kept = sorted[f][c];
                    sorted[f][c] = sorted[f][c + 1];
                    sorted[f][c + 1] = kept;
                }
    }
    qsort(sorted, count, sizeof *sorted, compare_faces);
    for (size_t f = 0, end; f < count; f = end) {
        for (end = f + 1; end < count && compare_faces(sorted[f], sorted[end]) == 0;) end++;
        assert_in_range(end - f, 1, 2);
        if (end - f == 1) lone++;
    }
    free(sorted);
    int surface;
    assert_int_equal(hk_mesh_surface(mesh, &surface, NULL, NULL), HK_OK);
    assert_int_equal(surface, (int)lone);
}

// Σ a · (b × c) / 6 over outward triangles is the enclosed volume; a closed surface without open
// or shared edges has E = 3 F / 2, so V − E + F can be counted from vertices and triangles.
static int euler_characteristic(hk_mesh *mesh, double *enclosed)
{
    bool *used = HK_ZEROS(bool, mesh->vertex_count);
    int vertices = 0, count;
    const int32_t *triangles, *tets;
    assert_int_equal(hk_mesh_surface(mesh, &count, &triangles, &tets), HK_OK);
    *enclosed = 0;
    for (int s = 0; s < count; s++) {
        const double *p[3];
        for (int c = 0; c < 3; c++) {
            int32_t v = triangles[3 * s + c];
            if (!used[v]) vertices++;
            used[v] = true;
            p[c] = mesh->positions + 3 * v;
        }
        *enclosed += hk_tet_volume6((double[3]){0, 0, 0}, p[0], p[1], p[2]) / 6;
    }
    hk_free(used);
    assert_int_equal(count % 2, 0);
    return vertices - 3 * count / 2 + count;
}

static void assert_sound_of_genus(const hk_mesh_def *def, int components, int genus,
                                  double least_quality)
{
    hk_mesh *mesh = make(def);
    hk_mesh_report report = check(mesh);
    assert_true(report.simulable);
    assert_string_equal(report.verdict, "ready to simulate");
    assert_int_equal(report.components, components);
    assert_int_equal(report.non_manifold.count, 0);
    assert_int_equal(report.unreferenced.count, 0);
    assert_int_equal(report.duplicate_vertices.count, 0);
    assert_int_equal(report.duplicate_tets.count, 0);
    assert_int_equal(report.turned.count, 0);
    if (!(report.worst_quality >= least_quality))
        fail_msg("shape %d, %d cells: worst quality %g", (int)def->shape, def->cells[0],
                 report.worst_quality);
    double enclosed;
    assert_int_equal(euler_characteristic(mesh, &enclosed), (2 - 2 * genus) * components);
    assert_true(fabs(enclosed - report.volume) < 1e-12 * report.volume);
    assert_conforming(mesh);
    hk_mesh_free(mesh);
}

static void assert_sound(const hk_mesh_def *def, int components, double least_quality)
{
    assert_sound_of_genus(def, components, 0, least_quality);
}

static void shapes_are_sound(void **state)
{
    (void)state;
    const int box_cells[][3] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 3}, {5, 4, 3}, {6, 6, 6}};
    for (int i = 0; i < HK_COUNT_OF(box_cells); i++) {
        hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_BOX);
        for (int a = 0; a < 3; a++) {
            def.cells[a] = box_cells[i][a];
            def.size[a] = 0.1 * def.cells[a];
        }
        assert_sound(&def, 1, 0.83);
    }
    for (int n = 1; n <= 12; n++) {
        hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_CYLINDER);
        def.length = 2 * def.radius;
        def.cells[0] = def.cells[1] = n;
        assert_sound(&def, 1, 0.45);
        def = hk_default_mesh_def(HK_SHAPE_SPHERE);
        def.cells[0] = n;
        assert_sound(&def, 1, 0.4);
    }
    for (int n = 1; n <= 4; n++) {
        hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_HELIX);
        def.cells[0] = n;
        def.strands = n;
        def.thickness = 0.04;
        def.turns = 0.5 + 0.5 * n;
        assert_sound(&def, n, 0.45);
    }
}

static void defaults_are_sound(void **state)
{
    (void)state;
    const int components[] = {1, 1, 1, 2, 0, 1, 1, 1, 1, 1};
    for (int shape = HK_SHAPE_BOX; shape <= HK_SHAPE_FUNNEL; shape++) {
        if (shape == HK_SHAPE_SHEET) continue;
        hk_mesh_def def = hk_default_mesh_def((hk_shape)shape);
        int genus = shape == HK_SHAPE_TORUS || shape == HK_SHAPE_FUNNEL;
        assert_int_equal(def.shape, shape);
        assert_sound_of_genus(&def, components[shape], genus, 0.25);
    }
}

// Rings of any number of cells around, odd ones too, are closed.
static void rings_are_sound(void **state)
{
    (void)state;
    for (int across = 1; across <= 4; across++)
        for (int around = 3; around <= 31; around += around < 8 ? 1 : 6) {
            hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_TORUS);
            def.cells[0] = across;
            def.cells[1] = around;
            assert_sound_of_genus(&def, 1, 1, 0.01);
            hk_mesh *mesh = make(&def);
            assert_int_equal(mesh->tet_count, 6 * across * across * around);
            assert_int_equal(mesh->vertex_count, (across + 1) * (across + 1) * around);
            hk_mesh_free(mesh);
            def = hk_default_mesh_def(HK_SHAPE_FUNNEL);
            def.cells[0] = around;
            def.cells[1] = across + 1;
            assert_sound_of_genus(&def, 1, 1, 1e-3);
        }
    // The volume of a torus is that of its tube, bent: 2 π R · π r².
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_TORUS);
    def.cells[0] = 8;
    def.cells[1] = 96;
    double wanted = 2 * pi * pi * def.radius * def.thickness * def.thickness / 4;
    assert_true(fabs(volume_of(&def) / wanted - 1) < 0.02);
}

static void pyramids_wedges_and_funnels_measure_up(void **state)
{
    (void)state;
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_PYRAMID);
    assert_true(fabs(volume_of(&def) - 1) < 1e-14);
    hk_mesh *mesh = make(&def);
    assert_true(mesh->vertex_count == 5 && mesh->tet_count == 2);
    hk_mesh_free(mesh);
    def = hk_default_mesh_def(HK_SHAPE_WEDGE);
    def.degrees = 60;
    def.cells[0] = 1;
    // Flat inside and outside: the difference of two triangles.
    double inner = def.radius, outer = def.radius + def.thickness;
    double area = 0.5 * sin(pi / 3) * (outer * outer - inner * inner);
    assert_true(fabs(volume_of(&def) / (area * def.length) - 1) < 1e-12);
    mesh = make(&def);
    hk_mesh_report report = check(mesh);
    assert_true(fabs(report.bounds[0][0] + report.bounds[1][0]) < 1e-15);
    assert_true(fabs(report.bounds[0][1] - inner * cos(pi / 6)) < 1e-15);
    assert_true(report.bounds[0][2] == 0 && report.bounds[1][2] == def.length);
    hk_mesh_free(mesh);
    def = hk_default_mesh_def(HK_SHAPE_FUNNEL);
    mesh = make(&def);
    report = check(mesh);
    assert_true(report.bounds[1][1] == def.height && report.bounds[0][1] == -def.length);
    for (int v = 0; v < mesh->vertex_count; v++) {
        const double *p = mesh->positions + 3 * (size_t)v;
        double from_axis = hypot(p[0], p[2]), up = fmax(p[1], 0) / def.height;
        double wall = def.neck + up * (def.radius - def.neck);
        assert_true(fabs(from_axis - wall) < 1e-12 ||
                    fabs(from_axis - wall - def.thickness) < 1e-12);
    }
    hk_mesh_free(mesh);
    def.length = 0;
    mesh = make(&def);
    report = check(mesh);
    assert_true(report.bounds[0][1] == 0);
    hk_mesh_free(mesh);
}

static void box_is_exact(void **state)
{
    (void)state;
    hk_mesh_def def = {.def_size = sizeof(hk_mesh_def),
                       .shape = HK_SHAPE_BOX,
                       .size = {0.7, 0.3, 1.1},
                       .cells = {7, 3, 10}};
    hk_mesh *mesh = make(&def);
    hk_mesh_report report = check(mesh);
    assert_int_equal(report.vertices, 8 * 4 * 11);
    assert_int_equal(report.tets, 5 * 7 * 3 * 10);
    assert_true(fabs(report.volume - 0.7 * 0.3 * 1.1) < 1e-15);
    assert_true(fabs(report.area - 2 * (0.7 * 0.3 + 0.3 * 1.1 + 1.1 * 0.7)) < 1e-14);
    for (int i = 0; i < 3; i++) {
        assert_true(report.bounds[0][i] == 0);
        assert_true(report.bounds[1][i] == def.size[i]);
    }
    // Vertex (i, j, k) is number i + (nx+1)(j + (ny+1) k).
    const double *p = mesh->positions + 3 * (2 + 8 * (1 + 4 * 5));
    assert_true(fabs(p[0] - 0.2) < 1e-15 && fabs(p[1] - 0.1) < 1e-15 && fabs(p[2] - 0.55) < 1e-15);
    hk_mesh_free(mesh);
}

// With an even number of cells the box is its own mirror image: every tet, mirrored in x, y or z,
// is a tet of the mesh. A finished mirror image added to the mesh shows as all duplicates.
static void box_has_no_preferred_direction(void **state)
{
    (void)state;
    const hk_mesh_def def = {.def_size = sizeof(hk_mesh_def),
                             .shape = HK_SHAPE_BOX,
                             .size = {6, 4, 2},
                             .cells = {6, 4, 2}};
    const int strides[3] = {1, 7, 35};
    hk_mesh *mesh = make(&def);
    for (int axis = 0; axis < 3; axis++) {
        int n = mesh->tet_count;
        int32_t *both = HK_ARRAY(int32_t, 8 * n);
        memcpy(both, mesh->tets, 4 * (size_t)n * sizeof *both);
        for (int i = 0; i < 4 * n; i++) {
            int at = mesh->tets[i] / strides[axis] % (def.cells[axis] + 1);
            both[4 * n + i] = mesh->tets[i] + (def.cells[axis] - 2 * at) * strides[axis];
        }
        hk_mesh *doubled;
        assert_int_equal(hk_mesh_from_arrays(mesh->vertex_count, mesh->positions, 2 * n, both, 0,
                                             NULL, &doubled),
                         HK_OK);
        assert_int_equal(check(doubled).duplicate_tets.count, n);
        hk_mesh_free(doubled);
        hk_free(both);
    }
    hk_mesh_free(mesh);
}

static void round_surfaces_are_round(void **state)
{
    (void)state;
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_SPHERE);
    for (def.cells[0] = 4; def.cells[0] <= 5; def.cells[0]++) {
        hk_mesh *mesh = make(&def);
        int count;
        const int32_t *triangles;
        assert_int_equal(hk_mesh_surface(mesh, &count, &triangles, NULL), HK_OK);
        for (int i = 0; i < 3 * count; i++) {
            const double *p = mesh->positions + 3 * triangles[i];
            assert_true(fabs(hypot(hypot(p[0], p[1]), p[2]) - def.radius) < 1e-15);
        }
        hk_mesh_free(mesh);
    }
    def = hk_default_mesh_def(HK_SHAPE_CYLINDER);
    hk_mesh *mesh = make(&def);
    hk_mesh_report report = check(mesh);
    assert_true(report.bounds[0][0] == 0 && report.bounds[1][0] == def.length);
    int on_the_side = 0;
    for (int v = 0; v < mesh->vertex_count; v++) {
        const double *p = mesh->positions + 3 * v;
        double r = hypot(p[1], p[2]);
        assert_true(r <= def.radius + 1e-15);
        if (r > def.radius - 1e-15) on_the_side++;
    }
    assert_int_equal(on_the_side, 4 * def.cells[0] * (def.cells[1] + 1));
    hk_mesh_free(mesh);
}

// Twice the cells leave a quarter of the error.
static void volumes_converge_at_second_order(void **state)
{
    (void)state;
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_CYLINDER);
    hk_mesh_def fine = def;
    fine.cells[0] *= 2;
    double exact = pi * def.radius * def.radius * def.length;
    double ratio = (exact - volume_of(&def)) / (exact - volume_of(&fine));
    assert_true(ratio > 3.8 && ratio < 4.2);

    def = fine = hk_default_mesh_def(HK_SHAPE_SPHERE);
    fine.cells[0] *= 2;
    exact = 4.0 / 3 * pi * def.radius * def.radius * def.radius;
    ratio = (exact - volume_of(&def)) / (exact - volume_of(&fine));
    assert_true(ratio > 3.6 && ratio < 4.2);

    // Pappus: cross-section times the length of the centre line.
    def = fine = hk_default_mesh_def(HK_SHAPE_HELIX);
    def.cells[0] = 4;
    double length = def.turns * hypot(2 * pi * def.radius, def.pitch);
    exact = def.strands * pi / 4 * def.thickness * def.thickness * length;
    ratio = (exact - volume_of(&def)) / (exact - volume_of(&fine));
    assert_true(ratio > 3.6 && ratio < 4.3);
}

static void helix_climbs_right_handed(void **state)
{
    (void)state;
    hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_HELIX);
    def.strands = 1;
    def.turns = 0.25;
    def.cells[0] = 2;
    hk_mesh *mesh = make(&def);
    // The middle of the cross-sections at both ends: lattice (0, 1, 1) and (n, 1, 1).
    int n = mesh->vertex_count / 9 - 1;
    const double *first = mesh->positions + 3 * (4 * (n + 1));
    const double *last = mesh->positions + 3 * (4 * (n + 1) + n);
    const double expected[2][3] = {{0.3, 0, 0}, {0, 0.05, -0.3}};
    for (int i = 0; i < 3; i++) {
        assert_true(fabs(first[i] - expected[0][i]) < 1e-15);
        assert_true(fabs(last[i] - expected[1][i]) < 1e-15);
    }
    assert_int_equal(mesh->note_count, 0);
    hk_mesh_free(mesh);

    def = hk_default_mesh_def(HK_SHAPE_HELIX);
    def.cells[0] = 2;
    def.thickness = 0.11;  // strands are 0.1 apart along the axis
    mesh = make(&def);
    assert_int_equal(mesh->note_count, 1);
    assert_non_null(strstr(hk_mesh_note(mesh, 0), "overlap"));
    hk_mesh_free(mesh);
}

static void sheet_lies_flat_and_faces_up(void **state)
{
    (void)state;
    const hk_mesh_def def = {
        .def_size = sizeof(hk_mesh_def), .shape = HK_SHAPE_SHEET, .size = {2, 3}, .cells = {4, 5}};
    hk_mesh *mesh = make(&def);
    hk_mesh_report report = check(mesh);
    assert_int_equal(report.vertices, 30);
    assert_int_equal(report.tets, 0);
    assert_int_equal(report.triangles, 40);
    assert_int_equal(report.open_edges.count, 2 * (4 + 5));
    assert_int_equal(report.non_manifold.count, 0);
    assert_int_equal(report.components, 1);
    assert_true(report.simulable);
    assert_true(fabs(report.area - 6) < 1e-14);
    assert_true(report.bounds[1][0] == 2 && report.bounds[1][1] == 0 && report.bounds[1][2] == 3);
    for (int t = 0; t < mesh->triangle_count; t++) {
        const double *p[3];
        for (int c = 0; c < 3; c++) p[c] = mesh->positions + 3 * mesh->triangles[3 * t + c];
        double up =
            (p[1][2] - p[0][2]) * (p[2][0] - p[0][0]) - (p[1][0] - p[0][0]) * (p[2][2] - p[0][2]);
        assert_true(up > 0);
    }
    hk_mesh_free(mesh);
}

static void assert_refused(const hk_mesh_def *def, const char *part)
{
    hk_mesh *mesh = NULL;
    assert_int_equal(hk_mesh_make(def, &mesh), HK_BAD_INPUT);
    assert_null(mesh);
    if (!strstr(hk_error(), part)) fail_msg("\"%s\" lacks \"%s\"", hk_error(), part);
}

// It stands on the ground, as tall as asked for, mirrored in x, with the snout in front and the
// tail behind, at every fineness.
static void figures_stand(void **state)
{
    (void)state;
    for (int n = 10; n <= 22; n += n < 16 ? 1 : 3) {
        hk_mesh_def def = hk_default_mesh_def(HK_SHAPE_FIGURE);
        def.height = 1.8;
        def.cells[0] = n;
        assert_sound(&def, 1, 0.3);
        hk_mesh *mesh = make(&def);
        hk_mesh_report report = check(mesh);
        double(*b)[3] = report.bounds;
        assert_true(fabs(b[0][1]) < 1e-9);
        assert_true(b[1][1] > 1.6 && b[1][1] <= 1.8);
        assert_true(fabs(b[0][0] + b[1][0]) < 1e-9);
        assert_true(b[1][2] > 0.3 && b[0][2] < -0.6);
        // Of a height of 1, 0.083 m³.
        assert_true(report.volume > 0.06 * 1.8 * 1.8 * 1.8);
        assert_true(report.volume < 0.085 * 1.8 * 1.8 * 1.8);
        hk_mesh_free(mesh);
    }
}

static void wrong_definitions_are_refused_by_field(void **state)
{
    (void)state;
#define REFUSED(shape_, change, part)                  \
    do {                                               \
        hk_mesh_def def = hk_default_mesh_def(shape_); \
        def.change;                                    \
        assert_refused(&def, part);                    \
    } while (0)
    REFUSED(HK_SHAPE_BOX, size[1] = 0, "box.size[1]");
    REFUSED(HK_SHAPE_BOX, size[2] = NAN, "box.size[2]");
    REFUSED(HK_SHAPE_BOX, cells[0] = 0, "box.cells[0]");
    REFUSED(HK_SHAPE_BOX, cells[0] = INT_MAX, "box.cells");
    REFUSED(HK_SHAPE_CYLINDER, radius = -1, "cylinder.radius");
    REFUSED(HK_SHAPE_CYLINDER, length = INFINITY, "cylinder.length");
    REFUSED(HK_SHAPE_CYLINDER, cells[0] = -1, "cylinder.cells[0]");
    REFUSED(HK_SHAPE_CYLINDER, cells[1] = 0, "cylinder.cells[1]");
    REFUSED(HK_SHAPE_CYLINDER, cells[0] = 100000, "tets");
    REFUSED(HK_SHAPE_SPHERE, radius = 0, "sphere.radius");
    REFUSED(HK_SHAPE_SPHERE, cells[0] = 0, "sphere.cells");
    REFUSED(HK_SHAPE_SPHERE, cells[0] = 711, "2156552586 tets");
    REFUSED(HK_SHAPE_SPHERE, cells[0] = INT_MAX, "sphere.cells");
    REFUSED(HK_SHAPE_HELIX, radius = 0, "helix.radius");
    REFUSED(HK_SHAPE_HELIX, pitch = -0.1, "helix.pitch");
    REFUSED(HK_SHAPE_HELIX, turns = NAN, "helix.turns");
    REFUSED(HK_SHAPE_HELIX, turns = 1e300, "tets");
    REFUSED(HK_SHAPE_HELIX, thickness = 0, "helix.thickness");
    REFUSED(HK_SHAPE_HELIX, thickness = 0.61, "helix.thickness");
    REFUSED(HK_SHAPE_HELIX, strands = 0, "helix.strands");
    REFUSED(HK_SHAPE_HELIX, strands = INT_MAX, "tets");
    REFUSED(HK_SHAPE_HELIX, cells[0] = 0, "helix.cells");
    REFUSED(HK_SHAPE_SHEET, size[0] = -1, "sheet.size[0]");
    REFUSED(HK_SHAPE_SHEET, size[1] = 0, "sheet.size[1]");
    REFUSED(HK_SHAPE_SHEET, cells[0] = 0, "sheet.cells[0]");
    REFUSED(HK_SHAPE_SHEET, cells[1] = INT_MAX, "triangles");
    REFUSED(HK_SHAPE_FIGURE, height = 0, "figure.height");
    REFUSED(HK_SHAPE_FIGURE, cells[0] = 9, "figure.cells must be at least 10");
    REFUSED(HK_SHAPE_FIGURE, cells[0] = INT_MAX, "figure: a lattice with cells of");
    REFUSED(HK_SHAPE_TORUS, radius = 0, "torus.radius");
    REFUSED(HK_SHAPE_TORUS, thickness = -1, "torus.thickness must be");
    REFUSED(HK_SHAPE_TORUS, thickness = 0.8, "meet itself");
    REFUSED(HK_SHAPE_TORUS, cells[0] = 0, "torus.cells[0]");
    REFUSED(HK_SHAPE_TORUS, cells[1] = 2, "torus.cells[1] must be at least 3");
    REFUSED(HK_SHAPE_TORUS, cells[0] = 100000, "tets");
    REFUSED(HK_SHAPE_PYRAMID, size[1] = 0, "pyramid.size[1]");
    REFUSED(HK_SHAPE_WEDGE, radius = 0, "wedge.radius");
    REFUSED(HK_SHAPE_WEDGE, thickness = 0, "wedge.thickness");
    REFUSED(HK_SHAPE_WEDGE, length = NAN, "wedge.length");
    REFUSED(HK_SHAPE_WEDGE, degrees = 0, "wedge.degrees");
    REFUSED(HK_SHAPE_WEDGE, degrees = 180, "180 per cell");
    REFUSED(HK_SHAPE_WEDGE, cells[2] = 0, "wedge.cells[2]");
    REFUSED(HK_SHAPE_FUNNEL, radius = 0, "funnel.radius");
    REFUSED(HK_SHAPE_FUNNEL, neck = 0, "funnel.neck");
    REFUSED(HK_SHAPE_FUNNEL, height = 0, "funnel.height");
    REFUSED(HK_SHAPE_FUNNEL, length = -1, "funnel.length");
    REFUSED(HK_SHAPE_FUNNEL, thickness = 0, "funnel.thickness");
    REFUSED(HK_SHAPE_FUNNEL, cells[0] = 2, "funnel.cells[0]");
    REFUSED(HK_SHAPE_FUNNEL, cells[1] = 1, "funnel.cells[1] must be at least 2");
    REFUSED(HK_SHAPE_BOX, shape = (hk_shape)77, "77");
    REFUSED(HK_SHAPE_BOX, shape = (hk_shape)-1, "-1");
#undef REFUSED
    assert_refused(NULL, "def");
    const hk_mesh_def fine = hk_default_mesh_def(HK_SHAPE_BOX);
    assert_int_equal(hk_mesh_make(&fine, NULL), HK_BAD_INPUT);
}

static void no_failed_allocation_leaks(void **state)
{
    (void)state;
    for (int shape = HK_SHAPE_BOX; shape <= HK_SHAPE_FUNNEL; shape++) {
        hk_mesh_def def = hk_default_mesh_def((hk_shape)shape);
        for (int i = 0; i < 3; i++) def.cells[i] = shape == HK_SHAPE_FIGURE ? 10 : 3;
        def.thickness = 0.11;  // leaves a note
        for (int n = 1;; n++) {
            hk_mesh *mesh = NULL;
            failing_alloc_install(n);
            hk_status status = hk_mesh_make(&def, &mesh);
            bool reached = failing_alloc_count() >= n;
            assert_int_equal(status, reached ? HK_NO_MEMORY : HK_OK);
            assert_int_equal(mesh == NULL, reached);
            hk_mesh_free(mesh);
            assert_int_equal(failing_alloc_live(), 0);
            failing_alloc_remove();
            if (!reached) break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_sound),
        cmocka_unit_test(defaults_are_sound),
        cmocka_unit_test(rings_are_sound),
        cmocka_unit_test(pyramids_wedges_and_funnels_measure_up),
        cmocka_unit_test(box_is_exact),
        cmocka_unit_test(box_has_no_preferred_direction),
        cmocka_unit_test(round_surfaces_are_round),
        cmocka_unit_test(volumes_converge_at_second_order),
        cmocka_unit_test(helix_climbs_right_handed),
        cmocka_unit_test(sheet_lies_flat_and_faces_up),
        cmocka_unit_test(figures_stand),
        cmocka_unit_test(wrong_definitions_are_refused_by_field),
        cmocka_unit_test(no_failed_allocation_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
