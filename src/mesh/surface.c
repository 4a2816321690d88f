// The outer triangles of a mesh: those of its tets, and its sheets.
#include "mesh/mesh.h"

#include <limits.h>

#include "mesh/facets.h"
#include "mesh/quadratic.h"

typedef struct face_census {
    uint8_t *outer;  // [tet_count] a bit for each face that no other tet has
    int64_t outer_count;
    hk_defect shared;
} face_census;

static void count_face(void *context, int32_t low, const hk_keyed *run, size_t count)
{
    face_census *census = context;
    if (count == 1) {
        census->outer[run->item / 4] |= (uint8_t)(1 << run->item % 4);
        census->outer_count++;
    } else if (count > 2) {
        hk_defect_add(&census->shared, low);
    }
}

// The triangles of face f of a tet, outward; returns their number.
static int face_triangles(const hk_mesh *mesh, int t, int f, int32_t triangle[4][3])
{
    const int *face = hk_tet_faces[f];
    const int32_t *middles = mesh->middles ? mesh->middles + HK_MIDDLES * (int64_t)t : NULL;
    int32_t corner[3];
    for (int c = 0; c < 3; c++) corner[c] = mesh->tets[4 * (size_t)t + (size_t)face[c]];
    if (!middles || middles[0] < 0) {
        memcpy(triangle[0], corner, sizeof corner);
        return 1;
    }
    hk_split_face(corner, middles[hk_middle_between(face[0], face[1])],
                  middles[hk_middle_between(face[1], face[2])],
                  middles[hk_middle_between(face[2], face[0])], triangle);
    return 4;
}

// In the order of tets, and of the faces of each: the same whatever the numbering of vertices.
static void collect_outer(const hk_mesh *mesh, const uint8_t *outer, int32_t *triangles,
                          int32_t *tets)
{
    for (int t = 0; t < mesh->tet_count; t++)
        for (int f = 0; f < 4; f++) {
            if (!(outer[t] >> f & 1)) continue;
            int count = face_triangles(mesh, t, f, (int32_t(*)[3])triangles);
            triangles += 3 * count;
            for (int k = 0; k < count; k++) *tets++ = t;
        }
}

// Faces of quadratic tets are four triangles each.
static int64_t count_outer(const hk_mesh *mesh, const face_census *census)
{
    int64_t count = census->outer_count;
    for (int t = 0; t < mesh->tet_count && mesh->middles; t++)
        if (mesh->middles[HK_MIDDLES * (int64_t)t] >= 0)
            for (int f = 0; f < 4; f++) count += 3 * (census->outer[t] >> f & 1);
    return count;
}

hk_status hk_mesh_loose_triangles(const hk_mesh *mesh, uint8_t *loose, int *count)
{
    uint8_t *of_tets = HK_ZEROS(uint8_t, mesh->vertex_count);
    if (!of_tets) return HK_NO_MEMORY;
    for (int64_t k = 0; k < 4 * (int64_t)mesh->tet_count; k++) of_tets[mesh->tets[k]] = 1;
    for (int64_t k = 0; k < HK_MIDDLES * (int64_t)mesh->tet_count && mesh->middles; k++)
        if (mesh->middles[k] >= 0) of_tets[mesh->middles[k]] = 1;
    *count = 0;
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int32_t *c = mesh->triangles + 3 * (int64_t)t;
        loose[t] = !(of_tets[c[0]] && of_tets[c[1]] && of_tets[c[2]]);
        *count += loose[t];
    }
    hk_free(of_tets);
    return HK_OK;
}

static void collect_loose(const hk_mesh *mesh, const uint8_t *loose, int32_t *triangles,
                          int32_t *tets)
{
    for (int t = 0; t < mesh->triangle_count; t++) {
        if (!loose[t]) continue;
        memcpy(triangles, mesh->triangles + 3 * (int64_t)t, 3 * sizeof *triangles);
        triangles += 3;
        *tets++ = -1;
    }
}

static hk_status make_surface(hk_mesh *mesh)
{
    HK_TRY(hk_mesh_check_indices(mesh, "mesh"));
    face_census census = {0};
    int64_t count, outer_count;
    int loose_count;
    int32_t *triangles = NULL, *tets = NULL;
    hk_status status = HK_NO_MEMORY;
    uint8_t *loose = HK_ARRAY(uint8_t, mesh->triangle_count);
    census.outer = HK_ZEROS(uint8_t, mesh->tet_count);
    if (!loose || !census.outer) goto failed;
    status = hk_mesh_loose_triangles(mesh, loose, &loose_count);
    if (status == HK_OK)
        status = hk_visit_facets(mesh->vertex_count, 4 * (int64_t)mesh->tet_count, mesh->tets,
                                 hk_tet_face, count_face, &census);
    if (status != HK_OK) goto failed;
    outer_count = count_outer(mesh, &census);
    count = outer_count + loose_count;
    if (count > INT_MAX) {
        status = hk_fail(HK_UNSUPPORTED, "the surface would have %lld triangles, more than %d",
                         (long long)count, INT_MAX);
        goto failed;
    }
    status = HK_NO_MEMORY;
    triangles = HK_ARRAY(int32_t, 3 * count);
    tets = HK_ARRAY(int32_t, count);
    if (!triangles || !tets) goto failed;
    collect_outer(mesh, census.outer, triangles, tets);
    collect_loose(mesh, loose, triangles + 3 * outer_count, tets + outer_count);
    hk_free(census.outer);
    hk_free(loose);
    mesh->surface_count = (int)count;
    mesh->surface = triangles;
    mesh->surface_tets = tets;
    mesh->shared_faces = census.shared;
    return HK_OK;
failed:
    hk_free(census.outer);
    hk_free(loose);
    hk_free(triangles);
    hk_free(tets);
    return status;
}

hk_status hk_mesh_surface(hk_mesh *mesh, int *triangle_count, const int32_t **triangles,
                          const int32_t **tets)
{
    if (!mesh) return hk_fail(HK_BAD_INPUT, "hk_mesh_surface: mesh is NULL");
    if (!mesh->surface) HK_TRY(make_surface(mesh));
    if (triangle_count) *triangle_count = mesh->surface_count;
    if (triangles) *triangles = mesh->surface;
    if (tets) *tets = mesh->surface_tets;
    return HK_OK;
}

static void number_used(int count, const int32_t *triangles, int vertex_count, int32_t *number,
                        int *used)
{
    *used = 0;
    for (int v = 0; v < vertex_count; v++) number[v] = -1;
    for (int64_t k = 0; k < 3 * (int64_t)count; k++)
        if (number[triangles[k]] < 0) number[triangles[k]] = (*used)++;
}

static hk_status keep_used(const hk_mesh *mesh, int32_t *number, hk_mesh **outside)
{
    int used;
    hk_mesh *made;
    number_used(mesh->surface_count, mesh->surface, mesh->vertex_count, number, &used);
    HK_TRY(hk_mesh_new(used, 0, mesh->surface_count, &made));
    for (int64_t k = 0; k < 3 * (int64_t)mesh->surface_count; k++) {
        int32_t from = mesh->surface[k], to = number[from];
        made->triangles[k] = to;
        memcpy(made->positions + 3 * (int64_t)to, mesh->positions + 3 * (int64_t)from,
               3 * sizeof(double));
    }
    *outside = made;
    return HK_OK;
}

hk_status hk_mesh_outside(const hk_mesh *mesh, hk_mesh **outside)
{
    hk_mesh *copy;
    HK_TRY(hk_mesh_copy(mesh, &copy));
    int32_t *number = HK_ARRAY(int32_t, mesh->vertex_count);
    hk_status status = number ? hk_mesh_surface(copy, NULL, NULL, NULL) : HK_NO_MEMORY;
    if (status == HK_OK) status = keep_used(copy, number, outside);
    hk_free(number);
    hk_mesh_free(copy);
    return status;
}
