// Stiffness of contacts and of friction.
#include <math.h>
#include <stdlib.h>

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

// A block of a matrix is added to by one thread alone, in the order of the contacts: so bits do not
// depend on their number. Threads share space in slices, so that nearly every contact concerns one
// of them, which finds its matrix where it adds it, and few are found twice.
enum { NO_SLICE = UINT16_MAX };
typedef struct hk_contact_blocks {
    // Blocks of the list that have any, and what slides in them.
    struct {
        size_t block, slide, slides;  // the first of so many
    } * near;                         // [near_count]
    size_t near_count, near_capacity;
    uint16_t *slice;  // [point_count] which one a point is in; of obstacles NO_SLICE
    int slices;
    int64_t version;  // of the list that they are for
    double *along;    // [near_count] m, workspace
    size_t along_capacity;
} hk_contact_blocks;

void hk_contacts_free_blocks(hk_contact_blocks *blocks)
{
    if (!blocks) return;
    hk_free(blocks->near);
    hk_free(blocks->slice);
    hk_free(blocks->along);
    hk_free(blocks);
}

// Slides that are of contacts of the list.
static size_t listed_slides(const hk_contacts *c)
{
    return c->slide_version == c->version ? c->listed_slides : 0;
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
        if (slide == before && hk_contacts_near_in_block(c, b, nearer) == 0) continue;
        size_t n = to->near_count++;
        to->near[n].block = b;
        to->near[n].slide = before;
        to->near[n].slides = slide - before;
    }
    return HK_OK;
}

// What slides in the lanes of a block; those that do, one bit for each.
static unsigned fill_slides(const hk_contacts *c, const hk_feature_table *kernels, size_t near,
                            hk_feature_stiffness *to)
{
    size_t first = c->block_first[c->blocks->near[near].block];
    const hk_slide *s = c->slides + c->blocks->near[near].slide;
    unsigned slides = 0;
    for (const hk_slide *last = s + c->blocks->near[near].slides; s < last; s++) {
        int lane = (int)(s->contact - first);
        double b[6];
        kernels->stiffen_slide(&s->friction, s->point, c->x, c->from, b);
        slides |= 1u << lane;
        for (int v = 0; v < 4; v++) to->weight[v][lane] = s->friction.c[v];
        for (int k = 0; k < 6; k++) to->slide[k][lane] = b[k];
    }
    for (int l = 0; l < HK_FEATURE_LANES; l++) {
        if (slides >> l & 1u) continue;
        for (int v = 0; v < 4; v++) to->weight[v][l] = 0;
        for (int k = 0; k < 6; k++) to->slide[k][l] = 0;
    }
    return slides;
}

// One that is not plain.
static void fill_lane(const hk_contacts *c, const hk_feature_table *kernels, const hk_contact *k,
                      int lane, double keep, hk_feature_stiffness *to)
{
    double x[4][3];
    hk_contact_corners(c->x, k->point, x);
    kernels->stiffen_one(&k->pair, keep, (const double(*)[3])x, lane, to);
}

// ---------------------------------------------------------------- slices

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

// Along which axis blocks of contacts are farthest apart.
static size_t longest_axis(const hk_contacts *c)
{
    const hk_contact_blocks *blocks = c->blocks;
    double low[3], high[3], longest = -1;
    size_t axis = 0;
    for (size_t n = 0; n < blocks->near_count; n++)
        for (size_t i = 0; i < 3; i++) {
            double x = c->x[3 * (size_t)c->block[blocks->near[n].block].point[0][0] + i];
            low[i] = n == 0 ? x : fmin(low[i], x);
            high[i] = n == 0 ? x : fmax(high[i], x);
        }
    for (size_t i = 0; i < 3 && blocks->near_count > 0; i++)
        if (high[i] - low[i] > longest) longest = high[i] - low[i], axis = i;
    return axis;
}

// Slices with as many blocks of contacts each, where the list was first asked for.
static hk_status find_slices(hk_contacts *c, int slices)
{
    hk_contact_blocks *to = c->blocks;
    size_t count = to->near_count;
    if (to->version == c->version && to->slices == slices) return HK_OK;
    size_t axis = longest_axis(c);
    HK_TRY(hk_reserve((void **)&to->along, 0, sizeof(double), &to->along_capacity, count));
    if (!to->slice) to->slice = HK_ZEROS(uint16_t, c->point_count);
    if (!to->slice) return HK_NO_MEMORY;
    for (size_t n = 0; n < count; n++)
        to->along[n] = c->x[3 * (size_t)c->block[to->near[n].block].point[0][0] + axis];
    if (count > 0) qsort(to->along, count, sizeof(double), by_value);
    for (size_t p = 0; p < (size_t)c->body_points; p++) {
        int slice = 0;
        while (slice + 1 < slices && count > 0 &&
               c->x[3 * p + axis] >= to->along[(size_t)(slice + 1) * count / (size_t)slices])
            slice++;
        to->slice[p] = (uint16_t)slice;
    }
    for (int p = c->body_points; p < c->point_count; p++) to->slice[p] = NO_SLICE;
    to->slices = slices;
    to->version = c->version;
    return HK_OK;
}

// Who adds to the block of two points: the one in whose slice the first of them is.
static bool is_own(const hk_contacts *c, int32_t a, int32_t b, int thread)
{
    return c->blocks->slice[hk_min_int(a, b)] == thread;
}

// Contacts of a block that concern a thread, one bit for each.
static unsigned own_lanes(const hk_contacts *c, const hk_feature_block *b, int thread)
{
    const uint16_t *slice = c->blocks->slice;
    unsigned own = 0;
    for (int v = 0; v < 4; v++)
        for (int l = 0; l < b->count; l++) own |= (slice[b->point[v][l]] == thread ? 1u : 0u) << l;
    return own;
}

// ---------------------------------------------------------------- handing out

static void visit_lane(const hk_contacts *c, const hk_feature_stiffness *from,
                       const int32_t point[4], int lane, int thread, hk_contact_block_fn *visit,
                       void *context)
{
    for (int a = 0, pair = 0; a < 4; a++)
        for (int b = a; b < 4; b++, pair++) {
            double block[9];
            if (point[a] >= c->body_points || point[b] >= c->body_points) continue;
            if (!is_own(c, point[a], point[b], thread)) continue;
            for (int i = 0; i < 9; i++) block[i] = from->value[pair][i][lane];
            visit(context, c->vertex[point[a]], c->vertex[point[b]], block);
        }
}

// How matrices are to be, and who wants them.
typedef struct visit_of {
    const hk_feature_table *kernels;
    double nearer, keep;
    hk_contact_block_fn *visit;
    void *context;
} visit_of;

static void visit_block(const hk_contacts *c, const visit_of *v, size_t near, int thread)
{
    hk_feature_stiffness found;
    size_t block = c->blocks->near[near].block;
    const hk_feature_block *b = &c->block[block];
    const hk_contact *list = c->list + c->block_first[block];
    unsigned own = own_lanes(c, b, thread);
    if (own == 0) return;
    unsigned any =
        fill_slides(c, v->kernels, near, &found) | hk_contacts_near_in_block(c, block, v->nearer);
    any &= own;
    if (any == 0) return;
    unsigned plain = v->kernels->stiffen(b, list->pair.law, v->keep, c->x, &found);
    for (int l = 0; l < b->count; l++) {
        if (!(any >> l & 1u)) continue;
        if (!(plain >> l & 1u)) fill_lane(c, v->kernels, &list[l], l, v->keep, &found);
        visit_lane(c, &found, list[l].point, l, thread, v->visit, v->context);
    }
}

static void visit_contacts(const hk_contacts *c, const visit_of *v)
{
    const hk_contact_blocks *blocks = c->blocks;
#pragma omp parallel for schedule(static, 1) num_threads(blocks->slices)
    for (int t = 0; t < blocks->slices; t++)
        for (size_t n = 0; n < blocks->near_count; n++) visit_block(c, v, n, t);
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
    if (c->status == HK_OK) c->status = find_slices(c, threads);
    if (c->status != HK_OK) return;
    visit_of v = {hk_lanes_best(HK_DOUBLE_PRECISION)->feature, nearer, keep, visit, context};
    visit_contacts(c, &v);
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
