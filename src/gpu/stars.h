// What `vbd` needs of a model on a GPU: the free vertices by colours, such that those of one colour
// share no element, and with every vertex the elements around it, its star. Vertices have the
// numbers of the layout (layout.h).
//
// An item is one element with one law, seen from one of its corners; that corner comes first. The
// items of a vertex follow each other, so that neighbouring threads read them side by side, and so
// do those of the vertices of a colour.
#ifndef HK_GPU_STARS_H
#define HK_GPU_STARS_H

#include "gpu/layout.h"
#include "linear/colouring.h"

enum { HK_GPU_STAR_WORDS = 3 };  // 16 bytes each: the shape in 9 floats, then 3 vertices

typedef struct hk_gpu_stars {
    hk_colouring colours;  // its items are the vertices, below numbered in that order
    int count;             // of vertices
    int32_t *start;        // [count + 1] items of a vertex
    // [item_count][4] Shape gradients of the other corners in rows, 1/m, and in the last three
    // places their vertices, as integers.
    float *word[HK_GPU_STAR_WORDS];
    int32_t *tet;     // [item_count] in the model
    uint16_t *batch;  // [item_count] of the layout; NULL: there is one
    float *element;   // [item_count][4] what a law wants to know of its element; or NULL
    float *noise;     // [count] J, what rounding does to the energy of a star
} hk_gpu_stars;

// The layout is that of the model. threads 0: all cores.
hk_status hk_gpu_stars_create(const hk_model *model, const hk_gpu_layout *layout, int threads,
                              hk_gpu_stars **stars);
void hk_gpu_stars_free(hk_gpu_stars *stars);

#endif
