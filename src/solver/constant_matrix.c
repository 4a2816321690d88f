#include "solver/constant_matrix.h"

#include <math.h>

#include "math/dense.h"
#include "solver/constant_reduction.h"
#include "solver/line_search.h"
#include "solver/untorn.h"
#include "term/laplacian.h"

enum { MOST_SHIFTS = 4 };

// Unknowns from which on a cycle of multigrid beats the two triangles of a factor, whose making
// takes seconds then.
enum { MANY_UNKNOWNS = 40000 };

const char *const hk_off_on[] = {"off", "on", NULL};
const char *const hk_globals[] = {"auto", "chebyshev", "multigrid", "factor", NULL};

int hk_constant_matrix_kind(int global, int unknowns)
{
    bool many = unknowns > MANY_UNKNOWNS || !hk_direct_available();
    if (global == HK_GLOBAL_MULTIGRID || (global == HK_GLOBAL_AUTO && many))
        return HK_MATRIX_MULTIGRID;
    return HK_MATRIX_FACTORED;
}

int hk_constant_matrix_unknowns(const hk_problem *p)
{
    return p->untorn ? p->untorn->problem->free_count : p->free_count;
}

// ---------------------------------------------------------------- creation

static const uint8_t *held_of(const hk_constant_matrix *m)
{
    return m->held ? m->held : m->problem->held;
}

// Unknowns in an order of little fill.
static hk_status number_for_factor(hk_constant_matrix *m)
{
    const hk_problem *p = m->problem;
    const hk_joined none = {0};  // elements of a world are beside A, and have no place in it
    HK_TRY(hk_assembly_create_joined(p->terms, held_of(m), true, &none, &m->assembly));
    m->scalar = m->assembly->pattern;
    m->scalar.scalar = true;
    m->unknown = m->assembly->unknown;
    m->vertex = m->assembly->vertex;
    return HK_OK;
}

// Unknowns as vertices are, neighbours near each other.
static hk_status number_for_multigrid(hk_constant_matrix *m)
{
    const hk_problem *p = m->problem;
    m->unknown = m->own_unknown = HK_ARRAY(int32_t, p->vertex_count);
    m->vertex = m->own_vertex = HK_ARRAY(int32_t, p->free_count);
    if (!m->unknown || !m->vertex) return HK_NO_MEMORY;
    int count = 0;
    for (int v = 0; v < p->vertex_count; v++) {
        m->own_unknown[v] = held_of(m)[v] ? -1 : count;
        if (!held_of(m)[v]) m->own_vertex[count++] = v;
    }
    return hk_laplacian_pattern(p->model, m->unknown, count, &m->scalar);
}

static hk_status allocate(hk_constant_matrix *m, int flags)
{
    size_t size = (size_t)hk_pattern_size(&m->scalar), free_count = (size_t)m->scalar.count;
    m->laplacian = HK_ARRAY(double, size);
    m->matrix = HK_ARRAY(double, size);
    m->right = HK_ARRAY(double, 3 * free_count);
    if (!m->laplacian || !m->matrix || !m->right) return HK_NO_MEMORY;
    if (!(flags & HK_MATRIX_REFINED)) return HK_OK;
    m->given = HK_ZEROS(double, 4 * free_count);
    m->found = HK_ZEROS(double, 4 * free_count);
    return m->given && m->found ? HK_OK : HK_NO_MEMORY;
}

static hk_status init(hk_constant_matrix *m, const double *weight, int flags)
{
    hk_problem *p = m->problem;
    bool cycles = flags & HK_MATRIX_MULTIGRID;
    HK_TRY(cycles ? number_for_multigrid(m) : number_for_factor(m));
    HK_TRY(allocate(m, flags));
    hk_laplacian_numbers(p->model, m->unknown, &m->scalar, weight, m->laplacian);
    if (m->scalar.count == 0) return HK_OK;
    m->solves = flags & (HK_MATRIX_FACTORED | HK_MATRIX_MULTIGRID);
    if (cycles || !m->solves) return HK_OK;
    return hk_direct_create(&m->scalar, &m->direct);
}

static bool axis_stays(const hk_problem *p, int axis)
{
    for (int k = 0; p->axes && k < p->vertex_count; k++)
        if (p->axes[k] >> axis & 1) return true;
    return false;
}

static hk_status create_axis(hk_constant_matrix *m, int axis, const double *weight, int flags)
{
    hk_problem *p = m->problem;
    hk_constant_matrix *a = HK_NEW(hk_constant_matrix);
    if (!a) return HK_NO_MEMORY;
    m->by_axis[axis] = a;
    *a = (hk_constant_matrix){.problem = p, .factored.weight = NAN};
    a->held = HK_ARRAY(uint8_t, p->vertex_count);
    if (!a->held) return HK_NO_MEMORY;
    for (int k = 0; k < p->vertex_count; k++) a->held[k] = p->held[k] || p->axes[k] >> axis & 1;
    if (!m->base) return init(a, weight, flags);
    a->base = m->base->by_axis[axis];
    a->sections = m->sections;
    a->borrows_sections = true;
    a->solves = a->base && a->base->solves;
    return HK_OK;
}

// That of the bodies as they were before they were torn.
static hk_status take_base(hk_constant_matrix *m, const double *weight, int flags)
{
    hk_problem *p = m->problem;
    HK_TRY(hk_untorn_find(p->untorn, weight, flags & ~HK_MATRIX_KEPT, &m->base));
    m->solves = m->base->solves;
    return hk_sections_make(p, weight, &m->sections);
}

static hk_status take_weight(hk_constant_matrix *m, const double *weight, int flags)
{
    size_t count = (size_t)m->problem->model->material_count;
    m->flags = flags & ~HK_MATRIX_KEPT;
    m->weight = HK_ARRAY(double, count);
    if (!m->weight) return HK_NO_MEMORY;
    memcpy(m->weight, weight, count * sizeof(double));
    return HK_OK;
}

static bool any_heavy(const hk_manifold *m)
{
    for (int n = 0; m && n < m->constraints->tree_count; n++)
        if (!m->trees[n].light) return true;
    return false;
}

// What heavy trees tie is held in the matrix itself.
static hk_status tie(hk_constant_matrix *m, const double *weight)
{
    hk_problem *p = m->problem;
    const hk_manifold *manifold = p->manifold;
    if (!any_heavy(manifold)) return HK_OK;
    if (p->axes)
        return hk_fail(HK_UNSUPPORTED,
                       "methods with a constant matrix cannot have both rigid parts and fixes with "
                       "\"axes\": use newton or lbfgs, or a constraint \"plane\" or \"line\" in "
                       "the place of the fix");
    m->held = HK_ARRAY(uint8_t, p->vertex_count);
    if (!m->held) return HK_NO_MEMORY;
    for (int k = 0; k < p->vertex_count; k++) {
        int part = manifold->part_of[k], tree = part >= 0 ? manifold->parts[part].tree : -1;
        m->held[k] = p->held[k] || (tree >= 0 && !manifold->trees[tree].light);
    }
    return hk_constant_reduction_create(p, weight, &m->reduction);
}

hk_status hk_constant_matrix_init(hk_constant_matrix *m, hk_problem *p, const double *weight,
                                  int flags)
{
    *m = (hk_constant_matrix){.problem = p, .factored.weight = NAN, .wall_version = -1};
    HK_TRY(tie(m, weight));
    HK_TRY(take_weight(m, weight, flags));
    bool solves = flags & (HK_MATRIX_FACTORED | HK_MATRIX_MULTIGRID);
    bool torn = p->untorn && flags & HK_MATRIX_KEPT && solves;
    HK_TRY(torn ? take_base(m, weight, flags) : init(m, weight, flags & ~HK_MATRIX_KEPT));
    if (m->reduction) m->solves = flags & (HK_MATRIX_FACTORED | HK_MATRIX_MULTIGRID);
    for (int i = 0; i < 3; i++)
        if (axis_stays(p, i)) HK_TRY(create_axis(m, i, weight, flags));
    return HK_OK;
}

void hk_constant_matrix_release(hk_constant_matrix *m)
{
    for (int i = 0; i < 3; i++)
        if (m->by_axis[i]) {
            hk_constant_matrix_release(m->by_axis[i]);
            hk_free(m->by_axis[i]);
            m->by_axis[i] = NULL;
        }
    hk_free(m->held);
    hk_constant_reduction_free(m->reduction);
    hk_direct_free(m->direct);
    hk_factor_free(m->triangle);
    hk_multigrid_free(m->multigrid);
    if (!m->assembly) hk_pattern_free(&m->scalar);
    hk_assembly_free(m->assembly);
    hk_free(m->own_unknown);
    hk_free(m->own_vertex);
    hk_free(m->laplacian);
    hk_free(m->matrix);
    hk_free(m->right);
    hk_free(m->given);
    hk_free(m->found);
    hk_low_rank_release(&m->live);
    hk_free(m->row);
    hk_free(m->tied);
    hk_free(m->walls);
    hk_free(m->wall_products);
    hk_free(m->whole);
    hk_free(m->weight);
    if (!m->borrows_sections) hk_sections_free(m->sections);
}

// ---------------------------------------------------------------- the factor

// The diagonal entries of the matrix: the largest of them, with `amount` added to each.
static double add_to_diagonal(const hk_pattern *p, double *matrix, double amount)
{
    double largest = 0;
    for (int b = 0; b < p->count; b++)
        for (int c = 0; c < (p->scalar ? 1 : 3); c++) {
            double *entry = &matrix[hk_pattern_column(p, b, c)];
            *entry += amount;
            largest = fmax(largest, *entry);
        }
    return largest;
}

hk_status hk_direct_factor_shifted(hk_direct *direct, const hk_pattern *pattern, double *matrix,
                                   const char *method)
{
    bool positive;
    HK_TRY(hk_direct_factor(direct, matrix, &positive));
    double shift = 1e-3 * add_to_diagonal(pattern, matrix, 0);
    for (int k = 0; k < MOST_SHIFTS && !positive && isfinite(shift); k++, shift *= 10) {
        add_to_diagonal(pattern, matrix, shift);
        HK_TRY(hk_direct_factor(direct, matrix, &positive));
    }
    if (!positive) return hk_fail(HK_INTERNAL, "%s: the constant matrix is not positive", method);
    return HK_OK;
}

static void fill_matrix(hk_constant_matrix *m)
{
    const hk_problem *p = m->problem;
    int64_t size = hk_pattern_size(&m->scalar);
    for (int64_t k = 0; k < size; k++) m->matrix[k] = (1 + p->stiffening) * m->laplacian[k];
    for (int b = 0; b < m->scalar.count; b++)
        m->matrix[hk_pattern_column(&m->scalar, b, 0)] += p->inertia[m->vertex[b]] + p->shift;
}

// Without a factor, the numbers of live elements are the matrix's own. What they join and the
// pattern does not is bounded on the diagonal.
static void add_live(void *context, const hk_weights *w)
{
    hk_constant_matrix *m = context;
    const int32_t *unknown = m->unknown;
    for (int a = 0; a < w->count; a++)
        for (int b = 0; b < w->count; b++) {
            int32_t r = unknown[w->vertex[a]], c = unknown[w->vertex[b]];
            if (r < c || c < 0) continue;
            double weight = hk_weight_of(w, a, b);
            int64_t at = hk_laplacian_entry(&m->scalar, c, r);
            if (at >= 0) {
                m->matrix[at] += weight;
                continue;
            }
            m->matrix[hk_pattern_column(&m->scalar, c, 0)] += fabs(weight);
            m->matrix[hk_pattern_column(&m->scalar, r, 0)] += fabs(weight);
        }
}

static hk_status solve_without_live(void *context, const double *from, double *to);
static hk_status apply_sections(hk_constant_matrix *m, const double *from, double *to);

static hk_status take_live(hk_constant_matrix *m)
{
    const hk_problem *p = m->problem;
    if (!m->row) {
        m->row = HK_ARRAY(int32_t, p->vertex_count);
        if (!m->row) return HK_NO_MEMORY;
        for (int v = 0; v < p->vertex_count; v++) m->row[v] = held_of(m)[v] ? -1 : v;
    }
    return hk_low_rank_update(&m->live, p, m->row, p->vertex_count, solve_without_live, m);
}

static hk_status make_solvable(hk_constant_matrix *m, const char *method)
{
    const hk_problem *p = m->problem;
    if (m->scalar.count == 0) return HK_OK;
    m->factorisations++;
    if (!m->direct) {
        hk_multigrid_free(m->multigrid);
        m->multigrid = NULL;
        return hk_multigrid_create(&m->scalar, m->matrix, p->threads, &m->multigrid);
    }
    HK_TRY(hk_direct_factor_shifted(m->direct, &m->scalar, m->matrix, method));
    return p->weight > 0 ? hk_factor_update(m->direct, p->threads, &m->triangle) : HK_OK;
}

// What ties are at the border of the matrix has to be known better than a solve in single precision
// or a cycle has it.
static hk_status solve_border(void *context, const double *from, double *to)
{
    enum { SOLVES = 2, CYCLES = 8 };
    hk_constant_matrix *m = context;
    if (m->scalar.count == 0) return HK_OK;
    size_t size = 4 * (size_t)m->problem->vertex_count;
    if (!m->whole) m->whole = HK_ARRAY(double, 2 * size);
    if (!m->whole) return HK_NO_MEMORY;
    HK_TRY(hk_constant_matrix_solve(m, from, m->multigrid ? CYCLES : SOLVES, m->whole, to));
    hk_low_rank_correct(&m->live, to);
    return HK_OK;
}

static hk_status prepare_reduction(hk_constant_matrix *m)
{
    m->wall_version = -1;
    if (!m->reduction || !m->solves) return HK_OK;
    return hk_constant_reduction_prepare(m->reduction, solve_border, m);
}

// Brings A of the bodies as they were up to date, by what the torn ones weigh now. Elements of the
// world are beside the torn ones' operator.
static hk_status prepare_base(hk_constant_matrix *m, const char *method, double *phase_s)
{
    hk_constant_matrix *base = m->base;
    hk_problem *p = base->problem;
    hk_problem_weigh_like(p, m->problem);
    hk_quadratic now = hk_problem_quadratic(p);
    if (hk_same_quadratic(base->factored, now)) return HK_OK;
    double clock = hk_now();
    fill_matrix(base);
    phase_s[HK_PHASE_ASSEMBLY] += hk_lap(&clock);
    HK_TRY(make_solvable(base, method));
    phase_s[HK_PHASE_FACTOR] += hk_lap(&clock);
    base->factored = now;
    return HK_OK;
}

// What the sections make of the weight of every piece: neighbours are told apart by coordinates.
static hk_status weigh_pieces(hk_constant_matrix *m)
{
    hk_sections *s = m->sections;
    const hk_problem *p = m->problem;
    if (s->piece_count == 0) return HK_OK;
    double *vector = HK_ZEROS(double, 4 * (size_t)p->vertex_count);
    if (!vector) return HK_NO_MEMORY;
    for (int k = 0; k < s->piece_count; k++) {
        hk_piece *piece = &s->pieces[k];
        piece->weight = piece->part = 0;
        for (int v = piece->start; v < piece->start + piece->count; v++) {
            int32_t vertex = s->piece_vertices[v];
            piece->weight += p->inertia[vertex] + p->shift;
            vector[4 * (int64_t)vertex + k % 3] = p->inertia[vertex] + p->shift;
        }
    }
    hk_status status = apply_sections(m, vector, vector);
    for (int k = 0; k < s->piece_count && status == HK_OK; k++) {
        hk_piece *piece = &s->pieces[k];
        double sum = 0;
        for (int v = piece->start; v < piece->start + piece->count; v++) {
            int32_t vertex = s->piece_vertices[v];
            sum += vector[4 * (int64_t)vertex + k % 3] * (p->inertia[vertex] + p->shift);
        }
        if (piece->weight > 0) piece->part = fmax(0, 1 - sum / piece->weight);
    }
    hk_free(vector);
    return status;
}

static hk_status prepare_torn(hk_constant_matrix *m, const char *method, double *phase_s,
                              bool *anew)
{
    hk_quadratic now = hk_problem_quadratic(m->problem);
    bool same = hk_same_quadratic(m->factored, now);
    bool current = hk_low_rank_is_current(&m->live, m->problem);
    if (anew) *anew = !same || !current;
    if (!m->solves || (same && current)) return HK_OK;
    HK_TRY(prepare_base(m, method, phase_s));
    if (!same && !m->borrows_sections) HK_TRY(weigh_pieces(m));
    m->factored = now;
    return same || !(current && m->live.count == 0) ? take_live(m) : HK_OK;
}

hk_status hk_constant_matrix_prepare(hk_constant_matrix *m, const char *method, double *phase_s,
                                     bool *anew)
{
    const hk_problem *p = m->problem;
    for (int i = 0; i < 3; i++)
        if (m->by_axis[i]) HK_TRY(hk_constant_matrix_prepare(m->by_axis[i], method, phase_s, NULL));
    if (m->base) return prepare_torn(m, method, phase_s, anew);
    hk_quadratic now = hk_problem_quadratic(p);
    bool same = hk_same_quadratic(m->factored, now);
    bool current = hk_low_rank_is_current(&m->live, p);
    if (anew) *anew = !same || !current;
    if (same && current) return HK_OK;
    if (same && m->solves) {
        HK_TRY(take_live(m));
        return prepare_reduction(m);
    }
    double clock = hk_now();
    fill_matrix(m);
    if (!m->solves && p->terms->live) {
        hk_terms_visit_weights(p->terms, add_live, m);
        m->live.version = p->terms->live->shape_version;
        m->live.known = true;
    }
    phase_s[HK_PHASE_ASSEMBLY] += hk_lap(&clock);
    if (m->solves) HK_TRY(make_solvable(m, method));
    m->factored = now;
    if (m->solves && !(current && m->live.count == 0)) HK_TRY(take_live(m));
    HK_TRY(prepare_reduction(m));
    phase_s[HK_PHASE_FACTOR] += hk_lap(&clock);
    return HK_OK;
}

// ---------------------------------------------------------------- solves

static hk_status apply_in_double(hk_constant_matrix *m, const double *from, double *to)
{
    int count = m->scalar.count;
    const int32_t *vertex = m->vertex;
    for (int b = 0; b < count; b++)
        for (int i = 0; i < 3; i++) m->right[i * count + b] = from[4 * (int64_t)vertex[b] + i];
    HK_TRY(hk_direct_solve(m->direct, m->right, m->right));
    for (int b = 0; b < count; b++)
        for (int i = 0; i < 3; i++) to[4 * (int64_t)vertex[b] + i] = m->right[i * count + b];
    return HK_OK;
}

static void apply_refined(hk_constant_matrix *m, const double *from, double *to)
{
    const int32_t *vertex = m->vertex;
    for (int64_t b = 0; b < m->scalar.count; b++)
        for (int i = 0; i < 3; i++) m->given[4 * b + i] = from[4 * (int64_t)vertex[b] + i];
    hk_factor_refine(m->triangle, &m->scalar, m->matrix, m->given, m->found);
    for (int64_t b = 0; b < m->scalar.count; b++)
        for (int i = 0; i < 3; i++) to[4 * (int64_t)vertex[b] + i] = m->found[4 * b + i];
}

// Of the torn matrix, about: the part of the old one that is a vertex's by its mass.
static double torn_diagonal(const hk_constant_matrix *m, int32_t vertex)
{
    const hk_problem *p = m->problem, *old = m->base->problem;
    int32_t row = p->origin[vertex], unknown = m->base->unknown[row];
    double part = old->mass[row] > 0 ? p->mass[vertex] / old->mass[row] : 1;
    if (unknown < 0) return 1;
    return part * m->base->matrix[hk_pattern_column(&m->base->scalar, unknown, 0)];
}

// The motion of a whole piece, as far as the sections lack it.
static void add_piece(const hk_sections *s, const hk_piece *piece, const double *from, double *to)
{
    const int32_t *list = s->piece_vertices + piece->start;
    double all[3] = {0};
    if (!(piece->part > 0)) return;
    for (int k = 0; k < piece->count; k++)
        for (int i = 0; i < 3; i++) all[i] += from[4 * (int64_t)list[k] + i];
    for (int k = 0; k < piece->count; k++)
        for (int i = 0; i < 3; i++)
            to[4 * (int64_t)list[k] + i] += piece->part / piece->weight * all[i];
}

// Σ Θ E A⁻¹ Eᵀ Θ (untorn.h).
static hk_status apply_sections(hk_constant_matrix *m, const double *from, double *to)
{
    hk_sections *s = m->sections;
    const uint8_t *held = held_of(m);
    size_t rows = 4 * (size_t)s->rows;
    int threads = m->problem->threads, count = m->problem->vertex_count;
    for (size_t k = 0; k < rows; k++) s->to[k] = 0;
    memset(s->sum, 0, 4 * sizeof(double) * (size_t)count);
    for (int n = 0; n < s->count; n++) {
        memset(s->from, 0, rows * sizeof(double));
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t k = s->start[n]; k < s->start[n + 1]; k++) {
            const hk_section_entry *e = &s->entries[k];
            for (int i = 0; i < 3 && !held[e->vertex]; i++)
                s->from[4 * (int64_t)e->row + i] = e->weight * from[4 * (int64_t)e->vertex + i];
        }
        HK_TRY(solve_without_live(m->base, s->from, s->to));
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t k = s->start[n]; k < s->start[n + 1]; k++) {
            const hk_section_entry *e = &s->entries[k];
            for (int i = 0; i < 3; i++)
                s->sum[4 * (int64_t)e->vertex + i] += e->weight * s->to[4 * (int64_t)e->row + i];
        }
    }
    for (int k = 0; k < s->piece_count; k++) add_piece(s, &s->pieces[k], from, s->sum);
    for (int k = 0; k < s->left_count; k++) {
        const hk_left *l = &s->left[k];
        for (int64_t i = 4 * (int64_t)l->vertex; i < 4 * (int64_t)l->vertex + 3; i++)
            s->sum[i] += l->part * from[i] / torn_diagonal(m, l->vertex);
    }
    for (int64_t k = 0; k < 4 * (int64_t)count; k++)
        if (!held[k / 4] && k % 4 < 3) to[k] = s->sum[k];
    return HK_OK;
}

// B̂ (crack.h)
static hk_status apply_torn(hk_constant_matrix *m, const double *from, double *to)
{
    hk_sections *s = m->sections;
    const hk_problem *p = m->problem;
    if (s->crack.count == 0) return apply_sections(m, from, to);
    hk_crack_before(&s->crack, p, held_of(m), from, s->swept);
    HK_TRY(apply_sections(m, s->crack.left, s->crack.left));
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++)
        s->swept[k] += held_of(m)[k / 4] || k % 4 == 3 ? 0 : s->crack.left[k];
    hk_crack_after(&s->crack, p, held_of(m), s->swept);
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++)
        if (!held_of(m)[k / 4] && k % 4 < 3) to[k] = s->swept[k];
    return HK_OK;
}

static hk_status solve_without_live(void *context, const double *from, double *to)
{
    hk_constant_matrix *m = context;
    if (m->base) return apply_torn(m, from, to);
    if (m->scalar.count == 0) return HK_OK;
    if (m->multigrid) {
        hk_multigrid_apply(m->multigrid, m->vertex, from, to);
        return HK_OK;
    }
    if (!(m->problem->weight > 0)) return apply_in_double(m, from, to);
    if (m->given)
        apply_refined(m, from, to);
    else
        hk_factor_apply(m->triangle, m->vertex, from, to);
    return HK_OK;
}

// Every coordinate by the matrix that has its unknowns.
static hk_status apply_by_axis(hk_constant_matrix *m, const double *from, double *to)
{
    size_t size = 4 * (size_t)m->problem->vertex_count;
    if (!m->whole) m->whole = HK_ARRAY(double, 2 * size);
    if (!m->whole) return HK_NO_MEMORY;
    memcpy(m->whole, from, size * sizeof(double));
    for (int i = -1; i < 3; i++) {
        hk_constant_matrix *a = i < 0 ? m : m->by_axis[i];
        if (!a || !a->solves) continue;
        double *found = i < 0 ? to : m->whole + size;
        HK_TRY(solve_without_live(a, m->whole, found));
        hk_low_rank_correct(&a->live, found);
        for (size_t k = (size_t)i; i >= 0 && k < size; k += 4)
            if (!a->held[k / 4]) to[k] = found[k];
    }
    hk_problem_mask(m->problem, to);
    return HK_OK;
}

// P A⁻¹ P at light trees, P the projection on what leads along the manifold: their A⁻¹ is larger
// than that over their unknowns, and a line search shortens what is too long.
static hk_status apply_trees(hk_constant_matrix *m, const double *from, double *to)
{
    hk_problem *p = m->problem;
    size_t size = 4 * (size_t)p->vertex_count;
    if (!m->tied) m->tied = HK_ARRAY(double, 2 * size);
    if (!m->tied) return HK_NO_MEMORY;
    double *given = m->tied, *solved = given + size;
    memcpy(given, from, size * sizeof(double));
    hk_manifold_tangent(p->manifold, HK_LIGHT, NULL, given);
    memset(solved, 0, size * sizeof(double));
    if (p->axes) HK_TRY(apply_by_axis(m, given, solved));
    if (!p->axes) HK_TRY(solve_without_live(m, given, solved));
    if (!p->axes && m->scalar.count > 0) hk_low_rank_correct(&m->live, solved);
    if (m->reduction) HK_TRY(hk_constant_reduction_apply(m->reduction, given, solved, solved));
    hk_manifold_tangent(p->manifold, HK_LIGHT, NULL, solved);
    for (size_t k = 0; k < size; k++)
        if (!p->held[k / 4]) to[k] = solved[k];
    return HK_OK;
}

// The products of n with a vector, one for each cavity.
static void with_normals(const hk_constant_matrix *m, const double *vector, double *product)
{
    const hk_manifold *manifold = m->problem->manifold;
    for (int n = 0; n < manifold->cavity_count; n++) {
        const hk_manifold_cavity *c = &manifold->cavities[n];
        product[n] = 0;
        for (int k = c->start; k < c->start + c->count; k++)
            for (int i = 0; i < 3; i++)
                product[n] += manifold->cavity_normal[3 * (int64_t)k + i] *
                              vector[4 * (int64_t)manifold->cavity_vertex[k] + i];
    }
}

// W = A⁻¹n of cavities, and the factor of nᵀW.
static hk_status find_walls(hk_constant_matrix *m)
{
    const hk_manifold *manifold = m->problem->manifold;
    int count = manifold->cavity_count;
    size_t size = 4 * (size_t)m->problem->vertex_count;
    if (!m->walls) m->walls = HK_ARRAY(double, ((size_t)count + 1) * size);
    if (!m->wall_products) m->wall_products = HK_ARRAY(double, (size_t)count *((size_t)count + 1));
    if (!m->walls || !m->wall_products) return HK_NO_MEMORY;
    double *normal = m->walls + size * (size_t)count;
    for (int n = 0; n < count; n++) {
        double *wall = m->walls + size * (size_t)n;
        hk_manifold_normal(manifold, n, normal);
        memset(wall, 0, size * sizeof(double));
        HK_TRY(apply_trees(m, normal, wall));
        with_normals(m, wall, m->wall_products + (size_t)n * (size_t)count);
    }
    // Where all of a surface is held, its equation has nothing to say.
    for (int n = 0; n < count; n++) {
        double *own = &m->wall_products[(size_t)n * (size_t)count + (size_t)n];
        if (!(*own > 0)) *own = 1;
    }
    if (!hk_dense_factor(m->wall_products, count))
        return hk_fail(HK_INTERNAL, "the constant matrix is not positive for volumes");
    m->wall_version = manifold->version;
    return HK_OK;
}

// With the equations n·d = 0 of cavities: A⁻¹ − W (nᵀW)⁻¹Wᵀ.
static hk_status apply_tied(hk_constant_matrix *m, const double *from, double *to)
{
    const hk_manifold *manifold = m->problem->manifold;
    int count = manifold->cavity_count;
    int64_t size = 4 * (int64_t)m->problem->vertex_count;
    HK_TRY(apply_trees(m, from, to));
    if (count == 0) return HK_OK;
    if (m->wall_version != manifold->version) HK_TRY(find_walls(m));
    double *part = m->wall_products + (size_t)count * (size_t)count;
    with_normals(m, to, part);
    hk_dense_solve(m->wall_products, count, part);
    for (int n = 0; n < count; n++)
        for (int64_t k = 0; k < size; k++)
            if (!m->problem->held[k / 4]) to[k] -= part[n] * m->walls[n * size + k];
    return HK_OK;
}

hk_status hk_constant_matrix_apply(hk_constant_matrix *m, const double *from, double *to)
{
    if (!m->solves) return HK_OK;
    if (m->problem->manifold) return apply_tied(m, from, to);
    if (m->problem->axes) return apply_by_axis(m, from, to);
    HK_TRY(solve_without_live(m, from, to));
    hk_low_rank_correct(&m->live, to);
    return HK_OK;
}

// r = b − A x
static void find_rest(const hk_constant_matrix *m, const double *b, const double *x, double *r)
{
    const hk_pattern *p = &m->scalar;
    memcpy(r, b, 4 * sizeof(double) * (size_t)m->problem->vertex_count);
    for (int c = 0; c < p->count; c++) {
        int64_t at = hk_pattern_column(p, c, 0), column = 4 * (int64_t)m->vertex[c];
        for (int i = 0; i < 3; i++) r[column + i] -= m->matrix[at] * x[column + i];
        for (int64_t e = p->start[c]; e < p->start[c + 1]; e++) {
            int64_t row = 4 * (int64_t)m->vertex[p->row[e]];
            double number = m->matrix[at + 1 + e - p->start[c]];
            for (int i = 0; i < 3; i++) {
                r[row + i] -= number * x[column + i];
                r[column + i] -= number * x[row + i];
            }
        }
    }
}

hk_status hk_constant_matrix_solve(hk_constant_matrix *m, const double *b, int solves,
                                   double *workspace, double *x)
{
    int64_t size = 4 * (int64_t)m->problem->vertex_count;
    memset(x, 0, sizeof(double) * (size_t)size);
    if (m->base) return solve_without_live(m, b, x);  // what is applied, and no approximation
    for (int n = 0; n < solves; n++) {
        find_rest(m, b, x, workspace);
        HK_TRY(solve_without_live(m, workspace, workspace));
        for (int64_t k = 0; k < size; k++) x[k] += workspace[k];
    }
    return HK_OK;
}

hk_status hk_constant_matrix_descend(hk_constant_matrix *m, const double *gradient,
                                     double *direction)
{
    int64_t size = 4 * (int64_t)m->problem->vertex_count;
    memset(direction, 0, sizeof(double) * (size_t)size);
    HK_TRY(hk_constant_matrix_apply(m, gradient, direction));
    for (int64_t k = 0; k < size; k++) direction[k] = -direction[k];
    return HK_OK;
}
