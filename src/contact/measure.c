#include "contact/measure.h"

#include <math.h>

#include "contact/field.h"
#include "contact/slide.h"

hk_status hk_contact_measure_create(const hk_contacts *c, hk_contact_measure *m)
{
    m->force = HK_ZEROS(double, 3 * (size_t)c->body_points);
    m->loads = HK_ZEROS(hk_contact_load, c->settings->obstacle_count);
    if (m->force && m->loads) return HK_OK;
    hk_contact_measure_release(m);
    return HK_NO_MEMORY;
}

void hk_contact_measure_release(hk_contact_measure *m)
{
    hk_free(m->force);
    hk_free(m->loads);
    *m = (hk_contact_measure){0};
}

static void find_center(const hk_contacts *c, int obstacle, double center[3])
{
    double middle[3];
    hk_contacts_middle(c, obstacle, middle);
    hk_placement_apply(&c->placed[obstacle], middle, center);
}

void hk_contacts_middle(const hk_contacts *c, int obstacle, double middle[3])
{
    const hk_obstacle *o = &c->settings->obstacles[obstacle];
    for (int i = 0; i < 3; i++) {
        double low = INFINITY, high = -INFINITY;
        for (int v = 0; v < o->vertex_count; v++) {
            low = fmin(low, o->rest[3 * (size_t)v + (size_t)i]);
            high = fmax(high, o->rest[3 * (size_t)v + (size_t)i]);
        }
        middle[i] = c->plane_of[obstacle] >= 0 ? o->point[i] : 0.5 * (low + high);
    }
}

// A force upon a corner, which is a part of −gradient; `other` is the side that it comes from.
static void add_force(const hk_contacts *c, hk_contact_measure *m, int32_t point, int32_t other,
                      const double gradient[3])
{
    if (point >= c->body_points) return;
    const double *x = c->x + 3 * (size_t)point;
    double *to = m->force + 3 * (size_t)point;
    for (int i = 0; i < 3; i++) to[i] -= gradient[i];
    int obstacle = other - c->settings->body_count;
    if (obstacle < 0) return;
    hk_contact_load *load = &m->loads[obstacle];
    double arm[3], turn[3];
    closest_minus(x, load->center, arm);
    closest_cross(arm, gradient, turn);
    for (int i = 0; i < 3; i++) {
        load->force[i] += gradient[i];
        load->torque[i] += turn[i];
    }
}

static void add_corners(const hk_contacts *c, hk_contact_measure *m, const int32_t point[4],
                        const int32_t sides[2], const double *gradient)
{
    for (int k = 0; k < 4; k++) {
        if (point[k] >= c->body_points) continue;
        // A plane has its last points twice, a corner of a body is of one side.
        int32_t other = c->side[point[k]] == sides[0] ? sides[1] : sides[0];
        add_force(c, m, point[k], other, gradient + 3 * k);
    }
}

static void add_contact(const hk_contacts *c, const hk_contact *k, hk_contact_measure *m)
{
    double x[4][3], gradient[12];
    hk_contact_corners(c->x, k->point, x);
    hk_pair_state at = pair_state(&k->pair, (const double(*)[3])x);
    bool pushes = at.b.energy != 0;
    // Neighbours on one surface are always near each other.
    if (pushes || k->sides[0] != k->sides[1])
        m->least_gap = fmin(m->least_gap, at.distance - k->pair.thickness);
    if (!pushes || c->pushed) return;
    m->pairs++;
    m->energy += pair_energy(&k->pair, &at);
    pair_gradient(&k->pair, &at, gradient);
    add_corners(c, m, k->point, k->sides, gradient);
}

static void add_slide(const hk_contacts *c, const hk_slide *s, hk_contact_measure *m)
{
    double slide[3], gradient[12];
    if (s->press) {
        press_gradient(&s->friction, slide_missing(c, s), gradient);
    } else {
        double nearer = slide_of(c, s, slide);
        friction_gradient(&s->friction, slide, nearer, gradient);
    }
    add_corners(c, m, s->point, s->sides, gradient);
}

typedef struct field_measure {
    const hk_contacts *contacts;
    hk_contact_measure *measure;
} field_measure;

static void add_field(void *context, const hk_field_contact *at)
{
    const field_measure *f = context;
    const hk_contacts *c = f->contacts;
    double gradient[3];
    hk_contact_value b = contact_value(HK_CONTACT_PENALTY, c->settings->distance, at->distance);
    for (int i = 0; i < 3; i++) gradient[i] = at->stiffness * b.slope * at->normal[i];
    f->measure->pairs++;
    f->measure->energy += at->stiffness * b.energy;
    f->measure->least_gap = fmin(f->measure->least_gap, at->distance);
    add_force(c, f->measure, at->point, c->settings->body_count + at->obstacle, gradient);
}

void hk_contacts_clear_measure(const hk_contacts *c, hk_contact_measure *m)
{
    m->pairs = 0;
    m->energy = 0;
    m->least_gap = INFINITY;
    memset(m->force, 0, 3 * sizeof(double) * (size_t)c->body_points);
    for (int k = 0; k < c->settings->obstacle_count; k++) {
        m->loads[k] = (hk_contact_load){0};
        find_center(c, k, m->loads[k].center);
    }
}

hk_status hk_contacts_measure(hk_contacts *c, const double *x, hk_contact_measure *m)
{
    HK_TRY(hk_contacts_see(c, x));
    hk_contacts_clear_measure(c, m);
    for (size_t k = 0; k < c->count; k++) add_contact(c, &c->list[k], m);
    for (size_t k = 0; k < c->slide_count; k++) add_slide(c, &c->slides[k], m);
    // Forces that the method found itself are those of hard contacts, which have no energy.
    for (size_t k = 0; k < c->push_count && c->pushed; k++)
        add_corners(c, m, c->pushes[k].point, c->pushes[k].sides, c->pushes[k].gradient);
    if (c->pushed) m->pairs = (int64_t)c->push_count;
    field_measure fields = {c, m};
    hk_contacts_visit_fields(c, false, add_field, &fields);
    return HK_OK;
}

void hk_contacts_share_measure(hk_contacts *c, hk_contact_measure *m)
{
    hk_partition *g = c->model->partition;
    if (!g) return;
    double sums[] = {(double)m->pairs, m->energy};
    hk_partition_sum(g, sums, HK_COUNT_OF(sums));
    m->pairs = (int64_t)sums[0];
    m->energy = sums[1];
    m->least_gap = hk_partition_min_of(g, m->least_gap);
    for (int k = 0; k < c->settings->obstacle_count; k++) {
        hk_partition_sum(g, m->loads[k].force, 3);
        hk_partition_sum(g, m->loads[k].torque, 3);
    }
    memset(c->shared, 0, 4 * sizeof(double) * (size_t)c->model->vertex_count);
    for (int p = 0; p < c->body_points; p++)
        memcpy(c->shared + 4 * (size_t)c->vertex[p], m->force + 3 * (size_t)p, 3 * sizeof(double));
    hk_partition_share(g, c->shared);
    for (int p = 0; p < c->body_points; p++)
        memcpy(m->force + 3 * (size_t)p, c->shared + 4 * (size_t)c->vertex[p], 3 * sizeof(double));
}
