// What is to be drawn: surfaces and their frames, from mesh files, a series or a scene.
#ifndef HOOKE_FILM_H
#define HOOKE_FILM_H

#include <stdbool.h>

#include "cli.h"
#include "shape.h"

typedef enum film_color { FILM_PLAIN = 0, FILM_STRESS, FILM_DISPLACEMENT, FILM_CONTACT } film_color;

// The outside of a mesh; frames of the same mesh share it.
typedef struct surface {
    shape shape;
    int32_t *vertices;  // [shape.vertex_count] the mesh's number of each
    float *rest;        // [shape.vertex_count][3] in film units
    uint8_t *bodies;    // [shape.vertex_count] or NULL
    int framed;         // vertices, the first ones, that the picture has to show
} surface;

typedef struct frame {
    int surface;
    float *positions;  // [vertex_count][3] in film units
    float *values;     // [vertex_count] Pa, m or N, or NULL
    char *caption;
    double time;  // s, NAN when unknown
} frame;

typedef struct film {
    double origin[3], unit;  // m: a film unit is about the size of the first frame
    film_color color;
    surface *surfaces;
    int surface_count;
    frame *frames;
    int frame_count;
    hk_outcome outcome;  // of the simulation
    bool interrupted;
    bool floored;  // a plane is drawn
} film;

// How a scene becomes frames.
typedef enum film_action { FILM_INITIAL = 0, FILM_POSE, FILM_RUN } film_action;
typedef struct film_request {
    film_action action;
    film_color color;
    bool color_chosen;  // else stress where there is one
    int frames;         // at most; 0: all
    double every;       // s between frames; 0: as `frames` or the scene say
    bool spread;        // without either: a handful of frames rather than a movie's worth
    const cli_texts *sets;
    int threads;  // -1: as the scene says
    bool tets;    // also of bodies that have a skin
} film_request;

// Both return -1 to go on, or the exit status after having told what is wrong. Free the film in
// either case.
int film_load_scene(film *f, const char *path, const film_request *request);
int film_load_files(film *f, const cli_texts *paths, const film_request *request);
void film_free(film *f);

// ---- what both are made of

// Adds the outside of a mesh whose rest positions are given. Returns -1 or an exit status.
int film_add_surface(film *f, hk_mesh *mesh, const double *rest, const char *name);
frame *film_add_frame(film *f, int surface_index, const double *positions, double time);
// How far the vertices are from their rest positions, m.
float *film_displacements(const film *f, const surface *s, const float *positions);
// Captions for the frames that know their time, with as many digits as tell them apart.
void film_caption_times(film *f);

#endif
