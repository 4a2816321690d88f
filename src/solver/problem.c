#include "solver/problem.h"

#include <math.h>

#include "model/partition.h"
#include "solver/manifold.h"

enum { SMALLEST_FOR_THREADS = 4000 };
enum { RUN = 2048, SUMS = 4 };  // vertices in a partial sum; sums that a pass can take

static int run_count(const hk_problem *p)
{
    return (p->vertex_count + RUN - 1) / RUN;
}

// The extent of the model, and how far from the origin it reaches, whichever is more.
static void measure_model(const hk_model *m, double *extent, double *reach)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int v = 0; v < m->vertex_count; v++)
        for (int i = 0; i < 3; i++) {
            low[i] = fmin(low[i], m->rest[3 * (int64_t)v + i]);
            high[i] = fmax(high[i], m->rest[3 * (int64_t)v + i]);
        }
    *extent = *reach = 0;
    for (int i = 0; i < 3 && m->partition; i++) {
        low[i] = hk_partition_min_of(m->partition, low[i]);
        high[i] = hk_partition_max_of(m->partition, high[i]);
    }
    for (int i = 0; i < 3; i++) {
        *extent = fmax(*extent, high[i] - low[i]);
        *reach = fmax(*reach, fmax(fabs(low[i]), fabs(high[i])));
    }
    *reach = fmax(*reach, *extent);
}

// A vertex whose elements have stiffness k (N/m) and lie at coordinates of size L cannot have a
// force known better than ε k L; here ‖k‖ ε L over all vertices.
// The extent of every body, at its vertices.
static void fill_extents(hk_problem *p)
{
    const hk_model *m = p->model;
    for (int b = 0; b < m->body_count; b++) {
        const double *rest = m->rest + 3 * (int64_t)m->bodies[b].vertex_start;
        const int32_t *place = m->place + m->bodies[b].vertex_start;
        int count = m->bodies[b].vertex_count;
        double extent = 0;
        for (int i = 0; i < 3; i++) {
            double low = INFINITY, high = -INFINITY;
            for (int k = 0; k < count; k++) {
                low = fmin(low, rest[3 * (int64_t)k + i]);
                high = fmax(high, rest[3 * (int64_t)k + i]);
            }
            high = hk_partition_max_of(m->partition, high);
            low = hk_partition_min_of(m->partition, low);
            extent = fmax(extent, high - low);
        }
        for (int k = 0; k < count; k++) p->extent[place[k]] = extent;
    }
}

// Numbers of vertices, of all who know them.
static hk_status share_numbers(const hk_problem *p, double *numbers)
{
    if (!p->partition) return HK_OK;
    double *vector = HK_ZEROS(double, 4 * (size_t)p->vertex_count);
    if (!vector) return HK_NO_MEMORY;
    for (int64_t k = 0; k < p->vertex_count; k++) vector[4 * k] = numbers[k];
    hk_partition_share(p->partition, vector);
    for (int64_t k = 0; k < p->vertex_count; k++) numbers[k] = vector[4 * k];
    hk_free(vector);
    return HK_OK;
}

static hk_status estimate_scales(hk_problem *p)
{
    const hk_model *m = p->model;
    double *stiffness = HK_ZEROS(double, m->vertex_count);
    if (!stiffness) return HK_NO_MEMORY;
    double extent, reach, sum = 0;
    measure_model(m, &extent, &reach);
    p->energy_rounding = hk_partition_sum_of(p->partition, hk_terms_scales(p->terms, stiffness));
    for (int k = 0; k < m->vertex_count; k++) p->stiffness[k] = stiffness[m->order[k]];
    hk_free(stiffness);
    HK_TRY(share_numbers(p, p->stiffness));
    for (int v = 0; v < m->vertex_count; v++) {
        int64_t k = m->place[v];
        if (hk_partition_counts(p->partition, k)) sum += p->stiffness[k] * p->stiffness[k];
    }
    sum = hk_partition_sum_of(p->partition, sum);
    fill_extents(p);
    p->reach = reach;
    p->whole_stiffness = sqrt(sum);
    p->rounding = 2.2e-16 * p->whole_stiffness * reach;
    double mass = hk_partition_sum_of(p->partition, hk_model_mass(m));
    p->slow_rate = p->energy_rounding / 1e-15 / (mass * extent * extent);
    p->size = extent;
    return HK_OK;
}

static hk_status fill_vertices(hk_problem *p)
{
    const hk_model *m = p->model;
    p->free_count = 0;
    for (int k = 0; k < p->vertex_count; k++) {
        int v = m->order[k];
        p->held[k] = m->hold[v] != HK_FREE;
        if (p->axes) p->axes[k] = p->held[k] ? 0 : m->axes[v];
        p->free_count += !p->held[k];
        p->mass[k] = m->mass[v];
        for (int i = 0; i < 3; i++) p->rest[4 * (int64_t)k + i] = m->rest[3 * (int64_t)v + i];
    }
    p->unknown_vertices = p->partition ? p->partition->free_count : p->free_count;
    return share_numbers(p, p->mass);
}

// Forces, places and scales from terms that know the rest shape.
static hk_status take_rest(hk_problem *p)
{
    hk_problem_take_forces(p);
    hk_terms_place(p->terms, &(hk_when){.time = 0});
    return estimate_scales(p);
}

static hk_status build(hk_problem *p, const hk_live *live)
{
    size_t n = (size_t)p->vertex_count;
    p->held = HK_ARRAY(uint8_t, n);
    if (p->model->axes) p->axes = HK_ARRAY(uint8_t, n);
    if (p->model->axes) p->masked_force = HK_ZEROS(double, 4 * n);
    p->mass = HK_ARRAY(double, n);
    p->rest = HK_ZEROS(double, 4 * n);
    p->full_force = HK_ZEROS(double, 4 * n);
    p->force = HK_ZEROS(double, 4 * n);
    p->y = HK_ZEROS(double, 4 * n);
    p->inertia = HK_ZEROS(double, n);
    p->stiffness = HK_ZEROS(double, n);
    p->extent = HK_ZEROS(double, n);
    p->partial = HK_ARRAY(double, SUMS *(size_t)run_count(p));
    if (!p->inertia || !p->held || !p->mass || !p->rest || !p->full_force || !p->force || !p->y ||
        !p->partial || !p->stiffness || !p->extent ||
        (p->model->axes && (!p->axes || !p->masked_force)))
        return HK_NO_MEMORY;
    HK_TRY(fill_vertices(p));
    HK_TRY(hk_terms_create(p->model, HK_DOUBLE_PRECISION, p->threads, NULL, live, &p->terms));
    HK_TRY(hk_rigid_create(p->model, &p->rigid));
    HK_TRY(hk_manifold_create(p->model, p->mass, p->rest, &p->manifold));
    return take_rest(p);
}

hk_status hk_problem_measure(hk_problem *p)
{
    HK_TRY(fill_vertices(p));
    HK_TRY(hk_terms_measure(p->terms));
    return take_rest(p);
}

hk_status hk_problem_create(const hk_model *model, int threads, const hk_live *live,
                            hk_problem **problem)
{
    hk_problem *p = HK_NEW(hk_problem);
    if (!p) return HK_NO_MEMORY;
    p->model = model;
    // Below some thousand tets waking threads costs more than they bring; links are much less work.
    int work = model->tet_count + model->shell_count + model->hinge_count +
               (model->spring_count + model->bend_count) / 4;
    p->threads = work < SMALLEST_FOR_THREADS ? 1 : threads;
    p->vertex_count = model->vertex_count;
    p->partition = model->partition;
    hk_status status = build(p, live);
    if (status != HK_OK) {
        hk_problem_free(p);
        return status;
    }
    *problem = p;
    return HK_OK;
}

void hk_problem_free(hk_problem *p)
{
    if (!p) return;
    hk_terms_free(p->terms);
    hk_rigid_free(p->rigid);
    hk_manifold_free(p->manifold);
    hk_free(p->held);
    hk_free(p->axes);
    hk_free(p->masked_force);
    hk_free(p->mass);
    hk_free(p->rest);
    hk_free(p->full_force);
    hk_free(p->force);
    hk_free(p->y);
    hk_free(p->inertia);
    hk_free(p->stiffness);
    hk_free(p->extent);
    hk_free(p->partial);
    hk_free(p->origin);
    hk_free(p);
}

// ---------------------------------------------------------------- inertia, damping and forces

void hk_problem_mask(const hk_problem *p, double *vector)
{
    if (!p->axes) return;
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++)
        if (p->axes[k / 4] >> k % 4 & 1) vector[k] = 0;
}

void hk_problem_stand(hk_problem *p, const double *x)
{
    if (p->manifold) hk_manifold_stand(p->manifold, x);
}

void hk_problem_tangent(hk_problem *p, double *vector)
{
    if (p->manifold) hk_manifold_tangent(p->manifold, HK_ALL_TIES, NULL, vector);
}

bool hk_problem_retract(hk_problem *p, double *x)
{
    return !p->manifold || hk_manifold_retract(p->manifold, x);
}

void hk_problem_take_forces(hk_problem *p)
{
    memset(p->full_force, 0, 4 * sizeof(double) * (size_t)p->vertex_count);
    hk_terms_add_force(p->terms, p->full_force);
    hk_partition_share(p->partition, p->full_force);
    if (p->axes) {
        memcpy(p->masked_force, p->full_force, 4 * sizeof(double) * (size_t)p->vertex_count);
        hk_problem_mask(p, p->full_force);
        for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++)
            p->masked_force[k] -= p->full_force[k];
    }
    p->load_fraction = NAN;
    p->forces++;
    hk_problem_set_load(p, 1);
}

hk_status hk_problem_take_materials(hk_problem *p)
{
    const hk_model *m = p->model;
    hk_terms_take_materials(p->terms);
    for (int k = 0; k < p->vertex_count; k++) p->mass[k] = m->mass[m->order[k]];
    HK_TRY(share_numbers(p, p->mass));
    p->weight = NAN;  // the next step or pose has another inertia
    hk_problem_take_forces(p);
    return estimate_scales(p);
}

static void set_weight(hk_problem *p, double weight)
{
    // Whether the inertia is what it was.
    bool same = weight == p->weight && p->air == 0 && p->drag == 0 && !p->damped;
    p->weight = weight;
    p->air = p->drag = 0;
    p->damped = false;
    if (same) return;
    for (int k = 0; k < p->vertex_count; k++) p->inertia[k] = p->held[k] ? 0 : weight * p->mass[k];
}

// The sum of two springs to two places is one spring to a place between, but for a constant.
static void add_air(hk_problem *p, double h, const double *from)
{
    const hk_damping *damping = &p->terms->damping;
    p->air = damping->air_per_vertex / h;
    p->drag = damping->air / h;
    for (int k = 0; k < p->vertex_count; k++) {
        if (p->held[k]) continue;
        double stiffness = p->drag * p->mass[k] + p->air;
        p->inertia[k] += stiffness;
        double part = stiffness / p->inertia[k];
        for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 3; i++)
            p->y[i] += part * (from[i] - p->y[i]);
    }
}

typedef struct damped_step {
    hk_problem *problem;
    const hk_step_begin *step;
} damped_step;

static void add_damper(void *context, const hk_damper *d)
{
    const damped_step *s = context;
    hk_problem *p = s->problem;
    double stiffness = d->coefficient / s->step->h;
    if (p->held[d->vertex]) return;
    p->damped = true;
    p->damper_sum += stiffness;
    p->inertia[d->vertex] += stiffness;
    double part = stiffness / p->inertia[d->vertex];
    for (int i = 0; i < 3; i++) {
        int64_t k = 4 * (int64_t)d->vertex + i;
        p->y[k] += part * (s->step->from[k] + s->step->h * d->velocity[i] - p->y[k]);
    }
}

hk_status hk_problem_begin_step(hk_problem *p, const hk_stage_begin *stage)
{
    const hk_step_begin *step = &stage->terms;
    p->step_time = step->time;
    p->step_h = step->h;
    set_weight(p, stage->weight);
    const hk_damping *damping = &p->terms->damping;
    if (damping->air > 0 || damping->air_per_vertex > 0) add_air(p, step->h, step->from);
    HK_TRY(hk_terms_begin_step(p->terms, step));
    p->damper_sum = 0;
    hk_terms_visit_dampers(p->terms, step->time, step->h, add_damper, &(damped_step){p, step});
    p->stiffening = hk_terms_stiffening(p->terms);
    return HK_OK;
}

static void weigh_damper(void *context, const hk_damper *d)
{
    hk_problem *p = context;
    if (!p->held[d->vertex]) p->inertia[d->vertex] += d->coefficient / p->step_h;
}

// The same arithmetic as that of a step of its own: the same bits.
void hk_problem_weigh_like(hk_problem *p, const hk_problem *torn)
{
    p->weight = torn->weight;
    p->air = torn->air;
    p->drag = torn->drag;
    p->shift = torn->shift;
    p->stiffening = torn->stiffening;
    p->damper_sum = torn->damper_sum;
    p->step_h = torn->step_h;
    p->damped = true;  // the next step of its own would weigh anew
    for (int k = 0; k < p->vertex_count; k++) {
        p->inertia[k] = p->held[k] ? 0 : p->weight * p->mass[k];
        if (!p->held[k] && (p->drag > 0 || p->air > 0))
            p->inertia[k] += p->drag * p->mass[k] + p->air;
    }
    if (torn->damped)
        hk_terms_visit_dampers(p->terms, torn->step_time, torn->step_h, weigh_damper, p);
}

hk_status hk_problem_begin_pose(hk_problem *p)
{
    set_weight(p, 0);
    p->stiffening = p->damper_sum = 0;
    return hk_terms_begin_step(p->terms, &(hk_step_begin){.pose = true});
}

hk_quadratic hk_problem_quadratic(const hk_problem *p)
{
    // Both multiply the masses.
    return (hk_quadratic){p->weight + p->drag, p->shift, p->air, p->stiffening, p->damper_sum};
}

bool hk_same_quadratic(hk_quadratic a, hk_quadratic b)
{
    return a.weight == b.weight && a.shift == b.shift && a.air == b.air &&
           a.stiffening == b.stiffening && a.dampers == b.dampers;
}

void hk_problem_set_load(hk_problem *p, double fraction)
{
    if (fraction == p->load_fraction) return;
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++)
        p->force[k] = fraction * p->full_force[k];
    p->load_fraction = fraction;
}

// ---------------------------------------------------------------- ε

// Of this part alone.
static double sum_runs(const hk_problem *p, int which)
{
    double sum = 0;
    for (int r = 0; r < run_count(p); r++) sum += p->partial[SUMS * r + which];
    return sum;
}

// Whether a vertex is free, and this part's to count.
static inline bool takes_part(const hk_problem *p, int64_t k)
{
    return !p->held[k] && hk_partition_counts(p->partition, k);
}

// Its inertia and air, w m/2 ‖x − y‖² or so, and − f·(x − X), of one vertex.
static double vertex_energy(const hk_problem *p, const double *x, int64_t k)
{
    double inertia = 0, work = 0;
    for (int64_t i = 4 * k; i < 4 * k + 3; i++) {
        inertia += (x[i] - p->y[i]) * (x[i] - p->y[i]);
        work += p->force[i] * (x[i] - p->rest[i]);
    }
    return 0.5 * p->inertia[k] * inertia - work;
}

double hk_problem_energy(hk_problem *p, const double *x)
{
    double elastic = hk_terms_energy(p->terms, x, HK_ALL_TERMS);
    if (!isfinite(elastic) && !p->partition) return INFINITY;
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int r = 0; r < run_count(p); r++) {
        double sum = 0;
        for (int k = r * RUN; k < hk_min_int((r + 1) * RUN, p->vertex_count); k++)
            if (takes_part(p, k)) sum += vertex_energy(p, x, k);
        p->partial[SUMS * r] = sum;
    }
    double total = hk_partition_sum_of(p->partition, elastic + sum_runs(p, 0));
    return isfinite(total) ? total : INFINITY;
}

// Adds inertia and external forces of vertices [first, last) to the elastic gradient; sums gets
// energy and the squared norms of elastic, external and inertia forces.
static void add_vertex_terms(const hk_problem *p, const double *x, int first, int last,
                             double *gradient, double sums[SUMS])
{
    for (int s = 0; s < SUMS; s++) sums[s] = 0;
    for (int k = first; k < last; k++) {
        bool counts = hk_partition_counts(p->partition, k);
        if (counts && !p->held[k]) sums[0] += vertex_energy(p, x, k);
        for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 3; i++) {
            double inertia = p->inertia[k] * (x[i] - p->y[i]);
            if (counts) {
                sums[1] += gradient[i] * gradient[i];
                sums[2] += p->force[i] * p->force[i];
                sums[3] += inertia * inertia;
            }
            gradient[i] += inertia - p->force[i];
        }
    }
}

void hk_problem_add_vertices(hk_problem *p, const double *x, double energy_of_terms,
                             double *gradient, double *energy, double *force_scale)
{
    hk_partition_share(p->partition, gradient);
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int r = 0; r < run_count(p); r++)
        add_vertex_terms(p, x, r * RUN, hk_min_int((r + 1) * RUN, p->vertex_count), gradient,
                         p->partial + SUMS * r);
    hk_problem_mask(p, gradient);
    hk_problem_stand(p, x);
    hk_problem_tangent(p, gradient);
    if (!energy && !force_scale) return;
    double sums[SUMS] = {energy_of_terms + sum_runs(p, 0), sum_runs(p, 1), sum_runs(p, 2),
                         sum_runs(p, 3)};
    hk_partition_sum(p->partition, sums, SUMS);
    if (energy) *energy = isfinite(sums[0]) ? sums[0] : INFINITY;
    if (force_scale) *force_scale = sqrt(fmax(sums[1], fmax(sums[2], sums[3])));
}

void hk_problem_gradient(hk_problem *p, const double *x, double *gradient, double *energy,
                         double *force_scale)
{
    double of_terms = 0;
    hk_terms_gradient(p->terms, x, HK_ALL_TERMS, gradient, energy ? &of_terms : NULL);
    hk_problem_add_vertices(p, x, of_terms, gradient, energy, force_scale);
}

void hk_problem_find_pressures(hk_problem *p, const double *x, double *workspace)
{
    hk_manifold *m = p->manifold;
    if (!m || m->cavity_count == 0) return;
    hk_problem_whole_gradient(p, x, workspace);
    hk_manifold_stand(m, x);
    for (int n = 0; n < m->cavity_count; n++)
        m->cavities[n].pressure = hk_manifold_pressure(m, n, workspace);
}

void hk_problem_whole_gradient(hk_problem *p, const double *x, double *gradient)
{
    hk_terms_gradient(p->terms, x, HK_ALL_TERMS, gradient, NULL);
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++)
        gradient[k] += p->inertia[k / 4] * (x[k] - p->y[k]) - p->force[k];
}

void hk_problem_force(hk_problem *p, const double *x, double *gradient)
{
    hk_terms_gradient(p->terms, x, HK_POSITION_TERMS, gradient, NULL);
    hk_partition_share(p->partition, gradient);
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++) gradient[k] -= p->force[k];
}

void hk_problem_blocks(hk_problem *p, const double *x, double keep, double *values)
{
    hk_terms_blocks(p->terms, x, keep, HK_FOR_HESSIAN, values);
    hk_terms_amend_blocks(p->terms, values);
}

int hk_problem_budget(const hk_problem *p, int of_step, int of_pose)
{
    return (p->weight > 0 ? of_step : of_pose) - p->spent;
}

double hk_problem_dot(hk_problem *p, const double *a, const double *b)
{
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int r = 0; r < run_count(p); r++) {
        double sum = 0;
        for (int k = r * RUN; k < hk_min_int((r + 1) * RUN, p->vertex_count); k++) {
            if (!takes_part(p, k)) continue;
            const double *u = a + 4 * (int64_t)k, *v = b + 4 * (int64_t)k;
            sum += u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
        }
        p->partial[SUMS * r] = sum;
    }
    return hk_partition_sum_of(p->partition, sum_runs(p, 0));
}
