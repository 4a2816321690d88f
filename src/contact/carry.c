// Bodies that planes are driven into. A start in which free points stay where they are lets a plane
// come nearer by a part of a gap only, and a step of many gaps takes as many solves. So where it
// does not get through, points that would come too near to it are carried along: they are put in
// front of where it goes. Whether such a start is of use is for the one to judge who asks for it
// (elements may be inside out).
#include <math.h>

#include "contact/closest.h"
#include "contact/contacts.h"

// How near to a plane a point may be put, relative to the distance.
#define NEAREST 0.5

static double height_over(const double *x, int32_t plane, int32_t point)
{
    double normal[3], d[3];
    const double *from = x + 3 * (size_t)plane;
    closest_minus(from + 3, from, normal);
    closest_minus(x + 3 * (size_t)point, from, d);
    return closest_dot(normal, d);
}

// Whether a plane has to move the aim of a point; if so, it does.
static bool carry(hk_contacts *c, int32_t plane, int32_t point)
{
    double thickness = hk_contact_radius(c->settings, c->side[point]);
    double distance = c->settings->distance;
    double before = height_over(c->kept, plane, point) - thickness;
    double after = height_over(c->aim, plane, point) - thickness;
    double wanted = fmax(NEAREST * distance, fmin(before, distance));
    if (!(before > 0) || after >= wanted) return false;
    const double *from = c->aim + 3 * (size_t)plane;
    for (size_t i = 0; i < 3; i++)
        c->aim[3 * (size_t)point + i] += (wanted - after) * (from[3 + i] - from[i]);
    return true;
}

bool hk_contacts_carry(hk_contacts *c, const uint8_t *held)
{
    bool any = false;
    for (int o = 0; o < c->settings->obstacle_count; o++) {
        int32_t plane = c->plane_of[o], side = c->settings->body_count + o;
        for (int32_t p = 0; plane >= 0 && p < c->body_points; p++) {
            if (held && held[c->vertex[p]]) continue;
            if (hk_contact_touches(c->settings, c->side[p], side)) any |= carry(c, plane, p);
        }
    }
    return hk_partition_any(c->model->partition, any);
}
