// Elements that are overloaded: a vertex of theirs comes apart across the direction in which they
// are pulled (the plane of separation of O'Brien & Hodgins 1999, along the borders of elements).
#define HK_DOUBLE 1
#define HK_LANES  1
#include "material/membrane.h"

#include <math.h>
#include <stdlib.h>

#include "model/tear.h"
#include "term/tet.h"
#include "world/world.h"

// ---------------------------------------------------------------- directions

// The largest eigenvalue of a symmetric matrix and its unit vector: Jacobi's rotations.
static double largest(const double given[9], double vector[3])
{
    double s[9], q[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    memcpy(s, given, sizeof s);
    for (int sweep = 0; sweep < 30; sweep++)
        for (int a = 0; a < 2; a++)
            for (int b = a + 1; b < 3; b++) {
                double off = s[3 * a + b];
                if (off == 0 || !isfinite(off)) continue;
                double theta = (s[4 * b] - s[4 * a]) / (2 * off);
                double t = copysign(1, theta) / (fabs(theta) + hypot(theta, 1));
                double c = 1 / hypot(t, 1), n = c * t;
                int r = 3 - a - b;
                double ra = s[3 * r + a], rb = s[3 * r + b];
                s[4 * a] -= t * off;
                s[4 * b] += t * off;
                s[3 * a + b] = s[3 * b + a] = 0;
                s[3 * r + a] = s[3 * a + r] = c * ra - n * rb;
                s[3 * r + b] = s[3 * b + r] = n * ra + c * rb;
                for (int i = 0; i < 3; i++) {
                    double qa = q[3 * i + a], qb = q[3 * i + b];
                    q[3 * i + a] = c * qa - n * qb;
                    q[3 * i + b] = n * qa + c * qb;
                }
            }
    int k = s[0] >= s[4] ? (s[0] >= s[8] ? 0 : 2) : (s[4] >= s[8] ? 1 : 2);
    for (int i = 0; i < 3; i++) vector[i] = q[3 * i + k];
    return s[4 * k];
}

// What an element bears of what it can bear, and the direction in which that is.
typedef struct overload {
    double part, direction[3];
    int32_t element;
} overload;

static void take(overload *o, double value, double most, const double direction[3])
{
    if (!(most > 0) || !(value / most > o->part)) return;
    o->part = value / most;
    memcpy(o->direction, direction, sizeof o->direction);
}

// ---------------------------------------------------------------- tets

static void load_tet(const hk_material *m, const double P[9], const double F[9], overload *o)
{
    double v[3], s[9], j = 0;
    for (int i = 0; i < 3; i++)
        j += F[i] *
             (F[3 + (i + 1) % 3] * F[6 + (i + 2) % 3] - F[3 + (i + 2) % 3] * F[6 + (i + 1) % 3]);
    for (int pass = 0; pass < 2; pass++) {
        // σ = P Fᵀ / |J|, and F Fᵀ, whose eigenvectors are those of the stretches as they lie now.
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++) {
                s[3 * i + k] = 0;
                for (int l = 0; l < 3; l++)
                    s[3 * i + k] += (pass ? F : P)[3 * i + l] * F[3 * k + l];
            }
        double value = largest(s, v);
        if (pass)
            take(o, sqrt(fmax(value, 0)) - 1, m->tear_strain, v);
        else
            take(o, value / fabs(j), m->tear_stress, v);
    }
}

static hk_status load_tets(const hk_world *w, overload *o)
{
    const hk_model *m = w->model;
    bool any = false;
    for (int k = 0; k < m->material_count; k++)
        any |= m->materials[k].tear_stress > 0 || m->materials[k].tear_strain > 0;
    if (!any || m->tet_count == 0) return HK_OK;
    double *P = HK_ARRAY(double, 9 * (size_t)m->tet_count);
    double *F = HK_ARRAY(double, 9 * (size_t)m->tet_count);
    if (P && F) {
        hk_tet_stress((hk_tet_term *)hk_terms_find(w->problem->terms, &hk_tets_term), w->x, P, F);
#pragma omp parallel for schedule(static) num_threads(w->problem->threads)
        for (int64_t t = 0; t < m->tet_count; t++)
            load_tet(&m->materials[m->tet_material[t]], P + 9 * t, F + 9 * t, &o[t]);
    }
    hk_free(P);
    hk_free(F);
    return P && F ? HK_OK : HK_NO_MEMORY;
}

// ---------------------------------------------------------------- triangles

// inverse of the edges at rest in a frame of the triangle's plane.
static void invert_rest(const hk_model *m, const int32_t *c, double inverse[2][2])
{
    double e[2][3], l = 0, along = 0, across = 0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++)
            e[k][i] = m->rest[3 * (int64_t)c[k + 1] + i] - m->rest[3 * (int64_t)c[0] + i];
    for (int i = 0; i < 3; i++) l += e[0][i] * e[0][i];
    l = sqrt(l);
    for (int i = 0; i < 3; i++) along += e[0][i] * e[1][i] / l;
    for (int i = 0; i < 3; i++) across += pow(e[1][i] - along * e[0][i] / l, 2);
    across = sqrt(across);
    inverse[0][0] = 1 / l;
    inverse[0][1] = -along / (l * across);
    inverse[1][0] = 0;
    inverse[1][1] = 1 / across;
}

static void deform(const hk_world *w, const int32_t *c, double inverse[2][2], vec3 f[2])
{
    const double *x[3];
    for (int k = 0; k < 3; k++) x[k] = w->x + 4 * (int64_t)w->model->place[c[k]];
    for (int i = 0; i < 3; i++) {
        double u = x[1][i] - x[0][i], v = x[2][i] - x[0][i];
        f[0].v[i] = u * inverse[0][0] + v * inverse[1][0];
        f[1].v[i] = u * inverse[0][1] + v * inverse[1][1];
    }
}

// shell: NULL, springs.
static void load_triangle(const hk_world *w, const hk_sheet_material *s, const int32_t *c,
                          const hk_shell *shell, overload *o)
{
    double own[2][2], matrix[9] = {0}, v[3];
    vec3 f[2], p[2];
    if (shell)
        memcpy(own, shell->inverse, sizeof own);
    else
        invert_rest(w->model, c, own);
    deform(w, c, own, f);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            for (int j = 0; j < 2; j++) matrix[3 * i + k] += f[j].v[i] * f[j].v[k];
    double stretch = sqrt(fmax(largest(matrix, v), 0));
    take(o, stretch - 1, s->tear_strain, v);
    if (!shell || !(s->tear_stress > 0)) return;
    // Tension per length of the sheet as it is now, Σ p_j f_jᵀ / J.
    membrane_energy_stress(&s->membrane, f, (const real(*)[2])shell->strand, p);
    vec3 n = v3_cross(f[0], f[1]);
    double area = v3_norm(n);
    memset(matrix, 0, sizeof matrix);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            for (int j = 0; j < 2; j++) matrix[3 * i + k] += p[j].v[i] * f[j].v[k] / area;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < i; k++)
            matrix[3 * i + k] = matrix[3 * k + i] = (matrix[3 * i + k] + matrix[3 * k + i]) / 2;
    double tension = largest(matrix, v);
    take(o, tension, s->tear_stress, v);
}

static void load_sheets(const hk_world *w, overload *o)
{
    const hk_model *m = w->model;
    int64_t shell = 0;
    for (int b = 0; b < m->body_count; b++) {
        const hk_body *body = &m->bodies[b];
        const hk_sheet_material *s = &body->sheet;
        if (body->tet_count > 0) continue;
        for (int t = body->triangle_start; t < body->triangle_start + body->triangle_count; t++) {
            const hk_shell *own = s->shell ? &m->shells[shell++] : NULL;
            if (s->tear_strain > 0 || s->tear_stress > 0)
                load_triangle(w, s, m->triangles + 3 * (int64_t)t, own, &o[t]);
        }
    }
}

// ---------------------------------------------------------------- where it comes apart

typedef struct tearer {
    hk_tearing_work *work;
    const overload *load;  // [elements]
    hk_follower around;
    uint8_t *touched;  // [vertex_count] something near it tears in this step
} tearer;

static const int32_t *corners_of(const hk_model *m, int32_t element, int *count)
{
    *count = element < m->tet_count ? 4 : 3;
    return element < m->tet_count ? m->tets + 4 * (int64_t)element
                                  : m->triangles + 3 * ((int64_t)element - m->tet_count);
}

// How far an element lies on one side of the plane through a vertex across a direction.
static double side_of(const hk_world *w, int32_t element, int32_t vertex, const double n[3])
{
    const hk_model *m = w->model;
    int count;
    double sum = 0;
    const int32_t *c = corners_of(m, element, &count);
    const double *own = w->x + 4 * (int64_t)m->place[vertex];
    for (int k = 0; k < count; k++)
        for (int i = 0; i < 3; i++) sum += n[i] * (w->x[4 * (int64_t)m->place[c[k]] + i] - own[i]);
    return sum;
}

static void tear_side(tearer *t, int32_t element, int k)
{
    const hk_model *m = t->work->world->model;
    if (element < m->tet_count)
        hk_tear_face(t->work, element, k);
    else
        hk_tear_edge(t->work, element - m->tet_count, k);
}

static int32_t neighbour(const tearer *t, int32_t element, int k)
{
    const hk_model *m = t->work->world->model;
    if (element < m->tet_count) return t->work->adjacency->tet[4 * (int64_t)element + k];
    int32_t other = t->work->adjacency->triangle[3 * ((int64_t)element - m->tet_count) + k];
    return other < 0 ? -1 : other + m->tet_count;
}

// Tears the facets around a vertex between elements on either side. False: there is one side.
static bool split_at(tearer *t, int32_t vertex, const double n[3])
{
    const hk_world *w = t->work->world;
    const hk_model *m = w->model;
    const int32_t *list = t->around.list + t->around.start[vertex];
    int count = t->around.start[vertex + 1] - t->around.start[vertex], facets = t->work->facets;
    for (int e = 0; e < count; e++) {
        int corners = list[e] < m->tet_count ? 4 : 3;
        if (side_of(w, list[e], vertex, n) < 0) continue;
        for (int k = 0; k < corners; k++) {
            int32_t other = neighbour(t, list[e], k);
            bool has = false;
            int others;
            if (other < 0) continue;
            const int32_t *d = corners_of(m, other, &others);
            for (int i = 0; i < others; i++) has |= d[i] == vertex;
            if (has && side_of(w, other, vertex, n) < 0) tear_side(t, list[e], k);
        }
    }
    if (t->work->facets == facets) return false;
    for (int e = 0; e < count; e++) {
        int corners;
        const int32_t *c = corners_of(m, list[e], &corners);
        for (int k = 0; k < corners; k++) t->touched[c[k]] = 1;
    }
    return true;
}

static double mean_load(const tearer *t, int32_t vertex)
{
    double sum = 0;
    int first = t->around.start[vertex], last = t->around.start[vertex + 1];
    for (int e = first; e < last; e++) sum += t->load[t->around.list[e]].part;
    return sum / (last - first);
}

// At the corner around which most is borne; else at the next.
static bool tear_element(tearer *t, const overload *o)
{
    int count;
    const int32_t *c = corners_of(t->work->world->model, o->element, &count);
    bool tried[4] = {false};
    for (int n = 0; n < count; n++) {
        int best = -1;
        double most = -1;
        for (int k = 0; k < count; k++) {
            double load = tried[k] || t->touched[c[k]] ? -1 : mean_load(t, c[k]);
            if (load > most) {
                most = load;
                best = k;
            }
        }
        if (best < 0) return false;
        tried[best] = true;
        if (split_at(t, c[best], o->direction)) return true;
    }
    return false;
}

static int by_part(const void *a, const void *b)
{
    const overload *u = a, *v = b;
    if (u->part != v->part) return u->part > v->part ? -1 : 1;
    return (u->element > v->element) - (u->element < v->element);
}

static hk_status tear_all(tearer *t, overload *list, int count)
{
    const hk_model *m = t->work->world->model;
    const hk_splitting none = {0};
    int most = m->tearing && m->tearing->most > 0 ? m->tearing->most : count, torn = 0;
    qsort(list, (size_t)count, sizeof *list, by_part);
    t->touched = HK_ZEROS(uint8_t, m->vertex_count);
    if (!t->touched) return HK_NO_MEMORY;
    HK_TRY(hk_follower_make(m, &none, &t->around));
    for (int k = 0; k < count && torn < most; k++) torn += tear_element(t, &list[k]);
    return HK_OK;
}

hk_status hk_tear_overloaded(hk_tearing_work *work)
{
    hk_world *w = work->world;
    const hk_model *m = w->model;
    int elements = m->tet_count + m->triangle_count, count = 0;
    if (!hk_model_has_thresholds(m)) return HK_OK;
    HK_TRY(hk_world_need_problem(w));
    overload *load = HK_ZEROS(overload, elements), *list = NULL;
    hk_status status = load ? load_tets(w, load) : HK_NO_MEMORY;
    if (status == HK_OK) load_sheets(w, load + m->tet_count);
    for (int e = 0; e < elements && status == HK_OK; e++) {
        load[e].element = e;
        count += load[e].part > 1;
    }
    if (count > 0) {
        list = HK_ARRAY(overload, count);
        status = list ? HK_OK : HK_NO_MEMORY;
        tearer t = {.work = work, .load = load};
        for (int e = 0, n = 0; e < elements && status == HK_OK; e++)
            if (load[e].part > 1) list[n++] = load[e];
        if (status == HK_OK) status = tear_all(&t, list, count);
        hk_follower_release(&t.around);
        hk_free(t.touched);
    }
    hk_free(load);
    hk_free(list);
    return status;
}
