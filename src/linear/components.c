#include "linear/components.h"

#include <math.h>
#include <stdlib.h>

// Numbers of two components are equal within this part of the diagonal: translations and turns of a
// body round its coordinates, and the factor is in single precision.
#define EQUAL 1e-9

// ---------------------------------------------------------------- finding components

typedef struct component {
    uint64_t hash;       // of the pattern
    double trace;        // of L and the masses
    int32_t begin, end;  // in finder.member
    int32_t number;
    int32_t shape;
} component;

typedef struct finder {
    const hk_pattern *pattern;
    const double *laplacian, *mass;
    int32_t *root;          // [count] union-find, then the number of the component
    int32_t *local;         // [count] the place of an unknown in its component
    int32_t *member;        // [count] unknowns by component, ascending
    component *components;  // [component_count], sorted so that equal ones are neighbours
    int component_count;
} finder;

static void finder_release(finder *f)
{
    hk_free(f->root);
    hk_free(f->local);
    hk_free(f->member);
    hk_free(f->components);
}

static int32_t find_root(int32_t *root, int32_t k)
{
    while (root[k] != k) k = root[k] = root[root[k]];
    return k;
}

static void join_columns(finder *f)
{
    const hk_pattern *p = f->pattern;
    for (int k = 0; k < p->count; k++) f->root[k] = k;
    for (int c = 0; c < p->count; c++)
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++) {
            int32_t a = find_root(f->root, c), b = find_root(f->root, p->row[k]);
            f->root[hk_max_int(a, b)] = hk_min_int(a, b);
        }
}

// Numbers components by their least unknown, and lists the unknowns of each.
static hk_status list_members(finder *f)
{
    int count = f->pattern->count;
    for (int k = 0; k < count; k++) {
        f->root[k] = find_root(f->root, k);
        f->component_count += f->root[k] == k;
    }
    f->components = HK_ZEROS(component, f->component_count);
    if (!f->components) return HK_NO_MEMORY;
    int next = 0;
    for (int k = 0; k < count; k++) {
        // A root is the least of its component: it comes first, and its number can take its place.
        bool first = f->root[k] == k;
        f->root[k] = first ? next++ : f->root[f->root[k]];
        f->components[f->root[k]].end++;
    }
    int32_t at = 0;
    for (int p = 0; p < f->component_count; p++) {
        component *each = &f->components[p];
        int32_t size = each->end;
        each->begin = each->end = at;
        each->number = p;
        at += size;
    }
    for (int k = 0; k < count; k++) {
        component *each = &f->components[f->root[k]];
        f->local[k] = each->end - each->begin;
        f->member[each->end++] = k;
    }
    return HK_OK;
}

static uint64_t mix(uint64_t hash, uint64_t number)
{
    return (hash ^ number) * 0x100000001b3u;
}

static void describe_piece(const finder *f, component *each)
{
    const hk_pattern *p = f->pattern;
    each->hash = mix(0xcbf29ce484222325u, (uint64_t)(each->end - each->begin));
    for (int m = each->begin; m < each->end; m++) {
        int c = f->member[m];
        each->hash = mix(each->hash, (uint64_t)(p->start[c + 1] - p->start[c]));
        for (int64_t k = p->start[c]; k < p->start[c + 1]; k++)
            each->hash = mix(each->hash, (uint64_t)f->local[p->row[k]]);
        each->trace += f->laplacian[hk_pattern_column(p, c, 0)] + f->mass[c];
    }
}

static int by_likeness(const void *left, const void *right)
{
    const component *a = left, *b = right;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    if (a->trace != b->trace) return a->trace < b->trace ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static bool near(double a, double b, double scale)
{
    return fabs(a - b) <= EQUAL * scale;
}

static bool same_column(const finder *f, int c, int d)
{
    const hk_pattern *p = f->pattern;
    int64_t below = p->start[c + 1] - p->start[c];
    if (p->start[d + 1] - p->start[d] != below || !near(f->mass[c], f->mass[d], f->mass[c]))
        return false;
    const double *a = f->laplacian + hk_pattern_column(p, c, 0);
    const double *b = f->laplacian + hk_pattern_column(p, d, 0);
    for (int64_t k = 0; k < below; k++)
        if (f->local[p->row[p->start[c] + k]] != f->local[p->row[p->start[d] + k]] ||
            !near(a[k + 1], b[k + 1], a[0]))
            return false;
    return near(a[0], b[0], a[0]);
}

static bool same_piece(const finder *f, const component *a, const component *b)
{
    if (a->end - a->begin != b->end - b->begin) return false;
    for (int k = 0; k < a->end - a->begin; k++)
        if (!same_column(f, f->member[a->begin + k], f->member[b->begin + k])) return false;
    return true;
}

// The first component of each shape stands for it: shape is where it is in f->components.
static void match_pieces(finder *f)
{
    qsort(f->components, (size_t)f->component_count, sizeof *f->components, by_likeness);
    for (int p = 0; p < f->component_count; p++) {
        component *each = &f->components[p];
        each->shape = p;
        for (int q = p - 1; q >= 0 && each->shape == p; q--) {
            const component *other = &f->components[q];
            if (other->hash != each->hash || !near(other->trace, each->trace, each->trace)) break;
            if (other->shape == q && same_piece(f, other, each)) each->shape = q;
        }
    }
}

static hk_status find_pieces(finder *f)
{
    size_t count = (size_t)f->pattern->count;
    f->root = HK_ARRAY(int32_t, count);
    f->local = HK_ARRAY(int32_t, count);
    f->member = HK_ARRAY(int32_t, count);
    if (!f->root || !f->local || !f->member) return HK_NO_MEMORY;
    join_columns(f);
    HK_TRY(list_members(f));
    for (int p = 0; p < f->component_count; p++) describe_piece(f, &f->components[p]);
    match_pieces(f);
    return HK_OK;
}

// ---------------------------------------------------------------- the matrix of a shape

// An entry of a column: where it is in the caller's numbers.
typedef struct entry {
    int32_t row;
    int64_t source;
} entry;

static int by_row(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    return a->row < b->row ? -1 : a->row > b->row;
}

// The part of `from` over the unknowns given[…], renumbered by local; entries are below[].
static hk_status cut_pattern(const hk_pattern *from, const hk_component_shape *s,
                             const int32_t *local, hk_pattern *to, entry **below)
{
    int64_t size = 0;
    for (int k = 0; k < s->count; k++)
        size += from->start[s->given[k] + 1] - from->start[s->given[k]];
    entry *list = HK_ARRAY(entry, size);
    *to = (hk_pattern){.scalar = true, .count = s->count};
    to->start = HK_ZEROS(int64_t, (size_t)s->count + 2);
    to->row = HK_ARRAY(int32_t, size);
    if (!list || !to->start || !to->row) {
        hk_free(list);
        hk_pattern_free(to);
        return HK_NO_MEMORY;
    }
    // Shifted by two, so that filling leaves the starts where they belong.
    for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; k < s->count; k++) {
            int c = s->given[k];
            for (int64_t e = from->start[c]; e < from->start[c + 1]; e++) {
                int32_t a = local[c], b = local[from->row[e]];
                int column = hk_min_int(a, b);
                if (pass == 0)
                    to->start[column + 2]++;
                else
                    list[to->start[column + 1]++] = (entry){
                        hk_max_int(a, b), hk_pattern_column(from, c, 0) + 1 + e - from->start[c]};
            }
        }
        for (int k = 0; k < s->count && pass == 0; k++) to->start[k + 2] += to->start[k + 1];
    }
    for (int k = 0; k < s->count; k++)
        qsort(list + to->start[k], (size_t)(to->start[k + 1] - to->start[k]), sizeof *list, by_row);
    for (int64_t e = 0; e < size; e++) to->row[e] = list[e].row;
    *below = list;
    return HK_OK;
}

// Brings s->given, ascending so far, into elimination order, and `local` with it.
static hk_status order_shape(const hk_pattern *from, hk_component_shape *s, int32_t *local)
{
    hk_pattern pattern;
    entry *below;
    HK_TRY(cut_pattern(from, s, local, &pattern, &below));
    hk_free(below);
    int32_t *order = HK_ARRAY(int32_t, s->count), *old = HK_ARRAY(int32_t, s->count);
    hk_status status = order && old ? hk_order_blocks(&pattern, order) : HK_NO_MEMORY;
    if (status == HK_OK) {
        memcpy(old, s->given, sizeof(int32_t) * (size_t)s->count);
        for (int k = 0; k < s->count; k++) {
            s->given[k] = old[order[k]];
            local[s->given[k]] = k;
        }
    }
    hk_free(order);
    hk_free(old);
    hk_pattern_free(&pattern);
    return status;
}

static hk_status fill_shape(const finder *f, hk_component_shape *s)
{
    const hk_pattern *from = f->pattern;
    for (int k = 0; k < s->count; k++) f->local[s->given[k]] = k;
    HK_TRY(order_shape(from, s, f->local));
    entry *below;
    HK_TRY(cut_pattern(from, s, f->local, &s->pattern, &below));
    size_t size = (size_t)hk_pattern_size(&s->pattern);
    s->laplacian = HK_ARRAY(double, size);
    s->matrix = HK_ARRAY(double, size);
    hk_status status = s->laplacian && s->matrix ? HK_OK : HK_NO_MEMORY;
    for (int k = 0; k < s->count && status == HK_OK; k++) {
        double *to = s->laplacian + hk_pattern_column(&s->pattern, k, 0);
        *to++ = f->laplacian[hk_pattern_column(from, s->given[k], 0)];
        for (int64_t e = s->pattern.start[k]; e < s->pattern.start[k + 1]; e++)
            *to++ = f->laplacian[below[e].source];
    }
    hk_free(below);
    return status == HK_OK ? hk_direct_create(&s->pattern, &s->direct) : status;
}

// ---------------------------------------------------------------- shapes

static int by_number(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return a < b ? -1 : a > b;
}

// A shape with several copies: where each of them is. `begin` of a component is that of its
// members.
static hk_status place_copies(const finder *f, int shape, hk_component_shape *s, int32_t *place)
{
    const component *first = &f->components[shape];
    s->count = first->end - first->begin;
    s->given = HK_ARRAY(int32_t, s->count);
    if (!s->given) return HK_NO_MEMORY;
    memcpy(s->given, f->member + first->begin, sizeof(int32_t) * (size_t)s->count);
    HK_TRY(fill_shape(f, s));
    int32_t at = s->first;
    for (int q = shape; q < f->component_count && f->components[q].hash == first->hash; q++) {
        if (f->components[q].shape != shape) continue;
        s->copies++;
        for (int k = 0; k < s->count; k++)
            place[f->member[f->components[q].begin + k]] =
                at + f->local[f->member[first->begin + k]];
        at += s->count;
    }
    return HK_OK;
}

// All components without an equal.
static hk_status place_others(const finder *f, const int32_t *copies, int count,
                              hk_component_shape *s, int32_t *place)
{
    s->given = HK_ARRAY(int32_t, count);
    if (!s->given) return HK_NO_MEMORY;
    for (int p = 0; p < f->component_count; p++)
        for (int m = f->components[p].begin; m < f->components[p].end && copies[p] == 1; m++)
            s->given[s->count++] = f->member[m];
    qsort(s->given, (size_t)s->count, sizeof *s->given, by_number);
    s->copies = 1;
    HK_TRY(fill_shape(f, s));
    for (int k = 0; k < s->count; k++) place[s->given[k]] = s->first + k;
    return HK_OK;
}

static hk_status make_shapes(const finder *f, hk_components *p, int32_t *copies)
{
    int shapes = 0, others = 0;
    for (int q = 0; q < f->component_count; q++) copies[f->components[q].shape]++;
    for (int q = 0; q < f->component_count; q++) {
        shapes += copies[q] > 1;
        if (copies[q] == 1) others += f->components[q].end - f->components[q].begin;
    }
    p->component_count = f->component_count;
    p->shapes = HK_ZEROS(hk_component_shape, shapes + 1);
    if (!p->shapes) return HK_NO_MEMORY;
    int32_t at = 0;
    for (int q = 0; q < f->component_count; q++) {
        if (copies[q] < 2) continue;
        hk_component_shape *s = &p->shapes[p->shape_count++];
        s->first = at;
        HK_TRY(place_copies(f, q, s, p->place));
        at += s->copies * s->count;
    }
    if (others == 0) return HK_OK;
    hk_component_shape *s = &p->shapes[p->shape_count++];
    s->first = at;
    return place_others(f, copies, others, s, p->place);
}

static hk_status build(const hk_pattern *pattern, const double *laplacian, const double *mass,
                       hk_components *p)
{
    p->count = pattern->count;
    p->place = HK_ARRAY(int32_t, p->count);
    if (!p->place) return HK_NO_MEMORY;
    finder f = {.pattern = pattern, .laplacian = laplacian, .mass = mass};
    hk_status status = find_pieces(&f);
    int32_t *copies = HK_ZEROS(int32_t, f.component_count);
    if (status == HK_OK && !copies) status = HK_NO_MEMORY;
    if (status == HK_OK) status = make_shapes(&f, p, copies);
    hk_free(copies);
    finder_release(&f);
    return status;
}

hk_status hk_components_create(const hk_pattern *pattern, const double *laplacian,
                               const double *mass, int threads, hk_components **components)
{
    hk_components *p = HK_NEW(hk_components);
    if (!p) return HK_NO_MEMORY;
    p->threads = threads;
    hk_status status = build(pattern, laplacian, mass, p);
    if (status != HK_OK) {
        hk_components_free(p);
        return status;
    }
    *components = p;
    return HK_OK;
}

void hk_components_free(hk_components *p)
{
    if (!p) return;
    for (int k = 0; k < p->shape_count; k++) {
        hk_component_shape *s = &p->shapes[k];
        hk_factor_free(s->triangle);
        hk_direct_free(s->direct);
        hk_pattern_free(&s->pattern);
        hk_free(s->laplacian);
        hk_free(s->matrix);
        hk_free(s->given);
    }
    hk_free(p->shapes);
    hk_free(p->place);
    hk_free(p->vector);
    hk_free(p->first);
    hk_free(p->residual);
    hk_free(p->beyond);
    hk_free(p);
}

// ---------------------------------------------------------------- factors and solves

static hk_status factor_shape(hk_component_shape *s, int threads, double scale,
                              const double *diagonal)
{
    int64_t size = hk_pattern_size(&s->pattern);
    for (int64_t k = 0; k < size; k++) s->matrix[k] = scale * s->laplacian[k];
    for (int k = 0; k < s->count; k++)
        s->matrix[hk_pattern_column(&s->pattern, k, 0)] += diagonal[s->given[k]];
    bool positive;
    HK_TRY(hk_direct_factor(s->direct, s->matrix, &positive));
    if (!positive) return hk_fail(HK_INTERNAL, "the constant matrix is not positive");
    return hk_factor_update(s->direct, threads, &s->triangle);
}

hk_status hk_components_factor(hk_components *p, double scale, const double *diagonal)
{
    for (int k = 0; k < p->shape_count; k++)
        HK_TRY(factor_shape(&p->shapes[k], p->threads, scale, diagonal));
    if (p->vector) return HK_OK;
    int64_t rows = p->count;
    if (p->shape_count > 0) rows += hk_factor_extra(p->shapes[p->shape_count - 1].triangle);
    p->vector = HK_ZEROS(float, 4 * (size_t)rows);
    return p->vector ? HK_OK : HK_NO_MEMORY;
}

static float *copy_at(const hk_components *p, const hk_component_shape *s, int64_t copy)
{
    return p->vector + 4 * (s->first + copy * s->count);
}

// What is 0 stays 0, and takes no time.
static bool is_zero_copy(const float *x, int64_t count)
{
    for (int64_t k = 0; k < count; k++)
        if (x[4 * k] != 0 || x[4 * k + 1] != 0 || x[4 * k + 2] != 0) return false;
    return true;
}

// Copies too large for one thread each: one after the other, by all threads.
static void solve_large(hk_components *p, hk_component_shape *s)
{
    if (s == &p->shapes[p->shape_count - 1] && s->copies == 1) {
        hk_factor_solve_in(s->triangle, copy_at(p, s, 0));  // at the end, where there is room
        return;
    }
    size_t bytes = 4 * sizeof(float) * (size_t)s->count;
    for (int c = 0; c < s->copies; c++) {
        memcpy(hk_factor_vector(s->triangle), copy_at(p, s, c), bytes);
        hk_factor_solve(s->triangle);
        memcpy(copy_at(p, s, c), hk_factor_vector(s->triangle), bytes);
    }
}

void hk_components_solve(hk_components *p)
{
    bool many = false;
    for (int k = 0; k < p->shape_count; k++) {
        hk_component_shape *s = &p->shapes[k];
        if (hk_factor_extra(s->triangle) > 0 || s->copies == 1)
            solve_large(p, s);
        else
            many = true;
    }
    if (!many) return;
#pragma omp parallel num_threads(p->threads)
    for (int k = 0; k < p->shape_count; k++) {
        const hk_component_shape *s = &p->shapes[k];
        if (hk_factor_extra(s->triangle) > 0 || s->copies == 1) continue;
#pragma omp for schedule(static) nowait
        for (int c = 0; c < s->copies; c++)
            if (!is_zero_copy(copy_at(p, s, c), s->count))
                hk_factor_solve_alone(s->triangle, copy_at(p, s, c));
    }
}

// ---------------------------------------------------------------- refinement

hk_status hk_components_allow_refinement(hk_components *p)
{
    size_t size = 4 * (size_t)p->count;
    p->first = HK_ZEROS(double, size);
    p->residual = HK_ZEROS(double, size);
    p->beyond = HK_ZEROS(float, size);
    return p->first && p->residual && p->beyond ? HK_OK : HK_NO_MEMORY;
}

// Copies of a shape do not meet in the matrix.
static void subtract_products(hk_components *p)
{
#pragma omp parallel num_threads(p->threads)
    for (int k = 0; k < p->shape_count; k++) {
        const hk_component_shape *s = &p->shapes[k];
#pragma omp for schedule(static) nowait
        for (int c = 0; c < s->copies; c++) {
            int64_t at = 4 * (s->first + (int64_t)c * s->count);
            hk_factor_subtract(s->triangle, &s->pattern, s->matrix, p->first + at,
                               p->residual + at);
        }
    }
}

void hk_components_refine(hk_components *p)
{
    int64_t size = 4 * (int64_t)p->count;
    for (int64_t k = 0; k < size; k++) p->residual[k] = k % 4 < 3 ? (double)p->vector[k] : 0;
    hk_components_solve(p);
    for (int64_t k = 0; k < size; k++) p->first[k] = k % 4 < 3 ? (double)p->vector[k] : 0;
    subtract_products(p);
    for (int64_t k = 0; k < size; k++) p->vector[k] = (float)p->residual[k];
    hk_components_solve(p);
    for (int64_t k = 0; k < size; k++) {
        double sum = k % 4 < 3 ? p->first[k] + (double)p->vector[k] : 0;
        p->vector[k] = (float)sum;
        p->beyond[k] = (float)(sum - (double)p->vector[k]);
    }
}

static bool is_zero(const double *b, int64_t size)
{
    for (int64_t k = 0; k < size; k++)
        if (b[k] != 0) return false;
    return true;
}

void hk_components_solve_wide(hk_components *p, const double *b, double *x)
{
    for (int k = 0; k < p->shape_count; k++) {
        hk_component_shape *s = &p->shapes[k];
        for (int64_t c = 0; c < s->copies; c++) {
            int64_t at = 4 * (s->first + c * s->count), size = 4 * (int64_t)s->count;
            if (is_zero(b + at, size))
                memset(x + at, 0, sizeof *x * (size_t)size);
            else
                hk_factor_refine(s->triangle, &s->pattern, s->matrix, b + at, x + at);
        }
    }
}

int64_t hk_components_factor_size(const hk_components *p)
{
    int64_t size = 0;
    for (int k = 0; k < p->shape_count; k++) size += hk_direct_factor_size(p->shapes[k].direct);
    return size;
}
