// Surfaces of obstacles. All are built as meshes, which know how to be transformed.
#include "contact/obstacle_shape.h"

#include <math.h>

#include "mesh/facets.h"
#include "mesh/mesh.h"

enum { STANDARD_SIDES = 64, MOST_SIDES = 4096 };

// ---------------------------------------------------------------- checks

static hk_status check_positive(const char *field, double value)
{
    if (isfinite(value) && value > 0) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "its %s must be greater than 0 (is %g m)", field, value);
}

static hk_status check_point(const char *field, const double value[3])
{
    if (hk_is_finite3(value)) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "its %s is not finite", field);
}

// ---------------------------------------------------------------- building

static double *at_vertex(hk_mesh *mesh, int vertex)
{
    return mesh->positions + 3 * (size_t)vertex;
}

// Unit vectors u and v such that u, v, n are right-handed; u is along x as nearly as n allows, or
// along y where n is within 26° of x.
static void make_frame(const double n[3], double u[3], double v[3])
{
    int axis = fabs(n[0]) > 0.9 ? 1 : 0;
    double across[3];
    for (int i = 0; i < 3; i++) across[i] = (i == axis) - n[axis] * n[i];
    hk_unit3(across, u);
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        v[i] = n[j] * u[k] - n[k] * u[j];
    }
}

static hk_status set_edges(hk_obstacle *o, int count)
{
    o->edges = HK_ARRAY(int32_t, 2 * (size_t)count);
    return o->edges ? HK_OK : HK_NO_MEMORY;
}

static void add_edge(hk_obstacle *o, int a, int b)
{
    int32_t *edge = o->edges + 2 * (size_t)o->edge_count++;
    edge[0] = hk_min_int(a, b);
    edge[1] = hk_max_int(a, b);
}

static int32_t *add_triangle(int32_t *to, int a, int b, int c)
{
    to[0] = a;
    to[1] = b;
    to[2] = c;
    return to + 3;
}

// The parallelepiped from a corner along three right-handed sides; corner k has side i where bit i
// of k is set.
static hk_status make_hexahedron(const double corner[3], double sides[3][3], hk_obstacle *o,
                                 hk_mesh **mesh)
{
    static const int faces[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                    {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    HK_TRY(set_edges(o, 12));
    HK_TRY(hk_mesh_new(8, 0, 12, mesh));
    for (int k = 0; k < 8; k++)
        for (int i = 0; i < 3; i++) {
            double place = corner[i];
            for (int s = 0; s < 3; s++) place += k >> s & 1 ? sides[s][i] : 0;
            at_vertex(*mesh, k)[i] = place;
        }
    int32_t *triangles = (*mesh)->triangles;
    for (int f = 0; f < 6; f++) {
        triangles = add_triangle(triangles, faces[f][0], faces[f][1], faces[f][2]);
        triangles = add_triangle(triangles, faces[f][0], faces[f][2], faces[f][3]);
    }
    for (int k = 0; k < 8; k++)
        for (int s = 0; s < 3; s++)
            if (!(k >> s & 1)) add_edge(o, k, k | 1 << s);
    return HK_OK;
}

// ---------------------------------------------------------------- shapes

// Two vertices, from the point along the normal: what becomes of them tells what becomes of both.
static hk_status make_plane(const hk_obstacle_def *def, hk_obstacle *o, hk_mesh **mesh)
{
    HK_TRY(check_point("point", def->point));
    if (!hk_unit3(def->normal, o->normal))
        return hk_fail(HK_BAD_INPUT, "its normal has no direction (%g, %g, %g)", def->normal[0],
                       def->normal[1], def->normal[2]);
    HK_TRY(hk_mesh_new(2, 0, 0, mesh));
    for (int i = 0; i < 3; i++) {
        at_vertex(*mesh, 0)[i] = def->point[i];
        at_vertex(*mesh, 1)[i] = o->normal[i];
    }
    return HK_OK;
}

static hk_status make_box(const hk_obstacle_def *def, hk_obstacle *o, hk_mesh **mesh)
{
    double sides[3][3] = {{0}};
    HK_TRY(check_point("min", def->min));
    HK_TRY(check_point("max", def->max));
    for (int i = 0; i < 3; i++) {
        if (!(def->max[i] > def->min[i]))
            return hk_fail(HK_BAD_INPUT, "its max[%d] must be greater than its min[%d] (%g and %g)",
                           i, i, def->max[i], def->min[i]);
        sides[i][i] = def->max[i] - def->min[i];
    }
    HK_TRY(make_hexahedron(def->min, sides, o, mesh));
    for (int k = 0; k < 8; k++)  // without the rounding of min + (max − min)
        for (int i = 0; i < 3; i++) at_vertex(*mesh, k)[i] = k >> i & 1 ? def->max[i] : def->min[i];
    return HK_OK;
}

static hk_status make_plate(const hk_obstacle_def *def, hk_obstacle *o, hk_mesh **mesh)
{
    double n[3], corner[3], sides[3][3];
    HK_TRY(check_point("point", def->point));
    HK_TRY(check_positive("size[0]", def->size[0]));
    HK_TRY(check_positive("size[1]", def->size[1]));
    HK_TRY(check_positive("thickness", def->thickness));
    if (!hk_unit3(def->normal, n))
        return hk_fail(HK_BAD_INPUT, "its normal has no direction (%g, %g, %g)", def->normal[0],
                       def->normal[1], def->normal[2]);
    make_frame(n, sides[0], sides[1]);
    for (int i = 0; i < 3; i++) {
        sides[0][i] *= def->size[0];
        sides[1][i] *= def->size[1];
        sides[2][i] = def->thickness * n[i];
        corner[i] = def->point[i] - sides[0][i] / 2 - sides[1][i] / 2 - sides[2][i];
    }
    return make_hexahedron(corner, sides, o, mesh);
}

static hk_status make_sphere(const hk_obstacle_def *def, hk_obstacle *o, hk_mesh **mesh)
{
    HK_TRY(check_point("center", def->center));
    HK_TRY(check_positive("radius", def->radius));
    HK_TRY(hk_mesh_new(1, 0, 0, mesh));
    memcpy(at_vertex(*mesh, 0), def->center, sizeof def->center);
    o->radius = def->radius;
    return HK_OK;
}

// The unit vector from one end to the other, and how far that is.
static hk_status measure_axis(const hk_obstacle_def *def, double along[3], double *length)
{
    HK_TRY(check_point("from", def->from));
    HK_TRY(check_point("to", def->to));
    HK_TRY(check_positive("radius", def->radius));
    double d[3] = {def->to[0] - def->from[0], def->to[1] - def->from[1], def->to[2] - def->from[2]};
    if (!hk_unit3(d, along))
        return hk_fail(HK_BAD_INPUT, "its ends `from` and `to` are the same point");
    *length = d[0] * along[0] + d[1] * along[1] + d[2] * along[2];
    return HK_OK;
}

static hk_status make_capsule(const hk_obstacle_def *def, hk_obstacle *o, hk_mesh **mesh)
{
    double along[3], length;
    HK_TRY(measure_axis(def, along, &length));
    HK_TRY(set_edges(o, 1));
    HK_TRY(hk_mesh_new(2, 0, 0, mesh));
    memcpy(at_vertex(*mesh, 0), def->from, sizeof def->from);
    memcpy(at_vertex(*mesh, 1), def->to, sizeof def->to);
    add_edge(o, 0, 1);
    o->radius = def->radius;
    return HK_OK;
}

// A polygon of n corners from `first` on, in a zigzag of n − 2 triangles; outward to the side from
// which its corners go round counter-clockwise, or the other.
static int32_t *cover_end(int32_t *to, int first, int n, bool clockwise)
{
    int low = 0, high = n - 1;
    while (high - low >= 2) {
        int a = first + low, b = first + low + 1, c = first + high;
        to = clockwise ? add_triangle(to, a, c, b) : add_triangle(to, a, b, c);
        low++;
        if (high - low < 2) break;
        a = first + low, b = first + high - 1, c = first + high;
        to = clockwise ? add_triangle(to, a, c, b) : add_triangle(to, a, b, c);
        high--;
    }
    return to;
}

// A prism: vertex k of the end `from` is at angle 360° k/n, vertex n + k that of the other end.
static hk_status make_cylinder(const hk_obstacle_def *def, hk_obstacle *o, hk_mesh **mesh)
{
    double along[3], u[3], v[3], length;
    int n = def->sides == 0 ? STANDARD_SIDES : def->sides;
    HK_TRY(measure_axis(def, along, &length));
    if (n < 3 || n > MOST_SIDES)
        return hk_fail(HK_BAD_INPUT, "its sides must be 3 to %d (is %d)", MOST_SIDES, n);
    make_frame(along, u, v);
    HK_TRY(set_edges(o, 3 * n));
    HK_TRY(hk_mesh_new(2 * n, 0, 2 * n + 2 * (n - 2), mesh));
    for (int k = 0; k < n; k++) {
        double angle = 2 * M_PI * k / n, c = def->radius * cos(angle), s = def->radius * sin(angle);
        for (int i = 0; i < 3; i++) {
            at_vertex(*mesh, k)[i] = def->from[i] + c * u[i] + s * v[i];
            at_vertex(*mesh, n + k)[i] = def->to[i] + c * u[i] + s * v[i];
        }
    }
    int32_t *triangles = (*mesh)->triangles;
    for (int k = 0; k < n; k++) {
        int next = (k + 1) % n;
        triangles = add_triangle(triangles, k, next, n + next);
        triangles = add_triangle(triangles, k, n + next, n + k);
        add_edge(o, k, next);
        add_edge(o, n + k, n + next);
        add_edge(o, k, n + k);
    }
    triangles = cover_end(triangles, 0, n, true);
    cover_end(triangles, n, n, false);
    return HK_OK;
}

// ---------------------------------------------------------------- meshes

// The triangles of the surface and their vertices, without what belongs to none.
static hk_status take_surface(hk_mesh *whole, hk_mesh **mesh)
{
    int count, used = 0;
    const int32_t *triangles;
    HK_TRY(hk_mesh_surface(whole, &count, &triangles, NULL));
    if (count == 0) return hk_fail(HK_BAD_INPUT, "its mesh has no triangles");
    for (int t = 0; t < count; t++) {
        const int32_t *c = triangles + 3 * (size_t)t;
        if (c[0] == c[1] || c[1] == c[2] || c[2] == c[0])
            return hk_fail(HK_BAD_INPUT,
                           "triangle %d of its mesh has a vertex twice (%d %d %d): `hooke mesh "
                           "check` lists all of them",
                           t, c[0], c[1], c[2]);
    }
    int32_t *number = HK_ARRAY(int32_t, whole->vertex_count);
    if (!number) return HK_NO_MEMORY;
    for (int v = 0; v < whole->vertex_count; v++) number[v] = -1;
    for (int64_t k = 0; k < 3 * (int64_t)count; k++) number[triangles[k]] = 0;
    for (int v = 0; v < whole->vertex_count; v++)
        if (number[v] == 0) number[v] = used++;
    hk_status status = hk_mesh_new(used, 0, count, mesh);
    for (int v = 0; v < whole->vertex_count && status == HK_OK; v++)
        if (number[v] >= 0)
            memcpy(at_vertex(*mesh, number[v]), at_vertex(whole, v), 3 * sizeof(double));
    for (int64_t k = 0; k < 3 * (int64_t)count && status == HK_OK; k++)
        (*mesh)->triangles[k] = number[triangles[k]];
    hk_free(number);
    return status;
}

static void take_edge(void *context, int32_t low, const hk_keyed *run, size_t count)
{
    (void)count;
    add_edge(context, low, (int)(run[0].key & INT32_MAX));
}

static hk_status make_mesh(const hk_obstacle_def *def, hk_obstacle *o, hk_mesh **mesh)
{
    hk_mesh *whole;
    if (!def->mesh) return hk_fail(HK_BAD_INPUT, "it has no mesh");
    HK_TRY(hk_mesh_copy(def->mesh, &whole));
    hk_status status = take_surface(whole, mesh);
    hk_mesh_free(whole);
    HK_TRY(status);
    int64_t facets = 3 * (int64_t)(*mesh)->triangle_count;
    o->edges = HK_ARRAY(int32_t, 2 * (size_t)facets);
    if (!o->edges) return HK_NO_MEMORY;
    return hk_visit_facets((*mesh)->vertex_count, facets, (*mesh)->triangles, hk_triangle_edge,
                           take_edge, o);
}

// ---------------------------------------------------------------- the whole

typedef hk_status make_fn(const hk_obstacle_def *def, hk_obstacle *o, hk_mesh **mesh);

static const struct {
    const char *name;
    make_fn *make;
} g_shapes[] = {
    [HK_OBSTACLE_PLANE] = {"plane", make_plane},
    [HK_OBSTACLE_BOX] = {"box", make_box},
    [HK_OBSTACLE_SPHERE] = {"sphere", make_sphere},
    [HK_OBSTACLE_CAPSULE] = {"capsule", make_capsule},
    [HK_OBSTACLE_CYLINDER] = {"cylinder", make_cylinder},
    [HK_OBSTACLE_PLATE] = {"plate", make_plate},
    [HK_OBSTACLE_MESH] = {"mesh", make_mesh},
};

const char *hk_obstacle_shape_name(hk_obstacle_shape shape)
{
    return (unsigned)shape < (unsigned)HK_COUNT_OF(g_shapes) ? g_shapes[shape].name : NULL;
}

// A plane's normal turns, and does not shrink.
static hk_status place_plane(const hk_transform *transform, hk_mesh *mesh, hk_obstacle *o)
{
    hk_transform turn = *transform;
    memcpy(o->point, at_vertex(mesh, 0), sizeof o->point);
    turn.scale = copysign(1, transform->scale);
    memset(turn.translate, 0, sizeof turn.translate);
    memcpy(at_vertex(mesh, 1), o->normal, sizeof o->normal);
    HK_TRY(hk_mesh_transform(mesh, &turn));
    hk_unit3(at_vertex(mesh, 1), o->normal);
    return HK_OK;
}

static hk_status finish(const hk_obstacle_def *def, hk_mesh *mesh, hk_obstacle *o)
{
    HK_TRY(hk_mesh_transform(mesh, &def->transform));
    o->radius *= fabs(def->transform.scale);
    if (o->shape == HK_OBSTACLE_PLANE) return place_plane(&def->transform, mesh, o);
    o->vertex_count = mesh->vertex_count;
    o->triangle_count = mesh->triangle_count;
    o->rest = mesh->positions;
    o->triangles = mesh->triangles;
    mesh->positions = NULL;
    mesh->triangles = NULL;
    return HK_OK;
}

hk_status hk_obstacle_shape_take(const hk_obstacle_def *def, hk_obstacle *o)
{
    hk_mesh *mesh = NULL;
    if (!hk_obstacle_shape_name(def->shape))
        return hk_fail(HK_BAD_INPUT, "there is no shape %d of obstacles", (int)def->shape);
    o->shape = def->shape;
    hk_status status = g_shapes[def->shape].make(def, o, &mesh);
    if (status == HK_OK) status = finish(def, mesh, o);
    hk_mesh_free(mesh);
    return status;
}
