#include "contact/after.h"

#include <math.h>

#include "contact/field.h"
enum { SWEEPS = 8 };  // over all constraints

// ---------------------------------------------------------------- life

void hk_after_free(hk_after *a)
{
    if (!a) return;
    hk_insides_free(a->insides);
    hk_contact_measure_release(&a->measure);
    hk_contacts_free(a->contacts);
    hk_free(a->before);
    hk_free(a->mass);
    hk_free(a->x);
    hk_free(a->from);
    hk_free(a);
}

static hk_status build(const hk_model *model, int threads, hk_after *a)
{
    HK_TRY(hk_contacts_create(model, threads, &a->contacts));
    hk_contacts *c = a->contacts;
    HK_TRY(hk_contacts_make_fields(c));
    HK_TRY(hk_insides_create(c, &a->insides));
    HK_TRY(hk_contact_measure_create(c, &a->measure));
    a->before = HK_ZEROS(hk_placement, c->settings->obstacle_count);
    a->mass = HK_ZEROS(double, c->body_points);
    a->x = HK_ZEROS(double, 3 * (size_t)c->body_points);
    a->from = HK_ZEROS(double, 3 * (size_t)c->body_points);
    a->measure.least_gap = INFINITY;
    return a->before && a->mass && a->x && a->from ? HK_OK : HK_NO_MEMORY;
}

hk_status hk_after_create(const hk_model *model, int threads, hk_after **after)
{
    hk_after *a = HK_NEW(hk_after);
    if (!a) return HK_NO_MEMORY;
    hk_status status = build(model, threads, a);
    if (status != HK_OK) {
        hk_after_free(a);
        return status;
    }
    *after = a;
    return HK_OK;
}

// ---------------------------------------------------------------- corrections

static double weight_of(const hk_after *a, int32_t point)
{
    return a->mass[point] > 0 ? 1 / a->mass[point] : 0;
}

static void move(hk_after *a, const hk_projection *p, double impulse, const double direction[3])
{
    for (int k = 0; k < 4; k++) {
        double *x = a->x + 3 * (size_t)p->point[k], w = weight_of(a, p->point[k]);
        for (int i = 0; i < 3; i++) x[i] += w * p->c[k] * impulse * direction[i];
    }
}

// λ and friction of one vertex in another body.
static bool project(hk_after *a, const hk_projection *p)
{
    double apart[3] = {0}, slid[3] = {0}, sum = 0;
    for (int k = 0; k < 4; k++) {
        const double *x = a->x + 3 * (size_t)p->point[k], *from = a->from + 3 * (size_t)p->point[k];
        for (int i = 0; i < 3; i++) {
            apart[i] += p->c[k] * x[i];
            slid[i] += p->c[k] * (x[i] - from[i]);
        }
        sum += weight_of(a, p->point[k]) * p->c[k] * p->c[k];
    }
    double missing = a->contacts->settings->distance - closest_dot(apart, p->normal);
    if (!(missing > 0) || !(sum > 0)) return false;
    double impulse = missing / sum, through = closest_dot(slid, p->normal);
    move(a, p, impulse, p->normal);
    for (int i = 0; i < 3; i++) slid[i] -= through * p->normal[i];
    double length = sqrt(closest_dot(slid, slid));
    if (!(length > 0) || !(p->friction > 0)) return true;
    for (int i = 0; i < 3; i++) slid[i] /= length;
    move(a, p, -fmin(p->friction * impulse, length / sum), slid);
    return true;
}

// Where a point that an obstacle carries was before the step.
static void carried_from(const hk_after *a, int obstacle, const double x[3], double from[3])
{
    const hk_placement *now = &a->contacts->placed[obstacle];
    double local[3];
    for (int i = 0; i < 3; i++) {
        local[i] = 0;
        for (int k = 0; k < 3; k++) local[i] += now->rotation[k][i] * (x[k] - now->translation[k]);
    }
    hk_placement_apply(&a->before[obstacle], local, from);
}

// A vertex and an obstacle, whose mass is infinite. The impulse over h² is the force upon it.
static bool push_out(hk_after *a, int obstacle, int32_t p, double h)
{
    const hk_contacts *c = a->contacts;
    double *x = a->x + 3 * (size_t)p, normal[3], slid[3], was[3], shift[3];
    if (!(a->mass[p] > 0)) return false;
    double missing = c->settings->distance - hk_contacts_distance(c, obstacle, x, normal, NULL);
    double length = sqrt(closest_dot(normal, normal));
    if (!(missing > 0) || !(length > 0)) return false;
    carried_from(a, obstacle, x, was);
    for (int i = 0; i < 3; i++) {
        normal[i] /= length;
        slid[i] = (x[i] - a->from[3 * (size_t)p + (size_t)i]) - (x[i] - was[i]);
    }
    double through = closest_dot(slid, normal);
    for (int i = 0; i < 3; i++) slid[i] -= through * normal[i];
    double sliding = sqrt(closest_dot(slid, slid));
    int side = c->settings->body_count + obstacle;
    double friction = hk_contact_friction(c->settings, c->side[p], side);
    double back = sliding > 0 ? fmin(friction * missing, sliding) / sliding : 0;
    hk_contact_load *load = &a->measure.loads[obstacle];
    double arm[3], turn[3];
    closest_minus(x, load->center, arm);
    for (int i = 0; i < 3; i++) {
        shift[i] = missing * normal[i] - back * slid[i];
        x[i] += shift[i];
        load->force[i] -= a->mass[p] * shift[i] / (h * h);
    }
    closest_cross(arm, shift, turn);
    for (int i = 0; i < 3; i++) load->torque[i] -= a->mass[p] * turn[i] / (h * h);
    a->measure.pairs++;
    return true;
}

static bool sweep(hk_after *a, double h)
{
    const hk_contacts *c = a->contacts;
    bool moved = false;
    for (size_t k = 0; k < a->insides->count; k++)
        moved = project(a, &a->insides->list[k]) || moved;
    for (int o = 0; o < c->settings->obstacle_count; o++)
        for (int32_t p = 0; p < c->body_points; p++)
            if (hk_contact_touches(c->settings, c->side[p], c->settings->body_count + o))
                moved = push_out(a, o, p, h) || moved;
    return moved;
}

// ---------------------------------------------------------------- the step

static void begin(hk_after *a, const uint8_t *held, const double *from, const double *x)
{
    const hk_contacts *c = a->contacts;
    for (int p = 0; p < c->body_points; p++) {
        int32_t v = c->vertex[p];
        a->mass[p] = held[v] ? 0 : c->model->mass[c->model->order[v]];
        memcpy(a->x + 3 * (size_t)p, x + 4 * (size_t)v, 3 * sizeof(double));
        memcpy(a->from + 3 * (size_t)p, from + 4 * (size_t)v, 3 * sizeof(double));
    }
}

// Positions into x, and what was done for it as forces.
static void end(hk_after *a, double h, double *x)
{
    const hk_contacts *c = a->contacts;
    a->corrected = 0;
    for (int p = 0; p < c->body_points; p++) {
        double *to = x + 4 * (size_t)c->vertex[p], *force = a->measure.force + 3 * (size_t)p;
        bool moved = false;
        for (int i = 0; i < 3; i++) {
            double shift = a->x[3 * (size_t)p + (size_t)i] - to[i];
            force[i] = a->mass[p] * shift / (h * h);
            moved = moved || shift != 0;
            if (moved) to[i] = a->x[3 * (size_t)p + (size_t)i];
        }
        a->corrected += moved;
    }
}

hk_status hk_after_correct(hk_after *a, const uint8_t *held, const double times[2], double h,
                           const double *from, double *x)
{
    hk_contacts *c = a->contacts;
    double start = hk_now();
    HK_TRY(hk_contacts_place(c, false, 0, times[0]));
    memcpy(a->before, c->placed, sizeof(hk_placement) * (size_t)c->settings->obstacle_count);
    HK_TRY(hk_contacts_place(c, false, 0, times[1]));
    hk_contacts_gather(c, x);
    hk_contacts_clear_measure(c, &a->measure);
    begin(a, held, from, x);
    HK_TRY(hk_insides_find(c, x, a->insides));
    a->measure.pairs = 0;
    int64_t pairs = 0;
    for (int k = 0; k < SWEEPS; k++) {
        a->measure.pairs = 0;
        if (!sweep(a, h)) break;
        if (k == 0) pairs = a->measure.pairs;
    }
    a->measure.pairs = pairs + (int64_t)a->insides->count;
    end(a, h, x);
    a->seconds += hk_now() - start;
    return HK_OK;
}
