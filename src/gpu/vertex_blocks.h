// What `vbd` needs of a model on a GPU: the free vertices by colours, such that those of one colour
// share no element, and with every vertex the elements around it, its star. Vertices have the
// numbers of the layout (layout.h).
//
// An item is one element with one law, seen from one of its corners; that corner comes first. The
// items of a vertex follow each other, so that neighbouring threads read them side by side, and so
// do those of the vertices of a colour.
//
// What an item brings from memory is what a sweep costs: 48 bytes, the matrix B of the shape
// gradients of its other corners and who these are.
#ifndef HK_GPU_VERTEX_BLOCKS_H
#define HK_GPU_VERTEX_BLOCKS_H

#include "gpu/layout.h"
#include "linear/colouring.h"

// B row by row, and as integers the other vertices.
enum { HK_GPU_VERTEX_WORDS = 3, HK_GPU_VERTEX_OTHERS = 9 };

typedef struct hk_gpu_vertex_blocks {
    // Its items are the vertices, numbered below in that order: in a colour those near each other
    // and with about as many elements.
    hk_colouring colours;
    int count;                         // of vertices
    int32_t *start;                    // [count + 1] items of a vertex
    float *word[HK_GPU_VERTEX_WORDS];  // [item_count][4] see above; 1/m
    int32_t *tet;                      // [item_count] in the model
    uint16_t *batch;                   // [item_count] of the layout; NULL: there is one
    float *element;  // [item_count][4] what a law wants to know of its element; or NULL
    // Where elements convert, or with viscous damping, else NULL:
    int32_t *twin;  // [item_count] an item of the layout for the same element and law
    float *noise;   // [count] J, what rounding does to the energy of a star
    // With viscous damping: the vertices that share elements with a vertex, ascending, and which.
    int32_t *near_start;  // [count + 1] in `near`
    int32_t *near;        // vertices
    int32_t *pair_start;  // [near_start[count] + 1] in `pair`
    int32_t *pair;        // 4 × item + which of its corners the other vertex is, 1 to 3
} hk_gpu_vertex_blocks;

// The layout is that of the model. threads 0: all cores.
hk_status hk_gpu_vertex_blocks_create(const hk_model *model, const hk_live *live,
                                      const hk_gpu_layout *layout, bool viscous, int threads,
                                      hk_gpu_vertex_blocks **blocks);
void hk_gpu_vertex_blocks_free(hk_gpu_vertex_blocks *blocks);
// An item as it was: B, and the other vertices.
void hk_gpu_vertex_item(const hk_gpu_vertex_blocks *blocks, int64_t at, float B[9],
                        int32_t other[3]);

#endif
