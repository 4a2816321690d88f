#include "term/links.h"

#include <math.h>

enum { CHUNK = 64 };  // links that are evaluated together

#define SCALAR  double
#define NAME(x) x##_f64
#define ROOT    sqrt
#define NOTHING 1e-12
#include "term/links_kernels.inl"

#define SCALAR  float
#define NAME(x) x##_f32
#define ROOT    sqrtf
#define NOTHING 1e-6f
#include "term/links_kernels.inl"

// The same for both scalars.
typedef struct kernels {
    size_t size;
    double (*energy)(const hk_links *t, const void *x, int first, int last);
    double (*forces)(const hk_links *t, const void *x, int first, int last);
    void (*diagonals)(const hk_links *t, const void *x, double keep, int first, int last);
    void (*stiffness)(const hk_links *t, const void *x, double keep, int first, int last,
                      void *blocks);
    void (*gather)(const hk_links *t, bool squared, int first, int last, void *to);
    void (*store)(void *array, int64_t index, double value);
} kernels;

static const kernels g_kernels[] = {
    [HK_SINGLE] = {sizeof(float), energy_f32, forces_f32, diagonals_f32, stiffness_f32, gather_f32,
                   store_f32},
    [HK_DOUBLE_PRECISION] = {sizeof(double), energy_f64, forces_f64, diagonals_f64, stiffness_f64,
                             gather_f64, store_f64},
};

enum { RUN = 1024 };  // links or vertices a thread takes at a time, whatever the number of threads

static int run_count(int items)
{
    return (items + RUN - 1) / RUN;
}

// ---------------------------------------------------------------- packing

static void add_entry(const hk_model *m, hk_links *t, int link, int32_t vertex, double coefficient)
{
    int32_t at = t->start[link + 1]++;
    t->vertex[at] = m->place[vertex];
    t->coefficient[at] = coefficient;
}

static void add_link(hk_links *t, int *link, double stiffness, double rest)
{
    t->stiffness[*link] = stiffness;
    t->rest[*link] = rest;
    t->start[*link + 1] = t->start[*link];
    ++*link;
}

static void pack_spring(const hk_model *m, int spring, hk_links *t, int *link)
{
    const hk_spring *s = &m->springs[spring];
    add_link(t, link, s->stiffness, s->rest);
    add_entry(m, t, *link - 1, s->ends[0], 1);
    add_entry(m, t, *link - 1, s->ends[1], -1);
}

static void pack_bend(const hk_model *m, int bend, hk_links *t, int *link)
{
    const hk_bend *b = &m->bends[bend];
    add_link(t, link, b->stiffness, b->rest);
    for (int k = b->start; k < b->start + b->count; k++)
        add_entry(m, t, *link - 1, m->bend_vertices[k], m->bend_coefficients[k]);
}

static void pack(const hk_model *m, hk_links *t)
{
    int link = 0;
    for (int k = 0; k < t->spring_count; k++) pack_spring(m, m->spring_order[k], t, &link);
    for (int k = 0; k < t->bend_count; k++) pack_bend(m, m->bend_order[k], t, &link);
    for (int k = 0; k < t->attachment_count; k++) {
        add_link(t, &link, m->attachments[k].stiffness, 0);
        add_entry(m, t, link - 1, m->attachments[k].vertex, 1);
    }
}

// The lists of links by vertex.
static hk_status list_uses(hk_links *t, int vertex_count)
{
    const kernels *f = &g_kernels[t->precision];
    int entries = t->start[t->link_count];
    int32_t *first = HK_ZEROS(int32_t, vertex_count + 1);
    if (!first) return HK_NO_MEMORY;
    for (int k = 0; k < entries; k++) first[t->vertex[k] + 1]++;
    for (int v = 0; v < vertex_count; v++) t->user_count += first[v + 1] > 0;
    for (int v = 0; v < vertex_count; v++) first[v + 1] += first[v];
    t->user = HK_ARRAY(int32_t, t->user_count);
    t->user_of = HK_ARRAY(int32_t, vertex_count);
    t->use_start = HK_ZEROS(int32_t, t->user_count + 1);
    t->use_link = HK_ARRAY(int32_t, entries);
    t->use_coefficient = hk_alloc((size_t)entries, f->size);
    bool complete = t->user && t->user_of && t->use_start && t->use_link && t->use_coefficient;
    for (int v = 0, user = 0; v < vertex_count && complete; v++) {
        t->user_of[v] = -1;
        if (first[v + 1] == first[v]) continue;
        t->user[user] = v;
        t->user_of[v] = user;
        t->use_start[++user] = first[v + 1];
    }
    for (int link = 0; link < t->link_count && complete; link++)
        for (int k = t->start[link]; k < t->start[link + 1]; k++) {
            int32_t at = first[t->vertex[k]]++;
            t->use_link[at] = link;
            f->store(t->use_coefficient, at, t->coefficient[k]);
        }
    hk_free(first);
    return complete ? HK_OK : HK_NO_MEMORY;
}

static void store_scalars(hk_links *t)
{
    const kernels *f = &g_kernels[t->precision];
    int64_t entries = t->start[t->link_count];
    for (int64_t k = 0; k < entries; k++) f->store(t->scalars, k, t->coefficient[k]);
    for (int64_t k = 0; k < t->link_count; k++) {
        f->store(t->scalars, entries + k, t->stiffness[k]);
        f->store(t->scalars, entries + t->link_count + k, t->rest[k]);
    }
}

static hk_status build(const hk_model *m, hk_links *t)
{
    const kernels *f = &g_kernels[t->precision];
    int64_t entries = 2 * (int64_t)m->spring_count + m->bend_entry_count + m->attachment_count;
    int64_t links = (int64_t)m->spring_count + m->bend_count + m->attachment_count;
    if (entries > INT32_MAX)
        return hk_fail(HK_UNSUPPORTED, "too large: %lld springs, bends and attachments",
                       (long long)links);
    t->spring_count = m->spring_count;
    t->bend_count = m->bend_count;
    t->attachment_count = m->attachment_count;
    t->link_count = (int)links;
    t->start = HK_ZEROS(int32_t, links + 1);
    t->vertex = HK_ARRAY(int32_t, entries);
    t->coefficient = HK_ARRAY(double, entries);
    t->stiffness = HK_ARRAY(double, links);
    t->rest = HK_ARRAY(double, links);
    t->scalars = hk_alloc((size_t)(entries + 2 * links), f->size);
    t->target = hk_calloc(4 * (size_t)m->attachment_count, f->size);
    t->vector = hk_calloc(4 * (size_t)links, f->size);
    t->partial = HK_ARRAY(double, run_count(t->link_count));
    if (t->precision == HK_SINGLE)
        t->base_d = HK_ZEROS(float, 4 * ((size_t)m->spring_count + (size_t)m->bend_count));
    if (!t->start || !t->vertex || !t->coefficient || !t->stiffness || !t->rest || !t->scalars ||
        !t->target || !t->vector || !t->partial || (t->precision == HK_SINGLE && !t->base_d))
        return HK_NO_MEMORY;
    pack(m, t);
    store_scalars(t);
    for (int k = 0; k < t->attachment_count; k++)
        hk_links_set_target(t, k, m->rest + 3 * (int64_t)m->attachments[k].vertex);
    return list_uses(t, m->vertex_count);
}

hk_status hk_links_create(const hk_model *model, hk_precision precision, int threads,
                          hk_links **links)
{
    hk_links *t = HK_NEW(hk_links);
    if (!t) return HK_NO_MEMORY;
    t->model = model;
    t->precision = precision;
    t->threads = threads;
    hk_status status = build(model, t);
    if (status != HK_OK) {
        hk_links_free(t);
        return status;
    }
    *links = t;
    return HK_OK;
}

void hk_links_free(hk_links *t)
{
    if (!t) return;
    hk_free(t->start);
    hk_free(t->vertex);
    hk_free(t->coefficient);
    hk_free(t->stiffness);
    hk_free(t->rest);
    hk_free(t->scalars);
    hk_free(t->target);
    hk_free(t->base_d);
    hk_free(t->user);
    hk_free(t->user_of);
    hk_free(t->use_start);
    hk_free(t->use_link);
    hk_free(t->use_coefficient);
    hk_free(t->vector);
    hk_free(t->partial);
    hk_free(t);
}

void hk_links_set_target(hk_links *t, int attachment, const double target[3])
{
    for (int i = 0; i < 3; i++)
        g_kernels[t->precision].store(t->target, 4 * (int64_t)attachment + i, target[i]);
}

// d at the base; differences first, as in combine_bend.
static void base_vector(const hk_links *t, const double *base, int link, double d[3])
{
    const int32_t *vertex = t->vertex + t->start[link];
    const double *weight = t->coefficient + t->start[link];
    for (int i = 0; i < 3; i++) d[i] = 0;
    for (int a = 1; a < t->start[link + 1] - t->start[link]; a++)
        for (int i = 0; i < 3; i++)
            d[i] +=
                weight[a] * (base[4 * (int64_t)vertex[a] + i] - base[4 * (int64_t)vertex[0] + i]);
}

void hk_links_set_base(hk_links *t, const double *base)
{
    t->has_base = true;
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int link = 0; link < t->spring_count + t->bend_count; link++) {
        float *to = t->base_d + 4 * (int64_t)link;
        double d[3], r = t->rest[link];
        base_vector(t, base, link, d);
        for (int i = 0; i < 3; i++) to[i] = (float)d[i];
        to[3] = (float)(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] - r * r);
    }
}

// ---------------------------------------------------------------- evaluation

static int run_end(int run, int count)
{
    return hk_min_int((run + 1) * RUN, count);
}

static double sum_partial(const hk_links *t)
{
    double sum = 0;
    for (int r = 0; r < run_count(t->link_count); r++) sum += t->partial[r];
    return isnan(sum) ? INFINITY : sum;
}

double hk_links_energy(hk_links *t, const void *x)
{
    const kernels *f = &g_kernels[t->precision];
    if (t->link_count == 0) return 0;
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int r = 0; r < run_count(t->link_count); r++)
        t->partial[r] = f->energy(t, x, r * RUN, run_end(r, t->link_count));
    return sum_partial(t);
}

void hk_links_add_gradient(hk_links *t, const void *x, void *gradient, double *energy)
{
    const kernels *f = &g_kernels[t->precision];
    if (energy) *energy = 0;
    if (t->link_count == 0) return;
#pragma omp parallel num_threads(t->threads)
    {
#pragma omp for schedule(static)
        for (int r = 0; r < run_count(t->link_count); r++)
            t->partial[r] = f->forces(t, x, r * RUN, run_end(r, t->link_count));
#pragma omp for schedule(static)
        for (int r = 0; r < run_count(t->user_count); r++)
            f->gather(t, false, r * RUN, run_end(r, t->user_count), gradient);
    }
    if (energy) *energy = sum_partial(t);
}

void hk_links_add_diagonal(hk_links *t, const void *x, double keep, void *diagonal)
{
    const kernels *f = &g_kernels[t->precision];
    if (t->link_count == 0) return;
#pragma omp parallel num_threads(t->threads)
    {
#pragma omp for schedule(static)
        for (int r = 0; r < run_count(t->link_count); r++)
            f->diagonals(t, x, keep, r * RUN, run_end(r, t->link_count));
#pragma omp for schedule(static)
        for (int r = 0; r < run_count(t->user_count); r++)
            f->gather(t, true, r * RUN, run_end(r, t->user_count), diagonal);
    }
}

void hk_links_stiffness(hk_links *t, const void *x, double keep, void *blocks)
{
    const kernels *f = &g_kernels[t->precision];
    if (t->link_count == 0) return;
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int r = 0; r < run_count(t->link_count); r++)
        f->stiffness(t, x, keep, r * RUN, run_end(r, t->link_count), blocks);
}
