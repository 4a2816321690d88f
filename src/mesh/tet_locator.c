#include "mesh/tet_locator.h"

#include <math.h>

#include "mesh/facets.h"

// A least coordinate of this much: no other tet can claim the point.
#define WELL_INSIDE 1e-6
// The quality that a tet must have for barycentric coordinates, as for a simulation.
#define FLAT 1e-9

// ---------------------------------------------------------------- tets to search

void hk_tet_locator_to_unit(const hk_tet_locator *l, const double p[3], double unit[3])
{
    for (int i = 0; i < 3; i++) unit[i] = (p[i] / 2 - l->centre[i] / 2) / (l->size / 2);
}

static hk_status measure_mesh(hk_tet_locator *l)
{
    const hk_mesh *m = l->mesh;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int64_t k = 0; k < 4 * (int64_t)m->tet_count; k++) {
        const double *p = m->positions + 3 * (int64_t)m->tets[k];
        if (!hk_is_finite3(p))
            return hk_fail(HK_BAD_INPUT, "vertex %d of the mesh is not finite", m->tets[k]);
        for (int i = 0; i < 3; i++) {
            low[i] = fmin(low[i], p[i]);
            high[i] = fmax(high[i], p[i]);
        }
    }
    for (int i = 0; i < 3; i++) {
        l->centre[i] = low[i] / 2 + high[i] / 2;
        l->size = fmax(l->size, high[i] / 2 - low[i] / 2);
    }
    if (l->size > 0) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "all tets of the mesh are in one place: none can carry a surface");
}

static const double *corner(const hk_tet_locator *l, int tet, int k)
{
    return l->x + 3 * (int64_t)l->mesh->tets[4 * (int64_t)tet + k];
}

static void cross(const double a[3], const double b[3], double c[3])
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void subtract(const double a[3], const double b[3], double c[3])
{
    for (int i = 0; i < 3; i++) c[i] = a[i] - b[i];
}

// The rows of the inverse of (e₁ e₂ e₃) are e₂ × e₃, e₃ × e₁ and e₁ × e₂ over the volume. They are
// the gradients of the coordinates, of length one over the height above the face.
static void invert(const hk_tet_locator *l, int tet, double inverse[9], double height2[4])
{
    double e[3][3];
    for (int k = 0; k < 3; k++) subtract(corner(l, tet, k + 1), corner(l, tet, 0), e[k]);
    for (int k = 0; k < 3; k++) cross(e[(k + 1) % 3], e[(k + 2) % 3], inverse + 3 * k);
    double volume6 = dot(e[0], inverse);
    for (int k = 0; k < 9; k++) inverse[k] /= volume6;
    double sum[3];
    for (int i = 0; i < 3; i++) sum[i] = inverse[i] + inverse[3 + i] + inverse[6 + i];
    height2[0] = 1 / dot(sum, sum);
    for (int k = 0; k < 3; k++) height2[k + 1] = 1 / dot(inverse + 3 * k, inverse + 3 * k);
}

static hk_box box_of(const hk_tet_locator *l, int tet)
{
    hk_box box;
    memcpy(box.low, corner(l, tet, 0), sizeof box.low);
    memcpy(box.high, box.low, sizeof box.high);
    for (int k = 1; k < 4; k++)
        for (int i = 0; i < 3; i++) {
            box.low[i] = fmin(box.low[i], corner(l, tet, k)[i]);
            box.high[i] = fmax(box.high[i], corner(l, tet, k)[i]);
        }
    return box;
}

static hk_status index_tets(hk_tet_locator *l)
{
    int count = l->mesh->tet_count;
    hk_box *boxes = HK_ARRAY(hk_box, count);
    if (!boxes) return HK_NO_MEMORY;
    for (int t = 0; t < count; t++) {
        if (!(fabs(hk_tet_quality(corner(l, t, 0), corner(l, t, 1), corner(l, t, 2),
                                  corner(l, t, 3))) > FLAT))
            continue;
        invert(l, t, l->inverse[t], l->height2 + 4 * (int64_t)t);
        boxes[l->sound_count] = box_of(l, t);
        l->sound[l->sound_count++] = t;
    }
    hk_status status =
        l->sound_count > 0
            ? hk_box_tree_build(&l->tree, l->sound_count, boxes)
            : hk_fail(HK_BAD_INPUT, "all tets of the mesh are flat: none can carry a surface");
    hk_free(boxes);
    return status;
}

static hk_status build(hk_tet_locator *l)
{
    const hk_mesh *m = l->mesh;
    HK_TRY(measure_mesh(l));
    l->x = HK_ARRAY(double, 3 * (size_t)m->vertex_count);
    l->inverse = hk_alloc((size_t)m->tet_count, sizeof *l->inverse);
    l->sound = HK_ARRAY(int32_t, m->tet_count);
    l->height2 = HK_ARRAY(double, 4 * (size_t)m->tet_count);
    if (!l->x || !l->inverse || !l->height2 || !l->sound) return HK_NO_MEMORY;
    for (int64_t v = 0; v < m->vertex_count; v++)
        hk_tet_locator_to_unit(l, m->positions + 3 * v, l->x + 3 * v);
    return index_tets(l);
}

hk_status hk_tet_locator_build(hk_tet_locator *l, const hk_mesh *mesh)
{
    *l = (hk_tet_locator){.mesh = mesh};
    hk_status status = build(l);
    if (status != HK_OK) hk_tet_locator_release(l);
    return status;
}

void hk_tet_locator_release(hk_tet_locator *l)
{
    hk_box_tree_release(&l->tree);
    hk_free(l->x);
    hk_free(l->inverse);
    hk_free(l->height2);
    hk_free(l->sound);
    *l = (hk_tet_locator){0};
}

// ---------------------------------------------------------------- one point

static void coordinates(const hk_tet_locator *l, int tet, const double p[3], double w[4])
{
    double d[3];
    subtract(p, corner(l, tet, 0), d);
    for (int k = 0; k < 3; k++) w[k + 1] = dot(l->inverse[tet] + 3 * k, d);
    w[0] = 1 - w[1] - w[2] - w[3];
}

// fmin is a call, for the sake of NaNs.
static double lesser(double a, double b)
{
    return a < b ? a : b;
}

static double least(const double w[4])
{
    return lesser(lesser(w[0], w[1]), lesser(w[2], w[3]));
}

static double segment2(const double a[3], const double b[3], const double p[3])
{
    double e[3], d[3];
    subtract(b, a, e);
    subtract(p, a, d);
    double along = dot(d, e) / dot(e, e);
    along = along > 0 ? lesser(along, 1) : 0;
    for (int i = 0; i < 3; i++) d[i] -= along * e[i];
    return dot(d, d);
}

// The square of the distance from a triangle: from its plane where the foot of the point is inside
// of it, else from the edges that it is beyond.
static double triangle2(const double *c[3], const double p[3])
{
    double u[3], v[3], normal[3], e[3], d[3], side[3], away = INFINITY;
    subtract(c[1], c[0], u);
    subtract(c[2], c[0], v);
    cross(u, v, normal);
    for (int k = 0; k < 3; k++) {
        subtract(c[(k + 1) % 3], c[k], e);
        subtract(p, c[k], d);
        cross(normal, e, side);
        if (dot(side, d) < 0) away = lesser(away, segment2(c[k], c[(k + 1) % 3], p));
    }
    double height = dot(d, normal);
    return away < INFINITY ? away : height * height / dot(normal, normal);
}

// The square of the distance from a tet. The point of it that is nearest lies on a face that the
// point is beyond.
static double tet2(const hk_tet_locator *l, int tet, const double p[3], const double w[4])
{
    double away = INFINITY;
    for (int f = 0; f < 4; f++) {
        if (w[f] >= 0) continue;
        const double *c[3];
        for (int k = 0; k < 3; k++) c[k] = corner(l, tet, hk_tet_faces[f][k]);
        away = lesser(away, triangle2(c, p));
    }
    return away < INFINITY ? away : 0;
}

typedef struct search {
    const hk_tet_locator *locator;
    double p[3];
    double reach2;  // of the tree
    double away;    // of the tet
    int tet;        // the one to take; -1: none yet
    double least;   // its least coordinate
} search;

// The tet that the point is least beyond: the deepest inside, where it is in several.
static void take(search *s, int tet, const double w[4])
{
    double low = least(w);
    if (s->tet >= 0 && (low < s->least || (low == s->least && tet > s->tet))) return;
    s->tet = tet;
    s->least = low;
}

// Among the tets that may have the point.
static void look_inside(void *context, int32_t item)
{
    search *s = context;
    int tet = s->locator->sound[item];
    double w[4];
    coordinates(s->locator, tet, s->p, w);
    if (least(w) >= 0) take(s, tet, w);
    if (least(w) > WELL_INSIDE) s->reach2 = -1;
}

// Whether the planes of its faces alone keep the point farther away than the reach.
static bool is_beyond_reach(const search *s, int tet, const double w[4])
{
    const double *height2 = s->locator->height2 + 4 * (int64_t)tet;
    for (int f = 0; f < 4; f++)
        if (w[f] < 0 && w[f] * w[f] * height2[f] > s->reach2) return true;
    return false;
}

// The nearest tet. Of those that are equally near, as all around an edge are, the one that the
// point is least beyond.
static void measure_tet(void *context, int32_t item)
{
    search *s = context;
    int tet = s->locator->sound[item];
    double w[4];
    coordinates(s->locator, tet, s->p, w);
    if (is_beyond_reach(s, tet, w)) return;
    double away2 = tet2(s->locator, tet, s->p, w);
    if (away2 > s->reach2) return;
    double away = sqrt(away2), more = away * HK_TOUCHING + HK_TOUCHING;
    if (away < s->away - more) s->tet = -1;
    if (away < s->away) {
        s->away = away;
        s->reach2 = (away + more) * (away + more);
    }
    take(s, tet, w);
}

double hk_tet_locator_find(const hk_tet_locator *l, const double p[3], int *tet)
{
    search s = {.locator = l, .reach2 = 0, .tet = -1};
    memcpy(s.p, p, sizeof s.p);
    hk_box_tree_visit(&l->tree, p, &s.reach2, look_inside, &s);
    if (s.tet < 0) {
        s.reach2 = s.away = INFINITY;
        hk_box_tree_visit(&l->tree, p, &s.reach2, measure_tet, &s);
    }
    *tet = s.tet;
    return s.away;
}

void hk_tet_locator_weights(const hk_tet_locator *l, int tet, const double p[3], double w[4])
{
    double off[3];
    coordinates(l, tet, p, w);
    for (int round = 0; round < 2; round++) {
        memcpy(off, p, sizeof off);
        for (int k = 0; k < 4; k++)
            for (int i = 0; i < 3; i++) off[i] -= w[k] * corner(l, tet, k)[i];
        for (int k = 0; k < 3; k++) w[k + 1] += dot(l->inverse[tet] + 3 * k, off);
        w[0] = 1 - w[1] - w[2] - w[3];
    }
}
