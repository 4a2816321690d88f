// A law that is none, for bodies whose energy is in a term of the user's own.
#include <string.h>

#include "hooke/hooke.h"

static double energy(void *context, const double F[9])
{
    (void)context, (void)F;
    return 0;
}

static void stress(void *context, const double F[9], double P[9])
{
    (void)context, (void)F;
    memset(P, 0, 9 * sizeof(double));
}

static void hessian(void *context, const double F[9], double H[81])
{
    (void)context, (void)F;
    memset(H, 0, 81 * sizeof(double));
}

void hk_fill_empty_law(hk_custom_law *law)
{
    if (law) *law = (hk_custom_law){.energy = energy, .stress = stress, .hessian = hessian};
}
