// hooke run: marches a scene through time and writes its frames.
#include <math.h>

#include "cli.h"

static const char purpose[] =
    "Marches the scene through time, step by step, and writes what its \"output\" asks\n"
    "for: a frame at the start, one every \"every\" seconds, and the last state. Ctrl-C\n"
    "stops after the running step; what was written by then is valid.\n"
    "Steps that end at the iteration limit or at the limit of precision are counted and\n"
    "told, and leave exit status 0.";

static const char examples[] =
    "hooke run scenes/beam.json\n"
    "hooke run scenes/beam.json --set time.step=0.005 --set solver.tolerance=1e-6\n"
    "hooke run scenes/beam.json --out /tmp/beam --points final.csv --json\n"
    "hooke run scenes/beam.json --set solver.method=descent --backend auto";

static bool write_frame(cli_session *session)
{
    if (cli_frames_write(&session->frames, session->world) == HK_OK) return true;
    cli_results_fail(&session->results, "%s", hk_error());
    return false;
}

static bool take_step(cli_session *session, int step)
{
    cli_results *results = &session->results;
    hk_step_report report;
    if (hk_world_step(session->world, &report) != HK_OK) {
        cli_results_fail(results, "step %d: %s", step, hk_error());
        return false;
    }
    cli_results_add(results, &report);
    cli_results_add_contact(results, session->world);
    if (hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED) {
        cli_results_fail(results, "step %d failed (%s)%s%s; the state before it, t = %g s, is kept",
                         step, hk_reason_name(report.reason), report.detail[0] ? ": " : "",
                         report.detail, hk_world_time(session->world));
        return false;
    }
    results->steps = step;
    return true;
}

static void march(cli_session *session)
{
    int steps = hk_scene_steps(session->scene);
    cli_frames *frames = &session->frames;
    bool disk_is_fine = true;
    if (cli_frames_due(frames, hk_world_time(session->world))) disk_is_fine = write_frame(session);
    for (int step = 1; step <= steps && disk_is_fine; ++step) {
        if (cli_interrupted()) {
            session->results.interrupted = true;
            cli_note("stopped before step %d of %d; what is written is valid", step, steps);
            break;
        }
        if (!take_step(session, step)) break;
        double time = hk_world_time(session->world);
        cli_progress_step(&session->progress, step, time);
        if (cli_frames_due(frames, time)) disk_is_fine = write_frame(session);
    }
    if (disk_is_fine && cli_frames_lack(frames, hk_world_time(session->world)))
        write_frame(session);
}

static void note_unconverged(const cli_results *results)
{
    if (results->limited > 0)
        cli_note("%d of %d steps stopped at the iteration limit; largest relative residual %.1e",
                 results->limited, results->count, results->worst_relative);
    if (results->stalled > 0)
        cli_note("%d of %d steps stalled; largest relative residual %.1e", results->stalled,
                 results->count, results->worst_relative);
    if (results->imprecise > 0)
        cli_note("%d of %d steps ended at the limit of precision; largest relative residual %.1e",
                 results->imprecise, results->count, results->worst_relative);
}

int cmd_run(int argc, char **argv)
{
    cli_session session;
    int result = cli_session_begin(&session, "run", purpose, examples, argc, argv);
    if (result >= 0) return result;
    cli_catch_interrupts();
    // Energies of every step go into the history and nowhere else; some methods do not need them.
    hk_world_report_energy(session.world, session.stats != NULL);
    cli_progress_begin(&session.progress, hk_scene_steps(session.scene));
    march(&session);
    cli_progress_end(&session.progress);
    note_unconverged(&session.results);
    return cli_session_end(&session, true);
}
