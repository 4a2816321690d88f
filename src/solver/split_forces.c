// Forces of contacts by a model of what they do: bodies move and deform by one affine map each, and
// every pair gives way by itself. With the displacement d + G r of the points of a body, r from its
// middle, that of a pair is u = u₀ + J q, q = (d, G), and its force is that of a spring with the
// softness of the pair, put right as Coulomb has it,
//
//   f(u) = P(f₀ + (what u lacks)/soft),
//
// so that K q = Σ Jᵀ (f(u₀ + J q) − f₀), K what masses and elements resist: twelve equations per
// body, which Newton's method solves with the other bodies where they are, one body after the
// other.
#include <math.h>

#include "solver/split.h"

// Rounds over all bodies, fewer where there are many pairs, and what a round has to move a pair by,
// of the distance at which contact begins, for the next to be worth while.
enum { LEAST_ROUNDS = 3, MOST_ROUNDS = 12, PAIRS_OF_ROUNDS = 12000 };
enum { MOST_HALVINGS = 3, SIZE = HK_SPLIT_MODES };
#define SMALL_MOVE 1e-4

void hk_split_project(const hk_split_pair *pair, double force[3])
{
    double along = closest_dot(force, pair->at.n), most, square = 0, across[3];
    for (int i = 0; i < 3; i++) {
        across[i] = force[i] - along * pair->at.n[i];
        square += across[i] * across[i];
    }
    if (along < 0) along = 0;
    most = pair->friction * along;
    double part = square > most * most ? most / sqrt(square) : 1;
    for (int i = 0; i < 3; i++) force[i] = along * pair->at.n[i] + part * across[i];
}

// ---------------------------------------------------------------- bodies

// K of a body: rows of q are (d_i, G_i), i the axis, so that q_i · (1, r) is a displacement along
// it.
static void find_resistance(const hk_split *s, int b, const double *x)
{
    const hk_problem *p = s->problem;
    const hk_body *body = &p->model->bodies[b];
    const int32_t *place = p->model->place + body->vertex_start;
    hk_split_rigid *r = &s->contact.bodies[b];
    double sum[3] = {0}, spread[3][3] = {{0}};
    for (int k = 0; k < body->vertex_count; k++)
        for (int i = 0; i < 3; i++) sum[i] += p->inertia[place[k]] * x[4 * (int64_t)place[k] + i];
    for (int i = 0; i < 3; i++) r->center[i] = sum[i] / r->heavy;
    for (int k = 0; k < body->vertex_count; k++) {
        double d[3], m = p->inertia[place[k]];
        closest_minus(x + 4 * (int64_t)place[k], r->center, d);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) spread[i][j] += m * d[i] * d[j];
    }
    memset(r->resists, 0, sizeof r->resists);
    // Elements resist what is symmetric of G, and the rest where bodies do not turn freely.
    double stretch = r->stiff, turn = s->correction ? 0 : r->stiff;
    for (int i = 0; i < 3; i++) {
        r->resists[4 * i][4 * i] = r->heavy;
        for (int j = 0; j < 3; j++) {
            for (int k = 0; k < 3; k++) r->resists[4 * i + 1 + j][4 * i + 1 + k] += spread[j][k];
            r->resists[4 * i + 1 + j][4 * i + 1 + j] += 0.5 * (stretch + turn);
            r->resists[4 * i + 1 + j][4 * j + 1 + i] += 0.5 * (stretch - turn);
        }
    }
    r->known = true;
}

// The body of a side of a pair, where it is free to move; NULL: it is not.
static hk_split_rigid *rigid_of(const hk_split *s, const hk_split_pair *pair, int side)
{
    const int32_t *sides = pair->at.sides;
    bool own = sides[0] == sides[1];  // as a rigid body it does nothing to itself
    if (own || sides[side] >= s->problem->model->body_count) return NULL;
    hk_split_rigid *r = &s->contact.bodies[sides[side]];
    return isinf(r->heavy) ? NULL : r;
}

static void find_arms(const hk_split *s, hk_split_pair *pair)
{
    const hk_contacts *c = s->contact.contacts;
    int firsts = hk_pair_firsts(pair->at.way.kind);
    for (int side = 0; side < 2; side++) {
        const hk_split_rigid *r = rigid_of(s, pair, side);
        double at[3] = {0};
        if (!r) continue;
        for (int v = side ? firsts : 0; v < (side ? 4 : firsts); v++)
            for (int i = 0; i < 3; i++)
                at[i] += fabs(pair->at.c[v]) * c->x[3 * (size_t)pair->at.way.point[v] + (size_t)i];
        closest_minus(at, r->center, pair->arm[side]);
    }
}

// ---------------------------------------------------------------- pairs

// What bodies move a pair by, after those before; `q` in place of that of one side.
static void moved_by(const hk_split *s, const hk_split_pair *pair, int which, const double *q,
                     double u[3])
{
    memcpy(u, pair->u, 3 * sizeof *u);
    for (int side = 0; side < 2; side++) {
        const hk_split_rigid *r = rigid_of(s, pair, side);
        if (!r) continue;
        const double *by = side == which ? q : r->q;
        for (int i = 0; i < 3; i++)
            u[i] += (side ? -1 : 1) * (by[4 * i] + closest_dot(by + 4 * i + 1, pair->arm[side]));
    }
}

// The force at u, and −∂f/∂u unless that is NULL.
static void spring(const hk_split_pair *pair, const double u[3], double force[3],
                   double slope[3][3])
{
    double stiff = 1 / pair->soft, out = closest_dot(u, pair->at.n), square = 0, t[3];
    double base = closest_dot(pair->force, pair->at.n);
    double along = base + stiff * (pair->lacks - out);
    for (int i = 0; i < 3; i++) {
        t[i] = pair->force[i] - base * pair->at.n[i] - stiff * (u[i] - out * pair->at.n[i]);
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
    for (int i = 0; i < 3; i++) force[i] = along * pair->at.n[i] + part * t[i];
    if (!slope) return;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double nn = pair->at.n[i] * pair->at.n[j];
            slope[i][j] = stiff * (nn + part * ((i == j) - nn));
            if (slides)
                slope[i][j] +=
                    stiff * t[i] / size * (pair->friction * pair->at.n[j] - part * t[j] / size);
        }
}

// ---------------------------------------------------------------- one body

// What is left of the equations of a body at q, times itself by the inverse of what it resists.
// Changes of its pairs are those at q.
static double residual(hk_split *s, const hk_split_rigid *r, const double *q, double *left,
                       double (*matrix)[SIZE])
{
    hk_split_contact *w = &s->contact;
    double sum = 0;
    for (int i = 0; i < SIZE; i++) {
        left[i] = 0;
        for (int j = 0; j < SIZE; j++) left[i] -= r->resists[i][j] * q[j];
    }
    for (size_t k = r->first; k < r->end; k++) {
        hk_split_pair *pair = &w->pairs[w->uses[k] / 2];
        int side = (int)(w->uses[k] % 2);
        double u[3], force[3], slope[3][3], sign = side ? -1 : 1;
        const double *arm = pair->arm[side], at[4] = {1, arm[0], arm[1], arm[2]};
        moved_by(s, pair, side, q, u);
        spring(pair, u, force, matrix ? slope : NULL);
        for (int i = 0; i < 3; i++) {
            pair->change[i] = force[i] - pair->force[i];
            for (int a = 0; a < 4; a++) left[4 * i + a] += sign * pair->change[i] * at[a];
        }
        if (!matrix || !(closest_dot(force, pair->at.n) > 0)) continue;
        for (int i = 0; i < 3; i++)
            for (int a = 0; a < 4; a++)
                for (int j = 0; j < 3; j++)
                    for (int b = 0; b < 4; b++)
                        matrix[4 * i + a][4 * j + b] += slope[i][j] * at[a] * at[b];
    }
    for (int i = 0; i < SIZE; i++) sum += left[i] * left[i] / r->resists[i][i];
    return sum;
}

// Solves a x = x in place (Gauss, with pivots); false: there is no solution.
static bool solve_body(double (*a)[SIZE], double *x)
{
    for (int k = 0; k < SIZE; k++) {
        int best = k;
        for (int i = k + 1; i < SIZE; i++)
            if (fabs(a[i][k]) > fabs(a[best][k])) best = i;
        if (!(fabs(a[best][k]) > 0)) return false;
        for (int j = k; j < SIZE && best != k; j++) {
            double kept = a[k][j];
            a[k][j] = a[best][j];
            a[best][j] = kept;
        }
        double kept = x[k], inverse = 1 / a[k][k];
        x[k] = x[best];
        x[best] = kept;
        for (int i = k + 1; i < SIZE; i++) {
            double factor = a[i][k] * inverse;
            for (int j = k; j < SIZE; j++) a[i][j] -= factor * a[k][j];
            x[i] -= factor * x[k];
        }
    }
    for (int k = SIZE - 1; k >= 0; k--) {
        for (int j = k + 1; j < SIZE; j++) x[k] -= a[k][j] * x[j];
        x[k] /= a[k][k];
    }
    return true;
}

// One step of Newton's method; how far it moves the body.
static double relax_body(hk_split *s, hk_split_rigid *r)
{
    double left[SIZE], step[SIZE], matrix[SIZE][SIZE], trial[SIZE], large = 0;
    memcpy(matrix, r->resists, sizeof matrix);
    double before = residual(s, r, r->q, left, matrix), scale = 1;
    memcpy(step, left, sizeof step);
    if (!(before > 0) || !solve_body(matrix, step)) return 0;
    for (int n = 0; n <= MOST_HALVINGS; n++, scale *= 0.5) {
        for (int i = 0; i < SIZE; i++) trial[i] = r->q[i] + scale * step[i];
        if (residual(s, r, trial, left, NULL) < before) break;
    }
    memcpy(r->q, trial, sizeof trial);
    for (int i = 0; i < 3; i++) large = fmax(large, scale * fabs(step[4 * i]));
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

// Bodies of one colour have no pair in common. Those that touch too many others for a colour of
// their own are of the last one, and are done one by one.
enum { COLOURS = 64 };

static int colour_of(const hk_split *s, int b)
{
    const hk_split_contact *w = &s->contact;
    int bodies = s->problem->model->body_count, colour = 0;
    uint64_t taken = 0;
    for (size_t k = w->bodies[b].first; k < w->bodies[b].end; k++) {
        int other = w->pairs[w->uses[k] / 2].at.sides[1 - w->uses[k] % 2];
        if (other < b && other < bodies && w->bodies[other].end > w->bodies[other].first)
            taken |= UINT64_C(1) << w->bodies[other].colour;
    }
    while (colour < COLOURS - 1 && (taken >> colour & 1)) colour++;
    return colour;
}

// One step for every body; the largest.
static double relax_bodies(hk_split *s, bool back)
{
    hk_split_contact *w = &s->contact;
    int bodies = s->problem->model->body_count, threads = s->problem->threads;
    double moved = 0;
    for (int n = 0; n < w->colours; n++) {
        int colour = back ? w->colours - 1 - n : n;
        bool many = threads > 1 && colour < COLOURS - 1 && w->count > 256;
#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(max : moved) if (many)
        for (int b = 0; b < bodies; b++) {
            hk_split_rigid *r = &w->bodies[b];
            if (r->end == r->first || r->colour != colour) continue;
            double by = relax_body(s, r);
            moved = by > moved ? by : moved;
        }
    }
    return moved;
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
    w->colours = 0;
    for (int b = 0; b < bodies; b++) {
        hk_split_rigid *r = &w->bodies[b];
        memset(r->q, 0, sizeof r->q);
        if (r->end == r->first) continue;
        if (!r->known) find_resistance(s, b, x);
        r->colour = colour_of(s, b);
        w->colours = hk_max_int(w->colours, r->colour + 1);
    }
    for (size_t k = 0; k < w->count; k++) {
        find_arms(s, &w->pairs[k]);
        relax_alone(s, &w->pairs[k]);
    }
    double moved = INFINITY;
    int rounds = (int)(PAIRS_OF_ROUNDS / (w->count + 1));
    rounds = hk_max_int(LEAST_ROUNDS, hk_min_int(MOST_ROUNDS, rounds));
    for (int n = 0; n < rounds && moved > enough; n++) moved = relax_bodies(s, n % 2);
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
