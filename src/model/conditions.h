// Loads of a model beside constant forces: pressures on surface triangles, and loads and gravity
// that are functions of the time. Shared by a model and its copies, immutable.
#ifndef HK_CONDITIONS_H
#define HK_CONDITIONS_H

#include "core/time_factor.h"
#include "model/model.h"

typedef struct hk_timed_load {
    hk_time_factor *factor;
    int count;
    int32_t *vertex;  // [count]
    double *force;    // [count][3] N, in full, which is among the model's loads, too
} hk_timed_load;

typedef struct hk_pressure {
    int32_t triangle[3];  // vertices of the model; the normal points out of the body
    int32_t factor;       // -1: none
    double pressure;      // Pa
} hk_pressure;

// Air that moves past a triangle (term/wind.c).
typedef struct hk_wind {
    int32_t triangle[3];  // vertices of the model
    int32_t factor;       // of its velocity; -1: none
    double velocity[3];   // m/s
    double density;       // kg/m³
    double drag, lift;
} hk_wind;

// Gas in a closed surface (term/gas.c).
typedef struct hk_gas {
    int triangle_start, triangle_count;  // in gas_triangles
    int32_t factor;                      // of its amount; -1: none
    double pressure, outside;            // Pa; the first in the rest shape
    double volume;                       // m³, at rest
} hk_gas;

typedef struct hk_conditions {
    int references;
    hk_time_factor *gravity;  // or NULL
    int load_count, pressure_count, wind_count, factor_count;
    size_t load_capacity, pressure_capacity, wind_capacity, factor_capacity;
    hk_timed_load *loads;
    hk_pressure *pressures;
    hk_wind *winds;
    int gas_count, gas_triangle_count;
    size_t gas_capacity, gas_triangle_capacity;
    hk_gas *gases;
    int32_t *gas_triangles;    // [gas_triangle_count][3] vertices of the model; normals point out
    hk_time_factor **factors;  // of pressures and winds
} hk_conditions;

hk_conditions *hk_conditions_retain(hk_conditions *conditions);
void hk_conditions_free(hk_conditions *conditions);
// Whether anything but moves is a function of the time.
bool hk_conditions_timed(const hk_conditions *conditions);
// Those of the model; makes them where there are none yet.
hk_status hk_model_need_conditions(hk_model *model, hk_conditions **conditions);
// What is not a constant force of a load on a body: its pressure, and its factor upon `force`
// [vertex_count][3], which is all that it is without.
hk_status hk_model_take_condition(hk_model *model, const hk_body *body, hk_mesh *mesh,
                                  const hk_load_def *load, const uint8_t *chosen,
                                  const double *force);
// Names of fixes and moves, for results.
hk_status hk_body_name_constraints(const hk_body_def *def, hk_body *body);
hk_status hk_model_take_gravity_factor(hk_model *model, const hk_factor_def *def);

#endif
