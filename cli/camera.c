// Looking at a scene from a direction, as near as it fits.
#include "camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// A long lens: calm perspective.
#define HALF_ANGLE_DEGREES 13.0

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

camera camera_from(double azimuth, double elevation)
{
    double a = azimuth * M_PI / 180, e = elevation * M_PI / 180;
    camera c = {
        .right = {cos(a), 0, -sin(a)},
        .up = {-sin(e) * sin(a), cos(e), -sin(e) * cos(a)},
        .back = {cos(e) * sin(a), sin(e), cos(e) * cos(a)},
        .focal = 1,
    };
    return c;
}

bool camera_parse_view(const char *text, double *azimuth, double *elevation)
{
    static const struct {
        const char *name;
        double azimuth, elevation;
    } views[] = {
        {"front", 0, 0},  {"back", 180, 0}, {"side", 90, 0},    {"right", 90, 0},
        {"left", -90, 0}, {"top", 0, 90},   {"bottom", 0, -90}, {"iso", 45, 35.264389682754654}};
    for (size_t i = 0; i < sizeof views / sizeof views[0]; ++i)
        if (strcmp(text, views[i].name) == 0) {
            *azimuth = views[i].azimuth, *elevation = views[i].elevation;
            return true;
        }
    char *end;
    double a = strtod(text, &end);
    if (end == text || *end != ',') return false;
    const char *second = end + 1;
    double e = strtod(second, &end);
    if (end == second || *end != '\0' || !isfinite(a) || !(fabs(e) <= 90)) return false;
    *azimuth = a, *elevation = e;
    return true;
}

// With the eye at (p, q, d) along right, up and back, a point (a, b, c) lies in the picture when
// |a - p| ≤ tangent·(d - c), that is p + tangent·d ≥ a + tangent·c and tangent·d - p ≥ tangent·c -
// a (and the same for b and q). Only the largest right-hand sides matter.
camera_fit camera_fit_begin(double width, double height)
{
    double least = fmin(width, height), t = tan(HALF_ANGLE_DEGREES * M_PI / 180);
    return (camera_fit){.tangent = {t * width / least, t * height / least},
                        .least = {-INFINITY, -INFINITY},
                        .most = {-INFINITY, -INFINITY},
                        .nearest = -INFINITY};
}

void camera_fit_add(camera_fit *fit, const camera *c, const double point[3])
{
    double at[2] = {dot(c->right, point), dot(c->up, point)}, depth = dot(c->back, point);
    for (int k = 0; k < 2; ++k) {
        fit->most[k] = fmax(fit->most[k], fit->tangent[k] * depth + at[k]);
        fit->least[k] = fmax(fit->least[k], fit->tangent[k] * depth - at[k]);
    }
    fit->nearest = fmax(fit->nearest, depth);
}

void camera_fit_end(const camera_fit *fit, camera *c, double x, double y, double width,
                    double height, double radius)
{
    double distance = fit->nearest + 0.5 * radius, place[2] = {0, 0};
    if (!isfinite(distance)) distance = radius;  // nothing to see
    for (int k = 0; k < 2; ++k) {
        double needed = (fit->most[k] + fit->least[k]) / (2 * fit->tangent[k]);
        if (isfinite(needed)) {
            distance = fmax(distance, needed);
            place[k] = 0.5 * (fit->most[k] - fit->least[k]);
        }
    }
    for (int k = 0; k < 3; ++k)
        c->eye[k] = place[0] * c->right[k] + place[1] * c->up[k] + distance * c->back[k];
    c->focal = 0.5 * width / fit->tangent[0];
    c->center[0] = x + 0.5 * width;
    c->center[1] = y + 0.5 * height;
}

void camera_project(const camera *c, const float point[3], float *x, float *y, float *distance)
{
    double d[3] = {point[0] - c->eye[0], point[1] - c->eye[1], point[2] - c->eye[2]};
    double depth = -dot(c->back, d);
    *x = (float)(c->center[0] + c->focal * dot(c->right, d) / depth);
    *y = (float)(c->center[1] - c->focal * dot(c->up, d) / depth);
    *distance = (float)depth;
}
