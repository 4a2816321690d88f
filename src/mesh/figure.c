// A standing creature with a round belly, a snout and a tail: a body whose limbs swing.
#include <math.h>

#include "mesh/shapes.h"
#include "mesh/stuffing.h"

// Parts of the figure, for height 1: x to its left, y up, z to where it looks. Those with x > 0
// come in pairs.
typedef struct limb {  // a ball of radius from[3] swept to one of radius to[3]
    double from[4], to[4];
} limb;
typedef struct lump {  // an ellipsoid
    double centre[3], radii[3];
} lump;

static const lump LUMPS[] = {
    {{0, 0.385, 0.03}, {0.19, 0.185, 0.19}},     // belly
    {{0, 0.56, -0.01}, {0.145, 0.14, 0.115}},    // chest
    {{0, 0.785, 0.035}, {0.108, 0.115, 0.115}},  // head
};
static const limb LIMBS[] = {
    {{0, 0.64, 0, 0.085}, {0, 0.75, 0.02, 0.085}},           // neck
    {{0, 0.765, 0.1, 0.068}, {0, 0.74, 0.21, 0.052}},        // snout
    {{0.065, 0.85, 0.015, 0.06}, {0.115, 0.948, 0, 0.052}},  // ears
    {{0.12, 0.61, -0.01, 0.075}, {0.25, 0.52, 0.02, 0.07}},  // upper arms
    {{0.25, 0.52, 0.02, 0.07}, {0.325, 0.61, 0.1, 0.062}},   // lower arms
    {{0.325, 0.61, 0.1, 0.062}, {0.34, 0.66, 0.13, 0.066}},  // hands
    {{0.1, 0.28, 0, 0.105}, {0.135, 0.16, 0.025, 0.085}},    // upper legs
    {{0.135, 0.16, 0.025, 0.085}, {0.135, 0.05, 0, 0.072}},  // lower legs
    {{0.135, 0.045, 0, 0.07}, {0.155, 0.04, 0.13, 0.066}},   // feet
    {{0, 0.3, -0.12, 0.09}, {0, 0.17, -0.24, 0.072}},        // tail
    {{0, 0.17, -0.24, 0.072}, {0, 0.155, -0.39, 0.052}},     // its tip
};

static double lump_distance(const lump *e, const double p[3])
{
    double k0 = 0, k1 = 0;
    for (int i = 0; i < 3; i++) {
        double x = (p[i] - e->centre[i]) / e->radii[i];
        k0 += x * x;
        k1 += x * x / (e->radii[i] * e->radii[i]);
    }
    // (k − 1) divided by the slope of k = |x/r|: exact on the surface, nearly so around it.
    return k1 > 0 ? (k0 - sqrt(k0)) / sqrt(k1) : -e->radii[1];
}

static double limb_distance(const limb *l, const double p[3])
{
    double along[3], rel[3], dot = 0, length2 = 0;
    for (int i = 0; i < 3; i++) {
        along[i] = l->to[i] - l->from[i];
        rel[i] = p[i] - l->from[i];
        dot += along[i] * rel[i];
        length2 += along[i] * along[i];
    }
    double t = fmin(fmax(dot / length2, 0), 1), d2 = 0;
    for (int i = 0; i < 3; i++) d2 += (rel[i] - t * along[i]) * (rel[i] - t * along[i]);
    return sqrt(d2) - (l->from[3] + t * (l->to[3] - l->from[3]));
}

// The lesser of both, rounded where they meet.
static double blend(double a, double b)
{
    const double width = 0.05;
    double h = fmax(width - fabs(a - b), 0) / width;
    return fmin(a, b) - 0.25 * h * h * width;
}

static double figure_distance(const void *context, const double point[3])
{
    double height = *(const double *)context;
    double p[3] = {fabs(point[0]) / height, point[1] / height, point[2] / height};
    double d = lump_distance(&LUMPS[0], p);
    for (int k = 1; k < HK_COUNT_OF(LUMPS); k++) d = blend(d, lump_distance(&LUMPS[k], p));
    for (int k = 0; k < HK_COUNT_OF(LIMBS); k++) d = blend(d, limb_distance(&LIMBS[k], p));
    return height * fmax(d, -p[1]);  // it stands on the ground
}

hk_status hk_make_figure(const hk_mesh_def *def, hk_mesh **mesh)
{
    enum { LEAST_CELLS = 10 };  // fewer, and limbs fall off
    double height = def->height;
    HK_TRY(hk_check_positive("figure.height", height));
    if (def->cells[0] < LEAST_CELLS)
        return hk_fail(HK_BAD_INPUT, "figure.cells must be at least %d, not %d", LEAST_CELLS,
                       def->cells[0]);
    // Planes of the lattice pass through x = 0, where the two halves meet, and the ground.
    double cell = height / def->cells[0], half = cell * ceil(0.42 * height / cell);
    hk_stuffing stuffing = {.name = "figure",
                            .low = {-half, 0, -0.46 * height},
                            .high = {half, height, 0.28 * height},
                            .cell = cell,
                            .distance = figure_distance,
                            .context = &height};
    return hk_stuff(&stuffing, mesh);
}
