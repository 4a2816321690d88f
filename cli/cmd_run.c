// hooke run: marches a scene through time and writes its frames.
#include <math.h>
#include <stdlib.h>

#include "cli.h"

static const char purpose[] =
    "Marches the scene through time, step by step, and writes what its \"output\" asks\n"
    "for: a frame at the start, one every \"every\" seconds, and the last state. Ctrl-C\n"
    "stops after the running step; what was written by then is valid.\n"
    "Steps that end at the iteration limit or at the limit of precision are counted and\n"
    "told, and leave exit status 0.\n"
    "With --checkpoint a run that was killed goes on with --resume, to the same bits as\n"
    "one that was not; frames and stats are continued. --every is in seconds of the\n"
    "simulation; without it checkpoints come as often as costs a twentieth of the time.";

static const char examples[] =
    "hooke run scenes/beam.json\n"
    "hooke run scenes/beam.json --set time.step=0.005 --set solver.tolerance=1e-6\n"
    "hooke run scenes/beam.json --out /tmp/beam --points final.csv --json\n"
    "hooke run scenes/beam.json --set solver.method=descent --backend auto\n"
    "hooke run scenes/beam.json --checkpoint beam.hks --every 0.1\n"
    "hooke run scenes/beam.json --resume beam.hks --checkpoint beam.hks";

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

static void march(cli_session *session, cli_checkpoint *checkpoint)
{
    int steps = hk_scene_steps(session->scene);
    cli_frames *frames = &session->frames;
    bool disk_is_fine = true;
    if (!session->resumed)
        cli_engineering_add(&session->engineering, session->world, session->scene);
    if (cli_frames_due(frames, hk_world_time(session->world))) disk_is_fine = write_frame(session);
    for (int step = session->results.steps + 1; step <= steps && disk_is_fine; ++step) {
        if (cli_interrupted()) {
            session->results.interrupted = true;
            cli_note("stopped before step %d of %d; what is written is valid", step, steps);
            break;
        }
        if (!take_step(session, step)) break;
        cli_engineering_add(&session->engineering, session->world, session->scene);
        double time = hk_world_time(session->world);
        cli_progress_step(&session->progress, step, time);
        if (cli_frames_due(frames, time)) disk_is_fine = write_frame(session);
        if (disk_is_fine) cli_checkpoint_step(checkpoint, session);
    }
    // Before the last state is written out of turn: a run that is made longer has no such frame.
    bool failed = session->results.outcome == HK_OUTCOME_FAILED;
    if (disk_is_fine && !failed) cli_checkpoint_now(checkpoint, session);
    if (disk_is_fine && cli_frames_lack(frames, hk_world_time(session->world)))
        write_frame(session);
}

static void note_unconverged(const cli_results *results)
{
    // Methods that do not measure it have none.
    if (results->limited > 0 && !(results->worst_relative > 0))
        cli_note("%d of %d steps stopped at the iteration limit", results->limited, results->count);
    else if (results->limited > 0)
        cli_note("%d of %d steps stopped at the iteration limit; largest relative residual %.1e",
                 results->limited, results->count, results->worst_relative);
    if (results->stalled > 0)
        cli_note("%d of %d steps stalled; largest relative residual %.1e", results->stalled,
                 results->count, results->worst_relative);
    if (results->imprecise > 0)
        cli_note("%d of %d steps ended at the limit of precision; largest relative residual %.1e",
                 results->imprecise, results->count, results->worst_relative);
}

typedef struct run_args {
    const char *checkpoint, *resume;
    double every;  // NAN: not given
} run_args;

static int check_arguments(const void *context)
{
    const run_args *args = context;
    if (isnan(args->every)) return -1;
    if (!args->checkpoint)
        return cli_usage_error("run", "'--every' is for checkpoints: add --checkpoint FILE.hks");
    if (!(args->every > 0))
        return cli_usage_error("run", "'--every %g': expected seconds, more than 0", args->every);
    return -1;
}

int cmd_run(int argc, char **argv)
{
    cli_session session;
    run_args args = {.every = NAN};
    const cli_option options[] = {
        {"checkpoint", 0, CLI_TEXT, &args.checkpoint, "FILE.hks", "save the state now and then"},
        {"every", 0, CLI_REAL, &args.every, "S", "seconds of the simulation between checkpoints"},
        {"resume", 0, CLI_TEXT, &args.resume, "FILE.hks", "go on from a checkpoint"},
    };
    const cli_more more = {.options = options,
                           .option_count = sizeof options / sizeof options[0],
                           .outputs = {&args.checkpoint},
                           .check = check_arguments,
                           .context = &args};
    int result = cli_session_begin_with(&session, "run", purpose, examples, &more, argc, argv);
    if (result >= 0) return result;
    if (args.resume) result = cli_checkpoint_resume(&session, args.resume);
    if (result >= 0) {
        cli_session_drop(&session);
        return result;
    }
    session.tells_state = true;
    char why[512];
    if (!cli_engineering_begin(&session.engineering, session.world, session.scene, why,
                               sizeof why)) {
        cli_session_drop(&session);
        return cli_failure("%s", why);
    }
    cli_catch_interrupts();
    // Energies of every step go into the history and nowhere else; some methods do not need them.
    hk_world_report_energy(session.world, session.stats != NULL);
    cli_progress_begin(&session.progress, hk_scene_steps(session.scene));
    cli_checkpoint checkpoint = {
        .path = session.outputs[0], .every = isnan(args.every) ? 0 : args.every, .written = NAN};
    cli_checkpoint_begin(&checkpoint, hk_world_time(session.world));
    march(&session, &checkpoint);
    cli_progress_end(&session.progress);
    if (isnan(checkpoint.written)) {  // there is none to tell of
        free(session.outputs[0]);
        session.outputs[0] = NULL;
    }
    note_unconverged(&session.results);
    return cli_session_end(&session, true);
}
