#include "solver/tied_vertices.h"

#include <math.h>

enum { MOST_HALVINGS = 12 };
#define LONGEST 4  // of a step of the tied vertices alone

hk_status hk_tied_init(hk_tied_vertices *t, hk_vertices *vertices)
{
    const hk_problem *p = vertices->problem;
    size_t size = 4 * (size_t)p->vertex_count;
    *t = (hk_tied_vertices){.vertices = vertices, .manifold = p->manifold};
    if (!t->manifold) return HK_OK;
    t->before = HK_ZEROS(double, size);
    t->now = HK_ZEROS(double, size);
    t->to = HK_ZEROS(double, size);
    t->weight = HK_ZEROS(double, size);
    return t->before && t->now && t->to && t->weight ? HK_OK : HK_NO_MEMORY;
}

void hk_tied_release(hk_tied_vertices *t)
{
    hk_free(t->before);
    hk_free(t->now);
    hk_free(t->to);
    hk_free(t->weight);
}

static bool is_tied(const hk_tied_vertices *t, int64_t vertex)
{
    return hk_manifold_ties(t->manifold, vertex);
}

// Tied vertices of x into q.
static void write_back(const hk_tied_vertices *t, const double *x)
{
    const hk_vertices *v = t->vertices;
    for (int64_t k = 0; k < v->problem->vertex_count; k++) {
        if (!is_tied(t, k)) continue;
        for (int64_t i = 4 * k; i < 4 * k + 3; i++)
            if (v->view->single)
                ((float *)v->q)[i] = (float)(x[i] - v->view->frame.base[i]);
            else
                ((double *)v->q)[i] = x[i];
    }
}

static void read_weights(const hk_tied_vertices *t)
{
    const hk_vertices *v = t->vertices;
    for (int64_t k = 0; k < 4 * (int64_t)v->problem->vertex_count; k++) {
        double inverse =
            v->view->single ? (double)((float *)v->inverse)[k] : ((double *)v->inverse)[k];
        t->weight[k] = inverse > 0 ? 1 / inverse : 0;
    }
}

void hk_tied_before(hk_tied_vertices *t)
{
    if (t->manifold) hk_vertices_store(t->vertices, t->vertices->q, t->before);
}

// q from `before` along `now`.
static void go(hk_tied_vertices *t, double length)
{
    int64_t size = 4 * (int64_t)t->vertices->problem->vertex_count;
    for (int64_t k = 0; k < size; k++) t->to[k] = t->before[k] + length * t->now[k];
    hk_manifold_retract(t->manifold, t->to);
    write_back(t, t->to);
}

void hk_tied_after(hk_tied_vertices *t)
{
    if (!t->manifold) return;
    hk_vertices *v = t->vertices;
    hk_vertices_store(v, v->q, t->now);
    for (int64_t k = 0; k < 4 * (int64_t)v->problem->vertex_count; k++) t->now[k] -= t->before[k];
    read_weights(t);
    hk_manifold_stand(t->manifold, t->before);
    hk_manifold_tangent(t->manifold, HK_ALL_TIES, t->weight, t->now);
    go(t, 1);
}

void hk_tied_at_rest(hk_tied_vertices *t, const double *inverse, double *vector)
{
    if (!t->manifold) return;
    for (int64_t k = 0; k < 4 * (int64_t)t->vertices->problem->vertex_count; k++)
        t->weight[k] = inverse[k] > 0 ? 1 / inverse[k] : 0;
    hk_manifold_stand(t->manifold, t->manifold->rest);
    hk_manifold_tangent(t->manifold, HK_ALL_TIES, t->weight, vector);
}

// ---------------------------------------------------------------- steps of tied vertices alone

// g·d over the tied vertices at q.
static double slope(hk_tied_vertices *t, const hk_tied_calls *calls, const double *d, double *g)
{
    double sum = 0;
    calls->gradient(calls->context);
    hk_vertices_whole_gradient(t->vertices, g);
    for (int64_t k = 0; k < t->vertices->problem->vertex_count; k++)
        for (int64_t i = 4 * k; i < 4 * k + 3 && is_tied(t, k); i++) sum += g[i] * d[i];
    return sum;
}

void hk_tied_step(hk_tied_vertices *t, const hk_tied_calls *calls, bool careful)
{
    if (!t->manifold) return;
    hk_vertices *v = t->vertices;
    int64_t count = v->problem->vertex_count;
    double *d = t->now, *g = t->manifold->vector;
    hk_tied_before(t);
    read_weights(t);
    double before = careful ? calls->energy(calls->context) : 0;
    calls->gradient(calls->context);
    hk_vertices_whole_gradient(v, g);
    double here = 0;
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = 4 * k; i < 4 * k + 3; i++)
            d[i] = is_tied(t, k) && t->weight[i] > 0 ? -g[i] / t->weight[i] : 0;
    hk_manifold_stand(t->manifold, t->before);
    hk_manifold_tangent(t->manifold, HK_ALL_TIES, t->weight, d);
    for (int64_t i = 0; i < 4 * count; i++) here += g[i] * d[i];
    if (!(here < 0)) return;
    go(t, 1);
    double there = slope(t, calls, d, g), curvature = there - here;
    double length = curvature > 0 ? fmin(LONGEST, -here / curvature) : 1;
    if (!isfinite(there)) length = 0.1;
    go(t, length);
    for (int n = 0; n < MOST_HALVINGS && careful; n++) {
        if (calls->energy(calls->context) < before) return;
        go(t, length *= 0.5);
    }
    if (careful) go(t, 0);
}
