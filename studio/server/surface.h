// What is drawn of a model: the surface of each body, or its skin, or tubes of a rope, in one
// numbering of drawn vertices; obstacles in one of their own.
#ifndef STUDIO_SURFACE_H
#define STUDIO_SURFACE_H

#include "util.h"

typedef struct st_part {  // a body
    int first_vertex, vertex_count, first_triangle, triangle_count;
    const hk_embedding *skin;  // NULL: its own surface. The model's
    int model_start, model_count;
    bool sheet, rope;
} st_part;

typedef struct st_tube {         // a line of a rope
    int32_t ends[2], beyond[2];  // vertices of the model; −1: it does not run on there
    double radius;
    int first_vertex;  // drawn
} st_tube;

typedef struct st_obstacle {
    int first_vertex, vertex_count, first_triangle, triangle_count;
} st_obstacle;

typedef struct st_surface {
    int vertex_count, triangle_count, body_count;
    int32_t *vertices;    // [vertex_count] of the model; −1: of a skin
    uint32_t *triangles;  // [triangle_count][3]
    int32_t *tets;        // [triangle_count] behind it, of skins the one it lies in; −1: none
    st_part *parts;       // [body_count]
    int tube_count;
    st_tube *tubes;  // [tube_count]
    double origin[3], bounds[2][3], size;
    // of the model
    int model_vertex_count, tet_count;
    int32_t *tet_vertices;  // [tet_count][4]
    int32_t *tet_middles;   // [tet_count][6] as hk_mesh_middles; NULL: all are linear
    double *tet_weight;     // [tet_count] volume at rest
    double *vertex_weight;  // [model_vertex_count] sum of those around it
    // obstacles
    int obstacle_count, obstacle_vertex_count, obstacle_triangle_count;
    st_obstacle *obstacles;
    float *obstacle_positions;  // at time 0, less the origin
    uint32_t *obstacle_triangles;
    double *scratch;  // [model_vertex_count or drawn ones, the larger][3]
} st_surface;

// `mesh`: of all bodies at rest, in the model's numbering (hk_world_mesh). The model must outlive
// it.
bool st_surface_create(const hk_model *model, hk_mesh *mesh, st_surface *surface, st_why *why);
void st_surface_free(st_surface *surface);
// Positions [model_vertex_count][3] → drawn vertices, less the origin.
void st_surface_positions(const st_surface *surface, const double *positions, float *drawn);
// Values at the model's vertices → at drawn ones.
void st_surface_values(const st_surface *surface, const double *values, float *drawn);
// Values of tets → means around the model's vertices, by volume.
void st_surface_average(const st_surface *surface, const double *tets, double *vertices);
// Which body a vertex of the model belongs to.
int st_surface_body_of(const st_surface *surface, int32_t vertex);
// Which body a drawn triangle belongs to.
int st_surface_body(const st_surface *surface, int triangle);

// ---- below.c
// `tet_start`: the first tet of the body.
void st_skin_find_tets(const hk_model *model, int body, int tet_start, st_surface *surface);

// ---- tubes.c
void st_tubes_find(const hk_model *model, st_surface *surface);
int st_tube_vertices(void);  // of each
int st_tube_triangles(const st_tube *tube);
// `triangles`: where those of this one begin.
void st_tube_fill(const st_tube *tube, int32_t *vertices, uint32_t *triangles);
void st_tube_place(const st_tube *tube, const double *positions, const double origin[3],
                   float *drawn);

#endif
