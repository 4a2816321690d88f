// The proof that a surface is free of intersections, or where it is not.
//
// Free means: no two triangles have a point in common that is not a vertex or an edge of both by
// the mesh. Every pair of triangles whose boxes overlap is decided exactly (meet.h), over a tree
// made for these positions: rounding has no say in it. What only touches counts, too: faces that
// lie in one another, a vertex on a face of another body to the last bit, a fold of exactly 180°.
// They are told apart (`touching`), because a mesh of two bodies side by side may mean it.
//
// What is not looked for: tets that are inside out, triangles without area (a zero of area is no
// meeting; its vertex on another triangle's edge is), and bodies that lie wholly within another.
#ifndef HK_CERTIFICATE_H
#define HK_CERTIFICATE_H

#include "contact/surface.h"

typedef struct hk_certificate {
    const hk_surface *surface;
    int threads;
    hk_box *boxes;  // [triangle_count]
    hk_bvh tree;
    struct hk_findings *findings;  // [threads]
} hk_certificate;

// What was found: `first` are the lowest keys of all pairs of triangles (bvh.h), rising.
typedef struct hk_findings {
    int64_t count;     // pairs of triangles that meet
    int64_t touching;  // of them, those that do not cross
    int listed;
    uint64_t first[HK_DEFECT_LIST];
    bool first_touches[HK_DEFECT_LIST];
    // Of the run that goes on:
    const hk_certificate *certificate;
    const double *x;
    hk_pair_filter *filter;
    const void *filter_context;
} __attribute__((aligned(64))) hk_findings;

// The surface must live as long.
hk_status hk_certificate_create(const hk_surface *surface, int threads,
                                hk_certificate **certificate);
void hk_certificate_free(hk_certificate *certificate);
// Looks at x[vertex_count][3]. `filter` (or NULL) says which pairs of triangles count. A vertex of
// the surface that is not finite is an error. Takes memory in the first call only.
hk_status hk_certificate_run(hk_certificate *certificate, const double *x, hk_pair_filter *filter,
                             const void *context, hk_findings *findings);
// Number k of those listed, in full; names are NULL.
void hk_certificate_describe(const hk_certificate *certificate, const double *x,
                             const hk_findings *findings, int k, hk_intersection *intersection);

#endif
