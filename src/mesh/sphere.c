// A ball around the origin.
#include "mesh/shapes.h"

#include <math.h>

// From the cube [−1, 1]³ to the ball: cubes around the centre become spheres, and equal steps on a
// face of a cube nearly equal angles. Edges and corners of the cube become flat, which is sound
// for the same reason as on a disc (hk_square_to_disc).
static void place_in_ball(const void *context, int copy, const double at[3], double position[3])
{
    const double quarter_pi = 0.78539816339744831;
    double radius = *(const double *)context;
    (void)copy;
    double cube[3], largest = 0;
    for (int i = 0; i < 3; i++) {
        cube[i] = 2 * at[i] - 1;
        largest = fmax(largest, fabs(cube[i]));
    }
    if (largest == 0) {
        position[0] = position[1] = position[2] = 0;
        return;
    }
    double direction[3], length2 = 0;
    for (int i = 0; i < 3; i++) {
        double t = cube[i] / largest;
        direction[i] = fabs(t) == 1 ? t : tan(quarter_pi * t);
        length2 += direction[i] * direction[i];
    }
    double scale = radius * largest / sqrt(length2);
    for (int i = 0; i < 3; i++) position[i] = scale * direction[i];
}

hk_status hk_make_sphere(const hk_mesh_def *def, hk_mesh **mesh)
{
    HK_TRY(hk_check_positive("sphere.radius", def->radius));
    HK_TRY(hk_check_at_least_one("sphere.cells", def->cells[0]));
    int n = def->cells[0];
    hk_lattice lattice = {.shape = "sphere", .cells = {n, n, n}, .cut = HK_CUT_SIX, .copies = 1};
    hk_mesh *made;
    HK_TRY(hk_lattice_mesh(&lattice, &made));
    hk_lattice_place(&lattice, place_in_ball, &def->radius, made);
    *mesh = made;
    return HK_OK;
}
