// Laws of an element (term/stencil.h) on the device. A thread for every vertex goes through its
// elements and evaluates each in double precision, in the space of the bodies, so that no sum needs
// another kernel, and all are in a fixed order.
#include "gpu/fine.h"
#include "gpu/terms.h"

extern "C" {
#include "term/stencil.h"
}
#include "term/all_stencils.h"

enum { THREADS = HK_TERM_THREADS, MOST = 3 * HK_ELEMENT_VERTICES };

// Vertices have the numbers of the patches; the lists are those of hk_stencil_term.
struct stencil_data {
    int vertex_count, element_count;
    const hk_element *element;
    const int *corner, *element_of;
    const int *user_of, *use_start, *use;
    hk_gpu_frame frame;
};

struct stencil {
    const hk_term_ops *of;
    hk_terms list;  // what the term of the CPU belongs to …
    hk_term *host;  // … whose elements these are
    stencil_data data;
    hk_element *numbered;           // [capacity] them, with the numbers of the patches
    size_t capacity, use_capacity;  // elements and corners that there is memory for
};

// ---------------------------------------------------------------- one element

static __device__ void read_element(const stencil_data &t, const hk_element &e, const float4 *x,
                                    double *at)
{
    for (int c = 0; c < e.count; c++) {
        double o[3];
        frame_place(t.frame, e.vertex[c], o);
        fine_widen(x[e.vertex[c]], o, at + 3 * c);
    }
}

// The k-th corner of a vertex.
struct corner {
    const hk_element *element;
    int number;  // of the corner in it
};

static __device__ __forceinline__ corner corner_of(const stencil_data &t, int k)
{
    int at = t.use[k], element = t.element_of[at];
    corner c = {&t.element[element], at - t.corner[element]};
    return c;
}

static __device__ bool is_positive(const double h[9])
{
    double a = h[0], b = h[0] * h[4] - h[1] * h[3];
    double c = h[0] * (h[4] * h[8] - h[5] * h[7]) - h[1] * (h[3] * h[8] - h[5] * h[6]) +
               h[2] * (h[3] * h[7] - h[4] * h[6]);
    double least = -1e-12 * (fabs(h[0]) + fabs(h[4]) + fabs(h[8]));
    return a >= least && b >= least * fabs(a) && c >= least * fabs(b);
}

// ---------------------------------------------------------------- all vertices

// The energy of an element counts at its first vertex.
template <class LAW>
static __global__ void __launch_bounds__(THREADS)
    gradient_kernel(const __grid_constant__ stencil_data t, const __grid_constant__ hk_gpu_args a,
                    bool first, double *energy)
{
    cudaGridDependencySynchronize();
    const float4 *x = hk_term_state(a);
    if (!x) return;
    int v = blockIdx.x * THREADS + threadIdx.x, user = v < t.vertex_count ? t.user_of[v] : -1;
    if (LAW::TIE && (a.flags & HK_CHECK_NO_TIES)) user = -1;
    double sum[3] = {0, 0, 0}, psi = 0;
    for (int k = user < 0 ? 0 : t.use_start[user]; user >= 0 && k < t.use_start[user + 1]; k++) {
        corner c = corner_of(t, k);
        double at[MOST], g[MOST];
        read_element(t, *c.element, x, at);
        LAW::gradient(c.element, at, g);
        for (int i = 0; i < 3; i++) sum[i] += g[3 * c.number + i];
        if (c.number == 0) psi += LAW::energy(c.element, at);
    }
    const float put[3] = {(float)sum[0], (float)sum[1], (float)sum[2]};
    if (v < t.vertex_count) hk_term_put(a.term_gradient + v, first, put);
    psi = hk_term_block_sum(psi);
    if (threadIdx.x == 0) energy[blockIdx.x] = psi;
}

template <class LAW>
static __global__ void __launch_bounds__(THREADS)
    diagonal_kernel(const __grid_constant__ stencil_data t, const __grid_constant__ hk_gpu_args a,
                    bool first)
{
    cudaGridDependencySynchronize();
    const float4 *x = hk_term_state(a);
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (!x || v >= t.vertex_count) return;
    int user = t.user_of[v];
    float sum[3] = {0, 0, 0};
    for (int k = user < 0 ? 0 : t.use_start[user]; user >= 0 && k < t.use_start[user + 1]; k++) {
        corner c = corner_of(t, k);
        double at[MOST], h[MOST * MOST];
        int n = 3 * c.element->count;
        read_element(t, *c.element, x, at);
        LAW::hessian(c.element, at, h);
        for (int i = 0; i < 3; i++) sum[i] += (float)fmax(0.0, h[(n + 1) * (3 * c.number + i)]);
    }
    hk_term_put(a.term_diagonal + v, first, sum);
}

// ---------------------------------------------------------------- the vertices of a colour

// Gradient and block. Where vertices take care, and where the block is not positive, it is what
// bounds it.
template <class LAW>
static __global__ void __launch_bounds__(THREADS)
    sums_kernel(const __grid_constant__ stencil_data t, const __grid_constant__ hk_gpu_vbd_args a,
                bool first)
{
    cudaGridDependencySynchronize();
    int n = a.first + (int)(blockIdx.x * THREADS + threadIdx.x);
    if (n >= a.last || a.control->shared.state != HK_GPU_GOING) return;
    const float4 *x = a.before && a.control->blended ? a.before : a.q;
    bool careful = vbd_is_careful(&a.rules, &a.control->vbd);
    int user = t.user_of[a.vertex[n]];
    float sum[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    for (int k = user < 0 ? 0 : t.use_start[user]; user >= 0 && k < t.use_start[user + 1]; k++) {
        corner c = corner_of(t, k);
        int count = c.element->count, size = 3 * count;
        double at[MOST], h[MOST * MOST], g[MOST], own[9];
        read_element(t, *c.element, x, at);
        LAW::gradient(c.element, at, g);
        LAW::hessian(c.element, at, h);
        for (int i = 0; i < 9; i++)
            own[i] = h[size * (3 * c.number + i / 3) + 3 * c.number + i % 3];
        if (careful || !is_positive(own)) {
            double weight[HK_ELEMENT_VERTICES * HK_ELEMENT_VERTICES];
            LAW::weights(c.element, weight);
            for (int i = 0; i < 9; i++) own[i] = i % 4 == 0 ? weight[(count + 1) * c.number] : 0;
        }
        for (int i = 0, q = 3; i < 3; i++) {
            sum[i] += (float)g[3 * c.number + i];
            for (int j = i; j < 3; j++, q++) sum[q] += (float)own[3 * i + j];
        }
    }
    hk_term_put_sums(a, n, first, sum);
}

// ---------------------------------------------------------------- launches

template <class LAW>
static hk_status gradient(hk_gpu *g, void *term, const hk_gpu_args *args, bool first,
                          double *energy)
{
    const stencil_data *t = &((const stencil *)term)->data;
    void *parameters[] = {(void *)t, (void *)args, &first, &energy};
    return hk_gpu_launch_some(g, (const void *)gradient_kernel<LAW>,
                              hk_term_blocks(t->vertex_count), THREADS, parameters);
}

template <class LAW>
static hk_status diagonal(hk_gpu *g, void *term, const hk_gpu_args *args, bool first)
{
    const stencil_data *t = &((const stencil *)term)->data;
    void *parameters[] = {(void *)t, (void *)args, &first};
    return hk_gpu_launch_some(g, (const void *)diagonal_kernel<LAW>,
                              hk_term_blocks(t->vertex_count), THREADS, parameters);
}

template <class LAW>
static hk_status sums(hk_gpu *g, void *term, const hk_gpu_vbd_args *args, bool first)
{
    const stencil_data *t = &((const stencil *)term)->data;
    void *parameters[] = {(void *)t, (void *)args, &first};
    return hk_gpu_launch_some(g, (const void *)sums_kernel<LAW>,
                              hk_term_blocks(args->last - args->first), THREADS, parameters);
}

// Without elements it takes no part.
static int parts(const void *term)
{
    const stencil_data *t = &((const stencil *)term)->data;
    return t->element_count > 0 ? hk_term_blocks(t->vertex_count) : 0;
}

// ---------------------------------------------------------------- the elements

// Into device memory of the term's own, behind what is launched already.
template <class T> static hk_status put(hk_gpu *g, const T *from, size_t count, const T *to)
{
    HK_CUDA(
        cudaMemcpyAsync((void *)to, from, count * sizeof(T), cudaMemcpyHostToDevice, g->stream));
    return HK_OK;
}

static hk_status need_memory(hk_gpu *g, const hk_stencil_term *from, stencil *t)
{
    size_t count = (size_t)from->elements.count, uses = (size_t)from->use_count;
    if (!t->data.user_of)
        HK_TRY(hk_gpu_alloc(g, (size_t)t->data.vertex_count, (int **)&t->data.user_of));
    if (count <= t->capacity && uses <= t->use_capacity) return HK_OK;
    hk_free(t->numbered);
    t->numbered = HK_ARRAY(hk_element, 2 * count);
    if (!t->numbered) return HK_NO_MEMORY;
    t->capacity = 2 * count;
    t->use_capacity = 2 * uses;
    HK_TRY(hk_gpu_alloc(g, t->capacity, (hk_element **)&t->data.element));
    HK_TRY(hk_gpu_alloc(g, t->capacity + 1, (int **)&t->data.corner));
    HK_TRY(hk_gpu_alloc(g, t->use_capacity, (int **)&t->data.element_of));
    HK_TRY(hk_gpu_alloc(g, t->use_capacity, (int **)&t->data.use));
    return hk_gpu_alloc(g, t->use_capacity + 1, (int **)&t->data.use_start);
}

static hk_status put_elements(hk_gpu *g, const hk_stencil_term *from, const stencil *t)
{
    int count = from->elements.count;
    memcpy(t->numbered, from->elements.element, sizeof(hk_element) * (size_t)count);
    for (int k = 0; k < count; k++)
        for (int c = 0; c < t->numbered[k].count; c++)
            t->numbered[k].vertex[c] = g->number[t->numbered[k].vertex[c]];
    return put(g, t->numbered, (size_t)count, t->data.element);
}

static hk_status put_lists(hk_gpu *g, const hk_stencil_term *from, const stencil *t)
{
    int n = t->data.vertex_count;
    int32_t *user_of = HK_ARRAY(int32_t, n);
    if (!user_of) return HK_NO_MEMORY;
    for (int v = 0; v < n; v++) user_of[g->number[v]] = from->user_of[v];
    hk_status status = put(g, user_of, (size_t)n, t->data.user_of);
    hk_free(user_of);
    HK_TRY(status);
    size_t uses = (size_t)from->use_count;
    HK_TRY(put(g, from->corner, (size_t)from->elements.count + 1, t->data.corner));
    HK_TRY(put(g, from->element_of, uses, t->data.element_of));
    HK_TRY(put(g, from->use, uses, t->data.use));
    return put(g, from->use_start, (size_t)from->user_count + 1, t->data.use_start);
}

static hk_status put_all(hk_gpu *g, stencil *t, bool shape)
{
    const hk_stencil_term *from = (const hk_stencil_term *)t->host;
    t->data.element_count = from->elements.count;
    if (from->elements.count == 0) return HK_OK;
    if (shape) HK_TRY(need_memory(g, from, t));
    HK_TRY(put_elements(g, from, t));
    return shape ? put_lists(g, from, t) : HK_OK;
}

static hk_status refresh(hk_gpu *g, void *term, bool shape)
{
    stencil *t = (stencil *)term;
    t->list.live = g->live;
    HK_TRY(hk_stencil_refresh(t->host));
    return put_all(g, t, shape);
}

static void release(void *term)
{
    stencil *t = (stencil *)term;
    if (t->host) t->of->free(t->host);
    hk_free(t->numbered);
    hk_free(t);
}

static hk_status create(hk_gpu *g, const hk_term_ops *of, bool tie, void **term)
{
    if (!tie && g->damping.viscous > 0)
        return hk_fail(
            HK_UNSUPPORTED,
            "backend \"cuda\": %s have no viscous damping there: set \"viscous\" to 0, or "
            "use the CPU",
            of->name);
    stencil *t = HK_NEW(stencil);
    if (!t) return HK_NO_MEMORY;
    t->of = of;
    t->data.vertex_count = g->model->vertex_count;
    t->data.frame = hk_gpu_frame_of(&g->state);
    t->list = hk_gpu_host_list(g);
    hk_status status = of->create(&t->list, &t->host);
    if (status == HK_OK) {
        t->host->ops = of;
        t->host->list = &t->list;
        status = put_all(g, t, true);
    }
    if (status != HK_OK || t->data.element_count == 0) {
        release(t);
        return status;
    }
    *term = t;
    return HK_OK;
}

// ---------------------------------------------------------------- the laws

#define PASTE(a, b)     a##b
#define JOIN(a, b)      PASTE(a, b)
#define HK_EACH_STENCIL "gpu/stencil_ops.inl"
#include "term/each_stencil.h"
