#include "term/terms.h"

#include <math.h>

#include "model/partition.h"

#define HK_TERM_ENTRY(name) &hk_##name##_term,
static const hk_term_ops *const g_terms[] = {HK_TERMS(HK_TERM_ENTRY)};

int hk_term_kinds(void)
{
    return HK_COUNT_OF(g_terms);
}

const hk_term_ops *hk_term_kind(int kind)
{
    return g_terms[kind];
}

// ---------------------------------------------------------------- the list

size_t hk_terms_scalar_size(const hk_terms *t)
{
    return t->precision == HK_SINGLE ? sizeof(float) : sizeof(double);
}

static hk_status add_term(hk_terms *t, const hk_term_ops *ops)
{
    hk_term *made = NULL;
    if (ops->in_model && !ops->in_model(t->model)) return HK_OK;
    HK_TRY(ops->create(t, &made));
    if (!made) return HK_OK;
    made->ops = ops;
    made->list = t;
    t->term[t->count++] = made;
    return HK_OK;
}

static hk_status build(hk_terms *t)
{
    t->term = HK_ZEROS(hk_term *, HK_COUNT_OF(g_terms));
    t->block_start = HK_ZEROS(int64_t, HK_COUNT_OF(g_terms) + 1);
    if (!t->term || !t->block_start) return HK_NO_MEMORY;
    for (int k = 0; k < HK_COUNT_OF(g_terms); k++) HK_TRY(add_term(t, g_terms[k]));
    for (int k = 0; k < t->count; k++) {
        const hk_term *term = t->term[k];
        int64_t size = term->ops->block_size ? term->ops->block_size(term) : 0;
        t->block_start[k + 1] = t->block_start[k] + size;
    }
    return HK_OK;
}

hk_status hk_terms_create(const hk_model *model, hk_precision precision, int threads,
                          const hk_frame *frame, const hk_live *live, hk_terms **terms)
{
    hk_terms *t = HK_NEW(hk_terms);
    if (!t) return HK_NO_MEMORY;
    t->model = model;
    t->precision = precision;
    t->threads = threads;
    t->vertex_count = model->vertex_count;
    t->frame = frame;
    t->live = live;
    hk_status status = build(t);
    if (status != HK_OK) {
        hk_terms_free(t);
        return status;
    }
    *terms = t;
    return HK_OK;
}

void hk_terms_free(hk_terms *t)
{
    if (!t) return;
    for (int k = 0; k < t->count; k++) t->term[k]->ops->free(t->term[k]);
    hk_free(t->term);
    hk_free(t->block_start);
    hk_free(t);
}

hk_term *hk_terms_find(const hk_terms *t, const hk_term_ops *ops)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops == ops) return t->term[k];
    return NULL;
}

static bool is_active(const hk_term *term)
{
    return !term->ops->active || term->ops->active(term);
}

// ---------------------------------------------------------------- events

hk_status hk_terms_begin_step(hk_terms *t, const hk_step_begin *step)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->begin_step) HK_TRY(t->term[k]->ops->begin_step(t->term[k], step));
    return HK_OK;
}

void hk_terms_place(hk_terms *t, const hk_when *when)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->place) t->term[k]->ops->place(t->term[k], when);
}

void hk_terms_take_materials(hk_terms *t)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->take_materials) t->term[k]->ops->take_materials(t->term[k]);
}

bool hk_terms_update(hk_terms *t, const void *x)
{
    bool changed = false;
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->update) changed |= t->term[k]->ops->update(t->term[k], x);
    return hk_partition_any(t->model->partition, changed);
}

// Lists of one model have the same terms.
hk_status hk_terms_follow(hk_terms *t, const hk_terms *from)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->follow) HK_TRY(t->term[k]->ops->follow(t->term[k], from->term[k]));
    return HK_OK;
}

static hk_status make_anew(hk_terms *t, int k)
{
    const hk_term_ops *ops = t->term[k]->ops;
    hk_term *made = NULL;
    HK_TRY(ops->create(t, &made));
    made->ops = ops;
    made->list = t;
    ops->free(t->term[k]);
    t->term[k] = made;
    return HK_OK;
}

hk_status hk_terms_measure(hk_terms *t)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->measure)
            t->term[k]->ops->measure(t->term[k]);
        else
            HK_TRY(make_anew(t, k));
    return HK_OK;
}

hk_status hk_terms_refresh(hk_terms *t)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->refresh) HK_TRY(t->term[k]->ops->refresh(t->term[k]));
    return HK_OK;
}

// ---------------------------------------------------------------- the energy

static bool is_among(const hk_term *term, hk_which which)
{
    if (term->ops->add_force || !is_active(term)) return false;
    return which == HK_ALL_TERMS || term->ops->of_displacement == (which == HK_DISPLACEMENT_TERMS);
}

double hk_terms_energy(hk_terms *t, const void *x, hk_which which)
{
    double sum = 0;
    for (int k = 0; k < t->count; k++)
        if (is_among(t->term[k], which)) sum += t->term[k]->ops->energy(t->term[k], x);
    return isfinite(sum) ? sum : INFINITY;
}

double hk_terms_part(hk_terms *t, const void *x, hk_energy_part part)
{
    double sum = 0;
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->part == part) sum += t->term[k]->ops->energy(t->term[k], x);
    sum = hk_partition_sum_of(t->model->partition, sum);
    return isfinite(sum) ? sum : INFINITY;
}

static void clear(const hk_terms *t, void *vector)
{
    memset(vector, 0, 4 * hk_terms_scalar_size(t) * (size_t)t->vertex_count);
}

void hk_terms_gradient(hk_terms *t, const void *x, hk_which which, void *gradient, double *energy)
{
    bool first = true;
    if (energy) *energy = 0;
    for (int k = 0; k < t->count; k++) {
        hk_term *term = t->term[k];
        double part = 0;
        if (!is_among(term, which)) continue;
        if (first && term->ops->gradient) {
            term->ops->gradient(term, x, gradient, energy ? &part : NULL);
        } else {
            if (first) clear(t, gradient);
            term->ops->add_gradient(term, x, gradient, energy ? &part : NULL);
        }
        if (energy) *energy = first ? part : *energy + part;
        first = false;
    }
    if (first) clear(t, gradient);
}

void hk_terms_add_displacement(hk_terms *t, const void *x, void *gradient, double *energy)
{
    if (energy) *energy = 0;
    for (int k = 0; k < t->count; k++) {
        hk_term *term = t->term[k];
        double part = 0;
        if (!is_among(term, HK_DISPLACEMENT_TERMS)) continue;
        term->ops->add_gradient(term, x, gradient, &part);
        if (energy) *energy += part;
    }
}

void hk_terms_diagonal(hk_terms *t, const void *x, void *diagonal)
{
    bool first = true;
    for (int k = 0; k < t->count; k++) {
        hk_term *term = t->term[k];
        if (!is_among(term, HK_ALL_TERMS)) continue;
        if (first && term->ops->diagonal) {
            term->ops->diagonal(term, x, diagonal);
        } else {
            if (first) clear(t, diagonal);
            term->ops->add_diagonal(term, x, diagonal);
        }
        first = false;
    }
    if (first) clear(t, diagonal);
}

void hk_terms_add_force(const hk_terms *t, double *force)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->add_force) t->term[k]->ops->add_force(t->term[k], force);
}

void hk_terms_admm_gradient(hk_terms *t, void *const *duals, bool fresh, const void *x,
                            void *gradient)
{
    bool first = true;
    for (int k = 0; k < t->count; k++) {
        hk_term *term = t->term[k];
        if (!duals[k]) continue;
        term->ops->admm->local(term, duals[k], fresh, x, gradient);
        first = false;
    }
    if (first) clear(t, gradient);
    for (int k = 0; k < t->count; k++)
        if (is_among(t->term[k], HK_POSITION_TERMS) && !duals[k])
            t->term[k]->ops->add_gradient(t->term[k], x, gradient, NULL);
}

// ---------------------------------------------------------------- elements

int64_t hk_terms_block_size(const hk_terms *t)
{
    return t->block_start[t->count];
}

void hk_terms_blocks(hk_terms *t, const double *x, double keep, hk_blocks_for what, double *values)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->blocks)
            t->term[k]->ops->blocks(t->term[k], x, keep, what, values + t->block_start[k]);
}

void hk_terms_amend_blocks(const hk_terms *t, double *values)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->amend_blocks && is_active(t->term[k]))
            t->term[k]->ops->amend_blocks(t->term[k], values);
}

typedef struct product {
    const double *values, *step;
    double *force;
} product;

static void add_dense(const product *p, const hk_stencil *s)
{
    for (int a = 0, pair = 0; a < s->count; a++)
        for (int b = a; b < s->count; b++, pair++) {
            int64_t u = s->vertex[a], v = s->vertex[b];
            const double *h = p->values + s->at + 9 * (int64_t)pair * s->stride;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    double entry = h[(3 * i + j) * s->stride];
                    p->force[4 * u + i] += entry * p->step[4 * v + j];
                    if (u != v) p->force[4 * v + j] += entry * p->step[4 * u + i];
                }
        }
}

static void add_factored(const product *p, const hk_stencil *s)
{
    static const int at[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    const double *block = p->values + s->at;
    double d[3] = {0}, sum[3] = {0};
    for (int k = 0; k < s->count; k++)
        for (int i = 0; i < 3; i++) d[i] += s->factor[k] * p->step[4 * (int64_t)s->vertex[k] + i];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) sum[i] += block[at[i][j]] * d[j];
    for (int k = 0; k < s->count; k++)
        for (int i = 0; i < 3; i++)
            p->force[4 * (int64_t)s->vertex[k] + i] += s->factor[k] * sum[i];
}

static void add_element_product(void *context, const hk_stencil *s)
{
    if (s->factor)
        add_factored(context, s);
    else
        add_dense(context, s);
}

void hk_terms_add_product(const hk_terms *t, const double *values, const double *step,
                          double *force)
{
    for (int k = 0; k < t->count; k++) {
        product p = {values + t->block_start[k], step, force};
        if (t->term[k]->ops->stencils)
            t->term[k]->ops->stencils(t->term[k], add_element_product, &p);
    }
}

void hk_terms_visit_blocks(hk_terms *t, const double *x, double keep, int threads,
                           hk_block_fn *visit, void *context)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->visit_blocks)
            t->term[k]->ops->visit_blocks(t->term[k], x, keep, threads, visit, context);
}

static void add_block_product(void *context, int32_t a, int32_t b, const double block[9])
{
    const product *p = context;
    int64_t u = 4 * (int64_t)a, v = 4 * (int64_t)b;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            p->force[u + i] += block[3 * i + j] * p->step[v + j];
            if (a != b) p->force[v + j] += block[3 * i + j] * p->step[u + i];
        }
}

void hk_terms_add_live_product(hk_terms *t, const double *x, double keep, const double *step,
                               double *force)
{
    product p = {.step = step, .force = force};
    hk_terms_visit_blocks(t, x, keep, 1, add_block_product, &p);
}

void hk_terms_visit_forces(hk_terms *t, const double *x, const double *ahead,
                           hk_vertex_force_fn *visit, void *context)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->visit_forces)
            t->term[k]->ops->visit_forces(t->term[k], x, ahead, visit, context);
}

void hk_terms_visit_dampers(const hk_terms *t, double time, double h, hk_damper_fn *visit,
                            void *context)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->visit_dampers)
            t->term[k]->ops->visit_dampers(t->term[k], time, h, visit, context);
}

void hk_terms_visit_weights(const hk_terms *t, hk_weight_fn *visit, void *context)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->visit_weights)
            t->term[k]->ops->visit_weights(t->term[k], visit, context);
}

void hk_terms_moving_stencils(const hk_terms *t, hk_stencil_fn *visit, void *context)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->moving_stencils)
            t->term[k]->ops->moving_stencils(t->term[k], visit, context);
}

void hk_terms_visit_rows(hk_terms *t, const double *x, hk_contact_row_fn *visit, void *context)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->visit_rows) t->term[k]->ops->visit_rows(t->term[k], x, visit, context);
}

double hk_terms_moving_energy(hk_terms *t, const double *x)
{
    double sum = 0;
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->visit_rows && is_active(t->term[k]))
            sum += t->term[k]->ops->energy(t->term[k], x);
    return sum;
}

void hk_terms_add_moving_gradient(hk_terms *t, const double *x, double *gradient)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->visit_rows && is_active(t->term[k]))
            t->term[k]->ops->add_gradient(t->term[k], x, gradient, NULL);
}

// ---------------------------------------------------------------- the guard

static const hk_guard_ops *guard_of(const hk_term *term)
{
    return is_active(term) ? term->ops->guard : NULL;
}

bool hk_terms_guarded(const hk_terms *t)
{
    for (int k = 0; k < t->count; k++)
        if (guard_of(t->term[k])) return true;
    return false;
}

hk_status hk_terms_check(hk_terms *t, const double *x)
{
    for (int k = 0; k < t->count; k++)
        if (guard_of(t->term[k])) HK_TRY(t->term[k]->ops->guard->check(t->term[k], x));
    return HK_OK;
}

double hk_terms_limit(hk_terms *t, const double *x, const double *step, double length)
{
    for (int k = 0; k < t->count; k++)
        if (guard_of(t->term[k]))
            length = t->term[k]->ops->guard->limit(t->term[k], x, step, length);
    return hk_terms_guarded(t) ? hk_partition_min_of(t->model->partition, length) : length;
}

void hk_terms_touching(hk_terms *t, const double *x, double *diagonal)
{
    memset(diagonal, 0, 4 * sizeof(double) * (size_t)t->vertex_count);
    for (int k = 0; k < t->count; k++)
        if (guard_of(t->term[k])) t->term[k]->ops->add_diagonal(t->term[k], x, diagonal);
    hk_partition_share(t->model->partition, diagonal);
}

bool hk_terms_foresee(hk_terms *t, const double *x, const double *step)
{
    bool changed = false;
    for (int k = 0; k < t->count; k++)
        if (guard_of(t->term[k])) changed |= t->term[k]->ops->guard->foresee(t->term[k], x, step);
    return hk_terms_guarded(t) ? hk_partition_any(t->model->partition, changed) : changed;
}

void hk_terms_forget_foreseen(hk_terms *t)
{
    for (int k = 0; k < t->count; k++)
        if (guard_of(t->term[k])) t->term[k]->ops->guard->forget(t->term[k]);
}

void hk_terms_add_foreseen(const hk_terms *t, double *gradient)
{
    for (int k = 0; k < t->count; k++)
        if (guard_of(t->term[k])) t->term[k]->ops->guard->add_foreseen(t->term[k], gradient);
}

void hk_terms_shorten(hk_terms *t, const double *x, double *step)
{
    for (int k = 0; k < t->count; k++)
        if (guard_of(t->term[k])) t->term[k]->ops->guard->shorten(t->term[k], x, step);
}

bool hk_terms_walk(hk_terms *t, double *x, const double *to)
{
    bool arrived = true;
    for (int k = 0; k < t->count; k++)
        if (guard_of(t->term[k])) arrived &= t->term[k]->ops->guard->walk(t->term[k], x, to);
    return arrived;
}

void hk_terms_keep(hk_terms *t, const double *x)
{
    for (int k = 0; k < t->count; k++)
        if (guard_of(t->term[k])) t->term[k]->ops->guard->keep(t->term[k], x);
}

bool hk_terms_approach(hk_terms *t, const uint8_t *held, double *x)
{
    for (int k = 0; k < t->count; k++)
        if (guard_of(t->term[k]) && !t->term[k]->ops->guard->approach(t->term[k], held, x))
            return false;
    return true;
}

bool hk_terms_passes(hk_terms *t, const double *x)
{
    for (int k = 0; k < t->count; k++)
        if (guard_of(t->term[k]) && !t->term[k]->ops->guard->passes(t->term[k], x)) return false;
    return true;
}

bool hk_terms_settle(hk_terms *t, const double *x)
{
    bool again = false;
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->again) again |= t->term[k]->ops->again(t->term[k], x);
    return again;
}

bool hk_terms_again(hk_terms *t, const double *x, int solves)
{
    bool again = false;
    for (int k = 0; k < t->count; k++)
        if (guard_of(t->term[k])) again |= t->term[k]->ops->guard->again(t->term[k], x, solves);
    return hk_terms_guarded(t) ? hk_partition_any(t->model->partition, again) : again;
}

bool hk_terms_meet(hk_terms *t, const double *x)
{
    bool meet = false;
    for (int k = 0; k < t->count; k++)
        if (guard_of(t->term[k])) meet |= t->term[k]->ops->guard->meets(t->term[k], x);
    return hk_terms_guarded(t) ? hk_partition_any(t->model->partition, meet) : meet;
}

// ---------------------------------------------------------------- regions

static const hk_region_ops *regions_of(const hk_term *term)
{
    return is_active(term) ? term->ops->regions : NULL;
}

void hk_terms_guide(hk_terms *t, bool on)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->regions) t->term[k]->ops->regions->guide(t->term[k], on);
}

void hk_terms_center(hk_terms *t, const void *x, double motion)
{
    for (int k = 0; k < t->count; k++)
        if (regions_of(t->term[k])) t->term[k]->ops->regions->center(t->term[k], x, motion);
}

bool hk_terms_truncate(hk_terms *t, void *x)
{
    bool many = false;
    for (int k = 0; k < t->count; k++)
        if (regions_of(t->term[k])) many |= t->term[k]->ops->regions->truncate(t->term[k], x);
    return many;
}

bool hk_terms_stiffness_there(const hk_terms *t, int vertex, const void *x, double block[6])
{
    double gradient[3] = {0};
    bool any = false;
    for (int i = 0; i < 6; i++) block[i] = 0;
    for (int k = 0; k < t->count; k++) {
        const hk_term_ops *ops = t->term[k]->ops;
        if (regions_of(t->term[k]) && ops->vertex)
            any |= ops->vertex(t->term[k], vertex, x, gradient, block);
    }
    return any;
}

bool hk_terms_inside(const hk_terms *t, int vertex, const void *x)
{
    for (int k = 0; k < t->count; k++)
        if (regions_of(t->term[k]) && !t->term[k]->ops->regions->inside(t->term[k], vertex, x))
            return false;
    return true;
}

double hk_terms_precondition(hk_terms *t, const hk_jacobi_step *step)
{
    double least = 1;
    for (int k = 0; k < t->count; k++)
        if (regions_of(t->term[k]))
            least = fmin(least, t->term[k]->ops->regions->precondition(t->term[k], step));
    return least;
}

void hk_terms_sweep(hk_terms *t, const void *before, const int32_t *colour_of)
{
    for (int k = 0; k < t->count; k++)
        if (regions_of(t->term[k])) t->term[k]->ops->regions->sweep(t->term[k], before, colour_of);
}

void hk_terms_pause(hk_terms *t, bool on)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->regions) t->term[k]->ops->regions->pause(t->term[k], on);
}

// ---------------------------------------------------------------- models

void hk_model_stencils(const hk_model *model, hk_stencil_fn *visit, void *context)
{
    for (int k = 0; k < HK_COUNT_OF(g_terms); k++)
        if (g_terms[k]->shape) g_terms[k]->shape->stencils(model, visit, context);
}

void hk_live_stencils(const hk_model *model, const hk_live *live, hk_stencil_fn *visit,
                      void *context)
{
    for (int k = 0; live && k < HK_COUNT_OF(g_terms); k++)
        if (g_terms[k]->live_stencils) g_terms[k]->live_stencils(model, live, visit, context);
}

void hk_model_weights(const hk_model *model, const double *material_weight, hk_weight_fn *visit,
                      void *context)
{
    for (int k = 0; k < HK_COUNT_OF(g_terms); k++)
        if (g_terms[k]->shape) g_terms[k]->shape->weights(model, material_weight, visit, context);
}

bool hk_terms_has_rank_one(const hk_terms *t)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->visit_rank_one) return true;
    return false;
}

void hk_terms_visit_rank_one(hk_terms *t, const double *x, hk_rank_one_fn *visit, void *context)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->visit_rank_one && is_active(t->term[k]))
            t->term[k]->ops->visit_rank_one(t->term[k], x, visit, context);
}

double hk_terms_stiffening(const hk_terms *t)
{
    double sum = 0;
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->stiffening) sum += t->term[k]->ops->stiffening(t->term[k]);
    return hk_partition_max_of(t->model->partition, sum);
}

// ---------------------------------------------------------------- states and scales

double hk_terms_base_strain(const hk_terms *t)
{
    double most = 0;
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->base_strain)
            most = fmax(most, t->term[k]->ops->base_strain(t->term[k]));
    return most;
}

double hk_terms_least_j(hk_terms *t, const void *x)
{
    double least = INFINITY;
    for (int k = 0; k < t->count; k++) {
        if (!t->term[k]->ops->least_j) continue;
        double own = t->term[k]->ops->least_j(t->term[k], x);
        if (!(own >= least)) least = own;  // also NaN
    }
    return hk_partition_min_of(t->model->partition, least);
}

bool hk_terms_undefined(hk_terms *t, const void *x, char *text, size_t size)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->undefined && t->term[k]->ops->undefined(t->term[k], x, text, size))
            return true;
    return false;
}

double hk_terms_scales(const hk_terms *t, double *stiffness)
{
    double rounding = 0;
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->scales) rounding += t->term[k]->ops->scales(t->term[k], stiffness);
    return rounding;
}

double hk_terms_softest(const hk_terms *t)
{
    double least = INFINITY;
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->softest) least = fmin(least, t->term[k]->ops->softest(t->term[k]));
    return hk_partition_min_of(t->model->partition, least);
}

// ---------------------------------------------------------------- blend weights

hk_term *hk_terms_blending(const hk_terms *t)
{
    for (int k = 0; k < t->count; k++)
        if (t->term[k]->ops->blend && t->term[k]->ops->blend->possible(t->term[k]))
            return t->term[k];
    return NULL;
}

bool hk_terms_blended(const hk_terms *t)
{
    const hk_term *term = hk_terms_blending(t);
    return term && term->ops->blend->at_work(term);
}

void hk_terms_read_blend(const hk_terms *t, float *weight)
{
    const hk_term *term = hk_terms_blending(t);
    if (term) term->ops->blend->read(term, weight);
}

void hk_terms_write_blend(hk_terms *t, const float *weight)
{
    hk_term *term = hk_terms_blending(t);
    if (term) term->ops->blend->write(term, weight);
}

void hk_terms_blend_with_gradient(hk_terms *t, bool on)
{
    hk_term *term = hk_terms_blending(t);
    if (term) term->ops->blend->with_gradient(term, on);
}
