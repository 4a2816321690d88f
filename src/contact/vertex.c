// What contact does to one vertex, all others at rest (touches.h).
//
// Vertices are moved colour by colour, and those of one colour share no element of the mesh, but
// may share a contact. Then each sees the other where it was before, and takes the contact for as
// many times as stiff as there are that move at once: of a convex energy E of m of them
//
//   E(x + Σ d_i) ≤ 1/m Σ E(x + m d_i),
//
// so that what each of them gains by itself all of them gain together.
#include <math.h>

#include "contact/quick.h"
#include "contact/touches.h"

// Corners as vertex v among them sees them; returns m.
static int see_corners(const hk_contacts *c, const int32_t point[4], int v, const hk_places *q,
                       double x[4][3])
{
    const hk_touches *t = c->touches;
    hk_places before = {(void *)t->before, q->base};
    int32_t own = c->vertex[point[v]], colour = t->colour_of ? t->colour_of[own] : -1;
    int count = 1;
    for (int u = 0; u < 4; u++) {
        int32_t p = point[u];
        if (p >= c->body_points) {
            memcpy(x[u], c->x + 3 * (size_t)p, 3 * sizeof(double));
            continue;
        }
        int32_t other = c->vertex[p];
        bool at_once = colour >= 0 && other != own && t->colour_of[other] == colour;
        const hk_places *from = at_once ? &before : q;
        count += at_once;
        for (int i = 0; i < 3; i++) x[u][i] = hk_place_of(from, 4 * (int64_t)other + i);
    }
    return count;
}

// Whether a contact does not push for sure, by how far its corners are from the centre.
static bool is_apart(const hk_contacts *c, const hk_touch *k, const double x[4][3])
{
    double far[2] = {0, 0};
    for (int v = 0; v < 4; v++) {
        double d[3];
        closest_minus(x[v], c->touches->centre + 3 * (size_t)k->point[v], d);
        double square = closest_dot(d, d), *most = &far[v >= k->firsts];
        if (square > *most) *most = square;
    }
    double spare = k->gap - k->pair.width;
    return spare > 0 && 2 * (far[0] + far[1]) < spare * spare;  // (a + b)² ≤ 2 (a² + b²)
}

static void add_outer(double factor, const double n[3], double block[6])
{
    for (int i = 0, k = 0; i < 3; i++)
        for (int j = i; j < 3; j++, k++) block[k] += factor * n[i] * n[j];
}

static void add_contact(const hk_contacts *c, const hk_touch *k, int v, const hk_places *q,
                        double gradient[3], double block[6])
{
    double x[4][3], g[12];
    int count = see_corners(c, k->point, v, q, x);
    if (is_apart(c, k, (const double(*)[3])x)) return;
    hk_pair_state at = quick_state(&k->pair, (const double(*)[3])x);
    if (at.b.energy == 0 || !isfinite(at.b.energy)) return;
    pair_gradient(&k->pair, &at, g);
    for (int i = 0; i < 3; i++) gradient[i] += g[3 * v + i];
    for (int n = 0; n < at.parts; n++) {
        const hk_pair_part *part = &at.part[n];
        double bend =
            count * k->pair.stiffness * at.m.energy * part->coefficient * part->b.curvature;
        double weight = part->distance != 0 ? part->closest.c[v] / part->distance : 0;
        if (bend > 0) add_outer(bend * weight * weight, part->closest.w, block);
    }
}

static double slide_at(const hk_contacts *c, const hk_slide *s, const double x[4][3], double to[3])
{
    double from[4][3];
    hk_contact_corners(c->from, s->point, from);
    return friction_slide(&s->friction, x, (const double(*)[3])from, to);
}

// The block is that of a spring with the same force, which lies above Coulomb's energy everywhere:
// its own Hessian is all but 0 along the slide, and steps of Newton's method would leap across.
static void add_slide(const hk_contacts *c, const hk_slide *s, int v, const hk_places *q,
                      double gradient[3], double block[6])
{
    const hk_friction *f = &s->friction;
    double x[4][3], slide[3];
    int count = see_corners(c, s->point, v, q, x);
    double nearer = slide_at(c, s, (const double(*)[3])x, slide),
           damping = nearer < 0 ? f->damping : 0;
    double pull = f->most * contact_slip_ratio(f->slip, sqrt(closest_dot(slide, slide)));
    double part = count * f->c[v] * f->c[v];
    for (int i = 0, k = 0; i < 3; i++) {
        gradient[i] += f->c[v] * (pull * slide[i] + damping * nearer * f->normal[i]);
        for (int j = i; j < 3; j++, k++)
            block[k] += part * (pull * (i == j) + (damping - pull) * f->normal[i] * f->normal[j]);
    }
}

bool hk_touches_vertex(const hk_contacts *c, int vertex, const hk_places *q, double gradient[3],
                       double block[6])
{
    const hk_touches *t = c->touches;
    int32_t p = c->point_of[vertex];
    if (p < 0 || t->version < 0) return false;
    int64_t first = t->uses.start[p], last = t->uses.start[p + 1];
    int64_t slides = c->slide_count > 0 ? c->slide_uses.start[p + 1] - c->slide_uses.start[p] : 0;
    if (first == last && slides == 0) return false;
    for (int64_t k = first; k < last; k++)
        add_contact(c, &t->touch[t->near[t->uses.use[k] / 4]], (int)(t->uses.use[k] % 4), q,
                    gradient, block);
    for (int64_t k = 0; k < slides; k++) {
        int64_t use = c->slide_uses.use[c->slide_uses.start[p] + k];
        add_slide(c, &c->slides[use / 4], (int)(use % 4), q, gradient, block);
    }
    return true;
}

// 1/m E(x + m step)
static double contact_energy(const hk_contacts *c, const hk_touch *k, int v, const hk_places *q,
                             const double step[3])
{
    double x[4][3];
    int count = see_corners(c, k->point, v, q, x);
    for (int i = 0; i < 3; i++) x[v][i] += count * step[i];
    if (is_apart(c, k, (const double(*)[3])x)) return 0;
    return quick_evaluate(&k->pair, (const double(*)[3])x, NULL, NULL) / count;
}

static double slide_energy(const hk_contacts *c, const hk_slide *s, int v, const hk_places *q,
                           const double step[3])
{
    double x[4][3], slide[3];
    int count = see_corners(c, s->point, v, q, x);
    for (int i = 0; i < 3; i++) x[v][i] += count * step[i];
    double nearer = slide_at(c, s, (const double(*)[3])x, slide);
    return friction_energy(&s->friction, slide, nearer) / count;
}

double hk_touches_vertex_energy(const hk_contacts *c, int vertex, const hk_places *q,
                                const double step[3])
{
    const hk_touches *t = c->touches;
    int32_t p = c->point_of[vertex];
    double sum = 0;
    if (p < 0 || t->version < 0) return 0;
    for (int64_t k = t->uses.start[p]; k < t->uses.start[p + 1]; k++)
        sum += contact_energy(c, &t->touch[t->near[t->uses.use[k] / 4]], (int)(t->uses.use[k] % 4),
                              q, step);
    for (int64_t k = c->slide_uses.start[p]; c->slide_count > 0 && k < c->slide_uses.start[p + 1];
         k++)
        sum += slide_energy(c, &c->slides[c->slide_uses.use[k] / 4],
                            (int)(c->slide_uses.use[k] % 4), q, step);
    return sum;
}
