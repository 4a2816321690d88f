// A rectangle of triangles in the plane y = 0, its low corner at the origin, facing +y.
#include "mesh/shapes.h"

// Vertex (i, k) has the number i + (nx+1) k, x fastest. Every second square is cut along the other
// diagonal, so that no direction is preferred.
static void cut_squares(int nx, int nz, int32_t *triangles)
{
    for (int k = 0; k < nz; k++)
        for (int i = 0; i < nx; i++) {
            int a = i + (nx + 1) * k, b = a + 1, c = a + nx + 1, d = c + 1;
            // Seen from +y, x to the right, z points down: a b / c d.
            const int32_t along[6] = {a, c, d, a, d, b}, against[6] = {a, c, b, b, c, d};
            memcpy(triangles, (i + k) & 1 ? against : along, sizeof along);
            triangles += 6;
        }
}

hk_status hk_make_sheet(const hk_mesh_def *def, hk_mesh **mesh)
{
    HK_TRY(hk_check_positive("sheet.size[0]", def->size[0]));
    HK_TRY(hk_check_positive("sheet.size[1]", def->size[1]));
    HK_TRY(hk_check_at_least_one("sheet.cells[0]", def->cells[0]));
    HK_TRY(hk_check_at_least_one("sheet.cells[1]", def->cells[1]));
    int nx = def->cells[0], nz = def->cells[1];
    HK_TRY(hk_check_counts("sheet", (nx + 1.0) * (nz + 1.0), 2.0 * nx * nz, "triangles"));
    hk_mesh *made;
    HK_TRY(hk_mesh_new((nx + 1) * (nz + 1), 0, 2 * nx * nz, &made));
    double *position = made->positions;
    for (int k = 0; k <= nz; k++)
        for (int i = 0; i <= nx; i++) {
            position[0] = def->size[0] * ((double)i / nx);
            position[1] = 0;
            position[2] = def->size[1] * ((double)k / nz);
            position += 3;
        }
    cut_squares(nx, nz, made->triangles);
    *mesh = made;
    return HK_OK;
}
