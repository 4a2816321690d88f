#include "term/instances.h"

#include <math.h>

#include "term/tet.h"

// Deformation gradients are equal within this: transforms round the coordinates, and elements that
// are shared are in single precision.
#define RIGID 1e-8

static bool same_material(const hk_material *a, const hk_material *b)
{
    if (a->law != b->law || a->strand_modulus != b->strand_modulus ||
        a->blend_law.upper != b->blend_law.upper)
        return false;
    return memcmp(a->params.c, b->params.c, sizeof a->params.c) == 0;
}

// The same corners and materials, counted from the first ones of the body.
static bool same_tets(const hk_model *m, const hk_body *a, const hk_body *b)
{
    if (a->vertex_count != b->vertex_count || a->tet_count != b->tet_count) return false;
    int shift = b->vertex_start - a->vertex_start;
    int step = m->tet_material[b->tet_start] - m->tet_material[a->tet_start];
    for (int k = 0; k < a->tet_count; k++) {
        int64_t s = a->tet_start + k, t = b->tet_start + k;
        for (int c = 0; c < 4; c++)
            if (m->tets[4 * t + c] != m->tets[4 * s + c] + shift) return false;
        if (m->tet_material[t] != m->tet_material[s] + step) return false;
    }
    for (int k = 0; k < a->tet_count; k++) {
        int32_t s = m->tet_material[a->tet_start + k];
        if ((k == 0 || s != m->tet_material[a->tet_start + k - 1]) &&
            !same_material(&m->materials[s], &m->materials[s + step]))
            return false;
    }
    return true;
}

// How the rest shape of tet t looks from that of tet s.
static void gradient_between(const hk_model *m, int s, int t, double F[9])
{
    double inverse[9], edge[3];
    const int32_t *corner = m->tets + 4 * (int64_t)t;
    hk_rest_inverse(m, s, inverse);
    memset(F, 0, 9 * sizeof *F);
    for (int c = 0; c < 3; c++) {
        for (int i = 0; i < 3; i++)
            edge[i] = m->rest[3 * (int64_t)corner[c + 1] + i] - m->rest[3 * (int64_t)corner[0] + i];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) F[3 * i + j] += edge[i] * inverse[3 * c + j];
    }
}

static bool is_rotation(const double Q[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = 0; k < 3; k++) sum += Q[3 * i + k] * Q[3 * j + k];
            if (!(fabs(sum - (i == j)) <= RIGID)) return false;
        }
    return true;  // tets have the same winding: it is no reflection
}

// The unit quaternion of a rotation, from the largest of its four numbers (Shepperd 1978).
static void quaternion_of(const double Q[9], double q[4])
{
    double trace = Q[0] + Q[4] + Q[8], square[4];
    for (int i = 0; i < 3; i++) square[i] = 1 + 2 * Q[4 * i] - trace;
    square[3] = 1 + trace;
    int most = 3;
    for (int i = 0; i < 3; i++)
        if (square[i] > square[most]) most = i;
    double off[3] = {Q[7] - Q[5], Q[2] - Q[6], Q[3] - Q[1]};
    q[most] = 0.5 * sqrt(square[most]);
    for (int i = 0; i < 3; i++) {
        if (i == most) continue;
        double sum = most == 3 ? off[i] : Q[3 * i + most] + Q[3 * most + i];
        q[i] = sum / (4 * q[most]);
    }
    if (most != 3) q[3] = off[most] / (4 * q[most]);
}

static bool is_copy(const hk_model *m, const hk_body *a, const hk_body *b, double turn[4])
{
    double Q[9], F[9];
    if (!same_tets(m, a, b)) return false;
    gradient_between(m, a->tet_start, b->tet_start, Q);
    if (!is_rotation(Q)) return false;
    for (int k = 1; k < a->tet_count; k++) {
        gradient_between(m, a->tet_start + k, b->tet_start + k, F);
        for (int i = 0; i < 9; i++)
            if (!(fabs(F[i] - Q[i]) <= RIGID)) return false;
    }
    quaternion_of(Q, turn);
    return true;
}

void hk_find_instances(const hk_model *m, hk_instance *copies)
{
    for (int b = 0; b < m->body_count; b++) {
        hk_instance *copy = &copies[b];
        *copy = (hk_instance){b, {0, 0, 0, 1}};
        for (int a = 0; a < b && copy->original == b && m->bodies[b].tet_count > 0; a++)
            if (copies[a].original == a && m->bodies[a].tet_count > 0 &&
                is_copy(m, &m->bodies[a], &m->bodies[b], copy->turn))
                copy->original = a;
    }
}
