// What is to be drawn: surfaces and their frames, from mesh files, a series or a scene.
#ifndef HOOKE_FILM_H
#define HOOKE_FILM_H

#include <stdbool.h>

#include "cli.h"
#include "shape.h"

typedef enum film_color {
    FILM_PLAIN = 0,
    FILM_STRESS,
    FILM_DISPLACEMENT,
    FILM_CONTACT,
    FILM_FIELD  // any other, by its name
} film_color;

// What the colours show.
typedef struct film_quantity {
    film_color color;
    char field[128];  // its name in files and worlds
    int component;    // of vectors and tensors; -1: their length
    char title[160];  // for the legend
    const char *unit;
    bool peaks;   // single high values are left to the tip of the scale
    bool unsign;  // the scale starts at 0
} film_quantity;
// From "von_mises", "displacement.y", …; false: no name.
bool film_parse_quantity(const char *text, film_quantity *q);

// A plane: what lies where normal·x > offset is cut away.
typedef struct film_plane {
    double normal[3], offset;
} film_plane;
// "x=0.1", "-z=0", "1,1,0=0.5".
bool film_parse_plane(const char *text, film_plane *plane);

enum { FILM_OBSTACLE = 255, BODY_NUMBERS = 252 };  // as a body; a multiple of BODY_COLORS

// Vertices that a cut made, after those of the mesh: each lies on an edge of it.
typedef struct film_cut {
    int first, count;  // their numbers
    int32_t *ends;     // [count][2] vertices of the mesh
    double *weights;   // [count] of the second one
} film_cut;

// The outside of a mesh; frames of the same mesh share it.
typedef struct surface {
    shape shape;
    int32_t *vertices;  // [shape.vertex_count] the mesh's number of each
    float *rest;        // [shape.vertex_count][3] in film units
    uint8_t *bodies;    // [shape.vertex_count] or NULL
    film_cut cut;       // count 0: none
    int framed;         // vertices, the first ones, that the picture has to show
} surface;

typedef struct frame {
    int surface;
    float *positions;  // [vertex_count][3] in film units
    float *values;     // [vertex_count] Pa, m or N, or NULL
    char *caption;
    double time;  // s, NAN when unknown
} frame;

// Where the rest positions come from.
typedef enum film_rest {
    FILM_REST_UNKNOWN = 0,
    FILM_REST_SCENE,
    FILM_REST_FIELD,
    FILM_REST_FIRST
} film_rest;

typedef struct film {
    double origin[3], unit;  // m: a film unit is about the size of the first frame
    film_quantity shown;
    surface *surfaces;
    int surface_count;
    frame *frames;
    int frame_count;
    hk_outcome outcome;  // of the simulation
    bool interrupted;
    bool floored;  // a plane is drawn
    film_rest rest_source;
    bool grounded;  // the bodies stand on a ground that shows their shadow
} film;

// How a scene becomes frames.
typedef enum film_action { FILM_INITIAL = 0, FILM_POSE, FILM_RUN } film_action;
typedef struct film_request {
    film_action action;
    film_quantity shown;
    bool color_chosen;       // else stress where there is one
    const film_plane *clip;  // or NULL
    bool needs_rest;         // the rest shape matters, whatever the colours
    int frames;              // at most; 0: all
    double every;            // s between frames; 0: as `frames` or the scene say
    bool spread;             // without either: a handful of frames rather than a movie's worth
    // Called when it is known what the frames are read from, before anything is computed: returns
    // -1 or an exit status. `scene` is NULL for files.
    int (*check)(void *context, const hk_scene *scene, const cli_series *files);
    void *context;
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
// The outside of what is left of a mesh when a plane cuts it at the given positions, the cut faces
// of tets closed: a mesh of triangles whose vertices are those of the mesh, then those of the cut.
// Returns -1 or an exit status.
int film_clip(hk_mesh *mesh, const double *positions, const film_plane *plane, const char *name,
              hk_mesh **clipped, film_cut *cut);
void film_cut_free(film_cut *cut);
// Values [first][width] of the mesh and after them those of the cut, [first + count][width]. To be
// freed.
double *film_cut_values(const film_cut *cut, const double *values, int width);
// One number per vertex [vertex_count] of a field; those of tets are averaged by volume at `rest`.
// To be freed.
double *film_field_values(const hk_mesh *mesh, const double *rest, const hk_field *field,
                          int component);
const hk_field *film_find_field(const hk_mesh *mesh, const char *name, hk_field *found);
// Moves all frames so that displacements are `factor` times as large.
void film_exaggerate(film *f, double factor);
// Animated glTF (film_glb.c).
typedef struct film_glb {
    const struct colormap *map;
    double low, high;  // of the colour scale
    double rate;       // frames per second; 0: as the film's times say
} film_glb;
// False with the reason in `why`.
bool film_save_glb(const film *f, const film_glb *look, const char *path, char *why, size_t size);
// Captions for the frames that know their time, with as many digits as tell them apart.
void film_caption_times(film *f);

// ---------------------------------------------------------------- springs, ropes (film_springs.c)

// Springs and ropes of a world as prisms: their vertices, and triangles with vertices from `first`
// on (NULL: their count alone).
int film_spring_vertices(const hk_model *model);
int film_spring_triangles(const hk_model *model, int first, int32_t *triangles);
// Where the vertices are now, for bodies of that size, m.
void film_place_springs(const hk_world *world, double size, double *x);
// A number of prisms, as the triangles of film_spring_triangles; and where the vertices of one are.
int film_prism_triangles(int count, int first, int32_t *triangles);
void film_place_prism(const double *const ends[2], double radius, double *x);
// Of files: a mesh of the elements of another one and of prisms for its lines, and the rest
// positions of that (to be freed). NULL: it failed, hk_error() says why.
hk_mesh *film_mesh_with_lines(const hk_mesh *mesh, const double *rest, double **more);
// Positions, and numbers (to be freed), of its vertices out of those of the mesh.
void film_place_lines(const hk_mesh *mesh, const double *from, double *to);
double *film_spread_lines(const hk_mesh *mesh, const double *from);

#endif
