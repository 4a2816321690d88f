#include "design/warp.h"

#include "design/tet_laplacian.h"

// A vertex that is held or attached.
typedef struct anchor {
    int32_t vertex;
    double weight;   // d of an attached one; 0: it is held
    double turn[9];  // M, row-major
} anchor;

// A tet with both held and free corners: its part of the Laplacian joins them.
typedef struct border_tet {
    int32_t tet, vertex[4];
    double weight[4][4];  // of L
} border_tet;

struct hk_warp {
    hk_precondition *precondition;
    hk_rest_tets *tets;
    const uint8_t *held;
    int vertex_count, anchor_count, border_count;
    anchor *anchors;
    border_tet *border;
    double *u0, *whirl0, *whirl, *right, *first;  // [vertex_count][4]
};

// ---------------------------------------------------------------- creation

static bool is_border(const hk_model *m, const uint8_t *held, int tet)
{
    int count = 0;
    for (int c = 0; c < 4; c++) count += held[m->place[m->tets[4 * (int64_t)tet + c]]];
    return count > 0 && count < 4;
}

static hk_status find_border(hk_warp *w, const hk_model *m)
{
    for (int t = 0; t < m->tet_count; t++) w->border_count += is_border(m, w->held, t);
    w->border = HK_ARRAY(border_tet, w->border_count);
    if (!w->border) return HK_NO_MEMORY;
    for (int t = 0, k = 0; t < m->tet_count; t++) {
        if (!is_border(m, w->held, t)) continue;
        w->border[k].tet = t;
        for (int c = 0; c < 4; c++) w->border[k].vertex[c] = m->place[m->tets[4 * (int64_t)t + c]];
        k++;
    }
    return HK_OK;
}

static bool is_anchor(const hk_warp *w, int vertex)
{
    const double *attached = w->precondition->attached;
    return w->tets->volume[vertex] > 0 && (w->held[vertex] || (attached && attached[vertex] > 0));
}

static hk_status find_anchors(hk_warp *w)
{
    for (int k = 0; k < w->vertex_count; k++) w->anchor_count += is_anchor(w, k);
    w->anchors = HK_ARRAY(anchor, w->anchor_count);
    if (!w->anchors) return HK_NO_MEMORY;
    for (int k = 0, a = 0; k < w->vertex_count; k++)
        if (is_anchor(w, k)) w->anchors[a++].vertex = k;
    return HK_OK;
}

static hk_status build(hk_warp *w)
{
    const hk_inverse *inverse = w->precondition->inverse;
    size_t size = 4 * (size_t)inverse->problem->vertex_count;
    w->tets = inverse->tets;
    w->held = inverse->problem->held;
    w->vertex_count = inverse->problem->vertex_count;
    w->u0 = HK_ARRAY(double, size);
    w->whirl0 = HK_ARRAY(double, size);
    w->whirl = HK_ARRAY(double, size);
    w->right = HK_ARRAY(double, size);
    w->first = HK_ARRAY(double, size);
    if (!w->u0 || !w->whirl0 || !w->whirl || !w->right || !w->first) return HK_NO_MEMORY;
    HK_TRY(find_border(w, inverse->model));
    return find_anchors(w);
}

hk_status hk_warp_create(hk_precondition *precondition, hk_warp **warp)
{
    hk_warp *w = HK_NEW(hk_warp);
    if (!w) return HK_NO_MEMORY;
    w->precondition = precondition;
    hk_status status = build(w);
    if (status != HK_OK) {
        hk_warp_free(w);
        return status;
    }
    *warp = w;
    return HK_OK;
}

void hk_warp_free(hk_warp *w)
{
    if (!w) return;
    hk_free(w->anchors);
    hk_free(w->border);
    hk_free(w->u0);
    hk_free(w->whirl0);
    hk_free(w->whirl);
    hk_free(w->right);
    hk_free(w->first);
    hk_free(w);
}

// ---------------------------------------------------------------- from shape to shape

// M of the anchors, column by column.
static void turn_anchors(hk_warp *w)
{
    const double *attached = w->precondition->attached;
    for (int column = 0; column < 3; column++) {
        for (int64_t i = 0; i < 4 * (int64_t)w->vertex_count; i++) w->u0[i] = i % 4 == column;
        hk_rest_tets_spin(w->tets, w->u0, w->right);
        for (int k = 0; k < w->anchor_count; k++) {
            anchor *a = &w->anchors[k];
            for (int i = 0; i < 3; i++)
                a->turn[3 * i + column] =
                    w->right[4 * (int64_t)a->vertex + i] / w->tets->volume[a->vertex];
        }
    }
    for (int k = 0; k < w->anchor_count; k++) {
        int32_t v = w->anchors[k].vertex;
        w->anchors[k].weight = attached && !w->held[v] ? attached[v] : 0;
    }
}

hk_status hk_warp_turn(hk_warp *w)
{
    const hk_inverse *inverse = w->precondition->inverse;
    HK_TRY(hk_rest_tets_turn(w->tets, w->precondition->x0, inverse->x));
    for (int k = 0; k < w->border_count; k++)
        hk_tet_laplacian(inverse->model, w->border[k].tet, w->border[k].weight);
    turn_anchors(w);
    return HK_OK;
}

// ---------------------------------------------------------------- there and back

static void multiply(const double m[9], const double *v, double result[3])
{
    for (int i = 0; i < 3; i++)
        result[i] = m[3 * i] * v[0] + m[3 * i + 1] * v[1] + m[3 * i + 2] * v[2];
}

static void multiply_transposed(const double m[9], const double *v, double result[3])
{
    for (int i = 0; i < 3; i++) result[i] = m[i] * v[0] + m[3 + i] * v[1] + m[6 + i] * v[2];
}

// to += d M from at attached vertices, or d Mᵀ from.
static void add_attached(const hk_warp *w, const double *from, bool back, double *to)
{
    for (int k = 0; k < w->anchor_count; k++) {
        const anchor *a = &w->anchors[k];
        double turned[3];
        if (a->weight == 0) continue;
        (back ? multiply_transposed : multiply)(a->turn, from + 4 * (int64_t)a->vertex, turned);
        for (int i = 0; i < 3; i++) to[4 * (int64_t)a->vertex + i] += a->weight * turned[i];
    }
}

// to −= L from between held and free vertices: from those of the one kind to those of the other.
static void subtract_border(const hk_warp *w, const double *from, bool from_held, double *to)
{
    for (int k = 0; k < w->border_count; k++) {
        const border_tet *t = &w->border[k];
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++) {
                bool reaches = (w->held[t->vertex[b]] != 0) == from_held &&
                               (w->held[t->vertex[a]] != 0) != from_held;
                for (int i = 0; i < 3 && reaches; i++)
                    to[4 * (int64_t)t->vertex[a] + i] -=
                        t->weight[a][b] * from[4 * (int64_t)t->vertex[b] + i];
            }
    }
}

static void divide_by_volume(const hk_warp *w, double *vector)
{
    for (int k = 0; k < w->vertex_count; k++) {
        double volume = w->tets->volume[k], scale = volume > 0 ? 1 / volume : 0;
        for (int i = 0; i < 4; i++) vector[4 * (int64_t)k + i] *= scale;
    }
}

// L w = Σ v (R ∇₀w₀ Rᵀ) ∇N, w = M w₀ at held vertices.
static void integrate_whirl(hk_warp *w)
{
    hk_rest_tets_warp(w->tets, w->whirl0, NULL, NULL, w->right);
    add_attached(w, w->whirl0, false, w->right);
    memset(w->whirl, 0, 4 * sizeof(double) * (size_t)w->vertex_count);
    for (int k = 0; k < w->anchor_count; k++) {
        int64_t at = 4 * (int64_t)w->anchors[k].vertex;
        if (w->held[at / 4]) multiply(w->anchors[k].turn, w->whirl0 + at, w->whirl + at);
    }
    subtract_border(w, w->whirl, true, w->right);
    hk_precondition_laplacian(w->precondition, w->right, w->right);
    for (int64_t i = 0; i < 4 * (int64_t)w->vertex_count; i++) w->whirl[i] += w->right[i];
}

void hk_warp_forward(hk_warp *w, const double *u0, double *u)
{
    hk_rest_tets_whirl(w->tets, u0, w->whirl0);
    divide_by_volume(w, w->whirl0);
    integrate_whirl(w);
    hk_rest_tets_warp(w->tets, u0, w->whirl0, w->whirl, w->right);
    add_attached(w, u0, false, w->right);
    hk_precondition_laplacian(w->precondition, w->right, u);
}

void hk_warp_back(hk_warp *w, const double *f, double *f0)
{
    double *y = w->first, *Q = w->whirl, *z = w->right, *Z = w->whirl0;
    hk_precondition_laplacian(w->precondition, f, y);
    hk_rest_tets_twist(w->tets, y, Q);
    hk_precondition_laplacian(w->precondition, Q, z);
    hk_rest_tets_unwarp(w->tets, z, y, NULL, Z);
    add_attached(w, z, true, Z);
    subtract_border(w, z, false, Q);
    for (int k = 0; k < w->anchor_count; k++) {
        int64_t at = 4 * (int64_t)w->anchors[k].vertex;
        double turned[3];
        if (!w->held[at / 4]) continue;
        multiply_transposed(w->anchors[k].turn, Q + at, turned);
        for (int i = 0; i < 3; i++) Z[at + i] += turned[i];
    }
    divide_by_volume(w, Z);
    hk_rest_tets_unwarp(w->tets, y, NULL, Z, f0);
    add_attached(w, y, true, f0);
}
