// What may change in a world between two steps without anything being made anew: gravity, loads,
// forces, where held vertices go, and grabs. A world owns one; terms look at it (hk_terms.live).
#ifndef HK_LIVE_H
#define HK_LIVE_H

#include "model/model.h"

enum { HK_GRAB_VERTICES = 4 };
typedef struct hk_grab {  // E = stiffness/2 ‖Σ weight_k x_k − target‖²
    bool held;            // false: it was let go, and its number is free
    int count;
    int32_t vertex[HK_GRAB_VERTICES];
    double weight[HK_GRAB_VERTICES];
    double stiffness;  // N/m
    double target[3];  // m
} hk_grab;

typedef struct hk_live {
    double gravity[3];
    double *load;    // [vertex_count][3] N in place of the model's; NULL: none was set
    double *force;   // [vertex_count][3] N beside the loads; NULL: none was set
    double *target;  // [vertex_count][3] m, of held vertices; NAN: as the model says. NULL: all so
    double *timed;   // [vertex_count][3] N, what functions of the time add to the loads; NULL: none
    double *factors;  // [factor_count of the conditions] of pressures; NULL: all 1
    uint8_t *broken;  // [springs between points of the model] 1: it broke; NULL: there are none
    hk_grab *grabs;   // [grab_count]
    int grab_count;
    size_t grab_capacity;
    int64_t version;        // of the grabs: counts changes …
    int64_t shape_version;  // … but for those of targets
} hk_live;

void hk_live_init(hk_live *live, const hk_model *model);
void hk_live_release(hk_live *live);

// Loads and forces of a vertex together, N.
static inline double hk_live_load(const hk_live *live, const hk_model *m, int64_t k)
{
    double load = live && live->load ? live->load[k] : m->load[k];
    if (live && live->timed) load += live->timed[k];
    return live && live->force ? load + live->force[k] : load;
}

static inline const double *hk_live_gravity(const hk_live *live, const hk_model *m)
{
    return live ? live->gravity : m->gravity;
}

static inline bool hk_live_is_broken(const hk_live *live, int spring)
{
    return live && live->broken && live->broken[spring];
}

// Where a user put a held vertex; NULL: nowhere.
static inline const double *hk_live_target(const hk_live *live, int vertex)
{
    const double *target = live && live->target ? live->target + 3 * (int64_t)vertex : NULL;
    return target && target[0] == target[0] ? target : NULL;
}

// Where a held vertex is at `time`; true: it goes there at once, and may be taken there in parts.
bool hk_live_held_position(const hk_live *live, const hk_model *model, int vertex, double time,
                           double x[3]);

#endif
