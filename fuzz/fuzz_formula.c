// Any text as a formula of t: a program or a message that says where, never a crash; the same
// values again from a copy.
#include <stdlib.h>
#include <string.h>

#include "core/formula.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_values(const hk_formula *formula)
{
    static const double times[] = {0, 0.5, 1, -3, 1e300, 1e-300};
    hk_formula *copy = NULL;
    if (hk_formula_copy(formula, &copy) != HK_OK) abort();
    for (int k = 0; k < HK_COUNT_OF(times); k++) {
        double a = hk_formula_value(formula, times[k]), b = hk_formula_value(copy, times[k]);
        if (!(a == b || (a != a && b != b))) abort();
    }
    hk_formula_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    hk_formula *formula = NULL;
    hk_status status = hk_formula_create(text, &formula);
    if ((status == HK_OK) != (formula != NULL)) abort();
    if (status == HK_OK)
        check_values(formula);
    else if (!strstr(hk_error(), "formula"))
        abort();
    hk_formula_free(formula);
    free(text);
    return 0;
}
