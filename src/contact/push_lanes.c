// The kernels of push_lanes.h; compiled once per precision and instruction set, with HK_DOUBLE and
// HK_PUSH_TABLE set by cmake/lanes.cmake.
#include "contact/push_lanes.h"

#include <math.h>

// By how much contacts may become stiffer before the blocks are made anew.
#define STIFFER 1.5

#if HK_DOUBLE
typedef double real;
#else
typedef float real;
#endif
typedef real quad __attribute__((vector_size(4 * sizeof(real))));
typedef double wide __attribute__((vector_size(4 * sizeof(double))));

typedef struct lean_push {
    quad c;
    quad normal;  // and the gap at the centre, m
    real width, stiffness;
    int32_t point[4];
} lean_push;

typedef struct lean_drag {
    quad c;
    quad slid;  // m, from the beginning of the step to the centre
    quad normal;
    real most, slip, damping;  // N, m, N/m
    int32_t point[4];
    int32_t slot;
} lean_drag;

static void fill_pushes(const hk_contacts *c, int64_t first, int64_t last, void *push)
{
    for (int64_t n = first; n < last; n++) {
        const hk_push *from = &c->touches->push[n];
        lean_push *to = (lean_push *)push + n;
        for (int i = 0; i < 4; i++) to->c[i] = (real)from->c[i];
        for (int i = 0; i < 4; i++) to->normal[i] = (real)(i < 3 ? from->normal[i] : from->gap);
        to->width = (real)from->width;
        to->stiffness = (real)from->stiffness;
        memcpy(to->point, from->point, sizeof to->point);
    }
}

static void fill_drags(const hk_contacts *c, int64_t first, int64_t last, void *drag)
{
    for (int64_t n = first; n < last; n++) {
        const hk_friction *from = &c->slides[n].friction;
        const double *slid = c->touches->slid + 4 * n;
        lean_drag *to = (lean_drag *)drag + n;
        for (int i = 0; i < 4; i++) to->c[i] = (real)from->c[i];
        for (int i = 0; i < 4; i++) to->slid[i] = (real)slid[i];
        for (int i = 0; i < 4; i++) to->normal[i] = i < 3 ? (real)from->normal[i] : 0;
        to->most = (real)from->most;
        to->slip = (real)from->slip;
        to->damping = (real)from->damping;
        memcpy(to->point, c->slides[n].point, sizeof to->point);
        to->slot = c->touches->drag_slot[n];
    }
}

static inline quad moved(const wide *away, const int32_t point[4], quad c)
{
    quad sum = c[0] * __builtin_convertvector(away[point[0]], quad);
    for (int v = 1; v < 4; v++) sum += c[v] * __builtin_convertvector(away[point[v]], quad);
    return sum;
}

// b′ and b″.
static inline void slopes(hk_contact_law law, real width, real gap, real *slope, real *bend)
{
    *slope = *bend = 0;
    if (gap >= width) return;
    if (law == HK_CONTACT_LOG) {
        hk_contact_value b = contact_value(law, (double)width, (double)gap);
        *slope = (real)b.slope;
        *bend = (real)b.curvature;
    } else if (law == HK_CONTACT_PENALTY || gap >= (real)0.5 * width) {
        *slope = gap - width;
        *bend = 1;
    } else {
        *slope = (real)-0.25 * width * width / gap;
        *bend = -*slope / gap;
    }
}

// Along the normals.
static bool push(const hk_contacts *c, int64_t first, int64_t last)
{
    const hk_touches *t = c->touches;
    const wide *away = (const wide *)t->away;
    hk_contact_law law = c->settings->law;
    bool stiffer = false;
    for (int64_t n = first; n < last; n++) {
        const lean_push *k = (const lean_push *)t->lean_push + n;
        quad *to = (quad *)t->corner + 4 * n;
        quad normal = k->normal, sum = normal * moved(away, k->point, k->c);
        real slope, bend;
        slopes(law, k->width, normal[3] + (sum[0] + sum[1] + sum[2]), &slope, &bend);
        normal[3] = 0;
        normal *= slope * k->stiffness;
        for (int v = 0; v < 4; v++) to[v] = k->c[v] * normal;
        t->bend[n] = (double)(bend * k->stiffness);
        stiffer |= t->blocks && t->bend[n] > STIFFER * t->used_bend[n];
    }
    return stiffer;
}

// Across them, and along them where that damps. Where something pushes with the same corners, that
// is added to; elsewhere the forces have a slot of their own.
static bool drag(const hk_contacts *c, int64_t first, int64_t last)
{
    const hk_touches *t = c->touches;
    const wide *away = (const wide *)t->away;
    int64_t pushes = (int64_t)t->push_count;
    bool stiffer = false;
    for (int64_t n = first; n < last; n++) {
        const lean_drag *k = (const lean_drag *)t->lean_drag + n;
        quad *to = (quad *)t->corner + 4 * (int64_t)k->slot;
        quad slide = k->slid + moved(away, k->point, k->c), by = slide * k->normal;
        real through = by[0] + by[1] + by[2];
        slide -= through * k->normal;
        quad square = slide * slide;
#if HK_DOUBLE
        real length = sqrt(square[0] + square[1] + square[2]);
#else
        real length = sqrtf(square[0] + square[1] + square[2]);
#endif
        real ratio = length >= k->slip ? 1 / length : (2 - length / k->slip) / k->slip;
        slide[3] = 0;
        slide *= k->most * ratio;
        if (through < 0) slide += k->damping * through * k->normal;
        bool shared = k->slot < pushes;
        for (int v = 0; v < 4; v++) to[v] = shared ? to[v] + k->c[v] * slide : k->c[v] * slide;
        t->pull[n] = (double)(k->most * ratio);
        stiffer |= t->blocks && t->pull[n] > STIFFER * t->used_pull[n];
    }
    return stiffer;
}

static void gather(const hk_contacts *c, int first, int last, void *gradient)
{
    const hk_touches *t = c->touches;
    const quad *corner = t->corner;
    for (int m = first; m < last; m++) {
        size_t p = (size_t)t->touched[m];
        real *to = (real *)gradient + 4 * (int64_t)c->vertex[p];
        wide g = {0, 0, 0, 0};
        for (int64_t k = t->slot_uses.start[p]; k < t->slot_uses.start[p + 1]; k++)
            g += __builtin_convertvector(corner[t->slot_uses.use[k]], wide);
        for (int i = 0; i < 3; i++)
            to[i] = (real)((double)to[i] + (g[i] + (t->turns ? t->turning[3 * p + (size_t)i] : 0)));
    }
}

// ---------------------------------------------------------------- Jacobi's iteration

// (diagonal + block) x = g, which is positive definite, by its Cholesky factor.
static void solve_block(const double diagonal[3], const double block[6], const double g[3],
                        double x[3])
{
    double a = 1 / (block[0] + diagonal[0]), l10 = block[1] * a, l20 = block[2] * a;
    double d1 = 1 / (block[3] + diagonal[1] - l10 * block[1]);
    double b = block[4] - l10 * block[2], l21 = b * d1;
    double d2 = block[5] + diagonal[2] - l20 * block[2] - l21 * b;
    double y1 = g[1] - l10 * g[0], y2 = g[2] - l20 * g[0] - l21 * y1;
    x[2] = y2 / d2;
    x[1] = y1 * d1 - l21 * x[2];
    x[0] = g[0] * a - l10 * x[1] - l20 * x[2];
}

// The gradient at a vertex becomes the one whose step with the diagonal alone is that of both.
static double precondition_vertex(const hk_touch_step *s, int64_t at, const double block[6])
{
    const real *inverse = (const real *)s->inverse + at, *q = (const real *)s->q + at;
    const real *target = (const real *)s->target + at, *force = (const real *)s->force + at;
    real *gradient = (real *)s->gradient + at;
    double g[3], diagonal[3], x[3], inertia = (double)target[3];
    for (int i = 0; i < 3; i++) {
        if (!(inverse[i] > 0)) return 1;  // it is held
        diagonal[i] = 1 / (double)inverse[i];
        double pull = inertia * ((double)q[i] - (double)target[i]) - (double)force[i];
        g[i] = (double)gradient[i] + pull;
    }
    solve_block(diagonal, block, g, x);
    for (int i = 0; i < 3; i++)
        gradient[i] = (real)((double)gradient[i] + (diagonal[i] * x[i] - g[i]));
    return inertia /
           (fmin(diagonal[0], fmin(diagonal[1], diagonal[2])) + block[0] + block[3] + block[5]);
}

static double precondition(const hk_contacts *c, const hk_touch_step *step, int first, int last)
{
    const hk_touches *t = c->touches;
    double least = 1;
    for (int m = first; m < last; m++) {
        int p = t->touched[m];
        double part =
            precondition_vertex(step, 4 * (int64_t)c->vertex[p], t->block + 6 * (size_t)p);
        least = part < least ? part : least;
    }
    return least;
}

extern const hk_push_table HK_PUSH_TABLE;
const hk_push_table HK_PUSH_TABLE = {
    .push_size = sizeof(lean_push),
    .drag_size = sizeof(lean_drag),
    .fill_pushes = fill_pushes,
    .fill_drags = fill_drags,
    .push = push,
    .drag = drag,
    .gather = gather,
    .precondition = precondition,
};
