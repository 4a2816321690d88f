// Distances, and gaps of the contacts that are listed as they were when energies were last
// evaluated.
#include <math.h>

#include "contact/contacts.h"
#include "contact/quick.h"

static double distance_at(const double *positions, hk_pair_kind kind, const int32_t point[4])
{
    double x[4][3];
    hk_closest at;
    hk_contact_corners(positions, point, x);
    quick_closest(kind, (const double(*)[3])x, at.c, at.w);
    at.square = closest_dot(at.w, at.w);
    return pair_distance(kind, &at, (const double(*)[3])x);
}

double hk_contacts_pair_distance(const hk_contacts *c, hk_pair_kind kind, const int32_t point[4])
{
    return distance_at(c->x, kind, point);
}

double hk_contacts_rest_distance(const hk_contacts *c, hk_pair_kind kind, const int32_t point[4])
{
    return distance_at(c->rest, kind, point);
}

double hk_contacts_gap(const hk_contacts *c, const hk_contact *k)
{
    return hk_contacts_pair_distance(c, k->pair.kind, k->point) - k->pair.thickness;
}

double hk_contacts_nearer(const hk_contacts *c)
{
    double square = 0;
    if (c->gap_version != c->version) return INFINITY;
#pragma omp parallel for schedule(static) num_threads(c->threads) reduction(max : square)
    for (int p = 0; p < c->point_count; p++) {
        double d[3];
        closest_minus(c->x + 3 * (size_t)p, c->seen + 3 * (size_t)p, d);
        double far = closest_dot(d, d);
        square = far > square ? far : square;
    }
    return 2 * sqrt(square);
}

void hk_contacts_keep_gaps(hk_contacts *c)
{
    memcpy(c->seen, c->x, 3 * sizeof(double) * (size_t)c->point_count);
    c->gap_version = c->version;
}
