// Whether a state is one to start from: nothing overlaps.
#include <stdio.h>

#include "contact/certificate.h"
#include "contact/contacts.h"

// "body 0 (bar)" or "obstacle floor"
static const char *side_name(const hk_contacts *c, int side, char *text, size_t size)
{
    int bodies = c->settings->body_count;
    if (side < bodies)
        snprintf(text, size, "body %d (%.60s)", side, c->model->bodies[side].name);
    else
        snprintf(text, size, "obstacle %.60s", c->settings->obstacles[side - bodies].name);
    return text;
}

static hk_status refuse(const hk_contacts *c, int a, int b, const double place[3])
{
    char first[96], second[96];
    return hk_fail(HK_BAD_INPUT,
                   "contact: %s and %s overlap near (%.4g, %.4g, %.4g): move them apart, or let "
                   "them ignore each other (\"between\")",
                   side_name(c, a, first, sizeof first), side_name(c, b, second, sizeof second),
                   place[0], place[1], place[2]);
}

// Pairs that are nearer than their thickness.
static hk_status check_gaps(const hk_contacts *c)
{
    for (size_t k = 0; k < c->count; k++) {
        const hk_contact *at = &c->list[k];
        double x[4][3];
        hk_contact_corners(c->x, at->point, x);
        hk_closest closest = pair_closest(at->pair.kind, (const double(*)[3])x);
        double gap = pair_distance(at->pair.kind, &closest, (const double(*)[3])x);
        if (!(gap > at->pair.thickness)) return refuse(c, at->sides[0], at->sides[1], x[0]);
    }
    return HK_OK;
}

static bool counts(const void *context, int32_t first, int32_t second)
{
    const void *const *both = context;
    const hk_contacts *c = both[0];
    const hk_surface *s = both[1];
    int a = hk_triangle_body(s, first), b = hk_triangle_body(s, second);
    int bodies = c->settings->body_count;
    return (a < bodies || b < bodies) && hk_contact_touches(c->settings, a, b);
}

// Triangles that cross without that any vertex or edge is near another.
static hk_status check_crossings(const hk_contacts *c, const hk_surface *surface)
{
    hk_certificate *certificate;
    hk_findings findings;
    const void *context[2] = {c, surface};
    HK_TRY(hk_certificate_create(surface, c->threads, &certificate));
    hk_status status = hk_certificate_run(certificate, c->x, counts, context, &findings);
    if (status == HK_OK && findings.count > 0) {
        hk_intersection first;
        hk_certificate_describe(certificate, c->x, &findings, 0, &first);
        status = refuse(c, first.bodies[0], first.bodies[1], first.place);
    }
    hk_certificate_free(certificate);
    return status;
}

hk_status hk_contacts_check(hk_contacts *c, const double *x)
{
    if (c->settings->law == HK_CONTACT_PENALTY) return HK_OK;
    hk_contacts_gather(c, x);
    HK_TRY(hk_contacts_detect(c, c->settings->distance));
    HK_TRY(check_gaps(c));
    hk_surface_def def = {.vertex_count = c->point_count,
                          .triangle_count = c->triangle_count,
                          .triangles = c->triangles,
                          .bodies = c->side};
    hk_surface *surface;
    HK_TRY(hk_surface_create(&def, &surface));
    hk_status status = check_crossings(c, surface);
    hk_surface_free(surface);
    return status;
}
