// Numbers that are functions of the time: formulas, tables and ramps (hk_factor_def). Shared by
// those who retain them, and immutable.
#ifndef HK_TIME_FACTOR_H
#define HK_TIME_FACTOR_H

#include "core/base.h"

typedef struct hk_time_factor hk_time_factor;

// *factor is NULL where the definition says nothing.
hk_status hk_time_factor_create(const hk_factor_def *def, hk_time_factor **factor);
hk_time_factor *hk_time_factor_retain(hk_time_factor *factor);  // NULL: NULL
void hk_time_factor_free(hk_time_factor *factor);
// 1 without one; 0 where a formula is not finite, which no step is taken with:
double hk_time_factor_value(const hk_time_factor *factor, double time);
// says so, of `what`.
hk_status hk_time_factor_check(const hk_time_factor *factor, const char *what, double time);
// What it is made of: the text of its formula or its table [count][2], NULL for what it has not;
// s. Without a factor there is nothing.
const char *hk_time_factor_formula(const hk_time_factor *factor);
const double *hk_time_factor_table(const hk_time_factor *factor, int64_t *count);
double hk_time_factor_over(const hk_time_factor *factor);

#endif
