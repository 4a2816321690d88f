// Obstacles as meshes, for pictures.
#include <math.h>

#include "core/vector.h"
#include "mesh/mesh.h"
#include "model/contact.h"

// Facets of what is round, along the equator and of a half; tiles of a plane, along a side.
enum { AROUND = 32, RINGS = 8, TILES = 24 };

static void frame_of(const double n[3], double u[3], double v[3])
{
    int least = fabs(n[0]) < fabs(n[1]) ? 0 : 1;
    if (fabs(n[2]) < fabs(n[least])) least = 2;
    double e[3] = {least == 0, least == 1, least == 2};
    double along = e[0] * n[0] + e[1] * n[1] + e[2] * n[2];
    for (int i = 0; i < 3; i++) u[i] = e[i] - along * n[i];
    hk_unit3(u, u);
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        v[i] = n[j] * u[k] - n[k] * u[j];
    }
}

// A square around the point of the plane that is nearest to `center`.
static hk_status make_square(const hk_obstacle *o, const hk_placement *at, double size,
                             const double *center, hk_mesh **mesh)
{
    double point[3], normal[3], u[3], v[3], height = 0;
    hk_obstacle_plane(o, at, point, normal);
    for (int i = 0; i < 3 && center; i++) height += normal[i] * (center[i] - point[i]);
    for (int i = 0; i < 3 && center; i++) point[i] = center[i] - height * normal[i];
    frame_of(normal, u, v);
    HK_TRY(hk_mesh_new((TILES + 1) * (TILES + 1), 0, 2 * TILES * TILES, mesh));
    double *x = (*mesh)->positions;
    for (int k = 0; k < (TILES + 1) * (TILES + 1); k++) {
        double a = size * (k % (TILES + 1) / (double)TILES - 0.5);
        double b = size * (k / (TILES + 1) / (double)TILES - 0.5);
        for (int i = 0; i < 3; i++) x[3 * k + i] = point[i] + a * u[i] + b * v[i];
    }
    int32_t *to = (*mesh)->triangles;
    for (int32_t k = 0; k < TILES * TILES; k++, to += 6) {
        int32_t from = k % TILES + k / TILES * (TILES + 1);
        const int32_t both[6] = {from, from + 1,         from + TILES + 2,
                                 from, from + TILES + 2, from + TILES + 1};
        memcpy(to, both, sizeof both);
    }
    return HK_OK;
}

// Triangles between ring k and the next, of AROUND vertices each, counted from vertex 1 on.
static int32_t *join_rings(int k, int32_t *to)
{
    for (int j = 0; j < AROUND; j++) {
        int32_t a = 1 + k * AROUND + j, b = 1 + k * AROUND + (j + 1) % AROUND;
        const int32_t both[6] = {a, b, b + AROUND, a, b + AROUND, a + AROUND};
        memcpy(to, both, sizeof both);
        to += 6;
    }
    return to;
}

// A ball swept from a to b, from pole to pole.
static hk_status make_round(const double a[3], const double b[3], double radius, hk_mesh **mesh)
{
    enum { ALL = 2 * RINGS, LAST = ALL * AROUND + 1 };
    double axis[3], u[3], v[3], pi = acos(-1.0);
    for (int i = 0; i < 3; i++) axis[i] = b[i] - a[i];
    if (!hk_unit3(axis, axis)) axis[0] = axis[2] = 0, axis[1] = 1;
    frame_of(axis, u, v);
    HK_TRY(hk_mesh_new(LAST + 1, 0, 2 * AROUND * ALL, mesh));
    for (int i = 0; i < 3; i++) {
        (*mesh)->positions[i] = a[i] - radius * axis[i];
        (*mesh)->positions[3 * LAST + i] = b[i] + radius * axis[i];
    }
    for (int k = 0; k < ALL; k++) {
        bool second = k >= RINGS;
        double angle = pi / 2 * (second ? k - RINGS : k + 1 - RINGS) / RINGS;
        for (int j = 0; j < AROUND; j++)
            for (int i = 0; i < 3; i++)
                (*mesh)->positions[3 * (1 + k * AROUND + j) + i] =
                    (second ? b : a)[i] + radius * sin(angle) * axis[i] +
                    radius * cos(angle) *
                        (cos(2 * pi * j / AROUND) * u[i] + sin(2 * pi * j / AROUND) * v[i]);
    }
    int32_t *to = (*mesh)->triangles;
    for (int j = 0; j < AROUND; j++) {
        const int32_t ends[6] = {
            0,    1 + (j + 1) % AROUND,       1 + j,
            LAST, 1 + (ALL - 1) * AROUND + j, 1 + (ALL - 1) * AROUND + (j + 1) % AROUND};
        memcpy(to, ends, sizeof ends);
        to += 6;
    }
    for (int k = 0; k + 1 < ALL; k++) to = join_rings(k, to);
    return HK_OK;
}

static hk_status make_surface(const hk_obstacle *o, const hk_placement *at, hk_mesh **mesh)
{
    if (o->triangle_count == 0) {
        double ends[2][3];
        for (int k = 0; k < 2; k++)
            hk_placement_apply(at, o->rest + 3 * (size_t)(k < o->vertex_count ? k : 0), ends[k]);
        return make_round(ends[0], ends[1], o->radius, mesh);
    }
    HK_TRY(hk_mesh_new(o->vertex_count, 0, o->triangle_count, mesh));
    hk_obstacle_vertices(o, at, (*mesh)->positions);
    memcpy((*mesh)->triangles, o->triangles, 3 * sizeof(int32_t) * (size_t)o->triangle_count);
    return HK_OK;
}

hk_status hk_model_obstacle_mesh(const hk_model *model, int obstacle, double time, double size,
                                 const double center[3], hk_mesh **mesh)
{
    if (!model || !mesh)
        return hk_fail(HK_BAD_INPUT, "hk_model_obstacle_mesh: model and mesh are needed");
    if (obstacle < 0 || obstacle >= hk_model_obstacle_count(model))
        return hk_fail(HK_BAD_INPUT, "there is no obstacle %d (the model has %d)", obstacle,
                       hk_model_obstacle_count(model));
    const hk_obstacle *o = &model->contact->obstacles[obstacle];
    hk_placement at;
    HK_TRY(hk_obstacle_place(o, time, &at));
    if (o->shape != HK_OBSTACLE_PLANE) return make_surface(o, &at, mesh);
    if (!(size > 0 && isfinite(size)))
        return hk_fail(HK_BAD_INPUT, "hk_model_obstacle_mesh: a plane needs a size");
    return make_square(o, &at, size, center, mesh);
}
