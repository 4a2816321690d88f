// The constant matrix of QuasiNewton, A = (1 + β/h) L + M/h² + c/h (solver/constant_matrix.h), made
// ready on the host for what a GPU does with it: cycles of multigrid, or products with A, in the
// order of the patches.
#ifndef HK_GPU_LAPLACIAN_H
#define HK_GPU_LAPLACIAN_H

#include "linear/multigrid.h"
#include "model/model.h"

// What the matrix is made of.
typedef struct hk_gpu_matrix {
    const hk_model *model;
    const int32_t *place;  // [vertex_count] the vertex here → its place in the model's Morton order
    const double *weight;  // [material_count] N/m² of each material
    double inertia, air;   // 1/h², c/h: N/m per kg and per vertex
    double stiffening;     // β/h: by how much viscous damping raises the rest
    int threads;
} hk_gpu_matrix;

// Its lower triangle over all vertices in the order of the patches; held ones have no entries.
typedef struct hk_gpu_triangle {
    hk_pattern pattern;
    double *value;
} hk_gpu_triangle;
hk_status hk_gpu_triangle_create(const hk_gpu_matrix *matrix, hk_gpu_triangle *triangle);
void hk_gpu_triangle_release(hk_gpu_triangle *triangle);
bool hk_gpu_matrix_is_free(const hk_gpu_matrix *matrix, int vertex);
// The same matrix in ever coarser versions (linear/hierarchy.h); `smallest` as there.
hk_status hk_gpu_triangle_hierarchy(const hk_gpu_triangle *triangle, int smallest,
                                    hk_hierarchy **hierarchy);
// x = A⁻¹ right on the CPU by so many cycles, each for what those before left; both are
// [vertex_count][4] in Morton order.
hk_status hk_gpu_triangle_solve(const hk_gpu_matrix *matrix, const hk_gpu_triangle *triangle,
                                hk_multigrid *multigrid, int cycles, const double *right,
                                double *x);

enum { HK_GPU_ROWS = 32 };  // of a slice: a warp reads their entries side by side

typedef struct hk_gpu_entry {
    int32_t column;
    float value;  // a_ij / a_ii; 0 fills up
} hk_gpu_entry;

// D⁻¹A without its diagonal. Entry k of row r is entries[start[r / 32] + 32 k + r % 32]; all rows
// of a slice have as many. Held vertices have none, nor do others have them.
typedef struct hk_gpu_laplacian {
    int count;              // vertices
    int32_t *start;         // [slices + 1]
    hk_gpu_entry *entries;  // [start[slices]]
    float *inverse;         // [count] 1 / a_ii; 0: held
    // [count] the sum of a row of D⁻¹A: inertia, and what ties it to held vertices, which is small
    // where a body is stiff, and known better than the sum of rounded entries.
    float *surplus;
    double least, greatest;  // bounds of the eigenvalues of D⁻¹A
} hk_gpu_laplacian;

hk_status hk_gpu_laplacian_create(const hk_gpu_matrix *matrix, hk_gpu_laplacian **laplacian);
void hk_gpu_laplacian_free(hk_gpu_laplacian *laplacian);

static inline int hk_gpu_slices(const hk_gpu_laplacian *l)
{
    return (l->count + HK_GPU_ROWS - 1) / HK_GPU_ROWS;
}

// A x = b by Jacobi's iteration with Chebyshev acceleration from x₀ = 0: x₁ = first D⁻¹ b, then
// x⁺ = x₋ + ω (first D⁻¹(b − A x) + x − x₋) (Golub & Varga 1961), ω by hk_gpu_omega. A fixed number
// of them is a symmetric positive definite polynomial of A.
typedef struct hk_gpu_chebyshev {
    int inner;     // iterations, the first one included
    float first;   // 2/(a + b) for eigenvalues in a..b
    float radius;  // (b − a)/(b + a)
} hk_gpu_chebyshev;

// inner 0: as many as L-BFGS can use, at most 48. Parts of the error that are too slow for so many
// iterations are left to the caller.
hk_gpu_chebyshev hk_gpu_plan_chebyshev(const hk_gpu_laplacian *laplacian, int inner);
// ω of iteration k = 1, 2, …, from that of the one before.
static inline float hk_gpu_omega(const hk_gpu_chebyshev *c, int k, float before)
{
    float square = c->radius * c->radius;
    return k == 1 ? 2 / (2 - square) : 4 / (4 - square * before);
}

#endif
