// States in files (.hks): the frame around what a world remembers.
//
//   "HKSTATE\n", version, byte order, size and checksum of the rest
//   fingerprints of model and method, time, bodies by name, positions and velocities of users
//   what is torn (hk_world_remember_tears), what the world remembers (hk_world_remember), then
//   bytes of the caller's own
#ifndef HK_WORLD_STATE_H
#define HK_WORLD_STATE_H

#include "io/io.h"
#include "world/world.h"

typedef struct hk_state_body {
    char *name;
    int vertex_start, vertex_count;
} hk_state_body;

typedef struct hk_state_file {
    hk_bytes bytes;
    uint64_t model, method;  // fingerprints
    double time;
    int body_count, vertex_count;
    hk_state_body *bodies;              // [body_count]
    double *positions;                  // [vertex_count][3] m
    double *velocities;                 // [vertex_count][3] m/s
    const void *tears, *state, *extra;  // in the bytes
    size_t tears_size, state_size, extra_size;
} hk_state_file;

// Reads and checks all but the fingerprints. Release it in any case.
hk_status hk_state_file_load(const char *path, hk_state_file *file);
void hk_state_file_release(hk_state_file *file);

// A hash of bytes, from HK_STATE_SEED or another hash on.
#define HK_STATE_SEED 14695981039346656037u
uint64_t hk_state_hash(uint64_t hash, const void *data, size_t size);
// All of a model that steps are made of, with the step, damping and integrator of its world; and
// the method with its options (fingerprint.c).
uint64_t hk_world_fingerprint(const hk_world *w);
uint64_t hk_world_method_fingerprint(const hk_world *w);
// Frames what was written and saves it whole or not at all.
hk_status hk_state_file_save(const char *path, const hk_stream *body);

// Everything the next step depends on, both ways. `with_solver`: with what the method remembers.
// Reading changes the world even where it fails.
void hk_world_remember(hk_world *w, bool with_solver, hk_stream *stream);

#endif
