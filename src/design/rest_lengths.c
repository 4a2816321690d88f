#include "design/rest_lengths.h"

#include <math.h>
#include <stdio.h>

#include "design/balance.h"

// Springs push only where that leaves no more than this part of what pulling leaves.
#define WORTH_PUSHING 0.1
// Factorisations: it takes a few dozen where there is a solution.
enum { MOST_PUSHING = 300, MOST_PULLING = 200 };

// ---------------------------------------------------------------- creation

static bool is_free_vertex_of_sheet(const hk_model *m, const hk_body *body, int v)
{
    return body->tet_count == 0 && m->hold[v] == HK_FREE;
}

hk_status hk_rest_lengths_create(const hk_model *m, hk_rest_lengths *l)
{
    *l = (hk_rest_lengths){.least = 1, .greatest = 1, .worst = -1};
    for (int b = 0; b < m->body_count; b++) {
        const hk_body *body = &m->bodies[b];
        for (int v = body->vertex_start; v < body->vertex_start + body->vertex_count; v++)
            l->wanted = l->wanted || is_free_vertex_of_sheet(m, body, v);
        if (body->tet_count == 0 && (body->sheet.shell || body->sheet.rope) && l->wanted)
            return hk_fail(
                HK_UNSUPPORTED,
                "body %d (%s) is a shell or a rope, and rest shapes are found for bodies of tets "
                "and sheets of mass_spring",
                b, body->name);
    }
    if (!l->wanted) return HK_OK;
    l->spring = HK_ARRAY(double, m->spring_count);
    l->bend = HK_ARRAY(double, m->vertex_count);
    l->residual = HK_ZEROS(double, 4 * (size_t)m->vertex_count);
    if (!l->spring || !l->bend || !l->residual) {
        hk_rest_lengths_release(l);
        return HK_NO_MEMORY;
    }
    for (int k = 0; k < m->spring_count; k++) l->spring[k] = 1;
    for (int v = 0; v < m->vertex_count; v++) l->bend[v] = 1;
    return HK_OK;
}

void hk_rest_lengths_release(hk_rest_lengths *l)
{
    hk_free(l->spring);
    hk_free(l->bend);
    hk_free(l->residual);
    *l = (hk_rest_lengths){0};
}

// ---------------------------------------------------------------- the problem

typedef struct sheets {
    hk_model *model;      // links alone
    hk_problem *problem;  // of the whole model: what acts on the sheets
    uint8_t *held;        // [vertex_count] Morton order: all but free vertices of sheets
    double *load;         // [vertex_count][4] N
    hk_balance *balance;
} sheets;

// A copy of a model that has nothing but springs, bends and attachments.
static hk_status keep_links(const hk_model *model, hk_model **links)
{
    hk_model *m;
    HK_TRY(hk_model_copy(model, &m));
    for (int k = 0; k < m->user_term_count; k++) {
        hk_free(m->user_terms[k].name);
        hk_free(m->user_terms[k].vertices);
    }
    m->user_term_count = m->tet_count = 0;
    *links = m;
    return HK_OK;
}

static hk_status open_sheets(const hk_model *m, int threads, sheets *s)
{
    HK_TRY(keep_links(m, &s->model));
    HK_TRY(hk_problem_create(m, threads, NULL, &s->problem));
    s->held = HK_ARRAY(uint8_t, m->vertex_count);
    s->load = HK_ZEROS(double, 4 * (size_t)m->vertex_count);
    if (!s->held || !s->load) return HK_NO_MEMORY;
    for (int b = 0; b < m->body_count; b++)
        for (int v = m->bodies[b].vertex_start, end = v + m->bodies[b].vertex_count; v < end; v++)
            s->held[m->place[v]] = !is_free_vertex_of_sheet(m, &m->bodies[b], v);
    hk_problem_force(s->problem, s->problem->rest, s->load);
    for (int64_t i = 0; i < 4 * (int64_t)m->vertex_count; i++) s->load[i] = -s->load[i];
    return hk_balance_create(s->model, s->held, s->problem->rest, s->load, threads, &s->balance);
}

static void close_sheets(sheets *s)
{
    hk_balance_free(s->balance);
    hk_problem_free(s->problem);
    hk_model_free(s->model);
    hk_free(s->held);
    hk_free(s->load);
}

// ---------------------------------------------------------------- what was found

static void take_lengths(const sheets *s, hk_rest_lengths *l)
{
    const hk_balance *b = s->balance;
    const hk_links *t = b->links;
    const hk_model *m = s->model;
    l->least = l->greatest = 1;
    l->pushing = 0;
    for (int k = 0; k < b->count; k++) {
        double factor = t->rest[k] > 0 ? 1 - b->tension[k] / (t->stiffness[k] * t->rest[k]) : 1;
        if (k >= t->spring_count) {
            const hk_bend *bend = &m->bends[m->bend_order[k - t->spring_count]];
            l->bend[m->bend_vertices[bend->start]] = factor;
            continue;
        }
        l->spring[m->spring_order[k]] = factor;
        l->least = fmin(l->least, factor);
        l->greatest = fmax(l->greatest, factor);
        l->pushing += factor > 1;
    }
}

static double length3(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static void take_residual(const sheets *s, hk_rest_lengths *l)
{
    double most = -1;
    hk_balance_residual(s->balance, l->residual);
    l->load = hk_balance_norm(s->balance, s->load);
    l->left = hk_balance_norm(s->balance, l->residual);
    for (int k = 0; k < s->model->vertex_count; k++) {
        double left = length3(l->residual + 4 * (int64_t)k);
        if (s->held[k] || !(left > most)) continue;
        most = left;
        l->worst = s->model->order[k];
        l->worst_load = length3(s->load + 4 * (int64_t)k);
    }
}

// What rounding of rest lengths leaves of the forces, relative to the load.
static double rounding(const sheets *s)
{
    const hk_links *t = s->balance->links;
    double sum = 0, load = hk_balance_norm(s->balance, s->load);
    for (int k = 0; k < s->balance->count; k++) {
        double force = t->stiffness[k] * t->rest[k];
        sum += force * force;
    }
    return load > 0 ? 4e-16 * sqrt(sum) / load : 1;
}

static double left_of(hk_balance *b)
{
    hk_balance_residual(b, b->trial);
    return hk_balance_norm(b, b->trial);
}

static bool none_pushes(const hk_balance *b)
{
    for (int k = 0; k < b->count; k++)
        if (b->tension[k] < 0) return false;
    return true;
}

// Tensions with springs that only pull, in place of `pushed` of which some push, unless they leave
// too much of the load: with them the sheet is in a minimum of its energy.
static hk_status try_pulling(hk_balance *b, const double *pushed, double load, double enough)
{
    size_t bytes = sizeof(double) * (size_t)b->count;
    double left = left_of(b);
    HK_TRY(hk_balance_solve(b, false, enough / load, MOST_PULLING));
    double pulled = left_of(b);
    if (!(pulled < load)) {
        memset(b->tension, 0, bytes);
        pulled = load;
    }
    if (pulled > enough && left <= fmax(enough, WORTH_PUSHING * pulled))
        memcpy(b->tension, pushed, bytes);
    return HK_OK;
}

static hk_status find(sheets *s, double *pushed, hk_rest_lengths *l)
{
    hk_balance *b = s->balance;
    double load = hk_balance_norm(b, s->load);
    bool stable = true;
    HK_TRY(hk_balance_solve(b, true, l->tolerance, MOST_PUSHING));
    memcpy(pushed, b->tension, sizeof(double) * (size_t)b->count);
    if (!none_pushes(b)) HK_TRY(try_pulling(b, pushed, load, l->tolerance * load));
    if (!none_pushes(b)) HK_TRY(hk_balance_is_stable(b, s->problem->mass, &stable));
    l->buckles = !stable;
    take_lengths(s, l);
    take_residual(s, l);
    return HK_OK;
}

hk_status hk_rest_lengths_find(const hk_model *m, double tolerance, int threads, hk_rest_lengths *l)
{
    sheets s = {0};
    double *pushed = NULL;
    hk_status status = open_sheets(m, threads, &s);
    if (status == HK_OK) {
        l->tolerance = fmax(tolerance, rounding(&s));
        pushed = HK_ARRAY(double, s.balance->count);
        status = pushed ? find(&s, pushed, l) : HK_NO_MEMORY;
    }
    hk_free(pushed);
    close_sheets(&s);
    return status;
}

void hk_rest_lengths_describe(const hk_model *m, const hk_rest_lengths *l, char *text, size_t size)
{
    int b = 0;
    while (b + 1 < m->body_count && m->bodies[b + 1].vertex_start <= l->worst) b++;
    int vertex = l->worst - m->bodies[b].vertex_start;
    if (l->buckles)
        snprintf(text, size,
                 "body %d (%.24s): springs that push balance its load, and it buckles: raise "
                 "\"bending\", draw a shape that hangs, or hold it in more places",
                 b, m->bodies[b].name);
    else
        snprintf(text, size,
                 "body %d (%.24s): no rest lengths balance %.3g %% of its load, most at vertex %d: "
                 "draw a shape that hangs, or hold it in more places",
                 b, m->bodies[b].name, 100 * l->left / l->load, vertex);
}
