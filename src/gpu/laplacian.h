// The constant matrix of QuasiNewton, A = L + M/h² + c/h (solver/constant_matrix.h), made ready on
// the host for what a GPU does with it: products with A in the order of the patches, or products
// with the inverse of its Cholesky factor.
#ifndef HK_GPU_LAPLACIAN_H
#define HK_GPU_LAPLACIAN_H

#include "model/model.h"

// What the matrix is made of.
typedef struct hk_gpu_matrix {
    const hk_model *model;
    const int32_t *place;  // [vertex_count] the vertex here → its place in the model's Morton order
    const double *weight;  // [material_count] N/m² of each material
    double inertia, air;   // 1/h², c/h: N/m a kg and a vertex
    int threads;
} hk_gpu_matrix;

// ---------------------------------------------------------------- products with A

enum { HK_GPU_ROWS = 32 };  // of a slice: a warp reads their entries side by side

typedef struct hk_gpu_entry {
    int32_t column;
    float value;  // a_ij / a_ii; 0 fills up
} hk_gpu_entry;

// D⁻¹A without its diagonal. Entry k of row r is entries[start[r / 32] + 32 k + r % 32]; all rows
// of a slice have as many. Held vertices have none, nor do others have them.
typedef struct hk_gpu_laplacian {
    int count;               // vertices
    int32_t *start;          // [slices + 1]
    hk_gpu_entry *entries;   // [start[slices]]
    float *inverse;          // [count] 1 / a_ii; 0: held
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

// ---------------------------------------------------------------- products with the inverse factor

// Rows [row, row + rows) of S = L⁻¹ (A = L Lᵀ, in an order of nested dissection) that a supernode
// of L stands for: dense from `column` on, which is the first of the supernode's descendants in the
// elimination tree (rounded down to HK_GPU_ALIGNED). S_ij is value[start + (i − row) width + j −
// column].
typedef struct hk_gpu_panel {
    int64_t start;
    int32_t row, rows;
    int32_t column, width;
    int32_t parent;  // the panel of the next supernode on the way to the root, or −1
} hk_gpu_panel;
enum { HK_GPU_ALIGNED = 8 };  // numbers: 32 bytes

// A part of S b: at most HK_GPU_TASK_ROWS rows and HK_GPU_TASK_COLUMNS columns of a panel.
enum { HK_GPU_TASK_ROWS = 8, HK_GPU_TASK_COLUMNS = 512 };
typedef struct hk_gpu_task {
    int64_t value;  // of its first row and column
    int32_t rows, width, column, columns;
} hk_gpu_task;

// A part of Sᵀ y for a tile of HK_GPU_TILE columns: all rows of a panel.
enum { HK_GPU_TILE = 32 };
typedef struct hk_gpu_segment {
    int64_t value;  // of its first row and column 0, which need not exist
    int32_t row, rows, width;
    int32_t first, last;  // columns that it has
} hk_gpu_segment;

typedef struct hk_gpu_inverse {
    int count;        // free vertices
    int32_t *vertex;  // [count] k-th in the order of elimination → the vertex here
    int panel_count, task_count, segment_count;
    hk_gpu_panel *panels;
    hk_gpu_task *tasks;
    int32_t *row_task;       // [count] the first task of a row × HK_GPU_TASK_ROWS + its row in it
    int32_t *row_parts;      // [count] how many tasks in succession it has
    int32_t *segment_start;  // [tiles + 1]
    hk_gpu_segment *segments;
    int64_t size;  // numbers
    float *value;
} hk_gpu_inverse;

// HK_UNSUPPORTED without a direct solver, and where S would have more than `most` numbers.
hk_status hk_gpu_inverse_create(const hk_gpu_matrix *matrix, int64_t most,
                                hk_gpu_inverse **inverse);
void hk_gpu_inverse_free(hk_gpu_inverse *inverse);

#endif
