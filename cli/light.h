// Shadows: the scene seen from its lights.
#ifndef HOOKE_LIGHT_H
#define HOOKE_LIGHT_H

#include "raster.h"

// How deep the scene is, seen along parallel rays from one direction.
typedef struct depth_map {
    int size;
    float axis[3][3];  // across, upwards, towards the light
    float center[3];
    float scale;   // texels for one unit
    float *depth;  // [size][size] along axis[2], -INFINITY where the rays meet nothing
} depth_map;

// The middle, the radius and the lowest y of what the positions span.
typedef struct sphere {
    float center[3], radius, lowest;
} sphere;
sphere sphere_around(const float *positions, int count);

depth_map depth_map_new(int size);
void depth_map_free(depth_map *map);
void depth_map_draw(depth_map *map, const layer *l, const sphere *bounds, const float direction[3]);
// How much of the light reaches a point (moved off its surface by the caller), 0..1, averaged
// over about `spread` texels.
float depth_map_light(const depth_map *map, const float point[3], float spread);

// How open points are to the light from all around a layer, 0..1; [count].
void sky_light(const layer *l, const sphere *bounds, const float *points, const float *normals,
               int count, float *open);

// The soft shadow that the sky leaves on the ground: a square of [GROUND_SIZE]² shares of light.
enum { GROUND_SIZE = 160 };
typedef struct ground {
    float height, corner[2], cell;  // the square starts at `corner` (x, z)
    int blur;                       // how often the shadow is softened
    float *light;
} ground;
ground ground_new(const sphere *bounds, float height);
// Where the light of the sky is wanted, [GROUND_SIZE²][3] each, and what sky_light found there.
void ground_points(const ground *g, float *points, float *normals);
void ground_take_light(ground *g, const float *light);
void ground_free(ground *g);
float ground_light(const ground *g, float x, float z);

#endif
