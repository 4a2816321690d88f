// Energy, forces and stiffness of contacts and of friction.
#include <math.h>

#include "contact/field.h"
#include "contact/quick.h"
#include "contact/touches.h"

enum { RUN = 128 };  // contacts whose energies are added up one after the other

static void corners_of(const hk_contacts *c, const int32_t point[4], double to[4][3])
{
    hk_contact_corners(c->x, point, to);
}

// Positions and contacts for them; false: there are none to be had.
static bool see(hk_contacts *c, const double *x)
{
    c->status = hk_contacts_see(c, x);
    if (c->status != HK_OK) return false;
    size_t all = c->count + c->slide_count;
    c->status = hk_reserve((void **)&c->force, 0, 12 * sizeof(double), &c->force_capacity, all);
    if (c->status != HK_OK) return false;
    c->status =
        hk_reserve((void **)&c->partial, 0, sizeof(double), &c->partial_capacity, all / RUN + 2);
    return c->status == HK_OK;
}

// ---------------------------------------------------------------- sums over contacts and slides

static double slide_energy(const hk_contacts *c, const hk_slide *s, double slide[3], double *nearer)
{
    double x[4][3], from[4][3];
    corners_of(c, s->point, x);
    hk_contact_corners(c->from, s->point, from);
    *nearer = friction_slide(&s->friction, (const double(*)[3])x, (const double(*)[3])from, slide);
    return friction_energy(&s->friction, slide, *nearer);
}

static double missing_of(const hk_contacts *c, const hk_slide *s)
{
    double x[4][3], from[4][3];
    corners_of(c, s->point, x);
    hk_contact_corners(c->from, s->point, from);
    return press_missing(&s->friction, (const double(*)[3])x, (const double(*)[3])from);
}

static double evaluate_press(const hk_contacts *c, const hk_slide *s, double *gradient)
{
    double missing = missing_of(c, s);
    if (gradient) press_gradient(&s->friction, missing, gradient);
    return 0.5 * s->friction.most * missing * missing;
}

// The energy of a contact or a slide; its forces where `gradient` is not NULL. Points are `moved`
// from a centre (touches.h), if there is one.
static double evaluate(const hk_contacts *c, size_t number, double moved, double *gradient)
{
    double x[4][3], slide[3], nearer;
    if (number >= c->count) {
        const hk_slide *s = &c->slides[number - c->count];
        if (s->press) return evaluate_press(c, s, gradient);
        double energy = slide_energy(c, s, slide, &nearer);
        if (gradient) friction_gradient(&s->friction, slide, nearer, gradient);
        return energy;
    }
    const hk_contact *k = &c->list[number];
    if (hk_touches_apart(c, number, moved)) {
        if (gradient) memset(gradient, 0, 12 * sizeof(double));
        return 0;
    }
    corners_of(c, k->point, x);
    return quick_evaluate(&k->pair, (const double(*)[3])x, gradient);
}

// The energy, and forces of all corners into c->force where that is wanted.
static double sweep(hk_contacts *c, bool forces)
{
    int64_t all = (int64_t)(c->count + c->slide_count), runs = (all + RUN - 1) / RUN;
    double moved = hk_touches_moved(c);
#pragma omp parallel for schedule(static) num_threads(c->threads) if (runs > 1)
    for (int64_t r = 0; r < runs; r++) {
        double sum = 0;
        for (int64_t k = r * RUN; k < all && k < (r + 1) * RUN; k++)
            sum += evaluate(c, (size_t)k, moved, forces ? c->force + 12 * k : NULL);
        c->partial[r] = sum;
    }
    double energy = 0;
    for (int64_t r = 0; r < runs; r++) energy += c->partial[r];
    if (c->fields) energy += hk_fields_energy(c);
    return energy;
}

// Time since `start`, without detections; those had taken `detected` by then.
static void count_time(hk_contacts *c, double start, double detected)
{
    c->pairs_s += hk_now() - start - (c->detect_s - detected);
}

double hk_contacts_energy(hk_contacts *c, const double *x)
{
    double start = hk_now(), detected = c->detect_s;
    double energy = see(c, x) ? sweep(c, false) : INFINITY;
    count_time(c, start, detected);
    return energy;
}

static void gather(const hk_contact_uses *u, int64_t p, const double *force, double *to)
{
    for (int64_t k = u->start[p]; k < u->start[p + 1]; k++)
        for (int i = 0; i < 3; i++) to[i] += force[3 * u->use[k] + i];
}

static void add_gradient(hk_contacts *c, const double *x, double *gradient, double *energy)
{
    if (!see(c, x)) {
        if (energy) *energy = INFINITY;
        return;
    }
    double sum = sweep(c, true);
    if (energy) *energy = sum;
    if (c->fields) hk_fields_add_gradient(c, gradient);
    if (c->count + c->slide_count == 0) return;
    const double *slide_force = c->force + 12 * c->count;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int p = 0; p < c->body_points; p++) {
        double *to = gradient + 4 * (size_t)c->vertex[p];
        gather(&c->uses, p, c->force, to);
        if (c->slide_count > 0) gather(&c->slide_uses, p, slide_force, to);
    }
}

void hk_contacts_add_gradient(hk_contacts *c, const double *x, double *gradient, double *energy)
{
    double start = hk_now(), detected = c->detect_s;
    add_gradient(c, x, gradient, energy);
    count_time(c, start, detected);
}

// ---------------------------------------------------------------- stiffness

static void visit_hessian(const hk_contacts *c, const int32_t point[4], const double *h,
                          hk_contact_block_fn *visit, void *context)
{
    for (int a = 0; a < 4; a++)
        for (int b = a; b < 4; b++) {
            double block[9];
            if (point[a] >= c->body_points || point[b] >= c->body_points) continue;
            for (int k = 0; k < 9; k++) block[k] = h[12 * (3 * a + k / 3) + 3 * b + k % 3];
            visit(context, c->vertex[point[a]], c->vertex[point[b]], block);
        }
}

// A Hessian c cᵀ ⊗ B.
static void visit_factored(const hk_contacts *c, const int32_t point[4], const double weight[4],
                           double b[3][3], hk_contact_block_fn *visit, void *context)
{
    for (int u = 0; u < 4; u++)
        for (int v = u; v < 4; v++) {
            double block[9], factor = weight[u] * weight[v];
            if (point[u] >= c->body_points || point[v] >= c->body_points || factor == 0) continue;
            for (int k = 0; k < 9; k++) block[k] = factor * b[k / 3][k % 3];
            visit(context, c->vertex[point[u]], c->vertex[point[v]], block);
        }
}

static void outer_of(double factor, const double n[3], double b[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) b[i][j] = factor * n[i] * n[j];
}

static void visit_slide(const hk_contacts *c, const hk_slide *s, hk_contact_block_fn *visit,
                        void *context)
{
    double slide[3], block[3][3], nearer;
    if (s->press) {
        outer_of(missing_of(c, s) > 0 ? s->friction.most : 0, s->friction.normal, block);
    } else {
        slide_energy(c, s, slide, &nearer);
        friction_block(&s->friction, slide, nearer, block);
    }
    visit_factored(c, s->point, s->friction.c, block, visit, context);
}

static void visit_foreseen(const hk_contacts *c, const hk_foreseen *f, hk_contact_block_fn *visit,
                           void *context)
{
    double block[3][3];
    outer_of(f->stiffness, f->normal, block);
    visit_factored(c, f->point, f->c, block, visit, context);
}

static void visit_blocks(hk_contacts *c, const double *x, double keep, hk_contact_block_fn *visit,
                         void *context)
{
    double h[144], corners[4][3];
    if (!see(c, x)) return;
    for (size_t k = 0; k < c->count; k++) {
        corners_of(c, c->list[k].point, corners);
        hk_pair_state at = quick_state(&c->list[k].pair, (const double(*)[3])corners);
        if (at.b.energy == 0) continue;
        pair_hessian(&c->list[k].pair, &at, keep, h);
        visit_hessian(c, c->list[k].point, h, visit, context);
    }
    for (size_t k = 0; k < c->slide_count; k++) visit_slide(c, &c->slides[k], visit, context);
    for (size_t k = 0; k < c->foreseen_count; k++)
        visit_foreseen(c, &c->foreseen[k], visit, context);
    if (c->fields) hk_fields_visit_blocks(c, keep, visit, context);
}

void hk_contacts_visit_blocks(hk_contacts *c, const double *x, double keep,
                              hk_contact_block_fn *visit, void *context)
{
    double start = hk_now(), detected = c->detect_s;
    visit_blocks(c, x, keep, visit, context);
    count_time(c, start, detected);
}

// Jacobi's iterations want a bound: of a matrix of four corners the diagonal, four times.
static void add_diagonal(void *context, int32_t a, int32_t b, const double block[9])
{
    double *diagonal = context;
    if (a != b) return;
    for (int i = 0; i < 3; i++) diagonal[4 * (size_t)a + (size_t)i] += 4 * block[4 * i];
}

// Of the stiffness `k` along a normal.
static void add_along(const hk_contacts *c, const int32_t point[4], const double weight[4],
                      const double normal[3], double k, double *diagonal)
{
    for (int v = 0; v < 4; v++) {
        if (point[v] >= c->body_points) continue;
        double *to = diagonal + 4 * (size_t)c->vertex[point[v]];
        for (int i = 0; i < 3; i++) to[i] += 4 * k * weight[v] * weight[v] * normal[i] * normal[i];
    }
}

// As the projected blocks have it, without making them.
static void add_contact_diagonals(const hk_contacts *c, double *diagonal)
{
    double x[4][3], normal[3];
    for (size_t k = 0; k < c->count; k++) {
        const hk_pair *pair = &c->list[k].pair;
        corners_of(c, c->list[k].point, x);
        hk_pair_state at = quick_state(pair, (const double(*)[3])x);
        if (at.b.energy == 0 || at.distance == 0) continue;
        for (int i = 0; i < 3; i++) normal[i] = at.closest.w[i] / at.distance;
        add_along(c, c->list[k].point, at.closest.c, normal, pair_positive_stiffness(pair, &at),
                  diagonal);
    }
}

void hk_contacts_add_diagonal(hk_contacts *c, const double *x, double *diagonal)
{
    double start = hk_now(), detected = c->detect_s;
    if (see(c, x)) {
        add_contact_diagonals(c, diagonal);
        for (size_t k = 0; k < c->slide_count; k++)
            visit_slide(c, &c->slides[k], add_diagonal, diagonal);
        if (c->fields) hk_fields_visit_blocks(c, 0, add_diagonal, diagonal);
    }
    count_time(c, start, detected);
}

static void visit_vertices(const hk_contacts *c, const int32_t point[4],
                           hk_contact_vertices_fn *visit, void *context)
{
    int32_t vertices[4];
    int count = 0;
    for (int k = 0; k < 4; k++)
        if (point[k] < c->body_points) vertices[count++] = c->vertex[point[k]];
    visit(context, vertices, count);
}

void hk_contacts_visit_vertices(const hk_contacts *c, hk_contact_vertices_fn *visit, void *context)
{
    for (size_t k = 0; k < c->count; k++) visit_vertices(c, c->list[k].point, visit, context);
    for (size_t k = 0; k < c->slide_count; k++)
        visit_vertices(c, c->slides[k].point, visit, context);
    for (size_t k = 0; k < c->expected_count; k++)
        visit_vertices(c, c->expected[k], visit, context);
}
