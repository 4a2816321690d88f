#include "solver/split_contact.h"

#include <math.h>

#include "solver/split.h"

enum { MOST_SOLVES = 6 };
// Errors that are left to the next step: of a gap, relative to the distance at which contact
// begins, and of slips, m/s relative to the speed at which it slips.
#define ENOUGH 0.05
// (A⁻¹)_vv is about so many times that of the vertex alone, 1/A_vv, and of its body as a rigid one:
// 1/mass, and more at its corners, which turn.
#define SOFTER_THAN_ALONE 2
#define SOFTER_THAN_RIGID 4

hk_status hk_split_contact_init(hk_split *s)
{
    const hk_problem *p = s->problem;
    hk_split_contact *w = &s->contact;
    w->contacts = hk_terms_contacts(p->terms);
    if (!w->contacts) return HK_OK;
    w->total = HK_ZEROS(float, 4 * (size_t)p->free_count);
    w->soft = HK_ZEROS(float, p->free_count);
    w->target = HK_ZEROS(double, 4 * (size_t)p->vertex_count);
    return w->total && w->soft && w->target ? HK_OK : HK_NO_MEMORY;
}

void hk_split_contact_release(hk_split *s)
{
    hk_split_contact *w = &s->contact;
    hk_free(w->total);
    hk_free(w->soft);
    hk_free(w->target);
    hk_free(w->pairs);
    hk_free(w->old);
}

void hk_split_contact_prepare(hk_split *s)
{
    const hk_problem *p = s->problem;
    const hk_model *m = p->model;
    hk_split_contact *w = &s->contact;
    if (!w->contacts) return;
    for (int k = 0; k < s->components->shape_count; k++) {
        const hk_component_shape *shape = &s->components->shapes[k];
        for (int i = 0; i < shape->count; i++) {
            double alone = shape->matrix[hk_pattern_column(&shape->pattern, i, 0)];
            for (int c = 0; c < shape->copies; c++)
                w->soft[shape->first + (int64_t)c * shape->count + i] =
                    (float)(SOFTER_THAN_ALONE / alone);
        }
    }
    for (int b = 0; b < m->body_count; b++) {
        const int32_t *place = m->place + m->bodies[b].vertex_start;
        double sum = 0;
        for (int k = 0; k < m->bodies[b].vertex_count; k++) sum += p->inertia[place[k]];
        for (int k = 0; k < m->bodies[b].vertex_count && sum > 0; k++)
            if (s->unknown[place[k]] >= 0)
                w->soft[s->unknown[place[k]]] += (float)(SOFTER_THAN_RIGID / sum);
    }
}

// ---------------------------------------------------------------- forces of the step before

static uint64_t hash_of(const int32_t point[4])
{
    uint64_t hash = 0;
    for (int k = 0; k < 4; k++)
        hash = (hash ^ (uint64_t)(uint32_t)point[k]) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

// Its place in the table: that of its own, or of nobody (the first point is -1).
static hk_split_old *find_old(const hk_split_contact *w, const int32_t point[4])
{
    size_t at = (size_t)hash_of(point) & (w->old_size - 1);
    while (w->old[at].point[0] >= 0 && memcmp(w->old[at].point, point, sizeof w->old[at].point))
        at = (at + 1) & (w->old_size - 1);
    return &w->old[at];
}

static hk_status keep_forces(hk_split_contact *w)
{
    size_t size = 16;
    while (size < 2 * w->count) size *= 2;
    HK_TRY(hk_reserve((void **)&w->old, 0, sizeof *w->old, &w->old_room, size));
    w->old_size = size;
    for (size_t k = 0; k < size; k++) w->old[k].point[0] = -1;
    for (size_t k = 0; k < w->count; k++) {
        const hk_split_pair *pair = &w->pairs[k];
        double along = closest_dot(pair->force, pair->n);
        if (!(along > 0)) continue;
        hk_split_old *to = find_old(w, pair->point);
        memcpy(to->point, pair->point, sizeof to->point);
        to->along = along;
        for (int i = 0; i < 3; i++) to->across[i] = pair->force[i] - along * pair->n[i];
    }
    return HK_OK;
}

// Onto |t| ≤ μ λ, λ ≥ 0: λ first, as Coulomb's law has it, then t.
static void project(const hk_split_pair *pair, double force[3])
{
    double along = fmax(0, closest_dot(force, pair->n)), across[3], square = 0;
    double out = closest_dot(force, pair->n);
    for (int i = 0; i < 3; i++) {
        across[i] = force[i] - out * pair->n[i];
        square += across[i] * across[i];
    }
    double most = pair->friction * along, size = sqrt(square);
    double part = size > most ? most / size : 1;
    for (int i = 0; i < 3; i++) force[i] = along * pair->n[i] + part * across[i];
}

static void take_old_force(const hk_split_contact *w, hk_split_pair *pair)
{
    memset(pair->force, 0, sizeof pair->force);
    if (w->old_size == 0) return;
    const hk_split_old *old = find_old(w, pair->point);
    if (old->point[0] < 0) return;
    double out = closest_dot(old->across, pair->n);
    for (int i = 0; i < 3; i++) pair->force[i] = (old->along - out) * pair->n[i] + old->across[i];
    project(pair, pair->force);
}

// ---------------------------------------------------------------- pairs

static int32_t unknown_of(const hk_split *s, int32_t point)
{
    const hk_contacts *c = s->contact.contacts;
    return point < c->body_points ? s->unknown[c->vertex[point]] : -1;
}

// What a pair is like at the state before the step.
static bool make_pair(const hk_split *s, const hk_contact *k, hk_split_pair *pair)
{
    const hk_contacts *c = s->contact.contacts;
    double x[4][3];
    hk_contact_corners(c->x, k->point, x);
    hk_closest at = pair_closest(k->pair.kind, (const double(*)[3])x);
    double distance = pair_distance(k->pair.kind, &at, (const double(*)[3])x);
    if (!(distance > 0)) return false;
    memcpy(pair->point, k->point, sizeof pair->point);
    memcpy(pair->c, at.c, sizeof pair->c);
    pair->soft = 0;
    for (int i = 0; i < 3; i++) pair->n[i] = at.w[i] / distance;
    for (int v = 0; v < 4; v++) {
        int32_t u = unknown_of(s, k->point[v]);
        if (u >= 0) pair->soft += at.c[v] * at.c[v] * (double)s->contact.soft[u];
    }
    pair->lacks = 0.5 * k->pair.width - (distance - k->pair.thickness);
    pair->friction = hk_contact_friction(c->settings, k->sides[0], k->sides[1]);
    return pair->soft > 0;
}

// How far the closest points have gone against each other, if vertices go to y plus `moved`; NULL:
// to y.
static void displacement(const hk_split *s, const hk_split_pair *pair, const float *moved,
                         double u[3])
{
    const hk_problem *p = s->problem;
    const hk_contacts *c = s->contact.contacts;
    u[0] = u[1] = u[2] = 0;
    for (int v = 0; v < 4; v++) {
        int32_t point = pair->point[v], unknown = unknown_of(s, point);
        if (pair->c[v] == 0) continue;
        if (unknown < 0) {
            const double *x = c->x + 3 * (size_t)point, *from = c->from + 3 * (size_t)point;
            for (int i = 0; i < 3; i++) u[i] += pair->c[v] * (x[i] - from[i]);
            continue;
        }
        const double *y = p->y + 4 * (size_t)c->vertex[point], *x = c->x + 3 * (size_t)point;
        for (int i = 0; i < 3; i++) {
            double step = moved ? s->length * (double)moved[4 * (int64_t)unknown + i] : 0;
            u[i] += pair->c[v] * (y[i] + step - x[i]);
        }
    }
}

static hk_status see_far_enough(hk_split *s, const double *x)
{
    hk_contacts *c = s->contact.contacts;
    double away = hk_contacts_gather(c, x), longest = 0;
    for (int p = 0; p < c->body_points; p++) {
        double d[3];
        closest_minus(s->problem->y + 4 * (size_t)c->vertex[p], c->x + 3 * (size_t)p, d);
        longest = fmax(longest, closest_dot(d, d));
    }
    longest = sqrt(longest);
    if (!isfinite(longest)) longest = 0;
    double wanted = fmin(longest, c->widest);
    if (c->reach >= 0 && away + wanted <= c->reach) return HK_OK;
    return hk_contacts_detect(c, fmin(fmax(1.5 * wanted, 0.5 * c->settings->distance), c->widest));
}

static void add_forces(const hk_split *s, bool changes, float *to)
{
    const hk_split_contact *w = &s->contact;
    double unit = 1 / s->length;
    for (size_t k = 0; k < w->count; k++) {
        const hk_split_pair *pair = &w->pairs[k];
        const double *force = changes ? pair->change : pair->force;
        for (int v = 0; v < 4; v++) {
            int32_t u = unknown_of(s, pair->point[v]);
            if (u < 0 || pair->c[v] == 0) continue;
            for (int i = 0; i < 3; i++)
                to[4 * (int64_t)u + i] += (float)(unit * pair->c[v] * force[i]);
        }
    }
}

hk_status hk_split_contact_begin(hk_split *s, const double *x, float *right)
{
    hk_split_contact *w = &s->contact;
    hk_contacts *c = w->contacts;
    HK_TRY(see_far_enough(s, x));
    w->count = 0;
    HK_TRY(hk_reserve((void **)&w->pairs, 0, sizeof *w->pairs, &w->room, c->count));
    for (size_t k = 0; k < c->count; k++) {
        hk_split_pair *pair = &w->pairs[w->count];
        double u[3];
        if (!make_pair(s, &c->list[k], pair)) continue;
        take_old_force(w, pair);
        // Those that inertia does not bring near may come near by elastic forces; hence the margin.
        displacement(s, pair, NULL, u);
        double size = sqrt(closest_dot(u, u)), margin = 0.5 * c->list[k].pair.width + 0.5 * size;
        bool near = pair->lacks + margin > closest_dot(u, pair->n);
        w->count += near || closest_dot(pair->force, pair->n) > 0;
    }
    add_forces(s, false, right);
    return HK_OK;
}

// ---------------------------------------------------------------- the forces

// The step along the projected gradient; false: it is not worth a solve. `work` is its product with
// what displacements lack.
static bool choose(hk_split *s, double *work)
{
    hk_split_contact *w = &s->contact;
    const hk_model_contact *settings = w->contacts->settings;
    double slip = settings->slip_speed * sqrt(1 / s->problem->weight), worst = 0;
    *work = 0;
    for (size_t k = 0; k < w->count; k++) {
        hk_split_pair *pair = &w->pairs[k];
        double u[3], trial[3], lack[3], back = 0;
        displacement(s, pair, w->total, u);
        double out = closest_dot(u, pair->n);
        for (int i = 0; i < 3; i++) {
            lack[i] = -(u[i] - out * pair->n[i]) + (pair->lacks - out) * pair->n[i];
            trial[i] = pair->force[i] + lack[i] / pair->soft;
        }
        project(pair, trial);
        for (int i = 0; i < 3; i++) pair->change[i] = trial[i] - pair->force[i];
        for (int i = 0; i < 3; i++) back += pair->change[i] * lack[i];
        *work += back;
        double along = pair->soft * closest_dot(pair->change, pair->n);
        double size = pair->soft * sqrt(closest_dot(pair->change, pair->change));
        double across = sqrt(fmax(0, size * size - along * along));
        worst = fmax(worst, fmax(fabs(along) / settings->distance, across / slip));
    }
    return worst > ENOUGH && *work > 0;
}

static double best_length(hk_split *s, double work)
{
    const hk_split_contact *w = &s->contact;
    double curvature = 0;
    for (size_t k = 0; k < w->count; k++) {
        const hk_split_pair *pair = &w->pairs[k];
        for (int v = 0; v < 4; v++) {
            int32_t u = unknown_of(s, pair->point[v]);
            if (u < 0) continue;
            const float *moved = s->components->vector + 4 * (int64_t)u;
            for (int i = 0; i < 3; i++)
                curvature += s->length * pair->c[v] * pair->change[i] * (double)moved[i];
        }
    }
    return curvature > 0 ? fmin(1, work / curvature) : 0;
}

static void take(hk_split *s, double length)
{
    hk_split_contact *w = &s->contact;
    int64_t size = 4 * (int64_t)s->components->count;
    const float *vector = s->components->vector;
    for (int64_t k = 0; k < size; k++) w->total[k] += (float)length * vector[k];
    for (size_t k = 0; k < w->count; k++)
        for (int i = 0; i < 3; i++) w->pairs[k].force[i] += length * w->pairs[k].change[i];
}

hk_status hk_split_contact_solve(hk_split *s)
{
    hk_split_contact *w = &s->contact;
    size_t bytes = 4 * sizeof(float) * (size_t)s->components->count;
    float *vector = s->components->vector;
    double work;
    if (w->count == 0) return HK_OK;
    memcpy(w->total, vector, bytes);
    for (int n = 0; n < MOST_SOLVES && choose(s, &work); n++) {
        memset(vector, 0, bytes);
        add_forces(s, true, vector);
        hk_split_solve(s);
        if (s->correction) hk_rotation_correction_apply(s->correction, s->x);
        double length = best_length(s, work);
        if (!(length > 0)) break;
        take(s, length);
    }
    memcpy(vector, w->total, bytes);
    if (s->components->beyond) memset(s->components->beyond, 0, bytes);
    return keep_forces(w);
}

void hk_split_contact_end(hk_split *s, double *x, const double *to)
{
    hk_contacts_walk(s->contact.contacts, x, to);
}
