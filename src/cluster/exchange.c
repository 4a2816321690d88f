// Sums over processes, and sums of vertices that several of them know.
//
// Sums go to rank 0 and come back from there, so that all have the same bits. Vertices: ghosts go
// to their owners, which add them up in the order of the ranks (or take the least), and come back.
#include <stdlib.h>

#include "cluster/cluster.h"

enum { TAG_NUMBERS = 1, TAG_GHOSTS, TAG_SUMS };

// ---------------------------------------------------------------- numbers

static void combine(hk_cluster *c, double *values, int count, MPI_Op op)
{
    double clock = hk_now();
    bool root = c->rank == 0;
    MPI_Reduce(root ? MPI_IN_PLACE : values, values, count, MPI_DOUBLE, op, 0, c->comm);
    MPI_Bcast(values, count, MPI_DOUBLE, 0, c->comm);
    c->sums++;
    c->exchange_s += hk_now() - clock;
}

void hk_exchange_sum(hk_partition *p, double *values, int count)
{
    combine(hk_cluster_of(p), values, count, MPI_SUM);
}

void hk_exchange_max(hk_partition *p, double *values, int count)
{
    combine(hk_cluster_of(p), values, count, MPI_MAX);
}

// ---------------------------------------------------------------- vertices

static void pack(const double *vector, const int32_t *at, int count, double *box)
{
    for (int64_t k = 0; k < count; k++)
        for (int i = 0; i < 3; i++) box[3 * k + i] = vector[4 * (int64_t)at[k] + i];
}

static void count_message(hk_cluster *c, int numbers)
{
    c->messages += numbers > 0;
    c->message_bytes += (int64_t)sizeof(double) * numbers;
}

static double sum_of(double a, double b)
{
    return a + b;
}

static double least_of(double a, double b)
{
    return b < a ? b : a;
}

// Ghosts to owners, which combine them.
static void collect(hk_cluster *c, double *vector, double combine_two(double, double))
{
    int n = 0;
    for (int k = 0; k < c->neighbour_count; k++) {
        hk_neighbour *b = &c->neighbours[k];
        if (b->own_count > 0)
            MPI_Irecv(b->own_box, 3 * b->own_count, MPI_DOUBLE, b->rank, TAG_GHOSTS, c->comm,
                      &c->requests[n++]);
    }
    for (int k = 0; k < c->neighbour_count; k++) {
        hk_neighbour *b = &c->neighbours[k];
        if (b->ghost_count == 0) continue;
        pack(vector, b->ghosts, b->ghost_count, b->ghost_box);
        MPI_Isend(b->ghost_box, 3 * b->ghost_count, MPI_DOUBLE, b->rank, TAG_GHOSTS, c->comm,
                  &c->requests[n++]);
        count_message(c, 3 * b->ghost_count);
    }
    MPI_Waitall(n, c->requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < c->neighbour_count; k++) {
        const hk_neighbour *b = &c->neighbours[k];
        for (int64_t v = 0; v < b->own_count; v++)
            for (int i = 0; i < 3; i++) {
                double *to = &vector[4 * (int64_t)b->own[v] + i];
                *to = combine_two(*to, b->own_box[3 * v + i]);
            }
    }
}

static void spread(hk_cluster *c, double *vector)
{
    int n = 0;
    for (int k = 0; k < c->neighbour_count; k++) {
        hk_neighbour *b = &c->neighbours[k];
        if (b->ghost_count > 0)
            MPI_Irecv(b->ghost_box, 3 * b->ghost_count, MPI_DOUBLE, b->rank, TAG_SUMS, c->comm,
                      &c->requests[n++]);
    }
    for (int k = 0; k < c->neighbour_count; k++) {
        hk_neighbour *b = &c->neighbours[k];
        if (b->own_count == 0) continue;
        pack(vector, b->own, b->own_count, b->own_box);
        MPI_Isend(b->own_box, 3 * b->own_count, MPI_DOUBLE, b->rank, TAG_SUMS, c->comm,
                  &c->requests[n++]);
        count_message(c, 3 * b->own_count);
    }
    MPI_Waitall(n, c->requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < c->neighbour_count; k++) {
        const hk_neighbour *b = &c->neighbours[k];
        for (int64_t v = 0; v < b->ghost_count; v++)
            for (int i = 0; i < 3; i++)
                vector[4 * (int64_t)b->ghosts[v] + i] = b->ghost_box[3 * v + i];
    }
}

void hk_exchange_spread(hk_cluster *c, double *vector)
{
    double clock = hk_now();
    spread(c, vector);
    c->exchange_s += hk_now() - clock;
}

static void collect_and_spread(hk_cluster *c, double *vector, double combine_two(double, double))
{
    double clock = hk_now();
    collect(c, vector, combine_two);
    spread(c, vector);
    c->exchange_s += hk_now() - clock;
}

void hk_exchange_share(hk_partition *p, double *vector)
{
    collect_and_spread(hk_cluster_of(p), vector, sum_of);
}

void hk_exchange_least(hk_partition *p, double *vector)
{
    collect_and_spread(hk_cluster_of(p), vector, least_of);
}

// ---------------------------------------------------------------- who shares what

// How many ghosts this process has of each, and how many of its own each of them has.
static hk_status count_ghosts(const hk_cluster *c, int *ghosts, int *own)
{
    for (int k = 0; k < c->part.partition.vertex_count; k++)
        if (c->part.owner[k] != c->rank) ghosts[c->part.owner[k]]++;
    MPI_Alltoall(ghosts, 1, MPI_INT, own, 1, MPI_INT, c->comm);
    return HK_OK;
}

static hk_status make_neighbour(hk_neighbour *b, int rank, int own, int ghosts)
{
    *b = (hk_neighbour){.rank = rank, .own_count = own, .ghost_count = ghosts};
    b->own = HK_ARRAY(int32_t, own);
    b->ghosts = HK_ARRAY(int32_t, ghosts);
    b->own_box = HK_ARRAY(double, 3 * (size_t)own);
    b->ghost_box = HK_ARRAY(double, 3 * (size_t)ghosts);
    return b->own && b->ghosts && b->own_box && b->ghost_box ? HK_OK : HK_NO_MEMORY;
}

static hk_status make_neighbours(hk_cluster *c, const int *ghosts, const int *own)
{
    int count = 0;
    for (int r = 0; r < c->size; r++) count += ghosts[r] > 0 || own[r] > 0;
    c->neighbours = HK_ZEROS(hk_neighbour, count);
    c->requests = HK_ZEROS(MPI_Request, 2 * (size_t)count);
    if (!c->neighbours || !c->requests) return HK_NO_MEMORY;
    for (int r = 0; r < c->size; r++)
        if (ghosts[r] > 0 || own[r] > 0)
            HK_TRY(make_neighbour(&c->neighbours[c->neighbour_count++], r, own[r], ghosts[r]));
    return HK_OK;
}

// Its place by a number of the whole model; the part's are ascending.
static int32_t place_of(const hk_cluster_part *part, int32_t whole)
{
    int low = 0, high = part->partition.vertex_count;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (part->partition.vertex[middle] <= whole)
            low = middle;
        else
            high = middle;
    }
    return part->model->place[low];
}

// Ghosts in the order of their numbers in the whole model, which owners are told.
static hk_status tell_numbers(hk_cluster *c)
{
    const hk_partition *p = &c->part.partition;
    int n = 0;
    for (int k = 0; k < c->neighbour_count; k++) {
        hk_neighbour *b = &c->neighbours[k];
        int count = 0;
        for (int v = 0; v < p->vertex_count; v++)
            if (c->part.owner[c->part.model->place[v]] == b->rank)
                b->ghosts[count++] = p->vertex[v];
        MPI_Irecv(b->own, b->own_count, MPI_INT32_T, b->rank, TAG_NUMBERS, c->comm,
                  &c->requests[n++]);
        MPI_Isend(b->ghosts, b->ghost_count, MPI_INT32_T, b->rank, TAG_NUMBERS, c->comm,
                  &c->requests[n++]);
    }
    MPI_Waitall(n, c->requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < c->neighbour_count; k++) {
        hk_neighbour *b = &c->neighbours[k];
        for (int v = 0; v < b->own_count; v++) b->own[v] = place_of(&c->part, b->own[v]);
        for (int v = 0; v < b->ghost_count; v++) b->ghosts[v] = place_of(&c->part, b->ghosts[v]);
    }
    return HK_OK;
}

hk_status hk_exchange_create(hk_cluster *c)
{
    int *ghosts = HK_ZEROS(int, c->size), *own = HK_ZEROS(int, c->size);
    hk_status status = ghosts && own ? HK_OK : HK_NO_MEMORY;
    status = hk_cluster_agree(c->comm, status);
    if (status == HK_OK) status = count_ghosts(c, ghosts, own);
    if (status == HK_OK) status = hk_cluster_agree(c->comm, make_neighbours(c, ghosts, own));
    hk_free(ghosts);
    hk_free(own);
    return status == HK_OK ? tell_numbers(c) : status;
}

void hk_exchange_release(hk_cluster *c)
{
    for (int k = 0; k < c->neighbour_count; k++) {
        hk_free(c->neighbours[k].own);
        hk_free(c->neighbours[k].ghosts);
        hk_free(c->neighbours[k].own_box);
        hk_free(c->neighbours[k].ghost_box);
    }
    hk_free(c->neighbours);
    hk_free(c->requests);
}
