#include "solver/split_contact.h"

#include <math.h>

#include "solver/split.h"

enum { MOST_SOLVES = 2 };
// Errors that are left to the next step, of a gap relative to the distance at which contact begins
// and of slips relative to those at which it sticks: of what the step before left, and of what a
// solve leaves.
#define ENOUGH_AT_FIRST 0.05
#define ENOUGH          0.5
// Contacts are hard at this part of the distance at which they begin for methods that minimise:
// what lies with these lies here, too. Those that come nearer than LOOK_AHEAD of it are looked
// after.
#define HARD_AT    0.9
#define LOOK_AHEAD 1.4
// Of the change of a force, so much is kept for the next step. Corrections that are a part g of
// what they should be, all of them kept, would be unstable for g < 1/2: the force would be an
// integral of the error, and the place one of the force twice. With a part k they are not for (2 +
// k)(1 + k) g > k.
#define KEPT 0.25
// (A⁻¹)_vv, less what is rigid of it, is about so many times that of the vertex alone, 1/A_vv.
#define SOFTER_THAN_ALONE 4

hk_status hk_split_contact_init(hk_split *s)
{
    const hk_problem *p = s->problem;
    hk_split_contact *w = &s->contact;
    w->contacts = hk_terms_contacts(p->terms);
    if (!w->contacts) return HK_OK;
    w->total = HK_ZEROS(float, 4 * (size_t)p->free_count);
    w->soft = HK_ZEROS(float, p->free_count);
    w->target = HK_ZEROS(double, 4 * (size_t)p->vertex_count);
    w->bodies = HK_ZEROS(hk_split_rigid, p->model->body_count);
    if (!w->total || !w->soft || !w->target || !w->bodies) return HK_NO_MEMORY;
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
    hk_free(w->bodies);
    hk_free(w->uses);
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
        w->bodies[b].heavy = w->bodies[b].stiff = 0;
        for (int k = 0; k < m->bodies[b].vertex_count; k++)
            w->bodies[b].heavy += p->held[place[k]] ? INFINITY : p->inertia[place[k]];
        for (int t = m->bodies[b].tet_start; t < m->bodies[b].tet_start + m->bodies[b].tet_count;
             t++)
            w->bodies[b].stiff +=
                (1 + p->stiffening) * s->stiffness[m->tet_material[t]] * m->volume[t];
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
           memcmp(w->pairs[w->table[at]].at.way.point, point, 4 * sizeof *point) != 0)
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
    for (size_t k = 0; k < w->count; k++) *find_place(w, w->pairs[k].at.way.point) = (int64_t)k;
    return HK_OK;
}

// ---------------------------------------------------------------- pairs

static int32_t unknown_of(const hk_split *s, int32_t point)
{
    const hk_contacts *c = s->contact.contacts;
    return point < c->body_points ? s->unknown[c->vertex[point]] : -1;
}

// What a pair is like at the state before the step, where pair->at is known; false: nothing moves
// it, or it is no pair.
static bool make_pair(const hk_split *s, hk_split_pair *pair)
{
    const hk_contacts *c = s->contact.contacts;
    const hk_sweep_pair *at = &pair->at;
    pair->soft = 0;
    for (int v = 0; v < 4; v++) {
        int32_t u = pair->unknown[v] = at->c[v] != 0 ? unknown_of(s, at->way.point[v]) : -1;
        if (u >= 0) pair->soft += at->c[v] * at->c[v] * (double)s->contact.soft[u];
    }
    pair->lacks = HARD_AT * at->width - (at->distance - at->way.thickness);
    pair->whole = pair->soft;
    for (int i = 0; i < 2; i++)
        if (at->sides[0] != at->sides[1] && at->sides[i] < s->problem->model->body_count)
            pair->whole += 1 / s->contact.bodies[at->sides[i]].heavy;
    pair->friction = hk_contact_friction(c->settings, at->sides[0], at->sides[1]);
    return pair->soft > 0;
}

// How far a corner goes from where the step begins to y plus `moved`.
static void way_of(const hk_split *s, const hk_split_pair *pair, int v, const float *moved,
                   double way[3])
{
    const hk_contacts *c = s->contact.contacts;
    int32_t point = pair->at.way.point[v], unknown = unknown_of(s, point);
    const double *x = c->x + 3 * (size_t)point, *from = c->from + 3 * (size_t)point;
    if (unknown < 0) {
        closest_minus(x, from, way);
        return;
    }
    const double *y = s->problem->y + 4 * (size_t)c->vertex[point];
    for (int i = 0; i < 3; i++)
        way[i] = y[i] + s->length * (double)moved[4 * (int64_t)unknown + i] - x[i];
}

// How far the closest points have gone against each other.
static void displacement(const hk_split *s, const hk_split_pair *pair, const float *moved,
                         double u[3])
{
    u[0] = u[1] = u[2] = 0;
    for (int v = 0; v < 4; v++) {
        double way[3];
        if (pair->at.c[v] == 0) continue;
        way_of(s, pair, v, moved, way);
        for (int i = 0; i < 3; i++) u[i] += pair->at.c[v] * way[i];
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
                to[4 * (int64_t)pair->unknown[v] + i] += (float)(unit * pair->at.c[v] * force[i]);
    }
}

void hk_split_contact_begin(hk_split *s, const double *x, float *right)
{
    hk_split_contact *w = &s->contact;
    size_t count = 0;
    hk_sweep_take(w->sweep, x);
    for (int b = 0; b < s->problem->model->body_count; b++) w->bodies[b].known = false;
    for (size_t k = 0; k < w->count; k++) {
        hk_split_pair *pair = &w->pairs[count];
        if (!(closest_dot(w->pairs[k].force, w->pairs[k].at.n) > 0)) continue;
        *pair = w->pairs[k];
        for (int i = 0; i < 3; i++)
            pair->force[i] = pair->kept[i] + KEPT * (pair->force[i] - pair->kept[i]);
        double along = closest_dot(pair->force, pair->at.n), across[3];
        for (int i = 0; i < 3; i++) across[i] = pair->force[i] - along * pair->at.n[i];
        if (!hk_sweep_measure(w->contacts, &pair->at) ||
            !hk_sweep_is_nearest(w->sweep, &pair->at, 0) || !make_pair(s, pair) ||
            pair->lacks < (HARD_AT - LOOK_AHEAD) * pair->at.width)
            continue;
        double out = closest_dot(across, pair->at.n);
        for (int i = 0; i < 3; i++) pair->force[i] = (along - out) * pair->at.n[i] + across[i];
        hk_split_project(pair, pair->force);
        memcpy(pair->kept, pair->force, sizeof pair->kept);
        count++;
    }
    w->count = count;
    add_forces(s, false, right);
}

// Beside those with forces, all that the solution brings too near.
static hk_status add_pairs(hk_split *s)
{
    hk_split_contact *w = &s->contact;
    size_t all;
    const hk_sweep_pair *list = hk_sweep_pairs(w->sweep, &all);
    if (all == 0) return HK_OK;
    HK_TRY(fill_table(w));
    HK_TRY(hk_reserve((void **)&w->pairs, w->count, sizeof *w->pairs, &w->room, w->count + all));
    for (size_t k = 0; k < all; k++) {
        hk_split_pair *pair = &w->pairs[w->count];
        int64_t known = *find_place(w, list[k].way.point);
        if (known >= 0) {  // as it is where it slides to
            w->pairs[known].at = list[k];
            make_pair(s, &w->pairs[known]);
            continue;
        }
        pair->at = list[k];
        if (!make_pair(s, pair)) continue;
        displacement(s, pair, w->total, pair->u);
        memset(pair->force, 0, sizeof pair->force);
        memset(pair->kept, 0, sizeof pair->kept);
        w->count += pair->lacks + (LOOK_AHEAD - HARD_AT) * pair->at.width >
                    closest_dot(pair->u, pair->at.n);
    }
    return HK_OK;
}

// Bodies go elsewhere by the forces that were found: with closest points and normals as they are on
// the ways of now.
static void renew_pairs(hk_split *s)
{
    hk_split_contact *w = &s->contact;
    for (size_t k = 0; k < w->count; k++) {
        hk_split_pair *pair = &w->pairs[k], next = *pair;
        double way[4][3];
        bool driven = false;
        for (int v = 0; v < 4; v++) {
            way_of(s, pair, v, w->total, way[v]);
            driven |= pair->unknown[v] < 0 && closest_dot(way[v], way[v]) > 0;
        }
        if (driven || pair->at.way.kind == HK_VERTEX_PLANE) continue;
        hk_sweep_meet(w->contacts, (const double(*)[3])way, &next.at);
        if (hk_sweep_is_nearest(w->sweep, &next.at, next.at.time) && make_pair(s, &next))
            *pair = next;
    }
}

// ---------------------------------------------------------------- the forces

// Whether forces have to change: how far the solution is from what pairs ask for.
static bool is_enough(hk_split *s, double enough)
{
    const hk_split_contact *w = &s->contact;
    const hk_model_contact *settings = w->contacts->settings;
    double slip = settings->slip_speed * sqrt(1 / s->problem->weight), worst = 0;
    for (size_t k = 0; k < w->count; k++) {
        hk_split_pair *pair = &w->pairs[k];
        double trial[3], change[3];
        displacement(s, pair, w->total, pair->u);
        double out = closest_dot(pair->u, pair->at.n);
        for (int i = 0; i < 3; i++)
            trial[i] = pair->force[i] +
                       ((pair->lacks - out) * pair->at.n[i] - (pair->u[i] - out * pair->at.n[i])) /
                           pair->whole;
        hk_split_project(pair, trial);
        for (int i = 0; i < 3; i++) change[i] = pair->whole * (trial[i] - pair->force[i]);
        double along = closest_dot(change, pair->at.n), all = closest_dot(change, change);
        double across = sqrt(fmax(0, all - along * along));
        worst = fmax(worst, fmax(5 * fabs(along) / settings->distance, across / slip));
    }
    return !(worst > enough);
}

// How much of the changes to take: they were found by a model that is too stiff at times.
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
                curvature += s->length * pair->at.c[v] * pair->change[i] * (double)moved[i];
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

// For those who ask what pushed.
static hk_status tell_forces(const hk_split *s)
{
    const hk_split_contact *w = &s->contact;
    hk_contacts *c = w->contacts;
    c->push_count = 0;
    c->pushed = true;
    HK_TRY(hk_reserve((void **)&c->pushes, 0, sizeof *c->pushes, &c->push_capacity, w->count));
    for (size_t k = 0; k < w->count; k++) {
        const hk_split_pair *pair = &w->pairs[k];
        if (!(closest_dot(pair->force, pair->at.n) > 0)) continue;
        hk_contact_push *to = &c->pushes[c->push_count++];
        memcpy(to->point, pair->at.way.point, sizeof to->point);
        memcpy(to->sides, pair->at.sides, sizeof to->sides);
        for (int i = 0; i < 12; i++) to->gradient[i] = -pair->at.c[i / 3] * pair->force[i % 3];
    }
    return HK_OK;
}

hk_status hk_split_contact_solve(hk_split *s, const double *x)
{
    hk_split_contact *w = &s->contact;
    size_t bytes = 4 * sizeof(float) * (size_t)s->components->count;
    float *vector = s->components->vector;
    double work;
    memcpy(w->total, vector, bytes);
    find_target(s, x);
    HK_TRY(hk_sweep_find(w->sweep, w->target));
    HK_TRY(add_pairs(s));
    if (w->count == 0) return tell_forces(s);
    for (int n = 0; n < MOST_SOLVES; n++) {
        if (n > 0) renew_pairs(s);
        if (is_enough(s, n ? ENOUGH : ENOUGH_AT_FIRST)) break;
        HK_TRY(hk_split_find_changes(s, x, &work));
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
    return tell_forces(s);
}
