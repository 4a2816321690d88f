// The matrix of Newton's method over all parts as one of PETSc's, and its systems.
//
// Every part assembles the lower triangle of its own elements over the free vertices that it knows.
// Rows of its own vertices go straight into PETSc's arrays, to places that are found once; rows of
// ghosts are sent to their owners, the same blocks every time. So a new matrix costs a pass over
// numbers and one message to each neighbour, with no search.
//
// Systems are solved by conjugate gradients with smoothed aggregation that knows the rigid-body
// modes: ML where this PETSc has it, else GAMG. (On the tets of a box GAMG's aggregates have four
// vertices and ML's twelve: its coarse matrices have six times the numbers of the fine one, against
// one, and new levels cost ten times as much; iterations are the same.) Levels stay as they are
// from matrix to matrix until they have wasted as many iterations as new ones are worth. Small
// systems are factored by every process for itself, larger ones where that is asked for by all of
// them, with MUMPS. Options of PETSc's own change all of that.
#include <malloc.h>
#include <math.h>
#include <petscksp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cluster/cluster.h"
#include "term/assembly.h"

// Functions of PETSc that its public headers refer to and do not declare.
PETSC_EXTERN PetscErrorCode PetscObjectStateGet(PetscObject, PetscObjectState *);
PETSC_EXTERN PetscErrorCode PetscObjectStateSet(PetscObject, PetscObjectState);

enum { TAG_PATTERN = 20, TAG_BLOCKS };
// Conjugate gradients that are worth their while; then the direction found is taken.
enum { MOST_ITERATIONS = 500 };
// Free vertices up to which every process factors the whole matrix by itself: that takes two
// messages for a system, where a factorisation by all of them takes hundreds, and gives the same
// bits always.
enum { SMALL = 2000 };
// Iterations that new levels cost.
enum { WORTH_NEW_LEVELS = 10 };

// A block of a row of ours, out of the local triangle or of a message.
typedef struct entry {
    int32_t row;      // own block row
    PetscInt column;  // block column of the whole matrix
    int32_t source;   // of the list of blocks
} entry;

// Where a block of a list is added: first number of its first row, numbers of a row, and where.
typedef struct target {
    int64_t at;
    int32_t stride;
    bool diagonal;  // in the part of the columns of this process, not in the others
} target;

// A block of the local triangle, as it is or transposed.
typedef struct piece {
    int32_t below;   // which of those below the diagonal; -1: that itself
    int32_t column;  // block column
    bool transposed;
} piece;

typedef struct border {  // with one neighbour
    int send_count, receive_count;
    piece *send;                     // [send_count]
    double *send_box, *receive_box;  // [count][9]
    target *receive;                 // [receive_count]
} border;

typedef struct matrix {
    hk_cluster *cluster;
    const hk_assembly *assembly;
    int own_count;     // block rows
    PetscInt first;    // the number of the first of them
    PetscInt *number;  // [pattern.count] of the whole matrix
    int32_t *own_row;  // [pattern.count] block row here, -1: a ghost's
    int piece_count;
    piece *pieces;    // [piece_count] that go into rows of ours
    target *targets;  // [piece_count]
    border *borders;  // [neighbour_count]
    Mat mat;
    Vec right, solution, position;
    KSP ksp;
    bool direct;
    bool redundant;     // every process factors the whole matrix
    bool ready;         // there are levels
    double fresh_rate;  // −log ‖r‖ an iteration with new levels
    double wasted;      // iterations since
} matrix;

static hk_status petsc_failed(PetscErrorCode code, const char *what)
{
    if (code == PETSC_ERR_MEM) return hk_no_memory();
    const char *text = NULL;
    PetscErrorMessage(code, &text, NULL);
    return hk_fail(HK_INTERNAL, "PETSc: %s: %s (error %d)", what,
                   text ? text : "failed, perhaps for lack of memory", (int)code);
}
#define PETSC_TRY(call)                                           \
    do {                                                          \
        PetscErrorCode petsc_code_ = (call);                      \
        if (petsc_code_) return petsc_failed(petsc_code_, #call); \
    } while (0)

// ---------------------------------------------------------------- numbers of rows

static hk_status number_rows(matrix *m)
{
    hk_cluster *c = m->cluster;
    const hk_assembly *a = m->assembly;
    int64_t before = 0, own = 0, all;
    m->number = HK_ARRAY(PetscInt, a->pattern.count);
    m->own_row = HK_ARRAY(int32_t, a->pattern.count);
    double *known = HK_ZEROS(double, 4 * (size_t)c->part.partition.vertex_count);
    hk_status status = m->number && m->own_row && known ? HK_OK : HK_NO_MEMORY;
    status = hk_cluster_agree(c->comm, status);
    for (int b = 0; b < a->pattern.count && status == HK_OK; b++)
        m->own_row[b] = c->part.partition.mine[a->vertex[b]] ? (int32_t)own++ : -1;
    m->own_count = (int)own;
    MPI_Allreduce(&own, &all, 1, MPI_INT64_T, MPI_SUM, c->comm);
    MPI_Exscan(&own, &before, 1, MPI_INT64_T, MPI_SUM, c->comm);
    if (c->rank == 0) before = 0;
    if (status == HK_OK && 3 * all > PETSC_MAX_INT)
        status = hk_fail(HK_UNSUPPORTED,
                         "%lld unknowns are more than this PETSc has numbers for: it needs one "
                         "with 64-bit indices",
                         3 * (long long)all);
    m->first = (PetscInt)before;
    for (int b = 0; b < a->pattern.count && status == HK_OK; b++)
        if (m->own_row[b] >= 0) known[4 * (int64_t)a->vertex[b]] = (double)(before + m->own_row[b]);
    if (status == HK_OK) hk_exchange_spread(c, known);
    for (int b = 0; b < a->pattern.count && status == HK_OK; b++)
        m->number[b] = (PetscInt)known[4 * (int64_t)a->vertex[b]];
    hk_free(known);
    return status;
}

// ---------------------------------------------------------------- blocks of the triangle

// Calls `visit` for every block row by row and its mirror: row and column as local blocks.
typedef void piece_fn(void *context, int32_t row, int32_t column, const piece *piece);

static void visit_pieces(const hk_assembly *a, piece_fn *visit, void *context)
{
    const hk_pattern *p = &a->pattern;
    for (int32_t b = 0; b < p->count; b++) {
        piece own = {-1, b, false};
        visit(context, b, b, &own);
        for (int64_t k = p->start[b]; k < p->start[b + 1]; k++) {
            own.below = (int32_t)(k - p->start[b]);
            own.transposed = false;
            visit(context, p->row[k], b, &own);
            own.transposed = true;
            visit(context, b, p->row[k], &own);
        }
    }
}

// block[3 i + j] of its row i and column j.
static void read_piece(const hk_pattern *p, const double *lower, const piece *s, double block[9])
{
    for (int j = 0; j < 3; j++) {
        const double *column = lower + hk_pattern_column(p, s->column, j);
        if (s->below < 0) {
            for (int i = j; i < 3; i++) block[3 * i + j] = block[3 * j + i] = column[i - j];
            continue;
        }
        for (int i = 0; i < 3; i++) {
            double number = column[3 - j + 3 * s->below + i];
            block[s->transposed ? 3 * j + i : 3 * i + j] = number;
        }
    }
}

// ---------------------------------------------------------------- what goes where

typedef struct lister {
    matrix *m;
    bool count_only;
    PetscInt *pairs;  // [all that are sent][2]
    int64_t *start;   // [neighbour_count] where those of a neighbour begin
    entry *entries;
    int64_t entry_count;
} lister;

static int neighbour_of(const hk_cluster *c, int rank)
{
    for (int k = 0; k < c->neighbour_count; k++)
        if (c->neighbours[k].rank == rank) return k;
    return -1;
}

static void list_piece(void *context, int32_t row, int32_t column, const piece *s)
{
    lister *l = context;
    matrix *m = l->m;
    if (m->own_row[row] >= 0) {
        int n = m->piece_count++;
        if (l->count_only) return;
        m->pieces[n] = *s;
        l->entries[l->entry_count++] = (entry){m->own_row[row], m->number[column], n};
        return;
    }
    int rank = m->cluster->part.owner[m->assembly->vertex[row]];
    int k = neighbour_of(m->cluster, rank);
    border *b = &m->borders[k];
    int n = b->send_count++;
    if (l->count_only) return;
    b->send[n] = *s;
    PetscInt *pair = l->pairs + 2 * (l->start[k] + n);
    pair[0] = m->number[row];
    pair[1] = m->number[column];
}

static hk_status exchange_counts(matrix *m)
{
    hk_cluster *c = m->cluster;
    int n = 0;
    for (int k = 0; k < c->neighbour_count; k++) {
        MPI_Irecv(&m->borders[k].receive_count, 1, MPI_INT, c->neighbours[k].rank, TAG_PATTERN,
                  c->comm, &c->requests[n++]);
        MPI_Isend(&m->borders[k].send_count, 1, MPI_INT, c->neighbours[k].rank, TAG_PATTERN,
                  c->comm, &c->requests[n++]);
    }
    MPI_Waitall(n, c->requests, MPI_STATUSES_IGNORE);
    return HK_OK;
}

static hk_status allocate_lists(matrix *m, lister *l, int64_t *received)
{
    int64_t sent = 0;
    *received = 0;
    m->pieces = HK_ARRAY(piece, m->piece_count);
    m->targets = HK_ARRAY(target, m->piece_count);
    l->start = HK_ARRAY(int64_t, m->cluster->neighbour_count);
    if (!m->pieces || !m->targets || !l->start) return HK_NO_MEMORY;
    for (int k = 0; k < m->cluster->neighbour_count; k++) {
        border *b = &m->borders[k];
        b->send = HK_ARRAY(piece, b->send_count);
        b->send_box = HK_ARRAY(double, 9 * (size_t)b->send_count);
        b->receive_box = HK_ARRAY(double, 9 * (size_t)b->receive_count);
        b->receive = HK_ARRAY(target, b->receive_count);
        if (!b->send || !b->send_box || !b->receive_box || !b->receive) return HK_NO_MEMORY;
        l->start[k] = sent;
        sent += b->send_count;
        *received += b->receive_count;
    }
    l->pairs = HK_ARRAY(PetscInt, 2 * (size_t)sent);
    l->entries = HK_ARRAY(entry, (size_t)m->piece_count + (size_t)*received);
    return l->pairs && l->entries ? HK_OK : HK_NO_MEMORY;
}

// Entries of what comes from neighbours: numbers of them go on after those of the own pieces.
static void exchange_pattern(matrix *m, lister *l, PetscInt *into)
{
    hk_cluster *c = m->cluster;
    int n = 0;
    PetscInt *to = into;
    for (int k = 0; k < c->neighbour_count; k++) {
        const border *b = &m->borders[k];
        MPI_Irecv(to, 2 * b->receive_count, MPIU_INT, c->neighbours[k].rank, TAG_PATTERN, c->comm,
                  &c->requests[n++]);
        MPI_Isend(l->pairs + 2 * l->start[k], 2 * b->send_count, MPIU_INT, c->neighbours[k].rank,
                  TAG_PATTERN, c->comm, &c->requests[n++]);
        to += 2 * (int64_t)b->receive_count;
    }
    MPI_Waitall(n, c->requests, MPI_STATUSES_IGNORE);
    for (int64_t k = 0; 2 * k < to - into; k++) {
        int32_t source = m->piece_count + (int32_t)k;
        l->entries[l->entry_count++] =
            (entry){(int32_t)(into[2 * k] - m->first), into[2 * k + 1], source};
    }
}

static int by_place(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    if (a->column != b->column) return a->column < b->column ? -1 : 1;
    return a->source < b->source ? -1 : a->source > b->source;
}

// ---------------------------------------------------------------- PETSc's matrix

static target *target_of(matrix *m, int32_t source)
{
    if (source < m->piece_count) return &m->targets[source];
    source -= m->piece_count;
    for (int k = 0;; k++) {
        if (source < m->borders[k].receive_count) return &m->borders[k].receive[source];
        source -= m->borders[k].receive_count;
    }
}

// Entries of a row [first, end): how many different columns there are, of this process and others.
static void count_row(const matrix *m, const entry *e, int64_t first, int64_t end, int *inner,
                      int *outer)
{
    *inner = *outer = 0;
    for (int64_t k = first; k < end; k++) {
        if (k > first && e[k].column == e[k - 1].column) continue;
        bool in = e[k].column >= m->first && e[k].column < m->first + m->own_count;
        *(in ? inner : outer) += 1;
    }
}

// Targets of a row, and its columns as numbers into `columns` from `at` on, three rows of them.
static void place_row(matrix *m, const entry *e, int64_t first, int64_t end, const int64_t base[2],
                      const int counts[2], PetscInt *columns)
{
    int seen[2] = {-1, -1}, all = counts[0] + counts[1], column = -1;
    for (int64_t k = first; k < end; k++) {
        int outer = !(e[k].column >= m->first && e[k].column < m->first + m->own_count);
        if (k == first || e[k].column != e[k - 1].column) {
            seen[outer]++;
            column++;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    columns[3 * (all * i + column) + j] = 3 * e[k].column + j;
        }
        *target_of(m, e[k].source) =
            (target){base[outer] + 3 * seen[outer], 3 * counts[outer], outer == 0};
    }
}

static hk_status fill_pattern(matrix *m, const entry *e, int64_t count, PetscInt *start,
                              PetscInt *columns)
{
    int64_t base[2] = {0, 0}, at = 0, k = 0;
    for (int r = 0; r < m->own_count; r++) {
        int64_t end = k;
        int counts[2];
        while (end < count && e[end].row == r) end++;
        count_row(m, e, k, end, &counts[0], &counts[1]);
        place_row(m, e, k, end, base, counts, columns + at);
        for (int i = 0; i < 3; i++)
            start[3 * r + i + 1] = start[3 * r + i] + 3 * (counts[0] + counts[1]);
        for (int side = 0; side < 2; side++) base[side] += 9 * (int64_t)counts[side];
        at += 9 * (int64_t)(counts[0] + counts[1]);
        k = end;
    }
    return HK_OK;
}

static hk_status create_mat(matrix *m, const entry *e, int64_t count)
{
    int64_t blocks = 0;
    for (int64_t k = 0; k < count; k++)
        blocks += k == 0 || e[k].row != e[k - 1].row || e[k].column != e[k - 1].column;
    hk_status status = HK_OK;
    if (9 * blocks > PETSC_MAX_INT)
        status = hk_fail(HK_UNSUPPORTED,
                         "%lld numbers of the matrix are more than a process can have with this "
                         "PETSc: take more processes",
                         9 * (long long)blocks);
    PetscInt *start = HK_ZEROS(PetscInt, 3 * (size_t)m->own_count + 1);
    PetscInt *columns = HK_ARRAY(PetscInt, 9 * (size_t)blocks);
    if (status == HK_OK && (!start || !columns)) status = HK_NO_MEMORY;
    status = hk_cluster_agree(m->cluster->comm, status);
    PetscErrorCode code = 0;
    PetscInt rows = 3 * m->own_count;
    if (status == HK_OK) {
        fill_pattern(m, e, count, start, columns);
        code = MatCreate(m->cluster->comm, &m->mat);
        if (!code) code = MatSetSizes(m->mat, rows, rows, PETSC_DETERMINE, PETSC_DETERMINE);
        if (!code) code = MatSetBlockSize(m->mat, 3);
        if (!code) code = MatSetType(m->mat, m->cluster->size > 1 ? MATMPIAIJ : MATSEQAIJ);
        if (!code && m->cluster->size > 1)
            code = MatMPIAIJSetPreallocationCSR(m->mat, start, columns, NULL);
        if (!code && m->cluster->size == 1)
            code = MatSeqAIJSetPreallocationCSR(m->mat, start, columns, NULL);
        if (!code) code = MatSetOption(m->mat, MAT_SYMMETRIC, PETSC_TRUE);
        if (!code) code = MatSetOption(m->mat, MAT_SYMMETRY_ETERNAL, PETSC_TRUE);
    }
    hk_free(start);
    hk_free(columns);
    return code ? petsc_failed(code, "a matrix") : status;
}

static hk_status build_pattern(matrix *m)
{
    hk_cluster *c = m->cluster;
    lister l = {.m = m, .count_only = true};
    int64_t received;
    m->borders = HK_ZEROS(border, c->neighbour_count);
    HK_TRY(hk_cluster_agree(c->comm, m->borders ? HK_OK : HK_NO_MEMORY));
    visit_pieces(m->assembly, list_piece, &l);
    HK_TRY(exchange_counts(m));
    hk_status status = allocate_lists(m, &l, &received);
    PetscInt *into = HK_ARRAY(PetscInt, 2 * (size_t)received);
    if (!into) status = HK_NO_MEMORY;
    status = hk_cluster_agree(c->comm, status);
    if (status == HK_OK) {
        m->piece_count = 0;
        for (int k = 0; k < c->neighbour_count; k++) m->borders[k].send_count = 0;
        l.count_only = false;
        visit_pieces(m->assembly, list_piece, &l);
        exchange_pattern(m, &l, into);
        qsort(l.entries, (size_t)l.entry_count, sizeof *l.entries, by_place);
        status = create_mat(m, l.entries, l.entry_count);
    }
    hk_free(into);
    hk_free(l.pairs);
    hk_free(l.start);
    hk_free(l.entries);
    return status;
}

// ---------------------------------------------------------------- the solver

// What is usual here; options that the user has given stay.
static PetscErrorCode usual(const char *name, const char *value)
{
    PetscBool given;
    PetscErrorCode code = PetscOptionsHasName(NULL, NULL, name, &given);
    return code || given ? code : PetscOptionsSetValue(NULL, name, value);
}

static hk_status choose_defaults(bool direct)
{
    static const char *const multigrid[][2] = {
        {"-pc_ml_CoarsenScheme", "MIS"},      {"-pc_gamg_type", "agg"},
        {"-pc_gamg_threshold", "0.0"},        {"-pc_gamg_agg_nsmooths", "1"},
        {"-mg_levels_ksp_type", "chebyshev"}, {"-mg_levels_ksp_max_it", "2"},
        {"-mg_levels_pc_type", "jacobi"},
    };
    for (int k = 0; k < HK_COUNT_OF(multigrid) && !direct; k++)
        PETSC_TRY(usual(multigrid[k][0], multigrid[k][1]));
    // MUMPS shares out work as processes have time for it: with a fifth more room than it expects,
    // as it takes it, there is now and then too little. Percent more than that.
    if (direct) PETSC_TRY(usual("-mat_mumps_icntl_14", "200"));
    return HK_OK;
}

static hk_status create_solver(matrix *m)
{
    PETSC_TRY(KSPCreate(m->cluster->comm, &m->ksp));
    PETSC_TRY(KSPSetType(m->ksp, m->direct ? KSPPREONLY : KSPCG));
    PETSC_TRY(KSPSetNormType(m->ksp, m->direct ? KSP_NORM_NONE : KSP_NORM_UNPRECONDITIONED));
    PC pc;
    PETSC_TRY(KSPGetPC(m->ksp, &pc));
    m->redundant =
        m->direct && m->cluster->size > 1 && m->cluster->part.partition.free_count < SMALL;
    if (m->redundant) {
        PETSC_TRY(PCSetType(pc, PCREDUNDANT));
        PETSC_TRY(PCRedundantSetNumber(pc, m->cluster->size));
        PETSC_TRY(usual("-redundant_ksp_type", KSPPREONLY));
        PETSC_TRY(usual("-redundant_pc_type", PCCHOLESKY));
        PETSC_TRY(usual("-redundant_pc_factor_mat_solver_type", MATSOLVERMUMPS));
    } else if (m->direct) {
        PETSC_TRY(PCSetType(pc, PCCHOLESKY));
        PETSC_TRY(PCFactorSetMatSolverType(pc, MATSOLVERMUMPS));
    } else if (PCSetType(pc, PCML) != 0) {
        PETSC_TRY(PCSetType(pc, PCGAMG));
    }
    PETSC_TRY(KSPSetOperators(m->ksp, m->mat, m->mat));
    HK_TRY(choose_defaults(m->direct));
    PETSC_TRY(KSPSetFromOptions(m->ksp));
    PETSC_TRY(MatCreateVecs(m->mat, &m->solution, &m->right));
    PETSC_TRY(VecDuplicate(m->right, &m->position));
    PETSC_TRY(VecSetBlockSize(m->position, 3));
    return HK_OK;
}

static void matrix_free(void *matrix_)
{
    matrix *m = matrix_;
    if (!m) return;
    KSPDestroy(&m->ksp);
    MatDestroy(&m->mat);
    VecDestroy(&m->right);
    VecDestroy(&m->solution);
    VecDestroy(&m->position);
    for (int k = 0; m->borders && k < m->cluster->neighbour_count; k++) {
        hk_free(m->borders[k].send);
        hk_free(m->borders[k].send_box);
        hk_free(m->borders[k].receive_box);
        hk_free(m->borders[k].receive);
    }
    hk_free(m->borders);
    hk_free(m->number);
    hk_free(m->own_row);
    hk_free(m->pieces);
    hk_free(m->targets);
    hk_free(m);
}

static hk_status build(matrix *m)
{
    HK_TRY(number_rows(m));
    if (m->cluster->part.partition.free_count == 0) return HK_OK;  // there are no systems
    HK_TRY(build_pattern(m));
    return create_solver(m);
}

static hk_status matrix_create(hk_partition *partition, const hk_assembly *assembly, bool direct,
                               void **made)
{
    hk_cluster *c = hk_cluster_of(partition);
    matrix *m = HK_NEW(matrix);
    HK_TRY(hk_cluster_agree(c->comm, m ? HK_OK : HK_NO_MEMORY));
    m->cluster = c;
    m->assembly = assembly;
    m->direct = direct;
    hk_status status = build(m);
    if (status != HK_OK) {
        matrix_free(m);
        return status;
    }
    *made = m;
    return HK_OK;
}

// ---------------------------------------------------------------- numbers

typedef struct arrays {
    Mat inner, outer;
    double *in, *out;
} arrays;

static hk_status open_arrays(const matrix *m, arrays *a)
{
    *a = (arrays){.inner = m->mat};
    const PetscInt *map;
    if (m->cluster->size > 1) PETSC_TRY(MatMPIAIJGetSeqAIJ(m->mat, &a->inner, &a->outer, &map));
    PETSC_TRY(MatSeqAIJGetArray(a->inner, &a->in));
    if (a->outer) PETSC_TRY(MatSeqAIJGetArray(a->outer, &a->out));
    MatInfo info;
    PETSC_TRY(MatGetInfo(a->inner, MAT_LOCAL, &info));
    memset(a->in, 0, sizeof(double) * (size_t)info.nz_used);
    if (!a->outer) return HK_OK;
    PETSC_TRY(MatGetInfo(a->outer, MAT_LOCAL, &info));
    memset(a->out, 0, sizeof(double) * (size_t)info.nz_used);
    return HK_OK;
}

static hk_status close_arrays(const matrix *m, arrays *a)
{
    PETSC_TRY(MatSeqAIJRestoreArray(a->inner, &a->in));
    if (a->outer) PETSC_TRY(MatSeqAIJRestoreArray(a->outer, &a->out));
    PETSC_TRY(MatAssemblyBegin(m->mat, MAT_FINAL_ASSEMBLY));
    PETSC_TRY(MatAssemblyEnd(m->mat, MAT_FINAL_ASSEMBLY));
    PetscObjectState state;  // solvers find out by it that the numbers are others
    PETSC_TRY(PetscObjectStateGet((PetscObject)m->mat, &state));
    PETSC_TRY(PetscObjectStateSet((PetscObject)m->mat, state + 1));
    return HK_OK;
}

static void add_block(const arrays *a, const target *t, const double block[9])
{
    double *to = (t->diagonal ? a->in : a->out) + t->at;
    for (int i = 0; i < 3; i++, to += t->stride)
        for (int j = 0; j < 3; j++) to[j] += block[3 * i + j];
}

static void begin_blocks(matrix *m, const double *lower, int *requests)
{
    hk_cluster *c = m->cluster;
    for (int k = 0; k < c->neighbour_count; k++) {
        border *b = &m->borders[k];
        int rank = c->neighbours[k].rank;
        for (int n = 0; n < b->send_count; n++)
            read_piece(&m->assembly->pattern, lower, &b->send[n], b->send_box + 9 * (int64_t)n);
        MPI_Irecv(b->receive_box, 9 * b->receive_count, MPI_DOUBLE, rank, TAG_BLOCKS, c->comm,
                  &c->requests[(*requests)++]);
        MPI_Isend(b->send_box, 9 * b->send_count, MPI_DOUBLE, rank, TAG_BLOCKS, c->comm,
                  &c->requests[(*requests)++]);
        c->messages++;
        c->message_bytes += 9 * (int64_t)sizeof(double) * b->send_count;
    }
}

static hk_status assemble(matrix *m, const double *lower)
{
    hk_cluster *c = m->cluster;
    arrays a;
    int requests = 0;
    begin_blocks(m, lower, &requests);
    HK_TRY(open_arrays(m, &a));
    for (int n = 0; n < m->piece_count; n++) {
        double block[9];
        read_piece(&m->assembly->pattern, lower, &m->pieces[n], block);
        add_block(&a, &m->targets[n], block);
    }
    MPI_Waitall(requests, c->requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < c->neighbour_count; k++)
        for (int n = 0; n < m->borders[k].receive_count; n++)
            add_block(&a, &m->borders[k].receive[n], m->borders[k].receive_box + 9 * (int64_t)n);
    return close_arrays(m, &a);
}

// Rigid-body modes of where things are now, for levels that are made anew.
static hk_status tell_modes(matrix *m, const double *x)
{
    const hk_assembly *a = m->assembly;
    double *at;
    PETSC_TRY(VecGetArray(m->position, &at));
    for (int b = 0; b < a->pattern.count; b++)
        for (int i = 0; i < 3 && m->own_row[b] >= 0; i++)
            at[3 * (int64_t)m->own_row[b] + i] = x[4 * (int64_t)a->vertex[b] + i];
    PETSC_TRY(VecRestoreArray(m->position, &at));
    MatNullSpace modes;
    PETSC_TRY(MatNullSpaceCreateRigidBody(m->position, &modes));
    PETSC_TRY(MatSetNearNullSpace(m->mat, modes));
    PETSC_TRY(MatNullSpaceDestroy(&modes));
    return HK_OK;
}

// A factor tells of negative pivots, conjugate gradients of directions of negative curvature when
// they meet one.
static hk_status is_positive(const matrix *m, bool *positive)
{
    PC pc;
    PCFailedReason why;
    PCType type;
    PETSC_TRY(KSPGetPC(m->ksp, &pc));
    if (m->redundant) PETSC_TRY(PCGetType(pc, &type));
    if (m->redundant && strcmp(type, PCREDUNDANT) == 0) {
        KSP inner;
        PETSC_TRY(PCRedundantGetKSP(pc, &inner));
        PETSC_TRY(KSPGetPC(inner, &pc));
    }
    PETSC_TRY(PCGetFailedReason(pc, &why));
    PETSC_TRY(PCGetType(pc, &type));
    if (why == PC_FACTOR_OUTMEMORY)
        return hk_fail(HK_NO_MEMORY, "PETSc: no memory for a factor: set solver.linear=multigrid, "
                                     "or take more processes");
    *positive = why == PC_NOERROR;
    MatSolverType solver = NULL;
    if (*positive && strcmp(type, PCCHOLESKY) == 0)
        PETSC_TRY(PCFactorGetMatSolverType(pc, &solver));
    if (!solver || strcmp(solver, MATSOLVERMUMPS) != 0) return HK_OK;
    Mat factor;
    PetscInt negative;
    PETSC_TRY(PCFactorGetMatrix(pc, &factor));
    PETSC_TRY(MatMumpsGetInfog(factor, 12, &negative));
    *positive = !hk_partition_any(&m->cluster->part.partition, negative != 0);
    return HK_OK;
}

static bool makes_levels(const matrix *m)
{
    return m->direct || !m->ready || m->wasted > WORTH_NEW_LEVELS;
}

// Its pages go back to the system, and come again as zeros when they are written to. (All of them
// are private to the process: its allocator is the standard one.)
static bool matrix_borrow(const void *matrix_, void *memory, size_t size)
{
    enum { WORTH_WHILE = 1 << 20 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)memory + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)memory + size) / page * page;
    if (!makes_levels(matrix_) || size < WORTH_WHILE) return false;
    return madvise((void *)begin, end - begin, MADV_DONTNEED) == 0;
}

static hk_status matrix_set(void *matrix_, const double *lower, const double *x, bool *positive)
{
    matrix *m = matrix_;
    HK_TRY(assemble(m, lower));
    bool anew = makes_levels(m);
    if (anew && !m->direct) HK_TRY(tell_modes(m, x));
    PETSC_TRY(KSPSetReusePreconditioner(m->ksp, anew ? PETSC_FALSE : PETSC_TRUE));
    PETSC_TRY(KSPSetOperators(m->ksp, m->mat, m->mat));
    PetscErrorCode code = KSPSetUp(m->ksp);
    if (code) return petsc_failed(code, "KSPSetUp");
    if (anew) malloc_trim(0);  // products of coarse matrices, a third of what levels need
    HK_TRY(is_positive(m, positive));
    m->ready = *positive;
    if (anew) m->wasted = m->fresh_rate = 0;
    return HK_OK;
}

// ---------------------------------------------------------------- systems

static void count_waste(matrix *m, int iterations, double gained)
{
    if (iterations == 0 || !(gained > 0)) return;
    if (m->fresh_rate == 0) {
        m->fresh_rate = gained / iterations;
        return;
    }
    m->wasted += fmax(0, iterations - gained / m->fresh_rate);
}

static hk_status read_direction(matrix *m, double *direction)
{
    const hk_assembly *a = m->assembly;
    const double *found;
    PETSC_TRY(VecGetArrayRead(m->solution, &found));
    for (int b = 0; b < a->pattern.count; b++)
        for (int i = 0; i < 3 && m->own_row[b] >= 0; i++)
            direction[4 * (int64_t)a->vertex[b] + i] = found[3 * (int64_t)m->own_row[b] + i];
    PETSC_TRY(VecRestoreArrayRead(m->solution, &found));
    hk_exchange_spread(m->cluster, direction);
    return HK_OK;
}

static hk_status matrix_solve(void *matrix_, double tolerance, const double *gradient,
                              double *direction, int *iterations, bool *positive)
{
    matrix *m = matrix_;
    const hk_assembly *a = m->assembly;
    double *right;
    PETSC_TRY(VecGetArray(m->right, &right));
    for (int b = 0; b < a->pattern.count; b++)
        for (int i = 0; i < 3 && m->own_row[b] >= 0; i++)
            right[3 * (int64_t)m->own_row[b] + i] = -gradient[4 * (int64_t)a->vertex[b] + i];
    PETSC_TRY(VecRestoreArray(m->right, &right));
    PETSC_TRY(KSPSetTolerances(m->ksp, tolerance, PETSC_DEFAULT, PETSC_DEFAULT, MOST_ITERATIONS));
    PetscErrorCode code = KSPSolve(m->ksp, m->right, m->solution);
    if (code) return petsc_failed(code, "KSPSolve");
    KSPConvergedReason why;
    PetscInt count;
    PetscReal left, whole;
    PETSC_TRY(KSPGetConvergedReason(m->ksp, &why));
    PETSC_TRY(KSPGetIterationNumber(m->ksp, &count));
    PETSC_TRY(KSPGetResidualNorm(m->ksp, &left));
    PETSC_TRY(VecNorm(m->right, NORM_2, &whole));
    // Out of iterations, the direction found is good enough.
    *positive = why > 0 || why == KSP_DIVERGED_ITS;
    *iterations = (int)count;
    if (*positive && !m->direct) count_waste(m, (int)count, -log(fmax(left / whole, 1e-16)));
    return read_direction(m, direction);
}

static void matrix_describe(const void *matrix_, char *text, size_t size)
{
    const matrix *m = matrix_;
    KSPType method = NULL;
    PCType preconditioner = NULL;
    PC pc;
    if (m->ksp && !KSPGetType(m->ksp, &method) && !KSPGetPC(m->ksp, &pc))
        PCGetType(pc, &preconditioner);
    snprintf(text, size, "PETSc %s with %s on %d processes", method ? method : "?",
             preconditioner ? preconditioner : "?", m->cluster->size);
}

const hk_partition_matrix_ops hk_petsc_matrix = {.create = matrix_create,
                                                 .free = matrix_free,
                                                 .borrow = matrix_borrow,
                                                 .set = matrix_set,
                                                 .solve = matrix_solve,
                                                 .describe = matrix_describe};
