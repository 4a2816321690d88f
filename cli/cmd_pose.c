// hooke pose: finds where a scene comes to rest.
#include <stdlib.h>

#include "cli.h"

static const char purpose[] =
    "Finds the equilibrium of the scene under gravity, its loads and the full \"move\",\n"
    "in as many load steps as it takes, and writes the state found. \"time\" plays no\n"
    "part. Exit status 1 if the tolerance was not reached.";

static const char examples[] =
    "hooke pose scenes/beam.json --points rest.csv\n"
    "hooke pose scenes/beam.json --set bodies.0.material.young=1e5 --json\n"
    "hooke pose scenes/beam.json --set solver.tolerance=1e-10 --set output.vtu=beam.pvd\n"
    "hooke pose scenes/beam.json --checkpoint sagged.hks";

typedef struct watch {
    cli_progress *progress;
    int iterations;  // over all load steps
} watch;

static bool watch_iteration(void *context, const hk_iteration *iteration)
{
    watch *seen = context;
    cli_progress_pose(seen->progress, ++seen->iterations, iteration);
    return !cli_interrupted();
}

static void find_pose(cli_session *session)
{
    cli_results *results = &session->results;
    watch seen = {.progress = &session->progress};
    hk_step_report report;
    hk_world_set_monitor(session->world, watch_iteration, &seen);
    hk_status status = hk_world_pose(session->world, &report);
    hk_world_set_monitor(session->world, NULL, NULL);
    cli_progress_end(&session->progress);
    if (status != HK_OK) {
        cli_results_fail(results, "%s", hk_error());
        return;
    }
    cli_results_add(results, &report);
    cli_results_add_contact(results, session->world);
    results->steps = report.load_steps;
    results->interrupted = report.reason == HK_STOPPED;
    const char *colon = report.detail[0] ? ": " : "";
    if (hk_reason_outcome(report.reason) == HK_OUTCOME_FAILED)
        cli_results_fail(results, "no pose (%s)%s%s", hk_reason_name(report.reason), colon,
                         report.detail);
    else if (results->interrupted)
        cli_note("stopped after %d iterations; the best state so far is kept", report.iterations);
    else if (report.reason != HK_CONVERGED)
        cli_say_error("the pose did not converge (%s)%s%s; the state that was reached is kept",
                      hk_reason_name(report.reason), colon, report.detail);
}

// For "initial": {"state": …} of another scene; what was not found is not saved.
static void save_state(cli_session *session)
{
    char **path = &session->outputs[0];
    if (!*path) return;
    bool found = session->results.outcome != HK_OUTCOME_FAILED;
    if (found && hk_world_save_state(session->world, *path) == HK_OK) return;
    if (found) cli_results_fail(&session->results, "%s", hk_error());
    free(*path);
    *path = NULL;
}

int cmd_pose(int argc, char **argv)
{
    cli_session session;
    const char *checkpoint = NULL;
    const cli_option option = {"checkpoint", 0,          CLI_TEXT,
                               &checkpoint,  "FILE.hks", "save the state found"};
    const cli_more more = {.options = &option, .option_count = 1, .outputs = {&checkpoint}};
    int result = cli_session_begin_with(&session, "pose", purpose, examples, &more, argc, argv);
    if (result >= 0) return result;
    session.tells_state = true;
    char why[512];
    if (!cli_engineering_begin(&session.engineering, session.world, session.scene, why,
                               sizeof why)) {
        cli_session_drop(&session);
        return cli_failure("%s", why);
    }
    cli_catch_interrupts();
    cli_progress_begin(&session.progress, 0);
    find_pose(&session);
    cli_engineering_add(&session.engineering, session.world, session.scene);
    // Also after a failure: the last good state shows how far the pose got.
    cli_frames *frames = &session.frames;
    if (cli_frames_lack(frames, hk_world_time(session.world)) &&
        cli_frames_write(frames, session.world) != HK_OK)
        cli_results_fail(&session.results, "%s", hk_error());
    save_state(&session);
    return cli_session_end(&session, false);
}
