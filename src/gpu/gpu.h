// The CUDA backend: a model in motion on a device. The state lives there; a time step makes no
// round trip to the host before its end. Built without CUDA, or where no device is found, creation
// fails with a message that says so (none.c).
#ifndef HK_GPU_H
#define HK_GPU_H

#include "solver/method.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hk_gpu hk_gpu;

typedef struct hk_gpu_def {
    const hk_model *model;  // outlives the hk_gpu
    const hk_method *method;
    const hk_settings *settings;
    double step;  // s
    hk_damping damping;
    int patch_size, round_size;  // of layout.h; 0: chosen by the size of the model
    int persistent;  // blocks a multiprocessor of a resident model; 0: what fits, −1: not resident
} hk_gpu_def;

// Whether there is a device that this build can use; if not, `why` says why not.
bool hk_gpu_found(char *why, size_t size);
// Whether a method has a version for the GPU.
bool hk_gpu_has_method(const hk_method *method);

// The state is the model's initial one.
hk_status hk_gpu_create(const hk_gpu_def *def, hk_gpu **gpu);
void hk_gpu_free(hk_gpu *gpu);
// One line: the device and how the model was laid out on it.
void hk_gpu_describe(const hk_gpu *gpu, char *text, size_t size);

// States are [vertex_count][4] in the model's Morton order, as a world keeps them.
hk_status hk_gpu_write_state(hk_gpu *gpu, const double *x, const double *v, const double *v_before);
// A step of backward Euler from `time`. With a report it waits for the end of the step; without
// one it returns at once (unless held vertices move), and steps queue up on the device. A step that
// fails leaves the state.
hk_status hk_gpu_step(hk_gpu *gpu, double time, hk_solve_report *report);
// Positions after the last step. They were copied while the device went on, so that a viewer costs
// the solver nothing; this waits for the copy at most.
hk_status hk_gpu_read_positions(hk_gpu *gpu, double *x);
// Velocities after the last step, and before it; each may be NULL. Waits for the step.
hk_status hk_gpu_read_velocities(hk_gpu *gpu, double *v, double *v_before);
// Elastic and kinetic energy and those of gravity and loads, evaluated on the device.
hk_status hk_gpu_energy(hk_gpu *gpu, hk_energy *energy);

// What an iteration of `descent` moves at least between memory and multiprocessors, bytes; and the
// elements that it computes, those at the borders of patches more than once.
double hk_gpu_iteration_bytes(const hk_gpu *gpu);
double hk_gpu_iteration_elements(const hk_gpu *gpu);
// For checks: energy, gradient and diagonal of the Hessian of the elements at x, [vertex_count][4],
// which becomes what single precision makes of it. The diagonal of held vertices is 0.
hk_status hk_gpu_evaluate(hk_gpu *gpu, double *x, double *energy, double *gradient,
                          double *diagonal);

#ifdef __cplusplus
}
#endif

#endif
