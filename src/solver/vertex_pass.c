#include "solver/vertex_pass.h"

#include <math.h>

static const double *base_of(const hk_vertices *v, int64_t vertex)
{
    static const double zero[3] = {0, 0, 0};
    return v->view->single ? v->view->frame.base + 4 * vertex : zero;
}

#define SCALAR  float
#define NAME(x) x##_f32
#include "solver/vertex_pass.inl"
#undef SCALAR
#undef NAME
#define SCALAR  double
#define NAME(x) x##_f64
#include "solver/vertex_pass.inl"
#undef SCALAR
#undef NAME

enum { RUN = 2048 };  // vertices a thread takes at a time; sums are over runs, in order

size_t hk_vertices_bytes(const hk_vertices *v)
{
    return 4 * (size_t)v->problem->vertex_count * hk_view_scalar_size(v->view);
}

hk_status hk_vertices_init(hk_vertices *v, hk_view *view)
{
    v->view = view;
    v->problem = view->problem;
    size_t count = 4 * (size_t)v->problem->vertex_count;
    void **vectors[] = {&v->q, &v->last, &v->gradient, &v->inverse, &v->target, &v->force};
    for (int k = 0; k < HK_COUNT_OF(vectors); k++) {
        *vectors[k] = hk_calloc(count, hk_view_scalar_size(v->view));
        if (!*vectors[k]) return HK_NO_MEMORY;
    }
    return HK_OK;
}

void hk_vertices_release(hk_vertices *v)
{
    hk_free(v->q);
    hk_free(v->last);
    hk_free(v->gradient);
    hk_free(v->inverse);
    hk_free(v->target);
    hk_free(v->force);
}

void hk_vertices_load(hk_vertices *v, const double *x)
{
    if (v->view->single)
        load_f32(v, x);
    else
        load_f64(v, x);
    memcpy(v->last, v->q, hk_vertices_bytes(v));
}

void hk_vertices_store(const hk_vertices *v, const void *q, double *x)
{
    if (v->view->single)
        store_f32(v, q, x);
    else
        store_f64(v, q, x);
}

void hk_vertices_fill(hk_vertices *v, const double *diagonal, double factor)
{
    for (int64_t k = 0; k < 4 * (int64_t)v->problem->vertex_count; k++)
        if (v->view->single)
            ((float *)v->inverse)[k] = (float)(factor * diagonal[k / 4]);
        else
            ((double *)v->inverse)[k] = factor * diagonal[k / 4];
}

void hk_vertices_invert(hk_vertices *v)
{
    if (v->view->single)
        invert_f32(v);
    else
        invert_f64(v);
}

hk_vertex_sums hk_vertices_measure(const hk_vertices *v)
{
    int64_t count = v->problem->vertex_count;
    hk_vertex_sums total = {0, 0, 0};
    for (int64_t first = 0; first < count; first += RUN) {
        int64_t last = first + RUN < count ? first + RUN : count;
        hk_vertex_sums part =
            v->view->single ? measure_f32(v, first, last) : measure_f64(v, first, last);
        total.energy += part.energy;
        total.square += part.square;
        total.reach = fmax(total.reach, part.reach);
    }
    hk_view_reach(v->view, total.reach);
    return total;
}

void hk_vertices_whole_gradient(const hk_vertices *v, double *gradient)
{
    if (v->view->single)
        whole_gradient_f32(v, gradient);
    else
        whole_gradient_f64(v, gradient);
}

double hk_vertices_epsilon(const hk_vertices *v)
{
    return v->view->single ? 6e-8 : 1.1e-16;
}

double hk_vertices_scale(const hk_vertices *v)
{
    double sums[3];
    if (v->view->single)
        squares_f32(v, sums);
    else
        squares_f64(v, sums);
    return sqrt(fmax(sums[0], fmax(sums[1], sums[2])));
}

void hk_vertices_step(hk_vertices *v, double length, double omega)
{
    int64_t count = v->problem->vertex_count;
#pragma omp parallel for schedule(static) num_threads(v->problem->threads)
    for (int64_t first = 0; first < count; first += RUN) {
        int64_t end = first + RUN < count ? first + RUN : count;
        if (v->view->single)
            step_f32(v, (float)length, (float)omega, first, end);
        else
            step_f64(v, length, omega, first, end);
    }
}

void hk_vertices_step_momentum(hk_vertices *v, double length, double momentum)
{
    int64_t count = v->problem->vertex_count;
#pragma omp parallel for schedule(static) num_threads(v->problem->threads)
    for (int64_t first = 0; first < count; first += RUN) {
        int64_t end = first + RUN < count ? first + RUN : count;
        if (v->view->single)
            step_momentum_f32(v, (float)length, (float)momentum, first, end);
        else
            step_momentum_f64(v, length, momentum, first, end);
    }
}

void hk_vertices_accelerate(hk_vertices *v, const void *before, double omega)
{
    int64_t count = v->problem->vertex_count;
#pragma omp parallel for schedule(static) num_threads(v->problem->threads)
    for (int64_t first = 0; first < count; first += RUN) {
        int64_t end = first + RUN < count ? first + RUN : count;
        if (v->view->single)
            accelerate_f32(v, before, (float)omega, first, end);
        else
            accelerate_f64(v, before, omega, first, end);
    }
}

void hk_vertices_extrapolate(hk_vertices *v, double momentum)
{
    int64_t count = v->problem->vertex_count;
#pragma omp parallel for schedule(static) num_threads(v->problem->threads)
    for (int64_t first = 0; first < count; first += RUN) {
        int64_t end = first + RUN < count ? first + RUN : count;
        if (v->view->single)
            extrapolate_f32(v, (float)momentum, first, end);
        else
            extrapolate_f64(v, momentum, first, end);
    }
}
