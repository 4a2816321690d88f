// See shell_lanes.h. Compiled once per instruction set, with HK_DOUBLE, HK_LANES and HK_SHELL_TABLE
// set by cmake/lanes.cmake.
#include "term/shell_lanes.h"

#include "material/membrane.h"
#include "math/dihedral.h"

// Coordinates of the corners of elements [first, first + HK_LANES); beyond the last that one again.
static void load_corners(const double *x, int corners, int first, int count, vec3 *p)
{
    for (int c = 0; c < corners; c++)
        for (int i = 0; i < 3; i++) {
            scalar lane[HK_LANES] __attribute__((aligned(64)));
            for (int l = 0; l < HK_LANES; l++) {
                int k = first + l < count ? first + l : count - 1;
                lane[l] = x[3 * (corners * k + c) + i];
            }
            p[c].v[i] = r_load(lane);
        }
}

static void store_corners(double *g, int corners, int first, int count, const vec3 *p)
{
    for (int l = 0; l < HK_LANES && first + l < count; l++)
        for (int c = 0; c < corners; c++)
            for (int i = 0; i < 3; i++)
                g[3 * (corners * (first + l) + c) + i] = r_lane(p[c].v[i], l);
}

static real load_value(const hk_element *e, int which, int first, int count)
{
    scalar lane[HK_LANES] __attribute__((aligned(64)));
    for (int l = 0; l < HK_LANES; l++)
        lane[l] = e[first + l < count ? first + l : count - 1].value[which];
    return r_load(lane);
}

static void store_energy(double *energy, int first, int count, real a)
{
    for (int l = 0; l < HK_LANES && first + l < count; l++) energy[first + l] = r_lane(a, l);
}

static void hinges(const hk_element *e, int count, const double *x, double *energy, double *g)
{
    for (int first = 0; first < count; first += HK_LANES) {
        vec3 p[4], d[4];
        dihedral_side side[2];
        load_corners(x, 4, first, count, p);
        real k = load_value(e, HK_HINGE_STIFFNESS, first, count);
        dihedral_sides(p, side);
        real turned = dihedral_of_sides(side) - load_value(e, HK_HINGE_REST, first, count);
        real moment = k * turned;
        if (energy) store_energy(energy, first, count, 0.5f * moment * turned);
        if (!g) continue;
        dihedral_gradient(side, d);
        for (int c = 0; c < 4; c++) d[c] = v3_scale(d[c], moment);
        store_corners(g, 4, first, count, d);
    }
}

static void membranes(const hk_element *e, int count, const double *x, double *energy, double *g)
{
    const hk_membrane *m = e->owner;
    for (int first = 0; first < count; first += HK_LANES) {
        vec3 p[3], f[2], stress[2], d[3];
        real B[4], a[HK_MOST_STRANDS][2];
        load_corners(x, 3, first, count, p);
        for (int i = 0; i < 4; i++) B[i] = load_value(e, HK_SHELL_INVERSE + i, first, count);
        for (int i = 0; i < 2 * m->strand_count; i++)
            a[i / 2][i % 2] = load_value(e, HK_SHELL_STRAND + i, first, count);
        vec3 u = v3_sub(p[1], p[0]), v = v3_sub(p[2], p[0]);
        for (int j = 0; j < 2; j++) f[j] = v3_add(v3_scale(u, B[j]), v3_scale(v, B[2 + j]));
        real area = load_value(e, HK_SHELL_AREA, first, count);
        real psi = membrane_energy_stress(m, f, (const real(*)[2])a, stress);
        if (energy) store_energy(energy, first, count, area * psi);
        if (!g) continue;
        for (int j = 0; j < 2; j++) stress[j] = v3_scale(stress[j], area);
        for (int c = 1; c < 3; c++)
            d[c] = v3_add(v3_scale(stress[0], B[2 * c - 2]), v3_scale(stress[1], B[2 * c - 1]));
        d[0] = v3_scale(v3_add(d[1], d[2]), r_set(-1));
        store_corners(g, 3, first, count, d);
    }
}

extern const hk_shell_table HK_SHELL_TABLE;
const hk_shell_table HK_SHELL_TABLE = {hinges, membranes};
