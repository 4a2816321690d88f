// Meshes of quadratic tets that several tests use.
#ifndef TEST_QUADRATIC_BODIES_H
#define TEST_QUADRATIC_BODIES_H

#include <hooke/quadratic.h>

#include "bodies.h"

#include "mesh/quadratic.h"

static inline hk_mesh *quadratic_box(double x, double y, double z, int nx, int ny, int nz)
{
    hk_mesh *mesh = box_mesh(x, y, z, nx, ny, nz);
    CHECK_OK(hk_mesh_set_order(mesh, 2));
    return mesh;
}

// Nodes off the middles of edges, inside: curved elements.
static inline void bend_edges(hk_mesh *mesh, double by)
{
    uint64_t seed = 5;
    double *x = malloc(3 * sizeof *x * (size_t)mesh->vertex_count);
    memcpy(x, mesh->positions, 3 * sizeof *x * (size_t)mesh->vertex_count);
    for (int64_t k = 0; k < 6 * (int64_t)mesh->tet_count; k++) {
        const int32_t *tet = mesh->tets + 4 * (k / 6);
        for (int i = 0; i < 3; i++) {
            double a = x[3 * tet[hk_tet_edges[k % 6][0]] + i];
            double b = x[3 * tet[hk_tet_edges[k % 6][1]] + i];
            x[3 * (int64_t)mesh->middles[k] + i] = (a + b) / 2 + by * noise(&seed);
        }
    }
    CHECK_OK(hk_mesh_set_positions(mesh, x));
    free(x);
}

#endif
