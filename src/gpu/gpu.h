// The CUDA backend: a model in motion on a device. The state lives there; a time step makes no
// round trip to the host before its end. Built without CUDA, or where no device is found, creation
// fails with a message that says so (none.c).
#ifndef HK_GPU_H
#define HK_GPU_H

#include "gpu/term.h"
#include "integrator/integrator.h"
#include "solver/method.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hk_gpu_control;

// The version of a method for the GPU, hk_method.gpu.
typedef struct hk_gpu_method {
    // Before the model is laid out: reads the settings of the method.
    hk_status (*plan)(hk_gpu *gpu);
    // After that: what the method needs beside states and elements, and its release.
    hk_status (*set_up)(hk_gpu *gpu);
    void (*free)(hk_gpu *gpu);
    // Whether live elements fit what was set up: if not, that is to be made anew. NULL: always.
    bool (*fits_live)(hk_gpu *gpu);
    // After live elements came, went or changed their stiffness; or NULL.
    hk_status (*take_terms)(hk_gpu *gpu);
    // Launches all iterations of a step, from the start in its first control; `last` is where the
    // control is then.
    hk_status (*launch)(hk_gpu *gpu, struct hk_gpu_control **last);
    // Something about it, to be appended to a line; or NULL.
    void (*describe)(const hk_gpu *gpu, char *text, size_t size);
    bool own_blend;  // blend weights are those of the state that was kept, when it ends
} hk_gpu_method;

typedef struct hk_gpu_def {
    const hk_model *model;  // outlives the hk_gpu
    const hk_method *method;
    const hk_settings *settings;
    const hk_integrator *integrator;  // NULL: backward Euler
    double beta, gamma;               // of Newmark
    double step;                      // s
    hk_damping damping;
    const hk_live *live;  // what was changed so far; outlives the hk_gpu, too. NULL: nothing
    const hk_gpu
        *like;  // one of the same meshes and materials: its layout serves again. NULL: none
    // For measurements: how the model is cut (layout.h) and, of a persistent kernel, blocks on a
    // multiprocessor (−1: none is). 0: chosen by the size of the model.
    int patch_size, round_size, persistent;
} hk_gpu_def;

// Whether there is a device that this build can use; if not, `why` says why not.
bool hk_gpu_found(char *why, size_t size);
// The same; if there is one, `text` is its name and its memory.
bool hk_gpu_device(char *text, size_t size);

// The state is the model's initial one.
hk_status hk_gpu_create(const hk_gpu_def *def, hk_gpu **gpu);
void hk_gpu_free(hk_gpu *gpu);
// One line: the device and how the model was laid out on it.
void hk_gpu_describe(const hk_gpu *gpu, char *text, size_t size);

// The vectors of a state are [vertex_count][4] in the model's Morton order, as a world keeps them;
// NULL: left out. step_before: that of the last step, s; 0: there is none that counts.
hk_status hk_gpu_write_state(hk_gpu *gpu, const double *const known[HK_KNOWN_COUNT],
                             double step_before);
// A step from `time`. With a report it waits for the end of the step; without
// one it returns at once (unless held vertices move), and steps queue up on the device. A step that
// fails leaves the state.
hk_status hk_gpu_step(hk_gpu *gpu, double time, hk_solve_report *report);
// Positions after the last step. They were copied while the device went on, so that a viewer costs
// the solver nothing; this waits for the copy at most.
hk_status hk_gpu_read_positions(hk_gpu *gpu, double *x);
// What is known of the state after the last step, as hk_gpu_write_state takes it. Waits for the
// step.
hk_status hk_gpu_read_state(hk_gpu *gpu, double *const known[HK_KNOWN_COUNT]);
// Elastic and kinetic energy and those of gravity and loads, evaluated on the device.
hk_status hk_gpu_energy(hk_gpu *gpu, hk_energy *energy);

// Live edits: take over what changed of gravity and loads, of targets, and of grabs.
hk_status hk_gpu_set_forces(hk_gpu *gpu, const hk_live *live);
// `vertices` (of the model) are those whose targets changed.
hk_status hk_gpu_set_targets(hk_gpu *gpu, const hk_live *live, int count, const int32_t *vertices);
// With *fits false it has to be created anew, and nothing changed.
hk_status hk_gpu_set_grabs(hk_gpu *gpu, const hk_live *live, bool *fits);

// For checks: energy, gradient and diagonal of the Hessian of all terms at x, [vertex_count][4],
// which becomes what single precision makes of it. The diagonal of held vertices is 0.
hk_status hk_gpu_evaluate(hk_gpu *gpu, double *x, double *energy, double *gradient,
                          double *diagonal);

#ifdef __cplusplus
}
#endif

#endif
