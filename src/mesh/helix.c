// Round strands along right-handed helices about the y axis, equally spaced in angle.
//
// The centre line of the first strand goes through (radius, 0, 0) and climbs by `pitch` a turn; the
// ends are cut at right angles to it. The strands share no vertices, so each is a component of its
// own. Cells along a strand are about as long as they are wide on average.
#include "mesh/shapes.h"

#include <math.h>

static const double two_pi = 6.2831853071795865;

enum { LEAST_CELLS_A_TURN = 12 };

typedef struct helix {
    double radius, half_thickness;
    double climb;       // m along the axis per radian
    double end_angle;   // of the centre line
    double turn_apart;  // angle between strands
} helix;

static void place_in_strand(const void *context, int copy, const double at[3], double position[3])
{
    const helix *h = context;
    double angle = h->end_angle * at[0];
    double c = cos(angle + h->turn_apart * copy), s = sin(angle + h->turn_apart * copy);
    double slope = hypot(h->radius, h->climb);
    // Right-handed frame: along the curve, away from the axis, and their cross product.
    const double along[3] = {-h->radius * s / slope, h->climb / slope, -h->radius * c / slope};
    const double outward[3] = {c, 0, -s};
    const double third[3] = {along[1] * outward[2] - along[2] * outward[1],
                             along[2] * outward[0] - along[0] * outward[2],
                             along[0] * outward[1] - along[1] * outward[0]};
    double disc[2];
    hk_square_to_disc((double[2]){2 * at[1] - 1, 2 * at[2] - 1}, disc);
    const double centre[3] = {h->radius * c, h->climb * angle, -h->radius * s};
    for (int i = 0; i < 3; i++)
        position[i] = centre[i] + h->half_thickness * (disc[0] * outward[i] + disc[1] * third[i]);
}

// The least distance between a point of a centre line and the strand, or the turn of the same
// strand, next below it; INFINITY if there is none. The strand below lags by `turn_apart`; its
// point that lies `t` radians further along is 2R² (1 − cos(t + lag)) + (climb t)² away, squared.
static double distance_to_neighbour(const helix *h, int strands)
{
    enum { SAMPLES = 2000 };
    double least2 = INFINITY;
    // A lone strand meets itself half a turn below at the earliest.
    double last = strands == 1 ? -two_pi / 2 : 0;
    for (int i = 0; i <= SAMPLES; i++) {
        double t = -h->turn_apart + (last + h->turn_apart) * i / SAMPLES;
        if (-t > h->end_angle) continue;
        double chord = 2 * h->radius * sin((t + h->turn_apart) / 2);
        least2 = fmin(least2, chord * chord + h->climb * t * h->climb * t);
    }
    return sqrt(least2);
}

static hk_status check_fields(const hk_mesh_def *def)
{
    HK_TRY(hk_check_positive("helix.radius", def->radius));
    HK_TRY(hk_check_positive("helix.pitch", def->pitch));
    HK_TRY(hk_check_positive("helix.turns", def->turns));
    HK_TRY(hk_check_positive("helix.thickness", def->thickness));
    HK_TRY(hk_check_at_least_one("helix.strands", def->strands));
    HK_TRY(hk_check_at_least_one("helix.cells", def->cells[0]));
    double climb = def->pitch / two_pi;
    double curvature_radius = def->radius + climb * climb / def->radius;
    if (!(def->thickness < 2 * curvature_radius))
        return hk_fail(HK_BAD_INPUT,
                       "helix.thickness %g is too large: the strand would fold into itself, its "
                       "centre line has a radius of curvature of %g",
                       def->thickness, curvature_radius);
    return HK_OK;
}

hk_status hk_make_helix(const hk_mesh_def *def, hk_mesh **mesh)
{
    HK_TRY(check_fields(def));
    const helix h = {.radius = def->radius,
                     .half_thickness = def->thickness / 2,
                     .climb = def->pitch / two_pi,
                     .end_angle = two_pi * def->turns,
                     .turn_apart = two_pi / def->strands};
    double length = h.end_angle * hypot(h.radius, h.climb);
    int n = def->cells[0];
    double along = fmax(ceil(length / def->thickness * n), ceil(LEAST_CELLS_A_TURN * def->turns));
    // The lattice checks the counts too, but it counts in int.
    HK_TRY(hk_check_counts("helix", def->strands * (along + 1) * (n + 1.0) * (n + 1.0),
                           6.0 * def->strands * along * n * n, "tets"));
    hk_lattice lattice = {
        .shape = "helix", .cells = {(int)along, n, n}, .cut = HK_CUT_SIX, .copies = def->strands};
    hk_mesh *made;
    HK_TRY(hk_lattice_mesh(&lattice, &made));
    hk_lattice_place(&lattice, place_in_strand, &h, made);
    double apart = distance_to_neighbour(&h, def->strands);
    hk_status status = HK_OK;
    if (apart < def->thickness)
        status = hk_mesh_add_note(made,
                                  "the strands overlap: their centre lines come within %.4g m of "
                                  "each other, the thickness is %.4g m",
                                  apart, def->thickness);
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}
