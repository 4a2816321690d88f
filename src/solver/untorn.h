// The constant matrix of bodies that are torn (QuasiNewton, "Tearing"): gradient and energy are
// those of the torn mesh, the matrix A = M/h² + L and its factor stay those of the bodies as they
// were, and the line search guards.
//
// Tearing gives vertices that one unknown stood for unknowns of their own. The elements are what
// they were, so that with S, which puts all of them where that one was, Sᵀ A' S = A for the matrix
// A' of the torn mesh: A knows A' but for what opens. What is needed is a positive definite
// operator on the new unknowns that costs solves with A alone. S A⁻¹ Sᵀ would move all vertices of
// one origin alike: it is singular, and no crack would open. So the vertices that come from one
// each take its row in turn, in sections: injections E_k of torn vertices into the old unknowns,
//
//   B = Σ_k Θ_k E_k A⁻¹ E_kᵀ Θ_k,   Σ_k Θ_k² = 1,
//
// one on either side of a crack, say, with the other side as it was before: empty of forces, and
// free to follow. Each is a principal part of A⁻¹ between weights, positive semidefinite; every
// vertex has a weight in one, so that the sum is definite. Of a body in two parts A⁻¹ seen from one
// part is the inverse of a Schur complement, A' of that part and the energy of the least motion
// that the other follows with. That is A' or more, and no more than (1 + c) A', where c is what it
// takes to continue a motion beyond the cut: a number of the shape of the parts, not of the mesh (1
// where one mirrors the other). A full step never overshoots, and iterations hardly grow.
// Around a crack that ends within a body the weights pass from one side to the other with the
// distances from them within the torn mesh, as the angle around its tip would.
//
// A crumb that is torn off is free, and A⁻¹ holds it as firmly as what it was part of. The motion w
// of a whole piece that nothing holds is known, and so is what it weighs, wᵀ A' w: the part of it
// that B lacks, by wᵀ A' B A' w, is added, as w wᵀ over that weight.
//
// Where cracks are jagged, elements hang by a facet, and a vertex of theirs has little of what it
// came from: A⁻¹ knows it as part of the whole. What B lacks of the inverse of its own diagonal a'
// = s a is about 1 − 3/2 s (on a plane side, where s is ½, a quarter), and is added.
//
// What is within two elements of a crack is swept over before and after (crack.h), with the torn
// matrix itself.
//
// Sections are few, as colours are: two where a crack has two sides. Where more than SECTIONS come
// together, vertices beyond have the diagonal alone.
#ifndef HK_UNTORN_H
#define HK_UNTORN_H

#include "solver/constant_matrix.h"
#include "solver/crack.h"

typedef struct hk_kept_matrix {
    struct hk_kept_matrix *next;
    int flags;
    double *weight;  // [material_count] what it was made with
    hk_constant_matrix matrix;
    int64_t factorisations;  // when it came here
} hk_kept_matrix;

typedef struct hk_untorn {
    hk_model *model;      // retained
    hk_problem *problem;  // owned
    hk_kept_matrix *kept;
} hk_untorn;

// Takes over the problem; on failure it stays the caller's.
hk_status hk_untorn_create(hk_model *model, hk_problem *problem, hk_untorn **untorn);
void hk_untorn_free(hk_untorn *untorn);
// Moves a solver's matrix there, so that those to come have it.
hk_status hk_untorn_keep(hk_untorn *untorn, hk_constant_matrix *matrix);
// … and the last one back.
void hk_untorn_give_back(hk_untorn *untorn, hk_constant_matrix *matrix);
// Factorisations that were made since.
int64_t hk_untorn_factorisations(const hk_untorn *untorn);
// The matrix of these weights, made if there is none yet.
hk_status hk_untorn_find(hk_untorn *untorn, const double *weight, int flags,
                         hk_constant_matrix **matrix);

// ---------------------------------------------------------------- sections

typedef struct hk_section_entry {
    int32_t vertex, row;  // torn and old, in Morton order
    double weight;        // Θ
} hk_section_entry;

typedef struct hk_left {
    int32_t vertex;
    double part;  // of the inverse of the diagonal
} hk_left;

typedef struct hk_piece {
    int start, count;  // in piece_vertices
    double weight;     // Σ of the inertia, N/m
    double part;       // of the inverse of that, which B lacks
} hk_piece;

typedef struct hk_sections {
    int count;
    int64_t *start;             // [count + 1] in entries
    hk_section_entry *entries;  // those of a section have rows of their own
    int left_count;             // vertices that have the diagonal, instead or beside
    hk_left *left;              // [left_count]
    int64_t rows;
    double *from, *to;  // [rows][4]
    double *sum;        // [vertices][4]
    int piece_count;    // of bodies in several pieces those that nothing holds
    hk_piece *pieces;
    int32_t *piece_vertices;
    hk_crack crack;
    double *swept;  // [vertices][4]
} hk_sections;

hk_status hk_sections_make(const hk_problem *torn, const double *weight, hk_sections **sections);
void hk_sections_free(hk_sections *sections);

#endif
