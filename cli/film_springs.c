// Springs between points, drawn as thin prisms. Broken ones are drawn no more.
#include <math.h>
#include <string.h>

#include "film.h"

enum { SIDES = 6, VERTICES = 2 * SIDES, TRIANGLES = 2 * SIDES };

int film_spring_vertices(const hk_model *model)
{
    return VERTICES * hk_model_point_spring_count(model);
}

int film_spring_triangles(const hk_model *model, int first, int32_t *triangles)
{
    int count = hk_model_point_spring_count(model);
    for (int s = 0; s < count && triangles; ++s)
        for (int k = 0; k < SIDES; ++k) {
            int32_t at = first + VERTICES * s, a = at + k, b = at + (k + 1) % SIDES;
            const int32_t two[6] = {a, b, b + SIDES, a, b + SIDES, a + SIDES};
            memcpy(triangles + 6 * ((size_t)SIDES * s + k), two, sizeof two);
        }
    return TRIANGLES * count;
}

// Two unit vectors across a direction; false: that has no length.
static bool across(const double d[3], double u[3], double v[3])
{
    double length = hypot(hypot(d[0], d[1]), d[2]), n[3];
    if (!(length > 0)) return false;
    for (int i = 0; i < 3; ++i) n[i] = d[i] / length;
    int least = fabs(n[0]) < fabs(n[1]) ? 0 : 1;
    if (fabs(n[2]) < fabs(n[least])) least = 2;
    for (int i = 0; i < 3; ++i) u[i] = (i == least) - n[least] * n[i];
    double scale = 1 / hypot(hypot(u[0], u[1]), u[2]);
    for (int i = 0; i < 3; ++i) u[i] *= scale;
    for (int i = 0; i < 3; ++i) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        v[i] = n[j] * u[k] - n[k] * u[j];
    }
    return true;
}

void film_place_springs(const hk_world *world, double size, double *x)
{
    const double radius = 0.0015 * size, turn = 2 * acos(-1.0) / SIDES;
    for (int s = 0; s < hk_model_point_spring_count(hk_world_model(world)); ++s) {
        hk_spring_state now;
        double d[3], u[3] = {0}, v[3] = {0};
        if (hk_world_spring_state(world, s, &now) != HK_OK) return;
        for (int i = 0; i < 3; ++i) d[i] = now.ends[1][i] - now.ends[0][i];
        double thick = across(d, u, v) && !now.broken ? radius : 0;
        for (int k = 0; k < VERTICES; ++k, x += 3) {
            const double *at = now.ends[now.broken ? 0 : k / SIDES];
            for (int i = 0; i < 3; ++i)
                x[i] = at[i] + thick * (cos(turn * k) * u[i] + sin(turn * k) * v[i]);
        }
    }
}
