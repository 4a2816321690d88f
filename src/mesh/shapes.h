// The shapes that hk_mesh_make knows, one file each, and the lattice of cells most are made from.
//
// A lattice has nx × ny × nz cells; its vertex (i, j, k) has the number i + (nx+1)(j + (ny+1) k),
// x fastest. A closed one has no vertices i = nx: those of i = 0 are there, too. How the cells are
// cut into tets matters: with the same cut in every cell a cantilever of 20 × 4 × 4 cells under its
// weight drifts sideways by 7 % of what it sags, or 15 % at ν = 0.45, and bends too little. Both
// cuts below alternate, which leaves no drift at all when the number of cells across is even and
// little when it is odd.
#ifndef HK_SHAPES_H
#define HK_SHAPES_H

#include "mesh/mesh.h"

typedef enum hk_cut {
    // Five tets: a corner each, and one in the middle; the next cell is its mirror image. Of all
    // cuts tried it has the best shapes and bends best.
    HK_CUT_FIVE,
    // Six tets around a long diagonal, mirrored from cell to cell along each axis, and as a whole
    // across the middle. Seen along any axis the cells on the two diagonals of the lattice are cut
    // towards its corners, which shapes need where they flatten the corners of the lattice.
    HK_CUT_SIX
} hk_cut;

typedef struct hk_lattice {
    const char *shape;  // for messages
    hk_cut cut;
    int cells[3];
    int copies;   // several equal ones in one mesh, one after the other
    bool closed;  // a ring: the last cells along x are joined to the first; 3 or more of them
} hk_lattice;

// A mesh with all tets of the lattice and the positions still to be set.
hk_status hk_lattice_mesh(const hk_lattice *lattice, hk_mesh **mesh);
// Calls `place(context, copy, at, position)` for every vertex; `at` goes from 0 to 1 along each
// axis.
typedef void hk_place_fn(const void *context, int copy, const double at[3], double position[3]);
void hk_lattice_place(const hk_lattice *lattice, hk_place_fn *place, const void *context,
                      hk_mesh *mesh);

// From the square [−1, 1]² to the unit disc, concentric squares to concentric circles.
void hk_square_to_disc(const double square[2], double disc[2]);

// Errors that name the field: "sphere.radius must be a positive number, not -1".
hk_status hk_check_positive(const char *field, double value);
hk_status hk_check_at_least_one(const char *field, int value);
hk_status hk_check_at_least(const char *field, int least, int value);
// Whether that many vertices and elements can be numbered.
hk_status hk_check_counts(const char *shape, double vertices, double elements, const char *element);

hk_status hk_make_box(const hk_mesh_def *def, hk_mesh **mesh);
hk_status hk_make_cylinder(const hk_mesh_def *def, hk_mesh **mesh);
hk_status hk_make_sphere(const hk_mesh_def *def, hk_mesh **mesh);
hk_status hk_make_helix(const hk_mesh_def *def, hk_mesh **mesh);
hk_status hk_make_figure(const hk_mesh_def *def, hk_mesh **mesh);
hk_status hk_make_sheet(const hk_mesh_def *def, hk_mesh **mesh);
hk_status hk_make_torus(const hk_mesh_def *def, hk_mesh **mesh);
hk_status hk_make_pyramid(const hk_mesh_def *def, hk_mesh **mesh);
hk_status hk_make_wedge(const hk_mesh_def *def, hk_mesh **mesh);
hk_status hk_make_funnel(const hk_mesh_def *def, hk_mesh **mesh);
hk_status hk_make_rope(const hk_mesh_def *def, hk_mesh **mesh);

#endif
