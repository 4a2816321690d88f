// Contact of one pass of split: bodies go where the solve takes them, forces of contacts that this
// would violate are found beside the factor, and the guard (hk_sweep_walk) has the last word.
//
// A pair with normal n, gap g and displacement u of its closest points against each other since
// the step began asks for n·u ≥ w/2 − g, w the distance at which contact begins, and with Coulomb's
// friction for no sliding: its force f = λ n + t has |t| ≤ μ λ, and is at this limit, against the
// sliding, where it slides. A force changes displacements by N A⁻¹ Nᵀ. What bodies do as rigid ones
// is the greater part of that, the rest is about a softness of each vertex: with this model forces
// are found (split_forces.c), and one solve each says what they do indeed.
// Forces are kept from step to step, so that what lies needs none.
#ifndef HK_SPLIT_CONTACT_H
#define HK_SPLIT_CONTACT_H

#include "contact/sweep.h"
#include "solver/problem.h"

typedef struct hk_split_pair {
    hk_sweep_pair at;    // where the step begins
    int32_t unknown[4];  // of its corners, -1: none
    double lacks;        // m, that n·u has to be
    double friction;     // μ
    double soft;         // m/N, about what a force moves it by beside rigid motions …
    double whole;        // … and with them
    double u[3];         // m, by the forces of now
    double force[3];     // N, on the first side …
    double kept[3];      // … and as it was when the step began
    double change[3];    // N, of the step that is tried
    double arm[2][3];    // m, from the middles of bodies
} hk_split_pair;

// A body as one affine map (split_forces.c).
enum { HK_SPLIT_MODES = 12 };
typedef struct hk_split_rigid {
    double heavy;      // N/m, masses over h²; infinite where vertices are held
    double stiff;      // N m, what elements resist stretching with
    double center[3];  // m
    double resists[HK_SPLIT_MODES][HK_SPLIT_MODES];
    double q[HK_SPLIT_MODES];  // m and 1, by changes of forces
    size_t first, end;         // of its pairs in uses
    int colour;
    bool known;  // in this step
} hk_split_rigid;

typedef struct hk_split_contact {
    hk_contacts *contacts;  // of the contact term; NULL: there is none
    hk_sweep *sweep;
    float *total;    // [free_count][4] displacements, in the units of the elements
    double *target;  // [vertex_count][4] m
    float *soft;     // [free_count] m/N, about (A⁻¹)_vv less what is rigid of it
    hk_split_rigid *bodies;
    hk_split_pair *pairs;
    size_t count, room;
    size_t *uses;  // 2 × pair + side, by bodies
    size_t use_room;
    int colours;     // of bodies
    int64_t *table;  // [table_size] pairs by hashes; -1: none
    size_t table_size, table_room;
} hk_split_contact;

struct hk_split;
hk_status hk_split_contact_init(struct hk_split *s);
void hk_split_contact_release(struct hk_split *s);
// A is another one.
void hk_split_contact_prepare(struct hk_split *s);
// Adds the forces of the step before to the right-hand side of one from x, which is a good state.
void hk_split_contact_begin(struct hk_split *s, const double *x, float *right);
// From the solution in the vector of the components to that with contact.
hk_status hk_split_contact_solve(struct hk_split *s, const double *x);

// ---- split_forces.c
// Onto |t| ≤ μ λ, λ ≥ 0: λ first, as Coulomb's law has it, then t.
void hk_split_project(const hk_split_pair *pair, double force[3]);
// By the model, changes of forces that put displacements pair->u right, into pair->change, and Σ
// change · displacement by the model. Bodies are where they are at x.
hk_status hk_split_find_changes(struct hk_split *s, const double *x, double *work);

#endif
