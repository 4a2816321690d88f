// A block under balanced forces on its two ends: the stress is uniform and uniaxial, so that the
// stretch follows from the law alone. What bench/curves.c and test/test_uniaxial.c share.
#ifndef HK_UNIAXIAL_H
#define HK_UNIAXIAL_H

#include <math.h>

#include "hooke/hooke.h"

typedef struct uniaxial {
    double across;  // stretch across the block, where the stress across is zero
    double stress;  // Pa, force over the area at rest
} uniaxial;

// Stresses along and across at the stretches (along, across, across).
static inline hk_status uniaxial_stress(const hk_material_def *law, double along, double across,
                                        double stress[2])
{
    double F[9] = {along, 0, 0, 0, across, 0, 0, 0, across}, P[9], energy;
    hk_status status = hk_material_evaluate(law, F, false, &energy, P, NULL);
    if (status != HK_OK) return status;
    stress[0] = P[0];
    // Where the law is not defined, it is because the block is squeezed.
    stress[1] = isfinite(energy) ? P[4] : -INFINITY;
    return HK_OK;
}

// The closed form: at a given stretch, the root of the stress across by bisection, and the stress
// along there.
static inline hk_status uniaxial_solve(const hk_material_def *law, double along, uniaxial *state)
{
    double low = 0.02, high = 4, stress[2] = {0, 0};
    for (int k = 0; k < 200 && high - low > 1e-16 * high; k++) {
        double middle = 0.5 * (low + high);
        if (middle == low || middle == high) break;
        hk_status status = uniaxial_stress(law, along, middle, stress);
        if (status != HK_OK) return status;
        if (stress[1] < 0)
            low = middle;
        else
            high = middle;
    }
    state->across = 0.5 * (low + high);
    hk_status status = uniaxial_stress(law, along, state->across, stress);
    state->stress = stress[0];
    return status;
}

// A block of 0.4 × 1 × 1 m: so short that it does not buckle.
#define UNIAXIAL_LENGTH 0.4
enum { UNIAXIAL_CELLS = 2, UNIAXIAL_CELLS_ACROSS = 3, UNIAXIAL_MOST_HELD = 64 };

static inline hk_status uniaxial_mesh(hk_mesh **mesh)
{
    hk_mesh_def shape = hk_default_mesh_def(HK_SHAPE_BOX);
    for (int i = 0; i < 3; i++) {
        shape.size[i] = i == 0 ? UNIAXIAL_LENGTH : 1;
        shape.cells[i] = i == 0 ? UNIAXIAL_CELLS : UNIAXIAL_CELLS_ACROSS;
    }
    return hk_mesh_make(&shape, mesh);
}

// Forces that push from both ends would turn a free body over, and then pull: in compression one
// end is held in its plane, widened as the closed form says, and the other is free.
static inline int uniaxial_hold(const hk_mesh *mesh, double across, int32_t *numbers,
                                hk_move_def *moves)
{
    const double *x = hk_mesh_positions(mesh);
    int count = 0;
    for (int v = 0; v < hk_mesh_vertex_count(mesh) && count < UNIAXIAL_MOST_HELD; v++) {
        if (x[3 * v] != 0) continue;
        numbers[count] = v;
        moves[count] = (hk_move_def){
            .def_size = sizeof(hk_move_def),
            .select = {.kind = HK_SELECT_VERTICES, .vertices = &numbers[count], .vertex_count = 1},
            .motion = {.axis = {1, 0, 0},
                       .translate = {0, (across - 1) * x[3 * v + 1], (across - 1) * x[3 * v + 2]}}};
        count++;
    }
    return count;
}

static inline hk_status uniaxial_model(const hk_material_def *law, const uniaxial *state,
                                       hk_model **model)
{
    hk_mesh *mesh;
    hk_status status = uniaxial_mesh(&mesh);
    if (status != HK_OK) return status;
    hk_load_def loads[2];
    for (int end = 0; end < 2; end++) {
        double at = end * UNIAXIAL_LENGTH;
        loads[end] =
            (hk_load_def){.def_size = sizeof(hk_load_def),
                          .select = {.kind = HK_SELECT_BOX, .box = {{at, -1, -1}, {at, 2, 2}}},
                          .force = {end ? state->stress : -state->stress},
                          .distribution = HK_BY_AREA};
    }
    hk_move_def moves[UNIAXIAL_MOST_HELD];
    int32_t numbers[UNIAXIAL_MOST_HELD];
    hk_body_def body = hk_default_body_def();
    body.mesh = mesh;
    body.material = *law;
    body.loads = loads;
    body.load_count = 2;
    body.moves = moves;
    body.move_count = state->stress < 0 ? uniaxial_hold(mesh, state->across, numbers, moves) : 0;
    hk_model_def def = hk_default_model_def();
    def.bodies = &body;
    def.body_count = 1;
    def.gravity[1] = 0;
    status = hk_model_create(&def, model);
    hk_mesh_free(mesh);
    return status;
}

// The stretch of the block from end to end along x, from the means over both.
static inline double uniaxial_measure(const hk_world *world)
{
    const hk_model *model = hk_world_model(world);
    const double *rest = hk_model_rest_positions(model), *now = hk_world_positions(world);
    double sum[2] = {0, 0};
    int count[2] = {0, 0};
    for (int v = 0; v < hk_model_vertex_count(model); v++)
        for (int end = 0; end < 2; end++)
            if (fabs(rest[3 * v] - end * UNIAXIAL_LENGTH) < 1e-9)
                sum[end] += now[3 * v], count[end]++;
    return (sum[1] / count[1] - sum[0] / count[0]) / UNIAXIAL_LENGTH;
}

// The stretch that the simulated block takes on under the stress of the state. `report` tells how
// the pose ended.
static inline hk_status uniaxial_simulate(const hk_material_def *law, const uniaxial *state,
                                          const hk_solver_def *solver, double *stretch,
                                          hk_step_report *report)
{
    hk_model *model = NULL;
    hk_world *world = NULL;
    hk_world_def def = hk_default_world_def();
    hk_status status = uniaxial_model(law, state, &model);
    if (status == HK_OK) {
        def.model = model;
        def.solver = *solver;
        def.threads = 1;
        status = hk_world_create(&def, &world);
    }
    if (status == HK_OK) status = hk_world_pose(world, report);
    if (status == HK_OK) *stretch = uniaxial_measure(world);
    hk_world_free(world);
    hk_model_free(model);
    return status;
}

#endif
