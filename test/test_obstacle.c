// Obstacles: their surfaces, and where they are at a time.
#include "bodies.h"

#include "contact/obstacle.h"
#include "core/rotation.h"
#include "failing_alloc.h"

static const double pi = 3.14159265358979323846;

static hk_obstacle take(const hk_obstacle_def *def)
{
    hk_obstacle o;
    CHECK_OK(hk_obstacle_take(def, &o));
    return o;
}

static hk_obstacle_def of_shape(hk_obstacle_shape shape)
{
    hk_obstacle_def def = hk_default_obstacle_def();
    def.shape = shape;
    for (int i = 0; i < 3; i++) {
        def.min[i] = -1 - i;
        def.max[i] = 1 + 2 * i;
        def.from[i] = 0.1 * i;
        def.to[i] = 1 - 0.3 * i;
        def.center[i] = i;
        def.normal[i] = i + 1;
        def.point[i] = 0.5 * i;
    }
    def.radius = 0.25;
    def.size[0] = 2;
    def.size[1] = 3;
    def.thickness = 0.1;
    return def;
}

static void set_transform(hk_obstacle_def *def, double scale, double degrees)
{
    const hk_transform t = {scale, {1, 2, -1}, degrees, {3, -4, 5}};
    def->transform = t;
}

static const double *vertex(const hk_obstacle *o, int v)
{
    return o->rest + 3 * (size_t)v;
}

static double distance(const double a[3], const double b[3])
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

// ---------------------------------------------------------------- surfaces

// Six times the volume that outward triangles enclose.
static double enclosed6(const hk_obstacle *o)
{
    double sum = 0;
    for (int t = 0; t < o->triangle_count; t++) {
        const double *p[3];
        for (int k = 0; k < 3; k++) p[k] = vertex(o, o->triangles[3 * t + k]);
        sum += p[0][0] * (p[1][1] * p[2][2] - p[1][2] * p[2][1]) +
               p[0][1] * (p[1][2] * p[2][0] - p[1][0] * p[2][2]) +
               p[0][2] * (p[1][0] * p[2][1] - p[1][1] * p[2][0]);
    }
    return sum;
}

// Every side of a triangle is that of one other, the other way round; `count` of them are edges of
// the obstacle, and all its edges are among them.
static void assert_closed(const hk_obstacle *o, int count)
{
    for (int s = 0; s < 3 * o->triangle_count; s++) {
        int a = o->triangles[s], b = o->triangles[s / 3 * 3 + (s % 3 + 1) % 3], partners = 0;
        for (int r = 0; r < 3 * o->triangle_count; r++)
            partners += o->triangles[r] == b && o->triangles[r / 3 * 3 + (r % 3 + 1) % 3] == a;
        assert_int_equal(partners, 1);
    }
    assert_int_equal(o->edge_count, count);
    for (int e = 0; e < count; e++) {
        const int32_t *edge = o->edges + 2 * e;
        assert_true(edge[0] < edge[1] && edge[1] < o->vertex_count);
        int found = 0;
        for (int s = 0; s < 3 * o->triangle_count; s++)
            found +=
                o->triangles[s] == edge[0] && o->triangles[s / 3 * 3 + (s % 3 + 1) % 3] == edge[1];
        assert_int_equal(found, 1);
        for (int f = 0; f < e; f++)
            assert_false(edge[0] == o->edges[2 * f] && edge[1] == o->edges[2 * f + 1]);
    }
}

static void boxes_and_plates(void **state)
{
    (void)state;
    hk_obstacle_def def = of_shape(HK_OBSTACLE_BOX);
    hk_obstacle o = take(&def);
    assert_true(o.vertex_count == 8 && o.triangle_count == 12 && o.radius == 0);
    assert_closed(&o, 12);
    assert_true(fabs(enclosed6(&o) - 6 * (2.0 * 5 * 8)) < 1e-11);
    assert_memory_equal(vertex(&o, 0), def.min, sizeof def.min);
    assert_memory_equal(vertex(&o, 7), def.max, sizeof def.max);
    hk_obstacle_release(&o);
    for (int side = 0; side < 4; side++) {  // turned, scaled, mirrored: still outward
        set_transform(&def, side & 1 ? -2 : 0.5, 40 * side);
        o = take(&def);
        double scale = fabs(def.transform.scale), volume = 80 * scale * scale * scale;
        assert_true(fabs(enclosed6(&o) / (6 * volume) - 1) < 1e-12);
        hk_obstacle_release(&o);
    }
    static const double normals[4][3] = {{0, 1, 0}, {0, 0, -3}, {1, 0, 0}, {1, 2, 3}};
    for (int k = 0; k < 4; k++) {
        def = of_shape(HK_OBSTACLE_PLATE);
        memcpy(def.normal, normals[k], sizeof def.normal);
        o = take(&def);
        assert_closed(&o, 12);
        assert_true(fabs(enclosed6(&o) / (6 * 0.6) - 1) < 1e-12);
        double n[3], length = sqrt(def.normal[0] * def.normal[0] + def.normal[1] * def.normal[1] +
                                   def.normal[2] * def.normal[2]);
        int on_face = 0;
        for (int i = 0; i < 3; i++) n[i] = def.normal[i] / length;
        for (int v = 0; v < 8; v++) {
            double along = 0;
            for (int i = 0; i < 3; i++) along += n[i] * (vertex(&o, v)[i] - def.point[i]);
            assert_true(fabs(along) < 1e-14 || fabs(along + def.thickness) < 1e-14);
            on_face += fabs(along) < 1e-14;
        }
        assert_int_equal(on_face, 4);
        hk_obstacle_release(&o);
    }
    // Of a level plate the first side is along x.
    def = of_shape(HK_OBSTACLE_PLATE);
    memcpy(def.normal, normals[0], sizeof def.normal);
    o = take(&def);
    assert_true(fabs(vertex(&o, 1)[0] - vertex(&o, 0)[0]) == 2);
    assert_true(fabs(vertex(&o, 2)[2] - vertex(&o, 0)[2]) == 3);
    hk_obstacle_release(&o);
}

static void spheres_capsules_and_cylinders(void **state)
{
    (void)state;
    hk_obstacle_def def = of_shape(HK_OBSTACLE_SPHERE);
    set_transform(&def, 2, 0);
    hk_obstacle o = take(&def);
    assert_true(o.vertex_count == 1 && o.edge_count == 0 && o.triangle_count == 0);
    assert_true(o.radius == 0.5 && o.rest[0] == 3 && o.rest[1] == -2 && o.rest[2] == 9);
    hk_obstacle_release(&o);
    def = of_shape(HK_OBSTACLE_CAPSULE);
    o = take(&def);
    assert_true(o.vertex_count == 2 && o.edge_count == 1 && o.triangle_count == 0);
    assert_true(o.radius == 0.25 && o.edges[0] == 0 && o.edges[1] == 1);
    hk_obstacle_release(&o);
    for (int n = 0; n <= 65; n += n == 0 ? 3 : n < 8 ? 1 : 57) {
        def = of_shape(HK_OBSTACLE_CYLINDER);
        def.sides = n;
        o = take(&def);
        int sides = n == 0 ? 64 : n;
        assert_true(o.vertex_count == 2 * sides && o.triangle_count == 4 * sides - 4);
        assert_closed(&o, 3 * sides);
        double area = 0.5 * sides * sin(2 * pi / sides) * def.radius * def.radius;
        double volume = area * distance(def.from, def.to);
        assert_true(fabs(enclosed6(&o) / (6 * volume) - 1) < 1e-12);
        for (int v = 0; v < 2 * sides; v++)
            assert_true(fabs(distance(vertex(&o, v), v < sides ? def.from : def.to) - def.radius) <
                        1e-14);
        assert_true(o.radius == 0);
        hk_obstacle_release(&o);
    }
}

static void planes(void **state)
{
    (void)state;
    hk_obstacle_def def = hk_default_obstacle_def();
    hk_obstacle o = take(&def);
    assert_true(o.normal[1] == 1 && o.point[1] == 0 && o.vertex_count == 0);
    assert_false(hk_obstacle_moves(&o));
    hk_obstacle_release(&o);
    const double down[3] = {0, 0, -5};
    memcpy(def.normal, down, sizeof down);
    def.point[2] = 1;
    def.transform = (hk_transform){3, {1, 0, 0}, 90, {0, 0, 7}};
    o = take(&def);
    // −z turned by 90° about x is +y; the point (0, 0, 1) goes to (0, −3, 7).
    assert_true(o.normal[0] == 0 && o.normal[1] == 1 && o.normal[2] == 0);
    assert_true(o.point[1] == -3 && o.point[2] == 7);
    hk_obstacle_release(&o);
    def.transform.scale = -3;
    o = take(&def);
    assert_true(o.normal[1] == -1 && o.point[1] == 3);
    hk_obstacle_release(&o);
}

static void meshes(void **state)
{
    (void)state;
    hk_mesh *mesh = box_mesh(1, 2, 3, 3, 3, 3);
    hk_obstacle_def def = of_shape(HK_OBSTACLE_MESH);
    def.mesh = mesh;
    hk_obstacle o = take(&def);
    // 64 vertices, 8 of them inside; Euler: V − E + F = 2.
    assert_true(o.vertex_count == 56 && o.triangle_count == 108);
    assert_closed(&o, 56 + 108 - 2);
    assert_true(fabs(enclosed6(&o) - 36) < 1e-11);
    hk_obstacle_release(&o);
    hk_mesh_free(mesh);
    // A lone triangle, with a vertex that belongs to nothing.
    static const double x[4][3] = {{9, 9, 9}, {0, 0, 0}, {1, 0, 0}, {0, 0, 1}};
    static const int32_t triangles[2][3] = {{1, 3, 2}, {1, 3, 3}};
    CHECK_OK(hk_mesh_from_arrays(4, x[0], 0, NULL, 1, triangles[0], &mesh));
    def.mesh = mesh;
    o = take(&def);
    assert_true(o.vertex_count == 3 && o.edge_count == 3 && o.triangle_count == 1);
    assert_true(o.triangles[0] == 0 && o.triangles[1] == 2 && o.triangles[2] == 1);
    hk_obstacle_release(&o);
    hk_mesh_free(mesh);
    CHECK_OK(hk_mesh_from_arrays(4, x[0], 0, NULL, 2, triangles[0], &mesh));
    def.mesh = mesh;
    assert_int_equal(hk_obstacle_take(&def, &o), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "triangle 1"));
    hk_mesh_free(mesh);
}

// ---------------------------------------------------------------- motion

static hk_placement place(const hk_obstacle *o, double time)
{
    hk_placement at;
    CHECK_OK(hk_obstacle_place(o, time, &at));
    return at;
}

// Where a point comes to.
static void expect_point(const hk_placement *at, double x, double y, double z, double wx, double wy,
                         double wz, double within)
{
    double p[3] = {x, y, z}, wanted[3] = {wx, wy, wz}, to[3];
    hk_placement_apply(at, p, to);
    if (!(distance(to, wanted) <= within))
        fail_msg("(%g, %g, %g) comes to (%.17g, %.17g, %.17g), not (%g, %g, %g)", x, y, z, to[0],
                 to[1], to[2], wx, wy, wz);
}

static void assert_rotation(const hk_placement *at)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double sum = 0;
            for (int k = 0; k < 3; k++) sum += at->rotation[i][k] * at->rotation[j][k];
            assert_true(fabs(sum - (i == j)) < 1e-14);
        }
}

static void moves_follow_each_other(void **state)
{
    (void)state;
    hk_motion_def moves[2] = {{.axis = {0, 0, 2}, .center = {1, 0, 0}, .degrees = 90, .over = 2},
                              {.translate = {0, 0, 4}, .over = 4}};
    hk_obstacle_def def = of_shape(HK_OBSTACLE_BOX);
    def.moves = moves;
    def.move_count = 2;
    hk_obstacle o = take(&def);
    assert_true(hk_obstacle_moves(&o));
    hk_placement at = place(&o, 0);
    expect_point(&at, 1, 2, 3, 1, 2, 3, 0);
    at = place(&o, 2);  // a quarter turn, exactly
    expect_point(&at, 2, 0, 0, 1, 1, 2, 0);
    at = place(&o, 1);
    assert_rotation(&at);
    expect_point(&at, 2, 0, 0, 1 + sqrt(0.5), sqrt(0.5), 1, 1e-15);
    at = place(&o, 100);
    expect_point(&at, 2, 0, 0, 1, 1, 4, 0);
    at = place(&o, -1);
    expect_point(&at, 2, 0, 0, 2, 0, 0, 0);
    // Of a pose, the same part of each.
    CHECK_OK(hk_obstacle_place_at(&o, 0.5, 7, &at));
    expect_point(&at, 1, 0, 0, 1, 0, 2, 0);
    CHECK_OK(hk_obstacle_place_at(&o, 1, 0, &at));
    expect_point(&at, 2, 0, 0, 1, 1, 4, 0);
    // The order matters: a translation before the turn is turned.
    hk_motion_def swapped[2] = {moves[1], moves[0]};
    swapped[0].translate[0] = 1;
    def.moves = swapped;
    hk_obstacle other = take(&def);
    at = place(&other, 4);
    expect_point(&at, 1, 0, 0, 1, 1, 4, 0);
    double x[24];
    hk_obstacle_vertices(&o, &(hk_placement){.rotation = {{1}, {0, 1}, {0, 0, 1}}}, x);
    assert_memory_equal(x, o.rest, sizeof x);
    hk_obstacle_release(&o);
    hk_obstacle_release(&other);
}

static void keys_are_kept_exactly(void **state)
{
    (void)state;
    hk_key_def keys[5] = {
        {.time = 0.1, .translate = {1, 2, 3}},
        {.time = 0.3, .translate = {2, 2, 3}, .axis = {0, 1, 0}, .degrees = 90},
        {.time = 1.7, .translate = {0.1, 0.2, 0.3}, .axis = {1, 1, 1}, .degrees = 120},
        {.time = 2, .axis = {-1, -1, -1}, .degrees = 600, .center = {1, 1, 1}},
        {.time = 5, .axis = {1, 0, 0}, .degrees = 0},
    };
    hk_obstacle_def def = of_shape(HK_OBSTACLE_SPHERE);
    def.keys = keys;
    def.key_count = 5;
    hk_obstacle o = take(&def);
    for (int k = 0; k < 5; k++) {
        hk_placement at = place(&o, keys[k].time), wanted;
        double unit[3] = {0}, length = 0;
        for (int i = 0; i < 3; i++) length += keys[k].axis[i] * keys[k].axis[i];
        for (int i = 0; i < 3; i++) unit[i] = length > 0 ? keys[k].axis[i] / sqrt(length) : 0;
        hk_rotation_matrix(unit, keys[k].degrees, wanted.rotation);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                assert_true(fabs(at.rotation[i][j] - wanted.rotation[i][j]) < 1e-15);
        double to[3], c[3];
        hk_placement_apply(&at, keys[k].center, to);
        for (int i = 0; i < 3; i++) c[i] = keys[k].center[i] + keys[k].translate[i];
        assert_true(distance(to, c) <= (length > 0 ? 1e-15 : 0));
        // Continuous there.
        for (int side = -1; side <= 1; side += 2) {
            hk_placement near = place(&o, keys[k].time + side * 1e-9);
            for (int i = 0; i < 3; i++) {
                assert_true(fabs(near.translation[i] - at.translation[i]) < 1e-6);
                for (int j = 0; j < 3; j++)
                    assert_true(fabs(near.rotation[i][j] - at.rotation[i][j]) < 1e-6);
            }
        }
    }
    hk_placement first = place(&o, -3), at = place(&o, 0.1), last = place(&o, 1e9);
    assert_memory_equal(&first, &at, sizeof at);
    at = place(&o, 5);
    assert_memory_equal(&last, &at, sizeof at);
    for (double t = 0; t < 6; t += 0.01) {
        at = place(&o, t);
        assert_rotation(&at);
    }
    // Halfway from nothing to 90° about y: 45°.
    at = place(&o, 0.2);
    expect_point(&at, 1, 0, 0, 1.5 + sqrt(0.5), 2, 3 - sqrt(0.5), 1e-14);
    CHECK_OK(hk_obstacle_place_at(&o, 0.4, 0, &at));
    last = place(&o, 2);
    assert_memory_equal(&last, &at, sizeof at);
    hk_obstacle_release(&o);
}

// About one axis the angle goes linearly, also beyond half a turn, and where the axis is written
// the other way round; about two axes the way is the shortest, at even speed.
static void turns_between_keys(void **state)
{
    (void)state;
    hk_key_def keys[3] = {{.time = 0},
                          {.time = 1, .axis = {0, 0, 1}, .degrees = 720},
                          {.time = 2, .axis = {0, 0, -1}, .degrees = -810}};
    hk_obstacle_def def = of_shape(HK_OBSTACLE_SPHERE);
    def.keys = keys;
    def.key_count = 3;
    hk_obstacle o = take(&def);
    for (int k = 0; k <= 200; k++) {
        double t = k / 100.0, degrees = t < 1 ? 720 * t : 720 + 90 * (t - 1);
        hk_placement at = place(&o, t);
        expect_point(&at, 1, 0, 0, cos(degrees * pi / 180), sin(degrees * pi / 180), 0, 1e-13);
    }
    hk_obstacle_release(&o);
    keys[1] = (hk_key_def){.time = 1, .axis = {1, 0, 0}, .degrees = 90};
    keys[2] = (hk_key_def){.time = 2, .axis = {0, 1, 0}, .degrees = 90};
    o = take(&def);
    hk_placement from = place(&o, 1), before = from;
    double step = 0;
    for (int k = 1; k <= 10; k++) {
        hk_placement at = place(&o, 1 + k / 10.0);
        double trace = 0;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) trace += at.rotation[i][j] * before.rotation[i][j];
        double angle = acos(fmin(1, (trace - 1) / 2));
        if (k > 1) assert_true(fabs(angle - step) < 1e-10);
        step = angle;
        before = at;
    }
    // 120° in all, as from 90° about x to 90° about y.
    assert_true(fabs(10 * step - 2 * pi / 3) < 1e-9);
    hk_obstacle_release(&o);
    // Rotations that are nearly one.
    double q[4], a[4] = {1, 0, 0, 0}, b[4] = {1, 1e-12, 0, 0};
    hk_quaternion_slerp(a, b, 0.5, q);
    assert_true(fabs(q[1] - 5e-13) < 1e-16 && fabs(q[0] - 1) < 1e-15);
}

static void formulas_move(void **state)
{
    (void)state;
    hk_obstacle_def def = of_shape(HK_OBSTACLE_PLATE);
    def.formula.translate[0] = "t < 1 ? 0 : 0.1*sin(2*pi*(t-1)/1.3)";
    def.formula.translate[1] = "max(0, 1 - t)";
    def.formula.degrees = "90*t";
    def.formula.axis[1] = 3;
    def.formula.center[0] = 1;
    hk_obstacle o = take(&def);
    assert_true(hk_obstacle_moves(&o));
    hk_placement at = place(&o, 1);
    expect_point(&at, 2, 5, 0, 1, 5, -1, 0);
    at = place(&o, 0.25);
    expect_point(&at, 1, 0, 0, 1, 0.75, 0, 1e-15);
    CHECK_OK(hk_obstacle_place_at(&o, 0.1, 1, &at));  // of a pose, at its time
    expect_point(&at, 2, 5, 0, 1, 5, -1, 0);
    // A copy is the same and stays when the original goes.
    hk_obstacle copy;
    CHECK_OK(hk_obstacle_copy(&o, &copy));
    hk_obstacle_release(&o);
    at = place(&copy, 1);
    expect_point(&at, 2, 5, 0, 1, 5, -1, 0);
    assert_string_equal(copy.name, "obstacle");
    hk_obstacle_release(&copy);
    // Numbers that are none are errors, at the beginning and later.
    def.formula.translate[2] = "1/(t-2)";
    o = take(&def);
    assert_int_equal(hk_obstacle_place(&o, 2, &at), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "obstacle obstacle: formula \"1/(t-2)\" is inf at t = 2 s"));
    hk_obstacle_release(&o);
    def.formula.translate[2] = "log(t)";
    assert_int_equal(hk_obstacle_take(&def, &o), HK_BAD_INPUT);
}

static void planes_turn(void **state)
{
    (void)state;
    hk_motion_def move = {
        .axis = {0, 0, 1}, .degrees = -90, .center = {0, 1, 0}, .translate = {0, 0, 2}, .over = 1};
    hk_obstacle_def def = hk_default_obstacle_def();
    def.moves = &move;
    def.move_count = 1;
    hk_obstacle o = take(&def);
    hk_placement at = place(&o, 1);
    double point[3], normal[3];
    hk_obstacle_plane(&o, &at, point, normal);
    assert_true(normal[0] == 1 && normal[1] == 0 && normal[2] == 0);
    assert_true(point[0] == -1 && point[1] == 1 && point[2] == 2);
    hk_obstacle_release(&o);
}

// ---------------------------------------------------------------- mistakes

static void refuse(const hk_obstacle_def *def, const char *part)
{
    hk_obstacle o;
    hk_status status = hk_obstacle_take(def, &o);
    assert_true(status == HK_BAD_INPUT || status == HK_UNSUPPORTED);
    if (!strstr(hk_error(), part)) fail_msg("\"%s\" does not say \"%s\"", hk_error(), part);
}

static void wrong_definitions_are_refused(void **state)
{
    (void)state;
#define REFUSED(shape_, part, ...)                            \
    do {                                                      \
        hk_obstacle_def def = of_shape(HK_OBSTACLE_##shape_); \
        __VA_ARGS__;                                          \
        refuse(&def, part);                                   \
    } while (0)
    REFUSED(PLANE, "normal", memset(def.normal, 0, sizeof def.normal));
    REFUSED(PLANE, "point", def.point[1] = NAN);
    REFUSED(BOX, "max[1]", def.max[1] = def.min[1]);
    REFUSED(BOX, "min", def.min[0] = -INFINITY);
    REFUSED(SPHERE, "radius", def.radius = 0);
    REFUSED(SPHERE, "center", def.center[2] = NAN);
    REFUSED(CAPSULE, "same point", memcpy(def.to, def.from, sizeof def.to));
    REFUSED(CAPSULE, "from", def.from[0] = NAN);
    REFUSED(CYLINDER, "sides", def.sides = 2);
    REFUSED(CYLINDER, "sides", def.sides = 5000);
    REFUSED(CYLINDER, "radius", def.radius = -1);
    REFUSED(PLATE, "thickness", def.thickness = 0);
    REFUSED(PLATE, "size[1]", def.size[1] = 0);
    REFUSED(MESH, "no mesh", def.mesh = NULL);
    REFUSED(BOX, "no shape 99", def.shape = (hk_obstacle_shape)99);
    REFUSED(BOX, "friction", def.friction = -0.1);
    REFUSED(BOX, "scale", def.transform.scale = 0);
    REFUSED(BOX, "moves is NULL", def.move_count = 1);
    REFUSED(BOX, "number of keys", def.key_count = -1);
    hk_motion_def move = {.degrees = 1};
    REFUSED(BOX, "move 0: the axis", def.moves = &move, def.move_count = 1);
    hk_key_def keys[2] = {{.time = 1}, {.time = 1}};
    REFUSED(BOX, "key 1: its time", def.keys = keys, def.key_count = 2);
    REFUSED(BOX, "more than one", def.keys = keys, def.key_count = 1, def.moves = &move,
            def.move_count = 1);
    REFUSED(BOX, "more than one", def.keys = keys, def.key_count = 1, def.formula.degrees = "t");
    REFUSED(BOX, "formula \"2*\": column 3", def.formula.translate[2] = "2*");
    REFUSED(BOX, "axis", def.formula.degrees = "t", def.formula.axis[1] = 0);
    keys[0].reserved[1] = 1;
    REFUSED(BOX, "hk_key_def", def.keys = keys, def.key_count = 1);
    REFUSED(BOX, "hk_formula_def", def.formula.degrees = "t", def.formula.reserved[0] = 1);
#undef REFUSED
    assert_string_equal(hk_obstacle_shape_name(HK_OBSTACLE_PLATE), "plate");
    assert_null(hk_obstacle_shape_name((hk_obstacle_shape)-1));
    assert_null(hk_obstacle_shape_name((hk_obstacle_shape)7));
}

static void no_failed_allocation_leaks(void **state)
{
    (void)state;
    hk_mesh *mesh = box_mesh(1, 1, 1, 1, 1, 1);
    hk_motion_def move = {.translate = {1, 0, 0}};
    for (int shape = HK_OBSTACLE_PLANE; shape <= HK_OBSTACLE_MESH; shape++)
        for (int n = 1;; n++) {
            hk_obstacle_def def = of_shape((hk_obstacle_shape)shape);
            def.mesh = mesh;
            if (shape & 1) {
                def.moves = &move;
                def.move_count = 1;
            } else {
                def.formula.translate[0] = "t";
            }
            hk_obstacle o = {0}, copy = {0};
            failing_alloc_install(n);
            hk_status status = hk_obstacle_take(&def, &o);
            if (status == HK_OK) status = hk_obstacle_copy(&o, &copy);
            bool reached = failing_alloc_count() >= n;
            assert_int_equal(status, reached ? HK_NO_MEMORY : HK_OK);
            hk_obstacle_release(&o);
            hk_obstacle_release(&copy);
            assert_int_equal(failing_alloc_live(), 0);
            failing_alloc_remove();
            if (!reached) break;
        }
    hk_mesh_free(mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_and_plates),
        cmocka_unit_test(spheres_capsules_and_cylinders),
        cmocka_unit_test(planes),
        cmocka_unit_test(meshes),
        cmocka_unit_test(moves_follow_each_other),
        cmocka_unit_test(keys_are_kept_exactly),
        cmocka_unit_test(turns_between_keys),
        cmocka_unit_test(formulas_move),
        cmocka_unit_test(planes_turn),
        cmocka_unit_test(wrong_definitions_are_refused),
        cmocka_unit_test(no_failed_allocation_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
