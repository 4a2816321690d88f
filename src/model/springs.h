// Springs between points: combinations of vertices, or places of the world. Seams are many of them.
// Immutable, shared by a model and its copies.
#ifndef HK_MODEL_SPRINGS_H
#define HK_MODEL_SPRINGS_H

#include "core/time_factor.h"
#include "model/model.h"

typedef struct hk_spring_end {
    int count;  // 0: the place of the world
    int32_t vertex[HK_POINT_VERTICES];
    double weight[HK_POINT_VERTICES];
} hk_spring_end;

// d = Σ c_k x_k − target, whose length is l. The coefficients add up to 0; of a spring to the world
// they add up to 1, and it has a target.
typedef struct hk_point_spring {
    bool tied;  // to the world
    bool slack;
    int count;
    int32_t vertex[2 * HK_POINT_VERTICES];
    double coefficient[2 * HK_POINT_VERTICES];
    hk_spring_end ends[2];
    double target[3];                     // m
    double stiffness, damping, breaking;  // N/m, N s/m, N (0: never)
    double rest, to;                      // m
    hk_time_factor *factor;               // how much of the way from `rest` to `to`; NULL: all
} hk_point_spring;

typedef struct hk_spring_name {
    char *name;
    int spring;
} hk_spring_name;

typedef struct hk_point_springs {
    int references;
    int count, name_count;
    size_t capacity, name_capacity;
    hk_point_spring *list;  // [count]
    hk_spring_name *names;  // [name_count]
} hk_point_springs;

hk_point_springs *hk_point_springs_retain(hk_point_springs *springs);
void hk_point_springs_free(hk_point_springs *springs);
// Those of a definition; the bodies of the model are there.
hk_status hk_model_take_springs(const hk_model_def *def, hk_model *model);
// The rest length at `time`, or at a fraction 0..1 of the way.
double hk_point_spring_rest(const hk_point_spring *spring, double time);
double hk_point_spring_rest_at(const hk_point_spring *spring, double fraction);
// The distance of its points, x as double[vertex_count][stride], by the model's numbers or in
// Morton order (`place`, or NULL).
double hk_point_spring_length(const hk_point_spring *spring, const double *x, int stride,
                              const int32_t *place);
// Where an end is; x are by the model's numbers.
void hk_point_spring_place(const hk_point_spring *spring, int end, const double *x, double at[3]);
// The pull along it at a length, N.
double hk_point_spring_tension(const hk_point_spring *spring, double length, double rest);
// Whether energy is put in or taken out: dampers, rest lengths that change.
bool hk_point_springs_do_work(const hk_point_springs *springs);

// seam.c
hk_status hk_model_take_seam(const hk_seam_def *def, hk_model *model);
// Appends one.
hk_status hk_point_springs_add(hk_model *model, const hk_point_spring *spring);
// One more vertex of an end of a spring, which is `tied` already if it is to be.
void hk_point_spring_join(hk_point_spring *spring, int end, int32_t vertex, double weight);

#endif
