// Designs of the gradient on a GPU, side by side: an iteration of Jacobi's method with Chebyshev's
// weights (neo-Hookean), 96 of them in one CUDA graph.
//
//   (a) atomics   a thread a tet, vector atomics into the gradient; a thread a vertex moves it.
//                 Sums race: the bits differ from run to run.
//   (b) gather    a thread a tet writes the forces of its four corners; a thread a vertex collects
//                 its own and moves it.
//   (c) patches   what the library does (src/gpu/layout.h): bench_gpu times it, in whole steps.
//
//   bench_gpu_designs [tets ...]
//
// Vertices are in the order of the library's patches in all of them.
#define HK_DOUBLE 0
#define HK_LANES  1
#define HK_PARAM  float
#define HK_SHARED static __host__ __device__ __forceinline__ __attribute__((unused))
#include "material/laws.h"
#undef HK_PARAM

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 256, ITERATIONS = 96 };

static void check(cudaError_t error)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "bench_gpu_designs: %s\n", cudaGetErrorString(error));
    exit(1);
}

struct model {
    int tets, vertices;
    const int4 *corner;             // [tets]
    const float4 *shape0, *shape1;  // [tets] inverse of the rest edges
    const float *shape2;
    const int *start, *slot;  // corners of a vertex: 4 tet + corner
    float4 *q, *last, *gradient, *forces;
    const float4 *target, *inverse;
    hk_law_params params;
};

static __device__ void forces_of(const model &m, int t, float4 f[4])
{
    int4 c = m.corner[t];
    float4 a = m.shape0[t], b = m.shape1[t], o = m.q[c.x], p = m.q[c.y], r = m.q[c.z], s = m.q[c.w];
    mat3 shape = {{{a.x, a.y, a.z}, {a.w, b.x, b.y}, {b.z, b.w, m.shape2[t]}}};
    mat3 edges = {{{p.x - o.x, r.x - o.x, s.x - o.x},
                   {p.y - o.y, r.y - o.y, s.y - o.y},
                   {p.z - o.z, r.z - o.z, s.z - o.z}}};
    mat3 P;
    neo_hookean_energy_stress(&m.params, nullptr, m3_mul(edges, shape), &P);
    mat3 g = m3_mult(m3_scale(P, 1 / fabsf(6 * m3_det(shape))), shape);
    f[0] = make_float4(0, 0, 0, 0);
    for (int k = 0; k < 3; k++) {
        f[k + 1] = make_float4(g.m[0][k], g.m[1][k], g.m[2][k], 0);
        f[0].x -= g.m[0][k], f[0].y -= g.m[1][k], f[0].z -= g.m[2][k];
    }
}

static __global__ void add_forces(model m)
{
    int t = blockIdx.x * THREADS + threadIdx.x;
    if (t >= m.tets) return;
    float4 f[4];
    forces_of(m, t, f);
    int4 c = m.corner[t];
    atomicAdd(&m.gradient[c.x], f[0]);
    atomicAdd(&m.gradient[c.y], f[1]);
    atomicAdd(&m.gradient[c.z], f[2]);
    atomicAdd(&m.gradient[c.w], f[3]);
}

static __global__ void write_forces(model m)
{
    int t = blockIdx.x * THREADS + threadIdx.x;
    if (t >= m.tets) return;
    float4 f[4];
    forces_of(m, t, f);
    for (int c = 0; c < 4; c++) m.forces[4 * (size_t)t + c] = f[c];
}

static __device__ void move(const model &m, int v, float4 g, float alpha, float omega)
{
    float4 q = m.q[v], last = m.last[v], y = m.target[v], p = m.inverse[v];
    float4 d = make_float4(q.x - alpha * p.x * (g.x + y.w * (q.x - y.x)),
                           q.y - alpha * p.y * (g.y + y.w * (q.y - y.y)),
                           q.z - alpha * p.z * (g.z + y.w * (q.z - y.z)), 0);
    m.last[v] = q;
    m.q[v] = make_float4(omega * (d.x - last.x) + last.x, omega * (d.y - last.y) + last.y,
                         omega * (d.z - last.z) + last.z, 0);
}

static __global__ void move_added(model m, float alpha, float omega)
{
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= m.vertices) return;
    move(m, v, m.gradient[v], alpha, omega);
    m.gradient[v] = make_float4(0, 0, 0, 0);
}

static __global__ void move_gathered(model m, float alpha, float omega)
{
    int v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= m.vertices) return;
    float4 g = make_float4(0, 0, 0, 0);
    for (int k = m.start[v]; k < m.start[v + 1]; k++) {
        float4 f = m.forces[m.slot[k]];
        g.x += f.x, g.y += f.y, g.z += f.z;
    }
    move(m, v, g, alpha, omega);
}

// ---------------------------------------------------------------- a box

template <class T> static const T *upload(const T *from, size_t count)
{
    T *to;
    check(cudaMalloc(&to, count * sizeof(T)));
    check(cudaMemcpy(to, from, count * sizeof(T), cudaMemcpyHostToDevice));
    return to;
}

template <class T> static T *room(size_t count)
{
    T *to;
    check(cudaMalloc(&to, count * sizeof(T)));
    check(cudaMemset(to, 0, count * sizeof(T)));
    return to;
}

// A box of n³ cells of 1 m, cut into five tets each, its vertices in bricks of 6³: neighbours in
// space are neighbours in memory, as in the library's patches.
struct box {
    int n, *number;
};

static int vertex_at(const box &b, int x, int y, int z)
{
    return b.number[(x * (b.n + 1) + y) * (b.n + 1) + z];
}

static box make_box(int n)
{
    enum { BRICK = 6 };
    int side = n + 1, next = 0;
    box b = {n, (int *)malloc(sizeof(int) * side * side * side)};
    if (!b.number) exit(1);
    for (int X = 0; X < side; X += BRICK)
        for (int Y = 0; Y < side; Y += BRICK)
            for (int Z = 0; Z < side; Z += BRICK)
                for (int x = X; x < X + BRICK && x < side; x++)
                    for (int y = Y; y < Y + BRICK && y < side; y++)
                        for (int z = Z; z < Z + BRICK && z < side; z++)
                            b.number[(x * side + y) * side + z] = next++;
    return b;
}

// The five tets of a cell; those of neighbouring cells are mirrored.
static const int CUTS[2][5][4] = {
    {{0, 1, 2, 4}, {3, 1, 7, 2}, {5, 1, 4, 7}, {6, 2, 7, 4}, {1, 2, 4, 7}},
    {{1, 0, 5, 3}, {2, 0, 3, 6}, {4, 0, 6, 5}, {7, 3, 5, 6}, {0, 3, 6, 5}}};

struct arrays {
    int4 *corner;
    float4 *shape0, *shape1, *q, *target, *inverse;
    float *shape2;
    int *start, *slot;
};

static void fill_shape(const float (*p)[3], arrays &a, int t)
{
    double e[3][3], c[3][3], det = 0;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) e[k][i] = p[k + 1][i] - p[0][i];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) {
            const double *u = e[(k + 1) % 3], *v = e[(k + 2) % 3];
            c[k][i] = u[(i + 1) % 3] * v[(i + 2) % 3] - u[(i + 2) % 3] * v[(i + 1) % 3];
        }
    for (int i = 0; i < 3; i++) det += e[0][i] * c[0][i];
    float s[9];
    for (int k = 0; k < 9; k++) s[k] = (float)(c[k / 3][k % 3] / det);
    a.shape0[t] = make_float4(s[0], s[1], s[2], s[3]);
    a.shape1[t] = make_float4(s[4], s[5], s[6], s[7]);
    a.shape2[t] = s[8];
}

static void fill_cell(const box &b, int x, int y, int z, arrays &a, int *t)
{
    for (int k = 0; k < 5; k++, (*t)++) {
        int v[4];
        float p[4][3];
        for (int c = 0; c < 4; c++) {
            int corner = CUTS[(x + y + z) % 2][k][c];
            int at[3] = {x + (corner & 1), y + (corner >> 1 & 1), z + (corner >> 2)};
            v[c] = vertex_at(b, at[0], at[1], at[2]);
            for (int i = 0; i < 3; i++) p[c][i] = (float)at[i];
            a.q[v[c]] = make_float4(p[c][0] * 1.02f, p[c][1], p[c][2] + 0.01f * p[c][1], 0);
        }
        a.corner[*t] = make_int4(v[0], v[1], v[2], v[3]);
        fill_shape(p, a, *t);
    }
}

static void list_corners(int tets, int vertices, arrays &a)
{
    const int *corner = (const int *)a.corner;
    int *next = (int *)calloc((size_t)vertices + 1, sizeof(int));
    if (!next) exit(1);
    for (int k = 0; k < 4 * tets; k++) a.start[corner[k] + 1]++;
    for (int v = 0; v < vertices; v++) a.start[v + 1] += a.start[v];
    memcpy(next, a.start, sizeof(int) * (size_t)vertices);
    for (int k = 0; k < 4 * tets; k++) a.slot[next[corner[k]]++] = k;
    free(next);
}

static model make_model(int wanted)
{
    enum { CELLS = 6 };  // cells in bricks, too
    int n = 1;
    while (5 * (n + 1) * (n + 1) * (n + 1) <= wanted + wanted / 50) n++;
    box b = make_box(n);
    size_t tets = 5 * (size_t)n * n * n, vertices = (size_t)(n + 1) * (n + 1) * (n + 1);
    arrays a = {(int4 *)malloc(16 * tets),       (float4 *)malloc(16 * tets),
                (float4 *)malloc(16 * tets),     (float4 *)malloc(16 * vertices),
                (float4 *)malloc(16 * vertices), (float4 *)malloc(16 * vertices),
                (float *)malloc(4 * tets),       (int *)calloc(vertices + 1, 4),
                (int *)malloc(16 * tets)};
    int t = 0;
    for (int X = 0; X < n; X += CELLS)
        for (int Y = 0; Y < n; Y += CELLS)
            for (int Z = 0; Z < n; Z += CELLS)
                for (int x = X; x < X + CELLS && x < n; x++)
                    for (int y = Y; y < Y + CELLS && y < n; y++)
                        for (int z = Z; z < Z + CELLS && z < n; z++) fill_cell(b, x, y, z, a, &t);
    list_corners((int)tets, (int)vertices, a);
    for (size_t v = 0; v < vertices; v++) {
        a.target[v] = a.q[v];
        a.target[v].w = 1e5f;
        a.inverse[v] = make_float4(1e-6f, 1e-6f, 1e-6f, 0);
    }
    model m = {};
    m.tets = (int)tets;
    m.vertices = (int)vertices;
    m.corner = upload(a.corner, tets);
    m.shape0 = upload(a.shape0, tets);
    m.shape1 = upload(a.shape1, tets);
    m.shape2 = upload(a.shape2, tets);
    m.start = upload(a.start, vertices + 1);
    m.slot = upload(a.slot, 4 * tets);
    m.q = (float4 *)upload(a.q, vertices);
    m.last = (float4 *)upload(a.q, vertices);
    m.target = upload(a.target, vertices);
    m.inverse = upload(a.inverse, vertices);
    m.gradient = room<float4>(vertices);
    m.forces = room<float4>(4 * tets);
    m.params.c[0] = 4e4f;
    m.params.c[1] = 1e5f;
    void *all[] = {a.corner, a.shape0,  a.shape1, a.shape2, a.q,
                   a.target, a.inverse, a.start,  a.slot,   b.number};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
    return m;
}

static void free_model(const model &m)
{
    const void *all[] = {m.corner, m.shape0, m.shape1, m.shape2,  m.start,    m.slot,
                         m.q,      m.last,   m.target, m.inverse, m.gradient, m.forces};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) check(cudaFree((void *)all[k]));
}

// ---------------------------------------------------------------- times

static void launch(const model &m, bool atomics, cudaStream_t stream)
{
    int elements = (m.tets + THREADS - 1) / THREADS,
        vertices = (m.vertices + THREADS - 1) / THREADS;
    for (int k = 0; k < ITERATIONS; k++) {
        float omega = k == 0 ? 1.f : 1.5f;
        if (atomics) {
            add_forces<<<elements, THREADS, 0, stream>>>(m);
            move_added<<<vertices, THREADS, 0, stream>>>(m, 0.5f, omega);
        } else {
            write_forces<<<elements, THREADS, 0, stream>>>(m);
            move_gathered<<<vertices, THREADS, 0, stream>>>(m, 0.5f, omega);
        }
    }
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static float median_ms(const model &m, bool atomics)
{
    enum { RUNS = 11 };
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t run;
    cudaEvent_t begin, end;
    float ms[RUNS];
    check(cudaStreamCreate(&stream));
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch(m, atomics, stream);
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&run, graph, 0));
    for (int k = -2; k < RUNS; k++) {
        check(cudaEventRecord(begin, stream));
        check(cudaGraphLaunch(run, stream));
        check(cudaEventRecord(end, stream));
        check(cudaEventSynchronize(end));
        if (k >= 0) check(cudaEventElapsedTime(&ms[k], begin, end));
    }
    check(cudaGraphExecDestroy(run));
    check(cudaGraphDestroy(graph));
    check(cudaStreamDestroy(stream));
    qsort(ms, RUNS, sizeof *ms, by_size);
    return ms[RUNS / 2];
}

int main(int argc, char **argv)
{
    const int usual[] = {58000, 316000, 1000000, 10000000};
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        printf("bench_gpu_designs needs a CUDA device\n");
        return 0;
    }
    printf("%d iterations, ms: (a) vector atomics, (b) corner forces and gather\n%10s %10s %10s\n",
           ITERATIONS, "tets", "(a)", "(b)");
    for (int k = 0; k < (argc > 1 ? argc - 1 : 4); k++) {
        model m = make_model(argc > 1 ? atoi(argv[k + 1]) : usual[k]);
        printf("%10d %10.3f %10.3f\n", m.tets, (double)median_ms(m, true),
               (double)median_ms(m, false));
        free_model(m);
    }
    return 0;
}
