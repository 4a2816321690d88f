// What a world tells: energies, reports, and the names in them.
#include <math.h>

#include "model/partition.h"

#include "world/world.h"

// On the CPU, with attachments where they are now: after a pose at the end of their motion.
static hk_energy energies(hk_world *w)
{
    const hk_model *m = w->model;
    hk_terms *terms = w->problem->terms;
    hk_energy e = {.elastic = hk_terms_part(terms, w->x, HK_PART_ELASTIC),
                   .gravity = hk_terms_part(terms, w->x, HK_PART_GRAVITY),
                   .load = hk_terms_part(terms, w->x, HK_PART_LOAD)};
    for (int v = 0; v < m->vertex_count; v++)
        for (int64_t k = 3 * (int64_t)v; k < 3 * (int64_t)v + 3; k++)
            e.kinetic += 0.5 * m->mass[v] * w->velocities[k] * w->velocities[k];
    e.kinetic = hk_partition_sum_of(m->partition, e.kinetic);
    if (m->contact && hk_world_measure(w, w->x) == HK_OK) e.contact = w->contact.measure.energy;
    e.total = e.elastic + e.gravity + e.load + e.kinetic + e.contact;
    return e;
}

hk_status hk_world_find_energy(hk_world *w, hk_energy *energy)
{
    if (w->gpu) return hk_gpu_energy(w->gpu, energy);
    *energy = energies(w);
    return HK_OK;
}

// Time of contact is spent in the phases of methods, which do not know of it.
static void take_out_contact(const hk_contact_work *work, double *phase_ms)
{
    static const hk_phase from[] = {HK_PHASE_ELEMENTS, HK_PHASE_ASSEMBLY, HK_PHASE_SOLVE,
                                    HK_PHASE_FACTOR};
    phase_ms[HK_PHASE_DETECTION] = 1e3 * work->detect_s;
    phase_ms[HK_PHASE_PAIRS] = 1e3 * work->pairs_s;
    phase_ms[HK_PHASE_GUARD] = 1e3 * (work->guard_s + work->proof_s);
    // Guard and detections are called between the phases for the most part, pairs within them.
    double beside = phase_ms[HK_PHASE_GUARD] + phase_ms[HK_PHASE_DETECTION];
    double of_other = fmin(beside, phase_ms[HK_PHASE_OTHER]);
    double rest = beside - of_other + phase_ms[HK_PHASE_PAIRS];
    phase_ms[HK_PHASE_OTHER] -= of_other;
    for (int k = 0; k < HK_COUNT_OF(from); k++) {
        double part = fmin(rest, phase_ms[from[k]]);
        phase_ms[from[k]] -= part;
        rest -= part;
    }
    phase_ms[HK_PHASE_OTHER] = fmax(0, phase_ms[HK_PHASE_OTHER] - rest);
}

hk_status hk_world_fill_report(hk_world *w, const hk_solve_report *solved, int load_steps,
                               double start, hk_step_report *report)
{
    hk_world_end_contact(w);
    if (!report) return HK_OK;
    double ms = 1e3 * (hk_now() - start);  // energies are no part of the step
    hk_energy energy = {.elastic = NAN, .gravity = NAN, .load = NAN, .kinetic = NAN, .total = NAN};
    if (load_steps != HK_OF_STEP)
        energy = energies(w);
    else if (!w->no_energy)
        HK_TRY(hk_world_find_energy(w, &energy));
    hk_step_report r = {
        .reason = solved->reason,
        .iterations = solved->iterations,
        .linear_iterations = solved->linear_iterations,
        .load_steps = load_steps == HK_OF_STEP ? 1 : load_steps,
        .time = w->time,
        .residual = solved->residual,
        .relative_residual = solved->relative_residual,
        .rounding = solved->rounding,
        .energy = energy,
        .ms = ms,
    };
    memcpy(r.detail, solved->detail, sizeof r.detail);
    double named = 0;
    for (int k = 0; k < HK_PHASE_OTHER; k++) {
        r.phase_ms[k] = 1e3 * solved->phase_s[k];
        named += r.phase_ms[k];
    }
    r.phase_ms[HK_PHASE_OTHER] = fmax(0, r.ms - named);
    if (w->model->contact) take_out_contact(&w->contact.work, r.phase_ms);
    *report = r;
    return HK_OK;
}

// A solve that did not end in finite numbers keeps the state. A method that integrates by itself
// goes through states where a material is not defined.
bool hk_world_usable(const hk_world *w, const hk_solve_report *report)
{
    return report->reason != HK_NOT_FINITE && report->reason != HK_INVERTED &&
           report->reason != HK_INTERSECTION && (w->method->integrate || isfinite(report->energy));
}

// ---------------------------------------------------------------- names

const char *hk_reason_name(hk_reason reason)
{
    switch (reason) {
    case HK_CONVERGED: return "converged";
    case HK_ITERATION_LIMIT: return "iteration limit";
    case HK_STALLED: return "stalled";
    case HK_NOT_FINITE: return "not finite";
    case HK_INVERTED: return "inverted";
    case HK_NOT_HELD: return "not held";
    case HK_LOAD_STEP_LIMIT: return "load step limit";
    case HK_STOPPED: return "stopped";
    case HK_FIXED_WORK: return "fixed work";
    case HK_PRECISION_LIMIT: return "precision limit";
    case HK_UNDETERMINED: return "undetermined";
    case HK_INTERSECTION: return "intersection";
    }
    return "unknown reason";
}

hk_outcome hk_reason_outcome(hk_reason reason)
{
    switch (reason) {
    case HK_CONVERGED: return HK_OUTCOME_CONVERGED;
    case HK_ITERATION_LIMIT:
    case HK_STALLED:
    case HK_PRECISION_LIMIT:
    case HK_UNDETERMINED:
    case HK_FIXED_WORK:  // no one knows that it has converged
    case HK_STOPPED: return HK_OUTCOME_STOPPED;
    default: return HK_OUTCOME_FAILED;
    }
}

const char *hk_phase_name(hk_phase phase)
{
    static const char *const names[HK_PHASE_COUNT] = {"elements",  "assembly", "factor",
                                                      "solve",     "volume",   "other",
                                                      "detection", "pairs",    "guard"};
    return phase >= 0 && phase < HK_PHASE_COUNT ? names[phase] : "unknown phase";
}
