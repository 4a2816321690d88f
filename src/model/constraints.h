// What vertices keep to exactly: rigid parts, joints between them, planes, lines and surfaces that
// vertices stay on, and vertices with one displacement. All of it is one notion: a part is a set of
// vertices whose positions are functions of a few unknowns (solver/manifold.h), which begin at its
// parent, another part or the world. Beside parts there are cavities, closed surfaces of a given
// volume: their vertices have unknowns of their own, and one equation for all of them. Immutable,
// shared by a model and its copies.
#ifndef HK_MODEL_CONSTRAINTS_H
#define HK_MODEL_CONSTRAINTS_H

#include "core/time_factor.h"
#include "model/model.h"

// How a part moves against its parent.
typedef enum hk_freedom {
    HK_MOVES_FREELY,   // rigid, without a parent: six unknowns
    HK_MOVES_ON_BALL,  // rigid, by joints
    HK_MOVES_ON_HINGE,
    HK_MOVES_ON_SLIDER,
    HK_MOVES_NOT,       // welded
    HK_MOVES_IN_PLANE,  // one vertex each
    HK_MOVES_ON_LINE,
    HK_MOVES_ON_SPHERE,
    HK_MOVES_ON_CYLINDER,
    HK_MOVES_TOGETHER,  // one displacement for all
    HK_IS_HELD          // rigid, all vertices are held by one fix or motion: no unknowns
} hk_freedom;
enum { HK_MOST_FREEDOMS = 6 };
// Of the unknowns of one part.
int hk_freedom_count(hk_freedom freedom);
static inline bool hk_freedom_is_rigid(hk_freedom f)
{
    return f <= HK_MOVES_NOT || f == HK_IS_HELD;
}

enum { HK_NO_PART = -1 };  // the world

typedef struct hk_part {
    char *name;  // NULL: none
    hk_freedom freedom;
    int body;
    int parent;        // or HK_NO_PART
    int joint;         // that ties it to that; -1: none
    int start, count;  // of its vertices
    double center[3];  // m, of its mass at rest
    double at[3];      // m, at rest: of its joint or constraint
    double axis[3];    // unit, at rest
} hk_part;

typedef struct hk_joint {
    char *name;  // NULL: none
    int kind;    // hk_joint_kind
    int part[2];
    double at[3], axis[3];
} hk_joint;

// A closed surface whose volume is kept (solver/manifold_cavities.c).
typedef struct hk_cavity {
    char *name;  // NULL: none
    int triangle_start, triangle_count;
    double rest;             // m³, at rest
    double volume;           // m³, that it is kept at, times
    hk_time_factor *factor;  // NULL: 1
} hk_cavity;

typedef struct hk_constraints {
    int references;
    int rigid_count;  // parts that are rigid come first, as users number them
    int part_count;
    size_t part_capacity;
    hk_part *parts;      // [part_count]
    int32_t *vertices;   // [vertices of the model] of all parts
    int32_t *part_of;    // [vertices of the model] -1: none
    uint8_t *rigid_tet;  // [tets of the model] all corners are of one rigid part
    int joint_count;
    hk_joint *joints;
    // Parts that are tied to each other are a tree; those that are held are in none.
    int tree_count;
    int32_t *tree_start;  // [tree_count + 1] in order
    int32_t *order;       // [part_count] parents before children
    int cavity_count;
    int cavity_room;
    hk_cavity *cavities;  // [cavity_room], cavity_count of them in use
    int32_t *cavity_of;   // [vertices of the model] -1: none; NULL: there are none at all
    int cavity_triangle_count;
    size_t cavity_triangle_capacity;
    int32_t *cavity_triangles;  // [cavity_triangle_count][3] vertices of the model, facing outwards
} hk_constraints;

hk_constraints *hk_constraints_retain(hk_constraints *constraints);
void hk_constraints_free(hk_constraints *constraints);
// Those of a definition; bodies and holds of the model are there. What holds enough of a rigid part
// holds all of it afterwards.
hk_status hk_model_take_constraints(const hk_model_def *def, hk_model *model);
// Fails, naming what cannot be done, if there are any.
hk_status hk_model_need_free(const hk_model *model, const char *what);
// The part of a vertex (by the model's number); HK_NO_PART: none.
static inline int hk_model_part_of(const hk_model *model, int vertex)
{
    return model->constraints ? model->constraints->part_of[vertex] : HK_NO_PART;
}

// constraint_parts.c: appends the parts of hk_model_def.constraints; next is the number of entries
// of `vertices` in use.
hk_status hk_model_take_keeps(const hk_model_def *def, hk_model *model, int *next);
hk_status hk_constraints_add_part(hk_constraints *c, const hk_part *part);
// cavities.c: appends one of a body whose vertices `chosen` [vertex_count of the body] close it in.
hk_status hk_model_take_cavity(hk_model *model, const hk_constraint_def *def, hk_mesh *mesh,
                               const uint8_t *chosen);
// m³, what it is to be at a time; NAN: in a pose.
double hk_cavity_goal(const hk_cavity *cavity, double time);

#endif
