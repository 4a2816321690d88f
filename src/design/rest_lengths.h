// Sheets in the inverse problem. Springs leave a rest shape open: there may be none in which all
// rest lengths are those of one shape, and many where the lengths are right. What is found for a
// sheet are its rest lengths (balance.h), and its positions are those of the loaded shape.
#ifndef HK_REST_LENGTHS_H
#define HK_REST_LENGTHS_H

#include "model/model.h"

typedef struct hk_rest_lengths {
    bool wanted;             // some vertex of a sheet is free
    double *spring, *bend;   // factors, as hk_model_set_length_factors has them
    double *residual;        // [vertex_count][4] N, Morton order, 0 but at free vertices of sheets
    double tolerance;        // on what is left, relative: as asked for, or what rounding leaves
    double load, left;       // N, norms of the load on sheets and of what is left of it
    double least, greatest;  // of the factors of springs; 1 without any
    int pushing;             // springs that are longer at rest
    int worst;               // the vertex with most left; -1: there is no sheet
    double worst_load;       // N, on it
    bool buckles;            // springs that push balance it, and it does not stay there
} hk_rest_lengths;

hk_status hk_rest_lengths_create(const hk_model *model, hk_rest_lengths *lengths);
void hk_rest_lengths_release(hk_rest_lengths *lengths);
// For the free vertices of sheets of a model whose rest positions are the loaded shape, and of
// which nothing moves.
hk_status hk_rest_lengths_find(const hk_model *model, double tolerance, int threads,
                               hk_rest_lengths *lengths);
// What is wrong and what to change, for users.
void hk_rest_lengths_describe(const hk_model *model, const hk_rest_lengths *lengths, char *text,
                              size_t size);

#endif
