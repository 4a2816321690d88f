// VTK XML image data (.vti): values at the nodes of a regular grid, for ParaView and others.
#ifndef HK_VTI_H
#define HK_VTI_H

#include "io/io.h"

typedef struct hk_image_array {
    const char *name;
    bool whole;  // small whole numbers, written in a byte each
    // The values of the nodes of a plane, [cells[1] + 1][cells[0] + 1]; planes are asked for in
    // order.
    void (*plane)(const void *context, int z, float *values);
    const void *context;
} hk_image_array;

typedef struct hk_image {
    int cells[3];
    double origin[3], spacing;  // m
    int array_count;
    const hk_image_array *arrays;  // the first is what viewers show
} hk_image;

// Whole or not at all; the path must end in .vti.
hk_status hk_vti_save(const char *path, const hk_image *image);

#endif
