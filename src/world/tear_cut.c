// Blades: facets come apart where the line between the centres of their two elements crosses one.
#include <math.h>

#include "core/vector.h"
#include "model/tear.h"
#include "world/world.h"

enum { PARTS = 4 };  // of a time step in which an edge sweeps, for those that turn
// Of a step, by which an edge sweeps over what it swept already, for what moved meanwhile.
#define AGAIN 0.25
// Of its size, by which a triangle is taken to be larger: neighbours leave no gap between them.
#define RIM 1e-9

typedef struct blade {
    double corner[3][3], normal[3];
    double low[3], high[3];
} blade;

static void cross(const double a[3], const double b[3], double c[3])
{
    for (int i = 0; i < 3; i++)
        c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void minus(const double a[3], const double b[3], double c[3])
{
    for (int i = 0; i < 3; i++) c[i] = a[i] - b[i];
}

// False: it is no triangle.
static bool make_blade(const double corners[9], blade *b)
{
    double e[3], f[3];
    memcpy(b->corner, corners, sizeof b->corner);
    minus(b->corner[1], b->corner[0], e);
    minus(b->corner[2], b->corner[0], f);
    cross(e, f, b->normal);
    for (int i = 0; i < 3; i++) {
        b->low[i] = fmin(b->corner[0][i], fmin(b->corner[1][i], b->corner[2][i]));
        b->high[i] = fmax(b->corner[0][i], fmax(b->corner[1][i], b->corner[2][i]));
    }
    return dot(b->normal, b->normal) > 0;
}

static bool crosses(const blade *b, const double from[3], const double to[3])
{
    double u[3], v[3], at[3];
    for (int i = 0; i < 3; i++)
        if (fmin(from[i], to[i]) > b->high[i] || fmax(from[i], to[i]) < b->low[i]) return false;
    minus(from, b->corner[0], u);
    minus(to, b->corner[0], v);
    double s = dot(u, b->normal), t = dot(v, b->normal);
    if ((s >= 0) == (t >= 0)) return false;
    for (int i = 0; i < 3; i++) at[i] = from[i] + s / (s - t) * (to[i] - from[i]);
    for (int k = 0; k < 3; k++) {
        double e[3], d[3], n[3];
        minus(b->corner[(k + 1) % 3], b->corner[k], e);
        minus(at, b->corner[k], d);
        cross(e, d, n);
        if (dot(n, b->normal) < -RIM * dot(b->normal, b->normal)) return false;
    }
    return true;
}

static void centre_of(const hk_world *w, const int32_t *c, int corners, double to[3])
{
    to[0] = to[1] = to[2] = 0;
    for (int k = 0; k < corners; k++) {
        const double *x = w->x + 4 * (int64_t)w->model->place[c[k]];
        for (int i = 0; i < 3; i++) to[i] += x[i] / corners;
    }
}

typedef struct knife {
    hk_tearing_work *work;
    const blade *blades;
    int count;
} knife;

static bool cuts(const knife *k, const double from[3], const double to[3])
{
    for (int b = 0; b < k->count; b++)
        if (crosses(&k->blades[b], from, to)) return true;
    return false;
}

static void cut_tets(const knife *k, const hk_body *body)
{
    const hk_world *w = k->work->world;
    for (int t = body->tet_start; t < body->tet_start + body->tet_count; t++) {
        double from[3], to[3];
        centre_of(w, w->model->tets + 4 * (int64_t)t, 4, from);
        for (int face = 0; face < 4; face++) {
            int32_t other = k->work->adjacency->tet[4 * (int64_t)t + face];
            if (other < t) continue;
            centre_of(w, w->model->tets + 4 * (int64_t)other, 4, to);
            if (cuts(k, from, to)) hk_tear_face(k->work, t, face);
        }
    }
}

static void cut_triangles(const knife *k, const hk_body *body)
{
    const hk_world *w = k->work->world;
    for (int t = body->triangle_start; t < body->triangle_start + body->triangle_count; t++) {
        double from[3], to[3];
        centre_of(w, w->model->triangles + 3 * (int64_t)t, 3, from);
        for (int edge = 0; edge < 3; edge++) {
            int32_t other = k->work->adjacency->triangle[3 * (int64_t)t + edge];
            if (other < t) continue;
            centre_of(w, w->model->triangles + 3 * (int64_t)other, 3, to);
            if (cuts(k, from, to)) hk_tear_edge(k->work, t, edge);
        }
    }
}

hk_status hk_tear_along(hk_tearing_work *work, int body, int count, const double *corners)
{
    const hk_model *m = work->world->model;
    blade *blades = HK_ARRAY(blade, count);
    if (!blades) return HK_NO_MEMORY;
    knife k = {work, blades, 0};
    for (int b = 0; b < count; b++)
        k.count += make_blade(corners + 9 * (int64_t)b, &blades[k.count]);
    for (int b = 0; b < m->body_count && k.count > 0; b++) {
        if (body != HK_CUT_ALL && body != b) continue;
        cut_tets(&k, &m->bodies[b]);
        cut_triangles(&k, &m->bodies[b]);
    }
    hk_free(blades);
    return HK_OK;
}

// ---------------------------------------------------------------- those of a model

typedef struct patch {
    int count;
    double corners[2 * PARTS][9];
} patch;

static void add_quad(patch *p, const double *a, const double *b, const double *c, const double *d)
{
    const double *const of[2][3] = {{a, b, c}, {a, c, d}};
    for (int t = 0; t < 2; t++, p->count++)
        for (int k = 0; k < 3; k++)
            memcpy(p->corners[p->count] + 3 * k, of[t][k], 3 * sizeof(double));
}

static void sweep_edge(const hk_cut *cut, double from, double until, patch *p)
{
    double before[HK_CUT_POINTS][3], after[HK_CUT_POINTS][3];
    hk_cut_place(cut, from, before);
    for (int k = 1; k <= PARTS; k++) {
        hk_cut_place(cut, from + (until - from) * k / PARTS, after);
        add_quad(p, before[0], before[1], after[1], after[0]);
        memcpy(before, after, sizeof before);
    }
}

static void place_surface(const hk_cut *cut, double time, patch *p)
{
    double at[HK_CUT_POINTS][3];
    hk_cut_place(cut, time, at);
    if (cut->point_count == 4) {
        add_quad(p, at[0], at[1], at[2], at[3]);
        return;
    }
    memcpy(p->corners[0], at, sizeof p->corners[0]);
    p->count = 1;
}

hk_status hk_tear_by_cuts(hk_tearing_work *work)
{
    const hk_world *w = work->world;
    const hk_tearing *t = w->model->tearing;
    for (int k = 0; t && k < t->cut_count; k++) {
        const hk_cut *cut = &t->cuts[k];
        bool edge = cut->point_count == 2;
        double late = w->time + 1e-9 * w->step;  // times are sums of steps
        double from = fmax(cut->from, w->time - (1 + AGAIN) * w->step),
               until = fmin(cut->until, w->time);
        patch p = {0};
        // A surface cuts at the end of every step in which it is there.
        if (cut->from > late || cut->until < late - w->step) continue;
        if (edge)
            sweep_edge(cut, from, until, &p);
        else
            place_surface(cut, until, &p);
        HK_TRY(hk_tear_along(work, cut->body, p.count, p.corners[0]));
    }
    return HK_OK;
}
