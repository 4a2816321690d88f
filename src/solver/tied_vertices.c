#include "solver/tied_vertices.h"

#include <math.h>

// Of a step of tied vertices, and of those the most before a unit stays where it is.
enum { MOST_HALVINGS = 12, MOST_SHORTER = 30 };
#define LONGEST 4  // of a step of the tied vertices alone

// Units go along the manifold by themselves: none has a vertex of another.
static hk_status find_units(hk_tied_vertices *t)
{
    const hk_manifold *m = t->manifold;
    int trees = m->constraints->tree_count;
    int64_t count = t->vertices->problem->vertex_count;
    t->units = trees + m->cavity_count;
    t->unit = HK_ARRAY(int32_t, count);
    t->length = HK_ARRAY(double, t->units);
    t->outside = HK_ARRAY(uint8_t, t->units);
    t->part = HK_ZEROS(double, 4 * (size_t)count);
    t->inverse = HK_ZEROS(double, 4 * (size_t)count);
    if (!t->unit || !t->length || !t->outside || !t->part || !t->inverse) return HK_NO_MEMORY;
    for (int64_t v = 0; v < count; v++) {
        int part = m->part_of[v];
        bool tied = hk_manifold_ties(m, v);
        t->unit[v] = !tied ? -1 : part >= 0 ? m->parts[part].tree : -1;
    }
    for (int n = 0; n < m->cavity_count; n++)
        for (int k = m->cavities[n].start; k < m->cavities[n].start + m->cavities[n].count; k++)
            if (hk_manifold_ties(m, m->cavity_vertex[k])) t->unit[m->cavity_vertex[k]] = trees + n;
    return HK_OK;
}

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
    if (!t->before || !t->now || !t->to || !t->weight) return HK_NO_MEMORY;
    t->guarded = hk_terms_guarded(p->terms);
    return t->guarded ? find_units(t) : HK_OK;
}

void hk_tied_release(hk_tied_vertices *t)
{
    hk_free(t->before);
    hk_free(t->now);
    hk_free(t->to);
    hk_free(t->weight);
    hk_free(t->unit);
    hk_free(t->length);
    hk_free(t->outside);
    hk_free(t->part);
    hk_free(t->inverse);
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

// D and what contacts add to it at a vertex: rows' sums of their blocks, which is no less than
// these.
static void stiffen(const hk_tied_vertices *t, int vertex, double by[3])
{
    const hk_vertices *v = t->vertices;
    double b[6];
    by[0] = by[1] = by[2] = 0;
    if (!hk_terms_stiffness_there(v->view->terms, vertex, v->q, b)) return;
    by[0] = fabs(b[0]) + fabs(b[1]) + fabs(b[2]);
    by[1] = fabs(b[1]) + fabs(b[3]) + fabs(b[4]);
    by[2] = fabs(b[2]) + fabs(b[4]) + fabs(b[5]);
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

// The same for a step of tied vertices alone, with what touches them.
static void add_contacts(const hk_tied_vertices *t)
{
    for (int k = 0; k < t->vertices->problem->vertex_count && t->guarded; k++) {
        double by[3];
        if (t->unit[k] < 0) continue;
        stiffen(t, k, by);
        for (int i = 0; i < 3; i++)
            if (t->weight[4 * (int64_t)k + i] > 0) t->weight[4 * (int64_t)k + i] += by[i];
    }
}

void hk_tied_before(hk_tied_vertices *t)
{
    if (t->manifold) hk_vertices_store(t->vertices, t->vertices->q, t->before);
}

// Every unit its part of the way, but those that stay, to the last bit.
static void go_by_units(hk_tied_vertices *t, double length)
{
    int64_t count = t->vertices->problem->vertex_count;
    for (int64_t k = 0; k < 4 * count; k++) {
        double part = t->unit[k / 4] >= 0 ? t->length[t->unit[k / 4]] : 1;
        t->to[k] = t->before[k] + part * length * t->now[k];
    }
    hk_manifold_retract(t->manifold, t->to);
    for (int64_t k = 0; k < 4 * count; k++)
        if (t->unit[k / 4] >= 0 && t->length[t->unit[k / 4]] == 0) t->to[k] = t->before[k];
    write_back(t, t->to);
}

static bool find_outside(hk_tied_vertices *t)
{
    const hk_vertices *v = t->vertices;
    bool any = false;
    memset(t->outside, 0, (size_t)t->units);
    for (int k = 0; k < v->problem->vertex_count; k++) {
        if (t->unit[k] < 0 || hk_terms_inside(v->view->terms, k, v->q)) continue;
        t->outside[t->unit[k]] = 1;
        any = true;
    }
    return any;
}

// A unit goes as far as all of its vertices stay in their regions, wherever it is between; `before`
// it is in them.
static void go_guarded(hk_tied_vertices *t, double length)
{
    for (int n = 0; n < t->units; n++) t->length[n] = 1;
    for (int k = 0; k <= MOST_SHORTER; k++) {
        go_by_units(t, length);
        if (!find_outside(t)) return;
        for (int n = 0; n < t->units; n++) {
            if (!t->outside[n]) continue;
            t->length[n] = k + 1 < MOST_SHORTER ? 0.5 * t->length[n] : 0;
            t->shortened = true;
        }
    }
}

// q from `before` along `now`.
static void go(hk_tied_vertices *t, double length)
{
    int64_t size = 4 * (int64_t)t->vertices->problem->vertex_count;
    if (t->guarded) {
        go_guarded(t, length);
        return;
    }
    for (int64_t k = 0; k < size; k++) t->to[k] = t->before[k] + length * t->now[k];
    hk_manifold_retract(t->manifold, t->to);
    write_back(t, t->to);
}

bool hk_tied_shortened(hk_tied_vertices *t)
{
    bool shortened = t->shortened;
    t->shortened = false;
    return shortened;
}

// ---------------------------------------------------------------- gradients with contacts

void hk_tied_keep_gradient(hk_tied_vertices *t)
{
    const hk_vertices *v = t->vertices;
    size_t bytes = hk_vertices_bytes(v);
    if (!t->manifold || !t->guarded) return;
    memcpy(t->part, v->gradient, bytes);  // in double precision (hk_view_for)
    memcpy(t->inverse, v->inverse, bytes);
}

void hk_tied_soften(hk_tied_vertices *t)
{
    const hk_vertices *v = t->vertices;
    if (!t->manifold || !t->guarded) return;
    double *gradient = v->gradient, *inverse = v->inverse;
    for (int k = 0; k < v->problem->vertex_count; k++) {
        double by[3];
        if (t->unit[k] < 0) continue;
        stiffen(t, k, by);
        for (int i = 0; i < 3; i++) {
            int64_t at = 4 * (int64_t)k + i;
            gradient[at] = t->part[at];
            if (inverse[at] > 0) inverse[at] = 1 / (1 / inverse[at] + by[i]);
        }
    }
}

void hk_tied_restore(hk_tied_vertices *t)
{
    if (t->manifold && t->guarded)
        memcpy(t->vertices->inverse, t->inverse, hk_vertices_bytes(t->vertices));
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
    add_contacts(t);
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
