// What commands that find something (a rest shape, materials) do with it alike.
#include <math.h>

#include "cli.h"

hk_status cli_session_show(cli_session *s, hk_model *model, const double *positions)
{
    hk_world_def def = cli_session_world(s);
    def.model = model;
    def.backend = HK_BACKEND_CPU;
    def.solver = hk_default_solver_def();
    hk_status status = hk_world_create(&def, &s->world);
    hk_model_free(model);
    return status == HK_OK ? hk_world_set_positions(s->world, positions) : status;
}

void cli_session_add_solve(cli_session *s, hk_step_report report)
{
    report.rounding = NAN;
    if (hk_world_energy(s->world, &report.energy, NULL) != HK_OK) report.energy.total = NAN;
    cli_results_add(&s->results, &report);
}

void cli_tell_ending(cli_results *results, const cli_ending *e)
{
    const char *colon = e->detail[0] ? ": " : "", *reason = hk_reason_name(e->reason);
    results->interrupted = e->reason == HK_STOPPED;
    if (hk_reason_outcome(e->reason) == HK_OUTCOME_FAILED)
        cli_results_fail(results, "no %s (%s)%s%s", e->what, reason, colon, e->detail);
    else if (results->interrupted)
        cli_note("stopped after %d iterations; %s kept", e->iterations, e->kept);
    else if (e->reason == HK_UNDETERMINED)
        cli_say_error("the target does not tell all parameters: %s", e->detail);
    else if (e->reason != HK_CONVERGED)
        cli_say_error("the %s did not converge (%s)%s%s; what was reached is kept", e->what, reason,
                      colon, e->detail);
    else if (e->detail[0])
        cli_note("%s", e->detail);
}
