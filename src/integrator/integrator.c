#include "integrator/integrator.h"

static const hk_integrator *const g_integrators[] = {
    &hk_backward_euler,
};

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
