#include "solver/linear_step.h"

#include "solver/line_search.h"

// ---------------------------------------------------------------- creation

static void release_pattern(hk_linear_step *s)
{
    hk_assembly_free(s->assembly);
    hk_block_sparse_free(s->matrix);
    hk_krylov_free(s->krylov);
    hk_lu_free(s->lu);
    void *const arrays[] = {s->lower,        s->blocks,        s->right,
                            s->solution,     s->column_start,  s->row,
                            s->column_value, s->column_source, s->flat};
    for (int k = 0; k < HK_COUNT_OF(arrays); k++) hk_free(arrays[k]);
}

void hk_linear_step_release(hk_linear_step *s)
{
    release_pattern(s);
    hk_free(s->weight);
    hk_free(s->touching);
    hk_free(s->coupling);
    hk_free(s->held_step);
    *s = (hk_linear_step){0};
}

// The matrix by columns of numbers. Its pattern is symmetric: the blocks of row c are those of
// column c, and their mates have the numbers.
static void list_columns(hk_linear_step *s)
{
    const hk_block_sparse *m = s->matrix;
    int32_t at = 0;
    for (int c = 0; c < m->rows; c++)
        for (int j = 0; j < 3; j++) {
            s->column_start[3 * c + j] = at;
            for (int64_t k = m->start[c]; k < m->start[c + 1]; k++)
                for (int i = 0; i < 3; i++) {
                    s->row[at] = 3 * m->column[k] + i;
                    s->column_source[at++] = hk_block_sparse_at(m->mate[k], i, j);
                }
        }
    s->column_start[3 * m->rows] = at;
}

static hk_status make_direct(hk_linear_step *s)
{
    size_t rows = (size_t)s->matrix->rows, numbers = 9 * (size_t)s->matrix->start[rows];
    if (numbers > INT32_MAX)
        return hk_fail(HK_UNSUPPORTED, "the matrix is too large for \"linear\": \"direct\"");
    s->column_start = HK_ARRAY(int32_t, 3 * rows + 1);
    s->row = HK_ARRAY(int32_t, numbers);
    s->column_value = HK_ARRAY(double, numbers);
    s->column_source = HK_ARRAY(int64_t, numbers);
    s->flat = HK_ARRAY(double, 6 * rows);
    if (!s->column_start || !s->row || !s->column_value || !s->column_source || !s->flat)
        return HK_NO_MEMORY;
    list_columns(s);
    return hk_lu_create(3 * (int)rows, s->column_start, s->row, &s->lu);
}

static hk_status make_pattern(hk_linear_step *s)
{
    hk_problem *p = s->problem;
    HK_TRY(s->def.direct ? hk_assembly_create(p->terms, p->held, &s->assembly)
                         : hk_assembly_create_unordered(p->terms, p->held, &s->assembly));
    s->blocks = HK_ZEROS(double, hk_terms_block_size(p->terms));
    s->lower = HK_ZEROS(double, hk_pattern_size(&s->assembly->pattern));
    HK_TRY(hk_block_sparse_create(&s->assembly->pattern, p->threads, &s->matrix));
    size_t size = 4 * (size_t)s->matrix->rows;
    s->right = HK_ZEROS(double, size);
    s->solution = HK_ZEROS(double, size);
    if (!s->blocks || !s->lower || !s->right || !s->solution) return HK_NO_MEMORY;
    if (s->def.direct) return make_direct(s);
    return hk_krylov_create(s->def.krylov, (int64_t)size, s->matrix->threads, &s->krylov);
}

hk_status hk_linear_step_init(hk_problem *problem, const hk_linear_step_def *def, hk_linear_step *s)
{
    *s = (hk_linear_step){.problem = problem, .def = *def};
    if (def->direct && !hk_lu_available())
        return hk_fail(HK_UNSUPPORTED, "this build of the library has no direct solver for "
                                       "\"linear\": \"direct\"");
    s->weight = HK_ZEROS(double, problem->vertex_count);
    s->touching = HK_ZEROS(double, 9 * (size_t)problem->vertex_count);
    s->coupling = HK_ZEROS(double, 4 * (size_t)problem->vertex_count);
    s->held_step = HK_ZEROS(double, 4 * (size_t)problem->vertex_count);
    if (!s->weight || !s->touching || !s->coupling || !s->held_step) return HK_NO_MEMORY;
    return make_pattern(s);
}

// For elements that came and join what nothing joined before.
static hk_status renew_pattern(hk_linear_step *s)
{
    hk_linear_step made = {.problem = s->problem, .def = s->def};
    hk_status status = make_pattern(&made);
    if (status != HK_OK) {
        release_pattern(&made);
        return status;
    }
    release_pattern(s);
    made.weight = s->weight;
    made.touching = s->touching;
    made.coupling = s->coupling;
    made.held_step = s->held_step;
    made.h = s->h;
    *s = made;
    return HK_OK;
}

// ---------------------------------------------------------------- the matrix

typedef struct taking {
    hk_linear_step *step;
    double *force;
} taking;

static void take_force(void *context, const hk_vertex_force *f)
{
    const taking *t = context;
    hk_linear_step *s = t->step;
    double *to = s->touching + 9 * (int64_t)f->vertex;
    for (int i = 0; i < 3; i++) t->force[4 * (int64_t)f->vertex + i] += f->force[i];
    for (int i = 0; i < 9; i++) to[i] -= f->by_place[i] + f->by_velocity[i] / s->h;
}

// To the diagonal of the matrix.
static void add_touching(hk_linear_step *s)
{
    for (int64_t r = 0; r < s->matrix->rows; r++) {
        const double *from = s->touching + 9 * (int64_t)s->assembly->vertex[r];
        double *to = s->matrix->value + 9 * s->matrix->diagonal[r];
        for (int i = 0; i < 9; i++) to[i] += from[3 * (i % 3) + i / 3];
    }
}

// Coordinates that stay have no part in what touches.
static void hold_axes(hk_linear_step *s, double *force)
{
    const hk_problem *p = s->problem;
    hk_problem_mask(p, force);
    for (int64_t k = 0; p->axes && k < 9 * (int64_t)p->vertex_count; k++)
        if (p->axes[k / 9] >> (k % 9 / 3) & 1 || p->axes[k / 9] >> k % 3 & 1) s->touching[k] = 0;
}

void hk_linear_step_touch(hk_linear_step *s, const double *x, const double *ahead, double *force)
{
    hk_block_sparse_set(s->matrix, &s->assembly->pattern, s->lower);
    memset(s->touching, 0, 9 * sizeof(double) * (size_t)s->problem->vertex_count);
    taking t = {s, force};
    hk_terms_visit_forces(s->problem->terms, x, ahead, take_force, &t);
    hold_axes(s, force);
    add_touching(s);
    if (s->def.preconditioned && !s->def.direct) hk_block_sparse_invert_diagonal(s->matrix);
}

// Σ of the blocks into `lower`; false: an element of the world has no place in the pattern.
static bool assemble(hk_linear_step *s, const double *x)
{
    hk_problem *p = s->problem;
    int64_t size = hk_terms_block_size(p->terms);
    double damped = 1 + s->def.beta / s->h;
    hk_terms_blocks(p->terms, x, 1, HK_FOR_HESSIAN, s->blocks);
    for (int64_t k = 0; k < size && damped != 1; k++) s->blocks[k] *= damped;
    hk_terms_amend_blocks(p->terms, s->blocks);
    for (int k = 0; k < p->vertex_count; k++)
        s->weight[k] = p->inertia[k] + (p->held[k] ? 0 : s->def.alpha * p->mass[k] / s->h);
    hk_assemble(s->assembly, s->blocks, s->weight, s->lower);
    bool complete = hk_assemble_live(s->assembly, p->terms, x, 1, s->lower);
    hk_assembly_hold_axes(s->assembly, p->axes, s->lower);
    return complete;
}

hk_status hk_linear_step_set(hk_linear_step *s, double h, const double *x, double *force,
                             double *phase_s)
{
    double clock = hk_now();
    s->h = h;
    if (!assemble(s, x)) {
        HK_TRY(renew_pattern(s));
        if (!assemble(s, x))
            return hk_fail(HK_INTERNAL, "an element of the world has no place in the matrix");
    }
    hk_linear_step_touch(s, x, NULL, force);
    phase_s[HK_PHASE_ASSEMBLY] += hk_lap(&clock);
    return HK_OK;
}

// ---------------------------------------------------------------- solves

static hk_status solve_directly(hk_linear_step *s, hk_krylov_report *report)
{
    const hk_block_sparse *m = s->matrix;
    double *b = s->flat, *x = s->flat + 3 * (int64_t)m->rows;
    bool regular;
    for (int32_t k = 0; k < s->column_start[3 * m->rows]; k++)
        s->column_value[k] = m->value[s->column_source[k]];
    *report = (hk_krylov_report){.reason = HK_KRYLOV_BREAKDOWN, .iterations = 1};
    HK_TRY(hk_lu_factor(s->lu, s->column_value, &regular));
    if (!regular) return HK_OK;
    for (int64_t k = 0; k < 3 * (int64_t)m->rows; k++) b[k] = s->right[4 * (k / 3) + k % 3];
    HK_TRY(hk_lu_solve(s->lu, b, x));
    for (int64_t k = 0; k < 3 * (int64_t)m->rows; k++) s->solution[4 * (k / 3) + k % 3] = x[k];
    report->reason = HK_KRYLOV_CONVERGED;
    return HK_OK;
}

// What held vertices that move do to the free ones: A_fc Δ_c,
static bool held_ones_move(const hk_linear_step *s, const double *delta)
{
    const hk_problem *p = s->problem;
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++)
        if (p->held[k / 4] && delta[k] != 0) return true;
    return false;
}

// … in s->coupling; 0 where none moves.
static void couple(hk_linear_step *s, const double *x, const double *delta)
{
    const hk_problem *p = s->problem;
    size_t bytes = 4 * sizeof(double) * (size_t)p->vertex_count;
    memset(s->coupling, 0, bytes);
    s->coupled = held_ones_move(s, delta);
    if (!s->coupled) return;
    memcpy(s->held_step, delta, bytes);
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++)
        if (!p->held[k / 4]) s->held_step[k] = 0;
    hk_terms_add_product(p->terms, s->blocks, s->held_step, s->coupling);
    hk_terms_add_live_product(p->terms, x, 1, s->held_step, s->coupling);
}

static void gather(const hk_linear_step *s, const double *from, double *to)
{
    for (int64_t r = 0; r < s->matrix->rows; r++)
        for (int64_t i = 0; i < 3; i++)
            to[4 * r + i] = from[4 * (int64_t)s->assembly->vertex[r] + i];
}

static void scatter(const hk_linear_step *s, const double *from, double *to)
{
    for (int64_t r = 0; r < s->matrix->rows; r++)
        for (int64_t i = 0; i < 3; i++)
            to[4 * (int64_t)s->assembly->vertex[r] + i] = from[4 * r + i];
}

hk_status hk_linear_step_solve(hk_linear_step *s, const double *x, const double *force,
                               const hk_krylov_limits *limits, double *delta,
                               hk_krylov_report *report, double *phase_s)
{
    double clock = hk_now();
    couple(s, x, delta);
    gather(s, force, s->right);
    for (int64_t r = 0; r < s->matrix->rows && s->coupled; r++)
        for (int64_t i = 0; i < 3; i++)
            s->right[4 * r + i] -= s->coupling[4 * (int64_t)s->assembly->vertex[r] + i];
    gather(s, delta, s->solution);
    if (s->def.direct)
        HK_TRY(solve_directly(s, report));
    else {
        hk_operator a = hk_block_sparse_operator(s->matrix, true, s->def.preconditioned);
        hk_krylov_solve(s->krylov, &a, s->right, limits, s->solution, report);
    }
    scatter(s, s->solution, delta);
    phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
    return HK_OK;
}

// ---------------------------------------------------------------- products

void hk_linear_step_product(hk_linear_step *s, const double *delta, double *to)
{
    gather(s, delta, s->solution);
    hk_block_sparse_apply(s->matrix, s->solution, s->right);
    memcpy(to, s->coupling, 4 * sizeof(double) * (size_t)s->problem->vertex_count);
    for (int64_t r = 0; r < s->matrix->rows; r++)
        for (int64_t i = 0; i < 3; i++)
            to[4 * (int64_t)s->assembly->vertex[r] + i] += s->right[4 * r + i];
}

// The stiffness of viscosity, which is in ε, counts to K here: it is small beside that.
void hk_linear_step_beyond_energy(const hk_linear_step *s, const double *delta,
                                  const double *product, double *to)
{
    const hk_problem *p = s->problem;
    double part = s->def.beta / (s->h + s->def.beta);
    for (int64_t k = 0; k < p->vertex_count; k++) {
        const double *d = delta + 4 * k, *t = s->touching + 9 * k;
        double alpha = s->def.alpha * p->mass[k] / s->h;
        for (int i = 0; i < 3 && !p->held[k]; i++) {
            double touched = t[3 * i] * d[0] + t[3 * i + 1] * d[1] + t[3 * i + 2] * d[2];
            double stiff = product[4 * k + i] - s->weight[k] * d[i] - touched;
            to[4 * k + i] = alpha * d[i] + part * stiff + touched;
        }
    }
}

double hk_linear_step_trace(const hk_linear_step *s, int vertex)
{
    int32_t row = s->assembly->unknown[vertex];
    if (row < 0) return 0;
    const double *block = s->matrix->value + 9 * s->matrix->diagonal[row];
    return block[0] + block[4] + block[8];
}
