#include "integrator/integrator.h"

#include <math.h>

#define HK_INTEGRATOR_ENTRY(name) &hk_##name,
static const hk_integrator *const g_integrators[] = {HK_INTEGRATORS(HK_INTEGRATOR_ENTRY)};
#undef HK_INTEGRATOR_ENTRY

hk_status hk_integrator_find(const char *name, const hk_integrator **integrator)
{
    char known[256] = "";
    for (int k = 0; k < HK_COUNT_OF(g_integrators); k++) {
        if (name && strcmp(name, g_integrators[k]->name) == 0) {
            *integrator = g_integrators[k];
            return HK_OK;
        }
        if (k) strncat(known, ", ", sizeof known - strlen(known) - 1);
        strncat(known, g_integrators[k]->name, sizeof known - strlen(known) - 1);
    }
    return hk_fail(HK_BAD_INPUT, "unknown integrator \"%s\" (known: %s)", name ? name : "(null)",
                   known);
}

int hk_integrator_count(void)
{
    return HK_COUNT_OF(g_integrators);
}

const char *hk_integrator_name(int integrator)
{
    return integrator >= 0 && integrator < hk_integrator_count() ? g_integrators[integrator]->name
                                                                 : NULL;
}

const char *hk_integrator_summary(int integrator)
{
    return integrator >= 0 && integrator < hk_integrator_count()
               ? g_integrators[integrator]->summary
               : NULL;
}

// Unconditionally stable, for linear problems, where 2β ≥ γ ≥ ½.
hk_status hk_integrator_check(const hk_integrator *integrator, double beta, double gamma)
{
    if (!integrator->parameters) return HK_OK;
    if (!(isfinite(beta) && beta > 0 && beta <= 1))
        return hk_fail(HK_BAD_INPUT,
                       "integrator %s: beta must be greater than 0 and at most 1 (is %g)",
                       integrator->name, beta);
    if (!(isfinite(gamma) && gamma > 0 && gamma <= 1))
        return hk_fail(HK_BAD_INPUT,
                       "integrator %s: gamma must be greater than 0 and at most 1 (is %g)",
                       integrator->name, gamma);
    if (gamma < 0.5 || 2 * beta < gamma)
        hk_log(HK_LOG_WARNING,
               "integrator %s: with beta %g and gamma %g it is not stable for every time step "
               "(2 beta >= gamma >= 0.5 is)",
               integrator->name, beta, gamma);
    return HK_OK;
}

int hk_stage_plain(const double coefficient[HK_KNOWN_COUNT])
{
    int plain = -1;
    for (int k = 0; k < HK_KNOWN_COUNT; k++) {
        if (coefficient[k] == 0) continue;
        if (coefficient[k] != 1 || plain >= 0) return -1;
        plain = k;
    }
    return plain;
}

void hk_stage_combine(const double coefficient[HK_KNOWN_COUNT],
                      const double *const known[HK_KNOWN_COUNT], int64_t size, double *to)
{
    bool first = true;
    for (int k = 0; k < HK_KNOWN_COUNT; k++) {
        const double c = coefficient[k], *from = known[k];
        if (c == 0) continue;
        if (first)
            for (int64_t i = 0; i < size; i++) to[i] = c * from[i];
        else
            for (int64_t i = 0; i < size; i++) to[i] += c * from[i];
        first = false;
    }
}
