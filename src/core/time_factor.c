#include "core/time_factor.h"

#include <math.h>

#include "core/formula.h"

struct hk_time_factor {
    int references;
    hk_formula *formula;  // or NULL
    double *table;        // [count][2] s and value, or NULL
    int64_t count;
    double over;  // s
};

static hk_status take_table(const hk_factor_def *def, hk_time_factor *f)
{
    f->table = HK_ARRAY(double, 2 * (size_t)def->table_count);
    if (!f->table) return HK_NO_MEMORY;
    memcpy(f->table, def->table, 2 * sizeof(double) * (size_t)def->table_count);
    f->count = def->table_count;
    for (int64_t k = 0; k < f->count; k++) {
        if (!isfinite(f->table[2 * k]) || !isfinite(f->table[2 * k + 1]))
            return hk_fail(HK_BAD_INPUT, "entry %lld of the table is not finite", (long long)k);
        if (k > 0 && !(f->table[2 * k] > f->table[2 * k - 2]))
            return hk_fail(HK_BAD_INPUT, "the times of the table must rise (entry %lld: %g s)",
                           (long long)k, f->table[2 * k]);
    }
    return HK_OK;
}

static hk_status take(const hk_factor_def *def, hk_time_factor *f)
{
    if (def->formula && def->table_count > 0)
        return hk_fail(HK_BAD_INPUT, "a function of the time is a formula or a table, not both");
    if (def->table_count < 0 || (def->table_count > 0 && !def->table))
        return hk_fail(HK_BAD_INPUT, "the table of a function of the time is missing");
    if (!(isfinite(def->over) && def->over >= 0))
        return hk_fail(HK_BAD_INPUT, "`over` must be 0 or more (is %g)", def->over);
    f->over = def->over;
    if (def->formula) return hk_formula_create(def->formula, &f->formula);
    return def->table_count > 0 ? take_table(def, f) : HK_OK;
}

hk_status hk_time_factor_create(const hk_factor_def *def, hk_time_factor **factor)
{
    *factor = NULL;
    if (!def->formula && def->table_count == 0 && def->over == 0) return HK_OK;
    hk_time_factor *f = HK_NEW(hk_time_factor);
    if (!f) return HK_NO_MEMORY;
    f->references = 1;
    hk_status status = take(def, f);
    if (status == HK_OK)
        *factor = f;
    else
        hk_time_factor_free(f);
    return status;
}

hk_time_factor *hk_time_factor_retain(hk_time_factor *f)
{
    if (f) __atomic_add_fetch(&f->references, 1, __ATOMIC_RELAXED);
    return f;
}

void hk_time_factor_free(hk_time_factor *f)
{
    if (!f || __atomic_sub_fetch(&f->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    hk_formula_free(f->formula);
    hk_free(f->table);
    hk_free(f);
}

static double interpolate(const hk_time_factor *f, double time)
{
    const double *t = f->table;
    if (!(time > t[0])) return t[1];
    for (int64_t k = 1; k < f->count; k++) {
        if (time > t[2 * k]) continue;
        double part = (time - t[2 * k - 2]) / (t[2 * k] - t[2 * k - 2]);
        return t[2 * k - 1] + part * (t[2 * k + 1] - t[2 * k - 1]);
    }
    return t[2 * f->count - 1];
}

double hk_time_factor_value(const hk_time_factor *f, double time)
{
    if (!f) return 1;
    double ramp = f->over > 0 ? fmin(1, fmax(0, time / f->over)) : 1;
    double value = f->formula ? hk_formula_value(f->formula, time)
                   : f->table ? interpolate(f, time)
                              : 1;
    return isfinite(value) ? ramp * value : 0;
}

hk_status hk_time_factor_check(const hk_time_factor *f, const char *what, double time)
{
    double value = f && f->formula ? hk_formula_value(f->formula, time) : 0;
    if (isfinite(value)) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "%s: its factor \"%.200s\" is %g at t = %g s", what,
                   hk_formula_text(f->formula), value, time);
}

const char *hk_time_factor_formula(const hk_time_factor *f)
{
    return f && f->formula ? hk_formula_text(f->formula) : NULL;
}

const double *hk_time_factor_table(const hk_time_factor *f, int64_t *count)
{
    *count = f ? f->count : 0;
    return f ? f->table : NULL;
}

double hk_time_factor_over(const hk_time_factor *f)
{
    return f ? f->over : 0;
}
