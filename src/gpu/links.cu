// Springs, bending and attachments (term/links.h) on the device: a thread for every vertex goes
// through its links and evaluates each, so that no sum needs another kernel, and all are in a fixed
// order.
#include "gpu/fine.h"
#include "gpu/motion.h"
#include "gpu/terms.h"

extern "C" {
#include "term/links.h"
}

enum { THREADS = HK_TERM_THREADS, DAMPING = 6 };

// Vertices have the numbers of the patches.
struct links_data {
    int vertex_count, link_count, others;  // others: springs and bends, which come first
    const int *start, *vertex;             // [link_count + 1], [entries]
    const float *coefficient;              // [entries]
    const float2 *law;                     // [link_count] stiffness and rest length
    const float4 *rest;                    // [link_count] its vector at rest
    const int *user_of;                    // [vertex_count]; −1: it has no links
    const int *use_start, *use_link;
    const float *use_coefficient;
    float4 *target;            // [attachment_count] as a displacement of its vertex
    const int *tied, *motion;  // [attachment_count] vertex, and how the target moves
    // With viscous damping, else NULL: B of every link at the beginning of the stage,
    // [DAMPING][link_count], and where displacements are measured from.
    float *damping;
    const float4 *from;
    const float *rate;
};

struct links {
    links_data data;
    int attachment_count;
};

// ---------------------------------------------------------------- one link

// Differences first: the coefficients of a bend add up to 0, their rounding errors do not.
static __device__ float3 link_vector(const links_data &l, int link, const float4 *x)
{
    int first = l.start[link], last = l.start[link + 1];
    float4 a = x[l.vertex[first]];
    if (link >= l.others) return fine_minus(a, l.target[link - l.others]);
    float3 d = make_float3(0, 0, 0);
    for (int k = first + 1; k < last; k++) {
        float3 farther = fine_minus(x[l.vertex[k]], a);
        float c = l.coefficient[k];
        d.x += c * farther.x, d.y += c * farther.y, d.z += c * farther.z;
    }
    float4 rest = l.rest[link];
    d.x += rest.x, d.y += rest.y, d.z += rest.z;
    return d;
}

// The force across × d, and B = across I + along d dᵀ.
struct link_force {
    float across, along, energy;
};

static __device__ link_force force_of(float2 law, float3 d)
{
    float w = law.x, r = law.y;
    float square = d.x * d.x + d.y * d.y + d.z * d.z, length = sqrtf(square);
    bool directed = length > 1e-6f * r && r > 0;
    link_force f;
    f.across = directed ? w - w * r / length : w;
    f.along = directed ? (w - f.across) / square : 0;
    f.energy = 0.5f * w * (length - r) * (length - r);
    return f;
}

static __device__ bool is_damped(const links_data &l, int link, int flags)
{
    return l.damping && link < l.others && !(flags & HK_CHECK_UNDAMPED);
}

// By how much the link's vector has changed since velocities are measured.
static __device__ float3 link_change(const links_data &l, int link, const float4 *x)
{
    float3 d = make_float3(0, 0, 0);
    int first = l.start[link];
    float3 u = fine_minus(x[l.vertex[first]], l.from[l.vertex[first]]);
    for (int k = first + 1; k < l.start[link + 1]; k++) {
        float3 w = fine_minus(x[l.vertex[k]], l.from[l.vertex[k]]);
        float c = l.coefficient[k];
        d.x += c * (w.x - u.x), d.y += c * (w.y - u.y), d.z += c * (w.z - u.z);
    }
    return d;
}

static __device__ void damping_of(const links_data &l, int link, float B[DAMPING])
{
    float rate = *l.rate;
    for (int k = 0; k < DAMPING; k++) B[k] = rate * l.damping[(int64_t)k * l.link_count + link];
}

static __device__ float3 times(const float B[DAMPING], float3 d)
{
    return make_float3(B[0] * d.x + B[1] * d.y + B[2] * d.z, B[1] * d.x + B[3] * d.y + B[4] * d.z,
                       B[2] * d.x + B[4] * d.y + B[5] * d.z);
}

// ---------------------------------------------------------------- all vertices

// Its energy counts at its first vertex.
static __global__ void __launch_bounds__(THREADS)
    gradient_kernel(const __grid_constant__ links_data l, const __grid_constant__ hk_gpu_args a,
                    bool first, double *energy)
{
    cudaGridDependencySynchronize();
    const float4 *x = hk_term_state(a);
    if (!x) return;
    int v = blockIdx.x * THREADS + threadIdx.x, user = v < l.vertex_count ? l.user_of[v] : -1;
    float sum[3] = {0, 0, 0};
    double psi = 0;
    for (int k = user < 0 ? 0 : l.use_start[user]; user >= 0 && k < l.use_start[user + 1]; k++) {
        int link = l.use_link[k];
        float c = l.use_coefficient[k];
        if (link >= l.others && (a.flags & HK_CHECK_NO_TIES)) continue;
        float3 d = link_vector(l, link, x);
        link_force f = force_of(l.law[link], d);
        float3 push = make_float3(f.across * d.x, f.across * d.y, f.across * d.z);
        double own = f.energy;
        if (is_damped(l, link, a.flags)) {
            float B[DAMPING];
            damping_of(l, link, B);
            float3 u = link_change(l, link, x), drag = times(B, u);
            push.x += drag.x, push.y += drag.y, push.z += drag.z;
            own += 0.5f * (drag.x * u.x + drag.y * u.y + drag.z * u.z);
        }
        sum[0] += c * push.x, sum[1] += c * push.y, sum[2] += c * push.z;
        if (l.vertex[l.start[link]] == v) psi += own;
    }
    if (v < l.vertex_count) hk_term_put(a.term_gradient + v, first, sum);
    psi = hk_term_block_sum(psi);
    if (threadIdx.x == 0) energy[blockIdx.x] = psi;
}

static __global__ void __launch_bounds__(THREADS)
    diagonal_kernel(const __grid_constant__ links_data l, const __grid_constant__ hk_gpu_args a,
                    bool first)
{
    cudaGridDependencySynchronize();
    const float4 *x = hk_term_state(a);
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (!x || v >= l.vertex_count) return;
    int user = l.user_of[v];
    float sum[3] = {0, 0, 0};
    for (int k = user < 0 ? 0 : l.use_start[user]; user >= 0 && k < l.use_start[user + 1]; k++) {
        int link = l.use_link[k];
        float c = l.use_coefficient[k] * l.use_coefficient[k];
        float3 d = link_vector(l, link, x);
        link_force f = force_of(l.law[link], d);
        float B[DAMPING] = {0, 0, 0, 0, 0, 0};
        if (is_damped(l, link, a.flags)) damping_of(l, link, B);
        sum[0] += c * (f.across + f.along * d.x * d.x + B[0]);
        sum[1] += c * (f.across + f.along * d.y * d.y + B[3]);
        sum[2] += c * (f.across + f.along * d.z * d.z + B[5]);
    }
    hk_term_put(a.term_diagonal + v, first, sum);
}

// ---------------------------------------------------------------- the vertices of a colour

// Gradient and block. Where vertices take care these are to bound the energy: no block of a link is
// larger than w I.
static __global__ void __launch_bounds__(THREADS)
    sums_kernel(const __grid_constant__ links_data l, const __grid_constant__ hk_gpu_vbd_args a,
                bool first)
{
    cudaGridDependencySynchronize();
    int n = a.first + (int)(blockIdx.x * THREADS + threadIdx.x);
    if (n >= a.last || a.control->shared.state != HK_GPU_GOING) return;
    const float4 *x = a.before && a.control->blended ? a.before : a.q;
    bool careful = vbd_is_careful(&a.rules, &a.control->vbd);
    int user = l.user_of[a.vertex[n]];
    float sum[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    for (int k = user < 0 ? 0 : l.use_start[user]; user >= 0 && k < l.use_start[user + 1]; k++) {
        int link = l.use_link[k];
        float c = l.use_coefficient[k], square = c * c;
        float3 d = link_vector(l, link, x);
        link_force f = force_of(l.law[link], d);
        float along = careful ? 0 : f.along, across = careful ? l.law[link].x : f.across;
        float push[3] = {f.across * d.x, f.across * d.y, f.across * d.z};
        float B[DAMPING] = {along * d.x * d.x + across, along * d.x * d.y,
                            along * d.x * d.z,          along * d.y * d.y + across,
                            along * d.y * d.z,          along * d.z * d.z + across};
        if (is_damped(l, link, 0)) {
            float D[DAMPING];
            damping_of(l, link, D);
            float3 drag = times(D, link_change(l, link, x));
            push[0] += drag.x, push[1] += drag.y, push[2] += drag.z;
            for (int i = 0; i < DAMPING; i++) B[i] += D[i];
        }
        for (int i = 0; i < 3; i++) sum[i] += c * push[i];
        for (int i = 0; i < DAMPING; i++) sum[3 + i] += square * B[i];
    }
    hk_term_put_sums(a, n, first, sum);
}

// ---------------------------------------------------------------- the beginning of a stage

static __global__ void __launch_bounds__(THREADS)
    target_kernel(const __grid_constant__ hk_gpu_state s, const __grid_constant__ links_data l,
                  int attachment_count)
{
    int k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= attachment_count) return;
    int v = l.tied[k];
    double x[3], o[3];
    place_point(s, s.motions[l.motion[k]], fraction_of(s, s.part), s.rest + 3 * (int64_t)v, x);
    frame_place(hk_gpu_frame_of(&s), v, o);
    l.target[k] = fine_narrow(x, o);
}

// B without its negative part.
static __global__ void __launch_bounds__(THREADS)
    damping_kernel(const __grid_constant__ links_data l, const float4 *x)
{
    int link = blockIdx.x * THREADS + threadIdx.x;
    if (link >= l.others) return;
    float3 d = link_vector(l, link, x);
    link_force f = force_of(l.law[link], d);
    float w = l.law[link].x, across = fmaxf(f.across, 0);
    float square = d.x * d.x + d.y * d.y + d.z * d.z;
    float along = f.along != 0 ? (w - across) / square : 0;
    const float B[DAMPING] = {along * d.x * d.x + across, along * d.x * d.y,
                              along * d.x * d.z,          along * d.y * d.y + across,
                              along * d.y * d.z,          along * d.z * d.z + across};
    for (int k = 0; k < DAMPING; k++) l.damping[(int64_t)k * l.link_count + link] = B[k];
}

// ---------------------------------------------------------------- launches

static hk_status begin(hk_gpu *g, void *term)
{
    const links *t = (const links *)term;
    const links_data &l = t->data;
    if (t->attachment_count > 0)
        target_kernel<<<hk_term_blocks(t->attachment_count), THREADS, 0, g->stream>>>(
            g->state, l, t->attachment_count);
    if (l.damping && l.others > 0)
        damping_kernel<<<hk_term_blocks(l.others), THREADS, 0, g->stream>>>(l, g->before);
    HK_CUDA(cudaGetLastError());
    return HK_OK;
}

static hk_status gradient(hk_gpu *g, void *term, const hk_gpu_args *args, bool first,
                          double *energy)
{
    const links_data *l = &((const links *)term)->data;
    void *parameters[] = {(void *)l, (void *)args, &first, &energy};
    return hk_gpu_launch_some(g, (const void *)gradient_kernel, hk_term_blocks(l->vertex_count),
                              THREADS, parameters);
}

static hk_status diagonal(hk_gpu *g, void *term, const hk_gpu_args *args, bool first)
{
    const links_data *l = &((const links *)term)->data;
    void *parameters[] = {(void *)l, (void *)args, &first};
    return hk_gpu_launch_some(g, (const void *)diagonal_kernel, hk_term_blocks(l->vertex_count),
                              THREADS, parameters);
}

static hk_status sums(hk_gpu *g, void *term, const hk_gpu_vbd_args *args, bool first)
{
    const links_data *l = &((const links *)term)->data;
    void *parameters[] = {(void *)l, (void *)args, &first};
    return hk_gpu_launch_some(g, (const void *)sums_kernel,
                              hk_term_blocks(args->last - args->first), THREADS, parameters);
}

static int parts(const void *term)
{
    return hk_term_blocks(((const links *)term)->data.vertex_count);
}

// ---------------------------------------------------------------- creation

// Numbers of the patches for numbers along the Morton curve.
static hk_status upload_vertices(hk_gpu *g, const hk_links *from, const int32_t *number,
                                 links_data *to)
{
    int entries = from->start[from->link_count], n = g->model->vertex_count;
    int32_t *vertex = HK_ARRAY(int32_t, entries), *user_of = HK_ARRAY(int32_t, n);
    hk_status status = vertex && user_of ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        for (int k = 0; k < entries; k++) vertex[k] = number[from->vertex[k]];
        for (int v = 0; v < n; v++) user_of[number[v]] = from->user_of[v];
        status = hk_gpu_upload(g, vertex, (size_t)entries, &to->vertex);
    }
    if (status == HK_OK) status = hk_gpu_upload(g, user_of, (size_t)n, &to->user_of);
    hk_free(vertex);
    hk_free(user_of);
    return status;
}

// Springs and bends at rest, in double precision until they are known: the bends of a flat sheet
// have none.
static float4 rest_vector(const hk_model *m, const hk_links *from, int link)
{
    const double *first = m->rest + 3 * (int64_t)m->order[from->vertex[from->start[link]]];
    double d[3] = {0, 0, 0};
    for (int k = from->start[link] + 1; k < from->start[link + 1]; k++) {
        const double *other = m->rest + 3 * (int64_t)m->order[from->vertex[k]];
        double c = (double)((const float *)from->scalars)[k];
        for (int i = 0; i < 3; i++) d[i] += c * (other[i] - first[i]);
    }
    return make_float4((float)d[0], (float)d[1], (float)d[2], 0);
}

static hk_status upload_laws(hk_gpu *g, const hk_links *from, links_data *to)
{
    size_t count = (size_t)from->link_count, entries = (size_t)from->start[from->link_count];
    float2 *law = HK_ARRAY(float2, count);
    float4 *rest = HK_ARRAY(float4, count);
    hk_status status = law && rest ? HK_OK : HK_NO_MEMORY;
    for (size_t k = 0; k < count && status == HK_OK; k++) {
        law[k] = make_float2((float)from->stiffness[k], (float)from->rest[k]);
        rest[k] = rest_vector(g->model, from, (int)k);
    }
    if (status == HK_OK) status = hk_gpu_upload(g, law, count, &to->law);
    if (status == HK_OK) status = hk_gpu_upload(g, rest, count, &to->rest);
    hk_free(law);
    hk_free(rest);
    HK_TRY(status);
    HK_TRY(hk_gpu_upload(g, from->start, count + 1, &to->start));
    HK_TRY(hk_gpu_upload(g, (const float *)from->scalars, entries, &to->coefficient));
    HK_TRY(hk_gpu_upload(g, from->use_start, (size_t)from->user_count + 1, &to->use_start));
    HK_TRY(hk_gpu_upload(g, from->use_link, entries, &to->use_link));
    return hk_gpu_upload(g, (const float *)from->use_coefficient, entries, &to->use_coefficient);
}

static hk_status upload_attachments(hk_gpu *g, const int32_t *number, links_data *to)
{
    const hk_model *m = g->model;
    size_t count = (size_t)m->attachment_count;
    int32_t *tied = HK_ARRAY(int32_t, count), *motion = HK_ARRAY(int32_t, count);
    hk_status status = tied && motion ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        for (int k = 0; k < m->attachment_count; k++) {
            tied[k] = number[m->place[m->attachments[k].vertex]];
            motion[k] = m->attachments[k].motion;
        }
        status = hk_gpu_upload(g, tied, count, &to->tied);
    }
    if (status == HK_OK) status = hk_gpu_upload(g, motion, count, &to->motion);
    if (status == HK_OK) status = hk_gpu_alloc(g, count, &to->target);
    hk_free(tied);
    hk_free(motion);
    return status;
}

static hk_status fill(hk_gpu *g, const hk_links *from, links_data *to)
{
    to->vertex_count = g->model->vertex_count;
    to->link_count = from->link_count;
    to->others = from->spring_count + from->bend_count;
    HK_TRY(upload_vertices(g, from, g->number, to));
    HK_TRY(upload_laws(g, from, to));
    HK_TRY(upload_attachments(g, g->number, to));
    if (!(g->damping.viscous > 0)) return HK_OK;
    to->from = g->from;
    to->rate = g->args.rate;
    return hk_gpu_alloc(g, (size_t)DAMPING * (size_t)to->link_count, &to->damping);
}

static hk_status create(hk_gpu *g, void **term)
{
    hk_links *from;
    links *made = HK_NEW(links);
    if (!made) return HK_NO_MEMORY;
    hk_status status = hk_links_create(g->model, HK_SINGLE, 1, &from);
    if (status == HK_OK) {
        made->attachment_count = from->attachment_count;
        status = fill(g, from, &made->data);
        hk_links_free(from);
    }
    if (status != HK_OK) {
        hk_free(made);
        return status;
    }
    *term = made;
    return HK_OK;
}

static void release(void *term)
{
    hk_free(term);
}

extern "C" const hk_gpu_term_ops hk_gpu_links = {create,   release,  parts, begin,
                                                 gradient, diagonal, sums,  nullptr};
