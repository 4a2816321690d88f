// From positions to the nearest state of the manifold, part by part, parents first; and back to
// positions.
#include <math.h>

#include "math/dense.h"
#include "solver/manifold.h"

void hk_rotate(const double *R, const double v[3], double to[3])
{
    for (int i = 0; i < 3; i++) to[i] = R[3 * i] * v[0] + R[3 * i + 1] * v[1] + R[3 * i + 2] * v[2];
}

void hk_cross(const double a[3], const double b[3], double to[3])
{
    for (int i = 0; i < 3; i++)
        to[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// The rotation nearest to S = Σ m x Xᵀ: its quaternion is the eigenvector of the largest eigenvalue
// of a 4×4 matrix (Horn 1987), which is well defined for flat parts, too.
static void nearest_rotation(double S[3][3], double R[3][3])
{
    double a[16], v[16], q[4];
    a[0] = S[0][0] + S[1][1] + S[2][2];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        a[4 * (i + 1)] = a[i + 1] = S[k][j] - S[j][k];
        for (int l = 0; l < 3; l++) a[4 * (i + 1) + l + 1] = S[i][l] + S[l][i];
        a[5 * (i + 1)] = S[i][i] - S[j][j] - S[k][k];
    }
    hk_dense_diagonalise(a, v, 4);
    int best = 0;
    for (int k = 1; k < 4; k++)
        if (a[5 * k] > a[5 * best]) best = k;
    double norm = 0;
    for (int k = 0; k < 4; k++) q[k] = v[4 * k + best], norm += q[k] * q[k];
    norm = 1 / sqrt(norm);
    for (int k = 0; k < 4; k++) q[k] *= norm;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        R[i][i] = 1 - 2 * (q[j + 1] * q[j + 1] + q[k + 1] * q[k + 1]);
        R[i][j] = 2 * (q[i + 1] * q[j + 1] - q[0] * q[k + 1]);
        R[j][i] = 2 * (q[i + 1] * q[j + 1] + q[0] * q[k + 1]);
    }
}

// What the fits need of x: a way to its numbers, and masses.
typedef struct source {
    const hk_manifold *m;
    const double *x;
    int part;
} source;

static int vertices_of(const source *s)
{
    return s->m->constraints->parts[s->part].count;
}

static const double *position(const source *s, int k, const double **rest, double *mass)
{
    int64_t v = s->m->vertex[s->m->constraints->parts[s->part].start + k];
    *rest = s->m->rest + 4 * v;
    *mass = s->m->mass[v];
    return s->x + 4 * v;
}

// Σ m (x − c)(X − C)ᵀ
static void moments(const source *s, const double c[3], const double C[3], double S[3][3])
{
    memset(S, 0, 9 * sizeof(double));
    for (int k = 0; k < vertices_of(s); k++) {
        const double *X;
        double mass;
        const double *x = position(s, k, &X, &mass);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) S[i][j] += mass * (x[i] - c[i]) * (X[j] - C[j]);
    }
}

static void mean(const source *s, double to[3])
{
    double sum = 0;
    to[0] = to[1] = to[2] = 0;
    for (int k = 0; k < vertices_of(s); k++) {
        const double *X;
        double mass;
        const double *x = position(s, k, &X, &mass);
        for (int i = 0; i < 3; i++) to[i] += mass * x[i];
        sum += mass;
    }
    for (int i = 0; i < 3; i++) to[i] /= sum;
}

// c = middle + R (C − rest middle)
static void set_center(const hk_part *part, const double middle[3], const double rest[3],
                       hk_manifold_part *p)
{
    double arm[3];
    for (int i = 0; i < 3; i++) arm[i] = part->center[i] - rest[i];
    hk_rotate(p->R[0], arm, p->c);
    for (int i = 0; i < 3; i++) p->c[i] += middle[i];
}

static void fit_freely(const source *s, const hk_part *part, hk_manifold_part *p)
{
    double middle[3], S[3][3];
    mean(s, middle);
    moments(s, middle, p->rest_mean, S);
    nearest_rotation(S, p->R);
    set_center(part, middle, p->rest_mean, p);
}

static void fit_on_ball(const source *s, const hk_part *part, hk_manifold_part *p)
{
    double S[3][3];
    moments(s, p->at, part->at, S);
    nearest_rotation(S, p->R);
    set_center(part, p->at, part->at, p);
}

// R = (a turn by θ about the axis) × that of the parent: the θ for which Σ m (x − at)·R (X − at)
// is largest.
static void fit_on_hinge(const source *s, const hk_part *part, const double parent[9],
                         hk_manifold_part *p)
{
    double sine = 0, cosine = 0;
    for (int k = 0; k < vertices_of(s); k++) {
        const double *X;
        double mass, arm[3], u[3], w[3], across[3];
        const double *x = position(s, k, &X, &mass);
        for (int i = 0; i < 3; i++) arm[i] = X[i] - part->at[i], w[i] = x[i] - p->at[i];
        hk_rotate(parent, arm, u);
        hk_cross(u, w, across);
        sine += mass * dot(p->axis, across);
        cosine += mass * (dot(u, w) - dot(p->axis, u) * dot(p->axis, w));
    }
    double norm = hypot(sine, cosine), turn[3][3];
    if (norm > 0)
        sine /= norm, cosine /= norm;
    else
        sine = 0, cosine = 1;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            turn[i][j] = (i == j ? cosine : 0) + (1 - cosine) * p->axis[i] * p->axis[j];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        turn[j][i] += sine * p->axis[k];
        turn[i][j] -= sine * p->axis[k];
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            p->R[i][j] =
                turn[i][0] * parent[j] + turn[i][1] * parent[3 + j] + turn[i][2] * parent[6 + j];
    set_center(part, p->at, part->at, p);
}

// Turned as its parent is; c as welded to it, and as far along the axis as its vertices are in the
// mean.
static void fit_on_slider(const source *s, const hk_part *part, bool slides, hk_manifold_part *p)
{
    set_center(part, p->at, part->at, p);
    if (!slides) return;
    double middle[3], welded[3], arm[3], along = 0;
    mean(s, middle);
    for (int i = 0; i < 3; i++) arm[i] = p->rest_mean[i] - part->at[i];
    hk_rotate(p->R[0], arm, welded);
    for (int i = 0; i < 3; i++) along += (middle[i] - p->at[i] - welded[i]) * p->axis[i];
    for (int i = 0; i < 3; i++) p->c[i] += along * p->axis[i];
}

// Distance and direction from the middle of a sphere, or from the axis of a cylinder.
static double radial(const hk_part *part, const double x[3], double out[3])
{
    double along = 0;
    for (int i = 0; i < 3; i++) out[i] = x[i] - part->at[i];
    if (part->freedom == HK_MOVES_ON_CYLINDER) along = dot(out, part->axis);
    for (int i = 0; i < 3; i++) out[i] -= along * part->axis[i];
    double length = sqrt(dot(out, out));
    for (int i = 0; i < 3; i++) out[i] = length > 0 ? out[i] / length : 0;
    return length;
}

// One vertex: c is where it is.
static void fit_vertex(const source *s, const hk_part *part, hk_manifold_part *p)
{
    const double *X;
    double mass, out[3], now[3];
    const double *x = position(s, 0, &X, &mass);
    double along = 0;
    for (int i = 0; i < 3; i++) along += (x[i] - X[i]) * part->axis[i];
    for (int i = 0; i < 3; i++) {
        if (part->freedom == HK_MOVES_IN_PLANE) p->c[i] = x[i] - along * part->axis[i];
        if (part->freedom == HK_MOVES_ON_LINE) p->c[i] = X[i] + along * part->axis[i];
    }
    if (part->freedom == HK_MOVES_IN_PLANE || part->freedom == HK_MOVES_ON_LINE) return;
    double radius = radial(part, X, out), distance = radial(part, x, now);
    if (!(distance > 0)) memcpy(now, out, sizeof now);
    for (int i = 0; i < 3; i++) p->c[i] = x[i] + (radius - distance) * now[i];
    memcpy(p->axis, now, sizeof p->axis);
}

static void fit_together(const source *s, const hk_part *part, hk_manifold_part *p)
{
    double middle[3];
    mean(s, middle);
    for (int i = 0; i < 3; i++) p->c[i] = part->center[i] + middle[i] - p->rest_mean[i];
}

// Where its joint is, as its parent has it.
static void place_joint(const hk_manifold *m, const hk_part *part, hk_manifold_part *p)
{
    if (part->parent < 0) {
        memcpy(p->at, part->at, sizeof p->at);
        memcpy(p->axis, part->axis, sizeof p->axis);
        return;
    }
    const hk_manifold_part *parent = &m->parts[part->parent];
    const double *C = m->constraints->parts[part->parent].center;
    double arm[3];
    for (int i = 0; i < 3; i++) arm[i] = part->at[i] - C[i];
    hk_rotate(parent->R[0], arm, p->at);
    for (int i = 0; i < 3; i++) p->at[i] += parent->c[i];
    hk_rotate(parent->R[0], part->axis, p->axis);
}

static void fit_part(hk_manifold *m, int number, const double *x)
{
    static const double still[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const hk_part *part = &m->constraints->parts[number];
    hk_manifold_part *p = &m->parts[number];
    source s = {m, x, number};
    const double *parent = part->parent < 0 ? still : m->parts[part->parent].R[0];
    place_joint(m, part, p);
    switch (part->freedom) {
    case HK_IS_HELD:
    case HK_MOVES_FREELY: fit_freely(&s, part, p); break;
    case HK_MOVES_ON_BALL: fit_on_ball(&s, part, p); break;
    case HK_MOVES_ON_HINGE: fit_on_hinge(&s, part, parent, p); break;
    case HK_MOVES_ON_SLIDER:
    case HK_MOVES_NOT:
        memcpy(p->R, parent, sizeof p->R);
        fit_on_slider(&s, part, part->freedom == HK_MOVES_ON_SLIDER, p);
        break;
    case HK_MOVES_TOGETHER: fit_together(&s, part, p); break;
    default: fit_vertex(&s, part, p); break;
    }
}

void hk_manifold_fit(hk_manifold *m, const double *x)
{
    const hk_constraints *c = m->constraints;
    for (int k = 0; k < c->rigid_count; k++)
        if (c->parts[k].freedom == HK_IS_HELD) fit_part(m, k, x);
    for (int k = 0; k < c->tree_start[c->tree_count]; k++) fit_part(m, c->order[k], x);
}

void hk_manifold_place(const hk_manifold *m, double *x)
{
    const hk_constraints *c = m->constraints;
    for (int n = 0; n < c->tree_start[c->tree_count]; n++) {
        const hk_part *part = &c->parts[c->order[n]];
        const hk_manifold_part *p = &m->parts[c->order[n]];
        for (int k = part->start; k < part->start + part->count; k++) {
            double *to = x + 4 * (int64_t)m->vertex[k], arm[3];
            hk_manifold_arm(m, c->order[n], m->vertex[k], arm);
            for (int i = 0; i < 3; i++) to[i] = p->c[i] + arm[i];
        }
    }
}

// ---------------------------------------------------------------- one part, for results

void hk_part_fit(const hk_model *model, int part, const double *x, int stride, double R[3][3],
                 double c[3])
{
    const hk_part *own = &model->constraints->parts[part];
    const int32_t *vertices = model->constraints->vertices + own->start;
    double sum = 0, middle[3] = {0}, rest[3] = {0}, S[3][3] = {{0}}, arm[3];
    for (int k = 0; k < own->count; k++) {
        double mass = model->mass[vertices[k]];
        for (int i = 0; i < 3; i++) {
            middle[i] += mass * x[stride * (int64_t)vertices[k] + i];
            rest[i] += mass * model->rest[3 * (int64_t)vertices[k] + i];
        }
        sum += mass;
    }
    for (int i = 0; i < 3; i++) middle[i] /= sum, rest[i] /= sum;
    for (int k = 0; k < own->count; k++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                S[i][j] += model->mass[vertices[k]] *
                           (x[stride * (int64_t)vertices[k] + i] - middle[i]) *
                           (model->rest[3 * (int64_t)vertices[k] + j] - rest[j]);
    nearest_rotation(S, R);
    for (int i = 0; i < 3; i++) arm[i] = own->center[i] - rest[i];
    hk_rotate(R[0], arm, c);
    for (int i = 0; i < 3; i++) c[i] += middle[i];
}
