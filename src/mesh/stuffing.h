// Fills a body with tets: isosurface stuffing (Labelle & Shewchuk 2007) on a uniform lattice.
//
// The surface is where a signed distance is 0. The vertices of a body-centred cubic lattice lie at
// the corners and centres of cubes; near the surface they are moved onto it, or the tets between
// them are cut there, whichever keeps the angles good. The surface is smooth where the distance
// is; features thinner than a cube are lost, sharp edges are chamfered.
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

// Fails if the body is nowhere inside, or the lattice too large to be numbered.
hk_status hk_stuff(const hk_stuffing *stuffing, hk_mesh **mesh);

#endif
