// The immutable model: all bodies in one numbering, with masses, materials, holds and loads.
#ifndef HK_MODEL_H
#define HK_MODEL_H

#include "core/base.h"
#include "material/material.h"
#include "material/sheet.h"
#include "mesh/embed.h"
#include "mesh/mesh.h"
#include "model/motion.h"

// What holds a vertex: nothing, a fixed place, or a prescribed motion (its number ≥ 0).
enum { HK_FREE = -1, HK_FIXED = -2 };

typedef struct hk_body {
    char *name;
    int vertex_start, vertex_count;
    int tet_start, tet_count;
    int triangle_start, triangle_count;  // of a sheet: a body without tets
    hk_sheet_material sheet;             // what that is made of
    int group_count;                     // those of its mesh
    hk_group *groups;
    bool sag_free;              // its mesh is the loaded shape: worlds find the rest shape
    bool start_posed;           // worlds begin with it in equilibrium
    char *start_state;          // or as it is in this file; NULL: neither
    hk_embedding *skin;         // or NULL; shared with copies of the model
    int fix_count, move_count;  // of its definition
    int motion_start;           // its moves are the motions from here on
    char **constraint_names;    // [fix_count + move_count], entries may be NULL
} hk_body;

typedef struct hk_model_contact hk_model_contact;  // contact.h

// Springs, bending and attachments are all of the form E = stiffness/2 (‖d‖ − rest)², where d is a
// combination of positions (term/links.h).
typedef struct hk_spring {  // d = x₀ − x₁
    int32_t ends[2];
    double stiffness, rest;  // N/m, m
} hk_spring;

typedef struct hk_bend {     // d = Σ c_k (x_k − x₀) over a vertex x₀ and its neighbours
    int32_t start, count;    // in bend_vertices and bend_coefficients, x₀ first
    double stiffness, rest;  // N/m, m; the coefficients are numbers
} hk_bend;

// A triangle of a shell: F = (x₁ − x₀, x₂ − x₀) inverse, in a frame of its plane whose first axis
// is the warp.
typedef struct hk_shell {
    int32_t vertex[3];
    int32_t body;
    double inverse[2][2];               // 1/m, of the edges at rest
    double area;                        // m²
    double strand[HK_MOST_STRANDS][2];  // unit, in that frame
} hk_shell;

typedef struct hk_hinge {  // E = stiffness/2 (θ − rest)², θ by math/dihedral.h
    int32_t vertex[4];
    double stiffness, rest;  // N·m
} hk_hinge;

typedef struct hk_attachment {  // d = x − X(t), X moving as a held vertex does
    int32_t vertex, motion;
    double stiffness;  // N/m
    double damping;    // N s/m, against ẋ − Ẋ
} hk_attachment;

typedef struct hk_user_term {  // hk_term_def, with a list of its own
    hk_term_def def;
    char *name;
    int32_t *vertices;
} hk_user_term;

struct hk_model {
    int references;
    int64_t family;  // the same for a model and its edited copies
    int body_count;
    hk_body *bodies;
    int vertex_count;
    double *rest;      // [vertex_count][3] m
    double *velocity;  // [vertex_count][3] m/s, initial
    // [vertex_count] kg, lumped: a quarter of each tet's, a third of each triangle's; of quadratic
    // tets 1/36 to each corner and 4/27 to each middle.
    double *mass;
    double *load;   // [vertex_count][3] N
    int32_t *hold;  // [vertex_count] HK_FREE, HK_FIXED or a motion
    uint8_t
        *axes;  // [vertex_count] HK_AXIS_X …: coordinates of free vertices that stay; NULL: none
    // [vertex_count][3] the last fix of its body that holds a coordinate, -1: none
    int32_t *fixed_by;
    int motion_count;
    hk_motion *motions;
    int tet_count;
    int32_t *tets;     // [tet_count][4]
    int32_t *middles;  // [tet_count][6] of quadratic tets, else −1 (mesh/quadratic.h); or NULL
    double *volume;    // [tet_count] m³
    int32_t *tet_material;  // [tet_count]
    double *fibre;          // [tet_count][3] unit, or NULL: no material has fibres
    int material_count;
    hk_material *materials;  // that of a sheet is unused
    int triangle_count;
    int32_t *triangles;  // [triangle_count][3] of sheets
    double sheet_mass;   // kg, of all sheets
    int spring_count, bend_count, bend_entry_count, attachment_count;
    size_t spring_capacity, bend_capacity, bend_vertex_capacity, bend_coefficient_capacity,
        attachment_capacity;
    hk_spring *springs;  // [spring_count]
    hk_bend *bends;      // [bend_count]
    // Springs and bends along the Morton curve, so that neighbours are evaluated together.
    int32_t *spring_order, *bend_order;  // [spring_count], [bend_count]
    int32_t *bend_vertices;              // [bend_entry_count]
    int32_t *bend_places;                // [bend_entry_count] the same in Morton order
    double *bend_coefficients;           // [bend_entry_count], those of a bend add up to 0
    hk_attachment *attachments;          // [attachment_count]
    int shell_count, hinge_count;
    size_t shell_capacity, hinge_capacity;
    hk_shell *shells;  // [shell_count]
    hk_hinge *hinges;  // [hinge_count]
    // Rest lengths over lengths in the rest positions, of springs, and of bends at the vertex in
    // their middle; NULL: all 1.
    double *spring_factor;  // [spring_count]
    double *bend_factor;    // [vertex_count]
    double gravity[3];      // m/s²
    int user_term_count;
    hk_user_term *user_terms;                // [user_term_count]
    struct hk_point_springs *point_springs;  // springs.h; NULL: there are none
    struct hk_tearing *tearing;        // tear.h; NULL: no cuts, and settings as they are by default
    struct hk_conditions *conditions;  // conditions.h; NULL: no pressures, no functions of the time
    hk_model_contact *contact;  // NULL: bodies pass through each other and through themselves
    // Of a torn model with contact of a body with itself, [vertex_count][3] m: how far the sides of
    // cracks are drawn back from each other at rest, for contact alone; else NULL.
    double *apart;
    int unreferenced;  // vertices of no element; they are held still
    // Body after body, vertices along a Morton curve: solvers work in this order for locality.
    int32_t *order;  // [vertex_count] order[k]: the vertex that comes k-th
    int32_t *place;  // [vertex_count] inverse of order
};

static inline bool hk_model_is_quadratic(const hk_model *model, int tet)
{
    return model->middles && model->middles[6 * (int64_t)tet] >= 0;
}
// Fails, naming what cannot be done, if some tets are quadratic.
hk_status hk_model_need_linear(const hk_model *model, const char *what);
void hk_model_retain(hk_model *model);
// The most viscous damping that a material has, s.
double hk_model_viscous(const hk_model *model);
// Of all bodies, kg.
double hk_model_mass(const hk_model *model);
// Where a held vertex is at `time`.
void hk_model_held_position(const hk_model *model, int vertex, double time, double x[3]);
// The same at a fraction 0..1 of the full motion.
void hk_model_held_position_at(const hk_model *model, int vertex, double fraction, double x[3]);
// Where the target of an attachment is at `time`, and at a fraction 0..1 of the full motion.
void hk_model_target(const hk_model *model, int attachment, double time, double x[3]);
void hk_model_target_at(const hk_model *model, int attachment, double fraction, double x[3]);

// ---------------------------------------------------------------- edits (edit.c)

// Edits are made to a copy that nobody else has: worlds go over to it when all went well.
hk_status hk_model_copy(const hk_model *model, hk_model **copy);
// Rest lengths of springs and bends as factors of what they are in the rest positions, which stay;
// spring is [spring_count], bend [vertex_count].
hk_status hk_model_set_length_factors(hk_model *copy, const double *spring, const double *bend);
// Another material for a body, or for the tets that a selector means.
hk_status hk_model_set_material(hk_model *copy, int body, const hk_selector *select,
                                const hk_material_def *def);
// Masses of bodies of tets again, for materials have other densities.
void hk_model_weigh_tets(hk_model *copy);
// Other rest positions, [vertex_count][3]: volumes, masses and lengths follow.
hk_status hk_model_set_rest(hk_model *copy, const double *rest);
// What loads on a body come to, added to load[vertex_count][3].
hk_status hk_model_add_loads(const hk_model *model, int body, const hk_load_def *loads, int count,
                             double *load);
// Gives a mesh the nodes of quadratic tets of a body, or of the whole model (NULL).
hk_status hk_model_copy_middles(const hk_model *model, const hk_body *body, hk_mesh *mesh);
// A mesh of a body at rest, with its groups.
hk_status hk_model_body_mesh(const hk_model *model, int body, hk_mesh **mesh);

#endif
