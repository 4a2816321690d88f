// A model that is one part of a larger one: several processes have a part each and take the same
// decisions together (src/cluster/). Every element is in one part, with all of its vertices; a
// vertex that several parts know is counted by one of them, its owner. Masses and constant forces
// are the owner's alone, so that whatever adds up over elements and vertices adds up over parts:
// the energy of the whole is the sum of those of the parts, and so are gradients and matrices once
// shared vertices have been summed over those who know them.
//
// All that is summed, compared or shared here is so by all processes at the same time and in the
// same order; they get the same bits. Without a partition every function is the identity.
#ifndef HK_MODEL_PARTITION_H
#define HK_MODEL_PARTITION_H

#include "core/base.h"

typedef struct hk_partition hk_partition;

// The pieces that hang together in the whole model.
typedef struct hk_partition_piece {
    int32_t body, vertex;  // its first vertex, by the numbers of that body
    int32_t held;          // held and tied vertices
    int32_t rigid;         // its number among those that nothing holds; -1: it is held
    int32_t axes;          // along which something holds it; only looked at where
    int32_t by_axes;       // fixes by axis alone hold it
} hk_partition_piece;

struct hk_assembly;
// The matrix of Newton's method over all parts.
typedef struct hk_partition_matrix_ops {
    // With `direct` its systems are factored.
    hk_status (*create)(hk_partition *partition, const struct hk_assembly *assembly, bool direct,
                        void **matrix);
    void (*free)(void *matrix);
    // Before `set`: memory that holds nothing that is needed until the next matrix. True where what
    // it held is lost.
    bool (*borrow)(const void *matrix, void *memory, size_t size);
    // Σ over the parts of the lower triangles; x is [vertex_count][4].
    hk_status (*set)(void *matrix, const double *lower, const double *x, bool *positive);
    // direction = −H⁻¹ gradient at free vertices, also those of other parts; 0 at held ones.
    hk_status (*solve)(void *matrix, double tolerance, const double *gradient, double *direction,
                       int *iterations, bool *positive);
    void (*describe)(const void *matrix, char *text, size_t size);
} hk_partition_matrix_ops;

typedef struct hk_partition_ops {
    void (*sum)(hk_partition *partition, double *values, int count);
    void (*max)(hk_partition *partition, double *values, int count);
    // Σ over all who know a vertex, for all of them: vector is [vertex_count][4] in Morton order.
    void (*share)(hk_partition *partition, double *vector);
    // The least over all who know a vertex, for all of them.
    void (*least)(hk_partition *partition, double *vector);
    hk_partition_matrix_ops matrix;
} hk_partition_ops;

struct hk_partition {
    const hk_partition_ops *ops;
    bool leads;  // counts what all parts do together
    int vertex_count;
    uint8_t *mine;    // [vertex_count] Morton order: this part counts it
    int32_t *piece;   // [vertex_count] model's numbers: that it belongs to
    int32_t *vertex;  // [vertex_count] model's numbers: its number in the whole model
    int32_t *tet;     // [tet_count] the same of tets
    int32_t *first;   // [body_count][2] of bodies: their first vertex and tet in the whole model
    int piece_count, rigid_count;
    hk_partition_piece *pieces;       // [piece_count]
    int64_t free_count;               // vertices of the whole model that are free
    bool unheld;                      // some piece has fewer than three held vertices
    struct hk_part_surface *surface;  // that can touch something (contact/contacts.h), or NULL
};

static inline bool hk_partition_counts(const hk_partition *g, int64_t k)
{
    return !g || g->mine[k];
}
void hk_partition_sum(hk_partition *partition, double *values, int count);
// Each of them; none is NaN.
void hk_partition_min(hk_partition *partition, double *values, int count);
double hk_partition_sum_of(hk_partition *partition, double value);
// NaN where one of them is.
double hk_partition_max_of(hk_partition *partition, double value);
double hk_partition_min_of(hk_partition *partition, double value);
bool hk_partition_any(hk_partition *partition, bool value);
bool hk_partition_all(hk_partition *partition, bool value);
void hk_partition_share(hk_partition *partition, double *vector);
void hk_partition_least(hk_partition *partition, double *vector);

#endif
