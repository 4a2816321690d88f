// Derivatives at any state: a problem beside that of the world, with the same live edits.
#include "world/analysis.h"

#include <math.h>

#include "model/constraints.h"

// Free vertices up to which systems are factored.
enum { MOST_FOR_DIRECT = 60000 };

// ---------------------------------------------------------------- creation

static hk_status build(hk_analysis *a)
{
    hk_world *w = a->world;
    HK_TRY(hk_problem_create(a->model, w->threads, &w->live, &a->problem));
    size_t n = (size_t)a->model->vertex_count;
    a->x = HK_ZEROS(double, 4 * n);
    a->from = HK_ZEROS(double, 4 * n);
    a->to = HK_ZEROS(double, 4 * n);
    a->diagonal = HK_ZEROS(double, n);
    a->blocks = HK_ARRAY(double, hk_terms_block_size(a->problem->terms));
    if (!a->x || !a->from || !a->to || !a->diagonal || !a->blocks) return HK_NO_MEMORY;
    return hk_analysis_set_state(a, NULL, NAN);
}

hk_status hk_analysis_create(hk_world *world, hk_analysis **analysis)
{
    HK_TRY(hk_world_check_idle(world, __func__));
    if (!world || !analysis)
        return hk_fail(HK_BAD_INPUT, "hk_analysis_create: world and analysis are needed");
    HK_TRY(hk_model_need_free(world->model, "an analysis"));
    hk_analysis *a = HK_NEW(hk_analysis);
    if (!a) return HK_NO_MEMORY;
    a->world = world;
    a->model = world->model;
    hk_model_retain(a->model);
    hk_status status = build(a);
    if (status != HK_OK) {
        hk_analysis_free(a);
        return status;
    }
    *analysis = a;
    return HK_OK;
}

void hk_analysis_free(hk_analysis *a)
{
    if (!a) return;
    hk_newton_matrix_free(a->matrix);
    hk_assembly_free(a->assembly);
    hk_problem_free(a->problem);
    hk_model_free(a->model);
    double *const vectors[] = {a->x, a->from, a->to, a->diagonal, a->blocks};
    for (int k = 0; k < HK_COUNT_OF(vectors); k++) hk_free(vectors[k]);
    hk_free(a);
}

hk_status hk_analysis_check(const hk_analysis *a, const char *call)
{
    if (!a) return hk_fail(HK_BAD_INPUT, "%s: analysis is needed", call);
    HK_TRY(hk_world_check_idle(a->world, call));
    if (a->world->model != a->model)
        return hk_fail(HK_BAD_INPUT,
                       "%s: the world has another model since an edit of what it is made of: "
                       "create the analysis anew",
                       call);
    return HK_OK;
}

// ---------------------------------------------------------------- the state

void hk_analysis_take(const hk_analysis *a, const double *given, double *to)
{
    const hk_model *m = a->model;
    for (int k = 0; k < m->vertex_count; k++)
        for (int i = 0; i < 3; i++) to[4 * (int64_t)k + i] = given[3 * (int64_t)m->order[k] + i];
}

void hk_analysis_give(const hk_analysis *a, const double *from, double *given)
{
    const hk_model *m = a->model;
    for (int k = 0; k < m->vertex_count; k++)
        for (int i = 0; i < 3; i++) given[3 * (int64_t)m->order[k] + i] = from[4 * (int64_t)k + i];
}

static bool are_finite(const hk_analysis *a, const double *vectors)
{
    for (int64_t k = 0; k < 3 * (int64_t)a->model->vertex_count; k++)
        if (!isfinite(vectors[k])) return false;
    return true;
}

static void place(hk_analysis *a)
{
    bool in_full = isnan(a->time);
    hk_terms_place(
        a->problem->terms,
        &(hk_when){.by_fraction = in_full, .fraction = 1, .time = in_full ? 0 : a->time});
}

hk_status hk_analysis_set_state(hk_analysis *a, const double *positions, double time)
{
    HK_TRY(hk_analysis_check(a, __func__));
    if (positions && !are_finite(a, positions))
        return hk_fail(HK_BAD_INPUT, "hk_analysis_set_state: positions must be finite numbers");
    hk_world *w = a->world;
    HK_TRY(hk_world_fetch_positions(w));
    HK_TRY(hk_world_take_time(w, time));
    hk_problem *p = a->problem;
    a->time = time;
    HK_TRY(hk_problem_begin_pose(p));
    HK_TRY(hk_terms_refresh(p->terms));
    hk_problem_take_forces(p);
    place(a);
    hk_analysis_take(a, positions ? positions : w->positions, a->x);
    hk_terms_update(p->terms, a->x);
    hk_assembly_free(a->assembly);
    a->assembly = NULL;
    a->factored = false;
    return HK_OK;
}

// ---------------------------------------------------------------- energy and gradient

static void fill_energy(hk_analysis *a, hk_energy *energy)
{
    hk_terms *terms = a->problem->terms;
    hk_energy e = {.elastic = hk_terms_part(terms, a->x, HK_PART_ELASTIC),
                   .gravity = hk_terms_part(terms, a->x, HK_PART_GRAVITY),
                   .load = hk_terms_part(terms, a->x, HK_PART_LOAD),
                   .contact = hk_terms_part(terms, a->x, HK_PART_CONTACT)};
    e.total = e.elastic + e.gravity + e.load + e.contact;
    *energy = e;
}

hk_status hk_analysis_energy(hk_analysis *a, hk_energy *energy, double *gradient)
{
    HK_TRY(hk_analysis_check(a, __func__));
    hk_problem *p = a->problem;
    if (energy) fill_energy(a, energy);
    if (!gradient) return HK_OK;
    hk_terms_gradient(p->terms, a->x, HK_ALL_TERMS, a->to, NULL);
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++) a->to[k] -= p->force[k];
    for (int64_t k = 0; p->axes && k < 4 * (int64_t)p->vertex_count; k++)
        a->to[k] -= p->masked_force[k];  // what fixes by axis bear of the forces
    hk_analysis_give(a, a->to, gradient);
    return HK_OK;
}

// ---------------------------------------------------------------- the Hessian

static hk_status need_assembly(hk_analysis *a)
{
    return a->assembly ? HK_OK
                       : hk_assembly_create_unordered(a->problem->terms, NULL, &a->assembly);
}

hk_status hk_analysis_hessian_size(hk_analysis *a, int64_t *blocks)
{
    HK_TRY(hk_analysis_check(a, __func__));
    if (!blocks) return hk_fail(HK_BAD_INPUT, "hk_analysis_hessian_size: blocks is needed");
    HK_TRY(need_assembly(a));
    const hk_pattern *p = &a->assembly->pattern;
    *blocks = p->count + 2 * p->start[p->count];
    return HK_OK;
}

// The vertex (users' number) of a block row of the pattern.
static int32_t vertex_of(const hk_analysis *a, int64_t block)
{
    return a->model->order[a->assembly->vertex[block]];
}

// Block (row, column) of the lower triangle, row by row.
static void read_block(const hk_pattern *p, const double *lower, int column, int64_t entry,
                       double block[9])
{
    for (int c = 0; c < 3; c++) {
        const double *below = lower + hk_pattern_column(p, column, c) + (3 - c);
        for (int r = 0; r < 3; r++) block[3 * r + c] = below[3 * (entry - p->start[column]) + r];
    }
}

static void read_diagonal(const hk_pattern *p, const double *lower, int column, double block[9])
{
    for (int c = 0; c < 3; c++)
        for (int r = c; r < 3; r++)
            block[3 * r + c] = block[3 * c + r] = lower[hk_pattern_column(p, column, c) + r - c];
}

typedef struct filler {
    const hk_analysis *analysis;
    int64_t *next;  // [vertex_count] the place for the next block of a row
    int32_t *column;
    int64_t *source;  // where its numbers come from: 2 × entry + transposed, or −1 − diagonal
} filler;

static void put(filler *f, int32_t row, int32_t column, int64_t source)
{
    int64_t at = f->next[row]++;
    f->column[at] = column;
    f->source[at] = source;
}

// Blocks by rising columns: all columns are visited in order, and each adds to its rows.
static void fill_pattern(filler *f, const int32_t *block_of, const int64_t *row_first,
                         const int64_t *row_entry, const int32_t *row_column)
{
    const hk_analysis *a = f->analysis;
    const hk_pattern *p = &a->assembly->pattern;
    for (int32_t v = 0; v < p->count; v++) {
        int32_t b = block_of[v];
        put(f, v, v, -1 - (int64_t)b);
        for (int64_t k = p->start[b]; k < p->start[b + 1]; k++)
            put(f, vertex_of(a, p->row[k]), v, 2 * k);
        for (int64_t k = row_first[b]; k < row_first[b + 1]; k++)
            put(f, vertex_of(a, row_column[k]), v, 2 * row_entry[k] + 1);
    }
}

// The entries of every block row of the lower triangle, which is stored by columns.
static void list_rows(const hk_pattern *p, int64_t *first, int64_t *entry, int32_t *column)
{
    for (int64_t k = 0; k < p->start[p->count]; k++) first[p->row[k] + 2]++;
    for (int b = 0; b < p->count; b++) first[b + 2] += first[b + 1];
    for (int b = 0; b < p->count; b++)
        for (int64_t k = p->start[b]; k < p->start[b + 1]; k++) {
            int64_t at = first[p->row[k] + 1]++;
            entry[at] = k;
            column[at] = b;
        }
}

typedef struct transposition {
    int64_t *first;  // [count + 2]
    int64_t *entry;
    int32_t *column, *block_of, *column_of;
    int64_t *source, *next;
    double *lower;
} transposition;

static void release(transposition *t)
{
    hk_free(t->first);
    hk_free(t->entry);
    hk_free(t->column);
    hk_free(t->block_of);
    hk_free(t->column_of);
    hk_free(t->source);
    hk_free(t->next);
    hk_free(t->lower);
}

static hk_status allocate(const hk_pattern *p, transposition *t)
{
    int64_t below = p->start[p->count], all = p->count + 2 * below;
    t->first = HK_ZEROS(int64_t, p->count + 2);
    t->entry = HK_ARRAY(int64_t, below);
    t->column = HK_ARRAY(int32_t, below);
    t->block_of = HK_ARRAY(int32_t, p->count);
    t->column_of = HK_ARRAY(int32_t, below);
    t->source = HK_ARRAY(int64_t, all);
    t->next = HK_ZEROS(int64_t, p->count + 1);
    t->lower = HK_ARRAY(double, hk_pattern_size(p));
    bool complete = t->first && t->entry && t->column && t->block_of && t->column_of && t->source &&
                    t->next && t->lower;
    return complete ? HK_OK : HK_NO_MEMORY;
}

static hk_status fill_lower(hk_analysis *a, double keep, double *lower)
{
    hk_problem_blocks(a->problem, a->x, keep, a->blocks);
    memset(a->diagonal, 0, sizeof(double) * (size_t)a->model->vertex_count);
    hk_assemble(a->assembly, a->blocks, a->diagonal, lower);
    if (!hk_assemble_live(a->assembly, a->problem->terms, a->x, keep, lower))
        return hk_fail(HK_INTERNAL, "an element of the world has no place in the Hessian");
    return HK_OK;
}

static void fill_values(const hk_analysis *a, const transposition *t, int64_t count, double *values)
{
    const hk_pattern *p = &a->assembly->pattern;
    for (int b = 0; b < p->count; b++)
        for (int64_t k = p->start[b]; k < p->start[b + 1]; k++) t->column_of[k] = b;
#pragma omp parallel for schedule(static) num_threads(a->problem->threads)
    for (int64_t k = 0; k < count; k++) {
        int64_t source = t->source[k];
        double *to = values + 9 * k, block[9];
        if (source < 0) {
            read_diagonal(p, t->lower, (int)(-1 - source), to);
            continue;
        }
        read_block(p, t->lower, t->column_of[source / 2], source / 2, block);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                to[3 * i + j] = source % 2 ? block[3 * j + i] : block[3 * i + j];
    }
}

static hk_status fill_hessian(hk_analysis *a, bool projected, transposition *t, int64_t *row_start,
                              int32_t *column, double *values)
{
    const hk_pattern *p = &a->assembly->pattern;
    HK_TRY(allocate(p, t));
    HK_TRY(fill_lower(a, projected ? 0 : 1, t->lower));
    list_rows(p, t->first, t->entry, t->column);
    for (int b = 0; b < p->count; b++) {
        t->block_of[vertex_of(a, b)] = b;
        int64_t own = 1 + p->start[b + 1] - p->start[b] + t->first[b + 1] - t->first[b];
        t->next[vertex_of(a, b) + 1] = own;
    }
    for (int v = 0; v < p->count; v++) t->next[v + 1] += t->next[v];
    memcpy(row_start, t->next, sizeof(int64_t) * ((size_t)p->count + 1));
    filler f = {a, t->next, column, t->source};
    fill_pattern(&f, t->block_of, t->first, t->entry, t->column);
    fill_values(a, t, row_start[p->count], values);
    return HK_OK;
}

hk_status hk_analysis_hessian(hk_analysis *a, bool projected, int64_t *row_start, int32_t *column,
                              double *values)
{
    HK_TRY(hk_analysis_check(a, __func__));
    if (!row_start || !column || !values)
        return hk_fail(HK_BAD_INPUT,
                       "hk_analysis_hessian: row_start, column and values are needed");
    HK_TRY(need_assembly(a));
    transposition t = {0};
    hk_status status = fill_hessian(a, projected, &t, row_start, column, values);
    release(&t);
    return status;
}

hk_status hk_analysis_product(hk_analysis *a, bool projected, const double *direction,
                              double *product)
{
    HK_TRY(hk_analysis_check(a, __func__));
    if (!direction || !product)
        return hk_fail(HK_BAD_INPUT, "hk_analysis_product: direction and product are needed");
    hk_terms *terms = a->problem->terms;
    double keep = projected ? 0 : 1;
    hk_problem_blocks(a->problem, a->x, keep, a->blocks);
    hk_analysis_take(a, direction, a->from);
    memset(a->to, 0, hk_world_bytes(a->world));
    hk_terms_add_product(terms, a->blocks, a->from, a->to);
    hk_terms_add_live_product(terms, a->x, keep, a->from, a->to);
    hk_analysis_give(a, a->to, product);
    return HK_OK;
}

// ---------------------------------------------------------------- systems

hk_status hk_analysis_factor(hk_analysis *a, double weight, const double *extra, bool *positive)
{
    HK_TRY(hk_analysis_check(a, __func__));
    if (!positive || !isfinite(weight))
        return hk_fail(HK_BAD_INPUT, "hk_analysis_factor: positive and a finite weight are needed");
    hk_problem *p = a->problem;
    bool direct = hk_direct_available() && p->free_count <= MOST_FOR_DIRECT;
    double phase_s[HK_PHASE_COUNT] = {0};
    a->factored = false;
    if (!a->matrix) HK_TRY(hk_newton_matrix_create(p, !direct, &a->matrix));
    for (int k = 0; k < p->vertex_count; k++)
        a->diagonal[k] = weight * p->mass[k] + (extra ? extra[a->model->order[k]] : 0);
    HK_TRY(hk_newton_matrix_set(a->matrix, a->x, 1, 1, a->diagonal, phase_s, positive));
    a->factored = *positive;
    return HK_OK;
}

hk_status hk_analysis_solve(hk_analysis *a, const double *right, double *solution)
{
    HK_TRY(hk_analysis_check(a, __func__));
    if (!right || !solution)
        return hk_fail(HK_BAD_INPUT, "hk_analysis_solve: right and solution are needed");
    if (!a->factored)
        return hk_fail(HK_BAD_INPUT, "hk_analysis_solve: there is no factor of this state: call "
                                     "hk_analysis_factor first, and look whether it is positive");
    double phase_s[HK_PHASE_COUNT] = {0};
    bool positive;
    hk_analysis_take(a, right, a->from);
    hk_problem_mask(a->problem, a->from);
    for (int64_t k = 0; k < 4 * (int64_t)a->model->vertex_count; k++) a->from[k] = -a->from[k];
    HK_TRY(hk_newton_matrix_solve_exactly(a->matrix, a->from, a->to, phase_s, &positive));
    if (!positive)
        return hk_fail(HK_UNSUPPORTED, "the stiffness at this state is not positive definite");
    hk_analysis_give(a, a->to, solution);
    return HK_OK;
}

// ---------------------------------------------------------------- what is held

hk_status hk_analysis_held(hk_analysis *a, uint8_t *axes, double *positions)
{
    HK_TRY(hk_analysis_check(a, __func__));
    const hk_model *m = a->model;
    if (positions) hk_analysis_give(a, a->x, positions);
    for (int v = 0; v < m->vertex_count; v++) {
        int held = m->hold[v] != HK_FREE ? HK_ALL_AXES : m->axes ? m->axes[v] : 0;
        if (axes) axes[v] = (uint8_t)held;
        if (!positions || held == 0) continue;
        double at[3];
        const double *target = hk_live_target(&a->world->live, v);
        if (held != HK_ALL_AXES)
            memcpy(at, m->rest + 3 * (int64_t)v, sizeof at);
        else if (target)
            memcpy(at, target, sizeof at);
        else if (isnan(a->time))
            hk_model_held_position_at(m, v, 1, at);
        else
            hk_model_held_position(m, v, a->time, at);
        for (int i = 0; i < 3; i++)
            if (held >> i & 1) positions[3 * (int64_t)v + i] = at[i];
    }
    return HK_OK;
}
