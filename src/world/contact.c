// What a world knows of contact: reports, certificates, and whether a state is one to start from.
#include <math.h>
#include <stdio.h>

#include "contact/overlap.h"
#include "contact/recover.h"
#include "term/contact.h"
#include "term/penetration.h"
#include "world/world.h"

// NULL: the world has none.
static hk_contacts *contacts_of(const hk_world *w)
{
    if (w->contact.after) return w->contact.after->contacts;
    if (!w->problem) return NULL;
    const hk_spring_damper *law = hk_terms_spring_damper(w->problem->terms);
    return law ? law->contacts : hk_terms_contacts(w->problem->terms);
}

void hk_world_release_contact(hk_world *w)
{
    if (w->contact.recoverer) hk_newton.free(w->contact.recoverer);
    w->contact.recoverer = NULL;
    hk_contact_measure_release(&w->contact.measure);
    hk_after_free(w->contact.after);
    w->contact.after = NULL;
    w->contact.measured = false;
}

// ---------------------------------------------------------------- work

static hk_contact_work work_of(const hk_contacts *c)
{
    return (hk_contact_work){.clamped = c->clamped,
                             .detections = c->detections,
                             .detect_s = c->detect_s,
                             .pairs_s = c->pairs_s,
                             .guard_s = c->guard_s,
                             .proof_s = c->proof ? c->proof->seconds : 0};
}

// Of corrections: what they take counts as that of pairs, and vertices that are moved as clamped.
static void add_corrections(const hk_after *a, hk_contact_work *work)
{
    work->pairs_s += a->seconds;
    work->clamped = a->corrected;
}

void hk_world_begin_contact(hk_world *w)
{
    const hk_contacts *c = contacts_of(w);
    w->contact.measured = w->contact.certified = false;
    w->contact.before = c ? work_of(c) : (hk_contact_work){0};
    w->contact.work = (hk_contact_work){0};
}

void hk_world_end_contact(hk_world *w)
{
    const hk_contacts *c = contacts_of(w);
    if (!c) return;
    const hk_contact_work *before = &w->contact.before;
    hk_contact_work now = work_of(c);
    w->contact.work = (hk_contact_work){.clamped = now.clamped - before->clamped,
                                        .detections = now.detections - before->detections,
                                        .detect_s = now.detect_s - before->detect_s,
                                        .pairs_s = now.pairs_s - before->pairs_s,
                                        .guard_s = now.guard_s - before->guard_s,
                                        .proof_s = now.proof_s - before->proof_s};
    if (!w->contact.after) return;
    add_corrections(w->contact.after, &w->contact.work);
    w->contact.after->seconds = 0;
}

// ---------------------------------------------------------------- states

// Whether anything overlaps at x, sheets with their thickness.
static hk_status find_overlap(hk_contacts *c, const double *x, bool *any, char *text, size_t size)
{
    hk_overlap_found found;
    HK_TRY(hk_contacts_find_overlap(c, x, true, &found));
    *any = found.count > 0;
    if (*any) hk_contacts_describe_overlap(c, &found, text, size);
    return HK_OK;
}

static hk_status need_after(hk_world *w)
{
    if (w->contact.after) return HK_OK;
    HK_TRY(hk_after_create(w->model, w->threads, &w->contact.after));
    return hk_contacts_place(w->contact.after->contacts, false, 0, w->time);
}

hk_status hk_world_check_start(hk_world *w)
{
    const hk_model_contact *s = w->model->contact;
    w->contact.recovered_time = NAN;
    if (!s || s->when != HK_CONTACT_AFTER) return hk_world_check_state(w, w->x);
    HK_TRY(need_after(w));
    return hk_contacts_check(w->contact.after->contacts, w->x);
}

hk_status hk_world_check_state(hk_world *w, const double *x)
{
    hk_contacts *c = contacts_of(w);
    bool any;
    char text[256];
    w->contact.measured = w->contact.certified = false;
    if (!c || w->contact.after) return HK_OK;  // what overlaps is put right after the next step
    bool soft =
        c->settings->law == HK_CONTACT_PENALTY || c->settings->law == HK_CONTACT_SPRING_DAMPER;
    if (soft) return HK_OK;  // or by the law
    if (c->settings->overlap == HK_OVERLAP_REFUSE) {
        HK_TRY(hk_terms_check(w->problem->terms, x));
        w->contact.certified = c->settings->certify;  // by the same arithmetic
        return HK_OK;
    }
    HK_TRY(find_overlap(c, x, &any, text, sizeof text));
    if (!any && !w->contact.recovering) return HK_OK;
    if (any) HK_TRY(hk_contacts_begin_recovery(c));
    if (!any) hk_contacts_end_recovery(c);
    w->contact.recovering = any;
    w->contact.recovery_steps = 0;
    w->contact.recovered_time = NAN;
    if (any) hk_log(HK_LOG_INFO, "contact: %s overlap, and are pushed apart", text);
    return HK_OK;
}

// ---------------------------------------------------------------- corrections

hk_status hk_world_correct(hk_world *w, hk_solve_report *solved)
{
    if (!w->model->contact || w->model->contact->when != HK_CONTACT_AFTER) return HK_OK;
    HK_TRY(need_after(w));
    double times[2] = {w->time, w->time + w->step};
    int64_t size = 4 * (int64_t)w->model->vertex_count;
    bool own = w->method->integrate;  // then velocities are known already
    if (own) memcpy(w->good, w->next, hk_world_bytes(w));
    HK_TRY(hk_after_correct(w->contact.after, w->problem->held, times, w->step, w->x, w->next));
    for (int64_t k = 0; k < size && own; k++) w->guess[k] += (w->next[k] - w->good[k]) / w->step;
    if (w->contact.after->corrected == 0 || isfinite(hk_problem_energy(w->problem, w->next)))
        return HK_OK;
    solved->reason = HK_INVERTED;
    snprintf(solved->detail, sizeof solved->detail,
             "what is put right after the step turns elements inside out: take smaller steps");
    return HK_OK;
}

// ---------------------------------------------------------------- recovery

// Steps in which two bodies should have come apart: a quarter of the way in each.
enum { MOST_RECOVERY_STEPS = 100 };

static void swap_solver(hk_world *w, hk_borrowed *other)
{
    hk_borrowed mine = {w->method, w->settings, w->solver, w->twin, w->integrator};
    w->method = other->method;
    w->settings = other->settings;
    w->solver = other->solver;
    w->twin = other->twin;
    w->integrator = other->integrator;
    *other = mine;
}

hk_status hk_world_begin_recovery(hk_world *w, hk_borrowed *held)
{
    hk_solver_def def = hk_default_solver_def();
    hk_borrowed newton = {.method = &hk_newton, .integrator = &hk_backward_euler};
    HK_TRY(hk_method_settings(&hk_newton, &def, &newton.settings));
    newton.settings.tolerance = fmax(newton.settings.tolerance, w->settings.tolerance);
    if (!w->contact.recoverer)
        HK_TRY(hk_newton.create(w->problem, &newton.settings, &w->contact.recoverer));
    newton.solver = w->contact.recoverer;
    *held = newton;
    swap_solver(w, held);
    return HK_OK;
}

// What is pushed about does not gather speed.
static void stop_tangled(hk_world *w, const hk_contacts *c)
{
    const hk_model *m = w->model;
    for (int b = 0; b < m->body_count; b++) {
        if (!hk_contacts_body_tangled(c, b)) continue;
        for (int v = m->bodies[b].vertex_start;
             v < m->bodies[b].vertex_start + m->bodies[b].vertex_count; v++) {
            memset(w->v + 4 * (int64_t)m->place[v], 0, 4 * sizeof(double));
            memset(w->v_before + 4 * (int64_t)m->place[v], 0, 4 * sizeof(double));
        }
    }
    hk_world_forget_past(w);
    hk_world_publish(w);
}

hk_status hk_world_end_recovery(hk_world *w, hk_borrowed *held, hk_solve_report *solved)
{
    hk_contacts *c = contacts_of(w);
    bool any;
    char text[sizeof solved->detail];
    swap_solver(w, held);
    w->contact.recovery_steps++;
    if (!hk_world_usable(w, solved) || solved->reason == HK_STOPPED) return HK_OK;
    stop_tangled(w, c);
    HK_TRY(find_overlap(c, w->x, &any, text, sizeof text));
    if (!any) {
        hk_contacts_end_recovery(c);
        w->contact.recovering = false;
        w->contact.recovered_time = w->time;
        w->contact.certified = c->settings->certify;
        hk_log(HK_LOG_INFO, "contact: nothing overlaps any more after %d steps",
               w->contact.recovery_steps);
    } else if (w->contact.recovery_steps >= MOST_RECOVERY_STEPS) {
        solved->reason = HK_INTERSECTION;
        snprintf(solved->detail, sizeof solved->detail, "not apart after %d steps: %s",
                 w->contact.recovery_steps, text);
    }
    return HK_OK;
}

hk_status hk_world_recover(hk_world *w, hk_solve_report *solved)
{
    double time = w->time;
    hk_status status = HK_OK;
    for (int k = 0; k < MOST_RECOVERY_STEPS && w->contact.recovering && status == HK_OK; k++) {
        *solved = (hk_solve_report){0};
        status = hk_world_take_step(w, solved);
        w->time = time;
        if (!hk_world_usable(w, solved) || solved->reason == HK_STOPPED) break;
    }
    if (!w->contact.recovering) w->contact.recovered_time = time;
    return status;
}

hk_status hk_world_certify(hk_world *w, const double *x, hk_solve_report *solved)
{
    hk_contacts *c = contacts_of(w);
    hk_overlap_found found;
    char text[sizeof solved->detail];
    if (!c || !c->settings->certify || c->recovery) return HK_OK;
    HK_TRY(hk_contacts_find_overlap(c, x, false, &found));
    w->contact.certified = !hk_partition_any(w->model->partition, found.count > 0);
    if (w->contact.certified) return HK_OK;
    snprintf(text, sizeof text, "something in another part");
    if (found.count > 0) hk_contacts_describe_overlap(c, &found, text, sizeof text);
    solved->reason = HK_INTERSECTION;
    snprintf(solved->detail, sizeof solved->detail, "the certificate found %s", text);
    return HK_OK;
}

void hk_world_name_blocking(const hk_world *w, hk_solve_report *solved)
{
    const hk_contacts *c = contacts_of(w);
    if (solved->reason != HK_INTERSECTION || !c || c->blocking[0] < 0) return;
    hk_overlap_found found = {.faces = {{-1}, {-1}}};
    memcpy(found.sides, c->blocking, sizeof found.sides);
    char text[160], *near;
    hk_contacts_describe_overlap(c, &found, text, sizeof text);
    if ((near = strstr(text, " near")) != NULL) *near = '\0';
    size_t used = strlen(solved->detail);
    snprintf(solved->detail + used, sizeof solved->detail - used, " (%s)", text);
}

// ---------------------------------------------------------------- forces

hk_status hk_world_measure(hk_world *w, const double *x)
{
    hk_contacts *c = contacts_of(w);
    if (!c || w->contact.measured || w->contact.after) return HK_OK;
    if (!w->contact.measure.force) HK_TRY(hk_contact_measure_create(c, &w->contact.measure));
    const hk_spring_damper *law = hk_terms_spring_damper(w->problem->terms);
    if (law)
        hk_spring_damper_measure(law, x, w->v, &w->contact.measure);
    else
        HK_TRY(hk_contacts_measure(c, x, &w->contact.measure));
    hk_contacts_share_measure(c, &w->contact.measure);
    w->contact.measured = true;
    return HK_OK;
}

void hk_world_count_contact_once(hk_world *w)
{
    hk_contacts *c = contacts_of(w);
    if (c) hk_contacts_count_as(c, 1);
}

hk_status hk_world_leave_out_contact(hk_world *w, double scale)
{
    const hk_contacts *c = contacts_of(w);
    if (!c || w->contact.after) return HK_OK;
    HK_TRY(hk_world_measure(w, w->next));
    const hk_problem *p = w->problem;
    for (int k = 0; k < c->body_points; k++) {
        int32_t v = c->vertex[k];
        if (p->held[v] || !(p->mass[v] > 0)) continue;
        for (size_t i = 0; i < 3; i++)
            w->acceleration[4 * (size_t)v + i] -=
                scale * w->contact.measure.force[3 * (size_t)k + i] / p->mass[v];
    }
    return HK_OK;
}

static const hk_contact_measure *measure_of(const hk_world *w)
{
    return w->contact.after ? &w->contact.after->measure : &w->contact.measure;
}

// With a problem and the forces at the state.
static hk_status need_measure(hk_world *w)
{
    if (w->model->contact && !w->gpu) HK_TRY(hk_world_need_problem(w));
    if (w->model->contact && w->model->contact->when == HK_CONTACT_AFTER) HK_TRY(need_after(w));
    return hk_world_measure(w, w->x);
}

hk_status hk_world_contact_forces(hk_world *w, double *forces)
{
    HK_TRY(need_measure(w));
    const hk_contacts *c = contacts_of(w);
    memset(forces, 0, 3 * sizeof(double) * (size_t)w->model->vertex_count);
    for (int p = 0; c && p < c->body_points; p++)
        memcpy(forces + 3 * (int64_t)w->model->order[c->vertex[p]],
               measure_of(w)->force + 3 * (int64_t)p, 3 * sizeof(double));
    return HK_OK;
}

// Of all parts; they detect for themselves.
static void sum_work(hk_partition *g, hk_contact_report *r)
{
    double sums[] = {(double)r->candidates, (double)r->clamped};
    if (!g) return;
    hk_partition_sum(g, sums, HK_COUNT_OF(sums));
    r->candidates = (int64_t)sums[0];
    r->clamped = (int64_t)sums[1];
    r->detections = (int64_t)hk_partition_max_of(g, (double)r->detections);
}

hk_status hk_world_contact(hk_world *w, hk_contact_report *report)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w || !report)
        return hk_fail(HK_BAD_INPUT, "hk_world_contact: world and report are needed");
    HK_TRY(need_measure(w));
    const hk_contacts *c = contacts_of(w);
    hk_contact_report r = {.least_gap = INFINITY, .recovered_time = NAN};
    if (c) {
        const hk_contact_work *work = &w->contact.work;
        r = (hk_contact_report){.pairs = measure_of(w)->pairs,
                                .candidates = (int64_t)c->count,
                                .least_gap = measure_of(w)->least_gap,
                                .clamped = work->clamped,
                                .detections = work->detections,
                                .certified = w->contact.certified,
                                .recovering = w->contact.recovering,
                                .recovery_steps = w->contact.recovery_steps,
                                .recovered_time = w->contact.recovered_time,
                                .energy = measure_of(w)->energy,
                                .detection_ms = 1e3 * work->detect_s,
                                .pairs_ms = 1e3 * work->pairs_s,
                                .guard_ms = 1e3 * work->guard_s,
                                .certificate_ms = 1e3 * work->proof_s};
        sum_work(w->model->partition, &r);
    }
    *report = r;
    return HK_OK;
}

hk_status hk_world_obstacle_load(hk_world *w, int obstacle, hk_obstacle_load *load)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w || !load)
        return hk_fail(HK_BAD_INPUT, "hk_world_obstacle_load: world and load are needed");
    int count = hk_model_obstacle_count(w->model);
    if (obstacle < 0 || obstacle >= count)
        return hk_fail(HK_BAD_INPUT, "there is no obstacle %d (the model has %d)", obstacle, count);
    HK_TRY(need_measure(w));
    hk_obstacle_load made = {0};
    if (contacts_of(w)) {
        const hk_contact_load *from = &measure_of(w)->loads[obstacle];
        memcpy(made.force, from->force, sizeof made.force);
        memcpy(made.torque, from->torque, sizeof made.torque);
        memcpy(made.center, from->center, sizeof made.center);
    }
    *load = made;
    return HK_OK;
}
