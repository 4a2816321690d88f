// The tree over a soup of triangles, and the nearest of them.
#include "mesh/winding_tree.h"

#include <math.h>

#include "core/vector.h"
#include "mesh/mesh.h"
#include "mesh/sort.h"

enum { LEAF = 4 };  // triangles of a leaf, at most

// ---------------------------------------------------------------- sorting

// A number that orders as the float does.
static uint64_t key_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 31 ? (uint32_t)~bits : bits | 0x80000000u;
}

static double centroid(const double *corners, int axis)
{
    return (corners[axis] + corners[3 + axis] + corners[6 + axis]) / 3;
}

// Sorts the triangles of a node along the axis in which their centroids lie farthest apart, so that
// its children halve them there.
static void sort_node(const double *corners, int first, int end, hk_keyed *order, hk_keyed *scratch)
{
    double low[3], high[3];
    int axis = 0;
    for (int i = 0; i < 3; i++) {
        low[i] = INFINITY;
        high[i] = -INFINITY;
        for (int t = first; t < end; t++) {
            double x = centroid(corners + 9 * order[t].item, i);
            low[i] = fmin(low[i], x);
            high[i] = fmax(high[i], x);
        }
        if (high[i] - low[i] > high[axis] - low[axis]) axis = i;
    }
    for (int t = first; t < end; t++)
        order[t].key = key_of((float)centroid(corners + 9 * order[t].item, axis));
    hk_sort_keyed(order + first, scratch + first, (size_t)(end - first));
}

static void sort_triangles(const hk_winding_tree *tree, const double *corners, hk_keyed *order,
                           hk_keyed *scratch, int threads)
{
    for (int t = 0; t < tree->count; t++) order[t].item = t;
    for (int level = 0; level < tree->depth; level++) {
        int nodes = 1 << level;
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads) if (nodes > 1)
        for (int i = 0; i < nodes; i++)
            sort_node(corners, hk_winding_first(tree, level, i),
                      hk_winding_first(tree, level, i + 1), order, scratch);
    }
}

// ---------------------------------------------------------------- building

static hk_status check_input(int vertex_count, const double *positions, int triangle_count,
                             const int32_t *triangles)
{
    if (triangle_count <= 0) return hk_fail(HK_BAD_INPUT, "the surface has no triangles");
    for (int64_t k = 0; k < 3 * (int64_t)triangle_count; k++) {
        int32_t v = triangles[k];
        if (v < 0 || v >= vertex_count)
            return hk_fail(HK_BAD_INPUT, "triangle %lld: vertex %d does not exist",
                           (long long)(k / 3), v);
        if (!hk_is_finite3(positions + 3 * (size_t)v))
            return hk_fail(HK_BAD_INPUT, "triangle %lld: vertex %d is not finite",
                           (long long)(k / 3), v);
    }
    return HK_OK;
}

// The frame has its origin in the middle of the surface; its scale is a power of two, which costs
// no digits.
static hk_status find_frame(const double *positions, const int32_t *triangles,
                            hk_winding_tree *tree)
{
    hk_winding_totals *totals = &tree->totals;
    double extent = 0;
    for (int i = 0; i < 3; i++) {
        totals->low[i] = INFINITY;
        totals->high[i] = -INFINITY;
    }
    for (int64_t k = 0; k < 3 * (int64_t)tree->count; k++)
        for (int i = 0; i < 3; i++) {
            double x = positions[3 * (size_t)triangles[k] + (size_t)i];
            totals->low[i] = fmin(totals->low[i], x);
            totals->high[i] = fmax(totals->high[i], x);
        }
    for (int i = 0; i < 3; i++) {
        tree->origin[i] = totals->low[i] / 2 + totals->high[i] / 2;
        extent = fmax(extent, totals->high[i] - totals->low[i]);
    }
    if (!(extent < 1e100 && (extent == 0 || extent > 1e-100)))
        return hk_fail(HK_BAD_INPUT, "a surface of %g m is beyond the range of numbers", extent);
    tree->scale = extent > 0 ? exp2(-ceil(log2(extent))) : 1;
    return HK_OK;
}

static hk_status allocate(hk_winding_tree *tree)
{
    while ((tree->count >> tree->depth) >= LEAF) tree->depth++;
    size_t nodes = (size_t)2 << tree->depth;
    tree->corners = HK_ARRAY(double, 9 * (size_t)tree->count);
    tree->number = HK_ARRAY(int32_t, tree->count);
    tree->boxes = HK_ARRAY(hk_winding_box, nodes);
    tree->clusters = HK_ARRAY(hk_cluster, nodes);
    return tree->corners && tree->number && tree->boxes && tree->clusters ? HK_OK : HK_NO_MEMORY;
}

static hk_status take_triangles(const double *positions, const int32_t *triangles,
                                hk_winding_tree *tree, int threads)
{
    double *corners = HK_ARRAY(double, 9 * (size_t)tree->count);
    hk_keyed *order = HK_ARRAY(hk_keyed, tree->count);
    hk_keyed *scratch = HK_ARRAY(hk_keyed, tree->count);
    hk_status status = corners && order && scratch ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        for (int64_t k = 0; k < 3 * (int64_t)tree->count; k++)
            hk_winding_to_frame(tree, positions + 3 * (size_t)triangles[k], corners + 3 * k);
        sort_triangles(tree, corners, order, scratch, threads);
        for (int t = 0; t < tree->count; t++) {
            tree->number[t] = (int32_t)order[t].item;
            memcpy(tree->corners + 9 * (size_t)t, corners + 9 * order[t].item, 9 * sizeof(double));
        }
    }
    hk_free(corners);
    hk_free(order);
    hk_free(scratch);
    return status;
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double to[3])
{
    to[0] = a[1] * b[2] - a[2] * b[1];
    to[1] = a[2] * b[0] - a[0] * b[2];
    to[2] = a[0] * b[1] - a[1] * b[0];
}

// Those of the frame where the triangles of the cluster face in all directions.
static void choose_axes(const hk_cluster *cluster, double axes[3][3])
{
    const double *n = cluster->dipole;
    double helper[3] = {0}, area = sqrt(dot(n, n));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) axes[i][j] = i == j;
    if (!(area > 0.5 * cluster->area) || !hk_unit3(n, axes[2])) return;
    // Across the axis that it is farthest from.
    const double *u = axes[2];
    int least = fabs(u[0]) < fabs(u[1]) ? 0 : 1;
    if (fabs(u[2]) < fabs(u[least])) least = 2;
    helper[least] = 1;
    cross(helper, u, axes[1]);
    hk_unit3(axes[1], axes[1]);
    cross(axes[1], u, axes[0]);
}

static void find_box(const hk_winding_tree *tree, int first, int end, const hk_cluster *cluster,
                     hk_winding_box *box)
{
    choose_axes(cluster, box->axes);
    for (int i = 0; i < 3; i++) {
        double low = INFINITY, high = -INFINITY;
        for (int c = 3 * first; c < 3 * end; c++) {
            double x = dot(box->axes[i], tree->corners + 3 * (size_t)c);
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        // More than rounding in a frame of size 1 can make of it.
        box->low[i] = low - 1e-15;
        box->high[i] = high + 1e-15;
    }
}

static void find_boxes(hk_winding_tree *tree, int threads)
{
    for (int level = 0; level <= tree->depth; level++) {
        int nodes = 1 << level;
#pragma omp parallel for schedule(static) num_threads(threads) if (nodes > 1)
        for (int i = 0; i < nodes; i++)
            find_box(tree, hk_winding_first(tree, level, i), hk_winding_first(tree, level, i + 1),
                     &tree->clusters[nodes + i], &tree->boxes[nodes + i]);
    }
}

// The signed volume is that of the tets over the triangles with the centroid as their fourth
// corner.
static void find_totals(hk_winding_tree *tree)
{
    double area = 0, volume6 = 0, metre = 1 / tree->scale;
    for (int t = 0; t < tree->count; t++) {
        const double *c = tree->corners + 9 * (size_t)t;
        double here = hk_triangle_area(c, c + 3, c + 6);
        area += here;
        tree->totals.flat += here == 0;
        volume6 += hk_tet_volume6(tree->clusters[1].centre, c, c + 3, c + 6);
    }
    // What rounding leaves of a flat surface has no sign.
    if (fabs(volume6) < 1e-12 * area) volume6 = 0;
    tree->totals.area = area * metre * metre;
    tree->totals.volume = volume6 / 6 * metre * metre * metre;
}

static hk_status build(const double *positions, const int32_t *triangles, int threads,
                       hk_winding_tree *tree)
{
    HK_TRY(find_frame(positions, triangles, tree));
    HK_TRY(allocate(tree));
    HK_TRY(take_triangles(positions, triangles, tree, threads));
    hk_winding_find_moments(tree, threads);
    find_boxes(tree, threads);
    find_totals(tree);
    return HK_OK;
}

hk_status hk_winding_tree_create(int vertex_count, const double *positions, int triangle_count,
                                 const int32_t *triangles, int threads, hk_winding_tree **tree)
{
    HK_TRY(check_input(vertex_count, positions, triangle_count, triangles));
    hk_winding_tree *t = HK_NEW(hk_winding_tree);
    if (!t) return HK_NO_MEMORY;
    t->count = triangle_count;
    hk_status status = build(positions, triangles, threads > 0 ? threads : 1, t);
    if (status != HK_OK) {
        hk_winding_tree_free(t);
        return status;
    }
    *tree = t;
    return HK_OK;
}

void hk_winding_tree_free(hk_winding_tree *tree)
{
    if (!tree) return;
    hk_free(tree->corners);
    hk_free(tree->number);
    hk_free(tree->boxes);
    hk_free(tree->clusters);
    hk_free(tree);
}

const hk_winding_totals *hk_winding_tree_totals(const hk_winding_tree *tree)
{
    return &tree->totals;
}

// ---------------------------------------------------------------- nearest

// The point of the edge from a along e that is nearest to q = a + d, relative to a, if it is nearer
// than *square.
static void try_edge(const double a[3], const double e[3], const double d[3], double *square,
                     double point[3])
{
    double along = dot(d, e), length = dot(e, e), r[3];
    double t = !(along > 0) || !(length > 0) ? 0 : along >= length ? 1 : along / length;
    for (int i = 0; i < 3; i++) r[i] = d[i] - t * e[i];
    double here = dot(r, r);
    if (!(here < *square)) return;
    *square = here;
    for (int i = 0; i < 3; i++) point[i] = a[i] + t * e[i];
}

// Sets *square and point if the triangle is nearer than *square. (src/contact/closest.h has the
// same with its derivatives, which would cost five times as much.)
static void try_triangle(const double q[3], const double *c, double *square, double point[3])
{
    double e[3], f[3], g[3], d[3], k[3], n[3], m[3];
    for (int i = 0; i < 3; i++) {
        e[i] = c[3 + i] - c[i];
        f[i] = c[6 + i] - c[i];
        d[i] = q[i] - c[i];
    }
    cross(e, f, n);
    double area = dot(n, n), height = dot(d, n);
    if (height * height > *square * area) return;  // its plane is farther
    // A triangle as thin as rounding has no inside that could be told.
    if (area > 1e-24 * dot(e, e) * dot(f, f)) {
        cross(d, f, m);
        double v = dot(m, n);
        cross(e, d, m);
        double w = dot(m, n);
        if (v >= 0 && w >= 0 && v + w <= area) {
            double here = height * height / area;
            if (!(here < *square)) return;
            *square = here;
            for (int i = 0; i < 3; i++) point[i] = q[i] - height / area * n[i];
            return;
        }
    }
    for (int i = 0; i < 3; i++) {
        g[i] = f[i] - e[i];
        k[i] = d[i] - e[i];
    }
    try_edge(c, e, d, square, point);
    try_edge(c, f, d, square, point);
    try_edge(c + 3, g, k, square, point);
}

static double box_square(const hk_winding_box *box, const double q[3])
{
    double square = 0;
    for (int i = 0; i < 3; i++) {
        double x = dot(box->axes[i], q), below = box->low[i] - x, above = x - box->high[i];
        double out = below > above ? below : above;
        out = out > 0 ? out : 0;  // fmax would be a call
        square += out * out;
    }
    return square;
}

typedef struct waiting {
    int node;
    double square;
} waiting;

static int push_children(const hk_winding_tree *tree, int node, const double q[3], double least,
                         waiting *stack, int top)
{
    waiting a = {2 * node, box_square(&tree->boxes[2 * node], q)};
    waiting b = {2 * node + 1, box_square(&tree->boxes[2 * node + 1], q)};
    waiting near = b.square < a.square ? b : a, far = b.square < a.square ? a : b;
    if (far.square < least) stack[top++] = far;
    if (near.square < least) stack[top++] = near;
    return top;
}

// Tries the triangles from `first` to `end`; those that are nearest so far are told by `place`.
static void try_triangles(const hk_winding_tree *tree, int first, int end, const double q[3],
                          double *square, double at[3], int *place)
{
    for (int t = first; t < end; t++) {
        double before = *square;
        try_triangle(q, tree->corners + 9 * (size_t)t, square, at);
        if (*square < before) *place = t;
    }
}

hk_nearest hk_winding_nearest(const hk_winding_tree *tree, const double point[3], double within,
                              const hk_nearest *hint)
{
    hk_nearest found = {INFINITY, -1, {0, 0, 0}, -1};
    double q[3], at[3] = {0};
    hk_winding_to_frame(tree, point, q);
    // A little farther, so that what lies just at the limit is found.
    double reach = within * tree->scale * (1 + 1e-12), square = reach * reach + 1e-300;
    if (hint && hint->triangle >= 0)
        try_triangles(tree, hint->place, hint->place + 1, q, &square, at, &found.place);
    waiting stack[64];
    int top = 0;
    stack[top++] = (waiting){1, 0};
    while (top > 0) {
        waiting next = stack[--top];
        if (!(next.square < square)) continue;
        if (!hk_winding_is_leaf(tree, next.node)) {
            top = push_children(tree, next.node, q, square, stack, top);
            continue;
        }
        int i = next.node - (1 << tree->depth);
        try_triangles(tree, hk_winding_first(tree, tree->depth, i),
                      hk_winding_first(tree, tree->depth, i + 1), q, &square, at, &found.place);
    }
    if (found.place < 0) return found;
    found.triangle = tree->number[found.place];
    found.distance = sqrt(square) / tree->scale;
    for (int i = 0; i < 3; i++) found.point[i] = at[i] / tree->scale + tree->origin[i];
    return found;
}
