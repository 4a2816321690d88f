#include "world/tear.h"

#include <math.h>

#include "model/contact.h"
#include "model/tear.h"
#include "world/world.h"

// How much less far sides are drawn back where there is no room.
#define CLOSE 0.2

// ---------------------------------------------------------------- what there is

void hk_tear_state_release(hk_tear_state *s)
{
    hk_splitting_release(&s->splitting);
    hk_splitting_release(&s->of_untorn);
    hk_adjacency_release(&s->adjacency);
}

void hk_tears_release(hk_tears *t)
{
    hk_untorn_free(t->untorn);
    hk_model_free(t->whole);
    hk_splitting_release(&t->splitting);
    hk_splitting_release(&t->of_untorn);
    hk_adjacency_release(&t->adjacency);
    hk_free(t->origin);
    hk_free(t->untorn_origin);
    *t = (hk_tears){0};
}

void hk_world_settle_tears(hk_world *w)
{
    hk_tears *t = &w->tears;
    if (!t->whole) return;
    hk_tear_report told = t->told;
    bool pending = t->pending;
    hk_adjacency adjacency = t->adjacency;
    t->adjacency = (hk_adjacency){0};
    int64_t factorisations =
        t->factorisations + (t->untorn ? hk_untorn_factorisations(t->untorn) : 0);
    hk_pace before = t->before;
    hk_tears_release(t);
    *t = (hk_tears){.adjacency = adjacency,
                    .edited = true,
                    .pending = pending,
                    .told = told,
                    .factorisations = factorisations,
                    .before = before};
}

hk_status hk_world_tell_origins(const hk_world *w, hk_problem *p)
{
    const hk_tears *t = &w->tears;
    if (!t->untorn) return HK_OK;
    const hk_model *m = w->model, *old = t->untorn->model;
    p->origin = HK_ARRAY(int32_t, m->vertex_count);
    if (!p->origin) return HK_NO_MEMORY;
    for (int k = 0; k < m->vertex_count; k++)
        p->origin[k] = old->place[t->untorn_origin[m->order[k]]];
    p->untorn = t->untorn;
    return HK_OK;
}

static hk_status need_adjacency(hk_world *w)
{
    if (w->tears.adjacency.tet) return HK_OK;
    return hk_adjacency_make(w->model, &w->tears.adjacency);
}

// ---------------------------------------------------------------- splittings of splittings

static hk_status copy_splitting(const hk_model *m, const hk_splitting *from, hk_splitting *to)
{
    size_t tets = 4 * (size_t)m->tet_count, triangles = 3 * (size_t)m->triangle_count;
    *to = (hk_splitting){.extra_count = from->extra_count};
    to->origin = HK_ARRAY(int32_t, from->extra_count);
    to->tets = HK_ARRAY(int32_t, tets);
    to->triangles = HK_ARRAY(int32_t, triangles);
    if (!to->origin || !to->tets || !to->triangles) {
        hk_splitting_release(to);
        return HK_NO_MEMORY;
    }
    const int32_t *c = from->tets ? from->tets : m->tets;
    const int32_t *d = from->triangles ? from->triangles : m->triangles;
    if (from->extra_count > 0)
        memcpy(to->origin, from->origin, sizeof(int32_t) * (size_t)from->extra_count);
    memcpy(to->tets, c, tets * sizeof(int32_t));
    memcpy(to->triangles, d, triangles * sizeof(int32_t));
    return HK_OK;
}

// Numbers of a splitting of the whole model for the vertices of the torn one and for those that
// `more` adds to it: new vertices stand behind those that their body has already.
typedef struct composing {
    const hk_model *whole, *torn;
    const hk_splitting *more;
    int32_t *number;  // [torn vertices + more->extra_count]
    int32_t *origin;  // [extras of both] in the whole model
    int extra_count;
} composing;

static void number_all(composing *c, const int32_t *origin)
{
    int next = 0;
    for (int b = 0; b < c->torn->body_count; b++) {
        const hk_body *old = &c->whole->bodies[b], *now = &c->torn->bodies[b];
        for (int v = 0; v < now->vertex_count; v++) {
            int32_t vertex = now->vertex_start + v;
            if (v < old->vertex_count) {
                c->number[vertex] = old->vertex_start + v;
                continue;
            }
            c->origin[c->extra_count] = origin[vertex];
            c->number[vertex] = c->whole->vertex_count + c->extra_count++;
        }
        for (; next < c->more->extra_count &&
               c->more->origin[next] < now->vertex_start + now->vertex_count;
             next++) {
            c->origin[c->extra_count] = origin[c->more->origin[next]];
            c->number[c->torn->vertex_count + next] = c->whole->vertex_count + c->extra_count++;
        }
    }
}

// `more` is of the torn model, origin[its vertices] is in the whole one; NULL: they are the same.
static hk_status compose(const hk_model *whole, const hk_model *torn, const int32_t *origin,
                         const hk_splitting *more, hk_splitting *both)
{
    if (!origin) return copy_splitting(whole, more, both);
    int extras = torn->vertex_count - whole->vertex_count + more->extra_count;
    size_t tets = 4 * (size_t)torn->tet_count, triangles = 3 * (size_t)torn->triangle_count;
    composing c = {whole,
                   torn,
                   more,
                   HK_ARRAY(int32_t, (size_t)torn->vertex_count + (size_t)more->extra_count),
                   HK_ARRAY(int32_t, extras),
                   0};
    *both =
        (hk_splitting){.tets = HK_ARRAY(int32_t, tets), .triangles = HK_ARRAY(int32_t, triangles)};
    bool well = c.number && c.origin && both->tets && both->triangles;
    if (well) {
        number_all(&c, origin);
        for (size_t k = 0; k < tets; k++) both->tets[k] = c.number[more->tets[k]];
        for (size_t k = 0; k < triangles; k++) both->triangles[k] = c.number[more->triangles[k]];
        both->extra_count = c.extra_count;
        both->origin = c.origin;
        c.origin = NULL;
    }
    hk_free(c.number);
    hk_free(c.origin);
    if (well) return HK_OK;
    hk_splitting_release(both);
    return HK_NO_MEMORY;
}

// ---------------------------------------------------------------- what carries over

// The arrays of a world that have an entry for each vertex.
enum { WIDE = 13, NARROW = 2, LIVE = 4 };
typedef struct vectors {
    double *wide[WIDE];      // [vertex_count][4], Morton order
    double *narrow[NARROW];  // [vertex_count][3], users' order
    double *live[LIVE];      // [vertex_count][3]
} vectors;

static void list_vectors(hk_world *w, double **at[WIDE + NARROW + LIVE])
{
    double **const all[WIDE + NARROW + LIVE] = {
        &w->x,         &w->v,          &w->v_before,   &w->next,         &w->good,
        &w->guess,     &w->ahead,      &w->x_before,   &w->acceleration, &w->y,
        &w->x_stage,   &w->v_stage,    &w->from,       &w->positions,    &w->velocities,
        &w->live.load, &w->live.force, &w->live.timed, &w->live.target};
    memcpy(at, all, sizeof all);
}

static void free_vectors(vectors *v)
{
    double **all = (double **)v;
    for (int k = 0; k < WIDE + NARROW + LIVE; k++) hk_free(all[k]);
}

typedef struct carrying {
    hk_world *world;
    const hk_model *old, *new;
    const int32_t *from;  // [new vertex_count] vertices of the old one
    double *share;        // [new vertex_count] of the mass
} carrying;

static hk_status find_shares(carrying *c)
{
    double *sum = HK_ZEROS(double, c->old->vertex_count);
    int32_t *count = HK_ZEROS(int32_t, c->old->vertex_count);
    c->share = HK_ARRAY(double, c->new->vertex_count);
    bool well = sum && count && c->share;
    for (int v = 0; v < c->new->vertex_count &&well; v++) {
        sum[c->from[v]] += c->new->mass[v];
        count[c->from[v]]++;
    }
    for (int v = 0; v < c->new->vertex_count &&well; v++)
        c->share[v] =
            count[c->from[v]] > 1 && sum[c->from[v]] > 0 ? c->new->mass[v] / sum[c->from[v]] : 1;
    hk_free(sum);
    hk_free(count);
    return well ? HK_OK : HK_NO_MEMORY;
}

static double *carry_wide(const carrying *c, const double *old)
{
    double *made = HK_ARRAY(double, 4 * (size_t)c->new->vertex_count);
    for (int k = 0; k < c->new->vertex_count &&made; k++) {
        int64_t at = c->old->place[c->from[c->new->order[k]]];
        memcpy(made + 4 * (int64_t)k, old + 4 * at, 4 * sizeof(double));
    }
    return made;
}

static double *carry_narrow(const carrying *c, const double *old, bool divided)
{
    double *made = HK_ARRAY(double, 3 * (size_t)c->new->vertex_count);
    for (int64_t k = 0; k < 3 * (int64_t)c->new->vertex_count &&made; k++)
        made[k] = old[3 * (int64_t)c->from[k / 3] + k % 3] * (divided ? c->share[k / 3] : 1);
    return made;
}

static hk_status carry_vectors(const carrying *c, vectors *to)
{
    double **at[WIDE + NARROW + LIVE], **all = (double **)to;
    enum { TARGET = WIDE + NARROW + LIVE - 1 };
    list_vectors(c->world, at);
    for (int k = 0; k < WIDE + NARROW + LIVE; k++) {
        if (!*at[k]) continue;
        all[k] = k < WIDE ? carry_wide(c, *at[k])
                          : carry_narrow(c, *at[k], k >= WIDE + NARROW && k != TARGET);
        if (!all[k]) return HK_NO_MEMORY;
    }
    return HK_OK;
}

// Sides that touch are drawn back from each other, where they are and where they were.
static hk_status draw_back(const carrying *c, vectors *v, double scale)
{
    const hk_model *m = c->new;
    if (!m->contact || !m->contact->self) return HK_OK;
    double *by = HK_ARRAY(double, 3 * (size_t)m->vertex_count);
    double *x = HK_ARRAY(double, 3 * (size_t)m->vertex_count);
    hk_status status = by && x ? HK_OK : HK_NO_MEMORY;
    for (int64_t k = 0; k < 3 * (int64_t)m->vertex_count && status == HK_OK; k++)
        x[k] = v->wide[0][4 * (int64_t)m->place[k / 3] + k % 3];
    if (status == HK_OK)
        status = hk_model_draw_back(m, c->from, c->old->vertex_count, x, scale * HK_OPENING,
                                    m->tearing ? scale * m->tearing->opening : 0, by);
    enum { X = 0, X_BEFORE = 7 };
    for (int64_t k = 0; k < 3 * (int64_t)m->vertex_count && status == HK_OK; k++) {
        int64_t at = 4 * (int64_t)m->place[k / 3] + k % 3;
        v->wide[X][at] += by[k];
        if (v->wide[X_BEFORE]) v->wide[X_BEFORE][at] += by[k];
    }
    hk_free(by);
    hk_free(x);
    return status;
}

static void swap_vectors(hk_world *w, vectors *with)
{
    double **at[WIDE + NARROW + LIVE], **all = (double **)with;
    list_vectors(w, at);
    for (int k = 0; k < WIDE + NARROW + LIVE; k++) hk_swap_vectors(at[k], &all[k]);
}

// Grabs go with the element that all of their vertices are in.
static hk_status carry_grabs(const carrying *c, hk_grab **to)
{
    const hk_live *live = &c->world->live;
    int32_t *first = HK_ARRAY(int32_t, c->old->vertex_count);
    *to = HK_ARRAY(hk_grab, live->grab_count);
    if (!first || !*to) {
        hk_free(first);
        return HK_NO_MEMORY;
    }
    for (int v = c->new->vertex_count - 1; v >= 0; v--) first[c->from[v]] = v;
    for (int g = 0; g < live->grab_count; g++) {
        (*to)[g] = live->grabs[g];
        for (int k = 0; k < live->grabs[g].count; k++)
            (*to)[g].vertex[k] = first[live->grabs[g].vertex[k]];
    }
    hk_free(first);
    return HK_OK;
}

// ---------------------------------------------------------------- going over

// What a world has of its bodies, to go back to.
typedef struct before {
    hk_model *model;
    hk_problem *problem;
    void *solver;
    bool unheld, kept;
    hk_untorn *untorn;
    int32_t *untorn_origin;
    hk_grab *grabs;
} before;

// Another state of being torn, and what is made for it.
typedef struct going {
    hk_world *world;
    hk_tear_state *state;
    hk_model *whole, *base, *torn;  // base: whose matrix goes on from now on; NULL: as it is
    int32_t *origin;                // in the whole model
    const int32_t *carry;           // in the model of now
    double draws_back;              // so many times as far as is usual; 0: not
    vectors vectors;
    hk_grab *grabs;
    before before;
} going;

// The vertex of a model split from the whole one that each of a more torn one is of.
static hk_status find_origins(const hk_model *torn, const hk_model *base, int32_t **origins)
{
    int32_t *to = *origins = HK_ARRAY(int32_t, torn->vertex_count);
    if (!to) return HK_NO_MEMORY;
    // Vertices of no element have kept their numbers within their bodies.
    for (int b = 0; b < torn->body_count; b++) {
        const hk_body *now = &torn->bodies[b], *old = &base->bodies[b];
        for (int v = 0; v < now->vertex_count; v++)
            to[now->vertex_start + v] = old->vertex_start + (v < old->vertex_count ? v : 0);
    }
    for (int64_t k = 0; k < 4 * (int64_t)torn->tet_count; k++) to[torn->tets[k]] = base->tets[k];
    for (int64_t k = 0; k < 3 * (int64_t)torn->triangle_count; k++)
        to[torn->triangles[k]] = base->triangles[k];
    return HK_OK;
}

static hk_status carry_all(going *g)
{
    hk_world *w = g->world;
    carrying c = {w, w->model, g->torn, g->carry, NULL};
    hk_status status = find_shares(&c);
    if (status == HK_OK) status = carry_vectors(&c, &g->vectors);
    if (status == HK_OK && g->draws_back > 0) status = draw_back(&c, &g->vectors, g->draws_back);
    if (status == HK_OK && w->live.grabs) status = carry_grabs(&c, &g->grabs);
    hk_free(c.share);
    return status;
}

static void take_out(going *g)
{
    hk_world *w = g->world;
    g->before = (before){.model = w->model,
                         .problem = w->problem,
                         .solver = w->solver,
                         .unheld = w->unheld,
                         .untorn = w->tears.untorn,
                         .untorn_origin = w->tears.untorn_origin,
                         .grabs = w->live.grabs};
    w->problem = NULL;
    w->solver = NULL;
    w->model = g->torn;
    if (w->live.grabs) w->live.grabs = g->grabs;
    w->live.version++;
    w->live.shape_version++;
    swap_vectors(w, &g->vectors);
    if (!g->state->keeps || g->base) w->tears.untorn = NULL;
    w->tears.untorn_origin = NULL;
}

static void put_back(going *g)
{
    hk_world *w = g->world;
    before *b = &g->before;
    hk_twin_release(&w->twin);
    if (w->solver) w->method->free(w->solver);
    hk_problem_free(w->problem);
    if (b->kept) hk_untorn_give_back(w->tears.untorn, w->method->matrix(b->solver));
    if (w->tears.untorn != b->untorn && w->tears.untorn) {
        if (w->tears.untorn->problem == b->problem) w->tears.untorn->problem = NULL;
        hk_untorn_free(w->tears.untorn);
    }
    hk_free(w->tears.untorn_origin);
    w->model = b->model;
    w->problem = b->problem;
    w->solver = b->solver;
    w->unheld = b->unheld;
    w->tears.untorn = b->untorn;
    w->tears.untorn_origin = b->untorn_origin;
    w->live.grabs = b->grabs;
    w->live.shape_version++;
    swap_vectors(w, &g->vectors);
    hk_world_release_contact(w);
}

// The matrix of the bodies as they are until now goes on.
static hk_status keep_matrix(going *g)
{
    hk_world *w = g->world;
    before *b = &g->before;
    bool own = g->base == b->model && b->problem;
    hk_problem *problem = b->problem;
    if (!own) HK_TRY(hk_problem_create(g->base, w->threads, &w->live, &problem));
    hk_status status = hk_untorn_create(g->base, problem, &w->tears.untorn);
    if (status != HK_OK) {
        if (!own) hk_problem_free(problem);
        return status;
    }
    hk_constant_matrix *matrix =
        own && b->solver && w->method->matrix ? w->method->matrix(b->solver) : NULL;
    if (!matrix) return HK_OK;
    b->kept = true;
    return hk_untorn_keep(w->tears.untorn, matrix);
}

static hk_status make_all(going *g)
{
    hk_world *w = g->world;
    hk_tears *t = &w->tears;
    if (t->untorn) HK_TRY(find_origins(g->torn, t->untorn->model, &t->untorn_origin));
    HK_TRY(hk_world_need_problem(w));
    hk_world_release_contact(w);
    // Before the matrix moves: this may fail often, where something is in the way.
    if (g->draws_back > 0) HK_TRY(hk_world_check_state(w, w->x));
    if (g->base) {
        HK_TRY(keep_matrix(g));
        HK_TRY(find_origins(g->torn, t->untorn->model, &t->untorn_origin));
        HK_TRY(hk_world_tell_origins(w, w->problem));
    }
    return hk_world_make_solver(w, w->method, &w->settings);
}

// What was is given up.
static void finish(going *g)
{
    hk_world *w = g->world;
    hk_tears *t = &w->tears;
    before *b = &g->before;
    if (b->solver) w->method->free(b->solver);
    if (!t->untorn || t->untorn->problem != b->problem) hk_problem_free(b->problem);
    if (b->untorn && b->untorn != t->untorn) {
        t->factorisations += hk_untorn_factorisations(b->untorn);
        hk_untorn_free(b->untorn);
    }
    hk_free(b->untorn_origin);
    if (b->grabs != w->live.grabs) hk_free(b->grabs);
    free_vectors(&g->vectors);
    hk_model_retain(g->whole);
    hk_model_free(t->whole);
    hk_model_free(b->model);
    t->whole = g->whole;
    hk_free(t->origin);
    t->origin = g->origin;
    hk_splitting_release(&t->splitting);
    hk_splitting_release(&t->of_untorn);
    hk_adjacency_release(&t->adjacency);
    t->splitting = g->state->splitting;
    t->of_untorn = g->state->of_untorn;
    t->adjacency = g->state->adjacency;
    *g->state = (hk_tear_state){0};
    w->acceleration_known = w->conserved.known = false;
}

static hk_status go(going *g)
{
    hk_status status = carry_all(g);
    if (status == HK_OK) {
        take_out(g);
        status = make_all(g);
        if (status == HK_OK) {
            finish(g);
            hk_world_update_description(g->world);
            return HK_OK;
        }
        put_back(g);
    }
    free_vectors(&g->vectors);
    hk_free(g->grabs);
    hk_free(g->origin);
    hk_model_free(g->torn);
    return status;
}

// ---------------------------------------------------------------- events

// The vertex now that each of the torn model takes its state from: new ones stand behind those that
// their body had.
static hk_status list_carry(const hk_model *now, const hk_splitting *more, const hk_model *torn,
                            int32_t **carry)
{
    int next = 0;
    *carry = HK_ARRAY(int32_t, torn->vertex_count);
    if (!*carry) return HK_NO_MEMORY;
    for (int b = 0; b < torn->body_count; b++) {
        const hk_body *old = &now->bodies[b], *body = &torn->bodies[b];
        for (int v = 0; v < body->vertex_count; v++)
            (*carry)[body->vertex_start + v] =
                v < old->vertex_count ? old->vertex_start + v : more->origin[next++];
    }
    return HK_OK;
}

static bool keeps_matrix(const hk_world *w)
{
    if (w->tears.untorn) return true;
    return w->solver && w->method->matrix && w->method->matrix(w->solver);
}

// Sides are drawn back `scale` times as far as is usual.
static hk_status split_bodies(hk_world *w, const hk_splitting *more, const hk_adjacency *adjacency,
                              double scale)
{
    const hk_tears *t = &w->tears;
    hk_model *whole = t->whole ? t->whole : w->model;
    hk_tear_state state = {.keeps = keeps_matrix(w)};
    going g = {.world = w, .state = &state, .whole = whole, .draws_back = scale};
    int32_t *carry = NULL;
    hk_status status = hk_adjacency_copy(adjacency, &state.adjacency);
    if (status == HK_OK)
        status = compose(whole, w->model, t->whole ? t->origin : NULL, more, &state.splitting);
    if (status == HK_OK && state.keeps)
        status = copy_splitting(whole, t->untorn ? &t->of_untorn : &t->splitting, &state.of_untorn);
    if (status == HK_OK) status = hk_model_split(whole, &state.splitting, &g.torn, &g.origin);
    if (status == HK_OK) status = list_carry(w->model, more, g.torn, &carry);
    if (status == HK_OK) {
        g.carry = carry;
        if (state.keeps && !t->untorn) g.base = w->model;
        status = go(&g);
    } else {
        hk_free(g.origin);
        hk_model_free(g.torn);
    }
    hk_free(carry);
    hk_tear_state_release(&state);
    return status;
}

// Where sides would overlap they are drawn back less; and if that does not help, what is torn comes
// apart after a later step.
static hk_status come_apart(hk_world *w, hk_tearing_work *work)
{
    hk_splitting more;
    hk_tears *t = &w->tears;
    HK_TRY(hk_model_find_splitting(w->model, work->adjacency, work->marked, &more));
    hk_status status = more.extra_count > 0 ? split_bodies(w, &more, work->adjacency, 1) : HK_OK;
    if (status == HK_BAD_INPUT) status = split_bodies(w, &more, work->adjacency, CLOSE);
    bool late = status == HK_BAD_INPUT;
    if (late) {
        hk_log(HK_LOG_INFO, "%g s: nothing comes apart for now: %s", w->time, hk_error());
        t->told.postponed++;
        status = HK_OK;
    }
    if (status == HK_OK) {
        bool apart = more.extra_count > 0 && !late;
        t->pending = late;
        t->told.facets += work->facets;
        t->told.vertices += apart ? more.extra_count : 0;
        t->told.events += apart;
        if (!apart) {  // facets are torn, and vertices hold together
            hk_adjacency_release(&t->adjacency);
            t->adjacency = *work->adjacency;
            *work->adjacency = (hk_adjacency){0};
        }
    }
    hk_splitting_release(&more);
    return status;
}

typedef hk_status find_fn(hk_tearing_work *work, void *context);

static hk_status tear_where(hk_world *w, find_fn *find, void *context)
{
    hk_adjacency copy;
    HK_TRY(need_adjacency(w));
    HK_TRY(hk_adjacency_copy(&w->tears.adjacency, &copy));
    hk_tearing_work work = {w, &copy, HK_ZEROS(uint8_t, w->model->vertex_count), 0};
    hk_status status = work.marked ? find(&work, context) : HK_NO_MEMORY;
    if (status == HK_OK && w->tears.pending) memset(work.marked, 1, (size_t)w->model->vertex_count);
    if (status == HK_OK && (work.facets > 0 || w->tears.pending)) status = come_apart(w, &work);
    hk_free(work.marked);
    hk_adjacency_release(&copy);
    return status;
}

// Nothing is torn off that is a single element: crumbs of a mesh are none of the material.
static bool hangs_on(const int32_t *to, int sides, int element)
{
    int count = 0;
    for (int k = 0; k < sides; k++) count += to[sides * (int64_t)element + k] >= 0;
    return count > 1;
}

void hk_tear_face(hk_tearing_work *t, int tet, int face)
{
    const int32_t *to = t->adjacency->tet;
    int32_t other = to[4 * (int64_t)tet + face];
    if (other < 0 || !hangs_on(to, 4, tet) || !hangs_on(to, 4, other)) return;
    if (!hk_adjacency_tear_tet(t->adjacency, tet, face)) return;
    t->facets++;
    for (int k = 0; k < 4; k++)
        if (k != face) t->marked[t->world->model->tets[4 * (int64_t)tet + k]] = 1;
}

void hk_tear_edge(hk_tearing_work *t, int triangle, int edge)
{
    const int32_t *to = t->adjacency->triangle;
    int32_t other = to[3 * (int64_t)triangle + edge];
    if (other < 0 || !hangs_on(to, 3, triangle) || !hangs_on(to, 3, other)) return;
    if (!hk_adjacency_tear_triangle(t->adjacency, triangle, edge)) return;
    t->facets++;
    const int32_t *c = t->world->model->triangles + 3 * (int64_t)triangle;
    t->marked[c[edge]] = t->marked[c[(edge + 1) % 3]] = 1;
}

static hk_status find_all(hk_tearing_work *work, void *context)
{
    (void)context;
    HK_TRY(hk_tear_by_cuts(work));
    return hk_tear_overloaded(work);
}

// ---------------------------------------------------------------- the matrix made anew

static double mean_of(const hk_pace *p)
{
    return p->steps > 0 ? (double)p->iterations / p->steps : 0;
}

static hk_status renew(hk_world *w)
{
    hk_tears *t = &w->tears;
    hk_untorn *untorn = t->untorn;
    hk_problem *p = w->problem;
    int32_t *origin = p->origin;
    t->untorn = NULL;
    p->untorn = NULL;
    p->origin = NULL;
    hk_status status = hk_world_make_solver(w, w->method, &w->settings);
    if (status != HK_OK) {
        t->untorn = untorn;
        p->untorn = untorn;
        p->origin = origin;
        return status;
    }
    t->factorisations += hk_untorn_factorisations(untorn) + 1;
    t->told.renewals++;
    hk_untorn_free(untorn);
    hk_free(origin);
    hk_free(t->untorn_origin);
    t->untorn_origin = NULL;
    hk_splitting_release(&t->of_untorn);
    t->before = (hk_pace){0};
    t->recent = (hk_pace){0};
    return HK_OK;
}

// How iterations of the last steps compare with those before anything tore.
static hk_status watch_pace(hk_world *w, int iterations)
{
    hk_tears *t = &w->tears;
    bool torn = t->told.events > 0;
    hk_pace *to = t->untorn ? &t->recent : &t->before;
    int *steps = torn ? &t->told.steps_after : &t->told.steps_before;
    int *sum = torn ? &t->told.iterations_after : &t->told.iterations_before;
    *steps += 1;
    *sum += iterations;
    if (to->steps == HK_PACE) *to = (hk_pace){HK_PACE / 2, to->iterations / 2};
    to->steps++;
    to->iterations += iterations;
    double bound = w->model->tearing ? w->model->tearing->renew : 0;
    if (!t->untorn || bound == 0 || t->recent.steps < HK_PACE / 2 || t->before.steps == 0)
        return HK_OK;
    return mean_of(&t->recent) > bound * fmax(1, mean_of(&t->before)) ? renew(w) : HK_OK;
}

hk_status hk_world_tear(hk_world *w, int iterations)
{
    if (!w->tears.whole && !hk_model_tears(w->model)) return HK_OK;
    HK_TRY(watch_pace(w, iterations));
    return hk_model_tears(w->model) ? tear_where(w, find_all, NULL) : HK_OK;
}

// ---------------------------------------------------------------- users

typedef struct cutting {
    int body, count;
    const double *corners;
} cutting;

static hk_status find_cut(hk_tearing_work *work, void *context)
{
    const cutting *c = context;
    return hk_tear_along(work, c->body, c->count, c->corners);
}

hk_status hk_world_cut(hk_world *w, int body, int triangle_count, const double *corners)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w || triangle_count < 0 || (triangle_count > 0 && !corners))
        return hk_fail(HK_BAD_INPUT, "hk_world_cut: world and corners are needed");
    if (body != HK_CUT_ALL && (body < 0 || body >= w->model->body_count))
        return hk_fail(HK_BAD_INPUT, "hk_world_cut: there is no body %d (bodies: 0 to %d)", body,
                       w->model->body_count - 1);
    for (int64_t k = 0; k < 9 * (int64_t)triangle_count; k++)
        if (!isfinite(corners[k]))
            return hk_fail(HK_BAD_INPUT, "hk_world_cut: triangle %lld is not finite",
                           (long long)(k / 9));
    if (w->gpu) return hk_fail(HK_UNSUPPORTED, "hk_world_cut: cutting has no version for the GPU");
    cutting c = {body, triangle_count, corners};
    w->at_work = true;
    hk_status status = tear_where(w, find_cut, &c);
    if (status == HK_OK) hk_world_publish(w);
    w->at_work = false;
    return status;
}

hk_status hk_world_tears(const hk_world *w, hk_tear_report *report)
{
    if (!w || !report) return hk_fail(HK_BAD_INPUT, "hk_world_tears: world and report are needed");
    const hk_tears *t = &w->tears;
    *report = t->told;
    report->factorisations =
        (int)(t->factorisations + (t->untorn ? hk_untorn_factorisations(t->untorn) : 0));
    return HK_OK;
}

int hk_world_origin(const hk_world *w, int vertex)
{
    if (!w || vertex < 0 || vertex >= w->model->vertex_count) return -1;
    return w->tears.origin ? w->tears.origin[vertex] : vertex;
}

// ---------------------------------------------------------------- states

// As vertices have kept their numbers within their bodies, or those that they come from have.
static hk_status carry_by_origin(const hk_world *w, const hk_model *whole, const hk_model *torn,
                                 const int32_t *origin, int32_t **carry)
{
    *carry = HK_ARRAY(int32_t, torn->vertex_count);
    if (!*carry) return HK_NO_MEMORY;
    int body = 0;
    for (int v = 0; v < torn->vertex_count; v++) {
        while (v >= torn->bodies[body].vertex_start + torn->bodies[body].vertex_count) body++;
        (*carry)[v] =
            w->model->bodies[body].vertex_start + origin[v] - whole->bodies[body].vertex_start;
    }
    return HK_OK;
}

hk_status hk_world_go_to_torn(hk_world *w, hk_tear_state *state)
{
    hk_model *whole = w->tears.whole ? w->tears.whole : w->model, *base = NULL;
    going g = {.world = w, .state = state, .whole = whole};
    int32_t *carry = NULL, *from = NULL;
    hk_model_retain(whole);
    bool none = !state->splitting.tets;
    hk_status status = none ? copy_splitting(whole, &(hk_splitting){0}, &state->splitting) : HK_OK;
    if (status == HK_OK) status = hk_model_split(whole, &state->splitting, &g.torn, &g.origin);
    if (status == HK_OK) status = carry_by_origin(w, whole, g.torn, g.origin, &carry);
    if (status == HK_OK && state->keeps && state->of_untorn.extra_count > 0)
        status = hk_model_split(whole, &state->of_untorn, &base, &from);
    if (status == HK_OK) {
        g.carry = carry;
        g.base = !state->keeps ? NULL : base ? base : whole;
        status = go(&g);
    } else {
        hk_free(g.origin);
        hk_model_free(g.torn);
    }
    hk_free(from);
    hk_free(carry);
    hk_model_free(base);
    hk_model_free(whole);
    return status;
}
