// A lattice of cells, each cut into five or six tets.
#include "mesh/shapes.h"

#include <math.h>

static int tets_a_cell(const hk_lattice *lattice)
{
    return lattice->cut == HK_CUT_FIVE ? 5 : 6;
}

// Vertices along x.
static int row_length(const hk_lattice *lattice)
{
    return lattice->cells[0] + (lattice->closed ? 0 : 1);
}

static int lattice_vertices(const hk_lattice *lattice)
{
    return row_length(lattice) * (lattice->cells[1] + 1) * (lattice->cells[2] + 1);
}

// A corner of a cell by one bit an axis.
enum { X = 1, Y = 2, Z = 4 };

static const int five_tets[5][4] = {{0, X, Y, Z},
                                    {X | Y, Y, X, X | Y | Z},
                                    {X | Z, X, Z, X | Y | Z},
                                    {Y | Z, Z, Y, X | Y | Z},
                                    {X, Y, Z, X | Y | Z}};

// The six ways to walk from one corner of a cell to the opposite one along its edges, each with the
// corners in an order of positive volume.
static const int six_tets[6][4] = {{0, X, X | Y, X | Y | Z}, {0, Y, Y | Z, X | Y | Z},
                                   {0, Z, X | Z, X | Y | Z}, {0, X, X | Y | Z, X | Z},
                                   {0, Z, X | Y | Z, Y | Z}, {0, Y, X | Y | Z, X | Y}};

// Every second cell counted from the nearer end, with opposite senses at the two ends. Neighbours
// fit because what a cell does along one axis depends on its place along that axis alone.
static bool is_mirrored(int cell, int cells)
{
    int from_end = cells - 1 - cell;
    return cell < from_end ? !(cell & 1) : from_end & 1;
}

// The corners to exchange, as bits: corner c of the cut is corner c ^ mirror of the cell.
static int cell_mirror(const hk_lattice *lattice, const int cell[3])
{
    if (lattice->cut == HK_CUT_FIVE) return (cell[0] + cell[1] + cell[2]) & 1 ? X : 0;
    int mirror = 0;
    for (int axis = 0; axis < 3; axis++)
        if (is_mirrored(cell[axis], lattice->cells[axis])) mirror |= 1 << axis;
    return mirror;
}

static int32_t *cut_cell(const hk_lattice *lattice, const int cell[3], int first_vertex,
                         int32_t *tets)
{
    const int row = row_length(lattice), layer = row * (lattice->cells[1] + 1);
    const int next = cell[0] + 1 == row ? -cell[0] : 1;  // of a ring, back to its beginning
    const int low = first_vertex + cell[0] + row * cell[1] + layer * cell[2];
    const int mirror = cell_mirror(lattice, cell);
    const bool inverted = __builtin_parity((unsigned)mirror);
    const int(*cut)[4] = lattice->cut == HK_CUT_FIVE ? five_tets : six_tets;
    for (int t = 0; t < tets_a_cell(lattice); t++) {
        for (int c = 0; c < 4; c++) {
            int at = cut[t][inverted && c >= 2 ? 5 - c : c] ^ mirror;
            tets[c] = low + (at & X ? next : 0) + (at & Y ? row : 0) + (at & Z ? layer : 0);
        }
        tets += 4;
    }
    return tets;
}

hk_status hk_lattice_mesh(const hk_lattice *lattice, hk_mesh **mesh)
{
    const int *n = lattice->cells;
    double copies = lattice->copies;
    HK_TRY(hk_check_counts(lattice->shape, copies * (n[0] + 1.0) * (n[1] + 1.0) * (n[2] + 1.0),
                           copies * tets_a_cell(lattice) * n[0] * n[1] * n[2], "tets"));
    int vertices = lattice_vertices(lattice);
    int tet_count = tets_a_cell(lattice) * n[0] * n[1] * n[2];
    hk_mesh *made;
    HK_TRY(hk_mesh_new(vertices * lattice->copies, tet_count * lattice->copies, 0, &made));
    int32_t *tets = made->tets;
    for (int copy = 0; copy < lattice->copies; copy++)
        for (int k = 0; k < n[2]; k++)
            for (int j = 0; j < n[1]; j++)
                for (int i = 0; i < n[0]; i++)
                    tets = cut_cell(lattice, (int[3]){i, j, k}, copy * vertices, tets);
    *mesh = made;
    return HK_OK;
}

void hk_lattice_place(const hk_lattice *lattice, hk_place_fn *place, const void *context,
                      hk_mesh *mesh)
{
    const int *n = lattice->cells;
    double *position = mesh->positions;
    for (int copy = 0; copy < lattice->copies; copy++)
        for (int k = 0; k <= n[2]; k++)
            for (int j = 0; j <= n[1]; j++)
                for (int i = 0; i < row_length(lattice); i++) {
                    // The quotients are exactly 0 and 1 at the ends.
                    const double at[3] = {(double)i / n[0], (double)j / n[1], (double)k / n[2]};
                    place(context, copy, at, position);
                    position += 3;
                }
}

// Squares around the centre become circles, and equal steps along a side equal angles. At a
// corner of the square the two sides come to lie on one line; the cell there stays sound because
// its diagonal goes to that corner (HK_CUT_SIX).
void hk_square_to_disc(const double square[2], double disc[2])
{
    double u = square[0], v = square[1];
    bool tall = fabs(v) > fabs(u);
    double along = tall ? v : u, across = tall ? u : v;
    if (along == 0) {
        disc[0] = disc[1] = 0;
        return;
    }
    double angle = 0.78539816339744831 * across / along;  // π/4 at the corner
    double c = along * cos(angle), s = along * sin(angle);
    // sin and cos of π/4 differ in the last bit; corners shall lie on the diagonal.
    if (fabs(across) == fabs(along)) s = copysign(c, across);
    disc[0] = tall ? s : c;
    disc[1] = tall ? c : s;
}
