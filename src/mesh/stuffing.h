// Fills a body with tets: isosurface stuffing (Labelle & Shewchuk 2007).
//
// The vertices of a body-centred cubic lattice lie at the corners and centres of cubes; near the
// surface of the body they are moved onto it, or the tets between them are cut there, whichever
// keeps the angles good. Features thinner than a cube are lost, sharp edges are chamfered.
#ifndef HK_STUFFING_H
#define HK_STUFFING_H

#include "mesh/mesh.h"

// Negative inside, 0 on the surface, positive outside; only its zeros need to be exact.
typedef double hk_distance_fn(const void *context, const double point[3]);

typedef struct hk_stuffing {
    const char *name;  // for messages
    double low[3];     // the body lies between low and high; planes of the lattice pass
    double high[3];    // through low
    double cell;       // edge of a cube
    hk_distance_fn *distance;
    const void *context;
} hk_stuffing;

// On a uniform lattice. Fails if the body is nowhere inside, or the lattice too large to be
// numbered.
hk_status hk_stuff(const hk_stuffing *stuffing, hk_mesh **mesh);

// ---------------------------------------------------------------- any background

// Tets that cover the body. A vertex has integer coordinates in half cubes, all even (corners) or
// all odd (centres) where the surface is near: tets with vertices on both sides of it are those of
// the uniform lattice. All others may be larger.
typedef struct hk_background {
    const char *name;        // for messages
    double origin[3], half;  // position of (0, 0, 0); half a cube, m
    int count;
    int32_t (*at)[3];  // [count]
    double *value;     // [count] negative inside, positive outside; becomes 0 for vertices that are
                       // moved onto the surface
    int tet_count;
    int32_t *tets;  // [tet_count][4] with a vertex inside, of any orientation
} hk_background;
void hk_background_free(hk_background *background);

// Where the surface is between p and q on different sides of it, with the values a and b there: 0
// at p, 1 at q. Called from many threads.
typedef double hk_cut_fn(const void *context, const double p[3], const double q[3], double a,
                         double b);

// Dihedral angles are between 10.7° and 164.8° in tets of the lattice that were moved or cut,
// wherever the cuts are (section 3.3 of the paper).
hk_status hk_stuff_background(hk_background *background, hk_cut_fn *find, const void *context,
                              int threads, hk_mesh **mesh);

#endif
