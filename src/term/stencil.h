// Terms that are written as a law of an element: energy, gradient and Hessian of a few positions,
// in double precision. All that methods ask a term for follows from these (stencil.c), and so does
// the version for the GPU (gpu/stencil.cu). Made for terms of few elements; those of many, such as
// tets, have kernels of their own.
//
// A law is a header in plain C with HK_RULE functions, compiled for both, and a line in list.h,
// HK_STENCIL_TERMS. For a law `name` it has
//
//   enum { name_tie = …,    1: elements tie bodies to something outside, as held vertices do
//          name_live = … }  1: they are a world's and may change between steps
//   hk_status name_elements(const hk_model *, const hk_live *, hk_elements *)  by hk_elements_add
//   double name_energy(const hk_element *, const double *x)       J; x is [count][3]; +inf: not
//                                                                 defined
//   void name_gradient(const hk_element *, const double *x, double *g)  [count][3]
//   void name_hessian(const hk_element *, const double *x, double *h)   [3 count][3 count]
//   void name_weights(const hk_element *, double *w)              [count][count] N/m, a constant
//                                                                 matrix for each of x, y and z
//                                                                 that bounds the Hessian
#ifndef HK_STENCIL_H
#define HK_STENCIL_H

#include "term/element.h"
#include "term/terms.h"

typedef struct hk_elements {
    hk_element *element;  // vertices have the model's numbers
    int count;
    size_t room;
} hk_elements;

hk_status hk_elements_add(hk_elements *to, const hk_element *element);
void hk_elements_release(hk_elements *elements);

typedef struct hk_stencil_law {
    const char *name;
    bool tie;
    bool live;
    hk_status (*elements)(const hk_model *model, const hk_live *live, hk_elements *to);
    double (*energy)(const hk_element *e, const double *x);
    void (*gradient)(const hk_element *e, const double *x, double *g);
    void (*hessian)(const hk_element *e, const double *x, double *h);
    void (*weights)(const hk_element *e, double *w);
    // J, an energy that is known to the rounding of numbers; or NULL: that at rest.
    double (*scale)(const hk_element *e);
    // Shorter ways than by the whole Hessian and its eigenvalues; or NULL.
    // The Hessian with what makes it indefinite times keep: 1 exact, 0 positive semidefinite.
    void (*projected)(const hk_element *e, const double *x, double keep, double *h);
    // Gradient and 3×3 block of one corner.
    void (*corner)(const hk_element *e, const double *x, int corner, double *g, double *block);
    // Energies and gradients of a run of elements of one owner, from any thread, in place of those
    // above for one; [count][corners][3]. Laws that have it have WIDE_CORNERS vertices at the most.
    void (*wide)(const hk_element *first, int count, const double *x, double *energy, double *g);
    // Elements that are evaluated many at a time: whether this one is; `count` of one owner from
    // `first` on, which have the same number of vertices. NULL: none are.
    bool (*is_batched)(const hk_element *e);
    void (*many)(const hk_element *first, int count, const double *x, double *energy, double *g,
                 double *h);
} hk_stencil_law;

typedef struct hk_stencil_term {
    hk_term base;
    const hk_stencil_law *law;
    hk_elements elements;  // vertices in Morton order
    int64_t version;       // of hk_live, that they are of
    int64_t shape_version;
    int64_t *block;       // [count + 1] where the blocks of an element begin
    double *force;        // [use_count][3] of every corner, by element
    double *multiplier;   // [use_count][3] the same of XPBD
    int32_t *corner;      // [count + 1] the first corner of an element
    int32_t *user;        // [user_count] vertices that have elements
    int32_t *user_of;     // [vertex_count] where; -1: none
    int32_t *use_start;   // [user_count + 1]
    int32_t *use;         // [use_count] corners, by vertex
    int32_t *element_of;  // [use_count] of a corner
    int user_count, use_count;
    double *partial;  // [count] energies
    // Of elements that are evaluated many at a time; NULL: there are none.
    double *corner_x;  // [use_count][3] positions of all corners
    double *hessians;  // one after the other
    int64_t *square;   // [count + 1] where they begin
} hk_stencil_term;

// A term of `size` bytes that begins with a hk_stencil_term; the rest is 0.
hk_status hk_stencil_create_larger(const hk_terms *list, const hk_stencil_law *law, size_t size,
                                   hk_term **term);
hk_status hk_stencil_create(const hk_terms *list, const hk_stencil_law *law, hk_term **term);
// The corners of an element in double precision, in the space of the bodies.
void hk_stencil_read(const hk_stencil_term *term, const void *positions, const hk_element *element,
                     double *x);
bool hk_stencil_in_model(const hk_stencil_law *law, const hk_model *model);
void hk_stencil_model_stencils(const hk_stencil_law *law, const hk_model *model,
                               hk_stencil_fn *visit, void *context);
void hk_stencil_live_stencils(const hk_stencil_law *law, const hk_model *model, const hk_live *live,
                              hk_stencil_fn *visit, void *context);
void hk_stencil_model_weights(const hk_stencil_law *law, const hk_model *model, hk_weight_fn *visit,
                              void *context);

// ---- the ops of such terms
void hk_stencil_free(hk_term *term);
hk_status hk_stencil_follow(hk_term *term, const hk_term *from);
hk_status hk_stencil_refresh(hk_term *term);
bool hk_stencil_active(const hk_term *term);
double hk_stencil_energy(hk_term *term, const void *x);
void hk_stencil_add_gradient(hk_term *term, const void *x, void *gradient, double *energy);
void hk_stencil_add_diagonal(hk_term *term, const void *x, void *diagonal);
void hk_stencil_stencils(const hk_term *term, hk_stencil_fn *visit, void *context);
int64_t hk_stencil_block_size(const hk_term *term);
void hk_stencil_blocks(hk_term *term, const double *x, double keep, hk_blocks_for what,
                       double *values);
void hk_stencil_visit_blocks(hk_term *term, const double *x, double keep, int threads,
                             hk_block_fn *visit, void *context);
void hk_stencil_visit_weights(const hk_term *term, hk_weight_fn *visit, void *context);
bool hk_stencil_vertex(const hk_term *term, int vertex, const void *x, double gradient[3],
                       double block[6]);
double hk_stencil_vertex_energy(const hk_term *term, int vertex, const void *x,
                                const double step[3]);
double hk_stencil_scales(const hk_term *term, double *stiffness);
bool hk_stencil_undefined(hk_term *term, const void *x, char *text, size_t size);
extern const hk_relax_ops hk_stencil_relax;

#define HK_STENCIL_COMMON_OPS                                                              \
    .part = HK_PART_ELASTIC, .free = hk_stencil_free, .follow = hk_stencil_follow,         \
    .active = hk_stencil_active, .wanted = hk_stencil_active, .energy = hk_stencil_energy, \
    .add_gradient = hk_stencil_add_gradient, .add_diagonal = hk_stencil_add_diagonal,      \
    .vertex = hk_stencil_vertex, .vertex_energy = hk_stencil_vertex_energy,                \
    .scales = hk_stencil_scales, .undefined = hk_stencil_undefined, .relax = &hk_stencil_relax

// Terms of a law whose elements are the model's: what asks for them by the law, and all that such
// terms have alike. Behind it come .name, .in_model and .advice.
#define HK_STENCIL_MODEL_LAW(law)                                                      \
    static hk_status create(const hk_terms *list, hk_term **term)                      \
    {                                                                                  \
        return hk_stencil_create(list, &law, term);                                    \
    }                                                                                  \
    static void model_stencils(const hk_model *m, hk_stencil_fn *visit, void *context) \
    {                                                                                  \
        hk_stencil_model_stencils(&law, m, visit, context);                            \
    }                                                                                  \
    static void model_weights(const hk_model *m, const double *material_weight,        \
                              hk_weight_fn *visit, void *context)                      \
    {                                                                                  \
        (void)material_weight;                                                         \
        hk_stencil_model_weights(&law, m, visit, context);                             \
    }                                                                                  \
    static const hk_term_shape g_shape = {model_stencils, model_weights}

#define HK_STENCIL_MODEL_OPS                                                                     \
    HK_STENCIL_COMMON_OPS, .shape = &g_shape, .create = create, .stencils = hk_stencil_stencils, \
                           .block_size = hk_stencil_block_size, .blocks = hk_stencil_blocks

#endif
