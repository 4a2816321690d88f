// One pass of method split as the kernels of gpu/split.cu do it, on the host: what they read is
// made by the same functions, what they compute is in gpu/split_math.h. It needs no direct solver.
#ifndef TEST_SPLIT_ON_HOST_H
#define TEST_SPLIT_ON_HOST_H

#include "bodies.h"
#include "gpu/clusters.h"
#include "gpu/split_math.h"
#include "linear/multigrid_cg.h"
#include "solver/split.h"
#include "term/cluster_rotation.h"
#include "term/terms.h"
#include "world/world.h"

typedef struct device {
    const hk_world *world;  // of the model, with the terms and the forces at work; of any method
    int count;
    int32_t *place;   // [count] as layouts have it: any order will do
    int32_t *number;  // [count] and back
    double *weight;
    hk_gpu_laplacian *rows;
    hk_gpu_triangle triangle;
    hk_multigrid *multigrid;
    hk_gpu_clusters *clusters;  // NULL: nothing turns
    int32_t *same;              // [count] k
    double *y;                  // [count][3]
    double *r, *z;              // [count][4]
    float *w, *p, *s, *moved;   // [count][3]
    double *x;                  // [count][3]
    hk_cg cg;
} device;

static inline hk_settings split_settings(int turning)
{
    hk_option option = {.name = "turning", .number = turning};
    hk_solver_def def = hk_default_solver_def();
    hk_settings settings;
    def.options = &option;
    def.option_count = 1;
    CHECK_OK(hk_method_settings(&hk_split_method, &def, &settings));
    return settings;
}

static inline device make_device(const hk_world *world, int turning)
{
    hk_settings settings = split_settings(turning);
    const hk_model *m = world->model;
    size_t n = (size_t)m->vertex_count;
    device d = {.world = world, .count = m->vertex_count};
    d.place = malloc(n * sizeof *d.place);
    d.same = malloc(n * sizeof *d.same);
    d.number = malloc(n * sizeof *d.number);
    d.weight = malloc(sizeof(double) * (size_t)m->material_count);
    for (int k = 0; k < d.count; k++) {
        d.place[k] = (k + d.count / 3) % d.count;
        d.same[k] = k;
        d.number[d.place[k]] = k;
    }
    CHECK_OK(hk_split_method.weights(&settings, m, d.weight));
    hk_gpu_matrix matrix = {.model = m,
                            .place = d.place,
                            .weight = d.weight,
                            .inertia = 1 / (world->step * world->step),
                            .air = world->damping.air_per_vertex / world->step,
                            .stiffening = world->damping.viscous / world->step,
                            .threads = 1};
    CHECK_OK(hk_gpu_laplacian_create(&matrix, &d.rows));
    CHECK_OK(hk_gpu_triangle_create(&matrix, &d.triangle));
    CHECK_OK(hk_multigrid_create(&d.triangle.pattern, d.triangle.value, 1, &d.multigrid));
    if (turning > 0) CHECK_OK(hk_gpu_clusters_create(&matrix, turning, &d.clusters));
    double **wide[] = {&d.y, &d.x, &d.r, &d.z};
    float **narrow[] = {&d.w, &d.p, &d.s, &d.moved};
    for (int k = 0; k < 4; k++) {
        *wide[k] = calloc(4 * n, sizeof(double));
        *narrow[k] = calloc(3 * n, sizeof(float));
    }
    return d;
}

static inline void free_device(device *d)
{
    hk_gpu_laplacian_free(d->rows);
    hk_gpu_triangle_release(&d->triangle);
    hk_multigrid_free(d->multigrid);
    hk_gpu_clusters_free(d->clusters);
    void *all[] = {d->place, d->number, d->same, d->weight, d->y, d->x,
                   d->r,     d->z,      d->w,    d->p,      d->s, d->moved};
    for (int k = 0; k < (int)(sizeof all / sizeof *all); k++) free(all[k]);
}

static inline bool is_free(const device *d, int v)
{
    const hk_model *m = d->world->model;
    return m->hold[m->order[d->place[v]]] == HK_FREE;
}

// What bounds of the pressure change of the gradient at x, both [count][4] in Morton order.
static inline void bound_pressure(const hk_model *m, const double *x, double *gradient)
{
    for (int t = 0; t < m->tet_count; t++) {
        const hk_material *material = &m->materials[m->tet_material[t]];
        if (material->law != HK_LAW_corotated) continue;
        double mu = material->params.c[0], lambda = material->params.c[1];
        mat3 rest, now;
        int32_t at[4];
        for (int c = 0; c < 4; c++) at[c] = m->tets[4 * (int64_t)t + c];
        for (int k = 0; k < 9; k++) {
            int c = k / 3 + 1, i = k % 3;
            rest.m[i][c - 1] = m->rest[3 * at[c] + i] - m->rest[3 * at[0] + i];
            now.m[i][c - 1] = x[4 * m->place[at[c]] + i] - x[4 * m->place[at[0]] + i];
        }
        // F = now rest⁻¹; rows of the inverse are the slopes of corners 1, 2, 3.
        mat3 cofactor = m3_cofactor(rest), inverse, P;
        double det = m3_det(rest);
        for (int k = 0; k < 9; k++) inverse.m[k / 3][k % 3] = cofactor.m[k % 3][k / 3] / det;
        mat3 F = m3_mul(now, inverse), R = polar_rotation(F);
        double trace = m3_dot(R, F) - 3;
        for (int k = 0; k < 9; k++)
            P.m[k / 3][k % 3] = 2 * mu * (F.m[k / 3][k % 3] - R.m[k / 3][k % 3]) +
                                lambda * trace * R.m[k / 3][k % 3];
        mat3 bounded = P;
        split_bound_stress(mu, lambda, &F.m[0][0], &bounded.m[0][0]);
        for (int k = 0; k < 9; k++) {
            int c = k / 3 + 1, i = k % 3;
            double more = 0;
            for (int j = 0; j < 3; j++)
                more += m->volume[t] * (bounded.m[i][j] - P.m[i][j]) * inverse.m[c - 1][j];
            gradient[4 * m->place[at[c]] + i] += more;
            gradient[4 * m->place[at[0]] + i] -= more;
        }
    }
}

// y from a state, [count][4] both, and f − g there. The world has taken the step that begins with
// it: its held vertices are where they are then, and so is what moves among its terms.
static inline void begin(device *d, const double *position, const double *velocity)
{
    const hk_world *w = d->world;
    const hk_model *m = w->model;
    size_t bytes = (32 * (size_t)d->count + 63) / 64 * 64;
    double *at = memset(aligned_alloc(64, bytes), 0, bytes), *gradient = aligned_alloc(64, bytes);
    double energy;
    double h = w->step, air = w->damping.air_per_vertex / h;
    for (int v = 0; v < d->count; v++) {
        int64_t from = 4 * (int64_t)d->place[v];
        double inertia = m->mass[m->order[d->place[v]]] / (h * h);
        for (int i = 0; i < 3; i++) {
            double x = position[from + i], ahead = x + h * velocity[from + i];
            double y = (inertia * ahead + air * x) / (inertia + air);
            d->y[3 * v + i] = at[from + i] = is_free(d, v) ? y : w->x[from + i];
        }
    }
    hk_terms_gradient(w->problem->terms, at, HK_ALL_TERMS, gradient, &energy);
    assert_true(isfinite(energy));
    bound_pressure(m, at, gradient);
    for (int v = 0; v < d->count; v++)
        for (int i = 0; i < 3; i++) {
            double f = w->problem->force[4 * (int64_t)d->place[v] + i];
            double r = f - gradient[4 * (int64_t)d->place[v] + i];
            d->r[4 * v + i] = is_free(d, v) ? (double)(float)r : 0;
        }
    free(at);
    free(gradient);
}

// As row_product of split.cu.
static inline void product(const device *d, int v, const double *x, float *w)
{
    const hk_gpu_laplacian *l = d->rows;
    float diagonal = l->inverse[v] > 0 ? 1 / l->inverse[v] : 0;
    for (int i = 0; i < 3; i++) {
        float own = (float)x[4 * v + i], sum = l->surplus[v] * own;
        for (int k = l->start[v / HK_GPU_ROWS] + v % HK_GPU_ROWS; k < l->start[v / HK_GPU_ROWS + 1];
             k += HK_GPU_ROWS) {
            const hk_gpu_entry *e = &l->entries[k];
            sum += e->value * ((float)x[4 * e->column + i] - own);
        }
        w[i] = diagonal * sum;
    }
}

// What grabs add to w = A z.
typedef struct live_product {
    const device *d;
    const int32_t *number;
} live_product;
static inline void add_live(void *context, const hk_weights *weights)
{
    const live_product *p = context;
    for (int a = 0; a < weights->count; a++)
        for (int b = 0; b < weights->count; b++)
            for (int i = 0; i < 3; i++) {
                int to = p->number[weights->vertex[a]], from = p->number[weights->vertex[b]];
                if (!is_free(p->d, to)) continue;
                p->d->w[3 * to + i] +=
                    (float)(hk_weight_of(weights, a, b) * p->d->z[4 * (int64_t)from + i]);
            }
}

static inline bool iterate(device *d)
{
    double rz = 0, zw = 0;
    hk_multigrid_apply(d->multigrid, d->same, d->r, d->z);
    for (int v = 0; v < d->count; v++) product(d, v, d->z, d->w + 3 * v);
    live_product live = {d, d->number};
    hk_terms_visit_weights(d->world->problem->terms, add_live, &live);
    for (int v = 0; v < d->count; v++)
        for (int i = 0; i < 3; i++) {
            rz += d->r[4 * v + i] * d->z[4 * v + i];
            zw += d->z[4 * v + i] * (double)d->w[3 * v + i];
        }
    if (!cg_advance(&d->cg, rz, zw)) return false;
    float alpha = (float)d->cg.alpha, beta = (float)d->cg.beta;
    for (int k = 0; k < 3 * d->count; k++) {
        int64_t wide = 4 * (int64_t)(k / 3) + k % 3;
        d->p[k] = (float)d->z[wide] + beta * d->p[k];
        d->s[k] = d->w[k] + beta * d->s[k];
        d->moved[k] += alpha * d->p[k];
        d->r[wide] = (double)((float)d->r[wide] - alpha * d->s[k]);
    }
    return true;
}

static inline void solve(device *d, int most)
{
    size_t bytes = 3 * sizeof(float) * (size_t)d->count;
    memset(d->p, 0, bytes);
    memset(d->s, 0, bytes);
    memset(d->moved, 0, bytes);
    cg_begin(&d->cg);
    for (int k = 0; k < most && iterate(d); k++) continue;
}

static inline void measure(const device *d, int cluster, double *rotation, double *change)
{
    const hk_gpu_clusters *c = d->clusters;
    double gradient[9] = {0};
    memset(change, 0, 9 * sizeof *change);
    const double *o = d->y + 3 * (int64_t)c->entries[c->start[cluster]].vertex;
    for (int e = c->start[cluster]; e < c->start[cluster + 1]; e++) {
        const hk_gpu_cluster_entry *at = &c->entries[e];
        for (int k = 0; k < 9; k++) {
            double slope = (double)at->slope[k % 3];
            gradient[k] += (d->y[3 * at->vertex + k / 3] - o[k / 3]) * slope;
            change[k] += (double)d->moved[3 * at->vertex + k / 3] * slope;
        }
    }
    mat3 F, R;
    for (int k = 0; k < 9; k++) F.m[k / 3][k % 3] = gradient[k];
    R = cluster_rotation(F);
    for (int k = 0; k < 9; k++) rotation[k] = R.m[k / 3][k % 3];
}

// The system of one body by so many threads, one after the other.
static inline bool solve_system(int n, double least, double *a, int threads)
{
    for (int k = 0; k < n; k++) {
        if (!(a[k * (n + 1) + k] > least)) return false;
        for (int t = 0; t < threads; t++) turn_eliminate(n, k, a, t, threads);
    }
    for (int k = n - 1; k > 0; k--)
        for (int t = 0; t < threads; t++) turn_substitute(n, k, a, t, threads);
    return rule_finite(turn_unknown(n, 0, a));
}

static inline void find_turn(const device *d, const hk_gpu_turner *t, const double *rotation,
                             const double *change, double *turn)
{
    enum { THREADS = 7 };
    const hk_gpu_clusters *c = d->clusters;
    int n = 3 * t->clusters;
    double *a = calloc((size_t)n * (size_t)(n + 1), sizeof(double)), least = INFINITY;
    for (int k = 0; k < THREADS; k++)
        turn_fill(t->clusters, rotation, change, c->tau + t->tau, c->inverse_weight + t->first, a,
                  k, THREADS);
    for (int k = 0; k < t->clusters; k++)
        least = fmin(least, 1e-9 * c->inverse_weight[t->first + k]);
    bool turns = solve_system(n, least, a, THREADS);
    assert_true(turns);
    for (int k = 0; k < t->clusters; k++) {
        double z[3];
        for (int i = 0; i < 3; i++) z[i] = turn_unknown(n, 3 * k + i, a);
        turn_columns(rotation + 9 * k, z, turn + 9 * k);
    }
    free(a);
}

static inline int body_of(const device *d, int v)
{
    const hk_model *m = d->world->model;
    int vertex = m->order[d->place[v]], b = 0;
    while (vertex >= m->bodies[b].vertex_start + m->bodies[b].vertex_count) b++;
    return b;
}

static inline void finish(device *d)
{
    const hk_gpu_clusters *c = d->clusters;
    size_t size = 9 * (size_t)(c ? c->count : 1);
    double *rotation = calloc(size, sizeof(double)), *change = calloc(size, sizeof(double));
    double *turn = calloc(size, sizeof(double));
    for (int k = 0; c && k < c->count; k++) measure(d, k, rotation + 9 * k, change + 9 * k);
    for (int b = 0; c && b < c->body_count; b++) {
        const hk_gpu_turner *t = &c->turners[b];
        if (t->clusters > 0)
            find_turn(d, t, rotation + 9 * t->first, change + 9 * t->first, turn + 9 * t->first);
    }
    for (int v = 0; v < d->count; v++) {
        double x[3];
        for (int i = 0; i < 3; i++) x[i] = (double)d->moved[3 * v + i];
        int slot = c ? c->slot[v] : -1;
        if (slot >= 0) {
            const hk_gpu_turner *t = &c->turners[body_of(d, v)];
            int columns = 3 * t->clusters;
            const float *from =
                c->columns + t->columns +
                (int64_t)(slot / HK_GPU_COLUMN_BLOCK) * columns * HK_GPU_COLUMN_BLOCK +
                slot % HK_GPU_COLUMN_BLOCK;
            for (int q = 0; q < 3 * columns; q++)
                x[q % 3] += (double)from[q / 3 * HK_GPU_COLUMN_BLOCK] * turn[9 * t->first + q];
        }
        for (int i = 0; i < 3; i++) d->x[3 * v + i] = d->y[3 * v + i] + (is_free(d, v) ? x[i] : 0);
    }
    free(rotation);
    free(change);
    free(turn);
}

// The whole step.
static inline void take_step(device *d, const double *position, const double *velocity)
{
    begin(d, position, velocity);
    solve(d, 20);
    finish(d);
}

// Largest difference between its step and positions as a world has them, [count][4], relative to
// how far it went from y.
static inline double distance_from(const device *d, const double *position)
{
    double off = 0, way = 0;
    for (int k = 0; k < 3 * d->count; k++) {
        double to = position[4 * (int64_t)d->place[k / 3] + k % 3];
        off = fmax(off, fabs(d->x[k] - to));
        way = fmax(way, fabs(d->y[k] - to));
    }
    return off / way;
}

#endif
