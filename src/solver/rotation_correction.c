#include "solver/rotation_correction.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "solver/clusters.h"
#include "term/instances.h"

typedef float quad __attribute__((vector_size(16), may_alias));

enum {
    BLOCK = HK_ROTATION_BLOCK,
    RUN = 8,  // blocks that a thread does at a time
};

typedef hk_rotation_entry entry;

// What a body shares with its copies.
typedef struct shape {
    int body;                // the first of them
    int clusters, unknowns;  // of one copy
    double *weight;          // [clusters] 2 W_c, J
    int32_t *start;          // [clusters + 1] in entries
    entry *entries;
    int32_t *row;    // [unknowns] where they are in the vector, ascending
    float *columns;  // [blocks][3 clusters][BLOCK] P / length
    double *tau;     // [3 clusters][3 clusters]
} shape;

// A body, with what it needs during a step. Matrices of its clusters are [9][padded count].
typedef struct turner {
    int body, shape;
    int vertex_start;
    int32_t shift;    // of its unknowns from those of the first copy
    float *gradient;  // their mean gradients
    float *change;    // what Δ₀ changes of them
    float *rotation;  // R_c √θ
    float *turn;      // [3 clusters][4] what columns are multiplied with
} turner;

// Blocks of a body.
typedef struct run {
    int turner, begin, end;
} run;

struct hk_rotation_correction {
    hk_rotation_correction_def def;
    int shape_count, turner_count, run_count;
    shape *shapes;
    turner *turners;
    run *runs;
    float *workspace;  // of the turners
    double *dense;     // [threads][dense_size] small systems
    size_t dense_size;
};

static int padded(int count, int lanes)
{
    return (count + lanes - 1) / lanes * lanes;
}

static int blocks_of(const shape *s)
{
    return (s->unknowns + BLOCK - 1) / BLOCK;
}

// ---------------------------------------------------------------- the vectors g

// Vertices inside a cluster of one stiffness have a sum of 0 but for rounding.
static bool counts(const double *slope, double largest)
{
    return fmax(fabs(slope[0]), fmax(fabs(slope[1]), fabs(slope[2]))) > 1e-9 * largest;
}

static hk_status add_cluster(const hk_rotation_correction_def *d, const hk_body *body, int which,
                             double *sum, shape *s, size_t *workspace)
{
    int count = s->start[which];
    double largest = 0, scale = d->length / (s->weight[which] / 2);
    for (int k = 0; k < 3 * body->vertex_count; k++) largest = fmax(largest, fabs(sum[k]));
    HK_TRY(hk_reserve((void **)&s->entries, (size_t)count, sizeof *s->entries, workspace,
                      (size_t)count + (size_t)body->vertex_count));
    for (int v = 0; v < body->vertex_count; v++) {
        if (!counts(sum + 3 * (int64_t)v, largest)) continue;
        entry *e = &s->entries[count++];
        e->vertex = v;
        e->unknown = d->unknown[d->model->place[body->vertex_start + v]];
        for (int i = 0; i < 3; i++) e->slope[i] = (float)(scale * sum[3 * (int64_t)v + i]);
    }
    s->start[which + 1] = count;
    return HK_OK;
}

static int by_number(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return a < b ? -1 : a > b;
}

static hk_status list_rows(const hk_rotation_correction_def *d, const hk_body *body, shape *s)
{
    s->row = HK_ARRAY(int32_t, body->vertex_count);
    if (!s->row) return HK_NO_MEMORY;
    for (int v = 0; v < body->vertex_count; v++) {
        int32_t at = d->unknown[d->model->place[body->vertex_start + v]];
        if (at >= 0) s->row[s->unknowns++] = at;
    }
    qsort(s->row, (size_t)s->unknowns, sizeof *s->row, by_number);
    return HK_OK;
}

static hk_status fill_shape(const hk_rotation_correction_def *d, shape *s)
{
    const hk_body *body = &d->model->bodies[s->body];
    s->clusters = hk_max_int(1, hk_min_int(d->clusters, body->tet_count / HK_CLUSTER_TETS));
    size_t columns = 3 * (size_t)s->clusters, workspace = 0;
    HK_TRY(list_rows(d, body, s));
    s->weight = HK_ARRAY(double, s->clusters);
    s->start = HK_ZEROS(int32_t, s->clusters + 1);
    s->columns = HK_ZEROS(float, columns *BLOCK *(size_t)blocks_of(s));
    s->tau = HK_ZEROS(double, columns *columns);
    int32_t *cluster = HK_ARRAY(int32_t, body->tet_count);
    double *sum = HK_ARRAY(double, 3 * (size_t)body->vertex_count);
    hk_status status = s->weight && s->start && s->columns && s->tau && cluster && sum
                           ? hk_find_clusters(d->model, body, d->stiffness, s->clusters, cluster)
                           : HK_NO_MEMORY;
    for (int c = 0; c < s->clusters && status == HK_OK; c++) {
        s->weight[c] = 2 * hk_cluster_slopes(d->model, body, d->stiffness, cluster, c, sum);
        status = add_cluster(d, body, c, sum, s, &workspace);
    }
    hk_free(cluster);
    hk_free(sum);
    return status;
}

// ---------------------------------------------------------------- bodies

// Whether a body may use what its original has: its unknowns are another copy of the same piece.
static bool same_unknowns(const hk_rotation_correction_def *d, const hk_body *a, const hk_body *b,
                          int32_t *shift)
{
    const int32_t *place = d->model->place;
    bool known = false;
    *shift = 0;
    if (!d->components) return false;
    for (int v = 0; v < a->vertex_count; v++) {
        int32_t i = d->unknown[place[a->vertex_start + v]];
        int32_t j = d->unknown[place[b->vertex_start + v]];
        if ((i < 0) != (j < 0)) return false;
        if (i < 0) continue;
        if (known && j - i != *shift) return false;
        *shift = j - i;
        known = true;
    }
    if (!known) return true;
    int32_t at = d->unknown[place[a->vertex_start]];
    for (int v = 1; at < 0; v++) at = d->unknown[place[a->vertex_start + v]];
    for (int k = 0; k < d->components->shape_count; k++) {
        const hk_component_shape *s = &d->components->shapes[k];
        if (at < s->first || at >= s->first + s->copies * s->count) continue;
        int32_t to = at + *shift;
        return to >= s->first && to < s->first + s->copies * s->count && *shift % s->count == 0;
    }
    return false;
}

static bool turns(const hk_rotation_correction_def *d, const hk_body *body)
{
    for (int t = body->tet_start; t < body->tet_start + body->tet_count; t++)
        if (!d->turns[d->model->tet_material[t]]) return false;
    return body->tet_count > 0;
}

static hk_status add_body(hk_rotation_correction *t, const hk_instance *copies, int body,
                          int32_t *shape_of)
{
    const hk_rotation_correction_def *d = &t->def;
    const hk_model *m = d->model;
    int original = copies[body].original;
    turner *each = &t->turners[t->turner_count++];
    each->body = body;
    each->vertex_start = m->bodies[body].vertex_start;
    if (original != body && shape_of[original] >= 0 &&
        same_unknowns(d, &m->bodies[original], &m->bodies[body], &each->shift)) {
        each->shape = shape_of[original];
        return HK_OK;
    }
    each->shift = 0;
    each->shape = shape_of[body] = t->shape_count++;
    t->shapes[each->shape].body = body;
    return fill_shape(d, &t->shapes[each->shape]);
}

static hk_status add_bodies(hk_rotation_correction *t)
{
    const hk_model *m = t->def.model;
    hk_instance *copies = HK_ARRAY(hk_instance, m->body_count);
    int32_t *shape_of = HK_ARRAY(int32_t, m->body_count);
    t->shapes = HK_ZEROS(shape, m->body_count);
    t->turners = HK_ZEROS(turner, m->body_count);
    hk_status status = copies && shape_of && t->shapes && t->turners ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) hk_find_instances(m, copies);
    for (int b = 0; b < m->body_count && status == HK_OK; b++) {
        shape_of[b] = -1;
        if (turns(&t->def, &m->bodies[b])) status = add_body(t, copies, b, shape_of);
    }
    hk_free(copies);
    hk_free(shape_of);
    return status;
}

// ---------------------------------------------------------------- creation

// Rows of the small systems have the right-hand side at their end, and whole registers.
static int row_of(const shape *s)
{
    return padded(3 * s->clusters + 1, 8);
}

// Behind them: rotations in double precision.
static size_t rotations_of(const shape *s)
{
    return (size_t)padded(9 * s->clusters, 8);
}

static hk_status give_room(hk_rotation_correction *t)
{
    size_t size = 0, runs = 0;
    for (int k = 0; k < t->turner_count; k++) {
        const shape *s = &t->shapes[t->turners[k].shape];
        size_t dense = 3 * (size_t)s->clusters * (size_t)row_of(s) + rotations_of(s);
        size += 27 * (size_t)padded(s->clusters, 16) + 12 * (size_t)padded(s->clusters, 16);
        runs += (size_t)(blocks_of(s) + RUN - 1) / RUN;
        if (dense > t->dense_size) t->dense_size = dense;
    }
    t->workspace = HK_ZEROS(float, size);
    t->runs = HK_ARRAY(run, runs);
    t->dense = HK_ZEROS(double, t->dense_size *(size_t)t->def.threads);
    if (!t->workspace || !t->runs || !t->dense) return HK_NO_MEMORY;
    float *at = t->workspace;
    for (int k = 0; k < t->turner_count; k++) {
        turner *each = &t->turners[k];
        const shape *s = &t->shapes[each->shape];
        int64_t count = padded(s->clusters, 16);
        each->gradient = at;
        each->change = at + 9 * count;
        each->rotation = at + 18 * count;
        each->turn = at + 27 * count;
        at = each->turn + 12 * padded(s->clusters, 16);
        for (int b = 0; b < blocks_of(s); b += RUN)
            t->runs[t->run_count++] = (run){k, b, hk_min_int(b + RUN, blocks_of(s))};
    }
    return HK_OK;
}

hk_status hk_rotation_correction_create(const hk_rotation_correction_def *def,
                                        hk_rotation_correction **turning)
{
    hk_rotation_correction *t = HK_NEW(hk_rotation_correction);
    if (!t) return HK_NO_MEMORY;
    t->def = *def;
    hk_status status = add_bodies(t);
    if (status == HK_OK) status = give_room(t);
    t->def.stiffness = NULL;  // not kept
    t->def.turns = NULL;
    if (status != HK_OK) {
        hk_rotation_correction_free(t);
        return status;
    }
    *turning = t;
    return HK_OK;
}

void hk_rotation_correction_free(hk_rotation_correction *t)
{
    if (!t) return;
    for (int k = 0; k < t->shape_count; k++) {
        hk_free(t->shapes[k].weight);
        hk_free(t->shapes[k].start);
        hk_free(t->shapes[k].entries);
        hk_free(t->shapes[k].row);
        hk_free(t->shapes[k].columns);
        hk_free(t->shapes[k].tau);
    }
    hk_free(t->shapes);
    hk_free(t->turners);
    hk_free(t->runs);
    hk_free(t->workspace);
    hk_free(t->dense);
    hk_free(t);
}

int hk_rotation_correction_clusters(const hk_rotation_correction *t)
{
    int sum = 0;
    for (int k = 0; k < t->turner_count; k++) sum += t->shapes[t->turners[k].shape].clusters;
    return sum;
}

int hk_rotation_correction_bodies(const hk_rotation_correction *t)
{
    return t->turner_count;
}

hk_rotation_body hk_rotation_correction_body(const hk_rotation_correction *t, int which)
{
    const turner *each = &t->turners[which];
    const shape *s = &t->shapes[each->shape];
    return (hk_rotation_body){.body = each->body,
                              .clusters = s->clusters,
                              .unknowns = s->unknowns,
                              .shift = each->shift,
                              .weight = s->weight,
                              .start = s->start,
                              .entries = s->entries,
                              .row = s->row,
                              .columns = s->columns,
                              .tau = s->tau};
}

// ---------------------------------------------------------------- P and τ

static void put_slopes(const shape *s, int cluster, double *b)
{
    for (int e = s->start[cluster]; e < s->start[cluster + 1]; e++) {
        const entry *at = &s->entries[e];
        for (int i = 0; i < 3 && at->unknown >= 0; i++)
            b[4 * (int64_t)at->unknown + i] = (double)at->slope[i];
    }
}

// From the solution for one cluster's vectors, which are g × length: its columns of P, and of τ.
static void take_columns(double length, const double *x, int cluster, shape *s)
{
    int columns = 3 * s->clusters;
    double unit = 1 / (length * length);
    for (int k = 0; k < s->unknowns; k++)
        for (int i = 0; i < 3; i++)
            s->columns[((int64_t)(k / BLOCK) * columns + 3 * cluster + i) * BLOCK + k % BLOCK] =
                (float)(unit * x[4 * (int64_t)s->row[k] + i]);
    for (int c = 0; c < s->clusters; c++)
        for (int e = s->start[c]; e < s->start[c + 1]; e++) {
            const entry *at = &s->entries[e];
            for (int k = 0; k < 9 && at->unknown >= 0; k++)
                s->tau[(3 * c + k / 3) * columns + 3 * cluster + k % 3] +=
                    unit * (double)at->slope[k / 3] * x[4 * (int64_t)at->unknown + k % 3];
        }
}

static void mirror(shape *s)
{
    int n = 3 * s->clusters;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            s->tau[i * n + j] = s->tau[j * n + i] = (s->tau[i * n + j] + s->tau[j * n + i]) / 2;
}

static int rows_of(const hk_rotation_correction_def *d)
{
    return d->components ? d->components->count : d->count;
}

static hk_status solve(const hk_rotation_correction_def *d, const double *b, double *x)
{
    if (!d->components) return d->solve(d->context, b, x);
    hk_components_solve_wide(d->components, b, x);
    return HK_OK;
}

// One cluster of every shape at a time.
static hk_status solve_clusters(hk_rotation_correction *t, double *b, double *x)
{
    int most = 0;
    for (int k = 0; k < t->shape_count; k++) most = hk_max_int(most, t->shapes[k].clusters);
    for (int c = 0; c < most; c++) {
        memset(b, 0, 4 * sizeof *b * (size_t)rows_of(&t->def));
        for (int k = 0; k < t->shape_count; k++)
            if (c < t->shapes[k].clusters) put_slopes(&t->shapes[k], c, b);
        HK_TRY(solve(&t->def, b, x));
        for (int k = 0; k < t->shape_count; k++)
            if (c < t->shapes[k].clusters) take_columns(t->def.length, x, c, &t->shapes[k]);
    }
    return HK_OK;
}

// The solves are refined: a stiff body turns by the small difference of C⁻¹ and B A⁻¹ Bᵀ.
hk_status hk_rotation_correction_prepare(hk_rotation_correction *t)
{
    if (t->shape_count == 0) return HK_OK;
    size_t size = 4 * (size_t)rows_of(&t->def);
    double *b = HK_ARRAY(double, size), *x = HK_ARRAY(double, size);
    hk_status status = b && x ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        for (int k = 0; k < t->shape_count; k++) {
            shape *s = &t->shapes[k];
            memset(s->tau, 0, 9 * sizeof(double) * (size_t)s->clusters * (size_t)s->clusters);
        }
        status = solve_clusters(t, b, x);
        for (int k = 0; k < t->shape_count; k++) mirror(&t->shapes[k]);
    }
    hk_free(b);
    hk_free(x);
    return status;
}

// ---------------------------------------------------------------- a step

typedef float v8 __attribute__((vector_size(32), may_alias));
typedef float v16 __attribute__((vector_size(64), may_alias));
typedef double d2 __attribute__((vector_size(16), may_alias));
typedef double d4 __attribute__((vector_size(32), may_alias));
typedef double d8 __attribute__((vector_size(64), may_alias));

#define TARGET
#define NAME(x) x##_generic
#define LANES   4
#define VEC     quad
#define DVEC    d2
#include "solver/rotation_correction_kernels.inl"
#undef TARGET
#undef NAME
#undef LANES
#undef VEC
#undef DVEC
#ifdef __x86_64__
#define TARGET  __attribute__((target("avx2,fma")))
#define NAME(x) x##_avx2
#define LANES   8
#define VEC     v8
#define DVEC    d4
#include "solver/rotation_correction_kernels.inl"
#undef TARGET
#undef NAME
#undef LANES
#undef VEC
#undef DVEC
#define TARGET  __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")))
#define NAME(x) x##_avx512
#define LANES   16
#define VEC     v16
#define DVEC    d8
#include "solver/rotation_correction_kernels.inl"
#undef TARGET
#undef NAME
#undef LANES
#undef VEC
#undef DVEC
#endif

typedef struct kernels {
    void (*measure)(const shape *s, const turner *each, int count, const int32_t *place,
                    const float *x, const float *vector);
    void (*fill)(const shape *s, const turner *each, int count, const double *rotation, double *a);
    bool (*eliminate)(int count, int row, double least, double *a);
    void (*add)(const shape *s, const turner *each, int begin, int end, float *vector,
                float *beyond);
} kernels;

static kernels kernels_of(int lanes)
{
#ifdef __x86_64__
    if (lanes == 16) return (kernels){measure_avx512, fill_avx512, eliminate_avx512, add_avx512};
    if (lanes == 8) return (kernels){measure_avx2, fill_avx2, eliminate_avx2, add_avx2};
#endif
    (void)lanes;
    return (kernels){measure_generic, fill_generic, eliminate_generic, add_generic};
}

// What the columns are multiplied with: ½ z × R_c e_j. z is where the right-hand side was.
static void fill_turn(const shape *s, const double *rotation, const double *a, float *turn)
{
    int row = row_of(s), n = 3 * s->clusters;
    for (int c = 0; c < s->clusters; c++) {
        const double *R = rotation + 9 * c;
        double z[3];
        for (int i = 0; i < 3; i++) z[i] = a[(3 * c + i) * row + n];
        for (int axis = 0; axis < 3; axis++)
            for (int i = 0; i < 3; i++) {
                int j = (i + 1) % 3, k = (i + 2) % 3;
                turn[4 * (3 * c + axis) + i] =
                    (float)(0.5 * (z[j] * R[3 * k + axis] - z[k] * R[3 * j + axis]));
            }
    }
}

// How a body turns beyond Δ₀; not at all where the system is not positive.
static void find_turn(const hk_rotation_correction *t, const kernels *use, const turner *each,
                      const float *x, double *a)
{
    const shape *s = &t->shapes[each->shape];
    int lanes = t->def.table->lanes, count = padded(s->clusters, 16);
    double *rotation = a + (int64_t)3 * s->clusters * row_of(s), least = INFINITY;
    use->measure(s, each, count, t->def.model->place, x, t->def.components->vector);
    for (int c = 0; c < count; c += lanes)
        t->def.table->rotations(each->gradient + c, count, each->rotation + c);
    for (int c = 0; c < s->clusters; c++) {
        for (int k = 0; k < 9; k++) rotation[9 * c + k] = (double)each->rotation[k * count + c];
        least = fmin(least, 1e-9 / s->weight[c]);
    }
    use->fill(s, each, count, rotation, a);
    if (use->eliminate(3 * s->clusters, row_of(s), least, a))
        fill_turn(s, rotation, a, each->turn);
    else
        memset(each->turn, 0, 12 * sizeof(float) * (size_t)s->clusters);
}

void hk_rotation_correction_apply(hk_rotation_correction *t, const float *x)
{
    const hk_components *p = t->def.components;
    const kernels use = kernels_of(t->def.table->lanes);
#pragma omp parallel num_threads(t->def.threads)
    {
        double *dense = t->dense + (size_t)omp_get_thread_num() * t->dense_size;
#pragma omp for schedule(static)
        for (int k = 0; k < t->turner_count; k++) find_turn(t, &use, &t->turners[k], x, dense);
#pragma omp for schedule(static)
        for (int k = 0; k < t->run_count; k++) {
            const run *r = &t->runs[k];
            const turner *each = &t->turners[r->turner];
            use.add(&t->shapes[each->shape], each, r->begin, r->end, p->vector, p->beyond);
        }
    }
}
