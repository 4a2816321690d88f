// The curvature of x(q): gᵀ ∂²x/∂q², from the accelerations of vertices where unknowns change at
// even rates. Of a part that turns these are ω × (ω × r), to which parts on joints add what their
// parents do. At a minimum, where forces do no work along the manifold, this is the part of the
// Hessian that makes Newton's method converge quadratically, in whatever way the manifold is
// retracted.
#include <math.h>

#include "solver/manifold.h"

// How a part moves: of its center, with its spin.
typedef struct motion {
    double velocity[3], spin[3], own[3];  // own: the spin against its parent
    double acceleration[3], turning[3];
} motion;

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// to += turning × arm + spin × (spin × arm)
static void add_arm(const motion *of, const double arm[3], double to[3])
{
    double across[3], twice[3], turned[3];
    hk_cross(of->spin, arm, across);
    hk_cross(of->spin, across, twice);
    hk_cross(of->turning, arm, turned);
    for (int i = 0; i < 3; i++) to[i] += turned[i] + twice[i];
}

static void take_rates(const hk_manifold_part *p, int count, const double *q, motion *to)
{
    double v[6] = {0}, own[3] = {0};
    int first = p->first, last = first + hk_freedom_count(p->freedom);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < count; k++) {
            double part = p->basis[i * count + k] * q[k];
            v[i] += part;
            if (i >= 3 && k >= first && k < last) own[i - 3] += part;
        }
    memcpy(to->velocity, v, sizeof to->velocity);
    memcpy(to->spin, v + 3, sizeof to->spin);
    memcpy(to->own, own, sizeof own);
}

// Of what stays at a distance: towards the middle, |v|²/r.
static void accelerate_vertex(const hk_part *part, const hk_manifold_part *p, const double rest[3],
                              motion *to)
{
    double radius = 0, along = 0, arm[3];
    if (p->freedom != HK_MOVES_ON_SPHERE && p->freedom != HK_MOVES_ON_CYLINDER) return;
    for (int i = 0; i < 3; i++) arm[i] = rest[i] - part->at[i];
    if (p->freedom == HK_MOVES_ON_CYLINDER) along = dot(arm, part->axis);
    radius = sqrt(fmax(0, dot(arm, arm) - along * along));
    double speed = dot(to->velocity, to->velocity);
    if (p->freedom == HK_MOVES_ON_CYLINDER) speed -= pow(dot(to->velocity, part->axis), 2);
    for (int i = 0; i < 3; i++) to->acceleration[i] = -speed / radius * p->axis[i];
}

static void accelerate_on_joint(const hk_manifold_part *p, const hk_manifold_part *parent,
                                const motion *of, motion *to)
{
    double arm[3], slide[3], more[3];
    memcpy(to->acceleration, of->acceleration, sizeof to->acceleration);
    memcpy(to->turning, of->turning, sizeof to->turning);
    if (p->freedom == HK_MOVES_ON_SLIDER || p->freedom == HK_MOVES_NOT) {
        for (int i = 0; i < 3; i++) arm[i] = p->c[i] - parent->c[i];
        add_arm(of, arm, to->acceleration);
        hk_cross(of->spin, arm, more);
        for (int i = 0; i < 3; i++) slide[i] = to->velocity[i] - of->velocity[i] - more[i];
        hk_cross(of->spin, slide, more);
        for (int i = 0; i < 3; i++) to->acceleration[i] += 2 * more[i];
        return;
    }
    for (int i = 0; i < 3; i++) arm[i] = p->at[i] - parent->c[i];
    add_arm(of, arm, to->acceleration);
    hk_cross(of->spin, to->own, more);
    for (int i = 0; i < 3; i++) to->turning[i] += more[i], arm[i] = p->c[i] - p->at[i];
    add_arm(to, arm, to->acceleration);
}

// A joint to what stands still.
static void accelerate_on_world(const hk_manifold_part *p, motion *to)
{
    static const hk_manifold_part world = {.R = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    static const motion still = {.velocity = {0}};
    if (p->freedom == HK_MOVES_FREELY || p->freedom == HK_MOVES_TOGETHER) return;
    accelerate_on_joint(p, &world, &still, to);
}

// What a part's vertices have of a gradient: force, moment about c, and the matrix of
// Σ g·(ω × (ω × r)) = ωᵀ (Σ sym(g rᵀ) − g·r) ω.
typedef struct pull {
    double force[3], moment[3], turn[3][3];
} pull;

static void sum_pull(const hk_manifold *m, int number, const double *gradient, pull *to)
{
    const hk_part *part = &m->constraints->parts[number];
    *to = (pull){.force = {0}};
    for (int k = part->start; k < part->start + part->count; k++) {
        int64_t v = m->vertex[k];
        double arm[3], moment[3];
        const double *g = gradient + 4 * v;
        hk_manifold_arm(m, number, v, arm);
        hk_cross(arm, g, moment);
        double along = dot(arm, g);
        for (int i = 0; i < 3; i++) {
            to->force[i] += g[i];
            to->moment[i] += moment[i];
            to->turn[i][i] -= along;
            for (int j = 0; j < 3; j++) to->turn[i][j] += 0.5 * (g[i] * arm[j] + arm[i] * g[j]);
        }
    }
}

static double work_of(const pull *p, const motion *of)
{
    double turned[3];
    hk_rotate(p->turn[0], of->spin, turned);
    return dot(p->force, of->acceleration) + dot(p->moment, of->turning) + dot(of->spin, turned);
}

// Of the whole tree at the rates q.
static double work(const hk_manifold *m, int tree, const pull *pulls, motion *motions,
                   const double *q)
{
    const hk_constraints *c = m->constraints;
    const hk_manifold_tree *t = &m->trees[tree];
    double sum = 0;
    for (int k = 0; k < t->part_count; k++) {
        int number = c->order[t->first_part + k];
        const hk_part *part = &c->parts[number];
        const hk_manifold_part *p = &m->parts[number];
        motion *own = &motions[k];
        *own = (motion){.velocity = {0}};
        take_rates(p, t->count, q, own);
        int parent = -1;
        for (int l = 0; l < k; l++)
            if (c->order[t->first_part + l] == part->parent) parent = l;
        if (!hk_freedom_is_rigid(p->freedom))
            accelerate_vertex(part, p, m->rest + 4 * (int64_t)m->vertex[part->start], own);
        else if (parent >= 0)
            accelerate_on_joint(p, &m->parts[part->parent], &motions[parent], own);
        else
            accelerate_on_world(p, own);
        sum += work_of(&pulls[k], own);
    }
    return sum;
}

enum { MOST_PARTS = 64 };  // of a tree; larger ones do without

void hk_manifold_add_curvature(const hk_manifold *m, int tree, const double *gradient,
                               double *matrix)
{
    const hk_manifold_tree *t = &m->trees[tree];
    pull pulls[MOST_PARTS];
    motion motions[MOST_PARTS];
    double *q = m->unknowns;
    if (t->part_count > MOST_PARTS) return;
    for (int k = 0; k < t->part_count; k++)
        sum_pull(m, m->constraints->order[t->first_part + k], gradient, &pulls[k]);
    // A quadratic form by its values: on the diagonal, then at sums of two unknowns.
    memset(q, 0, sizeof(double) * (size_t)t->count);
    double *own = m->matrix;
    for (int k = 0; k < t->count; k++) {
        q[k] = 1;
        own[k] = work(m, tree, pulls, motions, q);
        matrix[k * t->count + k] += own[k];
        q[k] = 0;
    }
    for (int k = 0; k < t->count; k++)
        for (int l = 0; l < k; l++) {
            q[k] = q[l] = 1;
            double both = 0.5 * (work(m, tree, pulls, motions, q) - own[k] - own[l]);
            matrix[k * t->count + l] += both;
            matrix[l * t->count + k] += both;
            q[k] = q[l] = 0;
        }
}
