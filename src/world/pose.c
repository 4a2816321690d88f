// Equilibria of a world.
#include <math.h>
#include <stdio.h>

#include "model/partition.h"
#include "solver/manifold.h"
#include "solver/held_components.h"
#include "world/world.h"

static void place_in_pose(void *context, double fraction, double *x)
{
    const hk_world *w = context;
    const hk_model *m = w->model;
    for (int k = 0; k < m->vertex_count; k++) {
        if (!w->problem->held[k]) continue;
        double *to = x + 4 * (int64_t)k;
        const double *target = hk_live_target(&w->live, m->order[k]);
        if (!target) {
            hk_model_held_position_at(m, m->order[k], fraction, to);
            continue;
        }
        for (int i = 0; i < 3; i++) {
            double start = w->x[4 * (int64_t)k + i];
            to[i] = start + fraction * (target[i] - start);
        }
    }
    hk_world_place_axes(w, x);
    hk_problem_set_load(w->problem, fraction);
    if (w->problem->manifold) hk_manifold_aim(w->problem->manifold, fraction);
    hk_terms_place(w->problem->terms, &(hk_when){.by_fraction = true, .fraction = fraction});
}

// A tenth of a millionth of the stiffness, so that free rotations do not make the matrix singular.
static double rigid_shift(const hk_world *w)
{
    double softest = w->unheld ? hk_terms_softest(w->problem->terms) : 0;
    return isfinite(softest) ? 1e-7 * softest : 0;
}

static hk_status report_falling(hk_world *w, int vertex, double start, hk_step_report *report)
{
    const hk_model *m = w->model;
    hk_solve_report solved = {.reason = HK_NOT_HELD};
    int body = 0;
    while (body + 1 < m->body_count && m->bodies[body + 1].vertex_start <= vertex) body++;
    int number = vertex - m->bodies[body].vertex_start;
    if (m->partition) {
        body = m->partition->pieces[vertex].body;
        number = m->partition->pieces[vertex].vertex;
    }
    snprintf(solved.detail, sizeof solved.detail,
             "body %d (%.40s): nothing holds the piece with vertex %d against its load", body,
             m->bodies[body].name, number);
    return hk_world_fill_report(w, &solved, 0, start, report);
}

// A pose is found on the CPU, from the state that the GPU has.
static hk_status prepare_pose(hk_world *w)
{
    HK_TRY(hk_world_fetch(w));
    HK_TRY(hk_world_need_problem(w));
    if (!w->solver) HK_TRY(w->method->create(w->problem, &w->settings, &w->solver));
    if (w->gpu && !w->told_pose)
        hk_log(HK_LOG_INFO, "poses are found on the CPU, by the same method");
    w->told_pose = true;
    return HK_OK;
}

// w->next becomes the state, at rest.
static hk_status keep_pose(hk_world *w)
{
    size_t bytes = 4 * sizeof(double) * (size_t)w->model->vertex_count;
    hk_problem_find_pressures(w->problem, w->next, w->good);
    memset(w->guess, 0, bytes);
    const double *known[HK_KNOWN_COUNT] = {
        [HK_KNOWN_X] = w->next, [HK_KNOWN_V] = w->guess, [HK_KNOWN_V_BEFORE] = w->guess};
    HK_TRY(hk_world_write_state(w, known, 0));
    memcpy(w->x, w->next, bytes);
    memset(w->v, 0, bytes);
    memset(w->v_before, 0, bytes);
    hk_world_forget_past(w);
    hk_world_publish(w);
    return HK_OK;
}

// Whether nothing but weights and forces is at work.
static bool is_mechanism(const hk_world *w)
{
    const hk_model *m = w->model;
    bool elastic = isfinite(hk_terms_softest(w->problem->terms)) || m->attachment_count > 0 ||
                   m->user_term_count > 0 || m->point_springs || m->contact ||
                   w->live.grab_count > 0;
    return m->constraints && !elastic;
}

static hk_status pose_and_report(hk_world *w, hk_step_report *report)
{
    double start = hk_now();
    HK_TRY(prepare_pose(w));
    hk_world_begin_contact(w);
    HK_TRY(hk_world_take_time(w, NAN));
    hk_problem *p = w->problem;
    if (is_mechanism(w))
        return hk_fail(HK_UNSUPPORTED,
                       "all is rigid, and there are no poses of what nothing elastic brings to "
                       "rest: let it come to rest in time steps with damping");
    int falling;
    HK_TRY(hk_model_find_falling(w->model, &w->live, p->full_force, &falling));
    // What nothing holds may lie on something.
    if (falling >= 0 && !hk_terms_guarded(p->terms))
        return report_falling(w, falling, start, report);
    hk_solve_report solved = {0};
    if (w->contact.recovering) {
        HK_TRY(hk_world_recover(w, &solved));
        if (w->contact.recovering) return hk_world_fill_report(w, &solved, 0, start, report);
        solved = (hk_solve_report){0};
    }
    HK_TRY(hk_problem_begin_pose(p));
    p->shift = rigid_shift(w);
    memcpy(w->next, w->x, 4 * sizeof(double) * (size_t)p->vertex_count);
    if (p->manifold) hk_manifold_begin_volumes(p->manifold, w->x, NAN);
    hk_continuation c = {.problem = p,
                         .method = w->method,
                         .solver = w->solver,
                         .place = place_in_pose,
                         .context = w,
                         .split_unconverged = true,
                         .good = w->good,
                         .step = w->guess,
                         .settings = &w->settings,
                         .twin = &w->twin};
    int load_steps;
    HK_TRY(hk_continue(&c, w->next, &solved, &load_steps));
    HK_TRY(hk_world_settle(w, &solved));
    if (hk_world_usable(w, &solved)) HK_TRY(hk_world_certify(w, w->next, &solved));
    if (hk_world_usable(w, &solved)) HK_TRY(keep_pose(w));
    return hk_world_fill_report(w, &solved, load_steps, start, report);
}

hk_status hk_world_pose(hk_world *w, hk_step_report *report)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w) return hk_fail(HK_BAD_INPUT, "hk_world_pose: world is needed");
    if (!w->method->minimise)
        return hk_fail(HK_UNSUPPORTED,
                       "method %s has time steps only, no poses: use newton, quasi_newton or "
                       "another that minimises the energy",
                       w->method->name);
    if (w->model->contact && w->model->contact->when == HK_CONTACT_AFTER)
        return hk_fail(HK_UNSUPPORTED,
                       "contact that is put right after steps (\"when\": \"after\") has no poses");
    w->at_work = true;
    hk_status status = pose_and_report(w, report);
    w->at_work = false;
    return status;
}
