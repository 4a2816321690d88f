#include "solver/split_contact.h"

#include <math.h>

#include "solver/split.h"

enum { MOST_SOLVES = 6 };
// Errors that are left to the next step, of a gap relative to the distance at which contact begins
// and of slips relative to those at which it sticks: of what the step before left, and of what a
// solve leaves.
#define ENOUGH_AT_FIRST 0.02
#define ENOUGH          0.5
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
    if (!w->total || !w->soft || !w->target) return HK_NO_MEMORY;
    if (hk_split_pass_count(&s->settings) > 1) return HK_OK;
    w->contacts->direct = true;
    return hk_sweep_create(w->contacts, &w->sweep);
}

void hk_split_contact_release(hk_split *s)
{
    hk_split_contact *w = &s->contact;
    hk_free(w->total);
    hk_free(w->soft);
    hk_free(w->target);
    hk_free(w->pairs);
    hk_free(w->table);
    hk_sweep_free(w->sweep);
    if (w->contacts) w->contacts->direct = false;
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

// ---------------------------------------------------------------- pairs by their points

static uint64_t hash_of(const int32_t point[4])
{
    uint64_t hash = 0;
    for (int k = 0; k < 4; k++)
        hash = (hash ^ (uint64_t)(uint32_t)point[k]) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

// Its place in the table: that of its own, or of nobody.
static int64_t *find_place(const hk_split_contact *w, const int32_t point[4])
{
    size_t at = (size_t)hash_of(point) & (w->table_size - 1);
    while (w->table[at] >= 0 &&
           memcmp(w->pairs[w->table[at]].contact.point, point, 4 * sizeof *point) != 0)
        at = (at + 1) & (w->table_size - 1);
    return &w->table[at];
}

static hk_status fill_table(hk_split_contact *w)
{
    size_t size = 16;
    while (size < 2 * w->count) size *= 2;
    HK_TRY(hk_reserve((void **)&w->table, 0, sizeof *w->table, &w->table_room, size));
    w->table_size = size;
    for (size_t k = 0; k < size; k++) w->table[k] = -1;
    for (size_t k = 0; k < w->count; k++) *find_place(w, w->pairs[k].contact.point) = (int64_t)k;
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
    pair->contact = *k;
    memcpy(pair->c, at.c, sizeof pair->c);
    pair->soft = 0;
    for (int i = 0; i < 3; i++) pair->n[i] = at.w[i] / distance;
    for (int v = 0; v < 4; v++) {
        int32_t u = pair->unknown[v] = at.c[v] != 0 ? unknown_of(s, k->point[v]) : -1;
        if (u >= 0) pair->soft += at.c[v] * at.c[v] * (double)s->contact.soft[u];
    }
    pair->lacks = 0.5 * k->pair.width - (distance - k->pair.thickness);
    pair->friction = hk_contact_friction(c->settings, k->sides[0], k->sides[1]);
    return pair->soft > 0;
}

// How far the closest points have gone against each other where vertices are at y plus `moved`.
static void displacement(const hk_split *s, const hk_split_pair *pair, const float *moved,
                         double u[3])
{
    const hk_contacts *c = s->contact.contacts;
    u[0] = u[1] = u[2] = 0;
    for (int v = 0; v < 4; v++) {
        int32_t point = pair->contact.point[v], unknown = pair->unknown[v];
        const double *x = c->x + 3 * (size_t)point, *from = c->from + 3 * (size_t)point;
        if (pair->c[v] == 0) continue;
        if (unknown < 0) {
            for (int i = 0; i < 3; i++) u[i] += pair->c[v] * (x[i] - from[i]);
            continue;
        }
        const double *y = s->problem->y + 4 * (size_t)c->vertex[point];
        for (int i = 0; i < 3; i++)
            u[i] +=
                pair->c[v] * (y[i] + s->length * (double)moved[4 * (int64_t)unknown + i] - x[i]);
    }
}

static void add_forces(const hk_split *s, bool changes, float *to)
{
    const hk_split_contact *w = &s->contact;
    double unit = 1 / s->length;
    for (size_t k = 0; k < w->count; k++) {
        const hk_split_pair *pair = &w->pairs[k];
        const double *force = changes ? pair->change : pair->force;
        for (int v = 0; v < 4; v++)
            for (int i = 0; i < 3 && pair->unknown[v] >= 0; i++)
                to[4 * (int64_t)pair->unknown[v] + i] += (float)(unit * pair->c[v] * force[i]);
    }
}

void hk_split_contact_begin(hk_split *s, const double *x, float *right)
{
    hk_split_contact *w = &s->contact;
    size_t count = 0;
    hk_contacts_gather(w->contacts, x);
    for (size_t k = 0; k < w->count; k++) {
        hk_split_pair pair = w->pairs[k];
        hk_contact contact = pair.contact;
        double along = closest_dot(pair.force, pair.n), across[3];
        if (!(along > 0)) continue;
        for (int i = 0; i < 3; i++) across[i] = pair.force[i] - along * pair.n[i];
        if (!make_pair(s, &contact, &pair)) continue;
        double out = closest_dot(across, pair.n);
        for (int i = 0; i < 3; i++) pair.force[i] = (along - out) * pair.n[i] + across[i];
        project(&pair, pair.force);
        w->pairs[count++] = pair;
    }
    w->count = count;
    add_forces(s, false, right);
}

// Beside those with forces, all that the solution brings too near.
static hk_status add_pairs(hk_split *s)
{
    hk_split_contact *w = &s->contact;
    const hk_contacts *c = w->contacts;
    HK_TRY(fill_table(w));
    HK_TRY(
        hk_reserve((void **)&w->pairs, w->count, sizeof *w->pairs, &w->room, w->count + c->count));
    for (size_t k = 0; k < c->count; k++) {
        hk_split_pair *pair = &w->pairs[w->count];
        double u[3];
        if (*find_place(w, c->list[k].point) >= 0 || !make_pair(s, &c->list[k], pair)) continue;
        memset(pair->force, 0, sizeof pair->force);
        displacement(s, pair, w->total, u);
        w->count += pair->lacks + 0.5 * pair->contact.pair.width > closest_dot(u, pair->n);
    }
    return HK_OK;
}

// ---------------------------------------------------------------- the forces

// The step along the projected gradient; false: it is not worth a solve. `work` is its product with
// what displacements lack.
static bool choose(hk_split *s, double enough, double *work)
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
        worst = fmax(worst, fmax(5 * fabs(along) / settings->distance, across / slip));
    }
    return worst > enough && *work > 0;
}

static double best_length(hk_split *s, double work)
{
    const hk_split_contact *w = &s->contact;
    double curvature = 0;
    for (size_t k = 0; k < w->count; k++) {
        const hk_split_pair *pair = &w->pairs[k];
        for (int v = 0; v < 4; v++) {
            if (pair->unknown[v] < 0) continue;
            const float *moved = s->components->vector + 4 * (int64_t)pair->unknown[v];
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

// Where the solution takes the surfaces.
static void find_target(hk_split *s, const double *x)
{
    const hk_problem *p = s->problem;
    const hk_split_contact *w = &s->contact;
    const hk_contacts *c = w->contacts;
#pragma omp parallel for schedule(static) num_threads(p->threads) if (c->body_points > 4096)
    for (int k = 0; k < c->body_points; k++) {
        int64_t v = c->vertex[k], u = s->unknown[v];
        for (int64_t i = 0; i < 3; i++)
            w->target[4 * v + i] =
                u < 0 ? x[4 * v + i] : p->y[4 * v + i] + s->length * (double)w->total[4 * u + i];
    }
}

hk_status hk_split_contact_solve(hk_split *s, const double *x)
{
    hk_split_contact *w = &s->contact;
    size_t bytes = 4 * sizeof(float) * (size_t)s->components->count;
    float *vector = s->components->vector;
    double work;
    memcpy(w->total, vector, bytes);
    find_target(s, x);
    HK_TRY(hk_sweep_find(w->sweep, x, w->target));
    HK_TRY(add_pairs(s));
    if (w->count == 0) return HK_OK;
    for (int n = 0; n < MOST_SOLVES && choose(s, n ? ENOUGH : ENOUGH_AT_FIRST, &work); n++) {
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
    return HK_OK;
}
