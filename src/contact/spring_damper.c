#include "contact/spring_damper.h"

#include <math.h>

#include "contact/field.h"

// ---------------------------------------------------------------- life

hk_status hk_spring_damper_init(const hk_model *model, int threads, hk_spring_damper *law)
{
    *law = (hk_spring_damper){0};
    HK_TRY(hk_contacts_create(model, threads, &law->contacts));
    HK_TRY(hk_contacts_make_fields(law->contacts));
    law->before = HK_ZEROS(hk_placement, law->contacts->settings->obstacle_count);
    return law->before ? HK_OK : HK_NO_MEMORY;
}

void hk_spring_damper_release(hk_spring_damper *law)
{
    hk_contacts_free(law->contacts);
    hk_free(law->before);
    *law = (hk_spring_damper){0};
}

hk_status hk_spring_damper_place(hk_spring_damper *law, bool by_fraction, double fraction,
                                 double time)
{
    HK_TRY(hk_contacts_place(law->contacts, by_fraction, fraction, time));
    if (law->driven) hk_contacts_put(law->contacts, law->driven_obstacle, &law->driven_to);
    return HK_OK;
}

void hk_spring_damper_begin(hk_spring_damper *law, double h)
{
    const hk_contacts *c = law->contacts;
    law->step = h;
    for (int k = 0; k < c->settings->obstacle_count; k++) law->before[k] = c->placed[k];
}

// ---------------------------------------------------------------- one vertex and one obstacle

// The velocity of what an obstacle carries at x.
static void carried(const hk_spring_damper *law, int obstacle, const double x[3], double v[3])
{
    const hk_placement *now = &law->contacts->placed[obstacle];
    double local[3], was[3];
    for (int i = 0; i < 3; i++) {
        local[i] = 0;
        for (int k = 0; k < 3; k++) local[i] += now->rotation[k][i] * (x[k] - now->translation[k]);
    }
    hk_placement_apply(&law->before[obstacle], local, was);
    for (int i = 0; i < 3; i++) v[i] = law->step > 0 ? (x[i] - was[i]) / law->step : 0;
}

typedef struct touch {
    double depth;        // m; less than 0 only for what is expected to be inside
    double normal[3];    // unit, out of the obstacle
    double hessian[9];   // 1/m, of the distance
    double velocity[3];  // m/s, of the obstacle there
} touch;

static bool touches(const hk_spring_damper *law, int body, int obstacle, const double x[3],
                    const double *ahead, touch *at)
{
    const hk_contacts *c = law->contacts;
    double unused[3];
    if (!hk_contact_touches(c->settings, body, c->settings->body_count + obstacle)) return false;
    at->depth = -hk_contacts_distance(c, obstacle, x, at->normal, at->hessian);
    double there = ahead ? hk_contacts_distance(c, obstacle, ahead, unused, NULL) : -at->depth;
    double length = sqrt(closest_dot(at->normal, at->normal));
    if (!(there < 0) || !(length > 0)) return false;
    for (int i = 0; i < 3; i++) at->normal[i] /= length;
    carried(law, obstacle, x, at->velocity);
    return true;
}

// −∂f/∂u: C_N n nᵀ + C_T d (1 − n nᵀ).
static void resistance(const hk_model_contact *s, const touch *at, double r[9])
{
    double along = s->drag * fmax(at->depth, 0);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            r[3 * i + j] =
                (s->normal_damping - along) * at->normal[i] * at->normal[j] + (i == j ? along : 0);
}

static void multiply(const double m[9], const double v[3], double to[3])
{
    for (int i = 0; i < 3; i++) to[i] = m[3 * i] * v[0] + m[3 * i + 1] * v[1] + m[3 * i + 2] * v[2];
}

bool hk_spring_damper_of(const hk_spring_damper *law, int body, int obstacle, const double x[3],
                         const double *ahead, double force[3], double by_place[9],
                         double by_velocity[9])
{
    const hk_model_contact *s = law->contacts->settings;
    touch at;
    double r[9], carry[3];
    if (!touches(law, body, obstacle, x, ahead, &at)) return false;
    resistance(s, &at, r);
    multiply(r, at.velocity, carry);
    for (int i = 0; i < 3; i++) force[i] = s->normal_stiffness * at.depth * at.normal[i] + carry[i];
    for (int i = 0; i < 9; i++) {
        by_place[i] = s->normal_stiffness *
                      (fmax(at.depth, 0) * at.hessian[i] - at.normal[i / 3] * at.normal[i % 3]);
        by_velocity[i] = -r[i];
    }
    return true;
}

bool hk_spring_damper_force(const hk_spring_damper *law, int body, const double x[3],
                            const double *ahead, double force[3], double by_place[9],
                            double by_velocity[9])
{
    bool any = false;
    memset(force, 0, 3 * sizeof(double));
    memset(by_place, 0, 9 * sizeof(double));
    memset(by_velocity, 0, 9 * sizeof(double));
    for (int k = 0; k < law->contacts->settings->obstacle_count; k++) {
        double f[3], K[9], B[9];
        if (!hk_spring_damper_of(law, body, k, x, ahead, f, K, B)) continue;
        any = true;
        for (int i = 0; i < 3; i++) force[i] += f[i];
        for (int i = 0; i < 9; i++) by_place[i] += K[i], by_velocity[i] += B[i];
    }
    return any;
}

double hk_spring_damper_gap(const hk_spring_damper *law, int body, int obstacle, const double x[3],
                            double normal[3])
{
    const hk_contacts *c = law->contacts;
    if (!hk_contact_touches(c->settings, body, c->settings->body_count + obstacle)) return INFINITY;
    double gap = hk_contacts_distance(c, obstacle, x, normal, NULL);
    double length = sqrt(closest_dot(normal, normal));
    for (int i = 0; i < 3; i++) normal[i] /= length;
    return length > 0 ? gap : INFINITY;
}

// ---------------------------------------------------------------- reports

double hk_spring_damper_energy(const hk_spring_damper *law, const double *x)
{
    const hk_contacts *c = law->contacts;
    double sum = 0;
    for (int64_t k = 0; k < c->model->vertex_count; k++)
        for (int o = 0; o < c->settings->obstacle_count; o++) {
            touch at;
            if (touches(law, c->body_of[k], o, x + 4 * k, NULL, &at))
                sum += 0.5 * c->settings->normal_stiffness * at.depth * at.depth;
        }
    return sum;
}

static void add_load(const double x[3], const double force[3], hk_contact_load *load)
{
    double arm[3], turn[3];
    closest_minus(x, load->center, arm);
    closest_cross(arm, force, turn);
    for (int i = 0; i < 3; i++) {
        load->force[i] -= force[i];
        load->torque[i] -= turn[i];
    }
}

void hk_spring_damper_measure(const hk_spring_damper *law, const double *x, const double *v,
                              hk_contact_measure *m)
{
    const hk_contacts *c = law->contacts;
    const hk_model_contact *s = c->settings;
    hk_contacts_clear_measure(c, m);
    m->energy = hk_spring_damper_energy(law, x);
    for (int64_t k = 0; k < c->model->vertex_count; k++)
        for (int o = 0; o < s->obstacle_count; o++) {
            touch at;
            double r[9], u[3], force[3];
            if (!touches(law, c->body_of[k], o, x + 4 * k, NULL, &at)) continue;
            closest_minus(v + 4 * k, at.velocity, u);
            resistance(s, &at, r);
            multiply(r, u, force);
            for (int i = 0; i < 3; i++)
                force[i] = s->normal_stiffness * at.depth * at.normal[i] - force[i];
            add_load(x + 4 * k, force, &m->loads[o]);
            m->pairs++;
            m->least_gap = fmin(m->least_gap, -at.depth);
            int32_t point = c->point_of[k];
            for (int i = 0; i < 3 && point >= 0; i++) m->force[3 * (int64_t)point + i] += force[i];
        }
}
