// What users ask of rigid parts, joints and what keeps its volume.
#include "model/constraints.h"

#include <math.h>

#include "math/closed_volume.h"
#include "math/dense.h"
#include "solver/manifold.h"
#include "world/world.h"

// Angular momentum about a place, and the moments of inertia.
static void add_spin(const hk_model *m, const hk_part *part, const double *x, const double *v,
                     const double middle[3], const double velocity[3], double inertia[9],
                     double momentum[3])
{
    const int32_t *vertices = m->constraints->vertices + part->start;
    for (int k = 0; k < part->count; k++) {
        int64_t at = 3 * (int64_t)vertices[k];
        double mass = m->mass[vertices[k]], r[3], u[3], turn[3], square = 0;
        for (int i = 0; i < 3; i++) {
            r[i] = x[at + i] - middle[i];
            u[i] = v[at + i] - velocity[i];
            square += r[i] * r[i];
        }
        hk_cross(r, u, turn);
        for (int i = 0; i < 3; i++) {
            momentum[i] += mass * turn[i];
            for (int j = 0; j < 3; j++)
                inertia[3 * i + j] += mass * ((i == j ? square : 0) - r[i] * r[j]);
        }
    }
}

static double deformation_of(const hk_model *m, const hk_part *part, const double *x,
                             double R[3][3], const double c[3])
{
    const int32_t *vertices = m->constraints->vertices + part->start;
    double most = 0, extent = 0;
    for (int k = 0; k < part->count; k++) {
        const double *X = m->rest + 3 * (int64_t)vertices[k], *at = x + 3 * (int64_t)vertices[k];
        double arm[3], turned[3];
        for (int i = 0; i < 3; i++) arm[i] = X[i] - part->center[i];
        hk_rotate(R[0], arm, turned);
        for (int i = 0; i < 3; i++) {
            most = fmax(most, fabs(at[i] - c[i] - turned[i]));
            extent = fmax(extent, fabs(arm[i]));
        }
    }
    return most / extent;
}

hk_status hk_world_rigid_state(const hk_world *w, int number, hk_rigid_state *state)
{
    if (!w || !state)
        return hk_fail(HK_BAD_INPUT, "hk_world_rigid_state: world and state are needed");
    const hk_model *m = w->model;
    if (number < 0 || number >= hk_model_rigid_part_count(m))
        return hk_fail(HK_BAD_INPUT, "there is no rigid part %d (the model has %d)", number,
                       hk_model_rigid_part_count(m));
    const hk_part *part = &m->constraints->parts[number];
    const double *x = hk_world_positions(w), *v = hk_world_velocities(w);
    const int32_t *vertices = m->constraints->vertices + part->start;
    hk_rigid_state s = {.mass = 0};
    double inertia[9] = {0}, c[3];
    for (int k = 0; k < part->count; k++) {
        double mass = m->mass[vertices[k]];
        for (int i = 0; i < 3; i++) {
            s.center[i] += mass * x[3 * (int64_t)vertices[k] + i];
            s.velocity[i] += mass * v[3 * (int64_t)vertices[k] + i];
        }
        s.mass += mass;
    }
    for (int i = 0; i < 3; i++) s.center[i] /= s.mass, s.velocity[i] /= s.mass;
    add_spin(m, part, x, v, s.center, s.velocity, inertia, s.spin);
    if (hk_dense_factor(inertia, 3)) hk_dense_solve(inertia, 3, s.spin);
    hk_part_fit(m, number, x, 3, s.rotation, c);
    s.deformation = deformation_of(m, part, x, s.rotation, c);
    *state = s;
    return HK_OK;
}

// A place at rest as a part has it now; the world's stays.
static void carry(const hk_world *w, int part, const double rest[3], const double direction[3],
                  double R[3][3], double at[3], double axis[3])
{
    double c[3], arm[3];
    memset(R, 0, 9 * sizeof(double));
    for (int i = 0; i < 3; i++) R[i][i] = 1;
    memcpy(at, rest, 3 * sizeof(double));
    memcpy(axis, direction, 3 * sizeof(double));
    if (part < 0) return;
    hk_part_fit(w->model, part, hk_world_positions(w), 3, R, c);
    for (int i = 0; i < 3; i++) arm[i] = rest[i] - w->model->constraints->parts[part].center[i];
    hk_rotate(R[0], arm, at);
    for (int i = 0; i < 3; i++) at[i] += c[i];
    hk_rotate(R[0], direction, axis);
}

// The turn of b against a: of a hinge about its axis, of a ball about its own.
static void find_turn(const hk_joint *j, double a[3][3], double b[3][3], hk_joint_state *s)
{
    double T[3][3], axis[3], trace = 0;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            T[i][k] = b[i][0] * a[k][0] + b[i][1] * a[k][1] + b[i][2] * a[k][2];
    for (int i = 0; i < 3; i++) {
        axis[i] = 0.5 * (T[(i + 2) % 3][(i + 1) % 3] - T[(i + 1) % 3][(i + 2) % 3]);
        trace += T[i][i];
    }
    double sine = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    if (j->kind == HK_JOINT_HINGE) {
        s->turn = atan2(axis[0] * s->axis[0] + axis[1] * s->axis[1] + axis[2] * s->axis[2],
                        0.5 * (trace - 1));
        return;
    }
    if (j->kind != HK_JOINT_BALL) return;
    s->turn = atan2(sine, 0.5 * (trace - 1));
    for (int i = 0; i < 3; i++) s->axis[i] = sine > 0 ? axis[i] / sine : i == 0;
}

hk_status hk_world_joint_state(const hk_world *w, int number, hk_joint_state *state)
{
    if (!w || !state)
        return hk_fail(HK_BAD_INPUT, "hk_world_joint_state: world and state are needed");
    if (number < 0 || number >= hk_model_joint_count(w->model))
        return hk_fail(HK_BAD_INPUT, "there is no joint %d (the model has %d)", number,
                       hk_model_joint_count(w->model));
    const hk_joint *j = &w->model->constraints->joints[number];
    hk_joint_state s = {.turn = 0};
    double a[3][3], b[3][3], other[3], axis[3], apart[3], along = 0, square = 0;
    carry(w, j->part[0], j->at, j->axis, a, s.at, s.axis);
    carry(w, j->part[1], j->at, j->axis, b, other, axis);
    for (int i = 0; i < 3; i++) {
        apart[i] = other[i] - s.at[i];
        along += apart[i] * s.axis[i];
    }
    if (j->kind == HK_JOINT_SLIDER) s.slide = along;
    for (int i = 0; i < 3; i++)
        square += pow(apart[i] - (j->kind == HK_JOINT_SLIDER ? along * s.axis[i] : 0), 2);
    s.error = sqrt(square);
    find_turn(j, a, b, &s);
    *state = s;
    return HK_OK;
}

hk_status hk_world_cavity_state(const hk_world *w, int number, hk_cavity_state *state)
{
    if (!w || !state)
        return hk_fail(HK_BAD_INPUT, "hk_world_cavity_state: world and state are needed");
    if (number < 0 || number >= hk_model_cavity_count(w->model))
        return hk_fail(HK_BAD_INPUT, "there is no constraint on a volume %d (the model has %d)",
                       number, hk_model_cavity_count(w->model));
    const hk_constraints *c = w->model->constraints;
    const hk_cavity *cavity = &c->cavities[number];
    const int32_t *corner = c->cavity_triangles + 3 * (int64_t)cavity->triangle_start;
    const double *x = hk_world_positions(w);
    hk_cavity_state s = {.goal = hk_cavity_goal(cavity, w->time)};
    for (int k = 0; k < cavity->triangle_count; k++) {
        double at[9], g[9];
        for (int i = 0; i < 3; i++)
            memcpy(at + 3 * i, x + 3 * (int64_t)corner[3 * (int64_t)k + i], 3 * sizeof(double));
        s.volume += hk_volume_of_triangle(x + 3 * (int64_t)corner[0], at, g);
    }
    if (w->problem && w->problem->manifold)
        s.pressure = w->problem->manifold->cavities[number].pressure;
    *state = s;
    return HK_OK;
}
