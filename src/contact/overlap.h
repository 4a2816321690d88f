// Whether a state is free of intersections, and where it is not.
//
// Triangles of bodies and obstacles are tested with each other exactly (certificate.h), and so are
// the lines of ropes with triangles, and the points of bodies with planes. Spheres and capsules
// have no triangles: their gaps are those of the list of contacts, in double.
#ifndef HK_OVERLAP_H
#define HK_OVERLAP_H

#include "contact/certificate.h"
#include "contact/contacts.h"

// The surface of all bodies and obstacles, in points.
typedef struct hk_contact_proof {
    hk_surface *surface;
    hk_certificate *certificate;
    hk_box *boxes;  // [line_count] of ropes
    hk_pairs pairs;
    double seconds;  // s, that were spent on it
} hk_contact_proof;
void hk_contact_proof_free(hk_contact_proof *proof);

typedef struct hk_overlap_found {
    int64_t count;        // of what meets; 0: nothing does
    int32_t sides[2];     // of the first
    int32_t faces[2][3];  // its points; −1: it has no face
    double place[3];      // m
} hk_overlap_found;

// At x, with obstacles where they are. `thickness`: sheets count with theirs.
hk_status hk_contacts_find_overlap(hk_contacts *contacts, const double *x, bool thickness,
                                   hk_overlap_found *found);
// "face (1, 5, 2) of body 0 (bar) and obstacle floor near (0, 0.1, 0)"
void hk_contacts_describe_overlap(const hk_contacts *contacts, const hk_overlap_found *found,
                                  char *text, size_t size);
// Memory is taken for it in the first call only.
hk_status hk_contacts_need_proof(hk_contacts *contacts);

#endif
