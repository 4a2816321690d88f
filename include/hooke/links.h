/* Springs between any two points of any bodies or of the world, seams, which are many of them, and
 * ropes, bodies of lines. Included by hooke.h. See docs/ropes.md. */
#ifndef HOOKE_LINKS_H
#define HOOKE_LINKS_H

#include <hooke/world.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HK_THE_WORLD = -1, HK_POINT_VERTICES = 4 };

/* A point that moves with a body, or a place of the world that stays. */
typedef struct hk_point_def {
    int body;    /* number, or HK_THE_WORLD: the place `at` */
    int count;   /* of vertices that it is a mean of; 0: the point that lies at `at` at rest */
    int nearest; /* with count 0: 1 takes the vertex that is nearest to `at` */
    int32_t vertices[HK_POINT_VERTICES]; /* [count], within the body */
    int reserved_int;
    double weights[HK_POINT_VERTICES]; /* [count], they add up to 1 */
    double at[3];                      /* m, after the transform of the body */
} hk_point_def;

/* A spring between two points at the distance l, energy stiffness/2 (l - L)². Its rest length L is
 * `rest`, or goes from there to `to`: L = rest + (to - rest) factor(t). In poses it is `to`. */
typedef struct hk_spring_def {
    size_t def_size;  /* set by hk_default_spring_def() */
    const char *name; /* for messages and hk_model_find_spring; NULL: none */
    hk_point_def ends[2];
    double stiffness; /* N/m */
    double rest;      /* m; NAN: the distance of the two points at rest */
    double to;        /* m; NAN: the rest length stays */
    hk_factor_def factor;
    double damping;  /* N s/m, of a damper beside it; a slack one has it only while it is taut */
    double breaking; /* N: it breaks after a time step that ends with a greater tension; 0: never */
    int slack;       /* 1: it pulls, but does not push, as a string does */
    int reserved_int;
} hk_spring_def;
/* between the world's origin and itself, 0 N/m, the distance at rest, it stays */
HK_API void hk_fill_spring_def(hk_spring_def *def, size_t size);
static inline hk_spring_def hk_default_spring_def(void)
{
    hk_spring_def def;
    hk_fill_spring_def(&def, sizeof def);
    return def;
}

/* Vertices of a body in the order of a line: as listed (HK_SELECT_VERTICES), or along the longest
 * side of the box around those that are selected. */
typedef struct hk_side_def {
    int body;
    int reserved_int;
    hk_selector select;
} hk_side_def;

/* Springs between two lines of vertices, first to first and last to last, whose rest lengths go
 * from the distances at rest to `to`. Where the lines have as many vertices, these are joined one
 * by one; else each vertex of the line that has more, to the point of the other at the same part of
 * its length. */
typedef struct hk_seam_def {
    size_t def_size;  /* set by hk_default_seam_def() */
    const char *name; /* for messages; NULL: none */
    hk_side_def sides[2];
    double stiffness; /* N/m for each metre of the seam */
    double to;        /* m, the distance of the sides in the end */
    hk_factor_def factor;
    double damping;  /* N s/m for each metre */
    double breaking; /* N for each metre; 0: never */
    int reverse;     /* 1: the second line runs the other way */
    int slack;
} hk_seam_def;
/* 0 N/m, to 0 m, at once */
HK_API void hk_fill_seam_def(hk_seam_def *def, size_t size);
static inline hk_seam_def hk_default_seam_def(void)
{
    hk_seam_def def;
    hk_fill_seam_def(&def, sizeof def);
    return def;
}

/* Ropes are bodies whose meshes are lines alone: hk_mesh_make with HK_SHAPE_ROPE, a file (.obj
 * with "l" and no faces, .vtu), or lines as given here, [line_count][2] of vertices. Lines that
 * follow each other in the list and share a vertex run on there, and bend. Their material is
 * "rope". */
HK_API hk_status hk_mesh_from_lines(int vertex_count, const double *positions, int line_count,
                                    const int32_t *lines, hk_mesh **mesh);
HK_API int hk_mesh_line_count(const hk_mesh *mesh);
HK_API const int32_t *hk_mesh_lines(const hk_mesh *mesh); /* [line_count][2] */
/* All lines of all ropes, [count][2] of vertices of the model, and the radius of each, m. */
HK_API int hk_model_line_count(const hk_model *model);
HK_API const int32_t *hk_model_lines(const hk_model *model);
HK_API double hk_model_line_radius(const hk_model *model, int line);

/* The springs of a model: those of hk_model_def.springs, then those of its seams, one after the
 * other. (hk_model_spring_count counts the edges of sheets.) */
HK_API int hk_model_point_spring_count(const hk_model *model);
/* The number of the spring of that name, or of the first one of the seam; -1: there is none. */
HK_API int hk_model_find_spring(const hk_model *model, const char *name);

typedef struct hk_spring_state {
    double ends[2][3];   /* m, where its points are */
    double length, rest; /* m */
    double tension;      /* N, below 0 under pressure, without damping */
    int broken;
    int reserved_int;
    uint64_t reserved[4];
} hk_spring_state;
HK_API hk_status hk_world_spring_state(const hk_world *world, int spring, hk_spring_state *state);
/* Breaks a spring between two steps, or mends it. */
HK_API hk_status hk_world_break_spring(hk_world *world, int spring, bool broken);
HK_API int hk_world_broken_springs(const hk_world *world);

#ifdef __cplusplus
}
#endif
#endif
