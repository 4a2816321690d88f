// What is wrong with a mesh, and whether it can be simulated nevertheless.
//
// A mesh is simulable if it has tets, every position is finite, no tet is flat or inverted, and no
// tet is there twice (its material would count twice: too heavy, too stiff, and its faces would be
// missing from the surface). Triangles without tets are a sheet: none of them may be flat.
// Unreferenced vertices are held still; vertices in the same place leave a crack or two bodies,
// which may be meant; elements that share too much overlap or touch at an edge. These are told and
// do not stand in the way.
#include "mesh/mesh.h"

#include <math.h>
#include <stdio.h>

#include "mesh/facets.h"
#include "mesh/quadratic.h"

// Below this quality a tet or a triangle is called flat: rounding has a say in its volume or area.
static const double flat_quality = 1e-9;

static const double *corner(const hk_mesh *mesh, int32_t vertex)
{
    return mesh->positions + 3 * (size_t)vertex;
}

// ---------------------------------------------------------------- measures

static void measure_vertices(const hk_mesh *mesh, hk_mesh_report *report)
{
    bool any = false;
    for (int v = 0; v < mesh->vertex_count; v++) {
        const double *p = corner(mesh, v);
        if (!hk_is_finite3(p)) {
            hk_defect_add(&report->not_finite, v);
            continue;
        }
        for (int i = 0; i < 3; i++) {
            report->bounds[0][i] = any ? fmin(report->bounds[0][i], p[i]) : p[i];
            report->bounds[1][i] = any ? fmax(report->bounds[1][i], p[i]) : p[i];
        }
        any = true;
    }
}

// Of a quadratic tet the volume is that between its curved faces, and where it is folded the
// quality is that of an inverted one.
static void measure_quadratic(const hk_mesh *mesh, int t, double *quality, double *volume6)
{
    int32_t node[HK_QUADRATIC_NODES];
    const double *at[HK_QUADRATIC_NODES];
    double least;
    hk_quadratic_nodes(mesh->tets + 4 * (size_t)t, mesh->middles + HK_MIDDLES * (size_t)t, node);
    for (int a = 0; a < HK_QUADRATIC_NODES; a++) at[a] = corner(mesh, node[a]);
    *volume6 = 6 * hk_quadratic_volume(at, &least);
    if (!(least > 0)) *quality = -fabs(*quality);
}

// Returns how many of the flat ones are inverted: their vertices were moved after reading.
static int64_t measure_tets(const hk_mesh *mesh, hk_mesh_report *report)
{
    int64_t inverted = 0;
    double quality_sum = 0;
    report->worst_tet = -1;
    for (int t = 0; t < mesh->tet_count; t++) {
        const int32_t *v = mesh->tets + 4 * (size_t)t;
        const double *a = corner(mesh, v[0]), *b = corner(mesh, v[1]), *c = corner(mesh, v[2]),
                     *d = corner(mesh, v[3]);
        double quality = hk_tet_quality(a, b, c, d), volume6 = hk_tet_volume6(a, b, c, d);
        if (mesh->middles && mesh->middles[HK_MIDDLES * (size_t)t] >= 0)
            measure_quadratic(mesh, t, &quality, &volume6);
        if (isfinite(volume6)) report->volume += volume6 / 6;
        quality_sum += quality;
        if (quality < flat_quality) hk_defect_add(&report->flat, t);
        if (quality <= -flat_quality) inverted++;
        if (t == 0 || quality < report->worst_quality) {
            report->worst_quality = quality;
            report->worst_tet = t;
        }
    }
    if (mesh->tet_count) report->mean_quality = quality_sum / mesh->tet_count;
    return inverted;
}

static void measure_surface(const hk_mesh *mesh, hk_mesh_report *report)
{
    for (int t = 0; t < mesh->surface_count; t++) {
        const int32_t *v = mesh->surface + 3 * (size_t)t;
        const double *a = corner(mesh, v[0]), *b = corner(mesh, v[1]), *c = corner(mesh, v[2]);
        double area = hk_triangle_area(a, b, c);
        if (isfinite(area)) report->area += area;
        bool flat = !(hk_triangle_quality(a, b, c) >= flat_quality);
        if (mesh->tet_count == 0 && flat) hk_defect_add(&report->flat, t);
    }
}

// ---------------------------------------------------------------- components, references

static int32_t find_root(int32_t *parents, int32_t vertex)
{
    while (parents[vertex] != vertex) {
        parents[vertex] = parents[parents[vertex]];
        vertex = parents[vertex];
    }
    return vertex;
}

static void join_corners(int32_t *parents, int count, int corners, const int32_t *elements)
{
    for (int e = 0; e < count; e++) {
        const int32_t *v = elements + (size_t)corners * (size_t)e;
        int32_t root = find_root(parents, v[0]);
        for (int c = 1; c < corners; c++) {
            int32_t other = find_root(parents, v[c]);
            if (other < root) {
                parents[root] = other;
                root = other;
            } else {
                parents[other] = root;
            }
        }
    }
}

static void mark_corners(bool *used, int count, int corners, const int32_t *elements)
{
    for (size_t i = 0; i < (size_t)corners * (size_t)count; i++) used[elements[i]] = true;
}

static void join_middles(const hk_mesh *mesh, int32_t *parents, bool *used)
{
    for (int64_t k = 0; k < HK_MIDDLES * (int64_t)mesh->tet_count && mesh->middles; k++) {
        if (mesh->middles[k] < 0) continue;
        const int32_t edge[2] = {mesh->tets[4 * (k / HK_MIDDLES)], mesh->middles[k]};
        join_corners(parents, 1, 2, edge);
        used[edge[1]] = true;
    }
}

// Components are counted among the tets, or among the triangles of a surface mesh. Elements that
// share a vertex belong together.
static hk_status count_components(const hk_mesh *mesh, hk_mesh_report *report)
{
    int32_t *parents = HK_ARRAY(int32_t, mesh->vertex_count);
    bool *used = HK_ZEROS(bool, mesh->vertex_count);
    if (!parents || !used) {
        hk_free(parents);
        hk_free(used);
        return HK_NO_MEMORY;
    }
    for (int v = 0; v < mesh->vertex_count; v++) parents[v] = v;
    if (mesh->tet_count) {
        join_corners(parents, mesh->tet_count, 4, mesh->tets);
        mark_corners(used, mesh->tet_count, 4, mesh->tets);
        join_middles(mesh, parents, used);
    } else {
        join_corners(parents, mesh->triangle_count, 3, mesh->triangles);
        mark_corners(used, mesh->triangle_count, 3, mesh->triangles);
    }
    for (int v = 0; v < mesh->vertex_count; v++)
        if (used[v] && parents[v] == v) report->components++;
    mark_corners(used, mesh->triangle_count, 3, mesh->triangles);
    for (int v = 0; v < mesh->vertex_count; v++)
        if (!used[v]) hk_defect_add(&report->unreferenced, v);
    hk_free(parents);
    hk_free(used);
    return HK_OK;
}

// ---------------------------------------------------------------- duplicates

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_vertex(const hk_mesh *mesh, int32_t vertex)
{
    // NaN equals nothing, itself included: without their numbers they would pile up in one slot.
    if (!hk_is_finite3(corner(mesh, vertex))) return mix(mix(0, (uint64_t)vertex), 0);
    uint64_t hash = 0;
    for (int i = 0; i < 3; i++) {
        double value = corner(mesh, vertex)[i] + 0.0;  // −0 becomes 0
        uint64_t word;
        memcpy(&word, &value, sizeof word);
        hash = mix(hash, word);
    }
    return mix(hash, 0);
}

static bool same_vertex(const hk_mesh *mesh, int32_t a, int32_t b)
{
    const double *p = corner(mesh, a), *q = corner(mesh, b);
    return p[0] == q[0] && p[1] == q[1] && p[2] == q[2];
}

static void sorted_tet(const hk_mesh *mesh, int32_t tet, int32_t sorted[4])
{
    memcpy(sorted, mesh->tets + 4 * (size_t)tet, 4 * sizeof *sorted);
    for (int i = 1; i < 4; i++)
        for (int j = i; j > 0 && sorted[j - 1] > sorted[j]; j--) {
            int32_t kept = sorted[j];
            sorted[j] = sorted[j - 1];
            sorted[j - 1] = kept;
        }
}

static uint64_t hash_tet(const hk_mesh *mesh, int32_t tet)
{
    int32_t v[4];
    sorted_tet(mesh, tet, v);
    uint64_t hash = 0;
    for (int i = 0; i < 4; i += 2)
        hash = mix(hash, (uint64_t)(uint32_t)v[i] << 32 | (uint32_t)v[i + 1]);
    return mix(hash, 0);
}

static bool same_tet(const hk_mesh *mesh, int32_t a, int32_t b)
{
    int32_t p[4], q[4];
    sorted_tet(mesh, a, p);
    sorted_tet(mesh, b, q);
    return memcmp(p, q, sizeof p) == 0;
}

// Items 0 … count−1 that equal an earlier one. Equal items never enter the table twice, so a
// million vertices in one place are as fast as a million different ones.
static hk_status find_duplicates(const hk_mesh *mesh, int count,
                                 uint64_t (*hash)(const hk_mesh *, int32_t),
                                 bool (*same)(const hk_mesh *, int32_t, int32_t),
                                 hk_defect *duplicates)
{
    size_t size = 16;
    while (size < 2 * (size_t)count) size *= 2;
    int32_t *table = HK_ARRAY(int32_t, size);
    if (!table) return HK_NO_MEMORY;
    memset(table, 0xff, size * sizeof *table);  // −1: free
    for (int32_t item = 0; item < count; item++) {
        size_t slot = hash(mesh, item) & (size - 1);
        while (table[slot] >= 0 && !same(mesh, table[slot], item)) slot = (slot + 1) & (size - 1);
        if (table[slot] >= 0)
            hk_defect_add(duplicates, item);
        else
            table[slot] = item;
    }
    hk_free(table);
    return HK_OK;
}

// ---------------------------------------------------------------- edges of the surface

static void count_edge(void *context, int32_t low, const hk_keyed *run, size_t count)
{
    hk_mesh_report *report = context;
    (void)run;
    if (count > 2) hk_defect_add(&report->non_manifold, low);
    if (count == 1 && report->tets == 0) hk_defect_add(&report->open_edges, low);
}

// ---------------------------------------------------------------- the verdict

// Adds ", 3 flat tets (first: 17)" (the comma only between entries).
static void say(char *text, size_t size, const char **separator, const hk_defect *defect,
                const char *singular, const char *plural)
{
    if (defect->count == 0) return;
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%lld %s (first: %lld)", *separator,
             (long long)defect->count, defect->count == 1 ? singular : plural,
             (long long)defect->first[0]);
    *separator = ", ";
}

static void judge(hk_mesh *mesh, hk_mesh_report *report, int64_t inverted)
{
    char *text = mesh->verdict;
    const size_t size = sizeof mesh->verdict;
    const char *separator = ": ";
    report->verdict = text;
    bool sheet = report->tets == 0;
    if (sheet && report->triangles == 0) {
        snprintf(text, size, "an empty mesh: it has no tets and no triangles");
        separator = "; ";
        say(text, size, &separator, &report->not_finite, "vertex is not finite",
            "vertices are not finite");
        return;
    }
    report->simulable =
        !report->not_finite.count && !report->flat.count && !report->duplicate_tets.count;
    if (!report->simulable) {
        snprintf(text, size, "cannot be simulated");
        say(text, size, &separator, &report->not_finite, "vertex that is not finite",
            "vertices that are not finite");
        say(text, size, &separator, &report->flat,
            sheet      ? "flat triangle"
            : inverted ? "inverted tet"
                       : "flat tet",
            sheet      ? "flat triangles"
            : inverted ? "flat or inverted tets"
                       : "flat tets");
        say(text, size, &separator, &report->duplicate_tets, "duplicate tet", "duplicate tets");
        return;
    }
    snprintf(text, size, "ready to simulate%s", sheet ? " as a sheet (mass_spring)" : "");
    separator = ", but it has ";
    say(text, size, &separator, &report->unreferenced, "unreferenced vertex, held still",
        "unreferenced vertices, held still");
    say(text, size, &separator, &report->duplicate_vertices, "duplicate vertex",
        "duplicate vertices");
    say(text, size, &separator, &report->non_manifold, "non-manifold face or edge",
        "non-manifold faces or edges");
}

hk_status hk_mesh_check(hk_mesh *mesh, hk_mesh_report *report)
{
    if (!mesh || !report)
        return hk_fail(HK_BAD_INPUT, "hk_mesh_check: %s is NULL", mesh ? "report" : "mesh");
    HK_TRY(hk_mesh_check_indices(mesh, "mesh"));
    HK_TRY(hk_mesh_surface(mesh, NULL, NULL, NULL));
    hk_mesh_report found = {.vertices = mesh->vertex_count,
                            .tets = mesh->tet_count,
                            .triangles = mesh->triangle_count,
                            .groups = mesh->group_count,
                            .turned = mesh->turned,
                            .non_manifold = mesh->shared_faces};
    measure_vertices(mesh, &found);
    int64_t inverted = measure_tets(mesh, &found);
    measure_surface(mesh, &found);
    HK_TRY(count_components(mesh, &found));
    HK_TRY(find_duplicates(mesh, mesh->tet_count, hash_tet, same_tet, &found.duplicate_tets));
    HK_TRY(find_duplicates(mesh, mesh->vertex_count, hash_vertex, same_vertex,
                           &found.duplicate_vertices));
    HK_TRY(hk_visit_facets(mesh->vertex_count, 3 * (int64_t)mesh->surface_count, mesh->surface,
                           hk_triangle_edge, count_edge, &found));
    judge(mesh, &found, inverted);
    *report = found;
    return HK_OK;
}
