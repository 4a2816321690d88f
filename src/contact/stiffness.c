// Stiffness of contacts and of friction.
#include <math.h>

#include "contact/field.h"
#include "contact/quick.h"
#include "contact/slide.h"

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

// B of a slide.
static void slide_block(const hk_contacts *c, const hk_slide *s, double block[3][3])
{
    double slide[3];
    if (s->press) {
        outer_of(slide_missing(c, s) > 0 ? s->friction.most : 0, s->friction.normal, block);
        return;
    }
    double nearer = slide_of(c, s, slide);
    friction_block(&s->friction, slide, nearer, block);
}

static void visit_slide(const hk_contacts *c, const hk_slide *s, hk_contact_block_fn *visit,
                        void *context)
{
    double block[3][3];
    slide_block(c, s, block);
    visit_factored(c, s->point, s->friction.c, block, visit, context);
}

static void visit_foreseen(const hk_contacts *c, const hk_foreseen *f, hk_contact_block_fn *visit,
                           void *context)
{
    double block[3][3];
    outer_of(f->stiffness, f->normal, block);
    visit_factored(c, f->point, f->c, block, visit, context);
}

// ---------------------------------------------------------------- contacts and their friction

// Contacts whose blocks are found by all threads before they are handed out one after the other;
// with those of the friction at the same corners.
enum { BATCH = 512, PAIRS = 10 };
typedef struct hk_contact_blocks {
    size_t contact[BATCH];
    size_t slide[BATCH];  // SIZE_MAX: there is none
    bool any[BATCH];
    double value[BATCH][PAIRS][9];  // of corners 00, 01, 02, 03, 11, …
} hk_contact_blocks;

static void take_upper(const double *h, double to[PAIRS][9])
{
    for (int a = 0, pair = 0; a < 4; a++)
        for (int b = a; b < 4; b++, pair++)
            for (int i = 0; i < 3; i++)
                memcpy(to[pair] + 3 * i, h + 12 * (3 * a + i) + 3 * b, 3 * sizeof(double));
}

static void add_factored(const double weight[4], double b[3][3], double to[PAIRS][9])
{
    for (int u = 0, pair = 0; u < 4; u++)
        for (int v = u; v < 4; v++, pair++)
            for (int k = 0; k < 9; k++) to[pair][k] += weight[u] * weight[v] * b[k / 3][k % 3];
}

static void fill_one(const hk_contacts *c, int n, double keep)
{
    hk_contact_blocks *blocks = c->blocks;
    const hk_contact *k = &c->list[blocks->contact[n]];
    double h[144], x[4][3], slide[3][3];
    hk_contact_corners(c->x, k->point, x);
    hk_pair_state at = pair_state(&k->pair, (const double(*)[3])x);
    bool pushes = at.b.energy != 0, drags = blocks->slide[n] != SIZE_MAX;
    blocks->any[n] = pushes || drags;
    if (pushes) {
        pair_upper_hessian(&k->pair, &at, keep, h);
        take_upper(h, blocks->value[n]);
    } else if (drags) {
        memset(blocks->value[n], 0, sizeof blocks->value[n]);
    }
    if (!drags) return;
    const hk_slide *s = &c->slides[blocks->slide[n]];
    slide_block(c, s, slide);
    add_factored(s->friction.c, slide, blocks->value[n]);
}

// Who hands out the block of two points: one of `threads`, by the first of them.
static bool is_own(int32_t a, int32_t b, int thread, int threads)
{
    enum { NEIGHBOURS = 8 };  // which share cache lines of a matrix
    return threads == 1 || (hk_min_int(a, b) / NEIGHBOURS) % threads == thread;
}

static void visit_filled(const hk_contacts *c, int n, int thread, int threads,
                         hk_contact_block_fn *visit, void *context)
{
    const hk_contact_blocks *blocks = c->blocks;
    const int32_t *point = c->list[blocks->contact[n]].point;
    if (!blocks->any[n]) return;
    for (int a = 0, pair = 0; a < 4; a++)
        for (int b = a; b < 4; b++, pair++) {
            if (point[a] >= c->body_points || point[b] >= c->body_points) continue;
            if (is_own(point[a], point[b], thread, threads))
                visit(context, c->vertex[point[a]], c->vertex[point[b]], blocks->value[n][pair]);
        }
}

// Slides that are of contacts of the list.
static size_t listed_slides(const hk_contacts *c)
{
    return c->slide_version == c->version ? c->listed_slides : 0;
}

static void visit_contacts(const hk_contacts *c, double keep, int threads,
                           hk_contact_block_fn *visit, void *context)
{
    double nearer = hk_contacts_nearer(c);
    size_t slide = 0, slides = listed_slides(c);
    for (size_t k = 0; k < c->count;) {
        int filled = 0;
        for (; k < c->count && filled < BATCH; k++) {
            bool drags = slide < slides && c->slides[slide].contact == k;
            if (!drags && hk_contacts_apart(c, k, nearer)) continue;
            c->blocks->contact[filled] = k;
            c->blocks->slide[filled++] = drags ? slide++ : SIZE_MAX;
        }
#pragma omp parallel for schedule(static) num_threads(c->threads)
        for (int n = 0; n < filled; n++) fill_one(c, n, keep);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
        for (int t = 0; t < threads; t++)
            for (int n = 0; n < filled; n++) visit_filled(c, n, t, threads, visit, context);
    }
}

static void visit_blocks(hk_contacts *c, const double *x, double keep, int threads,
                         hk_contact_block_fn *visit, void *context)
{
    c->status = hk_contacts_see(c, x);
    if (c->status == HK_OK && !c->blocks) {
        c->blocks = HK_NEW(hk_contact_blocks);
        if (!c->blocks) c->status = HK_NO_MEMORY;
    }
    if (c->status != HK_OK) return;
    visit_contacts(c, keep, threads, visit, context);
    for (size_t k = listed_slides(c); k < c->slide_count; k++)
        visit_slide(c, &c->slides[k], visit, context);
    for (size_t k = 0; k < c->foreseen_count; k++)
        visit_foreseen(c, &c->foreseen[k], visit, context);
    if (c->fields) hk_fields_visit_blocks(c, keep, visit, context);
}

void hk_contacts_visit_blocks(hk_contacts *c, const double *x, double keep, int threads,
                              hk_contact_block_fn *visit, void *context)
{
    double start = hk_now(), detected = c->detect_s;
    visit_blocks(c, x, keep, threads, visit, context);
    hk_contacts_count_pairs(c, start, detected);
}

// Jacobi's iterations want a bound: of a matrix of four corners the diagonal, four times.
static void add_diagonal(void *context, int32_t a, int32_t b, const double block[9])
{
    double *diagonal = context;
    if (a != b) return;
    for (int i = 0; i < 3; i++) diagonal[4 * (size_t)a + (size_t)i] += 4 * block[4 * i];
}

// Of one contact, as its projected block has it, without making that; [4][3].
static void contact_diagonal(const hk_contacts *c, size_t number, double nearer, double *to)
{
    const hk_contact *k = &c->list[number];
    double x[4][3];
    for (int i = 0; i < 12; i++) to[i] = 0;
    if (hk_contacts_apart(c, number, nearer)) return;
    hk_contact_corners(c->x, k->point, x);
    hk_pair_state at = quick_state(&k->pair, (const double(*)[3])x);
    if (at.b.energy == 0 || at.distance == 0) return;
    double stiffness = pair_positive_stiffness(&k->pair, &at);
    for (int v = 0; v < 4; v++)
        for (int i = 0; i < 3; i++) {
            double normal = at.closest.w[i] / at.distance, weight = at.closest.c[v];
            to[3 * v + i] = 4 * stiffness * weight * weight * normal * normal;
        }
}

static hk_status add_contact_diagonals(hk_contacts *c, double *diagonal)
{
    double nearer = hk_contacts_nearer(c);
    HK_TRY(hk_reserve((void **)&c->force, 0, 12 * sizeof(double), &c->force_capacity, c->count));
#pragma omp parallel num_threads(c->threads)
    {
#pragma omp for schedule(static)
        for (size_t k = 0; k < c->count; k++) contact_diagonal(c, k, nearer, c->force + 12 * k);
#pragma omp for schedule(static)
        for (int p = 0; p < c->body_points; p++)
            for (int64_t k = c->uses.start[p]; k < c->uses.start[p + 1]; k++)
                for (int64_t i = 0, at = 4 * (int64_t)c->vertex[p]; i < 3; i++)
                    diagonal[at + i] += c->force[3 * c->uses.use[k] + i];
    }
    return HK_OK;
}

void hk_contacts_add_diagonal(hk_contacts *c, const double *x, double *diagonal)
{
    double start = hk_now(), detected = c->detect_s;
    c->status = hk_contacts_see(c, x);
    if (c->status == HK_OK) c->status = add_contact_diagonals(c, diagonal);
    if (c->status == HK_OK) {
        for (size_t k = 0; k < c->slide_count; k++)
            visit_slide(c, &c->slides[k], add_diagonal, diagonal);
        if (c->fields) hk_fields_visit_blocks(c, 0, add_diagonal, diagonal);
    }
    hk_contacts_count_pairs(c, start, detected);
}
