#include "solver/view.h"

#include <math.h>

#include "model/partition.h"
#include "rules/rules.h"

// ---------------------------------------------------------------- single precision

static void fill_bodies(hk_view *v)
{
    const hk_model *m = v->problem->model;
    for (int b = 0; b < m->body_count; b++)
        for (int k = 0; k < m->bodies[b].vertex_count; k++)
            v->body_of[m->place[m->bodies[b].vertex_start + k]] = b;
}

// The mean displacement of a body at x from rest, and how far its vertices are off that at most.
static double translation_of(const hk_view *v, const hk_body *body, const double *x, double mean[3])
{
    const int32_t *place = v->problem->model->place + body->vertex_start;
    const double *rest = v->problem->rest;
    for (int i = 0; i < 3; i++) mean[i] = 0;
    for (int k = 0; k < body->vertex_count; k++)
        for (int64_t i = 0, at = 4 * (int64_t)place[k]; i < 3; i++)
            mean[i] += x[at + i] - rest[at + i];
    for (int i = 0; i < 3; i++) mean[i] /= body->vertex_count;
    double largest = 0;
    for (int k = 0; k < body->vertex_count; k++)
        for (int64_t i = 0, at = 4 * (int64_t)place[k]; i < 3; i++)
            largest = fmax(largest, fabs(x[at + i] - rest[at + i] - mean[i]));
    return largest;
}

// Displacements are multiples of a step so large that differences of two of them have 24 bits;
// what that leaves of x is for the methods' own displacements.
static void center_body(const hk_view *v, const hk_body *body, const double *x)
{
    const int32_t *place = v->problem->model->place + body->vertex_start;
    const double *rest = v->problem->rest;
    double mean[3], largest = translation_of(v, body, x, mean);
    int exponent = 0;
    if (largest > 0 && largest < HUGE_VAL) frexp(largest, &exponent);
    double step = ldexp(1, exponent - 23);
#pragma omp parallel for schedule(static) num_threads(v->problem->threads)
    for (int k = 0; k < body->vertex_count; k++)
        for (int64_t i = 0, at = 4 * (int64_t)place[k]; i < 3; i++) {
            double exact = x[at + i] - rest[at + i] - mean[i], even = rint(exact / step) * step;
            v->frame.displacement[at + i] = (float)even;
            v->frame.base[at + i] = rest[at + i] + mean[i] + even;
        }
}

hk_status hk_view_center(hk_view *v, const double *x)
{
    if (!v->single) return HK_OK;
    const hk_model *m = v->problem->model;
    for (int b = 0; b < m->body_count; b++) center_body(v, &m->bodies[b], x);
    v->frame.version++;
    return hk_view_follow(v);
}

void hk_view_narrow(const hk_view *v, const double *x, float *to)
{
#pragma omp parallel for schedule(static) num_threads(v->problem->threads)
    for (int k = 0; k < v->problem->vertex_count; k++)
        for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 3; i++)
            to[i] = (float)(x[i] - v->frame.base[i]);
}

void hk_view_widen(const hk_view *v, const float *x, double *to)
{
#pragma omp parallel for schedule(static) num_threads(v->problem->threads)
    for (int k = 0; k < v->problem->vertex_count; k++)
        for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 3; i++)
            to[i] = (double)x[i] + v->frame.base[i];
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

// By the body, for a unit of stiffness: twice the difference d of two gradients.
static void take_noise(hk_view *v, const double *difference)
{
    const hk_problem *p = v->problem;
    const hk_model *m = p->model;
    for (int b = 0; b < m->body_count; b++) {
        double sum = 0, squares = 0;
        for (int k = 0; k < m->bodies[b].vertex_count; k++) {
            int64_t at = m->place[m->bodies[b].vertex_start + k];
            if (p->held[at]) continue;
            for (int64_t i = 4 * at; i < 4 * at + 3; i++) sum += difference[i] * difference[i];
            squares += p->stiffness[at] * p->stiffness[at];
        }
        v->noise[b] = squares > 0 ? 2 * sqrt(sum / squares) : 0;
    }
}

// The arithmetic of the terms errs relative to F − 1, which turns of bodies are part of, as are
// strains, which go with the root of the energy; and energies relative to its square.
// A displacement q is rounded by 1e-8 q in the mean, and stiffness times that is a force; roundings
// of neighbours are independent of each other, and most displacements are below the largest: what
// they sum up to is a tenth of their sizes' sum.
static void estimate_rounding(hk_view *v, double energy, double reach)
{
    const hk_problem *p = v->problem;
    v->energy = fabs(energy);
    v->reach = reach;
    if (!v->single || !isfinite(energy) || !(v->law_energy > 0)) return;
    double size = sqrt(v->energy / v->law_energy);
    if (v->law_strain > 0) size = fmax(size, v->base_strain / v->law_strain);
    v->strained = size * size;
    v->rounding = fmax(p->rounding, v->law_rounding * size + 1e-9 * reach * p->whole_stiffness);
    v->energy_rounding = fmax(p->energy_rounding, v->law_energy_rounding * v->strained);
}

void hk_view_reach(hk_view *v, double reach)
{
    estimate_rounding(v, v->energy, reach);
}

// What single precision leaves of gradient and energy at such a state.
static hk_status measure_rounding(hk_view *v)
{
    hk_problem *p = v->problem;
    size_t size = 4 * (size_t)p->vertex_count;
    double *x = HK_ZEROS(double, size), *g = HK_ZEROS(double, size), fine, coarse, sum = 0;
    hk_status status = x && g ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        bend(p, x);
        status = hk_view_center(v, x);
        v->base_strain = hk_terms_base_strain(v->terms);
    }
    if (status == HK_OK) {
        hk_view_narrow(v, x, v->x);
        hk_view_widen(v, v->x, x);
        hk_terms_gradient(p->terms, x, HK_POSITION_TERMS, g, &fine);
        hk_terms_gradient(v->terms, v->x, HK_POSITION_TERMS, v->gradient, &coarse);
        for (int k = 0; k < p->vertex_count; k++)
            for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 3 && !p->held[k]; i++)
                sum += (g[i] - (double)v->gradient[i]) * (g[i] - (double)v->gradient[i]);
        for (int64_t i = 0; i < (int64_t)size; i++) g[i] -= (double)v->gradient[i];
        take_noise(v, g);
        v->law_rounding = 2 * sqrt(sum);
        v->law_energy_rounding = 4 * fabs(fine - coarse) + 1e-7 * fabs(fine);
        v->law_energy = fabs(fine);
        v->law_strain = v->base_strain;
        estimate_rounding(v, fabs(fine), 0);
    }
    hk_free(x);
    hk_free(g);
    return status == HK_OK ? hk_view_center(v, p->rest) : status;
}

static hk_status build_single(hk_view *v)
{
    const hk_problem *p = v->problem;
    size_t size = 4 * (size_t)p->vertex_count;
    v->x = HK_ZEROS(float, size);
    v->gradient = HK_ZEROS(float, size);
    v->settled = HK_ZEROS(float, size);
    v->frame.base = HK_ZEROS(double, size);
    v->frame.displacement = HK_ZEROS(float, size + 4);
    v->noise = HK_ZEROS(double, p->model->body_count);
    v->body_of = HK_ZEROS(int32_t, p->vertex_count);
    if (!v->noise || !v->body_of) return HK_NO_MEMORY;
    if (!v->x || !v->gradient || !v->settled || !v->frame.base || !v->frame.displacement)
        return HK_NO_MEMORY;
    fill_bodies(v);
    HK_TRY(hk_terms_create(p->model, HK_SINGLE, p->threads, &v->frame, p->terms->live, &v->terms));
    v->terms->damping = p->terms->damping;
    v->terms->laplacian = p->terms->laplacian;
    return measure_rounding(v);
}

// ---------------------------------------------------------------- views

hk_status hk_view_create(hk_problem *p, hk_precision precision, hk_view **view)
{
    hk_view *v = HK_NEW(hk_view);
    if (!v) return HK_NO_MEMORY;
    v->problem = p;
    v->single = precision == HK_SINGLE;
    v->rounding = p->rounding;
    v->energy_rounding = p->energy_rounding;
    v->away = 1;
    v->strained = 1;
    if (!v->single) v->terms = p->terms;
    hk_status status = v->single ? build_single(v) : HK_OK;
    if (status == HK_OK && hk_terms_guarded(p->terms)) {
        v->touching = HK_ZEROS(double, 4 * (size_t)p->vertex_count);
        if (!v->touching) status = HK_NO_MEMORY;
    }
    if (status != HK_OK) {
        hk_view_free(v);
        return status;
    }
    *view = v;
    return HK_OK;
}

void hk_view_free(hk_view *v)
{
    if (!v) return;
    if (v->single) hk_terms_free(v->terms);
    hk_free(v->frame.base);
    hk_free(v->frame.displacement);
    hk_free(v->noise);
    hk_free(v->body_of);
    hk_free(v->x);
    hk_free(v->gradient);
    hk_free(v->settled);
    hk_free(v->touching);
    hk_free(v);
}

size_t hk_view_scalar_size(const hk_view *v)
{
    return hk_terms_scalar_size(v->terms);
}

// Rounding of positions costs viscous forces as many digits as elastic ones.
double hk_view_rounding(const hk_view *v)
{
    return v->away * (1 + v->problem->stiffening) * v->rounding;
}

static double largest(const double *a)
{
    return fmax(fabs(a[0]), fmax(fabs(a[1]), fabs(a[2])));
}

static double norm(const double *a)
{
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

// What rounding does to the force at a vertex, relative to its stiffness times its coordinates:
// less than rounding of these alone, for the stiffness is a sum over elements, and errors are not
// all one way. Newton's method ends at about half of the estimate, for laws and stiffnesses of all
// kinds.
#define FORCE_EPSILON 1.1e-17
// Of contact, whose diagonal is a bound four times its stiffness (contact/forces.c), and in which
// one pair is a vertex's all.
#define TOUCH_EPSILON 2.8e-17

// What single precision does to a vertex, as a displacement: by the arithmetic of the terms, which
// goes with strains, and by that of the displacement itself (estimate_rounding).
static double single_noise(const hk_view *v, int64_t k)
{
    return v->noise[v->body_of[k]] * sqrt(v->strained) + 1e-8 * v->reach;
}

// Of the force at a vertex, N: its stiffness times what rounding does to positions.
static double vertex_rounding(const hk_view *v, const double *x, int64_t k, double epsilon)
{
    const hk_problem *p = v->problem;
    double reach = fmax(largest(x + 4 * k), p->extent[k]);
    double positions = FORCE_EPSILON * reach + (v->single ? single_noise(v, k) : 0);
    double away = v->single && epsilon > 1e-12 ? v->reach : reach;
    double touching = v->touching ? TOUCH_EPSILON * reach * largest(v->touching + 4 * k) : 0;
    return (1 + p->stiffening) * p->stiffness[k] * positions + touching +
           1.7 * epsilon * away * p->inertia[k];
}

// Whether elastic, external and inertia forces at a vertex are all below a limit, external ones
// none at all.
static bool vertex_idles(const hk_problem *p, const double *x, const double *gradient, int64_t k,
                         double limit)
{
    double inertia[3], elastic[3];
    for (int i = 0; i < 3; i++) {
        if (p->force[4 * k + i] != 0) return false;
        inertia[i] = p->inertia[k] * (x[4 * k + i] - p->y[4 * k + i]);
        elastic[i] = gradient[4 * k + i] - inertia[i];
    }
    return norm(inertia) <= limit && norm(elastic) <= limit;
}

hk_excess hk_view_excess(const hk_view *v, const double *x, const double *gradient, double epsilon)
{
    const hk_problem *p = v->problem;
    hk_excess sums = {.idle = true};
    if (v->touching) hk_terms_touching(p->terms, x, v->touching);
    for (int64_t k = 0; k < p->vertex_count; k++) {
        if (p->held[k] || !hk_partition_counts(p->partition, k)) continue;
        double rounding = vertex_rounding(v, x, k, epsilon), force = norm(gradient + 4 * k);
        double beyond = fmax(0, force - HK_ROUNDING_LIMIT * rounding);
        double far = fmax(0, force - HK_ROUNDING_MARGIN * rounding);
        sums.rounding += rounding * rounding;
        sums.beyond += beyond * beyond;
        sums.far += far * far;
        sums.idle = sums.idle && vertex_idles(p, x, gradient, k, HK_ROUNDING_MARGIN * rounding);
    }
    double whole[] = {sums.rounding, sums.beyond, sums.far};
    hk_partition_sum(p->partition, whole, HK_COUNT_OF(whole));
    sums = (hk_excess){whole[0], whole[1], whole[2], hk_partition_all(p->partition, sums.idle)};
    sums.rounding = sqrt(sums.rounding);
    sums.beyond = sqrt(sums.beyond);
    sums.far = sqrt(sums.far);
    return sums;
}

hk_status hk_view_follow(hk_view *v)
{
    v->terms->damping = v->problem->terms->damping;
    v->terms->laplacian = v->problem->terms->laplacian;
    return v->single ? hk_terms_follow(v->terms, v->problem->terms) : HK_OK;
}

// Far from the origin positions have fewer digits.
static double distance(const hk_problem *p, const double *x)
{
    double most = 0;
#pragma omp parallel for schedule(static) num_threads(p->threads) reduction(max : most)
    for (int64_t k = 0; k < p->vertex_count; k++) most = fmax(most, largest(x + 4 * k));
    return fmax(1, hk_partition_max_of(p->partition, most) / p->reach);
}

static bool update_terms(hk_view *v, const double *x)
{
    hk_terms *from = v->problem->terms;
    if (!hk_terms_update(from, x)) return false;
    for (int k = 0; k < from->count && v->single; k++)
        if (from->term[k]->ops->update)
            from->term[k]->ops->follow(v->terms->term[k], from->term[k]);
    return true;
}

// Displacements from the base into v->x; the largest of them.
static double displace(hk_view *v, const double *x)
{
    double largest = 0;
#pragma omp parallel for schedule(static) num_threads(v->problem->threads) reduction(max : largest)
    for (int k = 0; k < v->problem->vertex_count; k++)
        for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 3; i++) {
            v->x[i] = (float)(x[i] - v->frame.base[i]);
            largest = fmax(largest, (double)fabsf(v->x[i]));
        }
    return largest;
}

// The largest displacement from v->settled to v->x, which is settled then.
static double settle(hk_view *v)
{
    float largest = 0;
#pragma omp parallel for schedule(static) num_threads(v->problem->threads) reduction(max : largest)
    for (int64_t k = 0; k < 4 * (int64_t)v->problem->vertex_count; k++) {
        largest = fmaxf(largest, fabsf(v->x[k] - v->settled[k]));
        v->settled[k] = v->x[k];
    }
    return (double)largest;
}

hk_status hk_view_begin(hk_view *v, const double *x)
{
    v->away = distance(v->problem, x);
    HK_TRY(hk_view_center(v, x));
    if (v->single) {
        v->base_strain = hk_terms_base_strain(v->terms);
        v->remainder = displace(v, x);
        settle(v);
    }
    update_terms(v, x);
    return HK_OK;
}

// Moves the base to x where that is far from it in comparison with the last motion.
static bool move_base(hk_view *v, const double *x)
{
    const double far = 100;  // what was evaluated is to be evaluated again: not often
    if (!v->single) return false;
    double reach = displace(v, x), motion = settle(v);
    if (!(reach > far * fmax(motion, v->remainder)) || hk_view_center(v, x) != HK_OK) return false;
    v->remainder = displace(v, x);
    settle(v);
    return true;
}

bool hk_view_update(hk_view *v, const double *x)
{
    bool moved = move_base(v, x);
    return update_terms(v, x) || moved;
}

// ---------------------------------------------------------------- gradients

static void widen_gradient(const hk_view *v, double *gradient)
{
    int64_t size = 4 * (int64_t)v->problem->vertex_count;
#pragma omp parallel for schedule(static) num_threads(v->problem->threads)
    for (int64_t k = 0; k < size; k++) gradient[k] = (double)v->gradient[k];
}

void hk_view_gradient(hk_view *v, const double *x, double *gradient, double *energy,
                      double *force_scale)
{
    hk_problem *p = v->problem;
    if (!v->single) {
        hk_problem_gradient(p, x, gradient, energy, force_scale);
        return;
    }
    double of_terms = 0, of_displacement = 0;
    hk_view_reach(v, displace(v, x));
    hk_terms_gradient(v->terms, v->x, HK_POSITION_TERMS, v->gradient, energy ? &of_terms : NULL);
    widen_gradient(v, gradient);
    if (energy) estimate_rounding(v, of_terms, v->reach);
    hk_terms_add_displacement(p->terms, x, gradient, &of_displacement);
    hk_problem_add_vertices(p, x, of_terms + of_displacement, gradient, energy, force_scale);
}

void hk_view_admm_gradient(hk_view *v, void *const *duals, bool fresh, const double *x,
                           double *gradient, double *force_scale)
{
    hk_problem *p = v->problem;
    if (v->single) {
        hk_view_reach(v, displace(v, x));
        hk_terms_admm_gradient(v->terms, duals, fresh, v->x, v->gradient);
        widen_gradient(v, gradient);
    } else {
        hk_terms_admm_gradient(v->terms, duals, fresh, x, gradient);
    }
    hk_terms_add_displacement(p->terms, x, gradient, NULL);
    hk_problem_add_vertices(p, x, 0, gradient, NULL, force_scale);
}

void hk_view_elements(hk_view *v, const void *x, void *gradient, double *energy)
{
    hk_terms_gradient(v->terms, x, HK_ALL_TERMS, gradient, energy);
    if (energy) estimate_rounding(v, *energy, v->reach);
}

void hk_view_diagonal(hk_view *v, const void *x, void *diagonal)
{
    hk_terms_diagonal(v->terms, x, diagonal);
}

void hk_view_remember(hk_view *v, hk_stream *stream)
{
    double *const known[] = {&v->rounding,    &v->energy_rounding, &v->away,  &v->strained,
                             &v->base_strain, &v->energy,          &v->reach, &v->remainder};
    for (int k = 0; k < HK_COUNT_OF(known); k++) HK_STREAM(stream, *known[k]);
    if (!v->single) return;
    // The next start is chosen around the base of the last solve.
    size_t size = 4 * (size_t)v->problem->vertex_count;
    hk_stream_bytes(stream, v->frame.base, size * sizeof *v->frame.base);
    hk_stream_bytes(stream, v->frame.displacement, size * sizeof *v->frame.displacement);
    hk_stream_bytes(stream, v->settled, size * sizeof *v->settled);
    if (!stream->reading || stream->status != HK_OK) return;
    v->frame.version++;
    stream->status = hk_view_follow(v);
}
