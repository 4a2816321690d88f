/* Bodies that tear and are cut: vertices come apart along the borders of elements. Included by
 * hooke.h. See docs/tearing.md.
 *
 * A material tears by itself where hk_material_def.tear_stress or .tear_strain say so; cuts are a
 * model's (hk_tearing_def), or made at once by hk_world_cut. Vertices that are new stand at the end
 * of their body: numbers within a body stay what they were, those of later bodies in the model do
 * not. Elements keep their numbers. */
#ifndef HOOKE_TEAR_H
#define HOOKE_TEAR_H

#include <hooke/world.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HK_CUT_POINTS = 4, HK_CUT_ALL = -1 };

/* A blade. Elements that share a facet come apart where the line between their centres crosses it.
 * Two points are an edge, which cuts what it sweeps over; three or four a surface, which cuts
 * whatever lies across it. */
typedef struct hk_cut_def {
    size_t def_size;                 /* set by hk_default_cut_def() */
    const char *name;                /* for messages; NULL: none */
    int body;                        /* number of the one that is cut, or HK_CUT_ALL */
    int point_count;                 /* 2, 3 or 4 (one after the other around it) */
    double points[HK_CUT_POINTS][3]; /* m */
    const hk_motion_def *moves;      /* each after those before it, of what they left; or NULL */
    int move_count;
    int reserved_int;
    double from, until; /* s, when it cuts */
} hk_cut_def;
/* all bodies, no point, from 0 s on for ever */
HK_API void hk_fill_cut_def(hk_cut_def *def, size_t size);
static inline hk_cut_def hk_default_cut_def(void)
{
    hk_cut_def def;
    hk_fill_cut_def(&def, sizeof def);
    return def;
}

typedef struct hk_tearing_def {
    size_t def_size; /* set by hk_default_tearing_def() */
    const hk_cut_def *cuts;
    int cut_count;
    int most; /* vertices that tear by themselves in a step; 0: as many as are overloaded */
    /* Methods with a constant matrix go on with that of the bodies as they were. They make it anew
     * when their steps have taken so many times the iterations that they took before anything
     * tore (docs/tearing.md); 0: never */
    double renew;
    /* m, by which the sides of a crack are drawn back where bodies collide with themselves; 0: a
     * hundredth of the mean edge there */
    double opening;
} hk_tearing_def;
/* no cuts, no limit, the matrix is never made anew */
HK_API void hk_fill_tearing_def(hk_tearing_def *def, size_t size);
static inline hk_tearing_def hk_default_tearing_def(void)
{
    hk_tearing_def def;
    hk_fill_tearing_def(&def, sizeof def);
    return def;
}

/* Cuts a world between two steps along triangles of corners [triangle_count][3][3], m, where its
 * bodies are now. `body` may be HK_CUT_ALL. A state with a cut in it is as one with any other
 * tear. */
HK_API hk_status hk_world_cut(hk_world *world, int body, int triangle_count, const double *corners);

typedef struct hk_tear_report {
    int events;         /* steps and calls in which vertices came apart */
    int facets;         /* faces of tets and edges of triangles that are torn */
    int vertices;       /* more than the bodies had */
    int postponed;      /* times that it could not be done, for something was in the way */
    int factorisations; /* of a constant matrix, on account of tears */
    int renewals;       /* of those, because iterations grew (hk_tearing_def.renew) */
    int steps_before, steps_after;           /* that were taken before and since the first event, */
    int iterations_before, iterations_after; /* and the iterations of them */
    uint64_t reserved[4];
} hk_tear_report;
HK_API hk_status hk_world_tears(const hk_world *world, hk_tear_report *report);
/* The vertex of the model that a vertex of hk_world_model() comes from; -1: there is no such
 * vertex. */
HK_API int hk_world_origin(const hk_world *world, int vertex);

#ifdef __cplusplus
}
#endif
#endif
