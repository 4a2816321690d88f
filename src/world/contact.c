// What a world knows of contact: reports, certificates, and whether a state is one to start from.
#include <math.h>
#include <stdio.h>

#include "contact/overlap.h"
#include "term/contact.h"
#include "world/world.h"

// NULL: the world has none (or it is not an energy of the step).
static hk_contacts *contacts_of(const hk_world *w)
{
    return w->problem ? hk_terms_contacts(w->problem->terms) : NULL;
}

void hk_world_release_contact(hk_world *w)
{
    hk_contact_measure_release(&w->contact.measure);
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
}

// ---------------------------------------------------------------- states

hk_status hk_world_check_state(hk_world *w, const double *x)
{
    hk_contacts *c = contacts_of(w);
    if (!c) return HK_OK;
    w->contact.measured = w->contact.certified = false;
    return hk_terms_check(w->problem->terms, x);
}

hk_status hk_world_certify(hk_world *w, const double *x, hk_solve_report *solved)
{
    hk_contacts *c = contacts_of(w);
    hk_overlap_found found;
    char text[sizeof solved->detail];
    if (!c || !c->settings->certify) return HK_OK;
    HK_TRY(hk_contacts_find_overlap(c, x, false, &found));
    w->contact.certified = found.count == 0;
    if (w->contact.certified) return HK_OK;
    hk_contacts_describe_overlap(c, &found, text, sizeof text);
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
    if (!c || w->contact.measured) return HK_OK;
    if (!w->contact.measure.force) HK_TRY(hk_contact_measure_create(c, &w->contact.measure));
    HK_TRY(hk_contacts_measure(c, x, &w->contact.measure));
    w->contact.measured = true;
    return HK_OK;
}

// With a problem and the forces at the state.
static hk_status need_measure(hk_world *w)
{
    if (w->model->contact && !w->gpu) HK_TRY(hk_world_need_problem(w));
    return hk_world_measure(w, w->x);
}

hk_status hk_world_contact_forces(hk_world *w, double *forces)
{
    HK_TRY(need_measure(w));
    const hk_contacts *c = contacts_of(w);
    memset(forces, 0, 3 * sizeof(double) * (size_t)w->model->vertex_count);
    for (int p = 0; c && p < c->body_points; p++)
        memcpy(forces + 3 * (int64_t)w->model->order[c->vertex[p]],
               w->contact.measure.force + 3 * (int64_t)p, 3 * sizeof(double));
    return HK_OK;
}

hk_status hk_world_contact(hk_world *w, hk_contact_report *report)
{
    if (!w || !report)
        return hk_fail(HK_BAD_INPUT, "hk_world_contact: world and report are needed");
    HK_TRY(need_measure(w));
    const hk_contacts *c = contacts_of(w);
    hk_contact_report r = {.least_gap = INFINITY, .recovered_time = NAN};
    if (c) {
        const hk_contact_work *work = &w->contact.work;
        r = (hk_contact_report){.pairs = w->contact.measure.pairs,
                                .candidates = (int64_t)c->count,
                                .least_gap = w->contact.measure.least_gap,
                                .clamped = work->clamped,
                                .detections = work->detections,
                                .certified = w->contact.certified,
                                .recovering = w->contact.recovering,
                                .recovery_steps = w->contact.recovery_steps,
                                .recovered_time = w->contact.recovered_time,
                                .energy = w->contact.measure.energy,
                                .detection_ms = 1e3 * work->detect_s,
                                .pairs_ms = 1e3 * work->pairs_s,
                                .guard_ms = 1e3 * work->guard_s,
                                .certificate_ms = 1e3 * work->proof_s};
    }
    *report = r;
    return HK_OK;
}

hk_status hk_world_obstacle_load(hk_world *w, int obstacle, hk_obstacle_load *load)
{
    if (!w || !load)
        return hk_fail(HK_BAD_INPUT, "hk_world_obstacle_load: world and load are needed");
    int count = hk_model_obstacle_count(w->model);
    if (obstacle < 0 || obstacle >= count)
        return hk_fail(HK_BAD_INPUT, "there is no obstacle %d (the model has %d)", obstacle, count);
    HK_TRY(need_measure(w));
    hk_obstacle_load made = {0};
    if (contacts_of(w)) {
        const hk_contact_load *from = &w->contact.measure.loads[obstacle];
        memcpy(made.force, from->force, sizeof made.force);
        memcpy(made.torque, from->torque, sizeof made.torque);
        memcpy(made.center, from->center, sizeof made.center);
    }
    *load = made;
    return HK_OK;
}
