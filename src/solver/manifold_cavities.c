// Cavities: closed surfaces whose volume V(x) is kept at a goal, by one equation each. The tangent
// directions d have n·d = 0 with n = ∇V, of a vector the nearest by weights D is
//
//   d − D⁻¹n (n·d)/(n·D⁻¹n).
//
// A state is brought to the goal along M⁻¹n with the masses M, by Newton's method on how far:
// that is, as a pressure would do it, and neither momentum nor angular momentum change by it. The
// multiplier of the equation is that pressure, λ = (g·n)/(n·n) with the gradient g of ε.
#include <math.h>

#include "math/closed_volume.h"
#include "solver/manifold.h"

// Of Newton's method, which takes few from near; a volume is as good as this, or not reached.
enum { MOST_ROUNDS = 40 };
#define REACHED 1e-9
// No more of the volume at once, so that triangles do not fold over.
#define MOST_CHANGE 0.2

// ---------------------------------------------------------------- creation

static void count_corners(hk_manifold *m, const int32_t *local, int cavity)
{
    const hk_cavity *own = &m->constraints->cavities[cavity];
    hk_manifold_cavity *c = &m->cavities[cavity];
    c->triangle_start = own->triangle_start;
    c->triangle_count = own->triangle_count;
    for (int64_t k = 0; k < 3 * (int64_t)c->triangle_count; k++) {
        int64_t at = 3 * (int64_t)c->triangle_start + k;
        m->cavity_corner[at] = local[m->constraints->cavity_triangles[at]];
    }
}

// Vertices cavity by cavity, each once, in the order of the model.
static void list_vertices(hk_manifold *m, int32_t *local)
{
    const hk_model *model = m->model;
    int next = 0;
    for (int n = 0; n < m->cavity_count; n++) {
        m->cavities[n].start = next;
        for (int v = 0; v < model->vertex_count; v++) {
            if (m->constraints->cavity_of[v] != n) continue;
            local[v] = next;
            m->cavity_vertex[next] = model->place[v];
            m->cavity_at[model->place[v]] = next;
            // Along what is held nothing can be done for the volume.
            bool moves = model->hold[v] == HK_FREE && model->mass[v] > 0;
            m->cavity_held[next++] = moves ? (model->axes ? model->axes[v] : 0) : HK_ALL_AXES;
        }
        m->cavities[n].count = next - m->cavities[n].start;
    }
}

hk_status hk_manifold_take_cavities(hk_manifold *m)
{
    const hk_constraints *c = m->constraints;
    const hk_model *model = m->model;
    if (c->cavity_count == 0) return HK_OK;
    m->cavity_count = c->cavity_count;
    size_t vertices = (size_t)model->vertex_count;
    int32_t *local = HK_ARRAY(int32_t, vertices);
    m->cavities = HK_ZEROS(hk_manifold_cavity, c->cavity_count);
    m->cavity_corner = HK_ARRAY(int32_t, 3 * (size_t)c->cavity_triangle_count);
    m->cavity_vertex = HK_ARRAY(int32_t, vertices);
    m->cavity_at = HK_ARRAY(int32_t, vertices);
    m->cavity_held = HK_ZEROS(uint8_t, vertices);
    m->cavity_normal = HK_ZEROS(double, 3 * vertices);
    bool complete = local && m->cavities && m->cavity_corner && m->cavity_vertex && m->cavity_at &&
                    m->cavity_held && m->cavity_normal;
    if (complete) {
        for (int v = 0; v < model->vertex_count; v++) m->cavity_at[v] = -1;
        list_vertices(m, local);
        for (int n = 0; n < m->cavity_count; n++) {
            count_corners(m, local, n);
            m->cavities[n].goal = m->cavities[n].to = c->cavities[n].rest;
        }
    }
    hk_free(local);
    return complete ? HK_OK : HK_NO_MEMORY;
}

void hk_manifold_free_cavities(hk_manifold *m)
{
    hk_free(m->cavities);
    hk_free(m->cavity_corner);
    hk_free(m->cavity_vertex);
    hk_free(m->cavity_at);
    hk_free(m->cavity_held);
    hk_free(m->cavity_normal);
}

// ---------------------------------------------------------------- volumes

// V and n at x, and what V would be rounded to.
static double look(hk_manifold *m, const hk_manifold_cavity *c, const double *x, double *rounding)
{
    double volume = 0, size = 0;  // what numbers as large as these are rounded to
    double *normal = m->cavity_normal;
    memset(normal + 3 * (int64_t)c->start, 0, 3 * sizeof(double) * (size_t)c->count);
    const double *origin = x + 4 * (int64_t)m->cavity_vertex[c->start];
    for (int k = c->triangle_start; k < c->triangle_start + c->triangle_count; k++) {
        const int32_t *corner = m->cavity_corner + 3 * (int64_t)k;
        double at[9], g[9];
        for (int i = 0; i < 3; i++)
            memcpy(at + 3 * i, x + 4 * (int64_t)m->cavity_vertex[corner[i]], 3 * sizeof(double));
        volume += hk_volume_of_triangle(origin, at, g);
        for (int i = 0; i < 9; i++) {
            size += fabs(g[i] * at[i]);
            normal[3 * (int64_t)corner[i / 3] + i % 3] += g[i];
        }
    }
    for (int k = c->start; k < c->start + c->count; k++)
        for (int i = 0; i < 3; i++)
            if (m->cavity_held[k] >> i & 1) normal[3 * (int64_t)k + i] = 0;
    *rounding = 2.2e-16 * size;
    return volume;
}

void hk_manifold_find_normals(hk_manifold *m, const double *x)
{
    double rounding;
    for (int n = 0; n < m->cavity_count; n++) look(m, &m->cavities[n], x, &rounding);
}

double hk_manifold_volume(hk_manifold *m, int cavity, const double *x)
{
    double rounding;
    return look(m, &m->cavities[cavity], x, &rounding);
}

// Σ n·D⁻¹n and Σ n·v, with D NULL: 1, of vertices that D says are held nothing.
static void sum(const hk_manifold *m, const hk_manifold_cavity *c, const double *weight,
                const double *vector, double *square, double *product)
{
    *square = *product = 0;
    for (int k = c->start; k < c->start + c->count; k++) {
        const double *n = m->cavity_normal + 3 * (int64_t)k;
        int64_t at = 4 * (int64_t)m->cavity_vertex[k];
        for (int i = 0; i < 3; i++) {
            double d = weight ? weight[at + i] : 1;
            if (d > 0) *square += n[i] * n[i] / d;
            *product += n[i] * vector[at + i];
        }
    }
}

void hk_manifold_flatten(const hk_manifold *m, const double *weight, double *vector)
{
    for (int n = 0; n < m->cavity_count; n++) {
        const hk_manifold_cavity *c = &m->cavities[n];
        double square, product;
        sum(m, c, weight, vector, &square, &product);
        double part = square > 0 ? product / square : 0;
        for (int k = c->start; k < c->start + c->count; k++)
            for (int i = 0; i < 3; i++) {
                int64_t at = 4 * (int64_t)m->cavity_vertex[k] + i;
                double d = weight ? weight[at] : 1;
                if (d > 0) vector[at] -= part * m->cavity_normal[3 * (int64_t)k + i] / d;
            }
    }
}

double hk_manifold_pressure(const hk_manifold *m, int cavity, const double *gradient)
{
    double square, product;
    sum(m, &m->cavities[cavity], NULL, gradient, &square, &product);
    return square > 0 ? product / square : 0;
}

void hk_manifold_normal(const hk_manifold *m, int cavity, double *to)
{
    const hk_manifold_cavity *c = &m->cavities[cavity];
    memset(to, 0, 4 * sizeof(double) * (size_t)m->model->vertex_count);
    for (int k = c->start; k < c->start + c->count; k++)
        memcpy(to + 4 * (int64_t)m->cavity_vertex[k], m->cavity_normal + 3 * (int64_t)k,
               3 * sizeof(double));
}

// ---------------------------------------------------------------- to the goal

static bool reach(hk_manifold *m, const hk_manifold_cavity *c, double *x)
{
    double before = INFINITY;
    if (!(c->goal > 0)) return false;
    for (int n = 0; n < MOST_ROUNDS; n++) {
        double rounding, square = 0, volume = look(m, c, x, &rounding);
        double missing = c->goal - volume;
        // At the limit of rounding it gets no nearer.
        bool near = fabs(missing) <= REACHED * fabs(c->goal);
        if (fabs(missing) <= rounding || (near && !(fabs(missing) < 0.5 * before))) return true;
        if (!isfinite(missing)) return false;
        before = fabs(missing);
        double most = MOST_CHANGE * fabs(volume);
        if (most > 0) missing = fmax(-most, fmin(most, missing));
        for (int k = c->start; k < c->start + c->count; k++) {
            const double *normal = m->cavity_normal + 3 * (int64_t)k;
            double mass = m->mass[m->cavity_vertex[k]];
            for (int i = 0; i < 3 && mass > 0; i++) square += normal[i] * normal[i] / mass;
        }
        if (!(square > 0)) return near;
        for (int k = c->start; k < c->start + c->count; k++) {
            int64_t v = m->cavity_vertex[k];
            for (int i = 0; i < 3 && m->mass[v] > 0; i++)
                x[4 * v + i] +=
                    missing / square * m->cavity_normal[3 * (int64_t)k + i] / m->mass[v];
        }
    }
    return false;
}

bool hk_manifold_reach_volumes(hk_manifold *m, double *x)
{
    bool all = true;
    for (int n = 0; n < m->cavity_count; n++) all = reach(m, &m->cavities[n], x) && all;
    return all;
}

void hk_manifold_begin_volumes(hk_manifold *m, const double *x, double time)
{
    for (int n = 0; n < m->cavity_count; n++) {
        hk_manifold_cavity *c = &m->cavities[n];
        c->from = hk_manifold_volume(m, n, x);
        c->to = hk_cavity_goal(&m->constraints->cavities[n], time);
        // Rounding is no way to go.
        if (fabs(c->from - c->to) <= REACHED * fabs(c->to)) c->from = c->to;
        c->goal = c->from;
    }
}

void hk_manifold_aim(hk_manifold *m, double fraction)
{
    for (int n = 0; n < m->cavity_count; n++) {
        hk_manifold_cavity *c = &m->cavities[n];
        c->goal = fraction == 1 ? c->to : c->from + fraction * (c->to - c->from);
    }
}
