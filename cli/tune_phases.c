// Lists of phases: from the options of a solver, to text and back.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune.h"

double tune_option(const hk_solver_def *solver, const char *name)
{
    for (int i = 0; i < solver->option_count; ++i)
        if (strcmp(solver->options[i].name, name) == 0 && !solver->options[i].text)
            return solver->options[i].number;
    for (int m = 0; m < hk_method_count(); ++m)
        for (int i = 0; i < hk_method_option_count(m); ++i) {
            const hk_option_info *info = hk_method_option(m, i);
            if (strcmp(hk_method_name(m), "descent") == 0 && strcmp(info->name, name) == 0)
                return info->fallback;
        }
    return NAN;
}

tune_phases tune_phases_of(const hk_solver_def *solver)
{
    tune_phases phases = {.count = TUNE_MOST_PHASES};
    for (int i = 0; i < TUNE_MOST_PHASES; ++i) {
        char name[16];
        snprintf(name, sizeof name, "length%d", i + 1);
        phases.length[i] = (int)lround(tune_option(solver, name));
        snprintf(name, sizeof name, "rho%d", i + 1);
        phases.rho[i] = tune_option(solver, name);
    }
    return phases;
}

tune_phases tune_phases_fit(const tune_phases *phases, int iterations)
{
    tune_phases fit = {0};
    int left = iterations;
    for (int i = 0; i < phases->count && left > 0; ++i) {
        if (phases->length[i] == 0) continue;
        int length = phases->length[i] < left ? phases->length[i] : left;
        fit.length[fit.count] = length;
        fit.rho[fit.count++] = phases->rho[i];
        left -= length;
    }
    // The last phase goes on to the end; without any there is no acceleration.
    if (fit.count == 0) fit.count = 1;
    fit.length[fit.count - 1] += left;
    return fit;
}

bool tune_phases_equal(const tune_phases *a, const tune_phases *b)
{
    if (a->count != b->count) return false;
    for (int i = 0; i < a->count; ++i)
        if (a->length[i] != b->length[i] || a->rho[i] != b->rho[i]) return false;
    return true;
}

double tune_rate(double gap)
{
    // Seven decimals hold three digits of the smallest gap; what is tried is then what is written.
    enum { DECIMALS = 7 };
    const double least = 2e-5;
    char text[32];
    snprintf(text, sizeof text, "%.2e", fmin(fmax(gap, least), 1));
    snprintf(text, sizeof text, "%.*f", DECIMALS, 1 - strtod(text, NULL));
    return strtod(text, NULL);
}

char *tune_phases_text(const tune_phases *phases)
{
    char *text = cli_format("[");
    for (int i = 0; i < phases->count; ++i) {
        char rho[32];
        // As short as reads back to the same number.
        for (int digits = 1; digits <= 17; ++digits) {
            snprintf(rho, sizeof rho, "%.*g", digits, phases->rho[i]);
            if (strtod(rho, NULL) == phases->rho[i]) break;
        }
        char *more = cli_format("%s%s[%d, %s]", text, i > 0 ? ", " : "", phases->length[i], rho);
        free(text);
        text = more;
    }
    char *whole = cli_format("%s]", text);
    free(text);
    return whole;
}

json_t *tune_phases_json(const tune_phases *phases)
{
    json_t *array = json_array();
    for (int i = 0; i < phases->count; ++i)
        json_array_append_new(
            array, json_pack("[i, o]", phases->length[i], cli_json_real(phases->rho[i])));
    return array;
}
