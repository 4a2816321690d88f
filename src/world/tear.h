// Worlds whose bodies tear: the model that a world goes over to, what carries over, and the matrix
// that stays.
#ifndef HK_WORLD_TEAR_H
#define HK_WORLD_TEAR_H

#include "model/split.h"
#include "solver/untorn.h"

// Iterations of steps.
typedef struct hk_pace {
    int steps, iterations;
} hk_pace;

enum { HK_PACE = 16 };  // steps whose iterations tell whether they have grown
struct hk_world;

typedef struct hk_tears {
    // The model before anything tore; the torn one is always made from it, so that it depends on
    // what is torn and not on the order of events. NULL: nothing is torn.
    hk_model *whole;
    hk_splitting splitting;  // of that
    hk_adjacency adjacency;  // as it is torn; empty: not needed yet
    int32_t *origin;         // [vertex_count] in the whole model
    // Bodies whose constant matrix goes on, and the splitting of the whole model that they are;
    // NULL: the method has no such matrix.
    hk_untorn *untorn;
    hk_splitting of_untorn;
    int32_t *untorn_origin;  // [vertex_count] in that model
    bool pending;            // facets are torn whose vertices could not come apart yet
    bool edited;             // since it was torn
    hk_tear_report told;
    int64_t factorisations;  // of matrices that are gone
    hk_pace before, recent;  // before the first event or renewal; since the last one that counts
} hk_tears;

void hk_tears_release(hk_tears *tears);

// The problem of a torn world knows where its vertices come from.
hk_status hk_world_tell_origins(const struct hk_world *w, hk_problem *problem);
// After the state of a step is there: what is overloaded, and what blades have come through.
hk_status hk_world_tear(struct hk_world *w, int iterations);
// Facets of the world's bodies that blades cross, from what is in the adjacency; marks the vertices
// of facets that are new and counts these (tear_cut.c).
typedef struct hk_tearing_work {
    struct hk_world *world;
    hk_adjacency *adjacency;
    uint8_t *marked;  // [vertex_count]
    int facets;
} hk_tearing_work;
void hk_tear_face(hk_tearing_work *t, int tet, int face);
void hk_tear_edge(hk_tearing_work *t, int triangle, int edge);
hk_status hk_tear_along(hk_tearing_work *t, int body, int count, const double *corners);
hk_status hk_tear_by_cuts(hk_tearing_work *t);
// Elements that are overloaded (tear_load.c).
hk_status hk_tear_overloaded(hk_tearing_work *t);
// The world goes over to another state of being torn: splitting, adjacency and of_untorn become
// its own; carry is [vertices of that], the vertex now that each takes its state from.
typedef struct hk_tear_state {
    hk_splitting splitting, of_untorn;
    hk_adjacency adjacency;
    bool keeps;  // there is a matrix that goes on
} hk_tear_state;
void hk_tear_state_release(hk_tear_state *state);
// What it has becomes the world's, if that goes well. Without a splitting the bodies are whole.
hk_status hk_world_go_to_torn(struct hk_world *w, hk_tear_state *state);
// What a state in a file has of it.
void hk_world_remember_tears(struct hk_world *w, hk_stream *stream);
// The bodies are others than those that are torn: what is torn is theirs from now on.
void hk_world_settle_tears(struct hk_world *w);

#endif
