// Formulas of the time t, as users write them: "t < 1 ? 0.3*(1 - t) : 0.1*sin(2*pi*t)".
//
// Compiled once to a postfix program, which is evaluated without memory of its own. From weakest to
// strongest: ?: (from the right), ||, &&, comparisons (1 or 0), + −, * /, unary − and !, ^ (from
// the right; −2^2 is −4, 2^−1 is ½). Of a ?: both sides are computed, and one is taken: the other
// may be NaN.
#ifndef HK_FORMULA_H
#define HK_FORMULA_H

#include "core/base.h"

typedef struct hk_formula hk_formula;

// Messages quote the text and say where: formula "20+*3": column 4: …
hk_status hk_formula_create(const char *text, hk_formula **formula);
hk_status hk_formula_copy(const hk_formula *from, hk_formula **copy);
void hk_formula_free(hk_formula *formula);
// Not finite where the formula is not: 1/t at 0.
double hk_formula_value(const hk_formula *formula, double t);
// As the user wrote it.
const char *hk_formula_text(const hk_formula *formula);
// Whether it does not depend on t.
bool hk_formula_is_constant(const hk_formula *formula);

#endif
