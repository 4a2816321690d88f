#include "term/stencil.h"

#include <math.h>
#include <stdio.h>

#include "math/dense.h"

enum { MOST = 3 * HK_ELEMENT_VERTICES };  // unknowns of an element
enum { RUN = 64, WIDE_CORNERS = 4 };      // elements that a thread takes at once

static hk_stencil_term *stencil(hk_term *term)
{
    return (hk_stencil_term *)term;
}
static const hk_stencil_term *const_stencil(const hk_term *term)
{
    return (const hk_stencil_term *)term;
}

// ---------------------------------------------------------------- lists of elements

hk_status hk_elements_add(hk_elements *to, const hk_element *element)
{
    if (element->count < 1 || element->count > HK_ELEMENT_VERTICES)
        return hk_fail(HK_BAD_INPUT, "an element must have 1 to %d vertices (has %d)",
                       HK_ELEMENT_VERTICES, element->count);
    HK_TRY(hk_reserve((void **)&to->element, (size_t)to->count, sizeof *element, &to->room,
                      (size_t)to->count + 1));
    to->element[to->count++] = *element;
    return HK_OK;
}

void hk_elements_release(hk_elements *elements)
{
    hk_free(elements->element);
    *elements = (hk_elements){0};
}

// Appends to an empty list, whatever capacity it has.
static hk_status fill_elements(const hk_stencil_law *law, const hk_model *m, const hk_live *live,
                               hk_elements *to)
{
    if (law->live && !live) return HK_OK;
    HK_TRY(law->elements(m, live, to));
    for (int k = 0; k < to->count; k++)
        for (int c = 0; c < to->element[k].count; c++)
            to->element[k].vertex[c] = m->place[to->element[k].vertex[c]];
    return HK_OK;
}

static hk_status list_elements(const hk_stencil_law *law, const hk_model *m, const hk_live *live,
                               hk_elements *to)
{
    *to = (hk_elements){0};
    hk_status status = fill_elements(law, m, live, to);
    if (status != HK_OK) hk_elements_release(to);
    return status;
}

bool hk_stencil_in_model(const hk_stencil_law *law, const hk_model *model)
{
    hk_elements elements = {0};
    bool any = law->elements(model, NULL, &elements) != HK_OK || elements.count > 0;
    hk_elements_release(&elements);
    return any;
}

static int pair_count(int vertices)
{
    return vertices * (vertices + 1) / 2;
}

// ---------------------------------------------------------------- creation

static void release_lists(hk_stencil_term *t)
{
    hk_elements_release(&t->elements);
    hk_free(t->block);
    hk_free(t->corner);
    hk_free(t->element_of);
    hk_free(t->force);
    hk_free(t->multiplier);
    hk_free(t->use);
    hk_free(t->use_start);
    hk_free(t->user);
    hk_free(t->partial);
    hk_free(t->corner_x);
    hk_free(t->hessians);
    hk_free(t->square);
}

static bool is_batched(const hk_stencil_term *t, int element)
{
    return t->law->is_batched && t->law->is_batched(&t->elements.element[element]);
}

static hk_status allocate_batches(hk_stencil_term *t)
{
    bool any = false;
    for (int k = 0; k < t->elements.count && !any; k++) any = is_batched(t, k);
    if (!any) return HK_OK;
    t->square = HK_ZEROS(int64_t, t->elements.count + 1);
    t->corner_x = HK_ZEROS(double, 3 * (size_t)t->use_count);
    if (!t->square || !t->corner_x) return HK_NO_MEMORY;
    for (int k = 0; k < t->elements.count; k++) {
        int n = is_batched(t, k) ? 3 * t->elements.element[k].count : 0;
        t->square[k + 1] = t->square[k] + n * n;
    }
    t->hessians = HK_ZEROS(double, t->square[t->elements.count]);
    return t->hessians ? HK_OK : HK_NO_MEMORY;
}

static hk_status allocate_lists(hk_stencil_term *t)
{
    size_t count = (size_t)t->elements.count, corners = 0;
    for (size_t k = 0; k < count; k++) corners += (size_t)t->elements.element[k].count;
    t->use_count = (int)corners;
    t->block = HK_ZEROS(int64_t, count + 1);
    t->corner = HK_ZEROS(int32_t, count + 1);
    t->element_of = HK_ARRAY(int32_t, corners);
    t->force = HK_ZEROS(double, 3 * corners);
    t->multiplier = HK_ZEROS(double, 3 * corners);
    t->use = HK_ARRAY(int32_t, corners);
    t->use_start = HK_ZEROS(int32_t, corners + 1);
    t->user = HK_ARRAY(int32_t, corners);
    t->partial = HK_ZEROS(double, count);
    bool complete = t->block && t->corner && t->element_of && t->force && t->multiplier && t->use &&
                    t->use_start && t->user && t->partial;
    return complete ? allocate_batches(t) : HK_NO_MEMORY;
}

// The corners of every vertex, in the order of the elements.
static void list_uses(hk_stencil_term *t)
{
    t->user_count = 0;
    for (int k = 0; k < t->elements.count; k++) {
        const hk_element *e = &t->elements.element[k];
        t->block[k + 1] = t->block[k] + 9 * pair_count(e->count);
        t->corner[k + 1] = t->corner[k] + e->count;
        for (int c = 0; c < e->count; c++) {
            t->element_of[t->corner[k] + c] = k;
            int32_t *user = &t->user_of[e->vertex[c]];
            if (*user < 0) {
                *user = t->user_count;
                t->user[t->user_count++] = e->vertex[c];
            }
            t->use_start[*user + 1]++;
        }
    }
    for (int u = 0; u < t->user_count; u++) t->use_start[u + 1] += t->use_start[u];
    for (int k = t->elements.count - 1; k >= 0; k--)
        for (int c = t->elements.element[k].count - 1; c >= 0; c--) {
            int user = t->user_of[t->elements.element[k].vertex[c]];
            t->use[--t->use_start[user + 1]] = t->corner[k] + c;
        }
    // Filling moved every end to where it begins.
    for (int u = 0; u < t->user_count; u++) t->use_start[u] = t->use_start[u + 1];
    t->use_start[t->user_count] = t->use_count;
}

static void forget_users(hk_stencil_term *t)
{
    for (int u = 0; u < t->user_count; u++) t->user_of[t->user[u]] = -1;
    t->user_count = t->use_count = 0;
}

// On failure the term is as it was.
static hk_status take_elements(hk_stencil_term *t)
{
    const hk_terms *list = t->base.list;
    hk_stencil_term made = {.base = t->base, .law = t->law, .user_of = t->user_of};
    HK_TRY(list_elements(t->law, list->model, list->live, &made.elements));
    hk_status status = allocate_lists(&made);
    if (status != HK_OK) {
        release_lists(&made);
        return status;
    }
    forget_users(t);
    release_lists(t);
    list_uses(&made);
    made.version = list->live ? list->live->version : 0;
    made.shape_version = list->live ? list->live->shape_version : 0;
    *t = made;
    return HK_OK;
}

// The same elements with other values, into the list that there is.
static hk_status take_values(hk_stencil_term *t)
{
    const hk_terms *list = t->base.list;
    t->elements.count = 0;
    HK_TRY(fill_elements(t->law, list->model, list->live, &t->elements));
    t->version = list->live->version;
    return HK_OK;
}

hk_status hk_stencil_refresh(hk_term *term)
{
    hk_stencil_term *t = stencil(term);
    const hk_live *live = term->list->live;
    if (!t->law->live || !live || live->version == t->version) return HK_OK;
    return live->shape_version == t->shape_version ? take_values(t) : take_elements(t);
}

hk_status hk_stencil_follow(hk_term *term, const hk_term *from)
{
    (void)from;
    return hk_stencil_refresh(term);
}

hk_status hk_stencil_create_larger(const hk_terms *list, const hk_stencil_law *law, size_t size,
                                   hk_term **term)
{
    hk_stencil_term *t = hk_calloc(1, size);
    if (!t) return HK_NO_MEMORY;
    t->base.list = (hk_terms *)(uintptr_t)list;
    t->law = law;
    t->user_of = HK_ARRAY(int32_t, list->model->vertex_count);
    hk_status status = t->user_of ? HK_OK : HK_NO_MEMORY;
    for (int v = 0; v < list->model->vertex_count && status == HK_OK; v++) t->user_of[v] = -1;
    if (status == HK_OK) status = take_elements(t);
    if (status != HK_OK) {
        hk_stencil_free(&t->base);
        return status;
    }
    *term = &t->base;
    return HK_OK;
}

hk_status hk_stencil_create(const hk_terms *list, const hk_stencil_law *law, hk_term **term)
{
    return hk_stencil_create_larger(list, law, sizeof(hk_stencil_term), term);
}

void hk_stencil_free(hk_term *term)
{
    if (!term) return;
    release_lists(stencil(term));
    hk_free(stencil(term)->user_of);
    hk_free(term);
}

bool hk_stencil_active(const hk_term *term)
{
    return const_stencil(term)->elements.count > 0;
}

// ---------------------------------------------------------------- one element

// In the space of the bodies, whatever the precision of the list.
static void read_vertex(const hk_stencil_term *t, const void *positions, int32_t v, double x[3])
{
    const hk_terms *list = t->base.list;
    if (list->precision == HK_SINGLE) {
        const float *q = (const float *)positions + 4 * (int64_t)v;
        const double *base = list->frame->base + 4 * (int64_t)v;
        for (int i = 0; i < 3; i++) x[i] = base[i] + (double)q[i];
    } else {
        memcpy(x, (const double *)positions + 4 * (int64_t)v, 3 * sizeof(double));
    }
}

void hk_stencil_read(const hk_stencil_term *t, const void *positions, const hk_element *e,
                     double *x)
{
    for (int c = 0; c < e->count; c++) read_vertex(t, positions, e->vertex[c], x + 3 * c);
}

static void add_to(const hk_stencil_term *t, void *vector, int32_t v, const double value[3])
{
    for (int i = 0; i < 3; i++)
        if (t->base.list->precision == HK_SINGLE)
            ((float *)vector)[4 * (int64_t)v + i] += (float)value[i];
        else
            ((double *)vector)[4 * (int64_t)v + i] += value[i];
}

// Negative eigenvalues × keep.
static void project(double *h, int n, double keep)
{
    double a[MOST * MOST], v[MOST * MOST];
    if (keep < 1) hk_dense_project(h, n, keep, a, v);
}

static bool all_finite(const double *a, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++) sum += 0 * a[k];
    return sum == 0;
}

// The Hessian of an element; 0 where it is not defined. `ready`: that there is already, or NULL.
static void hessian_of(const hk_stencil_term *t, const hk_element *e, const double *x, double keep,
                       const double *ready, double *h)
{
    int n = 3 * e->count;
    bool own = !ready && keep < 1 && t->law->projected;
    if (ready)
        memcpy(h, ready, sizeof(double) * (size_t)(n * n));
    else if (own)
        t->law->projected(e, x, keep, h);
    else
        t->law->hessian(e, x, h);
    if (all_finite(h, n * n))
        project(h, n, own ? 1 : keep);
    else
        memset(h, 0, sizeof(double) * (size_t)(n * n));
}

static void copy_block(const double *h, int n, int a, int b, double *to)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) to[3 * i + j] = h[n * (3 * a + i) + 3 * b + j];
}

// Gradient and block of one corner.
static void corner_of(const hk_stencil_term *t, const hk_element *e, const double *x, int corner,
                      double g[3], double block[9])
{
    double all[MOST], h[MOST * MOST];
    if (t->law->corner) {
        t->law->corner(e, x, corner, g, block);
        if (!all_finite(block, 9)) memset(block, 0, 9 * sizeof(double));
        return;
    }
    t->law->gradient(e, x, all);
    memcpy(g, all + 3 * corner, 3 * sizeof(double));
    hessian_of(t, e, x, 1, NULL, h);
    copy_block(h, 3 * e->count, corner, corner, block);
}

// ---------------------------------------------------------------- many elements

typedef enum what_of_many { MANY_ENERGIES = 1, MANY_GRADIENTS = 2, MANY_HESSIANS = 4 } what_of_many;

// Into `partial`, `force` and `hessians`, of all elements that are evaluated many at a time.
static void evaluate_many(hk_stencil_term *t, const void *positions, int what)
{
    int count = t->corner_x ? t->elements.count : 0;
    for (int k = 0, end; k < count; k = end) {
        const hk_element *first = &t->elements.element[k];
        for (end = k; end < count && t->elements.element[end].owner == first->owner; end++)
            if (is_batched(t, k))
                hk_stencil_read(t, positions, &t->elements.element[end],
                                t->corner_x + 3 * (int64_t)t->corner[end]);
        if (!is_batched(t, k)) continue;
        int64_t corner = 3 * (int64_t)t->corner[k];
        t->law->many(first, end - k, t->corner_x + corner,
                     what & MANY_ENERGIES ? t->partial + k : NULL,
                     what & MANY_GRADIENTS ? t->force + corner : NULL,
                     what & MANY_HESSIANS ? t->hessians + t->square[k] : NULL);
    }
}

static const double *ready_hessian(const hk_stencil_term *t, int element)
{
    return is_batched(t, element) ? t->hessians + t->square[element] : NULL;
}

// ---------------------------------------------------------------- the energy

// Of elements [first, last) into `partial` and `force`.
static void evaluate_wide(hk_stencil_term *t, const void *positions, int first, int last,
                          bool energies, bool gradients)
{
    double x[3 * RUN * WIDE_CORNERS];
    for (int k = first, end; k < last; k = end) {
        const hk_element *e = &t->elements.element[k];
        int32_t corner = t->corner[k];
        for (end = k; end < last && t->elements.element[end].owner == e->owner; end++)
            hk_stencil_read(t, positions, &t->elements.element[end],
                            x + 3 * (t->corner[end] - corner));
        t->law->wide(e, end - k, x, energies ? t->partial + k : NULL,
                     gradients ? t->force + 3 * (int64_t)corner : NULL);
    }
}

static void evaluate_each(hk_stencil_term *t, const void *positions, int first, int last,
                          bool energies, bool gradients)
{
    for (int k = first; k < last; k++) {
        const hk_element *e = &t->elements.element[k];
        double x[MOST];
        if (is_batched(t, k)) continue;
        hk_stencil_read(t, positions, e, x);
        if (gradients) t->law->gradient(e, x, t->force + 3 * (int64_t)t->corner[k]);
        if (energies) t->partial[k] = t->law->energy(e, x);
    }
}

static void evaluate(hk_stencil_term *t, const void *positions, bool energies, bool gradients)
{
    int threads = t->base.list->threads, count = t->elements.count, runs = (count + RUN - 1) / RUN;
    evaluate_many(t, positions, (gradients ? MANY_GRADIENTS : 0) | (energies ? MANY_ENERGIES : 0));
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && runs > 1)
    for (int r = 0; r < runs; r++) {
        int first = r * RUN, last = first + RUN < count ? first + RUN : count;
        (t->law->wide ? evaluate_wide : evaluate_each)(t, positions, first, last, energies,
                                                       gradients);
    }
}

static double sum_energies(const hk_stencil_term *t)
{
    double sum = 0;
    for (int k = 0; k < t->elements.count; k++) sum += t->partial[k];
    return sum;
}

// Adds up what lies in `force` for the corners of each vertex.
static void gather(const hk_stencil_term *t, void *vector)
{
    int threads = t->base.list->threads;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int u = 0; u < t->user_count; u++) {
        double sum[3] = {0};
        for (int k = t->use_start[u]; k < t->use_start[u + 1]; k++)
            for (int i = 0; i < 3; i++) sum[i] += t->force[3 * (int64_t)t->use[k] + i];
        add_to(t, vector, t->user[u], sum);
    }
}

double hk_stencil_energy(hk_term *term, const void *positions)
{
    evaluate(stencil(term), positions, true, false);
    double sum = sum_energies(stencil(term));
    return isfinite(sum) ? sum : INFINITY;
}

void hk_stencil_add_gradient(hk_term *term, const void *positions, void *gradient, double *energy)
{
    evaluate(stencil(term), positions, energy != NULL, true);
    gather(stencil(term), gradient);
    if (energy) *energy = sum_energies(stencil(term));
}

// Of one element into `force`.
static void find_diagonal(hk_stencil_term *t, const void *positions, int k)
{
    const hk_element *e = &t->elements.element[k];
    double x[MOST], h[MOST * MOST], g[3], block[9];
    hk_stencil_read(t, positions, e, x);
    if (!t->law->corner) hessian_of(t, e, x, 1, ready_hessian(t, k), h);
    for (int c = 0; c < e->count; c++) {
        if (t->law->corner)
            corner_of(t, e, x, c, g, block);
        else
            copy_block(h, 3 * e->count, c, c, block);
        for (int i = 0; i < 3; i++)
            t->force[3 * (int64_t)(t->corner[k] + c) + i] = fmax(0, block[4 * i]);
    }
}

void hk_stencil_add_diagonal(hk_term *term, const void *positions, void *diagonal)
{
    hk_stencil_term *t = stencil(term);
    int threads = term->list->threads;
    evaluate_many(t, positions, MANY_HESSIANS);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int k = 0; k < t->elements.count; k++) find_diagonal(t, positions, k);
    gather(t, diagonal);
}

bool hk_stencil_undefined(hk_term *term, const void *positions, char *text, size_t size)
{
    hk_stencil_term *t = stencil(term);
    for (int k = 0; k < t->elements.count; k++) {
        const hk_element *e = &t->elements.element[k];
        double x[MOST];
        hk_stencil_read(t, positions, e, x);
        if (isfinite(t->law->energy(e, x))) continue;
        snprintf(text, size, "element %d of %s is not defined", e->number, term->ops->name);
        return true;
    }
    return false;
}

// ---------------------------------------------------------------- elements of a model

static hk_stencil stencil_of(const hk_element *e, bool tie)
{
    return (hk_stencil){.vertex = e->vertex, .count = e->count, .tie = tie || e->tie, .stride = 1};
}

void hk_stencil_model_stencils(const hk_stencil_law *law, const hk_model *model,
                               hk_stencil_fn *visit, void *context)
{
    hk_stencil_live_stencils(law, model, NULL, visit, context);
}

void hk_stencil_live_stencils(const hk_stencil_law *law, const hk_model *model, const hk_live *live,
                              hk_stencil_fn *visit, void *context)
{
    hk_elements elements;
    if (list_elements(law, model, live, &elements) != HK_OK) return;
    for (int k = 0; k < elements.count; k++) {
        hk_stencil s = stencil_of(&elements.element[k], law->tie);
        visit(context, &s);
    }
    hk_elements_release(&elements);
}

void hk_stencil_model_weights(const hk_stencil_law *law, const hk_model *model, hk_weight_fn *visit,
                              void *context)
{
    hk_elements elements;
    if (list_elements(law, model, NULL, &elements) != HK_OK) return;
    for (int k = 0; k < elements.count; k++) {
        const hk_element *e = &elements.element[k];
        double weight[HK_ELEMENT_VERTICES * HK_ELEMENT_VERTICES];
        law->weights(e, weight);
        visit(context, &(hk_weights){.vertex = e->vertex, .count = e->count, .weight = weight});
    }
    hk_elements_release(&elements);
}

void hk_stencil_stencils(const hk_term *term, hk_stencil_fn *visit, void *context)
{
    const hk_stencil_term *t = const_stencil(term);
    for (int k = 0; k < t->elements.count; k++) {
        hk_stencil s = stencil_of(&t->elements.element[k], t->law->tie);
        s.at = t->block[k];
        visit(context, &s);
    }
}

int64_t hk_stencil_block_size(const hk_term *term)
{
    const hk_stencil_term *t = const_stencil(term);
    return t->block[t->elements.count];
}

void hk_stencil_blocks(hk_term *term, const double *positions, double keep, hk_blocks_for what,
                       double *values)
{
    hk_stencil_term *t = stencil(term);
    if (what == HK_FOR_DAMPING && t->law->tie) {
        memset(values, 0, sizeof(double) * (size_t)hk_stencil_block_size(term));
        return;
    }
    evaluate_many(t, positions, MANY_HESSIANS);
#pragma omp parallel for schedule(static) num_threads(term->list->threads)
    for (int k = 0; k < t->elements.count; k++) {
        const hk_element *e = &t->elements.element[k];
        double x[MOST], h[MOST * MOST], *to = values + t->block[k];
        hk_stencil_read(t, positions, e, x);
        hessian_of(t, e, x, keep, ready_hessian(t, k), h);
        for (int a = 0; a < e->count; a++)
            for (int b = a; b < e->count; b++, to += 9) copy_block(h, 3 * e->count, a, b, to);
        if (what == HK_FOR_DAMPING && e->tie)
            memset(values + t->block[k], 0,
                   sizeof(double) * (size_t)(t->block[k + 1] - t->block[k]));
    }
}

// ---------------------------------------------------------------- elements of a world

void hk_stencil_visit_blocks(hk_term *term, const double *positions, double keep, int threads,
                             hk_block_fn *visit, void *context)
{
    (void)threads;  // there are few of them
    hk_stencil_term *t = stencil(term);
    for (int k = 0; k < t->elements.count; k++) {
        const hk_element *e = &t->elements.element[k];
        double x[MOST], h[MOST * MOST], block[9];
        hk_stencil_read(t, positions, e, x);
        hessian_of(t, e, x, keep, NULL, h);
        for (int a = 0; a < e->count; a++)
            for (int b = a; b < e->count; b++) {
                copy_block(h, 3 * e->count, a, b, block);
                visit(context, e->vertex[a], e->vertex[b], block);
            }
    }
}

// In parts of rank one, along the eigenvectors.
void hk_stencil_visit_weights(const hk_term *term, hk_weight_fn *visit, void *context)
{
    const hk_stencil_term *t = const_stencil(term);
    for (int k = 0; k < t->elements.count; k++) {
        const hk_element *e = &t->elements.element[k];
        int n = e->count;
        double weight[HK_ELEMENT_VERTICES * HK_ELEMENT_VERTICES], most = 0;
        double vector[HK_ELEMENT_VERTICES * HK_ELEMENT_VERTICES], factor[HK_ELEMENT_VERTICES];
        t->law->weights(e, weight);
        hk_dense_diagonalise(weight, vector, n);
        for (int i = 0; i < n; i++) most = fmax(most, weight[(n + 1) * i]);
        for (int i = 0; i < n; i++) {
            if (!(weight[(n + 1) * i] > 1e-12 * most)) continue;
            for (int c = 0; c < n; c++) factor[c] = vector[n * c + i];
            visit(context, &(hk_weights){.vertex = e->vertex,
                                         .count = n,
                                         .scale = weight[(n + 1) * i],
                                         .factor = factor});
        }
    }
}

// ---------------------------------------------------------------- one vertex

bool hk_stencil_vertex(const hk_term *term, int vertex, const void *positions, double gradient[3],
                       double block[6])
{
    const hk_stencil_term *t = const_stencil(term);
    int user = t->user_of[vertex];
    if (user < 0) return false;
    for (int k = t->use_start[user]; k < t->use_start[user + 1]; k++) {
        int element = t->element_of[t->use[k]], corner = t->use[k] - t->corner[element];
        const hk_element *e = &t->elements.element[element];
        double x[MOST], g[3], own[9];
        hk_stencil_read(t, positions, e, x);
        corner_of(t, e, x, corner, g, own);
        project(own, 3, 0);
        for (int i = 0, q = 0; i < 3; i++) {
            gradient[i] += g[i];
            for (int j = i; j < 3; j++, q++) block[q] += own[3 * i + j];
        }
    }
    return true;
}

double hk_stencil_vertex_energy(const hk_term *term, int vertex, const void *positions,
                                const double step[3])
{
    const hk_stencil_term *t = const_stencil(term);
    int user = t->user_of[vertex];
    double sum = 0;
    for (int k = user < 0 ? 0 : t->use_start[user]; user >= 0 && k < t->use_start[user + 1]; k++) {
        int element = t->element_of[t->use[k]], corner = t->use[k] - t->corner[element];
        const hk_element *e = &t->elements.element[element];
        double x[MOST];
        hk_stencil_read(t, positions, e, x);
        for (int i = 0; i < 3; i++) x[3 * corner + i] += step[i];
        sum += t->law->energy(e, x);
    }
    return sum;
}

// ---------------------------------------------------------------- scales

double hk_stencil_scales(const hk_term *term, double *stiffness)
{
    const hk_stencil_term *t = const_stencil(term);
    const hk_model *m = term->list->model;
    double sum = 0;
    for (int k = 0; k < t->elements.count && !t->law->live; k++) {
        const hk_element *e = &t->elements.element[k];
        double weight[HK_ELEMENT_VERTICES * HK_ELEMENT_VERTICES], x[MOST];
        t->law->weights(e, weight);
        for (int c = 0; c < e->count; c++) {
            int32_t v = m->order[e->vertex[c]];
            stiffness[v] += fabs(weight[(e->count + 1) * c]);
            memcpy(x + 3 * c, m->rest + 3 * (int64_t)v, 3 * sizeof(double));
        }
        double energy = t->law->scale ? t->law->scale(e) : t->law->energy(e, x);
        if (isfinite(energy)) sum += fabs(energy);
    }
    return 1e-15 * sum;
}

// ---------------------------------------------------------------- XPBD

static double inverse_mass(const hk_stencil_term *t, const void *x, int32_t v)
{
    return t->base.list->precision == HK_SINGLE ? (double)((const float *)x)[4 * (int64_t)v + 3]
                                                : ((const double *)x)[4 * (int64_t)v + 3];
}

// The force p of the element on its vertices is to be −∇E where they are at the end. A step of
// Newton's method on that: (M/h² + H) Δ = −(∇E − p), and p is −M/h² Δ more.
static void relax_element(hk_stencil_term *t, int k, double h, void *x)
{
    const hk_element *e = &t->elements.element[k];
    double at[MOST], b[MOST], a[MOST * MOST], mass[HK_ELEMENT_VERTICES];
    double *p = t->multiplier + 3 * (int64_t)t->corner[k];
    int n = 3 * e->count;
    hk_stencil_read(t, x, e, at);
    t->law->gradient(e, at, b);
    hessian_of(t, e, at, 0, NULL, a);
    if (!all_finite(b, n)) return;
    for (int c = 0; c < e->count; c++) {
        double inverse = inverse_mass(t, x, e->vertex[c]);
        mass[c] = inverse > 0 ? 1 / (inverse * h * h) : 0;
        for (int i = 3 * c; i < 3 * c + 3; i++) {
            b[i] = mass[c] > 0 ? p[i] - b[i] : 0;
            a[(n + 1) * i] += mass[c];
            if (mass[c] > 0) continue;
            for (int j = 0; j < n; j++) a[n * i + j] = a[n * j + i] = i == j;
        }
    }
    if (!hk_dense_factor(a, n)) return;
    hk_dense_solve(a, n, b);
    for (int c = 0; c < e->count; c++) {
        for (int i = 3 * c; i < 3 * c + 3; i++) p[i] -= mass[c] * b[i];
        add_to(t, x, e->vertex[c], b + 3 * c);
    }
}

static hk_status relax_create(hk_term *term, void **state)
{
    *state = term;
    return HK_OK;
}

static void relax_free(void *state)
{
    (void)state;
}

static void relax_begin(void *state, bool several)
{
    (void)several;
    hk_stencil_term *t = state;
    memset(t->multiplier, 0, 3 * sizeof(double) * (size_t)t->use_count);
}

static void relax_sweep(void *state, void *x, double h, bool several)
{
    (void)several;
    hk_stencil_term *t = state;
    for (int k = 0; k < t->elements.count; k++) relax_element(t, k, h, x);
}

const hk_relax_ops hk_stencil_relax = {
    .create = relax_create, .free = relax_free, .begin = relax_begin, .sweep = relax_sweep};
