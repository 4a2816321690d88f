// What `vbd` needs of a model on a GPU: the free vertices by colours, such that those of one colour
// share no element, and with every vertex the elements around it, its star. Vertices have the
// numbers of the layout (layout.h).
//
// An item is one element with one law, seen from one of its corners; that corner comes first. The
// items of a vertex follow each other, so that neighbouring threads read them side by side, and so
// do those of the vertices of a colour.
//
// What an item brings from memory is what a sweep costs. The matrix of its shape gradients, B, is
// turned to be upper triangular, U = B Q, by a rotation Q of the rest state: the elements' F
// becomes F Q, which makes no difference to an isotropic law, and directions become Qᵀ d. That
// leaves 36 bytes: six numbers and three vertices. Where it does make a difference Q is at hand: a
// converted element that is inside out with equal stretches goes back by a rotation that depends on
// the axes (material/blend.h), which all corners must agree on; and viscous damping is that of the
// layout's items.
#ifndef HK_GPU_VERTEX_BLOCKS_H
#define HK_GPU_VERTEX_BLOCKS_H

#include "gpu/layout.h"
#include "linear/colouring.h"

// U00, U01, U02, U11 | U12, U22, and as integers the first two of the other vertices.
enum { HK_GPU_VERTEX_WORDS = 2 };

typedef struct hk_gpu_vertex_blocks {
    // Its items are the vertices, numbered below in that order: in a colour those near each other
    // and with about as many elements.
    hk_colouring colours;
    int count;                         // of vertices
    int32_t *start;                    // [count + 1] items of a vertex
    float *word[HK_GPU_VERTEX_WORDS];  // [item_count][4] see above; 1/m
    int32_t *third;                    // [item_count] of the other vertices
    int32_t *tet;                      // [item_count] in the model
    uint16_t *batch;                   // [item_count] of the layout; NULL: there is one
    float *element;  // [item_count][4] what a law wants to know of its element; or NULL
    // Where elements convert, or with viscous damping, else NULL:
    int32_t *twin;  // [item_count] an item of the layout for the same element and law
    float *turn;    // [item_count][4] Q as a unit quaternion x, y, z, w
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

#endif
