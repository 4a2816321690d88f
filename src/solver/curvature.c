#include "solver/curvature.h"

#include "rules/line_search.h"

hk_status hk_curvature_init(hk_curvature *c, const hk_problem *problem, int window)
{
    size_t size = 4 * (size_t)problem->vertex_count * (size_t)window;
    c->window = window;
    c->s = HK_ZEROS(double, size);
    c->y = HK_ZEROS(double, size);
    return c->s && c->y ? HK_OK : HK_NO_MEMORY;
}

void hk_curvature_release(hk_curvature *c)
{
    hk_free(c->s);
    hk_free(c->y);
}

void hk_curvature_forget(hk_curvature *c)
{
    c->count = c->newest = 0;
}

static int64_t pair_at(const hk_problem *p, int slot)
{
    return 4 * (int64_t)p->vertex_count * slot;
}

// The slot of the k-th newest pair.
static int slot_of(const hk_curvature *c, int k)
{
    return (c->newest - k + c->window) % c->window;
}

void hk_curvature_add(hk_curvature *c, hk_problem *p, const double *direction, double length,
                      const double *before, const double *after)
{
    if (c->window == 0) return;
    int slot = c->count == 0 ? 0 : (c->newest + 1) % c->window;
    double *s = c->s + pair_at(p, slot), *y = c->y + pair_at(p, slot);
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++) {
        s[k] = length * direction[k];
        y[k] = p->held[k / 4] ? 0 : after[k] - before[k];
    }
    double sy = hk_problem_dot(p, s, y), yy = hk_problem_dot(p, y, y);
    double ss = hk_problem_dot(p, s, s);
    if (!lbfgs_takes_pair(sy, ss, yy)) {
        // The slot held the oldest pair when all are in use; that one is gone now.
        if (c->count == c->window) c->count--;
        return;
    }
    c->sy[slot] = sy;
    c->newest = slot;
    if (c->count < c->window) c->count++;
}

static void add_scaled(const hk_problem *p, double a, const double *from, double *to)
{
    int64_t size = 4 * (int64_t)p->vertex_count;
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int64_t k = 0; k < size; k++) to[k] += a * from[k];
}

void hk_curvature_first(hk_curvature *c, hk_problem *p, double *q)
{
    for (int k = 0; k < c->count; k++) {
        int slot = slot_of(c, k);
        c->alpha[slot] = hk_problem_dot(p, c->s + pair_at(p, slot), q) / c->sy[slot];
        add_scaled(p, -c->alpha[slot], c->y + pair_at(p, slot), q);
    }
}

void hk_curvature_second(hk_curvature *c, hk_problem *p, double *q)
{
    for (int k = c->count - 1; k >= 0; k--) {
        int slot = slot_of(c, k);
        double beta = hk_problem_dot(p, c->y + pair_at(p, slot), q) / c->sy[slot];
        add_scaled(p, c->alpha[slot] - beta, c->s + pair_at(p, slot), q);
    }
}

double hk_curvature_scale(const hk_curvature *c, hk_problem *p)
{
    if (c->count == 0) return 0;
    const double *y = c->y + pair_at(p, c->newest);
    return c->sy[c->newest] / hk_problem_dot(p, y, y);
}
