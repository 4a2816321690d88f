// Where obstacles are at a time.
#include <math.h>

#include "contact/obstacle.h"
#include "core/rotation.h"
#include "core/vector.h"

static const hk_placement STANDS = {.rotation = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

// R is row by row.
static void turn(const double *R, const double v[3], double to[3])
{
    double made[3];
    for (int i = 0; i < 3; i++)
        made[i] = R[3 * i] * v[0] + R[3 * i + 1] * v[1] + R[3 * i + 2] * v[2];
    memcpy(to, made, sizeof made);
}

// x → R (x − center) + center + translate. Without a turn exactly the translation.
static hk_placement make_placement(double R[3][3], bool turned, const double center[3],
                                   const double translate[3])
{
    hk_placement p;
    double moved[3];
    memcpy(p.rotation, R, sizeof p.rotation);
    turn(R[0], center, moved);
    for (int i = 0; i < 3; i++)
        p.translation[i] = turned ? center[i] - moved[i] + translate[i] : translate[i];
    return p;
}

// ---------------------------------------------------------------- moves

// `next` after `p`.
static void append(const hk_placement *next, hk_placement *p)
{
    hk_placement made = *next;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            made.rotation[i][j] = 0;
            for (int k = 0; k < 3; k++)
                made.rotation[i][j] += next->rotation[i][k] * p->rotation[k][j];
        }
    turn(next->rotation[0], p->translation, made.translation);
    for (int i = 0; i < 3; i++) made.translation[i] += next->translation[i];
    *p = made;
}

static hk_placement place_motion(const hk_motion *m, double fraction)
{
    double R[3][3], translate[3];
    hk_rotation_matrix(m->axis, fraction * m->degrees, R);
    for (int i = 0; i < 3; i++) translate[i] = fraction * m->translate[i];
    return make_placement(R, fraction * m->degrees != 0, m->center, translate);
}

// At a fraction of each, or (NAN) at a time.
static hk_placement place_moves(const hk_obstacle *o, double fraction, double time)
{
    hk_placement p = STANDS;
    for (int k = 0; k < o->move_count; k++) {
        const hk_motion *m = &o->moves[k];
        hk_placement next =
            place_motion(m, isnan(fraction) ? hk_motion_fraction(m, time) : fraction);
        append(&next, &p);
    }
    return p;
}

// ---------------------------------------------------------------- keys

static hk_placement place_key(const hk_key *key)
{
    double R[3][3];
    hk_rotation_matrix(key->axis, key->degrees, R);
    return make_placement(R, key->degrees != 0, key->center, key->translate);
}

// Whether both turn about one axis, one that does not turn included; `axis` and the angles of both
// about it.
static bool share_axis(const hk_key *a, const hk_key *b, const double **axis, double angles[2])
{
    double cosine = a->axis[0] * b->axis[0] + a->axis[1] * b->axis[1] + a->axis[2] * b->axis[2];
    *axis = a->degrees != 0 ? a->axis : b->axis;
    angles[0] = a->degrees;
    angles[1] = b->degrees;
    if (a->degrees == 0 || b->degrees == 0) return true;
    if (cosine < 0) angles[1] = -angles[1];
    return fabs(cosine) >= 1 - 1e-12;
}

static hk_placement place_between(const hk_key *a, const hk_key *b, double time)
{
    double s = (time - a->time) / (b->time - a->time), R[3][3], center[3], translate[3], angles[2];
    const double *axis;
    bool turned = a->degrees != 0 || b->degrees != 0;
    for (int i = 0; i < 3; i++) {
        center[i] = a->center[i] + s * (b->center[i] - a->center[i]);
        translate[i] = a->translate[i] + s * (b->translate[i] - a->translate[i]);
    }
    if (share_axis(a, b, &axis, angles)) {
        hk_rotation_matrix(axis, angles[0] + s * (angles[1] - angles[0]), R);
    } else {
        double q[4];
        hk_quaternion_slerp(a->quaternion, b->quaternion, s, q);
        hk_quaternion_matrix(q, R);
    }
    return make_placement(R, turned, center, translate);
}

static hk_placement place_keys(const hk_obstacle *o, double time)
{
    int low = 0, high = o->key_count - 1;
    if (!(time > o->keys[low].time)) return place_key(&o->keys[low]);
    if (time >= o->keys[high].time) return place_key(&o->keys[high]);
    while (high - low > 1) {  // keys[low].time < time < keys[high].time
        int middle = low + (high - low) / 2;
        if (o->keys[middle].time == time) return place_key(&o->keys[middle]);
        *(o->keys[middle].time < time ? &low : &high) = middle;
    }
    return place_between(&o->keys[low], &o->keys[high], time);
}

// ---------------------------------------------------------------- formulas

static hk_status evaluate(const hk_obstacle *o, const hk_formula *formula, double time,
                          double *value)
{
    *value = formula ? hk_formula_value(formula, time) : 0;
    if (isfinite(*value)) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "obstacle %s: formula \"%.200s\" is %g at t = %g s", o->name,
                   hk_formula_text(formula), *value, time);
}

static hk_status place_path(const hk_obstacle *o, double time, hk_placement *to)
{
    double translate[3], degrees, R[3][3];
    for (int i = 0; i < 3; i++) HK_TRY(evaluate(o, o->path.translate[i], time, &translate[i]));
    HK_TRY(evaluate(o, o->path.degrees, time, &degrees));
    hk_rotation_matrix(o->path.axis, degrees, R);
    *to = make_placement(R, degrees != 0, o->path.center, translate);
    return HK_OK;
}

// ---------------------------------------------------------------- all of them

bool hk_obstacle_moves(const hk_obstacle *o)
{
    for (int k = 0; k < o->move_count; k++)
        if (hk_motion_moves(&o->moves[k])) return true;
    return o->way == HK_BY_KEYS || o->way == HK_BY_FORMULA;
}

static hk_status place(const hk_obstacle *o, double fraction, double time, hk_placement *to)
{
    switch (o->way) {
    case HK_BY_FORMULA: return place_path(o, time, to);
    case HK_BY_MOVES: *to = place_moves(o, fraction, time); return HK_OK;
    case HK_BY_KEYS:
        *to = place_keys(o, isnan(fraction) ? time : fraction * o->keys[o->key_count - 1].time);
        return HK_OK;
    case HK_STANDS: break;
    }
    *to = STANDS;
    return HK_OK;
}

hk_status hk_obstacle_place(const hk_obstacle *o, double time, hk_placement *to)
{
    return place(o, NAN, time, to);
}

hk_status hk_obstacle_place_at(const hk_obstacle *o, double fraction, double time, hk_placement *to)
{
    return place(o, fraction, time, to);
}

void hk_placement_apply(const hk_placement *at, const double rest[3], double x[3])
{
    double made[3];
    turn(at->rotation[0], rest, made);
    for (int i = 0; i < 3; i++) x[i] = made[i] + at->translation[i];
}

void hk_obstacle_vertices(const hk_obstacle *o, const hk_placement *at, double *x)
{
    for (int v = 0; v < o->vertex_count; v++)
        hk_placement_apply(at, o->rest + 3 * (size_t)v, x + 3 * (size_t)v);
}

void hk_obstacle_plane(const hk_obstacle *o, const hk_placement *at, double point[3],
                       double normal[3])
{
    double turned[3];
    hk_placement_apply(at, o->point, point);
    turn(at->rotation[0], o->normal, turned);
    hk_unit3(turned, normal);
}
