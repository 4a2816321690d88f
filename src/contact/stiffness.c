// Stiffness of contacts and of friction.
#include <math.h>

#include "contact/feature_lanes.h"
#include "contact/field.h"
#include "contact/quick.h"
#include "contact/slide.h"
#include "term/lanes.h"

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

// Contacts whose matrices are found by all threads before they are handed out, block of contacts
// after block; with those of the friction at the same corners.
enum { BATCH = 128 };
typedef struct hk_contact_blocks {
    size_t *near;  // [near_count] blocks of the list that have any
    size_t near_count, near_capacity;
    unsigned any[BATCH];  // contacts of the block, one bit for each
    hk_feature_stiffness value[BATCH];
} hk_contact_blocks;

void hk_contacts_free_blocks(hk_contact_blocks *blocks)
{
    if (!blocks) return;
    hk_free(blocks->near);
    hk_free(blocks);
}

// Slides that are of contacts of the list.
static size_t listed_slides(const hk_contacts *c)
{
    return c->slide_version == c->version ? c->listed_slides : 0;
}

// The first slide of a contact from `number` on.
static size_t first_slide(const hk_contacts *c, size_t number)
{
    size_t low = 0, high = listed_slides(c);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c->slides[middle].contact < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Blocks of the list with contacts that may push, or that slide.
static hk_status list_near(hk_contacts *c, double nearer)
{
    hk_contact_blocks *to = c->blocks;
    size_t slide = 0, slides = listed_slides(c);
    HK_TRY(hk_reserve((void **)&to->near, 0, sizeof *to->near, &to->near_capacity, c->block_count));
    to->near_count = 0;
    for (size_t b = 0; b < c->block_count; b++) {
        size_t last = c->block_first[b] + (size_t)c->block[b].count, before = slide;
        while (slide < slides && c->slides[slide].contact < last) slide++;
        if (slide > before || hk_contacts_near_in_block(c, b, nearer) != 0)
            to->near[to->near_count++] = b;
    }
    return HK_OK;
}

// What slides in the lanes of a block; those that do, one bit for each.
static unsigned fill_slides(const hk_contacts *c, size_t block, hk_feature_stiffness *to)
{
    size_t first = c->block_first[block], last = first + (size_t)c->block[block].count;
    unsigned slides = 0;
    memset(to->weight, 0, sizeof to->weight);
    memset(to->slide, 0, sizeof to->slide);
    for (size_t n = first_slide(c, first), all = listed_slides(c);
         n < all && c->slides[n].contact < last; n++) {
        const hk_slide *s = &c->slides[n];
        int lane = (int)(s->contact - first);
        double b[3][3];
        slide_block(c, s, b);
        slides |= 1u << lane;
        for (int v = 0; v < 4; v++) to->weight[v][lane] = s->friction.c[v];
        for (int i = 0, k = 0; i < 3; i++)
            for (int j = i; j < 3; j++) to->slide[k++][lane] = b[i][j];
    }
    return slides;
}

// One that the kernels leave.
static void fill_lane(const hk_contacts *c, const hk_contact *k, int lane, double keep,
                      hk_feature_stiffness *to)
{
    static const int symmetric[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    double h[144] = {0}, x[4][3];
    hk_contact_corners(c->x, k->point, x);
    hk_pair_state at = pair_state(&k->pair, (const double(*)[3])x);
    if (at.b.energy != 0) pair_upper_hessian(&k->pair, &at, keep, h);
    for (int u = 0, pair = 0; u < 4; u++)
        for (int v = u; v < 4; v++, pair++) {
            double slides = to->weight[u][lane] * to->weight[v][lane];
            for (int i = 0; i < 9; i++)
                to->value[pair][i][lane] = h[12 * (3 * u + i / 3) + 3 * v + i % 3] +
                                           slides * to->slide[symmetric[i]][lane];
        }
}

static void fill_block(const hk_contacts *c, const hk_feature_table *kernels, int n, size_t block,
                       double nearer, double keep)
{
    hk_feature_stiffness *to = &c->blocks->value[n];
    const hk_feature_block *b = &c->block[block];
    const hk_contact *list = c->list + c->block_first[block];
    unsigned any = fill_slides(c, block, to) | hk_contacts_near_in_block(c, block, nearer);
    unsigned plain = kernels->stiffen(b, list->pair.law, keep, c->x, to);
    c->blocks->any[n] = any;
    for (int l = 0; l < b->count; l++)
        if (any >> l & ~(plain >> l) & 1u) fill_lane(c, &list[l], l, keep, to);
}

// Who hands out the block of two points: one of `threads`, by the first of them.
static bool is_own(int32_t a, int32_t b, int thread, int threads)
{
    enum { NEIGHBOURS = 8 };  // which share cache lines of a matrix
    return threads == 1 || (hk_min_int(a, b) / NEIGHBOURS) % threads == thread;
}

static void visit_lane(const hk_contacts *c, const hk_feature_stiffness *from,
                       const int32_t point[4], int lane, int thread, int threads,
                       hk_contact_block_fn *visit, void *context)
{
    for (int a = 0, pair = 0; a < 4; a++)
        for (int b = a; b < 4; b++, pair++) {
            double block[9];
            if (point[a] >= c->body_points || point[b] >= c->body_points) continue;
            if (!is_own(point[a], point[b], thread, threads)) continue;
            for (int i = 0; i < 9; i++) block[i] = from->value[pair][i][lane];
            visit(context, c->vertex[point[a]], c->vertex[point[b]], block);
        }
}

static void visit_filled(const hk_contacts *c, int n, size_t block, int thread, int threads,
                         hk_contact_block_fn *visit, void *context)
{
    const hk_contact_blocks *blocks = c->blocks;
    const hk_contact *list = c->list + c->block_first[block];
    for (int l = 0; l < HK_FEATURE_LANES; l++)
        if (blocks->any[n] >> l & 1u)
            visit_lane(c, &blocks->value[n], list[l].point, l, thread, threads, visit, context);
}

static void visit_contacts(const hk_contacts *c, double nearer, double keep, int threads,
                           hk_contact_block_fn *visit, void *context)
{
    const hk_feature_table *kernels = hk_lanes_best(HK_DOUBLE_PRECISION)->feature;
    const hk_contact_blocks *blocks = c->blocks;
    size_t count = blocks->near_count;
#pragma omp parallel num_threads(c->threads) if (count > 1)
    for (size_t first = 0; first < count; first += BATCH) {
        int filled = (int)(count - first < BATCH ? count - first : BATCH);
        const size_t *near = blocks->near + first;
#pragma omp for schedule(static)
        for (int n = 0; n < filled; n++) fill_block(c, kernels, n, near[n], nearer, keep);
#pragma omp for schedule(static, 1)
        for (int t = 0; t < threads; t++)
            for (int n = 0; n < filled; n++)
                visit_filled(c, n, near[n], t, threads, visit, context);
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
    if (c->status == HK_OK) c->status = hk_contacts_need_blocks(c);
    if (c->status != HK_OK) return;
    double nearer = hk_contacts_nearer(c);
    c->status = list_near(c, nearer);
    if (c->status != HK_OK) return;
    visit_contacts(c, nearer, keep, threads, visit, context);
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
