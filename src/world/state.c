// What the next step of a world depends on, to a file and back.
#include "solver/manifold.h"
#include "world/state.h"

#include <stdio.h>

#include "contact/remember.h"
#include "model/springs.h"
#include "solver/precise.h"
#include "term/contact.h"

// ---------------------------------------------------------------- what is remembered

static void remember_vector(hk_stream *s, const hk_world *w, double *vector)
{
    hk_stream_expect(s, vector != NULL);
    if (vector) hk_stream_bytes(s, vector, hk_world_bytes(w));
}

static void remember_vectors(hk_world *w, hk_stream *s)
{
    double *const all[] = {w->x, w->v, w->v_before, w->x_before, w->acceleration};
    HK_STREAM(s, w->time);
    HK_STREAM(s, w->step_before);
    HK_STREAM(s, w->acceleration_known);
    HK_STREAM(s, w->conserved.known);
    HK_STREAM(s, w->conserved.count);
    HK_STREAM(s, w->conserved.energy);
    HK_STREAM(s, w->conserved.linear);
    HK_STREAM(s, w->conserved.angular);
    for (int k = 0; k < HK_COUNT_OF(all); k++) remember_vector(s, w, all[k]);
}

// The weights that elements turn from one law to another by.
static void remember_blend(hk_terms *terms, int tet_count, hk_stream *s)
{
    if (!hk_terms_blending(terms) || s->status != HK_OK) return;
    float *weight = HK_ZEROS(float, tet_count);
    if (!weight) {
        s->status = HK_NO_MEMORY;
        return;
    }
    if (!s->reading) hk_terms_read_blend(terms, weight);
    hk_stream_bytes(s, weight, sizeof *weight * (size_t)tet_count);
    if (s->reading && s->status == HK_OK) hk_terms_write_blend(terms, weight);
    hk_free(weight);
}

static void remember_contact(hk_world *w, hk_stream *s)
{
    HK_STREAM(s, w->contact.certified);
    HK_STREAM(s, w->contact.recovery_steps);
    HK_STREAM(s, w->contact.recovered_time);
    if (s->reading) w->contact.measured = false;
    hk_contacts *c = hk_terms_contacts(w->problem->terms);
    if (c) hk_contacts_remember(c, s);
}

static void remember_pressures(const hk_problem *p, hk_stream *s)
{
    for (int n = 0; p->manifold && n < p->manifold->cavity_count; n++)
        HK_STREAM(s, p->manifold->cavities[n].pressure);
}

// A step on a GPU remembers on its own, and that stays there.
void hk_world_remember(hk_world *w, bool with_solver, hk_stream *s)
{
    remember_vectors(w, s);
    hk_world_remember_live(w, s);
    hk_world_remember_springs(w, s);
    if (w->gpu || !w->problem || !w->solver) return;
    if (s->reading && s->status == HK_OK)
        hk_terms_place(w->problem->terms, &(hk_when){.time = w->time});
    remember_contact(w, s);
    remember_pressures(w->problem, s);
    hk_view *view = w->method->view ? w->method->view(w->solver) : NULL;
    remember_blend(w->problem->terms, w->model->tet_count, s);
    if (!with_solver) return;
    if (view && view->terms != w->problem->terms)
        remember_blend(view->terms, w->model->tet_count, s);
    if (view) hk_view_remember(view, s);
    if (w->method->remember) w->method->remember(w->solver, s);
    hk_solve solve = {w->problem, w->method, &w->settings, w->solver, &w->twin, w->guess};
    hk_twin_remember(&solve, s);
}

// ---------------------------------------------------------------- saving

static void write_bodies(const hk_model *m, hk_stream *s)
{
    int count = m->body_count;
    HK_STREAM(s, count);
    for (int b = 0; b < m->body_count; b++) {
        size_t length = strlen(m->bodies[b].name) + 1, room = length;
        void *name = m->bodies[b].name;
        int vertices = m->bodies[b].vertex_count;
        hk_stream_list(s, &name, &length, &room, 1);
        HK_STREAM(s, vertices);
    }
}

static void write_part(hk_stream *s, const void *data, size_t size)
{
    uint64_t count = size;
    HK_STREAM(s, count);
    hk_stream_bytes(s, (void *)(uintptr_t)data, size);
}

static hk_status write_all(hk_world *w, const void *extra, size_t extra_size, hk_stream *s)
{
    hk_stream tears = {0};
    uint64_t model = hk_world_fingerprint(w), method = hk_world_method_fingerprint(w);
    int vertices = w->model->vertex_count;
    size_t bytes = 3 * sizeof(double) * (size_t)vertices;
    HK_STREAM(s, model);
    HK_STREAM(s, method);
    HK_STREAM(s, w->time);
    HK_STREAM(s, vertices);
    write_bodies(w->model, s);
    hk_stream_bytes(s, w->positions, bytes);
    hk_stream_bytes(s, w->velocities, bytes);
    hk_world_remember_tears(w, &tears);
    if (tears.status == HK_OK) write_part(s, tears.data, tears.size);
    hk_status status = tears.status;
    hk_stream_free(&tears);
    hk_stream own = {0};
    if (status == HK_OK) hk_world_remember(w, true, &own);
    if (status == HK_OK) status = own.status;
    if (status == HK_OK) write_part(s, own.data, own.size);
    hk_stream_free(&own);
    if (status == HK_OK) write_part(s, extra, extra_size);
    return status == HK_OK ? s->status : status;
}

hk_status hk_world_save_state_with(hk_world *w, const char *path, const void *extra,
                                   size_t extra_size)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w || !path || (!extra && extra_size > 0))
        return hk_fail(HK_BAD_INPUT, "hk_world_save_state: world and path are needed");
    if (w->tears.edited)
        return hk_fail(HK_UNSUPPORTED,
                       "%s: bodies were edited after they were torn: their state cannot be saved",
                       path);
    if (w->contact.recovering)
        return hk_fail(HK_UNSUPPORTED,
                       "%s: bodies are still being pushed apart, and have no state to save yet",
                       path);
    HK_TRY(hk_world_fetch(w));
    hk_stream s = {0};
    hk_status status = write_all(w, extra, extra_size, &s);
    if (status == HK_OK) status = hk_state_file_save(path, &s);
    hk_stream_free(&s);
    return status;
}

hk_status hk_world_save_state(hk_world *w, const char *path)
{
    return hk_world_save_state_with(w, path, NULL, 0);
}

// ---------------------------------------------------------------- loading

static hk_status take(hk_world *w, bool with_solver, const void *data, size_t size)
{
    hk_stream s = hk_stream_reader(data, size);
    hk_world_remember(w, with_solver, &s);
    if (s.status != HK_OK) return s.status;
    const double *known[HK_KNOWN_COUNT] = {[HK_KNOWN_X] = w->x,
                                           [HK_KNOWN_V] = w->v,
                                           [HK_KNOWN_A] = w->acceleration,
                                           [HK_KNOWN_X_BEFORE] = w->x_before,
                                           [HK_KNOWN_V_BEFORE] = w->v_before};
    HK_TRY(hk_world_write_state(w, known, w->step_before));
    hk_world_publish(w);
    return HK_OK;
}

// Where it fails, all is as it was.
static hk_status take_or_stay(hk_world *w, const hk_state_file *f, bool with_solver)
{
    hk_stream before = {0};
    HK_TRY(hk_world_fetch(w));
    hk_world_remember(w, true, &before);
    hk_status status = before.status;
    if (status == HK_OK) status = take(w, with_solver, f->state, f->state_size);
    if (status != HK_OK && before.status == HK_OK) {
        char why[256];
        snprintf(why, sizeof why, "%s", hk_error());
        if (take(w, true, before.data, before.size) == HK_OK && status != HK_NO_MEMORY)
            status = hk_fail(status, "%s", why);
    }
    hk_stream_free(&before);
    return status;
}

// With bodies torn as they are in the state.
static hk_status load_torn(hk_world *w, const hk_state_file *f, bool same)
{
    if (f->vertex_count != w->model->vertex_count)
        return hk_fail(HK_BAD_INPUT, "the state has %d vertices, and its bodies %d",
                       f->vertex_count, w->model->vertex_count);
    HK_TRY(hk_world_take_vectors(w, f->positions, "the position", w->next));
    if (w->problem) hk_terms_place(w->problem->terms, &(hk_when){.time = f->time});
    hk_status status = hk_world_check_state(w, w->next);
    if (status == HK_OK) status = take_or_stay(w, f, same);
    if (w->problem) hk_terms_place(w->problem->terms, &(hk_when){.time = w->time});
    return status;
}

static hk_status take_tears(hk_world *w, const void *data, size_t size)
{
    hk_stream s = hk_stream_reader(data, size);
    hk_world_remember_tears(w, &s);
    return s.status;
}

static hk_status load(hk_world *w, const char *path, const hk_state_file *f)
{
    if (f->model != hk_world_fingerprint(w))
        return hk_fail(HK_BAD_INPUT,
                       "%s: the state is of another model: meshes, materials, constraints, loads, "
                       "contact, damping, the step and the integrator must be the same (so must "
                       "what was fixed, released or made of another material since)",
                       path);
    bool same = f->method == hk_world_method_fingerprint(w);
    if (!same)
        hk_log(HK_LOG_INFO, "%s is of another method or other options: %s begins anew", path,
               w->method->name);
    hk_stream tears = {0}, own = {0};
    hk_world_remember_tears(w, &tears);
    hk_world_remember(w, true, &own);
    hk_status status = tears.status == HK_OK ? own.status : tears.status;
    if (status == HK_OK) status = take_tears(w, f->tears, f->tears_size);
    if (status == HK_OK) status = load_torn(w, f, same);
    if (status != HK_OK && tears.status == HK_OK && own.status == HK_OK) {
        char why[256];
        snprintf(why, sizeof why, "%s", hk_error());
        if (take_tears(w, tears.data, tears.size) == HK_OK &&
            take(w, true, own.data, own.size) == HK_OK && status != HK_NO_MEMORY)
            status = hk_fail(status, "%s", why);
    }
    hk_stream_free(&tears);
    hk_stream_free(&own);
    return status;
}

hk_status hk_world_load_state(hk_world *w, const char *path)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w || !path) return hk_fail(HK_BAD_INPUT, "hk_world_load_state: world and path are needed");
    hk_state_file f;
    hk_status status = hk_state_file_load(path, &f);
    if (status == HK_OK) status = load(w, path, &f);
    hk_state_file_release(&f);
    return status;
}
