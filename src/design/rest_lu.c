// TwoWay section 4.2: Newton's method with the whole Jacobian and a direct LU factorisation, which
// is used for several iterations; a step is accepted unless it raises the residual too much.
#include <math.h>

#include "design/rest_solver.h"

// By how much a step may raise the residual above the load or above itself: a good first step does.
#define MOST_RISE 1e4
#define SHORTEST  (1.0 / 1024)

typedef struct hk_rest_lu {
    hk_lu *lu;
    int count;              // of unknowns, three for each free vertex
    int32_t *start, *row;   // by columns
    double *values;         // [start[count]]
    double *right, *found;  // [count]
} hk_rest_lu;

void hk_rest_lu_free(hk_rest_lu *l)
{
    if (!l) return;
    hk_lu_free(l->lu);
    hk_free(l->start);
    hk_free(l->row);
    hk_free(l->values);
    hk_free(l->right);
    hk_free(l->found);
    hk_free(l);
}

// ---------------------------------------------------------------- the matrix

// Blocks in each column of the whole matrix, from those below the diagonal.
static void count_blocks(const hk_pattern *p, int32_t *blocks)
{
    for (int b = 0; b < p->count; b++) blocks[b] = 1;
    for (int b = 0; b < p->count; b++)
        for (int64_t k = p->start[b]; k < p->start[b + 1]; k++) {
            blocks[b]++;
            blocks[p->row[k]]++;
        }
}

static hk_status allocate(hk_rest_lu *l, const hk_pattern *p)
{
    int64_t numbers = 9 * ((int64_t)p->count + 2 * p->start[p->count]);
    if (numbers > INT32_MAX) return hk_fail(HK_UNSUPPORTED, "too large for the direct solver");
    l->count = 3 * p->count;
    l->start = HK_ZEROS(int32_t, (size_t)l->count + 1);
    l->row = HK_ARRAY(int32_t, numbers);
    l->values = HK_ARRAY(double, numbers);
    l->right = HK_ARRAY(double, l->count);
    l->found = HK_ARRAY(double, l->count);
    bool complete = l->start && l->row && l->values && l->right && l->found;
    return complete ? HK_OK : HK_NO_MEMORY;
}

// `next` is where a column of blocks goes on, in blocks.
static void add_rows(hk_rest_lu *l, int column, int block_row, int32_t *next)
{
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 3; i++)
            l->row[l->start[3 * column + c] + 3 * next[column] + i] = 3 * block_row + i;
    next[column]++;
}

static void fill_pattern(hk_rest_lu *l, const hk_pattern *p, int32_t *next)
{
    count_blocks(p, next);
    for (int b = 0, at = 0; b < p->count; b++)
        for (int c = 0; c < 3; c++) {
            l->start[3 * b + c] = at;
            at += 3 * next[b];
            l->start[3 * b + c + 1] = at;
        }
    memset(next, 0, sizeof *next * (size_t)p->count);
    // Rows above the diagonal of a column come from the columns before it, in their order.
    for (int b = 0; b < p->count; b++) {
        add_rows(l, b, b, next);
        for (int64_t k = p->start[b]; k < p->start[b + 1]; k++) {
            add_rows(l, b, p->row[k], next);
            add_rows(l, p->row[k], b, next);
        }
    }
}

static hk_status build(hk_rest_lu *l, const hk_pattern *p)
{
    HK_TRY(allocate(l, p));
    int32_t *next = HK_ARRAY(int32_t, p->count);
    if (!next) return HK_NO_MEMORY;
    fill_pattern(l, p, next);
    hk_free(next);
    return hk_lu_create(l->count, l->start, l->row, &l->lu);
}

static hk_status need_lu(hk_rest_solver *s)
{
    if (s->lu) return HK_OK;
    hk_rest_lu *l = HK_NEW(hk_rest_lu);
    if (!l) return HK_NO_MEMORY;
    hk_status status = build(l, &s->precondition->assembly->pattern);
    if (status != HK_OK) {
        hk_rest_lu_free(l);
        return status;
    }
    s->lu = l;
    return HK_OK;
}

typedef struct adder {
    const hk_rest_solver *solver;
    hk_rest_lu *lu;
} adder;

static void add_block(void *context, int32_t a, int32_t b, const double block[9])
{
    const adder *to = context;
    hk_rest_lu *l = to->lu;
    const int32_t *unknown = to->solver->precondition->assembly->unknown;
    int32_t r = unknown[a], c = unknown[b];
    if (r < 0 || c < 0) return;
    int32_t low = l->start[3 * c], high = l->start[3 * c + 1], stride = high - low, first = low;
    while (high - low > 3) {
        int32_t middle = low + (high - low) / 6 * 3;
        if (l->row[middle] <= 3 * r)
            low = middle;
        else
            high = middle;
    }
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            l->values[first + j * stride + (low - first) + i] += block[3 * i + j];
}

static hk_status factor(hk_rest_solver *s, bool *regular)
{
    hk_rest_lu *l = s->lu;
    double clock = hk_now();
    HK_TRY(hk_inverse_linearise(s->inverse, s->now.X, s->settings.components));
    s->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    memset(l->values, 0, sizeof(double) * (size_t)l->start[l->count]);
    hk_inverse_visit(s->inverse, add_block, &(adder){s, l});
    s->phase_s[HK_PHASE_ASSEMBLY] += hk_lap(&clock);
    HK_TRY(hk_lu_factor(l->lu, l->values, regular));
    s->report->factorisations++;
    s->phase_s[HK_PHASE_FACTOR] += hk_lap(&clock);
    return HK_OK;
}

// ---------------------------------------------------------------- iterations

// step = −J⁻¹ force
static hk_status solve(hk_rest_solver *s, const double *force, double *step)
{
    const hk_assembly *a = s->precondition->assembly;
    hk_rest_lu *l = s->lu;
    double clock = hk_now();
    for (int64_t b = 0; b < a->pattern.count; b++)
        for (int i = 0; i < 3; i++) l->right[3 * b + i] = -force[4 * (int64_t)a->vertex[b] + i];
    HK_TRY(hk_lu_solve(l->lu, l->right, l->found));
    memset(step, 0, 4 * sizeof(double) * (size_t)s->inverse->problem->vertex_count);
    for (int64_t b = 0; b < a->pattern.count; b++)
        for (int i = 0; i < 3; i++) step[4 * (int64_t)a->vertex[b] + i] = l->found[3 * b + i];
    s->phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
    return HK_OK;
}

static void move_straight(hk_rest_solver *s, double length)
{
    for (int64_t i = 0; i < 4 * (int64_t)s->inverse->problem->vertex_count; i++)
        s->trial.X[i] = s->now.X[i] + length * s->step[i];
}

static bool accept(hk_rest_solver *s)
{
    double most = MOST_RISE * fmax(s->now.residual, s->inverse->scale);
    for (double length = 1; length >= SHORTEST; length *= 0.5) {
        move_straight(s, length);
        s->step_length = length;
        if (!hk_rest_evaluate(s, &s->trial) || s->trial.residual > most) continue;
        hk_rest_take_trial(s);
        return true;
    }
    return false;
}

hk_status hk_rest_lu_step(hk_rest_solver *s, bool *regular)
{
    double clock = hk_now();
    HK_TRY(need_lu(s));
    s->phase_s[HK_PHASE_ASSEMBLY] += hk_lap(&clock);
    HK_TRY(factor(s, regular));
    return *regular ? solve(s, s->now.force, s->step) : HK_OK;
}

// Deuflhard's natural monotonicity test: with the same factor, what is left of the way to the
// answer must be less than the step that was made for it.
hk_status hk_rest_lu_advance(hk_rest_solver *s, double shortest, bool *advanced)
{
    double whole = hk_inverse_norm(s->inverse, s->step), length = 1;
    *advanced = false;
    while (length >= shortest && hk_rest_go_on(s)) {
        if (!hk_rest_try(s, &length)) return HK_OK;
        if (s->trial.sound) {
            HK_TRY(solve(s, s->trial.force, s->right));
            *advanced = hk_inverse_norm(s->inverse, s->right) <= (1 - length / 4) * whole;
        }
        if (*advanced) {
            hk_rest_take_trial(s);
            return HK_OK;
        }
        length *= 0.5;
    }
    return HK_OK;
}

hk_status hk_rest_newton_lu(hk_rest_solver *s, hk_rest_end *end)
{
    int reuse = hk_max_int(s->settings.reuse, 1);
    double clock = hk_now();
    HK_TRY(need_lu(s));
    s->phase_s[HK_PHASE_ASSEMBLY] += hk_lap(&clock);
    for (int k = 0; k < s->settings.iterations; k++) {
        if (hk_rest_converged(s, s->settings.tolerance)) {
            *end = HK_REST_DONE;
            return HK_OK;
        }
        bool regular = true;
        if (k % reuse == 0) HK_TRY(factor(s, &regular));
        *end = HK_REST_STUCK;
        if (!regular) return HK_OK;
        HK_TRY(solve(s, s->now.force, s->step));
        if (!accept(s)) return HK_OK;
        *end = HK_REST_STOPPED;
        if (!hk_rest_tell(s, 0)) return HK_OK;
    }
    *end = hk_rest_converged(s, s->settings.tolerance) ? HK_REST_DONE : HK_REST_SPENT;
    return HK_OK;
}
