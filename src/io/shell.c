#include "io/shell.h"

#include <float.h>
#include <math.h>

// From the mesh's surface to a surface with its own numbers.
static hk_status renumber(const hk_mesh *mesh, int triangle_count, const int32_t *triangles,
                          hk_shell *shell)
{
    size_t corner_count = 3 * (size_t)triangle_count;
    int32_t *numbers = HK_ZEROS(int32_t, mesh->vertex_count);
    if (!numbers) return HK_NO_MEMORY;
    for (size_t i = 0; i < corner_count; i++) numbers[triangles[i]] = 1;
    int32_t used = 0;
    for (int i = 0; i < mesh->vertex_count; i++) numbers[i] = numbers[i] ? used++ : -1;
    double *positions = HK_ARRAY(double, 3 * (size_t)used);
    int32_t *corners = HK_ARRAY(int32_t, corner_count), *sources = HK_ARRAY(int32_t, used);
    shell->owned[0] = positions;
    shell->owned[1] = corners;
    shell->owned[2] = sources;
    bool enough = positions && corners && sources;
    for (int i = 0; enough && i < mesh->vertex_count; i++) {
        if (numbers[i] < 0) continue;
        sources[numbers[i]] = i;
        memcpy(positions + 3 * (size_t)numbers[i], mesh->positions + 3 * (size_t)i,
               3 * sizeof(double));
    }
    for (size_t i = 0; enough && i < corner_count; i++) corners[i] = numbers[triangles[i]];
    hk_free(numbers);
    if (!enough) return HK_NO_MEMORY;
    shell->vertex_count = used;
    shell->positions = positions;
    shell->triangle_count = triangle_count;
    shell->triangles = corners;
    shell->sources = sources;
    return HK_OK;
}

static hk_status shell_of_tets(const hk_mesh *mesh, hk_shell *shell)
{
    if (mesh->surface) return renumber(mesh, mesh->surface_count, mesh->surface, shell);
    // The surface would be kept in the mesh, which is not ours to change.
    hk_mesh *copy = NULL;
    HK_TRY(hk_mesh_copy(mesh, &copy));
    int count;
    const int32_t *triangles, *tets;
    hk_status status = hk_mesh_surface(copy, &count, &triangles, &tets);
    if (status == HK_OK) status = renumber(mesh, count, triangles, shell);
    hk_mesh_free(copy);
    return status;
}

hk_status hk_shell_of(const hk_mesh *mesh, const char *format, hk_shell *shell)
{
    *shell = (hk_shell){0};
    hk_status status = HK_OK;
    if (mesh->tet_count) {
        status = shell_of_tets(mesh, shell);
    } else {
        shell->vertex_count = mesh->vertex_count;
        shell->positions = mesh->positions;
        shell->triangle_count = mesh->triangle_count;
        shell->triangles = mesh->triangles;
    }
    if (status == HK_OK && !shell->triangle_count)
        status =
            hk_fail(HK_BAD_INPUT, "the mesh has no triangles, and %s holds nothing else", format);
    if (status != HK_OK) hk_shell_free(shell);
    return status;
}

void hk_shell_free(hk_shell *shell)
{
    for (int i = 0; i < HK_COUNT_OF(shell->owned); i++) hk_free(shell->owned[i]);
    *shell = (hk_shell){0};
}

hk_status hk_shell_fits_float(const hk_shell *shell, const char *format)
{
    for (size_t i = 0; i < 3 * (size_t)shell->vertex_count; i++) {
        if (fabs(shell->positions[i]) <= FLT_MAX) continue;
        int vertex = (int)(i / 3);
        return hk_fail(HK_BAD_INPUT,
                       "vertex %d has the coordinate %g, which %s (single precision) cannot hold",
                       shell->sources ? shell->sources[vertex] : vertex, shell->positions[i],
                       format);
    }
    return HK_OK;
}

void hk_triangle_normal(const double *positions, const int32_t corners[3], double normal[3])
{
    const double *a = positions + 3 * (size_t)corners[0], *b = positions + 3 * (size_t)corners[1];
    const double *c = positions + 3 * (size_t)corners[2];
    double u[3], v[3];
    for (int k = 0; k < 3; k++) {
        u[k] = b[k] - a[k];
        v[k] = c[k] - a[k];
    }
    normal[0] = u[1] * v[2] - u[2] * v[1];
    normal[1] = u[2] * v[0] - u[0] * v[2];
    normal[2] = u[0] * v[1] - u[1] * v[0];
}
