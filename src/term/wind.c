// Wind and the air that a surface moves through. On a triangle of area A with the unit normal n
// past which air flows with the velocity v = wind − ẋ (its mean) acts (after Wilson et al. 2014)
//
//   F = ½ ρ A |n·v| ((C_D − C_L) |n·v̂| v + C_L ‖v‖ n sgn(n·v)),
//
// that is drag along the flow and, with C_D = C_L, the pressure ½ ρ C ‖v‖² cos upon the normal.
// Both are as at the state before the step. A force that grows with the square of the speed takes
// light sheets out of their course within a step if it is not damped by the step itself: so it is
// what a damper −c (ẋ − V) does that has just this force at that state, with V = ẋ + F/c and a c no
// less than F/‖v‖ can be. As dampers are (dampers.c), it is part of the inertia of the vertices,
// which every method has. c is that of a speed relative to the air which is typical, that of the
// wind and of free fall, so that constant matrices stay constant; faster ones double it as often as
// needed.
#include <math.h>

#include "core/vector.h"
#include "model/conditions.h"
#include "term/terms.h"

typedef struct wind_term {
    hk_term base;
    bool blows;        // in this step
    double *expected;  // [wind_count] N s/m, c of each triangle
    double *sum;       // [vertex_count] N s/m, model's numbers
    double *force;     // [vertex_count][3] N, at the state before the step
    double *velocity;  // [vertex_count][3] m/s, the same
} wind_term;

static wind_term *own(hk_term *term)
{
    return (wind_term *)term;
}

static bool in_model(const hk_model *m)
{
    return m->conditions && m->conditions->wind_count > 0;
}

static void release(hk_term *term)
{
    wind_term *t = own(term);
    hk_free(t->expected);
    hk_free(t->sum);
    hk_free(t->force);
    hk_free(t->velocity);
    hk_free(t);
}

// The normal of length 2 A.
static void normal_of(const double *const x[3], double normal[3])
{
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        normal[i] =
            (x[1][j] - x[0][j]) * (x[2][k] - x[0][k]) - (x[1][k] - x[0][k]) * (x[2][j] - x[0][j]);
    }
}

static double length(const double a[3])
{
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

static double rest_area(const hk_model *m, const hk_wind *w)
{
    double normal[3];
    const double *x[3];
    for (int i = 0; i < 3; i++) x[i] = m->rest + 3 * (int64_t)w->triangle[i];
    normal_of(x, normal);
    return length(normal) / 2;
}

// That of a body of such a mass per area as it falls.
static double free_fall(const hk_model *m, const hk_wind *w, double mass_per_area)
{
    double most = fmax(w->drag, w->lift);
    return most > 0 ? sqrt(2 * mass_per_area * length(m->gravity) / (w->density * most)) : 0;
}

static void expect(wind_term *t, const hk_model *m)
{
    const hk_conditions *c = m->conditions;
    double mass = 0, area = 0;
    memset(t->sum, 0, sizeof(double) * (size_t)m->vertex_count);
    for (int k = 0; k < c->wind_count; k++) {
        area += rest_area(m, &c->winds[k]);
        for (int i = 0; i < 3; i++) t->sum[c->winds[k].triangle[i]] = 1;
    }
    for (int v = 0; v < m->vertex_count; v++) mass += t->sum[v] * m->mass[v];
    for (int k = 0; k < c->wind_count; k++) {
        const hk_wind *w = &c->winds[k];
        double speed = length(w->velocity) + free_fall(m, w, area > 0 ? mass / area : 0);
        if (!(speed > 0)) speed = 1;
        t->expected[k] = 0.5 * w->density * rest_area(m, w) * fmax(w->drag, w->lift) * speed;
    }
}

static hk_status create(const hk_terms *list, hk_term **term)
{
    const hk_model *m = list->model;
    if (!in_model(m)) return HK_OK;
    wind_term *t = HK_NEW(wind_term);
    if (!t) return HK_NO_MEMORY;
    t->expected = HK_ZEROS(double, m->conditions->wind_count);
    t->sum = HK_ZEROS(double, m->vertex_count);
    t->force = HK_ZEROS(double, 3 * (size_t)m->vertex_count);
    t->velocity = HK_ZEROS(double, 3 * (size_t)m->vertex_count);
    if (!t->expected || !t->sum || !t->force || !t->velocity) {
        release(&t->base);
        return HK_NO_MEMORY;
    }
    expect(t, m);
    *term = &t->base;
    return HK_OK;
}

// F, and how large F/‖v‖ can be for any direction of the same speed.
static double push(const hk_wind *w, double factor, const double *const x[3],
                   const double *const velocity[3], double force[3])
{
    double normal[3], v[3], across = 0;
    normal_of(x, normal);
    double area = length(normal) / 2;
    for (int i = 0; i < 3; i++)
        v[i] = factor * w->velocity[i] - (velocity[0][i] + velocity[1][i] + velocity[2][i]) / 3;
    double speed = length(v);
    memset(force, 0, 3 * sizeof(double));
    if (!(area > 0 && speed > 0)) return 0;
    for (int i = 0; i < 3; i++) across += normal[i] / (2 * area) * v[i];
    double scale = 0.5 * w->density * area;
    double along = (w->drag - w->lift) * across * across / speed, beside = w->lift * speed;
    for (int i = 0; i < 3; i++)
        force[i] = scale * (along * v[i] + beside * across * normal[i] / (2 * area));
    return scale * (fmax(along, 0) + beside);
}

// Forces of all triangles; how often c has to be doubled.
static int push_all(wind_term *t, const hk_step_begin *step)
{
    const hk_model *m = t->base.list->model;
    const hk_conditions *c = m->conditions;
    const hk_live *live = t->base.list->live;
    double beyond = 1;
    for (int k = 0; k < c->wind_count; k++) {
        const hk_wind *w = &c->winds[k];
        const double *x[3], *v[3];
        double force[3];
        double factor = w->factor >= 0 && live && live->factors ? live->factors[w->factor] : 1;
        for (int i = 0; i < 3; i++) {
            int64_t at = 4 * (int64_t)m->place[w->triangle[i]];
            x[i] = step->state + at;
            v[i] = step->velocity + at;
        }
        double most = push(w, factor, x, v, force);
        if (most > 0 && t->expected[k] > 0) beyond = fmax(beyond, most / t->expected[k]);
        for (int i = 0; i < 9; i++)
            t->force[3 * (int64_t)w->triangle[i / 3] + i % 3] += force[i % 3] / 3;
        for (int i = 0; i < 3; i++) t->sum[w->triangle[i]] += t->expected[k] / 3;
    }
    return (int)ceil(log2(beyond));
}

static hk_status begin_step(hk_term *term, const hk_step_begin *step)
{
    wind_term *t = own(term);
    const hk_model *m = term->list->model;
    t->blows = !step->pose && step->velocity && term->list->precision == HK_DOUBLE_PRECISION;
    if (!t->blows) return HK_OK;
    size_t count = (size_t)m->vertex_count;
    memset(t->sum, 0, sizeof(double) * count);
    memset(t->force, 0, 3 * sizeof(double) * count);
    double scale = ldexp(1, push_all(t, step));
    for (int v = 0; v < m->vertex_count; v++) {
        const double *velocity = step->velocity + 4 * (int64_t)m->place[v];
        t->sum[v] *= scale;
        for (int i = 0; i < 3; i++)
            t->velocity[3 * (int64_t)v + i] =
                t->sum[v] > 0 ? velocity[i] + t->force[3 * (int64_t)v + i] / t->sum[v] : 0;
    }
    return HK_OK;
}

static void visit_dampers(const hk_term *term, double time, double h, hk_damper_fn *visit,
                          void *context)
{
    const wind_term *t = (const wind_term *)term;
    const hk_model *m = term->list->model;
    (void)time, (void)h;
    if (!t->blows) return;
    for (int k = 0; k < m->vertex_count; k++) {
        int v = m->order[k];
        if (!(t->sum[v] > 0)) continue;
        hk_damper damper = {.vertex = k, .coefficient = t->sum[v]};
        memcpy(damper.velocity, t->velocity + 3 * (int64_t)v, sizeof damper.velocity);
        visit(context, &damper);
    }
}

// What it does is in the inertia of vertices.
static bool active(const hk_term *term)
{
    (void)term;
    return false;
}

static double energy(hk_term *term, const void *x)
{
    (void)term, (void)x;
    return 0;
}

const hk_term_ops hk_wind_term = {
    .name = "wind",
    .part = HK_PART_DAMPING,
    .in_model = in_model,
    .create = create,
    .free = release,
    .begin_step = begin_step,
    .active = active,
    .wanted = active,
    .energy = energy,
    .visit_dampers = visit_dampers,
};
