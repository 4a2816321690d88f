// Springs, bending and attachments, as a term of ε.
#include <math.h>

#include "gpu/term.h"
#include "term/links.h"

static hk_links *links(hk_term *term)
{
    return (hk_links *)term;
}
static const hk_links *const_links(const hk_term *term)
{
    return (const hk_links *)term;
}

// ---------------------------------------------------------------- creation and events

static bool in_model(const hk_model *m)
{
    return m->spring_count + m->bend_count + m->attachment_count > 0;
}

static hk_status create(const hk_terms *list, hk_term **term)
{
    hk_links *t;
    HK_TRY(hk_links_create(list->model, list->precision, list->threads, &t));
    *term = &t->base;
    return HK_OK;
}

static void release(hk_term *term)
{
    hk_links_free(links(term));
}

// Targets of attachments in single precision are relative to the base, as positions are.
static hk_status follow(hk_term *term, const hk_term *from)
{
    const double *base = term->list->frame->base;
    const double *targets = const_links(from)->target;
    const hk_model *m = const_links(from)->model;
    for (int k = 0; k < m->attachment_count; k++) {
        int place = m->place[m->attachments[k].vertex];
        const double *target = targets + 4 * (int64_t)k;
        double shifted[3];
        for (int i = 0; i < 3; i++) shifted[i] = target[i] - base[4 * (int64_t)place + i];
        hk_links_set_target(links(term), k, shifted);
    }
    hk_links_set_base(links(term), base);
    return HK_OK;
}

static void place(hk_term *term, const hk_when *when)
{
    const hk_model *m = links(term)->model;
    for (int k = 0; k < m->attachment_count; k++) {
        double target[3];
        if (when->by_fraction)
            hk_model_target_at(m, k, when->fraction, target);
        else
            hk_model_target(m, k, when->time, target);
        hk_links_set_target(links(term), k, target);
    }
}

// ---------------------------------------------------------------- the energy

static double energy(hk_term *term, const void *x)
{
    return hk_links_energy(links(term), x);
}

static void add_gradient(hk_term *term, const void *x, void *gradient, double *sum)
{
    hk_links_add_gradient(links(term), x, gradient, sum);
}

static void add_diagonal(hk_term *term, const void *x, void *diagonal)
{
    hk_links_add_diagonal(links(term), x, 1, diagonal);
}

// ---------------------------------------------------------------- elements

static void stencils(const hk_term *term, hk_stencil_fn *visit, void *context)
{
    const hk_links *t = const_links(term);
    for (int link = 0; link < t->link_count; link++) {
        hk_stencil s = {.vertex = t->vertex + t->start[link],
                        .count = t->start[link + 1] - t->start[link],
                        .tie = link >= t->spring_count + t->bend_count,
                        .at = HK_LINK_STIFFNESS * (int64_t)link,
                        .factor = t->coefficient + t->start[link]};
        visit(context, &s);
    }
}

static int64_t block_size(const hk_term *term)
{
    return HK_LINK_STIFFNESS * (int64_t)const_links(term)->link_count;
}

static void blocks(hk_term *term, const double *x, double keep, hk_blocks_for what, double *values)
{
    const hk_links *t = links(term);
    int ties = t->attachment_count;
    hk_links_stiffness(links(term), x, keep, values);
    if (what == HK_FOR_DAMPING)
        memset(values + HK_LINK_STIFFNESS * (int64_t)(t->link_count - ties), 0,
               sizeof(double) * HK_LINK_STIFFNESS * (size_t)ties);
}

static bool vertex(const hk_term *term, int v, const void *x, double gradient[3], double block[6])
{
    return hk_links_vertex(const_links(term), v, x, gradient, block);
}

static double vertex_energy(const hk_term *term, int v, const void *x, const double step[3])
{
    return hk_links_vertex_energy(const_links(term), v, x, step);
}

// ---------------------------------------------------------------- the rest shape

// Attachments pull to where their vertex rests: f = −w (x − X). Springs and bends of sheets take
// their stiffness and their length from it, too, and are not here: see design/inverse.c.
static void add_rest_force(const hk_term *term, const double *x, const double *X, double *force)
{
    const hk_links *t = const_links(term);
    for (int link = t->spring_count + t->bend_count; link < t->link_count; link++) {
        int64_t v = 4 * (int64_t)t->vertex[t->start[link]];
        for (int i = 0; i < 3; i++) force[v + i] -= t->stiffness[link] * (x[v + i] - X[v + i]);
    }
}

static void visit_rest(const hk_term *term, const double *x, const double *X, hk_block_fn *visit,
                       void *context)
{
    (void)x, (void)X;
    const hk_links *t = const_links(term);
    for (int link = t->spring_count + t->bend_count; link < t->link_count; link++) {
        double w = t->stiffness[link], block[9] = {w, 0, 0, 0, w, 0, 0, 0, w};
        visit(context, t->vertex[t->start[link]], t->vertex[t->start[link]], block);
    }
}

static const hk_rest_ops g_rest = {add_rest_force, visit_rest};

// ---------------------------------------------------------------- scales

static double bend_scales(const hk_model *m, const hk_bend *b, double *stiffness)
{
    const int32_t *vertices = m->bend_vertices + b->start;
    const double *c = m->bend_coefficients + b->start;
    double sum = 0, size = 0;
    for (int k = 0; k < b->count; k++) {
        const double *x = m->rest + 3 * (int64_t)vertices[k];
        const double *o = m->rest + 3 * (int64_t)vertices[0];
        sum += fabs(c[k]);
        size += fabs(c[k]) * hypot(hypot(x[0] - o[0], x[1] - o[1]), x[2] - o[2]);
    }
    for (int k = 0; k < b->count; k++) stiffness[vertices[k]] += b->stiffness * fabs(c[k]) * sum;
    return b->stiffness * size * size;
}

static double scales(const hk_term *term, double *stiffness)
{
    const hk_model *m = const_links(term)->model;
    double sum = 0;
    for (int k = 0; k < m->spring_count; k++) {
        const hk_spring *s = &m->springs[k];
        for (int end = 0; end < 2; end++) stiffness[s->ends[end]] += 2 * s->stiffness;
        sum += s->stiffness * s->rest * s->rest;
    }
    for (int k = 0; k < m->bend_count; k++) sum += bend_scales(m, &m->bends[k], stiffness);
    for (int k = 0; k < m->attachment_count; k++)
        stiffness[m->attachments[k].vertex] += m->attachments[k].stiffness;
    return 1e-15 * sum;
}

// Of the springs of sheets.
static double softest(const hk_term *term)
{
    const hk_model *m = const_links(term)->model;
    double least = INFINITY;
    for (int k = 0; k < m->spring_count; k++) least = fmin(least, m->springs[k].stiffness);
    return least;
}

const hk_term_ops hk_links_term = {
    .name = "links",
    .part = HK_PART_ELASTIC,
    .shape = &hk_links_shape,
    .in_model = in_model,
    .device = &hk_gpu_links,
    .create = create,
    .free = release,
    .follow = follow,
    .place = place,
    .energy = energy,
    .add_gradient = add_gradient,
    .add_diagonal = add_diagonal,
    .stencils = stencils,
    .block_size = block_size,
    .blocks = blocks,
    .vertex = vertex,
    .vertex_energy = vertex_energy,
    .relax = &hk_links_relax,
    .rest = &g_rest,
    .scales = scales,
    .softest = softest,
};
