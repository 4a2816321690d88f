// From the parameters of an obstacle to its surface (obstacle.c).
#ifndef HK_OBSTACLE_SHAPE_H
#define HK_OBSTACLE_SHAPE_H

#include "contact/obstacle.h"

// Vertices, edges, triangles, radius, or point and normal, with the transform applied.
hk_status hk_obstacle_shape_take(const hk_obstacle_def *def, hk_obstacle *obstacle);

#endif
