// Contact after contact by itself (xpbd): the near ones of a centre, the state before a substep,
// one after the other in their order.
//
// Along its normal a contact solves for the gap it would have were it alone, with the force that is
// its law's there: λ + s/W = −h² κ b′(g + s), W = Σ w_i c_i², s what it moves, λ what it has done
// before in this substep, in N s². That is a compliant constraint with compliance 1/κ while b is a
// parabola; below, the equation of its logarithm is solved, so that gaps never close. Normals and
// weights are those of the centre: predicted places may be behind each other.
//
// Across it whatever slid since the centre is taken back, by up to μ λ: Coulomb's friction.
#include <math.h>

#include "contact/touches.h"

// What counts of a contact's stiffness where its closest points are: the mollifier, and not what
// others have in common with it (pair.h).
static double part_of(const hk_contacts *c, const hk_touch *k)
{
    double x[4][3];
    hk_pair wide = k->pair;
    hk_contact_corners(c->touches->centre, k->point, x);
    wide.width = fmax(wide.width, 1.01 * k->gap);
    hk_pair_state at = pair_state(&wide, (const double(*)[3])x);
    if (at.parts == 0 || !(at.b.slope < 0)) return 0;
    return fmax(0, at.m.energy * at.slope / at.b.slope);
}

hk_status hk_touches_begin_relax(hk_contacts *c)
{
    hk_touches *t = c->touches;
    HK_TRY(hk_reserve((void **)&t->impulse, 0, 4 * sizeof(double), &t->impulse_capacity,
                      t->near_count));
    for (size_t n = 0; n < t->near_count; n++) {
        hk_touch *k = &t->touch[t->near[n]];
        k->part = part_of(c, k);
    }
    if (t->near_count > 0) memset(t->impulse, 0, 4 * sizeof(double) * t->near_count);
    return HK_OK;
}

// λ + s/W + stiffness b′(g + s) of IPC's law, whose root lies between gaps of 0 and the width.
static double log_gap(double width, double gap, double done, double W, double stiffness)
{
    double low = 0, high = width, at = 0.5 * width;
    for (int n = 0; n < 60 && high - low > 1e-12 * width; n++) {
        hk_contact_value b = contact_log(width, at);
        double value = done + (at - gap) / W + stiffness * b.slope;
        double slope = 1 / W + stiffness * b.curvature;
        if (value > 0)
            high = at;
        else
            low = at;
        double next = at - value / slope;
        at = next > low && next < high ? next : 0.5 * (low + high);
    }
    return at;
}

// The gap that a contact goes to.
static double gap_of(const hk_pair *p, double gap, double done, double W, double stiffness)
{
    double width = p->width, free = gap - done * W;
    if (free >= width) return free;
    if (p->law == HK_CONTACT_LOG) return log_gap(width, gap, done, W, stiffness);
    double parabola = (free + W * stiffness * width) / (1 + W * stiffness);
    if (p->law == HK_CONTACT_PENALTY || parabola >= 0.5 * width) return parabola;
    // G² − free G − ¼ stiffness W width² = 0
    double product = 0.25 * stiffness * W * width * width;
    double root = sqrt(free * free + 4 * product);
    return free > 0 ? 0.5 * (free + root) : 2 * product / (root - free);
}

// How a contact's corners move: Σ c_i (x_i − centre_i), and W.
static double slide_of(const hk_contacts *c, const hk_touch *k, const hk_places *q, double to[3])
{
    const hk_touches *t = c->touches;
    double W = 0;
    to[0] = to[1] = to[2] = 0;
    for (int v = 0; v < 4; v++) {
        int32_t p = k->point[v];
        const double *centre = t->centre + 3 * (size_t)p;
        int64_t at = p < c->body_points ? 4 * (int64_t)c->vertex[p] : -1;
        for (int i = 0; i < 3; i++) {
            double x = at < 0 ? c->x[3 * (size_t)p + (size_t)i] : hk_place_of(q, at + i);
            to[i] += k->c[v] * (x - centre[i]);
        }
        if (at < 0) continue;
        double w = q->base ? (double)((const float *)q->x)[at + 3] : ((const double *)q->x)[at + 3];
        W += w * k->c[v] * k->c[v];
    }
    return W;
}

static void push(const hk_contacts *c, const hk_touch *k, const hk_places *q,
                 const double impulse[3])
{
    for (int v = 0; v < 4; v++) {
        int32_t p = k->point[v];
        if (p >= c->body_points || k->c[v] == 0) continue;
        int64_t at = 4 * (int64_t)c->vertex[p];
        if (q->base) {
            float *x = (float *)q->x + at;
            for (int i = 0; i < 3; i++) x[i] += (float)((double)x[3] * k->c[v] * impulse[i]);
        } else {
            double *x = (double *)q->x + at;
            for (int i = 0; i < 3; i++) x[i] += x[3] * k->c[v] * impulse[i];
        }
    }
}

static void relax_normal(const hk_contacts *c, const hk_touch *k, const hk_places *q, double h,
                         double *done)
{
    double slide[3], impulse[3], W = slide_of(c, k, q, slide);
    if (!(W > 0)) return;
    double gap = k->gap + closest_dot(k->normal, slide);
    double to = gap_of(&k->pair, gap, *done, W, h * h * k->part * k->pair.stiffness);
    double more = (to - gap) / W;
    if (!isfinite(more)) return;
    *done += more;
    for (int i = 0; i < 3; i++) impulse[i] = more * k->normal[i];
    push(c, k, q, impulse);
}

// `done` is the impulse so far, across the normal.
static void relax_slide(const hk_contacts *c, const hk_touch *k, const hk_places *q, double most,
                        double done[3])
{
    double slide[3], sum[3], more[3], W = slide_of(c, k, q, slide);
    double through = closest_dot(slide, k->normal);
    if (!(W > 0)) return;
    for (int i = 0; i < 3; i++) sum[i] = done[i] - (slide[i] - through * k->normal[i]) / W;
    double length = sqrt(closest_dot(sum, sum));
    for (int i = 0; i < 3; i++) {
        if (length > most) sum[i] *= most / length;
        more[i] = sum[i] - done[i];
        done[i] = sum[i];
    }
    push(c, k, q, more);
}

void hk_touches_relax(hk_contacts *c, const hk_places *q, double h)
{
    hk_touches *t = c->touches;
    for (size_t n = 0; n < t->near_count && t->version >= 0; n++) {
        const hk_touch *k = &t->touch[t->near[n]];
        double *impulse = t->impulse + 4 * n;
        if (k->part == 0) continue;
        relax_normal(c, k, q, h, impulse);
        if (k->friction > 0 && impulse[0] > 0)
            relax_slide(c, k, q, k->friction * impulse[0], impulse + 1);
    }
}
