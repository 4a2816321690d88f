// Where a segment passes through the triangles of a soup.
#include <math.h>

#include "mesh/winding_tree.h"

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

// How far beyond its ends, and beyond the edges of a triangle, a segment is still taken to pass:
// what passes through the edge between two triangles must not slip through.
static const double SLACK = 1e-9;

static bool meets_box(const hk_winding_box *box, const double p[3], const double d[3])
{
    double from = -SLACK, to = 1 + SLACK;
    for (int i = 0; i < 3; i++) {
        double x = dot(box->axes[i], p), v = dot(box->axes[i], d);
        double low = box->low[i] - x, high = box->high[i] - x;
        if (fabs(v) < 1e-300) {
            if (low > 0 || high < 0) return false;
            continue;
        }
        double a = low / v, b = high / v;
        from = fmax(from, fmin(a, b));
        to = fmin(to, fmax(a, b));
    }
    return from <= to + SLACK;
}

// Möller & Trumbore 1997.
static bool meets_triangle(const double *c, const double p[3], const double d[3], double *at)
{
    double e[3], f[3], s[3], h[3], k[3];
    for (int i = 0; i < 3; i++) {
        e[i] = c[3 + i] - c[i];
        f[i] = c[6 + i] - c[i];
        s[i] = p[i] - c[i];
    }
    cross(d, f, h);
    double det = dot(e, h);
    if (!(fabs(det) > 1e-300)) return false;
    double u = dot(s, h) / det;
    if (!(u >= -SLACK && u <= 1 + SLACK)) return false;
    cross(s, e, k);
    double v = dot(d, k) / det;
    if (!(v >= -SLACK && u + v <= 1 + SLACK)) return false;
    *at = dot(f, k) / det;
    return *at >= -SLACK && *at <= 1 + SLACK;
}

int hk_winding_crossings(const hk_winding_tree *tree, const double from[3], const double to[3],
                         double *at, int room)
{
    double p[3], q[3], d[3], here;
    int stack[64], top = 0, count = 0;
    hk_winding_to_frame(tree, from, p);
    hk_winding_to_frame(tree, to, q);
    for (int i = 0; i < 3; i++) d[i] = q[i] - p[i];
    stack[top++] = 1;
    while (top > 0) {
        int node = stack[--top];
        if (!meets_box(&tree->boxes[node], p, d)) continue;
        if (!hk_winding_is_leaf(tree, node)) {
            stack[top++] = 2 * node + 1;
            stack[top++] = 2 * node;
            continue;
        }
        int i = node - (1 << tree->depth), end = hk_winding_first(tree, tree->depth, i + 1);
        for (int t = hk_winding_first(tree, tree->depth, i); t < end; t++) {
            if (!meets_triangle(tree->corners + 9 * (size_t)t, p, d, &here)) continue;
            if (count < room) at[count] = fmin(fmax(here, 0), 1);
            count++;
        }
    }
    return count;
}
