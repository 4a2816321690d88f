// The projection onto energy and momenta after a step (Dinev et al. 2018, "FEPR"; QuasiNewton
// "Other Time Integrators"): of all states with the energy, and where nothing holds the bodies the
// momenta, that they have to have, the one nearest to where the integrator went,
//
//   min ‖x − x*‖²_M/h² + ‖v − v*‖²_M    with    c(x, v) = 0,
//
// by a few steps of sequential quadratic programming: each solves for as many numbers as there are
// constraints, (∇c D⁻¹ ∇cᵀ) λ = c, and goes (x, v) −= D⁻¹ ∇cᵀ λ.
#include <math.h>

#include "world/world.h"

enum { MOST = 7, MOST_ITERATIONS = 20 };

// Linear momentum and angular momentum about the centre of mass, over free vertices.
typedef struct momenta {
    double mass, center[3], linear[3], angular[3];
} momenta;

static void add_cross(const double a[3], const double b[3], double scale, double to[3])
{
    to[0] += scale * (a[1] * b[2] - a[2] * b[1]);
    to[1] += scale * (a[2] * b[0] - a[0] * b[2]);
    to[2] += scale * (a[0] * b[1] - a[1] * b[0]);
}

static momenta momenta_of(const hk_problem *p, const double *x, const double *v)
{
    momenta m = {0};
    for (int k = 0; k < p->vertex_count; k++) {
        const double *at = x + 4 * (int64_t)k, *speed = v + 4 * (int64_t)k;
        m.mass += p->mass[k];
        for (int i = 0; i < 3; i++) {
            m.center[i] += p->mass[k] * at[i];
            m.linear[i] += p->mass[k] * speed[i];
        }
    }
    for (int i = 0; i < 3; i++) m.center[i] /= m.mass;
    for (int k = 0; k < p->vertex_count; k++) {
        double arm[3];
        for (int i = 0; i < 3; i++) arm[i] = x[4 * (int64_t)k + i] - m.center[i];
        add_cross(arm, v + 4 * (int64_t)k, p->mass[k], m.angular);
    }
    return m;
}

static double kinetic(const hk_problem *p, const double *v)
{
    double sum = 0;
    for (int k = 0; k < p->vertex_count; k++)
        for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 3 && !p->held[k]; i++)
            sum += 0.5 * p->mass[k] * v[i] * v[i];
    return sum;
}

// Without damping, which is no energy of a state.
static double potential(hk_problem *p, const double *x, double *gradient)
{
    double energy;
    hk_terms_gradient(p->terms, x, HK_POSITION_TERMS, gradient, &energy);
    for (int k = 0; k < p->vertex_count; k++)
        for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 3; i++) {
            gradient[i] = p->held[k] ? 0 : gradient[i] - p->force[i];
            if (!p->held[k]) energy -= p->force[i] * (x[i] - p->rest[i]);
        }
    return energy;
}

static void find_tie(void *context, const hk_stencil *s)
{
    *(bool *)context |= s->tie;
}

// To something outside, which takes momentum from the bodies.
static bool is_tied(const hk_world *w)
{
    bool tied = false;
    hk_model_stencils(w->model, find_tie, &tied);
    for (int k = 0; k < w->live.grab_count; k++) tied |= w->live.grabs[k].held;
    return tied;
}

void hk_world_begin_conserving(hk_world *w)
{
    hk_problem *p = w->problem;
    if (w->conserved.known) return;
    hk_problem_set_load(p, 1);
    w->conserved.known = true;
    w->conserved.energy = potential(p, w->x, w->guess) + kinetic(p, w->v);
    momenta m = momenta_of(p, w->x, w->v);
    memcpy(w->conserved.linear, m.linear, sizeof m.linear);
    memcpy(w->conserved.angular, m.angular, sizeof m.angular);
    w->conserved.count = p->free_count == p->vertex_count && !is_tied(w) ? MOST : 1;
}

// ---------------------------------------------------------------- the projection

typedef struct projection {
    hk_problem *p;
    double h;
    int count;  // constraints
    double *x, *v, *gradient;
    double c[MOST];  // how far they are from being met
    momenta now;
} projection;

static void evaluate(projection *s, const hk_world *w)
{
    s->c[0] = potential(s->p, s->x, s->gradient) + kinetic(s->p, s->v) - w->conserved.energy;
    if (s->count == 1) return;
    s->now = momenta_of(s->p, s->x, s->v);
    for (int i = 0; i < 3; i++) {
        s->c[1 + i] = s->now.linear[i] - w->conserved.linear[i];
        s->c[4 + i] = s->now.angular[i] - w->conserved.angular[i];
    }
}

// ∂c/∂x and ∂c/∂v at a vertex, over its mass.
static void slopes(const projection *s, int k, double of_x[MOST][3], double of_v[MOST][3])
{
    const double *v = s->v + 4 * (int64_t)k, *x = s->x + 4 * (int64_t)k;
    memset(of_x, 0, MOST * sizeof of_x[0]);
    memset(of_v, 0, MOST * sizeof of_v[0]);
    for (int i = 0; i < 3; i++) {
        of_x[0][i] = s->gradient[4 * (int64_t)k + i] / s->p->mass[k];
        of_v[0][i] = v[i];
    }
    if (s->count == 1) return;
    double arm[3], speed[3];
    for (int i = 0; i < 3; i++) {
        arm[i] = x[i] - s->now.center[i];
        speed[i] = v[i] - s->now.linear[i] / s->now.mass;
        of_v[1 + i][i] = 1;
    }
    // L_i = ε_ijk arm_j v_k
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, l = (i + 2) % 3;
        of_v[4 + i][l] = arm[j];
        of_v[4 + i][j] = -arm[l];
        of_x[4 + i][j] = speed[l];
        of_x[4 + i][l] = -speed[j];
    }
}

// Solves the symmetric A λ = c by elimination with pivots; false where it is singular.
static bool solve(int n, double A[MOST][MOST], const double *c, double *lambda)
{
    double largest = 0;
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs(A[i][i]));
    memcpy(lambda, c, sizeof(double) * (size_t)n);
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(A[i][k]) > fabs(A[pivot][k])) pivot = i;
        if (!(fabs(A[pivot][k]) > 1e-14 * largest)) return false;
        for (int j = 0; j < n; j++) {
            double swap = A[k][j];
            A[k][j] = A[pivot][j];
            A[pivot][j] = swap;
        }
        double swap = lambda[k];
        lambda[k] = lambda[pivot];
        lambda[pivot] = swap;
        for (int i = k + 1; i < n; i++) {
            double part = A[i][k] / A[k][k];
            for (int j = k; j < n; j++) A[i][j] -= part * A[k][j];
            lambda[i] -= part * lambda[k];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int j = k + 1; j < n; j++) lambda[k] -= A[k][j] * lambda[j];
        lambda[k] /= A[k][k];
    }
    return true;
}

// False: there is no direction in which the constraints change.
static bool project(projection *s)
{
    const hk_problem *p = s->p;
    double A[MOST][MOST] = {{0}}, lambda[MOST], of_x[MOST][3], of_v[MOST][3], h2 = s->h * s->h;
    for (int k = 0; k < p->vertex_count; k++) {
        if (p->held[k] || !(p->mass[k] > 0)) continue;
        slopes(s, k, of_x, of_v);
        for (int a = 0; a < s->count; a++)
            for (int b = 0; b < s->count; b++)
                for (int i = 0; i < 3; i++)
                    A[a][b] +=
                        p->mass[k] * (h2 * of_x[a][i] * of_x[b][i] + of_v[a][i] * of_v[b][i]);
    }
    if (!solve(s->count, A, s->c, lambda)) return false;
    for (int k = 0; k < p->vertex_count; k++) {
        if (p->held[k] || !(p->mass[k] > 0)) continue;
        slopes(s, k, of_x, of_v);
        for (int a = 0; a < s->count; a++)
            for (int i = 0; i < 3; i++) {
                s->x[4 * (int64_t)k + i] -= h2 * lambda[a] * of_x[a][i];
                s->v[4 * (int64_t)k + i] -= lambda[a] * of_v[a][i];
            }
    }
    return true;
}

hk_status hk_world_conserve(hk_world *w)
{
    hk_problem *p = w->problem;
    size_t bytes = hk_world_bytes(w);
    // Forces from outside change the linear momentum, and gravity not the angular one.
    for (int k = 0; k < p->vertex_count && w->conserved.count > 1; k++)
        for (int i = 0; i < 3; i++)
            w->conserved.linear[i] += w->step * p->force[4 * (int64_t)k + i];
    projection s = {.p = p,
                    .h = w->step,
                    .count = w->conserved.count,
                    .x = w->good,
                    .v = w->next,
                    .gradient = w->guess};
    memcpy(s.x, w->x, bytes);
    memcpy(s.v, w->v, bytes);
    evaluate(&s, w);
    double scale = fabs(w->conserved.energy) + kinetic(p, w->v), best = fabs(s.c[0]);
    for (int k = 0; k < MOST_ITERATIONS && fabs(s.c[0]) > 1e-14 * scale; k++) {
        if (!project(&s)) break;
        evaluate(&s, w);
        if (!(fabs(s.c[0]) < best)) break;  // as near as rounding allows, or there is no such state
        best = fabs(s.c[0]);
        memcpy(w->x, s.x, bytes);
        memcpy(w->v, s.v, bytes);
    }
    return HK_OK;
}
