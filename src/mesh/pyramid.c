// A pyramid of two tets: its base around the origin in the plane y = 0, its apex above.
#include "mesh/shapes.h"

hk_status hk_make_pyramid(const hk_mesh_def *def, hk_mesh **mesh)
{
    static const int32_t tets[8] = {0, 1, 2, 4, 0, 2, 3, 4};
    static const char *const fields[3] = {"pyramid.size[0]", "pyramid.size[1]", "pyramid.size[2]"};
    for (int i = 0; i < 3; i++) HK_TRY(hk_check_positive(fields[i], def->size[i]));
    double x = def->size[0] / 2, z = def->size[2] / 2;
    // Counter-clockwise as seen from above, and the apex.
    const double positions[5][3] = {
        {-x, 0, -z}, {-x, 0, z}, {x, 0, z}, {x, 0, -z}, {0, def->size[1], 0}};
    hk_mesh *made;
    HK_TRY(hk_mesh_new(5, 2, 0, &made));
    memcpy(made->positions, positions, sizeof positions);
    memcpy(made->tets, tets, sizeof tets);
    *mesh = made;
    return HK_OK;
}
