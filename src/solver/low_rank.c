#include "solver/low_rank.h"

#include <math.h>

#include "math/dense.h"

bool hk_low_rank_is_current(const hk_low_rank *r, const hk_problem *p)
{
    const hk_live *live = p->terms->live;
    int64_t version = live ? live->shape_version : 0;
    return version == 0 ? r->count == 0 : r->known && r->version == version;
}

void hk_low_rank_forget(hk_low_rank *r)
{
    r->known = false;
}

void hk_low_rank_release(hk_low_rank *r)
{
    hk_free(r->parts);
    hk_free(r->solved);
    hk_free(r->small);
    hk_free(r->coupling);
    *r = (hk_low_rank){0};
}

typedef struct lister {
    hk_low_rank *to;
    const int32_t *row;
    hk_status status;
} lister;

static void list_part(void *context, const hk_weights *w)
{
    lister *l = context;
    hk_low_rank *r = l->to;
    hk_rank_one part = {.scale = w->scale};
    for (int k = 0; k < w->count; k++) {
        if (l->row[w->vertex[k]] < 0) continue;
        part.row[part.count] = l->row[w->vertex[k]];
        part.factor[part.count++] = w->factor[k];
    }
    if (part.count == 0 || !(part.scale > 0)) return;
    if (l->status == HK_OK)
        l->status = hk_reserve((void **)&r->parts, (size_t)r->count, sizeof part, &r->room,
                               (size_t)r->count + 1);
    if (l->status == HK_OK) r->parts[r->count++] = part;
}

static double product(const hk_rank_one *part, const double *column)
{
    double sum = 0;
    for (int k = 0; k < part->count; k++) sum += part->factor[k] * column[part->row[k]];
    return sum;
}

// Three columns of Z at a time, for a solve takes three right-hand sides.
static hk_status solve_columns(hk_low_rank *r, hk_low_rank_solve_fn *solve, void *context)
{
    double *b = HK_ZEROS(double, 4 * (size_t)r->size), *x = HK_ZEROS(double, 4 * (size_t)r->size);
    hk_status status = b && x ? HK_OK : HK_NO_MEMORY;
    for (int first = 0; first < r->count && status == HK_OK; first += 3) {
        int columns = hk_min_int(3, r->count - first);
        memset(b, 0, 4 * sizeof(double) * (size_t)r->size);
        memset(x, 0, 4 * sizeof(double) * (size_t)r->size);
        for (int c = 0; c < columns; c++)
            for (int k = 0; k < r->parts[first + c].count; k++)
                b[4 * (int64_t)r->parts[first + c].row[k] + c] = r->parts[first + c].factor[k];
        status = solve(context, b, x);
        for (int c = 0; c < columns && status == HK_OK; c++)
            for (int64_t k = 0; k < r->size; k++)
                r->solved[(first + c) * r->size + k] = x[4 * k + c];
    }
    hk_free(b);
    hk_free(x);
    return status;
}

// It is positive, but for rounding: entries of Z of stiff parts may be larger than 1/scale by many
// orders.
static bool factor_small(hk_low_rank *r)
{
    int n = r->count;
    double *a = r->small;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[n * i + j] = product(&r->parts[i], r->solved + j * r->size) +
                           (i == j ? 1 / r->parts[i].scale : 0);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) a[n * i + j] = 0.5 * (a[n * i + j] + a[n * j + i]);
        a[(n + 1) * i] *= 1 + 1e-12;
    }
    return hk_dense_factor(a, n);
}

hk_status hk_low_rank_update(hk_low_rank *r, const hk_problem *p, const int32_t *row, int64_t size,
                             hk_low_rank_solve_fn *solve, void *context)
{
    lister l = {r, row, HK_OK};
    r->known = false;
    r->count = 0;
    r->size = size;
    hk_terms_visit_weights(p->terms, list_part, &l);
    HK_TRY(l.status);
    size_t n = (size_t)r->count;
    hk_free(r->solved);
    hk_free(r->small);
    hk_free(r->coupling);
    r->solved = HK_ARRAY(double, n *(size_t)size);
    r->small = HK_ARRAY(double, n *n);
    r->coupling = HK_ARRAY(double, n);
    if (!r->solved || !r->small || !r->coupling) {
        r->count = 0;
        return HK_NO_MEMORY;
    }
    hk_status status = solve_columns(r, solve, context);
    if (status == HK_OK && !factor_small(r))
        status = hk_fail(HK_INTERNAL, "the grabs make a matrix singular");
    if (status != HK_OK) {
        r->count = 0;
        return status;
    }
    r->version = p->terms->live ? p->terms->live->shape_version : 0;
    r->known = true;
    return HK_OK;
}

// coupling = (S⁻¹ + Fᵀ Z)⁻¹ Fᵀ x for one of the three numbers of every row, of a vector of either
// precision.
static void couple(hk_low_rank *r, const double *x, const float *single, int number)
{
    for (int k = 0; k < r->count; k++) {
        const hk_rank_one *part = &r->parts[k];
        r->coupling[k] = 0;
        for (int i = 0; i < part->count; i++) {
            int64_t at = 4 * (int64_t)part->row[i] + number;
            r->coupling[k] += part->factor[i] * (x ? x[at] : (double)single[at]);
        }
    }
    hk_dense_solve(r->small, r->count, r->coupling);
}

void hk_low_rank_correct(hk_low_rank *r, double *x)
{
    for (int c = 0; c < 3 && r->count > 0; c++) {
        couple(r, x, NULL, c);
        for (int k = 0; k < r->count; k++)
            for (int64_t i = 0; i < r->size; i++)
                x[4 * i + c] -= r->coupling[k] * r->solved[k * r->size + i];
    }
}

void hk_low_rank_correct_single(hk_low_rank *r, float *x)
{
    for (int c = 0; c < 3 && r->count > 0; c++) {
        couple(r, NULL, x, c);
        for (int k = 0; k < r->count; k++)
            for (int64_t i = 0; i < r->size; i++)
                x[4 * i + c] -= (float)(r->coupling[k] * r->solved[k * r->size + i]);
    }
}
