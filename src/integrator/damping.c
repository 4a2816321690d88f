#include "integrator/damping.h"

#include <math.h>

#include "model/partition.h"

hk_status hk_damping_check(const hk_damping *d)
{
    const struct {
        const char *name;
        double value;
    } all[] = {{"air", d->air},
               {"air_per_vertex", d->air_per_vertex},
               {"viscous", d->viscous},
               {"ether", d->ether},
               {"pbd", d->pbd}};
    for (int k = 0; k < HK_COUNT_OF(all); k++)
        if (!(isfinite(all[k].value) && all[k].value >= 0))
            return hk_fail(HK_BAD_INPUT, "damping %s must be 0 or more (is %g)", all[k].name,
                           all[k].value);
    return HK_OK;
}

// Mass, centre, velocity and spin of a body's rigid motion.
typedef struct rigid {
    double mass, center[3], velocity[3], spin[3];
} rigid;

static void cross(const double a[3], const double b[3], double c[3])
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

// Solves the symmetric I ω = L; a body that is a line or a point keeps no spin about it.
static void solve_spin(const double inertia[3][3], const double momentum[3], double spin[3])
{
    double cofactor[3][3], det = 0, trace = inertia[0][0] + inertia[1][1] + inertia[2][2];
    for (int i = 0; i < 3; i++) cross(inertia[(i + 1) % 3], inertia[(i + 2) % 3], cofactor[i]);
    for (int i = 0; i < 3; i++) det += inertia[0][i] * cofactor[0][i];
    bool sound = det > 1e-12 * trace * trace * trace;
    for (int i = 0; i < 3; i++)
        spin[i] = sound ? (cofactor[0][i] * momentum[0] + cofactor[1][i] * momentum[1] +
                           cofactor[2][i] * momentum[2]) /
                              det
                        : 0;
}

static rigid rigid_motion(const hk_model *m, const hk_body *body, const double *x, const double *v)
{
    rigid r = {0};
    for (int k = 0; k < body->vertex_count; k++) {
        int vertex = body->vertex_start + k;
        int64_t at = 4 * (int64_t)m->place[vertex];
        r.mass += m->mass[vertex];
        for (int i = 0; i < 3; i++) {
            r.center[i] += m->mass[vertex] * x[at + i];
            r.velocity[i] += m->mass[vertex] * v[at + i];
        }
    }
    double first[7] = {r.mass,        r.center[0],   r.center[1],  r.center[2],
                       r.velocity[0], r.velocity[1], r.velocity[2]};
    hk_partition_sum(m->partition, first, HK_COUNT_OF(first));
    r.mass = first[0];
    for (int i = 0; i < 3; i++) {
        r.center[i] = first[1 + i] / r.mass;
        r.velocity[i] = first[4 + i] / r.mass;
    }
    double second[12] = {0}, *momentum = second, (*inertia)[3] = (double(*)[3])(second + 3);
    for (int k = 0; k < body->vertex_count; k++) {
        int vertex = body->vertex_start + k;
        int64_t at = 4 * (int64_t)m->place[vertex];
        double arm[3], moment[3], square = 0;
        for (int i = 0; i < 3; i++) {
            arm[i] = x[at + i] - r.center[i];
            square += arm[i] * arm[i];
        }
        cross(arm, v + at, moment);
        for (int i = 0; i < 3; i++) {
            momentum[i] += m->mass[vertex] * moment[i];
            for (int j = 0; j < 3; j++)
                inertia[i][j] += m->mass[vertex] * ((i == j ? square : 0) - arm[i] * arm[j]);
        }
    }
    hk_partition_sum(m->partition, second, HK_COUNT_OF(second));
    solve_spin((const double(*)[3])inertia, momentum, r.spin);
    return r;
}

static void damp_body(const hk_model *m, const hk_body *body, double part, const double *x,
                      double *v)
{
    rigid r = rigid_motion(m, body, x, v);
    if (!(r.mass > 0)) return;
    for (int k = 0; k < body->vertex_count; k++) {
        int vertex = body->vertex_start + k;
        if (m->hold[vertex] != HK_FREE) continue;
        int64_t at = 4 * (int64_t)m->place[vertex];
        double arm[3], turn[3];
        for (int i = 0; i < 3; i++) arm[i] = x[at + i] - r.center[i];
        cross(r.spin, arm, turn);
        for (int i = 0; i < 3; i++) v[at + i] += part * (r.velocity[i] + turn[i] - v[at + i]);
    }
}

void hk_damp_velocities(const hk_model *m, const hk_damping *d, double h, const double *x,
                        double *v)
{
    if (d->pbd > 0)
        for (int b = 0; b < m->body_count; b++)
            damp_body(m, &m->bodies[b], -expm1(-d->pbd * h), x, v);
    if (!(d->ether > 0)) return;
    double rest = exp(-d->ether * h);
    for (int k = 0; k < m->vertex_count; k++) {
        if (m->hold[k] != HK_FREE) continue;
        int64_t at = 4 * (int64_t)m->place[k];
        for (int i = 0; i < 3; i++) v[at + i] *= rest;
    }
}
