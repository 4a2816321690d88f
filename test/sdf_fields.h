// What the tests of signed distance fields share: shapes with known distances, and fields of
// surfaces.
#ifndef SDF_FIELDS_H
#define SDF_FIELDS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "contact/sdf.h"
#include "surfaces.h"

static const double zero[3];

#define CHECK_NEAR(a, b, tolerance)                                                     \
    do {                                                                                \
        double a_ = (a), b_ = (b);                                                      \
        if (!(fabs(a_ - b_) <= (tolerance)))                                            \
            fail_msg("%s = %.17g, not %.17g (to %g)", #a, a_, b_, (double)(tolerance)); \
    } while (0)

static inline hk_sdf_def with(double cell, double band, int threads)
{
    hk_sdf_def def = hk_default_sdf_def();
    def.cell = cell;
    def.band = band;
    def.threads = threads;
    return def;
}

static inline hk_sdf *field_of(const surface *s, double cell, double band, hk_sdf_report *report)
{
    hk_mesh *mesh = surface_mesh(s);
    hk_sdf_def def = with(cell, band, 2);
    hk_sdf *sdf = NULL;
    if (hk_sdf_create(mesh, &def, &sdf) != HK_OK) fail_msg("%s", hk_error());
    if (report) assert_int_equal(hk_sdf_describe(sdf, report), HK_OK);
    hk_mesh_free(mesh);
    return sdf;
}

static inline double value(const hk_sdf *sdf, double x, double y, double z)
{
    return hk_sdf_value(sdf, (double[3]){x, y, z}, NULL, NULL);
}

static inline double norm(const double g[3])
{
    return sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
}

static inline void random_point(uint64_t *state, double size, double p[3])
{
    for (int i = 0; i < 3; i++) p[i] = size * (2 * surface_random(state) - 1);
}

static inline double ball(const void *context, const double p[3])
{
    (void)context;
    return norm(p) - 1;
}

static inline double ring(const void *context, const double p[3])
{
    (void)context;
    return hypot(hypot(p[0], p[1]) - 1, p[2]) - 0.4;
}

static inline double box(const void *context, const double p[3])
{
    (void)context;
    return box_distance((double[3]){0.7, 0.5, 0.4}, p);
}

#endif
