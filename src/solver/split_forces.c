// Forces of contacts by a model of what they do: bodies move as rigid ones, and every pair gives
// way by itself. With the displacement q of a body (three translations, three angles), that of its
// pairs is u = u₀ + J q, and their forces are those of springs with the softness of the pair, put
// right as Coulomb has it,
//
//   f(u) = P(f₀ + (what u lacks)/soft),
//
// so that M q = Σ Jᵀ (f(u₀ + J q) − f₀): six equations per body, which Newton's method solves
// with the other bodies where they are, one body after the other.
#include <math.h>

#include "solver/split.h"

// Rounds over all bodies, and what a round has to move a pair by, of the distance at which contact
// begins, for the next to be worth while.
enum { MOST_ROUNDS = 12, MOST_HALVINGS = 3 };
#define SMALL_MOVE 1e-4

void hk_split_project(const hk_split_pair *pair, double force[3])
{
    double along = closest_dot(force, pair->n), most, square = 0, across[3];
    for (int i = 0; i < 3; i++) {
        across[i] = force[i] - along * pair->n[i];
        square += across[i] * across[i];
    }
    if (along < 0) along = 0;
    most = pair->friction * along;
    double part = square > most * most ? most / sqrt(square) : 1;
    for (int i = 0; i < 3; i++) force[i] = along * pair->n[i] + part * across[i];
}

// ---------------------------------------------------------------- rigid bodies

static void find_rigid(const hk_split *s, int b, const double *x)
{
    const hk_problem *p = s->problem;
    const hk_body *body = &p->model->bodies[b];
    const int32_t *place = p->model->place + body->vertex_start;
    hk_split_rigid *r = &s->contact.bodies[b];
    double sum[3] = {0};
    for (int k = 0; k < body->vertex_count; k++)
        for (int i = 0; i < 3; i++) sum[i] += p->inertia[place[k]] * x[4 * (int64_t)place[k] + i];
    for (int i = 0; i < 3; i++) r->center[i] = sum[i] / r->heavy;
    memset(r->inertia, 0, sizeof r->inertia);
    for (int k = 0; k < body->vertex_count; k++) {
        double d[3], m = p->inertia[place[k]];
        closest_minus(x + 4 * (int64_t)place[k], r->center, d);
        double square = closest_dot(d, d);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                r->inertia[i][j] += m * ((i == j ? square : 0) - d[i] * d[j]);
    }
    r->known = true;
}

// The body of a side of a pair, where it is free to move; NULL: it is not.
static hk_split_rigid *rigid_of(const hk_split *s, const hk_split_pair *pair, int side)
{
    const int32_t *sides = pair->contact.sides;
    bool own = sides[0] == sides[1];  // as a rigid body it does nothing to itself
    if (own || sides[side] >= s->problem->model->body_count) return NULL;
    hk_split_rigid *r = &s->contact.bodies[sides[side]];
    return isinf(r->heavy) ? NULL : r;
}

static void find_arms(const hk_split *s, hk_split_pair *pair)
{
    const hk_contacts *c = s->contact.contacts;
    int firsts = hk_pair_firsts(pair->contact.pair.kind);
    for (int side = 0; side < 2; side++) {
        const hk_split_rigid *r = rigid_of(s, pair, side);
        double at[3] = {0};
        if (!r) continue;
        for (int v = side ? firsts : 0; v < (side ? 4 : firsts); v++)
            for (int i = 0; i < 3; i++)
                at[i] += fabs(pair->c[v]) * c->x[3 * (size_t)pair->contact.point[v] + (size_t)i];
        closest_minus(at, r->center, pair->arm[side]);
    }
}

// ---------------------------------------------------------------- pairs

// What rigid motions move a pair by, after those before; `q` in place of that of one side.
static void moved_by(const hk_split *s, const hk_split_pair *pair, int which, const double *q,
                     double u[3])
{
    memcpy(u, pair->u, 3 * sizeof *u);
    for (int side = 0; side < 2; side++) {
        const hk_split_rigid *r = rigid_of(s, pair, side);
        double turned[3];
        if (!r) continue;
        const double *by = side == which ? q : r->q;
        closest_cross(by + 3, pair->arm[side], turned);
        for (int i = 0; i < 3; i++) u[i] += (side ? -1 : 1) * (by[i] + turned[i]);
    }
}

// The force at u, and −∂f/∂u unless that is NULL.
static void spring(const hk_split_pair *pair, const double u[3], double force[3],
                   double slope[3][3])
{
    double stiff = 1 / pair->soft, out = closest_dot(u, pair->n), square = 0, t[3];
    double base = closest_dot(pair->force, pair->n);
    double along = base + stiff * (pair->lacks - out);
    for (int i = 0; i < 3; i++) {
        t[i] = pair->force[i] - base * pair->n[i] - stiff * (u[i] - out * pair->n[i]);
        square += t[i] * t[i];
    }
    if (slope) memset(slope, 0, 9 * sizeof(double));
    if (!(along > 0)) {
        memset(force, 0, 3 * sizeof *force);
        return;
    }
    double most = pair->friction * along;
    bool slides = square > most * most;
    double size = sqrt(square), part = slides ? most / size : 1;
    for (int i = 0; i < 3; i++) force[i] = along * pair->n[i] + part * t[i];
    if (!slope) return;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double nn = pair->n[i] * pair->n[j];
            slope[i][j] = stiff * (nn + part * ((i == j) - nn));
            if (slides)
                slope[i][j] += stiff * t[i] / size *
                               (pair->friction * pair->n[j] - part * t[j] / size);
        }
}

// ---------------------------------------------------------------- one body

// What is left of the equations of a body at q, times itself by the inverse of the masses. Changes
// of its pairs are those at q.
static double residual(hk_split *s, const hk_split_rigid *r, const double q[6], double left[6],
                       double matrix[6][6])
{
    hk_split_contact *w = &s->contact;
    for (int i = 0; i < 3; i++) {
        left[i] = -r->heavy * q[i];
        left[3 + i] = -closest_dot(r->inertia[i], q + 3);
    }
    for (size_t k = r->first; k < r->end; k++) {
        hk_split_pair *pair = &w->pairs[w->uses[k] / 2];
        int side = (int)(w->uses[k] % 2);
        double u[3], force[3], slope[3][3], turn[3], sign = side ? -1 : 1;
        moved_by(s, pair, side, q, u);
        spring(pair, u, force, matrix ? slope : NULL);
        for (int i = 0; i < 3; i++) pair->change[i] = force[i] - pair->force[i];
        closest_cross(pair->arm[side], pair->change, turn);
        for (int i = 0; i < 3; i++) {
            left[i] += sign * pair->change[i];
            left[3 + i] += sign * turn[i];
        }
        for (int j = 0; j < 6 && matrix; j++) {
            double unit[3] = {j % 3 == 0, j % 3 == 1, j % 3 == 2}, by[3], pull[3];
            memcpy(by, unit, sizeof by);
            if (j >= 3) closest_cross(unit, pair->arm[side], by);
            for (int i = 0; i < 3; i++) pull[i] = closest_dot(slope[i], by);
            closest_cross(pair->arm[side], pull, turn);
            for (int i = 0; i < 3; i++) {
                matrix[i][j] += pull[i];
                matrix[3 + i][j] += turn[i];
            }
        }
    }
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += left[i] * left[i] / r->heavy + left[3 + i] * left[3 + i] / r->inertia[i][i];
    return sum;
}

// Solves a x = x in place (Gauss, with pivots); false: there is no solution.
static bool solve_six(double a[6][6], double x[6])
{
    for (int k = 0; k < 6; k++) {
        int best = k;
        for (int i = k + 1; i < 6; i++)
            if (fabs(a[i][k]) > fabs(a[best][k])) best = i;
        if (!(fabs(a[best][k]) > 0)) return false;
        for (int j = 0; j < 6 && best != k; j++) {
            double kept = a[k][j];
            a[k][j] = a[best][j];
            a[best][j] = kept;
        }
        double kept = x[k];
        x[k] = x[best];
        x[best] = kept;
        for (int i = k + 1; i < 6; i++) {
            double factor = a[i][k] / a[k][k];
            for (int j = k; j < 6; j++) a[i][j] -= factor * a[k][j];
            x[i] -= factor * x[k];
        }
    }
    for (int k = 5; k >= 0; k--) {
        for (int j = k + 1; j < 6; j++) x[k] -= a[k][j] * x[j];
        x[k] /= a[k][k];
    }
    return true;
}

// One step of Newton's method; how far it moves the body.
static double relax_body(hk_split *s, hk_split_rigid *r)
{
    double left[6], step[6], matrix[6][6] = {{0}}, trial[6], large = 0;
    for (int i = 0; i < 3; i++) {
        matrix[i][i] = r->heavy;
        memcpy(&matrix[3 + i][3], r->inertia[i], sizeof r->inertia[i]);
    }
    double before = residual(s, r, r->q, left, matrix), scale = 1;
    memcpy(step, left, sizeof step);
    if (!(before > 0) || !solve_six(matrix, step)) return 0;
    for (int n = 0; n <= MOST_HALVINGS; n++, scale *= 0.5) {
        for (int i = 0; i < 6; i++) trial[i] = r->q[i] + scale * step[i];
        if (residual(s, r, trial, left, NULL) < before) break;
    }
    memcpy(r->q, trial, sizeof trial);
    for (int i = 0; i < 3; i++) {
        double turn = step[3 + i] * sqrt(r->inertia[i][i] / r->heavy);
        large = fmax(large, scale * fmax(fabs(step[i]), fabs(turn)));
    }
    return large;
}

// ---------------------------------------------------------------- all of them

// Which pairs a body has: 2 × pair + side, in their order.
static hk_status list_uses(hk_split *s)
{
    hk_split_contact *w = &s->contact;
    int bodies = s->problem->model->body_count;
    size_t total = 0;
    for (int b = 0; b < bodies; b++) w->bodies[b].end = 0;
    for (size_t k = 0; k < 2 * w->count; k++) {
        hk_split_rigid *r = rigid_of(s, &w->pairs[k / 2], (int)(k % 2));
        if (r) r->end++;
    }
    HK_TRY(hk_reserve((void **)&w->uses, 0, sizeof *w->uses, &w->use_room, 2 * w->count));
    for (int b = 0; b < bodies; b++) {
        w->bodies[b].first = total;
        total += w->bodies[b].end;
        w->bodies[b].end = w->bodies[b].first;
    }
    for (size_t k = 0; k < 2 * w->count; k++) {
        hk_split_rigid *r = rigid_of(s, &w->pairs[k / 2], (int)(k % 2));
        if (r) w->uses[r->end++] = k;
    }
    return HK_OK;
}

// Those that no body can put right: of held bodies, and of one with itself.
static void relax_alone(const hk_split *s, hk_split_pair *pair)
{
    double force[3];
    if (rigid_of(s, pair, 0) || rigid_of(s, pair, 1)) return;
    spring(pair, pair->u, force, NULL);
    for (int i = 0; i < 3; i++) pair->change[i] = force[i] - pair->force[i];
}

hk_status hk_split_find_changes(hk_split *s, const double *x, double *work)
{
    hk_split_contact *w = &s->contact;
    int bodies = s->problem->model->body_count;
    double enough = SMALL_MOVE * w->contacts->settings->distance;
    HK_TRY(list_uses(s));
    for (int b = 0; b < bodies; b++) {
        hk_split_rigid *r = &w->bodies[b];
        memset(r->q, 0, sizeof r->q);
        if (r->end > r->first && !r->known) find_rigid(s, b, x);
    }
    for (size_t k = 0; k < w->count; k++) {
        find_arms(s, &w->pairs[k]);
        relax_alone(s, &w->pairs[k]);
    }
    double moved = INFINITY;
    for (int n = 0; n < MOST_ROUNDS && moved > enough; n++) {
        moved = 0;
        for (int k = 0; k < bodies; k++) {
            hk_split_rigid *r = &w->bodies[n % 2 ? bodies - 1 - k : k];
            if (r->end > r->first) moved = fmax(moved, relax_body(s, r));
        }
    }
    *work = 0;
    for (size_t k = 0; k < w->count; k++) {
        const hk_split_pair *pair = &w->pairs[k];
        double u[3];
        moved_by(s, pair, -1, NULL, u);
        for (int i = 0; i < 3; i++)
            *work += pair->change[i] * (u[i] - pair->u[i] + pair->soft * pair->change[i]);
    }
    return HK_OK;
}
