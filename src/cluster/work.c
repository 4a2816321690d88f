// A pose, and time steps.
#include "cluster/program.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

// Notes of how far it is, where no terminal shows a line (mpirun has none): not too many.
#define BETWEEN_NOTES 20.0  // s

static void tell_progress(hc_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void tell_progress(hc_run *run, const char *format, ...)
{
    char text[256];
    if (run->rank > 0 || cli_now() - run->told < BETWEEN_NOTES) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cli_note("%s", text);
    run->told = cli_now();
}

// Sums over all processes: all have the rows.
static void begin_reactions(hc_run *run)
{
    cli_reactions_begin(&run->reaction_rows, run->cluster->world, hc_bodies(run),
                        run->plan.reactions);
}

static void tell_reactions(hc_run *run)
{
    if (run->plan.reactions) cli_reactions_add(&run->reaction_rows, run->cluster->world);
}

// ---------------------------------------------------------------- pose

static bool watch_pose(void *context, const hk_iteration *i)
{
    hc_run *run = context;
    tell_progress(run, "load %.4g, iteration %d: relative residual %.2e, %d Krylov iterations",
                  i->load, i->iteration, i->relative_residual, i->linear_iterations);
    return !hc_is_interrupted(run);
}

static void judge_pose(hc_run *run, const hk_step_report *r)
{
    cli_results *results = &run->results;
    const char *colon = r->detail[0] ? ": " : "";
    results->steps = r->load_steps;
    results->interrupted = r->reason == HK_STOPPED;
    if (hk_reason_outcome(r->reason) == HK_OUTCOME_FAILED)
        cli_results_fail(results, "no pose (%s)%s%s", hk_reason_name(r->reason), colon, r->detail);
    if (run->rank > 0 || results->error[0]) return;
    if (results->interrupted)
        cli_note("stopped after %d iterations; the best state so far is kept", r->iterations);
    else if (r->reason != HK_CONVERGED)
        cli_say_error("the pose did not converge (%s)%s%s; the state that was reached is kept",
                      hk_reason_name(r->reason), colon, r->detail);
}

void hc_pose(hc_run *run)
{
    hk_step_report report;
    hk_world *world = run->cluster->world;
    run->told = cli_now();
    hk_world_set_monitor(world, watch_pose, run);
    if (hk_world_pose(world, &report) != HK_OK) hc_die(run, "%s", hk_error());
    hk_world_set_monitor(world, NULL, NULL);
    cli_results_add(&run->results, &report);
    cli_results_add_contact(&run->results, world);  // sums over all processes
    judge_pose(run, &report);
    begin_reactions(run);
    tell_reactions(run);
    hc_write_frame(run);
    bool found = run->results.outcome != HK_OUTCOME_FAILED;
    if (run->args.checkpoint && found) hc_save_state(run, run->args.checkpoint);
}

// ---------------------------------------------------------------- run

static bool take_step(hc_run *run, int step)
{
    cli_results *results = &run->results;
    hk_step_report report;
    hk_world *world = run->cluster->world;
    if (hk_world_step(world, &report) != HK_OK) hc_die(run, "step %d: %s", step, hk_error());
    cli_results_add(results, &report);
    cli_results_add_contact(results, world);  // sums over all processes
    if (hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED) {
        cli_results_fail(results, "step %d failed (%s)%s%s; the state before it, t = %g s, is kept",
                         step, hk_reason_name(report.reason), report.detail[0] ? ": " : "",
                         report.detail, hk_world_time(world));
        return false;
    }
    results->steps = step;
    return true;
}

static bool watch_step(void *context, const hk_iteration *i)
{
    hc_run *run = context;
    tell_progress(run, "step %d of %d, iteration %d: relative residual %.2e",
                  run->results.steps + 1, run->plan.steps, i->iteration, i->relative_residual);
    return true;
}

static void save_if_due(hc_run *run, double *next)
{
    double time = hk_world_time(run->cluster->world), every = run->args.every;
    if (!run->args.checkpoint || isnan(every) || time < *next - 1e-6 * every) return;
    hc_save_state(run, run->args.checkpoint);
    *next = (floor(time / every + 1e-6) + 1) * every;
}

void hc_march(hc_run *run)
{
    hk_world *world = run->cluster->world;
    if (run->args.resume) hc_load_state(run, run->args.resume);
    begin_reactions(run);
    if (run->results.steps == 0) tell_reactions(run);
    hk_world_report_energy(world, run->plan.stats != NULL);
    hk_world_set_monitor(world, watch_step, run);
    run->told = cli_now();
    double next = hk_world_time(world) + run->args.every;
    if (hc_frame_is_due(run, hk_world_time(world))) hc_write_frame(run);
    for (int step = run->results.steps + 1; step <= run->plan.steps; step++) {
        if (hc_is_interrupted(run)) {
            run->results.interrupted = true;
            if (run->rank == 0)
                cli_note("stopped before step %d of %d; what is written is valid", step,
                         run->plan.steps);
            break;
        }
        if (!take_step(run, step)) break;
        tell_reactions(run);
        if (hc_frame_is_due(run, hk_world_time(world))) hc_write_frame(run);
        save_if_due(run, &next);
    }
    hk_world_set_monitor(world, NULL, NULL);
    bool failed = run->results.outcome == HK_OUTCOME_FAILED;
    if (run->args.checkpoint && !failed) hc_save_state(run, run->args.checkpoint);
    if (run->last_frame != hk_world_time(world)) hc_write_frame(run);
}
