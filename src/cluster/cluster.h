// A world that several processes simulate together, over MPI and PETSc. Each has a part of the
// model (part.h) and a world of its own on it; hk_world_step and hk_world_pose are called by all of
// them at the same time, decide the same, and give the same reports (model/partition.h says how).
// All functions here are for all processes at the same time, too.
//
// The first process (rank 0) reads the scene and has the whole model until its parts are on their
// way. What fails on one process fails on all, with one message (hk_cluster_agree).
#ifndef HK_CLUSTER_H
#define HK_CLUSTER_H

#include <mpi.h>

#include "cluster/part.h"
#include "world/world.h"

// Vertices that two parts share: own ones that the other has as ghosts, and the other way round.
typedef struct hk_neighbour {
    int rank;
    int own_count, ghost_count;
    int32_t *own, *ghosts;        // [own_count], [ghost_count] Morton order
    double *own_box, *ghost_box;  // [own_count][3], [ghost_count][3] on their way
} hk_neighbour;

typedef struct hk_cluster {
    MPI_Comm comm;
    int rank, size;
    hk_cluster_part part;
    hk_world_def def;  // of the world, with texts of its own
    hk_world *world;
    int neighbour_count;
    hk_neighbour *neighbours;  // [neighbour_count] ranks ascending
    MPI_Request *requests;     // [2 neighbour_count]
    double *box;               // what sums are received in
    size_t box_capacity;
    // What there was to do: messages and bytes of this process, and time that it took.
    int64_t messages, message_bytes, sums;
    double exchange_s;
} hk_cluster;

static inline hk_cluster *hk_cluster_of(hk_partition *partition)
{
    return (hk_cluster *)((char *)partition - offsetof(hk_cluster, part) -
                          offsetof(hk_cluster_part, partition));
}

// The worst status of all processes, and on all of them the message of the first that has it.
hk_status hk_cluster_agree(MPI_Comm comm, hk_status status);

// `model` and `def` are of rank 0, which gives up the model; the others may pass NULL. PETSc has
// been initialised. All processes fail here, or none.
hk_status hk_cluster_create(MPI_Comm comm, hk_model *model, const hk_world_def *def, int threads,
                            hk_cluster **cluster);
// Makes the worlds. One process may fail alone here, as in all that the world does from then on: it
// has to end the others, which wait for it.
hk_status hk_cluster_begin(hk_cluster *cluster);
void hk_cluster_free(hk_cluster *cluster);

// Vectors of all vertices of the whole model, [vertex_count][3] in the users' order, on rank 0: out
// of `own`, [vertices of the part][3]. `all` is NULL elsewhere.
hk_status hk_cluster_gather(hk_cluster *cluster, const double *own, double *all);

// ---------------------------------------------------------------- exchange.c
hk_status hk_exchange_create(hk_cluster *cluster);
void hk_exchange_release(hk_cluster *cluster);
void hk_exchange_sum(hk_partition *partition, double *values, int count);
void hk_exchange_max(hk_partition *partition, double *values, int count);
void hk_exchange_share(hk_partition *partition, double *vector);
void hk_exchange_least(hk_partition *partition, double *vector);
// Values of owners to those who have the vertices as ghosts.
void hk_exchange_spread(hk_cluster *cluster, double *vector);

// ---------------------------------------------------------------- matrix.c
extern const hk_partition_matrix_ops hk_petsc_matrix;

// ---------------------------------------------------------------- output.c
// PATH.pvtu of all parts, in the folder PATH/.
hk_status hk_cluster_save(hk_cluster *cluster, const char *stem, const char *const *fields,
                          int field_count);

#endif
