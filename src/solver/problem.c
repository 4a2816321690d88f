#include "solver/problem.h"

#include <math.h>

enum { SMALLEST_FOR_THREADS = 4000 };
enum { RUN = 2048, SUMS = 4 };  // vertices in a partial sum; sums a pass can take

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
    for (int i = 0; i < 3; i++) {
        *extent = fmax(*extent, high[i] - low[i]);
        *reach = fmax(*reach, fmax(fabs(low[i]), fabs(high[i])));
    }
    *reach = fmax(*reach, *extent);
}

// A vertex whose tets have stiffness k (N/m) and lie at coordinates of size L cannot have a force
// known better than ε k L; here ‖k‖ ε L over all vertices.
static hk_status estimate_scales(hk_problem *p)
{
    const hk_model *m = p->model;
    double *stiffness = HK_ZEROS(double, m->vertex_count);
    if (!stiffness) return HK_NO_MEMORY;
    double weight = 0, extent, reach;
    measure_model(m, &extent, &reach);
    for (int t = 0; t < m->tet_count; t++) {
        const hk_material *material = &m->materials[m->tet_material[t]];
        p->energy_rounding += 1e-15 * material->modulus * m->volume[t];
        weight += material->density * m->volume[t];
        double k = (material->modulus + material->strand_modulus) * cbrt(m->volume[t]);
        for (int c = 0; c < 4; c++) stiffness[m->tets[4 * (int64_t)t + c]] += k;
    }
    p->energy_rounding += 1e-15 * hk_link_scales(m, stiffness);
    weight += m->sheet_mass;
    double sum = 0;
    for (int v = 0; v < m->vertex_count; v++) sum += stiffness[v] * stiffness[v];
    hk_free(stiffness);
    p->rounding = p->double_rounding[0] = 2.2e-16 * sqrt(sum) * reach;
    p->double_rounding[1] = p->energy_rounding;
    p->slow_rate = p->energy_rounding / 1e-15 / (weight * extent * extent);
    p->size = extent;
    return HK_OK;
}

static void fill_vertices(hk_problem *p)
{
    const hk_model *m = p->model;
    for (int k = 0; k < p->vertex_count; k++) {
        int v = m->order[k];
        p->held[k] = m->hold[v] != HK_FREE;
        p->free_count += !p->held[k];
        p->mass[k] = m->mass[v];
        for (int i = 0; i < 3; i++) {
            p->rest[4 * (int64_t)k + i] = m->rest[3 * (int64_t)v + i];
            p->full_force[4 * (int64_t)k + i] =
                m->mass[v] * m->gravity[i] + m->load[3 * (int64_t)v + i];
        }
    }
}

static hk_status build(hk_problem *p)
{
    size_t n = (size_t)p->vertex_count;
    p->held = HK_ARRAY(uint8_t, n);
    p->mass = HK_ARRAY(double, n);
    p->rest = HK_ZEROS(double, 4 * n);
    p->full_force = HK_ZEROS(double, 4 * n);
    p->force = HK_ZEROS(double, 4 * n);
    p->y = HK_ZEROS(double, 4 * n);
    p->inertia = HK_ZEROS(double, n);
    p->partial = HK_ARRAY(double, SUMS *(size_t)run_count(p));
    if (!p->inertia || !p->held || !p->mass || !p->rest || !p->full_force || !p->force || !p->y ||
        !p->partial)
        return HK_NO_MEMORY;
    fill_vertices(p);
    hk_problem_set_load(p, 1);
    HK_TRY(estimate_scales(p));
    HK_TRY(hk_links_create(p->model, HK_DOUBLE_PRECISION, p->threads, &p->links));
    hk_problem_place_targets(p, 0);
    return hk_tet_term_create(p->model, hk_lanes_best(HK_DOUBLE_PRECISION), p->threads, &p->tets);
}

hk_status hk_problem_create(const hk_model *model, int threads, hk_problem **problem)
{
    hk_problem *p = HK_NEW(hk_problem);
    if (!p) return HK_NO_MEMORY;
    p->model = model;
    // Below some thousand tets waking threads costs more than they bring; links are much less work.
    int work = model->tet_count + (model->spring_count + model->bend_count) / 4;
    p->threads = work < SMALLEST_FOR_THREADS ? 1 : threads;
    p->vertex_count = model->vertex_count;
    hk_status status = build(p);
    if (status != HK_OK) {
        hk_problem_free(p);
        return status;
    }
    *problem = p;
    return HK_OK;
}

static void release_single(hk_problem *p)
{
    hk_tet_term_free(p->single_term);
    hk_links_free(p->single_links);
    hk_free(p->single_x);
    hk_free(p->single_gradient);
    hk_free(p->body_of);
    hk_free(p->origin);
    p->single_term = NULL;
    p->single_links = NULL;
    p->single_x = p->single_gradient = NULL;
    p->body_of = NULL;
    p->origin = NULL;
}

void hk_problem_free(hk_problem *p)
{
    if (!p) return;
    hk_tet_term_free(p->tets);
    hk_links_free(p->links);
    hk_viscosity_free(p->viscosity);
    hk_free(p->held);
    hk_free(p->mass);
    hk_free(p->rest);
    hk_free(p->full_force);
    hk_free(p->force);
    hk_free(p->y);
    hk_free(p->inertia);
    release_single(p);
    hk_free(p->partial);
    hk_free(p);
}

// ---------------------------------------------------------------- single precision

static void fill_bodies(hk_problem *p)
{
    const hk_model *m = p->model;
    for (int b = 0; b < m->body_count; b++)
        for (int v = 0; v < m->bodies[b].vertex_count; v++)
            p->body_of[m->place[m->bodies[b].vertex_start + v]] = b;
}

void hk_problem_center(hk_problem *p, const double *x)
{
    const hk_model *m = p->model;
    memset(p->origin, 0, 3 * sizeof(double) * (size_t)m->body_count);
    for (int k = 0; k < p->vertex_count; k++)
        for (int i = 0; i < 3; i++) p->origin[3 * p->body_of[k] + i] += x[4 * (int64_t)k + i];
    for (int b = 0; b < m->body_count; b++)
        for (int i = 0; i < 3; i++) p->origin[3 * b + i] /= m->bodies[b].vertex_count;
    hk_problem_center_targets(p);
}

void hk_problem_narrow(const hk_problem *p, const double *x, float *to)
{
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int k = 0; k < p->vertex_count; k++) {
        const double *origin = p->origin + 3 * (int64_t)p->body_of[k];
        for (int i = 0; i < 3; i++)
            to[4 * (int64_t)k + i] = (float)(x[4 * (int64_t)k + i] - origin[i]);
    }
}

void hk_problem_widen(const hk_problem *p, const float *x, double *to)
{
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int k = 0; k < p->vertex_count; k++) {
        const double *origin = p->origin + 3 * (int64_t)p->body_of[k];
        for (int i = 0; i < 3; i++)
            to[4 * (int64_t)k + i] = (double)x[4 * (int64_t)k + i] + origin[i];
    }
}

// Off rest by a turn and some strain, so that no coordinate is a round number.
static void bend(const hk_problem *p, double *x)
{
    static const double F[3][3] = {
        {0.873, -0.308, 0.412}, {0.445, 0.851, -0.287}, {-0.254, 0.436, 0.889}};
    for (int64_t k = 0; k < p->vertex_count; k++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) x[4 * k + i] += F[i][j] * p->rest[4 * k + j];
}

// What single precision leaves of gradient and energy at such a state.
static hk_status measure_rounding(hk_problem *p)
{
    size_t size = 4 * (size_t)p->vertex_count;
    double *x = HK_ZEROS(double, size), *g = HK_ZEROS(double, size), fine, coarse, sum = 0;
    if (!x || !g) {
        hk_free(x);
        hk_free(g);
        return HK_NO_MEMORY;
    }
    bend(p, x);
    hk_problem_center(p, x);
    hk_problem_narrow(p, x, p->single_x);
    hk_problem_widen(p, p->single_x, x);
    hk_problem_element_gradient(p, x, g, &fine);
    p->single = p->single_term;
    hk_problem_element_gradient(p, p->single_x, p->single_gradient, &coarse);
    p->single = NULL;
    for (int k = 0; k < p->vertex_count; k++)
        for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 3 && !p->held[k]; i++)
            sum += (g[i] - (double)p->single_gradient[i]) * (g[i] - (double)p->single_gradient[i]);
    hk_free(x);
    hk_free(g);
    p->single_rounding[0] = fmax(p->double_rounding[0], 2 * sqrt(sum));
    p->single_rounding[1] = fmax(p->double_rounding[1], 4 * fabs(fine - coarse));
    return HK_OK;
}

static hk_status allocate_single(hk_problem *p)
{
    size_t size = 4 * (size_t)p->vertex_count;
    p->single_x = HK_ZEROS(float, size);
    p->single_gradient = HK_ZEROS(float, size);
    p->body_of = HK_ZEROS(int32_t, p->vertex_count);
    p->origin = HK_ZEROS(double, 3 * (size_t)p->model->body_count);
    if (!p->single_x || !p->single_gradient || !p->body_of || !p->origin) return HK_NO_MEMORY;
    fill_bodies(p);
    HK_TRY(hk_links_create(p->model, HK_SINGLE, p->threads, &p->single_links));
    HK_TRY(hk_tet_term_create(p->model, hk_lanes_best(HK_SINGLE), p->threads, &p->single_term));
    return measure_rounding(p);
}

// All of it or nothing: another method may ask again.
static hk_status prepare_single(hk_problem *p)
{
    hk_status status = allocate_single(p);
    if (status != HK_OK) release_single(p);
    return status;
}

// Rounding of positions costs viscous forces as many digits as elastic ones.
static void choose_rounding(hk_problem *p)
{
    const double *rounding = p->single ? p->single_rounding : p->double_rounding;
    p->rounding = (1 + p->viscous) * rounding[0];
    p->energy_rounding = rounding[1];
}

hk_status hk_problem_use_precision(hk_problem *p, hk_precision precision)
{
    if (precision != HK_SINGLE && !p->single_term) return HK_OK;
    if (!p->single_term) HK_TRY(prepare_single(p));
    if (precision == HK_SINGLE && p->viscosity) HK_TRY(hk_viscosity_allow_single(p->viscosity));
    p->single = precision == HK_SINGLE ? p->single_term : NULL;
    choose_rounding(p);
    return HK_OK;
}

hk_tet_term *hk_problem_elements(hk_problem *p)
{
    return p->single ? p->single : p->tets;
}

// ---------------------------------------------------------------- inertia, damping and forces

void hk_problem_set_weight(hk_problem *p, double weight)
{
    bool same = weight == p->weight && p->air == 0;  // the inertia is what it was
    p->weight = weight;
    p->air = p->viscous = 0;
    choose_rounding(p);
    hk_tet_begin_blend(p->tets, weight == 0);
    if (p->single) hk_tet_begin_blend(p->single, weight == 0);
    if (same) return;
    for (int k = 0; k < p->vertex_count; k++) p->inertia[k] = p->held[k] ? 0 : weight * p->mass[k];
}

hk_status hk_problem_allow_viscosity(hk_problem *p)
{
    if (!p->viscosity) HK_TRY(hk_viscosity_create(p->tets, p->links, &p->viscosity));
    return p->single ? hk_viscosity_allow_single(p->viscosity) : HK_OK;
}

// The sum of two springs to two places is one spring to a place between, but for a constant.
static void add_air(hk_problem *p, double stiffness, const double *x)
{
    p->air = stiffness;
    for (int k = 0; k < p->vertex_count; k++) {
        if (p->held[k]) continue;
        p->inertia[k] += stiffness;
        double share = stiffness / p->inertia[k];
        for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 3; i++)
            p->y[i] += share * (x[i] - p->y[i]);
    }
}

void hk_problem_set_damping(hk_problem *p, const hk_damping *damping, double h, const double *x)
{
    if (damping->air > 0) add_air(p, damping->air / h, x);
    if (!(damping->viscous > 0)) return;
    p->viscous = damping->viscous / h;
    hk_viscosity_begin(p->viscosity, x, p->viscous);
    choose_rounding(p);
}

hk_quadratic hk_problem_quadratic(const hk_problem *p)
{
    return (hk_quadratic){p->weight, p->shift, p->air, p->viscous};
}

bool hk_same_quadratic(hk_quadratic a, hk_quadratic b)
{
    return a.weight == b.weight && a.shift == b.shift && a.air == b.air && a.viscous == b.viscous;
}

void hk_problem_set_load(hk_problem *p, double share)
{
    if (share == p->load_fraction) return;
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++)
        p->force[k] = share * p->full_force[k];
    p->load_fraction = share;
}

static double sum_runs(const hk_problem *p, int which)
{
    double sum = 0;
    for (int r = 0; r < run_count(p); r++) sum += p->partial[SUMS * r + which];
    return sum;
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
    double elastic = hk_problem_elastic(p, x);
    if (!isfinite(elastic)) return INFINITY;
    if (p->viscous > 0) elastic += hk_viscosity_energy(p->viscosity, x);
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int r = 0; r < run_count(p); r++) {
        double sum = 0;
        for (int k = r * RUN; k < hk_min_int((r + 1) * RUN, p->vertex_count); k++)
            if (!p->held[k]) sum += vertex_energy(p, x, k);
        p->partial[SUMS * r] = sum;
    }
    double total = elastic + sum_runs(p, 0);
    return isfinite(total) ? total : INFINITY;
}

// Adds inertia and external forces of vertices [first, last) to the elastic gradient; sums gets
// energy and the squared norms of elastic, external and inertia forces.
static void add_vertex_terms(const hk_problem *p, const double *x, int first, int last,
                             double *gradient, double sums[SUMS])
{
    for (int s = 0; s < SUMS; s++) sums[s] = 0;
    for (int k = first; k < last; k++) {
        if (!p->held[k]) sums[0] += vertex_energy(p, x, k);
        for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 3; i++) {
            double inertia = p->inertia[k] * (x[i] - p->y[i]);
            sums[1] += gradient[i] * gradient[i];
            sums[2] += p->force[i] * p->force[i];
            sums[3] += inertia * inertia;
            gradient[i] += inertia - p->force[i];
        }
    }
}

static void widen_gradient(hk_problem *p, double *gradient)
{
    int64_t size = 4 * (int64_t)p->vertex_count;
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int64_t k = 0; k < size; k++) gradient[k] = (double)p->single_gradient[k];
}

static void single_gradient(hk_problem *p, const double *x, double *gradient, double *energy)
{
    hk_problem_narrow(p, x, p->single_x);
    hk_problem_element_gradient(p, p->single_x, p->single_gradient, energy);
    widen_gradient(p, gradient);
}

// Completes the gradient and energy of the elements.
static void add_vertices(hk_problem *p, const double *x, double elastic, double *gradient,
                         double *energy, double *force_scale)
{
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int r = 0; r < run_count(p); r++)
        add_vertex_terms(p, x, r * RUN, hk_min_int((r + 1) * RUN, p->vertex_count), gradient,
                         p->partial + SUMS * r);
    if (energy) {
        double total = elastic + sum_runs(p, 0);
        *energy = isfinite(total) ? total : INFINITY;
    }
    if (force_scale)
        *force_scale = sqrt(fmax(sum_runs(p, 1), fmax(sum_runs(p, 2), sum_runs(p, 3))));
}

void hk_problem_exact_gradient(hk_problem *p, const double *x, double *gradient, double *energy,
                               double *force_scale)
{
    double elastic = 0, linked = 0, viscous = 0;
    hk_tet_gradient(p->tets, x, gradient, energy ? &elastic : NULL);
    hk_links_add_gradient(p->links, x, gradient, energy ? &linked : NULL);
    if (p->viscous > 0)
        hk_viscosity_add_gradient(p->viscosity, x, gradient, energy ? &viscous : NULL);
    add_vertices(p, x, elastic + linked + viscous, gradient, energy, force_scale);
}

void hk_problem_force(hk_problem *p, const double *x, double *gradient)
{
    hk_tet_gradient(p->tets, x, gradient, NULL);
    hk_links_add_gradient(p->links, x, gradient, NULL);
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++) gradient[k] -= p->force[k];
}

void hk_problem_gradient(hk_problem *p, const double *x, double *gradient, double *energy,
                         double *force_scale)
{
    if (!p->single) {
        hk_problem_exact_gradient(p, x, gradient, energy, force_scale);
        return;
    }
    double elastic = 0;
    single_gradient(p, x, gradient, energy ? &elastic : NULL);
    // Displacements of a step are small: they are not rounded as positions are.
    double viscous = 0;
    if (p->viscous > 0) hk_viscosity_add_gradient(p->viscosity, x, gradient, &viscous);
    add_vertices(p, x, elastic + viscous, gradient, energy, force_scale);
}

void hk_problem_split_gradient(hk_problem *p, const hk_tet_duals *duals, bool fresh,
                               const double *x, double *gradient, double *force_scale)
{
    if (p->single) {
        hk_problem_narrow(p, x, p->single_x);
        hk_tet_admm_local(p->single, duals, fresh, p->single_x, p->single_gradient);
        hk_links_add_gradient(p->single_links, p->single_x, p->single_gradient, NULL);
        widen_gradient(p, gradient);
    } else {
        hk_tet_admm_local(p->tets, duals, fresh, x, gradient);
        hk_links_add_gradient(p->links, x, gradient, NULL);
    }
    if (p->viscous > 0) hk_viscosity_add_gradient(p->viscosity, x, gradient, NULL);
    add_vertices(p, x, 0, gradient, NULL, force_scale);
}

double hk_problem_least_j(hk_problem *p, const double *x)
{
    return hk_tet_least_j(p->tets, x);
}

bool hk_problem_update_blend(hk_problem *p, const double *x)
{
    if (!hk_tet_update_blend(p->tets, x)) return false;
    if (p->single) hk_tet_copy_blend(p->single, p->tets);
    return true;
}

double hk_problem_dot(hk_problem *p, const double *a, const double *b)
{
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int r = 0; r < run_count(p); r++) {
        double sum = 0;
        for (int k = r * RUN; k < hk_min_int((r + 1) * RUN, p->vertex_count); k++) {
            if (p->held[k]) continue;
            const double *u = a + 4 * (int64_t)k, *v = b + 4 * (int64_t)k;
            sum += u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
        }
        p->partial[SUMS * r] = sum;
    }
    return sum_runs(p, 0);
}
