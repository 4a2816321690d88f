#include "solver/newton_matrix.h"

#include <math.h>

#include "model/partition.h"
#include "solver/line_search.h"
#include "solver/manifold.h"
#include "solver/reduction.h"

// Conjugate gradients that are worth their while; after so many the direction found is taken.
enum { MOST_CG = 500 };
// −log ‖r‖ that an iteration gains, where nothing better is known, and from which on a solve can
// tell.
#define USUAL_RATE 0.5
#define TELLING    2
// What is left of a right-hand side that is to be solved for again, and how often that pays.
#define AGAIN 1e-6
enum { MOST_AGAIN = 12 };
// Iterations that all levels of a hierarchy cost to make.
#define WORTH_NEW_LEVELS 6

// ---------------------------------------------------------------- creation

// The matrix that is solved with, and its numbers.
static const hk_pattern *pattern_of(const hk_newton_matrix *m)
{
    return m->reduction ? &m->reduction->pattern : &m->assembly->pattern;
}

static const double *numbers_of(const hk_newton_matrix *m)
{
    return m->reduction ? m->reduction->values : m->lower;
}

static hk_status create_reduced(hk_newton_matrix *m, const hk_joined *joined)
{
    hk_problem *p = m->problem;
    HK_TRY(hk_assembly_create_joined(p->terms, p->held, false, joined, &m->assembly));
    m->lower = HK_ARRAY(double, hk_pattern_size(&m->assembly->pattern));
    m->whole_gradient = HK_ZEROS(double, 4 * (size_t)p->vertex_count);
    if (!m->lower || !m->whole_gradient) return HK_NO_MEMORY;
    return hk_reduction_create(p->manifold, m->assembly, !m->by_multigrid, &m->reduction);
}

static hk_status create_direct(hk_newton_matrix *m, const hk_joined *joined)
{
    hk_problem *p = m->problem;
    if (p->manifold) {
        HK_TRY(create_reduced(m, joined));
        return pattern_of(m)->count > 0 ? hk_direct_create(pattern_of(m), &m->direct) : HK_OK;
    }
    HK_TRY(hk_assembly_create_joined(p->terms, p->held, true, joined, &m->assembly));
    m->lower = HK_ARRAY(double, hk_pattern_size(&m->assembly->pattern));
    m->right = HK_ARRAY(double, 3 * (size_t)p->free_count);
    if (!m->lower || !m->right) return HK_NO_MEMORY;
    return p->free_count > 0 ? hk_direct_create(&m->assembly->pattern, &m->direct) : HK_OK;
}

// Of a part of a model.
static hk_status create_of_partition(hk_newton_matrix *m)
{
    hk_problem *p = m->problem;
    m->partition = p->partition;
    HK_TRY(hk_assembly_create_joined(p->terms, p->held, false, NULL, &m->assembly));
    m->lower = HK_ARRAY(double, hk_pattern_size(&m->assembly->pattern));
    if (!m->lower) return HK_NO_MEMORY;
    return m->partition->ops->matrix.create(m->partition, m->assembly, !m->by_multigrid,
                                            &m->of_partition);
}

static hk_status create_multigrid(hk_newton_matrix *m, const hk_joined *joined)
{
    hk_problem *p = m->problem;
    if (p->manifold) {
        HK_TRY(create_reduced(m, joined));
    } else {
        HK_TRY(hk_assembly_create_joined(p->terms, p->held, false, joined, &m->assembly));
        m->lower = HK_ARRAY(double, hk_pattern_size(&m->assembly->pattern));
    }
    size_t count = (size_t)pattern_of(m)->count;
    m->right = HK_ZEROS(double, 4 * count);
    m->solution = HK_ZEROS(double, 4 * count);
    m->position = HK_ZEROS(double, 4 * count);
    m->of_levels = HK_ZEROS(double, hk_pattern_size(pattern_of(m)));
    if (!m->lower || !m->right || !m->solution || !m->position || !m->of_levels)
        return HK_NO_MEMORY;
    if (count == 0) return HK_OK;
    HK_TRY(hk_block_rows_create(pattern_of(m), p->threads, &m->rows, &m->source));
    return hk_block_multigrid_create(&m->rows, &m->multigrid);
}

static hk_status build(hk_newton_matrix *m, const hk_joined *joined)
{
    m->blocks = HK_ARRAY(double, hk_terms_block_size(m->problem->terms));
    if (!m->blocks) return HK_NO_MEMORY;
    if (m->problem->partition) return create_of_partition(m);
    return m->by_multigrid ? create_multigrid(m, joined) : create_direct(m, joined);
}

// All but the blocks.
static void release(hk_newton_matrix *m)
{
    hk_direct_free(m->direct);
    hk_reduction_free(m->reduction);
    hk_block_multigrid_free(m->multigrid);
    if (m->partition) m->partition->ops->matrix.free(m->of_partition);
    hk_block_rows_release(&m->rows);
    hk_assembly_free(m->assembly);
    double *const numbers[] = {m->lower, m->right,     m->solution,      m->position,
                               m->sum,   m->of_levels, m->whole_gradient};
    for (int k = 0; k < HK_COUNT_OF(numbers); k++) hk_free(numbers[k]);
    hk_free(m->source);
    *m = (hk_newton_matrix){.problem = m->problem,
                            .by_multigrid = m->by_multigrid,
                            .blocks = m->blocks,
                            .rate = m->rate,
                            .cg_iterations = m->cg_iterations};
}

static hk_status create(hk_problem *problem, bool by_multigrid, const hk_joined *joined,
                        hk_newton_matrix **matrix)
{
    hk_newton_matrix *m = HK_NEW(hk_newton_matrix);
    if (!m) return HK_NO_MEMORY;
    m->problem = problem;
    m->by_multigrid = by_multigrid;
    m->rate = USUAL_RATE;
    hk_status status = build(m, joined);
    if (status != HK_OK) {
        hk_newton_matrix_free(m);
        return status;
    }
    *matrix = m;
    return HK_OK;
}

hk_status hk_newton_matrix_create(hk_problem *problem, bool by_multigrid, hk_newton_matrix **matrix)
{
    return create(problem, by_multigrid, NULL, matrix);
}

void hk_newton_matrix_free(hk_newton_matrix *m)
{
    if (!m) return;
    release(m);
    hk_free(m->blocks);
    hk_free(m);
}

// ---------------------------------------------------------------- numbers

static void take_positions(hk_newton_matrix *m, const double *x)
{
    const hk_assembly *a = m->assembly;
    if (m->reduction) {
        hk_reduction_positions(m->reduction, x, m->position);
        return;
    }
    for (int64_t b = 0; b < a->pattern.count; b++)
        memcpy(m->position + 4 * b, x + 4 * (int64_t)a->vertex[b], 3 * sizeof(double));
}

// All levels anew where those that are there are of no use or cost more by now than new ones would.
static void prepare_levels(hk_newton_matrix *m, const double *x, bool *positive)
{
    hk_quadratic now = hk_problem_quadratic(m->problem);
    m->fresh =
        !m->has_levels || m->wasted > WORTH_NEW_LEVELS || !hk_same_quadratic(now, m->quadratic);
    if (!m->fresh) {
        hk_block_multigrid_refresh(m->multigrid, positive);
        return;
    }
    take_positions(m, x);
    hk_block_multigrid_set(m->multigrid, m->position, positive);
    memcpy(m->of_levels, numbers_of(m), sizeof(double) * (size_t)hk_pattern_size(pattern_of(m)));
    m->has_levels = *positive;
    m->quadratic = now;
    m->wasted = 0;
}

// Σ of the blocks, those of elements of a world among them. Where these join what nothing joined
// before, the pattern is a new one.
static hk_status assemble(hk_newton_matrix *m, const double *x, double loose,
                          const double *diagonal)
{
    hk_terms *terms = m->problem->terms;
    hk_assemble(m->assembly, m->blocks, diagonal, m->lower);
    bool whole = hk_assemble_live(m->assembly, terms, x, loose, m->lower);
    if (hk_partition_all(m->problem->partition, whole)) return HK_OK;
    release(m);
    if (m->problem->partition)
        HK_TRY(create_of_partition(m));
    else
        HK_TRY(m->by_multigrid ? create_multigrid(m, NULL) : create_direct(m, NULL));
    hk_assemble(m->assembly, m->blocks, diagonal, m->lower);
    if (hk_assemble_live(m->assembly, terms, x, loose, m->lower)) return HK_OK;
    return hk_fail(HK_INTERNAL, "newton: an element of the world has no place in the matrix");
}

// The curvature of constraints belongs to the exact Hessian; it may be negative.
static void reduce(hk_newton_matrix *m, const double *x, double keep)
{
    hk_problem *p = m->problem;
    hk_problem_stand(p, x);
    if (keep == 1) hk_problem_whole_gradient(p, x, m->whole_gradient);
    hk_reduction_set(m->reduction, m->lower, x, keep == 1 ? m->whole_gradient : NULL);
}

// Levels are made of much that is not there to stay: meanwhile the blocks need not be there.
static hk_status set_of_partition(hk_newton_matrix *m, const double *x, bool *positive)
{
    const hk_partition_matrix_ops *ops = &m->partition->ops->matrix;
    size_t size = sizeof(double) * (size_t)hk_terms_block_size(m->problem->terms);
    m->lost = ops->borrow(m->of_partition, m->blocks, size);
    return ops->set(m->of_partition, m->lower, x, positive);
}

hk_status hk_newton_matrix_set(hk_newton_matrix *m, const double *x, double keep, double loose,
                               const double *diagonal, double *phase_s, bool *positive)
{
    hk_problem *p = m->problem;
    double clock = hk_now();
    *positive = true;
    if (p->unknown_vertices == 0) return HK_OK;
    hk_problem_blocks(p, x, keep, m->blocks);
    m->lost = false;
    phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    HK_TRY(assemble(m, x, loose, diagonal));
    m->keep = keep;
    hk_assembly_hold_axes(m->assembly, p->axes, m->lower);
    if (m->reduction) reduce(m, x, keep);
    if (m->multigrid) hk_block_rows_set(&m->rows, pattern_of(m), m->source, numbers_of(m));
    phase_s[HK_PHASE_ASSEMBLY] += hk_lap(&clock);
    hk_status status = HK_OK;
    if (m->partition)
        status = set_of_partition(m, x, positive);
    else if (m->multigrid)
        prepare_levels(m, x, positive);
    else if (m->direct)
        status = hk_direct_factor(m->direct, numbers_of(m), positive);
    phase_s[HK_PHASE_FACTOR] += hk_lap(&clock);
    return status;
}

double hk_newton_matrix_largest(const hk_newton_matrix *m)
{
    const hk_pattern *pattern = &m->assembly->pattern;
    double largest = 0;
    for (int b = 0; b < pattern->count; b++)
        for (int c = 0; c < 3; c++)
            largest = fmax(largest, fabs(m->lower[hk_pattern_column(pattern, b, c)]));
    return hk_partition_max_of(m->partition, largest);
}

// ---------------------------------------------------------------- systems

static hk_status solve_by_multigrid(hk_newton_matrix *m, double tolerance, bool *positive)
{
    hk_block_cg cg = {.tolerance = tolerance, .most = MOST_CG};
    hk_block_multigrid_solve(m->multigrid, &cg, m->right, m->solution);
    m->cg_iterations = cg.iterations;
    *positive = !cg.indefinite;
    double gained = -log(fmax(cg.residual, 1e-16));
    if (m->fresh && gained > TELLING) m->rate = gained / cg.iterations;
    if (!m->fresh) m->wasted += cg.iterations - gained / m->rate;
    return HK_OK;
}

static hk_status solve_reduced(hk_newton_matrix *m, double tolerance, const double *gradient,
                               double *direction, bool *positive)
{
    hk_reduction *r = m->reduction;
    int64_t count = r->pattern.count;
    hk_reduction_gather(r, gradient);
    if (m->direct) HK_TRY(hk_direct_solve(m->direct, r->right, r->right));
    if (m->multigrid) {
        for (int64_t k = 0; k < 3 * count; k++) m->right[4 * (k / 3) + k % 3] = r->right[k];
        HK_TRY(solve_by_multigrid(m, tolerance, positive));
        for (int64_t k = 0; k < 3 * count; k++) r->right[k] = m->solution[4 * (k / 3) + k % 3];
    }
    hk_reduction_scatter(r, direction);
    // Coarse levels know nothing of coordinates that stay.
    hk_problem_mask(m->problem, direction);
    return HK_OK;
}

hk_status hk_newton_matrix_solve(hk_newton_matrix *m, double tolerance, const double *gradient,
                                 double *direction, double *phase_s, bool *positive)
{
    const hk_assembly *a = m->assembly;
    double clock = hk_now();
    *positive = true;
    memset(direction, 0, 4 * sizeof(double) * (size_t)m->problem->vertex_count);
    if (m->partition) {
        if (m->problem->unknown_vertices == 0) return HK_OK;
        HK_TRY(m->partition->ops->matrix.solve(m->of_partition, tolerance, gradient, direction,
                                               &m->cg_iterations, positive));
        phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
        return HK_OK;
    }
    if (a->pattern.count == 0) return HK_OK;
    if (m->reduction) {
        HK_TRY(solve_reduced(m, tolerance, gradient, direction, positive));
        phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
        return HK_OK;
    }
    int stride = m->multigrid ? 4 : 3;
    for (int64_t b = 0; b < a->pattern.count; b++)
        for (int i = 0; i < 3; i++)
            m->right[stride * b + i] = -gradient[4 * (int64_t)a->vertex[b] + i];
    if (m->multigrid)
        HK_TRY(solve_by_multigrid(m, tolerance, positive));
    else
        HK_TRY(hk_direct_solve(m->direct, m->right, m->right));
    const double *found = m->multigrid ? m->solution : m->right;
    for (int64_t b = 0; b < a->pattern.count; b++)
        for (int i = 0; i < 3; i++)
            direction[4 * (int64_t)a->vertex[b] + i] = found[stride * b + i];
    phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
    return HK_OK;
}

// right = −gradient − K sum; returns its norm.
static double find_left(hk_newton_matrix *m, const double *gradient)
{
    const hk_assembly *a = m->assembly;
    double *product = m->sum + 3 * (int64_t)a->pattern.count, square = 0;
    hk_pattern_multiply(&a->pattern, m->lower, m->sum, product);
    for (int64_t b = 0; b < a->pattern.count; b++)
        for (int i = 0; i < 3; i++) {
            double left = -gradient[4 * (int64_t)a->vertex[b] + i] - product[3 * b + i];
            m->right[4 * b + i] = left;
            square += left * left;
        }
    return sqrt(square);
}

static void add_solution(hk_newton_matrix *m, double sign)
{
    for (int64_t b = 0; b < m->assembly->pattern.count; b++)
        for (int i = 0; i < 3; i++) m->sum[3 * b + i] += sign * m->solution[4 * b + i];
}

// Iterative refinement. A round gains about as many digits as single precision has, less those
// that the condition of the matrix takes.
static hk_status refine(hk_newton_matrix *m, const double *gradient, bool *positive)
{
    int64_t size = 3 * (int64_t)m->assembly->pattern.count;
    if (!m->sum) m->sum = HK_ARRAY(double, 2 * size);
    if (!m->sum) return HK_NO_MEMORY;
    memset(m->sum, 0, sizeof(double) * (size_t)size);
    double before = INFINITY, now = find_left(m, gradient);
    for (int k = 0; k < MOST_AGAIN && now > 0; k++) {
        HK_TRY(solve_by_multigrid(m, AGAIN, positive));
        if (!*positive) return HK_OK;
        add_solution(m, 1);
        before = now;
        now = find_left(m, gradient);
        if (now >= before) add_solution(m, -1);  // it was rounding
        if (!(now < 0.5 * before)) break;
    }
    return HK_OK;
}

hk_status hk_newton_matrix_solve_exactly(hk_newton_matrix *m, const double *gradient,
                                         double *direction, double *phase_s, bool *positive)
{
    const hk_assembly *a = m->assembly;
    if (!m->multigrid) return hk_newton_matrix_solve(m, 0, gradient, direction, phase_s, positive);
    double clock = hk_now();
    *positive = true;
    memset(direction, 0, 4 * sizeof(double) * (size_t)m->problem->vertex_count);
    HK_TRY(refine(m, gradient, positive));
    for (int64_t b = 0; b < a->pattern.count; b++)
        for (int i = 0; i < 3; i++) direction[4 * (int64_t)a->vertex[b] + i] = m->sum[3 * b + i];
    phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
    return HK_OK;
}

void hk_newton_matrix_add_product(hk_newton_matrix *m, const double *x, double keep,
                                  const double *step, double *force)
{
    hk_terms *terms = m->problem->terms;
    if (m->lost) hk_problem_blocks(m->problem, x, m->keep, m->blocks);
    m->lost = false;
    hk_terms_add_product(terms, m->blocks, step, force);
    hk_terms_add_live_product(terms, x, keep, step, force);
    hk_partition_share(m->problem->partition, force);
}

// ---------------------------------------------------------------- states in files

// Which vertices the pattern joins: with contacts that depends on what met before.
static void remember_pattern(hk_newton_matrix **matrix, hk_stream *stream)
{
    hk_newton_matrix *m = *matrix;
    hk_joined joined = {0};
    bool by_multigrid = m->by_multigrid;
    if (!stream->reading) stream->status = hk_assembly_list_joined(m->assembly, &joined);
    HK_STREAM(stream, by_multigrid);
    hk_stream_list(stream, (void **)&joined.pairs, &joined.count, &joined.room,
                   sizeof *joined.pairs);
    if (stream->reading && stream->status == HK_OK) {
        hk_newton_matrix *made;
        stream->status = create(m->problem, by_multigrid, &joined, &made);
        if (stream->status == HK_OK) {
            hk_newton_matrix_free(m);
            *matrix = made;
        }
    }
    hk_free(joined.pairs);
}

void hk_newton_matrix_remember(hk_newton_matrix **matrix, hk_stream *stream)
{
    remember_pattern(matrix, stream);
    hk_newton_matrix *m = *matrix;
    if (stream->status != HK_OK || !m->multigrid) return;
    size_t size = (size_t)hk_pattern_size(pattern_of(m));
    HK_STREAM(stream, m->cg_iterations);
    HK_STREAM(stream, m->has_levels);
    HK_STREAM(stream, m->rate);
    HK_STREAM(stream, m->wasted);
    HK_STREAM(stream, m->quadratic);
    if (!m->has_levels) return;
    hk_stream_bytes(stream, m->of_levels, sizeof(double) * size);
    hk_stream_bytes(stream, m->position, 4 * sizeof(double) * (size_t)pattern_of(m)->count);
    if (!stream->reading || stream->status != HK_OK) return;
    bool positive;
    hk_block_rows_set(&m->rows, pattern_of(m), m->source, m->of_levels);
    hk_block_multigrid_set(m->multigrid, m->position, &positive);
}
