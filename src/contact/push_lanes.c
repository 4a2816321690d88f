// The kernels of push_lanes.h; compiled once per precision and instruction set, with HK_DOUBLE,
// HK_LANES and HK_PUSH_TABLE set by cmake/lanes.cmake.
#include "contact/push_lanes.h"

#include "term/corners.h"

// By how much contacts may become stiffer before the blocks are made anew.
#define STIFFER 1.5
// What rounding may add to the square of a displacement.
#define ROUNDING (1 - 8 * HK_EPSILON)

typedef scalar quad __attribute__((vector_size(4 * sizeof(scalar))));
// Of vectors that may be anyone's.
typedef scalar loose_quad __attribute__((vector_size(4 * sizeof(scalar)), aligned(sizeof(scalar))));
typedef double eight __attribute__((vector_size(8 * sizeof(double))));

// What iterations read of as many slots as there are lanes: what pushes …
typedef struct lean_push {
    real c[4], normal[3], gap;  // that it would have at the centre, m
    real width, stiffness;
} lean_push;

// … and what drags, with the same corners.
typedef struct lean_drag {
    real c[4];
    real slid[3];  // m, from the beginning of the step to the centre
    real normal[3];
    real most, slip, damping;  // N, m, N/m
} lean_drag;

typedef struct lean_block {
    lean_push push;
    lean_drag drag;
    int32_t point[4][HK_LANES];
    int32_t pushes, drags;  // whether there are any
} lean_block;

// ---------------------------------------------------------------- at a centre

static void fill_push(const hk_push *from, int l, lean_push *to)
{
    for (int v = 0; v < 4; v++) r_set_lane(&to->c[v], l, (scalar)from->c[v]);
    for (int i = 0; i < 3; i++) r_set_lane(&to->normal[i], l, (scalar)from->normal[i]);
    r_set_lane(&to->gap, l, (scalar)from->reduced);
    r_set_lane(&to->width, l, (scalar)from->width);
    r_set_lane(&to->stiffness, l, (scalar)from->stiffness);
}

static void fill_drag(const hk_friction *from, const double *slid, int l, lean_drag *to)
{
    for (int v = 0; v < 4; v++) r_set_lane(&to->c[v], l, (scalar)from->c[v]);
    for (int i = 0; i < 3; i++) {
        r_set_lane(&to->slid[i], l, (scalar)slid[i]);
        r_set_lane(&to->normal[i], l, (scalar)from->normal[i]);
    }
    r_set_lane(&to->most, l, (scalar)from->most);
    r_set_lane(&to->slip, l, (scalar)from->slip);
    r_set_lane(&to->damping, l, (scalar)from->damping);
}

static void fill(const hk_contacts *c, int64_t first, int64_t last)
{
    const hk_touches *t = c->touches;
    for (int64_t b = first; b < last; b++) {
        lean_block *to = (lean_block *)t->lean + b;
        memset(to, 0, sizeof *to);
        to->drag.slip = to->push.gap = r_set(1);  // where there is nothing
        for (int l = 0; l < HK_LANES; l++) {
            int64_t slot = b * HK_LANES + l;
            if (slot >= (int64_t)t->slot_count) break;
            int32_t drag = t->slot_drag[slot];
            for (int v = 0; v < 4; v++) to->point[v][l] = t->slot_point[4 * slot + v];
            if (slot < (int64_t)t->push_count) fill_push(&t->push[slot], l, &to->push);
            if (drag >= 0)
                fill_drag(&c->slides[drag].friction, t->slid + 4 * (int64_t)drag, l, &to->drag);
            to->pushes |= slot < (int64_t)t->push_count;
            to->drags |= drag >= 0;
        }
    }
}

// The fourth numbers are of no account.
static void begin(const hk_contacts *c, const void *x, int first, int last)
{
    const hk_touches *t = c->touches;
    const quad zero = {0, 0, 0, 0};
    for (int p = first; p < last; p++) {
        ((quad *)t->lean_away)[p] = zero;
        if (p >= c->body_points) continue;
        ((quad *)t->lean_origin)[p] = ((const loose_quad *)x)[c->vertex[p]];
        ((scalar *)t->lean_soft)[p] = (scalar)(t->soft[p] * t->soft[p]) * (scalar)ROUNDING;
    }
}

static int place(const hk_contacts *c, const void *x, int first, int last)
{
    const hk_touches *t = c->touches;
    const loose_quad *from = x;
    const quad *origin = t->lean_origin;
    const scalar *soft = t->lean_soft;
    quad *away = t->lean_away;
    for (int p = first; p < last; p++) {
        quad d = from[c->vertex[p]] - origin[p], square = d * d;
        away[p] = d;
        if (!(square[0] + square[1] + square[2] <= soft[p])) return p;
    }
    return last;
}

// ---------------------------------------------------------------- forces

static inline vec3 moved(const vec3 away[4], const real c[4])
{
    vec3 sum = v3_scale(away[0], c[0]);
    for (int v = 1; v < 4; v++) sum = v3_add(sum, v3_scale(away[v], c[v]));
    return sum;
}

// b′ and b″ of IPC's law, lane by lane: there are no logarithms of all precisions that agree.
static void log_slopes(real width, real gap, real *slope, real *bend)
{
    for (int l = 0; l < HK_LANES; l++) {
        hk_contact_value b =
            contact_value(HK_CONTACT_LOG, (double)r_lane(width, l), (double)r_lane(gap, l));
        r_set_lane(slope, l, (scalar)b.slope);
        r_set_lane(bend, l, (scalar)b.curvature);
    }
}

static inline void slopes(hk_contact_law law, real width, real gap, real *slope, real *bend)
{
    real one = r_set(1);
    if (law == HK_CONTACT_LOG) {
        log_slopes(width, gap, slope, bend);
        return;
    }
    mask near = gap < r_set(0.5) * width;
    *slope = gap - width;
    *bend = one;
    if (law == HK_CONTACT_TWO_STAGE && r_any(near)) {
        real inverse = one / r_select(near, gap, one);
        real steep = r_set(-0.25) * width * width * inverse;
        *slope = r_select(near, steep, *slope);
        *bend = r_select(near, -steep * inverse, *bend);
    }
    mask apart = gap >= width;
    *slope = r_select(apart, r_zero(), *slope);
    *bend = r_select(apart, r_zero(), *bend);
}

// Along the normal; returns b″ κ.
static inline real push(hk_contact_law law, const lean_push *k, vec3 way, vec3 *force)
{
    vec3 normal = {{k->normal[0], k->normal[1], k->normal[2]}};
    real slope = r_zero(), bend = slope;
    slopes(law, k->width, k->gap + v3_dot(normal, way), &slope, &bend);
    *force = v3_scale(normal, slope * k->stiffness);
    return bend * k->stiffness;
}

// Across it, and along it where that damps; returns the force by the slide.
static inline real drag(const lean_drag *k, vec3 way, vec3 *force)
{
    vec3 normal = {{k->normal[0], k->normal[1], k->normal[2]}};
    vec3 slide = {{k->slid[0] + way.v[0], k->slid[1] + way.v[1], k->slid[2] + way.v[2]}};
    real through = v3_dot(slide, normal), one = r_set(1);
    slide = v3_sub(slide, v3_scale(normal, through));
    real length = r_sqrt(v3_dot(slide, slide));
    mask slips = length >= k->slip;
    real inverse = one / r_select(slips, length, k->slip);
    real pull = k->most * r_select(slips, inverse, (r_set(2) - length * inverse) * inverse);
    real damping = r_select(through < r_zero(), k->damping * through, r_zero());
    *force = v3_add(v3_scale(slide, pull), v3_scale(normal, damping));
    return pull;
}

// Keeps how stiff lanes are; whether one of them is much stiffer than the blocks have it.
static inline bool is_stiffer(real now, const void *used, void *to, int64_t slot)
{
    r_store((scalar *)to + slot, now);
    return r_any(now > r_set(STIFFER) * r_load((const scalar *)used + slot));
}

// Slot after slot, corner after corner.
#define ROWS(v)                                                                            \
    {                                                                                      \
        (v), 4 + (v), 8 + (v), 12 + (v), 16 + (v), 20 + (v), 24 + (v), 28 + (v), 32 + (v), \
            36 + (v), 40 + (v), 44 + (v), 48 + (v), 52 + (v), 56 + (v), 60 + (v)           \
    }

static bool force(const hk_contacts *c, int64_t first, int64_t last)
{
    static const uint16_t rows[4][16] = {ROWS(0), ROWS(1), ROWS(2), ROWS(3)};
    const hk_touches *t = c->touches;
    hk_contact_law law = c->settings->law;
    bool stiffer = false;
    for (int64_t b = first; b < last; b++) {
        const lean_block *k = (const lean_block *)t->lean + b;
        scalar *to = (scalar *)t->slot_force + 16 * HK_LANES * b;
        vec3 along = v3_set(0, 0, 0), across = along, away[4];
        int64_t slot = HK_LANES * b;
        for (int v = 0; v < 4; v++) away[v] = corners_load(t->lean_away, k->point[v]);
        if (k->pushes) {
            real bend = push(law, &k->push, moved(away, k->push.c), &along);
            stiffer |= is_stiffer(bend, t->used_bend, t->bend, slot);
        }
        if (k->drags) {
            real pull = drag(&k->drag, moved(away, k->drag.c), &across);
            stiffer |= is_stiffer(pull, t->used_pull, t->pull, slot);
        }
        for (int v = 0; v < 4; v++)
            corners_store(to, rows[v],
                          v3_add(v3_scale(along, k->push.c[v]), v3_scale(across, k->drag.c[v])));
    }
    return stiffer;
}

static void gather(const hk_contacts *c, int first, int last, void *gradient)
{
    const hk_touches *t = c->touches;
    const quad *of_slot = t->slot_force;
    const int64_t *use = t->slot_uses.use;
    for (int m = first; m < last; m++) {
        size_t p = (size_t)t->touched[m];
        scalar *to = (scalar *)gradient + 4 * (int64_t)c->vertex[p];
        quad g = {0, 0, 0, 0};
        for (int64_t k = t->slot_uses.start[p]; k < t->slot_uses.start[p + 1]; k++)
            g += of_slot[use[k]];
        for (int i = 0; i < 3; i++) {
            double turning = t->turns ? t->turning[3 * p + (size_t)i] : 0;
            to[i] = (scalar)((double)to[i] + ((double)g[i] + turning));
        }
    }
}

// ---------------------------------------------------------------- blocks

// `along` n nᵀ + `across` (1 − n nᵀ), xx xy xz yy yz zz; the last two are of no account.
static inline eight block_of(double along, double across, const double n[3])
{
    double d = along - across;
    return (eight){d * n[0] * n[0] + across, d * n[0] * n[1], d * n[0] * n[2],
                   d * n[1] * n[1] + across, d * n[1] * n[2], d * n[2] * n[2] + across};
}

// Of the corners of a slot: the matrix c cᵀ of them is bounded by the diagonal |c| Σ |c|, the sum
// over corners of bodies.
typedef struct slot_block {
    eight push, drag;  // times Σ |c|
    eight weight;      // |c| of what pushes, and of what drags
} slot_block;

static inline double spread_of(const hk_contacts *c, const hk_slide *slide)
{
    double sum = 0;
    for (int v = 0; v < 4; v++)
        if (slide->point[v] < c->body_points) sum += fabs(slide->friction.c[v]);
    return sum;
}

static void stiffen(const hk_contacts *c, int64_t first, int64_t last)
{
    const hk_touches *t = c->touches;
    const scalar *bends = t->bend, *pulls = t->pull;
    slot_block *to = t->slot_block;
    for (int64_t n = first; n < last; n++) {
        double bend = 0, pull = 0;
        int32_t drag = t->slot_drag[n];
        to[n] = (slot_block){{0}, {0}, {0}};
        if (n < (int64_t)t->push_count) {
            // What does not push yet may do so at any time.
            const hk_push *push = &t->push[n];
            bend = (double)bends[n] > push->stiffness ? (double)bends[n] : push->stiffness;
            if (!(bend > 0)) bend = 0;
            to[n].push = block_of(push->spread * bend, 0, push->normal);
            for (int v = 0; v < 4; v++) to[n].weight[v] = fabs(push->c[v]);
        }
        if (drag >= 0) {
            // Of friction that of a spring with the same force: Coulomb's is below it on both
            // sides.
            const hk_slide *slide = &c->slides[drag];
            double spread = spread_of(c, slide);
            pull = (double)pulls[n];
            to[n].drag =
                block_of(spread * slide->friction.damping, spread * pull, slide->friction.normal);
            for (int v = 0; v < 4; v++) to[n].weight[4 + v] = fabs(slide->friction.c[v]);
        }
        ((scalar *)t->used_bend)[n] = (scalar)bend;
        ((scalar *)t->used_pull)[n] = (scalar)pull;
    }
}

static void block(const hk_contacts *c, int first, int last)
{
    const hk_touches *t = c->touches;
    const slot_block *of_slot = t->slot_block;
    for (int m = first; m < last; m++) {
        size_t p = (size_t)t->touched[m];
        eight sum = {0};
        for (int64_t k = t->slot_uses.start[p]; k < t->slot_uses.start[p + 1]; k++) {
            int64_t v = t->slot_uses.use[k] % 4;
            const slot_block *from = &of_slot[t->slot_uses.use[k] / 4];
            sum += from->weight[v] * from->push + from->weight[4 + v] * from->drag;
        }
        memcpy(t->block + 6 * p, &sum, 6 * sizeof(double));
    }
}

// ---------------------------------------------------------------- Jacobi's iteration

// The inverse of diagonal + block, which is positive definite, by its Cholesky factor.
static void invert_block(const double diagonal[3], const double block[6], double inverse[3][3])
{
    double a = 1 / (block[0] + diagonal[0]), l10 = block[1] * a, l20 = block[2] * a;
    double d1 = 1 / (block[3] + diagonal[1] - l10 * block[1]);
    double b = block[4] - l10 * block[2], l21 = b * d1;
    double d2 = 1 / (block[5] + diagonal[2] - l20 * block[2] - l21 * b);
    for (int j = 0; j < 3; j++) {
        double g[3] = {j == 0, j == 1, j == 2};
        double y1 = g[1] - l10 * g[0], y2 = g[2] - l20 * g[0] - l21 * y1;
        double *x = inverse[j];
        x[2] = y2 * d2;
        x[1] = y1 * d1 - l21 * x[2];
        x[0] = g[0] * a - l10 * x[1] - l20 * x[2];
    }
}

// With g the whole gradient at a vertex, the step is that of the diagonal D alone along
// D (D + B)⁻¹ g: what is added to the gradient is (D (D + B)⁻¹ − 1) g, column by column in `to`.
static double prepare_vertex(const hk_touch_step *s, int64_t at, const double block[6], quad to[3])
{
    const scalar *inverse = (const scalar *)s->inverse + at;
    double diagonal[3], both[3][3], inertia = (double)((const scalar *)s->target)[at + 3];
    to[0] = to[1] = to[2] = (quad){0, 0, 0, 0};
    for (int i = 0; i < 3; i++) {
        if (!(inverse[i] > 0)) return 1;  // it is held
        diagonal[i] = 1 / (double)inverse[i];
    }
    invert_block(diagonal, block, both);
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) to[j][i] = (scalar)(diagonal[i] * both[j][i] - (i == j));
    return inertia /
           (fmin(diagonal[0], fmin(diagonal[1], diagonal[2])) + block[0] + block[3] + block[5]);
}

static double prepare(const hk_contacts *c, const hk_touch_step *step, int first, int last)
{
    const hk_touches *t = c->touches;
    double least = 1;
    for (int m = first; m < last; m++) {
        int p = t->touched[m];
        double part = prepare_vertex(step, 4 * (int64_t)c->vertex[p], t->block + 6 * (size_t)p,
                                     (quad *)t->lean_block + 3 * (int64_t)m);
        least = part < least ? part : least;
    }
    return least;
}

static void precondition(const hk_contacts *c, const hk_touch_step *s, int first, int last)
{
    const hk_touches *t = c->touches;
    const quad *q = s->q, *target = s->target, *outer = s->force;
    quad *gradient = s->gradient;
    for (int m = first; m < last; m++) {
        const quad *block = (const quad *)t->lean_block + 3 * (int64_t)m;
        int32_t k = c->vertex[t->touched[m]];
        quad g = gradient[k] + (target[k][3] * (q[k] - target[k]) - outer[k]);
        gradient[k] += block[0] * g[0] + block[1] * g[1] + block[2] * g[2];
    }
}

extern const hk_push_table HK_PUSH_TABLE;
const hk_push_table HK_PUSH_TABLE = {
    .lanes = HK_LANES,
    .block_size = sizeof(lean_block),
    .fill = fill,
    .force = force,
    .stiffen = stiffen,
    .block = block,
    .gather = gather,
    .begin = begin,
    .place = place,
    .prepare = prepare,
    .precondition = precondition,
};
