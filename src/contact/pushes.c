// Which contacts push around a centre (touches.h), and the slots for their forces.
#include <math.h>

#include "contact/quick.h"
#include "contact/slab.h"
#include "contact/touches.h"
#include "term/lanes.h"

// Blocks of candidates whose pushes are listed, and energies added up, one after the other.
enum { RUN_BLOCKS = 16, RUN = RUN_BLOCKS * HK_FEATURE_LANES };

// ---------------------------------------------------------------- candidates

// Blocks of one kind each; lanes that are left over have the last one once more.
hk_status hk_touches_list_candidates(hk_contacts *c)
{
    hk_touches *t = c->touches;
    size_t lanes = HK_FEATURE_LANES, most = t->near_count / lanes + 4;
    double distance = c->settings->distance;
    HK_TRY(
        hk_reserve((void **)&t->candidate, 0, sizeof *t->candidate, &t->candidate_capacity, most));
    HK_TRY(hk_reserve((void **)&t->candidate_pair, 0, lanes * sizeof(hk_pair),
                      &t->candidate_pair_capacity, most));
    t->push_margin = fmax(3 * t->motion, 0.02 * distance);
    t->candidate_margin = fmax(t->push_margin, 0.5 * (t->limit - distance));
    t->candidate_blocks = 0;
    hk_feature_block *to = NULL;
    for (size_t n = 0; n < t->near_count; n++) {
        const hk_touch *k = &t->touch[t->near[n]];
        if (!(k->gap < k->pair.width + t->candidate_margin)) continue;
        if (!to || to->count == HK_FEATURE_LANES || to->kind != k->pair.kind) {
            to = &t->candidate[t->candidate_blocks++];
            to->kind = k->pair.kind;
            to->count = 0;
        }
        t->candidate_pair[lanes * (t->candidate_blocks - 1) + (size_t)to->count] = k->pair;
        hk_feature_fill(to, to->count++, k->point, &k->pair, t->push_margin);
    }
    return HK_OK;
}

// ---------------------------------------------------------------- features

static hk_status reserve(hk_contacts *c)
{
    hk_touches *t = c->touches;
    size_t runs = t->candidate_blocks / RUN_BLOCKS + 1, pushes = HK_PAIR_PARTS * RUN * runs;
    HK_TRY(hk_reserve((void **)&t->run, 0, sizeof *t->run, &t->run_capacity, runs));
    return hk_reserve((void **)&t->scratch, 0, sizeof *t->scratch, &t->scratch_capacity, pushes);
}

// A contact of a block. What is read of it lies together, in the order in which it is read.
typedef struct candidate {
    int32_t point[4];
    const hk_pair *pair;
} candidate;

static candidate candidate_of(const hk_touches *t, int64_t block, int lane)
{
    candidate k = {.pair = &t->candidate_pair[HK_FEATURE_LANES * block + lane]};
    for (int v = 0; v < 4; v++) k.point[v] = t->candidate[block].point[v][lane];
    return k;
}

// Where points are, and how far that is from the centre, [point_count][4].
typedef struct whereabouts {
    const double *at, *away;  // m
} whereabouts;

static void corners_at(const double *at, const int32_t point[4], double x[4][3])
{
    for (int v = 0; v < 4; v++) memcpy(x[v], at + 4 * (size_t)point[v], 3 * sizeof(double));
}

// What nearly parallel edges add to the forces stays as it is until they are found anew.
static void add_turn(const hk_contacts *c, const candidate *k)
{
    hk_touches *t = c->touches;
    double x[4][3], g[12];
    if (k->pair->kind != HK_EDGE_EDGE) return;
    corners_at(t->at, k->point, x);
    hk_pair_state at = quick_state(k->pair, (const double(*)[3])x);
    if (!at.mollified) return;
    double turn = k->pair->stiffness * at.m.slope * at.sum;
    pair_parallel_gradient(&at, g);
    for (int i = 0; i < 12; i++)
        if (k->point[i / 3] < c->body_points)
            t->turning[3 * (size_t)k->point[i / 3] + (size_t)(i % 3)] += turn * g[i];
}

static double spread_of(const hk_contacts *c, const int32_t point[4], const double weight[4])
{
    double sum = 0;
    for (int v = 0; v < 4; v++)
        if (point[v] < c->body_points) sum += fabs(weight[v]);
    return sum;
}

// Adds one that is filled in but for its spread.
static void end_push(const hk_contacts *c, hk_push *push, hk_push_run *run)
{
    push->spread = spread_of(c, push->point, push->c);
    run->energy += push->stiffness * contact_value(c->settings->law, push->width, push->gap).energy;
    if (push->gap < run->least) run->least = push->gap;
    run->pushes++;
}

// n · Σ c_i away_i
static double way_of(const double *away, const hk_push *k)
{
    double sum = 0;
    for (int v = 0; v < 4; v++)
        sum += k->c[v] * closest_dot(k->normal, away + 4 * (size_t)k->point[v]);
    return sum;
}

static void add_part(const hk_contacts *c, const candidate *k, const double *away,
                     const quick_part *part, double mollifier, hk_push *to, hk_push_run *run)
{
    memcpy(to->point, k->point, sizeof to->point);
    memcpy(to->c, part->c, sizeof to->c);
    for (int i = 0; i < 3; i++) to->normal[i] = part->w[i] / part->distance;
    to->normal[3] = 0;
    to->gap = part->distance - k->pair->thickness;
    to->reduced = to->gap - way_of(away, to);
    to->width = k->pair->width;
    to->stiffness = k->pair->stiffness * mollifier * part->coefficient;
    end_push(c, to, run);
}

// Whether the closest points are within both sides, and everything else that they have in common
// with others is far, so that B (pair.h) is b of these alone. An end or a corner is never nearer
// than the edge that it is of.
static bool is_alone(const hk_pair *p, const double c[4], const double x[4][3])
{
    if (p->kind == HK_VERTEX_PLANE) return true;
    if (p->kind == HK_VERTEX_TRIANGLE)
        return c[1] < 0 && c[2] < 0 && c[3] < 0 && pair_far_from_edge(p, x, 0, 1, 2) &&
               pair_far_from_edge(p, x, 0, 2, 3) && pair_far_from_edge(p, x, 0, 3, 1);
    return c[0] > 0 && c[1] > 0 && c[2] < 0 && c[3] < 0 && pair_far_from_edge(p, x, 0, 2, 3) &&
           pair_far_from_edge(p, x, 1, 2, 3) && pair_far_from_edge(p, x, 2, 0, 1) &&
           pair_far_from_edge(p, x, 3, 0, 1);
}

// The mollifier of nearly parallel edges; whether it is at work.
static bool mollifies(const hk_pair *p, const double x[4][3], double *mollifier)
{
    hk_pair_state at;
    at.m.energy = 1;
    at.mollified = false;
    pair_mollify(p, x, &at);
    *mollifier = at.m.energy;
    return at.mollified;
}

// The features of a contact that push, or may soon: those that are within its width and a margin.
static void find_features(const hk_contacts *c, const candidate *k, const whereabouts *where,
                          hk_push *to, hk_push_run *run)
{
    double x[4][3], mollifier, margin = c->touches->push_margin;
    hk_pair wide = *k->pair;
    quick_parts parts;  // filled as far as there are any
    quick_part *whole = &parts.part[0];
    hk_closest near;
    corners_at(where->at, k->point, x);
    quick_closest(k->pair->kind, (const double(*)[3])x, near.c, near.w);
    near.square = closest_dot(near.w, near.w);
    double distance = pair_distance(k->pair->kind, &near, (const double(*)[3])x);
    double gap = distance - k->pair->thickness;
    wide.width += margin;
    if (!(gap < wide.width)) return;
    hk_slab slab = slab_between(k->pair->kind, (const double(*)[3])x, near.c, near.w, distance);
    parts.count = 1;
    whole->coefficient = 1;
    whole->distance = distance;
    memcpy(whole->c, near.c, sizeof near.c);
    for (int i = 0; i < 3; i++) whole->w[i] = distance * slab.normal[i];
    bool mollified = mollifies(k->pair, (const double(*)[3])x, &mollifier);
    if (!is_alone(&wide, near.c, (const double(*)[3])x)) {
        quick_part first = *whole;
        quick_find_parts(k->pair, (const double(*)[3])x, &first, wide.width + wide.thickness,
                         &parts);
    }
    for (int n = 0; n < parts.count; n++)
        if (parts.part[n].coefficient != 0 && parts.part[n].distance != 0)
            add_part(c, k, where->away, &parts.part[n], mollifier, to + run->pushes, run);
    run->turns |= mollified && gap < k->pair->width;
    if (!(gap > 0)) run->energy = INFINITY;  // also where features take some of it off
}

// One whose closest points stand for the whole.
static void add_plain(const hk_contacts *c, const hk_feature_block *b, const hk_features *found,
                      int l, hk_push *to, hk_push_run *run)
{
    double gap = found->distance[l] - b->thickness[l];
    if (!(gap < b->width[l] + c->touches->push_margin)) return;
    for (int v = 0; v < 4; v++) to->point[v] = b->point[v][l];
    for (int v = 0; v < 4; v++) to->c[v] = found->c[v][l];
    for (int i = 0; i < 3; i++) to->normal[i] = found->normal[i][l];
    to->normal[3] = 0;
    to->gap = gap;
    to->reduced = found->reduced[l] - b->thickness[l];
    to->width = b->width[l];
    to->stiffness = b->stiffness[l];
    end_push(c, to, run);
}

static void fill_run(const hk_contacts *c, const hk_feature_table *kernels,
                     const whereabouts *where, int64_t r)
{
    hk_touches *t = c->touches;
    hk_push *to = t->scratch + HK_PAIR_PARTS * RUN * r;
    hk_push_run run = {.least = INFINITY};
    int64_t last = hk_min_int64((r + 1) * RUN_BLOCKS, (int64_t)t->candidate_blocks);
    for (int64_t b = r * RUN_BLOCKS; b < last; b++) {
        const hk_feature_block *block = &t->candidate[b];
        hk_features found;
        unsigned plain = kernels->find(block, where->at, where->away, &found);
        for (int l = 0; l < block->count; l++) {
            candidate k;
            if (found.far >> l & 1u) continue;
            if (plain >> l & 1u) {
                add_plain(c, block, &found, l, to + run.pushes, &run);
                continue;
            }
            k = candidate_of(t, b, l);
            find_features(c, &k, where, to, &run);
        }
    }
    t->run[r] = run;
}

// Every run writes from a place of its own. How many there are.
static int64_t fill_runs(const hk_contacts *c, const whereabouts *where)
{
    const hk_feature_table *kernels = hk_lanes_best(HK_DOUBLE_PRECISION)->feature;
    int64_t runs = ((int64_t)c->touches->candidate_blocks + RUN_BLOCKS - 1) / RUN_BLOCKS;
#pragma omp parallel for schedule(static) num_threads(c->threads) if (runs > 1)
    for (int64_t r = 0; r < runs; r++) fill_run(c, kernels, where, r);
    return runs;
}

// Then they are moved together.
static hk_status fill_pushes(hk_contacts *c, double *energy)
{
    hk_touches *t = c->touches;
    whereabouts where = {t->at, t->away};
    int64_t runs = fill_runs(c, &where);
    t->push_count = 0;
    t->least = INFINITY;
    for (int64_t r = 0; r < runs; r++) {
        t->run[r].start = (int64_t)t->push_count;
        t->push_count += (size_t)t->run[r].pushes;
        t->least = fmin(t->least, t->run[r].least);
        *energy += t->run[r].energy;
    }
    HK_TRY(hk_reserve((void **)&t->push, 0, sizeof *t->push, &t->push_capacity, t->push_count));
#pragma omp parallel for schedule(static) num_threads(c->threads) if (runs > 1)
    for (int64_t r = 0; r < runs; r++)
        memcpy(t->push + t->run[r].start, t->scratch + HK_PAIR_PARTS * RUN * r,
               sizeof *t->push * (size_t)t->run[r].pushes);
    return HK_OK;
}

static void fill_turning(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    int64_t runs = ((int64_t)t->candidate_blocks + RUN_BLOCKS - 1) / RUN_BLOCKS;
    if (t->turns) memset(t->turning, 0, 3 * sizeof(double) * (size_t)c->body_points);
    t->turns = false;
    for (int64_t r = 0; r < runs; r++) {
        if (!t->run[r].turns) continue;
        t->turns = true;
        int64_t last = hk_min_int64((r + 1) * RUN_BLOCKS, (int64_t)t->candidate_blocks);
        for (int64_t b = r * RUN_BLOCKS; b < last; b++)
            for (int l = 0; l < t->candidate[b].count; l++) {
                candidate k = candidate_of(t, b, l);
                add_turn(c, &k);
            }
    }
}

// ---------------------------------------------------------------- slots

// What the slots of another centre may be kept in.
static hk_status reserve_slots(hk_contacts *c)
{
    hk_touches *t = c->touches;
    size_t slides = c->slide_count, slots = t->push_count + slides, index = sizeof(int32_t);
    HK_TRY(hk_reserve((void **)&t->slot_point, 0, 4 * index, &t->slot_capacity, slots));
    HK_TRY(hk_reserve((void **)&t->slot_drag, 0, index, &t->slot_drag_capacity, slots));
    HK_TRY(hk_reserve((void **)&t->drag_point, 0, 4 * index, &t->drag_point_capacity, slides));
    return hk_reserve((void **)&t->drag_slot, 0, index, &t->drag_slot_capacity, slides);
}

static inline bool are_same(const int32_t a[4], const int32_t b[4])
{
    return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
}

// Whether the slots are of these pushes and slides.
static bool are_slotted(const hk_contacts *c)
{
    const hk_touches *t = c->touches;
    if (t->slotted_pushes != t->push_count || t->slotted_drags != c->slide_count) return false;
    for (size_t n = 0; n < t->push_count; n++)
        if (!are_same(t->slot_point + 4 * n, t->push[n].point)) return false;
    for (size_t n = 0; n < c->slide_count; n++)
        if (!are_same(t->drag_point + 4 * n, c->slides[n].point)) return false;
    return true;
}

// A push with these corners that nothing drags yet; -1: there is none.
static int32_t find_slot(const hk_contacts *c, const int32_t point[4])
{
    const hk_touches *t = c->touches;
    int v = 0;
    while (v < 3 && point[v] >= c->body_points) v++;
    if (point[v] >= c->body_points) return -1;
    for (int64_t k = t->slot_uses.start[point[v]]; k < t->slot_uses.start[point[v] + 1]; k++) {
        int64_t slot = t->slot_uses.use[k] / 4;
        if (t->slot_drag[slot] < 0 && are_same(t->slot_point + 4 * slot, point))
            return (int32_t)slot;
    }
    return -1;
}

static hk_status fill_slot_uses(hk_contacts *c)
{
    hk_touches *t = c->touches;
    return hk_touches_fill_uses(c, t->slot_point, 4 * sizeof(int32_t), NULL, t->slot_count,
                                &t->slot_uses);
}

static hk_status fill_slots(hk_contacts *c)
{
    hk_touches *t = c->touches;
    HK_TRY(reserve_slots(c));
    t->slot_count = t->slotted_pushes = t->push_count;
    t->slotted_drags = c->slide_count;
    for (size_t n = 0; n < t->push_count; n++) {
        memcpy(t->slot_point + 4 * n, t->push[n].point, 4 * sizeof(int32_t));
        t->slot_drag[n] = -1;
    }
    HK_TRY(fill_slot_uses(c));
    for (size_t n = 0; n < c->slide_count; n++) {
        const int32_t *point = c->slides[n].point;
        int32_t slot = find_slot(c, point);
        memcpy(t->drag_point + 4 * n, point, 4 * sizeof(int32_t));
        if (slot < 0) {
            slot = (int32_t)t->slot_count;
            memcpy(t->slot_point + 4 * t->slot_count++, point, 4 * sizeof(int32_t));
        }
        t->drag_slot[n] = slot;
        t->slot_drag[slot] = (int32_t)n;
    }
    return t->slot_count > t->push_count ? fill_slot_uses(c) : HK_OK;
}

static void list_touched(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    t->touched_count = 0;
    for (int p = 0; p < c->body_points; p++)
        if (t->slot_uses.start[p] < t->slot_uses.start[p + 1]) t->touched[t->touched_count++] = p;
}

// How far points may be from where blocks were made, relative to the least gap, that these are
// kept.
#define BLOCKS_NEAR 0.01

// As long as the same things push, slots are the same, and the blocks as long as they are near.
static hk_status find_slots(hk_contacts *c)
{
    hk_touches *t = c->touches;
    t->kernels = NULL;
    bool same = are_slotted(c);
    t->blocks = t->blocks && same && t->blocks_moved < BLOCKS_NEAR * t->least;
    if (same) return HK_OK;
    t->slotted_pushes = SIZE_MAX;  // until it is complete
    HK_TRY(fill_slots(c));
    list_touched(c);
    return HK_OK;
}

// Points as far from the centre as `away` has them.
static void find_places(const hk_contacts *c)
{
    hk_touches *t = c->touches;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int p = 0; p < c->point_count; p++)
        for (size_t i = 0, at = 4 * (size_t)p; i < 3; i++) {
            t->at[at + i] = t->centre[3 * (size_t)p + i] + t->away[at + i];
            t->at_away[at + i] = t->away[at + i];
        }
}

hk_status hk_touches_find_pushes(hk_contacts *c, double *energy)
{
    hk_touches *t = c->touches;
    HK_TRY(reserve(c));
    *energy = 0;
    find_places(c);
    HK_TRY(fill_pushes(c, energy));
    fill_turning(c);
    HK_TRY(hk_touches_reserve_sums(c));
    *energy += hk_touches_slides_energy(c);
    HK_TRY(find_slots(c));
    t->energy = *energy;
    t->slide_rounds = c->slide_rounds;
    t->found = true;
    return HK_OK;
}

// What rounding does to places, of coordinates or of the contact distance.
#define ROUNDING 1e-15

bool hk_touches_know_energy(const hk_contacts *c, double *energy)
{
    const hk_touches *t = c->touches;
    double least = c->settings->distance;
    bool known = t->version >= 0 && t->version == c->version && t->found &&
                 t->slide_rounds == c->slide_rounds;
    for (size_t p = 0; p < (size_t)c->point_count && known; p++)
        for (size_t i = 0; i < 3; i++) {
            double x = c->x[3 * p + i], size = fabs(x) > least ? fabs(x) : least;
            known = known && fabs(x - t->at[4 * p + i]) <= ROUNDING * size;
        }
    *energy = t->energy;
    return known;
}

// From the centre to contacts->x; the farthest, m.
static double find_others(const hk_contacts *c)
{
    hk_touches *t = c->touches;
    double most = 0;
#pragma omp parallel for schedule(static) num_threads(c->threads) reduction(max : most)
    for (int p = 0; p < c->point_count; p++) {
        double *at = t->other_at + 4 * (size_t)p, *away = t->other_away + 4 * (size_t)p;
        memcpy(at, c->x + 3 * (size_t)p, 3 * sizeof(double));
        closest_minus(at, t->centre + 3 * (size_t)p, away);
        double square = closest_dot(away, away);
        most = square > most ? square : most;
    }
    return sqrt(most);
}

bool hk_touches_tell_energy(hk_contacts *c, double *energy)
{
    hk_touches *t = c->touches;
    if (t->version < 0 || t->version != c->version) return false;
    double margin = fmin(t->candidate_margin, t->limit - c->settings->distance);
    if (!(find_others(c) <= 0.5 * margin) || reserve(c) != HK_OK) return false;
    whereabouts where = {t->other_at, t->other_away};
    int64_t runs = fill_runs(c, &where);
    *energy = 0;
    for (int64_t r = 0; r < runs; r++) *energy += t->run[r].energy;
    return true;
}
