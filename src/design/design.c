// Creation, previews, waiting and snapshots of a design.
#include "design/design.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>

#include "core/def.h"
#include "design/inverse.h"
#include "model/constraints.h"

enum { MOST_THREADS = 1024, STEPS = 3, MOST_STEPS = 100, UNDO_MB = 256, MOST_UNDO_MB = 1 << 20 };
enum { SMALLEST_FOR_THREADS = 4000 };  // tets: below, waking threads takes longer than they save
enum { MOST_SETTLING = 2000 };         // previews
#define TOLERANCE 1e-6
// A step that moves no vertex by more than this, relative to the size of the bodies, is the last:
// about a twentieth of a pixel.
#define SETTLED 5e-5

void hk_fill_design_def(hk_design_def *def, size_t size)
{
    const hk_design_def standard = {.given = HK_LOADED_SHAPE};
    hk_def_fill(&hk_def_design, &standard, def, size);
}

const char *hk_design_state_name(hk_design_state state)
{
    static const char *const names[] = {"preview", "refining", "converged", "failed"};
    return (unsigned)state < HK_COUNT_OF(names) ? names[state] : "";
}

int hk_design_vertex_count(const hk_design *d)
{
    return d ? d->reference->vertex_count : 0;
}

// ---------------------------------------------------------------- creation

static hk_status check_def(const hk_design_def *def)
{
    if (!def->model) return hk_fail(HK_BAD_INPUT, "hk_design_create: a model is needed");
    if (def->given != HK_LOADED_SHAPE && def->given != HK_REST_SHAPE)
        return hk_fail(HK_BAD_INPUT, "hk_design_def: given must be one of the two shapes (is %d)",
                       (int)def->given);
    if (def->threads < 0 || def->threads > MOST_THREADS)
        return hk_fail(HK_BAD_INPUT, "hk_design_def: threads must be 0 to %d (is %d)", MOST_THREADS,
                       def->threads);
    if (!(def->tolerance >= 0 && def->tolerance < 1))
        return hk_fail(HK_BAD_INPUT, "hk_design_def: tolerance must be in [0, 1) (is %g)",
                       def->tolerance);
    if (def->steps < 0 || def->steps > MOST_STEPS)
        return hk_fail(HK_BAD_INPUT, "hk_design_def: steps must be 0 to %d (is %d)", MOST_STEPS,
                       def->steps);
    if (def->undo_mb < 0 || def->undo_mb > MOST_UNDO_MB)
        return hk_fail(HK_BAD_INPUT, "hk_design_def: undo_mb must be 0 to %d (is %d)", MOST_UNDO_MB,
                       def->undo_mb);
    if (!hk_direct_available())
        return hk_fail(HK_UNSUPPORTED,
                       "designs need a direct solver, and this build has no direct solver (it was "
                       "configured with HOOKE_DIRECT=OFF)");
    return hk_inverse_check(def->model);
}

static hk_status make_point(hk_design *d, const hk_model *model, hk_design_side given)
{
    hk_design_point *p = &d->now;
    size_t n = 4 * (size_t)model->vertex_count;
    HK_TRY(hk_model_copy(model, &p->model));
    double **vectors[] = {&p->shape[0], &p->shape[1], &p->pair[0], &p->pair[1], &p->base};
    for (int k = 0; k < HK_COUNT_OF(vectors); k++) {
        if (!(*vectors[k] = HK_ARRAY(double, n))) return HK_NO_MEMORY;
        hk_reference_take(d->reference, model->rest, *vectors[k]);
    }
    p->given = given;
    p->settled = true;
    return HK_OK;
}

static hk_status build(const hk_design_def *def, hk_design *d)
{
    const hk_model *m = def->model;
    size_t n = (size_t)m->vertex_count;
    int threads = def->threads ? def->threads : omp_get_num_procs();
    d->threads = m->tet_count < SMALLEST_FOR_THREADS ? 1 : threads;
    d->steps = def->steps ? def->steps : STEPS;
    d->history.most = (size_t)(def->undo_mb ? def->undo_mb : UNDO_MB) << 20;
    d->history.open_handle = -1;
    HK_TRY(hk_model_need_linear(m, "a design"));
    HK_TRY(hk_model_need_free(m, "a design"));
    HK_TRY(hk_reference_create(m, d->threads, &d->reference));
    HK_TRY(hk_modify_create(d->reference, &d->modify));
    HK_TRY(hk_initialise_create(d->reference, &d->initialise));
    HK_TRY(make_point(d, m, def->given));
    d->held = HK_ZEROS(uint8_t, n);
    d->factored = HK_ZEROS(uint8_t, n);
    d->goal = HK_ZEROS(double, 4 * n);
    d->job.shape = HK_ZEROS(double, 3 * n);
    d->job.start = HK_ZEROS(double, 3 * n);
    if (!d->held || !d->factored || !d->goal || !d->job.shape || !d->job.start) return HK_NO_MEMORY;
    HK_TRY(hk_refiner_create(m, m->rest, threads, def->tolerance > 0 ? def->tolerance : TOLERANCE,
                             &d->refiner));
    return hk_design_preview(d);
}

hk_status hk_design_create(const hk_design_def *def, hk_design **design)
{
    if (!def || !design)
        return hk_fail(HK_BAD_INPUT, "hk_design_create: def and design are needed");
    hk_design_def own;
    hk_fill_design_def(&own, sizeof own);
    HK_TRY(hk_def_take(&hk_def_design, def, &own));
    HK_TRY(check_def(&own));
    hk_design *d = HK_NEW(hk_design);
    if (!d) return HK_NO_MEMORY;
    hk_status status = build(&own, d);
    if (status != HK_OK) {
        hk_design_free(d);
        return status;
    }
    *design = d;
    return HK_OK;
}

void hk_design_free(hk_design *d)
{
    if (!d) return;
    hk_refiner_free(d->refiner);
    hk_modify_free(d->modify);
    hk_initialise_free(d->initialise);
    hk_history_release(&d->history);
    hk_design_point_release(&d->now);
    hk_reference_free(d->reference);
    hk_model_free(d->job.model);
    hk_free(d->job.shape);
    hk_free(d->job.start);
    hk_free(d->held);
    hk_free(d->factored);
    hk_free(d->goal);
    hk_free(d->ties);
    hk_free(d);
}

// ---------------------------------------------------------------- the board

static void pass_on(char *notes)
{
    char *rest = NULL;
    for (char *line = strtok_r(notes, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        hk_log(HK_LOG_WARNING, "%s", line);
}

void hk_design_take_up(hk_design *d)
{
    hk_refiner *r = d->refiner;
    hk_design_point *p = &d->now;
    char notes[HK_REFINE_NOTES];
    pthread_mutex_lock(&r->lock);
    hk_design_state state = r->view.state;
    bool ended = d->posted && !p->refined && r->view.version == d->version &&
                 (state == HK_DESIGN_CONVERGED || state == HK_DESIGN_FAILED);
    if (ended) {
        hk_design_side other = hk_other_side(p->given);
        p->view = r->view;
        hk_reference_take(d->reference, r->shape[other], p->shape[other]);
    }
    memcpy(notes, r->notes, sizeof notes);
    r->notes[0] = '\0';
    pthread_mutex_unlock(&r->lock);
    pass_on(notes);
    if (!ended) return;
    p->refined = true;
    if (state != HK_DESIGN_CONVERGED) return;
    for (int side = 0; side < 2; side++)
        memcpy(p->pair[side], p->shape[side],
               4 * sizeof(double) * (size_t)d->reference->vertex_count);
    p->paired = true;
    d->initialise_ready = false;
}

static int held_handles(const hk_design_point *p)
{
    int count = 0;
    for (int k = 0; k < p->handle_count; k++) count += p->handles[k].held;
    return count;
}

void hk_design_publish(hk_design *d, hk_design_state state)
{
    hk_refiner *r = d->refiner;
    const hk_design_point *p = &d->now;
    pthread_mutex_lock(&r->lock);
    for (int side = 0; side < 2; side++)
        hk_reference_give(d->reference, p->shape[side], r->shape[side]);
    uint64_t sequence = r->view.sequence + 1;
    if (p->refined)
        r->view = p->view;
    else
        r->view = (hk_design_view){.state = state,
                                   .relative_residual = NAN,
                                   .least_j = NAN,
                                   .greatest_stretch = NAN,
                                   .refine_ms = r->view.refine_ms};
    r->view.given = p->given;
    r->view.version = d->version;
    r->view.sequence = sequence;
    r->view.handles = held_handles(p);
    r->view.out_of_bounds = d->out_of_bounds;
    r->view.preview_ms = d->preview_ms;
    pthread_mutex_unlock(&r->lock);
}

void hk_design_go_to(hk_design *d, hk_design_point *point)
{
    d->version++;
    hk_refiner_cancel(d->refiner, d->version);
    hk_design_point_release(&d->now);
    d->now = *point;
    *point = (hk_design_point){0};
    d->modify_ready = d->initialise_ready = d->posted = false;
    hk_design_publish(d, HK_DESIGN_PREVIEW);
}

hk_status hk_design_snapshot(hk_design *d, hk_design_view *view)
{
    if (!d || !view) return hk_fail(HK_BAD_INPUT, "hk_design_snapshot: design and view are needed");
    hk_refiner *r = d->refiner;
    size_t bytes = 3 * sizeof(double) * (size_t)r->vertex_count;
    double *loaded = view->loaded, *rest = view->rest;
    pthread_mutex_lock(&r->lock);
    *view = r->view;
    if (loaded) memcpy(loaded, r->shape[HK_LOADED_SHAPE], bytes);
    if (rest) memcpy(rest, r->shape[HK_REST_SHAPE], bytes);
    pthread_mutex_unlock(&r->lock);
    view->loaded = loaded;
    view->rest = rest;
    return HK_OK;
}

// ---------------------------------------------------------------- previews

// The sum of weight and loads, in the given shape's own masses.
static void add_up_loads(const hk_model *m, double sum[3])
{
    double mass = hk_model_mass(m);
    for (int i = 0; i < 3; i++) {
        sum[i] = mass * m->gravity[i];
        for (int64_t v = 0; v < m->vertex_count; v++) sum[i] += m->load[3 * v + i];
    }
}

static hk_status factor_holds(hk_design *d)
{
    const hk_model *m = d->now.model;
    size_t n = (size_t)m->vertex_count;
    for (int v = 0; v < m->vertex_count; v++) d->held[m->place[v]] = m->hold[v] != HK_FREE;
    for (int k = 0; k < m->attachment_count; k++) {
        uint8_t *held = &d->held[m->place[m->attachments[k].vertex]];
        if (!*held) *held = HK_ATTACHED;
    }
    if (d->has_factored && memcmp(d->held, d->factored, n) == 0) return HK_OK;
    d->has_factored = false;
    HK_TRY(hk_initialise_hold(d->initialise, d->held));
    memcpy(d->factored, d->held, n);
    d->has_factored = true;
    return HK_OK;
}

static hk_status prepare_initialise(hk_design *d)
{
    const hk_design_point *p = &d->now;
    double load[3];
    if (d->initialise_ready) return HK_OK;
    HK_TRY(factor_holds(d));
    add_up_loads(p->model, load);
    hk_initialise_set_load(d->initialise, load);
    hk_initialise_set_pair(d->initialise, p->pair[p->given], p->pair[hk_other_side(p->given)]);
    d->initialise_ready = true;
    return HK_OK;
}

// Some steps towards the handles.
static hk_status follow_handles(hk_design *d)
{
    hk_design_point *p = &d->now;
    if (p->settled) return HK_OK;
    HK_TRY(hk_design_factor_handles(d));
    hk_design_set_goals(d);
    for (int k = 0; k < d->steps && !p->settled; k++)
        p->settled =
            hk_modify_step(d->modify, d->goal, p->shape[p->given]) <= SETTLED * d->reference->size;
    return HK_OK;
}

static void post(hk_design *d)
{
    hk_design_point *p = &d->now;
    hk_refine_job *job = &d->job;
    job->version = d->version;
    job->given = p->given;
    job->model = p->model;
    hk_model_retain(p->model);
    hk_reference_give(d->reference, p->shape[p->given], job->shape);
    hk_reference_give(d->reference, p->shape[hk_other_side(p->given)], job->start);
    hk_refiner_post(d->refiner, job);
    d->posted = true;
}

hk_status hk_design_preview(hk_design *d)
{
    if (!d) return hk_fail(HK_BAD_INPUT, "hk_design_preview: design is needed");
    double start = hk_now();
    hk_design_take_up(d);
    hk_design_point *p = &d->now;
    if (p->refined || d->posted) return HK_OK;
    HK_TRY(follow_handles(d));
    HK_TRY(prepare_initialise(d));
    d->out_of_bounds =
        hk_initialise_predict(d->initialise, p->shape[p->given], p->shape[hk_other_side(p->given)]);
    d->preview_ms = 1e3 * (hk_now() - start);
    hk_design_publish(d, HK_DESIGN_PREVIEW);
    if (p->settled) post(d);
    return HK_OK;
}

hk_status hk_design_wait(hk_design *d, double seconds, hk_design_state *state)
{
    if (!d) return hk_fail(HK_BAD_INPUT, "hk_design_wait: design is needed");
    if (isnan(seconds)) return hk_fail(HK_BAD_INPUT, "hk_design_wait: seconds must be a number");
    double until = seconds < 0 ? INFINITY : hk_now() + seconds;
    for (int k = 0; !d->posted && !d->now.refined && (k == 0 || hk_now() < until); k++) {
        if (k >= MOST_SETTLING) d->now.settled = true;
        HK_TRY(hk_design_preview(d));
    }
    hk_refiner_wait(d->refiner, until);
    hk_design_take_up(d);
    hk_design_view view = {0};
    HK_TRY(hk_design_snapshot(d, &view));
    if (state) *state = view.state;
    return HK_OK;
}

hk_status hk_design_model(hk_design *d, hk_model **model)
{
    if (!d || !model) return hk_fail(HK_BAD_INPUT, "hk_design_model: design and model are needed");
    hk_design_take_up(d);
    size_t size = 3 * (size_t)d->reference->vertex_count;
    hk_model *made;
    double *rest = HK_ARRAY(double, size);
    if (!rest) return HK_NO_MEMORY;
    hk_reference_give(d->reference, d->now.shape[HK_REST_SHAPE], rest);
    hk_status status = hk_model_copy(d->now.model, &made);
    if (status == HK_OK) {
        status = hk_model_set_rest(made, rest);
        if (status != HK_OK) hk_model_free(made);
    }
    hk_free(rest);
    if (status != HK_OK) return status;
    for (int b = 0; b < made->body_count; b++) made->bodies[b].sag_free = false;
    *model = made;
    return HK_OK;
}
